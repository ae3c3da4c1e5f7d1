"""The rows that a database gave to a report, as Markdown: the statement, how it came about, a table.

Cells, statements and questions come from outside and are escaped. A long table is cut, which is said;
the report as JSON has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from research.core.display_names import localise_rows
from research.core.i18n import Translator
from research.core.records import DatabaseStep, Finding, Language, QueryResult, Report
from research.export.markdown_escaping import bullet_list, escape_markdown, markdown_table
from research.export.tree_markdown import code_block

MAX_ROWS = 50  # of a table
MAX_CELL_CHARS = 120  # characters of a cell


def database_blocks(report: Report, translate: Translator, language: Language) -> Iterator[str]:
    """A section for each search of a database that has come to rows."""
    found = [(one, localise_rows(one.rows, language)) for one in report.findings if one.rows]
    if found:
        yield f"## {translate('rows')}"
    for finding, rows in found:
        yield f"### {escape_markdown(finding.meant or finding.task.query)}"
        yield code_block(rows.sql, "sql")
        yield from bullet_list(_step_lines(finding, translate))
        yield from _table_blocks(rows, translate)
        yield from (escape_markdown(line) for line in column_coverage_lines(rows, translate))


def column_coverage_lines(rows: QueryResult, translate: Translator) -> list[str]:
    """For how many rows the columns are known that a statement compares, a line each."""
    told = []
    for each in rows.coverage:
        columns = ", ".join(each.columns)
        if each.known is None:
            told.append(translate("rows uncounted", columns=columns))
        else:
            key = "rows known part" if each.part else "rows known"
            told.append(translate(key, columns=columns, known=each.known, rows=each.rows))
    return told


def _step_lines(finding: Finding, translate: Translator) -> list[str]:
    """What was done on the way besides writing and running the one statement that is shown."""
    told = [step for step in finding.steps if step.kind not in ("understand", "write", "run")]
    return [_step_line(step, translate) for step in told]


def _step_line(step: DatabaseStep, translate: Translator) -> str:
    what = escape_markdown(step.text) if step.text else translate("cells gained", count=step.rows or 0)
    return f"{translate(f'step.{step.kind}')}{translate('colon')}{what}"


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
    if rows.cut:
        yield translate("cells cut", count=rows.cut)


def _table_cell(value: Any) -> str:
    if value is None:
        return "—"
    text = str(value)
    return escape_markdown(text if len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 1]}…")
