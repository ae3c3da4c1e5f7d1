"""Estimated token counts, from the length of a text.

Every model has its own tokeniser, and none is downloaded for counting. A token is about four bytes
of UTF-8 in English prose, three to five in Chinese, and fewer in figures and URLs: three bytes give
an estimate that is rather too high than too low, so that limits hold.
"""

from __future__ import annotations

import re
from typing import TypeVar

from research.core.records import Usage
from research.core.text.tokenizer import HAN_RANGES

BYTES_PER_TOKEN = 3  # UTF-8 bytes per token
MAX_CHARS_PER_TOKEN = 8  # characters per token on average in long texts
MAX_HAN_CHARS_PER_TOKEN = 3
_UsageT = TypeVar("_UsageT", bound=Usage)
_HAN_RUN = re.compile(f"[{HAN_RANGES}]+")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too high than too low."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def minimum_tokens(text: str) -> int:
    """Return a lower bound of a text's tokens for any tokeniser."""
    han = sum(map(len, _HAN_RUN.findall(text)))
    return (len(text) - han) // MAX_CHARS_PER_TOKEN + han // MAX_HAN_CHARS_PER_TOKEN


def fill_missing_counts(usage: _UsageT, sent_text: str, written_text: str) -> _UsageT:
    """Return the usage with estimates of the counts that the server did not report: many local
    servers and relays omit them or send zeros. A prompt is never empty."""
    estimates: dict[str, int] = {}
    if not usage.input:
        estimates["input"] = estimate_tokens(sent_text)
    if not usage.output and written_text:
        estimates["output"] = estimate_tokens(written_text)
    if not any(estimates.values()):
        return usage
    return usage.model_copy(update={**estimates, "estimated": True})
