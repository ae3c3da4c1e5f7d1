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

OVERFLOW_STATUSES = {0, 400, 413, 422, 429, 500}  # 0: told in the middle of an answer
_STATUS_TOO_LARGE = 413
_STATUS_RATE_LIMITED = 429  # asked for too often, unless a single request is more than is allowed in a minute
_STATUS_SERVER_ERROR = 500  # of a server that breaks over it; it has to name the prompt
_ECHO_FIELDS = {"input", "ctx", "loc", "headers", "request_id"}  # fields that repeat what was sent
_MAX_FIELD_CHARS = 500  # characters of a field
_NUMBER = re.compile(r"(?<![a-z\d_.-])(?<!by )\d[\d,]*k?(?![a-z\d_])")
_MIN_TOKENS = 2_048  # tokens: smaller numbers are codes, or what else stands there


class PromptOverflow(NamedTuple):
    """The tokens that a server takes and those that it has counted; 0 where it does not say."""

    max_tokens: int = 0
    prompt_tokens: int = 0


@cache
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    found: dict[str, list[re.Pattern[str]]] = defaultdict(list)
    for part, words in data.rows("overflow.tsv"):
        found[part].append(re.compile(words, re.ASCII))
    return found


def detect_overflow(status: int, body: Any, fallback_text: str) -> PromptOverflow | None:
    """What a refusal says of the length of the prompt; None if that is not what it is about.

    `body` is the reply as it was read, if it is JSON, and `said` the text of it or of the error.
    """
    if status not in OVERFLOW_STATUSES:
        return None
    text = (" | ".join(_field_texts(body)) or fallback_text[:_MAX_FIELD_CHARS]).lower()
    if status != _STATUS_TOO_LARGE and not _is_overflow(text, status):
        return None
    found = _read_limits(text)
    if status == _STATUS_RATE_LIMITED and not found.prompt_tokens > found.max_tokens > 0:
        return None
    return found


def _is_overflow(text: str, status: int) -> bool:
    words = _patterns()

    def has(part: str) -> bool:
        return any(pattern.search(text) for pattern in words[part])

    if not has("beyond"):
        return False
    if status == _STATUS_RATE_LIMITED:
        return has("tokens") and re.search("too large|reduce", text) is not None
    return has("prompt") or (status != _STATUS_SERVER_ERROR and has("tokens") and not has("other"))


def _field_texts(body: Any, name: str = "") -> Iterator[str]:
    """The texts and numbers of a reply, without what they repeat of the request."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key not in _ECHO_FIELDS:
                yield from _field_texts(value, str(key))
    elif isinstance(body, list):
        for item in body:
            yield from _field_texts(item, name)
    elif isinstance(body, str) and not (name == "code" and body.isdigit()):
        yield body[:_MAX_FIELD_CHARS]
    elif isinstance(body, int) and not isinstance(body, bool) and name not in ("code", "status"):
        yield f"{name}: {body}"


def _read_limits(text: str) -> PromptOverflow:
    """How long a prompt may be and how long it was: by the words before a number, else by size."""
    numbers = sorted({n for hit in _NUMBER.findall(text) if (n := _parse_tokens(hit)) >= _MIN_TOKENS})
    if not numbers:
        return PromptOverflow()
    named = (
        _parse_tokens(hit[1] + (hit[2] or "")) for pattern in _patterns()["limit"] for hit in pattern.finditer(text)
    )
    told = [n for n in named if n >= _MIN_TOKENS]
    if len(numbers) == 1:
        return PromptOverflow(told[0]) if told else PromptOverflow(0, numbers[0])
    limit = next((n for n in told if n != numbers[-1]), numbers[-2])
    return PromptOverflow(limit, numbers[-1])


def _parse_tokens(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits[:-1]) * 1000 if digits.endswith("k") else int(digits or 0)
