"""Report on a topic in the news: what it is about, how far it goes, and the reports there are, of
which one is drawn here like an answer."""

from __future__ import annotations

import streamlit as st

from pages.run import watch
from pages.shared import asking, errors, layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, local_time, named, source_name, t
from research import Options, PaceError, QuestionError, Unwatchable, application

SHOWN = 20


def form() -> None:
    usual = application.services(owner=owner()).reporting()
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
            t("ask.sources"), list(application.desk().sources), selection_mode="multi",
            default=list(usual.sources), format_func=lambda name: plain(source_name(name)),
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
        report = application.report_on(topic, options=options, owner=owner())
    except (QuestionError, PaceError) as error:
        asking.refuse(error)
        return
    asking.show(report)
    st.rerun()


def earlier() -> None:
    """The reports that there are, the latest first."""
    found = [item for item in application.recent(owner=owner()) if item.options.sections][:SHOWN]
    if found:
        layout.section(t("news.earlier"))
    for item in found:
        with errors.row(), st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                script("news"), label=plain(item.question, 100), query_params=address(item.id)
            )
            st.badge(
                plain(named("run", item.status)), color=asking.COLORS.get(item.status, "orange")
            )
            st.caption(local_time(item.created), width="content")


def watched() -> None:
    """The topics that the visitor watches."""
    watch.table(
        application.watches(owner=owner()),
        again,
        lambda id_: application.unwatch(id_, owner=owner()),
    )


def again(watch_id: str) -> None:
    """Looks at a topic once more and shows the run that does it."""
    try:
        update = application.look_again(watch_id, owner=owner())
    except Unwatchable:
        st.error(t("watch.gone_topic"))
        return
    asking.show(update)
    st.rerun()


def without_news() -> None:
    """How to get a source of news, for as long as there is none."""
    with st.container(border=True, key="without_news"):
        st.markdown(f":material/key: {t('news.add')}")
        st.page_link(script("settings"), label=t("nav.settings"), icon=":material/tune:")


def home() -> None:
    """What can be reported on, and the reports that there are."""
    layout.header(t("news.title"), t("news.lead"))
    if application.readiness(owner=owner())["news"].state == "missing":
        without_news()
    form()
    watched()
    earlier()


asking.home(asking.REPORTS)
shown = asking.current()
if shown is not None:
    from pages.run import view as run  # heavier than all else here, and not needed to ask

    run.draw(shown)
else:
    home()
