### The words of asking: the question, its plan and its limits.

ask-title = What do you want to find out?
ask-lead = Every citation in an answer opens the passage that supports it.
ask-question = Question
ask-placeholder = For example: When was the Summer Palace built, and what does a ticket cost?
ask-start = Research
ask-plan_first = Plan first
ask-examples = Try one of these
ask-recent = Pick up where you left off
ask-effort =
    { $queries } { $queries ->
        [one] query
       *[other] queries
    } × { $loops } { $loops ->
        [one] round
       *[other] rounds
    }
ask-estimate = Estimate: { $facts }
ask-estimate_cost = about { $cost }
ask-queries = Max. queries per round
ask-loops = Max. search rounds
ask-limits = Limits for this run (0 = no limit)
ask-limits_help = At 80% of a limit, searching stops and the answer uses what was found.
ask-sources = Sources
ask-notebook = Notebook
ask-notebook_none = Whole library
ask-notebook_help = From the library, only documents in this notebook are searched and quoted.
ask-effort_help = More queries and rounds dig deeper but take longer.
ask-next = You could ask next
ask-follow_placeholder = Ask a follow-up: earlier questions and answers are taken into account
ask-new = New question
ask-no_run = There is no run with this ID. It may have been deleted or belong to another data folder.
ask-no_sources = No source is selected. Select at least one under “Sources”.
ask-models = { $write } writes the answers. Every run counts against your quota; its usage and estimated cost are shown as it runs.
ask-model = Another model for this run
ask-model_help = Used for reflection and writing. Leave empty to use the models in the settings. For example: openai:deepseek-chat.
ask-no_web = Web search is not available. Set: { $names }
ask-keyless = No model is in use: answers are verbatim quotes from the library, chosen by rules.
ask-open_sources = Search open sources on the internet too
ask-opened_sources = Open sources are searched from now on. You can turn this off in Settings.
problem-empty = The question is empty. Type what you want to know.
problem-too_long = The question has { $length } characters; the limit is { $limit }. Shorten it, and put longer text into the library. What you typed is still in the box.
problem-no_words = The question has no searchable words. Type what you want to know.
plan-title = Research plan
plan-help = Edit, add or delete rows. “About” is a name that every hit must mention; rows without a query are ignored.
plan-outline_help = Each row is one query of a section; edit, add or delete rows. Rows with the same title form one section, a row without a title belongs to the section above, and a section without queries searches for its title.
plan-section = Section
plan-content = Content
plan-tool = News search mode
plan-tool_help = Only for rows whose source is news.
plan-start_day = Start date
plan-end_day = End date
plan-days_help = Only for searches by date, which need both dates.
plan-dates_missing = a search by date needs a start date and an end date
plan-dates_order = the start date, { $start }, is after the end date, { $end }
plan-dates_future = the start date, { $start }, is in the future
plan-dates_idle = Some rows have dates but do not search by date; those dates are not used.
plan-subject = About
plan-part = Look for
plan-query = Query
plan-source = Source
plan-start = Start with this plan
plan-rerun = Edit the plan and run again
plan-rerun_help = Only changed queries are searched again; the other results are kept.
plan-rerun_start = Rerun what changed
plan-none = The plan has no queries. Fill in at least one row.
examples-samples =
    What does a ticket to the Palace Museum cost, and when is it closed?
    When were the Summer Palace and West Lake put on the World Heritage list?
    How do train tickets for children work in China, and how much luggage can they take?
examples-places =
    Where can I take kids near Wangfujing?
examples-web =
    How far are solid-state batteries from mass production, and who ships them already?
    How have rules for labelling AI-generated content changed over the past year?
    How do Chinese and Western drone-delivery businesses differ, and how large are they?
ask-add_key = Add a key
