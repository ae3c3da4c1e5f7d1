"""Detection of places outside Amap's coverage: mainland China, Hong Kong and Macau.

A name is classified by its script or by the table `uncovered.tsv`; other names need a geocoder. For
points there is only a bounding box around China, which also contains Seoul, so it only identifies
points that are certainly outside.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

from research import data
from research.core.coordinates import Point
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import has_han

OutsideLikelihood = Literal[
    "surely",  # the name is in a foreign script, or a part of it is in the table
    "likely",  # it contains a name of the table, as 柏林寺 does, although that is in Beijing
    "perhaps",  # an unknown name in Latin letters
    "",  # no sign that the place is outside
]

OUTSIDE_LIKELIHOODS = ("surely", "likely")
COVERED_COUNTRIES = ("CN", "HK", "MO")  # ISO 3166-1 codes that Amap covers
_CHINESE_NAMES = re.compile(
    r"中国|大陆|香港|澳门|北京|上海|天津|重庆|广州|深圳|成都|杭州|西安|南京|武汉|苏州|\b(?:china|hong kong|hk|maca[uo]|beijing|shanghai|guangzhou|shenzhen|xi'?an"
    r"|chengdu|hangzhou|nanjing|wuhan|chongqing|tianjin|suzhou)\b",
    re.I,
)
_PART_SEPARATOR = re.compile(r"[,，、()（）;；/|]+")
_FOREIGN_SCRIPTS = re.compile(
    "[\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u10ff\u3041-\u309f\u30a1-\u30fa\uac00-\ud7af]"
)  # Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, Lao, Burmese, Georgian, kana, hangul
_LATIN_LETTER = re.compile(r"[a-z\u00c0-\u024f]", re.I)
_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_NAME_SUFFIX = re.compile(r"(?:市中心|市区|市内|附近|周边|一带|市|县|府|都|州)$")
_AMBIGUOUS_KINDS = frozenset({"town"})  # many other names begin with the name of a town
_MAX_NAME_WORDS = 4  # words of an English name
_CHINA_BOX = (73.0, 3.0, 136.0, 54.0)  # west, south, east, north in degrees


def outside_likelihood(place: str) -> OutsideLikelihood:
    """Return how likely a named place is outside Amap's coverage."""
    text = to_simplified(unicodedata.normalize("NFKC", place)).strip()
    if _CHINESE_NAMES.search(text):
        return ""
    if _FOREIGN_SCRIPTS.search(text):
        return "surely"
    parts = [part.strip() for part in _PART_SEPARATOR.split(text) if part.strip()]
    if any(_name_kinds(part) for part in parts):
        return "surely"
    if find_foreign_name(text):
        return "likely"
    return "perhaps" if _LATIN_LETTER.search(text) and not has_han(text) else ""


def find_foreign_name(place: str) -> str:
    """Return the name from the table that a place begins with or, in Latin letters, contains; else
    ""."""
    text = to_simplified(unicodedata.normalize("NFKC", place))
    parts = [part.strip() for part in _PART_SEPARATOR.split(text) if part.strip()]
    names = (_leading_foreign_name(part) if has_han(part) else _contained_foreign_name(part) for part in parts)
    return next(filter(None, names), "")


def is_covered(country: str, adcode: str = "") -> bool:
    """Return whether a geocoded country is covered by Amap; True if the country is unknown.

    `adcode` excludes Taiwan (71…).
    """
    return country.upper() in ("", "中国", "CHINA", *COVERED_COUNTRIES) and not adcode.startswith("71")


def is_outside_china_box(point: Point) -> bool:
    """Return whether a point is outside the box around China. A point inside it may still be
    abroad."""
    west, south, east, north = _CHINA_BOX
    return not (west <= point.lng <= east and south <= point.lat <= north)


def is_foreign_city(place: str) -> bool:
    """Return whether the table lists a name as a city or town."""
    return bool(_name_kinds(to_simplified(unicodedata.normalize("NFKC", place)).strip()) & {"city", "town"})


def _name_kinds(text: str) -> frozenset[str]:
    """Return the kinds of a name in the table, also tried without a common suffix."""
    return _load_table().get(_name_key(text)) or _load_table().get(_name_key(_NAME_SUFFIX.sub("", text)), frozenset())


def _leading_foreign_name(text: str) -> str:
    """Return the name from the table that a Chinese name begins with: 京都清水寺, 日本大阪."""
    heads = (text[:n] for n in range(2, min(len(text), 10)))
    return next((head for head in heads if _load_table().get(head, _AMBIGUOUS_KINDS) - _AMBIGUOUS_KINDS), "")


def _contained_foreign_name(text: str) -> str:
    """Return the name from the table that an English name contains: Kyoto Station."""
    words = [match.group() for match in _WORD.finditer(text)]
    runs = (words[at : at + n] for n in range(1, _MAX_NAME_WORDS + 1) for at in range(len(words) - n + 1))
    candidates = (" ".join(run) for run in runs if run[0][:1].isupper())
    return next((name for name in candidates if _name_key(name) in _load_table()), "")


def _name_key(text: str) -> str:
    return " ".join(text.casefold().split())


@cache
def _load_table() -> dict[str, frozenset[str]]:
    """Return the kinds (country, region, city, town) of each name in the table."""
    kinds: dict[str, frozenset[str]] = {}
    for _, kind, zh, en in data.rows("uncovered.tsv"):
        for name in (*zh.split("|"), *en.split("|")):
            if name:
                key = _name_key(name)
                kinds[key] = kinds.get(key, frozenset()) | {kind}
    return kinds
