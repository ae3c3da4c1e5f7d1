"""A database that questions are put to: its engine, its words, and the agent over them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from research.database.agent import Agent, Outcome, Rows, Writer
from research.database.build import shipped
from research.database.columns import comments
from research.database.engines import Database, Missed, open_database
from research.database.link import Values
from research.database.refusals import Refused
from research.database.results import Failed
from research.database.rules import Vocabulary
from research.records import Reason, Say
from research.trouble import Trouble

FEW = 2_000  # different values of a column in which names are looked up
_REASONS: dict[str, Reason] = {
    "timeout": "timeout",
    "unreachable": "unreachable",
    "address": "refused",
    "size": "cut off",
    "refused": "blocked",
}


class DatabaseDesk:
    """The scenic areas that ship with the program, or a database of the analyst's own."""

    def __init__(
        self, address: str, folder: Path, writer: Callable[[str, str], Writer] | None = None
    ) -> None:
        """`address` is that of a database, "" for the one that ships; `folder` is the data folder.
        `writer` makes what writes SQL, of a dialect and the description of the tables."""
        self._address, self._folder = address, folder
        self._writer = writer
        self._database: Database | None = None
        self._values: Values | None = None
        self._words: Vocabulary | None = None
        self._opening = asyncio.Lock()

    async def ask(self, question: str, say: Say) -> Outcome:
        """What the database says to a question.

        Raises:
            Trouble: the database cannot be used.
        """
        database = await self._opened()
        writer = (
            self._writer(database.dialect, database.schema.described()) if self._writer else None
        )
        agent = Agent(self, words=self._vocabulary, link=self._link, writer=writer)
        return await agent.ask(question, say)

    async def run(self, sql: str) -> Rows:
        """The rows of a statement, guarded.

        Raises:
            Refused: it may not be run, or the database does not know what it names.
            Trouble: the database cannot be used, or took too long.
        """
        database = await self._opened()
        return await asyncio.to_thread(_run, database, sql)

    async def schema(self) -> str:
        """The tables as a model is told of them."""
        return (await self._opened()).schema.described()

    async def _opened(self) -> Database:
        async with self._opening:
            if self._database is None:
                try:
                    self._database = await asyncio.to_thread(self._open)
                except Failed as failed:
                    raise _trouble(failed) from None
            return self._database

    def _open(self) -> Database:
        if self._address:
            return open_database(self._address)
        texts = comments()

        def told(table: str, column: str) -> str:
            return " / ".join(filter(None, texts.get(table, {}).get(column, ("", ""))))

        return open_database(shipped(self._folder), comments=told)

    async def _vocabulary(self) -> Vocabulary | None:
        if self._address:
            return None  # the rules know the areas that ship with the program, and no other tables
        if self._words is None:
            self._words = await asyncio.to_thread(_vocabulary, await self._opened())
        return self._words

    async def _link(self, names: Sequence[str]) -> Sequence[str]:
        if self._values is None:
            self._values = await asyncio.to_thread(_values, await self._opened())
        return [hint.text for hint in self._values.hints(names)]


def _run(database: Database, sql: str) -> Rows:
    query = database.check(sql)
    try:
        result = database.run(query)
    except Failed as failed:
        if failed.cause in ("table", "column", "refused", "size"):
            raise Refused("statement", failed.message) from None
        raise _trouble(failed) from None
    return Rows(
        sql=query.text,
        names=result.columns,
        types=result.types,
        rows=result.rows,
        truncated=result.truncated,
        cut=result.cut,
        seconds=result.seconds,
        missed=tuple(map(_missed, database.missed(query))),
    )


def _missed(missed: Missed) -> str:
    near = ", ".join(map(repr, missed.near))
    told = f"{missed.table}.{missed.column} is never {missed.text!r}"
    return f"{told}; there is {near}" if near else told


def _trouble(failed: Failed) -> Trouble:
    return Trouble(_REASONS.get(failed.cause, "unavailable"), failed.message)


def _vocabulary(database: Database) -> Vocabulary:
    """What the rules have to know of the areas, from the database itself."""
    rows = _all(database, "SELECT gid, name, name_en, province, city FROM a_sight")
    areas: dict[str, int] = {}
    double: set[str] = set()
    for gid, name, english, _, _ in rows:
        for told in filter(None, (name, english)):
            text = str(told)
            double |= {text} & areas.keys()
            areas[text] = int(str(gid))
    known = {name: gid for name, gid in areas.items() if name not in double}
    provinces = dict.fromkeys(str(row[3]) for row in rows if row[3])
    cities = dict.fromkeys(str(row[4]) for row in rows if row[4])
    return Vocabulary(known, list(provinces), list(cities))


def _values(database: Database) -> Values:
    """The texts in which names are looked up."""
    columns = {}
    for table in database.schema.tables:
        for column in table.columns:
            if "TEXT" not in column.type.upper() and "CHAR" not in column.type.upper():
                continue
            try:
                found = database.values(table.name, column.name, few=FEW)
            except Failed:
                continue  # nothing is linked to this column then
            if found:
                columns[table.name, column.name] = found
    return Values(columns)


def _all(database: Database, sql: str) -> list[tuple[object, ...]]:
    """All rows of a statement of ours, page by page: one gives no more than the limit of rows."""
    out: list[tuple[object, ...]] = []
    while True:
        text = f"{sql} ORDER BY gid LIMIT {database.limits.rows} OFFSET {len(out)}"
        page = database.run(database.check(text))
        out += page.rows
        if len(page.rows) < database.limits.rows:
            return out
