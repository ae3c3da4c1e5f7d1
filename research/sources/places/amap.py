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

from research.core.coordinates import amap_system
from research.core.errors import Trouble, conceal, connection_hint, of_status
from research.core.records import Hint, Reason
from research.sources.places import kinds

BASE_URL = "https://restapi.amap.com"
AGENT = "Sightline/1.0"
PAGE = 25  # the most places that Amap gives in one answer
PHOTOS = 5

# Codes by which Amap says that a call failed. Others are told by their first digit, see _trouble.
_DAILY = frozenset({"10003", "10010", "10029", "10044", "10045", "40000", "40002", "40003"})
_RATE = frozenset({"10004", "10014", "10019", "10020", "10021"})
_KEY = frozenset({"10001", "10005", "10006", "10007", "10008", "10009", "10012", "10013", "10026"})
_BUSY = frozenset({"10015", "10016", "10017", "20003"})
_NOTHING = frozenset({"20800", "20801", "20802", "20803", "30001"})


class Amap:
    """One shared client for all calls; every method is one call and so one unit of the quota.

    Lists that are empty are results; one thing that was asked for and is not there (a place by its
    id, a route, the weather of a city) is a `Trouble`, "empty".
    """

    name = "amap"
    about = "Places in mainland China, Hong Kong and Macau, by Amap, in GCJ-02."
    sample = False

    def __init__(self, key: str, *, base_url: str = BASE_URL, timeout: float = 10.0) -> None:
        self._key = key
        self._base_url = base_url.strip().rstrip("/") or BASE_URL
        self._timeout = timeout
        self._client: httpx.AsyncClient | None = None
        conceal([key])
        logger = logging.getLogger("httpx")  # at INFO it writes every address
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Where an address or a landmark is; `level` says how large a thing was found."""
        try:
            body = await self._get("v3/geocode/geo", address=address, city=city)
        except Trouble as trouble:
            if trouble.reason != "empty":  # so Amap says of some addresses that it knows none
                raise
            body = {}
        found = [_area(row) for row in _rows(body.get("geocodes")) if _location(row)]
        return self._said({"return": found})

    async def regeocode(self, location: str) -> dict[str, Any]:
        """The address at a point."""
        body = await self._get("v3/geocode/regeo", location=location)
        found = _mapping(body.get("regeocode"))
        parts = _mapping(found.get("addressComponent"))
        if not _text(found.get("formatted_address")) and not _text(parts.get("province")):
            raise Trouble("empty", "Amap: no address at this point")
        number = _mapping(parts.get("streetNumber"))
        names = ("country", "province", "city", "citycode", "district", "adcode", "township")
        return self._said(
            {"formatted_address": _text(found.get("formatted_address"))}
            | {name: _text(parts.get(name)) for name in names}
            | {"city": _text(parts.get("city")) or _text(parts.get("province"))}
            | {"street": _text(number.get("street")), "number": _text(number.get("number"))}
            | {"location": location}
        )

    async def around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Places around a point, the nearest first, with all that Amap knows of each."""
        body = await self._get(
            "v3/place/around",
            location=location,
            radius=str(radius),
            keywords=keywords,
            types=_types(keywords),
            sortrule="distance",
            extensions="all",
            offset=str(PAGE),
            page="1",
        )
        return self._places(body)

    async def text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Places by words; with a city only those in it."""
        body = await self._get(
            "v3/place/text",
            keywords=keywords,
            city=city,
            types=types or _types(keywords),
            citylimit="true" if city else "",
            extensions="all",
            offset=str(PAGE),
            page="1",
        )
        return self._places(body)

    async def detail(self, id: str) -> dict[str, Any]:
        """One place by its id."""
        body = await self._get("v3/place/detail", id=id, extensions="all")
        for row in _rows(body.get("pois")):
            if _location(row):
                return self._said(_place(row))
        raise Trouble("empty", "Amap: no place has this id")

    async def walking(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._route("v3/direction/walking", origin, destination)

    async def driving(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._route("v3/direction/driving", origin, destination, extensions="base")

    async def bicycling(self, origin: str, destination: str) -> dict[str, Any]:
        return await self._route("v4/direction/bicycling", origin, destination)

    async def transit(self, origin: str, destination: str, city: str, cityd: str) -> dict[str, Any]:
        return await self._route(
            "v3/direction/transit/integrated", origin, destination, city=city, cityd=cityd
        )

    async def distance(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Metres and seconds from each of several points to one."""
        body = await self._get("v3/distance", origins=origins, destination=destination, type=type)
        results = [
            {
                "origin_id": _text(row.get("origin_id")),
                "dest_id": _text(row.get("dest_id")),
                "distance": _whole(row.get("distance")),
                "duration": _whole(row.get("duration")),
            }
            for row in _rows(body.get("results"))
        ]
        return self._said({"results": results})

    async def weather(self, city: str) -> dict[str, Any]:
        """The forecast for a city, by its name or its adcode."""
        body = await self._get("v3/weather/weatherInfo", city=city, extensions="all")
        for row in _rows(body.get("forecasts")):
            if casts := _rows(row.get("casts")):
                told = {name: _text(row.get(name)) for name in ("city", "adcode", "reporttime")}
                return self._said(told | {"forecasts": _filled(casts)})
        raise Trouble("empty", "Amap: no weather for this city")

    async def ip(self, ip: str) -> dict[str, Any]:
        """Where about an address of the internet is."""
        body = await self._get("v3/ip", ip=ip)
        names = ("province", "city", "adcode", "rectangle")
        found = {name: _text(body.get(name)) for name in names}
        if not found["adcode"]:
            raise Trouble("empty", "Amap: no place for this IP address")
        return self._said(found)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    # The wire

    async def _route(self, path: str, origin: str, destination: str, **more: str) -> dict[str, Any]:
        body = await self._get(path, origin=origin, destination=destination, **more)
        route = _mapping(body.get("route")) or _mapping(body.get("data"))
        ways = "transits" if "transits" in route else "paths"
        found = [_filled(_numbered(way)) for way in _rows(route.get(ways))]
        if not found:
            raise Trouble("empty", "Amap: no route between these points")
        told = {"origin": origin, "destination": destination, ways: found}
        return self._said({"route": told})

    async def _get(self, path: str, **parameters: str) -> dict[str, Any]:
        """What Amap answers.

        Raises:
            Trouble: Amap refuses, or cannot be reached or read.
        """
        given = {name: value for name, value in parameters.items() if value}
        response = await self._response(path, given | {"key": self._key, "output": "JSON"})
        if response.status_code >= 300:
            raise of_status(response.status_code, "Amap", response.headers)
        return _body(response)

    async def _response(self, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """Raises from outside of the handlers: what httpx raises holds the address with the key,
        and would stay in reach as the context of our own exception.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self._shared().get(f"{self._base_url}/{path}", params=parameters)
        except (TimeoutError, httpx.TimeoutException):
            text = f"Amap: no answer within {self._timeout:g} s"
            trouble = Trouble("timeout", text, again=True)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            trouble = Trouble("refused", "Amap: the address cannot be used", hint="endpoint")
        except httpx.DecodingError:
            trouble = Trouble("malformed", "Amap: the answer cannot be read", hint="endpoint")
        except httpx.HTTPError as error:
            text = f"Amap: no connection ({type(error).__name__})"
            trouble = Trouble("unreachable", text, hint=connection_hint(error), again=True)
        raise trouble

    def _shared(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                headers={"User-Agent": AGENT}, timeout=self._timeout, verify=_trusted()
            )
        return self._client

    # Results

    def _places(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._said(
            {"pois": [_place(row) for row in _rows(body.get("pois")) if _location(row)]}
        )

    def _said(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result with who says it and in which coordinates."""
        return result | {"crs": "gcj02", "source": self.name, "sample": self.sample}


@lru_cache(1)
def _trusted() -> ssl.SSLContext:
    """Whose certificates count: reading them takes a while, so it is done once."""
    return httpx.create_ssl_context()


def _body(response: httpx.Response) -> dict[str, Any]:
    """The JSON of an answer that says of itself that all went well."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    said = _mapping(body)
    if "errcode" in said:  # the fourth version of the API
        well, code, info = _text(said["errcode"]) == "0", said["errcode"], said.get("errmsg")
    elif "status" in said:
        well, code, info = _text(said["status"]) == "1", said.get("infocode"), said.get("info")
    else:
        text = f"Amap: HTTP {response.status_code} without the JSON asked for"
        raise Trouble("malformed", text, hint="endpoint")
    if not well:
        raise _trouble(_text(code), _text(info))
    return said


def _trouble(code: str, info: str) -> Trouble:
    """The trouble that a code of Amap's tells of."""
    reason: Reason = "refused"
    hint: Hint = ""
    if code in _DAILY or code in _RATE:
        reason = "quota"
    elif code in _KEY:
        hint = "key"
    elif code in _NOTHING:
        reason = "empty"
    elif code in _BUSY or code.startswith("3"):
        reason = "unavailable"
    again = code in _RATE or reason == "unavailable"
    after = 1.0 if code in _RATE else None
    told = info or "no reason given"
    return Trouble(
        reason, f"Amap: {told} ({code or 'no code'})", hint=hint, again=again, after=after
    )


# What Amap sends: any scalar may be [] for "empty", and any field may be missing


def _types(keywords: str) -> str:
    """The codes of the kinds that several keywords ask for: by words alone, a car park that is called
    after a museum is one. One keyword is left to Amap, and so are keywords that have no code."""
    words = [word.strip() for word in keywords.split("|") if word.strip()]
    return "|".join(kinds.codes(words)) if len(words) > 1 else ""


def _place(row: Mapping[str, Any]) -> dict[str, Any]:
    deep = _mapping(row.get("biz_ext"))
    rating, cost = _number(deep.get("rating")), _number(deep.get("cost"))
    urls = (_text(photo.get("url")) for photo in _rows(row.get("photos")))
    return {
        "id": _text(row.get("id")),
        "name": _text(row.get("name")),
        "location": _location(row),
        "crs": amap_system(_text(row.get("adcode")), _text(row.get("pname"))),
        "type": _text(row.get("type")),
        "typecode": _text(row.get("typecode")),
        "address": _text(row.get("address")),
        "district": _text(row.get("adname")),
        "city": _text(row.get("cityname")) or _text(row.get("pname")),
        "province": _text(row.get("pname")),
        "area": _text(row.get("business_area")),
        "distance": _whole(row.get("distance")),
        "rating": rating if rating and 0 < rating <= 5 else None,
        "cost": cost if cost and cost > 0 else None,
        "hours": _text(deep.get("opentime2")) or _text(deep.get("open_time")),
        "phone": _text(row.get("tel")),
        "photos": [url for url in urls if url.startswith(("http://", "https://"))][:PHOTOS],
    }


def _area(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("formatted_address", "country", "province", "city", "citycode", "district", "street",
             "number", "adcode", "level")  # fmt: skip
    told: dict[str, Any] = {name: _text(row.get(name)) for name in names}
    system = amap_system(told["adcode"], told["province"], told["country"])
    return told | {"location": _location(row), "crs": system}


def _location(row: Mapping[str, Any]) -> str:
    """The point of a row as "lng,lat"; "" if it has none that is on the earth."""
    text = _text(row.get("location"))
    lng, _, lat = text.partition(",")
    east, north = _number(lng), _number(lat)
    on_earth = east is not None and north is not None and abs(east) <= 180 and abs(north) <= 90
    return text if on_earth else ""


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """A scalar as one line of text; "" for Amap's `[]` and whatever else is no scalar."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def _number(value: object) -> float | None:
    try:
        number = float(_text(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


_COUNTS = frozenset({"distance", "duration", "walking_distance", "tolls", "toll_distance"})


def _numbered(value: Any) -> Any:
    """Distances and times as numbers, which are texts on some paths and numbers on others."""
    if isinstance(value, list):
        return [_numbered(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _whole(item) if name in _COUNTS else _numbered(item)
            for name, item in value.items()
        }
    return value


def _filled(value: Any) -> Any:
    """The value without its empty fields, however deep they are."""
    if isinstance(value, list):
        return [_filled(item) for item in value]
    if isinstance(value, dict):
        kept = {name: _filled(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in ("", None, [], {})}
    return value
