r"""TeX formulas in Markdown: $…$, $$…$$, \(…\), \[…\] and bare environments such as align.

Amounts of money between dollars are not formulas. A formula is kept as it was written, so that
KaTeX, MathJax, pandoc or GitHub can draw it. Text that could do more than draw (a link, a tag, a
citation, a macro that loads or defines something) is not accepted as a formula. TeX itself is not
interpreted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from research.core.text.tokenizer import HAN_RANGES

# A private character replaces each formula; one already in the text becomes U+FFFD.
_FIRST_PLACEHOLDER, _LAST_PLACEHOLDER = 0xE100, 0xF8FF
FORMULA_PLACEHOLDER = f"[{chr(_FIRST_PLACEHOLDER)}-{chr(_LAST_PLACEHOLDER)}]"
_MAX_CHARS = 3_000  # longer text is not taken for a formula
_INNER = r"(?:[^$\n\\]|\\[^\n\[\]()]|\\?\n(?![ \t>]*\n))"
_CANDIDATE = re.compile(
    rf"(?<![\\$])\$\$(?!\$)(?P<double>{_INNER}{{1,{_MAX_CHARS}}}?)\$\$(?!\$)"
    rf"|(?<![\\$A-Za-z0-9])\$(?=[^\s$])(?P<single>{_INNER}{{1,{_MAX_CHARS}}}?)(?<!\s)\$(?![\d$])"
    rf"|(?<!\\)\\\[(?P<square>{_INNER}{{1,{_MAX_CHARS}}}?)\\\]"
    rf"|(?<!\\)\\\((?P<round>{_INNER}{{1,{_MAX_CHARS}}}?)\\\)"
    rf"|(?<!\\)\\begin\{{(?P<name>equation|align|gather|multline)(?P<star>\*?)\}}"
    rf"(?P<bare>{_INNER}{{1,{_MAX_CHARS}}}?)\\end\{{(?P=name)(?P=star)\}}"
)
_INNER_ENVIRONMENTS = {"align": "aligned", "gather": "gathered"}  # equivalents inside dollars
# Syntax that identifies TeX: a command, a spacing, an index or a power.
_TEX_SYNTAX = re.compile(r"\\(?:[A-Za-z]+|[,;:!{}|\\> ])|[_^]\s?[{A-Za-z0-9\\*+('-]")
_COMMAND = re.compile(r"\\(?:text\w*|math\w*|operatorname|[mhf]box|label|tag|begin|end)\*?\s*\{[^{}]*\}|\\[A-Za-z]+")
_RELATION = re.compile(r"[=<>≤≥≈≡≠→⇒∝∈×÷±]")
_FORMULA_CHARS = re.compile(
    rf"[A-Za-z0-9\u0370-\u03ff\u2200-\u22ff\u2190-\u21ff{HAN_RANGES}\s.,;:'′()\[\]{{}}|!+\-−*/=<>≤≥≈≠×÷±·%°√∞]+"
)
_FIRST_CHAR = re.compile(rf"[A-Za-z0-9\u0370-\u03ff\u2200-\u22ff{HAN_RANGES}(\[{{|\\+\-−±√∞'.]")
_LAST_CHAR = re.compile(rf"[A-Za-z0-9\u0370-\u03ff{HAN_RANGES})\]}}|!'′%°∞*+]|\\[,;:!>}}| ]|\\\\")
_WORD = re.compile(rf"[A-Za-z]{{2,}}|[{HAN_RANGES}]+")
_PROSE_PHRASE = re.compile(r"[A-Za-z]{2,},?\s+[A-Za-z]{2,}")
_FUNCTION = re.compile(
    r"(?:a(?:rc)?)?(?:sin|cos|tan)h?|cot|sec|csc|log|l[ng]|exp|max|min|sup|inf|lim|det|dim|ker|deg|gcd|mod|arg"
    r"|Pr|Var|Cov|Re|Im|tr|rank|sgn"
)
# Content with an effect beyond drawing, or that a renderer without formulas takes for a citation.
_UNSAFE = re.compile(
    r"[@＠`†【［\u200b-\u200f\u202a-\u202e\u2066-\u2069\ue000-\uf8ff\U000f0000-\U0010ffff]|\]\(|!\[|\[\[|://|www\.|<br|%%"
    r"|(?<![A-Za-z\\])\[\s*\^?\d{1,3}\s*\]|[A-Za-z](?<!\\sqrt)(?<!arrow)\[\s*\d{1,3}\s*\]"
    r"|\\(?:href|url|include\w*|html\w*|class|cssId|style|data|require|unicode|char|[gex]?def|let|(?:re)?new\w+|provide\w+"
    r"|global|futurelet|input|write|catcode|csname|loop|ce|pu|bbox|toggle|action|enclose|verb)(?![A-Za-z])",
    re.IGNORECASE,
)
# A comment with a citation is kept: its text is then no formula, and the citation is not lost.
_COMMENT = re.compile(r"(?<!\\)%[^\n@＠\U000f0000-\U0010ffff]*(?:\n[ \t>]*|$)")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|nbsp);")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


class Formula(NamedTuple):
    """A formula in TeX; `is_display` for one on a line of its own. `source_text` is its Markdown."""

    tex: str
    is_display: bool
    source_text: str

    @property
    def node(self) -> dict[str, Any]:
        """The formula as a node of an answer tree."""
        return {"t": "math", "display": self.is_display, "c": [self.tex]}


class FormulaStore:
    """Formulas of a text, each replaced by a private character while the text is processed."""

    def __init__(self) -> None:
        self._formulas: list[Formula] = []

    def hide(self, text: str) -> str:
        """Replace each formula of a text by a placeholder."""
        text = re.sub(FORMULA_PLACEHOLDER, "\ufffd", text)
        result, at = "", 0
        for match in _find_candidates(text):
            formula = _parse_formula(match) if match.start() >= at else None
            if formula and len(self._formulas) <= _LAST_PLACEHOLDER - _FIRST_PLACEHOLDER:
                self._formulas.append(formula)
                result += text[at : match.start()] + chr(_FIRST_PLACEHOLDER + len(self._formulas) - 1)
                at = match.end()
        return result + text[at:]

    def get(self, placeholder: str) -> Formula | None:
        """Return the formula of a placeholder; None for any other text."""
        if len(placeholder) == 1 and 0 <= ord(placeholder) - _FIRST_PLACEHOLDER < len(self._formulas):
            return self._formulas[ord(placeholder) - _FIRST_PLACEHOLDER]
        return None

    def restore(self, text: str) -> str:
        """Put the formulas back into a text as they were written."""
        return "".join(part if isinstance(part, str) else part.source_text for part in self.split(text))

    def split(self, text: str) -> Iterator[str | Formula]:
        """Yield the text and the formulas of a text with placeholders, in order."""
        for part in re.split(f"({FORMULA_PLACEHOLDER})", text):
            if part:
                yield self.get(part) or part


def inline_markdown(tex: str, *, in_table_cell: bool = False) -> str:
    r"""Render a formula inside a line of Markdown.

    In a table cell, bars are replaced by \vert, because a bar would end the cell.
    """
    text = " ".join(tex.split())
    if in_table_cell:
        text = text.replace("\\|", "\\Vert ").replace("|", "\\vert ")
    return f"${text.rstrip()}$"


def display_markdown(tex: str) -> str:
    """Render a formula as a block of Markdown."""
    lines = [line for line in tex.split("\n") if line.strip()]
    if any(_BLOCK_START.match(line) for line in lines):
        lines = [" ".join(lines)]
    return "\n".join(["$$", *lines, "$$"])


def needs_space(before: str, after: str, *, formula_follows: bool) -> bool:
    """Return whether a space must separate a formula from the text beside it.

    If `formula_follows`, the formula begins `after`; otherwise it ends `before`. Next to a word,
    GitHub takes the dollar for money; letters may follow, as in $n$th.
    """
    if not before or not after:
        return False
    if formula_follows:
        return _WORD_CHAR.match(before[-1]) is not None
    return before[-1] == "$" and _WORD_CHAR.match(after) is not None and not re.match("[A-Za-z]", after)


_WORD_CHAR = re.compile(r"[\w$\\]")
_BLOCK_START = re.compile(r"[-+*#>=|~]|\d+[.)]")  # begins a block of another kind


def _find_candidates(text: str) -> Iterator[re.Match[str]]:
    """Yield possible formulas. Matches may overlap, as a formula may begin inside a false match."""
    at = 0
    while match := _CANDIDATE.search(text, at):
        yield match
        at = match.start() + 1


def _parse_formula(match: re.Match[str]) -> Formula | None:
    """Return the formula of a match; None if it is not one."""
    kind = str(match.lastgroup)
    before = match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]
    indent = r"[ \t>]*" if before.lstrip().startswith(">") else r"[ \t]*"
    text = re.sub(rf"\n{indent}", "\n", _ENTITY.sub(lambda m: html.unescape(m[0]), match[kind]))
    text = _TAG.sub("< ", _COMMENT.sub("", text)).replace("\u00a0", " ").replace("\0", "\ufffd")
    text = text.strip()
    display = kind in ("double", "square", "bare")
    if not _is_formula(text, is_unambiguous=display, has_dollars=kind in ("double", "single", "bare")):
        return None
    if kind == "bare" and (name := _INNER_ENVIRONMENTS.get(match["name"])):
        text = f"\\begin{{{name}}}{text}\\end{{{name}}}"
    return Formula(text, display, match[0])


def _is_formula(text: str, *, is_unambiguous: bool, has_dollars: bool) -> bool:
    """Return whether the text between delimiters is TeX.

    `is_unambiguous` delimiters are rarely used for anything else. Without dollars (`has_dollars`),
    they may be escaped brackets.
    """
    if not text or _UNSAFE.search(text) or (len(text) - len(text.rstrip("\\"))) % 2:
        return False
    if not (_FIRST_CHAR.match(text) and (_LAST_CHAR.fullmatch(text[-1]) or _LAST_CHAR.fullmatch(text[-2:]))):
        return False
    bare = _COMMAND.sub(" ", text)
    if _TEX_SYNTAX.search(text):
        return is_unambiguous or not (text[0].isdigit() and _PROSE_PHRASE.search(bare))
    words = [word for word in _WORD.findall(bare) if not _FUNCTION.fullmatch(word)]
    text = re.sub(r"\\([%$#&_])", "", text)
    if (
        not text
        or not _FORMULA_CHARS.fullmatch(text)
        or (_PROSE_PHRASE.search(bare) and not (is_unambiguous and _RELATION.search(text)))
    ):
        return False
    if words:
        return _RELATION.search(text) is not None and not text[0].isdigit()
    if has_dollars:
        return True
    return _RELATION.search(text) is not None or (not is_unambiguous and not re.fullmatch(r"[\d\s.,]+", text))
