"""Questions to a database, answered in steps that can be looked at.

What is meant is found out first: by the rules, which are at a loss rather than wrong, else by a model.
The names in the question are looked up among the values of the database. A statement is then written,
checked, run, and put right if it was refused, failed or found nothing; what is NULL in its rows may be
looked for by further statements, as long as they gain something. Whatever is missing in the end is
reported as missing.

Knows no prompt and no engine: both are given to it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from research.database.refusals import Refused
from research.database.rules import NotUnderstood, Reading, Vocabulary, read
from research.records import Record, Say
from research.trouble import Trouble

STEPS = 4  # statements: the first, and three to put it right or to supplement it
SHOWN = 20  # rows that a model is shown

Kind = Literal[
    "understand",  # what is asked for, and who has understood it
    "link",  # names of the question as the database has them
    "write",  # a statement and why it is written so
    "refused",  # by the guard or the engine; the reason goes back to whoever wrote it
    "run",  # rows
    "judge",  # whether they are what was asked for
    "supplement",  # cells that were NULL and are not any more
    "missing",  # what stays NULL
]
Status = Literal["answered", "partial", "empty", "unclear", "refused", "failed"]


class Step(Record):
    """A step on the way to the rows; `sql` is the text that was run, if one was."""

    kind: Kind
    text: str = ""
    sql: str = ""
    rows: int | None = None
    seconds: float = 0.0


class Rows(Record):
    """What a statement has found: `names` of the columns, values as JSON knows them."""

    sql: str  # as it was run
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()  # of the columns: integer, number, text, date, ...
    truncated: bool = False  # there were more
    cut: int = 0  # cells that were shortened
    seconds: float = 0.0
    missed: tuple[str, ...] = ()  # filters that can find nothing, and what is there instead


class Outcome(Record):
    """The answer of the database. `missing` names columns and how many rows lack them."""

    status: Status
    question: str
    meant: str = ""
    rows: Rows | None = None
    steps: tuple[Step, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    problem: str = ""  # why there are no rows, for a person
    author: str = ""  # who has written the statement: a model, or "" for rules


class Engine(Protocol):
    """What statements are run on."""

    async def run(self, sql: str) -> Rows:
        """The rows of a statement.

        Raises:
            Refused: it may not be run, or the database does not know what it names.
            Trouble: the database cannot be used, or took too long.
        """


class Intent(Protocol):
    """What a model has understood: whether the database can tell it, which names are in the
    question, and what has to be said more exactly."""

    @property
    def answerable(self) -> bool: ...
    @property
    def meant(self) -> str: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def clarify(self) -> str: ...


class Statement(Protocol):
    """What a model has written, and why."""

    @property
    def sql(self) -> str: ...
    @property
    def why(self) -> str: ...


class Writer(Protocol):
    """A model that turns questions into SQL."""

    @property
    def author(self) -> str: ...

    async def analyse(self, question: str, say: Say) -> Intent:
        """What the question wants. Raises Trouble."""

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: Say
    ) -> Statement:
        """A statement; `tries` are those of before, each with what was wrong. Raises Trouble."""

    async def supplement(
        self, question: str, rows: Rows, lacking: Sequence[str], hints: Sequence[str], say: Say
    ) -> Statement:
        """A statement that finds what is NULL in columns of rows, by their key. Raises Trouble."""


Link = Callable[[Sequence[str]], Awaitable[Sequence[str]]]  # names to what the database calls them


@dataclass
class _Trail:
    """The steps so far, each told as it is taken."""

    say: Say
    steps: list[Step] = field(default_factory=list)

    def add(self, kind: Kind, text: str = "", **more: Any) -> None:
        step = Step(kind=kind, text=text, **more)
        self.steps.append(step)
        self.say("tool", name=kind, text=text, sql=step.sql, rows=step.rows, seconds=step.seconds)


class Agent:
    """Answers questions to one database."""

    def __init__(
        self,
        engine: Engine,
        *,
        words: Callable[[], Awaitable[Vocabulary | None]],
        link: Link,
        writer: Writer | None = None,
        key: str = "gid",
    ) -> None:
        """`words` are those of the rules, None for a database that they do not know; `key` is the
        column by which rows are the same."""
        self._engine, self._words, self._link = engine, words, link
        self._writer, self._key = writer, key

    async def ask(self, question: str, say: Say) -> Outcome:
        """What the database says to a question. A failure that is to be expected is an outcome."""
        trail = _Trail(say)
        try:
            reading = await self._by_rules(question, trail)
        except NotUnderstood as lost:
            if self._writer is None:
                return Outcome(
                    status="unclear", question=question, steps=tuple(trail.steps), problem=lost.rest
                )
            return await self._by_model(question, self._writer, trail)
        return await self._read(question, reading, trail)

    # By rules

    async def _by_rules(self, question: str, trail: _Trail) -> Reading:
        words = await self._words()
        if words is None:
            raise NotUnderstood("")
        reading = read(question, words)
        trail.add("understand", reading.meant)
        trail.add("write", sql=reading.sql)
        return reading

    async def _read(self, question: str, reading: Reading, trail: _Trail) -> Outcome:
        try:
            rows = await self._run(reading.sql, trail)
        except Refused as refused:
            return self._without_rows("refused", question, reading.meant, str(refused), trail)
        except Trouble as trouble:
            return self._without_rows("failed", question, reading.meant, trouble.message, trail)
        return self._with_rows(question, reading.meant, rows, trail, "")

    # By a model

    async def _by_model(self, question: str, writer: Writer, trail: _Trail) -> Outcome:
        try:
            intent = await writer.analyse(question, trail.say)
            trail.add("understand", intent.meant)
            if not intent.answerable:
                return self._without_rows("unclear", question, intent.meant, intent.clarify, trail)
            hints = list(await self._link(intent.names))
            if hints:
                trail.add("link", "; ".join(hints))
            rows = await self._written(question, writer, hints, trail)
            if rows.rows:
                rows = await self._supplemented(question, writer, rows, hints, trail)
        except Refused as refused:
            return self._without_rows("refused", question, "", str(refused), trail)
        except Trouble as trouble:
            return self._without_rows("failed", question, "", trouble.message, trail)
        return self._with_rows(question, intent.meant, rows, trail, writer.author)

    async def _written(
        self, question: str, writer: Writer, hints: Sequence[str], trail: _Trail
    ) -> Rows:
        """The rows of the first statement that finds some, or none if the last one finds none.

        Raises:
            Refused: no statement could be run.
            Trouble: the model or the database cannot be used.
        """
        tries: list[tuple[str, str]] = []
        found: Rows | None = None
        problem = ""
        for _ in range(STEPS):
            statement = await writer.write(question, hints, tries, trail.say)
            if any(statement.sql.strip() == sql for sql, _ in tries):
                break  # it knows no better
            trail.add("write", statement.why, sql=statement.sql)
            try:
                found = await self._run(statement.sql, trail)
            except Refused as refused:
                problem = str(refused)
                trail.add("refused", problem, sql=statement.sql)
            else:
                if found.rows and (found.rows != ((0,),) or not found.missed):
                    return found
                if not found.missed:
                    return found  # what it names is there: that there is nothing is the answer
                problem = f"it finds nothing: {'; '.join(found.missed)}"
                trail.add("judge", problem)
            tries.append((statement.sql.strip(), problem))
        if found is None:
            raise Refused("statement", problem)
        return found

    async def _supplemented(
        self, question: str, writer: Writer, rows: Rows, hints: Sequence[str], trail: _Trail
    ) -> Rows:
        """The rows with cells that were NULL filled by further statements, matched by the key, as
        long as one gains a cell."""
        for _ in range(STEPS - sum(step.kind == "write" for step in trail.steps)):
            lacking = [name for name, _ in lacks(rows)]
            if not lacking or self._key not in rows.names:
                break
            statement = await writer.supplement(question, rows, lacking, hints, trail.say)
            if not statement.sql.strip():
                break
            trail.add("write", statement.why, sql=statement.sql)
            try:
                more = await self._run(statement.sql, trail)
            except Refused as refused:
                trail.add("refused", str(refused), sql=statement.sql)
                break
            rows, gained = merged(rows, more, self._key)
            trail.add("supplement", rows=gained)
            if not gained:
                break
        return rows

    # Both

    async def _run(self, sql: str, trail: _Trail) -> Rows:
        started = time.monotonic()
        rows = await self._engine.run(sql)
        seconds = round(time.monotonic() - started, 4)
        trail.add("run", sql=rows.sql, rows=len(rows.rows), seconds=seconds)
        return rows

    def _with_rows(
        self, question: str, meant: str, rows: Rows, trail: _Trail, author: str
    ) -> Outcome:
        missing = lacks(rows)
        if missing:
            trail.add("missing", "; ".join(f"{name}: {n}" for name, n in missing))
        status: Status = "empty" if not rows.rows else "partial" if missing else "answered"
        return Outcome(
            status=status,
            question=question,
            meant=meant,
            rows=rows,
            steps=tuple(trail.steps),
            missing=tuple(missing),
            author=author,
        )

    def _without_rows(
        self, status: Status, question: str, meant: str, problem: str, trail: _Trail
    ) -> Outcome:
        return Outcome(
            status=status, question=question, meant=meant, steps=tuple(trail.steps), problem=problem
        )


def lacks(rows: Rows) -> list[tuple[str, int]]:
    """The columns that have NULL somewhere, and in how many rows."""
    counts = [
        (name, sum(row[at] is None or row[at] == "" for row in rows.rows))
        for at, name in enumerate(rows.names)
    ]
    return [(name, n) for name, n in counts if n]


def merged(rows: Rows, more: Rows, key: str) -> tuple[Rows, int]:
    """Rows whose NULLs are filled from others of the same key, and how many cells that gained. No
    value is replaced, and no row is added."""
    if key not in rows.names or key not in more.names:
        return rows, 0
    at, other = rows.names.index(key), more.names.index(key)
    known: dict[Any, Mapping[str, Any]] = {}
    for row in more.rows:
        known.setdefault(row[other], dict(zip(more.names, row, strict=True)))
    gained, out = 0, []
    for row in rows.rows:
        found = known.get(row[at], {})
        cells = []
        for name, value in zip(rows.names, row, strict=True):
            if value in (None, "") and found.get(name) not in (None, ""):
                value, gained = found[name], gained + 1
            cells.append(value)
        out.append(tuple(cells))
    return rows.model_copy(update={"rows": tuple(out)}), gained
