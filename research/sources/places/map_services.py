"""The map services that are set up, and which of them answers for a place.

With a key Amap answers for what it covers, OpenStreetMap for the rest; without one OpenStreetMap for all,
if the open sources are on, and else the sample places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from research.core.coordinates import Point, to_gcj02
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Language, Place
from research.sources.places import coverage
from research.sources.places.place_search import UnknownPlaceError, clarification_error, is_outside_coverage
from research.sources.places.service import MapService


class MapServices:
    """`amap` is Amap, or the sample where no key is set; `osm` is None where it is not to be asked."""

    def __init__(self, amap: MapService, osm: MapService | None = None) -> None:
        self.amap = amap
        self.osm = osm

    @property
    def default_service(self) -> MapService:
        """Who answers for a place of which nothing is known."""
        keyless = self.amap.is_offline or bool(self.amap.missing_setting)
        return self.osm if self.osm and keyless else self.amap

    @property
    def live_services(self) -> tuple[MapService, ...]:
        """Who is asked over the network, the first choice first."""
        found = (self.default_service, self.osm)
        return tuple(one for one in dict.fromkeys(found) if one and not (one.is_offline or one.missing_setting))

    async def find_service(self, place: str | Point, language: Language, emit: EventEmitter) -> MapService:
        """Who covers a named place or a WGS-84 point.

        Raises:
            Trouble: nobody who is set up.
        """
        if self.default_service is self.osm:
            return self.default_service
        if self.osm is None and self.amap.is_offline:
            return self.amap  # the sample says itself what it does not hold
        if isinstance(place, Point):
            return await self._find_service_at(place, language, emit)
        beyond = coverage.outside_likelihood(place)
        if self.osm is None:
            if beyond == "surely":
                raise clarification_error("uncovered", language, place=place)
            return self.amap
        if beyond in ("", "surely"):
            return self.osm if beyond else self.amap
        try:
            found = (await self.osm.call_tool("maps_geo", {"address": place}, emit, language)).areas
        except ServiceError:
            return self.osm if beyond == "likely" else self.amap
        lost = not found and beyond == "likely"
        return self.osm if is_outside_coverage(found[:1]) or lost else self.amap

    def find_distance_service(self, places: Iterable[Place]) -> MapService:
        """Who is asked how far places are apart: nobody but OpenStreetMap of those that it has told,
        which may lie anywhere."""
        told = self.osm if any(place.provider == "osm" for place in places) else None
        return told or self.amap

    def find_fallback(self, service: MapService, error: ServiceError) -> MapService | None:
        """Who may know a place that a service does not; None if nobody."""
        lost = isinstance(error, UnknownPlaceError) and service is not self.osm
        return self.osm if lost else None

    async def _find_service_at(self, point: Point, language: Language, emit: EventEmitter) -> MapService:
        if self.osm is None:
            if coverage.is_surely_outside(point):
                name = f"{point.lat:.5f}, {point.lng:.5f}"
                raise clarification_error("uncovered", language, place=name)
            return self.amap
        if coverage.is_surely_outside(point):
            return self.osm
        try:
            shown = to_gcj02(point)
            given = {"location": f"{shown.lng:.6f},{shown.lat:.6f}"}
            told = await self.osm.call_tool("maps_regeocode", given, emit, language)
        except ServiceError:
            return self.amap
        return self.amap if coverage.is_covered(str(told.body.get("country_code") or "")) else self.osm

    def __iter__(self) -> Iterator[MapService]:
        yield self.amap
        if self.osm:
            yield self.osm

    async def warm(self) -> None:
        """Starts who answers first; one that does not start says why when it is asked."""
        if not self.default_service.missing_setting:
            await self.default_service.warm()

    async def close(self) -> None:
        for service in self:
            await service.close()
