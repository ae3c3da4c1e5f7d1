"""Comparison of two runs, at the address `history?compare=ID1,ID2`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.shared import layout, run_navigation
from pages.shared.escaping import escape_markdown, markdown_link, to_single_line
from pages.shared.localization import (
    format_duration,
    format_local_time,
    format_money,
    format_number,
    t,
)
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import ComparedRun, ComparedSource, Comparison, Report, compare_reports, get_application

MAX_ITEMS = 60  # sentences or sources in a list
MAX_SENTENCE_CHARS = 600


def requested_run_ids() -> tuple[str, ...]:
    """Return up to two run ids from the `compare` parameter of the address."""
    return tuple(filter(None, st.query_params.get("compare", "").split(",")))[:2]


def draw(run_ids: Sequence[str]) -> None:
    """Draw the comparison of two runs of the current owner, or a note if one is missing."""
    layout.draw_header(t("compare.title"), t("compare.lead"))
    st.page_link(page_script("history"), label=t("history.back"), icon=":material/arrow_back:", query_params={})
    reports = [report for key in run_ids if (report := get_application().runs.report(key, owner=current_owner()))]
    if len(reports) < 2:
        st.info(t("compare.missing"), icon=":material/search_off:")
        return
    before, after = sorted(reports, key=lambda report: report.run.created)
    comparison = compare_reports(before, after)
    with st.container(key="compare"):
        for column, report in zip(st.columns(2, gap="large"), (before, after), strict=True):
            with column:
                _draw_run(report)
        if all(report.plan and report.plan.grid for report in reports):
            _draw_cells(comparison)
        else:
            _draw_figures(comparison)
            _draw_sentences(comparison)
        _draw_sources(comparison)
        _draw_limits(comparison)


def _draw_run(report: Report) -> None:
    run = report.run
    with st.container(border=True, gap="xsmall", key=f"compared_{run.id[:8]}"):
        st.caption(format_local_time(run.created))
        st.markdown(f"**{escape_markdown(run.question, 300)}**")
        run_navigation.draw_run_link(run.id, t("compare.open"), ":material/open_in_new:")


def _draw_cells(comparison: Comparison) -> None:
    """Draw the cells that differ between two tables."""
    layout.draw_section_title(t("compare.cells"))
    if not comparison.cells:
        st.caption(t("compare.cells_none"))
        return
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "row": to_single_line(cell.row),
                    "column": to_single_line(cell.column),
                    "before": t("compare.no_cell") if cell.before is None else to_single_line(cell.before) or "–",
                    "after": t("compare.no_cell") if cell.after is None else to_single_line(cell.after) or "–",
                }
                for cell in comparison.cells
            ]
        ),
        hide_index=True,
        key="compare_cells",
        alt=t("compare.cells"),
        placeholder="",
        column_config={
            "row": t("tables.row"),
            "column": t("tables.column"),
            "before": t("compare.cell_before"),
            "after": t("compare.cell_after"),
        },
    )


def _draw_figures(comparison: Comparison) -> None:
    layout.draw_section_title(t("compare.figures"), help_text=t("compare.figures_help"))
    if not comparison.figures:
        st.caption(t("compare.figures_none"))
    for change in comparison.figures[:MAX_ITEMS]:
        with st.container(gap="xsmall"):
            st.markdown(
                f":red-background[{escape_markdown(change.before, 60)}] → "
                f":green-background[{escape_markdown(change.after, 60)}]"
            )
            st.caption(escape_markdown(change.sentence_after, MAX_SENTENCE_CHARS))


def _draw_sentences(comparison: Comparison) -> None:
    layout.draw_section_title(t("compare.sentences"))
    left, right = st.columns(2, gap="large")
    removed, added, unchanged = (
        [move.text for move in comparison.sentences_of_kind(kind)] for kind in ("gone", "came", "stayed")
    )
    with left:
        _draw_texts(t("compare.gone", n=len(removed)), removed)
    with right:
        _draw_texts(t("compare.came", n=len(added)), added)
    with st.expander(t("compare.stayed", n=len(unchanged)), key="compare_stayed"):
        for text in unchanged[:MAX_ITEMS]:
            st.markdown(escape_markdown(text, MAX_SENTENCE_CHARS))


def _draw_texts(title: str, texts: Sequence[str]) -> None:
    st.markdown(f"**{title}**")
    if not texts:
        st.caption(t("compare.nothing"))
    for text in texts[:MAX_ITEMS]:
        st.markdown(escape_markdown(text, MAX_SENTENCE_CHARS))


def _draw_sources(comparison: Comparison) -> None:
    layout.draw_section_title(t("compare.all_sources"))
    left, right = st.columns(2, gap="large")
    only_before = comparison.sources_in(in_before=True, in_after=False)
    only_after = comparison.sources_in(in_before=False, in_after=True)
    with left:
        st.markdown(f"**{t('compare.only_before', n=len(only_before))}**")
        _draw_source_list(only_before)
    with right:
        st.markdown(f"**{t('compare.only_after', n=len(only_after))}**")
        _draw_source_list(only_after)
    both = comparison.sources_in(in_before=True, in_after=True)
    with st.expander(t("compare.common", n=len(both)), key="compare_common"):
        _draw_source_list(both)


def _draw_source_list(sources: Sequence[ComparedSource]) -> None:
    if not sources:
        st.caption(t("compare.nothing"))
    for source in sources[:MAX_ITEMS]:
        item = source.evidence
        numbers = [n for n in (source.number_before, source.number_after) if n is not None]
        cited = "".join(f" \\[{n}\\]" for n in dict.fromkeys(numbers))
        st.markdown(markdown_link(item.title or item.locator, item.url) + cited)


def _draw_limits(comparison: Comparison) -> None:
    layout.draw_section_title(t("compare.limits"))
    before, after = _limit_texts(comparison.before), _limit_texts(comparison.after)
    table = pd.DataFrame(
        [(name, before[name], after[name]) for name in before],
        columns=[t("compare.aspect"), t("compare.before"), t("compare.after")],
    )
    st.dataframe(table, hide_index=True, alt=t("compare.table"))


def _limit_texts(run: ComparedRun) -> dict[str, str]:
    """Return what a run was allowed to use and what it used, by localised name."""
    return {
        t("compare.model"): ", ".join(run.models) or run.author,
        t("compare.rounds"): format_number(run.options.loops),
        t("compare.searches"): format_number(run.search_count),
        t("compare.sources"): f"{run.source_count} ({run.cited_count})",
        t("compare.tokens"): format_number(run.token_count),
        t("compare.cost"): format_money(run.cost) if run.cost else "–",
        t("compare.time"): format_duration(run.seconds) if run.seconds is not None else "–",
    }
