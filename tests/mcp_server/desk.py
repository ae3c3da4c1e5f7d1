"""Sightline as an MCP server in a process of its own, keyless, on the sample, and clients for it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "sentinel-token-0123456789"
SOON = timedelta(seconds=60)
SLOW = {"SIGHTLINE_SEARCH_DELAY": "60"}  # a run that searches is still under way
LAKE = "西湖哪年列入世界遗产？"
COMMAND = ["-m", "research", "mcp"]
READERS = {"report", "search_library", "find_places", "ask_database", "list_runs"}
TOOLS = {"research", "research_table", *READERS}


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "SIGHTLINE_DATA_DIR": str(folder / "data")} | more  # fmt: skip


@asynccontextmanager
async def stdio(folder: Path, **more: str) -> AsyncIterator[ClientSession]:
    """The SDK's own session over stdin and stdout; what the process says beside it is in `stderr`."""
    command = StdioServerParameters(command=sys.executable, args=COMMAND, env=environment(folder, **more), cwd=ROOT)
    with (folder / "stderr").open("a") as log:
        async with (
            stdio_client(command, errlog=log) as (read, write),
            ClientSession(read, write, SOON) as session,
        ):
            await session.initialize()
            yield session


@contextmanager
def served(folder: Path, *words: str, **more: str) -> Iterator[str]:
    """The address of a server by HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = environment(folder, SIGHTLINE_MCP_TOKEN=TOKEN) | more
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "--port", str(port), *words],
        cwd=ROOT,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    try:
        line = process.stderr.readline()
        assert line.startswith("Serving MCP clients at "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        _, rest = process.communicate(timeout=60)
        assert "Traceback" not in rest
        assert process.returncode in (0, -15), rest


@asynccontextmanager
async def http(address: str, token: str = TOKEN) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as client,
        streamable_http_client(address, http_client=client) as (read, write, _),
        ClientSession(read, write, SOON) as session,
    ):
        await session.initialize()
        yield session


def words(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.isError, words(result)
    assert result.structuredContent is not None
    return result.structuredContent


async def status(session: ClientSession, run: str) -> str:
    """The status of a run, "" if there is none."""
    runs = data(await session.call_tool("list_runs", {}))["runs"]
    return next((one["status"] for one in runs if one["run"] == run), "")


async def until(true: Callable[[], Awaitable[object]]) -> None:
    end = time.monotonic() + 60
    while not await true():
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.1)


async def abandoned(session: ClientSession, run: str) -> None:
    """Begins a run and leaves the call by `notifications/cancelled` while it searches."""
    from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    number = session._request_id
    call = asyncio.create_task(session.call_tool("research", {"question": LAKE, "run_id": run}, progress_callback=hear))

    async def planned() -> bool:
        return bool(heard)

    await until(planned)
    note = CancelledNotification(params=CancelledNotificationParams(requestId=number))
    await session.send_notification(ClientNotification(note))
    (outcome,) = await asyncio.gather(call, return_exceptions=True)
    assert "cancelled" in str(outcome)
