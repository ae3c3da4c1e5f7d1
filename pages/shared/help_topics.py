"""The help: its topics, keyboard shortcuts, and links to it from other pages."""

from __future__ import annotations

from itertools import pairwise

import streamlit as st

from pages.shared.localization import Language, language_params, t
from pages.shared.paths import page_script
from research import SUFFIXES, message

TOPIC_GROUPS = {
    "ask": ("what", "asking", "running", "follow"),
    "trust": ("digest", "citation", "support", "conflicts"),
    "look": ("news", "tables", "places", "database", "library"),
    "yours": ("privacy", "data", "export", "costs", "keyboard", "trouble"),
}
TOPICS = tuple(topic for topics in TOPIC_GROUPS.values() for topic in topics)
FAILURE_REASONS = {  # placeholders of the topic "trouble" and the failure reasons that they name
    "lacking": "no key",
    "refused": "refused",
    "outage": "unreachable",
    "timeout": "timeout",
    "quota": "quota",
    "empty": "empty",
    "internal": "internal",
}
KEYBOARD_SHORTCUTS = (  # keys and the message key of their description
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
    """Return the Markdown text of a help topic with its values filled in."""
    values = {}
    if topic == "library":
        values = {"kinds": ", ".join(sorted(suffix.removeprefix(".") for suffix in SUFFIXES))}
    if topic == "trouble":
        values = {name: message(f"reason.{why}", language) for name, why in FAILURE_REASONS.items()}
    return message(f"guide.{topic}", language, **values)


def draw_topic_link(topic: str, label: str = "") -> None:
    """Draw a small link to a help topic.

    `label` is already translated; the default is the topic's title.
    """
    st.page_link(
        page_script("help"),
        label=label or t(f"topic.{topic}"),
        icon=":material/help:",
        query_params={"topic": topic} | language_params(),
    )


def search_topics(query: str) -> tuple[str, ...]:
    """Return the topics that contain every word of a query in either language.

    Without any, return the topics that contain a pair of adjacent Chinese characters of the query.
    """
    words = query.casefold().split()
    exact_matches = tuple(topic for topic in TOPICS if all(word in _searchable_text(topic) for word in words))
    pairs = {
        a + b for word in words for a, b in pairwise(word) if _is_chinese_character(a) and _is_chinese_character(b)
    }
    return exact_matches or tuple(topic for topic in TOPICS if any(pair in _searchable_text(topic) for pair in pairs))


def _searchable_text(topic: str) -> str:
    languages: tuple[Language, ...] = ("zh", "en")
    titles = [message(f"topic.{topic}", language) for language in languages]
    return " ".join([topic, *titles, *(topic_text(topic, each) for each in languages)]).casefold()


def _is_chinese_character(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"
