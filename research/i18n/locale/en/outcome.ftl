### What the rows of a statement say, in a sentence or two, and what the columns of the shipped database are called.

outcome-rows =
    { $meant }: { $n } { $n ->
        [one] row
       *[other] rows
    }.
outcome-truncated = Only the first { $n } rows were retrieved; there are more.
outcome-named = They are: { $names }.
outcome-named_one = It is { $names }.
outcome-named_some = The first { $n }: { $names }.
outcome-no_rows = { $meant }: no rows match.
outcome-none = There are no { $things }.
outcome-count =
    There { $n ->
        [one] is
       *[other] are
    } { $n } { $things }.
outcome-place_has =
    There { $n ->
        [one] is { $n } 5A area
       *[other] are { $n } 5A areas
    } in { $place }.
outcome-many = There are more than { $n } { $things }.
outcome-is = { $meant }: { $what }.
outcome-some_groups = { $meant }: { $n } groups, of which the first { $few } are { $names }.
outcome-apart = The { $meant } is about { $km } km.
outcome-average = The { $meant } is { $value } yuan.
outcome-unknown_value = { $meant }: not known.
outcome-unknown =
    { $name } unknown: { $n } { $n ->
        [one] row
       *[other] rows
    }
outcome-unknown_here = { $name } unknown
outcome-lost = The rules did not understand “{ $problem }”. Rephrase it.
outcome-no_model = You can also set up a model.
outcome-needs_model = A question in your own words to this database needs a model that writes SQL.
outcome-unset = No model is set up.
outcome-saved = These saved questions need no model: { $questions }.
outcome-write_sql = You can write SQL yourself.
outcome-idle = The model that is set cannot be asked for this; see the Status page.
outcome-absent = The database has nothing on “{ $problem }”: it holds { $n } areas, all of them in China and rated 5A, in { $provinces } provinces.
outcome-holds = The database holds China’s 5A-rated areas, { $n } in { $provinces } provinces: where they are, when they were rated, tickets and opening hours.
outcome-known_areas =
    { $name } { $columns ->
        [one] is
       *[other] are
    } known for { $known } of { $all }.
outcome-known_rows =
    { $name } { $columns ->
        [one] is
       *[other] are
    } known for { $known } of { $all }.
outcome-none_known =
    { $name } { $columns ->
        [one] is
       *[other] are
    } not known for any of { $all }.
outcome-uncounted =
    Could not count the rows in which { $name } { $columns ->
        [one] is
       *[other] are
    } unknown.
outcome-areas =
    { $n } { $n ->
        [one] area
       *[other] areas
    }
outcome-all_rows =
    { $n } { $n ->
        [one] row
       *[other] rows
    }
outcome-part =
    { $n } { $n ->
        [one] row
       *[other] rows
    } of a subquery
outcome-asks = This cannot be answered: { $problem }
outcome-refused = No statement could be run: { $problem }
outcome-failed = The query failed: { $problem }
outcome-coordinates = coordinates
outcome-where = in { $where }
outcome-ticket = ticket { $price }
outcome-rated = rated 5A in { $year }
outcome-year = { $year }
outcome-things = { $n }
outcome-yuan = { $n } yuan
outcome-km = { $n } km
outcome-free = free
outcome-and = { " " }and{ " " }
column-gid = id
column-name = name
column-name_en = English name
column-level = level
column-province = province
column-city = city
column-district = district
column-year_rated = year of rating
column-address = address
column-lng_wgs84 = longitude
column-lat_wgs84 = latitude
column-lng_gcj02 = longitude (GCJ-02)
column-lat_gcj02 = latitude (GCJ-02)
column-ticket_cny = ticket price
column-ticket_year = year of the price
column-ticket_text = price in words
column-opening_hours = opening hours
column-suggested_visit = suggested visit
column-season = best season
column-introduction = introduction
column-introduction_en = English introduction
column-official_site = official site
column-km = distance
