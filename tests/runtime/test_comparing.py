"""Two runs side by side: sources, sentences, figures, and what each was allowed and has used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from research import Report, compare_reports
from research.citations.registry import evidence_id
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Passage,
    PassageReference,
    Run,
    RunOptions,
    Span,
    Task,
    Usage,
)
from tests.tables import each_row

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def source(url: str, title: str = "") -> Evidence:
    return Evidence(
        id=evidence_id("web", url, url), kind="web", title=title or url, url=url, locator=url,
        retrieved=NOW, passages=(Passage(id="p", text="A passage.", end=10),),
    )  # fmt: skip


def report(text: str | None, *sources: Evidence, name: str = "one", **options: object) -> Report:
    run = Run(
        id=name, conversation=name, owner="local", question="Q?", status="done", created=NOW,
        options=RunOptions.model_validate(options), finished=NOW + timedelta(seconds=42),
    )  # fmt: skip
    cites = tuple(PassageReference(evidence=item.id, passage="p", end=9) for item in sources)
    answer = Answer(
        title="Q?", language="en", author="Scripted", created=NOW,
        spans=(Span(kind="text", text=text or "", references=cites[:1]),),
    )  # fmt: skip
    finding = Finding(task=Task(id="1.1", source="web", query="q"), evidence=sources, started=NOW)
    return Report(run=run, answer=answer if text is not None else None, findings=(finding,), evidence=sources)


def test_one_address_is_one_source_however_it_is_written() -> None:
    before = report("Yes.", source("https://example.org/a?utm_source=x"), source("https://old.example/"))
    after = report("Yes.", source("https://www.example.org/a"), source("https://new.example/"))
    found = compare_reports(before, after)
    (shared,) = found.sources_in(in_before=True, in_after=True)
    assert "example.org/a" in shared.evidence.url
    assert (shared.number_before, shared.number_after) == (1, 1)
    assert [s.evidence.title for s in found.sources_in(in_before=True, in_after=False)] == ["https://old.example/"]
    (new,) = found.sources_in(in_before=False, in_after=True)
    assert new.number_after is None  # found and not cited


@pytest.mark.parametrize(
    ("before", "after", "stayed", "gone", "came"),
    [
        ("The tower stands. It is old.", "The tower stands. It is new.",
         ["The tower stands."], ["It is old."], ["It is new."]),
        ("塔很高。塔很老。", "塔很高。塔是新的。", ["塔很高。"], ["塔很老。"], ["塔是新的。"]),
        ("One thing is so. Another is not.", "Another is not. One thing is so.",
         ["Another is not.", "One thing is so."], [], []),
    ],
)  # fmt: skip
def test_sentences_stay_go_and_come(
    before: str, after: str, stayed: list[str], gone: list[str], came: list[str]
) -> None:
    found = compare_reports(report(before), report(after))
    told = [[s.text for s in found.sentences_of_kind(kind)] for kind in ("stayed", "gone", "came")]
    assert told == [stayed, gone, came]


@each_row(
    ("before", "after", "figures"),
    [
        ("A ticket costs 60 yuan.", "A ticket costs 80 yuan.", [("60 yuan", "80 yuan")]),
        ("旺季门票为60元。", "旺季门票为80元。", [("60元", "80元")]),
        ("It has 1.2 million visitors.", "It has 1,200,000 visitors.", []),  # the same figure
        ("A ticket costs 60 yuan.", "The hall holds 80 people.", []),  # another thing
        ("It opened in 2019 with 3 halls.", "It opened in 2020 with 3 halls.", [("2019", "2020")]),
    ],
)
def test_a_figure_has_changed_where_the_sentence_is_the_same(
    before: str, after: str, figures: list[tuple[str, str]]
) -> None:
    found = compare_reports(report(before), report(after))
    assert [(f.before, f.after) for f in found.figures] == figures


def test_a_figure_of_two_sentences_of_one_frame_is_not_guessed() -> None:
    before = report("A ticket costs 60 yuan. A ticket costs 40 yuan.")
    assert compare_reports(before, report("A ticket costs 80 yuan.")).figures == ()


def test_what_each_was_allowed_and_has_used_is_told() -> None:
    use = Usage(stage="write", model="gemini:flash", input=900, output=100, cost=0.02)
    before = report("Yes.", source("https://example.org/"), loops=1)
    after = report("Yes.", name="two", loops=3).model_copy(update={"usage": (use, use)})
    found = compare_reports(before, after)
    assert (found.before.cost, found.before.token_count, found.before.models) == (None, 0, ())
    assert (found.after.cost, found.after.token_count) == (0.04, 2000)
    assert found.after.models == ("gemini:flash",)
    assert (found.before.options.loops, found.after.options.loops) == (1, 3)
    assert (found.before.seconds, found.before.cited_count, found.after.cited_count) == (42, 1, 0)


def test_a_run_without_an_answer_has_no_sentences() -> None:
    found = compare_reports(report(None), report("It is old."))
    assert [s.kind for s in found.sentences] == ["came"]
    assert found.figures == ()
