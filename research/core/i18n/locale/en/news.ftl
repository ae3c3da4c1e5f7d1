### The words of reports on the news and of topics that are watched.

news-title = News report
news-lead = First an outline; then its sections are searched, written, reviewed and deepened in parallel and combined into one cited report.
news-topic = Topic
news-placeholder = For example: tourism in China over this year's National Day holiday
news-sections = Max. sections
news-reflections = Rounds of reflection per section
news-effort = Reflections per section: { $n }
news-start = Write report
news-outline_first = Edit the outline first
news-earlier = Earlier reports
news-new = New report
news-add = There is no news source yet. Enter a Tavily key (TAVILY_API_KEY) in Settings to search the news; on the server, `NEWS_FEEDS` (addresses of RSS, Atom or JSON feeds) or `NEWS_GDELT=on` (GDELT, which needs no key) work as well. Until then reports are written from other sources.
watch-save = Watch this topic
watch-save_help = One click on the News page then checks again and shows what has changed since this report.
watch-saved = Watching
watch-title = Watched topics
watch-again = Check again
watch-drop = Stop watching
watch-changed = Changed
watch-same = No change
watch-what = What changed since the last report
watch-nothing = Nothing has changed since the last report.
watch-before = The last report
watch-gone_topic = This topic is no longer watched.
watch-none = (none)
watch-new = New
watch-gone = Gone
watch-grown = More coverage
watch-figure = Figure changed
coverage-unsearched = No news was searched for this report, so there is no timeline or tone.
coverage-unreached = The news search failed, so there is no timeline or tone.
coverage-unfound = No news was found, so there is no timeline or tone.
coverage-title = News overview
coverage-as_of = as of { $day }
coverage-newest = latest report { $day }
coverage-stories =
    { $n ->
        [one] 1 story
       *[other] { $n } stories
    }
coverage-outlets =
    { $n ->
        [one] 1 outlet
       *[other] { $n } outlets
    }
coverage-undated =
    { $n ->
        [one] 1 report without a date
       *[other] { $n } reports without a date
    }
coverage-stale = Even the latest report ({ $day }) is at least a week old; anything since then is not covered.
coverage-timeline = Timeline
coverage-timeline_help = Each point is the first report of a story, and its line reaches to the last; the larger the point, the more independent reports.
coverage-timeline_alt = Chart of the stories by date
coverage-no_days = No story has a date, so there is no timeline.
coverage-no_day = Stories without a date ({ $n })
coverage-tones = Tone
coverage-tones_alt = Number of positive, neutral and negative stories
coverage-judged = Judged by { $name }
coverage-rough = Rough: based on counting words in headlines
coverage-partly =
    Judged by { $name }; rough word counts for { $n } { $n ->
        [one] story
       *[other] stories
    }
coverage-table = Stories
coverage-table_help = Select a row to see the reports of that story.
coverage-day = Day
coverage-headline = Headline
coverage-told = Independent/all · outlets
coverage-tone = Tone
coverage-old = Stale
coverage-old_mark = no update for over a week
coverage-rough_mark = { " " }(rough)
coverage-nodate = no date
coverage-unnamed = outlet unknown
coverage-pieces =
    { $n ->
        [one] 1 report
       *[other] { $n } reports
    }
coverage-more = { $n } more
coverage-outlets_title = Outlets
coverage-outlet = Outlet
coverage-items = Reports
coverage-of_stories = Stories
coverage-first = First
coverage-conflicts = Conflicting figures ({ $n })
coverage-no_conflicts = No conflicting figures were found.
coverage-uncited = not cited in the report
coverage-pictures = Show pictures ({ $n })
coverage-pictures_help = The pictures are hosted on other sites. Your browser loads them only when you ask, and those sites then see its network address.
coverage-pictures_title = Pictures
coverage-picture_lost = This picture cannot be loaded
coverage-picture_page = Source page
coverage-picture_open = Open the picture
coverage-leads = The search service's own summary ({ $n })
coverage-leads_help = The search service generated these texts itself. They name no sources and are not evidence, and the report does not cite them.
tool-usual = default
tool-basic_search_news = basic
tool-deep_search_news = deep
tool-search_news_last_24_hours = last 24 hours
tool-search_news_last_week = last week
tool-search_images_for_news = with pictures
tool-search_news_by_date = by date
tool-sql = SQL
tone-positive = positive
tone-neutral = neutral
tone-negative = negative
