"""The ledger of one run's searches, kept in the store."""

from __future__ import annotations

from collections.abc import Container
from datetime import UTC, datetime, timedelta

from research.core.records import Finding, Run, Task
from research.storage.batcher import Batcher
from research.storage.store import Store

NEVER = frozenset(
    {"gemini", "deep-research"}
)  # Google's terms allow no cache of what its search grounds


class RunLedger:
    """Remembers each search of a run, so that none is done twice.

    A task that the run finished before it was cut off, or that the run it is based on finished, is
    answered from the store, marked as reused; so is, marked as cached, one that another run of the
    same owner has brought home in the last `hours`.
    """

    def __init__(
        self,
        store: Store,
        batcher: Batcher,
        run: Run,
        hours: float = 0.0,
        *,
        fresh: bool = False,
        cached: Container[str] = (),
        apart: Container[str] = (),
    ) -> None:
        """A `fresh` run has found nothing yet, and is based on none that has. What the `cached`
        sources found may serve other runs; of the sources `apart`, the run that this one is based on
        has asked another."""
        self._store, self._batcher, self._run, self._hours = store, batcher, run, hours
        self._fresh, self._cacheable, self._apart = fresh, cached, apart
        self._found: dict[str, Finding] = {}  # by key, what was found since

    async def recall(self, task: Task) -> Finding | None:
        origin, finding = self._known(task)
        if finding is None:
            return await self._cached(task)
        finding = finding.model_copy(update={"task": task, "reused": True})
        if origin != self._run.id:
            await self.finish(await self.begin(task), finding)
        return finding

    def _known(self, task: Task) -> tuple[str, Finding | None]:
        key = task.key
        if key in self._found:
            return self._run.id, self._found[key]
        if self._fresh:
            return "", None
        based_on = "" if task.source in self._apart else self._run.based_on
        return self._store.finding((self._run.id, based_on), key) or ("", None)

    async def _cached(self, task: Task) -> Finding | None:
        if not self._hours or task.source not in self._cacheable:
            return None
        since = datetime.now(UTC) - timedelta(hours=self._hours)
        for finding in self._store.recent(self._run.owner, task.key, since):
            if finding.provider not in NEVER and finding.evidence and finding.started >= since:
                update = {"task": task, "reused": True, "cached": True}
                finding = finding.model_copy(update=update)
                await self.finish(await self.begin(task), finding)
                return finding
        return None

    async def begin(self, task: Task) -> int:
        return await self._batcher.add(lambda: self._store.begin(self._run.id, task))

    async def finish(self, search: int, finding: Finding) -> None:
        if finding.reason in (None, "empty"):
            self._found.setdefault(finding.task.key, finding)
        conversation = self._run.conversation
        await self._batcher.add(lambda: self._store.finish(search, conversation, finding))

    def noted(self, step: str) -> str | None:
        """What a step of the run has come to, or of the run that it is based on."""
        if self._fresh:
            return None
        runs = filter(None, (self._run.id, self._run.based_on))
        return next((text for run in runs if (text := self._store.noted(run, step))), None)

    async def note(self, step: str, text: str) -> None:
        await self._batcher.add(lambda: self._store.note(self._run.id, step, text))
