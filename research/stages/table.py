"""The table stage: one row of a table, its cells searched and read side by side.

The cheapest sources are asked first, and further ones only for cells that are still empty. Each cell is
noted as soon as it is paid for, under what it asks: a run that goes on, or that brings an earlier table up to
date, pays for none of them again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import groupby

from research.evidence.markup import inert
from research.i18n import message
from research.reasoners import Reasoner
from research.records import (
    ASKS_BACK,
    Cell,
    Column,
    Draft,
    Failure,
    Finding,
    Grid,
    Lacking,
    Language,
    Options,
    Plan,
    Question,
    Row,
    Say,
    Span,
    Task,
    fingerprint,
)
from research.sources import registry
from research.stages.budget import Ended
from research.stages.context import RunContext
from research.tables.columns import CHECKED
from research.tables.shown import heading, shown

SAMPLE = 20  # rows whose searches are counted
Search = Callable[[Task], Awaitable[Finding]]


def tiers(column: Column, options: Options) -> list[tuple[str, ...]]:
    """The sources of a column, the cheapest first: the desk's own documents and databases, what costs
    nothing, and what may cost money."""
    wanted = column.sources or options.sources
    own = [name for name in options.sources if name in wanted]

    def cost(name: str) -> int:
        source = registry.of(name)
        return 0 if source.local or source.told == "rows" else 2 if source.paid else 1

    ranked = sorted(own, key=cost)
    return [tuple(some) for _, some in groupby(ranked, key=cost)]


def part_of(row: Row, column: Column) -> str:
    """The part that the searches of a cell serve."""
    return f"{row.id}.{column.id}"


def searches(grid: Grid, question: Question, reasoner: Reasoner, options: Options) -> int:
    """How many searches a table takes at most. Of many rows the first ones tell it for all."""
    sample = grid.rows[:SAMPLE]
    asked = {
        (row.id, task.key)
        for row in sample
        for column in grid.columns
        for sources in tiers(column, options)
        for task in reasoner.searches(question, row, column, sources)
    }
    return round(len(asked) * len(grid.rows) / max(1, len(sample)))


async def fill_row(
    row: Row, question: Question, plan: Plan, search: Search, context: RunContext, say: Say
) -> tuple[list[Cell], list[Finding]]:
    """The cells of a row, in the order of its columns, and all that was found for it."""
    grid = plan.grid
    assert grid is not None
    work = _Work(row, question, grid, search, context, say)
    await work.known()
    for tier in range(max((len(tiers(c, context.options)) for c in grid.columns), default=0)):
        await work.tier(tier)
    cells = [work.cells.get(c.id) or work.empty(c) for c in grid.columns]
    told = Counter(cell.lack or "filled" for cell in cells)
    say("row", row=row.id, step="done", filled=told["filled"] + told["differs"], cells=len(cells))
    return cells, list(work.findings.values())


class _Work:
    def __init__(
        self,
        row: Row,
        question: Question,
        grid: Grid,
        search: Search,
        context: RunContext,
        say: Say,
    ) -> None:
        self.row, self.question, self.grid = row, question, grid
        self.search, self.context, self.say = search, context, say
        self.cells: dict[str, Cell] = {}
        self.findings: dict[str, Finding] = {}
        self._asked: dict[tuple[str, int], list[Task]] = {}

    def _step(self, column: Column, tier: int) -> str:
        """The name of what came of a cell's sources up to a tier: another one where anything else is
        asked."""
        asked = column.model_dump_json(exclude={"id", "name"} if column.question else {"id"})
        # The sources are those of this tier: a table that may ask more goes on where this one ended.
        sources = tiers(column, self.context.options)[: tier + 1]
        about = (self.row.name, self.row.about, asked, repr(sources), self.question.language)
        return f"cell {fingerprint(*about)}"

    async def known(self) -> None:
        """Takes up the cells that were paid for before, with what their searches had found."""
        for column in self.grid.columns:
            for tier in reversed(range(len(tiers(column, self.context.options)))):
                if (cell := await self._noted(column, tier)) and cell.readings:
                    self.cells[column.id] = cell
                    await self._gather(tier, [column])
                    self._tell(cell)
                    break

    async def _noted(self, column: Column, tier: int) -> Cell | None:
        text = self.context.notes.noted(step := self._step(column, tier))
        if text is None:
            return None
        cell = Cell.model_validate_json(text)
        since = self.grid.since
        if since and (cell.made is None or cell.made < since):
            return None
        await self.context.notes.note(step, text)  # for whoever brings this table up to date
        return cell.model_copy(update={"row": self.row.id, "column": column.id})

    async def tier(self, tier: int) -> None:
        """Searches what is still empty in the next sources, and reads it."""
        left = [
            column
            for column in self.grid.columns
            if not (cell := self.cells.get(column.id)) or cell.lack == "not found"
            if len(tiers(column, self.context.options)) > tier
        ]
        if not left:
            return
        self.say("row", row=self.row.id, step="searching", columns=[c.id for c in left])
        found = await self._gather(tier, left)
        told = {c.id: [f for f in found if f.task.key in self._keys(c, tier)] for c in left}
        unread = []
        for column in left:
            if cell := await self._noted(column, tier):
                self._keep(cell)
            elif any(finding.evidence for finding in told[column.id]):
                unread.append(column)
            else:
                cell = self._cell(column, *_why(told[column.id]))
                if cell.lack == "not found":
                    await self._note(column, tier, cell)
                self._keep(cell)
        if unread:
            await self._read(unread, tier, [f for f in found if f.evidence])

    def _keys(self, column: Column, tier: int) -> set[str]:
        return {task.key for task in self._tasks(column, tier)}

    def _tasks(self, column: Column, tier: int) -> list[Task]:
        """What the sources of a tier are asked for a cell."""
        if known := self._asked.get((column.id, tier)):
            return known
        sources = tiers(column, self.context.options)[tier]
        found = self.context.reasoner.searches(self.question, self.row, column, sources)
        part = part_of(self.row, column)
        own = {"part": part, "round": tier + 1}
        self._asked[column.id, tier] = [
            task.model_copy(update={"id": f"{tier + 1}.{part}.{n}", **own})
            for n, task in enumerate(found, 1)
        ]
        return self._asked[column.id, tier]

    async def _gather(self, tier: int, columns: Sequence[Column]) -> list[Finding]:
        """What the searches of some columns find; what several of them want is searched once."""
        tasks = {task.key: task for c in columns for task in self._tasks(c, tier)}
        new = [task for key, task in tasks.items() if key not in self.findings]
        for finding in await asyncio.gather(*map(self.search, new)):
            self.findings[finding.task.key] = finding
        return [self.findings[key] for key in tasks if key in self.findings]

    async def _read(self, columns: Sequence[Column], tier: int, found: Sequence[Finding]) -> None:
        """Reads the cells of some columns in what was found, all at once."""
        self.say("row", row=self.row.id, step="reading", columns=[c.id for c in columns])
        context = self.context
        try:
            async with context.meter.writing.open():
                cells = await context.reasoner.cells(
                    self.question, self.row, columns, found, context.options, self.say
                )
        except Ended as ended:
            context.meter.lack(ended.why)
            for column in columns:
                self._keep(self._cell(column, "limit"))
            return
        now = context.clock()
        for column, cell in zip(columns, cells, strict=True):
            cell = cell.model_copy(update={"made": now})
            if cell.lack not in ("failed", "limit"):
                await self._note(column, tier, cell)
            self._keep(cell)

    async def _note(self, column: Column, tier: int, cell: Cell) -> None:
        await self.context.notes.note(self._step(column, tier), cell.model_dump_json())

    def _keep(self, cell: Cell) -> None:
        self.cells[cell.column] = cell
        self._tell(cell)

    def _tell(self, cell: Cell) -> None:
        self.say("cell", cell=cell.model_dump(mode="json"))

    def _cell(self, column: Column, lack: Lacking, why: str = "") -> Cell:
        now = self.context.clock()
        return Cell(row=self.row.id, column=column.id, lack=lack, message=why, made=now)

    def empty(self, column: Column) -> Cell:
        """A cell that nothing was asked for: none of its sources is among those of the run."""
        return self._cell(column, "not found")


def _why(found: Sequence[Finding]) -> tuple[Lacking, str]:
    """Why searches that have found nothing have found nothing."""
    if any(finding.reason == "left out" for finding in found):
        return "limit", ""
    failures = [f for f in found if f.reason not in (None, "empty", *ASKS_BACK)]
    if failures and len(failures) == len(found):
        return "failed", failures[0].message
    if found and all(finding.reason in ASKS_BACK for finding in found):
        return "not found", found[0].message
    return "not found", ""


# The answer


def tabled(grid: Grid, cells: Sequence[Cell], tongue: Language) -> Draft:
    """The table as an answer: Markdown whose cells cite what they say. What each cell rests on was checked
    where it was read: none of it is judged again as a sentence."""
    known = {(cell.row, cell.column): cell for cell in cells}
    heads = "".join(f" {inert(heading(c, c.unit, tongue))} |" for c in grid.columns)
    spans = [Span(kind="text", text=f"| |{heads}\n|---|{'---|' * len(grid.columns)}")]
    for row in grid.rows:
        name = row.named if sum(r.name == row.name for r in grid.rows) > 1 else row.name
        spans.append(Span(kind="text", text=f"\n| **{inert(name)}**"))
        for column in grid.columns:
            cell = known.get((row.id, column.id))
            spans.append(Span(kind="text", text=" |"))
            spans += list(_told(cell, column, tongue))
        spans.append(Span(kind="text", text=" |"))
    made = (span.model_copy(update={"made": True}) for span in spans)
    return Draft(
        spans=(*made, *_lacking(cells, tongue)),
        author=next(
            (cell.author for cell in cells if cell.author), message("draft.nobody", tongue)
        ),
        failures=_once(failure for cell in cells for failure in cell.failures),
    )


def _told(cell: Cell | None, column: Column, tongue: Language) -> Iterator[Span]:
    if cell is None or not cell.readings:
        yield Span(kind="text", text=" —")
        return
    for n, reading in enumerate(cell.readings):
        text = inert(shown(reading.value, column, tongue))
        yield Span(kind="text", text=f"{' /' * (n > 0)} {text}", cites=reading.cites)
        if reading.status not in CHECKED:
            mark = message("report.unclear", tongue)
            yield Span(kind="text", text=f"{'' if tongue == 'zh' else ' '}{mark}")


def _lacking(cells: Sequence[Cell], tongue: Language) -> Iterator[Span]:
    """What is said of the cells that are empty or uncertain."""
    counts = Counter(cell.lack for cell in cells if cell.lack)
    filled = sum(bool(cell.readings) for cell in cells)
    text = message("tabled.filled", tongue, filled=filled, cells=len(cells))
    for lack, n in counts.items():
        text += " " + message(f"tabled.{lack}", tongue, n=n)
    yield Span(kind="notice", text=text)


def _once(failures: Iterator[Failure]) -> tuple[Failure, ...]:
    return tuple({f.model_dump_json(): f for f in failures}.values())
