"""Entry script of every page: sign-in, language, menu, active runs, then the requested page."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal
from urllib.parse import unquote, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared import errors, layout, localization, login, run_navigation, storage_errors, tour
from pages.shared.escaping import escape_markdown
from pages.shared.locale_format import LANGUAGE_NAMES
from pages.shared.localization import current_language, format_number, t
from pages.shared.paths import ASSETS_FOLDER, base_path, page_script
from research import SettingError, StoreError, get_application

MAX_ACTIVE_RUNS = 8  # in the sidebar
DEFAULT_PAGE = "ask"
PAGE_ICONS = {
    "ask": "search",
    "news": "newspaper",
    "tables": "table_view",
    "places": "map",
    "database": "database",
    "library": "library_books",
    "history": "history",
    "settings": "tune",
    "status": "monitor_heart",
    "help": "help",
}
LabelVisibility = Literal["visible", "collapsed"]


def create_pages() -> list[st.Page]:  # type: ignore[valid-type]
    """Return the pages in the order of the menu. The first is the default page."""
    return [
        st.Page(
            page_script(name),
            title=t(f"nav.{name}"),
            icon=f":material/{icon}:",
            url_path="" if name == DEFAULT_PAGE else name,
            default=name == DEFAULT_PAGE,
        )
        for name, icon in PAGE_ICONS.items()
    ]


def draw_active_runs(owner: str) -> None:
    """Draw links to the active and waiting runs of an owner in the sidebar."""
    with st.sidebar:
        active = [
            run
            for run in get_application().runs.recent_runs(owner=owner, limit=50)
            if run.is_active or run.status == "waiting"
        ]
        if active:
            st.caption(t("nav.active"))
            for run in active[:MAX_ACTIVE_RUNS]:
                with errors.catch_row_errors():
                    question = escape_markdown(run.question, 15 if current_language() == "zh" else 28)
                    run_navigation.draw_run_link(run.id, question, ":material/pending:")
            if len(active) > MAX_ACTIVE_RUNS:
                rest = f"+ {format_number(len(active) - MAX_ACTIVE_RUNS)} · {t('nav.history')}"
                st.page_link(page_script("history"), label=rest)


def draw_key_warning(owner: str) -> None:
    """Warn about keys that their services refused in the last test."""
    if names := [state.name for state in get_application().preferences.key_statuses(owner=owner) if state.is_refused]:
        with st.sidebar:
            st.warning(t("nav.refused", names=", ".join(map(escape_markdown, names))), icon=":material/block:")
            st.page_link(page_script("settings"), label=t("nav.settings"), icon=":material/tune:")


def preferred_language(owner: str) -> localization.Language:
    """Return the stored language of an owner, or else that of the browser."""
    try:
        language = get_application().store.preferences(owner).get("language") if owner else None
    except (StoreError, SettingError):  # the page reports the error
        language = None
    return language if language in ("zh", "en") else localization.browser_language()  # type: ignore[return-value]


def remember_language(owner: str) -> None:
    """Store the selected language as the preference of an owner."""
    with suppress(StoreError, SettingError):
        get_application().store.set_preference(owner, "language", st.session_state.lang)


def draw_language_switch(
    container: DeltaGenerator, owner: str = "", label_visibility: LabelVisibility = "visible"
) -> None:
    """Draw the language switch, and put a language other than the browser's into the address."""
    requested = st.query_params.get("lang")
    if "lang" not in st.session_state:
        st.session_state.lang = requested if requested in ("zh", "en") else preferred_language(owner)
    with container, st.container(key=f"language_{st.session_state.lang}"):
        st.segmented_control(
            t("nav.language"),
            ["zh", "en"],
            format_func=LANGUAGE_NAMES.__getitem__,
            key="lang",
            required=True,
            label_visibility=label_visibility,
            on_change=remember_language if owner else None,
            args=(owner,),
        )
    if st.session_state.lang != (requested or localization.browser_language()):
        st.query_params["lang"] = st.session_state.lang


def not_found_pages(pages: list[st.Page]) -> list[st.Page]:  # type: ignore[valid-type]
    """Return a hidden "not found" page for the requested path if no page has that path.

    Streamlit itself would draw the first page there, below a dialog in English.
    """
    path = unquote(urlsplit(st.context.url or "").path).rstrip("/")
    requested = path.removeprefix(base_path()).rpartition("/")[2].strip()
    known = {"", "ask", *(page.url_path for page in pages)}
    if requested in known:
        return []
    return [st.Page(draw_not_found, title=t("nowhere.title"), url_path=requested, visibility="hidden")]


def create_navigation(position: Literal["sidebar", "hidden"]) -> st.Page:  # type: ignore[valid-type]
    """Create the menu. Return the requested page."""
    pages = create_pages()
    return st.navigation([*pages, *not_found_pages(pages)], position=position)


def draw_not_found() -> None:
    """Draw the page of an address that does not exist."""
    layout.draw_header(t("nowhere.title"), t("nowhere.lead"))
    st.page_link(page_script("ask"), label=t("nowhere.ask"), icon=":material/search:")


def draw_signed_out(config: login.LoginConfig, visitor: login.Visitor) -> None:
    """Draw the sign-in card without menu, runs or page."""
    login.set_session_owner("")
    create_navigation("hidden")
    card = login.create_card()
    foot = st.container(horizontal_alignment="center")
    draw_language_switch(foot, label_visibility="collapsed")
    login.draw(card, config, visitor)


def draw_sign_in_error(error: StoreError | SettingError) -> None:
    """Draw the error shown while the record of ended sign-ins cannot be read and admits nobody."""
    login.set_session_owner("")
    create_navigation("hidden")
    storage_errors.draw(error)
    draw_language_switch(st.container(), label_visibility="collapsed")


def draw_signed_in(owner: str, visitor: login.Visitor | None) -> None:
    """Draw the sidebar and the requested page. `visitor` is None without a login."""
    login.set_session_owner(owner)
    draw_language_switch(st.sidebar, owner)
    page = create_navigation("sidebar")
    if visitor:
        login.draw_visitor(visitor)
    try:
        get_application()
        draw_active_runs(owner)
        draw_key_warning(owner)
        tour.draw_tour(owner, is_default_page=page.url_path == "")
        page.run()
    except (StoreError, SettingError) as problem:
        storage_errors.draw(problem)


st.set_page_config(
    page_title="Sightline",
    page_icon=(ASSETS_FOLDER / "icon.svg").read_text("utf-8"),
    layout="wide",
)
st.logo(str(ASSETS_FOLDER / "logo.svg"), size="large")
login_config = login.read_config()
if login_config.is_required:
    try:
        browser_visitor = login.current_visitor()
    except (StoreError, SettingError) as problem:
        draw_sign_in_error(problem)
    else:
        if login_config.problem or not browser_visitor.owner:
            draw_signed_out(login_config, browser_visitor)
        else:
            draw_signed_in(browser_visitor.owner, browser_visitor)
else:
    draw_signed_in(login.LOCAL_OWNER, None)
