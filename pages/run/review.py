"""Sentences that the check of an answer removed or rewrote, each in its original wording."""

from __future__ import annotations

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import Report


def draw(report: Report) -> None:
    """Draw the removed and rewritten sentences; nothing if there are none."""
    review = report.answer.review if report.answer else None
    if review is None or not review.repairs:
        return
    title = t("review.title", n=format_number(len(review.repairs)))
    with st.expander(title, key=f"review_{report.run.id[:8]}", icon=":material/rule:"):
        author = escape_markdown(review.author)
        st.caption(t("review.help", author=author) if author else t("review.rules"))
        for repair in review.repairs:
            kind = "review.rewritten" if repair.after else "review.dropped"
            after = f"  \n→ {escape_markdown(repair.after)}" if repair.after else ""
            st.markdown(f"- **{t(kind)}** {escape_markdown(repair.before)}{after}")
