"""Visiting order of places, each followed by the nearest remaining one, and distance matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from research.core.coordinates import distance_metres
from research.core.errors import ServiceError
from research.core.records import DistanceMatrix, Itinerary, Place, Route
from research.sources.places.directions import fetch_directions, measure_distances, parse_route
from research.sources.places.service import MapTools
from research.sources.places.tool_responses import parse_distances, place_point

MAX_WALK_METRES = 3_000  # in a straight line
MeasuredMode = Literal["walking", "driving"]


async def build_itinerary(tools: MapTools, places: Sequence[Place]) -> Itinerary:
    """Return places in visiting order, starting with the first, and the routes between them.

    Each place is followed by the nearest of the rest. Routes that the map does not return are
    straight lines, and `failure` gives the first reason.
    """
    if len(places) < 2:
        return Itinerary(places=tuple(places))
    mode, first_error, metres = choose_mode(places), None, None
    try:
        metres = (await measure_distance_matrix(tools, places)).metres
    except ServiceError as error:
        first_error = error
    order = order_by_nearest(places, metres)
    legs = []
    for start, end in pairwise(order):
        leg = _straight_leg(start, end)
        if first_error is None or first_error.reason == "empty":  # after any other error the rest would fail as well
            try:
                leg = await _fetch_leg(tools, start, end, mode)
            except ServiceError as error:
                first_error = first_error or error
        legs.append(leg)
    failure = first_error.to_failure("search", "places") if first_error else None
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
        origins = [place_point(place) for place in places if place is not end]
        result = await measure_distances(tools, origins, place_point(end), mode)
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


def order_by_nearest(places: Sequence[Place], metres: Sequence[Sequence[int | None]] | None = None) -> list[Place]:
    """Return places in visiting order: the first, then always the nearest of the rest.

    `metres` has the distances by the indexes of start and end, None if unknown; the default are
    straight lines.
    """

    def distance(start: int, end: int) -> float:
        if metres is None:
            return _straight_distance(places[start], places[end])
        measured = metres[start][end]
        return float("inf") if measured is None else measured

    order, rest = [*range(len(places))][:1], list(range(1, len(places)))
    while rest:
        order.append(min(rest, key=lambda n: distance(order[-1], n)))
        rest.remove(order[-1])
    return [places[n] for n in order]


async def _fetch_leg(tools: MapTools, start: Place, end: Place, mode: MeasuredMode) -> Route:
    result = await fetch_directions(tools, place_point(start), place_point(end), mode)
    if (parsed := parse_route(result.body)) is None:
        raise ServiceError("empty", "Amap: no way between two of the places")
    return Route(
        origin=start.name,
        destination=end.name,
        travel_mode=mode,
        metres=parsed.metres,
        seconds=parsed.seconds,
        line=parsed.line or (place_point(start), place_point(end)),
        straight_line=not parsed.line,
        steps=tuple(step.text for step in parsed.steps if step.text),
    )


def _straight_leg(start: Place, end: Place) -> Route:
    return Route(
        origin=start.name,
        destination=end.name,
        travel_mode="straight",
        metres=round(_straight_distance(start, end)),
        line=(place_point(start), place_point(end)),
        straight_line=True,
    )


def _straight_distance(start: Place, end: Place) -> float:
    return distance_metres(place_point(start), place_point(end))
