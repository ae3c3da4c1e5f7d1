"""The nearest of many points on SQLite, without asking how far away each of them is.

`distance_km` is a Python function there: a microsecond or more a row, so `ORDER BY distance_km(…)
LIMIT 10` over 100,000 rows takes most of a second. Rows that lie outside a box of longitudes and
latitudes are certainly farther away than its half width, and comparing two numbers is cheap. So any n
rows that are near are looked for first, in boxes that grow; the farthest of them bounds the distance
of the n-th nearest, and the statement is given the box of that distance beside its own conditions. A
condition `distance_km(…) <= 50` brings its own box.

Only what is certain to have the same rows is changed: one table, its own columns of numbers, a point
that is written out, nothing that counts rows. Everything else runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import asin, cos, degrees, pi, radians, sin

import sqlglot
from sqlglot import exp

from research.sources.database.distance import EARTH_RADIUS_KM, FUNCTION_NAME, distance_km
from research.sources.database.validator import SQLiteTextGenerator

BOX_HALF_WIDTHS_DEGREES = (0.02, 0.1, 0.5, 2.5, 10.0)  # degrees: half the width of the boxes that are tried
MARGIN = 1e-6  # of a distance, and in kilometres: more than rounding can take
RunQuery = Callable[[str], Sequence[Sequence[object]]]  # a statement's rows
ColumnTypes = Mapping[str, Mapping[str, str]]  # by table and column, in lower case


def narrow_to_boxes(sql: str, column_types: ColumnTypes, run_query: RunQuery) -> str:
    """A statement of SQLite with the boxes that follow from it; the same text if none does.

    `text` has passed the guard. `ask` runs statements over the same rows.
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
    """The only table of a SELECT, and its columns of numbers."""

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
    """Columns of a longitude and a latitude, and the point that they are compared with, in degrees."""

    lng_column: exp.Expr
    lat_column: exp.Expr
    lng: float
    lat: float


@dataclass(frozen=True, slots=True)
class _Circle:
    """Everything within some kilometres of a point."""

    centre: _Centre
    radius_km: float

    def apply_box(self, select: exp.Select) -> bool:
        """Gives a SELECT the box around the circle; False if it would be no help."""
        box = self._build_box()
        if box is None:
            return False
        own = select.args.get("where")
        both = exp.and_(box, own.this) if own else box  # the box first: it is the cheaper
        select.set("where", exp.Where(this=both))
        return True

    def _build_box(self) -> exp.Expr | None:
        """Also with longitudes that go around once more, which some count from 0 to 360."""
        angle = (self.radius_km * (1 + MARGIN) + MARGIN) / EARTH_RADIUS_KM
        centre, high = self.centre, degrees(angle)
        low_lat, high_lat = centre.lat - high, centre.lat + high
        if angle >= pi / 4 or low_lat <= -90 or high_lat >= 90:
            return None  # a pole is in it, or a good part of the Earth
        wide = degrees(asin(min(1.0, sin(angle) / cos(radians(centre.lat))))) * (1 + MARGIN)
        if centre.lng - wide <= -180 or centre.lng + wide >= 180:
            return None
        around = exp.or_(
            _build_between(centre.lng_column, centre.lng, wide),
            exp.GT(this=centre.lng_column.copy(), expression=_build_number(180)),
            exp.LT(this=centre.lng_column.copy(), expression=_build_number(-180)),
        )
        return exp.and_(_build_between(centre.lat_column, centre.lat, high), exp.paren(around))


def _find_source(select: exp.Select, column_types: ColumnTypes) -> _SourceTable | None:
    found = select.args.get("from_") or select.args.get("from")
    table = found.this if found else None
    if not isinstance(table, exp.Table) or select.args.get("joins") or table.args.get("joins"):
        return None
    ctes = {cte.alias.lower() for cte in select.root().find_all(exp.CTE)}
    columns = column_types.get(table.name.lower())
    if columns is None or table.name.lower() in ctes:
        return None
    # Numbers stay numbers in columns of these types, and texts that look like some become them.
    words = ("REAL", "FLOA", "DOUB", "INT", "NUMERIC", "DECIMAL")
    numbers = (name for name, kind in columns.items() if kind.upper().startswith(words))
    return _SourceTable(table, frozenset(numbers))


def _condition_circles(select: exp.Select, source: _SourceTable) -> Iterator[_Circle]:
    """The circles that the conditions of a SELECT draw: `distance_km(…) < 50`, with AND."""
    where = select.args.get("where")
    if where is None:
        return
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if isinstance(condition, (exp.LT, exp.LTE)):
            centre, most = _parse_centre(condition.this, source), _literal_value(condition.expression)
            if centre and most is not None and most >= 0:
                yield _Circle(centre, most)


def _nearest_circle(select: exp.Select, source: _SourceTable, run_query: RunQuery) -> list[_Circle]:
    """The circle in which the nearest are, if they are what a statement asks for."""
    centre, most = _order_centre(select, source), _row_limit(select)
    if centre is None or most == 0 or not _is_simple(select):
        return []
    own = select.args.get("where")
    for half in BOX_HALF_WIDTHS_DEGREES:
        box = exp.and_(
            _build_between(centre.lng_column, centre.lng, half), _build_between(centre.lat_column, centre.lat, half)
        )
        near = (
            exp.select(centre.lng_column.copy(), centre.lat_column.copy())
            .from_(source.table.copy())
            .where(box, *([own.this.copy()] if own else []))
            .limit(most)
        )
        rows = run_query(_generate(near))
        if len(rows) == most:
            far = [distance_km(lng, lat, centre.lng, centre.lat) for lng, lat in rows]
            known = [km for km in far if km is not None]
            return [_Circle(centre, max(known))] if len(known) == most else []
    return []


def _is_simple(select: exp.Select) -> bool:
    """Whether leaving out rows that are too far away changes nothing else in a statement."""
    counts = (exp.AggFunc, exp.Window, exp.Distinct, exp.Group, exp.Having)
    return not select.find(*counts) and len(list(select.find_all(exp.Select))) == 1


def _order_centre(select: exp.Select, source: _SourceTable) -> _Centre | None:
    """The point by whose distance the rows are ordered before all else, the nearest first."""
    order = select.args.get("order")
    first = order.expressions[0] if order else None
    if not isinstance(first, exp.Ordered) or first.args.get("desc") or first.args.get("nulls_first"):  # fmt: skip
        return None
    key = first.this
    if isinstance(key, exp.Column) and not key.table:
        aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}  # fmt: skip
        key = aliases.get(key.name.lower(), key)
    elif isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(select.expressions):  # fmt: skip
        key = select.expressions[int(key.name) - 1].unalias()
    return _parse_centre(key, source)


def _row_limit(select: exp.Select) -> int:
    """How many rows a statement looks at, in their order."""
    parts = (select.args.get("limit"), select.args.get("offset"))
    found = [_literal_value(part.args.get("expression")) if part else 0.0 for part in parts]
    return int(sum(value or 0 for value in found)) if found[0] else 0


def _parse_centre(node: exp.Expr | None, source: _SourceTable) -> _Centre | None:
    if not isinstance(node, exp.Anonymous) or node.name.lower() != FUNCTION_NAME:
        return None
    one, two = node.expressions[:2], node.expressions[2:]
    if not all(map(source.has_number_column, one)):
        one, two = two, one
    lng, lat = map(_literal_value, two)
    if not all(map(source.has_number_column, one)) or lng is None or lat is None:
        return None
    return _Centre(one[0], one[1], lng, lat) if abs(lng) <= 180 and abs(lat) < 90 else None


def _literal_value(node: object) -> float | None:
    """A number that is written out."""
    if isinstance(node, exp.Neg):
        inner = _literal_value(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.name)
    return None


def _build_between(column: exp.Expr, center: float, half_width: float) -> exp.Expr:
    low, high = _build_number(center - half_width), _build_number(center + half_width)
    return exp.Between(this=column.copy(), low=low, high=high)


def _build_number(value: float) -> exp.Expr:
    found = exp.Literal.number(f"{abs(value):.12f}")
    return exp.Neg(this=found) if value < 0 else found
