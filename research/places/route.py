"""The order of a day: from each place to the nearest that is left, as the map measures it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from research.places.coordinates import Point, metres, to_gcj02
from research.places.service import Service
from research.places.shapes import ways
from research.records import Leg, Place, Route
from research.trouble import Trouble

STROLL = 3_000  # metres in a straight line up to which a day is walked
_TYPES = {"driving": "1", "walking": "3"}
Way = tuple[int, int | None]


async def day(service: Service, places: Sequence[Place]) -> Route:
    """The places, the first one first, each followed by the nearest of the rest.

    Where the map cannot measure the ways they are straight lines, and the route says why.
    """
    if len(places) < 2:
        return Route(places=tuple(places))
    widest = max(_straight(a, b) for a in places for b in places)
    means: Literal["driving", "walking"] = "walking" if widest <= STROLL else "driving"
    try:
        order = await _in_order(service, places, means)
        legs = await asyncio.gather(*(_leg(service, a, b, means) for a, b in pairwise(order)))
    except Trouble as trouble:
        return _by_crow(places, trouble)
    return Route(places=tuple(order), legs=tuple(legs))


async def _in_order(service: Service, places: Sequence[Place], means: str) -> list[Place]:
    order, rest = [places[0]], list(places[1:])
    while rest:
        far = await _measured(service, rest, order[-1], means)
        order.append(rest.pop(min(range(len(rest)), key=lambda n: far[n][0])))
    return order


async def _leg(
    service: Service, start: Place, end: Place, means: Literal["driving", "walking"]
) -> Leg:
    """A way in its own direction: that of cars is seldom the same both ways."""
    ((far, seconds),) = await _measured(service, [start], end, means)
    time = seconds or None  # Amap says 0 where it does not know
    return Leg(origin=start.id, destination=end.id, metres=far, seconds=time, means=means)


async def _measured(
    service: Service, origins: Sequence[Place], destination: Place, means: str
) -> list[Way]:
    """Metres and seconds from each of some places to one.

    Raises:
        Trouble: the map does not measure them all.
    """
    arguments = {
        "origins": "|".join(map(_gcj02, origins)),
        "destination": _gcj02(destination),
        "type": _TYPES[means],
    }
    told = await service.use("maps_distance", arguments)
    far = ways(told.body)
    if len(far) != len(origins):
        raise Trouble("empty", "Amap: not every way could be measured")
    return far


def _by_crow(places: Sequence[Place], trouble: Trouble) -> Route:
    order, rest = [places[0]], list(places[1:])
    while rest:
        nearest = min(rest, key=lambda place: _straight(order[-1], place))
        rest.remove(nearest)
        order.append(nearest)
    legs = [
        Leg(origin=a.id, destination=b.id, metres=round(_straight(a, b)), means="straight")
        for a, b in pairwise(order)
    ]
    failure = trouble.failure("search", "places")
    return Route(places=tuple(order), legs=tuple(legs), failure=failure)


def _straight(a: Place, b: Place) -> float:
    return metres(Point(a.lng, a.lat), Point(b.lng, b.lat))


def _gcj02(place: Place) -> str:
    point = to_gcj02(Point(place.lng, place.lat))
    return f"{point.lng:.6f},{point.lat:.6f}"
