"""Saved states of reports: files from which a run can be restored and continued.

A state holds the run, its plan, every finding with its evidence, the results of its steps, the
usage, and the answer if there is one. It contains no owner and no key. It is validated when read,
because a file may come from anywhere.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from research.agent.nodes.budget import count_worked_seconds
from research.agent.nodes.question import QuestionError, clean_question_text
from research.core.events import PlanMade, RunEvent, StatusChanged, TaskFinished, TaskStarted, UsageRecorded
from research.core.records import (
    Answer,
    Draft,
    Evidence,
    Finding,
    HeadlineTones,
    Plan,
    Record,
    Reflection,
    ReportSection,
    Run,
    RunStatus,
    Usage,
)
from research.storage.store import Store

STATE_FORMAT = "sightline report state"
STATE_VERSION = 1
MAX_FILE_BYTES = 256 * 2**20  # bytes of a file that is read
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STEP_RECORDS: tuple[tuple[re.Pattern[str], type[Record]], ...] = (
    (re.compile(r"\S+ text \d+( \w+)?"), ReportSection),
    (re.compile(r"\S+ judgement \d+( \w+)?"), Reflection),
    (re.compile(r"tones( \w+)?"), HeadlineTones),
    (re.compile(r"preface \w+"), Draft),
)


class StateError(ValueError):
    """A file is not a state from which a report can be continued; the message says why."""


class ReportState(BaseModel):
    """The content of a state file.

    `notes` are the results of the steps of the run, by step; `seconds` is the working time so far;
    `evidence` is what its answer cites from earlier runs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["sightline report state"]
    version: Literal[1]
    saved: datetime
    run: Run
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    notes: dict[str, dict[str, Any]] = {}
    reflections: tuple[Reflection, ...] = ()
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()
    usage: tuple[Usage, ...] = ()
    seconds: float = Field(default=0.0, ge=0, le=1e8)


def dump_state(store: Store, run: Run) -> str:
    """Return the current state of a run as the text of a file."""
    # Notes are read first, so that the findings include every search that a note rests on.
    notes = {**(store.load_step_results(run.based_on) if run.based_on else {}), **store.load_step_results(run.id)}
    report = store.report(run)
    finding_ids = {item.id for finding in report.findings for item in finding.evidence}
    state = ReportState(
        format="sightline report state",
        version=STATE_VERSION,
        saved=datetime.now(UTC),
        run=run.model_copy(update={"owner": ""}),
        plan=report.plan or store.given_plan(run.id),
        findings=report.findings,
        notes={step: json.loads(text) for step, text in notes.items()},
        reflections=report.reflections,
        answer=report.answer,
        evidence=tuple(item for item in report.evidence if item.id not in finding_ids),
        usage=report.usage,
        seconds=count_worked_seconds(store.events(run.id)),
    )
    return json.dumps(state.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def read_run_id(path: Path) -> str:
    """Return the id of the run in a state file; "" if the file holds none."""
    try:
        data = json.loads(path.read_bytes())
        return str(data["run"]["id"]) if data["format"] == STATE_FORMAT else ""
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def read_state(path: Path, sources: Collection[str]) -> ReportState:
    """Read the state of a report whose sources are among the given ones.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no such state.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise StateError(f"{path} is no saved state of a report: it is too large.")
    try:
        return _parse_state(path.read_bytes(), sources)
    except _InvalidStateError as error:
        raise StateError(f"{path} is no saved state of a report: {error}.") from error


class _InvalidStateError(Exception):
    """The reason why a text is not a valid state."""


def _parse_state(data: bytes, sources: Collection[str]) -> ReportState:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _InvalidStateError("it is damaged, or no JSON") from error
    if not isinstance(raw, dict) or raw.get("format") != STATE_FORMAT:
        raise _InvalidStateError("it is of another kind")
    if isinstance(version := raw.get("version"), int) and version > STATE_VERSION:
        raise _InvalidStateError("it was saved by a newer version of Sightline, which can load it")
    try:
        state = ReportState.model_validate_json(data)
        for step, result in state.notes.items():
            for pattern, record_type in _STEP_RECORDS:
                if pattern.fullmatch(step):
                    record_type.model_validate_json(json.dumps(result))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _InvalidStateError(f"{where}: {first['msg']}" if where else first["msg"]) from error
    try:
        question = clean_question_text(state.run.question)
    except QuestionError as error:
        raise _InvalidStateError(f"its topic cannot be researched ({error})") from error
    _check_content(state, sources)
    return state.model_copy(update={"run": state.run.model_copy(update={"question": question})})


def _check_content(state: ReportState, sources: Collection[str]) -> None:
    """Check what a run relies on beyond the types of its records."""
    if not state.run.options.sections or (state.plan and not state.plan.outline):
        raise _InvalidStateError("its run is no report")
    if state.run.status == "done" and state.answer is None:
        raise _InvalidStateError("its run is done, but the report is missing")
    plan = state.plan or Plan()
    tasks = [*plan.tasks, *(finding.task for finding in state.findings)]
    used_sources = {*state.run.options.sources, *(task.source for task in tasks)}
    if unknown := sorted(used_sources - set(sources)):
        raise _InvalidStateError(f"it looks in {unknown[0]!r}, which is none of {', '.join(sources)}")
    if any(moment.tzinfo is None for moment in _find_times(state)):
        raise _InvalidStateError("a time in it has no time zone")


def _find_times(value: object) -> Iterator[datetime]:
    """Yield every time in the fields of a record, at any depth."""
    if isinstance(value, datetime):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _find_times(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _find_times(item)


def restore_run(store: Store, state: ReportState, owner: str) -> Run:
    """Store a state as a run of an owner, in a new conversation.

    A run that had not ended becomes interrupted; resuming it repeats nothing that is stored.

    Raises:
        StoreError: the store cannot be used; nothing was stored.
    """
    final_statuses: dict[RunStatus, RunStatus] = {s: s for s in ("done", "waiting", "failed")}
    status = final_statuses.get(state.run.status, "interrupted")
    usable_id = state.run.id if _RUN_ID.fullmatch(state.run.id) else ""
    run = state.run.model_copy(
        update={
            "id": usable_id or uuid.uuid4().hex,
            "conversation": uuid.uuid4().hex,
            "owner": owner,
            "status": status,
            "error": state.run.error if status == "failed" else "",
            "created": state.run.created.astimezone(UTC),
            "finished": state.run.finished or state.saved,
            "based_on": "",
            "follows": "",
        }
    )
    given_plan = state.plan if status in ("interrupted", "failed") else None
    with store.database.transaction():
        if not store.add_run(run, given_plan, ""):
            run = run.model_copy(update={"id": uuid.uuid4().hex})
            store.add_run(run, given_plan, "")
        for finding in state.findings:
            store.finish_search(store.start_search(run.id, finding.task), run.conversation, finding)
        store.add_evidence(run.conversation, state.evidence)
        for step, note in state.notes.items():
            store.save_step_result(run.id, step, json.dumps(note, ensure_ascii=False))
        store.append_events(run.id, _rebuild_events(state, run))
        store.save_outcome(run.id, state.plan, state.reflections, state.answer)
    return run


def _rebuild_events(state: ReportState, run: Run) -> Iterator[tuple[datetime, RunEvent]]:
    """Yield the events of the run, as far as they are counted or shown later."""
    end = run.created + timedelta(seconds=state.seconds)
    yield run.created, StatusChanged(status="running")
    if state.plan:
        yield run.created, PlanMade(plan=state.plan)
    for finding in state.findings:
        yield end, TaskStarted(task=finding.task)
        yield end, TaskFinished.from_finding(finding)
    for usage in state.usage:
        yield end, UsageRecorded(**usage.model_dump())
    yield end, StatusChanged(status=run.status, error=run.error)
