"""The passages of a text from outside that speak to a query."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

from research.core.records import Passage, fingerprint
from research.core.text.sentences import ends as sentence_ends
from research.core.text.words import LIGHT, idle, tokens

WINDOW = 900  # characters of a passage


def passages(
    text: str, where: str, query: str, limit: int, rows: Collection[int] = ()
) -> tuple[Passage, ...]:
    """The pieces of a text that speak most to a query, the best first; each stands in the text, of
    which each paragraph is a line. `where` the text is from tells its passages from others'. Lines
    that begin at one of `rows` (in characters) are passages by themselves.

    If none has a word of the query, it is how the text begins.
    """
    windows = list(_windows(text, rows))
    scores = _scores([text[start:end] for start, end in windows], query)
    ranked = sorted(range(len(windows)), key=lambda n: -scores[n])
    chosen = [n for n in ranked if scores[n] > 0] or ranked[:1]
    return tuple(_passage(text, where, *windows[n]) for n in chosen[: max(limit, 0)])


def _passage(text: str, where: str, start: int, end: int) -> Passage:
    said = text[start:end]
    return Passage(id=fingerprint(where, str(start), said), text=said, start=start, end=end)


def _scores(texts: list[str], query: str) -> list[float]:
    """BM25 of each text among the others, with its usual constants; weak words count little."""
    asked = {word: 0.3 if word in LIGHT else 1.0 for word in tokens(query) if not idle(word)}
    counts = [Counter(tokens(text)) for text in texts]
    sizes = [count.total() for count in counts]
    usual = sum(sizes) / max(len(sizes), 1) or 1.0
    having = {word: sum(word in count for count in counts) for word in asked}
    weights = {
        word: weight * math.log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5))
        for word, weight in asked.items()
    }
    return [
        sum(
            weight * count[word] * 2.2 / (count[word] + 1.2 * (0.25 + 0.75 * size / usual))
            for word, weight in weights.items()
        )
        for count, size in zip(counts, sizes, strict=True)
    ]


def _windows(text: str, rows: Collection[int]) -> Iterator[tuple[int, int]]:
    """Start and end of stretches of whole paragraphs, or of whole sentences where one is too long.

    A short line without a full stop is taken for a heading: it goes with what it stands above.
    """
    open_: list[tuple[int, int]] = []
    for start, end, line in _pieces(text):
        if line in rows:
            if open_:
                yield open_[0][0], open_[-1][1]
            yield start, end
            open_ = []
            continue
        if open_ and end - open_[0][0] > WINDOW:
            rest = open_[-1:] if len(open_) > 1 and _heads(text, *open_[-1]) else []
            kept = open_[: len(open_) - len(rest)]
            yield kept[0][0], kept[-1][1]
            open_ = rest if rest and end - rest[0][0] <= WINDOW else []
            if rest and not open_:
                yield rest[0]
        open_.append((start, end))
    if open_:
        yield open_[0][0], open_[-1][1]


def _heads(text: str, start: int, end: int) -> bool:
    return end - start <= 60 and text[end - 1] not in "。！？；，.!?;,:：…"


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Start and end of paragraphs, and of the parts of those that are too long for one passage; and
    where the line begins."""
    for line in re.finditer(r"[^\n]+", text):
        start, end = line.span()
        while end - start > WINDOW:
            cut = _cut(text, start)
            yield start, cut, line.start()
            start = cut + (text[cut] == " ")
        yield start, end, line.start()


def _cut(text: str, start: int) -> int:
    """Where a passage that begins at `start` ends: with a sentence, else with a word."""
    last = start + WINDOW
    ends = [*sentence_ends(text, start, last)]
    if ends and ends[-1] > start + WINDOW // 3:
        return ends[-1]
    space = text.rfind(" ", start + WINDOW // 3, last)
    return space if space > 0 else last
