"""Visiting order of places, each followed by the nearest remaining one, and distance matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.records import DistanceMatrix, Itinerary, Place, Route
from research.sources.places.directions import fetch_directions, measure_distances, parse_route
from research.sources.places.service import MapTools
from research.sources.places.tool_responses import format_point, parse_distances

MAX_WALK_METRES = 3_000  # in a straight line
MeasuredMode = Literal["walking", "driving"]
DistanceFunction = Callable[[int, int], float]


async def build_itinerary(tools: MapTools, places: Sequence[Place]) -> Itinerary:
    """Return places in visiting order, starting with the first, and the routes between them.

    Each place is followed by the nearest of the rest. Where the map cannot measure, routes are
    straight lines and `failure` gives the reason.
    """
    if len(places) < 2:
        return Itinerary(places=tuple(places))
    mode, failed = choose_mode(places), None
    try:
        matrix = await measure_distance_matrix(tools, places)
    except ServiceError as error:
        order, failed = order_by_nearest(places), error
    else:
        order = [places[n] for n in _nearest_order(len(places), lambda a, b: _or_infinity(matrix.metres[a][b]))]
    legs = []
    for a, b in pairwise(order):
        if failed and failed.reason != "empty":  # the rest would fail as well
            legs.append(_straight_leg(a, b))
            continue
        try:
            legs.append(await _build_leg(tools, a, b, mode))
        except ServiceError as error:
            failed = failed or error
            legs.append(_straight_leg(a, b))
    failure = failed.to_failure("search", "places") if failed else None
    return Itinerary(places=tuple(order), legs=tuple(legs), failure=failure)


async def measure_distance_matrix(tools: MapTools, places: Sequence[Place]) -> DistanceMatrix:
    """Measure the distances between all places, with one call for each place.

    The mode is walking if all places are close together, else driving. Distances may differ by
    direction.

    Raises:
        ServiceError: the map does not measure all distances.
    """
    mode = choose_mode(places)
    columns: list[list[tuple[int | None, int | None]]] = []
    for n, end in enumerate(places):
        origins = "|".join(_format_place(place) for place in places if place is not end)
        result = await measure_distances(tools, origins, _format_place(end), mode)
        distances = parse_distances(result.body)
        if len(distances) != len(places) - 1:
            raise ServiceError("empty", "Amap: not every way could be measured")
        column = [(metres, seconds or None) for metres, seconds in distances]  # Amap returns 0 for an unknown duration
        columns.append([*column[:n], (None, None), *column[n:]])
    rows = list(zip(*columns, strict=True))
    return DistanceMatrix(
        names=tuple(place.name for place in places),
        travel_mode=mode,
        metres=tuple(tuple(metres for metres, _ in row) for row in rows),
        seconds=tuple(tuple(seconds for _, seconds in row) for row in rows),
    )


def choose_mode(places: Sequence[Place]) -> MeasuredMode:
    """Return walking if all places are close together, else driving."""
    widest = max((_straight_distance(a, b) for a in places for b in places), default=0)
    return "walking" if widest <= MAX_WALK_METRES else "driving"


def order_by_nearest(places: Sequence[Place]) -> list[Place]:
    """Return places in visiting order by straight-line distance."""
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
    result = await fetch_directions(tools, _place_point(start), _place_point(end), mode, ("", ""))
    if (parsed := parse_route(result.body)) is None:
        raise ServiceError("empty", "Amap: no way between two of the places")
    return Route(
        origin=start.name,
        destination=end.name,
        travel_mode=mode,
        metres=parsed.metres,
        seconds=parsed.seconds,
        line=parsed.line or (_place_point(start), _place_point(end)),
        straight_line=not parsed.line,
        steps=tuple(step.text for step in parsed.steps if step.text),
    )


def _straight_leg(start: Place, end: Place) -> Route:
    return Route(
        origin=start.name,
        destination=end.name,
        travel_mode="straight",
        metres=round(_straight_distance(start, end)),
        line=(_place_point(start), _place_point(end)),
        straight_line=True,
    )


def _straight_distance(a: Place, b: Place) -> float:
    return distance_metres(_place_point(a), _place_point(b))


def _place_point(place: Place) -> Point:
    return Point(place.lng, place.lat)


def _format_place(place: Place) -> str:
    return format_point(_place_point(place))
