"""A process that serves tools: the environment it gets, its error output, and what it leaves behind."""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from research.core import settings
from research.core.errors import ServiceError
from research.sources.mcp_tools.session import ToolServerSession, invoke
from research.sources.mcp_tools.transports import MAX_ERROR_LINES, build_sessions
from tests.fakes import until
from tests.servers.tools import Towers
from tests.tables import each_row

pytestmark = pytest.mark.slow

TOWERS = str(Path(__file__).resolve().parents[2] / "servers" / "tools.py")
posix = pytest.mark.skipif(os.name != "posix", reason="only for POSIX")


@asynccontextmanager
async def opened(folder: Path, entry: dict[str, Any], **env: str) -> AsyncIterator[ToolServerSession]:
    """The session with the one server of a file, which is read in an environment."""
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"towers": entry}}), "utf-8")
    found = settings.load_settings(env, data_dir=folder)
    session = build_sessions(found.servers, {})["mcp_towers"]
    try:
        yield session
    finally:
        await session.close()


@each_row(
    ("written", "outer", "received"),
    [
        ("${OUTER}", "a ${INNER} b", "a ${INNER} b"),
        ("${OUTER}", "${OUTER}", "${OUTER}"),
        ("${OUTER}", "$INNER ${MISSING} $$ $", "$INNER ${MISSING} $$ $"),
        ("<${OUTER}>${OUTER}", "$", "<$>$"),
        ("$${OUTER}", "{INNER}", "${INNER}"),
        ("$INNER $$ ${", "", "$INNER $$ ${"),
    ],
)
async def test_a_variable_in_a_value_is_replaced_once(
    written: str,
    outer: str,
    received: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("INNER", "replaced again")
    monkeypatch.setenv("OUTER", "replaced from elsewhere")
    entry = {"command": sys.executable, "args": [TOWERS], "env": {"A": written}}
    async with opened(tmp_path, entry, OUTER=outer) as session:
        tools = await session.load_tools()
        said = (await invoke(tools["environment"], {})).text
    assert f"A={received} " in said
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@posix
async def test_the_log_has_the_first_lines_of_the_error_output_and_the_rest_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    script = f"seq 100000 >&2; exec {shlex.quote(sys.executable)} {shlex.quote(TOWERS)}"
    async with opened(tmp_path, {"command": "sh", "args": ["-c", script]}) as session:
        assert "find_towers" in await session.start()
    lines = [record.message for record in caplog.records if record.message.startswith("sh: ")]
    assert lines == [f"sh: {n + 1}" for n in range(MAX_ERROR_LINES)]
    assert capfd.readouterr().err == ""


@posix
@pytest.mark.parametrize("command", [TOWERS, "/nowhere/at/all"])
async def test_a_session_leaves_no_file_behind(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    entry = {"command": sys.executable, "args": [command]}
    async with opened(tmp_path, entry) as session:
        if command == TOWERS:
            await session.start()
            assert list(folder.iterdir())
        else:
            with pytest.raises(ServiceError):
                await session.start()
    until(lambda: not list(folder.iterdir()))


async def test_a_variable_in_a_header_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNER", "replaced again")
    with Towers() as server:
        entry = {"url": server.url, "headers": {"X-Key": "key ${OUTER}"}}
        async with opened(tmp_path, entry, OUTER="${INNER}") as session:
            assert "find_towers" in await session.start()
        assert {given["x-key"] for given in server.headers} == {"key ${INNER}"}
