"""Words that take a statement back or bound it: a denial, a rumour, an end, a plan, an exception, a
question, a condition.

They are read from `data/cues.tsv` (sort, language, regular expression on folded text). A claim whose words
nearly all stand in a sentence with such a word, which the claim leaves out, may say the contrary.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from research import data


@cache
def _cue_patterns() -> dict[str, list[re.Pattern[str]]]:
    """The patterns of each sort of cue, one for each language: a joint one is ten times slower."""
    sorts: dict[str, dict[str, list[str]]] = {}
    for sort, language, cue in data.rows("cues.tsv"):
        sorts.setdefault(sort, {}).setdefault(language, []).append(cue)
    return {
        sort: [
            re.compile("|".join(cues) if language == "zh" else rf"\b(?:{'|'.join(cues)})\b")
            for language, cues in languages.items()
        ]
        for sort, languages in sorts.items()
    }


@lru_cache(4_096)
def find_cues(text: str) -> frozenset[str]:
    """The sorts of cues in a text as `research.core.text.quantities.plain` gives it."""
    return frozenset(sort for sort, forms in _cue_patterns().items() if any(form.search(text) for form in forms))
