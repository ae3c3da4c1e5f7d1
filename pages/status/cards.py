"""What works now, as a row of cards: each says in a sign, a word and a colour how it is, what it uses,
and what to add for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from pages.shared import errors
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import lang, number, source_name, t
from research import DatabaseSchema, ModelRole, Readiness, application

State = Literal["live", "sample", "offline", "missing"]
COLORS = {"live": "green", "sample": "orange", "offline": "orange", "missing": "red"}
SIGNS = {
    "live": ":material/check_circle:",
    "sample": ":material/inventory_2:",
    "offline": ":material/cloud_off:",
    "missing": ":material/error:",
}
# What to add where something is missing that is no source: with a key, and without one.
LINES: dict[str, tuple[str, str]] = {
    "web_off": ("", "export WEB_SEARCH=auto"),
    "models": ("export GEMINI_API_KEY=YOUR_KEY", "export ANSWER_MODEL=ollama:qwen3"),
}


SERVERS = {  # what a server of tools lacks in its file
    "mcp.json: search": "status.mcp_search",
    "mcp.json: tools": "status.mcp_tools",
}


@dataclass(frozen=True)
class Card:
    """A part of the desk: `uses` are words that are safe in Markdown, `add` a source or a key of
    `LINES`."""

    name: str
    state: State
    uses: str
    add: str = ""
    word: str = ""  # of the state, where it has a better one


def gathered(
    ready: dict[str, Readiness], schema: DatabaseSchema, models: Sequence[ModelRole],
    documents: tuple[int, int],
) -> list[Card]:  # fmt: skip
    """The cards of all parts. `documents` are the own ones and the samples."""
    found = [_source(name, one, schema, documents) for name, one in ready.items()]
    usable = [role for role in models if not role.lacks]
    names = " · ".join(dict.fromkeys(plain(role.model) for role in usable))
    if not usable and (services := application.services(owner=owner())).idle:
        lacks = ", ".join(map(plain, services.lacks))
        return [*found, Card("models", "missing", t("status.idle", setting=lacks))]
    state: State = "live" if usable else "missing"
    return [*found, Card("models", state, names or t("status.digest"), "" if usable else "models")]


def _source(
    name: str, ready: Readiness, schema: DatabaseSchema, documents: tuple[int, int]
) -> Card:
    live = ready.state == "live"
    if name == "web":
        off = ready.detail == "WEB_SEARCH"
        lacks = t("status.web_off") if off else t("status.nothing_asked")
        add = "" if live else "web_off" if off else "web"
        return Card(name, ready.state, _providers(ready.detail) if live else lacks, add)
    if name == "news":
        uses = _providers(ready.detail) if live else t("status.nothing_asked")
        return Card(name, ready.state, uses, "" if live else "news")
    if name == "papers":
        uses = _providers(ready.detail) if live else t("status.nothing_asked")
        return Card(name, ready.state, uses, "" if live else name)
    if name == "places":
        uses = {"live": _providers(ready.detail), "offline": t("source.offline")}
        told = uses.get(ready.state, t("status.places_missing"))
        return Card(name, ready.state, told, "" if live else "places")
    if name == "database":
        return _database(ready, schema)
    if name != "library":
        if ready.detail in SERVERS:
            return Card(name, ready.state, t(SERVERS[ready.detail]))
        set_here = ready.detail in {choice.name for choice in application.choices(owner=owner())}
        told = "" if set_here else plain(ready.detail)
        told = told or (t("status.nothing_asked") if ready.state == "missing" else "")
        if ready.withheld:
            told += "\n\n" + t("status.mcp_withheld", names=plain(ready.withheld))
        return Card(name, ready.state, told, "" if live else name)
    own, sample = documents
    uses = t("status.library", own=number(own), sample=number(sample))
    word = t("status.empty") if ready.state == "missing" else ""
    return Card(name, ready.state, uses, "" if live else "library", word)


def _database(ready: Readiness, schema: DatabaseSchema) -> Card:
    if schema.failure:
        why = t(f"reason.{schema.failure.reason}")
        return Card("database", "missing", why, "database", t("status.broken"))
    named = plain(schema.title) or t("database.shipped")
    uses = t("status.database", name=named, dialect=plain(schema.dialect), n=len(schema.tables))
    return Card("database", ready.state, uses, "" if schema.title else "database")


def _providers(names: str) -> str:
    return t("mark.list").join(plain(source_name(name)) for name in names.split(", "))


def sentence(cards: Sequence[Card]) -> str:
    """What works now, in one sentence."""
    by: dict[str, list[str]] = {}
    for card in cards:
        key = "sample" if card.state == "offline" else card.state
        by.setdefault(key, []).append(_title(card))
    parts = [
        t(f"status.now_{state}", names=t("mark.list").join(by[state]))
        for state in ("live", "sample", "missing")
        if state in by
    ]
    if lang() == "zh":
        return "；".join(parts) + "。"
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _title(card: Card) -> str:
    return plain(t(f"card.{card.name}"))


def _foreign(card: Card) -> bool:
    known = application.described()
    return card.name in known and known[card.name].foreign


def _icon(card: Card) -> str:
    known = application.described()
    return known[card.name].icon if card.name in known else "psychology"


def _lines(add: str) -> tuple[str, str]:
    """What to add: with a key, and without one where that is possible."""
    known = application.described()
    if add not in known:
        return LINES[add]
    unset = [f"export {one.name}=VALUE" for one in known[add].settings]
    return known[add].adds if not known[add].foreign else ("", "\n".join(unset))


def draw(cards: Sequence[Card], *, alone: bool) -> None:
    """The cards, three in a row. Only who runs the desk is told what to add."""
    for start in range(0, len(cards), 3):
        for place, card in zip(st.columns(3), cards[start : start + 3], strict=False):
            with (
                place,
                errors.row(),
                st.container(border=True, height="stretch", gap="small", key=f"card_{card.name}"),
            ):
                _draw(card, alone=alone)


def _draw(card: Card, *, alone: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/{_icon(card)}: **{_title(card)}**", width="stretch")
        word = card.word or t(f"status.{card.state}")
        st.badge(word, icon=SIGNS[card.state], color=COLORS[card.state])
    st.markdown(card.uses)
    if not card.add:
        return
    brings = t(f"status.brings_{card.add.removesuffix('_off')}")
    st.caption(plain(brings) if _foreign(card) else brings)
    if card.add == "library":
        st.page_link(script("library"), label=t("nav.library"), icon=":material/arrow_forward:")
    if not alone:
        return
    lines = [line for line in _lines(card.add) if line]
    settable = _settable()
    if any(_variable(line) in settable for line in lines):
        st.page_link(
            script("settings"), label=t("status.in_settings"), icon=":material/arrow_forward:"
        )
        return
    for line in lines:
        st.code(line, language="bash", wrap_lines=True)


def _variable(line: str) -> str:
    """The variable that a line of a shell sets."""
    return line.removeprefix("export ").partition("=")[0]


def _settable() -> set[str]:
    """What a person can set on the settings page."""
    keys = {state.name for state in application.key_states(owner=owner())}
    return keys | {choice.name for choice in application.choices(owner=owner())}
