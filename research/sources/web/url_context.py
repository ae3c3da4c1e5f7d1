"""The pages that a query names, and what Google says of having read them.

The status of each comes with the candidate, as `urlContextMetadata.urlMetadata`. Source:
https://ai.google.dev/api/generate-content#UrlContextMetadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from research.core.errors import ServiceError
from research.core.records import Failure, FailureReason
from research.core.urls import canonical_url, find_urls, url_identity
from research.http.addresses import AddressValidator
from research.models.gemini import get_member, list_member
from research.sources.web.grounding import GroundedText, parse_source

MAX_PAGES = 20  # that one request may name
_UNREAD_REASONS: dict[str, tuple[FailureReason, str]] = {
    "PAYWALL": ("blocked", "the page is behind a paywall"),
    "UNSAFE": ("blocked", "Google holds the page for unsafe"),
    "ERROR": ("unreachable", "Google could not read the page"),
}


def find_page_urls(query: str) -> tuple[tuple[str, ...], tuple[Failure, ...]]:
    """The pages that a query names, and why others that it names cannot be opened."""
    pages: list[str] = []
    failures: list[Failure] = []
    for address in find_urls(query):
        try:
            AddressValidator().check_url(address)
            if len(pages) == MAX_PAGES:
                raise ServiceError("left out", f"no more than {MAX_PAGES} pages are opened at once")
            pages.append(address)
        except ServiceError as trouble:
            failures.append(trouble.to_failure("search", "page", address))
    return tuple(pages), tuple(failures)


def add_opened_pages(
    grounded: GroundedText, candidate: Any, pages: Sequence[str], retrieved: datetime
) -> tuple[GroundedText, tuple[Failure, ...]]:
    """What was found, with the pages that were read as sources under their own addresses, and a
    failure for each of the `pages` that was not."""
    told = _page_statuses(candidate)
    known = {url_identity(item.url) for item in grounded.evidence}
    more = []
    for address, status in told.values():
        item = parse_source({"web": {"uri": address}}, retrieved) if status == "SUCCESS" else None
        if item and url_identity(address) not in known:
            more.append(item)
    grounded = replace(grounded, evidence=(*grounded.evidence, *more))
    failures = []
    for page in pages:
        address, status = told.pop(url_identity(page), (page, ""))
        if status != "SUCCESS":
            failures.append(_unread_error(status).to_failure("search", "page", address))
    failures += [
        _unread_error(status).to_failure("search", "page", address)
        for address, status in told.values()
        if status != "SUCCESS"
    ]
    return grounded, tuple(failures)


def _page_statuses(candidate: Any) -> dict[str, tuple[str, str]]:
    """The address and the status of each page, by what identifies it; one that was read at any
    attempt was read."""
    out: dict[str, tuple[str, str]] = {}
    for item in list_member(get_member(candidate, "url_context_metadata"), "url_metadata"):
        url = get_member(item, "retrieved_url")
        address = canonical_url(url) if isinstance(url, str) else ""
        status = str(get_member(item, "url_retrieval_status") or "").removeprefix("URL_RETRIEVAL_STATUS_")
        if address and out.get(url_identity(address), ("", ""))[1] != "SUCCESS":
            out[url_identity(address)] = address, status
    return out


def _unread_error(status: str) -> ServiceError:
    reason, words = _UNREAD_REASONS.get(status, ("left out", "the page was not opened"))
    return ServiceError(reason, words)
