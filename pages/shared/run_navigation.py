"""Navigation to runs: the current run, its query parameter, links to runs, and starting a new one.

It imports little, since it also serves pages that show no run yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.material_icon_names import ALL_MATERIAL_ICONS
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared import errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, run_query_params, t, value_label
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import (
    MAX_QUESTION_CHARS,
    Plan,
    QuestionError,
    RateLimitError,
    Run,
    RunOptions,
    get_application,
    sources_by_name,
)

QUESTION_ICON = ":material/search:"
STATUS_COLORS = {"running": "blue", "queued": "blue", "waiting": "blue", "done": "green", "failed": "red"}
LAST_REPORT_KEY = "last_report"  # session key of the last run on the news page
LAST_TABLE_KEY = "last_table"  # session key of the last run on the tables page


def is_browser_navigation() -> bool:
    """Return True if Back, Forward or the menu entry of the current page caused this drawing of the page.

    Then the URL alone decides what is shown, not the session.
    """
    context = get_script_run_ctx()
    return bool(context and context.is_history_navigation)


def set_query_param(name: str, value: str, *removed_names: str) -> None:
    """Set a query parameter and remove others, as one step of the browser history."""
    remaining = {key: text for key, text in st.query_params.items() if key not in removed_names}
    if remaining | {name: value} != st.query_params.to_dict():
        st.query_params.from_dict(remaining | {name: value})


def _last_run_key() -> str:
    return str(st.session_state.get("home", "last_run"))


def _current_run() -> Run | None:
    """Return the run of the URL, else the last run that the visitor saw on this page.

    A run that belongs on another page is opened there if the URL names it.
    """
    if is_browser_navigation() and not {"run", "plan"} & {*st.query_params}:
        leave_run()
    url_run_id = st.query_params.get("run", "")
    run_id = url_run_id or st.session_state.get(_last_run_key(), "")
    if not run_id:
        return None
    run = get_application().runs.get_run(run_id, owner=current_owner())
    if run is None:
        if url_run_id:
            st.warning(t("ask.no_run"))
        return None
    if other_page := _other_page(run):
        if url_run_id:
            st.switch_page(page_script(other_page), query_params=run_query_params(run.id))
        st.session_state.pop(_last_run_key())
        return None
    select_run(run)
    return run


def draw_current_run(last_run_key: str) -> bool:
    """Draw the current run of a page. Return False without a run.

    Args:
        last_run_key: Session key under which the page remembers the run it showed last.
    """
    st.session_state.home = last_run_key
    run = _current_run()
    if run is None:
        return False
    from pages.run import view  # slow to import, and not needed for a form

    view.draw(run)
    return True


def _other_page(run: Run) -> str:
    """Return the page that a run belongs on, or an empty string if that is the current page."""
    pages = {LAST_REPORT_KEY: "news", LAST_TABLE_KEY: "tables", "last_run": "ask"}
    home = "tables" if run.options.table else "news" if run.options.sections else "ask"
    current_page = pages.get(_last_run_key(), "")  # other pages show only their own runs
    return home if current_page and current_page != home else ""


def run_icon(options: RunOptions) -> str:
    """Return the icon of a run: that of a table, a report, its only source, or a question."""
    if options.table:
        return ":material/table_view:"
    if options.sections:
        return ":material/newspaper:"
    source = sources_by_name().get(options.sources[0]) if len(options.sources) == 1 else None
    has_icon = source is not None and source.icon in ALL_MATERIAL_ICONS
    return f":material/{source.icon}:" if source and has_icon else QUESTION_ICON


def select_run(run: Run) -> None:
    """Make a run the current run, in the URL and in the session."""
    set_query_param("run", run.id, "plan")
    st.session_state[_last_run_key()] = run.id


def open_run(run: Run) -> None:
    """Make a run the current run and draw the page again."""
    select_run(run)
    st.rerun()


def leave_run() -> None:
    """Leave the current run, so that the page shows its question form."""
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
    """Start a run and show it, or draw a message why it cannot be started."""
    with catch_start_errors():
        run = get_application().runs.start(
            question,
            options=options,
            owner=current_owner(),
            plan=plan,
            based_on=based_on_run_id,
            follows=follows_run_id,
        )
        st.session_state.pop("draft", None)
        open_run(run)


@contextmanager
def catch_start_errors() -> Iterator[None]:
    """Draw a message if the block could not start a run. The text of the question form is kept."""
    try:
        yield
    except RateLimitError as error:
        errors.draw_rate_limit_error(error)
    except QuestionError as error:
        length, limit = format_number(error.length), format_number(MAX_QUESTION_CHARS)
        st.error(t(f"problem.{error.problem}", length=length, limit=limit))


def draw_run_link(run_id: str, label: str, icon: str | None = None, page: str = "ask") -> None:
    """Draw a link to a run on a page; `label` is safe Markdown."""
    st.page_link(page_script(page), label=label, icon=icon, query_params=run_query_params(run_id))


def draw_status_badge(status: str) -> None:
    """Draw the status of a run; one of a later version is outside text."""
    st.badge(escape_markdown(value_label("run", status)), color=STATUS_COLORS.get(status, "orange"))
