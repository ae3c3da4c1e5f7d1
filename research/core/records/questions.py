"""The question of a run and the memory of its conversation."""

from __future__ import annotations

from pydantic import AliasChoices, Field

from research.core.records.base import Language, Record
from research.core.records.evidence import Evidence
from research.core.records.findings import Finding
from research.core.records.plans import Task

MEMORY_SOURCE = "memory"  # source name of evidence from earlier turns
MAX_QUESTION_CHARS = 2_000  # longer text belongs in the library


class Turn(Record):
    """An earlier turn of a conversation: its self-contained question and its shortened answer."""

    question: str
    answer: str = ""


class Memory(Record):
    """The bounded context of earlier turns.

    `turns` are the last ones in order, `asked` the questions before them; `evidence` is what the
    last answers cite, reduced to the cited passages.
    """

    turns: tuple[Turn, ...] = ()
    earlier_questions: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("earlier_questions", "asked"))
    evidence: tuple[Evidence, ...] = ()


class Question(Record):
    """The research question; `language` is that of the answer.

    `text` is self-contained. If it had to be rewritten for that, `asked` is the original input.
    """

    text: str
    language: Language
    original_text: str = Field(default="", validation_alias=AliasChoices("original_text", "asked"))
    memory: Memory = Field(default=Memory(), validation_alias=AliasChoices("memory", "before"))
    additions: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("additions", "added")
    )  # clarifications and instructions added during the run

    @property
    def memory_findings(self) -> tuple[Finding, ...]:
        """The evidence of earlier turns as a finding, which is read, cited and checked as usual."""
        if not self.memory.evidence:
            return ()
        last = self.memory.turns[-1].question if self.memory.turns else self.text
        task = Task(id="0.1", round=0, source=MEMORY_SOURCE, query=last)
        started = max(item.retrieved for item in self.memory.evidence)
        return (Finding(task=task, evidence=self.memory.evidence, started=started),)
