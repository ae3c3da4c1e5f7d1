"""Positions of proper names in a text: runs of capitalised words, and Chinese names in the
dictionary. Other Chinese names are not recognised."""

from __future__ import annotations

import re
from functools import lru_cache

from research.core.text import segment
from research.core.text.control_chars import replace_surrogates
from research.core.text.tokenizer import STOP_WORDS, has_han

_WORD_PATTERN = re.compile(r"[^\W\d_]\w*")
_NAME_JOINT_PATTERN = re.compile(r"(?:['’]s)?[\s.&-]+(?:of\s+)?(?:the\s+)?|['’.-]")  # between the words of a name
_NAME_TAGS = ("nr", "ns", "nt", "nz")  # part-of-speech tags of names


@lru_cache(4_000)
def find_latin_names(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of names in scripts with capitals. The first word of a text counts only if
    the next word is also part of the name."""
    runs: list[list[tuple[int, int]]] = []
    end = -1
    for match in _WORD_PATTERN.finditer(text):
        if match[0][0].isupper() and match[0].lower() not in STOP_WORDS:
            if end < 0 or not _NAME_JOINT_PATTERN.fullmatch(text, end, match.start()):
                runs.append([])
            runs[-1].append(match.span())
            end = match.end()
    first = _WORD_PATTERN.search(text)
    return tuple((run[0][0], run[-1][1]) for run in runs if len(run) > 1 or (first and run[0][0] != first.start()))


@lru_cache(4_000)
def find_han_names(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of names of two or more Han characters that the dictionary knows."""
    encodable = replace_surrogates(text, "?")  # the dictionary reads UTF-8
    spans, position = [], 0
    for word, pos_tag in segment.tag(encodable) if has_han(text) else ():
        position = encodable.find(word, position)
        if pos_tag[:2] in _NAME_TAGS and len(word) > 1 and has_han(word):
            spans.append((position, position + len(word)))
        position += len(word)
    return tuple(spans)
