"""Search for the nearest points in SQLite without computing the distance of every row.

`distance_km` is a Python function there: a microsecond or more per row, so `ORDER BY distance_km(…)
LIMIT 10` over 100,000 rows takes most of a second. A row outside a box of longitudes and latitudes is
certainly farther away than half the width of the box, and comparing two numbers is cheap. So a
condition `distance_km(…) <= 50` is preceded by the condition that the row lies in the box around that
circle. For the nearest n rows, any n rows nearby are read first, in boxes of growing size; the farthest
of them bounds the distance of the n-th nearest row, and so gives the circle.

A statement is changed only if it certainly returns the same rows: it has one table with numeric
columns, a literal point, and nothing that counts rows. All others run as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import asin, cos, degrees, pi, radians, sin

import sqlglot
from sqlglot import exp

from research.sources.database.distance import EARTH_RADIUS_KM, FUNCTION_NAME, distance_km
from research.sources.database.schema import RunQuery
from research.sources.database.validator import generate_sqlite

BOX_HALF_WIDTHS_DEGREES = (0.02, 0.1, 0.5, 2.5, 10.0)  # degrees: half widths of the boxes that are tried
MARGIN = 1e-6  # fraction of a distance, and kilometres: exceeds rounding errors
# Prefixes of column types in which SQLite stores numbers, and texts that look like numbers, as numbers.
_NUMBER_TYPES = ("REAL", "FLOA", "DOUB", "INT", "NUMERIC", "DECIMAL")
ColumnTypes = Mapping[str, Mapping[str, str]]  # by table and column, in lower case
ColumnNames = Collection[tuple[str, str]]  # alias of the table or "", and column, in lower case


def narrow_to_boxes(sql: str, column_types: ColumnTypes, run_query: RunQuery) -> str:
    """Restrict the SELECTs of a SQLite statement to the boxes that contain their rows; return the text
    unchanged if there are none.

    `sql` has passed the guard. `run_query` runs statements over the same rows.
    """
    if FUNCTION_NAME not in sql.lower():
        return sql
    tree = sqlglot.parse_one(sql, read="sqlite")
    is_changed = False
    for select in list(tree.find_all(exp.Select)):
        columns = _number_columns(select, column_types)
        circles = _condition_circles(select, columns)
        if select is tree and not circles:
            circles = _nearest_circle(select, columns, run_query)
        if boxes := [box for call, radius_km in circles if (box := call.build_box(radius_km))]:
            # The boxes come first, because they are cheaper than the other conditions.
            select.set("where", exp.Where(this=exp.and_(*boxes, *_where_condition(select))))
            is_changed = True
    return generate_sqlite(tree) if is_changed else sql


@dataclass(frozen=True, slots=True)
class _DistanceCall:
    """A call of `distance_km` between two numeric columns and a literal point, in degrees."""

    lng_column: exp.Expr
    lat_column: exp.Expr
    lng: float
    lat: float

    def build_box(self, radius_km: float) -> exp.Expr | None:
        """Build the condition that a row lies in the box around a circle; return None if the box
        contains a pole, or a large part of the Earth.

        Longitudes beyond ±180 degrees are accepted, because some data counts from 0 to 360.
        """
        angle = (radius_km * (1 + MARGIN) + MARGIN) / EARTH_RADIUS_KM
        half_height = degrees(angle)
        if angle >= pi / 4 or abs(self.lat) + half_height >= 90:
            return None
        half_width = degrees(asin(min(1.0, sin(angle) / cos(radians(self.lat))))) * (1 + MARGIN)
        if abs(self.lng) + half_width >= 180:
            return None
        lng_condition = exp.or_(
            _build_between(self.lng_column, self.lng, half_width),
            exp.GT(this=self.lng_column.copy(), expression=_build_number(180)),
            exp.LT(this=self.lng_column.copy(), expression=_build_number(-180)),
        )
        return exp.and_(_build_between(self.lat_column, self.lat, half_height), exp.paren(lng_condition))


_Circles = list[tuple[_DistanceCall, float]]  # each with a radius in kilometres


def _where_condition(select: exp.Select) -> list[exp.Expr]:
    """Return the condition of WHERE, as a list; [] if there is none."""
    where = select.args.get("where")
    return [where.this] if where else []


def _number_columns(select: exp.Select, column_types: ColumnTypes) -> ColumnNames:
    """Return the numeric columns of the only table of a SELECT; none if it reads several tables, or no
    table of the file."""
    from_clause = select.args.get("from_")
    table = from_clause.this if from_clause else None
    if not isinstance(table, exp.Table) or select.args.get("joins") or table.args.get("joins"):
        return ()
    if table.name.lower() in {cte.alias.lower() for cte in select.root().find_all(exp.CTE)}:
        return ()
    types = column_types.get(table.name.lower(), {})
    names = [name for name, column_type in types.items() if column_type.upper().startswith(_NUMBER_TYPES)]
    return {(alias, name) for alias in ("", table.alias_or_name.lower()) for name in names}


def _condition_circles(select: exp.Select, columns: ColumnNames) -> _Circles:
    """Return the circles of the conditions `distance_km(…) < 50` of a SELECT that are joined by AND."""
    circles: _Circles = []
    for where in _where_condition(select):
        for condition in where.flatten() if isinstance(where, exp.And) else [where]:
            if isinstance(condition, (exp.LT, exp.LTE)):
                call, radius_km = _parse_call(condition.this, columns), _literal_value(condition.expression)
                if call and radius_km is not None and radius_km >= 0:
                    circles.append((call, radius_km))
    return circles


def _nearest_circle(select: exp.Select, columns: ColumnNames, run_query: RunQuery) -> _Circles:
    """Return the circle that contains the nearest rows, as a list; [] if the SELECT does not ask for
    these, or there are too few."""
    call, max_rows = _ordering_call(select, columns), _row_limit(select)
    if call is None or max_rows == 0 or not _is_simple(select):
        return []
    for half_width in BOX_HALF_WIDTHS_DEGREES:
        box = exp.and_(
            _build_between(call.lng_column, call.lng, half_width), _build_between(call.lat_column, call.lat, half_width)
        )
        query = (
            exp.select(call.lng_column.copy(), call.lat_column.copy())
            .from_(select.args["from_"].this.copy())
            .where(box, *(condition.copy() for condition in _where_condition(select)))
            .limit(max_rows)
        )
        rows = run_query(generate_sqlite(query))
        if len(rows) == max_rows:
            distances = [distance_km(lng, lat, call.lng, call.lat) for lng, lat in rows]
            known_distances = [km for km in distances if km is not None]
            return [(call, max(known_distances))] if len(known_distances) == max_rows else []
    return []


def _is_simple(select: exp.Select) -> bool:
    """Return whether a SELECT neither counts nor groups rows, and has no subquery, so that leaving out
    distant rows cannot change its other rows."""
    counts = (exp.AggFunc, exp.Window, exp.Distinct, exp.Group, exp.Having)
    return not select.find(*counts) and len(list(select.find_all(exp.Select))) == 1


def _ordering_call(select: exp.Select, columns: ColumnNames) -> _DistanceCall | None:
    """Return the call by whose distance the rows are ordered first, ascending; None if there is none."""
    order = select.args.get("order")
    first = order.expressions[0] if order else None
    if not isinstance(first, exp.Ordered) or first.args.get("desc") or first.args.get("nulls_first"):
        return None
    key = first.this
    if isinstance(key, exp.Column) and not key.table:
        aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
        key = aliases.get(key.name.lower(), key)
    elif isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(select.expressions):
        key = select.expressions[int(key.name) - 1].unalias()
    return _parse_call(key, columns)


def _row_limit(select: exp.Select) -> int:
    """Return how many rows a statement reads in their order: its LIMIT plus its OFFSET; 0 if it has
    no limit."""
    clauses = (select.args.get("limit"), select.args.get("offset"))
    limit, offset = (_literal_value(clause.expression) if clause else None for clause in clauses)
    return int(limit + (offset or 0)) if limit else 0


def _parse_call(node: exp.Expr | None, columns: ColumnNames) -> _DistanceCall | None:
    """Parse a call of `distance_km`, with the columns before or after the point; return None for any
    other expression."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() != FUNCTION_NAME:
        return None
    for names, values in ((node.expressions[:2], node.expressions[2:]), (node.expressions[2:], node.expressions[:2])):
        lng, lat = map(_literal_value, values)
        are_columns = all(isinstance(n, exp.Column) and (n.table.lower(), n.name.lower()) in columns for n in names)
        if are_columns and lng is not None and lat is not None and abs(lng) <= 180 and abs(lat) < 90:
            return _DistanceCall(names[0], names[1], lng, lat)
    return None


def _literal_value(node: object) -> float | None:
    """Return the value of a literal number, or None."""
    return float(node.to_py()) if isinstance(node, exp.Expr) and node.is_number else None


def _build_between(column: exp.Expr, centre: float, half_width: float) -> exp.Expr:
    """Build the condition that a column is within `half_width` of `centre`."""
    low, high = _build_number(centre - half_width), _build_number(centre + half_width)
    return exp.Between(this=column.copy(), low=low, high=high)


def _build_number(value: float) -> exp.Expr:
    literal = exp.Literal.number(f"{abs(value):.12f}")
    return exp.Neg(this=literal) if value < 0 else literal
