"""The columns of a table on paper: what they want by what is in them, and what they get.

Widths are in any one unit. Knows text and numbers; draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from research.export.document import plain

_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U0001f300-\U0003ffff]")  # fmt: skip


def wanted(rows: Sequence[Sequence[Any]], across: int) -> tuple[list[float], list[float]]:
    """What each column would like for its longest cell, and the least that its longest word needs, as
    multiples of the size of the type. `rows` are the cells of the tree."""
    wants, least = [1.0] * across, [1.0] * across
    for row in rows:
        for at, cell in enumerate(row):
            text = plain(cell["c"])
            bold = 1.15 if cell["t"] == "th" else 1.0
            wants[at] = max(wants[at], bold * ems(text))
            least[at] = max(least[at], *(bold * ems(word) for word in text.split() or ("",)))
    return wants, least


def ems(text: str) -> float:
    """About how wide text is."""
    wide = len(_WIDE.findall(text))
    return (len(text) - wide) * 0.56 + wide


def columns(natural: Sequence[float], least: Sequence[float], width: float) -> list[float]:
    """The widths of a table's columns: as they like if there is room, else those that want much are
    as wide as each other, and none is narrower than its least."""
    if sum(natural) <= width:
        spare = width - sum(natural) if sum(natural) > 0.6 * width else 0.0
        return [want + spare * want / sum(natural) for want in natural]
    low, high = 0.0, max(natural)
    for _ in range(40):
        level = (low + high) / 2
        if sum(_up_to(level, natural, least)) > width:
            high = level
        else:
            low = level
    return _up_to(low, natural, least)


def _up_to(level: float, natural: Sequence[float], least: Sequence[float]) -> list[float]:
    return [max(few, min(want, level)) for want, few in zip(natural, least, strict=True)]


def bands(least: Sequence[float], width: float) -> list[list[int]]:
    """The columns of a table that is too wide, in bands that fit; each begins with the first."""
    found: list[list[int]] = [[0]]
    used = least[0] if least else 0.0
    for at in range(1, len(least)):
        if used + least[at] > width and len(found[-1]) > 1:
            found.append([0])
            used = least[0]
        found[-1].append(at)
        used += least[at]
    return found
