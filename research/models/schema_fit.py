"""A value as a JSON schema wants it, where what a model has written instead has one meaning.

A model is asked for an object of texts, lists and yes or no, and writes null for a text, a text for a
list, an object for a query, `isSufficient` for `is_sufficient`. Whatever is right is left as it is, and
what has no one meaning is taken out and named: whoever reads the rest decides whether it is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from research.models.lenient_json import one_value

Schema = Mapping[str, Any]
Note = Callable[[str], None]  # takes the place of what could not be read

WRAPPERS = 3  # objects around the one that is wanted
_UNREAD = object()
_KINDS = frozenset({"string", "array", "object", "boolean", "integer", "number"})
_YES = frozenset({"true", "yes", "y", "1", "是", "对", "真"})
_NO = frozenset({"false", "no", "n", "0", "否", "不是", "假"})
_NOTHING = frozenset({"none", "null", "n/a", "nothing", "无", "没有", "-"})
_BULLET = re.compile(r"\s*(?:[-*•·]\s+|\(?\d{1,2}[.)、．]\s*)?")
_SAYING = (
    "text",
    "value",
    "content",
    "query",
    "question",
    "name",
    "description",
)  # members with the text itself


def fit(value: Any, schema: Schema, note: Note) -> Any:
    """Return a value with its parts as a schema wants them, as far as each has one meaning. A part that
    has none is left out if it is a member or an item, else returned as it is; `note` gets its place.
    """
    found = _fit(value, schema, "", note)
    return value if found is _UNREAD else found


def _fit(value: Any, schema: Schema, where: str, note: Note) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return _object(value, schema, where, note)
    if kind not in _KINDS:
        return value
    value = _unboxed(value, kind)
    if value is _UNREAD:
        return _UNREAD
    if kind == "array":
        return _array(value, schema, where, note)
    if kind == "string":
        return _choice(value, schema["enum"]) if "enum" in schema else _text(value, where)
    if kind == "boolean":
        return _truth(value)
    if kind == "integer":
        return _whole(value)
    return value


def _unboxed(value: Any, kind: object) -> Any:
    """The value in an object that repeats the schema around it; not read if it is the schema alone."""
    if not isinstance(value, dict) or str(value.get("type")) not in _KINDS:
        return value
    if "value" in value:
        return value["value"]
    return value["items"] if kind == "array" and isinstance(value.get("items"), list) else _UNREAD


# Objects


def _object(value: Any, schema: Schema, where: str, note: Note) -> Any:
    wanted: Schema = schema.get("properties") or {}
    value = _as_object(value, wanted)
    if not isinstance(value, dict):
        return _UNREAD
    out: dict[str, Any] = {}
    for name, inner in _unwrapped(value, wanted).items():
        if name not in wanted:
            out[name] = inner
            continue
        place = f"{where}.{name}" if where else name
        found = _fit(inner, wanted[name], place, note)
        if found is not _UNREAD:
            out[name] = found
        elif "enum" in wanted[name] or wanted[name].get("type") == "boolean":
            out[name] = inner  # a choice that cannot be read is nothing that could be left out
        else:
            note(place)
    return out


def _as_object(value: Any, wanted: Schema) -> Any:
    """A list around an object, a list that is all an object has, JSON as a text, or a text that is the
    first of its members."""
    nothing: tuple[str, Schema] = ("", {})
    first, inner = next(iter(wanted.items()), nothing)
    if isinstance(value, list):
        items = [item for item in value if item is not None]
        items = items[:1] if all(item == items[0] for item in items) else items
        alone = len(wanted) == 1 and inner.get("type") == "array"
        if len(items) == 1 and isinstance(items[0], dict):
            return {first: items} if alone and not _named(items[0], wanted) else items[0]
        return {first: items} if alone else _UNREAD
    if isinstance(value, str):
        if isinstance(found := one_value(value), dict):
            return found
        if inner.get("type") == "string" and "enum" not in inner:
            return {first: value}
    return value


def _unwrapped(value: dict[str, Any], wanted: Schema) -> dict[str, Any]:
    """The members by the names that are wanted, taken out of an object around them, as of
    `{"result": {…}}` or `{"type": "object", "properties": {…}}`."""
    for _ in range(WRAPPERS):
        only = next(iter(value.values()), None) if len(value) == 1 else None
        value = only if isinstance(only, dict) and not _named(value, wanted) else value
    value = _renamed(value, wanted)
    for _ in range(WRAPPERS):
        inside = [
            (name, inner)
            for name, held in value.items()
            if isinstance(inner := _as_object(held, {}), dict)
            and len(_named(inner, wanted)) > len(_named(value, wanted).keys() - {name})
        ]
        if len(inside) != 1:
            break
        [(name, inner)] = inside
        rest = {other: held for other, held in value.items() if other != name and other in wanted}
        value = rest | _renamed(inner, wanted)
    return value


def _named(value: Mapping[str, Any], wanted: Schema) -> dict[str, Any]:
    return {name: held for name, held in _renamed(value, wanted).items() if name in wanted}


def _renamed(value: Mapping[str, Any], wanted: Schema) -> dict[str, Any]:
    """The members by the names that are wanted, in whatever case they are written."""
    names = {_folded(name): name for name in wanted}
    exact = value.keys() & wanted.keys()
    out: dict[str, Any] = {}
    for name, held in value.items():
        known = names.get(_folded(name), name)
        out[name if name in wanted or known in exact or known in out else known] = held
    return out


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


# Lists


def _array(value: Any, schema: Schema, where: str, note: Note) -> Any:
    inner: Schema = schema.get("items") or {}
    items = _items(value, inner)
    if items is None:
        return _UNREAD
    out: list[Any] = []
    for at, item in enumerate(items, 1):
        if item is None:
            continue
        place = f"{where} {at}"
        parts: list[str] = []
        bare = inner.get("type") == "string" and isinstance(item, int | float)
        found = _UNREAD if bare else _fit(item, inner, where, parts.append)
        for part in parts:
            note(f"{place}: {part}")
        if found is _UNREAD:
            note(place)
        else:
            out.append(found)
    return _UNREAD if items and not out and any(item is not None for item in items) else out


def _items(value: Any, inner: Schema) -> list[Any] | None:
    texts = inner.get("type") == "string"
    if isinstance(value, list):
        deep = texts and any(isinstance(item, list) for item in value)
        return [
            one for item in value for one in (item if deep and isinstance(item, list) else [item])
        ]
    if value is None:
        return []
    if isinstance(value, dict):
        if value and all(re.fullmatch(r"\D*\d+", str(name)) for name in value):
            return list(value.values())
        return [value] if value else []
    if not isinstance(value, str):
        return None
    if value.strip()[:1] in ("[", "{"):
        found = one_value(f'{{"list": {value}}}')
        return _items(found["list"], inner) if isinstance(found, dict) else None
    if not value.strip() or value.strip().casefold() in _NOTHING:
        return []
    return _lines(value) if texts else None


def _lines(text: str) -> list[str]:
    """The items of a list that is written as one text: by lines, else by semicolons. Commas may belong
    to an item."""
    parts = text.strip().splitlines()
    if len(parts) == 1:
        parts = re.split("[;；]", text)
    clean = (_BULLET.sub("", part, count=1).strip() for part in parts)
    return [part for part in clean if part]


# Texts and choices


def _text(value: Any, where: str) -> Any:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return _joined([item for item in value if item is not None], where)
    return _spoken_by(value, where) if isinstance(value, dict) else _UNREAD


def _joined(items: Sequence[Any], where: str) -> Any:
    texts = [item if isinstance(item, str) else _spoken_by(item, where) for item in items]
    if any(text is _UNREAD for text in texts):
        return _UNREAD
    mark = "; " if all(text.isascii() for text in texts) else "；"
    return mark.join(text.strip() for text in texts if text.strip())


def _spoken_by(value: Any, where: str) -> Any:
    """The one text of an object: its only one, or that of the member named as what is wanted is, or as a
    text is."""
    if not isinstance(value, dict):
        return _UNREAD
    texts = {str(name): held for name, held in value.items() if held not in (None, "", [], {})}
    if len(texts) == 1:
        [only] = texts.values()
        return only if isinstance(only, str) else _UNREAD
    words = re.split(r"[\W_]+", where.casefold())
    own = [_singular(words[-1])] if words else []
    named = {_folded(name): held for name, held in texts.items() if isinstance(held, str)}
    return next((named[name] for name in (*own, *_SAYING) if name in named), _UNREAD)


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def _choice(value: Any, choices: Sequence[str]) -> Any:
    if value is None:
        value = ""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, str):
        return _UNREAD
    found = [choice for choice in choices if _folded(choice) == _folded(value)]
    return value if value in choices else found[0] if len(found) == 1 else _UNREAD


def _truth(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    word = str(value).strip().rstrip(".。!！").casefold() if isinstance(value, str | int) else ""
    return True if word in _YES else False if word in _NO else _UNREAD


def _whole(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    figures = re.findall(r"-?\d+(?:[.,]\d+)*", value) if isinstance(value, str) else []
    return (
        int(figures[0])
        if len(figures) == 1 and re.fullmatch(r"-?\d{1,15}", figures[0])
        else _UNREAD
    )
