"""What the names in a statement stand for: tables and columns of the schema, or parts of the statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from research.sources.database.allowed import Dialect
from research.sources.database.catalogue import Catalogue, called
from research.sources.database.nodes import NO_TABLE
from research.sources.database.refusals import (
    NEAR,
    Bounds,
    Refused,
    alike,
    first_line,
    parsing,
    within,
)

Filter = tuple[str, str, str]
"""A table, its column, and a text that the column is asked to equal."""
Home = tuple[str, str]
"""The schema of a table, and its name there."""
_ROWID = {"rowid", "_rowid_", "oid"}  # SQLite's own columns of every table


class Names:
    """The names of a catalogue, as the engine compares them."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue) -> None:
        self._dialect = dialect
        self._first, self._path = catalogue.home, (catalogue.home, *catalogue.path)
        self._unreadable = catalogue.unreadable
        self._plain_case = dialect != "postgres"
        fold = str.lower if self._plain_case else str
        self._tables: dict[Home, dict[str, str]] = {}
        self._called: dict[Home, str] = {}
        for schema, tables in ((catalogue.home, catalogue.tables), *catalogue.elsewhere.items()):
            for name, columns in tables.items():
                home = (schema, fold(name))
                self._tables[home] = {fold(column): kind for column, kind in columns.items()}
                self._called[home] = called(name, schema, catalogue.home)
        self._parser = Parser.get_or_raise(dialect)

    def folded(self, name: exp.Expr) -> str:
        """A name as the engine compares it: PostgreSQL minds its case if it is quoted, others never."""
        plain = self._plain_case or not name.args.get("quoted")
        return name.name.lower() if plain else name.name

    def _home(self, table: exp.Table) -> Home | None:
        """Where a table of the catalogue is that is called so; None if there is none."""
        schema, name = table.args.get("db"), self.folded(table.this)
        path = (self.folded(schema),) if schema else self._path
        return next((home for home in ((each, name) for each in path) if home in self._tables), None)  # fmt: skip

    def known(self, table: exp.Table) -> str:
        """What a table of the catalogue is called."""
        home = self._home(table)
        assert home
        return self._called[home]

    def columns_of(self, table: exp.Table) -> Collection[str] | None:
        """The columns of a table of the catalogue; None for a WITH part or one that is unknown."""
        home = self._home(table)
        part = not table.db and self.folded(table.this) in self.parts(table.root())
        return None if home is None or part else tuple(self._tables[home])

    def parts(self, tree: exp.Expr) -> frozenset[str]:
        """The names of the WITH parts of a statement."""
        return frozenset(self.folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE))

    def aliases(self, tree: exp.Expr) -> frozenset[str]:
        """The names that a statement gives to tables."""
        return frozenset(self.folded(a.this) for a in tree.find_all(exp.TableAlias) if a.this)

    def _normalized(self, tree: exp.Expr) -> exp.Expr:
        """A copy of a tree with its names as the engine compares them."""
        return normalize_identifiers(tree.copy(), dialect=self._parser)

    def resolve(self, tree: exp.Expr) -> None:
        """Every table is a part of the statement in its own scope, or one of the catalogue; it is then
        called as the engine finds this one and no other."""
        normalized = self._normalized(tree)
        places = self._places(normalized)
        parts, homes = self.parts(tree), dict[int, Home | None]()
        pairs = zip(tree.find_all(exp.Table), normalized.find_all(exp.Table), strict=True)
        for given, table in list(pairs):
            if id(table) not in places:
                raise Refused("table", f"What {table.name[:60]!r} stands for here is not clear; write it as FROM or JOIN.")  # fmt: skip
            home = homes[id(given)] = places[id(table)]
            if home and self._plain(home, parts):
                given.set("db", None)
            elif home and not given.args.get("db"):
                given.set("db", exp.to_identifier(home[0], quoted=True))
        for column in tree.find_all(exp.Column):
            if column.args.get("db"):
                self._without_schema(column, tree, homes)

    def _places(self, normalized: exp.Expr) -> dict[int, Home | None]:
        """Where each table is, by the id of its node; None for a part of the statement.

        Raises:
            Refused: it is nowhere.
        """
        found: dict[int, Home | None] = {}
        for scope in traverse_scope(normalized):
            taken: set[str] = set()
            for table in scope.tables:
                if not isinstance(table.this, exp.Identifier):
                    raise Refused("table", NO_TABLE)
                if (name := table.alias_or_name) in taken:
                    raise Refused("table", f"Two tables are called {name[:60]!r} here; give each an alias of its own.")  # fmt: skip
                taken.add(name)
                part = not table.args.get("db") and table.name in scope.cte_sources
                home = None if part or table.catalog else self._home(table)
                if not (part or home):
                    raise self._no_table(table)
                found[id(table)] = home
        return found

    def _no_table(self, table: exp.Table) -> Refused:
        """The refusal of a table, with those that are called like it, in its schema first."""
        homes = sorted(self._tables, key=lambda home: (home[0] != table.db, home))
        near = alike(table.name, sorted({name for _, name in homes}))
        ways = [self._called[home] for name in near for home in homes if home[1] == name]
        name = called(table.name, table.db, "")
        if reason := self._unreadable.get(name.lower()):
            return Refused("table", f"The table {name[:120]!r} cannot be read: {reason}.")
        return Refused("table", f"There is no table {name[:120]!r}.", ways[:NEAR])

    def _plain(self, home: Home, parts: Collection[str]) -> bool:
        """Whether the engine finds a table without its schema: in the first one, unless a part of the
        statement or a table of the engine's own is called so."""
        system = self._dialect == "postgres" and home[1].startswith("pg_")
        return home[0] == self._first and home[1] not in parts and not system

    def _without_schema(
        self, column: exp.Column, tree: exp.Expr, homes: Mapping[int, Home | None]
    ) -> None:
        """Takes the schema off a column, if its table is the only one that is called so."""
        schema, table = column.args["db"], column.args["table"]
        wanted = self.folded(table)
        same = [each for each in tree.find_all(exp.Table) if self._folded_alias(each) == wanted]
        home = (self.folded(schema), wanted)
        if column.args.get("catalog") or not same or any(each.alias or homes[id(each)] != home for each in same):  # fmt: skip
            raise Refused("column", f"What {column.sql(self._parser)[:120]} stands for is not clear; give its table an alias, and write alias.column.")  # fmt: skip
        column.set("db", None)

    def _folded_alias(self, table: exp.Table) -> str:
        """What a table is called in its part of the statement."""
        return self.folded(table.args["alias"].this if table.alias else table.this)

    def tables(self, tree: exp.Expr) -> Iterator[exp.Table]:
        """The tables of the database that a vetted tree reads."""
        normalized = self._normalized(tree)
        places = self._places(normalized)
        yield from (table for table in normalized.find_all(exp.Table) if places[id(table)])

    # Columns

    def columns(
        self, tree: exp.Query, bounds: Bounds
    ) -> tuple[tuple[tuple[str, str], ...], tuple[Filter, ...]]:
        """The columns of tables that a vetted tree reads, and the texts they must equal, sorted.

        Raises:
            Refused: a column is unknown.
        """
        full = self.qualified(tree)
        if stray := next(_strays(full), None):
            raise self._no_column(stray[1], tree)
        if row := full.find(exp.TableColumn):
            raise Refused("column", f"{row.name[:60]!r} is a table, not a column; name its columns.")  # fmt: skip
        outputs = len(full.selects) if isinstance(full, exp.Query) else 0
        within("columns in its result", outputs, bounds.outputs)
        within("parts when its WITH parts are written out", expansion(full), bounds.expansion)  # fmt: skip
        found: set[tuple[str, str]] = set()
        filters: set[Filter] = set()
        for scope in traverse_scope(full):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and self._home(source):
                    name = (self.known(source), column.name)
                    found.add(name)
                    filters.update((*name, text) for text in _compared(column))
        return tuple(sorted(found)), tuple(sorted(filters))

    def texts(self, tree: exp.Query, sql: str) -> list[tuple[int, int, str]]:
        """The names in double quotes that are no columns, which SQLite reads as texts: where each
        begins and ends in the text that the tree was read from, and what it says.

        Where a text would mean nothing, what is no column is a mistake: see `_wants_column`.
        """
        given = {}
        for column in tree.find_all(exp.Column):
            start, end = column.this.meta_get("start"), column.this.meta_get("end")
            quoted = start is not None and sql[start] == '"' and not column.table
            if quoted and not _wants_column(column):
                given[start] = (start, end, column.name)
        if not given:
            return []
        strays = {
            column.this.meta_get("start")
            for scope, column in _strays(self.qualified(tree))
            if not column.table and not self._in_sight(column.name, scope)
        }
        return [where for start, where in given.items() if start in strays and where[2].lower() not in _ROWID]  # fmt: skip

    def qualified(self, tree: exp.Query) -> exp.Expr:
        """A copy of a tree in which every column tells its table, as far as it has one.

        Raises:
            Refused: a column is unknown in the table that it names.
        """
        normalized = self._normalized(tree)
        homes = self._places(normalized)
        for table in list(normalized.find_all(exp.Table)):
            if home := homes[id(table)]:
                table.set("db", exp.to_identifier(home[0], quoted=True))
        known: dict[str, dict[str, dict[str, str]]] = {}
        for home in filter(None, (*homes.values(), next(iter(self._tables), None))):
            known.setdefault(home[0], {})[home[1]] = self._tables[home]
        try:
            with parsing():
                return qualify(
                    normalized,
                    schema=MappingSchema(
                        dict[str, object](known), dialect=self._parser, normalize=False
                    ),
                    dialect=self._parser,
                    validate_qualify_columns=False,
                )
        except OptimizeError as error:
            message = str(error)
            if unknown := re.match(r"Unknown column: (.+)", message):
                raise self._no_column(unknown[1], tree) from None
            if unknown := re.match(r"Unknown table: (.+)", message):
                raise _no_source(unknown[1]) from None
            raise Refused("syntax", f"The statement does not hold together: {first_line(message)}") from None  # fmt: skip

    def _in_sight(self, name: str, scope: Scope | None) -> bool:
        """Whether a name is a column here, of several tables even."""
        while scope is not None:
            for source in scope.sources.values():
                read = source if isinstance(source, exp.Table) else source.expression
                known: Collection[str] = read.named_selects if isinstance(read, exp.Query) else ()
                if isinstance(read, exp.Table):
                    known = self.columns_of(read) or ()
                if name in known:
                    return True
            scope = scope.parent if scope.can_be_correlated else None
        return False

    def _no_column(self, column: exp.Column | str, tree: exp.Expr) -> Refused:
        """The refusal of a column that is of none of the tables, or of several."""
        name = column if isinstance(column, str) else column.name
        if isinstance(column, exp.Column) and column.table:
            return _no_source(column.table)
        own: dict[str, list[str]] = {}
        for table in self.tables(tree):
            for known in self.columns_of(table) or ():
                own.setdefault(known, []).append(table.alias_or_name)
        if len(homes := sorted(set(own.get(name, ())))) > 1:
            ways = [f"{home}.{name}" for home in homes[:NEAR]]
            return Refused("column", f"The column {name[:60]!r} is in more than one table.", ways)
        if homes:
            return Refused("column", f"The column {name[:60]!r} cannot be reached here; it is one of {homes[0]}.")  # fmt: skip
        if re.fullmatch(r"column\d+", name) and tree.find(exp.Values):
            told = "Name the columns of VALUES, such as (VALUES (1), (2)) AS v(n)."
            return Refused("column", told)
        near = [f"{own[known][0]}.{known}" for known in alike(name, sorted(own))]
        written = next((c for c in tree.find_all(exp.Column) if self.folded(c.this) == name), None)
        spelled = written.name if written else name
        told = f"There is no column {spelled[:60]!r} in the tables of this statement."
        if written and written.this.args.get("quoted") and not written.table:
            told = f"{told[:-1]}; texts stand in single quotes: {exp.Literal.string(spelled[:60]).sql(self._parser)}."  # fmt: skip
        return Refused("column", told, near)


def _wants_column(column: exp.Column) -> bool:
    """Whether a name stands where a text would be the same in every row: as a key of ORDER BY or
    GROUP BY, or as what is selected, without a name, from tables."""
    above = column.parent
    if isinstance(above, exp.Select):
        branch = isinstance(above.parent, exp.SetOperation) and above.arg_key == "expression"
        return above.args.get("from_") is not None and not branch
    return isinstance(above, (exp.Ordered, exp.Group))


def _no_source(name: str) -> Refused:
    return Refused("column", f"{name[:60]!r} is not in the FROM of this part of the statement.")


def _strays(full: exp.Expr) -> Iterator[tuple[Scope, exp.Column]]:
    """The columns of a qualified tree that are of no table, or of several, with where they stand."""
    for scope in traverse_scope(full):
        if isinstance(scope.expression, exp.Select):
            if scope.external_columns and not scope.is_correlated_subquery:
                yield scope, scope.external_columns[0]
            yield from ((scope, column) for column in scope.unqualified_columns)


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


def _compared(column: exp.Column) -> Iterator[str]:
    """The texts that a column is compared with by = or IN."""
    parent = column.parent
    others: list[exp.Expr] = []
    if isinstance(parent, exp.EQ):
        others = [parent.expression if parent.this is column else parent.this]
    elif isinstance(parent, exp.In) and parent.this is column:
        others = parent.expressions
    yield from (
        other.name for other in others if isinstance(other, exp.Literal) and other.is_string
    )
