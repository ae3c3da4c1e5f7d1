"""Parsing of tool results from all of Amap's servers.

The servers differ in names (`return` or `results`, `photos` or `photo`, `provice`), in wrapping, in
the type of numbers, and in omissions: Amap's own servers return no locations for a search. All use
`[]` for an empty value. Points are converted to WGS-84 here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from research import data
from research.core.coordinates import CoordinateSystem, Point, amap_coordinate_system, from_gcj02, to_gcj02, to_wgs84
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.json_values import keep_objects
from research.core.records import FailureHint, FailureReason, Language, Place
from research.sources.places.opening_hours import describe_hours

MAX_PHOTOS = 5
MUNICIPALITIES = ("北京市", "上海市", "天津市", "重庆市")  # both province and city
_REGION_LEVELS = ("国家", "省", "市", "区县")  # geocoding levels, largest first

_CATEGORY_WORDS = (
    (r"游乐|亲子|儿童|休闲场所|娱乐场所", "family"), ("影剧院", "culture"), ("^餐饮", "food"), ("^购物", "shop"),
    ("^住宿", "hotel"), ("^风景名胜", "sight"), ("^科教文化", "culture"), ("^交通", "transport"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Area:
    """The area or point that an address was matched to. `level` is Amap's term for its size."""

    name: str
    level: str
    point: Point
    province: str = ""
    city: str = ""
    district: str = ""
    adcode: str = ""
    country: str = ""  # ISO 3166-1 code or name; "" if unknown

    @property
    def is_region(self) -> bool:
        """True for an administrative area, which has no centre to search around."""
        return self.level in _REGION_LEVELS

    @property
    def is_too_large(self) -> bool:
        """True for an area larger than a city."""
        return self.level in _REGION_LEVELS[:2] and self.province not in MUNICIPALITIES


@dataclass(frozen=True, slots=True)
class UnlocatedPlace:
    """A place whose location must be fetched by its id."""

    id: str
    name: str


def parse_areas(body: Mapping[str, Any]) -> tuple[Area, ...]:
    """Return the areas in the body of a geocoding result."""
    rows = keep_objects(body.get("return")) or keep_objects(body.get("results"))
    return tuple(area for row in rows if (area := _parse_area(row)))


def _parse_area(row: Mapping[str, Any]) -> Area | None:
    point = _parse_point(row)
    if point is None:
        return None
    province, city, district = (as_text(row.get(name)) for name in ("province", "city", "district"))
    parts = dict.fromkeys(filter(None, (province, city, district, as_text(row.get("street")))))
    name = as_text(row.get("formatted_address")) or "".join(parts)
    return Area(
        name, as_text(row.get("level")), point, province, city or province, district,
        as_text(row.get("adcode")), as_text(row.get("country_code")) or as_text(row.get("country")),
    )  # fmt: skip


def parse_places(body: Mapping[str, Any], language: Language = "zh") -> Iterator[Place | UnlocatedPlace]:
    """Yield the places in the body of a search or detail result, in its order.

    `language` is that of names and kinds, for services with several.
    """
    sample = bool(body.get("sample"))
    provider = as_text(body.get("source")) or "amap"
    detail = [body] if "pois" not in body and as_text(body.get("id")) else []
    for row in keep_objects(body.get("pois")) or detail:
        point, name = _parse_point(row), _display_name(row, language)
        if not name:
            continue
        if point is None:
            if identity := as_text(row.get("id")):
                yield UnlocatedPlace(identity, name)
            continue
        yield _parse_place(row, point, provider, language, sample=sample)


def _display_name(row: Mapping[str, Any], language: Language) -> str:
    """Return the name in a language followed by the local name, or the kind of a place without a
    name."""
    local_name, names = as_text(row.get("name")), row.get("names")
    translated = as_text(names.get(language)) if isinstance(names, Mapping) else ""
    if translated and local_name and translated != local_name:
        return message("mark.aside", language, text=translated, more=local_name)
    return translated or local_name or _kind_text(row, language)


def _kind_text(row: Mapping[str, Any], language: Language) -> str:
    """Return the kind of a place in words."""
    kinds = row.get("kinds")
    return as_text(kinds.get(language)) if isinstance(kinds, Mapping) else as_text(row.get("type"))


def _hours_text(row: Mapping[str, Any], language: Language) -> str:
    if written := as_text(row.get("opening_hours")):
        return describe_hours(written, language)
    return as_text(row.get("hours")) or as_text(row.get("opentime2")) or as_text(row.get("open_time"))


def _parse_place(row: Mapping[str, Any], point: Point, provider: str, language: Language, *, sample: bool) -> Place:
    rating, cost = as_number(row.get("rating")), as_number(row.get("cost"))
    kind, kind_entry = _kind_text(row, language), _find_amap_type(as_text(row.get("typecode")))
    return Place(
        id=as_text(row.get("id")),
        name=_display_name(row, language),
        lng=round(point.lng, 7),
        lat=round(point.lat, 7),
        provider=provider,
        category=as_text(row.get("category")) or place_category(as_text(row.get("typecode")), kind),
        type=kind,
        address=as_text(row.get("address")),
        district=as_text(row.get("district")),
        city=as_text(row.get("city")),
        distance=as_integer(row.get("distance")),
        rating=rating if rating and 0 < rating <= 5 else None,
        cost=cost if cost and cost > 0 else None,
        hours=_hours_text(row, language),
        phone=as_text(row.get("phone")) or as_text(row.get("tel")),
        photos=tuple(_photo_urls(row))[:MAX_PHOTOS],
        sample=sample,
        name_en=as_text(row.get("name_en")),
        type_en=kind_entry[1] if kind_entry else _kind_text(row, "en") if "kinds" in row else "",
        address_en=as_text(row.get("address_en")),
    )


def place_category(typecode: str, kind: str) -> str:
    """Return the category of Amap's type, by its code or else by its words."""
    if entry := _find_amap_type(typecode):
        return entry[0]
    return next((name for words, name in _CATEGORY_WORDS if re.search(words, kind)), "other")


def _find_amap_type(typecode: str) -> tuple[str, str] | None:
    """Return the category and English word of the first known code among Amap's type codes, or None."""
    entries = (_amap_types_by_code().get(code[:size]) for code in typecode.split("|") for size in (6, 4, 2))
    return next((kind for kind in entries if kind), None)


@cache
def _amap_types_by_code() -> dict[str, tuple[str, str]]:
    """Return the category and English word by the prefix of Amap's type codes."""
    return {start: (name, english) for start, name, english in data.rows("place_kinds.tsv")}


def _photo_urls(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield photo URLs, given as a list of strings or objects, one object, or one string."""
    photos = row.get("photos") or row.get("photo") or []
    for item in photos if isinstance(photos, list) else [photos]:
        url = as_text(item.get("url")) if isinstance(item, Mapping) else as_text(item)
        if url.startswith(("http://", "https://")):
            yield url


def parse_distances(body: Mapping[str, Any]) -> list[tuple[int, int | None]]:
    """Return metres and seconds from each origin to the destination, in the order of the origins.

    Seconds are None if the body does not give them.
    """
    rows = sorted(keep_objects(body.get("results")), key=lambda row: as_number(row.get("origin_id")) or 0)
    measures = [(as_integer(row.get("distance")), as_integer(row.get("duration"))) for row in rows]
    return [(metres, seconds) for metres, seconds in measures if metres is not None]


def parse_forecasts(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the days of a weather forecast, with all values as text."""
    rows = keep_objects(body.get("forecasts"))
    return [{name: as_text(value) for name, value in row.items()} for row in rows]


# Failures


_ERROR_CODE = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_NETWORK_ERROR = re.compile(r"\b(?:ENOTFOUND|EAI_AGAIN|E[A-Z]*CONN[A-Z]*|ETIMEDOUT|socket hang up)\b")
_RATE_LIMIT = re.compile(r"QPS|TOO_FREQUENT|QUERY_TIMES")
_ERROR_PATTERNS: tuple[tuple[str, FailureReason, FailureHint], ...] = (
    (r"DAILY|OVER_LIMIT|OUT_OF_SERVICE|QUOTA|EXCEEDED|SERVICE_EXPIRED", "quota", ""),
    (r"INVALID_USER|USERKEY|USER_KEY|INSUFFICIENT_PRIVILEGES|PLAT_NOMATCH|HTTP 401", "refused", "key"),
    (r"OVER_DIRECTION_RANGE|ROUTE_FAIL|ENGINE_RESPONSE_DATA_ERROR|OUT_OF_RANGE", "empty", ""),
    (r"GATEWAY_TIMEOUT|SERVER_IS_BUSY|RESOURCE_UNAVAILABLE|UNKNOWN_ERROR", "unavailable", ""),
    (r"Cannot read propert|failed: undefined", "empty", ""),
    (r"Unexpected token|Unexpected end of JSON|invalid json", "malformed", "endpoint"),
    (r"ENOTFOUND|ECONN|EAI_AGAIN|fetch failed|socket hang up|request to .* failed|network", "unreachable", ""),
    (r"ETIMEDOUT|(?i:timed?[ -]?out)", "timeout", ""),
)
_ERROR_MESSAGES = {  # replace JavaScript errors, and URLs that contain a key
    "empty": "Amap: no answer for this place",
    "malformed": "Amap: something else came than the JSON asked for",
    "unreachable": "Amap: no connection",
}
_URL = re.compile(r"https?://\S+")
_TRANSIENT_REASONS = ("unavailable", "unreachable", "timeout")  # a retry may succeed
_DEFAULT_HINTS: dict[str, FailureHint] = {"malformed": "endpoint", "no key": "key"}  # hints that follow from the reason


def parse_error(error_text: str) -> ServiceError:
    """Convert the error text of a tool to a ServiceError.

    Our own server puts the reason first; Amap's servers return a code of the REST API or a
    JavaScript error.
    """
    if _RATE_LIMIT.search(error_text):
        return ServiceError("quota", _clean_error(error_text), is_retryable=True, retry_after_seconds=1.0)
    head, _, rest = error_text.partition(": ")
    if head in get_args(FailureReason):
        classified = _classify_error(rest)
        hint: FailureHint = classified[1] if classified and classified[0] == head else _DEFAULT_HINTS.get(head, "")
        return ServiceError(head, rest, hint=hint, is_retryable=head in _TRANSIENT_REASONS)  # type: ignore[arg-type]
    classification = _classify_error(error_text)
    if classification is None:
        return ServiceError("refused", _clean_error(error_text))
    reason, hint = classification
    message = _ERROR_MESSAGES.get(reason) or _clean_error(error_text)
    if reason == "unreachable" and (network_error := _NETWORK_ERROR.search(error_text)):
        message += f" ({network_error[0]})"
    return ServiceError(reason, message, hint=hint, is_retryable=reason in _TRANSIENT_REASONS)


def _classify_error(error_text: str) -> tuple[FailureReason, FailureHint] | None:
    return next(((reason, hint) for words, reason, hint in _ERROR_PATTERNS if re.search(words, error_text)), None)


def _clean_error(error_text: str) -> str:
    """Return the REST API code in a text or, without one, the text without URLs."""
    code = _ERROR_CODE.search(error_text)
    text = _URL.sub("…", error_text.removeprefix("Error: "))
    return f"Amap: {code[0]}" if code else f"Amap: {text}"


# Values


def as_text(value: object) -> str:
    """Return a scalar as one line of text; "" for `[]` and any other type."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def as_number(value: object) -> float | None:
    """Return a finite number, also from a text; None for anything else."""
    try:
        number = float(as_text(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_integer(value: object) -> int | None:
    """Return a finite number, rounded, also from a text; None for anything else."""
    number = as_number(value)
    return None if number is None else round(number)


def parse_lng_lat(text: str) -> Point | None:
    """Parse a point "lng,lat" without converting it; return None if it is not on Earth."""
    lng, lat = map(as_number, text.partition(",")[::2])
    if lng is None or lat is None or abs(lng) > 180 or abs(lat) > 90:
        return None
    return Point(lng, lat)


def place_point(place: Place) -> Point:
    """Return the WGS-84 point of a place."""
    return Point(place.lng, place.lat)


def point_label(point: Point) -> str:
    """Return a point as text for people: latitude and longitude in degrees."""
    return f"{point.lat:.5f}, {point.lng:.5f}"


def format_gcj02(point: Point) -> str:
    """Convert a WGS-84 point to GCJ-02 and format it as the tools expect it: "lng,lat"."""
    shifted = to_gcj02(point)
    return f"{shifted.lng:.6f},{shifted.lat:.6f}"


def parse_gcj02(location: str) -> Point:
    """Parse a point of a tool's arguments, "lng,lat" in GCJ-02, and convert it to WGS-84."""
    lng, lat = map(float, location.split(","))
    return from_gcj02(Point(lng, lat))


def _parse_point(row: Mapping[str, Any]) -> Point | None:
    """Return the WGS-84 point of a row, or None."""
    point = parse_lng_lat(as_text(row.get("location")))
    return to_wgs84(point, _coordinate_system(row)) if point else None


def _coordinate_system(row: Mapping[str, Any]) -> CoordinateSystem:
    """Return the coordinate system of a row: declared, or the one Amap uses at its location."""
    declared = as_text(row.get("crs"))
    if declared in get_args(CoordinateSystem):
        return "wgs84" if declared == "wgs84" else "gcj02"
    province = as_text(row.get("province")) or as_text(row.get("pname"))
    return amap_coordinate_system(as_text(row.get("adcode")), province, as_text(row.get("country")))
