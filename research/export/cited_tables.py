"""A table with cited cells as CSV, Markdown and Parquet.

`cited_table_excel` writes it as Excel, `cited_table_json` as JSON. Citation numbers are those of
the answer. Cell text comes from outside: it cannot add a formula, link or tag to any file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from research.citations.numbering import CitedAnswer, NumberedCell, number_report_answer
from research.core.i18n import Translator, message
from research.core.records import Cell, CellReading, CellValue, Column, Evidence, Grid, Language, Report, Row
from research.export.markdown_escaping import escape_markdown, markdown_link, markdown_table
from research.export.options import ExportOptions, listed_sources
from research.export.report_facts import report_language
from research.export.report_texts import report_translator
from research.export.table_csv import table_csv
from research.export.table_model import ExportColumn, ExportTable, unique_names
from research.tables.column_values import ColumnNumber, convert_number, find_column_unit
from research.tables.formatting import format_cell_in_column, format_column_heading


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

    def numbered_readings(self, row: Row, column: Column) -> list[tuple[CellReading, tuple[int, ...]]]:
        """Return the readings of a cell with the numbers of their sources, the best reading first."""
        item = self.cells_by_key.get((row.id, column.id))
        return list(zip(item.cell.readings, item.numbers, strict=True)) if item else []

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """Unique headings of all columns, starting with that of the row names."""
        names = [format_column_heading(c, self.units.get(c.id, ""), self.language) for c in self.grid.columns]
        return unique_names([self.translate("cells.row"), *names])

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the number columns, by column id."""
        return {c.id: find_column_unit(c, self.plain_cells) for c in self.grid.columns if c.type == "number"}

    def convert_number(self, value: CellValue, column: Column) -> ColumnNumber:
        """Convert a number to the unit of its column."""
        return convert_number(value, self.units.get(column.id, ""))

    def format_value(self, value: CellValue, column: Column) -> str:
        """Format a value without the unit, which is in the heading."""
        return format_cell_in_column(value, column, self.units.get(column.id, ""), self.language)

    def missing_reason(self, cell: Cell | None) -> str:
        """Return a short reason why a cell has no value."""
        return self.translate(f"cells.lack-{(cell.missing_reason if cell else '') or 'not found'}".replace(" ", "_"))

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
    cited = cited or number_report_answer(report)
    if not (report.plan and report.plan.grid and cited):
        raise ValueError("the report has no table")
    return CitedTable(report, cited, report.plan.grid)


# CSV


def cited_table_csv(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return the table as CSV. Conflicting values are joined by " / ", a cell without a value is empty."""
    table = build_cited_table(report, cited)
    rows = [[row.full_name, *(_cell_text(table, row, c) for c in table.grid.columns)] for row in table.grid.rows]
    return table_csv([ExportTable("", [ExportColumn(name) for name in table.headings], rows)])


def _cell_text(table: CitedTable, row: Row, column: Column) -> str:
    return " / ".join(table.format_value(reading.value, column) for reading, _ in table.numbered_readings(row, column))


# Markdown


def cited_table_markdown(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return the table as Markdown with a footnote for each cited source."""
    table = build_cited_table(report, cited)
    translate = report_translator(table.language, "footnotes")
    lines = [
        [escape_markdown(row.full_name), *(_cell_markdown(table, row, c, translate) for c in table.grid.columns)]
        for row in table.grid.rows
    ]
    title = table.grid.title or table.cited.answer.title or report.run.question
    used = {n for item in table.cited.cells for numbers in item.numbers for n in numbers}
    listed = [source for source in listed_sources(table.cited, options) if source.number in used]
    notes = [f"[^{source.number}]: {_footnote(source.evidence)}" for source in listed]
    body = [f"# {escape_markdown(title)}", *markdown_table([escape_markdown(h) for h in table.headings], lines)]
    return "\n\n".join([*body, *notes]) + "\n"


def _cell_markdown(table: CitedTable, row: Row, column: Column, translate: Translator) -> str:
    readings = table.numbered_readings(row, column)
    if not readings:
        item = table.cells_by_key.get((row.id, column.id))
        return f"*{escape_markdown(table.missing_reason(item.cell if item else None))}*"
    values = [
        escape_markdown(table.format_value(reading.value, column))
        + "".join(translate("cite", number=number) for number in numbers)
        for reading, numbers in readings
    ]
    return " / ".join(values)


def _footnote(evidence: Evidence) -> str:
    day = evidence.published or evidence.retrieved.date()
    about = [escape_markdown(evidence.publisher)] if evidence.publisher else []
    title = evidence.title or evidence.url or evidence.id
    return " · ".join([markdown_link(title, evidence.url), *about, day.isoformat()])


# Parquet


def cited_table_parquet(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return the table as Parquet, with a typed column for each table column.

    Further columns hold details of the best value: `.low`, `.high` and `.bound` of a number (a
    range has only these), `.precision` of a date, `.text` (the words of the source), `.status`,
    `.sources` (addresses), `.differs` (conflicting sources) and `.lack` (reason for a missing
    value). The metadata of a column holds its question, type and unit.
    """
    from research.export.table_parquet import table_parquet  # slow to import

    table = build_cited_table(report, cited)
    rows = table.grid.rows
    columns: list[tuple[ExportColumn, Sequence[Any]]] = [
        (ExportColumn(table.translate("cells.row")), [row.name for row in rows]),
        (ExportColumn("about"), [row.qualifier for row in rows]),
    ]
    for column in table.grid.columns:
        columns += _detail_columns(table, column, [table.cells_by_key.get((row.id, column.id)) for row in rows])
    lines = zip(*(values for _, values in columns), strict=True)
    return table_parquet(ExportTable("", [column for column, _ in columns], lines))


_COLUMN_TYPES = {"number": "number", "date": "date", "yes or no": "boolean"}


def _detail_columns(
    table: CitedTable, column: Column, cells: Sequence[NumberedCell | None]
) -> Iterator[tuple[ExportColumn, Sequence[Any]]]:
    """Yield the column of best values, then the columns of their details."""
    first = [item.cell.readings[0] if item and item.cell.readings else None for item in cells]
    values = [reading.value if reading else None for reading in first]
    points = [table.convert_number(value, column) if value else ColumnNumber() for value in values]
    facts = {"question": column.full_question, "type": column.type, "unit": table.units.get(column.id, "")}

    def detail(ending: str, kind: str, details: list[Any]) -> tuple[ExportColumn, list[Any]]:
        return ExportColumn(f"{column.name}.{ending}", kind), details

    typed = [_typed_value(table, v, p, column) if v else None for v, p in zip(values, points, strict=True)]
    metadata = {key: text for key, text in facts.items() if text}
    yield ExportColumn(column.name, _COLUMN_TYPES.get(column.type, "text"), metadata), typed
    if column.type == "number":
        yield detail("low", "number", [p.low for p in points])
        yield detail("high", "number", [p.high for p in points])
        yield detail("bound", "text", [v.bound or None if v else None for v in values])
    if column.type == "date":
        yield detail("precision", "text", [v.precision if v else None for v in values])
    yield detail("text", "text", [v.text if v else None for v in values])
    yield detail("status", "text", [r.status if r else None for r in first])
    yield detail("sources", "texts", [_source_addresses(table, item) for item in cells])
    yield detail("differs", "boolean", [len(c.cell.readings) > 1 if c else False for c in cells])
    yield detail("lack", "text", [(c.cell.missing_reason if c else "not found") or None for c in cells])


def _typed_value(table: CitedTable, value: CellValue, number: ColumnNumber, column: Column) -> Any:
    match column.type:
        case "number":
            return number.low if number.low == number.high else None
        case "date":
            return value.day
        case "yes or no":
            return value.yes
    return table.format_value(value, column)


def _source_addresses(table: CitedTable, cell: NumberedCell | None) -> list[str]:
    sources = {s.number: s.evidence for s in table.cited.sources}
    used = dict.fromkeys(n for numbers in cell.numbers for n in numbers) if cell else ()
    return [sources[n].url or sources[n].id for n in used]
