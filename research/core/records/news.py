"""News grouped into stories, with outlets, disagreements and changes."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import AliasChoices, Field

from research.core.records.base import Date, Record
from research.core.records.failures import Failure

Tone = Literal["positive", "neutral", "negative"]


class Story(Record):
    """One event in the news: `evidence` are its pieces, one for each address, the earliest first.

    `independent` counts the pieces that are not copies of each other. `day` is the first date of
    publication, `latest` the last; both are None if no piece is dated. It is `stale` after a week
    without a new piece. The tone is `rough` if it was counted from words, because no model has
    judged it.
    """

    id: str
    headline: str
    evidence: tuple[str, ...]
    outlets: tuple[str, ...] = ()
    independent: int = 1
    day: date | None = None
    latest: date | None = None
    stale: bool = False
    tone: Tone = "neutral"
    tone_from_words: bool = Field(default=True, validation_alias=AliasChoices("tone_from_words", "rough"))


class OutletSummary(Record):
    """The coverage by one outlet: pieces, their stories, the first day."""

    name: str  # "" if unknown
    items: int
    stories: int
    first: date | None = None


class Figure(Record):
    """A figure in a piece of evidence, with the words around it."""

    text: str
    clause: str
    outlet: str
    evidence: str


class StoryConflict(Record):
    """Figures for the same thing that cannot all be true; `story` is the id of their story."""

    story: str
    subject: str
    unit: str
    figures: tuple[Figure, ...]


class CitedFigure(Record):
    """A figure in a source, with its sentence. `number` is that of its citation, `date` the day of
    publication; `copies` counts the other sources with the same text."""

    text: str
    clause: str
    evidence: str
    number: int | None = None
    date: Date | None = None
    copies: int = 0


class FigureDisagreement(Record):
    """Figures of different sources for the same thing that cannot all be true."""

    subject: str
    unit: str
    figures: tuple[CitedFigure, ...]


class StoryChange(Record):
    """A difference to the previous report.

    A story is `new`, has `grown` by new pieces, or is `gone`: the search that found it was repeated
    and no longer does. A `figure` of a story has changed from `before` to `after`.
    """

    kind: Literal["new", "grown", "gone", "figure"]
    story: str  # its id
    headline: str
    evidence: tuple[str, ...] = ()  # ids of the new pieces, or of those that are gone
    before: Figure | None = None
    after: Figure | None = None


class NewsCoverage(Record):
    """The news of a run, grouped into stories, the latest first.

    Ages count from `as_of`; `days` has the number of pieces for each day of publication. `author`
    has judged the tones, "" if words were counted. `changes` are relative to the report of the run
    `compared`.
    """

    as_of: date
    stories: tuple[Story, ...] = ()
    outlets: tuple[OutletSummary, ...] = ()
    conflicts: tuple[StoryConflict, ...] = ()
    days: tuple[tuple[date, int], ...] = ()
    undated: int = 0  # pieces
    author: str = ""
    compared_run: str = Field(default="", validation_alias=AliasChoices("compared_run", "compared"))
    changes: tuple[StoryChange, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def latest_day(self) -> date | None:
        """Day of the latest piece."""
        return self.days[-1][0] if self.days else None

    @property
    def is_stale(self) -> bool:
        """True if there are dated stories and all of them are stale."""
        dated = [story for story in self.stories if story.latest]
        return bool(dated) and all(story.stale for story in dated)


class HeadlineTones(Record):
    """Tones of headlines in their order; None where the model gave none."""

    tones: tuple[Tone | None, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
