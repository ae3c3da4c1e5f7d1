"""What a run works with, handed down whole to its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from research.agent.nodes.budget import Meter
from research.agent.nodes.update import Earlier
from research.agent.reasoner import Checker, Reasoner
from research.core.records import Finding, Memory, Options, Plan, Task
from research.sources.base import Notes, Retriever


class Ledger(Protocol):
    """Remembers searches. What it has taken in survives the process."""

    async def recall(self, task: Task) -> Finding | None:
        """What is known for a task already, if anything."""

    async def begin(self, task: Task) -> int:
        """Notes that a search starts; the number goes to `finish`."""

    async def finish(self, search: int, finding: Finding) -> None:
        """Keeps what a search brought back."""


class Unnoted:
    """Notes of nothing."""

    def noted(self, step: str) -> str | None:
        return None

    async def note(self, step: str, text: str) -> None:
        pass


@dataclass(frozen=True)
class RunContext:
    """The helpers and limits of a run, given anew at each start and resume. Times are seconds."""

    reasoner: Reasoner
    sources: Mapping[str, Retriever]
    options: Options
    ledger: Ledger
    plan: Plan | None = None
    before: Memory = field(default_factory=Memory)
    deadline: float = 30.0
    delay: float = 0.0
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    meter: Meter = field(default_factory=lambda: Meter(Options()))
    notes: Notes = field(default_factory=Unnoted)
    tell: Callable[[str, dict[str, Any]], None] = lambda kind, data: None  # what a stage says
    earlier: Earlier | None = None  # the report that is brought up to date
    checker: Checker | None = None  # of the sentences of an answer
    repair: str = "off"
    clarified: str | None = None  # what was answered to what the run asked back; "" skips that
    instructions: Callable[[], Sequence[str]] = lambda: ()  # what was said to the run so far
