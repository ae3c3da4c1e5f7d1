"""What runs rely on of the Agent Servers, shown with a small graph on both kinds."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.fakes import until
from tests.servers.agent import CONFIG, ROOT, Aegra, Agent, Dev, lacking

pytestmark = pytest.mark.agent
GRAPH = "tests/runtime/standin.py:graph"
KINDS: dict[str, type[Agent]] = {"dev": Dev, "aegra": Aegra}


class Client:
    """Runs of the stand-in on some servers, and what its nodes noted of them."""

    def __init__(self, servers: Agent, folder: Path) -> None:
        self.servers, self.folder = servers, folder
        self._open: dict[str, Any] = {}

    @property
    def sdk(self) -> Any:
        """A client of the first server that lives."""
        url = self.servers.url
        if url not in self._open:
            self._open[url] = get_sync_client(url=url, api_key=None)
        return self._open[url]

    def close(self) -> None:
        for opened in self._open.values():
            opened.close()

    def start(self, asked: str = "", **signs: bool) -> tuple[str, str]:
        """A run on a thread of its own; a sign is a file that the nodes look for."""
        thread = str(uuid.uuid4())
        for name in signs:
            self.sign(thread, name)
        self.sdk.threads.create(thread_id=thread, if_exists="do_nothing")
        return thread, self.go(thread, input={"asked": asked})

    def resume(self, thread: str) -> str:
        return self.go(thread, input=None, checkpoint={})

    def go(self, thread: str, **how: Any) -> str:
        run = self.sdk.runs.create(
            thread,
            "research",
            context={"run": thread},
            stream_mode=["custom", "updates"],
            stream_resumable=True,
            durability="sync",
            config={"recursion_limit": 60},
            **how,
        )
        return str(run["run_id"])

    def sign(self, thread: str, name: str) -> None:
        (self.folder / f"{thread}.{name}").touch()

    def unsign(self, thread: str, name: str) -> None:
        (self.folder / f"{thread}.{name}").unlink()

    def notes(self, thread: str) -> list[tuple[str, int]]:
        """Each line that a node noted, with the process that did."""
        file = self.folder / f"{thread}.txt"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [(line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in lines]

    def begun(self, thread: str) -> dict[str, int]:
        """How often each branch began."""
        lines = [line.split() for line, _ in self.notes(thread)]
        return dict(Counter(words[1] for words in lines if words[0] == "begin"))

    def status(self, thread: str, run: str) -> str:
        return str(self.sdk.runs.get(thread, run)["status"])

    def over(self, thread: str, run: str) -> str:
        until(lambda: self.status(thread, run) not in ("pending", "running"))
        return self.status(thread, run)

    def waits(self, thread: str) -> int:
        """Waits for the third branch to hold and the others to be kept; tells who works."""

        def there() -> bool:
            return self.begun(thread).get("c", 0) > 0 and kept() == 2

        def kept() -> int:
            return sum(bool(t.get("result")) for t in self.sdk.threads.get_state(thread)["tasks"])

        until(there)
        return self.notes(thread)[-1][1]


@pytest.fixture(scope="module", params=["dev", "aegra"])
def client(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Client]:
    if reason := lacking(request.param):
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(request.param)
    with KINDS[request.param](GRAPH, environment={"SIGHTLINE_DATA_DIR": str(folder)}) as servers:
        made = Client(servers, folder)
        yield made
        made.close()


def test_the_configuration_names_a_graph_of_the_project() -> None:
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    path, _, name = config["graphs"]["research"].partition(":")
    assert (path, name) == ("./research/runtime/agent_server.py", "graph")
    assert [ROOT / folder for folder in config["dependencies"]] == [ROOT]


def test_a_run_ends_with_its_events_in_order_for_readers_who_come_late(client: Client) -> None:
    thread, run = client.start()
    assert client.over(thread, run) == "success"
    parts = list(client.sdk.runs.join_stream(thread, run, last_event_id="-1"))
    told = [part.data["kind"] for part in parts if part.event == "custom"]
    assert told == ["planned", "search", "search", "search", "answer"]
    assert client.sdk.threads.get(thread)["status"] == "idle"
    assert client.sdk.threads.get_state(thread)["values"]["answer"] == "a b c"


def test_a_stopped_run_is_cut_off_at_once_and_goes_on_where_it_was(client: Client) -> None:
    thread, run = client.start(wait=True)
    client.waits(thread)
    client.sdk.runs.cancel(thread, run, action="interrupt", wait=False)
    assert client.over(thread, run) == "interrupted"
    until(lambda: "cancelled c" in [line for line, _ in client.notes(thread)])
    client.unsign(thread, "wait")
    assert client.over(thread, client.resume(thread)) == "success"
    assert client.begun(thread) == {"a": 1, "b": 1, "c": 2}


def test_after_an_error_only_what_failed_runs_again_and_records_are_records(
    client: Client,
) -> None:
    thread, run = client.start(broken=True)
    assert client.over(thread, run) == "error"
    assert client.sdk.threads.get(thread)["status"] == "error"
    client.unsign(thread, "broken")
    assert client.over(thread, client.resume(thread)) == "success"
    assert client.begun(thread) == {"a": 1, "b": 1, "c": 2}
    assert client.sdk.threads.get_state(thread)["values"]["seen"] == "Task"


def test_a_run_waits_at_an_interrupt_until_it_is_let_on(client: Client) -> None:
    thread, run = client.start("approve")
    client.over(thread, run)
    assert client.sdk.threads.get(thread)["status"] == "interrupted"
    state = client.sdk.threads.get_state(thread)
    assert [item["value"] for item in state["interrupts"]] == ["the plan"]
    client.over(thread, client.resume(thread))
    assert client.sdk.threads.get(thread)["status"] == "interrupted"
    client.sign(thread, "approved")
    assert client.over(thread, client.resume(thread)) == "success"
    assert client.begun(thread) == {"a": 1, "b": 1, "c": 1}


def test_to_resume_a_finished_thread_does_nothing(client: Client) -> None:
    thread, run = client.start()
    client.over(thread, run)
    noted = client.notes(thread)
    assert client.over(thread, client.resume(thread)) == "success"
    assert client.notes(thread) == noted


def test_nodes_may_use_a_database_as_the_store_does(client: Client) -> None:
    thread, run = client.start("blocking")
    assert client.over(thread, run) == "success"


def test_a_run_outlives_its_server(client: Client) -> None:
    thread, run = client.start(wait=True)
    worker = client.servers.of(client.waits(thread))
    if isinstance(client.servers, Dev):
        client.servers.settle()
    client.servers.kill(worker)
    if isinstance(client.servers, Dev):
        client.servers.restart()
    client.unsign(thread, "wait")
    assert client.over(thread, run) == "success"
    if not isinstance(client.servers, Dev):  # which may repeat more, up to all of it
        assert client.begun(thread) == {"a": 1, "b": 1, "c": 2}
    assert len({process for _, process in client.notes(thread)}) == 2
    client.servers.restart()


def test_nothing_is_left_in_the_folder_of_the_project(client: Client) -> None:
    assert not (ROOT / ".langgraph_api").exists()
    assert client.servers.folder.exists()
