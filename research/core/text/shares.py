"""Shares, fractions, growth, ranks and scores: figures whose unit is in their wording."""

from __future__ import annotations

import re

from research import data
from research.core.text.measure import Measure
from research.core.text.numbers import (
    FRACTION_DENOMINATORS,
    HAN_DIGITS,
    HAN_NUMERALS,
    HAN_ONE_TO_NINE,
    NUMBER_WORDS,
    RANKS,
    parse_number,
)
from research.core.text.scanner import MeasureScanner
from research.core.text.units import ENGLISH_UNIT_PATTERN, SCALES, UNITS, alternation_pattern

_GROWTH_FACTORS = {"doubled": 2, "doubling": 2, "double": 2, "tripled": 3, "tripling": 3, "triple": 3, "quadrupled": 4, "twice": 2, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10}  # fmt: skip
_NUMERATOR = rf"(?:\d+(?:\.\d+)?|[{HAN_NUMERALS}]+(?:[点.][{HAN_DIGITS}\d]+)?)"
_SHARE_ZH_PATTERN = re.compile(
    rf"(?P<base>[{HAN_NUMERALS}]{{1,12}}|\d{{1,9}})分之(?P<top>{_NUMERATOR})(?P<and>半)?(?!\d)"
)
_TENTHS_PATTERN = re.compile(
    rf"(?P<whole>\d+(?:\.\d+)?|[{HAN_DIGITS}十])成(?P<more>半|[{HAN_ONE_TO_NINE}](?![{HAN_NUMERALS}]))?(?!功|立|员|本|为|交|都|果|长|人|分|绩|熟|语|年|就|千)"
)
_DISCOUNT_PATTERN = re.compile(
    rf"(?:对|(?P<said>(?<!\d)\d{{1,2}}(?:\.\d)?|(?<![{HAN_ONE_TO_NINE}])[{HAN_ONE_TO_NINE}]{{2}}"
    rf"|(?<![一波两])[{HAN_ONE_TO_NINE}]))折(?![叠扣率线合磨腾射返页屏画伞扇弯])"
)
_MEASURE_WORDS = "个家所人位名辆座件只条户份场"
_ONE_IN_MANY_PATTERN = re.compile(
    rf"每(?P<of>[{HAN_NUMERALS}\d]+)[{_MEASURE_WORDS}][^。；]{{0,12}}?有(?:近|约|大约)?(?P<one>[{HAN_NUMERALS}\d]+)[{_MEASURE_WORDS}]"
)
_WORDS_AFTER_SHARE = data.words("figures")["behind a share"]
_FRACTION_WORD = rf"(?P<part>{alternation_pattern(word for word in FRACTION_DENOMINATORS if word != 'fourth')})s?"
_LONG_SCALES = [word for word in SCALES if word.isascii() and len(word) > 4]  # as in "a quarter of a million"
_SHARE_EN_PATTERN = re.compile(
    rf"\b(?:(?P<top>an?|one|two|three|four|five|seven|\d)[\s-])?{_FRACTION_WORD}\b(?!\sof\san?\s(?:{alternation_pattern(_LONG_SCALES)})\b)(?=\s(?:of|the|{_WORDS_AFTER_SHARE}|all|as|its|their)\b|$|[,.;])"
    r"|(?<=by\s)(?P<by>half)\b(?!\san?\b)"
    rf"|\b(?P<one>{alternation_pattern(NUMBER_WORDS)}|\d+)\s(?:in|out\sof)\s(?:every\s)?(?P<of>{alternation_pattern(NUMBER_WORDS)}|\d+)\b"
    rf"|\bone\s[a-z]+\sin\s(?:every\s)?(?P<each>{alternation_pattern(NUMBER_WORDS)}|\d{{1,3}})\b(?=[.,;]|\s(?:was|were|is|are|has|had|to)\b)"
)
# A fraction of a unit: half an hour, three quarters of a mile.
_FRACTION_OF_UNIT_PATTERN = re.compile(
    rf"\b(?:(?P<top>an?|one|two|three|four)\s)?{_FRACTION_WORD}\s(?:of\s)?an?\s(?P<unit>{ENGLISH_UNIT_PATTERN})"
)
_FRACTION_OF_POINT_PATTERN = re.compile(r"\b(half|quarter)(?:[\s-]of)?(?:[\s-]an?)?[\s-](?:percentage[\s-])?points?\b")
_HALF_ZH_PATTERN = re.compile(r"一半|半数|过半|对半")
_INCREASE_ZH = r"(?:近|约)?(?:增长|增加|提高|提升|上升|上涨|扩大|增)了?(?:近|约|超过|逾)?"
_GROWTH_PATTERN = re.compile(
    rf"\b(?:{alternation_pattern(_GROWTH_FACTORS)})\b(?!\s(?:room|bed|decker|track))|翻了?(?P<times>[{HAN_DIGITS}\d])番|翻倍"
    rf"|{_INCREASE_ZH}(?P<fold>\d+(?:\.\d+)?|[{HAN_NUMERALS}]+)倍"
)
_ORDINAL_PATTERN = re.compile(
    rf"第(?P<h>[{HAN_NUMERALS}]+|\d+)(?!季度)(?P<unit>届)?|(?<![\d.,])(?P<n>\d+)(?:st|nd|rd|th)\b"
    rf"|(?P<z>[{HAN_NUMERALS}]{{1,4}})号(?!线)|\bno\.\s?(?P<no>\d+)\b"
)
_RANK_WORD_PATTERN = re.compile(
    rf"\b(?:{alternation_pattern(word for word in RANKS if word != 'first')})\b(?!\s(?:of|half))"
)
_WORDS_AFTER_SCORE = "win|victory|defeat|loss|draw|aggregate|against|over|at|on|in|to|thanks"
_SCORE_PATTERN = re.compile(
    r"(?<![\d.:-])(?P<a>\d{1,3})\s?(?:比|[:：](?=\d(?!\d)))\s?(?P<b>\d{1,3})(?![\d.:])"
    rf"|(?<![\d.:-])(?P<a2>\d{{1,3}})[-–](?P<b2>\d{{1,3}})(?=\s(?:{_WORDS_AFTER_SCORE})\b|[.,;]|$)"
)


def scan_shares(scanner: MeasureScanner) -> None:
    """Scan shares and fractions."""
    _scan_chinese_shares(scanner)
    _scan_english_shares(scanner)
    for match in _HALF_ZH_PATTERN.finditer(scanner.text):
        bound = "least" if match[0] == "过半" else ""
        scanner.add(_ratio_measure(scanner, match, 50.0, 5.0, "part", bound))


def _scan_chinese_shares(scanner: MeasureScanner) -> None:
    for match in _SHARE_ZH_PATTERN.finditer(scanner.text):
        written = match["base"]
        base = parse_number(f"一{written}" if written[0] in "十百千万" else written)
        top = parse_number(match["top"])
        if not base or top is None:
            continue
        top += 0.5 if match["and"] else 0.0
        hundredths = base in (100, 1000, 10_000)
        decimals = re.split("[点.]", match["top"])[1:]
        step = 10.0 ** -len("".join(decimals)) * 100 / base if hundredths else 5.0
        scanner.add(_ratio_measure(scanner, match, top * 100 / base, step, "%" if hundredths else "part"))
    for match in _TENTHS_PATTERN.finditer(scanner.text):
        whole = parse_number(match["whole"])
        if whole is None or whole > 10:
            continue
        more = 0.5 if match["more"] == "半" else (parse_number(match["more"] or "零") or 0) / 10
        scanner.add(_ratio_measure(scanner, match, 10 * (whole + more), 1.0 if match["more"] else 10.0, "成"))
    for match in _DISCOUNT_PATTERN.finditer(scanner.text):
        written = parse_number(match["said"]) if match["said"] else 5.0
        if written:
            value = written if written > 10 else written * 10
            scanner.add(Measure("discount", value, value, *match.span(), 1.0, 1.0, unit="折"))
    for match in _ONE_IN_MANY_PATTERN.finditer(scanner.text):
        count, total = parse_number(match["one"]), parse_number(match["of"])
        if count and total and count < total:
            scanner.add(_ratio_measure(scanner, match, 100 * count / total, 5.0, "part", "about"))


def _scan_english_shares(scanner: MeasureScanner) -> None:
    for match in _FRACTION_OF_POINT_PATTERN.finditer(scanner.text):
        value = 0.5 if match[1] == "half" else 0.25
        scanner.add(Measure("points", value, value, *match.span(), 0.25, 0.25))
    for match in _FRACTION_OF_UNIT_PATTERN.finditer(scanner.text):
        of_unit = UNITS.get(" ".join(re.split("[ -]", match["unit"])))
        fraction = _parse_numerator(match["top"]) / FRACTION_DENOMINATORS[match["part"]]
        if of_unit and fraction < 1:
            measure = Measure("", fraction, fraction, *match.span(), 0.25, 0.25, scanner.find_bound(*match.span()))
            scanner.add(measure.with_unit(of_unit[0]))
    for match in _SHARE_EN_PATTERN.finditer(scanner.text):
        share = _english_percentage(match)
        if share is not None and share <= 100:
            scanner.add(_ratio_measure(scanner, match, share, 5.0, "part"))


def _ratio_measure(
    scanner: MeasureScanner, match: re.Match[str], value: float, resolution: float, unit: str, bound: str = ""
) -> Measure:
    bound = bound or scanner.find_bound(*match.span())
    return Measure("ratio", value, value, *match.span(), resolution, resolution, bound, unit)


def _parse_numerator(text: str | None) -> float:
    return 1.0 if text in (None, "a", "an") else float(NUMBER_WORDS.get(text or "", 0) or text or 0)


def _english_percentage(match: re.Match[str]) -> float | None:
    """Return an English fraction in per cent: two-thirds, by half, one in five."""
    if match["by"]:
        return 50.0
    if part := match["part"]:
        return (
            100 * _parse_numerator(match["top"]) / FRACTION_DENOMINATORS[part]
            if match["top"] or part == "half"
            else None
        )
    total = _parse_numerator(match["of"] or match["each"])
    return 100 * _parse_numerator(match["one"]) / total if total else None


def scan_growth(scanner: MeasureScanner) -> None:
    """Scan growth factors: doubled, 翻番, 增长两倍."""
    for match in _GROWTH_PATTERN.finditer(scanner.text):
        if match["times"]:
            value = 2.0 ** (parse_number(match["times"]) or 1)
        elif match["fold"]:
            value = (parse_number(match["fold"]) or 0) + 1
        else:
            value = _GROWTH_FACTORS.get(match[0], 2)
        start = match.start("fold") if match["fold"] else match.start()
        scanner.add(Measure("times", value, value, start, match.end()))


def scan_ranks(scanner: MeasureScanner) -> None:
    """Scan ranks, editions and scores."""
    for match in _ORDINAL_PATTERN.finditer(scanner.text):
        text = match["h"] or match["n"] or match["no"] or match["z"]
        value = parse_number(text)
        if value is None or (value == 1 and not match["unit"]):
            continue
        kind = "edition" if match["unit"] else "ordinal"
        scanner.add(Measure(kind, value, value, *match.span()))
    for match in _SCORE_PATTERN.finditer(scanner.text):
        a, b = (int(match[x] or match[x + "2"]) for x in "ab")
        value = max(a, b) * 1000 + min(a, b)
        scanner.add(Measure("score", value, value, *match.span()))


def scan_rank_words(scanner: MeasureScanner) -> None:
    """Scan ranks in English words; runs after the figures, since "second" may be a unit of time."""
    for match in _RANK_WORD_PATTERN.finditer(scanner.text):
        value = RANKS[match[0].replace(" ", "-")]
        scanner.add(Measure("ordinal", value, value, *match.span()))
