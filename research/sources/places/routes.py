"""Routes without a model: directions, distances, places along a route, and itineraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import Failure, Place, SearchArea
from research.sources.places.directions import endpoints, fetch_directions, measure_distances, parse_route
from research.sources.places.itinerary import MAX_WALK_METRES, choose_mode, measure_distance_matrix, order_by_nearest
from research.sources.places.place_search import (
    DEFAULT_KEYWORD,
    NamedPoint,
    PlaceOrPoint,
    PlaceSearchResult,
    deduplicate,
    locate,
    rank_places,
    search_around,
    search_places,
)
from research.sources.places.service import MapTools, ToolResult
from research.sources.places.tool_responses import format_gcj02, place_point
from research.sources.places.tools import RoutingMode

ONE_CIRCLE_METRES = 1_500  # up to this distance one circle covers both places
MAX_CIRCLES = 3  # searched along a route
CIRCLE_RADIUS_METRES = (500, 2_000)  # minimum and maximum
MAX_SIGHTS = 5  # of an itinerary without stops


async def find_route(
    tools: MapTools, origin: PlaceOrPoint, destination: PlaceOrPoint, mode: RoutingMode | None
) -> PlaceSearchResult:
    """Find the route between two places.

    Without a mode a short route is walked; otherwise public transport and driving are both
    requested. If no route is found, the straight-line distance is returned.

    Raises:
        ServiceError: the start or the end is unknown, or the service returns nothing.
    """
    start, end = await locate(tools, origin), await locate(tools, destination)
    is_short = distance_metres(start.point, end.point) <= MAX_WALK_METRES
    modes: tuple[RoutingMode, ...] = (mode,) if mode else ("walking",) if is_short else ("transit", "driving")
    results, errors = await _fetch_routes(tools, start, end, modes)
    if not results:
        try:
            results = [await measure_distances(tools, [start.point], end.point, "straight")]
        except ServiceError:
            raise errors[0] from None
    return _build_result(start, end, results, errors)


async def find_distance(
    tools: MapTools, origin: PlaceOrPoint, destination: PlaceOrPoint, mode: RoutingMode | None
) -> PlaceSearchResult:
    """Measure the distance between two places: straight line, driving, and walking if it is short.

    Raises:
        ServiceError: the start or the end is unknown, or nothing can be measured.
    """
    start, end = await locate(tools, origin), await locate(tools, destination)
    is_short = distance_metres(start.point, end.point) <= MAX_WALK_METRES or mode == "walking"
    modes: tuple[Literal["straight", "driving", "walking"], ...] = ("straight", "driving", "walking")
    results: list[ToolResult] = []
    errors: dict[str, ServiceError] = {}  # by message
    for measured_mode in modes if is_short else modes[:2]:
        try:
            results.append(await measure_distances(tools, [start.point], end.point, measured_mode))
        except ServiceError as error:
            localised = _localise_error(error, measured_mode, tools)
            errors[localised.message] = localised
    if not results:
        raise next(iter(errors.values()))
    return _build_result(start, end, results, errors.values())


async def search_between(
    tools: MapTools, origin: PlaceOrPoint, destination: PlaceOrPoint, keywords: Sequence[str], mode: RoutingMode | None
) -> PlaceSearchResult:
    """Search for places along a route; around the midpoint if the two ends are close.

    Raises:
        ServiceError: the start or the end is unknown, or the service does not respond.
    """
    start, end = await locate(tools, origin), await locate(tools, destination)
    keyword_text, results = "|".join(keywords) or DEFAULT_KEYWORD, (*start.results, *end.results)
    distance = distance_metres(start.point, end.point)
    if distance <= ONE_CIRCLE_METRES:
        name = message("mark.list", tools.language).join((start.name, end.name))
        radius = max(CIRCLE_RADIUS_METRES[0], round(distance / 2) + 200)
        return await search_around(tools, _midpoint(start.point, end.point), name, keyword_text, radius, results)
    travel_mode: RoutingMode = mode or ("walking" if distance <= MAX_WALK_METRES else "driving")
    route_results, errors = await _fetch_routes(tools, start, end, (travel_mode,))
    line = _route_line(route_results[0]) if route_results else (start.point, end.point)
    radius = max(CIRCLE_RADIUS_METRES[0], min(CIRCLE_RADIUS_METRES[1], round(distance / (2 * MAX_CIRCLES))))
    places_found: list[Place] = []
    circles: list[SearchArea] = []
    probes = [_point_along(line, (n + 0.5) / MAX_CIRCLES) for n in range(MAX_CIRCLES)][: max(1, tools.calls_left)]
    for probe in probes:
        circle_result = await search_around(tools, probe, "", keyword_text, radius, radius_factors=())
        places_found += circle_result.places
        circles += [circle_result.centre] if circle_result.centre else []
        results = (*results, *circle_result.results)
    places = [place.model_copy(update={"distance": None}) for place in deduplicate(places_found)]
    return PlaceSearchResult(
        rank_places(places), None, (*results, *route_results), failures=_failures(errors), circles=tuple(circles)
    )


async def plan_itinerary(
    tools: MapTools, place: str, stops: Sequence[str], mode: RoutingMode | None, keywords: Sequence[str] = ()
) -> PlaceSearchResult:
    """Plan a day's itinerary through stops or, without stops, through the best places of an area.

    Each stop is followed by the nearest remaining one. Routes follow streets as far as the calls
    suffice.

    Raises:
        ServiceError: a place is unknown, or the service does not respond.
    """
    if len(stops) > 1:
        points = [replace(await locate(tools, _with_area(place, stop)), name=stop) for stop in stops]
        places, results = _places_and_results(points)
    else:
        result = await search_places(tools, place, keywords or (DEFAULT_KEYWORD,), 5_000)
        places, results = list(result.places[:MAX_SIGHTS]), list(result.results)
    order = order_by_nearest(places)
    travel_mode = mode or choose_mode(order)
    errors: list[ServiceError] = []
    for pair in pairwise(order):
        if errors:
            break
        start, end = (NamedPoint(p.name, place_point(p), place=p) for p in pair)
        route_results, errors = await _fetch_routes(tools, start, end, (travel_mode,))
        results += route_results
    matrix = None
    if len(order) > 2 and tools.calls_left >= len(order) and not errors:
        with suppress(ServiceError):  # the routes are a result without it
            matrix = await measure_distance_matrix(tools, order)
    return PlaceSearchResult(tuple(order), None, tuple(results), matrix, _failures(errors), facts_first=True)


async def find_distance_matrix(tools: MapTools, ends: Sequence[PlaceOrPoint]) -> PlaceSearchResult:
    """Measure the distances between all of several places.

    Raises:
        ServiceError: a place is unknown, or the distances cannot be measured.
    """
    points = [await locate(tools, end) for end in ends]
    places, results = _places_and_results(points)
    return PlaceSearchResult(
        tuple(places), None, tuple(results), await measure_distance_matrix(tools, places), facts_first=True
    )


def _places_and_results(points: Sequence[NamedPoint]) -> tuple[list[Place], list[ToolResult]]:
    return [point.to_place() for point in points], [result for point in points for result in point.results]


def _with_area(place: str, stop: str) -> str:
    """Prefix a stop with the area of the itinerary, to distinguish it from others of its name."""
    return f"{place}{stop}" if place and place not in stop else stop


async def _fetch_routes(
    tools: MapTools, start: NamedPoint, end: NamedPoint, modes: Sequence[RoutingMode]
) -> tuple[list[ToolResult], list[ServiceError]]:
    """Request the routes by several modes. Return the results and the errors."""
    results: list[ToolResult] = []
    errors: list[ServiceError] = []
    for mode in modes:
        try:
            cities = (start.city, end.city)
            if mode == "transit" and not all(cities):
                cities = (await _find_city(tools, start), await _find_city(tools, end))
            results.append(await fetch_directions(tools, start.point, end.point, mode, cities))
        except ServiceError as error:
            errors.append(_localise_error(error, mode, tools))
    return results, errors


async def _find_city(tools: MapTools, place: NamedPoint) -> str:
    """Return the city of a point, by reverse geocoding if it is unknown."""
    if place.city:
        return place.city
    result = await tools.call("maps_regeocode", location=format_gcj02(place.point))
    return str(result.body.get("city") or result.body.get("province") or "")


def _localise_error(error: ServiceError, mode: RoutingMode | Literal["straight"], tools: MapTools) -> ServiceError:
    """Return an error about routes with a message in the user's language; others unchanged."""
    if tools.is_offline and error.reason == "no key":
        return ServiceError("no key", message("look.no ways", tools.language), hint="key")
    if error.reason == "empty":
        text = message("look.no way", tools.language, means=message(f"fact.{mode}", tools.language))
        return ServiceError("empty", text)
    return error


def _failures(errors: Iterable[ServiceError]) -> tuple[Failure, ...]:
    return tuple(error.to_failure("search", "places") for error in errors)


def _build_result(
    start: NamedPoint, end: NamedPoint, results: Sequence[ToolResult], errors: Iterable[ServiceError]
) -> PlaceSearchResult:
    places = (start.to_place(), end.to_place())
    return PlaceSearchResult(
        places, None, (*start.results, *end.results, *results), failures=_failures(errors), facts_first=True
    )


# Points along a line


def _route_line(result: ToolResult) -> tuple[Point, ...]:
    parsed = parse_route(result.body)
    return parsed.line if parsed and parsed.line else endpoints(result)


def _midpoint(a: Point, b: Point) -> Point:
    return Point((a.lng + b.lng) / 2, (a.lat + b.lat) / 2)


def _point_along(line: Sequence[Point], share: float) -> Point:
    """Return the point at a fraction `share` (0 to 1) of a line's length."""
    remaining = share * sum(distance_metres(a, b) for a, b in pairwise(line))
    for a, b in pairwise(line):
        length = distance_metres(a, b)
        if length and remaining <= length:
            fraction = remaining / length
            return Point(a.lng + fraction * (b.lng - a.lng), a.lat + fraction * (b.lat - a.lat))
        remaining -= length
    return line[-1]
