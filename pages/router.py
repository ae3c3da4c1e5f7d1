"""Runs first, whatever page is asked for: the language, the menu, the runs under way."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import trouble, words
from pages.parts.safe import plain
from pages.parts.words import lang, t
from research import SettingError, StoreError, runs

PAGES = Path(__file__).resolve().parent


def menu() -> list[st.Page]:  # type: ignore[valid-type]
    return [
        st.Page(PAGES / "ask.py", title=t("nav.ask"), icon=":material/search:", default=True),
        st.Page(PAGES / "places.py", title=t("nav.places"), icon=":material/map:"),
        st.Page(PAGES / "library.py", title=t("nav.library"), icon=":material/library_books:"),
        st.Page(PAGES / "history.py", title=t("nav.history"), icon=":material/history:"),
        st.Page(PAGES / "status.py", title=t("nav.status"), icon=":material/monitor_heart:"),
    ]


def sidebar() -> None:
    with st.sidebar:
        active = [
            run
            for run in runs.list(owner=st.session_state.owner, limit=50)
            if run.active or run.status == "waiting"
        ]
        if active:
            st.caption(t("nav.active"))
            for run in active:
                st.page_link(
                    PAGES / "ask.py",
                    label=plain(run.question, 15 if lang() == "zh" else 28),
                    icon=":material/pending:",
                    query_params={"run": run.id},
                )


def language() -> None:
    """The switch. A language that is not the browser's is part of every page's address."""
    asked = st.query_params.get("lang")
    if "lang" not in st.session_state:
        st.session_state.lang = asked if asked in ("zh", "en") else words.browser_lang()
    with st.sidebar:
        st.segmented_control(
            t("nav.language"),
            ["zh", "en"],
            format_func={"zh": "中文", "en": "English"}.__getitem__,
            key="lang",
            required=True,
        )
    if st.session_state.lang != (asked or words.browser_lang()):
        st.query_params["lang"] = st.session_state.lang


st.set_page_config(page_title="Sightline", page_icon="🔎", layout="wide")
st.logo(str(PAGES / "assets" / "logo.svg"), size="large")
st.session_state.setdefault("owner", "local")
language()
page = st.navigation(menu())
try:
    runs.desk()
    sidebar()
    page.run()
except (StoreError, SettingError) as problem:
    trouble.draw(problem)
