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
from research.core.records import EventEmitter, Finding, RunOptions, Task
from research.core.text.tokenizer import detect_language
from research.sources.base import Retriever

log = logging.getLogger(__name__)


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
    """What the ledger knows, unless that is from before `since`, else a search: after `delay` seconds and for at most `deadline` seconds
    for each of the turns that the source may take.

    What the search waits for its own turn does not count. Whatever goes wrong in the source costs
    this task only: it becomes a finding with a reason. So does a search for which the meter has no
    room, or which it cuts off.
    """
    known = await ledger.find(task)
    if known is not None and not (since and known.started < since):
        return known
    budget = budget or RunBudget(RunOptions())
    search = 0
    try:
        async with budget.searching.enter():
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
            budget.start_search(task)
            try:
                search = await ledger.start_search(task)
                finding = await search_with_deadline(task, source, emit, deadline_seconds * source.max_sequential_calls)
            finally:
                budget.finish_search(task)
    except RunEndedError as ended:
        budget.record_skip(ended.reason)
        why = "" if ended.reason == "stopped" else budget.describe_limit(ended.reason, detect_language(task.query))
        finding = failed_finding(task, ServiceError("left out", why))
    if search:
        await ledger.finish_search(search, finding)
    return finding


async def search_with_deadline(task: Task, source: Retriever, emit: EventEmitter, deadline_seconds: float) -> Finding:
    """What a search comes to within so many seconds: a finding, whatever goes wrong in the source."""
    started = time.monotonic()
    try:
        async with deadlines.deadline(deadline_seconds):
            finding = await source.search(task, emit)
    except TimeoutError:
        finding = failed_finding(task, ServiceError("timeout", f"no answer within {deadline_seconds:g} s"))
    except ServiceError as trouble:
        finding = failed_finding(task, trouble)
    except Exception as error:
        log.exception("search %s in %s crashed", task.id, task.source)
        finding = failed_finding(task, ServiceError("internal", type(error).__name__))
    if finding.reason not in (None, "empty"):
        seconds = round(time.monotonic() - started, 3)
        finding = finding.model_copy(update={"seconds": seconds})
    return finding


def failed_finding(task: Task, error: ServiceError) -> Finding:
    """A finding that says why there is none."""
    return Finding(
        task=task,
        reason=error.reason,
        hint=error.hint,
        message=error.message,
        started=datetime.now(UTC),
    )
