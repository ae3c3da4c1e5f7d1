"""Makes the shipped SQLite file from the sheets in `research/data/sights`.

One CSV file per table, UTF-8 with a header. Empty cells and `--` become NULL, numbers become
numbers, the GCJ-02 columns are computed. Whatever a sheet has wrong ends in a `SheetError` that
names the cell; no file is left then. The same sheets make the same file, byte for byte, as long as
the version of SQLite stays the same.

Knows nothing of questions, and of SQL only what makes the tables.
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
from research.sources.database.columns import SIGHTS, SPOTS, TABLES, Column, Table
from research.storage.files import explained, private_file, shut

NOTHING = ("", "--")  # cells that stand for an unknown value
NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12})?")
DIGITS = 6  # of the computed degrees: a tenth of a metre

Cell = str | int | float | None
Row = dict[str, Cell]


class SheetError(ValueError):
    """A sheet cannot become a table. The message says where and what was expected."""


def shipped(folder: Path) -> Path:
    """The shipped database in a data folder, made there unless it is there already.

    The name of the file follows from the sheets and the tables, so a new version of either gets a
    new file. Files of other versions stay: another process may be reading them.

    Raises:
        SheetError: the sheets of this installation are damaged.
        StoreError: the folder cannot be used.
    """
    texts = _texts(_home())
    statements = (s for table in TABLES.values() for s in table.statements())
    path = folder / f"sights-{fingerprint(*texts.values(), *statements)}.db"
    if not path.is_file():
        _write(path, _tables(texts))
    shut(path)
    return path


def build(path: Path, sheets: Path | None = None) -> None:
    """Makes the database at `path`, in place of what was there, in one step.

    Args:
        path: the file to make; its folder is made too.
        sheets: the folder with the sheets, the shipped ones if None.

    Raises:
        SheetError: a sheet is missing or damaged.
        StoreError: the file cannot be written.
    """
    _write(path, _tables(_texts(sheets or _home())))


def _home() -> Traversable:
    return resources.files("research") / "data" / "sights"


def _texts(folder: Traversable) -> dict[str, str]:
    """The text of each table's sheet."""
    found = {}
    for name in TABLES:
        try:
            found[name] = (folder / f"{name}.csv").read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SheetError(f"{name}.csv cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise SheetError(f"{name}.csv is not UTF-8: {error}. Save it as UTF-8") from error
    return found


def _tables(texts: Mapping[str, str]) -> dict[str, list[Row]]:
    """The checked rows of all tables."""
    sights = list(_rows(SIGHTS, texts[SIGHTS.name]))
    spots = list(_rows(SPOTS, texts[SPOTS.name]))
    for line, sight in sights:
        _located(line, sight)
    _unique(SIGHTS, sights, "gid", "name")
    _unique(SPOTS, spots, "id", "gid")
    known = {sight["gid"] for _, sight in sights}
    for line, spot in spots:
        if spot["gid"] not in known:
            raise _wrong(SPOTS, line, "gid", f"{spot['gid']} is no gid of {SIGHTS.name}.csv")
    return {SIGHTS.name: [row for _, row in sights], SPOTS.name: [row for _, row in spots]}


def _rows(table: Table, text: str) -> Iterator[tuple[int, Row]]:
    """The rows of a sheet with their lines, each cell of its column's type."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _expect(table, header)
        columns = {column.name: column for column in table.columns}
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(header):
                found = f"{len(cells)} cells; the header has {len(header)}"
                raise SheetError(f"{table.name}.csv, line {line} has {found}")
            yield (
                line,
                {
                    name: _value(table, line, columns[name], cell.strip())
                    for name, cell in zip(header, cells, strict=True)
                },
            )
    except csv.Error as error:
        raise SheetError(f"{table.name}.csv, line {reader.line_num} is no CSV: {error}") from error


def _expect(table: Table, header: list[str]) -> None:
    """Each column stands in the header once, and nothing else does."""
    wanted = [column.name for column in table.columns if not column.computed]
    for name in header:
        if name not in wanted or header.count(name) > 1:
            kind = "unknown" if name not in wanted else "repeated"
            expected = ", ".join(wanted)
            raise SheetError(f"{table.name}.csv has the {kind} column {name!r}; its columns are {expected}")  # fmt: skip
    if missing := [name for name in wanted if name not in header]:
        raise SheetError(f"{table.name}.csv lacks the column {', '.join(missing)}")


def _value(table: Table, line: int, column: Column, cell: str) -> Cell:
    if cell in NOTHING:
        if column.needed:
            raise _wrong(table, line, column.name, "is empty; it must have a value")
        return None
    if column.kind == "TEXT":
        if column.among and cell not in column.among:
            expected = ", ".join(column.among)
            raise _wrong(table, line, column.name, f"{cell!r} is none of {expected}")
        return cell
    if not NUMBER.fullmatch(cell) or (column.kind == "INTEGER" and "." in cell):
        wanted = "a whole number" if column.kind == "INTEGER" else "a number"
        raise _wrong(table, line, column.name, f"{cell!r} is not {wanted}")
    value = float(cell)
    if not column.least <= value <= column.most:
        limits = f"from {column.least:.12g} to {column.most:.12g}"
        raise _wrong(table, line, column.name, f"{cell!r} is not {limits}")
    # A price of 60 is stored as 60 and not shown as 60.0.
    return int(value) if column.kind != "REAL" and value.is_integer() else value


def _located(line: int, sight: Row) -> None:
    """Adds the point as Chinese maps show it."""
    lng, lat = sight["lng_wgs84"], sight["lat_wgs84"]
    if (lng is None) != (lat is None):
        lacking = "lng_wgs84" if lng is None else "lat_wgs84"
        raise _wrong(SIGHTS, line, lacking, "is empty while the other coordinate is not")
    shown = to_gcj02(Point(lng, lat)) if isinstance(lng, float) and isinstance(lat, float) else None
    sight["lng_gcj02"] = shown and round(shown.lng, DIGITS)
    sight["lat_gcj02"] = shown and round(shown.lat, DIGITS)


def _unique(table: Table, rows: list[tuple[int, Row]], *names: str) -> None:
    for name in names:
        first: dict[Cell, int] = {}
        for line, row in rows:
            if (before := first.setdefault(row[name], line)) != line:
                said = f"{row[name]!r} stands in line {before} already"
                raise _wrong(table, line, name, said)


def _wrong(table: Table, line: int, column: str, what: str) -> SheetError:
    return SheetError(f"{table.name}.csv, line {line}, column {column}: {what}")


def _write(path: Path, tables: Mapping[str, list[Row]]) -> None:
    """Writes the file beside its place and moves it there when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".sights-") as folder:
            made = Path(folder) / path.name
            private_file(made)
            with closing(sqlite3.connect(made)) as connection:
                connection.execute("pragma page_size=4096")
                connection.execute("pragma foreign_keys=on")
                with connection:
                    _fill(connection, tables)
            made.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise explained(error, path) from error


def _fill(connection: sqlite3.Connection, tables: Mapping[str, list[Row]]) -> None:
    for name, table in TABLES.items():
        for statement in table.statements():
            connection.execute(statement)
        columns = [column.name for column in table.columns]
        places = ", ".join(f":{column}" for column in columns)
        connection.executemany(
            f"insert into {name} ({', '.join(columns)}) values ({places})",  # noqa: S608  our own names
            tables[name],
        )
