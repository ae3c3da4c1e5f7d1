"""A one-minute tour for new visitors.

It can be closed at any moment. It opens by itself at most once, and only for a visit that starts on
the Ask page without a link to a run.
"""

from __future__ import annotations

import streamlit as st

from pages.shared import login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from pages.shared.paths import ASSETS_FOLDER
from research import get_application

STEPS = ("ask", "watch", "cite", "more", "yours")
PREFERENCE_NAME = "tour"  # preference that records that the tour was shown
_STEP_KEY = "tour_at"  # session key of the index of the current step
DECIDED_KEY = "tour_met"  # session key: the decision whether to open the tour was taken


def start_tour() -> None:
    """Show the tour from its first step."""
    st.session_state[_STEP_KEY] = 0


def draw_tour(owner: str, is_default_page: bool) -> None:
    """Open the tour for a new visitor on the default page, or keep an open tour open."""
    if not st.session_state.get(DECIDED_KEY):
        st.session_state[DECIDED_KEY] = True
        if is_default_page and "run" not in st.query_params and _is_new_user(owner):
            get_application().store.set_preference(owner, PREFERENCE_NAME, "shown")
            start_tour()
    if st.session_state.get(_STEP_KEY) is not None:
        st.dialog(t("tour.name"), width=520, on_dismiss=_end_tour)(_draw_step)()


def _is_new_user(owner: str) -> bool:
    """Return True if an owner has neither seen the tour nor started a run."""
    return PREFERENCE_NAME not in get_application().store.preferences(owner) and not get_application().runs.recent_runs(
        owner=owner, limit=1
    )


def _draw_step() -> None:
    if (index := st.session_state.get(_STEP_KEY)) is None:  # the tour was ended
        st.rerun()
    step, last = STEPS[index], index == len(STEPS) - 1
    with st.container(key="tour"):
        picture = ASSETS_FOLDER / "tour" / f"{step}.svg"
        st.image(picture.read_text("utf-8"), alt=t(f"tour.{step}_alt"), width="stretch")
        st.subheader(t(f"tour.{step}"), anchor=False)
        with st.container(key="tour_text"):
            st.markdown(t(f"tour.{step}_text"))
            if step == "ask":
                st.markdown(_writer_text())
    with st.container(horizontal=True, vertical_alignment="center", key="tour_foot"):
        st.caption(f"{index + 1}/{len(STEPS)}", width="stretch")
        leave = not last and st.button(t("tour.skip"), key="tour_skip", type="tertiary")
        if index:
            st.button(t("tour.back"), key="tour_back", on_click=_go_to_step, args=(index - 1,))
        label = t("tour.done" if last else "tour.next")
        st.button(
            label,
            key="tour_next",
            type="primary",
            on_click=_end_tour if last else _go_to_step,
            args=() if last else (index + 1,),
        )
    if leave:
        _end_tour()
        st.rerun()


def _writer_text() -> str:
    """Return a sentence on the model that writes answers, or on the set-up without a model."""
    models = get_application().services_for(login.current_owner()).models
    return t("ask.models", write=escape_markdown(models.model_name("write"))) if models else t("ask.keyless")


def _go_to_step(index: int) -> None:
    st.session_state[_STEP_KEY] = index


def _end_tour() -> None:
    st.session_state.pop(_STEP_KEY, None)
