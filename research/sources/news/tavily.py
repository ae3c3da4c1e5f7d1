"""News by Tavily: the six tools with their own parameters. Needs a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from research.core.records import EventEmitter, Picture, Readiness, Usage
from research.http.sanitize import MAX_SNIPPET_CHARS, keep_objects, tidy_text, truncate_text
from research.http.tavily import MAX_QUERY_CHARS, TavilyClient
from research.sources.news.article import MAX_TITLE_CHARS, Article, parse_web_address, url_host
from research.sources.news.notes import make_note
from research.sources.news.provider import BACKOFF_SECONDS, MAX_RETRY_AFTER_SECONDS, NewsResult, retry
from research.sources.news.search_tools import NewsRequest


class TavilyNews:
    """Asks Tavily for news. All that is paid for is kept, also what misses the days asked for."""

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
        """`timeout` is for each of at most two attempts."""
        self._client = TavilyClient(key, base_url=base_url, timeout_seconds=timeout_seconds)
        self._backoff_seconds = backoff_seconds
        self._max_retry_after_seconds = max_retry_after_seconds
        self._clock = clock

    def readiness(self) -> Readiness:
        return self._client.readiness()

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        query = tidy_text(query)
        asked = truncate_text(query, MAX_QUERY_CHARS)
        answer = await retry(
            lambda: self._client.search(asked, **request.tavily_parameters),
            self.name,
            emit,
            backoff_seconds=self._backoff_seconds,
            max_retry_after_seconds=self._max_retry_after_seconds,
        )
        emit("usage", **Usage(stage="search", model=self.name, searches=1).model_dump(mode="json"))
        now = self._clock()
        window = request.time_window(now)
        found = keep_objects(answer.get("results"))
        articles = [article.with_window_check(window) for row in found if (article := _parse_article(row, now))]
        notes = [] if asked == query else [make_note("shortened", count=len(asked))]
        if lost := len(found) - len(articles):
            notes.append(make_note("no address", count=lost, all=len(found)))
        return NewsResult(
            articles=tuple(articles),
            pictures=tuple(_parse_pictures(answer.get("images"))),
            provider_summary=truncate_text(tidy_text(answer.get("answer")), MAX_SNIPPET_CHARS),
            executed_query="" if asked == query else asked,
            notes=tuple(notes),
        )

    async def close(self) -> None:
        await self._client.close()


def _parse_article(row: dict[str, Any], retrieved: datetime) -> Article | None:
    url = parse_web_address(row.get("url"))
    if not url:
        return None
    score = row.get("score")
    return Article(
        url=url,
        title=truncate_text(" ".join(tidy_text(row.get("title")).split()), MAX_TITLE_CHARS),
        provider=TavilyNews.name,
        outlet=url_host(url),
        text=truncate_text(tidy_text(row.get("content")), MAX_SNIPPET_CHARS),
        score=float(score) if isinstance(score, int | float) else None,
    ).with_published_date(row.get("published_date"), retrieved)


def _parse_pictures(value: object) -> list[Picture]:
    """Pictures come as addresses, or with a description each."""
    found = []
    for entry in value if isinstance(value, list) else []:
        told = entry if isinstance(entry, dict) else {"url": entry}
        if url := parse_web_address(told.get("url")):
            caption = " ".join(tidy_text(told.get("description")).split())
            found.append(Picture(url=url, caption=truncate_text(caption, MAX_TITLE_CHARS)))
    return found
