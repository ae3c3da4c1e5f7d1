"""The one session with a server of Amap's tools, over every transport and whatever its server does."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import uvicorn
from aiohttp import web
from pydantic import SecretStr

from research.core.errors import ServiceError
from research.core.settings import Settings
from research.sources.mcp_tools.transports import open_stdio
from research.sources.places import amap_sessions
from research.sources.places.amap import AmapBackend
from research.sources.places.amap_sessions import START_TIMEOUT_FACTOR, AmapSession, session_factory
from research.sources.places.server import build_server
from tests.fakes import until
from tests.servers import refused_url
from tests.servers.amap import FakeAmap
from tests.servers.crooked import MODES, NOTHING, TOOL
from tests.servers.processes import MARK, lacking, marked
from tests.servers.search import Asked, Service

KEY = "sentinel+amap/0123456789"
TRACES = (KEY, "sentinel%2Bamap", "sentinel+amap")
HERE = "116.410894,39.911514"
AROUND = ("maps_around_search", {"location": HERE, "radius": "2000", "keywords": "公园"})
GEO = ("maps_geo", {"address": "王府井"})
CROOKED = Path(__file__).resolve().parents[2] / "servers" / "crooked.py"
needs_proc = pytest.mark.skipif(bool(lacking()), reason=lacking())


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


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


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What a test has been told; at its end neither that nor any log has the key."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    spoken: list[str] = []
    yield spoken
    everything = caplog.text + "".join(spoken)
    assert not [trace for trace in TRACES if trace in everything]


def settings(folder: Path, route: str, fake: FakeAmap | None, mark: str = "", **more: Any) -> Settings:
    given: dict[str, Any] = {
        "data_dir": folder,
        "amap_mcp": route,
        "amap_key": SecretStr(KEY),
        "amap_url": fake.base_url if fake else "",
        "amap_timeout": 10.0,
        "child_env": ((MARK, SecretStr(mark)),) if mark else (),
    }
    return Settings.model_validate(given | more)


@asynccontextmanager
async def opened(given: Settings) -> AsyncIterator[AmapSession]:
    session = AmapSession(session_factory(given), given.amap_timeout + 1)
    try:
        yield session
    finally:
        await session.close()


@asynccontextmanager
async def crooked(mode: str, mark: str, patience: float = 10.0) -> AsyncIterator[AmapSession]:
    """A session with the server that goes wrong."""
    command = [sys.executable, str(CROOKED), mode]
    wait = timedelta(seconds=patience * START_TIMEOUT_FACTOR)
    session = AmapSession(lambda: open_stdio(command, {MARK: mark}, wait), patience)
    try:
        yield session
    finally:
        await session.close()


async def failure(session: AmapSession, call: tuple[str, dict[str, Any]] = GEO) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await session.call(*call)
    return caught.value


async def soon(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits for a condition while the loop goes on."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not true within {seconds:g} s"
        await asyncio.sleep(0.01)


def servers(mark: str) -> list[int]:
    """The processes of our own server, without those that tie it to us."""
    return marked(mark, "-m research.sources.places.server", but="supervisor.py")


def kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


# Answers


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "stdio"])
async def test_thirty_calls_at_once_are_answered_by_one_server(
    route: str, fake: FakeAmap, tmp_path: Path, mark: str, told: list[str]
) -> None:
    async with opened(settings(tmp_path, route, fake, mark)) as session:
        answers = await asyncio.gather(*(session.call(*AROUND) for _ in range(30)))
        running = servers(mark)
    assert all(answer == answers[0] for answer in answers)
    assert {place["name"] for place in answers[0]["pois"]} >= {"皇城根遗址公园", "中山公园"}
    assert len(fake.log) == 30
    if route == "stdio" and not lacking():
        assert len(running) == 1
    told.append(repr(answers))


@needs_proc
async def test_any_number_of_calls_one_after_the_other_takes_one_process(
    fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    seen: set[int] = set()
    async with opened(settings(tmp_path, "stdio", fake, mark)) as session:
        await session.start()
        assert not fake.log
        for _ in range(9):
            await session.call(*AROUND)
            seen |= set(servers(mark))
    assert len(seen) == 1


async def test_a_session_without_a_key_answers_from_the_table(tmp_path: Path) -> None:
    async with opened(settings(tmp_path, "memory", None, amap_key=SecretStr(""))) as session:
        answer = await session.call(*GEO)
    assert (answer["source"], answer["sample"]) == ("offline", True)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "stdio"])
async def test_a_failure_comes_with_its_reason_and_an_unknown_tool_is_refused(
    route: str, fake: FakeAmap, tmp_path: Path, mark: str, told: list[str]
) -> None:
    async with opened(settings(tmp_path, route, fake, mark)) as session:
        for fault, reason, hint in (
            ("key", "refused", "key"),
            ("platform", "refused", "key"),
            ("quota", "quota", ""),
            ("qps", "quota", ""),
            ("html502", "unavailable", ""),
            ("html200", "malformed", "endpoint"),
            ("badjson", "malformed", "endpoint"),
            ("drop", "unreachable", ""),
        ):
            fake.fail("any", fault)
            trouble = await failure(session)
            assert (trouble.reason, trouble.hint) == (reason, hint), fault
            assert trouble.is_retryable == (fault in ("qps", "html502", "drop")), fault
            told.append(str(trouble))
        unknown = await failure(session, ("maps_teleport", {}))
        assert (unknown.reason, "maps_teleport" in unknown.message) == ("refused", True)
        wrong = await failure(session, ("maps_geo", {"address": ""}))
        assert (wrong.reason, wrong.message) == ("refused", "address must not be empty")


# Servers that end, hang or never start


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("victim", ["research.sources.places.server", "supervisor.py"])
async def test_a_server_killed_between_calls_is_started_anew(
    victim: str, fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    async with opened(settings(tmp_path, "stdio", fake, mark)) as session:
        first = await session.call(*GEO)
        kill(marked(mark, victim))
        assert await session.call(*GEO) == first
        assert await session.call(*GEO) == first
    assert len(fake.log) == 3


@pytest.mark.slow
@needs_proc
async def test_a_server_killed_during_calls_is_started_once_for_all_of_them(
    fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    fake.fail("any", "hang")
    async with opened(settings(tmp_path, "stdio", fake, mark)) as session:
        calls = [asyncio.create_task(session.call(*GEO)) for _ in range(3)]
        await soon(lambda: len(fake.log) == 3)
        fake.fail("any", "ok")
        before = set(servers(mark))
        kill(list(before))
        answers = await asyncio.gather(*calls)
        assert all(answer["return"] for answer in answers)
        after = set(servers(mark))
        assert len(after) == 1 and not after & before
    assert len(fake.log) == 6


async def test_a_server_that_dies_of_every_call_is_given_up(mark: str) -> None:
    async with crooked("dies", mark) as session:
        for _ in range(2):
            trouble = await failure(session, (TOOL, {"keywords": "x"}))
            assert (trouble.reason, trouble.is_retryable) == ("unavailable", True)
            assert "ended during the call" in trouble.message


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "stdio"])
async def test_a_call_that_hangs_ends_in_time_and_the_session_goes_on(
    route: str, fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    async with opened(settings(tmp_path, route, fake, mark)) as session:
        await session.call(*GEO)
        running = servers(mark)
        session._timeout_seconds = 0.3
        fake.fail("any", "hang")
        started = time.monotonic()
        trouble = await failure(session)
        assert (trouble.reason, trouble.is_retryable) == ("timeout", True)
        assert "maps_geo" in trouble.message and "0.3 s" in trouble.message
        assert time.monotonic() - started < 30
        fake.fail("any", "ok")
        session._timeout_seconds = 10
        assert (await session.call(*GEO))["return"]
        assert servers(mark) == running


@pytest.mark.slow
async def test_a_server_that_hangs_by_itself_is_replaced(mark: str) -> None:
    """The first call of each process of this server is never answered, nor is a ping after it."""
    async with crooked("sleepy", mark, patience=0.5) as session:
        await session.start()
        first = set(marked(mark, "sleepy"))
        assert (await failure(session, (TOOL, {}))).reason == "timeout"
        await session.start()
        if not lacking():
            await soon(lambda: not first & set(marked(mark, "sleepy")))
            assert marked(mark, "sleepy")


@pytest.mark.slow
async def test_a_server_that_never_answers_the_greeting_is_given_up_once_for_all(
    mark: str,
) -> None:
    async with crooked("silent", mark, patience=0.2) as session:
        started = time.monotonic()
        troubles = await asyncio.gather(*(failure(session, (TOOL, {})) for _ in range(8)))
        assert time.monotonic() - started < 30
    assert {trouble.reason for trouble in troubles} == {"timeout"}
    assert "did not start within 0.6 s" in troubles[0].message


async def test_a_server_that_exits_at_once_is_unavailable(mark: str, capfd: pytest.CaptureFixture[str]) -> None:
    async with crooked("exits", mark) as session:
        trouble = await failure(session, (TOOL, {}))
    assert trouble.reason == "unavailable"
    assert "did not start" in trouble.message


@pytest.mark.parametrize("mode", ["junk", "bytes", "flood", "blocks", "good"])
async def test_what_is_no_message_is_skipped(mode: str, mark: str) -> None:
    async with crooked(mode, mark) as session:
        for _ in range(3):
            assert await session.call(TOOL, {"keywords": "公园"}) == NOTHING


@pytest.mark.parametrize(("mode", "reason"), [("html", "malformed"), ("list", "malformed"), ("error", "refused")])
async def test_an_answer_that_is_no_object_is_a_failure(mode: str, reason: str, mark: str) -> None:
    async with crooked(mode, mark) as session:
        trouble = await failure(session, (TOOL, {}))
    assert trouble.reason == reason
    assert "<" not in trouble.message


def test_every_way_to_go_wrong_is_tried() -> None:
    tried = {"silent", "exits", "junk", "bytes", "flood", "html", "list", "error", "blocks"}
    assert set(MODES) == tried | {"good", "empty", "sleepy", "dies"}


# What a route needs


@pytest.mark.parametrize("route", ["npm", "hosted"])
async def test_amaps_own_servers_need_a_key(route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amap_sessions, "HOSTED_URL", refused_url())  # nothing may be asked of the real one
    async with opened(settings(tmp_path, route, None, amap_key=SecretStr(""))) as session:
        trouble = await failure(session)
    assert (trouble.reason, trouble.hint) == ("no key", "key")
    assert "AMAP_MAPS_API_KEY" in trouble.message


async def test_without_npx_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with opened(settings(tmp_path, "npm", None)) as session:
        trouble = await failure(session)
    assert trouble.reason == "unreachable"
    assert "Node.js" in trouble.message and "AMAP_MCP=memory" in trouble.message
    told.append(str(trouble))


# Cancelling and closing


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "stdio"])
async def test_a_caller_who_goes_leaves_the_session_usable(
    route: str, fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    async with opened(settings(tmp_path, route, fake, mark)) as session:
        starting = asyncio.create_task(session.call(*GEO))
        await asyncio.sleep(0)
        other = asyncio.create_task(session.call(*GEO))
        await asyncio.sleep(0)
        starting.cancel()
        assert (await other)["return"]
        fake.fail("any", "hang")
        asked = len(fake.log)
        calling = asyncio.create_task(session.call(*GEO))
        await soon(lambda: len(fake.log) > asked)
        running = servers(mark)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        fake.fail("any", "ok")
        assert (await session.call(*GEO))["return"]
        assert servers(mark) == running


@pytest.mark.parametrize("route", ["memory", "stdio"])
async def test_closing_ends_a_call_that_hangs_and_its_server(
    route: str, fake: FakeAmap, tmp_path: Path, mark: str
) -> None:
    fake.fail("any", "hang")
    async with opened(settings(tmp_path, route, fake, mark)) as session:
        calling = asyncio.create_task(failure(session))
        await soon(lambda: fake.log)
        started = time.monotonic()
        await session.close()
        assert (await calling).reason == "unavailable"
        assert time.monotonic() - started < 30
        assert not servers(mark)
    assert len(fake.log) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["good", "silent"])
async def test_closing_while_a_server_starts_leaves_none(mode: str, mark: str) -> None:
    async with crooked(mode, mark) as session:
        calling = asyncio.create_task(failure(session, (TOOL, {})))
        if lacking():
            await asyncio.sleep(0)
        else:
            await soon(lambda: marked(mark))
        await session.close()
        assert (await calling).reason == "unavailable"
        await soon(lambda: not marked(mark))


async def test_a_closed_session_stays_closed(fake: FakeAmap, tmp_path: Path) -> None:
    async with opened(settings(tmp_path, "memory", fake)) as session:
        await session.call(*GEO)
        await session.close()
        await session.close()
        assert (await failure(session)).reason == "unavailable"
    never = AmapSession(session_factory(settings(tmp_path, "stdio", fake)), 1)
    await never.close()
    assert len(fake.log) == 1


# A server elsewhere


class Elsewhere:
    """Our own server over Streamable HTTP, on a free port of this machine."""

    def __init__(self, fake: FakeAmap) -> None:
        self.requests: list[str] = []
        self._backend = AmapBackend(KEY, base_url=fake.base_url)
        app = build_server(self._backend).streamable_http_app()

        async def noted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                self.requests.append(scope["query_string"].decode())
            await app(scope, receive, send)

        config = uvicorn.Config(noted, port=0, log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)

    async def _serve(self) -> None:
        await self._server.serve()
        await self._backend.close()

    def __enter__(self) -> Elsewhere:
        self._thread.start()
        until(lambda: self._server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()

    @property
    def address(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/mcp?lang=zh"


class Door(Service):
    """Turns everybody down in its own way: `fault` is "", "html" or "hangs"."""

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if self.fault == "html":
            return web.Response(text="<title>Welcome</title>", content_type="text/html")
        return web.json_response({"error": f"no entry with {request.url}"}, status=self.status)


@pytest.mark.slow
async def test_a_server_elsewhere_is_asked_with_the_key_in_its_address(
    fake: FakeAmap, tmp_path: Path, told: list[str]
) -> None:
    with Elsewhere(fake) as server:
        async with opened(settings(tmp_path, server.address, None)) as session:
            answers = await asyncio.gather(*(session.call(*AROUND) for _ in range(30)))
            assert all(answer == answers[0] for answer in answers)
            fake.fail("any", "quota")
            trouble = await failure(session)
            assert (trouble.reason, trouble.message) == (
                "quota", "Amap: USER_DAILY_QUERY_OVER_LIMIT (10044)"
            )  # fmt: skip
            told.append(str(trouble))
    assert set(server.requests) == {"lang=zh&key=sentinel%2Bamap%2F0123456789"}
    assert len(fake.log) == 31


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "fault", "reason", "hint"),
    [
        (401, "", "refused", "key"),
        (403, "", "refused", ""),
        (404, "", "unavailable", ""),
        (429, "", "quota", ""),
        (500, "", "unavailable", ""),
        (200, "html", "malformed", "endpoint"),
        (200, "hangs", "timeout", ""),
    ],
)
async def test_a_server_elsewhere_that_is_none_gives_the_reason(
    status: int, fault: str, reason: str, hint: str, tmp_path: Path, told: list[str]
) -> None:
    with Door(status=status, fault=fault) as door:
        patience = 0.5 if fault == "hangs" else 20.0
        given = settings(tmp_path, f"{door.base_url}/mcp", None, amap_timeout=patience)
        async with opened(given) as session:
            started = time.monotonic()
            trouble = await failure(session)
            assert time.monotonic() - started < 30
    told.append(str(trouble))
    assert (trouble.reason, trouble.hint) == (reason, hint)
    assert door.log


async def test_a_server_elsewhere_that_is_not_there_cannot_be_reached(tmp_path: Path, told: list[str]) -> None:
    async with opened(settings(tmp_path, f"{refused_url()}/mcp", None)) as session:
        trouble = await failure(session)
    assert trouble.reason == "unreachable"
    told.append(str(trouble))
