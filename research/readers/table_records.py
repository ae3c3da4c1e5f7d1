"""Records of tables in files: columns, corrections and the reasons why a file is unreadable."""

from __future__ import annotations

import re
from typing import Literal, get_args

from pydantic import Field

from research.core.records import Language, Record
from research.readers.column_formats import ColumnFormat
from research.readers.total_rows import SetAsideRow

FileColumnType = Literal["text", "integer", "number", "date", "datetime", "boolean"]
COLUMN_TYPES: tuple[FileColumnType, ...] = get_args(FileColumnType)
TextEncoding = Literal[
    "utf-8-sig", "utf-16", "gb18030", "cp950", "cp932", "cp949", "cp1252", "cp1250", "cp1251"
]  # fmt: skip
TEXT_ENCODINGS: tuple[TextEncoding, ...] = get_args(TextEncoding)
UnreadableReason = Literal[
    "kind", "size", "rows", "columns", "empty", "encoding", "ragged", "broken", "value", "extent",
    "unpacked", "time", "memory", "busy", "start",
]  # fmt: skip
MAX_ROWS = 20_000_000  # per table
MAX_COLUMNS = 500
SAMPLE_ROWS = 2_000  # rows from which types are inferred
MAX_NAME_CHARS = 60
TABLE_SUFFIXES = (
    ".csv",
    ".tsv",
    ".txt",
    ".xlsx",
    ".xls",
    ".xlsb",
    ".ods",
    ".parquet",
    ".json",
    ".jsonl",
    ".ndjson",
    ".html",
    ".htm",
    ".docx",
)
TYPED_SUFFIXES = (".parquet", ".json", ".jsonl", ".ndjson")
WORKBOOK_SUFFIXES = (".xlsx", ".xls", ".xlsb", ".ods")
DOCUMENT_SUFFIXES = (".html", ".htm", ".docx")
SHEET_SUFFIXES = (*WORKBOOK_SUFFIXES, *DOCUMENT_SUFFIXES)  # with several tables, each called a sheet


_REASON_MESSAGES = {
    "day or month first": "loaded.day_or_month_first",
    "different units": "loaded.different_units",
    "identifier": "loaded.identifier",
}
_DATE_MESSAGES = {"dmy": "loaded.dmy", "mdy": "loaded.mdy"}


class UnreadableTableError(Exception):
    """A file has no readable tables; `row` is the line of the problem, or 0 if unknown."""

    def __init__(self, reason: UnreadableReason, file: str, *, row: int = 0) -> None:
        self.reason, self.file, self.row = reason, file, row
        super().__init__(self.message_in("en"))

    def message_in(self, language: Language) -> str:
        """Return the problem as one line in a language."""
        from research.core.i18n import message

        key = "broken_at" if self.reason == "broken" and self.row else self.reason
        return message(f"unreadable.{key}", language, file=self.file, row=self.row)


class FileColumn(Record):
    """A column: `heading` in the file, `name` for SQL, and the form in which its values are written.

    `missing` counts the values that only say that there is none, such as N/A.
    """

    heading: str
    name: str
    type: FileColumnType
    format: ColumnFormat = ColumnFormat()
    missing: int = 0


class FileTable(Record):
    """A table of a file.

    `header` is the number of the heading row, from 1, or 0 for none; of `header_rows` rows, the last. `kept` names the columns that
    stayed text because some of their values are not of the detected type. `set_aside` are the first
    of the `set_aside_count` rows that are no data, such as totals. `short_rows` have fewer cells than the
    table has columns; what is missing is empty.
    """

    name: str
    file: str
    sheet: str = ""
    header: int = 1
    header_rows: int = 1
    columns: tuple[FileColumn, ...]
    sample: tuple[tuple[str, ...], ...] = ()
    rows: int | None = None
    encoding: str = ""
    delimiter: str = ""
    kept: tuple[str, ...] = ()
    set_aside: tuple[SetAsideRow, ...] = ()
    set_aside_count: int = 0
    short_rows: int = 0

    def remarks(self, language: Language) -> list[str]:
        """Return how the file was read where that is not a matter of course, one line each."""
        from research.core.i18n import message

        lines = []
        if self.encoding not in ("", "utf-8-sig"):
            lines.append(message("loaded.encoding", language, encoding=self.encoding.upper()))
        if self.header_rows > 1:
            lines.append(message("loaded.two_headers", language, row=self.header))
        elif not self.header:
            lines.append(message("loaded.no_header", language))
        elif self.header > 1:
            lines.append(message("loaded.header", language, row=self.header))
        for column in self.columns:
            name, form = column.name, column.format
            if form.reason:
                lines.append(message(_REASON_MESSAGES[form.reason], language, column=name))
            if column.type == "text":
                continue
            if form.decimal_mark == ",":
                lines.append(message("loaded.comma", language, column=name))
            if form.is_doubtful and column.type == "integer":
                lines.append(message("loaded.as_thousands", language, column=name))
            elif form.is_doubtful:
                lines.append(message("loaded.as_decimals", language, column=name))
            if form.unit:
                lines.append(message("loaded.unit", language, column=name, unit=form.unit))
            if form.date_order:
                lines.append(message(_DATE_MESSAGES[form.date_order], language, column=name))
            if column.missing:
                lines.append(message("loaded.missing", language, column=name, n=column.missing))
        if self.kept:
            lines.append(message("loaded.kept", language, columns=", ".join(self.kept)))
        if self.short_rows:
            lines.append(message("loaded.short", language, n=self.short_rows))
        if self.set_aside_count:
            texts = "; ".join(f"{row.text} ({row.row})" for row in self.set_aside[:5])
            lines.append(message("loaded.set_aside", language, n=self.set_aside_count, rows=texts))
        return lines


class Correction(Record):
    """The analyst's correction of a table.

    `columns` maps headings to new names and types; "" keeps the detected one, and so does "" as
    `encoding` or `delimiter` of a text file. `header` is the number of the heading row, None to keep
    the detected one.
    """

    name: str = ""
    header: int | None = None
    encoding: TextEncoding | Literal[""] = ""
    delimiter: Literal["", ",", ";", "\t", "|"] = ""
    columns: dict[str, tuple[str, FileColumnType | Literal[""]]] = Field(default_factory=dict)


# Names


def sql_name(text: str, default: str) -> str:
    """Turn a text into a name for SQL, of letters, digits and "_"; `default` if nothing is left."""
    name = re.sub(r"\W+", "_", text.strip(), flags=re.UNICODE).strip("_")[:MAX_NAME_CHARS]
    if not name:
        return default
    return f"_{name}" if name[0].isdigit() else name


def unique_name(name: str, used_names: set[str]) -> str:
    """Return the name, with a number after it if it is used already, and add it to the used names in
    lower case."""
    candidate, number = name, 1
    while candidate.lower() in used_names:
        number += 1
        candidate = f"{name}_{number}"
    used_names.add(candidate.lower())
    return candidate
