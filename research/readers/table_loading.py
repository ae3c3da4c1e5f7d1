"""Writing of the tables of a file into a DuckDB database."""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import csv
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from research.core.sql_quoting import quote_identifier, quote_literal
from research.readers.column_choices import make_odd_values
from research.readers.delimited_text import MAX_LINE_CHARS, read_rows
from research.readers.nested_columns import flat_expression
from research.readers.row_conversion import RowConverter
from research.readers.table_records import (
    MAX_ROWS,
    SHEET_SUFFIXES,
    TYPED_SUFFIXES,
    FileColumnType,
    FileTable,
    UnreadableTableError,
)
from research.readers.table_sources import SchemaMismatchError, open_engine, read_sheets
from research.readers.total_rows import MAX_SET_ASIDE, TOTAL_HINT, RowKind, RowSorter, SetAsideRow, make_set_aside
from research.readers.worker import ProgressCallback

LABEL_COLUMNS = 3  # of text, in which a row is named a total
_SQL_TYPES: dict[FileColumnType, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "boolean": "BOOLEAN",
}


def write_table(path: Path, table: FileTable, target: Path, report_progress: ProgressCallback) -> FileTable:
    """Write a table into the database `target`, and return it as written: with the number of its rows,
    and with the columns that became text because some of their values are of another type.

    Raises:
        UnreadableTableError: the file is broken, or has too many rows.
    """
    kind = Path(table.file).suffix.lower()
    if kind in TYPED_SUFFIXES:
        create = partial(
            _create_table, path, table=table, target=target, report_progress=report_progress, has_own_types=True
        )
        try:
            return create(flat_expression(path, table.file, kind))
        except SchemaMismatchError:
            return create(flat_expression(path, table.file, kind, -1))
    if kind not in SHEET_SUFFIXES and table.encoding == "utf-8-sig" and _is_plain(path, table):
        try:
            return _create_table(path, _csv_expression(path, table, table.delimiter), table, target, report_progress)
        except UnreadableTableError as error:
            if error.reason not in ("ragged", "broken", "value"):
                raise
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        csv_path = Path(folder) / "plain.csv"
        written = _write_plain_csv(path, table, csv_path)
        plain = written.model_copy(update={"header": 0})
        created = _create_table(csv_path, _csv_expression(csv_path, plain, ","), plain, target, report_progress)
        return created.model_copy(update={"header": table.header})


def _is_plain(path: Path, table: FileTable) -> bool:
    """Return True if the engine can read a text file as it is: no value needs converting, no row is a total."""
    if not all(column.format.is_plain for column in table.columns):
        return False
    source = _csv_expression(path, table, table.delimiter)
    labels = [n for n, column in enumerate(table.columns) if column.type == "text"][:LABEL_COLUMNS]
    if not labels:
        return True
    words = " or ".join(f"regexp_matches(c{n}, {quote_literal(TOTAL_HINT)}, 'i')" for n in labels)
    try:
        with open_engine(path, table.file) as raw:
            (count,) = raw.execute(f"select count(*) from {source} where {words}").fetchone() or (0,)
    except (UnreadableTableError, SchemaMismatchError, duckdb.ConversionException):
        return False
    return not count


def _csv_expression(path: Path, table: FileTable, delimiter: str) -> str:
    """Return the SQL that reads a CSV file as text columns c0, c1, …"""
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({quote_literal(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {quote_literal(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {MAX_LINE_CHARS}, null_padding = false)"
    )


def _read_table_rows(path: Path, table: FileTable) -> Iterator[list[str]]:
    """Yield all rows of a table's file or sheet, the headings included."""
    if Path(table.file).suffix.lower() not in SHEET_SUFFIXES:
        yield from read_rows(path, table.encoding, table.delimiter, table.file)
        return
    for name, rows in read_sheets(path, table.file):
        if name == table.sheet:
            yield from rows


def _write_plain_csv(path: Path, table: FileTable, csv_path: Path) -> FileTable:
    """Write the data of a table to `csv_path`, without headings, in the forms that the engine reads.

    Returns the table with the rows that are no data, the number of missing values, and as text the
    columns that have a value in another form.
    """
    while True:
        sorter = RowSorter([n for n, column in enumerate(table.columns) if column.type in ("integer", "number")])
        converter = RowConverter(table.columns)
        set_aside: list[SetAsideRow] = []
        set_aside_count = short_rows = 0
        width = len(table.columns)
        with csv_path.open("w", encoding="utf-8", newline="") as output:
            writer = csv.writer(output, quoting=csv.QUOTE_ALL, lineterminator="\n")
            for number, row in enumerate(_read_table_rows(path, table), 1):
                if number <= table.header or not any(row):
                    continue
                values = converter.convert(row)
                kind: RowKind | None = "width" if any(row[width:]) else sorter.kind(values)
                if kind and not (kind == "total" and table.correction.keep_totals):
                    set_aside_count += 1
                    if len(set_aside) < MAX_SET_ASIDE:
                        set_aside.append(make_set_aside(number, kind, row))
                    continue
                values = converter.accept()
                short_rows += len(values) < width
                writer.writerow([*values, *[""] * (width - len(values))])
        table = table.model_copy(update={"columns": converter.columns()})
        if not converter.has_mixed_columns:
            break
    update = {"set_aside": tuple(set_aside), "set_aside_count": set_aside_count, "short_rows": short_rows}
    return table.model_copy(update=update)


def _value_expression(column_index: int, kind: FileColumnType) -> str:
    """Return the SQL that converts a text column to a type, or fails."""
    text = f"nullif(trim(c{column_index}), '')"
    if kind == "text":
        return f"nullif(replace(c{column_index}, e'\\r\\n', e'\\n'), '')"
    if kind == "integer":  # DuckDB would round 1.5
        return f"CAST(CASE WHEN contains(c{column_index}, '.') OR contains(c{column_index}, 'e') OR contains(c{column_index}, 'E') THEN c{column_index} || '!' ELSE {text} END AS BIGINT)"
    if kind in ("date", "datetime"):
        text = f"replace(translate({text}, '年月/', '---'), '日', '')"
        if kind == "date":
            text = f"replace({text}, '.', '-')"
        else:  # a point may also precede fractions of a second
            text = rf"regexp_replace({text}, '^(\d{{4}})\.(\d+)\.(\d+)', '\1-\2-\3')"
    return f"CAST({text} AS {_SQL_TYPES[kind]})"


def _create_table(
    path: Path,
    source: str,
    table: FileTable,
    target: Path,
    report_progress: ProgressCallback,
    *,
    has_own_types: bool = False,
) -> FileTable:
    """Create a table from `source`, the SQL that reads its file.

    With `has_own_types`, the columns of the source have the headings as their names, and a column with a
    value of another type becomes text; else the columns are texts called c0, c1, …

    Raises:
        UnreadableTableError: the file is broken, has too many rows, or a value is of another type ("value").
    """
    for _ in range(2):
        columns = table.columns
        if has_own_types:
            quoted_headings = [quote_identifier(column.heading) for column in columns]
            values = [
                f"{'TRY_CAST' if c.choice and c.odd else 'CAST'}({name} AS {_SQL_TYPES[c.type]})"
                for name, c in zip(quoted_headings, columns, strict=True)
            ]
        else:
            values = [_value_expression(n, column.type) for n, column in enumerate(columns)]
        select_list = ", ".join(f"{v} AS {quote_identifier(c.name)}" for v, c in zip(values, columns, strict=True))
        try:
            with open_engine(path, table.file, target) as raw, _poll_progress(raw, report_progress):
                raw.execute(f"create table {quote_identifier(table.name)} as select {select_list} from {source}")
                (rows,) = raw.execute(f"select count(*) from {quote_identifier(table.name)}").fetchone() or (0,)
        except duckdb.ConversionException:
            if not has_own_types:
                raise UnreadableTableError("value", table.file) from None
            texts = [f"nullif(trim(CAST({heading} AS VARCHAR)), '')" for heading in quoted_headings]
            tries = [f"TRY_CAST({h} AS {_SQL_TYPES[c.type]})" for h, c in zip(quoted_headings, columns, strict=True)]
            counts = [f"count({text}), count({text}) FILTER (WHERE {value} IS NULL)" for text, value in zip(texts, tries, strict=True)]  # fmt: skip
            with open_engine(path, table.file) as raw, _poll_progress(raw, report_progress):
                row = raw.execute(f"select {', '.join(counts)} from {source}").fetchone() or ()
            table = _with_odd_values(table, list(zip(row[::2], row[1::2], strict=True)))
            continue
        if rows > MAX_ROWS:
            raise UnreadableTableError("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise UnreadableTableError("value", table.file)


def _with_odd_values(table: FileTable, counts: Sequence[tuple[int, int]]) -> FileTable:
    """Return a table with the number of values, and of values of another type, of each column.

    A column with such values is text unless a person has chosen its type.
    """
    columns = list(table.columns)
    for index, (total, count) in enumerate(counts):
        if count:
            column = columns[index]
            update = {"odd": make_odd_values(column.type, (), count, total)}
            columns[index] = column.model_copy(update=update if column.choice else update | {"type": "text"})
    return table.model_copy(update={"columns": tuple(columns)})


@contextmanager
def _poll_progress(raw: duckdb.DuckDBPyConnection, report_progress: ProgressCallback) -> Iterator[None]:
    """Report the progress of the statements executed in the context."""
    finished = threading.Event()

    def poll() -> None:
        while not finished.wait(0.25):
            percentage: Any = raw.query_progress()
            if isinstance(percentage, float) and 0 <= percentage <= 100:
                report_progress(percentage / 100)

    thread = threading.Thread(target=poll, name="sightline-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
