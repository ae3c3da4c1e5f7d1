"""News from GDELT's DOC 2.0 API (https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/).

It needs no key, so it is used only if enabled (`NEWS_GDELT`). It returns titles and addresses of
the last three months, no text, and the time when it saw an article, never the time of publication.
It allows one request every five seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, error_from_status, parse_retry_after
from research.core.events import EventEmitter
from research.core.json_values import keep_objects
from research.core.records import Readiness
from research.core.text.tokenizer import detect_language
from research.http.lazy_client import LazyClient
from research.http.rate_limiter import RateLimiter
from research.http.responses import convert_errors, read_streamed_body
from research.http.sanitize import remove_control_characters, tidy_text, truncate_text
from research.sources.base import configured_readiness
from research.sources.news.article import MAX_TITLE_CHARS, Article, parse_web_address, url_host
from research.sources.news.notes import make_note
from research.sources.news.provider import BACKOFF_SECONDS, MAX_RETRY_AFTER_SECONDS, NewsResult, article_pictures, retry
from research.sources.news.search_tools import NewsRequest

if TYPE_CHECKING:
    import httpx


GDELT_SETTING = "NEWS_GDELT"
BASE_URL = "https://api.gdeltproject.org"
USER_AGENT = "Sightline/1.0 (research desk)"
REQUEST_INTERVAL_SECONDS = 5.0  # between two requests, as GDELT demands
MAX_QUEUE_SECONDS = 60.0  # that a search waits for its turn
MAX_QUERY_CHARS = 250
MAX_ROWS = 250  # rows per request
MAX_RESPONSE_BYTES = 5_000_000

# Quotation marks, brackets, colons and minus signs are operators of the query language.
_OPERATOR_PATTERN = re.compile(r"[^\w\s.'%&+]|(?<!\w)['.%&+]+|_")
_RATE_LIMIT_PATTERN = re.compile(r"(?i)limit requests|too many requests|rate limit")


RATE_LIMITER = RateLimiter(REQUEST_INTERVAL_SECONDS, is_shared=True)


class GDELT:
    """Client of GDELT's article search."""

    name = "gdelt"

    def __init__(
        self,
        *,
        is_enabled: bool,
        base_url: str = "",
        timeout_seconds: float = 30.0,
        rate_limiter: RateLimiter = RATE_LIMITER,
        backoff_seconds: float = BACKOFF_SECONDS,
        max_retry_after_seconds: float = MAX_RETRY_AFTER_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Create a client; `timeout_seconds` is per attempt (at most two), excluding the queue."""
        self._is_enabled = is_enabled
        self._base_url = (base_url or BASE_URL).rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._rate_limiter = rate_limiter
        self._backoff_seconds = backoff_seconds
        self._max_retry_after_seconds = max_retry_after_seconds
        self._clock = clock
        self._client = LazyClient(headers={"User-Agent": USER_AGENT}, timeout=timeout_seconds)

    def readiness(self) -> Readiness:
        return configured_readiness(self._is_enabled, GDELT_SETTING)

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        if not self._is_enabled:
            raise ServiceError("no key", f"{GDELT_SETTING} is not on")
        query = tidy_text(query)
        search_words = remove_operators(query)
        if not search_words:
            raise ServiceError("refused", "GDELT: the query has no word in it")
        parameters = self._query_parameters(search_words, request)
        response = await retry(
            lambda: self._request(parameters, emit),
            self.name,
            emit,
            backoff_seconds=self._backoff_seconds,
            max_retry_after_seconds=self._max_retry_after_seconds,
        )
        rows = keep_objects(response.get("articles"))
        articles = [article for row in rows if (article := _parse_article(row))]
        candidates = [article for article in articles if article.image or not request.tool.has_pictures]
        selected = list({article.url: article for article in reversed(candidates)}.values())[::-1]
        selected = selected[: request.tool.max_results]
        keys = ("seen", "seen days") if request.start_date else ("seen",)
        return NewsResult(
            articles=tuple(selected),
            pictures=article_pictures(selected) if request.tool.has_pictures else (),
            executed_query="" if parameters["query"] == query else parameters["query"],
            notes=tuple(make_note(key) for key in keys),
        )

    async def close(self) -> None:
        await self._client.close()

    def _query_parameters(self, query: str, request: NewsRequest) -> dict[str, str]:
        row_factor = 4 if request.tool.has_pictures else 1  # not every article has an image
        parameters = {
            "query": f"{query} sourcelang:chinese" if detect_language(query) == "zh" else query,
            "mode": "artlist",
            "format": "json",
            "sort": "hybridrel",
            "maxrecords": str(min(request.tool.max_results * row_factor, MAX_ROWS)),
        }
        if window := request.time_window(self._clock()):
            if request.tool.lookback:
                return parameters | {"timespan": f"{request.tool.lookback.days}d"}
            end = min(window.end, self._clock())
            parameters["startdatetime"] = window.start.strftime("%Y%m%d%H%M%S")
            parameters["enddatetime"] = max(end, window.start).strftime("%Y%m%d%H%M%S")
        return parameters

    async def _request(self, parameters: dict[str, str], emit: EventEmitter) -> dict[str, Any]:
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        url = f"{self._base_url}/api/v2/doc/doc"
        async with (
            convert_errors("GDELT", self._timeout_seconds),
            self._client.open().stream("GET", url, params=parameters) as response,
        ):
            body = await read_streamed_body(response, "GDELT", MAX_RESPONSE_BYTES)
        return parse_response(response, body)


def remove_operators(query: str) -> str:
    """Reduce a query to plain words, which GDELT combines with AND."""
    return truncate_text(" ".join(_OPERATOR_PATTERN.sub(" ", query).split()), MAX_QUERY_CHARS)


def parse_response(response: httpx.Response, body: bytes) -> dict[str, Any]:
    """Parse GDELT's response. Errors come as plain text, often with status 200.

    Raises:
        ServiceError: there is no readable list of articles.
    """
    text = tidy_text(body[:2_000].decode("utf-8", "replace"))
    status = response.status_code
    if status == 429 or (not text.startswith("{") and _RATE_LIMIT_PATTERN.search(text)):
        retry_after = parse_retry_after(response.headers)
        message = f"GDELT: HTTP {status}: {text}"
        raise ServiceError(
            "quota",
            message,
            is_retryable=True,
            retry_after_seconds=REQUEST_INTERVAL_SECONDS if retry_after is None else retry_after,
        )
    if status != 200:
        raise error_from_status(status, "GDELT", response.headers)
    try:
        document = json.loads(remove_control_characters(body.decode("utf-8", "replace")), strict=False) if text else {}
    except (ValueError, RecursionError) as error:
        if text.startswith(("{", "<")):
            problem = "sent broken JSON" if text[0] == "{" else "sent a page"
            raise ServiceError("malformed", f"GDELT {problem}", hint="endpoint") from error
        raise ServiceError("refused", f"GDELT: {text}") from error
    if not isinstance(document, dict):
        raise ServiceError("malformed", "GDELT sent no list of articles", hint="endpoint")
    return document


def _parse_article(row: dict[str, Any]) -> Article | None:
    url = parse_web_address(row.get("url"))
    title = truncate_text(" ".join(remove_control_characters(row.get("title")).split()), MAX_TITLE_CHARS)
    if not url or not title:
        return None
    return Article(
        url=url,
        title=title,
        outlet=truncate_text(tidy_text(row.get("domain")), MAX_TITLE_CHARS) or url_host(url),
        image=parse_web_address(row.get("socialimage")),
    )
