"""News by GDELT's DOC 2.0 API (https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/): no key,
so it is asked only where that is turned on (`NEWS_GDELT`).

It gives titles and addresses of the last three months, no text, and tells when it saw an article,
never when that was published. It wants one request in five seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import Trouble, of_status, retry_after
from research.core.records import Picture, Readiness, Say
from research.core.text.published import read
from research.core.text.words import detect_language
from research.http.pace import Pace
from research.http.plain import legible, rows, shortened, tidy
from research.http.replies import body_of, reaching, trusted
from research.sources.news.article import HEADLINE, Article, host, web_address
from research.sources.news.notes import noted
from research.sources.news.provider import BACKOFF, PATIENCE, News, again
from research.sources.news.tools import Request

if TYPE_CHECKING:
    import httpx


SETTING = "NEWS_GDELT"
BASE_URL = "https://api.gdeltproject.org"
AGENT = "Sightline/1.0 (research desk)"
INTERVAL = 5.0  # seconds between two requests that GDELT wants
QUEUE = 60.0  # seconds that a search waits for its turn at most
LONGEST = 250  # characters of a query
MOST = 250  # rows that one request may ask for
SIZE = 5_000_000  # bytes of an answer

# Quotation marks, brackets, a colon or a minus sign would be operators of its query language.
_OPERATOR = re.compile(r"[^\w\s.'%&+]|(?<!\w)['.%&+]+|_")
_PACE = re.compile(r"(?i)limit requests|too many requests|rate limit")


PACE = Pace(INTERVAL)


class GDELT:
    """Asks GDELT for lists of articles."""

    name = "gdelt"

    def __init__(
        self,
        *,
        enabled: bool,
        base_url: str = "",
        timeout: float = 30.0,
        pace: Pace = PACE,
        backoff: float = BACKOFF,
        patience: float = PATIENCE,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout` is for each of at most two attempts, without the wait for a turn."""
        self._enabled = enabled
        self._base_url = (base_url or BASE_URL).rstrip("/")
        self._timeout = timeout
        self._pace = pace
        self._backoff = backoff
        self._patience = patience
        self._clock = clock
        self._client: httpx.AsyncClient | None = None

    def ready(self) -> Readiness:
        if self._enabled:
            return Readiness(state="live")
        return Readiness(state="missing", detail=SETTING)

    async def search(self, query: str, request: Request, say: Say) -> News:
        if not self._enabled:
            raise Trouble("no key", f"{SETTING} is not on")
        query = tidy(query)
        asked = plain(query)
        if not asked:
            raise Trouble("refused", "GDELT: the query has no word in it")
        parameters = self._parameters(asked, request)
        answer = await again(
            lambda: self._asked(parameters, say),
            self.name,
            say,
            backoff=self._backoff,
            patience=self._patience,
        )
        now = self._clock()
        listed = rows(answer.get("articles"))
        found = [article for row in listed if (article := _article(row, now))]
        pictured = [article for article in found if article.image or not request.tool.pictures]
        kept = list({article.url: article for article in reversed(pictured)}.values())[::-1]
        kept = kept[: request.tool.results]
        pictures = [
            Picture(url=article.image, caption=article.title, page=article.url)
            for article in kept
            if request.tool.pictures
        ]
        keys = ("seen", "seen days") if request.start else ("seen",)
        return News(
            articles=tuple(kept),
            pictures=tuple(pictures),
            asked="" if parameters["query"] == query else parameters["query"],
            notes=tuple(noted(key) for key in keys),
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    def _parameters(self, query: str, request: Request) -> dict[str, str]:
        wider = 4 if request.tool.pictures else 1  # not every article has a picture
        found = {
            "query": f"{query} sourcelang:chinese" if detect_language(query) == "zh" else query,
            "mode": "artlist",
            "format": "json",
            "sort": "hybridrel",
            "maxrecords": str(min(request.tool.results * wider, MOST)),
        }
        if window := request.window(self._clock()):
            if request.tool.span:
                return found | {"timespan": f"{request.tool.span.days}d"}
            last = min(window.until, self._clock())
            found["startdatetime"] = window.since.strftime("%Y%m%d%H%M%S")
            found["enddatetime"] = max(last, window.since).strftime("%Y%m%d%H%M%S")
        return found

    async def _asked(self, parameters: dict[str, str], say: Say) -> dict[str, Any]:
        await self._pace.waited(self.name, say, QUEUE)
        async with (
            reaching("GDELT", self._timeout),
            self._streamed(parameters) as response,
        ):
            body = await body_of(response, "GDELT", SIZE)
        return answered(response, body)

    def _streamed(self, parameters: dict[str, str]) -> Any:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                headers={"User-Agent": AGENT}, timeout=self._timeout, verify=trusted()
            )
        return self._client.stream("GET", f"{self._base_url}/api/v2/doc/doc", params=parameters)


def plain(query: str) -> str:
    """A query as words alone, which GDELT looks for all together."""
    return shortened(" ".join(_OPERATOR.sub(" ", query).split()), LONGEST)


def answered(response: httpx.Response, body: bytes) -> dict[str, Any]:
    """What GDELT found. It says in plain text what it does not like, often with the status of success.

    Raises:
        Trouble: it found nothing that can be read.
    """
    text = tidy(body[:2_000].decode("utf-8", "replace"))
    status = response.status_code
    if status == 429 or (not text.startswith("{") and _PACE.search(text)):
        after = retry_after(response.headers)
        words = f"GDELT: HTTP {status}: {text}"
        raise Trouble("quota", words, again=True, after=INTERVAL if after is None else after)
    if status != 200:
        raise of_status(status, "GDELT", response.headers)
    try:
        told = json.loads(legible(body.decode("utf-8", "replace")), strict=False) if text else {}
    except (ValueError, RecursionError) as error:
        if text.startswith(("{", "<")):
            told_ = "sent broken JSON" if text[0] == "{" else "sent a page"
            raise Trouble("malformed", f"GDELT {told_}", hint="endpoint") from error
        raise Trouble("refused", f"GDELT: {text}") from error
    if not isinstance(told, dict):
        raise Trouble("malformed", "GDELT sent no list of articles", hint="endpoint")
    return told


def _article(row: dict[str, Any], retrieved: datetime) -> Article | None:
    url = web_address(row.get("url"))
    title = shortened(" ".join(legible(row.get("title")).split()), HEADLINE)
    if not url or not title:
        return None
    seen = read(row.get("seendate"), retrieved=retrieved).moment
    return Article(
        url=url,
        title=title,
        provider=GDELT.name,
        outlet=shortened(tidy(row.get("domain")), HEADLINE) or host(url),
        seen=seen.at if seen else None,
        image=web_address(row.get("socialimage")),
    )
