"""Runs that a client brings to the graph of an Agent Server without having stored them."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from research.runs.live import Resources
from research.runs.worker import Failed, Worker, served
from research.settings import Settings
from research.store.store import Store
from tests.fakes import ScriptedReasoner, ScriptedSource
from tests.servers.agent import ROOT, Aegra, Dev, lacking


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    settings = Settings(data_dir=tmp_path)
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [])
    made = Worker(Resources(settings, Store(settings.store), reasoner, {"web": ScriptedSource()}))
    yield made
    made.close()


def _asked(worker: Worker, thread: str, **state: Any) -> dict[str, Any]:
    graph = served({"web": "web_research"}, lambda: worker)
    config = {"configurable": {"thread_id": thread}}
    return asyncio.run(graph.ainvoke(state, config))  # type: ignore[no-any-return]


def test_a_thread_with_a_question_is_a_run_that_is_stored(worker: Worker) -> None:
    thread = str(uuid.uuid4())
    state = _asked(worker, thread, asked="How high is the tower?")
    run = worker.resources.store.own(uuid.UUID(thread).hex, "local")
    assert run and run.status == "done" and run.question == "How high is the tower?"
    assert [finding.task.query for finding in state["findings"]] == ["a", "b"]
    assert worker.resources.store.report(run).answer == state["answer"]


def test_a_thread_has_one_question(worker: Worker) -> None:
    thread = str(uuid.uuid4())
    _asked(worker, thread, asked="How high is the tower?")
    with pytest.raises(Failed, match="begin another one"):
        _asked(worker, thread, asked="And how old?")
    (run,) = worker.resources.store.runs("local")
    assert run.question == "How high is the tower?"


@pytest.mark.parametrize("state", [{"asked": "?!"}, {"asked": ""}, {"asked": None}])
def test_what_is_no_question_starts_nothing(worker: Worker, state: dict[str, Any]) -> None:
    with pytest.raises(Failed, match="no question"):
        _asked(worker, str(uuid.uuid4()), **state)
    assert worker.resources.store.runs("local") == []


@pytest.mark.agent
@pytest.mark.parametrize("kind", [Dev, Aegra], ids=["dev", "aegra"])
def test_a_client_that_knows_nothing_of_ours_is_answered_without_a_key(
    tmp_path: Path, kind: type[Dev] | type[Aegra]
) -> None:
    """The example of the documents, and what else such a client does."""
    if reason := lacking(kind.kind):
        pytest.skip(reason)
    from langgraph_sdk import get_sync_client

    own = {"SIGHTLINE_DATA_DIR": str(tmp_path)}
    with kind(environment=own) as server, ExitStack() as closing:
        example = _example().replace("http://127.0.0.1:2024", server.url)
        told = subprocess.run(
            [sys.executable, "-c", example],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "'kind': 'plan'" in told and "2002" in told.splitlines()[-1]

        client = get_sync_client(url=server.url, api_key=None)
        closing.callback(client.close)
        thread = client.threads.create()["thread_id"]

        def joined(asked: str) -> Any:
            run = client.runs.create(thread, "research", input={"asked": asked})
            return client.runs.join(thread, run["run_id"])

        answer = joined("雷峰塔是哪一年重建的？")["answer"]
        assert answer["language"] == "zh" and "未使用模型" in answer["author"]
        assert any("2002" in span["text"] and span["cites"] for span in answer["spans"])
        assert client.threads.get_state(thread)["next"] == []
        assert "another" in joined("And how high is it?")["__error__"]["message"]


def _example() -> str:
    text = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- bare -->\n```python\n(.+?)```", text, re.DOTALL)
    assert found
    return found[1]
