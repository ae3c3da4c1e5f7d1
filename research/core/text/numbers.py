"""Numbers as they are written in Chinese and English, and what they are worth.

Knows no units and no dates. 1.2万, 12,000, 一万二 and "twelve thousand" are one number; 十几, 一两百
and "several hundred" run from a least to a most. All texts are as `plain` gives them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from research import data
from research.core.text.units import SCALES, either, sign

Style = Literal["digits", "han", "words", "part"]
_Pair = tuple[float, float]

ONE = "一二三四五六七八九"
DIGIT = f"零〇两{ONE}"
DIGITS = {char: value for value, char in enumerate(f"零{ONE}")} | {"〇": 0, "两": 2}
_SMALL = {"十": 10.0, "百": 100.0, "千": 1000.0}
_GREAT = {"万": 1e4, "亿": 1e8, "兆": 1e12}
NUMERAL = f"{DIGIT}十百千万亿"  # the characters of Chinese numbers
WRITTEN = rf"(?:\d+(?:\.\d+)?|[{NUMERAL}]+)"  # a pattern for what `number` may read, but for English words
_SCALE_OF = _SMALL | _GREAT
_FORMAL = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟", f"{ONE}十百千")  # as on cheques
_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES = {word: value for value, word in enumerate(_ONES.split(), 1)}
TEENS = {word: value for value, word in enumerate(_TEENS.split(), 10)}
TENS = {word: value * 10 for value, word in enumerate(_TENS.split(), 2)}
SPOKEN = {"zero": 0} | ONES | TEENS | TENS
_RANKS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"""
_TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"
RANKS = {word: value for value, word in enumerate(_RANKS.split(), 1)}
RANKS |= {word: value * 10 for value, word in enumerate(_TENTHS.split(), 2)}
RANKS |= {f"{ten}-{rank}": TENS[ten] + RANKS[rank] for ten in TENS for rank in _RANKS.split()[:9]}
PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}  # fmt: skip

FIGURE = (
    r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?: \d{3})+(?!\d|\.\d)|\d+(?:\.\d+)?|(?<![\w.])\.\d+"
)
_SCALE = r"[十万亿]|百(?![帕分])|千(?![瓦米克卡赫])|兆(?=元|新台币|台币|日元|韩元|美元)"
# Chinese numerals, figures, and both together (12亿3456万, 30多万). 人数, 以上 are words.
_LINK = (
    rf"[{DIGIT}廿卅]|{_SCALE}|几(?=[十百千万亿])|(?<=十)几"
    r"|(?<![人个次总倍指位户件基参系岁])数(?=[十百千万亿](?!分))"
)
_RUN = re.compile(
    rf"(?:(?<![以史加])上(?=[百千万亿](?!分))|{_LINK}|(?<!\d)(?:{FIGURE}))"
    rf"(?:(?<!\d)(?:{_LINK})|{_SCALE}|(?<=[十百千万亿点.零])(?:{FIGURE})"
    rf"|(?<=[十百千万亿\d])[多余来](?=[百千万亿](?!分))|(?<=[{DIGIT}十百])[点.](?=[{DIGIT}\d]))*"
)
_HALF = re.compile("(?<![一上下前后大小多个几年月天时点折])半(?=[^数个]|个[月小钟世星])")
_TOKEN = re.compile(
    rf"(?P<figure>{FIGURE})|(?P<digits>[{DIGIT}]+)(?:[点.](?P<rest>[{DIGIT}\d]+))?"
    r"|(?P<tens>[廿卅])|(?P<few>[几数])|(?P<scale>[十百千万亿兆])|(?P<vague>[多余来上])"
)
_POINT_AFTER, _POINT_BEFORE = re.compile(r"\.\d"), re.compile(r"[a-z\d]\.$")
_POWER = re.compile(
    r"(?<!0)e([+-]?[0-2]?\d)(?![a-z\d])|\s?[x×]\s?10(?:\^(-?\d{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))"
)
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LONG_SCALES = [word for word in SCALES if word.isascii() and len(word) > 3]
_SHORT_SCALES = [word for word in SCALES if word.isascii() and 1 < len(word) <= 3]
_SCALED = rf"[\s-]?(?:{either(_LONG_SCALES)})\b|\s?(?:{either(_SHORT_SCALES)})(?![a-z²³/0-9])|[kb](?![a-z²³/0-9])"
_AND = {"a half": 0.5, "a quarter": 0.25, "three quarters": 0.75}
_TAIL = re.compile(rf"(?:\sand\s(?P<half>{'|'.join(_AND)})\b)?(?P<scales>(?:{_SCALED})+)?")
_FRACTION = re.compile(
    r"(?:(?<![\d.,/])(?P<whole>\d{1,4})\s?)?(?P<vulgar>[¼-¾⅐-⅞])"
    r"|(?<![\d.,/-])(?:(?P<whole2>\d{1,4})\s)?(?P<top>\d{1,2})/(?P<base>[2-9]|10|12|16|100)(?![\d/.]\d|[\d/]|[a-z])"
)
_MILLIONS = re.compile(r"\s?m(?![a-z²³/0-9])")
_EXTENT = data.words("figures")["behind metres"]
_METRES = re.compile(rf"m[\s-](?:{_EXTENT})\b|m\s?[\u4e00-\u9fff×]")
_METRES_OF = re.compile(
    r"(?:height|depth|width|length|elevation|altitude|distance|diameter|[\u4e00-\u9fff])[^.;\d]{0,12}$"
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number from `low` to `high` that stands from `start` to `end`, in characters.

    `step` is the worth of its last digit, `coarse` of its last digit that is not 0. `bound` is "some"
    for one that is more by less than its last digit (30多), "about" or "least". `part` is a fraction.
    """

    low: float
    high: float
    start: int
    end: int
    step: float
    coarse: float
    style: Style
    bound: str = ""
    scale: float = 1.0  # what is said behind the last coefficient: million, 百万


def coarse(value: float, step: float = 1.0) -> float:
    """The worth of a number's last digit that is not 0, where its last digit is worth `step`."""
    if not value or value != value // 1 or value > 1e300:
        return step
    digits = f"{value:.0f}"
    return max(step, 10.0 ** (len(digits) - len(digits.rstrip("0"))))


def number(said: str) -> float | None:
    """What a text that is one number, in figures or in words, is worth; None if it is none, or is one
    of several: 十几, "several hundred"."""
    found = numerals(said)
    one = found[0] if len(found) == 1 and found[0].end - found[0].start == len(said) else None
    return one.low if one and one.low == one.high else None


def integer(said: str | None) -> int | None:
    """The same as a whole number; None for no text."""
    value = number(said) if said else None
    return None if value is None or value > 1e15 else int(value)


def numerals(text: str) -> list[Numeral]:
    """The numbers of a text in the order in which they stand; those that overlap an earlier or a
    longer one are left out. What counts as one only with a unit behind it (三个) is here too."""
    if "拾" in text or "佰" in text or "仟" in text:
        text = text.translate(_FORMAL)
    found = sorted(
        (*_fractions(text), *_written(text), *_spoken(text)), key=lambda n: (n.start, -n.end)
    )
    kept: list[Numeral] = []
    for numeral in found:
        if not kept or numeral.start >= kept[-1].end:
            kept.append(numeral)
    return kept


# Figures and Chinese numerals


def _written(text: str) -> Iterator[Numeral]:
    for match in _RUN.finditer(text):
        start, end = match.span()
        if _POINT_AFTER.match(text, end):
            continue  # 1.2.3
        if _POINT_BEFORE.search(text, max(0, start - 2), start) and not sign(text, start)[1]:
            continue
        if match[0][0].isascii() and match[0].isascii():
            yield _figure(text, start, end)
        elif worth := _worth(match[0], start):
            yield worth
    for match in _HALF.finditer(text):
        yield Numeral(0.5, 0.5, *match.span(), 0.5, 0.5, "han")


def _figure(text: str, start: int, end: int) -> Numeral:
    """A number in figures with what makes it larger: 1.2 million, 5k, 1.2 lakh crore, 3e8."""
    said = text[start:end].replace(",", "").replace(" ", "")
    step = 10.0 ** -len(said.partition(".")[2])
    value, scale = float(said), 1.0
    if power := _POWER.match(text, end):
        raised = power[1] or power[2] or power[3].translate(_RAISED)
        scale, end = 10.0 ** int(raised), power.end()
    tail = _TAIL.match(text, end)
    if tail and tail["half"]:
        value += _AND[tail["half"]]
        step, end = 0.5, tail.end("half")
    if tail and tail["scales"]:
        for word in re.findall(r"[a-z]+", tail["scales"]):
            scale *= SCALES[word]
        end = tail.end()
    elif (millions := _MILLIONS.match(text, end)) and _is_million(text, start, end):
        scale, end = 1e6, millions.end()
    value, step = _product(value, scale), _product(step, scale)
    return Numeral(value, value, start, end, step, coarse(value, step), "digits", "", scale)


def _product(value: float, scale: float) -> float:
    """A product without what binary fractions add to it: 4.35 million is 4350000."""
    return float(f"{value * scale:.15g}")


def _is_million(text: str, start: int, end: int) -> bool:
    """Whether the m behind a figure is a million: $5 m, 5m people; 5 m and "5m wide" are lengths."""
    if sign(text, start)[1]:
        return True
    extent = _METRES.match(text, end) or _METRES_OF.search(text, max(0, start - 30), start)
    return text[end] == "m" and not extent


def _worth(said: str, start: int = 0) -> Numeral | None:
    """A number that is written with Chinese numerals; None if it is not well formed."""
    terms: list[_Pair | str] = []
    step, scale, bound = 1.0, 1.0, ""
    figures = short = False  # whether the last coefficient is in figures; is one Chinese digit
    scaled = any(char in "十百千万亿兆" for char in said)
    for token in _TOKEN.finditer(said):
        if token["figure"]:
            bare = token["figure"].replace(",", "").replace(" ", "")
            terms.append((float(bare), float(bare)))
            step, figures, short = 10.0 ** -len(bare.partition(".")[2]), True, False
        elif digits := token["digits"]:
            pair = _digits(digits, token["rest"] or "", scaled)
            if pair is None:
                return None
            zero = scaled and digits[0] in "零〇"
            if not (zero and len(digits) == 1):
                terms.append(pair)
            step, figures, short = 10.0 ** -len(token["rest"] or ""), False, not zero
        elif token["few"]:
            terms.append((1.0, 9.0) if terms and terms[-1] == "十" else (2.0, 10.0))
            step, figures, short, bound = 1.0, False, False, "about"
        elif token["tens"]:
            terms += [(2.0, 2.0) if token[0] == "廿" else (3.0, 3.0), "十"]
        elif token["vague"]:
            bound = {"来": "about", "上": "least"}.get(token[0], "some")
        else:
            if bound == "least" and not terms:
                terms.append((1.0, 1.0))
            terms.append(token[0])
            scale *= _SCALE_OF[token[0]]
            step *= _GREAT.get(token[0]) or (_SMALL[token[0]] if figures else 1.0)
            short = False
            continue
        scale = 1.0
    if bound and not scaled:
        return None  # 几, by itself
    if short and terms[-2:-1] and not isinstance(last := terms[-1], str):  # 一千二 is 1200
        step = {"百": 10.0, "千": 100.0, "万": 1e3, "亿": 1e7}.get(str(terms[-2]), 1.0)
        terms[-1] = (last[0] * step, last[1] * step)
    low, high = _total(terms, 0), _total(terms, 1)
    if low is None or high is None:
        return None
    end = start + len(said)
    return Numeral(low, high, start, end, step, coarse(low, step), "han", bound, scale)


def _digits(said: str, rest: str, scaled: bool) -> _Pair | None:
    """What Chinese digits in a row come to: 二〇二六 a number, 三五 (of 三五百) from one to another."""
    values = [DIGITS[char] for char in said]
    if rest:
        told = "".join(str(DIGITS.get(char, char)) for char in rest)
        value = float("".join(map(str, values)) + "." + told)
        return value, value
    if len(values) == 1:
        return float(values[0]), float(values[0])
    if values[0] == 0 and scaled:
        return (float(values[1]), float(values[1])) if len(values) == 2 else None
    near = len(values) == 2 and 0 < values[0] < values[1]
    if near and (scaled or values[1] == values[0] + 1 or said == "三五"):
        return float(values[0]), float(values[1])
    if scaled:
        return None
    value = float("".join(map(str, values)))
    return value, value


def _total(terms: list[_Pair | str], end: int) -> float | None:
    """What coefficients and scales come to, at one end of the coefficients; None if they do not fit."""
    total = section = 0.0
    pending: float | None = None
    small = great = math.inf
    for term in terms:
        if not isinstance(term, str):
            if pending is not None:
                return None
            pending = term[end]
        elif term in _SMALL:
            scale = _SMALL[term]
            if scale >= small:
                return None
            section += (1.0 if pending is None else pending) * scale
            pending, small = None, scale
        else:
            scale = _GREAT[term]
            section += pending or 0.0
            if scale > great or (total and not section):  # 万亿
                total = _product(total + section, scale)
            elif section:
                total += _product(section, scale)
            else:
                return None
            section, pending, small, great = 0.0, None, math.inf, scale
    return total + section + (pending or 0.0)


def _fractions(text: str) -> Iterator[Numeral]:
    """3/4, 1½ and 1 3/4; a fraction without a whole number is a part."""
    for match in _FRACTION.finditer(text):
        whole = match["whole"] or match["whole2"]
        if match["vulgar"]:
            share = unicodedata.numeric(match["vulgar"])
        else:
            share = int(match["top"]) / int(match["base"])
            if not 0 < share < 1:
                continue
        value = share + int(whole or 0)
        style: Style = "digits" if whole else "part"
        tail = _TAIL.match(text, match.end())
        end, scale = match.end(), 1.0
        if tail and tail["scales"]:
            end, style = tail.end(), "digits"
            for word in re.findall(r"[a-z]+", tail["scales"]):
                scale *= SCALES[word]
        value = _product(value, scale)
        yield Numeral(
            value, value, match.start(), end, 0.25 * scale, 0.25 * scale, style, "", scale
        )


# English number words

_SMALL_SAID = rf"(?:(?:{either(TENS)})(?:[\s-](?:{either(ONES)})\b)?|{either([*TEENS, *ONES])})\b"
_UNDER = rf"(?:(?:{_SMALL_SAID}|an?)[\s-]hundred\b(?:\s(?:and\s)?{_SMALL_SAID}(?!\shundred))?|{_SMALL_SAID})"
_LARGE = either(["hundred", *(w for w in _LONG_SCALES if not w.endswith("s"))])
_HALVES = rf"\sand\s(?:{'|'.join(_AND)})"
_HEAD = (
    rf"(?:{_UNDER}(?:{_HALVES})?|half[\s-]an?|(?:an?\s)?half|(?:(?:an?|one)\s)?quarter(?:\sof\san?)?|three[\s-]quarters\sof\san?"
    r"|(?:a\s)?few|a\scouple(?:\sof)?|several|an?)"
)
_SCALED_BY = rf"(?:[\s-](?:{_LARGE})\b)+"
_GROUP = re.compile(rf"(?P<head>{_HEAD})(?P<scales>{_SCALED_BY})")
_RANK = either(_RANKS.split())
_JOINT = r",?\s(?:and\s)?"
_POINT = rf"\spoint(?:\s(?:zero|{either(ONES)})\b)+"
_SAID = re.compile(
    rf"\b(?:{_HEAD}{_SCALED_BY}(?:{_JOINT}{_HEAD}{_SCALED_BY}){{0,6}}(?:{_JOINT}{_UNDER})?"
    rf"|zero\b(?:{_POINT})?|{_UNDER}(?:{_POINT}|{_HALVES})?)"
    rf"(?!-(?:{_RANK})\b|(?<=ty)\s(?:{_RANK})\b)"  # twenty-first
)
_PLENTY = re.compile(
    r"\b(?P<many>tens|dozens|hundreds|thousands|millions|billions)(?:\sof\s(?P<of>thousands|millions|billions))?\b"
)


def _spoken(text: str) -> Iterator[Numeral]:
    """Numbers in English words: thirty-two, three hundred and five, two and a half million."""
    at = 0
    while match := _SAID.search(text, at):
        numeral = _heard(match)
        yield numeral
        at = numeral.end
    for match in _PLENTY.finditer(text):
        scale = 10.0 if match["many"] == "tens" else SCALES[match["many"][:-1]]
        if match["of"]:
            scale *= SCALES[match["of"][:-1]]
        yield Numeral(2 * scale, 10 * scale, *match.span(), scale, scale, "words", "about", scale)


def _heard(match: re.Match[str]) -> Numeral:
    start, end = match.span()
    between = match.string.endswith("between ", 0, start)
    low = high = 0.0
    ceiling, at = math.inf, start
    for group in _GROUP.finditer(match.string, start, end):
        scale = 1.0
        for word in re.findall("[a-z]+", group["scales"]):
            scale *= SCALES[word]
        if scale >= ceiling or (at > start and between):
            return _told(low, high, start, at, ceiling)
        least, most = _head(group["head"])
        low, high = low + _product(least, scale), high + _product(most, scale)
        ceiling, at = scale, group.end()
    rest = match.string[at:end]
    if not rest:
        return _told(low, high, start, end, ceiling)
    if at > start and (between or low < 100):
        return _told(low, high, start, at, ceiling)
    least, most = _head(rest)
    return _told(low + least, high + most, start, end, 1.0)


def _told(low: float, high: float, start: int, end: int, scale: float) -> Numeral:
    step = coarse(low, 10.0 ** -len(f"{low:.10g}".partition(".")[2]))
    bound = "about" if high > low else ""
    return Numeral(low, high, start, end, step, step, "words", bound, scale)


def _head(said: str) -> _Pair:
    """What stands before a scale, or by itself: three hundred and five, two and a half, several."""
    if "few" in said or "several" in said:
        return 2.0, 10.0
    if "couple" in said:
        return 2.0, 3.0
    whole, _, decimals = said.partition(" point ")
    whole, _, half = (
        whole.rpartition(" and ") if re.search(_HALVES + "$", whole) else (whole, "", "")
    )
    value = 0.0
    for word in re.findall("[a-z]+", whole):
        value = (value or 1.0) * 100 if word == "hundred" else value + SPOKEN.get(word, 0)
    if "quarter" in whole:  # three quarters of a million
        value = (value or 1.0) / 4
    elif "half" in whole:
        value = 0.5
    if decimals:
        value = float(f"{value:.0f}." + "".join(str(SPOKEN[word]) for word in decimals.split()))
    value = (value or ("zero" not in said)) + _AND.get(half, 0.0)
    return value, value
