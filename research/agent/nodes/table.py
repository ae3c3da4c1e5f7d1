"""The table stage: one row of a table, its cells searched and read in parallel.

The cheapest sources are searched first, further ones only for cells that are still empty. Each cell
is saved under its query as soon as it is paid for, so that a resumed run, or a table that updates
an earlier one, does not pay for it again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.section import SearchFunction
from research.agent.reasoner import Reasoner, ReasonerInput
from research.agent.table_spans import table_spans
from research.citations.markdown_parser import escape_table_cell
from research.core.events import CellFilled, EventEmitter, RowAdvanced
from research.core.i18n import message
from research.core.records import (
    ASKS_BACK,
    Cell,
    Column,
    Draft,
    Finding,
    Grid,
    Language,
    MissingReason,
    Plan,
    Question,
    Row,
    RunOptions,
    Span,
    Task,
    fingerprint,
)
from research.sources import registry
from research.tables.column_values import CHECKED_STATUSES
from research.tables.formatting import format_cell, format_column_heading

SAMPLE_ROWS = 20  # rows whose searches are counted for an estimate


def source_tiers(column: Column, options: RunOptions) -> list[tuple[str, ...]]:
    """Group a column's sources by cost: local documents and databases, free ones, paid ones."""
    column_sources = column.sources or options.sources
    usable = [name for name in options.sources if name in column_sources]

    def cost(name: str) -> int:
        source = registry.get_source(name)
        return 0 if source.is_local or source.result_type == "rows" else 2 if source.is_paid else 1

    ranked = sorted(usable, key=cost)
    return [tuple(tier) for _, tier in groupby(ranked, key=cost)]


def cell_part_id(row: Row, column: Column) -> str:
    """Return the id of the part that the searches of a cell serve."""
    return f"{row.id}.{column.id}"


def estimate_searches(grid: Grid, question: Question, reasoner: Reasoner, options: RunOptions) -> int:
    """Estimate the maximum number of searches of a table, from its first rows."""
    sample = grid.rows[:SAMPLE_ROWS]
    searches = {
        (row.id, task.key)
        for row in sample
        for column in grid.columns
        for sources in source_tiers(column, options)
        for task in reasoner.cell_tasks(question, row, column, sources)
    }
    return round(len(searches) * len(grid.rows) / max(1, len(sample)))


async def fill_row(
    row: Row, question: Question, plan: Plan, search: SearchFunction, context: RunContext, emit: EventEmitter
) -> tuple[list[Cell], list[Finding]]:
    """Fill in the cells of a row, in the order of its columns; return them with all findings."""
    grid = plan.grid
    assert grid is not None
    filler = _RowFiller(row, question, grid, search, context, emit)
    await filler.restore_cells()
    for tier in range(max((len(source_tiers(c, context.options)) for c in grid.columns), default=0)):
        await filler.search_tier(tier)
    cells = [filler.cells.get(c.id) or filler.empty_cell(c, "not found") for c in grid.columns]
    counts = Counter(cell.missing_reason or "filled" for cell in cells)
    filled_count = counts["filled"] + counts["differs"]
    emit(RowAdvanced(row=row.id, step="done", filled=filled_count, cells=len(cells)))
    return cells, list(filler.findings.values())


class _RowFiller:
    """The work on one row: its cells so far, and the findings of its searches by task key."""

    def __init__(
        self,
        row: Row,
        question: Question,
        grid: Grid,
        search: SearchFunction,
        context: RunContext,
        emit: EventEmitter,
    ) -> None:
        self.row, self.question, self.grid = row, question, grid
        self.search, self.context, self.emit = search, context, emit
        self.cells: dict[str, Cell] = {}
        self.findings: dict[str, Finding] = {}
        self._tasks_by_cell: dict[tuple[str, int], list[Task]] = {}

    def _step_name(self, column: Column, tier: int) -> str:
        """Return the name under which a cell is saved; it depends on query and sources."""
        query = column.model_dump_json(exclude={"id", "name"} if column.question else {"id"})
        # The key names the sources up to this tier only, so that a table with more tiers reuses the result.
        sources = source_tiers(column, self.context.options)[: tier + 1]
        key_parts = (self.row.name, self.row.qualifier, query, repr(sources), self.question.language)
        return f"cell {fingerprint(*key_parts)}"

    async def restore_cells(self) -> None:
        """Restore the saved cells, with the findings of their searches."""
        for column in self.grid.columns:
            for tier in reversed(range(len(source_tiers(column, self.context.options)))):
                if (cell := await self._load_cell(column, tier)) and cell.readings:
                    await self._search_columns(tier, [column])
                    self._set_cell(cell)
                    break

    async def _load_cell(self, column: Column, tier: int) -> Cell | None:
        text = self.context.step_results.load_result(step := self._step_name(column, tier))
        if text is None:
            return None
        cell = Cell.model_validate_json(text)
        since = self.grid.fresh_after
        if since and (cell.created is None or cell.created < since):
            return None
        await self.context.step_results.save_result(step, text)  # an update of this table needs it
        return cell.model_copy(update={"row": self.row.id, "column": column.id})

    async def search_tier(self, tier: int) -> None:
        """Search the sources of a tier for the empty cells, and read the findings."""
        columns = [
            column
            for column in self.grid.columns
            if not (cell := self.cells.get(column.id)) or cell.missing_reason == "not found"
            if len(source_tiers(column, self.context.options)) > tier
        ]
        if not columns:
            return
        self.emit(RowAdvanced(row=self.row.id, step="searching", columns=tuple(c.id for c in columns)))
        findings = await self._search_columns(tier, columns)
        findings_by_column = {c.id: [f for f in findings if f.task.key in self._task_keys(c, tier)] for c in columns}
        unread = []
        for column in columns:
            if cell := await self._load_cell(column, tier):
                self._set_cell(cell)
            elif any(finding.evidence for finding in findings_by_column[column.id]):
                unread.append(column)
            else:
                cell = self.empty_cell(column, *_missing_reason(findings_by_column[column.id]))
                if cell.missing_reason == "not found":
                    await self._save_cell(column, tier, cell)
                self._set_cell(cell)
        if unread:
            await self._read_cells(unread, tier, [f for f in findings if f.evidence])

    def _task_keys(self, column: Column, tier: int) -> set[str]:
        return {task.key for task in self._cell_tasks(column, tier)}

    def _cell_tasks(self, column: Column, tier: int) -> list[Task]:
        """Return the tasks of a cell for the sources of a tier."""
        if cached := self._tasks_by_cell.get((column.id, tier)):
            return cached
        sources = source_tiers(column, self.context.options)[tier]
        tasks = self.context.reasoner.cell_tasks(self.question, self.row, column, sources)
        part = cell_part_id(self.row, column)
        fields = {"part": part, "round": tier + 1}
        self._tasks_by_cell[column.id, tier] = [
            task.model_copy(update={"id": f"{tier + 1}.{part}.{n}", **fields}) for n, task in enumerate(tasks, 1)
        ]
        return self._tasks_by_cell[column.id, tier]

    async def _search_columns(self, tier: int, columns: Sequence[Column]) -> list[Finding]:
        """Search for some columns and return the findings; a shared task runs once."""
        tasks = {task.key: task for c in columns for task in self._cell_tasks(c, tier)}
        new = [task for key, task in tasks.items() if key not in self.findings]
        for finding in await asyncio.gather(*map(self.search, new)):
            self.findings[finding.task.key] = finding
        return [self.findings[key] for key in tasks if key in self.findings]

    async def _read_cells(self, columns: Sequence[Column], tier: int, findings: Sequence[Finding]) -> None:
        """Read the cells of some columns from findings, all at once."""
        self.emit(RowAdvanced(row=self.row.id, step="reading", columns=tuple(c.id for c in columns)))
        context = self.context
        try:
            async with context.budget.writing.enter():
                inputs = ReasonerInput(self.question, context.options, self.emit, findings=findings)
                cells = await context.reasoner.extract_cells(inputs, self.row, columns)
        except RunEndedError as ended:
            context.budget.record_skip(ended.reason)
            for column in columns:
                self._set_cell(self.empty_cell(column, "limit"))
            return
        now = context.clock()
        for column, cell in zip(columns, cells, strict=True):
            cell = cell.model_copy(update={"created": now})
            if cell.missing_reason not in ("failed", "limit"):
                await self._save_cell(column, tier, cell)
            self._set_cell(cell)

    async def _save_cell(self, column: Column, tier: int, cell: Cell) -> None:
        await self.context.step_results.save_result(self._step_name(column, tier), cell.model_dump_json())

    def _set_cell(self, cell: Cell) -> None:
        self.cells[cell.column] = cell
        self.emit(CellFilled(cell=cell))

    def empty_cell(self, column: Column, missing_reason: MissingReason, error_message: str = "") -> Cell:
        """Return a cell without a reading."""
        now = self.context.clock()
        return Cell(
            row=self.row.id, column=column.id, missing_reason=missing_reason, message=error_message, created=now
        )


def _missing_reason(findings: Sequence[Finding]) -> tuple[MissingReason, str]:
    """Return the reason why searches found nothing, and the message of a failure; "" if there is none."""
    if any(finding.reason == "left out" for finding in findings):
        return "limit", ""
    failures = [f for f in findings if f.reason not in (None, "empty", *ASKS_BACK)]
    if failures and len(failures) == len(findings):
        return "failed", failures[0].message
    if findings and all(finding.reason in ASKS_BACK for finding in findings):
        return "not found", findings[0].message
    return "not found", ""


# The answer


def table_draft(grid: Grid, cells: Sequence[Cell], language: Language) -> Draft:
    """Return the table as Markdown whose cells have citations.

    The spans are marked as generated: the values were checked when read, and are not judged again.
    """
    cells_by_position = {(cell.row, cell.column): cell for cell in cells}
    name_counts = Counter(row.name for row in grid.rows)
    rows = (
        (
            row.full_name if name_counts[row.name] > 1 else row.name,
            [_cell_spans(cells_by_position.get((row.id, c.id)), c, language) for c in grid.columns],
        )
        for row in grid.rows
    )
    spans = table_spans([format_column_heading(c, c.unit, language) for c in grid.columns], rows)
    generated = (span.model_copy(update={"generated": True}) for span in spans)
    unique_failures = {failure.model_dump_json(): failure for cell in cells for failure in cell.failures}
    return Draft(
        spans=(*generated, *_missing_cell_notices(cells, language)),
        author=next((cell.author for cell in cells if cell.author), message("draft.nobody", language)),
        failures=tuple(unique_failures.values()),
    )


def _cell_spans(cell: Cell | None, column: Column, language: Language) -> Iterator[Span]:
    if cell is None or not cell.readings:
        yield Span(kind="text", text=" —")
        return
    for n, reading in enumerate(cell.readings):
        text = escape_table_cell(format_cell(reading.value, language))
        yield Span(kind="text", text=f"{' /' * (n > 0)} {text}", references=reading.references)
        if reading.status not in CHECKED_STATUSES:
            mark = message("report.unclear", language)
            yield Span(kind="text", text=f"{'' if language == 'zh' else ' '}{mark}")


def _missing_cell_notices(cells: Sequence[Cell], language: Language) -> Iterator[Span]:
    """Yield a notice that counts the filled, empty and uncertain cells."""
    counts = Counter(cell.missing_reason for cell in cells if cell.missing_reason)
    filled = sum(bool(cell.readings) for cell in cells)
    text = message("tabled.filled", language, filled=filled, cells=len(cells))
    for reason, n in counts.items():
        text += " " + message(f"tabled.{reason}", language, n=n)
    yield Span(kind="notice", text=text)
