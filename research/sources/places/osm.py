"""OpenStreetMap without a key: Nominatim for names, Overpass for what is around a point.

Answers as `Amap` does, but in WGS-84, which they declare, as OpenStreetMap has it. Names, kinds and hours
come in several languages, for whoever reads the answer to choose from. Formats and usage policies:
https://nominatim.org/release-docs/latest/api/Output/ (jsonv2),
https://operations.osmfoundation.org/policies/nominatim/ (one request a second at most, no
autocompletion), https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from research.core.coordinates import Point, metres
from research.core.errors import Trouble
from research.core.records import silent
from research.core.text.words import has_han
from research.http.pace import Pace
from research.http.plain import legible, rows
from research.sources.places import coverage, kinds

if TYPE_CHECKING:
    from research.core.settings import Settings
    from research.http.client import Client

NOMINATIM = "https://nominatim.openstreetmap.org"
OVERPASS = "https://overpass-api.de"
PACES = Pace(1.0), Pace(1.0)  # of Nominatim and of Overpass, for the whole process
QUEUE = 30.0  # seconds that a request waits for its turn at most
WORDS = 200  # characters of a name that is asked for
AREAS = 5  # candidates of a name
PAGE = 25  # places in an answer
ROWS = 300  # elements that Overpass gives at most
MEMORY = 67_108_864  # bytes that Overpass may take for a query
CITY = 8_000  # metres around the middle of a city that count as the city
WIDEST = 20_000  # metres around a point that are searched
LIKE = 0.75  # of the importance of the first candidate, below which another is not what is meant
STATE = 0.7  # degrees that a state extends at least which is more than a city

_ID = re.compile(r"([NWR])(\d{1,12})")
_TYPES = {"N": "node", "W": "way", "R": "relation"}
_LANGUAGES = {"zh": "zh-Hans,zh,en", "en": "en"}
# Ranks of Nominatim's addresses: https://nominatim.org/release-docs/latest/customize/Ranking/
_LEVELS = ((4, "国家"), (11, "省"), (16, "市"), (18, "区县"))
_SIGHTS = ('["tourism"]["name"]', '["historic"]["name"]', '["leisure"="park"]["name"]')
_ELSEWHERE = "OpenStreetMap's open services are asked for no "


class OpenStreetMap:
    """Asks Nominatim and Overpass; `timeout` (seconds) is for each request."""

    name = "osm"
    about = "Places anywhere, by OpenStreetMap, in WGS-84."
    sample = False

    def __init__(
        self,
        nominatim: Client,
        overpass: Client,
        *,
        timeout: float = 20.0,
        paces: tuple[Pace, Pace] = PACES,
    ) -> None:
        self._nominatim = nominatim
        self._overpass = overpass
        self._timeout = timeout
        self._paces = paces

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """What a name may mean, the likeliest first; `level` says how large it is, in Amap's words."""
        found = await self._named(f"{address}, {city}" if city else address, AREAS)
        return self._said({"return": _meant([_area(row) for row in found], address)})

    async def regeocode(self, location: str) -> dict[str, Any]:
        point = _point(location)
        asked = {"lat": f"{point.lat:.6f}", "lon": f"{point.lng:.6f}", "zoom": "18"}
        row = await self._asked("/reverse", asked | _details(""))
        if "lat" not in row:
            raise Trouble("empty", "OpenStreetMap: no address at this point")
        return self._said(_area(row) | {"location": location})

    async def around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Places around a point, the nearest first."""
        here, reach = _point(location), min(radius, WIDEST)
        found, cut = await self._near(here, reach, _words(keywords), "")
        while cut and reach > 100:  # the nearest may be among those that were left out
            reach //= 3
            closer, cut = await self._near(here, reach, _words(keywords), "")
            found = closer or found
            cut = cut and bool(closer)
        found.sort(key=lambda row: row["distance"])
        return self._said({"pois": found[:PAGE]})

    async def text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Places by words, the best known first; in a city within `CITY` metres of its middle."""
        if not city:
            found = [_poi(row) for row in await self._named(keywords, PAGE)]
            return self._said({"pois": found})
        centre, reach = await self._city(city)
        words = _words(keywords)
        known, _ = await self._near(centre, reach, words, '["wikidata"]')
        if len(known) < PAGE:
            known += (await self._near(centre, reach, words, ""))[0]
        unlike = {row["id"]: row for row in reversed(known)}
        found = sorted(unlike.values(), key=lambda row: (-row["fame"], row["distance"]))[:PAGE]
        for row in found:
            del row["distance"]
        return self._said({"pois": found, "radius": reach})

    async def detail(self, id: str) -> dict[str, Any]:
        if not _ID.fullmatch(id):
            raise Trouble("empty", "OpenStreetMap: an id is N, W or R and a number")
        found = await self._listed("/lookup", {"osm_ids": id} | _details(""))
        if not found:
            raise Trouble("empty", "OpenStreetMap: no place has this id")
        return self._said(_poi(found[0]))

    async def walking(self, origin: str, destination: str) -> dict[str, Any]:
        _not("walking routes")

    async def driving(self, origin: str, destination: str) -> dict[str, Any]:
        _not("driving routes")

    async def bicycling(self, origin: str, destination: str) -> dict[str, Any]:
        _not("cycling routes")

    async def transit(self, origin: str, destination: str, city: str, cityd: str) -> dict[str, Any]:
        _not("public transport")

    async def distance(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Straight lines, type 0."""
        if type != "0":
            _not("road distances, only for straight lines (type 0)")
        there = _point(destination)
        measured = [
            {"origin_id": str(n), "dest_id": "1", "distance": round(metres(_point(origin), there))}
            for n, origin in enumerate(origins.split("|"), 1)
        ]
        return self._said({"results": measured})

    async def weather(self, city: str) -> dict[str, Any]:
        _not("weather")

    async def ip(self, ip: str) -> dict[str, Any]:
        _not("locations of IP addresses")

    async def close(self) -> None:
        await self._nominatim.close()
        await self._overpass.close()

    # Nominatim

    async def _named(self, words: str, most: int) -> list[dict[str, Any]]:
        asked = {"q": words[:WORDS], "limit": str(most)} | _details(words)
        return await self._listed("/search", asked)

    async def _asked(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        await self._paces[0].waited("Nominatim", silent, QUEUE)
        return await self._nominatim.json("Nominatim", path, parameters)

    async def _listed(self, path: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
        await self._paces[0].waited("Nominatim", silent, QUEUE)
        found = await self._nominatim.rows("Nominatim", path, parameters)
        return [row for row in found if _located(row)]

    async def _city(self, city: str) -> tuple[Point, int]:
        """The middle of a city, by its name or its id, and how far it reaches."""
        if _ID.fullmatch(city):
            found = await self._listed("/lookup", {"osm_ids": city} | _details(""))
        else:
            found = await self._named(city, 1)
        if not found:
            raise Trouble("empty", f"OpenStreetMap: no city {city!r}")
        point = Point(_number(found[0]["lon"]), _number(found[0]["lat"]))
        return point, _reach(found[0])

    # Overpass

    async def _near(
        self, here: Point, radius: int, words: list[str], more: str
    ) -> tuple[list[dict[str, Any]], bool]:
        """Places of some kinds or names around a point, and whether some were left out."""
        await self._paces[1].waited("Overpass", silent, QUEUE)
        query = _query(here, radius, words, more, round(self._timeout))
        answer = await self._overpass.json("Overpass", "/api/interpreter", {"data": query})
        elements = answer.get("elements")
        remark = legible(answer.get("remark"))
        if not isinstance(elements, list):
            raise Trouble("malformed", "Overpass: the JSON has no elements", hint="endpoint")
        if "timed out" in remark:
            raise Trouble("timeout", f"Overpass: {remark[:200]}", again=True)
        if "error" in remark:
            raise Trouble("unavailable", f"Overpass: {remark[:200]}", again=True)
        found = [place for row in rows(elements) if (place := _element(row, here))]
        return found, len(elements) >= ROWS

    def _said(self, result: dict[str, Any]) -> dict[str, Any]:
        return result | {"crs": "wgs84", "source": self.name, "sample": self.sample}


def opened(settings: Settings) -> OpenStreetMap | None:
    """OpenStreetMap, if the open sources are on."""
    if not settings.opened:
        return None
    from research.http.client import Client

    wait, contact = settings.search_timeout / 2, settings.contact
    names = Client(settings.nominatim_url or NOMINATIM, timeout=wait, contact=contact)
    around = Client(settings.overpass_url or OVERPASS, timeout=wait, contact=contact)
    return OpenStreetMap(names, around, timeout=wait)


def _not(what: str) -> NoReturn:
    raise Trouble("refused", _ELSEWHERE + what)


def _details(words: str) -> dict[str, str]:
    """What answers have to hold, and in which language addresses are."""
    return {
        "format": "jsonv2", "addressdetails": "1", "namedetails": "1", "extratags": "1",
        "accept-language": _LANGUAGES["zh" if not words or has_han(words) else "en"],
    }  # fmt: skip


def _words(keywords: str) -> list[str]:
    return [word.strip() for word in keywords.split("|") if word.strip()]


def _query(here: Point, radius: int, words: list[str], more: str, seconds: int) -> str:
    """What Overpass is asked. Only words that no kind is known for are put in, as parts of a name."""
    sought, names = kinds.asked(words)
    circle = f"(around:{radius},{here.lat:.6f},{here.lng:.6f});"
    filters = [kind.filters for kind in sought]
    filters += [f'["name"~"{name}",i]' for name in map(_plain, names) if name]
    if words and not filters:
        raise Trouble("empty", "OpenStreetMap: the words have no letters to look for")
    filters = filters or list(_SIGHTS)
    union = "".join(f"nwr{one}{more}{circle}" for one in filters)
    return f"[out:json][timeout:{seconds}][maxsize:{MEMORY}];({union});out center {ROWS};"


def _plain(name: str) -> str:
    """A text of letters and digits, which means itself in a pattern and ends no string."""
    return " ".join(re.sub(r"[\W_]", " ", name).split())


# What comes back


def _area(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = _texts(row.get("address"))
    city = _first(parts, "city", "town", "municipality", "village", "county")
    return {
        "id": _identity(row),
        "formatted_address": _shown(row),
        "country": parts.get("country", ""),
        "country_code": parts.get("country_code", "").upper(),
        "province": _first(parts, "state", "province", "region"),
        "city": city,
        "district": _first(parts, "city_district", "borough", "suburb"),
        "adcode": _identity(row),
        "level": _level(row),
        "location": _location(row),
        "box": _box(row),
        "importance": _number(row.get("importance"), 0.0),
        "crs": "wgs84",
    }


def _shown(row: Mapping[str, Any]) -> str:
    return _text(row.get("name")) or _text(row.get("display_name")).partition(",")[0]


def _level(row: Mapping[str, Any]) -> str:
    """How large a place is, in the words of Amap's levels; "兴趣点" is none that has a level."""
    if row.get("category") not in ("boundary", "place"):
        return "兴趣点"
    rank, box = _number(row.get("place_rank"), 30), _box(row)
    level = next((level for most, level in _LEVELS if rank <= most), "热点商圈")
    small = bool(box) and max(box[2] - box[0], box[3] - box[1]) < STATE
    tagged = _texts(row.get("extratags")).get("linked_place")
    if level == "省" and "city" in (row.get("addresstype"), tagged):
        return "市"
    return "市" if level == "国家" and small else level


def _meant(found: list[dict[str, Any]], address: str) -> list[dict[str, Any]]:
    """The candidates without those that are much less known than the first, or the same place once
    more as a larger one; a city before the state that has its name."""
    least = LIKE * max((row["importance"] for row in found), default=0.0)
    likely = [row for row in found if row["importance"] >= least]
    likely.sort(key=lambda row: row["level"] in ("国家", "省"))
    if likely[:1] and likely[0]["level"] == "省" and coverage.city(address):
        likely[0]["level"] = "市"  # such as Tokyo, which is a prefecture
    kept: list[dict[str, Any]] = []
    for row in likely:
        if not any(_within(one, row) or _within(row, one) for one in kept):
            kept.append(row)
    return kept


def _within(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    box, point = outer["box"], _point(inner["location"])
    return bool(box) and box[0] <= point.lng <= box[2] and box[1] <= point.lat <= box[3]


def _poi(row: Mapping[str, Any]) -> dict[str, Any]:
    """A place of Nominatim's, whose tags are spread over several fields."""
    tags = _texts(row.get("extratags")) | _texts(row.get("namedetails"))
    tags.setdefault("name", _shown(row))
    if isinstance(category := row.get("category"), str):
        tags.setdefault(category, _text(row.get("type")))
    parts = _texts(row.get("address"))
    street = _first(parts, "road", "pedestrian")
    tags |= {"addr:street": street} if street else {}
    tags |= {"addr:housenumber": parts["house_number"]} if "house_number" in parts else {}
    city = _first(parts, "city", "town", "village")
    return _place(_identity(row), tags, _location(row)) | {"city": city}


def _element(row: Mapping[str, Any], here: Point) -> dict[str, Any] | None:
    """An element of Overpass's: a node has a point, others have one of their middle."""
    middle = row.get("center") if isinstance(row.get("center"), dict) else row
    assert isinstance(middle, Mapping)
    lng, lat = _number(middle.get("lon")), _number(middle.get("lat"))
    kind, number = _text(row.get("type")), _text(row.get("id"))
    if math.isnan(lng) or math.isnan(lat) or kind not in _TYPES.values():
        return None
    point = Point(lng, lat)
    place = _place(f"{kind[0].upper()}{number}", _texts(row.get("tags")), _written(point))
    named = place["name"] or place["kinds"]
    return place | {"distance": round(metres(here, point))} if named else None


def _place(identity: str, tags: dict[str, str], location: str) -> dict[str, Any]:
    kind = kinds.of(tags)
    names = {
        "zh": _first(tags, "name:zh-Hans", "name:zh", "name:zh-CN", "name:zh-Hant"),
        "en": _first(tags, "name:en", "int_name"),
    }
    return {
        "id": identity,
        "name": tags.get("name", ""),
        "names": names,
        "location": location,
        "crs": "wgs84",
        "kinds": {"zh": kind.zh, "en": kind.en} if kind else {},
        "category": kind.category if kind else "other",
        "address": _address(tags),
        "city": tags.get("addr:city", ""),
        "opening_hours": tags.get("opening_hours", ""),
        "phone": _first(tags, "phone", "contact:phone"),
        "fame": ("wikidata" in tags) + ("wikipedia" in tags) + sum(key.startswith("name:") for key in tags) / 20,
    }  # fmt: skip


def _address(tags: Mapping[str, str]) -> str:
    if full := tags.get("addr:full"):
        return full
    street, number = tags.get("addr:street", ""), tags.get("addr:housenumber", "")
    if has_han(street):
        return f"{street}{number}"
    return " ".join(filter(None, (number, street))) if street else ""


def _identity(row: Mapping[str, Any]) -> str:
    kind = _text(row.get("osm_type"))
    return f"{kind[0].upper()}{_text(row.get('osm_id'))}" if kind in _TYPES.values() else ""


def page(identity: str) -> str:
    """The page of a place; "" of what is no id of one."""
    found = _ID.fullmatch(identity)
    return f"https://www.openstreetmap.org/{_TYPES[found[1]]}/{found[2]}" if found else ""


def _box(row: Mapping[str, Any]) -> list[float]:
    """Degrees west, south, east, north. Nominatim says south, north, west, east."""
    box = row.get("boundingbox")
    if not isinstance(box, list) or len(box) != 4:
        return []
    south, north, west, east = map(_number, box)
    return [] if any(map(math.isnan, (south, north, west, east))) else [west, south, east, north]


def _reach(row: Mapping[str, Any]) -> int:
    """Metres from the middle of a city to where it ends, `CITY` at most."""
    box = _box(row)
    if not box:
        return CITY
    across = metres(Point(box[0], box[1]), Point(box[2], box[3]))
    return max(1_000, min(CITY, round(across / 2)))


def _located(row: Mapping[str, Any]) -> bool:
    lng, lat = _number(row.get("lon")), _number(row.get("lat"))
    return abs(lng) <= 180 and abs(lat) <= 90


def _location(row: Mapping[str, Any]) -> str:
    return _written(Point(_number(row.get("lon")), _number(row.get("lat"))))


def _written(point: Point) -> str:
    return f"{point.lng:.7f},{point.lat:.7f}"


def _point(location: str) -> Point:
    try:
        lng, lat = location.split(",")
        return Point(float(lng), float(lat))
    except ValueError:
        raise Trouble("refused", f"{location!r} is no point: it must be lng,lat") from None


def _texts(value: object) -> dict[str, str]:
    """Tags as one line of text each; whatever else stands there is left out."""
    tags = value.items() if isinstance(value, dict) else ()
    return {str(key): text for key, item in tags if (text := _text(item))}


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(legible(str(value)).split())


def _number(value: object, otherwise: float = math.nan) -> float:
    """A number, or what stands for one that is none."""
    try:
        number = float(_text(value))
    except ValueError:
        return otherwise
    return number if math.isfinite(number) else otherwise


def _first(tags: Mapping[str, str], *keys: str) -> str:
    return next((tags[key] for key in keys if tags.get(key)), "")
