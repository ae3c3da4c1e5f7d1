"""Text files that other programs exported are read alike.

`exports` holds one small table, written by pandas 3.1 (`to_csv`), LibreOffice 7.4 (`--convert-to csv` with filter
options), gnumeric (`ssconvert`), R 4 (`write.csv`, `write.csv2`, `write.table`) and the shell of sqlite3.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from research.readers.reading_summary import describe_reading, reading_lines
from research.readers.table_records import FileTable
from tests.readers.table_reading import read_table
from tests.tables import each_row

EXPORTS = Path(__file__).parent / "exports"
ROWS: list[tuple[Any, ...]] = [
    (1234, 1234.5, date(2024, 3, 5), True, "001"),
    (56, 0.25, date(2024, 12, 25), False, "042"),
    (7890123, -99.125, date(2024, 1, 31), True, "100"),
    (8, 7.0, date(2023, 7, 9), False, "007"),
]
DELIMITERS = {
    "pandas_default.csv": ",", "pandas_european.csv": ";", "pandas_utf16.tsv": "\t", "pandas_quoted.csv": ",",
    "pandas_us_dates.csv": "|", "pandas_gb18030.csv": ",", "pandas_no_headings.csv": ",", "libreoffice_default.csv": ",",
    "libreoffice_cp1252.csv": ";", "libreoffice_tabs.csv": "\t", "libreoffice_single_quotes.csv": "|",
    "libreoffice_german.csv": ";", "gnumeric_default.csv": ",", "gnumeric_semicolons.txt": ";", "r_csv.csv": ",",
    "r_csv2.csv": ";", "r_table.txt": " ", "r_tabs.tsv": "\t", "r_missing.csv": ",", "sqlite_csv.csv": ",",
    "sqlite_tabs.tsv": "\t", "sqlite_list.txt": "|",
}  # fmt: skip
ROW_NAMES = {"pandas_default.csv", "r_csv.csv", "r_table.txt", "r_tabs.tsv"}


def right_rows(name: str) -> list[tuple[Any, ...]]:
    """The rows of a file, without names of rows and names in its first column."""
    if name == "sqlite_list.txt":
        return [row[:3] for row in ROWS[:3]]
    if name.startswith("sqlite"):
        return [(*row[:3], int(row[3]), row[4]) for row in ROWS[:3]]
    if name == "pandas_gb18030.csv":
        return ROWS[1:]
    if name == "r_missing.csv":
        return [row if n != 1 else (row[0], None, *row[2:]) for n, row in enumerate(ROWS)]
    return ROWS


def as_days(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.date() if hasattr(value, "hour") else value for value in row)


def check_columns(table: FileTable, name: str) -> None:
    names = [column.name for column in table.columns]
    if name == "sqlite_list.txt":
        assert names == ["n", "v", "d"]
    elif name == "pandas_no_headings.csv":
        assert table.header == 0 and "no headings" in describe_reading(table, "en")
    else:
        first = ["column_1"] if name in ROW_NAMES else []
        assert names == [*first, "name", "n", "v", "d", "flag", "code"]


@each_row("name", list(DELIMITERS))
def test_an_exported_file_has_its_delimiter_headings_types_and_values(tmp_path: Path, name: str) -> None:
    ((table, rows),) = read_table(EXPORTS / name, tmp_path)
    assert table.delimiter == DELIMITERS[name]
    check_columns(table, name)
    skipped = (0 if name == "sqlite_list.txt" else 1) + (name in ROW_NAMES)
    assert [as_days(row)[skipped:] for row in rows] == right_rows(name)
    if name.startswith("r_t"):
        assert any("first column holds names of rows" in remark for remark in reading_lines(table, "en"))
