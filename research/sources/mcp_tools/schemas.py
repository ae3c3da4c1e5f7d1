"""What a model is told of a server's tools.

The form of the arguments goes to the model's API, with names alone; what a server says in words,
which may be meant to mislead, is material that stands between fences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from research.http.sanitize import remove_control_characters, truncate_text
from research.sources.mcp_tools.aliases import ArgumentNames, make_aliases

if TYPE_CHECKING:
    from mcp.types import Tool

MAX_DEPTH = 4  # levels of arguments within arguments
MAX_DESCRIPTION_CHARS = 1_000  # characters of a tool's description, and of the schema of its arguments
MAX_MATERIAL_CHARS = 20_000  # characters of all that is said of tools
MAX_ARGUMENTS = 64  # arguments of a tool
MAX_TOOLS = 128  # that a model's API takes at once (OpenAI)
_SAFE_WORD = re.compile(r"[\w .:/+-]{1,40}")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")


class ModelTool(NamedTuple):
    """A tool as a model is offered it: `name` is an alias where the tool's own is none that every
    model's API takes, and so are the names in the specification."""

    tool: Tool
    name: str
    specification: dict[str, Any]
    argument_names: ArgumentNames


def build_model_tools(tools: Iterable[Tool]) -> tuple[list[ModelTool], list[str]]:
    """Return the tools as they are offered to a model, and the names of those that cannot be: that
    have more required arguments, or stand further behind, than a model's API takes."""
    tools = list(tools)
    names = make_aliases([tool.name for tool in tools], "tool")
    offered: list[ModelTool] = []
    withheld: list[str] = []
    for tool in tools:
        if len(_required_arguments(tool.inputSchema)) > MAX_ARGUMENTS or len(offered) == MAX_TOOLS:
            withheld.append(tool.name)
            continue
        name = names[tool.name]
        form, arguments = _sanitise_schema(tool.inputSchema, tool.inputSchema, 0)
        offered.append(ModelTool(tool, name, _build_specification(name, form), arguments))
    return offered, withheld


def _build_specification(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Described in the material under {name}.",
            "parameters": {"properties": {}, "required": [], **parameters, "type": "object"},
        },
    }


def _sanitise_schema(schema: object, root: Mapping[str, Any], depth: int) -> tuple[dict[str, Any], ArgumentNames]:
    """The types of a schema and the names of its members, with no word of anybody."""
    schema = _resolve_schema(schema, root)
    named = schema.get("type")
    kinds = [kind for kind in (named if isinstance(named, list) else [named]) if kind in _TYPES]
    kind = kinds[0] if kinds else "object" if "properties" in schema or not depth else "string"
    form: dict[str, Any] = {"type": kind}
    names = ArgumentNames()
    words = schema.get("enum")
    if kind == "string" and isinstance(words, list):
        known = [word for word in words if isinstance(word, str) and _SAFE_WORD.fullmatch(word)]
        form |= {"enum": known} if known and len(known) == len(words) <= MAX_ARGUMENTS else {}
    if kind == "array":
        form["items"], names = (
            _sanitise_schema(schema.get("items"), root, depth + 1) if depth < MAX_DEPTH else ({"type": "string"}, names)
        )
    if kind == "object" and depth < MAX_DEPTH:
        members = schema.get("properties")
        members = members if isinstance(members, dict) else {}
        required = _required_arguments(schema)
        own = make_aliases(list(dict.fromkeys([*required, *members]))[:MAX_ARGUMENTS], "argument")
        inner = {alias: _sanitise_schema(members.get(name), root, depth + 1) for name, alias in own.items()}
        form["properties"] = {alias: inner[alias][0] for alias in own.values()}
        form["required"] = [own[name] for name in required if name in own]
        names = ArgumentNames(
            {alias: name for name, alias in own.items()},
            {alias: deeper for alias, (_, deeper) in inner.items()},
        )
    return form, names


def _required_arguments(schema: Mapping[str, Any]) -> list[str]:
    """The names of the arguments without which a tool is not called."""
    required = schema.get("required")
    return [n for n in required if isinstance(n, str)] if isinstance(required, list) else []


def _resolve_schema(schema: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema itself, where it refers to another or is one of several."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict):
            return {}
        if isinstance(where := schema.get("$ref"), str):
            group, _, name = where.removeprefix("#/").partition("/")
            found = root.get(group)
            schema = found.get(name) if isinstance(found, dict) else None
            continue
        several = next((schema[k] for k in ("anyOf", "oneOf", "allOf") if k in schema), None)
        if not isinstance(several, list) or "type" in schema:
            return schema
        schema = next((s for s in several if not (isinstance(s, dict) and s.get("type") == "null")), None)  # fmt: skip
    return {}


def describe_tools(model_tools: Iterable[ModelTool]) -> str:
    """Return the descriptions of a server's tools as material for a model, limited in length, with
    the original names of renamed tools and arguments."""
    parts = []
    for offer in model_tools:
        tool = offer.tool
        schema = json.dumps(tool.inputSchema.get("properties", {}), ensure_ascii=False)
        said = truncate_text(remove_control_characters(tool.description or ""), MAX_DESCRIPTION_CHARS)
        own = "" if offer.name == tool.name else f" (called {_quote_name(tool.name)} by the server)"
        lines = [
            f"{offer.name}{own}: {said}",
            f"Arguments: {truncate_text(remove_control_characters(schema), MAX_DESCRIPTION_CHARS)}",
        ]
        if renamed := list(_describe_aliases(offer.argument_names)):
            lines.append(f"Names of arguments: {truncate_text('; '.join(renamed), MAX_DESCRIPTION_CHARS)}")
        parts.append("\n".join(lines))
    return truncate_text("\n\n".join(parts), MAX_MATERIAL_CHARS)


def _describe_aliases(names: ArgumentNames) -> Iterable[str]:
    for alias, own in names.originals.items():
        if alias != own:
            yield f"{alias} for {_quote_name(own)}"
        if alias in names.nested:
            yield from _describe_aliases(names.nested[alias])


def _quote_name(name: str) -> str:
    return json.dumps(remove_control_characters(name)[:80], ensure_ascii=False)
