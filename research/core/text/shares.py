"""Shares, fractions, growth, ranks and scores: figures whose unit is in their wording."""

from __future__ import annotations

import re

from research import data
from research.core.text.measure import Measure
from research.core.text.numbers import DIGIT, NUMERAL, ONE, PARTS, RANKS, SPOKEN, number
from research.core.text.scanner import Scanner
from research.core.text.units import ENGLISH, SCALES, UNITS, either

_GROWTH = {"doubled": 2, "doubling": 2, "double": 2, "tripled": 3, "tripling": 3, "triple": 3, "quadrupled": 4, "twice": 2, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10}  # fmt: skip
_TOP = rf"(?:\d+(?:\.\d+)?|[{NUMERAL}]+(?:[点.][{DIGIT}\d]+)?)"
_SHARE_ZH = re.compile(
    rf"(?P<base>[{NUMERAL}]{{1,12}}|\d{{1,9}})分之(?P<top>{_TOP})(?P<and>半)?(?!\d)"
)
_TENTHS = re.compile(
    rf"(?P<whole>\d+(?:\.\d+)?|[{DIGIT}十])成(?P<more>半|[{ONE}](?![{NUMERAL}]))?(?!功|立|员|本|为|交|都|果|长|人|分|绩|熟|语|年|就|千)"
)
_DISCOUNT = re.compile(
    rf"(?:对|(?P<said>(?<!\d)\d{{1,2}}(?:\.\d)?|(?<![{ONE}])[{ONE}]{{2}}"
    rf"|(?<![一波两])[{ONE}]))折(?![叠扣率线合磨腾射返页屏画伞扇弯])"
)
_WHO = "个家所人位名辆座件只条户份场"
_EVERY = re.compile(
    rf"每(?P<of>[{NUMERAL}\d]+)[{_WHO}][^。；]{{0,12}}?有(?:近|约|大约)?(?P<one>[{NUMERAL}\d]+)[{_WHO}]"
)
_OF = data.words("figures")["behind a share"]
_PART = rf"(?P<part>{either(word for word in PARTS if word != 'fourth')})s?"
_SCALED = [word for word in SCALES if word.isascii() and len(word) > 4]  # a quarter of a million
_SHARE_EN = re.compile(
    rf"\b(?:(?P<top>an?|one|two|three|four|five|seven|\d)[\s-])?{_PART}\b(?!\sof\san?\s(?:{either(_SCALED)})\b)(?=\s(?:of|the|{_OF}|all|as|its|their)\b|$|[,.;])"
    r"|(?<=by\s)(?P<by>half)\b(?!\san?\b)"
    rf"|\b(?P<one>{either(SPOKEN)}|\d+)\s(?:in|out\sof)\s(?:every\s)?(?P<of>{either(SPOKEN)}|\d+)\b"
    rf"|\bone\s[a-z]+\sin\s(?:every\s)?(?P<each>{either(SPOKEN)}|\d{{1,3}})\b(?=[.,;]|\s(?:was|were|is|are|has|had|to)\b)"
)
# Half an hour, three quarters of a mile: so much of the unit.
_PART_OF = re.compile(
    rf"\b(?:(?P<top>an?|one|two|three|four)\s)?{_PART}\s(?:of\s)?an?\s(?P<unit>{ENGLISH})"
)
_POINT_PART = re.compile(
    r"\b(half|quarter)(?:[\s-]of)?(?:[\s-]an?)?[\s-](?:percentage[\s-])?points?\b"
)
_HALF_ZH = re.compile(r"一半|半数|过半|对半")
_ROSE = r"(?:近|约)?(?:增长|增加|提高|提升|上升|上涨|扩大|增)了?(?:近|约|超过|逾)?"
_GROWN = re.compile(
    rf"\b(?:{either(_GROWTH)})\b(?!\s(?:room|bed|decker|track))|翻了?(?P<times>[{DIGIT}\d])番|翻倍"
    rf"|{_ROSE}(?P<fold>\d+(?:\.\d+)?|[{NUMERAL}]+)倍"
)
_ORDINAL = re.compile(
    rf"第(?P<h>[{NUMERAL}]+|\d+)(?!季度)(?P<unit>届)?|(?<![\d.,])(?P<n>\d+)(?:st|nd|rd|th)\b"
    rf"|(?P<z>[{NUMERAL}]{{1,4}})号(?!线)|\bno\.\s?(?P<no>\d+)\b"
)
_RANK = re.compile(rf"\b(?:{either(word for word in RANKS if word != 'first')})\b(?!\s(?:of|half))")
_WON = "win|victory|defeat|loss|draw|aggregate|against|over|at|on|in|to|thanks"
_SCORE = re.compile(
    r"(?<![\d.:-])(?P<a>\d{1,3})\s?(?:比|[:：](?=\d(?!\d)))\s?(?P<b>\d{1,3})(?![\d.:])"
    rf"|(?<![\d.:-])(?P<a2>\d{{1,3}})[-–](?P<b2>\d{{1,3}})(?=\s(?:{_WON})\b|[.,;]|$)"
)


def shared(r: Scanner) -> None:
    """Reads shares and fractions."""
    _chinese(r)
    _english(r)
    for match in _HALF_ZH.finditer(r.text):
        bound = "least" if match[0] == "过半" else ""
        r.keep(*match.span(), _ratio(r, match, 50.0, 5.0, "part", bound))


def _chinese(r: Scanner) -> None:
    for match in _SHARE_ZH.finditer(r.text):
        said = match["base"]
        base = number(f"一{said}" if said[0] in "十百千万" else said)
        top = number(match["top"])
        if not base or top is None:
            continue
        top += 0.5 if match["and"] else 0.0
        hundredths = base in (100, 1000, 10_000)
        decimals = re.split("[点.]", match["top"])[1:]
        step = 10.0 ** -len("".join(decimals)) * 100 / base if hundredths else 5.0
        r.keep(
            *match.span(), _ratio(r, match, top * 100 / base, step, "%" if hundredths else "part")
        )
    for match in _TENTHS.finditer(r.text):
        whole = number(match["whole"])
        if whole is None or whole > 10:
            continue
        more = 0.5 if match["more"] == "半" else (number(match["more"] or "零") or 0) / 10
        r.keep(*match.span(), _ratio(r, match, 10 * (whole + more), 1.0 if match["more"] else 10.0, "成"))  # fmt: skip
    for match in _DISCOUNT.finditer(r.text):
        said = number(match["said"]) if match["said"] else 5.0
        if said:
            value = said if said > 10 else said * 10
            r.keep(
                *match.span(), Measure("discount", value, value, *match.span(), 1.0, 1.0, unit="折")
            )
    for match in _EVERY.finditer(r.text):
        one, of = number(match["one"]), number(match["of"])
        if one and of and one < of:
            r.keep(*match.span(), _ratio(r, match, 100 * one / of, 5.0, "part", "about"))


def _english(r: Scanner) -> None:
    for match in _POINT_PART.finditer(r.text):
        value = 0.5 if match[1] == "half" else 0.25
        r.keep(*match.span(), Measure("points", value, value, *match.span(), 0.25, 0.25))
    for match in _PART_OF.finditer(r.text):
        of_unit = UNITS.get(" ".join(re.split("[ -]", match["unit"])))
        by = _top(match["top"]) / PARTS[match["part"]]
        if of_unit and by < 1:
            measure = Measure("", by, by, *match.span(), 0.25, 0.25, r.bound(*match.span()))
            r.keep(*match.span(), measure.read_as(of_unit[0]))
    for match in _SHARE_EN.finditer(r.text):
        share = _said(match)
        if share is not None and share <= 100:
            r.keep(*match.span(), _ratio(r, match, share, 5.0, "part"))


def _ratio(
    r: Scanner, match: re.Match[str], value: float, step: float, unit: str, bound: str = ""
) -> Measure:
    bound = bound or r.bound(*match.span())
    return Measure("ratio", value, value, *match.span(), step, step, bound, unit)


def _top(said: str | None) -> float:
    return 1.0 if said in (None, "a", "an") else float(SPOKEN.get(said or "", 0) or said or 0)


def _said(match: re.Match[str]) -> float | None:
    """The per cent of a fraction in English: two-thirds, by half, one in five."""
    if match["by"]:
        return 50.0
    if part := match["part"]:
        return 100 * _top(match["top"]) / PARTS[part] if match["top"] or part == "half" else None
    of = _top(match["of"] or match["each"])
    return 100 * _top(match["one"]) / of if of else None


def grown(r: Scanner) -> None:
    """Reads how many times as large something has become: doubled, 翻番, 增长两倍."""
    for match in _GROWN.finditer(r.text):
        if match["times"]:
            value = 2.0 ** (number(match["times"]) or 1)
        elif match["fold"]:
            value = (number(match["fold"]) or 0) + 1
        else:
            value = _GROWTH.get(match[0], 2)
        start = match.start("fold") if match["fold"] else match.start()
        r.keep(start, match.end(), Measure("times", value, value, start, match.end()))


def ranked(r: Scanner) -> None:
    """Reads ranks, editions and scores."""
    for match in _ORDINAL.finditer(r.text):
        said = match["h"] or match["n"] or match["no"] or match["z"]
        value = number(said)
        if value is None or (value == 1 and not match["unit"]):
            continue
        kind = "edition" if match["unit"] else "ordinal"
        r.keep(*match.span(), Measure(kind, value, value, *match.span()))
    for match in _SCORE.finditer(r.text):
        a, b = (int(match[x] or match[x + "2"]) for x in "ab")
        value = max(a, b) * 1000 + min(a, b)
        r.keep(*match.span(), Measure("score", value, value, *match.span()))


def ranked_in_words(r: Scanner) -> None:
    """Reads ranks in English words; after the figures, some of which count seconds."""
    for match in _RANK.finditer(r.text):
        value = RANKS[match[0].replace(" ", "-")]
        r.keep(*match.span(), Measure("ordinal", value, value, *match.span()))
