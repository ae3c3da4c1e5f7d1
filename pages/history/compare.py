"""Two runs side by side, at an address of their own: `history?compare=ID1,ID2`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.shared import layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import line, link, plain
from pages.shared.words import address, local_time, money, number, seconds, t
from research import ComparedRun, ComparedSource, Comparison, Report, application, compare

SHOWN = 60  # sentences or sources of a list
SENTENCE = 600  # characters


def asked() -> tuple[str, ...]:
    """The runs that the address names."""
    return tuple(filter(None, st.query_params.get("compare", "").split(",")))[:2]


def draw(ids: Sequence[str]) -> None:
    """The comparison of two of the visitor's runs, or that one is not there."""
    layout.header(t("compare.title"), t("compare.lead"))
    st.page_link(
        script("history"), label=t("history.back"), icon=":material/arrow_back:", query_params={}
    )
    reports = [report for key in ids if (report := application.report(key, owner=owner()))]
    if len(reports) < 2:
        st.info(t("compare.missing"), icon=":material/search_off:")
        return
    before, after = sorted(reports, key=lambda report: report.run.created)
    found = compare(before, after)
    with st.container(key="compare"):
        for place, report in zip(st.columns(2, gap="large"), (before, after), strict=True):
            with place:
                _head(report)
        if all(report.plan and report.plan.grid for report in reports):
            _cells(found)
        else:
            _figures(found)
            _sentences(found)
        _sources(found)
        _limits(found)


def _head(report: Report) -> None:
    run = report.run
    with st.container(border=True, gap="xsmall", key=f"compared_{run.id[:8]}"):
        st.caption(local_time(run.created))
        st.markdown(f"**{plain(run.question, 300)}**")
        st.page_link(
            script("ask"), label=t("compare.open"), icon=":material/open_in_new:",
            query_params=address(run.id),
        )  # fmt: skip


def _cells(found: Comparison) -> None:
    """The cells of two tables that say something else."""
    layout.section(t("compare.cells"))
    if not found.cells:
        st.caption(t("compare.cells_none"))
        return
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "row": line(one.row),
                    "column": line(one.column),
                    "before": t("compare.no_cell")
                    if one.before is None
                    else line(one.before) or "–",
                    "after": t("compare.no_cell") if one.after is None else line(one.after) or "–",
                }
                for one in found.cells
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


def _figures(found: Comparison) -> None:
    layout.section(t("compare.figures"), help=t("compare.figures_help"))
    if not found.figures:
        st.caption(t("compare.figures_none"))
    for change in found.figures[:SHOWN]:
        with st.container(gap="xsmall"):
            st.markdown(
                f":red-background[{plain(change.before, 60)}] → "
                f":green-background[{plain(change.after, 60)}]"
            )
            st.caption(plain(change.sentence_after, SENTENCE))


def _sentences(found: Comparison) -> None:
    layout.section(t("compare.sentences"))
    left, right = st.columns(2, gap="large")
    gone, came, stayed = (
        [move.text for move in found.moved(kind)] for kind in ("gone", "came", "stayed")
    )
    with left:
        _texts(t("compare.gone", n=len(gone)), gone)
    with right:
        _texts(t("compare.came", n=len(came)), came)
    with st.expander(t("compare.stayed", n=len(stayed)), key="compare_stayed"):
        for text in stayed[:SHOWN]:
            st.markdown(plain(text, SENTENCE))


def _texts(title: str, texts: Sequence[str]) -> None:
    st.markdown(f"**{title}**")
    if not texts:
        st.caption(t("compare.nothing"))
    for text in texts[:SHOWN]:
        st.markdown(plain(text, SENTENCE))


def _sources(found: Comparison) -> None:
    layout.section(t("compare.all_sources"))
    left, right = st.columns(2, gap="large")
    for place, words, ours in (
        (left, "before", found.of_sources(before=True, after=False)),
        (right, "after", found.of_sources(before=False, after=True)),
    ):
        with place:
            title = "compare.only_before" if words == "before" else "compare.only_after"
            st.markdown(f"**{t(title, n=len(ours))}**")
            _listed(ours)
    both = found.of_sources(before=True, after=True)
    with st.expander(t("compare.common", n=len(both)), key="compare_common"):
        _listed(both)


def _listed(sources: Sequence[ComparedSource]) -> None:
    if not sources:
        st.caption(t("compare.nothing"))
    for source in sources[:SHOWN]:
        item = source.evidence
        numbers = [n for n in (source.number_before, source.number_after) if n is not None]
        cited = "".join(f" \\[{n}\\]" for n in dict.fromkeys(numbers))
        st.markdown(link(item.title or item.locator, item.url) + cited)


def _limits(found: Comparison) -> None:
    layout.section(t("compare.limits"))
    both = (found.before, found.after)
    rows = [
        (t("compare.model"), [_authors(run) for run in both]),
        (t("compare.rounds"), [number(run.options.loops) for run in both]),
        (t("compare.searches"), [number(run.searches) for run in both]),
        (t("compare.sources"), [f"{run.sources} ({run.cited})" for run in both]),
        (t("compare.tokens"), [number(run.tokens) for run in both]),
        (t("compare.cost"), [money(run.cost) if run.cost else "–" for run in both]),
        (t("compare.time"), [seconds(run.seconds) if run.seconds is not None else "–" for run in both]),
    ]  # fmt: skip
    table = pd.DataFrame(
        [(what, *told) for what, told in rows],
        columns=[t("compare.aspect"), t("compare.before"), t("compare.after")],
    )
    st.dataframe(table, hide_index=True, alt=t("compare.table"))


def _authors(run: ComparedRun) -> str:
    return ", ".join(run.models) or run.author
