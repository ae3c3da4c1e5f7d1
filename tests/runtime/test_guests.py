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
from langgraph.checkpoint.memory import InMemorySaver

from research.core.settings import Settings
from research.runtime.active_run import RunResources
from research.runtime.remote_run_manager import thread_id
from research.runtime.server_worker import RunFailedError, ServerWorker, served_graph
from research.storage.store import Store
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.servers.agent import ROOT, Aegra, Dev, lacking


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[ServerWorker]:
    settings = Settings(data_dir=tmp_path)
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [])
    made = ServerWorker(RunResources(settings, Store(settings.store), reasoner, {"web": ScriptedSource()}))
    yield made
    made.close()


def _asked(worker: ServerWorker, thread: str, **state: Any) -> dict[str, Any]:
    graph = served_graph({"web": "web_research"}, lambda: worker)
    config = {"configurable": {"thread_id": thread}}
    return asyncio.run(graph.ainvoke(state, config))  # type: ignore[no-any-return]


def test_a_thread_with_a_question_is_a_run_that_is_stored(worker: ServerWorker) -> None:
    thread = str(uuid.uuid4())
    state = _asked(worker, thread, asked="How high is the tower?")
    run = worker.resources.store.get_owned_run(uuid.UUID(thread).hex, "local")
    assert run and run.status == "done" and run.question == "How high is the tower?"
    assert [finding.task.query for finding in state["findings"]] == ["a", "b"]
    assert worker.resources.store.report(run).answer == state["answer"]


def test_the_turns_of_a_thread_are_runs_of_a_conversation(worker: ServerWorker) -> None:
    thread = str(uuid.uuid4())
    _asked(worker, thread, asked="How high is the tower?")
    _asked(worker, thread, asked="And how old?")
    first, second = worker.resources.store.turns(uuid.UUID(thread).hex, "local")
    assert (first.question, second.question) == ("How high is the tower?", "And how old?")
    assert second.follows == first.id and second.status == "done"


def test_the_planner_knows_the_turns_that_a_client_recounts_or_those_that_are_stored(
    worker: ServerWorker,
) -> None:
    thread = str(uuid.uuid4())
    told = [("user", "How high is the tower?"), ("assistant", "72 metres."), ("user", "How old?")]
    _asked(worker, thread, messages=told)
    _asked(worker, thread, messages=[*told, ("assistant", "A century."), ("user", "By whom?")])
    reasoner = worker.resources.reasoner
    assert isinstance(reasoner, ScriptedReasoner)
    first, second = (question.memory.turns for question in reasoner.planned)
    assert [(turn.question, turn.answer) for turn in first] == [("How high is the tower?", "72 metres.")]  # fmt: skip
    assert [turn.question for turn in second] == ["How old?"]  # of which the evidence is known


def test_a_thread_that_a_run_of_the_pages_has_is_not_for_others(worker: ServerWorker) -> None:
    thread = uuid.uuid4()
    _asked(worker, str(thread), asked="How high is the tower?")
    run = worker.resources.store.get_owned_run(thread.hex, "local")
    assert run
    other = uuid.uuid4()
    own = {"id": other.hex, "conversation": uuid.uuid4().hex, "owner": "user-ann"}
    worker.resources.store.add_run(run.model_copy(update=own), None, "")
    with pytest.raises(RunFailedError, match="belongs to another run"):
        _asked(worker, str(other), asked="How old is it?")


def _workers(folder: Path, source: ScriptedSource) -> Iterator[ServerWorker]:
    """Processes over one store, one after the other."""
    while True:
        settings = Settings(data_dir=folder)
        reasoner = ScriptedReasoner(["a", "b"], lambda round_: [])
        made = ServerWorker(RunResources(settings, Store(settings.store), reasoner, {"library": source}))
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[ScriptedSource, Iterator[ServerWorker]]]:
    source = ScriptedSource("library", outcomes={"b": HANGS})
    workers = _workers(tmp_path, source)
    yield source, workers
    workers.close()  # type: ignore[attr-defined]


def _graph(worker: ServerWorker, memory: InMemorySaver) -> Any:
    graph = served_graph({"library": "library_research"}, lambda: worker)
    return graph.copy({"checkpointer": memory})


def _cancelled(graph: Any, source: ScriptedSource, config: Any) -> None:
    """Begins a turn and cuts it off in the middle of its searches."""

    async def begin() -> None:
        turn = asyncio.create_task(graph.ainvoke({"messages": [("user", "How high is it?")]}, config))
        await asyncio.to_thread(until, lambda: source.done and len(source.calls) == 2)
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)

    asyncio.run(begin())


@pytest.mark.parametrize("again", [None, {"messages": [("user", "How high is it?")]}], ids=["resumed", "asked"])  # fmt: skip
def test_a_turn_that_was_cut_off_goes_on_in_another_process_without_repeating_a_search(
    hanging: tuple[ScriptedSource, Iterator[ServerWorker]], again: Any
) -> None:
    source, workers = hanging
    memory, thread = InMemorySaver(), uuid.uuid4()
    config = {"configurable": {"thread_id": str(thread)}}
    worker = next(workers)
    _cancelled(_graph(worker, memory), source, config)
    (run,) = worker.resources.store.turns(thread.hex, "local")
    assert run.status == "interrupted"
    source.outcomes.clear()
    worker = next(workers)
    state = asyncio.run(_graph(worker, memory).ainvoke(again, config))
    assert state["messages"][-1].type == "ai"
    (run,) = worker.resources.store.turns(thread.hex, "local")
    assert run.status == "done" and sorted(source.queries) == ["a", "b", "b"]


def test_another_question_takes_the_place_of_a_turn_that_was_cut_off(
    hanging: tuple[ScriptedSource, Iterator[ServerWorker]],
) -> None:
    source, workers = hanging
    memory, thread = InMemorySaver(), uuid.uuid4()
    config = {"configurable": {"thread_id": str(thread)}}
    worker = next(workers)
    graph = _graph(worker, memory)
    _cancelled(graph, source, config)
    source.outcomes.clear()
    state = asyncio.run(graph.ainvoke({"messages": [("user", "How old is it?")]}, config))
    assert state["question"].text == "How old is it?" and len(state["findings"]) == 2
    first, second = worker.resources.store.turns(thread.hex, "local")
    assert (first.status, second.status, second.follows) == ("interrupted", "done", "")


def test_all_turns_of_a_thread_are_found_by_its_name() -> None:
    one = uuid.uuid4()
    assert [thread_id(run) for run in (one.hex, str(one), f"{one.hex}-2")] == [str(one)] * 3
    assert len({thread_id(run) for run in ("mine", "mine-2", str(one))}) == 3


@pytest.mark.parametrize("state", [{"asked": "?!"}, {"asked": ""}, {"asked": None}])
def test_what_is_no_question_starts_nothing(worker: ServerWorker, state: dict[str, Any]) -> None:
    with pytest.raises(RunFailedError, match="question"):
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
        assert "'kind': 'plan_made'" in told and "2002" in told.rpartition("'kind': 'answer_written'")[2]

        client = get_sync_client(url=server.url, api_key=None)
        closing.callback(client.close)
        thread = client.threads.create()["thread_id"]

        def joined(asked: str) -> Any:
            run = client.runs.create(thread, "research", input={"asked": asked})
            return client.runs.join(thread, run["run_id"])

        answer = joined("雷峰塔是哪一年重建的？")["answer"]
        assert answer["language"] == "zh" and "未使用模型" in answer["author"]
        assert any("2002" in span["text"] and span["references"] for span in answer["spans"])
        assert client.threads.get_state(thread)["next"] == []
        assert "messages" in joined("And when did it collapse?")
        assert len(client.threads.get_state(thread)["values"]["messages"]) == 4


def _example() -> str:
    text = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- bare -->\n```python\n(.+?)```", text, re.DOTALL)
    assert found
    return found[1]
