"""Dates, times of day and calendar periods in Chinese and English.

Reads explicit dates: no "yesterday", no lunar calendar, no time zones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from research import data
from research.core.text.measure import DateParts, Measure
from research.core.text.numbers import (
    HAN_DIGITS,
    HAN_NUMERALS,
    HAN_ONE_TO_NINE,
    NUMBER_WORDS,
    RANKS,
    parse_integer,
    parse_number,
)
from research.core.text.scanner import MeasureScanner
from research.core.text.units import ENGLISH_UNIT_PATTERN, alternation_pattern, is_word_start, match_unit

_MONTH_NAMES = "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|november nov|december dec"
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split("|"), 1) for name in names.split()}
WEEKDAYS = "(?:周|星期|礼拜)[一二三四五六日天]"
_WEEKDAY_PREFIXES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ERA_OFFSETS = {"民国": 1911, "令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}

_HAN_DIGIT_OR_TEN = f"[{HAN_ONE_TO_NINE}十]"
_ORDINAL_SUFFIX = r"(?:st|nd|rd|th)?"
_MONTH_NAME = rf"(?P<m>{alternation_pattern(MONTHS)})\b"
_YEAR = r"1[0-9]\d\d|20\d\d|2100"
_RANGE_JOINT = r"\s?(?:-|–|—|~|至|到|to)\s?"

_ISO_PATTERN = re.compile(r"(?<![\d.])(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})(?!\d|[./-]\d)")
# Day and month in either order: 3/4/2026 is ambiguous, 24/11/2026 is not.
_AMBIGUOUS_DATE_PATTERN = re.compile(
    r"(?<![\d./-])(?P<a>\d{1,2})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<y>(?:1[0-9]|20)\d\d)(?!\d|[./-]\d)"
    r"|(?<![\d./-])(?P<a2>\d{1,2})/(?P<b2>\d{1,2})/(?P<y2>\d\d)(?![\d/]|\.\d)"
)
_NOT_AFTER_YEAR = "级|代|前|后|来|间|以上|左右|的?历史|多|之久|有余|余|期|寿|龄"
_ZH_DATE_PATTERN = re.compile(
    rf"(?P<bc>公元前|前)?(?<![\d.])(?P<y>\d{{3,4}}|[{HAN_DIGITS}]{{4}}|(?<=公元前)\d{{1,2}})\s?年(?!{_NOT_AFTER_YEAR})"
    rf"(?:\s?(?P<m>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,2}})\s?月(?:份)?(?:\s?(?P<d>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,3}})\s?[日号])?)?"
    rf"|(?P<era>{alternation_pattern(_ERA_OFFSETS)})(?P<e>元|\d{{1,3}}|[{HAN_NUMERALS}]{{1,4}})\s?年(?:\s?(?P<m3>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,2}})\s?月(?:\s?(?P<d4>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,3}})\s?[日号])?)?"
    rf"|(?<![\d.第])(?P<m2>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,2}})\s?月(?:份|初|中旬|底|上旬|下旬|末)?(?:\s?(?P<d2>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,3}})\s?[日号])?"
    rf"|(?<![\d.{HAN_ONE_TO_NINE}十])(?P<d3>\d{{1,2}})[日号](?![线馆楼门院厅店口航元圆])"
)
_LUNAR_PATTERN = re.compile(
    rf"(?:农历|阴历|旧历)(?:[^\d\s]年)?(?:正|腊|冬|闰?{_HAN_DIGIT_OR_TEN}{{1,2}}|\d{{1,2}})月(?:初|廿|卅)?(?:{_HAN_DIGIT_OR_TEN}{{1,3}}|\d{{1,2}})?日?"
)
_ZH_MONTH_RANGE_PATTERN = re.compile(
    rf"(?<![\d.])(?:(?P<y>\d{{4}})年)?(?P<a>\d{{1,2}}){_RANGE_JOINT}(?P<b>\d{{1,2}})月(?:份)?(?!\d)"
)
_EN_DATE_PATTERN = re.compile(
    rf"\b(?:(?P<d>\d{{1,2}}){_ORDINAL_SUFFIX}[\s-](?:of\s)?)?{_MONTH_NAME}\.?"
    rf"(?(d)|(?:\s(?P<d2>\d{{1,2}}){_ORDINAL_SUFFIX}(?![\d:]|,\d{{3}}|\.\d|\s?%|\s{ENGLISH_UNIT_PATTERN}))?)"
    rf"(?:(?:,|\sof|-)?\s?(?P<y>\d{{4}})(?!\d|,\d|\.\d|\s{ENGLISH_UNIT_PATTERN}|\speople\b))?"
)
_EN_DAY_RANGE_PATTERN = re.compile(
    rf"\b(?:{_MONTH_NAME}\s(?P<a>\d{{1,2}}){_ORDINAL_SUFFIX}{_RANGE_JOINT}(?P<b>\d{{1,2}}){_ORDINAL_SUFFIX}(?:,?\s(?P<y>\d{{4}}))?\b"
    rf"|(?P<a2>\d{{1,2}}){_ORDINAL_SUFFIX}{_RANGE_JOINT}(?P<b2>\d{{1,2}}){_ORDINAL_SUFFIX}\s{_MONTH_NAME.replace('<m>', '<m2>')}(?:,?\s(?P<y2>\d{{4}}))?\b)"
)
_WORDS_AFTER_YEAR = data.words("figures")["behind a year"]
_EN_YEAR_PATTERN = re.compile(
    rf"(?<![\d.,$¥€£#:/a-z-])(?P<y>{_YEAR}|\d{{1,4}}(?=\s?b\.?c))(?P<bc>\s?(?:b\.c\.(?:e\.)?|bce?\b))?(?:\s?[-–]\s?(?P<to>(?:1[0-9]|20)\d\d|\d\d))?"
    rf"(?![\d:%]|[.,]\d|[a-z]|\s?[°%]|\s(?!(?:{_WORDS_AFTER_YEAR})\b)[a-z]|\s?[万亿千百年多余])"
    r"|\b(?:in|since|by|until|from|of|for|during|before|after|to|and|between|through|year)\s(?:ad\s)?"
    r"(?P<y2>(?<=ad\s)\d{3}|\d{1,3}(?=\sbce?\b)|1[0-9]\d\d|20\d\d)(?P<bc2>\s(?:bce|bc)\b)?"
    rf"(?!\d|,\d|\.\d|\s?[%°$]|\s?(?:million|billion|thousand|[万亿千百])|\s{ENGLISH_UNIT_PATTERN})(?=\s[a-z]|\W|$)"
)
_DATE_PREPOSITION_PATTERN = re.compile(
    r"\b(in|since|by|until|from|to|of|last|this|early|late|mid|and|through|between)[ -]$"
)
_UNAMBIGUOUS_MONTH_PATTERN = re.compile(
    rf"\b(?:{alternation_pattern(name for name in MONTHS if len(name) > 3 and name not in ('march', 'sept'))})\b"
)
_DECADE_PATTERN = re.compile(
    rf"\b(?:the\s)?(?P<c>1[0-9]|20)(?P<t>\d)0s\b|(?:(?P<n>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,3}})世纪)?(?P<ten>\d0|[{HAN_ONE_TO_NINE}]十|〇〇)年代"
)
_CENTURY_PATTERN = re.compile(
    rf"\b(?P<n>\d{{1,2}})(?:st|nd|rd|th)[\s-]century\b|\b(?P<w>{alternation_pattern(RANKS)})[\s-]century\b"
    rf"|(?P<z>公元前)?(?P<h>\d{{1,2}}|{_HAN_DIGIT_OR_TEN}{{1,3}})世纪"
)
PART_OF_DAY = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜间|晚间|晚|早"
_AFTERNOON_WORDS = frozenset(("下午", "傍晚", "晚上", "夜间", "晚间", "晚"))
_AM_PM = r"[ap]\.?m\b\.?"
_CLOCK_PATTERN = re.compile(
    rf"(?P<when>{PART_OF_DAY})?\s?(?<![\d.:])(?P<h>\d{{1,2}})"
    r"(?:\s?[:：](?P<m>[0-5]\d)(?::[0-5]\d)?(?!\d)|[点时](?!间)(?:(?P<m2>[0-5]?\d)分(?!钟)?|(?P<half>半)|(?P<past>[一三])刻|整)?)"
    rf"\s?(?P<ap>{_AM_PM})?"
    rf"|(?<![\d.:])\b(?P<h3>\d{{1,2}})(?:\.(?P<m3>[0-5]\d))?\s?(?P<ap3>{_AM_PM})|\b(?P<noon>noon|midnight|正午)\b"
    rf"|(?P<when4>{PART_OF_DAY})(?P<h4>[{HAN_DIGITS}十]{{1,3}})点(?:(?P<half4>半)|(?P<past4>[一三])刻|(?P<m4>{_HAN_DIGIT_OR_TEN}{{1,3}})分)?"
)
_WEEKDAY_PATTERN = re.compile(
    r"(?:周|星期|礼拜)([一二三四五六日天])(?:[至到-](?:周|星期|礼拜)?([一二三四五六日天])(?!月))?|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b"
)
_FIRST_MONTHS_PATTERN = re.compile(
    rf"(?<!提)前(?P<h>[{HAN_DIGITS}十\d]{{1,3}})个?(?P<q>季度|月)(?!份)"
    rf"|\bfirst (?P<w>{alternation_pattern(NUMBER_WORDS)}) (?P<e>quarter|month)s\b"
)
_QUARTER_PATTERN = re.compile(r"(?<!上)第?([一二三四1-4])季度|\bq([1-4])\b|\b(first|second|third|fourth)[ -]quarter\b")
_HALF_YEAR_PATTERN = re.compile(r"(上|下)半年|\bh([12])\b|\b(first|second) half\b")


def _find_with_cues(pattern: re.Pattern[str], text: str, *cues: str) -> Iterator[re.Match[str]]:
    """Find the matches of a pattern, skipping the search if none of its cue substrings occurs."""
    return pattern.finditer(text) if any(cue in text for cue in cues) else iter(())


def scan_dates(scanner: MeasureScanner) -> None:
    """Scan days, months, years, decades and centuries."""
    for match in _find_with_cues(_LUNAR_PATTERN, scanner.text, "历"):
        scanner.skip(*match.span())
    for match in _find_with_cues(_ISO_PATTERN, scanner.text, "-", "/", "."):
        scanner.add(_date_measure(match, parse_integer(match["y"]), match["m"], match["d"]))
    for match in _find_with_cues(_AMBIGUOUS_DATE_PATTERN, scanner.text, "-", "/", "."):
        scanner.add(_ambiguous_date_measure(match))
    _scan_long_periods(scanner)
    _scan_chinese_dates(scanner)
    _scan_english_dates(scanner)


def _scan_long_periods(scanner: MeasureScanner) -> None:
    for match in _find_with_cues(_DECADE_PATTERN, scanner.text, "0s", "年代"):
        century = int(match["c"]) if match["c"] else (parse_integer(match["n"]) or 20) - 1
        ten = match["t"] or match["ten"].replace("〇", "0")
        value = century * 100 + (int(ten) * 10 if match["t"] else parse_integer(ten) or 0)
        scanner.add(Measure("decade", value, value, *match.span()))
    for match in _find_with_cues(_CENTURY_PATTERN, scanner.text, "century", "世纪"):
        value = parse_integer(match["n"] or match["h"]) or RANKS.get(match["w"] or "", 0)
        scanner.add(Measure("century", value, value, *match.span()))


def _scan_chinese_dates(scanner: MeasureScanner) -> None:
    for match in _find_with_cues(_ZH_MONTH_RANGE_PATTERN, scanner.text, "月"):
        year = parse_integer(match["y"])
        scanner.add(_date_measure(match, year, match["a"]), _date_measure(match, year, match["b"]))
    for match in _find_with_cues(_ZH_DATE_PATTERN, scanner.text, "年", "月", "日", "号"):
        month, day = match["m"] or match["m2"] or match["m3"], match["d"] or match["d2"] or match["d3"] or match["d4"]
        scanner.add(_date_measure(match, _parse_chinese_year(match), month, day))


def _scan_english_dates(scanner: MeasureScanner) -> None:
    for match in _EN_DAY_RANGE_PATTERN.finditer(scanner.text):
        month, year = MONTHS[match["m"] or match["m2"]], parse_integer(match["y"] or match["y2"])
        ends = (match["a"] or match["a2"], match["b"] or match["b2"])
        scanner.add(*(_date_measure(match, year, str(month), day) for day in ends))
    for match in _EN_DATE_PATTERN.finditer(scanner.text):
        day_text, year = match["d"] or match["d2"], parse_integer(match["y"])
        if day_text or year or _is_month_name(match):
            scanner.add(_date_measure(match, year, str(MONTHS[match["m"]]), day_text))
    for match in _EN_YEAR_PATTERN.finditer(scanner.text):
        if _has_chinese_unit(scanner.text, match.end()):
            continue
        scanner.add(*_year_measures(match))


def _date_measure(
    match: re.Match[str], year: int | None, month: str | None = None, day: str | None = None
) -> Measure | None:
    parts = (year, parse_integer(month), parse_integer(day))
    unread = (month and not parts[1]) or (day and not parts[2])
    return Measure("date", 0, 0, *match.span(), date_parts=parts) if not unread and _is_real_date(parts) else None


def _is_real_date(date_parts: DateParts) -> bool:
    """Return whether the month is at most 12 and the day at most 31."""
    _, month, day = date_parts
    return any(date_parts) and 1 <= (month or 1) <= 12 and 1 <= (day or 1) <= 31


def _parse_chinese_year(match: re.Match[str]) -> int | None:
    if era := match["era"]:
        era_year = 1 if match["e"] == "元" else parse_integer(match["e"]) or 0
        return _ERA_OFFSETS[era] + era_year
    year = parse_integer(match["y"])
    return -year if year and match["bc"] == "公元前" else year


def _ambiguous_date_measure(match: re.Match[str]) -> Measure | None:
    """Return a date whose day and month may be in either order."""
    first, second = int(match["a"] or match["a2"]), int(match["b"] or match["b2"])
    year = int(match["y"] or f"20{match['y2']}")
    days = [parts for parts in ((year, first, second), (year, second, first)) if _is_real_date(parts)]
    if not days:
        return None
    swapped = days[1] if len(days) > 1 and days[0] != days[1] else None
    return Measure("date", 0, 0, *match.span(), date_parts=days[0], swapped_date_parts=swapped)


def _has_chinese_unit(text: str, end: int) -> bool:
    """Return whether a Chinese unit follows a "year": 2000点, 1800户; not 2022届, 2023部署."""
    spelling, after = match_unit(text, end)
    is_han = "\u4e00" <= spelling[:1] <= "\u9fff" and spelling not in ("届", "级", "款", "期", "年")
    return is_han and not is_word_start(text, after, spelling)


def _year_measures(match: re.Match[str]) -> Iterator[Measure]:
    year_text, bc = match["y"] or match["y2"], match["bc"] or match["bc2"]
    span = match.start("y" if match["y"] else "y2"), match.end()
    yield Measure("date", 0, 0, *span, date_parts=(-int(year_text) if bc else int(year_text), None, None))
    if end_text := match["to"]:
        end_year = int(end_text if len(end_text) == 4 else year_text[:2] + end_text)
        yield Measure("date", 0, 0, *span, date_parts=(end_year, None, None))


def _is_month_name(match: re.Match[str]) -> bool:
    """Return whether a month's name without a day or year is one, not the verb "may" or "march"."""
    name = match["m"]
    if name in ("may", "march"):
        before = _DATE_PREPOSITION_PATTERN.search(match.string, max(0, match.start() - 9), match.start())
        joined = before is not None and before[1] in ("and", "to", "through")
        return before is not None and (not joined or _UNAMBIGUOUS_MONTH_PATTERN.search(match.string) is not None)
    return len(name) > 3 and name != "sept"


def scan_times(scanner: MeasureScanner) -> None:
    """Scan times of day, weekdays, quarters and half-years."""
    for match in _find_with_cues(_CLOCK_PATTERN, scanner.text, ":", "：", "点", "时", "m", "noon", "正午", "midnight"):
        scanner.add(_clock_measure(match))
    for match in _find_with_cues(_WEEKDAY_PATTERN, scanner.text, "周", "星期", "礼拜", "day"):
        days = (
            [_WEEKDAY_PREFIXES.index(match[3][:3])]
            if match[3]
            else [min("一二三四五六日天".index(day), 6) for day in match[1] + (match[2] or "")]
        )
        scanner.add(*(Measure("weekday", day, day, *match.span()) for day in days))
    for match in _find_with_cues(_FIRST_MONTHS_PATTERN, scanner.text, "前", "first"):
        count = parse_number(match["h"]) if match["h"] else float(NUMBER_WORDS[match["w"]])
        months = (count or 0) * (3 if "季度" in match[0] or match["e"] == "quarter" else 1)
        scanner.add(Measure("until", months, months, *match.span()))
    for match in _find_with_cues(_QUARTER_PATTERN, scanner.text, "季度", "q", "quarter"):
        text = next(filter(None, match.groups()))
        value = RANKS.get(text) or parse_integer(text) or 0
        scanner.add(Measure("quarter", value, value, *match.span()))
    for match in _find_with_cues(_HALF_YEAR_PATTERN, scanner.text, "半年", "half", "h"):
        value = 1 + ((match[1] or match[2] or match[3]) in ("下", "2", "second"))
        scanner.add(Measure("half", value, value, *match.span()))


_NOT_CLOCK_PATTERN = re.compile(r"\d*时(?:速|代|期|隔)")


def _clock_measure(match: re.Match[str]) -> Measure | None:
    """Return a time of day in minutes; the unit is "?" if it may be before or after noon."""
    if match["noon"]:
        value = 0 if match["noon"] == "midnight" else 720
        return Measure("clock", value, value, *match.span())
    hour = parse_integer(match["h"] or match["h3"] or match["h4"]) or 0
    half, quarters = match["half"] or match["half4"], match["past"] or match["past4"]
    minute_text = match["m"] or match["m2"] or match["m3"] or match["m4"]
    minute = parse_integer(minute_text) or 0
    if half or quarters:
        minute = 30 if half else 15 if quarters == "一" else 45
    half_day = (match["ap"] or match["ap3"] or "")[:1]
    part_of_day = match["when"] or match["when4"] or ""
    if hour > 24 or (match["h"] and not match["m"] and _NOT_CLOCK_PATTERN.match(match.string, match.start("h"))):
        return None
    if (half_day == "p" or part_of_day in _AFTERNOON_WORDS) and 0 < hour < 12:
        hour += 12
    if half_day == "a" and hour > 12:
        return None
    if half_day == "a" and hour == 12:
        hour = 0
    value = hour * 60 + minute
    is_certain = half_day or part_of_day or hour > 12 or (match["m"] and len(match["h"]) == 2)
    return Measure("clock", value, value, *match.span(), unit="" if is_certain else "?")


def complete_dates(measures: list[Measure]) -> Iterator[Measure]:
    """Yield the measures with incomplete dates completed: a day without a month, or a month without
    a year, takes it from an adjacent date before it: 3月1日至15日, 2024年3月至5月, March to May 2024."""
    for index, measure in enumerate(measures):
        previous = measures[index - 1] if index else None
        y, m, d = measure.date_parts
        if measure.is_date and previous and previous.is_date and measure.start - previous.end <= 5:
            if d and not m:
                m = previous.date_parts[1]
            if not y:
                y = previous.date_parts[0]
            measures[index] = measure = replace(measure, date_parts=(y, m, d))
        yield measure
