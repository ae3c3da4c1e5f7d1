"""OpenStreetMap without a key: Nominatim for names, Overpass for places around a point.

Results have the fields of Amap's, but points are in WGS-84, which is declared. Names, kinds and
hours are given in several languages for the reader to choose from. Formats and usage policies:
https://nominatim.org/release-docs/latest/api/Output/ (jsonv2),
https://operations.osmfoundation.org/policies/nominatim/ (at most one request per second, no
autocompletion), https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from research.core.coordinates import CoordinateSystem, Point, distance_metres
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.json_values import keep_objects
from research.core.text.tokenizer import has_han
from research.http.rate_limiter import RateLimiter
from research.http.sanitize import remove_control_characters
from research.sources.places import amap_coverage, kinds
from research.sources.places.keyless_backend import KeylessBackend
from research.sources.places.tool_responses import as_number, parse_lng_lat

if TYPE_CHECKING:
    from research.core.settings import Settings
    from research.http.client import ServiceClient

NOMINATIM_URL = "https://nominatim.openstreetmap.org"
OVERPASS_URL = "https://overpass-api.de"
RATE_LIMITERS = RateLimiter(1.0, is_shared=True), RateLimiter(1.0, is_shared=True)  # Nominatim's and Overpass's
MAX_WAIT_SECONDS = 30.0  # wait for the rate limiter
MAX_NAME_CHARS = 200  # of a name in a query
MAX_AREAS = 5  # candidates for one name
PAGE_SIZE = 25  # places in a result
MAX_ELEMENTS = 300  # in one response of Overpass
MAX_QUERY_BYTES = 67_108_864  # memory of Overpass for one query
MAX_CITY_RADIUS_METRES = 8_000  # maximum radius of a city around its centre
MAX_RADIUS_METRES = 20_000  # of a search around a point
MIN_RELATIVE_IMPORTANCE = 0.75  # relative to the most important candidate
MIN_STATE_DEGREES = 0.7  # minimum extent of a state that is larger than a city

_ID = re.compile(r"([NWR])(\d{1,12})")
_ELEMENT_TYPES = {"N": "node", "W": "way", "R": "relation"}
_LANGUAGES = {"zh": "zh-Hans,zh,en", "en": "en"}
# Ranks of Nominatim's addresses: https://nominatim.org/release-docs/latest/customize/Ranking/
_LEVEL_BY_RANK = ((4, "国家"), (11, "省"), (16, "市"), (18, "区县"))
_DEFAULT_FILTERS = ('["tourism"]["name"]', '["historic"]["name"]', '["leisure"="park"]["name"]')


class OpenStreetMapBackend(KeylessBackend):
    """OpenStreetMap as a map back end. `timeout_seconds` applies to each request."""

    name = "osm"
    description = "Places anywhere, by OpenStreetMap, in WGS-84."
    coordinate_system: CoordinateSystem = "wgs84"
    is_sample = False

    def __init__(
        self,
        nominatim: ServiceClient,
        overpass: ServiceClient,
        *,
        timeout_seconds: float = 20.0,
        rate_limiters: tuple[RateLimiter, RateLimiter] = RATE_LIMITERS,
    ) -> None:
        self._nominatim = nominatim
        self._overpass = overpass
        self._timeout_seconds = timeout_seconds
        self._rate_limiters = rate_limiters

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Return the likely meanings of a name, the likeliest first; `level` is their size in
        Amap's terms."""
        rows = await self._search_name(f"{address}, {city}" if city else address, MAX_AREAS)
        return self._with_source({"return": _select_likely([_parse_area(row) for row in rows], address)})

    async def reverse_geocode(self, location: str) -> dict[str, Any]:
        point = self._parse_point(location)
        parameters = {"lat": f"{point.lat:.6f}", "lon": f"{point.lng:.6f}", "zoom": "18"}
        row = await self._request_object("/reverse", parameters | _detail_parameters(""))
        if "lat" not in row:
            raise ServiceError("empty", "OpenStreetMap: no address at this point")
        return self._with_source(_parse_area(row) | {"location": location})

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Return places around a point, nearest first."""
        centre, search_radius = self._parse_point(location), min(radius, MAX_RADIUS_METRES)
        places, truncated = await self._search_circle(centre, search_radius, _split_keywords(keywords), "")
        while truncated and search_radius > 100:  # the nearest places may be among the omitted ones
            search_radius //= 3
            closer_places, truncated = await self._search_circle(centre, search_radius, _split_keywords(keywords), "")
            places = closer_places or places
            truncated = truncated and bool(closer_places)
        places.sort(key=lambda row: row["distance"])
        return self._with_source({"pois": places[:PAGE_SIZE]})

    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Return places that match keywords, best known first; with a city only those within its
        radius."""
        if not city:
            places = [_parse_place(row) for row in await self._search_name(keywords, PAGE_SIZE)]
            return self._with_source({"pois": places})
        centre, city_radius = await self._locate_city(city)
        words = _split_keywords(keywords)
        candidates, _ = await self._search_circle(centre, city_radius, words, '["wikidata"]')
        if len(candidates) < PAGE_SIZE:
            candidates += (await self._search_circle(centre, city_radius, words, ""))[0]
        by_id = {row["id"]: row for row in reversed(candidates)}
        places = sorted(by_id.values(), key=lambda row: (-row["fame"], row["distance"]))[:PAGE_SIZE]
        for row in places:
            del row["distance"]
        return self._with_source({"pois": places, "radius": city_radius})

    async def fetch_details(self, id: str) -> dict[str, Any]:
        if not _ID.fullmatch(id):
            raise ServiceError("empty", "OpenStreetMap: an id is N, W or R and a number")
        rows = await self._request_rows("/lookup", {"osm_ids": id} | _detail_parameters(""))
        if not rows:
            raise ServiceError("empty", "OpenStreetMap: no place has this id")
        return self._with_source(_parse_place(rows[0]))

    async def close(self) -> None:
        await self._nominatim.close()
        await self._overpass.close()

    def _unsupported(self, feature: str) -> ServiceError:
        return ServiceError("refused", f"OpenStreetMap's open services are asked for no {feature}")

    # Nominatim

    async def _search_name(self, words: str, limit: int) -> list[dict[str, Any]]:
        parameters = {"q": words[:MAX_NAME_CHARS], "limit": str(limit)} | _detail_parameters(words)
        return await self._request_rows("/search", parameters)

    async def _request_object(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        await self._rate_limiters[0].acquire("Nominatim", ignore_event, MAX_WAIT_SECONDS)
        return await self._nominatim.get_json("Nominatim", path, parameters)

    async def _request_rows(self, path: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
        await self._rate_limiters[0].acquire("Nominatim", ignore_event, MAX_WAIT_SECONDS)
        rows = await self._nominatim.get_json_list("Nominatim", path, parameters)
        return [row for row in rows if _has_location(row)]

    async def _locate_city(self, city: str) -> tuple[Point, int]:
        """Return the centre of a city, given by name or id, and its radius in metres."""
        if _ID.fullmatch(city):
            rows = await self._request_rows("/lookup", {"osm_ids": city} | _detail_parameters(""))
        else:
            rows = await self._search_name(city, 1)
        if not rows:
            raise ServiceError("empty", f"OpenStreetMap: no city {city!r}")
        point = Point(_as_number(rows[0]["lon"]), _as_number(rows[0]["lat"]))
        return point, _city_radius(rows[0])

    # Overpass

    async def _search_circle(
        self, centre: Point, radius: int, words: list[str], extra_filter: str
    ) -> tuple[list[dict[str, Any]], bool]:
        """Return places around a point by kind or name, and whether the result was truncated.

        `extra_filter` is a further condition in Overpass QL, such as `["wikidata"]`, or "".
        """
        await self._rate_limiters[1].acquire("Overpass", ignore_event, MAX_WAIT_SECONDS)
        query = _build_query(centre, radius, words, extra_filter, round(self._timeout_seconds))
        response = await self._overpass.get_json("Overpass", "/api/interpreter", {"data": query})
        elements = response.get("elements")
        remark = remove_control_characters(response.get("remark"))
        if not isinstance(elements, list):
            raise ServiceError("malformed", "Overpass: the JSON has no elements", hint="endpoint")
        if "timed out" in remark:
            raise ServiceError("timeout", f"Overpass: {remark[:200]}", is_retryable=True)
        if "error" in remark:
            raise ServiceError("unavailable", f"Overpass: {remark[:200]}", is_retryable=True)
        places = [place for row in keep_objects(elements) if (place := _parse_element(row, centre))]
        return places, len(elements) >= MAX_ELEMENTS


def build_backend(settings: Settings) -> OpenStreetMapBackend | None:
    """Return the OpenStreetMap back end, or None if the open sources are off."""
    if not settings.open_sources:
        return None
    from research.http.client import ServiceClient

    timeout, contact = settings.search_timeout / 2, settings.contact
    nominatim = ServiceClient(settings.nominatim_url or NOMINATIM_URL, timeout_seconds=timeout, contact=contact)
    overpass = ServiceClient(settings.overpass_url or OVERPASS_URL, timeout_seconds=timeout, contact=contact)
    return OpenStreetMapBackend(nominatim, overpass, timeout_seconds=timeout)


def _detail_parameters(words: str) -> dict[str, str]:
    """Return the parameters for the level of detail and the language of addresses."""
    return {
        "format": "jsonv2",
        "addressdetails": "1",
        "namedetails": "1",
        "extratags": "1",
        "accept-language": _LANGUAGES["zh" if not words or has_han(words) else "en"],
    }


def _split_keywords(keywords: str) -> list[str]:
    return [word.strip() for word in keywords.split("|") if word.strip()]


def _build_query(centre: Point, radius: int, words: list[str], extra_filter: str, seconds: int) -> str:
    """Return the Overpass query. Keywords that denote no kind are matched against names."""
    found_kinds, names = kinds.find_kinds(words)
    circle = f"(around:{radius},{centre.lat:.6f},{centre.lng:.6f});"
    filters = [kind.overpass_filter for kind in found_kinds]
    filters += [f'["name"~"{name}",i]' for name in map(_plain_words, names) if name]
    if words and not filters:
        raise ServiceError("empty", "OpenStreetMap: the words have no letters to look for")
    filters = filters or list(_DEFAULT_FILTERS)
    union = "".join(f"nwr{tag_filter}{extra_filter}{circle}" for tag_filter in filters)
    return f"[out:json][timeout:{seconds}][maxsize:{MAX_QUERY_BYTES}];({union});out center {MAX_ELEMENTS};"


def _plain_words(name: str) -> str:
    """Return only the letters and digits of a text, which are safe in a pattern within a quoted
    string."""
    return " ".join(re.sub(r"[\W_]", " ", name).split())


# Results


def _parse_area(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = _as_tags(row.get("address"))
    city = _first_tag(parts, "city", "town", "municipality", "village", "county")
    return {
        "id": _osm_id(row),
        "formatted_address": _display_name(row),
        "country": parts.get("country", ""),
        "country_code": parts.get("country_code", "").upper(),
        "province": _first_tag(parts, "state", "province", "region"),
        "city": city,
        "district": _first_tag(parts, "city_district", "borough", "suburb"),
        "adcode": _osm_id(row),
        "level": _area_level(row),
        "location": _row_location(row),
        "box": _bounding_box(row),
        "importance": _as_number(row.get("importance"), 0.0),
        "crs": "wgs84",
    }


def _display_name(row: Mapping[str, Any]) -> str:
    return _as_text(row.get("name")) or _as_text(row.get("display_name")).partition(",")[0]


def _area_level(row: Mapping[str, Any]) -> str:
    """Return the size of a place as a level in Amap's terms; "兴趣点" for a place without a level."""
    if row.get("category") not in ("boundary", "place"):
        return "兴趣点"
    rank, box = _as_number(row.get("place_rank"), 30), _bounding_box(row)
    level = next((level for max_rank, level in _LEVEL_BY_RANK if rank <= max_rank), "热点商圈")
    small = bool(box) and max(box[2] - box[0], box[3] - box[1]) < MIN_STATE_DEGREES
    tagged = _as_tags(row.get("extratags")).get("linked_place")
    if level == "省" and "city" in (row.get("addresstype"), tagged):
        return "市"
    return "市" if level == "国家" and small else level


def _select_likely(areas: list[dict[str, Any]], address: str) -> list[dict[str, Any]]:
    """Return the likely candidates for a name, a city before the state of the same name.

    Candidates that are much less important than the first, or the same place as another one, are
    omitted.
    """
    minimum = MIN_RELATIVE_IMPORTANCE * max((row["importance"] for row in areas), default=0.0)
    likely = [row for row in areas if row["importance"] >= minimum]
    likely.sort(key=lambda row: row["level"] in ("国家", "省"))
    if likely[:1] and likely[0]["level"] == "省" and amap_coverage.is_foreign_city(address):
        likely[0]["level"] = "市"  # such as Tokyo, which is a prefecture
    distinct: list[dict[str, Any]] = []
    for row in likely:
        if not any(_is_within(other, row) or _is_within(row, other) for other in distinct):
            distinct.append(row)
    return distinct


def _is_within(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    box, point = outer["box"], parse_lng_lat(inner["location"])
    return bool(box and point and box[0] <= point.lng <= box[2] and box[1] <= point.lat <= box[3])


def _parse_place(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of Nominatim, whose tags are spread over several fields."""
    tags = _as_tags(row.get("extratags")) | _as_tags(row.get("namedetails"))
    tags.setdefault("name", _display_name(row))
    if isinstance(category := row.get("category"), str):
        tags.setdefault(category, _as_text(row.get("type")))
    parts = _as_tags(row.get("address"))
    street = _first_tag(parts, "road", "pedestrian")
    tags |= {"addr:street": street} if street else {}
    tags |= {"addr:housenumber": parts["house_number"]} if "house_number" in parts else {}
    city = _first_tag(parts, "city", "town", "village")
    return _build_place(_osm_id(row), tags, _row_location(row)) | {"city": city}


def _parse_element(row: Mapping[str, Any], centre: Point) -> dict[str, Any] | None:
    """Convert an element of Overpass. A node has a point, other elements have a centre."""
    centre_point = row.get("center") if isinstance(row.get("center"), dict) else row
    assert isinstance(centre_point, Mapping)
    lng, lat = _as_number(centre_point.get("lon")), _as_number(centre_point.get("lat"))
    kind, number = _as_text(row.get("type")), _as_text(row.get("id"))
    if math.isnan(lng) or math.isnan(lat) or kind not in _ELEMENT_TYPES.values():
        return None
    point = Point(lng, lat)
    place = _build_place(f"{kind[0].upper()}{number}", _as_tags(row.get("tags")), _format_wgs84(point))
    is_useful = place["name"] or place["kinds"]
    return place | {"distance": round(distance_metres(centre, point))} if is_useful else None


def _build_place(osm_id: str, tags: dict[str, str], location: str) -> dict[str, Any]:
    kind = kinds.find_kind(tags)
    names = {
        "zh": _first_tag(tags, "name:zh-Hans", "name:zh", "name:zh-CN", "name:zh-Hant"),
        "en": _first_tag(tags, "name:en", "int_name"),
    }
    return {
        "id": osm_id,
        "name": tags.get("name", ""),
        "names": names,
        "location": location,
        "crs": "wgs84",
        "kinds": {"zh": kind.zh, "en": kind.en} if kind else {},
        "category": kind.category if kind else "other",
        "address": _format_address(tags),
        "city": tags.get("addr:city", ""),
        "opening_hours": tags.get("opening_hours", ""),
        "phone": _first_tag(tags, "phone", "contact:phone"),
        "fame": ("wikidata" in tags) + ("wikipedia" in tags) + sum(key.startswith("name:") for key in tags) / 20,
    }


def _format_address(tags: Mapping[str, str]) -> str:
    if full := tags.get("addr:full"):
        return full
    street, number = tags.get("addr:street", ""), tags.get("addr:housenumber", "")
    if has_han(street):
        return f"{street}{number}"
    return " ".join(filter(None, (number, street))) if street else ""


def _osm_id(row: Mapping[str, Any]) -> str:
    kind = _as_text(row.get("osm_type"))
    return f"{kind[0].upper()}{_as_text(row.get('osm_id'))}" if kind in _ELEMENT_TYPES.values() else ""


def place_url(osm_id: str) -> str:
    """Return the page of a place, or "" if the id is invalid."""
    match = _ID.fullmatch(osm_id)
    return f"https://www.openstreetmap.org/{_ELEMENT_TYPES[match[1]]}/{match[2]}" if match else ""


def _bounding_box(row: Mapping[str, Any]) -> list[float]:
    """Return west, south, east, north in degrees; Nominatim's order is south, north, west, east."""
    box = row.get("boundingbox")
    if not isinstance(box, list) or len(box) != 4:
        return []
    south, north, west, east = map(_as_number, box)
    return [] if any(map(math.isnan, (south, north, west, east))) else [west, south, east, north]


def _city_radius(row: Mapping[str, Any]) -> int:
    """Return the radius of a city in metres, at most `MAX_CITY_RADIUS_METRES`."""
    box = _bounding_box(row)
    if not box:
        return MAX_CITY_RADIUS_METRES
    diagonal = distance_metres(Point(box[0], box[1]), Point(box[2], box[3]))
    return max(1_000, min(MAX_CITY_RADIUS_METRES, round(diagonal / 2)))


def _has_location(row: Mapping[str, Any]) -> bool:
    lng, lat = _as_number(row.get("lon")), _as_number(row.get("lat"))
    return abs(lng) <= 180 and abs(lat) <= 90


def _row_location(row: Mapping[str, Any]) -> str:
    return _format_wgs84(Point(_as_number(row.get("lon")), _as_number(row.get("lat"))))


def _format_wgs84(point: Point) -> str:
    return f"{point.lng:.7f},{point.lat:.7f}"


def _as_tags(value: object) -> dict[str, str]:
    """Return tags as single lines of text, without values of other types."""
    tags = value.items() if isinstance(value, dict) else ()
    return {str(key): text for key, item in tags if (text := _as_text(item))}


def _as_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(remove_control_characters(str(value)).split())


def _as_number(value: object, default: float = math.nan) -> float:
    """Return a finite number, or the default."""
    number = as_number(_as_text(value))
    return default if number is None else number


def _first_tag(tags: Mapping[str, str], *keys: str) -> str:
    return next((tags[key] for key in keys if tags.get(key)), "")
