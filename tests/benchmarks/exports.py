"""What it takes to write a long report: 600 sentences, 300 sources, tables, in every format.

The report is made up: thirty sections of twenty sentences, each cited, in Chinese and English in
turn, and a table in each; a passage of 600 characters stands behind each source. Each format is
written from nothing, as a click on its button would, but for sentences that are judged already. So are
the three formats for people of a report that is hard to set (tests/export/hard.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from research.citations.numbering import CitedAnswer, number_report_answer
from research.citations.registry import evidence_id
from research.citations.support import check_support, mark_doubtful_sentences
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Passage,
    PassageReference,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
)
from research.export.formats import export_report, file_formats
from tests.benchmarks.figures import Figure
from tests.export.hard import hard

SECTIONS, SENTENCES, SOURCES = 30, 20, 300
PAGE, FORMAT, SLOW = 1.0, 5.0, 10.0  # seconds
HARD = {"md": 1.0, "pdf": 3.0, "docx": 1.5}  # of the report that is hard to set
NOW = datetime(2026, 11, 1, tzinfo=UTC)
_ENGLISH = (
    "In {year} the harbour of district {n} handled {figure} tonnes of freight, {part} per cent more than a year before."
)
_CHINESE = "{year}年，第{n}区港口的货物吞吐量为{figure}吨，比上一年增长{part}%，其中集装箱占一半以上。"


def _sentence(n: int) -> str:
    shape = _CHINESE if n % 2 else _ENGLISH
    return shape.format(year=1900 + n % 120, n=n, figure=1_000 + 37 * n, part=n % 17 + 1)


def _source(n: int) -> Evidence:
    url = f"https://example.org/report/{n}"
    text = " ".join(_sentence(n + at * SOURCES) for at in range(6))
    passage = Passage(id=f"p{n}", text=text, end=len(text))
    return Evidence(
        id=evidence_id("web", url, ""), kind="web", title=f"Report {n} on harbours 港口报告", url=url,
        publisher="Example Press", retrieved=NOW, published=date(2026, 1, 1 + n % 28),
        passages=(passage,),
    )  # fmt: skip


def _spans(sources: list[Evidence]) -> Iterator[Span]:
    for section in range(SECTIONS):
        yield Span(kind="text", text=f"\n\n## Section {section + 1}\n\n")
        for at in range(SENTENCES):
            n = section * SENTENCES + at
            item = sources[n % SOURCES]
            cites = (PassageReference(evidence=item.id, passage=item.passages[0].id),)
            yield Span(kind="text", text=f"{_sentence(n)} ", references=cites)
        rows = "\n".join(f"| {n} | {n * 7} t | {n % 9} % |" for n in range(8))
        yield Span(kind="text", text=f"\n\n| District | Freight | Growth |\n|---|---|---|\n{rows}\n")


def report() -> Report:
    """The long report."""
    sources = [_source(n) for n in range(SOURCES)]
    answer = Answer(title="Harbours", language="en", author="made up", spans=tuple(_spans(sources)), created=NOW)
    findings = tuple(
        Finding(
            task=Task(id=f"1.{at}", source="web", query=f"harbours {at}"),
            evidence=tuple(sources[at::10]),
            started=NOW,
        )
        for at in range(10)
    )
    run = Run(
        id="bench", conversation="c", owner="o", question="How did harbours grow?",
        options=RunOptions(), status="done", created=NOW,
    )  # fmt: skip
    return Report(run=run, findings=findings, answer=answer, evidence=tuple(sources))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def figures() -> Iterator[Figure]:
    written = report()
    numbered = number_report_answer(written)
    assert isinstance(numbered, CitedAnswer)
    first = _seconds(lambda: check_support(numbered))
    count = check_support(numbered).counts.total
    note = f"{count} sentences, {len(numbered.sources)} sources"
    yield Figure("support, first time", first, "s", FORMAT, note=note)
    blocks = _seconds(lambda: [*mark_doubtful_sentences(numbered, check_support(numbered))])
    yield Figure("support and blocks of the page, again", blocks, "s", PAGE)
    limits = {"pdf": SLOW, "zip": 2 * SLOW}
    for ending in (item.suffix for item in file_formats()):
        seconds = _seconds(lambda ending=ending: export_report(written, numbered, ending))  # type: ignore[misc]
        note = f"{len(export_report(written, numbered, ending)):,} bytes"
        yield Figure(ending, seconds, "s", limits.get(ending, FORMAT), note=note)
    difficult = hard()
    marked = number_report_answer(difficult)
    assert isinstance(marked, CitedAnswer)
    for ending, limit in HARD.items():
        export_report(difficult, marked, ending)  # loads the fonts, which is done once
        seconds = _seconds(lambda ending=ending: export_report(difficult, marked, ending))  # type: ignore[misc]
        note = f"{len(marked.sources)} sources, formulas, eight scripts"
        yield Figure(f"{ending}, hard to set", seconds, "s", limit, note=note)
