"""TeX formulas as a tree, from which HTML, Word and PDF are drawn.

latex2mathml parses the TeX, and only known elements are kept. A formula with an unknown command, or
one that is too deep or too long, has no tree: its source is shown instead. A tree has no addresses,
classes or styles, so nothing in it can act.

Elements are those of MathML Core: mrow, mi, mn, mo, mtext, mspace, mfrac, msqrt, mroot, msub, msup,
msubsup, munder, mover, munderover, mtable, mtr, mtd. Three more are only implied there: `fenced`
(between `opening` and `closing`, which grow with the content), `accent` (a combining character,
line or brace above) and `below` (the same below).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from latex2mathml.converter import convert_to_element

from research.core.text.control_chars import replace_surrogates
from research.export.spreadsheet_text import INVALID_XML_CHAR

_MAX_TEX_CHARS = 3_000  # characters of TeX
_MAX_DEPTH = 14  # elements within each other
_MAX_ELEMENTS = 2_000  # elements


class FormulaElement(NamedTuple):
    """An element of a formula. Text elements have no children."""

    kind: str
    children: tuple[FormulaElement, ...] = ()
    text: str = ""
    upright: bool = False
    opening: str = ""  # bracket of a fenced element
    closing: str = ""
    width: float = 0.0  # of a space, in ems
    aligns: tuple[str, ...] = ()  # of the columns of a table: left, right, center


_TEXT_TAGS = frozenset({"mi", "mn", "mo", "mtext"})
_CHILD_COUNTS = {  # number of children
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2,
    "munderover": 3,
}  # fmt: skip
_ROW_TAGS = frozenset({"mrow", "mstyle", "mpadded", "menclose", "math", "semantics"})
# Signs above or below a letter, and the characters that combine with it.
_COMBINING_ACCENTS = {
    "^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "˙": "\u0307", "¨": "\u0308",
    "⃛": "\u20db", "ˇ": "\u030c", "˘": "\u0306", "´": "\u0301", "`": "\u0300", "→": "\u20d7",
    "←": "\u20d6", "¯": "¯", "―": "¯", "‾": "¯", "_": "¯", "⏞": "⏞", "⏟": "⏟",
}  # fmt: skip
_OPENING_FENCES = frozenset("([{|‖⌊⌈⟨")
_CLOSING_FENCES = frozenset(")]}|‖⌋⌉⟩")
_SUM_SIGNS = frozenset("∑∏∐⋃⋂⋁⋀⨁⨂⨀⨆")  # bounds go above and below in displayed formulas
_LIMIT_FUNCTIONS = re.compile(r"(?:arg)?(?:max|min)|sup|inf|lim(?:sup|inf)?|det|gcd|Pr")

# Replacements for TeX that latex2mathml does not know.
_TEX_REPLACEMENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"\\(?:label|vspace)\s*\{[^{}]*\}|\\(?:nonumber|notag|displaylimits|hfill|allowbreak)\b", ""),
        (r"\\tag\*?\s*\{([^{}]*)\}", r"\\qquad\\text{(\1)}"),
        (r"\\\\\s*\[[^\]]*\]", r"\\\\"),
        (r"\\not\s*=", r"\\neq "),
        (r"\\not\s*\\in\b", r"\\notin "),
        (r"\\(?:begin|end)\{(?:equation|multline|subequations)\*?\}", ""),
        (
            r"\\begin\{(?:aligned|align|split|eqnarray|alignat|alignedat|flalign)\*?\}(?:\[\w\]|\{\d\})?",
            r"\\begin{array}{rlrlrlrl}",
        ),
        (r"\\end\{(?:aligned|align|split|eqnarray|alignat|alignedat|flalign)\*?\}", r"\\end{array}"),
        (r"\\begin\{(?:gathered|gather)\*?\}(?:\[\w\])?", r"\\begin{array}{c}"),
        (r"\\end\{(?:gathered|gather)\*?\}", r"\\end{array}"),
        (r"\\(?:dots[bcmio]|dots)(?![A-Za-z])", r"\\ldots "),
        (r"\\middle\b", ""),
        (r"\\mathop\b", r"\\operatorname"),
    )
)
_SPACE_WIDTHS_EM = {
    "negativethinmathspace": -0.167,
    "negativemediummathspace": -0.222,
    "negativethickmathspace": -0.278,
    "thinmathspace": 0.167,
    "mediummathspace": 0.222,
    "thickmathspace": 0.278,
}


@lru_cache(maxsize=2_048)
def parse_formula(tex: str, *, is_display: bool = False) -> FormulaElement | None:
    """Parse a formula into a row. Return None if it cannot be read.

    `is_display` marks a formula on its own line.
    """
    if len(tex) > _MAX_TEX_CHARS:
        return None
    tex = INVALID_XML_CHAR.sub("", replace_surrogates(tex))
    for pattern, replacement in _TEX_REPLACEMENTS:
        tex = pattern.sub(replacement, tex)
    try:
        mathml = convert_to_element(tex, display="block" if is_display else "inline")
        element = _convert_node(mathml, is_display, 0, [0])
    except Exception:  # noqa: BLE001 - latex2mathml raises errors of many kinds
        return None
    if _count_elements(element) > _MAX_ELEMENTS:
        return None
    return element if element.kind == "mrow" else FormulaElement("mrow", (element,))


def _count_elements(element: FormulaElement) -> int:
    return 1 + sum(map(_count_elements, element.children))


class _UnknownElementError(Exception):
    """Raised for an element that no format draws."""


def _convert_node(node: Any, is_display: bool, depth: int, count: list[int]) -> FormulaElement:
    """Convert a MathML node and its children. `count` holds the number of nodes so far.

    Raises:
        _UnknownElementError: a node is not supported, or a limit is exceeded.
    """
    count[0] += 1
    tag = str(node.tag).rpartition("}")[2]
    if depth > _MAX_DEPTH or count[0] > _MAX_ELEMENTS:
        raise _UnknownElementError
    if tag in _TEXT_TAGS and not len(node):
        return _convert_leaf(node, tag)
    if tag == "mspace":
        return _convert_space(node)
    if tag == "mphantom":
        return FormulaElement("mrow")
    inner = [_convert_node(child, is_display, depth + (tag not in _ROW_TAGS), count) for child in node]
    if tag in _ROW_TAGS or tag == "mo":
        return _convert_row(node, inner)
    if tag == "msqrt":
        return FormulaElement("msqrt", (_make_row(inner),))
    if tag == "mtr":
        return FormulaElement("mtr", tuple(inner))
    if tag == "mtd":
        return FormulaElement("mtd", (_make_row(inner),), aligns=(str(node.get("columnalign", "center")),))
    if tag == "mtable":
        aligns = [cell.aligns[0] for cell in inner[0].children] if inner else []
        return FormulaElement("mtable", tuple(inner), aligns=tuple(aligns))
    return _convert_fixed(node, tag, inner, is_display)


def _convert_leaf(node: Any, tag: str) -> FormulaElement:
    text = html.unescape(html.unescape(node.text or ""))
    if re.search(r"\\[A-Za-z]|[\x00-\x1f<>]", text) and tag == "mi":
        raise _UnknownElementError
    return FormulaElement(tag, text=text, upright=_is_upright(node, tag, text))


def _convert_space(node: Any) -> FormulaElement:
    if node.get("linebreak"):
        return FormulaElement("newline")
    return FormulaElement("mspace", width=_space_width(str(node.get("width", "0"))))


def _convert_row(node: Any, children: list[FormulaElement]) -> FormulaElement:
    """Build a row, or a fenced element if both ends are fences."""
    if len(children) > 1 and all(end.get("fence") == "true" for end in (node[0], node[-1])):
        first, *content, last = children
        return FormulaElement("fenced", (_make_row(content),), opening=first.text, closing=last.text)
    return _make_row(children)


def _convert_fixed(node: Any, tag: str, children: list[FormulaElement], is_display: bool) -> FormulaElement:
    """Convert an element with a fixed number of children: a fraction, a root, an index."""
    if _CHILD_COUNTS.get(tag) != len(children):
        raise _UnknownElementError
    if tag == "mfrac" and node.get("linethickness") == "0":
        rows = tuple(FormulaElement("mtr", (FormulaElement("mtd", (part,)),)) for part in children)
        return FormulaElement("mtable", rows, aligns=("center",))
    return _convert_scripts(tag, children, is_display)


def _is_upright(node: Any, tag: str, text: str) -> bool:
    return tag == "mi" and (len(text) > 1 or node.get("mathvariant") == "normal")


def _space_width(width: str) -> float:
    number = re.fullmatch(r"([+-]?\d*\.?\d+)em", width)
    ems = float(number[1]) if number else _SPACE_WIDTHS_EM.get(width, 0.0)
    return max(-0.3, min(ems, 4.0))


def _convert_scripts(tag: str, children: list[FormulaElement], is_display: bool) -> FormulaElement:
    """Convert accents, bounds of a sum, and sub- and superscripts."""
    base = children[0]
    if tag in ("mover", "munder") and children[1].text in _COMBINING_ACCENTS:
        kind = "accent" if tag == "mover" else "below"
        return FormulaElement(kind, (base,), _COMBINING_ACCENTS[children[1].text])
    takes_bounds = base.kind == "mo" and (base.text in _SUM_SIGNS or bool(_LIMIT_FUNCTIONS.fullmatch(base.text)))
    if is_display and takes_bounds:
        tag = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}.get(tag, tag)
    return FormulaElement(tag, tuple(children))


def _make_row(children: list[FormulaElement]) -> FormulaElement:
    """Build a row, with tables grouped with their brackets and lines below each other."""
    if len(children) == 1 and children[0].kind != "newline":
        return children[0]
    if any(child.kind == "newline" for child in children):
        lines: list[list[FormulaElement]] = [[]]
        for child in children:
            lines.append([]) if child.kind == "newline" else lines[-1].append(child)
        rows = [FormulaElement("mtr", (FormulaElement("mtd", (_make_row(line),)),)) for line in lines]
        return FormulaElement("mrow", (FormulaElement("mtable", tuple(rows), aligns=("left",)),))
    return FormulaElement("mrow", tuple(_group_fences(children)))


def _group_fences(children: list[FormulaElement]) -> Iterator[FormulaElement]:
    """Yield the children of a row, each table grouped with the brackets around it."""
    at = 0
    while at < len(children):
        child = children[at]
        content = children[at + 1] if at + 1 < len(children) else None
        if child.kind == "mo" and child.text in _OPENING_FENCES and content and content.kind == "mtable":
            after = children[at + 2] if at + 2 < len(children) else FormulaElement("mo")
            closes = after.kind == "mo" and after.text in _CLOSING_FENCES
            yield FormulaElement("fenced", (content,), opening=child.text, closing=after.text if closes else "")
            at += 3 if closes else 2
        else:
            yield child
            at += 1


# --- In a line of text

_SUPERSCRIPTS = str.maketrans("0123456789+-−=()nix′″ ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱˣ′″ ")
_SUBSCRIPTS = str.maketrans("0123456789+-−=()aehijklmnoprstuvx ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ ")
_SCRIPT_TABLES = {"_": _SUBSCRIPTS, "^": _SUPERSCRIPTS}
_SCRIPT_SIGNS = {  # sign of each script, in order
    "msub": "_",
    "munder": "_",
    "msup": "^",
    "mover": "^",
    "msubsup": "_^",
    "munderover": "_^",
}
_SEPARATORS = {"mtable": "; ", "mtr": " "}
_SPACED_OPERATORS = frozenset("=<>≤≥≈≠≡∼→←⇒⇔∈∉⊂⊆∝±×+−-÷∧∨∩∪")


def formula_text(tex: str) -> str:
    """Return a formula as a line of text, such as x² + 1 ≤ a/b; its source if it cannot be read."""
    element = parse_formula(tex)
    return " ".join(_element_text(element).split()) if element else tex


def _element_text(element: FormulaElement) -> str:
    kind, parts = element.kind, [_element_text(child) for child in element.children]
    if kind in _TEXT_TAGS:
        return f" {element.text} " if element.text in _SPACED_OPERATORS and kind == "mo" else element.text
    if kind == "mspace":
        return " " if element.width > 0 else ""
    if kind == "mfrac":
        return "/".join(_parenthesize(part) for part in parts)
    if kind == "msqrt":
        return f"√{_parenthesize(parts[0])}"
    if kind == "mroot":
        return f"{_script_text(parts[1], _SUPERSCRIPTS, '')}√{_parenthesize(parts[0])}"
    if kind in _SCRIPT_SIGNS:
        scripts = zip(parts[1:], _SCRIPT_SIGNS[kind], strict=True)
        return parts[0] + "".join(_script_text(part, _SCRIPT_TABLES[mark], mark) for part, mark in scripts)
    if kind in _SEPARATORS:
        return _SEPARATORS[kind].join(parts)
    if kind == "fenced":
        return element.opening + "".join(parts) + element.closing
    if kind == "accent" and len(parts[0].strip()) == 1:
        return parts[0].strip() + ("\u0304" if element.text == "¯" else element.text)
    return "".join(parts)


def _parenthesize(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"\w+|.", text) else f"({text})"


def _script_text(text: str, table: dict[int, int], mark: str) -> str:
    text = text.strip()
    converted = text.replace(" ", "").translate(table)
    fits = all(ord(char) in table for char in text)
    return converted if fits else f"{mark}{_parenthesize(text)}"


# --- As MathML


def formula_mathml(tex: str, *, is_display: bool) -> str:
    """Return a formula as a MathML element of HTML, "" if it cannot be read.

    The TeX source is an annotation, which is copied together with the formula.
    """
    element = parse_formula(tex, is_display=is_display)
    if not element:
        return ""
    block = ' display="block"' if is_display else ""
    source = f'<annotation encoding="application/x-tex">{escape_html(tex)}</annotation>'
    drawn = f"<mrow>{_elements_mathml(element.children)}</mrow>"
    return f"<math{block}><semantics>{drawn}{source}</semantics></math>"


def escape_html(text: str) -> str:
    """Escape text for HTML, without the characters that XML forbids."""
    return html.escape(INVALID_XML_CHAR.sub("", replace_surrogates(text)))


def _elements_mathml(elements: Iterable[FormulaElement]) -> str:
    return "".join(map(_element_mathml, elements))


def _element_mathml(element: FormulaElement) -> str:
    kind, inner = element.kind, _elements_mathml(element.children)
    if kind in _TEXT_TAGS:
        plain = ' mathvariant="normal"' if element.upright and len(element.text) == 1 else ""
        return f"<{kind}{plain}>{escape_html(element.text)}</{kind}>"
    if kind == "mspace":
        return f'<mspace width="{element.width:g}em"></mspace>'
    if kind == "fenced":
        return (
            f"<mrow>{_fence_mathml(element.opening, 'prefix')}{inner}{_fence_mathml(element.closing, 'postfix')}</mrow>"
        )
    if kind == "accent":
        over = {"¯": "‾", "⏞": "⏞"}.get(element.text) or _SIGN_BY_ACCENT.get(element.text, "")
        return f'<mover accent="true">{inner}<mo>{escape_html(over)}</mo></mover>'
    if kind == "below":
        return f"<munder>{inner}<mo>{'_' if element.text == '¯' else escape_html(element.text)}</mo></munder>"
    if kind == "mtable":
        return f"<mtable>{''.join(_row_mathml(row, element.aligns) for row in element.children)}</mtable>"
    return f"<{kind}>{inner}</{kind}>"


_SIGN_BY_ACCENT = {put: sign for sign, put in reversed(_COMBINING_ACCENTS.items())}


def _fence_mathml(sign: str, form: str) -> str:
    return f'<mo fence="true" stretchy="true" form="{form}">{escape_html(sign)}</mo>' if sign else ""


def _row_mathml(row: FormulaElement, aligns: Sequence[str]) -> str:
    cells = ""
    for at, cell in enumerate(row.children):
        align = aligns[at] if at < len(aligns) else "center"
        style = f' style="text-align:{align}"' if align in ("left", "right") else ""
        cells += f"<mtd{style}>{_elements_mathml(cell.children)}</mtd>"
    return f"<mtr>{cells}</mtr>"


# --- For a template


def to_json_lists(element: FormulaElement) -> list[Any]:
    """Convert a tree to lists for JSON: kind, further fields, children."""
    facts: dict[str, Any] = {
        "text": element.text,
        "upright": element.upright,
        "open": element.opening,
        "close": element.closing,
        "width": element.width,
        "aligns": element.aligns,
    }
    non_empty = {name: value for name, value in facts.items() if value}
    return [element.kind, non_empty, [to_json_lists(child) for child in element.children]]
