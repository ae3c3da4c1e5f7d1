"""The files that a report can be exported to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.citations.numbering import CitedAnswer
from research.core.records import Report
from research.export.answer_tables import answer_tables
from research.export.cited_tables import has_cited_table
from research.export.formats import EXPORT_FORMATS, Content, ExportFormat
from research.export.report_facts import query_results
from research.export.report_places import places_on_globe


class ExportFile(NamedTuple):
    """A format, and the number of the result that the file holds; 0 unless it is one of several."""

    format: ExportFormat
    part: int = 0

    @property
    def suffix(self) -> str:
        """The end of the file name, with the number of the result: rows2.csv."""
        first, dot, rest = self.format.suffix.partition(".")
        return f"{first}{self.part}{dot}{rest}" if self.part else self.format.suffix


def list_exports(report: Report, cited: CitedAnswer | None) -> Iterator[ExportFile]:
    """Yield the files that a report can be exported to, in the order of the registry."""
    parts = {content: _list_parts(content, report, cited) for content in {item.content for item in EXPORT_FORMATS}}
    for export_format in EXPORT_FORMATS:
        yield from (ExportFile(export_format, part) for part in parts[export_format.content])


def _list_parts(content: Content, report: Report, cited: CitedAnswer | None) -> Sequence[int]:
    """Return the numbers of the files that a report needs for a content: none, 0, or 1, 2, …"""
    match content:
        case "sources":
            is_there = cited is not None
        case "places":
            is_there = bool(places_on_globe(report))
        case "table":
            is_there = has_cited_table(report)
        case "answer tables":
            is_there = cited is not None and bool(answer_tables(cited))
        case "rows":
            return range(1, len(query_results(report)) + 1)
        case _:
            is_there = True
    return (0,) if is_there else ()
