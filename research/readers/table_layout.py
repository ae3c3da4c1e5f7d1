"""Detection of the heading rows of a table in a text file or sheet.

Heading rows are judged by what is below them: a row of words above numbers, or of years above figures, is
a heading. Rows of units and of column numbers below the headings belong to them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from research.readers.column_formats import MISSING_WORDS
from research.readers.delimiters import LAYOUT_ROWS

_CELL_CHARS = 60  # of a cell, to judge it
MAX_HEADING_ROWS = 5
MAX_RECORDS_ABOVE = 3  # of another shape, above the headings
_COMPARED_ROWS = 50  # below headings
_PERIOD = re.compile(
    r"(?:1[89]|20|21)\d\d(?:年度?|E|F|A|p)?"
    r"|(?:1[89]|20|21)\d\d[-/.年]\s?(?:0?[1-9]|1[0-2])月?(?:[-/.月]\s?(?:0?[1-9]|[12]\d|3[01])日?)?(?: \d\d:\d\d(?::\d\d)?)?"
    r"|(?:FY|Q[1-4][ -]?|H[12][ -]?)?(?:1[89]|20|21)\d\d(?:[ -]?(?:Q[1-4]|H[12]))?"
    r"|(?:1[89]|20|21)\d\d[/-]\d\d"
    r"|(?:0?[1-9]|1[0-2])月(?:份)?",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"[(（]?[-+−–△▲]?\s?(?:US\$|[$€£¥￥₩\\])?\s?[-+]?[\d.][\d\s.,'’  ]*(?:[%％‰]|百?[千万亿億만억]|bn|mn|[kKMB]|e[-+]?\d+)?"
    r"\s?[元円圓원€$£]?\s?[)）]?(?:\s?[*†a-z])?",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d\d.*)?|\d{1,2}:\d\d(?::\d\d)?|\d{4}年\d{1,2}月\d{1,2}日"
)
_UNIT = re.compile(
    r"[(（\[]?(?:(?:单位|unit)[:：]?\s*)?(?:[%％‰]|[十百千万亿]{0,2}(?:元|美元|欧元|人|户|吨|公顷|亩|件|台|个|家|辆|人次|平方米|立方米|平方公里|千瓦时)(?:[/／]\S{1,4})?"
    r"|(?:usd|eur|gbp|cny|rmb|[$€£¥])(?:\s?(?:k|m|mn|mio|bn|million|billion|thousand|'?000s?))?|(?:thousand|million|billion)s?|000s?|1[ .,]?000|'000"
    r"|kg|t|tonnes?|km2?|km²|ha|kwh|mwh|gwh|mw|°c|℃|anzahl|prozent|st(?:ü|ue)ck|(?:tsd|mio|mrd)\.?(?: (?:euro?|€))?|euro|[千百]?万?円|억?원|명|days?|years?|persons?|people|percent|per cent|no\.|number|岁|天|年|公里|米|上年=100|-|—)[)）\]]?",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_RULE = re.compile(r"[-=_+:| ]{2,}")
_TYPE_WORDS = frozenset(
    ("int", "integer", "bigint", "string", "str", "text", "varchar", "char", "float", "double", "number", "numeric",
     "decimal", "date", "datetime", "timestamp", "bool", "boolean", "字符型", "字符串", "文本", "文本型", "数值", "数值型",
     "数字", "日期", "日期型", "整数", "整型")
)  # fmt: skip
_NUMBERING_LABELS = frozenset(("甲", "栏次", "栏目", "行次", "a", "(a)", "（甲）"))


class Headings(NamedTuple):
    """The rows of the headings: `height` rows from row `first`, counted from 1; `height` 0 for none.

    `is_sure` is False where only words stand below a row of words, so that it may be data.
    """

    first: int = 0
    height: int = 0
    is_sure: bool = True

    @property
    def last(self) -> int:
        """Return the number of the last heading row, 0 for none."""
        return self.first + self.height - 1 if self.height else 0


def find_headings(rows: Iterable[Sequence[str]]) -> Headings:
    """Return the heading rows of a table, whose first rows are given.

    A preamble (a title, a remark, comments with #) stands in rows that fill fewer columns than the table
    has, or that have one text in all of them.
    """
    cells = [[cell.strip()[:_CELL_CHARS] for cell in row] for row, _ in zip(rows, range(LAYOUT_ROWS), strict=False)]
    comment_count = next((n for n, row in enumerate(cells) if any(row) and not _is_comment(row)), 0)
    filled = [0 if n < comment_count else filled_count(row) for n, row in enumerate(cells)]
    widths = Counter(width for width in filled if width)
    if not widths:
        return Headings()
    width = max(widths, key=lambda n: (widths[n], n))
    start = _first_data_row(cells, filled, width)
    if start is None:
        return _find_headings_of_words(cells, filled, width)
    found = _headings_above(cells, filled, start, comment_count)
    if not found.height and (index := _heading_below_records(cells, start)):
        return Headings(index + 1, 1)
    return found


def _heading_below_records(cells: Sequence[Sequence[str]], start: int) -> int:
    """Return the index of headings below records of another shape, as the first line of DATEV files; 0 for none.

    The records have another number of cells than the headings and the rows below them, or words in columns of
    figures, or figures in columns of words.
    """
    for index in range(start + 1, min(start + 1 + MAX_RECORDS_ABOVE, len(cells) - 1)):
        row, body = cells[index], cells[index + 1 : index + 1 + _COMPARED_ROWS]
        width = _width(row)
        if width < 2 or not all(row[:width]) or len(set(row[:width])) < width or any(map(_is_value, row)):
            continue
        below = [[other[n] for other in body if n < len(other) and other[n]] for n in range(width)]
        figures = {n for n in range(width) if below[n] and sum(map(_is_value, below[n])) > 0.75 * len(below[n])}
        if any(_width(other) > width for other in body):
            continue
        records = [other for other in cells[start:index] if any(other)]
        if not figures and (not _is_sure_heading(row, body) or any(_width(record) == width for record in records)):
            continue
        if all(_width(record) != width or _conflicts(record, figures, width) for record in records):
            return index
    return 0


def _width(row: Sequence[str]) -> int:
    """Return the number of cells of a row up to the last filled one."""
    return max((n for n, cell in enumerate(row, 1) if cell), default=0)


def _conflicts(record: Sequence[str], figures: set[int], width: int) -> bool:
    """Return True if a cell of a record is a word in a column of figures, or a figure in a column of words."""
    return len(figures) > 1 and any(record[n] and _is_value(record[n]) != (n in figures) for n in range(width))


def _is_comment(row: Sequence[str]) -> bool:
    """Return True for a line that begins with #, but not for headings such as #id, name."""
    return row[0].startswith("#") and not (len(row) > 1 and all(row) and re.fullmatch(r"#\w+", row[0]))


def filled_count(row: Sequence[str]) -> int:
    """Return the number of filled cells; 1 if all of several have the same text, as in a merged title."""
    texts = [cell for cell in row if cell.strip()]
    return 1 if len(texts) > 1 and len(set(texts)) == 1 and not is_figure(texts[0]) else len(texts)


def is_figure(text: str) -> bool:
    """Return True if a text is a number, with or without unit."""
    return bool(_FIGURE.fullmatch(text)) and any(character.isdigit() for character in text)


def is_rule(row: Sequence[str]) -> bool:
    """Return True if a row only draws a line, as in ---,---, names types, or holds JSON, as the third row of Qualtrics."""
    texts = [cell.strip() for cell in row if cell.strip()]
    if len(texts) > 1 and all(text.casefold() in _TYPE_WORDS for text in texts):
        return True
    return bool(texts) and all(_RULE.fullmatch(text) or text.startswith('{"') for text in texts)


def _is_value(text: str) -> bool:
    return is_figure(text) or bool(_DAY.fullmatch(text))


def _first_data_row(cells: Sequence[Sequence[str]], filled: Sequence[int], width: int) -> int | None:
    """Return the index of the first row with values; None if no row has some."""
    needed = 1 if width == 1 else max(2, (width + 1) // 2)
    for index, row in enumerate(cells):
        if filled[index] < min(needed, width):
            continue
        columns = [n for n, cell in enumerate(row) if _is_value(cell) or (index and _is_missing_value(cells, index, n))]
        periods = [n for n in columns if _PERIOD.fullmatch(row[n])]
        if (
            not columns
            or _is_numbering(cells, index)
            or _is_sequence_heading(cells, index)
            or _is_merged_units(cells, index)
        ):
            continue
        if len(columns) > len(periods) or not _are_period_headings(cells, index, periods):
            return index
    return None


def _is_merged_units(cells: Sequence[Sequence[str]], index: int) -> bool:
    """Return True for a row of units, such as 1 000, beside a heading that is merged with the row above."""
    row, above = cells[index], cells[index - 1] if index else []
    if not row or not above or not row[0] or row[0] != above[0]:
        return False
    units = [cell for cell in row[1:] if cell and cell != row[0]]
    return bool(units) and all(map(_UNIT.fullmatch, units))


def _is_missing_value(cells: Sequence[Sequence[str]], index: int, column: int) -> bool:
    """Return True for a cell such as N/A or - above figures."""
    text = cells[index][column].casefold()
    if text not in MISSING_WORDS or text == "x" or is_units_row(cells[index]):
        return False
    below = [row[column] for row in cells[index + 1 :] if column < len(row) and row[column]]
    return bool(below) and all(is_figure(cell) or cell.casefold() in MISSING_WORDS for cell in below)


def _are_period_headings(cells: Sequence[Sequence[str]], index: int, columns: Sequence[int]) -> bool:
    """Return True if the periods in these columns of a row stand above other values, as headings do."""
    row = cells[index]
    following = cells[index + 1] if index + 1 < len(cells) else []
    stands_above_words = all(n < len(following) and following[n] and not is_figure(following[n]) for n in columns)
    if (
        len({row[n] for n in columns}) < len(columns)
        and not stands_above_words
        and not (index and any(cells[index - 1]))
    ):
        return False
    below = [other[n] for other in cells[index + 1 :] for n in columns if n < len(other) and other[n]]
    if sum(bool(_PERIOD.fullmatch(cell)) for cell in below) > len(below) / 10 or not below:
        return False
    above = cells[index - 1] if index else []
    has_words_above = all(n < len(above) and above[n] and not is_figure(above[n]) for n in columns)
    is_own_row = bool(row[0]) and bool(above) and bool(above[0]) and above[0] != row[0]
    return not (has_words_above and is_own_row and len({above[n] for n in columns}) == len(columns))


def _is_numbering(cells: Sequence[Sequence[str]], index: int) -> bool:
    """Return True for a row that numbers the columns below headings, as in 甲, 1, 2, 3."""
    row = [cell.strip("()（）") for cell in cells[index]]
    numbers = [int(cell) for cell in row if cell.isdecimal()]
    labels = [cell for cell in row if cell and not cell.isdecimal()]
    following = next((other[0] for other in cells[index + 1 :] if any(other)), "") if row else ""
    return (
        index > 0
        and len(numbers) >= 2
        and numbers == list(range(1, len(numbers) + 1))
        and len(labels) <= 2
        and bool(labels)
        and all(label.casefold() in _NUMBERING_LABELS or label == "乙" for label in labels)
        and following.casefold() not in ("乙", "b")
        and not any(is_figure(cell) for cell in cells[index - 1])
    )


def _is_sequence_heading(cells: Sequence[Sequence[str]], index: int) -> bool:
    """Return True for the first row of a table whose columns are headed by 1, 2, 3, 4, 5, …"""
    row = cells[index]
    numbers = [int(cell) for cell in row[1:] if cell.isdecimal()]
    below = [other[0] for other in cells[index + 1 :] if other and other[0]]
    needed = 3 if row[0] and below and all(map(is_figure, below)) else 5
    if (
        len(numbers) < needed
        or len(numbers) < len(row) - 2
        or numbers != list(range(numbers[0], numbers[0] + len(numbers)))
    ):
        return False
    is_first = not any(filled_count(other) > 1 for other in cells[:index])
    return is_first and numbers[0] in (0, 1) and not is_figure(row[0])


def _headings_above(cells: Sequence[Sequence[str]], filled: Sequence[int], start: int, comment_count: int) -> Headings:
    """Return the heading rows above the first row of data."""
    lowest, width = start - 1, filled[start]
    if lowest >= 1 and not any(cells[lowest]) and 2 * filled[lowest - 1] >= width > 1:
        lowest -= 1  # a blank row between headings and data
    while lowest > 0 and (is_rule(cells[lowest]) or _is_numbering(cells, lowest)):
        lowest -= 1
    if (
        lowest >= 1
        and filled[lowest] == 1
        and cells[lowest][0]
        and _can_head(cells[lowest - 1], filled[lowest - 1], width)
    ):
        start = lowest  # the label of the first group of rows
        lowest -= 1
    top = lowest
    if lowest >= 1 and is_units_row(cells[lowest]) and _can_head(cells[lowest - 1], filled[lowest - 1], width):
        top -= 1  # units that may all be the same
    elif lowest > comment_count and _splits_groups(cells[lowest - 1], cells[lowest], width):
        top -= 1
    elif lowest < comment_count or not _can_head(cells[lowest], filled[lowest], width):
        return Headings()
    while top > comment_count and start - top < MAX_HEADING_ROWS and _continues_above(cells, filled, top):
        top -= 1
    return Headings(top + 1, start - top)


def _can_head(row: Sequence[str], count: int, width: int) -> bool:
    """Return True if a row above data of so many filled cells may be its headings."""
    if width == 1:
        return count == 1
    if width == 2 and count == 1 and len(row) == 2 and not row[0]:
        return True  # a column of labels without a heading
    return len([cell for cell in row if cell]) > 1 and ((2 * count >= width and count > 1) or all(row))


def _splits_groups(upper: Sequence[str], lower: Sequence[str], width: int) -> bool:
    """Return True if a row of words only splits groups of the headings above it, which head the other columns."""
    if len(upper) != len(lower) or any(map(is_figure, (*upper, *lower))) or 2 * len(list(filter(None, lower))) >= width:
        return False
    runs = [(start, length) for start, length in _runs(upper, lower) if length > 1]
    split = {n for start, length in runs for n in range(start, start + length)}
    headed = {n for n, cell in enumerate(upper) if cell} | split
    return bool(runs) and {n for n, cell in enumerate(lower) if cell} == split and len(headed) >= width


def _continues_above(cells: Sequence[Sequence[str]], filled: Sequence[int], top: int) -> bool:
    """Return True if the row above the heading row `top` is a further row of headings: groups, or names above units."""
    upper, lower = cells[top - 1], cells[top]
    width = max(len(upper), len(lower))
    upper, lower = [*upper, *[""] * (width - len(upper))], [*lower, *[""] * (width - len(lower))]
    if not any(upper) or any(is_figure(cell) and not _PERIOD.fullmatch(cell) for cell in upper):
        return False
    if is_units_row(lower):
        return filled[top - 1] > 1
    if filled[top - 1] == 1 and (upper[0] or all(upper)):
        return False  # a title
    texts = [cell for cell in upper if cell]
    if 2 * sum(":" in cell or "：" in cell for cell in texts) >= len(texts):
        return False  # a line such as Date: 2024-03-05
    if any(cell and cell == below for cell, below in zip(upper, lower, strict=True)):
        return True  # a cell that is merged of both rows
    names = [cell for cell in lower if cell]
    pairs = {pair for pair in zip(upper, lower, strict=True) if pair[1]}
    if len(set(names)) < len(pairs) and (not upper[0] or upper[0] == lower[0]):
        return True
    runs = _runs(upper, lower)
    single = [n for n, length in runs if length == 1 and lower[n] and lower[n] != upper[n]]
    is_full = filled[top - 1] == filled[top] == len([cell for cell in lower if cell])
    if len(single) == len(runs):
        return is_full and len(runs) > 1 and _explains(upper, lower)
    if upper[0] and lower[0] and upper[0] != lower[0] and runs[0][1] == 1:
        return False  # a line such as Currency, EUR
    return len(single) <= sum(length > 1 for _, length in runs)


def _explains(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Return True if a row repeats the headings above it in another language, or explains short ones at length."""
    pairs = [(above, below) for above, below in zip(upper, lower, strict=True) if above]
    if all(bool(_HAN.search(above)) != bool(_HAN.search(below)) for above, below in pairs):
        return True
    return len(pairs) > 2 and sum(len(below) for _, below in pairs) > 3 * sum(len(above) for above, _ in pairs)


def _runs(upper: Sequence[str], lower: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and length of the groups in a row of headings: equal texts, or a text and blanks."""
    runs: list[tuple[int, int]] = []
    for index, cell in enumerate(upper):
        if runs and sum(runs[-1]) == index and lower[index] and (not cell or cell == upper[runs[-1][0]]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif cell:
            runs.append((index, 1))
    return runs


def is_units_row(row: Sequence[str]) -> bool:
    """Return True if a row only names units, as in 亿元, 万人, %; the label column may be named too."""
    texts = [cell for cell in row if cell]
    units = [cell for cell in texts if _UNIT.fullmatch(cell)]
    rest = [cell for cell in texts if not _UNIT.fullmatch(cell)]
    if all(map(is_figure, units)):
        return False
    return bool(units) and (not rest or (len(rest) == 1 and rest[0] == texts[0] and rest[0].casefold() in _UNIT_LABELS))


_UNIT_LABELS = frozenset(("单位", "计量单位", "unit", "units", "(unit)", "（单位）"))


def join_headings(rows: Sequence[Sequence[str]], headings: Headings) -> list[str]:
    """Return the headings of the columns: those of several rows joined, as in 第一季度数量 or "Q1 units"."""
    if not headings.height:
        return []
    heads = heading_rows(rows, headings)
    width = max(map(len, heads))
    heads = [[*row, *[""] * (width - len(row))] for row in heads]
    units: list[str] = []
    if len(heads) > 1:
        own = ["" if below == above else below for above, below in zip(heads[-2], heads[-1], strict=True)]
        if is_units_row(own):
            units = own
            heads.pop()
    joined = heads[-1]
    for upper in reversed(heads[:-1]):
        joined = [_join_pair(above, below) for above, below in zip(_fill_groups(upper, joined), joined, strict=True)]
    for index, unit in enumerate(units):
        bare = unit.strip("()（）[] ")
        if bare and bare not in "-—" and bare.casefold() not in _UNIT_LABELS and joined[index]:
            joined[index] = f"{joined[index]} ({bare})"
    return joined


def heading_rows(rows: Sequence[Sequence[str]], headings: Headings) -> list[list[str]]:
    """Return the heading rows that hold names or units, without lines and numbers of columns."""
    heads = [[" ".join(cell.split()) for cell in row] for row in rows[max(0, headings.first - 1) : headings.last]]
    return [
        row for n, row in enumerate(heads) if not n or not (not any(row) or is_rule(row) or _is_numbering(heads, n))
    ]


def _join_pair(above: str, below: str) -> str:
    if not above or not below or f"{below} ".startswith(f"{above} "):
        return below or above
    is_han = "\u3400" <= above[-1] <= "\u9fff" and "\u3400" <= below[0] <= "\u9fff"
    return above + below if is_han else f"{above} {below}"


def _fill_groups(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Return the upper headings, one for each lower one; a blank one continues the group to its left."""
    filled: list[str] = []
    is_merged = any(left and left == right for left, right in pairwise(upper))  # every cell has its text already
    for index, (above, below) in enumerate(zip(upper, lower, strict=True)):
        continues = filled and below and index and lower[index - 1] and not is_merged
        filled.append(above or (filled[-1] if continues else ""))
    return filled


def _find_headings_of_words(cells: Sequence[Sequence[str]], filled: Sequence[int], width: int) -> Headings:
    """Return the headings of a table without figures: its first full row, if its words differ."""
    starts = [index for index, count in enumerate(filled) if count >= width]
    start = starts[0]
    if len(starts) > 2 and _width(cells[start]) > max(map(_width, cells[start + 1 :])):
        start = starts[1]  # below a record of another shape
    row, body = cells[start], [other for other in cells[start + 1 :] if any(other)]
    words = [cell for cell in row if cell]
    if any(map(_is_value, words)) and not all(_PERIOD.fullmatch(word) or not _is_value(word) for word in words):
        return Headings()
    if len(body) > 1 and filled[start] > 1 and _groups_columns(row, body[0]):
        return Headings(start + 1, 2, is_sure=False)
    if not body:
        return Headings(start + 1, 1)
    if len(set(words)) < len(words):
        return Headings()
    return Headings(start + 1, 1, is_sure=_is_sure_heading(row, body))


def _groups_columns(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Return True if two rows of words are headings of groups and of the columns in them."""
    width = max(len(upper), len(lower))
    upper, lower = [*upper, *[""] * (width - len(upper))], [*lower, *[""] * (width - len(lower))]
    names = [cell for cell in upper if cell]
    pairs = [pair for pair in zip(_fill_groups(upper, lower), lower, strict=True) if any(pair)]
    has_groups = len(set(names)) < len(names) or len(names) < len([cell for cell in lower if cell])
    return has_groups and len({below for _, below in pairs}) < len(pairs) and len(set(pairs)) == len(pairs)


_HEADING_WORD = re.compile(
    r"(?:.*[\s_])?(?:id|no|nr|name|names|title|type|date|city|country|region|state|address|email|status|category|code|gender|age"
    r"|sex|description|notes?|comments?|department|company|product|item|author|url|phone|key|value|question|answer|text|label)"
    r"|.*(?:名称|姓名|名|编号|序号|城市|国家|地区|省份|地址|类型|类别|性别|部门|单位|状态|日期|时间|备注|说明|标题|作者|电话|邮箱|产品|描述|职务|学历|专业|问题|答案)",
    re.IGNORECASE | re.DOTALL,
)


def _is_sure_heading(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return True if a row above rows of words is clearly their headings: by a word, or by short names above
    words that come again and again."""
    if any(cell and _HEADING_WORD.fullmatch(cell) for cell in row):
        return True
    for index, cell in enumerate(row):
        below = [other[index] for other in body if index < len(other) and other[index]]
        if cell and len(below) >= 4 and len(set(below)) <= len(below) / 2 and cell not in below:
            return True
    return False
