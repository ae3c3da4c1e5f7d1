"""Files that could not be read: remembered for who added them until they can be, or are put away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from research.storage import Database

if TYPE_CHECKING:
    from research.library.prepare import Added

ANYBODY = "local"  # where there is no login, everybody is the same person
KEPT = 2_000  # of each person, the latest


def ranges(pages: Iterable[int]) -> str:
    """Numbers of pages in short: 1–3, 7."""
    runs = []
    for _, group in groupby(enumerate(sorted(pages)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        runs.append(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ", ".join(runs)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is not in the library as it was given, and why."""

    name: str
    outcome: str
    detail: str
    seen: datetime
    limit: str = ""  # that the file is over
    pages: str = ""  # that hold pictures without text


def news(db: Database, outcomes: Iterable[Added]) -> bool:
    """Whether outcomes change what is remembered."""
    return any(
        not item.ok or db.read("select 1 from unread where name=? limit 1", (item.name,))
        for item in outcomes
    )


def note(connection: sqlite3.Connection, who: str, outcomes: Iterable[Added]) -> None:
    """Remembers what could not be read, and forgets it once it could."""
    failed = 0
    for item in outcomes:
        if item.ok:
            connection.execute("delete from unread where name=?", (item.name,))
        else:
            failed += 1
            now = datetime.now(UTC).isoformat()
            connection.execute(
                'insert or replace into unread(who, name, outcome, detail, seen, "limit", pages) '
                "values(?,?,?,?,?,?,?)",
                (who, item.name, item.outcome, item.detail, now, item.limit, ranges(item.pages)),
            )
    if failed:
        connection.execute(
            "delete from unread where who=? and name in (select name from unread where who=? "
            "order by seen desc limit -1 offset ?)",
            (who, who, KEPT),
        )


def listed(db: Database, who: str, limit: int) -> tuple[list[Unread], int]:
    found: list[Any] = db.read("select count(*) from unread where who=?", (who,))
    rows: list[Any] = db.read(
        'select name, outcome, detail, seen, "limit", pages from unread where who=? '
        "order by seen desc, name limit ?",
        (who, limit),
    )
    out = [Unread(r[0], r[1], r[2], datetime.fromisoformat(r[3]), r[4], r[5]) for r in rows]
    return out, found[0][0]


def dismiss(connection: sqlite3.Connection, who: str, name: str | None) -> None:
    if name is None:
        connection.execute("delete from unread where who=?", (who,))
    else:
        connection.execute("delete from unread where who=? and name=?", (who, name))
