"""Every format in which a report can leave, by the end of its file's name.

The one table of them: the archive, the terminal and the pages read it. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable

from research.evidence.citations import CitedAnswer, CitedSource
from research.records import Report
from research.report.about import about
from research.report.data import report_json
from research.report.docx import report_docx
from research.report.html import report_html
from research.report.markdown import language_of, report_markdown
from research.report.pdf import report_pdf
from research.report.references import bibtex, csl_json, ris
from research.report.sketch import mapped, sketch_svg

Writer = Callable[[Report, CitedAnswer | None], bytes]


def _sources(cited: CitedAnswer | None) -> tuple[CitedSource, ...]:
    return cited.sources if cited else ()


def _html(report: Report, cited: CitedAnswer | None) -> bytes:
    """The page with a sketch of the places, if there are any."""
    found = mapped(report, cited)
    places, numbers = [place for _, place in found], [number for number, _ in found]
    sketch = sketch_svg(places, language_of(report, cited), numbers=numbers)
    return report_html(report, cited, picture=sketch.encode() or None).encode()


# The report itself.
REPORTS: dict[str, Writer] = {
    "md": lambda report, cited: report_markdown(report, cited, citations="links").encode(),
    "html": _html,
    "pdf": report_pdf,
    "docx": report_docx,
    "json": lambda report, cited: report_json(report, cited).encode(),
}
# What it cites.
REFERENCES: dict[str, Writer] = {
    "csl.json": lambda _, cited: csl_json(_sources(cited)).encode(),
    "bib": lambda report, cited: bibtex(_sources(cited), about(report, cited)).encode(),
    "ris": lambda _, cited: ris(_sources(cited)).encode(),
}
FORMATS = {**REPORTS, **REFERENCES}


def suffix(name: str) -> str:
    """The format that a file's name asks for, or "" if it names none."""
    fitting = (ending for ending in FORMATS if name.lower().endswith(f".{ending}"))
    return max(fitting, key=len, default="")


def report_as(report: Report, cited: CitedAnswer | None, ending: str) -> bytes:
    """A report in one of `FORMATS`."""
    return FORMATS[ending](report, cited)
