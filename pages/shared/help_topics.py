"""The help: its topics, the keys that work, and the ways to it from other pages."""

from __future__ import annotations

from itertools import pairwise

import streamlit as st

from pages.shared import localization
from pages.shared.localization import Language, current_language, t
from pages.shared.paths import page_script
from research import SUFFIXES, message

TOPIC_GROUPS = {
    "ask": ("what", "asking", "running", "follow"),
    "trust": ("digest", "citation", "support", "conflicts"),
    "look": ("news", "tables", "places", "database", "library"),
    "yours": ("privacy", "data", "export", "costs", "keyboard", "trouble"),
}
TOPICS = tuple(topic for topics in TOPIC_GROUPS.values() for topic in topics)
FAILURE_REASONS = {  # of failures that the topic of troubles explains
    "lacking": "no key",
    "refused": "refused",
    "outage": "unreachable",
    "timeout": "timeout",
    "quota": "quota",
    "empty": "empty",
    "internal": "internal",
}
KEYBOARD_SHORTCUTS = (  # what is pressed, and the word that says what it does
    ("/", "key.focus"),
    ("Enter", "key.send"),
    ("Shift + Enter", "key.line"),
    ("Tab", "key.next"),
    ("Shift + Tab", "key.back"),
    ("Enter", "key.open"),
    ("Escape", "key.close"),
    ("↑  ↓", "key.list"),
)


def topic_text(topic: str, language: Language) -> str:
    """The text of a topic, with the values that it takes."""
    values = {}
    if topic == "library":
        values = {"kinds": ", ".join(sorted(suffix.removeprefix(".") for suffix in SUFFIXES))}
    if topic == "trouble":
        values = {name: message(f"reason.{why}", language) for name, why in FAILURE_REASONS.items()}
    return message(f"guide.{topic}", language, **values)


def draw_topic_link(topic: str, label: str = "") -> None:
    """A small way to one topic of the help; `label` is in the visitor's language, and is its title
    if there is none."""
    language = {"lang": current_language()} if current_language() != localization.browser_language() else {}
    st.page_link(
        page_script("help"),
        label=label or t(f"topic.{topic}"),
        icon=":material/help:",
        query_params={"topic": topic, **language},
    )


def draw_support_link() -> None:
    """The way to what the signs behind sentences mean."""
    draw_topic_link("support", t("help.how"))


def search_topics(query: str) -> tuple[str, ...]:
    """The topics that have every word of what is wanted, in either language; those of a Chinese
    phrase that stands nowhere as it is have one pair of its characters."""
    parts = query.casefold().split()
    every = tuple(topic for topic in TOPICS if all(part in _searchable_text(topic) for part in parts))
    pairs = {
        a + b for part in parts for a, b in pairwise(part) if _is_chinese_character(a) and _is_chinese_character(b)
    }
    return every or tuple(topic for topic in TOPICS if any(pair in _searchable_text(topic) for pair in pairs))


def _searchable_text(topic: str) -> str:
    languages: tuple[Language, ...] = ("zh", "en")
    titles = [message(f"topic.{topic}", language) for language in languages]
    return " ".join([topic, *titles, *(topic_text(topic, each) for each in languages)]).casefold()


def _is_chinese_character(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"
