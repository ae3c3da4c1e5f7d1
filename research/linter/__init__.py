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

from research.citations.styles.lists import Lists
from research.citations.styles.marks import Mark, Marks
from research.citations.styles.parsing import ParsedReport
from research.core.records import Language, Record
from research.core.text.sentences import ends
from research.core.text.words import HAN
from research.linter.checks import Checks
from research.linter.words import KINDS, Severity, message

_EXCERPT = 100  # characters
# The end of a paragraph, or of a line before an item.
_BREAK = re.compile(r"\n[ \t]*\n|\n(?=[ \t>]*(?:[-*+•|#]|\d{1,3}[.)]))")
_CONTENT = re.compile(rf"[^\W\d_]{{2,}}|[{HAN}]")


class Flaw(Record):
    """Something wrong with a citation. `kind` is one of `words.KINDS`; lines count from 1."""

    line: int
    kind: str
    severity: Severity
    excerpt: str
    message: str


class Lint(Record):
    """What the citations of a report are like.

    `styles` are those in use, the most used first; `cited` is how many of the `sentences` have a
    citation. Infos are no defects.
    """

    styles: tuple[str, ...] = ()
    citations: int = 0
    sources: int = 0
    sentences: int = 0
    cited: int = 0
    flaws: tuple[Flaw, ...] = ()

    @property
    def errors(self) -> int:
        return sum(flaw.severity == "error" for flaw in self.flaws)

    @property
    def warnings(self) -> int:
        return sum(flaw.severity == "warning" for flaw in self.flaws)


def lint_markdown(text: str, language: Language = "en") -> Lint:
    """Checks the citations of a Markdown report; the messages are in `language`. Never raises."""
    reading = ParsedReport(text)
    lists = Lists(reading)
    marks = Marks(reading, lists)
    checks = Checks(reading, lists, marks)
    flaws: dict[tuple[int, str, str], Flaw] = {}
    for kind, at, what, other in checks.flaws():
        line = reading.line(at)
        flaw = Flaw(
            line=line,
            kind=kind,
            severity=KINDS[kind],
            excerpt=_excerpt(reading, line),
            message=message(kind, what, other, language),
        )
        flaws.setdefault((line, kind, what), flaw)
    counted = [mark for mark in checks.counted if mark.id or mark.url or mark.sort == "note"]
    sentences, cited = _shares(reading, lists, checks.counted)
    return Lint(
        styles=tuple(style for style, _ in Counter(mark.style for mark in counted).most_common()),
        citations=len(counted),
        sources=len(checks.entries) + len(lists.footnotes) + len(lists.definitions),
        sentences=sentences,
        cited=cited,
        flaws=tuple(sorted(flaws.values(), key=lambda flaw: (flaw.line, flaw.kind))),
    )


def _excerpt(reading: ParsedReport, line: int) -> str:
    start = reading.starts[line - 1]
    words = " ".join(reading.raw[start : start + 400].partition("\n")[0].split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1] + "…"


def _shares(reading: ParsedReport, lists: Lists, marks: list[Mark]) -> tuple[int, int]:
    """How many sentences the text has, and how many of them have a citation."""
    text = list(reading.plain)
    for line in reading.lines:
        if line.number in lists.taken or line.kind in ("heading", "row", "rule", "code"):
            text[line.start : line.end] = " " * (line.end - line.start)
    for mark in marks:
        if mark.sort != "link":
            text[mark.start : mark.end] = " " * (mark.end - mark.start)
    plain = "".join(text)
    stops = sorted({*ends(plain), *(match.end() for match in _BREAK.finditer(plain))})
    starts = [0, *stops]
    begins = [
        found.start() if (found := _CONTENT.search(plain, start, end)) else None
        for start, end in zip(starts, [*stops, len(plain)], strict=True)
    ]
    cited: set[int] = set()
    for mark in marks:
        line = reading.lines[reading.line(mark.start) - 1]
        if line.number in lists.taken or line.kind in ("heading", "row"):
            continue
        at = bisect_right(starts, mark.start) - 1
        if at > 0 and mark.sort != "link" and (begins[at] or mark.start) >= mark.start:
            at -= 1
        if begins[at] is not None:
            cited.add(at)
    return sum(at is not None for at in begins), len(cited)
