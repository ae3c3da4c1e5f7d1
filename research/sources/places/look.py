"""A look for places without a model: where it is, what is around, the best first.

What is too large or could be several places is asked back: a guess would be shown on a map as if it
were what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from research.core.coordinates import Point, metres, to_gcj02
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import Centre, Distances, Failure, Language, Place, Say
from research.core.text.hanzi import simplified
from research.sources.places import coverage
from research.sources.places.service import ToolResult, Tools
from research.sources.places.shapes import Area, number, text

APART = 5_000  # metres from which two answers to one address are two places
WIDER = (2.5, 6.0)  # times the radius, where nothing is nearer
NAMED = 4  # candidates that a question names
SHOWN = 20
_BRANCH = re.compile(r"[(（].*")
SIGHTS = "景点"  # what is looked for where nothing is named
USUAL_RATING = 3.8  # of a place that nobody has rated


@dataclass(frozen=True)
class Look:
    """What a look has found, the best first, and the answers that it comes from.

    `leads` says that the answers are what was asked for, such as a way, and the places come with
    them; `whole` that of the places everything was asked for that can be known. `along` are the
    circles that were searched along a way.
    """

    places: tuple[Place, ...]
    centre: Centre | None
    told: tuple[ToolResult, ...]
    distances: Distances | None = None
    failures: tuple[Failure, ...] = ()
    leads: bool = False
    whole: bool = False
    along: tuple[Centre, ...] = ()


@dataclass(frozen=True)
class Spot:
    """A point that somebody has named, and how it came to be known."""

    name: str
    point: Point
    area: Area | None = None
    place: Place | None = None
    told: tuple[ToolResult, ...] = ()

    @property
    def city(self) -> str:
        """Its city as the tools take it; "" if nobody has said."""
        if self.area:
            return self.area.city or self.area.province
        return self.place.city if self.place else ""

    def shown(self) -> Place:
        """The spot as a place: the one that it is, or a point with the address it was taken for."""
        if self.place:
            return self.place
        body = self.told[0].body if self.told else {}
        return Place(
            id=f"{self.point.lng:.5f},{self.point.lat:.5f}",
            name=self.name,
            lng=round(self.point.lng, 7),
            lat=round(self.point.lat, 7),
            provider=text(body.get("source")) or "amap",
            address=self.area.name if self.area else "",
            sample=bool(body.get("sample")),
        )


class Unknown(Trouble):
    """A service does not know a place that another may."""


def asked_back(which: str, language: Language, **blanks: str) -> Trouble:
    """The question that somebody has to answer before a map can be searched."""
    return Trouble("unclear", message(f"look.{which}", language, **blanks))


def nothing_in_sample(language: Language) -> str:
    """Say that the sample holds no such place, which does not mean that there is none."""
    return message("look.offline none", language)


async def look(
    tools: Tools,
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
    spot = await located(tools, place, language, say)
    with in_words(tools, spot.name, language):
        if not (spot.area and spot.area.region):
            return await around(tools, spot.point, spot.name, wanted, radius, say, spot.told)
        query = {"keywords": wanted or SIGHTS, "city": spot.area.adcode or spot.area.city}
        found = await tools.use("maps_text_search", query, say)
    centre = Centre(
        name=spot.area.name or spot.name,
        lng=spot.point.lng,
        lat=spot.point.lat,
        radius=round(number(found.body.get("radius")) or 0),  # of what counts as the city
    )
    return Look(ranked(found.places), centre, (*spot.told, found))


async def located(tools: Tools, place: str | Point, language: Language, say: Say) -> Spot:
    """The spot that a name means: an address, or else the place that is called so.

    Raises:
        Trouble: it is not known, could be several, or the map cannot be asked.
    """
    if isinstance(place, Point):
        return Spot(f"{place.lat:.5f}, {place.lng:.5f}", place)
    if not place.strip():
        raise asked_back("where", language)
    with in_words(tools, place, language):
        geocoded = await tools.use("maps_geo", {"address": place}, say)
        amap = geocoded.provider == "amap"
        if amap and abroad(geocoded.areas):
            raise Unknown("unclear", message("look.uncovered", language, place=place))
        # Amap drops what it does not know of an address: 京都清水寺 is then a temple in China.
        foreign = coverage.foreign_name(place) if amap and coverage.beyond(place) else ""
        areas = [area for area in geocoded.areas if foreign in simplified(area.name)]
        if areas or tools.offline:
            area = the_one(areas, place, language)
            return Spot(place, area.point, area, told=(geocoded,))
        named = await tools.use("maps_text_search", {"keywords": place}, say)
        one = next((one for one in named.places if _called(one, place)), None)
        if one is None:
            which = "look.uncovered" if foreign else "look.unknown"
            raise Unknown("unclear", message(which, language, place=place))
        return Spot(one.name, Point(one.lng, one.lat), place=one, told=(named,))


def _spelt(name: str) -> str:
    """A name as it is compared: simplified characters, without case and white space."""
    return "".join(simplified(name).casefold().split())


def _called(one: Place, name: str) -> bool:
    """Whether a place has a name, which its city may stand before; what is in brackets is a branch."""
    asked, known = _spelt(name), _spelt(_BRANCH.sub("", one.name))
    return len(known) > 1 and (asked.endswith(known) or known.endswith(asked))


async def where(tools: Tools, place: str, language: Language, say: Say) -> Look:
    """A place by itself: its point and its address."""
    spot = await located(tools, place, language, say)
    return Look((spot.shown(),), None, spot.told, whole=spot.place is not None)


async def details(tools: Tools, place: str, language: Language, say: Say) -> Look:
    """A place by its name, with all that the map knows of it."""
    if not place.strip():
        raise asked_back("where", language)
    with in_words(tools, place, language):
        found = await tools.use("maps_text_search", {"keywords": place}, say)
    one = next((p for p in found.places if _called(p, place) or p.name.startswith(place)), None)
    if one is None:
        return await where(tools, place, language, say)
    known = await tools.use("maps_search_detail", {"id": one.id}, say)
    return Look(known.places or (one,), None, (known if known.places else found,), whole=True)


async def around(
    tools: Tools,
    point: Point,
    name: str,
    keywords: str,
    radius: int,
    say: Say,
    told: tuple[ToolResult, ...],
    wider: Sequence[float] = WIDER,
) -> Look:
    """Farther away only if nothing is near: each step is another search of the day's."""
    shifted = to_gcj02(point)
    reach = [radius, *(min(50_000, round(radius * factor)) for factor in wider)]
    for metres_ in dict.fromkeys(reach):
        query = {
            "location": f"{shifted.lng:.6f},{shifted.lat:.6f}",
            "radius": str(metres_),
            "keywords": keywords,
        }
        found = await tools.use("maps_around_search", query, say)
        told = (*told, found)
        if found.places or found.unplaced:
            break
    asked = radius if metres_ > radius else 0
    centre = Centre(name=name, lng=point.lng, lat=point.lat, radius=metres_, asked=asked)
    return Look(ranked(found.places, metres_), centre, told)


async def find(tools: Tools, words: str, say: Say) -> Look:
    """Places by words alone, wherever they are."""
    found = await tools.use("maps_text_search", {"keywords": words}, say)
    return Look(found.places[:SHOWN], None, (found,))


@contextmanager
def in_words(tools: Tools, place: str, language: Language) -> Iterator[None]:
    """Tells for people, in their language, that a place is not known: a tool says it for models."""
    try:
        yield
    except Trouble as trouble:
        if trouble.reason != "empty":
            raise
        words = message("look.offline", language, place=place) if tools.offline else ""
        raise Trouble("empty", words) from None


def abroad(areas: Sequence[Area]) -> bool:
    """Whether all that an address may mean lies where Amap covers nothing."""
    return bool(areas) and not any(coverage.covered(area.country, area.adcode) for area in areas)


def the_one(found: Sequence[Area], place: str, language: Language) -> Area:
    """The area that an address means.

    Raises:
        Trouble: it could be several, is more than a city, or is not what was asked for.
    """
    if not found:
        raise Unknown("unclear", message("look.unknown", language, place=place))
    first = found[0]
    others = [area for area in found if metres(area.point, first.point) > APART]
    if others:
        several = dict.fromkeys(_where(area, place) for area in (first, *others))
        if len(several) > 1:
            names = message("mark.list", language).join(list(several)[:NAMED])
            raise asked_back("several", language, place=place, candidates=names)
    if first.region and not _names(first, place):
        raise Unknown("unclear", message("look.vague", language, place=place, name=first.name))
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
