"""Warnings about a database that can be queried all the same."""

from __future__ import annotations

import streamlit as st

from pages.shared import login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import DatabaseSchema

_MAX_NAMED_TABLES = 10  # tables that a warning names


def draw_schema_warnings(schema: DatabaseSchema) -> None:
    """Warn where the account of a database may do more than read, and of tables that are left out
    because the database cannot read them. Reasons, which may name files of the server, are shown where
    there is no login."""
    if schema.privileges:
        st.warning(t(f"database.{schema.privileges}"), icon=":material/gpp_maybe:")
    if schema.unreadable:
        named = [
            escape_markdown(name, 80) if login.read_config().is_required
            else t("mark.aside", text=escape_markdown(name, 80), more=escape_markdown(reason, 200))
            for name, reason in list(schema.unreadable.items())[:_MAX_NAMED_TABLES]
        ]  # fmt: skip
        if more := len(schema.unreadable) - len(named):
            named.append(t("unread.more", n=format_number(more)))
        words = t("database.unreadable", names=t("mark.list").join(named))
        st.warning(words, icon=":material/visibility_off:")
