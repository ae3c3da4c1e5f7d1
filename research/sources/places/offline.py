"""Places without a key and without the internet: a small table, written by hand, and honest about it.

It answers as the REST client does, in GCJ-02 too, so that the arguments of a tool mean the same
whoever stands behind it; the table itself is in WGS-84. What a table cannot know (routes, the
weather, an address elsewhere) is refused in words instead of guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from research.core.coordinates import Point, from_gcj02, metres, to_gcj02
from research.core.errors import Trouble
from research.core.records import Place
from research.core.text.hanzi import simplified
from research.sources.places.shapes import places

TABLE = Path(__file__).resolve().parents[2] / "data" / "places.json"
PAGE = 25
AROUND = 3_000  # metres around its first centre that stand for the table
NEAR = 500  # metres within which a point has the address of an entry
KNOWN = "the offline sample only has places around 王府井, 外滩 and 西湖"
REMEDY = "set AMAP_MAPS_API_KEY to use Amap"

_SPOKEN = {"北京市": "beijing", "上海市": "shanghai", "杭州市": "hangzhou"}

# What may stand in an address beside the name of a place and of the area that it lies in.
_FILLERS = re.compile(
    r"中国|附近|周边|一带|地区|商圈|步行街|大街|街道|地铁站|风景名胜区|风景区|景区|china|street|area"
    r"|\bnear\b|\bthe\b|\bin\b|的|[\s,，、·.()（）-]+"
)


class Offline:
    """The same methods as `Amap`; every result says that it is a sample."""

    name = "offline"
    about = "Sample places in China, in GCJ-02."
    sample = True

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """The entry that an address names.

        An address is taken for an entry only if nothing else is in it: 福州西湖 is another lake.

        Raises:
            Trouble: the table does not know it.
        """
        found = [entry for entry in _entries() if _named(entry, address) and _within(entry, city)]
        if not found:
            raise Trouble("empty", f"{KNOWN}, not {address!r}; {REMEDY}")
        return self._said({"return": [_area(entry) for entry in found]})

    async def regeocode(self, location: str) -> dict[str, Any]:
        """The district of the nearest entry, if one is near."""
        here = _point(location)
        nearest = min(_entries(), key=lambda entry: metres(here, _place_of(entry)))
        if metres(here, _place_of(nearest)) > NEAR:
            raise Trouble("empty", f"{KNOWN}, none near this point; {REMEDY}")
        area = _area(nearest) | {"location": location}
        return self._said(area | {"formatted_address": f"{area['formatted_address']}附近"})

    async def around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """The entries around a point, the nearest first.

        Raises:
            Trouble: the point is nowhere near the table's places, of which nobody can say that
                there is nothing.
        """
        here = _point(location)
        by_distance = sorted(
            (metres(here, _place_of(entry)), n) for n, entry in enumerate(_places())
        )
        if by_distance[0][0] > max(radius, 10_000):
            raise Trouble("empty", f"{KNOWN}, none near this point; {REMEDY}")
        found = [(_places()[n], gap) for gap, n in by_distance if gap <= radius]
        wanted = [_shown(entry, gap) for entry, gap in found if _about(entry, keywords)]
        return self._said({"pois": wanted[:PAGE]})

    async def text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """The entries that words name, in a city if one is given.

        Raises:
            Trouble: it is a city of which the table has nothing.
        """
        there = [entry for entry in _places() if _within(entry, city)]
        if not there:
            raise Trouble("empty", f"{KNOWN}, none in {city!r}; {REMEDY}")
        found = [
            _shown(entry) for entry in there if _about(entry, keywords) and _of_type(entry, types)
        ]
        return self._said({"pois": found[:PAGE]})

    async def detail(self, id: str) -> dict[str, Any]:
        for entry in _entries():
            if entry["id"] == id:
                return self._said(_shown(entry))
        raise Trouble("empty", f"the offline sample has no place with this id; {REMEDY}")

    async def walking(self, origin: str, destination: str) -> dict[str, Any]:
        _unknowable("walking routes")

    async def driving(self, origin: str, destination: str) -> dict[str, Any]:
        _unknowable("driving routes")

    async def bicycling(self, origin: str, destination: str) -> dict[str, Any]:
        _unknowable("cycling routes")

    async def transit(self, origin: str, destination: str, city: str, cityd: str) -> dict[str, Any]:
        _unknowable("public transport routes")

    async def distance(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Straight lines, type 0; the way along roads is not in a table."""
        if type != "0":
            _unknowable("road distances, only straight lines (type 0)")
        there = _point(destination)
        results = [
            {
                "origin_id": str(n),
                "dest_id": "1",
                "distance": round(metres(_point(origin), there)),
                "duration": None,
            }
            for n, origin in enumerate(origins.split("|"), 1)
        ]
        return self._said({"results": results})

    async def weather(self, city: str) -> dict[str, Any]:
        _unknowable("weather forecasts")

    async def ip(self, ip: str) -> dict[str, Any]:
        _unknowable("locations of IP addresses")

    async def close(self) -> None:
        """Nothing is open."""

    def _said(self, result: dict[str, Any]) -> dict[str, Any]:
        return result | {"crs": "gcj02", "source": self.name, "sample": self.sample}


def sample() -> tuple[Place, ...]:
    """The places of the table around its first centre."""
    here = _place_of(_table()["centres"][0])
    near = [_shown(entry) for entry in _places() if metres(here, _place_of(entry)) <= AROUND]
    body = {"pois": near, "source": Offline.name, "sample": True}
    return tuple(place for place in places(body) if isinstance(place, Place))


def _unknowable(what: str) -> NoReturn:
    raise Trouble("no key", f"the offline sample has no {what}; {REMEDY}", hint="key")


# The table


@lru_cache(1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def _places() -> list[dict[str, Any]]:
    places: list[dict[str, Any]] = _table()["places"]
    return places


def _entries() -> list[dict[str, Any]]:
    """All points, the centres first."""
    return [*_table()["centres"], *_places()]


def _point(location: str) -> Point:
    """The WGS-84 point of an argument, which is in GCJ-02."""
    try:
        lng, lat = location.split(",")
        return from_gcj02(Point(float(lng), float(lat)))
    except ValueError:
        raise Trouble("refused", f"{location!r} is no point: it must be lng,lat") from None


def _place_of(entry: dict[str, Any]) -> Point:
    return Point(entry["lng"], entry["lat"])


def _location(entry: dict[str, Any]) -> str:
    point = to_gcj02(_place_of(entry))
    return f"{point.lng:.6f},{point.lat:.6f}"


# Words


def _names(entry: dict[str, Any]) -> Iterable[str]:
    return (name.lower() for name in (entry["name"], *entry["aliases"]))


def _named(entry: dict[str, Any], address: str) -> bool:
    """Whether an address is a name of the entry, with no more than its area around it."""
    asked = simplified(address).lower()
    for name in sorted(_names(entry), key=len, reverse=True):
        if name in asked and not _rest(entry, asked.replace(name, " ", 1)):
            return True
    return False


def _rest(entry: dict[str, Any], text: str) -> str:
    """What remains of an address without the area of an entry and words that say nothing."""
    for area in (entry["province"], entry["city"], entry["district"]):
        text = text.replace(area, " ").replace(area[:-1], " ")
    text = text.replace(entry["address"].lower() or " ", " ")
    return _FILLERS.sub("", text.replace(_SPOKEN[entry["city"]], " "))


def _within(entry: dict[str, Any], city: str) -> bool:
    """Whether an entry is in a city that is given by its name or its adcode."""
    asked = simplified(city).strip().lower().removesuffix("市")
    if asked.isdecimal():
        return str(entry["adcode"]).startswith(asked.rstrip("0"))
    areas = [entry[name] for name in ("province", "city", "district")]
    return (
        not asked
        or asked == _SPOKEN[entry["city"]]
        or any(asked in (area, area[:-1]) for area in areas)
    )


def _about(entry: dict[str, Any], keywords: str) -> bool:
    """Whether any of the words that | parts is in what is known of an entry."""
    words = [word.strip().lower() for word in simplified(keywords).split("|") if word.strip()]
    known = " ".join((*_names(entry), entry["type"].lower(), *entry["tags"]))
    return not words or any(all(part in known for part in word.split()) for word in words)


def _of_type(entry: dict[str, Any], types: str) -> bool:
    """Whether an entry is of a type that is given by its code, which zeros may end, or by name."""
    asked = [kind.strip() for kind in simplified(types).split("|") if kind.strip()]
    return not asked or any(
        str(entry["typecode"]).startswith(kind.rstrip("0"))
        if kind.isdecimal()
        else kind in entry["type"]
        for kind in asked
    )


# Results


def _area(entry: dict[str, Any]) -> dict[str, Any]:
    outer = "" if entry["province"] == entry["city"] else entry["province"]
    return {
        "formatted_address": f"{outer}{entry['city']}{entry['district']}{entry['name']}",
        "country": "中国",
        "province": entry["province"],
        "city": entry["city"],
        "district": entry["district"],
        "adcode": entry["adcode"],
        "level": "热点商圈" if entry["typecode"] == "190000" else "兴趣点",
        "location": _location(entry),
        "crs": "gcj02",
    }


def _shown(entry: dict[str, Any], gap: float | None = None) -> dict[str, Any]:
    """An entry with the fields of Amap's places; what the table does not know is empty."""
    return {
        "id": entry["id"],
        "name": entry["name"],
        "name_en": entry["name_en"],
        "address_en": entry["address_en"],
        "location": _location(entry),
        "crs": "gcj02",
        "type": entry["type"],
        "typecode": entry["typecode"],
        "address": entry["address"],
        "district": entry["district"],
        "city": entry["city"],
        "province": entry["province"],
        "area": "",
        "distance": None if gap is None else round(gap),
        "rating": None,
        "cost": None,
        "hours": "",
        "phone": "",
        "photos": [],
    }
