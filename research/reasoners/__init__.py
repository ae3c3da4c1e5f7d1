"""Who thinks: a reasoner routes, plans, reflects and writes. Knows records, never a source or a store.

`digest` follows rules and quotes verbatim, with no key and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from research.records import Finding, Options, Plan, Question, Reflection, Span


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

    def languages(self) -> frozenset[str]:
        """The languages that the documents are in."""


class Reasoner(Protocol):
    """The seam between the stages and whoever thinks."""

    def author(self, question: Question) -> str:
        """Who writes, as every answer names it, in the question's language."""

    async def route(self, question: Question) -> tuple[Span, ...]:
        """The whole answer if nothing needs looking up, else nothing."""

    async def plan(self, question: Question, options: Options) -> Plan:
        """The parts of the question and the tasks of the first round."""

    async def reflect(
        self, question: Question, plan: Plan, findings: Sequence[Finding], round_: int
    ) -> Reflection:
        """What is missing after a round, and the tasks that could fill it (uncapped)."""

    async def write(
        self, question: Question, plan: Plan, findings: Sequence[Finding]
    ) -> tuple[Span, ...]:
        """The answer, citing only evidence of the findings."""
