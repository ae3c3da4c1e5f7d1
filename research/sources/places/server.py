"""MCP server with the tool names and arguments of Amap's own, over Amap, OpenStreetMap or the
sample table.

    python -m research.sources.places.server

runs it over stdio for any client; the application runs it in memory. Arguments are checked before a
request, with error messages that a model can act on. A failed tool reports `reason: message`, with
a reason from `research.core.records`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Annotated, Any, Protocol

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.types import ContentBlock, ToolAnnotations
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from research.core.errors import ServiceError, register_secrets
from research.core.settings import SettingError, Settings, load_settings
from research.core.unknown_methods import reject_unknown_requests
from research.sources.places import osm
from research.sources.places.amap import BASE_URL, AmapBackend
from research.sources.places.offline import OfflineBackend

MAX_TEXT_CHARS = 200  # of an address or of keywords
MAX_RADIUS_METRES = 50_000
MAX_ORIGINS = 100
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NULL_WORDS = frozenset({"undefined", "null", "none", "nan"})

log = logging.getLogger(__name__)


class MapBackend(Protocol):
    """Interface of the map back ends.

    Points are "lng,lat" in arguments and results, in the coordinate system that `description` and
    each result declare. Failures are raised as ServiceError.
    """

    name: str
    description: str
    is_sample: bool

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]: ...
    async def reverse_geocode(self, location: str) -> dict[str, Any]: ...
    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]: ...
    async def search_text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]: ...
    async def fetch_details(self, id: str) -> dict[str, Any]: ...
    async def fetch_walking_route(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def fetch_driving_route(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def fetch_cycling_route(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def fetch_transit_route(self, origin: str, destination: str, city: str, cityd: str) -> dict[str, Any]: ...
    async def measure_distances(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]: ...
    async def fetch_forecast(self, city: str) -> dict[str, Any]: ...
    async def locate_ip(self, ip: str) -> dict[str, Any]: ...
    async def close(self) -> None: ...


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


# The server


class _PlacesServer(FastMCP[None]):
    """FastMCP server that reports errors as `reason: message`, without FastMCP's prefix.

    It rejects unknown methods as JSON-RPC requires.
    """

    async def run_stdio_async(self) -> None:
        server = self._mcp_server
        async with stdio_server() as (received, sent), reject_unknown_requests(received, sent) as known_requests:
            await server.run(known_requests, sent, server.create_initialization_options())

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Sequence[ContentBlock] | dict[str, Any]:
        try:
            return await super().call_tool(name, arguments)
        except ToolError as error:
            service_error = _to_service_error(error)
        raise ToolError(str(service_error))


def _to_service_error(error: ToolError) -> ServiceError:
    cause = error.__cause__
    if isinstance(cause, ServiceError):
        return cause
    if isinstance(cause, ValidationError):
        return ServiceError("refused", "; ".join(_describe_errors(cause)))
    if cause is None:
        return ServiceError("refused", str(error))
    log.error("a tool failed", exc_info=cause)
    return ServiceError("internal", f"the tool failed ({type(cause).__name__})")


def _describe_errors(error: ValidationError) -> Iterator[str]:
    """Yield a description of each invalid argument."""
    for item in error.errors(include_url=False):
        name = ".".join(map(str, item["loc"])) or "the call"
        missing = item["type"] == "missing"
        yield f"{name} is missing" if missing else f"{name} {_strip_prefix(item['msg'])}"


def _strip_prefix(message: str) -> str:
    return message.removeprefix("Value error, ")


def build_server(backend: MapBackend) -> FastMCP[None]:
    """Return an MCP server over a back end. The caller remains responsible for closing the back
    end."""
    with _preserve_root_logger():
        server = _PlacesServer(
            "sightline-places",
            instructions=f"{backend.description} Points are lng,lat, and so are results.",
            log_level="WARNING",
        )
    for tool in _define_tools(backend):
        server.add_tool(tool, annotations=ToolAnnotations(readOnlyHint=True), structured_output=True)
    return server


def _define_tools(backend: MapBackend) -> Sequence[Any]:
    """Return the tool functions. Their docstrings are the descriptions that a model reads."""

    async def maps_geo(address: RequiredText, city: OptionalText = "") -> dict[str, Any]:
        """将详细的结构化地址或地标、景区、建筑物名称转换为经纬度坐标；level 表示匹配级别。"""
        return await backend.geocode(address, city)

    async def maps_regeocode(location: PointText) -> dict[str, Any]:
        """将经纬度坐标转换为所在位置的地址。"""
        return await backend.reverse_geocode(location)

    async def maps_around_search(
        location: PointText, radius: RadiusText = "1000", keywords: KeywordsText = ""
    ) -> dict[str, Any]:
        """搜索坐标周围 radius 米内的地点，由近到远，含坐标、距离、评分、人均、营业时间和图片。"""
        return await backend.search_around(location, int(radius), keywords)

    async def maps_text_search(
        keywords: RequiredText, city: OptionalText = "", types: OptionalText = ""
    ) -> dict[str, Any]:
        """按关键词搜索地点，可限定城市和类型，含坐标、评分、人均、营业时间和图片。"""
        return await backend.search_text(keywords, city, types)

    async def maps_search_detail(id: PlaceId) -> dict[str, Any]:
        """查询搜索所得地点 id 的详细信息。"""
        return await backend.fetch_details(id)

    async def maps_direction_walking(origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的步行路线。"""
        return await backend.fetch_walking_route(origin, destination)

    async def maps_direction_driving(origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的驾车路线。"""
        return await backend.fetch_driving_route(origin, destination)

    async def maps_bicycling(origin: PointText, destination: PointText) -> dict[str, Any]:
        """规划两点之间的骑行路线。"""
        return await backend.fetch_cycling_route(origin, destination)

    async def maps_direction_transit_integrated(
        origin: PointText, destination: PointText, city: RequiredText, cityd: RequiredText
    ) -> dict[str, Any]:
        """规划两点之间的公共交通路线；city 为起点城市，cityd 为终点城市。"""
        return await backend.fetch_transit_route(origin, destination, city, cityd)

    async def maps_distance(origins: PointsText, destination: PointText, type: DistanceType = "1") -> dict[str, Any]:
        """测量一个或多个起点到一个终点的距离和时间。"""
        return await backend.measure_distances(origins, destination, type)

    async def maps_weather(city: RequiredText) -> dict[str, Any]:
        """查询城市（名称或 adcode）的天气预报。"""
        return await backend.fetch_forecast(city)

    async def maps_ip_location(ip: IPAddress) -> dict[str, Any]:
        """查询 IP 地址所在的城市。"""
        return await backend.locate_ip(ip)

    return (
        maps_geo,
        maps_regeocode,
        maps_around_search,
        maps_text_search,
        maps_search_detail,
        maps_direction_walking,
        maps_direction_driving,
        maps_bicycling,
        maps_direction_transit_integrated,
        maps_distance,
        maps_weather,
        maps_ip_location,
    )


def check_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalised arguments of a call, without arguments unknown to the tool.

    Raises:
        ServiceError: there is no such tool, or an argument is missing or invalid.
    """
    model = _argument_models().get(tool)
    if model is None:
        raise ServiceError("refused", f"there is no tool {tool!r}")
    try:
        validated = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise ServiceError("refused", "; ".join(_describe_errors(error))) from None
    return validated.model_dump()


@lru_cache(1)
def specifications() -> tuple[dict[str, Any], ...]:
    """Return the tools in the form of chat models: name, description and JSON schema."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _simplify_schema(tool.parameters),
            },
        }
        for tool in _described_tools()
    )


def _simplify_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce the schema of an object to the keywords that every model's API supports."""
    fields = {
        name: {key: field[key] for key in ("type", "description") if key in field}
        for name, field in schema["properties"].items()
    }
    return {"type": "object", "properties": fields, "required": list(schema.get("required", ()))}


@lru_cache(1)
def _argument_models() -> dict[str, type[BaseModel]]:
    return {tool.name: tool.fn_metadata.arg_model for tool in _described_tools()}


@lru_cache(1)
def _described_tools() -> tuple[Tool, ...]:
    """Return the tools for their descriptions only; the back end is not called."""
    return tuple(Tool.from_function(tool) for tool in _define_tools(OfflineBackend()))


@contextmanager
def _preserve_root_logger() -> Iterator[None]:
    """Restore the root logger, whose handlers and level the SDK changes."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def build_backend(settings: Settings) -> MapBackend:
    """Return Amap if there is a key, else OpenStreetMap if the open sources are on, else the
    sample."""
    keyless = not settings.amap_key.get_secret_value()
    return (osm.build_backend(settings) if keyless else None) or build_china_backend(settings)


def build_china_backend(settings: Settings) -> MapBackend:
    """Return Amap if there is a key, else the sample."""
    if key := settings.amap_key.get_secret_value():
        timeout = settings.amap_timeout
        return AmapBackend(key, base_url=settings.amap_url or BASE_URL, timeout_seconds=timeout)
    return OfflineBackend()


async def serve(backend: MapBackend) -> None:
    """Serve a client on stdin and stdout until it disconnects."""
    try:
        await build_server(backend).run_stdio_async()
    finally:
        await backend.close()


def main() -> None:
    """Load the settings and serve. Logs go to stderr, since stdout carries the protocol."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        settings = load_settings()
    except SettingError as error:
        raise SystemExit(str(error)) from None
    register_secrets(settings.secrets)
    asyncio.run(serve(build_backend(settings)))


if __name__ == "__main__":
    main()
