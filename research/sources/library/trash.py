"""The library's trash: removed documents leave every search at once and can be restored for a
while.

The rows of a removed document move to tables of their own, so that no other reader of the library
has to filter them out.
"""

# ruff: noqa: S608  (only names of our own tables and columns are formatted into statements)

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from research.storage.sqlite_files import SQLiteFile

RETENTION = timedelta(days=7)  # period in which a removed document can be restored
_DOCUMENT_COLUMNS = "id, name, sha256, title, url, published, language, added, kind, passages, characters, text"
_CHILD_COLUMNS = {
    "passage": "document, heading, page, last_page, start, finish, title_tokens, body_tokens, opening_tokens",
    "name": "key, name, document",
    "alias": "key, name, other, document",
    "original": "document, data",
    "scan_page": "document, page, heading, state, reason, picture",
}
_IN_IDS_SQL = "in (select value from json_each(?))"
# The id of a document in the trash is not reused while the document can be restored.
NEXT_ID_SQL = (
    "(select coalesce(max(id), 0) + 1 from "
    "(select max(id) as id from document union all select max(id) from bin_document))"
)


@dataclass(frozen=True, slots=True)
class TrashedDocument:
    """A document that can be restored."""

    id: int
    name: str
    title: str


def move_to_trash(connection: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Move own documents to the trash and return their ids; samples and unknown ids are ignored."""
    rows = connection.execute(
        f"select id from document where sample=0 and id {_IN_IDS_SQL}", (_ids_json(ids),)
    ).fetchall()
    moved_ids = [int(row[0]) for row in rows]
    ids_json = _ids_json(moved_ids)
    connection.execute(
        f"insert into bin_document({_DOCUMENT_COLUMNS}, removed) "
        f"select {_DOCUMENT_COLUMNS}, ? from document where id {_IN_IDS_SQL}",
        (datetime.now(UTC).isoformat(), ids_json),
    )
    for table, columns in _CHILD_COLUMNS.items():
        connection.execute(
            f"insert into bin_{table}({columns}) select {columns} from {table} "
            f"where document {_IN_IDS_SQL} order by rowid",
            (ids_json,),
        )
    connection.execute(f"delete from document where id {_IN_IDS_SQL}", (ids_json,))
    return moved_ids


def restore(connection: sqlite3.Connection, ids: Iterable[int]) -> int:
    """Move documents back and return their number; a document whose name is in use stays."""
    rows = connection.execute(
        f"select id, max(removed) from bin_document where id {_IN_IDS_SQL} "
        "and name not in (select name from document) group by name",
        (_ids_json(ids),),
    ).fetchall()
    ids_json = _ids_json(row[0] for row in rows)
    connection.execute(
        f"insert into document({_DOCUMENT_COLUMNS}, sample) "
        f"select {_DOCUMENT_COLUMNS}, 0 from bin_document where id {_IN_IDS_SQL}",
        (ids_json,),
    )
    for table, columns in _CHILD_COLUMNS.items():
        connection.execute(
            f"insert into {table}({columns}) select {columns} from bin_{table} "
            f"where document {_IN_IDS_SQL} order by rowid",
            (ids_json,),
        )
    connection.execute(f"delete from bin_document where id {_IN_IDS_SQL}", (ids_json,))
    return len(rows)


def has_expired(db: SQLiteFile) -> bool:
    """Return True if a document has been in the trash longer than `RETENTION`."""
    return bool(db.read("select 1 from bin_document where removed<? limit 1", (_expiry_cutoff(),)))


def purge(connection: sqlite3.Connection, *, expired_only: bool = False) -> int:
    """Delete all documents in the trash, or only expired ones, and return their number."""
    if expired_only:
        cursor = connection.execute("delete from bin_document where removed<?", (_expiry_cutoff(),))
    else:
        cursor = connection.execute("delete from bin_document")
    return cursor.rowcount


def list_trashed(db: SQLiteFile, limit: int) -> tuple[list[TrashedDocument], int]:
    """Return the documents in the trash, latest first, and their total number."""
    total = db.read_value("select count(*) from bin_document")
    rows: list[Any] = db.read("select id, name, title from bin_document order by removed desc, id limit ?", (limit,))
    return [TrashedDocument(*row) for row in rows], int(total)


def _expiry_cutoff() -> str:
    return (datetime.now(UTC) - RETENTION).isoformat()


def _ids_json(ids: Iterable[int]) -> str:
    return json.dumps([int(number) for number in ids])
