"""Who may end a run that several wait for, and what is said of failures, in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification
from pydantic import AnyUrl

import research
from research.core.errors import register_secrets
from research.mcp_server import results, schemas
from research.mcp_server.server import SightlineServer
from tests.mcp_server.desk import LAKE, SLOW, data, status, until, words

KEY = "sentinel-key-0123456789"


@asynccontextmanager
async def talking(folder: Path) -> AsyncIterator[tuple[SightlineServer, ClientSession]]:
    """A session in memory, on a data folder of its own."""
    here = SightlineServer(folder)
    try:
        async with create_connected_server_and_client_session(here) as session:
            yield here, session
    finally:
        await asyncio.to_thread(here.close)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SLOW.items():
        monkeypatch.setenv(name, value)


async def calling(here: SightlineServer, session: ClientSession, run: str) -> tuple[int, asyncio.Task[Any]]:
    """A call for a run, with the number of its request, once the server waits for the run."""
    before, number = here._caller_counts[run], session._request_id
    call = asyncio.create_task(session.call_tool("research", {"question": LAKE, "run_id": run}))

    async def waits() -> bool:
        return here._caller_counts[run] == before + 1

    await until(waits)
    return number, call


async def test_the_library_is_limited_to_a_notebook(tmp_path: Path) -> None:
    async with talking(tmp_path) as (_, session):
        library = await asyncio.to_thread(lambda: research.get_application().library)
        files = {
            "old.md": "# Old\n\nThe tower costs 3 yuan.",
            "new.md": "# New\n\nThe tower costs 40 yuan.",
        }
        for one in await asyncio.to_thread(lambda: [*library.add_files((n, t.encode()) for n, t in files.items())]):
            assert one.is_ok
        await asyncio.to_thread(research.get_application().store.add_to_notebook, "local", "Today", ["new.md"])
        asked = {"query": "tower yuan", "notebook": "Today"}
        found = data(await session.call_tool("search_library", asked))["passages"]
        assert [one["name"] for one in found] == ["new.md"]
        asked = {
            "question": "What does the tower cost?",
            "run_id": "tower-1",
            "notebook": "Today",
            "sources": ["library"],
            "effort": "low",
        }
        made = words(await session.call_tool("research", asked))
        assert "40 yuan" in made and "3 yuan" not in made
        assert await asyncio.to_thread(research.get_application().runs.save_remark, "tower-1", "for my eyes alone")
        again = await session.call_tool("report", {"run_id": "tower-1"})
        (content,) = (await session.read_resource(AnyUrl("sightline://runs/tower-1"))).contents
        for told in (again.model_dump_json(), content.model_dump_json()):
            assert "40 yuan" in told and "my eyes" not in told
        for tool, arguments, said in (
            (
                "search_library",
                {"query": "tower", "notebook": "Gone"},
                "no notebook 'Gone'; there are: Today",
            ),
            ("research", {"question": "The tower?", "notebook": "Gone"}, "no notebook 'Gone'"),
            (
                "research",
                {"question": "The tower?", "notebook": "Today", "sources": ["web"]},
                "not among the sources",
            ),
        ):
            refused = await session.call_tool(tool, arguments)
            assert refused.isError and said in words(refused)


async def cancelled(session: ClientSession, number: int, call: asyncio.Task[Any]) -> None:
    note = CancelledNotification(params=CancelledNotificationParams(requestId=number))
    await session.send_notification(ClientNotification(note))
    await asyncio.gather(call, return_exceptions=True)


@pytest.mark.slow
async def test_a_run_that_two_wait_for_is_stopped_when_the_second_leaves(slow: None, tmp_path: Path) -> None:
    async with talking(tmp_path) as (here, session):
        first = await calling(here, session, "shared")
        second = await calling(here, session, "shared")
        await cancelled(session, *first)

        async def left() -> bool:
            return here._caller_counts["shared"] == 1

        await until(left)
        assert await status(session, "shared") in ("queued", "running")
        await cancelled(session, *second)

        async def stopped() -> bool:
            return await status(session, "shared") == "stopped"

        await until(stopped)


async def test_a_run_that_was_begun_elsewhere_goes_on_without_who_looked(slow: None, tmp_path: Path) -> None:
    async with talking(tmp_path) as (here, session):
        assert await status(session, "page") == ""
        await asyncio.to_thread(lambda: research.get_application().runs.start(LAKE, run_id="page"))
        await cancelled(session, *await calling(here, session, "page"))

        async def left() -> bool:
            return here._caller_counts["page"] == 0

        await until(left)
        assert await status(session, "page") in ("queued", "running")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError(f"a mistake with {KEY}"), "list_runs failed (RuntimeError); the log of the server has the details."),
        (research.SettingError(f"STORE_URL is {KEY}"), "STORE_URL is •••"),
        (research.RateLimitError(30, 5), str(research.RateLimitError(30, 5))),
    ],
)  # fmt: skip
async def test_a_failure_is_told_without_its_traceback_and_without_a_key(
    error: Exception, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    register_secrets([KEY])

    def fails(**_: object) -> None:
        raise error

    async with talking(tmp_path) as (_, session):
        monkeypatch.setattr(research.get_application().runs, "recent_runs", fails)
        with caplog.at_level(logging.ERROR):
            result = await session.call_tool("list_runs", {})
    assert result.isError and words(result) == told
    assert KEY not in caplog.text


async def test_a_run_that_fails_is_an_error_that_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(tmp_path) as (_, session):
        data(await session.call_tool("research", {"question": LAKE, "run_id": "bad", "loops": 1}))
        whole: Callable[..., Any] = research.get_application().runs.report

        def failed(run_id: str) -> Any:
            report = whole(run_id)
            run = report.run.model_copy(update={"status": "failed", "error": "the model refused"})
            return report.model_copy(update={"run": run})

        monkeypatch.setattr(research.get_application().runs, "report", failed)
        result = await session.call_tool("report", {"run_id": "bad"})
    assert result.isError and result.structuredContent is not None
    assert words(result).startswith("The run bad has failed: the model refused. Call again with")
    assert result.structuredContent["status"] == "failed"


def test_half_a_character_of_a_page_does_not_end_the_session() -> None:
    found = results.tool_result("half \ud83d", schemas.LibraryResult(passages=[]))
    assert found.model_dump_json() and found.content[0].text == "half ?"  # type: ignore[union-attr]
    place = schemas.PlacesResult(places=[], provider="offline", note="half \ud83d")
    assert (results.tool_result("", place).structuredContent or {})["note"] == "half ?"


async def test_a_table_is_filled_in_and_an_id_stays_with_what_was_asked(tmp_path: Path) -> None:
    asked = {
        "rows": [{"name": "故宫博物院"}],
        "columns": [{"name": "门票", "type": "number", "unit": "元"}],
        "sources": ["library"],
        "run_id": "own",
    }
    async with talking(tmp_path) as (_, session):
        told = data(await session.call_tool("research_table", asked))
        (cell,) = told["table"]["cells"]
        assert (told["status"], cell["row"], cell["column"]) == ("done", "r1", "c1")
        assert cell["readings"][0]["value"]["number"] == 60 and told["citations"]
        again = data(await session.call_tool("research_table", asked))
        assert again["table"] == told["table"]
        other = await session.call_tool("research_table", asked | {"rows": [{"name": "天坛"}]})
        question = await session.call_tool("research", {"question": LAKE, "run_id": "own"})
    assert other.isError and "of another question" in words(other)
    assert question.isError and "of another question" in words(question)
