"""An MCP server with the tools of Amap's own, by name and argument, over Amap, OpenStreetMap or the
offline table.

    python -m research.sources.places.server

runs it over stdio for any client; inside the project it runs in memory. Arguments are checked here,
in words that a model can act on, before anything is asked. A tool that fails says why as
`reason: message`, with a reason that `research.core.records` knows.
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

from research.core.errors import Trouble, conceal
from research.core.settings import SettingError, Settings, load
from research.core.unknown_methods import sifted
from research.sources.places import osm
from research.sources.places.amap import BASE_URL, Amap
from research.sources.places.offline import Offline

WORDS = 200  # characters of an address or of keywords
RADIUS = 50_000  # metres
ORIGINS = 100
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOTHINGS = frozenset({"undefined", "null", "none", "nan"})

log = logging.getLogger(__name__)


class Backend(Protocol):
    """Who answers. Points are "lng,lat" in and out, in the system that `about` and each answer
    declare; failures are `Trouble`."""

    name: str
    about: str
    sample: bool

    async def geocode(self, address: str, city: str = "") -> dict[str, Any]: ...
    async def regeocode(self, location: str) -> dict[str, Any]: ...
    async def around(
        self, location: str, radius: int = 1000, keywords: str = ""
    ) -> dict[str, Any]: ...
    async def text(self, keywords: str, city: str = "", types: str = "") -> dict[str, Any]: ...
    async def detail(self, id: str) -> dict[str, Any]: ...
    async def walking(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def driving(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def bicycling(self, origin: str, destination: str) -> dict[str, Any]: ...
    async def transit(
        self, origin: str, destination: str, city: str, cityd: str
    ) -> dict[str, Any]: ...
    async def distance(self, origins: str, destination: str, type: str = "1") -> dict[str, Any]: ...
    async def weather(self, city: str) -> dict[str, Any]: ...
    async def ip(self, ip: str) -> dict[str, Any]: ...
    async def close(self) -> None: ...


# Arguments: each check returns what is to be sent, or says in words what it wants instead


def _plain(value: object) -> str:
    """A text without idle white space. Models send numbers where texts are declared."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a text")
    text = " ".join(str(value).split())
    if text.lower() in _NOTHINGS:
        raise ValueError(f"is {text!r}, which is no value")
    if len(text) > WORDS:
        raise ValueError(f"is too long: at most {WORDS} characters")
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed")
    return text


def _required(value: object) -> str:
    if text := _plain(value):
        return text
    raise ValueError("must not be empty")


def _point(value: object) -> str:
    """A point as Amap takes it: six decimals, without spaces."""
    text = _required(value).replace("，", ",")
    try:
        lng, lat = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"is {text!r}; it must be lng,lat such as 116.410886,39.911510") from None
    if abs(lng) <= 90 < abs(lat) <= 180:
        raise ValueError(f"is {text!r}: longitude comes first, as in 116.410886,39.911510")
    if not (abs(lng) <= 180 and abs(lat) <= 90):
        raise ValueError(f"is {text!r}: longitude is from -180 to 180, latitude from -90 to 90")
    return f"{lng:.6f},{lat:.6f}"


def _points(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be points such as 120.1,30.2|120.2,30.3")
    parts = value.split("|")
    if len(parts) > ORIGINS:
        raise ValueError(f"has {len(parts)} points; at most {ORIGINS} are possible")
    return "|".join(_point(part) for part in parts)


def _radius(value: object) -> str:
    text = _plain(value) or "1000"
    try:
        metres = float(text)
    except ValueError:
        metres = 0
    if not 1 <= metres <= RADIUS:
        raise ValueError(f"is {text!r}; it must be a number of metres from 1 to {RADIUS}")
    return str(round(metres))


def _means(value: object) -> str:
    text = _plain(value) or "1"
    if text not in ("0", "1", "3"):
        raise ValueError(f"is {text!r}; it must be 0 (straight line), 1 (driving) or 3 (walking)")
    return text


def _identity(value: object) -> str:
    if _ID.fullmatch(text := _required(value)):
        return text
    raise ValueError("must be the id of a place, as a search gives it")


def _internet(value: object) -> str:
    text = _required(value)
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ValueError(f"is {text!r}; it must be an IPv4 address such as 114.247.50.2") from None


_LNG_LAT = "degrees as the other tools answer them, longitude first: 经度,纬度"
Words = Annotated[str, BeforeValidator(_required)]
MaybeWords = Annotated[str, BeforeValidator(_plain)]
Where = Annotated[str, BeforeValidator(_point), Field(description=_LNG_LAT)]
Wheres = Annotated[str, BeforeValidator(_points), Field(description=f"{_LNG_LAT}, parted by |")]
Radius = Annotated[str, BeforeValidator(_radius), Field(description="metres, 1 to 50000")]
Means = Annotated[
    str,
    BeforeValidator(_means),
    Field(description="0 straight line, 1 driving, 3 walking"),
]
Identity = Annotated[str, BeforeValidator(_identity), Field(description="id from a search")]
Internet = Annotated[str, BeforeValidator(_internet), Field(description="IPv4 address")]
AnyOf = Annotated[str, BeforeValidator(_plain), Field(description="words; | means or")]


# The server


class _Server(FastMCP[None]):
    """Tells of failures in our words instead of with the name of the tool before them, and of methods
    that it does not know as JSON-RPC does."""

    async def run_stdio_async(self) -> None:
        server = self._mcp_server
        async with stdio_server() as (received, sent), sifted(received, sent) as known:
            await server.run(known, sent, server.create_initialization_options())

    async def call_tool(
        self, name: str, arguments: dict[str, Any]
    ) -> Sequence[ContentBlock] | dict[str, Any]:
        try:
            return await super().call_tool(name, arguments)
        except ToolError as error:
            told = _told(error)
        raise ToolError(str(told))


def _told(error: ToolError) -> Trouble:
    cause = error.__cause__
    if isinstance(cause, Trouble):
        return cause
    if isinstance(cause, ValidationError):
        return Trouble("refused", "; ".join(_wrong(cause)))
    if cause is None:
        return Trouble("refused", str(error))
    log.error("a tool failed", exc_info=cause)
    return Trouble("internal", f"the tool failed ({type(cause).__name__})")


def _wrong(error: ValidationError) -> Iterator[str]:
    """What is wrong with each argument, by its name."""
    for item in error.errors(include_url=False):
        name = ".".join(map(str, item["loc"])) or "the call"
        missing = item["type"] == "missing"
        yield f"{name} is missing" if missing else f"{name} {_said(item['msg'])}"


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")


def build(backend: Backend) -> FastMCP[None]:
    """The server over a back end, which stays the caller's to close."""
    with _root_logger_kept():
        server = _Server(
            "sightline-places",
            instructions=f"{backend.about} Points are lng,lat, and so are results.",
            log_level="WARNING",
        )
    for tool in _tools(backend):
        server.add_tool(
            tool, annotations=ToolAnnotations(readOnlyHint=True), structured_output=True
        )
    return server


def _tools(backend: Backend) -> Sequence[Any]:
    """The tools. Their docstrings are what a model reads of them."""

    async def maps_geo(address: Words, city: MaybeWords = "") -> dict[str, Any]:
        """将详细的结构化地址或地标、景区、建筑物名称转换为经纬度坐标；level 表示匹配级别。"""
        return await backend.geocode(address, city)

    async def maps_regeocode(location: Where) -> dict[str, Any]:
        """将经纬度坐标转换为所在位置的地址。"""
        return await backend.regeocode(location)

    async def maps_around_search(
        location: Where, radius: Radius = "1000", keywords: AnyOf = ""
    ) -> dict[str, Any]:
        """搜索坐标周围 radius 米内的地点，由近到远，含坐标、距离、评分、人均、营业时间和图片。"""
        return await backend.around(location, int(radius), keywords)

    async def maps_text_search(
        keywords: Words, city: MaybeWords = "", types: MaybeWords = ""
    ) -> dict[str, Any]:
        """按关键词搜索地点，可限定城市和类型，含坐标、评分、人均、营业时间和图片。"""
        return await backend.text(keywords, city, types)

    async def maps_search_detail(id: Identity) -> dict[str, Any]:
        """查询搜索所得地点 id 的详细信息。"""
        return await backend.detail(id)

    async def maps_direction_walking(origin: Where, destination: Where) -> dict[str, Any]:
        """规划两点之间的步行路线。"""
        return await backend.walking(origin, destination)

    async def maps_direction_driving(origin: Where, destination: Where) -> dict[str, Any]:
        """规划两点之间的驾车路线。"""
        return await backend.driving(origin, destination)

    async def maps_bicycling(origin: Where, destination: Where) -> dict[str, Any]:
        """规划两点之间的骑行路线。"""
        return await backend.bicycling(origin, destination)

    async def maps_direction_transit_integrated(
        origin: Where, destination: Where, city: Words, cityd: Words
    ) -> dict[str, Any]:
        """规划两点之间的公共交通路线；city 为起点城市，cityd 为终点城市。"""
        return await backend.transit(origin, destination, city, cityd)

    async def maps_distance(
        origins: Wheres, destination: Where, type: Means = "1"
    ) -> dict[str, Any]:
        """测量一个或多个起点到一个终点的距离和时间。"""
        return await backend.distance(origins, destination, type)

    async def maps_weather(city: Words) -> dict[str, Any]:
        """查询城市（名称或 adcode）的天气预报。"""
        return await backend.weather(city)

    async def maps_ip_location(ip: Internet) -> dict[str, Any]:
        """查询 IP 地址所在的城市。"""
        return await backend.ip(ip)

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


def checked(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as they are to be sent, without those that the tool does not have.

    Raises:
        Trouble: there is no such tool, or an argument is missing or wrong.
    """
    model = _arguments().get(tool)
    if model is None:
        raise Trouble("refused", f"there is no tool {tool!r}")
    try:
        found = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise Trouble("refused", "; ".join(_wrong(error))) from None
    return found.model_dump()


@lru_cache(1)
def specifications() -> tuple[dict[str, Any], ...]:
    """The tools as chat models are told of them: name, description and JSON schema."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _brief(tool.parameters),
            },
        }
        for tool in _described()
    )


def _brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of an object with no more than every model's API understands."""
    fields = {
        name: {key: field[key] for key in ("type", "description") if key in field}
        for name, field in schema["properties"].items()
    }
    return {"type": "object", "properties": fields, "required": list(schema.get("required", ()))}


@lru_cache(1)
def _arguments() -> dict[str, type[BaseModel]]:
    return {tool.name: tool.fn_metadata.arg_model for tool in _described()}


@lru_cache(1)
def _described() -> tuple[Tool, ...]:
    """The tools as they are described, over nothing that could answer."""
    return tuple(Tool.from_function(tool) for tool in _tools(Offline()))


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """The SDK gives the root logger a handler and a level, which are the application's to choose."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def backend_of(settings: Settings) -> Backend:
    """Amap where there is a key, else OpenStreetMap if the open sources are on, else the table."""
    keyless = not settings.amap_key.get_secret_value()
    return (osm.opened(settings) if keyless else None) or china_of(settings)


def china_of(settings: Settings) -> Backend:
    """Amap where there is a key, else the table."""
    if key := settings.amap_key.get_secret_value():
        timeout = settings.amap_timeout
        return Amap(key, base_url=settings.amap_url or BASE_URL, timeout=timeout)
    return Offline()


async def serve(backend: Backend) -> None:
    """Serves a client on stdin and stdout until it goes."""
    try:
        await build(backend).run_stdio_async()
    finally:
        await backend.close()


def main() -> None:
    """Reads the settings and serves. Logs go to stderr: stdout is the protocol's."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        settings = load()
    except SettingError as error:
        raise SystemExit(str(error)) from None
    conceal(settings.secrets)
    asyncio.run(serve(backend_of(settings)))


if __name__ == "__main__":
    main()
