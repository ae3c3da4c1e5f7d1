"""Rows and lines of a PDF page, put together from its words."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from research.core.text.tokenizer import HAN_RANGES
from research.readers.pdf_words import RIGHT_TO_LEFT, Word, turn_upright

_WIDE = rf"[{HAN_RANGES}\u3000-\u30ff\uff00-\uffef]"
_WIDE_START = re.compile(_WIDE)
_WIDE_END = re.compile(rf"{_WIDE}$")
_CURLY_START, _CURLY_END = re.compile("[“”‘’…—]"), re.compile("[“”‘’…—]$")
_SMALL = 0.8  # of the usual font size; smaller words may be raised or lowered
CHUNK_GAP = 0.6  # in font sizes; wider gaps than this, and than the usual gap of the row, end a chunk
_CHUNK_GAP_RATIO = 1.8
MAX_WORD_GAP = 0.85  # in font sizes
_SAME_BASELINE = 0.12  # in font sizes; rows of columns side by side may differ by little more


class Chunk(NamedTuple):
    """Words of a row without a wide gap between them."""

    words: tuple[Word, ...]
    x0: float
    x1: float

    @property
    def text(self) -> str:
        """Words joined as written: Chinese without spaces."""
        return join_words(self.words)


class Row(NamedTuple):
    """Words on one baseline, from left to right, as chunks. `size` is the font size of most characters."""

    chunks: tuple[Chunk, ...]
    y0: float
    y1: float
    baseline: float
    size: float

    @property
    def x0(self) -> float:
        return self.chunks[0].x0

    @property
    def x1(self) -> float:
        return max(chunk.x1 for chunk in self.chunks)

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(word for chunk in self.chunks for word in chunk.words)

    @property
    def text(self) -> str:
        return join_words(self.words)


def upright_words(words: Iterable[Word]) -> list[list[Word]]:
    """Group words by direction, the most frequent one first, each turned so that it is upright."""
    groups: dict[int, list[Word]] = {}
    for word in words:
        box = turn_upright((word.x0, word.y0, word.x1, word.y1), word.angle)
        groups.setdefault(word.angle, []).append(word._replace(x0=box[0], y0=box[1], x1=box[2], y1=box[3]))
    return sorted(groups.values(), key=lambda group: -sum(len(word.text) for word in group))


def usual_size(words: Iterable[Word]) -> float:
    """Return the font size of most characters, to half a point; 0 if there are none."""
    counts: Counter[float] = Counter()
    for word in words:
        counts[round(word.size * 2) / 2] += len(word.text)
    return counts.most_common(1)[0][0] if counts else 0.0


def build_rows(words: Sequence[Word]) -> list[Row]:
    """Group upright words by their baselines, from the top down."""
    usual = usual_size(words)
    groups: list[list[Word]] = []
    small_words: list[Word] = []
    for word in sorted(words, key=lambda word: word.baseline):
        if word.size < _SMALL * usual:
            small_words.append(word)
        elif groups and word.baseline - groups[-1][0].baseline <= _SAME_BASELINE * min(word.size, groups[-1][0].size):
            groups[-1].append(word)
        else:
            groups.append([word])
    groups = _add_small_words(groups, small_words)
    return sorted((make_row(group) for group in groups), key=lambda row: (row.baseline, row.x0))


def _add_small_words(groups: list[list[Word]], small_words: list[Word]) -> list[list[Word]]:
    """Add raised and lowered words to the rows they touch; other small words get rows of their own."""
    added: list[list[Word]] = []
    first = 0
    for word in small_words:
        while first < len(groups) and groups[first][0].baseline < word.baseline - 2 * word.size:
            first += 1
        touched = next((group for group in _groups_near(groups, first, word) if _touches_any(word, group)), None)
        if touched is not None:
            touched.append(word)
        elif added and word.baseline - added[-1][0].baseline <= _SAME_BASELINE * word.size:
            added[-1].append(word)
        else:
            added.append([word])
    return [*groups, *added]


def _groups_near(groups: Sequence[list[Word]], first: int, word: Word) -> Iterator[list[Word]]:
    """Yield the groups from `first` on that are not far below a word."""
    for group in groups[first:]:
        if group[0].baseline > word.baseline + 2 * word.size:
            return
        yield group


def _touches_any(word: Word, group: Sequence[Word]) -> bool:
    """Return True if a small word stands beside a larger one, not more than half a line higher or lower."""
    return any(
        other.size > word.size
        and abs(word.baseline - other.baseline) < 0.5 * other.size
        and -0.3 * other.size < max(word.x0 - other.x1, other.x0 - word.x1) < 0.3 * other.size
        for other in group
    )


_left_edge = attrgetter("x0")


def make_row(words: Iterable[Word]) -> Row:
    """Make a row of words, which are on one baseline."""
    ordered = sorted(words, key=_left_edge)
    size = ordered[0].size
    if any(word.size != size for word in ordered):
        size = usual_size(ordered)
    gaps = [after.x0 - before.x1 for before, after in pairwise(ordered)]
    usual_gap = statistics.median_low(gaps) if len(gaps) > 1 else 0.0
    limit = min(max(CHUNK_GAP * size, _CHUNK_GAP_RATIO * usual_gap), MAX_WORD_GAP * size)
    if len(gaps) == 1:
        limit = MAX_WORD_GAP * size  # there is no other gap to compare it with
    chunks: list[list[Word]] = [[ordered[0]]]
    for word, gap in zip(ordered[1:], gaps, strict=True):
        if gap > limit:
            chunks.append([])
        chunks[-1].append(word)
    large = [word for word in ordered if word.size >= _SMALL * size] or ordered
    return Row(
        tuple(Chunk(tuple(chunk), chunk[0].x0, max([word.x1 for word in chunk])) for chunk in chunks),
        min([word.y0 for word in large]),
        max([word.y1 for word in large]),
        statistics.median_low([word.baseline for word in large]),
        size,
    )


def join_words(words: Sequence[Word]) -> str:
    """Join words of a row to its text: a space between Latin words, none between Chinese characters."""
    if sum(bool(RIGHT_TO_LEFT.match(word.text)) for word in words) * 2 > len(words):
        words = words[::-1]
    return "".join(_with_joiners(words))


def _with_joiners(words: Sequence[Word]) -> Iterator[str]:
    last: Word | None = None
    for word in words:
        if last is not None and not _joins(last, word):
            yield " "
        yield word.text
        last = word


def _joins(last: Word, word: Word) -> bool:
    """Return True if no space belongs between two words."""
    before, after = _WIDE_END.search(last.text), _WIDE_START.match(word.text)
    if (before and after) or (before and _CURLY_START.match(word.text)) or (after and _CURLY_END.search(last.text)):
        return True
    # Typesetters put a thin gap between Chinese and Latin characters; it is no space of the text.
    gap = word.x0 - last.x1
    if last.size < _SMALL * word.size and last.text.isdigit():  # the figure of a note before its text
        return False
    return gap < 0.1 * word.size * (not last.before_space) or (
        bool(before or after) and not last.before_space and gap < CHUNK_GAP * word.size
    )
