"""Amap's map tools over any back end: their names, arguments and descriptions.

Arguments are checked before a request, with error messages that a model can act on.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal, Protocol

from pydantic import BeforeValidator, Field

MAX_TEXT_CHARS = 200  # of an address or of keywords
MAX_RADIUS_METRES = 50_000
MAX_ORIGINS = 100
RoutingMode = Literal["walking", "driving", "bicycling", "transit"]
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NULL_WORDS = frozenset({"undefined", "null", "none", "nan"})


class MapBackend(Protocol):
    """Interface of the map back ends.

    Points are "lng,lat" in arguments and results, in the coordinate system that `description` and
    each result (as `crs`) declare. Results have the fields of Amap's. Every method raises
    ServiceError if there is no result.
    """

    name: str
    description: str
    is_sample: bool

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]:
        """Return the areas and points that an address may denote, as `return`."""

    async def reverse_geocode(self, location: str) -> dict[str, Any]:
        """Return the address at a point."""

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        """Return the places within `radius` metres of a point, nearest first, as `pois`."""

    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]:
        """Return the places that match keywords or types, each separated by "|", as `pois`."""

    async def fetch_details(self, id: str) -> dict[str, Any]:
        """Return all details of a place."""

    async def fetch_route(
        self, mode: RoutingMode, origin: str, destination: str, city: str = "", cityd: str = ""
    ) -> dict[str, Any]:
        """Return routes as `route`; `city` and `cityd` are the cities of the two points, for transit only."""

    async def measure_distances(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]:
        """Return metres and seconds from each of the origins, separated by "|", as `results`.

        `type` is 0 (straight line), 1 (driving) or 3 (walking).
        """

    async def fetch_forecast(self, city: str) -> dict[str, Any]:
        """Return the weather of the next days in a city, given by name or adcode, as `forecasts`."""

    async def locate_ip(self, ip: str) -> dict[str, Any]:
        """Return the city of an IP address."""

    async def close(self) -> None:
        """Close the connections."""


# Arguments: each check returns the normalised value or raises ValueError with the expected form


def _check_text(value: object) -> str:
    """Return a text with normalised white space. Models may send numbers for texts."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a text")
    text = " ".join(str(value).split())
    if text.lower() in _NULL_WORDS:
        raise ValueError(f"is {text!r}, which is no value")
    if len(text) > MAX_TEXT_CHARS:
        raise ValueError(f"is too long: at most {MAX_TEXT_CHARS} characters")
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed")
    return text


def _check_required_text(value: object) -> str:
    if text := _check_text(value):
        return text
    raise ValueError("must not be empty")


def _check_point(value: object) -> str:
    """Return a point in Amap's form: six decimals, without spaces."""
    text = _check_required_text(value).replace("，", ",")
    try:
        lng, lat = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"is {text!r}; it must be lng,lat such as 116.410886,39.911510") from None
    if abs(lng) <= 90 < abs(lat) <= 180:
        raise ValueError(f"is {text!r}: longitude comes first, as in 116.410886,39.911510")
    if not (abs(lng) <= 180 and abs(lat) <= 90):
        raise ValueError(f"is {text!r}: longitude is from -180 to 180, latitude from -90 to 90")
    return f"{lng:.6f},{lat:.6f}"


def _check_points(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be points such as 120.1,30.2|120.2,30.3")
    parts = value.split("|")
    if len(parts) > MAX_ORIGINS:
        raise ValueError(f"has {len(parts)} points; at most {MAX_ORIGINS} are possible")
    return "|".join(_check_point(part) for part in parts)


def _check_radius(value: object) -> str:
    text = _check_text(value) or "1000"
    try:
        metres = float(text)
    except ValueError:
        metres = 0
    if not 1 <= metres <= MAX_RADIUS_METRES:
        raise ValueError(f"is {text!r}; it must be a number of metres from 1 to {MAX_RADIUS_METRES}")
    return str(round(metres))


def _check_distance_type(value: object) -> str:
    text = _check_text(value) or "1"
    if text not in ("0", "1", "3"):
        raise ValueError(f"is {text!r}; it must be 0 (straight line), 1 (driving) or 3 (walking)")
    return text


def _check_place_id(value: object) -> str:
    if _ID.fullmatch(text := _check_required_text(value)):
        return text
    raise ValueError("must be the id of a place, as a search gives it")


def _check_ip_address(value: object) -> str:
    text = _check_required_text(value)
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ValueError(f"is {text!r}; it must be an IPv4 address such as 114.247.50.2") from None


_LNG_LAT = "degrees as the other tools answer them, longitude first: 经度,纬度"
RequiredText = Annotated[str, BeforeValidator(_check_required_text)]
OptionalText = Annotated[str, BeforeValidator(_check_text)]
PointText = Annotated[str, BeforeValidator(_check_point), Field(description=_LNG_LAT)]
PointsText = Annotated[str, BeforeValidator(_check_points), Field(description=f"{_LNG_LAT}, parted by |")]
RadiusText = Annotated[str, BeforeValidator(_check_radius), Field(description="metres, 1 to 50000")]
DistanceType = Annotated[
    str,
    BeforeValidator(_check_distance_type),
    Field(description="0 straight line, 1 driving, 3 walking"),
]
PlaceId = Annotated[str, BeforeValidator(_check_place_id), Field(description="id from a search")]
IPAddress = Annotated[str, BeforeValidator(_check_ip_address), Field(description="IPv4 address")]
KeywordsText = Annotated[str, BeforeValidator(_check_text), Field(description="words; | means or")]


class BackendTools:
    """The map tools over one back end. Their docstrings are the descriptions that a model reads."""

    def __init__(self, backend: MapBackend) -> None:
        self._backend = backend

    async def maps_geo(self, address: RequiredText, city: OptionalText = "") -> dict[str, Any]:
        """将详细的结构化地址或地标、景区、建筑物名称转换为经纬度坐标；level 表示匹配级别。"""
        return await self._backend.geocode(address, city)

    async def maps_regeocode(self, location: PointText) -> dict[str, Any]:
        """将经纬度坐标转换为所在位置的地址。"""
        return await self._backend.reverse_geocode(location)

    async def maps_around_search(
        self, location: PointText, radius: RadiusText = "1000", keywords: KeywordsText = ""
    ) -> dict[str, Any]:
        """搜索坐标周围 radius 米内的地点，由近到远，含坐标、距离、评分、人均、营业时间和图片。"""
        return await self._backend.search_around(location, int(radius), keywords)

    async def maps_text_search(
        self, keywords: RequiredText, city: OptionalText = "", types: OptionalText = ""
    ) -> dict[str, Any]:
        """按关键词搜索地点，可限定城市和类型，含坐标、评分、人均、营业时间和图片。"""
        return await self._backend.search_text(keywords, city, types)

    async def maps_search_detail(self, id: PlaceId) -> dict[str, Any]:
        """查询搜索所得地点 id 的详细信息。"""
        return await self._backend.fetch_details(id)

    async def maps_direction_walking(self, origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的步行路线。"""
        return await self._backend.fetch_route("walking", origin, destination)

    async def maps_direction_driving(self, origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的驾车路线。"""
        return await self._backend.fetch_route("driving", origin, destination)

    async def maps_bicycling(self, origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的骑行路线。"""
        return await self._backend.fetch_route("bicycling", origin, destination)

    async def maps_direction_transit_integrated(
        self, origin: PointText, destination: PointText, city: RequiredText, cityd: RequiredText
    ) -> dict[str, Any]:
        """规划两点之间的公共交通路线；city 为起点城市，cityd 为终点城市。"""
        return await self._backend.fetch_route("transit", origin, destination, city, cityd)

    async def maps_distance(
        self, origins: PointsText, destination: PointText, type: DistanceType = "1"
    ) -> dict[str, Any]:
        """测量一个或多个起点到一个终点的距离和时间。"""
        return await self._backend.measure_distances(origins, destination, type)

    async def maps_weather(self, city: RequiredText) -> dict[str, Any]:
        """查询城市（名称或 adcode）的天气预报。"""
        return await self._backend.fetch_forecast(city)

    async def maps_ip_location(self, ip: IPAddress) -> dict[str, Any]:
        """查询 IP 地址所在的城市。"""
        return await self._backend.locate_ip(ip)


TOOL_NAMES = tuple(name for name in vars(BackendTools) if name.startswith("maps_"))
