"""Cited tables: columns, rows, and cells with their readings."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AliasChoices, Field

from research.core.records.base import Date, Record
from research.core.records.evidence import PassageReference
from research.core.records.failures import Failure
from research.core.records.places import Place
from research.core.records.spans import SupportStatus

ColumnType = Literal["text", "number", "date", "yes or no", "choice"]
MissingReason = Literal[
    "",
    "not found",  # no source has it
    "differs",  # sources differ; `readings` has each value
    "which one",  # the row's name is ambiguous; `choices` lists the candidates
    "limit",  # the run reached a limit, or its search was ended
    "failed",  # the search or the model failed
]


class Column(Record):
    """A column of a table. `question` explains a name that is not self-explanatory; `unit` is that
    of its numbers, "" for the most common one among sources; `choices` are the permitted values of
    a choice. `sources` limits the search; () leaves the sources to the run."""

    id: str
    name: str
    question: str = ""
    type: ColumnType = "text"
    unit: str = ""
    choices: tuple[str, ...] = ()
    hint: str = ""
    sources: tuple[str, ...] = ()

    @property
    def full_question(self) -> str:
        """The question with its hint, in words."""
        return " ".join(filter(None, (self.question or self.name, self.hint)))


class Row(Record):
    """A row of a table. `about` distinguishes rows of the same name, for example by city."""

    id: str
    name: str
    qualifier: str = Field(default="", validation_alias=AliasChoices("qualifier", "about"))
    place: Place | None = None

    @property
    def full_name(self) -> str:
        """Name with the distinguishing part."""
        return f"{self.name} {self.qualifier}".strip()


class Grid(Record):
    """A requested table of rows and columns. Results from before `since` are searched again."""

    title: str = ""
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    fresh_after: datetime | None = Field(default=None, validation_alias=AliasChoices("fresh_after", "since"))


class CellValue(Record):
    """The value of a cell, by type. `text` is its wording in the source.

    A number is `number` `unit`s, up to `high` for a range; `bound` qualifies it ("" means exact). A
    date is `day` with the given `precision`.
    """

    type: ColumnType
    text: str
    number: float | None = None
    high: float | None = None
    unit: str = ""
    bound: Literal["", "about", "least", "most"] = ""
    day: Date | None = None
    precision: Literal["day", "month", "year"] = "day"
    yes: bool | None = None
    choice: str = ""


class CellReading(Record):
    """The value of a cell according to one source, or several that agree, with the verbatim
    sentence in the first cited passage and how well the passages support it."""

    value: CellValue
    quote: str
    references: tuple[PassageReference, ...] = Field(validation_alias=AliasChoices("references", "cites"))
    status: SupportStatus = "quoted"


class Cell(Record):
    """One cell of a table with its own evidence.

    `readings` has the best first, and more than one only if sources differ. Without any, `lack` is
    the reason and `message` explains it.
    """

    row: str
    column: str
    readings: tuple[CellReading, ...] = ()
    missing_reason: MissingReason = Field(default="", validation_alias=AliasChoices("missing_reason", "lack"))
    message: str = ""
    choices: tuple[str, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
    created: datetime | None = Field(default=None, validation_alias=AliasChoices("created", "made"))

    @property
    def value(self) -> CellValue | None:
        """The best value; None if the cell is empty."""
        return self.readings[0].value if self.readings else None
