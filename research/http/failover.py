"""Failover between providers of the same service: the first one that answers is used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from research.core.deadlines import Countdown, deadline
from research.core.errors import ServiceError
from research.core.records import Failure, Finding, Task


class HasName(Protocol):
    """A provider that has a name."""

    @property
    def name(self) -> str: ...


_ProviderT = TypeVar("_ProviderT", bound=HasName)
_ResultT = TypeVar("_ResultT")


async def first_answer(
    providers: Sequence[_ProviderT], query: str, ask: Callable[[_ProviderT], Awaitable[_ResultT]], countdown: Countdown
) -> tuple[tuple[_ProviderT, _ResultT] | None, list[Failure]]:
    """Return the first answer with its provider, None if all fail, and the failures of the others.

    Each provider in turn gets an equal share of the remaining time, so that one that hangs leaves
    time for those after it. `query` is only repeated in the failures.
    """
    failures: list[Failure] = []
    for index, provider in enumerate(providers):
        share = countdown.remaining_seconds / (len(providers) - index)
        try:
            async with deadline(share):
                return (provider, await ask(provider)), failures
        except TimeoutError:
            failure = ServiceError("timeout", f"{provider.name} did not answer within {share:.3g} s")
        except ServiceError as error:
            failure = error
        failures.append(failure.to_failure("search", provider.name, query))
    return None, failures


def failed_finding(task: Task, started: datetime, failures: Sequence[Failure]) -> Finding:
    """Build the finding of a search that every provider failed: the first failure gives its reason,
    the others are listed."""
    first, *others = failures
    is_named = first.source in first.message.lower()
    return Finding(
        task=task,
        reason=first.reason,
        hint=first.hint,
        message=first.message if is_named else f"{first.source}: {first.message}",
        started=started,
        provider=first.source,
        failures=tuple(others),
    )
