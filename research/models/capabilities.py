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
from research.models.roles import ModelSpec

JSON_MODES = ("schema", "object", "words")
THINKING, PAGES = "thinking", "pages"  # what a model may not take
_THINKING_WORDS = re.compile(r"thinking.?(?:level|config|budget)", re.I)  # names of models have "thinking"
_ROLE_BY_STAGE: dict[Stage, Role] = {
    "plan": "plan", "search": "search", "summarise": "search", "reflect": "reflect", "check": "reflect",
    "write": "write",
}  # fmt: skip


@dataclass
class ServerCapabilities:
    """How a server lets itself be asked; what it has refused is gone from then on."""

    json_modes: tuple[str, ...] = JSON_MODES  # of asking for JSON, the best first
    has_stream_usage: bool = True  # streams are asked for the number of their tokens


def thinking_level(spec: ModelSpec, settings: Settings, stage: Stage) -> str:
    """How much a model is to think at a stage; "" if nothing is said of it."""
    return settings.thinking_level(_ROLE_BY_STAGE[stage]) if spec.protocol == "gemini" else ""


def thinking_arguments(level: str) -> dict[str, Any]:
    """What a request for a level carries."""
    return {"thinking_level": level}


def find_refused_feature(message: str, features: Container[str]) -> str:
    """Which of the `extras` of a call a refusal is about: thinking if it names that, else pages; "" if
    there was none such."""
    if _THINKING_WORDS.search(message):
        return THINKING if THINKING in features else ""
    return PAGES if PAGES in features else ""


def default_capabilities(provider: Provider) -> ServerCapabilities:
    """The ways that a server is known to take."""
    return ServerCapabilities(JSON_MODES[JSON_MODES.index(provider.json_mode) :], provider.counted)


def json_arguments(spec: ModelSpec, json_mode: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a request for JSON carries. `extra_body` goes to the server as it is: LangChain's own
    parameter would turn a cut answer into an exception without the text and the count of tokens.
    """
    if json_mode == "words":
        return {}
    if spec.protocol == "gemini":
        wish: dict[str, Any] = {"response_mime_type": "application/json"}
        return {**wish, "response_json_schema": schema} if json_mode == "schema" else wish
    if spec.protocol == "ollama":
        return {"format": schema if json_mode == "schema" else "json"}
    if json_mode == "object":
        return {"extra_body": {"response_format": {"type": "json_object"}}}
    named = {"name": "answer", "schema": _strip_lengths(schema), "strict": True}
    return {"extra_body": {"response_format": {"type": "json_schema", "json_schema": named}}}


def _strip_lengths(schema: Any) -> Any:
    """Copy a JSON schema without the limits of length, which strict mode refuses.

    Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    if isinstance(schema, list):
        return [_strip_lengths(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = {"minLength", "maxLength"} if schema.get("type") == "string" else set()
    return {key: _strip_lengths(part) for key, part in schema.items() if key not in limits}


def json_instructions(schema: str) -> str:
    """The wish for JSON as a part of a prompt, with its schema as text."""
    return "\n\nAnswer with one JSON object and nothing else. It has to fit this JSON schema:\n" + schema
