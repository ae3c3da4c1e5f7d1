"""A table with cited cells as an Excel workbook.

Each value links to its line on the sheet of evidence, and back. Numbers and dates are typed cells
whose number format shows their precision; everything else is text. Source of the number formats:
ECMA-376, 18.8.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from openpyxl.utils import get_column_letter

from research.citations.numbering import CitedAnswer
from research.core.records import CellReading, CellValue, Column, Evidence, Report, Row
from research.core.urls import canonical_url
from research.export.cited_tables import CitedTable, build_cited_table
from research.export.options import ExportOptions
from research.export.provenance import provenance_lines
from research.export.table_excel import ABOUT_SHEET, Sheet, workbook_bytes
from research.export.table_model import ExportCell, ExportColumn, ExportTable
from research.tables.formatting import BOUND_SIGNS, format_date, format_number, reading_quotes
from research.tables.values import extract_value

_MAX_LINK_CHARS = 2_000  # Excel follows no longer address
_DATE_FORMATS = {"day": "yyyy-mm-dd", "month": "yyyy-mm", "year": "yyyy"}
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


def cited_table_excel(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return a workbook with sheets for values, evidence and provenance.

    A number in the unit of its column is a numeric cell, even if it is approximate, a bound or the
    lower end of a range; its number format shows that. A number in another currency or unit is
    text. An empty cell shows the reason in grey. A cell with conflicting sources is coloured and
    has a note.
    """
    table = build_cited_table(report, cited)
    lines = [*_evidence_lines(table)]
    sheets = [
        Sheet(_values_table(table, lines), "B2", for_reading=True),
        Sheet(_evidence_table(table, lines), for_reading=True),
    ]
    return workbook_bytes(sheets, {ABOUT_SHEET: provenance_lines(report, table.cited)})


def _evidence_lines(table: CitedTable) -> Iterator[_EvidenceLine]:
    sources = {s.number: s.evidence for s in table.cited.sources}
    evidence_by_id = {source.id: source for source in sources.values()}
    for row in table.grid.rows:
        for column in table.grid.columns:
            for reading, numbers in table.numbered_readings(row, column):
                quotes: dict[str, str] = {}
                for cite, quote in zip(reading.references, reading_quotes(reading, evidence_by_id), strict=True):
                    quotes.setdefault(cite.evidence, quote)
                for number in numbers or (None,):
                    source = sources.get(number or 0)
                    quote = quotes.get(source.id, "") if source else reading.quote
                    yield _EvidenceLine(row, column, reading, number, source, quote)


# Values


def _values_table(table: CitedTable, evidence: list[_EvidenceLine]) -> ExportTable:
    """Build the sheet of values; each links to its first line of evidence."""
    links: dict[tuple[str, str], str] = {}
    for n, line in enumerate(evidence, 2):
        links.setdefault((line.row.id, line.column.id), f"Evidence!A{n}")
    rows = [
        [row.full_name, *(_value_cell(table, row, c, links.get((row.id, c.id), "")) for c in table.grid.columns)]
        for row in table.grid.rows
    ]
    return ExportTable("Values", [ExportColumn(name) for name in table.headings], rows)


def _value_cell(table: CitedTable, row: Row, column: Column, link: str) -> ExportCell:
    item = table.cells_by_key.get((row.id, column.id))
    cell = item.cell if item else None
    if cell is None or not cell.readings:
        note = [cell.message, *cell.choices] if cell else []
        return ExportCell(table.missing_reason(cell), style="missing", note=_join_lines(note))
    typed = _typed_cell(table, column, cell.readings[0].value)
    if len(cell.readings) == 1:
        return replace(typed, link=link)
    quotes = [f"{table.format_value(r.value, column)}: {r.quote}" for r in cell.readings]
    note = [table.translate("cells.lack-differs"), *quotes]
    return replace(typed, style="conflict", note=_join_lines(note), link=link)


def _join_lines(lines: list[str]) -> str:
    return "\n".join(filter(None, lines))


def _typed_cell(table: CitedTable, column: Column, value: CellValue) -> ExportCell:
    point = table.convert_number(value, column)
    if value.type == "number" and point.low is not None and point.high is not None:
        return ExportCell(point.low, _number_format(value, point.low, point.high))
    if value.type == "date" and value.day and value.day >= date(1900, 3, 1):
        return ExportCell(value.day, _DATE_FORMATS[value.precision], horizontal="right")
    return ExportCell(table.format_value(value, column))


def _number_format(value: CellValue, low: float, high: float) -> str:
    """Build a number format that shows decimals, bound sign and upper end of a range."""
    decimals = format_number(low).partition(".")[2]
    form = "General" if 0 < abs(low) < 1e-3 else "#,##0" + ("." + "0" * len(decimals) if decimals else "")
    before = f'"{BOUND_SIGNS[value.bound]}"' if value.bound else ""
    after = f'"–{format_number(high)}"' if high > low else ""
    return before + form + after


# Evidence


def _evidence_table(table: CitedTable, lines: list[_EvidenceLine]) -> ExportTable:
    """Build the sheet of evidence; each line links to its value and to the address of its source."""
    columns = [ExportColumn(table.translate(f"cells.{key}")) for key in _EVIDENCE_COLUMNS]
    row_numbers = {row.id: n for n, row in enumerate(table.grid.rows, 2)}
    letters = {column.id: get_column_letter(n) for n, column in enumerate(table.grid.columns, 2)}
    rows = [_evidence_row(table, line, f"Values!{letters[line.column.id]}{row_numbers[line.row.id]}") for line in lines]
    return ExportTable("Evidence", columns, rows)


def _evidence_row(table: CitedTable, line: _EvidenceLine, value_cell: str) -> list[Any]:
    value, source = line.reading.value, line.source
    shown = format_date(value.day, value.precision) if value.day else table.format_value(value, line.column)
    words = value.text
    if line.quote != line.reading.quote:
        extracted = extract_value(line.quote, line.column, context_words=[line.row.name])
        words = extracted.text if extracted else ""
    url = source.url if source else ""
    address = canonical_url(url)
    return [
        line.row.full_name,
        line.column.name,
        ExportCell(shown or None, link=value_cell),
        words or None,
        line.quote or None,
        line.number,
        (source.title if source else table.translate("no_source")) or None,
        (source.publisher if source else "") or None,
        ExportCell(url or None, address=address if len(address) <= _MAX_LINK_CHARS else ""),
        ExportCell(source.published if source else None, _DATE_FORMATS["day"]),
        ExportCell(source.retrieved.date() if source else None, _DATE_FORMATS["day"]),
        table.status_text(line.reading),
    ]
