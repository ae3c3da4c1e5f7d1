"""A report as a tree, from which HTML, PDF and Word are drawn: what the Markdown says, no more.

The Markdown of a report is ours, with everything from outside escaped. It is read back here, so that
all formats say the same and nothing that is safe in one is unsafe in another. Knows Markdown and
trees; draws nothing.

Blocks are p, h (with `level` and `id`), ul, ol (with `start`, and `role` "sources" for the list of what
is cited), li, table, tr, th, td (with `align`), pre, blockquote and hr; within them are em, strong, s,
code, math (TeX; `display` if it stands by itself), br, a (with `href`, always http or https), cite (with
`number`: the place of its source in the list
of sources) and strings. Each but cite, br and hr has its content in `c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import bidirectional

from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.citations.formulas import Formula, Formulas
from research.citations.markup import Node, by_fences, opened
from research.citations.numbering import CitedAnswer
from research.citations.support import Support
from research.core.records import Language, Report
from research.core.urls import canonical_url
from research.export.markdown import language_of, report_markdown
from research.export.maths import readable
from research.export.words import speaker

_DOLLAR = re.compile(r"(?<!\\)\$")
_TASK = re.compile(r"^\[([ x])\] ")  # ours: brackets from outside are escaped
_CITE = re.compile(r"\[([0-9]{1,6})\]")


class Document(NamedTuple):
    """A report as a tree: its title, the language it is in, and its blocks."""

    title: str
    language: Language
    nodes: list[Node]


def _reader() -> MarkdownIt:
    """Escaped characters stay apart from the others: `[1]` is a citation, `\\[1\\]` is text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.disable(["image", "html_inline", "html_block", "autolink", "reference", "text_join"])
    reader.parse("*")  # it puts its rules in order at first use, which threads must not share
    return reader


_READER = _reader()


def document(report: Report, cited: CitedAnswer | None, behind: Support | None = None) -> Document:
    """The whole report, as `report_markdown` says it."""
    language = language_of(report, cited)
    say = speaker(language)
    last = len(cited.sources) if cited else 0
    nodes = grown(report_markdown(report, cited, behind=behind), last)
    title = plain(nodes[0]["c"]) if isinstance(nodes[0], dict) else ""
    _named(nodes, say("sources"))
    return Document(title, language, nodes)


def grown(markdown: str, last: int = 0) -> list[Node]:
    """Markdown of ours as a tree; numbers up to `last` in brackets are citations."""
    formulas = Formulas()
    stretches = by_fences(markdown) if _DOLLAR.search(markdown) else [(True, markdown)]
    text = "".join(block if fenced else formulas.hidden(block) for fenced, block in stretches)
    return _Grower(last, formulas).blocks(_READER.parse(text))


def plain(nodes: Iterable[Node]) -> str:
    """The text of nodes, citations as [n], formulas in a line."""
    return "".join(_words(nodes))


def leftward(nodes: Iterable[Node]) -> bool:
    """Whether text runs from right to left: its first letter tells."""
    for char in plain(nodes):
        way = bidirectional(char)
        if way in ("R", "AL", "L"):
            return way != "L"
    return False


def _words(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node["t"] == "cite":
            yield f"[{node['number']}]"
        elif node["t"] == "br":
            yield "\n"
        elif node["t"] == "math":
            yield readable(node["c"][0])
        else:
            yield from _words(node.get("c", ()))


def _named(nodes: Sequence[Node], sources: str) -> None:
    """Gives headings their ids and the list of sources its role."""
    count = 0
    under = ""
    for node in nodes:
        if not isinstance(node, dict):
            continue
        if node["t"] == "h":
            count += 1
            node["id"] = f"section-{count}"
            if node["level"] <= 2:
                under = plain(node["c"])
        elif node["t"] == "ol" and under == sources and "role" not in node:
            node["role"] = "sources"
            under = ""


class _Grower:
    """Grows a tree from tokens. `last` is the highest number that a citation can have."""

    def __init__(self, last: int, formulas: Formulas) -> None:
        self._last, self._formulas = last, formulas

    def blocks(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                stack.append(_opened(token, stack[-1]))
            elif token.type == "inline":
                stack[-1].extend(self._inline(token.children or []))
            elif token.type == "fence":
                language = token.info.strip()
                stack[-1].append({"t": "pre", "language": language, "c": [token.content]})
            elif token.type == "hr":
                stack[-1].append({"t": "hr"})
        return root

    def _inline(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                if href := token.attrGet("href"):
                    token.attrSet("href", self._formulas.shown(str(href)))
                stack.append(_opened(token, stack[-1]))
            elif token.type == "text":
                for piece in self._pieces(token.content):
                    _append(stack[-1], piece)
            elif token.type in ("text_special", "softbreak"):
                _append(stack[-1], token.content or " ")
            elif token.type == "code_inline":
                stack[-1].append({"t": "code", "c": [self._formulas.shown(token.content)]})
            elif token.type == "hardbreak":
                stack[-1].append({"t": "br"})
        return root

    def _pieces(self, text: str) -> Iterator[Node]:
        for part in self._formulas.parts(text):
            if isinstance(part, Formula):
                yield part.node
            else:
                yield from self._cites(part)

    def _cites(self, text: str) -> Iterator[Node]:
        text = _TASK.sub(lambda found: "☐ " if found[1] == " " else "☑ ", text)
        at = 0
        for match in _CITE.finditer(text):
            if 0 < int(match[1]) <= self._last:
                yield text[at : match.start()]
                yield {"t": "cite", "number": int(match[1])}
                at = match.end()
        yield text[at:]


def _append(into: list[Node], piece: Node) -> None:
    """Text that follows text is one string."""
    if isinstance(piece, str) and into and isinstance(into[-1], str):
        into[-1] += piece
    elif piece != "":
        into.append(piece)


def _opened(token: Token, parent: list[Node]) -> list[Node]:
    """As `opened`; a link has a node too if its address is one of http or https."""
    if token.type != "link_open":
        return opened(token, parent)
    href = canonical_url(str(token.attrGet("href") or ""))
    if not href:
        return parent
    content: list[Node] = []
    parent.append({"t": "a", "href": href, "c": content})
    return content
