"""Rows of a table that are no data: totals of the rows above, and notes below the table.

A total is recognised by its word and by arithmetic: a figure of it is the sum of the rows above, since the
last subtotal or of all. A row with such a word whose figures are no sums stays a row of the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal

from research.core.records import Record

RowKind = Literal["total", "note", "width"]
MAX_SET_ASIDE = 50  # rows that are kept beside the table
_MAX_TEXT_CHARS = 300
_MAX_LABEL_CHARS = 80
_TOTAL = re.compile(
    r"(?:.{0,40}[\s:：(（_-])?(?:grand[\s-]?total|sub[\s-]?totals?|totals?|sum|summe|gesamt|zwischensumme|total général|suma)[\s:：)）]*"
    r"|.{0,20}(?:合计|总计|小计|共计|总和|合計|總計|小計|共計|总额|汇总)(?:[\s:：(（].{0,10})?",
    re.IGNORECASE,
)
# Matches in the engine's syntax wherever a row may be a total or a note.
TOTAL_HINT = (
    r"\b(?:sub|grand)?[\s-]?totals?\b|^\s*sum\s*$|summe|gesamt|suma|合计|总计|小计|共计|总和|合計|總計|小計|共計|总额|汇总"
    r"|^\s*(?:注|备注|附注|说明|数据来源|资料来源|来源|notes?|sources?|remarks?)\s*[:：]"
)
_NOTE = re.compile(
    r"(?:注|备注|附注|说明|数据来源|资料来源|来源|notes?|sources?|remarks?|\*|†)\s*[:：0-9.、*]?.*",
    re.IGNORECASE | re.DOTALL,
)


class SetAsideRow(Record):
    """A row that is kept beside a table instead of in it, with its number in the file, from 1.

    `kind` is "total", "note", or "width" for a row with more cells than the table has columns.
    """

    row: int
    kind: RowKind
    text: str


def is_total_word(text: str) -> bool:
    """Return True if a cell names a total or subtotal."""
    return len(text) <= _MAX_LABEL_CHARS and bool(_TOTAL.fullmatch(text.strip()))


class RowSorter:
    """Separates totals and notes from the data of a table, whose rows are given in order.

    `number_columns` are the indices of the columns with numbers, in the form that the database reads.
    """

    def __init__(self, number_columns: Sequence[int]) -> None:
        self._number_columns = tuple(number_columns)
        self._all_sums = [Decimal(0)] * len(self._number_columns)
        self._group_sums = [Decimal(0)] * len(self._number_columns)
        self._row_count = self._group_count = 0

    def kind(self, row: Sequence[str]) -> RowKind | None:
        """Return the kind of a row that is no data, else None."""
        filled = [cell for cell in row if cell.strip()]
        if len(filled) == 1 and len(row) > 1 and self._row_count and _NOTE.fullmatch(filled[0].strip()):
            return "note"
        figures = [_to_decimal(row[index]) if index < len(row) else None for index in self._number_columns]
        words = [cell for index, cell in enumerate(row) if index not in self._number_columns and cell.strip()]
        if any(map(is_total_word, words)) and self._is_sum(figures):
            self._group_sums, self._group_count = [Decimal(0)] * len(figures), 0
            return "total"
        for index, figure in enumerate(figures):
            if figure is not None:
                self._all_sums[index] += figure
                self._group_sums[index] += figure
        self._row_count += 1
        self._group_count += 1
        return None

    def _is_sum(self, figures: Sequence[Decimal | None]) -> bool:
        """Return True if a figure is the sum of its column, since the last total or of all rows."""
        for sums, count in ((self._group_sums, self._group_count), (self._all_sums, self._row_count)):
            if count and any(
                figure is not None and _is_near(figure, total, count)
                for figure, total in zip(figures, sums, strict=True)
            ):
                return True
        return False


def make_set_aside(number: int, kind: RowKind, row: Sequence[str]) -> SetAsideRow:
    """Describe a row that is kept beside the table."""
    text = " · ".join(" ".join(cell.split()) for cell in row if cell.strip())
    return SetAsideRow(row=number, kind=kind, text=text[:_MAX_TEXT_CHARS])


def _to_decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text) if text.strip() else None
    except InvalidOperation:
        return None


def _is_near(figure: Decimal, total: Decimal, count: int) -> bool:
    """Return True if a figure equals a sum of `count` numbers, each of which may be rounded in its last digit."""
    exponent = figure.as_tuple().exponent
    step = Decimal(10) ** exponent if isinstance(exponent, int) and exponent < 0 else Decimal(0)
    return abs(figure - total) <= step * count / 2
