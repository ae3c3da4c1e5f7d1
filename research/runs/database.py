"""Questions to the database for programs: one call, and all that it has come to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from research import runs as engine
from research.attached import SHIPPED
from research.database import files, semantics
from research.database.agent import Outcome, Status
from research.database.answer import told
from research.database.files import Correction, FileTable, Say
from research.database.refusals import Refused
from research.database.results import Failed, Part
from research.database.semantics import SemanticModel
from research.database.uploads import Upload
from research.records import Failure, Known, Language, Record, Rows, Step, silent
from research.trouble import Trouble

_AT_ONCE = threading.BoundedSemaphore(2)  # exports, of all owners


class DatabaseAnswer(Record):
    """What the database says to a question.

    `status` is answered, partial (something is NULL; `missing` names the columns and how many rows
    lack them), empty, unclear (`answer` asks back), no model (only a model could write the SQL; `answer`
    names saved questions), refused or failed (`answer` says why). `rows` are objects by the names of the
    columns, `count` how many there are, `truncated` whether there were more. `coverage` tells for how many rows the columns are known that the statement compares, where
    some are unknown. `sql` is the text that was run, `thought_chain` every step on the way.
    """

    status: Status
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
    coverage: tuple[Known, ...] = ()
    author: str = ""  # the model that wrote the statement, "" for rules
    thought_chain: tuple[Step, ...] = ()


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
    here = engine.desk()
    try:
        with here.personal.open(owner) as (services, _):
            asked = services.database(database, owner)
            outcome = here.runs.do(asked.ask(question.strip(), silent, owner))
    except Trouble as trouble:
        outcome = Outcome(status="failed", question=question, problem=trouble.message)
    return answered(outcome)


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
    here = engine.desk()
    settings = here.settings
    listed = [
        DatabaseEntry(name=one.name, kind="listed", description=dict(one.description))
        for one in settings.databases
    ]
    shipped = DatabaseEntry(name=SHIPPED, kind="shipped")
    files = [
        DatabaseEntry(name=one.database, kind="files", title=", ".join(one.names))
        for one in here.services.uploads.all(owner)
    ]
    wrong = [
        DatabaseEntry(name=one.name, kind="listed", wrong=one.why) for one in settings.listed.wrong
    ]
    usable = [
        one.model_copy(update={"default": one.name == settings.default_database})
        for one in (*listed, shipped)
    ]
    return (*usable, *files, *wrong)


class DatabaseColumn(Record):
    """A column: its type as the database names it, what it means, and its values where they are few."""

    name: str
    type: str
    comment: str = ""
    key: bool = False
    refers: str = ""  # "table.column"
    values: tuple[str, ...] = ()


class DatabaseTable(Record):
    """A table or a view that can be asked."""

    name: str
    columns: tuple[DatabaseColumn, ...]
    comment: str = ""
    view: bool = False


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
    here = engine.desk()
    title = ""
    try:
        asked = here.services.database(database, owner)
        title = asked.title
        schema = here.runs.do(asked.tables())
        privileges = here.runs.do(asked.privileges())
    except Trouble as trouble:
        return DatabaseSchema(title=title, failure=trouble.failure("search", "database"))
    tables = tuple(
        DatabaseTable(
            name=table.called,
            comment=table.comment,
            view=table.view,
            columns=tuple(
                DatabaseColumn(
                    name=column.name,
                    type=column.type,
                    comment=column.comment,
                    key=column.key,
                    refers=column.refers,
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
    whose: Literal["owner", "desk", "draft"] = "draft"
    problem: str = ""
    failure: Failure | None = None


def database_description(database: str = "", *, owner: str = "local") -> DatabaseDescription:
    """What a database means to an owner. The one that ships needs no description."""
    here = engine.desk()
    try:
        asked = here.services.database(database, owner)
        found = here.runs.do(asked.described(owner))
    except Trouble as trouble:
        return DatabaseDescription(failure=trouble.failure("search", "database"))
    return DatabaseDescription(
        model=found.model, text=found.text, whose=found.whose, problem=found.problem
    )


def describe_database(
    text: str | SemanticModel, database: str = "", *, owner: str = "local"
) -> str:
    """Keeps what an owner says a database means: the text of a YAML file, or a model. Returns why it cannot
    be used, with what was kept before unchanged; "" if it can.

    Raises:
        Trouble: the database cannot be used.
        OSError: it cannot be kept.
    """
    here = engine.desk()
    asked = here.services.database(database, owner)
    schema = here.runs.do(asked.tables())
    given = text if isinstance(text, str) else semantics.dumped(text)
    try:
        semantics.loaded(given, schema)
    except semantics.Unusable as error:
        return str(error)
    here.services.descriptions.put(owner, asked.base, given)
    return ""


def undescribe_database(database: str = "", *, owner: str = "local") -> bool:
    """Forgets what an owner has said of a database; whether there was something."""
    here = engine.desk()
    return here.services.descriptions.remove(owner, here.services.database(database, owner).base)


def answered(outcome: Outcome) -> DatabaseAnswer:
    """An outcome as programs read it."""
    rows = outcome.rows
    return DatabaseAnswer(
        status=outcome.status,
        question=outcome.question,
        answer=told(outcome),
        rows=tuple(dict(zip(rows.names, row, strict=True)) for row in rows.rows) if rows else (),
        columns=rows.names if rows else (),
        types=rows.types if rows else (),
        count=len(rows.rows) if rows else 0,
        truncated=bool(rows and rows.truncated),
        sql=rows.sql if rows else "",
        most=rows.most if rows else None,
        missing=dict(outcome.missing),
        coverage=rows.coverage if rows else (),
        author=outcome.author,
        thought_chain=outcome.steps,
    )


def query_database(sql: str, *, database: str = "", owner: str = "local") -> DatabaseAnswer:
    """Runs a statement of one's own through the same guard and engine. A refusal and a failure are
    answers with that status."""
    here = engine.desk()
    try:
        outcome = here.runs.do(here.services.database(database, owner).query(sql, silent))
    except Trouble as trouble:
        outcome = Outcome(status="failed", question=sql, problem=trouble.message)
    return answered(outcome)


class DatabasePage(Record):
    """Further rows of a statement. Without `ordered`, nothing says which rows are on which page.
    `failure` says why there are none."""

    rows: Rows | None = None
    ordered: bool = True
    failure: str = ""


def database_page(
    rows: Rows, page: int, *, database: str = "", owner: str = "local"
) -> DatabasePage:
    """A page, from 1, of the rows of a statement whose first ones are known: the next statement of the
    same text, by the same guard. They are read now, and are no part of any run."""
    here = engine.desk()
    try:
        found, ordered = here.runs.do(here.services.database(database, owner).page(rows, page))
    except (Refused, Trouble) as error:
        return DatabasePage(failure=error.message)
    return DatabasePage(rows=found, ordered=ordered)


class Exported(Record):
    """What has become of an export: how many rows the file has, and whether there are `more`. With a
    `failure`, which says why, there is no file."""

    rows: int = 0
    more: bool = False
    failure: str = ""


def export_rows(
    statement: str | Rows | DatabaseAnswer,
    path: Path,
    say: Callable[[int], None] = lambda rows: None,
    *,
    database: str = "",
    owner: str = "local",
) -> Exported:
    """Writes all rows of a statement, up to a million, into a file: .csv, .xlsx or .parquet. They are
    read and written one batch after the other, within five minutes; `say` is told how many there are
    so far. Rows that were found stand for their statement.

    Raises:
        ValueError: there is no such kind of file.
        OSError: the file cannot be written.
    """
    from research.report import rowfiles  # brings writers of files

    if path.suffix.lower() not in rowfiles.KINDS:
        raise ValueError(f"{path.name} is none of {', '.join(rowfiles.KINDS)}.")
    here = engine.desk()
    made = path.with_name(f".{path.stem}.part{path.suffix}")  # there whole or not at all
    try:
        asked = here.services.database(database, owner)
        if isinstance(statement, str):
            source, query = here.runs.do(asked.exporting(statement))
        else:
            part = Part(0, statement.most)
            source, query = here.runs.do(asked.exporting(statement.sql, part))
        with _AT_ONCE, source.stream(query) as (names, found):
            kept = islice(found, source.limits.rows)
            count = rowfiles.write(made, names, kept, query.text, say)
            out = Exported(rows=count, more=next(found, None) is not None)
        made.replace(path)
    except Refused as refused:
        return Exported(failure=refused.message)
    except Trouble as error:
        return Exported(failure=error.message)
    except Failed as failed:
        return Exported(failure=failed.message)
    finally:
        made.unlink(missing_ok=True)
    return out


def recognise_file(
    path: Path, name: str = "", corrections: Mapping[str, Correction] | None = None
) -> tuple[FileTable, ...]:
    """The tables of a file (CSV, TSV, Excel, Parquet or JSON lines), for correction before `load_files`.

    `name` is what it was called, "" for the name it has; corrections are by the sheet, "" for a file
    that has none.

    Raises:
        Unreadable: it has none, or is too large.
    """
    return files.recognise(path, name or path.name, corrections)


def load_files(
    sources: Sequence[tuple[Path, Sequence[FileTable]]],
    say: Say = lambda part: None,
    *,
    owner: str = "local",
) -> Upload:
    """Keeps files as tables that their owner can ask: pass its `database` by that name. `say` is told how much is
    done, 0 to 1.

    Raises:
        Unreadable: one of them is broken or too large.
    """
    return engine.desk().services.uploads.add(owner, sources, say)


def uploads(*, owner: str = "local") -> tuple[Upload, ...]:
    """What an owner has loaded, the newest first."""
    return engine.desk().services.uploads.all(owner)


def remove_upload(upload: str, *, owner: str = "local") -> bool:
    """Deletes an upload of an owner; whether there was one."""
    return engine.desk().services.uploads.remove(owner, upload)
