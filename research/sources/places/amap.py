"""Places by Amap's REST API: the wire, its empty values and its error codes. Needs a key.

Amap speaks GCJ-02 and nothing else: points go in and come out as "lng,lat" texts of that system,
and every answer says so. The key travels in each address, as Amap wants it; it is kept out of
messages, of logs and of what an exception holds on to.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import httpx

from research.core.coordinates import amap_coordinate_system
from research.core.errors import ServiceError, connection_hint, error_from_status, register_secrets
from research.core.records import FailureHint, FailureReason
from research.sources.places import kinds

BASE_URL = "https://restapi.amap.com"
USER_AGENT = "Sightline/1.0"
PAGE_SIZE = 25  # the most places that Amap gives in one answer
MAX_PHOTOS = 5

# Codes by which Amap says that a call failed. Others are told by their first digit, see _trouble.
_DAILY_QUOTA_CODES = frozenset({"10003", "10010", "10029", "10044", "10045", "40000", "40002", "40003"})
_RATE_LIMIT_CODES = frozenset({"10004", "10014", "10019", "10020", "10021"})
_KEY_CODES = frozenset({"10001", "10005", "10006", "10007", "10008", "10009", "10012", "10013", "10026"})
_BUSY_CODES = frozenset({"10015", "10016", "10017", "20003"})
_NO_RESULT_CODES = frozenset({"20800", "20801", "20802", "20803", "30001"})


class AmapBackend:
    """One shared client for all calls; every method is one call and so one unit of the quota.

    Lists that are empty are results; one thing that was asked for and is not there (a place by its
    id, a route, the weather of a city) is a `Trouble`, "empty".
    """

    name = "amap"
    description = "Places in mainland China, Hong Kong and Macau, by Amap, in GCJ-02."
    is_sample = False

    def __init__(self, key: str, *, base_url: str = BASE_URL, timeout_seconds: float = 10.0) -> None:
        self._key = key
        self._base_url = base_url.strip().rstrip("/") or BASE_URL
        self._timeout_seconds = timeout_seconds
        self._client: httpx.AsyncClient | None = None
        register_secrets([key])
        logger = logging.getLogger("httpx")  # at INFO it writes every address
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Where an address or a landmark is; `level` says how large a thing was found."""
        try:
            body = await self._request("v3/geocode/geo", address=address, city=city)
        except ServiceError as trouble:
            if trouble.reason != "empty":  # so Amap says of some addresses that it knows none
                raise
            body = {}
        found = [_parse_area(row) for row in _as_rows(body.get("geocodes")) if _parse_location(row)]
        return self._with_source({"return": found})

    async def reverse_geocode(self, location: str) -> dict[str, Any]:
        """The address at a point."""
        body = await self._request("v3/geocode/regeo", location=location)
        found = _as_mapping(body.get("regeocode"))
        parts = _as_mapping(found.get("addressComponent"))
        if not _as_text(found.get("formatted_address")) and not _as_text(parts.get("province")):
            raise ServiceError("empty", "Amap: no address at this point")
        number = _as_mapping(parts.get("streetNumber"))
        names = ("country", "province", "city", "citycode", "district", "adcode", "township")
        return self._with_source(
            {"formatted_address": _as_text(found.get("formatted_address"))}
            | {name: _as_text(parts.get(name)) for name in names}
            | {"city": _as_text(parts.get("city")) or _as_text(parts.get("province"))}
            | {"street": _as_text(number.get("street")), "number": _as_text(number.get("number"))}
            | {"location": location}
        )

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Places around a point, the nearest first, with all that Amap knows of each."""
        body = await self._request(
            "v3/place/around",
            location=location,
            radius=str(radius),
            keywords=keywords,
            types=_type_codes(keywords),
            sortrule="distance",
            extensions="all",
            offset=str(PAGE_SIZE),
            page="1",
        )
        return self._build_places(body)

    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Places by words; with a city only those in it."""
        body = await self._request(
            "v3/place/text",
            keywords=keywords,
            city=city,
            types=types or _type_codes(keywords),
            citylimit="true" if city else "",
            extensions="all",
            offset=str(PAGE_SIZE),
            page="1",
        )
        return self._build_places(body)

    async def fetch_details(self, id: str) -> dict[str, Any]:
        """One place by its id."""
        body = await self._request("v3/place/detail", id=id, extensions="all")
        for row in _as_rows(body.get("pois")):
            if _parse_location(row):
                return self._with_source(_parse_place(row))
        raise ServiceError("empty", "Amap: no place has this id")

    async def fetch_walking_route(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._fetch_route("v3/direction/walking", origin, destination)

    async def fetch_driving_route(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._fetch_route("v3/direction/driving", origin, destination, extensions="base")

    async def fetch_cycling_route(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._fetch_route("v4/direction/bicycling", origin, destination)

    async def fetch_transit_route(self, origin: str, destination: str, city: str, cityd: str) -> dict[str, Any]:
        return await self._fetch_route("v3/direction/transit/integrated", origin, destination, city=city, cityd=cityd)

    async def measure_distances(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Metres and seconds from each of several points to one."""
        body = await self._request("v3/distance", origins=origins, destination=destination, type=type)
        results = [
            {
                "origin_id": _as_text(row.get("origin_id")),
                "dest_id": _as_text(row.get("dest_id")),
                "distance": _as_integer(row.get("distance")),
                "duration": _as_integer(row.get("duration")),
            }
            for row in _as_rows(body.get("results"))
        ]
        return self._with_source({"results": results})

    async def fetch_forecast(self, city: str) -> dict[str, Any]:
        """The forecast for a city, by its name or its adcode."""
        body = await self._request("v3/weather/weatherInfo", city=city, extensions="all")
        for row in _as_rows(body.get("forecasts")):
            if casts := _as_rows(row.get("casts")):
                told = {name: _as_text(row.get(name)) for name in ("city", "adcode", "reporttime")}
                return self._with_source(told | {"forecasts": _drop_empty(casts)})
        raise ServiceError("empty", "Amap: no weather for this city")

    async def locate_ip(self, ip: str) -> dict[str, Any]:
        """Where about an address of the internet is."""
        body = await self._request("v3/ip", ip=ip)
        names = ("province", "city", "adcode", "rectangle")
        found = {name: _as_text(body.get(name)) for name in names}
        if not found["adcode"]:
            raise ServiceError("empty", "Amap: no place for this IP address")
        return self._with_source(found)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    # The wire

    async def _fetch_route(self, path: str, origin: str, destination: str, **extra: str) -> dict[str, Any]:
        body = await self._request(path, origin=origin, destination=destination, **extra)
        route = _as_mapping(body.get("route")) or _as_mapping(body.get("data"))
        ways = "transits" if "transits" in route else "paths"
        found = [_drop_empty(_convert_numbers(way)) for way in _as_rows(route.get(ways))]
        if not found:
            raise ServiceError("empty", "Amap: no route between these points")
        told = {"origin": origin, "destination": destination, ways: found}
        return self._with_source({"route": told})

    async def _request(self, path: str, **parameters: str) -> dict[str, Any]:
        """What Amap answers.

        Raises:
            Trouble: Amap refuses, or cannot be reached or read.
        """
        given = {name: value for name, value in parameters.items() if value}
        response = await self._send(path, given | {"key": self._key, "output": "JSON"})
        if response.status_code >= 300:
            raise error_from_status(response.status_code, "Amap", response.headers)
        return _parse_body(response)

    async def _send(self, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """Raises from outside of the handlers: what httpx raises holds the address with the key,
        and would stay in reach as the context of our own exception.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._get_client().get(f"{self._base_url}/{path}", params=parameters)
        except (TimeoutError, httpx.TimeoutException):
            text = f"Amap: no answer within {self._timeout_seconds:g} s"
            trouble = ServiceError("timeout", text, is_retryable=True)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            trouble = ServiceError("refused", "Amap: the address cannot be used", hint="endpoint")
        except httpx.DecodingError:
            trouble = ServiceError("malformed", "Amap: the answer cannot be read", hint="endpoint")
        except httpx.HTTPError as error:
            text = f"Amap: no connection ({type(error).__name__})"
            trouble = ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True)
        raise trouble

    def _get_client(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                headers={"User-Agent": USER_AGENT}, timeout=self._timeout_seconds, verify=_ssl_context()
            )
        return self._client

    # Results

    def _build_places(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._with_source(
            {"pois": [_parse_place(row) for row in _as_rows(body.get("pois")) if _parse_location(row)]}
        )

    def _with_source(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result with who says it and in which coordinates."""
        return result | {"crs": "gcj02", "source": self.name, "sample": self.is_sample}


@lru_cache(1)
def _ssl_context() -> ssl.SSLContext:
    """Whose certificates count: reading them takes a while, so it is done once."""
    return httpx.create_ssl_context()


def _parse_body(response: httpx.Response) -> dict[str, Any]:
    """The JSON of an answer that says of itself that all went well."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    said = _as_mapping(body)
    if "errcode" in said:  # the fourth version of the API
        well, code, info = _as_text(said["errcode"]) == "0", said["errcode"], said.get("errmsg")
    elif "status" in said:
        well, code, info = _as_text(said["status"]) == "1", said.get("infocode"), said.get("info")
    else:
        text = f"Amap: HTTP {response.status_code} without the JSON asked for"
        raise ServiceError("malformed", text, hint="endpoint")
    if not well:
        raise _service_error(_as_text(code), _as_text(info))
    return said


def _service_error(code: str, info: str) -> ServiceError:
    """The trouble that a code of Amap's tells of."""
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
    again = code in _RATE_LIMIT_CODES or reason == "unavailable"
    after = 1.0 if code in _RATE_LIMIT_CODES else None
    told = info or "no reason given"
    return ServiceError(
        reason, f"Amap: {told} ({code or 'no code'})", hint=hint, is_retryable=again, retry_after_seconds=after
    )


# What Amap sends: any scalar may be [] for "empty", and any field may be missing


def _type_codes(keywords: str) -> str:
    """The codes of the kinds that several keywords ask for: by words alone, a car park that is called
    after a museum is one. One keyword is left to Amap, and so are keywords that have no code."""
    words = [word.strip() for word in keywords.split("|") if word.strip()]
    return "|".join(kinds.find_codes(words)) if len(words) > 1 else ""


def _parse_place(row: Mapping[str, Any]) -> dict[str, Any]:
    deep = _as_mapping(row.get("biz_ext"))
    rating, cost = _as_number(deep.get("rating")), _as_number(deep.get("cost"))
    urls = (_as_text(photo.get("url")) for photo in _as_rows(row.get("photos")))
    return {
        "id": _as_text(row.get("id")),
        "name": _as_text(row.get("name")),
        "location": _parse_location(row),
        "crs": amap_coordinate_system(_as_text(row.get("adcode")), _as_text(row.get("pname"))),
        "type": _as_text(row.get("type")),
        "typecode": _as_text(row.get("typecode")),
        "address": _as_text(row.get("address")),
        "district": _as_text(row.get("adname")),
        "city": _as_text(row.get("cityname")) or _as_text(row.get("pname")),
        "province": _as_text(row.get("pname")),
        "area": _as_text(row.get("business_area")),
        "distance": _as_integer(row.get("distance")),
        "rating": rating if rating and 0 < rating <= 5 else None,
        "cost": cost if cost and cost > 0 else None,
        "hours": _as_text(deep.get("opentime2")) or _as_text(deep.get("open_time")),
        "phone": _as_text(row.get("tel")),
        "photos": [url for url in urls if url.startswith(("http://", "https://"))][:MAX_PHOTOS],
    }


def _parse_area(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("formatted_address", "country", "province", "city", "citycode", "district", "street",
             "number", "adcode", "level")  # fmt: skip
    told: dict[str, Any] = {name: _as_text(row.get(name)) for name in names}
    system = amap_coordinate_system(told["adcode"], told["province"], told["country"])
    return told | {"location": _parse_location(row), "crs": system}


def _parse_location(row: Mapping[str, Any]) -> str:
    """The point of a row as "lng,lat"; "" if it has none that is on the earth."""
    text = _as_text(row.get("location"))
    lng, _, lat = text.partition(",")
    east, north = _as_number(lng), _as_number(lat)
    on_earth = east is not None and north is not None and abs(east) <= 180 and abs(north) <= 90
    return text if on_earth else ""


def _as_rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _as_mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_text(value: object) -> str:
    """A scalar as one line of text; "" for Amap's `[]` and whatever else is no scalar."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def _as_number(value: object) -> float | None:
    try:
        number = float(_as_text(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _as_integer(value: object) -> int | None:
    number = _as_number(value)
    return None if number is None else round(number)


_NUMERIC_FIELDS = frozenset({"distance", "duration", "walking_distance", "tolls", "toll_distance"})


def _convert_numbers(value: Any) -> Any:
    """Distances and times as numbers, which are texts on some paths and numbers on others."""
    if isinstance(value, list):
        return [_convert_numbers(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _as_integer(item) if name in _NUMERIC_FIELDS else _convert_numbers(item)
            for name, item in value.items()
        }
    return value


def _drop_empty(value: Any) -> Any:
    """The value without its empty fields, however deep they are."""
    if isinstance(value, list):
        return [_drop_empty(item) for item in value]
    if isinstance(value, dict):
        kept = {name: _drop_empty(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in ("", None, [], {})}
    return value
