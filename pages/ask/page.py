"""Ask page: ask a question, follow the run, read the answer."""

from __future__ import annotations

import streamlit as st

from pages.ask.examples import list_examples
from pages.shared import errors, failure_display, help_topics, layout, run_navigation, run_options
from pages.shared.escaping import escape_markdown
from pages.shared.localization import setting_help, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import RunOptions, get_application

MAX_CONVERSATIONS = 4  # listed on the start page


# Form and draft


def draw_form() -> None:
    """Draw the question form with its options. Start the run or draw the plan after a click."""
    run_options.fill_widgets(
        "", st.session_state.get("limits", get_application().services_for(current_owner()).default_options())
    )
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
        with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            plan_requested = st.form_submit_button(
                t("ask.plan_first"), key="plan_first", type="tertiary", icon=":material/checklist:"
            )
            submitted = st.form_submit_button(t("ask.start"), type="primary", key="start", icon=":material/search:")
    with st.container(horizontal=True, vertical_alignment="center", key="ask_effort"):
        run_options.draw_options()  # outside the form, so that the estimate follows each change
        if chosen := run_options.chosen_options():
            run_options.draw_estimate(chosen)
    if (submitted or plan_requested) and chosen is not None:
        st.session_state.limits = chosen
        if submitted:
            run_navigation.start_run(question, chosen)
        else:
            create_draft(question, chosen)
    elif submitted or plan_requested:
        st.error(t("ask.no_sources"))


def create_draft(question: str, options: RunOptions) -> None:
    """Create the plan of a question and show it for editing. No run is started yet."""
    with run_navigation.catch_start_errors():
        with st.spinner(t("step.planning")):
            st.session_state.draft = get_application().runs.preview_plan(
                question, options=options, owner=current_owner()
            )
        st.session_state.draft_question = question
        st.session_state.draft_round = st.session_state.get("draft_round", 0) + 1
        st.session_state.pop("last_run", None)
        run_navigation.set_query_param("plan", "draft", "run")
        st.rerun()


def draw_draft() -> None:
    """Draw the plan for editing before the run."""
    from pages.run import plan

    run_navigation.set_query_param("plan", "draft")
    layout.draw_header(t("plan.title"), escape_markdown(st.session_state.draft_question))
    if st.session_state.draft.failures:
        failure_display.draw_failures(st.session_state.draft.failures)
    key = f"draft_{st.session_state.draft_round}"
    edited = plan.edit_plan(st.session_state.draft, tuple(get_application().sources), key)
    with st.container(horizontal=True):
        if st.button(t("plan.start"), type="primary", key="start_draft"):
            if edited.tasks:
                run_navigation.start_run(st.session_state.draft_question, st.session_state.limits, edited)
            else:
                st.error(t("plan.none"))
        st.button(t("ask.new"), key="leave_draft", on_click=run_navigation.leave_run)


def draw_examples() -> None:
    """Draw example questions; a click fills the question field."""

    def fill_in(question: str) -> None:
        st.session_state.question = question

    examples = list(enumerate(list_examples()))
    if not examples:
        return
    st.caption(t("ask.examples"))
    with st.container(key="examples"):
        for side, column in enumerate(st.columns(2, gap="small")):
            for n, example in examples[side::2]:
                column.button(
                    example.question,
                    key=f"example_{n}",
                    on_click=fill_in,
                    args=(example.question,),
                    icon=example.icon,
                    width="stretch",
                )


def draw_conversations() -> None:
    """Draw links to recent conversations."""
    conversations = [*get_application().store.conversations(current_owner(), limit=MAX_CONVERSATIONS)]
    if conversations:
        st.caption(t("ask.recent"))
        with st.container(key="recent", gap=None):
            for conversation in conversations:
                with errors.catch_row_errors():
                    title = escape_markdown(conversation.title, 90)
                    run_navigation.draw_run_link(conversation.latest, title, ":material/history:")


def draw_open_sources_button() -> None:
    """Draw a button that enables services without a key, unless the web can be searched already."""
    services = get_application().services_for(current_owner())
    if services.settings.open_sources or services.web.live_providers or services.settings.web_search != "auto":
        return
    if st.button(
        t("ask.open_sources"),
        key="open_sources",
        icon=":material/public:",
        type="tertiary",
        help=setting_help("SIGHTLINE_OPEN_SOURCES"),
    ):
        get_application().preferences.save_choices({"SIGHTLINE_OPEN_SOURCES": "on"}, owner=current_owner())
        st.session_state.pop("limits", None)
        st.session_state.pop("offered", None)
        st.toast(t("ask.opened_sources"), icon=":material/public:")
        st.rerun()


def draw_start_page() -> None:
    """Draw the page without a run: form, model in use, examples and recent conversations."""
    with layout.centered_column("home", 820):
        layout.draw_header(t("ask.title"), t("ask.lead"))
        draw_form()
        services = get_application().services_for(current_owner())
        models = services.models
        note = t("nothing.idle") if services.has_idle_model else t("ask.keyless")
        note = t("ask.models", write=escape_markdown(models.model_name("write"))) if models else note
        with st.container(horizontal=True, vertical_alignment="center", key="writer"):
            st.caption(note, width="content")
            if not models:
                st.page_link(page_script("settings"), label=t("ask.add_key"), icon=":material/key:")
                help_topics.draw_topic_link("digest", t("help.digest"))
                draw_open_sources_button()
        draw_examples()
        draw_conversations()


if not run_navigation.draw_current_run("last_run"):
    if "draft" in st.session_state:
        draw_draft()
    else:
        st.query_params.pop("plan", None)
        draw_start_page()
