"""Requests for directions, and parsing of routes from the different forms of results.

Amap's own npm server omits the line. For public transport each step names the line; for other modes
each step has an instruction. Lines are converted to WGS-84 here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Any, Literal

from research.core.coordinates import CoordinateSystem, Point, to_wgs84
from research.core.json_values import keep_objects
from research.sources.places.service import MapTools, ToolResult
from research.sources.places.tool_responses import as_integer, as_text, format_gcj02, parse_gcj02, parse_lng_lat
from research.sources.places.tools import RoutingMode

TOOL_BY_MODE = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}
DISTANCE_TYPES = {"straight": "0", "driving": "1", "walking": "3"}  # types of maps_distance
MAX_LINE_POINTS = 2_000  # a longer line is thinned


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A step of a route: an instruction, or a ride on a transit line from `start` to `end`."""

    text: str = ""
    metres: int | None = None
    transit_line: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class ParsedRoute:
    """A route from a tool's result. `line` is empty if the result has none."""

    seconds: int | None
    metres: int | None
    steps: tuple[RouteStep, ...] = ()
    line: tuple[Point, ...] = ()


async def fetch_directions(
    tools: MapTools, start: Point, end: Point, mode: RoutingMode, cities: tuple[str, str] = ("", "")
) -> ToolResult:
    """Request directions between two WGS-84 points.

    `cities` are the cities of the start and the end, which only public transport needs.

    Raises:
        ServiceError: there is no route, or the service does not respond.
    """
    arguments = {"origin": format_gcj02(start), "destination": format_gcj02(end)}
    if mode == "transit":
        arguments |= dict(zip(("city", "cityd"), cities, strict=True))
    return await tools.call(TOOL_BY_MODE[mode], **arguments)


async def measure_distances(
    tools: MapTools, origins: Iterable[Point], destination: Point, mode: Literal["straight", "driving", "walking"]
) -> ToolResult:
    """Measure the distance from each of several WGS-84 points to one destination.

    Raises:
        ServiceError: the distances cannot be measured.
    """
    return await tools.call(
        "maps_distance",
        origins="|".join(map(format_gcj02, origins)),
        destination=format_gcj02(destination),
        type=DISTANCE_TYPES[mode],
    )


def endpoints(result: ToolResult) -> tuple[Point, Point]:
    """Return the WGS-84 points that directions were requested between."""
    start, end = (parse_gcj02(str(result.arguments[name])) for name in ("origin", "destination"))
    return start, end


def parse_route(body: Mapping[str, Any]) -> ParsedRoute | None:
    """Parse the body of a result. Return its first route with a duration, or None."""
    route = body
    for name in ("route", "data"):
        route = route[name] if isinstance(route.get(name), Mapping) else route
    system: CoordinateSystem = "wgs84" if as_text(body.get("crs")) == "wgs84" else "gcj02"
    for row in (*keep_objects(route.get("paths")), *keep_objects(route.get("transits"))):
        seconds = as_integer(row.get("duration"))
        if seconds is None:
            continue
        parts = list(_parse_steps(row))
        lengths = [step.metres for step, _ in parts]
        total = sum(length for length in lengths if length) if all(length is not None for length in lengths) else None
        metres = as_integer(row.get("distance"))
        line = _thin_line([point for _, lines in parts for point in _parse_line(lines, system)])
        steps = tuple(step for step, _ in parts if step.text or step.transit_line or step.metres)
        return ParsedRoute(seconds, (total or None) if metres is None else metres, steps, line)
    return None


def _parse_steps(row: Mapping[str, Any]) -> Iterator[tuple[RouteStep, list[str]]]:
    """Yield the steps of a route, each with the polylines of its part of the line."""
    for step in keep_objects(row.get("steps")):
        parsed = RouteStep(as_text(step.get("instruction")), as_integer(step.get("distance")))
        yield parsed, [as_text(step.get("polyline"))]
    for segment in keep_objects(row.get("segments")):
        walk = segment.get("walking")
        if isinstance(walk, Mapping) and (distance := as_integer(walk.get("distance"))):
            steps = keep_objects(walk.get("steps"))
            yield RouteStep(metres=distance), [as_text(step.get("polyline")) for step in steps]
        bus = segment.get("bus")
        for ride in keep_objects(bus.get("buslines"))[:1] if isinstance(bus, Mapping) else []:
            yield _transit_step(ride, as_text(ride.get("name"))), [as_text(ride.get("polyline"))]
        train = segment.get("railway")
        if isinstance(train, Mapping) and (name := as_text(train.get("trip")) or as_text(train.get("name"))):
            yield _transit_step(train, name), []


def _transit_step(row: Mapping[str, Any], name: str) -> RouteStep:
    start, end = (_stop_name(row.get(f"{which}_stop")) for which in ("departure", "arrival"))
    return RouteStep(metres=as_integer(row.get("distance")), transit_line=name, start=start, end=end)


def _stop_name(value: object) -> str:
    return as_text(value.get("name")) if isinstance(value, Mapping) else as_text(value)


def _parse_line(texts: list[str], system: CoordinateSystem) -> Iterator[Point]:
    """Yield the WGS-84 points of polylines "lng,lat;lng,lat", skipping invalid ones."""
    for part in ";".join(texts).split(";"):
        if degrees := parse_lng_lat(part):
            point = to_wgs84(degrees, system)
            yield Point(round(point.lng, 6), round(point.lat, 6))


def _thin_line(points: list[Point]) -> tuple[Point, ...]:
    """Return the points without repetitions, at most about `MAX_LINE_POINTS`, with the last one
    kept."""
    distinct = [point for point, _ in groupby(points)]
    if len(distinct) < 2:
        return ()
    step = ceil(len(distinct) / MAX_LINE_POINTS)
    return (*distinct[:-1:step], distinct[-1])
