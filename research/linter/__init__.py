"""The citations of any Markdown report: which style they are written in, and what is wrong with them.

It reads numbered sources, footnotes, links, names with years, superscripts, Chinese brackets, keys and
links that are defined apart. Whether a source says what it is cited for is not known here: only that
what is cited is there, once, in order and under an address that can be opened. Every step takes time
in proportion to the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from research.citations.styles.marks import CitationMark, CitationMarks
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import SourceLists
from research.core.records import Language, Record
from research.core.text.sentences import find_sentence_ends
from research.core.text.tokenizer import HAN_RANGES
from research.linter.checks import LintChecks
from research.linter.flaw_kinds import SEVERITY_BY_KIND, Severity, flaw_message

_MAX_EXCERPT_CHARS = 100  # characters
# The end of a paragraph, or of a line before an item.
_BLOCK_END = re.compile(r"\n[ \t]*\n|\n(?=[ \t>]*(?:[-*+•|#]|\d{1,3}[.)]))")
_WORD = re.compile(rf"[^\W\d_]{{2,}}|[{HAN_RANGES}]")


class CitationFlaw(Record):
    """Something wrong with a citation. `kind` is one of `words.KINDS`; lines count from 1."""

    line: int
    kind: str
    severity: Severity
    excerpt: str
    message: str


class LintResult(Record):
    """What the citations of a report are like.

    `styles` are those in use, the most used first; `cited` is how many of the `sentences` have a
    citation. Infos are no defects.
    """

    styles: tuple[str, ...] = ()
    citations: int = 0
    sources: int = 0
    sentences: int = 0
    cited: int = 0
    flaws: tuple[CitationFlaw, ...] = ()

    @property
    def errors(self) -> int:
        return sum(flaw.severity == "error" for flaw in self.flaws)

    @property
    def warnings(self) -> int:
        return sum(flaw.severity == "warning" for flaw in self.flaws)


def lint_markdown(text: str, language: Language = "en") -> LintResult:
    """Checks the citations of a Markdown report; the messages are in `language`. Never raises."""
    reading = ParsedReport(text)
    lists = SourceLists(reading)
    marks = CitationMarks(reading, lists)
    checks = LintChecks(reading, lists, marks)
    flaws: dict[tuple[int, str, str], CitationFlaw] = {}
    for kind, at, what, other in checks.find_flaws():
        line = reading.line_number(at)
        flaw = CitationFlaw(
            line=line,
            kind=kind,
            severity=SEVERITY_BY_KIND[kind],
            excerpt=_excerpt(reading, line),
            message=flaw_message(kind, what, other, language),
        )
        flaws.setdefault((line, kind, what), flaw)
    counted = [mark for mark in checks.counted_marks if mark.id or mark.url or mark.kind == "note"]
    sentences, cited = _count_sentences(reading, lists, checks.counted_marks)
    return LintResult(
        styles=tuple(style for style, _ in Counter(mark.style for mark in counted).most_common()),
        citations=len(counted),
        sources=len(checks.entries) + len(lists.footnotes) + len(lists.definitions),
        sentences=sentences,
        cited=cited,
        flaws=tuple(sorted(flaws.values(), key=lambda flaw: (flaw.line, flaw.kind))),
    )


def _excerpt(report: ParsedReport, line_number: int) -> str:
    start = report.line_starts[line_number - 1]
    words = " ".join(report.source[start : start + 400].partition("\n")[0].split())
    return words if len(words) <= _MAX_EXCERPT_CHARS else words[: _MAX_EXCERPT_CHARS - 1] + "…"


def _count_sentences(report: ParsedReport, source_lists: SourceLists, marks: list[CitationMark]) -> tuple[int, int]:
    """How many sentences the text has, and how many of them have a citation."""
    text = list(report.prose)
    for line in report.lines:
        if line.number in source_lists.list_lines or line.kind in ("heading", "row", "rule", "code"):
            text[line.start : line.end] = " " * (line.end - line.start)
    for mark in marks:
        if mark.kind != "link":
            text[mark.start : mark.end] = " " * (mark.end - mark.start)
    plain = "".join(text)
    stops = sorted({*find_sentence_ends(plain), *(match.end() for match in _BLOCK_END.finditer(plain))})
    starts = [0, *stops]
    begins = [
        found.start() if (found := _WORD.search(plain, start, end)) else None
        for start, end in zip(starts, [*stops, len(plain)], strict=True)
    ]
    cited: set[int] = set()
    for mark in marks:
        line = report.lines[report.line_number(mark.start) - 1]
        if line.number in source_lists.list_lines or line.kind in ("heading", "row"):
            continue
        at = bisect_right(starts, mark.start) - 1
        if at > 0 and mark.kind != "link" and (begins[at] or mark.start) >= mark.start:
            at -= 1
        if begins[at] is not None:
            cited.add(at)
    return sum(at is not None for at in begins), len(cited)
