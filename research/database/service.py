"""A database that questions are put to: its engine, its words, and the agent over them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from research.database import semantics
from research.database.agent import Agent, Outcome, Status, Writer
from research.database.asking import Interpretation, NotUnderstood, Vocabulary
from research.database.build import shipped
from research.database.choice import Choice, choose, more
from research.database.columns import comments
from research.database.examples import Pair, like, same
from research.database.link import Values
from research.database.refusals import Refused
from research.database.results import Failed, Limits, Part, Result
from research.database.rules import read
from research.database.schema import Reads, Schema
from research.database.semantics import SemanticModel
from research.records import Reason, Rows, Say, Step, fingerprint
from research.trouble import Trouble

if TYPE_CHECKING:
    from research.database.engines import Database, Missed
    from research.database.guard import Query

FEW = 2_000  # different values of a column in which names are looked up
LIMITS = Limits()
EXPORT = Limits(seconds=300, rows=1_000_000, cell=32_767)  # of a file with all rows
LINKING = 10  # seconds after which no further values are read for it
log = logging.getLogger(__name__)

Make = Callable[..., Writer]
_REASONS: dict[str, Reason] = {
    "timeout": "timeout",
    "unreachable": "unreachable",
    "address": "refused",
    "size": "cut off",
    "refused": "blocked",
}


class Described(NamedTuple):
    """A semantic model and its text: one that the owner has edited, that of the desk, or a draft; `problem`
    says why a text that there is cannot be used."""

    model: SemanticModel
    text: str
    whose: Literal["owner", "desk", "draft"] = "draft"
    problem: str = ""


class DatabaseService:
    """The scenic areas that ship with the program, or a database of the analyst's own."""

    def __init__(
        self,
        address: str,
        folder: Path,
        writer: Make | None = None,
        *,
        pairs: Callable[[str, str], Sequence[Pair]] = lambda owner, base: (),
        samples: bool = True,
        limits: Limits = LIMITS,
        title: str = "",
        reads: Reads | None = None,
        semantic: Path | None = None,
        described: Callable[[str, str], str] = lambda owner, base: "",
        idle: bool = False,
    ) -> None:
        """`address` is that of a database, "" for the one that ships; `folder` is the data folder.
        An attached one has a `title`, and of its tables those can be asked that `reads` lets pass.

        `writer` makes what writes SQL, of a dialect, the description of the tables and what tells
        examples; where not all tables are described, `more` describes those that a text names. `pairs` tells the questions whose statements an owner has found right in a
        database. Of an attached database that is asked without `samples`, no value of a cell is
        read before a statement is run. A statement may take and give what `limits` say.

        What an attached one means is told by the semantic model that an owner has edited (`described`
        gives its text), else by the file `semantic`, else by a draft from its schema. `idle` says that a
        model is set that cannot write SQL.
        """
        self._address, self._folder, self._reads = address, folder, reads
        self.title = title
        self._writer, self._pairs, self._idle = writer, pairs, idle
        self._samples, self._limits = samples or not address, limits
        self.base = fingerprint(address) if address else "sights"
        self._database: Database | None = None
        self._values: Values | None = None
        self._words: Vocabulary | None = None
        self._semantic, self._described = semantic, described
        self._opening = asyncio.Lock()

    async def ask(self, question: str, say: Say, owner: str = "") -> Outcome:
        """What the database says to a question of an owner.

        Raises:
            Trouble: the database cannot be used.
        """
        database = await self._opened()
        pairs = await self._saved(owner)
        writer, choice = None, None
        if self._writer:
            schema, metrics = await self._meant(database.schema, owner)
            choice = await asyncio.to_thread(
                _chosen, database, schema, question, like(question, pairs)
            )
            writer = self._writer(
                database.dialect,
                "\n".join(filter(None, (choice.text, metrics))),
                lambda asked: like(asked, pairs),
                **(
                    {"more": partial(more, schema, besides=choice.described)}
                    if choice.others
                    else {}
                ),
            )
        agent = Agent(
            self,
            link=self._link,
            read=None if self._address else self._read,
            writer=writer,
            saved=pairs,
            tables=choice.told if choice else "",
            idle=self._idle,
        )
        return await self._headed(await agent.ask(question, say), owner)

    async def reads(self, question: str, owner: str = "") -> bool:
        """Return whether a question can be answered without a model: by a saved statement, or by the rules
        for the shipped database.

        Raises:
            Trouble: the database cannot be used.
        """
        if same(question, await self._saved(owner)):
            return True
        if self._address:
            return False
        try:
            await self._read(question)
        except NotUnderstood:
            return False
        return True

    async def query(self, sql: str, say: Say, owner: str = "") -> Outcome:
        """What a statement finds, or why it is refused.

        Raises:
            Trouble: the database cannot be used, or took too long.
        """
        try:
            rows = await self.run(sql)
        except Refused as refused:
            step = Step(kind="refused", text=str(refused), sql=sql)
            outcome = Outcome(status="refused", question=sql, steps=(step,), problem=str(refused))
        else:
            step = Step(kind="run", sql=rows.sql, rows=len(rows.rows), seconds=rows.seconds)
            status: Status = "answered" if rows.rows else "empty"
            outcome = Outcome(status=status, question=sql, meant="SQL", rows=rows, steps=(step,))
        say(
            "tool",
            name=step.kind,
            text=step.text,
            sql=step.sql,
            rows=step.rows,
            seconds=step.seconds,
        )
        return await self._headed(outcome, owner)

    async def run(self, sql: str) -> Rows:
        """The rows of a statement, guarded.

        Raises:
            Refused: it may not be run, or the database does not know what it names.
            Trouble: the database cannot be used, or took too long.
        """
        database = await self._opened()
        rows, missed = await asyncio.to_thread(_run, database, sql)
        if missed and self._samples and not all(each.near for each in missed):
            values = await self._known()
            missed = [
                each if each.near else replace(each, near=tuple(values.like(*_place(each))))
                for each in missed
            ]
        return rows.model_copy(update={"missed": tuple(map(_missed, missed))})

    async def page(self, rows: Rows, number: int) -> tuple[Rows, bool]:
        """Further rows of a statement that was run: those of its page, from 1; and whether their order
        is asked for, so that no row is on two pages.

        Raises:
            Refused: it may not be run any more.
            Trouble: the database cannot be used, or took too long.
        """
        database = await self._opened()
        part = Part((number - 1) * database.limits.rows, rows.most)
        query = await asyncio.to_thread(database.check, rows.sql, part)
        try:
            result = await asyncio.to_thread(database.run, query)
        except Failed as failed:
            raise trouble(failed) from None
        return _rows(query, result), query.sorted

    async def exporting(self, sql: str, part: Part | None = None) -> tuple[Database, Query]:
        """A statement, or a part of one that has been checked before, with the database that gives all
        its rows: read it by `Database.stream`, in a thread.

        Raises:
            Refused: it may not be run.
            Trouble: the database cannot be used.
        """
        database = (await self._opened()).within(EXPORT)
        return database, await asyncio.to_thread(database.check, sql, part)

    async def schema(self) -> str:
        """The tables as a model is told of them."""
        return (await self._opened()).schema.described()

    async def tables(self) -> Schema:
        """The tables, their columns and what is known of them. Raises Trouble."""
        return (await self._opened()).schema

    async def privileges(self) -> str:
        """What the address may do besides reading, "" if nothing. Raises Trouble."""
        return (await self._opened()).privileges

    async def _opened(self) -> Database:
        async with self._opening:
            if self._database is None:
                try:
                    self._database = await asyncio.to_thread(self._open)
                except Failed as failed:
                    raise trouble(failed) from None
            return self._database

    def _open(self) -> Database:
        from research.database.engines import open_database  # brings the parser of SQL

        if self._address:
            return open_database(
                self._address, reads=self._reads, samples=self._samples, limits=self._limits
            )
        texts = comments()

        def told(table: str, column: str) -> str:
            return " / ".join(filter(None, texts.get(table, {}).get(column, ("", ""))))

        return open_database(shipped(self._folder), comments=told, limits=self._limits)

    # Questions without a model

    async def _saved(self, owner: str) -> Sequence[Pair]:
        """Return the questions whose statements an owner has confirmed, then the examples of the description
        of an attached database. Raises Trouble."""
        confirmed = await asyncio.to_thread(self._pairs, owner, self.base)
        if not self._address:
            return confirmed
        examples = (await self.model(owner)).examples
        return [*confirmed, *((each.question, each.sql) for each in examples)]

    async def _read(self, question: str) -> Interpretation:
        """Write the statement for a question about the shipped database. Raises NotUnderstood, Trouble."""
        return read(question, await self._vocabulary())

    async def model(self, owner: str = "") -> SemanticModel:
        """What an attached database means to an owner. What cannot be used is told by `described`.

        Raises:
            Trouble: the database cannot be used.
        """
        return (await self.described(owner)).model

    async def described(self, owner: str = "") -> Described:
        """The semantic model with its text, and why another text cannot be used. Raises Trouble."""
        schema = (await self._opened()).schema
        return await asyncio.to_thread(self._described_by, schema, owner)

    def _described_by(self, schema: Schema, owner: str) -> Described:
        if not self._address:
            model = semantics.drafted(schema)
            return Described(model, semantics.dumped(model))
        problem = ""
        own = self._described(owner, self.base)
        texts: tuple[tuple[str, Literal["owner", "desk"]], ...]
        texts = ((own, "owner"), (self._of_desk(), "desk"))
        for text, whose in texts:
            if not text:
                continue
            try:
                return Described(semantics.loaded(text, schema), text, whose, problem)
            except semantics.Unusable as error:
                problem = problem or str(error)
        model = semantics.drafted(schema)
        return Described(model, own or semantics.dumped(model), "draft", problem)

    def _of_desk(self) -> str:
        """The file that describes the database for everybody, "" if there is none."""
        if self._semantic is None:
            return ""
        try:
            return self._semantic.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            log.warning("the semantic file %s cannot be read: %s", self._semantic.name, type(error).__name__)  # fmt: skip
            return ""

    async def _meant(self, schema: Schema, owner: str) -> tuple[Schema, str]:
        """The schema as a model of language is told of it, with the metrics of the description."""
        if not self._address:
            return schema, ""
        model = await self.model(owner)
        return semantics.described(schema, model), semantics.metrics_told(model)

    async def _headed(self, outcome: Outcome, owner: str) -> Outcome:
        """The outcome with what its columns are called."""
        if not self._address or outcome.rows is None:
            return outcome
        names = semantics.headings(await self.model(owner), outcome.rows.names)
        rows = outcome.rows.model_copy(update={"headings": names})
        return outcome.model_copy(update={"rows": rows})

    async def _vocabulary(self) -> Vocabulary:
        if self._words is None:
            try:
                self._words = await asyncio.to_thread(_vocabulary, await self._opened())
            except Failed as failed:
                raise trouble(failed) from None
        return self._words

    async def _link(self, names: Sequence[str]) -> Sequence[str]:
        if not self._samples:
            return []
        return [hint.text for hint in (await self._known()).hints(names)]

    async def _known(self) -> Values:
        """The values in which names are looked up, read once."""
        if self._values is None:
            self._values = await asyncio.to_thread(_values, await self._opened())
        return self._values


class SharedDatabase(DatabaseService):
    """The same database, opened once, with a writer of one's own."""

    def __init__(self, desk: DatabaseService, writer: Make | None, *, idle: bool = False) -> None:
        self.__dict__.update(desk.__dict__)
        self._desk, self._writer, self._idle = desk, writer, idle

    async def _opened(self) -> Database:
        return await self._desk._opened()

    async def _vocabulary(self) -> Vocabulary:
        return await self._desk._vocabulary()

    async def _known(self) -> Values:
        return await self._desk._known()


def _run(database: Database, sql: str) -> tuple[Rows, Sequence[Missed]]:
    query = database.check(sql)
    try:
        result = database.run(query)
    except Failed as failed:
        if failed.cause in ("table", "column", "value", "refused", "size"):
            raise Refused("statement", failed.message) from None
        raise trouble(failed) from None
    rows = _rows(query, result).model_copy(update={"coverage": database.coverage(query, result)})
    return rows, database.missed(query, look=result.rows in ((), ((0,),)))


def _rows(query: Query, result: Result) -> Rows:
    return Rows(
        sql=query.text,
        names=result.columns,
        types=result.types,
        rows=result.rows,
        truncated=result.truncated,
        cut=result.cut,
        seconds=result.seconds,
        most=query.own,
    )


def _place(missed: Missed) -> tuple[str, str, str]:
    return missed.table, missed.column, missed.text


def _missed(missed: Missed) -> str:
    near = ", ".join(map(repr, missed.near))
    told = f"{missed.table}.{missed.column} is never {missed.text!r}"
    return f"{told}; there is {near}" if near else told


def trouble(failed: Failed) -> Trouble:
    """A failure of a database as one of a source."""
    return Trouble(_REASONS.get(failed.cause, "unavailable"), failed.message)


def _vocabulary(database: Database) -> Vocabulary:
    """What the rules have to know of the areas, from the database itself."""
    return Vocabulary.of(_all(database, "SELECT gid, name, name_en, province, city FROM a_sight"))


def _chosen(database: Database, schema: Schema, question: str, pairs: Sequence[Pair]) -> Choice:
    """The tables for a question, in view of statements that were right for others like it."""
    past: set[str] = set()
    for _, sql in pairs:
        with suppress(Refused):  # one of before the tables were changed
            past |= set(database.check(sql).tables)
    return choose(schema, question, past)


def _values(database: Database) -> Values:
    """The texts in which names are looked up, as far as there is time for them."""
    columns = {}
    end = time.monotonic() + LINKING
    for table in database.schema.tables:
        if time.monotonic() > end:
            break
        for column in table.columns:
            if "TEXT" not in column.type.upper() and "CHAR" not in column.type.upper():
                continue
            try:
                found = database.values(table, column.name, few=FEW)
            except Failed:
                continue  # nothing is linked to this column then
            if found:
                columns[table.called, column.name] = found
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
