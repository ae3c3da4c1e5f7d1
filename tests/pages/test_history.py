"""The History page: every run, how it ended, and the way back to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from research import Run, RunOptions, get_application
from research.core.records import Answer, PassageReference, RunStatus, Span
from tests.catalogue import WORDS
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
EN = "What does a ticket to the Palace Museum cost?"
NOW = datetime.now(UTC)


def put(run_id: str, question: str, status: RunStatus = "done", age: int = 0) -> None:
    """A run in the store, left by a program that is gone."""
    get_application().runs.store.add_run(
        Run(
            id=run_id, conversation=run_id, owner="local", question=question, options=RunOptions(),
            status=status, created=datetime.now(UTC) - timedelta(minutes=age),
        ),
        None,
        "0" * 32,
    )  # fmt: skip


@pytest.mark.slow
def test_an_empty_history_says_so(visit: Visit) -> None:
    assert WORDS["history.empty"][1] in visit("history").words
    assert WORDS["history.empty"][0] in visit("history", lang="zh").words


def test_runs_are_listed_newest_first_with_a_way_back(visit: Visit) -> None:
    put("older", "An older question", age=5)
    put("newer", "A newer question")
    visitor = visit("history")
    found = [link.proto for link in visitor.at.get("page_link")]
    assert [(link.label, link.query_string) for link in found] == [
        ("A newer question", "run=newer"),
        ("An older question", "run=older"),
    ]


def test_every_status_has_its_name(visit: Visit) -> None:
    for status in ("done", "stopped", "interrupted", "failed"):
        put(f"run-{status}", f"Question {status}", status)
    visitor = visit("history")
    for status in ("done", "stopped", "interrupted", "failed"):
        named = WORDS[f"run.{status}"][1] in visitor.words
        assert named == (status != "done")  # what is as it should be needs no word
    resumes = sorted(name for name in visitor.buttons if name.startswith("resume_"))
    assert resumes == ["resume_run-failed", "resume_run-interrupted", "resume_run-stopped"]


def test_the_filter_leaves_the_questions_that_match(visit: Visit) -> None:
    put("a", "Palace Museum")
    put("b", "西湖的门票")
    visitor = visit("history")
    visitor.at.text_input(key="history_filter").set_value("西湖")
    assert "Palace" not in visitor.look().words
    assert "西湖的门票" in visitor.words
    visitor.at.text_input(key="history_filter").set_value("PALACE")
    assert "Palace Museum" in visitor.look().words


def test_a_filter_that_matches_nothing_keeps_its_box(visit: Visit) -> None:
    put("a", "Palace Museum")
    visitor = visit("history")
    visitor.at.text_input(key="history_filter").set_value("[*$")
    assert visitor.look().at.text_input(key="history_filter").value == "[*$"


def test_a_run_whose_program_is_gone_is_interrupted_and_one_click_resumes_it(visit: Visit) -> None:
    put("cutoff", EN, "running")
    visitor = visit("history")
    assert WORDS["run.interrupted"][1] in visitor.words
    visitor.press("resume_cutoff")
    assert visitor.run_id == "cutoff"
    assert visitor.go("ask").wait().blocks("quote")
    assert [run.status for run in get_application().runs.recent_runs()] == ["done"]


def test_a_resumed_run_does_not_repeat_a_finished_search(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    store = get_application().runs.store
    before = store.searches(visitor.run_id)
    store.append_events(visitor.run_id, [], "interrupted")
    visitor.go("history").press(f"resume_{visitor.run_id}").go("ask").wait()
    assert visitor.blocks("quote")
    assert store.searches(visitor.run_id) == before


def test_many_runs_are_listed_and_an_old_one_is_found_by_its_question(visit: Visit) -> None:
    for number in range(120):
        put(f"{number:03}{'0' * 29}", f"Question number {number}", age=number)
    visitor = visit("history")
    assert "Question number 0" in visitor.words
    visitor.at.text_input(key="history_filter").set_value("number 117")
    assert "Question number 117" in visitor.look().words


# Conversations


def manage(visitor: Visitor, run_id: str) -> Visitor:
    return visitor.press(f"manage_{run_id}")


def test_a_conversation_is_named_and_found_by_its_name(visit: Visit) -> None:
    put("first-run", "Palace Museum")
    put("other-run", "West Lake")
    visitor = manage(visit("history"), "first-run")
    visitor.at.text_input(key="title").set_value("Beijing *trip*")
    visitor.press("save_title")
    assert "Beijing *trip*" in visitor.words
    visitor.at.text_input(key="history_filter").set_value("beijing")
    assert "West Lake" not in visitor.look().words


def test_a_pinned_conversation_comes_first(visit: Visit) -> None:
    put("older", "An older question", age=5)
    put("newer", "A newer question")
    visitor = manage(visit("history"), "older").press("pin")
    links = [link.proto.label for link in visitor.at.get("page_link")]
    assert links == ["An older question", "A newer question"]
    visitor = manage(visitor, "older").press("pin")
    links = [link.proto.label for link in visitor.at.get("page_link")]
    assert links == ["A newer question", "An older question"]


def test_a_deleted_conversation_comes_back_with_one_click(visit: Visit) -> None:
    put("gone-run", "Palace Museum")
    put("kept-run", "West Lake")
    visitor = manage(visit("history"), "gone-run").press("delete")
    assert [run.id for run in get_application().runs.recent_runs()] == ["kept-run"]
    assert "West Lake" in links(visitor)
    assert "Palace Museum" not in links(visitor)
    visitor.press("undo")
    assert {run.id for run in get_application().runs.recent_runs()} == {"gone-run", "kept-run"}
    assert "undo" not in visitor.buttons


def test_the_bin_restores_and_deletes_for_good(visit: Visit) -> None:
    for name in ("one-run", "two-run"):
        put(name, f"Question {name}")
        get_application().runs.move_to_bin(name)
    visitor = visit("history", view="bin")
    assert "Question one-run" in visitor.words
    assert "30 days left" in visitor.words
    visitor.press("restore_one-run").press("forget_two-run")
    assert [run.id for run in get_application().runs.recent_runs()] == ["one-run"]
    assert get_application().runs.bin_entries() == []


def links(visitor: Visitor) -> list[str]:
    return [link.proto.label for link in visitor.at.get("page_link")]


def test_tags_are_shown_and_narrow_the_list(visit: Visit) -> None:
    put("one-run", "Palace Museum")
    put("two-run", "West Lake")
    get_application().store.history.set_tags("local", "one-run", ["北京"])
    visitor = visit("history", tag="北京")
    assert "West Lake" not in visitor.words
    assert "Palace Museum" in visitor.words
    visitor.at.selectbox(key="history_tag").set_value("")
    assert "West Lake" in visitor.look().words
    assert "tag" not in visitor.at.query_params


def test_filters_are_part_of_the_address(visit: Visit) -> None:
    put("one-run", "Palace Museum")
    put("two-run", "West Lake", "failed")
    visitor = visit("history", q="lake", state="unfinished", period="today")
    assert visitor.at.text_input(key="history_filter").value == "lake"
    assert "West Lake" in visitor.words
    visitor.at.selectbox(key="history_kind").set_value("report")
    assert WORDS["history.none"][1] in visitor.look().words
    assert visitor.at.query_params["kind"] in ("report", ["report"])


def test_two_thousand_runs_are_read_a_page_at_a_time(visit: Visit) -> None:
    store = get_application().runs.store
    with store.database.transaction():
        for number in range(2000):
            put(f"{number:08}{'0' * 24}", f"Question number {number}", age=number)
    visitor = visit("history")
    assert len([key for key in visitor.buttons if key.startswith("manage_")]) == 15
    assert "1–15 of 2,000" in visitor.words or "1–15 of 2000" in visitor.words
    visitor.press("later")
    assert "Question number 15" in visitor.words
    assert "Question number 14" not in links(visitor)
    found = get_application().runs.search_history(limit=5000)
    assert (len(found.entries), found.total) == (50, 2000)


def test_a_comparison_is_of_the_visitor_s_own_runs(visit: Visit) -> None:
    put("one-run", "Palace Museum")
    put("two-run", "West Lake")
    visitor = visit("history", compare="one-run,two-run")
    assert "Palace Museum" in visitor.words
    assert "West Lake" in visitor.words
    get_application().runs.move_to_bin("two-run")
    assert WORDS["compare.missing"][1] in visit("history", compare="one-run,two-run").words


def test_each_line_has_the_first_finding_as_it_is(visit: Visit) -> None:
    put("told", "What does it cost?")
    answer = Answer(
        title="T", language="en", author="Scripted", created=NOW,
        spans=(
            Span(kind="heading", text="Tickets"),
            Span(kind="quote", text="![x](http://x.example) <b>60</b> yuan", references=(PassageReference(evidence="e", passage="p"),)),
        ),
    )  # fmt: skip
    get_application().runs.store.save_outcome("told", None, [], answer)
    assert "![x](http:\u200b//x.example) <b>60</b> yuan" in visit("history").words
