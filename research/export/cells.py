"""A table whose cells have evidence of their own, as CSV, Markdown and Parquet; `cellbook` writes it as Excel,
`celldata` as JSON.

Numbers are those of the answer's citations. What a cell says is text from outside: no file has a formula,
a link or a tag in it that the cell brought along. Knows reports with a table; writes no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from csv import writer
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any

import pyarrow as pa
from pyarrow import parquet as files

from research.citations.markup import encodable
from research.citations.numbering import CitedAnswer, NumberedCell
from research.citations.numbering import cited as numbered
from research.core.i18n import Say, message
from research.core.records import Cell, Column, Grid, Language, Place, Reading, Report, Row, Value
from research.export.geo import cell as plain_cell
from research.export.inline import escape, link, table
from research.export.markdown import language_of
from research.export.rows import named
from research.export.words import Citations, speaker
from research.tables.columns import Point, column_unit, point
from research.tables.shown import cell_heading, cell_in_column

_FOOTNOTES: Citations = "footnotes"


@dataclass(frozen=True)
class Filled:
    """A table that was asked for, with what its cells say."""

    report: Report
    cited: CitedAnswer
    grid: Grid

    @cached_property
    def language(self) -> Language:
        return language_of(self.report, self.cited)

    @cached_property
    def say(self) -> Say:
        return speaker(self.language)

    @cached_property
    def cells(self) -> dict[tuple[str, str], NumberedCell]:
        """By the ids of row and column."""
        return {(one.cell.row, one.cell.column): one for one in self.cited.cells}

    @cached_property
    def plain_cells(self) -> tuple[Cell, ...]:
        """Without their numbers."""
        return tuple(one.cell for one in self.cited.cells)

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of the columns of numbers, by their ids."""
        return {
            c.id: column_unit(c, self.plain_cells) for c in self.grid.columns if c.type == "number"
        }

    def heading(self, column: Column) -> str:
        """A column's name, with its unit."""
        return cell_heading(column, self.units.get(column.id, ""), self.language)

    def point(self, value: Value, column: Column) -> Point:
        """A number in the unit of its column."""
        return point(value, self.units.get(column.id, ""))

    def shown(self, value: Value, column: Column) -> str:
        """A value as it is read, without the unit that stands in the heading."""
        return cell_in_column(value, column, self.units.get(column.id, ""), self.language)

    def lacking(self, cell: Cell | None) -> str:
        """Why a cell has no value, in a few words."""
        return self.say(
            f"cells.lack-{(cell.lack if cell else '') or 'not found'}".replace(" ", "_")
        )

    def status(self, reading: Reading) -> str:
        return message(f"standing.{reading.status}", self.language)


def report_tabled(report: Report) -> bool:
    """Whether a report has a table to write."""
    return bool(report.plan and report.plan.grid and report.answer and report.answer.cells)


def filled_table(report: Report, cited: CitedAnswer | None) -> Filled:
    """The table of a report.

    Raises:
        ValueError: it has none.
    """
    cited = cited or numbered(report)
    if not (report.plan and report.plan.grid and cited):
        raise ValueError("the report has no table")
    return Filled(report, cited, report.plan.grid)


def places(report: Report) -> list[Place]:
    """The places of a table's rows, for the files of maps."""
    grid = report.plan.grid if report.plan else None
    return [row.place for row in grid.rows if row.place] if grid else []


# CSV


def table_csv(report: Report, cited: CitedAnswer | None, citations: bool = False) -> bytes:
    """The table as UTF-8 for spreadsheets, with [n] behind each value if `citations`. Values that differ
    stand beside each other; a cell without one is empty.

    See `research.export.geo.csv` for what stands before what a spreadsheet would take for a formula.
    """
    it = filled_table(report, cited)
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    lines.writerow([plain_cell(name) for name in headings(it)])
    for row in it.grid.rows:
        values = [" / ".join(_values(it, row, c, citations)) for c in it.grid.columns]
        lines.writerow([plain_cell(value) for value in (row.named, *values)])
    return ("\ufeff" + encodable(out.getvalue())).encode()


def headings(it: Filled) -> tuple[str, ...]:
    """The names of the columns, each once, that of the rows first."""
    return named([it.say("cells.row"), *map(it.heading, it.grid.columns)])


def _values(it: Filled, row: Row, column: Column, citations: bool) -> Iterator[str]:
    one = it.cells.get((row.id, column.id))
    for reading, numbers in zip(one.cell.readings, one.numbers, strict=True) if one else ():
        marks = "".join(f" [{number}]" for number in numbers) if citations else ""
        yield it.shown(reading.value, column) + marks


# Markdown


def markdown(report: Report, cited: CitedAnswer | None) -> str:
    """The table with a footnote for each source that a cell cites."""
    it = filled_table(report, cited)
    say = speaker(it.language, _FOOTNOTES)
    lines = [[escape(row.named), *(_marked(it, row, c, say) for c in it.grid.columns)] for row in it.grid.rows]  # fmt: skip
    title = it.grid.title or it.cited.answer.title or report.run.question
    used = {n for one in it.cited.cells for own in one.numbers for n in own}
    notes = [
        f"[^{s.number}]: {_note(it, s.evidence)}" for s in it.cited.sources if s.number in used
    ]
    body = [f"# {escape(title)}", *table([escape(h) for h in headings(it)], lines)]
    return "\n\n".join([*body, *notes]) + "\n"


def _marked(it: Filled, row: Row, column: Column, say: Say) -> str:
    one = it.cells.get((row.id, column.id))
    if one is None or not one.cell.readings:
        return f"*{escape(it.lacking(one.cell if one else None))}*"
    values = [
        f"{escape(it.shown(reading.value, column))}{''.join(say('cite', number=n) for n in own)}"
        for reading, own in zip(one.cell.readings, one.numbers, strict=True)
    ]
    return " / ".join(values)


def _note(it: Filled, evidence: Any) -> str:
    day = evidence.published or evidence.retrieved.date()
    about = [escape(evidence.publisher)] if evidence.publisher else []
    return " · ".join([link(evidence.title or evidence.url or evidence.id, evidence.url), *about, day.isoformat()])  # fmt: skip


# Parquet


def parquet(report: Report, cited: CitedAnswer | None) -> bytes:
    """The table with a column of its own type for each that was asked for, and beside it what a typed value
    leaves out: `.low` and `.high` of a number (of a range there are only these), `.precision` of a date, `.text` (the source's words),
    `.status`, `.sources` (addresses), `.differs` (whether sources do) and `.lack`. The unit and what was
    asked are metadata of the column."""
    it = filled_table(report, cited)
    rows = it.grid.rows
    fields: list[tuple[pa.Field, list[Any]]] = [
        (pa.field(it.say("cells.row"), pa.string()), [encodable(row.name) for row in rows]),
        (pa.field("about", pa.string()), [encodable(row.about) for row in rows]),
    ]
    for column in it.grid.columns:
        cells = [it.cells.get((row.id, column.id)) for row in rows]
        fields += _fields(it, column, cells)
    names = named([field.name for field, _ in fields])
    schema = pa.schema([f.with_name(n) for (f, _), n in zip(fields, names, strict=True)])
    arrays = [pa.array(values, field.type) for field, values in fields]
    out = BytesIO()
    files.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


_TYPES = {"number": pa.float64(), "date": pa.date32(), "yes or no": pa.bool_()}


def _fields(
    it: Filled, column: Column, cells: Sequence[NumberedCell | None]
) -> Iterator[tuple[pa.Field, list[Any]]]:
    first = [one.cell.readings[0] if one and one.cell.readings else None for one in cells]
    values = [reading.value if reading else None for reading in first]
    points = [it.point(value, column) if value else Point() for value in values]
    told = {"question": column.asked, "type": column.type, "unit": it.units.get(column.id, "")}
    kind = _TYPES.get(column.type, pa.string())

    def beside(ending: str, kind: pa.DataType, said: list[Any]) -> tuple[pa.Field, list[Any]]:
        return pa.field(f"{encodable(column.name)}.{ending}", kind), said

    about = {key: encodable(text) for key, text in told.items() if text}
    own = [_typed(it, v, p, column) if v else None for v, p in zip(values, points, strict=True)]
    yield pa.field(encodable(column.name), kind, metadata=about), own
    if column.type == "number":
        yield beside("low", pa.float64(), [p.low for p in points])
        yield beside("high", pa.float64(), [p.high for p in points])
        yield beside("bound", pa.string(), [v.bound or None if v else None for v in values])
    if column.type == "date":
        yield beside("precision", pa.string(), [v.precision if v else None for v in values])
    yield beside("text", pa.string(), [encodable(v.text) if v else None for v in values])
    yield beside("status", pa.string(), [r.status if r else None for r in first])
    yield beside("sources", pa.list_(pa.string()), [_addresses(it, one) for one in cells])
    yield beside("differs", pa.bool_(), [len(c.cell.readings) > 1 if c else False for c in cells])
    yield beside("lack", pa.string(), [(c.cell.lack if c else "not found") or None for c in cells])


def _typed(it: Filled, value: Value, at: Point, column: Column) -> Any:
    match column.type:
        case "number":
            return at.low if at.low == at.high else None
        case "date":
            return value.day
        case "yes or no":
            return value.yes
    return encodable(it.shown(value, column))


def _addresses(it: Filled, one: NumberedCell | None) -> list[str]:
    sources = {s.number: s.evidence for s in it.cited.sources}
    used = dict.fromkeys(n for own in one.numbers for n in own) if one else ()
    return [encodable(sources[n].url or sources[n].id) for n in used]
