"""A table with cited cells as JSON, and its JSON Schema, `data/table.schema.json`.

The models are the source of the schema, their docstrings included: `tests/export/test_cells.py`
compares the published file with them.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from math import isfinite
from typing import Any, Literal

from pydantic import Field

from research.citations.numbering import CitedAnswer
from research.core.records import (
    CellValue,
    Column,
    EvidenceKind,
    Language,
    MissingReason,
    Record,
    Report,
    SupportStatus,
)
from research.core.text.control_chars import replace_surrogates
from research.core.urls import canonical_url
from research.export.cited_tables import CitedTable, build_cited_table
from research.export.options import ExportOptions, listed_sources
from research.export.report_facts import to_utc
from research.tables.column_values import measure_column_quality
from research.tables.formatting import reading_quotes

SCHEMA = "sightline-table/1"
_SOURCE_FIELDS = {"id", "kind", "title", "publisher", "published", "retrieved"}


class TableRow(Record):
    """A row of the table. `lng` and `lat` are degrees (WGS-84) if the row is a place, else null."""

    id: str
    name: str
    about: str
    lng: float | None
    lat: float | None


class TableColumn(Record):
    """A column: a question about each row. `unit` is the unit of the numbers in its cells, or ""."""

    id: str
    name: str
    question: str
    type: Literal["text", "number", "date", "yes or no", "choice"]
    unit: str
    choices: tuple[str, ...]
    filled: int = Field(description="cells that have a value")
    checked: int = Field(description="cells whose value is supported by the cited passages")
    conflicts: int = Field(description="cells in which sources disagree")
    oldest: date | None = Field(description="publication day of the oldest cited source")


class TableCite(Record):
    """A part of a passage: its offsets in characters and its text. 0 and 0 is the whole passage."""

    evidence: str
    passage: str
    start: int
    end: int
    quote: str


class TableReading(Record):
    """One value of a cell, from one source or several that agree.

    `low` and `high` are the number in the unit of the column, or null if it has no comparable number.
    """

    value: CellValue
    low: float | None
    high: float | None
    quote: str
    status: SupportStatus
    numbers: tuple[int, ...] = Field(description="numbers of the sources")
    cites: tuple[TableCite, ...]


class TableCell(Record):
    """A cell: its values, best first, several if sources disagree; without a value, `lack` is the reason."""

    row: str
    column: str
    readings: tuple[TableReading, ...]
    lack: MissingReason
    message: str
    choices: tuple[str, ...] = Field(description="things that have the row's name, if it is ambiguous")
    author: str


class TableSource(Record):
    """A cited source."""

    number: int
    id: str
    kind: EvidenceKind
    title: str
    publisher: str
    url: str
    published: date | None
    retrieved: datetime


class TableFile(Record):
    """A table of Sightline: the requested rows and columns, their cells and the cited sources."""

    schema_: Literal["sightline-table/1"] = Field(alias="schema")
    language: Language
    title: str
    made: datetime
    author: str
    run: str
    rows: tuple[TableRow, ...]
    columns: tuple[TableColumn, ...]
    cells: tuple[TableCell, ...]
    sources: tuple[TableSource, ...]


def table_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a table file."""
    schema = TableFile.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **schema}


def table_json(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return the table as JSON of the schema `sightline-table/1`."""
    table = build_cited_table(report, cited)
    answer = table.cited.answer
    file = TableFile(
        schema_=SCHEMA,
        language=table.language,
        title=table.grid.title or answer.title or report.run.question,
        made=to_utc(answer.created),
        author=answer.author,
        run=report.run.id,
        rows=tuple(
            TableRow(
                id=row.id,
                name=row.name,
                about=row.qualifier,
                lng=row.place.lng if row.place else None,
                lat=row.place.lat if row.place else None,
            )
            for row in table.grid.rows
        ),
        columns=tuple(_column_record(table, column) for column in table.grid.columns),
        cells=tuple(_cell_records(table)),
        sources=tuple(
            TableSource(
                number=s.number,
                url=canonical_url(s.evidence.url),
                **s.evidence.model_dump(include=_SOURCE_FIELDS),
            )
            for s in listed_sources(table.cited, options)
        ),
    )
    content = file.model_dump(mode="json", by_alias=True)
    return replace_surrogates(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def _column_record(table: CitedTable, column: Column) -> TableColumn:
    quality = measure_column_quality(column, table.plain_cells, [s.evidence for s in table.cited.sources])
    return TableColumn(
        **column.model_dump(include={"id", "name", "question", "type", "choices"}),
        unit=table.units.get(column.id, ""),
        filled=quality.filled,
        checked=quality.checked,
        conflicts=quality.conflicts,
        oldest=quality.oldest,
    )


def _cell_records(table: CitedTable) -> list[TableCell]:
    columns = {column.id: column for column in table.grid.columns}
    sources = {s.evidence.id: s.evidence for s in table.cited.sources}
    out = []
    for item in table.cited.cells:
        cell = item.cell
        column = columns.get(cell.column)
        readings = []
        for reading, numbers in zip(cell.readings, item.numbers, strict=True):
            point = table.convert_number(reading.value, column) if column else None
            readings.append(
                TableReading(
                    value=_without_infinities(reading.value),
                    low=point.low if point else None,
                    high=point.high if point else None,
                    quote=reading.quote,
                    status=reading.status,
                    numbers=numbers,
                    cites=tuple(
                        TableCite(**cite.model_dump(), quote=quote)
                        for cite, quote in zip(reading.references, reading_quotes(reading, sources), strict=True)
                    ),
                )
            )
        fields = cell.model_dump(include={"row", "column", "message", "choices", "author"})
        out.append(TableCell(readings=tuple(readings), lack=cell.missing_reason, **fields))
    return out


def _without_infinities(value: CellValue) -> CellValue:
    """Replace infinite and NaN numbers by None, as JSON has none."""
    not_finite = [n for n in (value.number, value.high) if n is not None and not isfinite(n)]
    return value.model_copy(update={"number": None, "high": None}) if not_finite else value
