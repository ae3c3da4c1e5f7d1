"""News as a source: the first provider that answers, the others standing by.

What a task chooses among the six tools is checked before anybody is asked, and whatever was put
right is said. Every article that was found is evidence, with its outlet and its date or none. Knows
no provider's wire, and asks no model: who writes is given the passages themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from research.citations.registry import Registry, evidence_id
from research.core.deadlines import counted
from research.core.domains import Verdict
from research.core.errors import Trouble
from research.core.records import (
    Evidence,
    EvidenceKind,
    Finding,
    Language,
    Passage,
    Readiness,
    Say,
    Task,
    fingerprint,
)
from research.core.text.words import detect_language
from research.core.urls import canonical_url
from research.http.relay import first, lost
from research.sources.domain_standing import weighed
from research.sources.news.article import Article
from research.sources.news.notes import joined, noted
from research.sources.news.provider import News, Provider
from research.sources.news.tools import Choice, chosen

KIND: EvidenceKind = "news"
PUNCTUAL = 0.95  # of the time for a search: then it ends by itself, and keeps what it has


class NewsRetriever:
    """Looks for news through whoever is configured."""

    name = "news"
    turns = 1

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        deadline: float,
        domains: Mapping[str, Verdict] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search."""
        self._providers = tuple(providers)
        self._deadline = deadline
        self._domains = domains or {}
        self._clock = clock

    @property
    def providers(self) -> Sequence[Provider]:
        """Those that are configured, the first choice first."""
        return [p for p in self._providers if p.ready().state == "live"]

    def ready(self) -> Readiness:
        if live := [provider.name for provider in self.providers]:
            return Readiness(state="live", detail=", ".join(live))
        missing = (provider.ready().detail for provider in self._providers)
        return Readiness(state="missing", detail=", ".join(missing))

    async def search(self, task: Task, say: Say) -> Finding:
        started, begun = self._clock(), time.monotonic()
        live = self.providers
        if not live:
            raise Trouble("no key", f"news needs one of {self.ready().detail}", hint="key")
        choice = chosen(task.tool, task.start, task.end, started.date())
        with counted(self._deadline * PUNCTUAL) as clock:
            answered, failures = await first(
                live, task.query, lambda p: p.search(task.query, choice.request, say), clock
            )
        if choice.fault:
            trouble = Trouble("malformed", choice.fault.said(_tongue(task)))
            failures.append(trouble.failure("search", self.name, task.query))
        if answered is None:
            return lost(task, started, failures)
        finding = self._finding(task, choice, *answered, started)
        failures += finding.failures
        seconds = round(time.monotonic() - begun, 4)
        return finding.model_copy(update={"failures": tuple(failures), "seconds": seconds})

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    def _finding(
        self, task: Task, choice: Choice, provider: Provider, news: News, started: datetime
    ) -> Finding:
        registry = Registry()
        outside: dict[str, None] = {}
        for article in news.articles:
            if item := _evidence(article, started):
                known = registry.add(item)
                if article.outside:
                    outside[known.id] = None
        evidence, avoided = weighed(tuple(registry), self._domains)
        outside = {key: None for key in outside if key in {item.id for item in evidence}}
        undated = tuple(item.id for item in evidence if item.published is None)
        notes = [*choice.notes, *news.notes]
        if avoided:
            notes.append(noted("avoided", count=avoided))
        if outside:
            notes.append(noted("outside", count=len(outside), all=len(evidence)))
        if undated:
            notes.append(noted("undated", count=len(undated), all=len(evidence)))
        return Finding(
            task=task,
            evidence=evidence,
            reason=None if evidence else "empty",
            message=joined(notes, _tongue(task)),
            started=started,
            provider=provider.name,
            asked=(news.asked,) if news.asked else (),
            lead=news.lead,
            pictures=news.pictures,
            outside=tuple(outside),
            undated=undated,
            failures=news.failures,
        )


def _tongue(task: Task) -> Language:
    return task.language or detect_language(task.query)


def _evidence(article: Article, retrieved: datetime) -> Evidence | None:
    """An article as evidence; of one without text its headline is what can be cited."""
    address = canonical_url(article.url)
    text = article.text or article.title
    if not address or not text:
        return None
    published = article.published
    return Evidence(
        id=evidence_id(KIND, address, address),
        kind=KIND,
        title=article.title or article.outlet,
        publisher=article.outlet,
        url=address,
        retrieved=retrieved,
        published=published.date() if published else None,
        moment=None if article.day_only else published,
        passages=(Passage(id=fingerprint(address, text), text=text, end=len(text)),),
    )
