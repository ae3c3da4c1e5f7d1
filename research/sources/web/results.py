"""Conversion of search results to evidence, shared by the providers that list results."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from urllib.parse import urlsplit

from research.citations.registry import EvidenceRegistry, evidence_id
from research.core.records import Evidence, EvidenceKind, Passage, fingerprint
from research.core.text.publication_dates import FUTURE_TOLERANCE
from research.core.urls import canonical_url
from research.http.sanitize import MAX_SNIPPET_CHARS, truncate_text
from research.sources.web.provider import SearchResult

EVIDENCE_KIND: EvidenceKind = "web"


def make_evidence(
    url: object, title: str, text: str, *, retrieved: datetime, published: date | None = None
) -> Evidence | None:
    """Convert one result to evidence with `text` as its passage.

    `url` is untrusted and may be of any type. A publication day after the retrieval is an error and
    is treated as unknown. Return None without a usable address or text.
    """
    address = canonical_url(url.strip()) if isinstance(url, str) else ""
    text = truncate_text(text, MAX_SNIPPET_CHARS)
    if not address or not text:
        return None
    is_plausible = published is not None and published <= retrieved.date() + FUTURE_TOLERANCE
    domain = (urlsplit(address).hostname or "").removeprefix("www.")
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, address, address),
        kind=EVIDENCE_KIND,
        title=" ".join(title.split()) or domain,
        publisher=domain,
        url=address,
        retrieved=retrieved,
        published=published if is_plausible else None,
        passages=(Passage(id=fingerprint(address, text), text=text, end=len(text)),),
    )


def merge_results(items: Iterable[Evidence | None], limit: int) -> tuple[Evidence, ...]:
    """Return at most `limit` usable results, one per address."""
    registry = EvidenceRegistry()
    for item in items:
        if item is not None:
            registry.add(item)
    return tuple(registry)[:limit]


def build_result(items: Iterable[Evidence | None], limit: int, query: str, sent_query: str) -> SearchResult:
    """Return the merged results of a query, with a message if it was shortened to `sent_query`."""
    is_shortened = sent_query != query
    return SearchResult(
        evidence=merge_results(items, limit),
        executed_queries=(sent_query,) if is_shortened else (),
        message=f"query shortened to {len(sent_query)} characters" if is_shortened else "",
    )
