"""Guard that decides which statements may run: one SELECT, of listed words, over known tables.

The text that runs is never the one that was given. The text is parsed, every node of the tree is
looked up in the lists of `allowlist`, and every table and column in the schema. Then the statement
is generated anew from the tree, without comments and with a limit on its rows, and that text goes
through the same checks again. So differences between the parser and an engine in reading a text
cannot matter: engines only read what the generator wrote.

This module depends on sqlglot and a schema, and on no connection. The engines' own defences are in
`sqlite`, `postgres` and `duckdb`: the guard is the first layer, and it is assumed to fail.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

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

_CODE_FENCE = re.compile(r"\s*```\w*[ \t]*\n(.*?)\s*```\s*", re.DOTALL)  # models write SQL between code fences
DEFAULT_MAX_ROWS = 1_000  # rows of a result by default
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings are refusals here


@dataclass(frozen=True, slots=True)
class ValidatedQuery:
    """A statement that passed the guard.

    `limit` is the limit in its text: one row more than may be shown, which reveals whether there
    are more; `own_limit` is the limit that the given text had, if any. `is_ordered` means that it
    orders its rows. `cte_names` are the names of its WITH parts, `filters` the texts that columns
    are compared with.
    """

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
) -> ValidatedQuery:
    """Check a statement and return it as it may run.

    Args:
        sql: the text; with `row_range`, a text that was returned from here.
        dialect: the engine.
        tables: the tables that may be read; if all are in the default schema, a mapping from table
            to column to type suffices.
        max_rows: rows of a result at most; the generated text has a limit of one more.
        row_range: the range of rows to return; None for all.

    Raises:
        RefusedError: it may not run. Nothing else is raised, whatever the text is.
    """
    if not isinstance(tables, Catalog):
        tables = Catalog(tables, DEFAULT_SCHEMAS[dialect])
    guard = _Validator(dialect, NameResolver(dialect, tables), DEFAULT_LIMITS)
    try:
        return guard.validate(sql, max_rows, row_range)
    except (SqlglotError, RecursionError) as error:
        raise parser_refusal(error) from None


class _SQLiteTextGenerator(SQLiteGenerator):
    """SQLite generator that casts to NUMERIC, which keeps whole numbers, in place of REAL, which
    does not."""

    TYPE_MAPPING = {**SQLiteGenerator.TYPE_MAPPING, exp.DType.DECIMAL: "NUMERIC"}  # noqa: RUF012


def generate_sqlite(tree: exp.Expr) -> str:
    """Generate the text of a tree for SQLite, as the guard does."""
    return _SQLiteTextGenerator(dialect="sqlite", comments=False).generate(tree)


class _PostgresTextGenerator(PostgresGenerator):
    """PostgreSQL generator that writes SUBSTR for SUBSTRING, which with a text as its argument is a
    regular expression."""

    TRANSFORMS = {  # noqa: RUF012
        **PostgresGenerator.TRANSFORMS,
        exp.Substring: lambda self, node: self.func(
            "SUBSTR", node.this, node.args.get("start"), node.args.get("length")
        ),
    }


_GENERATORS = {"sqlite": _SQLiteTextGenerator, "postgres": _PostgresTextGenerator, "duckdb": DuckDBGenerator}


class _SQLiteInput(SQLite):
    """SQLite dialect of given statements: see `_INPUT_DIALECTS`."""

    NULL_ORDERING = "nulls_are_last"


class _PostgresInput(Postgres):
    """PostgreSQL dialect of given statements: see `_INPUT_DIALECTS`."""

    NULL_ORDERING = "nulls_are_last"


class _DuckDBInput(DuckDB):
    """DuckDB dialect of given statements.

    NUMERIC without a size, which has three decimals in DuckDB, is read as DOUBLE. NULLs are last in
    DuckDB anyway.
    """

    class Parser(DuckDBParser):
        TYPE_CONVERTERS = {  # noqa: RUF012
            **DuckDBParser.TYPE_CONVERTERS,
            exp.DType.DECIMAL: lambda kind: kind if kind.expressions else exp.DType.DOUBLE.into_expr(),
        }


def _normalized_words(text: str) -> set[str]:
    """Return the words of a text in lower case, without underscores."""
    return set(re.findall(r"\w+", text.lower().replace("_", "")))


_COMPARED_TOKENS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)
_DROPPED_WORDS = _normalized_words(
    "within nulls last both leading trailing symmetric asymmetric zone without value respect only"
)
"""Words of grammar that the generators write differently, or that state a default."""
_AFTER_LIMIT = (TokenType.OFFSET, TokenType.COMMA, TokenType.SEMICOLON)
_INPUT_DIALECTS: dict[Dialect, type[Parser]] = {
    "sqlite": _SQLiteInput,
    "postgres": _PostgresInput,
    "duckdb": _DuckDBInput,
}
"""Dialects in which given statements are parsed. By default they sort NULLs last, ascending or
descending, so that the nearest, cheapest or highest row is never an unknown one. SQLite sorts them first
when ascending and PostgreSQL when descending, so the generated text states the order explicitly."""


class _Validator:
    """The checks for one dialect and one schema."""

    def __init__(self, dialect: Dialect, names: NameResolver, limits: StatementLimits) -> None:
        self._dialect = dialect
        self._names = names
        self._limits = limits
        self._parser = Parser.get_or_raise(dialect)
        self._input_dialect = _INPUT_DIALECTS[dialect]()

    def validate(self, sql: str, max_rows: int, row_range: RowRange | None) -> ValidatedQuery:
        """Check a text, generate it anew, and check the generated text in the same way; see the module."""
        if fenced := _CODE_FENCE.fullmatch(sql):
            sql = fenced[1]
        self._check_size(sql)
        sql = self._parenthesize_limits(sql)
        first = self._parse(sql, self._input_dialect)
        if self._dialect == "sqlite" and (texts := self._names.quoted_texts(first, sql)):
            first = self._parse(_write_texts(sql, texts), self._input_dialect)
        own_limit, limit = _apply_limit(first, max_rows + 1, row_range)
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
        cte_names, is_ordered = self._names.cte_names(tree), bool(tree.args.get("order"))
        return ValidatedQuery(text, self._dialect, limit, cte_names, tables, columns, filters, own_limit, is_ordered)

    def _check_size(self, sql: str) -> None:
        """Check before parsing that a text is one statement of a size that can be parsed."""
        if len(sql) > self._limits.max_characters:
            raise RefusedError(
                "limit", f"The statement has {len(sql)} characters; at most {self._limits.max_characters} may be."
            )
        if "\x00" in sql or any(0xD800 <= ord(character) <= 0xDFFF for character in sql):
            raise RefusedError("syntax", "The statement has a character in it that is no text.")
        with convert_parser_errors():
            token_types = [token.token_type for token in self._parser.tokenize(sql)]
        while token_types and token_types[-1] is TokenType.SEMICOLON:
            token_types.pop()
        if TokenType.SEMICOLON in token_types:
            raise RefusedError("statement", "Only one statement may be given; remove what follows the semicolon.")
        first = next((token_type for token_type in token_types if token_type is not TokenType.L_PAREN), None)
        if first not in (TokenType.SELECT, TokenType.WITH):
            raise RefusedError("statement", "Only SELECT and WITH … SELECT may run.")
        check_limit("words", len(token_types), self._limits.max_tokens)
        deepest = depth = 0
        for token_type in token_types:
            depth += (token_type is TokenType.L_PAREN) - (token_type is TokenType.R_PAREN)
            deepest = max(deepest, depth)
        check_limit("parentheses in one another", deepest, self._limits.max_parentheses)

    def _parenthesize_limits(self, sql: str) -> str:
        """Put parentheses around computed limits: the parser reads LIMIT 2 - n % 2 as a percentage,
        which no engine here has."""
        tokens = self._parser.tokenize(sql)
        for index in reversed([n for n, token in enumerate(tokens) if token.token_type is TokenType.LIMIT]):
            depth, last = 0, index
            for token in tokens[index + 1 :]:
                depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
                if depth < 0 or (not depth and token.token_type in _AFTER_LIMIT):
                    break
                last += 1
            limit_tokens = tokens[index + 1 : last + 1]
            if any(token.token_type is TokenType.MOD for token in limit_tokens):
                start, end = limit_tokens[0].start, limit_tokens[-1].end + 1
                sql = f"{sql[:start]}({sql[start:end]}){sql[end:]}"
        return sql

    def _parse(self, sql: str, parser: Parser) -> exp.Query:
        """Parse a text into a tree, and check its nodes and tables."""
        with convert_parser_errors():
            trees = [tree for tree in sqlglot.parse(sql, read=parser) if tree is not None]
        if len(trees) != 1:
            raise RefusedError("statement", "Only one statement may be given.")
        tree = _unwrap(trees[0])
        if not isinstance(tree, (exp.Select, exp.SetOperation)):
            raise RefusedError("statement", f"Only SELECT and WITH … SELECT may run, not {tree.key.upper()}.")
        original = tree.copy()
        simplify(tree, self._names.table_columns, self._dialect, self._limits)
        for node in tree.walk():
            check_node(node, self._dialect, self._limits, sql)
        self._check_nothing_lost(sql, original)
        self._check_counts(tree)
        self._names.resolve_tables(tree)
        return tree

    def _check_nothing_lost(self, sql: str, tree: exp.Expr) -> None:
        """Refuse a text with a word, name or value that is missing from its parsed tree.

        The parser skips what it does not know, and a generator leaves out what its engine cannot
        express: the ties of a FETCH, the time zone of a function. Names of functions, words of
        grammar and the sizes of types, which DuckDB does not have, are not compared.
        """
        generator = _GENERATORS[self._dialect](
            dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IGNORE
        )
        with convert_parser_errors():
            written = self._parser.tokenize(generator.generate(tree, copy=False))
        known = _normalized_words(" ".join(token.text for token in written)) | _DROPPED_WORDS
        for alias in tree.find_all(exp.TableAlias):  # SQLite cannot express these: `rewrite_named_values`
            known |= _normalized_words(" ".join(column.name for column in alias.columns))
        tokens = self._parser.tokenize(sql)
        kinds = [None, None, *(token.token_type for token in tokens), None]
        types = self._parser.parser_class.TYPE_TOKENS
        for index, token in enumerate(tokens, 2):
            is_call = token.token_type is TokenType.VAR and kinds[index + 1] is TokenType.L_PAREN
            is_size = kinds[index - 1] is TokenType.L_PAREN and kinds[index - 2] in types
            if is_call or is_size or token.token_type not in _COMPARED_TOKENS:
                continue
            if lost := _normalized_words(token.text) - known:
                word = next(word for word in re.findall(r"\w+", token.text) if _normalized_words(word) & lost)
                raise RefusedError(
                    "syntax",
                    f"{word[:60]!r} is not understood here and would be ignored; write it in another way, or without it.",
                )

    def _check_counts(self, tree: exp.Expr) -> None:
        """Refuse statements that exceed the size limits."""
        bounds = self._limits
        for subject, node_class, maximum in (
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
            node_classes = node_class if isinstance(node_class, tuple) else (node_class,)
            check_limit(subject, sum(1 for _ in tree.find_all(*node_classes)), maximum)
        check_limit("functions that quote", sum(map(is_quoting, tree.find_all(exp.Func))), bounds.max_quoting_calls)
        growth = prod(map(_growth_factor, tree.find_all(exp.Replace, exp.RegexpReplace)))
        check_limit("times longer texts by REPLACE", int(growth), bounds.max_growth)

    def _generate(self, tree: exp.Expr) -> str:
        """Generate the text of a tree for its engine; raise RefusedError if the engine cannot
        express it."""
        generator = _GENERATORS[self._dialect](
            dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IMMEDIATE
        )
        with convert_parser_errors():
            return generator.generate(tree, copy=True)

    def _check_calls(self, sql: str, tree: exp.Expr) -> None:
        """Check that every word before a parenthesis in the generated text is a known one."""
        known = FUNCTION_NAMES[self._dialect] | KEYWORDS | self._names.table_aliases(tree)
        for token, following in pairwise(self._parser.tokenize(sql)):
            word = token.text.lower().split(" ")[-1]  # the last word, as of GROUPING SETS
            is_call = following.token_type is TokenType.L_PAREN and re.match(r"\w", word)
            if is_call and word not in known and not word.isdigit():
                raise unknown_function(word, self._dialect)


def _write_texts(sql: str, texts: Sequence[tuple[int, int, str]]) -> str:
    """Replace names that are texts in a SQLite statement by string literals."""
    for start, end, text in sorted(texts, reverse=True):
        sql = f"{sql[:start]}{exp.Literal.string(text).sql('sqlite')}{sql[end + 1 :]}"
    return sql


def _unwrap(tree: exp.Expr) -> exp.Expr:
    """Remove the parentheses around a whole statement."""
    while isinstance(tree, exp.Subquery) and not any(value for key, value in tree.args.items() if key != "this"):
        tree = tree.this
    tree.parent = None
    return tree


def _apply_limit(tree: exp.Query, max_rows: int, row_range: RowRange | None) -> tuple[int | None, int]:
    """Set the limit of a statement to the smaller of its own and `max_rows`, or to a range of its
    rows.

    Returns:
        Its own limit, None if it had none, and the limit that was set.
    """
    given, own_limit = tree.args.get("limit"), None
    if isinstance(given, exp.Fetch):
        options = given.args.get("limit_options")
        if options and (options.args.get("percent") or options.args.get("with_ties")):
            raise RefusedError("limit", "FETCH may ask for a number of rows only; write LIMIT.")
        own_limit = parse_whole_number(given.args.get("count"), "FETCH")
    elif given:
        own_limit = parse_whole_number(given.args.get("expression"), "LIMIT")
    if row_range:
        own_limit = row_range.own_limit
        max_rows = max_rows if own_limit is None else max(0, min(max_rows, own_limit - row_range.offset))
        _add_offset(tree, row_range.offset)
    number = max_rows if own_limit is None else min(own_limit, max_rows)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(number)))
    return own_limit, number


def _add_offset(tree: exp.Query, row_count: int) -> None:
    """Increase the offset of a statement by a number of rows."""
    if not row_count:
        return
    given = tree.args.get("offset")
    offset: exp.Expr = exp.Literal.number(row_count)
    own_offset = given.expression if isinstance(given, exp.Offset) else None
    if isinstance(own_offset, exp.Literal) and own_offset.is_int:
        offset = exp.Literal.number(int(own_offset.name) + row_count)
    elif own_offset is not None:
        offset = exp.Add(this=exp.Paren(this=own_offset.copy()), expression=offset)
    tree.set("offset", exp.Offset(expression=offset))


def _growth_factor(call: exp.Expr) -> float:
    """Return how many times longer a REPLACE can make its text; 100 if that cannot be computed."""
    old, new = call.args.get("expression"), call.args.get("replacement")
    if new is None or (isinstance(new, exp.Literal) and not new.name):
        return 1.0
    if isinstance(call, exp.RegexpReplace):
        return 1.0 + len(new.name)  # a pattern may match between any two characters
    if isinstance(old, exp.Literal) and isinstance(new, exp.Literal):
        return max(1.0, len(new.name) / max(1, len(old.name)))
    return 100.0


def _inline_distances(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Replace calls of `distance_km` by plain SQL."""
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == DISTANCE:
            call.replace(inline_distance(call, dialect))
    return tree


def _cast_to_exact(tree: exp.Expr) -> exp.Expr:
    """Cast arguments to exact numbers where PostgreSQL accepts no others: rounding to digits,
    logarithms to a base, remainders. ROUND of an exact number also rounds halves as SQLite does."""
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
        else:  # results for whole numbers are exact already
            keys = ["this", "expression"] if call.find(exp.Pow, exp.Exp) else []
        for key in keys:
            call.set(key, _cast_if_inexact(call.args[key]))
    return tree


def _cast_if_inexact(value: exp.Expr) -> exp.Expr:
    is_exact = isinstance(value, exp.Cast) and value.is_type(exp.DType.DECIMAL)
    return value if is_exact else exp.cast(value.unnest(), exp.DType.DECIMAL)
