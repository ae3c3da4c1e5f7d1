"""Watched topics: a report that successive runs bring up to date.

The runs of a topic share a conversation. The first run is the watched one, and its id is the id of
the watch; each later run updates the last one that had written its report.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from research.agent.nodes.report_update import repeat_outline
from research.core.records import Report, Run, WatchedTopic, normalise_query
from research.runtime.run_manager import RunManager
from research.runtime.start_limit import check_start


class UnwatchableTopicError(ValueError):
    """There is no report that can be updated."""


class WatchedTopics:
    """The watched topics of all owners."""

    def __init__(self, runs: RunManager) -> None:
        """Start updates with this run manager."""
        self._runs = runs

    def add(self, run_id: str, *, owner: str = "local") -> WatchedTopic:
        """Watch the topic of a report. For an update, watch the topic of the report that it updates.

        Raises:
            UnwatchableTopicError: the owner has no such run, or it has no written report.
        """
        report = _written_report(self._runs, self._runs.get_run(run_id, owner=owner))
        if report is None or repeat_outline(report, datetime.now(UTC).date()) is None:
            raise UnwatchableTopicError("Only a report that is written can be watched.")
        first = _first_run(self._runs, report.run, owner)
        self._runs.store.add_watch(first.id)
        return next(item for item in self.all(owner=owner) if item.id == first.id)

    def remove(self, watch_id: str, *, owner: str = "local") -> None:
        """Stop watching a topic; its reports stay."""
        self._runs.store.remove_watch(watch_id, owner)

    def all(self, *, owner: str = "local") -> list[WatchedTopic]:
        """Return an owner's watched topics, the most recently watched first.

        Topics whose run cannot be read come last, with only their id and topic.
        """
        readable = [_make_watch(self._runs, run, since) for run, since in self._runs.store.watches(owner)]
        unreadable = self._runs.store.unreadable_watches(owner)
        return [*readable, *(WatchedTopic(id=run_id, topic=topic) for run_id, topic in unreadable)]

    def find(self, topic: str, *, owner: str = "local") -> WatchedTopic | None:
        """Return the watch of a topic, compared without regard to spelling variants."""
        query = normalise_query(topic)
        return next((w for w in self.all(owner=owner) if normalise_query(w.topic) == query), None)

    def start_update(self, watch_id: str, *, owner: str = "local") -> Run:
        """Start a run that updates the report of a watch.

        If the last update is still active, waiting or resumable, return or resume that run instead.

        Raises:
            RateLimitError: the owner has started too much within a minute.
            UnwatchableTopicError: there is no such watch, or its report can no longer be read.
        """
        check_start(self._runs.start_limiter, owner)
        first = next((run for run, _ in self._runs.store.watches(owner) if run.id == watch_id), None)
        if first is None:
            raise UnwatchableTopicError("There is no such topic among those that are watched.")
        report_runs = list(_report_runs(self._runs, first, owner))
        if report_runs[-1].is_active or report_runs[-1].status == "waiting":
            return report_runs[-1]
        if report_runs[-1].is_resumable:
            return self._runs.resume(report_runs[-1].id, owner=owner) or report_runs[-1]
        report = _written_report(self._runs, report_runs[-1])
        plan = repeat_outline(report, datetime.now(UTC).date()) if report else None
        if report is None or plan is None:
            raise UnwatchableTopicError("The report of this topic cannot be read any more.")
        update = {"updated_run": report.run.id, "reflections": 0, "approve": False}
        options = report.run.options.model_copy(update=update)
        return self._runs.start(first.question, options=options, owner=owner, plan=plan, follows=report.run.id)


def _make_watch(runs: RunManager, first: Run, since: datetime) -> WatchedTopic:
    done = [run for run in _report_runs(runs, first, first.owner) if run.status == "done"]
    latest = done[-1] if done else first
    report = _written_report(runs, latest) if latest.options.updated_run else None
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
    """Yield a watched run and the runs that update it, the earliest first."""
    yield first
    run_ids = {first.id}
    for run in runs.store.turns(first.conversation, owner):
        if run.options.updated_run in run_ids:
            run_ids.add(run.id)
            yield run


def _first_run(runs: RunManager, run: Run, owner: str) -> Run:
    """Follow the chain of updates back to the run that began it."""
    turns = {turn.id: turn for turn in runs.store.turns(run.conversation, owner)}
    seen: set[str] = set()
    while run.options.updated_run in turns and run.id not in seen:
        seen.add(run.id)
        run = turns[run.options.updated_run]
    return run


def _written_report(runs: RunManager, run: Run | None) -> Report | None:
    """Return the report of a finished run, or None if its answer was not written."""
    report = runs.store.report(run) if run and run.status == "done" else None
    return report if report and report.answer and not report.answer.placeholder else None
