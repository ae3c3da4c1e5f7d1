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
    Finding,
    Options,
    Passage,
    Plan,
    Question,
    Reflection,
    Rewritten,
    Row,
    Rulings,
    Say,
    Section,
    Task,
    Tones,
)


class Corpus(Protocol):
    """What a reasoner may ask about the analyst's documents; the library's index answers."""

    def idf(self, token: str) -> float:
        """How telling a token is; higher is rarer."""

    def absent(self, token: str) -> bool:
        """Whether no document has a token."""

    def names_in(self, question: str) -> list[str]:
        """Names known to the documents that the question has, longest first."""

    def aliases(self, name: str) -> list[str]:
        """Other names of the same thing, in any language."""

    def closest(self, question: str) -> list[str]:
        """The titles of the few documents that have most to do with a question, best first."""

    def languages(self) -> frozenset[str]:
        """The languages that the documents are in."""


class Reasoner(Protocol):
    """The seam between the stages and whoever thinks.

    A failure that was to be expected is part of what comes back; an exception is a bug.
    """

    async def plan(self, question: Question, options: Options, say: Say) -> Plan | Draft:
        """The parts of the question and the tasks of the first round, or at once the whole answer
        if nothing needs looking up."""

    async def reflect(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        options: Options,
        round_: int,
        say: Say,
    ) -> Reflection:
        """What is missing after a round, and the tasks that could fill it (uncapped)."""

    async def write(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        reflections: Sequence[Reflection],
        options: Options,
        say: Say,
    ) -> Draft:
        """The answer, citing only evidence of the findings."""

    def stand_in(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        """What was found, instead of an answer that there is no room to write. Asks nobody."""

    async def outline(self, question: Question, options: Options, say: Say) -> Plan:
        """The sections of a report, each with the task that its search begins with."""

    async def fill(
        self,
        question: Question,
        plan: Plan,
        section: Section,
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> Section:
        """The section with a text of what was found for it, what it said before kept or put right."""

    async def reconsider(
        self,
        question: Question,
        plan: Plan,
        section: Section,
        findings: Sequence[Finding],
        options: Options,
        round_: int,
        say: Say,
    ) -> Reflection:
        """What a section still lacks, and the tasks that could fill it (uncapped)."""

    async def preface(
        self,
        question: Question,
        plan: Plan,
        sections: Sequence[Section],
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> Draft:
        """What stands before the sections of a report: its summary, citing what they cite."""

    async def tones(
        self, question: Question, headlines: Sequence[str], options: Options, say: Say
    ) -> Tones:
        """How the news of each headline sounds to somebody who asks this; nothing if it cannot be
        told."""

    async def tabulate(self, question: Question, options: Options, say: Say) -> Plan:
        """The plan of a table that a sentence asks for; without a `grid` if nobody can tell its rows and
        columns."""

    def searches(
        self, question: Question, row: Row, column: Column, sources: Sequence[str]
    ) -> tuple[Task, ...]:
        """What some sources are asked for a cell. Equal tasks of several cells are searched once."""

    async def cells(
        self,
        question: Question,
        row: Row,
        columns: Sequence[Column],
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> tuple[Cell, ...]:
        """What was found says in some cells of a row, in the order of the columns."""


@runtime_checkable
class OwnedReasoner(Protocol):
    """A reasoner whose plans depend on who asks."""

    def of(self, owner: str) -> Reasoner:
        """Return the reasoner for the runs of an owner."""


class Cited(NamedTuple):
    """A passage that a sentence cites, the id of its source, and what it is about: it may name its
    subject nowhere else."""

    evidence: str
    passage: Passage
    head: str = ""


class Claim(NamedTuple):
    """A sentence that cites: its key, its text and its passages, the nearest first."""

    key: str
    text: str
    passages: tuple[Cited, ...]


class Checker(Protocol):
    """Who judges sentences by the passages that they cite. What fails is part of what comes back.

    One that does not judge (`judges`) leaves that to the rules, and only puts in other words.
    """

    judges: bool

    def can(self, options: Options) -> bool:
        """Whether there is a model that writes and judges the answer of such a run."""

    def single(self, options: Options) -> bool:
        """Whether one sentence at a time is judged by a call."""

    def author(self, options: Options) -> str:
        """Who judges, as `provider:name`."""

    async def rule(
        self, question: Question, claims: Sequence[Claim], options: Options, say: Say
    ) -> Rulings:
        """What is ruled of each sentence, by one call."""

    async def rewrite(
        self, question: Question, claims: Sequence[Claim], options: Options, say: Say
    ) -> Rewritten:
        """The sentences so that they say only what their passages say, by one call."""
