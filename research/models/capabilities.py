"""The ways to ask a server for what it may not take: JSON in a form, the count of a stream's tokens, a
level of thinking, pages to open."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from research.core.providers import Provider
from research.core.records import Stage
from research.core.settings import Role, Settings
from research.models.roles import Spec

FORMS = ("schema", "object", "words")
THINKING, PAGES = "thinking", "pages"  # what a model may not take
_THINKING = re.compile(
    r"thinking.?(?:level|config|budget)", re.I
)  # names of models have "thinking"
_ROLES: dict[Stage, Role] = {
    "plan": "plan", "search": "search", "summarise": "search", "reflect": "reflect", "check": "reflect",
    "write": "write",
}  # fmt: skip


@dataclass
class Ways:
    """How a server lets itself be asked; what it has refused is gone from then on."""

    forms: tuple[str, ...] = FORMS  # of asking for JSON, the best first
    counted: bool = True  # streams are asked for the number of their tokens


def level(spec: Spec, settings: Settings, stage: Stage) -> str:
    """How much a model is to think at a stage; "" if nothing is said of it."""
    return settings.thinking(_ROLES[stage]) if spec.wire == "gemini" else ""


def at_level(wanted: str) -> dict[str, Any]:
    """What a request for a level carries."""
    return {"thinking_level": wanted}


def blamed(message: str, extras: Container[str]) -> str:
    """Which of the `extras` of a call a refusal is about: thinking if it names that, else pages; "" if
    there was none such."""
    if _THINKING.search(message):
        return THINKING if THINKING in extras else ""
    return PAGES if PAGES in extras else ""


def ways(server: Provider) -> Ways:
    """The ways that a server is known to take."""
    return Ways(FORMS[FORMS.index(server.form) :], server.counted)


def bound(spec: Spec, form: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a request for JSON carries. `extra_body` goes to the server as it is: LangChain's own
    parameter would turn a cut answer into an exception without the text and the count of tokens.
    """
    if form == "words":
        return {}
    if spec.wire == "gemini":
        wish: dict[str, Any] = {"response_mime_type": "application/json"}
        return {**wish, "response_json_schema": schema} if form == "schema" else wish
    if spec.wire == "ollama":
        return {"format": schema if form == "schema" else "json"}
    if form == "object":
        return {"extra_body": {"response_format": {"type": "json_object"}}}
    named = {"name": "answer", "schema": _without_lengths(schema), "strict": True}
    return {"extra_body": {"response_format": {"type": "json_schema", "json_schema": named}}}


def _without_lengths(schema: Any) -> Any:
    """Copy a JSON schema without the limits of length, which strict mode refuses.

    Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    if isinstance(schema, list):
        return [_without_lengths(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = {"minLength", "maxLength"} if schema.get("type") == "string" else set()
    return {key: _without_lengths(part) for key, part in schema.items() if key not in limits}


def in_words(schema: str) -> str:
    """The wish for JSON as a part of a prompt, with its schema as text."""
    return (
        "\n\nAnswer with one JSON object and nothing else. It has to fit this JSON schema:\n"
        + schema
    )
