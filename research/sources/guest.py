"""A retriever that a package of others has built: what goes wrong in it costs its own searches alone."""

from __future__ import annotations

import logging

from research.core.errors import Trouble
from research.core.records import Finding, Readiness, Say, Task
from research.sources.base import Owned, Retriever, Selective, Source, Supplies

log = logging.getLogger(__name__)
MOST = 10  # turns of a search


class Guest:
    """What a source of others builds, held to what a retriever promises."""

    def __init__(self, source: Source, supplies: Supplies) -> None:
        self._name = source.name
        self._inner: Retriever | None = None
        self._fault = ""
        try:
            self._inner = source.build(supplies)
        except Exception as error:  # noqa: BLE001 - logged there
            self._failed("built", error)

    @property
    def turns(self) -> int:
        told = getattr(self._inner, "turns", 1)
        return min(max(told, 1), MOST) if isinstance(told, int) else 1

    def of(self, owner: str) -> Retriever:
        """The same for the runs of an owner, where it knows things of theirs."""
        if not isinstance(self._inner, Owned):
            return self
        guest = Guest.__new__(Guest)
        guest._name, guest._fault, guest._inner = self._name, "", self._inner.of(owner)
        return guest

    def ready(self) -> Readiness:
        if self._inner is not None:
            try:
                told = self._inner.ready()
                return Readiness(state=told.state, detail=" ".join(told.detail.split())[:200])
            except Exception as error:  # noqa: BLE001 - logged there
                self._failed("asked whether it is ready", error)
        return Readiness(state="missing", detail=self._fault)

    async def search(self, task: Task, say: Say) -> Finding:
        if self._inner is None:
            raise Trouble("internal", self._fault)
        finding = await self._inner.search(task, say)
        if not isinstance(finding, Finding):
            raise Trouble("malformed", f"{self._name} returned {type(finding).__name__}")
        return finding.model_copy(update={"task": task})

    async def reads(self, question: str) -> bool:
        """Where it cannot tell, a search will."""
        try:
            return not isinstance(self._inner, Selective) or await self._inner.reads(question)
        except Exception as error:  # noqa: BLE001 - logged there
            self._failed("asked whether it reads a question", error)
            return True

    async def warm(self) -> None:
        await self._call("warm")

    async def close(self) -> None:
        await self._call("close")

    async def _call(self, name: str) -> None:
        act = getattr(self._inner, name, None)
        try:
            if act:
                await act()
        except Exception as error:  # noqa: BLE001 - logged there
            self._failed(f"asked to {name}", error)

    def _failed(self, when: str, error: Exception) -> None:
        log.error("the source %s failed when it was %s", self._name, when, exc_info=error)
        self._fault = type(error).__name__
