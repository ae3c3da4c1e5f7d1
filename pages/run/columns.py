"""The columns of a table that is filled in: how sure each is, and a chart of its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from pages.run import chart
from pages.shared.safe import line, plain
from pages.shared.words import day_form, lang, number, t
from research import (
    Cell,
    Column,
    Grid,
    Report,
    cell_heading,
    column_charted,
    column_sureness,
    column_unit,
)

FEWEST = 2  # bars of a chart


def draw(report: Report, grid: Grid, cells: Sequence[Cell]) -> None:
    """Both, folded, for a table in which something was found."""
    if not any(cell.readings for cell in cells):
        return
    key = report.run.id[:8]
    with st.expander(t("tables.columns_sure"), key=f"sure_{key}", icon=":material/fact_check:"):
        _sure(report, grid, cells)
    charted = {c.id: c for c in grid.columns if c.type == "number" and _bars(c, grid, cells)}
    if not charted:
        return
    with st.expander(t("tables.chart"), key=f"charts_{key}", icon=":material/bar_chart:"):
        first = next(iter(charted))
        chosen = first if len(charted) == 1 else st.pills(
            t("tables.column"), list(charted), default=first, required=True, key=f"charted_{key}",
            format_func=lambda id_: plain(charted[id_].name, chart.LABEL),
        )  # fmt: skip
        _chart(charted[chosen], grid, cells, key)


def _sure(report: Report, grid: Grid, cells: Sequence[Cell]) -> None:
    """Of each column: how much is filled, how much of that is borne out, and by how many and how old sources."""
    lines = []
    for column in grid.columns:
        sure = column_sureness(column, cells, report.evidence)
        of = f"{number(sure.filled)}/{number(sure.cells)}"
        told = (sure.checked, sure.conflicts, round(sure.sources, 1), sure.oldest)
        lines.append((line(column.name), of, *(told if sure.filled else (None,) * 4)))
    made = st.column_config
    st.dataframe(
        pd.DataFrame(
            lines, columns=["column", "filled", "checked", "differ", "sources", "oldest"]
        ).astype({"checked": "Int64", "differ": "Int64", "oldest": "object"}),
        hide_index=True,
        key=f"sureness_{report.run.id[:8]}",
        alt=t("tables.columns_sure"),
        placeholder="–",
        column_config={
            "column": made.TextColumn(t("tables.column"), pinned=True),
            "filled": made.TextColumn(t("tables.sure_filled")),
            "checked": made.NumberColumn(
                t("tables.sure_checked"), help=t("tables.sure_checked_help")
            ),
            "differ": made.NumberColumn(t("tables.sure_differ")),
            "sources": made.NumberColumn(t("tables.sure_sources"), format="%.1f"),
            "oldest": made.DateColumn(t("tables.sure_oldest"), format=day_form()),
        },
    )


def _bars(column: Column, grid: Grid, cells: Sequence[Cell]) -> bool:
    return len(column_charted(column, [row.id for row in grid.rows], cells).bars) >= FEWEST


def _chart(column: Column, grid: Grid, cells: Sequence[Cell], key: str) -> None:
    """The greatest values of a column as bars; a line goes on to the end of a range."""
    series = column_charted(column, [row.id for row in grid.rows], cells)
    names = {row.id: row.named for row in grid.rows}
    title = line(cell_heading(column, column_unit(column, cells), lang()), chart.LABEL)
    bars = [{"label": names[bar.row], "value": bar.low, "high": bar.high} for bar in series.bars]
    drawn = chart.bars(bars, {"label": t("tables.row"), "value": title})
    if any(bar.high > bar.low for bar in series.bars[: chart.TOP]):
        drawn += drawn.mark_rule(strokeWidth=2, color="gray").encode(
            x=alt.X("value:Q"), x2="high:Q"
        )
    st.altair_chart(drawn, key=f"chart_{column.id}_{key}", alt=t("tables.chart_of", column=title))
    left = [names[row] for row, why in series.left_out if why != "empty"]
    notes = [t("rows.chart_top", n=number(chart.TOP))] if len(bars) > chart.TOP else []
    notes += [t("tables.chart_left", rows=plain(", ".join(left), 200))] if left else []
    if notes:
        st.caption(" · ".join(notes))
