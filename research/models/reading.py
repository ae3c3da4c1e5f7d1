"""What a model has written, without what is no part of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

_M = TypeVar("_M", bound=BaseModel)

# The tags between which local models write their thoughts. One between backticks is spoken of.
_OPENS = ("<think>", "<thinking>", "[think]", "◁think▷")
_OPEN = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, _OPENS))})(?!`)", re.I)
_CLOSE = re.compile(r"(?<!`)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)\s*", re.I)

_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.S)  # a text within JSON, or a brace


class Unfit(ValueError):
    """A text without the object that was asked for; it says why."""


def spoken(text: str) -> str:
    """A text, or as much of one as there is yet, without the thoughts before it. Some templates open
    them themselves, so that only their end is heard: all up to it goes.
    """
    text = sound(text)
    while True:
        opened, closed = _begins(text), _CLOSE.search(text)
        if closed is None or not (opened or _lone(text, closed)):
            return "" if opened else text
        text = text[closed.end() :]
        if not (_begins(text) or _CLOSE.match(text)):
            return text


def _begins(text: str) -> bool:
    """Whether it begins with thoughts, or with what may become their tag."""
    start = text.lstrip()
    low = start[: max(map(len, _OPENS))].lower()
    return bool(_OPEN.match(start)) or any(low and tag.startswith(low) for tag in _OPENS)


def _lone(text: str, closed: re.Match[str]) -> bool:
    return not _OPEN.search(text, 0, closed.start())


def sound(text: str) -> str:
    """Text without a byte order mark at its beginning, and without halves of surrogate pairs, which
    JSON can smuggle in and nothing can store: those that belong together are joined, others become
    U+FFFD, and one at the very end is waited for.
    """
    if text.isascii():
        return text
    if "\ud800" <= text[-1] <= "\udbff":
        text = text[:-1]
    text = text.removeprefix("\ufeff")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def fitting(text: str, shape: type[_M]) -> _M:
    """The object in a text that fits a shape. Prose and fences may stand around it, as in "Sure!
    Here it is: ...", but of two that fit and differ none is chosen, and none is mended.

    Raises:
        Unfit: there is not one such object.
    """
    fits: list[_M] = []
    problem = ""
    for piece in list(_objects(text)) or [text]:
        try:
            fits.append(shape.model_validate_json(piece))
        except ValidationError as error:
            problem = problem or _problem(error)
    if not fits:
        raise Unfit(problem)
    if any(fit != fits[0] for fit in fits):
        raise Unfit("it has several JSON objects; one is wanted")
    return fits[0]


def _objects(text: str) -> Iterator[str]:
    """The JSON objects in a text that are part of no other; of JSON alone, that as it is. Nothing
    follows one that does not end: what lies within it would pass for the whole.
    """
    if _is_json(text):
        yield text
        return
    start = text.find("{")
    while start >= 0 and (end := _end(text, start)):
        if _is_json(text[start:end]):
            yield text[start:end]
        start = text.find("{", end)


def _end(text: str, start: int) -> int:
    """Where what begins with a brace ends; 0 if it does not."""
    depth = 0
    for step in _STEP.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(step[0], 0)
        if depth == 0 and step[0] == "}":
            return step.end()
    return 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
