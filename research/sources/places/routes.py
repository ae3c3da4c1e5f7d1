"""Ways without a model: from one place to another, how far it is, what lies between, a day's round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from research.core.coordinates import Point, metres
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import Centre, Failure, Language, Place, Say
from research.sources.places.directions import Going, directions, ends, path, sent
from research.sources.places.itinerary import STROLL, distances, measured, nearest_first
from research.sources.places.look import SIGHTS, Look, Spot, around, located, look, ranked, unlike
from research.sources.places.service import ToolResult, Tools

CLOSE = 1_500  # metres between two places that one circle covers
PROBES = 3  # circles along a way
REACH = (500, 2_000)  # metres around each, at least and at most
STOPS = 5  # sights of a day for which nobody has named any
MEASURES = {"straight": "0", "driving": "1", "walking": "3"}  # types of maps_distance
End = str | Point


async def way(
    tools: Tools, origin: End, to: End, means: Going | None, language: Language, say: Say
) -> Look:
    """The way from one place to another. With no means named it is walked if it is short; else both
    public transport and a car are asked for. Where no way is told, the straight line is.

    Raises:
        Trouble: an end is not known, or the map tells nothing at all.
    """
    start, end = await _ends(tools, origin, to, language, say)
    short = metres(start.point, end.point) <= STROLL
    wanted: tuple[Going, ...] = (means,) if means else ("walking",) if short else ("transit", "driving")  # fmt: skip
    told, troubles = await _directed(tools, start, end, wanted, language, say)
    if not told:
        try:
            told = [await _apart(tools, start, end, "straight", say)]
        except Trouble:
            raise troubles[0] from None
    failures = tuple(trouble.failure("search", "places") for trouble in troubles)
    return _with_ends(start, end, told, failures)


async def distance(
    tools: Tools, origin: End, to: End, means: Going | None, language: Language, say: Say
) -> Look:
    """How far one place is from another: in a straight line, by car, and on foot if it is short.

    Raises:
        Trouble: an end is not known, or the map measures nothing.
    """
    start, end = await _ends(tools, origin, to, language, say)
    short = metres(start.point, end.point) <= STROLL or means == "walking"
    told: list[ToolResult] = []
    troubles: list[Trouble] = []
    for kind in ("straight", "driving", *(["walking"] if short else [])):
        try:
            told.append(await _apart(tools, start, end, kind, say))
        except Trouble as trouble:
            troubles.append(_said(trouble, kind, tools, language))
    if not told:
        raise troubles[0]
    failures = tuple({t.message: t.failure("search", "places") for t in troubles}.values())
    return _with_ends(start, end, told, failures)


async def between(
    tools: Tools,
    origin: End,
    to: End,
    keywords: Sequence[str],
    means: Going | None,
    language: Language,
    say: Say,
) -> Look:
    """Places along the way from one place to another; around the middle if they are close.

    Raises:
        Trouble: an end is not known, or the map cannot be asked.
    """
    start, end = await _ends(tools, origin, to, language, say)
    wanted, told = "|".join(keywords) or SIGHTS, (*start.told, *end.told)
    apart = metres(start.point, end.point)
    if apart <= CLOSE:
        name = message("mark.list", language).join((start.name, end.name))
        radius = max(REACH[0], round(apart / 2) + 200)
        return await around(tools, _middle(start.point, end.point), name, wanted, radius, say, told)
    going: Going = means or ("walking" if apart <= STROLL else "driving")
    walked, troubles = await _directed(tools, start, end, (going,), language, say)
    line = _line(walked[0]) if walked else (start.point, end.point)
    radius = max(REACH[0], min(REACH[1], round(apart / (2 * PROBES))))
    found: list[Place] = []
    circles: list[Centre] = []
    probes = [_along(line, (n + 0.5) / PROBES) for n in range(PROBES)][: max(1, tools.spare)]
    for probe in probes:
        near = await around(tools, probe, "", wanted, radius, say, (), wider=())
        found += near.places
        circles += [near.centre] if near.centre else []
        told = (*told, *near.told)
    places = [place.model_copy(update={"distance": None}) for place in unlike(found)]
    failures = tuple(trouble.failure("search", "places") for trouble in troubles)
    return Look(ranked(places), None, (*told, *walked), failures=failures, along=tuple(circles))


async def tour(
    tools: Tools,
    place: str,
    stops: Sequence[str],
    means: Going | None,
    keywords: Sequence[str],
    language: Language,
    say: Say,
) -> Look:
    """A day's round through some places, or through the best ones of a place: from each to the nearest
    that is left, along the streets as far as the calls go.

    Raises:
        Trouble: a place is not known, or the map cannot be asked.
    """
    if len(stops) > 1:
        spots = [
            replace(await located(tools, _in(place, stop), language, say), name=stop)
            for stop in stops
        ]
        places, told = [spot.shown() for spot in spots], [t for spot in spots for t in spot.told]
    else:
        found = await look(tools, place, keywords or (SIGHTS,), 5_000, language, say)
        places, told = list(found.places[:STOPS]), list(found.told)
    order = nearest_first(places)
    going = means or measured(order)
    failures: list[Failure] = []
    for a, b in pairwise(order):
        if failures:
            break
        start, end = (Spot(p.name, Point(p.lng, p.lat), place=p) for p in (a, b))
        ways, troubles = await _directed(tools, start, end, (going,), language, say)
        told += ways
        failures += [trouble.failure("search", "places") for trouble in troubles]
    table = None
    if len(order) > 2 and tools.spare >= len(order) and not failures:
        with suppress(Trouble):  # the ways are there without it
            table = await distances(tools, order)
    return Look(tuple(order), None, tuple(told), table, tuple(failures), leads=True)


async def apart(tools: Tools, ends: Sequence[End], language: Language, say: Say) -> Look:
    """How far each of some places is from each other.

    Raises:
        Trouble: one is not known, or the map does not measure.
    """
    spots = [await located(tools, end, language, say) for end in ends]
    places, told = [spot.shown() for spot in spots], [t for spot in spots for t in spot.told]
    return Look(tuple(places), None, tuple(told), await distances(tools, places), leads=True)


def _in(place: str, stop: str) -> str:
    """A stop with the place that the round is in, which tells it from others of its name."""
    return f"{place}{stop}" if place and place not in stop else stop


async def _ends(
    tools: Tools, origin: End, to: End, language: Language, say: Say
) -> tuple[Spot, Spot]:
    return (
        await located(tools, origin, language, say),
        await located(tools, to, language, say),
    )


async def _directed(
    tools: Tools,
    start: Spot,
    end: Spot,
    wanted: Sequence[Going],
    language: Language,
    say: Say,
) -> tuple[list[ToolResult], list[Trouble]]:
    """The ways by the means that are wanted, and why there is none by others."""
    told: list[ToolResult] = []
    troubles: list[Trouble] = []
    for means in wanted:
        try:
            cities = (start.city, end.city)
            if means == "transit" and not all(cities):
                cities = (await _city(tools, start, say), await _city(tools, end, say))
            told.append(await directions(tools, start.point, end.point, means, cities, say))
        except Trouble as trouble:
            troubles.append(_said(trouble, means, tools, language))
    return told, troubles


async def _city(tools: Tools, spot: Spot, say: Say) -> str:
    """The city that a spot is in."""
    if spot.city:
        return spot.city
    told = await tools.use("maps_regeocode", {"location": sent(spot.point)}, say)
    return str(told.body.get("city") or told.body.get("province") or "")


def _said(trouble: Trouble, means: str, tools: Tools, language: Language) -> Trouble:
    """The same trouble, in the question's language where it is one of ways."""
    if tools.offline and trouble.reason == "no key":
        return Trouble("no key", message("look.no ways", language), hint="key")
    if trouble.reason == "empty":
        words = message("look.no way", language, means=message(f"fact.{means}", language))
        return Trouble("empty", words)
    return trouble


async def _apart(tools: Tools, start: Spot, end: Spot, kind: str, say: Say) -> ToolResult:
    arguments = {
        "origins": sent(start.point),
        "destination": sent(end.point),
        "type": MEASURES[kind],
    }
    return await tools.use("maps_distance", arguments, say)


def _with_ends(
    start: Spot, end: Spot, told: Sequence[ToolResult], failures: tuple[Failure, ...]
) -> Look:
    places = (start.shown(), end.shown())
    return Look(places, None, (*start.told, *end.told, *told), failures=failures, leads=True)


# Points along a line


def _line(told: ToolResult) -> tuple[Point, ...]:
    found = path(told.body)
    return found.line if found and found.line else ends(told)


def _middle(a: Point, b: Point) -> Point:
    return Point((a.lng + b.lng) / 2, (a.lat + b.lat) / 2)


def _along(line: Sequence[Point], share: float) -> Point:
    """The point of a line where a share of its length lies behind."""
    left = share * sum(metres(a, b) for a, b in pairwise(line))
    for a, b in pairwise(line):
        far = metres(a, b)
        if far and left <= far:
            part = left / far
            return Point(a.lng + part * (b.lng - a.lng), a.lat + part * (b.lat - a.lat))
        left -= far
    return line[-1]
