"""News from the feeds that the operator configures (`NEWS_FEEDS`): no key, no other service.

The six news tools are filters over the current feeds, which hold an outlet's last days, not its
archive. A feed that fails is reported and does not affect the others.
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
from research.core.events import EventEmitter
from research.core.records import Failure, Readiness
from research.core.text.tokenizer import detect_language, word_weights
from research.http.sanitize import tidy_text
from research.sources.base import configured_readiness
from research.sources.news.article import Article
from research.sources.news.feed_parser import Feed, FeedItem, parse_feed, parse_feed_list
from research.sources.news.notes import make_note
from research.sources.news.provider import NewsResult, article_pictures
from research.sources.news.search_tools import NewsRequest
from research.sources.news.similarity import cross_language_overlap, extract_features

if TYPE_CHECKING:
    from research.sources.news.feed_client import FeedClient

FEEDS_SETTING = "NEWS_FEEDS"
PROVIDER_NAME = "feeds"
MAX_CONCURRENT_FETCHES = 8  # feeds fetched concurrently
MAX_FEEDS = 500
CACHE_SECONDS = 300.0  # before a feed is fetched again
MAX_LIST_BYTES = 5_000_000  # of a local list of feeds
MIN_SCORE = 0.3  # minimum share of a query's word weights in an article
MIN_CROSS_LANGUAGE_SCORE = 0.5  # minimum share for articles in another language
TEXT_WORD_FACTOR = 0.6  # weight of a word outside the title


@dataclass
class _CachedFeed:
    """A feed as last fetched, with its validators for conditional requests."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    fetched_at: float = float("-inf")
    feed: Feed | None = None
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True)
class _FeedSource:
    """The address of a feed; `is_trusted` if it was configured by the operator."""

    url: str
    is_trusted: bool

    @property
    def display_name(self) -> str:
        """The address without credentials and query string."""
        parts = urlsplit(self.url)
        return parts.netloc.rpartition("@")[2] + parts.path


class FeedSearch:
    """Searches news in the configured feeds."""

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
        """Create a search over `feeds`: addresses of feeds or OPML lists, or paths of OPML files.

        `timeout_seconds` limits the time in which all feeds are fetched.
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
        return configured_readiness(bool(self._configured_feeds), FEEDS_SETTING)

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
        notes = [make_note("feeds", count=len(feeds))]
        language = detect_language(query)
        if foreign_count := sum(
            detect_language(item.article.title) != language for feed in feeds for item in feed.items
        ):
            notes.append(make_note("in English" if language == "zh" else "in Chinese", count=foreign_count))
        return NewsResult(
            articles=tuple(articles),
            pictures=article_pictures(articles) if request.tool.has_pictures else (),
            notes=tuple(notes),
            failures=tuple(failures),
        )

    async def close(self) -> None:
        if self._client:
            await self._client.close()

    # Fetching

    async def _load_feeds(self) -> tuple[list[Feed], list[Failure]]:
        """Return the feeds fetched in time, and the failures."""
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        sources, failures = await self._list_sources()
        seen: set[str] = set()
        feeds: list[Feed] = []
        for depth in range(2):  # lists of feeds are not nested
            unique_sources = {source.url: source for source in reversed(sources) if source.url not in seen}
            seen |= set(unique_sources)
            chosen = list(reversed(unique_sources.values()))[: max(0, MAX_FEEDS - len(feeds))]
            sources = []
            for source, outcome in await self._fetch_all(chosen, deadline):
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
        """Return the feeds named by the setting; feeds in a local list are trusted."""
        sources: list[_FeedSource] = []
        failures: list[Failure] = []
        for entry in self._configured_feeds:
            if "://" in entry:
                sources.append(_FeedSource(entry, is_trusted=True))
                continue
            try:
                urls = await asyncio.to_thread(_read_feed_list, entry)
                sources += [_FeedSource(url, is_trusted=True) for url in urls]
            except ServiceError as error:
                failures.append(error.to_failure("search", self.name, Path(entry).name))
        return sources[:MAX_FEEDS], failures

    async def _fetch_all(
        self, sources: Sequence[_FeedSource], deadline: float
    ) -> list[tuple[_FeedSource, Feed | Failure]]:
        outcomes = await asyncio.gather(*(self._fetch_one(source, deadline) for source in sources))
        return list(zip(sources, outcomes, strict=True))

    async def _fetch_one(self, source: _FeedSource, deadline: float) -> Feed | Failure:
        """Return a feed from the cache or the network; concurrent searches share one request."""
        cached = self._cache.setdefault(source.url, _CachedFeed())
        try:
            async with asyncio.timeout_at(deadline), cached.lock:
                if cached.feed and self._monotonic() - cached.fetched_at < self._cache_seconds:
                    return cached.feed
                async with self._semaphore:
                    return await self._refresh(source, cached)
        except TimeoutError:
            error = ServiceError("timeout", f"it was not there within {self._timeout_seconds:g} s", is_retryable=True)
        except ServiceError as service_error:
            error = service_error
        return error.to_failure("search", self.name, source.display_name)

    async def _refresh(self, source: _FeedSource, cached: _CachedFeed) -> Feed:
        if self._client is None:
            from research.sources.news.feed_client import FeedClient

            self._client = FeedClient(timeout_seconds=self._timeout_seconds)
        response = await self._client.fetch(
            source.url, is_trusted=source.is_trusted, etag=cached.etag, last_modified=cached.last_modified
        )
        if response.body is not None:
            cached.feed = await asyncio.to_thread(
                parse_feed, response.body, response.url, self._clock(), response.content_type
            )
            cached.etag, cached.last_modified = response.etag, response.last_modified
        elif cached.feed is None:
            raise ServiceError("malformed", "HTTP 304 to a first request")
        cached.fetched_at = self._monotonic()
        return cached.feed


def _feed_failure(source: _FeedSource, reason: str) -> Failure:
    return ServiceError("malformed", reason).to_failure("search", PROVIDER_NAME, source.display_name)


def _read_feed_list(path: str) -> tuple[str, ...]:
    """Read the feed addresses from a local OPML file.

    Raises:
        ServiceError: the file cannot be read.
    """
    file = Path(path).expanduser()
    try:
        with file.open("rb") as stream:
            body = stream.read(MAX_LIST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise ServiceError("unreachable", f"{FEEDS_SETTING}: {file.name} cannot be read: {reason}") from error
    if len(body) > MAX_LIST_BYTES:
        raise ServiceError("too large", f"{FEEDS_SETTING}: {file.name} is longer than {MAX_LIST_BYTES:,} bytes")
    return parse_feed_list(body)


# Matching


def find_articles(feeds: Iterable[Feed], query: str, request: NewsRequest, now: datetime) -> list[Article]:
    """Return the articles that match a query, best first.

    Articles without a date come last if time is limited. A query without informative words matches
    every article, latest first.
    """
    weights, query_features, language = word_weights(query), extract_features(query), detect_language(query)
    window = request.time_window(now)
    ranked: dict[str, tuple[tuple[bool, float, float], Article]] = {}
    for item in (item for feed in feeds for item in feed.items):
        article = item.article
        score = _match_score(item, weights)
        if score < MIN_SCORE and detect_language(article.title) != language:
            overlap = cross_language_overlap(query_features, extract_features(article.title, article.text))
            score = overlap * TEXT_WORD_FACTOR if overlap >= MIN_CROSS_LANGUAGE_SCORE else score
        is_outside = window is not None and window.is_outside(article.moment)
        if score < MIN_SCORE or is_outside or (request.tool.has_pictures and not article.image):
            continue
        moment = article.published.timestamp() if article.published else float("-inf")
        is_undated = window is not None and article.published is None
        ranked.setdefault(article.url, ((is_undated, -round(score, 1), -moment), article))
    ordered = sorted(ranked.values(), key=lambda pair: pair[0])
    return [article for _, article in ordered[: request.tool.max_results]]


def _match_score(item: FeedItem, weights: dict[str, float]) -> float:
    """Return the weighted share (0 to 1) of the query's words that an article contains.

    `weights` are those of the query's words; without any, every article has 1.
    """
    if not weights:
        return 1.0
    shared = sum(
        weight * (1.0 if word in item.title_words else TEXT_WORD_FACTOR)
        for word, weight in weights.items()
        if word in item.all_words
    )
    return shared / sum(weights.values())
