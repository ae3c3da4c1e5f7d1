"""Settings of the search for places and of the map."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings

from research.core.bilingual import Text
from research.core.settings.declaration import (
    LOWER_CASE,
    NO_KEY,
    SECTION_CONFIG,
    Address,
    FormField,
    Key,
    ValueKind,
    Variable,
    parse_address,
)

AMAP_SERVERS = ("memory", "stdio", "npm", "hosted")  # transports of Amap's MCP tools


def _parse_amap_server(value: str) -> str:
    """Return the transport of Amap's MCP tools in lower case, or the URL of a server."""
    if "://" in value:
        return parse_address(value)
    if value.lower() not in AMAP_SERVERS:
        raise ValueError(
            f"is {value!r}; it must be one of {', '.join(AMAP_SERVERS)} or the address of a server (Streamable HTTP). "
            f"Correct it or remove it to use the default, {AMAP_SERVERS[0]}."
        )
    return value.lower()


class PlaceSettings(BaseSettings):
    """Places and the map."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Places"
    section_note: ClassVar = ""

    amap_key: Annotated[
        Key,
        Variable(
            "AMAP_MAPS_API_KEY",
            "The key for Amap's web service.",
            form=FormField(
                "keys",
                Text("Amap", "高德地图密钥"),
                help=Text(
                    "Place search (AMAP_MAPS_API_KEY). In the lbs.amap.com console, create an application and add a "
                    "key of type Web service.",
                    "地点搜索（AMAP_MAPS_API_KEY）。在 lbs.amap.com 的控制台新建应用，添加“Web 服务”类型的密钥。",
                ),
            ),
        ),
    ] = NO_KEY
    amap_url: Annotated[Address, Variable("AMAP_BASE_URL", "Another address for its API.", default_text="Amap's")] = ""
    amap_mcp: Annotated[
        str,
        AfterValidator(_parse_amap_server),
        Field(repr=False),
        ValueKind("address"),
        Variable(
            "AMAP_MCP",
            "Who serves Amap's tools: Sightline's own server, in this process (`memory`) or its own "
            "(`stdio`); Amap's package through npx (`npm`, needs Node); Amap's hosted server (`hosted`); or "
            "the address of another server.",
            values_text="`memory`, `stdio`, `npm`, `hosted`, address",
        ),
    ] = "memory"
    amap_daily_searches: Annotated[
        int,
        Field(ge=0, le=10_000_000),
        Variable("AMAP_DAILY_SEARCHES", "Place searches your key allows per day; 0 is no limit."),
    ] = 100
    amap_cache_hours: Annotated[
        float,
        Field(ge=0, le=720),
        Variable("AMAP_CACHE_HOURS", "Hours an answer from Amap or OpenStreetMap may be reused; 0 is never."),
    ] = 24.0
    amap_detail_calls: Annotated[
        int,
        Field(ge=0, le=25),
        Variable("AMAP_DETAIL_CALLS", "Places looked up one by one, at most, when a search returns no coordinates."),
    ] = 10
    amap_tool_calls: Annotated[
        int,
        Field(ge=1, le=40),
        Variable(
            "AMAP_TOOL_CALLS",
            "Calls of one search for places: those of a model, and without one those for ways, distances and "
            "day routes.",
        ),
    ] = 8
    amap_timeout: Annotated[
        float, Field(ge=0.05, le=120), Variable("AMAP_TIMEOUT", "Time limit for one call.", unit="s")
    ] = 15.0
    map_tiles: Annotated[
        Literal["osm", "off"],
        LOWER_CASE,
        Variable(
            "MAP_TILES",
            "The background map: OpenStreetMap, or `off`, which fetches nothing from another host. `off` here "
            "applies to everyone.",
            form=FormField(
                "appearance",
                Text("Show a base map under places", "在地点下显示底图"),
                help=Text(
                    "The base map comes from OpenStreetMap; when off, your browser does not contact it.",
                    "底图来自 OpenStreetMap；关闭后，浏览器不再访问它。",
                ),
            ),
        ),
    ] = "osm"
