### The words of the Status page.

status-title = Status
status-lead = What works now, how much has been used, and where your data is.
card-web = Web
card-news = News
card-wikidata = Wikidata
card-papers = Papers
card-places = Places
status-database = { $name } ({ $dialect }, tables: { $n })
card-database = Database
card-library = Library
card-models = Models
status-live = live
status-offline = offline sample
status-sample = sample only
status-missing = not set up
status-empty = empty
status-broken = not usable
status-now_live = live: { $names }
status-now_sample = sample only: { $names }
status-now_missing = not available: { $names }
status-idle = A model is set and cannot be asked: { $setting } is missing. Until then, rule-based quotes.
status-digest = No model: rule-based quotes
status-nothing_asked = No service available
status-web_off = Web search is turned off
status-places_missing = The Amap key is missing
status-brings_web = Once set up: answers from current web pages, with citations.
status-brings_news = Once set up: news search by date, and news reports.
status-brings_wikidata = Once turned on: plain facts such as populations, heights, dates and coordinates, with their references.
status-brings_papers = Once turned on: abstracts of scholarly papers from OpenAlex, Crossref, arXiv and PubMed.
status-brings_places = Once set up: live places and routes from Amap, or the world's places from OpenStreetMap without a key; for now there are only a few sample places.
status-brings_database = Once set up: questions to your own database, read-only.
status-brings_library = Add your own files on the Library page.
status-brings_models = Once set up: plans, reflection and full answers written by a model.
status-how = Run the line you need in the terminal that starts Sightline, then start it again. One line is enough.
status-mcp_search = Not used: without a model, `search` in `mcp.json` must name a tool.
status-mcp_withheld = Not offered to models, which take at most 128 tools with 64 required arguments each: { $names }. Name the tools that you need in `tools` of `mcp.json`.
status-mcp_tools = None of its tools is declared read-only: name some in `tools` of `mcp.json`.
refused-server = The MCP server { $name } is not used: { $detail }.
status-refused = A source of the package { $package } is not used: { $why }
refused-broken = it cannot be loaded ({ $detail }).
refused-none = { $detail } is not a source.
refused-taken = the name { $detail } is taken.
refused-wrong = its description is not valid ({ $detail }).
status-tests = Test connections
status-check = Test all
status-check_help = Sends a very small request to every model and search service. It may cost a little.
status-checking = Testing…
status-checked = Tested at { $when }
status-ok = works, { $seconds }
status-nothing_to_check = No model or web search is configured.
status-models_title = Models and prices
status-reasoner_text = Quoted evidence digest: splits questions by rules and quotes documents verbatim. No model, no key, no network.
status-models_text = Chat models plan, reflect and write; every citation points to what was found.
status-role = Role
status-model = Model
status-price_in = In / million
status-price_out = Out / million
status-price_search = Per search
status-unknown = unknown
status-state = State
status-models_alt = Table of models by role, with prices
status-needs = { $setting } is not set
status-set = set
status-unset = not set
status-prices = Costs are estimates in US dollars per million tokens, with prices as of { $date }; models that are not listed show as unknown.
status-prices_until = Some of these prices are valid until { $date } and then change.
role-news = News reports
role-check = Checking sentences
status-limits = Limits
status-limits_run = Each run
status-limits_person = At the same time
status-no_limit = no limit
status-allowance = Today's map quota
status-places_left = { $left } of today's { $limit } place searches left
status-allowance_none = Amap is not in use or not limited, so there is nothing to count.
limit-queries = Queries in the first round
limit-loops = Rounds
limit-searches = Searches
limit-tokens = Tokens
limit-money = Cost
limit-time = Time
limit-runs_each = Runs per person
limit-runs_at_once = Runs of all users
spending-title = Usage
spending-help = From the records of your own runs; deleted runs are not counted.
spending-range = Period
spending-days =
    Last { $n } { $n ->
        [one] day
       *[other] days
    }
spending-measure = Show
spending-cost = Cost (estimate)
spending-tokens = Tokens
spending-searches = Billed searches
spending-by = Group by
spending-model = Model
spending-stage = Stage
spending-name = Name
spending-day = Day
spending-week = Week (from Monday)
spending-others = others
spending-alt = Stacked bar chart of the last { $days } days. Shown: { $what }. Grouped by: { $by }. The table below holds the same data.
spending-nothing_of = None in this period: { $what }.
spending-unpriced =
    The price of { $n } { $n ->
        [one] call
       *[other] calls
    } is unknown and not included: { $models }
spending-empty = No model or paid search was used in the last { $days } days.
spending-table = Show as table
spending-table_alt = Usage table, by date
status-data = Where data is stored
status-data_text = { $size } in total. Set SIGHTLINE_DATA_DIR to move it.
status-private = With login enabled, paths, settings and connection tests are not shown here; whoever runs the server has them there (python -m research check).
status-settings = All settings
status-setting = Setting
status-value = Value
status-settings_alt = Table of the current settings
status-library = { $own } own documents, { $sample } sample documents
holding-runs = Runs
holding-checkpoints = Progress of unfinished runs
holding-lookups = Cached look-ups
holding-library = Library
holding-database = Scenic areas (can be rebuilt)
holding-tables = Tables loaded from files
holding-reports = Saved reports
holding-part = Contents
holding-size = Size
holding-count = Count
holding-place = Place
holding-alt = Table of what is stored, where, and how large it is
holding-within = within “Runs”
holding-none = not created yet
holding-unknown = unknown
holding-server = Runs are kept on a PostgreSQL server instead of in a file.
holding-count_run =
    { $n ->
        [one] 1 run
       *[other] { $n } runs
    }
holding-count_answer =
    { $n ->
        [one] 1 answer
       *[other] { $n } answers
    }
holding-count_document =
    { $n ->
        [one] 1 document
       *[other] { $n } documents
    }
holding-count_file =
    { $n ->
        [one] 1 file
       *[other] { $n } files
    }
export-title = Export everything
export-text = One ZIP file: each run as JSON and Markdown, the text of your own documents, titles, watched topics and preferences. Keys are not included.
export-text_own = One ZIP file: each of your runs as JSON and Markdown, titles, watched topics and preferences. Keys are not included.
export-begin = Create export
export-making = Exporting: { $done } of { $total }
export-cancel = Cancel
export-ready = The file is ready: { $size }, { $when }
export-ready_text = The file is deleted when you delete the copy, create another export, or Sightline stops.
export-download = Download
export-discard = Delete the copy
export-lost =
    { $n ->
        [one] 1 run could not be written and is not in the file.
       *[other] { $n } runs could not be written and are not in the file.
    }
export-failed = The export failed: { $why }
wipe-title = Delete everything
wipe-text = Deletes all runs, conversations, evidence, watched topics, confirmed statements, notebooks, preferences and caches. This cannot be undone; export first if in doubt.
wipe-text_own = Deletes all your runs, conversations, evidence, watched topics, confirmed statements, notebooks and preferences; other people's data is not affected. You are signed out everywhere. This cannot be undone; export first if in doubt.
wipe-open = Delete everything…
wipe-warning = Runs in progress are stopped first. What is deleted cannot be recovered.
wipe-library = Also delete your own documents in the library
wipe-stays = Reports saved outside the data folder, downloads and backups are not deleted.
wipe-word = delete everything
wipe-type = Type: { $word }
wipe-cancel = Cancel
wipe-go = Delete permanently
wipe-going = Deleting…
wipe-keys_left = Everything else was deleted, but not the remembered keys: keys.json is not writable. Delete that file by hand.
wipe-running = A run could not be stopped, so nothing was deleted. Try again later.
wiped-done = Deleted: { $what }
wiped-nothing = there was nothing to delete
wiped-not_erased = The data is deleted, but another program was using a file, so traces may remain on the disk. Delete again later.
wiped-runs = runs
wiped-conversations = conversations
wiped-evidence = pieces of evidence
wiped-watches = watched topics
wiped-statements = confirmed statements
wiped-notes = notes
wiped-notebooks = notebooks
wiped-preferences = preferences
wiped-uploads = tables loaded from files
wiped-reports = saved reports
wiped-cached_answers = cached look-ups
wiped-documents = library documents
rescue-open = Set the damaged file aside and start over…
rescue-text = { $name } is renamed with a date and stays in its folder. It is not deleted, so that a backup or a repair tool can be tried later.
rescue-runs = Earlier runs are not shown until they are recovered. Runs in progress are interrupted.
rescue-library = The library starts over with the samples; your own files have to be added again.
rescue-other = Unfinished runs start over; finished ones are not affected.
rescue-go = Rename and start over
rescue-whole = The file is not damaged, so it was left unchanged. Try again.
rescue-failed = It could not be renamed: { $why }
rescue-done = Set aside as { $name }
status-in_settings = Set up in Settings
