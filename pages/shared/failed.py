"""Display of failures on a page: one sentence for people, with the details folded behind it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.safe import plain
from pages.shared.words import number, t

MOST = 40  # details that are listed


def sentence(text: str) -> str:
    """Escape a sentence on a failure. Names of services in it become no links: in Chinese the words
    behind an address would be taken for a part of it."""
    return plain(text.replace("www.", "www\u200b.").replace("://", ":\u200b//"))


def counted(text: str, count: int) -> str:
    """A sentence, with how often it holds if that is more than once."""
    return text if count == 1 else t("mark.aside", text=text, more=f"{number(count)}×")


def details(texts: Sequence[str]) -> None:
    """Show the original messages of services and libraries in a folded expander, each message
    once."""
    found = [text for text in dict.fromkeys(texts) if text.strip()]
    if found:
        with st.expander(t("answer.failure_details"), icon=":material/info:"):
            st.markdown("\n".join(f"- {plain(text, 600)}" for text in found[:MOST]))
