"""Watched topics: their table, and the changes since the previous report of a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from pages.shared import errors, layout, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, t, value_label
from research import Figure, StoryChange, WatchedTopic

CHANGE_ICONS = {
    "new": ":material/fiber_new:",
    "gone": ":material/visibility_off:",
    "grown": ":material/trending_up:",
    "figure": ":material/123:",
}


def draw_watch_button(key: str, save: Callable[[], object], *, is_watched: bool) -> None:
    """Draw a button that starts watching the topic of a report."""
    if is_watched:
        st.caption(f":material/notifications_active: {t('watch.saved')}", width="content")
    elif st.button(t("watch.save"), key=f"watch_{key}", icon=":material/notification_add:", help=t("watch.save_help")):
        save()
        st.rerun()


def draw_table(
    watches: Iterable[WatchedTopic], refresh: Callable[[str], None], remove: Callable[[str], object]
) -> None:
    """Draw the watched topics, each with its last report and buttons to refresh and remove it."""
    rows = [*watches]
    if rows:
        layout.draw_section_title(t("watch.title"))
    for topic in rows:
        with errors.catch_row_errors(), st.container(horizontal=True, vertical_alignment="center"):
            if topic.latest:
                run_navigation.draw_run_link(topic.latest, escape_markdown(topic.topic, 100), page="news")
            else:
                st.markdown(f":material/error: {escape_markdown(topic.topic, 100)}", width="content")
                st.caption(t("history.unreadable"), width="content")
            if topic.changed is not None:
                words = "watch.changed" if topic.changed else "watch.same"
                st.badge(t(words), color="orange" if topic.changed else "gray")
            if topic.updated:
                st.caption(format_local_time(topic.updated), width="content")
            if topic.latest and st.button(t("watch.again"), key=f"look_again_{topic.id}", icon=":material/refresh:"):
                refresh(topic.id)
            if st.button(t("watch.drop"), key=f"unwatch_{topic.id}", type="tertiary"):
                remove(topic.id)
                st.rerun()


def draw_changes(changes: Iterable[StoryChange], compared_run_id: str) -> None:
    """Draw the changes since an earlier report, with a link to the run of that report."""
    rows = [*changes]
    with st.container(border=True, key="changes"):
        st.markdown(f"**{t('watch.what')}**")
        if not rows:
            st.caption(t("watch.nothing"))
        lines = [f"- {CHANGE_ICONS.get(change.kind, '')} {_change_line(change)}" for change in rows]
        if lines:
            st.markdown("\n".join(lines))
        run_navigation.draw_run_link(compared_run_id, t("watch.before"), page="news")


def _change_line(change: StoryChange) -> str:
    text = f"**{escape_markdown(value_label('watch', change.kind))}** · {escape_markdown(change.headline, 200)}"
    if change.before is None and change.after is None:
        return text
    return f"{text}: {_figure_text(change.before)} → {_figure_text(change.after)}"


def _figure_text(figure: Figure | None) -> str:
    if figure is None:
        return t("watch.none")
    return (
        f"{escape_markdown(figure.text)} ({escape_markdown(figure.outlet)})"
        if figure.outlet
        else escape_markdown(figure.text)
    )
