"""Asks chat models for a table: which rows and columns it has, and what its cells say.

A cell counts only if the sentence that it rests on stands, word for word, in the passage that it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from research.agent.llm.material import MaterialListing, fit_material
from research.agent.llm.prompts import (
    MAX_QUERY_CHARS,
    language_instruction,
    material_block,
    question_block,
    shorten_conversation,
)
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import (
    Cell,
    CellReading,
    Column,
    ColumnType,
    EventEmitter,
    Evidence,
    Finding,
    Grid,
    Passage,
    PassageReference,
    Plan,
    Question,
    Row,
    RunOptions,
    Task,
)
from research.core.settings import Role
from research.core.text.tokenizer import find_quote, normalise_quote
from research.models.chat import Chat, Prompt
from research.models.prompting import BASE_INSTRUCTIONS, fence, object_schema
from research.sources import registry
from research.tables.column_values import is_same_value, merge_readings
from research.tables.subjects import is_about
from research.tables.values import extract_value

MAX_ROWS, MAX_COLUMNS = 40, 12  # that are proposed at most
MAX_NAME_CHARS, MAX_QUESTION_CHARS, MAX_VALUE_CHARS, MAX_QUOTE_CHARS = 120, 300, 200, 600  # characters
MAX_READINGS, MAX_CHOICES = 3, 6
_T = TypeVar("_T", bound=BaseModel)
_COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)


class _ModelOutput(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _CellOutput(_ModelOutput):
    column: int
    value: str
    quote: str
    source: str


class _CellsOutput(_ModelOutput):
    cells: list[object]
    which: list[object] = []


class _RowOutput(_ModelOutput):
    name: str
    about: str = ""


class _ColumnOutput(_ModelOutput):
    name: str
    question: str = ""
    type: str = "text"
    unit: str = ""
    choices: list[str] = []


class _TableOutput(_ModelOutput):
    title: str = ""
    rows: list[object]
    columns: list[object]


class _ChatProvider(Protocol):
    def chat(self, role: Role, options: RunOptions | None = None) -> Chat: ...

    @property
    def today(self) -> date: ...


class TableExtractor:
    """Models that fill in a table."""

    def __init__(self, models: _ChatProvider) -> None:
        self._models = models

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        """What some sources are asked for a cell. A map is asked for the thing itself, once a row."""
        out = []
        for source in sources:
            query = (
                row.full_name
                if registry.get_source(source).query_type == "place"
                else f"{row.full_name} {column.full_question}"
            )
            out.append(Task(id="", source=source, query=query[:MAX_QUERY_CHARS], language=question.language))
        return tuple(out)

    async def plan_table(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """The rows and columns of a table that a sentence asks for; none if no model can propose them."""
        try:
            made = await self._models.chat("plan", options).ask_json(
                _table_prompt(question, self._models.today), _table_schema(), _TableOutput, "plan", emit
            )
        except ServiceError as trouble:
            return Plan(failures=(trouble.to_failure("plan"),))
        rows = [
            Row(id=f"r{n}", name=name, about=_one_line(row.about, MAX_NAME_CHARS))
            for n, row in enumerate(_parse_rows(made.rows, _RowOutput)[:MAX_ROWS], 1)
            if (name := _one_line(row.name, MAX_NAME_CHARS))
        ]
        columns = [
            _to_column(n, column, name)
            for n, column in enumerate(_parse_rows(made.columns, _ColumnOutput)[:MAX_COLUMNS], 1)
            if (name := _one_line(column.name, MAX_NAME_CHARS))
        ]
        if not rows or not columns:
            return Plan()
        title = _one_line(made.title, MAX_NAME_CHARS)
        return Plan(grid=Grid(title=title, rows=tuple(rows), columns=tuple(columns)))

    async def extract_cells(
        self,
        question: Question,
        row: Row,
        columns: Sequence[Column],
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> tuple[Cell, ...]:
        """What the material says in some cells of a row, by one call."""
        listing = MaterialListing()

        def made(room: int) -> Prompt:
            nonlocal listing
            prompt, listing = fit_material(
                findings,
                room,
                lambda shown: _cells_prompt(
                    shorten_conversation(question, room), row, columns, shown, self._models.today
                ),
            )
            return prompt

        try:
            chat = self._models.chat("write", options)
            told = await chat.ask_json(made, _cells_schema(len(columns)), _CellsOutput, "write", emit)
        except ServiceError as trouble:
            failure = trouble.to_failure("write", query=row.name)
            return tuple(
                Cell(
                    row=row.id, column=column.id, lack="failed", message=trouble.message,
                    failures=(failure,),
                )
                for column in columns
            )  # fmt: skip
        author = str(chat.spec)
        said = _parse_rows(told.cells, _CellOutput)
        which = tuple(dict.fromkeys(line for one in told.which if (line := _one_line(one, MAX_NAME_CHARS))))[
            :MAX_CHOICES
        ]
        known = {item.id: item for finding in findings for item in finding.evidence}
        out = []
        for n, column in enumerate(columns, 1):
            cell = Cell(row=row.id, column=column.id, author=author)
            if len(which) > 1 and not row.about:
                out.append(cell.model_copy(update={"lack": "which one", "choices": which}))
                continue
            own = [one for one in said if one.column == n][:MAX_READINGS]
            readings = [r for one in own if (r := _to_reading(one, row, column, listing, known))]
            settled = merge_readings(readings, column)
            lack = "" if len(settled) == 1 else "differs" if settled else "not found"
            unproven = bool(own) and not readings
            why = message("tabled.unproven", question.language) if unproven else ""
            update = {"readings": settled, "lack": lack, "message": why}
            out.append(cell.model_copy(update=update))
        return tuple(out)


def _to_reading(
    output: _CellOutput, row: Row, column: Column, listing: MaterialListing, evidence_by_id: Mapping[str, Evidence]
) -> CellReading | None:
    """What a model says a passage says, if the quote stands in the passage of that handle."""
    cite = listing.handles.get(output.source.strip(" []@＠"))
    passage = _find_passage(cite, evidence_by_id) if cite else None
    if cite is None or passage is None or not output.value.strip() or not output.quote.strip():
        return None
    at = find_quote(output.quote[:MAX_QUOTE_CHARS], passage.text)
    if at is None:
        return None
    quote = passage.text[at[0] : at[1]]
    value = extract_value(output.value[:MAX_VALUE_CHARS], column)
    found = extract_value(quote, column, context_words=[output.value])
    if value is None:
        value = found
    if value is None:
        return None
    borne = found is not None and is_same_value(value, found, column)
    if borne and found is not None and column.type == "yes or no":
        borne = _is_about_row(row, column, quote, found.text, evidence_by_id[cite.evidence].title)
    if column.type in ("text", "choice"):
        borne = find_quote(value.text, quote) is not None
    if borne and found is not None and column.type != "text":
        value = found  # with the source's own words
    update: dict[str, Any] = {"start": at[0], "end": at[1]}
    return CellReading(
        value=value,
        quote=quote,
        cites=(cite.model_copy(update=update),),
        status="quoted" if borne else "unclear",
    )


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
    kind = next((each for each in _COLUMN_TYPES if each == output.type), "text")
    choices = tuple(filter(None, (_one_line(choice, MAX_NAME_CHARS) for choice in output.choices)))
    if kind == "choice" and len(choices) < 2:
        kind = "text"
    return Column(
        id=f"c{number}",
        name=name,
        question=_one_line(output.question, MAX_QUESTION_CHARS),
        type=kind,
        unit=_one_line(output.unit, 40) if kind == "number" else "",
        choices=choices if kind == "choice" else (),
    )


def _parse_rows(rows: Sequence[object], output_type: type[_T]) -> list[_T]:
    """Those of some rows that can be read."""
    out = []
    for row in rows:
        try:
            out.append(output_type.model_validate(row))
        except ValidationError:
            continue
    return out


def _one_line(text: object, max_chars: int) -> str:
    return " ".join(text.split())[:max_chars] if isinstance(text, str) else ""


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
    said = object_schema(column=number, value=text, quote=text, source=text)
    most = column_count * MAX_READINGS
    return object_schema(
        cells={"type": "array", "items": said, "maxItems": most},
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
    about = f"{row.name}\n{row.about}".strip()
    lines = "\n".join(f"{n}. {_describe_column(column)}" for n, column in enumerate(columns, 1))
    user = "\n\n".join(
        [
            question_block(question, today),
            "The row is about:\n" + fence("row", about),
            "Columns:\n" + fence("columns", lines),
            material_block(listing),
        ]
    )
    return Prompt(system, user)


def _describe_column(column: Column) -> str:
    more: list[str] = [column.type]
    if column.unit:
        more.append(f"in {column.unit}")
    if column.choices:
        more.append("one of: " + "; ".join(column.choices))
    told = f"{column.name}: {column.full_question}" if column.full_question != column.name else column.name
    return f"{told} ({', '.join(more)})"
