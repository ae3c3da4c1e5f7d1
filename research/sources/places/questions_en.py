"""Parser for English map queries.

Names are recognised by capitals, by the list of known names, and by preceding prepositions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from research import data
from research.core.text.place_names import find_place_names, is_place_name
from research.core.text.units import unit_pattern
from research.sources.places.place_query import (
    BESIDE_METRES,
    NEAR_METRES,
    WITHIN_METRES,
    PlaceQuery,
    PurposeMatch,
    QuestionReading,
    find_purposes,
    mask_texts,
    match_frames,
    matched_text,
    parse_mode,
    parse_radius,
    search_keywords,
    word_pattern,
)

_DISTANCE_UNIT = unit_pattern("km", "m", "mile", "minute") + "|hours?"  # units that limit a distance
_SENTENCE_END = re.compile(r"[?!;\n]+|(?<!St)(?<!Mt)(?<!Rd)\.(?:\s|$)")
_DISTANCE = rf"(?:within )?(?:about )?(?:an?|one|two|\d+(?:\.\d+)?)[\s-]*(?:{_DISTANCE_UNIT})(?:(?:'s)?[\s'-]*(?:walk|drive|ride|on foot))?"
_LOCATION_PREPOSITION = re.compile(
    rf"(?<![\w-])(?P<near>{word_pattern('en near').pattern}|{_DISTANCE} (?:of|from|around))\s+"
    r"|(?<![\w-])(?P<within>inside|within|in|at|on)\s+",
    re.I,
)
_NEAR_USER = re.compile(
    rf"(?<![\w-])(?:{word_pattern('en here').pattern}|within \d+ ?(?:{_DISTANCE_UNIT})(?: walk)?)"
    r"(?=\W*$|\W*(?:that|which|with|for|open|to|where|right|please|now|tonight|today|and)\b)",
    re.I,
)
_BESIDE_WORD = re.compile(r"next|beside|opposite|across|outside", re.I)
_CAPITALISED = r"(?:(?:St|Mt|Dr|No)\.|(?!I(?:'|\b))[A-Z0-9][\w'&-]*(?:\.[\w'&-]+)*)"
_NAME_TAIL = word_pattern("en of name").pattern
_NAME = re.compile(
    rf"{_CAPITALISED}(?:\s+(?:(?:of|de|la|the|and|du|des|am|on)\s+)*{_CAPITALISED}|\s+(?:{_NAME_TAIL})(?!\w))*"
)
_NAME_END = word_pattern("en stop", r")\b|\s*[,:(–—]", r"\s+(?:", re.I)
_AREA_SUFFIX = re.compile(r"\s+(?:area|neighbou?rhood|vicinity)$", re.I)
_PLACE_SUFFIX = word_pattern("en place", "$", flags=re.I)
_NOT_A_PLACE = word_pattern("en no place", "$", flags=re.I)
_ABSTRACT = word_pattern("en abstract", "$", flags=re.I)
_DEMONYM = word_pattern("en demonym", "$")
_FILLER_WORDS = frozenset(data.words("places")["en idle"].split("|"))
_FACT_WORD = word_pattern("en fact", r"\b", r"\b", re.I)
_SEARCH_WORD = re.compile(
    r"^\W*(?:where|any ?where|somewhere|any ?place)\b|\b(?:need|looking for|where can|anywhere|somewhere)\b",
    re.I,
)
_INFORMATION_START = word_pattern("en told", r"\b", r"^\W*", re.I)
_AFTER_PURPOSE = word_pattern("en after", r")\b|\ue000|$|[,:(—–.?!]|\ue001)", r"^(?:'s)?\s*(?:(?:", re.I)
_UNLISTED_KIND = word_pattern("en kind", r"(?!\w)", r"(?<![\w'])", re.I)
_TRAILING_WORDS = re.compile(r"(?:'s)?(?:\s+(?:and|or|on|of|the|in|at|by))*[\s.']*$")


def find_readings(text: str) -> Iterator[QuestionReading]:
    """Yield the readings of an English text as a map query."""
    yield from _read_frames(text)
    yield from _read_search(text)


def _read_name(text: str, position: int) -> tuple[str, int]:
    """Return the place name that begins at a position, and its end; "" if there is none."""
    lead = re.compile(r"(?:the\s+)?(?:(?:downtown|central|exactly|nearby)\s+(?=[A-Z]))?", re.I)
    article = lead.match(text, position)
    start = article.end() if article else position
    end = next((b for a, b in find_place_names(text[start : start + 60]) if a == 0), 0) + start
    match = _NAME.match(text, start)
    if match and match.end() > end:
        end = match.end()
    elif end > start:
        tail_words = re.compile(rf"(?:\s+(?:{_NAME_TAIL})(?!\w))+").match(text, end)
        end = tail_words.end() if tail_words else end
    if end > start:
        name = _TRAILING_WORDS.sub("", text[start:end])
        if (
            _is_not_place(name)
            or _DEMONYM.match(name)
            or re.match(
                r"\s+(?:industry|market\b(?!s)|history|culture|economy|era|dynasty|century)",
                text[end:],
            )
        ):
            return "", position
        tail = _AREA_SUFFIX.match(text, end)
        return _AREA_SUFFIX.sub("", name), tail.end() if tail else end
    boundary = _NAME_END.search(text, start)
    end = boundary.start() if boundary else len(text)
    name = text[start:end].strip(" .?!")
    has_capitals = bool(re.search("[A-Z]", text[1:].replace("I", ""))) and not _PLACE_SUFFIX.search(name)
    if not name or has_capitals or len(name.split()) > 6 or re.search("[A-Z?!]", name):
        return "", position
    if _NOT_A_PLACE.match(name) or _ABSTRACT.search(name):
        return "", position
    if re.match(r"(?:me|here|us|my|our|home|work|walking|area|the|your|its|their|a|an)\b", name):
        return "", position
    return _AREA_SUFFIX.sub("", name), end


def _place_likeness(name: str) -> float:
    if is_place_name(name) or any(b - a > 3 for a, b in find_place_names(name)):
        return 1.0
    if _PLACE_SUFFIX.search(name):
        return 0.8
    return 0.6 if re.search("[A-Z]", name) else 0.0


def _read_frames(text: str) -> Iterator[QuestionReading]:
    for intent, match in match_frames(text, "en"):
        names = {"a": "", "b": ""}
        last = match.end()
        for group in {"a", "b"} & set(match.groupdict()):
            span_start, span_end = match.span(group)
            limit = len(text) if span_end == match.end() else span_end
            names[group], end = _read_name(text[:limit], span_start)
            last = max(last, end)
            inside = re.compile(r",?\s+(?:in|at|on)\s+").match(text, end)
            if intent in ("details", "where") and names[group] and inside:
                outer = _read_name(text, inside.end())[0]
                names[group] += f", {outer}" if outer[:1].isupper() else ""
        a, b = names["a"], names["b"]
        stops: tuple[str, ...] = ()
        if intent == "itinerary":
            candidates = (m.group().removesuffix("'s") for m in _NAME.finditer(text))
            stops = tuple(n for n in dict.fromkeys(candidates) if n != a and not _DEMONYM.match(n))
            stops = tuple(s for n in stops for s in n.split(" and ") if not _DEMONYM.match(s))
        required = {"a", "b"} & set(match.groupdict())
        if any(not names[group] for group in required) or a == b:
            continue
        kinds = find_purposes(text, "en") if intent == "between" else []
        kinds = [f for f in kinds if not text[f.start].isupper() or f.start == 0]
        query = PlaceQuery(
            a, matched_text(text, kinds), search_keywords(kinds), NEAR_METRES, intent, b, parse_mode(text), stops
        )
        around = text[: match.start()] + " \ue001 " + text[last:]
        known_texts = (a, b, *stops, *a.split(", "), *(text[f.start : f.end] for f in kinds))
        rest, around = (mask_texts(t, known_texts, "\ue001") for t in (text, around))
        yield QuestionReading(query, _build_features(intent, [n for n in (a, b) if n], around, rest))


def _mask(text: str, start: int, end: int, mark: str = "\ue001") -> str:
    """Replace each character of a span by a mark."""
    return text[:start] + mark * (end - start) + text[end:]


class _Location(NamedTuple):
    """The names of the places that a question is about, and how they are given.

    `is_near` is set for "near" a place or the user, `is_near_user` only for the user ("near me"),
    and `is_bare` for a name without a preposition (Shibuya ramen).
    """

    names: list[str]
    default_radius: int
    masked_text: str  # the text, with names as \ue001
    is_near: bool
    is_near_user: bool
    is_bare: bool = False


def _find_location(text: str) -> _Location:
    places: list[tuple[bool, str]] = []
    radius, rest = WITHIN_METRES, text
    for match in _LOCATION_PREPOSITION.finditer(text):
        name, end = _read_name(text, match.end())
        if not name or "\ue001" in rest[match.start() : end]:
            continue
        if match["near"] and not any(is_near_word for is_near_word, _ in places):
            radius = BESIDE_METRES if _BESIDE_WORD.search(match["near"]) else NEAR_METRES
            radius = 1000 if "walk" in match["near"] else radius
        separator = re.compile(r",\s+(?=[A-Z])").match(text, end)
        if separator and (town := _read_name(text, separator.end())) and is_place_name(town[0]):
            name, end = f"{name}, {town[0]}", town[1]
        places.append((bool(match["near"]), name))
        rest = _mask(rest, match.start(), end)
    possessive = re.search(rf"\b(?:[Dd]oes|[Dd]o|[Hh]as)\s+(?:the\s+)?({_NAME.pattern})\s+(?:have|got)\b", text)
    if possessive and not places:
        places = [(False, possessive[1])]
        rest = _mask(rest, *possessive.span(1))
    near_user = _NEAR_USER.search(rest)
    if near_user:
        radius = radius if places else NEAR_METRES
        rest = _mask(rest, *near_user.span())
    nearest = not places and re.search(r"\b(?:nearest|closest)\b", rest, re.I)
    names = [name for _, name in places]
    is_near_word, is_near_user = any(is_near_word for is_near_word, _ in places), bool(near_user or nearest)
    radius = NEAR_METRES if nearest else radius
    return _Location(names, radius, rest, is_near_word or is_near_user, is_near_user)


def _find_bare_name(text: str, masked_text: str) -> tuple[str, str]:
    """Return a name beside a purpose without a preposition (Shibuya ramen), and the text with it
    masked."""
    spans = [(m.start(), m.end()) for m in _NAME.finditer(text)]
    spans = sorted({*spans, *((a, b) for a, b in find_place_names(text) if b - a > 3)})
    for start, end in spans:
        name = text[start:end]
        while name and _DEMONYM.match(name.split()[0]):
            head, _, name = name.partition(" ")
            start += len(head) + 1
        words = name.split()
        while words and find_purposes(words[-1], "en"):
            words.pop()
        name = " ".join(words)
        if not name or re.fullmatch(r"[\d.]+", name):
            continue
        read_name, end = _read_name(text, start)
        name, end = (read_name, end) if read_name.startswith(name) else (name, start + len(name))
        if not any(f.start >= end or f.end <= start for f in find_purposes(masked_text, "en")):
            name, end = " ".join(words), start + len(" ".join(words))
        beside = [f for f in find_purposes(masked_text, "en") if f.purpose.primary_use != "any"]
        beside = [f for f in beside if f.start >= end or f.end <= start]
        if any(not masked_text[f.start].isupper() or f.start == 0 for f in beside):
            return _TRAILING_WORDS.sub("", name), _mask(masked_text, start, end)
    return "", masked_text


def _read_search(text: str) -> Iterator[QuestionReading]:
    location = _find_location(text)
    if not location.names:
        name, rest = _find_bare_name(text, location.masked_text)
        if name:
            location = location._replace(names=[name], masked_text=rest, is_bare=True)
    if not location.names and not location.is_near_user:
        return
    rest = location.masked_text
    purposes = find_purposes(rest, "en")
    heads = [f for f in purposes if _is_phrase_head(rest, f, purposes)]
    spans = [(f.start, f.end) for f in heads]
    keywords = search_keywords(heads)
    if not any(f.purpose.primary_use != "any" for f in heads):
        unlisted = [m for m in _UNLISTED_KIND.finditer(rest) if "\ue001" not in m[m.lastindex or 0]]
        if unlisted:
            spans = [m.span(m.lastindex or 0) for m in unlisted]
            keywords = tuple(dict.fromkeys(" ".join(m[m.lastindex or 0].split()) for m in unlisted))
    if not keywords and _SEARCH_WORD.search(rest):  # fall back to another noun of the question
        plain = (m for m in re.finditer(r"\b[a-z][\w'-]+(?:\s+[a-z][\w'-]+)?", rest))
        unlisted = [m for m in plain if not _FILLER_WORDS & set(m[0].lower().split())][:1]
        spans, keywords = [m.span() for m in unlisted], tuple(m[0] for m in unlisted)
    if not keywords:
        return
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    masked = rest
    for a, b in spans:
        masked = _mask(masked, a, b, "\ue000")
    clauses = [s for s in _SENTENCE_END.split(masked) if "\ue000" in s]
    head = clauses[0] if clauses else masked
    purpose = re.sub(r"\s*\ue001+\s*", " ", " ".join(rest[first:last].split())).strip()
    query = PlaceQuery(", ".join(location.names), purpose, keywords, parse_radius(text, location.default_radius))
    uses = {f.purpose.primary_use for f in heads}
    mask_position = head.rfind("\ue000")
    tail = re.split(r"\b(?:for|with|that|which|to|where|open|serving)\b", head[mask_position:], maxsplit=1)[0]
    request = " ".join(clauses)
    yield QuestionReading(
        query,
        _build_features("near", location.names, head[:mask_position], request)
        | {
            "near": float(location.is_near),
            "vague": float(not uses - {"for", "any", "deed"}),
            "own words": float(not uses),
            "attached": float(location.is_bare),
            "tail": min(3.0, float(_count_other_words(tail))),
        },
    )


def _is_phrase_head(masked_text: str, match: PurposeMatch, matches: list[PurposeMatch]) -> bool:
    """Return whether a purpose is the head of its phrase.

    It is not for `hotel` in `hotel prices` or `shops` in `ramen shops`.
    """
    before = re.search(r"(\S+)\s+$", masked_text[: match.start])
    capital = masked_text[match.start].isupper() and match.start > 0 and not masked_text[match.start :].isupper()
    if capital and before and before[1][:1].isupper() and not _DEMONYM.match(before[1]):
        return False
    word = masked_text[match.start : match.end].lower()
    if re.fullmatch(r"shops?|stores?|places?|spots?|bars?|stalls?|joints?|houses?", word) and any(
        f.end == match.start - 1 for f in matches
    ):
        return False
    after = masked_text[match.end :].lstrip()
    if any(f.start == match.end + 1 for f in matches):
        return True
    return bool(_AFTER_PURPOSE.match(after)) or (after[:1].isupper() and match.start > 0)


def _is_not_place(name: str) -> bool:
    """Return whether a name looks like a place name but is not one."""
    return bool(_NOT_A_PLACE.match(name)) and not re.match(r"\d.*[A-Z]", name)


def _count_other_words(text: str) -> int:
    """Return the number of words that are not filler words of a request."""
    words = re.findall(r"[\w'-]+", re.sub(r"[\ue000\ue001]+", " ", text))
    return len([w for w in words if w.strip("'\"-.").lower() not in _FILLER_WORDS and not w.isdigit()])


def _build_features(intent: str, names: list[str], rest: str, request: str) -> dict[str, float]:
    years = re.findall(r"\b(?:1[0-9]|20)\d\d\b", request)
    return {
        "like a place": sum(map(_place_likeness, names)) / max(1, len(names)),
        "nameless": float(bool(names) and sum(map(_place_likeness, names)) < 0.35 * len(names)),
        "no place": float(any(_is_not_place(name) for name in names)),
        "told": float(bool(_INFORMATION_START.match(request))),
        "fact": min(2.0, float(len(_FACT_WORD.findall(request)) + len(years))),
        "left": min(3.0, _count_other_words(rest) / 2),
    }
