"""What a run works with, handed down whole to its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from research.agent.nodes.budget import RunBudget
from research.agent.nodes.report_update import EarlierReport
from research.agent.reasoner import CitationChecker, Reasoner
from research.core.records import Finding, Memory, Plan, RunOptions, Task
from research.sources.base import Retriever, StepResults


class Ledger(Protocol):
    """Remembers searches. What it has taken in survives the process."""

    async def find(self, task: Task) -> Finding | None:
        """What is known for a task already, if anything."""

    async def start_search(self, task: Task) -> int:
        """Notes that a search starts; the number goes to `finish`."""

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        """Keeps what a search brought back."""


class NoStepResults:
    """Notes of nothing."""

    def load_result(self, step: str) -> str | None:
        return None

    async def save_result(self, step: str, text: str) -> None:
        pass


@dataclass(frozen=True)
class RunContext:
    """The helpers and limits of a run, given anew at each start and resume. Times are seconds."""

    reasoner: Reasoner
    sources: Mapping[str, Retriever]
    options: RunOptions
    ledger: Ledger
    plan: Plan | None = None
    memory: Memory = field(default_factory=Memory)
    deadline_seconds: float = 30.0
    delay_seconds: float = 0.0
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    budget: RunBudget = field(default_factory=lambda: RunBudget(RunOptions()))
    step_results: StepResults = field(default_factory=NoStepResults)
    send_event: Callable[[str, dict[str, Any]], None] = lambda kind, data: None  # what a stage says
    earlier_report: EarlierReport | None = None  # the report that is brought up to date
    checker: CitationChecker | None = None  # of the sentences of an answer
    repair_mode: str = "off"
    clarification: str | None = None  # what was answered to what the run asked back; "" skips that
    instructions: Callable[[], Sequence[str]] = lambda: ()  # what was said to the run so far
