"""Asks a chat model for SQL: what a question wants, a statement for it, and one for what was NULL.

The model is shown the tables, what the question's names are called in them, and what was wrong with
its statements so far. Of rows it sees cells between fences, shortened, and never as instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from research.core.records import Say
from research.core.settings import Role
from research.core.text.words import detect_language
from research.models.calls import Chat, Prompt, Sized
from research.models.counting import tokens
from research.models.prompting import DESK, fenced, structure

SQL = 4_000  # characters of a statement
NAMES = 12
ASKED = 500  # characters of a question that is shown as an example
HINT = 300  # characters of what a name may be called
PROBLEM = 600  # characters of what was wrong with a statement
CELL = 120  # characters of a cell that a model is shown
MORE = 20  # tokens in which a prompt says that there is more
ROWS = 20
_VALUES = re.compile(r" \[[^\n]*\]$", re.M)  # of a column, in what describes a schema
_DIALECTS = {"sqlite": "SQLite", "postgres": "PostgreSQL", "duckdb": "DuckDB"}
_OTHERS = """
- "tables": the names of those tables that are not described and yet needed; none if the described ones will do."""
_LISTED = {"type": "array", "items": {"type": "string", "maxLength": 120}, "maxItems": NAMES}
_NULLS_LAST = "\n- PostgreSQL puts NULL first where it is ordered DESC: write NULLS LAST."
_RULES = """- One SELECT statement (joins, CTEs, window functions and subqueries are fine; recursion only to \
count out a series, such as twelve months), of the tables and columns below and no others. No comments and no parameters.
- distance_km(lng1, lat1, lng2, lat2) gives kilometres between two points; there are no other spatial \
functions. For the nearest, order by it and limit.
- Name every column of the result. For rows of single things select their key, name and coordinates as \
well, so that they can be shown on a map; no JSON, no aggregated lists.
- A value may be NULL where it is not known: do not take NULL for zero, and leave NULL out where things \
are compared or ordered. Divide by numbers that cannot be 0.
- Compare names exactly as the database has them."""


class _Json(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Intent(_Json):
    """What a question wants. `names` are what it calls things, as they stand in it."""

    answerable: bool
    meant: str = ""
    names: list[str] = []
    tables: list[str] = []
    clarify: str = ""


class Statement(_Json):
    """A statement and why it is written so."""

    sql: str
    why: str = ""


class _Models(Protocol):
    def chat(self, role: Role) -> Chat: ...


class _Rows(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]: ...


class SQLWriter:
    """A model that turns questions into SQL for one database."""

    def __init__(
        self,
        models: _Models,
        dialect: str,
        schema: str,
        examples: Callable[[str], Sequence[tuple[str, str]]] = lambda question: (),
        more: Callable[[str], str] | None = None,
    ) -> None:
        """`schema` describes the tables; `examples` are pairs of questions and statements that an
        analyst has found right, those like a question. Where `schema` leaves tables out, `more`
        describes those of them that a text names."""
        self._models, self._dialect = models, _DIALECTS.get(dialect, dialect)
        self._schema, self._examples, self._more = schema, examples, more
        self._named = ""  # tables that a question needs besides
        self._rules = _RULES + (_NULLS_LAST if dialect == "postgres" else "")

    @property
    def author(self) -> str:
        return str(self._models.chat("plan").spec)

    async def analyse(self, question: str, say: Say) -> Intent:
        """What a question wants of the database.

        Raises:
            Trouble: the model cannot be asked.
        """
        system = f"""{DESK}

A question is put to a database. Say what it wants, and reply with JSON.
- "answerable": whether the tables can tell it; false for anything else, and for a wish to change them.
- "meant": in one sentence, in the language of the question, what is looked for: which rows, which \
conditions, which order, how many; of distances, from where and how far.
- "names": what of the question are names or values of the tables (places, provinces, kinds, levels), \
each as it stands in the question, at most {NAMES}.{_OTHERS if self._more else ""}
- "clarify": if it cannot be answered, why not, or what has to be said more exactly; else ""."""
        shape = structure(
            answerable={"type": "boolean"},
            meant={"type": "string", "maxLength": 400},
            names={
                "type": "array",
                "items": {"type": "string", "maxLength": 80},
                "maxItems": NAMES,
            },
            **({"tables": _LISTED} if self._more else {}),
            clarify={"type": "string", "maxLength": 400},
        )
        sized = self._sized(system, [_question(question)])
        intent = await self._models.chat("plan").json(sized, shape, Intent, "plan", say)
        self._named = " ".join(intent.tables[:NAMES])
        return intent

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: Say
    ) -> Statement:
        """A statement that answers a question; `tries` are those of before and what was wrong with
        each.

        Raises:
            Trouble: the model cannot be asked.
        """
        system = f"""{DESK}

Write {self._dialect} SQL that answers the question, and reply with JSON: "sql", and "why" it is written \
so, in one sentence in {_tongue(question)}.
{self._rules}
- If a statement of before was refused or found nothing, put right what was wrong with it."""
        rest = [
            _question(question),
            _listed("Names as the database has them", "values", hints),
            *(_tried(sql, problem) for sql, problem in tries),
        ]
        tried = [sql for sql, _ in tries]
        sized = self._sized(system, rest, self._shown_examples(question), tried)
        return await self._asked(sized, say)

    async def supplement(
        self,
        question: str,
        rows: _Rows,
        lacking: Sequence[str],
        hints: Sequence[str],
        say: Say,
    ) -> Statement:
        """A statement that finds what is NULL in some columns, by the key of the rows; "" if the
        tables have nothing more.

        Raises:
            Trouble: the model cannot be asked.
        """
        system = f"""{DESK}

A statement has found rows in which some columns are NULL. If another table or column of the database may \
have what is missing, write {self._dialect} SQL that selects the key and those columns, under the same \
names, for these rows; else "sql" is "". Reply with JSON: "sql", and "why" in one sentence in \
{_tongue(question)}.
{self._rules}"""
        rest = [
            _question(question),
            _listed("Columns that are NULL in some rows", "columns", [_name(n) for n in lacking]),
            "Rows found so far:\n" + fenced("rows", shown(rows)),
        ]
        return await self._asked(self._sized(system, rest), say)

    async def _asked(self, prompt: Sized, say: Say) -> Statement:
        shape = structure(
            sql={"type": "string", "maxLength": SQL}, why={"type": "string", "maxLength": 300}
        )
        return await self._models.chat("plan").json(prompt, shape, Statement, "search", say)

    def _sized(
        self, system: str, rest: Sequence[str], examples: str = "", tried: Sequence[str] = ()
    ) -> Sized:
        """The tables and the rest. Where there is little room the examples go first, then the values
        of columns, then what does not fit of the columns."""

        def made(tables: str, *more: str) -> Prompt:
            return Prompt(system, "\n\n".join(filter(None, [tables, *more, *rest])))

        def fitted(room: int) -> Prompt:
            schema = self._described(*tried)
            if (whole := made(_tables(schema), examples)).size <= room:
                return whole
            bare = _VALUES.sub("", schema)
            left = room - made(_tables("")).size
            return made(_tables(schema if tokens(schema) <= left else _lines(bare, left)))

        return fitted

    def _described(self, *tried: str) -> str:
        """The schema, with those tables besides that the question needs or a statement has named."""
        besides = self._more(" ".join((self._named, *tried))) if self._more else ""
        return "\n".join(filter(None, [besides, self._schema]))

    def _shown_examples(self, question: str) -> str:
        pairs = [
            f"{_short(asked, ASKED)}\n{_short(sql, SQL)}" for asked, sql in self._examples(question)
        ]
        return (
            "Questions with statements that were right:\n" + fenced("examples", "\n\n".join(pairs))
            if pairs
            else ""
        )


def _tables(schema: str) -> str:
    return "Tables:\n" + fenced("schema", schema)


def _lines(schema: str, room: int) -> str:
    """The first lines of a schema that have room in so many tokens, and how many have not."""
    lines, used = schema.splitlines(), MORE
    for n, line in enumerate(lines):
        used += tokens(line + "\n")
        if used > room and tokens(schema) > room:
            return "\n".join([*lines[:n], f"({len(lines) - n} more lines have no room here)"])
    return schema


def shown(rows: _Rows, most: int = ROWS, cell: int = CELL) -> str:
    """Rows as lines of JSON, cells shortened: data, whatever they say."""
    lines = []
    for row in rows.rows[:most]:
        values = {
            _name(name): _short(value, cell) for name, value in zip(rows.names, row, strict=True)
        }
        lines.append(json.dumps(values, ensure_ascii=False, default=str))
    if len(rows.rows) > most:
        lines.append(f"({len(rows.rows) - most} more rows)")
    return "\n".join(lines)


def _name(name: str) -> str:
    """The name of a column on one line: a result may be called anything."""
    return str(_short(" ".join(name.split()), CELL))


def _short(value: object, most: int) -> object:
    if isinstance(value, str) and len(value) > most:
        return value[: most - 1] + "…"
    return value


def _question(question: str) -> str:
    return "Question:\n" + fenced("question", question)


def _listed(title: str, name: str, lines: Sequence[str]) -> str:
    shown = [str(_short(" ".join(line.split()), HINT)) for line in lines]
    return f"{title}:\n{fenced(name, chr(10).join(shown))}" if lines else ""


def _tried(sql: str, problem: str) -> str:
    wrong = fenced("problem", str(_short(problem, PROBLEM)))
    return f"A statement of before:\n{fenced('sql', sql)}\nWhat was wrong:\n{wrong}"


def _tongue(question: str) -> str:
    return {"zh": "Chinese", "en": "English"}[detect_language(question)]
