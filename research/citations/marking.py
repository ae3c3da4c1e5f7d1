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

from research.citations.markup import Node
from research.core.text.sentences import sentences

_QUOTES = re.compile(r"(?:[^“”]+[.。])?(?:\s*“[^“”]+”)+\s*")  # behind a sentence or not
_APART = re.compile(r"“[^“”]+”|[^\s“”][^“”]*")
_INLINE = frozenset({"em", "strong", "s", "a"})
_SILENT = frozenset({"pre", "hr", "h"})
_LISTS = frozenset({"ul", "ol", "li", "blockquote", "table"})


class MarkedSentence(NamedTuple):
    """A sentence of a tree: its plain text and the citations in it, by the places that they name."""

    text: str
    cites: tuple[int, ...]


def pieces(nodes: Sequence[Node]) -> list[MarkedSentence]:
    """The sentences of a tree in the order in which they stand."""
    found: list[MarkedSentence] = []
    _Walk(found.append, frozenset()).blocks(nodes)
    return found


def marked(nodes: Sequence[Node], chosen: Iterable[int], first: int = 0) -> list[Node]:
    """The tree with a node `mark` (its `sentence` counts from `first`) behind each chosen sentence.

    `chosen` are places in `pieces` of the same tree, counted from `first` as well.
    """
    wanted = frozenset(at - first for at in chosen)
    return _Walk(lambda piece: None, wanted, first).blocks(nodes)


class _Walk:
    """One way through a tree, so that what is counted and what is marked cannot differ."""

    def __init__(
        self, found: Callable[[MarkedSentence], None], wanted: frozenset[int], first: int = 0
    ) -> None:
        self._found = found
        self._wanted = wanted
        self._first = first
        self._count = 0

    def blocks(self, nodes: Sequence[Node]) -> list[Node]:
        out: list[Node] = []
        loose: list[Node] = []
        for node in nodes:
            kind = node["t"] if isinstance(node, dict) else ""
            if kind in ("p", "tr") or kind in _SILENT or kind in _LISTS:
                out += self._sentences(loose)
                loose = []
                out.append(self._block(node))
            else:
                loose.append(node)
        return [*out, *self._sentences(loose)]

    def _block(self, node: Any) -> Node:
        if node["t"] in _SILENT:
            return dict(node)
        if node["t"] == "p":
            return {**node, "c": self._sentences(node["c"])}
        if node["t"] == "tr":
            return {**node, "c": self._row(node["c"])}
        return {**node, "c": self.blocks(node["c"])}

    def _row(self, cells: Sequence[Any]) -> list[Node]:
        """A row below the head is one sentence, whose mark stands in its last cell; but cells that are
        quotations have their own, and what stands beside these claims nothing without a citation."""
        out: list[Node] = [dict(cell) for cell in cells]
        if all(cell["t"] == "th" for cell in cells):
            return out
        flat = [_flat(cell["c"]) for cell in cells]
        quotes = [at for at, (text, found) in enumerate(flat) if found and _QUOTES.fullmatch(text)]
        for at in quotes:
            out[at] = {**cells[at], "c": self._sentences(cells[at]["c"], _APART)}
            flat[at] = ("", [])
        said = " · ".join(text for text, _ in flat if text)
        places = tuple(dict.fromkeys(place for _, found in flat for _, place in found))
        if not said or (quotes and not places):
            return out
        mark = self._counted(MarkedSentence(said, places))
        if mark:
            last = next(at for at in reversed(range(len(flat))) if flat[at][0] or flat[at][1])
            out[last] = {**cells[last], "c": [*cells[last]["c"], *mark]}
        return out

    def _counted(self, piece: MarkedSentence) -> list[Node]:
        at = self._count
        self._count += 1
        self._found(piece)
        return [{"t": "mark", "sentence": self._first + at}] if at in self._wanted else []

    def _sentences(self, nodes: Sequence[Node], cut: re.Pattern[str] | None = None) -> list[Node]:
        text, places = _flat(nodes)
        if not text.strip() and not places:
            return list(nodes)
        parts = [match.span() for match in cut.finditer(text)] if cut else [*sentences(text)]
        spans = parts or [(0, len(text))]
        groups = _shared(spans, places)
        due: list[tuple[int, Node]] = []
        for (start, end), cites in zip(spans, groups, strict=True):
            for mark in self._counted(MarkedSentence(text[start:end].strip(), cites)):
                due.append((end, mark))
        return _Setter(due).set(nodes) if due else list(nodes)


def _flat(nodes: Iterable[Node]) -> tuple[str, list[tuple[int, int]]]:
    """The text of inline nodes, and for each citation where it stands and what it names."""
    text = ""
    places: list[tuple[int, int]] = []
    for node in nodes:
        if isinstance(node, str):
            text += node
        elif node["t"] == "cite":
            places.append((len(text), node["span"]))
        elif node["t"] == "br" or node.get("display"):
            text += (
                "\n\n"  # a break that the writer meant; a formula by itself says as little as code
            )
        elif node["t"] == "math":
            text += " ".join(node["c"][0].split())
        elif node["t"] != "mark":
            inner, within = _flat(node.get("c", ()))
            places += [(len(text) + at, place) for at, place in within]
            text += inner
    return text, places


def _shared(
    spans: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """The citations of each sentence: those within it and those right behind its end."""
    groups: list[dict[int, None]] = [{} for _ in spans]
    starts = [start for start, _ in spans]
    for at, place in places:
        groups[max(bisect_left(starts, at) - 1, 0)][place] = None
    return [tuple(group) for group in groups]


class _Setter:
    """Puts nodes into inline content at places of its text, behind the citations that stand there."""

    def __init__(self, due: Iterable[tuple[int, Node]]) -> None:
        self._due = deque(due)  # in the order of their places
        self._at = 0

    def set(self, nodes: Sequence[Node]) -> list[Node]:
        return [*self._within(nodes), *(mark for _, mark in self._due)]

    def _within(self, nodes: Sequence[Node]) -> list[Node]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, dict) and node["t"] == "cite":
                out.append(node)
                continue
            out += self._passed(self._at)
            if isinstance(node, str):
                out += self._string(node)
            elif node["t"] in _INLINE:
                out.append({**node, "c": self._within(node["c"])})
            else:
                out.append(node)
                self._at += len(_flat([node])[0])
        return out

    def _passed(self, at: int) -> list[Node]:
        ready = []
        while self._due and self._due[0][0] <= at:
            ready.append(self._due.popleft()[1])
        return ready

    def _string(self, text: str) -> Iterator[Node]:
        start = self._at
        done = 0
        while self._due and self._due[0][0] < start + len(text):
            cut = self._due[0][0] - start
            yield text[done:cut]
            yield from self._passed(start + cut)
            done = cut
        self._at += len(text)
        yield text[done:]
