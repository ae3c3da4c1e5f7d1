"""Quality of the columns of a filled table, and a bar chart of a numeric column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from pages.run import chart
from pages.shared.escaping import escape_markdown, to_single_line
from pages.shared.localization import current_language, day_column_format, format_number, t
from research import (
    Cell,
    Column,
    Grid,
    Report,
    chart_column,
    find_column_unit,
    format_column_heading,
    measure_column_quality,
)

MIN_BARS = 2  # fewer bars are no chart


def draw(report: Report, grid: Grid, cells: Sequence[Cell]) -> None:
    """Draw column quality and chart as folded expanders, once any cell has a reading."""
    if not any(cell.readings for cell in cells):
        return
    key = report.run.id[:8]
    with st.expander(t("tables.columns_sure"), key=f"sure_{key}", icon=":material/fact_check:"):
        _draw_quality(report, grid, cells)
    row_ids = [row.id for row in grid.rows]
    series = {c.id: chart_column(c, row_ids, cells) for c in grid.columns if c.type == "number"}
    charted = {c.id: c for c in grid.columns if c.id in series and len(series[c.id].bars) >= MIN_BARS}
    if not charted:
        return
    with st.expander(t("tables.chart"), key=f"charts_{key}", icon=":material/bar_chart:"):
        chosen = next(iter(charted))
        if len(charted) > 1:
            chosen = st.pills(
                t("tables.column"),
                list(charted),
                default=chosen,
                required=True,
                key=f"charted_{key}",
                format_func=lambda id_: escape_markdown(charted[id_].name, chart.MAX_LABEL_CHARS),
            )
        _draw_chart(charted[chosen], series[chosen], grid, cells, key)


def _draw_quality(report: Report, grid: Grid, cells: Sequence[Cell]) -> None:
    """Draw filled and checked cells, conflicts, sources and oldest date of each column."""
    lines = []
    for column in grid.columns:
        quality = measure_column_quality(column, cells, report.evidence)
        filled_text = f"{format_number(quality.filled)}/{format_number(quality.cells)}"
        figures = (quality.checked, quality.conflicts, round(quality.sources, 1), quality.oldest)
        lines.append((to_single_line(column.name), filled_text, *(figures if quality.filled else (None,) * 4)))
    column_types = st.column_config
    st.dataframe(
        pd.DataFrame(lines, columns=["column", "filled", "checked", "differ", "sources", "oldest"]).astype(
            {"checked": "Int64", "differ": "Int64", "oldest": "object"}
        ),
        hide_index=True,
        key=f"sureness_{report.run.id[:8]}",
        alt=t("tables.columns_sure"),
        placeholder="–",
        column_config={
            "column": column_types.TextColumn(t("tables.column"), pinned=True),
            "filled": column_types.TextColumn(t("tables.sure_filled")),
            "checked": column_types.NumberColumn(t("tables.sure_checked"), help=t("tables.sure_checked_help")),
            "differ": column_types.NumberColumn(t("tables.sure_differ")),
            "sources": column_types.NumberColumn(t("tables.sure_sources"), format="%.1f"),
            "oldest": column_types.DateColumn(t("tables.sure_oldest"), format=day_column_format()),
        },
    )


def _draw_chart(column: Column, series: Any, grid: Grid, cells: Sequence[Cell], key: str) -> None:
    """Draw the greatest values of a column as bars; a rule extends to the end of a range."""
    names = {row.id: row.full_name for row in grid.rows}
    title = to_single_line(
        format_column_heading(column, find_column_unit(column, cells), current_language()), chart.MAX_LABEL_CHARS
    )
    bars = [{"label": names[bar.row], "value": bar.low, "high": bar.high} for bar in series.bars]
    bar_chart = chart.build_bar_chart(bars, {"label": t("tables.row"), "value": title})
    if any(bar.high > bar.low for bar in series.bars[: chart.MAX_BARS]):
        bar_chart += bar_chart.mark_rule(strokeWidth=2, color="gray").encode(x=alt.X("value:Q"), x2="high:Q")
    st.altair_chart(bar_chart, key=f"chart_{column.id}_{key}", alt=t("tables.chart_of", column=title))
    unplotted_rows = [names[row] for row, why in series.left_out if why != "empty"]
    notes = [t("rows.chart_top", n=format_number(chart.MAX_BARS))] if len(bars) > chart.MAX_BARS else []
    notes += [t("tables.chart_left", rows=escape_markdown(", ".join(unplotted_rows), 200))] if unplotted_rows else []
    if notes:
        st.caption(" · ".join(notes))
