"""What a question to a database costs beside the model and the engine, and the nearest ten of 100,000 points.

The file has the table of the scenic areas, filled with points strewn over China. A question is
answered by a scripted model that says at once a statement with a wrong column, one with a value that
is never there, and the right one; the time that the engine took for them is subtracted.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from research import close_application, get_application
from research.core.events import EventEmitter, ignore_event
from research.core.records import QueryResult
from research.sources.database.engines import Database, open_database
from research.sources.database.results import ExecutionResult
from research.sources.database.service import DatabaseService
from research.sources.database.shipped_tables import SIGHTS
from research.sources.database.validator import ValidatedQuery
from tests.benchmarks.figures import Figure, percentile

POINTS = 100_000
NEAREST_TARGET = 100.0  # ms
OVERHEAD_TARGET = 100.0  # ms
TIMES = 21
QUESTION = "评分最高的景区"  # which no rule knows
STATEMENTS = (
    "SELECT nome FROM a_sight WHERE province = '浙江省'",
    "SELECT gid, name FROM a_sight WHERE province = '浙江'",
    "SELECT gid, name FROM a_sight WHERE province = '浙江省' ORDER BY gid LIMIT 10",
)
HERE = "distance_km(lng_wgs84, lat_wgs84, 120.15, 30.25)"
NEAREST = {
    "by distance alone": f"SELECT name, {HERE} AS km FROM a_sight ORDER BY {HERE} LIMIT 10",
    "by distance, ordered by its name": f"SELECT name, {HERE} AS km FROM a_sight ORDER BY km LIMIT 10",
    "by distance in a box": (
        f"SELECT name, {HERE} AS km FROM a_sight WHERE lng_wgs84 BETWEEN 119.15 AND 121.15"
        f" AND lat_wgs84 BETWEEN 29.35 AND 31.15 ORDER BY {HERE} LIMIT 10"
    ),
    "within 50 km": f"SELECT name, {HERE} AS km FROM a_sight WHERE {HERE} <= 50 ORDER BY km LIMIT 10",
}


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.db"
        strew(path)
        yield from _nearest(open_database(path))
        yield from _answers(Path(folder))


def strew(path: Path) -> None:
    """A file with the table of the areas and `POINTS` rows in it; one in fifty has no point."""
    made = random.Random(20)
    names = [column.name for column in SIGHTS.columns]
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in SIGHTS.create_statements():
            connection.execute(statement)
        connection.executemany(
            f"insert into a_sight ({', '.join(names)}) values ({', '.join('?' * len(names))})",
            (_row(made, gid) for gid in range(1101, 1101 + POINTS)),
        )


def _row(made: random.Random, gid: int) -> tuple[Any, ...]:
    point = (made.uniform(75, 134), made.uniform(18, 53)) if gid % 50 else (None, None)
    return (
        gid,
        f"第{gid}景区",
        f"Area {gid}",
        "5A",
        "浙江省",
        "杭州市",
        None,
        2007,
        None,
        *point,
        *point,
    )


def _nearest(database: Database) -> Iterator[Figure]:
    for name, sql in NEAREST.items():
        times = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            found = database.run(database.check(sql))
            times.append((time.perf_counter() - begun) * 1000)
            assert len(found.rows) == 10 and found.rows[0][1] is not None, name
        note = f"{max(times):.0f} ms at most"
        title = f"nearest 10 of {POINTS:,}, {name}, median"
        yield Figure(title, percentile(times, 0.5), "ms", NEAREST_TARGET, note=note)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model has understood and written."""

    sql: str = ""
    why: str = ""
    answerable: bool = True
    meant: str = "as scripted"
    names: Sequence[str] = ()
    clarify: str = ""


class _Writer:
    """A model that takes no time: `STATEMENTS`, one for each try."""

    author = "scripted"

    async def analyse(self, question: str, say: EventEmitter) -> _Said:
        return _Said()

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: EventEmitter
    ) -> _Said:
        return _Said(STATEMENTS[len(tries)])

    async def write_supplement(
        self, question: str, rows: QueryResult, lacking: Sequence[str], hints: Sequence[str], say: EventEmitter
    ) -> _Said:
        return _Said()


class _Timed:
    """A database that notes how long its engine was at work."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def run(self, query: ValidatedQuery) -> ExecutionResult:
        begun = time.perf_counter()
        try:
            return self._database.run(query)
        finally:
            self.seconds += time.perf_counter() - begun


def _watched(desk: DatabaseService) -> _Timed:
    """The database of a desk, opened, with its engine watched and the model scripted."""
    database: Any = _Timed(asyncio.run(_opened(desk)))
    desk._opened.database = database
    desk._create_writer = lambda dialect, schema, examples: _Writer()
    return database


async def _opened(desk: DatabaseService) -> Database:
    return await desk._get_database()


def _answers(folder: Path) -> Iterator[Figure]:
    desk = DatabaseService("", folder / "desk")
    watched = _watched(desk)
    yield from _beyond("an answer in 3 statements, the desk", watched, lambda: _asked(desk))
    os.environ["SIGHTLINE_DATA_DIR"] = str(folder / "data")
    close_application()
    try:
        watched = _watched(get_application().services.database())
        yield from _beyond("an answer in 3 statements, a whole run", watched, _run)
    finally:
        close_application()
        del os.environ["SIGHTLINE_DATA_DIR"]


def _beyond(name: str, watched: _Timed, ask: Callable[[], float]) -> Iterator[Figure]:
    """What an answer takes beyond its engine, after a first one."""
    times = []
    for _ in range(TIMES + 1):
        before = watched.seconds
        took = ask()
        times.append((took - (watched.seconds - before)) * 1000)
    note = f"{max(times[1:]):.0f} ms at most, {times[0]:.0f} ms the first"
    yield Figure(f"{name}, median", percentile(times[1:], 0.5), "ms", OVERHEAD_TARGET, note=note)


def _asked(desk: DatabaseService) -> float:
    begun = time.perf_counter()
    outcome = asyncio.run(desk.ask(QUESTION, ignore_event))
    took = time.perf_counter() - begun
    assert outcome.status == "answered" and outcome.rows and len(outcome.rows.rows) == 10, outcome
    return took


def _run() -> float:
    """Seconds from the question to the stored end."""
    run_id = get_application().start_database_run(QUESTION).id
    while (run := get_application().runs.get_run(run_id)) is None or run.is_active:
        time.sleep(0.005)
    assert run.status == "done" and run.finished, run.error
    return (run.finished - run.created).total_seconds()
