### The words of an answer: its citations, its sources, what stands behind its sentences.

answer-by = Written by
answer-failures = Failed steps ({ $n })
answer-failure_details = Details
answer-title = Answer
answer-contents = Contents
answer-drawer = Evidence
answer-close = Close
answer-open = Open the passage behind citation { $n }
nothing-help = Nothing was found. Rephrase the question or use full names, or add documents on the subject.
nothing-web = No web search is in use: turn one on in Settings.
nothing-model = No model is in use: set one up in Settings.
nothing-idle = The model that is set cannot be asked for this; see the Status page.
nothing-library = Add documents
nothing-settings = Open Settings
answer-also = See also
answer-visit = Open the source page
answer-page =
    { $unit ->
        [slide] slide { $n }
        [cell] cell { $n }
       *[page] page { $n }
    }
answer-sample = sample
answer-unsourced = no source
answer-passage = Passage
answer-dated = dated
answer-undated = no date stated
answer-and_others = { $names } and others
answer-cited_by = cited { $n } times ({ $service })
answer-retrieved = retrieved
answer-ocr = Read from a picture (OCR); may contain mistakes.
answer-page_picture = Picture of page { $n }
answer-show_page = Show the page
answer-page_failed = The page could not be loaded.
answer-grounding = Worded by the search model and attributed to this source by Google Search; not the page's own text.
answer-expires = this link expires after about 30 days
answer-table = Table
answer-suggestions = Google Search suggestions
sources-title = Sources
sources-number = No.
sources-name = Title
sources-kind = Type
sources-domain = Site or file
sources-domain_help = ★ preferred on your list of sites, ⚠ one it warns about
sources-date = Date
sources-times = Times cited
sources-link = Link
sources-none = No sources to cite.
sources-alt = Table of the sources
sources-which = Sources to show
sources-cited = Cited ({ $n })
sources-all = All found ({ $n })
sources-days = Date range
sources-no_match = No sources match the filters.
sources-doubtful = To check
sources-doubtful_help = Sentences using this source that are unclear, unsupported or differ from it.
sources-pick = Select a row to see every sentence that uses the source.
sources-sentences =
    { $n ->
        [one] used by 1 sentence
       *[other] used by { $n } sentences
    }
sources-unused = found but not cited
source-library = Library
source-web = Web
source-news = News
source-feeds = news feeds
source-gdelt = GDELT
source-gemini = Gemini search
source-tavily = Tavily search
source-brave = Brave search
source-exa = Exa search
source-serper = Serper (Google) search
source-bocha = Bocha search
source-metaso = Metaso search
source-jina = Jina search
source-searxng = SearXNG search
source-wikipedia = Wikipedia
source-deep-research = Deep Research (Gemini)
source-places = Places
source-database = Database
source-amap = Amap
source-osm = OpenStreetMap
source-offline = offline sample places
source-page = page
source-wikidata = Wikidata
source-papers = Papers
source-openalex = OpenAlex
source-crossref = Crossref
source-arxiv = arXiv
source-pubmed = PubMed
kind-library = Library
kind-sample = Sample
kind-web = Web
kind-news = News
kind-place = Place
kind-database = Database
kind-paper = Paper
notice-retracted = Retracted
notice-corrected = Corrected
notice-concern = Expression of concern
support-line =
    { $total ->
        [one] { $ok } of { $total } sentence supported
       *[other] { $ok } of { $total } sentences supported
    }
support-quoted =
    { $n ->
        [one] The only sentence is quoted word for word
       *[other] All { $n } sentences are quoted word for word
    }
support-doubtful = Sentences worth checking ({ $n })
support-legend = What the marks mean
support-accuracy = A hint, not a verdict: quotations, figures and dates are compared exactly; for the rest, what counts is how many of a sentence’s words appear together in the passage. On claims labelled by others, its balanced accuracy is { $en_balanced }% in English (mean of six attribution sets, each left out of the fit in turn; plain word overlap reaches { $en_overlap }%) and { $zh_balanced }% in Chinese (OCNLI; shared characters alone reach { $zh_overlap }%); 50% is chance. “Supported” is given to { $en_recall }% of supported sentences ({ $zh_recall }% in Chinese) and is right { $en_half }% of the time ({ $zh_half }%) where half of the sentences are supported, { $en_most }% ({ $zh_most }%) where four fifths are. “Not supported” is right { $en_doubted_half }% and { $en_doubted_most }% of the time, and is only said of English sentences: in Chinese it could not be told reliably enough. Reworded sentences are often marked needlessly, and sentences that reverse the meaning are often missed. Open the passages and check for yourself.
support-ruled = { $n } of them were judged by a model as well.
support-unsourced = it cites a source that does not exist
support-reason = the model’s reason: { $text }
support-unclear = the passage does not clearly say this
support-nearest = See the closest passage [{ $n }]
support-uses = Sentences that use this source ({ $n })
standing-quoted = Quoted
standing-supported = Supported
standing-unclear = Unclear
standing-unsupported = Not supported
standing-differs = Differs from its source
standing-none = No source
meaning-quoted = The sentence appears word for word in its source.
meaning-supported = Its figures and dates are in the cited passage, and most of its words appear together there.
meaning-unclear = A source is cited, but a figure or date is missing from the passage, the wording is too different, or the passage is in another language.
meaning-unsupported = A source is cited, but few of the sentence's words appear together in the passage.
meaning-differs = A figure or date in the sentence differs from the cited passage.
meaning-none = It makes a claim but cites no source that exists.
count-unclear = { $n } unclear
count-unsupported = { $n } not supported
count-differs =
    { $n } { $n ->
        [one] differs
       *[other] differ
    } from the source
count-none = { $n } without a source
lack-figure = figure not found in the passage: ‘{ $text }’
lack-date = date not found in the passage: ‘{ $text }’
lack-words = not found in the passage: ‘{ $text }’
lack-language = the passage is in another language: only figures and dates were compared
other-figure = figure differs: { $text } here, { $found } in the source
other-date = date differs: { $text } here, { $found } in the source
other-words = the source says ‘{ $found }’
conflicts-title = Sources disagree
conflicts-help = Sources give different figures or dates for the same thing. Check before you rely on one. Only sentences in similar words are compared: what is not listed may still differ.
conflicts-subject = About
conflicts-figure = Figure
conflicts-clause = Original wording
conflicts-source = Source
conflicts-copies = copies: { $n }
review-title =
    { $n ->
        [one] One sentence was changed by the check
       *[other] { $n } sentences were changed by the check
    }
review-help = { $author } checked the answer. Sentences without support were removed or rewritten; the originals are kept here.
review-rules = Rules compared the answer with its sources. Sentences without support were removed or rewritten; the originals are kept here.
review-dropped = Removed
review-rewritten = Rewritten
mcp-about = The tools of the MCP server { $name }.
mcp-left = Left out: { $what }
mcp-image =
    { $n ->
        [one] a picture
       *[other] { $n } pictures
    }
mcp-audio =
    { $n ->
        [one] a recording
       *[other] { $n } recordings
    }
mcp-resource =
    { $n ->
        [one] a non-text file
       *[other] { $n } non-text files
    }
mcp-block =
    { $n ->
        [one] a block of the kind “{ $kind }”, which is not known
       *[other] { $n } blocks of the kind “{ $kind }”, which is not known
    }
remark-add = Add a note
remark-help = Yours alone: it is saved with the answer, can be found in History, and is exported under “Notes”, separate from the cited text.
remark-own = Your note
remark-edit = Edit
remark-delete = Delete
remark-save = Save
remark-cancel = Cancel
