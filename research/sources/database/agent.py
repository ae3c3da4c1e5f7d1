"""Agent that answers questions to a database in recorded steps.

A statement that was confirmed for the same question is run as it is. Otherwise the question is
interpreted first: by the rules, which know only the shipped database and fail rather than guess, or
by a model. The names in the question are looked up among the values of the database. Then a
statement is written, checked and run, and written again if it was refused, failed or found nothing.
NULLs in its rows may be filled by further statements as long as each fills some. Values that are
still missing are reported as missing.

This module depends on no prompt and no engine: both are passed in.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from research.core.errors import ServiceError
from research.core.events import DatabaseStepTaken, EventEmitter
from research.core.records import (
    DatabaseStep,
    DatabaseStepKind,
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

MAX_STATEMENTS = 4  # statements: the first, and three to correct or supplement it
KEY_COLUMN = "gid"  # identifies a row of the shipped tables; NULLs of other tables are not filled
CONFIRMED = "confirmed"  # reason for a statement that was confirmed for this question

OutcomeStatus = Literal["answered", "partial", "empty", "unclear", "no model", "refused", "failed"]


class Outcome(Record):
    """Answer of the database. `null_counts` names columns and the number of rows that lack them."""

    status: OutcomeStatus
    question: str
    restatement: str = ""
    rows: QueryResult | None = None
    steps: tuple[DatabaseStep, ...] = ()
    null_counts: tuple[tuple[str, int], ...] = ()
    problem: str = ""  # why there are no rows, for a person
    # Numbers of areas in the shipped database and of their provinces
    area_counts: tuple[int, int] = (0, 0)
    is_not_covered: bool = False  # `problem` names what the database has no rows of
    has_idle_model: bool = False  # a model is set that cannot be used here
    saved: tuple[str, ...] = ()  # questions that can be answered without the model that is missing
    reason: FailureReason | None = None  # kind of the failure, if it is one
    hint: FailureHint = ""
    failures: tuple[Failure, ...] = ()  # failures despite which rows were found
    author: str = ""  # model that wrote the statement; "" for the rules
    shape: AnswerShape = ""  # shape of the answer according to the rules
    subject: str = ""  # the areas it is about, for use in a sentence


class StatementRunner(Protocol):
    """A database on which statements are run."""

    async def run(self, sql: str) -> QueryResult:
        """Run a statement and return its rows.

        Raises:
            RefusedError: it may not run, or it names something that the database does not have.
            ServiceError: the database cannot be used, or took too long.
        """


class Intent(BaseModel):
    """A model's analysis of a question.

    `names` are the names in it, as they are written there, `tables` further tables that it needs;
    `clarify` says why it cannot be answered.
    """

    answerable: bool
    meant: str = ""
    names: list[str] = []
    tables: list[str] = []
    clarify: str = ""


class Statement(BaseModel):
    """A statement that a model has written, with its reason."""

    sql: str
    why: str = ""


class StatementWriter(Protocol):
    """A model that turns questions into SQL."""

    @property
    def author(self) -> str: ...

    async def analyse(self, question: str, emit: EventEmitter) -> Intent:
        """Analyse what a question asks for. Raises ServiceError."""

    async def write(
        self, question: str, hints: Sequence[str], attempts: Sequence[tuple[str, str]], emit: EventEmitter
    ) -> Statement:
        """Write a statement. Raises ServiceError.

        `attempts` are the previous statements, each with its problem.
        """

    async def supplement(
        self, question: str, rows: QueryResult, null_columns: Sequence[str], hints: Sequence[str], emit: EventEmitter
    ) -> Statement:
        """Write a statement that finds the values which are NULL in columns of rows, by the rows'
        key. Raises ServiceError."""


LookUpNames = Callable[[Sequence[str]], Awaitable[Sequence[str]]]  # returns hints on the values that names may mean


@dataclass
class _Work:
    """The work on a question: its steps so far, each of which is emitted as it is added."""

    question: str
    emit: EventEmitter
    restatement: str = ""
    steps: list[DatabaseStep] = field(default_factory=list)

    def add(self, kind: DatabaseStepKind, text: str = "", **more: Any) -> None:
        """Add a step."""
        step = DatabaseStep(kind=kind, text=text, **more)
        self.steps.append(step)
        self.emit(DatabaseStepTaken(step=step))

    def outcome(self, status: OutcomeStatus, **more: Any) -> Outcome:
        """Return an outcome with the steps so far."""
        return Outcome(
            status=status, question=self.question, restatement=self.restatement, steps=tuple(self.steps), **more
        )

    def outcome_of_rows(self, rows: QueryResult, **more: Any) -> Outcome:
        """Return the outcome of a statement that was run."""
        null_counts = count_nulls(rows)
        if null_counts:
            self.add("missing", "; ".join(f"{name}: {n}" for name, n in null_counts))
        status: OutcomeStatus = "empty" if not rows.rows else "partial" if null_counts else "answered"
        return self.outcome(status, rows=rows, null_counts=tuple(null_counts), **more)

    def outcome_of_error(self, error: RefusedError | ServiceError) -> Outcome:
        """Return the outcome of a refused statement or of a failure."""
        if isinstance(error, RefusedError):
            return self.outcome("refused", problem=str(error))
        return self.outcome("failed", problem=error.message, reason=error.reason, hint=error.hint)


class DatabaseAgent:
    """Agent that answers questions to one database."""

    def __init__(
        self,
        engine: StatementRunner,
        *,
        look_up_names: LookUpNames,
        interpret: Callable[[str], Awaitable[Interpretation]] | None = None,
        writer: StatementWriter | None = None,
        saved: Sequence[QuestionStatement] = (),
        selected_tables: str = "",
        has_idle_model: bool = False,
    ) -> None:
        """Store the parts of the agent.

        Args:
            engine: the database.
            look_up_names: looks up names among the values of the database.
            interpret: turns a question into a statement by rules, or raises NotUnderstoodError;
                None if there are no rules for the database.
            writer: model that writes SQL, if there is one.
            saved: questions with statements that an analyst has confirmed.
            selected_tables: names of the tables described to the writer; "" if all are.
            has_idle_model: whether a model is set that cannot be used here.
        """
        self._engine, self._interpret, self._look_up_names = engine, interpret, look_up_names
        self._writer, self._saved = writer, saved
        self._selected_tables, self._has_idle_model = selected_tables, has_idle_model

    async def ask(self, question: str, emit: EventEmitter) -> Outcome:
        """Answer a question. An expected failure is an outcome too."""
        work = _Work(question, emit)
        if sql := find_statement(question, self._saved):
            work.add("understand", question)
            work.add("write", CONFIRMED, sql=sql)
            return await self._run_interpretation(Interpretation(sql, question, detect_language(question)), work)
        if self._interpret:
            try:
                interpretation = await self._interpret(question)
            except NotUnderstoodError as error:
                if self._writer is None or isinstance(error, NotCoveredError):  # a model could not find it either
                    return work.outcome(
                        "unclear",
                        problem=error.unrecognized,
                        area_counts=error.area_counts,
                        is_not_covered=isinstance(error, NotCoveredError),
                        has_idle_model=self._has_idle_model,
                    )
            else:
                work.add("understand", interpretation.restatement)
                work.add("write", sql=interpretation.sql)
                return await self._run_interpretation(interpretation, work)
        if self._writer is None:
            return self._without_model(question)
        return await self._answer_by_model(self._writer, work)

    def _without_model(self, question: str) -> Outcome:
        """Name the saved questions that are most similar to a question which only a model could
        answer."""
        similar = find_similar(question, self._saved) or self._saved[:MAX_EXAMPLES]
        saved = tuple(saved_question for saved_question, _ in similar)
        return Outcome(status="no model", question=question, saved=saved, has_idle_model=self._has_idle_model)

    async def _run_interpretation(self, interpretation: Interpretation, work: _Work) -> Outcome:
        """Run the statement of a question that was understood without a model."""
        work.restatement = interpretation.restatement
        try:
            rows = await self._run(interpretation.sql, work)
        except (RefusedError, ServiceError) as error:
            return work.outcome_of_error(error)
        return work.outcome_of_rows(rows, shape=interpretation.shape, subject=interpretation.subject)

    async def _answer_by_model(self, writer: StatementWriter, work: _Work) -> Outcome:
        if self._selected_tables:
            work.add("tables", self._selected_tables)
        try:
            intent = await writer.analyse(work.question, work.emit)
            work.restatement = intent.meant
            work.add("understand", intent.meant)
            if not intent.answerable:
                return work.outcome("unclear", problem=intent.clarify)
            hints = list(await self._look_up_names(intent.names))
            if hints:
                work.add("link", "; ".join(hints))
            rows, failure = await self._write_until_found(writer, hints, work)
            if rows.rows and failure is None:
                rows, failure = await self._fill_nulls(writer, rows, hints, work)
        except (RefusedError, ServiceError) as error:
            return work.outcome_of_error(error)
        return work.outcome_of_rows(rows, author=writer.author, failures=(failure,) if failure else ())

    async def _write_until_found(
        self, writer: StatementWriter, hints: Sequence[str], work: _Work
    ) -> tuple[QueryResult, Failure | None]:
        """Return the rows of the first statement that finds what is asked for, else the longest
        result; and the failure that ended the search, if there was one.

        Raises:
            RefusedError: no statement could be run.
            ServiceError: the model or the database cannot be used, and no rows were found before.
        """
        attempts: list[tuple[str, str]] = []
        best: QueryResult | None = None
        problem = ""
        for _ in range(MAX_STATEMENTS):
            try:
                statement = await writer.write(work.question, hints, attempts, work.emit)
                if _normalize_sql(statement.sql) in {_normalize_sql(sql) for sql, _ in attempts}:
                    work.add("judge", "the same statement again", sql=statement.sql)
                    break  # the model repeats itself
                work.add("write", statement.why, sql=statement.sql)
                rows = await self._run(statement.sql, work)
            except RefusedError as refused:
                problem = str(refused)
                work.add("refused", problem, sql=statement.sql)
            except ServiceError as error:
                if best is None or not best.rows:
                    raise
                return best, error.to_failure("search", "database")
            else:
                if best is None or len(rows.rows) >= len(best.rows):
                    best = rows
                problem = _find_shortfall(work.question, rows)
                if not problem:
                    return rows, None
                work.add("judge", problem)
            attempts.append((statement.sql.strip(), problem))
        if best is None:
            raise RefusedError("statement", problem)
        return best, None

    async def _fill_nulls(
        self, writer: StatementWriter, rows: QueryResult, hints: Sequence[str], work: _Work
    ) -> tuple[QueryResult, Failure | None]:
        """Fill NULL cells by further statements, matched by the key, as long as each fills
        a cell.

        Returns:
            The rows, and the failure that ended the search, if there was one. Rows from before a
            failure of the model or the database are kept.
        """
        for _ in range(MAX_STATEMENTS - sum(step.kind == "write" for step in work.steps)):
            null_columns = [name for name, _ in count_nulls(rows)]
            if not null_columns or KEY_COLUMN not in rows.names:
                break
            try:
                statement = await writer.supplement(work.question, rows, null_columns, hints, work.emit)
                previous = {_normalize_sql(step.sql) for step in work.steps if step.kind == "write"}
                if not statement.sql.strip() or _normalize_sql(statement.sql) in previous:
                    break
                work.add("write", statement.why, sql=statement.sql)
                further_rows = await self._run(statement.sql, work)
            except RefusedError as refused:
                work.add("refused", str(refused), sql=statement.sql)
                break
            except ServiceError as error:
                return rows, error.to_failure("search", "database")
            rows, filled = fill_nulls(rows, further_rows, KEY_COLUMN)
            work.add("supplement", rows=filled)
            if not filled:
                break
        return rows, None

    async def _run(self, sql: str, work: _Work) -> QueryResult:
        started = time.monotonic()
        rows = await self._engine.run(sql)
        seconds = round(time.monotonic() - started, 4)
        work.add("run", sql=rows.sql, rows=len(rows.rows), seconds=seconds)
        return rows


def _find_shortfall(question: str, rows: QueryResult) -> str:
    """Return why a statement that ran should be written again, "" if it need not be."""
    if rows.unmatched_filters and (not rows.rows or rows.rows == ((0,),)):
        return f"it finds nothing: {'; '.join(rows.unmatched_filters)}"
    requested = requested_count(question)
    limit = re.search(r"\bLIMIT (\d+)\s*$", rows.sql)
    if limit and 0 < len(rows.rows) == int(limit[1]) < requested:
        return f"{requested} are asked for; it takes no more than {limit[1]}"
    return ""


def requested_count(question: str) -> int:
    """Return the number that a question requests: 10 for 前10名 and "top 10", 0 if it has none."""
    text = to_simplified(unicodedata.normalize("NFKC", question))
    number = re.search(
        r"前\s*(\d{1,3})\s*(?:个|名|位|家|处|座|大|的|$)|最[^\d，。,.]{1,6}?(\d{1,3})\s*(?:个|家|处|座)", text
    )
    number = number or re.search(
        r"\btop (\d{1,3})\b|\b(\d{1,3}) (?:nearest|closest|cheapest|(?:most|least) [a-z]+|largest|smallest|highest|lowest)\b",
        text,
        re.I,
    )
    return int(next((digits for digits in number.groups() if digits), 0)) if number else 0


def _normalize_sql(sql: str) -> str:
    return " ".join(sql.strip().rstrip(";").split()).lower()


def count_nulls(rows: QueryResult) -> list[tuple[str, int]]:
    """Return the columns with NULLs or empty texts, and in how many rows."""
    counts = [
        (name, sum(row[index] is None or row[index] == "" for row in rows.rows))
        for index, name in enumerate(rows.names)
    ]
    return [(name, n) for name, n in counts if n]


def fill_nulls(rows: QueryResult, supplement: QueryResult, key_column: str) -> tuple[QueryResult, int]:
    """Fill the NULLs of rows from other rows with the same key, and count the filled cells.

    No value is replaced, and no row is added.
    """
    if key_column not in rows.names or key_column not in supplement.names:
        return rows, 0
    key_index, supplement_index = rows.names.index(key_column), supplement.names.index(key_column)
    values_by_key: dict[Any, Mapping[str, Any]] = {}
    for row in supplement.rows:
        values_by_key.setdefault(row[supplement_index], dict(zip(supplement.names, row, strict=True)))
    filled, filled_rows = 0, []
    for row in rows.rows:
        values = values_by_key.get(row[key_index], {})
        cells = []
        for name, value in zip(rows.names, row, strict=True):
            if value in (None, "") and values.get(name) not in (None, ""):
                value, filled = values[name], filled + 1
            cells.append(value)
        filled_rows.append(tuple(cells))
    return rows.model_copy(update={"rows": tuple(filled_rows)}), filled
