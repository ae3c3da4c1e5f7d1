### What is said of a search for news.

note-feeds =
    from { $count } of your own feeds, which { $count ->
        [one] holds
       *[other] hold
    } only the latest reports
note-in_English =
    your feeds also have { $count } { $count ->
        [one] report
       *[other] reports
    } in English, which Chinese search terms match only by names and news words that both languages share: try asking in English as well
note-in_Chinese =
    your feeds also have { $count } { $count ->
        [one] report
       *[other] reports
    } in Chinese, which English search terms match only by names and news words that both languages share: try asking in Chinese as well
note-seen = GDELT gives titles and when it saw them, not when they were published
note-seen_days = days are counted by when GDELT saw an article
note-shortened = query shortened to { $count } characters
note-no_address = without a usable address: { $count } of { $all } results
note-no_dates = { $tool } does not search by date; the dates given were not used
note-swapped = the dates were in the wrong order: { $start } to { $end } was searched
note-to_come = { $end } is in the future: searched up to { $today }
note-outside = outside the dates asked for: { $count } of { $all }
note-no_tool = there is no tool { $tool }: { $basic } was used instead
note-no_days = { $tool } needs a start date and an end date: { $basic } was used instead
note-days_to_come = the start date of { $tool }, { $start }, is in the future: { $basic } was used instead
note-undated = without a date: { $count } of { $all }
note-avoided =
    { $count ->
        [one] one result from a site to avoid was left out
       *[other] { $count } results from sites to avoid were left out
    }
