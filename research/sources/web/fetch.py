"""Reads pages of the web for the program, safely and with manners.

Only public addresses, each judged where the connection is made, every redirect anew; no proxy, no
cookies, no log-in. Size and time are bounded whatever a server sends, and what robots.txt does not
allow is left alone. A page is fetched once, however many searches want it.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from urllib.parse import urljoin

import aiohttp
from protego import Protego
from yarl import URL

from research.core.errors import Trouble, of_address
from research.core.urls import url_identity, wraps
from research.http.addresses import PORTS, Guard, Resolve, system_addresses
from research.http.bodies import Guarded, whole
from research.sources.web.reader import Page, read, warm
from research.sources.web.results import AHEAD

__all__ = ["Fetcher", "Page"]

AGENT = "Sightline/1.0 (research desk; reads single pages that a search has found)"
READ = ("text/html", "application/xhtml+xml", "text/plain")
ROBOTS_SIZE = 500 * 1024  # bytes; RFC 9309 asks for at least as many
FRESH = 3600.0  # seconds that a page and a robots.txt are remembered
PAUSE = 60.0  # seconds that a site is left alone whose robots.txt could not be had
PATIENCE = 5.0  # seconds between two pages that a site may ask for
HOSTS = 500  # that are remembered
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BARRED = frozenset({401, 402, 403, 407, 451})


@dataclass
class _Flight:
    """A page on its way, and how many wait for it."""

    task: asyncio.Task[Page]
    waiting: int = 0


@dataclass
class _Turn:
    """Whose turn it is at a host, and when the last one ended."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: float = -math.inf


@dataclass(frozen=True)
class _Rules:
    """A site's robots.txt until some time, or why the site is left alone until then."""

    until: float
    robots: Protego
    fault: str = ""


@dataclass(frozen=True)
class _Answer:
    """What came for one request: a body, or where to ask next."""

    location: str = ""
    body: bytes = b""
    kind: str = ""
    charset: str = ""


class Fetcher:
    """Reads pages. Belongs to the loop on which it is first used."""

    def __init__(
        self,
        *,
        agent: str = AGENT,
        deadline: float = 15.0,
        size: int = 5_000_000,
        redirects: int = 5,
        pages: int = 200,
        ports: frozenset[int] = PORTS,
        resolve: Resolve = system_addresses,
        allowed: frozenset[tuple[str, int]] = frozenset(),
        tls: ssl.SSLContext | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        """`deadline` are the seconds of a whole fetch, waiting for a turn included; `size` counts
        bytes after unpacking. `tls` is for certificates that the system does not know. `resolve`
        and `allowed` are for tests, whose servers are on this machine.

        Raises:
            ValueError: `tls` would take anybody's word for who it is.
        """
        if tls and not (tls.verify_mode == ssl.CERT_REQUIRED and tls.check_hostname):
            raise ValueError("tls has to verify certificates and the names in them")
        self._agent = agent
        self._name = agent.split("/")[0].split()[0]
        self._deadline = deadline
        self._size = size
        self._redirects = redirects
        self._limit = pages
        self._guard = Guard(resolve, allowed=allowed, ports=ports)
        self._tls = tls
        self._today = today
        self._session: aiohttp.ClientSession | None = None
        self._pages: OrderedDict[str, tuple[float, Page]] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._rules: OrderedDict[str, _Rules] = OrderedDict()

    async def fetch(self, url: str) -> Page:
        """A page. Whoever wants the same page meanwhile shares the request.

        Raises:
            Trouble: the page cannot be read, or must not be; the message says why.
        """
        target = self._guard.target(url)
        key = _key(str(target))
        if page := self._known(key):
            return page
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(self._load(target, key)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and self._flights.get(key) is flight:
                del self._flights[key]
                flight.task.cancel()  # does nothing to one that has ended

    async def close(self) -> None:
        """Gives up what is under way and releases the connections."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session:
            await self._session.close()
            self._session = None

    # Pages

    def _known(self, key: str) -> Page | None:
        since, page = self._pages.get(key, (-math.inf, None))
        if page is None or time.monotonic() - since > FRESH:
            return None
        self._pages.move_to_end(key)
        return page

    def _keep(self, page: Page, *keys: str) -> None:
        for key in keys:
            self._pages[key] = (time.monotonic(), page)
            self._pages.move_to_end(key)
        while len(self._pages) > self._limit:
            self._pages.popitem(last=False)

    async def _load(self, target: URL, key: str) -> Page:
        try:
            async with asyncio.timeout(self._deadline):
                await asyncio.to_thread(warm)
                final, answer = await self._follow(target)
                page = await asyncio.to_thread(
                    read,
                    answer.body,
                    str(final),
                    charset=answer.charset,
                    plain=answer.kind == "text/plain",
                    latest=self._today() + AHEAD,
                )
        except TimeoutError as error:
            text = f"{target.host} did not deliver the page within {self._deadline:g} s"
            raise Trouble("timeout", text, again=True) from error
        self._keep(page, key, _key(page.url))
        return page

    async def _follow(self, target: URL) -> tuple[URL, _Answer]:
        """The page that an address leads to, and where it is."""
        for _ in range(self._redirects + 1):
            answer = await self._visit(target)
            if not answer.location:
                return target, answer
            target = self._next(target, answer.location)
        text = f"{target.host}: more than {self._redirects} redirects"
        raise Trouble("too many redirects", text)

    def _next(self, current: URL, location: str) -> URL:
        """Where a redirect leads, if it may be followed."""
        try:
            address = urljoin(str(current), location.strip().replace(" ", "%20"))
            target = self._guard.target(address)
        except ValueError as error:
            raise Trouble("malformed", f"{current.host} redirects to no address") from error
        except Trouble as error:
            text = f"{current.host} redirects where nothing is read: {error.message}"
            raise Trouble(error.reason, text) from error
        if current.scheme == "https" and target.scheme != "https":
            raise Trouble("redirected", f"{current.host} redirects from https to http")
        return target

    async def _visit(self, target: URL) -> _Answer:
        """One request for a page, when it is its turn and the site allows it."""
        turn = self._turn(target.host or "")
        async with turn.lock:
            wait = await self._permitted(target)
            await asyncio.sleep(max(0.0, turn.last + wait - time.monotonic()))
            try:
                return await self._page(target)
            finally:
                turn.last = time.monotonic()

    def _turn(self, host: str) -> _Turn:
        turn = self._turns.setdefault(host, _Turn())
        self._turns.move_to_end(host)
        if len(self._turns) > HOSTS:
            idle = (name for name, other in self._turns.items() if not other.lock.locked())
            self._turns.pop(next(idle))
        return turn

    async def _page(self, target: URL) -> _Answer:
        async with self._asking(target) as response:
            if response.status in _REDIRECTS and "Location" in response.headers:
                return _Answer(location=response.headers["Location"])
            if response.status != 200:
                raise _turned_down(response)
            kind = response.content_type if "Content-Type" in response.headers else "of no type"
            if kind not in READ:
                raise Trouble("refused", f"this is {kind}; only web pages and plain text are read")
            body = await whole(response, self._size)
            return _Answer(body=body, kind=kind, charset=response.charset or "")

    # Manners

    async def _permitted(self, target: URL) -> float:
        """The seconds that a site wants between two pages, if it allows this one to us.

        Raises:
            Trouble: it does not, or nobody can say.
        """
        rules = await self._site(target)
        if rules.fault:
            raise Trouble("unavailable", rules.fault, again=True)
        if not rules.robots.can_fetch(str(target), self._name):
            text = f"robots.txt of {target.host} does not allow programs to read this page"
            raise Trouble("blocked", text)
        wait = rules.robots.crawl_delay(self._name) or 0.0
        if wait > PATIENCE:
            text = f"robots.txt of {target.host} wants {wait:g} s between pages: too long to wait"
            raise Trouble("blocked", text)
        return wait

    async def _site(self, target: URL) -> _Rules:
        origin = str(target.origin())
        rules = self._rules.get(origin)
        if rules is None or rules.until < time.monotonic():
            rules = self._rules[origin] = await self._robots(target.origin() / "robots.txt")
            self._rules.move_to_end(origin)
            if len(self._rules) > HOSTS:
                self._rules.popitem(last=False)
        return rules

    async def _robots(self, first: URL) -> _Rules:
        """The rules of a site (RFC 9309): without a robots.txt all is allowed, and nothing where
        it is there and cannot be had.
        """
        target, location = first, ""
        for _ in range(self._redirects + 1):
            try:
                async with self._asking(target) as response:
                    if response.status not in _REDIRECTS or "Location" not in response.headers:
                        return await _rules(response)
                    location = response.headers["Location"]
                target = self._next(target, location)
            except Trouble as error:
                if not location and error.reason in ("refused", "unreachable"):
                    raise
                return _left_alone(f"robots.txt of {first.host} cannot be read: {error.message}")
        return _left_alone(f"robots.txt of {first.host} cannot be read: too many redirects")

    # The wire

    @asynccontextmanager
    async def _asking(self, target: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response whose body is still to be read.

        Raises:
            Trouble: there is none, or it broke off.
        """
        host = target.host
        try:
            async with self._opened().get(target, allow_redirects=False) as response:
                yield response
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            text = f"{host} has no certificate that holds"
            raise Trouble("unreachable", text, hint="tls") from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, zlib.error) as error:
            raise Trouble("malformed", f"{host} sent what cannot be read") from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            why = getattr(error, "strerror", None) or error
            text = f"{host} could not be reached, or broke off: {why}"
            raise Trouble("unreachable", text, again=True) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=Guarded(self._guard),
                    use_dns_cache=False,
                    socket_factory=self._guard.socket,
                    ssl=self._tls or True,
                    limit=20,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,  # a proxy would connect for us, past the guard
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                headers={
                    "User-Agent": self._agent,
                    "Accept": "text/html,application/xhtml+xml,text/plain;q=0.8",
                    "Accept-Encoding": "gzip",
                },
            )
        return self._session


async def _rules(response: aiohttp.ClientResponse) -> _Rules:
    """What an answer to the question for robots.txt means."""
    if response.status >= 500 or response.status == 429:
        return _left_alone(
            f"{response.url.host} answered the request for its robots.txt with "
            f"HTTP {response.status}, so its pages are left alone for now"
        )
    text = ""
    if response.status == 200:
        body = await whole(response, ROBOTS_SIZE, cut=True)
        text = body.decode("utf-8-sig", "replace")
    robots = await asyncio.to_thread(Protego.parse, text)
    return _Rules(time.monotonic() + FRESH, robots)


def _key(url: str) -> str:
    """What a page is kept under; what a redirecting page itself says is no page of its target."""
    return url if wraps(url) else url_identity(url) or url


def _left_alone(why: str) -> _Rules:
    return _Rules(time.monotonic() + PAUSE, Protego(), why)


def _turned_down(response: aiohttp.ClientResponse) -> Trouble:
    """What an HTTP status says of a page: there is no key or endpoint to be set right."""
    host = response.url.host or ""
    if response.status in _BARRED:
        return Trouble("blocked", f"HTTP {response.status}: {host}")
    return of_address(response.status, host, response.headers)
