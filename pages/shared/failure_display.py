"""Display of failures on a page: one plain sentence, with the details folded behind it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, source_name, t
from research import Failure, group_failures

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


def draw_failures(failures: Sequence[Failure]) -> None:
    """Draw one line for each group of similar failures, and an expander with every message."""
    groups = group_failures(failures, current_language())
    lines = [f"- {add_count(escape_failure(group.text), group.failure_count)}" for group in groups]
    st.warning(t("answer.failures", n=len(failures)) + "\n" + "\n".join(lines))
    draw_details(
        [" — ".join(filter(None, [f.query, source_name(f.source), t(f"stage.{f.stage}"), f.message])) for f in failures]
    )
