"""Display of failures on a page: one plain sentence, with the details folded behind it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t

MAX_DETAILS = 40  # messages listed in the expander


def escape_failure(text: str) -> str:
    """Escape a sentence on a failure so that service names in it do not become links.

    In Chinese, the words after a URL would be taken as part of it.
    """
    return escape_markdown(text.replace("www.", "www\u200b.").replace("://", ":\u200b//"))


def add_count(text: str, count: int) -> str:
    """Add the number of occurrences to a sentence if it is more than 1."""
    return text if count == 1 else t("mark.aside", text=text, more=f"{format_number(count)}×")


def draw_details(messages: Sequence[str]) -> None:
    """Draw the distinct original messages of services and libraries in a folded expander."""
    unique_messages = [text for text in dict.fromkeys(messages) if text.strip()]
    if unique_messages:
        with st.expander(t("answer.failure_details"), icon=":material/info:"):
            st.markdown("\n".join(f"- {escape_markdown(text, 600)}" for text in unique_messages[:MAX_DETAILS]))
