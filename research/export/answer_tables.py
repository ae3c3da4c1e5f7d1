"""The tables of an answer as CSV and Excel: text stays text, and citations are [n].

Knows numbered answers; writes no file.
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

from research.citations.model_markdown import Node, replace_surrogates
from research.citations.numbering import CitedAnswer, NumberedSpan
from research.citations.support import group_spans
from research.core.i18n import Translator
from research.export.database_rows import add_about_sheet, write_cell
from research.export.geo import spreadsheet_cell
from research.export.report_texts import report_translator

_MAX_SHEET_NAME_CHARS = 31  # characters of a sheet's name
_INVALID_SHEET_NAME_CHAR = re.compile(r"[\[\]:*?/\\\x00-\x1f']")
_COLUMN_WIDTH_RANGE = (8, 60)  # characters of a column, at least and at most


class AnswerTable(NamedTuple):
    """A table of an answer: the heading that it stands under, and its rows, the head first."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


def answer_tables(cited: CitedAnswer) -> list[AnswerTable]:
    """Every table that the answer has, in order."""
    say = report_translator(cited.answer.language)
    heading = ""
    found: list[AnswerTable] = []
    for stretch in group_spans(cited):
        if stretch.spans[0].span.kind == "heading":
            heading = _single_line(stretch.spans[0].span.text)
        for node in _headings_and_tables(stretch.nodes):
            if node["t"] == "h":
                heading = _flatten(node["c"], (), say)
            else:
                cells = [[_flatten(c["c"], stretch.spans, say) for c in row["c"]] for row in node["c"]]
                found.append(AnswerTable(heading, tuple(map(tuple, cells))))
    return found


def answer_tables_csv(tables: Sequence[AnswerTable]) -> bytes:
    """Tables as UTF-8 for spreadsheets; several are set off by their headings and an empty line.

    See `research.export.geo.csv` for what stands before what a spreadsheet would take for a formula.
    """
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    for at, table in enumerate(tables):
        if len(tables) > 1:
            lines.writerows([[]] * (at > 0) + [[spreadsheet_cell(table.heading or f"{at + 1}")]])
        lines.writerows([spreadsheet_cell(value) for value in row] for row in table.rows)
    return ("\ufeff" + replace_surrogates(out.getvalue())).encode()


def answer_tables_excel(tables: Sequence[AnswerTable], provenance: Sequence[str] = ()) -> bytes:
    """A workbook with a sheet for each table, and one that tells how it came about. All is text."""
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
            placed = write_cell(sheet, line, at, replace_surrogates(value))
            placed.font = Font(bold=line == 1)
            widths[at] = max(widths.get(at, 0), len(value))
    for at, width in widths.items():
        fit = min(max(width + 2, _COLUMN_WIDTH_RANGE[0]), _COLUMN_WIDTH_RANGE[1])
        sheet.column_dimensions[get_column_letter(at)].width = fit
    sheet.freeze_panes = "A2"


def _headings_and_tables(nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
    """Headings and tables, also those within lists and quotations."""
    for node in nodes:
        if isinstance(node, dict):
            if node["t"] in ("h", "table"):
                yield node
            else:
                yield from _headings_and_tables(node.get("c", ()))


def _flatten(nodes: Sequence[Node], spans: Sequence[NumberedSpan], translate: Translator) -> str:
    """Nodes as one line of text."""
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
            own = spans[node["span"]]
            yield "".join(f" [{number}]" for number in own.numbers)
            yield " " + translate("no source") if own.unsourced else ""


def _single_line(text: str) -> str:
    return " ".join(text.split())
