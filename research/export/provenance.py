"""What a file that is no report tells of itself, as lines of plain text: how it was made, what failed.

The lines are those that end the report as Markdown. Knows trees of Markdown; writes no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from research.citations.model_markdown import Node
from research.citations.numbering import CitedAnswer
from research.core.records import Report
from research.export.document import parse_markdown, plain_text
from research.export.markdown import provenance_markdown


def provenance_lines(report: Report, cited: CitedAnswer | None) -> tuple[str, ...]:
    """How, when and by whom a report was made, with which limits, and what failed; a line each."""
    return tuple(text_lines(parse_markdown(provenance_markdown(report, cited))))


def text_lines(nodes: Sequence[Node]) -> Iterator[str]:
    """Headings and items of lists as lines of text."""
    for node in nodes:
        if isinstance(node, dict) and node["t"] == "ul":
            yield from (f"- {' '.join(plain_text([item]).split())}" for item in node["c"])
        else:
            yield " ".join(plain_text([node]).split())
