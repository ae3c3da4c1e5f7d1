"""Client of arXiv's API for preprints.

The response is Atom with elements of arXiv's own; at most one request in three seconds is allowed.
Format: https://info.arxiv.org/help/api/user-manual.html.
"""

from __future__ import annotations

import re
from typing import Any

from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Author
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources.papers.provider import MAX_QUEUE_SECONDS, PaperProvider, extract_terms
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
RATE_LIMITER = RateLimiter(3.0, is_shared=True)
_ATOM_NAMESPACE, _ARXIV_NAMESPACE = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_ID_PATTERN = re.compile(r"https?://arxiv\.org/abs/(?P<id>[\w.-]+?(?:/\d+)?)(?:v\d+)?", re.A)


class ArXiv(PaperProvider):
    """Searches the metadata of preprints for all words of a query."""

    name = "arxiv"

    def __init__(self, client: ServiceClient, rate_limiter: RateLimiter = RATE_LIMITER) -> None:
        super().__init__(client)
        self._rate_limiter = rate_limiter

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        if not (terms := extract_terms(query)):
            return []
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        parameters = {
            "search_query": " AND ".join(f"all:{term}" for term in terms),
            "start": "0",
            "max_results": str(limit),
            "sortBy": "relevance",
        }
        feed = await self._client.get_xml("arXiv", "/api/query", parameters, f"{_ATOM_NAMESPACE}feed")
        entries = feed.findall(f"{_ATOM_NAMESPACE}entry")[:limit]
        for entry in entries:
            if "arxiv.org/api/errors" in _find_text(entry, f"{_ATOM_NAMESPACE}id"):  # errors come with HTTP 200
                raise ServiceError("refused", f"arXiv: {_find_text(entry, f'{_ATOM_NAMESPACE}summary')}")
        return [work for entry in entries if (work := _parse_work(entry))]


def _parse_work(entry: Any) -> Work | None:
    title, notice = parse_title(_find_text(entry, f"{_ATOM_NAMESPACE}title"))
    id_match = _ID_PATTERN.fullmatch(_find_text(entry, f"{_ATOM_NAMESPACE}id"))
    if not title or not id_match:
        return None
    doi = parse_doi(_find_text(entry, f"{_ARXIV_NAMESPACE}doi"))
    year, day = parse_date_parts(_find_text(entry, f"{_ATOM_NAMESPACE}published")[:10].split("-"))
    names = (
        parse_name(_find_text(author, f"{_ATOM_NAMESPACE}name"))
        for author in entry.findall(f"{_ATOM_NAMESPACE}author")[:MAX_AUTHORS]
    )
    return Work(
        title=title,
        provider=ArXiv.name,
        doi=doi or parse_doi(f"10.48550/arXiv.{id_match['id']}"),  # every preprint has this DOI
        page_url=f"https://arxiv.org/abs/{id_match['id']}",
        full_text_url=f"https://arxiv.org/pdf/{id_match['id']}",
        abstract=parse_abstract(" ".join(_find_text(entry, f"{_ATOM_NAMESPACE}summary").split())),
        authors=tuple(Author(name=name) for name in names if name),
        year=year,
        published=day,
        venue=parse_name(_find_text(entry, f"{_ARXIV_NAMESPACE}journal_ref")) or "arXiv",
        notice=notice,
    )


def _find_text(entry: Any, path: str) -> str:
    return (entry.findtext(path) or "").strip()
