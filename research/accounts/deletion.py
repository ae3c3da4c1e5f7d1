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

from research.accounts.inventory import CHECKPOINTS
from research.core.records import Record
from research.sources.library.index import Library
from research.storage import tables
from research.storage.databases import File
from research.storage.files import BUSY_SECONDS, StoreError
from research.storage.postgres import Server
from research.storage.store import Store

log = logging.getLogger(__name__)

PATIENCE = 60.0  # seconds that runs under way have to stop
AT_ONCE = 16  # checkpoints that are deleted at the same time, on a server
# Answers of services without a name; what a key has used today; ended sign-ins, which must stay ended.
NOBODYS = {"lookup", "account", "sign_out"}
_ACTIVE = tables.run.c.status.in_([literal_column("'queued'"), literal_column("'running'")])
_OWNER = tables.run.c.owner == bindparam("owner")
_IDS = select(tables.run.c.id).where(_OWNER)
_UNDER_WAY = _IDS.where(_ACTIVE)
_TALKS = select(tables.run.c.conversation).where(_OWNER)
_COUNT_TALKS = select(func.count(func.distinct(tables.run.c.conversation))).where(_OWNER)
_COUNT_BOOKS = select(func.count(func.distinct(tables.notebook.c.name))).where(
    tables.notebook.c.owner == bindparam("owner")
)
_LOOKUPS = delete(tables.lookup)


class Runs(Protocol):
    """What works on the runs of a store."""

    @property
    def store(self) -> Store: ...

    def stop(self, run_id: str, *, owner: str) -> Any:
        """Asks a run to stop."""

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Waits for something that is done on the loop of the runs."""

    async def _clean(self, run_id: str) -> None:
        """Deletes the checkpoints of a run."""

    async def _reclaim(self) -> None:
        """Gives the room of deleted checkpoints back."""


class StillRunning(RuntimeError):
    """A run could not be stopped in time. Nothing was deleted."""


class Wiped(Record):
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
    lookups: int = 0
    documents: int = 0
    files: int = 0  # sets of tables that were loaded
    reports: int = 0  # files of reports in the data folder
    erased: bool = True


def _owned(table: Table) -> Any:
    """Deletes the rows of a table that are an owner's."""
    if table.name == "conversation":
        return delete(table).where(table.c.id.in_(_TALKS))
    if "owner" in table.c:
        return delete(table).where(table.c.owner == bindparam("owner"))
    if "run" in table.c:
        return delete(table).where(table.c.run.in_(_IDS))
    own = table.c.conversation.in_(_TALKS)
    return delete(table).where(or_(own, table.c.conversation == bindparam("places")))


# The runs go last: by them the others are known.
DELETE = {
    table.name: _owned(table)
    for table in sorted(tables.tables.tables.values(), key=lambda table: table.name == "run")
    if table.name not in NOBODYS
}


def wipe(runs: Runs, owner: str, *, caches: bool = False, library: Library | None = None) -> Wiped:
    """Stops what an owner has under way and deletes all that is the owner's; with `caches`, the
    answers of services that are kept for everybody too, and of a `library` all documents but the
    samples.

    Raises:
        StillRunning: a run does not stop.
        StoreError: the store cannot be used.
    """
    ids, wiped = _deleted(runs, owner, caches=caches)
    runs.do(_without_checkpoints(runs, ids))
    documents = library.clear() if library else 0
    erased = _scoured(runs)
    if library:
        erased = scour(library.path) and erased
    return wiped.model_copy(update={"documents": documents, "erased": erased})


def _deleted(runs: Runs, owner: str, *, caches: bool) -> tuple[list[str], Wiped]:
    """Deletes the rows at a moment at which none of the owner's runs is under way."""
    database = runs.store.database
    deadline = time.monotonic() + PATIENCE
    while True:
        _stop(runs, owner, deadline)
        with database.write() as work:
            if work.all(_UNDER_WAY, owner=owner):  # one has begun meanwhile
                continue
            ids = [str(row[0]) for row in work.all(_IDS, owner=owner)]
            talks = int(work.all(_COUNT_TALKS, owner=owner)[0][0])
            books = int(work.all(_COUNT_BOOKS, owner=owner)[0][0])
            places = runs.store.look_ups(owner)
            gone = {
                name: work.do(statement, **_values(name, owner, places))
                for name, statement in DELETE.items()
            }
            lookups = work.do(_LOOKUPS) if caches else 0
        return ids, Wiped(
            runs=gone["run"], conversations=talks, evidence=gone["evidence"],
            watches=gone["watch"], statements=gone["pair"], preferences=gone["preference"],
            lookups=lookups, notes=gone["remark"], notebooks=books,
        )  # fmt: skip


def _values(name: str, owner: str, places: str) -> dict[str, object]:
    columns = tables.tables.tables[name].c
    registered = "conversation" in columns and not {"owner", "run"} & set(columns.keys())
    return {"owner": owner, "places": places} if registered else {"owner": owner}


def _stop(runs: Runs, owner: str, deadline: float) -> None:
    """Stops the runs under way and waits for their end."""
    while under_way := runs.store.database.read(_UNDER_WAY, owner=owner):
        for (run_id,) in under_way:
            runs.stop(str(run_id), owner=owner)
        if time.monotonic() > deadline:
            raise StillRunning(f"{len(under_way)} runs do not stop")
        time.sleep(0.05)


async def _without_checkpoints(runs: Runs, ids: Sequence[str]) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def clean(run_id: str) -> None:
        async with turn:
            await runs._clean(run_id)

    await asyncio.gather(*map(clean, ids))


# Bytes


def _scoured(runs: Runs) -> bool:
    """Writes the store and the checkpoints anew; whether that could be done."""
    database = runs.store.database
    runs.do(runs._reclaim())
    if isinstance(database, File):
        checkpoints = database.path.with_name("checkpoints.db")
        files = [database.path, *([checkpoints] if checkpoints.is_file() else [])]
        done = [scour(file) for file in files]
        return all(done)
    assert isinstance(database, Server)
    return _on_server(database)


def scour(path: Path) -> bool:
    """Writes a SQLite file anew, without anything that was deleted; whether that could be done."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    deadline = time.monotonic() + BUSY_SECONDS
    try:
        with closing(
            sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("vacuum")
            while connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.1)
    except sqlite3.Error as error:
        log.warning("%s could not be written anew: %s", path.name, error)
        return False
    return True


def _on_server(server: Server) -> bool:
    """The same with the tables of a server, which others may have to wait for."""
    errors: tuple[type[Exception], ...] = (StoreError, *server.errors)
    try:
        with closing(server.connect()) as connection:
            connection.execute("set lock_timeout = '10s'")
            for name in (*tables.tables.tables, *CHECKPOINTS):
                if connection.execute("select to_regclass(%s)", (name,)).fetchone()[0]:
                    connection.execute(f"vacuum (full) {name}")  # a name of ours
    except errors as error:
        log.warning("the tables could not be written anew: %s", type(error).__name__)
        return False
    return True
