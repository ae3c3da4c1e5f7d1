"""Which statements may run: one SELECT, of words that are listed, over tables that are known.

What comes out is never the text that went in. The text is parsed, every node of the tree is looked
up in the lists of `allowed`, every table and column in the schema; then the statement is written
anew from the tree, without comments and with a limit on its rows, and that text goes through the
same checks once more. So a difference between how the parser and how an engine reads a text cannot
matter: engines only ever read what the parser wrote.

Knows sqlglot and a schema; knows no connection. What an engine does besides is in `sqlite`,
`postgres` and `duckdb`: this is the first layer, and it is assumed to fail.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.parsers.duckdb import DuckDBParser

from research.sources.database.allowed import NAMES, SYNTAX, Dialect
from research.sources.database.catalogue import HOMES, Catalogue, Tables
from research.sources.database.distance import NAME as DISTANCE
from research.sources.database.distance import inlined
from research.sources.database.names import Filter, Names
from research.sources.database.nodes import allow, said, whole
from research.sources.database.refusals import (
    BOUNDS,
    Bounds,
    Refused,
    no_function,
    parsing,
    unread,
    within,
)
from research.sources.database.results import Part
from research.sources.database.rewrites import GATHERS, plainer, quotes, shorter

_FENCE = re.compile(r"\s*```\w*[ \t]*\n(.*?)\s*```\s*", re.DOTALL)  # models write SQL between these
ROWS = 1_000  # that a result has at most, unless it is told otherwise
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it warns of is a refusal here


@dataclass(frozen=True, slots=True)
class Query:
    """A statement that passed. `limit` is in the text: one row more than may be shown, so that it is
    known whether there are more; `own` is the one that it had itself, if any. It is `sorted` if the
    order of its rows is asked for. `ctes` are the names of its WITH parts, `filters` the texts that
    columns are compared with."""

    text: str
    dialect: Dialect
    limit: int
    ctes: frozenset[str]
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    filters: tuple[Filter, ...] = ()
    own: int | None = None
    sorted: bool = False


def check(
    sql: str,
    dialect: Dialect,
    tables: Tables | Catalogue,
    *,
    rows: int = ROWS,
    part: Part | None = None,
    bounds: Bounds = BOUNDS,
) -> Query:
    """The statement as it may run.

    `tables` are those that may be read; where they are in one schema, their columns and types by the
    names that the database has for them are enough. `rows` is how many a result has at most; the
    text asks for one more. `part` is given for a text that has been through here.

    Raises:
        Refused: it may not run. Nothing else is raised, whatever the text is.
    """
    if not isinstance(tables, Catalogue):
        tables = Catalogue(tables, HOMES[dialect])
    guard = _Guard(dialect, Names(dialect, tables), bounds)
    try:
        return guard.query(sql, rows, part)
    except (SqlglotError, RecursionError) as error:
        raise unread(error) from None


class SQLiteText(SQLiteGenerator):
    """SQLite's own text, but for one word: a cast to NUMERIC keeps whole numbers, one to REAL does not."""

    TYPE_MAPPING = {**SQLiteGenerator.TYPE_MAPPING, exp.DType.DECIMAL: "NUMERIC"}  # noqa: RUF012


class _PostgresText(PostgresGenerator):
    """PostgreSQL's own text, but for SUBSTRING: given a text, it is a regular expression."""

    TRANSFORMS = {  # noqa: RUF012
        **PostgresGenerator.TRANSFORMS,
        exp.Substring: lambda self, node: self.func(
            "SUBSTR", node.this, node.args.get("start"), node.args.get("length")
        ),
    }


_TEXTS = {"sqlite": SQLiteText, "postgres": _PostgresText, "duckdb": DuckDBGenerator}


class _SQLiteGiven(SQLite):
    """SQLite as it is read from outside: see `_UNKNOWN_LAST`."""

    NULL_ORDERING = "nulls_are_last"


class _PostgresGiven(Postgres):
    """PostgreSQL as it is read from outside: see `_UNKNOWN_LAST`."""

    NULL_ORDERING = "nulls_are_last"


class _DuckDBGiven(DuckDB):
    """DuckDB as it is read from outside, but for NUMERIC without a size, which has three decimals there:
    it is a DOUBLE here. NULLs are last in it anyhow."""

    class Parser(DuckDBParser):
        TYPE_CONVERTERS = {  # noqa: RUF012
            **DuckDBParser.TYPE_CONVERTERS,
            exp.DType.DECIMAL: lambda kind: (
                kind if kind.expressions else exp.DType.DOUBLE.into_expr()
            ),
        }


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", "")))


_SAID = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)
_SPELLINGS = _words(
    "within nulls last both leading trailing symmetric asymmetric zone without value respect only"
)
"""Words of grammar that the writers have other words for, or that say what is so without them."""
_AFTER_LIMIT = (TokenType.OFFSET, TokenType.COMMA, TokenType.SEMICOLON)
_UNKNOWN_LAST: dict[Dialect, type[Parser]] = {
    "sqlite": _SQLiteGiven,
    "postgres": _PostgresGiven,
    "duckdb": _DuckDBGiven,
}
"""Where a statement does not say otherwise, NULLs are the last rows, up or down: of the nearest, the
cheapest and the highest none is unknown. SQLite has them first going up, PostgreSQL going down, so
the text that is written anew says it."""


class _Guard:
    """The rules for one dialect and one schema."""

    def __init__(self, dialect: Dialect, names: Names, bounds: Bounds) -> None:
        self._dialect = dialect
        self._names = names
        self._bounds = bounds
        self._parser = Parser.get_or_raise(dialect)
        self._given = _UNKNOWN_LAST[dialect]()

    def query(self, sql: str, rows: int, part: Part | None) -> Query:
        if fenced := _FENCE.fullmatch(sql):
            sql = fenced[1]
        self._measure(sql)
        sql = self._limits_apart(sql)
        first = self._vetted(sql, self._given)
        if self._dialect == "sqlite" and (texts := self._names.texts(first, sql)):
            first = self._vetted(_in_single_quotes(sql, texts), self._given)
        own, limit = _limited(first, rows + 1, part)
        text = self._written(first)
        tree = self._vetted(text, self._parser)
        said(tree)
        self._only_known_calls(text, tree)
        columns, filters = self._names.columns(tree, self._bounds)
        tables = tuple(sorted({self._names.known(table) for table in self._names.tables(tree)}))
        if self._dialect == "postgres":
            text = self._written(shorter(_exact(_without_distance(tree, self._dialect))))
        elif self._dialect == "duckdb":
            text = self._written(shorter(_without_distance(tree, self._dialect)))
        parts, ordered = self._names.parts(tree), bool(tree.args.get("order"))
        return Query(text, self._dialect, limit, parts, tables, columns, filters, own, ordered)

    def _measure(self, sql: str) -> None:
        """Before anything is parsed: is this one statement of a size that can be parsed?"""
        if len(sql) > self._bounds.characters:
            raise Refused("limit", f"The statement has {len(sql)} characters; at most {self._bounds.characters} may be.")  # fmt: skip
        if "\x00" in sql or any(0xD800 <= ord(character) <= 0xDFFF for character in sql):
            raise Refused("syntax", "The statement has a character in it that is no text.")
        with parsing():
            found = [token.token_type for token in self._parser.tokenize(sql)]
        while found and found[-1] is TokenType.SEMICOLON:
            found.pop()
        if TokenType.SEMICOLON in found:
            raise Refused("statement", "Only one statement may be given; remove what follows the semicolon.")  # fmt: skip
        first = next((kind for kind in found if kind is not TokenType.L_PAREN), None)
        if first not in (TokenType.SELECT, TokenType.WITH):
            raise Refused("statement", "Only SELECT and WITH … SELECT may run.")
        within("words", len(found), self._bounds.tokens)
        deepest = depth = 0
        for kind in found:
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            deepest = max(deepest, depth)
        within("parentheses in one another", deepest, self._bounds.parentheses)

    def _limits_apart(self, sql: str) -> str:
        """A text with parentheses around what is reckoned after LIMIT: the parser reads LIMIT 2 - n % 2 as
        a percentage, which no engine here has."""
        found = self._parser.tokenize(sql)
        for at in reversed([n for n, token in enumerate(found) if token.token_type is TokenType.LIMIT]):  # fmt: skip
            depth, last = 0, at
            for token in found[at + 1 :]:
                depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)  # fmt: skip
                if depth < 0 or (not depth and token.token_type in _AFTER_LIMIT):
                    break
                last += 1
            reckoned = found[at + 1 : last + 1]
            if any(token.token_type is TokenType.MOD for token in reckoned):
                start, end = reckoned[0].start, reckoned[-1].end + 1
                sql = f"{sql[:start]}({sql[start:end]}){sql[end:]}"
        return sql

    def _vetted(self, sql: str, parser: Parser) -> exp.Query:
        """The tree of a text, all of whose nodes and tables are allowed."""
        with parsing():
            found = [tree for tree in sqlglot.parse(sql, read=parser) if tree is not None]
        if len(found) != 1:
            raise Refused("statement", "Only one statement may be given.")
        tree = _bare(found[0])
        if not isinstance(tree, (exp.Select, exp.SetOperation)):
            raise Refused("statement", f"Only SELECT and WITH … SELECT may run, not {tree.key.upper()}.")  # fmt: skip
        given = tree.copy()
        plainer(tree, self._names.columns_of, self._dialect, self._bounds)
        for node in tree.walk():
            allow(node, self._dialect, self._bounds, sql)
        self._nothing_lost(sql, given)
        self._count(tree)
        self._names.resolve(tree)
        return tree

    def _nothing_lost(self, sql: str, tree: exp.Expr) -> None:
        """Refuse a text with a word, name or value that the tree which was read from it does not say.

        The parser passes over what it does not know, and a writer leaves out what its engine has no
        words for: the ties of a FETCH, the time zone of a function. Names of functions, words of
        grammar and sizes of types, which DuckDB does not have, are not compared.
        """
        maker = _TEXTS[self._dialect](
            dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IGNORE
        )
        with parsing():
            written = self._parser.tokenize(maker.generate(tree, copy=False))
        known = _words(" ".join(token.text for token in written)) | _SPELLINGS
        for alias in tree.find_all(
            exp.TableAlias
        ):  # which SQLite has no words for: `named_columns`
            known |= _words(" ".join(column.name for column in alias.columns))
        found = self._parser.tokenize(sql)
        kinds = [None, None, *(token.token_type for token in found), None]
        types = self._parser.parser_class.TYPE_TOKENS
        for at, token in enumerate(found, 2):
            called = token.token_type is TokenType.VAR and kinds[at + 1] is TokenType.L_PAREN
            sized = kinds[at - 1] is TokenType.L_PAREN and kinds[at - 2] in types
            lost = set() if called or sized or token.token_type not in _SAID else _words(token.text) - known  # fmt: skip
            if lost:
                word = next(word for word in re.findall(r"\w+", token.text) if _words(word) & lost)
                raise Refused("syntax", f"{word[:60]!r} is not understood here and would be ignored; write it in another way, or without it.")  # fmt: skip

    def _count(self, tree: exp.Expr) -> None:
        """Is there not too much of anything?"""
        bounds = self._bounds
        for what, kind, most in (
            ("joins", exp.Join, bounds.joins),
            ("SELECTs", exp.Select, bounds.selects),
            ("WITH parts", exp.CTE, bounds.ctes),
            ("parts of a UNION", exp.SetOperation, bounds.branches - 1),
            ("values", exp.Literal, bounds.literals),
            ("functions", exp.Func, bounds.calls),
            (
                "DISTINCTs and sorted aggregates",
                (exp.Distinct, exp.WithinGroup, *GATHERS),
                bounds.sorts,
            ),
            ("windows", exp.Window, bounds.windows),
            ("CUBEs, ROLLUPs and GROUPING SETS", (exp.Cube, exp.Rollup, exp.GroupingSets), 2),
        ):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            within(what, sum(1 for _ in tree.find_all(*kinds)), most)
        within("functions that quote", sum(map(quotes, tree.find_all(exp.Func))), bounds.quoting)
        growth = 1.0
        for call in tree.find_all(exp.Replace, exp.RegexpReplace):
            growth *= _growth(call)
        within("times longer texts by REPLACE", int(growth), bounds.growth)

    def _written(self, tree: exp.Expr) -> str:
        """The text of a tree for its engine; what the engine has no words for is an error."""
        maker = _TEXTS[self._dialect](
            dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IMMEDIATE
        )
        with parsing():
            return maker.generate(tree, copy=True)

    def _only_known_calls(self, text: str, tree: exp.Expr) -> None:
        """The words before a parenthesis, in the text that the engine will read, are all known ones."""
        known = NAMES[self._dialect] | SYNTAX | self._names.aliases(tree)
        for token, following in pairwise(self._parser.tokenize(text)):
            word = token.text.lower().split(" ")[-1]  # as of GROUPING SETS
            called = following.token_type is TokenType.L_PAREN and re.match(r"\w", word)
            if called and word not in known and not word.isdigit():
                raise no_function(word, self._dialect)


def _in_single_quotes(sql: str, texts: Sequence[tuple[int, int, str]]) -> str:
    """A statement of SQLite with names that are texts written as such."""
    for start, end, text in sorted(texts, reverse=True):
        sql = f"{sql[:start]}{exp.Literal.string(text).sql('sqlite')}{sql[end + 1 :]}"
    return sql


def _bare(tree: exp.Expr) -> exp.Expr:
    """A statement without the parentheses around the whole of it."""
    while isinstance(tree, exp.Subquery) and not any(
        value for key, value in tree.args.items() if key != "this"
    ):
        tree = tree.this
    tree.parent = None
    return tree


def _limited(tree: exp.Query, most: int, part: Part | None) -> tuple[int | None, int]:
    """Sets the limit of a statement, which is the smaller of its own and `most`, and returns both; or
    has it give a part of its rows."""
    given, own = tree.args.get("limit"), None
    if isinstance(given, exp.Fetch):
        options = given.args.get("limit_options")
        if options and (options.args.get("percent") or options.args.get("with_ties")):
            raise Refused("limit", "FETCH may ask for a number of rows only; write LIMIT.")
        own = whole(given.args.get("count"), "FETCH")
    elif given:
        own = whole(given.args.get("expression"), "LIMIT")
    if part:
        own = part.most
        most = most if own is None else max(0, min(most, own - part.skip))
        _skip(tree, part.skip)
    number = most if own is None else min(own, most)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(number)))
    return own, number


def _skip(tree: exp.Query, rows: int) -> None:
    """Leaves out so many rows more than a statement does itself."""
    if not rows:
        return
    given = tree.args.get("offset")
    more: exp.Expr = exp.Literal.number(rows)
    before = given.expression if isinstance(given, exp.Offset) else None
    if isinstance(before, exp.Literal) and before.is_int:
        more = exp.Literal.number(int(before.name) + rows)
    elif before is not None:
        more = exp.Add(this=exp.Paren(this=before.copy()), expression=more)
    tree.set("offset", exp.Offset(expression=more))


def _growth(call: exp.Expr) -> float:
    """How many times longer a REPLACE can make its text; a hundred times where nobody can tell."""
    old, new = call.args.get("expression"), call.args.get("replacement")
    if new is None or (isinstance(new, exp.Literal) and not new.name):
        return 1.0
    if isinstance(call, exp.RegexpReplace):
        return 1.0 + len(new.name)  # a pattern may be met between any two characters
    if isinstance(old, exp.Literal) and isinstance(new, exp.Literal):
        return max(1.0, len(new.name) / max(1, len(old.name)))
    return 100.0


def _without_distance(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == DISTANCE:
            call.replace(inlined(call, dialect))
    return tree


def _exact(tree: exp.Expr) -> exp.Expr:
    """The tree with what PostgreSQL reckons with exact numbers alone given such numbers: rounding to some
    digits, logarithms to a base, remainders. ROUND of an exact number also rounds halves as SQLite
    does."""
    for call in tree.find_all(exp.Round, exp.Trunc, exp.Log, exp.Mod, exp.IntDiv, exp.Anonymous):
        if isinstance(call, exp.Round):
            keys = ["this"]
        elif isinstance(call, exp.Trunc):
            keys = ["this"] if call.args.get("decimals") else []
        elif isinstance(call, exp.Log):
            keys = ["this", "expression"] if call.args.get("expression") else []
        elif isinstance(call, exp.Anonymous):
            if call.name.lower() == "div":
                call.set("expressions", [_as_exact(value) for value in call.expressions])
            continue
        else:  # of whole numbers they are whole
            keys = ["this", "expression"] if call.find(exp.Pow, exp.Exp) else []
        for key in keys:
            call.set(key, _as_exact(call.args[key]))
    return tree


def _as_exact(value: exp.Expr) -> exp.Expr:
    exact = isinstance(value, exp.Cast) and value.is_type(exp.DType.DECIMAL)
    return value if exact else exp.cast(value.unnest(), exp.DType.DECIMAL)
