"""A Markdown table as spans, so that its cells can have citations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from research.citations.markdown_parser import escape_table_cell
from research.core.records import Span


def table_spans(headings: Sequence[str], rows: Iterable[tuple[str, Iterable[Iterable[Span]]]]) -> Iterator[Span]:
    """Yield the spans of a table. A row is its name and its cells, and a cell is a sequence of spans."""
    heading_cells = "".join(f" {escape_table_cell(heading)} |" for heading in headings)
    yield Span(kind="text", text=f"| |{heading_cells}\n|---|{'---|' * len(headings)}")
    for name, cells in rows:
        yield Span(kind="text", text=f"\n| **{escape_table_cell(name)}**")
        for cell in cells:
            yield Span(kind="text", text=" |")
            yield from cell
        yield Span(kind="text", text=" |")
