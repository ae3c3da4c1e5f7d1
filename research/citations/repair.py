"""Sentences taken out of an answer's Markdown, or put in other words, with all around them kept.

What is to go is found by its letters, so that the marks of Markdown around it do not matter. Each step
is proved: unless the tree has afterwards exactly the sentences that it should have, it is not taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from research.citations.marking import pieces
from research.citations.markup import answer_tree
from research.citations.numbering import NumberedSpan
from research.core.records import Span

_FIRST = 0xF0000  # placeholders: one for the end of each span
_MARK = "[\U000f0000-\U0010ffff]"
_OPENERS = "“‘「『（(【《\"'*_~`"
_CLOSERS = "。．.!！?？…;；,，、:：”’」』）)】》\"'*_~`"
_EMPHASIS = re.compile(r"\*\*|__|~~|[*_`]")
_ITEM = re.compile(r"^(?P<lead>[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]|$)")
_BELONGING = re.compile(rf"(?:[ \t]+(?={_MARK})|[{re.escape(_CLOSERS)}]|{_MARK})*")
_RULE = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~@&])")


class Mended(NamedTuple):
    """Spans after some of their sentences were changed. `done` are the places of those that were."""

    spans: tuple[Span, ...]
    done: frozenset[int]


def mended(spans: Sequence[Span], changes: Mapping[int, str]) -> Mended:
    """A run of Markdown spans whose sentences at some places are others, or are gone where "" is given.

    A row of a table goes whole. What loses all its content goes with it: an item, a heading.
    """
    text = "".join(span.text + chr(_FIRST + at) for at, span in enumerate(spans))
    texts = _sentences(text, spans)
    empty = _empty(text)
    done: set[int] = set()
    kept = list(range(len(texts)))  # the places of the sentences that are left
    for place in sorted(changes, reverse=True):
        new = changes[place]
        expected = [
            texts[at] if at != place else _letters(new) for at in kept if new or at != place
        ]
        for tried in _tries(
            text, texts[place], sum(texts[at] == texts[place] for at in kept if at < place), new
        ):
            if _sentences(tried, spans) == expected:
                text = tried
                kept = [at for at in kept if new or at != place]
                texts[place] = _letters(new) if new else texts[place]
                done.add(place)
                break
    if done:
        text = _without(text, _empty(text) - empty)
    return Mended(tuple(_spans(text, spans)), frozenset(done))


def _sentences(text: str, spans: Sequence[Span]) -> list[str]:
    """The letters of each sentence of a text with placeholders."""
    numbered = [NumberedSpan(span=span) for span in _spans(text, spans)]
    return [_letters(piece.text) for piece in pieces(answer_tree(numbered))]


def _spans(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The spans that a text with placeholders stands for. One whose end is gone is part of the next."""
    parts = re.split(f"({_MARK})", text)
    for words, mark in zip(parts[::2], parts[1::2], strict=False):
        span = spans[ord(mark) - _FIRST]
        if words or span.cites or span.unsourced:
            yield span.model_copy(update={"text": words})
    if parts[-1] and spans:
        yield spans[-1].model_copy(update={"text": parts[-1], "cites": (), "unsourced": False})


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _tries(text: str, letters: str, nth: int, new: str) -> Iterator[str]:
    """The text with one sentence changed, by each place at which it may stand."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if "|" in line and not new and letters and _letters(line) == letters:
            yield "\n".join(_rowless(lines, at))
    places = [at for at, char in enumerate(text) if char.isalnum()]
    flat = "".join(text[at] for at in places)
    starts, at = [], flat.find(letters) if letters else -1
    while at >= 0:
        starts.append(at)
        at = flat.find(letters, at + 1)
    for start in sorted(starts, key=lambda s: abs(starts.index(s) - nth)):
        begin, end = places[start], places[start + len(letters) - 1] + 1
        yield _cut(text, begin, end, new)


def _rowless(lines: Sequence[str], at: int) -> list[str]:
    """A table without a row, and without its head if that was the last. The ends of spans stay."""
    marks = "".join(re.findall(_MARK, lines[at]))
    left = [*lines[:at], *lines[at + 1 :]]
    alone = at >= 2 and _RULE.match(re.sub(_MARK, "", lines[at - 1]))
    more = at + 1 < len(lines) and "|" in lines[at + 1]
    if alone and not more:
        left = [*lines[: at - 2], *lines[at + 1 :]]
        marks = "".join(re.findall(_MARK, "".join(lines[at - 2 : at])))
        return [*left[: at - 2], marks, *left[at - 2 :]] if marks else left
    return left


def _cut(text: str, begin: int, end: int, new: str) -> str:
    """A text without a stretch and the marks that belong to it; `new` in its place."""
    begin = len(text[:begin].rstrip(_OPENERS))
    if behind := _BELONGING.match(text, end):
        end = behind.end()
    inside = text[begin:end]
    kept = "".join(_unpaired(inside))
    before, after = text[:begin], text[end:]
    if new and "|" in inside:
        return text  # a row of a table: its cells cannot be told apart
    if new:
        cites = "".join(re.findall(_MARK, inside))
        return before + _SPECIAL.sub(r"\\\1", new) + cites + kept + after
    if kept:
        before = before.rstrip(" ")
    if before.endswith((" ", "\n")) or not before:
        after = after.removeprefix(" ")
    lines = (before + kept + after).split("\n")
    at = (before + kept).count("\n")
    bare = re.sub(_MARK, "", lines[at])
    item = _ITEM.match(bare + " ")
    if not _letters(bare[item.end() :] if item else bare):
        if item and at + 1 < len(lines) and _deeper(lines[at + 1], bare):
            return text  # it has items of its own
        del lines[at]
        if at and at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at]
    return "\n".join(lines)


def _deeper(line: str, than: str) -> bool:
    def indent(text: str) -> int:
        return len(text) - len(text.lstrip(" \t"))

    return bool(line.strip()) and indent(line) > indent(than)


def _unpaired(text: str) -> Iterator[str]:
    """The marks of emphasis in a stretch whose other one lies outside of it."""
    found = _EMPHASIS.findall(text)
    for mark in dict.fromkeys(found):
        if found.count(mark) % 2:
            yield mark


def _headings(text: str) -> list[tuple[int, int, bool]]:
    """The line and level of each heading, and whether nothing but headings stands under it."""
    lines = [re.sub(_MARK, "", line) for line in text.split("\n")]
    found = [
        (at, len(match[1])) for at, line in enumerate(lines) if (match := _HEADING.match(line))
    ]
    titles = {at for at, _ in found}
    out = []
    for n, (at, level) in enumerate(found):
        end = next((a for a, other in found[n + 1 :] if other <= level), len(lines))
        own = (line for k, line in enumerate(lines[at + 1 : end], at + 1) if k not in titles)
        out.append((at, level, not any(line.strip() for line in own)))
    return out


def _empty(text: str) -> set[int]:
    """Which of the headings, counted from 0, are empty."""
    return {n for n, (_, _, empty) in enumerate(_headings(text)) if empty}


def _without(text: str, headings: set[int]) -> str:
    """A text without some of its headings; the ends of spans stay."""
    lines = text.split("\n")
    gone = {at for n, (at, _, _) in enumerate(_headings(text)) if n in headings}
    kept = [
        "".join(re.findall(_MARK, line)) if at in gone else line for at, line in enumerate(lines)
    ]
    return "\n".join(kept)
