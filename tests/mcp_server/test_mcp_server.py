"""The MCP server over stdin and stdout: what it offers, gives, refuses, and that it can be left."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import McpError
from pydantic import AnyUrl

from research import EXPORT_FORMATS
from tests.mcp_server.desk import (
    COMMAND,
    LAKE,
    READERS,
    ROOT,
    SLOW,
    TOOLS,
    abandoned,
    data,
    environment,
    status,
    stdio,
    until,
    words,
)


def conversation(
    folder: Path, *messages: dict[str, Any] | str, options: tuple[str, ...] = (), **more: str
) -> tuple[int, list[dict[str, Any]], str]:
    """What a process answers to some lines, one after the other: its code, its lines, and stderr."""
    process = subprocess.Popen(
        [sys.executable, *COMMAND, *options],
        cwd=ROOT,
        env=environment(folder, **more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin and process.stdout
    answers = []
    for message in messages:
        line = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0"} | message)
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        if isinstance(message, dict) and "id" in message:
            answers.append(json.loads(process.stdout.readline()))
    rest, errors = process.communicate(timeout=60)
    assert rest == b""
    return process.returncode, answers, errors.decode()


def hello(version: str) -> dict[str, Any]:
    client = {"name": "a test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"id": 1, "method": "initialize", "params": params}


async def test_the_tools_say_what_they_take_give_and_do(tmp_path: Path) -> None:
    async with stdio(tmp_path) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert tool.title and tool.description and tool.annotations and tool.outputSchema
        jsonschema.Draft202012Validator.check_schema(tool.inputSchema)
        jsonschema.Draft202012Validator.check_schema(tool.outputSchema)
        assert tool.annotations.readOnlyHint == (name in READERS)
        assert tool.annotations.destructiveHint is False
    assert tools["research"].inputSchema["required"] == ["question"]


@pytest.mark.slow
async def test_a_report_comes_with_its_citations_and_tells_how_far_it_is(tmp_path: Path) -> None:
    heard: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    asked = {"question": LAKE, "effort": "low", "sources": ["library"], "run_id": "lake-1"}
    async with stdio(tmp_path) as session:
        result = await session.call_tool("research", asked, progress_callback=hear)
        found = data(result)
        assert (found["run"], found["status"], found["question"]) == ("lake-1", "done", LAKE)
        assert words(result).startswith(f"# {LAKE}")
        assert "2011" in found["answer"] and "[1]" in found["answer"]
        first = found["citations"][0]
        assert first["number"] == 1 and first["title"] in words(result)
        assert "2011年，杭州西湖文化景观" in first["passage"]
        assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
        kinds = [line.partition(" ")[0].rstrip(":") for _, line in heard]
        assert kinds == ["planned", "searching", "found", "writing"]

        # With the same id it is the same run, and nothing is searched again.
        heard.clear()
        assert data(await session.call_tool("research", asked, progress_callback=hear)) == found
        assert heard == []
        other = await session.call_tool("research", asked | {"question": "故宫门票多少钱？"})
        assert other.isError and "of another question" in words(other)
        assert data(await session.call_tool("report", {"run_id": "lake-1"})) == found

        # The run is a resource.
        (listed,) = (await session.list_resources()).resources
        assert (str(listed.uri), listed.title) == ("sightline://runs/lake-1", LAKE)
        (content,) = (await session.read_resource(listed.uri)).contents
        assert (content.mimeType, content.text) == ("text/markdown", words(result))  # type: ignore[union-attr]
        template, file_template = (await session.list_resource_templates()).resourceTemplates
        assert template.uriTemplate.replace("{run_id}", "lake-1") == str(listed.uri)
        assert file_template.uriTemplate == f"{template.uriTemplate}/{{suffix}}"
        assert all(item.suffix in (file_template.description or "") for item in EXPORT_FORMATS)
        for uri in ("sightline://runs/none", "sightline://runs/none/md", "file:///etc/passwd"):
            with pytest.raises(McpError, match="no such run"):
                await session.read_resource(AnyUrl(uri))

        # So is each of its files.
        (content,) = (await session.read_resource(AnyUrl(f"{listed.uri}/ris"))).contents
        assert content.mimeType == "application/x-research-info-systems"
        assert content.text.startswith("TY  - ")  # type: ignore[union-attr]
        (content,) = (await session.read_resource(AnyUrl(f"{listed.uri}/docx"))).contents
        assert base64.b64decode(content.blob).startswith(b"PK")  # type: ignore[union-attr]
        for suffix in ("xlsx", "exe"):  # there is no table, and no such format
            with pytest.raises(McpError, match=f"has no file '{suffix}'"):
                await session.read_resource(AnyUrl(f"{listed.uri}/{suffix}"))
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.slow
async def test_the_other_tools_look_something_up(tmp_path: Path) -> None:
    async with stdio(tmp_path) as session:
        asked = {"query": "西湖 世界遗产", "limit": 2}
        passages = data(await session.call_tool("search_library", asked))["passages"]
        assert len(passages) == 2 and passages[0]["title"] == "杭州西湖" and passages[0]["sample"]
        near = {"near": "王府井", "keywords": "公园", "radius": 3000}
        for asked in (near, {"query": "王府井附近的公园"}):
            found = data(await session.call_tool("find_places", asked))
            assert found["provider"] == "offline" and found["places"]
            assert all(39.8 < spot["lat"] < 40 and spot["sample"] for spot in found["places"])
        asked = {"question": "浙江省有哪些5A级景区？", "limit": 3}
        table = data(await session.call_tool("ask_database", asked))
        assert table["sql"].startswith("SELECT ") and len(table["rows"]) == 3
        assert table["count"] > 3 and table["more"]
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        asked = {"question": "门票最贵的10个景区"}
        table = data(await session.call_tool("ask_database", asked))
        assert table["coverage"] == "ticket_cny: known in 140 of 358 rows"
        assert data(await session.call_tool("list_runs", {}))["runs"] == []


@pytest.mark.slow
async def test_a_question_to_an_attached_database_is_told_that_it_needs_a_model(
    tmp_path: Path,
) -> None:
    with closing(sqlite3.connect(tmp_path / "own.db")) as made:
        made.execute("create table sale(id integer primary key)")
    async with stdio(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'own.db'}") as session:
        table = data(await session.call_tool("ask_database", {"question": "How many sales?"}))
    assert (table["status"], table["sql"], table["rows"]) == ("no model", "", [])
    assert "needs a model that writes SQL" in table["answer"]


@pytest.mark.slow
async def test_what_cannot_be_done_is_told_in_words(tmp_path: Path) -> None:
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("research", {}, "question: Field required"),
        ("research", {"question": " "}, "question: String should have at least 1 character"),
        ("research", {"question": "x" * 2001}, "question: String should have at most 2000"),
        ("research", {"question": "x", "loops": 11}, "loops: Input should be less than"),
        ("research", {"question": "x", "run_id": "../x"}, "run_id: String should match pattern"),
        ("research", {"question": "x", "sources": ["moon"]}, "no source 'moon'; there are: web, "),
        ("research", {"question": "x", "nothing": 1}, "nothing: Extra inputs are not permitted"),
        ("report", {"run_id": "none"}, "There is no run 'none'"),
        ("find_places", {"near": "王府井"}, "Give either query, or near and keywords."),
        ("find_places", {"near": "Atlantis", "keywords": "park"}, "empty"),
        ("moon", {}, "There is no tool 'moon'; there are: research, "),
    ]
    async with stdio(tmp_path) as session:
        for tool, asked, told in calls:
            result = await session.call_tool(tool, asked)
            if tool == "find_places" and told == "empty":
                assert "Atlantis" in words(result)
                continue
            assert result.isError and told in words(result), (tool, asked, words(result))
            assert "Traceback" not in words(result)
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.slow
async def test_a_data_folder_that_cannot_be_used_is_told_and_the_server_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").write_text("no folder")
    async with stdio(tmp_path) as session:
        for _ in range(2):
            result = await session.call_tool("list_runs", {})
            assert result.isError and str(tmp_path / "data") in words(result)
        assert len((await session.list_tools()).tools) == 7
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.slow
async def test_a_cancelled_call_stops_its_run_which_the_next_one_resumes(tmp_path: Path) -> None:
    async with stdio(tmp_path, **SLOW) as session:
        await abandoned(session, "left")

        async def stopped() -> bool:
            return await status(session, "left") == "stopped"

        await until(stopped)
        report = await session.call_tool("report", {"run_id": "left"})
        assert data(report)["status"] == "stopped"
    async with stdio(tmp_path) as session:
        found = data(await session.call_tool("research", {"question": LAKE, "run_id": "left"}))
        assert found["status"] == "done" and found["citations"]
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("going", ["closes", "terminates"])
async def test_a_client_that_goes_away_stops_its_run(going: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *COMMAND,
        cwd=ROOT, env=environment(tmp_path, **SLOW),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    call = {"name": "research", "arguments": {"question": LAKE, "run_id": "left"}}
    for message in (
        hello("2025-06-18"),
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call | {"_meta": {"progressToken": 7}}},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
    await process.stdin.drain()
    while b"notifications/progress" not in await asyncio.wait_for(process.stdout.readline(), 60):
        pass
    if going == "closes":
        process.stdin.close()
    else:
        process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 60) == 0
    assert await process.stderr.read() == b""
    async with stdio(tmp_path) as session:
        assert await status(session, "left") in ("stopped", "interrupted")
        found = data(await session.call_tool("research", {"question": LAKE, "run_id": "left"}))
        assert found["status"] == "done"


def test_a_client_of_a_newer_protocol_is_answered_and_stderr_stays_quiet(tmp_path: Path) -> None:
    newest = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    code, answers, errors = conversation(
        tmp_path,
        "no JSON at all",
        {"id": 0, "method": "server/discover", "params": newest},
        {"id": 5, "method": "tools/call", "params": {}},
        {"method": "notifications/nobody-knows"},
        hello("2099-01-01"),
        {"method": "notifications/initialized"},
        {"id": 2, "method": "ping"},
        {"id": 3, "method": "sampling/nothing"},
    )
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32601, -32602, None, None, -32601]  # fmt: skip
    assert answers[2]["result"]["protocolVersion"].startswith("2025-")
    assert (code, errors) == (0, "")


@pytest.mark.slow
def test_a_setting_that_cannot_be_used_ends_it_with_one_line(tmp_path: Path) -> None:
    for options, env, told in (
        ((), {"SIGHTLINE_SEARCH_DELAY": "soon"}, "SIGHTLINE_SEARCH_DELAY is 'soon'"),
        (("--http",), {}, "SIGHTLINE_MCP_TOKEN is not set"),
        (("--http",), {"SIGHTLINE_MCP_TOKEN": "secret"}, "fewer than 16 characters"),
        (("--port", "9"), {}, "--host, --port and --allow-host go with --http."),
    ):
        code, _, errors = conversation(tmp_path, options=options, **env)
        assert code == 2 and told in errors and errors.count("\n") == 1
        assert "secret" not in errors


def test_nothing_is_loaded_for_the_first_answer_that_only_a_call_needs(tmp_path: Path) -> None:
    """A session is begun and the tools are listed in one process, which then says what it loaded."""
    code = "import sys\nfrom research.cli import main\nmain(['mcp'])\nprint(*sys.modules, file=sys.stderr)"
    lines = [hello("2025-06-18"), {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(tmp_path), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin and process.stdout
    for line in lines:
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | line) + "\n")
        process.stdin.flush()
        if "id" in line:
            assert "result" in json.loads(process.stdout.readline())
    _, errors = process.communicate(timeout=60)
    loaded = set(errors.splitlines()[-1].split())
    assert "research.mcp_server.server" in loaded
    unwanted = {
        "aiohttp", "altair", "docx", "folium", "google.genai", "langchain_core", "langgraph", "langsmith",
        "lxml", "numpy", "openai", "openpyxl", "pandas", "pyarrow", "pypdfium2", "research.application", "rjieba",
        "sqlalchemy", "sqlglot", "sqlite3", "streamlit", "trafilatura", "typst",
    }  # fmt: skip
    assert loaded & unwanted == set()
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
async def test_langchain_gets_the_tools_the_report_and_its_progress(tmp_path: Path) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None, context: Any) -> None:
        heard.append(message)

    def client(**more: str) -> MultiServerMCPClient:
        connection: Any = {
            "transport": "stdio", "command": sys.executable, "args": COMMAND, "cwd": str(ROOT),
            "env": environment(tmp_path, **more),
        }  # fmt: skip
        return MultiServerMCPClient({"sightline": connection}, callbacks=Callbacks(on_progress=hear))

    tools = {tool.name: tool for tool in await client().get_tools()}
    assert set(tools) == TOOLS
    call = {"type": "tool_call", "id": "1", "name": "research"}
    asked = {"question": LAKE, "effort": "low"}
    message = await tools["research"].ainvoke(call | {"args": asked | {"run_id": "chain"}})
    assert f"# {LAKE}" in str(message.content)
    found = message.artifact["structured_content"]
    assert found["status"] == "done" and found["citations"][0]["number"] == 1
    assert "writing" in heard

    heard.clear()
    slow = {tool.name: tool for tool in await client(**SLOW).get_tools()}
    left = asyncio.create_task(slow["research"].ainvoke(call | {"args": asked | {"run_id": "left"}}))

    async def planned() -> bool:
        return bool(heard)

    await until(planned)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    async with stdio(tmp_path) as session:
        assert await status(session, "left") in ("stopped", "interrupted")
