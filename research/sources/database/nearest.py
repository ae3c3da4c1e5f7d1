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

from research.sources.database.distance import EARTH_KM, NAME, distance_km
from research.sources.database.guard import SQLiteText

HALVES = (0.02, 0.1, 0.5, 2.5, 10.0)  # degrees: half the width of the boxes that are tried
MARGIN = 1e-6  # of a distance, and in kilometres: more than rounding can take
Ask = Callable[[str], Sequence[Sequence[object]]]  # a statement's rows
Types = Mapping[str, Mapping[str, str]]  # by table and column, in lower case


def narrowed(text: str, types: Types, ask: Ask) -> str:
    """A statement of SQLite with the boxes that follow from it; the same text if none does.

    `text` has passed the guard. `ask` runs statements over the same rows.
    """
    if NAME not in text.lower():
        return text
    tree = sqlglot.parse_one(text, read="sqlite")
    changed = False
    for select in list(tree.find_all(exp.Select)):
        source = _source(select, types)
        if source is None:
            continue
        circles = list(_within(select, source))
        if select is tree and not circles:
            circles = _circle(select, source, ask)
        for circle in circles:
            changed |= circle.close(select)
    return _written(tree) if changed else text


def _written(tree: exp.Expr) -> str:
    return SQLiteText(dialect="sqlite", comments=False).generate(tree)


@dataclass(frozen=True, slots=True)
class _Source:
    """The only table of a SELECT, and its columns of numbers."""

    table: exp.Table
    numbers: frozenset[str]

    def has(self, node: exp.Expr) -> bool:
        return (
            isinstance(node, exp.Column)
            and node.name.lower() in self.numbers
            and node.table.lower() in ("", self.table.alias_or_name.lower())
        )


@dataclass(frozen=True, slots=True)
class _Centre:
    """Columns of a longitude and a latitude, and the point that they are compared with, in degrees."""

    east: exp.Expr
    north: exp.Expr
    lng: float
    lat: float


@dataclass(frozen=True, slots=True)
class _Circle:
    """Everything within some kilometres of a point."""

    centre: _Centre
    km: float

    def close(self, select: exp.Select) -> bool:
        """Gives a SELECT the box around the circle; False if it would be no help."""
        box = self._box()
        if box is None:
            return False
        own = select.args.get("where")
        both = exp.and_(box, own.this) if own else box  # the box first: it is the cheaper
        select.set("where", exp.Where(this=both))
        return True

    def _box(self) -> exp.Expr | None:
        """Also with longitudes that go around once more, which some count from 0 to 360."""
        angle = (self.km * (1 + MARGIN) + MARGIN) / EARTH_KM
        centre, high = self.centre, degrees(angle)
        low_lat, high_lat = centre.lat - high, centre.lat + high
        if angle >= pi / 4 or low_lat <= -90 or high_lat >= 90:
            return None  # a pole is in it, or a good part of the Earth
        wide = degrees(asin(min(1.0, sin(angle) / cos(radians(centre.lat))))) * (1 + MARGIN)
        if centre.lng - wide <= -180 or centre.lng + wide >= 180:
            return None
        around = exp.or_(
            _between(centre.east, centre.lng, wide),
            exp.GT(this=centre.east.copy(), expression=_number(180)),
            exp.LT(this=centre.east.copy(), expression=_number(-180)),
        )
        return exp.and_(_between(centre.north, centre.lat, high), exp.paren(around))


def _source(select: exp.Select, types: Types) -> _Source | None:
    found = select.args.get("from_") or select.args.get("from")
    table = found.this if found else None
    if not isinstance(table, exp.Table) or select.args.get("joins") or table.args.get("joins"):
        return None
    ctes = {cte.alias.lower() for cte in select.root().find_all(exp.CTE)}
    columns = types.get(table.name.lower())
    if columns is None or table.name.lower() in ctes:
        return None
    # Numbers stay numbers in columns of these types, and texts that look like some become them.
    words = ("REAL", "FLOA", "DOUB", "INT", "NUMERIC", "DECIMAL")
    numbers = (name for name, kind in columns.items() if kind.upper().startswith(words))
    return _Source(table, frozenset(numbers))


def _within(select: exp.Select, source: _Source) -> Iterator[_Circle]:
    """The circles that the conditions of a SELECT draw: `distance_km(…) < 50`, with AND."""
    where = select.args.get("where")
    if where is None:
        return
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        if isinstance(condition, (exp.LT, exp.LTE)):
            centre, most = _centre(condition.this, source), _value(condition.expression)
            if centre and most is not None and most >= 0:
                yield _Circle(centre, most)


def _circle(select: exp.Select, source: _Source, ask: Ask) -> list[_Circle]:
    """The circle in which the nearest are, if they are what a statement asks for."""
    centre, most = _ordered(select, source), _most(select)
    if centre is None or most == 0 or not _plain(select):
        return []
    own = select.args.get("where")
    for half in HALVES:
        box = exp.and_(
            _between(centre.east, centre.lng, half), _between(centre.north, centre.lat, half)
        )
        near = (
            exp.select(centre.east.copy(), centre.north.copy())
            .from_(source.table.copy())
            .where(box, *([own.this.copy()] if own else []))
            .limit(most)
        )
        rows = ask(_written(near))
        if len(rows) == most:
            far = [distance_km(lng, lat, centre.lng, centre.lat) for lng, lat in rows]
            known = [km for km in far if km is not None]
            return [_Circle(centre, max(known))] if len(known) == most else []
    return []


def _plain(select: exp.Select) -> bool:
    """Whether leaving out rows that are too far away changes nothing else in a statement."""
    counts = (exp.AggFunc, exp.Window, exp.Distinct, exp.Group, exp.Having)
    return not select.find(*counts) and len(list(select.find_all(exp.Select))) == 1


def _ordered(select: exp.Select, source: _Source) -> _Centre | None:
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
    return _centre(key, source)


def _most(select: exp.Select) -> int:
    """How many rows a statement looks at, in their order."""
    parts = (select.args.get("limit"), select.args.get("offset"))
    found = [_value(part.args.get("expression")) if part else 0.0 for part in parts]
    return int(sum(value or 0 for value in found)) if found[0] else 0


def _centre(node: exp.Expr | None, source: _Source) -> _Centre | None:
    if not isinstance(node, exp.Anonymous) or node.name.lower() != NAME:
        return None
    one, two = node.expressions[:2], node.expressions[2:]
    if not all(map(source.has, one)):
        one, two = two, one
    lng, lat = map(_value, two)
    if not all(map(source.has, one)) or lng is None or lat is None:
        return None
    return _Centre(one[0], one[1], lng, lat) if abs(lng) <= 180 and abs(lat) < 90 else None


def _value(node: object) -> float | None:
    """A number that is written out."""
    if isinstance(node, exp.Neg):
        inner = _value(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.name)
    return None


def _between(column: exp.Expr, middle: float, half: float) -> exp.Expr:
    low, high = _number(middle - half), _number(middle + half)
    return exp.Between(this=column.copy(), low=low, high=high)


def _number(value: float) -> exp.Expr:
    found = exp.Literal.number(f"{abs(value):.12f}")
    return exp.Neg(this=found) if value < 0 else found
