"""Large results as files: the same cells as small ones, typed by all rows, with little in memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pyarrow import parquet

from research.core.records import QueryResult
from research.export import database_rows_file
from research.export.database_rows import rows_table
from research.export.table_csv import table_csv

SQL = "SELECT * FROM t"
NAMES = ("id", "name", "day", "moment", "price", "on", "name")
FORMULA = '=cmd|"/c calc"!A1'
GIVEN: list[tuple[Any, ...]] = [
    (1, FORMULA, "2024-03-05", "2024-03-05 10:30:00", 1.5, True, "x_x0041_<&>"),
    (2, "湖", None, None, 2, False, None),
    (2**60, "a\x00b", "1899-01-01", "2024-03-06T11:00:00", None, None, "#N/A"),
]


def written(folder: Path, kind: str, given: Any = GIVEN, names: Any = NAMES) -> Path:
    path = folder / f"rows{kind}"
    assert database_rows_file.write_rows_file(path, names, iter(given), SQL) == len(list(given))
    return path


def test_a_csv_file_is_the_same_as_that_of_few_rows(tmp_path: Path) -> None:
    few = QueryResult(sql=SQL, names=NAMES, rows=tuple(GIVEN))
    assert written(tmp_path, ".csv").read_bytes() == table_csv([rows_table(few)])


def test_a_parquet_file_has_the_types_and_the_statement(tmp_path: Path) -> None:
    table = parquet.read_table(written(tmp_path, ".parquet"))
    assert table.column_names == ["id", "name", "day", "moment", "price", "on", "name (2)"]
    kinds = [str(kind) for kind in table.schema.types]
    assert kinds == ["int64", "string", "date32[day]", "timestamp[us]", "double", "bool", "string"]
    assert table.schema.metadata[b"sql"] == SQL.encode()
    assert table.column("day").to_pylist() == [date(2024, 3, 5), None, date(1899, 1, 1)]


def test_a_workbook_has_typed_cells_and_texts_that_are_no_formulas(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(written(tmp_path, ".xlsx"))
    assert book.sheetnames == ["rows", "SQL"] and book["SQL"]["A1"].value == SQL
    sheet = book["rows"]
    assert sheet.freeze_panes == "A2" and sheet["A1"].font.b
    found = [[one.value for one in line] for line in sheet.iter_rows(min_row=2)]
    assert found[0][:2] == [1, FORMULA] and sheet["B2"].data_type in ("s", "inlineStr")
    assert sheet["B2"].quotePrefix and sheet["G4"].value == "#N/A" and sheet["G4"].data_type != "e"
    assert found[0][2:6] == [datetime(2024, 3, 5), datetime(2024, 3, 5, 10, 30), 1.5, True]
    assert found[0][6] == "x_x005F_x0041_<&>"  # as the format has it; openpyxl does not undo it
    assert found[2][:3] == [str(2**60), "ab", "1899-01-01"]  # what Excel cannot hold is text


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "double"),
        ([1, "a"], "string"),
        ([True, 1], "string"),
        ([2**70, 1], "string"),
        (["2024-02-30", "2024-02-01"], "string"),
        (["2024-02-01", "2024-02-01 10:00:00"], "string"),
        (["2024-02-01 10:00:00+08:00"], "string"),
        (["2024-W01-1"], "string"),
        ([None, None], "string"),
    ],
)
def test_the_type_of_a_column_is_that_of_all_its_values(tmp_path: Path, values: list[Any], kind: str) -> None:
    given = [(value,) for value in [*[values[0]] * database_rows_file.BATCH_ROWS, *values]]
    table = parquet.read_table(written(tmp_path, ".parquet", given, ["a"]))
    assert str(table.schema.types[0]) == kind and table.num_rows == len(given)
    if kind == "string" and values[-1] is not None:
        assert table.column("a").to_pylist()[-1] == str(values[-1])


@pytest.mark.parametrize("kind", database_rows_file.ROW_FILE_SUFFIXES)
def test_no_rows_are_a_file_with_headings(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [], ["a", "b"])
    if kind == ".csv":
        assert path.read_text(encoding="utf-8-sig").split() == ["a,b"]
    elif kind == ".parquet":
        assert parquet.read_table(path).column_names == ["a", "b"]
    else:
        assert [one.value for one in openpyxl.load_workbook(path)["rows"][1]] == ["a", "b"]


@pytest.mark.slow
def test_progress_comes_to_all_rows(tmp_path: Path) -> None:
    for kind in database_rows_file.ROW_FILE_SUFFIXES:
        told: list[int] = []
        given = ((n,) for n in range(3 * database_rows_file.BATCH_ROWS + 1))
        database_rows_file.write_rows_file(tmp_path / f"a{kind}", ["n"], given, SQL, told.append)
        assert told == sorted(told) and told[-1] == 3 * database_rows_file.BATCH_ROWS + 1


def test_a_sheet_ends_where_excel_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_rows_file, "MAX_SHEET_ROWS", 11)
    assert database_rows_file.write_rows_file(tmp_path / "a.xlsx", ["n"], ((n,) for n in range(50)), SQL) == 10
    assert openpyxl.load_workbook(tmp_path / "a.xlsx")["rows"].max_row == 11


def many(count: int) -> Iterator[tuple[Any, ...]]:
    return ((n, f"text {n} " + "x" * 200, n / 2) for n in range(count))


@pytest.mark.slow
@pytest.mark.parametrize("kind", database_rows_file.ROW_FILE_SUFFIXES)
def test_many_rows_take_no_more_memory_than_few(tmp_path: Path, kind: str) -> None:
    """200,000 rows are 45 MB of texts at the least; as Python's values they are more."""

    def peak(count: int) -> int:
        call = f"t.written_by_many({str(tmp_path / f'a{kind}')!r}, {count})"
        code = f"import tests.export.test_rowfiles as t; print({call})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return int(done.stdout)

    few, lots = peak(3 * database_rows_file.BATCH_ROWS), peak(200_000)
    assert lots - few < 30_000  # KB


def written_by_many(path: str, count: int) -> int:
    """The most memory, in KB, that this process has had after it has written a file."""
    database_rows_file.write_rows_file(Path(path), ["id", "text", "half"], many(count), SQL)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
