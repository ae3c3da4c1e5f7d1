"""Sample places for use without a key or network, from a small handwritten table.

The back end has the interface of the REST client, including GCJ-02, so that tool arguments mean the
same with every back end; the table itself is in WGS-84. Requests that a table cannot answer
(routes, weather, addresses elsewhere) raise an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from research import data
from research.core.coordinates import CoordinateSystem, Point, distance_metres
from research.core.errors import ServiceError
from research.core.records import Place
from research.core.text.hanzi import to_simplified
from research.sources.places.keyless_backend import KeylessBackend
from research.sources.places.tool_responses import format_gcj02, parse_places

PAGE_SIZE = 25
SAMPLE_RADIUS_METRES = 3_000  # radius around the first centre for `sample_places`
ADDRESS_RADIUS_METRES = 500  # a point this close to an entry has its address
COVERAGE_NOTE = "the offline sample only has places around 王府井, 外滩 and 西湖"
KEY_NOTE = "set AMAP_MAPS_API_KEY to use Amap"

_ENGLISH_CITIES = {"北京市": "beijing", "上海市": "shanghai", "杭州市": "hangzhou"}

# Words that an address may contain beside the names of a place and of its area.
_FILLER_WORDS = re.compile(
    r"中国|附近|周边|一带|地区|商圈|步行街|大街|街道|地铁站|风景名胜区|风景区|景区|china|street|area"
    r"|\bnear\b|\bthe\b|\bin\b|的|[\s,，、·.()（）-]+"
)


class OfflineBackend(KeylessBackend):
    """The sample table as a map back end; every result is marked as a sample."""

    name = "offline"
    description = "Sample places in China, in GCJ-02."
    coordinate_system: CoordinateSystem = "gcj02"
    is_sample = True

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Return the entries that an address names.

        The address may contain nothing but names of the entry and its area: 福州西湖 is a different
        lake.

        Raises:
            ServiceError: the table does not contain the address.
        """
        entries = [entry for entry in _all_entries() if _is_named_by(entry, address) and _is_in_city(entry, city)]
        if not entries:
            raise ServiceError("empty", f"{COVERAGE_NOTE}, not {address!r}; {KEY_NOTE}")
        return self._with_source({"return": [_build_area(entry) for entry in entries]})

    async def reverse_geocode(self, location: str) -> dict[str, Any]:
        """Return the district of the nearest entry.

        Raises:
            ServiceError: no entry is near the point.
        """
        point = self._parse_point(location)
        nearest = min(_all_entries(), key=lambda entry: distance_metres(point, _entry_point(entry)))
        if distance_metres(point, _entry_point(nearest)) > ADDRESS_RADIUS_METRES:
            raise ServiceError("empty", f"{COVERAGE_NOTE}, none near this point; {KEY_NOTE}")
        area = _build_area(nearest) | {"location": location}
        return self._with_source(area | {"formatted_address": f"{area['formatted_address']}附近"})

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Return the entries around a point, nearest first.

        Raises:
            ServiceError: the point is far from all entries, so the table cannot show an absence.
        """
        centre = self._parse_point(location)
        by_distance = sorted(
            (distance_metres(centre, _entry_point(entry)), n) for n, entry in enumerate(_place_entries())
        )
        if by_distance[0][0] > max(radius, 10_000):
            raise ServiceError("empty", f"{COVERAGE_NOTE}, none near this point; {KEY_NOTE}")
        entries = [(_place_entries()[n], distance) for distance, n in by_distance if distance <= radius]
        places = [_build_place(entry, distance) for entry, distance in entries if _matches_keywords(entry, keywords)]
        return self._with_source({"pois": places[:PAGE_SIZE]})

    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Return the entries that match keywords, in a city if one is given.

        Raises:
            ServiceError: the table has no entry in that city.
        """
        entries = [entry for entry in _place_entries() if _is_in_city(entry, city)]
        if not entries:
            raise ServiceError("empty", f"{COVERAGE_NOTE}, none in {city!r}; {KEY_NOTE}")
        places = [
            _build_place(entry) for entry in entries if _matches_keywords(entry, keywords) and _has_type(entry, types)
        ]
        return self._with_source({"pois": places[:PAGE_SIZE]})

    async def fetch_details(self, id: str) -> dict[str, Any]:
        for entry in _all_entries():
            if entry["id"] == id:
                return self._with_source(_build_place(entry))
        raise ServiceError("empty", f"the offline sample has no place with this id; {KEY_NOTE}")

    async def close(self) -> None:
        """Do nothing; no connection is open."""

    def _unsupported(self, feature: str) -> ServiceError:
        return ServiceError("no key", f"the offline sample has no {feature}; {KEY_NOTE}", hint="key")


def sample_places() -> tuple[Place, ...]:
    """Return the places of the table around its first centre."""
    centre = _entry_point(_load_table()["centres"][0])
    rows = [
        _build_place(entry)
        for entry in _place_entries()
        if distance_metres(centre, _entry_point(entry)) <= SAMPLE_RADIUS_METRES
    ]
    body = {"pois": rows, "source": OfflineBackend.name, "sample": True}
    return tuple(place for place in parse_places(body) if isinstance(place, Place))


# The table


@lru_cache(1)
def _load_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(data.text("places.json"))
    return table


def _place_entries() -> list[dict[str, Any]]:
    places: list[dict[str, Any]] = _load_table()["places"]
    return places


def _all_entries() -> list[dict[str, Any]]:
    """Return all entries, the centres first."""
    return [*_load_table()["centres"], *_place_entries()]


def _entry_point(entry: dict[str, Any]) -> Point:
    return Point(entry["lng"], entry["lat"])


# Matching


def _entry_names(entry: dict[str, Any]) -> Iterable[str]:
    return (name.lower() for name in (entry["name"], *entry["aliases"]))


def _is_named_by(entry: dict[str, Any], address: str) -> bool:
    """Return whether an address consists of a name of the entry and at most its area."""
    text = to_simplified(address).lower()
    for name in sorted(_entry_names(entry), key=len, reverse=True):
        if name in text and not _remaining_text(entry, text.replace(name, " ", 1)):
            return True
    return False


def _remaining_text(entry: dict[str, Any], text: str) -> str:
    """Return the text without the entry's area and without filler words."""
    for area in (entry["province"], entry["city"], entry["district"]):
        text = text.replace(area, " ").replace(area[:-1], " ")
    text = text.replace(entry["address"].lower() or " ", " ")
    return _FILLER_WORDS.sub("", text.replace(_ENGLISH_CITIES[entry["city"]], " "))


def _is_in_city(entry: dict[str, Any], city: str) -> bool:
    """Return whether an entry is in a city given by name or adcode; True without a city."""
    city_name = to_simplified(city).strip().lower().removesuffix("市")
    if city_name.isdecimal():
        return str(entry["adcode"]).startswith(city_name.rstrip("0"))
    areas = [entry[name] for name in ("province", "city", "district")]
    return (
        not city_name
        or city_name == _ENGLISH_CITIES[entry["city"]]
        or any(city_name in (area, area[:-1]) for area in areas)
    )


def _matches_keywords(entry: dict[str, Any], keywords: str) -> bool:
    """Return whether the name, type or tags of an entry contain any of the keywords separated by
    "|"."""
    words = [word.strip().lower() for word in to_simplified(keywords).split("|") if word.strip()]
    searchable = " ".join((*_entry_names(entry), entry["type"].lower(), *entry["tags"]))
    return not words or any(all(part in searchable for part in word.split()) for word in words)


def _has_type(entry: dict[str, Any], types: str) -> bool:
    """Return whether an entry has one of the types, each given by code (trailing zeros ignored) or
    name."""
    requested = [kind.strip() for kind in to_simplified(types).split("|") if kind.strip()]
    return not requested or any(
        str(entry["typecode"]).startswith(kind.rstrip("0")) if kind.isdecimal() else kind in entry["type"]
        for kind in requested
    )


# Results


def _build_area(entry: dict[str, Any]) -> dict[str, Any]:
    province = "" if entry["province"] == entry["city"] else entry["province"]
    return {
        "formatted_address": f"{province}{entry['city']}{entry['district']}{entry['name']}",
        "country": "中国",
        "province": entry["province"],
        "city": entry["city"],
        "district": entry["district"],
        "adcode": entry["adcode"],
        "level": "热点商圈" if entry["typecode"] == "190000" else "兴趣点",
        "location": format_gcj02(_entry_point(entry)),
        "crs": "gcj02",
    }


def _build_place(entry: dict[str, Any], distance: float | None = None) -> dict[str, Any]:
    """Return an entry with the fields of an Amap place; unknown fields are empty."""
    return {
        "id": entry["id"],
        "name": entry["name"],
        "name_en": entry["name_en"],
        "address_en": entry["address_en"],
        "location": format_gcj02(_entry_point(entry)),
        "crs": "gcj02",
        "type": entry["type"],
        "typecode": entry["typecode"],
        "address": entry["address"],
        "district": entry["district"],
        "city": entry["city"],
        "province": entry["province"],
        "area": "",
        "distance": None if distance is None else round(distance),
        "rating": None,
        "cost": None,
        "hours": "",
        "phone": "",
        "photos": [],
    }
