"""Parses numbers as written in Chinese and English.

Knows no units and no dates. 1.2万, 12,000, 一万二 and "twelve thousand" are the same number; 十几, 一两百
and "several hundred" are ranges. Input texts are folded by `fold_text`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from research import data
from research.core.text.units import SCALES, alternation_pattern, match_prefix_unit

NumeralStyle = Literal["digits", "han", "words", "part"]
_Range = tuple[float, float]

HAN_ONE_TO_NINE = "一二三四五六七八九"
HAN_DIGITS = f"零〇两{HAN_ONE_TO_NINE}"
HAN_DIGIT_VALUES = {char: value for value, char in enumerate(f"零{HAN_ONE_TO_NINE}")} | {"〇": 0, "两": 2}
_SMALL_SCALES = {"十": 10.0, "百": 100.0, "千": 1000.0}
_GREAT_SCALES = {"万": 1e4, "亿": 1e8, "兆": 1e12}
HAN_NUMERALS = f"{HAN_DIGITS}十百千万亿"  # characters of Chinese numbers
NUMBER_PATTERN = rf"(?:\d+(?:\.\d+)?|[{HAN_NUMERALS}]+)"  # what `parse_number` can read, except English words
_SCALE_VALUES = _SMALL_SCALES | _GREAT_SCALES
_FORMAL_TO_PLAIN = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟", f"{HAN_ONE_TO_NINE}十百千")  # banker's numerals
_ONES_WORDS = "one two three four five six seven eight nine"
_TEENS_WORDS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES = {word: value for value, word in enumerate(_ONES_WORDS.split(), 1)}
TEENS = {word: value for value, word in enumerate(_TEENS_WORDS.split(), 10)}
TENS = {word: value * 10 for value, word in enumerate(_TENS_WORDS.split(), 2)}
NUMBER_WORDS = {"zero": 0} | ONES | TEENS | TENS
_RANK_WORDS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"""
_TENS_RANK_WORDS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"
RANKS = {word: value for value, word in enumerate(_RANK_WORDS.split(), 1)}
RANKS |= {word: value * 10 for value, word in enumerate(_TENS_RANK_WORDS.split(), 2)}
RANKS |= {f"{ten}-{rank}": TENS[ten] + RANKS[rank] for ten in TENS for rank in _RANK_WORDS.split()[:9]}
FRACTION_DENOMINATORS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}  # fmt: skip

FIGURE_PATTERN = (
    r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?: \d{3})+(?!\d|\.\d)|\d+(?:\.\d+)?|(?<![\w.])\.\d+"
)
_HAN_SCALE = r"[十万亿]|百(?![帕分])|千(?![瓦米克卡赫])|兆(?=元|新台币|台币|日元|韩元|美元)"
# Chinese numerals, figures, and both combined (12亿3456万, 30多万). 人数, 以上 are words.
_HAN_NUMERAL_LINK = (
    rf"[{HAN_DIGITS}廿卅]|{_HAN_SCALE}|几(?=[十百千万亿])|(?<=十)几"
    r"|(?<![人个次总倍指位户件基参系岁])数(?=[十百千万亿](?!分))"
)
_NUMERAL_RUN_PATTERN = re.compile(
    rf"(?:(?<![以史加])上(?=[百千万亿](?!分))|{_HAN_NUMERAL_LINK}|(?<!\d)(?:{FIGURE_PATTERN}))"
    rf"(?:(?<!\d)(?:{_HAN_NUMERAL_LINK})|{_HAN_SCALE}|(?<=[十百千万亿点.零])(?:{FIGURE_PATTERN})"
    rf"|(?<=[十百千万亿\d])[多余来](?=[百千万亿](?!分))|(?<=[{HAN_DIGITS}十百])[点.](?=[{HAN_DIGITS}\d]))*"
)
_HAN_HALF_PATTERN = re.compile("(?<![一上下前后大小多个几年月天时点折])半(?=[^数个]|个[月小钟世星])")
_NUMERAL_TOKEN_PATTERN = re.compile(
    rf"(?P<figure>{FIGURE_PATTERN})|(?P<digits>[{HAN_DIGITS}]+)(?:[点.](?P<rest>[{HAN_DIGITS}\d]+))?"
    r"|(?P<tens>[廿卅])|(?P<few>[几数])|(?P<scale>[十百千万亿兆])|(?P<vague>[多余来上])"
)
_POINT_AFTER_PATTERN, _POINT_BEFORE_PATTERN = re.compile(r"\.\d"), re.compile(r"[a-z\d]\.$")
_EXPONENT_PATTERN = re.compile(r"(?<!0)e([+-]?[0-2]?\d)(?![a-z\d])|\s?[x×]\s?10(?:\^(-?\d{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))")
_SUPERSCRIPT_TO_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LONG_SCALES = [word for word in SCALES if word.isascii() and len(word) > 3]
_SHORT_SCALES = [word for word in SCALES if word.isascii() and 1 < len(word) <= 3]
_SCALE_SUFFIX = rf"[\s-]?(?:{alternation_pattern(_LONG_SCALES)})\b|\s?(?:{alternation_pattern(_SHORT_SCALES)})(?![a-z²³/0-9])|[kb](?![a-z²³/0-9])"
_ADDED_FRACTIONS = {"a half": 0.5, "a quarter": 0.25, "three quarters": 0.75}
_NUMBER_TAIL_PATTERN = re.compile(
    rf"(?:\sand\s(?P<half>{'|'.join(_ADDED_FRACTIONS)})\b)?(?P<scales>(?:{_SCALE_SUFFIX})+)?"
)
_FRACTION_PATTERN = re.compile(
    r"(?:(?<![\d.,/])(?P<whole>\d{1,4})\s?)?(?P<vulgar>[¼-¾⅐-⅞])"
    r"|(?<![\d.,/-])(?:(?P<whole2>\d{1,4})\s)?(?P<top>\d{1,2})/(?P<base>[2-9]|10|12|16|100)(?![\d/.]\d|[\d/]|[a-z])"
)
_MILLION_SUFFIX_PATTERN = re.compile(r"\s?m(?![a-z²³/0-9])")
_LENGTH_ADJECTIVES = data.words("figures")["behind metres"]
_METRES_PATTERN = re.compile(rf"m[\s-](?:{_LENGTH_ADJECTIVES})\b|m\s?[\u4e00-\u9fff×]")
_LENGTH_BEFORE_PATTERN = re.compile(
    r"(?:height|depth|width|length|elevation|altitude|distance|diameter|[\u4e00-\u9fff])[^.;\d]{0,12}$"
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number from `low` to `high` at the characters from `start` to `end`.

    `resolution` is the value of its last digit, `coarse_resolution` of its last digit other than 0.
    `bound` is "some" for one that is exceeded by less than its last digit (30多), "about" or
    "least". The style `part` is a fraction.
    """

    low: float
    high: float
    start: int
    end: int
    resolution: float
    coarse_resolution: float
    style: NumeralStyle
    bound: str = ""
    scale: float = 1.0  # scale of the last coefficient: million, 百万


def coarse_resolution(value: float, resolution: float = 1.0) -> float:
    """Return the value of the last digit other than 0; `resolution` is that of the last digit."""
    if not value or value != value // 1 or value > 1e300:
        return resolution
    digits = f"{value:.0f}"
    return max(resolution, 10.0 ** (len(digits) - len(digits.rstrip("0"))))


def parse_number(text: str) -> float | None:
    """Return the value of a text that is one number, in figures or in words; None for any other
    text and for a range: 十几, "several hundred"."""
    numerals = find_numerals(text)
    numeral = numerals[0] if len(numerals) == 1 and numerals[0].end - numerals[0].start == len(text) else None
    return numeral.low if numeral and numeral.low == numeral.high else None


def parse_integer(text: str | None) -> int | None:
    """Parse a whole number; None for no text, and for what `parse_number` cannot parse."""
    value = parse_number(text) if text else None
    return None if value is None or value > 1e15 else int(value)


def find_numerals(text: str) -> list[Numeral]:
    """Return the numbers of a text in order. A number that overlaps an earlier or longer one is left
    out. Words that are a number only with a unit behind them (三个) are included."""
    if "拾" in text or "佰" in text or "仟" in text:
        text = text.translate(_FORMAL_TO_PLAIN)
    candidates = sorted(
        (*_find_fractions(text), *_find_written_numerals(text), *_find_spoken_numerals(text)),
        key=lambda n: (n.start, -n.end),
    )
    numerals: list[Numeral] = []
    for numeral in candidates:
        if not numerals or numeral.start >= numerals[-1].end:
            numerals.append(numeral)
    return numerals


# Figures and Chinese numerals


def _find_written_numerals(text: str) -> Iterator[Numeral]:
    for match in _NUMERAL_RUN_PATTERN.finditer(text):
        start, end = match.span()
        if _POINT_AFTER_PATTERN.match(text, end):
            continue  # 1.2.3
        if _POINT_BEFORE_PATTERN.search(text, max(0, start - 2), start) and not match_prefix_unit(text, start)[1]:
            continue
        if match[0][0].isascii() and match[0].isascii():
            yield _parse_figure(text, start, end)
        elif numeral := _parse_han_numeral(match[0], start):
            yield numeral
    for match in _HAN_HALF_PATTERN.finditer(text):
        yield Numeral(0.5, 0.5, *match.span(), 0.5, 0.5, "han")


def _parse_figure(text: str, start: int, end: int) -> Numeral:
    """Parse a number in figures with its scale: 1.2 million, 5k, 1.2 lakh crore, 3e8."""
    plain = text[start:end].replace(",", "").replace(" ", "")
    step = 10.0 ** -len(plain.partition(".")[2])
    value, scale = float(plain), 1.0
    if exponent := _EXPONENT_PATTERN.match(text, end):
        exponent_text = exponent[1] or exponent[2] or exponent[3].translate(_SUPERSCRIPT_TO_PLAIN)
        scale, end = 10.0 ** int(exponent_text), exponent.end()
    tail = _NUMBER_TAIL_PATTERN.match(text, end)
    if tail and tail["half"]:
        value += _ADDED_FRACTIONS[tail["half"]]
        step, end = 0.5, tail.end("half")
    if tail and tail["scales"]:
        scale, end = scale * _scale_product(tail["scales"]), tail.end()
    elif (millions := _MILLION_SUFFIX_PATTERN.match(text, end)) and _is_million_suffix(text, start, end):
        scale, end = 1e6, millions.end()
    value, step = _decimal_product(value, scale), _decimal_product(step, scale)
    return Numeral(value, value, start, end, step, coarse_resolution(value, step), "digits", "", scale)


def _scale_product(words: str) -> float:
    """Return the product of scales in words: "hundred million"."""
    return math.prod((SCALES[word] for word in re.findall("[a-z]+", words)), start=1.0)


def _decimal_product(value: float, scale: float) -> float:
    """Multiply without the error of binary fractions: 4.35 million is 4350000."""
    return float(f"{value * scale:.15g}")


def _is_million_suffix(text: str, start: int, end: int) -> bool:
    """Return whether m behind a figure is a million: $5 m, 5m people; not 5 m, "5m wide"."""
    if match_prefix_unit(text, start)[1]:
        return True
    is_length = _METRES_PATTERN.match(text, end) or _LENGTH_BEFORE_PATTERN.search(text, max(0, start - 30), start)
    return text[end] == "m" and not is_length


def _parse_han_numeral(text: str, start: int = 0) -> Numeral | None:
    """Parse a number with Chinese numerals; None if it is malformed."""
    terms: list[_Range | str] = []
    step, scale, bound = 1.0, 1.0, ""
    figures = is_digit = False  # the last coefficient is in figures; is one Chinese digit
    has_scale = any(char in "十百千万亿兆" for char in text)
    for token in _NUMERAL_TOKEN_PATTERN.finditer(text):
        if token["figure"]:
            bare = token["figure"].replace(",", "").replace(" ", "")
            terms.append((float(bare), float(bare)))
            step, figures, is_digit = 10.0 ** -len(bare.partition(".")[2]), True, False
        elif digits := token["digits"]:
            pair = _parse_han_digits(digits, token["rest"] or "", has_scale)
            if pair is None:
                return None
            has_leading_zero = has_scale and digits[0] in "零〇"
            if not (has_leading_zero and len(digits) == 1):
                terms.append(pair)
            step, figures, is_digit = 10.0 ** -len(token["rest"] or ""), False, not has_leading_zero
        elif token["few"]:
            terms.append((1.0, 9.0) if terms and terms[-1] == "十" else (2.0, 10.0))
            step, figures, is_digit, bound = 1.0, False, False, "about"
        elif token["tens"]:
            terms += [(2.0, 2.0) if token[0] == "廿" else (3.0, 3.0), "十"]
        elif token["vague"]:
            bound = {"来": "about", "上": "least"}.get(token[0], "some")
        else:
            if bound == "least" and not terms:
                terms.append((1.0, 1.0))
            terms.append(token[0])
            scale *= _SCALE_VALUES[token[0]]
            step *= _GREAT_SCALES.get(token[0]) or (_SMALL_SCALES[token[0]] if figures else 1.0)
            is_digit = False
            continue
        scale = 1.0
    if bound and not has_scale:
        return None  # 几, by itself
    if is_digit and terms[-2:-1] and not isinstance(last := terms[-1], str):  # 一千二 is 1200
        step = {"百": 10.0, "千": 100.0, "万": 1e3, "亿": 1e7}.get(str(terms[-2]), 1.0)
        terms[-1] = (last[0] * step, last[1] * step)
    low, high = _sum_terms(terms, 0), _sum_terms(terms, 1)
    if low is None or high is None:
        return None
    end = start + len(text)
    return Numeral(low, high, start, end, step, coarse_resolution(low, step), "han", bound, scale)


def _parse_han_digits(digits: str, decimals: str, has_scale: bool) -> _Range | None:
    """Parse consecutive Chinese digits: 二〇二六 is a number, 三五 (of 三五百) a range."""
    values = [HAN_DIGIT_VALUES[char] for char in digits]
    if decimals:
        decimal_text = "".join(str(HAN_DIGIT_VALUES.get(char, char)) for char in decimals)
        value = float("".join(map(str, values)) + "." + decimal_text)
        return value, value
    if len(values) == 1:
        return float(values[0]), float(values[0])
    if values[0] == 0 and has_scale:
        return (float(values[1]), float(values[1])) if len(values) == 2 else None
    is_range = len(values) == 2 and 0 < values[0] < values[1]
    if is_range and (has_scale or values[1] == values[0] + 1 or digits == "三五"):
        return float(values[0]), float(values[1])
    if has_scale:
        return None
    value = float("".join(map(str, values)))
    return value, value


def _sum_terms(terms: list[_Range | str], bound_index: int) -> float | None:
    """Return the sum of coefficients times scales at one bound; None if malformed."""
    total = section = 0.0
    pending: float | None = None
    small = great = math.inf
    for term in terms:
        if not isinstance(term, str):
            if pending is not None:
                return None
            pending = term[bound_index]
        elif term in _SMALL_SCALES:
            scale = _SMALL_SCALES[term]
            if scale >= small:
                return None
            section += (1.0 if pending is None else pending) * scale
            pending, small = None, scale
        else:
            scale = _GREAT_SCALES[term]
            section += pending or 0.0
            if scale > great or (total and not section):  # 万亿
                total = _decimal_product(total + section, scale)
            elif section:
                total += _decimal_product(section, scale)
            else:
                return None
            section, pending, small, great = 0.0, None, math.inf, scale
    return total + section + (pending or 0.0)


def _find_fractions(text: str) -> Iterator[Numeral]:
    """Yield 3/4, 1½ and 1 3/4; a fraction without a whole number has the style `part`."""
    for match in _FRACTION_PATTERN.finditer(text):
        whole = match["whole"] or match["whole2"]
        if match["vulgar"]:
            share = unicodedata.numeric(match["vulgar"])
        else:
            share = int(match["top"]) / int(match["base"])
            if not 0 < share < 1:
                continue
        value = share + int(whole or 0)
        style: NumeralStyle = "digits" if whole else "part"
        tail = _NUMBER_TAIL_PATTERN.match(text, match.end())
        end, scale = match.end(), 1.0
        if tail and tail["scales"]:
            end, style, scale = tail.end(), "digits", _scale_product(tail["scales"])
        value = _decimal_product(value, scale)
        yield Numeral(value, value, match.start(), end, 0.25 * scale, 0.25 * scale, style, "", scale)


# English number words

_UNDER_HUNDRED = rf"(?:(?:{alternation_pattern(TENS)})(?:[\s-](?:{alternation_pattern(ONES)})\b)?|{alternation_pattern([*TEENS, *ONES])})\b"
_UNDER_THOUSAND = (
    rf"(?:(?:{_UNDER_HUNDRED}|an?)[\s-]hundred\b(?:\s(?:and\s)?{_UNDER_HUNDRED}(?!\shundred))?|{_UNDER_HUNDRED})"
)
_LARGE_SCALES = alternation_pattern(["hundred", *(w for w in _LONG_SCALES if not w.endswith("s"))])
_AND_FRACTION = rf"\sand\s(?:{'|'.join(_ADDED_FRACTIONS)})"
_COEFFICIENT = (
    rf"(?:{_UNDER_THOUSAND}(?:{_AND_FRACTION})?|half[\s-]an?|(?:an?\s)?half|(?:(?:an?|one)\s)?quarter(?:\sof\san?)?|three[\s-]quarters\sof\san?"
    r"|(?:a\s)?few|a\scouple(?:\sof)?|several|an?)"
)
_SCALE_WORDS = rf"(?:[\s-](?:{_LARGE_SCALES})\b)+"
_SCALED_GROUP_PATTERN = re.compile(rf"(?P<head>{_COEFFICIENT})(?P<scales>{_SCALE_WORDS})")
_RANK_ALTERNATION = alternation_pattern(_RANK_WORDS.split())
_GROUP_JOINT = r",?\s(?:and\s)?"
_POINT_DECIMALS = rf"\spoint(?:\s(?:zero|{alternation_pattern(ONES)})\b)+"
_SPOKEN_NUMBER_PATTERN = re.compile(
    rf"\b(?:{_COEFFICIENT}{_SCALE_WORDS}(?:{_GROUP_JOINT}{_COEFFICIENT}{_SCALE_WORDS}){{0,6}}(?:{_GROUP_JOINT}{_UNDER_THOUSAND})?"
    rf"|zero\b(?:{_POINT_DECIMALS})?|{_UNDER_THOUSAND}(?:{_POINT_DECIMALS}|{_AND_FRACTION})?)"
    rf"(?!-(?:{_RANK_ALTERNATION})\b|(?<=ty)\s(?:{_RANK_ALTERNATION})\b)"  # twenty-first
)
_VAGUE_PLURAL_PATTERN = re.compile(
    r"\b(?P<many>tens|dozens|hundreds|thousands|millions|billions)(?:\sof\s(?P<of>thousands|millions|billions))?\b"
)


def _find_spoken_numerals(text: str) -> Iterator[Numeral]:
    """Yield numbers in English words: thirty-two, two and a half million."""
    at = 0
    while match := _SPOKEN_NUMBER_PATTERN.search(text, at):
        numeral = _parse_spoken(match)
        yield numeral
        at = numeral.end
    for match in _VAGUE_PLURAL_PATTERN.finditer(text):
        scale = 10.0 if match["many"] == "tens" else SCALES[match["many"][:-1]]
        if match["of"]:
            scale *= SCALES[match["of"][:-1]]
        yield Numeral(2 * scale, 10 * scale, *match.span(), scale, scale, "words", "about", scale)


def _parse_spoken(match: re.Match[str]) -> Numeral:
    start, end = match.span()
    after_between = match.string.endswith("between ", 0, start)
    low = high = 0.0
    ceiling, at = math.inf, start
    for group in _SCALED_GROUP_PATTERN.finditer(match.string, start, end):
        scale = _scale_product(group["scales"])
        if scale >= ceiling or (at > start and after_between):
            return _make_spoken_numeral(low, high, start, at, ceiling)
        lower, upper = _parse_coefficient(group["head"])
        low, high = low + _decimal_product(lower, scale), high + _decimal_product(upper, scale)
        ceiling, at = scale, group.end()
    rest = match.string[at:end]
    if not rest:
        return _make_spoken_numeral(low, high, start, end, ceiling)
    if at > start and (after_between or low < 100):
        return _make_spoken_numeral(low, high, start, at, ceiling)
    lower, upper = _parse_coefficient(rest)
    return _make_spoken_numeral(low + lower, high + upper, start, end, 1.0)


def _make_spoken_numeral(low: float, high: float, start: int, end: int, scale: float) -> Numeral:
    step = coarse_resolution(low, 10.0 ** -len(f"{low:.10g}".partition(".")[2]))
    bound = "about" if high > low else ""
    return Numeral(low, high, start, end, step, step, "words", bound, scale)


def _parse_coefficient(text: str) -> _Range:
    """Parse a coefficient or a small number: three hundred and five, two and a half, several."""
    if "few" in text or "several" in text:
        return 2.0, 10.0
    if "couple" in text:
        return 2.0, 3.0
    whole, _, decimals = text.partition(" point ")
    whole, _, half = whole.rpartition(" and ") if re.search(_AND_FRACTION + "$", whole) else (whole, "", "")
    value = 0.0
    for word in re.findall("[a-z]+", whole):
        value = (value or 1.0) * 100 if word == "hundred" else value + NUMBER_WORDS.get(word, 0)
    if "quarter" in whole:  # three quarters of a million
        value = (value or 1.0) / 4
    elif "half" in whole:
        value = 0.5
    if decimals:
        value = float(f"{value:.0f}." + "".join(str(NUMBER_WORDS[word]) for word in decimals.split()))
    value = (value or ("zero" not in text)) + _ADDED_FRACTIONS.get(half, 0.0)
    return value, value
