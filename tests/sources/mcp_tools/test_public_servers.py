"""Public MCP servers, as their makers publish them, as sources of a desk: npm's by npx, PyPI's from an
environment of its own (`SIGHTLINE_TOOLS_VENV`, else the program on the path, else uvx).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research import (
    Report,
    RunOptions,
    close_application,
    get_application,
    number_report_answer,
    report_json,
    report_markdown,
)
from research.sources import registry
from tests.fakes import until
from tests.servers.npm import lacking

SKIPPED = lacking()
pytestmark = [pytest.mark.node] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
FACT = "The Old Tower of Sightline was built in 1432 and is 45 metres high."


def _time() -> list[str]:
    """The command of the server from PyPI; [] where there is none."""
    own = Path(os.environ.get("SIGHTLINE_TOOLS_VENV", "")) / "bin" / "mcp-server-time"
    found = str(own) if own.is_file() else shutil.which("mcp-server-time")
    uvx = shutil.which("uvx")
    return [found] if found else [uvx, "mcp-server-time"] if uvx else []


def npm(package: str, *more: str) -> dict[str, Any]:
    return {"command": "npx", "args": ["-y", package, *more], "timeout": 60}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A desk without a model, whose only sources that are asked are such servers."""
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "tower.txt").write_text(FACT, encoding="utf-8")
    yield papers
    close_application()
    registry.configure(())


def answered(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], question: str) -> Report:
    """What a run finds with one server."""
    data = folder.parent / "data"
    data.mkdir()
    (data / "mcp.json").write_text(json.dumps({"mcpServers": {"public": entry}}), encoding="utf-8")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "SIGHTLINE_MCP_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(data))
    monkeypatch.setenv("SIGHTLINE_SEARCH_TIMEOUT", "200")
    close_application()
    run = get_application().runs.start(question, options=RunOptions(loops=1, sources=("mcp_public",)))
    until(lambda: (found := get_application().runs.get_run(run.id)) is not None and not found.is_active, 240)
    report = get_application().runs.report(run.id)
    assert report is not None
    return report


def held(report: Report, title: str, words: str) -> None:
    """What has to be true of an answer from a server: numbered, cited and exported."""
    numbered = number_report_answer(report)
    assert numbered is not None
    (source,) = (one for one in numbered.sources if one.evidence.title == title)
    quoted = [span for span in numbered.spans if source.number in span.numbers]
    assert any(words in item.span.text for item in quoted)
    for text in (report_markdown(report, numbered), report_json(report, numbered)):
        assert words in text and title.partition(": ")[2] in text
    assert get_application().readiness()["mcp_public"].state == "live"


def test_the_file_system(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = {"tool": "read_multiple_files", "argument": "head", "arguments": {"paths": [str(desk / "tower.txt")]}}  # fmt: skip
    entry = npm("@modelcontextprotocol/server-filesystem", str(desk)) | {"search": search}
    report = answered(desk, monkeypatch, entry, "How high is the Old Tower of Sightline?")
    held(report, "public: read_multiple_files", FACT)
    assert "write_file" not in get_application().readiness()["mcp_public"].detail


def test_everything(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = npm("@modelcontextprotocol/server-everything")
    entry |= {"search": {"tool": "echo", "argument": "question", "arguments": {"message": FACT}}}
    report = answered(desk, monkeypatch, entry, "How high is the Old Tower of Sightline?")
    held(report, "public: echo", FACT)


@pytest.mark.skipif(not _time(), reason="neither mcp-server-time nor uvx is installed")
def test_the_time(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, *args = _time()
    search = {"tool": "get_current_time", "argument": "question", "arguments": {"timezone": "Asia/Tokyo"}}  # fmt: skip
    entry = {"command": command, "args": args, "search": search, "timeout": 60}
    report = answered(desk, monkeypatch, entry, "What is the timezone of Asia/Tokyo?")
    held(report, "public: get_current_time", "Asia/Tokyo")
