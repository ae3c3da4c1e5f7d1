"""Where sentences and their clauses begin and end, and which line breaks stand within them.

`sentences` is exact; `ends` is fast and rather finds none than a wrong one: for cutting long texts.
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

# A Chinese full stop ends a sentence for certain; a Latin one only after a lower-case word of three
# letters or more (so not after "Dr.", "U.S.", "No.", "e.g.") and before a capital or Han character.
# Longer abbreviations are listed.
_SENTENCE_END_PATTERN = re.compile(
    r"[。！？!?；…]+[”’」』）)\"']*|(?:(?<=[a-z]{3})(?<!Prof)(?<!Capt)(?<!Dept)(?<!approx)|(?<=\d%)|(?<=[\d)]{2}))\.[”’)\"']*(?=\s+[\"“‘(]?[A-Z0-9\u4e00-\u9fff])"
)
_LOOKAHEAD_CHARS = 3  # characters behind a full stop that tell whether it is one


def find_sentence_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The places in `text[start:end]` behind which a sentence has ended, in order. Rather none than a
    wrong one; the end of the text is not among them, nor that of a line."""
    last = len(text) if end is None else end
    found = (match.end() for match in _SENTENCE_END_PATTERN.finditer(text, start, last + _LOOKAHEAD_CHARS))
    return (at for at in found if at <= last)


# Where a clause ends: no comma of a number, no point of one or of an address.
CLAUSE_END_PATTERN = re.compile(r"[，。；？！;?!\n]+|,(?!\d)|\.(?=\s|$)")


@lru_cache(4096)
def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Start and end (characters) of each sentence, in order, white space trimmed off.

    A line break ends a sentence unless it is one that a layout made; within a line pysbd decides.
    """
    spans: list[tuple[int, int]] = []
    text = replace_soft_breaks(text)
    for line in re.finditer(r"[^\n]+", text):
        spans += _split_line(text, line.start(), line.end())
    return tuple(_attach_closing_marks(text, spans))


_WINDOW_CHARS = 3_000  # characters that pysbd is given at a time: what it takes grows with their square
_CONTEXT_CHARS = 500  # characters behind a sentence that have a say in where it ends: a quotation, a list
_MAX_WINDOW_CHARS = 12_000  # characters; what goes on for longer without an end is no sentence, and is cut


def _split_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a line, found in windows of which each begins with a sentence."""
    size = _WINDOW_CHARS
    while start < end:
        edge = min(start + size, end)
        found = [*_segment_window(text, start, edge)]
        if edge < end:
            found = [span for span in found if span[1] <= edge - _CONTEXT_CHARS]
            if not found and size < _MAX_WINDOW_CHARS:  # not one whole sentence
                size *= 2
                continue
        if found or edge == end:
            yield from found
        else:
            yield start, start + len(text[start:edge].rstrip())
        start, size = (found[-1][1] if found and edge < end else edge), _WINDOW_CHARS


def _segment_window(text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    for piece in _SEGMENTER.processor(text[at:end]).process():
        core = piece.strip()
        start = text.find(core, at, end) if core else -1
        if start >= 0:
            at = start + len(core)
            yield start, at


def _attach_closing_marks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Gives a stray closing quote or bracket back to the sentence it closes."""
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


# Lines that a layout broke

_WIDE_CHARACTER = rf"[{HAN_RANGES}\u3000-\u30ff\uff00-\uffef]"
_SPACELESS_BREAK_PATTERN = re.compile(
    rf"(?<={_WIDE_CHARACTER})\s*\n\s*(?={_WIDE_CHARACTER}|[“”‘’…—])|(?<=[“”‘’…—])\s*\n\s*(?={_WIDE_CHARACTER})"
)
# An item of a list, a heading, a row of a table, or what has a name before a colon.
_LIST_ITEM_PATTERN = re.compile(r"[-*•·▪●○◦+#>]\s|\||\(?\d+[.)、]\s|[^\s:：][^:：，。,.]{0,20}(?::\s|：)")
_STOPPED_PATTERN = re.compile(r"[。！？；：…!?][”’」』）)]*$")
_HAN_END_PATTERN = re.compile(rf"[{HAN_RANGES}，、（《“]$")
_HAN_START_PATTERN = re.compile(rf"[{HAN_RANGES}，。、）》”]")
_CONTINUING_END_PATTERN = re.compile(r"[，、（《“]$")
_CONTINUING_START_PATTERN = re.compile(r"[，。、）》”；！？]")
_PROSE_PATTERN = re.compile(rf"[.!?][\"'”’)]*(?=\s+[A-Z{HAN_RANGES}]|\s*$)|[。！？]")
_MIN_WRAPPED_COLUMNS = 20  # columns; shorter lines are as long as they are meant to be


def join_lines(text: str) -> str:
    """A text in one line. A line break between Chinese characters is no space."""
    return re.sub(r"\s*\n\s*", " ", _SPACELESS_BREAK_PATTERN.sub("", text))


def _display_width(line: str) -> int:
    return len(line) + len(re.findall(_WIDE_CHARACTER, line))


def _line_joiner(before: str, after: str, typical_width: int, is_full: bool) -> str | None:
    """What joins two lines: "" or " " if a sentence runs on, None if a new line is meant.

    `usual` is how wide (in columns) the lines around are; `full` says that `before` has no room left.
    """
    if typical_width < _MIN_WRAPPED_COLUMNS or _display_width(before) < typical_width // 2:
        return None
    if _LIST_ITEM_PATTERN.match(after) or before.startswith(("# ", "## ", "### ", "|")):
        return None
    if _HAN_END_PATTERN.search(before) or _HAN_START_PATTERN.match(after):
        runs = is_full or _CONTINUING_END_PATTERN.search(before) or _CONTINUING_START_PATTERN.match(after)
        return "" if runs and not _STOPPED_PATTERN.search(before) else None
    if after[0].islower():
        return " "
    is_full = is_full and re.search(r"[A-Za-z,'’-]$", before) is not None
    return " " if is_full and not re.match(r"[A-Z][^a-z]*$|\W", after) else None


def unwrap_lines(text: str) -> str:
    """A text of which the lines were broken by a layout, as of a PDF, with those that belong together
    joined."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    widths = sorted(_display_width(line) for line in lines if line)
    usual = widths[len(widths) * 9 // 10] if widths else 0
    out: list[str] = []
    last = ""
    for line in lines:
        full = _display_width(last) >= usual * 0.75
        glue = _line_joiner(last, line, usual, full) if last and line else None
        if glue is None:
            out.append(line)
        elif re.search(r"[a-z][-\u00ad\u2010]$", last) and line[0].islower():
            out[-1] = out[-1][:-1] + line
        else:
            out[-1] += glue + line
        last = line
    return "\n".join(out)


def find_soft_breaks(text: str) -> tuple[int, ...]:
    """Where line breaks stand inside sentences, in a text of any kind.

    Unlike `unwrapped` this does not take the lines for broken: a list has as many as a paragraph. So
    the paragraph must have a full stop, and a line must be carried on by a small letter or a comma,
    or be one of several that have no room for what follows.
    """
    found: list[int] = []
    at = 0
    for blank, group in groupby(text.split("\n"), key=lambda line: not line.strip()):
        lines = [*group]
        if len(lines) > 1 and not blank and _PROSE_PATTERN.search("\n".join(lines)):
            found += (at + place for place in _find_block_breaks(lines))
        at += sum(map(len, lines)) + len(lines)
    return tuple(found)


def replace_soft_breaks(text: str) -> str:
    """A text with a space for each line break that stands inside a sentence, and zeros before decimals
    that a layout has spaced apart, whose point ends no sentence; offsets stay."""
    text = pad_decimals(text)
    if "\n" not in text:
        return text
    flowing = list(text)
    for at in find_soft_breaks(text):
        flowing[at] = " "
    return "".join(flowing)


def _find_block_breaks(block: Sequence[str]) -> Iterator[int]:
    lines = [line.strip() for line in block]
    usual = max(map(_display_width, lines))
    filled = [_display_width(one) + _first_word_width(other) > usual for one, other in pairwise(lines)]
    several = sum(filled) > 1
    at = -1
    for line, (one, other), full in zip(block, pairwise(lines), filled, strict=False):
        at += len(line) + 1
        if one and other and _line_joiner(one, other, usual, full and several) is not None:
            yield at


def _first_word_width(line: str) -> int:
    """The columns that would have been needed for the beginning of a line in the one before."""
    return 5 if _HAN_START_PATTERN.match(line) else 1 + _display_width(line.split(" ", 1)[0])
