"""Questions to a database, answered in steps that can be looked at.

A statement that somebody has confirmed for the same question is run as it is. Else what is meant is found
out first: by the rules, which are at a loss rather than wrong and know the shipped database alone, or by a
model.
The names in the question are looked up among the values of the database. A statement is then written,
checked, run, and put right if it was refused, failed or found nothing; what is NULL in its rows may be
looked for by further statements, as long as they gain something. Whatever is missing in the end is
reported as missing.

Knows no prompt and no engine: both are given to it.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from research.database.asking import Interpretation, NotHeld, NotUnderstood, Shape
from research.database.examples import MOST, Pair, like, same
from research.database.refusals import Refused
from research.language.hanzi import simplified
from research.language.text import language
from research.records import Failure, Hint, Reason, Record, Rows, Say, Step, StepKind
from research.trouble import Trouble

STEPS = 4  # statements: the first, and three to put it right or to supplement it
CONFIRMED = "confirmed"  # why a statement is used: somebody has found it right for this question

Status = Literal["answered", "partial", "empty", "unclear", "no model", "refused", "failed"]


class Outcome(Record):
    """The answer of the database. `missing` names columns and how many rows lack them."""

    status: Status
    question: str
    meant: str = ""
    rows: Rows | None = None
    steps: tuple[Step, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    problem: str = ""  # why there are no rows, for a person
    # How many areas the shipped database has, in how many provinces
    holds: tuple[int, int] = (0, 0)
    absent: bool = False  # `problem` is what the database has no rows of
    idle: bool = False  # a model is set, and could not be asked here
    saved: tuple[str, ...] = ()  # questions that can be answered without the model that is missing
    reason: Reason | None = None  # of what kind that is, where it is a failure
    hint: Hint = ""
    failures: tuple[Failure, ...] = ()  # what failed beside rows that were found
    author: str = ""  # who has written the statement: a model, or "" for rules
    shape: Shape = ""  # what kind of answer the rules have read out of the question
    things: str = ""  # the areas that it is about, as a sentence has them


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

    def add(self, kind: StepKind, text: str = "", **more: Any) -> None:
        step = Step(kind=kind, text=text, **more)
        self.steps.append(step)
        self.say("tool", name=kind, text=text, sql=step.sql, rows=step.rows, seconds=step.seconds)


class Agent:
    """Answers questions to one database."""

    def __init__(
        self,
        engine: Engine,
        *,
        link: Link,
        read: Callable[[str], Awaitable[Interpretation]] | None = None,
        writer: Writer | None = None,
        saved: Sequence[Pair] = (),
        key: str = "gid",
        tables: str = "",
        idle: bool = False,
    ) -> None:
        """`read` turns a question into a statement by rules, or raises `NotUnderstood`; None if there are no
        rules for the database. `saved` are questions with statements that an analyst has found right;
        `key` is the column by which rows are the same; `tables` names those that the writer was told of,
        if not all. `idle` says that a model is set that cannot be asked here."""
        self._engine, self._reading, self._link = engine, read, link
        self._writer, self._saved, self._key = writer, saved, key
        self._tables, self._idle = tables, idle

    async def ask(self, question: str, say: Say) -> Outcome:
        """What the database says to a question. A failure that is to be expected is an outcome."""
        trail = _Trail(say)
        if sql := same(question, self._saved):
            trail.add("understand", question)
            trail.add("write", CONFIRMED, sql=sql)
            return await self._read(
                question, Interpretation(sql, question, language(question)), trail
            )
        if self._reading is None:
            if self._writer is None:
                return self._without_model(question)
            return await self._by_model(question, self._writer, trail)
        try:
            reading = await self._by_rules(question, self._reading, trail)
        except NotUnderstood as lost:
            if self._writer is None or isinstance(lost, NotHeld):  # a model finds it no more
                return Outcome(
                    status="unclear", question=question, steps=tuple(trail.steps), problem=lost.rest,
                    holds=lost.holds, absent=isinstance(lost, NotHeld), idle=self._idle,
                )  # fmt: skip
            return await self._by_model(question, self._writer, trail)
        return await self._read(question, reading, trail)

    def _without_model(self, question: str) -> Outcome:
        """Name the saved questions that are most like a question which only a model could answer."""
        near = like(question, self._saved) or self._saved[:MOST]
        saved = tuple(asked for asked, _ in near)
        return Outcome(status="no model", question=question, saved=saved, idle=self._idle)

    # By rules

    async def _by_rules(
        self, question: str, read: Callable[[str], Awaitable[Interpretation]], trail: _Trail
    ) -> Interpretation:
        reading = await read(question)
        trail.add("understand", reading.meant)
        trail.add("write", sql=reading.sql)
        return reading

    async def _read(self, question: str, reading: Interpretation, trail: _Trail) -> Outcome:
        try:
            rows = await self._run(reading.sql, trail)
        except Refused as refused:
            return self._without_rows("refused", question, reading.meant, str(refused), trail)
        except Trouble as trouble:
            return self._failed(question, reading.meant, trouble, trail)
        outcome = self._with_rows(question, reading.meant, rows, trail, "")
        return outcome.model_copy(update={"shape": reading.shape, "things": reading.things})

    # By a model

    async def _by_model(self, question: str, writer: Writer, trail: _Trail) -> Outcome:
        meant = ""
        if self._tables:
            trail.add("tables", self._tables)
        try:
            intent = await writer.analyse(question, trail.say)
            meant = intent.meant
            trail.add("understand", intent.meant)
            if not intent.answerable:
                return self._without_rows("unclear", question, intent.meant, intent.clarify, trail)
            hints = list(await self._link(intent.names))
            if hints:
                trail.add("link", "; ".join(hints))
            rows, failure = await self._written(question, writer, hints, trail)
            if rows.rows and failure is None:
                rows, failure = await self._supplemented(question, writer, rows, hints, trail)
        except Refused as refused:
            return self._without_rows("refused", question, meant, str(refused), trail)
        except Trouble as trouble:
            return self._failed(question, meant, trouble, trail)
        return self._with_rows(question, meant, rows, trail, writer.author, failure)

    async def _written(
        self, question: str, writer: Writer, hints: Sequence[str], trail: _Trail
    ) -> tuple[Rows, Failure | None]:
        """The rows of the first statement that finds what is asked for, else the most that one found;
        and what kept them from being more, if something did.

        Raises:
            Refused: no statement could be run.
            Trouble: the model or the database cannot be used, and nothing was found before.
        """
        tries: list[tuple[str, str]] = []
        found: Rows | None = None
        problem = ""
        for _ in range(STEPS):
            try:
                statement = await writer.write(question, hints, tries, trail.say)
                if _plain(statement.sql) in {_plain(sql) for sql, _ in tries}:
                    trail.add("judge", "the same statement again", sql=statement.sql)
                    break  # it knows no better
                trail.add("write", statement.why, sql=statement.sql)
                rows = await self._run(statement.sql, trail)
            except Refused as refused:
                problem = str(refused)
                trail.add("refused", problem, sql=statement.sql)
            except Trouble as trouble:
                if found is None or not found.rows:
                    raise
                return found, trouble.failure("search", "database")
            else:
                if found is None or len(rows.rows) >= len(found.rows):
                    found = rows
                problem = _short_of(question, rows)
                if not problem:
                    return rows, None
                trail.add("judge", problem)
            tries.append((statement.sql.strip(), problem))
        if found is None:
            raise Refused("statement", problem)
        return found, None

    async def _supplemented(
        self, question: str, writer: Writer, rows: Rows, hints: Sequence[str], trail: _Trail
    ) -> tuple[Rows, Failure | None]:
        """The rows with cells that were NULL filled by further statements, matched by the key, as
        long as one gains a cell; and what kept them from it, if something did. What was found before
        a model or the database failed is kept."""
        for _ in range(STEPS - sum(step.kind == "write" for step in trail.steps)):
            lacking = [name for name, _ in lacks(rows)]
            if not lacking or self._key not in rows.names:
                break
            try:
                statement = await writer.supplement(question, rows, lacking, hints, trail.say)
                before = {_plain(step.sql) for step in trail.steps if step.kind == "write"}
                if not statement.sql.strip() or _plain(statement.sql) in before:
                    break
                trail.add("write", statement.why, sql=statement.sql)
                more = await self._run(statement.sql, trail)
            except Refused as refused:
                trail.add("refused", str(refused), sql=statement.sql)
                break
            except Trouble as trouble:
                return rows, trouble.failure("search", "database")
            rows, gained = merged(rows, more, self._key)
            trail.add("supplement", rows=gained)
            if not gained:
                break
        return rows, None

    # Both

    async def _run(self, sql: str, trail: _Trail) -> Rows:
        started = time.monotonic()
        rows = await self._engine.run(sql)
        seconds = round(time.monotonic() - started, 4)
        trail.add("run", sql=rows.sql, rows=len(rows.rows), seconds=seconds)
        return rows

    def _with_rows(
        self,
        question: str,
        meant: str,
        rows: Rows,
        trail: _Trail,
        author: str,
        failure: Failure | None = None,
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
            failures=(failure,) if failure else (),
        )

    def _failed(self, question: str, meant: str, trouble: Trouble, trail: _Trail) -> Outcome:
        """What was paid for on the way to a failure stays in its steps."""
        outcome = self._without_rows("failed", question, meant, trouble.message, trail)
        return outcome.model_copy(update={"reason": trouble.reason, "hint": trouble.hint})

    def _without_rows(
        self, status: Status, question: str, meant: str, problem: str, trail: _Trail
    ) -> Outcome:
        return Outcome(
            status=status, question=question, meant=meant, steps=tuple(trail.steps), problem=problem
        )


def _short_of(question: str, rows: Rows) -> str:
    """Why a statement should be written again although it ran, "" if it need not be."""
    if rows.missed and (not rows.rows or rows.rows == ((0,),)):
        return f"it finds nothing: {'; '.join(rows.missed)}"
    wanted = asked_for(question)
    limit = re.search(r"\bLIMIT (\d+)\s*$", rows.sql)
    if limit and 0 < len(rows.rows) == int(limit[1]) < wanted:
        return f"{wanted} are asked for; it takes no more than {limit[1]}"
    return ""


def asked_for(question: str) -> int:
    """How many things a question names: 10 of 前10名 and of "top 10", 0 if it names no number."""
    text = simplified(unicodedata.normalize("NFKC", question))
    number = re.search(r"前\s*(\d{1,3})\s*(?:个|名|位|家|处|座|大|的|$)|最[^\d，。,.]{1,6}?(\d{1,3})\s*(?:个|家|处|座)", text)  # fmt: skip
    number = number or re.search(
        r"\btop (\d{1,3})\b|\b(\d{1,3}) (?:nearest|closest|cheapest|(?:most|least) [a-z]+|largest|smallest|highest|lowest)\b",
        text,
        re.I,
    )
    return int(next((digits for digits in number.groups() if digits), 0)) if number else 0


def _plain(sql: str) -> str:
    return " ".join(sql.strip().rstrip(";").split()).lower()


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
