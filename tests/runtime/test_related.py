"""Questions to ask next stand on something that the run has found, and on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry
from research.citations.support import check_support
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Language,
    Passage,
    PassageReference,
    Place,
    Plan,
    Reflection,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
)
from research.runtime.related_questions import MAX_QUESTION_CHARS, MAX_QUESTIONS, related_questions

NOW = datetime(2026, 11, 20, tzinfo=UTC)
TASK = Task(id="1.1", source="library", query="tower")


def source(name: str, *passages: tuple[str, str], place: Place | None = None) -> Evidence:
    """A document; each passage has a heading and a text."""
    made = tuple(
        Passage(id=f"{name}{n}", heading=heading, text=text, end=len(text))
        for n, (heading, text) in enumerate(passages)
    )
    return Evidence(
        id=name, kind="place" if place else "library", title=f"The {name}", retrieved=NOW,
        passages=made, place=place,
    )  # fmt: skip


def made(
    text: str,
    evidence: Sequence[Evidence],
    *,
    language: Language = "en",
    tasks: Sequence[Task] = (TASK,),
    follow_ups: Sequence[Task] = (),
    options: RunOptions | None = None,
) -> tuple[Report, CitedAnswer]:
    """A report whose answer is one sentence that cites the first passage of the first source."""
    registry = EvidenceRegistry()
    for item in evidence:
        registry.add(item)
    evidence = list(registry)  # each under the id that it has there
    first = evidence[0].passages[0]
    cite = PassageReference(evidence=evidence[0].id, passage=first.id, end=first.end)
    answer = Answer(
        title="?", language=language, author="x", created=NOW,
        spans=(Span(kind="text", text=text, references=(cite,)),),
    )  # fmt: skip
    run = Run(
        id="r", conversation="c", owner="local", question="What of the tower?",
        options=options or RunOptions(), status="done", created=NOW,
    )  # fmt: skip
    report = Report(
        run=run, plan=Plan(question="?", tasks=tuple(tasks)), answer=answer,
        findings=(Finding(task=TASK, evidence=tuple(evidence), started=NOW),),
        reflections=(
            Reflection(round=1, sufficient=False, follow_ups=tuple(follow_ups)),
        ) * bool(follow_ups),
        evidence=tuple(evidence),
    )  # fmt: skip
    return report, number_citations(answer, registry)


def asked(report: Report, cited: CitedAnswer) -> tuple[str, ...]:
    return related_questions(report, cited, check_support(cited))


TOWER = source("tower", ("Height", "The tower is 72 metres high."), ("History", "Built in 1900."))
TRUE = "The tower is 72 metres high."


def test_a_passage_that_was_found_and_is_not_cited_is_asked_about() -> None:
    assert asked(*made(TRUE, [TOWER])) == ("What does “The tower” say under “History”?",)
    (chinese,) = asked(*made(TRUE, [TOWER], language="zh"))
    assert "《The tower》" in chinese and "“History”" in chinese


def test_a_sentence_that_its_source_does_not_bear_out_is_asked_about_first() -> None:
    first, *_ = asked(*made("The tower is 99 metres high.", [TOWER]))
    assert first == "Is there support for this: The tower is 99 metres high."


def test_a_search_that_was_wanted_and_not_made_is_offered() -> None:
    wanted = Task(id="2.1", round=2, source="web", query="who built the tower")
    assert "who built the tower" in asked(*made(TRUE, [TOWER], follow_ups=[wanted]))
    done = Task(id="1.1", source="web", query="who built the tower")
    assert "who built the tower" not in asked(*made(TRUE, [TOWER], follow_ups=[done]))


def test_a_place_that_was_found_leads_on() -> None:
    place = Place(id="p", name="Tower Gate", lng=116.4, lat=39.9, provider="amap", category="sight")
    gate = source("gate", ("", "Tower Gate"), place=place)
    assert "What is there to eat near Tower Gate?" in asked(*made(TRUE, [TOWER, gate]))


@pytest.mark.parametrize("language", ["zh", "en"])
def test_figures_on_which_sources_disagree_are_asked_about(language: Language) -> None:
    one = source("one", ("", "A ticket to the Tall Tower costs 60 yuan."))
    two = source("two", ("", "A ticket to the Tall Tower costs 80 yuan."))
    report, cited = made("A ticket to the Tall Tower costs 60 yuan.", [one, two], language=language)
    first = asked(report, cited)[0]
    assert "60 yuan" in first and "80 yuan" in first


def test_there_are_few_none_is_long_and_none_is_what_was_asked() -> None:
    many = source("many", ("", TRUE), *((f"Chapter {n}", "Words.") for n in range(9)))
    long = source("long", ("", "x"), ("Chapter " + "x" * 300, "Words."))
    found = asked(*made(TRUE, [many, long]))
    assert len(found) == MAX_QUESTIONS == len(set(found))
    assert all(len(text) <= MAX_QUESTION_CHARS for text in found)
    report, cited = made(TRUE, [TOWER])
    run = report.run.model_copy(update={"question": "What does “The tower” say under “History”?"})
    assert asked(report.model_copy(update={"run": run}), cited) == ()


def test_a_report_on_the_news_and_a_typed_statement_lead_nowhere() -> None:
    assert asked(*made(TRUE, [TOWER], options=RunOptions(sections=3))) == ()
    typed = Task(id="1.1", source="database", query="SELECT 1", tool="sql")
    assert asked(*made(TRUE, [TOWER], tasks=[typed])) == ()
    report, cited = made(TRUE, [TOWER])
    assert related_questions(report, None, check_support(cited)) == ()
