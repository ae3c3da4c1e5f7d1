"""The MCP server and clients that are nobody's of ours: fastmcp's, and MCP Inspector's."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.desk import COMMAND, LAKE, ROOT, SLOW, TOKEN, TOOLS, environment, served

VENV = os.environ.get("SIGHTLINE_FASTMCP_VENV", "")
FASTMCP = shutil.which("python", path=str(Path(VENV) / "bin")) if VENV else None
INSPECTOR = ("npx", "-y", "@modelcontextprotocol/inspector", "--cli")


async def said(*command: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The JSON that a command prints."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await asyncio.wait_for(process.communicate(), 300)
    assert process.returncode == 0, errors.decode()[-3000:]
    found: dict[str, Any] = json.loads(out)
    return found


def lake(found: dict[str, Any]) -> None:
    assert found["status"] == "done" and found["citations"][0]["number"] == 1
    assert "2011年，杭州西湖文化景观" in found["citations"][0]["passage"]


@pytest.mark.clients
@pytest.mark.skipif(not FASTMCP, reason="SIGHTLINE_FASTMCP_VENV names no environment with fastmcp")
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_fastmcp_lists_calls_hears_progress_and_cancels(way: str, tmp_path: Path) -> None:
    script = str(ROOT / "tests" / "mcp_server" / "fastmcp_client.py")
    if way == "stdio":
        log = tmp_path / "stderr"
        process = {"command": sys.executable, "args": COMMAND, "cwd": str(ROOT), "keep_alive": False,
                   "log_file": str(log)}  # fmt: skip
        servers = [process | {"env": environment(tmp_path, **more)} for more in ({}, SLOW)]
        got = await said(str(FASTMCP), script, LAKE, *map(json.dumps, servers))
        assert log.read_text() == ""
    else:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with served(tmp_path) as one, served(tmp_path, **SLOW) as other:
            servers = [{"url": url, "headers": headers} for url in (one, other)]
            got = await said(str(FASTMCP), script, LAKE, *map(json.dumps, servers))
    assert got["tools"] == sorted(TOOLS)
    assert got["templates"] == ["sightline://runs/{run_id}", "sightline://runs/{run_id}/{suffix}"]
    lake(got["report"])
    assert [line.partition(" ")[0].rstrip(":") for line in got["heard"]] == ["planned", "searching", "found", "writing"]  # fmt: skip
    assert got["refused"][0] is True and "There is no run 'none'" in got["refused"][1]
    assert got["resource"].startswith(f"# {LAKE}")
    assert got["left"] == "stopped"


@pytest.mark.node
@pytest.mark.skipif(
    os.environ.get("SIGHTLINE_NODE_TESTS") != "1" or not shutil.which("npx"),
    reason="set SIGHTLINE_NODE_TESTS=1 to run MCP Inspector, which needs Node.js with npx",
)
async def test_mcp_inspector_lists_calls_and_reads(tmp_path: Path) -> None:
    env = environment(tmp_path) | {"PYTHONPATH": str(ROOT)}
    handed = [word for name in ("PYTHONPATH", "SIGHTLINE_DATA_DIR") for word in ("-e", f"{name}={env[name]}")]  # fmt: skip
    start = (*INSPECTOR, *handed, sys.executable, *COMMAND, "--method")
    tools = await said(*start, "tools/list")
    assert sorted(tool["name"] for tool in tools["tools"]) == sorted(TOOLS)
    asked = ("--tool-name", "research", "--tool-arg", f"question={LAKE}", "loops=1", "run_id=seen")
    result = await said(*start, "tools/call", *asked)
    assert result["content"][0]["text"].startswith(f"# {LAKE}")
    lake(result["structuredContent"])
    read = await said(*start, "resources/read", "--uri", "sightline://runs/seen")
    assert read["contents"][0]["text"] == result["content"][0]["text"]
