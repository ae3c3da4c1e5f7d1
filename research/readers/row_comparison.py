"""Comparison of the rows of a table: rows that are sums or differences of rows beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from research.readers.table_layout import is_figure

_MAX_COMPARED_ROWS = 500
_MAX_TERMS = 12  # rows above a row that may be a difference of two of them
_MAX_PARTS = 40  # rows that one row may be the sum of
_MIN_PARTS_OF_WHOLE = 3  # rows of which another one may be the sum without being named a total
_BINARY_ERROR = Decimal("1e-12")  # of sums that a workbook stores in binary
_MIN_DIGITS = 3  # of a sum that is no coincidence
_RESULT = re.compile(
    r"profit|income|earnings|loss|ebit|margin|balance|\bnet\b|surplus|deficit|gross|利润|利潤|净|淨|毛利|结余|結餘|余额|餘額|差额|差引|損益"
    r"|利益|ergebnis|gewinn|überschuss|saldo|résultat|bénéfice|이익|손익|차액",
    re.IGNORECASE,
)
_OUTLINE_STYLES = tuple(
    map(re.compile, (r"[一二三四五六七八九十]+[、.．]", r"[（(][一二三四五六七八九十]+[)）]", r"\d+\.\d+\.\d", r"\d+\.\d", r"\d+[.、．]",
                     r"[（(]\d+[)）]", r"[A-H][.)] ", r"[IVX]+\. ", r"[-–•·]\s?\D"))
)  # fmt: skip


class _ComparedRow(NamedTuple):
    """A row with the columns of its labels and the style of its number; `is_total` for one that is set aside."""

    number: int
    text: str
    figures: list[Decimal | None]
    labels: tuple[int, ...]
    is_total: bool
    has_missing: bool


class RowComparison:
    """Compares the first rows of a table by the figures of its additive columns, given by their indices."""

    def __init__(self, additive: Sequence[int]) -> None:
        self._additive = additive
        self._rows: list[_ComparedRow] = []
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Return True if no further row is compared."""
        return len(self._rows) >= _MAX_COMPARED_ROWS

    def skip(self, count: int) -> None:
        """Count rows that are not compared."""
        self._count += count

    def add(
        self,
        number: int,
        text: str,
        figures: list[Decimal | None],
        labels: Sequence[int],
        *,
        is_total: bool = False,
        has_missing: bool = False,
    ) -> None:
        """Add the next row; `labels` are the columns of its words.

        `has_missing` is True if some cells say that there is no value, such as N/A.
        """
        self._count += 1
        if len(self._rows) < _MAX_COMPARED_ROWS:
            self._rows.append(
                _ComparedRow(number, text, figures, (*labels, _outline_style(text)), is_total, has_missing)
            )

    def find_parts(self, *, is_statement: bool, has_labels: bool) -> list[tuple[int, str]]:
        """Return the numbers and names of the rows of data that are sums or differences of rows beside them.

        Differences count only in a statement, which has indented rows, headings of groups or totals, and in rows
        named as results. A last part, which is always its whole less the others, counts only if it is so named.
        """
        data = [row for row in self._rows if not row.is_total]
        wholes = self._sums_of_next(data)
        found = wholes | self._sums_of_next(data[::-1])
        is_statement = is_statement or len(data) < len(self._rows)
        for index, row in enumerate(self._rows):
            is_result = bool(_RESULT.search(row.text))
            if row.is_total or not row.text or not (is_statement or is_result):
                continue
            above = self._rows[max(0, index - _MAX_TERMS) : index]
            terms = above if is_result else [other for other in above if other.number not in wholes]
            if self._is_difference(row, terms):
                found[row.number] = row.text
        if not has_labels and len(data) > 3 and self._is_sum_of_others(data[-1], data):
            found[data[-1].number] = data[-1].text
        return sorted(found.items())

    def find_whole(self) -> int | None:
        """Return the number of a first or last row without a word for totals that is the sum of all other rows.

        Such is a country above or below its regions. Most of its figures must be sums of at least three rows.
        """
        data = [row for row in self._rows if not row.is_total]
        if self._count > len(self._rows) or len(data) <= _MIN_PARTS_OF_WHOLE:
            return None
        for row in (data[-1], data[0]):
            others = [other for other in data if other is not row]
            gaps = {n for other in others if other.has_missing for n in self._additive if other.figures[n] is None}
            checked = [n for n in self._additive if row.figures[n] and n not in gaps]
            hits = []
            for n in checked:
                parts = [figure for other in others if (figure := other.figures[n])]
                if len(parts) >= _MIN_PARTS_OF_WHOLE and is_near(row.figures[n], sum(parts, Decimal(0)), len(parts)):
                    hits.append(n)
            has_name = len(row.labels) > 1 and not is_figure(row.text) and not row.text[:4].isdecimal()
            needed = _MIN_DIGITS if len(hits) > 1 else 2 * _MIN_DIGITS
            if has_name and 2 * len(hits) > len(checked) and _digit_count(row, hits) > needed:
                return row.number
        return None

    def _sums_of_next(self, rows: Sequence[_ComparedRow]) -> dict[int, str]:
        return {
            row.number: row.text
            for index, row in enumerate(rows)
            if row.text and self._is_sum_of_next(row, rows[index + 1 : index + 1 + _MAX_PARTS])
        }

    def _is_sum_of_next(self, row: _ComparedRow, following: Sequence[_ComparedRow]) -> bool:
        """Return True if the figures of a row are the sums of two or more of the next rows, and no coincidence."""
        checked = [n for n in self._additive if row.figures[n]]
        totals = [Decimal(0)] * len(row.figures)
        open_columns, rows = set(checked), 0
        for other in following if checked else ():
            rows += any(other.figures[n] for n in checked)
            for n in checked:
                totals[n] += other.figures[n] or 0
                if other.figures[n] is None and other.has_missing:
                    open_columns.discard(n)
            known = [n for n in checked if n in open_columns]
            if rows > 1 and known and all(is_near(row.figures[n], totals[n], rows) for n in known):
                has_digits = len(known) > 1 or _digit_count(row, known) >= _MIN_DIGITS
                return has_digits or rows > 2 or other.labels != row.labels
        return False

    def _is_difference(self, row: _ComparedRow, above: Sequence[_ComparedRow]) -> bool:
        """Return True if a row is one above it less, or plus, another one, or less all between, as gross profit."""
        checked = [n for n in self._additive if row.figures[n]]
        if not checked or (len(checked) < 2 and _digit_count(row, checked) <= _MIN_DIGITS):
            return False

        def is_result(first: _ComparedRow, others: Sequence[_ComparedRow], sign: int) -> bool:
            if not any(other.figures[n] for other in others for n in checked):
                return False
            parts = {n: sum((other.figures[n] or Decimal(0) for other in others), Decimal(0)) for n in checked}
            results = ((first.figures[n] or Decimal(0)) + sign * parts[n] for n in checked)
            return all(map(is_near, [row.figures[n] for n in checked], results, [2] * len(checked)))

        for index, first in enumerate(above):
            later = above[index + 1 :]
            if any(is_result(first, [other], sign) for other in later for sign in (-1, 1)):
                return True
            if is_result(first, later, -1):
                return True
        return False

    def _is_sum_of_others(self, row: _ComparedRow, data: Sequence[_ComparedRow]) -> bool:
        """Return True if the last row of a table of numbers is the sum of all rows above it."""
        checked = [n for n in self._additive if row.figures[n]]
        sums = [sum((other.figures[n] or Decimal(0) for other in data[:-1]), Decimal(0)) for n in checked]
        is_complete = self._count == len(self._rows)
        counts = [len(data) - 1] * len(sums)
        return is_complete and bool(checked) and all(map(is_near, [row.figures[n] for n in checked], sums, counts))


def _digit_count(row: _ComparedRow, columns: Sequence[int]) -> int:
    """Return the number of digits of the figures of a row, without zeros at their ends."""
    return sum(len(str(abs(row.figures[n] or 0)).replace(".", "").strip("0")) for n in columns)


def _outline_style(text: str) -> int:
    """Return the index of the style in which a label is numbered, as in 一、 or 1.; -1 for none."""
    return next((index for index, style in enumerate(_OUTLINE_STYLES) if style.match(text)), -1)


def last_place(figure: Decimal) -> Decimal:
    """Return the value of one in the last digit of a figure; 1 for a whole one."""
    exponent = figure.as_tuple().exponent
    return Decimal(10) ** exponent if isinstance(exponent, int) and exponent < 0 else Decimal(1)


def is_near(figure: Decimal | None, total: Decimal, count: int) -> bool:
    """Return True if a figure equals a sum of `count` numbers, each of which may be rounded in its last digit."""
    if figure is None:
        return False
    step = last_place(figure)
    rounding = step * count / 2 if step < 1 else Decimal(0)
    return abs(figure - total) <= max(rounding, abs(total) * _BINARY_ERROR)
