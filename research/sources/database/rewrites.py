"""Rewriting of statement trees before and after they are checked.

`simplify` runs before the lists are consulted: it rewrites what analysts write (NATURAL joins,
series of whole numbers, unnested lists) with listed nodes only, for the same rows.

`limit_texts` runs last. An aggregate such as string_agg or array_agg gathers the values of many rows
in one text or list, whose length PostgreSQL does not bound; nor does it look at its clock within one
call of a function. So gathered values are cut, and so are the arguments of functions whose running
time grows with the square of their length. Cells are shown up to 2,000 characters, so the parts that
are cut would not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from research.sources.database.allowlist import Dialect
from research.sources.database.node_rules import check_plain_table
from research.sources.database.refusals import RefusedError, StatementLimits
from research.sources.database.series import build_values, expand_recursive_series, expand_series

MAX_GATHERED_CHARS = 2_000  # characters of each gathered value: as many as are shown of a cell
MAX_JOINED_GATHERED_CHARS = 300  # characters of each value gathered from the rows of two joined tables
MAX_TEXT_CHARS = 5_000  # characters of a resulting text
MAX_SMALL_ROWS = 500  # rows: a part with at most this LIMIT counts as one table
_SLOW_FUNCTIONS = (
    exp.Replace, exp.Translate, exp.Trim, exp.Initcap, exp.Lower, exp.Upper, exp.Reverse, exp.StringToArray,
    exp.RegexpReplace, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Pad, exp.MD5,
)  # fmt: skip
_SLOW_NAMES = ("btrim", "ltrim", "rtrim")
_LIST_AGGREGATES = (exp.ArrayAgg, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg)
_LIST_NAMES = ("jsonb_agg",)
_QUOTING_NAMES = (
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "to_json",
    "to_jsonb",
)
GATHERING_AGGREGATES = (exp.GroupConcat, *_LIST_AGGREGATES)
_SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)

FindColumns = Callable[[exp.Table], Collection[str] | None]
"""Returns the columns of a table of the schema; None for anything else."""


def simplify(tree: exp.Expr, find_columns: FindColumns, dialect: Dialect, limits: StatementLimits) -> None:
    """Rewrite a tree in place with listed nodes where possible.

    Raises:
        RefusedError: a NATURAL join, DISTINCT ON, series or list is of an unsupported kind.
    """
    expand_recursive_series(tree, dialect, limits)
    for select in list(tree.find_all(exp.Select)):
        _rewrite_natural_join(select, find_columns)
        if not select.expressions and isinstance(select.parent, exp.Exists):
            select.set("expressions", [exp.Literal.number(1)])
        _move_series_to_from(select)
    if dialect == "sqlite":  # SQLite has neither series nor lists
        for select in list(tree.find_all(exp.Select)):
            _rewrite_distinct_on(select, find_columns)
        for values in list(tree.find_all(exp.Values)):
            rewrite_named_values(values)
        return
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, _SERIES):
            check_plain_table(table, "ordinality")
            series = expand_series(table.this, dialect, limits)
            is_numbered = bool(table.args.get("ordinality"))
            table.replace(_build_values(series, table.args.get("alias"), "generate_series", is_numbered))
    for unnested in list(tree.find_all(exp.Unnest)):
        is_list = unnested.expressions and isinstance(unnested.expressions[0], exp.Array)
        if not is_list:
            _name_unnested_column(unnested)
        elif isinstance(unnested.parent, (exp.From, exp.Join)):
            alias, offset = unnested.args.get("alias"), unnested.args.get("offset")
            if alias and isinstance(offset, exp.Identifier):
                alias.append("columns", offset)
            unnested.replace(_build_values(_unnested_values(unnested), alias, "unnest", bool(offset)))


def _rewrite_natural_join(select: exp.Select, find_columns: FindColumns) -> None:
    """Rewrite NATURAL between two tables as USING of the columns that they share."""
    joins = select.args.get("joins") or []
    if not any(join.args.get("method") == "NATURAL" for join in joins):
        return
    source = select.args.get("from_")
    tables = [source.this if source else None, joins[0].this]
    columns = [find_columns(table) if isinstance(table, exp.Table) else None for table in tables]
    shared = [name for name in columns[0] or () if name in (columns[1] or ())]
    if len(joins) > 1 or not shared:
        raise RefusedError(
            "syntax", "NATURAL JOIN is allowed between two tables that share columns; write JOIN … USING (column)."
        )
    joins[0].set("method", None)
    joins[0].set("using", [exp.to_identifier(name) for name in shared])


def _move_series_to_from(select: exp.Select) -> None:
    """Move a series that is the only selected column to FROM."""
    expression = select.expressions[0] if len(select.expressions) == 1 else None
    call = expression.this if isinstance(expression, exp.Alias) else expression
    if select.args.get("from_") or not isinstance(call, (*_SERIES, exp.Explode)):
        return
    is_series = isinstance(call, _SERIES)
    name = expression.alias if isinstance(expression, exp.Alias) else "generate_series" if is_series else "unnest"
    alias = exp.TableAlias(this=exp.to_identifier(name))
    source = (
        exp.Table(this=call.copy(), alias=alias)
        if is_series
        else exp.Unnest(expressions=[call.this.copy()], alias=alias)
    )
    select.set("expressions", [exp.column(name)])
    select.set("from_", exp.From(this=source))


def _unnested_values(unnested: exp.Unnest) -> list[exp.Expr]:
    """Return the values of the list in an unnest. Raises RefusedError if they are not literals."""
    (array, *others) = unnested.expressions
    values = array.expressions if isinstance(array, exp.Array) else []
    if others or not values or not all(isinstance(v, exp.Literal) for v in values):
        raise RefusedError("table", "unnest takes one list of values here, such as unnest(ARRAY['a', 'b']) AS t(x).")
    return [value.copy() for value in values]


def _name_unnested_column(unnested: exp.Unnest) -> None:
    """Name the column of an unnested list after its table, if it has no name."""
    source = unnested.parent if isinstance(unnested.parent, exp.Lateral) else unnested
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier("unnest"))
    if alias.this and not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy()])
    source.set("alias", alias)


def _build_values(values: list[exp.Expr], alias: exp.Expr | None, name: str, is_numbered: bool) -> exp.Values:
    """Build a table of one column from a list, named like the result of the function; `is_numbered`
    adds a column of row numbers (WITH ORDINALITY)."""
    identifier = alias.this.copy() if alias and alias.this else exp.to_identifier(name)
    columns_given = (alias.args.get("columns") if alias else None) or [identifier]
    columns = [column.copy() for column in columns_given]
    if is_numbered and len(columns) == 1:
        columns.append(exp.to_identifier("ordinality"))
    return build_values(values, identifier, columns, is_numbered=is_numbered)


def _rewrite_distinct_on(select: exp.Select, find_columns: FindColumns) -> None:
    """Rewrite DISTINCT ON, which SQLite lacks, as the first row of each group by row_number().

    Raises:
        RefusedError: `*` cannot be expanded to the columns of a single table.
    """
    distinct = select.args.get("distinct")
    keys = distinct.args.get("on") if distinct else None
    if keys is None:
        return
    outputs = _expand_outputs(select, find_columns)
    group_keys = [_resolve_output(key, outputs) for key in keys.expressions]
    given = select.args["order"].expressions if select.args.get("order") else ()
    order = [exp.Ordered(**{**item.args, "this": _resolve_output(item.this, outputs)}) for item in given]
    inner = exp.Select(**{key: value for key, value in select.args.items() if key not in _OUTER_CLAUSES})
    group_order = [item.copy() for item in order] or [exp.Ordered(this=key.copy()) for key in group_keys]
    first = exp.Window(this=exp.RowNumber(), partition_by=group_keys, order=exp.Order(expressions=group_order))
    inner.set(
        "expressions",
        [
            *(exp.alias_(out.unalias(), f"_{n}") for n, out in enumerate(outputs)),
            *(exp.alias_(item.this, f"_by_{n}") for n, item in enumerate(order)),
            exp.alias_(first, "_row"),
        ],
    )
    named = [
        exp.alias_(exp.column(f"_{n}"), out.alias_or_name or f"_{n}", quoted=True) for n, out in enumerate(outputs)
    ]
    for key in set(select.args) - _OUTER_CLAUSES:
        select.set(key, None)
    for key in ("distinct", "order"):
        select.set(key, None)
    select.set("expressions", named)
    select.set(
        "from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("_distinct"))))
    )
    select.set("where", exp.Where(this=exp.EQ(this=exp.column("_row"), expression=exp.Literal.number(1))))
    if order:
        ordering = [exp.Ordered(**{**item.args, "this": exp.column(f"_by_{n}")}) for n, item in enumerate(order)]
        select.set("order", exp.Order(expressions=ordering))


_OUTER_CLAUSES = {"with_", "distinct", "order", "limit", "offset"}
"""Clauses of a DISTINCT ON statement that stay in the outer SELECT when the rest moves to a subquery."""


def _resolve_output(key: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """Return the output column that a key of ORDER BY or DISTINCT ON refers to by its position or
    alias, or else the key itself."""
    if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(outputs):
        return outputs[int(key.name) - 1].unalias().copy()
    if isinstance(key, exp.Column) and not key.table:
        named = (out for out in outputs if isinstance(out, exp.Alias) and out.alias == key.name)
        return next((out.this for out in named), key).copy()
    return key.copy()


def _expand_outputs(select: exp.Select, find_columns: FindColumns) -> list[exp.Expr]:
    """Return the output columns of a SELECT, with `*` expanded to the columns of its only table."""
    source = select.args.get("from_")
    known = find_columns(source.this) if source and isinstance(source.this, exp.Table) else None
    outputs: list[exp.Expr] = []
    for out in select.expressions:
        if not out.is_star:
            outputs.append(out)
        elif known is None or select.args.get("joins"):
            raise RefusedError("syntax", "Name the columns after DISTINCT ON; * is not allowed there.")
        else:
            outputs += [exp.column(name, quoted=True) for name in known]
    return outputs


def rewrite_named_values(values: exp.Values) -> None:
    """Rewrite VALUES with named columns as a WITH part: SQLite has no other syntax for the
    names."""
    alias = values.args.get("alias")
    others = {key for key, value in values.args.items() if value} - {"expressions", "alias"}
    if others or not (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        return
    inner = exp.Values(expressions=values.expressions, alias=exp.TableAlias(this=exp.to_identifier("listed")))
    part = exp.CTE(this=exp.select("*").from_(inner), alias=alias.copy())
    outer = exp.select("*").from_(exp.Table(this=alias.this.copy()))
    outer.set("with_", exp.With(expressions=[part]))
    values.replace(exp.Subquery(this=outer, alias=exp.TableAlias(this=alias.this.copy())))


def limit_texts(tree: exp.Expr) -> exp.Expr:
    """Limit the length of texts and numbers in a tree for PostgreSQL or DuckDB.

    Raises:
        RefusedError: texts are gathered from the rows of too many tables.
    """
    for power in list(tree.find_all(exp.Pow, exp.Exp)):
        _compute_in_doubles(power)
    gathered = [call for call in tree.find_all(*GATHERING_AGGREGATES, exp.Anonymous) if _is_gathering(call)]
    if not gathered and not any(_can_grow(call) for call in tree.find_all(exp.Replace, exp.RegexpReplace)):
        return tree
    table_counts = _count_tables(tree)
    for call in reversed(gathered):  # inner calls before outer ones
        select = call.find_ancestor(exp.Select)
        tables = table_counts.get(id(select), 1)
        # These lists take about 100 bytes per row.
        is_wide = isinstance(call, (exp.ArrayAgg, exp.JSONBObjectAgg, exp.Anonymous))
        if tables > (1 if is_wide else 2):
            raise RefusedError(
                "limit",
                f"A list is gathered from {tables} tables here; array_agg and jsonb_agg may of one, string_agg and json_agg of 2. Join them in a WITH part that ends in LIMIT {MAX_SMALL_ROWS}.",
            )
        max_characters = MAX_GATHERED_CHARS if tables < 2 else max(1, MAX_JOINED_GATHERED_CHARS // len(gathered))
        if isinstance(call, exp.GroupConcat):
            _limit_gathered_text(call, max_characters)
        else:
            _limit_gathered_list(call, max_characters)
    for slow_call in reversed(list(tree.find_all(*_SLOW_FUNCTIONS, exp.Anonymous))):
        _shorten_arguments(slow_call)
    return tree


def _shorten_arguments(call: exp.Expr) -> None:
    """Cut the arguments of a call that is slow for long texts."""
    if isinstance(call, exp.Anonymous):
        if call.name.lower() in _SLOW_NAMES:
            call.set("expressions", [_truncate_argument(value) for value in call.expressions])
        return
    for key in ("this", "expression", "replacement", "from_", "to"):
        if isinstance(value := call.args.get(key), exp.Expr):
            call.set(key, _truncate_argument(value))
    if isinstance(call, (exp.Replace, exp.RegexpReplace)):
        _truncate_result(call, "replace" if isinstance(call, exp.Replace) else "regexp_replace")


def _count_tables(tree: exp.Expr) -> dict[int, int]:
    """Count the tables that each SELECT reads, including those of its parts, by the id of
    its node."""
    scope_counts: dict[int, int] = {}  # by scope
    counts: dict[int, int] = {}
    for scope in traverse_scope(tree):
        sources = [source for _, source in scope.selected_sources.values()]
        branches = scope.set_operation_scopes
        total = sum(scope_counts.get(id(source), 1) for source in sources)
        total = max([total, *(scope_counts.get(id(branch), 1) for branch in branches)])
        counts[id(scope.expression)] = total
        limit = scope.expression.args.get("limit")
        max_rows = limit.expression if isinstance(limit, exp.Limit) else None
        is_small = isinstance(max_rows, exp.Literal) and int(max_rows.name) <= MAX_SMALL_ROWS
        scope_counts[id(scope)] = 1 if is_small else total
    return counts


def _limit_gathered_text(call: exp.GroupConcat, max_characters: int) -> None:
    """Cut the texts that are gathered, and the text that they form."""
    order = call.this if isinstance(call.this, exp.Order) else None
    member = (order or call).this
    if isinstance(member, exp.Distinct):
        member = member.expressions[0]
        for key in order.expressions if order else ():  # PostgreSQL requires equal expressions
            if key.this == member:
                key.set("this", _truncate(key.this.copy(), max_characters))
    member.replace(_truncate(member.copy(), max_characters))
    if isinstance(separator := call.args.get("separator"), exp.Expr):
        call.set("separator", _truncate_argument(separator))
    outer: exp.Expr = call
    while isinstance(outer.parent, (exp.Filter, exp.Window)) and outer.arg_key == "this":
        outer = outer.parent
    _truncate_result(outer, "string_agg")


def _truncate_result(call: exp.Expr, name: str) -> None:
    """Cut the result of a call; a result column named after the function keeps its name."""
    cut: exp.Expr = _truncate(call.copy(), MAX_TEXT_CHARS)
    if isinstance(call.parent, exp.Select) and call.arg_key == "expressions":
        cut = exp.alias_(cut, name)
    call.replace(cut)


def _truncate_argument(value: exp.Expr) -> exp.Expr:
    return value if isinstance(value, exp.Literal) else _truncate(value.copy(), MAX_TEXT_CHARS)


def _truncate(value: exp.Expr, max_characters: int) -> exp.Left:
    text = exp.Cast(this=value, to=exp.DataType.build("text"))
    return exp.Left(this=text, expression=exp.Literal.number(max_characters))


def _is_gathering(call: exp.Expr) -> bool:
    """Return whether a call gathers rows into a text or a list."""
    return not isinstance(call, exp.Anonymous) or call.name.lower() in _LIST_NAMES


def is_quoting(call: exp.Expr) -> bool:
    """Return whether a call quotes the texts it is given, and so can double their length."""
    if isinstance(call, exp.Anonymous):
        return call.name.lower() in (*_LIST_NAMES, *_QUOTING_NAMES)
    return isinstance(call, (*_LIST_AGGREGATES, exp.Format))


def _limit_gathered_list(call: exp.Expr, max_characters: int) -> None:
    """Replace members of a gathered list longer than `max_characters` by NULL; the others keep
    their types."""
    members = list(call.expressions) or [call.this, *filter(None, [call.args.get("expression")])]
    ordered = members[-1] if isinstance(members[-1], exp.Order) else None
    if ordered:
        members[-1] = ordered.this
    if isinstance(members[0], exp.Distinct):
        members = members[0].expressions
        for key in ordered.expressions if ordered else ():  # PostgreSQL requires equal expressions
            if key.this == members[0]:
                key.set("this", _null_if_long(key.this.copy(), max_characters))
    is_keyed = len(members) > 1  # a key cannot be left out
    for index, member in enumerate(list(members)):
        limited = (
            _truncate(member.copy(), max_characters)
            if is_keyed and not index
            else _null_if_long(member.copy(), max_characters)
        )
        member.replace(limited)


def _null_if_long(value: exp.Expr, max_characters: int) -> exp.Expr:
    """Build an expression that is NULL for values longer than `max_characters`."""
    text = exp.Cast(this=value.copy(), to=exp.DataType.build("text"))
    short = exp.LTE(this=exp.Length(this=text), expression=exp.Literal.number(max_characters))
    return exp.Case(ifs=[exp.If(this=short, true=value)])


def _can_grow(call: exp.Expr) -> bool:
    """Return whether a REPLACE can make a text much longer: its replacement is computed, or has more
    than ten characters."""
    replacement = call.args.get("replacement")
    return replacement is not None and not (isinstance(replacement, exp.Literal) and len(replacement.name) <= 10)


def _compute_in_doubles(power: exp.Expr) -> None:
    """Compute a power or exponential in doubles, because the result for an exact number can have a
    hundred thousand digits. A power up to the third is left exact."""
    exponent = power.args.get("expression")
    is_small = isinstance(exponent, exp.Literal) and exponent.is_int and int(exponent.name) <= 3
    if not is_small or power.find_ancestor(exp.Pow, exp.Exp) or power.this.find(exp.Pow, exp.Exp):
        power.set("this", exp.Cast(this=power.this.copy(), to=exp.DataType.build("double")))
