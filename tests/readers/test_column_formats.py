"""Columns are read as people write them: marks, units, dates, missing values; what is open stays text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from research.readers.column_formats import ColumnFormat, convert, detect_format
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
        (["110101199003078888", "110101199003078889"], "identifier"),
        (["a", "1"], ""),
        (["-", "无"], ""),
        (["31/12/2024", "12/31/2024"], ""),
    ],
)
def test_what_can_be_read_in_two_ways_stays_text_with_the_reason(values: list[str], reason: str) -> None:
    assert detect_format(values) == ColumnFormat(reason=reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["x", "1.234.5", "1,2,3", "12 EUR"])
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
