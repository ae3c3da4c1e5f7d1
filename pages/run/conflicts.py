"""Figures on which sources disagree, side by side."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.run.answer import source_host
from pages.shared import layout
from pages.shared.localization import day_column_format, format_number, t
from research import CitedAnswer, CitedFigure, Evidence, FigureDisagreement, Report, find_disagreements


def draw(report: Report, cited: CitedAnswer) -> None:
    """Draw a table with a row for each disputed figure of a source, by subject; nothing without any."""
    disagreements = find_disagreements(report, cited)
    if not disagreements:
        return
    evidence_by_id = {item.id: item for item in report.evidence}
    rows = [
        build_row(disagreement, figure, evidence_by_id)
        for disagreement in disagreements
        for figure in disagreement.figures
    ]
    layout.draw_section_title(t("conflicts.title"))
    st.caption(t("conflicts.help"))
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"conflicts_{report.run.id[:8]}",
        alt=t("conflicts.title"),
        placeholder="–",
        height=layout.table_height(len(rows)),
        column_config={
            "subject": column.TextColumn(t("conflicts.subject"), width="medium"),
            "figure": column.TextColumn(t("conflicts.figure"), width="small"),
            "clause": column.TextColumn(t("conflicts.clause"), width="large"),
            "source": column.TextColumn(t("conflicts.source"), width="medium"),
            "date": column.DateColumn(t("sources.date"), format=day_column_format(), width=115),
        },
    )


def build_row(
    disagreement: FigureDisagreement, figure: CitedFigure, evidence_by_id: dict[str, Evidence]
) -> dict[str, Any]:
    """Build the table row of one figure.

    Further sources with the same wording are counted, not listed.
    """
    item = evidence_by_id.get(figure.evidence)
    mark = f"[{figure.number}] " if figure.number else ""
    name = (item.title or source_host(item)) if item else ""
    more = f" · {t('conflicts.copies', n=format_number(figure.copies))}" if figure.copies else ""
    return {
        "subject": disagreement.subject,
        "figure": figure.text,
        "clause": figure.clause,
        "source": f"{mark}{name}{more}",
        "date": figure.date,
    }
