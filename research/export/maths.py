"""Formulas in TeX as a tree: what HTML, Word and PDF draw, each in its own words.

latex2mathml reads the TeX; of what it makes only known elements are kept, and a formula with a command
that it does not know, or that is too deep or too long, is no tree: then its source is shown. Nothing in
a tree acts: it has no address, no class and no style. Knows formulas; draws none.

Elements are as in MathML Core: mrow, mi, mn, mo, mtext, mspace, mfrac, msqrt, mroot, msub, msup,
msubsup, munder, mover, munderover, mtable, mtr, mtd. Three more say what is only implied there: `fenced`
(between `open` and `close`, which grow with it), `accent` (over, a combining character, or a line or a
brace) and `below` (the same under its content).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from latex2mathml.converter import convert_to_element

from research.citations.markup import encodable
from research.export.geo import NOT_XML

_LONGEST = 3_000  # characters of TeX
_DEEPEST = 14  # elements within each other
_MOST = 2_000  # elements


class Element(NamedTuple):
    """A part of a formula. Those with text have no children."""

    kind: str
    children: tuple[Element, ...] = ()
    text: str = ""
    upright: bool = False
    open: str = ""  # of what is fenced
    close: str = ""
    width: float = 0.0  # of a space, in ems
    aligns: tuple[str, ...] = ()  # of the columns of a table: left, right, center


_LEAVES = frozenset({"mi", "mn", "mo", "mtext"})
_BRANCHES = {  # with how many children each has
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2,
    "munderover": 3,
}  # fmt: skip
_ROWS = frozenset({"mrow", "mstyle", "mpadded", "menclose", "math", "semantics"})
# What stands above or below a letter, as the character that combines with it.
_ACCENTS = {
    "^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "˙": "\u0307", "¨": "\u0308",
    "⃛": "\u20db", "ˇ": "\u030c", "˘": "\u0306", "´": "\u0301", "`": "\u0300", "→": "\u20d7",
    "←": "\u20d6", "¯": "¯", "―": "¯", "‾": "¯", "_": "¯", "⏞": "⏞", "⏟": "⏟",
}  # fmt: skip
_OPEN = frozenset("([{|‖⌊⌈⟨")
_CLOSE = frozenset(")]}|‖⌋⌉⟩")
_LIMITS = frozenset("∑∏∐⋃⋂⋁⋀⨁⨂⨀⨆")  # what has its bounds above and below in a line of its own
_NAMES = re.compile(r"(?:arg)?(?:max|min)|sup|inf|lim(?:sup|inf)?|det|gcd|Pr")

# TeX that latex2mathml does not know, in words that it does.
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"\\(?:label|vspace)\s*\{[^{}]*\}|\\(?:nonumber|notag|displaylimits|hfill|allowbreak)\b", ""),
        (r"\\tag\*?\s*\{([^{}]*)\}", r"\\qquad\\text{(\1)}"),
        (r"\\\\\s*\[[^\]]*\]", r"\\\\"),
        (r"\\not\s*=", r"\\neq "),
        (r"\\not\s*\\in\b", r"\\notin "),
        (r"\\(?:begin|end)\{(?:equation|multline|subequations)\*?\}", ""),
        (r"\\begin\{(?:aligned|align|split|eqnarray|alignat|alignedat|flalign)\*?\}(?:\[\w\]|\{\d\})?",
         r"\\begin{array}{rlrlrlrl}"),
        (r"\\end\{(?:aligned|align|split|eqnarray|alignat|alignedat|flalign)\*?\}", r"\\end{array}"),
        (r"\\begin\{(?:gathered|gather)\*?\}(?:\[\w\])?", r"\\begin{array}{c}"),
        (r"\\end\{(?:gathered|gather)\*?\}", r"\\end{array}"),
        (r"\\(?:dots[bcmio]|dots)(?![A-Za-z])", r"\\ldots "),
        (r"\\middle\b", ""),
        (r"\\mathop\b", r"\\operatorname"),
    )
)  # fmt: skip
_SPACES = {
    "negativethinmathspace": -0.167, "negativemediummathspace": -0.222, "negativethickmathspace": -0.278,
    "thinmathspace": 0.167, "mediummathspace": 0.222, "thickmathspace": 0.278,
}  # fmt: skip


@lru_cache(maxsize=2_048)
def parsed(tex: str, *, display: bool = False) -> Element | None:
    """A formula as a row; None if it cannot be read. `display` is for one in a line of its own."""
    if len(tex) > _LONGEST:
        return None
    tex = NOT_XML.sub("", encodable(tex))
    for pattern, put in _WORDS:
        tex = pattern.sub(put, tex)
    try:
        found = convert_to_element(tex, display="block" if display else "inline")
        made = _kept(found, display, 0, [0])
    except Exception:  # noqa: BLE001 - it raises whatever comes of TeX that it does not expect
        return None
    if _size(made) > _MOST:
        return None
    return made if made.kind == "mrow" else Element("mrow", (made,))


def _size(element: Element) -> int:
    return 1 + sum(map(_size, element.children))


class _Unknown(Exception):
    """Something that no format draws."""


def _kept(node: Any, display: bool, depth: int, count: list[int]) -> Element:
    """A node of MathML as an element, or `_Unknown`."""
    count[0] += 1
    tag = str(node.tag).rpartition("}")[2]
    if depth > _DEEPEST or count[0] > _MOST:
        raise _Unknown
    if tag in _LEAVES and not len(node):
        return _leaf(node, tag)
    if tag == "mspace":
        return _space(node)
    if tag == "mphantom":
        return Element("mrow")
    inner = [_kept(child, display, depth + (tag not in _ROWS), count) for child in node]
    if tag in _ROWS or tag == "mo":
        return _between(node, inner)
    if tag == "msqrt":
        return Element("msqrt", (_row(inner),))
    if tag == "mtr":
        return Element("mtr", tuple(inner))
    if tag == "mtd":
        return Element("mtd", (_row(inner),), aligns=(str(node.get("columnalign", "center")),))
    if tag == "mtable":
        ways = [cell.aligns[0] for cell in inner[0].children] if inner else []
        return Element("mtable", tuple(inner), aligns=tuple(ways))
    return _built(node, tag, inner, display)


def _leaf(node: Any, tag: str) -> Element:
    text = html.unescape(html.unescape(node.text or ""))
    if re.search(r"\\[A-Za-z]|[\x00-\x1f<>]", text) and tag == "mi":
        raise _Unknown
    return Element(tag, text=text, upright=_upright(node, tag, text))


def _space(node: Any) -> Element:
    if node.get("linebreak"):
        return Element("newline")
    return Element("mspace", width=_width(str(node.get("width", "0"))))


def _between(node: Any, inner: list[Element]) -> Element:
    """A row, or what stands between two fences."""
    if len(inner) > 1 and all(end.get("fence") == "true" for end in (node[0], node[-1])):
        first, *held, last = inner
        return Element("fenced", (_row(held),), open=first.text, close=last.text)
    return _row(inner)


def _built(node: Any, tag: str, inner: list[Element], display: bool) -> Element:
    """What has a fixed number of parts: a fraction, a root, an index."""
    if _BRANCHES.get(tag) != len(inner):
        raise _Unknown
    if tag == "mfrac" and node.get("linethickness") == "0":
        rows = tuple(Element("mtr", (Element("mtd", (part,)),)) for part in inner)
        return Element("mtable", rows, aligns=("center",))
    return _placed(tag, inner, display)


def _upright(node: Any, tag: str, text: str) -> bool:
    return tag == "mi" and (len(text) > 1 or node.get("mathvariant") == "normal")


def _width(told: str) -> float:
    number = re.fullmatch(r"([+-]?\d*\.?\d+)em", told)
    wide = float(number[1]) if number else _SPACES.get(told, 0.0)
    return max(-0.3, min(wide, 4.0))


def _placed(tag: str, inner: list[Element], display: bool) -> Element:
    """What stands above and below: an accent, the bounds of a sum, or an index and a power."""
    base = inner[0]
    if tag in ("mover", "munder") and inner[1].text in _ACCENTS:
        kind = "accent" if tag == "mover" else "below"
        return Element(kind, (base,), _ACCENTS[inner[1].text])
    bounds = base.kind == "mo" and (base.text in _LIMITS or bool(_NAMES.fullmatch(base.text)))
    if display and bounds:
        tag = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}.get(tag, tag)
    return Element(tag, tuple(inner))


def _row(inner: list[Element]) -> Element:
    """A row, its brackets around what they hold and its lines below each other."""
    if len(inner) == 1 and inner[0].kind != "newline":
        return inner[0]
    if any(child.kind == "newline" for child in inner):
        lines: list[list[Element]] = [[]]
        for child in inner:
            lines.append([]) if child.kind == "newline" else lines[-1].append(child)
        rows = [Element("mtr", (Element("mtd", (_row(line),)),)) for line in lines]
        return Element("mrow", (Element("mtable", tuple(rows), aligns=("left",)),))
    return Element("mrow", tuple(_fenced(inner)))


def _fenced(inner: list[Element]) -> Iterator[Element]:
    """The children of a row, with what brackets hold that grow: all of it, or a table."""
    at = 0
    while at < len(inner):
        child = inner[at]
        held = inner[at + 1] if at + 1 < len(inner) else None
        if child.kind == "mo" and child.text in _OPEN and held and held.kind == "mtable":
            after = inner[at + 2] if at + 2 < len(inner) else Element("mo")
            closes = after.kind == "mo" and after.text in _CLOSE
            yield Element("fenced", (held,), open=child.text, close=after.text if closes else "")
            at += 3 if closes else 2
        else:
            yield child
            at += 1


# --- In a line of text

_RAISED = str.maketrans("0123456789+-−=()nix′″ ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱˣ′″ ")
_LOWERED = str.maketrans("0123456789+-−=()aehijklmnoprstuvx ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ ")
_TABLES = {"_": _LOWERED, "^": _RAISED}
_SCRIPTS = {  # what stands below and above, in turn
    "msub": "_", "munder": "_", "msup": "^", "mover": "^", "msubsup": "_^", "munderover": "_^",
}  # fmt: skip
_BETWEEN = {"mtable": "; ", "mtr": " "}
_SPACED = frozenset("=<>≤≥≈≠≡∼→←⇒⇔∈∉⊂⊆∝±×+−-÷∧∨∩∪")


def readable(tex: str) -> str:
    """A formula as a line of text, such as x² + 1 ≤ a/b; its source if it cannot be read."""
    found = parsed(tex)
    return " ".join(_said(found).split()) if found else tex


def _said(element: Element) -> str:
    kind, parts = element.kind, [_said(child) for child in element.children]
    if kind in _LEAVES:
        return f" {element.text} " if element.text in _SPACED and kind == "mo" else element.text
    if kind == "mspace":
        return " " if element.width > 0 else ""
    if kind == "mfrac":
        return "/".join(_grouped(part) for part in parts)
    if kind == "msqrt":
        return f"√{_grouped(parts[0])}"
    if kind == "mroot":
        return f"{_script(parts[1], _RAISED, '')}√{_grouped(parts[0])}"
    if kind in _SCRIPTS:
        scripts = zip(parts[1:], _SCRIPTS[kind], strict=True)
        return parts[0] + "".join(_script(part, _TABLES[mark], mark) for part, mark in scripts)
    if kind in _BETWEEN:
        return _BETWEEN[kind].join(parts)
    if kind == "fenced":
        return element.open + "".join(parts) + element.close
    if kind == "accent" and len(parts[0].strip()) == 1:
        return parts[0].strip() + ("\u0304" if element.text == "¯" else element.text)
    return "".join(parts)


def _grouped(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"\w+|.", text) else f"({text})"


def _script(text: str, table: dict[int, int], mark: str) -> str:
    text = text.strip()
    told = text.replace(" ", "").translate(table)
    fits = all(ord(char) in table for char in text)
    return told if fits else f"{mark}{_grouped(text)}"


# --- As MathML


def mathml(tex: str, *, display: bool) -> str:
    """A formula as an element of HTML, with its source as the note that a copy takes along; "" if it
    cannot be read."""
    found = parsed(tex, display=display)
    if not found:
        return ""
    block = ' display="block"' if display else ""
    source = f'<annotation encoding="application/x-tex">{_escaped(tex)}</annotation>'
    drawn = f"<mrow>{_marked(found.children)}</mrow>"
    return f"<math{block}><semantics>{drawn}{source}</semantics></math>"


def _escaped(text: str) -> str:
    return html.escape(NOT_XML.sub("", encodable(text)))


def _marked(elements: Iterable[Element]) -> str:
    return "".join(map(_element, elements))


def _element(element: Element) -> str:
    kind, inner = element.kind, _marked(element.children)
    if kind in _LEAVES:
        plain = ' mathvariant="normal"' if element.upright and len(element.text) == 1 else ""
        return f"<{kind}{plain}>{_escaped(element.text)}</{kind}>"
    if kind == "mspace":
        return f'<mspace width="{element.width:g}em"></mspace>'
    if kind == "fenced":
        return f"<mrow>{_fence(element.open, 'prefix')}{inner}{_fence(element.close, 'postfix')}</mrow>"
    if kind == "accent":
        over = {"¯": "‾", "⏞": "⏞"}.get(element.text) or _ACCENT_SIGNS.get(element.text, "")
        return f'<mover accent="true">{inner}<mo>{_escaped(over)}</mo></mover>'
    if kind == "below":
        return f"<munder>{inner}<mo>{'_' if element.text == '¯' else _escaped(element.text)}</mo></munder>"
    if kind == "mtable":
        return f"<mtable>{''.join(_table_row(row, element.aligns) for row in element.children)}</mtable>"
    return f"<{kind}>{inner}</{kind}>"


_ACCENT_SIGNS = {put: sign for sign, put in reversed(_ACCENTS.items())}


def _fence(sign: str, form: str) -> str:
    return f'<mo fence="true" stretchy="true" form="{form}">{_escaped(sign)}</mo>' if sign else ""


def _table_row(row: Element, aligns: Sequence[str]) -> str:
    cells = ""
    for at, cell in enumerate(row.children):
        way = aligns[at] if at < len(aligns) else "center"
        style = f' style="text-align:{way}"' if way in ("left", "right") else ""
        cells += f"<mtd{style}>{_marked(cell.children)}</mtd>"
    return f"<mtr>{cells}</mtr>"


# --- For a template


def listed(element: Element) -> list[Any]:
    """A tree as lists for JSON: kind, text or further facts, children."""
    facts: dict[str, Any] = {
        "text": element.text,
        "upright": element.upright,
        "open": element.open,
        "close": element.close,
        "width": element.width,
        "aligns": element.aligns,
    }
    kept = {name: value for name, value in facts.items() if value}
    return [element.kind, kept, [listed(child) for child in element.children]]
