"""Every format in which a report can leave, by the end of its file's name.

The one table of them: the archive, the terminal and the pages read it. What writes a format is loaded
when a report is written in it. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.evidence.citations import CitedAnswer, CitedSource
    from research.records import Report


def _sources(cited: CitedAnswer | None) -> tuple[CitedSource, ...]:
    return cited.sources if cited else ()


def _markdown(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.markdown import report_markdown

    return report_markdown(report, cited, citations="links").encode()


def _html(report: Report, cited: CitedAnswer | None) -> bytes:
    """The page with a sketch of the places, if there are any."""
    from research.report.html import report_html
    from research.report.markdown import language_of
    from research.report.sketch import mapped, sketch_svg

    found = mapped(report, cited)
    places, numbers = [place for _, place in found], [number for number, _ in found]
    sketch = sketch_svg(places, language_of(report, cited), numbers=numbers)
    return report_html(report, cited, picture=sketch.encode() or None).encode()


def _pdf(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.pdf import report_pdf

    return report_pdf(report, cited)


def _docx(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.docx import report_docx

    return report_docx(report, cited)


def _json(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.data import report_json

    return report_json(report, cited).encode()


def _csl(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.references import csl_json

    return csl_json(_sources(cited)).encode()


def _bibtex(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.about import about
    from research.report.references import bibtex

    return bibtex(_sources(cited), about(report, cited)).encode()


def _ris(report: Report, cited: CitedAnswer | None) -> bytes:
    from research.report.references import ris

    return ris(_sources(cited)).encode()


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
FORMATS = {**REPORTS, **REFERENCES}


def suffix(name: str) -> str:
    """The format that a file's name asks for, or "" if it names none."""
    fitting = (ending for ending in FORMATS if name.lower().endswith(f".{ending}"))
    return max(fitting, key=len, default="")


def report_as(report: Report, cited: CitedAnswer | None, ending: str) -> bytes:
    """A report in one of `FORMATS`."""
    return FORMATS[ending](report, cited)
