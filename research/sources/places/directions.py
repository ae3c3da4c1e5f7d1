"""The way from one point to another, as the tools for directions tell it, however they are wrapped.

Amap's own npm server leaves the line out. Public transport says of each stretch how it is made; for
the others there is a sentence at each turn. Lines leave this module in WGS-84.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Any, Literal

from research.core.coordinates import CoordinateSystem, Point, from_gcj02, to_gcj02, to_wgs84
from research.core.records import EventEmitter
from research.sources.places.service import MapTools, ToolResult
from research.sources.places.tool_responses import as_number, as_text

TOOL_BY_MODE = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}
MAX_LINE_POINTS = 2_000  # points of a line; of a longer one some are left out
RoutingMode = Literal["walking", "driving", "bicycling", "transit"]


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A part of a way: what there is to do, or a line that is ridden from one stop to another."""

    text: str = ""
    metres: int | None = None
    transit_line: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class ParsedRoute:
    """A way as a tool tells it. `line` is empty if the tool gave none."""

    seconds: int | None
    metres: int | None
    steps: tuple[RouteStep, ...] = ()
    line: tuple[Point, ...] = ()


async def fetch_directions(
    tools: MapTools, start: Point, end: Point, mode: RoutingMode, cities: tuple[str, str], emit: EventEmitter
) -> ToolResult:
    """What the tool of a means says of the way between two WGS-84 points. `cities` are those of the
    ends; only public transport wants to know them.

    Raises:
        Trouble: there is no way, or nobody can tell.
    """
    arguments = {"origin": format_point(start), "destination": format_point(end)}
    if mode == "transit":
        arguments |= dict(zip(("city", "cityd"), cities, strict=True))
    return await tools.call_tool(TOOL_BY_MODE[mode], arguments, emit)


def format_point(point: Point) -> str:
    """A WGS-84 point as the tools take it."""
    shifted = to_gcj02(point)
    return f"{shifted.lng:.6f},{shifted.lat:.6f}"


def endpoints(result: ToolResult) -> tuple[Point, Point]:
    """The WGS-84 points that a way was asked for between."""
    start, end = (parse_point(str(result.arguments[name])) for name in ("origin", "destination"))
    return start, end


def parse_point(location: str) -> Point:
    """The WGS-84 point of an argument."""
    lng, lat = (float(part) for part in location.split(","))
    return from_gcj02(Point(lng, lat))


def parse_route(answer: Mapping[str, Any]) -> ParsedRoute | None:
    """The first way of an answer that says how long it takes."""
    inner = answer
    for name in ("route", "data"):
        inner = inner[name] if isinstance(inner.get(name), Mapping) else inner
    system: CoordinateSystem = "wgs84" if as_text(answer.get("crs")) == "wgs84" else "gcj02"
    for row in (*_as_rows(inner.get("paths")), *_as_rows(inner.get("transits"))):
        seconds = _as_integer(row.get("duration"))
        if seconds is None:
            continue
        parts = list(_parse_steps(row))
        told = [stretch.metres for stretch, _ in parts]
        whole = sum(far for far in told if far) if all(far is not None for far in told) else None
        metres = _as_integer(row.get("distance"))
        line = _thin_line([point for _, lines in parts for point in _parse_line(lines, system)])
        stretches = tuple(stretch for stretch, _ in parts if stretch.text or stretch.transit_line or stretch.metres)
        return ParsedRoute(seconds, whole or None if metres is None else metres, stretches, line)  # fmt: skip
    return None


def _parse_steps(row: Mapping[str, Any]) -> Iterator[tuple[RouteStep, list[str]]]:
    """The stretches of a way, each with the texts of its line."""
    for step in _as_rows(row.get("steps")):
        told = RouteStep(as_text(step.get("instruction")), _as_integer(step.get("distance")))
        yield told, [as_text(step.get("polyline"))]
    for segment in _as_rows(row.get("segments")):
        walk = segment.get("walking")
        if isinstance(walk, Mapping) and (far := _as_integer(walk.get("distance"))):
            steps = _as_rows(walk.get("steps"))
            yield RouteStep(metres=far), [as_text(step.get("polyline")) for step in steps]
        bus = segment.get("bus")
        for ride in _as_rows(bus.get("buslines"))[:1] if isinstance(bus, Mapping) else []:
            yield _transit_step(ride, as_text(ride.get("name"))), [as_text(ride.get("polyline"))]
        train = segment.get("railway")
        if isinstance(train, Mapping) and (name := as_text(train.get("trip")) or as_text(train.get("name"))):  # fmt: skip
            yield _transit_step(train, name), []


def _transit_step(row: Mapping[str, Any], name: str) -> RouteStep:
    start, end = (_stop_name(row.get(f"{which}_stop")) for which in ("departure", "arrival"))
    return RouteStep(metres=_as_integer(row.get("distance")), transit_line=name, start=start, end=end)


def _stop_name(value: object) -> str:
    return as_text(value.get("name")) if isinstance(value, Mapping) else as_text(value)


def _parse_line(texts: list[str], system: CoordinateSystem) -> Iterator[Point]:
    """The points of "lng,lat;lng,lat"; what is no point is left out."""
    for part in ";".join(texts).split(";"):
        east, _, north = part.partition(",")
        lng, lat = as_number(east), as_number(north)
        if lng is not None and lat is not None and abs(lng) <= 180 and abs(lat) <= 90:
            point = to_wgs84(Point(lng, lat), system)
            yield Point(round(point.lng, 6), round(point.lat, 6))


def _thin_line(points: list[Point]) -> tuple[Point, ...]:
    """The points without repetitions, of very many each nth, and the last one."""
    once = [point for point, _ in groupby(points)]
    if len(once) < 2:
        return ()
    step = ceil(len(once) / MAX_LINE_POINTS)
    return (*once[:-1:step], once[-1])


def _as_integer(value: object) -> int | None:
    found = as_number(value)
    return None if found is None else round(found)


def _as_rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
