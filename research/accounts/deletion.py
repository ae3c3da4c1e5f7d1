"""Deletion of all data of an owner, including the bytes left in the files.

Deleted rows leave their bytes in the free space of database pages, so each file is rewritten
afterwards. The columns of each table determine the owner of its rows; tables without owners are
listed in `OWNERLESS_TABLES`.
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

from sqlalchemy import Table, bindparam, delete, func, or_, select

from research.accounts.storage_usage import CHECKPOINT_TABLES
from research.core.records import Record
from research.sources.library.index import Library
from research.storage import tables
from research.storage.checkpoints import checkpoint_file
from research.storage.databases import SQLiteDatabase
from research.storage.postgres import PostgresDatabase
from research.storage.sqlite_files import BUSY_TIMEOUT_SECONDS, StoreError, connect_existing
from research.storage.statements import RUN_IS_ACTIVE, RUN_OF_OWNER
from research.storage.store import Store

log = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 60.0  # seconds for runs under way to stop
MAX_PARALLEL_DELETIONS = 16  # checkpoint deletions at the same time on a server
# The cached answers of services, today's usage of keys, and the sign-outs, which must stay.
OWNERLESS_TABLES = {"lookup", "account", "sign_out"}
_LIST_RUN_IDS = select(tables.run.c.id).where(RUN_OF_OWNER)
_LIST_ACTIVE_RUN_IDS = _LIST_RUN_IDS.where(RUN_IS_ACTIVE)
_LIST_CONVERSATION_IDS = select(tables.run.c.conversation).where(RUN_OF_OWNER)
_COUNT_CONVERSATIONS = select(func.count(func.distinct(tables.run.c.conversation))).where(RUN_OF_OWNER)
_COUNT_NOTEBOOKS = select(func.count(func.distinct(tables.notebook.c.name))).where(
    tables.notebook.c.owner == bindparam("owner")
)
_DELETE_CACHED_ANSWERS = delete(tables.cached_answer)


class RunControl(Protocol):
    """The part of a run manager that deletion uses."""

    @property
    def store(self) -> Store: ...

    def stop(self, run_id: str, *, owner: str) -> Any:
        """Request that a run stops."""

    def run_on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop of the runs and wait for it."""

    async def delete_checkpoints(self, run_id: str) -> None:
        """Delete the checkpoints of a run."""

    async def reclaim_checkpoint_space(self) -> None:
        """Return the disk space of deleted checkpoints."""


class RunNotStoppedError(RuntimeError):
    """A run did not stop in time. Nothing was deleted."""


class DeletionSummary(Record):
    """The numbers of deleted records.

    `is_erased` is False where their bytes may remain in a file that another program was using.
    """

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
    uploads: int = 0  # uploaded sets of tables
    reports: int = 0  # report files in the data folder
    is_erased: bool = True


def _delete_rows(table: Table) -> Any:
    """Build the statement that deletes an owner's rows of a table."""
    if table.name == "conversation":
        return delete(table).where(table.c.id.in_(_LIST_CONVERSATION_IDS))
    if "owner" in table.c:
        return delete(table).where(table.c.owner == bindparam("owner"))
    if "run" in table.c:
        return delete(table).where(table.c.run.in_(_LIST_RUN_IDS))
    in_own_conversation = table.c.conversation.in_(_LIST_CONVERSATION_IDS)
    return delete(table).where(or_(in_own_conversation, table.c.conversation == bindparam("places")))


# Runs are deleted last, because the other statements look them up.
DELETE_STATEMENTS = {
    table.name: _delete_rows(table)
    for table in sorted(tables.metadata.tables.values(), key=lambda table: table.name == "run")
    if table.name not in OWNERLESS_TABLES
}


def delete_owner_data(
    runs: RunControl, owner: str, *, include_caches: bool = False, library: Library | None = None
) -> DeletionSummary:
    """Stop the runs of an owner and delete all of the owner's data.

    With `include_caches`, cached service answers of all owners are deleted too; of a `library`, all
    documents but the samples.

    Raises:
        RunNotStoppedError: a run does not stop.
        StoreError: the store cannot be used.
    """
    ids, summary = _delete_when_idle(runs, owner, include_caches=include_caches)
    runs.run_on_loop(_delete_checkpoints(runs, ids))
    documents = library.clear() if library else 0
    is_erased = _rewrite_databases(runs)
    if library:
        is_erased = rewrite_file(library.path) and is_erased
    return summary.model_copy(update={"documents": documents, "is_erased": is_erased})


def _delete_when_idle(runs: RunControl, owner: str, *, include_caches: bool) -> tuple[list[str], DeletionSummary]:
    """Delete the rows in a transaction during which none of the owner's runs is under way."""
    database = runs.store.database
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while True:
        _stop_runs(runs, owner, deadline)
        with database.transaction() as transaction:
            if transaction.fetch_all(_LIST_ACTIVE_RUN_IDS, owner=owner):  # a run has started meanwhile
                continue
            ids = [str(row[0]) for row in transaction.fetch_all(_LIST_RUN_IDS, owner=owner)]
            conversations = int(transaction.fetch_all(_COUNT_CONVERSATIONS, owner=owner)[0][0])
            notebooks = int(transaction.fetch_all(_COUNT_NOTEBOOKS, owner=owner)[0][0])
            places = runs.store.place_registry(owner)
            counts = {
                name: transaction.execute(statement, **_statement_values(name, owner, places))
                for name, statement in DELETE_STATEMENTS.items()
            }
            lookups = transaction.execute(_DELETE_CACHED_ANSWERS) if include_caches else 0
        return ids, DeletionSummary(
            runs=counts["run"], conversations=conversations, evidence=counts["evidence"],
            watches=counts["watch"], statements=counts["pair"], preferences=counts["preference"],
            cached_answers=lookups, notes=counts["remark"], notebooks=notebooks,
        )  # fmt: skip


def _statement_values(table_name: str, owner: str, registry: str) -> dict[str, object]:
    """Return the parameters of the statement that `_delete_rows` built for a table."""
    columns = tables.metadata.tables[table_name].c
    has_registry = "conversation" in columns and not {"owner", "run"} & set(columns.keys())
    return {"owner": owner, "places": registry} if has_registry else {"owner": owner}


def _stop_runs(runs: RunControl, owner: str, deadline: float) -> None:
    """Stop the runs under way and wait until they have ended.

    Raises:
        RunNotStoppedError: the deadline has passed.
    """
    while active := runs.store.database.read(_LIST_ACTIVE_RUN_IDS, owner=owner):
        for (run_id,) in active:
            runs.stop(str(run_id), owner=owner)
        if time.monotonic() > deadline:
            raise RunNotStoppedError(f"{len(active)} runs do not stop")
        time.sleep(0.05)


async def _delete_checkpoints(runs: RunControl, ids: Sequence[str]) -> None:
    slots = asyncio.Semaphore(MAX_PARALLEL_DELETIONS)

    async def delete_one(run_id: str) -> None:
        async with slots:
            await runs.delete_checkpoints(run_id)

    await asyncio.gather(*map(delete_one, ids))


# Bytes in the files


def _rewrite_databases(runs: RunControl) -> bool:
    """Rewrite the store and the checkpoints. Return whether that succeeded."""
    database = runs.store.database
    runs.run_on_loop(runs.reclaim_checkpoint_space())
    if isinstance(database, SQLiteDatabase):
        checkpoints = checkpoint_file(database)
        files = [database.path, *([checkpoints] if checkpoints.is_file() else [])]
        results = [rewrite_file(file) for file in files]
        return all(results)
    assert isinstance(database, PostgresDatabase)
    return _rewrite_tables(database)


def rewrite_file(path: Path) -> bool:
    """Rewrite a SQLite file without its deleted content. Return whether that succeeded."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    try:
        with closing(connect_existing(path, BUSY_TIMEOUT_SECONDS)) as connection:
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
    """Rewrite the tables on a PostgreSQL server. Return whether that succeeded.

    Each table is locked meanwhile, so others may have to wait.
    """
    errors: tuple[type[Exception], ...] = (StoreError, *database.driver_errors)
    try:
        with closing(database.connect()) as connection:
            connection.execute("set lock_timeout = '10s'")
            for name in (*tables.metadata.tables, *CHECKPOINT_TABLES):
                if connection.execute("select to_regclass(%s)", (name,)).fetchone()[0]:
                    connection.execute(f"vacuum (full) {name}")  # the name is a constant of ours
    except errors as error:
        log.warning("the tables could not be written anew: %s", type(error).__name__)
        return False
    return True
