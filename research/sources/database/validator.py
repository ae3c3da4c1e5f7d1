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

from research.sources.database.allowlist import FUNCTION_NAMES, KEYWORDS, Dialect
from research.sources.database.catalog import DEFAULT_SCHEMAS, Catalog, TableColumns
from research.sources.database.distance import FUNCTION_NAME as DISTANCE
from research.sources.database.distance import inline_distance
from research.sources.database.name_resolver import NameResolver, TextFilter
from research.sources.database.node_rules import check_formats, check_node, parse_whole_number
from research.sources.database.refusals import (
    DEFAULT_LIMITS,
    RefusedError,
    StatementLimits,
    check_limit,
    convert_parser_errors,
    parser_refusal,
    unknown_function,
)
from research.sources.database.results import RowRange
from research.sources.database.rewrites import GATHERING_AGGREGATES, is_quoting, limit_texts, simplify

_CODE_FENCE = re.compile(r"\s*```\w*[ \t]*\n(.*?)\s*```\s*", re.DOTALL)  # models write SQL between these
DEFAULT_MAX_ROWS = 1_000  # that a result has at most, unless it is told otherwise
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it warns of is a refusal here


@dataclass(frozen=True, slots=True)
class ValidatedQuery:
    """A statement that passed. `limit` is in the text: one row more than may be shown, so that it is
    known whether there are more; `own` is the one that it had itself, if any. It is `sorted` if the
    order of its rows is asked for. `ctes` are the names of its WITH parts, `filters` the texts that
    columns are compared with."""

    sql: str
    dialect: Dialect
    limit: int
    cte_names: frozenset[str]
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    filters: tuple[TextFilter, ...] = ()
    own_limit: int | None = None
    is_ordered: bool = False


def validate(
    sql: str,
    dialect: Dialect,
    tables: TableColumns | Catalog,
    *,
    max_rows: int = DEFAULT_MAX_ROWS,
    row_range: RowRange | None = None,
    limits: StatementLimits = DEFAULT_LIMITS,
) -> ValidatedQuery:
    """The statement as it may run.

    `tables` are those that may be read; where they are in one schema, their columns and types by the
    names that the database has for them are enough. `rows` is how many a result has at most; the
    text asks for one more. `part` is given for a text that has been through here.

    Raises:
        Refused: it may not run. Nothing else is raised, whatever the text is.
    """
    if not isinstance(tables, Catalog):
        tables = Catalog(tables, DEFAULT_SCHEMAS[dialect])
    guard = _Validator(dialect, NameResolver(dialect, tables), limits)
    try:
        return guard.validate(sql, max_rows, row_range)
    except (SqlglotError, RecursionError) as error:
        raise parser_refusal(error) from None


class SQLiteTextGenerator(SQLiteGenerator):
    """SQLite's own text, but for one word: a cast to NUMERIC keeps whole numbers, one to REAL does not."""

    TYPE_MAPPING = {**SQLiteGenerator.TYPE_MAPPING, exp.DType.DECIMAL: "NUMERIC"}  # noqa: RUF012


class _PostgresTextGenerator(PostgresGenerator):
    """PostgreSQL's own text, but for SUBSTRING: given a text, it is a regular expression."""

    TRANSFORMS = {  # noqa: RUF012
        **PostgresGenerator.TRANSFORMS,
        exp.Substring: lambda self, node: self.func(
            "SUBSTR", node.this, node.args.get("start"), node.args.get("length")
        ),
    }


_GENERATORS = {"sqlite": SQLiteTextGenerator, "postgres": _PostgresTextGenerator, "duckdb": DuckDBGenerator}


class _SQLiteInput(SQLite):
    """SQLite as it is read from outside: see `_UNKNOWN_LAST`."""

    NULL_ORDERING = "nulls_are_last"


class _PostgresInput(Postgres):
    """PostgreSQL as it is read from outside: see `_UNKNOWN_LAST`."""

    NULL_ORDERING = "nulls_are_last"


class _DuckDBInput(DuckDB):
    """DuckDB as it is read from outside, but for NUMERIC without a size, which has three decimals there:
    it is a DOUBLE here. NULLs are last in it anyhow."""

    class Parser(DuckDBParser):
        TYPE_CONVERTERS = {  # noqa: RUF012
            **DuckDBParser.TYPE_CONVERTERS,
            exp.DType.DECIMAL: lambda kind: kind if kind.expressions else exp.DType.DOUBLE.into_expr(),
        }


def _word_set(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", "")))


_COMPARED_TOKENS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)
_DROPPED_WORDS = _word_set(
    "within nulls last both leading trailing symmetric asymmetric zone without value respect only"
)
"""Words of grammar that the writers have other words for, or that say what is so without them."""
_AFTER_LIMIT = (TokenType.OFFSET, TokenType.COMMA, TokenType.SEMICOLON)
_INPUT_DIALECTS: dict[Dialect, type[Parser]] = {
    "sqlite": _SQLiteInput,
    "postgres": _PostgresInput,
    "duckdb": _DuckDBInput,
}
"""Where a statement does not say otherwise, NULLs are the last rows, up or down: of the nearest, the
cheapest and the highest none is unknown. SQLite has them first going up, PostgreSQL going down, so
the text that is written anew says it."""


class _Validator:
    """The rules for one dialect and one schema."""

    def __init__(self, dialect: Dialect, names: NameResolver, limits: StatementLimits) -> None:
        self._dialect = dialect
        self._names = names
        self._limits = limits
        self._parser = Parser.get_or_raise(dialect)
        self._input_dialect = _INPUT_DIALECTS[dialect]()

    def validate(self, sql: str, max_rows: int, row_range: RowRange | None) -> ValidatedQuery:
        if fenced := _CODE_FENCE.fullmatch(sql):
            sql = fenced[1]
        self._check_size(sql)
        sql = self._parenthesize_limits(sql)
        first = self._parse(sql, self._input_dialect)
        if self._dialect == "sqlite" and (texts := self._names.quoted_texts(first, sql)):
            first = self._parse(_write_texts(sql, texts), self._input_dialect)
        own, limit = _apply_limit(first, max_rows + 1, row_range)
        text = self._generate(first)
        tree = self._parse(text, self._parser)
        check_formats(tree)
        self._check_calls(text, tree)
        columns, filters = self._names.read_columns(tree, self._limits)
        tables = tuple(sorted({self._names.qualified_table(table) for table in self._names.read_tables(tree)}))
        if self._dialect == "postgres":
            text = self._generate(limit_texts(_cast_to_exact(_inline_distances(tree, self._dialect))))
        elif self._dialect == "duckdb":
            text = self._generate(limit_texts(_inline_distances(tree, self._dialect)))
        parts, ordered = self._names.cte_names(tree), bool(tree.args.get("order"))
        return ValidatedQuery(text, self._dialect, limit, parts, tables, columns, filters, own, ordered)

    def _check_size(self, sql: str) -> None:
        """Before anything is parsed: is this one statement of a size that can be parsed?"""
        if len(sql) > self._limits.max_characters:
            raise RefusedError("limit", f"The statement has {len(sql)} characters; at most {self._limits.max_characters} may be.")  # fmt: skip
        if "\x00" in sql or any(0xD800 <= ord(character) <= 0xDFFF for character in sql):
            raise RefusedError("syntax", "The statement has a character in it that is no text.")
        with convert_parser_errors():
            found = [token.token_type for token in self._parser.tokenize(sql)]
        while found and found[-1] is TokenType.SEMICOLON:
            found.pop()
        if TokenType.SEMICOLON in found:
            raise RefusedError("statement", "Only one statement may be given; remove what follows the semicolon.")  # fmt: skip
        first = next((kind for kind in found if kind is not TokenType.L_PAREN), None)
        if first not in (TokenType.SELECT, TokenType.WITH):
            raise RefusedError("statement", "Only SELECT and WITH … SELECT may run.")
        check_limit("words", len(found), self._limits.max_tokens)
        deepest = depth = 0
        for kind in found:
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            deepest = max(deepest, depth)
        check_limit("parentheses in one another", deepest, self._limits.max_parentheses)

    def _parenthesize_limits(self, sql: str) -> str:
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

    def _parse(self, sql: str, parser: Parser) -> exp.Query:
        """The tree of a text, all of whose nodes and tables are allowed."""
        with convert_parser_errors():
            found = [tree for tree in sqlglot.parse(sql, read=parser) if tree is not None]
        if len(found) != 1:
            raise RefusedError("statement", "Only one statement may be given.")
        tree = _unwrap(found[0])
        if not isinstance(tree, (exp.Select, exp.SetOperation)):
            raise RefusedError("statement", f"Only SELECT and WITH … SELECT may run, not {tree.key.upper()}.")  # fmt: skip
        given = tree.copy()
        simplify(tree, self._names.table_columns, self._dialect, self._limits)
        for node in tree.walk():
            check_node(node, self._dialect, self._limits, sql)
        self._check_nothing_lost(sql, given)
        self._check_counts(tree)
        self._names.resolve_tables(tree)
        return tree

    def _check_nothing_lost(self, sql: str, tree: exp.Expr) -> None:
        """Refuse a text with a word, name or value that the tree which was read from it does not say.

        The parser passes over what it does not know, and a writer leaves out what its engine has no
        words for: the ties of a FETCH, the time zone of a function. Names of functions, words of
        grammar and sizes of types, which DuckDB does not have, are not compared.
        """
        maker = _GENERATORS[self._dialect](dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IGNORE)
        with convert_parser_errors():
            written = self._parser.tokenize(maker.generate(tree, copy=False))
        known = _word_set(" ".join(token.text for token in written)) | _DROPPED_WORDS
        for alias in tree.find_all(exp.TableAlias):  # which SQLite has no words for: `named_columns`
            known |= _word_set(" ".join(column.name for column in alias.columns))
        found = self._parser.tokenize(sql)
        kinds = [None, None, *(token.token_type for token in found), None]
        types = self._parser.parser_class.TYPE_TOKENS
        for at, token in enumerate(found, 2):
            called = token.token_type is TokenType.VAR and kinds[at + 1] is TokenType.L_PAREN
            sized = kinds[at - 1] is TokenType.L_PAREN and kinds[at - 2] in types
            lost = set() if called or sized or token.token_type not in _COMPARED_TOKENS else _word_set(token.text) - known  # fmt: skip
            if lost:
                word = next(word for word in re.findall(r"\w+", token.text) if _word_set(word) & lost)
                raise RefusedError("syntax", f"{word[:60]!r} is not understood here and would be ignored; write it in another way, or without it.")  # fmt: skip

    def _check_counts(self, tree: exp.Expr) -> None:
        """Is there not too much of anything?"""
        bounds = self._limits
        for what, kind, most in (
            ("joins", exp.Join, bounds.max_joins),
            ("SELECTs", exp.Select, bounds.max_selects),
            ("WITH parts", exp.CTE, bounds.max_ctes),
            ("parts of a UNION", exp.SetOperation, bounds.max_branches - 1),
            ("values", exp.Literal, bounds.max_literals),
            ("functions", exp.Func, bounds.max_calls),
            (
                "DISTINCTs and sorted aggregates",
                (exp.Distinct, exp.WithinGroup, *GATHERING_AGGREGATES),
                bounds.max_sorts,
            ),
            ("windows", exp.Window, bounds.max_windows),
            ("CUBEs, ROLLUPs and GROUPING SETS", (exp.Cube, exp.Rollup, exp.GroupingSets), 2),
        ):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            check_limit(what, sum(1 for _ in tree.find_all(*kinds)), most)
        check_limit("functions that quote", sum(map(is_quoting, tree.find_all(exp.Func))), bounds.max_quoting_calls)
        growth = 1.0
        for call in tree.find_all(exp.Replace, exp.RegexpReplace):
            growth *= _growth_factor(call)
        check_limit("times longer texts by REPLACE", int(growth), bounds.max_growth)

    def _generate(self, tree: exp.Expr) -> str:
        """The text of a tree for its engine; what the engine has no words for is an error."""
        maker = _GENERATORS[self._dialect](dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IMMEDIATE)
        with convert_parser_errors():
            return maker.generate(tree, copy=True)

    def _check_calls(self, sql: str, tree: exp.Expr) -> None:
        """The words before a parenthesis, in the text that the engine will read, are all known ones."""
        known = FUNCTION_NAMES[self._dialect] | KEYWORDS | self._names.table_aliases(tree)
        for token, following in pairwise(self._parser.tokenize(sql)):
            word = token.text.lower().split(" ")[-1]  # as of GROUPING SETS
            called = following.token_type is TokenType.L_PAREN and re.match(r"\w", word)
            if called and word not in known and not word.isdigit():
                raise unknown_function(word, self._dialect)


def _write_texts(sql: str, texts: Sequence[tuple[int, int, str]]) -> str:
    """A statement of SQLite with names that are texts written as such."""
    for start, end, text in sorted(texts, reverse=True):
        sql = f"{sql[:start]}{exp.Literal.string(text).sql('sqlite')}{sql[end + 1 :]}"
    return sql


def _unwrap(tree: exp.Expr) -> exp.Expr:
    """A statement without the parentheses around the whole of it."""
    while isinstance(tree, exp.Subquery) and not any(value for key, value in tree.args.items() if key != "this"):
        tree = tree.this
    tree.parent = None
    return tree


def _apply_limit(tree: exp.Query, max_rows: int, row_range: RowRange | None) -> tuple[int | None, int]:
    """Sets the limit of a statement, which is the smaller of its own and `most`, and returns both; or
    has it give a part of its rows."""
    given, own = tree.args.get("limit"), None
    if isinstance(given, exp.Fetch):
        options = given.args.get("limit_options")
        if options and (options.args.get("percent") or options.args.get("with_ties")):
            raise RefusedError("limit", "FETCH may ask for a number of rows only; write LIMIT.")
        own = parse_whole_number(given.args.get("count"), "FETCH")
    elif given:
        own = parse_whole_number(given.args.get("expression"), "LIMIT")
    if row_range:
        own = row_range.own_limit
        max_rows = max_rows if own is None else max(0, min(max_rows, own - row_range.offset))
        _add_offset(tree, row_range.offset)
    number = max_rows if own is None else min(own, max_rows)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(number)))
    return own, number


def _add_offset(tree: exp.Query, row_count: int) -> None:
    """Leaves out so many rows more than a statement does itself."""
    if not row_count:
        return
    given = tree.args.get("offset")
    more: exp.Expr = exp.Literal.number(row_count)
    before = given.expression if isinstance(given, exp.Offset) else None
    if isinstance(before, exp.Literal) and before.is_int:
        more = exp.Literal.number(int(before.name) + row_count)
    elif before is not None:
        more = exp.Add(this=exp.Paren(this=before.copy()), expression=more)
    tree.set("offset", exp.Offset(expression=more))


def _growth_factor(call: exp.Expr) -> float:
    """How many times longer a REPLACE can make its text; a hundred times where nobody can tell."""
    old, new = call.args.get("expression"), call.args.get("replacement")
    if new is None or (isinstance(new, exp.Literal) and not new.name):
        return 1.0
    if isinstance(call, exp.RegexpReplace):
        return 1.0 + len(new.name)  # a pattern may be met between any two characters
    if isinstance(old, exp.Literal) and isinstance(new, exp.Literal):
        return max(1.0, len(new.name) / max(1, len(old.name)))
    return 100.0


def _inline_distances(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == DISTANCE:
            call.replace(inline_distance(call, dialect))
    return tree


def _cast_to_exact(tree: exp.Expr) -> exp.Expr:
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
                call.set("expressions", [_cast_if_inexact(value) for value in call.expressions])
            continue
        else:  # of whole numbers they are whole
            keys = ["this", "expression"] if call.find(exp.Pow, exp.Exp) else []
        for key in keys:
            call.set(key, _cast_if_inexact(call.args[key]))
    return tree


def _cast_if_inexact(value: exp.Expr) -> exp.Expr:
    exact = isinstance(value, exp.Cast) and value.is_type(exp.DType.DECIMAL)
    return value if exact else exp.cast(value.unnest(), exp.DType.DECIMAL)
