"""Cues: words that retract or limit a statement, such as those of denial, rumour, plan or condition.

They are read from `data/cues.tsv` (kind, language, regular expression on folded text). A sentence
that has nearly all words of a claim, and a cue that the claim lacks, may mean the contrary.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from research import data


@cache
def _cue_patterns() -> dict[str, list[re.Pattern[str]]]:
    """Compile the patterns of each kind of cue, one per language: a joint pattern is ten times slower."""
    cues_by_kind: dict[str, dict[str, list[str]]] = {}
    for kind, language, cue in data.rows("cues.tsv"):
        cues_by_kind.setdefault(kind, {}).setdefault(language, []).append(cue)
    return {
        kind: [
            re.compile("|".join(cues) if language == "zh" else rf"\b(?:{'|'.join(cues)})\b")
            for language, cues in languages.items()
        ]
        for kind, languages in cues_by_kind.items()
    }


@lru_cache(4_096)
def find_cues(text: str) -> frozenset[str]:
    """Return the kinds of cues in a folded text (see `research.core.text.quantities.fold_text`)."""
    return frozenset(
        kind for kind, patterns in _cue_patterns().items() if any(pattern.search(text) for pattern in patterns)
    )
