"""What is live, offline or missing, and where the data lies."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts.words import number, size, t
from research import runs

COLORS = {"live": "green", "sample": "orange", "offline": "orange", "missing": "red"}

desk = runs.desk()
st.title(t("status.title"), anchor=False)

st.markdown(f"#### {t('status.reasoner')}")
st.markdown(t("status.reasoner_text"))

st.markdown(f"#### {t('status.sources')}")
for name, ready in runs.readiness().items():
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{t(f'source.{name}')}**", width="content")
        st.badge(t(f"status.{ready.state}"), color=COLORS[ready.state])
    if name == "library":
        entries = desk.library.entries()
        own = sum(not entry.sample for entry in entries)
        st.caption(t("status.library", own=number(own), sample=number(len(entries) - own)))
        if not own:
            st.caption(t("status.library_add"))

st.markdown(f"#### {t('status.data')}")
folder = desk.settings.data_dir
st.code(str(folder), language=None)
st.caption(
    t(
        "status.data_text",
        size=size(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())),
    )
)

st.markdown(f"#### {t('status.settings')}")
settings = [
    ("NUMBER_OF_INITIAL_QUERIES", desk.settings.queries),
    ("MAX_RESEARCH_LOOPS", desk.settings.loops),
    ("SIGHTLINE_DATA_DIR", desk.settings.data_dir),
    ("SIGHTLINE_SEARCH_TIMEOUT", f"{desk.settings.search_timeout:g} s"),
    ("SIGHTLINE_SEARCH_DELAY", f"{desk.settings.search_delay:g} s"),
    ("SIGHTLINE_PASSAGES_PER_SEARCH", desk.settings.passages_per_search),
]
st.dataframe(
    pd.DataFrame([(name, str(value)) for name, value in settings], columns=["name", "value"]),
    hide_index=True,
    alt=t("status.settings_alt"),
    column_config={
        "name": st.column_config.TextColumn(t("status.setting")),
        "value": st.column_config.TextColumn(t("status.value"), width="large"),
    },
)
