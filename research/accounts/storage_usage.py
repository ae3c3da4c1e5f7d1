"""Disk usage: location, size and number of records of each storage area.

A location is a path, or the address of a server without user name and password.
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
from research.storage.checkpoints import checkpoint_file
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
    """The usage of one storage area.

    `size_bytes` and `count` (runs, documents, answers or files) are None where unknown. `part_of`
    is the area that contains this one, if it has no location of its own.
    """

    name: StorageArea
    location: str = ""
    size_bytes: int | None = None
    count: int | None = None
    part_of: Literal["", "runs"] = ""


def measure_storage(settings: Settings, store: Store, documents: int, *, is_remote: bool) -> list[StorageUsage]:
    """Measure all storage areas.

    The checkpoints of remote runs are stored elsewhere and left out.
    """
    runs = store.database.read(_COUNT_RUNS)[0][0]
    lookups, length = store.database.read(_COUNT_CACHED_ANSWERS)[0]
    areas = [_measure_runs(store, int(runs))]
    if not is_remote:
        areas.append(_measure_checkpoints(store))
    areas.append(StorageUsage(name="lookups", size_bytes=int(length), count=int(lookups), part_of="runs"))
    library = settings.data_dir / "library.db"
    areas.append(StorageUsage(name="library", location=str(library), size_bytes=_file_bytes(library), count=documents))
    sight_files = sorted(settings.data_dir.glob("sights-*.db"))
    if sight_files or settings.default_database == SHIPPED_DATABASE:
        size = sum(_file_bytes(file) for file in sight_files)
        location = str(sight_files[-1]) if sight_files else ""
        areas.append(StorageUsage(name="database", location=location, size_bytes=size))
    table_files = list((settings.data_dir / "tables").glob("*/*.duckdb"))
    if table_files:
        size = sum(file.stat().st_size for file in table_files)
        location = str(settings.data_dir / "tables")
        areas.append(StorageUsage(name="tables", location=location, size_bytes=size, count=len(table_files)))
    if folder := settings.reports_folder:
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        areas.append(StorageUsage(name="reports", location=str(folder), size_bytes=size, count=len(files)))
    return areas


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
        path = checkpoint_file(database)
        return StorageUsage(name="checkpoints", location=str(path), size_bytes=_file_bytes(path))
    assert isinstance(database, PostgresDatabase)
    size = _table_bytes(database, CHECKPOINT_TABLES)
    return StorageUsage(name="checkpoints", location=database.location, size_bytes=size)


def _table_bytes(database: PostgresDatabase, names: Sequence[str]) -> int | None:
    """Return the size of tables with their indexes in bytes; None if none of them exists."""
    sizes: list[Any] = [func.pg_total_relation_size(func.to_regclass(name)) for name in names]
    (row,) = database.read(select(*sizes))
    existing = [int(size) for size in row if size is not None]
    return sum(existing) if existing else None


def _file_bytes(file: Path) -> int:
    """Return the size of a SQLite file with its journals in bytes."""
    parts = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")]
    return sum(part.stat().st_size for part in parts if part.is_file())
