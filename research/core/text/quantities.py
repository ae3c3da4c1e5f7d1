"""Figures, dates and times of day in a text of either language, in units that can be compared.

1.2万, 12,000 and "twelve thousand" are one value; 100公里 and 62 miles are one length within the
rounding of the claim; 2024年3月 and "March 2024" are one date. Knows nothing of what a figure is of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from research import data
from research.core.text.arithmetic import derived
from research.core.text.dates import completed, dated, timed
from research.core.text.decimals import pad_decimals
from research.core.text.folding import plain
from research.core.text.measure import Measure, agrees, compatible, dates_agree, dates_clash
from research.core.text.numbers import NUMERAL, ONE, Numeral, number, numerals
from research.core.text.scanner import Scanner, bounded
from research.core.text.shares import grown, ranked, ranked_in_words, shared
from research.core.text.units import UNITS, Unit, begins_word, behind, sign

__all__ = ["Measure", "agrees", "bounded", "compatible", "dates_agree", "dates_clash", "derived", "measures", "plain"]  # fmt: skip

_MORE = re.compile(r"多|余|好几|几|来|\+|[\s-]?plus\b|-odd\b")
_HALF_BEFORE = re.compile(r"个半(?=小时|钟头|月|世纪|星期|季度)")
_HALF_BEHIND = re.compile(r"半(?![年月天日小个径数价票夜])")
_DECIMALS = re.compile(rf"([1-9]\d?|[{ONE}]{{1,2}})(?![\d.{NUMERAL}点年月日号个块元米])")
_TO = re.compile(r"\s?(?:-|–|—|~|～|至|到)\s?-?|\sto\s-?")
_AND = re.compile(r"\s(?:and|to)\s-?")
_STARTS = re.compile(r"\b(?:between|from)\s-?$")
_WORD_NEXT = re.compile(r"\s[a-z]{3}")
_MOVE = r"\b(?:rose|fell|rise|fall|gr[eo]w\w*|increas\w*|decreas\w*|drop\w*|declin\w*|jump\w*|climb\w*|slip\w*|cut|rais\w*|lower\w*)"
_MOVED = re.compile(rf"从|由|自|\bfrom\s?$|{_MOVE}[^.]{{0,12}}$")
_MOVED_FROM = re.compile(rf"{_MOVE}[^.]{{0,40}}from\s$")
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_IN_NAME = re.compile(r"[a-z@_]$|[a-z]-$")  # before a number: c919, covid-19
_NAMED = re.compile(r"-[a-z]*\d")  # behind one: 737-800
_BELOW_ZERO = re.compile(r"(?:零下|负|\bminus\s|(?<!\w)-)\s?(?:摄氏|华氏)?$|(?<![\w%°])[–—]$")
_PER_HOUR = re.compile(r"时速.{0,3}$|每小时.{0,2}$")
_FEET = re.compile(
    r"(?<![\d.])(\d)(?:\s?['′]\s?(\d|1[01])(?:\s?(?:[\"″”]|'')|(?!['′\d])(?=\s(?:tall|high|in height)\b))"
    r"|\s?(?:ft|feet|foot)\.?\s?(\d|1[01])\s?in\b)"
)
_NOT_BEFORE = tuple("第初星其之万统唯周每某")  # 第三, 星期三, 其一: no number of what follows
_SURE = frozenset(data.words("figures")["counted"].split("|"))
_NEAR = tuple("近约逾超达过上")  # 近百人, 逾百万: before a scale that has no number of its own
_NO_UNIT = {"台": "山", "里": "屯洋山塘河庄", "道": "口", "门": "峡", "国": "演志时", "层": "次", "对": "一", "分": "之钟", "年": "级"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Sized:
    """A numeral with the units that may be its own, before it is told whether a range begins."""

    numeral: Numeral
    units: tuple[Unit, ...]
    start: int
    end: int
    spelling: str = ""  # of the unit
    signed: bool = False
    more: str = ""
    half: bool = False

    @property
    def kind(self) -> str:
        return self.units[0].kind if self.units else ""


def _figures(r: Scanner) -> None:
    """Reads the numbers with their units; the two ends of a range are one figure."""
    for match in _FEET.finditer(r.text):
        value = (int(match[1]) * 12 + int(match[2] or match[3])) * 0.0254
        r.keep(*match.span(), Measure("length", value, value, *match.span(), 0.0254, 0.0254, unit="joint", factor=0.0254))  # fmt: skip
    found = [
        _sized(r, numeral) for numeral in numerals(r.text) if r.free(numeral.start, numeral.end)
    ]
    sized = [one for one in found if one]
    at = 0
    while at < len(sized):
        one = sized[at]
        span = _range(r, one, sized[at + 1]) if at + 1 < len(sized) else None
        if span:
            r.keep(span.start, span.end, span)
        elif _certain(r.text, one):
            measure = _measure(r, one)
            r.keep(measure.start, measure.end, measure)
        at += 2 if span else 1


def _sized(r: Scanner, numeral: Numeral) -> _Sized | None:
    """A numeral with its unit; None if it is part of a name: 5a, c919, 737-800."""
    text = r.text
    start, signs = sign(text, numeral.start)
    more = _MORE.match(text, numeral.end)
    end = more.end() if more else numeral.end
    half = _HALF_BEFORE.match(text, end)
    spelling, after = behind(text, half.end() if half else end)
    hyphen = text[end : end + 1] == "-"
    found = UNITS[spelling] if spelling and _fits(numeral, spelling, hyphen) else ()
    if found and numeral.style == "digits" and found[0].kind in ("count", "ratio"):
        found = () if begins_word(text, after, spelling) else found
    if found:
        end = after
        half = half or _HALF_BEHIND.match(text, end)
        end = max(end, half.end() if half else 0)
    found = signs or found
    if not signs and text[numeral.start].isdecimal() and _part_of_name(text, numeral, found):
        return None
    return _Sized(numeral, found, start, end, spelling, bool(signs), more[0] if more else "", bool(half and found))  # fmt: skip


def _fits(numeral: Numeral, spelling: str, hyphen: bool) -> bool:
    """Whether a unit is one: 5g is a network, 3点 a time of day, "57 millisecond pulsars" 57 of them."""
    if f"{spelling}s" in UNITS and len(spelling) > 3 and numeral.low > 1:
        return hyphen
    return numeral.low > {"g": 9, "点": 24}.get(spelling, -math.inf)


def _part_of_name(text: str, numeral: Numeral, found: tuple[Unit, ...]) -> bool:
    before = text[max(0, numeral.start - 2) : numeral.start]
    return _IN_NAME.search(before) is not None or (
        not found and numeral.scale == 1 and text[numeral.end : numeral.end + 1] in _LETTERS
    )


def _certain(text: str, sized: _Sized) -> bool:
    """Whether a numeral is a number: in figures always, in words with a unit or where it is long."""
    numeral = sized.numeral
    said = text[numeral.start : numeral.end]
    if numeral.style == "words":
        return said != "one" or bool(sized.units)
    if numeral.style != "han" or said[0].isdecimal():
        return bool(sized.units) or numeral.scale > 1 or not _NAMED.match(text, sized.end)
    before, following = text[numeral.start - 1 : numeral.start], text[sized.end : sized.end + 1]
    if before in _NOT_BEFORE or (said == "一" and before in tuple("这那上下同")):
        return False
    if not sized.units:
        return _certain_by_itself(sized, said, before, following)
    if following and following in _NO_UNIT.get(sized.spelling, ""):
        return False
    if sized.spelling == "角":
        return before in ("元", "块")
    if said == "半":
        return sized.spelling in _SURE
    if said == "一":
        return sized.half or (
            sized.spelling in _SURE and sized.spelling not in ("天", "年", "级", "人", "元")
        )
    if said == "十" and sized.spelling == "分":
        return False  # very
    return said not in ("零", "〇") and (
        not set(said) <= set("百千") or before in _NEAR or bool(sized.more)
    )


def _certain_by_itself(sized: _Sized, said: str, before: str, following: str) -> bool:
    """The same of Chinese numerals without a unit."""
    if "几" in said:  # 十几, 几十: never a part of a word
        return True
    scales, numeral = set(said), sized.numeral
    if numeral.low != numeral.high and not scales & set("百千万亿"):
        return False
    if scales <= set("十百千万亿"):
        return before in _NEAR or sized.more in ("多", "余")  # 百余
    alone = not ("\u4e00" <= following <= "\u9fff")
    long = len(said) > (1 if scales & set("百千万亿") else 2) and bool(scales & set("十百千"))
    return numeral.scale >= 1e4 or (alone and long)


def _measure(r: Scanner, sized: _Sized) -> Measure:
    numeral, span = sized.numeral, (sized.start, sized.end)
    more = "about" if sized.more == "来" else "some" if sized.more else ""
    bound = more or numeral.bound or r.bound(*span)
    low, high, step = numeral.low, numeral.high, numeral.step
    if sized.half:
        low, high, step = low + 0.5, high + 0.5, 0.5
    elif (tail := _DECIMALS.match(r.text, sized.end)) and sized.spelling in ("米", "块"):
        step = 10.0 ** -len(tail[1])  # 一米八, 三块五
        low = high = low + (number(tail[1]) or 0) * step
        span = (sized.start, tail.end())
    digit = step if sized.half or step < 1 else numeral.coarse
    if numeral.style == "part" and not sized.units:
        return Measure("ratio", 100 * low, 100 * low, *span, 5, 5, bound, "part")
    bare = Measure("", low, high, *span, step, digit, bound, spoken=_small(sized))
    if not sized.units:
        return bare
    unit, *others = _likeliest(r.text, sized)
    if unit.kind in ("temperature", "fahrenheit") and _below_zero(r.text, sized):
        bare = replace(bare, low=-high, high=-low)
    return replace(bare.read_as(unit), others=tuple(others))


def _small(sized: _Sized) -> bool:
    """Whether a number is a small one in words, as it is said without counting."""
    if sized.numeral.style == "words":
        return sized.numeral.low <= 10 and sized.kind in ("", "duration", "count", "people")
    return sized.numeral.style == "han" and sized.numeral.low <= 4 and sized.kind in ("count", "people")  # fmt: skip


def _likeliest(text: str, sized: _Sized) -> tuple[Unit, ...]:
    """The units of a spelling, the one first that the words around it tell."""
    unit = sized.units[0]
    if unit.kind == "length" and _PER_HOUR.search(text, max(0, sized.start - 6), sized.start):
        return (Unit("speed", f"{unit.name}/h", unit.factor / 1000),)
    if unit.name == "pound" and sized.numeral.scale > 1:  # millions of pounds are money
        return tuple(sorted(sized.units, key=lambda other: other.kind[:5] != "money"))
    return sized.units


def _below_zero(text: str, sized: _Sized) -> bool:
    return _BELOW_ZERO.search(text, max(0, sized.start - 6), sized.start) is not None


def _range(r: Scanner, one: _Sized, other: _Sized) -> Measure | None:
    """Two figures as the ends of a range, the unit and the scale of which may be said once; None if
    they are none."""
    text, first, last = r.text, one.numeral, other.numeral
    starts = _STARTS.search(text, max(0, one.start - 9), one.start)
    joined = _TO.fullmatch(text, one.end, other.start) or (
        starts and _AND.fullmatch(text, one.end, other.start)
    )
    if not joined or "part" in (first.style, last.style):
        return None
    told = other.units or one.signed or (last.style != "han" and (last.scale > 1 or _WORD_NEXT.match(text, other.end)))  # fmt: skip
    linked = (
        text[one.start - 1 : one.start] == "-" and not text[one.start - 2 : one.start - 1].isspace()
    )
    if not told or (linked and one.start > 1) or re.match(r"-\d", text[other.end : other.end + 2]):
        return None
    if _moved(text, one.start, starts[0] if starts else ""):
        return None
    if one.units and other.units and one.kind != other.kind:
        return None
    of = one if one.signed or not other.units else other
    low, high = first.low, last.high
    if not (one.units and not one.signed):
        low *= next((by for by in _scales(last.scale) if first.scale == 1 and low * by < high), 1.0)
    bare = Measure("", low, high, one.start, other.end)
    if of.units:
        unit, *others = _likeliest(text, of)
        if unit.kind in ("temperature", "fahrenheit"):
            low, high = (-low if _below_zero(text, one) else low), (-high if _below_zero(text, other) else high)  # fmt: skip
        bare = replace(replace(bare, low=low, high=high).read_as(unit), others=tuple(others))
    return bare if bare.low < bare.high else None


def _moved(text: str, start: int, before: str) -> bool:
    """Whether two figures are where something went from and to: rose from 5 to 7."""
    if before.startswith("between") or not _MOVED.search(text, max(0, start - 12), start):
        return False
    return not before or _MOVED_FROM.search(text, max(0, start - 60), start) is not None


def _scales(scale: float) -> Iterator[float]:
    """By what the first end of a range may be multiplied where only the last has a scale: 3至5万;
    120至300万 are so many 万."""
    yield scale
    if scale >= 1e4:
        yield 1e8 if scale >= 1e8 else 1e4


_READERS: tuple[Callable[[Scanner], None], ...] = (
    dated,
    timed,
    shared,
    grown,
    ranked,
    _figures,
    ranked_in_words,
)


def measures(text: str) -> tuple[Measure, ...]:
    """The figures and dates of a text in the order in which they stand; offsets in characters."""
    return _measured(plain(pad_decimals(text)))


@lru_cache(8_192)
def _measured(folded: str) -> tuple[Measure, ...]:
    reading = Scanner(folded)
    for read in _READERS:
        read(reading)
    found = _joined(sorted(reading.found, key=lambda m: m.start), reading.text)
    return tuple(completed(found))


_JOINT = re.compile(r"\s?(?:,\s|and\s|零|又)?")
_NEXT = re.compile(r"\s?(?:and\s)?")
_JOINED = ("length", "mass")


def _joined(found: list[Measure], text: str) -> list[Measure]:
    """The figures of a text with 1小时30分钟, "1 minute 15 seconds" and "5 ft 11" as one."""
    kept: list[Measure] = []
    for measure in found:
        last = kept[-1] if kept else None
        by = _smaller(measure, last) if last else 0.0
        if last and by:
            gap = _JOINT if last.kind == "duration" else _NEXT
            if gap.fullmatch(text, last.end, measure.start):
                value, step = last.low + measure.low * by, measure.step * by
                kept[-1] = replace(last, low=value, high=value, end=measure.end, step=step, coarse=step, unit="joint")  # fmt: skip
                continue
        kept.append(measure)
    return kept


def _smaller(measure: Measure, last: Measure) -> float:
    """By what a figure is multiplied that goes on with the one before it; 0 if it does not: minutes
    after hours, which may be 39分, inches after feet, which may be a bare 11."""
    if last.low != last.high or measure.low != measure.high:
        return 0.0
    if measure.kind == "count" and last.kind == "duration":
        return 60.0 if measure.unit == "分" and last.factor == 3600 and measure.low < 60 else 0.0
    if measure.kind == "" and last.unit == "foot":
        return (
            0.0254
            if measure.low < 12 and (measure.end - measure.start < 3 or measure.spoken)
            else 0.0
        )
    if measure.kind != last.kind or not (
        last.kind in ("duration", *_JOINED) or last.family == "money"
    ):
        return 0.0
    return 1.0 if last.factor > measure.factor and measure.low < last.factor else 0.0
