"""Database rows of a report as Markdown: statement, steps and table.

Cells, statements and questions come from outside and are escaped. A long table is cut, with a note;
the JSON report has all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from research.core.display_names import localise_rows
from research.core.i18n import Translator
from research.core.reading_notes import describe_reading_note
from research.core.records import DatabaseStep, Finding, Language, QueryResult, Report
from research.export.markdown_escaping import bullet_list, escape_markdown, markdown_table
from research.export.tree_markdown import code_block

MAX_ROWS = 50  # rows of a printed table
MAX_CELL_CHARS = 120  # characters of a cell


def database_blocks(report: Report, translate: Translator, language: Language) -> Iterator[str]:
    """Yield a section for each database search with a query result."""
    results = [(item, localise_rows(item.rows, language)) for item in report.findings if item.rows]
    if results:
        yield f"## {translate('rows')}"
    for finding, rows in results:
        yield f"### {escape_markdown(finding.interpreted_question or finding.task.query)}"
        yield code_block(rows.sql, "sql")
        yield from bullet_list(_step_lines(finding, translate))
        yield from _table_blocks(rows, translate)
        yield from (escape_markdown(line) for line in column_coverage_lines(rows, translate))
        yield from (escape_markdown(describe_reading_note(note, language)) for note in rows.reading_notes)


def column_coverage_lines(rows: QueryResult, translate: Translator) -> list[str]:
    """Say for each set of compared columns in how many rows they have a value."""
    lines = []
    for entry in rows.coverage:
        columns = ", ".join(entry.columns)
        if entry.known is None:
            lines.append(translate("rows uncounted", columns=columns))
        else:
            key = "rows known part" if entry.subquery else "rows known"
            lines.append(translate(key, columns=columns, known=entry.known, rows=entry.rows))
    return lines


def _step_lines(finding: Finding, translate: Translator) -> list[str]:
    """List the steps other than understanding, writing and running the statement."""
    steps = [step for step in finding.steps if step.kind not in ("understand", "write", "run")]
    return [_step_line(step, translate) for step in steps]


def _step_line(step: DatabaseStep, translate: Translator) -> str:
    detail = escape_markdown(step.text) if step.text else translate("cells gained", count=step.rows or 0)
    return f"{translate(f'step.{step.kind}')}{translate('colon')}{detail}"


def _table_blocks(rows: QueryResult, translate: Translator) -> Iterator[str]:
    shown = rows.rows[:MAX_ROWS]
    if not shown:
        yield translate("no rows")
        return
    head = [escape_markdown(name) or "—" for name in rows.names]
    yield from markdown_table(head, [[_table_cell(value) for value in row] for row in shown])
    if len(rows.rows) > len(shown):
        yield translate("rows left out", count=len(rows.rows) - len(shown))
    if rows.truncated:
        yield translate("rows truncated")
    if rows.shortened_cells:
        yield translate("cells cut", count=rows.shortened_cells)


def _table_cell(value: Any) -> str:
    if value is None:
        return "—"
    text = str(value)
    return escape_markdown(text if len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 1]}…")
