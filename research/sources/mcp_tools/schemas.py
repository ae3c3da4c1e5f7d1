"""Presentation of a server's tools to a model.

The schema of the arguments is sent to the model's API with names only. Descriptions from the server
may be meant to mislead and are passed as fenced material.
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
MAX_DESCRIPTION_CHARS = 1_000  # of a tool's description, and of its arguments' schema
MAX_MATERIAL_CHARS = 20_000  # of the descriptions of all tools
MAX_ARGUMENTS = 64  # arguments of a tool
MAX_TOOLS = 128  # OpenAI's limit for one request
_SAFE_WORD = re.compile(r"[\w .:/+-]{1,40}")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")


class ModelTool(NamedTuple):
    """A tool as it is offered to a model.

    `name` and the names in `specification` are aliases where the server's names are not valid for
    every model's API.
    """

    tool: Tool
    name: str
    specification: dict[str, Any]
    argument_names: ArgumentNames


def build_model_tools(tools: Iterable[Tool]) -> tuple[list[ModelTool], list[str]]:
    """Return the tools to offer to a model, and the names of those that are withheld.

    A tool with more than `MAX_ARGUMENTS` required arguments is withheld, and so is any tool after
    the first `MAX_TOOLS`, since the models' APIs would reject them.
    """
    tools = list(tools)
    names = make_aliases([tool.name for tool in tools], "tool")
    offered: list[ModelTool] = []
    withheld: list[str] = []
    for tool in tools:
        if len(_required_arguments(tool.inputSchema)) > MAX_ARGUMENTS or len(offered) == MAX_TOOLS:
            withheld.append(tool.name)
            continue
        name = names[tool.name]
        schema, arguments = _sanitise_schema(tool.inputSchema, tool.inputSchema, 0)
        offered.append(ModelTool(tool, name, _build_specification(name, schema), arguments))
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
    """Return the types and member names of a schema, without any text of the server, and the
    aliases."""
    schema = _resolve_schema(schema, root)
    declared = schema.get("type")
    kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind in _TYPES]
    kind = kinds[0] if kinds else "object" if "properties" in schema or not depth else "string"
    clean: dict[str, Any] = {"type": kind}
    names = ArgumentNames()
    enum_values = schema.get("enum")
    if kind == "string" and isinstance(enum_values, list):
        safe_values = [word for word in enum_values if isinstance(word, str) and _SAFE_WORD.fullmatch(word)]
        clean |= {"enum": safe_values} if safe_values and len(safe_values) == len(enum_values) <= MAX_ARGUMENTS else {}
    if kind == "array":
        clean["items"], names = (
            _sanitise_schema(schema.get("items"), root, depth + 1) if depth < MAX_DEPTH else ({"type": "string"}, names)
        )
    if kind == "object" and depth < MAX_DEPTH:
        members = schema.get("properties")
        members = members if isinstance(members, dict) else {}
        required = _required_arguments(schema)
        aliases = make_aliases(list(dict.fromkeys([*required, *members]))[:MAX_ARGUMENTS], "argument")
        sanitised = {alias: _sanitise_schema(members.get(name), root, depth + 1) for name, alias in aliases.items()}
        clean["properties"] = {alias: sanitised[alias][0] for alias in aliases.values()}
        clean["required"] = [aliases[name] for name in required if name in aliases]
        names = ArgumentNames(
            {alias: name for name, alias in aliases.items()},
            {alias: nested_names for alias, (_, nested_names) in sanitised.items()},
        )
    return clean, names


def _required_arguments(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of required arguments."""
    required = schema.get("required")
    return [n for n in required if isinstance(n, str)] if isinstance(required, list) else []


def _resolve_schema(schema: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references and return the first non-null alternative of a schema."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict):
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            group, _, name = reference.removeprefix("#/").partition("/")
            definitions = root.get(group)
            schema = definitions.get(name) if isinstance(definitions, dict) else None
            continue
        alternatives = next((schema[k] for k in ("anyOf", "oneOf", "allOf") if k in schema), None)
        if not isinstance(alternatives, list) or "type" in schema:
            return schema
        schema = next((s for s in alternatives if not (isinstance(s, dict) and s.get("type") == "null")), None)
    return {}


def describe_tools(model_tools: Iterable[ModelTool]) -> str:
    """Return the server's descriptions of its tools as material for a model, limited in length.

    Original names are given for renamed tools and arguments.
    """
    parts = []
    for model_tool in model_tools:
        tool = model_tool.tool
        schema = json.dumps(tool.inputSchema.get("properties", {}), ensure_ascii=False)
        description = truncate_text(remove_control_characters(tool.description or ""), MAX_DESCRIPTION_CHARS)
        original_name = "" if model_tool.name == tool.name else f" (called {_quote_name(tool.name)} by the server)"
        lines = [
            f"{model_tool.name}{original_name}: {description}",
            f"Arguments: {truncate_text(remove_control_characters(schema), MAX_DESCRIPTION_CHARS)}",
        ]
        if renamed := list(_describe_aliases(model_tool.argument_names)):
            lines.append(f"Names of arguments: {truncate_text('; '.join(renamed), MAX_DESCRIPTION_CHARS)}")
        parts.append("\n".join(lines))
    return truncate_text("\n\n".join(parts), MAX_MATERIAL_CHARS)


def _describe_aliases(names: ArgumentNames) -> Iterable[str]:
    for alias, original in names.originals.items():
        if alias != original:
            yield f"{alias} for {_quote_name(original)}"
        if alias in names.nested:
            yield from _describe_aliases(names.nested[alias])


def _quote_name(name: str) -> str:
    return json.dumps(remove_control_characters(name)[:80], ensure_ascii=False)
