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

from research.sources.database.allowlist import Dialect
from research.sources.database.catalog import Catalog, qualified_name
from research.sources.database.node_rules import NO_TABLE_FUNCTION
from research.sources.database.refusals import (
    MAX_SUGGESTIONS,
    RefusedError,
    StatementLimits,
    check_limit,
    convert_parser_errors,
    parser_message,
    similar_names,
)

TextFilter = tuple[str, str, str]
"""A table, its column, and a text that the column is asked to equal."""
TableKey = tuple[str, str]
"""The schema of a table, and its name there."""
_ROWID = {"rowid", "_rowid_", "oid"}  # SQLite's own columns of every table


class NameResolver:
    """The names of a catalogue, as the engine compares them."""

    def __init__(self, dialect: Dialect, catalog: Catalog) -> None:
        self._dialect = dialect
        self._default_schema, self._search_path = catalog.default_schema, (catalog.default_schema, *catalog.search_path)
        self._unreadable = catalog.unreadable
        self._ignores_case = dialect != "postgres"
        fold = str.lower if self._ignores_case else str
        self._tables: dict[TableKey, dict[str, str]] = {}
        self._qualified_names: dict[TableKey, str] = {}
        for schema, tables in ((catalog.default_schema, catalog.tables), *catalog.other_schemas.items()):
            for name, columns in tables.items():
                home = (schema, fold(name))
                self._tables[home] = {fold(column): kind for column, kind in columns.items()}
                self._qualified_names[home] = qualified_name(name, schema, catalog.default_schema)
        self._parser = Parser.get_or_raise(dialect)

    def fold(self, name: exp.Expr) -> str:
        """A name as the engine compares it: PostgreSQL minds its case if it is quoted, others never."""
        plain = self._ignores_case or not name.args.get("quoted")
        return name.name.lower() if plain else name.name

    def _find_table(self, table: exp.Table) -> TableKey | None:
        """Where a table of the catalogue is that is called so; None if there is none."""
        schema, name = table.args.get("db"), self.fold(table.this)
        path = (self.fold(schema),) if schema else self._search_path
        return next((home for home in ((each, name) for each in path) if home in self._tables), None)  # fmt: skip

    def qualified_table(self, table: exp.Table) -> str:
        """What a table of the catalogue is called."""
        home = self._find_table(table)
        assert home
        return self._qualified_names[home]

    def table_columns(self, table: exp.Table) -> Collection[str] | None:
        """The columns of a table of the catalogue; None for a WITH part or one that is unknown."""
        home = self._find_table(table)
        part = not table.db and self.fold(table.this) in self.cte_names(table.root())
        return None if home is None or part else tuple(self._tables[home])

    def cte_names(self, tree: exp.Expr) -> frozenset[str]:
        """The names of the WITH parts of a statement."""
        return frozenset(self.fold(cte.args["alias"].this) for cte in tree.find_all(exp.CTE))

    def table_aliases(self, tree: exp.Expr) -> frozenset[str]:
        """The names that a statement gives to tables."""
        return frozenset(self.fold(a.this) for a in tree.find_all(exp.TableAlias) if a.this)

    def _normalize(self, tree: exp.Expr) -> exp.Expr:
        """A copy of a tree with its names as the engine compares them."""
        return normalize_identifiers(tree.copy(), dialect=self._parser)

    def resolve_tables(self, tree: exp.Expr) -> None:
        """Every table is a part of the statement in its own scope, or one of the catalogue; it is then
        called as the engine finds this one and no other."""
        normalized = self._normalize(tree)
        places = self._locate_tables(normalized)
        parts, homes = self.cte_names(tree), dict[int, TableKey | None]()
        pairs = zip(tree.find_all(exp.Table), normalized.find_all(exp.Table), strict=True)
        for given, table in list(pairs):
            if id(table) not in places:
                raise RefusedError("table", f"What {table.name[:60]!r} stands for here is not clear; write it as FROM or JOIN.")  # fmt: skip
            home = homes[id(given)] = places[id(table)]
            if home and self._needs_no_schema(home, parts):
                given.set("db", None)
            elif home and not given.args.get("db"):
                given.set("db", exp.to_identifier(home[0], quoted=True))
        for column in tree.find_all(exp.Column):
            if column.args.get("db"):
                self._remove_schema(column, tree, homes)

    def _locate_tables(self, normalized: exp.Expr) -> dict[int, TableKey | None]:
        """Where each table is, by the id of its node; None for a part of the statement.

        Raises:
            Refused: it is nowhere.
        """
        found: dict[int, TableKey | None] = {}
        for scope in traverse_scope(normalized):
            taken: set[str] = set()
            for table in scope.tables:
                if not isinstance(table.this, exp.Identifier):
                    raise RefusedError("table", NO_TABLE_FUNCTION)
                if (name := table.alias_or_name) in taken:
                    raise RefusedError("table", f"Two tables are called {name[:60]!r} here; give each an alias of its own.")  # fmt: skip
                taken.add(name)
                part = not table.args.get("db") and table.name in scope.cte_sources
                home = None if part or table.catalog else self._find_table(table)
                if not (part or home):
                    raise self._unknown_table(table)
                found[id(table)] = home
        return found

    def _unknown_table(self, table: exp.Table) -> RefusedError:
        """The refusal of a table, with those that are called like it, in its schema first."""
        homes = sorted(self._tables, key=lambda home: (home[0] != table.db, home))
        near = similar_names(table.name, sorted({name for _, name in homes}))
        ways = [self._qualified_names[home] for name in near for home in homes if home[1] == name]
        name = qualified_name(table.name, table.db, "")
        if reason := self._unreadable.get(name.lower()):
            return RefusedError("table", f"The table {name[:120]!r} cannot be read: {reason}.")
        return RefusedError("table", f"There is no table {name[:120]!r}.", ways[:MAX_SUGGESTIONS])

    def _needs_no_schema(self, table_key: TableKey, cte_names: Collection[str]) -> bool:
        """Whether the engine finds a table without its schema: in the first one, unless a part of the
        statement or a table of the engine's own is called so."""
        system = self._dialect == "postgres" and table_key[1].startswith("pg_")
        return table_key[0] == self._default_schema and table_key[1] not in cte_names and not system

    def _remove_schema(self, column: exp.Column, tree: exp.Expr, table_keys: Mapping[int, TableKey | None]) -> None:
        """Takes the schema off a column, if its table is the only one that is called so."""
        schema, table = column.args["db"], column.args["table"]
        wanted = self.fold(table)
        same = [each for each in tree.find_all(exp.Table) if self._fold_alias(each) == wanted]
        home = (self.fold(schema), wanted)
        if column.args.get("catalog") or not same or any(each.alias or table_keys[id(each)] != home for each in same):  # fmt: skip
            raise RefusedError("column", f"What {column.sql(self._parser)[:120]} stands for is not clear; give its table an alias, and write alias.column.")  # fmt: skip
        column.set("db", None)

    def _fold_alias(self, table: exp.Table) -> str:
        """What a table is called in its part of the statement."""
        return self.fold(table.args["alias"].this if table.alias else table.this)

    def read_tables(self, tree: exp.Expr) -> Iterator[exp.Table]:
        """The tables of the database that a vetted tree reads."""
        normalized = self._normalize(tree)
        places = self._locate_tables(normalized)
        yield from (table for table in normalized.find_all(exp.Table) if places[id(table)])

    # Columns

    def read_columns(
        self, tree: exp.Query, limits: StatementLimits
    ) -> tuple[tuple[tuple[str, str], ...], tuple[TextFilter, ...]]:
        """The columns of tables that a vetted tree reads, and the texts they must equal, sorted.

        Raises:
            Refused: a column is unknown.
        """
        full = self.qualify_columns(tree)
        if stray := next(_unresolved_columns(full), None):
            raise self._unknown_column(stray[1], tree)
        if row := full.find(exp.TableColumn):
            raise RefusedError("column", f"{row.name[:60]!r} is a table, not a column; name its columns.")  # fmt: skip
        outputs = len(full.selects) if isinstance(full, exp.Query) else 0
        check_limit("columns in its result", outputs, limits.max_outputs)
        check_limit("parts when its WITH parts are written out", expanded_size(full), limits.max_expansion)  # fmt: skip
        found: set[tuple[str, str]] = set()
        filters: set[TextFilter] = set()
        for scope in traverse_scope(full):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and self._find_table(source):
                    name = (self.qualified_table(source), column.name)
                    found.add(name)
                    filters.update((*name, text) for text in _compared_texts(column))
        return tuple(sorted(found)), tuple(sorted(filters))

    def quoted_texts(self, tree: exp.Query, sql: str) -> list[tuple[int, int, str]]:
        """The names in double quotes that are no columns, which SQLite reads as texts: where each
        begins and ends in the text that the tree was read from, and what it says.

        Where a text would mean nothing, what is no column is a mistake: see `_wants_column`.
        """
        given = {}
        for column in tree.find_all(exp.Column):
            start, end = column.this.meta_get("start"), column.this.meta_get("end")
            quoted = start is not None and sql[start] == '"' and not column.table
            if quoted and not _must_be_column(column):
                given[start] = (start, end, column.name)
        if not given:
            return []
        strays = {
            column.this.meta_get("start")
            for scope, column in _unresolved_columns(self.qualify_columns(tree))
            if not column.table and not self._is_visible(column.name, scope)
        }
        return [where for start, where in given.items() if start in strays and where[2].lower() not in _ROWID]  # fmt: skip

    def qualify_columns(self, tree: exp.Query) -> exp.Expr:
        """A copy of a tree in which every column tells its table, as far as it has one.

        Raises:
            Refused: a column is unknown in the table that it names.
        """
        normalized = self._normalize(tree)
        homes = self._locate_tables(normalized)
        for table in list(normalized.find_all(exp.Table)):
            if home := homes[id(table)]:
                table.set("db", exp.to_identifier(home[0], quoted=True))
        known: dict[str, dict[str, dict[str, str]]] = {}
        for home in filter(None, (*homes.values(), next(iter(self._tables), None))):
            known.setdefault(home[0], {})[home[1]] = self._tables[home]
        try:
            with convert_parser_errors():
                return qualify(
                    normalized,
                    schema=MappingSchema(dict[str, object](known), dialect=self._parser, normalize=False),
                    dialect=self._parser,
                    validate_qualify_columns=False,
                )
        except OptimizeError as error:
            message = str(error)
            if unknown := re.match(r"Unknown column: (.+)", message):
                raise self._unknown_column(unknown[1], tree) from None
            if unknown := re.match(r"Unknown table: (.+)", message):
                raise _unknown_source(unknown[1]) from None
            raise RefusedError("syntax", f"The statement does not hold together: {parser_message(message)}") from None  # fmt: skip

    def _is_visible(self, name: str, scope: Scope | None) -> bool:
        """Whether a name is a column here, of several tables even."""
        while scope is not None:
            for source in scope.sources.values():
                read = source if isinstance(source, exp.Table) else source.expression
                known: Collection[str] = read.named_selects if isinstance(read, exp.Query) else ()
                if isinstance(read, exp.Table):
                    known = self.table_columns(read) or ()
                if name in known:
                    return True
            scope = scope.parent if scope.can_be_correlated else None
        return False

    def _unknown_column(self, column: exp.Column | str, tree: exp.Expr) -> RefusedError:
        """The refusal of a column that is of none of the tables, or of several."""
        name = column if isinstance(column, str) else column.name
        if isinstance(column, exp.Column) and column.table:
            return _unknown_source(column.table)
        own: dict[str, list[str]] = {}
        for table in self.read_tables(tree):
            for known in self.table_columns(table) or ():
                own.setdefault(known, []).append(table.alias_or_name)
        if len(homes := sorted(set(own.get(name, ())))) > 1:
            ways = [f"{home}.{name}" for home in homes[:MAX_SUGGESTIONS]]
            return RefusedError("column", f"The column {name[:60]!r} is in more than one table.", ways)
        if homes:
            return RefusedError("column", f"The column {name[:60]!r} cannot be reached here; it is one of {homes[0]}.")  # fmt: skip
        if re.fullmatch(r"column\d+", name) and tree.find(exp.Values):
            told = "Name the columns of VALUES, such as (VALUES (1), (2)) AS v(n)."
            return RefusedError("column", told)
        near = [f"{own[known][0]}.{known}" for known in similar_names(name, sorted(own))]
        written = next((c for c in tree.find_all(exp.Column) if self.fold(c.this) == name), None)
        spelled = written.name if written else name
        told = f"There is no column {spelled[:60]!r} in the tables of this statement."
        if written and written.this.args.get("quoted") and not written.table:
            told = f"{told[:-1]}; texts stand in single quotes: {exp.Literal.string(spelled[:60]).sql(self._parser)}."  # fmt: skip
        return RefusedError("column", told, near)


def _must_be_column(column: exp.Column) -> bool:
    """Whether a name stands where a text would be the same in every row: as a key of ORDER BY or
    GROUP BY, or as what is selected, without a name, from tables."""
    above = column.parent
    if isinstance(above, exp.Select):
        branch = isinstance(above.parent, exp.SetOperation) and above.arg_key == "expression"
        return above.args.get("from_") is not None and not branch
    return isinstance(above, (exp.Ordered, exp.Group))


def _unknown_source(name: str) -> RefusedError:
    return RefusedError("column", f"{name[:60]!r} is not in the FROM of this part of the statement.")


def _unresolved_columns(qualified: exp.Expr) -> Iterator[tuple[Scope, exp.Column]]:
    """The columns of a qualified tree that are of no table, or of several, with where they stand."""
    for scope in traverse_scope(qualified):
        if isinstance(scope.expression, exp.Select):
            if scope.external_columns and not scope.is_correlated_subquery:
                yield scope, scope.external_columns[0]
            yield from ((scope, column) for column in scope.unqualified_columns)


def expanded_size(tree: exp.Expr) -> int:
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
            return sum(sizes.get((_table_name(column), column.name), 1) for column in columns)

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


def _table_name(column: exp.Expr) -> str:
    """The name of the table of a qualified column."""
    table = column.args.get("table")
    return table.name if table else ""


def _compared_texts(column: exp.Column) -> Iterator[str]:
    """The texts that a column is compared with by = or IN."""
    parent = column.parent
    others: list[exp.Expr] = []
    if isinstance(parent, exp.EQ):
        others = [parent.expression if parent.this is column else parent.this]
    elif isinstance(parent, exp.In) and parent.this is column:
        others = parent.expressions
    yield from (other.name for other in others if isinstance(other, exp.Literal) and other.is_string)
