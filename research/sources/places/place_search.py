"""A look for places without a model: where it is, what is around, the best first.

What is too large or could be several places is asked back: a guess would be shown on a map as if it
were what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from research.core.coordinates import Point, distance_metres, to_gcj02
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import DistanceMatrix, EventEmitter, Failure, Language, Place, SearchArea
from research.core.text.hanzi import to_simplified
from research.sources.places import coverage
from research.sources.places.service import MapTools, ToolResult
from research.sources.places.tool_responses import Area, as_number, as_text

DISTINCT_PLACE_METRES = 5_000  # metres from which two answers to one address are two places
RADIUS_FACTORS = (2.5, 6.0)  # times the radius, where nothing is nearer
MAX_CANDIDATES = 4  # candidates that a question names
MAX_PLACES = 20
_BRANCH_SUFFIX = re.compile(r"[(（].*")
DEFAULT_KEYWORD = "景点"  # what is looked for where nothing is named
DEFAULT_RATING = 3.8  # of a place that nobody has rated


@dataclass(frozen=True)
class PlaceSearchResult:
    """What a look has found, the best first, and the answers that it comes from.

    `leads` says that the answers are what was asked for, such as a way, and the places come with
    them; `whole` that of the places everything was asked for that can be known. `along` are the
    circles that were searched along a way.
    """

    places: tuple[Place, ...]
    centre: SearchArea | None
    results: tuple[ToolResult, ...]
    distances: DistanceMatrix | None = None
    failures: tuple[Failure, ...] = ()
    facts_first: bool = False
    is_complete: bool = False
    circles: tuple[SearchArea, ...] = ()


@dataclass(frozen=True)
class NamedPoint:
    """A point that somebody has named, and how it came to be known."""

    name: str
    point: Point
    area: Area | None = None
    place: Place | None = None
    results: tuple[ToolResult, ...] = ()

    @property
    def city(self) -> str:
        """Its city as the tools take it; "" if nobody has said."""
        if self.area:
            return self.area.city or self.area.province
        return self.place.city if self.place else ""

    def to_place(self) -> Place:
        """The spot as a place: the one that it is, or a point with the address it was taken for."""
        if self.place:
            return self.place
        body = self.results[0].body if self.results else {}
        return Place(
            id=f"{self.point.lng:.5f},{self.point.lat:.5f}",
            name=self.name,
            lng=round(self.point.lng, 7),
            lat=round(self.point.lat, 7),
            provider=as_text(body.get("source")) or "amap",
            address=self.area.name if self.area else "",
            sample=bool(body.get("sample")),
        )


class UnknownPlaceError(ServiceError):
    """A service does not know a place that another may."""


def clarification_error(message_key: str, language: Language, **values: str) -> ServiceError:
    """The question that somebody has to answer before a map can be searched."""
    return ServiceError("unclear", message(f"look.{message_key}", language, **values))


def empty_sample_message(language: Language) -> str:
    """Say that the sample holds no such place, which does not mean that there is none."""
    return message("look.offline none", language)


async def search_places(
    tools: MapTools,
    place: str | Point,
    keywords: Sequence[str],
    radius: int,
    language: Language,
    emit: EventEmitter,
) -> PlaceSearchResult:
    """Places around a named place or a WGS-84 point, or in a city.

    Raises:
        Trouble: the map cannot be asked, or it has to be said more exactly where.
    """
    wanted = "|".join(keywords)
    spot = await locate(tools, place, language, emit)
    with localise_errors(tools, spot.name, language):
        if not (spot.area and spot.area.is_region):
            return await search_around(tools, spot.point, spot.name, wanted, radius, emit, spot.results)
        query = {"keywords": wanted or DEFAULT_KEYWORD, "city": spot.area.adcode or spot.area.city}
        found = await tools.call_tool("maps_text_search", query, emit)
    centre = SearchArea(
        name=spot.area.name or spot.name,
        lng=spot.point.lng,
        lat=spot.point.lat,
        radius=round(as_number(found.body.get("radius")) or 0),  # of what counts as the city
    )
    return PlaceSearchResult(rank_places(found.places), centre, (*spot.results, found))


async def locate(tools: MapTools, place: str | Point, language: Language, emit: EventEmitter) -> NamedPoint:
    """The spot that a name means: an address, or else the place that is called so.

    Raises:
        Trouble: it is not known, could be several, or the map cannot be asked.
    """
    if isinstance(place, Point):
        return NamedPoint(f"{place.lat:.5f}, {place.lng:.5f}", place)
    if not place.strip():
        raise clarification_error("where", language)
    with localise_errors(tools, place, language):
        geocoded = await tools.call_tool("maps_geo", {"address": place}, emit)
        amap = geocoded.provider == "amap"
        if amap and is_outside_coverage(geocoded.areas):
            raise UnknownPlaceError("unclear", message("look.uncovered", language, place=place))
        # Amap drops what it does not know of an address: 京都清水寺 is then a temple in China.
        foreign = coverage.find_foreign_name(place) if amap and coverage.outside_likelihood(place) else ""
        areas = [area for area in geocoded.areas if foreign in to_simplified(area.name)]
        if areas or tools.is_offline:
            area = choose_area(areas, place, language)
            return NamedPoint(place, area.point, area, results=(geocoded,))
        named = await tools.call_tool("maps_text_search", {"keywords": place}, emit)
        one = next((one for one in named.places if _has_name(one, place)), None)
        if one is None:
            which = "look.uncovered" if foreign else "look.unknown"
            raise UnknownPlaceError("unclear", message(which, language, place=place))
        return NamedPoint(one.name, Point(one.lng, one.lat), place=one, results=(named,))


def _fold_name(name: str) -> str:
    """A name as it is compared: simplified characters, without case and white space."""
    return "".join(to_simplified(name).casefold().split())


def _has_name(place: Place, name: str) -> bool:
    """Whether a place has a name, which its city may stand before; what is in brackets is a branch."""
    asked, known = _fold_name(name), _fold_name(_BRANCH_SUFFIX.sub("", place.name))
    return len(known) > 1 and (asked.endswith(known) or known.endswith(asked))


async def find_place(tools: MapTools, place: str, language: Language, emit: EventEmitter) -> PlaceSearchResult:
    """A place by itself: its point and its address."""
    spot = await locate(tools, place, language, emit)
    return PlaceSearchResult((spot.to_place(),), None, spot.results, is_complete=spot.place is not None)


async def find_place_details(tools: MapTools, place: str, language: Language, emit: EventEmitter) -> PlaceSearchResult:
    """A place by its name, with all that the map knows of it."""
    if not place.strip():
        raise clarification_error("where", language)
    with localise_errors(tools, place, language):
        found = await tools.call_tool("maps_text_search", {"keywords": place}, emit)
    one = next((p for p in found.places if _has_name(p, place) or p.name.startswith(place)), None)
    if one is None:
        return await find_place(tools, place, language, emit)
    known = await tools.call_tool("maps_search_detail", {"id": one.id}, emit)
    return PlaceSearchResult(known.places or (one,), None, (known if known.places else found,), is_complete=True)


async def search_around(
    tools: MapTools,
    point: Point,
    name: str,
    keywords: str,
    radius: int,
    emit: EventEmitter,
    results: tuple[ToolResult, ...],
    radius_factors: Sequence[float] = RADIUS_FACTORS,
) -> PlaceSearchResult:
    """Farther away only if nothing is near: each step is another search of the day's."""
    shifted = to_gcj02(point)
    reach = [radius, *(min(50_000, round(radius * factor)) for factor in radius_factors)]
    for metres_ in dict.fromkeys(reach):
        query = {
            "location": f"{shifted.lng:.6f},{shifted.lat:.6f}",
            "radius": str(metres_),
            "keywords": keywords,
        }
        found = await tools.call_tool("maps_around_search", query, emit)
        results = (*results, found)
        if found.places or found.unlocated_count:
            break
    asked = radius if metres_ > radius else 0
    centre = SearchArea(name=name, lng=point.lng, lat=point.lat, radius=metres_, asked=asked)
    return PlaceSearchResult(rank_places(found.places, metres_), centre, results)


async def search_by_words(tools: MapTools, words: str, emit: EventEmitter) -> PlaceSearchResult:
    """Places by words alone, wherever they are."""
    found = await tools.call_tool("maps_text_search", {"keywords": words}, emit)
    return PlaceSearchResult(found.places[:MAX_PLACES], None, (found,))


@contextmanager
def localise_errors(tools: MapTools, place: str, language: Language) -> Iterator[None]:
    """Tells for people, in their language, that a place is not known: a tool says it for models."""
    try:
        yield
    except ServiceError as trouble:
        if trouble.reason != "empty":
            raise
        words = message("look.offline", language, place=place) if tools.is_offline else ""
        raise ServiceError("empty", words) from None


def is_outside_coverage(areas: Sequence[Area]) -> bool:
    """Whether all that an address may mean lies where Amap covers nothing."""
    return bool(areas) and not any(coverage.is_covered(area.country, area.adcode) for area in areas)


def choose_area(areas: Sequence[Area], place: str, language: Language) -> Area:
    """The area that an address means.

    Raises:
        Trouble: it could be several, is more than a city, or is not what was asked for.
    """
    if not areas:
        raise UnknownPlaceError("unclear", message("look.unknown", language, place=place))
    first = areas[0]
    others = [area for area in areas if distance_metres(area.point, first.point) > DISTINCT_PLACE_METRES]
    if others:
        several = dict.fromkeys(_area_label(area, place) for area in (first, *others))
        if len(several) > 1:
            names = message("mark.list", language).join(list(several)[:MAX_CANDIDATES])
            raise clarification_error("several", language, place=place, candidates=names)
    if first.is_region and not _is_area_named(first, place):
        raise UnknownPlaceError("unclear", message("look.vague", language, place=place, name=first.name))
    if first.is_too_large:
        raise clarification_error("large", language, place=place, level=first.level)
    return first


def _area_label(area: Area, place: str) -> str:
    """An area so that it can be told from others of the same name."""
    outer = "".join(dict.fromkeys(filter(None, (area.province, area.city, area.district))))
    return outer + (place if place not in outer else "")


def _is_area_named(area: Area, place: str) -> bool:
    """Whether an address names the region that it was taken for, and not something lost in it."""
    if not any("\u4e00" <= char <= "\u9fff" for char in place):
        return True  # the map answers in Chinese
    bare = place.rstrip("省市区县")
    return bool(bare) and any(
        part.startswith(bare) or any(bare.endswith(part[:n]) for n in range(2, len(part) + 1))
        for part in _area_names(area)
    )


def _area_names(area: Area) -> Iterable[str]:
    return filter(None, (area.province, area.city, area.district, area.name))


def place_key(place: Place) -> str:
    """What one place has in all answers."""
    return place.id or f"{place.name} {place.lng} {place.lat}"


def deduplicate(places: Iterable[Place]) -> list[Place]:
    """Each place once, as it was found first."""
    kept: dict[str, Place] = {}
    for place in places:
        kept.setdefault(place_key(place), place)
    return list(kept.values())


def rank_places(places: Sequence[Place], radius: int = 0) -> tuple[Place, ...]:
    """Well rated before near, as far as both are known: a whole radius weighs half a point."""

    def score(place: Place) -> float:
        far = (place.distance or 0) / radius if radius else 0.0
        return 0.5 * far - (place.rating or DEFAULT_RATING)

    return tuple(sorted(deduplicate(places), key=score)[:MAX_PLACES])
