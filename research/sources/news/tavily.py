"""News from Tavily: the six tools with their own parameters. Needs a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from research.core.events import EventEmitter, UsageRecorded
from research.core.json_values import keep_objects
from research.core.records import Picture, Readiness
from research.http.sanitize import MAX_SNIPPET_CHARS, tidy_text, truncate_text
from research.http.tavily import MAX_QUERY_CHARS, TavilyClient
from research.sources.news.article import MAX_TITLE_CHARS, Article, parse_web_address, url_host
from research.sources.news.notes import make_note
from research.sources.news.provider import BACKOFF_SECONDS, MAX_RETRY_AFTER_SECONDS, NewsResult, retry
from research.sources.news.search_tools import NewsRequest


class TavilyNews:
    """Searches news with Tavily, keeping paid results even outside the requested days."""

    name = "tavily"

    def __init__(
        self,
        key: str,
        *,
        base_url: str = "",
        timeout_seconds: float = 30.0,
        backoff_seconds: float = BACKOFF_SECONDS,
        max_retry_after_seconds: float = MAX_RETRY_AFTER_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Create a client; `timeout_seconds` is per attempt (at most two)."""
        self._client = TavilyClient(key, base_url=base_url, timeout_seconds=timeout_seconds)
        self._backoff_seconds = backoff_seconds
        self._max_retry_after_seconds = max_retry_after_seconds
        self._clock = clock

    def readiness(self) -> Readiness:
        return self._client.readiness()

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        query = tidy_text(query)
        sent_query = truncate_text(query, MAX_QUERY_CHARS)
        response = await retry(
            lambda: self._client.search(sent_query, **request.tavily_parameters),
            self.name,
            emit,
            backoff_seconds=self._backoff_seconds,
            max_retry_after_seconds=self._max_retry_after_seconds,
        )
        emit(UsageRecorded(stage="search", model=self.name, searches=1))
        now = self._clock()
        window = request.time_window(now)
        rows = keep_objects(response.get("results"))
        articles = [article.with_window(window) for row in rows if (article := _parse_article(row, now))]
        notes = [] if sent_query == query else [make_note("shortened", count=len(sent_query))]
        if dropped_count := len(rows) - len(articles):
            notes.append(make_note("no address", count=dropped_count, all=len(rows)))
        return NewsResult(
            articles=tuple(articles),
            pictures=tuple(_parse_pictures(response.get("images"))),
            provider_summary=truncate_text(tidy_text(response.get("answer")), MAX_SNIPPET_CHARS),
            executed_query="" if sent_query == query else sent_query,
            notes=tuple(notes),
        )

    async def close(self) -> None:
        await self._client.close()


def _parse_article(row: dict[str, Any], retrieved: datetime) -> Article | None:
    url = parse_web_address(row.get("url"))
    if not url:
        return None
    return Article(
        url=url,
        title=truncate_text(" ".join(tidy_text(row.get("title")).split()), MAX_TITLE_CHARS),
        outlet=url_host(url),
        text=truncate_text(tidy_text(row.get("content")), MAX_SNIPPET_CHARS),
    ).with_published_date(row.get("published_date"), retrieved)


def _parse_pictures(value: object) -> list[Picture]:
    """Parse images, which are given as addresses or as objects with a description."""
    pictures = []
    for entry in value if isinstance(value, list) else []:
        fields = entry if isinstance(entry, dict) else {"url": entry}
        if url := parse_web_address(fields.get("url")):
            caption = " ".join(tidy_text(fields.get("description")).split())
            pictures.append(Picture(url=url, caption=truncate_text(caption, MAX_TITLE_CHARS)))
    return pictures
