"""Reads English questions for a map. Names are told by capitals, by the list of known ones, and by the
prepositions before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from research import data
from research.core.text.known import known, stretches
from research.core.text.units import spelled
from research.sources.places.wishes import (
    BESIDE,
    NEAR,
    WITHIN,
    Found,
    Reading,
    Wish,
    find,
    framed,
    keywords,
    means,
    radius,
    words,
)

_FAR = spelled("km", "m", "mile", "minute") + "|hours?"  # what says how far something may be
_END = re.compile(r"[?!;\n]+|(?<!St)(?<!Mt)(?<!Rd)\.(?:\s|$)")
_MEASURE = rf"(?:within )?(?:about )?(?:an?|one|two|\d+(?:\.\d+)?)[\s-]*(?:{_FAR})(?:(?:'s)?[\s'-]*(?:walk|drive|ride|on foot))?"
_PLACED = re.compile(
    rf"(?<![\w-])(?P<near>{words('en near').pattern}|{_MEASURE} (?:of|from|around))\s+"
    r"|(?<![\w-])(?P<within>inside|within|in|at|on)\s+",
    re.I,
)
_HERE = re.compile(
    rf"(?<![\w-])(?:{words('en here').pattern}|within \d+ ?(?:{_FAR})(?: walk)?)"
    r"(?=\W*$|\W*(?:that|which|with|for|open|to|where|right|please|now|tonight|today|and)\b)",
    re.I,
)
_BESIDE = re.compile(r"next|beside|opposite|across|outside", re.I)
_CAP = r"(?:(?:St|Mt|Dr|No)\.|(?!I(?:'|\b))[A-Z0-9][\w'&-]*(?:\.[\w'&-]+)*)"
_OWN = words("en of name").pattern
_NAME = re.compile(
    rf"{_CAP}(?:\s+(?:(?:of|de|la|the|and|du|des|am|on)\s+)*{_CAP}|\s+(?:{_OWN})(?!\w))*"
)
_STOP = words("en stop", r")\b|\s*[,:(–—]", r"\s+(?:", re.I)
_AREA = re.compile(r"\s+(?:area|neighbou?rhood|vicinity)$", re.I)
_FORM = words("en place", "$", flags=re.I)
_NO_PLACE = words("en no place", "$", flags=re.I)
_ABSTRACT = words("en abstract", "$", flags=re.I)
_NO_NAME = words("en demonym", "$")
_IDLE = frozenset(data.words("places")["en idle"].split("|"))
_FACT = words("en fact", r"\b", r"\b", re.I)
_SEEKS = re.compile(
    r"^\W*(?:where|any ?where|somewhere|any ?place)\b|\b(?:need|looking for|where can|anywhere|somewhere)\b",
    re.I,
)
_TOLD = words("en told", r"\b", r"^\W*", re.I)
_AFTER = words("en after", r")\b|\ue000|$|[,:(—–.?!]|\ue001)", r"^(?:'s)?\s*(?:(?:", re.I)
_KIND = words("en kind", r"(?!\w)", r"(?<![\w'])", re.I)
_TRIM = re.compile(r"(?:'s)?(?:\s+(?:and|or|on|of|the|in|at|by))*[\s.']*$")


def readings(text: str) -> Iterator[Reading]:
    yield from _framed(text)
    yield from _near(text)


def _name(text: str, at: int) -> tuple[str, int]:
    """The name of a place that begins at a point of a text, and where it ends."""
    lead = re.compile(r"(?:the\s+)?(?:(?:downtown|central|exactly|nearby)\s+(?=[A-Z]))?", re.I)
    begin = lead.match(text, at)
    start = begin.end() if begin else at
    end = next((b for a, b in stretches(text[start : start + 60]) if a == 0), 0) + start
    match = _NAME.match(text, start)
    if match and match.end() > end:
        end = match.end()
    elif end > start:
        more = re.compile(rf"(?:\s+(?:{_OWN})(?!\w))+").match(text, end)
        end = more.end() if more else end
    if end > start:
        name = _TRIM.sub("", text[start:end])
        if (
            _odd(name)
            or _NO_NAME.match(name)
            or re.match(
                r"\s+(?:industry|market\b(?!s)|history|culture|economy|era|dynasty|century)",
                text[end:],
            )
        ):
            return "", at
        tail = _AREA.match(text, end)
        return _AREA.sub("", name), tail.end() if tail else end
    cut = _STOP.search(text, start)
    end = cut.start() if cut else len(text)
    name = text[start:end].strip(" .?!")
    prose = bool(re.search("[A-Z]", text[1:].replace("I", ""))) and not _FORM.search(name)
    if not name or prose or len(name.split()) > 6 or re.search("[A-Z?!]", name):
        return "", at
    if _NO_PLACE.match(name) or _ABSTRACT.search(name):
        return "", at
    if re.match(r"(?:me|here|us|my|our|home|work|walking|area|the|your|its|their|a|an)\b", name):
        return "", at
    return _AREA.sub("", name), end


def _like(name: str) -> float:
    if known(name) or any(b - a > 3 for a, b in stretches(name)):
        return 1.0
    if _FORM.search(name):
        return 0.8
    return 0.6 if re.search("[A-Z]", name) else 0.0


def _framed(text: str) -> Iterator[Reading]:
    for act, match in framed(text, "en"):
        names = {"a": "", "b": ""}
        last = match.end()
        for group in {"a", "b"} & set(match.groupdict()):
            begun, ended = match.span(group)
            limit = len(text) if ended == match.end() else ended
            names[group], end = _name(text[:limit], begun)
            last = max(last, end)
            inside = re.compile(r",?\s+(?:in|at|on)\s+").match(text, end)
            if act in ("details", "where") and names[group] and inside:
                outer = _name(text, inside.end())[0]
                names[group] += f", {outer}" if outer[:1].isupper() else ""
        a, b = names["a"], names["b"]
        stops: tuple[str, ...] = ()
        if act == "route":
            every = (m.group().removesuffix("'s") for m in _NAME.finditer(text))
            stops = tuple(n for n in dict.fromkeys(every) if n != a and not _NO_NAME.match(n))
            stops = tuple(s for n in stops for s in n.split(" and ") if not _NO_NAME.match(s))
        wants = {"a", "b"} & set(match.groupdict())
        if any(not names[group] for group in wants) or a == b:
            continue
        kinds = find(text, "en") if act == "between" else []
        kinds = [f for f in kinds if not text[f.start].isupper() or f.start == 0]
        said = text[min(f.start for f in kinds) : max(f.end for f in kinds)] if kinds else ""
        wish = Wish(a, said, keywords(kinds), NEAR, act, b, means(text), stops)
        around = text[: match.start()] + " \ue001 " + text[last:]
        rest = text
        for one in sorted(
            (a, b, *stops, *a.split(", "), *(text[f.start : f.end] for f in kinds)),
            key=len,
            reverse=True,
        ):
            rest, around = (t.replace(one, "\ue001") if one else t for t in (rest, around))
        yield Reading(wish, _features(act, [n for n in (a, b) if n], around, rest))


class _Where(NamedTuple):
    names: list[str]
    usual: int
    rest: str  # the text, with names as \ue001
    near: bool
    here: bool
    bare: bool = False


def _where(text: str) -> _Where:
    places: list[tuple[bool, str]] = []
    usual, rest = WITHIN, text
    for match in _PLACED.finditer(text):
        name, end = _name(text, match.end())
        if not name or "\ue001" in rest[match.start() : end]:
            continue
        if match["near"] and not any(near for near, _ in places):
            usual = BESIDE if _BESIDE.search(match["near"]) else NEAR
            usual = 1000 if "walk" in match["near"] else usual
        outer = re.compile(r",\s+(?=[A-Z])").match(text, end)
        if outer and (town := _name(text, outer.end())) and known(town[0]):
            name, end = f"{name}, {town[0]}", town[1]
        places.append((bool(match["near"]), name))
        rest = rest[: match.start()] + "\ue001" * (end - match.start()) + rest[end:]
    has = re.search(
        rf"\b(?:[Dd]oes|[Dd]o|[Hh]as)\s+(?:the\s+)?({_NAME.pattern})\s+(?:have|got)\b", text
    )
    if has and not places:
        places = [(False, has[1])]
        rest = rest[: has.start(1)] + "\ue001" * len(has[1]) + rest[has.end(1) :]
    here = _HERE.search(rest)
    if here:
        usual = usual if places else NEAR
        rest = rest[: here.start()] + "\ue001" * (here.end() - here.start()) + rest[here.end() :]
    nearest = not places and re.search(r"\b(?:nearest|closest)\b", rest, re.I)
    names = [name for _, name in places]
    near = any(near for near, _ in places)
    return _Where(
        names,
        NEAR if nearest else usual,
        rest,
        near or bool(here or nearest),
        bool(here or nearest),
    )


def _bare(text: str, rest: str) -> tuple[str, str]:
    """A name beside what is looked for, without a preposition: Shibuya ramen."""
    spans = [(m.start(), m.end()) for m in _NAME.finditer(text)]
    spans = sorted({*spans, *((a, b) for a, b in stretches(text) if b - a > 3)})
    for start, end in spans:
        name = text[start:end]
        while name and _NO_NAME.match(name.split()[0]):
            head, _, name = name.partition(" ")
            start += len(head) + 1
        kept = name.split()
        while kept and find(kept[-1], "en"):
            kept.pop()
        name = " ".join(kept)
        if not name or re.fullmatch(r"[\d.]+", name):
            continue
        own, end = _name(text, start)
        name, end = (own, end) if own.startswith(name) else (name, start + len(name))
        if not any(f.start >= end or f.end <= start for f in find(rest, "en")):
            name, end = " ".join(kept), start + len(" ".join(kept))
        beside = [f for f in find(rest, "en") if f.purpose.kind != "any"]
        beside = [f for f in beside if f.start >= end or f.end <= start]
        if any(not rest[f.start].isupper() or f.start == 0 for f in beside):
            return _TRIM.sub("", name), rest[:start] + "\ue001" * (end - start) + rest[end:]
    return "", rest


def _near(text: str) -> Iterator[Reading]:
    where = _where(text)
    if not where.names:
        name, rest = _bare(text, where.rest)
        if name:
            where = where._replace(names=[name], rest=rest, bare=True)
    if not where.names and not where.here:
        return
    rest = where.rest
    every = find(rest, "en")
    kinds = [f for f in every if _heads(rest, f, every)]
    spans = [(f.start, f.end) for f in kinds]
    said = keywords(kinds)
    if not any(f.purpose.kind != "any" for f in kinds):
        own = [m for m in _KIND.finditer(rest) if "\ue001" not in m[m.lastindex or 0]]
        if own:
            spans = [m.span(m.lastindex or 0) for m in own]
            said = tuple(dict.fromkeys(" ".join(m[m.lastindex or 0].split()) for m in own))
    if not said and _SEEKS.search(rest):  # what else is spoken of
        plain = (m for m in re.finditer(r"\b[a-z][\w'-]+(?:\s+[a-z][\w'-]+)?", rest))
        own = [m for m in plain if not _IDLE & set(m[0].lower().split())][:1]
        spans, said = [m.span() for m in own], tuple(m[0] for m in own)
    if not said:
        return
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    masked = rest
    for a, b in spans:
        masked = masked[:a] + "\ue000" * (b - a) + masked[b:]
    holding = [s for s in _END.split(masked) if "\ue000" in s]
    head = holding[0] if holding else masked
    purpose = re.sub(r"\s*\ue001+\s*", " ", " ".join(rest[first:last].split())).strip()
    wish = Wish(", ".join(where.names), purpose, said, radius(text, where.usual))
    kind_of = {f.purpose.kind for f in kinds}
    at = head.rfind("\ue000")
    tail = re.split(r"\b(?:for|with|that|which|to|where|open|serving)\b", head[at:], maxsplit=1)[0]
    asks = " ".join(holding)
    yield Reading(
        wish,
        _features("near", where.names, head[:at], asks)
        | {
            "near": float(where.near),
            "vague": float(not kind_of - {"for", "any", "deed"}),
            "own words": float(not kind_of),
            "attached": float(where.bare),
            "tail": min(3.0, float(_left(tail))),
        },
    )


def _heads(rest: str, found: Found, every: list[Found]) -> bool:
    """Whether a purpose is what its phrase is about: not `hotel` in `hotel prices`, nor `shops` in
    `ramen shops`."""
    before = re.search(r"(\S+)\s+$", rest[: found.start])
    capital = rest[found.start].isupper() and found.start > 0 and not rest[found.start :].isupper()
    if capital and before and before[1][:1].isupper() and not _NO_NAME.match(before[1]):
        return False
    word = rest[found.start : found.end].lower()
    if re.fullmatch(r"shops?|stores?|places?|spots?|bars?|stalls?|joints?|houses?", word) and any(
        f.end == found.start - 1 for f in every
    ):
        return False
    after = rest[found.end :].lstrip()
    if any(f.start == found.end + 1 for f in every):
        return True
    return bool(_AFTER.match(after)) or (after[:1].isupper() and found.start > 0)


def _odd(name: str) -> bool:
    """Whether a name stands like one of a place and is none."""
    return bool(_NO_PLACE.match(name)) and not re.match(r"\d.*[A-Z]", name)


def _left(text: str) -> int:
    """How many words of a text are not what people say around a wish."""
    said = re.findall(r"[\w'-]+", re.sub(r"[\ue000\ue001]+", " ", text))
    return len([w for w in said if w.strip("'\"-.").lower() not in _IDLE and not w.isdigit()])


def _features(act: str, named: list[str], rest: str, asks: str) -> dict[str, float]:
    years = re.findall(r"\b(?:1[0-9]|20)\d\d\b", asks)
    return {
        "like a place": sum(map(_like, named)) / max(1, len(named)),
        "nameless": float(bool(named) and sum(map(_like, named)) < 0.35 * len(named)),
        "no place": float(any(_odd(name) for name in named)),
        "told": float(bool(_TOLD.match(asks))),
        "fact": min(2.0, float(len(_FACT.findall(asks)) + len(years))),
        "left": min(3.0, _left(rest) / 2),
    }
