"""All runs: what was asked, how it ended, and the way back to each."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.safe import plain
from pages.parts.words import local_time, t
from research import Run, runs

PAGES = Path(__file__).resolve().parent
COLORS = {"running": "blue", "queued": "blue", "done": "green", "failed": "red"}
SHOWN = 50


def row(run: Run) -> None:
    with (
        st.container(border=True, key=f"row_{run.id[:8]}"),
        st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ),
    ):
        st.page_link(PAGES / "ask.py", label=plain(run.question, 120), query_params={"run": run.id})
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.caption(local_time(run.created), width="content")
            st.badge(t(f"run.{run.status}"), color=COLORS.get(run.status, "orange"))
            if run.resumable and st.button(
                t("run.resume"), key=f"resume_{run.id[:8]}", icon=":material/play_arrow:"
            ):
                runs.resume(run.id, owner=st.session_state.owner)
                st.session_state.last_run = run.id
                st.switch_page(PAGES / "ask.py", query_params={"run": run.id})


st.title(t("history.title"), anchor=False)
found = runs.list(owner=st.session_state.owner)
if not found:
    st.caption(t("history.empty"))
else:
    wanted = st.text_input(t("history.filter"), key="history_filter").strip().casefold()
    for item in [run for run in found if wanted in run.question.casefold()][:SHOWN]:
        row(item)
