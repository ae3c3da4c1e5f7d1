"""The search stage: one task, one source, one deadline, one finding."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime

from research.agent.nodes.budget import Ended, Meter
from research.agent.nodes.context import Ledger
from research.core import deadlines
from research.core.errors import Trouble
from research.core.records import Finding, Options, Say, Task
from research.core.text.words import detect_language
from research.sources.base import Retriever

log = logging.getLogger(__name__)


async def look_up(
    task: Task,
    source: Retriever,
    ledger: Ledger,
    say: Say,
    *,
    deadline: float,
    delay: float = 0.0,
    meter: Meter | None = None,
    since: datetime | None = None,
) -> Finding:
    """What the ledger knows, unless that is from before `since`, else a search: after `delay` seconds and for at most `deadline` seconds
    for each of the turns that the source may take.

    What the search waits for its own turn does not count. Whatever goes wrong in the source costs
    this task only: it becomes a finding with a reason. So does a search for which the meter has no
    room, or which it cuts off.
    """
    known = await ledger.recall(task)
    if known is not None and not (since and known.started < since):
        return known
    meter = meter or Meter(Options())
    search = 0
    try:
        async with meter.searching.open():
            if delay:
                await asyncio.sleep(delay)
            meter.take(task)
            try:
                search = await ledger.begin(task)
                finding = await searched(task, source, say, deadline * source.turns)
            finally:
                meter.settle(task)
    except Ended as ended:
        meter.lack(ended.why)
        why = "" if ended.why == "stopped" else meter.words(ended.why, detect_language(task.query))
        finding = failed(task, Trouble("left out", why))
    if search:
        await ledger.finish(search, finding)
    return finding


async def searched(task: Task, source: Retriever, say: Say, deadline: float) -> Finding:
    """What a search comes to within so many seconds: a finding, whatever goes wrong in the source."""
    started = time.monotonic()
    try:
        async with deadlines.deadline(deadline):
            finding = await source.search(task, say)
    except TimeoutError:
        finding = failed(task, Trouble("timeout", f"no answer within {deadline:g} s"))
    except Trouble as trouble:
        finding = failed(task, trouble)
    except Exception as error:
        log.exception("search %s in %s crashed", task.id, task.source)
        finding = failed(task, Trouble("internal", type(error).__name__))
    if finding.reason not in (None, "empty"):
        seconds = round(time.monotonic() - started, 3)
        finding = finding.model_copy(update={"seconds": seconds})
    return finding


def failed(task: Task, trouble: Trouble) -> Finding:
    """A finding that says why there is none."""
    return Finding(
        task=task,
        reason=trouble.reason,
        hint=trouble.hint,
        message=trouble.message,
        started=datetime.now(UTC),
    )
