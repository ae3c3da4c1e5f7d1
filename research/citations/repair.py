"""Sentences taken out of an answer's Markdown, or put in other words, with all around them kept.

What is to go is found by its letters, so that the marks of Markdown around it do not matter. Each step
is proved: unless the tree has afterwards exactly the sentences that it should have, it is not taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from research.citations.model_markdown import build_answer_tree
from research.citations.numbering import NumberedSpan
from research.citations.tree_sentences import find_sentences
from research.core.records import Span

_FIRST_PLACEHOLDER = 0xF0000  # placeholders: one for the end of each span
_PLACEHOLDER = "[\U000f0000-\U0010ffff]"
_OPENING_CHARS = "“‘「『（(【《\"'*_~`"
_CLOSING_CHARS = "。．.!！?？…;；,，、:：”’」』）)】》\"'*_~`"
_EMPHASIS = re.compile(r"\*\*|__|~~|[*_`]")
_ITEM = re.compile(r"^(?P<lead>[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]|$)")
_TRAILING_MARKS = re.compile(rf"(?:[ \t]+(?={_PLACEHOLDER})|[{re.escape(_CLOSING_CHARS)}]|{_PLACEHOLDER})*")
_TABLE_RULE = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_MARKDOWN_CHAR = re.compile(r"([\\`*_\[\]<>|#~@&])")


class RepairedSpans(NamedTuple):
    """Spans after some of their sentences were changed. `done` are the places of those that were."""

    spans: tuple[Span, ...]
    repaired_indices: frozenset[int]


def repair_spans(spans: Sequence[Span], changes: Mapping[int, str]) -> RepairedSpans:
    """A run of Markdown spans whose sentences at some places are others, or are gone where "" is given.

    A row of a table goes whole. What loses all its content goes with it: an item, a heading.
    """
    text = "".join(span.text + chr(_FIRST_PLACEHOLDER + at) for at, span in enumerate(spans))
    texts = _sentence_letters(text, spans)
    empty = _empty_headings(text)
    done: set[int] = set()
    kept = list(range(len(texts)))  # the places of the sentences that are left
    for place in sorted(changes, reverse=True):
        new = changes[place]
        expected = [texts[at] if at != place else _letters_only(new) for at in kept if new or at != place]
        for tried in _candidate_edits(
            text, texts[place], sum(texts[at] == texts[place] for at in kept if at < place), new
        ):
            if _sentence_letters(tried, spans) == expected:
                text = tried
                kept = [at for at in kept if new or at != place]
                texts[place] = _letters_only(new) if new else texts[place]
                done.add(place)
                break
    if done:
        text = _remove_headings(text, _empty_headings(text) - empty)
    return RepairedSpans(tuple(_rebuild_spans(text, spans)), frozenset(done))


def _sentence_letters(text: str, spans: Sequence[Span]) -> list[str]:
    """The letters of each sentence of a text with placeholders."""
    numbered = [NumberedSpan(span=span) for span in _rebuild_spans(text, spans)]
    return [_letters_only(piece.text) for piece in find_sentences(build_answer_tree(numbered))]


def _rebuild_spans(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The spans that a text with placeholders stands for. One whose end is gone is part of the next."""
    parts = re.split(f"({_PLACEHOLDER})", text)
    for words, mark in zip(parts[::2], parts[1::2], strict=False):
        span = spans[ord(mark) - _FIRST_PLACEHOLDER]
        if words or span.cites or span.unsourced:
            yield span.model_copy(update={"text": words})
    if parts[-1] and spans:
        yield spans[-1].model_copy(update={"text": parts[-1], "cites": (), "unsourced": False})


def _letters_only(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _candidate_edits(text: str, letters: str, occurrence: int, replacement: str) -> Iterator[str]:
    """The text with one sentence changed, by each place at which it may stand."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if "|" in line and not replacement and letters and _letters_only(line) == letters:
            yield "\n".join(_remove_row(lines, at))
    places = [at for at, char in enumerate(text) if char.isalnum()]
    flat = "".join(text[at] for at in places)
    starts, at = [], flat.find(letters) if letters else -1
    while at >= 0:
        starts.append(at)
        at = flat.find(letters, at + 1)
    for start in sorted(starts, key=lambda s: abs(starts.index(s) - occurrence)):
        begin, end = places[start], places[start + len(letters) - 1] + 1
        yield _replace_range(text, begin, end, replacement)


def _remove_row(lines: Sequence[str], row_index: int) -> list[str]:
    """A table without a row, and without its head if that was the last. The ends of spans stay."""
    marks = "".join(re.findall(_PLACEHOLDER, lines[row_index]))
    left = [*lines[:row_index], *lines[row_index + 1 :]]
    alone = row_index >= 2 and _TABLE_RULE.match(re.sub(_PLACEHOLDER, "", lines[row_index - 1]))
    more = row_index + 1 < len(lines) and "|" in lines[row_index + 1]
    if alone and not more:
        left = [*lines[: row_index - 2], *lines[row_index + 1 :]]
        marks = "".join(re.findall(_PLACEHOLDER, "".join(lines[row_index - 2 : row_index])))
        return [*left[: row_index - 2], marks, *left[row_index - 2 :]] if marks else left
    return left


def _replace_range(text: str, start: int, end: int, replacement: str) -> str:
    """A text without a stretch and the marks that belong to it; `new` in its place."""
    start = len(text[:start].rstrip(_OPENING_CHARS))
    if behind := _TRAILING_MARKS.match(text, end):
        end = behind.end()
    inside = text[start:end]
    kept = "".join(_unpaired_emphasis(inside))
    before, after = text[:start], text[end:]
    if replacement and "|" in inside:
        return text  # a row of a table: its cells cannot be told apart
    if replacement:
        cites = "".join(re.findall(_PLACEHOLDER, inside))
        return before + _MARKDOWN_CHAR.sub(r"\\\1", replacement) + cites + kept + after
    if kept:
        before = before.rstrip(" ")
    if before.endswith((" ", "\n")) or not before:
        after = after.removeprefix(" ")
    lines = (before + kept + after).split("\n")
    at = (before + kept).count("\n")
    bare = re.sub(_PLACEHOLDER, "", lines[at])
    item = _ITEM.match(bare + " ")
    if not _letters_only(bare[item.end() :] if item else bare):
        if item and at + 1 < len(lines) and _is_deeper(lines[at + 1], bare):
            return text  # it has items of its own
        del lines[at]
        if at and at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at]
    return "\n".join(lines)


def _is_deeper(line: str, reference: str) -> bool:
    def indent(text: str) -> int:
        return len(text) - len(text.lstrip(" \t"))

    return bool(line.strip()) and indent(line) > indent(reference)


def _unpaired_emphasis(text: str) -> Iterator[str]:
    """The marks of emphasis in a stretch whose other one lies outside of it."""
    found = _EMPHASIS.findall(text)
    for mark in dict.fromkeys(found):
        if found.count(mark) % 2:
            yield mark


def _find_headings(text: str) -> list[tuple[int, int, bool]]:
    """The line and level of each heading, and whether nothing but headings stands under it."""
    lines = [re.sub(_PLACEHOLDER, "", line) for line in text.split("\n")]
    found = [(at, len(match[1])) for at, line in enumerate(lines) if (match := _HEADING.match(line))]
    titles = {at for at, _ in found}
    out = []
    for n, (at, level) in enumerate(found):
        end = next((a for a, other in found[n + 1 :] if other <= level), len(lines))
        own = (line for k, line in enumerate(lines[at + 1 : end], at + 1) if k not in titles)
        out.append((at, level, not any(line.strip() for line in own)))
    return out


def _empty_headings(text: str) -> set[int]:
    """Which of the headings, counted from 0, are empty."""
    return {n for n, (_, _, empty) in enumerate(_find_headings(text)) if empty}


def _remove_headings(text: str, headings: set[int]) -> str:
    """A text without some of its headings; the ends of spans stay."""
    lines = text.split("\n")
    gone = {at for n, (at, _, _) in enumerate(_find_headings(text)) if n in headings}
    kept = ["".join(re.findall(_PLACEHOLDER, line)) if at in gone else line for at, line in enumerate(lines)]
    return "\n".join(kept)
