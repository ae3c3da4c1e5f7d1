"""Results of database queries and the steps that led to them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field

from research.core.records.base import Language, Record

DatabaseStepKind = Literal[
    "tables",  # those shown to a model, if not all
    "understand",  # interpretation of the question, and its author
    "link",  # values of the database that match names of the question
    "write",  # a statement and its rationale
    "refused",  # by the guard or the engine; the reason goes back to the statement's author
    "run",  # rows
    "judge",  # whether the rows answer the question
    "supplement",  # cells that were NULL and have been filled
    "missing",  # cells that stay NULL
]


class DatabaseStep(Record):
    """A step from a question to the rows of a database. `sql` is the statement that was run, if
    any, `rows` the number of rows it returned, `seconds` its duration."""

    kind: DatabaseStepKind
    text: str = ""
    sql: str = ""
    rows: int | None = None
    seconds: float = 0.0


class ColumnCoverage(Record):
    """Number of rows in which the columns of a filter, aggregate or ranking are not NULL: `known`
    of `rows`, None if they could not be counted. With `part`, the rows are those of a subquery."""

    columns: tuple[str, ...]
    known: int | None
    rows: int = 0
    subquery: bool = Field(default=False, validation_alias=AliasChoices("subquery", "part"))


# Remarks on the layout of a file.
LayoutRemarkKind = Literal[
    "area", "above", "words", "row_names", "repeated", "unnamed", "blank_rows", "blank_labels", "unsummed", "unlabelled",
    "total_columns", "of_which", "indented", "parts", "label_rows", "hidden_sheet", "hidden_rows", "hidden_columns",
    "filtered", "uncalculated", "errors", "percent", "sentinel", "one_column", "skipped_sheets", "merged_numbers",
    "unknown_details", "serial_days", "parentheses", "read_as", "cut",
]  # fmt: skip
ReadingNoteKind = LayoutRemarkKind | Literal[
    "left out",  # values that are not of the type chosen for their column
    "mixed",  # values for which their column stays text
    "thousands",  # 1,234 was read as 1234
    "decimals",  # 1.234 was read as a decimal
    "day or month first",
    "different units",
    "totals",  # rows that are not in the data
    "wide rows",  # rows with more cells than the table has columns, which are not in the data
    "short rows",  # rows with fewer cells than the table has columns
    "averages",  # rows that are not in the data
    # why a column stays text
    "thousands or decimals", "two-digit years", "shortened", "other values", "metres or millions",
]  # fmt: skip


class ReadingNote(Record):
    """A doubt about how a table was read from a file.

    `column` is "" for a doubt about the rows. `count` of `total` values or rows are meant; some of them are
    in `examples`. `type` is the type that the other values of the column have.
    """

    kind: ReadingNoteKind
    table: str
    column: str = ""
    type: str = ""
    count: int = 0
    total: int = 0
    examples: tuple[str, ...] = ()


class QueryResult(Record):
    """The result of a statement: `names` of the columns, values as JSON types.

    `types` are derived from the values: integer, number, text, boolean, date, datetime, bytes,
    empty.
    """

    sql: str  # as executed
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()
    truncated: bool = False  # more rows existed
    shortened_cells: int = Field(
        default=0, validation_alias=AliasChoices("shortened_cells", "cut")
    )  # number of shortened cells
    seconds: float = 0.0
    unmatched_filters: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("unmatched_filters", "missed")
    )  # filters that match no value, with similar values
    coverage: tuple[ColumnCoverage, ...] = ()  # of columns that are NULL in some rows
    statement_limit: int | None = Field(
        default=None, validation_alias=AliasChoices("statement_limit", "most")
    )  # the statement's own LIMIT; the one in `sql` may be ours
    headings: dict[str, dict[Language, str]] = Field(default_factory=dict)  # display names of columns
    reading_notes: tuple[ReadingNote, ...] = ()  # doubts about the files that the statement reads
