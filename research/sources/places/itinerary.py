"""The order of a day: from each place to the nearest that is left, as the map measures it; and how far
some places are from one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.records import DistanceMatrix, Itinerary, Place, Route, ignore_event
from research.sources.places.directions import fetch_directions, format_point, parse_route
from research.sources.places.service import MapTools
from research.sources.places.tool_responses import parse_distances

MAX_WALK_METRES = 3_000  # metres in a straight line up to which a day is walked
_DISTANCE_TYPES = {"driving": "1", "walking": "3"}
MeasuredMode = Literal["walking", "driving"]
DistanceFunction = Callable[[int, int], float]


async def build_itinerary(tools: MapTools, places: Sequence[Place]) -> Itinerary:
    """The places, the first one first, each followed by the nearest of the rest, and the ways between.

    Where the map cannot measure them they are straight lines, and the route says why.
    """
    if len(places) < 2:
        return Itinerary(places=tuple(places))
    means, trouble = choose_mode(places), None
    try:
        table = await measure_distance_matrix(tools, places)
    except ServiceError as error:
        order, trouble = order_by_nearest(places), error
    else:
        order = [places[n] for n in _nearest_order(len(places), lambda a, b: _or_infinity(table.metres[a][b]))]
    legs = []
    for a, b in pairwise(order):
        if trouble and trouble.reason != "empty":  # the rest would fail as well
            legs.append(_straight_leg(a, b))
            continue
        try:
            legs.append(await _build_leg(tools, a, b, means))
        except ServiceError as error:
            trouble = trouble or error
            legs.append(_straight_leg(a, b))
    failure = trouble.to_failure("search", "places") if trouble else None
    return Itinerary(places=tuple(order), legs=tuple(legs), failure=failure)


async def measure_distance_matrix(tools: MapTools, places: Sequence[Place]) -> DistanceMatrix:
    """How far each of some places is from each other: on foot where all are close together, else by
    car, of which the way there is seldom as long as the way back. A call for each place.

    Raises:
        Trouble: the map does not measure them all.
    """
    means = choose_mode(places)
    columns: list[list[tuple[int | None, int | None]]] = []
    for n, end in enumerate(places):
        arguments = {
            "origins": "|".join(_format_place(place) for place in places if place is not end),
            "destination": _format_place(end),
            "type": _DISTANCE_TYPES[means],
        }
        found = parse_distances((await tools.call_tool("maps_distance", arguments)).body)
        if len(found) != len(places) - 1:
            raise ServiceError("empty", "Amap: not every way could be measured")
        times = [(far, time or None) for far, time in found]  # Amap says 0 where it does not know
        columns.append([*times[:n], (None, None), *times[n:]])
    rows = list(zip(*columns, strict=True))
    return DistanceMatrix(
        names=tuple(place.name for place in places),
        means=means,
        metres=tuple(tuple(far for far, _ in row) for row in rows),
        seconds=tuple(tuple(time for _, time in row) for row in rows),
    )


def choose_mode(places: Sequence[Place]) -> MeasuredMode:
    """How one goes between places: on foot if all of them are close together."""
    widest = max((_straight_distance(a, b) for a in places for b in places), default=0)
    return "walking" if widest <= MAX_WALK_METRES else "driving"


def order_by_nearest(places: Sequence[Place]) -> list[Place]:
    """The places in the order of a day, by straight lines."""
    order = _nearest_order(len(places), lambda a, b: _straight_distance(places[a], places[b]))
    return [places[n] for n in order]


def _nearest_order(count: int, distance: DistanceFunction) -> list[int]:
    order, rest = [0][:count], list(range(1, count))
    while rest:
        order.append(min(rest, key=lambda n: distance(order[-1], n)))
        rest.remove(order[-1])
    return order


def _or_infinity(distance: int | None) -> float:
    return float("inf") if distance is None else distance


async def _build_leg(tools: MapTools, start: Place, end: Place, mode: MeasuredMode) -> Route:
    told = await fetch_directions(tools, _place_point(start), _place_point(end), mode, ("", ""), ignore_event)
    if (found := parse_route(told.body)) is None:
        raise ServiceError("empty", "Amap: no way between two of the places")
    return Route(
        origin=start.name,
        destination=end.name,
        means=mode,
        metres=found.metres,
        seconds=found.seconds,
        line=found.line or (_place_point(start), _place_point(end)),
        direct=not found.line,
        steps=tuple(stretch.text for stretch in found.steps if stretch.text),
    )


def _straight_leg(start: Place, end: Place) -> Route:
    return Route(
        origin=start.name,
        destination=end.name,
        means="straight",
        metres=round(_straight_distance(start, end)),
        line=(_place_point(start), _place_point(end)),
        direct=True,
    )


def _straight_distance(a: Place, b: Place) -> float:
    return distance_metres(_place_point(a), _place_point(b))


def _place_point(place: Place) -> Point:
    return Point(place.lng, place.lat)


def _format_place(place: Place) -> str:
    return format_point(_place_point(place))
