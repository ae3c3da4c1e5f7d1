"""Scholarly works as a source: all services are asked at once, and what they found is put together.

One that fails is named in the finding. How often a work is cited is told and orders nothing. Knows no
service's wire.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from research.citations.registry import EvidenceRegistry
from research.core.deadlines import deadline
from research.core.domains import DomainStatus
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Failure, Finding, Readiness, Task
from research.http.failover import failed_finding
from research.http.sanitize import tidy_text
from research.sources.domain_ranking import apply_domain_rules
from research.sources.papers.provider import PaperProvider
from research.sources.papers.work import Work, merge_works, work_evidence

OPEN_SOURCES_SETTING = "SIGHTLINE_OPEN_SOURCES"
TIMEOUT_FRACTION = 0.95  # of the time for a search: then it ends by itself, and keeps what it has


class PaperRetriever:
    """Searches the catalogues of scholarly works."""

    name = "papers"
    max_sequential_calls = 1

    def __init__(
        self,
        providers: Sequence[PaperProvider],
        *,
        is_enabled: bool,
        max_results: int,
        timeout_seconds: float,
        domain_verdicts: Mapping[str, DomainStatus] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`results` are kept of all that is found; `deadline` are the seconds of a whole search."""
        self._providers = tuple(providers)
        self._is_enabled = is_enabled
        self._max_results = max_results
        self._timeout_seconds = timeout_seconds
        self._domain_verdicts = domain_verdicts or {}
        self._clock = clock

    def readiness(self) -> Readiness:
        if self._is_enabled:
            return Readiness(state="live", detail=", ".join(one.name for one in self._providers))
        return Readiness(state="missing", detail=OPEN_SOURCES_SETTING)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if not self._is_enabled:
            raise ServiceError("no key", f"scholarly works are searched only with {OPEN_SOURCES_SETTING}=on")
        started, begun = self._clock(), time.monotonic()
        query = tidy_text(task.query)
        told = await asyncio.gather(*(self._search_provider(one, query, emit) for one in self._providers))
        failures = [one for one in told if isinstance(one, Failure)]
        if len(failures) == len(told):
            return failed_finding(task, started, failures)
        registry = EvidenceRegistry()
        for work in merge_works(one for one in told if not isinstance(one, Failure)):
            if item := work_evidence(work, started):
                registry.add(item)
        items, avoided = apply_domain_rules(tuple(registry), self._domain_verdicts)
        return Finding(
            task=task,
            evidence=items[: self._max_results],
            reason=None if items else "empty",
            message=f"{avoided} results of domains that are to be avoided" if avoided else "",
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            failures=tuple(failures),
        )

    async def close(self) -> None:
        for service in self._providers:
            await service.close()

    async def _search_provider(self, provider: PaperProvider, query: str, emit: EventEmitter) -> list[Work] | Failure:
        seconds = self._timeout_seconds * TIMEOUT_FRACTION
        try:
            async with deadline(seconds):
                return await provider.search(query, self._max_results, emit)
        except TimeoutError:
            trouble = ServiceError("timeout", f"{provider.name} did not answer within {seconds:.3g} s")
        except ServiceError as error:
            trouble = error
        return trouble.to_failure("search", provider.name, query)
