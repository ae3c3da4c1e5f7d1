"""Writing of the tables of a file into a DuckDB database."""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import csv
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from research.core.sql_quoting import quote_identifier, quote_literal
from research.readers.delimited_text import BLOCK_SIZE, MAX_LINE_CHARS
from research.readers.table_records import MAX_ROWS, WORKBOOK_SUFFIXES, FileColumnType, FileTable, UnreadableTableError
from research.readers.table_sources import SchemaMismatchError, open_engine, read_sheets, source_expression
from research.readers.worker import ProgressCallback

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
    if kind in (".parquet", ".jsonl", ".ndjson"):
        create = partial(
            _create_table, path, table=table, target=target, report_progress=report_progress, has_own_types=True
        )
        try:
            return create(source_expression(path, kind))
        except SchemaMismatchError:
            return create(source_expression(path, kind, -1))
    if kind in WORKBOOK_SUFFIXES or table.encoding != "utf-8-sig":
        with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
            csv_path = Path(folder) / "plain.csv"
            if kind in WORKBOOK_SUFFIXES:
                _write_sheet_as_csv(path, table, csv_path)
            else:
                _recode_to_utf8(path, table.encoding, csv_path)
            delimiter = table.delimiter or ","  # a sheet has none
            return _create_table(csv_path, _csv_expression(csv_path, table, delimiter), table, target, report_progress)
    return _create_table(path, _csv_expression(path, table, table.delimiter), table, target, report_progress)


def _csv_expression(path: Path, table: FileTable, delimiter: str) -> str:
    """Return the SQL that reads a CSV file as text columns c0, c1, …"""
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({quote_literal(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {quote_literal(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {MAX_LINE_CHARS}, null_padding = false)"
    )


def _recode_to_utf8(path: Path, encoding: str, csv_path: Path) -> None:
    """Write a text file to `csv_path` in UTF-8."""
    with path.open(encoding=encoding, newline="") as source, csv_path.open("w", encoding="utf-8", newline="") as target:
        while block := source.read(BLOCK_SIZE):
            target.write(block)


def _write_sheet_as_csv(path: Path, table: FileTable, csv_path: Path) -> None:
    """Write the rows of a sheet to `csv_path`, cut or padded to the number of columns."""
    width = len(table.columns)
    with csv_path.open("w", encoding="utf-8", newline="") as output:
        writer = csv.writer(output, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for name, rows in read_sheets(path, table.file):
            if name == table.sheet:
                for number, row in enumerate(rows, 1):
                    if number <= table.header or any(row):  # skips rows without values
                        values = [" ".join(value.splitlines()) for value in row] if number <= table.header else row
                        writer.writerow([*values[:width], *[""] * (width - len(row))])


def _value_expression(column_index: int, kind: FileColumnType) -> str:
    """Return the SQL that converts a text column to a type, or fails."""
    text = f"nullif(trim(c{column_index}), '')"
    if kind == "text":
        return f"nullif(c{column_index}, '')"
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

    If a value cannot be converted to the type of its column, the column becomes text. With
    `has_own_types`, the columns of the source have the headings as their names, else c0, c1, …

    Raises:
        UnreadableTableError: the file is broken, or has too many rows.
    """
    for _ in range(2):
        columns = table.columns
        if has_own_types:
            quoted_headings = [quote_identifier(column.heading) for column in columns]
            values = [f"CAST({name} AS {_SQL_TYPES[c.type]})" for name, c in zip(quoted_headings, columns, strict=True)]
        else:
            values = [_value_expression(n, column.type) for n, column in enumerate(columns)]
        select_list = ", ".join(f"{v} AS {quote_identifier(c.name)}" for v, c in zip(values, columns, strict=True))
        try:
            with open_engine(path, table.file, target) as raw, _poll_progress(raw, report_progress):
                raw.execute(f"create table {quote_identifier(table.name)} as select {select_list} from {source}")
                (rows,) = raw.execute(f"select count(*) from {quote_identifier(table.name)}").fetchone() or (0,)
        except duckdb.ConversionException:
            try_expressions = [v.replace("CAST(", "TRY_CAST(", 1) for v in values]
            count_expressions = ", ".join(
                f"count(*) FILTER (WHERE ({t}) IS NULL AND nullif(trim(CAST({quoted_headings[n] if has_own_types else f'c{n}'} AS VARCHAR)), '') IS NOT NULL)"
                for n, t in enumerate(try_expressions)
            )
            with open_engine(path, table.file) as raw, _poll_progress(raw, report_progress):
                failure_counts = raw.execute(f"select {count_expressions} from {source}").fetchone() or ()
            kept = tuple(c.name for c, n in zip(columns, failure_counts, strict=True) if n)
            columns = tuple(c.model_copy(update={"type": "text"}) if c.name in kept else c for c in columns)
            table = table.model_copy(update={"columns": columns, "kept": kept})
            continue
        if rows > MAX_ROWS:
            raise UnreadableTableError("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise UnreadableTableError("value", table.file)


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
