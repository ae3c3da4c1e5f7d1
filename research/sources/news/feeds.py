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

from research.core.errors import ServiceError
from research.core.records import EventEmitter, Failure, Picture, Readiness
from research.core.text.tokenizer import detect_language, word_weights
from research.http.sanitize import tidy_text
from research.sources.news.article import Article
from research.sources.news.feed_parser import PROVIDER_NAME, Feed, FeedItem, parse_feed, parse_feed_list
from research.sources.news.notes import make_note
from research.sources.news.provider import NewsResult
from research.sources.news.search_tools import NewsRequest
from research.sources.news.similarity import cross_language_overlap, extract_features

if TYPE_CHECKING:
    from research.sources.news.feed_client import FeedClient

FEEDS_SETTING = "NEWS_FEEDS"
MAX_CONCURRENT_FETCHES = 8  # feeds that are fetched side by side
MAX_FEEDS = 500  # feeds in all
CACHE_SECONDS = 300.0  # seconds in which a feed is not asked again
MAX_LIST_BYTES = 5_000_000  # bytes of a list of feeds on this machine
MIN_SCORE = 0.3  # of what a query tells, an article has to share at least
MIN_CROSS_LANGUAGE_SCORE = 0.5  # the same of names and news words that both languages have, in the other language
TEXT_WORD_FACTOR = 0.6  # what a word counts that is in the text and not in the title


@dataclass
class _CachedFeed:
    """A feed as it was when it was last fetched."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    fetched_at: float = float("-inf")
    feed: Feed | None = None
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True)
class _FeedSource:
    """A feed that is to be read; `own` says that its address is the operator's word."""

    url: str
    is_trusted: bool

    @property
    def display_name(self) -> str:
        """Its address as it may be shown: without a password and what follows the question mark."""
        parts = urlsplit(self.url)
        return parts.netloc.rpartition("@")[2] + parts.path


class FeedSearch:
    """Reads feeds and looks for news in them."""

    name = PROVIDER_NAME

    def __init__(
        self,
        feeds: Sequence[str],
        *,
        client: FeedClient | None = None,
        timeout_seconds: float = 20.0,
        cache_seconds: float = CACHE_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`feeds` are addresses of feeds or of OPML lists, and paths of such lists.

        `timeout` are the seconds in which all of them have to be there.
        """
        self._configured_feeds = tuple(feeds)
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._monotonic = monotonic
        self._cache: dict[str, _CachedFeed] = {}
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)

    def readiness(self) -> Readiness:
        if self._configured_feeds:
            return Readiness(state="live")
        return Readiness(state="missing", detail=FEEDS_SETTING)

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        if not self._configured_feeds:
            raise ServiceError("no key", f"{FEEDS_SETTING} is not set")
        feeds, failures = await self._load_feeds()
        if not feeds and failures:
            first = failures[0]
            text = f"none of {len(failures)} feeds could be read; {first.query}: {first.message}"
            raise ServiceError(first.reason, text)
        now = self._clock()
        articles = await asyncio.to_thread(find_articles, feeds, tidy_text(query), request, now)
        pictures = [
            Picture(url=article.image, caption=article.title, page=article.url)
            for article in articles
            if request.tool.has_pictures
        ]
        notes = [make_note("feeds", count=len(feeds))]
        tongue = detect_language(query)
        if foreign := sum(detect_language(i.article.title) != tongue for f in feeds for i in f.items):
            notes.append(make_note("in English" if tongue == "zh" else "in Chinese", count=foreign))
        return NewsResult(
            articles=tuple(articles),
            pictures=tuple(pictures),
            notes=tuple(notes),
            failures=tuple(failures),
        )

    async def close(self) -> None:
        if self._client:
            await self._client.close()

    # Fetching

    async def _load_feeds(self) -> tuple[list[Feed], list[Failure]]:
        """Every feed that could be read in time, and what failed."""
        until = asyncio.get_running_loop().time() + self._timeout_seconds
        sources, failures = await self._list_sources()
        seen: set[str] = set()
        feeds: list[Feed] = []
        for depth in range(2):  # a list may name feeds, and no further lists
            due = {source.url: source for source in reversed(sources) if source.url not in seen}
            seen |= set(due)
            chosen = list(reversed(due.values()))[: max(0, MAX_FEEDS - len(feeds))]
            sources = []
            for source, outcome in await self._fetch_all(chosen, until):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                elif outcome.is_list and depth:
                    failures.append(_feed_failure(source, "a list within a list is not read"))
                elif outcome.is_list:
                    sources += [_FeedSource(url, is_trusted=False) for url in outcome.list_urls]
                else:
                    feeds.append(outcome)
                    failures += [_feed_failure(source, outcome.error_message)] if outcome.error_message else []
        return feeds, failures

    async def _list_sources(self) -> tuple[list[_FeedSource], list[Failure]]:
        """The feeds that the setting names; a list on this machine is the operator's own word."""
        sources: list[_FeedSource] = []
        failures: list[Failure] = []
        for entry in self._configured_feeds:
            if "://" in entry:
                sources.append(_FeedSource(entry, is_trusted=True))
                continue
            try:
                urls = await asyncio.to_thread(_read_feed_list, entry)
                sources += [_FeedSource(url, is_trusted=True) for url in urls]
            except ServiceError as trouble:
                failures.append(trouble.to_failure("search", self.name, Path(entry).name))
        return sources[:MAX_FEEDS], failures

    async def _fetch_all(
        self, sources: Sequence[_FeedSource], deadline: float
    ) -> list[tuple[_FeedSource, Feed | Failure]]:
        outcomes = await asyncio.gather(*(self._fetch_one(source, deadline) for source in sources))
        return list(zip(sources, outcomes, strict=True))

    async def _fetch_one(self, source: _FeedSource, deadline: float) -> Feed | Failure:
        """A feed as it is now: asked for once, however many searches want it."""
        known = self._cache.setdefault(source.url, _CachedFeed())
        try:
            async with asyncio.timeout_at(deadline), known.lock:
                if known.feed and self._monotonic() - known.fetched_at < self._cache_seconds:
                    return known.feed
                async with self._semaphore:
                    return await self._refresh(source, known)
        except TimeoutError:
            trouble = ServiceError("timeout", f"it was not there within {self._timeout_seconds:g} s", is_retryable=True)
        except ServiceError as found:
            trouble = found
        return trouble.to_failure("search", self.name, source.display_name)

    async def _refresh(self, source: _FeedSource, cached: _CachedFeed) -> Feed:
        if self._client is None:
            from research.sources.news.feed_client import FeedClient

            self._client = FeedClient(timeout_seconds=self._timeout_seconds)
        delivery = await self._client.fetch(
            source.url, is_trusted=source.is_trusted, etag=cached.etag, last_modified=cached.last_modified
        )
        if delivery.body is not None:
            cached.feed = await asyncio.to_thread(
                parse_feed, delivery.body, delivery.url, self._clock(), delivery.content_type
            )
            cached.etag, cached.last_modified = delivery.etag, delivery.last_modified
        elif cached.feed is None:
            raise ServiceError("malformed", "HTTP 304 to a first request")
        cached.fetched_at = self._monotonic()
        return cached.feed


def _feed_failure(source: _FeedSource, reason: str) -> Failure:
    return ServiceError("malformed", reason).to_failure("search", PROVIDER_NAME, source.display_name)


def _read_feed_list(path: str) -> tuple[str, ...]:
    """The feeds that a list on this machine names.

    Raises:
        Trouble: it cannot be read.
    """
    file = Path(path).expanduser()
    try:
        with file.open("rb") as stream:
            body = stream.read(MAX_LIST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no path"
        raise ServiceError("unreachable", f"{FEEDS_SETTING}: {file.name} cannot be read: {why}") from error
    if len(body) > MAX_LIST_BYTES:
        raise ServiceError("too large", f"{FEEDS_SETTING}: {file.name} is longer than {MAX_LIST_BYTES:,} bytes")
    return parse_feed_list(body)


# Looking


def find_articles(feeds: Iterable[Feed], query: str, request: NewsRequest, now: datetime) -> list[Article]:
    """The articles that speak to a query, best first: those of the time asked for, then those of
    which nobody knows the date. A query that tells nothing finds the latest."""
    weights, asked, tongue = word_weights(query), extract_features(query), detect_language(query)
    window = request.time_window(now)
    ranked: dict[str, tuple[tuple[bool, float, float], Article]] = {}
    for item in (item for feed in feeds for item in feed.items):
        article = item.article
        score = _match_score(item, weights)
        if score < MIN_SCORE and detect_language(article.title) != tongue:
            across = cross_language_overlap(asked, extract_features(article.title, article.text))
            score = across * TEXT_WORD_FACTOR if across >= MIN_CROSS_LANGUAGE_SCORE else score
        misses = window is not None and window.is_outside(article.moment)
        if score < MIN_SCORE or misses or (request.tool.has_pictures and not article.image):
            continue
        moment = article.published.timestamp() if article.published else float("-inf")
        unknown = window is not None and article.published is None
        ranked.setdefault(article.url, ((unknown, -round(score, 1), -moment), article))
    ordered = sorted(ranked.values(), key=lambda pair: pair[0])
    return [article for _, article in ordered[: request.tool.max_results]]


def _match_score(item: FeedItem, weights: dict[str, float]) -> float:
    """How much of what a query tells an article shares (0 to 1)."""
    if not weights:
        return 1.0
    shared = sum(
        weight * (1.0 if word in item.title_words else TEXT_WORD_FACTOR)
        for word, weight in weights.items()
        if word in item.all_words
    )
    return shared / sum(weights.values())
