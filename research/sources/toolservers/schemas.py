"""What a model is told of a server's tools.

The form of the arguments goes to the model's API, with names alone; what a server says in words,
which may be meant to mislead, is material that stands between fences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from research.wire.plain import legible, shortened

if TYPE_CHECKING:
    from mcp.types import Tool

DEEP = 4  # levels of arguments within arguments
WORDS = 1_000  # characters of a tool's description, and of the schema of its arguments
ALL = 20_000  # characters of all that is said of tools
MOST = 64  # arguments of a tool
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_WORD = re.compile(r"[\w .:/+-]{1,40}")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")


def specification(tool: Tool) -> dict[str, Any] | None:
    """A tool as chat models are told of it; None if its name or the name of an argument that it
    requires is none that every model's API takes."""
    given = tool.inputSchema
    form = _form(given, given, 0)
    required = given.get("required")
    usable = form.get("properties", {})
    lacking = [n for n in required if str(n) not in usable] if isinstance(required, list) else []
    if not _NAME.fullmatch(tool.name) or lacking:
        return None
    about = f"Described in the material under {tool.name}."
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": about,
            "parameters": {"properties": {}, "required": [], **form, "type": "object"},
        },
    }


def _form(schema: object, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The types of a schema and the names of its members, with no word of anybody."""
    schema = _resolved(schema, root)
    named = schema.get("type")
    kinds = [kind for kind in (named if isinstance(named, list) else [named]) if kind in _TYPES]
    kind = kinds[0] if kinds else "object" if "properties" in schema else "string"
    form: dict[str, Any] = {"type": kind}
    words = schema.get("enum")
    if kind == "string" and isinstance(words, list):
        known = [word for word in words if isinstance(word, str) and _WORD.fullmatch(word)]
        form |= {"enum": known} if known and len(known) == len(words) <= MOST else {}
    if kind == "array":
        form["items"] = _form(schema.get("items"), root, depth + 1) if depth < DEEP else {"type": "string"}  # fmt: skip
    if kind == "object" and depth < DEEP and isinstance(members := schema.get("properties"), dict):
        usable = [name for name in members if _NAME.fullmatch(name)][:MOST]
        form["properties"] = {name: _form(members[name], root, depth + 1) for name in usable}
        required = schema.get("required")
        form["required"] = [n for n in required if n in usable] if isinstance(required, list) else []  # fmt: skip
    return form


def _resolved(schema: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema itself, where it refers to another or is one of several."""
    for _ in range(DEEP):
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


def material(tools: Iterable[Tool]) -> str:
    """What a server says of its tools, in bounds."""
    parts = []
    for tool in tools:
        schema = json.dumps(tool.inputSchema.get("properties", {}), ensure_ascii=False)
        said = shortened(legible(tool.description or ""), WORDS)
        parts.append(f"{tool.name}: {said}\nArguments: {shortened(legible(schema), WORDS)}")
    return shortened("\n\n".join(parts), ALL)
