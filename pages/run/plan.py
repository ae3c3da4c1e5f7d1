"""The plan as a table that the analyst can edit, before a run or after it.

The plan of a report is its outline: there each row is a query of a section, with its way of
searching the news and the days that this is limited to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared.safe import plain
from pages.shared.words import day_form, source_name, t, tool_name
from research import Plan, Task, application, edited_plan, served_as_a_whole

COLUMNS = ("subject", "part", "query", "source")
WAY = ("tool", "start", "end")
DATED = "search_news_by_date"  # the tool that wants two days


def editor(plan: Plan, sources: tuple[str, ...], key: str) -> Plan:
    """Draws the table and returns the plan as edited; what is wrong with it is told below."""
    if served_as_a_whole(plan):
        st.markdown("\n".join(f"- {plain(part.text)}" for part in plan.parts))
    st.caption(t("plan.outline_help" if plan.outline else "plan.help"))
    edited = st.data_editor(
        _outline(plan) if plan.outline else _table(plan),
        num_rows="dynamic",
        hide_index=True,
        key=key,
        alt=t("plan.title"),
        placeholder="",
        column_config=_columns(sources, outline=plan.outline),
    )
    made = edited_plan(rows(edited, sources), plan)
    if plan.outline and (lines := wrong(made)):
        st.error("\n".join(f"- {line}" for line in lines), icon=":material/event_busy:")
    if plan.outline and idle(edited):
        st.caption(t("plan.dates_idle"))
    return made


def wrong(plan: Plan) -> list[str]:
    """What a search by dates of the plan lacks, one line for each, for the analyst to put right."""
    today = datetime.now(UTC).date()
    return [
        f"{plain(task.query, 60)} — {fault}"
        for task in plan.tasks
        if task.tool == DATED and (fault := _fault(task, today))
    ]


def _fault(task: Task, today: date) -> str:
    if task.start is None or task.end is None:
        return t("plan.dates_missing")
    if task.start > task.end:
        return t("plan.dates_order", start=task.start, end=task.end)
    if task.start > today:
        return t("plan.dates_future", start=task.start)
    return ""


def rows(edited: pd.DataFrame, sources: tuple[str, ...]) -> list[Any]:
    """The rows of a table as it was edited. Of an outline's only news has a tool, and only the
    search by dates has days."""
    found: list[Any] = []
    for _, row in edited.iterrows():
        subject, part, query, source = (_text(row[name]) for name in COLUMNS)
        line = (subject, part, query, source or sources[0])
        if WAY[0] in edited.columns:
            tool = _text(row["tool"]) if _tools(line[3]) else ""
            days = (_day(row["start"]), _day(row["end"])) if tool == DATED else (None, None)
            found.append((*line, tool, *days))
        else:
            found.append(line)
    return found


def idle(edited: pd.DataFrame) -> bool:
    """Whether a row has days that its way of searching does not take."""
    return any(
        (_day(row["start"]) or _day(row["end"]))
        and (not _tools(_text(row["source"])) or _text(row["tool"]) != DATED)
        for _, row in edited.iterrows()
    )


def _tools(source: str) -> Mapping[str, str]:
    """The ways of searching that a source has."""
    return application.described()[source].tools if source in application.described() else {}


def _first(sources: Sequence[str]) -> str:
    """Where a report looks first."""
    known = application.described()
    return next((name for name in sources if name in known and known[name].reports), sources[0])


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _day(value: Any) -> date | None:
    return None if pd.isna(value) else pd.Timestamp(value).date()


def _table(plan: Plan) -> pd.DataFrame:
    return pd.DataFrame(_rows(plan), columns=list(COLUMNS), dtype="object")


def _outline(plan: Plan) -> pd.DataFrame:
    """A row for each query; only the first of a section has its content."""
    found: list[tuple[Any, ...]] = []
    for part in plan.parts:
        text = part.text
        for task in (task for task in plan.tasks if task.part == part.id):
            way = (task.tool, task.start, task.end)
            found.append((part.subject, text, task.query, task.source, *way))
            text = ""
        if text:
            found.append((part.subject, text, "", "", "", None, None))
    table = pd.DataFrame(found, columns=[*COLUMNS, *WAY], dtype="object")
    for name in ("start", "end"):
        table[name] = pd.to_datetime(table[name])
    return table


def _columns(sources: tuple[str, ...], *, outline: bool) -> dict[str, Any]:
    column = st.column_config
    found: dict[str, Any] = {
        "subject": column.TextColumn(t("plan.section" if outline else "plan.subject")),
        "part": column.TextColumn(t("plan.content" if outline else "plan.part")),
        "query": column.TextColumn(t("plan.query"), width="large", max_chars=400),
        "source": column.SelectboxColumn(
            t("plan.source"),
            options=list(sources),
            default=_first(sources) if outline else sources[0],
            required=True,
            format_func=source_name,
        ),
    }
    if not outline:
        return found
    days = {"format": day_form(), "width": 115, "help": t("plan.days_help")}
    return found | {
        "subject": column.TextColumn(t("plan.section"), width=130, max_chars=200),
        "part": column.TextColumn(t("plan.content"), width=180),
        "query": column.TextColumn(t("plan.query"), width=190, max_chars=400),
        "tool": column.SelectboxColumn(
            t("plan.tool"), width=125, options=["", *chain.from_iterable(map(_tools, sources))], default="", format_func=tool_name,
            help=t("plan.tool_help"),
        ),
        "start": column.DateColumn(t("plan.start_day"), **days),
        "end": column.DateColumn(t("plan.end_day"), **days),
    }  # fmt: skip


def _rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """A row for each part and source; a part that shares its subject's query shows that one."""
    if served_as_a_whole(plan):
        return [("", "", task.query, task.source) for task in plan.tasks]
    rows: list[tuple[str, str, str, str]] = []
    for part in plan.parts:
        queries = [(task.query, task.source) for task in plan.tasks if task.part == part.id]
        if not queries:
            shared = [row for row in rows if row[0] == part.subject]
            queries = [(row[2], row[3]) for row in shared if row[1] == shared[-1][1]]
        rows += [(part.subject, part.text, *query) for query in queries or [("", "")]]
    return rows
