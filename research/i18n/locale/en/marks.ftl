### Marks between words and units of time.

mark-list = ,{ " " }
mark-comma = ,{ " " }
mark-semicolon = ;{ " " }
mark-colon = :{ " " }
mark-stop = { "." }
mark-aside = { $text } ({ $more })
mark-quoted = “{ $text }”
duration-second = s
duration-minute = min
duration-hour = h
