"""Reads Chinese questions for a map. Names are runs of words that are known or could be one; where they
end is told by the words that stand around names, and by the kinds of place beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from research.core.text import segment
from research.core.text.known import known, stretches
from research.core.text.numbers import WRITTEN
from research.core.text.sentences import CLAUSE
from research.core.text.units import spelled
from research.core.text.words import HAN
from research.sources.places.wishes import (
    BESIDE,
    NEAR,
    WITHIN,
    Act,
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

_FAR = spelled("km", "m", "mile", "minute")  # what says how far something may be
_NEAR = re.compile(
    rf"(?:的|这|[出入]?口的?)?(?:{words('zh near').pattern}"
    rf"|(?:方圆|步行|走路|开车|骑车|车程|驾车)?\s*{WRITTEN}\s*(?:{_FAR})(?:以内|之内|内|的?范围内?|路程|车程|能到)?)+"
)
_BESIDE = re.compile("旁边|边上|隔壁|对面|楼下|门口")
_FROM = re.compile(
    r"(?<!分)(?:离|距离|距)(?P<place>.{2,14}?)(?:最|比较|更|很|不太|不|特别|较)?(?:近|远)的?(?!吗|不远)|靠近(?P<close>.{2,12}?)的"
)
_AT = re.compile(r"(?:位于|坐标|定位|人在|住在|(?<!现)(?<!正)在|住|去|到|来|逛|玩|落地|出差)(?=\S)")
_COMPANY = re.compile("[带陪领跟和]$")  # whoever follows comes along, and is no place
_WHERE = re.compile("哪里|哪儿|哪能|哪有|在哪|去哪|有没有")
_LEAD = words("zh lead", "+")
_NOWHERE = words("zh nowhere", "$")
_NO_PLACE = words("zh no place", "$")
_FORM = words("zh place", "$", flags=re.I)
_EDGE = words("zh edge", "$")
_IDLE = words("zh idle")
_FACT = words("zh fact")
_KIND = words("zh kind", flags=re.I)  # how a kind of place ends that no table knows
_INSIDE = re.compile(
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
    def around(self) -> bool:
        """Whether it stands around names and is in none."""
        if self.tag == "known":
            return False
        return bool(_EDGE.match(self.text) or re.match("最.|第一|[坐乘骑](?!楼).", self.text))

    @property
    def names(self) -> bool:
        """Whether it may be in a name."""
        if self.tag == "known":
            return True
        if self.text in ("高速", "国际", "世界"):
            return True
        if self.around or (_IDLE.fullmatch(self.text) and len(self.text) > 1):
            return False
        if self.tag[:1] in "pryukedowc" and self.tag != "eng":
            return False
        if self.tag[:1] == "v" and self.tag not in ("vn",) and len(self.text) > 1:
            return False
        if self.tag[:1] == "t":
            return bool(re.search(r"[期号街路]$", self.text))
        return bool(re.search(rf"[{HAN}\w·'-]", self.text))


@lru_cache(64)
def _words(text: str) -> tuple[_Word, ...]:
    """The words of a text, known names as one."""
    cut, at = [], 0
    for word, tag in segment.tag(text):
        cut.append(_Word(word, tag, at))
        at += len(word)
    starts, ends = {w.start for w in cut}, {w.end for w in cut}
    names = [(a, b) for a, b in stretches(text) if a in starts and b in ends]
    names = [(a, b) for a, b in names if not _IDLE.fullmatch(text[a:b])]
    kept = [w for w in cut if not any(a <= w.start < b for a, b in names)]
    return tuple(
        sorted(kept + [_Word(text[a:b], "known", a) for a, b in names], key=lambda w: w.start)
    )


def _back(text: str, of: bool = False) -> str:
    """The name that a text ends with; with `of`, also what is 的 another."""
    text = _INSIDE.sub("", text.rstrip())
    start = len(text)
    for word in reversed(_words(text)):
        owner = (
            of and word.text == "的" and start < len(text) and _like(_back(text[: word.start])) > 0
        )
        if not word.names and not owner:
            break
        start = word.start
    lead = _LEAD.match(text[start:])
    short = text[start + lead.end() :] if lead and not known(text[start:][:2]) else text[start:]
    return (short or text[start:]).strip(" ·-、")


def _ahead(text: str, kinds: list[Found], at: int) -> tuple[int, int]:
    """Where a name begins at or soon after a point, and where it ends: before the kind that is looked
    for, if that is another one than the name has."""
    start, end = at, at
    for word in _words(text):
        if word.start < start:
            continue
        if word.start != end or not word.names:
            break
        kind = next((f for f in kinds if f.start < word.end and f.end > word.start), None)
        if kind and word.tag != "known" and (kind.start <= end or kind.start <= word.start):
            more = any(f.start >= kind.end and f.purpose.kind != "for" for f in kinds)
            more = more or bool(_KIND.search(text, kind.end))
            ends = re.match(r"[\s吗呢吧啊]*(?:$|[,，。?？]|和|或|、|跟|与|推荐)", text[kind.end :])
            own = (more and not ends) or (kind.purpose.kind == "named" and end > start)
            if not own or (end == start and not more):
                break
        end = word.end
    return start, end


def _like(name: str) -> float:
    """How far a name is written like one of a place."""
    if known(name) or any(a == 0 and b > 1 for a, b in stretches(name)):
        return 1.0
    if _FORM.search(name):
        return 0.8
    tags = {tag for _, tag in segment.tag(name)}
    if tags & {"ns", "nt", "nr", "nrt", "nz", "nrfg", "j"} or re.search(r"[A-Z0-9]", name):
        return 0.6
    return 0.0


def readings(text: str) -> Iterator[Reading]:
    yield from _framed(text)
    yield from _near(text)


def _framed(text: str) -> Iterator[Reading]:
    for act, match in framed(text, "zh"):
        groups = match.groupdict()
        a, b = _slot(groups.get("a") or "", True), _slot(groups.get("b") or "", False)
        if act == "where" and not a:
            a, b = b, ""
        stops: tuple[str, ...] = ()
        if act == "route":
            stops = _stops(text)
            town = next(
                (w.text for w in _words(text) if w.tag == "known"), stops[0] if stops else ""
            )
            a, stops = town, tuple(s for s in stops if town not in s)
        named = [n for n in (a, b) if n]
        lost = any(groups.get(key) is not None and not name for key, name in (("a", a), ("b", b)))
        led = _COMPANY.search(text[: text.find(a)]) if a and act == "way" else None
        if led or (lost and act not in ("where", "route")):
            continue
        if not named or (act in ("distance", "between") and len(named) < 2) or a == b:
            continue
        if act in ("details", "where") and (_nothing_else(a) or "最近" in text[: match.end()]):
            continue
        kinds = [f for f in find(text, "zh") if not match.start() <= f.start < match.end()]
        spans = kinds if act == "between" else []
        wish = Wish(a, _said(text, spans), keywords(spans), NEAR, act, b, means(text), stops)
        around = text[: match.start()] + "\ue000" + text[match.end() :]
        rest = text
        for one in sorted((a, b, *stops, *_texts(text, spans)), key=len, reverse=True):
            rest, around = (t.replace(one, "\ue000") if one else t for t in (rest, around))
        yield Reading(wish, _features(act, named, rest, around))


def _slot(slot: str, last: bool) -> str:
    """The name in a place of a frame: all of it but the words around names, or where there are others
    between, the last or the first name."""
    slot = CLAUSE.split(slot)[-1 if last else 0].strip()
    lead = _LEAD.match(slot)
    start = lead.end() if lead and lead.end() < len(slot) and not known(slot[:2]) else 0
    whole = _INSIDE.sub("", slot[start:])
    cut = list(_words(whole))
    while cut and cut[-1].around:
        cut.pop()
    while cut and cut[0].around:
        cut.pop(0)
    owned = [w for w in cut if w.around and not (w.text == "的" and last)]
    if cut and not owned:
        return whole[cut[0].start : cut[-1].end]
    if last:
        return _back(slot, True)
    _, end = _ahead(slot, [], start)
    return _INSIDE.sub("", slot[start:end])


def _nothing_else(name: str) -> bool:
    """Whether a name is only a kind of place, and of no place."""
    found = find(name, "zh")
    return bool(_NOWHERE.match(name)) or any(f.end - f.start == len(name) for f in found)


def _stops(text: str) -> tuple[str, ...]:
    """All names of places in a text."""
    names: list[str] = []
    at = 0
    for word in _words(text):
        if word.start < at or not word.names:
            continue
        lead = _LEAD.match(text, word.start)
        start, end = _ahead(text, [], max(word.start, 0))
        name = text[start:end]
        at = end
        if lead and word.tag != "known" and lead.end() < end:
            name = text[lead.end() : end]
        if len(name) > 1 and _like(name) > 0 and not re.search("路线|[日天]游|行程", name):
            names.append(name)
    return tuple(dict.fromkeys(names))


class _Centre(NamedTuple):
    name: str
    start: int
    end: int
    usual: int
    near: bool
    sure: bool = False  # a preposition says that it is a place


def _centres(text: str, kinds: list[Found]) -> Iterator[_Centre]:
    """Where a search may be around, the surest first."""
    if away := _FROM.search(text):
        group = "place" if away["place"] else "close"
        yield _Centre(_back(away[group]), away.start(), away.end(), NEAR, True)
    for near in _NEAR.finditer(text):
        clause = CLAUSE.split(text[: near.start()])[-1]
        if name := _slot(clause, True):
            usual = BESIDE if _BESIDE.search(near[0]) else NEAR
            yield _Centre(name, near.start() - len(name), near.end(), usual, True)
    for at in _AT.finditer(text):
        yield _spanned(text, kinds, at.end())._replace(sure=True)
    starts = [0, *(m.end() for m in CLAUSE.finditer(text))]
    for start in starts:
        lead = _LEAD.match(text, start)
        first = next((w for w in _words(text) if w.start >= start), None)
        inside = first and first.tag == "known" and lead and lead.end() < first.end
        yield _spanned(text, kinds, start if inside or not lead else lead.end())
    for word in _words(text):
        if word.tag in ("known", "ns", "nt"):
            yield _spanned(text, kinds, word.start)


def _spanned(text: str, kinds: list[Found], at: int) -> _Centre:
    start, end = _ahead(text, kinds, at)
    if re.match("[路街巷道][上里]", text[end:]):  # cut as 平江 and 路上
        end += 1
    name = _INSIDE.sub("", text[start:end])
    if len(name) > 2 and name[-1] in "里上" and (_FORM.search(name[:-1]) or known(name[:-1])):
        name = name[:-1]
    return _Centre(name, start, end, WITHIN, False)


def _own(text: str) -> Iterator[tuple[int, int]]:
    """Where a text names what it looks for in words that no table has."""
    for match in _KIND.finditer(text):
        start, end = match.span(match.lastindex or 0)
        name = _back(text[start:end])
        if _plain(text[start:end]):
            yield (end - len(name) if name else start), end


def _near(text: str) -> Iterator[Reading]:
    every = find(text, "zh")
    places = [c for c in _centres(text, every) if c.name]
    told = [c for c in places if not _NOWHERE.match(c.name)]
    told = [c for c in told if not _nothing_else(c.name) and not _odd(c.name)]
    centre = next((c for c in told if c.near or _like(c.name) > 0), None)
    centre = centre or next((c for c in told if c.sure and len(c.name) > 1), None)
    if centre and not centre.near and known(centre.name):  # a town, and later a place in it
        inner = (c for c in told if c.start > centre.end and known(c.name) and not c.sure)
        if more := next(inner, None):
            centre = more._replace(name=centre.name + more.name)
    here = _NEAR.search(text) or re.search("最近的|离我|这边|这里|这儿", text)
    if centre is None and not here:
        return
    if centre is None:
        centre = (
            _Centre("", here.start(), here.end(), NEAR, True)
            if here
            else _Centre("", 0, 0, 0, False)
        )
    kinds = [f for f in every if f.end <= centre.start or f.start >= centre.end]
    spans = [(f.start, f.end) for f in kinds]
    if not any(f.purpose.kind not in ("for", "any") for f in kinds):
        own = [
            (a, b)
            for a, b in _own(text)
            if b <= centre.start or (a >= centre.end and b > centre.end)
        ]
        spans = own or spans
        words_ = tuple(text[a:b] for a, b in spans) if own else keywords(kinds)
    else:
        words_ = keywords(kinds)
        if "美食" in words_:  # any food, and perhaps a finer word for it
            taken = [(f.start, f.end) for f in kinds] + [(centre.start, centre.end)]
            own = [(a, b) for a, b in _own(text) if all(b <= c or a >= d for c, d in taken)]
            words_ = tuple(text[a:b] for a, b in own) + words_
            spans += own
    if not words_ and (asked := _WHERE.search(text)):  # what else the clause speaks of
        stretch = text[centre.end :] if centre.end <= asked.start() else text[asked.end() :]
        beside = re.search(f"[{HAN}A-Za-z]{{2,}}", _IDLE.sub("\ue000", stretch))
        words_, spans = (beside[0],) if beside else (), [(centre.end, centre.end)]
    if not words_:
        return
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    masked = list(text)
    for a, b in [*spans, (centre.start, centre.end)]:
        masked[a:b] = "\ue000" * (b - a)
    rest = "".join(masked)
    holding = [c for c in CLAUSE.split(rest) if "\ue000" in c]
    lead = re.search(r"(?:适合|可以|能)$", text[:first])
    purpose = re.sub(
        r"有哪些|有什么|推荐", "", text[lead.start() if lead else first : last]
    ).strip()
    wish = Wish(centre.name, purpose, words_, radius(text, centre.usual), means="")
    features = _features(
        "near", [centre.name] if centre.name else [], "，".join(holding), "，".join(holding)
    )
    kind_of = {f.purpose.kind for f in kinds}
    tail = rest[last:]
    yield Reading(
        wish,
        features
        | {
            "nameless": 0.0 if centre.sure else features["nameless"],
            "near": float(centre.near or bool(_NEAR.search(text))),
            "vague": float(not kind_of & {"venue", "named", "food"}),
            "own words": float(not kind_of),
            "attached": float(first == centre.end and not centre.near and centre.end > 0),
            "tail": min(3.0, len(_plain(CLAUSE.split(tail)[0])) / 3),
        },
    )


def _plain(text: str) -> str:
    """What of a text is not what people say around a wish."""
    return "".join(re.findall(f"[{HAN}A-Za-z]", _IDLE.sub("", text)))


def _features(act: Act, named: list[str], rest: str, around: str) -> dict[str, float]:
    return {
        "like a place": sum(map(_like, named)) / max(1, len(named)),
        "nameless": float(bool(named) and sum(map(_like, named)) < 0.35 * len(named)),
        "no place": float(any(_odd(n) for n in named)),
        "fact": min(2.0, float(len(_FACT.findall(rest)))),
        "left": min(3.0, len(_plain(around)) / 4),
    }


def _odd(name: str) -> bool:
    """Whether a name stands like one of a place and is none."""
    bare = name.rstrip("里上") or name
    return len(name) > 16 or (bool(_NO_PLACE.match(bare)) and _like(bare) < 0.7)


def _texts(text: str, found: list[Found]) -> list[str]:
    return [text[f.start : f.end] for f in found]


def _said(text: str, found: list[Found]) -> str:
    return text[min(f.start for f in found) : max(f.end for f in found)] if found else ""
