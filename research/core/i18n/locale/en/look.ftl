### What is asked back before a map can be searched

look-where = Near where? Name the place, for example “near Wangfujing, Beijing”.
look-large = “{ $place }” is too large an area ({ $level }). Name a city or a place in it.
look-several = There are several places called “{ $place }”: { $candidates }. Say which one you mean.
look-vague = The map does not know “{ $place }”, only { $name }. Be more specific, or name its city.
look-offline = “{ $place }” is not in the offline sample (Wangfujing, the Bund, West Lake). Set AMAP_MAPS_API_KEY to search Amap (mainland China, Hong Kong, Macau), or turn on the open sources in the settings to search OpenStreetMap (worldwide).
look-offline_none = The offline sample holds no such place; it has only a few around Wangfujing, the Bund and West Lake. Set AMAP_MAPS_API_KEY to search Amap (mainland China, Hong Kong, Macau), or turn on the open sources in the settings to search OpenStreetMap (worldwide).
look-unknown = The map does not know “{ $place }”. Use another name, or say which city it is in.
look-no_ways = The offline sample has no directions, only places and straight-line distances between them. Set AMAP_MAPS_API_KEY to get directions from Amap.
look-no_way = The map found no route between these two places ({ $means }).
look-uncovered = “{ $place }” seems to lie outside mainland China, Hong Kong and Macau, and Amap covers nothing else. Turn on the open sources in the settings to search OpenStreetMap for it. If you mean a place in China, name its city.
