"""Service that answers questions about one database, by the rules, the agent and the engine."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from research.core.errors import ServiceError
from research.core.events import DatabaseStepTaken, EventEmitter
from research.core.reading_notes import LAYOUT_NOTES, describe_reading_note
from research.core.records import DatabaseStep, FailureReason, QueryResult, ReadingNote, fingerprint
from research.sources.database import semantic_model
from research.sources.database.agent import DatabaseAgent, Outcome, OutcomeStatus, StatementWriter
from research.sources.database.confirmed_statements import QuestionStatement, find_similar, find_statement
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, RowRange
from research.sources.database.rules import interpret
from research.sources.database.schema import Schema, TableFilter
from research.sources.database.semantic_model import SemanticModel
from research.sources.database.shipped_database import ensure_shipped_database
from research.sources.database.shipped_tables import column_comments
from research.sources.database.sights_question import Interpretation, NotUnderstoodError, Vocabulary
from research.sources.database.table_selection import TableSelection, describe_named_tables, select_tables
from research.sources.database.value_index import ValueIndex

if TYPE_CHECKING:
    from research.sources.database.engines import Database, UnmatchedFilter
    from research.sources.database.validator import ValidatedQuery

MAX_INDEXED_VALUES = 2_000  # distinct values of a column; columns with more are not indexed
MAX_DESCRIBED_NOTES = 30  # for the model that writes SQL
DEFAULT_LIMITS = ResultLimits()
# Limits of an export of all rows.
EXPORT_LIMITS = ResultLimits(timeout_seconds=300, max_rows=1_000_000, max_cell_characters=32_767)
INDEXING_SECONDS = 10  # seconds after which no further columns are read into the index of values
log = logging.getLogger(__name__)

CreateWriter = Callable[..., StatementWriter]
_CAUSE_REASONS: dict[str, FailureReason] = {
    "timeout": "timeout",
    "unreachable": "unreachable",
    "address": "refused",
    "size": "cut off",
    "refused": "blocked",
}


class SemanticModelText(NamedTuple):
    """A semantic model with its YAML text.

    `origin` is "owner" for a text that the owner has edited, "desk" for the file shared by all owners,
    and "draft" for a model drafted from the schema. `problem` is the reason why an existing text cannot
    be used; the model is then that of the next origin, and `text` still the owner's.
    """

    model: SemanticModel
    text: str
    origin: Literal["owner", "desk", "draft"] = "draft"
    problem: str = ""


@dataclass
class _OpenedDatabase:
    """A database and the names read from it, each None until its first use."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the database is opened
    database: Database | None = None
    value_index: ValueIndex | None = None
    vocabulary: Vocabulary | None = None


class DatabaseService:
    """Questions and statements about the shipped database of scenic areas, or an analyst's own
    database."""

    def __init__(
        self,
        address: str,
        data_folder: Path,
        create_writer: CreateWriter | None = None,
        *,
        load_pairs: Callable[[str, str], Sequence[QuestionStatement]] = lambda owner, base: (),
        includes_samples: bool = True,
        limits: ResultLimits = DEFAULT_LIMITS,
        title: str = "",
        table_filter: TableFilter | None = None,
        model_file: Path | None = None,
        load_description: Callable[[str, str], str] = lambda owner, base: "",
        has_idle_model: bool = False,
        reading_notes: Sequence[ReadingNote] = (),
    ) -> None:
        """Store the settings; the database is opened when it is first used.

        Args:
            address: database URL or path; "" for the shipped database.
            data_folder: folder in which the shipped database is created.
            create_writer: creates the model that writes SQL, from the dialect, the description of
                the tables and a function that finds similar examples; `more` is a function that
                describes tables which the description leaves out. None if no model writes SQL.
            load_pairs: loads the confirmed questions and statements of an owner for a database id.
            includes_samples: whether cell values may be read before a statement runs; the shipped
                database always allows it.
            limits: limits on each statement and its result.
            title: name of an attached database; "" for the shipped one.
            table_filter: selects the tables that may be read; None for all.
            model_file: shared semantic model, used if the owner has not edited one.
            load_description: loads the semantic model that an owner has edited for a database id.
                Without either, a model is drafted from the schema.
            has_idle_model: whether a model is set that cannot write SQL.
            reading_notes: the doubts with which the tables were read from files.
        """
        self._reading_notes = tuple(reading_notes)
        self._address, self._data_folder, self._table_filter = address, data_folder, table_filter
        self.title = title
        self._create_writer, self._load_pairs, self._has_idle_model = create_writer, load_pairs, has_idle_model
        self._includes_samples, self._limits = includes_samples or not address, limits
        self.database_id = fingerprint(address) if address else "sights"
        self._opened = _OpenedDatabase()
        self._model_file, self._load_description = model_file, load_description

    def with_writer(self, create_writer: CreateWriter | None, *, has_idle_model: bool = False) -> DatabaseService:
        """Return a service with another SQL writer, which shares the opened database of this one."""
        other = copy(self)
        other._create_writer, other._has_idle_model = create_writer, has_idle_model
        return other

    async def ask(self, question: str, emit: EventEmitter, owner: str = "") -> Outcome:
        """Answer a question of an owner.

        Raises:
            ServiceError: the database cannot be used.
        """
        database = await self._get_database()
        pairs = await self._load_confirmed_pairs(owner)
        writer, selection = None, None
        if self._create_writer:
            schema, metrics = await self._annotate(database.schema, owner)
            selection = await asyncio.to_thread(
                _select_tables, database, schema, question, find_similar(question, pairs)
            )
            describe_more = partial(describe_named_tables, schema, excluded=selection.described_tables)
            writer = self._create_writer(
                database.dialect,
                "\n".join(filter(None, (selection.description, metrics, self._describe_notes()))),
                partial(find_similar, pairs=pairs),
                **({"describe_more": describe_more} if selection.other_tables else {}),
            )
        agent = DatabaseAgent(
            self.run,
            look_up_names=self._look_up_names,
            interpret=None if self._address else self._interpret,
            writer=writer,
            confirmed_pairs=pairs,
            selected_tables=selection.summary if selection else "",
            has_idle_model=self._has_idle_model,
        )
        return await self._add_headings(await agent.ask(question, emit), owner)

    def _describe_notes(self) -> str:
        """Describe the doubts with which the tables were read, for the model that writes SQL."""
        lines = [f"-- {describe_reading_note(note, 'en')}" for note in self._reading_notes[:MAX_DESCRIBED_NOTES]]
        return "\n".join(["-- How the files were read:", *lines]) if lines else ""

    async def can_answer(self, question: str, owner: str = "") -> bool:
        """Return whether a question can be answered without a model: by a confirmed statement, or
        the rules for the shipped database.

        Raises:
            ServiceError: the database cannot be used.
        """
        if find_statement(question, await self._load_confirmed_pairs(owner)):
            return True
        if self._address:
            return False
        try:
            await self._interpret(question)
        except NotUnderstoodError:
            return False
        return True

    async def run_statement(self, sql: str, emit: EventEmitter, owner: str = "") -> Outcome:
        """Run a statement written by a person; a refusal is an outcome too.

        Raises:
            ServiceError: the database cannot be used, or took too long.
        """
        try:
            rows = await self.run(sql)
        except RefusedError as error:
            step = DatabaseStep(kind="refused", text=str(error), sql=sql)
            outcome = Outcome(status="refused", question=sql, steps=(step,), problem=str(error))
        else:
            step = DatabaseStep(kind="run", sql=rows.sql, rows=len(rows.rows), seconds=rows.seconds)
            status: OutcomeStatus = "answered" if rows.rows else "empty"
            outcome = Outcome(status=status, question=sql, restatement="SQL", rows=rows, steps=(step,))
        emit(DatabaseStepTaken(step=step))
        return await self._add_headings(outcome, owner)

    async def run(self, sql: str) -> QueryResult:
        """Check and run a statement, and return its rows.

        Raises:
            RefusedError: it may not run, or it names something that the database does not have.
            ServiceError: the database cannot be used, or took too long.
        """
        database = await self._get_database()
        query, rows, unmatched = await asyncio.to_thread(_check_and_run, database, sql)
        rows = rows.model_copy(update={"reading_notes": self.reading_notes(query)})
        if unmatched and self._includes_samples and not all(each.similar_values for each in unmatched):
            values = await self._load_value_index()
            unmatched = [
                each
                if each.similar_values
                else replace(each, similar_values=values.find_values(each.table, each.column, each.text))
                for each in unmatched
            ]
        return rows.model_copy(update={"unmatched_filters": tuple(map(_describe_unmatched, unmatched))})

    def reading_notes(self, query: ValidatedQuery) -> tuple[ReadingNote, ...]:
        """Return the doubts with which the tables and columns that a statement reads were read from files."""
        columns = {(table.lower(), column.lower()) for table, column in query.columns}
        tables = {table.lower() for table in query.tables}
        return tuple(
            note
            for note in self._reading_notes
            if note.table.lower() in tables
            and note.kind not in LAYOUT_NOTES
            and (not note.column or (note.table.lower(), note.column.lower()) in columns)
        )

    async def read_page(self, rows: QueryResult, page_number: int) -> tuple[QueryResult, bool]:
        """Read one page of rows of a statement that has run before.

        Args:
            rows: the result of the first run.
            page_number: number of the page, from 1.

        Returns:
            The rows of the page, and whether the statement orders them, so that no row is on two
            pages.

        Raises:
            RefusedError: it may not run any more.
            ServiceError: the database cannot be used, or took too long.
        """
        database = await self._get_database()
        row_range = RowRange((page_number - 1) * database.limits.max_rows, rows.statement_limit)
        query = await asyncio.to_thread(database.check, rows.sql, row_range)
        try:
            result = await asyncio.to_thread(database.run, query)
        except ExecutionError as error:
            raise to_service_error(error) from None
        return _to_rows(query, result), query.is_ordered

    async def prepare_export(self, sql: str, row_range: RowRange | None = None) -> tuple[Database, ValidatedQuery]:
        """Check a statement, or a range of its rows, for an export of all rows.

        Returns:
            The database with the limits of exports, and the query to pass to `Database.stream` in a
            thread.

        Raises:
            RefusedError: it may not run.
            ServiceError: the database cannot be used.
        """
        database = (await self._get_database()).with_limits(EXPORT_LIMITS)
        return database, await asyncio.to_thread(database.check, sql, row_range)

    async def read_schema(self) -> Schema:
        """Return the schema of the database. Raises ServiceError."""
        return (await self._get_database()).schema

    async def privileges(self) -> str:
        """Return the privileges of the address beyond reading, "" if it has none. Raises
        ServiceError."""
        return (await self._get_database()).privileges

    async def _get_database(self) -> Database:
        """Return the database, opened on first use. Raises ServiceError."""
        async with self._opened.lock:
            if self._opened.database is None:
                try:
                    self._opened.database = await asyncio.to_thread(self._open_database)
                except ExecutionError as error:
                    raise to_service_error(error) from None
            return self._opened.database

    def _open_database(self) -> Database:
        from research.sources.database.engines import open_database  # imported late: it loads the SQL parser

        if self._address:
            return open_database(
                self._address,
                table_filter=self._table_filter,
                includes_samples=self._includes_samples,
                limits=self._limits,
            )
        comments = column_comments()

        def find_comment(table: str, column: str) -> str:
            return " / ".join(filter(None, comments.get(table, {}).get(column, ("", ""))))

        return open_database(ensure_shipped_database(self._data_folder), find_comment=find_comment, limits=self._limits)

    # Questions without a model

    async def _load_confirmed_pairs(self, owner: str) -> Sequence[QuestionStatement]:
        """Return the pairs of a question and its statement that the owner has confirmed, then those that
        the semantic model of an attached database has as examples. Raises ServiceError."""
        confirmed = await asyncio.to_thread(self._load_pairs, owner, self.database_id)
        if not self._address:
            return confirmed
        examples = (await self.load_semantic_model(owner)).examples
        return [*confirmed, *((each.question, each.sql) for each in examples)]

    async def _interpret(self, question: str) -> Interpretation:
        """Write the statement for a question about the shipped database. Raises NotUnderstoodError,
        ServiceError."""
        return interpret(question, await self._load_vocabulary())

    async def load_semantic_model(self, owner: str = "") -> SemanticModel:
        """Return the semantic model of the database for an owner: the first usable one of the owner's
        edit, the shared file and a draft.

        Raises:
            ServiceError: the database cannot be used.
        """
        return (await self.describe_semantic_model(owner)).model

    async def describe_semantic_model(self, owner: str = "") -> SemanticModelText:
        """Return the semantic model with its text and origin, and the problem of a text that cannot
        be used. Raises ServiceError."""
        schema = (await self._get_database()).schema
        return await asyncio.to_thread(self._resolve_description, schema, owner)

    def _resolve_description(self, schema: Schema, owner: str) -> SemanticModelText:
        """Return the first usable semantic model: the owner's edit, the shared file, or a draft."""
        if not self._address:
            model = semantic_model.draft_model(schema)
            return SemanticModelText(model, semantic_model.dump_model(model))
        problem = ""
        owner_text = self._load_description(owner, self.database_id)
        origins: tuple[Literal["owner", "desk"], ...] = ("owner", "desk")
        for origin, text in zip(origins, (owner_text, self._read_shared_description()), strict=True):
            if not text:
                continue
            try:
                return SemanticModelText(semantic_model.parse_model(text, schema), text, origin, problem)
            except semantic_model.SemanticModelError as error:
                problem = problem or str(error)
        model = semantic_model.draft_model(schema)
        return SemanticModelText(model, owner_text or semantic_model.dump_model(model), "draft", problem)

    def _read_shared_description(self) -> str:
        """Read the semantic model shared by all owners, "" if there is none or it cannot be
        read."""
        if self._model_file is None:
            return ""
        try:
            return self._model_file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            log.warning("the semantic file %s cannot be read: %s", self._model_file.name, type(error).__name__)
            return ""

    async def _annotate(self, schema: Schema, owner: str) -> tuple[Schema, str]:
        """Add the comments of the semantic model to the schema, and describe its metrics."""
        if not self._address:
            return schema, ""
        model = await self.load_semantic_model(owner)
        return semantic_model.add_comments(schema, model), semantic_model.describe_metrics(model)

    async def _add_headings(self, outcome: Outcome, owner: str) -> Outcome:
        """Add the column headings of the semantic model to the rows of an outcome."""
        if not self._address or outcome.rows is None:
            return outcome
        names = semantic_model.column_headings(await self.load_semantic_model(owner), outcome.rows.names)
        rows = outcome.rows.model_copy(update={"headings": names})
        return outcome.model_copy(update={"rows": rows})

    async def _load_vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the rules, read on first use. Raises ServiceError."""
        if self._opened.vocabulary is None:
            try:
                self._opened.vocabulary = await asyncio.to_thread(_read_vocabulary, await self._get_database())
            except ExecutionError as error:
                raise to_service_error(error) from None
        return self._opened.vocabulary

    async def _look_up_names(self, names: Sequence[str]) -> Sequence[str]:
        """Return hints on the values that names may mean; none if cell values may not be read."""
        if not self._includes_samples:
            return []
        return [hint.text for hint in (await self._load_value_index()).find_hints(names)]

    async def _load_value_index(self) -> ValueIndex:
        """Return the index of values in which names are looked up, built on first use."""
        if self._opened.value_index is None:
            self._opened.value_index = await asyncio.to_thread(_read_value_index, await self._get_database())
        return self._opened.value_index


def _check_and_run(database: Database, sql: str) -> tuple[ValidatedQuery, QueryResult, Sequence[UnmatchedFilter]]:
    """Check and run a statement. Return it, its rows with their coverage, and its filters that can match
    nothing.

    Raises:
        RefusedError: it may not run, or the engine found a mistake in it.
        ServiceError: the database cannot be used, or took too long.
    """
    query = database.check(sql)
    try:
        result = database.run(query)
    except ExecutionError as error:
        if error.cause in ("table", "column", "value", "refused", "size"):
            raise RefusedError("statement", error.message) from None
        raise to_service_error(error) from None
    rows = _to_rows(query, result).model_copy(update={"coverage": database.coverage(query, result)})
    return query, rows, database.unmatched_filters(query, looks_up_values=result.rows in ((), ((0,),)))


def _to_rows(query: ValidatedQuery, result: ExecutionResult) -> QueryResult:
    return QueryResult(
        sql=query.sql,
        names=result.columns,
        types=result.types,
        rows=result.rows,
        truncated=result.is_truncated,
        shortened_cells=result.shortened_cells,
        seconds=result.duration_seconds,
        statement_limit=query.own_limit,
    )


def _describe_unmatched(unmatched: UnmatchedFilter) -> str:
    """Describe a filter that can match nothing, for the model that writes the statement again."""
    similar_values = ", ".join(map(repr, unmatched.similar_values))
    text = f"{unmatched.table}.{unmatched.column} is never {unmatched.text!r}"
    return f"{text}; there is {similar_values}" if similar_values else text


def to_service_error(error: ExecutionError) -> ServiceError:
    """Convert an error of an engine to an error of a source."""
    return ServiceError(_CAUSE_REASONS.get(error.cause, "unavailable"), error.message)


def _read_vocabulary(database: Database) -> Vocabulary:
    """Read the vocabulary of the rules from the shipped database."""
    return Vocabulary.from_rows(_read_all_rows(database, "SELECT gid, name, name_en, province, city FROM a_sight"))


def _select_tables(
    database: Database, schema: Schema, question: str, pairs: Sequence[QuestionStatement]
) -> TableSelection:
    """Select the tables for a question, given statements confirmed for similar questions."""
    confirmed_tables: set[str] = set()
    for _, sql in pairs:
        with suppress(RefusedError):  # the tables may have changed since it was confirmed
            confirmed_tables |= set(database.check(sql).tables)
    return select_tables(schema, question, confirmed_tables)


def _read_value_index(database: Database) -> ValueIndex:
    """Index the text values of all columns, for at most `INDEXING_SECONDS`."""
    columns = {}
    deadline = time.monotonic() + INDEXING_SECONDS
    for table in database.schema.tables:
        if time.monotonic() > deadline:
            break
        for column in table.columns:
            if "TEXT" not in column.type.upper() and "CHAR" not in column.type.upper():
                continue
            try:
                values = database.distinct_values(table, column.name, max_values=MAX_INDEXED_VALUES)
            except ExecutionError:
                continue  # names are then not looked up in this column
            if values:
                columns[table.qualified_name, column.name] = values
    return ValueIndex(columns)


def _read_all_rows(database: Database, sql: str) -> list[tuple[object, ...]]:
    """Read all rows of an internal statement, page by page because of the limit on rows."""
    rows: list[tuple[object, ...]] = []
    while True:
        text = f"{sql} ORDER BY gid LIMIT {database.limits.max_rows} OFFSET {len(rows)}"
        page = database.run(database.check(text))
        rows += page.rows
        if len(page.rows) < database.limits.max_rows:
            return rows
