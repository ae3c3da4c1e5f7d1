"""A database as a source: a question becomes rows, and the rows with their statement are evidence.

Each row is a passage that can be cited by itself. What a cell says is data like any other text from
outside. Knows no engine and no prompt: the desk of the database is given to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Protocol

from research.database.agent import Outcome, Rows
from research.evidence.registry import evidence_id
from research.records import (
    Evidence,
    EvidenceKind,
    Finding,
    Passage,
    Readiness,
    Say,
    Task,
    fingerprint,
)
from research.trouble import Trouble

KIND: EvidenceKind = "database"
SHOWN = 100  # rows that are passages; the others are in the table alone
PROVIDER = "scenic areas"  # of the database that ships


class Desk(Protocol):
    """What answers questions."""

    async def ask(self, question: str, say: Say) -> Outcome:
        """The rows, or why there are none. Raises Trouble."""


class DatabaseSource:
    """Looks a question up in a database."""

    name = "database"
    node = "database_research"
    kind: EvidenceKind = KIND

    def __init__(
        self,
        desk: Desk,
        *,
        title: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`title` names an attached database; "" is the one that ships."""
        self._desk, self._title, self._clock = desk, title, clock

    def ready(self) -> Readiness:
        if self._title:
            return Readiness(state="live", detail=self._title)
        return Readiness(state="offline", detail=PROVIDER)

    async def search(self, task: Task, say: Say) -> Finding:
        started, begun = self._clock(), time.monotonic()
        outcome = await self._desk.ask(task.query, say)
        if outcome.status == "failed":
            raise Trouble("unavailable", outcome.problem)
        if outcome.status in ("unclear", "refused"):
            raise Trouble("unclear" if outcome.status == "unclear" else "blocked", outcome.problem)
        rows = outcome.rows
        found = (self._evidence(outcome, rows, started),) if rows and rows.rows else ()
        lacking = "; ".join(f"{name}: {n}" for name, n in outcome.missing)
        return Finding(
            task=task,
            evidence=found,
            reason=None if found else "empty",
            message=f"NULL in {lacking}" if lacking else "",
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=outcome.author,
            asked=(rows.sql,) if rows else (),
        )

    def _evidence(self, outcome: Outcome, rows: Rows, retrieved: datetime) -> Evidence:
        return Evidence(
            id=evidence_id(KIND, "", rows.sql),
            kind=KIND,
            title=outcome.meant or outcome.question,
            publisher=self._title or PROVIDER,
            locator=rows.sql,
            retrieved=retrieved,
            opening=outcome.question,
            passages=tuple(_passages(rows)),
        )


def _passages(rows: Rows) -> Iterator[Passage]:
    """A passage for each row, and one that says how many there are."""
    more = "+" if rows.truncated else ""
    count = f"rows: {len(rows.rows)}{more}"
    yield Passage(id=fingerprint(rows.sql, count), text=count, end=len(count))
    for n, row in enumerate(rows.rows[:SHOWN], 1):
        text = "; ".join(
            f"{name}: {value}"
            for name, value in zip(rows.names, row, strict=True)
            if value is not None
        )
        if text:
            yield Passage(
                id=fingerprint(rows.sql, str(n), text), text=text, end=len(text), heading=f"row {n}"
            )
