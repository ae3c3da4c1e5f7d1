"""Servers with more tools than anybody can use: what is kept of them, and that it is told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from research.core.tool_servers import SearchTool, ToolServer
from research.sources.mcp_tools.session import MAX_TOOLS
from research.sources.mcp_tools.transports import build_sessions

SCRIPT = Path(__file__).resolve().parents[2] / "servers" / "abundant.py"


async def listed(count: int, size: int, **more: Any) -> tuple[list[str], str]:
    """The tools that are kept, and what the last of them answers."""
    server = ToolServer(name="many", command=sys.executable, args=(str(SCRIPT), str(count), str(size)), **more)
    session = build_sessions([server], {})["mcp_many"]
    try:
        found = list(await session.start())
        answer = await session.call_tool(found[-1], {"query": "x"})
        return found, getattr(answer.content[0], "text", "")
    finally:
        await session.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [20_000, 300], ids=["in one page", "in pages"])
async def test_of_very_many_tools_the_first_are_kept_and_the_log_says_so(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    found, said = await listed(20_000, size)
    assert found == [f"tool_{n}" for n in range(MAX_TOOLS)]
    assert said == f"{-(-MAX_TOOLS // size)} pages"  # no further ones were asked for
    assert "more tools than can be used" in caplog.text


@pytest.mark.slow
async def test_those_that_are_named_are_kept_wherever_they_stand() -> None:
    search = SearchTool(tool="tool_19998", argument="query")
    found, _ = await listed(20_000, 300, tools=("tool_3", "tool_15000"), search=search)
    assert len(found) == MAX_TOOLS + 2
    assert found[-2:] == ["tool_15000", "tool_19998"]


@pytest.mark.parametrize("count", [1, MAX_TOOLS])
async def test_not_too_many_are_all_kept_and_nothing_is_said(count: int, caplog: pytest.LogCaptureFixture) -> None:
    found, _ = await listed(count, 100)
    assert len(found) == count
    assert "more tools" not in caplog.text
