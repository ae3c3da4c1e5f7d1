"""Ways without a model: from one place to another, how far it is, what lies between, a day's round."""

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

ONE_CIRCLE_METRES = 1_500  # metres between two places that one circle covers
MAX_CIRCLES = 3  # circles along a way
CIRCLE_RADIUS_METRES = (500, 2_000)  # metres around each, at least and at most
MAX_SIGHTS = 5  # sights of a day for which nobody has named any
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
    """The way from one place to another. With no means named it is walked if it is short; else both
    public transport and a car are asked for. Where no way is told, the straight line is.

    Raises:
        Trouble: an end is not known, or the map tells nothing at all.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    short = distance_metres(start.point, end.point) <= MAX_WALK_METRES
    wanted: tuple[RoutingMode, ...] = (mode,) if mode else ("walking",) if short else ("transit", "driving")  # fmt: skip
    told, troubles = await _fetch_routes(tools, start, end, wanted, language, emit)
    if not told:
        try:
            told = [await _measure_distance(tools, start, end, "straight", emit)]
        except ServiceError:
            raise troubles[0] from None
    failures = tuple(trouble.to_failure("search", "places") for trouble in troubles)
    return _build_result(start, end, told, failures)


async def find_distance(
    tools: MapTools,
    origin: Endpoint,
    destination: Endpoint,
    mode: RoutingMode | None,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """How far one place is from another: in a straight line, by car, and on foot if it is short.

    Raises:
        Trouble: an end is not known, or the map measures nothing.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    short = distance_metres(start.point, end.point) <= MAX_WALK_METRES or mode == "walking"
    told: list[ToolResult] = []
    troubles: list[ServiceError] = []
    for kind in ("straight", "driving", *(["walking"] if short else [])):
        try:
            told.append(await _measure_distance(tools, start, end, kind, emit))
        except ServiceError as trouble:
            troubles.append(_localise_error(trouble, kind, tools, language))
    if not told:
        raise troubles[0]
    failures = tuple({t.message: t.to_failure("search", "places") for t in troubles}.values())
    return _build_result(start, end, told, failures)


async def search_between(
    tools: MapTools,
    origin: Endpoint,
    destination: Endpoint,
    keywords: Sequence[str],
    mode: RoutingMode | None,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Places along the way from one place to another; around the middle if they are close.

    Raises:
        Trouble: an end is not known, or the map cannot be asked.
    """
    start, end = await _locate_endpoints(tools, origin, destination, language, emit)
    wanted, told = "|".join(keywords) or DEFAULT_KEYWORD, (*start.results, *end.results)
    apart = distance_metres(start.point, end.point)
    if apart <= ONE_CIRCLE_METRES:
        name = message("mark.list", language).join((start.name, end.name))
        radius = max(CIRCLE_RADIUS_METRES[0], round(apart / 2) + 200)
        return await search_around(tools, _midpoint(start.point, end.point), name, wanted, radius, emit, told)
    going: RoutingMode = mode or ("walking" if apart <= MAX_WALK_METRES else "driving")
    walked, troubles = await _fetch_routes(tools, start, end, (going,), language, emit)
    line = _route_line(walked[0]) if walked else (start.point, end.point)
    radius = max(CIRCLE_RADIUS_METRES[0], min(CIRCLE_RADIUS_METRES[1], round(apart / (2 * MAX_CIRCLES))))
    found: list[Place] = []
    circles: list[SearchArea] = []
    probes = [_point_along(line, (n + 0.5) / MAX_CIRCLES) for n in range(MAX_CIRCLES)][: max(1, tools.calls_left)]
    for probe in probes:
        near = await search_around(tools, probe, "", wanted, radius, emit, (), radius_factors=())
        found += near.places
        circles += [near.centre] if near.centre else []
        told = (*told, *near.results)
    places = [place.model_copy(update={"distance": None}) for place in deduplicate(found)]
    failures = tuple(trouble.to_failure("search", "places") for trouble in troubles)
    return PlaceSearchResult(rank_places(places), None, (*told, *walked), failures=failures, circles=tuple(circles))


async def plan_itinerary(
    tools: MapTools,
    place: str,
    stops: Sequence[str],
    mode: RoutingMode | None,
    keywords: Sequence[str],
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """A day's round through some places, or through the best ones of a place: from each to the nearest
    that is left, along the streets as far as the calls go.

    Raises:
        Trouble: a place is not known, or the map cannot be asked.
    """
    if len(stops) > 1:
        spots = [replace(await locate(tools, _with_town(place, stop), language, emit), name=stop) for stop in stops]
        places, told = [spot.to_place() for spot in spots], [t for spot in spots for t in spot.results]
    else:
        found = await search_places(tools, place, keywords or (DEFAULT_KEYWORD,), 5_000, language, emit)
        places, told = list(found.places[:MAX_SIGHTS]), list(found.results)
    order = order_by_nearest(places)
    going = mode or choose_mode(order)
    failures: list[Failure] = []
    for a, b in pairwise(order):
        if failures:
            break
        start, end = (NamedPoint(p.name, Point(p.lng, p.lat), place=p) for p in (a, b))
        ways, troubles = await _fetch_routes(tools, start, end, (going,), language, emit)
        told += ways
        failures += [trouble.to_failure("search", "places") for trouble in troubles]
    table = None
    if len(order) > 2 and tools.calls_left >= len(order) and not failures:
        with suppress(ServiceError):  # the ways are there without it
            table = await measure_distance_matrix(tools, order)
    return PlaceSearchResult(tuple(order), None, tuple(told), table, tuple(failures), facts_first=True)


async def find_distance_matrix(
    tools: MapTools, ends: Sequence[Endpoint], language: Language, emit: EventEmitter
) -> PlaceSearchResult:
    """How far each of some places is from each other.

    Raises:
        Trouble: one is not known, or the map does not measure.
    """
    spots = [await locate(tools, end, language, emit) for end in ends]
    places, told = [spot.to_place() for spot in spots], [t for spot in spots for t in spot.results]
    return PlaceSearchResult(
        tuple(places), None, tuple(told), await measure_distance_matrix(tools, places), facts_first=True
    )


def _with_town(place: str, stop: str) -> str:
    """A stop with the place that the round is in, which tells it from others of its name."""
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
    """The ways by the means that are wanted, and why there is none by others."""
    told: list[ToolResult] = []
    troubles: list[ServiceError] = []
    for means in modes:
        try:
            cities = (start.city, end.city)
            if means == "transit" and not all(cities):
                cities = (await _find_city(tools, start, emit), await _find_city(tools, end, emit))
            told.append(await fetch_directions(tools, start.point, end.point, means, cities, emit))
        except ServiceError as trouble:
            troubles.append(_localise_error(trouble, means, tools, language))
    return told, troubles


async def _find_city(tools: MapTools, spot: NamedPoint, emit: EventEmitter) -> str:
    """The city that a spot is in."""
    if spot.city:
        return spot.city
    told = await tools.call_tool("maps_regeocode", {"location": format_point(spot.point)}, emit)
    return str(told.body.get("city") or told.body.get("province") or "")


def _localise_error(error: ServiceError, mode: str, tools: MapTools, language: Language) -> ServiceError:
    """The same trouble, in the question's language where it is one of ways."""
    if tools.is_offline and error.reason == "no key":
        return ServiceError("no key", message("look.no ways", language), hint="key")
    if error.reason == "empty":
        words = message("look.no way", language, means=message(f"fact.{mode}", language))
        return ServiceError("empty", words)
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
    found = parse_route(result.body)
    return found.line if found and found.line else endpoints(result)


def _midpoint(a: Point, b: Point) -> Point:
    return Point((a.lng + b.lng) / 2, (a.lat + b.lat) / 2)


def _point_along(line: Sequence[Point], share: float) -> Point:
    """The point of a line where a share of its length lies behind."""
    left = share * sum(distance_metres(a, b) for a, b in pairwise(line))
    for a, b in pairwise(line):
        far = distance_metres(a, b)
        if far and left <= far:
            part = left / far
            return Point(a.lng + part * (b.lng - a.lng), a.lat + part * (b.lat - a.lat))
        left -= far
    return line[-1]
