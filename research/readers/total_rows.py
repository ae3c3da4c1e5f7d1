"""Rows of a table that are no data: totals, averages, notes, repeated headings; and rows that may be none.

A total is recognised by its word, or by blank labels, and by arithmetic: a figure of it is the sum of rows
above it or below it; or, without a word, by being the sum of all other rows. A row with such a word whose
figures are no sums stays a row of the data, with a remark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from operator import eq
from typing import Literal, NamedTuple

from research.core.records import LayoutRemarkKind, Record
from research.readers.column_formats import to_decimal
from research.readers.row_comparison import RowComparison, is_near, last_place
from research.readers.table_layout import is_rule
from research.readers.table_remarks import TableRemark

RowKind = Literal["total", "average", "note", "width", "heading"]
MAX_SET_ASIDE = 50  # rows that are kept beside the table
_MAX_TEXT_CHARS = 300
_MAX_LABEL_CHARS = 80
_LONG_NOTE_CHARS = 40
_MAX_NAMED_ROWS = 5  # of a remark
_MAX_BOUNDARIES = 300  # rows between groups that are remembered
_TOTAL = re.compile(
    r"(?:.{0,40}[\s:：(（_-])?(?:grand[\s-]?total|sub[\s-]?totals?|totals?|sum|all(?: [a-z]+){0,3}|overall|summe|gesamt(?:summe)?|insgesamt"
    r"|zwischensumme|gesamtsumme|endsumme|gesamtergebnis|zusammen|total général|ensemble|totale|suma)[\s:：)）]*"
    r"|(?:sous[\s-]?|sub[\s-]?)?total\b.{0,40}|(?:zwischen|gesamt|end)?summe\b.{0,40}|ensemble d[eu]s? .{0,30}"
    r"|.{0,20}(?<![会會统統設设時时時家推审審預预估生합총소누])[计計]|.{0,20}(?:総\s*[額数和]|합계|소계|총계|총합|누계)(?:[\s:：(（].{0,10})?|총합계|계|전체"
    r"|.{0,20}(?:合\s*计|总\s*计|小\s*计|共\s*计|总\s*和|合\s*計|總\s*計|小\s*計|共\s*計|总额|汇总|总数|累计)(?:[\s:：(（].{0,10})?"
    r"|全国|全省|全市|全县|全区|全部|总体|全公司",
    re.IGNORECASE,
)
_AVERAGE = re.compile(
    r"(?:.{0,40}[\s:：(（_-])?(?:average|avg\.?|mean|durchschnitt|mittelwert|moyenne)[\s:：)）]*|평\s*균"
    r"|.{0,20}(?:平\s*均.{0,3}|均\s*值)[\s:：]*",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"median|min(?:imum)?\.?|max(?:imum)?\.?|std\.? ?dev\.?|stdev|count|中位数|最大.{0,2}|最小.{0,2}|标准差|最高.{0,2}|最低.{0,2}|计数",
    re.IGNORECASE,
)
_SUMMARY_HINT = re.compile(
    r"to?ta|sum|all|[合总總総小共汇全平均中最标计計累합소총누계전]|zusam|ensem|gesamt|insg|aver|avg|mean|durch|mitte|moyen|평|media|min|max|std|count|stdev",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"(?:(?:注|备注|附注|注释|说明|数据来源|资料来源|来源|数据说明|註|資料來源)\s*\d*\s*[:：].*|注\s*[\d一二三四（(].*"
    r"|(?:foot)?notes?\s*(?:\d|[:：]|to\b|$).*|sources?\s*(?:[:：]|of\b|$).*|remarks?\s*[:：].*"
    r"|[*#†‡※①-⑩¹²³⁰-⁹].*|[-–—.…/*:x0×－]{1,3} ?[=＝:：].*|[(（\[]\d{1,2}[)）\]].*|[a-z]\) .*|\d{1,2}[.、)] ?\D.*"
    r"|\(\d+ rows?\)|page:? ?\d+(?: (?:of|/) ?\d+)?|第\s?\d+\s?页.*|共\s?\d+\s?[条页行].*|end of (?:report|file|table).*"
    r"|(?:制表|审核|填表|填报|复核|打印|编制)(?:人|日期|单位|时间).*|(?:prepared|checked|approved|printed) (?:by|on)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNATURE = re.compile(
    r".{0,8}(?:人|主管|会计|出纳|审核|制表|复核|签字|签章|盖章|负责|日期|经理|by|date|signature|signed|approved)\s*[:：].{0,30}",
    re.IGNORECASE,
)
_OF_WHICH = re.compile(r"\s*(?:其中|其\s*中|of which|thereof|davon|including).*", re.IGNORECASE | re.DOTALL)
_TOTAL_HEADING = re.compile(
    r".*(?:合计|总计|小计|共计|總計|合計|全年|累计)|(?:.*[\s_])?totals?|sum|summe|gesamt", re.IGNORECASE
)
# Matches in the engine's syntax wherever a row may be a total, an average, a note or a part of another.
ROW_HINT = (
    r"\b(?:sub|grand|sous)?[\s-]?totals?\b|\bzusammen\b|\bensemble\b|[计計]\s*$|総\s*[額数和]|합\s*계|소\s*계|총\s*계|총합|누계|^\s*(?:계|전체)\s*$|^\s*(?:sum|all|overall|average|avg|mean|median|min|max|count)\.?\s*$|summe|gesamt|suma|insgesamt"
    r"|合\s*计|总\s*计|小\s*计|共\s*计|总和|合\s*計|總\s*計|小\s*計|共\s*計|总额|汇总|总数|累计|平\s*均|均值|^\s*全[国省市县区部]\s*$"
    r"|^\s*(?:注|备注|附注|说明|数据来源|资料来源|来源|notes?|sources?|remarks?)\s*\d*\s*[:：]|^\s*(?:其中|of which|thereof)"
    r"|^\s*[*#†‡※¹²³⁰-⁹]|^\(\d+ rows?\)$|^[-=_+:|]{2,}$|^(?:  |　)"
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


class _Boundary(NamedTuple):
    """The sums and numbers of all rows before a group of rows, and of those that are no parts of others."""

    sums: list[Decimal]
    rows: int
    outer_sums: list[Decimal]
    outer_rows: int


class _Candidate(NamedTuple):
    """A row named a total that is no sum of rows above: it may be one of rows below, whose sums begin at `base`."""

    number: int
    text: str
    figures: list[Decimal | None]
    base: list[Decimal]
    base_count: int


def is_total_word(text: str) -> bool:
    """Return True if a cell names a total or subtotal."""
    squeezed = re.sub(r"(?<=[\u3400-\u9fff\uac00-\ud7af])\s+(?=[\u3400-\u9fff\uac00-\ud7af])", "", text.strip())
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
        self._heading_starts = {key[0][:_MAX_LABEL_CHARS] for key in self._headings if key}
        self._sums = [Decimal(0)] * len(self._number_columns)
        self._count = 0
        self._outer_sums = list(self._sums)  # of rows that are no parts of others by an indent or a word
        self._outer_count = 0
        self._boundaries = [_Boundary(list(self._sums), 0, list(self._sums), 0)]
        self._candidates: list[_Candidate] = []
        self._labelled_columns: set[int] = set()
        self._longest_label = 0
        self._trailing: list[tuple[int, str, bool]] = []  # rows with a label alone since the last other row
        self._is_wide = False  # a table of more than two columns
        self._after_blank = self._after_note = False
        self._remarked: dict[LayoutRemarkKind, list[str]] = {}
        self._remark_counts = Counter[LayoutRemarkKind]()
        self._unsummed = 0  # the number of the last row with a word of summaries that is none
        self._comparison = RowComparison(self._additive)

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
            self._after_note = True
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
            self._is_wide = len(row) > 2
            self._trailing.append((number, text, after_blank or self._after_note))
            if len(self._trailing) > _MAX_BOUNDARIES:
                self._remark("label_rows", *self._trailing.pop(0)[:2])
            self._add_boundary()
            return None
        kind = self._summary_kind(number, row, filled, figures, labels)
        if kind:
            self._add_boundary()
            self._comparison.add(number, text, figures, labels, is_total=True)
        elif number != self._unsummed and not (self._candidates and self._candidates[-1].number == number):
            self._add(number, row, text, figures, labels, has_missing=has_missing)
        return kind

    @property
    def accepts_blocks(self) -> bool:
        """Return True after the first rows of a table, which are given one by one, as they are compared."""
        return self._comparison.is_full

    def add_data(self, columns: Sequence[Sequence[str]]) -> bool:
        """Add the next rows at once, given by their columns, if they are surely data; else return False.

        Each row must have a number, or the table has none, and a label, and no label may name a summary, a note, a
        part or a heading.
        """
        if not self.accepts_blocks or self._trailing:
            return False
        numbers = [columns[n] for n in self._number_columns]
        labels = [n for n in range(len(columns)) if n not in self._number_columns]
        full_labels = [columns[n] for n in labels if all(map(str.strip, columns[n]))]
        full_numbers = [column for column in numbers if "" not in column]
        if not full_labels or not all(map(str.strip, columns[0])) or (numbers and not full_numbers):
            return False
        if numbers and any(map(eq, full_labels[0], full_numbers[0])):
            return False
        first_words = {" ".join(cell.split())[:_MAX_LABEL_CHARS] for cell in set(columns[0])}
        if not first_words.isdisjoint(self._heading_starts):
            return False
        if 0 in labels and any(map(_may_be_part, set(columns[0]))):
            return False
        if not numbers and any(_NOTE.fullmatch(word) or word[0] in "-=_+:|{" for word in first_words):
            return False
        if any(_summary_word(cell.strip()) for n in labels for cell in set(columns[n])):
            return False
        count = len(columns[0])
        for index, column in enumerate(numbers):
            total = sum(map(Decimal, filter(None, column)), Decimal(0))
            self._sums[index] += total
            self._outer_sums[index] += total
        self._count += count
        self._outer_count += count
        self._comparison.skip(count)
        self._labelled_columns.update(n for n in labels if any(map(str.strip, columns[n])))
        self._longest_label = max(self._longest_label, *map(len, first_words))
        self._after_blank = self._after_note = False
        return True

    def _add_boundary(self) -> None:
        """Note that a group of rows ends."""
        if self._boundaries[-1].rows != self._count:
            self._boundaries.append(_Boundary(list(self._sums), self._count, list(self._outer_sums), self._outer_count))
            del self._boundaries[1:-_MAX_BOUNDARIES]

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
        has_parts = self._outer_count < self._count
        for boundary in reversed(self._boundaries):
            sides = [(self._sums, boundary.sums, self._count - boundary.rows)]
            if has_parts:
                sides.append((self._outer_sums, boundary.outer_sums, self._outer_count - boundary.outer_rows))
            for totals, sums, rows in sides:
                if rows < (2 if needs_all else 1):
                    continue
                hits = [n for n in checked if is_near(figures[n], totals[n] - sums[n], rows)]
                if (
                    hits
                    and (len(hits) == len(checked) or not needs_all)
                    and (any(figures[n] for n in hits) or hits == checked)
                ):
                    return True
        return False

    def _is_average(self, figures: Sequence[Decimal | None]) -> bool:
        for sums, count, *_ in reversed(self._boundaries):
            rows = self._count - count
            means = [(total - start) / rows for total, start in zip(self._sums, sums, strict=True)] if rows > 1 else []
            if any(
                figure is not None and abs(figure - mean) <= max(last_place(figure), abs(mean) / 10**6)
                for figure, mean in zip(figures, means, strict=False)
            ):
                return True
        return False

    def _add(
        self,
        number: int,
        row: Sequence[str],
        text: str,
        figures: list[Decimal | None],
        labels: Sequence[int],
        *,
        has_missing: bool,
    ) -> None:
        """Add a row of data to the sums."""
        for label_number, label, _ in self._trailing:
            self._remark("label_rows", label_number, label)
        self._trailing.clear()
        self._after_note = False
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
        else:
            self._outer_count += 1
            for index, figure in enumerate(figures):
                if figure is not None:
                    self._outer_sums[index] += figure
        self._comparison.add(number, text, figures, labels, has_missing=has_missing)

    def _remark(self, kind: LayoutRemarkKind, number: int, text: str) -> None:
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
                if rows and any(map(is_near, candidate.figures, differences, [rows] * len(differences))):
                    kinds[candidate.number] = "total"
                    break
            else:
                self._remark("unsummed", candidate.number, candidate.text)
        # A label alone at the end is a note, unless other rows have no values either.
        is_note = self._is_wide and self._count > 2 and "label_rows" not in self._remarked
        for number, label, after_blank in self._trailing:
            is_long = len(label) > max(_LONG_NOTE_CHARS, 2 * self._longest_label)
            is_note = is_note or after_blank or is_long or bool(_NOTE.fullmatch(label))
            if is_note:
                kinds[number] = "note"
            else:
                self._remark("label_rows", number, label)
        whole = None if "total" in kinds.values() else self._comparison.find_whole()
        if whole:
            kinds[whole] = "total"
        else:
            is_statement = bool({"label_rows", "indented"} & set(self._remarked))
            has_labels = bool(self._labelled_columns)
            for number, text in self._comparison.find_parts(is_statement=is_statement, has_labels=has_labels):
                self._remark("parts", number, text)
        remarks = (
            TableRemark(kind=kind, text="; ".join(texts), count=self._remark_counts[kind])
            for kind, texts in self._remarked.items()
        )
        return RowFindings(kinds, tuple(remarks))


class TotalColumns:
    """Finds a first or last column of numbers that is the sum of the other ones in all rows."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = tuple(columns)
        self._open = {columns[0], columns[-1]} if len(columns) > 2 else set[int]()
        self._rows = 0

    @property
    def is_open(self) -> bool:
        """Return True if a column may be the sum of the others."""
        return bool(self._open)

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
            if figure is None or not is_near(figure, total - figure, len(present)):
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


def _may_be_part(first: str) -> bool:
    """Return True if the first cell of a row names a part of the row above, by an indent or a word."""
    return first.startswith(("  ", "\u3000", "\u00a0")) or bool(_OF_WHICH.fullmatch(first[:_MAX_LABEL_CHARS]))


def _key(row: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a row without the blanks at its end, to compare it with headings."""
    texts = [" ".join(cell.split()) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)
