"""Isolation of a third-party retriever, so that its errors affect only its own searches."""

from __future__ import annotations

import logging

from research.core.errors import ServiceError
from research.core.events import EventEmitter, EventRecord, RunEvent
from research.core.records import Finding, Readiness, Task
from research.sources.base import Dependencies, Retriever, Source, SupportsOwners, SupportsQuestionCheck

log = logging.getLogger(__name__)
MAX_SEQUENTIAL_CALLS = 10


class PluginRetriever:
    """A retriever of a third-party source, held to the contract of `Retriever`."""

    def __init__(self, source: Source, dependencies: Dependencies) -> None:
        self._name = source.name
        self._retriever: Retriever | None = None
        self._error_name = ""
        try:
            self._retriever = source.build(dependencies)
        except Exception as error:  # noqa: BLE001 - `_record_failure` logs it
            self._record_failure("built", error)

    @property
    def max_sequential_calls(self) -> int:
        value = getattr(self._retriever, "max_sequential_calls", 1)
        return min(max(value, 1), MAX_SEQUENTIAL_CALLS) if isinstance(value, int) else 1

    def for_owner(self, owner: str) -> Retriever:
        """Return the wrapped retriever for an owner, or itself if it does not support owners."""
        if not isinstance(self._retriever, SupportsOwners):
            return self
        wrapper = PluginRetriever.__new__(PluginRetriever)
        wrapper._name, wrapper._error_name, wrapper._retriever = self._name, "", self._retriever.for_owner(owner)
        return wrapper

    def readiness(self) -> Readiness:
        if self._retriever is not None:
            try:
                status = self._retriever.readiness()
                return Readiness(state=status.state, detail=" ".join(status.detail.split())[:200])
            except Exception as error:  # noqa: BLE001 - `_record_failure` logs it
                self._record_failure("asked whether it is ready", error)
        return Readiness(state="missing", detail=self._error_name)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if self._retriever is None:
            raise ServiceError("internal", self._error_name)

        def emit_checked(event: RunEvent, /) -> None:
            if not isinstance(event, EventRecord):
                raise TypeError(f"{self._name} emitted {type(event).__name__}, which is no event")
            emit(event)

        finding = await self._retriever.search(task, emit_checked)
        if not isinstance(finding, Finding):
            raise ServiceError("malformed", f"{self._name} returned {type(finding).__name__}")
        return finding.model_copy(update={"task": task})

    async def can_answer(self, question: str) -> bool:
        """Return whether the source can answer the question by rules; True if it cannot check."""
        try:
            return not isinstance(self._retriever, SupportsQuestionCheck) or await self._retriever.can_answer(question)
        except Exception as error:  # noqa: BLE001 - `_record_failure` logs it
            self._record_failure("asked whether it reads a question", error)
            return True

    async def warm(self) -> None:
        await self._call_hook("warm")

    async def close(self) -> None:
        await self._call_hook("close")

    async def _call_hook(self, hook: str) -> None:
        method = getattr(self._retriever, hook, None)
        try:
            if method:
                await method()
        except Exception as error:  # noqa: BLE001 - `_record_failure` logs it
            self._record_failure(f"asked to {hook}", error)

    def _record_failure(self, action: str, error: Exception) -> None:
        log.error("the source %s failed when it was %s", self._name, action, exc_info=error)
        self._error_name = type(error).__name__
