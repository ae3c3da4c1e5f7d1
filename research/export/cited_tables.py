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

from research.citations.model_markdown import replace_surrogates
from research.citations.numbering import CitedAnswer, NumberedCell
from research.citations.numbering import number_report_answer as numbered
from research.core.i18n import Translator, message
from research.core.records import Cell, CellReading, CellValue, Column, Grid, Language, Place, Report, Row
from research.export.database_rows import unique_names
from research.export.geo import spreadsheet_cell as plain_cell
from research.export.markdown import report_language
from research.export.markdown_escaping import escape_markdown, markdown_link, markdown_table
from research.export.report_texts import CitationFormat, report_translator
from research.tables.column_values import ColumnNumber, convert_number, find_column_unit
from research.tables.formatting import format_cell_in_column, format_column_heading

_CITATION_FORMAT: CitationFormat = "footnotes"


@dataclass(frozen=True)
class CitedTable:
    """A table that was asked for, with what its cells say."""

    report: Report
    cited: CitedAnswer
    grid: Grid

    @cached_property
    def language(self) -> Language:
        return report_language(self.report, self.cited)

    @cached_property
    def translate(self) -> Translator:
        return report_translator(self.language)

    @cached_property
    def cells_by_key(self) -> dict[tuple[str, str], NumberedCell]:
        """By the ids of row and column."""
        return {(one.cell.row, one.cell.column): one for one in self.cited.cells}

    @cached_property
    def plain_cells(self) -> tuple[Cell, ...]:
        """Without their numbers."""
        return tuple(one.cell for one in self.cited.cells)

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of the columns of numbers, by their ids."""
        return {c.id: find_column_unit(c, self.plain_cells) for c in self.grid.columns if c.type == "number"}

    def format_heading(self, column: Column) -> str:
        """A column's name, with its unit."""
        return format_column_heading(column, self.units.get(column.id, ""), self.language)

    def convert_number(self, value: CellValue, column: Column) -> ColumnNumber:
        """A number in the unit of its column."""
        return convert_number(value, self.units.get(column.id, ""))

    def format_value(self, value: CellValue, column: Column) -> str:
        """A value as it is read, without the unit that stands in the heading."""
        return format_cell_in_column(value, column, self.units.get(column.id, ""), self.language)

    def missing_reason(self, cell: Cell | None) -> str:
        """Why a cell has no value, in a few words."""
        return self.translate(f"cells.lack-{(cell.lack if cell else '') or 'not found'}".replace(" ", "_"))

    def status_text(self, reading: CellReading) -> str:
        return message(f"standing.{reading.status}", self.language)


def has_cited_table(report: Report) -> bool:
    """Whether a report has a table to write."""
    return bool(report.plan and report.plan.grid and report.answer and report.answer.cells)


def build_cited_table(report: Report, cited: CitedAnswer | None) -> CitedTable:
    """The table of a report.

    Raises:
        ValueError: it has none.
    """
    cited = cited or numbered(report)
    if not (report.plan and report.plan.grid and cited):
        raise ValueError("the report has no table")
    return CitedTable(report, cited, report.plan.grid)


def row_places(report: Report) -> list[Place]:
    """The places of a table's rows, for the files of maps."""
    grid = report.plan.grid if report.plan else None
    return [row.place for row in grid.rows if row.place] if grid else []


# CSV


def cited_table_csv(report: Report, cited: CitedAnswer | None, with_citations: bool = False) -> bytes:
    """The table as UTF-8 for spreadsheets, with [n] behind each value if `citations`. Values that differ
    stand beside each other; a cell without one is empty.

    See `research.export.geo.csv` for what stands before what a spreadsheet would take for a formula.
    """
    it = build_cited_table(report, cited)
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    lines.writerow([plain_cell(name) for name in column_headings(it)])
    for row in it.grid.rows:
        values = [" / ".join(_cell_texts(it, row, c, with_citations)) for c in it.grid.columns]
        lines.writerow([plain_cell(value) for value in (row.full_name, *values)])
    return ("\ufeff" + replace_surrogates(out.getvalue())).encode()


def column_headings(table: CitedTable) -> tuple[str, ...]:
    """The names of the columns, each once, that of the rows first."""
    return unique_names([table.translate("cells.row"), *map(table.format_heading, table.grid.columns)])


def _cell_texts(table: CitedTable, row: Row, column: Column, with_citations: bool) -> Iterator[str]:
    one = table.cells_by_key.get((row.id, column.id))
    for reading, numbers in zip(one.cell.readings, one.numbers, strict=True) if one else ():
        marks = "".join(f" [{number}]" for number in numbers) if with_citations else ""
        yield table.format_value(reading.value, column) + marks


# Markdown


def cited_table_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """The table with a footnote for each source that a cell cites."""
    it = build_cited_table(report, cited)
    say = report_translator(it.language, _CITATION_FORMAT)
    lines = [[escape_markdown(row.full_name), *(_cell_markdown(it, row, c, say) for c in it.grid.columns)] for row in it.grid.rows]  # fmt: skip
    title = it.grid.title or it.cited.answer.title or report.run.question
    used = {n for one in it.cited.cells for own in one.numbers for n in own}
    notes = [f"[^{s.number}]: {_footnote(it, s.evidence)}" for s in it.cited.sources if s.number in used]
    body = [f"# {escape_markdown(title)}", *markdown_table([escape_markdown(h) for h in column_headings(it)], lines)]
    return "\n\n".join([*body, *notes]) + "\n"


def _cell_markdown(table: CitedTable, row: Row, column: Column, translate: Translator) -> str:
    one = table.cells_by_key.get((row.id, column.id))
    if one is None or not one.cell.readings:
        return f"*{escape_markdown(table.missing_reason(one.cell if one else None))}*"
    values = [
        f"{escape_markdown(table.format_value(reading.value, column))}{''.join(translate('cite', number=n) for n in own)}"
        for reading, own in zip(one.cell.readings, one.numbers, strict=True)
    ]
    return " / ".join(values)


def _footnote(table: CitedTable, evidence: Any) -> str:
    day = evidence.published or evidence.retrieved.date()
    about = [escape_markdown(evidence.publisher)] if evidence.publisher else []
    return " · ".join([markdown_link(evidence.title or evidence.url or evidence.id, evidence.url), *about, day.isoformat()])  # fmt: skip


# Parquet


def cited_table_parquet(report: Report, cited: CitedAnswer | None) -> bytes:
    """The table with a column of its own type for each that was asked for, and beside it what a typed value
    leaves out: `.low` and `.high` of a number (of a range there are only these), `.precision` of a date, `.text` (the source's words),
    `.status`, `.sources` (addresses), `.differs` (whether sources do) and `.lack`. The unit and what was
    asked are metadata of the column."""
    it = build_cited_table(report, cited)
    rows = it.grid.rows
    fields: list[tuple[pa.Field, list[Any]]] = [
        (pa.field(it.translate("cells.row"), pa.string()), [replace_surrogates(row.name) for row in rows]),
        (pa.field("about", pa.string()), [replace_surrogates(row.about) for row in rows]),
    ]
    for column in it.grid.columns:
        cells = [it.cells_by_key.get((row.id, column.id)) for row in rows]
        fields += _arrow_fields(it, column, cells)
    names = unique_names([field.name for field, _ in fields])
    schema = pa.schema([f.with_name(n) for (f, _), n in zip(fields, names, strict=True)])
    arrays = [pa.array(values, field.type) for field, values in fields]
    out = BytesIO()
    files.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


_ARROW_TYPES = {"number": pa.float64(), "date": pa.date32(), "yes or no": pa.bool_()}


def _arrow_fields(
    table: CitedTable, column: Column, cells: Sequence[NumberedCell | None]
) -> Iterator[tuple[pa.Field, list[Any]]]:
    first = [one.cell.readings[0] if one and one.cell.readings else None for one in cells]
    values = [reading.value if reading else None for reading in first]
    points = [table.convert_number(value, column) if value else ColumnNumber() for value in values]
    told = {"question": column.full_question, "type": column.type, "unit": table.units.get(column.id, "")}
    kind = _ARROW_TYPES.get(column.type, pa.string())

    def beside(ending: str, kind: pa.DataType, said: list[Any]) -> tuple[pa.Field, list[Any]]:
        return pa.field(f"{replace_surrogates(column.name)}.{ending}", kind), said

    about = {key: replace_surrogates(text) for key, text in told.items() if text}
    own = [_typed_value(table, v, p, column) if v else None for v, p in zip(values, points, strict=True)]
    yield pa.field(replace_surrogates(column.name), kind, metadata=about), own
    if column.type == "number":
        yield beside("low", pa.float64(), [p.low for p in points])
        yield beside("high", pa.float64(), [p.high for p in points])
        yield beside("bound", pa.string(), [v.bound or None if v else None for v in values])
    if column.type == "date":
        yield beside("precision", pa.string(), [v.precision if v else None for v in values])
    yield beside("text", pa.string(), [replace_surrogates(v.text) if v else None for v in values])
    yield beside("status", pa.string(), [r.status if r else None for r in first])
    yield beside("sources", pa.list_(pa.string()), [_source_addresses(table, one) for one in cells])
    yield beside("differs", pa.bool_(), [len(c.cell.readings) > 1 if c else False for c in cells])
    yield beside("lack", pa.string(), [(c.cell.lack if c else "not found") or None for c in cells])


def _typed_value(table: CitedTable, value: CellValue, number: ColumnNumber, column: Column) -> Any:
    match column.type:
        case "number":
            return number.low if number.low == number.high else None
        case "date":
            return value.day
        case "yes or no":
            return value.yes
    return replace_surrogates(table.format_value(value, column))


def _source_addresses(table: CitedTable, cell: NumberedCell | None) -> list[str]:
    sources = {s.number: s.evidence for s in table.cited.sources}
    used = dict.fromkeys(n for own in cell.numbers for n in own) if cell else ()
    return [replace_surrogates(sources[n].url or sources[n].id) for n in used]
