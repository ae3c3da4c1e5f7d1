"""The state of a report as a file, complete enough to go on from, and a run made of such a file again.

A state holds the run, its plan, every finding with its evidence, what its steps have come to, what was
used, and the answer if there is one. It names no owner and holds no key. What it says is checked when
it is read: a file may come from anywhere.
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
from research.agent.nodes.question import QuestionError, clean_question
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
    """A file is no saved state of a report that can be gone on with; the message names it and why."""


class ReportState(BaseModel):
    """What a file holds. `notes` are what the steps of the run have come to, `seconds` how long it
    has worked, `evidence` what its answer cites that earlier runs have found."""

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
    """What the store knows of a run now, as the text of a file."""
    # The notes are read first: a search whose outcome a note rests on is then among the findings.
    notes = {**(store.load_step_results(run.based_on) if run.based_on else {}), **store.load_step_results(run.id)}
    report = store.report(run)
    found = {item.id for finding in report.findings for item in finding.evidence}
    made = ReportState(
        format="sightline report state",
        version=STATE_VERSION,
        saved=datetime.now(UTC),
        run=run.model_copy(update={"owner": ""}),
        plan=report.plan or store.given_plan(run.id),
        findings=report.findings,
        notes={step: json.loads(text) for step, text in notes.items()},
        reflections=report.reflections,
        answer=report.answer,
        evidence=tuple(item for item in report.evidence if item.id not in found),
        usage=report.usage,
        seconds=count_worked_seconds(store.events(run.id)),
    )
    return json.dumps(made.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def read_run_id(path: Path) -> str:
    """The id of the run whose state a file holds; "" if it holds none."""
    try:
        told = json.loads(path.read_bytes())
        return str(told["run"]["id"]) if told["format"] == STATE_FORMAT else ""
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def read_state(path: Path, sources: Collection[str]) -> ReportState:
    """The state that a file holds, of a report that looks in some of these sources.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no such state.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise StateError(f"{path} is no saved state of a report: it is too large.")
    try:
        return _parse_state(path.read_bytes(), sources)
    except _InvalidStateError as wrong:
        raise StateError(f"{path} is no saved state of a report: {wrong}.") from wrong


class _InvalidStateError(Exception):
    """What is wrong with the text of a file."""


def _parse_state(data: bytes, sources: Collection[str]) -> ReportState:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _InvalidStateError("it is damaged, or no JSON") from error
    if not isinstance(told, dict) or told.get("format") != STATE_FORMAT:
        raise _InvalidStateError("it is of another kind")
    if isinstance(version := told.get("version"), int) and version > STATE_VERSION:
        raise _InvalidStateError("it was saved by a newer version of Sightline, which can load it")
    try:
        found = ReportState.model_validate_json(data)
        for step, note in found.notes.items():
            for name, shape in _STEP_RECORDS:
                if name.fullmatch(step):
                    shape.model_validate_json(json.dumps(note))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _InvalidStateError(f"{where}: {first['msg']}" if where else first["msg"]) from error
    _check_content(found, sources)
    return found


def _check_content(state: ReportState, sources: Collection[str]) -> None:
    """What a run relies on, beyond the shapes of its records."""
    if not state.run.options.sections or (state.plan and not state.plan.outline):
        raise _InvalidStateError("its run is no report")
    if state.run.status == "done" and state.answer is None:
        raise _InvalidStateError("its run is done, but the report is missing")
    try:
        clean_question(state.run.question)
    except QuestionError as error:
        raise _InvalidStateError(f"its topic cannot be researched ({error})") from error
    plan = state.plan or Plan()
    tasks = [*plan.tasks, *(finding.task for finding in state.findings)]
    wanted = {*state.run.options.sources, *(task.source for task in tasks)}
    if unknown := sorted(wanted - set(sources)):
        raise _InvalidStateError(f"it looks in {unknown[0]!r}, which is none of {', '.join(sources)}")
    if any(moment.tzinfo is None for moment in _find_times(state)):
        raise _InvalidStateError("a time in it has no time zone")


def _find_times(value: object) -> Iterator[datetime]:
    if isinstance(value, datetime):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _find_times(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _find_times(item)


def restore_run(store: Store, state: ReportState, owner: str) -> Run:
    """Puts a state into the store as a run of an owner, in a conversation of its own. One that was
    not over is interrupted: going on with it repeats nothing that is there.

    Raises:
        StoreError: the store cannot be used; nothing was put there.
    """
    over: dict[RunStatus, RunStatus] = {s: s for s in ("done", "waiting", "failed")}
    status = over.get(state.run.status, "interrupted")
    own = state.run.id if _RUN_ID.fullmatch(state.run.id) else ""
    run = state.run.model_copy(
        update={
            "id": own or uuid.uuid4().hex,
            "conversation": uuid.uuid4().hex,
            "owner": owner,
            "question": store.database.storable_text(state.run.question.strip()),
            "status": status,
            "error": state.run.error if status == "failed" else "",
            "created": state.run.created.astimezone(UTC),
            "finished": state.run.finished or state.saved,
            "based_on": "",
            "follows": "",
        }
    )
    given = state.plan if status in ("interrupted", "failed") else None
    with store.database.transaction():
        if not store.add_run(run, given, ""):
            run = run.model_copy(update={"id": uuid.uuid4().hex})
            store.add_run(run, given, "")
        for finding in state.findings:
            store.finish_search(store.start_search(run.id, finding.task), run.conversation, finding)
        store.add_evidence(run.conversation, state.evidence)
        for step, note in state.notes.items():
            store.save_step_result(run.id, step, json.dumps(note, ensure_ascii=False))
        store.append_events(run.id, _rebuild_events(state, run))
        store.save_outcome(run.id, state.plan, state.reflections, state.answer)
    return run


def _rebuild_events(state: ReportState, run: Run) -> Iterator[tuple[datetime, str, dict[str, Any]]]:
    """What the run would have told, as far as it is counted or shown later."""
    end = run.created + timedelta(seconds=state.seconds)
    yield run.created, "status", {"status": "running"}
    if state.plan:
        yield run.created, "plan", {"plan": state.plan.model_dump(mode="json")}
    for finding in state.findings:
        task = finding.task.model_dump(mode="json")
        told = finding.model_dump(mode="json", include={"reason", "hint", "provider", "message", "seconds", "reused"})
        found_ = {"passages": finding.passage_count, "titles": [item.title for item in finding.evidence]}
        cached = {"cached": finding.started.isoformat() if finding.cached else ""}
        yield end, "search", {"task": task}
        yield end, "found", {"task": task, **found_, **told, **cached}
    for usage in state.usage:
        yield end, "usage", usage.model_dump(mode="json")
    yield end, "status", {"status": run.status, "error": run.error}
