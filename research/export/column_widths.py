"""The columns of a table on paper: what they want by what is in them, and what they get.

Widths are in any one unit. Knows text and numbers; draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from research.export.document import plain_text

_WIDE_CHAR = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U0001f300-\U0003ffff]")  # fmt: skip


def measure_columns(rows: Sequence[Sequence[Any]], column_count: int) -> tuple[list[float], list[float]]:
    """What each column would like for its longest cell, and the least that its longest word needs, as
    multiples of the size of the type. `rows` are the cells of the tree."""
    wants, least = [1.0] * column_count, [1.0] * column_count
    for row in rows:
        for at, cell in enumerate(row):
            text = plain_text(cell["c"])
            bold = 1.15 if cell["t"] == "th" else 1.0
            wants[at] = max(wants[at], bold * width_in_ems(text))
            least[at] = max(least[at], *(bold * width_in_ems(word) for word in text.split() or ("",)))
    return wants, least


def width_in_ems(text: str) -> float:
    """About how wide text is."""
    wide = len(_WIDE_CHAR.findall(text))
    return (len(text) - wide) * 0.56 + wide


def fit_columns(preferred_widths: Sequence[float], min_widths: Sequence[float], total_width: float) -> list[float]:
    """The widths of a table's columns: as they like if there is room, else those that want much are
    as wide as each other, and none is narrower than its least."""
    if sum(preferred_widths) <= total_width:
        spare = total_width - sum(preferred_widths) if sum(preferred_widths) > 0.6 * total_width else 0.0
        return [want + spare * want / sum(preferred_widths) for want in preferred_widths]
    low, high = 0.0, max(preferred_widths)
    for _ in range(40):
        level = (low + high) / 2
        if sum(_clamp_widths(level, preferred_widths, min_widths)) > total_width:
            high = level
        else:
            low = level
    return _clamp_widths(low, preferred_widths, min_widths)


def _clamp_widths(max_width: float, preferred_widths: Sequence[float], min_widths: Sequence[float]) -> list[float]:
    return [max(few, min(want, max_width)) for want, few in zip(preferred_widths, min_widths, strict=True)]


def split_into_bands(min_widths: Sequence[float], total_width: float) -> list[list[int]]:
    """The columns of a table that is too wide, in bands that fit; each begins with the first."""
    found: list[list[int]] = [[0]]
    used = min_widths[0] if min_widths else 0.0
    for at in range(1, len(min_widths)):
        if used + min_widths[at] > total_width and len(found[-1]) > 1:
            found.append([0])
            used = min_widths[0]
        found[-1].append(at)
        used += min_widths[at]
    return found
