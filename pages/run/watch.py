"""Topics that are watched: looked at again on request, and what has changed since the last report."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from pages.shared import errors, layout
from pages.shared.files import script
from pages.shared.safe import plain
from pages.shared.words import address, local_time, named, t
from research import Change, Figure, Watch

ICONS = {
    "new": ":material/fiber_new:",
    "gone": ":material/visibility_off:",
    "grown": ":material/trending_up:",
    "figure": ":material/123:",
}


def button(key: str, save: Callable[[], object], *, watched: bool) -> None:
    """Saves the topic of a report, which is watched from then on."""
    if watched:
        st.caption(f":material/notifications_active: {t('watch.saved')}", width="content")
    elif st.button(
        t("watch.save"), key=f"watch_{key}", icon=":material/notification_add:",
        help=t("watch.save_help"),
    ):  # fmt: skip
        save()
        st.rerun()


def table(
    watches: Iterable[Watch], again: Callable[[str], None], drop: Callable[[str], object]
) -> None:
    """The topics that are watched, each with its last report; `again` looks once more."""
    rows = [*watches]
    if rows:
        layout.section(t("watch.title"))
    for one in rows:
        with errors.row(), st.container(horizontal=True, vertical_alignment="center"):
            if one.latest:
                st.page_link(
                    script("news"), label=plain(one.topic, 100), query_params=address(one.latest)
                )
            else:
                st.markdown(f":material/error: {plain(one.topic, 100)}", width="content")
                st.caption(t("history.unreadable"), width="content")
            if one.changed is not None:
                words = "watch.changed" if one.changed else "watch.same"
                st.badge(t(words), color="orange" if one.changed else "gray")
            if one.updated:
                st.caption(local_time(one.updated), width="content")
            if one.latest and st.button(
                t("watch.again"), key=f"look_again_{one.id}", icon=":material/refresh:"
            ):
                again(one.id)
            if st.button(t("watch.drop"), key=f"unwatch_{one.id}", type="tertiary"):
                drop(one.id)
                st.rerun()


def changes(found: Iterable[Change], compared: str) -> None:
    """What has changed since the report that a run was compared with, whose id is `compared`."""
    rows = [*found]
    with st.container(border=True, key="changes"):
        st.markdown(f"**{t('watch.what')}**")
        if not rows:
            st.caption(t("watch.nothing"))
        lines = [f"- {ICONS.get(one.kind, '')} {_line(one)}" for one in rows]
        if lines:
            st.markdown("\n".join(lines))
        st.page_link(script("news"), label=t("watch.before"), query_params=address(compared))


def _line(one: Change) -> str:
    text = f"**{plain(named('watch', one.kind))}** · {plain(one.headline, 200)}"
    if one.before is None and one.after is None:
        return text
    return f"{text}: {_figure(one.before)} → {_figure(one.after)}"


def _figure(told: Figure | None) -> str:
    if told is None:
        return t("watch.none")
    return f"{plain(told.text)} ({plain(told.outlet)})" if told.outlet else plain(told.text)
