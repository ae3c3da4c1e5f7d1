"""Services that stand in for each other: the first that answers is the one that counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from research.core.deadlines import Clock, deadline
from research.core.errors import Trouble
from research.core.records import Failure, Finding, Task


class Named(Protocol):
    """A service with a name."""

    @property
    def name(self) -> str: ...


_P = TypeVar("_P", bound=Named)
_T = TypeVar("_T")


async def first(
    providers: Sequence[_P], query: str, ask: Callable[[_P], Awaitable[_T]], clock: Clock
) -> tuple[tuple[_P, _T] | None, list[Failure]]:
    """The first provider that answers, with its answer, and the failures of those before it.

    Each has its share of the time that is left, so that one that hangs leaves some to the others.
    """
    failures: list[Failure] = []
    for at, provider in enumerate(providers):
        share = clock.left / (len(providers) - at)
        try:
            async with deadline(share):
                return (provider, await ask(provider)), failures
        except TimeoutError:
            trouble = Trouble("timeout", f"{provider.name} did not answer within {share:.3g} s")
        except Trouble as error:
            trouble = error
        failures.append(trouble.failure("search", provider.name, query))
    return None, failures


def lost(task: Task, started: datetime, failures: Sequence[Failure]) -> Finding:
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
