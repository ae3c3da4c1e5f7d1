"""The helpers and limits of a run, passed to each of its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from research.agent.nodes.budget import RunBudget
from research.agent.nodes.report_update import EarlierReport
from research.agent.reasoner import CitationChecker, Reasoner
from research.core.events import EventEmitter, ignore_event
from research.core.records import Finding, Memory, Plan, RunOptions, Task
from research.sources.base import Retriever, StepResults


class Ledger(Protocol):
    """A store of searches that outlives the process."""

    async def find(self, task: Task) -> Finding | None:
        """Return the stored finding of a task; None if there is none."""

    async def start_search(self, task: Task) -> int:
        """Record that a search starts; return the id for `finish_search`."""

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        """Store the finding of a search."""


class NoStepResults:
    """A store of step results that stores nothing."""

    def load_result(self, step: str) -> str | None:
        return None

    async def save_result(self, step: str, text: str) -> None:
        pass


@dataclass(frozen=True)
class RunContext:
    """The helpers and limits of a run, created at each start and resumption."""

    reasoner: Reasoner
    sources: Mapping[str, Retriever]
    options: RunOptions
    ledger: Ledger
    plan: Plan | None = None  # approved, edited or continued; None to let the reasoner plan
    memory: Memory = field(default_factory=Memory)  # of earlier turns
    deadline_seconds: float = 30.0  # of each call of a search
    delay_seconds: float = 0.0  # before each search
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    budget: RunBudget = field(default_factory=lambda: RunBudget(RunOptions()))
    step_results: StepResults = field(default_factory=NoStepResults)
    send_event: EventEmitter = ignore_event
    earlier_report: EarlierReport | None = None  # to be updated
    checker: CitationChecker | None = None  # of the answer's sentences
    repair_mode: str = "off"  # of unsupported sentences: off, drop or rewrite
    clarification: str | None = None  # the user's answer; "" skips the question
    instructions: Callable[[], Sequence[str]] = lambda: ()  # received so far
