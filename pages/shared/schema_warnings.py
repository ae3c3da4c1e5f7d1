"""Why a database cannot be queried, and warnings about one that can be queried nevertheless."""

from __future__ import annotations

import streamlit as st

from pages.shared import login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import DatabaseSchema

_MAX_NAMED_TABLES = 10  # more tables are only counted


def draw_schema_warnings(schema: DatabaseSchema) -> None:
    """Draw the failure of a database, write access of the account, and unreadable tables.

    Messages and reasons may name files of the server, so they are drawn only without a login.
    """
    if failure := schema.failure:
        message = "" if login.read_config().is_required else escape_markdown(failure.message, 400)
        why = " — ".join(filter(None, [t(f"reason.{failure.reason}"), message]))
        st.error(t("database.schema_failed", why=why))
    if schema.privileges:
        st.warning(t(f"database.{schema.privileges}"), icon=":material/gpp_maybe:")
    if schema.unreadable:
        tables = [
            escape_markdown(name, 80)
            if login.read_config().is_required
            else t("mark.aside", text=escape_markdown(name, 80), more=escape_markdown(reason, 200))
            for name, reason in list(schema.unreadable.items())[:_MAX_NAMED_TABLES]
        ]
        if hidden_count := len(schema.unreadable) - len(tables):
            tables.append(t("unread.more", n=format_number(hidden_count)))
        text = t("database.unreadable", names=t("mark.list").join(tables))
        st.warning(text, icon=":material/visibility_off:")
