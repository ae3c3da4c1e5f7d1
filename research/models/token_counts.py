"""Tokens where nobody has counted them: an estimate from the length of a text.

Every model has a tokeniser of its own, and nothing is downloaded in order to count with one. A token
is about four bytes of UTF-8 in English prose, three to five in Chinese, and fewer in figures and
addresses: with three the estimate is rather too high than too low, so that limits hold.
"""

from __future__ import annotations

import re

from research.core.records import Usage
from research.core.text.tokenizer import HAN_RANGES

BYTES_PER_TOKEN = 3  # of UTF-8 in a token
MAX_CHARS_PER_TOKEN = 8  # characters in a token, in the long run
MAX_HAN_CHARS_PER_TOKEN = 3
_HAN_RUN = re.compile(f"[{HAN_RANGES}]+")


def estimate_tokens(text: str) -> int:
    """About as many tokens as a text has, rather more than fewer."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def minimum_tokens(text: str) -> int:
    """Fewer tokens than a text can have, whatever the tokeniser: a count below is of a part of it."""
    han = sum(map(len, _HAN_RUN.findall(text)))
    return (len(text) - han) // MAX_CHARS_PER_TOKEN + han // MAX_HAN_CHARS_PER_TOKEN


def fill_missing_counts(usage: Usage, sent_text: str, written_text: str) -> Usage:
    """The usage of a call, with an estimate of what its server did not count: many of those that run
    on one's own machine, and relays, leave the counts out or send zeros. A prompt is never empty."""
    lacking: dict[str, int] = {}
    if not usage.input:
        lacking["input"] = estimate_tokens(sent_text)
    if not usage.output and written_text:
        lacking["output"] = estimate_tokens(written_text)
    if not any(lacking.values()):
        return usage
    return usage.model_copy(update={**lacking, "estimated": True})
