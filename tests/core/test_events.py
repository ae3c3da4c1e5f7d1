"""Events of a run: their rows, those of earlier versions, and rows that cannot be read."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from string import Formatter
from typing import Any, get_args

import pytest

from pages.run.progress import RunProgress
from research.core import events
from research.core.events import (
    FORMER_KINDS,
    ClarificationNeeded,
    DatabaseStepTaken,
    Event,
    InstructionApplied,
    KnownEvent,
    PlanMade,
    RateLimitWait,
    ReflectionMade,
    ReflectionSkipped,
    RetryScheduled,
    RunEvent,
    StatusChanged,
    TaskFinished,
    TextWritten,
    ThinkingUnsupported,
    ToolCalled,
    UnknownEvent,
    UsageRecorded,
    dump_event,
    parse_event,
    stored_kinds,
)
from research.core.records import (
    Clarification,
    DatabaseStep,
    Evidence,
    Failure,
    Finding,
    Plan,
    Reflection,
    Task,
)
from tests.tables import each_row

TASK = Task(id="1.1", source="web", query="tower")
ROW = json.loads(TASK.model_dump_json())
TYPES = get_args(get_args(KnownEvent)[0])


def test_each_kind_is_the_name_of_its_class_and_has_a_docstring() -> None:
    for event_type in TYPES:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event_type.__name__).lower()
        kind = event_type.model_fields["kind"].default
        assert kind == ("usage" if event_type is UsageRecorded else name)
        assert event_type.__doc__
    assert set(FORMER_KINDS.values()) <= {event_type.model_fields["kind"].default for event_type in TYPES}


def test_a_note_is_in_both_languages_and_takes_the_fields_of_its_event() -> None:
    noted = [event_type for event_type in TYPES if event_type.note]
    assert noted
    for event_type in noted:
        for text in event_type.note:
            names = {name for _, name, _, _ in Formatter().parse(text) if name}
            assert names <= set(event_type.model_fields), event_type
        assert re.search("[㐀-鿿]", event_type.note.zh) and not re.search("[㐀-鿿]", event_type.note.en)
    event = ThinkingUnsupported(stage="plan", service="gemini:{m}", level="low")
    assert event.describe("en") == "gemini:{m} does not support thinking level low; sent without it"
    assert TextWritten(text="x").describe("zh") == ""


def test_the_page_has_a_handler_only_for_kinds_that_exist() -> None:
    handled = {name.removeprefix("_on_") for name in vars(RunProgress) if name.startswith("_on_")}
    assert handled <= {event_type.model_fields["kind"].default for event_type in TYPES}


@each_row(
    ("kind", "data", "expected"),
    [
        ("status", {"status": "running"}, StatusChanged(status="running")),
        ("plan", {"plan": {"tasks": [ROW]}}, PlanMade(plan=Plan(tasks=(TASK,)))),
        ("unclear", {"question": "Which?", "choices": ["a"], "answer": None},
         ClarificationNeeded(clarification=Clarification(question="Which?", choices=("a",)))),
        ("heeded", {"count": 2}, InstructionApplied(count=2)),
        ("found", {"task": ROW, "passages": 2, "titles": ["T"], "reason": None, "message": "", "seconds": 0.5,
                   "reused": True, "beside": ["it is slow"]},
         TaskFinished(task=TASK, passages=2, titles=("T",), seconds=0.5, reused=True,
                      other_failures=("it is slow",))),
        ("tool", {"task": "1.1", "tool": "maps_geo", "arguments": {"address": "x"}},
         ToolCalled(task="1.1", tool="maps_geo", arguments={"address": "x"})),
        ("tool", {"task": "1.1", "name": "run", "text": "", "sql": "SELECT 1", "rows": 1, "seconds": 0.1},
         DatabaseStepTaken(task="1.1", step=DatabaseStep(kind="run", sql="SELECT 1", rows=1, seconds=0.1))),
        ("reflection", {"round": 1, "sufficient": True},
         ReflectionMade(reflection=Reflection(round=1, sufficient=True))),
        ("reflection", {"round": 2, "skipped": True}, ReflectionSkipped(round=2)),
        ("unthinking", {"stage": "plan", "what": "gemini:m", "level": "low"},
         ThinkingUnsupported(stage="plan", service="gemini:m", level="low")),
        ("queued", {"stage": "plan", "what": "gemini:m", "over": True},
         RateLimitWait(stage="plan", service="gemini:m", is_over=True)),
        ("waiting", {"stage": "search", "what": "tavily", "reason": "quota", "seconds": 2},
         RetryScheduled(stage="search", service="tavily", reason="quota", seconds=2)),
        ("usage", {"stage": "write", "model": "openai:m", "input": 5},
         UsageRecorded(stage="write", model="openai:m", input=5)),
    ],
)  # fmt: skip
def test_a_row_of_an_earlier_version_becomes_the_event_of_today(
    kind: str, data: dict[str, Any], expected: RunEvent
) -> None:
    event = parse_event(kind, data)
    assert event == expected
    assert parse_event(*dump_event(event)) == event


@each_row(
    ("kind", "data"),
    [
        ("invented", {"a": 1}), ("plan", {"text": "no plan"}), ("status", {"status": "asleep"}),
        ("tool", {}), ("found", {"task": 1}), ("task_finished", {}),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_kept_as_it_is_and_skipped_by_the_page(kind: str, data: dict[str, Any]) -> None:
    event = parse_event(kind, data)
    assert event == UnknownEvent(kind=kind, data=data)
    assert dump_event(event) == (kind, data)
    stored = Event(run="r", seq=1, time=datetime.now(UTC), data=event)
    assert stored.data == event and stored.kind == kind
    assert RunProgress().apply([stored]).rounds == {}


@pytest.mark.parametrize("data", [None, 3, "text", ["list"]])
def test_a_row_without_fields_is_unknown(data: object) -> None:
    assert parse_event("plan_made", data) == UnknownEvent(kind="plan_made")


def test_fields_and_reasons_of_a_later_version_do_not_make_an_event_unknown() -> None:
    event = parse_event("task_finished", {"task": ROW, "reason": "asleep", "mood": "good"})
    assert event == TaskFinished(task=TASK, reason="asleep")


def test_a_finding_is_summarised_in_an_event() -> None:
    started = datetime(2026, 3, 1, tzinfo=UTC)
    item = Evidence(id="e", kind="web", title="Tower", retrieved=started)
    failure = Failure(reason="timeout", message="a page was slow")
    finding = Finding(task=TASK, evidence=(item,), started=started, cached=True, failures=(failure,))
    event = TaskFinished.from_finding(finding)
    assert (event.titles, event.other_failures) == (("Tower",), ("a page was slow",))
    assert event.cached == started.isoformat()


def test_half_a_surrogate_pair_in_a_text_is_no_error() -> None:
    assert dump_event(TextWritten(text="a\ud83d")) == ("text_written", {"text": "a\ud83d", "restart": False})


def test_statements_find_the_kinds_of_all_versions() -> None:
    assert stored_kinds(events.TaskFinished, UsageRecorded) == ("task_finished", "usage", "found")
