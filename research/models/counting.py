"""Tokens where nobody has counted them: an estimate from the length of a text.

Every model has a tokeniser of its own, and nothing is downloaded in order to count with one. A token
is about four bytes of UTF-8 in English prose, three to five in Chinese, and fewer in figures and
addresses: with three the estimate is rather too high than too low, so that limits hold.
"""

from __future__ import annotations

import re

from research.core.records import Usage
from research.core.text.words import HAN

BYTES = 3  # of UTF-8 in a token
MOST = 8  # characters in a token, in the long run
MOST_HAN = 3
_HAN = re.compile(f"[{HAN}]+")


def tokens(text: str) -> int:
    """About as many tokens as a text has, rather more than fewer."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES)


def fewest(text: str) -> int:
    """Fewer tokens than a text can have, whatever the tokeniser: a count below is of a part of it."""
    han = sum(map(len, _HAN.findall(text)))
    return (len(text) - han) // MOST + han // MOST_HAN


def completed(usage: Usage, sent: str, written: str) -> Usage:
    """The usage of a call, with an estimate of what its server did not count: many of those that run
    on one's own machine, and relays, leave the counts out or send zeros. A prompt is never empty."""
    lacking: dict[str, int] = {}
    if not usage.input:
        lacking["input"] = tokens(sent)
    if not usage.output and written:
        lacking["output"] = tokens(written)
    if not any(lacking.values()):
        return usage
    return usage.model_copy(update={**lacking, "estimated": True})
