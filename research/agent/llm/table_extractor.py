"""Tables filled in by chat models: rows and columns, and the cells.

A cell counts only if the sentence that supports it occurs verbatim in the passage that it cites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, get_args

from pydantic import BaseModel

from research.agent.llm.material import MaterialListing, fit_material
from research.agent.llm.model_output import one_line, parse_rows
from research.agent.llm.prompts import (
    MAX_QUERY_CHARS,
    join_blocks,
    language_instruction,
    material_block,
    question_block,
    shorten_conversation,
)
from research.agent.reasoner import ReasonerInput
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import (
    Cell,
    CellReading,
    Column,
    ColumnType,
    Evidence,
    Grid,
    Passage,
    PassageReference,
    Plan,
    Question,
    Row,
    Task,
)
from research.core.text.quotes import find_quote, normalise_quote
from research.models.chat import ChatProvider
from research.models.prompting import BASE_INSTRUCTIONS, Prompt, fence, object_schema
from research.sources import registry
from research.tables.column_values import is_same_value, merge_readings
from research.tables.subjects import is_about
from research.tables.values import extract_value

MAX_ROWS, MAX_COLUMNS = 40, 12  # of a proposed table
MAX_NAME_CHARS, MAX_QUESTION_CHARS, MAX_VALUE_CHARS, MAX_QUOTE_CHARS = 120, 300, 200, 600
MAX_READINGS = 3  # of a cell
MAX_CHOICES = 6  # things with one name that the user may choose from
_COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)


class _CellOutput(BaseModel):
    column: int
    value: str
    quote: str
    source: str


class _CellsOutput(BaseModel):
    cells: list[object]
    which: tuple[object, ...] = ()


class _RowOutput(BaseModel):
    name: str
    about: str = ""


class _ColumnOutput(BaseModel):
    name: str
    question: str = ""
    type: str = "text"
    unit: str = ""
    choices: tuple[str, ...] = ()


class _TableOutput(BaseModel):
    title: str = ""
    rows: list[object]
    columns: list[object]


class TableExtractor:
    """Plans and fills in tables with chat models."""

    def __init__(self, models: ChatProvider) -> None:
        self._models = models

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        """Return the searches of some sources for a cell; maps search for the row's subject."""
        tasks = []
        for source in sources:
            is_map = registry.get_source(source).query_type == "place"
            query = row.full_name if is_map else f"{row.full_name} {column.full_question}"
            tasks.append(Task(id="", source=source, query=query[:MAX_QUERY_CHARS], language=question.language))
        return tuple(tasks)

    async def plan_table(self, inputs: ReasonerInput) -> Plan:
        """Plan the rows and columns of the table that a sentence asks for; none if no model can."""
        try:
            output = await self._models.chat("plan", inputs.options).ask_json(
                _table_prompt(inputs.question, self._models.today), _table_schema(), _TableOutput, "plan", inputs.emit
            )
        except ServiceError as error:
            return Plan(failures=(error.to_failure("plan"),))
        rows = [
            Row(id=f"r{n}", name=name, qualifier=one_line(row.about, MAX_NAME_CHARS))
            for n, row in enumerate(parse_rows(output.rows, _RowOutput)[:MAX_ROWS], 1)
            if (name := one_line(row.name, MAX_NAME_CHARS))
        ]
        columns = [
            _to_column(n, column, name)
            for n, column in enumerate(parse_rows(output.columns, _ColumnOutput)[:MAX_COLUMNS], 1)
            if (name := one_line(column.name, MAX_NAME_CHARS))
        ]
        if not rows or not columns:
            return Plan()
        title = one_line(output.title, MAX_NAME_CHARS)
        return Plan(grid=Grid(title=title, rows=tuple(rows), columns=tuple(columns)))

    async def extract_cells(self, inputs: ReasonerInput, row: Row, columns: Sequence[Column]) -> tuple[Cell, ...]:
        """Extract some cells of a row from the findings with one call."""
        listing = MaterialListing()

        def build_prompt(token_budget: int) -> Prompt:
            nonlocal listing
            prompt, listing = fit_material(
                inputs.findings,
                token_budget,
                lambda shown: _cells_prompt(
                    shorten_conversation(inputs.question, token_budget), row, columns, shown, self._models.today
                ),
            )
            return prompt

        try:
            chat = self._models.chat("write", inputs.options)
            output = await chat.ask_json(build_prompt, _cells_schema(len(columns)), _CellsOutput, "write", inputs.emit)
        except ServiceError as error:
            failure = error.to_failure("write", query=row.name)
            failed = {"row": row.id, "missing_reason": "failed", "message": error.message, "failures": (failure,)}
            return tuple(Cell(column=column.id, **failed) for column in columns)
        author = str(chat.spec)
        outputs = parse_rows(output.cells, _CellOutput)
        names = dict.fromkeys(filter(None, (one_line(name, MAX_NAME_CHARS) for name in output.which)))
        name_choices = tuple(names)[:MAX_CHOICES]
        evidence_by_id = {item.id: item for finding in inputs.findings for item in finding.evidence}
        cells = []
        for n, column in enumerate(columns, 1):
            cell = Cell(row=row.id, column=column.id, author=author)
            if len(name_choices) > 1 and not row.qualifier:
                cells.append(cell.model_copy(update={"missing_reason": "which one", "choices": name_choices}))
                continue
            column_outputs = [item for item in outputs if item.column == n][:MAX_READINGS]
            parsed = (_to_reading(item, row, column, listing, evidence_by_id) for item in column_outputs)
            readings = [reading for reading in parsed if reading]
            merged = merge_readings(readings, column)
            missing_reason = "" if len(merged) == 1 else "differs" if merged else "not found"
            is_unproven = bool(column_outputs) and not readings
            note = message("tabled.unproven", inputs.question.language) if is_unproven else ""
            update = {"readings": merged, "missing_reason": missing_reason, "message": note}
            cells.append(cell.model_copy(update=update))
        return tuple(cells)


def _to_reading(
    output: _CellOutput, row: Row, column: Column, listing: MaterialListing, evidence_by_id: Mapping[str, Evidence]
) -> CellReading | None:
    """Parse one cell from the model's output.

    Return None unless its quote occurs verbatim in the cited passage. The status is "quoted" if the
    quote itself gives the value, else "unclear".
    """
    cite = listing.handles.get(output.source.strip(" []@＠"))
    passage = _find_passage(cite, evidence_by_id) if cite else None
    if cite is None or passage is None or not output.value.strip() or not output.quote.strip():
        return None
    span = find_quote(output.quote[:MAX_QUOTE_CHARS], passage.text)
    if span is None:
        return None
    quote = passage.text[span[0] : span[1]]
    quoted_value = extract_value(quote, column, context_words=[output.value])
    value = extract_value(output.value[:MAX_VALUE_CHARS], column) or quoted_value
    if value is None:
        return None
    is_supported = quoted_value is not None and is_same_value(value, quoted_value, column)
    if is_supported and quoted_value is not None and column.type == "yes or no":
        is_supported = _is_about_row(row, column, quote, quoted_value.text, evidence_by_id[cite.evidence].title)
    if column.type in ("text", "choice"):
        is_supported = find_quote(value.text, quote) is not None
    if is_supported and quoted_value is not None and column.type != "text":
        value = quoted_value  # in the source's own words
    cites = (cite.model_copy(update={"start": span[0], "end": span[1]}),)
    return CellReading(value=value, quote=quote, references=cites, status="quoted" if is_supported else "unclear")


def _is_about_row(row: Row, column: Column, quote: str, clause: str, title: str) -> bool:
    """Return whether a quote is about the subject of a row.

    It counts as such if neither the quote nor its source's title contains the row's name, since
    they may use another name of the subject.
    """
    if normalise_quote(row.name) not in normalise_quote(f"{title} {quote}"):
        return True
    return is_about(quote, clause, (row.name,), title, f"{column.name} {column.question}")


def _find_passage(cite: PassageReference, evidence_by_id: Mapping[str, Evidence]) -> Passage | None:
    item = evidence_by_id.get(cite.evidence)
    return next((p for p in item.passages if p.id == cite.passage), None) if item else None


def _to_column(number: int, output: _ColumnOutput, name: str) -> Column:
    column_type = next((known_type for known_type in _COLUMN_TYPES if known_type == output.type), "text")
    choices = tuple(filter(None, (one_line(choice, MAX_NAME_CHARS) for choice in output.choices)))
    if column_type == "choice" and len(choices) < 2:
        column_type = "text"
    return Column(
        id=f"c{number}",
        name=name,
        question=one_line(output.question, MAX_QUESTION_CHARS),
        type=column_type,
        unit=one_line(output.unit, 40) if column_type == "number" else "",
        choices=choices if column_type == "choice" else (),
    )


def _table_schema() -> dict[str, Any]:
    text = {"type": "string"}
    row = object_schema(name=text, about=text)
    column = object_schema(
        name=text,
        question=text,
        type={"type": "string", "enum": list(_COLUMN_TYPES)},
        unit=text,
        choices={"type": "array", "items": text},
    )
    return object_schema(
        title=text,
        rows={"type": "array", "items": row, "maxItems": MAX_ROWS},
        columns={"type": "array", "items": column, "maxItems": MAX_COLUMNS},
    )


def _table_prompt(question: Question, today: date) -> Prompt:
    system = f"""{BASE_INSTRUCTIONS}

The analyst wants a table that compares several things. Reply with JSON that says what it has:
- "title": what it shows, in a few words.
- "rows": the things, each once. "name" is what it is called; "about" tells it from others of that name (a \
city, a founder), "" where there are none. Name only things that fit what is asked; the analyst will look \
over them before anything is searched.
- "columns": what is asked of every one of them, in the order of the question. "name" is a short heading; \
"question" asks it in a sentence that names no row, "" where the heading says it all; "type" is one of \
{", ".join(_COLUMN_TYPES)}; "unit" is that of a number ("" for plain counts); "choices" are the values of a choice, \
else [].
{language_instruction(question.language)}"""
    return Prompt(system, question_block(question, today))


def _cells_schema(column_count: int) -> dict[str, Any]:
    text = {"type": "string"}
    number = {"type": "integer", "minimum": 1, "maximum": column_count}
    cell = object_schema(column=number, value=text, quote=text, source=text)
    max_cells = column_count * MAX_READINGS
    return object_schema(
        cells={"type": "array", "items": cell, "maxItems": max_cells},
        which={"type": "array", "items": text, "maxItems": MAX_CHOICES},
    )


def _cells_prompt(
    question: Question, row: Row, columns: Sequence[Column], listing: MaterialListing, today: date
) -> Prompt:
    system = f"""{BASE_INSTRUCTIONS}

Fill in one row of a table from the material, for an analyst who will check every cell. Reply with JSON.
- "cells": one entry for each column that the material answers for this very thing; none for a column that it \
does not answer. Nothing may be added from memory.
- "column" is the number of the column; "value" is what the cell says, as short as can be: a number with its \
unit, a date, yes or no, one of the choices, or a few words; "quote" is the sentence of the material that says \
so, copied character by character; "source" is the handle, such as [@handle], that stands before that piece \
of the material or behind that sentence.
- Where pieces say different things, give an entry for each, the most reliable first, at most {MAX_READINGS}.
- "which": if the material speaks of different things of this name and nothing tells which is meant, what tells \
them apart, one text each; else [].
{language_instruction(question.language, "the values")}"""
    about = f"{row.name}\n{row.qualifier}".strip()
    lines = "\n".join(f"{n}. {_describe_column(column)}" for n, column in enumerate(columns, 1))
    user = join_blocks(
        question_block(question, today),
        "The row is about:\n" + fence("row", about),
        "Columns:\n" + fence("columns", lines),
        material_block(listing),
    )
    return Prompt(system, user)


def _describe_column(column: Column) -> str:
    details: list[str] = [column.type]
    if column.unit:
        details.append(f"in {column.unit}")
    if column.choices:
        details.append("one of: " + "; ".join(column.choices))
    description = f"{column.name}: {column.full_question}" if column.full_question != column.name else column.name
    return f"{description} ({', '.join(details)})"
