"""Warnings about a database that can be queried all the same."""

from __future__ import annotations

import streamlit as st

from pages.shared import login
from pages.shared.safe import plain
from pages.shared.words import number, t
from research import DatabaseSchema

_NAMED = 10  # tables that a warning names


def draw_schema_notices(schema: DatabaseSchema) -> None:
    """Warn where the account of a database may do more than read, and of tables that are left out
    because the database cannot read them. Reasons, which may name files of the server, are shown where
    there is no login."""
    if schema.privileges:
        st.warning(t(f"database.{schema.privileges}"), icon=":material/gpp_maybe:")
    if schema.unreadable:
        named = [
            plain(name, 80) if login.setup().on
            else t("mark.aside", text=plain(name, 80), more=plain(reason, 200))
            for name, reason in list(schema.unreadable.items())[:_NAMED]
        ]  # fmt: skip
        if more := len(schema.unreadable) - len(named):
            named.append(t("unread.more", n=number(more)))
        words = t("database.unreadable", names=t("mark.list").join(named))
        st.warning(words, icon=":material/visibility_off:")
