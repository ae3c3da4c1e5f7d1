"""Client of Crossref's REST API, which contains what publishers have deposited, with abstracts in
JATS.

`updated-by` of a retracted or corrected work refers to the notice (from the publisher or Retraction
Watch), `update-to` of a notice to the work. Format: https://github.com/CrossRef/rest-api-doc,
api_format.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from research.core.events import EventEmitter
from research.core.json_values import as_object, keep_objects
from research.core.records import Author, PublicationNotice
from research.http.sanitize import remove_control_characters, truncate_text
from research.sources.papers.provider import MAX_QUERY_CHARS, PaperProvider, require_rows
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
_PART_TYPES = ("component", "peer-review")  # such as a figure, or a review of a work


class Crossref(PaperProvider):
    """Searches the metadata of works: titles, authors, journals."""

    name = "crossref"

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        parameters = {
            "query": truncate_text(query, MAX_QUERY_CHARS),
            "rows": str(limit),
            "mailto": self._client.contact,
        }
        body = await self._client.get_json("Crossref", "/works", parameters)
        rows = require_rows(as_object(body.get("message")).get("items"), "Crossref")[: 2 * limit]
        return [work for row in rows if (work := _parse_work(row))][:limit]


def _parse_work(row: dict[str, Any]) -> Work | None:
    title, notice = parse_title(_first_item(row.get("title")))
    doi = parse_doi(row.get("DOI"))
    if not title or not doi or row.get("type") in _PART_TYPES:
        return None
    dates = (_parse_date(row.get(key)) for key in ("issued", "published"))
    year, day = next((parsed for parsed in dates if parsed[0]), (None, None))
    authors = [_parse_author(author) for author in keep_objects(row.get("author"))[:MAX_AUTHORS]]
    return Work(
        title=title,
        provider=Crossref.name,
        doi=doi,
        page_url=parse_url(row.get("URL")),
        abstract=parse_abstract(row.get("abstract")),
        authors=tuple(author for author in authors if author.display_name),
        year=year,
        published=day,
        venue=parse_name(_first_item(row.get("container-title"))),
        language=remove_control_characters(row.get("language"))[:2].lower(),
        citation_count=parse_count(row.get("is-referenced-by-count")),
        notice=most_severe([notice, *(kind for _, kind in _parse_updates(row.get("updated-by")))]),
        notices_by_doi=tuple(
            (updated_doi, kind)
            for updated_doi, kind in _parse_updates(row.get("update-to"))
            if updated_doi and updated_doi != doi
        ),
    )


def _parse_updates(value: object) -> Iterator[tuple[str, PublicationNotice]]:
    """Yield the DOI and the kind of each update; kinds without a notice, such as a new edition, are
    skipped."""
    for row in keep_objects(value):
        if kind := NOTICE_BY_TYPE.get(remove_control_characters(row.get("type"))):
            yield parse_doi(row.get("DOI")), kind


def _parse_author(row: dict[str, Any]) -> Author:
    family = parse_name(row.get("family"))
    if family:
        return Author(family=family, given=parse_name(row.get("given")))
    return Author(name=parse_name(row.get("name")))


def _parse_date(value: object) -> tuple[int | None, date | None]:
    parts = _first_item(as_object(value).get("date-parts"))
    return parse_date_parts(parts if isinstance(parts, list) else [])


def _first_item(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value
