"""Conversion of search results to evidence, shared by the providers that list results."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from research.citations.registry import EvidenceRegistry, evidence_id
from research.core.records import Evidence, EvidenceKind, Passage, fingerprint
from research.core.urls import canonical_url
from research.http.sanitize import MAX_SNIPPET_CHARS, truncate_text

EVIDENCE_KIND: EvidenceKind = "web"
MAX_DATE_AHEAD = timedelta(days=1)  # time zones: it may be tomorrow elsewhere


# Evidence


def make_evidence(
    url: object, title: str, text: str, *, retrieved: datetime, published: date | None = None
) -> Evidence | None:
    """Convert one result to evidence with one passage; None without a usable address or text.

    A publication day after the retrieval is an error and is treated as unknown.
    """
    address = canonical_url(url.strip()) if isinstance(url, str) else ""
    text = truncate_text(text, MAX_SNIPPET_CHARS)
    if not address or not text:
        return None
    is_plausible = published is not None and published <= retrieved.date() + MAX_DATE_AHEAD
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
