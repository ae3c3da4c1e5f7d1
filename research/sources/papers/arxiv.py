"""arXiv's API (https://info.arxiv.org/help/api/user-manual.html): preprints, as Atom with elements of
its own. It wants one request in three seconds."""

from __future__ import annotations

import re
from typing import Any

from research.core.errors import ServiceError
from research.core.records import Author, EventEmitter
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources.papers.provider import MAX_QUEUE_SECONDS, extract_terms
from research.sources.papers.work import (
    MAX_AUTHORS,
    Work,
    parse_abstract,
    parse_date_parts,
    parse_doi,
    parse_name,
    parse_title,
)

BASE_URL = "https://export.arxiv.org"
RATE_LIMITER = RateLimiter(3.0)
_ATOM_NAMESPACE, _ARXIV_NAMESPACE = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_ID_PATTERN = re.compile(r"https?://arxiv\.org/abs/(?P<id>[\w.-]+?(?:/\d+)?)(?:v\d+)?", re.A)


class ArXiv:
    """Searches what is said of preprints for all the words of a query."""

    name = "arxiv"

    def __init__(self, client: ServiceClient, rate_limiter: RateLimiter = RATE_LIMITER) -> None:
        self._client = client
        self._rate_limiter = rate_limiter

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        if not (words := extract_terms(query)):
            return []
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        asked = {
            "search_query": " AND ".join(f"all:{term}" for term in words),
            "start": "0",
            "max_results": str(limit),
            "sortBy": "relevance",
        }
        feed = await self._client.get_xml("arXiv", "/api/query", asked, f"{_ATOM_NAMESPACE}feed")
        entries = feed.findall(f"{_ATOM_NAMESPACE}entry")[:limit]
        for entry in entries:
            if "arxiv.org/api/errors" in _find_text(entry, f"{_ATOM_NAMESPACE}id"):  # with the status of success
                raise ServiceError("refused", f"arXiv: {_find_text(entry, f'{_ATOM_NAMESPACE}summary')}")
        return [work for entry in entries if (work := _parse_work(entry))]

    async def close(self) -> None:
        await self._client.close()


def _parse_work(entry: Any) -> Work | None:
    title, notice = parse_title(_find_text(entry, f"{_ATOM_NAMESPACE}title"))
    at = _ID_PATTERN.fullmatch(_find_text(entry, f"{_ATOM_NAMESPACE}id"))
    if not title or not at:
        return None
    doi = parse_doi(_find_text(entry, f"{_ARXIV_NAMESPACE}doi"))
    year, day = parse_date_parts(_find_text(entry, f"{_ATOM_NAMESPACE}published")[:10].split("-"))
    names = (
        parse_name(_find_text(one, f"{_ATOM_NAMESPACE}name"))
        for one in entry.findall(f"{_ATOM_NAMESPACE}author")[:MAX_AUTHORS]
    )
    return Work(
        title=title,
        provider=ArXiv.name,
        doi=doi or parse_doi(f"10.48550/arXiv.{at['id']}"),  # every preprint has one
        page_url=f"https://arxiv.org/abs/{at['id']}",
        full_text_url=f"https://arxiv.org/pdf/{at['id']}",
        abstract=parse_abstract(" ".join(_find_text(entry, f"{_ATOM_NAMESPACE}summary").split())),
        authors=tuple(Author(name=name) for name in names if name),
        year=year,
        published=day,
        venue=parse_name(_find_text(entry, f"{_ARXIV_NAMESPACE}journal_ref")) or "arXiv",
        notice=notice,
    )


def _find_text(entry: Any, path: str) -> str:
    return (entry.findtext(path) or "").strip()
