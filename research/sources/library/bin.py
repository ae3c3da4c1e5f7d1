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

from research.storage.files import Database

KEPT = timedelta(days=7)  # what was removed can be put back for so long
_DOCUMENT = (
    "id, name, sha256, title, url, published, language, added, kind, passages, characters, text"
)
_BELOW = {
    "passage": "document, heading, page, start, finish, title_tokens, body_tokens, opening_tokens",
    "name": "key, name, document",
    "alias": "key, name, other, document",
    "scan": "document, data",
    "scan_page": "document, page, heading, state, reason, picture",
}
_THESE = "in (select value from json_each(?))"
# An id is not given away while the document that had it can be put back.
NEW_ID = (
    "(select coalesce(max(id), 0) + 1 from "
    "(select max(id) as id from document union all select max(id) from bin_document))"
)


@dataclass(frozen=True, slots=True)
class Removed:
    """A document that can be put back."""

    id: int
    name: str
    title: str
    removed: datetime


def throw(connection: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Moves documents to the bin; the sample and unknown ids are left alone. Gives those it moved."""
    found = connection.execute(
        f"select id from document where sample=0 and id {_THESE}", (_list(ids),)
    ).fetchall()
    moved = [int(row[0]) for row in found]
    these = _list(moved)
    connection.execute(
        f"insert into bin_document({_DOCUMENT}, removed) "
        f"select {_DOCUMENT}, ? from document where id {_THESE}",
        (datetime.now(UTC).isoformat(), these),
    )
    for table, columns in _BELOW.items():
        connection.execute(
            f"insert into bin_{table}({columns}) select {columns} from {table} "
            f"where document {_THESE} order by rowid",
            (these,),
        )
    connection.execute(f"delete from document where id {_THESE}", (these,))
    return moved


def put_back(connection: sqlite3.Connection, ids: Iterable[int]) -> int:
    """Moves documents back; one stays where another document has its name by now."""
    found = connection.execute(
        f"select id, max(removed) from bin_document where id {_THESE} "
        "and name not in (select name from document) group by name",
        (_list(ids),),
    ).fetchall()
    these = _list(row[0] for row in found)
    connection.execute(
        f"insert into document({_DOCUMENT}, sample) "
        f"select {_DOCUMENT}, 0 from bin_document where id {_THESE}",
        (these,),
    )
    for table, columns in _BELOW.items():
        connection.execute(
            f"insert into {table}({columns}) select {columns} from bin_{table} "
            f"where document {_THESE} order by rowid",
            (these,),
        )
    connection.execute(f"delete from bin_document where id {_THESE}", (these,))
    return len(found)


def due(db: Database) -> bool:
    """Whether something was kept for long enough."""
    return bool(db.read("select 1 from bin_document where removed<? limit 1", (_before(),)))


def empty(connection: sqlite3.Connection, *, old: bool = False) -> int:
    """Deletes what was removed for good: all of it, or what was kept for long enough."""
    if old:
        done = connection.execute("delete from bin_document where removed<?", (_before(),))
    else:
        done = connection.execute("delete from bin_document")
    return done.rowcount


def listed(db: Database, limit: int) -> tuple[list[Removed], int]:
    """What was removed last, and how many documents there are in all."""
    found: list[Any] = db.read("select count(*) from bin_document")
    rows: list[Any] = db.read(
        "select id, name, title, removed from bin_document order by removed desc, id limit ?",
        (limit,),
    )
    return [Removed(row[0], row[1], row[2], datetime.fromisoformat(row[3])) for row in rows], int(
        found[0][0]
    )


def _before() -> str:
    return (datetime.now(UTC) - KEPT).isoformat()


def _list(ids: Iterable[int]) -> str:
    return json.dumps([int(number) for number in ids])
