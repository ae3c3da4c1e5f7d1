"""Search for places without a model: locate the place, search around it, rank the results.

A place that is too large or ambiguous is returned to the user as a question: a guess on a map would
look like a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import DistanceMatrix, Failure, Language, Place, SearchArea
from research.core.text.hanzi import to_simplified
from research.sources.places import amap_coverage
from research.sources.places.service import MapTools, ToolResult
from research.sources.places.tool_responses import Area, as_number, as_text, format_gcj02, place_point, point_label

DISTINCT_PLACE_METRES = 5_000  # results for one address this far apart are different places
RADIUS_FACTORS = (2.5, 6.0)  # wider searches if nothing is within the radius
MAX_CANDIDATES = 4  # places listed in a question to the user
MAX_PLACES = 20
_BRANCH_SUFFIX = re.compile(r"[(（].*")
DEFAULT_KEYWORD = "景点"  # searched for if the query names nothing
DEFAULT_RATING = 3.8  # assumed for a place without a rating


PlaceOrPoint = str | Point  # the name of a place, or a point in WGS-84


@dataclass(frozen=True)
class PlaceSearchResult:
    """Result of a place search, best places first, with the tool results it is based on.

    Facts are routes, distances and forecasts in those results; with `facts_first` they are the
    main result and the places accompany them. `is_complete` means that all available details of the places were requested.
    `circles` are the areas searched along a route.
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
    """A point that a query names, with the tool result that it comes from."""

    name: str
    point: Point
    area: Area | None = None
    place: Place | None = None
    results: tuple[ToolResult, ...] = ()

    @property
    def city(self) -> str:
        """City in the form that the tools expect; "" if it is unknown."""
        if self.area:
            return self.area.city or self.area.province
        return self.place.city if self.place else ""

    def to_place(self) -> Place:
        """Return the place at this point, or a new place with its name, point and address."""
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
    """The service does not know the place, but another one may."""


def clarification_error(message_key: str, language: Language, **values: str) -> ServiceError:
    """Return an error that asks the user for a more exact place, with the message `look.KEY`."""
    return ServiceError("unclear", message(f"look.{message_key}", language, **values))


def empty_sample_message(language: Language) -> str:
    """Return the message that the sample has no such place, which does not prove an absence."""
    return message("look.offline none", language)


async def search_places(
    tools: MapTools, place: PlaceOrPoint, keywords: Sequence[str], radius: int
) -> PlaceSearchResult:
    """Search around a place or, if it is a city, within it; `radius` is in metres.

    Raises:
        ServiceError: the service does not respond, or the place must be named more exactly.
    """
    keyword_text = "|".join(keywords)
    location = await locate(tools, place)
    with localise_errors(tools, location.name):
        if not (location.area and location.area.is_region):
            return await search_around(tools, location.point, location.name, keyword_text, radius, location.results)
        city = location.area.adcode or location.area.city
        result = await tools.call("maps_text_search", keywords=keyword_text or DEFAULT_KEYWORD, city=city)
    centre = SearchArea(
        name=location.area.name or location.name,
        lng=location.point.lng,
        lat=location.point.lat,
        radius=round(as_number(result.body.get("radius")) or 0),  # the radius used for the city
    )
    return PlaceSearchResult(rank_places(result.places), centre, (*location.results, result))


async def locate(tools: MapTools, place: PlaceOrPoint) -> NamedPoint:
    """Return the point that a name denotes, by geocoding or else by a search for the name.

    Raises:
        ServiceError: the place is unknown or ambiguous, or the service does not respond.
    """
    if isinstance(place, Point):
        return NamedPoint(point_label(place), place)
    language = tools.language
    if not place.strip():
        raise clarification_error("where", language)
    with localise_errors(tools, place):
        geocoded = await tools.call("maps_geo", address=place)
        is_amap = geocoded.provider == "amap"
        if is_amap and is_outside_coverage(geocoded.areas):
            raise UnknownPlaceError("unclear", message("look.uncovered", language, place=place))
        # Amap ignores unknown parts of an address: 京都清水寺 becomes a temple in China.
        foreign_name = (
            amap_coverage.find_foreign_name(place) if is_amap and amap_coverage.outside_likelihood(place) else ""
        )
        areas = [area for area in geocoded.areas if foreign_name in to_simplified(area.name)]
        if areas or tools.is_offline:
            area = choose_area(areas, place, language)
            return NamedPoint(place, area.point, area, results=(geocoded,))
        result = await tools.call("maps_text_search", keywords=place)
        match = next((match for match in result.places if _has_name(match, place)), None)
        if match is None:
            message_key = "look.uncovered" if foreign_name else "look.unknown"
            raise UnknownPlaceError("unclear", message(message_key, language, place=place))
        return NamedPoint(match.name, place_point(match), place=match, results=(result,))


def _fold_name(name: str) -> str:
    """Return a name normalised for comparison: simplified characters, no case, no white space."""
    return "".join(to_simplified(name).casefold().split())


def _has_name(place: Place, name: str) -> bool:
    """Return whether a place has a name, perhaps preceded by its city; branch names in brackets are
    ignored."""
    full_name, own_name = _fold_name(name), _fold_name(_BRANCH_SUFFIX.sub("", place.name))
    return len(own_name) > 1 and (full_name.endswith(own_name) or own_name.endswith(full_name))


async def find_place(tools: MapTools, place: str) -> PlaceSearchResult:
    """Return a place with its point and address.

    Raises:
        ServiceError: as in `locate`.
    """
    location = await locate(tools, place)
    return PlaceSearchResult((location.to_place(),), None, location.results, is_complete=location.place is not None)


async def find_place_details(tools: MapTools, place: str) -> PlaceSearchResult:
    """Return a place by name with all details that the service has.

    Raises:
        ServiceError: as in `locate`.
    """
    if not place.strip():
        raise clarification_error("where", tools.language)
    with localise_errors(tools, place):
        result = await tools.call("maps_text_search", keywords=place)
    match = next((p for p in result.places if _has_name(p, place) or p.name.startswith(place)), None)
    if match is None:
        return await find_place(tools, place)
    details = await tools.call("maps_search_detail", id=match.id)
    return PlaceSearchResult(
        details.places or (match,), None, (details if details.places else result,), is_complete=True
    )


async def search_around(
    tools: MapTools,
    point: Point,
    name: str,
    keywords: str,
    radius: int,
    results: tuple[ToolResult, ...] = (),
    radius_factors: Sequence[float] = RADIUS_FACTORS,
) -> PlaceSearchResult:
    """Search around a WGS-84 point, and farther away only if nothing is found.

    Args:
        name: name of the point in the result; "" if it has none.
        keywords: search words, separated by "|".
        radius: metres.
        results: earlier tool results that the result is also based on.
        radius_factors: multiples of the radius for the wider searches, of which each counts
            against the daily limit.

    Raises:
        ServiceError: the service does not respond.
    """
    location = format_gcj02(point)
    radii = [radius, *(min(50_000, round(radius * factor)) for factor in radius_factors)]
    for metres in dict.fromkeys(radii):
        result = await tools.call("maps_around_search", location=location, radius=str(metres), keywords=keywords)
        results = (*results, result)
        if result.places or result.unlocated_count:
            break
    requested_radius = radius if metres > radius else 0
    centre = SearchArea(name=name, lng=point.lng, lat=point.lat, radius=metres, requested_radius=requested_radius)
    return PlaceSearchResult(rank_places(result.places, metres), centre, results)


async def search_by_words(tools: MapTools, words: str) -> PlaceSearchResult:
    """Search for places by keywords, without a location."""
    result = await tools.call("maps_text_search", keywords=words)
    return PlaceSearchResult(result.places[:MAX_PLACES], None, (result,))


@contextmanager
def localise_errors(tools: MapTools, place: str) -> Iterator[None]:
    """Replace a tool's "empty" error, written for models, with a message in the user's language."""
    try:
        yield
    except ServiceError as error:
        if error.reason != "empty":
            raise
        text = message("look.offline", tools.language, place=place) if tools.is_offline else ""
        raise ServiceError("empty", text) from None


def is_outside_coverage(areas: Sequence[Area]) -> bool:
    """Return whether all candidates for an address are outside Amap's coverage."""
    return bool(areas) and not any(amap_coverage.is_covered(area.country, area.adcode) for area in areas)


def choose_area(areas: Sequence[Area], place: str, language: Language) -> Area:
    """Return the area that an address denotes.

    Raises:
        ServiceError: the address is ambiguous, larger than a city, or matched to something else.
    """
    if not areas:
        raise UnknownPlaceError("unclear", message("look.unknown", language, place=place))
    first = areas[0]
    others = [area for area in areas if distance_metres(area.point, first.point) > DISTINCT_PLACE_METRES]
    if others:
        labels = dict.fromkeys(_area_label(area, place) for area in (first, *others))
        if len(labels) > 1:
            names = message("mark.list", language).join(list(labels)[:MAX_CANDIDATES])
            raise clarification_error("several", language, place=place, candidates=names)
    if first.is_region and not _is_area_named(first, place):
        raise UnknownPlaceError("unclear", message("look.vague", language, place=place, name=first.name))
    if first.is_too_large:
        raise clarification_error("large", language, place=place, level=first.level)
    return first


def _area_label(area: Area, place: str) -> str:
    """Return a label that distinguishes an area from others of the same name."""
    outer = "".join(dict.fromkeys(filter(None, (area.province, area.city, area.district))))
    return outer + (place if place not in outer else "")


def _is_area_named(area: Area, place: str) -> bool:
    """Return whether an address names the region it was matched to, rather than something within
    it."""
    if not any("\u4e00" <= char <= "\u9fff" for char in place):
        return True  # geocoded names are in Chinese, so they cannot be compared
    stem = place.rstrip("省市区县")
    return bool(stem) and any(
        part.startswith(stem) or any(stem.endswith(part[:n]) for n in range(2, len(part) + 1))
        for part in _area_names(area)
    )


def _area_names(area: Area) -> Iterable[str]:
    return filter(None, (area.province, area.city, area.district, area.name))


def place_key(place: Place) -> str:
    """Return a key that identifies a place across results."""
    return place.id or f"{place.name} {place.lng} {place.lat}"


def deduplicate(places: Iterable[Place]) -> list[Place]:
    """Return each place once, in its first version."""
    by_key: dict[str, Place] = {}
    for place in places:
        by_key.setdefault(place_key(place), place)
    return list(by_key.values())


def rank_places(places: Sequence[Place], radius: int = 0) -> tuple[Place, ...]:
    """Sort places by rating and distance; one radius counts as half a rating point."""

    def score(place: Place) -> float:
        far = (place.distance or 0) / radius if radius else 0.0
        return 0.5 * far - (place.rating or DEFAULT_RATING)

    return tuple(sorted(deduplicate(places), key=score)[:MAX_PLACES])
