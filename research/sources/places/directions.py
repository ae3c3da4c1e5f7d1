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

from research.core.coordinates import Point, System, from_gcj02, to_gcj02, to_wgs84
from research.core.records import Say
from research.sources.places.service import ToolResult, Tools
from research.sources.places.shapes import number, text

TOOLS = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}
MOST = 2_000  # points of a line; of a longer one some are left out
Going = Literal["walking", "driving", "bicycling", "transit"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a way: what there is to do, or a line that is ridden from one stop to another."""

    text: str = ""
    metres: int | None = None
    ride: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """A way as a tool tells it. `line` is empty if the tool gave none."""

    seconds: int | None
    metres: int | None
    stretches: tuple[Stretch, ...] = ()
    line: tuple[Point, ...] = ()


async def directions(
    tools: Tools, start: Point, end: Point, means: Going, cities: tuple[str, str], say: Say
) -> ToolResult:
    """What the tool of a means says of the way between two WGS-84 points. `cities` are those of the
    ends; only public transport wants to know them.

    Raises:
        Trouble: there is no way, or nobody can tell.
    """
    arguments = {"origin": sent(start), "destination": sent(end)}
    if means == "transit":
        arguments |= dict(zip(("city", "cityd"), cities, strict=True))
    return await tools.use(TOOLS[means], arguments, say)


def sent(point: Point) -> str:
    """A WGS-84 point as the tools take it."""
    shifted = to_gcj02(point)
    return f"{shifted.lng:.6f},{shifted.lat:.6f}"


def ends(told: ToolResult) -> tuple[Point, Point]:
    """The WGS-84 points that a way was asked for between."""
    start, end = (read(str(told.arguments[name])) for name in ("origin", "destination"))
    return start, end


def read(location: str) -> Point:
    """The WGS-84 point of an argument."""
    lng, lat = (float(part) for part in location.split(","))
    return from_gcj02(Point(lng, lat))


def path(answer: Mapping[str, Any]) -> Path | None:
    """The first way of an answer that says how long it takes."""
    inner = answer
    for name in ("route", "data"):
        inner = inner[name] if isinstance(inner.get(name), Mapping) else inner
    system: System = "wgs84" if text(answer.get("crs")) == "wgs84" else "gcj02"
    for row in (*_rows(inner.get("paths")), *_rows(inner.get("transits"))):
        seconds = _whole(row.get("duration"))
        if seconds is None:
            continue
        parts = list(_parts(row))
        told = [stretch.metres for stretch, _ in parts]
        whole = sum(far for far in told if far) if all(far is not None for far in told) else None
        metres = _whole(row.get("distance"))
        line = _thinned([point for _, lines in parts for point in _line(lines, system)])
        stretches = tuple(
            stretch for stretch, _ in parts if stretch.text or stretch.ride or stretch.metres
        )
        return Path(seconds, whole or None if metres is None else metres, stretches, line)  # fmt: skip
    return None


def _parts(row: Mapping[str, Any]) -> Iterator[tuple[Stretch, list[str]]]:
    """The stretches of a way, each with the texts of its line."""
    for step in _rows(row.get("steps")):
        told = Stretch(text(step.get("instruction")), _whole(step.get("distance")))
        yield told, [text(step.get("polyline"))]
    for segment in _rows(row.get("segments")):
        walk = segment.get("walking")
        if isinstance(walk, Mapping) and (far := _whole(walk.get("distance"))):
            steps = _rows(walk.get("steps"))
            yield Stretch(metres=far), [text(step.get("polyline")) for step in steps]
        bus = segment.get("bus")
        for ride in _rows(bus.get("buslines"))[:1] if isinstance(bus, Mapping) else []:
            yield _ride(ride, text(ride.get("name"))), [text(ride.get("polyline"))]
        train = segment.get("railway")
        if isinstance(train, Mapping) and (name := text(train.get("trip")) or text(train.get("name"))):  # fmt: skip
            yield _ride(train, name), []


def _ride(row: Mapping[str, Any], name: str) -> Stretch:
    start, end = (_stop(row.get(f"{which}_stop")) for which in ("departure", "arrival"))
    return Stretch(metres=_whole(row.get("distance")), ride=name, start=start, end=end)


def _stop(value: object) -> str:
    return text(value.get("name")) if isinstance(value, Mapping) else text(value)


def _line(texts: list[str], system: System) -> Iterator[Point]:
    """The points of "lng,lat;lng,lat"; what is no point is left out."""
    for part in ";".join(texts).split(";"):
        east, _, north = part.partition(",")
        lng, lat = number(east), number(north)
        if lng is not None and lat is not None and abs(lng) <= 180 and abs(lat) <= 90:
            point = to_wgs84(Point(lng, lat), system)
            yield Point(round(point.lng, 6), round(point.lat, 6))


def _thinned(points: list[Point]) -> tuple[Point, ...]:
    """The points without repetitions, of very many each nth, and the last one."""
    once = [point for point, _ in groupby(points)]
    if len(once) < 2:
        return ()
    step = ceil(len(once) / MOST)
    return (*once[:-1:step], once[-1])


def _whole(value: object) -> int | None:
    found = number(value)
    return None if found is None else round(found)


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
