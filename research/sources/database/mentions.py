"""What a question mentions: things that a semantic model names, values of the database, figures, dates, and
the words of asking. Whatever else is in it is left over, and told.

Of forms that overlap the longest is taken: "invoice total" before "total", 客户数量 before 客户.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Literal

from research import data
from research.core.text.hanzi import simplified
from research.core.text.measure import UNCONVERTED, Measure
from research.core.text.nouns import plural
from research.core.text.numbers import numerals
from research.core.text.quantities import measures
from research.core.text.segment import cut, tag
from research.core.text.units import UNITS
from research.sources.database.asking import NotUnderstood
from research.sources.database.semantics import Label, SemanticModel, TableModel

Kind = Literal["table", "column", "metric", "value", "unit"]


@dataclass(frozen=True, slots=True)
class Sense:
    """One thing that a form may stand for. `name` is a column, or a metric. `equals` are the columns that
    have some value, which stands in a question as it is written if it is `exact`; `end` tells an adjective
    for the high end of a column or for the low one, and `compares` that it stands in a comparison."""

    kind: Kind
    table: str
    name: str = ""
    equals: tuple[tuple[str, str], ...] = ()
    end: Literal["", "high", "low"] = ""
    compares: bool = False
    ratio: float = 1.0  # of a unit that is asked for: how many of it the column's is
    exact: str = ""


@dataclass(slots=True)
class Item:
    """A piece of a question: of things, figures and dates, or one of the word lists."""

    kind: str
    text: str
    start: int
    end: int
    senses: tuple[Sense, ...] = ()
    measure: Measure | None = None
    period: tuple[date, date] | None = None  # the first day, and the first that is no more in it
    used: bool = False

    def of(self, *kinds: Kind) -> tuple[Sense, ...]:
        return tuple(sense for sense in self.senses if sense.kind in kinds)


Forms = Mapping[str, tuple[Sense, ...]]
Told = tuple[str, Mapping[str, str], bool, str]
"""A table, values of a row by their columns, whether they are kinds, and how else they are called."""


# The forms of things


@dataclass
class _Forms:
    found: dict[str, dict[Sense, None]] = field(default_factory=lambda: defaultdict(dict))

    weak: dict[str, dict[Sense, None]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, text: str, sense: Sense) -> None:
        if form := folded(text):
            self.found[form][sense] = None

    def weaker(self, name: str, table: TableModel, said: Sequence[str]) -> None:
        """What stands for a column if nothing else is called so: the last word of its label (额度 of 信用额度),
        and of a table's one key its number."""
        for column, of in table.columns.items():
            for word in _said(of.label, of.synonyms):
                for form in _conjugated(word):
                    self.weak[folded(form)][Sense("column", name, column)] = None
                last = word.split()[-1] if word.isascii() else (cut(word) or [word])[-1]
                if last != word and len(last) > 1 and not asks(last):
                    for form in inflected(last):
                        self.weak[folded(form)][Sense("column", name, column)] = None
        if len(table.row) == 1:
            for word in said:
                numbers = (f"{word} number", f"{word} id") if word.isascii() else (f"{word}号", f"{word}编号")  # fmt: skip
                for form in numbers:
                    self.weak[folded(form)][Sense("column", name, table.row[0])] = None

    def done(self) -> Forms:
        for form, senses in self.weak.items():
            self.found.setdefault(form, senses)
        return {form: tuple(senses) for form, senses in self.found.items()}


def forms(model: SemanticModel, values: Iterable[Told]) -> Forms:
    """What each form may stand for. `values` are those of rows: a table, values by columns, which are told
    together as a name is (of FirstName and LastName), and whether they are kinds: one of many names that
    is a single word, or a word of asking (ON, Time), counts only as it is written."""
    made = _Forms()
    for name, table in model.tables.items():
        said = list(_said(table.label, table.synonyms))
        for word in said:
            for form in inflected(word):
                made.add(form, Sense("table", name))
        for column, of in table.columns.items():
            sense = Sense("column", name, column)
            for word in _said(of.label, of.synonyms):
                for form in inflected(word):
                    made.add(form, sense)
                    for own in said:
                        for full in _full(own, form):
                            made.weak[folded(full)][sense] = None
            for word in (*of.high, *of.low):
                end: Literal["high", "low"] = "high" if word in of.high else "low"
                for form in _superlatives(word):
                    made.add(form, Sense("column", name, column, end=end))
                for form in (f"how {word}",) if word.isascii() else (f"多{word}",):
                    made.add(form, sense)
                for form in _comparatives(word):
                    made.add(form, Sense("column", name, column, end=end, compares=True))
            for word, ratio in _spellings(of.unit):
                made.add(word, Sense("unit", name, column, ratio=ratio))
            for value, words in of.values.items():
                for word in words:
                    made.add(word, Sense("value", name, column, ((column, value),)))
        made.weaker(name, table, said)
    for name, metric in model.metrics.items():
        for word in _said(metric.label, metric.synonyms):
            for form in inflected(word):
                made.add(form, Sense("metric", metric.table, name))
    for table_name, pairs, kinds, other in values:
        form = other or " ".join(pairs.values())
        if len(form) > 1 and not form.isdigit():
            plain = form.isascii() and " " not in form.strip()
            exact = laid_out(form) if plain and (not kinds or asks(form.lower())) else ""
            sense = Sense("value", table_name, next(iter(pairs)), tuple(pairs.items()), exact=exact)
            made.add(form, sense)
    return made.done()


def _said(label: Label, synonyms: Sequence[str]) -> Iterator[str]:
    yield from filter(None, (label.en, label.zh, *synonyms))


def inflected(word: str) -> tuple[str, ...]:
    """A word, and its plural in English."""
    if not word.isascii():
        return (word, f"{word[:-1]}总{word[-1]}") if re.search("[额量]$", word) else (word,)
    return (word, plural(word))


def _conjugated(word: str) -> tuple[str, ...]:
    """The other forms of an English verb in the past: shipped, ship, ships, shipping."""
    if not re.fullmatch("[a-z]+ed", word):
        return ()
    base = re.sub(r"([bdgmnprt])\1$", r"\1", word[:-2])
    return (base, word[:-1], f"{base}s", f"{base}ing", f"{word[:-1]}s")


def _full(table: str, column: str) -> tuple[str, ...]:
    if table.isascii() != column.isascii() or column.startswith(table):
        return ()
    if table.isascii():
        return (f"{table} {column}", f"{table}'s {column}")
    return (f"{table}{column}", f"{table}的{column}")


@cache
def _spellings(unit: str) -> tuple[tuple[str, float], ...]:
    """What a unit, and others of its kind, are called, and how many of them it is: ms is .001 seconds."""
    found = [(unit, 1.0)] if unit.isalpha() and len(unit) > 2 else []
    for own in UNITS.get(unit.lower(), ()):
        for word, units in UNITS.items():
            same = [of for of in units if of.kind == own.kind]
            if same and len(word) > 1 and own.kind not in UNCONVERTED:
                found.append((word, own.factor / same[0].factor))
    return tuple(found)


def _superlatives(word: str) -> tuple[str, ...]:
    if not word.isascii():
        return (f"最{word}",)
    return (f"{_stem(word)}est", f"most {word}")


def _comparatives(word: str) -> tuple[str, ...]:
    if not word.isascii():
        return (f"{word}于", f"{word}过")
    return (f"{_stem(word)}er than", f"more {word} than")


def _stem(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}i"
    if re.search(r"[^aeiou][aeiou][bdgmnpt]$", word):
        return word + word[-1]
    return word.removesuffix("e")


def folded(text: str) -> str:
    """A text in which forms are looked for: one width, simplified characters, lower case. It is as long
    as `laid_out` of the same text."""
    return laid_out(text).lower()


def laid_out(text: str) -> str:
    """A question on one line, in one width and in simplified characters."""
    return " ".join(simplified(unicodedata.normalize("NFKC", text)).split())


# What a question says


@cache
def _lists() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The word lists, each as a pattern."""
    made = []
    for name, alternatives in data.words("database").items():
        if name == "tells of a state":
            continue
        words = re.split(r"(?<!\\)\|(?![^()]*\))", alternatives)
        told = sorted(filter(None, words), key=len, reverse=True)
        latin = [w for w in told if re.match(r"[a-z]", w)]
        rest = [w for w in told if not re.match(r"[a-z]", w)]
        parts = [rf"(?<![a-z0-9])(?:{'|'.join(latin)})(?![a-z0-9])"] if latin else []
        parts += [f"(?:{'|'.join(rest)})"] if rest else []
        made.append((name, re.compile("|".join(parts))))
    return tuple(made)


def asks(word: str) -> bool:
    """Whether a word is one of those of asking."""
    return any(pattern.fullmatch(word) for _, pattern in _lists())


def mentioned(question: str, known: Forms, longest: int) -> list[Item]:
    """The pieces of a question in their order, without those that mean nothing.

    Raises:
        NotUnderstood: something of it is none of them.
    """
    text = laid_out(question)
    low = text.lower()
    found = [
        *_things(text, low, known, longest),
        *_figures(text),
        *_words(text, low),
        *_parts(text),
    ]
    taken = _fewest(text, found)
    free = [True] * len(text)
    for item in taken:
        free[item.start : item.end] = [False] * (item.end - item.start)
    left = [text[start:end].strip(" ?!.,:;？！。，、：；") for start, end in _left(text, free)]
    if left:
        raise NotUnderstood(", ".join(left))
    return [item for item in taken if item.kind != "means nothing"]


def _fewest(text: str, found: Iterable[Item]) -> list[Item]:
    """The pieces that leave least of a text over, and of those the fewest: 客户 and 名单, not 客户名 and 单."""
    at: dict[int, list[Item]] = defaultdict(list)
    for item in found:
        at[item.start].append(item)
    best: list[tuple[float, Item | None]] = [(0.0, None)] * (len(text) + 1)
    for start in range(len(text) - 1, -1, -1):
        char = text[start]
        left = 2.0 if _latin(char) else 3.0 if char.isalnum() else 0.0
        best[start] = (best[start + 1][0] + left, None)
        for item in at[start]:
            cost = _COSTS.get(item.kind, 1.01) + best[item.end][0]
            cost += 0.2 * (item.kind == "means nothing" and item.end - start == 1)
            if cost < best[start][0]:
                best[start] = (cost, item)
    taken, place = [], 0
    while place < len(text):
        piece = best[place][1]
        if piece is not None:
            taken.append(piece)
        place = piece.end if piece is not None else place + 1
    return taken


def _left(text: str, free: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The stretches of a text that nothing was found in, and that mean something.

    A Chinese verb that only ties things together means nothing new: 各承运了多少订单, 发往德国. One that stands
    before 的 tells a kind of thing (取消的订单), and is left. Adverbs and particles go, but for "not".
    """
    stretches = [m.span() for m in re.finditer("1+", "".join("01"[open_] for open_ in free))]
    stretches = [(a, b) for a, b in stretches if re.search(r"\w", text[a:b])]
    if not any("\u4e00" <= char <= "\u9fff" for a, b in stretches for char in text[a:b]):
        yield from stretches
        return
    words, at = [], 0
    for word, tag_ in tag(text):
        at = text.index(word, at)
        words.append((at, at + len(word), tag_))
        at += len(word)
    for start, end in stretches:
        inside = [(a, b, t) for a, b, t in words if a < end and b > start and text[a:b].strip()]
        end = start + len(text[start:end].rstrip())
        if not all(
            (t[0] in "dpcuryf" or (t[0] == "v" and text[end : end + 1] != "的"))
            and not _TELLING.search(text[a:b])
            and not re.search("[和与或及、]$", text[:a])
            and not re.match("[和与或及、]", text[b:])
            for a, b, t in inside
        ):
            yield start, end


_TELLING = re.compile(f"[不没未非无否别]|{data.words('database')['tells of a state']}")
_COSTS = {"thing": 1.0, "figure": 1.02, "date": 1.02, "means nothing": 1.1}
_PARTS = (
    re.compile(r"\b(?:with|contain(?:s|ing)?|includ(?:es|ing)|ha(?:s|ve|ving)) (?:the words? )?[\"“'‘]?(?P<part>\w[\w' ]*?)[\"”'’]? in (?:the|its|their) (?:names?|titles?)\b", re.I),
    re.compile(r"\bwhose (?:names?|titles?) (?:contains?|includes?|ha(?:s|ve)) (?:the words? )?[\"“'‘]?(?P<part>[\w']+)[\"”'’]?", re.I),
    re.compile(r"(?:名称|名字|标题|名)(?:中|里|里面)?(?:包含|含有|含|带有|带|有)[“\"「『‘]?(?P<part>[^“”\"「」『』‘’的,，？?]{1,30}?)[”\"」』’]?(?=的|字|,|，|？|\?|$)字?"),
)  # fmt: skip


def _things(text: str, low: str, known: Forms, longest: int) -> Iterator[Item]:
    for start in range(len(low)):
        if start and _latin(low[start - 1]) and _latin(low[start]):
            continue
        for end in range(min(len(low), start + longest), start, -1):
            if end < len(low) and _latin(low[end - 1]) and _latin(low[end]):
                continue
            said = text[start:end]
            if senses := tuple(s for s in known.get(low[start:end], ()) if s.exact in ("", said)):
                yield Item("thing", said, start, end, senses)


def _latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _words(text: str, low: str) -> Iterator[Item]:
    for kind, pattern in _lists():
        for match in pattern.finditer(low):
            if match[0]:
                yield Item(kind, text[match.start() : match.end()], *match.span())


def _parts(text: str) -> Iterator[Item]:
    """What is to be in a name: tracks with Love in the name, 名称含“湖”的."""
    for pattern in _PARTS:
        for match in pattern.finditer(text):
            yield Item("part", match["part"].strip(), *match.span())


_SPANS = re.compile(
    r"\b[QH](?P<q>[1-4])\b|\b(?P<en>first|second|third|fourth) (?P<unit>quarter|half)(?: of)?|第?(?P<zh>[一二三四1-4])季度|(?P<half>[上下])半年",
    re.I,
)
_ORDER = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "一": 1,
    "二": 2,
    "三": 3,
    "四": 4,
    "上": 1,
    "下": 2,
}


def _figures(text: str) -> Iterator[Item]:
    """Figures, and dates with the days that they cover; a year is that of the next date that has one."""
    found = list(measures(text))
    spans = list(_SPANS.finditer(text))[:1]
    last: int | None = None
    years: dict[int, int | None] = {}
    for place in reversed(range(len(found))):  # between January and March 2012
        if found[place].dated:
            last = years[place] = found[place].parts[0] or last
    for place, each in enumerate(found):
        start = each.end - len(text[each.start : each.end].lstrip())
        end = start + len(text[start : each.end].rstrip())
        if any(start < match.end() and end > match.start() for match in spans):
            continue
        if not each.dated:
            counts = each.kind in (
                "",
                "count",
                "people",
            )  # what is counted may be a thing: 3 employees
            bare = [n.end for n in numerals(text) if n.start == start and n.end <= end]
            end = bare[0] if counts and bare else end
            yield Item("figure", text[start:end], start, end, measure=each)
            continue
        year, month, day = years.get(place), *each.parts[1:]
        period = None
        if year:
            period = _span(year, spans[0]) if spans and not month else _period(year, month, day)
        yield Item("date", text[start:end], start, end, measure=each, period=period)
    for match in spans:
        yield Item("span of", match[0], *match.span())


def _span(year: int, match: re.Match[str]) -> tuple[date, date]:
    """A quarter or a half of a year."""
    told = match["q"] or match["en"] or match["zh"] or match["half"]
    number = int(told) if told.isdigit() else _ORDER[told.lower()]
    half = match["half"] or (match["unit"] or "").lower() == "half" or match[0][:1].upper() == "H"
    months = 6 if half else 3
    return date(year, months * (number - 1) + 1, 1), _month(year, months * number + 1)


def _period(year: int, month: int | None, day: int | None) -> tuple[date, date]:
    """The days of a date: the first, and the one after the last."""
    if month and day:
        first = date(year, month, day)
        return first, date.fromordinal(first.toordinal() + 1)
    if month:
        return date(year, month, 1), _month(year, month + 1)
    return date(year, 1, 1), date(year + 1, 1, 1)


def _month(year: int, month: int) -> date:
    return date(year + (month > 12), month - 12 * (month > 12), 1)
