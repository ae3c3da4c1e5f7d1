"""What a desk holds and where: its files or tables, how large they are, how much is in them.

A place is a path, or the address of a server without a name and a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import func, select

from research.core.attached import SHIPPED
from research.core.records import Record
from research.core.settings import Settings
from research.storage import tables
from research.storage.databases import File
from research.storage.postgres import Server
from research.storage.store import Store

HoldingName = Literal["runs", "checkpoints", "lookups", "library", "database", "tables", "reports"]
CHECKPOINTS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
_RUNS = select(func.count()).select_from(tables.run)
_LOOKUPS = select(
    func.count(), func.coalesce(func.sum(func.length(tables.lookup.c.answer)), 0)
).select_from(tables.lookup)


class Holding(Record):
    """A part of what is stored. `size` are bytes, `count` runs, documents, answers or files; each is
    None where it cannot be told. Its `part` is the holding that it lies in, if it has no place of
    its own."""

    name: HoldingName
    place: str = ""
    size: int | None = None
    count: int | None = None
    within: Literal["", "runs"] = ""


def holdings(settings: Settings, store: Store, documents: int, *, remote: bool) -> list[Holding]:
    """Everything that is stored for a desk; `remote` runs have their checkpoints elsewhere."""
    runs = store.database.read(_RUNS)[0][0]
    lookups, length = store.database.read(_LOOKUPS)[0]
    out = [_runs(store, int(runs))]
    if not remote:
        out.append(_checkpoints(store))
    out.append(Holding(name="lookups", size=int(length), count=int(lookups), within="runs"))
    library = settings.data_dir / "library.db"
    out.append(Holding(name="library", place=str(library), size=_size(library), count=documents))
    sights = sorted(settings.data_dir.glob("sights-*.db"))
    if sights or settings.default_database == SHIPPED:
        size = sum(_size(file) for file in sights)
        place = str(sights[-1]) if sights else ""
        out.append(Holding(name="database", place=place, size=size))
    loaded = list((settings.data_dir / "tables").glob("*/*.duckdb"))
    if loaded:
        size = sum(file.stat().st_size for file in loaded)
        place = str(settings.data_dir / "tables")
        out.append(Holding(name="tables", place=place, size=size, count=len(loaded)))
    if folder := settings.reports_folder:
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        out.append(Holding(name="reports", place=str(folder), size=size, count=len(files)))
    return out


def _runs(store: Store, count: int) -> Holding:
    database = store.database
    if isinstance(database, File):
        size: int | None = _size(database.path)
        return Holding(name="runs", place=str(database.path), size=size, count=count)
    assert isinstance(database, Server)
    names = tuple(tables.tables.tables)
    return Holding(
        name="runs", place=database.location, size=_on_server(database, names), count=count
    )


def _checkpoints(store: Store) -> Holding:
    database = store.database
    if isinstance(database, File):
        path = database.path.with_name("checkpoints.db")
        return Holding(name="checkpoints", place=str(path), size=_size(path))
    assert isinstance(database, Server)
    size = _on_server(database, CHECKPOINTS)
    return Holding(name="checkpoints", place=database.location, size=size)


def _on_server(server: Server, names: Sequence[str]) -> int | None:
    """The bytes of tables with their indexes."""
    sizes: list[Any] = [func.pg_total_relation_size(func.to_regclass(name)) for name in names]
    (row,) = server.read(select(*sizes))
    known = [int(size) for size in row if size is not None]
    return sum(known) if known else None


def _size(file: Path) -> int:
    """The bytes of a SQLite file with the journals that go with it."""
    parts = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")]
    return sum(part.stat().st_size for part in parts if part.is_file())
