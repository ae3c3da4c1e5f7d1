"""The seam between the web source and whoever searches the web for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from research.core.records import EventEmitter, Evidence, Failure, Readiness, Span


@dataclass(frozen=True)
class SearchResult:
    """What one query brought back from one provider.

    `summary` is cited text of a search model, if the provider has one; `asked` are the queries it
    ran; `suggestions` is HTML its terms want shown. Nothing found is `evidence=()`, not an error.
    """

    evidence: tuple[Evidence, ...] = ()
    summary: tuple[Span, ...] = ()
    executed_queries: tuple[str, ...] = ()
    suggestions: str = ""
    message: str = ""
    failures: tuple[Failure, ...] = ()


class WebProvider(Protocol):
    """One way to search the web. Clients are made at the first search and shared on one loop."""

    @property
    def name(self) -> str:
        """gemini, tavily, searxng, wikipedia, deep-research."""

    @property
    def has_summary(self) -> bool:
        """Whether what it finds comes with a cited summary of its own."""

    def readiness(self) -> Readiness:
        """Whether it is configured; if not, `detail` names the setting. Quick: no network."""

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        """Searches for one query.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""
