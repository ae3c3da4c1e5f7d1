"""Regular expressions for SQLite, which has none of its own: RE2, which takes time in proportion to the
text, whatever the pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

MAX_MEMORY_BYTES = 1 << 20  # bytes that a pattern may take
_OPTIONS = re2.Options()
_OPTIONS.max_mem = MAX_MEMORY_BYTES
_OPTIONS.log_errors = False


@lru_cache(64)
def compile_pattern(pattern: str) -> Any:
    """A pattern, ready to be searched for.

    Raises:
        ValueError: it is none; the message says why.
    """
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        told = error.args[0] if error.args else b""
        raise ValueError(told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)) from None  # fmt: skip
