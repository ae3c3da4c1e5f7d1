"""A retriever that a package of others has built: what goes wrong in it costs its own searches alone."""

from __future__ import annotations

import logging

from research.core.errors import ServiceError
from research.core.records import EventEmitter, Finding, Readiness, Task
from research.sources.base import Dependencies, Retriever, Source, SupportsOwners, SupportsQuestionCheck

log = logging.getLogger(__name__)
MAX_SEQUENTIAL_CALLS = 10  # turns of a search


class PluginRetriever:
    """What a source of others builds, held to what a retriever promises."""

    def __init__(self, source: Source, dependencies: Dependencies) -> None:
        self._name = source.name
        self._retriever: Retriever | None = None
        self._error_name = ""
        try:
            self._retriever = source.build(dependencies)
        except Exception as error:  # noqa: BLE001 - logged there
            self._record_failure("built", error)

    @property
    def max_sequential_calls(self) -> int:
        told = getattr(self._retriever, "max_sequential_calls", 1)
        return min(max(told, 1), MAX_SEQUENTIAL_CALLS) if isinstance(told, int) else 1

    def for_owner(self, owner: str) -> Retriever:
        """The same for the runs of an owner, where it knows things of theirs."""
        if not isinstance(self._retriever, SupportsOwners):
            return self
        guest = PluginRetriever.__new__(PluginRetriever)
        guest._name, guest._error_name, guest._retriever = self._name, "", self._retriever.for_owner(owner)
        return guest

    def readiness(self) -> Readiness:
        if self._retriever is not None:
            try:
                told = self._retriever.readiness()
                return Readiness(state=told.state, detail=" ".join(told.detail.split())[:200])
            except Exception as error:  # noqa: BLE001 - logged there
                self._record_failure("asked whether it is ready", error)
        return Readiness(state="missing", detail=self._error_name)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if self._retriever is None:
            raise ServiceError("internal", self._error_name)
        finding = await self._retriever.search(task, emit)
        if not isinstance(finding, Finding):
            raise ServiceError("malformed", f"{self._name} returned {type(finding).__name__}")
        return finding.model_copy(update={"task": task})

    async def can_answer(self, question: str) -> bool:
        """Where it cannot tell, a search will."""
        try:
            return not isinstance(self._retriever, SupportsQuestionCheck) or await self._retriever.can_answer(question)
        except Exception as error:  # noqa: BLE001 - logged there
            self._record_failure("asked whether it reads a question", error)
            return True

    async def warm(self) -> None:
        await self._call_hook("warm")

    async def close(self) -> None:
        await self._call_hook("close")

    async def _call_hook(self, hook: str) -> None:
        act = getattr(self._retriever, hook, None)
        try:
            if act:
                await act()
        except Exception as error:  # noqa: BLE001 - logged there
            self._record_failure(f"asked to {hook}", error)

    def _record_failure(self, action: str, error: Exception) -> None:
        log.error("the source %s failed when it was %s", self._name, action, exc_info=error)
        self._error_name = type(error).__name__
