"""Interface between the news source and its providers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from research.core.errors import ServiceError
from research.core.events import EventEmitter, RetryScheduled
from research.core.records import Failure, Picture, Readiness
from research.sources.news.article import Article
from research.sources.news.notes import Note
from research.sources.news.search_tools import NewsRequest

MAX_ATTEMPTS = 2
BACKOFF_SECONDS = 1.0  # before the second attempt; doubled for each further one
MAX_RETRY_AFTER_SECONDS = 30.0  # longest accepted Retry-After

_T = TypeVar("_T")


@dataclass(frozen=True)
class NewsResult:
    """The result of one query to one provider; an empty result is `articles=()`, not an error.

    `provider_summary` is the provider's own text; `executed_query` is the query as sent, if
    changed; `notes` are remarks for the reader.
    """

    articles: tuple[Article, ...] = ()
    pictures: tuple[Picture, ...] = ()
    provider_summary: str = ""
    executed_query: str = ""
    notes: tuple[Note, ...] = ()
    failures: tuple[Failure, ...] = ()


def article_pictures(articles: Iterable[Article]) -> tuple[Picture, ...]:
    """Return the images of articles."""
    return tuple(Picture(url=article.image, caption=article.title, page=article.url) for article in articles)


class NewsProvider(Protocol):
    """A provider of news search. Belongs to the event loop on which it is first used."""

    @property
    def name(self) -> str:
        """Name of the provider: tavily, feeds, gdelt."""

    def readiness(self) -> Readiness:
        """Return whether it is configured; if not, `detail` names the setting. Uses no network."""

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        """Search for one query.

        Raises:
            ServiceError: the search failed.
        """

    async def close(self) -> None:
        """Release the connections."""


async def retry(
    call: Callable[[], Awaitable[_T]],
    provider_name: str,
    emit: EventEmitter,
    *,
    backoff_seconds: float = BACKOFF_SECONDS,
    max_retry_after_seconds: float = MAX_RETRY_AFTER_SECONDS,
) -> _T:
    """Make a call up to `MAX_ATTEMPTS` times, as long as its failure is retryable.

    The wait between attempts is the service's Retry-After, or else doubles from `backoff_seconds`;
    each wait emits an event.

    Raises:
        ServiceError: the last attempt failed, or the service demands a longer wait than
            `max_retry_after_seconds`.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return await call()
        except ServiceError as error:
            wait = error.retry_after_seconds
            if wait is not None and wait > max_retry_after_seconds:
                text = f"{error.message} (possible again in {wait:g} s)"
                raise ServiceError(error.reason, text, hint=error.hint) from error
            wait = backoff_seconds * 2 ** (attempt - 1) if wait is None else wait
            if attempt == MAX_ATTEMPTS or not error.is_retryable:
                raise
            emit(RetryScheduled(stage="search", service=provider_name, reason=error.reason, seconds=wait))
        await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")
