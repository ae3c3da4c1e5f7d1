"""Boundaries of sentences and clauses, and line breaks within sentences.

`split_sentences` is exact; `find_sentence_ends` is fast and prefers missing an end to a wrong one:
for splitting long texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise

import pysbd

from research.core.text.decimals import pad_decimals
from research.core.text.tokenizer import HAN_RANGES

_SEGMENTER = pysbd.Segmenter(language="en", clean=False)

# A Chinese full stop always ends a sentence; a Latin one only after a lower-case word of three
# letters or more (so not after "Dr.", "U.S.", "No.", "e.g.") and before a capital or Han character.
# Longer abbreviations are listed.
_SENTENCE_END_PATTERN = re.compile(
    r"[。！？!?；…]+[”’」』）)\"']*|(?:(?<=[a-z]{3})(?<!Prof)(?<!Capt)(?<!Dept)(?<!approx)|(?<=\d%)|(?<=[\d)]{2}))\.[”’)\"']*(?=\s+[\"“‘(]?[A-Z0-9\u4e00-\u9fff])"
)
_LOOKAHEAD_CHARS = 3  # characters behind a full stop that decide whether it is one


def find_sentence_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the offsets in `text[start:end]` right after a sentence, in order. Prefers missing an
    end to a wrong one; ends of lines and of the text are not included."""
    last = len(text) if end is None else end
    ends = (match.end() for match in _SENTENCE_END_PATTERN.finditer(text, start, last + _LOOKAHEAD_CHARS))
    return (position for position in ends if position <= last)


# End of a clause; not the comma in a number, or the point in a number or URL.
CLAUSE_END_PATTERN = re.compile(r"[，。；？！;?!\n]+|,(?!\d)|\.(?=\s|$)")


@lru_cache(4096)
def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return start and end (characters) of each sentence, in order, without outer white space.

    A line break ends a sentence unless a layout made it; within a line pysbd decides.
    """
    spans: list[tuple[int, int]] = []
    text = replace_soft_breaks(text)
    for line in re.finditer(r"[^\n]+", text):
        spans += _split_line(text, line.start(), line.end())
    return tuple(_attach_closing_marks(text, spans))


_WINDOW_CHARS = 3_000  # characters per call of pysbd, whose time grows with their square
_CONTEXT_CHARS = 500  # characters after a sentence that affect its end: a quotation, a list
_MAX_WINDOW_CHARS = 12_000  # characters; a longer stretch without an end is not a sentence and is cut


def _split_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a line, segmented in windows that each begin with a sentence."""
    size = _WINDOW_CHARS
    while start < end:
        edge = min(start + size, end)
        spans = [*_segment_window(text, start, edge)]
        if edge < end:
            spans = [span for span in spans if span[1] <= edge - _CONTEXT_CHARS]
            if not spans and size < _MAX_WINDOW_CHARS:  # no complete sentence yet
                size *= 2
                continue
        if spans or edge == end:
            yield from spans
        else:
            yield start, start + len(text[start:edge].rstrip())
        start, size = (spans[-1][1] if spans and edge < end else edge), _WINDOW_CHARS


def _segment_window(text: str, window_start: int, window_end: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of the sentences that pysbd finds in a window of a text."""
    position = window_start
    for piece in _SEGMENTER.processor(text[window_start:window_end]).process():
        sentence = piece.strip()
        start = text.find(sentence, position, window_end) if sentence else -1
        if start >= 0:
            position = start + len(sentence)
            yield start, position


def _attach_closing_marks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move a stray closing quote or bracket to the sentence it closes."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        same_line = out and "\n" not in text[out[-1][1] : start]
        while same_line and start < end and text[start] in "”’」』）)】》\"'":
            if text[start] in "\"'" and out[-1][1] != start:
                break
            out[-1] = (out[-1][0], start + 1)
            start += 1
        while start < end and text[start].isspace():
            start += 1
        if start < end:
            out.append((start, end))
    return out


# Lines broken by a layout

_WIDE_CHARACTER = rf"[{HAN_RANGES}\u3000-\u30ff\uff00-\uffef]"
_SPACELESS_BREAK_PATTERN = re.compile(
    rf"(?<={_WIDE_CHARACTER})\s*\n\s*(?={_WIDE_CHARACTER}|[“”‘’…—])|(?<=[“”‘’…—])\s*\n\s*(?={_WIDE_CHARACTER})"
)
# A list item, a heading, a table row, or a label before a colon.
_LIST_ITEM_PATTERN = re.compile(r"[-*•·▪●○◦+#>]\s|\||\(?\d+[.)、]\s|[^\s:：][^:：，。,.]{0,20}(?::\s|：)")
_STOPPED_PATTERN = re.compile(r"[。！？；：…!?][”’」』）)]*$")
_HAN_END_PATTERN = re.compile(rf"[{HAN_RANGES}，、（《“]$")
_HAN_START_PATTERN = re.compile(rf"[{HAN_RANGES}，。、）》”]")
_CONTINUING_END_PATTERN = re.compile(r"[，、（《“]$")
_CONTINUING_START_PATTERN = re.compile(r"[，。、）》”；！？]")
_PROSE_PATTERN = re.compile(rf"[.!?][\"'”’)]*(?=\s+[A-Z{HAN_RANGES}]|\s*$)|[。！？]")
_MIN_WRAPPED_COLUMNS = 20  # columns; shorter lines are short on purpose


def join_lines(text: str) -> str:
    """Join a text into one line. A line break between Chinese characters adds no space."""
    return re.sub(r"\s*\n\s*", " ", _SPACELESS_BREAK_PATTERN.sub("", text))


def _display_width(line: str) -> int:
    return len(line) + len(re.findall(_WIDE_CHARACTER, line))


def _line_joiner(before: str, after: str, typical_width: int, is_full: bool) -> str | None:
    """Return the text that joins two lines: "" or " " if a sentence continues, None for an intended
    break.

    `typical_width` (columns) is that of the lines around. With `is_full`, the line `before` has no space
    left for the first word of the line `after`.
    """
    if typical_width < _MIN_WRAPPED_COLUMNS or _display_width(before) < typical_width // 2:
        return None
    if _LIST_ITEM_PATTERN.match(after) or before.startswith(("# ", "## ", "### ", "|")):
        return None
    if _HAN_END_PATTERN.search(before) or _HAN_START_PATTERN.match(after):
        continues = is_full or _CONTINUING_END_PATTERN.search(before) or _CONTINUING_START_PATTERN.match(after)
        return "" if continues and not _STOPPED_PATTERN.search(before) else None
    if after[0].islower():
        return " "
    is_full = is_full and re.search(r"[A-Za-z,'’-]$", before) is not None
    return " " if is_full and not re.match(r"[A-Z][^a-z]*$|\W", after) else None


def unwrap_lines(text: str) -> str:
    """Join the lines that a layout has broken, as in a PDF."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    widths = sorted(_display_width(line) for line in lines if line)
    typical_width = widths[len(widths) * 9 // 10] if widths else 0
    out: list[str] = []
    last = ""
    for line in lines:
        is_full = _display_width(last) >= typical_width * 0.75
        joiner = _line_joiner(last, line, typical_width, is_full) if last and line else None
        if joiner is None:
            out.append(line)
        elif re.search(r"[a-z][-\u00ad\u2010]$", last) and line[0].islower():
            out[-1] = out[-1][:-1] + line
        else:
            out[-1] += joiner + line
        last = line
    return "\n".join(out)


def find_soft_breaks(text: str) -> tuple[int, ...]:
    """Return the offsets of line breaks inside sentences, in any kind of text.

    Unlike `unwrap_lines` this does not assume wrapped lines, since a list also has many. So the
    paragraph must have a full stop, and a line must be continued by a lower-case letter or a comma,
    or be one of several lines without space for the next word.
    """
    breaks: list[int] = []
    offset = 0
    for is_blank, group in groupby(text.split("\n"), key=lambda line: not line.strip()):
        lines = [*group]
        if len(lines) > 1 and not is_blank and _PROSE_PATTERN.search("\n".join(lines)):
            breaks += (offset + position for position in _find_block_breaks(lines))
        offset += sum(map(len, lines)) + len(lines)
    return tuple(breaks)


def replace_soft_breaks(text: str) -> str:
    """Replace line breaks inside sentences by spaces, and pad spaced decimals with zeros, so that
    their point ends no sentence. Offsets stay."""
    text = pad_decimals(text)
    if "\n" not in text:
        return text
    characters = list(text)
    for offset in find_soft_breaks(text):
        characters[offset] = " "
    return "".join(characters)


def _find_block_breaks(block: Sequence[str]) -> Iterator[int]:
    lines = [line.strip() for line in block]
    widest = max(map(_display_width, lines))
    is_full = [
        _display_width(line_before) + _first_word_width(line_after) > widest
        for line_before, line_after in pairwise(lines)
    ]
    is_wrapped = sum(is_full) > 1
    offset = -1
    for line, (line_before, line_after), full_line in zip(block, pairwise(lines), is_full, strict=False):
        offset += len(line) + 1
        if (
            line_before
            and line_after
            and _line_joiner(line_before, line_after, widest, full_line and is_wrapped) is not None
        ):
            yield offset


def _first_word_width(line: str) -> int:
    """Return the columns that the first word of a line needs at the end of the previous one."""
    return 5 if _HAN_START_PATTERN.match(line) else 1 + _display_width(line.split(" ", 1)[0])
