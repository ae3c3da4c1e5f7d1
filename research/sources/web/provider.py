"""Interface between the web source and its providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from research.core.events import EventEmitter
from research.core.records import Evidence, Failure, Readiness, Span


@dataclass(frozen=True)
class SearchResult:
    """The result of one query to one provider; an empty result is `evidence=()`, not an error.

    `summary` is the cited text of a search model, if any; `executed_queries` are the queries it
    ran; `suggestions` is HTML that the provider's terms require to be shown.
    """

    evidence: tuple[Evidence, ...] = ()
    summary: tuple[Span, ...] = ()
    executed_queries: tuple[str, ...] = ()
    suggestions: str = ""
    message: str = ""
    failures: tuple[Failure, ...] = ()


class WebProvider(Protocol):
    """A provider of web search. Belongs to the event loop on which it is first used."""

    @property
    def name(self) -> str:
        """Name of the provider, such as gemini, tavily, searxng, wikipedia or deep-research."""

    @property
    def has_summary(self) -> bool:
        """True if its results come with a cited summary."""

    def readiness(self) -> Readiness:
        """Return whether it is configured; if not, `detail` names the setting. Uses no network."""

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        """Search for one query.

        Raises:
            ServiceError: the search failed.
        """

    async def close(self) -> None:
        """Release the connections."""
