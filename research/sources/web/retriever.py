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

from research.core.deadlines import Clock, counted, deadline
from research.core.domains import Verdict
from research.core.errors import Trouble
from research.core.providers import searches
from research.core.records import Evidence, Failure, Finding, Passage, Readiness, Say, Span, Task
from research.http.relay import first, lost
from research.sources.domain_standing import weighed
from research.sources.web.provider import Found, Provider

Summarise = Callable[[str, Sequence[Evidence], Say], Awaitable[tuple[Span, ...]]]
SWITCH = "WEB_SEARCH"  # the setting that is missing where no provider is wanted
PUNCTUAL = 0.95  # of the time for a search: then it ends by itself, and keeps what it has


class Reader(Protocol):
    """Reads a page safely."""

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        """The passages of a page that speak to a query.

        Raises:
            Trouble: the page cannot be read, or must not be.
        """


class WebRetriever:
    """Searches the web through whoever is configured."""

    name = "web"
    turns = 1

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        deadline: float,
        summarise: Summarise | None = None,
        reader: Reader | None = None,
        pages: int = 0,
        domains: Mapping[str, Verdict] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search; `pages` are read of each result list."""
        self._providers = tuple(providers)
        self._deadline = deadline
        self._summarise = summarise
        self._reader = reader
        self._pages = pages
        self._domains = domains or {}
        self._clock = clock

    @property
    def providers(self) -> Sequence[Provider]:
        """Those that are configured, the first choice first."""
        return [p for p in self._providers if p.ready().state == "live"]

    def ready(self) -> Readiness:
        if live := [provider.name for provider in self.providers]:
            return Readiness(state="live", detail=", ".join(live))
        lacks = {p.name: p.ready().detail for p in self._providers}
        usual = [detail for name, detail in lacks.items() if name not in searches()]
        missing = usual or [*lacks.values()] or [SWITCH]  # of a long list the usual ones will do
        return Readiness(state="missing", detail=", ".join(missing))

    async def search(self, task: Task, say: Say) -> Finding:
        started, begun = self._clock(), time.monotonic()
        live = self.providers
        if not live:
            needed = self.ready().detail
            if needed == SWITCH:
                raise Trouble("no key", f"web search is turned off ({SWITCH})")
            raise Trouble("no key", f"web search needs one of {needed}", hint="key")
        with counted(self._deadline * PUNCTUAL) as clock:
            answered, failures = await first(
                live, task.query, lambda p: p.search(task.query, say), clock
            )
            if answered is None:
                return lost(task, started, failures)
            provider, found = answered
            found = self._weighed(found, provider)
            if found.evidence and not provider.summarises:
                found = await self._deepened(task.query, found, clock, say)
        return Finding(
            task=task,
            evidence=found.evidence,
            reason=None if found.evidence else "empty",
            message=found.message,
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=provider.name,
            summary=found.summary,
            asked=found.asked,
            suggestions=found.suggestions,
            failures=(*failures, *found.failures),
        )

    def _weighed(self, found: Found, provider: Provider) -> Found:
        """What was found without the domains that are to be avoided, unless a text was written from
        them already."""
        evidence, out = weighed(found.evidence, self._domains, used=provider.summarises)
        said = f"left out, of sites to be avoided: {out}" if out else ""
        message = "; ".join(filter(None, [found.message, said]))
        return replace(found, evidence=evidence, message=message)

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    # What comes without a summary

    async def _deepened(self, query: str, found: Found, clock: Clock, say: Say) -> Found:
        """What was found with its pages and a summary, as far as there is time for them.

        Who is cut off here hands out what it has: the search is paid for.
        """
        try:
            return await self._with_more(query, found, clock, say)
        except asyncio.CancelledError:
            trouble = Trouble("left out", "the search was ended before its summary was written")
            failure = trouble.failure("summarise", self.name, query)
            return replace(found, failures=(*found.failures, failure))

    async def _with_more(self, query: str, found: Found, clock: Clock, say: Say) -> Found:
        if self._reader and self._pages:
            found = await self._with_pages(query, found, clock.left / 2)
        if self._summarise is None:
            return found
        try:
            async with deadline(clock.left):
                return replace(found, summary=await self._summarise(query, found.evidence, say))
        except TimeoutError:
            trouble = Trouble("timeout", "the search's time was over before the summary was there")
        except Trouble as error:
            trouble = error
        failure = trouble.failure("summarise", self.name, query)
        return replace(found, failures=(*found.failures, failure))

    async def _with_pages(self, query: str, found: Found, seconds: float) -> Found:
        """The first results with passages of their pages; a page that cannot be read is named.

        An address that leads to its page only by way of the search service is left to people.
        """
        chosen = [item for item in found.evidence if item.url and not item.expires][: self._pages]
        results = await asyncio.gather(*(self._read(item, query, seconds) for item in chosen))
        read = {item.id: item for item, _ in results}
        failures = [failure for _, failure in results if failure]
        return replace(
            found,
            evidence=tuple(read.get(item.id, item) for item in found.evidence),
            failures=(*found.failures, *failures),
        )

    async def _read(
        self, item: Evidence, query: str, seconds: float
    ) -> tuple[Evidence, Failure | None]:
        assert self._reader is not None
        try:
            async with deadline(seconds):
                passages = await self._reader.read(item.url, query)
        except TimeoutError:
            late = Trouble("timeout", "the page was not there in time")
            return item, late.failure("search", "page", item.url)
        except Trouble as trouble:
            return item, trouble.failure("search", "page", item.url)
        known = {passage.id for passage in item.passages}
        new = tuple(passage for passage in passages if passage.id not in known)
        return item.model_copy(update={"passages": (*new, *item.passages)}), None
