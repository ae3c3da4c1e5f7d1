"""News page: start a report on a topic, show an earlier one, or manage watched topics."""

from __future__ import annotations

import streamlit as st

from pages.shared import errors, layout, run_navigation, run_options
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import RunOptions, UnwatchableTopicError, get_application

MAX_REPORTS = 20


def draw_form() -> None:
    """Draw the form of a report. Start the report after a click."""
    defaults = get_application().services_for(current_owner()).report_options()
    with st.form("news", border=False, enter_to_submit=True):
        topic = st.text_area(
            t("news.topic"), key="topic", placeholder=t("news.placeholder"), label_visibility="collapsed", height=84
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            sections = st.slider(t("news.sections"), 1, 12, defaults.sections, key="sections")
            reflections = st.slider(t("news.reflections"), 0, 10, defaults.reflections, key="reflections")
        sources = run_options.draw_sources("news_sources", defaults.sources)
        with st.container(horizontal=True, vertical_alignment="center"):
            submitted = st.form_submit_button(
                t("news.start"), type="primary", key="report", icon=":material/newspaper:", shortcut="Ctrl+Enter"
            )
            outline_requested = st.form_submit_button(t("news.outline_first"), key="outline_first")
    if submitted or outline_requested:
        update = {
            "sections": sections,
            "reflections": reflections,
            "sources": sources,
            "approve": outline_requested,
        }
        start_report(topic, defaults.model_copy(update=update))


def start_report(topic: str, options: RunOptions) -> None:
    if not options.sources:
        st.error(t("ask.no_sources"))
        return
    with run_navigation.catch_start_errors():
        run_navigation.open_run(get_application().start_report(topic, options=options, owner=current_owner()))


def draw_earlier_reports() -> None:
    """Draw links to earlier reports, the latest first."""
    reports = [
        report for report in get_application().runs.recent_runs(owner=current_owner()) if report.options.sections
    ]
    if reports:
        layout.draw_section_title(t("news.earlier"))
    for report in reports[:MAX_REPORTS]:
        with errors.catch_row_errors(), st.container(horizontal=True, vertical_alignment="center"):
            run_navigation.draw_run_link(report.id, escape_markdown(report.question, 100), page="news")
            run_navigation.draw_status_badge(report.status)
            st.caption(format_local_time(report.created), width="content")


def draw_watched_topics() -> None:
    """Draw the watched topics, each with its last report and buttons to refresh and remove it."""
    topics = get_application().watches.all(owner=current_owner())
    if topics:
        layout.draw_section_title(t("watch.title"))
    for topic in topics:
        with errors.catch_row_errors(), st.container(horizontal=True, vertical_alignment="center"):
            if topic.latest:
                run_navigation.draw_run_link(topic.latest, escape_markdown(topic.topic, 100), page="news")
            else:
                st.markdown(f":material/error: {escape_markdown(topic.topic, 100)}", width="content")
                st.caption(t("history.unreadable"), width="content")
            if topic.changed is not None:
                key = "watch.changed" if topic.changed else "watch.same"
                st.badge(t(key), color="orange" if topic.changed else "gray")
            if topic.updated:
                st.caption(format_local_time(topic.updated), width="content")
            if topic.latest and st.button(t("watch.again"), key=f"look_again_{topic.id}", icon=":material/refresh:"):
                refresh_topic(topic.id)
            if st.button(t("watch.drop"), key=f"unwatch_{topic.id}", type="tertiary"):
                get_application().watches.remove(topic.id, owner=current_owner())
                st.rerun()


def refresh_topic(watch_id: str) -> None:
    """Start an update of a watched topic and show its run."""
    try:
        update = get_application().watches.start_update(watch_id, owner=current_owner())
    except UnwatchableTopicError:
        st.error(t("watch.gone_topic"))
        return
    run_navigation.open_run(update)


def draw_setup_hint() -> None:
    """Draw a hint to add a key, shown while no news source is available."""
    with st.container(border=True, key="without_news"):
        st.markdown(f":material/key: {t('news.add')}")
        st.page_link(page_script("settings"), label=t("nav.settings"), icon=":material/tune:")


def draw_start_page() -> None:
    """Draw the page without a selected run: form, watched topics and earlier reports."""
    layout.draw_header(t("news.title"), t("news.lead"))
    if get_application().readiness(owner=current_owner())["news"].state == "missing":
        draw_setup_hint()
    draw_form()
    draw_watched_topics()
    draw_earlier_reports()


if not run_navigation.draw_current_run(run_navigation.LAST_REPORT_KEY):
    draw_start_page()
