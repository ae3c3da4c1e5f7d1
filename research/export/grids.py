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

from research.citations.markup import Node, encodable
from research.citations.numbering import CitedAnswer, NumberedSpan
from research.citations.support import stretches
from research.core.i18n import Say
from research.export.geo import cell
from research.export.rows import put, told
from research.export.words import speaker

_SHEET = 31  # characters of a sheet's name
_UNFIT = re.compile(r"[\[\]:*?/\\\x00-\x1f']")
_WIDTH = (8, 60)  # characters of a column, at least and at most


class Table(NamedTuple):
    """A table of an answer: the heading that it stands under, and its rows, the head first."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


def answer_tables(cited: CitedAnswer) -> list[Table]:
    """Every table that the answer has, in order."""
    say = speaker(cited.answer.language)
    heading = ""
    found: list[Table] = []
    for stretch in stretches(cited):
        if stretch.spans[0].span.kind == "heading":
            heading = _line(stretch.spans[0].span.text)
        for node in _blocks(stretch.nodes):
            if node["t"] == "h":
                heading = _flat(node["c"], (), say)
            else:
                cells = [[_flat(c["c"], stretch.spans, say) for c in row["c"]] for row in node["c"]]
                found.append(Table(heading, tuple(map(tuple, cells))))
    return found


def answer_tables_csv(tables: Sequence[Table]) -> bytes:
    """Tables as UTF-8 for spreadsheets; several are set off by their headings and an empty line.

    See `research.export.geo.csv` for what stands before what a spreadsheet would take for a formula.
    """
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    for at, table in enumerate(tables):
        if len(tables) > 1:
            lines.writerows([[]] * (at > 0) + [[cell(table.heading or f"{at + 1}")]])
        lines.writerows([cell(value) for value in row] for row in table.rows)
    return ("\ufeff" + encodable(out.getvalue())).encode()


def answer_tables_excel(tables: Sequence[Table], about: Sequence[str] = ()) -> bytes:
    """A workbook with a sheet for each table, and one that tells how it came about. All is text."""
    book = Workbook()
    book.remove(book.active)
    for at, table in enumerate(tables, 1):
        sheet = book.create_sheet(
            f"{at} {_UNFIT.sub(' ', encodable(table.heading))}"[:_SHEET].strip()
        )
        _fill(sheet, table)
    told(book, about)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _fill(sheet: Any, table: Table) -> None:
    widths: dict[int, int] = {}
    for line, row in enumerate(table.rows, 1):
        for at, value in enumerate(row, 1):
            placed = put(sheet, line, at, encodable(value))
            placed.font = Font(bold=line == 1)
            widths[at] = max(widths.get(at, 0), len(value))
    for at, width in widths.items():
        fit = min(max(width + 2, _WIDTH[0]), _WIDTH[1])
        sheet.column_dimensions[get_column_letter(at)].width = fit
    sheet.freeze_panes = "A2"


def _blocks(nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
    """Headings and tables, also those within lists and quotations."""
    for node in nodes:
        if isinstance(node, dict):
            if node["t"] in ("h", "table"):
                yield node
            else:
                yield from _blocks(node.get("c", ()))


def _flat(nodes: Sequence[Node], spans: Sequence[NumberedSpan], say: Say) -> str:
    """Nodes as one line of text."""
    return _line("".join(_words(nodes, spans, say)))


def _words(nodes: Sequence[Node], spans: Sequence[NumberedSpan], say: Say) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node["t"] == "br":
            yield " "
        elif node["t"] != "cite":
            yield from _words(node.get("c", ()), spans, say)
        elif spans:
            own = spans[node["span"]]
            yield "".join(f" [{number}]" for number in own.numbers)
            yield " " + say("no source") if own.unsourced else ""


def _line(text: str) -> str:
    return " ".join(text.split())
