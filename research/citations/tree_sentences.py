"""Division of an answer's tree into sentences, and insertion of marks at their ends.

A table row is one sentence, unless its cells are quotations; so is a list item without a full stop.
Headings, code and display formulas contain nothing that could be checked and are skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from research.citations.markdown_parser import Node
from research.core.text.sentences import split_sentences

_ONLY_QUOTATIONS = re.compile(r"(?:[^“”]+[.。])?(?:\s*“[^“”]+”)+\s*")  # with or without a sentence before them
_QUOTATION_OR_TEXT = re.compile(r"“[^“”]+”|[^\s“”][^“”]*")
_INLINE_TAGS = frozenset({"em", "strong", "s", "a"})
_UNCHECKED_TAGS = frozenset({"pre", "hr", "h"})
_CONTAINER_TAGS = frozenset({"ul", "ol", "li", "blockquote", "table"})


class TreeSentence(NamedTuple):
    """Plain text of a sentence in a tree, and the span indices of its citations."""

    text: str
    span_indices: tuple[int, ...]


def find_sentences(nodes: Sequence[Node]) -> list[TreeSentence]:
    """Return the sentences of a tree in order."""
    sentences: list[TreeSentence] = []
    _TreeWalker(sentences.append, frozenset()).walk_blocks(nodes)
    return sentences


def insert_marks(nodes: Sequence[Node], sentence_indices: Iterable[int], first_index: int = 0) -> list[Node]:
    """Return the tree with a node `mark` behind each chosen sentence.

    Sentence indices, and `sentence` of the marks, count from `first_index` in the order of
    `find_sentences` on the same tree.
    """
    marked = frozenset(at - first_index for at in sentence_indices)
    return _TreeWalker(lambda sentence: None, marked, first_index).walk_blocks(nodes)


class _TreeWalker:
    """One traversal for both counting and marking, so that the two cannot differ."""

    def __init__(
        self, on_sentence: Callable[[TreeSentence], None], marked_indices: frozenset[int], first_index: int = 0
    ) -> None:
        self._on_sentence = on_sentence
        self._marked_indices = marked_indices
        self._first_index = first_index
        self._count = 0

    def walk_blocks(self, nodes: Sequence[Node]) -> list[Node]:
        out: list[Node] = []
        loose: list[Node] = []
        for node in nodes:
            kind = node["t"] if isinstance(node, dict) else ""
            if kind in ("p", "tr") or kind in _UNCHECKED_TAGS or kind in _CONTAINER_TAGS:
                out += self._walk_sentences(loose)
                loose = []
                out.append(self._walk_block(node))
            else:
                loose.append(node)
        return [*out, *self._walk_sentences(loose)]

    def _walk_block(self, node: Any) -> Node:
        if node["t"] in _UNCHECKED_TAGS:
            return dict(node)
        if node["t"] == "p":
            return {**node, "c": self._walk_sentences(node["c"])}
        if node["t"] == "tr":
            return {**node, "c": self._walk_row(node["c"])}
        return {**node, "c": self.walk_blocks(node["c"])}

    def _walk_row(self, cells: Sequence[Any]) -> list[Node]:
        """Walk a table row.

        A row below the head is one sentence with its mark in the last cell. Cells that are
        quotations are sentences of their own; the rest of such a row claims nothing without a
        citation.
        """
        result: list[Node] = [dict(cell) for cell in cells]
        if all(cell["t"] == "th" for cell in cells):
            return result
        flat = [_flatten(cell["c"]) for cell in cells]
        quotes = [at for at, (text, cites) in enumerate(flat) if cites and _ONLY_QUOTATIONS.fullmatch(text)]
        for at in quotes:
            result[at] = {**cells[at], "c": self._walk_sentences(cells[at]["c"], _QUOTATION_OR_TEXT)}
            flat[at] = ("", [])
        text_of_row = " · ".join(text for text, _ in flat if text)
        citations = tuple(dict.fromkeys(span for _, cites in flat for _, span in cites))
        if not text_of_row or (quotes and not citations):
            return result
        mark = self._add_sentence(TreeSentence(text_of_row, citations))
        if mark:
            last = next(at for at in reversed(range(len(flat))) if flat[at][0] or flat[at][1])
            result[last] = {**cells[last], "c": [*cells[last]["c"], *mark]}
        return result

    def _add_sentence(self, sentence: TreeSentence) -> list[Node]:
        at = self._count
        self._count += 1
        self._on_sentence(sentence)
        return [{"t": "mark", "sentence": self._first_index + at}] if at in self._marked_indices else []

    def _walk_sentences(self, nodes: Sequence[Node], splitter: re.Pattern[str] | None = None) -> list[Node]:
        text, citations = _flatten(nodes)
        if not text.strip() and not citations:
            return list(nodes)
        parts = [match.span() for match in splitter.finditer(text)] if splitter else [*split_sentences(text)]
        spans = parts or [(0, len(text))]
        groups = _citations_by_sentence(spans, citations)
        marks: list[tuple[int, Node]] = []
        for (start, end), cites in zip(spans, groups, strict=True):
            for mark in self._add_sentence(TreeSentence(text[start:end].strip(), cites)):
                marks.append((end, mark))
        return _MarkInserter(marks).insert(nodes) if marks else list(nodes)


def _flatten(nodes: Iterable[Node]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of inline nodes, and the offset and span index of each citation."""
    text = ""
    cites: list[tuple[int, int]] = []
    for node in nodes:
        if isinstance(node, str):
            text += node
        elif node["t"] == "cite":
            cites.append((len(text), node["span"]))
        elif node["t"] == "br" or node.get("display"):
            text += "\n\n"  # a deliberate break; a display formula is as uncheckable as code
        elif node["t"] == "math":
            text += " ".join(node["c"][0].split())
        elif node["t"] != "mark":
            inner, within = _flatten(node.get("c", ()))
            cites += [(len(text) + at, span) for at, span in within]
            text += inner
    return text, cites


def _citations_by_sentence(
    spans: Sequence[tuple[int, int]], citations: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """Return the span indices cited by each sentence, inside it or directly behind its end."""
    groups: list[dict[int, None]] = [{} for _ in spans]
    starts = [start for start, _ in spans]
    for at, span in citations:
        groups[max(bisect_left(starts, at) - 1, 0)][span] = None
    return [tuple(group) for group in groups]


class _MarkInserter:
    """Inserts nodes into inline content at text offsets, behind citations at the same offset."""

    def __init__(self, marks: Iterable[tuple[int, Node]]) -> None:
        self._pending = deque(marks)  # ordered by offset
        self._offset = 0

    def insert(self, nodes: Sequence[Node]) -> list[Node]:
        return [*self._insert_within(nodes), *(mark for _, mark in self._pending)]

    def _insert_within(self, nodes: Sequence[Node]) -> list[Node]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, dict) and node["t"] == "cite":
                out.append(node)
                continue
            out += self._marks_before(self._offset)
            if isinstance(node, str):
                out += self._split_string(node)
            elif node["t"] in _INLINE_TAGS:
                out.append({**node, "c": self._insert_within(node["c"])})
            else:
                out.append(node)
                self._offset += len(_flatten([node])[0])
        return out

    def _marks_before(self, offset: int) -> list[Node]:
        ready = []
        while self._pending and self._pending[0][0] <= offset:
            ready.append(self._pending.popleft()[1])
        return ready

    def _split_string(self, text: str) -> Iterator[Node]:
        start = self._offset
        done = 0
        while self._pending and self._pending[0][0] < start + len(text):
            cut = self._pending[0][0] - start
            yield text[done:cut]
            yield from self._marks_before(start + cut)
            done = cut
        self._offset += len(text)
        yield text[done:]
