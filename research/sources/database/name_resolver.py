"""Resolution of the names in a statement to tables and columns of the schema, or to parts of the
statement."""

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
from research.sources.database.series import fold_name

TextFilter = tuple[str, str, str]
"""A table, its column, and a text that the column must equal."""
TableKey = tuple[str, str]
"""The schema of a table, and its name there."""
_ROWID = {"rowid", "_rowid_", "oid"}  # SQLite's implicit columns of every table


class NameResolver:
    """The names of a catalog, compared as the engine compares them."""

    def __init__(self, dialect: Dialect, catalog: Catalog) -> None:
        self._dialect = dialect
        self._default_schema, self._search_path = catalog.default_schema, (catalog.default_schema, *catalog.search_path)
        self._unreadable = catalog.unreadable
        fold = str if dialect == "postgres" else str.lower
        self._tables: dict[TableKey, dict[str, str]] = {}
        self._qualified_names: dict[TableKey, str] = {}
        for schema, tables in ((catalog.default_schema, catalog.tables), *catalog.other_schemas.items()):
            for name, columns in tables.items():
                key = (schema, fold(name))
                self._tables[key] = {fold(column): kind for column, kind in columns.items()}
                self._qualified_names[key] = qualified_name(name, schema, catalog.default_schema)
        self._parser = Parser.get_or_raise(dialect)

    def _find_table(self, table: exp.Table) -> TableKey | None:
        """Return the key of a table in the catalog; None if there is none of this name."""
        schema, name = table.args.get("db"), fold_name(table.this, self._dialect)
        path = (fold_name(schema, self._dialect),) if schema else self._search_path
        return next((key for key in ((schema_name, name) for schema_name in path) if key in self._tables), None)

    def qualified_table(self, table: exp.Table) -> str:
        """Return the qualified name of a table of the catalog."""
        key = self._find_table(table)
        assert key
        return self._qualified_names[key]

    def table_columns(self, table: exp.Table) -> Collection[str] | None:
        """Return the columns of a table of the catalog; None for a WITH part or an unknown
        table."""
        key = self._find_table(table)
        is_cte = not table.db and fold_name(table.this, self._dialect) in self.cte_names(table.root())
        return None if key is None or is_cte else tuple(self._tables[key])

    def cte_names(self, tree: exp.Expr) -> frozenset[str]:
        """Return the names of the WITH parts of a statement."""
        return frozenset(fold_name(cte.args["alias"].this, self._dialect) for cte in tree.find_all(exp.CTE))

    def table_aliases(self, tree: exp.Expr) -> frozenset[str]:
        """Return the names that a statement gives to tables."""
        return frozenset(fold_name(a.this, self._dialect) for a in tree.find_all(exp.TableAlias) if a.this)

    def _normalize(self, tree: exp.Expr) -> exp.Expr:
        """Return a copy of a tree with its names folded as the engine does."""
        return normalize_identifiers(tree.copy(), dialect=self._parser)

    def resolve_tables(self, tree: exp.Expr) -> None:
        """Resolve every table to a part of the statement or a table of the catalog.

        Tables of the catalog are renamed in place so that the engine finds the resolved table and
        no other.

        Raises:
            RefusedError: a table is unknown or ambiguous.
        """
        normalized = self._normalize(tree)
        located = self._locate_tables(normalized)
        cte_names, keys = self.cte_names(tree), dict[int, TableKey | None]()
        pairs = zip(tree.find_all(exp.Table), normalized.find_all(exp.Table), strict=True)
        for given, table in list(pairs):
            if id(table) not in located:
                raise RefusedError(
                    "table", f"What {table.name[:60]!r} stands for here is not clear; write it as FROM or JOIN."
                )
            key = keys[id(given)] = located[id(table)]
            if key and self._needs_no_schema(key, cte_names):
                given.set("db", None)
            elif key and not given.args.get("db"):
                given.set("db", exp.to_identifier(key[0], quoted=True))
        for column in tree.find_all(exp.Column):
            if column.args.get("db"):
                self._remove_schema(column, tree, keys)

    def _locate_tables(self, normalized: exp.Expr) -> dict[int, TableKey | None]:
        """Map the id of each table's node to its key in the catalog; None for a part of the
        statement.

        Raises:
            RefusedError: a table is neither.
        """
        located: dict[int, TableKey | None] = {}
        for scope in traverse_scope(normalized):
            used_names: set[str] = set()
            for table in scope.tables:
                if not isinstance(table.this, exp.Identifier):
                    raise RefusedError("table", NO_TABLE_FUNCTION)
                if (name := table.alias_or_name) in used_names:
                    raise RefusedError(
                        "table", f"Two tables are called {name[:60]!r} here; give each an alias of its own."
                    )
                used_names.add(name)
                is_cte = not table.args.get("db") and table.name in scope.cte_sources
                key = None if is_cte or table.catalog else self._find_table(table)
                if not (is_cte or key):
                    raise self._unknown_table(table)
                located[id(table)] = key
        return located

    def _unknown_table(self, table: exp.Table) -> RefusedError:
        """Create the refusal of an unknown table. It suggests tables of similar names, those in the
        same schema first."""
        table_keys = sorted(self._tables, key=lambda key: (key[0] != table.db, key))
        suggestions = similar_names(table.name, sorted({name for _, name in table_keys}))
        qualified_names = [self._qualified_names[key] for name in suggestions for key in table_keys if key[1] == name]
        name = qualified_name(table.name, table.db, "")
        if reason := self._unreadable.get(name.lower()):
            return RefusedError("table", f"The table {name[:120]!r} cannot be read: {reason}.")
        return RefusedError("table", f"There is no table {name[:120]!r}.", qualified_names[:MAX_SUGGESTIONS])

    def _needs_no_schema(self, table_key: TableKey, cte_names: Collection[str]) -> bool:
        """Return whether the engine finds a table without its schema.

        That holds in the default schema, unless a part of the statement or a system table has the
        same name.
        """
        is_system = self._dialect == "postgres" and table_key[1].startswith("pg_")
        return table_key[0] == self._default_schema and table_key[1] not in cte_names and not is_system

    def _remove_schema(self, column: exp.Column, tree: exp.Expr, table_keys: Mapping[int, TableKey | None]) -> None:
        """Remove the schema from a column, if only one table has its table's name."""
        schema, table = column.args["db"], column.args["table"]
        table_name = fold_name(table, self._dialect)
        matches = [each for each in tree.find_all(exp.Table) if self._fold_alias(each) == table_name]
        key = (fold_name(schema, self._dialect), table_name)
        if (
            column.args.get("catalog")
            or not matches
            or any(each.alias or table_keys[id(each)] != key for each in matches)
        ):
            raise RefusedError(
                "column",
                f"What {column.sql(self._parser)[:120]} stands for is not clear; give its table an alias, and write alias.column.",
            )
        column.set("db", None)

    def _fold_alias(self, table: exp.Table) -> str:
        """Return the alias of a table, or its name without one."""
        return fold_name(table.args["alias"].this if table.alias else table.this, self._dialect)

    def read_tables(self, tree: exp.Expr) -> Iterator[exp.Table]:
        """Yield the tables of the database that a checked tree reads."""
        normalized = self._normalize(tree)
        located = self._locate_tables(normalized)
        yield from (table for table in normalized.find_all(exp.Table) if located[id(table)])

    # Columns

    def read_columns(
        self, tree: exp.Query, limits: StatementLimits
    ) -> tuple[tuple[tuple[str, str], ...], tuple[TextFilter, ...]]:
        """Find the columns of tables that a checked tree reads, and the texts that it compares them with.

        Returns:
            Each table and column, and each table, column and text; both sorted.

        Raises:
            RefusedError: a column is unknown, or the statement exceeds a limit.
        """
        qualified = self.qualify_columns(tree)
        if unresolved := next(_unresolved_columns(qualified), None):
            raise self._unknown_column(unresolved[1], tree)
        if row := qualified.find(exp.TableColumn):
            raise RefusedError("column", f"{row.name[:60]!r} is a table, not a column; name its columns.")
        outputs = len(qualified.selects) if isinstance(qualified, exp.Query) else 0
        check_limit("columns in its result", outputs, limits.max_outputs)
        check_limit("parts when its WITH parts are written out", expanded_size(qualified), limits.max_expansion)
        columns: set[tuple[str, str]] = set()
        filters: set[TextFilter] = set()
        for scope in traverse_scope(qualified):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and self._find_table(source):
                    name = (self.qualified_table(source), column.name)
                    columns.add(name)
                    filters.update((*name, text) for text in _compared_texts(column))
        return tuple(sorted(columns)), tuple(sorted(filters))

    def quoted_texts(self, tree: exp.Query, sql: str) -> list[tuple[int, int, str]]:
        """Find the names in double quotes that are no columns, which SQLite reads as texts.

        An unknown name where a text would be meaningless is left out, because it is a mistake: see
        `_must_be_column`.

        Returns:
            Offsets of the first and the last character of each in `sql`, and its text.
        """
        quoted_names = {}
        for column in tree.find_all(exp.Column):
            start, end = column.this.meta_get("start"), column.this.meta_get("end")
            is_quoted = start is not None and sql[start] == '"' and not column.table
            if is_quoted and not _must_be_column(column):
                quoted_names[start] = (start, end, column.name)
        if not quoted_names:
            return []
        unresolved_starts = {
            column.this.meta_get("start")
            for scope, column in _unresolved_columns(self.qualify_columns(tree))
            if not column.table and not self._is_visible(column.name, scope)
        }
        return [
            quoted_text
            for start, quoted_text in quoted_names.items()
            if start in unresolved_starts and quoted_text[2].lower() not in _ROWID
        ]

    def qualify_columns(self, tree: exp.Query) -> exp.Expr:
        """Return a copy of a tree in which every column names its table, as far as it has one.

        Raises:
            RefusedError: a column is unknown in the table that it names.
        """
        normalized = self._normalize(tree)
        keys = self._locate_tables(normalized)
        for table in list(normalized.find_all(exp.Table)):
            if key := keys[id(table)]:
                table.set("db", exp.to_identifier(key[0], quoted=True))
        known: dict[str, dict[str, dict[str, str]]] = {}
        for key in filter(None, (*keys.values(), next(iter(self._tables), None))):
            known.setdefault(key[0], {})[key[1]] = self._tables[key]
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
            raise RefusedError("syntax", f"The statement does not hold together: {parser_message(message)}") from None

    def _is_visible(self, name: str, scope: Scope | None) -> bool:
        """Return whether a name is a column of at least one table in a scope or its outer
        scopes."""
        while scope is not None:
            for source in scope.sources.values():
                expression = source if isinstance(source, exp.Table) else source.expression
                known: Collection[str] = expression.named_selects if isinstance(expression, exp.Query) else ()
                if isinstance(expression, exp.Table):
                    known = self.table_columns(expression) or ()
                if name in known:
                    return True
            scope = scope.parent if scope.can_be_correlated else None
        return False

    def _unknown_column(self, column: exp.Column | str, tree: exp.Expr) -> RefusedError:
        """Create the refusal of a column that belongs to none of the tables, or to several."""
        name = column if isinstance(column, str) else column.name
        if isinstance(column, exp.Column) and column.table:
            return _unknown_source(column.table)
        tables_by_column: dict[str, list[str]] = {}
        for table in self.read_tables(tree):
            for known in self.table_columns(table) or ():
                tables_by_column.setdefault(known, []).append(table.alias_or_name)
        if len(table_names := sorted(set(tables_by_column.get(name, ())))) > 1:
            suggestions = [f"{table_name}.{name}" for table_name in table_names[:MAX_SUGGESTIONS]]
            return RefusedError("column", f"The column {name[:60]!r} is in more than one table.", suggestions)
        if table_names:
            return RefusedError(
                "column", f"The column {name[:60]!r} cannot be reached here; it is one of {table_names[0]}."
            )
        if re.fullmatch(r"column\d+", name) and tree.find(exp.Values):
            text = "Name the columns of VALUES, such as (VALUES (1), (2)) AS v(n)."
            return RefusedError("column", text)
        similar = [f"{tables_by_column[known][0]}.{known}" for known in similar_names(name, sorted(tables_by_column))]
        written = next((c for c in tree.find_all(exp.Column) if fold_name(c.this, self._dialect) == name), None)
        spelled = written.name if written else name
        text = f"There is no column {spelled[:60]!r} in the tables of this statement."
        if written and written.this.args.get("quoted") and not written.table:
            text = f"{text[:-1]}; texts stand in single quotes: {exp.Literal.string(spelled[:60]).sql(self._parser)}."
        return RefusedError("column", text, similar)


def _must_be_column(column: exp.Column) -> bool:
    """Return whether a name stands where a text would be meaningless, because it is the same in every
    row.

    Such places are the keys of ORDER BY and GROUP BY, and the selected values, without an alias, of
    a SELECT from tables.
    """
    parent = column.parent
    if isinstance(parent, exp.Select):
        is_branch = isinstance(parent.parent, exp.SetOperation) and parent.arg_key == "expression"
        return parent.args.get("from_") is not None and not is_branch
    return isinstance(parent, (exp.Ordered, exp.Group))


def _unknown_source(name: str) -> RefusedError:
    """Create the refusal of a table name that is not in FROM."""
    return RefusedError("column", f"{name[:60]!r} is not in the FROM of this part of the statement.")


def _unresolved_columns(qualified: exp.Expr) -> Iterator[tuple[Scope, exp.Column]]:
    """Yield each column of a qualified tree that belongs to no table, or to several, after its scope."""
    for scope in traverse_scope(qualified):
        if isinstance(scope.expression, exp.Select):
            if scope.external_columns and not scope.is_correlated_subquery:
                yield scope, scope.external_columns[0]
            yield from ((scope, column) for column in scope.unqualified_columns)


def expanded_size(tree: exp.Expr) -> int:
    """Return how many columns and SELECTs a qualified tree has once its WITH parts and subqueries are
    inlined.

    Engines inline a part wherever it is used, before they run anything and regardless of limits:
    ten parts that each name the column of the previous one four times are a million columns.
    """
    total_sizes: dict[int, int] = {}  # by scope
    outputs: dict[int, dict[str, int]] = {}  # by scope and column
    last = 0
    for scope in traverse_scope(tree):
        parts = [source for source in scope.sources.values() if isinstance(source, Scope)]
        branches = scope.set_operation_scopes
        inner = sum(total_sizes.get(id(part), 1) for part in (*scope.subquery_scopes, *branches))
        sizes = {
            (name, column): size
            for name, source in scope.sources.items()
            for column, size in outputs.get(id(source), {}).items()
        }

        def size(columns: Iterable[exp.Column], sizes: dict[tuple[str, str], int] = sizes) -> int:
            return sum(sizes.get((column.table, column.name), 1) for column in columns)

        last = 1 + inner + sum(total_sizes.get(id(part), 1) for part in parts) + size(scope.columns)
        total_sizes[id(scope)] = last
        column_sizes: dict[str, int] = {}
        if isinstance(scope.expression, exp.Select):
            for output in scope.expression.selects:
                nested = inner if output.find(exp.Select) else 0
                column_sizes[output.alias_or_name] = 1 + nested + size(output.find_all(exp.Column))
        elif isinstance(scope.expression, exp.SetOperation):
            sides = [list(outputs.get(id(branch), {}).values()) for branch in branches]
            names = scope.expression.named_selects
            column_sizes = {name: sum(side[i] for side in sides if i < len(side)) for i, name in enumerate(names)}
        outputs[id(scope)] = column_sizes
    return last


def _compared_texts(column: exp.Column) -> Iterator[str]:
    """Yield the texts that a column is compared with by = or IN."""
    parent = column.parent
    operands: list[exp.Expr] = []
    if isinstance(parent, exp.EQ):
        operands = [parent.expression if parent.this is column else parent.this]
    elif isinstance(parent, exp.In) and parent.this is column:
        operands = parent.expressions
    yield from (operand.name for operand in operands if isinstance(operand, exp.Literal) and operand.is_string)
