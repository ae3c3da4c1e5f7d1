"""Column widths of printed tables, computed from the text of their cells.

Widths may be in any one unit. Draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from research.export.document import plain_text

_WIDE_CHAR = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U0001f300-\U0003ffff]")


def measure_columns(rows: Sequence[Sequence[Any]], column_count: int) -> tuple[list[float], list[float]]:
    """Return the preferred and the minimum width of each column, in ems of the font size.

    The preferred width fits the longest cell, the minimum width the longest word. `rows` holds the
    cell nodes of the document tree.
    """
    preferred, minimum = [1.0] * column_count, [1.0] * column_count
    for row in rows:
        for at, cell in enumerate(row):
            text = plain_text(cell["c"])
            bold = 1.15 if cell["t"] == "th" else 1.0
            preferred[at] = max(preferred[at], bold * width_in_ems(text))
            minimum[at] = max(minimum[at], *(bold * width_in_ems(word) for word in text.split() or ("",)))
    return preferred, minimum


def width_in_ems(text: str) -> float:
    """Estimate the width of text: 1 em for a wide character, 0.56 em for any other."""
    wide = len(_WIDE_CHAR.findall(text))
    return (len(text) - wide) * 0.56 + wide


def fit_columns(preferred_widths: Sequence[float], min_widths: Sequence[float], total_width: float) -> list[float]:
    """Return column widths that add up to at most the total width.

    Preferred widths that fit are kept, or scaled up to the total width if they fill more than 60 %
    of it. Otherwise the widest columns are limited to a common width, but never below their
    minimum.
    """
    if sum(preferred_widths) <= total_width:
        spare = total_width - sum(preferred_widths) if sum(preferred_widths) > 0.6 * total_width else 0.0
        return [width + spare * width / sum(preferred_widths) for width in preferred_widths]
    low, high = 0.0, max(preferred_widths)
    for _ in range(40):
        level = (low + high) / 2
        if sum(_clamp_widths(level, preferred_widths, min_widths)) > total_width:
            high = level
        else:
            low = level
    return _clamp_widths(low, preferred_widths, min_widths)


def _clamp_widths(max_width: float, preferred_widths: Sequence[float], min_widths: Sequence[float]) -> list[float]:
    return [
        max(minimum, min(preferred, max_width)) for preferred, minimum in zip(preferred_widths, min_widths, strict=True)
    ]


def split_into_bands(min_widths: Sequence[float], total_width: float) -> list[list[int]]:
    """Split the columns of a table that is too wide into bands that fit.

    Each band is a list of column indices that begins with column 0.
    """
    bands: list[list[int]] = [[0]]
    used = min_widths[0] if min_widths else 0.0
    for at in range(1, len(min_widths)):
        if used + min_widths[at] > total_width and len(bands[-1]) > 1:
            bands.append([0])
            used = min_widths[0]
        bands[-1].append(at)
        used += min_widths[at]
    return bands
