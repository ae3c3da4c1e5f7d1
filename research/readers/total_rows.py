"""Rows of a table that are no data: totals, averages, notes, repeated headings; and rows that may be none.

A total is recognised by its word, or by blank labels, and by arithmetic: a figure of it is the sum of rows
above it or below it. A row with such a word whose figures are no sums stays a row of the data, with a remark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from research.core.records import Record
from research.readers.column_formats import to_decimal
from research.readers.table_layout import is_rule
from research.readers.table_remarks import RemarkKind, TableRemark

RowKind = Literal["total", "average", "note", "width", "heading"]
MAX_SET_ASIDE = 50  # rows that are kept beside the table
_MAX_TEXT_CHARS = 300
_MAX_LABEL_CHARS = 80
_LONG_NOTE_CHARS = 40
_MAX_NAMED_ROWS = 5  # of a remark
_MAX_BOUNDARIES = 300  # rows between groups that are remembered
_MAX_COMPARED_ROWS = 500  # that are searched for sums of others
_MAX_PARTS = 40  # rows that one row may be the sum of
_BINARY_ERROR = Decimal("1e-12")  # of sums that a workbook stores in binary
_MIN_DIGITS = 3  # of a sum that is no coincidence
_TOTAL = re.compile(
    r"(?:.{0,40}[\s:：(（_-])?(?:grand[\s-]?total|sub[\s-]?totals?|totals?|sum|all(?: [a-z]+){0,3}|overall|summe|gesamt(?:summe)?|insgesamt"
    r"|zwischensumme|total général|totale|suma)[\s:：)）]*"
    r"|total\b.{0,40}"
    r"|.{0,20}(?:合\s*计|总\s*计|小\s*计|共\s*计|总\s*和|合\s*計|總\s*計|小\s*計|共\s*計|总额|汇总|总数|累计)(?:[\s:：(（].{0,10})?"
    r"|全国|全省|全市|全县|全区|全部|总体|全公司",
    re.IGNORECASE,
)
_AVERAGE = re.compile(
    r"(?:.{0,40}[\s:：(（_-])?(?:average|avg\.?|mean|durchschnitt|mittelwert|moyenne)[\s:：)）]*"
    r"|.{0,20}(?:平\s*均.{0,3}|均\s*值)[\s:：]*",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"median|min(?:imum)?\.?|max(?:imum)?\.?|std\.? ?dev\.?|stdev|count|中位数|最大.{0,2}|最小.{0,2}|标准差|最高.{0,2}|最低.{0,2}|计数",
    re.IGNORECASE,
)
_SUMMARY_HINT = re.compile(
    r"to?ta|sum|all|[合总總小共汇全平均中最标计計累]|gesamt|insg|aver|avg|mean|durch|mitte|moyen|media|min|max|std|count|stdev",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"(?:(?:注|备注|附注|注释|说明|数据来源|资料来源|来源|数据说明|註|資料來源)\s*\d*\s*[:：].*|注\s*[\d一二三四（(].*"
    r"|(?:foot)?notes?\s*(?:\d|[:：]|to\b|$).*|sources?\s*(?:[:：]|of\b|$).*|remarks?\s*[:：].*|quelle\s*:.*|anmerkung(?:en)?\s*:.*"
    r"|[*#†‡※①-⑩].*|[(（\[]\d{1,2}[)）\]].*|[a-z]\) .*|\d{1,2}[.、)] ?\D.*"
    r"|\(\d+ rows?\)|page:? ?\d+(?: (?:of|/) ?\d+)?|第\s?\d+\s?页.*|共\s?\d+\s?[条页行].*|end of (?:report|file|table).*"
    r"|(?:制表|审核|填表|填报|复核|打印|编制)(?:人|日期|单位|时间).*|(?:prepared|checked|approved|printed) (?:by|on)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNATURE = re.compile(
    r".{0,8}(?:人|主管|会计|出纳|审核|制表|复核|签字|签章|盖章|负责|日期|经理|by|date|signature|signed|approved)\s*[:：].{0,30}",
    re.IGNORECASE,
)
_OUTLINE_STYLES = tuple(
    map(re.compile, (r"[一二三四五六七八九十]+[、.．]", r"[（(][一二三四五六七八九十]+[)）]", r"\d+\.\d+\.\d", r"\d+\.\d", r"\d+[.、．]",
                     r"[（(]\d+[)）]", r"[A-H][.)] ", r"[IVX]+\. ", r"[-–•·]\s?\D"))
)  # fmt: skip
_OF_WHICH = re.compile(r"\s*(?:其中|其\s*中|of which|thereof|davon|including).*", re.IGNORECASE | re.DOTALL)
_TOTAL_HEADING = re.compile(
    r".*(?:合计|总计|小计|共计|總計|合計|全年|累计)|(?:.*[\s_])?totals?|sum|summe|gesamt", re.IGNORECASE
)
# Matches in the engine's syntax wherever a row may be a total, an average, a note or a part of another.
ROW_HINT = (
    r"\b(?:sub|grand)?[\s-]?totals?\b|^\s*(?:sum|all|overall|average|avg|mean|median|min|max|count)\.?\s*$|summe|gesamt|suma|insgesamt"
    r"|合\s*计|总\s*计|小\s*计|共\s*计|总和|合\s*計|總\s*計|小\s*計|共\s*計|总额|汇总|总数|累计|平\s*均|均值|^\s*全[国省市县区部]\s*$"
    r"|^\s*(?:注|备注|附注|说明|数据来源|资料来源|来源|notes?|sources?|remarks?)\s*\d*\s*[:：]|^\s*(?:其中|of which|thereof)"
    r"|^\s*[*#†‡※]|^\(\d+ rows?\)$|^[-=_+:|]{2,}$|^(?:  |　)"
)


class SetAsideRow(Record):
    """A row that is kept beside a table instead of in it, with its number in the file, from 1.

    `kind` is "total", "average", "note", "heading" for a repeated one, or "width" for a row with more cells
    than the table has columns.
    """

    row: int
    kind: RowKind
    text: str


class RowFindings(NamedTuple):
    """Rows that turned out to be no data after all rows had been seen, and remarks on the others."""

    kinds: dict[int, RowKind]
    remarks: tuple[TableRemark, ...]


class _Candidate(NamedTuple):
    """A row named a total that is no sum of rows above: it may be one of rows below, whose sums begin at `base`."""

    number: int
    text: str
    figures: list[Decimal | None]
    base: list[Decimal]
    base_count: int


class _ComparedRow(NamedTuple):
    """A row of data with the columns of its labels and the style of its number, to be compared with rows beside it."""

    number: int
    text: str
    figures: list[Decimal | None]
    labels: tuple[int, ...]


def is_total_word(text: str) -> bool:
    """Return True if a cell names a total or subtotal."""
    squeezed = re.sub(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])", "", text.strip())
    return len(text) <= _MAX_LABEL_CHARS and "," not in text and bool(_TOTAL.fullmatch(squeezed))


@lru_cache(8_192)
def _summary_word(text: str) -> Literal["", "total", "average", "statistic"]:
    """Return the kind of summary that a cell names."""
    if len(text) > _MAX_LABEL_CHARS or not _SUMMARY_HINT.search(text):
        return ""
    if is_total_word(text):
        return "total"
    if _AVERAGE.fullmatch(text):
        return "average"
    return "statistic" if _STATISTIC.fullmatch(text) else ""


def is_total_heading(text: str) -> bool:
    """Return True if a heading names a column of totals."""
    return len(text) <= _MAX_LABEL_CHARS and bool(_TOTAL_HEADING.fullmatch(text.strip()))


def is_summary_row(row: Sequence[str], width: int) -> bool:
    """Return True if a row of a table of `width` columns is no data by its words: a total, an average or a note."""
    filled = [cell.strip() for cell in row if cell.strip()]
    if not filled or is_rule(row):
        return True
    return bool(
        all(map(_SIGNATURE.fullmatch, filled))
        or any(is_total_word(cell) or (len(cell) <= _MAX_LABEL_CHARS and _AVERAGE.fullmatch(cell)) for cell in filled)
        or (width > 1 and len(set(filled)) == 1)
        or (width > 1 and len(filled) < width and _NOTE.fullmatch(filled[0]) and ":" in filled[0].replace("：", ":"))
    )


class RowSorter:
    """Separates totals and notes from the data of a table, whose rows are given in order.

    `number_columns` are the indices of the columns with numbers, in the form that the database reads, and
    `additive_columns` those of them whose sums mean something; None for all. `headings` are the texts of
    the heading rows.
    """

    def __init__(
        self,
        number_columns: Sequence[int],
        additive_columns: Sequence[int] | None = None,
        headings: Sequence[Sequence[str]] = (),
    ) -> None:
        self._number_columns = tuple(number_columns)
        additive = set(number_columns if additive_columns is None else additive_columns)
        self._additive = [n for n, column in enumerate(self._number_columns) if column in additive]
        self._headings = {_key(heading) for heading in headings}
        self._sums = [Decimal(0)] * len(self._number_columns)
        self._count = 0
        self._boundaries: list[tuple[list[Decimal], int]] = [(list(self._sums), 0)]
        self._candidates: list[_Candidate] = []
        self._labelled_columns: set[int] = set()
        self._longest_label = 0
        self._trailing: list[tuple[int, str, bool]] = []  # rows with a label alone since the last other row
        self._after_blank = False
        self._remarked: dict[RemarkKind, list[str]] = {}
        self._remark_counts = Counter[RemarkKind]()
        self._unsummed = 0  # the number of the last row with a word of summaries that is none
        self._compared: list[_ComparedRow] = []

    def skip_blank(self) -> None:
        """Note that a blank row stands between the last row and the next."""
        self._after_blank = True

    def kind(self, number: int, row: Sequence[str], *, has_missing: bool = False) -> RowKind | None:
        """Return the kind of a row that is no data, else None; `number` is its number in the file.

        `has_missing` is True if some cells say that there is no value, such as N/A.
        """
        after_blank, self._after_blank = self._after_blank, False
        filled = [cell.strip() for cell in row if cell.strip()]
        if filled and filled[0][0] in "-=_+:|" and is_rule(row):
            return "note"
        if self._headings and _key(row) in self._headings:
            return "heading"
        figures = [to_decimal(row[index]) if index < len(row) else None for index in self._number_columns]
        if self._is_note(row, filled, figures):
            return "note"
        labels = [n for n, cell in enumerate(row) if cell.strip() and n not in self._number_columns]
        text = " ".join(filled[0].split())[:_MAX_LABEL_CHARS] if filled else ""
        if (
            len(set(filled)) == 1
            and not has_missing
            and len(row) > 1
            and (labels or len(filled) > 1)
            and self._number_columns
        ):
            self._trailing.append((number, text, after_blank))
            if len(self._trailing) > _MAX_BOUNDARIES:
                self._remark("label_rows", *self._trailing.pop(0)[:2])
            return None
        kind = self._summary_kind(number, row, filled, figures, labels)
        if kind:
            self._boundaries.append((list(self._sums), self._count))
            del self._boundaries[1:-_MAX_BOUNDARIES]
        elif number != self._unsummed and not (self._candidates and self._candidates[-1].number == number):
            self._add(number, row, text, figures, labels)
        return kind

    def _is_note(self, row: Sequence[str], filled: Sequence[str], figures: Sequence[Decimal | None]) -> bool:
        if not filled or any(figure is not None for figure in figures):
            return False
        if self._count and figures and all(map(_SIGNATURE.fullmatch, filled)):
            return True
        if not _NOTE.fullmatch(filled[0]):
            return False
        is_alone = len(set(filled)) == 1 and len(row) > 1 and (self._count > 0 or len(filled[0]) > 12)
        has_colon = ":" in filled[0][:20].replace("：", ":") and len(row) > 1 and bool(figures)
        return is_alone or has_colon

    def _summary_kind(
        self,
        number: int,
        row: Sequence[str],
        filled: Sequence[str],
        figures: list[Decimal | None],
        labels: Sequence[int],
    ) -> RowKind | None:
        """Return "total" or "average" for a row whose figures are those of rows above."""
        words = (
            {word: cell for cell in reversed(filled) if (word := _summary_word(cell))} if self._may_name(row) else {}
        )
        if name := " ".join(words.get("total", "").split()):
            if self._is_sum(figures, self._all_indices(), needs_all=False):
                return "total"
            if len(self._candidates) < _MAX_BOUNDARIES:
                self._candidates.append(_Candidate(number, name, figures, list(self._sums), self._count))
            else:
                self._remark("unsummed", number, name)
            return None
        if "average" in words and self._is_average(figures):
            return "average"
        if words and self._count > 1:
            self._remark("unsummed", number, next(iter(words.values())))
            self._unsummed = number
        if not labels and self._labelled_columns and filled:
            if self._is_sum(figures, self._additive, needs_all=True):
                return "total"
            self._remark("unlabelled", number, " · ".join(filled[:3]))
        return None

    def _may_name(self, row: Sequence[str]) -> bool:
        """Return True if a row has a cell that is no number."""
        return any(cell and not cell[-1].isdecimal() for cell in row)

    def _all_indices(self) -> list[int]:
        return list(range(len(self._number_columns)))

    def _is_sum(self, figures: Sequence[Decimal | None], indices: Sequence[int], *, needs_all: bool) -> bool:
        """Return True if figures are sums of the rows above, since some boundary between groups."""
        checked = [n for n in indices if figures[n] is not None]
        for sums, count in reversed(self._boundaries):
            rows = self._count - count
            if rows < (2 if needs_all else 1):
                continue
            hits = [n for n in checked if _is_near(figures[n], self._sums[n] - sums[n], rows)]
            if (
                hits
                and (len(hits) == len(checked) or not needs_all)
                and (any(figures[n] for n in hits) or hits == checked)
            ):
                return True
        return False

    def _is_average(self, figures: Sequence[Decimal | None]) -> bool:
        for sums, count in reversed(self._boundaries):
            rows = self._count - count
            means = [(total - start) / rows for total, start in zip(self._sums, sums, strict=True)] if rows > 1 else []
            if any(
                figure is not None and abs(figure - mean) <= max(_step(figure), abs(mean) / 10**6)
                for figure, mean in zip(figures, means, strict=False)
            ):
                return True
        return False

    def _add(
        self, number: int, row: Sequence[str], text: str, figures: list[Decimal | None], labels: Sequence[int]
    ) -> None:
        """Add a row of data to the sums."""
        for label_number, label, _ in self._trailing:
            self._remark("label_rows", label_number, label)
        self._trailing.clear()
        self._labelled_columns.update(labels)
        self._longest_label = max(self._longest_label, len(text))
        for index, figure in enumerate(figures):
            if figure is not None:
                self._sums[index] += figure
        self._count += 1
        first = next((cell for cell in row if cell.strip()), "")
        if _OF_WHICH.fullmatch(first[:_MAX_LABEL_CHARS]):
            self._remark("of_which", number, first.strip())
        elif first.startswith(("  ", "\u3000", "\u00a0")) and labels:
            self._remark("indented", number, first.strip())
        if len(self._compared) < _MAX_COMPARED_ROWS:
            self._compared.append(_ComparedRow(number, text, figures, (*labels, _outline_style(text))))

    def _remark(self, kind: RemarkKind, number: int, text: str) -> None:
        texts = self._remarked.setdefault(kind, [])
        self._remark_counts[kind] += 1
        if len(texts) < _MAX_NAMED_ROWS:
            texts.append(f"{text[:40]} ({number})")

    def finish(self) -> RowFindings:
        """Return what only the end of the table shows: totals above their rows, notes below the table."""
        kinds: dict[int, RowKind] = {}
        for index, candidate in enumerate(self._candidates):
            ends = [(later.base, later.base_count) for later in self._candidates[index + 1 :]]
            for sums, count in (*ends, (self._sums, self._count)):
                rows = count - candidate.base_count
                differences = [total - start for total, start in zip(sums, candidate.base, strict=True)]
                if rows and any(map(_is_near, candidate.figures, differences, [rows] * len(differences))):
                    kinds[candidate.number] = "total"
                    break
            else:
                self._remark("unsummed", candidate.number, candidate.text)
        is_note = False
        for number, label, after_blank in self._trailing:
            is_note = is_note or after_blank
            if is_note or len(label) > max(_LONG_NOTE_CHARS, 2 * self._longest_label) or _NOTE.fullmatch(label):
                kinds[number] = "note"
            else:
                self._remark("label_rows", number, label)
        self._find_parts()
        if not self._labelled_columns and len(self._compared) > 3:
            self._compare_last_row()
        remarks = (
            TableRemark(kind=kind, text="; ".join(texts), count=self._remark_counts[kind])
            for kind, texts in self._remarked.items()
        )
        return RowFindings(kinds, tuple(remarks))

    def _find_parts(self) -> None:
        """Remark rows whose figures are the sums of rows right below or right above them."""
        if {"of_which", "indented"} & set(self._remarked):
            return
        for order in (self._compared, self._compared[::-1]):
            for index, row in enumerate(order):
                if row.text and self._is_sum_of_next(row, order[index + 1 : index + 1 + _MAX_PARTS]):
                    self._remark("parts", row.number, row.text)

    def _is_sum_of_next(self, row: _ComparedRow, following: Sequence[_ComparedRow]) -> bool:
        """Return True if the figures of a row are the sums of two or more of the next rows, and no coincidence."""
        checked = [n for n in self._additive if row.figures[n]]
        digits = sum(len(str(abs(row.figures[n] or 0)).replace(".", "").strip("0")) for n in checked)
        totals = [Decimal(0)] * len(row.figures)
        rows = 0
        for other in following if checked else ():
            rows += any(other.figures[n] for n in checked)
            for n in checked:
                totals[n] += other.figures[n] or 0
            if rows > 1 and all(_is_near(row.figures[n], totals[n], rows) for n in checked):
                return len(checked) > 1 or digits >= _MIN_DIGITS or rows > 2 or other.labels != row.labels
        return False

    def _compare_last_row(self) -> None:
        """Remark a last row of a table of numbers that is the sum of all rows above it."""
        number, text, figures, _ = self._compared[-1]
        checked = [n for n in self._additive if figures[n]]
        rows = len(self._compared) - 1
        sums = [self._sums[n] - (figures[n] or 0) for n in checked]
        is_complete = len(self._compared) == self._count
        if is_complete and checked and all(map(_is_near, [figures[n] for n in checked], sums, [rows] * len(sums))):
            self._remark("parts", number, text)


class TotalColumns:
    """Finds a first or last column of numbers that is the sum of the other ones in all rows."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = tuple(columns)
        self._open = {columns[0], columns[-1]} if len(columns) > 2 else set[int]()
        self._rows = 0

    def add(self, row: Sequence[str]) -> None:
        """Compare the columns of one row of data."""
        if not self._open:
            return
        figures = {n: to_decimal(row[n]) if n < len(row) else None for n in self._columns}
        present = [figure for figure in figures.values() if figure is not None]
        if not any(present):
            return
        self._rows += 1
        total = sum(present, Decimal(0))
        for n in tuple(self._open):
            figure = figures[n]
            if figure is None or not _is_near(figure, total - figure, len(present)):
                self._open.discard(n)

    def found(self) -> list[int]:
        """Return the columns that are sums in all rows, of which there must be three."""
        return sorted(self._open) if self._rows > 2 else []


def make_set_aside(number: int, kind: RowKind, row: Sequence[str]) -> SetAsideRow:
    """Describe a row that is kept beside the table."""
    texts = [" ".join(cell.split()) for cell in row if cell.strip()]
    if kind == "note":  # in merged cells, it stands in each of them
        texts = list(dict.fromkeys(texts))
    return SetAsideRow(row=number, kind=kind, text=" · ".join(texts)[:_MAX_TEXT_CHARS])


def _outline_style(text: str) -> int:
    """Return the index of the style in which a label is numbered, as in 一、 or 1.; -1 for none."""
    return next((index for index, style in enumerate(_OUTLINE_STYLES) if style.match(text)), -1)


def _key(row: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a row without the blanks at its end, to compare it with headings."""
    texts = [" ".join(cell.split()) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _step(figure: Decimal) -> Decimal:
    """Return the value of one in the last digit of a figure; 1 for a whole one."""
    exponent = figure.as_tuple().exponent
    return Decimal(10) ** exponent if isinstance(exponent, int) and exponent < 0 else Decimal(1)


def _is_near(figure: Decimal | None, total: Decimal, count: int) -> bool:
    """Return True if a figure equals a sum of `count` numbers, each of which may be rounded in its last digit."""
    if figure is None:
        return False
    step = _step(figure)
    rounding = step * count / 2 if step < 1 else Decimal(0)
    return abs(figure - total) <= max(rounding, abs(total) * _BINARY_ERROR)
