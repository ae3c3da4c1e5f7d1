"""Scholarly works as a source: all services are asked at once, and what they found is put together.

One that fails is named in the finding. How often a work is cited is told and orders nothing. Knows no
service's wire.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from research.citations.registry import Registry
from research.core.deadlines import deadline
from research.core.domains import Verdict
from research.core.errors import Trouble
from research.core.records import Failure, Finding, Readiness, Say, Task
from research.http.plain import tidy
from research.http.relay import lost
from research.sources.domain_standing import weighed
from research.sources.papers.service import Service
from research.sources.papers.work import Work, evidence, united

SWITCH = "SIGHTLINE_OPEN_SOURCES"
PUNCTUAL = 0.95  # of the time for a search: then it ends by itself, and keeps what it has


class Papers:
    """Searches the catalogues of scholarly works."""

    name = "papers"
    turns = 1

    def __init__(
        self,
        services: Sequence[Service],
        *,
        enabled: bool,
        results: int,
        deadline: float,
        domains: Mapping[str, Verdict] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`results` are kept of all that is found; `deadline` are the seconds of a whole search."""
        self._services = tuple(services)
        self._enabled = enabled
        self._results = results
        self._deadline = deadline
        self._domains = domains or {}
        self._clock = clock

    def ready(self) -> Readiness:
        if self._enabled:
            return Readiness(state="live", detail=", ".join(one.name for one in self._services))
        return Readiness(state="missing", detail=SWITCH)

    async def search(self, task: Task, say: Say) -> Finding:
        if not self._enabled:
            raise Trouble("no key", f"scholarly works are searched only with {SWITCH}=on")
        started, begun = self._clock(), time.monotonic()
        query = tidy(task.query)
        told = await asyncio.gather(*(self._asked(one, query, say) for one in self._services))
        failures = [one for one in told if isinstance(one, Failure)]
        if len(failures) == len(told):
            return lost(task, started, failures)
        registry = Registry()
        for work in united(one for one in told if not isinstance(one, Failure)):
            if item := evidence(work, started):
                registry.add(item)
        items, avoided = weighed(tuple(registry), self._domains)
        return Finding(
            task=task,
            evidence=items[: self._results],
            reason=None if items else "empty",
            message=f"{avoided} results of domains that are to be avoided" if avoided else "",
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            failures=tuple(failures),
        )

    async def close(self) -> None:
        for service in self._services:
            await service.close()

    async def _asked(self, service: Service, query: str, say: Say) -> list[Work] | Failure:
        seconds = self._deadline * PUNCTUAL
        try:
            async with deadline(seconds):
                return await service.works(query, self._results, say)
        except TimeoutError:
            trouble = Trouble("timeout", f"{service.name} did not answer within {seconds:.3g} s")
        except Trouble as error:
            trouble = error
        return trouble.failure("search", service.name, query)
