"""Columns are read as people write them: marks, units, dates, missing values; what is open stays text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from research.readers.column_formats import (
    ColumnFormat,
    DateCell,
    NumberCell,
    StyleHints,
    convert,
    detect_format,
    find_hints,
)
from tests.tables import each_row

READ: list[tuple[Sequence[str], str, Sequence[str]]] = [
    (["1.234,50", "987,00", "12.000,25"], "number", ["1234.50", "987.00", "12000.25"]),
    (["3236,25", "12,5"], "number", ["3236.25", "12.5"]),
    (["1,234.50", "900.00", "12,000.00"], "number", ["1234.50", "900.00", "12000.00"]),
    (["1,234", "5,678"], "integer", ["1234", "5678"]),
    (["1\u00a0234", "2\u00a0500"], "integer", ["1234", "2500"]),
    (["1'234", "2'000"], "integer", ["1234", "2000"]),
    (["(1,200)", "300"], "integer", ["-1200", "300"]),
    (["\u22125", "+3", "-2"], "integer", ["-5", "3", "-2"]),
    (["12,5%", "9,8%"], "number", ["12.5", "9.8"]),
    (["$1,200", "$30"], "integer", ["1200", "30"]),
    (["1.2亿", "3500万"], "number", ["120000000", "35000000"]),
    (["5", "N/A", "-", "null", "7"], "integer", ["5", "", "", "", "7"]),
    (["1e5", "2"], "number", ["1e5", "2"]),
    (["03/04/2024", "12/25/2024"], "date", ["2024-03-04", "2024-12-25"]),
    (["03.04.2024", "25.12.2024"], "date", ["2024-04-03", "2024-12-25"]),
    (["5 Mar 2024", "25-Dec-2024", "Jan 31, 2024"], "date", ["2024-03-05", "2024-12-25", "2024-01-31"]),
    (["2024-3-5", "2024年3月6日"], "date", ["2024-03-05", "2024-03-06"]),
    (["2024-03-05 10:00", "2024-03-06"], "datetime", ["2024-03-05 10:00", "2024-03-06"]),
    (["是", "否"], "boolean", ["true", "false"]),
    (["0,125", "0,250"], "number", ["0.125", "0.250"]),
    (["3.2万", "800", "1.1亿"], "number", ["32000", "800", "110000000"]),
    (["$1.5m", "$2bn", "$300k"], "number", ["1500000", "2000000000", "300000"]),
    (["1.234,50-", "2.000,00"], "number", ["-1234.50", "2000.00"]),
    (["12 kg", "3.5 kg"], "number", ["12", "3.5"]),
    (["１２", "３４"], "integer", ["12", "34"]),
    (["12,34,567", "1,00,000"], "integer", ["1234567", "100000"]),
    (["#N/A", "12", "#DIV/0!"], "integer", ["", "12", ""]),
    (["20240305", "20241231"], "date", ["2024-03-05", "2024-12-31"]),
    (["5-Mar-24", "6-Apr-99"], "date", ["2024-03-05", "1999-04-06"]),
    (["05/03/2024 14:30", "25/03/2024 15:30"], "datetime", ["2024-03-05 14:30", "2024-03-25 15:30"]),
    (["3/5/2024 3:05 PM", "3/25/2024 12:05 AM"], "datetime", ["2024-03-05 15:05", "2024-03-25 00:05"]),
    (["2024-03-05T10:00:00Z", "2024-03-06T10:00:00Z"], "datetime", ["2024-03-05 10:00:00", "2024-03-06 10:00:00"]),
    (["3.4.2024", "5.6.2024"], "date", ["2024-04-03", "2024-06-05"]),
]


@each_row(("values", "kind", "converted"), READ)
def test_a_column_is_read_as_it_is_written(values: list[str], kind: str, converted: list[str]) -> None:
    form = detect_format(values)
    assert (form.kind, [convert(value, form) for value in values]) == (kind, converted)


@each_row(
    ("values", "reason"),
    [
        (["03/04/2024", "05/06/2024"], "day or month first"),
        (["¥1200", "$15.50", "1200元"], "different units"),
        (["007", "012"], "identifier"),
        (["03/04/24", "25/04/24"], "two-digit years"),
        (["5 km", "3.2 kg"], "different units"),
        (["1.5m", "2m"], "metres or millions"),
        (["1,5", "2.5"], "thousands or decimals"),
        (["2024.9", "2024.10"], "names"),
        (["1E5", "2E3"], "names"),
        (["5A", "4A"], ""),
        (["2024Q1", "2024Q2"], ""),
        (["民国113年", "民国114年"], ""),
        (["1.1.2", "1.2.3", "1.10"], ""),
        (["+8613800138000", "+8613900139000"], "names"),
        (["110101199003078888", "110101199003078889"], "identifier"),
        (["a", "1"], ""),
        (["-", "无"], ""),
        (["31/12/2024", "12/31/2024"], ""),
    ],
)
def test_what_can_be_read_in_two_ways_stays_text_with_the_reason(values: list[str], reason: str) -> None:
    assert detect_format(values) == ColumnFormat(reason=reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["u", "1.234.5", "1,2,3", "12 EUR"])
def test_a_later_value_in_another_form_is_not_converted(value: str) -> None:
    assert convert(value, detect_format(["1.5", "2"])) is None


def test_the_unit_and_the_number_of_missing_values_are_known() -> None:
    form = detect_format(["5 €", "n/a", "7 €"])
    assert (form.unit, form.missing, form.is_plain) == ("EUR", 1, False)
    assert detect_format(["5", "7"]).is_plain


@each_row(
    ("values", "doubtful"),
    [
        (["1,234", "5,678"], True),
        (["1.234", "2.345"], True),
        (["1,234", "5,678.50"], False),
        (["1.234", "0.5"], False),
        (["1,234,567", "8"], False),
        (["12", "7"], False),
    ],
)
def test_a_mark_that_may_be_of_thousands_or_decimals_is_doubtful(values: list[str], doubtful: bool) -> None:
    assert detect_format(values).is_doubtful == doubtful


@each_row(
    ("values", "reason"),
    [
        (["12", "13", "14", "15 p"], "other values"),
        (["59.1 b", "47.4", "8.9", "67.6"], "other values"),
        (["2024-01-05", "2024-01-06", "2024-01-07", "待定"], "other values"),
        (["4.40105E+17", "4.40106E+17"], "shortened"),
    ],
)
def test_a_value_that_keeps_a_column_text_is_named(values: list[str], reason: str) -> None:
    form = detect_format(values)
    assert (form.kind, form.reason) == ("text", reason)
    assert form.example in values


@each_row(
    ("heading", "values", "reason"),
    [
        ("手机", ["13800138000", "13900139000"], "names"),
        ("version", ["1.10", "1.9"], "names"),
        ("ZIP code", ["10115", "20095"], "names"),
        ("金额（万元）", ["3.2万", "800"], "different units"),
        ("conversion", ["1.10", "1.9"], ""),
    ],
)
def test_a_heading_tells_identifiers_and_units(heading: str, values: list[str], reason: str) -> None:
    assert detect_format(values, heading=heading).reason == reason


def test_other_columns_of_the_file_settle_marks_and_orders() -> None:
    german = find_hints([["405,2", "141,1"], ["1.234", "987"]], ";")
    form = detect_format(["1.234", "987"], german)
    assert (form.kind, form.is_doubtful, convert("1.234", form)) == ("integer", False, "1234")
    american = find_hints([["1,234.56", "2.5"]])
    assert not detect_format(["1,234", "5,678"], american).is_doubtful
    both = find_hints([["405,2", "141,1"], ["1,234.56", "2.5"]])
    assert detect_format(["1.234", "2.345"], both).reason == "thousands or decimals"
    assert detect_format(["1,234", "5,678"], StyleHints(delimiter=";")).reason == "thousands or decimals"
    days = find_hints([["25/04/2024", "05/04/2024"]])
    assert detect_format(["03/04/2024", "05/04/2024"], days).date_order == "dmy"


def test_cells_of_a_workbook_have_no_doubtful_marks() -> None:
    form = detect_format([NumberCell("1.234"), NumberCell("5.678")])
    assert (form.kind, form.is_doubtful) == ("number", False)
    assert detect_format([NumberCell("1.234"), "5,678"]).is_doubtful


def test_a_serial_number_among_dates_is_a_day() -> None:
    values = [DateCell("2024-03-05"), DateCell("2024-03-06 14:30:00"), NumberCell("45358")]
    form = detect_format(values)
    assert (form.kind, form.serials, convert(values[2], form)) == ("datetime", 1, "2024-03-07")
    assert detect_format(["2024-03-05", "45358"]).kind == "text"
    assert detect_format([DateCell("2024-03-05"), NumberCell("3")]).kind == "text"
