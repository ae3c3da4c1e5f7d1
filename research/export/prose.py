"""What a model wrote, as Markdown: headings, lists, tables, code and emphasis, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from research.citations import formulas
from research.citations.markup import Node, answer_tree, encodable, punctuation, undirected
from research.citations.numbering import NumberedSpan
from research.export.inline import at_start, backslashed, inactive

_WRAPS = {"em": "*", "strong": "**", "s": "~~"}
_BLOCK_TAGS = frozenset({"p", "h", "ul", "ol", "table", "pre", "blockquote", "hr"})
_SEVERAL = 3  # rows
_TASK = re.compile(r"\[([ xX])\]\s+")
_CLOSE = "，。；、！？）”’,.;!?"  # what needs no space behind a citation; "(" and ":" would make it a link
_TAIL = 80  # characters of a line that say what its next piece touches
_RULERS = {"left": ":---", "center": ":---:", "right": "---:"}


def markdown(
    spans: Sequence[NumberedSpan],
    marks: Callable[[NumberedSpan], str],
    nodes: Sequence[Node] | None = None,
    doubts: Mapping[int, str] | None = None,
    none: str = "",
    rowless: Callable[[int], str] = str,
) -> str:
    """A run of text spans as Markdown that renders as `tree` reads it.

    It is written anew from the tree: lists, tables, code, headings and emphasis are all that can
    come of it. `marks` gives what stands where a span has its citations; it begins with a space.
    Lists have bullets of their own, "*", so that none runs on into a list of the report.

    `nodes` is the tree if it has marks behind sentences, and `doubts` gives for each the words that
    stand there, as Markdown; they too begin with a space. `none` is those of a sentence without a source,
    and `rowless` says of a number of rows that none of them has one.
    """
    writer = _Writer(spans, marks, doubts or {}, none, rowless)
    return "\n\n".join(writer.blocks(answer_tree(spans) if nodes is None else nodes))


class _Writer:
    def __init__(
        self,
        spans: Sequence[NumberedSpan],
        marks: Callable[[NumberedSpan], str],
        doubts: Mapping[int, str],
        none: str,
        rowless: Callable[[int], str],
    ) -> None:
        self._spans, self._marks, self._doubts = spans, marks, doubts
        self._none, self._rowless = none, rowless

    def blocks(self, nodes: Sequence[Node], *, in_item: bool = False) -> list[str]:
        """The blocks of a container; strings and the like between them are paragraphs."""
        out: list[str] = []
        last, other = "", in_item  # `other`: lists that touch need bullets that differ
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                out += self._paragraphs(list(group))
                last, other = "", False
                continue
            for node in group:
                assert isinstance(node, dict)
                other = not other if node["t"] == last else other and not last
                last = node["t"]
                out += self._block(node, other=other)
        return out

    def _block(self, node: dict[str, Any], *, other: bool) -> list[str]:
        content, kind = node["c"], node["t"]
        if kind == "p":
            return self._paragraphs(content)
        if kind == "h":
            title = re.sub(r"(?<= )#+$", backslashed, self._flow(content).strip())
            return [f"{'#' * node['level']} {at_start(title)}"] if title else []
        if kind == "pre":
            return [fenced(str(content[0]), node.get("language", ""))]
        if kind == "table":
            return self._table(content)
        if kind == "blockquote":
            lines = "\n\n".join(self.blocks(content)).split("\n")
            return ["\n".join(f"> {line}".rstrip() for line in lines)]
        if kind == "hr":
            return ["---"]
        return [self._list(node, other=other)]

    def _list(self, node: dict[str, Any], *, other: bool) -> str:
        first = int(node.get("start", 1))
        items = []
        for at, item in enumerate(node["c"]):
            number_ = f"{first + at}{'.)'[other]}"
            items.append(self._item(item, number_ if node["t"] == "ol" else "*+"[other]))
        dense = not any("\n\n" in item for item in items)
        spaced = any(
            not _is_inline(child) and child["t"] == "p" for i in node["c"] for child in i["c"]
        )
        return ("\n" if dense and not spaced else "\n\n").join(items)

    def _item(self, node: dict[str, Any], marker: str) -> str:
        content, box = _boxed(node["c"])
        blocks = self.blocks(content, in_item=True)
        if box and blocks:
            blocks[0] = f"[{box}] {blocks[0]}"
        # A list may follow its paragraph at once unless it is one that cannot interrupt it.
        follows = len(blocks) == 2 and re.match(r"(?:[*+]|1[.)]) \S", blocks[1])
        dense = follows and _is_inline(content[0])
        lines = ("\n" if dense else "\n\n").join(blocks).split("\n")
        indent = " " * (len(marker) + 1)
        rest = [f"{indent}{line}" if line else "" for line in lines[1:]]
        return "\n".join([f"{marker} {lines[0]}".rstrip(), *rest])

    def _table(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """A table. That no row of several has a source is said once, below it."""
        below = [mark for row in rows if (mark := self._unsourced(row))]
        if len(below) >= _SEVERAL and len(below) == len(rows) - 1:
            rows = [_unmarked(row) for row in rows]
            return [self._rows(rows), self._rowless(len(below))]
        return [self._rows(rows)]

    def _unsourced(self, row: dict[str, Any]) -> bool:
        """Whether a row is marked as one without a source."""
        marks = [node for cell in row["c"] for node in cell["c"] if _tag(node) in ("mark", "cite")]
        return bool(marks) and all(
            _tag(node) == "mark" and self._doubts.get(node["sentence"]) == self._none
            for node in marks
        )

    def _rows(self, rows: Sequence[dict[str, Any]]) -> str:
        cells = [[self._flow(cell["c"], cell=True).strip() for cell in row["c"]] for row in rows]
        rulers = [_RULERS.get(cell.get("align", ""), "---") for cell in rows[0]["c"]]
        lines = (" | ".join(row) for row in [cells[0], rulers, *cells[1:]])
        return "\n".join(f"| {line} |" for line in lines)

    def _paragraphs(self, nodes: Sequence[Node]) -> list[str]:
        """One paragraph for each line, which could begin another block, and for each formula that
        stands by itself."""
        out: list[str] = []
        for parts, group in groupby(nodes, key=_parts):
            if not parts:
                out.append(at_start(self._flow(list(group)).strip()))
                continue
            for node in group:
                assert isinstance(node, dict)
                out += [formulas.displayed(tex) for tex in node["c"]]
        return [part for part in out if part]

    def _flow(self, nodes: Sequence[Node], within: str = "", *, cell: bool = False) -> str:
        """Inline nodes on one line, with a space where two would act on each other."""
        out = ""
        last: Node = ""
        for node in nodes:
            piece = self._piece(node, within, cell=cell)
            if not piece:
                continue
            piece = piece.lstrip() if out.endswith(" ") else piece
            out += " " * _collide(last, out[-_TAIL:], node, piece) + piece if piece else ""
            last = node
        return out

    def _piece(self, node: Node, within: str, *, cell: bool) -> str:
        if isinstance(node, str):
            return inactive(re.sub(r"\s+", " ", node))
        kind = node["t"]
        if kind == "cite":
            return self._marks(self._spans[node["span"]])
        if kind == "mark":
            return self._doubts.get(node["sentence"], "")
        if kind == "br":
            return " "
        if kind == "code":
            return _code(str(node["c"][0]), cell=cell)
        if kind == "math":
            return formulas.inline(node["c"][0], cell=cell)
        inner = self._flow(node["c"], f"{within} {kind}", cell=cell)
        words = inner.strip()
        if not words or kind in within.split():
            return inner
        before, after = inner[0].isspace(), inner[-1].isspace()
        return " " * before + _WRAPS[kind] + words + _WRAPS[kind] + " " * after


def _boxed(nodes: Sequence[Node]) -> tuple[Sequence[Node], str]:
    """The content of an item of a list without its box, and what is in that: " ", "x", or no box."""
    first = nodes[0] if nodes else ""
    if isinstance(first, dict) and first["t"] == "p":
        inner, box = _boxed(first["c"])
        return [{**first, "c": inner}, *nodes[1:]], box
    found = _TASK.match(first) if isinstance(first, str) else None
    if isinstance(first, str) and found and (found.end() < len(first) or len(nodes) > 1):
        return [first[found.end() :], *nodes[1:]], found[1].lower()
    return nodes, ""


def _unmarked(row: dict[str, Any]) -> dict[str, Any]:
    cells = [{**c, "c": [node for node in c["c"] if _tag(node) != "mark"]} for c in row["c"]]
    return {**row, "c": cells}


def _tag(node: Node) -> str:
    return node["t"] if isinstance(node, dict) else ""


def _parts(node: Node) -> bool:
    """Whether a node parts a paragraph in two."""
    return isinstance(node, dict) and (node["t"] == "br" or bool(node.get("display")))


def _is_inline(node: Node) -> bool:
    return _tag(node) not in _BLOCK_TAGS


def _collide(last: Node, out: str, node: Node, piece: str) -> bool:
    """Whether two neighbours need a space between them to stay what they are; of what is written
    already only the end is looked at."""
    if not out or out[-1].isspace() or piece[0].isspace():
        return False
    kinds = _tag(last), _tag(node)
    if "math" in kinds and formulas.touch(out, piece, opens=kinds[1] == "math"):
        return True
    if out[-1] == "]" and out[-2:] != "\\]" and piece[0] not in "*~":  # it ends with a citation
        return piece[0] not in _CLOSE
    if kinds == ("code", "code") or (kinds[0] in _WRAPS and kinds[1] in _WRAPS):
        return True
    if kinds[0] in _WRAPS:
        return punctuation(out.rstrip("*~")[-1:] or "*") and not punctuation(piece[0])
    if kinds[1] in _WRAPS:
        return punctuation(piece.lstrip("*~")[:1] or "*") and not punctuation(out[-1])
    return False


def _code(content: str, *, cell: bool) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", content)), default=0) + 1)
    content = re.sub(r"\s", " ", undirected(encodable(content)))
    if content.strip() and (content[0] in "` " or content[-1] in "` "):
        content = f" {content} "
    return ticks + (content.replace("|", "\\|") if cell else content) + ticks


def fenced(content: str, language: str = "") -> str:
    """Text as a block of code that it cannot end; `language` is one word of letters and signs."""
    ticks = "`" * max(3, max(map(len, re.findall("`+", content)), default=0) + 1)
    return f"{ticks}{language}\n{undirected(encodable(content)).rstrip()}\n{ticks}"
