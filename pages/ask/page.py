"""Ask a question, watch the run, read the answer."""

from __future__ import annotations

import streamlit as st

from pages.ask.examples import offered
from pages.shared import asking, effort, errors, guide, layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, t
from research import Options, PaceError, QuestionError, application

RECENT = 4  # conversations that one may go on with


# Asking


def form() -> None:
    effort.offer("", st.session_state.get("limits", application.services(owner=owner()).usual()))
    with (
        st.container(border=True, key="ask_card"),
        st.form("ask", border=False, enter_to_submit=True),
    ):
        question = st.text_area(
            t("ask.question"),
            key="question",
            placeholder=t("ask.placeholder"),
            label_visibility="collapsed",
            height=92,
        )
        with st.container(
            horizontal=True, horizontal_alignment="right", vertical_alignment="center"
        ):
            first = st.form_submit_button(
                t("ask.plan_first"), key="plan_first", type="tertiary", icon=":material/checklist:"
            )
            go = st.form_submit_button(
                t("ask.start"), type="primary", key="start", icon=":material/search:"
            )
    with st.container(horizontal=True, vertical_alignment="center", key="ask_effort"):
        effort.effort()  # outside the form: the estimate follows what is chosen
        if chosen := effort.options():
            effort.estimate(chosen)
    if (go or first) and chosen is not None:
        st.session_state.limits = chosen
        if go:
            asking.start(question, chosen)
        else:
            preview(question, chosen)
    elif go or first:
        st.error(t("ask.no_sources"))


def preview(question: str, limits: Options) -> None:
    try:
        with st.spinner(t("step.planning")):
            st.session_state.draft = application.plan(question, options=limits, owner=owner())
    except (QuestionError, PaceError) as error:
        asking.refuse(error)
        return
    st.session_state.draft_question = question
    st.session_state.draft_round = st.session_state.get("draft_round", 0) + 1
    st.session_state.pop("last_run", None)
    asking.address_by("plan", "draft", "run")
    st.rerun()


def draft() -> None:
    """The plan before the run, as the analyst edits it."""
    from pages.run import plan
    from pages.run import view as run

    asking.address_by("plan", "draft")
    layout.header(t("plan.title"), plain(st.session_state.draft_question))
    if st.session_state.draft.failures:
        run.failures(st.session_state.draft.failures)
    key = f"draft_{st.session_state.draft_round}"
    edited = plan.editor(st.session_state.draft, tuple(application.desk().sources), key)
    with st.container(horizontal=True):
        if st.button(t("plan.start"), type="primary", key="start_draft"):
            if edited.tasks:
                asking.start(st.session_state.draft_question, st.session_state.limits, edited)
            else:
                st.error(t("plan.none"))
        st.button(t("ask.new"), key="leave_draft", on_click=asking.leave)


def examples() -> None:
    """Questions that have an answer here; a click puts one into the box."""

    def ask(question: str) -> None:
        st.session_state.question = question

    found = list(enumerate(offered()))
    if not found:
        return
    st.caption(t("ask.examples"))
    with st.container(key="examples"):
        for side, column in enumerate(st.columns(2, gap="small")):
            for n, one in found[side::2]:
                column.button(
                    one.question, key=f"example_{n}", on_click=ask, args=(one.question,),
                    icon=one.icon, width="stretch",
                )  # fmt: skip


def recent() -> None:
    """The conversations that were begun last, to go on with."""
    talks = [*application.conversations(owner=owner(), limit=RECENT)]
    if talks:
        st.caption(t("ask.recent"))
        with st.container(key="recent", gap=None):
            for talk in talks:
                with errors.row():
                    st.page_link(
                        script("ask"), label=plain(talk.title, 90), icon=":material/history:",
                        query_params=address(talk.latest),
                    )  # fmt: skip


def open_sources() -> None:
    """The choice to search services that need no key, which is off until somebody has made it."""
    services = application.services(owner=owner())
    if services.settings.opened or services.web.providers or services.settings.web_search != "auto":
        return
    if st.button(
        t("ask.open_sources"), key="open_sources", icon=":material/public:", type="tertiary",
        help=t("settings.open_sources_help"),
    ):  # fmt: skip
        application.choose({"SIGHTLINE_OPEN_SOURCES": "on"}, owner=owner())
        st.session_state.pop("limits", None)
        st.session_state.pop("offered", None)
        st.toast(t("ask.opened_sources"), icon=":material/public:")
        st.rerun()


def empty() -> None:
    """The page before anything is asked."""
    with layout.column("home", 820):
        layout.header(t("ask.title"), t("ask.lead"))
        form()
        services = application.services(owner=owner())
        models = services.models
        told = t("nothing.idle") if services.idle else t("ask.keyless")
        told = t("ask.models", write=plain(models.name("write"))) if models else told
        with st.container(horizontal=True, vertical_alignment="center", key="writer"):
            st.caption(told, width="content")
            if not models:
                st.page_link(script("settings"), label=t("ask.add_key"), icon=":material/key:")
                guide.link("digest", t("help.digest"))
                open_sources()
        examples()
        recent()


asking.home("last_run")
shown = asking.current()
if shown is not None:
    from pages.run import view as run  # heavier than all else here, and not needed to ask

    run.draw(shown)
elif "draft" in st.session_state:
    draft()
else:
    st.query_params.pop("plan", None)
    empty()
