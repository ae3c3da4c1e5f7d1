"""All runs: what was asked, how it ended, and the way back to each."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.login import owner
from pages.parts.safe import plain
from pages.parts.words import address, local_time, t
from research import Conversation, Run, runs

PAGES = Path(__file__).resolve().parent
COLORS = {"running": "blue", "queued": "blue", "done": "green", "failed": "red"}
SHOWN = 50


def manage(conversation: Conversation) -> None:
    """The title of a conversation, its pin, and the way to be rid of it."""
    st.markdown(t("history.turns", n=conversation.turns, title=plain(conversation.title, 200)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        title = st.text_input(
            t("history.rename"), value=conversation.title, max_chars=200, key="title"
        )
        if st.button(t("history.save"), type="primary", key="save_title"):
            runs.label(conversation.id, title=title.strip(), owner=owner())
            close()
        pin = "history.unpin" if conversation.pinned else "history.pin"
        if st.button(t(pin), key="pin", icon=":material/keep:"):
            runs.label(conversation.id, pinned=not conversation.pinned, owner=owner())
            close()
    with st.container(horizontal=True, vertical_alignment="center"):
        sure = st.checkbox(t("history.sure"), key="sure")
        if st.button(
            t("history.delete"), key="delete", icon=":material/delete:", disabled=not sure
        ):
            ids = {run.id for run in runs.turns(conversation.id, owner=owner())}
            runs.forget(conversation.id, owner=owner())
            if st.session_state.get("last_run") in ids:
                st.session_state.pop("last_run")
            close()


def close() -> None:
    st.session_state.pop("managed", None)
    st.rerun()


def toggle(run_id: str) -> None:
    managed = st.session_state.get("managed")
    st.session_state.managed = "" if managed == run_id else run_id


def row(run: Run, conversation: Conversation | None) -> None:
    with st.container(border=True, key=f"row_{run.id[:8]}"):
        line(run, conversation)
        if conversation and st.session_state.get("managed") == run.id:
            manage(conversation)


def line(run: Run, conversation: Conversation | None) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.page_link(PAGES / "ask.py", label=plain(run.question, 120), query_params={"run": run.id})
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            if conversation and conversation.pinned:
                st.markdown(":material/keep:", width="content")
            if conversation and conversation.title != run.question:
                st.caption(plain(conversation.title, 40), width="content")
            st.caption(local_time(run.created), width="content")
            st.badge(t(f"run.{run.status}"), color=COLORS.get(run.status, "orange"))
            if run.resumable and st.button(
                t("run.resume"), key=f"resume_{run.id[:8]}", icon=":material/play_arrow:"
            ):
                runs.resume(run.id, owner=owner())
                st.session_state.last_run = run.id
                st.switch_page(PAGES / "ask.py", query_params=address(run.id))
            if conversation:
                st.button(
                    "", key=f"manage_{run.id[:8]}", icon=":material/more_horiz:", type="tertiary",
                    help=t("history.manage"), on_click=toggle, args=(run.id,),
                )  # fmt: skip


st.title(t("history.title"), anchor=False)
found = runs.list(owner=owner())
if not found:
    st.caption(t("history.empty"))
else:
    talks = {talk.id: talk for talk in runs.conversations(owner=owner())}
    wanted = st.text_input(t("history.filter"), key="history_filter").strip().casefold()

    def pinned(run: Run) -> bool:
        return run.conversation in talks and talks[run.conversation].pinned

    def fits(run: Run) -> bool:
        talk = talks.get(run.conversation)
        return wanted in f"{run.question} {talk.title if talk else ''}".casefold()

    kept = sorted(filter(fits, found), key=pinned, reverse=True)
    for item in kept[:SHOWN]:
        row(item, talks.get(item.conversation))
