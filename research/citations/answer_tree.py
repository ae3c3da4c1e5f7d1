"""The tree of an answer, built from its numbered spans of Markdown. Trees are not rendered here."""

from __future__ import annotations

import html
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any

from markdown_it.token import Token

from research.citations.formulas import FORMULA_PLACEHOLDER, FormulaStore
from research.citations.markdown_parser import PARSER, PRIVATE_CHARS, Node, limit_nesting, sanitize, split_fences
from research.citations.numbering import NumberedSpan
from research.citations.placement import CITE_PLACEHOLDER, cite_placeholder, placeholder_index
from research.core.text.sentences import join_lines

_TAG_BY_TOKEN = {  # node tags by Markdown token
    "paragraph_open": "p",
    "heading_open": "h",
    "bullet_list_open": "ul",
    "ordered_list_open": "ol",
    "list_item_open": "li",
    "blockquote_open": "blockquote",
    "table_open": "table",
    "tr_open": "tr",
    "th_open": "th",
    "td_open": "td",
    "em_open": "em",
    "strong_open": "strong",
    "s_open": "s",
}
_EMPHASIS_TAGS = ("em", "strong", "s")
_MAX_NESTED_NUMBERS = 5  # passes over nested false numbers
_TOP_HEADING_LEVEL = 3  # levels above belong to the page and the report
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BR_TAG = re.compile(r"<br ?/?>", re.IGNORECASE)
_CODE_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{0,19}(?![^\s{,:])")  # such as python, c++, objective-c
_MARK_NUMBER = r"\^?[0-9]{1,3}"
_BRACKETED_NUMBER = re.compile(rf"[\[［【]\s*{_MARK_NUMBER}(?:\s*[-–—,;，、]\s*{_MARK_NUMBER})*\s*[\]］】]")


def build_answer_tree(spans: Sequence[NumberedSpan]) -> list[Node]:
    """Build the tree of a run of text spans, which pages draw with a fixed set of tags.

    Blocks are p, h (with `level`), ul, ol (with `start`), li, table, tr, th, td (with `align`), pre
    (with `language` if given), blockquote and hr. Inline nodes are em, strong, s, code, math (TeX,
    with `display`), br and strings. The content is in `c`. Where the citations of a span stand, or
    the mark that it has none, there is a `cite` whose `span` is the index of the span; each occurs
    exactly once.
    """
    return _AnswerTreeBuilder(spans).build()


class _AnswerTreeBuilder:
    """Builder of one tree. The parser may drop citations; these are put behind the nearest block."""

    def __init__(self, spans: Sequence[NumberedSpan]) -> None:
        self._formulas = FormulaStore()
        self._text = "".join(
            block if fenced else self._formulas.hide(block)
            for fenced, block in split_fences(limit_nesting(_with_placeholders(spans)))
        )
        self._paragraph_line = 0  # first line of the current paragraph
        # Ordered by position; unlike a dict, it stays fast after its first items are removed.
        self._unplaced = OrderedDict(
            (at, line) for line, words in enumerate(self._text.split("\n")) for at in _span_indices(words)
        )

    def build(self) -> list[Node]:
        nodes: list[Node] = []
        for group in _outermost_blocks(PARSER.parse(self._text)):
            nodes += self._build_blocks(group)
            _, end = group[0].map or (0, 0)
            nodes += self._trailing_paragraph(self._unplaced_before(end))
        nodes += self._trailing_paragraph(self._unplaced)
        _shift_headings(nodes)
        return nodes

    def _trailing_paragraph(self, cites: Iterable[int]) -> list[Node]:
        """Return citations that the parser dropped as a paragraph behind the block."""
        nodes = [node for at in list(cites) for node in self._cite_nodes(at)]
        return [{"t": "p", "c": nodes}] if nodes else []

    def _unplaced_before(self, end_line: int) -> list[int]:
        """Return the citations before a line that are not placed yet."""
        return [at for at, line in takewhile(lambda item: item[1] < end_line, self._unplaced.items())]

    def _cites_before(self, end_line: int) -> list[Node]:
        """Return the nodes of the citations before a line that are not placed yet."""
        return [node for at in self._unplaced_before(end_line) for node in self._cite_nodes(at)]

    def _cites_up_to(self, text: str) -> list[int]:
        """Return the citations of a text, and earlier ones that the parser dropped."""
        last = max(_span_indices(text), default=-1)
        return [*takewhile(lambda at: at <= last, self._unplaced)]

    def _cite_nodes(self, span_index: int) -> list[Node]:
        """Return the node of a citation, after those of earlier citations dropped from its paragraph."""
        before = takewhile(lambda item: item[0] < span_index, self._unplaced.items())
        dropped = [n for n, line in before if line >= self._paragraph_line]
        return [{"t": "cite", "span": n} for n in [*dropped, span_index] if self._unplaced.pop(n, None) is not None]

    def _build_blocks(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        row_end = 0  # end line of the current table row
        for token in tokens:
            if token.type == "tr_close":  # a cell beyond the last column is not shown
                cell = stack[-1][-1]
                assert isinstance(cell, dict)
                cell["c"] += self._cites_before(row_end)
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                stack.append(open_node(token, stack[-1]))
                row_end = token.map[1] if token.type == "tr_open" and token.map else row_end
            elif token.type == "inline":
                self._paragraph_line, end = token.map or (0, 0)
                stack[-1].extend(self._build_inline(token.children or []))
                if end > row_end:
                    stack[-1].extend(self._cites_before(end))
            elif token.type == "fence":
                stack[-1].append(_code_node(token))
                stack[-1].extend(self._trailing_paragraph(self._cites_up_to(token.content)))
            elif token.type == "hr":
                stack[-1].append({"t": "hr", "c": []})
        return [node for node in root if not _is_empty(node)]

    def _build_inline(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:  # only the text of a link is kept
                stack.append(open_node(token, stack[-1]))
            elif token.type == "text":
                stack[-1].extend(self._build_text(token.content))
            elif token.type == "code_inline":
                if content := PRIVATE_CHARS.sub("", self._formulas.restore(token.content)):
                    stack[-1].append({"t": "code", "c": [content]})
                stack[-1].extend(c for at in _span_indices(token.content) for c in self._cite_nodes(at))
            elif token.type == "hardbreak":
                stack[-1].append({"t": "br", "c": []})
            elif token.type == "softbreak":
                stack[-1].append("\n")
        return _remove_false_numbers(_merge_strings(root))

    def _build_text(self, text: str) -> Iterator[Node]:
        for piece in re.split(f"({CITE_PLACEHOLDER}|{FORMULA_PLACEHOLDER})", text):
            if re.fullmatch(CITE_PLACEHOLDER, piece):
                yield from self._cite_nodes(placeholder_index(piece))
                continue
            if formula := self._formulas.get(piece):
                yield formula.node
                continue
            for at, words in enumerate(_BR_TAG.split(piece)):
                if at:
                    yield {"t": "br", "c": []}
                if words:
                    yield _decode_entities(words)


def _code_node(token: Token) -> Node:
    """Return the node of a code block, with its language if given."""
    node: dict[str, Any] = {"t": "pre", "c": [PRIVATE_CHARS.sub("", token.content)]}
    language = _CODE_LANGUAGE.match(token.info.strip())
    return {**node, "language": language[0].lower()} if language else node


def _with_placeholders(spans: Sequence[NumberedSpan]) -> str:
    """Join the Markdown of the spans, with placeholders; a span of another part begins a paragraph."""
    out = []
    part = spans[0].span.part if spans else ""
    for at, item in enumerate(spans):
        out.append("" if item.span.part == part else "\n\n")
        part = item.span.part
        out += [sanitize(item.span.text), cite_placeholder(at) * bool(item.numbers or item.unsourced)]
    return "".join(out)


def _span_indices(text: str) -> list[int]:
    return [placeholder_index(mark) for mark in re.findall(CITE_PLACEHOLDER, text)]


def _outermost_blocks(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each outermost block."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def open_node(token: Token, parent: list[Node]) -> list[Node]:
    """Add the node of an opening token to its parent; return the list for its content.

    Tokens without a node (the paragraph of a tight list, a link, head and body of a table) put
    their content into the parent.
    """
    if token.type not in _TAG_BY_TOKEN or token.hidden:
        return parent
    content: list[Node] = []
    node: dict[str, Any] = {"t": _TAG_BY_TOKEN[token.type]}
    if node["t"] == "h":
        node["level"] = int(token.tag[1:])
    if token.attrGet("start") is not None:
        node["start"] = token.attrGet("start")
    if align := str(token.attrGet("style") or ""):
        node["align"] = align.removeprefix("text-align:")
    parent.append({**node, "c": content})
    return content


def _is_empty(node: Node) -> bool:
    return isinstance(node, dict) and node["t"] in ("p", "h") and not node["c"]


def _decode_entities(text: str) -> str:
    """Decode the HTML entities of a text."""
    return sanitize(_ENTITY.sub(lambda match: html.unescape(match[0]), text))


def _merge_strings(nodes: list[Node]) -> list[Node]:
    """Merge adjacent strings and join their lines."""
    out: list[Node] = []
    for is_text, group in groupby(nodes, key=lambda node: isinstance(node, str)):
        if is_text:
            text = join_lines("".join(str(node) for node in group))
            out += [text] if text else []
            continue
        for node in group:
            if isinstance(node, dict) and "c" in node and node["t"] not in ("code", "math"):
                node["c"] = _merge_strings(node["c"])
            out.append(node)
    return out


def _remove_false_numbers(nodes: list[Node]) -> list[Node]:
    """Remove numbers that look like citations, even across nodes, as in [*1*]."""
    leaves = [*_string_slots(nodes)]
    for _ in range(_MAX_NESTED_NUMBERS):
        cleaned = _BRACKETED_NUMBER.sub(
            lambda found: "\ue000" * len(found[0]), "".join(content[at] for content, at in leaves)
        )
        start = 0
        for content, at in leaves:
            end = start + len(content[at])
            content[at] = cleaned[start:end].replace("\ue000", "")
            start = end
        if "\ue000" not in cleaned:
            break
    return [node for node in nodes if node != ""]


def _string_slots(nodes: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Yield the list and the index of each string; code, breaks and citations count as a separator."""
    for at, node in enumerate(nodes):
        if isinstance(node, str):
            yield nodes, at
        elif node["t"] in _EMPHASIS_TAGS:
            yield from _string_slots(node["c"])
        else:
            yield ["\0"], 0


def _walk(nodes: Iterable[Node]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if isinstance(node, dict):
            yield node
            yield from _walk(node.get("c", ()))


def _shift_headings(nodes: list[Node]) -> None:
    """Shift the levels of all headings so that the highest is `_TOP_HEADING_LEVEL`."""
    headings = [node for node in _walk(nodes) if node["t"] == "h"]
    highest = min((node["level"] for node in headings), default=_TOP_HEADING_LEVEL)
    for node in headings:
        node["level"] = min(6, _TOP_HEADING_LEVEL + node["level"] - highest)
