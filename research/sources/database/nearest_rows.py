"""Search for the nearest points in SQLite without computing the distance of every row.

`distance_km` is a Python function there: a microsecond or more per row, so `ORDER BY distance_km(…)
LIMIT 10` over 100,000 rows takes most of a second. Rows outside a box of longitudes and latitudes
are certainly farther away than its half width, and comparing two numbers is cheap. So any n rows
nearby are looked for first, in boxes of growing size; the farthest of them bounds the distance of
the n-th nearest, and the statement gets the box of that distance in addition to its own conditions.
A condition `distance_km(…) <= 50` gives a box directly.

A statement is changed only if it certainly returns the same rows: it has one table with numeric
columns, a literal point, and nothing that counts rows. All others run as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import asin, cos, degrees, pi, radians, sin

import sqlglot
from sqlglot import exp

from research.sources.database.distance import EARTH_RADIUS_KM, FUNCTION_NAME, distance_km
from research.sources.database.schema import RunQuery
from research.sources.database.validator import SQLiteTextGenerator

BOX_HALF_WIDTHS_DEGREES = (0.02, 0.1, 0.5, 2.5, 10.0)  # degrees: half widths of the boxes that are tried
MARGIN = 1e-6  # fraction of a distance, and kilometres: exceeds rounding errors
ColumnTypes = Mapping[str, Mapping[str, str]]  # by table and column, in lower case


def narrow_to_boxes(sql: str, column_types: ColumnTypes, run_query: RunQuery) -> str:
    """Add to a SQLite statement the boxes that follow from its distances; return the same text if
    none does.

    `sql` has passed the guard. `run_query` runs statements over the same rows.
    """
    if FUNCTION_NAME not in sql.lower():
        return sql
    tree = sqlglot.parse_one(sql, read="sqlite")
    changed = False
    for select in list(tree.find_all(exp.Select)):
        source = _find_source(select, column_types)
        if source is None:
            continue
        circles = list(_condition_circles(select, source))
        if select is tree and not circles:
            circles = _nearest_circle(select, source, run_query)
        for circle in circles:
            changed |= circle.apply_box(select)
    return _generate(tree) if changed else sql


def _generate(tree: exp.Expr) -> str:
    return SQLiteTextGenerator(dialect="sqlite", comments=False).generate(tree)


@dataclass(frozen=True, slots=True)
class _SourceTable:
    """The only table of a SELECT, and its numeric columns."""

    table: exp.Table
    number_columns: frozenset[str]

    def has_number_column(self, node: exp.Expr) -> bool:
        return (
            isinstance(node, exp.Column)
            and node.name.lower() in self.number_columns
            and node.table.lower() in ("", self.table.alias_or_name.lower())
        )


@dataclass(frozen=True, slots=True)
class _Centre:
    """Columns of a longitude and a latitude, and the point that they are compared with, in
    degrees."""

    lng_column: exp.Expr
    lat_column: exp.Expr
    lng: float
    lat: float


@dataclass(frozen=True, slots=True)
class _Circle:
    """A circle around a point, with a radius in kilometres."""

    centre: _Centre
    radius_km: float

    def apply_box(self, select: exp.Select) -> bool:
        """Add the box around the circle to a SELECT; return False if it would be no help."""
        box = self._build_box()
        if box is None:
            return False
        where = select.args.get("where")
        condition = exp.and_(box, where.this) if where else box  # the box first, because it is cheaper
        select.set("where", exp.Where(this=condition))
        return True

    def _build_box(self) -> exp.Expr | None:
        """Build the condition that a row lies in the box.

        Longitudes beyond ±180 degrees are accepted, because some data counts from 0 to 360.
        """
        angle = (self.radius_km * (1 + MARGIN) + MARGIN) / EARTH_RADIUS_KM
        centre, half_height = self.centre, degrees(angle)
        low_lat, high_lat = centre.lat - half_height, centre.lat + half_height
        if angle >= pi / 4 or low_lat <= -90 or high_lat >= 90:
            return None  # the box contains a pole, or a large part of the Earth
        half_width = degrees(asin(min(1.0, sin(angle) / cos(radians(centre.lat))))) * (1 + MARGIN)
        if centre.lng - half_width <= -180 or centre.lng + half_width >= 180:
            return None
        lng_condition = exp.or_(
            _build_between(centre.lng_column, centre.lng, half_width),
            exp.GT(this=centre.lng_column.copy(), expression=_build_number(180)),
            exp.LT(this=centre.lng_column.copy(), expression=_build_number(-180)),
        )
        return exp.and_(_build_between(centre.lat_column, centre.lat, half_height), exp.paren(lng_condition))


def _find_source(select: exp.Select, column_types: ColumnTypes) -> _SourceTable | None:
    """Return the only table of a SELECT; None if there are several or it is no table of the
    file."""
    from_clause = select.args.get("from_") or select.args.get("from")
    table = from_clause.this if from_clause else None
    if not isinstance(table, exp.Table) or select.args.get("joins") or table.args.get("joins"):
        return None
    ctes = {cte.alias.lower() for cte in select.root().find_all(exp.CTE)}
    columns = column_types.get(table.name.lower())
    if columns is None or table.name.lower() in ctes:
        return None
    # SQLite stores numbers and texts that look like numbers as numbers in columns of these types.
    prefixes = ("REAL", "FLOA", "DOUB", "INT", "NUMERIC", "DECIMAL")
    numbers = (name for name, kind in columns.items() if kind.upper().startswith(prefixes))
    return _SourceTable(table, frozenset(numbers))


def _condition_circles(select: exp.Select, source: _SourceTable) -> Iterator[_Circle]:
    """Yield the circles given by conditions `distance_km(…) < 50` of a SELECT that are joined by
    AND."""
    where = select.args.get("where")
    if where is None:
        return
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if isinstance(condition, (exp.LT, exp.LTE)):
            centre, radius_km = _parse_centre(condition.this, source), _literal_value(condition.expression)
            if centre and radius_km is not None and radius_km >= 0:
                yield _Circle(centre, radius_km)


def _nearest_circle(select: exp.Select, source: _SourceTable, run_query: RunQuery) -> list[_Circle]:
    """Return the circle that contains the nearest rows, if a statement asks for these; else []."""
    centre, max_rows = _order_centre(select, source), _row_limit(select)
    if centre is None or max_rows == 0 or not _is_simple(select):
        return []
    where = select.args.get("where")
    for half in BOX_HALF_WIDTHS_DEGREES:
        box = exp.and_(
            _build_between(centre.lng_column, centre.lng, half), _build_between(centre.lat_column, centre.lat, half)
        )
        query = (
            exp.select(centre.lng_column.copy(), centre.lat_column.copy())
            .from_(source.table.copy())
            .where(box, *([where.this.copy()] if where else []))
            .limit(max_rows)
        )
        rows = run_query(_generate(query))
        if len(rows) == max_rows:
            distances = [distance_km(lng, lat, centre.lng, centre.lat) for lng, lat in rows]
            known_distances = [km for km in distances if km is not None]
            return [_Circle(centre, max(known_distances))] if len(known_distances) == max_rows else []
    return []


def _is_simple(select: exp.Select) -> bool:
    """Return whether leaving out distant rows cannot change the result of a statement in another
    respect."""
    counts = (exp.AggFunc, exp.Window, exp.Distinct, exp.Group, exp.Having)
    return not select.find(*counts) and len(list(select.find_all(exp.Select))) == 1


def _order_centre(select: exp.Select, source: _SourceTable) -> _Centre | None:
    """Return the point by whose distance the rows are ordered first, ascending."""
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
    return _parse_centre(key, source)


def _row_limit(select: exp.Select) -> int:
    """Return how many rows a statement reads in their order: its LIMIT plus its OFFSET; 0 if it has
    no limit."""
    parts = (select.args.get("limit"), select.args.get("offset"))
    numbers = [_literal_value(part.args.get("expression")) if part else 0.0 for part in parts]
    return int(sum(value or 0 for value in numbers)) if numbers[0] else 0


def _parse_centre(node: exp.Expr | None, source: _SourceTable) -> _Centre | None:
    if not isinstance(node, exp.Anonymous) or node.name.lower() != FUNCTION_NAME:
        return None
    columns, values = node.expressions[:2], node.expressions[2:]
    if not all(map(source.has_number_column, columns)):
        columns, values = values, columns
    lng, lat = map(_literal_value, values)
    if not all(map(source.has_number_column, columns)) or lng is None or lat is None:
        return None
    return _Centre(columns[0], columns[1], lng, lat) if abs(lng) <= 180 and abs(lat) < 90 else None


def _literal_value(node: object) -> float | None:
    """Return the value of a literal number, or None."""
    return float(node.to_py()) if isinstance(node, exp.Expr) and node.is_number else None


def _build_between(column: exp.Expr, center: float, half_width: float) -> exp.Expr:
    low, high = _build_number(center - half_width), _build_number(center + half_width)
    return exp.Between(this=column.copy(), low=low, high=high)


def _build_number(value: float) -> exp.Expr:
    literal = exp.Literal.number(f"{abs(value):.12f}")
    return exp.Neg(this=literal) if value < 0 else literal
