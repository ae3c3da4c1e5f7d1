"""Coercion of a model's value to a JSON schema where its meaning is unambiguous.

Models write null for a string, a string for a list, an object for a query, `isSufficient` for
`is_sufficient`. Correct parts stay unchanged; ambiguous parts are removed and reported, and the
caller decides whether the rest is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from research.models.lenient_json import parse_single

Schema = Mapping[str, Any]
OmissionHandler = Callable[[str], None]  # receives the path of an omitted part

MAX_WRAPPERS = 3  # maximum nesting of wrapper objects
_UNREADABLE = object()
_SCHEMA_TYPES = frozenset({"string", "array", "object", "boolean", "integer", "number"})
_TRUE_WORDS = frozenset({"true", "yes", "y", "1", "是", "对", "真"})
_FALSE_WORDS = frozenset({"false", "no", "n", "0", "否", "不是", "假"})
_EMPTY_WORDS = frozenset({"none", "null", "n/a", "nothing", "无", "没有", "-"})
_BULLET = re.compile(r"\s*(?:[-*•·]\s+|\(?\d{1,2}[.)、．]\s*)?")
# Members that hold the text itself.
_TEXT_MEMBERS = (
    "text",
    "value",
    "content",
    "query",
    "question",
    "name",
    "description",
)


def coerce(value: Any, schema: Schema, on_omission: OmissionHandler) -> Any:
    """Return a value coerced to a schema where each part is unambiguous.

    An ambiguous member or item is left out and its path passed to `on_omission`; an ambiguous
    whole is returned unchanged.
    """
    coerced = _coerce(value, schema, "", on_omission)
    return value if coerced is _UNREADABLE else coerced


def _coerce(value: Any, schema: Schema, path: str, on_omission: OmissionHandler) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return _coerce_object(value, schema, path, on_omission)
    if kind not in _SCHEMA_TYPES:
        return value
    value = _strip_schema(value, kind)
    if value is _UNREADABLE:
        return _UNREADABLE
    if kind == "array":
        return _coerce_array(value, schema, path, on_omission)
    if kind == "string":
        return _coerce_choice(value, schema["enum"]) if "enum" in schema else _coerce_text(value, path)
    if kind == "boolean":
        return _coerce_boolean(value)
    if kind == "integer":
        return _coerce_integer(value)
    return value


def _strip_schema(value: Any, schema_type: object) -> Any:
    """Unwrap the value from an object that repeats the schema; unreadable without a value."""
    if not isinstance(value, dict) or str(value.get("type")) not in _SCHEMA_TYPES:
        return value
    if "value" in value:
        return value["value"]
    return value["items"] if schema_type == "array" and isinstance(value.get("items"), list) else _UNREADABLE


# Objects


def _coerce_object(value: Any, schema: Schema, path: str, on_omission: OmissionHandler) -> Any:
    properties: Schema = schema.get("properties") or {}
    value = _to_object(value, properties)
    if not isinstance(value, dict):
        return _UNREADABLE
    out: dict[str, Any] = {}
    for name, inner in _unwrap(value, properties).items():
        if name not in properties:
            out[name] = inner
            continue
        member_path = f"{path}.{name}" if path else name
        coerced = _coerce(inner, properties[name], member_path, on_omission)
        if coerced is not _UNREADABLE:
            out[name] = coerced
        elif "enum" in properties[name] or properties[name].get("type") == "boolean":
            out[name] = inner  # an unreadable choice must not be left out
        else:
            on_omission(member_path)
    return out


def _to_object(value: Any, properties: Schema) -> Any:
    """Convert to an object: a list around one, a list that is its single member, JSON as a string,
    or a string that is its first member."""
    no_property: tuple[str, Schema] = ("", {})
    first, inner = next(iter(properties.items()), no_property)
    if isinstance(value, list):
        items = [item for item in value if item is not None]
        items = items[:1] if all(item == items[0] for item in items) else items
        is_list_object = len(properties) == 1 and inner.get("type") == "array"
        if len(items) == 1 and isinstance(items[0], dict):
            return {first: items} if is_list_object and not _known_members(items[0], properties) else items[0]
        return {first: items} if is_list_object else _UNREADABLE
    if isinstance(value, str):
        if isinstance(parsed := parse_single(value), dict):
            return parsed
        if inner.get("type") == "string" and "enum" not in inner:
            return {first: value}
    return value


def _unwrap(value: dict[str, Any], properties: Schema) -> dict[str, Any]:
    """Return the members by their schema names, unwrapped from a surrounding object such as
    `{"result": {…}}` or `{"type": "object", "properties": {…}}`."""
    for _ in range(MAX_WRAPPERS):
        wrapped = next(iter(value.values()), None) if len(value) == 1 else None
        value = wrapped if isinstance(wrapped, dict) and not _known_members(value, properties) else value
    value = _rename_members(value, properties)
    for _ in range(MAX_WRAPPERS):
        nested = [
            (name, inner)
            for name, member in value.items()
            if isinstance(inner := _to_object(member, {}), dict)
            and len(_known_members(inner, properties)) > len(_known_members(value, properties).keys() - {name})
        ]
        if len(nested) != 1:
            break
        [(name, inner)] = nested
        rest = {other: member for other, member in value.items() if other != name and other in properties}
        value = rest | _rename_members(inner, properties)
    return value


def _known_members(value: Mapping[str, Any], properties: Schema) -> dict[str, Any]:
    return {name: member for name, member in _rename_members(value, properties).items() if name in properties}


def _rename_members(value: Mapping[str, Any], properties: Schema) -> dict[str, Any]:
    """Return the members by their schema names, regardless of case and punctuation."""
    names = {_fold_name(name): name for name in properties}
    exact = value.keys() & properties.keys()
    out: dict[str, Any] = {}
    for name, member in value.items():
        known = names.get(_fold_name(name), name)
        out[name if name in properties or known in exact or known in out else known] = member
    return out


def _fold_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


# Lists


def _coerce_array(value: Any, schema: Schema, path: str, on_omission: OmissionHandler) -> Any:
    inner: Schema = schema.get("items") or {}
    items = _to_items(value, inner)
    if items is None:
        return _UNREADABLE
    out: list[Any] = []
    for number, item in enumerate(items, 1):
        if item is None:
            continue
        item_path = f"{path} {number}"
        parts: list[str] = []
        is_bare_number = inner.get("type") == "string" and isinstance(item, int | float)
        coerced = _UNREADABLE if is_bare_number else _coerce(item, inner, path, parts.append)
        for part in parts:
            on_omission(f"{item_path}: {part}")
        if coerced is _UNREADABLE:
            on_omission(item_path)
        else:
            out.append(coerced)
    return _UNREADABLE if items and not out and any(item is not None for item in items) else out


def _to_items(value: Any, item_schema: Schema) -> list[Any] | None:
    are_texts = item_schema.get("type") == "string"
    if isinstance(value, list):
        is_nested = are_texts and any(isinstance(item, list) for item in value)
        return [element for item in value for element in (item if is_nested and isinstance(item, list) else [item])]
    if value is None:
        return []
    if isinstance(value, dict):
        if value and all(re.fullmatch(r"\D*\d+", str(name)) for name in value):
            return list(value.values())
        return [value] if value else []
    if not isinstance(value, str):
        return None
    if value.strip()[:1] in ("[", "{"):
        parsed = parse_single(f'{{"list": {value}}}')
        return _to_items(parsed["list"], item_schema) if isinstance(parsed, dict) else None
    if not value.strip() or value.strip().casefold() in _EMPTY_WORDS:
        return []
    return _split_list_text(value) if are_texts else None


def _split_list_text(text: str) -> list[str]:
    """Split a list written as one text: by lines, else by semicolons; items may contain commas."""
    parts = text.strip().splitlines()
    if len(parts) == 1:
        parts = re.split("[;；]", text)
    clean = (_BULLET.sub("", part, count=1).strip() for part in parts)
    return [part for part in clean if part]


# Texts and choices


def _coerce_text(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return _join_texts([item for item in value if item is not None], path)
    return _text_member(value, path) if isinstance(value, dict) else _UNREADABLE


def _join_texts(items: Sequence[Any], path: str) -> Any:
    texts = [item if isinstance(item, str) else _text_member(item, path) for item in items]
    if any(text is _UNREADABLE for text in texts):
        return _UNREADABLE
    mark = "; " if all(text.isascii() for text in texts) else "；"
    return mark.join(text.strip() for text in texts if text.strip())


def _text_member(value: Any, path: str) -> Any:
    """Return the one text of an object: its only member, or the one named like the expected member
    or like a text."""
    if not isinstance(value, dict):
        return _UNREADABLE
    texts = {str(name): member for name, member in value.items() if member not in (None, "", [], {})}
    if len(texts) == 1:
        [only] = texts.values()
        return only if isinstance(only, str) else _UNREADABLE
    words = re.split(r"[\W_]+", path.casefold())
    expected_names = [_singular(words[-1])] if words else []
    named = {_fold_name(name): member for name, member in texts.items() if isinstance(member, str)}
    return next((named[name] for name in (*expected_names, *_TEXT_MEMBERS) if name in named), _UNREADABLE)


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def _coerce_choice(value: Any, choices: Sequence[str]) -> Any:
    if value is None:
        value = ""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, str):
        return _UNREADABLE
    matches = [choice for choice in choices if _fold_name(choice) == _fold_name(value)]
    return value if value in choices else matches[0] if len(matches) == 1 else _UNREADABLE


def _coerce_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    word = str(value).strip().rstrip(".。!！").casefold() if isinstance(value, str | int) else ""
    return True if word in _TRUE_WORDS else False if word in _FALSE_WORDS else _UNREADABLE


def _coerce_integer(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    figures = re.findall(r"-?\d+(?:[.,]\d+)*", value) if isinstance(value, str) else []
    return int(figures[0]) if len(figures) == 1 and re.fullmatch(r"-?\d{1,15}", figures[0]) else _UNREADABLE
