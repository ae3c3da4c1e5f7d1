"""What is asked and which run a page shows; light, for a page that shows none yet."""

from __future__ import annotations

import streamlit as st
from streamlit.material_icon_names import ALL_MATERIAL_ICONS
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared import errors
from pages.shared.localization import format_number, run_query_params, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import MAX_QUESTION_CHARS, Plan, QuestionError, RateLimitError, Run, RunOptions, application

DEFAULT_ICON = ":material/search:"
STATUS_COLORS = {"running": "blue", "queued": "blue", "waiting": "blue", "done": "green", "failed": "red"}
LAST_REPORT_KEY = "last_report"  # under which the page of the news remembers a run
LAST_TABLE_KEY = "last_table"  # and that of the tables


def is_history_navigation() -> bool:
    """Tell whether the browser's history led here (Back, Forward), or the menu's entry of the page that
    was shown, and no widget: then the address alone says what is shown."""
    context = get_script_run_ctx()
    return bool(context and context.is_history_navigation)


def set_query_param(name: str, value: str, *removed_names: str) -> None:
    """Put a parameter into the address instead of some others, as one step of the browser's history."""
    kept = {key: kept for key, kept in st.query_params.items() if key not in removed_names}
    if kept | {name: value} != st.query_params.to_dict():
        st.query_params.from_dict(kept | {name: value})


def set_last_run_key(key: str) -> None:
    """Which page draws runs now: under `last` it remembers the one that it has shown last."""
    st.session_state.home = key


def _last_run_key() -> str:
    return str(st.session_state.get("home", "last_run"))


def current_run() -> Run | None:
    """The run of the URL, else the last one that this visitor looked at on this page."""
    if is_history_navigation() and not {"run", "plan"} & {*st.query_params}:
        leave_run()
    asked = st.query_params.get("run", "")
    run_id = asked or st.session_state.get(_last_run_key(), "")
    if not run_id:
        return None
    run = application.get_run(run_id, owner=current_owner())
    if run is None:
        if asked:
            st.warning(t("ask.no_run"))
        return None
    if other := _other_page(run):
        if asked:
            st.switch_page(page_script(other), query_params=run_query_params(run.id))
        st.session_state.pop(_last_run_key())
        return None
    show_run(run)
    return run


def _other_page(run: Run) -> str:
    """The page that a run belongs on, if it is another: reports are drawn where they are asked for."""
    pages = {LAST_REPORT_KEY: "news", LAST_TABLE_KEY: "tables", "last_run": "ask"}
    home = "tables" if run.options.table else "news" if run.options.sections else "ask"
    here = pages.get(_last_run_key(), "")  # other pages draw runs of their own
    return home if here and here != home else ""


def run_icon(options: RunOptions) -> str:
    """The icon of a run: that of a table, of a report, of the only source that it asks, or of a
    question."""
    if options.table:
        return ":material/table_view:"
    if options.sections:
        return ":material/newspaper:"
    source = application.known_sources().get(options.sources[0]) if len(options.sources) == 1 else None
    known = source is not None and source.icon in ALL_MATERIAL_ICONS
    return f":material/{source.icon}:" if source and known else DEFAULT_ICON


def show_run(run: Run) -> None:
    set_query_param("run", run.id, "plan")
    st.session_state[_last_run_key()] = run.id


def leave_run() -> None:
    """Go back to where a question is asked."""
    for name in ("run", "plan"):
        st.query_params.pop(name, None)
    for key in (_last_run_key(), "draft", "draft_question"):
        st.session_state.pop(key, None)


def start_run(
    question: str,
    options: RunOptions,
    plan: Plan | None = None,
    based_on_run_id: str = "",
    follows_run_id: str = "",
) -> None:
    try:
        run = application.start_run(
            question,
            options=options,
            owner=current_owner(),
            plan=plan,
            based_on=based_on_run_id,
            follows=follows_run_id,
        )
    except (QuestionError, RateLimitError) as error:
        draw_start_error(error)
        return
    st.session_state.pop("draft", None)
    show_run(run)
    st.rerun()


def draw_start_error(error: QuestionError | RateLimitError) -> None:
    """Why nothing was started; what was typed stays where it is."""
    if isinstance(error, RateLimitError):
        errors.draw_rate_limit_error(error)
        return
    length, limit = format_number(error.length), format_number(MAX_QUESTION_CHARS)
    st.error(t(f"problem.{error.problem}", length=length, limit=limit))
