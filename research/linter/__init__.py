"""Linter for the citations of any Markdown report.

It recognises numbered sources, footnotes, links, names with years, superscripts, Chinese brackets,
keys and reference links. It does not check whether a source supports its claim, only that each
cited source exists, once, in order and with a usable address. Each step takes time proportional to
the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from research.citations.styles.citation_mark import CitationMark
from research.citations.styles.marks import CitationMarks
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import SourceLists
from research.core.records import Language, Record
from research.core.text.sentences import find_sentence_ends
from research.core.text.tokenizer import HAN_RANGES
from research.linter.checks import LintChecks
from research.linter.flaw_kinds import SEVERITY_BY_KIND, Severity, flaw_message

_MAX_EXCERPT_CHARS = 100  # longer excerpts are cut
# The end of a paragraph, or of a line before a list item.
_BLOCK_END = re.compile(r"\n[ \t]*\n|\n(?=[ \t>]*(?:[-*+•|#]|\d{1,3}[.)]))")
_WORD = re.compile(rf"[^\W\d_]{{2,}}|[{HAN_RANGES}]")


class CitationFlaw(Record):
    """A flaw of a citation. `kind` is a key of `SEVERITY_BY_KIND`; `line` counts from 1, and 0 is no line."""

    line: int
    kind: str
    severity: Severity
    excerpt: str
    message: str


class LintResult(Record):
    """Citations, sources and flaws of a report.

    `styles` are the citation styles, most used first; `cited` is the number of `sentences` with a
    citation. Flaws of severity "info" are no defects.
    """

    styles: tuple[str, ...] = ()
    citations: int = 0
    sources: int = 0
    sentences: int = 0
    cited: int = 0
    flaws: tuple[CitationFlaw, ...] = ()

    @property
    def error_count(self) -> int:
        """Number of flaws with severity "error"."""
        return sum(flaw.severity == "error" for flaw in self.flaws)

    @property
    def warning_count(self) -> int:
        """Number of flaws with severity "warning"."""
        return sum(flaw.severity == "warning" for flaw in self.flaws)


def lint_markdown(text: str, language: Language = "en") -> LintResult:
    """Check the citations of a Markdown report; messages are in `language`. Never raises."""
    report = ParsedReport(text)
    lists = SourceLists(report)
    marks = CitationMarks(report, lists)
    checks = LintChecks(report, lists, marks)
    flaws: dict[tuple[int, str, str], CitationFlaw] = {}
    for kind, offset, subject, conflicting in checks.find_flaws():
        line = report.line_number(offset)
        flaw = CitationFlaw(
            line=line,
            kind=kind,
            severity=SEVERITY_BY_KIND[kind],
            excerpt=_excerpt(report, line),
            message=flaw_message(kind, subject, conflicting, language),
        )
        flaws.setdefault((line, kind, subject), flaw)
    counted = [mark for mark in checks.counted_marks if mark.id or mark.url or mark.kind == "note"]
    sentences, cited = _count_sentences(report, lists, checks.counted_marks)
    return LintResult(
        styles=tuple(style for style, _ in Counter(mark.style for mark in counted).most_common()),
        citations=len(counted),
        sources=len(checks.entries) + len(lists.footnotes) + len(lists.definitions),
        sentences=sentences,
        cited=cited,
        flaws=tuple(sorted(flaws.values(), key=lambda flaw: (flaw.line, flaw.kind))),
    )


def _excerpt(report: ParsedReport, line_number: int) -> str:
    """Return the beginning of a line."""
    start = report.line_starts[line_number - 1]
    words = " ".join(report.source[start : start + 400].partition("\n")[0].split())
    return words if len(words) <= _MAX_EXCERPT_CHARS else words[: _MAX_EXCERPT_CHARS - 1] + "…"


def _count_sentences(report: ParsedReport, source_lists: SourceLists, marks: list[CitationMark]) -> tuple[int, int]:
    """Count the sentences of the text, and those with a citation."""
    text = list(report.prose)
    for line in report.lines:
        if line.number in source_lists.list_lines or line.kind in ("heading", "row", "rule", "code"):
            text[line.start : line.end] = " " * (line.end - line.start)
    for mark in marks:
        if mark.kind != "link":
            text[mark.start : mark.end] = " " * (mark.end - mark.start)
    prose = "".join(text)
    ends = sorted({*find_sentence_ends(prose), *(match.end() for match in _BLOCK_END.finditer(prose))})
    starts = [0, *ends]
    first_words = [
        word.start() if (word := _WORD.search(prose, start, end)) else None
        for start, end in zip(starts, [*ends, len(prose)], strict=True)
    ]
    cited: set[int] = set()
    for mark in marks:
        line = report.lines[report.line_number(mark.start) - 1]
        if line.number in source_lists.list_lines or line.kind in ("heading", "row"):
            continue
        index = bisect_right(starts, mark.start) - 1
        if index > 0 and mark.kind != "link" and (first_words[index] or mark.start) >= mark.start:
            index -= 1
        if first_words[index] is not None:
            cited.add(index)
    return sum(index is not None for index in first_words), len(cited)
