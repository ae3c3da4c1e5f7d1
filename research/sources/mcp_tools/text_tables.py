"""Recognition of the tables and records in a text, as lines with one row each.

Tables are in Markdown, drawn as by a terminal, or consist of separated values. Records are texts that
repeat the same fields on lines of their own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

MAX_PROSE_LINES = 2_000  # in a longer text, no more tables of separated values are looked for after so many lines
SAMPLE_ROWS = 20  # rows that are checked to distinguish a table from prose
MAX_CELL_LINES = 50  # maximum lines of a quoted cell
MAX_RECORD_FIELDS = 60  # maximum fields of a record
MAX_HEADING_CHARS = 120  # maximum characters of the heading of a record
_RULE = re.compile(r"\s*[|+]?\s*:?-+:?\s*(?:[|+]\s*:?-+:?\s*)*[|+]?\s*")
_BORDER = re.compile(r"\s*\+[-+]{2,}\+\s*")
_BOX_DRAWING = str.maketrans("│┃║─━═" + "┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝┏┳┓┣╋┫┗┻┛╒╤╕╞╪╡╘╧╛", "|||---" + "+" * 36)
_ONE_WORD_NAME = re.compile(r"[^\W\d][\w.-]*")  # a one-word column name; prose has no row of such names
_SEPARATOR_LINE = re.compile(r"\s*[-=*_]{3,}\s*")
_FIELD = re.compile(r"\s*(?:[-*•]\s+)?\**([^\W\d][^:：|*]{0,40})\**(?::\**(?:\s+|$)|：\**\s*)(.*)$")
_NUMERIC = re.compile(r"\W{0,2}\d[\d.,:/\s-]*\W{0,2}\w{0,3}")


class ResultLine(NamedTuple):
    """A line of text. A row is complete in itself; any other line is part of the text around it."""

    text: str
    is_row: bool = False


def label_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as one line, `name: cell; name: cell`, without its empty cells."""
    return "; ".join(
        f"{names[n]}: {cell}" if n < len(names) and names[n] else cell for n, cell in enumerate(cells) if cell
    )


def read_text_lines(text: str) -> Iterator[ResultLine]:
    """Yield the lines of a text, with the rows of its tables labelled with their column names."""
    if "│" in text or "┃" in text or "║" in text:
        text = text.translate(_BOX_DRAWING)
    lines, position, failures = text.split("\n"), 0, 0
    while position < len(lines):
        rows, size = _read_markdown_table(lines, position)
        if not rows and failures < MAX_PROSE_LINES:
            rows, size = _read_separated_table(lines, position)
            if not rows:
                rows, size = _read_field_records(lines, position)
        if rows:
            yield from (ResultLine(row, True) for row in rows)
            position += size
        else:
            if not _BORDER.fullmatch(lines[position]):
                yield ResultLine(lines[position])
            position, failures = position + 1, failures + 1


def _read_markdown_table(lines: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the rows of the table that begins at a line, and its length in lines.

    There are no rows if no table begins there. Tables are in Markdown or drawn as by a terminal.
    """
    if "|" not in lines[start]:
        return [], 0
    names = _split_cells(lines[start])
    first = start + 1
    for line in lines[start + 1 : start + 3]:
        first += 1
        if _RULE.fullmatch(line):
            break
        if "|" not in line:  # a line of column types may follow the names
            return [], 0
    else:
        return [], 0
    if len(_split_cells(lines[first - 1].replace("+", "|"))) != len(names):
        return [], 0
    body = [*takewhile(lambda line: "|" in line, lines[first:])]
    cells = [_split_cells(line) for line in body if not _RULE.fullmatch(line)]
    return [label_row(names, row) for row in cells], first - start + len(body)


def _read_field_records(lines: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the records that begin at a line, and their length in lines; no rows if there are
    fewer than two.

    Each record has the same fields on lines of their own (Name: Copper Tower), and possibly a
    heading.
    """
    records: list[tuple[str, dict[str, str]]] = []
    ends: list[int] = []
    after_gap, last = True, ""
    for n, line in enumerate(islice(lines, start, None), 1):
        if not line.strip() or _SEPARATOR_LINE.fullmatch(line):
            if n == 1:
                return [], 0
            after_gap = True
            continue
        field = _FIELD.match(line)
        fields = records[-1][1] if records else {}
        if field and (field[2] or not after_gap):
            if after_gap or field[1] == next(iter(fields), ""):
                if not _can_continue(records):
                    break
                records.append(("", {}))
                ends.append(n)
            last = field[1]
            records[-1][1].setdefault(last, (field[2] or "").strip())
        elif after_gap and len(line) <= MAX_HEADING_CHARS:
            if not _can_continue(records):
                break
            records.append((line.strip(" #*:："), {}))
            ends.append(n)
        elif last and not after_gap and line[:1].isspace():
            records[-1][1][last] += " " + line.strip()
        else:
            break
        after_gap = False
        ends[-1] = n
        if len(fields) > MAX_RECORD_FIELDS:
            break
    if records and not _can_continue(records):
        records.pop()
    if len(records) < 2:
        return [], 0
    rows = [(f"{head} — " if head else "") + label_row([*fields], [*fields.values()]) for head, fields in records]
    return rows, ends[len(records) - 1]


def _can_continue(records: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Return whether another record may follow: there is none yet, or the last one shares at least
    two fields with the first."""
    return not records or len(records[0][1].keys() & records[-1][1].keys()) > 1


def _split_cells(line: str) -> list[str]:
    content = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.replace("\\|", "|").split()) for cell in re.split(r"(?<!\\)\|", content)]


def _read_separated_table(lines: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the rows of the table of separated values that begins at a line, and its length in
    lines.

    Each row has as many cells as there are names. Either one column contains only figures, or the
    text contains nothing but the table.
    """
    for delimiter in ("\t", ";", "|", ",", "  "):
        if delimiter not in lines[start].strip():
            continue
        names = _split_row(lines[start], delimiter)
        if len(names) < 2 or not all(map(_is_heading, names)) or len({*names}) < len(names):
            continue
        rows: list[list[str]] = []
        figures = set(range(len(names)))  # the columns that contain only figures
        is_compact = all(map(_ONE_WORD_NAME.fullmatch, names)) and not any(map(str.strip, lines[:start]))
        size = 1
        while start + size < len(lines):
            line, line_count = _join_wrapped_line(lines, start + size)
            row = _split_row(line, delimiter)
            if len(row) != len(names):
                is_compact = is_compact and not line.strip()
                break
            if len(rows) < SAMPLE_ROWS:
                figures = {n for n in figures if _NUMERIC.fullmatch(row[n])}
                is_compact = is_compact and f"{delimiter} " not in line
            if not figures and not is_compact:
                break
            rows.append(row)
            size += line_count
        if rows and (figures or (is_compact and len(rows) > 1)):
            return [label_row(names, row) for row in rows], size
    return [], 0


def _join_wrapped_line(lines: Sequence[str], start: int) -> tuple[str, int]:
    """Return a line, joined with the following lines if a quoted cell extends over them, and the
    number of lines joined."""
    line_count = 1
    if lines[start].count('"') % 2:
        for n, line in enumerate(lines[start + 1 : start + MAX_CELL_LINES], 2):
            if line.count('"') % 2:
                line_count = n
                break
    return "\n".join(lines[start : start + line_count]), line_count


def _split_row(line: str, delimiter: str) -> list[str]:
    if delimiter == "  ":
        return re.split(r"\s{2,}", line.strip())
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader(line.splitlines(True), delimiter=delimiter), [])]
    except csv.Error:
        return []


def _is_heading(cell: str) -> bool:
    return 0 < len(cell) <= 40 and cell[-1] not in ".!?:。！？：" and not _NUMERIC.fullmatch(cell)
