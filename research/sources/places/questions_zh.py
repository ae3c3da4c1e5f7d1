"""Parser for Chinese map queries.

Names are runs of words that are known names or may belong to one. They end at words that do not
occur in names, and at kinds of place beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from research.core.text import segment
from research.core.text.numbers import NUMBER_PATTERN
from research.core.text.place_names import find_place_names, is_place_name
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES
from research.core.text.units import unit_pattern
from research.sources.places.place_query import (
    BESIDE_METRES,
    NEAR_METRES,
    WITHIN_METRES,
    PlaceIntent,
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

_DISTANCE_UNIT = unit_pattern("km", "m", "mile", "minute")  # units that limit a distance
_NEAR_WORD = re.compile(
    rf"(?:的|这|[出入]?口的?)?(?:{word_pattern('zh near').pattern}"
    rf"|(?:方圆|步行|走路|开车|骑车|车程|驾车)?\s*{NUMBER_PATTERN}\s*(?:{_DISTANCE_UNIT})(?:以内|之内|内|的?范围内?|路程|车程|能到)?)+"
)
_BESIDE_WORD = re.compile("旁边|边上|隔壁|对面|楼下|门口")
_DISTANCE_FROM = re.compile(
    r"(?<!分)(?:离|距离|距)(?P<place>.{2,14}?)(?:最|比较|更|很|不太|不|特别|较)?(?:近|远)的?(?!吗|不远)|靠近(?P<close>.{2,12}?)的"
)
_LOCATION_VERB = re.compile(r"(?:位于|坐标|定位|人在|住在|(?<!现)(?<!正)在|住|去|到|来|逛|玩|落地|出差)(?=\S)")
_COMPANION_WORD = re.compile("[带陪领跟和]$")  # the following name is a companion, not a place
_WHERE_WORD = re.compile("哪里|哪儿|哪能|哪有|在哪|去哪|有没有")
_LEADING_WORDS = word_pattern("zh lead", "+")
_NOT_A_LOCATION = word_pattern("zh nowhere", "$")
_NOT_A_PLACE = word_pattern("zh no place", "$")
_PLACE_SUFFIX = word_pattern("zh place", "$", flags=re.I)
_NAME_BOUNDARY = word_pattern("zh edge", "$")
_FILLER_WORDS = word_pattern("zh idle")
_FACT_WORD = word_pattern("zh fact")
_UNLISTED_KIND = word_pattern("zh kind", flags=re.I)  # endings of kinds of place that are in no table
_INSIDE_SUFFIX = re.compile(
    r"(?:里[面头边]|内|[这那](?:边|块儿?|里|儿|一带)|一带|的|站内|区域|路程|车程|全程|这[段一]路)+$"
)


class _Word(NamedTuple):
    text: str
    tag: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_boundary(self) -> bool:
        """True if the word delimits names and cannot occur in one."""
        if self.tag == "known":
            return False
        return bool(_NAME_BOUNDARY.match(self.text) or re.match("最.|第一|[坐乘骑](?!楼).", self.text))

    @property
    def can_be_in_name(self) -> bool:
        """True if the word may occur in a name."""
        if self.tag == "known":
            return True
        if self.text in ("高速", "国际", "世界"):
            return True
        if self.is_boundary or (_FILLER_WORDS.fullmatch(self.text) and len(self.text) > 1):
            return False
        if self.tag[:1] in "pryukedowc" and self.tag != "eng":
            return False
        if self.tag[:1] == "v" and self.tag not in ("vn",) and len(self.text) > 1:
            return False
        if self.tag[:1] == "t":
            return bool(re.search(r"[期号街路]$", self.text))
        return bool(re.search(rf"[{HAN_RANGES}\w·'-]", self.text))


@lru_cache(64)
def _tag_words(text: str) -> tuple[_Word, ...]:
    """Return the tagged words of a text, with each known name as one word."""
    words, position = [], 0
    for word, tag in segment.tag(text):
        words.append(_Word(word, tag, position))
        position += len(word)
    starts, ends = {w.start for w in words}, {w.end for w in words}
    names = [(a, b) for a, b in find_place_names(text) if a in starts and b in ends]
    names = [(a, b) for a, b in names if not _FILLER_WORDS.fullmatch(text[a:b])]
    others = [w for w in words if not any(a <= w.start < b for a, b in names)]
    return tuple(sorted(others + [_Word(text[a:b], "known", a) for a, b in names], key=lambda w: w.start))


def _trailing_name(text: str, with_owner: bool = False) -> str:
    """Return the name at the end of a text; with `with_owner`, including an owner joined by 的."""
    text = _INSIDE_SUFFIX.sub("", text.rstrip())
    start = len(text)
    for word in reversed(_tag_words(text)):
        is_owner = (
            with_owner
            and word.text == "的"
            and start < len(text)
            and _place_likeness(_trailing_name(text[: word.start])) > 0
        )
        if not word.can_be_in_name and not is_owner:
            break
        start = word.start
    lead = _LEADING_WORDS.match(text[start:])
    stripped = text[start + lead.end() :] if lead and not is_place_name(text[start:][:2]) else text[start:]
    return (stripped or text[start:]).strip(" ·-、")


def _leading_name(text: str, matches: list[PurposeMatch], position: int) -> tuple[int, int]:
    """Return the start and end of a name at or soon after a position.

    The name ends before the purpose, unless that is part of the name.
    """
    start, end = position, position
    for word in _tag_words(text):
        if word.start < start:
            continue
        if word.start != end or not word.can_be_in_name:
            break
        kind = next((f for f in matches if f.start < word.end and f.end > word.start), None)
        if kind and word.tag != "known" and (kind.start <= end or kind.start <= word.start):
            has_more = any(f.start >= kind.end and f.purpose.primary_use != "for" for f in matches)
            has_more = has_more or bool(_UNLISTED_KIND.search(text, kind.end))
            phrase_end = re.match(r"[\s吗呢吧啊]*(?:$|[,，。?？]|和|或|、|跟|与|推荐)", text[kind.end :])
            is_part = (has_more and not phrase_end) or (kind.purpose.primary_use == "named" and end > start)
            if not is_part or (end == start and not has_more):
                break
        end = word.end
    return start, end


def _place_likeness(name: str) -> float:
    """Return how much a name looks like a place name, from 0 to 1."""
    if is_place_name(name) or any(a == 0 and b > 1 for a, b in find_place_names(name)):
        return 1.0
    if _PLACE_SUFFIX.search(name):
        return 0.8
    tags = {tag for _, tag in segment.tag(name)}
    if tags & {"ns", "nt", "nr", "nrt", "nz", "nrfg", "j"} or re.search(r"[A-Z0-9]", name):
        return 0.6
    return 0.0


def find_readings(text: str) -> Iterator[QuestionReading]:
    """Yield the readings of a Chinese text as a map query."""
    yield from _read_frames(text)
    yield from _read_search(text)


def _read_frames(text: str) -> Iterator[QuestionReading]:
    for intent, match in match_frames(text, "zh"):
        groups = match.groupdict()
        a, b = _slot_name(groups.get("a") or "", True), _slot_name(groups.get("b") or "", False)
        if intent == "where" and not a:
            a, b = b, ""
        stops: tuple[str, ...] = ()
        if intent == "itinerary":
            stops = _find_stops(text)
            town = next((w.text for w in _tag_words(text) if w.tag == "known"), stops[0] if stops else "")
            a, stops = town, tuple(s for s in stops if town not in s)
        names = [n for n in (a, b) if n]
        is_incomplete = any(groups.get(key) is not None and not name for key, name in (("a", a), ("b", b)))
        companion = _COMPANION_WORD.search(text[: text.find(a)]) if a and intent == "route" else None
        if companion or (is_incomplete and intent not in ("where", "itinerary")):
            continue
        if not names or (intent in ("distance", "between") and len(names) < 2) or a == b:
            continue
        if intent in ("details", "where") and (_is_only_kind(a) or "最近" in text[: match.end()]):
            continue
        purposes = [f for f in find_purposes(text, "zh") if not match.start() <= f.start < match.end()]
        matches = purposes if intent == "between" else []
        query = PlaceQuery(
            a,
            matched_text(text, matches),
            search_keywords(matches),
            NEAR_METRES,
            intent,
            b,
            parse_mode(text),
            stops,
        )
        around = text[: match.start()] + "\ue000" + text[match.end() :]
        known_texts = (a, b, *stops, *(text[match.start : match.end] for match in matches))
        rest, around = (mask_texts(t, known_texts, "\ue000") for t in (text, around))
        yield QuestionReading(query, _build_features(intent, names, rest, around))


def _slot_name(slot: str, is_last: bool) -> str:
    """Return the name in a slot of a frame.

    This is the whole slot without words around it or, if the slot contains several names, the last
    or the first one.
    """
    slot = CLAUSE_END_PATTERN.split(slot)[-1 if is_last else 0].strip()
    lead = _LEADING_WORDS.match(slot)
    start = lead.end() if lead and lead.end() < len(slot) and not is_place_name(slot[:2]) else 0
    stripped = _INSIDE_SUFFIX.sub("", slot[start:])
    words = list(_tag_words(stripped))
    while words and words[-1].is_boundary:
        words.pop()
    while words and words[0].is_boundary:
        words.pop(0)
    boundaries = [w for w in words if w.is_boundary and not (w.text == "的" and is_last)]
    if words and not boundaries:
        return stripped[words[0].start : words[-1].end]
    if is_last:
        return _trailing_name(slot, True)
    _, end = _leading_name(slot, [], start)
    return _INSIDE_SUFFIX.sub("", slot[start:end])


def _is_only_kind(name: str) -> bool:
    """Return whether a name is only a kind of place, not the name of one."""
    matches = find_purposes(name, "zh")
    return bool(_NOT_A_LOCATION.match(name)) or any(f.end - f.start == len(name) for f in matches)


def _find_stops(text: str) -> tuple[str, ...]:
    """Return all place names in a text."""
    names: list[str] = []
    position = 0
    for word in _tag_words(text):
        if word.start < position or not word.can_be_in_name:
            continue
        lead = _LEADING_WORDS.match(text, word.start)
        start, end = _leading_name(text, [], max(word.start, 0))
        name = text[start:end]
        position = end
        if lead and word.tag != "known" and lead.end() < end:
            name = text[lead.end() : end]
        if len(name) > 1 and _place_likeness(name) > 0 and not re.search("路线|[日天]游|行程", name):
            names.append(name)
    return tuple(dict.fromkeys(names))


class _CentreMatch(NamedTuple):
    name: str
    start: int
    end: int
    default_radius: int
    is_near: bool
    is_certain: bool = False  # a preposition marks it as a place


def _find_centres(text: str, matches: list[PurposeMatch]) -> Iterator[_CentreMatch]:
    """Yield possible centres of a search, most reliable first."""
    if distance_match := _DISTANCE_FROM.search(text):
        group = "place" if distance_match["place"] else "close"
        yield _CentreMatch(
            _trailing_name(distance_match[group]), distance_match.start(), distance_match.end(), NEAR_METRES, True
        )
    for near in _NEAR_WORD.finditer(text):
        clause = CLAUSE_END_PATTERN.split(text[: near.start()])[-1]
        if name := _slot_name(clause, True):
            radius = BESIDE_METRES if _BESIDE_WORD.search(near[0]) else NEAR_METRES
            yield _CentreMatch(name, near.start() - len(name), near.end(), radius, True)
    for verb in _LOCATION_VERB.finditer(text):
        yield _centre_at(text, matches, verb.end())._replace(is_certain=True)
    starts = [0, *(m.end() for m in CLAUSE_END_PATTERN.finditer(text))]
    for start in starts:
        lead = _LEADING_WORDS.match(text, start)
        first = next((w for w in _tag_words(text) if w.start >= start), None)
        is_part_of_name = first and first.tag == "known" and lead and lead.end() < first.end
        yield _centre_at(text, matches, start if is_part_of_name or not lead else lead.end())
    for word in _tag_words(text):
        if word.tag in ("known", "ns", "nt"):
            yield _centre_at(text, matches, word.start)


def _centre_at(text: str, matches: list[PurposeMatch], position: int) -> _CentreMatch:
    start, end = _leading_name(text, matches, position)
    if re.match("[路街巷道][上里]", text[end:]):  # the tagger splits 平江路上 into 平江 and 路上
        end += 1
    name = _INSIDE_SUFFIX.sub("", text[start:end])
    if len(name) > 2 and name[-1] in "里上" and (_PLACE_SUFFIX.search(name[:-1]) or is_place_name(name[:-1])):
        name = name[:-1]
    return _CentreMatch(name, start, end, WITHIN_METRES, False)


def _find_unlisted_kinds(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of kinds of place that are in no table."""
    for match in _UNLISTED_KIND.finditer(text):
        start, end = match.span(match.lastindex or 0)
        name = _trailing_name(text[start:end])
        if _content_letters(text[start:end]):
            yield (end - len(name) if name else start), end


def _read_search(text: str) -> Iterator[QuestionReading]:
    purposes = find_purposes(text, "zh")
    centre = _choose_centre(text, purposes)
    if centre is None:
        return
    remaining = [f for f in purposes if f.end <= centre.start or f.start >= centre.end]
    keywords, spans = _find_keywords(text, centre, remaining)
    if not keywords:
        return
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    masked = list(text)
    for a, b in [*spans, (centre.start, centre.end)]:
        masked[a:b] = "\ue000" * (b - a)
    rest = "".join(masked)
    clauses = "，".join(c for c in CLAUSE_END_PATTERN.split(rest) if "\ue000" in c)
    lead = re.search(r"(?:适合|可以|能)$", text[:first])
    purpose = re.sub(r"有哪些|有什么|推荐", "", text[lead.start() if lead else first : last]).strip()
    query = PlaceQuery(centre.name, purpose, keywords, parse_radius(text, centre.default_radius), mode="")
    features = _build_features("near", [centre.name] if centre.name else [], clauses, clauses)
    uses = {f.purpose.primary_use for f in remaining}
    yield QuestionReading(
        query,
        features
        | {
            "nameless": 0.0 if centre.is_certain else features["nameless"],
            "near": float(centre.is_near or bool(_NEAR_WORD.search(text))),
            "vague": float(not uses & {"venue", "named", "food"}),
            "own words": float(not uses),
            "attached": float(first == centre.end and not centre.is_near and centre.end > 0),
            "tail": min(3.0, len(_content_letters(CLAUSE_END_PATTERN.split(rest[last:])[0])) / 3),
        },
    )


def _choose_centre(text: str, purposes: list[PurposeMatch]) -> _CentreMatch | None:
    """Return the most reliable centre of a search, one without a name for "near me", or None."""
    places = [c for c in _find_centres(text, purposes) if c.name and not _NOT_A_LOCATION.match(c.name)]
    candidates = [c for c in places if not _is_only_kind(c.name) and not _is_not_place(c.name)]
    centre = next((c for c in candidates if c.is_near or _place_likeness(c.name) > 0), None)
    centre = centre or next((c for c in candidates if c.is_certain and len(c.name) > 1), None)
    if centre and not centre.is_near and is_place_name(centre.name):  # a town may be followed by a place in it
        inner_places = (c for c in candidates if c.start > centre.end and is_place_name(c.name) and not c.is_certain)
        if inner_place := next(inner_places, None):
            return inner_place._replace(name=centre.name + inner_place.name)
    near_match = _NEAR_WORD.search(text) or re.search("最近的|离我|这边|这里|这儿", text)
    if centre is None and near_match:
        return _CentreMatch("", near_match.start(), near_match.end(), NEAR_METRES, True)
    return centre


def _find_keywords(
    text: str, centre: _CentreMatch, purposes: list[PurposeMatch]
) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Return the search keywords in a text outside the centre, and their spans.

    A kind of place in no table is used if the purposes are general, or else another noun.
    """
    spans = [(f.start, f.end) for f in purposes]
    keywords = search_keywords(purposes)
    if not any(f.purpose.primary_use not in ("for", "any") for f in purposes):
        unlisted = [
            (a, b) for a, b in _find_unlisted_kinds(text) if b <= centre.start or (a >= centre.end and b > centre.end)
        ]
        if unlisted:
            keywords, spans = tuple(text[a:b] for a, b in unlisted), unlisted
    elif "美食" in keywords:  # a general word; a more specific one may follow
        taken = [*spans, (centre.start, centre.end)]
        unlisted = [(a, b) for a, b in _find_unlisted_kinds(text) if all(b <= c or a >= d for c, d in taken)]
        keywords = tuple(text[a:b] for a, b in unlisted) + keywords
        spans += unlisted
    if not keywords and (question_word := _WHERE_WORD.search(text)):  # fall back to another noun of the clause
        stretch = text[centre.end :] if centre.end <= question_word.start() else text[question_word.end() :]
        fallback = re.search(f"[{HAN_RANGES}A-Za-z]{{2,}}", _FILLER_WORDS.sub("\ue000", stretch))
        return (fallback[0],) if fallback else (), [(centre.end, centre.end)]
    return keywords, spans


def _content_letters(text: str) -> str:
    """Return the letters of a text without filler words of a request."""
    return "".join(re.findall(f"[{HAN_RANGES}A-Za-z]", _FILLER_WORDS.sub("", text)))


def _build_features(intent: PlaceIntent, names: list[str], rest: str, unmatched: str) -> dict[str, float]:
    return {
        "like a place": sum(map(_place_likeness, names)) / max(1, len(names)),
        "nameless": float(bool(names) and sum(map(_place_likeness, names)) < 0.35 * len(names)),
        "no place": float(any(_is_not_place(n) for n in names)),
        "fact": min(2.0, float(len(_FACT_WORD.findall(rest)))),
        "left": min(3.0, len(_content_letters(unmatched)) / 4),
    }


def _is_not_place(name: str) -> bool:
    """Return whether a name looks like a place name but is not one."""
    stem = name.rstrip("里上") or name
    return len(name) > 16 or (bool(_NOT_A_PLACE.match(stem)) and _place_likeness(stem) < 0.7)
