"""Where sources disagree about a figure: what each of them says, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.run.answer import host
from pages.shared import layout
from pages.shared.words import day_form, number, t
from research import CitedAnswer, Disagreement, Evidence, GivenFigure, Report, conflicts

SHORT, HEIGHT = 10, 390  # rows that the table shows all, and else its height in pixels


def draw(report: Report, cited: CitedAnswer) -> None:
    """The table of the disagreements; nothing if there are none."""
    if found := conflicts(report, cited):
        table(found, report)


def table(found: Sequence[Disagreement], report: Report) -> None:
    """A row for each figure that a source gives, those of one subject below each other."""
    known = {item.id: item for item in report.evidence}
    rows = [row(one, given, known) for one in found for given in one.figures]
    layout.section(t("conflicts.title"))
    st.caption(t("conflicts.help"))
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"conflicts_{report.run.id[:8]}",
        alt=t("conflicts.title"),
        placeholder="–",
        height=HEIGHT if len(rows) > SHORT else "content",
        column_config={
            "subject": column.TextColumn(t("conflicts.subject"), width="medium"),
            "figure": column.TextColumn(t("conflicts.figure"), width="small"),
            "clause": column.TextColumn(t("conflicts.clause"), width="large"),
            "source": column.TextColumn(t("conflicts.source"), width="medium"),
            "date": column.DateColumn(t("sources.date"), format=day_form(), width=115),
        },
    )


def row(one: Disagreement, given: GivenFigure, known: dict[str, Evidence]) -> dict[str, Any]:
    """What one source says. `copies` are the further sources that say it in the same words."""
    item = known.get(given.evidence)
    mark = f"[{given.number}] " if given.number else ""
    name = (item.title or host(item)) if item else ""
    more = f" · {t('conflicts.copies', n=number(given.copies))}" if given.copies else ""
    return {
        "subject": one.subject,
        "figure": given.text,
        "clause": given.clause,
        "source": f"{mark}{name}{more}",
        "date": given.date,
    }
