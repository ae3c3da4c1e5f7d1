### What is said beside a model's text, and all that the digest says: it writes without a model.

draft-nobody = Quotes from what was found; not written by a model
draft-direct = Answered by the model directly, without a search; it has no sources.
draft-unsearched = Search rounds are set to 0: this is the model's own knowledge, without sources, and may be out of date.
draft-cut = The answer is incomplete: the model reached its output limit.
draft-broken = The answer is incomplete: the model broke off. Resuming the run writes it again, without another search.
draft-uncited = The model cited no source, so its text cannot be checked. What the searches found follows.
draft-stand_in = The model could not write an answer. What the searches found is quoted below; resuming the run writes the answer, without another search.
draft-unchecked = The model cited no source in this section, so its text cannot be checked.
draft-section = The model could not write this section. What the searches found is quoted below.
draft-nothing = Nothing was found that could be cited, so no answer was written.
draft-failed = The searches failed, so no answer was written; that does not mean there is nothing.
draft-left_out = No search was made, so no answer was written; that does not mean there is nothing.
draft-no_sources = The search model returned text without saying which source supports which sentence, so it cannot be checked:
draft-named = Sources that the search model listed without saying what they support: { $names }
draft-too_long = The material did not fit in the context window of { $author }: { $what }.
draft-missing =
    { $n } of { $all } sources { $n ->
        [one] was
       *[other] were
    } left out, the least relevant first ({ $names })
draft-others =
    only parts of { $n } { $n ->
        [one] other
       *[other] others
    } were read
draft-partly = only parts of { $n } of { $all } sources were read
draft-more = { $names } and { $n } more
draft-gap = Still missing: { $what }
draft-unplanned = the model could not make a plan
draft-unreflected = Could not reflect: { $why }
draft-covered = The material is sufficient.
digest-author = Quoted evidence digest, no model
digest-nothing = The question has no searchable words. Name the subject and what you want to know, for example “Palace Museum ticket price”.
digest-greeting = You are welcome to ask a question, for example “Palace Museum ticket price”.
digest-nearest = No sentence found says this; what comes nearest is quoted.
digest-missing = Not found in the sources searched.
digest-looked_for = Looked for: { $names }
digest-closest = Closest documents in the library: { $names }
digest-unsearched = No search was made for this part; that does not mean the sources lack it.
digest-failed = Could not be looked up: the search failed; that does not mean the sources lack it.
digest-sample = Some quotes come from the sample library that ships with Sightline, for demonstration; turn it off on the Library page.
digest-sample_places = The places come from the offline sample that ships with Sightline, which covers Wangfujing, the Bund and West Lake, accurate to about 100 metres; set AMAP_MAPS_API_KEY to ask Amap.
digest-no_map = The map could not be searched; that does not mean nothing is there. The reason is below.
digest-which = Which one does “{ $words }” mean? Ask again with its name.
digest-no_tables = The database was not queried for this: without a model it answers common questions about the scenic areas, and questions that you have confirmed as correct.
digest-general = Overview
digest-covered = Every part has a quote; whether that is enough is for the reader to judge.
digest-gap = Parts without a quote: { $parts }
digest-between = ;{ " " }
