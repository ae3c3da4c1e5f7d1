"""Remarks on the headings and columns of a table, before its rows are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from research.readers.column_formats import is_date_heading, to_decimal
from research.readers.date_formats import parse_serial_day
from research.readers.table_areas import blank_row_doubts
from research.readers.table_layout import Headings, filled_count
from research.readers.table_records import FileColumn
from research.readers.table_remarks import TableRemark
from research.readers.total_rows import is_total_heading

MAX_TEXT_CHARS = 200
_MISSING_CODES = frozenset((-9, -99, -999, -9999, -99999))  # of surveys and instruments
_MIN_BLANK_LABELS = 2
_PARENTHESES_NOTE = re.compile(
    r"[(（]\s*[)）]\s*[=:：]?\s*\w.*|.*\bAussagewert\b.*", re.DOTALL
)  # of official statistics


def describe_layout(
    rows: Sequence[Sequence[str]],
    rows_above: Sequence[Sequence[str]],
    found: Headings,
    headings: Sequence[str],
    values: Sequence[Sequence[str]],
    columns: Sequence[FileColumn],
    *,
    has_row_names: bool,
    is_certain: bool,
) -> list[TableRemark]:
    """Return the remarks on the headings of a table and on what stands above them.

    `rows_above` stand above the area of the table, `values` are the cells of the columns below the headings, `is_certain` is False for headings that may be data.
    """
    remarks = []
    above = [
        " ".join(cell.split())
        for row in (*rows_above, *rows[: max(0, found.first - 1)])
        for cell in row
        if cell.strip()
    ]
    above = [text for text in above if not text.lower().startswith("sep=")]
    if above:
        remarks.append(
            TableRemark(kind="above", text=" · ".join(dict.fromkeys(above))[:MAX_TEXT_CHARS], count=len(above))
        )
    if not is_certain:
        remarks.append(TableRemark(kind="words", text=", ".join(filter(None, headings))[:MAX_TEXT_CHARS], count=1))
    if has_row_names:
        remarks.append(TableRemark(kind="row_names", count=1))
    counts = Counter(" ".join(heading.split()) for heading in headings if heading.strip())
    repeated = [heading for heading, count in counts.items() if count > 1]
    if repeated:
        remarks.append(TableRemark(kind="repeated", text=", ".join(repeated)[:MAX_TEXT_CHARS], count=len(repeated)))
    if found.height and not has_row_names:
        unnamed = [n for n, heading in enumerate(headings) if not heading.strip() and any(map(str.strip, values[n]))]
        if unnamed:
            text = ", ".join(f"column_{n + 1}" for n in unnamed)
            remarks.append(TableRemark(kind="unnamed", text=text[:MAX_TEXT_CHARS], count=len(unnamed)))
    if any(_PARENTHESES_NOTE.fullmatch(cell.strip()) for row in rows if filled_count(row) == 1 for cell in row):
        enclosed = [
            column.name
            for column, cells in zip(columns, values, strict=True)
            if column.type in ("integer", "number") and any(cell.strip().startswith(("(", "（")) for cell in cells)
        ]
        if enclosed:
            remarks.append(TableRemark(kind="parentheses", text=", ".join(enclosed), count=len(enclosed)))
    if number := blank_row_doubts(rows, found.last):
        remarks.append(TableRemark(kind="blank_rows", text=str(number), count=1))
    return remarks


def describe_columns(
    columns: Sequence[FileColumn], values: Sequence[Sequence[str]], delimiter: str
) -> list[TableRemark]:
    """Return the remarks on the columns of a table; `delimiter` is "" for a sheet."""
    remarks = []
    totals = [column.name for column in columns if column.type != "text" and is_total_heading(column.heading)]
    if totals and len(columns) > 2:
        remarks.append(TableRemark(kind="total_columns", text=", ".join(totals), count=len(totals)))
    coded = [
        column.name
        for column, cells in zip(columns, values, strict=True)
        if column.type in ("integer", "number") and _has_missing_code(cells)
    ]
    if coded:
        remarks.append(TableRemark(kind="sentinel", text=", ".join(coded), count=len(coded)))
    serials = [
        column.name
        for column, cells in zip(columns, values, strict=True)
        if column.type == "integer" and is_date_heading(column.heading) and _are_serial_days(cells)
    ]
    if serials:
        remarks.append(TableRemark(kind="serial_days", text=", ".join(serials), count=len(serials)))
    if _continues_labels(columns, values):
        remarks.append(TableRemark(kind="blank_labels", text=columns[0].name, count=1))
    if delimiter and len(columns) == 1:
        marked = [cell for cell in values[0] if re.search(r"[;|\t:^~]|\s{2,}|,\S", cell)]
        if len(marked) > len(values[0]) / 2:
            remarks.append(TableRemark(kind="one_column", count=1))
    return remarks


def _are_serial_days(cells: Sequence[str]) -> bool:
    """Return True if all numbers may be serial numbers of days in Excel."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(map(parse_serial_day, filled))


def _has_missing_code(cells: Sequence[str]) -> bool:
    """Return True if the only negative numbers of a column are a code such as -999."""
    negative = {figure for cell in cells if cell.startswith("-") and (figure := to_decimal(cell)) is not None}
    return len(negative) == 1 and negative <= _MISSING_CODES and len(cells) > 2


def _continues_labels(columns: Sequence[FileColumn], values: Sequence[Sequence[str]]) -> bool:
    """Return True if blanks in the first column may repeat the label above them: the second column has no blanks."""
    if (
        len(columns) < 3
        or len(values[0]) < 3
        or not values[0][0].strip()
        or columns[0].type not in ("text", "integer", "date")
    ):
        return False
    blanks = [n for n, cell in enumerate(values[0]) if not cell.strip()]
    is_second_full = all(cell.strip() for cell in values[1])
    return len(blanks) >= _MIN_BLANK_LABELS and is_second_full and 4 * len(blanks) >= len(values[0])
