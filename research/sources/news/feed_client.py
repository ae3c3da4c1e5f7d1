"""Fetches feeds: bounded in size and time, and safe wherever a feed leads.

An address that the operator has set is asked wherever it is, on this machine or in this network
too: that is the operator's own word. Where it redirects to on another host, and what a list that was
fetched names, others have written: there only public addresses are asked, each judged where the
connection is made. No proxy, no cookies; a password is sent to its own host only.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from research.core.errors import Trouble, of_address
from research.http.addresses import Guard
from research.http.bodies import Guarded, whole

AGENT = "Sightline/1.0 (research desk; reads the feeds it is given)"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = (
    "application/rss+xml, application/atom+xml, application/rdf+xml, application/feed+json, "
    "application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
)


@dataclass(frozen=True)
class Delivery:
    """What came: a body, or none where nothing has changed since. `url` is where it lay at last."""

    url: str
    body: bytes | None
    kind: str = ""
    etag: str = ""
    modified: str = ""


def _same(one: URL, other: URL) -> bool:
    """Whether two addresses have one origin: scheme, host and port."""
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


class FeedClient:
    """Fetches feeds. Belongs to the loop on which it is first used."""

    def __init__(
        self,
        *,
        deadline: float = 20.0,
        size: int = 10_000_000,
        redirects: int = 5,
        guard: Guard | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`deadline` are the seconds of a whole fetch; `size` counts bytes after unpacking. `guard`
        and `tls` are for tests."""
        self._deadline = deadline
        self._size = size
        self._redirects = redirects
        self._guard = guard or Guard()
        self._tls = tls
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def get(
        self, url: str, *, own: bool = False, etag: str = "", modified: str = ""
    ) -> Delivery:
        """What lies at an address; `own` says that the operator has set it.

        Raises:
            Trouble: it cannot be had, or must not be; the message says why.
        """
        known = {"If-None-Match": etag, "If-Modified-Since": modified}
        headers = {name: value for name, value in known.items() if value}
        try:
            target = URL(url)
        except ValueError as error:
            raise Trouble("refused", "this is no address of a feed") from error
        try:
            async with asyncio.timeout(self._deadline):
                return await self._follow(target, own, headers)
        except TimeoutError as error:
            text = f"{target.host} did not deliver the feed within {self._deadline:g} s"
            raise Trouble("timeout", text, again=True) from error

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _follow(self, target: URL, own: bool, headers: dict[str, str]) -> Delivery:
        first = target
        for _ in range(self._redirects + 1):
            own = own and _same(target, first)  # who has left does not come back as the operator
            if not own:
                target = self._guard.target(str(target))
            async with self._asking(target, headers, own) as response:
                location = response.headers.get("Location", "")
                if response.status not in _REDIRECTS or not location:
                    return await self._delivery(response)
            target = _next(target, location)
        text = f"{target.host}: more than {self._redirects} redirects"
        raise Trouble("too many redirects", text)

    async def _delivery(self, response: aiohttp.ClientResponse) -> Delivery:
        url = str(response.url.with_user(None))
        if response.status == 304:
            return Delivery(url, None)
        if response.status != 200:
            raise of_address(response.status, response.url.host or "", response.headers)
        return Delivery(
            url,
            await whole(response, self._size, what="feed"),
            kind=response.headers.get("Content-Type", "")[:200],
            etag=response.headers.get("ETag", "")[:500],
            modified=response.headers.get("Last-Modified", "")[:100],
        )

    @asynccontextmanager
    async def _asking(
        self, target: URL, headers: dict[str, str], trusted: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        host = target.host
        try:
            session = self._session(trusted)
            async with session.get(target, headers=headers, allow_redirects=False) as response:
                yield response
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            text = f"{host} has no certificate that holds"
            raise Trouble("unreachable", text, hint="tls") from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, zlib.error) as error:
            raise Trouble("malformed", f"{host} sent what cannot be read") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            why = getattr(error, "strerror", None) or type(error).__name__
            text = f"{host} could not be reached, or broke off: {why}"
            raise Trouble("unreachable", text, again=True) from error

    def _session(self, trusted: bool) -> aiohttp.ClientSession:
        """Connections of one kind: those to the operator's own addresses are not judged."""
        if trusted not in self._sessions:
            judged = {
                "resolver": Guarded(self._guard),
                "use_dns_cache": False,
                "socket_factory": self._guard.socket,
            }
            connector = aiohttp.TCPConnector(
                ssl=self._tls or True,
                limit=20,
                **({} if trusted else judged),  # type: ignore[arg-type]
            )
            self._sessions[trusted] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,  # a proxy would connect for us, past the guard
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                headers={"User-Agent": AGENT, "Accept": _ACCEPT, "Accept-Encoding": "gzip"},
            )
        return self._sessions[trusted]


def _next(current: URL, location: str) -> URL:
    """Where a redirect leads. A password stays behind, unless it is the same host's."""
    location = location.strip().replace(" ", "%20")
    try:
        if urlsplit(location).scheme and not urlsplit(location).netloc:
            raise ValueError(location)
        target = URL(urljoin(str(current), location))
        if target.scheme not in ("http", "https") or not target.host:
            raise ValueError(target.scheme)
        if _same(target, current):
            return target.with_user(current.user).with_password(current.password)
        target = target.with_user(None)
    except ValueError as error:
        raise Trouble("malformed", f"{current.host} redirects to no address") from error
    if current.scheme == "https" and target.scheme != "https":
        raise Trouble("redirected", f"{current.host} redirects from https to http")
    return target
