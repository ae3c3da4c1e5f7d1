"""Files that could not be read, remembered per owner until they can be read or are dismissed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from research.storage.sqlite_files import SQLiteFile

if TYPE_CHECKING:
    from research.sources.library.prepare import AddResult

LOCAL_OWNER = "local"  # the only owner where there is no login
MAX_REJECTED_PER_OWNER = 2_000  # the latest are kept


def page_ranges(pages: Iterable[int]) -> str:
    """Format page numbers as ranges: 1–3, 7."""
    runs = []
    for _, group in groupby(enumerate(sorted(pages)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        runs.append(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ", ".join(runs)


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A file that could not be added, with the reason."""

    name: str
    outcome: str
    detail: str
    limit: str = ""  # limit that the file exceeds
    pages: str = ""  # pages that hold images without text
    content: str = ""  # suffix of the format that a mislabelled file has


def has_changes(db: SQLiteFile, results: Iterable[AddResult]) -> bool:
    """Return True if recording the results would change the stored rejected files."""
    return any(not item.is_ok or db.read("select 1 from unread where name=? limit 1", (item.name,)) for item in results)


def record_results(connection: sqlite3.Connection, owner: str, results: Iterable[AddResult]) -> None:
    """Store files that could not be read and delete entries of files that now can."""
    failure_count = 0
    for item in results:
        if item.is_ok:
            connection.execute("delete from unread where name=?", (item.name,))
        else:
            failure_count += 1
            now = datetime.now(UTC).isoformat()
            connection.execute(
                'insert or replace into unread(who, name, outcome, detail, seen, "limit", pages, content) '
                "values(?,?,?,?,?,?,?,?)",
                (owner, item.name, item.outcome, item.detail, now, item.limit, page_ranges(item.pages), item.content),
            )
    if failure_count:
        connection.execute(
            "delete from unread where who=? and name in (select name from unread where who=? "
            "order by seen desc limit -1 offset ?)",
            (owner, owner, MAX_REJECTED_PER_OWNER),
        )


def list_rejected(db: SQLiteFile, owner: str, limit: int) -> tuple[list[RejectedFile], int]:
    """Return an owner's rejected files, latest first, and their total number."""
    total = db.read_value("select count(*) from unread where who=?", (owner,))
    rows: list[Any] = db.read(
        'select name, outcome, detail, "limit", pages, content from unread where who=? order by seen desc, name limit ?',
        (owner, limit),
    )
    return [RejectedFile(*row) for row in rows], int(total)


def dismiss(connection: sqlite3.Connection, owner: str, name: str | None) -> None:
    """Delete one rejected file of an owner, or all of them if `name` is None."""
    if name is None:
        connection.execute("delete from unread where who=?", (owner,))
    else:
        connection.execute("delete from unread where who=? and name=?", (owner, name))
