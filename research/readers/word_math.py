"""Formulas of Word files (Office Math) as one line of text: (a+b)/2, x², √(2), ∑_(i=1)^n.

Source: ISO/IEC 29500-1, 22.1.
"""

from __future__ import annotations

from typing import Any

from research.readers.scripts import lowered_text, raised_text

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MAX_DEPTH = 60


def formula_text(element: Any, depth: int = 0) -> str:
    """Return a formula, or a part of one, as text; what is nested too deep loses its structure."""
    if depth > _MAX_DEPTH:
        return "".join(element.itertext())

    def part(name: str) -> str:
        found = element.find(f"{_M}{name}")
        return "" if found is None else formula_text(found, depth + 1)

    def parts(name: str) -> list[str]:
        return [formula_text(child, depth + 1) for child in element.iterchildren(f"{_M}{name}")]

    def setting(name: str, default: str) -> str:
        found = element.find(f"*/{_M}{name}")
        return default if found is None else found.get(f"{_M}val") or ""

    kind = element.tag.rpartition("}")[2]
    if kind == "t":
        return element.text or ""
    if kind == "f":
        return f"{_group(part('num'))}/{_group(part('den'))}"
    if kind in ("sSup", "sSub", "sSubSup"):
        return part("e") + _lowered(part("sub")) + _raised(part("sup"))
    if kind == "sPre":
        return _lowered(part("sub")) + _raised(part("sup")) + part("e")
    if kind == "rad":
        degree = part("deg")
        return f"{_raised(degree)}√({part('e')})"
    if kind == "d":
        separator = setting("sepChr", "|")
        return setting("begChr", "(") + separator.join(parts("e")) + setting("endChr", ")")
    if kind == "nary":
        return f"{setting('chr', '∫')}{_lowered(part('sub'))}{_raised(part('sup'))} {part('e')}"
    if kind == "func":
        argument = part("e")
        return f"{part('fName')}{argument if argument.startswith('(') else f'({argument})'}"
    if kind in ("limLow", "limUpp"):
        return part("e") + (_lowered(part("lim")) if kind == "limLow" else _raised(part("lim")))
    if kind == "acc":
        return part("e") + setting("chr", "\u0302")
    if kind == "bar":
        return part("e") + "\u0305"
    if kind == "eqArr":
        return "; ".join(parts("e"))
    if kind == "m":
        rows = element.iterchildren(f"{_M}mr")
        return f"[{'; '.join(', '.join(formula_text(cell, depth + 1) for cell in row) for row in rows)}]"
    if kind in ("del", "moveFrom") or kind.endswith("Pr"):
        return ""
    return "".join(formula_text(child, depth + 1) for child in element.iterchildren("*"))


def _group(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _raised(text: str) -> str:
    plain = raised_text(text, ")") if text else ""
    return plain if plain != text and "[" not in plain else f"^{_group(text)}" if text else ""


def _lowered(text: str) -> str:
    plain = lowered_text(text)
    return plain if plain != text else f"_{_group(text)}" if text else ""
