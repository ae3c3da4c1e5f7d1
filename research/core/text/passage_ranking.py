"""Selection of the passages of a text that are relevant to a query."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator

from research.core.records import Passage, fingerprint
from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import LIGHT_WORDS, is_stop_word, tokenize

MAX_PASSAGE_CHARS = 900


def rank_passages(
    text: str, origin: str, query: str, limit: int, row_starts: Collection[int] = ()
) -> tuple[Passage, ...]:
    """Return the passages of a text that are most relevant to a query, the best first.

    Each line of the text is a paragraph. `origin` goes into the ids, which differ between texts.
    Lines that begin at one of `row_starts` (characters) are passages of their own. If no passage
    contains a word of the query, the first one is returned.
    """
    windows = list(_split_windows(text, row_starts))
    scores = _bm25_scores([text[start:end] for start, end in windows], query)
    ranked = sorted(range(len(windows)), key=lambda n: -scores[n])
    selected = [n for n in ranked if scores[n] > 0] or ranked[:1]
    return tuple(_make_passage(text, origin, *windows[n]) for n in selected[: max(limit, 0)])


def _make_passage(text: str, origin: str, start: int, end: int) -> Passage:
    passage_text = text[start:end]
    return Passage(id=fingerprint(origin, str(start), passage_text), text=passage_text, start=start, end=end)


def _bm25_scores(texts: list[str], query: str) -> list[float]:
    """Return the BM25 score of each text, with usual constants; light words count less."""
    query_weights = {word: 0.3 if word in LIGHT_WORDS else 1.0 for word in tokenize(query) if not is_stop_word(word)}
    counts = [Counter(tokenize(text)) for text in texts]
    sizes = [count.total() for count in counts]
    mean_size = sum(sizes) / max(len(sizes), 1) or 1.0
    document_counts = {word: sum(word in count for count in counts) for word in query_weights}
    weights = {
        word: weight * math.log(1 + (len(texts) - document_counts[word] + 0.5) / (document_counts[word] + 0.5))
        for word, weight in query_weights.items()
    }
    return [
        sum(
            weight * count[word] * 2.2 / (count[word] + 1.2 * (0.25 + 0.75 * size / mean_size))
            for word, weight in weights.items()
        )
        for count, size in zip(counts, sizes, strict=True)
    ]


def _split_windows(text: str, row_starts: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield start and end of windows of whole paragraphs, or of sentences of a long paragraph.

    A short line without a full stop counts as a heading and stays with the text below it.
    """
    pending: list[tuple[int, int]] = []
    for start, end, line in _split_paragraphs(text):
        if line in row_starts:
            if pending:
                yield pending[0][0], pending[-1][1]
            yield start, end
            pending = []
            continue
        if pending and end - pending[0][0] > MAX_PASSAGE_CHARS:
            rest = pending[-1:] if len(pending) > 1 and _is_heading(text, *pending[-1]) else []
            complete = pending[: len(pending) - len(rest)]
            yield complete[0][0], complete[-1][1]
            pending = rest if rest and end - rest[0][0] <= MAX_PASSAGE_CHARS else []
            if rest and not pending:
                yield rest[0]
        pending.append((start, end))
    if pending:
        yield pending[0][0], pending[-1][1]


def _is_heading(text: str, start: int, end: int) -> bool:
    return end - start <= 60 and text[end - 1] not in "。！？；，.!?;,:：…"


def _split_paragraphs(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and start of the line for each paragraph, or part of a long one."""
    for line in re.finditer(r"[^\n]+", text):
        start, end = line.span()
        while end - start > MAX_PASSAGE_CHARS:
            cut = _find_cut(text, start)
            yield start, cut, line.start()
            start = cut + (text[cut] == " ")
        yield start, end, line.start()


def _find_cut(text: str, start: int) -> int:
    """Return the end of a passage that begins at `start`: after a sentence, else after a word."""
    last = start + MAX_PASSAGE_CHARS
    ends = [*sentence_ends(text, start, last)]
    if ends and ends[-1] > start + MAX_PASSAGE_CHARS // 3:
        return ends[-1]
    space = text.rfind(" ", start + MAX_PASSAGE_CHARS // 3, last)
    return space if space > 0 else last
