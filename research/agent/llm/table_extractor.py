"""Asks chat models for a table: which rows and columns it has, and what its cells say.

A cell counts only if the sentence that it rests on stands, word for word, in the passage that it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from research.agent.llm.material import Listing, fitted
from research.agent.llm.prompts import QUERY, asked, briefer, in_language, material
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import (
    Cell,
    Cite,
    Column,
    ColumnType,
    Evidence,
    Finding,
    Grid,
    Options,
    Passage,
    Plan,
    Question,
    Reading,
    Row,
    Say,
    Task,
)
from research.core.settings import Role
from research.core.text.words import fold, place_of
from research.models.calls import Chat, Prompt
from research.models.prompting import DESK, fenced, structure
from research.sources import registry
from research.tables.columns import same, settle
from research.tables.subjects import is_about
from research.tables.values import read

ROWS, COLUMNS = 40, 12  # that are proposed at most
NAME, ASKED, VALUE, QUOTE = 120, 300, 200, 600  # characters
READINGS, CHOICES = 3, 6
_T = TypeVar("_T", bound=BaseModel)
_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Said(_Loose):
    column: int
    value: str
    quote: str
    source: str


class _Cells(_Loose):
    cells: list[object]
    which: list[object] = []


class _Row(_Loose):
    name: str
    about: str = ""


class _Column(_Loose):
    name: str
    question: str = ""
    type: str = "text"
    unit: str = ""
    choices: list[str] = []


class _Table(_Loose):
    title: str = ""
    rows: list[object]
    columns: list[object]


class _Models(Protocol):
    def chat(self, role: Role, options: Options | None = None) -> Chat: ...

    @property
    def today(self) -> date: ...


class Clerk:
    """Models that fill in a table."""

    def __init__(self, models: _Models) -> None:
        self._models = models

    def searches(
        self, question: Question, row: Row, column: Column, sources: Sequence[str]
    ) -> tuple[Task, ...]:
        """What some sources are asked for a cell. A map is asked for the thing itself, once a row."""
        out = []
        for source in sources:
            query = (
                row.named if registry.of(source).asked == "place" else f"{row.named} {column.asked}"
            )
            out.append(Task(id="", source=source, query=query[:QUERY], language=question.language))
        return tuple(out)

    async def tabulate(self, question: Question, options: Options, say: Say) -> Plan:
        """The rows and columns of a table that a sentence asks for; none if no model can propose them."""
        try:
            made = await self._models.chat("plan", options).json(
                _table_prompt(question, self._models.today), _table_schema(), _Table, "plan", say
            )
        except Trouble as trouble:
            return Plan(failures=(trouble.failure("plan"),))
        rows = [
            Row(id=f"r{n}", name=name, about=_line(row.about, NAME))
            for n, row in enumerate(_all(made.rows, _Row)[:ROWS], 1)
            if (name := _line(row.name, NAME))
        ]
        columns = [
            _column(n, column, name)
            for n, column in enumerate(_all(made.columns, _Column)[:COLUMNS], 1)
            if (name := _line(column.name, NAME))
        ]
        if not rows or not columns:
            return Plan()
        title = _line(made.title, NAME)
        return Plan(grid=Grid(title=title, rows=tuple(rows), columns=tuple(columns)))

    async def cells(
        self,
        question: Question,
        row: Row,
        columns: Sequence[Column],
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> tuple[Cell, ...]:
        """What the material says in some cells of a row, by one call."""
        listing = Listing()

        def made(room: int) -> Prompt:
            nonlocal listing
            prompt, listing = fitted(
                findings,
                room,
                lambda shown: _cells_prompt(
                    briefer(question, room), row, columns, shown, self._models.today
                ),
            )
            return prompt

        try:
            chat = self._models.chat("write", options)
            told = await chat.json(made, _cells_schema(len(columns)), _Cells, "write", say)
        except Trouble as trouble:
            failure = trouble.failure("write", query=row.name)
            return tuple(
                Cell(
                    row=row.id, column=column.id, lack="failed", message=trouble.message,
                    failures=(failure,),
                )
                for column in columns
            )  # fmt: skip
        author = str(chat.spec)
        said = _all(told.cells, _Said)
        which = tuple(dict.fromkeys(line for one in told.which if (line := _line(one, NAME))))[
            :CHOICES
        ]
        known = {item.id: item for finding in findings for item in finding.evidence}
        out = []
        for n, column in enumerate(columns, 1):
            cell = Cell(row=row.id, column=column.id, author=author)
            if len(which) > 1 and not row.about:
                out.append(cell.model_copy(update={"lack": "which one", "choices": which}))
                continue
            own = [one for one in said if one.column == n][:READINGS]
            readings = [r for one in own if (r := _reading(one, row, column, listing, known))]
            settled = settle(readings, column)
            lack = "" if len(settled) == 1 else "differs" if settled else "not found"
            unproven = bool(own) and not readings
            why = message("tabled.unproven", question.language) if unproven else ""
            update = {"readings": settled, "lack": lack, "message": why}
            out.append(cell.model_copy(update=update))
        return tuple(out)


def _reading(
    said: _Said, row: Row, column: Column, listing: Listing, known: Mapping[str, Evidence]
) -> Reading | None:
    """What a model says a passage says, if the quote stands in the passage of that handle."""
    cite = listing.handles.get(said.source.strip(" []@＠"))
    passage = _passage(cite, known) if cite else None
    if cite is None or passage is None or not said.value.strip() or not said.quote.strip():
        return None
    at = place_of(said.quote[:QUOTE], passage.text)
    if at is None:
        return None
    quote = passage.text[at[0] : at[1]]
    value = read(said.value[:VALUE], column)
    found = read(quote, column, near=[said.value])
    if value is None:
        value = found
    if value is None:
        return None
    borne = found is not None and same(value, found, column)
    if borne and found is not None and column.type == "yes or no":
        borne = _of_row(row, column, quote, found.text, known[cite.evidence].title)
    if column.type in ("text", "choice"):
        borne = place_of(value.text, quote) is not None
    if borne and found is not None and column.type != "text":
        value = found  # with the source's own words
    update: dict[str, Any] = {"start": at[0], "end": at[1]}
    return Reading(
        value=value,
        quote=quote,
        cites=(cite.model_copy(update=update),),
        status="quoted" if borne else "unclear",
    )


def _of_row(row: Row, column: Column, quote: str, clause: str, title: str) -> bool:
    """Return whether a quote is about the subject of a row.

    It counts as such if neither the quote nor its source's title contains the row's name, since
    they may use another name of the subject.
    """
    if fold(row.name) not in fold(f"{title} {quote}"):
        return True
    return is_about(quote, clause, (row.name,), title, f"{column.name} {column.question}")


def _passage(cite: Cite, known: Mapping[str, Evidence]) -> Passage | None:
    item = known.get(cite.evidence)
    return next((p for p in item.passages if p.id == cite.passage), None) if item else None


def _column(n: int, told: _Column, name: str) -> Column:
    kind = next((each for each in _TYPES if each == told.type), "text")
    choices = tuple(filter(None, (_line(choice, NAME) for choice in told.choices)))
    if kind == "choice" and len(choices) < 2:
        kind = "text"
    return Column(
        id=f"c{n}",
        name=name,
        question=_line(told.question, ASKED),
        type=kind,
        unit=_line(told.unit, 40) if kind == "number" else "",
        choices=choices if kind == "choice" else (),
    )


def _all(rows: Sequence[object], shape: type[_T]) -> list[_T]:
    """Those of some rows that can be read."""
    out = []
    for row in rows:
        try:
            out.append(shape.model_validate(row))
        except ValidationError:
            continue
    return out


def _line(text: object, most: int) -> str:
    return " ".join(text.split())[:most] if isinstance(text, str) else ""


def _table_schema() -> dict[str, Any]:
    text = {"type": "string"}
    row = structure(name=text, about=text)
    column = structure(
        name=text,
        question=text,
        type={"type": "string", "enum": list(_TYPES)},
        unit=text,
        choices={"type": "array", "items": text},
    )
    return structure(
        title=text,
        rows={"type": "array", "items": row, "maxItems": ROWS},
        columns={"type": "array", "items": column, "maxItems": COLUMNS},
    )


def _table_prompt(question: Question, today: date) -> Prompt:
    system = f"""{DESK}

The analyst wants a table that compares several things. Reply with JSON that says what it has:
- "title": what it shows, in a few words.
- "rows": the things, each once. "name" is what it is called; "about" tells it from others of that name (a \
city, a founder), "" where there are none. Name only things that fit what is asked; the analyst will look \
over them before anything is searched.
- "columns": what is asked of every one of them, in the order of the question. "name" is a short heading; \
"question" asks it in a sentence that names no row, "" where the heading says it all; "type" is one of \
{", ".join(_TYPES)}; "unit" is that of a number ("" for plain counts); "choices" are the values of a choice, \
else [].
{in_language(question.language)}"""
    return Prompt(system, asked(question, today))


def _cells_schema(columns: int) -> dict[str, Any]:
    text = {"type": "string"}
    number = {"type": "integer", "minimum": 1, "maximum": columns}
    said = structure(column=number, value=text, quote=text, source=text)
    most = columns * READINGS
    return structure(
        cells={"type": "array", "items": said, "maxItems": most},
        which={"type": "array", "items": text, "maxItems": CHOICES},
    )


def _cells_prompt(
    question: Question, row: Row, columns: Sequence[Column], listing: Listing, today: date
) -> Prompt:
    system = f"""{DESK}

Fill in one row of a table from the material, for an analyst who will check every cell. Reply with JSON.
- "cells": one entry for each column that the material answers for this very thing; none for a column that it \
does not answer. Nothing may be added from memory.
- "column" is the number of the column; "value" is what the cell says, as short as can be: a number with its \
unit, a date, yes or no, one of the choices, or a few words; "quote" is the sentence of the material that says \
so, copied character by character; "source" is the handle, such as [@handle], that stands before that piece \
of the material or behind that sentence.
- Where pieces say different things, give an entry for each, the most reliable first, at most {READINGS}.
- "which": if the material speaks of different things of this name and nothing tells which is meant, what tells \
them apart, one text each; else [].
{in_language(question.language, "the values")}"""
    about = f"{row.name}\n{row.about}".strip()
    lines = "\n".join(f"{n}. {_described(column)}" for n, column in enumerate(columns, 1))
    user = "\n\n".join(
        [
            asked(question, today),
            "The row is about:\n" + fenced("row", about),
            "Columns:\n" + fenced("columns", lines),
            material(listing),
        ]
    )
    return Prompt(system, user)


def _described(column: Column) -> str:
    more: list[str] = [column.type]
    if column.unit:
        more.append(f"in {column.unit}")
    if column.choices:
        more.append("one of: " + "; ".join(column.choices))
    told = f"{column.name}: {column.asked}" if column.asked != column.name else column.name
    return f"{told} ({', '.join(more)})"
