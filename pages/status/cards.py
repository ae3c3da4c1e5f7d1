"""Status cards, one per part of the application: state, what it uses, and what to add for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from pages.shared import errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, join_source_names, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import DatabaseSchema, ModelRole, Readiness, get_application, sources_by_name

CardState = Literal["live", "sample", "offline", "missing"]
STATE_COLORS = {"live": "green", "sample": "orange", "offline": "orange", "missing": "red"}
STATE_ICONS = {
    "live": ":material/check_circle:",
    "sample": ":material/inventory_2:",
    "offline": ":material/cloud_off:",
    "missing": ":material/error:",
}
# Set-up commands of parts that are no source: one with a key, one without.
SETUP_COMMANDS: dict[str, tuple[str, str]] = {
    "web_off": ("", "export WEB_SEARCH=auto"),
    "models": ("export GEMINI_API_KEY=YOUR_KEY", "export ANSWER_MODEL=ollama:qwen3"),
}
SERVICE_SOURCES = ("web", "news", "papers", "places")  # searched through the services that are set up
SERVER_DETAIL_MESSAGES = {  # message key by the part of mcp.json that a tool server lacks
    "mcp.json: search": "status.mcp_search",
    "mcp.json: tools": "status.mcp_tools",
}


@dataclass(frozen=True)
class Card:
    """State of one part of the application.

    `description` is safe Markdown. `setup_name` is a source or a key of `SETUP_COMMANDS`, or "" if
    nothing needs to be added.
    """

    name: str
    state: CardState
    description: str
    setup_name: str = ""
    state_label: str = ""  # replaces the usual label of the state


def build_cards(
    readiness: dict[str, Readiness],
    schema: DatabaseSchema,
    models: Sequence[ModelRole],
    documents: tuple[int, int],
) -> list[Card]:
    """Build the cards of all parts. `documents` are the counts of own and sample documents."""
    cards = [_source_card(name, entry, schema, documents) for name, entry in readiness.items()]
    usable = [role for role in models if not role.missing_setting]
    names = " · ".join(dict.fromkeys(escape_markdown(role.model) for role in usable))
    if not usable and (services := get_application().services_for(current_owner())).has_idle_model:
        missing = ", ".join(map(escape_markdown, services.missing_settings))
        return [*cards, Card("models", "missing", t("status.idle", setting=missing))]
    state: CardState = "live" if usable else "missing"
    return [*cards, Card("models", state, names or t("status.digest"), "" if usable else "models")]


def _source_card(name: str, readiness: Readiness, schema: DatabaseSchema, documents: tuple[int, int]) -> Card:
    setup_name = "" if readiness.state == "live" else name
    if name == "database":
        return _database_card(readiness, schema)
    if name == "library":
        own_count, sample_count = documents
        uses = t("status.library", own=format_number(own_count), sample=format_number(sample_count))
        label = t("status.empty") if readiness.state == "missing" else ""
        return Card(name, readiness.state, uses, setup_name, label)
    if name not in SERVICE_SOURCES:
        return _other_source_card(name, readiness, setup_name)
    if readiness.state == "live":
        return Card(name, readiness.state, join_source_names(readiness.detail))
    if name == "places":
        uses = t("source.offline") if readiness.state == "offline" else t("status.places_missing")
        return Card(name, readiness.state, uses, setup_name)
    if readiness.detail == "WEB_SEARCH":
        return Card(name, readiness.state, t("status.web_off"), "web_off")
    return Card(name, readiness.state, t("status.nothing_asked"), setup_name)


def _other_source_card(name: str, readiness: Readiness, setup_name: str) -> Card:
    """Build the card of a tool server, or of a source that is switched on by settings."""
    if readiness.detail in SERVER_DETAIL_MESSAGES:
        return Card(name, readiness.state, t(SERVER_DETAIL_MESSAGES[readiness.detail]))
    is_settable_here = readiness.detail in {
        choice.name for choice in get_application().preferences.choices(owner=current_owner())
    }
    description = "" if is_settable_here else escape_markdown(readiness.detail)
    description = description or (t("status.nothing_asked") if readiness.state == "missing" else "")
    if readiness.withheld:
        description += "\n\n" + t("status.mcp_withheld", names=escape_markdown(readiness.withheld))
    return Card(name, readiness.state, description, setup_name)


def _database_card(readiness: Readiness, schema: DatabaseSchema) -> Card:
    if schema.failure:
        reason = t(f"reason.{schema.failure.reason}")
        return Card("database", "missing", reason, "database", t("status.broken"))
    title = escape_markdown(schema.title) or t("database.shipped")
    uses = t("status.database", name=title, dialect=escape_markdown(schema.dialect), n=len(schema.tables))
    return Card("database", readiness.state, uses, "" if schema.title else "database")


def summary_sentence(cards: Sequence[Card]) -> str:
    """Summarize which parts are live, use samples or are missing."""
    titles: dict[str, list[str]] = {}
    for card in cards:
        key = "sample" if card.state == "offline" else card.state
        titles.setdefault(key, []).append(_card_title(card))
    parts = [
        t(f"status.now_{state}", names=t("mark.list").join(titles[state]))
        for state in ("live", "sample", "missing")
        if state in titles
    ]
    if current_language() == "zh":
        return "；".join(parts) + "。"
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _card_title(card: Card) -> str:
    return escape_markdown(t(f"card.{card.name}"))


def _setup_commands(setup_name: str) -> tuple[str, ...]:
    """Return the commands that set up a part: with a key, without one, or both."""
    source = sources_by_name().get(setup_name)
    if source is None:
        commands = SETUP_COMMANDS[setup_name]
    elif source.is_external:
        commands = tuple(f"export {setting.name}=VALUE" for setting in source.settings)
    else:
        commands = source.setup_commands
    return tuple(filter(None, commands))


def draw(cards: Sequence[Card], *, is_local: bool) -> None:
    """Draw the cards, three in a row. Only a local user sees set-up commands."""
    for start in range(0, len(cards), 3):
        for column, card in zip(st.columns(3), cards[start : start + 3], strict=False):
            with (
                column,
                errors.catch_row_errors(),
                st.container(border=True, height="stretch", gap="small", key=f"card_{card.name}"),
            ):
                _draw_card(card, is_local=is_local)


def _draw_card(card: Card, *, is_local: bool) -> None:
    source = sources_by_name().get(card.name)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        icon = source.icon if source else "psychology"
        st.markdown(f":material/{icon}: **{_card_title(card)}**", width="stretch")
        label = card.state_label or t(f"status.{card.state}")
        st.badge(label, icon=STATE_ICONS[card.state], color=STATE_COLORS[card.state])
    st.markdown(card.description)
    if not card.setup_name:
        return
    benefit_text = t(f"status.brings_{card.setup_name.removesuffix('_off')}")
    st.caption(escape_markdown(benefit_text) if source and source.is_external else benefit_text)
    if card.setup_name == "library":
        st.page_link(page_script("library"), label=t("nav.library"), icon=":material/arrow_forward:")
    if not is_local:
        return
    commands = _setup_commands(card.setup_name)
    keys = {state.name for state in get_application().preferences.key_statuses(owner=current_owner())}
    settable = keys | {choice.name for choice in get_application().preferences.choices(owner=current_owner())}
    if any(_variable_name(command) in settable for command in commands):
        st.page_link(page_script("settings"), label=t("status.in_settings"), icon=":material/arrow_forward:")
        return
    for command in commands:
        st.code(command, language="bash", wrap_lines=True)


def _variable_name(command: str) -> str:
    """Return the variable that an `export` command sets."""
    return command.removeprefix("export ").partition("=")[0]
