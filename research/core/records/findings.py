"""Results of single tasks."""

from __future__ import annotations

from datetime import datetime

from pydantic import AliasChoices, Field

from research.core.records.base import Record
from research.core.records.databases import DatabaseStep, QueryResult
from research.core.records.evidence import Evidence, Picture
from research.core.records.failures import Failure, FailureHint, FailureReason
from research.core.records.places import Place, SearchArea
from research.core.records.plans import Task
from research.core.records.spans import Span


class Finding(Record):
    """The result of one task, or the reason why it has none.

    `summary` is a model's cited text about the query; `asked` are the queries that the search
    engine ran for it; `suggestions` is HTML that the engine's terms require with the answer. `lead`
    is the search service's own text about the query, which has no citations and is no evidence.
    `outside` are ids of evidence published outside the requested days, `undated` those without a
    known date.
    """

    task: Task
    evidence: tuple[Evidence, ...] = ()
    reason: FailureReason | None = None
    hint: FailureHint = ""
    message: str = ""
    started: datetime
    seconds: float = 0.0
    reused: bool = False
    cached: bool = False  # reused from another run: `started` is the time of that search
    provider: str = ""
    summary: tuple[Span, ...] = ()
    provider_queries: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("provider_queries", "asked"))
    suggestions: str = ""
    search_area: SearchArea | None = Field(
        default=None, validation_alias=AliasChoices("search_area", "centre")
    )  # of a search for places
    route_areas: tuple[SearchArea, ...] = Field(
        default=(), validation_alias=AliasChoices("route_areas", "along")
    )  # of a search for places along a route
    provider_summary: str = Field(default="", validation_alias=AliasChoices("provider_summary", "lead"))
    pictures: tuple[Picture, ...] = ()
    outside_dates: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("outside_dates", "outside"))  # ids
    undated: tuple[str, ...] = ()  # ids
    interpreted_question: str = Field(
        default="", validation_alias=AliasChoices("interpreted_question", "meant")
    )  # the database question as interpreted
    rows: QueryResult | None = None  # of a database
    steps: tuple[DatabaseStep, ...] = ()  # that led to the rows
    failures: tuple[Failure, ...] = ()  # additional failures: another provider, a page, a summary

    @property
    def has_failed(self) -> bool:
        """True if the search failed. One without a result has not."""
        return self.reason not in (None, "empty")

    @property
    def passage_count(self) -> int:
        return sum(len(item.passages) for item in self.evidence)

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(item.place for item in self.evidence if item.place)
