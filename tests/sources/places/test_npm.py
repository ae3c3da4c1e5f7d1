"""Amap's own npm server over the fake Amap: that the fake is Amap enough for it, and what it says.

It differs from our own server over the same API:

- A search gives id, name, address, typecode and one photo: no location, rating, distance or hours.
  A detail has the location, and the rating, cost and hours as texts on the top level; no telephone.
- Nothing says `crs` or `source`, empty values stay `[]`, numbers stay texts, and there is no
  structured content beside the text. `photos` is one object, and missing where there is none.
- The address of a point is in `provice`, `city` and `district`; cities to choose from are `ciytes`.
- `maps_geo` ignores its city and `maps_text_search` its types. Routes have no lines to draw.
- An id or a city that is unknown is JavaScript's error about `undefined`; a failure of the cycling
  route has no reason. A lost connection is told with the whole address, and so with the key.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession
from pydantic import SecretStr

from research.core.errors import ServiceError
from research.core.settings import Settings
from research.sources.places.amap_sessions import AmapSession, session_factory
from research.sources.places.offline import OfflineBackend
from research.sources.places.server import build_server
from tests.fakes import until
from tests.servers.amap import FakeAmap
from tests.servers.gemini import FakeGemini
from tests.servers.npm import KEY, PACKAGE, environment, lacking
from tests.servers.processes import MARK, marked
from tests.servers.processes import lacking as unseen

SKIPPED = lacking()
pytestmark = [pytest.mark.node] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)

HERE, THERE = "116.410894,39.911514", "116.397545,39.908699"
WAY = {"origin": HERE, "destination": THERE}
CALLS: dict[str, tuple[dict[str, str], set[str]]] = {
    "maps_geo": ({"address": "北京王府井"}, {"return"}),
    "maps_regeocode": ({"location": HERE}, {"provice", "city", "district"}),
    "maps_around_search": ({"location": HERE}, {"pois"}),
    "maps_text_search": ({"keywords": "博物馆", "city": "杭州"}, {"suggestion", "pois"}),
    "maps_direction_walking": (WAY, {"route"}),
    "maps_direction_driving": (WAY, {"route"}),
    "maps_bicycling": (WAY, {"data"}),
    "maps_direction_transit_integrated": (WAY | {"city": "北京", "cityd": "北京"}, {"route"}),
    "maps_distance": ({"origins": HERE, "destination": THERE}, {"results"}),
    "maps_weather": ({"city": "北京"}, {"city", "forecasts"}),
    "maps_ip_location": ({"ip": "114.247.50.2"}, {"province", "city", "adcode", "rectangle"}),
}

SCRIPT = """
const https = require("node:https");
const amap = "https://restapi.amap.com", path = "/v3/ip?key=k&ip=1.2.3.4&way=";
const told = (name) => (reply) => { console.log(name, reply.statusCode); reply.resume(); };
const failed = (name) => (error) => console.log(name, error.code ?? error.cause.code);
https.get(amap + path + "get", told("get"));
https.request(new URL(amap + path + "url"), { agent: new https.Agent() }, told("url")).end();
https.get({ host: "restapi.amap.com", path: path + "options" }, told("options"));
fetch(amap + path + "fetch").then(async (reply) => {
  await reply.text();
  console.log("fetch", reply.status);
});
https.get(amap + ".invalid/").on("error", failed("other"));
fetch(amap + ".invalid/").catch(failed("fetched"));
"""


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@asynccontextmanager
async def served(fake: FakeAmap, folder: Path) -> AsyncIterator[ClientSession]:
    given = {"command": "npx", "args": ["-y", PACKAGE], "env": environment(fake, folder)}
    client = MultiServerMCPClient({"amap": {"transport": "stdio", **given}})
    async with client.session("amap") as session:
        yield session


async def answer(session: ClientSession, tool: str, **arguments: str) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    (block,) = result.content
    assert (result.isError, result.structuredContent) == (False, None), block.text
    return json.loads(block.text)


async def failure(session: ClientSession, tool: str, **arguments: str) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.isError
    return result.content[0].text


async def test_it_has_our_tools_with_the_arguments_that_ours_require(fake: FakeAmap, tmp_path: Path) -> None:
    async with served(fake, tmp_path) as session:
        theirs = {tool.name: tool.inputSchema for tool in (await session.list_tools()).tools}
    ours = {tool.name: tool.inputSchema for tool in await build_server(OfflineBackend()).list_tools()}
    assert theirs.keys() == ours.keys()
    for name, schema in ours.items():
        assert schema["required"] == theirs[name]["required"]
        assert schema["properties"].keys() == theirs[name]["properties"].keys()
    assert not fake.log


async def test_from_a_name_to_a_place_takes_a_call_for_each_place(fake: FakeAmap, tmp_path: Path) -> None:
    async with served(fake, tmp_path) as session:
        (centre,) = (await answer(session, "maps_geo", address="北京王府井"))["return"]
        around = {"location": centre["location"], "radius": "2000", "keywords": "亲子|儿童乐园"}
        bare, place = (await answer(session, "maps_around_search", **around))["pois"]
        detail = await answer(session, "maps_search_detail", id=place["id"])
        plain = await answer(session, "maps_search_detail", id=bare["id"])
    assert (centre["level"], centre["street"]) == ("热点商圈", [])
    assert place.keys() == {"id", "name", "address", "typecode", "photos"}
    assert bare.keys() == {"id", "name", "address", "typecode"}
    assert bare["address"] == []
    assert place["photos"]["url"].startswith("http://")
    assert detail["location"] == "116.411344,39.914204"
    assert (detail["rating"], detail["cost"], detail["city"]) == ("4.5", "128.00", "北京市")
    assert detail["opentime2"] == "周一至周日 10:00-21:30"
    assert (plain["rating"], plain["cost"], plain["alias"]) == ([], [], [])
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around", *["v3/place/detail"] * 2]
    assert {asked.query["key"] for asked in fake.log} == {KEY}
    assert {asked.query["source"] for asked in fake.log} == {"ts_mcp"}


async def test_every_tool_answers_from_the_fake(fake: FakeAmap, tmp_path: Path) -> None:
    async with served(fake, tmp_path) as session:
        said = {tool: await answer(session, tool, **given) for tool, (given, _) in CALLS.items()}
    assert {tool: set(value) for tool, value in said.items()} == {tool: names for tool, (_, names) in CALLS.items()}
    assert len(fake.log) == len(CALLS)
    assert said["maps_regeocode"]["city"] == []
    assert all("location" not in row for row in said["maps_text_search"]["pois"])
    assert said["maps_distance"]["results"][0]["distance"].isdigit()
    walk, ride = said["maps_direction_walking"]["route"], said["maps_bicycling"]["data"]
    assert walk["paths"][0]["distance"].isdigit()
    assert isinstance(ride["paths"][0]["distance"], int)
    assert walk["paths"][0]["steps"][0].keys() == ride["paths"][0]["steps"][0].keys()
    assert "polyline" not in walk["paths"][0]["steps"][0]
    (transit,) = said["maps_direction_transit_integrated"]["route"]["transits"]
    assert [segment["entrance"] for segment in transit["segments"]] == [
        {"name": "王府井地铁站A口"}, {},
    ]  # fmt: skip


async def test_arguments_that_are_not_passed_on(fake: FakeAmap, tmp_path: Path) -> None:
    async with served(fake, tmp_path) as session:
        await answer(session, "maps_geo", address="王府井", city="北京")
        await answer(session, "maps_text_search", keywords="馆", city="杭州", types="博物馆")
    assert [asked.query.get("city") for asked in fake.log] == [None, "杭州"]
    assert not any("types" in asked.query for asked in fake.log)
    assert fake.last.query["citylimit"] == "false"


async def test_how_it_tells_of_failures(fake: FakeAmap, tmp_path: Path) -> None:
    told: dict[str, str] = {}
    async with served(fake, tmp_path) as session:
        unknown = await failure(session, "maps_search_detail", id="B0NOPE")
        nowhere = await failure(session, "maps_weather", city="Atlantis")
        no_tool = await failure(session, "maps_teleport")
        for fault in ("key", "quota", "qps", "html502", "badjson", "drop"):
            fake.fail("any", fault)
            told[fault] = await failure(session, "maps_around_search", location=HERE)
        fake.fail("any", "far")
        cycling = await failure(session, "maps_bicycling", **WAY)
        fake.fail("any", "empty")
        assert await answer(session, "maps_geo", address="王府井") == {"return": []}
    assert unknown == "Error: Cannot read properties of undefined (reading 'id')"
    assert nowhere == "Error: Cannot read properties of undefined (reading 'city')"
    assert no_tool == "Unknown tool: maps_teleport"
    assert cycling == "Direction bicycling failed: undefined"
    assert told["key"] == "Around Search failed: INVALID_USER_KEY"
    assert told["quota"] == "Around Search failed: USER_DAILY_QUERY_OVER_LIMIT"
    assert told["qps"] == "Around Search failed: CUQPS_HAS_EXCEEDED_THE_LIMIT"
    assert told["html502"].startswith("Error: Unexpected token '<'")
    assert told["badjson"] == "Error: Unexpected end of JSON input"
    assert told["drop"].endswith("reason: socket hang up")
    assert f"key={KEY}" in told["drop"]


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
async def test_a_model_finds_its_way_with_it(fake: FakeAmap, tmp_path: Path) -> None:
    with FakeGemini() as gemini:
        model = ChatGoogleGenerativeAI(
            model="gemini-3.8-flash",
            api_key="k",
            base_url=gemini.base_url,
            api_version="v1beta",
            max_retries=1,
        )
        async with served(fake, tmp_path) as session:
            tools = {tool.name: tool for tool in await load_mcp_tools(session)}
            bound, messages = (
                model.bind_tools(list(tools.values())),
                [HumanMessage("王府井附近遛娃")],
            )
            while (said := await bound.ainvoke(messages)).tool_calls:
                results = [await tools[call["name"]].ainvoke(call) for call in said.tool_calls]
                messages += [said, *results]
        await model.aclose()
    assert said.text == "done"
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around", *["v3/place/detail"] * 3]


def test_nothing_but_amap_is_redirected(fake: FakeAmap, tmp_path: Path) -> None:
    """However a server may ask in future; a name that does not exist shows what is let through."""
    given = environment(fake, tmp_path)
    done = subprocess.run(
        ["node", "-e", SCRIPT], env=given | {"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    told = dict(line.split() for line in done.stdout.splitlines())
    assert [told.pop(way) for way in ("get", "url", "options", "fetch")] == ["200"] * 4
    assert told.keys() == {"other", "fetched"}
    assert set(told.values()) <= {"ENOTFOUND", "EAI_AGAIN"}
    assert {asked.query["way"] for asked in fake.log} == {"get", "url", "options", "fetch"}
    assert given.keys() == {"NODE_OPTIONS", "AMAP_MAPS_API_KEY"}


# The one session of the app with it


def session_of(fake: FakeAmap, folder: Path, mark: str, **more: Any) -> AmapSession:
    given = environment(fake, folder)
    env = (("NODE_OPTIONS", SecretStr(given["NODE_OPTIONS"])), (MARK, SecretStr(mark)))
    settings = Settings.model_validate(
        {
            "data_dir": folder,
            "amap_mcp": "npm",
            "amap_key": SecretStr(KEY),
            "amap_timeout": 20.0,
            "child_env": env,
        }
        | more
    )
    return AmapSession(session_factory(settings), settings.amap_timeout + 1)


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark for the processes of a test, none of which may outlive it."""
    made = uuid4().hex
    yield made
    try:
        until(lambda: not marked(made))
    finally:
        for pid in marked(made):
            os.kill(pid, signal.SIGKILL)


def servers(mark: str) -> list[int]:
    """The processes of the server itself, without npx, its shell and what ties them to us."""
    return marked(mark, ".bin/mcp-amap")


needs_proc = pytest.mark.skipif(bool(unseen()), reason=unseen())
GEO = ("maps_geo", {"address": "王府井"})


@needs_proc
async def test_any_number_of_calls_takes_one_process(fake: FakeAmap, tmp_path: Path, mark: str) -> None:
    session = session_of(fake, tmp_path, mark)
    try:
        await session.start()
        seen = set(servers(mark))
        answers = await asyncio.gather(*(session.call(*GEO) for _ in range(30)))
        for _ in range(9):
            await session.call("maps_search_detail", {"id": "B0FFH2K7QD"})
            seen |= set(servers(mark))
    finally:
        await session.close()
    assert all(answer == answers[0] for answer in answers)
    assert len(seen) == 1 and len(fake.log) == 39


@needs_proc
@pytest.mark.parametrize("during", [False, True], ids=["between", "during"])
async def test_a_server_that_is_killed_is_started_anew(during: bool, fake: FakeAmap, tmp_path: Path, mark: str) -> None:
    session = session_of(fake, tmp_path, mark)
    try:
        first = await session.call(*GEO)
        if during:
            fake.fail("any", "hang")
        calling = asyncio.ensure_future(session.call(*GEO)) if during else None
        await asyncio.to_thread(until, lambda: len(fake.log) == 1 + during)
        fake.fail("any", "ok")
        for pid in servers(mark):
            os.kill(pid, signal.SIGKILL)
        assert await (calling or session.call(*GEO)) == first
        assert await session.call(*GEO) == first
    finally:
        await session.close()


async def test_a_call_that_hangs_ends_in_time_and_closing_ends_the_server(
    fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    session = session_of(fake, tmp_path, mark)
    try:
        await session.start()
        running = servers(mark)
        session._timeout_seconds = 0.3
        fake.fail("any", "hang")
        with pytest.raises(ServiceError, match="timeout: maps_geo: no answer within") as caught:
            await session.call(*GEO)
        assert caught.value.is_retryable
        fake.fail("any", "ok")
        session._timeout_seconds = 10
        assert (await session.call(*GEO))["return"]
        assert servers(mark) == running
        fake.fail("any", "hang")
        calling = asyncio.ensure_future(session.call(*GEO))
        await asyncio.to_thread(until, lambda: len(fake.log) == 3)
    finally:
        await session.close()
    with pytest.raises(ServiceError, match="unavailable: "):
        await calling


async def test_its_failures_are_told_by_their_reasons_and_without_the_key(
    fake: FakeAmap, tmp_path: Path, mark: str, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    told: dict[str, ServiceError] = {}
    session = session_of(fake, tmp_path, mark)
    try:
        for fault in ("key", "platform", "quota", "qps", "html502", "html200", "badjson", "drop"):
            fake.fail("any", fault)
            with pytest.raises(ServiceError) as caught:
                await session.call(*GEO)
            told[fault] = caught.value
        fake.fail("any", "ok")
        for name, call in {
            "id": ("maps_search_detail", {"id": "B0NOPE"}),
            "city": ("maps_weather", {"city": "Atlantis"}),
            "tool": ("maps_teleport", {}),
        }.items():
            with pytest.raises(ServiceError) as caught:
                await session.call(*call)
            told[name] = caught.value
    finally:
        await session.close()
    assert {name: trouble.reason for name, trouble in told.items()} == {
        "key": "refused", "platform": "refused", "quota": "quota", "qps": "quota",
        "html502": "malformed", "html200": "malformed", "badjson": "malformed",
        "drop": "unreachable", "id": "empty", "city": "empty", "tool": "refused",
    }  # fmt: skip
    assert {name for name, trouble in told.items() if trouble.hint == "key"} == {"key", "platform"}
    assert told["drop"].message == "Amap: no connection (socket hang up)"
    written = capfd.readouterr()
    assert KEY not in caplog.text + written.out + written.err + "".join(map(str, told.values()))
