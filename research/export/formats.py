"""Export formats of a report, by file suffix.

The archive, the terminal and the pages share this table. Modules are imported when their format is
written. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.citations.numbering import CitedAnswer, CitedSource
    from research.core.records import Report


def _cited_sources(cited: CitedAnswer | None) -> tuple[CitedSource, ...]:
    return cited.sources if cited else ()


def _write_markdown(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.markdown import report_markdown

    return report_markdown(report, cited, citation_format="links").encode()


def _write_html(report: Report, cited: CitedAnswer | None) -> bytes:
    """Render the page with a sketch map of the places, if there are any."""
    from research.export.html import report_html
    from research.export.markdown import report_language
    from research.export.sketch_map import places_on_map, sketch_svg

    numbered_places = places_on_map(report, cited)
    places, numbers = [place for _, place in numbered_places], [number for number, _ in numbered_places]
    sketch = sketch_svg(places, report_language(report, cited), numbers=numbers)
    return report_html(report, cited, map_image=sketch.encode() or None).encode()


def _write_pdf(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.pdf import report_pdf

    return report_pdf(report, cited)


def _write_docx(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.docx import report_docx

    return report_docx(report, cited)


def _write_json(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.report_json import report_json

    return report_json(report, cited).encode()


def _write_csl(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.bibliography import references_csl_json

    return references_csl_json(_cited_sources(cited)).encode()


def _write_bibtex(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.bibliography import references_bibtex
    from research.export.provenance import provenance_lines

    return references_bibtex(_cited_sources(cited), provenance_lines(report, cited)).encode()


def _write_ris(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.bibliography import references_ris

    return references_ris(_cited_sources(cited)).encode()


def _write_table_excel(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cited_table_excel import cited_table_excel

    return cited_table_excel(report, cited)


def _write_table_csv(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cited_tables import cited_table_csv

    return cited_table_csv(report, cited)


def _write_table_parquet(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cited_tables import cited_table_parquet

    return cited_table_parquet(report, cited)


def _write_table_markdown(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cited_tables import cited_table_markdown

    return cited_table_markdown(report, cited).encode()


def _write_table_json(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cited_table_json import table_json

    return table_json(report, cited).encode()


FormatWriter = Callable[["Report", "CitedAnswer | None"], bytes]

# The report itself.
DOCUMENT_FORMATS: dict[str, FormatWriter] = {
    "md": _write_markdown,
    "html": _write_html,
    "pdf": _write_pdf,
    "docx": _write_docx,
    "json": _write_json,
}
# The cited sources.
BIBLIOGRAPHY_FORMATS: dict[str, FormatWriter] = {"csl.json": _write_csl, "bib": _write_bibtex, "ris": _write_ris}
REPORT_FORMATS = {**DOCUMENT_FORMATS, **BIBLIOGRAPHY_FORMATS}
# The table of a report; a report without one raises ValueError.
TABLE_FORMATS: dict[str, FormatWriter] = {
    "xlsx": _write_table_excel,
    "csv": _write_table_csv,
    "parquet": _write_table_parquet,
    "table.md": _write_table_markdown,
    "table.json": _write_table_json,
}


def infer_export_format(file_name: str, include_tables: bool = False) -> str:
    """Return the format of a file name, "" if its suffix is unknown.

    Formats of a table are recognised only with `include_tables`.
    """
    known = (*REPORT_FORMATS, *TABLE_FORMATS) if include_tables else REPORT_FORMATS
    matches = (ending for ending in known if file_name.lower().endswith(f".{ending}"))
    return max(matches, key=len, default="")


def export_report(report: Report, cited: CitedAnswer | None, format_name: str) -> bytes:
    """Return a report in one of `REPORT_FORMATS`, or its table in one of `TABLE_FORMATS`.

    Raises:
        ValueError: a table format for a report without a table.
    """
    return {**REPORT_FORMATS, **TABLE_FORMATS}[format_name](report, cited)
