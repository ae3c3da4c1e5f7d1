"""Whether the passages that a sentence cites say what it says: no model, the same every time.

Knows nothing of answers, spans or sources: one claim in plain text against texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.records import Lack, Ruling
from research.text import STOP, sentences, tokens

ENOUGH = 0.5  # of the claim's words


def judge(claim: str, passages: Sequence[str]) -> Ruling:
    """The ruling on a claim: supported, weak or differs."""
    wanted = set(tokens(claim)) - STOP
    best = Ruling(status="weak", lacks=(Lack(kind="words", text=claim.strip()),))
    for place, passage in enumerate(passages):
        for start, end in sentences(passage):
            said = set(tokens(passage[start:end]))
            score = len(wanted & said) / len(wanted) if wanted else 0.0
            if score > best.score:
                best = Ruling(status="weak", lacks=best.lacks, passage=place, start=start, end=end, score=score)  # fmt: skip
    if best.score < ENOUGH:
        return best
    return best.model_copy(update={"status": "supported", "lacks": ()})
