"""Questions to the database for programs: one call, and all that it has come to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from research import application as engine
from research.core.database_config import SHIPPED_DATABASE
from research.core.errors import ServiceError
from research.core.records import ColumnCoverage, DatabaseStep, Failure, Language, QueryResult, Record, ignore_event
from research.readers import table_files
from research.readers.table_files import Correction, FileTable, ProgressCallback
from research.sources.database import semantic_model
from research.sources.database.agent import Outcome, OutcomeStatus
from research.sources.database.outcome_text import describe_outcome
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, RowRange
from research.sources.database.semantic_model import SemanticModel
from research.sources.database.uploads import Upload

_EXPORT_SLOTS = threading.BoundedSemaphore(2)  # exports, of all owners


class DatabaseAnswer(Record):
    """What the database says to a question.

    `status` is answered, partial (something is NULL; `missing` names the columns and how many rows
    lack them), empty, unclear (`answer` asks back), no model (only a model could write the SQL; `answer`
    names saved questions), refused or failed (`answer` says why). `rows` are objects by the names of the
    columns, `count` how many there are, `truncated` whether there were more. `coverage` tells for how many rows the columns are known that the statement compares, where
    some are unknown. `sql` is the text that was run, `thought_chain` every step on the way.
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
    most: int | None = None  # the statement's own LIMIT; the one in `sql` may be ours
    missing: dict[str, int] = Field(default_factory=dict)
    coverage: tuple[ColumnCoverage, ...] = ()
    author: str = ""  # the model that wrote the statement, "" for rules
    thought_chain: tuple[DatabaseStep, ...] = ()


def ask_database(question: str, *, database: str = "", owner: str = "local") -> DatabaseAnswer:
    """Puts a question to a database, in Chinese or English, and returns what it says.

    The database is one of `databases` by its name, "" for the usual one; nothing is ever written to
    it. A confirmed statement answers its question again, rules answer common questions about the scenic
    areas, and a model writes the SQL for all others.

    Raises:
        ValueError: there is no question.
        SettingError: a setting is not usable.
    """
    if not question.strip():
        raise ValueError("There is no question.")
    here = engine.get_application()
    try:
        with here.owner_services.open_services(owner) as (services, _):
            asked = services.database(database, owner)
            outcome = here.runs.run_on_loop(asked.ask(question.strip(), ignore_event, owner))
    except ServiceError as trouble:
        outcome = Outcome(status="failed", question=question, problem=trouble.message)
    return to_database_answer(outcome)


class DatabaseEntry(Record):
    """A database that can be asked by its name: the one that ships, one of the desk's, or somebody's
    own files. `default` is the one that is asked where none is chosen. One that cannot be used has
    `wrong`, which says why."""

    name: str
    kind: Literal["shipped", "listed", "files"]
    title: str = ""  # of files, their names
    description: dict[Language, str] = Field(default_factory=dict)
    default: bool = False
    wrong: str = ""


def databases(*, owner: str = "local") -> tuple[DatabaseEntry, ...]:
    """The databases that an owner can ask: those of the desk, the one that ships, the owner's files."""
    here = engine.get_application()
    settings = here.settings
    listed = [
        DatabaseEntry(name=one.name, kind="listed", description=dict(one.description)) for one in settings.databases
    ]
    shipped = DatabaseEntry(name=SHIPPED_DATABASE, kind="shipped")
    files = [
        DatabaseEntry(name=one.database, kind="files", title=", ".join(one.names))
        for one in here.services.uploads.all(owner)
    ]
    wrong = [DatabaseEntry(name=one.name, kind="listed", wrong=one.reason) for one in settings.listed.invalid]
    usable = [one.model_copy(update={"default": one.name == settings.default_database}) for one in (*listed, shipped)]
    return (*usable, *files, *wrong)


class DatabaseColumn(Record):
    """A column: its type as the database names it, what it means, and its values where they are few."""

    name: str
    type: str
    comment: str = ""
    is_key: bool = False
    references: str = ""  # "table.column"
    values: tuple[str, ...] = ()


class DatabaseTable(Record):
    """A table or a view that can be asked."""

    name: str
    columns: tuple[DatabaseColumn, ...]
    comment: str = ""
    is_view: bool = False


class DatabaseSchema(Record):
    """What can be asked: `title` is "" for the database that ships. `privileges` is "" where the
    address allows no more than reading, else write or superuser. `unreadable` are tables, views and
    columns that are left out because the database cannot read them, with its reasons. `failure` says
    why nothing can be told."""

    title: str = ""
    dialect: str = ""
    tables: tuple[DatabaseTable, ...] = ()
    privileges: str = ""
    unreadable: dict[str, str] = Field(default_factory=dict)
    failure: Failure | None = None


def database_schema(database: str = "", *, owner: str = "local") -> DatabaseSchema:
    """The tables of a database, "" for the usual one. One that cannot be used is a schema with a
    failure."""
    here = engine.get_application()
    title = ""
    try:
        asked = here.services.database(database, owner)
        title = asked.title
        schema = here.runs.run_on_loop(asked.read_schema())
        privileges = here.runs.run_on_loop(asked.privileges())
    except ServiceError as trouble:
        return DatabaseSchema(title=title, failure=trouble.to_failure("search", "database"))
    tables = tuple(
        DatabaseTable(
            name=table.qualified_name,
            comment=table.comment,
            is_view=table.is_view,
            columns=tuple(
                DatabaseColumn(
                    name=column.name,
                    type=column.type,
                    comment=column.comment,
                    is_key=column.is_key,
                    references=column.reference,
                    values=column.values,
                )
                for column in table.columns
            ),
        )
        for table in schema.tables
    )
    return DatabaseSchema(
        title=title,
        dialect=schema.dialect,
        tables=tables,
        privileges=privileges,
        unreadable={each.name: each.reason for each in schema.unreadable},
    )


class DatabaseDescription(Record):
    """What a database is taken to mean: the semantic model, and its text as a YAML file. `whose` is owner
    (edited by this owner), desk (a file for everybody) or draft (made from the schema). `problem` says why
    a text that is there cannot be used; `failure` why nothing can be told."""

    model: SemanticModel = SemanticModel()
    text: str = ""
    origin: Literal["owner", "desk", "draft"] = "draft"
    problem: str = ""
    failure: Failure | None = None


def database_description(database: str = "", *, owner: str = "local") -> DatabaseDescription:
    """What a database means to an owner. The one that ships needs no description."""
    here = engine.get_application()
    try:
        asked = here.services.database(database, owner)
        found = here.runs.run_on_loop(asked.describe_model(owner))
    except ServiceError as trouble:
        return DatabaseDescription(failure=trouble.to_failure("search", "database"))
    return DatabaseDescription(model=found.model, text=found.text, origin=found.origin, problem=found.problem)


def save_database_description(text: str | SemanticModel, database: str = "", *, owner: str = "local") -> str:
    """Keeps what an owner says a database means: the text of a YAML file, or a model. Returns why it cannot
    be used, with what was kept before unchanged; "" if it can.

    Raises:
        Trouble: the database cannot be used.
        OSError: it cannot be kept.
    """
    here = engine.get_application()
    asked = here.services.database(database, owner)
    schema = here.runs.run_on_loop(asked.read_schema())
    given = text if isinstance(text, str) else semantic_model.dump_model(text)
    try:
        semantic_model.parse_model(given, schema)
    except semantic_model.SemanticModelError as error:
        return str(error)
    here.services.descriptions.save(owner, asked.database_id, given)
    return ""


def delete_database_description(database: str = "", *, owner: str = "local") -> bool:
    """Forgets what an owner has said of a database; whether there was something."""
    here = engine.get_application()
    return here.services.descriptions.remove(owner, here.services.database(database, owner).database_id)


def to_database_answer(outcome: Outcome) -> DatabaseAnswer:
    """An outcome as programs read it."""
    rows = outcome.rows
    return DatabaseAnswer(
        status=outcome.status,
        question=outcome.question,
        answer=describe_outcome(outcome),
        rows=tuple(dict(zip(rows.names, row, strict=True)) for row in rows.rows) if rows else (),
        columns=rows.names if rows else (),
        types=rows.types if rows else (),
        count=len(rows.rows) if rows else 0,
        truncated=bool(rows and rows.truncated),
        sql=rows.sql if rows else "",
        most=rows.most if rows else None,
        missing=dict(outcome.null_counts),
        coverage=rows.coverage if rows else (),
        author=outcome.author,
        thought_chain=outcome.steps,
    )


def query_database(sql: str, *, database: str = "", owner: str = "local") -> DatabaseAnswer:
    """Runs a statement of one's own through the same guard and engine. A refusal and a failure are
    answers with that status."""
    here = engine.get_application()
    try:
        outcome = here.runs.run_on_loop(here.services.database(database, owner).run_statement(sql, ignore_event))
    except ServiceError as trouble:
        outcome = Outcome(status="failed", question=sql, problem=trouble.message)
    return to_database_answer(outcome)


class DatabasePage(Record):
    """Further rows of a statement. Without `ordered`, nothing says which rows are on which page.
    `failure` says why there are none."""

    rows: QueryResult | None = None
    is_ordered: bool = True
    error: str = ""


def read_database_page(rows: QueryResult, page: int, *, database: str = "", owner: str = "local") -> DatabasePage:
    """A page, from 1, of the rows of a statement whose first ones are known: the next statement of the
    same text, by the same guard. They are read now, and are no part of any run."""
    here = engine.get_application()
    try:
        found, ordered = here.runs.run_on_loop(here.services.database(database, owner).read_page(rows, page))
    except (RefusedError, ServiceError) as error:
        return DatabasePage(error=error.message)
    return DatabasePage(rows=found, is_ordered=ordered)


class RowExport(Record):
    """What has become of an export: how many rows the file has, and whether there are `more`. With a
    `failure`, which says why, there is no file."""

    row_count: int = 0
    has_more: bool = False
    error: str = ""


def export_rows(
    statement: str | QueryResult | DatabaseAnswer,
    path: Path,
    on_progress: Callable[[int], None] = lambda rows: None,
    *,
    database: str = "",
    owner: str = "local",
) -> RowExport:
    """Writes all rows of a statement, up to a million, into a file: .csv, .xlsx or .parquet. They are
    read and written one batch after the other, within five minutes; `say` is told how many there are
    so far. Rows that were found stand for their statement.

    Raises:
        ValueError: there is no such kind of file.
        OSError: the file cannot be written.
    """
    from research.export import database_rows_file  # brings writers of files

    if path.suffix.lower() not in database_rows_file.ROW_FILE_SUFFIXES:
        raise ValueError(f"{path.name} is none of {', '.join(database_rows_file.ROW_FILE_SUFFIXES)}.")
    here = engine.get_application()
    made = path.with_name(f".{path.stem}.part{path.suffix}")  # there whole or not at all
    try:
        asked = here.services.database(database, owner)
        if isinstance(statement, str):
            source, query = here.runs.run_on_loop(asked.prepare_export(statement))
        else:
            part = RowRange(0, statement.most)
            source, query = here.runs.run_on_loop(asked.prepare_export(statement.sql, part))
        with _EXPORT_SLOTS, source.stream(query) as (names, found):
            kept = islice(found, source.limits.max_rows)
            count = database_rows_file.write_rows_file(made, names, kept, query.sql, on_progress)
            out = RowExport(row_count=count, has_more=next(found, None) is not None)
        made.replace(path)
    except RefusedError as refused:
        return RowExport(error=refused.message)
    except ServiceError as error:
        return RowExport(error=error.message)
    except ExecutionError as failed:
        return RowExport(error=failed.message)
    finally:
        made.unlink(missing_ok=True)
    return out


def detect_tables(
    path: Path, name: str = "", corrections: Mapping[str, Correction] | None = None
) -> tuple[FileTable, ...]:
    """The tables of a file (CSV, TSV, Excel, Parquet or JSON lines), for correction before `load_files`.

    `name` is what it was called, "" for the name it has; corrections are by the sheet, "" for a file
    that has none.

    Raises:
        Unreadable: it has none, or is too large.
    """
    return table_files.recognise_tables(path, name or path.name, corrections)


def load_files(
    sources: Sequence[tuple[Path, Sequence[FileTable]]],
    on_progress: ProgressCallback = lambda part: None,
    *,
    owner: str = "local",
) -> Upload:
    """Keeps files as tables that their owner can ask: pass its `database` by that name. `say` is told how much is
    done, 0 to 1.

    Raises:
        Unreadable: one of them is broken or too large.
    """
    return engine.get_application().services.uploads.add(owner, sources, on_progress)


def uploads(*, owner: str = "local") -> tuple[Upload, ...]:
    """What an owner has loaded, the newest first."""
    return engine.get_application().services.uploads.all(owner)


def remove_upload(upload_id: str, *, owner: str = "local") -> bool:
    """Deletes an upload of an owner; whether there was one."""
    return engine.get_application().services.uploads.remove(owner, upload_id)
