"""The rows that a database gave to a report, as Markdown: the statement, how it came about, a table.

Cells, statements and questions come from outside and are escaped. A long table is cut, which is said;
the report as JSON has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from research.core.i18n import Say
from research.core.readable import readable_rows
from research.core.records import Finding, Language, Report, Rows, Step
from research.export.inline import bullets, escape, table
from research.export.prose import fenced

ROWS = 50  # of a table
CELL = 120  # characters of a cell


def tables(report: Report, say: Say, language: Language) -> Iterator[str]:
    """A section for each search of a database that has come to rows."""
    found = [(one, readable_rows(one.rows, language)) for one in report.findings if one.rows]
    if found:
        yield f"## {say('rows')}"
    for finding, rows in found:
        yield f"### {escape(finding.meant or finding.task.query)}"
        yield fenced(rows.sql, "sql")
        yield from bullets(_steps(finding, say))
        yield from _table(rows, say)
        yield from (escape(line) for line in known(rows, say))


def known(rows: Rows, say: Say) -> list[str]:
    """For how many rows the columns are known that a statement compares, a line each."""
    told = []
    for each in rows.coverage:
        columns = ", ".join(each.columns)
        if each.known is None:
            told.append(say("rows uncounted", columns=columns))
        else:
            key = "rows known part" if each.part else "rows known"
            told.append(say(key, columns=columns, known=each.known, rows=each.rows))
    return told


def _steps(finding: Finding, say: Say) -> list[str]:
    """What was done on the way besides writing and running the one statement that is shown."""
    told = [step for step in finding.steps if step.kind not in ("understand", "write", "run")]
    return [_step(step, say) for step in told]


def _step(step: Step, say: Say) -> str:
    what = escape(step.text) if step.text else say("cells gained", count=step.rows or 0)
    return f"{say(f'step.{step.kind}')}{say('colon')}{what}"


def _table(rows: Rows, say: Say) -> Iterator[str]:
    shown = rows.rows[:ROWS]
    if not shown:
        yield say("no rows")
        return
    head = [escape(name) or "—" for name in rows.names]
    yield from table(head, [[_cell(value) for value in row] for row in shown])
    if len(rows.rows) > len(shown):
        yield say("rows left out", count=len(rows.rows) - len(shown))
    if rows.truncated:
        yield say("rows truncated")
    if rows.cut:
        yield say("cells cut", count=rows.cut)


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    text = str(value)
    return escape(text if len(text) <= CELL else f"{text[: CELL - 1]}…")
