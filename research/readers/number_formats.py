"""Numbers as people write them: marks of thousands and decimals, units, scales such as 万 and bn, signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

DecimalMark = Literal[".", ","]
MAX_INTEGER_DIGITS = 15  # longer ones are identifiers, which lose digits as numbers
_HAN_SCALES = {
    "千": 3, "仟": 3, "万": 4, "萬": 4, "十万": 5, "百万": 6, "百萬": 6, "千万": 7, "千萬": 7,
    "亿": 8, "億": 8, "十亿": 9, "百亿": 10, "千亿": 11, "万亿": 12, "萬億": 12,
    "천": 3, "만": 4, "백만": 6, "천만": 7, "억": 8,
}  # fmt: skip
_LETTER_SCALES = {
    "k": 3, "thousand": 3, "tsd": 3, "tsd.": 3, "m": 6, "mn": 6, "mm": 6, "mio": 6, "mio.": 6, "million": 6,
    "B": 9, "bn": 9, "mrd": 9, "mrd.": 9, "billion": 9, "tn": 12, "trillion": 12,
}  # fmt: skip
# A backslash is the yen sign in Shift_JIS and the won sign in EUC-KR.
_CURRENCIES = {
    "$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "¥", "￥": "¥", "元": "元", "人民币": "元", "HK$": "HKD",
    "\\": "\\", "円": "円", "圓": "元", "원": "원", "NT$": "TWD", "₹": "INR", "₩": "KRW", "₽": "RUB", "美元": "USD", "欧元": "EUR", "港元": "HKD", "日元": "JPY", "英镑": "GBP",
}  # fmt: skip
_CODES = (
    "USD",
    "EUR",
    "GBP",
    "CNY",
    "RMB",
    "JPY",
    "HKD",
    "CHF",
    "TWD",
    "KRW",
    "INR",
    "AUD",
    "CAD",
    "SGD",
    "SEK",
    "PLN",
)
_MEASURES = (
    "kg", "g", "t", "km", "cm", "mm", "km²", "km2", "m²", "m2", "m³", "m3", "ha", "kWh", "MWh", "GWh", "kW", "MW", "GW",
    "°C", "℃", "°", "mg", "ml", "l", "人", "人次", "户", "次", "个", "台", "件", "辆", "家", "所", "座", "套", "张", "本", "岁", "天",
    "小时", "分钟", "秒", "吨", "公斤", "千克", "克", "公里", "千米", "米", "厘米", "毫米", "平方公里", "平方千米", "平方米", "立方米",
    "公顷", "亩", "千瓦时", "度", "pcs", "hrs", "pp", "个百分点",
    "名", "回", "枚", "冊", "匹", "戸", "世帯", "명", "개", "대", "건", "회", "가구", "세대", "Stück", "Stk",
)  # fmt: skip
_WITHOUT_DECIMAL_COMMA = frozenset(("\\", "¥", "円", "元", "원", "KRW", "JPY", "CNY", "RMB", "TWD", "HKD"))
_PERCENTS = ("%", "％", "‰", "percent", "Prozent")
_SPACES = " \u00a0\u202f\u2009'’"


def _any_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_BEFORE = _any_of((*_CURRENCIES, *_CODES))
_AFTER = _any_of((*_CURRENCIES, *_CODES, *_MEASURES, *_PERCENTS))
_SCALE = _any_of((*_HAN_SCALES, *_LETTER_SCALES))
_NUMBER = re.compile(
    rf"(?P<open>[(（])?\s*(?P<sign>[-+−–－△▲])?\s*(?P<before>{_BEFORE})?\s*(?P<inner_sign>[-+−–－△▲])?\s*"
    rf"(?P<digits>\d[\d.,{_SPACES}]*|\.\d+)\s*(?:(?P<after>{_AFTER})|(?P<scale>{_SCALE})\s*(?P<scaled_unit>{_AFTER})?)?"
    r"\s*(?P<last_sign>-)?\s*(?P<close>[)）])?",
    re.IGNORECASE,
)
EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d{1,3}")
SHORTENED = re.compile(r"\d\.\d{1,14}E\+1\d")  # an identifier of over 11 digits that a spreadsheet program shortened
_POINT = re.compile(
    rf"(?:\d+|[1-9]\d{{0,2}}(?:[,{_SPACES}]\d{{3}})+|[1-9]\d?(?:,\d\d)+,\d{{3}})?(?:\.\d+)?",
)
_COMMA = re.compile(rf"(?:\d+|[1-9]\d{{0,2}}(?:[.{_SPACES}]\d{{3}})+)(?:,\d+)?")
_FULL_WIDTH = str.maketrans("０１２３４５６７８９．，", "0123456789.,")


class WrittenNumber(NamedTuple):
    """A number as it is written: its digits with marks, its unit, its power of ten, and its sign."""

    digits: str
    unit: str = ""
    power: int = 0
    has_letter_m: bool = False  # a lone m is million or metre
    is_negative: bool = False
    has_plus: bool = False


def parse_written(text: str) -> WrittenNumber | None:
    """Return the parts of a number, None if the text is none."""
    match = _NUMBER.fullmatch(text.translate(_FULL_WIDTH))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    scale = match["scale"] or ""
    symbols = [part for part in (match["before"], match["after"] or match["scaled_unit"]) if part]
    if scale.casefold() == "mm" and not match["before"]:
        return None
    if (
        len(scale) == 1
        and scale.isascii()
        and (scale == "b" or match[0][match.start("scale") - match.start() - 1].isspace())
    ):
        return None  # a mark beside a number, as in 59.1 b
    unit = " ".join(sorted({_standard_unit(symbol) for symbol in symbols}))
    signs = "".join(match[name] or "" for name in ("sign", "inner_sign", "last_sign"))
    is_negative = bool(match["open"]) != (sum(signs.count(mark) for mark in "-−–－△▲") % 2 == 1)
    power = _HAN_SCALES.get(scale) or _LETTER_SCALES.get(scale) or _LETTER_SCALES.get(scale.casefold(), 0)
    return WrittenNumber(
        match["digits"].strip(_SPACES), unit, power, scale == "m" and not match["before"], is_negative, "+" in signs
    )


def _standard_unit(symbol: str) -> str:
    upper = symbol.upper()
    if upper in _CURRENCIES or upper in _CODES:
        return _CURRENCIES.get(upper, upper)
    return {"％": "%", "percent": "%", "prozent": "%"}.get(symbol.casefold(), symbol)


def possible_marks(digits: Sequence[str]) -> tuple[DecimalMark, ...]:
    """Return the decimal marks with which all of these digits are numbers."""
    patterns: tuple[tuple[DecimalMark, re.Pattern[str]], ...] = ((".", _POINT), (",", _COMMA))
    return tuple(mark for mark, pattern in patterns if all(map(pattern.fullmatch, digits)))


def has_marks(digits: Sequence[str]) -> bool:
    """Return True if some digits have a point or a comma among them."""
    return any("." in text or "," in text for text in digits)


def uses_points(unit: str) -> bool:
    """Return True for a currency of East Asia, whose amounts are never written with a decimal comma."""
    return unit in _WITHOUT_DECIMAL_COMMA


def are_arrows(texts: Sequence[str]) -> bool:
    """Return True if triangles before numbers may be arrows, as every number but zero has one.

    Japanese accounts write a minus as a triangle, and other numbers without a sign.
    """
    has_triangles = any(text.startswith(("△", "▲")) for text in texts)
    return has_triangles and all(text.startswith(("△", "▲")) or not text.strip("0.,%％ ") for text in texts)


def is_identifier(digits: Sequence[str]) -> bool:
    """Return True if some digits begin with a needless zero, or are too many for a number."""
    return any(re.fullmatch(r"0\d+", text) or (text.isdigit() and len(text) > MAX_INTEGER_DIGITS) for text in digits)


def to_plain(number: WrittenNumber, mark: str) -> str | None:
    """Return a number with a point as decimal mark and no other marks; None if its digits do not fit the mark."""
    pattern = _POINT if mark == "." else _COMMA
    if not pattern.fullmatch(number.digits) or is_identifier([number.digits]):
        return None
    digits = re.sub(rf"[{_SPACES}{',' if mark == '.' else '.'}]", "", number.digits).replace(",", ".")
    value = Decimal(digits).scaleb(number.power)
    return format(-value if number.is_negative else value, "f")
