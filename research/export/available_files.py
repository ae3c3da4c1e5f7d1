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
    """A file in a format. `table_number` is that of the database result in it, 0 for any other content."""

    format: ExportFormat
    table_number: int = 0

    @property
    def suffix(self) -> str:
        """The end of the file name, with the number of the result: rows2.csv."""
        first, dot, rest = self.format.suffix.partition(".")
        return f"{first}{self.table_number}{dot}{rest}" if self.table_number else self.format.suffix


def list_exports(report: Report, cited: CitedAnswer | None) -> Iterator[ExportFile]:
    """Yield the files that a report can be exported to, in the order of the registry."""
    contents = {item.content for item in EXPORT_FORMATS}
    numbers = {content: _table_numbers(content, report, cited) for content in contents}
    for export_format in EXPORT_FORMATS:
        yield from (ExportFile(export_format, number) for number in numbers[export_format.content])


def _table_numbers(content: Content, report: Report, cited: CitedAnswer | None) -> Sequence[int]:
    """Return the table numbers of the files for a content: 1, 2, … for results, else 0, or none without content."""
    match content:
        case "sources":
            has_content = cited is not None
        case "places":
            has_content = bool(places_on_globe(report))
        case "table":
            has_content = has_cited_table(report)
        case "answer tables":
            has_content = cited is not None and bool(answer_tables(cited))
        case "rows":
            return range(1, len(query_results(report)) + 1)
        case _:
            has_content = True
    return (0,) if has_content else ()
