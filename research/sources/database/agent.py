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

from research.core.errors import ServiceError
from research.core.records import (
    DatabaseStep,
    DatabaseStepKind,
    EventEmitter,
    Failure,
    FailureHint,
    FailureReason,
    QueryResult,
    Record,
)
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import detect_language
from research.sources.database.confirmed_statements import MAX_EXAMPLES, QuestionStatement, find_similar, find_statement
from research.sources.database.refusals import RefusedError
from research.sources.database.sights_question import AnswerShape, Interpretation, NotCoveredError, NotUnderstoodError

MAX_STATEMENTS = 4  # statements: the first, and three to put it right or to supplement it
CONFIRMED = "confirmed"  # why a statement is used: somebody has found it right for this question

OutcomeStatus = Literal["answered", "partial", "empty", "unclear", "no model", "refused", "failed"]


class Outcome(Record):
    """The answer of the database. `missing` names columns and how many rows lack them."""

    status: OutcomeStatus
    question: str
    restatement: str = ""
    rows: QueryResult | None = None
    steps: tuple[DatabaseStep, ...] = ()
    null_counts: tuple[tuple[str, int], ...] = ()
    problem: str = ""  # why there are no rows, for a person
    # How many areas the shipped database has, in how many provinces
    area_counts: tuple[int, int] = (0, 0)
    is_not_covered: bool = False  # `problem` is what the database has no rows of
    has_idle_model: bool = False  # a model is set, and could not be asked here
    saved: tuple[str, ...] = ()  # questions that can be answered without the model that is missing
    reason: FailureReason | None = None  # of what kind that is, where it is a failure
    hint: FailureHint = ""
    failures: tuple[Failure, ...] = ()  # what failed beside rows that were found
    author: str = ""  # who has written the statement: a model, or "" for rules
    shape: AnswerShape = ""  # what kind of answer the rules have read out of the question
    subject: str = ""  # the areas that it is about, as a sentence has them


class StatementRunner(Protocol):
    """What statements are run on."""

    async def run(self, sql: str) -> QueryResult:
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


class StatementWriter(Protocol):
    """A model that turns questions into SQL."""

    @property
    def author(self) -> str: ...

    async def analyse(self, question: str, emit: EventEmitter) -> Intent:
        """What the question wants. Raises Trouble."""

    async def write(
        self, question: str, hints: Sequence[str], attempts: Sequence[tuple[str, str]], emit: EventEmitter
    ) -> Statement:
        """A statement; `tries` are those of before, each with what was wrong. Raises Trouble."""

    async def supplement(
        self, question: str, rows: QueryResult, null_columns: Sequence[str], hints: Sequence[str], emit: EventEmitter
    ) -> Statement:
        """A statement that finds what is NULL in columns of rows, by their key. Raises Trouble."""


LookUpNames = Callable[[Sequence[str]], Awaitable[Sequence[str]]]  # names to what the database calls them


@dataclass
class _StepRecorder:
    """The steps so far, each told as it is taken."""

    emit: EventEmitter
    steps: list[DatabaseStep] = field(default_factory=list)

    def add(self, kind: DatabaseStepKind, text: str = "", **more: Any) -> None:
        step = DatabaseStep(kind=kind, text=text, **more)
        self.steps.append(step)
        self.emit("tool", name=kind, text=text, sql=step.sql, rows=step.rows, seconds=step.seconds)


class DatabaseAgent:
    """Answers questions to one database."""

    def __init__(
        self,
        engine: StatementRunner,
        *,
        look_up_names: LookUpNames,
        interpret: Callable[[str], Awaitable[Interpretation]] | None = None,
        writer: StatementWriter | None = None,
        saved: Sequence[QuestionStatement] = (),
        key_column: str = "gid",
        selected_tables: str = "",
        has_idle_model: bool = False,
    ) -> None:
        """`read` turns a question into a statement by rules, or raises `NotUnderstood`; None if there are no
        rules for the database. `saved` are questions with statements that an analyst has found right;
        `key` is the column by which rows are the same; `tables` names those that the writer was told of,
        if not all. `idle` says that a model is set that cannot be asked here."""
        self._engine, self._interpret, self._look_up_names = engine, interpret, look_up_names
        self._writer, self._saved, self._key_column = writer, saved, key_column
        self._selected_tables, self._has_idle_model = selected_tables, has_idle_model

    async def ask(self, question: str, emit: EventEmitter) -> Outcome:
        """What the database says to a question. A failure that is to be expected is an outcome."""
        trail = _StepRecorder(emit)
        if sql := find_statement(question, self._saved):
            trail.add("understand", question)
            trail.add("write", CONFIRMED, sql=sql)
            return await self._answer_by_rules(
                question, Interpretation(sql, question, detect_language(question)), trail
            )
        if self._interpret is None:
            if self._writer is None:
                return self._without_model(question)
            return await self._answer_by_model(question, self._writer, trail)
        try:
            reading = await self._interpret_by_rules(question, self._interpret, trail)
        except NotUnderstoodError as lost:
            if self._writer is None or isinstance(lost, NotCoveredError):  # a model finds it no more
                return Outcome(
                    status="unclear", question=question, steps=tuple(trail.steps), problem=lost.unrecognized,
                    area_counts=lost.area_counts, is_not_covered=isinstance(lost, NotCoveredError), has_idle_model=self._has_idle_model,
                )  # fmt: skip
            return await self._answer_by_model(question, self._writer, trail)
        return await self._answer_by_rules(question, reading, trail)

    def _without_model(self, question: str) -> Outcome:
        """Name the saved questions that are most like a question which only a model could answer."""
        near = find_similar(question, self._saved) or self._saved[:MAX_EXAMPLES]
        saved = tuple(asked for asked, _ in near)
        return Outcome(status="no model", question=question, saved=saved, has_idle_model=self._has_idle_model)

    # By rules

    async def _interpret_by_rules(
        self, question: str, read: Callable[[str], Awaitable[Interpretation]], recorder: _StepRecorder
    ) -> Interpretation:
        reading = await read(question)
        recorder.add("understand", reading.restatement)
        recorder.add("write", sql=reading.sql)
        return reading

    async def _answer_by_rules(self, question: str, interpretation: Interpretation, recorder: _StepRecorder) -> Outcome:
        try:
            rows = await self._run(interpretation.sql, recorder)
        except RefusedError as refused:
            return self._build_outcome_without_rows(
                "refused", question, interpretation.restatement, str(refused), recorder
            )
        except ServiceError as trouble:
            return self._build_failure(question, interpretation.restatement, trouble, recorder)
        outcome = self._build_outcome(question, interpretation.restatement, rows, recorder, "")
        return outcome.model_copy(update={"shape": interpretation.shape, "subject": interpretation.subject})

    # By a model

    async def _answer_by_model(self, question: str, writer: StatementWriter, recorder: _StepRecorder) -> Outcome:
        meant = ""
        if self._selected_tables:
            recorder.add("tables", self._selected_tables)
        try:
            intent = await writer.analyse(question, recorder.emit)
            meant = intent.meant
            recorder.add("understand", intent.meant)
            if not intent.answerable:
                return self._build_outcome_without_rows("unclear", question, intent.meant, intent.clarify, recorder)
            hints = list(await self._look_up_names(intent.names))
            if hints:
                recorder.add("link", "; ".join(hints))
            rows, failure = await self._write_until_found(question, writer, hints, recorder)
            if rows.rows and failure is None:
                rows, failure = await self._fill_nulls(question, writer, rows, hints, recorder)
        except RefusedError as refused:
            return self._build_outcome_without_rows("refused", question, meant, str(refused), recorder)
        except ServiceError as trouble:
            return self._build_failure(question, meant, trouble, recorder)
        return self._build_outcome(question, meant, rows, recorder, writer.author, failure)

    async def _write_until_found(
        self, question: str, writer: StatementWriter, hints: Sequence[str], recorder: _StepRecorder
    ) -> tuple[QueryResult, Failure | None]:
        """The rows of the first statement that finds what is asked for, else the most that one found;
        and what kept them from being more, if something did.

        Raises:
            Refused: no statement could be run.
            Trouble: the model or the database cannot be used, and nothing was found before.
        """
        tries: list[tuple[str, str]] = []
        found: QueryResult | None = None
        problem = ""
        for _ in range(MAX_STATEMENTS):
            try:
                statement = await writer.write(question, hints, tries, recorder.emit)
                if _normalize_sql(statement.sql) in {_normalize_sql(sql) for sql, _ in tries}:
                    recorder.add("judge", "the same statement again", sql=statement.sql)
                    break  # it knows no better
                recorder.add("write", statement.why, sql=statement.sql)
                rows = await self._run(statement.sql, recorder)
            except RefusedError as refused:
                problem = str(refused)
                recorder.add("refused", problem, sql=statement.sql)
            except ServiceError as trouble:
                if found is None or not found.rows:
                    raise
                return found, trouble.to_failure("search", "database")
            else:
                if found is None or len(rows.rows) >= len(found.rows):
                    found = rows
                problem = _find_shortfall(question, rows)
                if not problem:
                    return rows, None
                recorder.add("judge", problem)
            tries.append((statement.sql.strip(), problem))
        if found is None:
            raise RefusedError("statement", problem)
        return found, None

    async def _fill_nulls(
        self, question: str, writer: StatementWriter, rows: QueryResult, hints: Sequence[str], recorder: _StepRecorder
    ) -> tuple[QueryResult, Failure | None]:
        """The rows with cells that were NULL filled by further statements, matched by the key, as
        long as one gains a cell; and what kept them from it, if something did. What was found before
        a model or the database failed is kept."""
        for _ in range(MAX_STATEMENTS - sum(step.kind == "write" for step in recorder.steps)):
            lacking = [name for name, _ in count_nulls(rows)]
            if not lacking or self._key_column not in rows.names:
                break
            try:
                statement = await writer.supplement(question, rows, lacking, hints, recorder.emit)
                before = {_normalize_sql(step.sql) for step in recorder.steps if step.kind == "write"}
                if not statement.sql.strip() or _normalize_sql(statement.sql) in before:
                    break
                recorder.add("write", statement.why, sql=statement.sql)
                more = await self._run(statement.sql, recorder)
            except RefusedError as refused:
                recorder.add("refused", str(refused), sql=statement.sql)
                break
            except ServiceError as trouble:
                return rows, trouble.to_failure("search", "database")
            rows, gained = fill_nulls(rows, more, self._key_column)
            recorder.add("supplement", rows=gained)
            if not gained:
                break
        return rows, None

    # Both

    async def _run(self, sql: str, recorder: _StepRecorder) -> QueryResult:
        started = time.monotonic()
        rows = await self._engine.run(sql)
        seconds = round(time.monotonic() - started, 4)
        recorder.add("run", sql=rows.sql, rows=len(rows.rows), seconds=seconds)
        return rows

    def _build_outcome(
        self,
        question: str,
        restatement: str,
        rows: QueryResult,
        recorder: _StepRecorder,
        author: str,
        failure: Failure | None = None,
    ) -> Outcome:
        missing = count_nulls(rows)
        if missing:
            recorder.add("missing", "; ".join(f"{name}: {n}" for name, n in missing))
        status: OutcomeStatus = "empty" if not rows.rows else "partial" if missing else "answered"
        return Outcome(
            status=status,
            question=question,
            restatement=restatement,
            rows=rows,
            steps=tuple(recorder.steps),
            null_counts=tuple(missing),
            author=author,
            failures=(failure,) if failure else (),
        )

    def _build_failure(self, question: str, restatement: str, error: ServiceError, recorder: _StepRecorder) -> Outcome:
        """What was paid for on the way to a failure stays in its steps."""
        outcome = self._build_outcome_without_rows("failed", question, restatement, error.message, recorder)
        return outcome.model_copy(update={"reason": error.reason, "hint": error.hint})

    def _build_outcome_without_rows(
        self, status: OutcomeStatus, question: str, restatement: str, problem: str, recorder: _StepRecorder
    ) -> Outcome:
        return Outcome(
            status=status, question=question, restatement=restatement, steps=tuple(recorder.steps), problem=problem
        )


def _find_shortfall(question: str, rows: QueryResult) -> str:
    """Why a statement should be written again although it ran, "" if it need not be."""
    if rows.missed and (not rows.rows or rows.rows == ((0,),)):
        return f"it finds nothing: {'; '.join(rows.missed)}"
    wanted = requested_count(question)
    limit = re.search(r"\bLIMIT (\d+)\s*$", rows.sql)
    if limit and 0 < len(rows.rows) == int(limit[1]) < wanted:
        return f"{wanted} are asked for; it takes no more than {limit[1]}"
    return ""


def requested_count(question: str) -> int:
    """How many things a question names: 10 of 前10名 and of "top 10", 0 if it names no number."""
    text = to_simplified(unicodedata.normalize("NFKC", question))
    number = re.search(r"前\s*(\d{1,3})\s*(?:个|名|位|家|处|座|大|的|$)|最[^\d，。,.]{1,6}?(\d{1,3})\s*(?:个|家|处|座)", text)  # fmt: skip
    number = number or re.search(
        r"\btop (\d{1,3})\b|\b(\d{1,3}) (?:nearest|closest|cheapest|(?:most|least) [a-z]+|largest|smallest|highest|lowest)\b",
        text,
        re.I,
    )
    return int(next((digits for digits in number.groups() if digits), 0)) if number else 0


def _normalize_sql(sql: str) -> str:
    return " ".join(sql.strip().rstrip(";").split()).lower()


def count_nulls(rows: QueryResult) -> list[tuple[str, int]]:
    """The columns that have NULL somewhere, and in how many rows."""
    counts = [(name, sum(row[at] is None or row[at] == "" for row in rows.rows)) for at, name in enumerate(rows.names)]
    return [(name, n) for name, n in counts if n]


def fill_nulls(rows: QueryResult, supplement: QueryResult, key_column: str) -> tuple[QueryResult, int]:
    """Rows whose NULLs are filled from others of the same key, and how many cells that gained. No
    value is replaced, and no row is added."""
    if key_column not in rows.names or key_column not in supplement.names:
        return rows, 0
    at, other = rows.names.index(key_column), supplement.names.index(key_column)
    known: dict[Any, Mapping[str, Any]] = {}
    for row in supplement.rows:
        known.setdefault(row[other], dict(zip(supplement.names, row, strict=True)))
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
