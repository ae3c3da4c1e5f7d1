"""The web as a source: the first provider that answers, the others standing by.

A provider that fails is named in the finding, and so is the one that took over. What comes without
a summary of its own may be read page by page and summed up, each sentence with its passage. Knows
no provider's wire, no model and no prompt: they are given to it.
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
from research.core.providers import search_services
from research.core.records import EventEmitter, Evidence, Failure, Finding, Passage, Readiness, Span, Task
from research.http.failover import ask_in_order, failed_finding
from research.sources.domain_ranking import apply_domain_rules
from research.sources.web.provider import SearchResult, WebProvider

Summariser = Callable[[str, Sequence[Evidence], EventEmitter], Awaitable[tuple[Span, ...]]]
PROVIDERS_SETTING = "WEB_SEARCH"  # the setting that is missing where no provider is wanted
TIMEOUT_FRACTION = 0.95  # of the time for a search: then it ends by itself, and keeps what it has


class PassageReader(Protocol):
    """Reads a page safely."""

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        """The passages of a page that speak to a query.

        Raises:
            Trouble: the page cannot be read, or must not be.
        """


class WebRetriever:
    """Searches the web through whoever is configured."""

    name = "web"
    max_sequential_calls = 1

    def __init__(
        self,
        providers: Sequence[WebProvider],
        *,
        timeout_seconds: float,
        summarise: Summariser | None = None,
        page_reader: PassageReader | None = None,
        pages_per_search: int = 0,
        domain_verdicts: Mapping[str, DomainStatus] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search; `pages` are read of each result list."""
        self._providers = tuple(providers)
        self._timeout_seconds = timeout_seconds
        self._summarise = summarise
        self._page_reader = page_reader
        self._pages_per_search = pages_per_search
        self._domain_verdicts = domain_verdicts or {}
        self._clock = clock

    @property
    def live_providers(self) -> Sequence[WebProvider]:
        """Those that are configured, the first choice first."""
        return [p for p in self._providers if p.readiness().state == "live"]

    def readiness(self) -> Readiness:
        if live := [provider.name for provider in self.live_providers]:
            return Readiness(state="live", detail=", ".join(live))
        lacks = {p.name: p.readiness().detail for p in self._providers}
        usual = [detail for name, detail in lacks.items() if name not in search_services()]
        missing = usual or [*lacks.values()] or [PROVIDERS_SETTING]  # of a long list the usual ones will do
        return Readiness(state="missing", detail=", ".join(missing))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        started, begun = self._clock(), time.monotonic()
        live = self.live_providers
        if not live:
            needed = self.readiness().detail
            if needed == PROVIDERS_SETTING:
                raise ServiceError("no key", f"web search is turned off ({PROVIDERS_SETTING})")
            raise ServiceError("no key", f"web search needs one of {needed}", hint="key")
        with count_down(self._timeout_seconds * TIMEOUT_FRACTION) as clock:
            answered, failures = await ask_in_order(live, task.query, lambda p: p.search(task.query, emit), clock)
            if answered is None:
                return failed_finding(task, started, failures)
            provider, found = answered
            found = self._apply_domain_rules(found, provider)
            if found.evidence and not provider.has_summary:
                found = await self._enrich(task.query, found, clock, emit)
        return Finding(
            task=task,
            evidence=found.evidence,
            reason=None if found.evidence else "empty",
            message=found.message,
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=provider.name,
            summary=found.summary,
            asked=found.executed_queries,
            suggestions=found.suggestions,
            failures=(*failures, *found.failures),
        )

    def _apply_domain_rules(self, result: SearchResult, provider: WebProvider) -> SearchResult:
        """What was found without the domains that are to be avoided, unless a text was written from
        them already."""
        evidence, out = apply_domain_rules(result.evidence, self._domain_verdicts, keep_avoided=provider.has_summary)
        said = f"left out, of sites to be avoided: {out}" if out else ""
        message = "; ".join(filter(None, [result.message, said]))
        return replace(result, evidence=evidence, message=message)

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    # What comes without a summary

    async def _enrich(
        self, query: str, result: SearchResult, search_clock: Countdown, emit: EventEmitter
    ) -> SearchResult:
        """What was found with its pages and a summary, as far as there is time for them.

        Who is cut off here hands out what it has: the search is paid for.
        """
        try:
            return await self._add_pages_and_summary(query, result, search_clock, emit)
        except asyncio.CancelledError:
            trouble = ServiceError("left out", "the search was ended before its summary was written")
            failure = trouble.to_failure("summarise", self.name, query)
            return replace(result, failures=(*result.failures, failure))

    async def _add_pages_and_summary(
        self, query: str, result: SearchResult, search_clock: Countdown, emit: EventEmitter
    ) -> SearchResult:
        if self._page_reader and self._pages_per_search:
            result = await self._add_page_passages(query, result, search_clock.remaining_seconds / 2)
        if self._summarise is None:
            return result
        try:
            async with deadline(search_clock.remaining_seconds):
                return replace(result, summary=await self._summarise(query, result.evidence, emit))
        except TimeoutError:
            trouble = ServiceError("timeout", "the search's time was over before the summary was there")
        except ServiceError as error:
            trouble = error
        failure = trouble.to_failure("summarise", self.name, query)
        return replace(result, failures=(*result.failures, failure))

    async def _add_page_passages(self, query: str, result: SearchResult, timeout_seconds: float) -> SearchResult:
        """The first results with passages of their pages; a page that cannot be read is named.

        An address that leads to its page only by way of the search service is left to people.
        """
        chosen = [item for item in result.evidence if item.url and not item.expires][: self._pages_per_search]
        results = await asyncio.gather(*(self._read_page(item, query, timeout_seconds) for item in chosen))
        read = {item.id: item for item, _ in results}
        failures = [failure for _, failure in results if failure]
        return replace(
            result,
            evidence=tuple(read.get(item.id, item) for item in result.evidence),
            failures=(*result.failures, *failures),
        )

    async def _read_page(self, item: Evidence, query: str, timeout_seconds: float) -> tuple[Evidence, Failure | None]:
        assert self._page_reader is not None
        try:
            async with deadline(timeout_seconds):
                passages = await self._page_reader.read(item.url, query)
        except TimeoutError:
            late = ServiceError("timeout", "the page was not there in time")
            return item, late.to_failure("search", "page", item.url)
        except ServiceError as trouble:
            return item, trouble.to_failure("search", "page", item.url)
        known = {passage.id for passage in item.passages}
        new = tuple(passage for passage in passages if passage.id not in known)
        return item.model_copy(update={"passages": (*new, *item.passages)}), None
