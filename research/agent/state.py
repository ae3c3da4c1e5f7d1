"""The state of a run in the graph, the inputs of its parallel nodes, and their context."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from typing_extensions import TypedDict  # on Python 3.11, pydantic needs this one for JSON schemas

from research.agent.nodes.context import RunContext
from research.agent.nodes.news_coverage import EarlyCoverage
from research.core.records import Answer, Cell, Finding, Plan, Question, Reflection, ReportSection, Row, Task

RECURSION_LIMIT = 60  # supersteps: two per round, at most ten rounds, and a reserve
_T = TypeVar("_T")


def append_items(known: Sequence[_T], new: Sequence[_T] | None) -> list[_T]:
    """Reduce updates of a list of the state: append the new items; None clears the list."""
    return [] if new is None else [*known, *new]


class GraphState(TypedDict, total=False):
    """The state of a run, as checkpoints store it."""

    asked: str | None  # the question as the client sent it
    question: Question
    plan: Plan
    pending: list[Task]  # the tasks of the current round
    round: int  # the current round, counted from 1
    rounds: int  # the largest number of rounds
    approved: bool  # False while the plan waits for the user's approval
    unclear: bool  # True while a clarifying question waits for its answer
    findings: Annotated[list[Finding], append_items]
    sections: Annotated[list[ReportSection], append_items]
    cells: Annotated[list[Cell], append_items]
    reflections: Annotated[list[Reflection], append_items]
    answer: Answer
    unchecked: bool  # True if the citation checker has still to check the answer


@dataclass(frozen=True)
class GraphContext(RunContext):
    """The helpers of a run, with the searches and the news coverage that its sections share."""

    running_searches: dict[str, asyncio.Task[Finding]] = field(default_factory=dict)
    early_coverage: EarlyCoverage = field(default_factory=EarlyCoverage)


class SectionInput(TypedDict):
    """Input of a section node."""

    question: Question
    plan: Plan
    part: str


class RowInput(TypedDict):
    """Input of a row node."""

    question: Question
    plan: Plan
    row: Row
