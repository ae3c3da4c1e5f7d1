"""Records of tables in files: columns, corrections and the reasons why a file is unreadable."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal, get_args

from pydantic import Field

from research.core.records import Language, Record
from research.readers.column_choices import ColumnChoice, OddValues
from research.readers.column_formats import ColumnFormat
from research.readers.table_areas import TableArea
from research.readers.table_remarks import TableRemark
from research.readers.total_rows import SetAsideRow

FileColumnType = Literal["text", "integer", "number", "date", "datetime", "boolean"]
TextEncoding = Literal[
    "utf-8-sig", "utf-16", "gb18030", "cp950", "cp932", "cp949", "cp1252", "cp1250", "cp1251"
]  # fmt: skip
TEXT_ENCODINGS: tuple[TextEncoding, ...] = get_args(TextEncoding)
UnreadableReason = Literal[
    "kind", "size", "rows", "columns", "empty", "encoding", "broken", "value", "extent",
    "unpacked", "time", "memory", "busy", "start", "uncalculated", "encrypted", "mislabelled", "packed",
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


class UnreadableTableError(Exception):
    """A file has no readable tables.

    `row` is the line of the problem, or 0 if unknown, `content` the suffix of the format that a mislabelled or packed
    file really has.
    """

    def __init__(self, reason: UnreadableReason, file: str, *, row: int = 0, content: str = "") -> None:
        self.reason, self.file, self.row, self.content = reason, file, row, content
        super().__init__(self.message_in("en"))

    def message_in(self, language: Language) -> str:
        """Return the problem as one line in a language."""
        from research.core.i18n import message

        if self.reason == "broken" and self.row:
            return message("unreadable.broken_at", language, file=self.file, row=self.row)
        return message(f"unreadable.{self.reason}", language, file=self.file, content=self.content)


class Correction(Record):
    """The analyst's correction of a table.

    `columns` maps headings to new names and types; "" keeps the detected one, and so does "" as
    `encoding` or `delimiter` of a text file. `header` is the number of the heading row, None to keep
    the detected one. With `keep_totals`, rows of totals stay in the data.
    """

    name: str = ""
    header: int | None = None
    encoding: TextEncoding | Literal[""] = ""
    delimiter: Literal["", ",", ";", "\t", "|", " "] = ""
    keep_totals: bool = False
    columns: dict[str, tuple[str, ColumnChoice | Literal[""]]] = Field(default_factory=dict)


class FileColumn(Record):
    """A column: `heading` in the file, `name` for SQL, and the form in which its values are written.

    `missing` counts the values that only say that there is none, such as N/A. `choice` is the type that a
    person has chosen, "" for the detected one. `odd` are the values that are not of that type, which are left
    out, or for which the column stays text if nobody has chosen a type.
    """

    heading: str
    name: str
    type: FileColumnType
    format: ColumnFormat = ColumnFormat()
    missing: int = 0
    choice: ColumnChoice | Literal[""] = ""
    odd: OddValues | None = None


class FileTable(Record):
    """A table of a file.

    `header` is the number of the heading row, from 1, or 0 for none; of `header_rows` rows, the last. `kept` names the columns that
    stayed text because some of their values are not of the detected type. `set_aside` are the first
    of the `set_aside_count` rows that are no data, such as totals. `short_rows` have fewer cells than the
    table has columns; what is missing is empty. A sheet or text file with several tables has an `area` for
    each; all but the first have it in `sheet` too, as in Sheet1!A8:C12. `notices` are further remarks.
    `correction` is what a person has chosen. `content` is the suffix of the file's real format, "" if its name has it.
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
    correction: Correction = Correction()
    area: TableArea = TableArea()
    notices: tuple[TableRemark, ...] = ()
    content: str = ""

    @property
    def kind(self) -> str:
        """Return the suffix of the format in which the file is read."""
        return self.content or PurePath(self.file).suffix.lower()

    @property
    def sheet_name(self) -> str:
        """Return the name of the sheet without the area."""
        return (
            self.sheet.removesuffix(self.area.reference).removesuffix("!") if self.area != TableArea() else self.sheet
        )


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
