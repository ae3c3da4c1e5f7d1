"""The help: its topics, the keys that work, and the ways to it from other pages."""

from __future__ import annotations

from itertools import pairwise

import streamlit as st

from pages.shared import words
from pages.shared.files import script
from pages.shared.words import Lang, lang, t
from research import SUFFIXES, message

GROUPS = {
    "ask": ("what", "asking", "running", "follow"),
    "trust": ("digest", "citation", "support", "conflicts"),
    "look": ("news", "tables", "places", "database", "library"),
    "yours": ("privacy", "data", "export", "costs", "keyboard", "trouble"),
}
TOPICS = tuple(topic for topics in GROUPS.values() for topic in topics)
REASONS = {  # of failures that the topic of troubles explains
    "lacking": "no key",
    "refused": "refused",
    "outage": "unreachable",
    "timeout": "timeout",
    "quota": "quota",
    "empty": "empty",
    "internal": "internal",
}
KEYS = (  # what is pressed, and the word that says what it does
    ("/", "key.focus"),
    ("Enter", "key.send"),
    ("Shift + Enter", "key.line"),
    ("Tab", "key.next"),
    ("Shift + Tab", "key.back"),
    ("Enter", "key.open"),
    ("Escape", "key.close"),
    ("↑  ↓", "key.list"),
)


def text(topic: str, language: Lang) -> str:
    """The text of a topic, with the values that it takes."""
    values = {}
    if topic == "library":
        values = {"kinds": ", ".join(sorted(suffix.removeprefix(".") for suffix in SUFFIXES))}
    if topic == "trouble":
        values = {name: message(f"reason.{why}", language) for name, why in REASONS.items()}
    return message(f"guide.{topic}", language, **values)


def link(topic: str, label: str = "") -> None:
    """A small way to one topic of the help; `label` is in the visitor's language, and is its title
    if there is none."""
    language = {"lang": lang()} if lang() != words.browser_lang() else {}
    st.page_link(
        script("help"),
        label=label or t(f"topic.{topic}"),
        icon=":material/help:",
        query_params={"topic": topic, **language},
    )


def checked() -> None:
    """The way to what the signs behind sentences mean."""
    link("support", t("help.how"))


def found(wanted: str) -> tuple[str, ...]:
    """The topics that have every word of what is wanted, in either language; those of a Chinese
    phrase that stands nowhere as it is have one pair of its characters."""
    parts = wanted.casefold().split()
    every = tuple(topic for topic in TOPICS if all(part in _text(topic) for part in parts))
    pairs = {a + b for part in parts for a, b in pairwise(part) if _han(a) and _han(b)}
    return every or tuple(topic for topic in TOPICS if any(pair in _text(topic) for pair in pairs))


def _text(topic: str) -> str:
    languages: tuple[Lang, ...] = ("zh", "en")
    titles = [message(f"topic.{topic}", language) for language in languages]
    return " ".join([topic, *titles, *(text(topic, each) for each in languages)]).casefold()


def _han(letter: str) -> bool:
    return "\u4e00" <= letter <= "\u9fff"
