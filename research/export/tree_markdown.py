"""Text by a model as Markdown, limited to the formatting that its tree can hold.

That is headings, lists, tables, quotations, rules, code, formulas and emphasis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from research.citations import formulas
from research.citations.answer_tree import build_answer_tree
from research.citations.markdown_parser import Node, is_punctuation
from research.citations.numbering import NumberedSpan
from research.core.text.control_chars import replace_surrogates, strip_direction_controls
from research.export.markdown_escaping import backslash_match, escape_inline, escape_line_start

_EMPHASIS_MARKS = {"em": "*", "strong": "**", "s": "~~"}
_BLOCK_TAGS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})
_MIN_GROUPED_ROWS = 3  # fewer rows without a source are marked one by one
_TASK_BOX = re.compile(r"\[([ xX])\]\s+")
_CLOSING_PUNCTUATION = "，。；、！？）”’,.;!?"  # need no space after a citation; "(" and ":" would make it a link
_TAIL_CHARS = 80  # characters before a piece that decide on a space
_ALIGNMENT_RULES = {"left": ":---", "center": ":---:", "right": "---:"}


def render_spans(
    spans: Sequence[NumberedSpan],
    format_citations: Callable[[NumberedSpan], str],
    tree: Sequence[Node] | None = None,
    doubt_marks: Mapping[int, str] | None = None,
    no_source_text: str = "",
    format_unsourced_rows: Callable[[int], str] = str,
) -> str:
    """Render text spans as Markdown that parses back to `tree`.

    The Markdown is written anew from the tree, so no other formatting can come of it. Bullets are
    "*", so that no list runs on into a list of the report.

    Args:
        format_citations: returns the citations of a span, beginning with a space.
        tree: tree of the spans, with marks behind sentences; built from the spans by default.
        doubt_marks: Markdown behind each marked sentence, beginning with a space.
        no_source_text: doubt mark of a sentence without a source.
        format_unsourced_rows: returns the note that so many rows have no source.
    """
    writer = _TreeWriter(spans, format_citations, doubt_marks or {}, no_source_text, format_unsourced_rows)
    return "\n\n".join(writer.render_blocks(build_answer_tree(spans) if tree is None else tree))


class _TreeWriter:
    """Renders the nodes of a tree; see `render_spans` for its arguments."""

    def __init__(
        self,
        spans: Sequence[NumberedSpan],
        format_citations: Callable[[NumberedSpan], str],
        doubt_marks: Mapping[int, str],
        no_source_text: str,
        format_unsourced_rows: Callable[[int], str],
    ) -> None:
        self._spans, self._format_citations, self._doubt_marks = spans, format_citations, doubt_marks
        self._no_source_text, self._format_unsourced_rows = no_source_text, format_unsourced_rows

    def render_blocks(self, nodes: Sequence[Node], *, in_item: bool = False) -> list[str]:
        """Render the blocks of a container; inline nodes between them become paragraphs."""
        out: list[str] = []
        last, alternate = "", in_item  # adjacent lists need different bullets
        for inline, group in groupby(nodes, key=is_inline):
            if inline:
                out += self._render_paragraphs(list(group))
                last, alternate = "", False
                continue
            for node in group:
                assert isinstance(node, dict)
                alternate = not alternate if node["t"] == last else alternate and not last
                last = node["t"]
                out += self._render_block(node, alternate_marker=alternate)
        return out

    def _render_block(self, node: dict[str, Any], *, alternate_marker: bool) -> list[str]:
        content, kind = node["c"], node["t"]
        if kind == "p":
            return self._render_paragraphs(content)
        if kind == "h":
            title = re.sub(r"(?<= )#+$", backslash_match, self._render_inline(content).strip())
            return [f"{'#' * node['level']} {escape_line_start(title)}"] if title else []
        if kind == "pre":
            return [code_block(str(content[0]), node.get("language", ""))]
        if kind == "table":
            return self._render_table(content)
        if kind == "blockquote":
            lines = "\n\n".join(self.render_blocks(content)).split("\n")
            return ["\n".join(f"> {line}".rstrip() for line in lines)]
        if kind == "hr":
            return ["---"]
        return [self._render_list(node, alternate_marker=alternate_marker)]

    def _render_list(self, node: dict[str, Any], *, alternate_marker: bool) -> str:
        first = int(node.get("start", 1))
        items = []
        for at, item in enumerate(node["c"]):
            number = f"{first + at}{'.)'[alternate_marker]}"
            items.append(self._render_item(item, number if node["t"] == "ol" else "*+"[alternate_marker]))
        dense = not any("\n\n" in item for item in items)
        spaced = any(not is_inline(child) and child["t"] == "p" for i in node["c"] for child in i["c"])
        return ("\n" if dense and not spaced else "\n\n").join(items)

    def _render_item(self, node: dict[str, Any], marker: str) -> str:
        content, box = _split_task_box(node["c"])
        blocks = self.render_blocks(content, in_item=True)
        if box and blocks:
            blocks[0] = f"[{box}] {blocks[0]}"
        # A list that can interrupt a paragraph may follow it without an empty line.
        follows = len(blocks) == 2 and re.match(r"(?:[*+]|1[.)]) \S", blocks[1])
        dense = follows and is_inline(content[0])
        lines = ("\n" if dense else "\n\n").join(blocks).split("\n")
        indent = " " * (len(marker) + 1)
        rest = [f"{indent}{line}" if line else "" for line in lines[1:]]
        return "\n".join([f"{marker} {lines[0]}".rstrip(), *rest])

    def _render_table(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """Render a table. If no row has a source, one note below replaces the marks."""
        unsourced = [mark for row in rows if (mark := self._is_unsourced(row))]
        if len(unsourced) >= _MIN_GROUPED_ROWS and len(unsourced) == len(rows) - 1:
            rows = [_without_marks(row) for row in rows]
            return [self._render_rows(rows), self._format_unsourced_rows(len(unsourced))]
        return [self._render_rows(rows)]

    def _is_unsourced(self, row: dict[str, Any]) -> bool:
        """Return whether a row has no citation and only marks of a missing source."""
        marks = [node for cell in row["c"] for node in cell["c"] if _tag_of(node) in ("mark", "cite")]
        return bool(marks) and all(
            _tag_of(node) == "mark" and self._doubt_marks.get(node["sentence"]) == self._no_source_text
            for node in marks
        )

    def _render_rows(self, rows: Sequence[dict[str, Any]]) -> str:
        cells = [[self._render_inline(cell["c"], in_table_cell=True).strip() for cell in row["c"]] for row in rows]
        rulers = [_ALIGNMENT_RULES.get(cell.get("align", ""), "---") for cell in rows[0]["c"]]
        lines = (" | ".join(row) for row in [cells[0], rulers, *cells[1:]])
        return "\n".join(f"| {line} |" for line in lines)

    def _render_paragraphs(self, nodes: Sequence[Node]) -> list[str]:
        """Render a paragraph per line, as a line could begin a block, and per displayed formula."""
        out: list[str] = []
        for splits, group in groupby(nodes, key=_splits_paragraph):
            if not splits:
                out.append(escape_line_start(self._render_inline(list(group)).strip()))
                continue
            for node in group:
                assert isinstance(node, dict)
                out += [formulas.display_markdown(tex) for tex in node["c"]]
        return [part for part in out if part]

    def _render_inline(self, nodes: Sequence[Node], open_tags: str = "", *, in_table_cell: bool = False) -> str:
        """Render nodes on one line, with a space between two that would affect each other."""
        out = ""
        last: Node = ""
        for node in nodes:
            piece = self._render_node(node, open_tags, in_table_cell=in_table_cell)
            if not piece:
                continue
            piece = piece.lstrip() if out.endswith(" ") else piece
            out += " " * _needs_space(last, out[-_TAIL_CHARS:], node, piece) + piece if piece else ""
            last = node
        return out

    def _render_node(self, node: Node, open_tags: str, *, in_table_cell: bool) -> str:
        if isinstance(node, str):
            return escape_inline(re.sub(r"\s+", " ", node))
        kind = node["t"]
        if kind == "cite":
            return self._format_citations(self._spans[node["span"]])
        if kind == "mark":
            return self._doubt_marks.get(node["sentence"], "")
        if kind == "br":
            return " "
        if kind == "code":
            return _inline_code(str(node["c"][0]), in_table_cell=in_table_cell)
        if kind == "math":
            return formulas.inline_markdown(node["c"][0], in_table_cell=in_table_cell)
        inner = self._render_inline(node["c"], f"{open_tags} {kind}", in_table_cell=in_table_cell)
        words = inner.strip()
        if not words or kind in open_tags.split():
            return inner
        before, after = inner[0].isspace(), inner[-1].isspace()
        return " " * before + _EMPHASIS_MARKS[kind] + words + _EMPHASIS_MARKS[kind] + " " * after


def _split_task_box(nodes: Sequence[Node]) -> tuple[Sequence[Node], str]:
    """Split a list item into its content and its task box: " ", "x", or "" for no box."""
    first = nodes[0] if nodes else ""
    if isinstance(first, dict) and first["t"] == "p":
        inner, box = _split_task_box(first["c"])
        return [{**first, "c": inner}, *nodes[1:]], box
    match = _TASK_BOX.match(first) if isinstance(first, str) else None
    if isinstance(first, str) and match and (match.end() < len(first) or len(nodes) > 1):
        return [first[match.end() :], *nodes[1:]], match[1].lower()
    return nodes, ""


def _without_marks(row: dict[str, Any]) -> dict[str, Any]:
    cells = [{**c, "c": [node for node in c["c"] if _tag_of(node) != "mark"]} for c in row["c"]]
    return {**row, "c": cells}


def _tag_of(node: Node) -> str:
    """Return the tag of an element, "" for a string."""
    return node["t"] if isinstance(node, dict) else ""


def _splits_paragraph(node: Node) -> bool:
    """Return whether a node splits a paragraph."""
    return isinstance(node, dict) and (node["t"] == "br" or bool(node.get("display")))


def is_inline(node: Node) -> bool:
    """Return whether a node stands within a paragraph."""
    return _tag_of(node) not in _BLOCK_TAGS


def _needs_space(previous: Node, written: str, node: Node, piece: str) -> bool:
    """Return whether two adjacent pieces need a space between them to keep their meaning.

    Only the end of the Markdown `written` so far matters.
    """
    if not written or written[-1].isspace() or piece[0].isspace():
        return False
    kinds = _tag_of(previous), _tag_of(node)
    if "math" in kinds and formulas.needs_space(written, piece, formula_follows=kinds[1] == "math"):
        return True
    if written[-1] == "]" and written[-2:] != "\\]" and piece[0] not in "*~":  # it ends with a citation
        return piece[0] not in _CLOSING_PUNCTUATION
    if kinds == ("code", "code") or (kinds[0] in _EMPHASIS_MARKS and kinds[1] in _EMPHASIS_MARKS):
        return True
    if kinds[0] in _EMPHASIS_MARKS:
        return is_punctuation(written.rstrip("*~")[-1:] or "*") and not is_punctuation(piece[0])
    if kinds[1] in _EMPHASIS_MARKS:
        return is_punctuation(piece.lstrip("*~")[:1] or "*") and not is_punctuation(written[-1])
    return False


def _inline_code(content: str, *, in_table_cell: bool) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", content)), default=0) + 1)
    content = re.sub(r"\s", " ", strip_direction_controls(replace_surrogates(content)))
    if content.strip() and (content[0] in "` " or content[-1] in "` "):
        content = f" {content} "
    return ticks + (content.replace("|", "\\|") if in_table_cell else content) + ticks


def code_block(content: str, language: str = "") -> str:
    """Return text as a fenced block of code that it cannot end. `language` is one word."""
    ticks = "`" * max(3, max(map(len, re.findall("`+", content)), default=0) + 1)
    return f"{ticks}{language}\n{strip_direction_controls(replace_surrogates(content)).rstrip()}\n{ticks}"
