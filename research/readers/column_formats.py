"""Forms in which the values of a column are written: numbers, dates, truth values and missing values.

A form is detected for the whole column: every value must be written in it, or the column stays text. What
one value leaves open (is 1,234 a thousand, is 03/04 in March?) another one of the column settles, or other
columns of the file do; if none does, the column stays text with the reason, or the doubt is recorded.
`convert` brings a value to the form that the database reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from research.core.records import Record
from research.readers import date_formats, number_formats
from research.readers.date_formats import DateOrder, parse_moment
from research.readers.number_formats import DecimalMark, WrittenNumber, parse_written

ValueKind = Literal["text", "integer", "number", "date", "datetime", "boolean"]
TextReason = Literal[
    "", "day or month first", "different units", "identifier", "names", "thousands or decimals", "two-digit years",
    "shortened", "other values", "metres or millions",
]  # fmt: skip
MAX_VALUE_CHARS = 60  # longer ones are text, which no pattern has to search
MIN_TYPED_SHARE = 0.75  # of values from which on a column of text is said to hold numbers or dates
EXCEL_ERRORS = frozenset(("#n/a", "#ref!", "#value!", "#div/0!", "#name?", "#num!", "#null!", "#spill!", "#calc!"))
MISSING_WORDS = EXCEL_ERRORS | frozenset(
    (
        "n/a", "n.a.", "n.a", "na", "null", "none", "nan", "nil", "nat", "<na>", "\\n", "-", "–", "—", "--", "——", "－", "---",
        "...", "…", "..", "……", ".", ":", "?", "/", "无", "暂无", "不详", "未知", "空", "缺失", "不适用", "无数据", "k.a.",
        "k. a.", "x", "*", "**", "***", "nd", "n.d.", "(d)", "(z)", "(s)", "(x)", "(n)", "(na)", "−", "―", "─", "‐", "ー",
        "无资料", "無", "暫無", "不詳", "不適用", "沒有", "なし", "該当なし", "不明", "秘匿", "미상", "없음", "해당없음",
    )
)  # fmt: skip
_IDENTIFIER_HEADING = re.compile(
    r"电话|手机|传真|邮编|邮政编码|身份证|证件号|卡号|账号|帐号|版本|条形?码|統一編號"
    r"|(?:^|[\W_])(?:phone|telephone|tel|mobile|fax|zip|zip[\W_]?code|postal|post[\W_]?code|plz|isbn|issn|ean|upc|version"
    r"|iban|ssn)(?:$|[\W_])",
    re.IGNORECASE,
)
_DATE_HEADING = re.compile(r"日期|时间|日$|date|datum|day|fecha|giorno", re.IGNORECASE)
_SCALED_HEADING = re.compile(r"[千万亿]|thousand|million|billion|\b(?:mn|bn)\b", re.IGNORECASE)
# Values that the database reads as they are; it reads 年, 月 and 日 as dashes.
_ISO_DAY = r"\d{4}(?:-\d{1,2}-\d{1,2}|/\d{1,2}/\d{1,2}|\.\d{1,2}\.\d{1,2}|年\d{1,2}月\d{1,2}日)"
_PLAIN: dict[ValueKind, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "number": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"),
    "date": re.compile(_ISO_DAY),
    "datetime": re.compile(_ISO_DAY + r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
}
_YEAR_MONTH = re.compile(r"(?:19|20)[0-9]{2}\.(?:0?[1-9]|1[0-2])")  # as a number, October would equal January
_CODE_WITH_E = re.compile(r"[0-9]+E[0-9]+")  # programs write numbers with a sign or a point: 1E+05
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?")
_INTEGER_LINE = r"-?(?:0|[1-9][0-9]{0,14})"
_ORDINARY: dict[tuple[ValueKind, DecimalMark], re.Pattern[str]] = {  # lines of numbers that need no care
    (kind, mark): re.compile(rf"{line}(?:\n{line})*+")
    for kind in ("integer", "number")
    for mark in (".", ",")
    for line in (_INTEGER_LINE + (rf"(?:[{mark}][0-9]+)?" if kind == "number" else ""),)
}  # type: ignore[misc, unused-ignore]
_MAX_KNOWN_VALUES = 50_000  # of a column
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4}(?:\.[0-9]+)?")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "是": True, "否": False}


class NumberCell(str):
    """The text of a cell that a workbook stores as a number, with a point as decimal mark."""

    __slots__ = ()


class DateCell(str):
    """The text of a cell that a workbook stores as a day or a moment, in ISO form."""

    __slots__ = ()


class ColumnFormat(Record):
    """The form in which a column is written.

    Attributes:
        kind: the type of its values.
        decimal_mark: "." or ",", of numbers.
        unit: the unit that stands at every value, such as EUR or %; "" for none. Of moments, the offset from UTC.
        date_order: "dmy" or "mdy", of dates such as 03/04/2024; "" for others.
        missing: number of values that only say that there is none, such as N/A.
        reason: why a column that looks like numbers or dates stays text.
        example: a value because of which it stays text.
        is_plain: whether the database reads all values as they are written.
        is_doubtful: whether nothing tells thousands from decimals, as in 1,234 alone.
        is_scaled: whether values such as 3.2万 are multiplied out.
        is_compact: whether days are written as in 20240305.
        serials: number of serial day numbers among the dates of a workbook.
    """

    kind: ValueKind = "text"
    decimal_mark: DecimalMark = "."
    unit: str = ""
    date_order: DateOrder = ""
    missing: int = 0
    reason: TextReason = ""
    example: str = ""
    is_plain: bool = True
    is_doubtful: bool = False
    is_scaled: bool = False
    is_compact: bool = False
    serials: int = 0


class StyleHints(NamedTuple):
    """The marks and orders that other columns of the file use for sure, and its delimiter."""

    decimal_marks: frozenset[str] = frozenset()
    date_orders: frozenset[DateOrder] = frozenset()
    delimiter: str = ","


NO_HINTS = StyleHints()


def find_hints(columns: Iterable[Sequence[str]], delimiter: str = ",") -> StyleHints:
    """Return the style of the columns that leave no doubt."""
    marks, orders = set[str](), set[DateOrder]()
    for values in columns:
        present = _present(values)
        if not present or max(map(len, present)) > MAX_VALUE_CHARS:
            continue
        numbers = [number for value in present if type(value) is str and (number := parse_written(value))]
        digits = [number.digits for number in numbers]
        if len(numbers) == len(present) and number_formats.has_marks(digits):
            possible = number_formats.possible_marks(digits)
            marks.update(possible if len(possible) == 1 else ())
        if any(map(date_formats.is_numeric_day, present)):
            day_orders = date_formats.possible_orders(present)
            orders.update(day_orders if len(day_orders) == 1 else ())
    return StyleHints(frozenset(marks), frozenset(orders), delimiter)


def _present(values: Iterable[str]) -> list[str]:
    """Return the values that are neither blank nor say that there is none."""
    filled = (value if type(value) is not str else value.strip() for value in values)
    return [text for text in filled if text and text.casefold() not in MISSING_WORDS]


def detect_format(values: Iterable[str], hints: StyleHints = NO_HINTS, heading: str = "") -> ColumnFormat:
    """Return the form of the values of a column, of which blank ones do not count."""
    listed = list(values)
    filled_count = sum(1 for value in listed if value.strip())
    present = _present(listed)
    if not present or max(map(len, present)) > MAX_VALUE_CHARS:
        return ColumnFormat()
    if all(value.casefold() in _TRUTH for value in present):
        found: ColumnFormat | None = ColumnFormat(kind="boolean")
    else:
        found = _detect_day(present, hints, heading) or _detect_number(present, hints, heading)
    if found is None:
        return _explain_text(present, hints, heading)
    if found.reason:
        return found
    plain = _PLAIN[found.kind]
    is_plain = filled_count == len(present) and all(map(plain.fullmatch, present)) and not found.is_compact
    return found.model_copy(update={"missing": filled_count - len(present), "is_plain": is_plain})


def _is_number(text: str) -> bool:
    number = parse_written(text)
    return number is not None and bool(number_formats.possible_marks([number.digits]))


def _explain_text(present: Sequence[str], hints: StyleHints, heading: str) -> ColumnFormat:
    """Return the form of a column of text; with the reason if nearly all of its values are numbers or dates."""
    others = [value for value in present if not _is_number(value) and not parse_moment(value, "dmy")]
    if 0 < len(others) <= (1 - MIN_TYPED_SHARE) * len(present):
        return ColumnFormat(reason="other values", example=others[0])
    if not others and len(present) > 1:  # numbers beside dates
        days = sum(parse_moment(value, "dmy") is not None for value in present)
        rarer = [value for value in present if (parse_moment(value, "dmy") is not None) == (2 * days < len(present))]
        return ColumnFormat(reason="other values", example=(rarer or present)[0])
    return ColumnFormat()


def _detect_day(values: Sequence[str], hints: StyleHints, heading: str) -> ColumnFormat | None:
    moments = [parse_moment(value) for value in values]
    if all(moments):
        zones = {moment.zone for moment in moments if moment}
        has_times = any(moment and moment.time for moment in moments)
        if len(zones) > 1:
            return None
        order: DateOrder = "dmy" if any(map(date_formats.is_dotted_day, values)) else ""
        return ColumnFormat(kind="datetime" if has_times else "date", unit=zones.pop(), date_order=order)
    if any(isinstance(value, DateCell) for value in values):
        serials = [value for value, moment in zip(values, moments, strict=True) if not moment]
        if all(isinstance(value, NumberCell) and date_formats.parse_serial_day(value) for value in serials):
            has_times = any(moment and moment.time for moment in moments)
            return ColumnFormat(kind="datetime" if has_times else "date", serials=len(serials))
    if all(map(date_formats.parse_compact_day, values)) and (len(set(values)) > 1 or _DATE_HEADING.search(heading)):
        return ColumnFormat(kind="date", is_compact=True)
    if all(map(date_formats.has_short_year, values)):
        return ColumnFormat(reason="two-digit years")
    if not any(map(date_formats.is_numeric_day, values)):
        return None
    orders = date_formats.possible_orders(values)
    if len(orders) > 1 and len(hints.date_orders) == 1:
        orders = tuple(hints.date_orders)
    if len(orders) > 1:
        return ColumnFormat(reason="day or month first")
    if not orders:
        return None
    found = [parse_moment(value, orders[0]) for value in values]
    zones = {moment.zone for moment in found if moment}
    kind: ValueKind = "datetime" if any(moment and moment.time for moment in found) else "date"
    return ColumnFormat(kind=kind, date_order=orders[0], unit=zones.pop()) if len(zones) == 1 else None


def _detect_number(values: Sequence[str], hints: StyleHints, heading: str) -> ColumnFormat | None:
    exponents = [value for value in values if number_formats.EXPONENT.fullmatch(value)]
    texts = [value for value in exponents if type(value) is str]
    if texts and len(texts) == len(values) and all(map(number_formats.SHORTENED.fullmatch, texts)):
        return ColumnFormat(reason="shortened", example=texts[0])
    if any(map(_CODE_WITH_E.fullmatch, texts)):
        return ColumnFormat(reason="names")
    if len(exponents) == len(values):
        return ColumnFormat(kind="number")
    plain = [value for value in values if not number_formats.EXPONENT.fullmatch(value)]
    numbers = [number for value in plain if (number := parse_written(value))]
    if len(numbers) < len(plain):
        return None
    digits = [number.digits for number in numbers]
    if not all(number_formats.possible_marks([text]) for text in digits):
        return None
    if number_formats.is_identifier(digits):
        return ColumnFormat(reason="identifier")
    if len(set(digits)) > 1 and all(map(_YEAR_MONTH.fullmatch, digits)):
        return ColumnFormat(reason="names")
    if _IDENTIFIER_HEADING.search(heading) or all(n.has_plus and len(n.digits) > 7 for n in numbers):
        return ColumnFormat(reason="names")
    if number_formats.are_arrows(plain):
        return ColumnFormat(reason="other values", example=plain[0])
    if reason := _find_unit_doubt(numbers, heading):
        return ColumnFormat(reason=reason)
    return _read_marks(plain, numbers, hints, has_exponents=bool(exponents))


def _find_unit_doubt(numbers: Sequence[WrittenNumber], heading: str) -> TextReason:
    """Return the reason why units or scales keep a column text, "" for none."""
    if len({number.unit for number in numbers}) > 1:
        return "different units"
    if any(number.power for number in numbers) and _SCALED_HEADING.search(heading):
        return "different units"  # 3.2万 in a column of 万元
    has_other_scale = any(number.power and not number.has_letter_m for number in numbers)
    if any(number.has_letter_m for number in numbers) and not has_other_scale:
        return "metres or millions"
    return ""


def _read_marks(
    values: Sequence[str], numbers: Sequence[WrittenNumber], hints: StyleHints, *, has_exponents: bool
) -> ColumnFormat:
    """Return the form of a column of numbers, by the marks of those that are written as text."""
    written = [n.digits for value, n in zip(values, numbers, strict=True) if not isinstance(value, NumberCell)]
    typed = [n.digits for value, n in zip(values, numbers, strict=True) if isinstance(value, NumberCell)]
    marks = number_formats.possible_marks(written)
    is_doubtful = False
    if not marks:
        return ColumnFormat(reason="thousands or decimals")
    mark: DecimalMark = marks[0]
    if len(marks) > 1 and number_formats.has_marks(written):
        if len(hints.decimal_marks) == 1:
            mark = "," if "," in hints.decimal_marks else "."
        elif not any("." in text for text in written) and (
            number_formats.uses_points(numbers[0].unit) or (typed and not any("." in text for text in typed))
        ):
            mark = "."  # amounts in yen, or texts such as (1,204) beside cells that hold whole numbers
        elif hints.decimal_marks or hints.delimiter == ";":
            return ColumnFormat(reason="thousands or decimals")
        else:
            is_doubtful = True
    has_scale = any(number.power for number in numbers)
    has_fraction = any(mark in text for text in written) or any("." in text for text in typed)
    is_whole = not (has_scale or has_exponents or has_fraction)
    return ColumnFormat(
        kind="integer" if is_whole else "number",
        decimal_mark=mark,
        unit=numbers[0].unit,
        is_doubtful=is_doubtful,
        is_scaled=has_scale,
    )


def convert(text: str, form: ColumnFormat) -> str | None:
    """Return a value in the form that the database reads: ISO days, numbers with a point, true and false.

    Returns "" for a missing value, and None for one that is not written in the form of the column.
    """
    if form.kind == "text":
        return text
    stripped = text if type(text) is not str else text.strip()
    if not stripped or stripped.casefold() in MISSING_WORDS:
        return ""
    if len(stripped) > MAX_VALUE_CHARS:
        return None
    if form.kind == "boolean":
        truth = _TRUTH.get(stripped.casefold())
        return None if truth is None else str(truth).lower()
    if form.kind in ("date", "datetime"):
        return _convert_moment(stripped, form)
    return _convert_number(stripped, form)


def _convert_moment(text: str, form: ColumnFormat) -> str | None:
    if (
        len(text) == 10 and form.kind == "date" and not form.unit and _ISO_DATE.fullmatch(text)
    ):  # the most frequent form
        with suppress(ValueError):
            return date.fromisoformat(text).isoformat()
        return None
    moment = parse_moment(text, form.date_order)
    if moment is None:
        day = date_formats.parse_compact_day(text) if form.is_compact else None
        if form.serials and isinstance(text, NumberCell):
            day = date_formats.parse_serial_day(text)
        return day.isoformat() if day else None
    if moment.zone != form.unit or (moment.time and form.kind == "date"):
        return None
    return str(moment)


def _convert_number(text: str, form: ColumnFormat) -> str | None:
    if form.unit in ("", "%") and type(text) is str:  # the most frequent forms
        digits = text.removesuffix("%") if form.unit else text
        if digits != text or not form.unit:
            if _PLAIN_NUMBER.fullmatch(digits) and (form.decimal_mark == "." or "." not in digits):
                return None if form.kind == "integer" and "." in digits else digits
            if form.decimal_mark == "." and _THOUSANDS.fullmatch(digits):
                return None if form.kind == "integer" and "." in digits else digits.replace(",", "")
    if number_formats.EXPONENT.fullmatch(text):
        return text if form.kind == "number" else None
    number = parse_written(text)
    if number is None or number.unit != form.unit or (number.power and not form.is_scaled):
        return None
    plain = number_formats.to_plain(number, "." if isinstance(text, NumberCell) else form.decimal_mark)
    if plain is None or (form.kind == "integer" and "." in plain):
        return None
    return plain


class ColumnConverter:
    """Converts many values of a column at once, with the results of `convert`."""

    def __init__(self, form: ColumnFormat) -> None:
        self._form = form
        self._known: dict[str, str | None] = {}
        self._ordinary = _ORDINARY.get((form.kind, form.decimal_mark)) if not form.unit else None

    def convert(self, values: Sequence[str]) -> Sequence[str | None]:
        """Return the converted values, in their order."""
        if self._form.kind == "text":
            return values
        types = set(map(type, values))
        if self._ordinary and (types == {str} or (types == {NumberCell} and self._form.decimal_mark == ".")):
            joined = "\n".join(values)
            if self._ordinary.fullmatch(joined):
                converted = joined.replace(",", ".").split("\n")
                if len(converted) == len(values):
                    return converted
        if types != {str}:  # the same text may be a number or a text in a cell
            return [convert(value, self._form) for value in values]
        if len(self._known) > _MAX_KNOWN_VALUES:
            self._known.clear()
        known = self._known
        for value in set(values).difference(known):
            known[value] = convert(value, self._form)
        return list(map(known.__getitem__, values))


def is_date_heading(heading: str) -> bool:
    """Return True if a heading names dates."""
    return bool(_DATE_HEADING.search(heading))


def to_decimal(text: str) -> Decimal | None:
    """Return a converted number, None for a blank or another text."""
    try:
        value = Decimal(text) if text.strip() else None
    except InvalidOperation:
        return None
    return value if value is not None and value.is_finite() else None
