"""Formulas as Office Math for Word: ISO/IEC 29500-1, part 22.1.

Built from the tree of `research.export.formula_tree`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lxml import etree

from research.export.formula_tree import FormulaElement, parse_formula

_MATH_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_WORD_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SUM_SIGNS = frozenset("∑∏∐∫∬∭∮⋃⋂⋁⋀⨁⨂")  # signs that grow with their operand
_EAST_ASIAN_FONT = "Microsoft YaHei"


def formula_omml(tex: str, *, is_display: bool = False) -> Any:
    """Return a formula as `m:oMath`, in `m:oMathPara` if displayed; None if it is unreadable."""
    formula = parse_formula(tex, is_display=is_display)
    if not formula:
        return None
    math = _math_element("oMath", *_convert_elements(formula.children))
    return _math_element("oMathPara", math) if is_display else math


def _math_element(tag: str, /, *children: Any, val: str | None = None) -> Any:
    element = etree.Element(f"{{{_MATH_NAMESPACE}}}{tag}", nsmap={"m": _MATH_NAMESPACE})
    if val is not None:
        element.set(f"{{{_MATH_NAMESPACE}}}val", val)
    element.extend(children)
    return element


def _convert_elements(elements: Sequence[FormulaElement]) -> Iterator[Any]:
    """Convert elements in order; a sum takes the next element, brackets their content."""
    index = 0
    while index < len(elements):
        element = elements[index]
        if end := _closing_index(elements, index):
            yield from _convert_element(_fence_elements(elements[index : end + 1]))
            index = end + 1
        elif bounds := _sum_bounds(element):
            body = elements[index + 1 : index + 2]
            yield _sum_element(element, bounds, body)
            index += 1 + len(body)
        else:
            yield from _convert_element(element)
            index += 1


_CLOSING_BRACKETS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}


def _last_sign(element: FormulaElement) -> str:
    """Return the sign of an element, or of the base of its scripts; "" if that is no sign or letter."""
    base = element.children[0] if element.kind in ("msub", "msup", "msubsup") else element
    return base.text if base.kind in ("mo", "mi") else ""


def _closing_index(elements: Sequence[FormulaElement], start: int) -> int:
    """Return the index of the matching closing bracket, 0 if there is none."""
    opens = elements[start].text if elements[start].kind in ("mo", "mi") else ""
    closes, depth = _CLOSING_BRACKETS.get(opens, ""), 0
    for index in range(start, len(elements) if closes else start):
        sign = _last_sign(elements[index])
        depth += (sign == opens) - (sign == closes)
        if not depth:
            return index
    return 0


def _fence_elements(elements: Sequence[FormulaElement]) -> FormulaElement:
    last = elements[-1]
    content = FormulaElement("mrow", tuple(elements[1:-1]))
    fenced = FormulaElement("fenced", (content,), opening=elements[0].text, closing=_last_sign(last))
    return last._replace(children=(fenced, *last.children[1:])) if last.children else fenced


def _sum_bounds(element: FormulaElement) -> tuple[FormulaElement | None, FormulaElement | None] | None:
    """Return the lower and upper bound of a sum; None for any other element."""
    base = element.children[0] if element.children else element
    if base.kind != "mo" or base.text not in _SUM_SIGNS:
        return None
    below = element.children[1] if element.kind in ("msub", "munder", "msubsup", "munderover") else None
    above = element.children[-1] if element.kind in ("msup", "mover", "msubsup", "munderover") else None
    return below, above


def _sum_element(
    element: FormulaElement, bounds: tuple[FormulaElement | None, FormulaElement | None], body: Sequence[FormulaElement]
) -> Any:
    sign = element.children[0].text if element.children else element.text
    beside = element.kind in ("msub", "msup", "msubsup")
    properties = _math_element(
        "naryPr",
        _math_element("chr", val=sign),
        _math_element("limLoc", val="subSup" if beside else "undOvr"),
        *([] if bounds[0] else [_math_element("subHide", val="1")]),
        *([] if bounds[1] else [_math_element("supHide", val="1")]),
    )
    below, above = bounds
    operand = _math_element("e", *_convert_elements(body))
    return _math_element("nary", properties, _operand_element("sub", below), _operand_element("sup", above), operand)


def _convert_operand(element: FormulaElement | None) -> Iterator[Any]:
    if element is not None:
        yield from _convert_elements(element.children if element.kind == "mrow" else (element,))


def _operand_element(tag: str, *elements: FormulaElement | None) -> Any:
    """Create an element that holds operands; None is an empty operand."""
    return _math_element(tag, *(part for element in elements for part in _convert_operand(element)))


def _convert_cell(element: FormulaElement | None) -> Iterator[Any]:
    """Convert a cell of a matrix.

    A run of no width fills an empty cell and precedes a sign such as "=", because LibreOffice
    misses an operand otherwise.
    """
    operands = element.children if element and element.kind == "mrow" else (element,)
    if not operands or (operands[0] and operands[0].kind == "mo"):
        yield _run_element(FormulaElement("mtext", text="\u200b"))
    yield from _convert_operand(element)


def _convert_element(element: FormulaElement) -> Iterator[Any]:
    kind, children = element.kind, element.children
    if kind in ("mi", "mn", "mo", "mtext"):
        yield _run_element(element)
    elif kind == "mspace":
        yield from [_run_element(FormulaElement("mtext", text=" "))] if element.width > 0.1 else []
    elif kind in _OMML_STRUCTURES:
        is_limit = children[0].kind == "mo" and children[0].text.isalpha()  # a limit, a maximum
        tag, names = _OMML_STRUCTURES["munder" if kind == "msub" and is_limit else kind]
        yield _math_element(tag, *map(_operand_element, names, children))
    elif kind == "msqrt":
        hidden = _math_element("radPr", _math_element("degHide", val="1"))
        yield _math_element("rad", hidden, _math_element("deg"), _operand_element("e", children[0]))
    elif kind == "mroot":
        yield _math_element("rad", _operand_element("deg", children[1]), _operand_element("e", children[0]))
    elif kind == "munderover":
        below = _math_element("limLow", _operand_element("e", children[0]), _operand_element("lim", children[1]))
        yield _math_element("limUpp", _math_element("e", below), _operand_element("lim", children[2]))
    elif kind == "fenced":
        ends = (_math_element("begChr", val=element.opening), _math_element("endChr", val=element.closing))
        yield _math_element("d", _math_element("dPr", *ends), _operand_element("e", *children))
    elif kind in ("accent", "below"):
        yield _accent_element(element)
    elif kind == "mtable":
        yield _matrix_element(element)
    else:
        yield from _convert_elements(children)


_OMML_STRUCTURES = {
    "mfrac": ("f", ("num", "den")),
    "msub": ("sSub", ("e", "sub")),
    "msup": ("sSup", ("e", "sup")),
    "msubsup": ("sSubSup", ("e", "sub", "sup")),
    "munder": ("limLow", ("e", "lim")),
    "mover": ("limUpp", ("e", "lim")),
}


def _run_element(element: FormulaElement) -> Any:
    """Create a run: a letter is italic; names, words and upright elements are upright."""
    marks = []
    if element.kind == "mtext":
        marks = [_math_element("nor")]
    elif element.upright or (element.kind == "mo" and element.text.isalpha()):
        marks = [_math_element("sty", val="p")]
    text = _math_element("t")
    text.text = element.text
    text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    fonts = etree.Element(f"{{{_WORD_NAMESPACE}}}rFonts")
    for name, font in (("ascii", "Cambria Math"), ("hAnsi", "Cambria Math"), ("eastAsia", _EAST_ASIAN_FONT)):
        fonts.set(f"{{{_WORD_NAMESPACE}}}{name}", font)
    word_properties = etree.Element(f"{{{_WORD_NAMESPACE}}}rPr")
    word_properties.append(fonts)
    return _math_element("r", *([_math_element("rPr", *marks)] if marks else []), word_properties, text)


def _accent_element(element: FormulaElement) -> Any:
    inner = _operand_element("e", *element.children)
    if element.text == "¯":
        position = "top" if element.kind == "accent" else "bot"
        return _math_element("bar", _math_element("barPr", _math_element("pos", val=position)), inner)
    if element.text in "⏞⏟":
        position, alignment = ("top", "bot") if element.text == "⏞" else ("bot", "top")
        facts = (
            _math_element("chr", val=element.text),
            _math_element("pos", val=position),
            _math_element("vertJc", val=alignment),
        )
        return _math_element("groupChr", _math_element("groupChrPr", *facts), inner)
    return _math_element("acc", _math_element("accPr", _math_element("chr", val=element.text)), inner)


def _matrix_element(element: FormulaElement) -> Any:
    column_count = max((len(row.children) for row in element.children), default=0)
    aligns = [*element.aligns, *["center"] * column_count][:column_count]
    columns = [
        _math_element("mc", _math_element("mcPr", _math_element("count", val="1"), _math_element("mcJc", val=align)))
        for align in aligns
    ]
    rows = [_matrix_row(row.children, column_count) for row in element.children]
    return _math_element("m", _math_element("mPr", _math_element("mcs", *columns)), *rows)


def _matrix_row(cells: Iterable[FormulaElement], column_count: int) -> Any:
    cell_elements = [_math_element("e", *_convert_cell(cell.children[0] if cell.children else None)) for cell in cells]
    return _math_element("mr", *cell_elements, *(_math_element("e") for _ in range(column_count - len(cell_elements))))
