"""Parser of a Markdown report into lines, brackets and links with their offsets.

Everything but prose (code, formulas, comments, tags, images) is replaced by spaces of the same
length, so that offsets in `prose` are offsets in the source. Each step takes time proportional to
the length of the text. Citations are not interpreted here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

LineKind = Literal["blank", "code", "heading", "rule", "row", "item", "quote", "text"]

_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(?:.*\n){0,400}?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+] +|\d{1,3}[.)] +)?(`{3,}|~{3,})([^\n]*)")
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•·][ \t]|\d{1,4}[.)、][ \t]*|\[\^?[^\[\]\n]{1,80}\]:)")
_BACKTICKS = re.compile(r"`+|\n[ \t]*\n")
_HIDDEN_ELEMENT = re.compile(r"<!--|<(script|style|pre|svg|math)\b[^<>]{0,500}>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,20})((?:[\s/][^<>]{0,2000})?)>")
_HREF = re.compile(r"\bhref\s?=\s?[\"']?([^\s\"'<>]{1,2000})", re.IGNORECASE)
_MATH = re.compile(
    r"\$\$(?:[^$\n]|\n(?![ \t]*\n)){1,3000}\$\$"
    r"|(?<![\\\w$])\$(?=[^\s$])[^$\n]{1,300}(?<=[^\s\\])\$(?![\d$])"
    r"|\\\((?:[^\n\\]|\\(?!\))){1,300}\\\)"
)
_FORMULA_CHAR = re.compile(r"[\\^_{}=<>+*]")
_ESCAPED_BRACKET = re.compile(r"\\\[((?:[^\n\[\]\\]|\\(?![\[\]])|\n(?![ \t]*\n)){0,2000}?)\\\]")
_NUMBER_LIST = re.compile(r"\s*\^?\d{1,3}(?:\s*[,;、，–—-]\s*\d{1,3})*\s*")
_IMAGE = re.compile(
    r"!\[[^\[\]\n]{0,500}\](?:\([^()\n]{0,2000}(?:\([^()\n]{0,300}\)[^()\n]{0,500})?\)|\[[^\[\]\n]{0,200}\])"
)
_BRACKETS = re.compile(r"[\[\]［］【】〔〕]|\n[ \t>]*\n")
_OPENING_BRACKETS = {"]": "[", "］": "［", "】": "【", "〕": "〔"}
_ADDRESS_CHAR = r"(?:[^\s()\\]|\\\S)"  # of an address, in which round brackets are escaped or paired
_LINK_TARGET = re.compile(
    rf"\(\s{{0,3}}(?:<([^<>\n]{{0,2000}})>|(?!<)((?:{_ADDRESS_CHAR}|\((?:{_ADDRESS_CHAR}|\({_ADDRESS_CHAR}{{0,300}}\)){{0,300}}\)){{0,2000}}))"
    r"(?:\s{1,3}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|“[^”\n]{0,300}”))?\s{0,3}\)"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|(?=[^\s#\d!\[]))(.*)")
_HTML_HEADING = re.compile(r"[ \t]*<(?:h([1-6])|summary)\b[^<>]{0,200}>(.{0,300}?)</", re.IGNORECASE)
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣▪][ \t]+|\d{1,4}(?:[.)][ \t]+|、)|[（(]\d{1,3}[）)])")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}  # keeps the length, unlike str.lower
_MAX_BRACKET_DEPTH = 60


def _blank_out(text: str) -> str:
    """Replace everything but line breaks by spaces."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


@dataclass(frozen=True)
class MarkdownLine:
    """A line with its range, its kind and, for a heading, its level."""

    number: int
    start: int
    end: int
    kind: LineKind
    level: int = 0


@dataclass(frozen=True)
class BracketPair:
    """A pair of brackets, from the opening bracket to behind the closing one."""

    start: int
    end: int
    opener: str


@dataclass(frozen=True)
class MarkdownLink:
    """A link with its address; `text_span` is the range of its text."""

    start: int
    end: int
    text_span: tuple[int, int]
    url: str


class ParsedReport:
    """A parsed report; `prose` is the text with everything but prose blanked."""

    def __init__(self, text: str) -> None:
        self.source = re.sub(r"\r\n?", "\n", text).replace("\x00", " ")
        front = _FRONT_MATTER.match(self.source)
        self.front_matter = front[0] if front and ":" in front[0] else ""
        self.html_links: list[MarkdownLink] = []
        self._code_lines: set[int] = set()
        self.prose = self._blank_non_prose()
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", self.source))]
        self.lines = self._parse_lines()
        self.unclosed_brackets: list[int] = []
        self.brackets = self._parse_brackets()

    def line_number(self, offset: int) -> int:
        """Return the number of the line that contains an offset, counted from 1."""
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: MarkdownLine) -> str:
        """Return the prose of a line, with everything else blanked."""
        return self.prose[line.start : line.end]

    def match_target(self, offset: int) -> re.Match[str] | None:
        """Match an address in round brackets at an offset."""
        return _LINK_TARGET.match(self.prose, offset)

    # Blanking of everything but prose

    def _blank_non_prose(self) -> str:
        text = _blank_out(self.front_matter) + self.source[len(self.front_matter) :]
        text = self._blank_code(text)
        text = _blank_inline_code(text)
        text = _blank_comments(text)
        text = _MATH.sub(_blank_formula, text)
        text = _ESCAPED_BRACKET.sub(_unescape_bracket, text)
        text = re.sub(r"\\[\[\]]", "  ", text)
        text = _IMAGE.sub(lambda m: _blank_out(m[0]), text)
        return self._blank_tags(text)

    def _blank_code(self, text: str) -> str:
        lines = text.split("\n")
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        fence, in_list, after_blank, lines_out = "", False, True, []
        for at, line in enumerate(lines):
            match = _FENCE.match(line)
            code = bool(fence)
            if fence:
                if match and match[1].startswith(fence) and not match[2].strip():
                    fence = ""
            elif match and not ("`" in match[1] and "`" in match[2]):
                wraps = at == first and match[2].strip().lower() in ("markdown", "md")
                fence, code = ("" if wraps else match[1]), True
            elif line.strip() and not line.startswith((" ", "\t")):
                in_list = _LIST_LINE.match(line) is not None
            elif line.startswith(("    ", "\t")) and after_blank and not in_list and line.strip():
                code = True
            if code:
                self._code_lines.add(at)
            after_blank = not line.strip() or (code and not fence)
            lines_out.append(" " * len(line) if code else line)
        return "\n".join(lines_out)

    def _blank_tags(self, text: str) -> str:
        """Blank tags, writing superscripts as ^1^ and recording links."""
        opened: list[re.Match[str]] = []

        def tag(match: re.Match[str]) -> str:
            closing, name = match[1], match[2].lower()
            if name == "sup":
                return "^".ljust(len(match[0])) if closing else "^".rjust(len(match[0]))
            if name == "a" and not closing and _HREF.search(match[3]):
                opened[:] = [match]
            elif name == "a" and closing and opened:
                start = opened.pop()
                href = _HREF.search(start[3])
                words = (start.end(), match.start())
                self.html_links.append(MarkdownLink(start.start(), match.end(), words, href[1] if href else ""))
            return " " * len(match[0]) if "\n" not in match[0] else _blank_out(match[0])

        return _TAG.sub(tag, text)

    # Its lines

    def _parse_lines(self) -> list[MarkdownLine]:
        lines: list[MarkdownLine] = []
        ends = [*(start - 1 for start in self.line_starts[1:]), len(self.source)]
        for at, (start, end) in enumerate(zip(self.line_starts, ends, strict=True)):
            kind, level = self._line_kind(at, start, end)
            if (
                kind == "rule"
                and lines
                and lines[-1].kind == "text"
                and (underline := _UNDERLINE.match(self.prose[start:end]))
            ):
                previous = lines[-1]
                is_single_line = at < 2 or lines[-2].kind != "text" if len(lines) > 1 else True
                if is_single_line:
                    depth = 1 if "=" in underline[1] else 2
                    lines[-1] = MarkdownLine(previous.number, previous.start, previous.end, "heading", depth)
            lines.append(MarkdownLine(at + 1, start, end, kind, level))
        return lines

    def _line_kind(self, index: int, start: int, end: int) -> tuple[LineKind, int]:
        line = self.prose[start:end]
        if html := _HTML_HEADING.match(self.source[start:end]):
            return "heading", int(html[1] or 6)
        if not line.strip():
            return ("code" if index in self._code_lines and self.source[start:end].strip() else "blank"), 0
        if heading := _HEADING.match(line):
            return "heading", len(heading[1])
        if _RULE.match(line) or re.fullmatch(r" {0,3}=+[ \t]*", line):
            return "rule", 0
        if line.lstrip().startswith("|") or re.fullmatch(r"[ \t|:-]*\|[ \t|:-]*", line):
            return "row", 0
        if line.lstrip().startswith(">"):
            return "quote", 0
        return ("item" if _ITEM.match(line) else "text"), 0

    def heading_text(self, line: MarkdownLine) -> str:
        """Return the words of a heading without its marks."""
        words = self.prose[line.start : line.end]
        match = _HEADING.match(words)
        return (match[2] if match else words).strip().rstrip("#").strip()

    # Its brackets and links

    def _parse_brackets(self) -> list[BracketPair]:
        pairs: list[BracketPair] = []
        stack: list[tuple[int, str]] = []
        for match in _BRACKETS.finditer(self.prose):
            mark = match[0]
            if mark[0] == "\n":
                self.unclosed_brackets += [at for at, opener in stack if opener == "["]
                stack.clear()
            elif mark in _OPENING_BRACKETS:
                places = [n for n, item in enumerate(stack) if item[1] == _OPENING_BRACKETS[mark]]
                if places:
                    self.unclosed_brackets += [at for at, opener in stack[places[-1] + 1 :] if opener == "["]
                    start = stack[places[-1]][0]
                    del stack[places[-1] :]
                    pairs.append(BracketPair(start, match.end(), _OPENING_BRACKETS[mark]))
            else:
                stack.append((match.start(), mark))
                del stack[:-_MAX_BRACKET_DEPTH]
        self.unclosed_brackets += [at for at, opener in stack if opener == "["]
        return sorted(pairs, key=lambda pair: pair.start)

    @cached_property
    def links(self) -> list[MarkdownLink]:
        """Links with an address in round brackets, and HTML links, in order."""
        links = list(self.html_links)
        for pair in self.brackets:
            if pair.opener == "[" and self.prose[pair.end : pair.end + 1] == "(":
                target = self.match_target(pair.end)
                if target:
                    url = (target[1] if target[1] is not None else target[2]).strip()
                    url = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", url)
                    words = (pair.start + 1, pair.end - 1)
                    links.append(MarkdownLink(pair.start, target.end(), words, url))
        return sorted(links, key=lambda link: link.start)


def _blank_formula(match: re.Match[str]) -> str:
    """Blank a formula; dollars around an amount and escaped round brackets are no formula."""
    inner = match[0][2:-2] if match[0][0] == "\\" else match[0].strip("$")
    return _blank_out(match[0]) if _FORMULA_CHAR.search(inner) else match[0]


def _unescape_bracket(match: re.Match[str]) -> str:
    """Replace an escaped bracket with numbers by a citation; blank any other, as it is a formula."""
    if _NUMBER_LIST.fullmatch(match[1]):
        return f" [{match[1]} ]"
    return _blank_out(match[0])


def _blank_inline_code(text: str) -> str:
    """Blank code between backticks."""
    runs = list(_BACKTICKS.finditer(text))
    following: dict[str, list[int]] = {}
    section = 0
    keyed = []
    for at, match in enumerate(runs):
        section += match[0][0] == "\n"
        keyed.append((section, match[0]))
        following.setdefault(f"{section}:{len(match[0])}", []).append(at)
    out, last, at = [], 0, 0
    while at < len(runs):
        section, mark = keyed[at]
        if mark[0] == "`":
            same = following[f"{section}:{len(mark)}"]
            rank = bisect_right(same, at)
            if rank < len(same) and keyed[same[rank]][1] == mark:
                end = same[rank]
                out += [
                    text[last : runs[at].start()],
                    _blank_out(text[runs[at].start() : runs[end].end()]),
                ]
                last, at = runs[end].end(), end
        at += 1
    return "".join(out) + text[last:]


def _blank_comments(text: str) -> str:
    """Blank comments and elements that browsers do not show as text."""
    out, at = [], 0
    lower = text.translate(_ASCII_LOWER)
    open_ended: set[str] = set()
    while match := _HIDDEN_ELEMENT.search(text, at):
        ending = f"</{match[1].lower()}>" if match[1] else "-->"
        end = -1 if ending in open_ended else lower.find(ending, match.end())
        if end < 0:
            open_ended.add(ending)
            out.append(text[at : match.end()])
            at = match.end()
            continue
        end += len(ending)
        out += [text[at : match.start()], _blank_out(text[match.start() : end])]
        at = end
    return "".join(out) + text[at:]
