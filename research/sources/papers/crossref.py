"""Crossref's REST API (https://github.com/CrossRef/rest-api-doc, api_format.md): what publishers have
deposited, abstracts in JATS. A work that was retracted or corrected tells it in `updated-by` (by the
publisher or by Retraction Watch), the notice of it in `update-to`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from research.core.records import Author, EventEmitter, PublicationNotice
from research.http.client import ServiceClient
from research.http.sanitize import keep_objects, remove_control_characters, truncate_text
from research.sources.papers.provider import MAX_QUERY_CHARS, require_rows
from research.sources.papers.work import (
    MAX_AUTHORS,
    NOTICE_BY_TYPE,
    Work,
    most_severe,
    parse_abstract,
    parse_count,
    parse_date_parts,
    parse_doi,
    parse_name,
    parse_title,
    parse_url,
)

BASE_URL = "https://api.crossref.org"
_PART_TYPES = (
    "component",
    "peer-review",
)  # types of what is no work by itself: a figure, a review of one


class Crossref:
    """Searches what is known of works: titles, authors, journals."""

    name = "crossref"

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        asked = {
            "query": truncate_text(query, MAX_QUERY_CHARS),
            "rows": str(limit),
            "mailto": self._client.contact,
        }
        answer = await self._client.get_json("Crossref", "/works", asked)
        message = answer.get("message")
        items = message.get("items") if isinstance(message, dict) else None
        found = require_rows(items, "Crossref")[: 2 * limit]
        return [work for row in found if (work := _parse_work(row))][:limit]

    async def close(self) -> None:
        await self._client.close()


def _parse_work(row: dict[str, Any]) -> Work | None:
    title, notice = parse_title(_first_item(row.get("title")))
    doi = parse_doi(row.get("DOI"))
    if not title or not doi or row.get("type") in _PART_TYPES:
        return None
    dates = (_parse_date(row.get(key)) for key in ("issued", "published"))
    year, day = next((found for found in dates if found[0]), (None, None))
    people = [_parse_author(one) for one in keep_objects(row.get("author"))[:MAX_AUTHORS]]
    return Work(
        title=title,
        provider=Crossref.name,
        doi=doi,
        page_url=parse_url(row.get("URL")),
        abstract=parse_abstract(row.get("abstract")),
        authors=tuple(one for one in people if one.display_name),
        year=year,
        published=day,
        venue=parse_name(_first_item(row.get("container-title"))),
        language=remove_control_characters(row.get("language"))[:2].lower(),
        citation_count=parse_count(row.get("is-referenced-by-count")),
        notice=most_severe([notice, *(kind for _, kind in _parse_updates(row.get("updated-by")))]),
        notices_by_doi=tuple((to, kind) for to, kind in _parse_updates(row.get("update-to")) if to and to != doi),
    )


def _parse_updates(value: object) -> Iterator[tuple[str, PublicationNotice]]:
    """The DOIs of updates, each with what it comes to; a new edition is none that matters."""
    for row in keep_objects(value):
        if kind := NOTICE_BY_TYPE.get(remove_control_characters(row.get("type"))):
            yield parse_doi(row.get("DOI")), kind


def _parse_author(row: dict[str, Any]) -> Author:
    family = parse_name(row.get("family"))
    if family:
        return Author(family=family, given=parse_name(row.get("given")))
    return Author(name=parse_name(row.get("name")))


def _parse_date(value: object) -> Any:
    parts = value.get("date-parts") if isinstance(value, dict) else None
    return parse_date_parts(parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) else [])


def _first_item(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value
