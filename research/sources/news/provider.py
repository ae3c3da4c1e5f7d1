"""The seam between the news source and whoever is asked for news."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from research.core.errors import Trouble
from research.core.records import Failure, Picture, Readiness, Say
from research.sources.news.article import Article
from research.sources.news.notes import Note
from research.sources.news.tools import Request

ATTEMPTS = 2
BACKOFF = 1.0  # seconds before the second attempt, twice as many before each further one
PATIENCE = 30.0  # seconds that a service may ask to be left alone for

_T = TypeVar("_T")


@dataclass(frozen=True)
class News:
    """What one query brought back from one provider. Nothing found is `articles=()`, no error.

    `lead` is the provider's own text; `asked` is the query as it was sent, if it was changed;
    `notes` say what somebody who reads the result has to know.
    """

    articles: tuple[Article, ...] = ()
    pictures: tuple[Picture, ...] = ()
    lead: str = ""
    asked: str = ""
    notes: tuple[Note, ...] = ()
    failures: tuple[Failure, ...] = ()


class Provider(Protocol):
    """One place to look for news. Belongs to the loop on which it is first used."""

    @property
    def name(self) -> str:
        """tavily, feeds, gdelt."""

    def ready(self) -> Readiness:
        """Whether it is configured; if not, `detail` names the setting. Quick: no network."""

    async def search(self, query: str, request: Request, say: Say) -> News:
        """Looks for one query.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""


async def again(
    call: Callable[[], Awaitable[_T]],
    name: str,
    say: Say,
    *,
    attempts: int = ATTEMPTS,
    backoff: float = BACKOFF,
    patience: float = PATIENCE,
) -> _T:
    """What a call brings, which is repeated where that can help: a bounded number of times, after
    waits that can be cancelled and are told.

    Raises:
        Trouble: that of the last attempt.
    """
    for attempt in range(1, attempts + 1):
        try:
            return await call()
        except Trouble as found:
            wait = backoff * 2 ** (attempt - 1) if found.after is None else found.after
            if found.after is not None and wait > patience:
                text = f"{found.message} (possible again in {wait:g} s)"
                raise Trouble(found.reason, text, hint=found.hint) from found
            if attempt == attempts or not found.again:
                raise
            say("waiting", stage="search", seconds=wait, reason=found.reason, what=name)
        await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")
