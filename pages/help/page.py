"""Help page: topics on features, status signs, data flows and troubleshooting."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.help import data_flows
from pages.run import support_texts
from pages.shared import help_topics, layout, login, tour
from pages.shared.localization import current_language, format_number, t
from research import get_application

STATUS_SYMBOLS = support_texts.STATUS_SYMBOLS | {"differs": ":orange[≠]"}


def draw_topic_text(topic: str) -> None:
    """Draw the text of a topic, by its own renderer if it has one."""
    if renderer := TOPIC_RENDERERS.get(topic):
        renderer()
    else:
        st.markdown(help_topics.topic_text(topic, current_language()))


def draw_support() -> None:
    st.markdown(t("guide.support"))
    lines = [
        f"{symbol} **{t(f'standing.{status}')}**  {t(f'meaning.{status}')}" for status, symbol in STATUS_SYMBOLS.items()
    ]
    st.markdown("  \n".join(lines))
    st.markdown(support_texts.accuracy_text())


def draw_places() -> None:
    st.markdown(t("guide.places"))
    ready = get_application().readiness(owner=login.current_owner())["places"]
    if ready.state != "live":
        st.caption(t("guide.places_add", name=ready.detail))
    elif quota := get_application().places.searches_left(owner=login.current_owner()):
        st.caption(t("status.places_left", left=format_number(quota[0]), limit=format_number(quota[1])))


def draw_privacy() -> None:
    st.markdown(t("guide.privacy"))
    st.markdown(data_flows.describe_data_flows())
    st.markdown(t("leaves.never"))


def draw_data() -> None:
    st.markdown(t("guide.data"))
    if login.read_config().is_required:
        st.markdown(t("guide.shared"))
    else:
        st.caption(t("guide.folder"))
        st.code(str(get_application().settings.data_dir), language=None, wrap_lines=True)


def draw_keyboard() -> None:
    st.markdown(t("guide.keyboard"))
    st.dataframe(
        pd.DataFrame([(keys, t(word)) for keys, word in help_topics.KEYBOARD_SHORTCUTS], columns=["keys", "does"]),
        hide_index=True,
        alt=t("guide.keys_alt"),
        column_config={
            "keys": st.column_config.TextColumn(t("guide.key"), width="small"),
            "does": st.column_config.TextColumn(t("guide.does"), width="large"),
        },
    )


TOPIC_RENDERERS = {
    "support": draw_support,
    "places": draw_places,
    "privacy": draw_privacy,
    "data": draw_data,
    "keyboard": draw_keyboard,
}


def draw_topic(topic: str, is_expanded: bool = False) -> None:
    """Draw a topic in an expander.

    The key depends on `is_expanded`, so that an expander closed by the reader can be reopened.
    """
    key = f"topic_{topic}_{'open' if is_expanded else 'shut'}"
    with st.expander(t(f"topic.{topic}"), expanded=is_expanded, key=key):
        draw_topic_text(topic)


def draw_all_topics(excluded_topic: str = "") -> None:
    for group, topics in help_topics.TOPIC_GROUPS.items():
        layout.draw_section_title(t(f"group.{group}"))
        with st.container(gap="xsmall", key=f"group_{group}"):
            for topic in topics:
                if topic != excluded_topic:
                    draw_topic(topic)


with layout.centered_column("help"):
    layout.draw_header(t("help.title"), t("help.lead"))
    with st.container(horizontal=True, vertical_alignment="center"):
        query = st.text_input(
            t("help.search"),
            key="help_search",
            type="search",
            icon=":material/search:",
            placeholder=t("help.search_hint"),
            label_visibility="collapsed",
            live=True,
        )
        st.button(t("help.tour"), key="show_tour", on_click=tour.start_tour, type="tertiary", icon=":material/replay:")
    topic = st.query_params.get("topic", "")
    if query and query.strip():
        hits = help_topics.search_topics(query)
        st.caption(t("help.found", n=format_number(len(hits))) if hits else t("help.none"))
        for hit in hits:
            draw_topic(hit, is_expanded=True)
    else:
        if topic in help_topics.TOPICS:
            draw_topic(topic, is_expanded=True)
        draw_all_topics(excluded_topic=topic)
