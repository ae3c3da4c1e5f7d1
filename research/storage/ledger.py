"""The stored searches and step results of a run."""

from __future__ import annotations

from collections.abc import Container
from datetime import UTC, datetime, timedelta

from research.core.records import Finding, Run, Task
from research.storage.store import Store
from research.storage.write_batcher import WriteBatcher

# Google's terms do not allow caching of grounded search results.
UNCACHEABLE_PROVIDERS = frozenset({"gemini", "deep-research"})


class RunLedger:
    """Records each search of a run, so that none is repeated.

    A task finished earlier by this run, or by the run it is based on, is answered from the store
    and marked as reused. One finished by another run of the owner within the last `cache_hours` is
    also marked as cached.
    """

    def __init__(
        self,
        store: Store,
        batcher: WriteBatcher,
        run: Run,
        cache_hours: float = 0.0,
        *,
        is_fresh: bool = False,
        cacheable_sources: Container[str] = (),
        changed_sources: Container[str] = (),
    ) -> None:
        """Create the ledger of a run.

        A run that `is_fresh` has no earlier findings and is based on no other run. Findings of
        `cacheable_sources` may serve other runs. For `changed_sources`, findings of the run that
        this one is based on are not reused.
        """
        self._store, self._batcher, self._run, self._cache_hours = store, batcher, run, cache_hours
        self._is_fresh, self._cacheable_sources, self._changed_sources = is_fresh, cacheable_sources, changed_sources
        self._new_findings: dict[str, Finding] = {}  # findings since the start, by key

    async def find(self, task: Task) -> Finding | None:
        """Return an earlier finding of a task, recorded as one of this run; None if there is none."""
        origin, finding = self._find_in_run(task)
        if finding is None:
            return await self._find_in_cache(task)
        finding = finding.model_copy(update={"task": task, "reused": True})
        if origin != self._run.id:
            await self.finish_search(await self.start_search(task), finding)
        return finding

    def _find_in_run(self, task: Task) -> tuple[str, Finding | None]:
        key = task.key
        if key in self._new_findings:
            return self._run.id, self._new_findings[key]
        if self._is_fresh:
            return "", None
        based_on = "" if task.source in self._changed_sources else self._run.based_on
        return self._store.find_finding((self._run.id, based_on), key) or ("", None)

    async def _find_in_cache(self, task: Task) -> Finding | None:
        if not self._cache_hours or task.source not in self._cacheable_sources:
            return None
        since = datetime.now(UTC) - timedelta(hours=self._cache_hours)
        for finding in self._store.recent_findings(self._run.owner, task.key, since):
            if finding.provider not in UNCACHEABLE_PROVIDERS and finding.evidence and finding.started >= since:
                update = {"task": task, "reused": True, "cached": True}
                finding = finding.model_copy(update=update)
                await self.finish_search(await self.start_search(task), finding)
                return finding
        return None

    async def start_search(self, task: Task) -> int:
        """Record the start of a search and return its id for `finish_search`."""
        return await self._batcher.add(lambda: self._store.start_search(self._run.id, task))

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        """Store the finding of a search."""
        if finding.reason in (None, "empty"):
            self._new_findings.setdefault(finding.task.key, finding)
        conversation = self._run.conversation
        await self._batcher.add(lambda: self._store.finish_search(search_id, conversation, finding))

    def load_result(self, step: str) -> str | None:
        """Return the stored result of a step of this run, or of the run it is based on."""
        if self._is_fresh:
            return None
        runs = filter(None, (self._run.id, self._run.based_on))
        return next((text for run in runs if (text := self._store.load_step_result(run, step))), None)

    async def save_result(self, step: str, text: str) -> None:
        """Store the result of a step of this run."""
        await self._batcher.add(lambda: self._store.save_step_result(self._run.id, step, text))
