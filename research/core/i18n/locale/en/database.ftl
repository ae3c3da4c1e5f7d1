### The words of the Database page and of tables of rows.

database-title = Ask the database
database-lead = Ask in Chinese or English, or write SQL yourself. It is read-only: nothing is ever changed, and you can see every step.
database-shipped = 5A scenic areas of China (ships with Sightline)
database-which = Database: { $name }
database-choice = Database
database-usual = default
database-wrong = “{ $name }” cannot be queried: { $why }
database-mode = How to ask
database-question = Question
database-sql = SQL
database-placeholder = For example: Which 5A areas are within 100 km of West Lake?
database-sql_placeholder = One SELECT statement, for example: SELECT name, year_rated FROM a_sight ORDER BY year_rated DESC
database-sql_own = One SELECT statement
database-sql_help = The statement is checked before it runs: a single SELECT on the tables below, returning at most { $n } rows; page or export to see more.
database-ask = Ask
database-run = Run
database-rules = Without a model, rules turn common kinds of questions into SQL. For anything else, write SQL yourself.
database-rules_own = Questions in your own words need a model that writes SQL. Without one, write SQL yourself, or ask a question whose answer you have confirmed.
database-model = { $write } writes the SQL; questions that the rules understand need no model.
database-model_own = { $write } writes the SQL; questions that you have confirmed need no model.
database-schema =
    { $n ->
        [one] What you can ask about: 1 table
       *[other] What you can ask about: { $n } tables
    }
database-table = Table
database-schema_failed = The database cannot be queried right now: { $why }
database-view = view
database-columns = Columns of { $table }
database-heading = Heading
database-column = Name in SQL
database-type = Type
database-comment = Meaning
database-values = Values
database-key = primary key
database-refers = refers to { $column }
database-write = This database account has write access. Sightline never writes, but a read-only account is safer.
database-superuser = This database account is a superuser, with too much access. Use a read-only account.
database-unreadable = Left out, because the database cannot read it: { $names }
database-confirmed = Questions confirmed as correct ({ $n })
database-confirmed_help = Asking the same question again uses its confirmed statement; a model uses them as examples for similar questions.
database-again = Ask again
database-typed = SQL statement
rows-table = Table of results
rows-rows =
    { $n ->
        [one] 1 row
       *[other] { $n } rows
    }
rows-truncated = there are more; these are the first { $n }
rows-page = Page
rows-page_help = Further pages are read live from the database; they are not part of this run or its evidence.
rows-reading = Reading…
rows-no_page = There are no further rows.
rows-span = Rows { $first } to { $last }
rows-unordered = without ORDER BY, the same row may appear on two pages
rows-all = All rows
rows-all_help = Runs the statement again and writes up to { $n } rows to a file, within five minutes.
rows-exporting = { $n } rows so far
rows-all_made = Download { $n } rows
rows-all_more = Download the first { $n } rows; there are more
rows-cut =
    { $n } long { $n ->
        [one] cell
       *[other] cells
    } shortened
rows-null = NULL (shown as –): { $what }
rows-null_in =
    { $name } in { $n } { $n ->
        [one] row
       *[other] rows
    }
rows-known =
    { $name }: known for { $known } of { $n } { $n ->
        [one] row
       *[other] rows
    }
rows-known_part =
    { $name }: known for { $known } of { $n } { $n ->
        [one] row
       *[other] rows
    } of a subquery
rows-uncounted = { $name }: could not count how many rows lack it
rows-missed = A filter that matches nothing: { $what }
rows-none = No rows match.
rows-pick = Select a row to see it on the map; a place picked on the map is selected here.
rows-statement = SQL that was run
rows-right = This is correct
rows-right_help = Remembers this statement: it answers the same question from now on and serves as an example for similar ones.
rows-remembered = Confirmed and remembered
rows-other = Another statement is remembered for this question
rows-back = Undo
rows-edit = Edit this SQL
rows-write = Write SQL
rows-chart = Chart
rows-measure = Figure
rows-chart_bar = Bar chart of { $measure } by { $label }
rows-chart_line = Line chart of { $measure } over { $label }
rows-chart_points = Scatter plot of { $measure } against { $label }
rows-chart_top = The chart shows the first { $n }.
rows-steps =
    { $n ->
        [one] Chain of thought (1 step)
       *[other] Chain of thought ({ $n } steps)
    }
rows-place = Row { $n }
rows-cited = Cited rows ({ $n })
rows-found =
    { $n } { $n ->
        [one] row
       *[other] rows
    }
rows-found_more = more than { $n } rows
database-examples =
    How many 5A areas does each province have?
    How many 5A areas were rated each year?
    Which 5A areas are within 50 km of the Palace Museum?
    The 10 most expensive 5A areas in Sichuan
unreadable-kind = { $file } cannot be read as a table. Supported: CSV, TSV, Excel, Parquet, JSON, and tables in web pages and Word files.
unreadable-size = { $file } is too large: the limit is 1 GB. Split it.
unreadable-rows = { $file } has more than 20 million rows. Split it.
unreadable-columns = { $file } has more than 500 columns. Delete those that are not needed, or split it.
unreadable-empty = { $file } has no rows of data; charts and pictures are not read. Check that it is the right file.
unreadable-encoding = { $file } is in an encoding that cannot be told. Choose it, or save the file as UTF-8.
unreadable-broken = { $file } is damaged or incomplete. Get it again, or open it in the program that wrote it and save it anew.
unreadable-encrypted = { $file } is protected with a password. Save it without, then load it again.
unreadable-mislabelled = { $file } is not what its extension says: its content is that of a { $content } file, without a table that can be read. Rename it to { $content }, or save it as .xlsx or .csv.
unreadable-packed = { $file } is a packed file ({ $content }), not what its extension says. Unpack it and load the files in it.
unreadable-broken_at = { $file } cannot be read from line { $row } on: a quotation mark may be unclosed, or the line may be longer than 4 million characters. Correct that line.
unreadable-extent = { $file } has cells far away from its table, with millions of empty ones in between. Delete them, save the file anew and try again.
unreadable-unpacked = { $file } unpacks to far more than its size allows. Save it anew, or as CSV.
unreadable-time = Reading { $file } takes longer than a file of its size may take. It may be damaged or built to stop programs: save it anew, or as CSV.
unreadable-memory = Reading { $file } takes more memory than a file of its size may take. It may be damaged or built to stop programs: save it anew, or as CSV.
unreadable-busy = Too many files are being read at once. Try { $file } again in a minute.
unreadable-start = { $file } was not read: the process that reads files cannot be started on this machine.
unreadable-uncalculated = { $file } holds only formulas without stored results. Open and save it in a program that calculates.
unreadable-value = { $file } has values that do not fit their column's detected type.
loaded-table = { $table } ({ $rows } rows) from { $file }: { $columns }
loaded-commas = commas
loaded-semicolons = semicolons
loaded-tabs = tabs
loaded-bars = bars
loaded-other_delimiter = delimiter { $mark }
loaded-sheet = sheet { $sheet }
loaded-own_types = the types of the file
loaded-headings_in_row = headings in row { $row }
loaded-headings_in_rows = headings in rows { $first } to { $last }
loaded-no_headings = no headings
loaded-decimal_commas = decimal commas in { $columns }
loaded-days_first = day first in { $columns }
loaded-months_first = month first in { $columns }
loaded-unit = { $unit } in { $columns }
loaded-identifiers = { $columns } as text to keep every digit
loaded-missing =
    { $n ->
        [one] 1 value such as N/A is
       *[other] { $n } values such as N/A are
    } empty in { $columns }
loaded-chosen = type chosen for { $columns }
loaded-totals_aside =
    { $n ->
        [one] 1 total row
       *[other] { $n } total rows
    } set aside
loaded-notes_aside =
    { $n ->
        [one] 1 note
       *[other] { $n } notes
    } set aside
loaded-wide_aside =
    { $n ->
        [one] 1 row that is too long
       *[other] { $n } rows that are too long
    } set aside
loaded-rows_aside = { $n } rows set aside
loaded-totals_kept = total rows kept in the data
loaded-left_out =
    { $count } of { $total } values of { $column } could not be read as { $type ->
        [integer] whole numbers
        [date] dates
        [datetime] dates and times
        [boolean] true or false
       *[number] numbers
    } and were left out
loaded-mixed =
    { $column } stays text, as { $total ->
        [0] not all values
       *[other] { $count } of { $total } values
    } could { $total ->
        [0] be
       *[other] not be
    } read as { $type ->
        [integer] whole numbers
        [date] dates
        [datetime] dates and times
        [boolean] true or false
       *[number] numbers
    }
loaded-as_thousands = 1,234 in { $column } is read as 1234; nothing tells whether it means thousands or decimals
loaded-as_decimals = 1.234 in { $column } is read as a decimal; nothing tells whether it means thousands or decimals
loaded-day_or_month_first = { $column } stays text: nothing tells whether the day or the month comes first
loaded-different_units = { $column } stays text: its values have different units
loaded-totals =
    { $count ->
        [one] 1 total row of { $table } is
       *[other] { $count } total rows of { $table } are
    } not in the data
loaded-wide_rows =
    { $count ->
        [one] 1 row of { $table } has more values than there are columns, and is
       *[other] { $count } rows of { $table } have more values than there are columns, and are
    } not in the data
loaded-short_rows =
    { $count ->
        [one] 1 row of { $table } ends early; what is missing is empty
       *[other] { $count } rows of { $table } end early; what is missing is empty
    }
loaded-thousands_or_decimals = { $column } stays text: nothing tells whether its points and commas mean thousands or decimals.
loaded-two_digit_years = { $column } stays text: its dates have years of two digits, so that day, month and year cannot be told apart.
loaded-shortened = { $column } stays text: values such as { $example } are identifiers that a spreadsheet program shortened; their last digits are lost.
loaded-other_values = { $column } stays text: nearly all of its values are numbers or dates, but some are not, such as { $example }.
loaded-metres_or_millions = { $column } stays text: nothing tells whether m means million or metre.
loaded-area = One of { $n } tables that are read apart: { $text }.
loaded-above = Above the headings: { $text }
loaded-words = Row of headings, or data? There are only words below it: { $text }.
loaded-row_names = The headings are one fewer than the columns: the first column holds names of rows.
loaded-repeated = Headings that occur more than once are numbered: { $text }.
loaded-unnamed = Columns without a heading: { $text }.
loaded-blank_rows = After a blank row, row { $text } may be the headings of another table; it is read as data.
loaded-blank_labels = { $text }: blank cells may stand for the value above them; they are empty here.
loaded-unsummed =
    { $n ->
        [one] 1 row is named like a total or average but its figures do not show it; it counts as data: { $text }.
       *[other] { $n } rows are named like totals or averages but their figures do not show it; they count as data: { $text }.
    }
loaded-unlabelled =
    { $n ->
        [one] 1 row has no label and counts as data: { $text }.
       *[other] { $n } rows have no label and count as data: { $text }.
    }
loaded-total_columns = A total of other columns, which must not be added to them: { $text }.
loaded-of_which =
    { $n ->
        [one] 1 row is a part of another row, so that sums count it twice: { $text }.
       *[other] { $n } rows are parts of other rows, so that sums count them twice: { $text }.
    }
loaded-indented =
    { $n ->
        [one] 1 row is indented, so that it may be a part of the row above and count twice in sums: { $text }.
       *[other] { $n } rows are indented, so that they may be parts of rows above and count twice in sums: { $text }.
    }
loaded-parts =
    { $n ->
        [one] 1 row has the sums or differences of rows beside it and counts as data, so that sums may count twice: { $text }.
       *[other] { $n } rows have the sums or differences of rows beside them and count as data, so that sums may count twice: { $text }.
    }
loaded-label_rows =
    { $n ->
        [one] 1 row has only a label, as headings of groups do; it is in the data: { $text }.
       *[other] { $n } rows have only a label, as headings of groups do; they are in the data: { $text }.
    }
loaded-hidden_sheet = The sheet { $text } is hidden in the workbook.
loaded-hidden_rows =
    { $n ->
        [one] 1 row that is hidden in the workbook is included.
       *[other] { $n } rows that are hidden in the workbook are included.
    }
loaded-hidden_columns = Columns that are hidden in the workbook are included: { $text }.
loaded-filtered =
    { $n ->
        [one] The sheet is filtered; 1 row that the filter hides is included.
       *[other] The sheet is filtered; { $n } rows that the filter hides are included.
    }
loaded-uncalculated =
    { $n ->
        [one] 1 formula has no stored result and is empty here: open and save the file in a program that calculates.
       *[other] { $n } formulas have no stored results and are empty here: open and save the file in a program that calculates.
    }
loaded-errors =
    { $n ->
        [one] 1 cell of the sheet holds an error, such as #N/A, and is empty here.
       *[other] { $n } cells of the sheet hold errors, such as #N/A, and are empty here.
    }
loaded-percent = Shown in percent in the workbook; 0.125 means 12.5 %: { $text }.
loaded-sentinel = The only negative number may be a code for a missing value, such as -999: { $text }.
loaded-parentheses = Numbers in parentheses are read as negative, but a note of the file gives parentheses a meaning of their own: { $text }.
loaded-one_column = Read as one column, although most rows have marks that may separate values.
loaded-merged_numbers =
    { $n ->
        [one] 1 number of merged cells stands in the first of them only, so that sums count it once: { $text }.
       *[other] { $n } numbers of merged cells stand in the first of them only, so that sums count them once: { $text }.
    }
loaded-unknown_details = Hidden rows and columns, filters, errors and percent of this workbook are not recognised.
loaded-read_as = The content is that of a { $text } file, not what the extension says; it was read as such.
loaded-cut = The page ends within this table: rows may be missing. Save the page anew.
loaded-serial_days = Whole numbers that may be serial numbers of days in a spreadsheet: { $text }.
loaded-skipped_sheets =
    { $n ->
        [one] 1 further sheet of the workbook is not read.
       *[other] { $n } further sheets of the workbook are not read.
    }
loaded-scaled = numbers such as 1.5k multiplied out in { $columns }
loaded-compact = dates such as 20240305 in { $columns }
loaded-serials =
    { $n ->
        [one] 1 serial day number as a date
       *[other] { $n } serial day numbers as dates
    } in { $columns }
loaded-zone = time zone { $zone } in { $columns }
loaded-names = { $columns } as text, being no amounts
loaded-averages_aside =
    { $n ->
        [one] 1 row of averages
       *[other] { $n } rows of averages
    } set aside
loaded-headings_aside =
    { $n ->
        [one] 1 repeated row of headings
       *[other] { $n } repeated rows of headings
    } set aside
loaded-averages =
    { $count ->
        [one] 1 row of averages of { $table } is
       *[other] { $count } rows of averages of { $table } are
    } not in the data
type-text = text
type-integer = whole number
type-number = number
type-date = date
type-datetime = date and time
type-boolean = true or false
type-number_point = number, decimal point
type-number_comma = number, decimal comma
type-date_dmy = date, day first
type-date_mdy = date, month first
files-title = Your files ({ $n })
files-upload = Add CSV, TSV, Excel, Parquet or JSON files, or web pages and Word files with tables
files-limit = Up to { $size } MB each here; the command line takes up to 1 GB. Only you can see your files.
files-load = Load
files-loading = Loading… { $done } of { $size } MB
files-choice = Files: { $names }
files-change = Change how it was read
files-set_aside =
    { $n ->
        [one] 1 row set aside
       *[other] { $n } rows set aside
    }
files-row = Row { $n }, { $kind }: { $text }
files-row_total = total
files-row_average = average
files-row_heading = repeated headings
files-row_note = note
files-row_width = too long
files-keep_totals = Keep rows of totals in the data
files-read_again = Read again
files-read_as_detected = Read as detected
files-reading_again = Reading…
files-not_kept = To change how these files are read, add them again.
files-encoding = Encoding
files-delimiter = Delimiter
files-detected = as detected
files-comma = comma
files-semicolon = semicolon
files-tab = tab
files-bar = bar
files-header = Heading row
files-header_help = 0 if there is none; columns are then numbered.
files-heading = Heading
files-first = First value
files-delete = Delete

meaning-title = Names and meanings
meaning-help = Name tables and columns once, in both languages: a model then writes better SQL, and tables get readable headings.
meaning-draft = This is a draft made from the names and comments in the database.
meaning-desk = This description was set up for everyone on this server.
meaning-owner = This is your own version.
meaning-problem = The description cannot be used, so a draft is used instead: { $why }
meaning-refused = Not saved: { $why }
meaning-tables = Tables
meaning-metrics = Metrics
meaning-file = YAML file
meaning-metrics_help = Figures that people ask for by name, such as revenue: an aggregate over the columns of one table, for example sum(price * quantity).
meaning-first = The first row is the table itself.
meaning-zh = Chinese name
meaning-en = English name
meaning-synonyms = Synonyms
meaning-synonyms_help = Other words for it, in either language, separated by commas
meaning-unit = Unit
meaning-name = Identifier
meaning-expression = Expression
meaning-yaml = Semantic model as YAML
meaning-save = Save
meaning-download = Download
meaning-back = Discard my version
