"""The order of a day: from each place to the nearest that is left, as the map measures it; and how far
some places are from one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from research.core.coordinates import Point, metres
from research.core.errors import Trouble
from research.core.records import Distances, Place, Route, Way, silent
from research.sources.places.directions import directions, path, sent
from research.sources.places.service import Tools
from research.sources.places.shapes import ways

STROLL = 3_000  # metres in a straight line up to which a day is walked
_TYPES = {"driving": "1", "walking": "3"}
Measured = Literal["walking", "driving"]
Far = Callable[[int, int], float]


async def day(tools: Tools, places: Sequence[Place]) -> Route:
    """The places, the first one first, each followed by the nearest of the rest, and the ways between.

    Where the map cannot measure them they are straight lines, and the route says why.
    """
    if len(places) < 2:
        return Route(places=tuple(places))
    means, trouble = measured(places), None
    try:
        table = await distances(tools, places)
    except Trouble as error:
        order, trouble = nearest_first(places), error
    else:
        order = [places[n] for n in _order(len(places), lambda a, b: _known(table.metres[a][b]))]
    legs = []
    for a, b in pairwise(order):
        if trouble and trouble.reason != "empty":  # the rest would fail as well
            legs.append(_direct(a, b))
            continue
        try:
            legs.append(await _leg(tools, a, b, means))
        except Trouble as error:
            trouble = trouble or error
            legs.append(_direct(a, b))
    failure = trouble.failure("search", "places") if trouble else None
    return Route(places=tuple(order), legs=tuple(legs), failure=failure)


async def distances(tools: Tools, places: Sequence[Place]) -> Distances:
    """How far each of some places is from each other: on foot where all are close together, else by
    car, of which the way there is seldom as long as the way back. A call for each place.

    Raises:
        Trouble: the map does not measure them all.
    """
    means = measured(places)
    columns: list[list[tuple[int | None, int | None]]] = []
    for n, end in enumerate(places):
        arguments = {
            "origins": "|".join(_sent(place) for place in places if place is not end),
            "destination": _sent(end),
            "type": _TYPES[means],
        }
        found = ways((await tools.use("maps_distance", arguments)).body)
        if len(found) != len(places) - 1:
            raise Trouble("empty", "Amap: not every way could be measured")
        times = [(far, time or None) for far, time in found]  # Amap says 0 where it does not know
        columns.append([*times[:n], (None, None), *times[n:]])
    rows = list(zip(*columns, strict=True))
    return Distances(
        names=tuple(place.name for place in places),
        means=means,
        metres=tuple(tuple(far for far, _ in row) for row in rows),
        seconds=tuple(tuple(time for _, time in row) for row in rows),
    )


def measured(places: Sequence[Place]) -> Measured:
    """How one goes between places: on foot if all of them are close together."""
    widest = max((_straight(a, b) for a in places for b in places), default=0)
    return "walking" if widest <= STROLL else "driving"


def nearest_first(places: Sequence[Place]) -> list[Place]:
    """The places in the order of a day, by straight lines."""
    order = _order(len(places), lambda a, b: _straight(places[a], places[b]))
    return [places[n] for n in order]


def _order(count: int, far: Far) -> list[int]:
    order, rest = [0][:count], list(range(1, count))
    while rest:
        order.append(min(rest, key=lambda n: far(order[-1], n)))
        rest.remove(order[-1])
    return order


def _known(far: int | None) -> float:
    return float("inf") if far is None else far


async def _leg(tools: Tools, start: Place, end: Place, means: Measured) -> Way:
    told = await directions(tools, _point(start), _point(end), means, ("", ""), silent)
    if (found := path(told.body)) is None:
        raise Trouble("empty", "Amap: no way between two of the places")
    return Way(
        origin=start.name,
        destination=end.name,
        means=means,
        metres=found.metres,
        seconds=found.seconds,
        line=found.line or (_point(start), _point(end)),
        direct=not found.line,
        steps=tuple(stretch.text for stretch in found.stretches if stretch.text),
    )


def _direct(start: Place, end: Place) -> Way:
    return Way(
        origin=start.name,
        destination=end.name,
        means="straight",
        metres=round(_straight(start, end)),
        line=(_point(start), _point(end)),
        direct=True,
    )


def _straight(a: Place, b: Place) -> float:
    return metres(_point(a), _point(b))


def _point(place: Place) -> Point:
    return Point(place.lng, place.lat)


def _sent(place: Place) -> str:
    return sent(_point(place))
