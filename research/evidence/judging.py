"""How a claim stands to the passages that it cites. Deterministic; a hint, never a verdict.

Knows two texts and nothing of answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.records import Ruling
from research.text import LIGHT, STOP, sentences, tokens

ENOUGH = 0.6  # of a claim's words


def judge(claim: str, passages: Sequence[str]) -> Ruling:
    """Whether the passages say what the claim says: `supported`, `weak` or `differs`."""
    wanted = {word for word in tokens(claim) if word not in STOP and word not in LIGHT}
    best = Ruling(status="weak")
    there: set[str] = set()
    for at, passage in enumerate(passages):
        there |= wanted & set(tokens(passage))
        for start, end in sentences(passage):
            shared = wanted & set(tokens(passage[start:end]))
            score = len(shared) / len(wanted) if wanted else 0.0
            if score > best.score:
                best = Ruling(status="weak", passage=at, start=start, end=end, score=score)
    enough = bool(wanted) and len(there) >= ENOUGH * len(wanted)
    return best.model_copy(update={"status": "supported"}) if enough else best
