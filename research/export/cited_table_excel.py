"""A table with cited cells as an Excel workbook.

Each value links to its line on the sheet of evidence, and back. Numbers and dates are typed cells
whose number format shows their precision; everything else is text. Source of the number formats:
ECMA-376, 18.8.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from io import BytesIO
from typing import Any, NamedTuple

from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.hyperlink import Hyperlink

from research.citations.numbering import CitedAnswer, NumberedCell
from research.core.records import CellReading, CellValue, Column, Evidence, Report, Row
from research.core.text.control_chars import replace_surrogates
from research.core.urls import canonical_url
from research.export.cited_tables import CitedTable, build_cited_table, column_headings
from research.export.column_widths import width_in_ems
from research.export.database_rows import add_about_sheet, write_cell
from research.export.geo import truncate_cell
from research.export.provenance import provenance_lines
from research.tables.formatting import BOUND_SIGNS, format_date, format_number, reading_quotes
from research.tables.values import extract_value

_COLUMN_WIDTH_RANGE = (10, 48)  # characters: minimum and maximum
_MAX_NOTE_CHARS = 1_000  # characters
_MAX_LINK_CHARS = 2_000  # characters; Excel follows no longer address
_DATE_FORMATS = {"day": "yyyy-mm-dd", "month": "yyyy-mm", "year": "yyyy"}
_HEADING_FONT, _LINK_FONT = Font(bold=True), Font(color="0563C1", underline="single")
_EMPTY_FONT = Font(color="808080", italic=True)
_DIFFERENCE_FILL = PatternFill("solid", fgColor="FFE9C7")
_EVIDENCE_COLUMNS = (
    "row", "column", "value", "words", "quote", "number", "title", "publisher", "address", "published", "retrieved", "status",
)  # fmt: skip


class _EvidenceLine(NamedTuple):
    """A reading, one of its cited sources and the quoted sentence of that source."""

    row: Row
    column: Column
    reading: CellReading
    number: int | None
    source: Evidence | None
    quote: str


def cited_table_excel(report: Report, cited: CitedAnswer | None) -> bytes:
    """Build a workbook with sheets for values, evidence and provenance.

    A number in the unit of its column is a numeric cell, even if it is approximate, a bound or the
    lower end of a range; its number format shows that. A number in another currency or unit is
    text. An empty cell shows the reason in grey. A cell with conflicting sources is coloured and
    has a note.
    """
    table = build_cited_table(report, cited)
    book = Workbook()
    values, evidence = book.active, book.create_sheet("Evidence")
    values.title = "Values"
    lines = [*_evidence_lines(table)]
    first_rows: dict[tuple[str, str], int] = {}
    for n, line in enumerate(lines, 2):
        first_rows.setdefault((line.row.id, line.column.id), n)
    _write_values(table, values, first_rows)
    _write_evidence(table, evidence, lines)
    add_about_sheet(book, provenance_lines(report, table.cited))
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _evidence_lines(table: CitedTable) -> Iterator[_EvidenceLine]:
    sources = {s.number: s.evidence for s in table.cited.sources}
    evidence_by_id = {source.id: source for source in sources.values()}
    for row in table.grid.rows:
        for column in table.grid.columns:
            numbered_cell = table.cells_by_key.get((row.id, column.id))
            for reading, numbers in (
                zip(numbered_cell.cell.readings, numbered_cell.numbers, strict=True) if numbered_cell else ()
            ):
                quotes: dict[str, str] = {}
                for cite, quote in zip(reading.cites, reading_quotes(reading, evidence_by_id), strict=True):
                    quotes.setdefault(cite.evidence, quote)
                for number in numbers or (None,):
                    source = sources.get(number or 0)
                    quote = quotes.get(source.id, "") if source else reading.quote
                    yield _EvidenceLine(row, column, reading, number, source, quote)


# Values


def _write_values(table: CitedTable, sheet: Any, evidence_rows: dict[tuple[str, str], int]) -> None:
    for n, name in enumerate(column_headings(table), 1):
        write_cell(sheet, 1, n, name).font = _HEADING_FONT
    for line, row in enumerate(table.grid.rows, 2):
        write_cell(sheet, line, 1, replace_surrogates(row.full_name))
        for n, column in enumerate(table.grid.columns, 2):
            _write_cell(table, sheet, (line, n), column, table.cells_by_key.get((row.id, column.id)))
            if target := evidence_rows.get((row.id, column.id)):
                _link_cell(sheet.cell(line, n), f"Evidence!A{target}")
    _format_sheet(sheet, len(table.grid.rows) + 1, len(table.grid.columns) + 1, "B2")


def _write_cell(
    table: CitedTable, sheet: Any, position: tuple[int, int], column: Column, numbered_cell: NumberedCell | None
) -> None:
    cell = numbered_cell.cell if numbered_cell else None
    if cell is None or not cell.readings:
        write_cell(sheet, *position, table.missing_reason(cell)).font = _EMPTY_FONT
        _add_note(sheet.cell(*position), [cell.message, *cell.choices] if cell else [])
        return
    _write_value(table, sheet, position, column, cell.readings[0].value)
    if len(cell.readings) > 1:
        sheet.cell(*position).fill = _DIFFERENCE_FILL
        quotes = [f"{table.format_value(r.value, column)}: {r.quote}" for r in cell.readings]
        _add_note(sheet.cell(*position), [table.translate("cells.lack-differs"), *quotes])


def _write_value(table: CitedTable, sheet: Any, position: tuple[int, int], column: Column, value: CellValue) -> None:
    point = table.convert_number(value, column)
    if value.type == "number" and point.low is not None and point.high is not None:
        write_cell(sheet, *position, point.low).number_format = _number_format(value, point.low, point.high)
    elif value.type == "date" and value.day and value.day >= date(1900, 3, 1):
        write_cell(sheet, *position, value.day).number_format = _DATE_FORMATS[value.precision]
        sheet.cell(*position).alignment = Alignment(horizontal="right")
    else:
        write_cell(sheet, *position, replace_surrogates(table.format_value(value, column)))


def _number_format(value: CellValue, low: float, high: float) -> str:
    """Build a number format that shows decimals, bound sign and upper end of a range."""
    decimals = format_number(low).partition(".")[2]
    form = "General" if 0 < abs(low) < 1e-3 else "#,##0" + ("." + "0" * len(decimals) if decimals else "")
    before = f'"{BOUND_SIGNS[value.bound]}"' if value.bound else ""
    after = f'"–{format_number(high)}"' if high > low else ""
    return before + form + after


# Evidence


def _write_evidence(table: CitedTable, sheet: Any, lines: list[_EvidenceLine]) -> None:
    for n, key in enumerate(_EVIDENCE_COLUMNS, 1):
        write_cell(sheet, 1, n, table.translate(f"cells.{key}")).font = _HEADING_FONT
    rows = {row.id: n for n, row in enumerate(table.grid.rows, 2)}
    columns = {column.id: n for n, column in enumerate(table.grid.columns, 2)}
    for n, line in enumerate(lines, 2):
        for at, value in enumerate(_evidence_values(table, line), 1):
            if value not in (None, ""):
                write_cell(sheet, n, at, replace_surrogates(value) if isinstance(value, str) else value)
        _link_cell(sheet.cell(n, 3), f"Values!{get_column_letter(columns[line.column.id])}{rows[line.row.id]}")
        address = canonical_url(line.source.url) if line.source else ""
        if address and len(address) <= _MAX_LINK_CHARS:
            address_cell = sheet.cell(n, 9)
            address_cell.hyperlink = Hyperlink(ref=address_cell.coordinate, target=address)
            address_cell.font = _LINK_FONT
        for at in (10, 11):
            sheet.cell(n, at).number_format = _DATE_FORMATS["day"]
    _format_sheet(sheet, len(lines) + 1, len(_EVIDENCE_COLUMNS), "A2")


def _evidence_values(table: CitedTable, line: _EvidenceLine) -> tuple[str | int | date | None, ...]:
    value, source = line.reading.value, line.source
    shown = format_date(value.day, value.precision) if value.day else table.format_value(value, line.column)
    words = value.text
    if line.quote != line.reading.quote:
        extracted = extract_value(line.quote, line.column, context_words=[line.row.name])
        words = extracted.text if extracted else ""
    reading_fields = (line.row.full_name, line.column.name, shown, words, line.quote, line.number)
    status = table.status_text(line.reading)
    if source is None:
        return (*reading_fields, table.translate("no_source"), None, None, None, None, status)
    source_fields = (source.title, source.publisher, source.url, source.published, source.retrieved.date())
    return (*reading_fields, *source_fields, status)


# Both sheets


def _link_cell(cell: Any, location: str) -> None:
    """Link a cell to another location in the workbook."""
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=location)
    cell.font = _LINK_FONT


def _add_note(cell: Any, lines: list[str]) -> None:
    text = truncate_cell(replace_surrogates("\n".join(filter(None, lines))))[:_MAX_NOTE_CHARS]
    if text:
        cell.comment = Comment(text, "Sightline", width=360, height=160)


def _format_sheet(sheet: Any, rows: int, columns: int, freeze_at: str) -> None:
    """Set column widths from the first 200 rows, freeze the header and add a filter."""
    for n in range(1, columns + 1):
        values = (sheet.cell(line, n).value for line in range(1, min(rows, 200) + 1))
        widest = max((2 * width_in_ems(str(value)) for value in values if value is not None), default=0)
        width = min(max(widest + 2, _COLUMN_WIDTH_RANGE[0]), _COLUMN_WIDTH_RANGE[1])
        sheet.column_dimensions[get_column_letter(n)].width = width
    sheet.freeze_panes = freeze_at
    sheet.auto_filter.ref = f"A1:{get_column_letter(columns)}{rows}"
    for line in sheet.iter_rows(min_row=1, max_row=rows):
        for cell in line:
            cell.alignment = Alignment(horizontal=cell.alignment.horizontal, vertical="top", wrap_text=True)
