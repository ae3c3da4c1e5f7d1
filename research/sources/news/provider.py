"""The seam between the news source and whoever is asked for news."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from research.core.errors import ServiceError
from research.core.records import EventEmitter, Failure, Picture, Readiness
from research.sources.news.article import Article
from research.sources.news.notes import Note
from research.sources.news.search_tools import NewsRequest

MAX_ATTEMPTS = 2
BACKOFF_SECONDS = 1.0  # seconds before the second attempt, twice as many before each further one
MAX_RETRY_AFTER_SECONDS = 30.0  # seconds that a service may ask to be left alone for

_T = TypeVar("_T")


@dataclass(frozen=True)
class NewsResult:
    """What one query brought back from one provider. Nothing found is `articles=()`, no error.

    `lead` is the provider's own text; `asked` is the query as it was sent, if it was changed;
    `notes` say what somebody who reads the result has to know.
    """

    articles: tuple[Article, ...] = ()
    pictures: tuple[Picture, ...] = ()
    provider_summary: str = ""
    executed_query: str = ""
    notes: tuple[Note, ...] = ()
    failures: tuple[Failure, ...] = ()


class NewsProvider(Protocol):
    """One place to look for news. Belongs to the loop on which it is first used."""

    @property
    def name(self) -> str:
        """tavily, feeds, gdelt."""

    def readiness(self) -> Readiness:
        """Whether it is configured; if not, `detail` names the setting. Quick: no network."""

    async def search(self, query: str, request: NewsRequest, emit: EventEmitter) -> NewsResult:
        """Looks for one query.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""


async def retry(
    call: Callable[[], Awaitable[_T]],
    provider_name: str,
    emit: EventEmitter,
    *,
    max_attempts: int = MAX_ATTEMPTS,
    backoff_seconds: float = BACKOFF_SECONDS,
    max_retry_after_seconds: float = MAX_RETRY_AFTER_SECONDS,
) -> _T:
    """What a call brings, which is repeated where that can help: a bounded number of times, after
    waits that can be cancelled and are told.

    Raises:
        Trouble: that of the last attempt.
    """
    for attempt in range(1, max_attempts + 1):
        try:
            return await call()
        except ServiceError as found:
            wait = (
                backoff_seconds * 2 ** (attempt - 1) if found.retry_after_seconds is None else found.retry_after_seconds
            )
            if found.retry_after_seconds is not None and wait > max_retry_after_seconds:
                text = f"{found.message} (possible again in {wait:g} s)"
                raise ServiceError(found.reason, text, hint=found.hint) from found
            if attempt == max_attempts or not found.is_retryable:
                raise
            emit("waiting", stage="search", seconds=wait, reason=found.reason, what=provider_name)
        await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")
