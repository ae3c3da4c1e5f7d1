"""Connection test: its button, and its results in one line for each model or service."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared import failure_display
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_duration, source_name, t
from pages.shared.login import current_owner
from research import ConnectionCheck, explain_failure, get_application, has_message


def draw_test_button(key: str) -> tuple[ConnectionCheck, ...] | None:
    """Draw the button that tests all models and services of the owner. Return the results after a click."""
    with st.container(horizontal=True, vertical_alignment="center"):
        is_clicked = st.button(t("status.check"), key=key, icon=":material/network_check:")
        st.caption(t("status.check_help"), width="content")
    if not is_clicked:
        return None
    with st.spinner(t("status.checking")):
        return tuple(get_application().check_connections(owner=current_owner()))


def draw_checks(checks: Sequence[ConnectionCheck]) -> None:
    """Draw the result of each check, or a note that there is nothing to check."""
    if not checks:
        st.info(t("status.nothing_to_check"))
    for check in checks:
        _draw_check(check)


def _draw_check(check: ConnectionCheck) -> None:
    """Draw the result of one connection check, with the explanation of a failure."""
    role, failure = f"role.{check.name}", check.failure
    name = t(role) if has_message(role) else escape_markdown(source_name(check.name))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{name}** · {escape_markdown(check.model)}", width="content")
        if failure is None:
            duration = t("status.ok", seconds=format_duration(check.seconds))
            st.badge(duration, color="green", icon=":material/check:")
        else:
            st.badge(t(f"reason.{failure.reason}"), color="red", icon=":material/close:")
            st.caption(format_duration(check.seconds), width="content")
    notes = [explain_failure(failure, current_language()) if failure else "", check.warning]
    if any(notes):
        st.caption(" · ".join(escape_markdown(note) for note in notes if note))
    if failure:
        failure_display.draw_details([failure.message])
