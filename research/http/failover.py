"""Services that stand in for each other: the first that answers is the one that counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from research.core.deadlines import Countdown, deadline
from research.core.errors import ServiceError
from research.core.records import Failure, Finding, Task


class HasName(Protocol):
    """A service with a name."""

    @property
    def name(self) -> str: ...


_ProviderT = TypeVar("_ProviderT", bound=HasName)
_ResultT = TypeVar("_ResultT")


async def ask_in_order(
    providers: Sequence[_ProviderT], query: str, ask: Callable[[_ProviderT], Awaitable[_ResultT]], countdown: Countdown
) -> tuple[tuple[_ProviderT, _ResultT] | None, list[Failure]]:
    """The first provider that answers, with its answer, and the failures of those before it.

    Each has its share of the time that is left, so that one that hangs leaves some to the others.
    """
    failures: list[Failure] = []
    for at, provider in enumerate(providers):
        share = countdown.remaining_seconds / (len(providers) - at)
        try:
            async with deadline(share):
                return (provider, await ask(provider)), failures
        except TimeoutError:
            trouble = ServiceError("timeout", f"{provider.name} did not answer within {share:.3g} s")
        except ServiceError as error:
            trouble = error
        failures.append(trouble.to_failure("search", provider.name, query))
    return None, failures


def failed_finding(task: Task, started: datetime, failures: Sequence[Failure]) -> Finding:
    """Nobody answered: the first choice's reason is that of the search, the others stand by."""
    first, *others = failures
    named = first.source in first.message.lower()
    return Finding(
        task=task,
        reason=first.reason,
        hint=first.hint,
        message=first.message if named else f"{first.source}: {first.message}",
        started=started,
        provider=first.source,
        failures=tuple(others),
    )
