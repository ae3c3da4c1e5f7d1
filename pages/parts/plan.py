"""The plan as a table that the analyst can edit, before a run or after it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts.safe import plain
from pages.parts.words import WORDS, t
from research import Plan, edited_plan, served_as_a_whole

COLUMNS = ("subject", "part", "query", "source")


def editor(plan: Plan, sources: tuple[str, ...], key: str) -> Plan:
    """Draws the table and returns the plan as edited."""
    if served_as_a_whole(plan):
        st.markdown("\n".join(f"- {plain(part.text)}" for part in plan.parts))
    st.caption(t("plan.help"))
    edited = st.data_editor(
        pd.DataFrame(_rows(plan), columns=list(COLUMNS), dtype="object"),
        num_rows="dynamic",
        hide_index=True,
        key=key,
        alt=t("plan.title"),
        column_config={
            "subject": st.column_config.TextColumn(t("plan.subject")),
            "part": st.column_config.TextColumn(t("plan.part")),
            "query": st.column_config.TextColumn(t("plan.query"), width="large", max_chars=400),
            "source": st.column_config.SelectboxColumn(
                t("plan.source"),
                options=list(sources),
                default=sources[0],
                required=True,
                format_func=_source,
            ),
        },
    )
    rows = [
        tuple("" if pd.isna(row[name]) else str(row[name]) for name in COLUMNS)
        for _, row in edited.iterrows()
    ]
    return edited_plan([(a, b, c, d or sources[0]) for a, b, c, d in rows], plan)


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


def _source(name: str) -> str:
    return t(f"source.{name}") if f"source.{name}" in WORDS else name
