"""Formulas as Word has them: Office Math, ISO/IEC 29500-1, part 22.1.

From the tree of `research.export.maths`. Knows elements; reads no TeX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lxml import etree

from research.export.maths import Element, parsed

_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SUMS = frozenset("∑∏∐∫∬∭∮⋃⋂⋁⋀⨁⨂")  # what grows with what it adds up
_EAST = "Microsoft YaHei"


def formula(tex: str, *, display: bool = False) -> Any:
    """A formula as an `m:oMath`, within an `m:oMathPara` for one in a line of its own; None if it
    cannot be read."""
    found = parsed(tex, display=display)
    if not found:
        return None
    made = _el("oMath", *_all(found.children))
    return _el("oMathPara", made) if display else made


def _el(tag: str, /, *children: Any, val: str | None = None) -> Any:
    made = etree.Element(f"{{{_M}}}{tag}", nsmap={"m": _M})
    if val is not None:
        made.set(f"{{{_M}}}val", val)
    made.extend(children)
    return made


def _all(elements: Sequence[Element]) -> Iterator[Any]:
    """Elements in order; a sum takes along what stands behind it, and brackets what they hold."""
    at = 0
    while at < len(elements):
        element = elements[at]
        bounds = _bounds(element)
        end = _closing(elements, at)
        if end:
            yield from _made(_bracketed(elements[at : end + 1]))
            at = end + 1
            continue
        if bounds:
            body = elements[at + 1 : at + 2]
            yield _sum(element, bounds, body)
            at += 1 + len(body)
        else:
            yield from _made(element)
            at += 1


_PAIRS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}


def _last(element: Element) -> str:
    """The sign that an element is, or that its index and its power stand at."""
    base = element.children[0] if element.kind in ("msub", "msup", "msubsup") else element
    return base.text if base.kind in ("mo", "mi") else ""


def _closing(elements: Sequence[Element], at: int) -> int:
    """Where the bracket closes that opens there; 0 for another element or a bracket without end."""
    opens = elements[at].text if elements[at].kind in ("mo", "mi") else ""
    closes, depth = _PAIRS.get(opens, ""), 0
    for to in range(at, len(elements) if closes else at):
        sign = _last(elements[to])
        depth += (sign == opens) - (sign == closes)
        if not depth:
            return to
    return 0


def _bracketed(elements: Sequence[Element]) -> Element:
    last = elements[-1]
    held = Element("mrow", tuple(elements[1:-1]))
    made = Element("fenced", (held,), open=elements[0].text, close=_last(last))
    return last._replace(children=(made, *last.children[1:])) if last.children else made


def _bounds(element: Element) -> tuple[Element | None, Element | None] | None:
    """What stands below and above a sign of summation; None if it is another element."""
    base = element.children[0] if element.children else element
    if base.kind != "mo" or base.text not in _SUMS:
        return None
    below = (
        element.children[1] if element.kind in ("msub", "munder", "msubsup", "munderover") else None
    )
    above = (
        element.children[-1] if element.kind in ("msup", "mover", "msubsup", "munderover") else None
    )
    return below, above


def _sum(
    element: Element, bounds: tuple[Element | None, Element | None], body: Sequence[Element]
) -> Any:
    sign = element.children[0].text if element.children else element.text
    beside = element.kind in ("msub", "msup", "msubsup")
    properties = _el(
        "naryPr",
        _el("chr", val=sign),
        _el("limLoc", val="subSup" if beside else "undOvr"),
        *([] if bounds[0] else [_el("subHide", val="1")]),
        *([] if bounds[1] else [_el("supHide", val="1")]),
    )
    parts = [_el(tag, *_of(part)) for tag, part in zip(("sub", "sup"), bounds, strict=True)]
    return _el("nary", properties, *parts, _el("e", *_all(body)))


def _of(element: Element | None) -> Iterator[Any]:
    if element is not None:
        yield from _all(element.children if element.kind == "mrow" else (element,))


def _led(element: Element | None) -> Iterator[Any]:
    """A cell; before a sign such as "=", and in an empty one, stands a run of no width, without which
    LibreOffice misses an operand."""
    found = element.children if element and element.kind == "mrow" else (element,)
    if not found or (found[0] and found[0].kind == "mo"):
        yield _run(Element("mtext", text="\u200b"))
    yield from _of(element)


def _made(element: Element) -> Iterator[Any]:
    kind, children = element.kind, element.children
    if kind in ("mi", "mn", "mo", "mtext"):
        yield _run(element)
    elif kind == "mspace":
        yield from [_run(Element("mtext", text=" "))] if element.width > 0.1 else []
    elif kind in _PARTS:
        named = children[0].kind == "mo" and children[0].text.isalpha()  # a limit, a maximum
        tag, names = _PARTS["munder" if kind == "msub" and named else kind]
        yield _el(tag, *(_el(n, *_of(part)) for n, part in zip(names, children, strict=True)))
    elif kind == "msqrt":
        hidden = _el("radPr", _el("degHide", val="1"))
        yield _el("rad", hidden, _el("deg"), _el("e", *_of(children[0])))
    elif kind == "mroot":
        yield _el("rad", _el("deg", *_of(children[1])), _el("e", *_of(children[0])))
    elif kind == "munderover":
        below = _el("limLow", _el("e", *_of(children[0])), _el("lim", *_of(children[1])))
        yield _el("limUpp", _el("e", below), _el("lim", *_of(children[2])))
    elif kind == "fenced":
        ends = (_el("begChr", val=element.open), _el("endChr", val=element.close))
        yield _el("d", _el("dPr", *ends), _el("e", *(o for child in children for o in _of(child))))
    elif kind in ("accent", "below"):
        yield _accent(element)
    elif kind == "mtable":
        yield _table(element)
    else:
        yield from _all(children)


_PARTS = {
    "mfrac": ("f", ("num", "den")),
    "msub": ("sSub", ("e", "sub")),
    "msup": ("sSup", ("e", "sup")),
    "msubsup": ("sSubSup", ("e", "sub", "sup")),
    "munder": ("limLow", ("e", "lim")),
    "mover": ("limUpp", ("e", "lim")),
}


def _run(element: Element) -> Any:
    """A letter is italic by itself; a name, a word and what is marked so are upright."""
    marks = []
    if element.kind == "mtext":
        marks = [_el("nor")]
    elif element.upright or (element.kind == "mo" and element.text.isalpha()):
        marks = [_el("sty", val="p")]
    told = _el("t")
    told.text = element.text
    told.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    fonts = etree.Element(f"{{{_W}}}rFonts")
    for name, font in (("ascii", "Cambria Math"), ("hAnsi", "Cambria Math"), ("eastAsia", _EAST)):
        fonts.set(f"{{{_W}}}{name}", font)
    looks = etree.Element(f"{{{_W}}}rPr")
    looks.append(fonts)
    return _el("r", *([_el("rPr", *marks)] if marks else []), looks, told)


def _accent(element: Element) -> Any:
    inner = _el("e", *(made for child in element.children for made in _of(child)))
    if element.text == "¯":
        place = "top" if element.kind == "accent" else "bot"
        return _el("bar", _el("barPr", _el("pos", val=place)), inner)
    if element.text in "⏞⏟":
        place = "top" if element.text == "⏞" else "bot"
        other = "bot" if place == "top" else "top"
        facts = (_el("chr", val=element.text), _el("pos", val=place), _el("vertJc", val=other))
        return _el("groupChr", _el("groupChrPr", *facts), inner)
    return _el("acc", _el("accPr", _el("chr", val=element.text)), inner)


def _table(element: Element) -> Any:
    across = max((len(row.children) for row in element.children), default=0)
    ways = [*element.aligns, *["center"] * across][:across]
    columns = [_el("mc", _el("mcPr", _el("count", val="1"), _el("mcJc", val=way))) for way in ways]
    rows = [_table_row(row.children, across) for row in element.children]
    return _el("m", _el("mPr", _el("mcs", *columns)), *rows)


def _table_row(cells: Iterable[Element], across: int) -> Any:
    made = [_el("e", *_led(cell.children[0] if cell.children else None)) for cell in cells]
    return _el("mr", *made, *(_el("e") for _ in range(across - len(made))))
