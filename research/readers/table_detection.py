"""Detection of the tables of a file, with their headings and types."""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from research.core.records import LayoutRemarkKind
from research.core.sql_quoting import quote_literal
from research.readers.column_choices import choose_format, find_odd_values
from research.readers.column_formats import ColumnFormat, detect_format, find_hints
from research.readers.delimited_text import find_file_encoding, read_first_rows
from research.readers.layout_remarks import describe_columns, describe_layout
from research.readers.nested_columns import flat_expression
from research.readers.table_areas import TableArea, find_areas
from research.readers.table_layout import Headings, find_headings, heading_rows, join_headings
from research.readers.table_records import (
    MAX_COLUMNS,
    MAX_ROWS,
    SAMPLE_ROWS,
    SHEET_SUFFIXES,
    TYPED_SUFFIXES,
    WORKBOOK_SUFFIXES,
    Correction,
    FileColumn,
    FileColumnType,
    FileTable,
    UnreadableTableError,
    sql_name,
    unique_name,
)
from research.readers.table_remarks import TableRemark
from research.readers.table_sources import (
    JSON_SAMPLE_ROWS,
    SchemaMismatchError,
    Sheet,
    open_engine,
    read_sheets,
)
from research.readers.total_rows import is_summary_row
from research.readers.workbook_details import SheetDetails, read_details

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
    if kind in SHEET_SUFFIXES:
        return _detect_in_workbook(path, kind, file, corrections)
    if kind in TYPED_SUFFIXES:
        with path.open("rb") as stream:
            if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # the engine reads UTF-8 alone
                raise UnreadableTableError("encoding", file)
        return [_describe_typed_file(path, kind, file, corrections.get(""))]
    correction = corrections.get("", Correction())
    with path.open("rb") as stream:
        encoding = correction.encoding or find_file_encoding(stream, file)
    first_rows, delimiter = read_first_rows(path, encoding, kind, file, correction.delimiter)
    source = _RowSource(file, "", delimiter, is_complete=len(first_rows) < SAMPLE_ROWS)
    tables = _tables_from_rows(first_rows, source, corrections)
    return [table.model_copy(update={"encoding": encoding, "delimiter": delimiter}) for table in tables]


class _RowSource(NamedTuple):
    """The origin of rows: their file and sheet, their delimiter in a text file, and if all of them are given.

    `last_filled_column` is the number, from 1, of the last column with a value in later rows; columns
    up to it are kept even if they are empty in the first rows.
    """

    file: str
    sheet: str
    delimiter: str = ","
    is_complete: bool = True
    last_filled_column: int = 0


def _detect_in_workbook(path: Path, kind: str, file: str, corrections: Mapping[str, Correction]) -> list[FileTable]:
    """Detect the tables of all sheets of a workbook."""
    tables: list[FileTable] = []
    uncalculated = 0  # formulas of sheets without any value
    try:
        details = read_details(path, kind)
    except Exception:  # noqa: BLE001 - damaged parts raise anything; the sheets are read without the details
        details = {}
    unknown = () if details or kind not in WORKBOOK_SUFFIXES else (TableRemark(kind="unknown_details", count=1),)
    for sheet in read_sheets(path, kind, file):
        first_rows = [row for row, _ in zip(sheet.rows, range(SAMPLE_ROWS), strict=False)]
        sheet_details = details.get(sheet.name, SheetDetails())
        if not any(any(row) for row in first_rows):
            uncalculated += sheet_details.uncalculated
            continue
        source = _RowSource(file, sheet.name, is_complete=len(first_rows) < SAMPLE_ROWS)
        found = _tables_from_rows(first_rows, source, corrections)
        if max(map(len, first_rows)) > len(found[-1].columns) and not source.is_complete:  # later rows may be wider
            last_column = max(map(_last_filled_column, sheet.rows), default=0)
            found = _tables_from_rows(first_rows, source._replace(last_filled_column=last_column), corrections)
        noted = [_with_sheet_notices(table, sheet, sheet_details) for table in found]
        tables.extend(table.model_copy(update={"notices": (*table.notices, *unknown)}) for table in noted)
    if not tables:
        raise UnreadableTableError("uncalculated" if uncalculated else "empty", file)
    if uncalculated:
        remark = TableRemark(kind="uncalculated", count=uncalculated)
        tables[-1] = tables[-1].model_copy(update={"notices": (*tables[-1].notices, remark)})
    if kind in (".html", ".htm") and _ends_in_table(path):
        cut = TableRemark(kind="cut", count=1)
        tables[-1] = tables[-1].model_copy(update={"notices": (*tables[-1].notices, cut)})
    return tables


def _ends_in_table(path: Path) -> bool:
    """Return True if the last table of a web page has no end tag, which HTML demands."""
    data = path.read_bytes().lower()
    return data.rfind(b"<table") > data.rfind(b"</table")


def _with_sheet_notices(table: FileTable, sheet: Sheet, details: SheetDetails) -> FileTable:
    """Add the remarks that the details of its sheet give cause for to a table."""
    first = sheet.first_column + table.area.first_column - 1
    names = {first + n: column.name for n, column in enumerate(table.columns)}
    hidden = [name for n, name in names.items() if n in details.hidden_columns]
    numbers = {column.name for column in table.columns if column.type == "number" and not column.format.unit}
    percent = [name for n, name in names.items() if n in details.percent_columns and name in numbers]
    counts: list[tuple[LayoutRemarkKind, str, int]] = [
        ("hidden_sheet", sheet.name, int(sheet.is_hidden)),
        ("hidden_rows", "", 0 if details.is_filtered else details.hidden_rows),
        ("filtered", "", details.hidden_rows if details.is_filtered else 0),
        ("hidden_columns", ", ".join(hidden), len(hidden)),
        ("uncalculated", "", details.uncalculated),
        ("errors", "", details.errors),
        ("percent", ", ".join(percent), len(percent)),
        ("merged_numbers", "; ".join(sheet.merged_numbers[:5]), len(sheet.merged_numbers)),
        ("skipped_sheets", "", sheet.skipped_sheets),
    ]
    notices = [TableRemark(kind=kind, text=text, count=count) for kind, text, count in counts if count]
    return table.model_copy(update={"notices": (*table.notices, *notices)})


def _last_filled_column(row: Sequence[str]) -> int:
    """Return the number of the last non-empty value of a row."""
    return max((n for n, value in enumerate(row, 1) if value), default=0)


def _tables_from_rows(
    rows: Sequence[Sequence[str]], source: _RowSource, corrections: Mapping[str, Correction]
) -> list[FileTable]:
    """Detect the tables of a sheet or text file from its first rows."""
    areas = find_areas(rows, is_complete=source.is_complete)
    first_correction = corrections.get(source.sheet)
    header = first_correction.header if first_correction else None
    if header is not None and not areas[0].contains(max(1, header)):
        areas = [TableArea()]  # the analyst's headings are of another table
    tables, end = [], 0
    for number, area in enumerate(areas):
        key = source.sheet
        if number:
            key = f"{source.sheet}!{area.reference}" if source.sheet else area.reference
        cut = [area.cut(row) for n, row in enumerate(rows, 1) if area.contains(n)]
        above = [row for n, row in enumerate(rows, 1) if end < n < area.first_row]
        end = area.last_row
        table = _table_from_rows(cut, source, area, corrections.get(key), above, is_single=len(areas) == 1)
        if len(areas) > 1:
            notice = TableRemark(kind="area", text=area.reference, count=len(areas))
            table = table.model_copy(update={"sheet": key, "notices": (notice, *table.notices)})
        tables.append(table)
    return tables


def _table_from_rows(
    rows: Sequence[Sequence[str]],
    source: _RowSource,
    area: TableArea,
    correction: Correction | None,
    above: Sequence[Sequence[str]] = (),
    *,
    is_single: bool = True,
) -> FileTable:
    """Detect the table of an area from the first rows of that area; `above` are the rows right above it."""
    offset = area.first_row - 1
    if correction is None or correction.header is None:
        found = find_headings(rows)
    else:
        found = Headings(max(0, correction.header - offset), 1 if correction.header else 0)
    header = found.last
    if header > len(rows):
        raise UnreadableTableError("empty", source.file)
    body = [row for row in rows[header:] if any(row)]
    headings = join_headings(rows, found)
    if not header and not body:
        raise UnreadableTableError("empty", source.file)
    headings, has_row_names = _fit_headings(headings, body, source)
    if len(headings) > MAX_COLUMNS:
        raise UnreadableTableError("columns", source.file)
    known = {tuple(row) for row in rows[found.first - 1 : found.last]} if found.height else set()
    data = [row for row in body if tuple(row) not in known and not is_summary_row(row, len(headings))] or body
    values = [[row[n] for row in data if n < len(row)] for n in range(len(headings))]
    hints = find_hints(values, source.delimiter)
    formats = [detect_format(column, hints, heading) for column, heading in zip(values, headings, strict=True)]
    columns = _make_columns(headings, formats, correction, values)
    title = area.title if not is_single else ""
    sheet = source.sheet if not re.fullmatch(r"(?i)sheet\d*|工作表\d*", source.sheet) else ""
    table = FileTable(
        name=sql_name((correction.name if correction else "") or title or sheet or Path(source.file).stem, "table_1"),
        file=source.file,
        sheet=source.sheet,
        header=header + offset if header else 0,
        header_rows=max(1, len(heading_rows(rows, found))),
        area=area,
        columns=columns,
        sample=tuple(tuple(v[:200] for v in row[: len(columns)]) for row in body[:PREVIEW_ROWS]),
        correction=correction or Correction(),
    )
    is_certain = found.is_sure or bool(correction and correction.header is not None)
    is_certain = is_certain or any(column.type != "text" for column in columns)
    notices = describe_layout(
        rows, above, found, headings, values, columns, has_row_names=has_row_names, is_certain=is_certain
    )
    notices += describe_columns(columns, values, source.delimiter if not source.sheet else "")
    return table.model_copy(update={"notices": tuple(notices)})


def _fit_headings(headings: list[str], body: Sequence[Sequence[str]], source: _RowSource) -> tuple[list[str], bool]:
    """Return a heading for each column of the data, and if the first one is of row names without heading.

    R writes one heading less than there are columns if it writes the names of the rows.
    """
    widths = Counter(len(row) for row in body)
    width = max(widths, key=lambda n: (widths[n], n == len(headings))) if widths else len(headings)
    has_row_names = (
        not source.sheet
        and bool(headings)
        and len(headings) == width - 1
        and all(headings)
        and sum(bool(row[-1].strip()) for row in body if len(row) == width) > widths[width] / 2
    )
    fitted = ["", *headings] if has_row_names else [*headings, *[""] * (width - len(headings))]
    while (
        len(fitted) > source.last_filled_column
        and not fitted[-1]
        and not any(len(row) >= len(fitted) and row[len(fitted) - 1] for row in body)
    ):
        fitted.pop()
    return fitted, has_row_names


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
        elif form.kind == "text" and form.reason in ("", "other values"):
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
