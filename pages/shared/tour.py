"""The tour: a minute for who is here for the first time. It can be closed at any moment, never comes
twice by itself, and never to who has followed a link to a run or to another page than Ask."""

from __future__ import annotations

import streamlit as st

from pages.shared import login
from pages.shared.files import ASSETS
from pages.shared.safe import plain
from pages.shared.words import t
from research import application

STEPS = ("ask", "watch", "cite", "more", "yours")
SEEN = "tour"  # what a person's preferences call it
_AT = "tour_at"  # the step that is shown, in the state of the session
MET = "tour_met"  # in the state of a session: it is settled whether the tour comes by itself


def begin() -> None:
    """Shows the tour from its first step."""
    st.session_state[_AT] = 0


def welcome(owner: str, first: bool) -> None:
    """Opens the tour, or keeps it open. `first`: the page that is asked for is the first of all."""
    if not st.session_state.get(MET):
        st.session_state[MET] = True
        if first and "run" not in st.query_params and _new(owner):
            application.prefer(SEEN, "shown", owner=owner)
            begin()
    if st.session_state.get(_AT) is not None:
        st.dialog(t("tour.name"), width=520, on_dismiss=_end)(_step)()


def _new(owner: str) -> bool:
    """Whether a person has neither seen the tour nor asked anything."""
    return SEEN not in application.preferences(owner=owner) and not application.recent(
        owner=owner, limit=1
    )


def _step() -> None:
    if (at := st.session_state.get(_AT)) is None:  # it was ended
        st.rerun()
    step, last = STEPS[at], at == len(STEPS) - 1
    with st.container(key="tour"):
        picture = ASSETS / "tour" / f"{step}.svg"
        st.image(picture.read_text("utf-8"), alt=t(f"tour.{step}_alt"), width="stretch")
        st.subheader(t(f"tour.{step}"), anchor=False)
        with st.container(key="tour_text"):
            st.markdown(t(f"tour.{step}_text"))
            if step == "ask":
                st.markdown(_configured())
    with st.container(horizontal=True, vertical_alignment="center", key="tour_foot"):
        st.caption(f"{at + 1}/{len(STEPS)}", width="stretch")
        leave = not last and st.button(t("tour.skip"), key="tour_skip", type="tertiary")
        if at:
            st.button(t("tour.back"), key="tour_back", on_click=_go, args=(at - 1,))
        name = t("tour.done" if last else "tour.next")
        st.button(name, key="tour_next", type="primary", on_click=_end if last else _go,
                  args=() if last else (at + 1,))  # fmt: skip
    if leave:
        _end()
        st.rerun()


def _configured() -> str:
    """Who answers, as it is set up now."""
    models = application.services(owner=login.owner()).models
    return t("ask.models", write=plain(models.name("write"))) if models else t("ask.keyless")


def _go(step: int) -> None:
    st.session_state[_AT] = step


def _end() -> None:
    st.session_state.pop(_AT, None)
