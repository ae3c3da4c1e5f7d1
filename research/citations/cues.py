"""Words that retract or limit a statement: denial, rumour, end, plan, exception, question,
condition.

They are read from `data/cues.tsv` (sort, language, regular expression on folded text). If nearly
all words of a claim stand in a sentence with such a word, and the claim omits it, the sentence may
mean the contrary.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from research import data


@cache
def _cue_patterns() -> dict[str, list[re.Pattern[str]]]:
    """Compile the patterns of each sort of cue, one per language: a joint pattern is ten times
    slower."""
    cues_by_sort: dict[str, dict[str, list[str]]] = {}
    for sort, language, cue in data.rows("cues.tsv"):
        cues_by_sort.setdefault(sort, {}).setdefault(language, []).append(cue)
    return {
        sort: [
            re.compile("|".join(cues) if language == "zh" else rf"\b(?:{'|'.join(cues)})\b")
            for language, cues in languages.items()
        ]
        for sort, languages in cues_by_sort.items()
    }


@lru_cache(4_096)
def find_cues(text: str) -> frozenset[str]:
    """Return the sorts of cues in a text that was folded by
    `research.core.text.quantities.fold_text`."""
    return frozenset(
        sort for sort, patterns in _cue_patterns().items() if any(pattern.search(text) for pattern in patterns)
    )
