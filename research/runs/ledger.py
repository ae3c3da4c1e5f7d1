"""The ledger of one run's searches, kept in the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from research.records import Finding, Run, Task
from research.runs.store import Store

CACHED = frozenset({"web", "news"})  # sources that cost money and that do not mind themselves
NEVER = frozenset({"gemini"})  # Google's terms allow no cache of what its search grounds


class RunLedger:
    """Remembers each search of a run, so that none is done twice.

    A task that the run finished before it was cut off, or that the run it is based on finished, is
    answered from the store, marked as reused; so is, marked as cached, one that another run of the
    same owner has brought home in the last `hours`.
    """

    def __init__(self, store: Store, run: Run, hours: float = 0.0) -> None:
        self._store, self._run, self._hours = store, run, hours

    def recall(self, task: Task) -> Finding | None:
        found = self._store.finding((self._run.id, self._run.based_on), task.key)
        if found is None:
            return self._cached(task)
        origin, finding = found
        finding = finding.model_copy(update={"task": task, "reused": True})
        if origin != self._run.id:
            self.finish(self.begin(task), finding)
        return finding

    def _cached(self, task: Task) -> Finding | None:
        if not self._hours or task.source not in CACHED:
            return None
        since = datetime.now(UTC) - timedelta(hours=self._hours)
        for finding in self._store.recent(self._run.owner, task.key, since):
            if finding.provider not in NEVER and finding.evidence and finding.started >= since:
                update = {"task": task, "reused": True, "cached": True}
                finding = finding.model_copy(update=update)
                self.finish(self.begin(task), finding)
                return finding
        return None

    def begin(self, task: Task) -> int:
        return self._store.begin(self._run.id, task)

    def finish(self, search: int, finding: Finding) -> None:
        self._store.finish(search, self._run.conversation, finding)
