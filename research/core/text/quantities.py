"""Finds figures, dates and times of day in Chinese and English text, in comparable units.

1.2万, 12,000 and "twelve thousand" are the same value; 100公里 and 62 miles are the same length within
the rounding of the claim; 2024年3月 and "March 2024" are the same date. What a figure describes is
not determined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from research import data
from research.core.text.arithmetic import is_derivable
from research.core.text.dates import complete_dates, scan_dates, scan_times
from research.core.text.decimals import pad_decimals
from research.core.text.folding import fold_text
from research.core.text.measure import Measure, are_compatible, dates_agree, dates_conflict, measures_agree
from research.core.text.numbers import HAN_NUMERALS, HAN_ONE_TO_NINE, Numeral, find_numerals, parse_number
from research.core.text.scanner import MeasureScanner, span_with_bound
from research.core.text.shares import scan_growth, scan_rank_words, scan_ranks, scan_shares
from research.core.text.units import UNITS, Unit, is_word_start, match_prefix_unit, match_unit

__all__ = ["Measure", "are_compatible", "dates_agree", "dates_conflict", "find_measures", "fold_text", "is_derivable", "measures_agree", "span_with_bound"]  # fmt: skip

_SLIGHTLY_MORE_PATTERN = re.compile(r"多|余|好几|几|来|\+|[\s-]?plus\b|-odd\b")
_HALF_BEFORE_UNIT_PATTERN = re.compile(r"个半(?=小时|钟头|月|世纪|星期|季度)")
_HALF_AFTER_UNIT_PATTERN = re.compile(r"半(?![年月天日小个径数价票夜])")
_SPOKEN_DECIMALS_PATTERN = re.compile(
    rf"([1-9]\d?|[{HAN_ONE_TO_NINE}]{{1,2}})(?![\d.{HAN_NUMERALS}点年月日号个块元米])"
)
_RANGE_JOINT_PATTERN = re.compile(r"\s?(?:-|–|—|~|～|至|到)\s?-?|\sto\s-?")
_RANGE_AND_PATTERN = re.compile(r"\s(?:and|to)\s-?")
_RANGE_START_PATTERN = re.compile(r"\b(?:between|from)\s-?$")
_WORD_AFTER_PATTERN = re.compile(r"\s[a-z]{3}")
_CHANGE_VERBS = r"\b(?:rose|fell|rise|fall|gr[eo]w\w*|increas\w*|decreas\w*|drop\w*|declin\w*|jump\w*|climb\w*|slip\w*|cut|rais\w*|lower\w*)"
_CHANGE_FROM_PATTERN = re.compile(rf"从|由|自|\bfrom\s?$|{_CHANGE_VERBS}[^.]{{0,12}}$")
_LONG_CHANGE_FROM_PATTERN = re.compile(rf"{_CHANGE_VERBS}[^.]{{0,40}}from\s$")
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_NAME_BEFORE_PATTERN = re.compile(r"[a-z@_]$|[a-z]-$")  # before a number that is part of a name: c919, covid-19
_NAME_AFTER_PATTERN = re.compile(r"-[a-z]*\d")  # behind such a number: 737-800
_BELOW_ZERO_PATTERN = re.compile(r"(?:零下|负|\bminus\s|(?<!\w)-)\s?(?:摄氏|华氏)?$|(?<![\w%°])[–—]$")
_PER_HOUR_PATTERN = re.compile(r"时速.{0,3}$|每小时.{0,2}$")
_FEET_INCHES_PATTERN = re.compile(
    r"(?<![\d.])(\d)(?:\s?['′]\s?(\d|1[01])(?:\s?(?:[\"″”]|'')|(?!['′\d])(?=\s(?:tall|high|in height)\b))"
    r"|\s?(?:ft|feet|foot)\.?\s?(\d|1[01])\s?in\b)"
)
_NOT_BEFORE_NUMBER = tuple("第初星其之万统唯周每某")  # 第三, 星期三, 其一: not a count of what follows
_CERTAIN_UNITS = frozenset(data.words("figures")["counted"].split("|"))
_APPROXIMATE_PREFIXES = tuple("近约逾超达过上")  # stand before a bare scale: 近百人, 逾百万
_NOT_AFTER_UNIT = {"台": "山", "里": "屯洋山塘河庄", "道": "口", "门": "峡", "国": "演志时", "层": "次", "对": "一", "分": "之钟", "年": "级"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _NumeralWithUnits:
    """A numeral with its possible units, before ranges are recognised."""

    numeral: Numeral
    units: tuple[Unit, ...]
    start: int
    end: int
    spelling: str = ""  # spelling of the unit
    has_prefix_unit: bool = False
    more_word: str = ""
    has_half: bool = False

    @property
    def kind(self) -> str:
        return self.units[0].kind if self.units else ""


def _scan_figures(scanner: MeasureScanner) -> None:
    """Scan numbers with their units; the two ends of a range are one figure."""
    for match in _FEET_INCHES_PATTERN.finditer(scanner.text):
        value = (int(match[1]) * 12 + int(match[2] or match[3])) * 0.0254
        scanner.add(Measure("length", value, value, *match.span(), 0.0254, 0.0254, unit="joint", unit_factor=0.0254))
    attached = [
        _attach_units(scanner, numeral)
        for numeral in find_numerals(scanner.text)
        if scanner.is_free(numeral.start, numeral.end)
    ]
    numerals = [current for current in attached if current]
    index = 0
    while index < len(numerals):
        current = numerals[index]
        range_measure = _make_range(scanner, current, numerals[index + 1]) if index + 1 < len(numerals) else None
        if range_measure:
            scanner.add(range_measure)
        elif _is_number(scanner.text, current):
            scanner.add(_make_measure(scanner, current))
        index += 2 if range_measure else 1


def _attach_units(scanner: MeasureScanner, numeral: Numeral) -> _NumeralWithUnits | None:
    """Return a numeral with its unit; None if it is part of a name: 5a, c919, 737-800."""
    text = scanner.text
    start, prefix_units = match_prefix_unit(text, numeral.start)
    more_match = _SLIGHTLY_MORE_PATTERN.match(text, numeral.end)
    end = more_match.end() if more_match else numeral.end
    half = _HALF_BEFORE_UNIT_PATTERN.match(text, end)
    spelling, after = match_unit(text, half.end() if half else end)
    has_hyphen = text[end : end + 1] == "-"
    units = UNITS[spelling] if spelling and _is_unit(numeral, spelling, has_hyphen) else ()
    if units and numeral.style == "digits" and units[0].kind in ("count", "ratio"):
        units = () if is_word_start(text, after, spelling) else units
    if units:
        end = after
        half = half or _HALF_AFTER_UNIT_PATTERN.match(text, end)
        end = max(end, half.end() if half else 0)
    units = prefix_units or units
    if not prefix_units and text[numeral.start].isdecimal() and _is_part_of_name(text, numeral, units):
        return None
    return _NumeralWithUnits(numeral, units, start, end, spelling, bool(prefix_units), more_match[0] if more_match else "", bool(half and units))  # fmt: skip


def _is_unit(numeral: Numeral, spelling: str, has_hyphen: bool) -> bool:
    """Return False for apparent units: 5g (a network), 3点 (a time), "57 millisecond pulsars"."""
    if f"{spelling}s" in UNITS and len(spelling) > 3 and numeral.low > 1:
        return has_hyphen
    return numeral.low > {"g": 9, "点": 24}.get(spelling, -math.inf)


def _is_part_of_name(text: str, numeral: Numeral, units: tuple[Unit, ...]) -> bool:
    before = text[max(0, numeral.start - 2) : numeral.start]
    return _NAME_BEFORE_PATTERN.search(before) is not None or (
        not units and numeral.scale == 1 and text[numeral.end : numeral.end + 1] in _LETTERS
    )


def _is_number(text: str, candidate: _NumeralWithUnits) -> bool:
    """Return whether a numeral is meant as a number. A numeral in words needs a unit, or has to be long."""
    numeral = candidate.numeral
    numeral_text = text[numeral.start : numeral.end]
    if numeral.style == "words":
        return numeral_text != "one" or bool(candidate.units)
    if numeral.style != "han" or numeral_text[0].isdecimal():
        return bool(candidate.units) or numeral.scale > 1 or not _NAME_AFTER_PATTERN.match(text, candidate.end)
    before, following = text[numeral.start - 1 : numeral.start], text[candidate.end : candidate.end + 1]
    if before in _NOT_BEFORE_NUMBER or (numeral_text == "一" and before in tuple("这那上下同")):
        return False
    if not candidate.units:
        return _is_number_without_unit(candidate, numeral_text, before, following)
    if following and following in _NOT_AFTER_UNIT.get(candidate.spelling, ""):
        return False
    if candidate.spelling == "角":
        return before in ("元", "块")
    if numeral_text == "半":
        return candidate.spelling in _CERTAIN_UNITS
    if numeral_text == "一":
        return candidate.has_half or (
            candidate.spelling in _CERTAIN_UNITS and candidate.spelling not in ("天", "年", "级", "人", "元")
        )
    if numeral_text == "十" and candidate.spelling == "分":
        return False  # 十分 means "very"
    return numeral_text not in ("零", "〇") and (
        not set(numeral_text) <= set("百千") or before in _APPROXIMATE_PREFIXES or bool(candidate.more_word)
    )


def _is_number_without_unit(candidate: _NumeralWithUnits, numeral_text: str, before: str, following: str) -> bool:
    """Return whether a Chinese numeral without a unit is a number rather than part of a word."""
    if "几" in numeral_text:  # 十几, 几十 are never part of a word
        return True
    scales, numeral = set(numeral_text), candidate.numeral
    if numeral.low != numeral.high and not scales & set("百千万亿"):
        return False
    if scales <= set("十百千万亿"):
        return before in _APPROXIMATE_PREFIXES or candidate.more_word in ("多", "余")  # 百余
    is_separate = not ("\u4e00" <= following <= "\u9fff")
    is_long = len(numeral_text) > (1 if scales & set("百千万亿") else 2) and bool(scales & set("十百千"))
    return numeral.scale >= 1e4 or (is_separate and is_long)


def _make_measure(scanner: MeasureScanner, candidate: _NumeralWithUnits) -> Measure:
    numeral, span = candidate.numeral, (candidate.start, candidate.end)
    more_bound = "about" if candidate.more_word == "来" else "some" if candidate.more_word else ""
    bound = more_bound or numeral.bound or scanner.find_bound(*span)
    low, high, step = numeral.low, numeral.high, numeral.resolution
    if candidate.has_half:
        low, high, step = low + 0.5, high + 0.5, 0.5
    elif (tail := _SPOKEN_DECIMALS_PATTERN.match(scanner.text, candidate.end)) and candidate.spelling in ("米", "块"):
        step = 10.0 ** -len(tail[1])  # 一米八, 三块五
        low = high = low + (parse_number(tail[1]) or 0) * step
        span = (candidate.start, tail.end())
    digit = step if candidate.has_half or step < 1 else numeral.coarse_resolution
    if numeral.style == "part" and not candidate.units:
        return Measure("ratio", 100 * low, 100 * low, *span, 5, 5, bound, "part")
    bare = Measure("", low, high, *span, step, digit, bound, is_small_word=_is_small_word(candidate))
    if not candidate.units:
        return bare
    unit, *others = _order_units(scanner.text, candidate)
    if unit.kind in ("temperature", "fahrenheit") and _is_below_zero(scanner.text, candidate):
        bare = replace(bare, low=-high, high=-low)
    return replace(bare.with_unit(unit), other_units=tuple(others))


def _is_small_word(candidate: _NumeralWithUnits) -> bool:
    """Return whether a number is a small one in words, which may be a figure of speech."""
    if candidate.numeral.style == "words":
        return candidate.numeral.low <= 10 and candidate.kind in ("", "duration", "count", "people")
    return candidate.numeral.style == "han" and candidate.numeral.low <= 4 and candidate.kind in ("count", "people")


def _order_units(text: str, candidate: _NumeralWithUnits) -> tuple[Unit, ...]:
    """Return the units of a spelling, with the one that the context suggests first."""
    unit = candidate.units[0]
    if unit.kind == "length" and _PER_HOUR_PATTERN.search(text, max(0, candidate.start - 6), candidate.start):
        return (Unit("speed", f"{unit.name}/h", unit.factor / 1000),)
    if unit.name == "pound" and candidate.numeral.scale > 1:  # millions of pounds are money
        return tuple(sorted(candidate.units, key=lambda other: other.kind[:5] != "money"))
    return candidate.units


def _is_below_zero(text: str, candidate: _NumeralWithUnits) -> bool:
    return _BELOW_ZERO_PATTERN.search(text, max(0, candidate.start - 6), candidate.start) is not None


def _make_range(scanner: MeasureScanner, first: _NumeralWithUnits, second: _NumeralWithUnits) -> Measure | None:
    """Return the range between two figures, which may share a unit or scale; None for no range."""
    text, first_numeral, last_numeral = scanner.text, first.numeral, second.numeral
    range_start = _RANGE_START_PATTERN.search(text, max(0, first.start - 9), first.start)
    joint = _RANGE_JOINT_PATTERN.fullmatch(text, first.end, second.start) or (
        range_start and _RANGE_AND_PATTERN.fullmatch(text, first.end, second.start)
    )
    if not joint or "part" in (first_numeral.style, last_numeral.style):
        return None
    is_explicit = (
        second.units
        or first.has_prefix_unit
        or (last_numeral.style != "han" and (last_numeral.scale > 1 or _WORD_AFTER_PATTERN.match(text, second.end)))
    )
    is_hyphenated = text[first.start - 1 : first.start] == "-" and not text[first.start - 2 : first.start - 1].isspace()
    if not is_explicit or (is_hyphenated and first.start > 1) or re.match(r"-\d", text[second.end : second.end + 2]):
        return None
    if _is_change(text, first.start, range_start[0] if range_start else ""):
        return None
    if first.units and second.units and first.kind != second.kind:
        return None
    unit_source = first if first.has_prefix_unit or not second.units else second
    low, high = first_numeral.low, last_numeral.high
    if first_numeral.scale == 1 and (first.has_prefix_unit or not first.units):
        low *= next((factor for factor in _range_scales(last_numeral.scale) if low * factor < high), 1.0)
    bare = Measure("", low, high, first.start, second.end)
    if unit_source.units:
        unit, *others = _order_units(text, unit_source)
        if unit.kind in ("temperature", "fahrenheit"):
            low, high = (
                (-low if _is_below_zero(text, first) else low),
                (-high if _is_below_zero(text, second) else high),
            )
        bare = replace(replace(bare, low=low, high=high).with_unit(unit), other_units=tuple(others))
    return bare if bare.low < bare.high else None


def _is_change(text: str, start: int, before: str) -> bool:
    """Return whether two figures are the start and end of a change: rose from 5 to 7."""
    if before.startswith("between") or not _CHANGE_FROM_PATTERN.search(text, max(0, start - 12), start):
        return False
    return not before or _LONG_CHANGE_FROM_PATTERN.search(text, max(0, start - 60), start) is not None


def _range_scales(scale: float) -> Iterator[float]:
    """Yield scales for the first end of a range if only the last has one: 3至5万, 120至300万."""
    yield scale
    if scale >= 1e4:
        yield 1e8 if scale >= 1e8 else 1e4


_SCAN_STEPS: tuple[Callable[[MeasureScanner], None], ...] = (
    scan_dates,
    scan_times,
    scan_shares,
    scan_growth,
    scan_ranks,
    _scan_figures,
    scan_rank_words,
)


def find_measures(text: str) -> tuple[Measure, ...]:
    """Return the figures and dates of a text in order; offsets are in characters."""
    return _find_measures_folded(fold_text(pad_decimals(text)))


@lru_cache(8_192)
def _find_measures_folded(folded: str) -> tuple[Measure, ...]:
    scanner = MeasureScanner(folded)
    for scan in _SCAN_STEPS:
        scan(scanner)
    joined = _join_compound_measures(sorted(scanner.measures, key=lambda m: m.start), scanner.text)
    return tuple(complete_dates(joined))


_DURATION_JOINT_PATTERN = re.compile(r"\s?(?:,\s|and\s|零|又)?")
_SIZE_JOINT_PATTERN = re.compile(r"\s?(?:and\s)?")
_JOINABLE_KINDS = ("length", "mass")


def _join_compound_measures(measures: list[Measure], text: str) -> list[Measure]:
    """Join compound measures: 1小时30分钟, "1 minute 15 seconds" and "5 ft 11"."""
    joined: list[Measure] = []
    for measure in measures:
        previous = joined[-1] if joined else None
        factor = _subunit_factor(measure, previous) if previous else 0.0
        if previous and factor:
            gap = _DURATION_JOINT_PATTERN if previous.kind == "duration" else _SIZE_JOINT_PATTERN
            if gap.fullmatch(text, previous.end, measure.start):
                value, step = previous.low + measure.low * factor, measure.resolution * factor
                joined[-1] = replace(previous, low=value, high=value, end=measure.end, resolution=step, coarse_resolution=step, unit="joint")  # fmt: skip
                continue
        joined.append(measure)
    return joined


def _subunit_factor(measure: Measure, previous: Measure) -> float:
    """Return the factor from the unit of a figure to the base unit of the previous figure that it
    continues: minutes after hours (also 39分), inches after feet (also a bare 11). Return 0 if it does
    not continue the previous figure."""
    if previous.low != previous.high or measure.low != measure.high:
        return 0.0
    if measure.kind == "count" and previous.kind == "duration":
        return 60.0 if measure.unit == "分" and previous.unit_factor == 3600 and measure.low < 60 else 0.0
    if measure.kind == "" and previous.unit == "foot":
        return 0.0254 if measure.low < 12 and (measure.end - measure.start < 3 or measure.is_small_word) else 0.0
    if measure.kind != previous.kind or not (
        previous.kind in ("duration", *_JOINABLE_KINDS) or previous.family == "money"
    ):
        return 0.0
    return 1.0 if previous.unit_factor > measure.unit_factor and measure.low < previous.unit_factor else 0.0
