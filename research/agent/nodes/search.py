"""The search stage: one task, one source, one deadline, one finding."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime

from research.agent.nodes.budget import RunBudget, RunEndedError
from research.agent.nodes.context import Ledger
from research.core import deadlines
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Finding, RunOptions, Task
from research.core.run_logger import RunLogger
from research.core.text.tokenizer import detect_language
from research.sources.base import Retriever

log = RunLogger(logging.getLogger(__name__))


async def run_search(
    task: Task,
    source: Retriever,
    ledger: Ledger,
    emit: EventEmitter,
    *,
    deadline_seconds: float,
    delay_seconds: float = 0.0,
    budget: RunBudget | None = None,
    since: datetime | None = None,
) -> Finding:
    """Return the stored finding of a task, or search now.

    A finding from before `since` is not reused. A search starts after `delay_seconds` and may take
    `deadline_seconds` for each call that the source makes in sequence; waiting for the source's
    turn does not count. A failure, or a search that the budget forbids or cancels, becomes a
    finding with a reason.
    """
    stored = await ledger.find(task)
    if stored is not None and not (since and stored.started < since):
        return stored
    budget = budget or RunBudget(RunOptions())
    search_id = 0
    try:
        async with budget.searching.enter():
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
            budget.start_search(task)
            try:
                search_id = await ledger.start_search(task)
                finding = await search_with_deadline(task, source, emit, deadline_seconds * source.max_sequential_calls)
            finally:
                budget.finish_search(task)
    except RunEndedError as ended:
        budget.record_skip(ended.reason)
        explanation = (
            "" if ended.reason == "stopped" else budget.describe_limit(ended.reason, detect_language(task.query))
        )
        finding = failed_finding(task, ServiceError("left out", explanation))
    if search_id:
        await ledger.finish_search(search_id, finding)
    return finding


async def search_with_deadline(task: Task, source: Retriever, emit: EventEmitter, deadline_seconds: float) -> Finding:
    """Search within a deadline. Every failure of the source becomes a finding with a reason."""
    started = time.monotonic()
    try:
        async with deadlines.deadline(deadline_seconds):
            finding = await source.search(task, emit)
    except TimeoutError:
        finding = failed_finding(task, ServiceError("timeout", f"no answer within {deadline_seconds:g} s"))
    except ServiceError as service_error:
        finding = failed_finding(task, service_error)
    except Exception as error:
        log.exception("search %s in %s crashed", task.id, task.source)
        finding = failed_finding(task, ServiceError("internal", type(error).__name__))
    if finding.has_failed:
        seconds = round(time.monotonic() - started, 3)
        finding = finding.model_copy(update={"seconds": seconds})
    return finding


def failed_finding(task: Task, error: ServiceError) -> Finding:
    """Make a finding that states the reason of a failure."""
    return Finding(
        task=task,
        reason=error.reason,
        hint=error.hint,
        message=error.message,
        started=datetime.now(UTC),
    )
