"""Detection of refusals of too long prompts, for any provider, and of the limits in them.

Every provider words them differently, and only some send a code, so they are recognised by what
such sentences have in common: they mention the prompt, and that it exceeds something.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from research import data

OVERFLOW_STATUSES = {0, 400, 413, 422, 429, 500}  # 0: reported in the middle of an answer
_STATUS_TOO_LARGE = 413
_STATUS_RATE_LIMITED = 429  # usually too many requests; overflow if one request exceeds the limit per minute
_STATUS_SERVER_ERROR = 500  # of a server that crashes; the message has to name the prompt
_ECHO_FIELDS = {"input", "ctx", "loc", "headers", "request_id"}  # fields that repeat the request
_MAX_FIELD_CHARS = 500
_NUMBER = re.compile(r"(?<![a-z\d_.-])(?<!by )\d[\d,]*k?(?![a-z\d_])")
_MIN_TOKENS = 2_048  # tokens; smaller numbers are codes or unrelated


class PromptOverflow(NamedTuple):
    """The tokens that a server accepts, and its count of the prompt; 0 where it gives none."""

    max_tokens: int = 0
    prompt_tokens: int = 0


@cache
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    patterns: dict[str, list[re.Pattern[str]]] = defaultdict(list)
    for subject, words in data.rows("overflow.tsv"):
        patterns[subject].append(re.compile(words, re.ASCII))
    return patterns


def detect_overflow(status: int, body: Any, fallback_text: str) -> PromptOverflow | None:
    """Return the limits in a refusal of a prompt that is too long; None for any other refusal.

    `body` is the parsed reply, if it is JSON, and `fallback_text` its text or that of the error.
    """
    if status not in OVERFLOW_STATUSES:
        return None
    text = (" | ".join(_field_texts(body)) or fallback_text[:_MAX_FIELD_CHARS]).lower()
    if status != _STATUS_TOO_LARGE and not _is_overflow(text, status):
        return None
    overflow = _read_limits(text)
    if status == _STATUS_RATE_LIMITED and not overflow.prompt_tokens > overflow.max_tokens > 0:
        return None
    return overflow


def _is_overflow(text: str, status: int) -> bool:
    patterns = _patterns()

    def mentions(subject: str) -> bool:
        return any(pattern.search(text) for pattern in patterns[subject])

    if not mentions("beyond"):
        return False
    if status == _STATUS_RATE_LIMITED:
        return mentions("tokens") and re.search("too large|reduce", text) is not None
    return mentions("prompt") or (status != _STATUS_SERVER_ERROR and mentions("tokens") and not mentions("other"))


def _field_texts(body: Any, name: str = "") -> Iterator[str]:
    """Yield the texts and numbers of a reply, without fields that repeat the request."""
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
    """Read the maximum and the actual length: by the words before a number, else by size."""
    numbers = sorted({n for match in _NUMBER.findall(text) if (n := _parse_tokens(match)) >= _MIN_TOKENS})
    if not numbers:
        return PromptOverflow()
    candidates = (
        _parse_tokens(match[1] + (match[2] or ""))
        for pattern in _patterns()["limit"]
        for match in pattern.finditer(text)
    )
    limits = [n for n in candidates if n >= _MIN_TOKENS]
    if len(numbers) == 1:
        return PromptOverflow(limits[0]) if limits else PromptOverflow(0, numbers[0])
    limit = next((n for n in limits if n != numbers[-1]), numbers[-2])
    return PromptOverflow(limit, numbers[-1])


def _parse_tokens(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits[:-1]) * 1000 if digits.endswith("k") else int(digits or 0)
