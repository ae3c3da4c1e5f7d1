"""The passages of a text from outside that speak to a query."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

from research.core.records import Passage, fingerprint
from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import LIGHT_WORDS, is_stop_word, tokenize

MAX_PASSAGE_CHARS = 900  # characters of a passage


def rank_passages(
    text: str, origin: str, query: str, limit: int, row_starts: Collection[int] = ()
) -> tuple[Passage, ...]:
    """The pieces of a text that speak most to a query, the best first; each stands in the text, of
    which each paragraph is a line. `where` the text is from tells its passages from others'. Lines
    that begin at one of `rows` (in characters) are passages by themselves.

    If none has a word of the query, it is how the text begins.
    """
    windows = list(_split_windows(text, row_starts))
    scores = _bm25_scores([text[start:end] for start, end in windows], query)
    ranked = sorted(range(len(windows)), key=lambda n: -scores[n])
    chosen = [n for n in ranked if scores[n] > 0] or ranked[:1]
    return tuple(_make_passage(text, origin, *windows[n]) for n in chosen[: max(limit, 0)])


def _make_passage(text: str, origin: str, start: int, end: int) -> Passage:
    said = text[start:end]
    return Passage(id=fingerprint(origin, str(start), said), text=said, start=start, end=end)


def _bm25_scores(texts: list[str], query: str) -> list[float]:
    """BM25 of each text among the others, with its usual constants; weak words count little."""
    asked = {word: 0.3 if word in LIGHT_WORDS else 1.0 for word in tokenize(query) if not is_stop_word(word)}
    counts = [Counter(tokenize(text)) for text in texts]
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


def _split_windows(text: str, row_starts: Collection[int]) -> Iterator[tuple[int, int]]:
    """Start and end of stretches of whole paragraphs, or of whole sentences where one is too long.

    A short line without a full stop is taken for a heading: it goes with what it stands above.
    """
    open_: list[tuple[int, int]] = []
    for start, end, line in _split_paragraphs(text):
        if line in row_starts:
            if open_:
                yield open_[0][0], open_[-1][1]
            yield start, end
            open_ = []
            continue
        if open_ and end - open_[0][0] > MAX_PASSAGE_CHARS:
            rest = open_[-1:] if len(open_) > 1 and _is_heading(text, *open_[-1]) else []
            kept = open_[: len(open_) - len(rest)]
            yield kept[0][0], kept[-1][1]
            open_ = rest if rest and end - rest[0][0] <= MAX_PASSAGE_CHARS else []
            if rest and not open_:
                yield rest[0]
        open_.append((start, end))
    if open_:
        yield open_[0][0], open_[-1][1]


def _is_heading(text: str, start: int, end: int) -> bool:
    return end - start <= 60 and text[end - 1] not in "。！？；，.!?;,:：…"


def _split_paragraphs(text: str) -> Iterator[tuple[int, int, int]]:
    """Start and end of paragraphs, and of the parts of those that are too long for one passage; and
    where the line begins."""
    for line in re.finditer(r"[^\n]+", text):
        start, end = line.span()
        while end - start > MAX_PASSAGE_CHARS:
            cut = _find_cut(text, start)
            yield start, cut, line.start()
            start = cut + (text[cut] == " ")
        yield start, end, line.start()


def _find_cut(text: str, start: int) -> int:
    """Where a passage that begins at `start` ends: with a sentence, else with a word."""
    last = start + MAX_PASSAGE_CHARS
    ends = [*sentence_ends(text, start, last)]
    if ends and ends[-1] > start + MAX_PASSAGE_CHARS // 3:
        return ends[-1]
    space = text.rfind(" ", start + MAX_PASSAGE_CHARS // 3, last)
    return space if space > 0 else last
