"""The model of an exported table: named and typed columns, rows of cells, and notes.

Database rows, tables inside an answer, the table that was asked for, cited sources and places are
built as an `ExportTable`. There is one writer a format: `table_csv`, `table_excel` and
`table_parquet`; tables inside a Markdown document are written by `markdown_escaping.markdown_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, NamedTuple

from research.core.text.control_chars import replace_surrogates

CellStyle = Literal["", "missing", "conflict"]


class ExportColumn(NamedTuple):
    """A column: its heading, its type, and facts about it for formats that can hold them.

    The type is text, integer, number, boolean, date, datetime or texts (a list of texts).
    """

    name: str
    type: str = "text"
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ExportCell:
    """A value with what a workbook shows beside it.

    Attributes:
        style: "missing" for the reason of an empty cell, "conflict" for a value on which sources differ.
        note: text of a comment.
        link: a cell of the workbook, such as "Evidence!A2".
        address: a web address.
    """

    value: Any
    number_format: str = ""
    horizontal: str | None = None
    style: CellStyle = ""
    note: str = ""
    link: str = ""
    address: str = ""


class ExportTable(NamedTuple):
    """A table. Its cells are values (text, numbers, dates, None) or `ExportCell`.

    `metadata` holds facts about the whole table, by name.
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Iterable[Sequence[Any]]
    metadata: Mapping[str, str] | None = None


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Make column names unique: a second `name` becomes `name (2)`."""
    taken: set[str] = set()
    out = []
    for name in map(replace_surrogates, names):
        candidates = (f"{name} ({n})" for n in count(2))
        unique = (
            name
            if name not in taken
            else next(candidate for candidate in candidates if candidate not in {*taken, *names})
        )
        taken.add(unique)
        out.append(unique)
    return tuple(out)
