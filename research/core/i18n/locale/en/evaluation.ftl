### The words of the table that the terminal draws of the citations of reports.

evaluation-file = file
evaluation-style = style
evaluation-citations = citations
evaluation-sources = sources
evaluation-sentences = sentences
evaluation-cited = cited
evaluation-errors = errors
evaluation-warnings = warnings
evaluation-line = line { $n }
evaluation-error = error
evaluation-warning = warning
evaluation-info = info
evaluation-none = none
evaluation-quoted = quoted
evaluation-supported = supported
evaluation-unclear = unclear
evaluation-unsupported = not supported
evaluation-differs = differs
evaluation-statuses = sentences by status
