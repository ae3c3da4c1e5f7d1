"""Tables of an answer. Cells are written as text and citations as [n]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer, NumberedSpan
from research.citations.support import group_spans
from research.core.i18n import Translator
from research.core.records import Report
from research.export.options import ExportOptions
from research.export.provenance import provenance_lines
from research.export.report_texts import report_translator
from research.export.table_csv import table_csv
from research.export.table_model import ExportColumn, ExportTable


@lru_cache(2)  # an archive asks once for each table
def answer_tables(cited: CitedAnswer) -> tuple[ExportTable, ...]:
    """Return all tables of an answer, in order, each named by the heading above it."""
    translate = report_translator(cited.answer.language)
    heading = ""
    tables: list[ExportTable] = []
    for group in group_spans(cited):
        if group.spans[0].span.kind == "heading":
            heading = " ".join(group.spans[0].span.text.split())
        for node in _headings_and_tables(group.nodes):
            if node["t"] == "h":
                heading = _flatten(node["c"], (), translate)
            else:
                names, *rows = ([_flatten(c["c"], group.spans, translate) for c in row["c"]] for row in node["c"])
                tables.append(ExportTable(heading, [ExportColumn(name) for name in names], rows))
    return tuple(tables)


def answer_tables_csv(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return the table with the number in the options, or all tables, as CSV."""
    tables = answer_tables(cited) if cited else ()
    return table_csv(tables[options.table_number - 1 :][:1] if options.table_number else tables)


def answer_tables_excel(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return a workbook with a sheet of text cells for each table, and one of the provenance."""
    from research.export.table_excel import ABOUT_SHEET, Sheet, workbook_bytes  # slow to import

    tables = answer_tables(cited) if cited else ()
    sheets = [Sheet(table._replace(name=f"{at} {table.name}")) for at, table in enumerate(tables, 1)]
    return workbook_bytes(sheets, {ABOUT_SHEET: provenance_lines(report, cited)})


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
    return " ".join("".join(_text_pieces(nodes, spans, translate)).split())


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
