"""The ledger of one run's searches, kept in the store."""

from __future__ import annotations

from research.records import Finding, Run, Task
from research.runs.store import Store


class RunLedger:
    """Remembers each search of a run, so that none is done twice.

    A task that the run finished before it was cut off, or that the run it is based on finished, is
    answered from the store, marked as reused.
    """

    def __init__(self, store: Store, run: Run) -> None:
        self._store, self._run = store, run

    def recall(self, task: Task) -> Finding | None:
        found = self._store.finding((self._run.id, self._run.based_on), task.key)
        if found is None:
            return None
        origin, finding = found
        finding = finding.model_copy(update={"task": task, "reused": True})
        if origin != self._run.id:
            self.finish(self.begin(task), finding)
        return finding

    def begin(self, task: Task) -> int:
        return self._store.begin(self._run.id, task)

    def finish(self, search: int, finding: Finding) -> None:
        self._store.finish(search, self._run.conversation, finding)
