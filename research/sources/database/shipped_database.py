"""Builder of the shipped SQLite file, from the sheets in `research/data/sights`.

There is one CSV file per table, UTF-8 with a header. Empty cells and `--` become NULL, numbers
become numbers, and the GCJ-02 columns are computed. Any mistake in a sheet raises a `SheetError`
that names the cell, and no file is left. The same sheets give the same file, byte for byte, with
the same version of SQLite.
"""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryDirectory

from research.core.coordinates import Point, to_gcj02
from research.core.records import fingerprint
from research.sources.database.shipped_tables import SIGHTS, SPOTS, TABLES, SheetColumn, SheetTable
from research.storage.sqlite_files import make_private_file, restrict_access, to_store_error

EMPTY_CELLS = ("", "--")  # cells that stand for an unknown value
NUMBER_PATTERN = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12})?")
DEGREE_DIGITS = 6  # decimals of computed degrees: a tenth of a metre

Cell = str | int | float | None
Row = dict[str, Cell]


class SheetError(ValueError):
    """A sheet cannot become a table. The message says where and what was expected."""


def ensure_shipped_database(folder: Path) -> Path:
    """Return the path of the shipped database in a data folder; create it if it is missing.

    The file name depends on the sheets and the tables, so a new version of either gets a new file.
    Files of other versions stay, because another process may be reading them.

    Raises:
        SheetError: the sheets of this installation are damaged.
        StoreError: the folder cannot be used.
    """
    texts = read_sheets()
    statements = (statement for table in TABLES.values() for statement in table.create_statements())
    path = folder / f"sights-{fingerprint(*texts.values(), *statements)}.db"
    if not path.is_file():
        build_database(path, texts)
    restrict_access(path)
    return path


def read_sheets(folder: Traversable | None = None) -> dict[str, str]:
    """Read the text of each table's sheet in a folder, or of the shipped sheets.

    Raises:
        SheetError: a sheet is missing or no UTF-8.
    """
    folder = folder or resources.files("research") / "data" / "sights"
    texts = {}
    for name in TABLES:
        try:
            texts[name] = (folder / f"{name}.csv").read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SheetError(f"{name}.csv cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise SheetError(f"{name}.csv is not UTF-8: {error}. Save it as UTF-8") from error
    return texts


def _parse_tables(texts: Mapping[str, str]) -> dict[str, list[Row]]:
    """Parse and check the rows of all tables."""
    sights = list(_parse_rows(SIGHTS, texts[SIGHTS.name]))
    spots = list(_parse_rows(SPOTS, texts[SPOTS.name]))
    for line, sight in sights:
        _add_gcj02(line, sight)
    _check_unique(SIGHTS, sights, "gid", "name")
    _check_unique(SPOTS, spots, "id", "gid")
    known = {sight["gid"] for _, sight in sights}
    for line, spot in spots:
        if spot["gid"] not in known:
            raise _cell_error(SPOTS, line, "gid", f"{spot['gid']} is no gid of {SIGHTS.name}.csv")
    return {SIGHTS.name: [row for _, row in sights], SPOTS.name: [row for _, row in spots]}


def _parse_rows(table: SheetTable, text: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a sheet with their line numbers, each cell converted to its
    column's type."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_header(table, header)
        columns = {column.name: column for column in table.columns}
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(header):
                counts = f"{len(cells)} cells; the header has {len(header)}"
                raise SheetError(f"{table.name}.csv, line {line} has {counts}")
            named_cells = zip(header, cells, strict=True)
            yield line, {name: _parse_cell(table, line, columns[name], cell.strip()) for name, cell in named_cells}
    except csv.Error as error:
        raise SheetError(f"{table.name}.csv, line {reader.line_num} is no CSV: {error}") from error


def _check_header(table: SheetTable, header: list[str]) -> None:
    """Raise SheetError unless the header has each column of the table once, and no others."""
    names = [column.name for column in table.columns if not column.is_computed]
    for name in header:
        if name not in names or header.count(name) > 1:
            kind = "unknown" if name not in names else "repeated"
            raise SheetError(f"{table.name}.csv has the {kind} column {name!r}; its columns are {', '.join(names)}")
    if missing := [name for name in names if name not in header]:
        raise SheetError(f"{table.name}.csv lacks the column {', '.join(missing)}")


def _parse_cell(table: SheetTable, line: int, column: SheetColumn, cell: str) -> Cell:
    """Convert a cell to the type of its column; raise SheetError if it has another type, or a value that
    the column cannot have."""
    if cell in EMPTY_CELLS:
        if column.is_required:
            raise _cell_error(table, line, column.name, "is empty; it must have a value")
        return None
    if column.sql_type == "TEXT":
        if column.choices and cell not in column.choices:
            raise _cell_error(table, line, column.name, f"{cell!r} is none of {', '.join(column.choices)}")
        return cell
    if not NUMBER_PATTERN.fullmatch(cell) or (column.sql_type == "INTEGER" and "." in cell):
        kind = "a whole number" if column.sql_type == "INTEGER" else "a number"
        raise _cell_error(table, line, column.name, f"{cell!r} is not {kind}")
    value = float(cell)
    if not column.minimum <= value <= column.maximum:
        limits = f"from {column.minimum:.12g} to {column.maximum:.12g}"
        raise _cell_error(table, line, column.name, f"{cell!r} is not {limits}")
    # A price of 60 is stored as 60 and not shown as 60.0.
    return int(value) if column.sql_type != "REAL" and value.is_integer() else value


def _add_gcj02(line: int, sight: Row) -> None:
    """Add the coordinates of an area in GCJ-02, the system of Chinese maps."""
    lng, lat = sight["lng_wgs84"], sight["lat_wgs84"]
    if (lng is None) != (lat is None):
        empty_column = "lng_wgs84" if lng is None else "lat_wgs84"
        raise _cell_error(SIGHTS, line, empty_column, "is empty while the other coordinate is not")
    point = to_gcj02(Point(lng, lat)) if isinstance(lng, float) and isinstance(lat, float) else None
    sight["lng_gcj02"] = point and round(point.lng, DEGREE_DIGITS)
    sight["lat_gcj02"] = point and round(point.lat, DEGREE_DIGITS)


def _check_unique(table: SheetTable, rows: list[tuple[int, Row]], *names: str) -> None:
    """Raise SheetError if two rows, given with their lines, have the same value in one of these columns."""
    for name in names:
        first_lines: dict[Cell, int] = {}
        for line, row in rows:
            if (first_line := first_lines.setdefault(row[name], line)) != line:
                raise _cell_error(table, line, name, f"{row[name]!r} stands in line {first_line} already")


def _cell_error(table: SheetTable, line: int, column: str, problem: str) -> SheetError:
    return SheetError(f"{table.name}.csv, line {line}, column {column}: {problem}")


def build_database(path: Path, texts: Mapping[str, str]) -> None:
    """Create the database at `path` and its folder, replacing an existing file in one step.

    `texts` are the sheets by table.

    Raises:
        SheetError: a sheet is damaged.
        StoreError: the file cannot be written.
    """
    tables = _parse_tables(texts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".sights-") as folder:
            temporary = Path(folder) / path.name
            make_private_file(temporary)
            with closing(sqlite3.connect(temporary)) as connection:
                connection.execute("pragma page_size=4096")
                connection.execute("pragma foreign_keys=on")
                with connection:
                    _fill(connection, tables)
            temporary.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise to_store_error(error, path) from error


def _fill(connection: sqlite3.Connection, tables: Mapping[str, list[Row]]) -> None:
    """Create the tables and insert their rows."""
    for name, table in TABLES.items():
        for statement in table.create_statements():
            connection.execute(statement)
        columns = [column.name for column in table.columns]
        placeholders = ", ".join(f":{column}" for column in columns)
        connection.executemany(
            f"insert into {name} ({', '.join(columns)}) values ({placeholders})",  # noqa: S608  our own names
            tables[name],
        )
