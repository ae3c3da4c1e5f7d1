"""HTTP client for feeds, bounded in size and time, and safe against hostile addresses.

Addresses from the operator's settings are trusted and may be local. Redirects to another origin and
addresses found in fetched lists are written by others: only public addresses are allowed there,
checked when the connection is made. No proxy, no cookies; a password is sent only to its own host.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from research.core.errors import REDIRECT_STATUSES, ServiceError, error_from_page_status
from research.http.addresses import AddressValidator
from research.http.bodies import read_body
from research.http.checked_requests import create_session, open_response

USER_AGENT = "Sightline/1.0 (research desk; reads the feeds it is given)"
_ACCEPT_HEADER = (
    "application/rss+xml, application/atom+xml, application/rdf+xml, application/feed+json, "
    "application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
)


@dataclass(frozen=True)
class FeedResponse:
    """A feed's body, or None if unchanged (HTTP 304); `url` is the address after redirects."""

    url: str
    body: bytes | None
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""


def _is_same_origin(first: URL, second: URL) -> bool:
    """Return True if both addresses have the same scheme, host and port."""
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port)


class FeedClient:
    """Fetches feeds. Belongs to the event loop on which it is first used."""

    def __init__(
        self,
        *,
        timeout_seconds: float = 20.0,
        max_bytes: int = 10_000_000,
        max_redirects: int = 5,
        address_validator: AddressValidator | None = None,
        tls_context: ssl.SSLContext | None = None,
    ) -> None:
        """Create a client.

        `timeout_seconds` covers a whole fetch; `max_bytes` counts bytes after unpacking. `address_validator`
        and `tls_context` are for tests.
        """
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._max_redirects = max_redirects
        self._address_validator = address_validator or AddressValidator()
        self._tls_context = tls_context
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def fetch(
        self, url: str, *, is_trusted: bool = False, etag: str = "", last_modified: str = ""
    ) -> FeedResponse:
        """Fetch a feed; `is_trusted` means that the operator has configured the address.

        Raises:
            ServiceError: the feed is not available or not allowed; the message says why.
        """
        conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in conditions.items() if value}
        try:
            target = URL(url)
        except ValueError as error:
            raise ServiceError("refused", "this is no address of a feed") from error
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._follow_redirects(target, is_trusted, headers)
        except TimeoutError as error:
            text = f"{target.host} did not deliver the feed within {self._timeout_seconds:g} s"
            raise ServiceError("timeout", text, is_retryable=True) from error

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _follow_redirects(self, target: URL, is_trusted: bool, headers: dict[str, str]) -> FeedResponse:
        first = target
        for _ in range(self._max_redirects + 1):
            is_trusted = is_trusted and _is_same_origin(target, first)  # lost for good after leaving it
            if not is_trusted:
                target = self._address_validator.check_url(str(target))
            session = self._get_session(is_trusted)
            async with open_response(session, target, headers, hide_details=True) as response:
                location = response.headers.get("Location", "")
                if response.status not in REDIRECT_STATUSES or not location:
                    return await self._parse_response(response)
            target = _redirect_target(target, location)
        text = f"{target.host}: more than {self._max_redirects} redirects"
        raise ServiceError("too many redirects", text)

    async def _parse_response(self, response: aiohttp.ClientResponse) -> FeedResponse:
        url = str(response.url.with_user(None))
        if response.status == 304:
            return FeedResponse(url, None)
        if response.status != 200:
            raise error_from_page_status(response.status, response.url.host or "", response.headers)
        return FeedResponse(
            url,
            await read_body(response, self._max_bytes, content_name="feed"),
            content_type=response.headers.get("Content-Type", "")[:200],
            etag=response.headers.get("ETag", "")[:500],
            last_modified=response.headers.get("Last-Modified", "")[:100],
        )

    def _get_session(self, is_trusted: bool) -> aiohttp.ClientSession:
        """Return the session for trusted or untrusted addresses; trusted ones are not checked."""
        if is_trusted not in self._sessions:
            headers = {"User-Agent": USER_AGENT, "Accept": _ACCEPT_HEADER}
            self._sessions[is_trusted] = create_session(
                None if is_trusted else self._address_validator, headers, self._tls_context
            )
        return self._sessions[is_trusted]


def _redirect_target(current: URL, location: str) -> URL:
    """Return the target of a redirect; credentials are kept only for the same origin."""
    location = location.strip().replace(" ", "%20")
    try:
        if urlsplit(location).scheme and not urlsplit(location).netloc:
            raise ValueError(location)
        target = URL(urljoin(str(current), location))
        if target.scheme not in ("http", "https") or not target.host:
            raise ValueError(target.scheme)
        if _is_same_origin(target, current):
            return target.with_user(current.user).with_password(current.password)
        target = target.with_user(None)
    except ValueError as error:
        raise ServiceError("malformed", f"{current.host} redirects to no address") from error
    if current.scheme == "https" and target.scheme != "https":
        raise ServiceError("redirected", f"{current.host} redirects from https to http")
    return target
