"""What is asked and which run a page shows; light, for a page that shows none yet."""

from __future__ import annotations

import streamlit as st
from streamlit.material_icon_names import ALL_MATERIAL_ICONS
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared import errors
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.words import address, number, t
from research import MAX_QUESTION, Options, PaceError, Plan, QuestionError, Run, application

ICON = ":material/search:"
COLORS = {"running": "blue", "queued": "blue", "waiting": "blue", "done": "green", "failed": "red"}
REPORTS = "last_report"  # under which the page of the news remembers a run
TABLES = "last_table"  # and that of the tables


def navigated() -> bool:
    """Tell whether the browser's history led here (Back, Forward), or the menu's entry of the page that
    was shown, and no widget: then the address alone says what is shown."""
    context = get_script_run_ctx()
    return bool(context and context.is_history_navigation)


def address_by(name: str, value: str, *others: str) -> None:
    """Put a parameter into the address instead of some others, as one step of the browser's history."""
    kept = {key: kept for key, kept in st.query_params.items() if key not in others}
    if kept | {name: value} != st.query_params.to_dict():
        st.query_params.from_dict(kept | {name: value})


def home(last: str) -> None:
    """Which page draws runs now: under `last` it remembers the one that it has shown last."""
    st.session_state.home = last


def _last() -> str:
    return str(st.session_state.get("home", "last_run"))


def current() -> Run | None:
    """The run of the URL, else the last one that this visitor looked at on this page."""
    if navigated() and not {"run", "plan"} & {*st.query_params}:
        leave()
    asked = st.query_params.get("run", "")
    run_id = asked or st.session_state.get(_last(), "")
    if not run_id:
        return None
    run = application.get(run_id, owner=owner())
    if run is None:
        if asked:
            st.warning(t("ask.no_run"))
        return None
    if other := _elsewhere(run):
        if asked:
            st.switch_page(script(other), query_params=address(run.id))
        st.session_state.pop(_last())
        return None
    show(run)
    return run


def _elsewhere(run: Run) -> str:
    """The page that a run belongs on, if it is another: reports are drawn where they are asked for."""
    pages = {REPORTS: "news", TABLES: "tables", "last_run": "ask"}
    home = "tables" if run.options.table else "news" if run.options.sections else "ask"
    here = pages.get(_last(), "")  # other pages draw runs of their own
    return home if here and here != home else ""


def icon(options: Options) -> str:
    """The icon of a run: that of a table, of a report, of the only source that it asks, or of a
    question."""
    if options.table:
        return ":material/table_view:"
    if options.sections:
        return ":material/newspaper:"
    source = application.described().get(options.sources[0]) if len(options.sources) == 1 else None
    known = source is not None and source.icon in ALL_MATERIAL_ICONS
    return f":material/{source.icon}:" if source and known else ICON


def show(run: Run) -> None:
    address_by("run", run.id, "plan")
    st.session_state[_last()] = run.id


def leave() -> None:
    """Go back to where a question is asked."""
    for name in ("run", "plan"):
        st.query_params.pop(name, None)
    for key in (_last(), "draft", "draft_question"):
        st.session_state.pop(key, None)


def start(
    question: str,
    limits: Options,
    plan_: Plan | None = None,
    based_on: str = "",
    follows: str = "",
) -> None:
    try:
        run = application.start(
            question,
            options=limits,
            owner=owner(),
            plan=plan_,
            based_on=based_on,
            follows=follows,
        )
    except (QuestionError, PaceError) as error:
        refuse(error)
        return
    st.session_state.pop("draft", None)
    show(run)
    st.rerun()


def refuse(error: QuestionError | PaceError) -> None:
    """Why nothing was started; what was typed stays where it is."""
    if isinstance(error, PaceError):
        errors.hurried(error)
        return
    length, limit = number(error.length), number(MAX_QUESTION)
    st.error(t(f"problem.{error.problem}", length=length, limit=limit))
