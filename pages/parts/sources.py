"""The table of the sources that an answer cites."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts.answer import host
from pages.parts.words import t
from research import CitedAnswer


def draw(cited: CitedAnswer, key: str) -> None:
    """The deduplicated sources in order of their numbers."""
    if not cited.sources:
        st.caption(t("sources.none"))
        return
    rows = [
        {
            "number": source.number,
            "name": source.evidence.title,
            "kind": t("kind.sample")
            if source.evidence.sample
            else t(f"kind.{source.evidence.kind}"),
            "domain": host(source.evidence),
            "date": source.evidence.published,
            "times": source.times,
            "link": source.evidence.url or None,
        }
        for source in cited.sources
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"sources_{key}",
        alt=t("sources.alt"),
        placeholder="",
        column_config={
            "number": st.column_config.NumberColumn(t("sources.number"), width=60),
            "name": st.column_config.TextColumn(t("sources.name"), width="large"),
            "kind": st.column_config.TextColumn(t("sources.kind"), width="small"),
            "domain": st.column_config.TextColumn(t("sources.domain")),
            "date": st.column_config.DateColumn(t("sources.date"), format="YYYY-MM-DD", width=100),
            "times": st.column_config.NumberColumn(t("sources.times"), width=100),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=60),
        },
    )
