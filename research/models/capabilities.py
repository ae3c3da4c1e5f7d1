"""Optional features that a model server may not support: JSON output modes, token counts of
streams, thinking levels, and opening pages."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from research.core.providers import Provider
from research.core.records import Stage
from research.core.settings import Role, Settings
from research.models.roles import ModelSpec

JSON_MODES = ("schema", "object", "words")  # "words": the prompt describes the schema
THINKING, PAGES = "thinking", "pages"  # features that a model may refuse
_THINKING_WORDS = re.compile(r"thinking.?(?:level|config|budget)", re.I)  # model names also contain "thinking"
_ROLE_BY_STAGE: dict[Stage, Role] = {
    "plan": "plan",
    "search": "search",
    "summarise": "search",
    "reflect": "reflect",
    "check": "reflect",
    "write": "write",
}


@dataclass
class ServerCapabilities:
    """Features that a server supports; refused ones are removed."""

    json_modes: tuple[str, ...] = JSON_MODES  # supported JSON modes, the best first
    has_stream_usage: bool = True  # token counts are requested with streams


def thinking_level(spec: ModelSpec, settings: Settings, stage: Stage) -> str:
    """Return the thinking level of a model at a stage; "" to send none."""
    return settings.thinking_level(_ROLE_BY_STAGE[stage]) if spec.protocol == "gemini" else ""


def thinking_arguments(level: str) -> dict[str, Any]:
    """Return the request arguments for a thinking level."""
    return {"thinking_level": level}


def find_refused_feature(message: str, features: Container[str]) -> str:
    """Return which of a call's optional `features` a refusal is about: thinking if the message
    names it, else pages; "" if that feature was not used."""
    if _THINKING_WORDS.search(message):
        return THINKING if THINKING in features else ""
    return PAGES if PAGES in features else ""


def default_capabilities(provider: Provider) -> ServerCapabilities:
    """Return the capabilities known for a provider."""
    return ServerCapabilities(JSON_MODES[JSON_MODES.index(provider.json_mode) :], provider.has_stream_usage)


def json_arguments(spec: ModelSpec, json_mode: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request arguments for JSON output.

    `extra_body` is passed to the server unchanged: LangChain's own parameter would turn a cut-off
    answer into an exception without the text and the token counts.
    """
    if json_mode == "words":
        return {}
    if spec.protocol == "gemini":
        arguments: dict[str, Any] = {"response_mime_type": "application/json"}
        return {**arguments, "response_json_schema": schema} if json_mode == "schema" else arguments
    if spec.protocol == "ollama":
        return {"format": schema if json_mode == "schema" else "json"}
    if json_mode == "object":
        return {"extra_body": {"response_format": {"type": "json_object"}}}
    schema_format = {"name": "answer", "schema": _strip_lengths(schema), "strict": True}
    return {"extra_body": {"response_format": {"type": "json_schema", "json_schema": schema_format}}}


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
    """Return the part of a prompt that asks for JSON, with the schema as text."""
    return "\n\nAnswer with one JSON object and nothing else. It has to fit this JSON schema:\n" + schema
