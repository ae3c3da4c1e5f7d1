### The words of the History page, its bin, and the comparison of two runs.

history-title = History
history-lead = Everything you have asked: search it, pick it up again, compare.
history-empty = No runs yet
history-empty_how = Every question, news report and database query is kept here with its answer and its sources. Later you can find it by any word in them, tag it, export it, or compare two runs.
history-ask = Ask your first question
history-search = Search questions, answers, sources and notes
history-kind = Type
history-state = Status
history-period = Period
history-tag = Tag
history-any_tag = All tags
history-days = Date range
history-pinned = Pinned only
history_kind-all = All types
history_kind-question = Questions
history_kind-report = News reports
history_kind-table = Tables
history_kind-database = Database
history_kind-places = Places
history_state-all = Any status
history_state-done = Done
history_state-active = In progress
history_state-unfinished = Unfinished
history_period-all = Any time
history_period-today = Today
history_period-week = Last 7 days
history_period-month = Last 30 days
history_period-own = Custom dates
history_field-question = Question
history_field-answer = Answer
history_field-source = Source
history_field-note = Note
history-none = Nothing matches these filters.
history-unreadable = This entry cannot be read: it was stored by another version, or is damaged. The other entries are not affected.
history-clear = Clear filters
history-partial = Earlier runs are still being indexed; there may be more results.
history-range = { $first }–{ $last } of { $total }
history-earlier = Previous
history-later = Next
history-sources =
    { $n ->
        [one] 1 source
       *[other] { $n } sources
    }
history-turns =
    { $n } { $n ->
        [one] turn
       *[other] turns
    }
history-manage = Organise, export, delete
history-rename = Title
history-tags = Tags (up to 10)
history-tags_hint = Choose or type
history-save = Save
history-pin = Pin
history-unpin = Unpin
history-delete = Move to the bin
history-gone = Moved to the bin: { $title }
history-undo = Undo
history-bin = Bin ({ $n })
history-bin_title = Bin
history-bin_lead = Conversations stay here for 30 days and are then deleted.
history-bin_empty = The bin is empty.
history-back = Back to History
history-left =
    Moved here on { $date }, { $n } { $n ->
        [one] day
       *[other] days
    } left
history-restore = Restore
history-forever = Delete permanently
history-forever_sure = Its answers and the sources found are deleted with it. This cannot be undone.
history-empty_bin = Empty the bin
history-empty_sure = All conversations in the bin ({ $n }) will be deleted. This cannot be undone.
history-compare = Compare two runs
history-compare_stop = Stop comparing
history-compare_pick = Tick two runs ({ $n } ticked)
history-compare_now = Compare side by side
history-compare_tick = Select to compare
compare-title = Comparison
compare-lead = The earlier run is on the left, the later one on the right.
compare-missing = At least one of the runs cannot be found; it may have been deleted.
compare-open = Open
compare-limits = Limits and usage
compare-model = Written by
compare-rounds = Max. search rounds
compare-searches = Searches
compare-sources = Sources (cited)
compare-tokens = Tokens
compare-cost = Cost (estimate)
compare-time = Time
compare-aspect = Item
compare-before = Earlier
compare-after = Later
compare-table = Limits and usage of both runs
compare-figures = Figures that changed
compare-figures_none = No definite changes in figures.
compare-figures_help = Only where a sentence is identical except for its figures.
compare-sentences = Sentences
compare-gone = Only in the earlier answer ({ $n })
compare-came = Only in the later answer ({ $n })
compare-stayed = In both answers ({ $n })
compare-nothing = None
compare-all_sources = Sources
compare-only_before = Found only by the earlier run ({ $n })
compare-only_after = Found only by the later run ({ $n })
compare-common = Found by both runs ({ $n })
compare-cells = Cells that changed
compare-cells_none = All cells are the same in both tables.
compare-no_cell = (no such cell)
compare-cell_before = Earlier
compare-cell_after = Later
