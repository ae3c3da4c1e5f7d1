"""The line that an answer leads with: read off the record, and what it says is not said again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from research import export_report, number_report_answer, report_markdown, summarize_evidence
from research.core.i18n import message
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Language,
    Part,
    Passage,
    PassageReference,
    Plan,
    Reflection,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
)

MADE = datetime(2026, 1, 2, tzinfo=UTC)
TEXT = "A ticket costs 40 yuan."
CITE = PassageReference(evidence="e", passage="p")
GAP = "no figure for <b>winter</b>."


def report(
    spans: Sequence[Span], parts: int, language: Language = "en", gap: tuple[str, ...] = (),
    rounds: int = 1, outline: bool = False,
) -> Report:  # fmt: skip
    found = Evidence(
        id="e", kind="library", title="Guide", retrieved=MADE, locator="guide.md",
        passages=(Passage(id="p", text=TEXT, end=len(TEXT)),),
    )  # fmt: skip
    plan = Plan(
        parts=tuple(Part(id=f"p{n}", subject="", text=f"part {n}") for n in range(1, parts + 1)),
        outline=outline,
    )
    findings = tuple(
        Finding(task=Task(id=f"{n}.1", source="library", query="q", round=n), evidence=(found,), started=MADE)
        for n in range(1, rounds + 1)
    )  # fmt: skip
    return Report(
        run=Run(id="r", conversation="c", owner="local", question="Prices?", options=RunOptions(),
                status="done", created=MADE),
        plan=plan, findings=findings, evidence=(found,),
        reflections=(Reflection(round=1, sufficient=not gap, gap=gap),),
        answer=Answer(title="", language=language, author="Scripted", created=MADE, spans=tuple(spans)),
    )  # fmt: skip


def part(n: int, *keys: str, language: Language = "en") -> list[Span]:
    """What the digest writes of a part: a quote, or why there is none."""
    spans = [Span(kind="heading", text=f"Thing {n}", part=f"p{n}")]
    for key in keys or ("",):
        text = message(f"digest.{key}", language) if key else TEXT
        kind, cites = ("missing", ()) if key else ("quote", (CITE,))
        spans.append(Span(kind=kind, text=text, references=cites, part=f"p{n}"))  # type: ignore[arg-type]
    return spans


def said(made: Report) -> str:
    return summarize_evidence(made, number_report_answer(made)).text


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Evidence found on 1 of 4 parts, in 1 source; nothing found on "
               "“Thing 2”, “Thing 4” in the sources searched; the search failed for “Thing 3”, which does not mean that the sources lack it."),
        ("zh", "4 个部分中有 1 个查到了资料，来自 1 个来源；所查资料中未找到“Thing 2”、“Thing 4”；"
               "搜索失败，未能查询“Thing 3”，这不表示资料中没有。"),
    ],
)  # fmt: skip
def test_what_was_found_and_what_was_not_is_said_once(language: Language, line: str) -> None:
    spans = part(1, language=language)
    for n, key in ((2, "missing"), (3, "failed"), (4, "missing")):
        spans += part(n, key, language=language)
    made = report(spans, 4, language)
    assert said(made) == line
    text = report_markdown(made, number_report_answer(made))
    assert text.count("Thing 2") == text.count("Thing 3") == text.count("Thing 4") == 1
    assert "### Thing 1" in text and "### Thing 2" not in text
    assert message("digest.missing", language) not in text
    for ending in ("html", "docx"):
        assert export_report(made, number_report_answer(made), ending)
    assert line.split("“")[0] in export_report(made, number_report_answer(made), "html").decode()


def test_what_is_all_there_is_counted_and_what_the_answer_says_of_its_one_part_is_not() -> None:
    assert said(report([*part(1), *part(2)], 2)) == "Evidence found on each of the 2 parts, in 1 source."
    for one in (part(1), part(1, "missing")):
        made = report(one, 1)
        assert summarize_evidence(made, number_report_answer(made)) == ("", frozenset())
        assert "### Thing 1" in report_markdown(made, number_report_answer(made))


def test_nothing_at_all_is_one_line() -> None:
    made = report([*part(1, "missing"), *part(2, "missing"), *part(3, "unsearched")], 3)
    assert said(made) == (
        "Nothing found on “Thing 1”, “Thing 2” in the sources searched; "
        "no search was made for “Thing 3”, which does not mean that the sources lack it."
    )
    assert "###" not in report_markdown(made, number_report_answer(made)).split("## Sources")[0]


def test_what_asks_something_of_the_reader_stays_where_it_is() -> None:
    made = report([*part(1), *part(2, "no map"), *part(3, "missing", "no map")], 3)
    assert said(made) == "Evidence found on 1 of 3 parts, in 1 source."
    text = report_markdown(made, number_report_answer(made))
    assert text.count(message("digest.no map", "en")) == 2 and "### Thing 3" in text


def test_a_model_s_last_review_says_what_is_open_unless_something_was_searched_since() -> None:
    prose = [Span(kind="text", text="It costs 40 yuan", references=(CITE,))]
    made = report(prose, 2, gap=(GAP,))
    assert said(made) == "Still open after the last reflection: no figure for <b>winter</b>."
    assert r"no figure for \<b>winter" in report_markdown(made, number_report_answer(made))
    assert said(report(prose, 2)) == ""
    assert said(report(prose, 2, gap=(GAP,), rounds=2)) == ""
    assert said(report([*prose, Span(kind="missing", text="Not found.")], 2, gap=(GAP,))) == ""


def test_an_outline_and_a_run_without_an_answer_have_no_such_line() -> None:
    made = report([*part(1), *part(2, "missing")], 2, outline=True)
    assert said(made) == ""
    assert summarize_evidence(made, None) == ("", frozenset())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_quotes_that_only_come_near_a_part_are_no_evidence_on_it(language: Language) -> None:
    near = part(2, "nearest", "", language=language)
    made = report([*part(1, language=language), *near], 2, language)
    assert ("1 of 2" if language == "en" else "2 个部分中有 1 个") in said(made)
    alone = report([*part(1, "nearest", "", language=language), *near], 2, language)
    assert said(alone) == ""
