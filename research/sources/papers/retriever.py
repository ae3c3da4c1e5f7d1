"""Scholarly works as a source: all services are searched at once and their results merged.

A failed service is named in the finding. Citation counts are shown but do not affect the order.
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
from research.core.events import EventEmitter
from research.core.records import Failure, Finding, Readiness, Task
from research.http.failover import failed_finding
from research.http.sanitize import tidy_text
from research.sources.base import OPEN_SOURCES_SETTING, SEARCH_TIMEOUT_FRACTION, configured_readiness
from research.sources.domain_ranking import apply_domain_rules
from research.sources.papers.provider import PaperProvider
from research.sources.papers.work import Work, merge_works, work_evidence
from research.sources.provider_retriever import ProviderRetriever


class PaperRetriever(ProviderRetriever[PaperProvider]):
    """Searches several catalogues of scholarly works."""

    name = "papers"

    def __init__(
        self,
        providers: Sequence[PaperProvider],
        *,
        is_enabled: bool,
        max_results: int,
        timeout_seconds: float,
        domain_statuses: Mapping[str, DomainStatus] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`max_results` limits the merged results; `timeout_seconds` is the deadline of a whole
        search."""
        super().__init__(providers, timeout_seconds=timeout_seconds, domain_statuses=domain_statuses, clock=clock)
        self._is_enabled = is_enabled
        self._max_results = max_results

    def readiness(self) -> Readiness:
        return configured_readiness(
            self._is_enabled, OPEN_SOURCES_SETTING, ", ".join(provider.name for provider in self._providers)
        )

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if not self._is_enabled:
            raise ServiceError("no key", f"scholarly works are searched only with {OPEN_SOURCES_SETTING}=on")
        started, start_time = self._clock(), time.monotonic()
        query = tidy_text(task.query)
        results = await asyncio.gather(*(self._search_provider(provider, query, emit) for provider in self._providers))
        failures = [result for result in results if isinstance(result, Failure)]
        if len(failures) == len(results):
            return failed_finding(task, started, failures)
        registry = EvidenceRegistry()
        for work in merge_works(result for result in results if not isinstance(result, Failure)):
            if item := work_evidence(work, started):
                registry.add(item)
        items, avoided_count = apply_domain_rules(tuple(registry), self._domain_statuses)
        return Finding(
            task=task,
            evidence=items[: self._max_results],
            reason=None if items else "empty",
            message=f"{avoided_count} results of domains that are to be avoided" if avoided_count else "",
            started=started,
            seconds=round(time.monotonic() - start_time, 4),
            failures=tuple(failures),
        )

    async def _search_provider(self, provider: PaperProvider, query: str, emit: EventEmitter) -> list[Work] | Failure:
        seconds = self._timeout_seconds * SEARCH_TIMEOUT_FRACTION
        try:
            async with deadline(seconds):
                return await provider.search(query, self._max_results, emit)
        except TimeoutError:
            failure = ServiceError("timeout", f"{provider.name} did not answer within {seconds:.3g} s")
        except ServiceError as error:
            failure = error
        return failure.to_failure("search", provider.name, query)
