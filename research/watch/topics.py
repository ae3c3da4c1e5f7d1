"""Topics that are watched: a report that is brought up to date by one run after another.

The runs of a topic share a conversation. The first is the one that is watched, and its id is that of
the watch; each of the others updates the last one that had written its report.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from research.agent.nodes.update import again
from research.core.records import Report, Run, Watch, normalised
from research.runtime.base import Runs


class Unwatchable(ValueError):
    """There is no report that could be brought up to date."""


def watch(runs: Runs, run_id: str, owner: str) -> Watch:
    """Watches the topic of a report; of one that updates another, that one's.

    Raises:
        Unwatchable: the run is none of the owner's, or has no report that is written.
    """
    report = _written(runs, runs.get(run_id, owner=owner))
    if report is None or again(report, datetime.now(UTC).date()) is None:
        raise Unwatchable("Only a report that is written can be watched.")
    first = _first(runs, report.run, owner)
    runs.store.watch(first.id)
    return next(item for item in watches(runs, owner) if item.id == first.id)


def unwatch(runs: Runs, watch_id: str, owner: str) -> None:
    """The topic is watched no more; its reports stay."""
    runs.store.unwatch(watch_id, owner)


def watches(runs: Runs, owner: str) -> list[Watch]:
    """The topics that are watched, those that were taken up last before the others."""
    found = [_told(runs, run, since) for run, since in runs.store.watches(owner)]
    lost = runs.store.unreadable_watches(owner)
    return [*found, *(Watch(id=run_id, topic=topic) for run_id, topic in lost)]


def watched(runs: Runs, topic: str, owner: str) -> Watch | None:
    """The watch of a topic, however it is spelt."""
    wanted = normalised(topic)
    return next((w for w in watches(runs, owner) if normalised(w.topic) == wanted), None)


def look_again(runs: Runs, watch_id: str, owner: str) -> Run:
    """Starts a run that brings the report of a watch up to date. One that is under way, or that can
    go on, is that run.

    Raises:
        Unwatchable: there is no such watch, or its report cannot be read any more.
    """
    first = next((run for run, _ in runs.store.watches(owner) if run.id == watch_id), None)
    if first is None:
        raise Unwatchable("There is no such topic among those that are watched.")
    line = list(_line(runs, first, owner))
    if line[-1].active or line[-1].status == "waiting":
        return line[-1]
    if line[-1].resumable:
        return runs.resume(line[-1].id, owner=owner) or line[-1]
    report = _written(runs, line[-1])
    plan = again(report, datetime.now(UTC).date()) if report else None
    if report is None or plan is None:
        raise Unwatchable("The report of this topic cannot be read any more.")
    update = {"updates": report.run.id, "reflections": 0, "approve": False}
    options = report.run.options.model_copy(update=update)
    return runs.start(
        first.question, options=options, owner=owner, plan=plan, follows=report.run.id
    )


def _told(runs: Runs, first: Run, since: datetime) -> Watch:
    done = [run for run in _line(runs, first, first.owner) if run.status == "done"]
    latest = done[-1] if done else first
    report = _written(runs, latest) if latest.options.updates else None
    coverage = report.answer.coverage if report and report.answer else None
    return Watch(
        id=first.id,
        topic=first.question,
        created=since,
        latest=latest.id,
        updated=latest.finished or latest.created,
        changed=bool(coverage.changes) if coverage else None,
    )


def _line(runs: Runs, first: Run, owner: str) -> Iterator[Run]:
    """A watched run and those that bring it up to date, the earliest first."""
    yield first
    known = {first.id}
    for run in runs.store.turns(first.conversation, owner):
        if run.options.updates in known:
            known.add(run.id)
            yield run


def _first(runs: Runs, run: Run, owner: str) -> Run:
    """The run whose report a run brings up to date in the end, or itself."""
    turns = {turn.id: turn for turn in runs.store.turns(run.conversation, owner)}
    seen: set[str] = set()
    while run.options.updates in turns and run.id not in seen:
        seen.add(run.id)
        run = turns[run.options.updates]
    return run


def _written(runs: Runs, run: Run | None) -> Report | None:
    """The report of a run, if it is written."""
    report = runs.store.report(run) if run and run.status == "done" else None
    return report if report and report.answer and not report.answer.unwritten else None
