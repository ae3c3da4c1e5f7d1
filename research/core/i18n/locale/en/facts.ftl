### What a map says of a place, a way and the weather, as lines that can be quoted.

fact-address = Address: { $where }
fact-distance = About { $far } from { $centre } in a straight line
fact-rating = Rated { $n } out of 5
fact-cost = About { $n } yuan per person
fact-hours = Open: { $hours }
fact-phone = Phone: { $phone }
fact-sample = Offline sample data
fact-walking = Walking
fact-driving = Driving
fact-bicycling = Cycling
fact-transit = Public transport
fact-straight = in a straight line
fact-way =
    { $means } from { $start } to { $end }: { $far }, about { $n } { $n ->
        [one] minute
       *[other] minutes
    }
fact-ride =
    { $means } from { $start } to { $end }: about { $n } { $n ->
        [one] minute
       *[other] minutes
    }
fact-apart = From { $start } to { $end }, { $means }: { $far }
fact-minutes =
    about { $n } { $n ->
        [one] minute
       *[other] minutes
    }
fact-weather = Weather in { $city } ({ $date })
fact-day = { $date }: by day { $day }, by night { $night }, { $low } to { $high } °C
fact-wider = nothing within { $asked }; the search was widened to { $far }
fact-not_wider = nothing within { $far } either
fact-unplaced =
    { $n } more { $n ->
        [one] has no known location and is
       *[other] have no known location and are
    } left out
fact-no_line = the map service returned no route geometry, so a straight line is drawn
fact-ride_from = { $line } from { $start } to { $end }
fact-walk = walk { $far }
fact-distances = Distances, { $means }
fact-along =
    searched within { $far } of { $n } { $n ->
        [one] point
       *[other] points
    } along the route
fact-unknown = Not known to the map service: { $what }
fact-no_hours = opening hours
fact-no_phone = phone
fact-no_rating = rating
fact-no_cost = price

fact-wikidata_stated = { $name }: { $property } { $values }.
fact-wikidata_reference = Reference: { $sources }
fact-wikidata_without = Wikidata gives no reference for this.
fact-wikidata_since = since { $date }
fact-wikidata_bc = { $year } BC
fact-wikidata_year = { $year }
fact-wikidata_month = { $month } { $year }
fact-wikidata_day = { $day } { $month } { $year }
