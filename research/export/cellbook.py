"""A table whose cells have evidence of their own as an Excel workbook.

A sheet of values, in which each links to its line on a sheet of evidence, and back. Numbers are numbers and
dates are dates; how exact they are is their format. All else is text, and stays text. Source of the
formats: ECMA-376, 18.8.30.
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

from research.citations.markup import encodable
from research.citations.numbering import CitedAnswer, NumberedCell
from research.core.records import Column, Evidence, Reading, Report, Row, Value
from research.core.urls import canonical_url
from research.export.about import report_origin
from research.export.cells import Filled, filled_table, headings
from research.export.columns import ems
from research.export.geo import shortened
from research.export.rows import put, told
from research.tables.shown import SIGNS, cell_quotes, dated, figure
from research.tables.values import read

_WIDTH = (10, 48)  # characters of a column, at least and at most
_NOTE = 1_000  # characters
_LINK = 2_000  # characters of an address that Excel follows
_FORMATS = {"day": "yyyy-mm-dd", "month": "yyyy-mm", "year": "yyyy"}
_HEAD, _LINKED = Font(bold=True), Font(color="0563C1", underline="single")
_GREY = Font(color="808080", italic=True)
_DIFFERS = PatternFill("solid", fgColor="FFE9C7")
_LINES = (
    "row", "column", "value", "words", "quote", "number", "title", "publisher", "address", "published", "retrieved", "status",
)  # fmt: skip


class _Line(NamedTuple):
    """A reading, one source that it cites, and the sentence of that source."""

    row: Row
    column: Column
    reading: Reading
    number: int | None
    source: Evidence | None
    quote: str


def excel(report: Report, cited: CitedAnswer | None) -> bytes:
    """The table as a workbook: values, evidence, and how it came about.

    A number in the unit of its column is one, also where it is about or at least so much, or the lower
    end of a range: its format says so. One in another currency or unit is text. Why a cell is empty
    stands in it in grey; where sources differ it has a colour and a note.
    """
    it = filled_table(report, cited)
    book = Workbook()
    values, evidence = book.active, book.create_sheet("Evidence")
    values.title = "Values"
    lines = [*_lines(it)]
    at: dict[tuple[str, str], int] = {}
    for n, line in enumerate(lines, 2):
        at.setdefault((line.row.id, line.column.id), n)
    _fill(it, values, at)
    _prove(it, evidence, lines)
    told(book, report_origin(report, it.cited))
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _lines(it: Filled) -> Iterator[_Line]:
    sources = {s.number: s.evidence for s in it.cited.sources}
    known = {source.id: source for source in sources.values()}
    for row in it.grid.rows:
        for column in it.grid.columns:
            one = it.cells.get((row.id, column.id))
            for reading, numbers in zip(one.cell.readings, one.numbers, strict=True) if one else ():
                said: dict[str, str] = {}
                for cite, quote in zip(reading.cites, cell_quotes(reading, known), strict=True):
                    said.setdefault(cite.evidence, quote)
                for number in numbers or (None,):
                    source = sources.get(number or 0)
                    quote = said.get(source.id, "") if source else reading.quote
                    yield _Line(row, column, reading, number, source, quote)


# Values


def _fill(it: Filled, sheet: Any, at: dict[tuple[str, str], int]) -> None:
    for n, name in enumerate(headings(it), 1):
        put(sheet, 1, n, name).font = _HEAD
    for line, row in enumerate(it.grid.rows, 2):
        put(sheet, line, 1, encodable(row.named))
        for n, column in enumerate(it.grid.columns, 2):
            _place(it, sheet, (line, n), column, it.cells.get((row.id, column.id)))
            if target := at.get((row.id, column.id)):
                _go(sheet.cell(line, n), f"Evidence!A{target}")
    _shape(sheet, len(it.grid.rows) + 1, len(it.grid.columns) + 1, "B2")


def _place(it: Filled, sheet: Any, at: tuple[int, int], column: Column, one: NumberedCell | None) -> None:  # fmt: skip
    cell = one.cell if one else None
    if cell is None or not cell.readings:
        put(sheet, *at, it.lacking(cell)).font = _GREY
        _note(sheet.cell(*at), [cell.message, *cell.choices] if cell else [])
        return
    _value(it, sheet, at, column, cell.readings[0].value)
    if len(cell.readings) > 1:
        sheet.cell(*at).fill = _DIFFERS
        said = [f"{it.shown(r.value, column)}: {r.quote}" for r in cell.readings]
        _note(sheet.cell(*at), [it.say("cells.lack-differs"), *said])


def _value(it: Filled, sheet: Any, at: tuple[int, int], column: Column, value: Value) -> None:
    point = it.point(value, column)
    if value.type == "number" and point.low is not None and point.high is not None:
        put(sheet, *at, point.low).number_format = _number_format(value, point.low, point.high)
    elif value.type == "date" and value.day and value.day >= date(1900, 3, 1):
        put(sheet, *at, value.day).number_format = _FORMATS[value.precision]
        sheet.cell(*at).alignment = Alignment(horizontal="right")
    else:
        put(sheet, *at, encodable(it.shown(value, column)))


def _number_format(value: Value, low: float, high: float) -> str:
    """How a number is shown, with what bounds it; the number itself stays one."""
    decimals = figure(low).partition(".")[2]
    form = "General" if 0 < abs(low) < 1e-3 else "#,##0" + ("." + "0" * len(decimals) if decimals else "")  # fmt: skip
    before = f'"{SIGNS[value.bound]}"' if value.bound else ""
    after = f'"–{figure(high)}"' if high > low else ""
    return before + form + after


# Evidence


def _prove(it: Filled, sheet: Any, lines: list[_Line]) -> None:
    for n, key in enumerate(_LINES, 1):
        put(sheet, 1, n, it.say(f"cells.{key}")).font = _HEAD
    rows = {row.id: n for n, row in enumerate(it.grid.rows, 2)}
    columns = {column.id: n for n, column in enumerate(it.grid.columns, 2)}
    for n, line in enumerate(lines, 2):
        for at, said in enumerate(_told(it, line), 1):
            if said not in (None, ""):
                put(sheet, n, at, encodable(said) if isinstance(said, str) else said)
        _go(sheet.cell(n, 3), f"Values!{get_column_letter(columns[line.column.id])}{rows[line.row.id]}")  # fmt: skip
        address = canonical_url(line.source.url) if line.source else ""
        if address and len(address) <= _LINK:
            place = sheet.cell(n, 9)
            place.hyperlink = Hyperlink(ref=place.coordinate, target=address)
            place.font = _LINKED
        for at in (10, 11):
            sheet.cell(n, at).number_format = _FORMATS["day"]
    _shape(sheet, len(lines) + 1, len(_LINES), "A2")


def _told(it: Filled, line: _Line) -> tuple[str | int | date | None, ...]:
    value, source = line.reading.value, line.source
    shown = dated(value.day, value.precision) if value.day else it.shown(value, line.column)
    words = value.text
    if line.quote != line.reading.quote:
        own = read(line.quote, line.column, near=[line.row.name])
        words = own.text if own else ""
    said = (line.row.named, line.column.name, shown, words, line.quote, line.number)
    status = it.status(line.reading)
    if source is None:
        return (*said, it.say("no_source"), None, None, None, None, status)
    of = (source.title, source.publisher, source.url, source.published, source.retrieved.date())
    return (*said, *of, status)


# What both have


def _go(cell: Any, location: str) -> None:
    """Makes a cell a link to another of the workbook."""
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=location)
    cell.font = _LINKED


def _note(cell: Any, lines: list[str]) -> None:
    text = shortened(encodable("\n".join(filter(None, lines))))[:_NOTE]
    if text:
        cell.comment = Comment(text, "Sightline", width=360, height=160)


def _shape(sheet: Any, rows: int, columns: int, frozen: str) -> None:
    """Widths by what is there, the head in sight, a filter."""
    for n in range(1, columns + 1):
        said = (sheet.cell(line, n).value for line in range(1, min(rows, 200) + 1))
        widest = max((2 * ems(str(one)) for one in said if one is not None), default=0)
        wide = min(max(widest + 2, _WIDTH[0]), _WIDTH[1])
        sheet.column_dimensions[get_column_letter(n)].width = wide
    sheet.freeze_panes = frozen
    sheet.auto_filter.ref = f"A1:{get_column_letter(columns)}{rows}"
    for line in sheet.iter_rows(min_row=1, max_row=rows):
        for cell in line:
            cell.alignment = Alignment(horizontal=cell.alignment.horizontal, vertical="top", wrap_text=True)  # fmt: skip
