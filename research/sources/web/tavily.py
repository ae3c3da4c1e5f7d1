"""Web search with Tavily. Needs a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from research.core.events import EventEmitter, UsageRecorded
from research.core.json_values import keep_objects
from research.core.records import Readiness
from research.core.text.publication_dates import parse_publication_day
from research.http.sanitize import tidy_text, truncate_text
from research.http.tavily import MAX_QUERY_CHARS, MAX_RESULTS, TavilyClient
from research.sources.web.provider import SearchResult
from research.sources.web.results import build_result, make_evidence


class Tavily:
    """Web provider that uses Tavily's basic search; its snippets become passages."""

    name = "tavily"
    has_summary = False

    def __init__(
        self,
        key: str,
        *,
        base_url: str = "",
        max_results: int = 8,
        timeout_seconds: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = TavilyClient(key, base_url=base_url, timeout_seconds=timeout_seconds)
        self._max_results = min(max_results, MAX_RESULTS)
        self._clock = clock

    def readiness(self) -> Readiness:
        return self._client.readiness()

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        retrieved = self._clock()
        query = tidy_text(query)
        sent_query = truncate_text(query, MAX_QUERY_CHARS)
        response = await self._client.search(
            sent_query,
            topic="general",
            search_depth="basic",
            include_answer=False,
            max_results=self._max_results,
        )
        emit(UsageRecorded(stage="search", model=self.name, searches=1))
        items = (
            make_evidence(
                row.get("url"),
                tidy_text(row.get("title")),
                tidy_text(row.get("content")),
                retrieved=retrieved,
                published=parse_publication_day(row.get("published_date")),
            )
            for row in keep_objects(response.get("results"))
        )
        return build_result(items, self._max_results, query, sent_query)

    async def close(self) -> None:
        await self._client.close()
