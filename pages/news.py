"""Report on a topic in the news: what it is about, how far it goes, and the reports there are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from pages.parts import asking, layout, watch
from pages.parts.login import owner
from pages.parts.safe import plain, web
from pages.parts.words import address, day_form, local_time, number, t
from research import Entry, Options, PaceError, QuestionError, Unwatchable, runs

PAGES = Path(__file__).resolve().parent
SHOWN = 20
DOCUMENTS = 200


def form() -> None:
    usual = runs.kit(owner=owner()).reporting()
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
    except (QuestionError, PaceError) as error:
        asking.refuse(error)
        return
    st.session_state.last_run = report.id
    st.switch_page(PAGES / "ask.py", query_params=address(report.id))


def earlier() -> None:
    """The reports that there are, the latest first."""
    found = [item for item in runs.list(owner=owner()) if item.options.sections][:SHOWN]
    if found:
        layout.section(t("news.earlier"))
    for item in found:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                PAGES / "ask.py", label=plain(item.question, 100), query_params={"run": item.id}
            )
            st.badge(t(f"run.{item.status}"), color=asking.COLORS.get(item.status, "orange"))
            st.caption(local_time(item.created), width="content")


def watched() -> None:
    """The topics that the visitor watches."""
    watch.table(runs.watches(owner=owner()), again, lambda id_: runs.unwatch(id_, owner=owner()))


def again(watch_id: str) -> None:
    """Looks at a topic once more and shows the run that does it."""
    try:
        update = runs.look_again(watch_id, owner=owner())
    except Unwatchable:
        st.error(t("watch.gone_topic"))
        return
    st.session_state.last_run = update.id
    st.switch_page(PAGES / "ask.py", query_params=address(update.id))


def without_news() -> None:
    """What to add to search the news, and what reports are made of until then."""
    st.info(t("news.add"), icon=":material/key:")
    entries, total = runs.desk().library.dated(DOCUMENTS)
    if not entries:
        st.caption(t("news.no_documents"))
        st.page_link(PAGES / "library.py", label=t("nav.library"), icon=":material/library_books:")
        return
    layout.section(t("news.documents", n=number(total)))
    st.caption(t("news.documents_help"))
    documents(entries)


def documents(entries: list[Entry]) -> None:
    """Documents with their days; those that ship with the program say so."""
    rows = [
        {
            "date": entry.published,
            "title": entry.title,
            "kind": t("news.sample") if entry.sample else t("kind.library"),
            "link": web(entry.url) or None,
        }
        for entry in entries
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key="dated_documents",
        alt=t("news.documents", n=number(len(rows))),
        placeholder="",
        height=min(35 * (len(rows) + 1) + 3, 420),
        column_config={
            "date": st.column_config.DateColumn(
                t("library.col.date"), format=day_form(), width=115
            ),
            "title": st.column_config.TextColumn(t("library.col.title"), width="large"),
            "kind": st.column_config.TextColumn(t("sources.kind"), width="small"),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=60),
        },
    )


layout.header(t("news.title"), t("news.lead"))
form()
watched()
earlier()
if runs.readiness(owner=owner())["news"].state == "missing":
    without_news()
