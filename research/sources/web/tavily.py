"""The web by Tavily, through its own client. Needs a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from research.core.records import Readiness, Say, Usage
from research.core.text.published import day
from research.http.plain import rows, shortened, tidy
from research.http.tavily import LONGEST, MOST, TavilyWire
from research.sources.web.provider import Found
from research.sources.web.results import result, united


class Tavily:
    """Asks Tavily's basic search; its snippets are the passages."""

    name = "tavily"
    summarises = False

    def __init__(
        self,
        key: str,
        *,
        base_url: str = "",
        results: int = 8,
        timeout: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._wire = TavilyWire(key, base_url=base_url, timeout=timeout)
        self._results = min(results, MOST)
        self._clock = clock

    def ready(self) -> Readiness:
        return self._wire.ready()

    async def search(self, query: str, say: Say) -> Found:
        retrieved = self._clock()
        query = tidy(query)
        asked = shortened(query, LONGEST)
        answer = await self._wire.ask(
            asked,
            topic="general",
            search_depth="basic",
            include_answer=False,
            max_results=self._results,
        )
        say("usage", **Usage(stage="search", model=self.name, searches=1).model_dump(mode="json"))
        items = (
            result(
                row.get("url"),
                tidy(row.get("title")),
                tidy(row.get("content")),
                retrieved=retrieved,
                day=day(row.get("published_date")),
            )
            for row in rows(answer.get("results"))
        )
        return Found(
            evidence=united(items, self._results),
            asked=() if asked == query else (asked,),
            message="" if asked == query else f"query shortened to {len(asked)} characters",
        )

    async def close(self) -> None:
        await self._wire.close()
