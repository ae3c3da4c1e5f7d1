"""Web retriever. The first provider that answers is used; the others are fallbacks.

The finding names providers that failed and the one that answered. Results without a summary may be
enriched with passages of their pages and a cited summary.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from research.core.deadlines import Countdown, count_down, deadline
from research.core.domains import DomainStatus
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.providers import search_services
from research.core.records import Evidence, Failure, Finding, Passage, Readiness, Span, Task
from research.http.failover import failed_finding, first_answer
from research.sources.base import SEARCH_TIMEOUT_FRACTION
from research.sources.domain_ranking import apply_domain_rules
from research.sources.provider_retriever import ProviderRetriever
from research.sources.web.provider import SearchResult, WebProvider

Summariser = Callable[[str, Sequence[Evidence], EventEmitter], Awaitable[tuple[Span, ...]]]
PROVIDERS_SETTING = "WEB_SEARCH"  # the missing setting if no provider is selected


class PassageReader(Protocol):
    """Reads pages safely."""

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        """Return the passages of a page that are relevant to a query.

        Raises:
            ServiceError: the page cannot or must not be read.
        """


class WebRetriever(ProviderRetriever[WebProvider]):
    """Searches the web through the configured providers."""

    name = "web"

    def __init__(
        self,
        providers: Sequence[WebProvider],
        *,
        timeout_seconds: float,
        summarise: Summariser | None = None,
        page_reader: PassageReader | None = None,
        pages_per_search: int = 0,
        domain_statuses: Mapping[str, DomainStatus] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Create a retriever.

        `timeout_seconds` covers a whole search; `pages_per_search` is the number of results whose
        pages are read.
        """
        super().__init__(providers, timeout_seconds=timeout_seconds, domain_statuses=domain_statuses, clock=clock)
        self._summarise = summarise
        self._page_reader = page_reader
        self._pages_per_search = pages_per_search

    @property
    def live_providers(self) -> Sequence[WebProvider]:
        """The configured providers, in order of preference."""
        return [p for p in self._providers if p.readiness().state == "live"]

    def readiness(self) -> Readiness:
        if names := [provider.name for provider in self.live_providers]:
            return Readiness(state="live", detail=", ".join(names))
        details = {p.name: p.readiness().detail for p in self._providers}
        main_details = [detail for name, detail in details.items() if name not in search_services()]
        # The services of `data/searches.toml` would make a long list.
        missing = main_details or [*details.values()] or [PROVIDERS_SETTING]
        return Readiness(state="missing", detail=", ".join(missing))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        started, start_time = self._clock(), time.monotonic()
        live = self.live_providers
        if not live:
            needed = self.readiness().detail
            if needed == PROVIDERS_SETTING:
                raise ServiceError("no key", f"web search is turned off ({PROVIDERS_SETTING})")
            raise ServiceError("no key", f"web search needs one of {needed}", hint="key")
        with count_down(self._timeout_seconds * SEARCH_TIMEOUT_FRACTION) as countdown:
            answer, failures = await first_answer(live, task.query, lambda p: p.search(task.query, emit), countdown)
            if answer is None:
                return failed_finding(task, started, failures)
            provider, result = answer
            result = self._apply_domain_rules(result, provider)
            if result.evidence and not provider.has_summary:
                result = await self._enrich(task.query, result, countdown, emit)
        return Finding(
            task=task,
            evidence=result.evidence,
            reason=None if result.evidence else "empty",
            message=result.message,
            started=started,
            seconds=round(time.monotonic() - start_time, 4),
            provider=provider.name,
            summary=result.summary,
            provider_queries=result.executed_queries,
            suggestions=result.suggestions,
            failures=(*failures, *result.failures),
        )

    def _apply_domain_rules(self, result: SearchResult, provider: WebProvider) -> SearchResult:
        """Remove avoided domains from a result, unless a summary was already written from them."""
        evidence, removed_count = apply_domain_rules(
            result.evidence, self._domain_statuses, keep_avoided=provider.has_summary
        )
        note = f"left out, of sites to be avoided: {removed_count}" if removed_count else ""
        message = "; ".join(filter(None, [result.message, note]))
        return replace(result, evidence=evidence, message=message)

    # Pages and summaries for plain results

    async def _enrich(self, query: str, result: SearchResult, countdown: Countdown, emit: EventEmitter) -> SearchResult:
        """Add page passages and a summary, as far as time allows.

        When cancelled, it returns the result so far, because the search is already paid for.
        """
        try:
            return await self._add_pages_and_summary(query, result, countdown, emit)
        except asyncio.CancelledError:
            error = ServiceError("left out", "the search was ended before its summary was written")
            failure = error.to_failure("summarise", self.name, query)
            return replace(result, failures=(*result.failures, failure))

    async def _add_pages_and_summary(
        self, query: str, result: SearchResult, countdown: Countdown, emit: EventEmitter
    ) -> SearchResult:
        if self._page_reader and self._pages_per_search:
            result = await self._add_page_passages(query, result, countdown.remaining_seconds / 2)
        if self._summarise is None:
            return result
        try:
            async with deadline(countdown.remaining_seconds):
                return replace(result, summary=await self._summarise(query, result.evidence, emit))
        except TimeoutError:
            service_error = ServiceError("timeout", "the search's time was over before the summary was there")
        except ServiceError as error:
            service_error = error
        failure = service_error.to_failure("summarise", self.name, query)
        return replace(result, failures=(*result.failures, failure))

    async def _add_page_passages(self, query: str, result: SearchResult, timeout_seconds: float) -> SearchResult:
        """Add passages of their pages to the first results; unreadable pages become failures.

        Pages behind the redirects of a search service are not read.
        """
        chosen = [item for item in result.evidence if item.url and not item.url_expires][: self._pages_per_search]
        results = await asyncio.gather(*(self._read_page(item, query, timeout_seconds) for item in chosen))
        enriched = {item.id: item for item, _ in results}
        failures = [failure for _, failure in results if failure]
        return replace(
            result,
            evidence=tuple(enriched.get(item.id, item) for item in result.evidence),
            failures=(*result.failures, *failures),
        )

    async def _read_page(self, item: Evidence, query: str, timeout_seconds: float) -> tuple[Evidence, Failure | None]:
        assert self._page_reader is not None
        try:
            async with deadline(timeout_seconds):
                passages = await self._page_reader.read(item.url, query)
        except TimeoutError:
            timeout_error = ServiceError("timeout", "the page was not there in time")
            return item, timeout_error.to_failure("search", "page", item.url)
        except ServiceError as error:
            return item, error.to_failure("search", "page", item.url)
        known_ids = {passage.id for passage in item.passages}
        new = tuple(passage for passage in passages if passage.id not in known_ids)
        return item.model_copy(update={"passages": (*new, *item.passages)}), None
