### The words of the Places page and of maps.

places-title = Places
places-lead = Every place that runs and searches have found: filter, compare, plan a day's route, export.
places-where = Near
places-where_example = Wangfujing, or 39.915, 116.404
places-what = What to look for
places-what_example = museum, coffee, children…
places-radius = Radius
places-search = Search
places-searching = Searching…
places-nowhere = Enter the name of a place or coordinates.
places-said = the service said: { $text }
places-quota = { $left } of { $limit } searches left today
places-around = Search around here
places-empty = No places yet. Search above, or ask a question about places.
places-none = No places match. Loosen the filters.
places-count = Places: { $n }
places-count_of =
    { $n } of { $all } { $all ->
        [one] place
       *[other] places
    }
places-sample = Places marked as sample come from the offline table that ships with Sightline, not from live data.
places-text = Text
places-category = Category
places-city = City
places-rating = Minimum rating
places-question = Found by
places-any = Any
places-all = All questions and searches
places-last = The last search
places-chosen = { $n } selected
places-chosen_help = Tick places in the list: compare 2 to { $compared } side by side, or plan a day with 2 to { $stops }.
places-clear = Clear selection
places-compare = Side by side
places-rated = Rating
places-price = Price
places-hours = Hours
places-distance = Distance
places-address = Address
places-phone = Phone
places-retrieved = Retrieved
places-found_by = Found by
places-direct = Direct search
places-day = Plan a day
places-day_title = A day's route
places-day_failed = Routes could not be measured; distances are straight lines: { $why }
places-measuring = Measuring routes…
places-stops =
    { $n } { $n ->
        [one] stop
       *[other] stops
    }
places-from = From
places-to = To
places-time = Time
places-means = Mode
places-minutes = { $n } min
places-hours_minutes = { $h } h { $n } min
places-walking = walking
places-driving = driving
places-straight = straight line
places-walking_help = Walking distances and times are from Amap.
places-driving_help = Driving distances and times are from Amap.
places-straight_help = Straight-line distances are calculated from the coordinates: the actual route is longer, its time unknown.
places-legs_alt = Table of the legs between stops
places-export_chosen = Export the selected places ({ $n }):
places-export_shown = Export the places shown ({ $n }):
map-food = Food
map-sight = Sight
map-family = Family
map-shop = Shop
map-hotel = Hotel
map-transport = Transport
map-culture = Culture
map-other = Other
map-cost = ¥{ $n } per person
map-address = Address: { $text }
map-hours = Hours: { $text }
map-phone = Phone: { $text }
map-photo = Photo { $n }
map-page = Source page
map-page_amap = On Amap
map-sample = Sample
map-sample_note = Sample data: compiled by hand, positions accurate to about a hundred metres.
map-retrieved = Retrieved { $when }
map-list = List of places
map-tick = Select
map-sort = Sort by
map-sort-given = As found
map-sort-distance = Nearest first
map-sort-rating = Highest rated first
map-sort-cost = Cheapest first
map-sort-name = By name
map-base = Base map
map-base-none = No base map
map-base-osm = OpenStreetMap
map-base-amap = Amap
map-lost = The base map cannot be loaded
map-too_many = Of { $all } places, the map and the list show the first { $n }. Use the filters to see others.
map-widened = Nothing within { $asked } of { $name }; the search was widened to { $far }.
map-nowhere = No usable coordinates, so neither on the map nor in exported files: { $n }.
map-geojson = GeoJSON
map-kml = KML
map-csv = CSV
map-html = HTML map
map-html_note = Places: { $n }, coordinates in WGS-84. This file works offline; it has no base map.
