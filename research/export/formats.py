"""Every format in which a report can leave, by the end of its file's name.

The one table of them: the archive, the terminal and the pages read it. What writes a format is loaded
when a report is written in it. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.citations.numbering import CitedAnswer, CitedSource
    from research.core.records import Report


def _sources(cited: CitedAnswer | None) -> tuple[CitedSource, ...]:
    return cited.sources if cited else ()


def _markdown(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.markdown import report_markdown

    return report_markdown(report, cited, citations="links").encode()


def _html(report: Report, cited: CitedAnswer | None) -> bytes:
    """The page with a sketch of the places, if there are any."""
    from research.export.html import report_html
    from research.export.markdown import language_of
    from research.export.sketch import mapped_places, sketch_svg

    found = mapped_places(report, cited)
    places, numbers = [place for _, place in found], [number for number, _ in found]
    sketch = sketch_svg(places, language_of(report, cited), numbers=numbers)
    return report_html(report, cited, picture=sketch.encode() or None).encode()


def _pdf(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.pdf import report_pdf

    return report_pdf(report, cited)


def _docx(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.docx import report_docx

    return report_docx(report, cited)


def _json(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.data import report_json

    return report_json(report, cited).encode()


def _csl(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.references import csl_json

    return csl_json(_sources(cited)).encode()


def _bibtex(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.about import report_origin
    from research.export.references import bibtex

    return bibtex(_sources(cited), report_origin(report, cited)).encode()


def _ris(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.references import ris

    return ris(_sources(cited)).encode()


def _table_excel(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cellbook import excel

    return excel(report, cited)


def _table_csv(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cells import table_csv

    return table_csv(report, cited)


def _table_parquet(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cells import parquet

    return parquet(report, cited)


def _table_markdown(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.cells import markdown

    return markdown(report, cited).encode()


def _table_json(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.export.celldata import table_json

    return table_json(report, cited).encode()


Writer = Callable[["Report", "CitedAnswer | None"], bytes]

# The report itself.
REPORTS: dict[str, Writer] = {
    "md": _markdown,
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
    "json": _json,
}
# What it cites.
REFERENCES: dict[str, Writer] = {"csl.json": _csl, "bib": _bibtex, "ris": _ris}
REPORT_FORMATS = {**REPORTS, **REFERENCES}
# The table that it is, if it is one: a report without one has no such file, which is a ValueError.
TABLE_FORMATS: dict[str, Writer] = {
    "xlsx": _table_excel,
    "csv": _table_csv,
    "parquet": _table_parquet,
    "table.md": _table_markdown,
    "table.json": _table_json,
}


def report_suffix(name: str, table: bool = False) -> str:
    """The format that a file's name asks for, or "" if it names none; of a `table` also its own."""
    known = (*REPORT_FORMATS, *TABLE_FORMATS) if table else REPORT_FORMATS
    fitting = (ending for ending in known if name.lower().endswith(f".{ending}"))
    return max(fitting, key=len, default="")


def report_as(report: Report, cited: CitedAnswer | None, ending: str) -> bytes:
    """A report in one of `FORMATS`, or the table that it is in one of `TABLES`.

    Raises:
        ValueError: it is no table.
    """
    return {**REPORT_FORMATS, **TABLE_FORMATS}[ending](report, cited)
