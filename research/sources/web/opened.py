"""The pages that a query names, and what Google says of having read them.

The status of each comes with the candidate, as `urlContextMetadata.urlMetadata`. Source:
https://ai.google.dev/api/generate-content#UrlContextMetadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from research.core.errors import Trouble
from research.core.records import Failure, Reason
from research.core.urls import addresses, canonical_url, url_identity
from research.http.addresses import Guard
from research.models.gemini import get, members
from research.sources.web.grounding import Grounded, source_of

PAGES = 20  # that one request may name
_UNREAD: dict[str, tuple[Reason, str]] = {
    "PAYWALL": ("blocked", "the page is behind a paywall"),
    "UNSAFE": ("blocked", "Google holds the page for unsafe"),
    "ERROR": ("unreachable", "Google could not read the page"),
}


def named(query: str) -> tuple[tuple[str, ...], tuple[Failure, ...]]:
    """The pages that a query names, and why others that it names cannot be opened."""
    pages: list[str] = []
    failures: list[Failure] = []
    for address in addresses(query):
        try:
            Guard().target(address)
            if len(pages) == PAGES:
                raise Trouble("left out", f"no more than {PAGES} pages are opened at once")
            pages.append(address)
        except Trouble as trouble:
            failures.append(trouble.failure("search", "page", address))
    return tuple(pages), tuple(failures)


def opened(
    grounded: Grounded, candidate: Any, pages: Sequence[str], retrieved: datetime
) -> tuple[Grounded, tuple[Failure, ...]]:
    """What was found, with the pages that were read as sources under their own addresses, and a
    failure for each of the `pages` that was not."""
    told = _statuses(candidate)
    known = {url_identity(item.url) for item in grounded.evidence}
    more = []
    for address, status in told.values():
        item = source_of({"web": {"uri": address}}, retrieved) if status == "SUCCESS" else None
        if item and url_identity(address) not in known:
            more.append(item)
    grounded = replace(grounded, evidence=(*grounded.evidence, *more))
    failures = []
    for page in pages:
        address, status = told.pop(url_identity(page), (page, ""))
        if status != "SUCCESS":
            failures.append(_unread(status).failure("search", "page", address))
    failures += [
        _unread(status).failure("search", "page", address)
        for address, status in told.values()
        if status != "SUCCESS"
    ]
    return grounded, tuple(failures)


def _statuses(candidate: Any) -> dict[str, tuple[str, str]]:
    """The address and the status of each page, by what identifies it; one that was read at any
    attempt was read."""
    out: dict[str, tuple[str, str]] = {}
    for item in members(get(candidate, "url_context_metadata"), "url_metadata"):
        url = get(item, "retrieved_url")
        address = canonical_url(url) if isinstance(url, str) else ""
        status = str(get(item, "url_retrieval_status") or "").removeprefix("URL_RETRIEVAL_STATUS_")
        if address and out.get(url_identity(address), ("", ""))[1] != "SUCCESS":
            out[url_identity(address)] = address, status
    return out


def _unread(status: str) -> Trouble:
    reason, words = _UNREAD.get(status, ("left out", "the page was not opened"))
    return Trouble(reason, words)
