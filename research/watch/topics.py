"""Topics that are watched: a report that is brought up to date by one run after another.

The runs of a topic share a conversation. The first is the one that is watched, and its id is that of
the watch; each of the others updates the last one that had written its report.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from research.agent.nodes.report_update import repeat_outline
from research.core.records import Report, Run, WatchedTopic, normalise_query
from research.runtime.run_manager import RunManager


class UnwatchableTopicError(ValueError):
    """There is no report that could be brought up to date."""


def watch_topic(runs: RunManager, run_id: str, owner: str) -> WatchedTopic:
    """Watches the topic of a report; of one that updates another, that one's.

    Raises:
        Unwatchable: the run is none of the owner's, or has no report that is written.
    """
    report = _written_report(runs, runs.get_run(run_id, owner=owner))
    if report is None or repeat_outline(report, datetime.now(UTC).date()) is None:
        raise UnwatchableTopicError("Only a report that is written can be watched.")
    first = _first_run(runs, report.run, owner)
    runs.store.add_watch(first.id)
    return next(item for item in watches(runs, owner) if item.id == first.id)


def unwatch_topic(runs: RunManager, watch_id: str, owner: str) -> None:
    """The topic is watched no more; its reports stay."""
    runs.store.remove_watch(watch_id, owner)


def watches(runs: RunManager, owner: str) -> list[WatchedTopic]:
    """The topics that are watched, those that were taken up last before the others."""
    found = [_make_watch(runs, run, since) for run, since in runs.store.watches(owner)]
    lost = runs.store.unreadable_watches(owner)
    return [*found, *(WatchedTopic(id=run_id, topic=topic) for run_id, topic in lost)]


def find_watch(runs: RunManager, topic: str, owner: str) -> WatchedTopic | None:
    """The watch of a topic, however it is spelt."""
    wanted = normalise_query(topic)
    return next((w for w in watches(runs, owner) if normalise_query(w.topic) == wanted), None)


def start_update(runs: RunManager, watch_id: str, owner: str) -> Run:
    """Starts a run that brings the report of a watch up to date. One that is under way, or that can
    go on, is that run.

    Raises:
        Unwatchable: there is no such watch, or its report cannot be read any more.
    """
    first = next((run for run, _ in runs.store.watches(owner) if run.id == watch_id), None)
    if first is None:
        raise UnwatchableTopicError("There is no such topic among those that are watched.")
    line = list(_report_runs(runs, first, owner))
    if line[-1].is_active or line[-1].status == "waiting":
        return line[-1]
    if line[-1].is_resumable:
        return runs.resume(line[-1].id, owner=owner) or line[-1]
    report = _written_report(runs, line[-1])
    plan = repeat_outline(report, datetime.now(UTC).date()) if report else None
    if report is None or plan is None:
        raise UnwatchableTopicError("The report of this topic cannot be read any more.")
    update = {"updates": report.run.id, "reflections": 0, "approve": False}
    options = report.run.options.model_copy(update=update)
    return runs.start(first.question, options=options, owner=owner, plan=plan, follows=report.run.id)


def _make_watch(runs: RunManager, first: Run, since: datetime) -> WatchedTopic:
    done = [run for run in _report_runs(runs, first, first.owner) if run.status == "done"]
    latest = done[-1] if done else first
    report = _written_report(runs, latest) if latest.options.updates else None
    coverage = report.answer.coverage if report and report.answer else None
    return WatchedTopic(
        id=first.id,
        topic=first.question,
        created=since,
        latest=latest.id,
        updated=latest.finished or latest.created,
        changed=bool(coverage.changes) if coverage else None,
    )


def _report_runs(runs: RunManager, first: Run, owner: str) -> Iterator[Run]:
    """A watched run and those that bring it up to date, the earliest first."""
    yield first
    known = {first.id}
    for run in runs.store.turns(first.conversation, owner):
        if run.options.updates in known:
            known.add(run.id)
            yield run


def _first_run(runs: RunManager, run: Run, owner: str) -> Run:
    """The run whose report a run brings up to date in the end, or itself."""
    turns = {turn.id: turn for turn in runs.store.turns(run.conversation, owner)}
    seen: set[str] = set()
    while run.options.updates in turns and run.id not in seen:
        seen.add(run.id)
        run = turns[run.options.updates]
    return run


def _written_report(runs: RunManager, run: Run | None) -> Report | None:
    """The report of a run, if it is written."""
    report = runs.store.report(run) if run and run.status == "done" else None
    return report if report and report.answer and not report.answer.unwritten else None
