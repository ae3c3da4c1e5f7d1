"""What a desk holds and where: its files or tables, how large they are, how much is in them.

A place is a path, or the address of a server without a name and a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import func, select

from research.core.database_config import SHIPPED_DATABASE
from research.core.records import Record
from research.core.settings import Settings
from research.storage import tables
from research.storage.databases import SQLiteDatabase
from research.storage.postgres import PostgresDatabase
from research.storage.store import Store

StorageArea = Literal["runs", "checkpoints", "lookups", "library", "database", "tables", "reports"]
CHECKPOINT_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
_COUNT_RUNS = select(func.count()).select_from(tables.run)
_COUNT_CACHED_ANSWERS = select(
    func.count(), func.coalesce(func.sum(func.length(tables.cached_answer.c.answer)), 0)
).select_from(tables.cached_answer)


class StorageUsage(Record):
    """A part of what is stored. `size` are bytes, `count` runs, documents, answers or files; each is
    None where it cannot be told. Its `part` is the holding that it lies in, if it has no place of
    its own."""

    name: StorageArea
    location: str = ""
    size_bytes: int | None = None
    count: int | None = None
    part_of: Literal["", "runs"] = ""


def measure_storage(settings: Settings, store: Store, documents: int, *, is_remote: bool) -> list[StorageUsage]:
    """Everything that is stored for a desk; `remote` runs have their checkpoints elsewhere."""
    runs = store.database.read(_COUNT_RUNS)[0][0]
    lookups, length = store.database.read(_COUNT_CACHED_ANSWERS)[0]
    out = [_measure_runs(store, int(runs))]
    if not is_remote:
        out.append(_measure_checkpoints(store))
    out.append(StorageUsage(name="lookups", size_bytes=int(length), count=int(lookups), part_of="runs"))
    library = settings.data_dir / "library.db"
    out.append(StorageUsage(name="library", location=str(library), size_bytes=_file_bytes(library), count=documents))
    sights = sorted(settings.data_dir.glob("sights-*.db"))
    if sights or settings.default_database == SHIPPED_DATABASE:
        size = sum(_file_bytes(file) for file in sights)
        place = str(sights[-1]) if sights else ""
        out.append(StorageUsage(name="database", location=place, size_bytes=size))
    loaded = list((settings.data_dir / "tables").glob("*/*.duckdb"))
    if loaded:
        size = sum(file.stat().st_size for file in loaded)
        place = str(settings.data_dir / "tables")
        out.append(StorageUsage(name="tables", location=place, size_bytes=size, count=len(loaded)))
    if folder := settings.reports_folder:
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        out.append(StorageUsage(name="reports", location=str(folder), size_bytes=size, count=len(files)))
    return out


def _measure_runs(store: Store, count: int) -> StorageUsage:
    database = store.database
    if isinstance(database, SQLiteDatabase):
        size: int | None = _file_bytes(database.path)
        return StorageUsage(name="runs", location=str(database.path), size_bytes=size, count=count)
    assert isinstance(database, PostgresDatabase)
    names = tuple(tables.metadata.tables)
    return StorageUsage(name="runs", location=database.location, size_bytes=_table_bytes(database, names), count=count)


def _measure_checkpoints(store: Store) -> StorageUsage:
    database = store.database
    if isinstance(database, SQLiteDatabase):
        path = database.path.with_name("checkpoints.db")
        return StorageUsage(name="checkpoints", location=str(path), size_bytes=_file_bytes(path))
    assert isinstance(database, PostgresDatabase)
    size = _table_bytes(database, CHECKPOINT_TABLES)
    return StorageUsage(name="checkpoints", location=database.location, size_bytes=size)


def _table_bytes(database: PostgresDatabase, names: Sequence[str]) -> int | None:
    """The bytes of tables with their indexes."""
    sizes: list[Any] = [func.pg_total_relation_size(func.to_regclass(name)) for name in names]
    (row,) = database.read(select(*sizes))
    known = [int(size) for size in row if size is not None]
    return sum(known) if known else None


def _file_bytes(file: Path) -> int:
    """The bytes of a SQLite file with the journals that go with it."""
    parts = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")]
    return sum(part.stat().st_size for part in parts if part.is_file())
