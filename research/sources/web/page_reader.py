"""Pages as passages: fetched safely, once for all searches that want them."""

from __future__ import annotations

from urllib.parse import urlsplit

from research.core.errors import ServiceError
from research.core.records import Passage
from research.core.text.passage_ranking import rank_passages
from research.core.urls import canonical_url
from research.sources.web.fetcher import PageFetcher

MAX_PASSAGES = 4  # passages a page


class PageReader:
    """Reads pages through one fetcher, which remembers them."""

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        """The passages of a page that speak to a query.

        Raises:
            Trouble: the page cannot be read, or must not be.
        """
        if urlsplit(canonical_url(url)).fragment:  # the server sends one text for all such pages
            raise ServiceError("empty", "a script draws this page: it cannot be read without a browser")
        page = await self._fetcher.fetch(url)
        return rank_passages(page.text, page.url, query, MAX_PASSAGES)

    async def close(self) -> None:
        """Releases the connections."""
        await self._fetcher.close()
