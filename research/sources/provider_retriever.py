"""Common parts of the retrievers that search through several providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from research.core.domains import DomainStatus


class Closable(Protocol):
    """A provider with connections that can be closed."""

    async def close(self) -> None: ...


_ProviderT = TypeVar("_ProviderT", bound=Closable)


class ProviderRetriever(Generic[_ProviderT]):
    """Base class of the retrievers of the web, news and papers. It owns its providers."""

    max_sequential_calls = 1

    def __init__(
        self,
        providers: Sequence[_ProviderT],
        *,
        timeout_seconds: float,
        domain_statuses: Mapping[str, DomainStatus] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout_seconds` is the deadline of a whole search; `domain_statuses` are the user's
        rules by domain."""
        self._providers = tuple(providers)
        self._timeout_seconds = timeout_seconds
        self._domain_statuses = domain_statuses or {}
        self._clock = clock

    async def close(self) -> None:
        """Close the connections of all providers."""
        for provider in self._providers:
            await provider.close()
