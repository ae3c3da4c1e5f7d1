"""The tools of a server as LangChain's: what of a call reaches the server, and who else sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException
from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult

from research.sources.mcp_tools.session import ToolServerSession, invoke


def build() -> FastMCP:
    server = FastMCP("towers")

    @server.tool()
    def height(name: str) -> str:
        if not name:
            raise ValueError("no name")
        return f"{name} is 45 metres high."

    @server.tool()
    def note(config: str, runtime: str, run_manager: str, callbacks: str, name: str) -> str:
        return ", ".join((config, runtime, run_manager, callbacks, name))

    return server


@asynccontextmanager
async def opened(server: FastMCP) -> AsyncIterator[ToolServerSession]:
    session = ToolServerSession(
        lambda: create_connected_server_and_client_session(server), 30, "the server of the tests"
    )
    try:
        yield session
    finally:
        await session.close()


async def test_an_interceptor_sees_and_may_change_each_call() -> None:
    seen: list[Any] = []

    async def louder(request: Any, handler: Any) -> CallToolResult:
        result = await handler(request.override(args={"name": request.args["name"].upper()}))
        seen.append((request.name, request.args, result.content[0].text))
        return result

    async with opened(build()) as session:
        tools = await session.load_tools(louder)
        message = await invoke(tools["height"], {"name": "old"})
    assert (message.text, message.status) == ("OLD is 45 metres high.", "success")
    assert seen == [("height", {"name": "old"}, "OLD is 45 metres high.")]


async def test_arguments_may_have_the_names_that_langchain_keeps_to_itself() -> None:
    given = {"config": "a", "runtime": "b", "run_manager": "c", "callbacks": "d", "name": "e"}
    async with opened(build()) as session:
        tools = await session.load_tools()
        assert (await invoke(tools["note"], given)).text == "a, b, c, d, e"


async def test_an_error_is_raised_and_never_taken_for_an_answer() -> None:
    async with opened(build()) as session:
        tools = await session.load_tools()
        with pytest.raises(ToolException, match="no name"):
            await invoke(tools["height"], {"name": ""})


async def test_no_callback_of_the_caller_sees_the_arguments() -> None:
    class Watcher(AsyncCallbackHandler):
        def __init__(self) -> None:
            self.seen: list[str] = []

        async def on_tool_start(self, *args: Any, **_: Any) -> None:
            self.seen.append(str(args))

    watcher = Watcher()
    async with opened(build()) as session:
        tools = await session.load_tools()

        async def run(name: str) -> str:
            return (await invoke(tools["height"], {"name": name})).text

        answer = await RunnableLambda(run).ainvoke("secret", {"callbacks": [watcher]})
    assert answer == "secret is 45 metres high."
    assert watcher.seen == []
