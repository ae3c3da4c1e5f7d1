### What the stages of a run say of their work: in the plan, beside the answer and in the check.

answering-widened = Nothing was found within { $asked } of { $place }; the search was widened to { $far }.
answering-nowhere = Nothing was found within { $far } of { $place }.
answering-unlike = This answer is written in Chinese, which is not the language of the question.
checking-done =
    { $author } checked { $n } { $n ->
        [one] sentence
       *[other] sentences
    } against the sources.
checking-unchecked =
    { $n } { $n ->
        [one] sentence
       *[other] sentences
    } could not be checked by a model ({ $why }); the rule-based judgement stands.
checking-repaired = Sentences without support: { $dropped } removed, { $rewritten } rewritten. The originals are kept in the record of the check.
checking-failed = the call failed
checking-quote = no quote found in the passage
checking-many = there were too many
checking-room = the run's limits left no room
unwritten-failed = The searches for this section failed, so it was not written; the reason is below. That does not mean there is nothing.
unwritten-empty = The searches for this section found nothing, so it was not written.
unwritten-other = This section could not be written; the reason is below.
planning-cut =
    { $n } { $n ->
        [one] query beyond the limits was
       *[other] queries beyond the limits were
    } left out
planning-sections =
    { $n } { $n ->
        [one] section beyond the limit was
       *[other] sections beyond the limit were
    } left out
planning-carried = searches reused from the previous run: { $n }; further rounds: { $rounds }
planning-own_words = no query was proposed; the question itself is searched
budget-searches =
    { $n } { $n ->
        [one] search
       *[other] searches
    }
budget-tokens =
    { $n } { $n ->
        [one] token
       *[other] tokens
    }
budget-cost =
    { $n } { $n ->
        [one] US dollar
       *[other] US dollars
    }
budget-seconds =
    { $n } { $n ->
        [one] second
       *[other] seconds
    }
budget-stopped = The search was ended early, as you asked: the answer uses what had been found by then.
budget-short = This run's limit is { $limit }, so no further searches were made: the answer uses what had been found by then.
budget-unwritten = This run's limit is { $limit }, which left no room to write an answer. What the searches found is quoted below.
budget-over = This run's limit is { $limit }, but { $n } were billed: a service may run several queries in one search, and reports them only afterwards.
budget-unknown = The cost limit could not be enforced: the price of a model is not known.
