"""Watching the topic of a report, and the changes since its previous report."""

from __future__ import annotations

import streamlit as st

from pages.shared import run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t, value_label
from pages.shared.login import current_owner
from research import Figure, Report, Run, StoryChange, get_application

CHANGE_ICONS = {
    "new": ":material/fiber_new:",
    "gone": ":material/visibility_off:",
    "grown": ":material/trending_up:",
    "figure": ":material/123:",
}


def draw_watch_button(run: Run) -> None:
    """Draw the button that watches the topic of a report; nothing for other runs."""
    if not run.options.sections:
        return
    topics = get_application().watches.all(owner=current_owner())
    if any(run.id in (topic.id, topic.latest) or topic.topic == run.question for topic in topics):
        st.caption(f":material/notifications_active: {t('watch.saved')}", width="content")
    elif st.button(
        t("watch.save"), key=f"watch_{run.id[:8]}", icon=":material/notification_add:", help=t("watch.save_help")
    ):
        get_application().watches.add(run.id, owner=current_owner())
        st.rerun()


def draw_changes(report: Report) -> None:
    """Draw the changes of a watched topic since its earlier report, with a link to that run."""
    news = report.answer and report.answer.coverage
    if not news or not news.compared_run:
        return
    with st.container(border=True, key="changes"):
        st.markdown(f"**{t('watch.what')}**")
        if news.changes:
            lines = [f"- {CHANGE_ICONS.get(change.kind, '')} {_change_line(change)}" for change in news.changes]
            st.markdown("\n".join(lines))
        else:
            st.caption(t("watch.nothing"))
        run_navigation.draw_run_link(news.compared_run, t("watch.before"), page="news")


def _change_line(change: StoryChange) -> str:
    text = f"**{escape_markdown(value_label('watch', change.kind))}** · {escape_markdown(change.headline, 200)}"
    if change.before is None and change.after is None:
        return text
    return f"{text}: {_figure_text(change.before)} → {_figure_text(change.after)}"


def _figure_text(figure: Figure | None) -> str:
    if figure is None:
        return t("watch.none")
    outlet = f" ({escape_markdown(figure.outlet)})" if figure.outlet else ""
    return escape_markdown(figure.text) + outlet
