"""Drafts, report sections and the finished answer."""

from __future__ import annotations

from datetime import datetime

from pydantic import AliasChoices, Field

from research.core.records.base import Language, Record
from research.core.records.failures import Failure
from research.core.records.news import NewsCoverage
from research.core.records.spans import AnswerReview, Span
from research.core.records.tables import Cell


class ReportSection(Record):
    """A section of a report after the last of its rounds.

    `part` is the id of the part of the plan that it covers, `gap` lists what is still missing.
    """

    part: str
    spans: tuple[Span, ...] = ()
    rounds: int = 0  # of reflection
    gap: tuple[str, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
    carried_over: bool = Field(
        default=False, validation_alias=AliasChoices("carried_over", "kept")
    )  # copied from the previous report, since nothing new was found


class Draft(Record):
    """The answer that a reasoner has written: spans, author and failures.

    `unwritten`: the spans are a stand-in for a failed answer. The run has then failed, and resuming
    it writes again.
    """

    spans: tuple[Span, ...]
    author: str
    failures: tuple[Failure, ...] = ()
    placeholder: bool = Field(default=False, validation_alias=AliasChoices("placeholder", "unwritten"))


class Answer(Record):
    """The cited text before numbering: only ids of the evidence registry become numbers."""

    title: str
    language: Language
    author: str
    spans: tuple[Span, ...] = ()
    failures: tuple[Failure, ...] = ()
    sample: bool = False
    placeholder: bool = Field(default=False, validation_alias=AliasChoices("placeholder", "unwritten"))
    suggestions: tuple[str, ...] = ()
    coverage: NewsCoverage | None = None  # of a report
    cells: tuple[Cell, ...] = ()  # of a table
    review: AnswerReview | None = None
    created: datetime = Field(validation_alias=AliasChoices("created", "made"))

    @property
    def quote_count(self) -> int:
        return sum(span.kind == "quote" for span in self.spans)

    @property
    def cited_span_count(self) -> int:
        """Number of spans with citations."""
        return sum(bool(span.references) for span in self.spans)
