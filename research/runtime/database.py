"""Databases for programs: their questions, statements, descriptions and files, each in one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from research.core.database_config import SHIPPED_DATABASE
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.reading_notes import reading_note_lines
from research.core.records import ColumnCoverage, DatabaseStep, Failure, Language, QueryResult, ReadingNote, Record
from research.readers.table_records import Correction, FileTable
from research.readers.worker import ProgressCallback
from research.runtime.owner_services import OwnerServices
from research.runtime.run_manager import RunManager
from research.runtime.services import Services
from research.sources.database import semantic_model
from research.sources.database.agent import Outcome, OutcomeStatus
from research.sources.database.outcome_text import describe_outcome
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, RowRange
from research.sources.database.schema import SchemaTable
from research.sources.database.semantic_model import SemanticModel
from research.sources.database.uploads import Upload

_EXPORT_SLOTS = threading.BoundedSemaphore(2)  # exports at the same time, of all owners


class DatabaseAnswer(Record):
    """The answer of the database to a question.

    `status` is answered, partial (some values are NULL; `missing` counts those rows by column),
    empty, unclear (`answer` is a question back), no model (only a model could write the SQL;
    `answer` names saved questions), refused or failed (`answer` gives the reason). `rows` are
    dictionaries by column name, `count` their number, and `truncated` tells whether there were
    more. `coverage` counts, for the columns that the statement compares, the rows whose value is
    known, where some are unknown, and `reading_notes` are the doubts with which the files that it reads were
    read. `sql` is the executed statement and `thought_chain` every step
    that led to it.
    """

    status: OutcomeStatus
    question: str
    answer: str
    rows: tuple[dict[str, Any], ...] = ()
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    count: int = 0
    truncated: bool = False
    sql: str = ""
    statement_limit: int | None = None  # the LIMIT of the statement itself; the one in `sql` may have been added
    missing: dict[str, int] = Field(default_factory=dict)
    coverage: tuple[ColumnCoverage, ...] = ()
    reading_notes: tuple[ReadingNote, ...] = ()
    author: str = ""  # the model that wrote the statement, "" for rules
    thought_chain: tuple[DatabaseStep, ...] = ()


class DatabaseEntry(Record):
    """A database that can be queried by name: shipped, configured or uploaded files.

    `default` marks the one used when none is chosen. `wrong` is the reason why it cannot be used.
    """

    name: str
    kind: Literal["shipped", "listed", "files"]
    title: str = ""  # the file names of an upload
    description: dict[Language, str] = Field(default_factory=dict)
    default: bool = False
    wrong: str = ""


class DatabaseSchema(Record):
    """The tables of a database that can be queried.

    `title` is "" for the shipped database. `privileges` is "" where the address allows reading
    only, else write or superuser. `unreadable` maps tables, views and columns that the database
    does not let us read to its reasons. `failure` is set if the schema cannot be read.
    """

    title: str = ""
    dialect: str = ""
    tables: tuple[SchemaTable, ...] = ()
    privileges: str = ""
    unreadable: dict[str, str] = Field(default_factory=dict)
    failure: Failure | None = None


class DatabaseDescription(Record):
    """The semantic model of a database and its text as YAML.

    `origin` is owner (edited by this owner), desk (a file for everybody) or draft (derived from the
    schema). `problem` is why an existing text cannot be used, `failure` why nothing could be read.
    """

    model: SemanticModel = SemanticModel()
    text: str = ""
    origin: Literal["owner", "desk", "draft"] = "draft"
    problem: str = ""
    failure: Failure | None = None


class DatabasePage(Record):
    """Further rows of a statement. `error` is the reason why there are none.

    If the statement does not order its rows (`is_ordered` is False), a page may repeat rows of another.
    """

    rows: QueryResult | None = None
    is_ordered: bool = True
    error: str = ""


class RowExport(Record):
    """The result of an export.

    With an `error`, which is the reason, there is no file. `reading_notes` are the doubts with which the files
    that the statement reads were read.
    """

    row_count: int = 0
    has_more: bool = False
    reading_notes: tuple[ReadingNote, ...] = ()
    error: str = ""


class Databases:
    """The databases of an application, asked and queried without a run. They are only ever read."""

    def __init__(self, services: Services, owner_services: OwnerServices, runs: RunManager) -> None:
        """Use the shared services, and those of an owner for questions that a model may answer."""
        self._services, self._owner_services, self._runs = services, owner_services, runs

    def all(self, *, owner: str = "local") -> tuple[DatabaseEntry, ...]:
        """List the databases of an owner: configured, shipped, uploaded, then unusable ones."""
        settings = self._services.settings
        listed = [
            DatabaseEntry(name=entry.name, kind="listed", description=dict(entry.description))
            for entry in settings.databases
        ]
        shipped = DatabaseEntry(name=SHIPPED_DATABASE, kind="shipped")
        files = [
            DatabaseEntry(name=entry.database, kind="files", title=", ".join(entry.names))
            for entry in self._services.uploads.all(owner)
        ]
        invalid = [
            DatabaseEntry(name=entry.name, kind="listed", wrong=entry.reason)
            for entry in settings.configured_databases.invalid
        ]
        usable = [
            entry.model_copy(update={"default": entry.name == settings.default_database})
            for entry in (*listed, shipped)
        ]
        return (*usable, *files, *invalid)

    def ask(self, question: str, *, database: str = "", owner: str = "local") -> DatabaseAnswer:
        """Answer a question to a database, in Chinese or English.

        `database` is a name from `all`, "" for the default one; it is only ever read. A confirmed
        statement answers its question again, rules answer common questions about the scenic areas, and
        a model writes the SQL for all others.

        Raises:
            ValueError: the question is blank.
            SettingError: a setting is not usable.
        """
        if not question.strip():
            raise ValueError("There is no question.")
        try:
            with self._owner_services.open_services(owner) as (services, _):
                service = services.database(database, owner)
                outcome = self._runs.run_on_loop(service.ask(question.strip(), ignore_event, owner))
        except ServiceError as error:
            outcome = Outcome(status="failed", question=question, problem=error.message)
        return to_database_answer(outcome)

    def query(self, sql: str, *, database: str = "", owner: str = "local") -> DatabaseAnswer:
        """Execute an SQL statement through the same guard and engine.

        A refusal or a failure is returned as an answer with that status.
        """
        try:
            outcome = self._runs.run_on_loop(self._services.database(database, owner).run_statement(sql, ignore_event))
        except ServiceError as error:
            outcome = Outcome(status="failed", question=sql, problem=error.message)
        return to_database_answer(outcome)

    def schema(self, database: str = "", *, owner: str = "local") -> DatabaseSchema:
        """Read the tables of a database, "" for the default one. An unusable one gives a failure."""
        title = ""
        try:
            service = self._services.database(database, owner)
            title = service.title
            schema = self._runs.run_on_loop(service.read_schema())
            privileges = self._runs.run_on_loop(service.privileges())
        except ServiceError as error:
            return DatabaseSchema(title=title, failure=error.to_failure("search", "database"))
        return DatabaseSchema(
            title=title,
            dialect=schema.dialect,
            tables=schema.tables,
            privileges=privileges,
            unreadable={entry.name: entry.reason for entry in schema.unreadable},
        )

    def description(self, database: str = "", *, owner: str = "local") -> DatabaseDescription:
        """Return an owner's description of a database. The shipped one needs none."""
        try:
            service = self._services.database(database, owner)
            description = self._runs.run_on_loop(service.describe_semantic_model(owner))
        except ServiceError as error:
            return DatabaseDescription(failure=error.to_failure("search", "database"))
        return DatabaseDescription(
            model=description.model, text=description.text, origin=description.origin, problem=description.problem
        )

    def save_description(self, text: str | SemanticModel, database: str = "", *, owner: str = "local") -> str:
        """Save an owner's description of a database: YAML text or a model.

        Return why it cannot be used, leaving the saved one unchanged; "" on success.

        Raises:
            ServiceError: the database cannot be used.
            OSError: the file cannot be written.
        """
        service = self._services.database(database, owner)
        schema = self._runs.run_on_loop(service.read_schema())
        yaml_text = text if isinstance(text, str) else semantic_model.dump_model(text)
        try:
            semantic_model.parse_model(yaml_text, schema)
        except semantic_model.SemanticModelError as error:
            return str(error)
        self._services.descriptions.save(owner, service.database_id, yaml_text)
        return ""

    def delete_description(self, database: str = "", *, owner: str = "local") -> bool:
        """Delete an owner's description of a database. Return whether there was one."""
        return self._services.descriptions.remove(owner, self._services.database(database, owner).database_id)

    def read_page(self, rows: QueryResult, page: int, *, database: str = "", owner: str = "local") -> DatabasePage:
        """Read a page, from 1, of the rows of a statement whose first rows are known.

        It executes the same statement again through the same guard; the rows are current and belong to
        no run.
        """
        try:
            page_rows, is_ordered = self._runs.run_on_loop(
                self._services.database(database, owner).read_page(rows, page)
            )
        except (RefusedError, ServiceError) as error:
            return DatabasePage(error=error.message)
        return DatabasePage(rows=page_rows, is_ordered=is_ordered)

    def export_rows(
        self,
        statement: str | QueryResult | DatabaseAnswer,
        path: Path,
        on_progress: Callable[[int], None] = lambda rows: None,
        *,
        database: str = "",
        owner: str = "local",
    ) -> RowExport:
        """Write all rows of a statement, up to a million, to a .csv, .xlsx or .parquet file.

        Given a result or an answer, the rows of its statement are exported. Rows are read and written
        in batches, within five minutes; `on_progress` receives the number of rows written so far.

        Raises:
            ValueError: the file type is not supported.
            OSError: the file cannot be written.
        """
        from research.export import database_rows_file  # imports the file writers

        if path.suffix.lower() not in database_rows_file.ROW_FILE_SUFFIXES:
            raise ValueError(f"{path.name} is none of {', '.join(database_rows_file.ROW_FILE_SUFFIXES)}.")
        # Renamed at the end, so that no partial file appears.
        part_path = path.with_name(f".{path.stem}.part{path.suffix}")
        try:
            service = self._services.database(database, owner)
            if isinstance(statement, str):
                prepared = service.prepare_export(statement)
            else:
                prepared = service.prepare_export(statement.sql, RowRange(0, statement.statement_limit))
            source, query = self._runs.run_on_loop(prepared)
            with _EXPORT_SLOTS, source.stream(query) as (names, results):
                limited_rows = islice(results, source.limits.max_rows)
                notes = service.reading_notes(query)
                count = database_rows_file.write_rows_file(
                    part_path, names, limited_rows, query.sql, on_progress, reading_note_lines(notes)
                )
                export = RowExport(row_count=count, has_more=next(results, None) is not None, reading_notes=notes)
            part_path.replace(path)
        except (RefusedError, ServiceError, ExecutionError) as error:
            return RowExport(error=error.message)
        finally:
            part_path.unlink(missing_ok=True)
        return export

    def load_files(
        self,
        sources: Sequence[tuple[Path, Sequence[FileTable]]],
        on_progress: ProgressCallback = lambda part: None,
        *,
        owner: str = "local",
    ) -> Upload:
        """Store files as tables that their owner can query by the `database` name of the result.

        `on_progress` receives the fraction done, 0 to 1.

        Raises:
            UnreadableTableError: a file is broken or too large.
        """
        return self._services.uploads.add(owner, sources, on_progress)

    def read_files_again(
        self,
        upload_id: str,
        corrections: Mapping[int, Correction],
        on_progress: ProgressCallback = lambda part: None,
        *,
        owner: str = "local",
    ) -> Upload | None:
        """Read the files of an upload again, with corrections by the index of a table in it.

        Returns None if there is no such upload, or its original files were not kept.

        Raises:
            UnreadableTableError: a file cannot be read so; the upload stays as it was.
        """
        return self._services.uploads.read_again(owner, upload_id, corrections, on_progress)

    def uploads(self, *, owner: str = "local") -> tuple[Upload, ...]:
        """List the uploads of an owner, newest first."""
        return self._services.uploads.all(owner)

    def remove_upload(self, upload_id: str, *, owner: str = "local") -> bool:
        """Delete an upload of an owner. Return whether there was one."""
        return self._services.uploads.remove(owner, upload_id)

    def confirm_statement(self, question: str, sql: str, *, database: str = "", owner: str = "local") -> None:
        """Confirm that a statement answers a question to a database.

        From then on it answers the same question, and is an example for similar ones.
        """
        if database_id := self._database_id(database, owner):
            self._services.store.confirm_statement(owner, database_id, question, sql)

    def confirmed_statements(self, *, database: str = "", owner: str = "local") -> Sequence[tuple[str, str]]:
        """Return the owner's questions with confirmed statements, the latest first."""
        return self._services.store.confirmed_statements(owner, self._database_id(database, owner))

    def remove_confirmed_statement(self, question: str, *, database: str = "", owner: str = "local") -> None:
        """Withdraw the confirmation of a question's statement."""
        self._services.store.remove_confirmed_statement(owner, self._database_id(database, owner), question)

    def _database_id(self, database: str, owner: str) -> str:
        """Return the id by which confirmed statements of a database are stored; "" if missing."""
        try:
            return self._services.database(database, owner).database_id
        except ServiceError:
            return ""


def to_database_answer(outcome: Outcome) -> DatabaseAnswer:
    """Convert an outcome to the record that programs read."""
    rows = outcome.rows or QueryResult(sql="", names=(), rows=())
    return DatabaseAnswer(
        status=outcome.status,
        question=outcome.question,
        answer=describe_outcome(outcome),
        rows=tuple(dict(zip(rows.names, row, strict=True)) for row in rows.rows),
        columns=rows.names,
        types=rows.types,
        count=len(rows.rows),
        truncated=rows.truncated,
        sql=rows.sql,
        statement_limit=rows.statement_limit,
        missing=dict(outcome.null_counts),
        coverage=rows.coverage,
        reading_notes=rows.reading_notes,
        author=outcome.author,
        thought_chain=outcome.steps,
    )
