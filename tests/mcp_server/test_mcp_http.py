"""The MCP server over HTTP: who is let in, and that a run can be had and left there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.server.lowlevel import Server

from research.mcp_server.serving import MAX_BODY_BYTES, serve_http
from tests.mcp_server.desk import LAKE, SLOW, TOKEN, abandoned, data, http, served, status, until

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    },
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path, "--allow-host", "desk.test") as found:
        yield found


async def test_only_who_knows_the_token_and_asks_for_this_machine_is_served(address: str) -> None:
    port = httpx.URL(address).port
    refused: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": "Bearer Ünï".encode().decode("latin-1")}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        (BEARER | {"Host": f"evil.test:{port}"}, 421),
        (BEARER | {"Host": "127.0.0.1:1"}, 421),
        (BEARER | {"Origin": "https://evil.test"}, 403),
        (BEARER | {"Origin": "null"}, 403),
    ]
    taken = [
        BEARER,
        {"Authorization": f"bearer  {TOKEN}"},
        BEARER | {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"},
        BEARER | {"Host": "desk.test", "Origin": "https://desk.test"},
    ]
    async with httpx.AsyncClient(timeout=60) as client:
        for headers, code in [*refused, *((headers, 200) for headers in taken)]:
            raw = [(k.encode(), v.encode("latin-1")) for k, v in (ACCEPT | headers).items()]
            answer = await client.post(address, json=HELLO, headers=raw)
            assert answer.status_code == code, headers
            if code == 401:
                assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert TOKEN not in answer.text
        other = await client.get(address.replace("/mcp", "/elsewhere"), headers=BEARER)
        assert other.status_code == 404


DEEP = {
    "arrays": "[" * 100_000 + "]" * 100_000,
    "objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "in an argument": '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_runs",'
    '"arguments":{"limit":' + "[" * 100_000 + "]" * 100_000 + "}}}",
    "deeper than pydantic goes": '{"jsonrpc":"2.0","id":2,"method":"none","params":{"a":'
    + '{"a":' * 300
    + "1"
    + "}" * 302,
    "without an end": "[" * 100_000,
    "a number of 5,000 digits": '{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":' + "9" * 5_000 + "}}",
    "no UTF-8": b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    "nothing": "",
}


async def test_what_cannot_be_read_is_refused_as_a_mistake_of_the_client(address: str) -> None:
    async with httpx.AsyncClient(headers=BEARER | ACCEPT, timeout=60) as client:
        hello = await client.post(address, json=HELLO)
        mine = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
        for name, body in DEEP.items():
            for headers in ({}, mine):
                kind = {"Content-Type": "application/json"}
                answer = await client.post(address, content=body, headers=headers | kind)
                assert answer.status_code == 400, name
                assert answer.json()["error"]["code"] == -32700, name
        ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
        assert '"result":{}' in (await client.post(address, json=ping, headers=mine)).text
        large = await client.post(address, content=b" " * (MAX_BODY_BYTES + 1), headers=mine)
        assert large.status_code == 413


async def test_a_session_ends_when_it_is_idle_and_there_are_only_so_many() -> None:
    async with (
        serving(session_idle_seconds=1.0, max_sessions=2) as address,
        httpx.AsyncClient(headers=BEARER | ACCEPT, timeout=60) as client,
    ):
        made = [await client.post(address, json=HELLO) for _ in range(3)]
        assert [answer.status_code for answer in made] == [200, 200, 503]

        async def ended() -> bool:
            return (await client.post(address, json=HELLO)).status_code == 200

        await until(ended)
        mine = {"Mcp-Session-Id": made[0].headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
        assert (await client.post(address, json=ping, headers=mine)).status_code == 404


@asynccontextmanager
async def serving(**more: Any) -> AsyncIterator[str]:
    """The address of a server without tools, in this process."""
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server: Server[Any, Any] = Server("test")
    task = asyncio.create_task(serve_http(server, TOKEN, "127.0.0.1", 0, [], told.set_result, **more))
    try:
        yield await told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.slow
async def test_a_report_comes_with_progress_and_is_one_for_all_sessions(address: str) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with http(address) as one, http(address) as other:
        asked = {"question": LAKE, "effort": "low", "run_id": "lake"}
        found = data(await one.call_tool("research", asked, progress_callback=hear))
        assert found["status"] == "done" and "2011" in found["citations"][0]["passage"]
        assert "writing" in heard
        assert data(await other.call_tool("report", {"run_id": "lake"})) == found


@pytest.mark.slow
async def test_a_call_that_is_left_stops_its_run_and_the_server_goes_on(tmp_path: Path) -> None:
    with served(tmp_path, **SLOW) as address:
        async with http(address) as session:
            await abandoned(session, "cancelled")
            asked = {"question": LAKE, "run_id": "vanished"}
            async with http(address) as other:
                call = asyncio.create_task(other.call_tool("research", asked))

                async def begun() -> bool:
                    return bool(await status(session, "vanished"))

                await until(begun)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)

            async def stopped() -> bool:
                found = [await status(session, run) for run in ("cancelled", "vanished")]
                return found == ["stopped", "stopped"]

            await until(stopped)


@pytest.mark.slow
async def test_a_connection_that_breaks_stops_its_run(tmp_path: Path) -> None:
    """Nobody says goodbye: neither the session nor the call is ended."""
    with served(tmp_path, **SLOW) as address:
        async with http(address) as session:
            async with httpx.AsyncClient(headers=BEARER | ACCEPT, timeout=60) as client:
                hello = await client.post(address, json=HELLO)
                mine = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
                ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                await client.post(address, json=ready, headers=mine)
                params = {"name": "research", "arguments": {"question": LAKE, "run_id": "broken"}}
                call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
                async with client.stream("POST", address, json=call, headers=mine):

                    async def running() -> bool:
                        return await status(session, "broken") == "running"

                    await until(running)

            async def stopped() -> bool:
                return await status(session, "broken") == "stopped"

            await until(stopped)
