"""Trees rewritten before and after they are vetted: other words for the same rows, and texts kept short.

`plainer` runs before the lists are asked: what analysts write and what can be said in listed words
(NATURAL joins, series of whole numbers, lists that are unnested) is said in them.

`shorter` runs last, for PostgreSQL alone, which has no bound on the length of a text and looks at no
clock within one call of a function. A text gathered from rows is cut, and so is what a function reads
whose time grows with the square of its length. Cells are shown up to 2,000 characters, so what is cut
is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from research.sources.database.allowlist import Dialect
from research.sources.database.node_rules import check_plain_table
from research.sources.database.refusals import RefusedError, StatementLimits
from research.sources.database.series import build_values, expand_recursive_series, expand_series

MAX_MEMBER_CHARS = 2_000  # characters of one text that is gathered: as many as are shown of a cell
MAX_JOINED_MEMBER_CHARS = 300  # the same, where the rows of two tables are gathered
MAX_TEXT_CHARS = 5_000  # characters of a text that is made
MAX_SMALL_ROWS = 500  # rows: a part with a LIMIT up to here counts for one table
_SLOW_FUNCTIONS = (
    exp.Replace, exp.Translate, exp.Trim, exp.Initcap, exp.Lower, exp.Upper, exp.Reverse, exp.StringToArray,
    exp.RegexpReplace, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Pad, exp.MD5,
)  # fmt: skip
_SLOW_NAMES = ("btrim", "ltrim", "rtrim")
_LIST_AGGREGATES = (exp.ArrayAgg, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg)
_LIST_NAMES = ("jsonb_agg",)
_QUOTING_NAMES = (
    "json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array", "to_json", "to_jsonb",
)  # fmt: skip
GATHERING_AGGREGATES = (exp.GroupConcat, *_LIST_AGGREGATES)
_SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)

FindColumns = Callable[[exp.Table], Collection[str] | None]
"""The columns of a table of the schema; None for anything else."""


def simplify(tree: exp.Expr, find_columns: FindColumns, dialect: Dialect, limits: StatementLimits) -> None:
    """Says in listed words what can be.

    Raises:
        Refused: a NATURAL join or a series is of a kind that cannot.
    """
    expand_recursive_series(tree, dialect, limits)
    for select in list(tree.find_all(exp.Select)):
        _rewrite_natural_join(select, find_columns)
        if not select.expressions and isinstance(select.parent, exp.Exists):
            select.set("expressions", [exp.Literal.number(1)])
        _move_series_to_from(select)
    if dialect == "sqlite":  # which has no such functions
        for select in list(tree.find_all(exp.Select)):
            _rewrite_distinct_on(select, find_columns)
        for values in list(tree.find_all(exp.Values)):
            rewrite_named_values(values)
        return
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, _SERIES):
            check_plain_table(table, "ordinality")
            series = expand_series(table.this, dialect, limits)
            numbered = bool(table.args.get("ordinality"))
            table.replace(_build_values(series, table.args.get("alias"), "generate_series", numbered))
    for unnested in list(tree.find_all(exp.Unnest)):
        listed = unnested.expressions and isinstance(unnested.expressions[0], exp.Array)
        if not listed:
            _name_unnested_column(unnested)
        elif isinstance(unnested.parent, (exp.From, exp.Join)):
            alias, offset = unnested.args.get("alias"), unnested.args.get("offset")
            if alias and isinstance(offset, exp.Identifier):
                alias.append("columns", offset)
            unnested.replace(_build_values(_unnested_values(unnested), alias, "unnest", bool(offset)))


def _rewrite_natural_join(select: exp.Select, find_columns: FindColumns) -> None:
    """NATURAL between two tables becomes USING, of the columns that they share."""
    joins = select.args.get("joins") or []
    if not any(join.args.get("method") == "NATURAL" for join in joins):
        return
    source = select.args.get("from_")
    ends = [source.this if source else None, joins[0].this]
    known = [find_columns(end) if isinstance(end, exp.Table) else None for end in ends]
    shared = [name for name in known[0] or () if name in (known[1] or ())]
    if len(joins) > 1 or not shared:
        raise RefusedError("syntax", "NATURAL JOIN is allowed between two tables that share columns; write JOIN … USING (column).")  # fmt: skip
    joins[0].set("method", None)
    joins[0].set("using", [exp.to_identifier(name) for name in shared])


def _move_series_to_from(select: exp.Select) -> None:
    """A series that is all that is selected goes to FROM."""
    only = select.expressions[0] if len(select.expressions) == 1 else None
    made = only.this if isinstance(only, exp.Alias) else only
    if select.args.get("from_") or not isinstance(made, (*_SERIES, exp.Explode)):
        return
    series = isinstance(made, _SERIES)
    name = only.alias if isinstance(only, exp.Alias) else "generate_series" if series else "unnest"
    called = exp.TableAlias(this=exp.to_identifier(name))
    source = exp.Table(this=made.copy(), alias=called) if series else exp.Unnest(expressions=[made.this.copy()], alias=called)  # fmt: skip
    select.set("expressions", [exp.column(name)])
    select.set("from_", exp.From(this=source))


def _unnested_values(unnested: exp.Unnest) -> list[exp.Expr]:
    (array, *more) = unnested.expressions
    values = array.expressions if isinstance(array, exp.Array) else []
    if more or not values or not all(isinstance(v, exp.Literal) for v in values):  # fmt: skip
        raise RefusedError("table", "unnest takes one list of values here, such as unnest(ARRAY['a', 'b']) AS t(x).")  # fmt: skip
    return [value.copy() for value in values]


def _name_unnested_column(unnested: exp.Unnest) -> None:
    """A list of rows whose column has no name has the one of its table."""
    source = unnested.parent if isinstance(unnested.parent, exp.Lateral) else unnested
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier("unnest"))
    if alias.this and not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy()])
    source.set("alias", alias)


def _build_values(values: list[exp.Expr], alias: exp.Expr | None, name: str, is_numbered: bool) -> exp.Values:
    """A list as a table of one column, called as the function's result would be; where its rows are
    numbered (WITH ORDINALITY), of two."""
    called = alias.this.copy() if alias and alias.this else exp.to_identifier(name)
    own = (alias.args.get("columns") if alias else None) or [called]
    columns = [column.copy() for column in own]
    if is_numbered and len(columns) == 1:
        columns.append(exp.to_identifier("ordinality"))
    return build_values(values, called, columns, is_numbered=is_numbered)


def _rewrite_distinct_on(select: exp.Select, find_columns: FindColumns) -> None:
    """DISTINCT ON, which SQLite does not have, becomes the first row of each group by row_number().

    Raises:
        Refused: the result has columns that are not named, or its order is of something else.
    """
    distinct = select.args.get("distinct")
    keys = distinct.args.get("on") if distinct else None
    if keys is None:
        return
    outputs = _expand_outputs(select, find_columns)
    by = [_resolve_output(key, outputs) for key in keys.expressions]
    given = select.args["order"].expressions if select.args.get("order") else ()
    order = [exp.Ordered(**{**item.args, "this": _resolve_output(item.this, outputs)}) for item in given]
    inner = exp.Select(**{key: value for key, value in select.args.items() if key not in _OUTER_CLAUSES})
    within = [item.copy() for item in order] or [exp.Ordered(this=key.copy()) for key in by]
    first = exp.Window(this=exp.RowNumber(), partition_by=by, order=exp.Order(expressions=within))
    inner.set("expressions", [
        *(exp.alias_(out.unalias(), f"_{n}") for n, out in enumerate(outputs)),
        *(exp.alias_(item.this, f"_by_{n}") for n, item in enumerate(order)),
        exp.alias_(first, "_row"),
    ])  # fmt: skip
    named = [exp.alias_(exp.column(f"_{n}"), out.alias_or_name or f"_{n}", quoted=True) for n, out in enumerate(outputs)]  # fmt: skip
    for key in set(select.args) - _OUTER_CLAUSES:
        select.set(key, None)
    for key in ("distinct", "order"):
        select.set(key, None)
    select.set("expressions", named)
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("_distinct")))))  # fmt: skip
    select.set("where", exp.Where(this=exp.EQ(this=exp.column("_row"), expression=exp.Literal.number(1))))  # fmt: skip
    if order:
        kept = [exp.Ordered(**{**item.args, "this": exp.column(f"_by_{n}")}) for n, item in enumerate(order)]  # fmt: skip
        select.set("order", exp.Order(expressions=kept))


_OUTER_CLAUSES = {"with_", "distinct", "order", "limit", "offset"}


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
    """VALUES whose columns have names become a WITH part: SQLite has no other words for the names."""
    alias = values.args.get("alias")
    others = {key for key, value in values.args.items() if value} - {"expressions", "alias"}
    if others or not (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        return
    listed = exp.Values(expressions=values.expressions, alias=exp.TableAlias(this=exp.to_identifier("listed")))  # fmt: skip
    part = exp.CTE(this=exp.select("*").from_(listed), alias=alias.copy())
    whole = exp.select("*").from_(exp.Table(this=alias.this.copy()))
    whole.set("with_", exp.With(expressions=[part]))
    values.replace(exp.Subquery(this=whole, alias=exp.TableAlias(this=alias.this.copy())))


def limit_texts(tree: exp.Expr) -> exp.Expr:
    """A tree for PostgreSQL whose texts and numbers stay short.

    Raises:
        Refused: texts are gathered from the rows of too many tables.
    """
    for power in list(tree.find_all(exp.Pow, exp.Exp)):
        _as_double(power)
    gathered = [call for call in tree.find_all(*GATHERING_AGGREGATES, exp.Anonymous) if _is_gathering(call)]
    if not gathered and not any(_can_grow(call) for call in tree.find_all(exp.Replace, exp.RegexpReplace)):  # fmt: skip
        return tree
    read = _count_tables(tree)
    for call in reversed(gathered):  # what is within another comes first
        select = call.find_ancestor(exp.Select)
        tables = read.get(id(select), 1)
        wide = isinstance(call, (exp.ArrayAgg, exp.JSONBObjectAgg, exp.Anonymous))  # a hundred bytes a row
        if tables > (1 if wide else 2):
            raise RefusedError("limit", f"A list is gathered from {tables} tables here; array_agg and jsonb_agg may of one, string_agg and json_agg of 2. Join them in a WITH part that ends in LIMIT {MAX_SMALL_ROWS}.")  # fmt: skip
        most = MAX_MEMBER_CHARS if tables < 2 else max(1, MAX_JOINED_MEMBER_CHARS // len(gathered))
        if isinstance(call, exp.GroupConcat):
            _limit_gathered_text(call, most)
        else:
            _limit_gathered_list(call, most)
    for slow in reversed(list(tree.find_all(*_SLOW_FUNCTIONS, exp.Anonymous))):
        _shorten_arguments(slow)
    return tree


def _shorten_arguments(slow: exp.Expr) -> None:
    """Cuts what a call is given that takes long over long texts."""
    if isinstance(slow, exp.Anonymous):
        if slow.name.lower() in _SLOW_NAMES:
            slow.set("expressions", [_truncate_argument(value) for value in slow.expressions])
        return
    for key in ("this", "expression", "replacement", "from_", "to"):
        if isinstance(value := slow.args.get(key), exp.Expr):
            slow.set(key, _truncate_argument(value))
    if isinstance(slow, (exp.Replace, exp.RegexpReplace)):
        _truncate_result(slow, "replace" if isinstance(slow, exp.Replace) else "regexp_replace")


def _count_tables(tree: exp.Expr) -> dict[int, int]:
    """How many tables each SELECT reads, those of its parts included."""
    own: dict[int, int] = {}  # of a scope
    out: dict[int, int] = {}
    for scope in traverse_scope(tree):
        sources = [source for _, source in scope.selected_sources.values()]
        branches = scope.set_operation_scopes
        found = sum(own.get(id(source), 1) for source in sources)
        found = max([found, *(own.get(id(branch), 1) for branch in branches)])
        out[id(scope.expression)] = found
        limit = scope.expression.args.get("limit")
        most = limit.expression if isinstance(limit, exp.Limit) else None
        few = isinstance(most, exp.Literal) and int(most.name) <= MAX_SMALL_ROWS
        own[id(scope)] = 1 if few else found
    return out


def _limit_gathered_text(call: exp.GroupConcat, max_characters: int) -> None:
    """Cuts the texts that are gathered, and the text that they become."""
    order = call.this if isinstance(call.this, exp.Order) else None
    member = (order or call).this
    if isinstance(member, exp.Distinct):
        member = member.expressions[0]
        for same in order.expressions if order else ():  # PostgreSQL wants them equal
            if same.this == member:
                same.set("this", _truncate(same.this.copy(), max_characters))
    member.replace(_truncate(member.copy(), max_characters))
    if isinstance(separator := call.args.get("separator"), exp.Expr):
        call.set("separator", _truncate_argument(separator))
    whole: exp.Expr = call
    while isinstance(whole.parent, (exp.Filter, exp.Window)) and whole.arg_key == "this":
        whole = whole.parent
    _truncate_result(whole, "string_agg")


def _truncate_result(call: exp.Expr, name: str) -> None:
    """Cuts what a call gives; a column that was called after the function stays so."""
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
    """Whether a call makes a text or a list of rows."""
    return not isinstance(call, exp.Anonymous) or call.name.lower() in _LIST_NAMES


def is_quoting(call: exp.Expr) -> bool:
    """Whether a call quotes texts that it is given, and so can make them twice as long."""
    if isinstance(call, exp.Anonymous):
        return call.name.lower() in (*_LIST_NAMES, *_QUOTING_NAMES)
    return isinstance(call, (*_LIST_AGGREGATES, exp.Format))


def _limit_gathered_list(call: exp.Expr, max_characters: int) -> None:
    """Leaves out of a list what is longer than `most` characters; of the rest the types stay."""
    members = list(call.expressions) or [call.this, *filter(None, [call.args.get("expression")])]
    ordered = members[-1] if isinstance(members[-1], exp.Order) else None
    if ordered:
        members[-1] = ordered.this
    if isinstance(members[0], exp.Distinct):
        members = members[0].expressions
        for same in ordered.expressions if ordered else ():  # PostgreSQL wants them equal
            if same.this == members[0]:
                same.set("this", _null_if_long(same.this.copy(), max_characters))
    keyed = len(members) > 1  # a key cannot be left out
    for at, member in enumerate(list(members)):
        short = (
            _truncate(member.copy(), max_characters)
            if keyed and not at
            else _null_if_long(member.copy(), max_characters)
        )
        member.replace(short)


def _null_if_long(value: exp.Expr, max_characters: int) -> exp.Expr:
    text = exp.Cast(this=value.copy(), to=exp.DataType.build("text"))
    short = exp.LTE(this=exp.Length(this=text), expression=exp.Literal.number(max_characters))
    return exp.Case(ifs=[exp.If(this=short, true=value)])


def _can_grow(call: exp.Expr) -> bool:
    new = call.args.get("replacement")
    return new is not None and not (isinstance(new, exp.Literal) and len(new.name) <= 10)


def _as_double(made: exp.Expr) -> None:
    """A power of an exact number can have a hundred thousand digits; that of a double has sixteen."""
    power = made.args.get("expression")
    small = isinstance(power, exp.Literal) and power.is_int and int(power.name) <= 3
    if not small or made.find_ancestor(exp.Pow, exp.Exp) or made.this.find(exp.Pow, exp.Exp):
        made.set("this", exp.Cast(this=made.this.copy(), to=exp.DataType.build("double")))
