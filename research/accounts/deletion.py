"""Everything of one owner is deleted, and the bytes of it are gone from the files.

Deleted rows leave their bytes in the free room of a file's pages, so each file is written anew
afterwards. Every table says whose its rows are by its columns; those that belong to nobody are named.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Table, bindparam, delete, func, literal_column, or_, select

from research.accounts.storage_usage import CHECKPOINT_TABLES
from research.core.records import Record
from research.sources.library.index import Library
from research.storage import tables
from research.storage.databases import SQLiteDatabase
from research.storage.postgres import PostgresDatabase
from research.storage.sqlite_files import BUSY_TIMEOUT_SECONDS, StoreError
from research.storage.store import Store

log = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 60.0  # seconds that runs under way have to stop
MAX_PARALLEL_DELETIONS = 16  # checkpoints that are deleted at the same time, on a server
# Answers of services without a name; what a key has used today; ended sign-ins, which must stay ended.
OWNERLESS_TABLES = {"lookup", "account", "sign_out"}
_RUN_IS_ACTIVE = tables.run.c.status.in_([literal_column("'queued'"), literal_column("'running'")])
_RUN_OF_OWNER = tables.run.c.owner == bindparam("owner")
_LIST_RUN_IDS = select(tables.run.c.id).where(_RUN_OF_OWNER)
_LIST_ACTIVE_RUN_IDS = _LIST_RUN_IDS.where(_RUN_IS_ACTIVE)
_LIST_CONVERSATION_IDS = select(tables.run.c.conversation).where(_RUN_OF_OWNER)
_COUNT_CONVERSATIONS = select(func.count(func.distinct(tables.run.c.conversation))).where(_RUN_OF_OWNER)
_COUNT_NOTEBOOKS = select(func.count(func.distinct(tables.notebook.c.name))).where(
    tables.notebook.c.owner == bindparam("owner")
)
_DELETE_CACHED_ANSWERS = delete(tables.cached_answer)


class RunControl(Protocol):
    """What works on the runs of a store."""

    @property
    def store(self) -> Store: ...

    def stop(self, run_id: str, *, owner: str) -> Any:
        """Asks a run to stop."""

    def run_on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Waits for something that is done on the loop of the runs."""

    async def delete_checkpoints(self, run_id: str) -> None:
        """Deletes the checkpoints of a run."""

    async def reclaim_checkpoint_space(self) -> None:
        """Gives the room of deleted checkpoints back."""


class RunNotStoppedError(RuntimeError):
    """A run could not be stopped in time. Nothing was deleted."""


class DeletionSummary(Record):
    """What was deleted. `erased` is False where the bytes of it may still be in a file that another
    program was using."""

    runs: int = 0
    conversations: int = 0
    evidence: int = 0
    watches: int = 0
    statements: int = 0
    notes: int = 0
    notebooks: int = 0
    preferences: int = 0
    cached_answers: int = 0
    documents: int = 0
    uploads: int = 0  # sets of tables that were loaded
    reports: int = 0  # files of reports in the data folder
    is_erased: bool = True


def _delete_rows(table: Table) -> Any:
    """Deletes the rows of a table that are an owner's."""
    if table.name == "conversation":
        return delete(table).where(table.c.id.in_(_LIST_CONVERSATION_IDS))
    if "owner" in table.c:
        return delete(table).where(table.c.owner == bindparam("owner"))
    if "run" in table.c:
        return delete(table).where(table.c.run.in_(_LIST_RUN_IDS))
    own = table.c.conversation.in_(_LIST_CONVERSATION_IDS)
    return delete(table).where(or_(own, table.c.conversation == bindparam("places")))


# The runs go last: by them the others are known.
DELETE_STATEMENTS = {
    table.name: _delete_rows(table)
    for table in sorted(tables.metadata.tables.values(), key=lambda table: table.name == "run")
    if table.name not in OWNERLESS_TABLES
}


def delete_owner_data(
    runs: RunControl, owner: str, *, include_caches: bool = False, library: Library | None = None
) -> DeletionSummary:
    """Stops what an owner has under way and deletes all that is the owner's; with `caches`, the
    answers of services that are kept for everybody too, and of a `library` all documents but the
    samples.

    Raises:
        StillRunning: a run does not stop.
        StoreError: the store cannot be used.
    """
    ids, wiped = _delete_when_idle(runs, owner, include_caches=include_caches)
    runs.run_on_loop(_delete_checkpoints(runs, ids))
    documents = library.clear() if library else 0
    erased = _rewrite_databases(runs)
    if library:
        erased = rewrite_file(library.path) and erased
    return wiped.model_copy(update={"documents": documents, "is_erased": erased})


def _delete_when_idle(runs: RunControl, owner: str, *, include_caches: bool) -> tuple[list[str], DeletionSummary]:
    """Deletes the rows at a moment at which none of the owner's runs is under way."""
    database = runs.store.database
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while True:
        _stop_runs(runs, owner, deadline)
        with database.transaction() as work:
            if work.fetch_all(_LIST_ACTIVE_RUN_IDS, owner=owner):  # one has begun meanwhile
                continue
            ids = [str(row[0]) for row in work.fetch_all(_LIST_RUN_IDS, owner=owner)]
            talks = int(work.fetch_all(_COUNT_CONVERSATIONS, owner=owner)[0][0])
            books = int(work.fetch_all(_COUNT_NOTEBOOKS, owner=owner)[0][0])
            places = runs.store.lookup_registry(owner)
            gone = {
                name: work.execute(statement, **_statement_values(name, owner, places))
                for name, statement in DELETE_STATEMENTS.items()
            }
            lookups = work.execute(_DELETE_CACHED_ANSWERS) if include_caches else 0
        return ids, DeletionSummary(
            runs=gone["run"], conversations=talks, evidence=gone["evidence"],
            watches=gone["watch"], statements=gone["pair"], preferences=gone["preference"],
            cached_answers=lookups, notes=gone["remark"], notebooks=books,
        )  # fmt: skip


def _statement_values(name: str, owner: str, registry: str) -> dict[str, object]:
    columns = tables.metadata.tables[name].c
    registered = "conversation" in columns and not {"owner", "run"} & set(columns.keys())
    return {"owner": owner, "places": registry} if registered else {"owner": owner}


def _stop_runs(runs: RunControl, owner: str, deadline: float) -> None:
    """Stops the runs under way and waits for their end."""
    while under_way := runs.store.database.read(_LIST_ACTIVE_RUN_IDS, owner=owner):
        for (run_id,) in under_way:
            runs.stop(str(run_id), owner=owner)
        if time.monotonic() > deadline:
            raise RunNotStoppedError(f"{len(under_way)} runs do not stop")
        time.sleep(0.05)


async def _delete_checkpoints(runs: RunControl, ids: Sequence[str]) -> None:
    turn = asyncio.Semaphore(MAX_PARALLEL_DELETIONS)

    async def clean(run_id: str) -> None:
        async with turn:
            await runs.delete_checkpoints(run_id)

    await asyncio.gather(*map(clean, ids))


# Bytes


def _rewrite_databases(runs: RunControl) -> bool:
    """Writes the store and the checkpoints anew; whether that could be done."""
    database = runs.store.database
    runs.run_on_loop(runs.reclaim_checkpoint_space())
    if isinstance(database, SQLiteDatabase):
        checkpoints = database.path.with_name("checkpoints.db")
        files = [database.path, *([checkpoints] if checkpoints.is_file() else [])]
        done = [rewrite_file(file) for file in files]
        return all(done)
    assert isinstance(database, PostgresDatabase)
    return _rewrite_tables(database)


def rewrite_file(path: Path) -> bool:
    """Writes a SQLite file anew, without anything that was deleted; whether that could be done."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)) as connection:
            connection.execute("vacuum")
            while connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.1)
    except sqlite3.Error as error:
        log.warning("%s could not be written anew: %s", path.name, error)
        return False
    return True


def _rewrite_tables(database: PostgresDatabase) -> bool:
    """The same with the tables of a server, which others may have to wait for."""
    errors: tuple[type[Exception], ...] = (StoreError, *database.driver_errors)
    try:
        with closing(database.connect()) as connection:
            connection.execute("set lock_timeout = '10s'")
            for name in (*tables.metadata.tables, *CHECKPOINT_TABLES):
                if connection.execute("select to_regclass(%s)", (name,)).fetchone()[0]:
                    connection.execute(f"vacuum (full) {name}")  # a name of ours
    except errors as error:
        log.warning("the tables could not be written anew: %s", type(error).__name__)
        return False
    return True
