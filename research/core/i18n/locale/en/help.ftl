### The words of the Help page, of the ways to it, and of the tour for who is here for the first time.

nav-help = Help
help-title = Help
help-lead = Read it in three minutes, or search for what you need.
help-search = Search the help
help-search_hint = Keys, quota, maps…
help-found = Topics found: { $n }
help-none = Nothing found. Try another word, or clear the box to see everything.
help-tour = Show the tour
help-how = How is this checked?
help-digest = What is a digest?
group-ask = Asking
group-trust = Reading an answer
group-look = Where it looks
group-yours = Your desk
topic-what = What Sightline is for
guide-what =
    Sightline is a research desk for people who must stand behind what they write. You ask, it searches, and the claims in the answer carry numbers: click one to read the passage.
    
    Use it to write briefings, check a figure, follow a topic or compare places. It does not decide for you. It puts the evidence in front of you.
topic-asking = How to ask
guide-asking =
    Write full sentences and use specific names. One question may ask for several things.
    
    Below the box you choose how thorough the search is: queries per round, rounds, sources. You can limit searches, tokens, cost and time. The expected usage is shown beside them.
    
    { "**" }Plan first** shows what would be looked up, so that you can edit it before it starts. You can also have every run wait until you approve its plan.
topic-running = While it runs: leaving, stopping, resuming
guide-running =
    Runs happen on the server. Refresh, change pages, close the tab: the run continues, and its address brings you back.
    
    Stop at any time. What was found is kept, and no search is repeated when you resume. Or stop searching and have the answer written with what was found.
    
    After a crash the run is listed as interrupted. One click resumes it from its last finished search.
topic-follow = Follow-up questions, and another round
guide-follow =
    Ask a follow-up below the answer. It is expanded into a question that stands on its own. It knows the earlier answers, may cite what they cite, and searches only for what is missing.
    
    To go another way, ask again from any earlier turn. If it did not dig deep enough, add a round. To change a few queries, edit the plan and run again: unchanged queries are not searched twice.
topic-digest = What a digest is
guide-digest =
    Without a model the answer is a digest. Rules split the question, find the sentences that bear on it, and quote them word for word, part by part.
    
    It is not written by AI. It does not rephrase, summarise or conclude, and it says which parts it found nothing for. The quotes are exact; whether the source itself is right, you still have to check.
topic-citation = Why a citation never points to nothing
guide-citation =
    The program assigns the numbers, not the model: from 1, in order of first citation, one number per source, with none missing and none left over.
    
    A model can only cite passages it was given. A number or an address that it makes up matches none of them: it is shown as having no source, never as a link.
    
    So a number always opens a passage that exists. Whether that passage supports the sentence is another matter, and the check of each sentence gives a hint.
topic-support = What the marks after sentences mean
guide-support =
    Each sentence is compared with the passages it cites: figures, dates, names, units, affirmed or denied. Doubtful sentences end with a mark; click it to see why.
    
    A model can also review those in doubt and those with barely enough support (see the Settings page). Its claim of support counts only with a quote from the passage; where it rejects what the rules support, the sentence is marked as unclear.
topic-conflicts = Where sources disagree
guide-conflicts =
    If sources give different figures or dates for the same thing, a table below the answer lists each with its source, date and sentence.
    
    Rounding and unit conversion do not count as disagreement, and copies of one text count once. Only sentences in similar words are compared, so most differences in other words are missed; doubtful cases are left out. Which one is right is for you to judge.
topic-news = News reports and watched topics
guide-news =
    A topic becomes an outline that you can edit. Its sections are searched, written and deepened in parallel, then summed up. Reports of the same event are grouped into one story, with a timeline, the outlets, the tone and the figures on which they differ.
    
    Check a watched topic again: what is already known is neither read nor paid for again, and the report begins with what has changed. Reports without a date are said to have none; the time a page was crawled is not taken as its publication date.
topic-tables = Tables: the same questions about several things
guide-tables =
    Describe what to compare, or set up rows and columns yourself. A proposal waits until you have edited and approved it.
    
    Select a cell to see its sentence and sources, or why it is empty. Check the yellow cells: sources differ, the sentence does not clearly say so, or the name of the row is ambiguous.
    
    When you change a table, only new or changed cells are looked up.
topic-places = Places, coordinates and quota
guide-places =
    A question about places searches the map as well. Places are numbered like any source and shown on the map beside the answer. The Places page has all of them: filter, compare, plan a day's route.
    
    Amap's coordinates (GCJ-02) are converted to WGS-84 as they are read, so exported files fit other maps. For a province, or a name that several places share, you are asked which is meant; nothing is guessed. Amap's answers are kept for a while, and repeating the same search then uses no quota.
    
    Amap covers mainland China, Hong Kong and Macau. With the open sources on, OpenStreetMap answers for the rest of the world, and for China too where there is no Amap key; it has no ratings and no routes, and fewer shops in China. Its places carry “© OpenStreetMap contributors” wherever they are shown or exported, because their licence (ODbL) asks for it.
topic-database = Why the database cannot be changed
guide-places_add = For now there are only a few sample places. Enter an Amap key ({ $name }) on the Settings page to search for places all over China, or turn on the open sources there to search the world with OpenStreetMap, without a key.
guide-database =
    Ask in plain words and they become SQL. Each step opens to show its statement, row count and time. You can also write SQL yourself.
    
    Statements are parsed and checked against lists of what is allowed. Only text regenerated from the checked tree is run, on a connection that cannot write, with limits on rows and time. Text in cells is treated as data, never as an instruction.
topic-library = The library: what it can read
guide-library =
    It reads { $kinds }, one by one or as whole folders. Adding a file that has changed replaces it. The sample documents can be turned off at any time.
    
    Scanned pages and pictures are read by text recognition (OCR) if that is installed; what was read this way is marked, as it may contain mistakes. It cannot read damaged, protected or empty files. Each of those is listed on its own line and does not affect other files.
topic-privacy = What leaves this machine
guide-privacy = With the current settings:
leaves-none = - Questions are answered here and sent to no service.
leaves-models = - **Models** ({ $names }) receive the question, the plan and the passages found, which may include passages from the library and database rows.
leaves-web = - **Web search** ({ $names }) receives the queries.
leaves-pages = - **Pages** that were found are read from their sites, if robots.txt allows it.
leaves-news = - **News** ({ $names }): queries are sent, or feeds are read.
leaves-wikidata = - **Wikidata** (and Wikipedia, which finds what a query is about) receives the queries, and your email address if one is set (SIGHTLINE_CONTACT).
leaves-papers = - **Scholarly services** ({ $names }) receive the queries, and your email address if one is set (SIGHTLINE_CONTACT).
leaves-places = - **Amap** receives place names and the categories to look for.
leaves-osm = - **OpenStreetMap** receives place names (Nominatim) and, for searches around a place, the point, radius and categories (Overpass), { $when ->
    [abroad] where Amap does not cover the place or does not know it; names in Latin letters are looked up there first, to see where they are
   *[always] for every question about places
 }.
leaves-source = - **{ $name }** receives the queries.
leaves-tiles = - **The base map** is loaded by your browser from OpenStreetMap, or from Amap if you choose it: they learn which area you are looking at.
leaves-pictures = - **News pictures** are loaded by your browser only when you press “Show pictures”.
leaves-engine = - **Run server**: runs are carried out by another server.
leaves-traces = - **Traces**: stages, times and usage go to your own collector, without questions, answers or keys.
leaves-never = Never sent: keys (except to the service each belongs to), whole files, usage statistics. No page loads fonts or scripts from other hosts.
topic-data = Where data and keys are kept
guide-data =
    Runs, places, the library and your preferences are kept on the machine that Sightline runs on; if a database server is set, runs are kept there. Backing up the data folder backs up the library.
    
    Keys are set in the environment or entered on the Settings page. They reach no log, export or prompt; pages only show whether one is set. The Status page shows what each service can do now.
guide-folder = The data folder:
guide-shared = Login is enabled: runs are visible only to whoever asked; the library and the quota of the keys are shared by everyone.
topic-export = Exporting a report
guide-export =
    An answer can be exported as Markdown, PDF, Word, a single HTML file or JSON, its sources as CSL-JSON, BibTeX, RIS or CSV. Places and tables have files of their own, and a ZIP holds everything.
    
    Each states when, how and by whom it was made, within which limits, and what failed. The PDF embeds its fonts, Chinese included.
topic-costs = What it costs
guide-costs =
    Without models and paid searches, nothing. With them there is an estimate beforehand, a running count and a total in the report: tokens, searches, dollars by model. A model without a price is shown as unknown, not free.
    
    You can set limits for a run. At 80% of a limit, searching stops and the answer uses what was found. What was just looked up is not paid for again.
topic-keyboard = Keyboard
guide-keyboard = Everything can be done without a mouse.
guide-key = Key
guide-does = What it does
guide-keys_alt = Table of the keys
key-focus = Go to the question or follow-up box
key-send = Start the run (in the question box)
key-line = Start a new line in the question box
key-open = Open or close a citation, a mark or a collapsed section
key-close = Close an open passage or dialog
key-next = Move to the next control
key-back = Move to the previous one
key-list = Move through the list of places
topic-trouble = If something fails
guide-trouble =
    One failure does not end a run. Failures are listed under the answer with their reasons:
    
    - **{ $lacking }**: its key is not set, or was not accepted ({ $refused }). The Status page shows which one; enter it on the Settings page.
    - **{ $outage }, { $timeout }**: the service did not respond. Resume the run later; no search is repeated.
    - **{ $quota }**: wait for the quota to reset, or use another search that is set up.
    - **{ $empty }**: the search ran but found nothing. Rephrase, or use a more exact name.
    
    “{ $internal }” is a fault in Sightline. If there is an error number beside it, give it to whoever runs the server: the log has the same number.
tour-name = Sightline in a minute
tour-next = Next
tour-back = Back
tour-skip = Skip
tour-done = Start
tour-ask = Ask a question
tour-ask_text = Write down what you want to find out. You can ask several things at once.
tour-ask_alt = Drawing: a box for the question and a button
tour-watch = Watch it work
tour-watch_text = The plan, each search and what is still missing appear as they happen. Leave the page and the run continues; stop it and nothing found is lost.
tour-watch_alt = Drawing: three searches, two of them finished
tour-cite = Open a citation
tour-cite_text = Each number opens its passage, with the closest sentence highlighted. A small mark after a sentence means it is worth checking.
tour-cite_alt = Drawing: a number that opens its passage
tour-more = There is more than questions
tour-more_text =
    { "*" }*News**: a report on a topic, updated when you wish.
    
    { "**" }Tables**: the same questions about several things, each cell with its source.
    
    { "**" }Places**: all that was found, on one map.
    
    { "**" }Database**: ask it in plain words; it is read-only.
    
    { "**" }Library**: your own files.
tour-more_alt = Drawing: a newspaper, a map, a table and books
tour-yours = Make it yours
tour-yours_text =
    With keys, models write the answers and the web is searched. Enter them on the Settings page; the Status page shows what is set up and what is missing. Runs and documents stay on the machine that Sightline runs on.
    
    To see this again, open the Help page.
tour-yours_alt = Drawing: a key and some sliders
