"""What the desk does, what its signs mean, what leaves the machine, and what to do if something fails."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.help import leaving
from pages.run.support import accuracy
from pages.shared import guide, layout, login, tour
from pages.shared.words import lang, number, t
from research import application

SIGNS = {
    "quoted": "●",
    "supported": "●",
    "unclear": "◐",
    "unsupported": "×",
    "differs": ":orange[≠]",
    "none": "○",
}


def tell(topic: str) -> None:
    """What there is to say to a topic."""
    if special := SPECIAL.get(topic):
        special()
    else:
        st.markdown(guide.text(topic, lang()))


def support() -> None:
    st.markdown(t("guide.support"))
    signs = [
        f"{sign} **{t(f'standing.{status}')}**  {t(f'meaning.{status}')}"
        for status, sign in SIGNS.items()
    ]
    st.markdown("  \n".join(signs))  # a line each
    st.markdown(accuracy())


def places() -> None:
    st.markdown(t("guide.places"))
    ready = application.readiness(owner=login.owner())["places"]
    if ready.state != "live":
        st.caption(t("guide.places_add", name=ready.detail))
    elif left := application.quota(owner=login.owner()):
        st.caption(t("status.places_left", left=number(left[0]), limit=number(left[1])))


def privacy() -> None:
    st.markdown(t("guide.privacy"))
    st.markdown(leaving.told())
    st.markdown(t("leaves.never"))


def data() -> None:
    st.markdown(t("guide.data"))
    if login.setup().on:
        st.markdown(t("guide.shared"))
    else:
        st.caption(t("guide.folder"))
        st.code(str(application.desk().settings.data_dir), language=None, wrap_lines=True)


def keyboard() -> None:
    st.markdown(t("guide.keyboard"))
    st.dataframe(
        pd.DataFrame([(keys, t(word)) for keys, word in guide.KEYS], columns=["keys", "does"]),
        hide_index=True,
        alt=t("guide.keys_alt"),
        column_config={
            "keys": st.column_config.TextColumn(t("guide.key"), width="small"),
            "does": st.column_config.TextColumn(t("guide.does"), width="large"),
        },
    )


SPECIAL = {
    "support": support,
    "places": places,
    "privacy": privacy,
    "data": data,
    "keyboard": keyboard,
}


def draw(topic: str, opened: bool = False) -> None:
    """One topic; what is opened anew is another element than what a reader has closed."""
    key = f"topic_{topic}_{'open' if opened else 'shut'}"
    with st.expander(t(f"topic.{topic}"), expanded=opened, key=key):
        tell(topic)


def everything(but: str = "") -> None:
    for group, topics in guide.GROUPS.items():
        layout.section(t(f"group.{group}"))
        with st.container(gap="xsmall", key=f"group_{group}"):
            for topic in topics:
                if topic != but:
                    draw(topic)


with layout.column("help"):
    layout.header(t("help.title"), t("help.lead"))
    with st.container(horizontal=True, vertical_alignment="center"):
        wanted = st.text_input(
            t("help.search"),
            key="help_search",
            type="search",
            icon=":material/search:",
            placeholder=t("help.search_hint"),
            label_visibility="collapsed",
            live=True,
        )
        st.button(
            t("help.tour"), key="show_tour", on_click=tour.begin, type="tertiary",
            icon=":material/replay:",
        )  # fmt: skip
    topic = st.query_params.get("topic", "")
    if wanted and wanted.strip():
        hits = guide.found(wanted)
        st.caption(t("help.found", n=number(len(hits))) if hits else t("help.none"))
        for hit in hits:
            draw(hit, opened=True)
    else:
        if topic in guide.TOPICS:
            draw(topic, opened=True)
        everything(but=topic)
