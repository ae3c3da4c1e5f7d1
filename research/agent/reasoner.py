"""The protocols of reasoners, which plan, reflect and write, and of citation checkers.

The package `llm` implements them with chat models; `extractive` follows rules and quotes verbatim,
with no key and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from research.citations.support import CitedExcerpt
from research.core.events import EventEmitter
from research.core.records import (
    Cell,
    Column,
    Draft,
    Finding,
    HeadlineTones,
    ModelVerdicts,
    Plan,
    Question,
    Reflection,
    ReportSection,
    RewrittenSentences,
    Row,
    RunOptions,
    Task,
)


class Corpus(Protocol):
    """Queries of a reasoner about the analyst's documents; the library's index implements them."""

    def idf(self, token: str) -> float:
        """Return the inverse document frequency of a token: higher is rarer."""

    def find_names(self, question: str) -> list[str]:
        """Return the names in a question that the documents contain, the longest first."""

    def aliases(self, name: str) -> list[str]:
        """Return other names of the same thing, in any language."""

    def closest_titles(self, question: str) -> list[str]:
        """Return the titles of the few documents that are closest to a question, the best first."""

    def languages(self) -> frozenset[str]:
        """Return the languages of the documents."""


@dataclass(frozen=True)
class ReasonerInput:
    """The run's data that each step of a reasoner receives. Steps that plan have no plan or findings."""

    question: Question
    options: RunOptions
    emit: EventEmitter
    plan: Plan = field(default_factory=Plan)
    findings: Sequence[Finding] = ()


class Reasoner(Protocol):
    """The interface between the stages and the code that plans, judges and writes.

    Expected failures are part of the result; an exception is a bug.
    """

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        """Return the parts of the question and the tasks of the first round.

        If no search is needed, return the whole answer as a draft.
        """

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        """Return what is missing after a round, counted from 1, and tasks to fill the gaps.

        The caller limits the number of tasks.
        """

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        """Write the answer, citing only evidence of the findings."""

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        """Quote the findings, for a run whose budget allows no written answer. Calls no model."""

    async def plan_report(self, inputs: ReasonerInput) -> Plan:
        """Return the outline of a report: its sections, each with the first search for it."""

    async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
        """Write a section from its findings, keeping or correcting its earlier text."""

    async def reflect_on_section(self, inputs: ReasonerInput, section: ReportSection, round_: int) -> Reflection:
        """Return what a section still lacks, and tasks for the given round; the caller limits them."""

    async def write_preface(self, inputs: ReasonerInput, sections: Sequence[ReportSection]) -> Draft:
        """Write the summary that precedes the sections of a report, citing what they cite."""

    async def judge_tones(self, inputs: ReasonerInput, headlines: Sequence[str]) -> HeadlineTones:
        """Judge the tone of each headline; empty if the reasoner cannot judge it."""

    async def plan_table(self, inputs: ReasonerInput) -> Plan:
        """Plan the table that the question asks for; without a `grid` if its rows are unclear."""

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        """Return the searches of some sources for a cell. The caller runs equal tasks once."""

    async def extract_cells(self, inputs: ReasonerInput, row: Row, columns: Sequence[Column]) -> tuple[Cell, ...]:
        """Extract some cells of a row from the findings, in the order of the columns."""


@runtime_checkable
class OwnedReasoner(Protocol):
    """A reasoner whose plans depend on the owner of the run."""

    def for_owner(self, owner: str) -> Reasoner:
        """Return the reasoner for the runs of an owner."""


class Claim(NamedTuple):
    """A sentence with citations: its key, its text and what it cites, the nearest excerpt first."""

    key: str
    text: str
    excerpts: tuple[CitedExcerpt, ...]


class CitationChecker(Protocol):
    """A model that judges sentences by the passages that they cite. Failures are part of the results.

    If `can_judge` is False, the rules judge, and the checker only rewrites sentences.
    """

    can_judge: bool

    def is_available(self, options: RunOptions) -> bool:
        """Return whether the run has a model that writes and judges its answer."""

    def is_limited_to_one_claim(self, options: RunOptions) -> bool:
        """Return whether a call can judge only one sentence."""

    def judging_model_name(self, options: RunOptions) -> str:
        """Return the judging model as `provider:name`; "" if the run has none."""

    async def judge_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> ModelVerdicts:
        """Judge sentences with one call; a sentence without a usable verdict is left out."""

    async def rewrite_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> RewrittenSentences:
        """Rewrite sentences with one call so that they state only what their passages support."""
