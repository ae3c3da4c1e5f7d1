"""Whether a refusal means that the prompt is too long, whatever the provider, and how long one may be.

Every provider and server has words of its own for it, and only some have a code, so it is told by
what such sentences have in common: they name the prompt, and that it goes beyond something.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from research import data

STATUSES = {0, 400, 413, 422, 429, 500}  # 0: told in the middle of an answer
_TOO_LARGE = 413
_PACE = 429  # asked for too often, unless a single request is more than is allowed in a minute
_BROKEN = 500  # of a server that breaks over it; it has to name the prompt
_QUIET = {"input", "ctx", "loc", "headers", "request_id"}  # fields that repeat what was sent
_FIELD = 500  # characters of a field
_NUMBER = re.compile(r"(?<![a-z\d_.-])(?<!by )\d[\d,]*k?(?![a-z\d_])")
_LEAST = 2_048  # tokens: smaller numbers are codes, or what else stands there


class Overflow(NamedTuple):
    """The tokens that a server takes and those that it has counted; 0 where it does not say."""

    limit: int = 0
    asked: int = 0


@cache
def _words() -> dict[str, list[re.Pattern[str]]]:
    found: dict[str, list[re.Pattern[str]]] = defaultdict(list)
    for part, words in data.rows("overflow.tsv"):
        found[part].append(re.compile(words, re.ASCII))
    return found


def overflow(status: int, body: Any, said: str) -> Overflow | None:
    """What a refusal says of the length of the prompt; None if that is not what it is about.

    `body` is the reply as it was read, if it is JSON, and `said` the text of it or of the error.
    """
    if status not in STATUSES:
        return None
    text = (" | ".join(_fields(body)) or said[:_FIELD]).lower()
    if status != _TOO_LARGE and not _tells(text, status):
        return None
    found = _numbers(text)
    if status == _PACE and not found.asked > found.limit > 0:
        return None
    return found


def _tells(text: str, status: int) -> bool:
    words = _words()

    def has(part: str) -> bool:
        return any(pattern.search(text) for pattern in words[part])

    if not has("beyond"):
        return False
    if status == _PACE:
        return has("tokens") and re.search("too large|reduce", text) is not None
    return has("prompt") or (status != _BROKEN and has("tokens") and not has("other"))


def _fields(body: Any, name: str = "") -> Iterator[str]:
    """The texts and numbers of a reply, without what they repeat of the request."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key not in _QUIET:
                yield from _fields(value, str(key))
    elif isinstance(body, list):
        for item in body:
            yield from _fields(item, name)
    elif isinstance(body, str) and not (name == "code" and body.isdigit()):
        yield body[:_FIELD]
    elif isinstance(body, int) and not isinstance(body, bool) and name not in ("code", "status"):
        yield f"{name}: {body}"


def _numbers(text: str) -> Overflow:
    """How long a prompt may be and how long it was: by the words before a number, else by size."""
    numbers = sorted({n for hit in _NUMBER.findall(text) if (n := _tokens(hit)) >= _LEAST})
    if not numbers:
        return Overflow()
    named = (
        _tokens(hit[1] + (hit[2] or ""))
        for pattern in _words()["limit"]
        for hit in pattern.finditer(text)
    )
    told = [n for n in named if n >= _LEAST]
    if len(numbers) == 1:
        return Overflow(told[0]) if told else Overflow(0, numbers[0])
    limit = next((n for n in told if n != numbers[-1]), numbers[-2])
    return Overflow(limit, numbers[-1])


def _tokens(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits[:-1]) * 1000 if digits.endswith("k") else int(digits or 0)
