"""Passages of web pages that are relevant to a query."""

from __future__ import annotations

from urllib.parse import urlsplit

from research.core.errors import ServiceError
from research.core.records import Passage
from research.core.text.passage_ranking import rank_passages
from research.core.urls import canonical_url
from research.sources.web.fetcher import PageFetcher

MAX_PASSAGES = 4  # per page


class PageReader:
    """Reads pages through a shared fetcher with a cache."""

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        """Return the passages of a page that are relevant to a query.

        Raises:
            ServiceError: the page cannot or must not be read.
        """
        if urlsplit(canonical_url(url)).fragment:  # servers ignore fragments
            raise ServiceError("empty", "a script draws this page: it cannot be read without a browser")
        page = await self._fetcher.fetch(url)
        return rank_passages(page.text, page.url, query, MAX_PASSAGES)

    async def close(self) -> None:
        """Release the connections."""
        await self._fetcher.close()
