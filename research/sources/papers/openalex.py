"""OpenAlex (https://developers.openalex.org): a work object has its abstract as an inverted index, the
places of each word. A day of the first of January may stand for the year alone."""

from __future__ import annotations

from typing import Any

from research.core.records import Author, Say
from research.http.client import Client
from research.http.plain import SNIPPET, legible, rows, shortened
from research.sources.papers.service import listed, terms
from research.sources.papers.work import (
    AUTHORS,
    Work,
    address,
    bare_doi,
    dated,
    named,
    titled,
    whole,
)

BASE_URL = "https://api.openalex.org"
FIELDS = (
    "id", "doi", "display_name", "authorships", "publication_year", "publication_date", "language",
    "primary_location", "best_oa_location", "open_access", "cited_by_count", "is_retracted",
    "abstract_inverted_index",
)  # fmt: skip
WORDS = 5_000  # of an abstract


class OpenAlex:
    """Searches titles, abstracts and full texts."""

    name = "openalex"

    def __init__(self, client: Client, key: str = "") -> None:
        """`key` raises how many searches a day are answered; it is free."""
        self._client, self._key = client, key

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        if not (words := terms(query)):
            return []
        asked = {
            "search": " ".join(words),
            "per_page": str(most),
            "select": ",".join(FIELDS),
            "mailto": self._client.contact,
            "api_key": self._key,
        }
        answer = await self._client.json("OpenAlex", "/works", asked)
        found = listed(answer.get("results"), "OpenAlex")[: 2 * most]
        return [work for row in found if (work := _work(row))][:most]

    async def close(self) -> None:
        await self._client.close()


def _work(row: dict[str, Any]) -> Work | None:
    title, notice = titled(row.get("display_name"))
    year, day = dated(legible(row.get("publication_date")).split("-"))
    place, free = _dict(row.get("primary_location")), _dict(row.get("best_oa_location"))
    people = rows(row.get("authorships"))[:AUTHORS]
    names = [named(_dict(one.get("author")).get("display_name")) for one in people]
    work = Work(
        title=title,
        service=OpenAlex.name,
        doi=bare_doi(row.get("doi")),
        page=address(place.get("landing_page_url")) or address(row.get("id")),
        full=_first(
            free.get("pdf_url"),
            free.get("landing_page_url"),
            _dict(row.get("open_access")).get("oa_url"),
        ),
        abstract=_abstract(row.get("abstract_inverted_index")),
        authors=tuple(Author(name=name) for name in names if name),
        year=dated([row.get("publication_year")])[0] or year,
        day=None if day and (day.month, day.day) == (1, 1) else day,
        venue=named(_dict(place.get("source")).get("display_name")),
        language=legible(row.get("language"))[:2].lower(),
        cited=whole(row.get("cited_by_count")),
        notice="retracted" if row.get("is_retracted") is True else notice,
    )
    return work if title and work.url else None


def _abstract(index: object) -> str:
    """The words of an inverted index, each at its places."""
    placed = [
        (place, legible(word))
        for word, places in _dict(index).items()
        if isinstance(places, list)
        for place in places[:WORDS]
        if isinstance(place, int)
    ]
    placed = sorted(placed)[:WORDS]
    return shortened(" ".join(" ".join(word for _, word in placed).split()), SNIPPET)


def _first(*values: object) -> str:
    return next(filter(None, map(address, values)), "")


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
