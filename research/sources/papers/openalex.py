"""Client of OpenAlex (https://developers.openalex.org).

The abstract of a work is an inverted index from words to positions. The first of January may mean
that only the year is known.
"""

from __future__ import annotations

from typing import Any

from research.core.events import EventEmitter
from research.core.json_values import as_object, keep_objects
from research.core.records import Author
from research.http.client import ServiceClient
from research.http.sanitize import MAX_SNIPPET_CHARS, remove_control_characters, truncate_text
from research.sources.papers.provider import PaperProvider, extract_terms, require_rows
from research.sources.papers.work import (
    MAX_AUTHORS,
    Work,
    parse_count,
    parse_date_parts,
    parse_doi,
    parse_name,
    parse_title,
    parse_url,
)

BASE_URL = "https://api.openalex.org"
SELECTED_FIELDS = (
    "id", "doi", "display_name", "authorships", "publication_year", "publication_date", "language",
    "primary_location", "best_oa_location", "open_access", "cited_by_count", "is_retracted",
    "abstract_inverted_index",
)  # fmt: skip
MAX_ABSTRACT_WORDS = 5_000


class OpenAlex(PaperProvider):
    """Searches titles, abstracts and full texts."""

    name = "openalex"

    def __init__(self, client: ServiceClient, key: str = "") -> None:
        """`key` is free and raises the daily limit of searches."""
        super().__init__(client)
        self._key = key

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        if not (terms := extract_terms(query)):
            return []
        parameters = {
            "search": " ".join(terms),
            "per_page": str(limit),
            "select": ",".join(SELECTED_FIELDS),
            "mailto": self._client.contact,
            "api_key": self._key,
        }
        body = await self._client.get_json("OpenAlex", "/works", parameters)
        rows = require_rows(body.get("results"), "OpenAlex")[: 2 * limit]
        return [work for row in rows if (work := _parse_work(row))][:limit]


def _parse_work(row: dict[str, Any]) -> Work | None:
    title, notice = parse_title(row.get("display_name"))
    year, day = parse_date_parts(remove_control_characters(row.get("publication_date")).split("-"))
    primary_location, open_location = (as_object(row.get(key)) for key in ("primary_location", "best_oa_location"))
    authorships = keep_objects(row.get("authorships"))[:MAX_AUTHORS]
    names = [parse_name(as_object(authorship.get("author")).get("display_name")) for authorship in authorships]
    work = Work(
        title=title,
        provider=OpenAlex.name,
        doi=parse_doi(row.get("doi")),
        page_url=parse_url(primary_location.get("landing_page_url")) or parse_url(row.get("id")),
        full_text_url=_first_url(
            open_location.get("pdf_url"),
            open_location.get("landing_page_url"),
            as_object(row.get("open_access")).get("oa_url"),
        ),
        abstract=_parse_abstract(row.get("abstract_inverted_index")),
        authors=tuple(Author(name=name) for name in names if name),
        year=parse_date_parts([row.get("publication_year")])[0] or year,
        published=None if day and (day.month, day.day) == (1, 1) else day,
        venue=parse_name(as_object(primary_location.get("source")).get("display_name")),
        language=remove_control_characters(row.get("language"))[:2].lower(),
        citation_count=parse_count(row.get("cited_by_count")),
        notice="retracted" if row.get("is_retracted") is True else notice,
    )
    return work if title and work.url else None


def _parse_abstract(index: object) -> str:
    """Return the text of an inverted index."""
    placed = [
        (position, remove_control_characters(word))
        for word, positions in as_object(index).items()
        if isinstance(positions, list)
        for position in positions[:MAX_ABSTRACT_WORDS]
        if isinstance(position, int)
    ]
    placed = sorted(placed)[:MAX_ABSTRACT_WORDS]
    return truncate_text(" ".join(" ".join(word for _, word in placed).split()), MAX_SNIPPET_CHARS)


def _first_url(*values: object) -> str:
    return next(filter(None, map(parse_url, values)), "")
