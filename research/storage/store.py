"""The store of runs, events, searches, evidence and answers in a SQLite file or on a server.

Writes are durable: a finished search is stored before the next stage begins and is never paid for
twice in its run. The store uses records and tables and is independent of graphs and pages.
"""

from __future__ import annotations

from pathlib import Path

from research.storage import tables
from research.storage.databases import SQLiteDatabase, StoreDatabase
from research.storage.evidence_store import EvidenceStore
from research.storage.history_index import HistoryIndex
from research.storage.owner_store import OwnerStore
from research.storage.postgres import PostgresDatabase
from research.storage.run_store import RunStore


class Store(RunStore, EvidenceStore, OwnerStore):
    """The store of one database. Safe for several threads and processes."""

    def __init__(self, location: Path | str) -> None:
        """Open or create the store, in a SQLite file or in the PostgreSQL database of an address.

        Raises:
            StoreError: the file or the database cannot be used.
        """
        self.database: StoreDatabase = (
            SQLiteDatabase(location, tables.SQLITE_MIGRATIONS)
            if isinstance(location, Path)
            else PostgresDatabase(location, tables.POSTGRESQL_MIGRATIONS)
        )
        self.history = HistoryIndex(self.database)

    def close(self) -> None:
        self.history.close()
        self.database.close()
