"""Removal or replacement of sentences in the Markdown of an answer; all other text is kept.

A sentence is located by its letters only, so that Markdown marks in it do not matter. The end of
each span is marked by a placeholder. Each edit is verified: it is applied only if the parsed tree
then has exactly the expected sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from research.citations.answer_tree import build_answer_tree
from research.citations.numbering import NumberedSpan
from research.citations.placement import CITE_PLACEHOLDER, cite_placeholder, placeholder_index
from research.citations.tree_sentences import find_sentences
from research.core.records import Span

_OPENING_CHARS = "“‘「『（(【《\"'*_~`"
_CLOSING_CHARS = "。．.!！?？…;；,，、:：”’」』）)】》\"'*_~`"
_EMPHASIS = re.compile(r"\*\*|__|~~|[*_`]")
_ITEM = re.compile(r"^(?P<lead>[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]|$)")
_TRAILING_MARKS = re.compile(rf"(?:[ \t]+(?={CITE_PLACEHOLDER})|[{re.escape(_CLOSING_CHARS)}]|{CITE_PLACEHOLDER})*")
_TABLE_RULE = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_MARKDOWN_CHAR = re.compile(r"([\\`*_\[\]<>|#~@&])")


class RepairedSpans(NamedTuple):
    """Spans after some sentences were changed, and the indices of the changed sentences."""

    spans: tuple[Span, ...]
    repaired_indices: frozenset[int]


def repair_spans(spans: Sequence[Span], changes: Mapping[int, str]) -> RepairedSpans:
    """Replace sentences in a run of Markdown spans, or remove them.

    `changes` maps the index of a sentence to its new text, or to "" to remove it. A table row is
    removed as a whole. A list item or heading that loses all its content is removed too.
    """
    text = "".join(span.text + cite_placeholder(at) for at, span in enumerate(spans))
    texts = _sentence_letters(text, spans)
    empty_before = _empty_headings(text)
    repaired: set[int] = set()
    remaining = list(range(len(texts)))  # indices of the remaining sentences
    for index in sorted(changes, reverse=True):
        replacement = changes[index]
        expected = [
            texts[at] if at != index else letters_only(replacement) for at in remaining if replacement or at != index
        ]
        for candidate in _candidate_edits(
            text, texts[index], sum(texts[at] == texts[index] for at in remaining if at < index), replacement
        ):
            if _sentence_letters(candidate, spans) == expected:
                text = candidate
                remaining = [at for at in remaining if replacement or at != index]
                texts[index] = letters_only(replacement) if replacement else texts[index]
                repaired.add(index)
                break
    if repaired:
        text = _remove_headings(text, _empty_headings(text) - empty_before)
    return RepairedSpans(tuple(_rebuild_spans(text, spans)), frozenset(repaired))


def _sentence_letters(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the letters of each sentence of a text with placeholders."""
    numbered = [NumberedSpan(span=span) for span in _rebuild_spans(text, spans)]
    return [letters_only(sentence.text) for sentence in find_sentences(build_answer_tree(numbered))]


def _rebuild_spans(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Rebuild the spans of a text with placeholders; a span whose placeholder is gone joins the next."""
    parts = re.split(f"({CITE_PLACEHOLDER})", text)
    for words, mark in zip(parts[::2], parts[1::2], strict=False):
        span = spans[placeholder_index(mark)]
        if words or span.references or span.unsourced:
            yield span.model_copy(update={"text": words})
    if parts[-1] and spans:
        yield spans[-1].model_copy(update={"text": parts[-1], "references": (), "unsourced": False})


def letters_only(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(char for char in text if char.isalnum())


def _candidate_edits(text: str, letters: str, occurrence: int, replacement: str) -> Iterator[str]:
    """Yield the text with one sentence changed, for each place where the sentence may be."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if "|" in line and not replacement and letters and letters_only(line) == letters:
            yield "\n".join(_remove_row(lines, at))
    offsets = [at for at, char in enumerate(text) if char.isalnum()]
    all_letters = letters_only(text)
    starts, at = [], all_letters.find(letters) if letters else -1
    while at >= 0:
        starts.append(at)
        at = all_letters.find(letters, at + 1)
    for start in sorted(starts, key=lambda s: abs(starts.index(s) - occurrence)):
        begin, end = offsets[start], offsets[start + len(letters) - 1] + 1
        yield _replace_range(text, begin, end, replacement)


def _remove_row(lines: Sequence[str], row_index: int) -> list[str]:
    """Remove a row from a table, and the head after the last row; placeholders of span ends are kept."""
    marks = "".join(re.findall(CITE_PLACEHOLDER, lines[row_index]))
    remaining = [*lines[:row_index], *lines[row_index + 1 :]]
    is_first_row = row_index >= 2 and _TABLE_RULE.match(re.sub(CITE_PLACEHOLDER, "", lines[row_index - 1]))
    has_next_row = row_index + 1 < len(lines) and "|" in lines[row_index + 1]
    if is_first_row and not has_next_row:
        remaining = [*lines[: row_index - 2], *lines[row_index + 1 :]]
        marks = "".join(re.findall(CITE_PLACEHOLDER, "".join(lines[row_index - 2 : row_index])))
        return [*remaining[: row_index - 2], marks, *remaining[row_index - 2 :]] if marks else remaining
    return remaining


def _replace_range(text: str, start: int, end: int, replacement: str) -> str:
    """Replace a range of the text, with the punctuation and marks that belong to it."""
    start = len(text[:start].rstrip(_OPENING_CHARS))
    if trailing := _TRAILING_MARKS.match(text, end):
        end = trailing.end()
    inside = text[start:end]
    unpaired = "".join(_unpaired_emphasis(inside))
    before, after = text[:start], text[end:]
    if replacement and "|" in inside:
        return text  # a row of a table: its cells cannot be told apart
    if replacement:
        cites = "".join(re.findall(CITE_PLACEHOLDER, inside))
        return before + _MARKDOWN_CHAR.sub(r"\\\1", replacement) + cites + unpaired + after
    if unpaired:
        before = before.rstrip(" ")
    if before.endswith((" ", "\n")) or not before:
        after = after.removeprefix(" ")
    lines = (before + unpaired + after).split("\n")
    at = (before + unpaired).count("\n")
    bare = re.sub(CITE_PLACEHOLDER, "", lines[at])
    item = _ITEM.match(bare + " ")
    if not letters_only(bare[item.end() :] if item else bare):
        if item and at + 1 < len(lines) and _is_deeper(lines[at + 1], bare):
            return text  # the item has nested items
        del lines[at]
        if at and at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at]
    return "\n".join(lines)


def _is_deeper(line: str, reference: str) -> bool:
    """Return whether a line is indented more than another."""

    def indent(text: str) -> int:
        return len(text) - len(text.lstrip(" \t"))

    return bool(line.strip()) and indent(line) > indent(reference)


def _unpaired_emphasis(text: str) -> Iterator[str]:
    """Yield the emphasis marks in a text whose partners are outside of it."""
    marks = _EMPHASIS.findall(text)
    for mark in dict.fromkeys(marks):
        if marks.count(mark) % 2:
            yield mark


def _find_headings(text: str) -> list[tuple[int, bool]]:
    """Return the line of each heading, and whether it is empty: only headings stand under it."""
    lines = [re.sub(CITE_PLACEHOLDER, "", line) for line in text.split("\n")]
    headings = [(at, len(match[1])) for at, line in enumerate(lines) if (match := _HEADING.match(line))]
    titles = {at for at, _ in headings}
    results = []
    for n, (at, level) in enumerate(headings):
        end = next((a for a, other in headings[n + 1 :] if other <= level), len(lines))
        content = (line for k, line in enumerate(lines[at + 1 : end], at + 1) if k not in titles)
        results.append((at, not any(line.strip() for line in content)))
    return results


def _empty_headings(text: str) -> set[int]:
    """Return the indices, from 0, of the headings without content."""
    return {n for n, (_, is_empty) in enumerate(_find_headings(text)) if is_empty}


def _remove_headings(text: str, headings: set[int]) -> str:
    """Remove headings from a text by index; placeholders of span ends are kept."""
    lines = text.split("\n")
    removed = {at for n, (at, _) in enumerate(_find_headings(text)) if n in headings}
    remaining = [
        "".join(re.findall(CITE_PLACEHOLDER, line)) if at in removed else line for at, line in enumerate(lines)
    ]
    return "\n".join(remaining)
