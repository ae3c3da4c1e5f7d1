### The README of an export of everything.

takeout-title = Sightline export, { $when } (UTC)
takeout-runs =
    runs/: { $n } { $n ->
        [one] run
       *[other] runs, each
    } as a JSON and a Markdown file
takeout-personal = personal.json: titles, pins, tags, watched topics, confirmed statements, notes, notebooks, preferences, tables loaded from files
takeout-library = library/: the text of your own documents ({ $n }) and the originals that are kept, listed in library/index.json
takeout-no_keys = Keys are not included.
takeout-lost =
    { $n } { $n ->
        [one] run
       *[other] runs
    } could not be written.
