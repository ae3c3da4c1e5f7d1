"""News from feeds that the operator names (`NEWS_FEEDS`): no key, no other service.

The six tools are filters over what the feeds hold now, which is the last days of an outlet and not
its archive. One feed that fails costs only itself, and is named.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from research.core.errors import Trouble
from research.core.records import Failure, Picture, Readiness, Say
from research.core.text.words import detect_language, telling
from research.http.plain import tidy
from research.sources.news.article import Article
from research.sources.news.notes import noted
from research.sources.news.parsing import PROVIDER, Feed, Item, listed, parsed
from research.sources.news.pieces import piece, told_across
from research.sources.news.provider import News
from research.sources.news.tools import Request

if TYPE_CHECKING:
    from research.sources.news.feed_client import FeedClient

SETTING = "NEWS_FEEDS"
AT_ONCE = 8  # feeds that are fetched side by side
MOST = 500  # feeds in all
FRESH = 300.0  # seconds in which a feed is not asked again
LIST_SIZE = 5_000_000  # bytes of a list of feeds on this machine
MATCH = 0.3  # of what a query tells, an article has to share at least
ACROSS = 0.5  # the same of names and news words that both languages have, in the other language
IN_TEXT = 0.6  # what a word counts that is in the text and not in the title


@dataclass
class _Known:
    """A feed as it was when it was last fetched."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    since: float = float("-inf")
    feed: Feed | None = None
    etag: str = ""
    modified: str = ""


@dataclass(frozen=True)
class _Source:
    """A feed that is to be read; `own` says that its address is the operator's word."""

    url: str
    own: bool

    @property
    def name(self) -> str:
        """Its address as it may be shown: without a password and what follows the question mark."""
        parts = urlsplit(self.url)
        return parts.netloc.rpartition("@")[2] + parts.path


class Feeds:
    """Reads feeds and looks for news in them."""

    name = PROVIDER

    def __init__(
        self,
        feeds: Sequence[str],
        *,
        client: FeedClient | None = None,
        timeout: float = 20.0,
        fresh: float = FRESH,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """`feeds` are addresses of feeds or of OPML lists, and paths of such lists.

        `timeout` are the seconds in which all of them have to be there.
        """
        self._written = tuple(feeds)
        self._client = client
        self._timeout = timeout
        self._fresh = fresh
        self._clock = clock
        self._ticks = ticks
        self._known: dict[str, _Known] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def ready(self) -> Readiness:
        if self._written:
            return Readiness(state="live")
        return Readiness(state="missing", detail=SETTING)

    async def search(self, query: str, request: Request, say: Say) -> News:
        if not self._written:
            raise Trouble("no key", f"{SETTING} is not set")
        feeds, failures = await self._all()
        if not feeds and failures:
            first = failures[0]
            text = f"none of {len(failures)} feeds could be read; {first.query}: {first.message}"
            raise Trouble(first.reason, text)
        now = self._clock()
        articles = await asyncio.to_thread(found, feeds, tidy(query), request, now)
        pictures = [
            Picture(url=article.image, caption=article.title, page=article.url)
            for article in articles
            if request.tool.pictures
        ]
        notes = [noted("feeds", count=len(feeds))]
        tongue = detect_language(query)
        if foreign := sum(
            detect_language(i.article.title) != tongue for f in feeds for i in f.items
        ):
            notes.append(noted("in English" if tongue == "zh" else "in Chinese", count=foreign))
        return News(
            articles=tuple(articles),
            pictures=tuple(pictures),
            notes=tuple(notes),
            failures=tuple(failures),
        )

    async def close(self) -> None:
        if self._client:
            await self._client.close()

    # Fetching

    async def _all(self) -> tuple[list[Feed], list[Failure]]:
        """Every feed that could be read in time, and what failed."""
        until = asyncio.get_running_loop().time() + self._timeout
        sources, failures = await self._sources()
        seen: set[str] = set()
        feeds: list[Feed] = []
        for depth in range(2):  # a list may name feeds, and no further lists
            due = {source.url: source for source in reversed(sources) if source.url not in seen}
            seen |= set(due)
            chosen = list(reversed(due.values()))[: max(0, MOST - len(feeds))]
            sources = []
            for source, outcome in await self._fetched(chosen, until):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                elif outcome.listing and depth:
                    failures.append(_fault(source, "a list within a list is not read"))
                elif outcome.listing:
                    sources += [_Source(url, own=False) for url in outcome.lists]
                else:
                    feeds.append(outcome)
                    failures += [_fault(source, outcome.fault)] if outcome.fault else []
        return feeds, failures

    async def _sources(self) -> tuple[list[_Source], list[Failure]]:
        """The feeds that the setting names; a list on this machine is the operator's own word."""
        sources: list[_Source] = []
        failures: list[Failure] = []
        for entry in self._written:
            if "://" in entry:
                sources.append(_Source(entry, own=True))
                continue
            try:
                urls = await asyncio.to_thread(_read, entry)
                sources += [_Source(url, own=True) for url in urls]
            except Trouble as trouble:
                failures.append(trouble.failure("search", self.name, Path(entry).name))
        return sources[:MOST], failures

    async def _fetched(
        self, sources: Sequence[_Source], until: float
    ) -> list[tuple[_Source, Feed | Failure]]:
        outcomes = await asyncio.gather(*(self._one(source, until) for source in sources))
        return list(zip(sources, outcomes, strict=True))

    async def _one(self, source: _Source, until: float) -> Feed | Failure:
        """A feed as it is now: asked for once, however many searches want it."""
        known = self._known.setdefault(source.url, _Known())
        try:
            async with asyncio.timeout_at(until), known.lock:
                if known.feed and self._ticks() - known.since < self._fresh:
                    return known.feed
                async with self._turns:
                    return await self._renewed(source, known)
        except TimeoutError:
            trouble = Trouble("timeout", f"it was not there within {self._timeout:g} s", again=True)
        except Trouble as found:
            trouble = found
        return trouble.failure("search", self.name, source.name)

    async def _renewed(self, source: _Source, known: _Known) -> Feed:
        if self._client is None:
            from research.sources.news.feed_client import FeedClient

            self._client = FeedClient(deadline=self._timeout)
        delivery = await self._client.get(
            source.url, own=source.own, etag=known.etag, modified=known.modified
        )
        if delivery.body is not None:
            known.feed = await asyncio.to_thread(
                parsed, delivery.body, delivery.url, self._clock(), delivery.kind
            )
            known.etag, known.modified = delivery.etag, delivery.modified
        elif known.feed is None:
            raise Trouble("malformed", "HTTP 304 to a first request")
        known.since = self._ticks()
        return known.feed


def _fault(source: _Source, fault: str) -> Failure:
    return Trouble("malformed", fault).failure("search", PROVIDER, source.name)


def _read(path: str) -> tuple[str, ...]:
    """The feeds that a list on this machine names.

    Raises:
        Trouble: it cannot be read.
    """
    file = Path(path).expanduser()
    try:
        with file.open("rb") as stream:
            body = stream.read(LIST_SIZE + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no path"
        raise Trouble("unreachable", f"{SETTING}: {file.name} cannot be read: {why}") from error
    if len(body) > LIST_SIZE:
        raise Trouble("too large", f"{SETTING}: {file.name} is longer than {LIST_SIZE:,} bytes")
    return listed(body)


# Looking


def found(feeds: Iterable[Feed], query: str, request: Request, now: datetime) -> list[Article]:
    """The articles that speak to a query, best first: those of the time asked for, then those of
    which nobody knows the date. A query that tells nothing finds the latest."""
    weights, asked, tongue = telling(query), piece(query), detect_language(query)
    window = request.window(now)
    ranked: dict[str, tuple[tuple[bool, float, float], Article]] = {}
    for item in (item for feed in feeds for item in feed.items):
        article = item.article
        score = _score(item, weights)
        if score < MATCH and detect_language(article.title) != tongue:
            across = told_across(asked, piece(article.title, article.text))
            score = across * IN_TEXT if across >= ACROSS else score
        misses = window is not None and window.misses(article.moment)
        if score < MATCH or misses or (request.tool.pictures and not article.image):
            continue
        moment = article.published.timestamp() if article.published else float("-inf")
        unknown = window is not None and article.published is None
        ranked.setdefault(article.url, ((unknown, -round(score, 1), -moment), article))
    ordered = sorted(ranked.values(), key=lambda pair: pair[0])
    return [article for _, article in ordered[: request.tool.results]]


def _score(item: Item, weights: dict[str, float]) -> float:
    """How much of what a query tells an article shares (0 to 1)."""
    if not weights:
        return 1.0
    shared = sum(
        weight * (1.0 if word in item.title else IN_TEXT)
        for word, weight in weights.items()
        if word in item.words
    )
    return shared / sum(weights.values())
