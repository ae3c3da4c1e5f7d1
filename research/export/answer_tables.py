"""Tables of an answer as CSV and Excel.

Cells are written as text and citations as [n]. Writes no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from csv import writer
from io import BytesIO, StringIO
from typing import Any, NamedTuple

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer, NumberedSpan
from research.citations.support import group_spans
from research.core.i18n import Translator
from research.core.text.control_chars import replace_surrogates
from research.export.database_rows import add_about_sheet, write_cell
from research.export.geo import spreadsheet_cell
from research.export.report_texts import report_translator

_MAX_SHEET_NAME_CHARS = 31  # limit of Excel
_INVALID_SHEET_NAME_CHAR = re.compile(r"[\[\]:*?/\\\x00-\x1f']")
_COLUMN_WIDTH_RANGE = (8, 60)  # characters: minimum and maximum


class AnswerTable(NamedTuple):
    """A table of an answer: the heading above it and its rows, header row first."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


def answer_tables(cited: CitedAnswer) -> list[AnswerTable]:
    """Return all tables of an answer, in order."""
    translate = report_translator(cited.answer.language)
    heading = ""
    tables: list[AnswerTable] = []
    for group in group_spans(cited):
        if group.spans[0].span.kind == "heading":
            heading = _single_line(group.spans[0].span.text)
        for node in _headings_and_tables(group.nodes):
            if node["t"] == "h":
                heading = _flatten(node["c"], (), translate)
            else:
                cells = [[_flatten(c["c"], group.spans, translate) for c in row["c"]] for row in node["c"]]
                tables.append(AnswerTable(heading, tuple(map(tuple, cells))))
    return tables


def answer_tables_csv(tables: Sequence[AnswerTable]) -> bytes:
    """Encode tables as UTF-8 CSV with a byte order mark.

    Several tables are separated by an empty line, each below its heading or number. Cells are
    escaped as in `research.export.geo.places_csv`.
    """
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    for at, table in enumerate(tables):
        if len(tables) > 1:
            lines.writerows([[]] * (at > 0) + [[spreadsheet_cell(table.heading or f"{at + 1}")]])
        lines.writerows([spreadsheet_cell(value) for value in row] for row in table.rows)
    return ("\ufeff" + replace_surrogates(out.getvalue())).encode()


def answer_tables_excel(tables: Sequence[AnswerTable], provenance: Sequence[str] = ()) -> bytes:
    """Build a workbook with a sheet per table and an "About" sheet with the provenance lines.

    All cells are text.
    """
    book = Workbook()
    book.remove(book.active)
    for at, table in enumerate(tables, 1):
        sheet = book.create_sheet(
            f"{at} {_INVALID_SHEET_NAME_CHAR.sub(' ', replace_surrogates(table.heading))}"[
                :_MAX_SHEET_NAME_CHARS
            ].strip()
        )
        _fill_sheet(sheet, table)
    add_about_sheet(book, provenance)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _fill_sheet(sheet: Any, table: AnswerTable) -> None:
    widths: dict[int, int] = {}
    for line, row in enumerate(table.rows, 1):
        for at, value in enumerate(row, 1):
            cell = write_cell(sheet, line, at, replace_surrogates(value))
            cell.font = Font(bold=line == 1)
            widths[at] = max(widths.get(at, 0), len(value))
    for at, width in widths.items():
        fit = min(max(width + 2, _COLUMN_WIDTH_RANGE[0]), _COLUMN_WIDTH_RANGE[1])
        sheet.column_dimensions[get_column_letter(at)].width = fit
    sheet.freeze_panes = "A2"


def _headings_and_tables(nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
    """Yield headings and tables in document order, including those inside lists and quotes."""
    for node in nodes:
        if isinstance(node, dict):
            if node["t"] in ("h", "table"):
                yield node
            else:
                yield from _headings_and_tables(node.get("c", ()))


def _flatten(nodes: Sequence[Node], spans: Sequence[NumberedSpan], translate: Translator) -> str:
    """Join the text of nodes into one line, with citations as [n]."""
    return _single_line("".join(_text_pieces(nodes, spans, translate)))


def _text_pieces(nodes: Sequence[Node], spans: Sequence[NumberedSpan], translate: Translator) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node["t"] == "br":
            yield " "
        elif node["t"] != "cite":
            yield from _text_pieces(node.get("c", ()), spans, translate)
        elif spans:
            span = spans[node["span"]]
            yield "".join(f" [{number}]" for number in span.numbers)
            yield " " + translate("no source") if span.unsourced else ""


def _single_line(text: str) -> str:
    return " ".join(text.split())
