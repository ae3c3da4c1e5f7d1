"""Report on a topic in the news: what it is about, how far it goes, and the reports there are."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import run
from pages.parts.login import owner
from pages.parts.safe import plain
from pages.parts.words import local_time, t
from research import Options, QuestionError, runs

PAGES = Path(__file__).resolve().parent
SHOWN = 20


def form() -> None:
    usual = runs.desk().kit.reporting()
    with st.form("news", border=False, enter_to_submit=True):
        topic = st.text_area(
            t("news.topic"), key="topic", placeholder=t("news.placeholder"),
            label_visibility="collapsed", height=84,
        )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="bottom"):
            sections = st.slider(t("news.sections"), 1, 12, usual.sections, key="sections")
            reflections = st.slider(
                t("news.reflections"), 0, 10, usual.reflections, key="reflections"
            )
        sources = st.pills(
            t("ask.sources"), list(runs.desk().sources), selection_mode="multi",
            default=list(usual.sources), format_func=lambda name: t(f"source.{name}"),
            key="news_sources",
        )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center"):
            go = st.form_submit_button(
                t("news.start"), type="primary", key="report", icon=":material/newspaper:",
                shortcut="Ctrl+Enter",
            )  # fmt: skip
            first = st.form_submit_button(t("news.outline_first"), key="outline_first")
    if go or first:
        update = {
            "sections": sections, "reflections": reflections, "sources": tuple(sources),
            "approve": first,
        }  # fmt: skip
        begin(topic, usual.model_copy(update=update))


def begin(topic: str, options: Options) -> None:
    if not options.sources:
        st.error(t("ask.no_sources"))
        return
    try:
        report = runs.report_on(topic, options=options, owner=owner())
    except QuestionError as error:
        run.refuse(error)
        return
    st.session_state.last_run = report.id
    st.switch_page(PAGES / "ask.py", query_params={"run": report.id})


def earlier() -> None:
    """The reports that there are, the latest first."""
    found = [item for item in runs.list(owner=owner()) if item.options.sections][:SHOWN]
    if found:
        st.markdown(f"#### {t('news.earlier')}")
    for item in found:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                PAGES / "ask.py", label=plain(item.question, 100), query_params={"run": item.id}
            )
            st.badge(t(f"run.{item.status}"), color=run.COLORS.get(item.status, "orange"))
            st.caption(local_time(item.created), width="content")


st.title(t("news.title"), anchor=False)
st.caption(t("news.lead"))
form()
ready = runs.readiness()["news"]
if ready.state == "missing":
    st.info(t("news.missing", names=ready.detail), icon=":material/key:")
earlier()
