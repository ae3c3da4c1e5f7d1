# What a table says of itself, wherever it is shown

tabled-filled = { $filled } of { $cells } { $cells ->
        [one] cell is
       *[other] cells are
    } filled.
tabled-not_found = Not found: { $n }.
tabled-differs = Sources differ: { $n }.
tabled-which_one = Unclear which one is meant: { $n }.
tabled-limit = Not searched because of a limit: { $n }.
tabled-failed = Failed: { $n }.
tabled-yes = yes
tabled-no = no
tabled-unproven = A model gave a value, but the words it quoted are in none of the passages.

nav-tables = Tables
tables-title = Tables
tables-lead = Ask the same questions about several things. Every cell quotes the sentence it is based on.
tables-from_sentence = Describe it
tables-by_hand = Set it up yourself
tables-sentence = What do you want to compare?
tables-placeholder = Compare the Palace Museum and the Shaanxi History Museum: ticket price, closing day, whether booking is needed
tables-sentence_help = Rows and columns are proposed first. You edit them before anything is searched.
tables-propose = Propose a table
tables-waiting = This table is a proposal. Edit its rows and columns; nothing is searched until you fill it in.
tables-fill = Fill in the table
tables-costs = { $cells } cells, at most { $searches } searches
tables-earlier = Earlier tables
tables-new = New table
tables-name = Title (optional)
tables-rows = Rows
tables-rows_example =
    Palace Museum | Beijing
    Shaanxi History Museum
tables-rows_help = One per line. If others share its name, add a vertical bar and what sets it apart, such as the city.
tables-from_file = Rows from a CSV file
tables-file = CSV file: its “name” column is used, otherwise the first one
tables-from_run = Rows from an earlier answer
tables-run = Answer
tables-run_help = Uses the places on its map, the rows of its database result or the papers it found.
tables-take = Add these rows
tables-no_rows = That answer has no places, database rows or papers.
tables-row = Row
tables-about = Which one
tables-about_help = What sets it apart from others with the same name, such as the city
tables-columns = Columns
tables-column = Column
tables-question = Question
tables-question_help = What to ask about each row. Leave it empty if the column’s name says enough.
tables-type = Type
tables-type_text = Text
tables-type_number = Number
tables-type_date = Date
tables-type_yes_or_no = Yes or no
tables-type_choice = Choice
tables-unit = Unit
tables-unit_help = For numbers, such as CNY or km²
tables-choices = Choices
tables-choices_help = For a choice: the options, separated by semicolons
tables-column_unnamed = A column without a name is left out: { $text }
tables-column_choices = { $name }: fewer than two choices, so it is filled as text.
tables-at = { $done } of { $cells } cells looked up
tables-planned = A table of { $rows } { $rows ->
        [one] row
       *[other] rows
    } and { $columns } { $columns ->
        [one] column
       *[other] columns
    }
tables-filled = { $filled } of { $cells } cells filled
tables-differing = sources differ in { $n } { $n ->
        [one] cell
       *[other] cells
    }
tables-unsure = { $n } { $n ->
        [one] value needs
       *[other] values need
    } checking
tables-unnamed = { $n } { $n ->
        [one] row name is
       *[other] row names are
    } ambiguous
tables-mixed = { $columns }: some values are in another currency or unit. They are not converted when you sort.
tables-pick = Select a cell to see what it is based on, or why it is empty.
tables-not_yet = This cell has not been looked up yet.
tables-lack_not_found = Not found: none of the sources searched answers this.
tables-lack_differs = The sources disagree.
tables-lack_which_one = Several things share this name. Choose the one you mean; only this row is looked up again.
tables-lack_limit = Not looked up: a limit of this run was reached.
tables-lack_failed = The search failed.
tables-change = Change the table
tables-change_help = Only new or changed cells are looked up; all others are kept.
tables-since = Look up again what is older than
tables-since_help = Leave it empty to keep everything found so far.
tables-again = Update the table
tables-nothing = A table needs at least one row and one column.
tables-columns_sure = How well each column is supported
tables-sure_filled = Filled
tables-sure_checked = Checked
tables-sure_checked_help = Cells whose value the quoted sentence bears out
tables-sure_differ = Sources differ
tables-sure_sources = Sources per cell
tables-sure_oldest = Oldest source
tables-chart = Chart of a column
tables-chart_of = { $column } by row
tables-chart_left = Left out, in another currency or unit: { $rows }
