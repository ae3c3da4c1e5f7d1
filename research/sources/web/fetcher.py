"""Safe and polite fetching of web pages.

Only public addresses are fetched, checked when the connection is made and again after each
redirect; no proxy, no cookies, no log-in. Size and time are bounded, robots.txt is respected.
Concurrent requests for a page share one fetch, and pages are cached.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from urllib.parse import urljoin

import aiohttp
from protego import Protego
from yarl import URL

from research.core.errors import REDIRECT_STATUSES, ServiceError, error_from_page_status
from research.core.text.publication_dates import FUTURE_TOLERANCE
from research.core.urls import is_wrapper_url, url_identity
from research.http.addresses import ALLOWED_PORTS, AddressValidator, Resolver, resolve_host
from research.http.bodies import read_body
from research.http.checked_requests import create_session, open_response
from research.sources.web.page_parser import Page, parse_page, warm_parser

__all__ = ["Page", "PageFetcher"]

USER_AGENT = "Sightline/1.0 (research desk; reads single pages that a search has found)"
READABLE_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
MAX_ROBOTS_BYTES = 500 * 1024  # RFC 9309 requires at least as many
CACHE_SECONDS = 3600.0  # for pages and robots.txt
ROBOTS_RETRY_SECONDS = 60.0  # before an unavailable robots.txt is fetched again
MAX_CRAWL_DELAY_SECONDS = 5.0  # longest accepted Crawl-delay
MAX_HOSTS = 500  # kept in memory
_BLOCKED_STATUSES = frozenset({401, 402, 403, 407, 451})


@dataclass
class _PendingFetch:
    """A fetch in progress, with the number of its waiting callers."""

    task: asyncio.Task[Page]
    waiter_count: int = 0


@dataclass
class _HostSlot:
    """A lock that serialises requests to a host, and the time when the last one ended."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_finished: float = -math.inf


@dataclass(frozen=True)
class _RobotsRules:
    """Cached rules of a site's robots.txt, or the reason why it is unavailable."""

    expires_at: float
    parser: Protego
    fetch_error: str = ""


@dataclass(frozen=True)
class _PageResponse:
    """The response to one request: a body, or a redirect location."""

    location: str = ""
    body: bytes = b""
    content_type: str = ""
    charset: str = ""


class PageFetcher:
    """Fetches pages. Belongs to the event loop on which it is first used."""

    def __init__(
        self,
        *,
        user_agent: str = USER_AGENT,
        timeout_seconds: float = 15.0,
        max_bytes: int = 5_000_000,
        max_redirects: int = 5,
        max_cached_pages: int = 200,
        allowed_ports: frozenset[int] = ALLOWED_PORTS,
        resolve: Resolver = resolve_host,
        allowed_endpoints: frozenset[tuple[str, int]] = frozenset(),
        tls_context: ssl.SSLContext | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        """Create a fetcher.

        `timeout_seconds` covers a whole fetch, waiting for the host included; `max_bytes` counts
        bytes after unpacking. `tls_context` is for certificates unknown to the system. `resolve`
        and `allowed_endpoints` are for tests with local servers.

        Raises:
            ValueError: `tls_context` does not verify certificates and host names.
        """
        if tls_context and not (tls_context.verify_mode == ssl.CERT_REQUIRED and tls_context.check_hostname):
            raise ValueError("tls has to verify certificates and the names in them")
        self._user_agent = user_agent
        self._agent_token = user_agent.split("/")[0].split()[0]
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._max_redirects = max_redirects
        self._max_cached_pages = max_cached_pages
        self._address_validator = AddressValidator(resolve, allowed=allowed_endpoints, ports=allowed_ports)
        self._tls_context = tls_context
        self._today = today
        self._session: aiohttp.ClientSession | None = None
        self._page_cache: OrderedDict[str, tuple[float, Page]] = OrderedDict()
        self._pending_fetches: dict[str, _PendingFetch] = {}
        self._host_slots: OrderedDict[str, _HostSlot] = OrderedDict()
        self._robots_rules: OrderedDict[str, _RobotsRules] = OrderedDict()

    async def fetch(self, url: str) -> Page:
        """Return a page, from the cache or the network; concurrent calls share one request.

        Raises:
            ServiceError: the page cannot or must not be read; the message says why.
        """
        target = self._address_validator.check_url(url)
        key = _cache_key(str(target))
        if page := self._get_cached(key):
            return page
        pending = self._pending_fetches.get(key)
        if pending is None:
            pending = self._pending_fetches[key] = _PendingFetch(asyncio.create_task(self._fetch_page(target, key)))
        pending.waiter_count += 1
        try:
            return await asyncio.shield(pending.task)
        finally:
            pending.waiter_count -= 1
            if not pending.waiter_count and self._pending_fetches.get(key) is pending:
                del self._pending_fetches[key]
                pending.task.cancel()  # no effect on a finished task

    async def close(self) -> None:
        """Cancel pending fetches and release the connections."""
        tasks = [pending.task for pending in self._pending_fetches.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session:
            await self._session.close()
            self._session = None

    # Pages

    def _get_cached(self, key: str) -> Page | None:
        cached_at, page = self._page_cache.get(key, (-math.inf, None))
        if page is None or time.monotonic() - cached_at > CACHE_SECONDS:
            return None
        self._page_cache.move_to_end(key)
        return page

    def _cache_page(self, page: Page, *keys: str) -> None:
        for key in keys:
            self._page_cache[key] = (time.monotonic(), page)
            self._page_cache.move_to_end(key)
        while len(self._page_cache) > self._max_cached_pages:
            self._page_cache.popitem(last=False)

    async def _fetch_page(self, target: URL, key: str) -> Page:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await asyncio.to_thread(warm_parser)
                final_url, response = await self._follow_redirects(target)
                page = await asyncio.to_thread(
                    parse_page,
                    response.body,
                    str(final_url),
                    charset=response.charset,
                    is_plain_text=response.content_type == "text/plain",
                    latest_date=self._today() + FUTURE_TOLERANCE,
                )
        except TimeoutError as error:
            text = f"{target.host} did not deliver the page within {self._timeout_seconds:g} s"
            raise ServiceError("timeout", text, is_retryable=True) from error
        self._cache_page(page, key, _cache_key(page.url))
        return page

    async def _follow_redirects(self, target: URL) -> tuple[URL, _PageResponse]:
        """Return the final address and the response."""
        for _ in range(self._max_redirects + 1):
            response = await self._request_in_turn(target)
            if not response.location:
                return target, response
            target = self._redirect_target(target, response.location)
        text = f"{target.host}: more than {self._max_redirects} redirects"
        raise ServiceError("too many redirects", text)

    def _redirect_target(self, current: URL, location: str) -> URL:
        """Return the target of a redirect, checked for safety."""
        try:
            address = urljoin(str(current), location.strip().replace(" ", "%20"))
            target = self._address_validator.check_url(address)
        except ValueError as error:
            raise ServiceError("malformed", f"{current.host} redirects to no address") from error
        except ServiceError as error:
            text = f"{current.host} redirects where nothing is read: {error.message}"
            raise ServiceError(error.reason, text) from error
        if current.scheme == "https" and target.scheme != "https":
            raise ServiceError("redirected", f"{current.host} redirects from https to http")
        return target

    async def _request_in_turn(self, target: URL) -> _PageResponse:
        """Request a page after the host's other requests and its crawl delay, if robots.txt allows
        it.
        """
        slot = self._host_slot(target.host or "")
        async with slot.lock:
            wait = await self._check_robots(target)
            await asyncio.sleep(max(0.0, slot.last_finished + wait - time.monotonic()))
            try:
                return await self._request_page(target)
            finally:
                slot.last_finished = time.monotonic()

    def _host_slot(self, host: str) -> _HostSlot:
        slot = self._host_slots.setdefault(host, _HostSlot())
        self._host_slots.move_to_end(host)
        if len(self._host_slots) > MAX_HOSTS:
            idle_hosts = (name for name, other in self._host_slots.items() if not other.lock.locked())
            self._host_slots.pop(next(idle_hosts))
        return slot

    async def _request_page(self, target: URL) -> _PageResponse:
        async with self._open_response(target) as response:
            if response.status in REDIRECT_STATUSES and "Location" in response.headers:
                return _PageResponse(location=response.headers["Location"])
            if response.status != 200:
                raise _status_error(response)
            content_type = response.content_type if "Content-Type" in response.headers else "of no type"
            if content_type not in READABLE_TYPES:
                raise ServiceError("refused", f"this is {content_type}; only web pages and plain text are read")
            body = await read_body(response, self._max_bytes)
            return _PageResponse(body=body, content_type=content_type, charset=response.charset or "")

    # robots.txt

    async def _check_robots(self, target: URL) -> float:
        """Return the site's crawl delay in seconds if its robots.txt allows this page.

        Raises:
            ServiceError: it does not, or the rules are unavailable.
        """
        rules = await self._get_robots_rules(target)
        if rules.fetch_error:
            raise ServiceError("unavailable", rules.fetch_error, is_retryable=True)
        if not rules.parser.can_fetch(str(target), self._agent_token):
            text = f"robots.txt of {target.host} does not allow programs to read this page"
            raise ServiceError("blocked", text)
        wait = rules.parser.crawl_delay(self._agent_token) or 0.0
        if wait > MAX_CRAWL_DELAY_SECONDS:
            text = f"robots.txt of {target.host} wants {wait:g} s between pages: too long to wait"
            raise ServiceError("blocked", text)
        return wait

    async def _get_robots_rules(self, target: URL) -> _RobotsRules:
        origin = str(target.origin())
        rules = self._robots_rules.get(origin)
        if rules is None or rules.expires_at < time.monotonic():
            rules = self._robots_rules[origin] = await self._fetch_robots_rules(target.origin() / "robots.txt")
            self._robots_rules.move_to_end(origin)
            if len(self._robots_rules) > MAX_HOSTS:
                self._robots_rules.popitem(last=False)
        return rules

    async def _fetch_robots_rules(self, robots_url: URL) -> _RobotsRules:
        """Fetch a site's robots.txt (RFC 9309).

        Everything is allowed if there is none, and nothing if it exists but is unavailable.
        """
        target, location = robots_url, ""
        for _ in range(self._max_redirects + 1):
            try:
                async with self._open_response(target) as response:
                    if response.status not in REDIRECT_STATUSES or "Location" not in response.headers:
                        return await _parse_robots(response)
                    location = response.headers["Location"]
                target = self._redirect_target(target, location)
            except ServiceError as error:
                if not location and error.reason in ("refused", "unreachable"):
                    raise
                return _unavailable_rules(f"robots.txt of {robots_url.host} cannot be read: {error.message}")
        return _unavailable_rules(f"robots.txt of {robots_url.host} cannot be read: too many redirects")

    def _open_response(self, target: URL) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Open a response; see `open_response`."""
        if self._session is None:
            headers = {"User-Agent": self._user_agent, "Accept": "text/html,application/xhtml+xml,text/plain;q=0.8"}
            self._session = create_session(self._address_validator, headers, self._tls_context)
        return open_response(self._session, target)


async def _parse_robots(response: aiohttp.ClientResponse) -> _RobotsRules:
    """Return the rules that a response to the request for robots.txt implies."""
    if response.status >= 500 or response.status == 429:
        return _unavailable_rules(
            f"{response.url.host} answered the request for its robots.txt with "
            f"HTTP {response.status}, so its pages are left alone for now"
        )
    text = ""
    if response.status == 200:
        body = await read_body(response, MAX_ROBOTS_BYTES, truncate=True)
        text = body.decode("utf-8-sig", "replace")
    robots = await asyncio.to_thread(Protego.parse, text)
    return _RobotsRules(time.monotonic() + CACHE_SECONDS, robots)


def _cache_key(url: str) -> str:
    """Return the cache key of a page: wrapper addresses keep their own key, apart from their
    target.
    """
    return url if is_wrapper_url(url) else url_identity(url) or url


def _unavailable_rules(fetch_error: str) -> _RobotsRules:
    return _RobotsRules(time.monotonic() + ROBOTS_RETRY_SECONDS, Protego(), fetch_error)


def _status_error(response: aiohttp.ClientResponse) -> ServiceError:
    """Return the error for an HTTP status of a page, without hints about keys or endpoints."""
    host = response.url.host or ""
    if response.status in _BLOCKED_STATUSES:
        return ServiceError("blocked", f"HTTP {response.status}: {host}")
    return error_from_page_status(response.status, host, response.headers)
