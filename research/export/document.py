"""A report as a document tree, from which HTML, PDF and Word are drawn.

The tree is parsed from our own Markdown of the report, in which everything from outside is escaped.
All formats therefore have the same content, and text that is safe in one is safe in all. A builder
of the tree beside that of the Markdown would repeat the sections of a report, about 1,000 lines, to
save little: of a report with 200 to 300 sources the parser takes 0.04 to 0.06 seconds, HTML 0.4 to
0.5, Word 0.7 to 0.8 and PDF 0.9 to 1.0. Draws nothing.

The first node is the title, an h of level 1. Blocks are p, h (with `level` and `id`), ul, ol (with
`start`, and `role` "sources" for the list of cited sources), li, table, tr, th, td (with `align`),
pre (with `language`, the rest of the line after the fence), blockquote and hr. Headings also stand
in quotations and items; items of a tight list hold inline nodes directly, without a p. Inline nodes
are em, strong, s, code, math (TeX; `display` for a formula on its own line), br, a (with `href`,
always http or https), cite (with `number`, the position in the list of sources) and strings, which
are plain text: a writer escapes them. Every node except cite, br and hr has its content in `c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from unicodedata import bidirectional

from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.citations.answer_tree import open_node
from research.citations.formulas import Formula, FormulaStore
from research.citations.markdown_parser import Node, split_fences
from research.citations.numbering import CitedAnswer
from research.citations.support import AnswerSupport
from research.core.records import Language, Report
from research.core.urls import canonical_url
from research.export.formula_tree import formula_text
from research.export.markdown import report_markdown
from research.export.options import DEFAULT_OPTIONS, ExportOptions
from research.export.report_facts import report_language, to_utc
from research.export.report_texts import report_translator

_UNESCAPED_DOLLAR = re.compile(r"(?<!\\)\$")
_TASK_BOX = re.compile(r"^\[([ x])\] ")  # our own: brackets from outside are escaped
_CITATION = re.compile(r"\[([0-9]{1,6})\]")


class ReportDocument(NamedTuple):
    """A report as a tree, with the time (UTC) and the author of its answer, "" without one."""

    title: str
    language: Language
    nodes: list[Node]
    timestamp: datetime
    author: str = ""


def _build_parser() -> MarkdownIt:
    """Create the parser. Escapes stay separate tokens: `[1]` is a citation, `\\[1\\]` is text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_inline", "html_block", "autolink", "reference", "text_join"])
    parser.parse("*")  # compiles the rules now, as doing so at first use is not thread-safe
    return parser


_PARSER = _build_parser()


def build_document(
    report: Report,
    cited: CitedAnswer | None,
    options: ExportOptions = DEFAULT_OPTIONS,
    *,
    answer_support: AnswerSupport | None = None,
) -> ReportDocument:
    """Build the document of a report, always with citations as numbers.

    Without an answer its time is that of the start of the run.
    """
    language = report_language(report, cited)
    translate = report_translator(language)
    source_count = len(cited.sources) if cited else 0
    options = replace(options, citation_format="numbers")
    markdown = report_markdown(report, cited, options, answer_support=answer_support)
    nodes = parse_markdown(markdown, source_count)
    title = plain_text(nodes[0]["c"]) if isinstance(nodes[0], dict) else ""
    _label_nodes(nodes, translate("sources"))
    timestamp = to_utc(cited.answer.created if cited else report.run.created)
    return ReportDocument(title, language, nodes, timestamp, cited.answer.author if cited else "")


def parse_markdown(markdown: str, source_count: int = 0) -> list[Node]:
    """Parse our own Markdown; numbers in brackets up to `source_count` become citations."""
    formulas = FormulaStore()
    sections = split_fences(markdown) if _UNESCAPED_DOLLAR.search(markdown) else [(True, markdown)]
    text = "".join(block if fenced else formulas.hide(block) for fenced, block in sections)
    return _TreeBuilder(source_count, formulas).build_blocks(_PARSER.parse(text))


def plain_text(nodes: Iterable[Node]) -> str:
    """Return the text of nodes, with citations as [n] and formulas on one line."""
    return "".join(_text_pieces(nodes))


def has_tag(node: Any, tag: str) -> bool:
    """Return whether a node is an element of a tag."""
    return isinstance(node, dict) and node["t"] == tag


def is_displayed(node: Node) -> bool:
    """Return whether a node is a formula on a line of its own."""
    return isinstance(node, dict) and bool(node.get("display"))


def is_right_to_left(nodes: Iterable[Node]) -> bool:
    """Return whether the first letter of the text belongs to a right-to-left script."""
    for char in plain_text(nodes):
        direction = bidirectional(char)
        if direction in ("R", "AL", "L"):
            return direction != "L"
    return False


def source_number_range(nodes: Iterable[Node]) -> range:
    """Return the numbers in the list of sources of a document; an empty range without a list."""
    for node in nodes:
        if isinstance(node, dict) and node.get("role") == "sources":
            start = int(node.get("start", 1))
            return range(start, start + len(node["c"]))
    return range(0)


def _text_pieces(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node["t"] == "cite":
            yield f"[{node['number']}]"
        elif node["t"] == "br":
            yield "\n"
        elif node["t"] == "math":
            yield formula_text(node["c"][0])
        else:
            yield from _text_pieces(node.get("c", ()))


def _label_nodes(nodes: Sequence[Node], sources_heading: str) -> None:
    """Set the ids of headings and the role of the list of sources."""
    count = 0
    under = ""
    for node in nodes:
        if not isinstance(node, dict):
            continue
        if node["t"] == "h":
            count += 1
            node["id"] = f"section-{count}"
            if node["level"] <= 2:
                under = plain_text(node["c"])
        elif node["t"] == "ol" and under == sources_heading and "role" not in node:
            node["role"] = "sources"
            under = ""


class _TreeBuilder:
    """Builds nodes from parser tokens."""

    def __init__(self, source_count: int, formulas: FormulaStore) -> None:
        self._source_count, self._formulas = source_count, formulas

    def build_blocks(self, tokens: Iterable[Token]) -> list[Node]:
        """Build block nodes, with their inline nodes."""
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                stack.append(_open_node(token, stack[-1]))
            elif token.type == "inline":
                stack[-1].extend(self._build_inline(token.children or []))
            elif token.type == "fence":
                language = token.info.strip()
                stack[-1].append({"t": "pre", "language": language, "c": [token.content]})
            elif token.type == "hr":
                stack[-1].append({"t": "hr"})
        return root

    def _build_inline(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                if href := token.attrGet("href"):
                    token.attrSet("href", self._formulas.restore(str(href)))
                stack.append(_open_node(token, stack[-1]))
            elif token.type == "text":
                for piece in self._split_formulas(token.content):
                    _append_node(stack[-1], piece)
            elif token.type in ("text_special", "softbreak"):
                _append_node(stack[-1], token.content or " ")
            elif token.type == "code_inline":
                stack[-1].append({"t": "code", "c": [self._formulas.restore(token.content)]})
            elif token.type == "hardbreak":
                stack[-1].append({"t": "br"})
        return root

    def _split_formulas(self, text: str) -> Iterator[Node]:
        for part in self._formulas.split(text):
            if isinstance(part, Formula):
                yield part.node
            else:
                yield from self._split_citations(part)

    def _split_citations(self, text: str) -> Iterator[Node]:
        text = _TASK_BOX.sub(lambda found: "☐ " if found[1] == " " else "☑ ", text)
        at = 0
        for match in _CITATION.finditer(text):
            if 0 < int(match[1]) <= self._source_count:
                yield text[at : match.start()]
                yield {"t": "cite", "number": int(match[1])}
                at = match.end()
        yield text[at:]


def _append_node(target: list[Node], node: Node) -> None:
    """Append a node; merge adjacent strings."""
    if isinstance(node, str) and target and isinstance(target[-1], str):
        target[-1] += node
    elif node != "":
        target.append(node)


def _open_node(token: Token, parent: list[Node]) -> list[Node]:
    """Open a node as `open_node` does. A link gets a node only if its address is http or https."""
    if token.type != "link_open":
        return open_node(token, parent)
    href = canonical_url(str(token.attrGet("href") or ""))
    if not href:
        return parent
    content: list[Node] = []
    parent.append({"t": "a", "href": href, "c": content})
    return content
