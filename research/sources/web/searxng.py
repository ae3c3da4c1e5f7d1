"""Web search with a self-hosted SearXNG instance. Needs its address, no key."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, error_from_status
from research.core.events import EventEmitter
from research.core.json_values import keep_objects
from research.core.records import Readiness
from research.core.text.publication_dates import parse_publication_day
from research.http.lazy_client import LazyClient
from research.http.responses import convert_errors, parse_json_object
from research.http.sanitize import strip_html, tidy_text
from research.sources.base import configured_readiness
from research.sources.web.provider import SearchResult
from research.sources.web.results import make_evidence, merge_results

if TYPE_CHECKING:
    import httpx


URL_SETTING = "SEARXNG_URL"
USER_AGENT = "Sightline/1.0"

# At the head of a word, these select engines (!), a language (:) or a time limit (<); !! redirects
# to another service. Our queries consist of words.
_OPERATOR_PATTERN = re.compile(r"(?<!\S)[!:<]+(?=\S)")


class SearXNG:
    """Web provider for one instance, with the engines configured there."""

    name = "searxng"
    has_summary = False

    def __init__(
        self,
        base_url: str,
        *,
        max_results: int = 8,
        timeout_seconds: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._base_url = base_url.strip().rstrip("/").removesuffix("/search")
        self._max_results = max_results
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._client = LazyClient(headers={"User-Agent": USER_AGENT}, timeout=timeout_seconds)

    def readiness(self) -> Readiness:
        return configured_readiness(bool(self._base_url), URL_SETTING)

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        if not self._base_url:
            raise ServiceError("unreachable", f"{URL_SETTING} is not set")
        retrieved = self._clock()
        query = tidy_text(query)
        sent_query = _OPERATOR_PATTERN.sub("", query)
        response = await self._request(sent_query)
        rows = keep_objects(response["results"])
        unresponsive = _describe_unresponsive(response.get("unresponsive_engines"))
        if unresponsive and not rows:
            raise ServiceError("blocked", f"SearXNG: engines gave no answer: {unresponsive}")
        items = (
            make_evidence(
                row.get("url"),
                strip_html(row.get("title")),
                strip_html(row.get("content")),
                retrieved=retrieved,
                published=parse_publication_day(row.get("publishedDate")),
            )
            for row in rows
        )
        return SearchResult(
            evidence=merge_results(items, self._max_results),
            executed_queries=() if sent_query == query else (sent_query,),
            message=f"engines without an answer: {unresponsive}" if unresponsive else "",
        )

    async def close(self) -> None:
        await self._client.close()

    async def _request(self, query: str) -> dict[str, Any]:
        import httpx

        async with convert_errors("SearXNG", self._timeout_seconds):
            url = httpx.URL(self._base_url)
            response = await self._client.open().get(
                f"{str(url.copy_with(userinfo=b'')).rstrip('/')}/search",
                params={"q": query, "format": "json"},
                # Credentials are moved from the address to a header, because addresses are logged.
                auth=(url.username, url.password) if url.userinfo else None,
            )
        return _parse_response(response)


def _parse_response(response: httpx.Response) -> dict[str, Any]:
    """Parse the instance's response.

    Raises:
        ServiceError: it does not allow JSON, fails, or is no SearXNG.
    """
    status = response.status_code
    if status == 403:
        text = "SearXNG: HTTP 403; the instance must allow json under search.formats"
        raise ServiceError("refused", text, hint="endpoint")
    if status >= 300:
        raise error_from_status(status, "SearXNG", response.headers)
    document = parse_json_object(response.content, response, "SearXNG")
    if not isinstance(document.get("results"), list):
        raise ServiceError("malformed", "SearXNG: the JSON has no results", hint="endpoint")
    return document


def _describe_unresponsive(value: object) -> str:
    """Format the engines that did not respond, each with SearXNG's reason."""
    descriptions = []
    for entry in value if isinstance(value, list) else []:
        name, *details = entry if isinstance(entry, list) and entry else [entry]
        reason = tidy_text(details[0]) if details else ""
        descriptions.append(tidy_text(name) + (f" ({reason})" if reason else ""))
    return ", ".join(filter(None, descriptions))
