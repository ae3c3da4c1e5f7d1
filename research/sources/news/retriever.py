"""News retriever. The first provider that answers is used; the others are fallbacks.

A task's choice among the six tools is checked first, and corrections are reported as notes. Every
article found becomes evidence, with its outlet and its date if known. Calls no model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from research.citations.registry import EvidenceRegistry, evidence_id
from research.core.deadlines import count_down
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Evidence, EvidenceKind, Finding, Language, Passage, Readiness, Task, fingerprint
from research.core.text.tokenizer import detect_language
from research.core.urls import canonical_url
from research.http.failover import failed_finding, first_answer
from research.sources.base import SEARCH_TIMEOUT_FRACTION
from research.sources.domain_ranking import apply_domain_rules
from research.sources.news.article import Article
from research.sources.news.notes import join_notes, make_note
from research.sources.news.provider import NewsProvider, NewsResult
from research.sources.news.search_tools import ToolChoice, choose_tool
from research.sources.provider_retriever import ProviderRetriever

EVIDENCE_KIND: EvidenceKind = "news"


class NewsRetriever(ProviderRetriever[NewsProvider]):
    """Searches news through the configured providers."""

    name = "news"

    @property
    def live_providers(self) -> Sequence[NewsProvider]:
        """The configured providers, in order of preference."""
        return [p for p in self._providers if p.readiness().state == "live"]

    def readiness(self) -> Readiness:
        if names := [provider.name for provider in self.live_providers]:
            return Readiness(state="live", detail=", ".join(names))
        missing = (provider.readiness().detail for provider in self._providers)
        return Readiness(state="missing", detail=", ".join(missing))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        started, start_time = self._clock(), time.monotonic()
        live = self.live_providers
        if not live:
            raise ServiceError("no key", f"news needs one of {self.readiness().detail}", hint="key")
        choice = choose_tool(task.tool, task.start, task.end, started.date())
        with count_down(self._timeout_seconds * SEARCH_TIMEOUT_FRACTION) as countdown:
            answer, failures = await first_answer(
                live, task.query, lambda p: p.search(task.query, choice.request, emit), countdown
            )
        if choice.error_note:
            error = ServiceError("malformed", choice.error_note.render(_task_language(task)))
            failures.append(error.to_failure("search", self.name, task.query))
        if answer is None:
            return failed_finding(task, started, failures)
        finding = self._build_finding(task, choice, *answer, started)
        failures += finding.failures
        seconds = round(time.monotonic() - start_time, 4)
        return finding.model_copy(update={"failures": tuple(failures), "seconds": seconds})

    def _build_finding(
        self, task: Task, choice: ToolChoice, provider: NewsProvider, news: NewsResult, started: datetime
    ) -> Finding:
        registry = EvidenceRegistry()
        outside: dict[str, None] = {}
        for article in news.articles:
            if item := _article_evidence(article, started):
                stored = registry.add(item)
                if article.is_outside_window:
                    outside[stored.id] = None
        evidence, avoided_count = apply_domain_rules(tuple(registry), self._domain_statuses)
        outside = {key: None for key in outside if key in {item.id for item in evidence}}
        undated = tuple(item.id for item in evidence if item.published is None)
        notes = [*choice.notes, *news.notes]
        if avoided_count:
            notes.append(make_note("avoided", count=avoided_count))
        if outside:
            notes.append(make_note("outside", count=len(outside), all=len(evidence)))
        if undated:
            notes.append(make_note("undated", count=len(undated), all=len(evidence)))
        return Finding(
            task=task,
            evidence=evidence,
            reason=None if evidence else "empty",
            message=join_notes(notes, _task_language(task)),
            started=started,
            provider=provider.name,
            provider_queries=(news.executed_query,) if news.executed_query else (),
            provider_summary=news.provider_summary,
            pictures=news.pictures,
            outside_dates=tuple(outside),
            undated=undated,
            failures=news.failures,
        )


def _task_language(task: Task) -> Language:
    return task.language or detect_language(task.query)


def _article_evidence(article: Article, retrieved: datetime) -> Evidence | None:
    """Convert an article to evidence; without a text, its headline is the passage."""
    address = canonical_url(article.url)
    text = article.text or article.title
    if not address or not text:
        return None
    published = article.published
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, address, address),
        kind=EVIDENCE_KIND,
        title=article.title or article.outlet,
        publisher=article.outlet,
        url=address,
        retrieved=retrieved,
        published=published.date() if published else None,
        published_at=None if article.is_day_only else published,
        passages=(Passage(id=fingerprint(address, text), text=text, end=len(text)),),
    )
