"""Rows leave the house with their types, and no cell of theirs becomes a formula or a mark-up."""

from __future__ import annotations

import csv as table_of
from datetime import date, datetime
from io import BytesIO, StringIO
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook
from pyarrow import parquet as files

from research.core.records import ColumnCoverage, QueryResult
from research.export.database_rows import rows_arrow_table, rows_excel, rows_table
from research.export.spreadsheet_text import MAX_CELL_CHARS
from research.export.table_csv import table_csv
from research.export.table_model import unique_names
from research.export.table_parquet import table_parquet
from research.sources.database.results import infer_type
from tests.tables import each_row

FORMULAS = ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", "  =1", "'=1"]
HOSTILE = [*FORMULAS, "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "a,b\r\n\"c\"", "#N/A", "$\\LaTeX$", ":material/x:"]  # fmt: skip
SQL = "SELECT 1"


def rows_csv(found: QueryResult) -> bytes:
    return table_csv([rows_table(found)])


def rows_parquet(found: QueryResult) -> bytes:
    return table_parquet(rows_table(found))


def rows(names: tuple[str, ...], *lines: tuple[Any, ...], **more: Any) -> QueryResult:
    columns = list(zip(*lines, strict=True)) if lines else [()] * len(names)
    return QueryResult(sql=SQL, names=names, rows=lines, types=tuple(infer_type(column) for column in columns), **more)


MIXED = rows(
    ("gid", "名称", "price", "open", "day", "at", "none"),
    (1, "西湖", 60.5, True, "2024-02-29", "2024-02-29T08:30:00", None),
    (2, None, None, None, None, None, None),
    (3, "故宫", -1.0, False, "1999-12-31", "2024-03-01 00:00:00", None),
)


def read(data: bytes) -> list[list[str]]:
    text = data.decode("utf-8")
    assert text.startswith("\ufeff")
    return list(table_of.reader(StringIO(text.removeprefix("\ufeff"))))


def sheet(data: bytes) -> Any:
    return load_workbook(BytesIO(data))["rows"]


def test_a_table_has_the_types_of_its_columns() -> None:
    found = rows_arrow_table(MIXED)
    assert found.column_names == list(MIXED.names)
    assert [field.type for field in found.schema] == [
        pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.string(),
    ]  # fmt: skip
    assert found.column("day").to_pylist() == [date(2024, 2, 29), None, date(1999, 12, 31)]
    assert found.column("名称").to_pylist() == ["西湖", None, "故宫"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2024-02-30", "2024-02-01"], "date"),
        ([2**70, 1], "integer"),
        (["2024-02-01T00:00:00Z", "2024-02-01 00:00:00"], "datetime"),
    ],
)
def test_what_is_not_of_its_type_is_text_and_nothing_is_lost(values: list[Any], kind: str) -> None:
    found = rows(("a",), *((value,) for value in values))
    assert found.types == (kind,)
    assert rows_arrow_table(found).column("a").to_pylist() == [str(value) for value in values]
    assert [line[0] for line in read(rows_csv(found))[1:]] == [str(value) for value in values]
    assert [sheet(rows_excel(found)).cell(n, 1).value for n in (2, 3)] == [str(v) for v in values]


def test_names_that_are_there_twice_are_told_apart() -> None:
    assert unique_names(("name", "name", "name (2)", "name")) == ("name", "name (3)", "name (2)", "name (4)")  # fmt: skip
    twice = rows(("name", "name"), ("西湖", "West Lake"))
    assert read(rows_csv(twice)) == [["name", "name (2)"], ["西湖", "West Lake"]]


def test_no_row_leaves_the_names_of_the_columns() -> None:
    nothing = rows(("a", "b"))
    assert read(rows_csv(nothing)) == [["a", "b"]]
    assert rows_arrow_table(nothing).num_rows == 0
    assert [cell.value for cell in sheet(rows_excel(nothing))[1]] == ["a", "b"]
    assert files.read_table(BytesIO(rows_parquet(nothing))).column_names == ["a", "b"]


def test_a_csv_has_numbers_as_they_are_and_null_as_nothing() -> None:
    assert read(rows_csv(MIXED)) == [
        list(MIXED.names),
        ["1", "西湖", "60.5", "true", "2024-02-29", "2024-02-29T08:30:00", ""],
        ["2", "", "", "", "", "", ""],
        ["3", "故宫", "-1", "false", "1999-12-31", "2024-03-01 00:00:00", ""],
    ]


@each_row("text", FORMULAS)
def test_no_cell_of_a_csv_is_a_formula_not_even_a_name(text: str) -> None:
    (name,), (cell,) = read(rows_csv(rows((text,), (text,))))
    assert name == cell == f"'{text}"


@each_row("text", HOSTILE)
def test_excel_has_every_text_as_a_text(text: str) -> None:
    found = sheet(rows_excel(rows((text,), (text,))))
    for cell in (found["A1"], found["A2"]):
        assert cell.value.replace("\r\n", "\n") == text.replace("\r\n", "\n")
        assert cell.data_type == "s"
        assert cell.quotePrefix


def test_excel_has_typed_cells_and_the_statement() -> None:
    book = load_workbook(BytesIO(rows_excel(MIXED)))
    assert [cell.value for cell in book["rows"][2]] == [
        1, "西湖", 60.5, True, datetime(2024, 2, 29), datetime(2024, 2, 29, 8, 30), None,
    ]  # fmt: skip
    assert book["rows"].freeze_panes == "A2"
    assert book["SQL"]["A1"].value == SQL


@each_row(
    ("value", "text"),
    [
        (10**15, "1000000000000000"),
        ("1899-12-31", "1899-12-31"),
        ("1066-10-14T09:00:00", "1066-10-14 09:00:00"),
        ("2024-02-01T00:00:00+08:00", "2024-02-01T00:00:00+08:00"),
    ],
)
def test_what_excel_cannot_hold_is_text_there(value: Any, text: str) -> None:
    cell = sheet(rows_excel(rows(("a",), (value,))))["A2"]
    assert (cell.value, cell.data_type) == (text, "s")


def test_a_cell_is_cut_where_a_spreadsheet_would_spill_and_not_in_parquet() -> None:
    long = rows(("a",), ("湖" * 100_000,))
    assert len(read(rows_csv(long))[1][0]) == MAX_CELL_CHARS
    assert len(sheet(rows_excel(long))["A2"].value) == MAX_CELL_CHARS
    assert files.read_table(BytesIO(rows_parquet(long))).column("a").to_pylist() == ["湖" * 100_000]


def test_parquet_has_the_types_and_the_statement() -> None:
    found = files.read_table(BytesIO(rows_parquet(MIXED)))
    assert found.to_pylist() == rows_arrow_table(MIXED).to_pylist()
    assert found.schema.types == rows_arrow_table(MIXED).schema.types
    assert found.schema.metadata[b"sql"] == SQL.encode()


def test_for_how_many_rows_a_column_is_known_goes_with_the_statement() -> None:
    found = rows(("n",), (1,), coverage=(ColumnCoverage(columns=("=price",), known=3, rows=5),))
    line = "=price：5 行中有 3 行已知。 / =price: known for 3 of 5 rows."
    cell = load_workbook(BytesIO(rows_excel(found)))["SQL"]["A2"]
    assert (cell.value, cell.data_type) == (line, "s")
    metadata = files.read_table(BytesIO(rows_parquet(found))).schema.metadata
    assert metadata[b"known"].decode() == line


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters()), st.dates().map(str), st.datetimes().map(lambda d: d.isoformat()),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(max_size=5), st.lists(CELLS, min_size=2, max_size=2)), max_size=4))
def test_whatever_an_engine_returns_can_be_taken_away(columns: list[tuple[str, list[Any]]]) -> None:
    found = rows(tuple(name for name, _ in columns), *zip(*(v for _, v in columns), strict=True))
    lines = read(rows_csv(found))
    assert all(len(line) == len(columns) for line in lines if columns)
    assert files.read_table(BytesIO(rows_parquet(found))).num_columns == len(columns)
    book = sheet(rows_excel(found))
    assert all(cell.data_type != "f" for row in book.iter_rows() for cell in row)
