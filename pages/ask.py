"""Ask a question, watch the run, read the answer."""

from __future__ import annotations

import streamlit as st

from pages.parts import effort, plan, run
from pages.parts.safe import plain
from pages.parts.words import lang, t
from research import Options, QuestionError, runs

EXAMPLES = {
    "zh": (
        "故宫博物院的门票多少钱，周几闭馆？",
        "王府井附近适合遛娃的好去处",
        "西湖和颐和园是哪一年列入世界遗产的？",
        "带孩子坐火车怎么买票，可以带多少行李？",
    ),
    "en": (
        "What does a ticket to the Palace Museum cost, and when is it closed?",
        "Where can I take kids near Wangfujing?",
        "When were the Summer Palace and West Lake put on the World Heritage list?",
        "How do train tickets for children work in China, and how much luggage can they take?",
    ),
}


# Asking


def form() -> None:
    effort.offer("", st.session_state.get("limits", runs.desk().usual()))
    with st.form("ask", border=False, enter_to_submit=True):
        question = st.text_area(
            t("ask.question"),
            key="question",
            placeholder=t("ask.placeholder"),
            label_visibility="collapsed",
            height=84,
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            go = st.form_submit_button(
                t("ask.start"), type="primary", key="start", icon=":material/search:",
                shortcut="Ctrl+Enter",
            )  # fmt: skip
            first = st.form_submit_button(t("ask.plan_first"), key="plan_first")
    with st.container(horizontal=True, vertical_alignment="center"):
        effort.effort()  # outside the form: the estimate follows what is chosen
        if chosen := effort.options():
            effort.estimate(chosen)
    if (go or first) and chosen is not None:
        st.session_state.limits = chosen
        if go:
            run.start(question, chosen)
        else:
            preview(question, chosen)
    elif go or first:
        st.error(t("ask.no_sources"))


def preview(question: str, limits: Options) -> None:
    try:
        with st.spinner(t("step.planning")):
            st.session_state.draft = runs.plan(question, options=limits)
    except QuestionError as error:
        run.refuse(error)
        return
    st.session_state.draft_question = question
    st.session_state.draft_round = st.session_state.get("draft_round", 0) + 1
    st.query_params.pop("run", None)
    st.session_state.pop("last_run", None)
    st.rerun()


def draft() -> None:
    """The plan before the run, as the analyst edits it."""
    st.subheader(t("plan.title"), anchor=False)
    st.markdown(plain(st.session_state.draft_question))
    if st.session_state.draft.failures:
        run.failures(st.session_state.draft.failures)
    key = f"draft_{st.session_state.draft_round}"
    edited = plan.editor(st.session_state.draft, tuple(runs.desk().sources), key)
    with st.container(horizontal=True):
        if st.button(t("plan.start"), type="primary", key="start_draft"):
            if edited.tasks:
                run.start(st.session_state.draft_question, st.session_state.limits, edited)
            else:
                st.error(t("plan.none"))
        st.button(t("ask.new"), key="leave_draft", on_click=run.leave)


def examples() -> None:
    def ask(question: str) -> None:
        st.session_state.question = question

    st.caption(t("ask.examples"))
    for n, question in enumerate(EXAMPLES[lang()]):
        st.button(question, key=f"example_{n}", on_click=ask, args=(question,), type="tertiary",
                  icon=":material/arrow_outward:")  # fmt: skip


run.home("last_run")
shown = run.current()
if shown is not None:
    run.draw(shown)
elif "draft" in st.session_state:
    draft()
else:
    st.title(t("ask.title"), anchor=False)
    st.caption(t("ask.lead"))
    form()
    examples()
    models = runs.desk().models
    st.caption(t("ask.models", write=plain(models.name("write"))) if models else t("ask.keyless"))
