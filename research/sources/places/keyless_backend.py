"""Common parts of the map back ends without a key: straight lines are measured, routes are unknown."""

from __future__ import annotations

from typing import Any

from research.core.coordinates import CoordinateSystem, Point, distance_metres, to_wgs84
from research.core.errors import ServiceError
from research.sources.places.tools import RoutingMode

_ROUTE_NAMES: dict[RoutingMode, str] = {
    "walking": "walking routes",
    "driving": "driving routes",
    "bicycling": "cycling routes",
    "transit": "public transport routes",
}


class KeylessBackend:
    """A map back end without routes, forecasts and locations of IP addresses.

    `coordinate_system` is that of the points in its arguments and results.
    """

    name: str
    coordinate_system: CoordinateSystem
    is_sample: bool

    async def fetch_route(
        self, mode: RoutingMode, origin: str, destination: str, city: str = "", cityd: str = ""
    ) -> dict[str, Any]:
        """Raise ServiceError: routes are not supported."""
        raise self._unsupported(_ROUTE_NAMES[mode])

    async def fetch_forecast(self, city: str) -> dict[str, Any]:
        """Raise ServiceError: forecasts are not supported."""
        raise self._unsupported("weather forecasts")

    async def locate_ip(self, ip: str) -> dict[str, Any]:
        """Raise ServiceError: locations of IP addresses are not supported."""
        raise self._unsupported("locations of IP addresses")

    async def measure_distances(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Return straight-line distances in metres (type 0).

        Raises:
            ServiceError: another type is requested.
        """
        if type != "0":
            raise self._unsupported("road distances, only straight lines (type 0)")
        target = self._parse_point(destination)
        results = [
            {"origin_id": str(n), "dest_id": "1", "distance": round(distance_metres(self._parse_point(origin), target))}
            for n, origin in enumerate(origins.split("|"), 1)
        ]
        return self._with_source({"results": results})

    def _unsupported(self, feature: str) -> ServiceError:
        """Return the error for a request that the back end cannot answer."""
        raise NotImplementedError

    def _parse_point(self, location: str) -> Point:
        """Parse "lng,lat" to a WGS-84 point.

        Raises:
            ServiceError: the text has another form.
        """
        try:
            lng, lat = map(float, location.split(","))
        except ValueError:
            raise ServiceError("refused", f"{location!r} is no point: it must be lng,lat") from None
        return to_wgs84(Point(lng, lat), self.coordinate_system)

    def _with_source(self, result: dict[str, Any]) -> dict[str, Any]:
        """Add the source and the coordinate system to a result."""
        return result | {"crs": self.coordinate_system, "source": self.name, "sample": self.is_sample}
