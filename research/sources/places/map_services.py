"""The configured map services, and the choice of the one that covers a place.

With a key Amap is used where it has coverage and OpenStreetMap elsewhere. Without a key
OpenStreetMap is used if the open sources are on, else the sample places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from research.core.coordinates import Point
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Language, Place
from research.sources.places import amap_coverage
from research.sources.places.place_search import (
    PlaceOrPoint,
    UnknownPlaceError,
    clarification_error,
    is_outside_coverage,
)
from research.sources.places.service import MapService, MapTools
from research.sources.places.tool_responses import format_gcj02, point_label


class MapServices:
    """The configured map services, each a `MapService`.

    `amap` is Amap, or the sample if no key is set; `osm` is None if OpenStreetMap is turned off.
    """

    def __init__(self, amap: MapService, osm: MapService | None = None) -> None:
        self.amap = amap
        self.osm = osm

    @property
    def default_service(self) -> MapService:
        """The service for a place whose location is unknown."""
        keyless = self.amap.is_offline or bool(self.amap.missing_setting)
        return self.osm if self.osm and keyless else self.amap

    @property
    def live_services(self) -> tuple[MapService, ...]:
        """The services that are reached over the network, the default first."""
        services = (self.default_service, self.osm)
        return tuple(
            service
            for service in dict.fromkeys(services)
            if service and not (service.is_offline or service.missing_setting)
        )

    async def find_service(self, place: PlaceOrPoint, language: Language, emit: EventEmitter) -> MapService:
        """Return the service that covers a named place or a WGS-84 point.

        Raises:
            ServiceError: no configured service covers it.
        """
        if self.default_service is self.osm:
            return self.default_service
        if self.osm is None and self.amap.is_offline:
            return self.amap  # its errors say that the sample does not contain the place
        if isinstance(place, Point):
            return await self._find_service_at(place, language, emit)
        likelihood = amap_coverage.outside_likelihood(place)
        if self.osm is None:
            if likelihood == "surely":
                raise clarification_error("uncovered", language, place=place)
            return self.amap
        if likelihood in ("", "surely"):
            return self.osm if likelihood else self.amap
        try:
            areas = (await self.osm.call_tool("maps_geo", {"address": place}, emit, language)).areas
        except ServiceError:
            return self.osm if likelihood == "likely" else self.amap
        is_unknown = not areas and likelihood == "likely"
        return self.osm if is_outside_coverage(areas[:1]) or is_unknown else self.amap

    def distance_tools(self, places: Iterable[Place]) -> MapTools:
        """Return the tools that measure distances between places.

        They are OpenStreetMap's if any place comes from it, since that place may be outside Amap's
        coverage.
        """
        osm_service = self.osm if any(place.provider == "osm" for place in places) else None
        return MapTools(osm_service or self.amap)

    def find_fallback(self, service: MapService, error: ServiceError) -> MapService | None:
        """Return a service that may know a place that `service` does not, or None."""
        can_fall_back = isinstance(error, UnknownPlaceError) and service is not self.osm
        return self.osm if can_fall_back else None

    async def _find_service_at(self, point: Point, language: Language, emit: EventEmitter) -> MapService:
        if self.osm is None:
            if amap_coverage.is_outside_china_box(point):
                raise clarification_error("uncovered", language, place=point_label(point))
            return self.amap
        if amap_coverage.is_outside_china_box(point):
            return self.osm
        try:
            result = await self.osm.call_tool("maps_regeocode", {"location": format_gcj02(point)}, emit, language)
        except ServiceError:
            return self.amap
        return self.amap if amap_coverage.is_covered(str(result.body.get("country_code") or "")) else self.osm

    def __iter__(self) -> Iterator[MapService]:
        yield self.amap
        if self.osm:
            yield self.osm

    async def warm(self) -> None:
        """Start the default service. A failed start is reported by the first call."""
        if not self.default_service.missing_setting:
            await self.default_service.warm()

    async def close(self) -> None:
        for service in self:
            await service.close()
