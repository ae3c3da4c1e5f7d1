"""An answer of one paragraph, however long: what an export takes grows with its length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count, islice

import pytest

from research.citations.numbering import CitedAnswer, number_report_answer
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
from research.export.formats import export_report
from tests.benchmarks.exports import NOW
from tests.growth import assert_linear
from tests.tables import each_row

NUMBERS = count(1_000_000)
ENGLISH = 'The **harbour** of district {n} handled {n} tonnes; "more" (as it said) than in *{n}*. '
CHINESE = "第{n}区的**港口**吞吐量为{n}吨，比上一年（{n}年）增长一成。"


def plain(text: str) -> tuple[list[Span], list[Passage]]:
    return [Span(kind="text", text=text)], []


def grounded(text: str) -> tuple[list[Span], list[Passage]]:
    """Every sentence with a passage of its own, as a search model brings them."""
    spans, passages = [], []
    for n, said in enumerate(text.splitlines()):
        passages.append(Passage(id=f"p{n}", origin="grounding", text=said, end=len(said)))
        cites = (PassageReference(evidence="e1", passage=f"p{n}"),)
        spans.append(Span(kind="text", text=f"{said} ", references=cites))
    return spans, passages


def endless(text: str) -> tuple[list[Span], list[Passage]]:
    """No sentence ends."""
    return plain(text.translate({ord(stop): " " for stop in ".。\n"}))


def report(shape: str, size: int, made: Callable[[str], tuple[list[Span], list[Passage]]]) -> Report:
    """A report whose answer has one paragraph of about `size` bytes, of sentences never seen before:
    what was read once is remembered."""
    each = len(shape.encode())
    text = "\n".join(shape.format(n=n) for n in islice(NUMBERS, size // each))
    spans, passages = made(text if made is grounded else text.replace("\n", ""))
    source = Evidence(
        id="e1", kind="web", title="A page", url="https://example.org/", retrieved=NOW,
        passages=tuple(passages),
    )  # fmt: skip
    return Report(
        run=Run(id="r", conversation="c", owner="o", question="How much?", options=RunOptions(), status="done", created=NOW),
        findings=(Finding(task=Task(id="1.1", source="web", query="q"), evidence=(source,), started=NOW),),
        evidence=(source,),
        answer=Answer(title="", language="en", author="a", spans=tuple(spans), created=NOW),
    )  # fmt: skip


@pytest.mark.slow
@each_row(
    ("ending", "shape", "made"),
    [
        ("json", ENGLISH, plain),
        ("json", CHINESE, grounded),
        ("json", ENGLISH, endless),
        ("html", CHINESE, plain),
        ("html", ENGLISH, grounded),
        ("html", CHINESE, endless),
        ("pdf", ENGLISH, plain),
        ("pdf", CHINESE, grounded),
        ("pdf", ENGLISH, endless),
        ("pdf", CHINESE, endless),
    ],
)
def test_an_export_of_one_paragraph_takes_time_in_proportion_to_its_length(
    ending: str, shape: str, made: Callable[[str], tuple[list[Span], list[Passage]]]
) -> None:
    def work(size: int) -> Callable[[], object]:
        written = report(shape, size, made)
        numbered = number_report_answer(written)
        assert isinstance(numbered, CitedAnswer)
        return partial(export_report, written, numbered, ending)

    assert_linear(work, 5_000)
