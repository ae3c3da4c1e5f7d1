"""A table with cited cells as CSV, Markdown and Parquet.

`cited_table_excel` writes it as Excel, `cited_table_json` as JSON. Citation numbers are those of
the answer. Cell text comes from outside: it cannot add a formula, link or tag to any file. Writes
no file.
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

from research.citations.numbering import CitedAnswer, NumberedCell
from research.citations.numbering import number_report_answer as numbered
from research.core.i18n import Translator, message
from research.core.records import Cell, CellReading, CellValue, Column, Grid, Language, Place, Report, Row
from research.core.text.control_chars import replace_surrogates
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
    """The table of a report with its numbered cells."""

    report: Report
    cited: CitedAnswer
    grid: Grid

    @cached_property
    def language(self) -> Language:
        """Language of the answer."""
        return report_language(self.report, self.cited)

    @cached_property
    def translate(self) -> Translator:
        """Translator of the fixed texts of a report."""
        return report_translator(self.language)

    @cached_property
    def cells_by_key(self) -> dict[tuple[str, str], NumberedCell]:
        """Numbered cells by row id and column id."""
        return {(item.cell.row, item.cell.column): item for item in self.cited.cells}

    @cached_property
    def plain_cells(self) -> tuple[Cell, ...]:
        """Cells without their citation numbers."""
        return tuple(item.cell for item in self.cited.cells)

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the number columns, by column id."""
        return {c.id: find_column_unit(c, self.plain_cells) for c in self.grid.columns if c.type == "number"}

    def format_heading(self, column: Column) -> str:
        """Return the name of a column with its unit."""
        return format_column_heading(column, self.units.get(column.id, ""), self.language)

    def convert_number(self, value: CellValue, column: Column) -> ColumnNumber:
        """Convert a number to the unit of its column."""
        return convert_number(value, self.units.get(column.id, ""))

    def format_value(self, value: CellValue, column: Column) -> str:
        """Format a value without the unit, which is in the heading."""
        return format_cell_in_column(value, column, self.units.get(column.id, ""), self.language)

    def missing_reason(self, cell: Cell | None) -> str:
        """Return a short reason why a cell has no value."""
        return self.translate(f"cells.lack-{(cell.lack if cell else '') or 'not found'}".replace(" ", "_"))

    def status_text(self, reading: CellReading) -> str:
        """Return the support status of a reading in words."""
        return message(f"standing.{reading.status}", self.language)


def has_cited_table(report: Report) -> bool:
    """Return whether a report has a table to export."""
    return bool(report.plan and report.plan.grid and report.answer and report.answer.cells)


def build_cited_table(report: Report, cited: CitedAnswer | None) -> CitedTable:
    """Return the table of a report.

    Raises:
        ValueError: the report has no table.
    """
    cited = cited or numbered(report)
    if not (report.plan and report.plan.grid and cited):
        raise ValueError("the report has no table")
    return CitedTable(report, cited, report.plan.grid)


def row_places(report: Report) -> list[Place]:
    """Return the places of the table's rows, for map files."""
    grid = report.plan.grid if report.plan else None
    return [row.place for row in grid.rows if row.place] if grid else []


# CSV


def cited_table_csv(report: Report, cited: CitedAnswer | None, with_citations: bool = False) -> bytes:
    """Encode the table as UTF-8 CSV with a byte order mark.

    With `with_citations` each value is followed by [n]. Conflicting values are joined by " / ", and
    a cell without a value is empty. Cells are escaped as in `research.export.geo.places_csv`.
    """
    table = build_cited_table(report, cited)
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    lines.writerow([plain_cell(name) for name in column_headings(table)])
    for row in table.grid.rows:
        values = [" / ".join(_cell_texts(table, row, c, with_citations)) for c in table.grid.columns]
        lines.writerow([plain_cell(value) for value in (row.full_name, *values)])
    return ("\ufeff" + replace_surrogates(out.getvalue())).encode()


def column_headings(table: CitedTable) -> tuple[str, ...]:
    """Return the unique headings of all columns, starting with that of the row names."""
    return unique_names([table.translate("cells.row"), *map(table.format_heading, table.grid.columns)])


def _cell_texts(table: CitedTable, row: Row, column: Column, with_citations: bool) -> Iterator[str]:
    numbered_cell = table.cells_by_key.get((row.id, column.id))
    for reading, numbers in (
        zip(numbered_cell.cell.readings, numbered_cell.numbers, strict=True) if numbered_cell else ()
    ):
        marks = "".join(f" [{number}]" for number in numbers) if with_citations else ""
        yield table.format_value(reading.value, column) + marks


# Markdown


def cited_table_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """Render the table as Markdown with a footnote for each cited source."""
    table = build_cited_table(report, cited)
    translate = report_translator(table.language, _CITATION_FORMAT)
    lines = [
        [escape_markdown(row.full_name), *(_cell_markdown(table, row, c, translate) for c in table.grid.columns)]
        for row in table.grid.rows
    ]
    title = table.grid.title or table.cited.answer.title or report.run.question
    used = {n for item in table.cited.cells for numbers in item.numbers for n in numbers}
    notes = [f"[^{s.number}]: {_footnote(table, s.evidence)}" for s in table.cited.sources if s.number in used]
    body = [f"# {escape_markdown(title)}", *markdown_table([escape_markdown(h) for h in column_headings(table)], lines)]
    return "\n\n".join([*body, *notes]) + "\n"


def _cell_markdown(table: CitedTable, row: Row, column: Column, translate: Translator) -> str:
    numbered_cell = table.cells_by_key.get((row.id, column.id))
    if numbered_cell is None or not numbered_cell.cell.readings:
        return f"*{escape_markdown(table.missing_reason(numbered_cell.cell if numbered_cell else None))}*"
    values = [
        f"{escape_markdown(table.format_value(reading.value, column))}{''.join(translate('cite', number=n) for n in numbers)}"
        for reading, numbers in zip(numbered_cell.cell.readings, numbered_cell.numbers, strict=True)
    ]
    return " / ".join(values)


def _footnote(table: CitedTable, evidence: Any) -> str:
    day = evidence.published or evidence.retrieved.date()
    about = [escape_markdown(evidence.publisher)] if evidence.publisher else []
    return " · ".join(
        [markdown_link(evidence.title or evidence.url or evidence.id, evidence.url), *about, day.isoformat()]
    )


# Parquet


def cited_table_parquet(report: Report, cited: CitedAnswer | None) -> bytes:
    """Encode the table as Parquet, with a typed column for each table column.

    Further columns hold details of the best value: `.low`, `.high` and `.bound` of a number (a
    range has only these), `.precision` of a date, `.text` (the words of the source), `.status`,
    `.sources` (addresses), `.differs` (conflicting sources) and `.lack` (reason for a missing
    value). The metadata of a column holds its question, type and unit.
    """
    table = build_cited_table(report, cited)
    rows = table.grid.rows
    fields: list[tuple[pa.Field, list[Any]]] = [
        (pa.field(table.translate("cells.row"), pa.string()), [replace_surrogates(row.name) for row in rows]),
        (pa.field("about", pa.string()), [replace_surrogates(row.about) for row in rows]),
    ]
    for column in table.grid.columns:
        cells = [table.cells_by_key.get((row.id, column.id)) for row in rows]
        fields += _arrow_fields(table, column, cells)
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
    first = [
        numbered_cell.cell.readings[0] if numbered_cell and numbered_cell.cell.readings else None
        for numbered_cell in cells
    ]
    values = [reading.value if reading else None for reading in first]
    points = [table.convert_number(value, column) if value else ColumnNumber() for value in values]
    facts = {"question": column.full_question, "type": column.type, "unit": table.units.get(column.id, "")}
    kind = _ARROW_TYPES.get(column.type, pa.string())

    def extra_column(ending: str, kind: pa.DataType, said: list[Any]) -> tuple[pa.Field, list[Any]]:
        return pa.field(f"{replace_surrogates(column.name)}.{ending}", kind), said

    metadata = {key: replace_surrogates(text) for key, text in facts.items() if text}
    typed = [_typed_value(table, v, p, column) if v else None for v, p in zip(values, points, strict=True)]
    yield pa.field(replace_surrogates(column.name), kind, metadata=metadata), typed
    if column.type == "number":
        yield extra_column("low", pa.float64(), [p.low for p in points])
        yield extra_column("high", pa.float64(), [p.high for p in points])
        yield extra_column("bound", pa.string(), [v.bound or None if v else None for v in values])
    if column.type == "date":
        yield extra_column("precision", pa.string(), [v.precision if v else None for v in values])
    yield extra_column("text", pa.string(), [replace_surrogates(v.text) if v else None for v in values])
    yield extra_column("status", pa.string(), [r.status if r else None for r in first])
    yield extra_column(
        "sources", pa.list_(pa.string()), [_source_addresses(table, numbered_cell) for numbered_cell in cells]
    )
    yield extra_column("differs", pa.bool_(), [len(c.cell.readings) > 1 if c else False for c in cells])
    yield extra_column("lack", pa.string(), [(c.cell.lack if c else "not found") or None for c in cells])


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
    used = dict.fromkeys(n for numbers in cell.numbers for n in numbers) if cell else ()
    return [replace_surrogates(sources[n].url or sources[n].id) for n in used]
