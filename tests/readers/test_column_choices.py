"""Types chosen for a column, and the values that are not of the type of the others."""

from __future__ import annotations

import pytest

from research.readers.column_choices import ColumnChoice, choose_format, find_odd_values
from research.readers.column_formats import convert, detect_format


@pytest.mark.parametrize(
    ("choice", "values", "converted"),
    [
        ("number", ["1.234,50", "ca. 3", "2,5"], ["1234.50", None, "2.5"]),
        ("number", ["3 €", "4 €", "5"], ["3", "4", None]),
        ("number-point", ["1,234"], ["1234"]),
        ("number-comma", ["1,234"], ["1.234"]),
        ("integer", ["12", "u", "1.5"], ["12", None, None]),
        ("date", ["31/12/2024", "01/02/2024", "soon"], ["2024-12-31", "2024-02-01", None]),
        ("date-dmy", ["03/04/2024"], ["2024-04-03"]),
        ("date-mdy", ["03/04/2024"], ["2024-03-04"]),
        ("boolean", ["yes", "no", "perhaps"], ["true", "false", None]),
        ("text", ["1", "2"], ["1", "2"]),
    ],
)
def test_a_chosen_type_reads_what_is_of_it(
    choice: ColumnChoice, values: list[str], converted: list[str | None]
) -> None:
    form = choose_format(choice, detect_format(values), values)
    assert [convert(value, form) for value in values] == converted


@pytest.mark.parametrize(
    ("values", "kind", "examples"),
    [
        ([*"1234567", "ca. 8", "N/A", ""], "number", ("ca. 8",)),
        ([f"0{n}.03.2024" for n in range(1, 9)] + ["unbekannt"], "date", ("unbekannt",)),
        ([f"{n},50" for n in range(9)] + ["etwa 3", "etwa 3"], "number", ("etwa 3",)),
    ],
)
def test_few_odd_values_among_numbers_or_dates_are_found(values: list[str], kind: str, examples: tuple[str]) -> None:
    odd = find_odd_values(values)
    assert odd is not None and (odd.type, odd.examples) == (kind, examples)


@pytest.mark.parametrize(
    "values", [["a", "b", "1", "c", "d"], ["1", "x"], [*"12345"], ["1a", "2b", "3", "4", "5c", "6d"]]
)
def test_other_columns_have_no_odd_values(values: list[str]) -> None:
    assert find_odd_values(values) is None
