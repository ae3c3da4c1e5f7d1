"""Pages named in a query, and Google's report on reading them.

The status of each page comes with the candidate as `urlContextMetadata.urlMetadata`. Source:
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

MAX_PAGES = 20  # per request
_UNREAD_REASONS: dict[str, tuple[FailureReason, str]] = {
    "PAYWALL": ("blocked", "the page is behind a paywall"),
    "UNSAFE": ("blocked", "Google holds the page for unsafe"),
    "ERROR": ("unreachable", "Google could not read the page"),
}


def find_page_urls(query: str) -> tuple[tuple[str, ...], tuple[Failure, ...]]:
    """Return the pages named in a query that can be opened, and failures for the others."""
    pages: list[str] = []
    failures: list[Failure] = []
    for address in find_urls(query):
        try:
            AddressValidator().check_url(address)
            if len(pages) == MAX_PAGES:
                raise ServiceError("left out", f"no more than {MAX_PAGES} pages are opened at once")
            pages.append(address)
        except ServiceError as error:
            failures.append(error.to_failure("search", "page", address))
    return tuple(pages), tuple(failures)


def add_opened_pages(
    grounded: GroundedText, candidate: Any, pages: Sequence[str], retrieved: datetime
) -> tuple[GroundedText, tuple[Failure, ...]]:
    """Add the pages that were read as sources, and return failures for `pages` that were not."""
    statuses = _page_statuses(candidate)
    known_urls = {url_identity(item.url) for item in grounded.evidence}
    new_sources = []
    for address, status in statuses.values():
        item = parse_source({"web": {"uri": address}}, retrieved) if status == "SUCCESS" else None
        if item and url_identity(address) not in known_urls:
            new_sources.append(item)
    grounded = replace(grounded, evidence=(*grounded.evidence, *new_sources))
    failures = []
    for page in pages:
        address, status = statuses.pop(url_identity(page), (page, ""))
        if status != "SUCCESS":
            failures.append(_unread_error(status).to_failure("search", "page", address))
    failures += [
        _unread_error(status).to_failure("search", "page", address)
        for address, status in statuses.values()
        if status != "SUCCESS"
    ]
    return grounded, tuple(failures)


def _page_statuses(candidate: Any) -> dict[str, tuple[str, str]]:
    """Return (address, status) of each page by URL identity; one successful attempt suffices."""
    out: dict[str, tuple[str, str]] = {}
    for item in list_member(get_member(candidate, "url_context_metadata"), "url_metadata"):
        url = get_member(item, "retrieved_url")
        address = canonical_url(url) if isinstance(url, str) else ""
        status = str(get_member(item, "url_retrieval_status") or "").removeprefix("URL_RETRIEVAL_STATUS_")
        if address and out.get(url_identity(address), ("", ""))[1] != "SUCCESS":
            out[url_identity(address)] = address, status
    return out


def _unread_error(status: str) -> ServiceError:
    reason, message = _UNREAD_REASONS.get(status, ("left out", "the page was not opened"))
    return ServiceError(reason, message)
