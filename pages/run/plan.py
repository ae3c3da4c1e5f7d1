"""The plan as a table that the analyst can edit, before a run or after it.

The plan of a report is its outline: each row is a query of a section, with the news search tool and
its date range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import day_column_format, source_name, t, tool_name
from research import Plan, Run, Task, build_edited_plan, get_application, has_shared_tasks, sources_by_name

COLUMNS = ("subject", "part", "query", "source")
NEWS_COLUMNS = ("tool", "start", "end")
DATED_TOOL = "search_news_by_date"  # needs a start and an end date


def edit_plan(plan: Plan, sources: tuple[str, ...], key: str) -> Plan:
    """Draw the plan as an editable table and return the edited plan. Problems with dates are drawn below it."""
    if has_shared_tasks(plan):
        st.markdown("\n".join(f"- {escape_markdown(part.text)}" for part in plan.parts))
    st.caption(t("plan.outline_help" if plan.outline else "plan.help"))
    edited = st.data_editor(
        _outline_table(plan) if plan.outline else _plan_table(plan),
        num_rows="dynamic",
        hide_index=True,
        key=key,
        alt=t("plan.title"),
        placeholder="",
        column_config=_column_configs(sources, is_outline=plan.outline),
    )
    edited_plan = build_edited_plan(parse_rows(edited, sources), plan)
    if plan.outline and (lines := find_date_problems(edited_plan)):
        st.error("\n".join(f"- {line}" for line in lines), icon=":material/event_busy:")
    if plan.outline and has_unused_dates(edited):
        st.caption(t("plan.dates_idle"))
    return edited_plan


def draw_rerun(run: Run, old_plan: Plan) -> None:
    """Draw the plan of a finished run, to edit and start as a new run."""
    with st.expander(t("plan.rerun"), key=f"again_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("plan.rerun_help"))
        edited = edit_plan(old_plan, tuple(get_application().sources), f"again_plan_{run.id[:8]}")
        if st.button(
            t("plan.rerun_start"),
            key=f"again_start_{run.id[:8]}",
            type="primary",
            disabled=bool(find_date_problems(edited)),
        ):
            if edited.tasks:
                run_navigation.start_run(run.question, run.options, edited, based_on_run_id=run.id)
            else:
                st.error(t("plan.none"))


def find_date_problems(plan: Plan) -> list[str]:
    """Return one line for each search by dates whose dates are missing or invalid."""
    today = datetime.now(UTC).date()
    return [
        f"{escape_markdown(task.query, 60)} — {problem}"
        for task in plan.tasks
        if task.tool == DATED_TOOL and (problem := _date_problem(task, today))
    ]


def _date_problem(task: Task, today: date) -> str:
    if task.start is None or task.end is None:
        return t("plan.dates_missing")
    if task.start > task.end:
        return t("plan.dates_order", start=task.start, end=task.end)
    if task.start > today:
        return t("plan.dates_future", start=task.start)
    return ""


def parse_rows(table: pd.DataFrame, sources: tuple[str, ...]) -> list[Any]:
    """Parse the rows of an edited table into tuples for `build_edited_plan`.

    In an outline only sources with tools keep a tool, and only the search by dates keeps its dates.
    """
    rows: list[Any] = []
    for _, row in table.iterrows():
        subject, part, query, source = (_cell_text(row[name]) for name in COLUMNS)
        fields = (subject, part, query, source or sources[0])
        if NEWS_COLUMNS[0] in table.columns:
            tool = _cell_text(row["tool"]) if _source_tools(fields[3]) else ""
            days = (_cell_day(row["start"]), _cell_day(row["end"])) if tool == DATED_TOOL else (None, None)
            rows.append((*fields, tool, *days))
        else:
            rows.append(fields)
    return rows


def has_unused_dates(table: pd.DataFrame) -> bool:
    """Return True if a row has dates that its search tool does not take."""
    return any(
        (_cell_day(row["start"]) or _cell_day(row["end"]))
        and (not _source_tools(_cell_text(row["source"])) or _cell_text(row["tool"]) != DATED_TOOL)
        for _, row in table.iterrows()
    )


def _source_tools(source: str) -> Mapping[str, str]:
    """Return the descriptions of the search tools of a source, by tool name."""
    return sources_by_name()[source].tool_descriptions if source in sources_by_name() else {}


def _default_source(sources: Sequence[str]) -> str:
    """Return the source of a new row of an outline: the first preferred for reports, else the first."""
    known = sources_by_name()
    return next((name for name in sources if name in known and known[name].is_preferred_for_reports), sources[0])


def _cell_text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _cell_day(value: Any) -> date | None:
    return None if pd.isna(value) else pd.Timestamp(value).date()


def _plan_table(plan: Plan) -> pd.DataFrame:
    return pd.DataFrame(_plan_rows(plan), columns=list(COLUMNS), dtype="object")


def _outline_table(plan: Plan) -> pd.DataFrame:
    """Build a row for each query; only the first row of a section shows its content."""
    rows: list[tuple[Any, ...]] = []
    for part in plan.parts:
        text = part.text
        for task in (task for task in plan.tasks if task.part == part.id):
            search_fields = (task.tool, task.start, task.end)
            rows.append((part.subject, text, task.query, task.source, *search_fields))
            text = ""
        if text:
            rows.append((part.subject, text, "", "", "", None, None))
    table = pd.DataFrame(rows, columns=[*COLUMNS, *NEWS_COLUMNS], dtype="object")
    for name in ("start", "end"):
        table[name] = pd.to_datetime(table[name])
    return table


def _column_configs(sources: tuple[str, ...], *, is_outline: bool) -> dict[str, Any]:
    column = st.column_config
    configs: dict[str, Any] = {
        "subject": column.TextColumn(t("plan.section" if is_outline else "plan.subject")),
        "part": column.TextColumn(t("plan.content" if is_outline else "plan.part")),
        "query": column.TextColumn(t("plan.query"), width="large", max_chars=400),
        "source": column.SelectboxColumn(
            t("plan.source"),
            options=list(sources),
            default=_default_source(sources) if is_outline else sources[0],
            required=True,
            format_func=source_name,
        ),
    }
    if not is_outline:
        return configs
    days = {"format": day_column_format(), "width": 115, "help": t("plan.days_help")}
    return configs | {
        "subject": column.TextColumn(t("plan.section"), width=130, max_chars=200),
        "part": column.TextColumn(t("plan.content"), width=180),
        "query": column.TextColumn(t("plan.query"), width=190, max_chars=400),
        "tool": column.SelectboxColumn(
            t("plan.tool"),
            width=125,
            options=["", *chain.from_iterable(map(_source_tools, sources))],
            default="",
            format_func=tool_name,
            help=t("plan.tool_help"),
        ),
        "start": column.DateColumn(t("plan.start_day"), **days),
        "end": column.DateColumn(t("plan.end_day"), **days),
    }


def _plan_rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """Return a row for each part and source.

    A part without a task of its own shows the query that it shares with its subject.
    """
    if has_shared_tasks(plan):
        return [("", "", task.query, task.source) for task in plan.tasks]
    rows: list[tuple[str, str, str, str]] = []
    for part in plan.parts:
        queries = [(task.query, task.source) for task in plan.tasks if task.part == part.id]
        if not queries:
            shared = [row for row in rows if row[0] == part.subject]
            queries = [(row[2], row[3]) for row in shared if row[1] == shared[-1][1]]
        rows += [(part.subject, part.text, *query) for query in queries or [("", "")]]
    return rows
