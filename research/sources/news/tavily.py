"""News by Tavily: the six tools with their own parameters. Needs a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from research.core.records import Picture, Readiness, Say, Usage
from research.http.plain import SNIPPET, rows, shortened, tidy
from research.http.tavily import LONGEST, TavilyWire
from research.sources.news.article import HEADLINE, Article, host, web_address
from research.sources.news.notes import noted
from research.sources.news.provider import BACKOFF, PATIENCE, News, again
from research.sources.news.tools import Request


class TavilyNews:
    """Asks Tavily for news. All that is paid for is kept, also what misses the days asked for."""

    name = "tavily"

    def __init__(
        self,
        key: str,
        *,
        base_url: str = "",
        timeout: float = 30.0,
        backoff: float = BACKOFF,
        patience: float = PATIENCE,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout` is for each of at most two attempts."""
        self._wire = TavilyWire(key, base_url=base_url, timeout=timeout)
        self._backoff = backoff
        self._patience = patience
        self._clock = clock

    def ready(self) -> Readiness:
        return self._wire.ready()

    async def search(self, query: str, request: Request, say: Say) -> News:
        query = tidy(query)
        asked = shortened(query, LONGEST)
        answer = await again(
            lambda: self._wire.ask(asked, **request.parameters),
            self.name,
            say,
            backoff=self._backoff,
            patience=self._patience,
        )
        say("usage", **Usage(stage="search", model=self.name, searches=1).model_dump(mode="json"))
        now = self._clock()
        window = request.window(now)
        found = rows(answer.get("results"))
        articles = [article.judged(window) for row in found if (article := _article(row, now))]
        notes = [] if asked == query else [noted("shortened", count=len(asked))]
        if lost := len(found) - len(articles):
            notes.append(noted("no address", count=lost, all=len(found)))
        return News(
            articles=tuple(articles),
            pictures=tuple(_pictures(answer.get("images"))),
            lead=shortened(tidy(answer.get("answer")), SNIPPET),
            asked="" if asked == query else asked,
            notes=tuple(notes),
        )

    async def close(self) -> None:
        await self._wire.close()


def _article(row: dict[str, Any], retrieved: datetime) -> Article | None:
    url = web_address(row.get("url"))
    if not url:
        return None
    score = row.get("score")
    return Article(
        url=url,
        title=shortened(" ".join(tidy(row.get("title")).split()), HEADLINE),
        provider=TavilyNews.name,
        outlet=host(url),
        text=shortened(tidy(row.get("content")), SNIPPET),
        score=float(score) if isinstance(score, int | float) else None,
    ).dated(row.get("published_date"), retrieved)


def _pictures(value: object) -> list[Picture]:
    """Pictures come as addresses, or with a description each."""
    found = []
    for entry in value if isinstance(value, list) else []:
        told = entry if isinstance(entry, dict) else {"url": entry}
        if url := web_address(told.get("url")):
            caption = " ".join(tidy(told.get("description")).split())
            found.append(Picture(url=url, caption=shortened(caption, HEADLINE)))
    return found
