"""A run's view: built from its events, in pieces of any size, some of them twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pages.run.activity import summarize
from pages.run.progress import RunProgress
from research import Event, Run, RunOptions
from research.core.events import dump_event, parse_event
from research.core.records import RunStatus
from tests.tables import each_row

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def task(id_: str, round_: int = 1, **more: str) -> dict[str, Any]:
    return {"id": id_, "round": round_, "source": "library", "query": f"query {id_}", "part": "p1",
            "subject": [], "why": "", **more}  # fmt: skip


def found(id_: str, round_: int = 1, **more: Any) -> dict[str, Any]:
    return {"task": task(id_, round_), "passages": 2, "titles": ["A", "B"], "reason": None,
            "message": "", "seconds": 0.5, "reused": False, **more}  # fmt: skip


def plan(*ids: str) -> dict[str, Any]:
    parts = [{"id": "p1", "subject": "Tower", "text": "ticket"}]
    return {"plan": {"parts": parts, "tasks": [task(i) for i in ids], "edited": False, "notes": []}}


def used(stage: str, input_: int = 0, output: int = 0, **more: Any) -> dict[str, Any]:
    return {"stage": stage, "model": "openai:m", "calls": 1, "input": input_, "cached": 0,
            "output": output, "searches": 0, "cost": None, **more}  # fmt: skip


def events(*told: tuple[str, dict[str, Any]], step: float = 1.0) -> list[Event]:
    number = count(1)
    return [
        Event(run="r", seq=(n := next(number)), time=START + timedelta(seconds=step * (n - 1)),
              data=parse_event(kind, data))
        for kind, data in told
    ]  # fmt: skip


def test_what_counts_against_a_limit_is_each_asking_of_a_service_and_nothing_reused() -> None:
    view = RunProgress().apply(
        events(
            ("plan", plan("1.1", "1.2", "1.3", "1.4", "1.5")),
            ("search", {"task": task("1.1")}),
            ("usage", used("search", searches=3, task="1.1")),
            ("search", {"task": task("1.2")}),
            ("found", found("1.2", reused=True)),
            ("search", {"task": task("1.3")}),
            ("found", found("1.3", reason="left out")),
            ("search", {"task": task("1.4")}),
            ("found", found("1.4")),
        )
    )
    assert (view.limited_search_count, view.search_count) == (4, 2)


WHOLE = events(
    ("status", {"status": "running"}),
    ("question", {"text": "?", "language": "en"}),
    ("plan", plan("1.1", "1.2")),
    ("search", {"task": task("1.1")}),
    ("search", {"task": task("1.2")}),
    ("found", found("1.2", reason="empty", passages=0, titles=[])),
    ("status", {"status": "interrupted", "error": ""}),
    ("status", {"status": "running"}),
    ("search", {"task": task("1.1")}),
    ("search", {"task": task("1.2")}),
    ("found", found("1.2", reason="empty", passages=0, titles=[], reused=True)),
    ("found", found("1.1")),
    ("reflection", {"round": 1, "sufficient": False, "gap": ["x"], "note": "A gap",
                    "follow_ups": [task("2.1", 2, why="synonyms")]}),
    ("search", {"task": task("2.1", 2)}),
    ("something new", {"of": "a later version"}),
    ("found", found("2.1", 2)),
    ("reflection", {"round": 2, "skipped": True}),
    ("writing", {}),
    ("usage", used("plan", 900, 100, cost=0.0021)),
    ("usage", used("search", searches=1)),
    ("drafting", {"handles": {"ab12": ["e1", "p1"]}}),
    ("text", {"text": "The to"}),
    ("waiting", {"stage": "write", "seconds": 4.0, "reason": "unavailable", "what": "openai:m"}),
    ("text", {"text": "A tower", "restart": True}),
    ("text", {"text": " stands."}),
    ("answer", {"quotes": 2, "cites": 3, "failures": 0}),
    ("status", {"status": "done", "error": ""}),
)  # fmt: skip


def run(status: RunStatus = "done") -> Run:
    return Run(id="r", conversation="r", owner="local", question="?", options=RunOptions(),
               status=status, created=START)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE))), max_size=12))
def test_events_may_come_in_any_pieces_and_more_than_once(pieces: list[tuple[int, int]]) -> None:
    """Each piece reaches back by any amount and forward by any amount, as a reader's polls do."""
    view, reached = RunProgress(), 0
    for back, forward in pieces:
        start = max(0, reached - back)
        reached = max(reached, min(len(WHOLE), start + forward))
        view.apply(WHOLE[start:reached])
    assert view == RunProgress().apply(WHOLE[:reached])
    assert view.apply(WHOLE) == RunProgress().apply(WHOLE)
    assert view.apply(WHOLE) == RunProgress().apply(WHOLE)


@given(st.integers(0, len(WHOLE)))
def test_every_stage_of_a_run_has_a_view(length: int) -> None:
    view = RunProgress().apply(WHOLE[:length])
    assert view.seq == length
    assert all(search.id for round_ in view.rounds.values() for search in round_.searches.values())
    assert summarize(view, run("running"))
    assert summarize(view, run("done"))


def test_a_whole_run_is_told_by_rounds() -> None:
    view = RunProgress().apply(WHOLE)
    assert view.parts == [("Tower", "ticket")]
    assert {n: list(r.searches) for n, r in view.rounds.items()} == {1: ["1.1", "1.2"], 2: ["2.1"]}
    first, second = view.rounds[1], view.rounds[2]
    assert [s.state for s in first.searches.values()] == ["found", "empty"]
    assert first.searches["1.2"].is_reused
    assert (first.is_reflected, first.is_skipped, first.follow_ups) == (True, False, ["query 2.1"])
    assert second.searches["2.1"].purpose == "synonyms"
    assert (second.is_reflected, second.is_skipped) == (True, True)
    assert view.citation_count == 3


def test_a_finished_search_that_begins_again_stays_finished() -> None:
    view = RunProgress().apply(WHOLE[:6])
    assert view.rounds[1].searches["1.2"].state == "empty"
    assert view.apply(WHOLE[:10]).rounds[1].searches["1.2"].state == "empty"


def test_elapsed_time_leaves_out_the_pauses_between_stop_and_resume() -> None:
    # Running from second 0 to 6 and from 7 to 26.
    assert RunProgress().apply(WHOLE).elapsed_seconds(START + timedelta(days=1)) == 25
    assert RunProgress().apply(WHOLE[:7]).elapsed_seconds(START + timedelta(days=1)) == 6
    assert RunProgress().apply(WHOLE[:9]).elapsed_seconds(START + timedelta(seconds=9)) == 8
    assert RunProgress().elapsed_seconds(START) == 0


def test_a_run_that_was_killed_counts_until_it_was_found_dead() -> None:
    killed = events(("status", {"status": "running"}), ("status", {"status": "interrupted"}), step=5)
    assert RunProgress().apply(killed).elapsed_seconds(START + timedelta(days=1)) == 5


def test_the_summary_counts_rounds_searches_and_seconds() -> None:
    assert summarize(RunProgress().apply(WHOLE), run()).startswith("2 rounds · 3 searches · 25 s · ")
    assert summarize(RunProgress().apply(WHOLE[:6]), run("interrupted")).startswith("1 round · 1 search · ")
    assert summarize(RunProgress(), run("queued")).startswith("0 rounds · 0 searches · ")


def test_what_a_run_uses_is_added_up_and_told() -> None:
    view = RunProgress().apply(WHOLE)
    assert (view.tokens, view.billed_searches, view.has_unpriced) == (1_000, 1, True)
    told = "25 s · 1,000 tokens · about $0.0021 (estimate, some prices unknown)"
    assert summarize(view, run()).endswith(told)


@each_row(
    ("usage", "words"),
    [
        ([used("plan", 1, cost=0.5)], "1 token · about $0.50 (estimate)"),
        ([used("plan", 20, 5), used("write", 1)], "26 tokens · price unknown"),
        ([used("plan", 20, estimated=True)], "about 20 tokens (estimate) · price unknown"),
        ([used("search", searches=1)], "1 billed search · price unknown"),
        ([used("search", searches=1, cost=0.014)] * 2, "2 billed searches · about $0.028 (estimate)"),
    ],
)  # fmt: skip
def test_tokens_or_else_searches_are_told_with_the_money_as_far_as_it_is_known(
    usage: list[dict[str, Any]], words: str
) -> None:
    view = RunProgress().apply(events(*(("usage", data) for data in usage)))
    assert summarize(view, run()).endswith(f" s · {words}")


def test_without_anything_that_is_paid_for_no_money_is_mentioned() -> None:
    assert summarize(RunProgress().apply(WHOLE[:18]), run()) == "2 rounds · 3 searches · 16 s"


def test_the_text_grows_as_it_is_written_and_begins_anew_where_the_model_does() -> None:
    texts = [RunProgress().apply(WHOLE[:n]).draft_text for n in range(20, 26)]
    assert texts == ["", "", "The to", "The to", "A tower", "A tower stands."]
    assert RunProgress().apply(WHOLE).handles == {"ab12": ("e1", "p1")}


def test_a_run_that_goes_on_writes_its_text_from_the_beginning() -> None:
    again = events(*(dump_event(e.data) for e in WHOLE[:-2]), ("writing", {}))
    assert RunProgress().apply(again).draft_text == ""


def test_a_wait_is_known_until_something_comes_of_it() -> None:
    waits = [RunProgress().apply(WHOLE[:n]).retry for n in range(22, 26)]
    what = ("openai:m", "unavailable", 4.0, START + timedelta(seconds=22))
    assert waits == [None, what, None, None]


def test_calls_that_our_own_limits_hold_back_are_known_until_they_have_their_turn() -> None:
    def queued(what: str, over: bool) -> tuple[str, dict[str, Any]]:
        return "queued", {"stage": "search", "what": what, "over": over}

    running = ("status", {"status": "running"})
    told = [
        running, queued("a", False), queued("a", False), queued("b", False), queued("a", True),
        queued("b", True), running, queued("c", True),
    ]  # fmt: skip
    waits = [RunProgress().apply(events(*told[:n])).queued_names for n in range(1, 9)]
    expected = [[], ["a"], ["a", "a"], ["a", "a", "b"], ["a", "b"], ["a"], [], []]
    assert waits == expected


def test_the_events_of_an_earlier_version_are_still_understood() -> None:
    """It had no hints, no providers and no count of citations."""
    told = events(
        ("status", {"status": "running"}), ("plan", plan("1.1")), ("search", {"task": task("1.1")}),
        ("found", found("1.1")), ("writing", {}), ("answer", {"quotes": 4, "failures": 0}),
        ("status", {"status": "done", "error": ""}),
    )  # fmt: skip
    view = RunProgress().apply(told)
    assert (view.citation_count, view.draft_text, view.tokens) == (4, "", 0)
    (search,) = view.rounds[1].searches.values()
    assert (search.state, search.hint, search.provider) == ("found", "", "")


def test_each_failure_of_a_search_keeps_its_reason_and_message() -> None:
    told = events(
        ("plan", plan("1.1")),
        ("search", {"task": task("1.1")}),
        (
            "found",
            found(
                "1.1",
                reason="timeout",
                message="no answer within 30 s",
                passages=0,
                titles=[],
                hint="endpoint",
                provider="tavily",
            ),
        ),
    )
    (search,) = RunProgress().apply(told).rounds[1].searches.values()
    assert (search.state, search.message, search.is_over) == ("timeout", "no answer within 30 s", True)
    assert (search.hint, search.provider) == ("endpoint", "tavily")


def test_the_reason_why_a_report_is_not_in_its_file_is_kept_until_it_is_saved() -> None:
    failed = ("saved", {"report": "", "problem": "/out cannot be written: full"})
    assert RunProgress().apply(events(failed)).save_problem == "/out cannot be written: full"
    saved = ("saved", {"report": "/out/a.md", "problem": ""})
    assert RunProgress().apply(events(failed, saved)).save_problem == ""


def test_a_model_that_may_not_have_read_all_is_kept_with_its_count_and_what_was_not_read_of_it() -> None:
    low = {"stage": "plan", "what": "openai:m", "tokens": 812}
    odd = {"stage": "plan", "what": "openai:m", "parts": ["gap"]}
    view = RunProgress().apply(
        events(
            ("prompt_undercounted", low | {"tokens": 9}),
            ("prompt_undercounted", low),
            ("parts_unreadable", odd),
            ("parts_unreadable", odd | {"stage": "reflect", "parts": ["queries 2"]}),
        )
    )
    (noted,) = view.noted_events.values()
    assert noted.describe("en").startswith("openai:m counted only 812 tokens")
    assert view.unreadable_parts == {"openai:m": ["gap", "queries 2"]}
