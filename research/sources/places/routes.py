"""Routes without a model: directions, distances, places along a route, and itineraries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import EventEmitter, Failure, Language, Place, SearchArea
from research.sources.places.directions import RoutingMode, endpoints, fetch_directions, format_point, parse_route
from research.sources.places.itinerary import MAX_WALK_METRES, choose_mode, measure_distance_matrix, order_by_nearest
from research.sources.places.place_search import (
    DEFAULT_KEYWORD,
    NamedPoint,
    PlaceSearchResult,
    deduplicate,
    locate,
    rank_places,
    search_around,
    search_places,
)
from research.sources.places.service import MapTools, ToolResult

ONE_CIRCLE_METRES = 1_500  # up to this distance one circle covers both places
MAX_CIRCLES = 3  # searched along a route
CIRCLE_RADIUS_METRES = (500, 2_000)  # minimum and maximum
MAX_SIGHTS = 5  # of an itinerary without stops
DISTANCE_TYPES = {"straight": "0", "driving": "1", "walking": "3"}  # types of maps_distance
Endpoint = str | Point


async def find_route(
    tools: MapTools,
    origin: Endpoint,
    destination: Endpoint,
    mode: RoutingMode | None,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Find the route between two places.

    Without a mode a short route is walked; otherwise public transport and driving are both
    requested. If no route is found, the straight-line distance is returned.

    Raises:
        ServiceError: an end is unknown, or the service returns nothing.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    is_short = distance_metres(start.point, end.point) <= MAX_WALK_METRES
    modes: tuple[RoutingMode, ...] = (mode,) if mode else ("walking",) if is_short else ("transit", "driving")
    results, errors = await _fetch_routes(tools, start, end, modes, language, emit)
    if not results:
        try:
            results = [await _measure_distance(tools, start, end, "straight", emit)]
        except ServiceError:
            raise errors[0] from None
    failures = tuple(error.to_failure("search", "places") for error in errors)
    return _build_result(start, end, results, failures)


async def find_distance(
    tools: MapTools,
    origin: Endpoint,
    destination: Endpoint,
    mode: RoutingMode | None,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Measure the distance between two places: straight line, driving, and walking if it is short.

    Raises:
        ServiceError: an end is unknown, or nothing can be measured.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    is_short = distance_metres(start.point, end.point) <= MAX_WALK_METRES or mode == "walking"
    results: list[ToolResult] = []
    errors: list[ServiceError] = []
    for measured_mode in ("straight", "driving", *(["walking"] if is_short else [])):
        try:
            results.append(await _measure_distance(tools, start, end, measured_mode, emit))
        except ServiceError as error:
            errors.append(_localise_error(error, measured_mode, tools, language))
    if not results:
        raise errors[0]
    failures = tuple({failed.message: failed.to_failure("search", "places") for failed in errors}.values())
    return _build_result(start, end, results, failures)


async def search_between(
    tools: MapTools,
    origin: Endpoint,
    destination: Endpoint,
    keywords: Sequence[str],
    mode: RoutingMode | None,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Search for places along a route; around the midpoint if the two ends are close.

    Raises:
        ServiceError: an end is unknown, or the service does not respond.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    keyword_text, results = "|".join(keywords) or DEFAULT_KEYWORD, (*start.results, *end.results)
    distance = distance_metres(start.point, end.point)
    if distance <= ONE_CIRCLE_METRES:
        name = message("mark.list", language).join((start.name, end.name))
        radius = max(CIRCLE_RADIUS_METRES[0], round(distance / 2) + 200)
        return await search_around(tools, _midpoint(start.point, end.point), name, keyword_text, radius, emit, results)
    travel_mode: RoutingMode = mode or ("walking" if distance <= MAX_WALK_METRES else "driving")
    route_results, errors = await _fetch_routes(tools, start, end, (travel_mode,), language, emit)
    line = _route_line(route_results[0]) if route_results else (start.point, end.point)
    radius = max(CIRCLE_RADIUS_METRES[0], min(CIRCLE_RADIUS_METRES[1], round(distance / (2 * MAX_CIRCLES))))
    places_found: list[Place] = []
    circles: list[SearchArea] = []
    probes = [_point_along(line, (n + 0.5) / MAX_CIRCLES) for n in range(MAX_CIRCLES)][: max(1, tools.calls_left)]
    for probe in probes:
        circle_result = await search_around(tools, probe, "", keyword_text, radius, emit, (), radius_factors=())
        places_found += circle_result.places
        circles += [circle_result.centre] if circle_result.centre else []
        results = (*results, *circle_result.results)
    places = [place.model_copy(update={"distance": None}) for place in deduplicate(places_found)]
    failures = tuple(error.to_failure("search", "places") for error in errors)
    return PlaceSearchResult(
        rank_places(places), None, (*results, *route_results), failures=failures, circles=tuple(circles)
    )


async def plan_itinerary(
    tools: MapTools,
    place: str,
    stops: Sequence[str],
    mode: RoutingMode | None,
    keywords: Sequence[str],
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Plan a day's itinerary through stops or, without stops, through the best places of an area.

    Each stop is followed by the nearest remaining one. Routes follow streets as far as the calls
    suffice.

    Raises:
        ServiceError: a place is unknown, or the service does not respond.
    """
    if len(stops) > 1:
        points = [replace(await locate(tools, _with_town(place, stop), language, emit), name=stop) for stop in stops]
        places, results = [point.to_place() for point in points], [item for point in points for item in point.results]
    else:
        result = await search_places(tools, place, keywords or (DEFAULT_KEYWORD,), 5_000, language, emit)
        places, results = list(result.places[:MAX_SIGHTS]), list(result.results)
    order = order_by_nearest(places)
    travel_mode = mode or choose_mode(order)
    failures: list[Failure] = []
    for a, b in pairwise(order):
        if failures:
            break
        start, end = (NamedPoint(p.name, Point(p.lng, p.lat), place=p) for p in (a, b))
        route_results, errors = await _fetch_routes(tools, start, end, (travel_mode,), language, emit)
        results += route_results
        failures += [error.to_failure("search", "places") for error in errors]
    matrix = None
    if len(order) > 2 and tools.calls_left >= len(order) and not failures:
        with suppress(ServiceError):  # the routes are a result without it
            matrix = await measure_distance_matrix(tools, order)
    return PlaceSearchResult(tuple(order), None, tuple(results), matrix, tuple(failures), facts_first=True)


async def find_distance_matrix(
    tools: MapTools, ends: Sequence[Endpoint], language: Language, emit: EventEmitter
) -> PlaceSearchResult:
    """Measure the distances between all of several places.

    Raises:
        ServiceError: a place is unknown, or the distances cannot be measured.
    """
    points = [await locate(tools, end, language, emit) for end in ends]
    places, results = [point.to_place() for point in points], [item for point in points for item in point.results]
    return PlaceSearchResult(
        tuple(places), None, tuple(results), await measure_distance_matrix(tools, places), facts_first=True
    )


def _with_town(place: str, stop: str) -> str:
    """Prefix a stop with the area of the itinerary, to distinguish it from others of its name."""
    return f"{place}{stop}" if place and place not in stop else stop


async def _locate_endpoints(
    tools: MapTools, origin: Endpoint, destination: Endpoint, language: Language, emit: EventEmitter
) -> tuple[NamedPoint, NamedPoint]:
    return (
        await locate(tools, origin, language, emit),
        await locate(tools, destination, language, emit),
    )


async def _fetch_routes(
    tools: MapTools,
    start: NamedPoint,
    end: NamedPoint,
    modes: Sequence[RoutingMode],
    language: Language,
    emit: EventEmitter,
) -> tuple[list[ToolResult], list[ServiceError]]:
    """Request the routes by several modes. Return the results and the errors."""
    results: list[ToolResult] = []
    errors: list[ServiceError] = []
    for mode in modes:
        try:
            cities = (start.city, end.city)
            if mode == "transit" and not all(cities):
                cities = (await _find_city(tools, start, emit), await _find_city(tools, end, emit))
            results.append(await fetch_directions(tools, start.point, end.point, mode, cities, emit))
        except ServiceError as error:
            errors.append(_localise_error(error, mode, tools, language))
    return results, errors


async def _find_city(tools: MapTools, spot: NamedPoint, emit: EventEmitter) -> str:
    """Return the city of a point, by reverse geocoding if it is unknown."""
    if spot.city:
        return spot.city
    result = await tools.call_tool("maps_regeocode", {"location": format_point(spot.point)}, emit)
    return str(result.body.get("city") or result.body.get("province") or "")


def _localise_error(error: ServiceError, mode: str, tools: MapTools, language: Language) -> ServiceError:
    """Return an error about routes with a message in the user's language; others unchanged."""
    if tools.is_offline and error.reason == "no key":
        return ServiceError("no key", message("look.no ways", language), hint="key")
    if error.reason == "empty":
        text = message("look.no way", language, means=message(f"fact.{mode}", language))
        return ServiceError("empty", text)
    return error


async def _measure_distance(
    tools: MapTools, start: NamedPoint, end: NamedPoint, mode: str, emit: EventEmitter
) -> ToolResult:
    arguments = {
        "origins": format_point(start.point),
        "destination": format_point(end.point),
        "type": DISTANCE_TYPES[mode],
    }
    return await tools.call_tool("maps_distance", arguments, emit)


def _build_result(
    start: NamedPoint, end: NamedPoint, results: Sequence[ToolResult], failures: tuple[Failure, ...]
) -> PlaceSearchResult:
    places = (start.to_place(), end.to_place())
    return PlaceSearchResult(
        places, None, (*start.results, *end.results, *results), failures=failures, facts_first=True
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
