"""The options that every export writer receives, and the sources that a document lists."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research.citations.numbering import CitedAnswer, CitedSource
    from research.core.page_views import PageViewer
    from research.core.records import Language
    from research.core.settings import Settings
    from research.export.report_texts import CitationFormat


@dataclass(frozen=True)
class ExportOptions:
    """Choices of the person, or the program, that exports a report.

    To add one that is a setting, declare the setting and add a field of the same name.

    Attributes:
        citation_format: the form of citations in Markdown: "numbers", "links" to the list of sources,
            or "footnotes"; None for the usual form, which is links in a file and numbers elsewhere.
        language: the language of column headings of database rows; None for that of the report.
        table_number: the answer table or database result to write, counted from 1; 0 for all.
        export_pages: pages of cited documents that an HTML report shows, at most.
        page_viewer: returns those pages; None where the library is out of reach.
    """

    citation_format: CitationFormat | None = None
    language: Language | None = None
    table_number: int = 0
    export_pages: int = 0
    page_viewer: PageViewer | None = None

    @classmethod
    def from_settings(cls, settings: Settings, **choices: Any) -> ExportOptions:
        """Create options: values in `choices`, else those of the settings of the same name."""
        names = {field.name for field in fields(cls)} & set(type(settings).model_fields)
        return cls(**{name: getattr(settings, name) for name in names} | choices)


DEFAULT_OPTIONS = ExportOptions()


def listed_sources(cited: CitedAnswer | None, options: ExportOptions) -> tuple[CitedSource, ...]:
    """Return the cited sources that an exported file lists: the first ones, in the order of their numbers.

    Writers find a source by its position.
    """
    return cited.sources if cited else ()
