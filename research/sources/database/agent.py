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
"""Status of an outcome: rows without or with NULLs (answered, partial), a statement without rows, a
question that was not understood or cannot be answered (unclear), one that only a model could answer, a
statement that may not run, or a failure of the database or the model."""


class Outcome(Record):
    """Answer of the database to a question or a statement."""

    status: OutcomeStatus
    question: str
    restatement: str = ""  # one sentence on what the rows are, in the language of the question
    rows: QueryResult | None = None
    steps: tuple[DatabaseStep, ...] = ()
    null_counts: tuple[tuple[str, int], ...] = ()  # each column with NULLs, and in how many rows
    problem: str = ""  # for a person: the reason why there are no rows
    area_counts: tuple[int, int] = (0, 0)  # areas in the shipped database, and provinces that have areas
    is_not_covered: bool = False  # the question is understood, and `problem` is something without rows
    has_idle_model: bool = False  # a model is set that cannot be used here
    saved: tuple[str, ...] = ()  # confirmed questions, which can be answered without a model
    reason: FailureReason | None = None  # set if the status is "failed"
    hint: FailureHint = ""
    failures: tuple[Failure, ...] = ()  # failures that came after rows were found
    author: str = ""  # model that wrote the statement; "" for the rules
    shape: AnswerShape = ""  # shape of the answer according to the rules
    subject: str = ""  # the areas that the rows are about, as a phrase


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

    async def write_supplement(
        self, question: str, rows: QueryResult, null_columns: Sequence[str], hints: Sequence[str], emit: EventEmitter
    ) -> Statement:
        """Write a statement that finds the values which are NULL in columns of rows, by the rows'
        key. Raises ServiceError."""


RunStatement = Callable[[str], Awaitable[QueryResult]]
"""Runs a statement and returns its rows; raises RefusedError or ServiceError."""
LookUpNames = Callable[[Sequence[str]], Awaitable[Sequence[str]]]
"""Looks up names among the values of the database, and returns hints on the values that they may mean."""


@dataclass
class _OutcomeBuilder:
    """Builder of the outcome of one question. It collects the steps, and emits each as it is added."""

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
        run_statement: RunStatement,
        *,
        look_up_names: LookUpNames,
        interpret: Callable[[str], Awaitable[Interpretation]] | None = None,
        writer: StatementWriter | None = None,
        confirmed_pairs: Sequence[QuestionStatement] = (),
        selected_tables: str = "",
        has_idle_model: bool = False,
    ) -> None:
        """Store the parts of the agent.

        Args:
            run_statement: runs a statement on the database.
            look_up_names: looks up names among the values of the database.
            interpret: turns a question into a statement by rules, or raises NotUnderstoodError;
                None if there are no rules for the database.
            writer: model that writes SQL, if there is one.
            confirmed_pairs: questions with statements that an analyst has confirmed.
            selected_tables: names of the tables described to the writer; "" if all are.
            has_idle_model: whether a model is set that cannot be used here.
        """
        self._run_statement, self._interpret, self._look_up_names = run_statement, interpret, look_up_names
        self._writer, self._confirmed_pairs = writer, confirmed_pairs
        self._selected_tables, self._has_idle_model = selected_tables, has_idle_model

    async def ask(self, question: str, emit: EventEmitter) -> Outcome:
        """Answer a question. An expected failure is an outcome too."""
        builder = _OutcomeBuilder(question, emit)
        if sql := find_statement(question, self._confirmed_pairs):
            builder.add("understand", question)
            builder.add("write", CONFIRMED, sql=sql)
            return await self._run_interpretation(Interpretation(sql, question, detect_language(question)), builder)
        if self._interpret:
            try:
                interpretation = await self._interpret(question)
            except NotUnderstoodError as error:
                if self._writer is None or isinstance(error, NotCoveredError):  # a model could not find it either
                    return builder.outcome(
                        "unclear",
                        problem=error.unrecognized,
                        area_counts=error.area_counts,
                        is_not_covered=isinstance(error, NotCoveredError),
                        has_idle_model=self._has_idle_model,
                    )
            else:
                builder.add("understand", interpretation.restatement)
                builder.add("write", sql=interpretation.sql)
                return await self._run_interpretation(interpretation, builder)
        if self._writer is None:
            return self._without_model(question)
        return await self._answer_by_model(self._writer, builder)

    def _without_model(self, question: str) -> Outcome:
        """Return an outcome that names the confirmed questions most similar to this one, which only a
        model could answer."""
        similar = find_similar(question, self._confirmed_pairs) or self._confirmed_pairs[:MAX_EXAMPLES]
        saved = tuple(confirmed_question for confirmed_question, _ in similar)
        return Outcome(status="no model", question=question, saved=saved, has_idle_model=self._has_idle_model)

    async def _run_interpretation(self, interpretation: Interpretation, builder: _OutcomeBuilder) -> Outcome:
        """Run the statement of a question that was understood without a model."""
        builder.restatement = interpretation.restatement
        try:
            rows = await self._run(interpretation.sql, builder)
        except (RefusedError, ServiceError) as error:
            return builder.outcome_of_error(error)
        return builder.outcome_of_rows(rows, shape=interpretation.shape, subject=interpretation.subject)

    async def _answer_by_model(self, writer: StatementWriter, builder: _OutcomeBuilder) -> Outcome:
        """Have the model analyse the question, look up its names, and run the statements that it writes."""
        if self._selected_tables:
            builder.add("tables", self._selected_tables)
        try:
            intent = await writer.analyse(builder.question, builder.emit)
            builder.restatement = intent.meant
            builder.add("understand", intent.meant)
            if not intent.answerable:
                return builder.outcome("unclear", problem=intent.clarify)
            hints = list(await self._look_up_names(intent.names))
            if hints:
                builder.add("link", "; ".join(hints))
            rows, failure = await self._write_until_found(writer, hints, builder)
            if rows.rows and failure is None:
                rows, failure = await self._fill_nulls(writer, rows, hints, builder)
        except (RefusedError, ServiceError) as error:
            return builder.outcome_of_error(error)
        return builder.outcome_of_rows(rows, author=writer.author, failures=(failure,) if failure else ())

    async def _write_until_found(
        self, writer: StatementWriter, hints: Sequence[str], builder: _OutcomeBuilder
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
                statement = await writer.write(builder.question, hints, attempts, builder.emit)
                if _normalize_sql(statement.sql) in {_normalize_sql(sql) for sql, _ in attempts}:
                    builder.add("judge", "the same statement again", sql=statement.sql)
                    break  # the model repeats itself
                builder.add("write", statement.why, sql=statement.sql)
                rows = await self._run(statement.sql, builder)
            except RefusedError as refused:
                problem = str(refused)
                builder.add("refused", problem, sql=statement.sql)
            except ServiceError as error:
                if best is None or not best.rows:
                    raise
                return best, error.to_failure("search", "database")
            else:
                if best is None or len(rows.rows) >= len(best.rows):
                    best = rows
                problem = _describe_shortfall(builder.question, rows)
                if not problem:
                    return rows, None
                builder.add("judge", problem)
            attempts.append((statement.sql.strip(), problem))
        if best is None:
            raise RefusedError("statement", problem)
        return best, None

    async def _fill_nulls(
        self, writer: StatementWriter, rows: QueryResult, hints: Sequence[str], builder: _OutcomeBuilder
    ) -> tuple[QueryResult, Failure | None]:
        """Fill NULL cells by further statements, matched by the key, as long as each fills
        a cell.

        Returns:
            The rows, and the failure that ended the search, if there was one. Rows from before a
            failure of the model or the database are kept.
        """
        for _ in range(MAX_STATEMENTS - sum(step.kind == "write" for step in builder.steps)):
            null_columns = [name for name, _ in count_nulls(rows)]
            if not null_columns or KEY_COLUMN not in rows.names:
                break
            try:
                statement = await writer.write_supplement(builder.question, rows, null_columns, hints, builder.emit)
                previous = {_normalize_sql(step.sql) for step in builder.steps if step.kind == "write"}
                if not statement.sql.strip() or _normalize_sql(statement.sql) in previous:
                    break
                builder.add("write", statement.why, sql=statement.sql)
                further_rows = await self._run(statement.sql, builder)
            except RefusedError as refused:
                builder.add("refused", str(refused), sql=statement.sql)
                break
            except ServiceError as error:
                return rows, error.to_failure("search", "database")
            rows, filled = fill_nulls(rows, further_rows, KEY_COLUMN)
            builder.add("supplement", rows=filled)
            if not filled:
                break
        return rows, None

    async def _run(self, sql: str, builder: _OutcomeBuilder) -> QueryResult:
        started = time.monotonic()
        rows = await self._run_statement(sql)
        seconds = round(time.monotonic() - started, 4)
        builder.add("run", sql=rows.sql, rows=len(rows.rows), seconds=seconds)
        return rows


def _describe_shortfall(question: str, rows: QueryResult) -> str:
    """Describe what the rows of a statement lack, for the model that writes it again; return "" if they
    lack nothing."""
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
