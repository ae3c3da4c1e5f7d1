"""Client of Amap's REST API: requests, empty values and error codes. Needs a key.

Amap uses GCJ-02 only: points in arguments and results are "lng,lat" strings in that system, and
every result declares it. Amap requires the key in each URL; it is kept out of messages, logs and
exceptions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx

from research.core.coordinates import amap_coordinate_system
from research.core.errors import ServiceError, connection_hint, error_from_status, register_secrets
from research.core.json_values import as_object, keep_objects
from research.core.records import FailureHint, FailureReason
from research.http.lazy_client import LazyClient
from research.sources.places import kinds
from research.sources.places.tool_responses import MAX_PHOTOS, as_integer, as_number, as_text, parse_lng_lat
from research.sources.places.tools import RoutingMode

BASE_URL = "https://restapi.amap.com"
USER_AGENT = "Sightline/1.0"
_FIRST_PAGE = {"extensions": "all", "offset": "25", "page": "1"}  # 25 places are Amap's maximum

_ROUTE_PATHS: dict[RoutingMode, str] = {
    "walking": "v3/direction/walking",
    "driving": "v3/direction/driving",
    "bicycling": "v4/direction/bicycling",
    "transit": "v3/direction/transit/integrated",
}
# Amap's error codes. Any other code is classified by its first digit, see `_service_error`.
_DAILY_QUOTA_CODES = frozenset({"10003", "10010", "10029", "10044", "10045", "40000", "40002", "40003"})
_RATE_LIMIT_CODES = frozenset({"10004", "10014", "10019", "10020", "10021"})
_KEY_CODES = frozenset({"10001", "10005", "10006", "10007", "10008", "10009", "10012", "10013", "10026"})
_BUSY_CODES = frozenset({"10015", "10016", "10017", "20003"})
_NO_RESULT_CODES = frozenset({"20800", "20801", "20802", "20803", "30001"})


class AmapBackend:
    """Amap as a map back end, with one shared HTTP client.

    Each method makes one call, which counts as one unit of the quota. A list may be empty; a
    missing single item (a place by id, a route, a city's weather) raises ServiceError with the
    reason "empty".
    """

    name = "amap"
    description = "Places in mainland China, Hong Kong and Macau, by Amap, in GCJ-02."
    is_sample = False

    def __init__(self, key: str, *, base_url: str = BASE_URL, timeout_seconds: float = 10.0) -> None:
        self._key = key
        self._base_url = base_url.strip().rstrip("/") or BASE_URL
        self._timeout_seconds = timeout_seconds
        self._client = LazyClient(headers={"User-Agent": USER_AGENT}, timeout=timeout_seconds)
        register_secrets([key])
        logger = logging.getLogger("httpx")  # at INFO it logs every URL, with the key
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Return the locations of an address or landmark; `level` is the size of the match."""
        try:
            body = await self._request("v3/geocode/geo", address=address, city=city)
        except ServiceError as error:
            if error.reason != "empty":  # Amap's response to some unknown addresses
                raise
            body = {}
        areas = [_parse_area(row) for row in keep_objects(body.get("geocodes")) if _parse_location(row)]
        return self._with_source({"return": areas})

    async def reverse_geocode(self, location: str) -> dict[str, Any]:
        """Return the address at a point."""
        body = await self._request("v3/geocode/regeo", location=location)
        address = as_object(body.get("regeocode"))
        components = as_object(address.get("addressComponent"))
        if not as_text(address.get("formatted_address")) and not as_text(components.get("province")):
            raise ServiceError("empty", "Amap: no address at this point")
        street_number = as_object(components.get("streetNumber"))
        names = ("country", "province", "city", "citycode", "district", "adcode", "township")
        return self._with_source(
            {"formatted_address": as_text(address.get("formatted_address"))}
            | {name: as_text(components.get(name)) for name in names}
            | {"city": as_text(components.get("city")) or as_text(components.get("province"))}
            | {"street": as_text(street_number.get("street")), "number": as_text(street_number.get("number"))}
            | {"location": location}
        )

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Return places around a point with full details, nearest first."""
        body = await self._request(
            "v3/place/around",
            location=location,
            radius=str(radius),
            keywords=keywords,
            types=_type_codes(keywords),
            sortrule="distance",
            **_FIRST_PAGE,
        )
        return self._build_places(body)

    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Return places that match keywords; with a city, only those in it."""
        body = await self._request(
            "v3/place/text",
            keywords=keywords,
            city=city,
            types=types or _type_codes(keywords),
            citylimit="true" if city else "",
            **_FIRST_PAGE,
        )
        return self._build_places(body)

    async def fetch_details(self, id: str) -> dict[str, Any]:
        """Return a place by its id."""
        body = await self._request("v3/place/detail", id=id, extensions="all")
        for row in keep_objects(body.get("pois")):
            if _parse_location(row):
                return self._with_source(_parse_place(row))
        raise ServiceError("empty", "Amap: no place has this id")

    async def fetch_route(
        self, mode: RoutingMode, origin: str, destination: str, city: str = "", cityd: str = ""
    ) -> dict[str, Any]:
        """Return the routes between two points; public transport needs the cities of both."""
        extensions = "base" if mode == "driving" else ""
        body = await self._request(
            _ROUTE_PATHS[mode], origin=origin, destination=destination, city=city, cityd=cityd, extensions=extensions
        )
        route = as_object(body.get("route")) or as_object(body.get("data"))
        key = "transits" if "transits" in route else "paths"
        routes = [_drop_empty(_convert_numbers(item)) for item in keep_objects(route.get(key))]
        if not routes:
            raise ServiceError("empty", "Amap: no route between these points")
        return self._with_source({"route": {"origin": origin, "destination": destination, key: routes}})

    async def measure_distances(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Return metres and seconds from each of several points to one destination."""
        body = await self._request("v3/distance", origins=origins, destination=destination, type=type)
        results = [
            {
                "origin_id": as_text(row.get("origin_id")),
                "dest_id": as_text(row.get("dest_id")),
                "distance": as_integer(row.get("distance")),
                "duration": as_integer(row.get("duration")),
            }
            for row in keep_objects(body.get("results"))
        ]
        return self._with_source({"results": results})

    async def fetch_forecast(self, city: str) -> dict[str, Any]:
        """Return the forecast for a city, given by name or adcode."""
        body = await self._request("v3/weather/weatherInfo", city=city, extensions="all")
        for row in keep_objects(body.get("forecasts")):
            if casts := keep_objects(row.get("casts")):
                header = {name: as_text(row.get(name)) for name in ("city", "adcode", "reporttime")}
                return self._with_source(header | {"forecasts": _drop_empty(casts)})
        raise ServiceError("empty", "Amap: no weather for this city")

    async def locate_ip(self, ip: str) -> dict[str, Any]:
        """Return the approximate location of an IP address."""
        body = await self._request("v3/ip", ip=ip)
        names = ("province", "city", "adcode", "rectangle")
        area = {name: as_text(body.get(name)) for name in names}
        if not area["adcode"]:
            raise ServiceError("empty", "Amap: no place for this IP address")
        return self._with_source(area)

    async def close(self) -> None:
        await self._client.close()

    # Requests

    async def _request(self, path: str, **parameters: str) -> dict[str, Any]:
        """Send a request and return the parsed body.

        Raises:
            ServiceError: Amap rejects the request or is unreachable, or the response is unreadable.
        """
        non_empty = {name: value for name, value in parameters.items() if value}
        response = await self._send(path, non_empty | {"key": self._key, "output": "JSON"})
        if response.status_code >= 300:
            raise error_from_status(response.status_code, "Amap", response.headers)
        return _parse_body(response)

    async def _send(self, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """Send a request, converting httpx exceptions to ServiceError.

        The error is raised outside the handlers, since an httpx exception contains the URL with the
        key and would remain reachable as the context of ours.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._client.open().get(f"{self._base_url}/{path}", params=parameters)
        except (TimeoutError, httpx.TimeoutException):
            text = f"Amap: no answer within {self._timeout_seconds:g} s"
            failure = ServiceError("timeout", text, is_retryable=True)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            failure = ServiceError("refused", "Amap: the address cannot be used", hint="endpoint")
        except httpx.DecodingError:
            failure = ServiceError("malformed", "Amap: the answer cannot be read", hint="endpoint")
        except httpx.HTTPError as error:
            text = f"Amap: no connection ({type(error).__name__})"
            failure = ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True)
        raise failure

    # Results

    def _build_places(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._with_source(
            {"pois": [_parse_place(row) for row in keep_objects(body.get("pois")) if _parse_location(row)]}
        )

    def _with_source(self, result: dict[str, Any]) -> dict[str, Any]:
        """Add the source and the coordinate system to a result."""
        return result | {"crs": "gcj02", "source": self.name, "sample": self.is_sample}


def _parse_body(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON body of a response.

    Raises:
        ServiceError: the body is not Amap's JSON, or contains an error code.
    """
    try:
        parsed = response.json()
    except (ValueError, RecursionError):
        parsed = None
    body = as_object(parsed)
    if "errcode" in body:  # version 4 of the API
        succeeded, code, info = as_text(body["errcode"]) == "0", body["errcode"], body.get("errmsg")
    elif "status" in body:
        succeeded, code, info = as_text(body["status"]) == "1", body.get("infocode"), body.get("info")
    else:
        text = f"Amap: HTTP {response.status_code} without the JSON asked for"
        raise ServiceError("malformed", text, hint="endpoint")
    if not succeeded:
        raise _service_error(as_text(code), as_text(info))
    return body


def _service_error(code: str, info: str) -> ServiceError:
    """Convert an error code of Amap to a ServiceError."""
    reason: FailureReason = "refused"
    hint: FailureHint = ""
    if code in _DAILY_QUOTA_CODES or code in _RATE_LIMIT_CODES:
        reason = "quota"
    elif code in _KEY_CODES:
        hint = "key"
    elif code in _NO_RESULT_CODES:
        reason = "empty"
    elif code in _BUSY_CODES or code.startswith("3"):
        reason = "unavailable"
    is_retryable = code in _RATE_LIMIT_CODES or reason == "unavailable"
    retry_after = 1.0 if code in _RATE_LIMIT_CODES else None
    description = info or "no reason given"
    return ServiceError(
        reason,
        f"Amap: {description} ({code or 'no code'})",
        hint=hint,
        is_retryable=is_retryable,
        retry_after_seconds=retry_after,
    )


# Values in responses: any scalar may be [] for "empty", and any field may be missing


def _type_codes(keywords: str) -> str:
    """Return the type codes for several keywords joined by "|", or "" to search by words only.

    A search by words also matches names, such as a car park named after a museum. A single keyword,
    and keywords without a code, are left to Amap's own matching.
    """
    words = [word.strip() for word in keywords.split("|") if word.strip()]
    return "|".join(kinds.find_codes(words)) if len(words) > 1 else ""


def _parse_place(row: Mapping[str, Any]) -> dict[str, Any]:
    details = as_object(row.get("biz_ext"))
    rating, cost = as_number(details.get("rating")), as_number(details.get("cost"))
    urls = (as_text(photo.get("url")) for photo in keep_objects(row.get("photos")))
    return {
        "id": as_text(row.get("id")),
        "name": as_text(row.get("name")),
        "location": _parse_location(row),
        "crs": amap_coordinate_system(as_text(row.get("adcode")), as_text(row.get("pname"))),
        "type": as_text(row.get("type")),
        "typecode": as_text(row.get("typecode")),
        "address": as_text(row.get("address")),
        "district": as_text(row.get("adname")),
        "city": as_text(row.get("cityname")) or as_text(row.get("pname")),
        "province": as_text(row.get("pname")),
        "area": as_text(row.get("business_area")),
        "distance": as_integer(row.get("distance")),
        "rating": rating if rating and 0 < rating <= 5 else None,
        "cost": cost if cost and cost > 0 else None,
        "hours": as_text(details.get("opentime2")) or as_text(details.get("open_time")),
        "phone": as_text(row.get("tel")),
        "photos": [url for url in urls if url.startswith(("http://", "https://"))][:MAX_PHOTOS],
    }


def _parse_area(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("formatted_address", "country", "province", "city", "citycode", "district", "street",
             "number", "adcode", "level")  # fmt: skip
    area: dict[str, Any] = {name: as_text(row.get(name)) for name in names}
    system = amap_coordinate_system(area["adcode"], area["province"], area["country"])
    return area | {"location": _parse_location(row), "crs": system}


def _parse_location(row: Mapping[str, Any]) -> str:
    """Return the point of a row as "lng,lat", or "" if it has no valid point."""
    text = as_text(row.get("location"))
    return text if parse_lng_lat(text) else ""


_NUMERIC_FIELDS = frozenset({"distance", "duration", "walking_distance", "tolls", "toll_distance"})


def _convert_numbers(value: Any) -> Any:
    """Convert distances and durations to integers; some endpoints return them as strings."""
    if isinstance(value, list):
        return [_convert_numbers(item) for item in value]
    if isinstance(value, dict):
        return {
            name: as_integer(item) if name in _NUMERIC_FIELDS else _convert_numbers(item)
            for name, item in value.items()
        }
    return value


def _drop_empty(value: Any) -> Any:
    """Return a value without empty fields at any depth."""
    if isinstance(value, list):
        return [_drop_empty(item) for item in value]
    if isinstance(value, dict):
        fields = {name: _drop_empty(item) for name, item in value.items()}
        return {name: item for name, item in fields.items() if item not in ("", None, [], {})}
    return value
