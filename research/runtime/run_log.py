"""Log lines about the steps of runs: ids, sources, counts, durations and reasons of failures.

No question, answer, error message or key is logged: those are in the store. Of an event with a note
only the kind is logged.
"""

from __future__ import annotations

import logging

from research.core.events import (
    AnswerWritten,
    CheckFinished,
    CheckStarted,
    PlanMade,
    ReflectionMade,
    ReflectionSkipped,
    RunEvent,
    StatusChanged,
    TaskFinished,
)

log = logging.getLogger(__name__)


def log_to_stderr() -> None:
    """Write the log to standard error, unless this process has a handler already."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def log_event(run_id: str, event: RunEvent) -> None:
    """Log the event if it is a step of the run."""
    if log.isEnabledFor(logging.INFO) and (step := _describe_step(event)):
        log.info("run %s: %s", run_id, step)


def _describe_step(event: RunEvent) -> str:
    """Describe a step in one line; "" for an event that is no step."""
    match event:
        case StatusChanged(status=status):
            return status
        case PlanMade(plan=plan):
            rows = f", rows: {len(plan.grid.rows)}" if plan.grid else ""
            return f"plan, parts: {len(plan.parts)}, searches: {len(plan.tasks)}{rows}"
        case TaskFinished(task=task):
            source = f"{task.source} ({event.provider})" if event.provider else task.source
            result = f"no result: {event.reason}" if event.reason else f"passages: {event.passages}"
            reused = ", reused" if event.reused else ""
            return f"search {task.id} in {source}, {result}, {event.seconds:.2f} s{reused}"
        case ReflectionMade(reflection=reflection):
            verdict = "sufficient" if reflection.sufficient else f"gaps: {len(reflection.gap)}"
            return f"reflection on round {reflection.round}, {verdict}, new searches: {len(reflection.follow_ups)}"
        case ReflectionSkipped(round=round_):
            return f"no reflection on round {round_}"
        case AnswerWritten():
            return f"answer, quotes: {event.quotes}, cited statements: {event.cites}, failed steps: {event.failures}"
        case CheckStarted(sentences=sentences):
            return f"check begins, sentences: {sentences}"
        case CheckFinished():
            return f"check, rulings: {event.rulings}, repairs: {event.repairs}, unchecked: {event.unchecked}"
    return event.kind if event.note else ""
