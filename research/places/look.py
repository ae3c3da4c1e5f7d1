"""A look for places without a model: where it is, what is around, the best first.

What is too large or could be several places is asked back: a guess would be shown on a map as if it
were what was meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from research.i18n import message
from research.places.coordinates import Point, metres, to_gcj02
from research.places.service import Service, ToolResult
from research.places.shapes import Area
from research.records import Centre, Language, Place, Say
from research.trouble import Trouble

APART = 5_000  # metres from which two answers to one address are two places
WIDER = (2.5, 6.0)  # times the radius, where nothing is nearer
NAMED = 4  # candidates that a question names
SHOWN = 20
USUAL_RATING = 3.8  # of a place that nobody has rated


@dataclass(frozen=True)
class Look:
    """What a look has found, the best first, and the answers that it comes from."""

    places: tuple[Place, ...]
    centre: Centre | None
    told: tuple[ToolResult, ...]


def asked_back(which: str, language: Language, **blanks: str) -> Trouble:
    """The question that somebody has to answer before a map can be searched."""
    return Trouble("unclear", message(f"look.{which}", language, **blanks))


async def look(
    service: Service,
    place: str | Point,
    keywords: Sequence[str],
    radius: int,
    language: Language,
    say: Say,
) -> Look:
    """Places around a named place or a WGS-84 point, or in a city.

    Raises:
        Trouble: the map cannot be asked, or it has to be said more exactly where.
    """
    wanted = "|".join(keywords)
    if isinstance(place, Point):
        name = f"{place.lat:.5f}, {place.lng:.5f}"
        with _in_words(service, name, language):
            return await _around(service, place, name, wanted, radius, say, ())
    if not place.strip():
        raise asked_back("where", language)
    with _in_words(service, place, language):
        return await _named(service, place, wanted, radius, language, say)


async def _named(
    service: Service, place: str, wanted: str, radius: int, language: Language, say: Say
) -> Look:
    geocoded = await service.use("maps_geo", {"address": place}, say)
    area = the_one(geocoded.areas, place, language)
    if not area.region:
        return await _around(service, area.point, place, wanted, radius, say, (geocoded,))
    query = {"keywords": wanted or "景点", "city": area.adcode or area.city}
    found = await service.use("maps_text_search", query, say)
    centre = Centre(name=area.name or place, lng=area.point.lng, lat=area.point.lat)
    return Look(ranked(found.places), centre, (geocoded, found))


async def _around(
    service: Service,
    point: Point,
    name: str,
    keywords: str,
    radius: int,
    say: Say,
    told: tuple[ToolResult, ...],
) -> Look:
    """Farther away only if nothing is near: each step is another search of the day's."""
    shifted = to_gcj02(point)
    reach = [radius, *(min(50_000, round(radius * factor)) for factor in WIDER)]
    for metres_ in dict.fromkeys(reach):
        query = {
            "location": f"{shifted.lng:.6f},{shifted.lat:.6f}",
            "radius": str(metres_),
            "keywords": keywords,
        }
        found = await service.use("maps_around_search", query, say)
        told = (*told, found)
        if found.places or found.unplaced:
            break
    asked = radius if metres_ > radius else 0
    centre = Centre(name=name, lng=point.lng, lat=point.lat, radius=metres_, asked=asked)
    return Look(ranked(found.places, metres_), centre, told)


async def find(service: Service, words: str, say: Say) -> Look:
    """Places by words alone, wherever they are."""
    found = await service.use("maps_text_search", {"keywords": words}, say)
    return Look(found.places[:SHOWN], None, (found,))


@contextmanager
def _in_words(service: Service, place: str, language: Language) -> Iterator[None]:
    """Tells for people, in their language, that a place is not known: a tool says it for models."""
    try:
        yield
    except Trouble as trouble:
        if trouble.reason != "empty":
            raise
        words = message("look.offline", language, place=place) if service.offline else ""
        raise Trouble("empty", words) from None


def the_one(found: Sequence[Area], place: str, language: Language) -> Area:
    """The area that an address means.

    Raises:
        Trouble: it could be several, is more than a city, or is not what was asked for.
    """
    if not found:
        raise asked_back("unknown", language, place=place)
    first = found[0]
    others = [area for area in found if metres(area.point, first.point) > APART]
    if others:
        several = dict.fromkeys(_where(area, place) for area in (first, *others))
        if len(several) > 1:
            names = message("mark.list", language).join(list(several)[:NAMED])
            raise asked_back("several", language, place=place, candidates=names)
    if first.region and not _names(first, place):
        raise asked_back("vague", language, place=place, name=first.name)
    if first.too_large:
        raise asked_back("large", language, place=place, level=first.level)
    return first


def _where(area: Area, place: str) -> str:
    """An area so that it can be told from others of the same name."""
    outer = "".join(dict.fromkeys(filter(None, (area.province, area.city, area.district))))
    return outer + (place if place not in outer else "")


def _names(area: Area, place: str) -> bool:
    """Whether an address names the region that it was taken for, and not something lost in it."""
    if not any("\u4e00" <= char <= "\u9fff" for char in place):
        return True  # the map answers in Chinese
    bare = place.rstrip("省市区县")
    return bool(bare) and any(
        part.startswith(bare) or any(bare.endswith(part[:n]) for n in range(2, len(part) + 1))
        for part in _parts(area)
    )


def _parts(area: Area) -> Iterable[str]:
    return filter(None, (area.province, area.city, area.district, area.name))


def identity(place: Place) -> str:
    """What one place has in all answers."""
    return place.id or f"{place.name} {place.lng} {place.lat}"


def unlike(found: Iterable[Place]) -> list[Place]:
    """Each place once, as it was found first."""
    kept: dict[str, Place] = {}
    for place in found:
        kept.setdefault(identity(place), place)
    return list(kept.values())


def ranked(found: Sequence[Place], radius: int = 0) -> tuple[Place, ...]:
    """Well rated before near, as far as both are known: a whole radius weighs half a point."""

    def score(place: Place) -> float:
        far = (place.distance or 0) / radius if radius else 0.0
        return 0.5 * far - (place.rating or USUAL_RATING)

    return tuple(sorted(unlike(found), key=score)[:SHOWN])
