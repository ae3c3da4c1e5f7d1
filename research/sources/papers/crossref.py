"""Crossref's REST API (https://github.com/CrossRef/rest-api-doc, api_format.md): what publishers have
deposited, abstracts in JATS. A work that was retracted or corrected tells it in `updated-by` (by the
publisher or by Retraction Watch), the notice of it in `update-to`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from research.core.records import Author, Notice, Say
from research.http.client import Client
from research.http.plain import legible, rows, shortened
from research.sources.papers.service import LONGEST, listed
from research.sources.papers.work import (
    AUTHORS,
    NOTICES,
    Work,
    address,
    bare_doi,
    dated,
    gravest,
    named,
    prose,
    titled,
    whole,
)

BASE_URL = "https://api.crossref.org"
_PARTS = (
    "component",
    "peer-review",
)  # types of what is no work by itself: a figure, a review of one


class Crossref:
    """Searches what is known of works: titles, authors, journals."""

    name = "crossref"

    def __init__(self, client: Client) -> None:
        self._client = client

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        asked = {
            "query": shortened(query, LONGEST),
            "rows": str(most),
            "mailto": self._client.contact,
        }
        answer = await self._client.json("Crossref", "/works", asked)
        message = answer.get("message")
        items = message.get("items") if isinstance(message, dict) else None
        found = listed(items, "Crossref")[: 2 * most]
        return [work for row in found if (work := _work(row))][:most]

    async def close(self) -> None:
        await self._client.close()


def _work(row: dict[str, Any]) -> Work | None:
    title, notice = titled(_one(row.get("title")))
    doi = bare_doi(row.get("DOI"))
    if not title or not doi or row.get("type") in _PARTS:
        return None
    dates = (_day(row.get(key)) for key in ("issued", "published"))
    year, day = next((found for found in dates if found[0]), (None, None))
    people = [_author(one) for one in rows(row.get("author"))[:AUTHORS]]
    return Work(
        title=title,
        service=Crossref.name,
        doi=doi,
        page=address(row.get("URL")),
        abstract=prose(row.get("abstract")),
        authors=tuple(one for one in people if one.shown),
        year=year,
        day=day,
        venue=named(_one(row.get("container-title"))),
        language=legible(row.get("language"))[:2].lower(),
        cited=whole(row.get("is-referenced-by-count")),
        notice=gravest([notice, *(kind for _, kind in _updates(row.get("updated-by")))]),
        notices=tuple(
            (to, kind) for to, kind in _updates(row.get("update-to")) if to and to != doi
        ),
    )


def _updates(value: object) -> Iterator[tuple[str, Notice]]:
    """The DOIs of updates, each with what it comes to; a new edition is none that matters."""
    for row in rows(value):
        if kind := NOTICES.get(legible(row.get("type"))):
            yield bare_doi(row.get("DOI")), kind


def _author(row: dict[str, Any]) -> Author:
    family = named(row.get("family"))
    if family:
        return Author(family=family, given=named(row.get("given")))
    return Author(name=named(row.get("name")))


def _day(value: object) -> Any:
    parts = value.get("date-parts") if isinstance(value, dict) else None
    return dated(
        parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) else []
    )


def _one(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value
