"""Display of failures on a page: one sentence for people, with the details folded behind it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t

MAX_DETAILS = 40  # details that are listed


def escape_failure(text: str) -> str:
    """Escape a sentence on a failure. Names of services in it become no links: in Chinese the words
    behind an address would be taken for a part of it."""
    return escape_markdown(text.replace("www.", "www\u200b.").replace("://", ":\u200b//"))


def add_count(text: str, count: int) -> str:
    """A sentence, with how often it holds if that is more than once."""
    return text if count == 1 else t("mark.aside", text=text, more=f"{format_number(count)}×")


def draw_details(messages: Sequence[str]) -> None:
    """Show the original messages of services and libraries in a folded expander, each message
    once."""
    found = [text for text in dict.fromkeys(messages) if text.strip()]
    if found:
        with st.expander(t("answer.failure_details"), icon=":material/info:"):
            st.markdown("\n".join(f"- {escape_markdown(text, 600)}" for text in found[:MAX_DETAILS]))
