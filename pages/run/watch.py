"""Topics that are watched: looked at again on request, and what has changed since the last report."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from pages.shared import errors, layout
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, run_query_params, t, value_label
from pages.shared.paths import page_script
from research import Figure, StoryChange, WatchedTopic

CHANGE_ICONS = {
    "new": ":material/fiber_new:",
    "gone": ":material/visibility_off:",
    "grown": ":material/trending_up:",
    "figure": ":material/123:",
}


def draw_watch_button(key: str, save: Callable[[], object], *, is_watched: bool) -> None:
    """Saves the topic of a report, which is watched from then on."""
    if is_watched:
        st.caption(f":material/notifications_active: {t('watch.saved')}", width="content")
    elif st.button(
        t("watch.save"), key=f"watch_{key}", icon=":material/notification_add:",
        help=t("watch.save_help"),
    ):  # fmt: skip
        save()
        st.rerun()


def draw_table(
    watches: Iterable[WatchedTopic], refresh: Callable[[str], None], remove: Callable[[str], object]
) -> None:
    """The topics that are watched, each with its last report; `again` looks once more."""
    rows = [*watches]
    if rows:
        layout.draw_section_title(t("watch.title"))
    for one in rows:
        with errors.catch_row_errors(), st.container(horizontal=True, vertical_alignment="center"):
            if one.latest:
                st.page_link(
                    page_script("news"),
                    label=escape_markdown(one.topic, 100),
                    query_params=run_query_params(one.latest),
                )
            else:
                st.markdown(f":material/error: {escape_markdown(one.topic, 100)}", width="content")
                st.caption(t("history.unreadable"), width="content")
            if one.changed is not None:
                words = "watch.changed" if one.changed else "watch.same"
                st.badge(t(words), color="orange" if one.changed else "gray")
            if one.updated:
                st.caption(format_local_time(one.updated), width="content")
            if one.latest and st.button(t("watch.again"), key=f"look_again_{one.id}", icon=":material/refresh:"):
                refresh(one.id)
            if st.button(t("watch.drop"), key=f"unwatch_{one.id}", type="tertiary"):
                remove(one.id)
                st.rerun()


def draw_changes(changes: Iterable[StoryChange], compared_run_id: str) -> None:
    """What has changed since the report that a run was compared with, whose id is `compared`."""
    rows = [*changes]
    with st.container(border=True, key="changes"):
        st.markdown(f"**{t('watch.what')}**")
        if not rows:
            st.caption(t("watch.nothing"))
        lines = [f"- {CHANGE_ICONS.get(one.kind, '')} {_change_line(one)}" for one in rows]
        if lines:
            st.markdown("\n".join(lines))
        st.page_link(page_script("news"), label=t("watch.before"), query_params=run_query_params(compared_run_id))


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
