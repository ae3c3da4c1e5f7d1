### The words of the Library page.

library-title = Library
library-lead = Add your own files here, and answers will quote from them. They stay on this machine.
library-shared = The library is shared: everyone who signs in here can read, add and remove its files. Runs are not shared: they belong to whoever asked.
library-add = Add documents
library-upload = Drop files or folders here
library-types = Accepts { $types }. { $limit } Unchanged files are not added again.
library-limit = Limit per file: { $size } MB and { $characters } characters of text.
library-more_ways = Choose a whole folder
library-more_ways_local = A whole folder, or a path on this machine
library-upload_folder = Choose a folder
library-folder_note = Includes subfolders; names keep their paths. Files of other types are not uploaded.
library-folder = A folder or file on this machine
library-folder_add = Read
library-folder_missing = Nothing found at this path: { $path }
intake-waiting = Waiting for earlier files to be read…
intake-reading = Reading { $n } of { $total }: { $name }
intake-stop = Stop
intake-stopping = Stopping after this file.
intake-stopped =
    stopped, { $n } { $n ->
        [one] file
       *[other] files
    } left
intake-failed =
    interrupted, { $n } { $n ->
        [one] file
       *[other] files
    } left
intake-left_out = { $n } of other types skipped
intake-nothing = There are no files to add.
added-read_as = { $name }: content of a { $suffix } file, read as such
added-cut = { $name }: ends before its own end, so that text may be missing; get the file again and add it anew
added-uncalculated =
    { $n ->
        [one] { $name }: 1 formula has no stored result and is missing
       *[other] { $name }: { $n } formulas have no stored result and are missing
    }; save the workbook in a program that calculates and add it again
intake-dismiss = Dismiss
added-added = { $n } added
added-replaced = { $n } replaced
added-unchanged = { $n } unchanged
added-unread = { $n } could not be read
unread-title = Files that could not be read ({ $n })
unread-more = { $n } more
unread-dismiss = Dismiss all
unread-kept = A file leaves this list once it has been added.
unread-unsupported = Unsupported file type
unread-unreadable = Unreadable
unread-encrypted = Password-protected
unread-empty = No text
unread-mislabelled = Not what the extension says
unread-content = content of a { $suffix } file
unread-no_text_layer = Pictures without text
unread-pages = pages { $pages }
unread-too_large = Too large
over-size = the file is larger than { $n } MB
over-characters = more than { $n } characters of text
over-pages = more than { $n } pages
over-rows = a table of more than { $n } rows
over-cells = a sheet of more than { $n } cells
over-unpacked = it unpacks to more than { $n } MB, or to far more than its size allows
over-pixels = a picture of more than { $n } megapixels
over-page = one page has more content than can be read
over-depth = nested more than { $n } levels deep
over-attributes = an element with more than { $n } attributes
over-elements = more than { $n } elements
over-slides = its slides are pictures
over-formulas = formulas without stored results
over-attachments = more than { $n } attachments
over-attached = mails are attached to each other more than { $n } deep
over-time = reading it takes longer than a file of its size may take
over-memory = reading it takes more memory than a file of its size may take
over-busy = too many files were being read
over-start = the process that reads files cannot be started
unread-too_many = Too many files at once
remedy-unsupported = Save it as PDF, Word (.docx), PowerPoint (.pptx), Excel (.xlsx), a web page or plain text, then add it.
remedy-unreadable = It may be damaged, incomplete or not what its extension says. Get it again, or open it and save it anew, then add it.
remedy-depth = Save it as PDF or plain text, then add it.
remedy-shape = Save it as PDF or plain text, then add it.
remedy-slides = Save the presentation as PDF, then add that: the pages of a PDF can be read by OCR.
remedy-attachments = Save the attachments that matter on their own, then add those.
remedy-attached = Save the inner mail on its own, then add it.
remedy-time = It may be built to stop programs, or be damaged. Save it anew or split it, then add it.
remedy-memory = It may be built to stop programs, or be damaged. Save it anew or split it, then add it.
remedy-busy = Add it again in a minute.
remedy-start = It is no fault of the file: see to the memory and the temporary folder of the machine that runs Sightline, then add it again.
remedy-page = Remove that page, then add the file.
remedy-encrypted = Remove the password, then add it again.
remedy-mislabelled = Rename it to the extension of its content or save it anew; unpack packed files. Then add it.
remedy-formulas = Open the workbook in a program that calculates, save it, then add it.
remedy-empty = Check that it is the right file.
remedy-no_text_layer = The pages hold pictures without text. To have them read here (OCR), install this where Sightline runs and start Sightline again: { $line }
remedy-pixels = Make the picture smaller, then add it.
remedy-too_large = { $limit } Split it, then add the parts.
remedy-too_many = Add the rest in several batches.
library-empty = No documents of your own yet.
library-teach_kinds = { "*" }*What you can add**: PDF, Word (.docx), PowerPoint (.pptx), OpenDocument and RTF texts, e-books (.epub), mails (.eml, .msg) with their attachments, Jupyter notebooks, Excel, OpenDocument and CSV tables, web pages, Markdown and plain text, in Chinese or English.
library-teach_scans = { "*" }*Scans and pictures**: pages without text and pictures (PNG, JPEG, WebP, TIFF) are read by OCR, in the background; what was read may contain mistakes.
library-teach_no_scans = { "*" }*Scans and pictures**: not read, as text recognition (OCR) is not installed.
library-teach_not = { "*" }*What is not read**: password-protected files, books with DRM, old .doc and .ppt files.
library-teach_kept = { "*" }*Where it is kept**: the text is stored in library.db in the data folder; your files are not changed or sent elsewhere. If a model writes the answer, the passages found are sent to it.
library-search = Search
library-search_box = Search the library
library-search_hint = Words or a question
library-where = Where
library-where_all = All
library-where_own = Mine
library-where_sample = Sample
library-hits =
    Top { $n } { $n ->
        [one] passage
       *[other] passages
    }
library-no_hits = No passages match. Try words that the documents use, or fewer words.
library-context = In context
library-open = Open
library-open_here = Open in the document
library-ask = Ask about it
library-ask_help = Opens the Ask page with only the library as a source.
library-question = About “{ $title }”:{ " " }
library-shipped = Sample
library-own = My documents ({ $n })
library-documents = Documents
library-filter = Title or file name
library-narrow = Filter and sort
library-kind = Type
library-language = Language
library-year = Date
library-order = Sort by
library-descending = Descending
library-any = Any
library-undated = Undated
library-span = { $first }–{ $last } of { $n }
library-no_match = No documents match.
library-clear = Clear filters
library-back = Previous
library-next = Next
library-pick = Tick rows to open them, add them to a notebook or remove them.
library-remove = Remove selected ({ $n })
library-remove_one = Remove
library-removed = { $n } removed and no longer searched.
library-undo = Undo
library-restored = { $n } restored.
library-restored_not = { $n } not restored: a document with the same name exists.
library-bin = Removed ({ $n })
library-bin_note = Not searched; permanently deleted after 7 days.
library-put_back = Restore all
library-empty_bin = Delete permanently
library-empty_bin_sure =
    Permanently delete { $n } { $n ->
        [one] document
       *[other] documents
    }? This cannot be undone.
library-col-title = Title
library-col-name = File
library-col-kind = Type
library-col-language = Language
library-col-date = Date
library-col-passages = Passages
library-col-added = Added
library-alt = Table of the documents in the library
filekind-pdf = PDF
filekind-word = Word, ODT, RTF
filekind-table = Table
filekind-web = Web page
filekind-text = Text
filekind-slides = Slides
filekind-book = Book
filekind-mail = Mail
filekind-picture = Picture
order-added = Added
order-title = Title
order-name = File
order-kind = Type
order-language = Language
order-published = Date
order-passages = Passages
reader-back = Back to the library
reader-gone = This document is no longer in the library.
reader-facts =
    { $passages } { $passages ->
        [one] passage
       *[other] passages
    } · { $characters } { $characters ->
        [one] character
       *[other] characters
    }
reader-added = added { $when }
reader-dated = dated { $date }
reader-span = Passages { $first }–{ $last } of { $n }
library-sample_title = Sample library
library-sample = Use the sample library
library-sample_help = About 40 short documents in Chinese and English that ship with Sightline, for trying it out; answers based on them say so. Turned off, they are no longer searched; turn them on again at any time.
library-samples = Sample documents ({ $n })
notebook-title = Notebooks
notebook-help = Your own sets of documents. Pick one to list, search and ask about its documents only. Tick documents below to add them to a notebook.
notebook-ask = Ask this notebook
notebook-rename = Rename
notebook-new_name = New name
notebook-rename_help = If a notebook with that name exists, the two are merged. Earlier answers keep the old name.
notebook-delete = Delete notebook
notebook-delete_sure = Delete “{ $name }”? Its documents stay in the library.
notebook-put = Add to a notebook
notebook-name = Notebook
notebook-name_hint = Pick one or type a new name
notebook-put_now = Add
notebook-take = Remove from “{ $name }”
notebook-done = In “{ $name }”: { $n }
scan-reading = Reading page { $n } of { $total } of { $name } by OCR
scan-others =
    { $n } more { $n ->
        [one] document waits
       *[other] documents wait
    }
scan-starting = Starting text recognition…
scan-stopping = Stopping.
scan-elsewhere = Scanned pages are being read by another Sightline process with this data folder.
scan-rest = { $n } of { $total } pages of { $name } read by OCR
scan-go_on = Continue
scan-again = Try again
scan-pictures =
    { $name }: { $n ->
        [one] page { $pages } holds a picture
       *[other] pages { $pages } hold pictures
    } without text and cannot be searched.
scan-install = To have them read here (OCR), install this where Sightline runs, then add the file again: { $line }
scan-add_again = Text recognition (OCR) is now installed: add the file again to have them read.
scan-failed =
    { $name }: { $n ->
        [one] page { $pages }
       *[other] pages { $pages }
    } could not be read: { $why }
scan-pixels = the picture is too large
scan-memory = not enough memory
scan-damaged = damaged
scan-slow = it took longer than 5 minutes
scan-ended = text recognition ended unexpectedly
scan-characters = the document exceeds the limit of text
