"""One reading of the answers of every server of Amap's tools.

They differ in names (`return` or `results`, `photos` or `photo`, `provice`), in wrapping, in whether
numbers are texts, and in what they leave out: Amap's own servers give no location with a search.
An empty value is `[]` on all of them. Points leave this module in WGS-84.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from research import data
from research.core.coordinates import Point, System, amap_system, to_wgs84
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import Hint, Language, Place, Reason
from research.sources.places.hours import plainly

PHOTOS = 5
MUNICIPALITIES = ("北京市", "上海市", "天津市", "重庆市")  # a province and a city at once
_REGIONS = ("国家", "省", "市", "区县")  # levels of geocoding, the largest first

_CATEGORY_WORDS = (
    (r"游乐|亲子|儿童|休闲场所|娱乐场所", "family"), ("影剧院", "culture"), ("^餐饮", "food"), ("^购物", "shop"),
    ("^住宿", "hotel"), ("^风景名胜", "sight"), ("^科教文化", "culture"), ("^交通", "transport"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Area:
    """What an address was taken for. `level` is Amap's word for how large it is."""

    name: str
    level: str
    point: Point
    province: str = ""
    city: str = ""
    district: str = ""
    adcode: str = ""
    country: str = ""  # its code in ISO 3166-1, or its name; "" if the service says neither

    @property
    def region(self) -> bool:
        """Whether it is an administrative area, which nothing can be searched around."""
        return self.level in _REGIONS

    @property
    def too_large(self) -> bool:
        """Whether it is more than a city."""
        return self.level in _REGIONS[:2] and self.province not in MUNICIPALITIES


@dataclass(frozen=True, slots=True)
class Lead:
    """A place whose location has to be asked for by its id."""

    id: str
    name: str


def areas(answer: Mapping[str, Any]) -> tuple[Area, ...]:
    """What a geocoding found."""
    rows = _rows(answer.get("return")) or _rows(answer.get("results"))
    return tuple(area for row in rows if (area := _area(row)))


def _area(row: Mapping[str, Any]) -> Area | None:
    point = _point(row)
    if point is None:
        return None
    province, city, district = (text(row.get(name)) for name in ("province", "city", "district"))
    parts = dict.fromkeys(filter(None, (province, city, district, text(row.get("street")))))
    name = text(row.get("formatted_address")) or "".join(parts)
    return Area(
        name, text(row.get("level")), point, province, city or province, district,
        text(row.get("adcode")), text(row.get("country_code")) or text(row.get("country")),
    )  # fmt: skip


def places(answer: Mapping[str, Any], language: Language = "zh") -> Iterator[Place | Lead]:
    """What a search or a detail call found, in its order."""
    sample = bool(answer.get("sample"))
    provider = text(answer.get("source")) or "amap"
    detail = [answer] if "pois" not in answer and text(answer.get("id")) else []
    for row in _rows(answer.get("pois")) or detail:
        point, name = _point(row), _name(row, language)
        if not name:
            continue
        if point is None:
            if identity := text(row.get("id")):
                yield Lead(identity, name)
            continue
        yield _place(row, point, provider, language, sample=sample)


def _name(row: Mapping[str, Any], language: Language) -> str:
    """The name in a language with the one that is used there beside it, as far as both are known; of
    what has none, its kind."""
    used, names = text(row.get("name")), row.get("names")
    known = text(names.get(language)) if isinstance(names, Mapping) else ""
    if known and used and known != used:
        return message("mark.aside", language, text=known, more=used)
    return known or used or _said(row, language)


def _said(row: Mapping[str, Any], language: Language) -> str:
    """What a place is, in words."""
    kinds = row.get("kinds")
    return text(kinds.get(language)) if isinstance(kinds, Mapping) else text(row.get("type"))


def _hours(row: Mapping[str, Any], language: Language) -> str:
    if written := text(row.get("opening_hours")):
        return plainly(written, language)
    return text(row.get("hours")) or text(row.get("opentime2")) or text(row.get("open_time"))


def _place(
    row: Mapping[str, Any], point: Point, provider: str, language: Language, *, sample: bool
) -> Place:
    rating, cost = number(row.get("rating")), number(row.get("cost"))
    distance = number(row.get("distance"))
    kind, known = _said(row, language), _kind(text(row.get("typecode")))
    return Place(
        id=text(row.get("id")),
        name=_name(row, language),
        lng=round(point.lng, 7),
        lat=round(point.lat, 7),
        provider=provider,
        category=text(row.get("category")) or category(text(row.get("typecode")), kind),
        type=kind,
        address=text(row.get("address")),
        district=text(row.get("district")),
        city=text(row.get("city")),
        distance=None if distance is None else round(distance),
        rating=rating if rating and 0 < rating <= 5 else None,
        cost=cost if cost and cost > 0 else None,
        hours=_hours(row, language),
        phone=text(row.get("phone")) or text(row.get("tel")),
        photos=tuple(_photos(row))[:PHOTOS],
        sample=sample,
        name_en=text(row.get("name_en")),
        type_en=known[1] if known else _said(row, "en") if "kinds" in row else "",
        address_en=text(row.get("address_en")),
    )


def category(typecode: str, kind: str) -> str:
    """The category of Amap's type, by its code or, without one, by its words."""
    if known := _kind(typecode):
        return known[0]
    return next((name for words, name in _CATEGORY_WORDS if re.search(words, kind)), "other")


def _kind(typecode: str) -> tuple[str, str] | None:
    """The category and the English word of a type code, or of the first known of several."""
    found = (_kinds().get(code[:size]) for code in typecode.split("|") for size in (6, 4, 2))
    return next((kind for kind in found if kind), None)


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    """Kinds of place by how Amap's type codes begin."""
    return {start: (name, english) for start, name, english in data.rows("place_kinds.tsv")}


def _photos(row: Mapping[str, Any]) -> Iterator[str]:
    """Addresses of photos: a list of texts or objects, one object, or one text."""
    given = row.get("photos") or row.get("photo") or []
    for item in given if isinstance(given, list) else [given]:
        url = text(item.get("url")) if isinstance(item, Mapping) else text(item)
        if url.startswith(("http://", "https://")):
            yield url


def ways(answer: Mapping[str, Any]) -> list[tuple[int, int | None]]:
    """Metres and seconds of each origin to the destination, in the order that was asked."""
    rows = sorted(_rows(answer.get("results")), key=lambda row: number(row.get("origin_id")) or 0)
    found = [(number(row.get("distance")), number(row.get("duration"))) for row in rows]
    return [(round(far), None if time is None else round(time)) for far, time in found if far is not None]  # fmt: skip


def forecasts(answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """The days of a weather forecast as plain texts."""
    rows = _rows(answer.get("forecasts"))
    return [{name: text(value) for name, value in row.items()} for row in rows]


# Failures


_CODED = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_WIRE = re.compile(r"\b(?:ENOTFOUND|EAI_AGAIN|E[A-Z]*CONN[A-Z]*|ETIMEDOUT|socket hang up)\b")
_RATE = re.compile(r"QPS|TOO_FREQUENT|QUERY_TIMES")
_TOLD: tuple[tuple[str, Reason, Hint], ...] = (
    (r"DAILY|OVER_LIMIT|OUT_OF_SERVICE|QUOTA|EXCEEDED|SERVICE_EXPIRED", "quota", ""),
    (r"INVALID_USER|USERKEY|USER_KEY|INSUFFICIENT_PRIVILEGES|PLAT_NOMATCH|HTTP 401", "refused", "key"),
    (r"OVER_DIRECTION_RANGE|ROUTE_FAIL|ENGINE_RESPONSE_DATA_ERROR|OUT_OF_RANGE", "empty", ""),
    (r"GATEWAY_TIMEOUT|SERVER_IS_BUSY|RESOURCE_UNAVAILABLE|UNKNOWN_ERROR", "unavailable", ""),
    (r"Cannot read propert|failed: undefined", "empty", ""),
    (r"Unexpected token|Unexpected end of JSON|invalid json", "malformed", "endpoint"),
    (r"ENOTFOUND|ECONN|EAI_AGAIN|fetch failed|socket hang up|request to .* failed|network", "unreachable", ""),
    (r"ETIMEDOUT|(?i:timed?[ -]?out)", "timeout", ""),
)  # fmt: skip
_PLAINLY = {  # where a server tells an error of JavaScript, or an address with a key in it
    "empty": "Amap: no answer for this place",
    "malformed": "Amap: something else came than the JSON asked for",
    "unreachable": "Amap: no connection",
}
_ADDRESS = re.compile(r"https?://\S+")
_PASSING = ("unavailable", "unreachable", "timeout")  # may be over the next time
_SAID: dict[str, Hint] = {"malformed": "endpoint", "no key": "key"}  # hints that go without saying


def trouble(told: str) -> Trouble:
    """The trouble that the text of a failed tool tells of.

    Our own server says the reason first; Amap's give the word of the REST API, or what JavaScript
    happened to say.
    """
    if _RATE.search(told):
        return Trouble("quota", _clean(told), again=True, after=1.0)
    head, _, rest = told.partition(": ")
    if head in get_args(Reason):
        coded = _known(rest)
        hint: Hint = coded[1] if coded and coded[0] == head else _SAID.get(head, "")
        return Trouble(head, rest, hint=hint, again=head in _PASSING)  # type: ignore[arg-type]
    known = _known(told)
    if known is None:
        return Trouble("refused", _clean(told))
    reason, hint = known
    message = _PLAINLY.get(reason) or _clean(told)
    if reason == "unreachable" and (wire := _WIRE.search(told)):
        message += f" ({wire[0]})"
    return Trouble(reason, message, hint=hint, again=reason in _PASSING)


def _known(told: str) -> tuple[Reason, Hint] | None:
    return next(((reason, hint) for words, reason, hint in _TOLD if re.search(words, told)), None)


def _clean(told: str) -> str:
    """The word of the REST API where there is one, else all of it."""
    coded = _CODED.search(told)
    plain = _ADDRESS.sub("…", told.removeprefix("Error: "))
    return f"Amap: {coded[0]}" if coded else f"Amap: {plain}"


# Values


def text(value: object) -> str:
    """A scalar as one line; "" for `[]` and whatever else is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def number(value: object) -> float | None:
    """A number that is one, whether it came as a text or not."""
    try:
        found = float(text(value))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _point(row: Mapping[str, Any]) -> Point | None:
    """Where a row is, in WGS-84."""
    lng, _, lat = text(row.get("location")).partition(",")
    east, north = number(lng), number(lat)
    if east is None or north is None or abs(east) > 180 or abs(north) > 90:
        return None
    return to_wgs84(Point(east, north), _system(row))


def _system(row: Mapping[str, Any]) -> System:
    """Which coordinates a row is in: those that it declares, or what Amap uses where it is."""
    declared = text(row.get("crs"))
    if declared in get_args(System):
        return "wgs84" if declared == "wgs84" else "gcj02"
    province = text(row.get("province")) or text(row.get("pname"))
    return amap_system(text(row.get("adcode")), province, text(row.get("country")))
