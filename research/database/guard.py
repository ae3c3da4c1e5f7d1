"""Which statements may run: one SELECT, of words that are listed, over tables that are known.

What comes out is never the text that went in. The text is parsed, every node of the tree is looked
up in the lists of `allowed`, every table and column in the schema; then the statement is written
anew from the tree, without comments and with a limit on its rows, and that text goes through the
same checks once more. So a difference between how the parser and how an engine reads a text cannot
matter: engines only ever read what the parser wrote.

Knows sqlglot and a schema; knows no connection. What an engine does besides is in `sqlite` and
`postgres`: this is the first layer, and it is assumed to fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import sqlglot
from rapidfuzz import fuzz, process
from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from research.database.allowed import CLASSES, COLLATIONS, NAMES, SYNTAX, TYPES, Dialect
from research.database.distance import NAME as DISTANCE
from research.database.distance import inlined

Kind = Literal["syntax", "statement", "table", "column", "function", "type", "operator", "limit"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Tables = Mapping[str, Mapping[str, str]]
NAMESPACES: dict[Dialect, str] = {"sqlite": "main", "postgres": "public"}
NEAR = 3  # names that a refusal proposes
ALIKE = 60  # of 100: from here on a name is near
FUNCTIONS_ALIKE = 72  # names of functions are short


class Refused(ValueError):
    """A statement that may not run. The message says what to write instead, as far as that is known."""

    def __init__(self, kind: Kind, message: str, near: Sequence[str] = ()) -> None:
        self.kind = kind
        self.near = tuple(near)
        self.message = f"{message} Did you mean {' or '.join(near)}?" if near else message
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a statement may be. Real questions stay far below."""

    characters: int = 8_000
    tokens: int = 2_500
    depth: int = 60  # of the tree
    parentheses: int = 50  # one in another
    joins: int = 8
    selects: int = 24
    ctes: int = 12
    branches: int = 8  # of a set operation
    values: int = 300  # of one IN or VALUES
    literals: int = 400
    literal: int = 500  # characters of one
    calls: int = 120
    outputs: int = 100  # columns of a result
    offset: int = 1_000_000
    growth: int = 1_000  # how many times longer REPLACE may make a text
    expansion: int = 2_000  # columns and parts, once each WITH part is written out where it is used


BOUNDS = Bounds()
_NO_TABLE = "A function cannot stand for a table; read from a table of the schema."
_INSTEAD: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "now": "current_timestamp", "to_char": "strftime", "date_trunc": "strftime",
        "timestamp_trunc": "strftime", "extract": "strftime", "year": "strftime",
        "month": "strftime", "left": "substr", "right": "substr", "datediff": "julianday",
        "regexp_like": "LIKE", "printf": "round", "format": "round",
    },
    "postgres": {
        "strftime": "to_char", "julianday": "age", "date": "date_trunc", "datetime": "date_trunc",
        "instr": "position", "ifnull": "coalesce", "regexp_like": "LIKE",
        "regexp_i_like": "ILIKE", "year": "extract", "month": "extract", "format": "to_char",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """A statement that passed. `limit` is in the text; one row more than were asked for shows that
    there are more."""

    text: str
    dialect: Dialect
    limit: int
    ctes: frozenset[str]
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


def check(
    sql: str, dialect: Dialect, tables: Tables, *, rows: int = 200, bounds: Bounds = BOUNDS
) -> Query:
    """The statement as it may run.

    `tables` are the columns and their types of every table that may be read, by the names that the
    database has for them. `rows` is how many a result has at most; the text asks for one more.

    Raises:
        Refused: it may not run. Nothing else is raised, whatever the text is.
    """
    guard = _Guard(dialect, tables, bounds)
    try:
        guard.measure(sql)
        tree = guard.vetted(sql)
        limit = guard.limit(tree, rows + 1)
        text = guard.written(tree)
        again = guard.vetted(text)
        guard.names_called(text, again)
        columns = guard.columns(again)
        if dialect == "postgres":
            text = guard.written(_without_distance(again))
    except Refused:
        raise
    except (SqlglotError, RecursionError) as error:
        raise _unread(error) from None
    used = tuple(sorted({guard.known(table) for table in guard.real_tables(again)}))
    ctes = frozenset(guard.folded(cte.args["alias"].this) for cte in again.find_all(exp.CTE))
    return Query(text, dialect, limit, ctes, used, columns)


class _SQLiteText(SQLiteGenerator):
    """SQLite's own text, but for one word: a cast to NUMERIC keeps whole numbers, one to REAL does not."""

    TYPE_MAPPING = {**SQLiteGenerator.TYPE_MAPPING, exp.DType.DECIMAL: "NUMERIC"}  # noqa: RUF012


@contextmanager
def _parsing() -> Iterator[None]:
    """sqlglot promises SqlglotError; on text that is no SQL it also breaks in other ways."""
    try:
        yield
    except Refused:
        raise
    except (ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
        raise _unread(error) from None


class _Guard:
    """The rules for one dialect and one schema."""

    def __init__(self, dialect: Dialect, tables: Tables, bounds: Bounds) -> None:
        self._dialect = dialect
        self._bounds = bounds
        fold = str.lower if dialect == "sqlite" else str
        self._tables = {
            fold(name): {fold(column): kind for column, kind in columns.items()}
            for name, columns in tables.items()
        }
        self._spelled = {fold(name): name for name in tables}
        self._parser = Parser.get_or_raise(dialect)

    # Names

    def folded(self, name: exp.Expr) -> str:
        """A name as the engine compares it: SQLite never minds case, PostgreSQL not if unquoted."""
        plain = self._dialect == "sqlite" or not name.args.get("quoted")
        return name.name.lower() if plain else name.name

    def known(self, table: exp.Table) -> str:
        """The name of a table as the database spells it."""
        return self._spelled[self.folded(table.this)]

    # Sizes, on the text

    def measure(self, sql: str) -> None:
        """Before anything is parsed: is this one statement of a size that can be parsed?"""
        if not sql.strip():
            raise Refused("statement", "There is no statement.")
        if len(sql) > self._bounds.characters:
            raise Refused("limit", f"The statement has {len(sql)} characters; at most {self._bounds.characters} may be.")  # fmt: skip
        if "\x00" in sql or any(0xD800 <= ord(c) <= 0xDFFF for c in sql):
            raise Refused("syntax", "The statement has a character in it that is no text.")
        with _parsing():
            found = self._parser.tokenize(sql)
        while found and found[-1].token_type is TokenType.SEMICOLON:
            found.pop()
        if not found:
            raise Refused("statement", "There is no statement.")
        if any(token.token_type is TokenType.SEMICOLON for token in found):
            raise Refused("statement", "Only one statement may be given; remove what follows the semicolon.")  # fmt: skip
        self._within("words", len(found), self._bounds.tokens)
        deepest = depth = 0
        for token in found:
            depth += (token.token_type is TokenType.L_PAREN) - (
                token.token_type is TokenType.R_PAREN
            )
            deepest = max(deepest, depth)
        self._within("parentheses in one another", deepest, self._bounds.parentheses)
        first = next((t for t in found if t.token_type is not TokenType.L_PAREN), found[0])
        if first.token_type not in (TokenType.SELECT, TokenType.WITH):
            raise Refused("statement", f"Only SELECT and WITH … SELECT may run, not {first.text[:30]!r}.")  # fmt: skip

    def _within(self, what: str, number: int, most: int) -> None:
        if number > most:
            raise Refused("limit", f"The statement has {number} {what}; at most {most} may be. Write a simpler one.")  # fmt: skip

    # The tree

    def vetted(self, sql: str) -> exp.Query:
        """The tree of a text, all of whose nodes and tables are allowed."""
        with _parsing():
            found = [tree for tree in sqlglot.parse(sql, read=self._parser) if tree is not None]
        if len(found) != 1:
            raise Refused("statement", "Only one statement may be given.")
        tree: exp.Expr = found[0]
        while isinstance(tree, exp.Subquery) and not any(
            value for key, value in tree.args.items() if key != "this"
        ):
            tree = tree.this
        if not isinstance(tree, (exp.Select, exp.SetOperation)):
            raise Refused("statement", f"Only SELECT and WITH … SELECT may run, not {tree.key.upper()}.")  # fmt: skip
        tree.parent = None
        for node in tree.walk():
            self._allow(node)
        self._measure_tree(tree)
        self._strip(tree)
        self._resolve(normalize_identifiers(tree.copy(), dialect=self._parser))
        return tree

    def _allow(self, node: exp.Expr) -> None:
        """One node by itself: its class, and what its class leaves open."""
        if node.depth > self._bounds.depth:
            raise Refused("limit", "The statement is nested too deeply. Use WITH, or write a simpler one.")  # fmt: skip
        name = type(node).__name__
        if isinstance(node, exp.Anonymous):
            self._allow_name(node)
        elif name not in CLASSES[self._dialect]:
            raise self._unlisted(node)
        rule = _RULES.get(name)
        if rule:
            rule(self, node)

    def _unlisted(self, node: exp.Expr) -> Refused:
        if isinstance(node, exp.Func):
            return self._no_function(node.sql_name().lower())
        if isinstance(node, (exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Drop, exp.Into)):
            return Refused("statement", "Only reading is allowed: the statement writes.")
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            return Refused("syntax", "The statement has a placeholder in it; write the value itself.")  # fmt: skip
        if isinstance(node, exp.ObjectIdentifier):
            return Refused("type", f"A cast to {node.name.lower()} is not allowed.")
        if isinstance(node, (exp.Binary, exp.Operator)):
            return Refused("operator", f"The operator {node.key.upper()} is not allowed; LIKE, =, <, IN and arithmetic are.")  # fmt: skip
        return Refused("syntax", f"{node.key.upper()} is not allowed in a statement here.")

    def _no_function(self, name: str) -> Refused:
        if other := _INSTEAD[self._dialect].get(name):
            return Refused("function", f"The function {name}() is not allowed.", [other])
        near = self._near(name, sorted(NAMES[self._dialect]), FUNCTIONS_ALIKE)
        return Refused("function", f"The function {name[:60]}() is not allowed.", near)

    def _allow_name(self, node: exp.Anonymous) -> None:
        """A function that the parser has no class for."""
        name = node.this if isinstance(node.this, str) else node.name
        if isinstance(node.this, exp.Identifier) and node.this.args.get("quoted"):
            raise self._no_function(name)
        if name.lower() not in NAMES[self._dialect]:
            raise self._no_function(name.lower())
        if name.lower() == DISTANCE:
            if len(node.expressions) != 4:
                raise Refused("function", "distance_km takes four values: longitude, latitude, longitude, latitude.")  # fmt: skip
            if any(part is not node and part.name.lower() == DISTANCE for part in node.find_all(exp.Anonymous)):  # fmt: skip
                raise Refused("function", "distance_km cannot be given to itself.")

    def _measure_tree(self, tree: exp.Expr) -> None:
        bounds = self._bounds
        for what, classes, most in (
            ("joins", (exp.Join,), bounds.joins),
            ("SELECTs", (exp.Select,), bounds.selects),
            ("WITH parts", (exp.CTE,), bounds.ctes),
            ("parts of a UNION", (exp.SetOperation,), bounds.branches - 1),
            ("values", (exp.Literal,), bounds.literals),
            ("functions", (exp.Func,), bounds.calls),
        ):
            self._within(what, sum(1 for _ in tree.find_all(*classes)), most)
        growth = 1.0
        for call in tree.find_all(exp.Replace):
            growth *= _growth(call)
        self._within("times longer texts by REPLACE", int(growth), bounds.growth)

    # Tables

    def _strip(self, tree: exp.Expr) -> None:
        """Names qualified with the schema that is read lose the qualifier; others are refused."""
        ctes = {self.folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
        for name in tree.find_all(exp.Table, exp.Column):
            schema = name.args.get("db")
            if name.args.get("catalog") or (schema and self.folded(schema) != NAMESPACES[self._dialect]):  # fmt: skip
                raise Refused("table", f"{name.sql(self._dialect)[:120]} is not of this database; write names without a schema.")  # fmt: skip
            if schema and isinstance(name, exp.Table) and self.folded(name.this) in ctes:
                raise Refused("table", f"A WITH part is called {name.name[:60]!r} like a table; call it otherwise.")  # fmt: skip
            if schema:
                name.set("db", None)

    def _resolve(self, tree: exp.Expr) -> None:
        """Every table is a CTE of its own scope, or in the schema; no table is left out."""
        seen: set[int] = set()
        for scope in traverse_scope(tree):
            for table in scope.tables:
                seen.add(id(table))
                if not isinstance(table.this, exp.Identifier):
                    raise Refused("table", _NO_TABLE)
                if table.name not in scope.cte_sources and table.name not in self._tables:
                    raise Refused("table", f"There is no table {table.name[:60]!r}.", self._near(table.name, sorted(self._spelled.values())))  # fmt: skip
        for table in tree.find_all(exp.Table):
            if id(table) not in seen:
                raise Refused("table", f"What {table.name[:60]!r} stands for here is not clear; write it as FROM or JOIN.")  # fmt: skip

    def real_tables(self, tree: exp.Expr) -> Iterator[exp.Table]:
        """The tables of the database that a vetted tree reads."""
        for scope in traverse_scope(normalize_identifiers(tree.copy(), dialect=self._parser)):
            yield from (t for t in scope.tables if t.name not in scope.cte_sources)

    # Columns

    def columns(self, tree: exp.Query) -> tuple[tuple[str, str], ...]:
        """The columns of tables that a vetted tree reads, sorted. Unknown ones are refused."""
        schema = MappingSchema(
            {name: dict(columns) for name, columns in self._tables.items()},
            dialect=self._parser,
            normalize=False,
        )
        try:
            with _parsing():
                full = qualify(tree.copy(), schema=schema, dialect=self._parser)
        except OptimizeError as error:
            raise self._no_column(str(error), tree) from None
        if row := full.find(exp.TableColumn):
            raise Refused("column", f"{row.name[:60]!r} is a table, not a column; name its columns.")  # fmt: skip
        outputs = len(full.selects) if isinstance(full, exp.Query) else 0
        self._within("columns in its result", outputs, self._bounds.outputs)
        self._within("parts when its WITH parts are written out", expansion(full), self._bounds.expansion)  # fmt: skip
        found = set()
        for scope in traverse_scope(full):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and self.folded(source.this) in self._tables:
                    found.add((self.known(source), column.name))
        return tuple(sorted(found))

    def _no_column(self, message: str, tree: exp.Expr) -> Refused:
        """The refusal for what `qualify` could not resolve."""
        name = next(iter(re.findall(r"(?:Column '|Unknown column: |Unknown table: )([^'\s]+)", message)), "")  # fmt: skip
        if not name:
            return Refused("syntax", f"The statement does not hold together: {_first(message)}")
        if "table" in message:
            of = re.findall(r"for table: '([^']+)'|Unknown table: (\S+)", message)
            wanted = "".join(of[0]) if of else name
            return Refused("column", f"{wanted[:60]!r} is not in the FROM of this part of the statement.")  # fmt: skip
        own: dict[str, list[str]] = {}
        for table in self.real_tables(tree):
            for column in self._tables[self.folded(table.this)]:
                own.setdefault(column, []).append(table.alias_or_name)
        if len(homes := sorted(set(own.get(name, ())))) > 1:
            ways = [f"{home}.{name}" for home in homes[:NEAR]]
            return Refused("column", f"The column {name[:60]!r} is in more than one table.", ways)
        if homes:
            return Refused("column", f"The column {name[:60]!r} cannot be reached here; it is one of {homes[0]}.")  # fmt: skip
        near = [f"{own[column][0]}.{column}" for column in self._near(name, sorted(own))]
        return Refused("column", f"There is no column {name[:60]!r} in the tables of this statement.", near)  # fmt: skip

    def _near(self, name: str, known: Sequence[str], alike: int = ALIKE) -> list[str]:
        """Known names that are like this one, the most alike first."""
        hits = process.extract(name.lower(), known, scorer=fuzz.ratio, processor=str.lower, limit=NEAR, score_cutoff=alike)  # fmt: skip
        return [hit[0] for hit in hits]

    # Rows

    def limit(self, tree: exp.Query, most: int) -> int:
        """Sets the limit of a statement, which is the smaller of its own and `most`."""
        own = tree.args.get("limit")
        if isinstance(own, exp.Fetch):
            options = own.args.get("limit_options")
            if options and (options.args.get("percent") or options.args.get("with_ties")):
                raise Refused("limit", "FETCH may ask for a number of rows only; write LIMIT.")
            count = own.args.get("count")
        else:
            count = own.args.get("expression") if own else None
        number = most
        if own:
            number = min(self._whole(count, "LIMIT"), most)
        tree.set("limit", exp.Limit(expression=exp.Literal.number(number)))
        return number

    def _whole(self, node: object, what: str) -> int:
        if not (isinstance(node, exp.Literal) and node.is_int):
            raise Refused("limit", f"{what} must be a whole number.")
        return int(node.name)

    # Text

    def written(self, tree: exp.Expr) -> str:
        """The text of a tree for its engine; what the engine has no words for is an error."""
        maker = (_SQLiteText if self._dialect == "sqlite" else PostgresGenerator)(
            dialect=self._parser, comments=False, unsupported_level=ErrorLevel.IMMEDIATE
        )
        with _parsing():
            return maker.generate(tree, copy=True)

    def names_called(self, text: str, tree: exp.Expr) -> None:
        """The words before a parenthesis in the text that the engine will read are all known ones."""
        aliases = {self.folded(alias.this) for alias in tree.find_all(exp.TableAlias) if alias.this}
        allowed = NAMES[self._dialect] | SYNTAX | aliases
        found = self._parser.tokenize(text)
        for token, following in pairwise(found):
            if following.token_type is not TokenType.L_PAREN:
                continue
            word = token.text.lower()
            if re.match(r"\w", word) and word not in allowed and not word.isdigit():
                raise self._no_function(word)

    # What classes leave open

    def _rule_with(self, node: exp.Expr) -> None:
        if node.args.get("recursive"):
            raise Refused("statement", "WITH RECURSIVE is not allowed.")

    def _rule_table(self, node: exp.Expr) -> None:
        if extra := [k for k, v in node.args.items() if v and k not in ("this", "alias", "db", "catalog", "joins")]:  # fmt: skip
            raise Refused("syntax", f"{extra[0].upper()} of a table is not allowed.")

    def _rule_join(self, node: exp.Expr) -> None:
        if (
            node.args.get("method")
            or node.args.get("side", "") not in ("", "LEFT", "RIGHT", "FULL")
            or node.args.get("kind", "") not in ("", "INNER", "OUTER", "CROSS")
        ):
            raise Refused("syntax", "Only plain joins are allowed: JOIN … ON or JOIN … USING.")

    def _rule_lateral(self, node: exp.Expr) -> None:
        if not isinstance(node.this, exp.Subquery) or self._dialect == "sqlite":
            raise Refused("table", _NO_TABLE)

    def _rule_in(self, node: exp.Expr) -> None:
        if node.args.get("field") is not None or node.args.get("unnest") is not None:
            raise Refused("syntax", "Write IN (SELECT … FROM …) or IN (value, value).")
        self._within("values in one IN", len(node.expressions), self._bounds.values)

    def _rule_values(self, node: exp.Expr) -> None:
        self._within("rows in VALUES", len(node.expressions), self._bounds.values)

    def _rule_select(self, node: exp.Expr) -> None:
        if not node.expressions:
            raise Refused("statement", "SELECT must name what it selects.")
        if node.args.get("kind") or node.args.get("operation_modifiers"):
            raise Refused("syntax", "This form of SELECT is not allowed.")

    def _rule_star(self, node: exp.Expr) -> None:
        if any(node.args.values()):
            raise Refused("syntax", "* cannot be changed by EXCEPT or REPLACE; name the columns.")

    def _rule_literal(self, node: exp.Expr) -> None:
        if len(node.name) > self._bounds.literal:
            raise Refused("limit", f"A value has {len(node.name)} characters; at most {self._bounds.literal} may be.")  # fmt: skip
        if not node.args.get("is_string") and not _NUMBER.fullmatch(node.name):
            raise Refused("syntax", f"{node.name[:40]!r} is no number.")

    def _rule_var(self, node: exp.Expr) -> None:
        if not re.fullmatch(r"\w{1,40}", node.name):
            raise Refused("syntax", f"{node.name[:40]!r} is not allowed here.")

    def _rule_type(self, node: exp.Expr) -> None:
        kind = node.this
        name = kind.name if isinstance(kind, exp.DType) else str(kind)
        if name not in TYPES[self._dialect] and not isinstance(kind, exp.Interval):
            near = ("date(…)",) if self._dialect == "sqlite" and name in _DATES else ("TEXT", "INTEGER", "NUMERIC")  # fmt: skip
            raise Refused("type", f"A cast to {node.sql(self._dialect)[:60]} is not allowed.", near)
        for parameter in node.expressions:
            if self._whole(parameter.this, "The size of a type") > 1_000:
                raise Refused("type", "The size of a type may be at most 1000.")

    def _rule_collate(self, node: exp.Expr) -> None:
        name = node.args["expression"].name
        if name.lower() not in COLLATIONS[self._dialect]:
            raise Refused("operator", f"The collation {name[:40]!r} is not allowed.", sorted(COLLATIONS[self._dialect])[:NEAR])  # fmt: skip

    def _rule_limit(self, node: exp.Expr) -> None:
        self._whole(node.args.get("expression"), "LIMIT")

    def _rule_offset(self, node: exp.Expr) -> None:
        if self._whole(node.args.get("expression"), "OFFSET") > self._bounds.offset:
            raise Refused("limit", f"OFFSET may be at most {self._bounds.offset}.")


_RULES = {
    "With": _Guard._rule_with,
    "Table": _Guard._rule_table,
    "Join": _Guard._rule_join,
    "Lateral": _Guard._rule_lateral,
    "In": _Guard._rule_in,
    "Values": _Guard._rule_values,
    "Select": _Guard._rule_select,
    "Star": _Guard._rule_star,
    "Literal": _Guard._rule_literal,
    "Var": _Guard._rule_var,
    "DataType": _Guard._rule_type,
    "Collate": _Guard._rule_collate,
    "Limit": _Guard._rule_limit,
    "Offset": _Guard._rule_offset,
}
_DATES = {"DATE", "DATETIME", "TIMESTAMP", "TIME"}  # SQLite casts these to the number of the year
_NUMBER = re.compile(r"(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?")


def expansion(tree: exp.Expr) -> int:
    """How many columns and SELECTs a qualified tree has once its parts are merged.

    Engines write a part out wherever it is used, before they run anything and heedless of any limit:
    ten parts that each name the column of the one before four times are a million columns.
    """
    whole: dict[int, int] = {}  # of a scope
    outputs: dict[int, dict[str, int]] = {}  # of each of its columns
    last = 0
    for scope in traverse_scope(tree):
        parts = [source for source in scope.sources.values() if isinstance(source, Scope)]
        branches = scope.set_operation_scopes
        inner = sum(whole.get(id(part), 1) for part in (*scope.subquery_scopes, *branches))
        sizes = {
            (name, column): size
            for name, source in scope.sources.items()
            for column, size in outputs.get(id(source), {}).items()
        }

        def size(columns: Iterable[exp.Expr], sizes: dict[tuple[str, str], int] = sizes) -> int:
            return sum(sizes.get((_of(column), column.name), 1) for column in columns)

        last = 1 + inner + sum(whole.get(id(part), 1) for part in parts) + size(scope.columns)
        whole[id(scope)] = last
        own: dict[str, int] = {}
        if isinstance(scope.expression, exp.Select):
            for output in scope.expression.selects:
                nested = inner if output.find(exp.Select) else 0
                own[output.alias_or_name] = 1 + nested + size(output.find_all(exp.Column))
        elif isinstance(scope.expression, exp.SetOperation):
            sides = [list(outputs.get(id(branch), {}).values()) for branch in branches]
            names = scope.expression.named_selects
            own = {name: sum(side[i] for side in sides if i < len(side)) for i, name in enumerate(names)}  # fmt: skip
        outputs[id(scope)] = own
    return last


def _of(column: exp.Expr) -> str:
    """The name of the table of a qualified column."""
    table = column.args.get("table")
    return table.name if table else ""


def _growth(call: exp.Replace) -> float:
    """How many times longer a REPLACE can make its text; ten times where that is not in the text."""
    old, new = call.args.get("expression"), call.args.get("replacement")
    if new is None or (isinstance(new, exp.Literal) and not new.name):
        return 1.0
    if isinstance(old, exp.Literal) and isinstance(new, exp.Literal):
        return max(1.0, len(new.name) / max(1, len(old.name)))
    return 10.0


def _without_distance(tree: exp.Expr) -> exp.Expr:
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == DISTANCE:
            call.replace(inlined(call))
    return tree


def _first(message: str) -> str:
    """The first line of an error of the parser, without the colours that it underlines with."""
    plain = re.sub(r"\x1b\[\d*m", "", message).strip()
    return plain.splitlines()[0][:200] if plain else "it is not understood."


def _unread(error: Exception) -> Refused:
    """The refusal of a statement that the parser could not read."""
    told = "it is not understood."
    if isinstance(error, RecursionError):
        told = "it is nested too deeply."
    elif isinstance(error, SqlglotError):
        told = _first(str(error))
    return Refused("syntax", f"The statement cannot be read: {told}")
