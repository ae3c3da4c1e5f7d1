"""What was removed from the library: out of every search at once, kept aside for a while, then gone.

The rows of a removed document are moved to tables of their own, so that nothing that reads the
library has to know of them.
"""

# ruff: noqa: S608  (names of our own tables and columns alone are put into statements)

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from research.storage.sqlite_files import SQLiteFile

RETENTION = timedelta(days=7)  # what was removed can be put back for so long
_DOCUMENT_COLUMNS = "id, name, sha256, title, url, published, language, added, kind, passages, characters, text"
_CHILD_COLUMNS = {
    "passage": "document, heading, page, start, finish, title_tokens, body_tokens, opening_tokens",
    "name": "key, name, document",
    "alias": "key, name, other, document",
    "scan": "document, data",
    "scan_page": "document, page, heading, state, reason, picture",
}
_IN_IDS_SQL = "in (select value from json_each(?))"
# An id is not given away while the document that had it can be put back.
NEXT_ID_SQL = (
    "(select coalesce(max(id), 0) + 1 from "
    "(select max(id) as id from document union all select max(id) from bin_document))"
)


@dataclass(frozen=True, slots=True)
class TrashedDocument:
    """A document that can be put back."""

    id: int
    name: str
    title: str
    removed_at: datetime


def move_to_trash(connection: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Moves documents to the bin; the sample and unknown ids are left alone. Gives those it moved."""
    found = connection.execute(
        f"select id from document where sample=0 and id {_IN_IDS_SQL}", (_ids_json(ids),)
    ).fetchall()
    moved = [int(row[0]) for row in found]
    these = _ids_json(moved)
    connection.execute(
        f"insert into bin_document({_DOCUMENT_COLUMNS}, removed) "
        f"select {_DOCUMENT_COLUMNS}, ? from document where id {_IN_IDS_SQL}",
        (datetime.now(UTC).isoformat(), these),
    )
    for table, columns in _CHILD_COLUMNS.items():
        connection.execute(
            f"insert into bin_{table}({columns}) select {columns} from {table} "
            f"where document {_IN_IDS_SQL} order by rowid",
            (these,),
        )
    connection.execute(f"delete from document where id {_IN_IDS_SQL}", (these,))
    return moved


def restore(connection: sqlite3.Connection, ids: Iterable[int]) -> int:
    """Moves documents back; one stays where another document has its name by now."""
    found = connection.execute(
        f"select id, max(removed) from bin_document where id {_IN_IDS_SQL} "
        "and name not in (select name from document) group by name",
        (_ids_json(ids),),
    ).fetchall()
    these = _ids_json(row[0] for row in found)
    connection.execute(
        f"insert into document({_DOCUMENT_COLUMNS}, sample) "
        f"select {_DOCUMENT_COLUMNS}, 0 from bin_document where id {_IN_IDS_SQL}",
        (these,),
    )
    for table, columns in _CHILD_COLUMNS.items():
        connection.execute(
            f"insert into {table}({columns}) select {columns} from bin_{table} "
            f"where document {_IN_IDS_SQL} order by rowid",
            (these,),
        )
    connection.execute(f"delete from bin_document where id {_IN_IDS_SQL}", (these,))
    return len(found)


def has_expired(db: SQLiteFile) -> bool:
    """Whether something was kept for long enough."""
    return bool(db.read("select 1 from bin_document where removed<? limit 1", (_expiry_cutoff(),)))


def purge(connection: sqlite3.Connection, *, expired_only: bool = False) -> int:
    """Deletes what was removed for good: all of it, or what was kept for long enough."""
    if expired_only:
        done = connection.execute("delete from bin_document where removed<?", (_expiry_cutoff(),))
    else:
        done = connection.execute("delete from bin_document")
    return done.rowcount


def list_trashed(db: SQLiteFile, limit: int) -> tuple[list[TrashedDocument], int]:
    """What was removed last, and how many documents there are in all."""
    found: list[Any] = db.read("select count(*) from bin_document")
    rows: list[Any] = db.read(
        "select id, name, title, removed from bin_document order by removed desc, id limit ?",
        (limit,),
    )
    return [TrashedDocument(row[0], row[1], row[2], datetime.fromisoformat(row[3])) for row in rows], int(found[0][0])


def _expiry_cutoff() -> str:
    return (datetime.now(UTC) - RETENTION).isoformat()


def _ids_json(ids: Iterable[int]) -> str:
    return json.dumps([int(number) for number in ids])
