"""Research plans: parts, tasks, clarifications and reflections."""

from __future__ import annotations

from datetime import date

from pydantic import AliasChoices, Field

from research.core.records.base import Language, Record, fingerprint, normalise_query
from research.core.records.failures import Failure
from research.core.records.tables import Grid


class Part(Record):
    """One aspect of the question, about `subject`."""

    id: str
    subject: str
    text: str


class Task(Record):
    """One query for one source. Each result has to mention one of the names in `subject`.

    `tool` is a search mode of the source, "" its default; `start` and `end` limit such a mode to
    the days from the first to the last. `language` is that of the report and of messages about the
    search; None means that of the query.
    """

    id: str
    round: int = 1
    source: str
    query: str
    part: str = ""
    subject: tuple[str, ...] = ()
    purpose: str = Field(default="", validation_alias=AliasChoices("purpose", "why"))
    tool: str = ""
    start: date | None = None
    end: date | None = None
    language: Language | None = None

    @property
    def key(self) -> str:
        """A key that is equal for tasks with the same result, even if the default tool is named."""
        subjects = sorted(normalise_query(name) for name in self.subject)
        tool = "" if self.tool == "basic_search_news" else self.tool
        filters = [f"tool={tool}", f"days={self.start}..{self.end}"]  # no subject contains these characters
        more = filters if tool or self.start or self.end else []
        return fingerprint(self.source, normalise_query(self.query), *subjects, *more)


class Clarification(Record):
    """A question to the user about an ambiguous question, before any search. `answer` is "" if it
    was skipped, None while it is open."""

    question: str
    choices: tuple[str, ...] = ()
    answer: str | None = None


class Plan(Record):
    """The research plan: the parts of the question and the first round's tasks.

    `question` is the question rewritten to be self-contained, if it was not; with `recalled`, the
    conversation's own evidence answers it and nothing is searched.
    """

    question: str = ""
    from_memory: bool = Field(default=False, validation_alias=AliasChoices("from_memory", "recalled"))
    parts: tuple[Part, ...] = ()
    tasks: tuple[Task, ...] = ()
    edited: bool = False
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    outline: bool = False  # the parts are sections of a report, each researched separately
    grid: Grid | None = None  # a table, each row of which is researched separately
    clarification: Clarification | None = Field(
        default=None, validation_alias=AliasChoices("clarification", "unclear")
    )  # what the user should clarify for a better plan


class Reflection(Record):
    """The judgement after a round: what is missing and what to search next."""

    round: int
    sufficient: bool
    gap: tuple[str, ...] = ()
    follow_ups: tuple[Task, ...] = ()
    note: str = ""
    failures: tuple[Failure, ...] = ()
