### The words of what can be taken away from a run.

download-now = Download { $format }
download-more = Other formats
download-failed = “{ $what }” could not be created. Error number in the server log: { $id }
download_group-report = Report
download_group-sources = Sources
download_group-places = Places
download_group-tables = Tables
download_group-all = Everything
