"""The protocols of reasoners, which plan, reflect and write, and of those that check citations.

The package `llm` asks chat models; `extractive` follows rules and quotes verbatim, with no key and no
network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from research.core.records import (
    Cell,
    Column,
    Draft,
    EventEmitter,
    Finding,
    HeadlineTones,
    ModelVerdicts,
    Passage,
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
    """What a reasoner may ask about the analyst's documents; the library's index answers."""

    def idf(self, token: str) -> float:
        """How telling a token is; higher is rarer."""

    def is_absent(self, token: str) -> bool:
        """Whether no document has a token."""

    def find_names(self, question: str) -> list[str]:
        """Names known to the documents that the question has, longest first."""

    def aliases(self, name: str) -> list[str]:
        """Other names of the same thing, in any language."""

    def closest_titles(self, question: str) -> list[str]:
        """The titles of the few documents that have most to do with a question, best first."""

    def languages(self) -> frozenset[str]:
        """The languages that the documents are in."""


class Reasoner(Protocol):
    """The seam between the stages and whoever thinks.

    A failure that was to be expected is part of what comes back; an exception is a bug.
    """

    async def plan(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
        """The parts of the question and the tasks of the first round, or at once the whole answer
        if nothing needs looking up."""

    async def reflect(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        options: RunOptions,
        round_: int,
        emit: EventEmitter,
    ) -> Reflection:
        """What is missing after a round, and the tasks that could fill it (uncapped)."""

    async def write(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        reflections: Sequence[Reflection],
        options: RunOptions,
        emit: EventEmitter,
    ) -> Draft:
        """The answer, citing only evidence of the findings."""

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        """What was found, instead of an answer that there is no room to write. Asks nobody."""

    async def plan_report(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """The sections of a report, each with the task that its search begins with."""

    async def write_section(
        self,
        question: Question,
        plan: Plan,
        section: ReportSection,
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> ReportSection:
        """The section with a text of what was found for it, what it said before kept or put right."""

    async def reflect_on_section(
        self,
        question: Question,
        plan: Plan,
        section: ReportSection,
        findings: Sequence[Finding],
        options: RunOptions,
        round_: int,
        emit: EventEmitter,
    ) -> Reflection:
        """What a section still lacks, and the tasks that could fill it (uncapped)."""

    async def write_preface(
        self,
        question: Question,
        plan: Plan,
        sections: Sequence[ReportSection],
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> Draft:
        """What stands before the sections of a report: its summary, citing what they cite."""

    async def judge_tones(
        self, question: Question, headlines: Sequence[str], options: RunOptions, emit: EventEmitter
    ) -> HeadlineTones:
        """How the news of each headline sounds to somebody who asks this; nothing if it cannot be
        told."""

    async def plan_table(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """The plan of a table that a sentence asks for; without a `grid` if nobody can tell its rows and
        columns."""

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        """What some sources are asked for a cell. Equal tasks of several cells are searched once."""

    async def extract_cells(
        self,
        question: Question,
        row: Row,
        columns: Sequence[Column],
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> tuple[Cell, ...]:
        """What was found says in some cells of a row, in the order of the columns."""


@runtime_checkable
class OwnedReasoner(Protocol):
    """A reasoner whose plans depend on who asks."""

    def of(self, owner: str) -> Reasoner:
        """Return the reasoner for the runs of an owner."""


class ClaimPassage(NamedTuple):
    """A passage that a sentence cites, the id of its source, and what it is about: it may name its
    subject nowhere else."""

    evidence_id: str
    passage: Passage
    heading: str = ""


class Claim(NamedTuple):
    """A sentence that cites: its key, its text and its passages, the nearest first."""

    key: str
    text: str
    passages: tuple[ClaimPassage, ...]


class CitationChecker(Protocol):
    """Who judges sentences by the passages that they cite. What fails is part of what comes back.

    One that does not judge (`judges`) leaves that to the rules, and only puts in other words.
    """

    can_judge: bool

    def is_available(self, options: RunOptions) -> bool:
        """Whether there is a model that writes and judges the answer of such a run."""

    def is_single_claim_only(self, options: RunOptions) -> bool:
        """Whether one sentence at a time is judged by a call."""

    def author(self, options: RunOptions) -> str:
        """Who judges, as `provider:name`."""

    async def judge_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> ModelVerdicts:
        """What is ruled of each sentence, by one call."""

    async def rewrite_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> RewrittenSentences:
        """The sentences so that they say only what their passages say, by one call."""
