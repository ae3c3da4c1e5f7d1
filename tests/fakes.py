"""A source and a reasoner that do as they are told, for tests of everything between the two.

They wait, fail, raise or hang on request and remember what they were asked. Nothing here stands in
for the project's own stages, graph or store.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from research.agent.nodes.budget import RunBudget
from research.agent.nodes.context import RunContext
from research.agent.reasoner import Reasoner, ReasonerInput
from research.citations.registry import evidence_id
from research.core.events import EventEmitter
from research.core.records import (
    Cell,
    CellReading,
    CellValue,
    Clarification,
    Column,
    Draft,
    Evidence,
    EvidenceKind,
    FailureReason,
    Finding,
    Grid,
    HeadlineTones,
    Part,
    Passage,
    PassageReference,
    Plan,
    Question,
    Readiness,
    Reflection,
    ReportSection,
    Row,
    RunOptions,
    Span,
    Task,
    fingerprint,
)
from research.core.settings import Settings
from research.runtime.active_run import RunResources
from research.sources.base import Retriever
from research.storage.store import Store

RETRIEVED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PUBLISHED = date(2025, 12, 31)
AUTHOR = "Scripted, no model"


@dataclass(frozen=True)
class Outcome:
    """What a search comes to: passages after `waits` seconds, or some way of going wrong."""

    waits: float = 0.0
    passages: tuple[str, ...] = ("The tower is open from 9:00 to 17:00.",)
    reason: FailureReason | None = None
    message: str = ""
    raises: Exception | None = None
    hangs: bool = False


HANGS = Outcome(hangs=True)


class ScriptedSource:
    """Answers every task with the outcome given for its query, else with the usual one.

    `calls` holds the tasks in the order in which their searches began, `done` those that came back,
    `left` those that hung until they were cancelled.
    With a `log`, each start and end is a line of that file, on the disk before anything follows, to
    be read from another process.
    """

    def __init__(
        self,
        name: str = "web",
        usual: Outcome | None = None,
        outcomes: Mapping[str, Outcome] | None = None,
        *,
        kind: EvidenceKind = "web",
        log: Path | None = None,
        before: Callable[[Task], None] | None = None,
    ) -> None:
        self.name = name
        self.node = f"{name}_research"
        self.kind = kind
        self.max_sequential_calls = 1
        self.usual = usual or Outcome()
        self.outcomes = dict(outcomes or {})
        self.calls: list[Task] = []
        self.done: list[Task] = []
        self.left: list[Task] = []
        self._log = log
        self._before = before

    @property
    def queries(self) -> list[str]:
        """The queries that were searched, in order, repetitions included."""
        return [task.query for task in self.calls]

    def readiness(self) -> Readiness:
        return Readiness(state="offline", detail="scripted")

    async def search(self, task: Task, say: EventEmitter) -> Finding:
        self.calls.append(task)
        self._note("start", task)
        if self._before:
            self._before(task)
        outcome = self.outcomes.get(task.query, self.usual)
        if outcome.hangs:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.append(task)
        if outcome.waits:
            await asyncio.sleep(outcome.waits)
        if outcome.raises:
            raise outcome.raises
        self.done.append(task)
        self._note("end", task)
        return Finding(
            task=task,
            evidence=() if outcome.reason else self._evidence(task, outcome.passages),
            reason=outcome.reason or (None if outcome.passages else "empty"),
            message=outcome.message,
            started=RETRIEVED,
            seconds=outcome.waits,
        )

    def _note(self, word: str, task: Task) -> None:
        if self._log:
            note(self._log, f"{word} {task.query}")

    def _evidence(self, task: Task, passages: Sequence[str]) -> tuple[Evidence, ...]:
        if not passages:
            return ()
        url = f"https://example.org/{self.name}/{fingerprint(task.query)}"
        return (
            Evidence(
                id=evidence_id(self.kind, url, task.query),
                kind=self.kind,
                title=f"About {task.query}",
                publisher="example.org",
                url=url,
                locator=task.query,
                language="en",
                retrieved=RETRIEVED,
                published=PUBLISHED,
                passages=tuple(
                    Passage(id=fingerprint(task.query, text), text=text, end=len(text)) for text in passages
                ),
            ),
        )


class Forgetful:
    """A ledger that knows of no search."""

    async def find(self, task: Task) -> Finding | None:
        return None

    async def start_search(self, task: Task) -> int:
        return 1

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        pass


def at_work(reasoner: Reasoner | None = None, options: RunOptions | None = None, **more: Any) -> RunContext:
    """What a run works with, for the stages that search nothing."""
    options = options or RunOptions()
    usual = {"budget": RunBudget(options), "clock": lambda: RETRIEVED}
    reasoner = reasoner or ScriptedReasoner()
    return RunContext(reasoner, {}, options, Forgetful(), **{**usual, **more})


def resources(settings: Settings, reasoner: Reasoner, sources: Mapping[str, Retriever], **more: Any) -> RunResources:
    """What the runs of a process work with, on a store that is opened for it."""
    return RunResources(settings, Store(settings.store), reasoner, dict(sources), **more)


class ScriptedReasoner:
    """Plans the queries it was given, follows up as it was given, and quotes all that was found.

    `follow_ups` tells, for a round, the queries to go on with; by default there are none and what
    was found is not called sufficient. The lists remember what each stage was handed.
    """

    def __init__(
        self,
        queries: Iterable[str] = ("a", "b", "c"),
        follow_ups: Callable[[int], Sequence[str]] = lambda round_: (),
        *,
        sufficient: bool = False,
        direct: str = "",
        unclear: Clarification | None = None,
    ) -> None:
        self._unclear = unclear
        self._queries = tuple(queries)
        self._follow_ups = follow_ups
        self._sufficient = sufficient
        self._direct = direct
        self.planned: list[Question] = []
        self.reflected: list[tuple[int, tuple[Finding, ...]]] = []
        self.written: list[tuple[Plan, tuple[Finding, ...]]] = []
        self.read: list[tuple[str, tuple[str, ...]]] = []  # row and columns, as they are read
        self.rated: list[tuple[str, ...]] = []
        self.added: list[tuple[str, tuple[str, ...]]] = []  # what was added to the question, by stage
        self.prefaced = 0

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        if self._direct:
            return Draft(spans=(Span(kind="text", text=self._direct),), author=AUTHOR)
        question, sources = inputs.question, inputs.options.sources
        self.planned.append(question)
        tasks = [
            Task(id=f"1.{n}", source=source, query=query, part="p1", subject=("Tower", "塔"))
            for n, (query, source) in enumerate(((q, s) for q in self._queries for s in sources), 1)
        ]
        part = Part(id="p1", subject="Tower", text=question.text)
        unclear = None if question.additions else self._unclear
        return Plan(parts=(part,), tasks=tuple(tasks), notes=("scripted",), clarification=unclear)

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        self.reflected.append((round_, tuple(inputs.findings)))
        self.added.append(("reflect", inputs.question.additions))
        source = inputs.plan.tasks[0].source if inputs.plan.tasks else "web"
        return Reflection(
            round=round_,
            sufficient=self._sufficient,
            gap=("what is not known",),
            follow_ups=tuple(
                Task(id=f"{round_ + 1}.{n}", round=round_ + 1, source=source, query=query)
                for n, query in enumerate(self._follow_ups(round_), 1)
            ),
            note=f"after round {round_}",
        )

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        self.written.append((inputs.plan, tuple(inputs.findings)))
        self.added.append(("write", inputs.question.additions))
        return self.quote_findings(inputs.question, inputs.plan, inputs.findings)

    # Of a report: as many sections as there are queries, one of them each

    async def plan_report(self, inputs: ReasonerInput) -> Plan:
        self.planned.append(inputs.question)
        parts, tasks = [], []
        for n, query in enumerate(self._queries, 1):
            parts.append(Part(id=f"s{n}", subject=f"About {query}", text=f"All of {query}"))
            tasks.append(Task(id=f"1.s{n}.1", source=inputs.options.sources[0], query=query, part=f"s{n}"))
        return Plan(outline=True, parts=tuple(parts), tasks=tuple(tasks))

    async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
        self.written.append((inputs.plan, tuple(inputs.findings)))
        spans = self.quote_findings(inputs.question, inputs.plan, inputs.findings).spans
        return section.model_copy(update={"spans": spans, "author": AUTHOR})

    async def reflect_on_section(self, inputs: ReasonerInput, section: ReportSection, round_: int) -> Reflection:
        self.reflected.append((round_, tuple(inputs.findings)))
        queries = [f"{section.part} {query}" for query in self._follow_ups(round_)]
        follow_ups = tuple(
            Task(
                id=f"{round_ + 1}.{section.part}.{n}",
                round=round_ + 1,
                source=inputs.options.sources[0],
                query=query,
                part=section.part,
            )
            for n, query in enumerate(queries, 1)
        )
        return Reflection(
            round=round_,
            sufficient=self._sufficient,
            gap=("what is not known",),
            follow_ups=follow_ups,
        )

    async def write_preface(self, inputs: ReasonerInput, sections: Sequence[ReportSection]) -> Draft:
        self.prefaced += 1
        spans = tuple(span for section in sections for span in section.spans[:1])
        return Draft(spans=spans, author=AUTHOR)

    async def judge_tones(self, inputs: ReasonerInput, headlines: Sequence[str]) -> HeadlineTones:
        self.rated.append(tuple(headlines))
        return HeadlineTones(tones=tuple("neutral" for _ in headlines), author=AUTHOR)

    # Of a table: a row for each query, and a cell says what its first passage does

    async def plan_table(self, inputs: ReasonerInput) -> Plan:
        self.planned.append(inputs.question)
        rows = (Row(id=f"r{n}", name=query) for n, query in enumerate(self._queries, 1))
        columns = (Column(id="c1", name="height"), Column(id="c2", name="age"))
        return Plan(grid=Grid(rows=tuple(rows), columns=columns))

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        return tuple(Task(id="", source=s, query=f"{row.full_name} {column.full_question}") for s in sources)

    async def extract_cells(self, inputs: ReasonerInput, row: Row, columns: Sequence[Column]) -> tuple[Cell, ...]:
        self.read.append((row.name, tuple(column.name for column in columns)))
        return tuple(self._cell(row, column, inputs.findings) for column in columns)

    def _cell(self, row: Row, column: Column, findings: Sequence[Finding]) -> Cell:
        cell = Cell(row=row.id, column=column.id, author=AUTHOR)
        own = (f for f in findings if f.task.part == f"{row.id}.{column.id}")
        for item, passage in ((e, p) for f in own for e in f.evidence for p in e.passages):
            cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            value = CellValue(type="text", text=passage.text)
            reading = CellReading(value=value, quote=passage.text, references=(cite,))
            return cell.model_copy(update={"readings": (reading,)})
        return cell.model_copy(update={"missing_reason": "not found"})

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        spans = tuple(
            Span(
                kind="quote",
                text=passage.text,
                part="p1",
                references=(PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text)),),
            )
            for finding in findings
            for item in finding.evidence
            for passage in item.passages
        )
        missing = (Span(kind="missing", text="Nothing was found.", part="p1"),)
        return Draft(spans=spans or missing, author=AUTHOR)


def note(log: Path, line: str) -> None:
    """Adds a line to a file; it is on the disk when this returns."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


class Staged(ScriptedReasoner):
    """Does something of its own as each stage begins: `plan`, `reflect` or `write`."""

    async def work(self, stage: str, round_: int, emit: EventEmitter) -> None:
        """What is done first; `round_` is that of a reflection."""

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        await self.work("plan", 0, inputs.emit)
        return await super().plan(inputs)

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        await self.work("reflect", round_, inputs.emit)
        return await super().reflect(inputs, round_)

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        await self.work("write", 0, inputs.emit)
        return await super().write(inputs, reflections)


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits for a condition; an AssertionError says that it did not come true in time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not true within {seconds:g} s"
        time.sleep(0.01)
