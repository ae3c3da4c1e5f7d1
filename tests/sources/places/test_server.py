"""The MCP server: the tools of Amap by name and argument, in memory and over stdio."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult, TextContent
from pydantic import SecretStr

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.settings import Settings
from research.sources.places.amap import AmapBackend
from research.sources.places.offline import OfflineBackend, _load_table
from research.sources.places.server import build_backend, build_server, main
from research.sources.places.tools import MapBackend
from tests.servers.amap import FakeAmap

ROOT = Path(__file__).resolve().parents[3]
KEY = "sentinel+amap/0123456789"
TRACES = (KEY, "sentinel%2Bamap", "sentinel+amap")
HERE, THERE = "116.410894,39.911514", "116.397545,39.908699"
SOON = timedelta(seconds=10)
TOOLS = {
    "maps_geo": {"address": True, "city": False},
    "maps_regeocode": {"location": True},
    "maps_around_search": {"location": True, "radius": False, "keywords": False},
    "maps_text_search": {"keywords": True, "city": False, "types": False},
    "maps_search_detail": {"id": True},
    "maps_direction_walking": {"origin": True, "destination": True},
    "maps_direction_driving": {"origin": True, "destination": True},
    "maps_bicycling": {"origin": True, "destination": True},
    "maps_direction_transit_integrated": {
        "origin": True,
        "destination": True,
        "city": True,
        "cityd": True,
    },
    "maps_distance": {"origins": True, "destination": True, "type": False},
    "maps_weather": {"city": True},
    "maps_ip_location": {"ip": True},
}
CALLS: dict[str, dict[str, Any]] = {
    "maps_geo": {"address": "王府井", "city": "北京"},
    "maps_regeocode": {"location": HERE},
    "maps_around_search": {"location": HERE, "radius": "2000", "keywords": "公园"},
    "maps_text_search": {"keywords": "博物馆", "city": "北京"},
    "maps_search_detail": {"id": "B0FFH2K7QD"},
    "maps_direction_walking": {"origin": HERE, "destination": THERE},
    "maps_direction_driving": {"origin": HERE, "destination": THERE},
    "maps_bicycling": {"origin": HERE, "destination": THERE},
    "maps_direction_transit_integrated": {
        "origin": HERE,
        "destination": THERE,
        "city": "北京",
        "cityd": "北京",
    },
    "maps_distance": {"origins": f"{HERE}|{THERE}", "destination": THERE, "type": "1"},
    "maps_weather": {"city": "北京"},
    "maps_ip_location": {"ip": "114.247.50.2"},
}


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@asynccontextmanager
async def talking(backend: MapBackend) -> AsyncIterator[ClientSession]:
    """A session in memory. Not a fixture: it has to be left in the task that entered it."""
    async with create_connected_server_and_client_session(build_server(backend), SOON) as session:
        yield session
    await backend.close()


@asynccontextmanager
async def running(env: dict[str, str], log: Path) -> AsyncIterator[ClientSession]:
    """A session with a process of its own, whose stderr goes to `log`."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "research.sources.places.server"],
        env={"HOME": str(log.parent), "PATH": os.defpath} | env,
        cwd=ROOT,
    )
    with log.open("w") as stderr:
        async with (
            stdio_client(command, errlog=stderr) as (read, write),
            ClientSession(read, write, SOON) as session,
        ):
            await session.initialize()
            yield session


def amap(fake: FakeAmap, timeout: float = 5) -> AmapBackend:
    return AmapBackend(KEY, base_url=fake.base_url, timeout_seconds=timeout)


def words(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.isError, words(result)
    assert result.structuredContent is not None
    assert json.loads(words(result)) == result.structuredContent
    return result.structuredContent


def true_points(result: dict[str, Any]) -> None:
    """Fails unless places of the table are where they are, to five metres."""
    truth = {entry["name"]: Point(entry["lng"], entry["lat"]) for entry in _load_table()["places"]}
    known = [place for place in result["pois"] if place["name"] in truth]
    assert len(known) >= 3
    for place in known:
        lng, lat = map(float, place["location"].split(","))
        assert distance_metres(from_gcj02(Point(lng, lat)), truth[place["name"]]) < 5


async def test_the_tools_have_the_names_and_arguments_of_amaps_own(fake: FakeAmap) -> None:
    async with talking(amap(fake)) as session:
        tools = (await session.list_tools()).tools
    schemas = {tool.name: tool.inputSchema for tool in tools}
    described = {
        name: {argument: argument in schema["required"] for argument in schema["properties"]}
        for name, schema in schemas.items()
    }
    assert described == TOOLS
    assert all(tool.description and tool.outputSchema for tool in tools)
    assert all(
        field["type"] == "string" for schema in schemas.values() for field in schema["properties"].values()
    )  # fmt: skip


async def test_every_tool_answers_with_who_says_it_and_in_which_coordinates(
    fake: FakeAmap,
) -> None:
    async with talking(amap(fake)) as session:
        for name, arguments in CALLS.items():
            said = data(await session.call_tool(name, arguments))
            assert (said["source"], said["sample"], said["crs"]) == ("amap", False, "gcj02")
    assert len(fake.log) == len(CALLS)


async def test_a_chain_of_tools_leads_to_true_points_with_either_back_end(fake: FakeAmap) -> None:
    for backend in (amap(fake), OfflineBackend()):
        async with talking(backend) as session:
            (centre,) = data(await session.call_tool("maps_geo", {"address": "王府井"}))["return"]
            arguments = {"location": centre["location"], "radius": 3000, "keywords": "博物馆|公园"}
            found = data(await session.call_tool("maps_around_search", arguments))
            true_points(found)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("maps_geo", {}, "address is missing"),
        ("maps_geo", {"address": " "}, "address must not be empty"),
        ("maps_geo", {"address": "undefined"}, "address is 'undefined', which is no value"),
        ("maps_geo", {"address": "x" * 201}, "address is too long: at most 200 characters"),
        ("maps_geo", {"address": ["王府井"]}, "address must be a text"),
        ("maps_geo", {"address": "a\u0000b"}, "address has characters that cannot be printed"),
        ("maps_regeocode", {"location": "王府井"}, "it must be lng,lat"),
        ("maps_regeocode", {"location": "39.911514,116.410894"}, "longitude comes first"),
        ("maps_regeocode", {"location": "200,39"}, "longitude is from -180 to 180"),
        ("maps_regeocode", {"location": "nan,39"}, "longitude is from -180 to 180"),
        ("maps_regeocode", {"location": "116.4,39.9,5"}, "it must be lng,lat"),
        ("maps_around_search", {"location": HERE, "radius": "0"}, "metres from 1 to 50000"),
        ("maps_around_search", {"location": HERE, "radius": 50_001}, "metres from 1 to 50000"),
        ("maps_around_search", {"location": HERE, "radius": "far"}, "metres from 1 to 50000"),
        ("maps_search_detail", {"id": "../geocode"}, "id must be the id of a place"),
        ("maps_distance", {"origins": "", "destination": HERE}, "origins must be points"),
        (
            "maps_distance",
            {"origins": "|".join([HERE] * 101), "destination": HERE},
            "at most 100 are possible",
        ),
        ("maps_distance", {"origins": HERE, "destination": HERE, "type": "2"}, "it must be 0"),
        ("maps_ip_location", {"ip": "localhost"}, "it must be an IPv4 address"),
        ("maps_fly", {}, "Unknown tool"),
    ],
)
async def test_arguments_that_cannot_be_used_are_told_in_words_and_not_sent(
    fake: FakeAmap, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with talking(amap(fake)) as session:
        result = await session.call_tool(tool, arguments)
    assert result.isError
    assert words(result).startswith("refused: ")
    assert told in words(result)
    assert fake.log == []


async def test_arguments_as_models_write_them_are_put_right(fake: FakeAmap) -> None:
    async with talking(amap(fake)) as session:
        arguments = {"location": "116.4108941，39.9115141", "radius": 1500.0, "keywords": None}
        data(await session.call_tool("maps_around_search", arguments))
        assert fake.last.query["location"] == HERE
        assert fake.last.query["radius"] == "1500"
        assert "keywords" not in fake.last.query
        data(await session.call_tool("maps_weather", {"city": "北京"}))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("key", "refused: Amap: INVALID_USER_KEY (10001)"),
        ("platform", "refused: Amap: USERKEY_PLAT_NOMATCH (10009)"),
        ("quota", "quota: Amap: USER_DAILY_QUERY_OVER_LIMIT (10044)"),
        ("qps", "quota: Amap: CUQPS_HAS_EXCEEDED_THE_LIMIT (10021)"),
        ("hang", "timeout: Amap: no answer within 0.3 s"),
        ("html502", "unavailable: HTTP 502: Amap"),
        ("badjson", "malformed: Amap: HTTP 200 without the JSON asked for"),
        ("drop", "unreachable: Amap: no connection"),
    ],
)
async def test_every_tool_tells_a_failure_by_its_reason_and_without_the_key(
    fake: FakeAmap, fault: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.fail("any", fault)
    patience = 0.3 if fault == "hang" else 30
    async with talking(amap(fake, timeout=patience)) as session:
        calls = (session.call_tool(name, arguments) for name, arguments in CALLS.items())
        results = await asyncio.gather(*calls)
        assert all(result.isError for result in results)
        assert {words(result).partition(" (Re")[0] for result in results} == {told}
    spoken = caplog.text + "".join(words(result) for result in results)
    assert not [trace for trace in TRACES if trace in spoken]


async def test_nothing_found_is_a_result(fake: FakeAmap) -> None:
    fake.fail("any", "empty")
    async with talking(amap(fake)) as session:
        found = data(await session.call_tool("maps_around_search", {"location": HERE}))
        assert found["pois"] == []
        result = await session.call_tool("maps_weather", {"city": "北京"})
        assert (result.isError, words(result)) == (True, "empty: Amap: no weather for this city")


async def test_offline_answers_are_samples_and_the_rest_is_declined() -> None:
    async with talking(OfflineBackend()) as session:
        found = data(await session.call_tool("maps_text_search", {"keywords": "书店"}))
        assert (found["source"], found["sample"]) == ("offline", True)
        for tool in ("maps_direction_walking", "maps_weather", "maps_ip_location"):
            result = await session.call_tool(tool, CALLS[tool])
            assert result.isError and words(result).startswith("no key: the offline sample has no ")
        result = await session.call_tool("maps_geo", {"address": "五道口"})
        assert result.isError and words(result).startswith("empty: the offline sample")


class Broken(OfflineBackend):
    async def fetch_forecast(self, city: str) -> dict[str, Any]:
        raise KeyError(f"a mistake of ours with {KEY}")


async def test_a_mistake_of_ours_is_told_as_one_and_its_details_go_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    AmapBackend(KEY)  # from here on the key is known
    async with talking(Broken()) as session:
        result = await session.call_tool("maps_weather", {"city": "北京"})
    assert words(result) == "internal: the tool failed (KeyError)"
    assert "a mistake of ours" in caplog.text
    assert KEY not in caplog.text


def test_building_a_server_leaves_the_logging_of_the_application_alone() -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    build_server(OfflineBackend())
    assert (root.handlers[:], root.level) == before


def test_a_key_chooses_amap_and_none_the_table(tmp_path: Path) -> None:
    assert build_backend(Settings(data_dir=tmp_path)).name == "offline"
    assert build_backend(Settings(data_dir=tmp_path, amap_key=SecretStr(KEY))).name == "amap"


async def test_over_stdio_the_server_asks_amap_and_keeps_the_key(fake: FakeAmap, tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    env = {"AMAP_MAPS_API_KEY": KEY, "AMAP_BASE_URL": fake.base_url}
    async with running(env, log) as session:
        arguments = {"location": HERE, "radius": "3000", "keywords": "博物馆|公园"}
        true_points(data(await session.call_tool("maps_around_search", arguments)))
        fake.fail("any", "key")
        result = await session.call_tool("maps_geo", {"address": "王府井"})
        assert words(result) == "refused: Amap: INVALID_USER_KEY (10001)"
        fake.fail("any", "drop")
        result = await session.call_tool("maps_geo", {"address": "王府井"})
        assert words(result).startswith("unreachable: ")
    assert fake.last.query["key"] == KEY
    assert log.read_text() == ""


async def test_it_ends_with_its_client_although_amap_hangs(fake: FakeAmap) -> None:
    fake.fail("any", "hang")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "research.sources.places.server"),
        cwd=ROOT,
        env={"AMAP_MAPS_API_KEY": KEY, "AMAP_BASE_URL": fake.base_url},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdin
    client = {"name": "a test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    call = {"name": "maps_geo", "arguments": {"address": "王府井"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
    await process.stdin.drain()
    await asyncio.to_thread(asked, fake)
    left = time.monotonic()
    process.stdin.close()
    out, errors = await asyncio.wait_for(process.communicate(), 60)
    assert time.monotonic() - left < 30
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.decode().splitlines())
    assert not [trace for trace in TRACES if trace in out.decode() + errors.decode()]


async def test_a_client_of_a_newer_protocol_is_answered_and_stderr_stays_quiet() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "research.sources.places.server"),
        cwd=ROOT,
        env={"PATH": os.defpath},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdin and process.stdout and process.stderr
    codes = []
    for number, method in enumerate(("server/discover", "tools/call", "ping")):
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        codes.append(answer.get("error", {}).get("code"))
    out, errors = await asyncio.wait_for(process.communicate(b"no JSON\n"), 60)
    assert (codes, out, errors) == ([-32601, -32602, None], b"", b"")


def asked(fake: FakeAmap) -> None:
    """Waits until the first request is in."""
    end = time.monotonic() + 60
    while not fake.log:
        assert time.monotonic() < end, "nothing was asked"
        time.sleep(0.02)


def test_a_setting_that_cannot_be_used_ends_it_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMAP_BASE_URL", "nowhere")
    with pytest.raises(SystemExit, match="AMAP_BASE_URL is 'nowhere'"):
        main()
