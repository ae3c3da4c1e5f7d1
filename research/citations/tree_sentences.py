"""An answer's tree cut into sentences, and marks put where a sentence ends.

Knows the tree and where sentences end; judges none of them. A row of a table is one sentence,
unless its cells are quotations, and so is an item of a list without a full stop. Headings, code and formulas that stand by themselves say
nothing that could be checked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from research.citations.model_markdown import Node
from research.core.text.sentences import split_sentences

_ONLY_QUOTATIONS = re.compile(r"(?:[^“”]+[.。])?(?:\s*“[^“”]+”)+\s*")  # behind a sentence or not
_QUOTATION_OR_TEXT = re.compile(r"“[^“”]+”|[^\s“”][^“”]*")
_INLINE_TAGS = frozenset({"em", "strong", "s", "a"})
_UNCHECKED_TAGS = frozenset({"pre", "hr", "h"})
_CONTAINER_TAGS = frozenset({"ul", "ol", "li", "blockquote", "table"})


class TreeSentence(NamedTuple):
    """A sentence of a tree: its plain text and the citations in it, by the places that they name."""

    text: str
    span_indices: tuple[int, ...]


def find_sentences(nodes: Sequence[Node]) -> list[TreeSentence]:
    """The sentences of a tree in the order in which they stand."""
    found: list[TreeSentence] = []
    _TreeWalker(found.append, frozenset()).walk_blocks(nodes)
    return found


def insert_marks(nodes: Sequence[Node], sentence_indices: Iterable[int], first_index: int = 0) -> list[Node]:
    """The tree with a node `mark` (its `sentence` counts from `first`) behind each chosen sentence.

    `chosen` are places in `pieces` of the same tree, counted from `first` as well.
    """
    wanted = frozenset(at - first_index for at in sentence_indices)
    return _TreeWalker(lambda piece: None, wanted, first_index).walk_blocks(nodes)


class _TreeWalker:
    """One way through a tree, so that what is counted and what is marked cannot differ."""

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
        """A row below the head is one sentence, whose mark stands in its last cell; but cells that are
        quotations have their own, and what stands beside these claims nothing without a citation."""
        out: list[Node] = [dict(cell) for cell in cells]
        if all(cell["t"] == "th" for cell in cells):
            return out
        flat = [_flatten(cell["c"]) for cell in cells]
        quotes = [at for at, (text, found) in enumerate(flat) if found and _ONLY_QUOTATIONS.fullmatch(text)]
        for at in quotes:
            out[at] = {**cells[at], "c": self._walk_sentences(cells[at]["c"], _QUOTATION_OR_TEXT)}
            flat[at] = ("", [])
        said = " · ".join(text for text, _ in flat if text)
        places = tuple(dict.fromkeys(place for _, found in flat for _, place in found))
        if not said or (quotes and not places):
            return out
        mark = self._add_sentence(TreeSentence(said, places))
        if mark:
            last = next(at for at in reversed(range(len(flat))) if flat[at][0] or flat[at][1])
            out[last] = {**cells[last], "c": [*cells[last]["c"], *mark]}
        return out

    def _add_sentence(self, sentence: TreeSentence) -> list[Node]:
        at = self._count
        self._count += 1
        self._on_sentence(sentence)
        return [{"t": "mark", "sentence": self._first_index + at}] if at in self._marked_indices else []

    def _walk_sentences(self, nodes: Sequence[Node], splitter: re.Pattern[str] | None = None) -> list[Node]:
        text, places = _flatten(nodes)
        if not text.strip() and not places:
            return list(nodes)
        parts = [match.span() for match in splitter.finditer(text)] if splitter else [*split_sentences(text)]
        spans = parts or [(0, len(text))]
        groups = _citations_by_sentence(spans, places)
        due: list[tuple[int, Node]] = []
        for (start, end), cites in zip(spans, groups, strict=True):
            for mark in self._add_sentence(TreeSentence(text[start:end].strip(), cites)):
                due.append((end, mark))
        return _MarkInserter(due).insert(nodes) if due else list(nodes)


def _flatten(nodes: Iterable[Node]) -> tuple[str, list[tuple[int, int]]]:
    """The text of inline nodes, and for each citation where it stands and what it names."""
    text = ""
    places: list[tuple[int, int]] = []
    for node in nodes:
        if isinstance(node, str):
            text += node
        elif node["t"] == "cite":
            places.append((len(text), node["span"]))
        elif node["t"] == "br" or node.get("display"):
            text += "\n\n"  # a break that the writer meant; a formula by itself says as little as code
        elif node["t"] == "math":
            text += " ".join(node["c"][0].split())
        elif node["t"] != "mark":
            inner, within = _flatten(node.get("c", ()))
            places += [(len(text) + at, place) for at, place in within]
            text += inner
    return text, places


def _citations_by_sentence(
    spans: Sequence[tuple[int, int]], citations: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """The citations of each sentence: those within it and those right behind its end."""
    groups: list[dict[int, None]] = [{} for _ in spans]
    starts = [start for start, _ in spans]
    for at, place in citations:
        groups[max(bisect_left(starts, at) - 1, 0)][place] = None
    return [tuple(group) for group in groups]


class _MarkInserter:
    """Puts nodes into inline content at places of its text, behind the citations that stand there."""

    def __init__(self, marks: Iterable[tuple[int, Node]]) -> None:
        self._pending = deque(marks)  # in the order of their places
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
