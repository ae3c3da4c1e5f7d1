"""Detection of the tables of a file, with their headings and types."""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from research.core.sql_quoting import quote_literal
from research.readers.column_choices import choose_format, find_odd_values
from research.readers.column_formats import ColumnFormat, detect_format
from research.readers.delimited_text import find_file_encoding, read_first_rows
from research.readers.nested_columns import flat_expression
from research.readers.table_layout import Headings, find_headings, join_headings
from research.readers.table_records import (
    MAX_COLUMNS,
    MAX_ROWS,
    SAMPLE_ROWS,
    SHEET_SUFFIXES,
    TYPED_SUFFIXES,
    Correction,
    FileColumn,
    FileColumnType,
    FileTable,
    UnreadableTableError,
    sql_name,
    unique_name,
)
from research.readers.table_sources import (
    JSON_SAMPLE_ROWS,
    SchemaMismatchError,
    open_engine,
    read_sheets,
)

PREVIEW_ROWS = 5  # rows in the sample of a table


def detect_tables_of_kind(path: Path, kind: str, file: str, corrections: Mapping[str, Correction]) -> list[FileTable]:
    """Detect the tables of a file.

    Args:
        path: the file.
        kind: suffix of the original file, which decides its format.
        file: name of the original file, for messages and names of tables.
        corrections: the analyst's corrections by sheet, "" for formats without sheets.

    Raises:
        UnreadableTableError: there are none, or they are too large.
    """
    tables: list[FileTable] = []
    if kind in SHEET_SUFFIXES:
        for sheet, rows in read_sheets(path, file):
            first_rows = [row for row, _ in zip(rows, range(SAMPLE_ROWS), strict=False)]
            if any(any(row) for row in first_rows):
                table = _table_from_rows(first_rows, file, sheet, corrections.get(sheet))
                if len(first_rows[0]) > len(table.columns):  # later rows may be wider
                    last_column = max(map(_last_filled_column, rows), default=0)
                    table = _table_from_rows(first_rows, file, sheet, corrections.get(sheet), last_column)
                tables.append(table)
        if not tables:
            raise UnreadableTableError("empty", file)
    elif kind in TYPED_SUFFIXES:
        tables.append(_describe_typed_file(path, kind, file, corrections.get("")))
    else:
        correction = corrections.get("", Correction())
        with path.open("rb") as stream:
            encoding = correction.encoding or find_file_encoding(stream, file)
        first_rows, delimiter = read_first_rows(path, encoding, kind, file, correction.delimiter)
        table = _table_from_rows(first_rows, file, "", correction)
        tables.append(table.model_copy(update={"encoding": encoding, "delimiter": delimiter}))
    return tables


def _last_filled_column(row: Sequence[str]) -> int:
    """Return the number of the last non-empty value of a row."""
    return max((n for n, value in enumerate(row, 1) if value), default=0)


def _table_from_rows(
    rows: Sequence[Sequence[str]], file: str, sheet: str, correction: Correction | None, last_filled_column: int = 0
) -> FileTable:
    """Detect a table from its first rows.

    `last_filled_column` is the number, from 1, of the last column with a value in later rows; columns
    up to it are kept even if they are empty in the first rows.
    """
    if correction is None or correction.header is None:
        found = find_headings(rows)
    else:
        found = Headings(correction.header, 1 if correction.header else 0)
    header = found.last
    if header > len(rows):
        raise UnreadableTableError("empty", file)
    body = [row for row in rows[header:] if any(row)]
    widths = Counter(len(row) for row in body)
    header_width = len(rows[header - 1]) if header else 0
    width = max(widths, key=lambda n: (widths[n], n == header_width)) if widths else header_width
    headings = join_headings(rows, found)
    if not header and not body:
        raise UnreadableTableError("empty", file)
    while len(headings) < width:
        headings.append("")
    while (
        len(headings) > last_filled_column
        and not headings[-1]
        and not any(len(row) >= len(headings) and row[len(headings) - 1] for row in body)
    ):
        headings.pop()
    if len(headings) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    values = [[row[n] for row in body if n < len(row)] for n in range(len(headings))]
    columns = _make_columns(headings, [detect_format(column) for column in values], correction, values)
    stem = Path(file).stem
    table = sheet if sheet and not re.fullmatch(r"(?i)sheet\d*|工作表\d*", sheet) else stem
    return FileTable(
        name=sql_name((correction.name if correction else "") or table, "table_1"),
        file=file,
        sheet=sheet,
        header=header,
        header_rows=max(1, found.height),
        columns=columns,
        sample=tuple(tuple(v[:200] for v in row[: len(columns)]) for row in body[:PREVIEW_ROWS]),
        correction=correction or Correction(),
    )


def _make_columns(
    headings: Sequence[str],
    formats: Sequence[ColumnFormat],
    correction: Correction | None,
    values: Sequence[Sequence[str]] = (),
) -> tuple[FileColumn, ...]:
    """Create the columns of a table from their headings and formats, as corrected by the analyst.

    `values` are the first values of each column of a file that has no types of its own.
    """
    corrected = correction.columns if correction else {}
    used_names: set[str] = set()
    out = []
    for n, (heading, form) in enumerate(zip(headings, formats, strict=True), 1):
        display_heading = " ".join(heading.split())[:200] or f"column_{n}"
        name, choice = corrected.get(display_heading, ("", ""))
        column_name = unique_name(sql_name(name or heading, f"column_{n}"), used_names)
        first_values = values[n - 1] if values else ()
        odd = None
        if choice:
            form = choose_format(choice, form, first_values)
        elif form.kind == "text" and not form.reason:
            odd = find_odd_values(first_values)
        out.append(
            FileColumn(heading=display_heading, name=column_name, type=form.kind, format=form, choice=choice, odd=odd)
        )
    return tuple(out)


def _describe_typed_file(path: Path, kind: str, file: str, correction: Correction | None) -> FileTable:
    """Detect the table of a file with types of its own, scanning all lines on a mismatch."""
    try:
        table = _describe_sample(path, kind, file, correction, JSON_SAMPLE_ROWS)
        if kind != ".parquet":
            source = flat_expression(path, file, kind)
            with open_engine(path, file) as raw:
                raw.execute(f"select count(COLUMNS(*)) from {source}").fetchall()
        return table
    except SchemaMismatchError:
        return _describe_sample(path, kind, file, correction, -1)


def _describe_sample(path: Path, kind: str, file: str, correction: Correction | None, sample_size: int) -> FileTable:
    """Detect the table of a typed file from `sample_size` JSON lines; -1 means all lines."""
    source = flat_expression(path, file, kind, sample_size)
    with open_engine(path, file) as raw:
        if kind == ".parquet":
            path_literal = quote_literal(str(path.absolute()))
            (rows,) = raw.execute(f"select sum(num_rows) from parquet_file_metadata({path_literal})").fetchone() or (0,)
            if rows and not 0 <= rows <= MAX_ROWS:
                raise UnreadableTableError("rows", file)
        described = raw.execute(f"describe select * from {source}").fetchall()
        rows = raw.execute(f"select * from {source} limit {PREVIEW_ROWS}").fetchall()
    if not described or (kind == ".json" and not rows):
        raise UnreadableTableError("empty", file)
    if len(described) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    formats = [ColumnFormat(kind=_type_from_duckdb(row[1])) for row in described]
    columns = _make_columns([row[0] for row in described], formats, correction)
    sample = tuple(tuple("" if value is None else str(value)[:200] for value in row) for row in rows)
    name = sql_name((correction.name if correction else "") or Path(file).stem, "table_1")
    return FileTable(name=name, file=file, columns=columns, sample=sample, correction=correction or Correction())


def _type_from_duckdb(duckdb_type: str) -> FileColumnType:
    """Convert a DuckDB type to a `FileColumnType`."""
    if re.fullmatch(r"U?(TINY|SMALL|BIG)?INT|U?INTEGER", duckdb_type):
        return "integer" if duckdb_type != "UBIGINT" else "number"
    if re.match(r"DOUBLE|FLOAT|DECIMAL|U?HUGEINT", duckdb_type):
        return "number"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(
        duckdb_type, "datetime" if duckdb_type.startswith("TIMESTAMP") else "text"
    )  # type: ignore[return-value]
