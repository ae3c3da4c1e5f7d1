"""Runs first, whatever page is asked for: who it is, the language, the menu, the runs under way."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal
from urllib.parse import unquote, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared import errors, layout, login, tour, trouble, words
from pages.shared.files import ASSETS, script
from pages.shared.forms import NAMES
from pages.shared.safe import plain
from pages.shared.words import address, lang, number, t
from research import SettingError, StoreError, application

UNDER_WAY = 8  # runs in the sidebar, at most
LabelVisibility = Literal["visible", "collapsed"]


def page(name: str, title: str, icon: str, *, default: bool = False) -> st.Page:  # type: ignore[valid-type]
    path = "" if default else name
    return st.Page(script(name), title=title, icon=icon, url_path=path, default=default)


def menu() -> list[st.Page]:  # type: ignore[valid-type]
    return [
        page("ask", t("nav.ask"), ":material/search:", default=True),
        page("news", t("nav.news"), ":material/newspaper:"),
        page("tables", t("nav.tables"), ":material/table_view:"),
        page("places", t("nav.places"), ":material/map:"),
        page("database", t("nav.database"), ":material/database:"),
        page("library", t("nav.library"), ":material/library_books:"),
        page("history", t("nav.history"), ":material/history:"),
        page("settings", t("nav.settings"), ":material/tune:"),
        page("status", t("nav.status"), ":material/monitor_heart:"),
        page("help", t("nav.help"), ":material/help:"),
    ]


def sidebar(owner: str) -> None:
    with st.sidebar:
        active = [
            run
            for run in application.recent(owner=owner, limit=50)
            if run.active or run.status == "waiting"
        ]
        if active:
            st.caption(t("nav.active"))
            for run in active[:UNDER_WAY]:
                with errors.row():
                    st.page_link(
                        script("ask"),
                        label=plain(run.question, 15 if lang() == "zh" else 28),
                        icon=":material/pending:",
                        query_params=address(run.id),
                    )
            if len(active) > UNDER_WAY:
                rest = f"+ {number(len(active) - UNDER_WAY)} · {t('nav.history')}"
                st.page_link(script("history"), label=rest)


def refused_keys(owner: str) -> None:
    """Warn of keys in use that their services refused when they were tested."""
    if names := [state.name for state in application.key_states(owner=owner) if state.refused]:
        with st.sidebar:
            st.warning(
                t("nav.refused", names=", ".join(map(plain, names))), icon=":material/block:"
            )
            st.page_link(script("settings"), label=t("nav.settings"), icon=":material/tune:")


def preferred(owner: str) -> words.Lang:
    """The language that somebody has chosen once; the browser's is only the default."""
    try:
        known = application.preferences(owner=owner).get("language") if owner else None
    except (StoreError, SettingError):  # the page says so
        known = None
    return known if known in ("zh", "en") else words.browser_lang()  # type: ignore[return-value]


def remember(owner: str) -> None:
    """Notes the language that somebody has switched to."""
    with suppress(StoreError, SettingError):
        application.prefer("language", st.session_state.lang, owner=owner)


def language(place: DeltaGenerator, owner: str = "", label: LabelVisibility = "visible") -> None:
    """The switch. A language that is not the browser's is part of every page's address."""
    asked = st.query_params.get("lang")
    if "lang" not in st.session_state:
        st.session_state.lang = asked if asked in ("zh", "en") else preferred(owner)
    with place, st.container(key=f"tongue_{st.session_state.lang}"):
        st.segmented_control(
            t("nav.language"),
            ["zh", "en"],
            format_func=NAMES.__getitem__,
            key="lang",
            required=True,
            label_visibility=label,
            on_change=remember if owner else None,
            args=(owner,),
        )
    if st.session_state.lang != (asked or words.browser_lang()):
        st.query_params["lang"] = st.session_state.lang


def astray(pages: list[st.Page]) -> list[st.Page]:  # type: ignore[valid-type]
    """A page for the path that was asked for, if it is that of none: it says so. Streamlit itself
    would draw the first page there, below a dialog in English."""
    own = str(st.get_option("server.baseUrlPath")).strip("/")
    path = unquote(urlsplit(st.context.url or "").path).strip("/")
    asked = path.removeprefix(own).rpartition("/")[2].strip()
    known = {"", "ask", *(page.url_path for page in pages)}
    if asked in known:
        return []
    return [st.Page(nowhere, title=t("nowhere.title"), url_path=asked, visibility="hidden")]


def nowhere() -> None:
    """What is drawn at an address without a page."""
    layout.header(t("nowhere.title"), t("nowhere.lead"))
    st.page_link(script("ask"), label=t("nowhere.ask"), icon=":material/search:")


def outside(state: login.Login, found: login.Person) -> None:
    """What those see who are not in: no menu, no runs, no page."""
    login.settle("")
    pages = menu()
    st.navigation([*pages, *astray(pages)], position="hidden")
    card = login.card()
    foot = st.container(horizontal_alignment="center")
    language(foot, label="collapsed")
    login.draw(card, state, found)


def unknown(problem: StoreError | SettingError) -> None:
    """The page while the record of ended sign-ins cannot be read, so that nobody can be let in."""
    login.settle("")
    pages = menu()
    st.navigation([*pages, *astray(pages)], position="hidden")
    trouble.draw(problem)
    language(st.container(), label="collapsed")


def inside(owner: str, found: login.Person | None) -> None:
    """The page that is asked for, as its visitor may see it."""
    login.settle(owner)
    language(st.sidebar, owner)
    pages = menu()
    page = st.navigation([*pages, *astray(pages)])
    if found:
        login.draw_sidebar(found)
    try:
        application.desk()
        sidebar(owner)
        refused_keys(owner)
        tour.welcome(owner, first=page is pages[0])
        page.run()
    except (StoreError, SettingError) as problem:
        trouble.draw(problem)


st.set_page_config(
    page_title="Sightline",
    page_icon=(ASSETS / "icon.svg").read_text("utf-8"),
    layout="wide",
)
st.logo(str(ASSETS / "logo.svg"), size="large")
state = login.setup()
if state.on:
    try:
        found = login.visitor()
    except (StoreError, SettingError) as problem:
        unknown(problem)
    else:
        if state.problem or not found.owner:
            outside(state, found)
        else:
            inside(found.owner, found)
else:
    inside(login.LOCAL, None)
