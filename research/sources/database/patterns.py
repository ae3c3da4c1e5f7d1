"""Regular expressions for SQLite, which has none of its own.

They are RE2's, whose running time is proportional to the text, whatever the pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

MAX_MEMORY_BYTES = 1 << 20  # bytes of a compiled pattern
_OPTIONS = re2.Options()
_OPTIONS.max_mem = MAX_MEMORY_BYTES
_OPTIONS.log_errors = False


@lru_cache(64)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern.

    Raises:
        ValueError: it is not valid; the message says why.
    """
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        message = error.args[0] if error.args else b""
        raise ValueError(message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)) from None
