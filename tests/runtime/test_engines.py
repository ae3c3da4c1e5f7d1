"""One contract for all engines of runs: in this process, on LangGraph's development server, on a
cluster of aegra's."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.core.events import Event, StatusChanged, TaskFinished, TaskStarted
from research.core.records import RunOptions
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.remote_run_manager import RemoteRunManager, thread_id
from research.runtime.run_manager import RunManager
from research.storage.store import Store
from tests.fakes import resources, until
from tests.runtime.servant import SECRET, reasoner, source
from tests.servers.agent import Aegra, Agent, Dev, lacking

QUESTION = "What is known of the tower?"
THREE = RunOptions(loops=3, sources=("web",))
SERVERS: dict[str, type[Agent]] = {"dev": Dev, "aegra": Aegra}
PATIENCE = 60.0
GRAPH = "tests/runtime/servant.py:graph"


class Desk:
    """Engines of one kind over one store, the scripted helpers of which read the same files."""

    def __init__(self, folder: Path, server: Agent | None, store: str) -> None:
        self.folder, self.server, self.store = folder, server, store
        self.log = folder / "log"
        self._opened: list[RunManager] = []
        self.stuck()
        self.broken(False)
        self.log.write_text("", encoding="utf-8")

    def stuck(self, *queries: str) -> None:
        self.log.with_name("stuck").write_text(" ".join(queries), encoding="utf-8")

    def broken(self, is_broken: bool) -> None:
        file = self.log.with_name("broken")
        file.touch() if is_broken else file.unlink(missing_ok=True)

    def open(self, **settings: object) -> RunManager:
        """What a process that serves pages has."""
        known = Settings.model_validate(
            {
                "data_dir": self.folder,
                "store_url": SecretStr(self.store),
                "runs_url": self.server.url if self.server else "",
                **settings,
            }
        )
        engine = RemoteRunManager if self.server else LocalRunManager
        self._opened.append(engine(resources(known, reasoner(self.log), {"web": source(self.log)})))
        return self._opened[-1]

    @property
    def searches(self) -> dict[str, tuple[int, int]]:
        """How often each query was begun, and how often it came back."""
        lines = Counter(self.log.read_text(encoding="utf-8").splitlines())
        queries = {line.split(" ", 1)[1] for line in lines}
        return {q: (lines[f"start {q}"], lines[f"end {q}"]) for q in sorted(queries)}

    def close(self) -> None:
        for runs in self._opened:
            runs.close()


@pytest.fixture(scope="module", params=["local", *(pytest.param(kind, marks=pytest.mark.agent) for kind in SERVERS)])  # fmt: skip
def ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Agent | None, str]]:
    """A folder, and a server where there is one, with the store that it shares with the pages."""
    folder = tmp_path_factory.mktemp("engine")
    if request.param == "local":
        yield folder, None, ""
        return
    if reason := lacking(request.param):
        pytest.skip(reason)
    with served(request.param, folder) as (server, store):
        yield folder, server, store


@contextlib.contextmanager
def served(kind: str, folder: Path) -> Iterator[tuple[Agent, str]]:
    """Servers of a kind that are ready, and the address of the store."""
    environment = {"SCRIPT_LOG": str(folder / "log"), "SIGHTLINE_DATA_DIR": str(folder)}
    if kind == "aegra":
        with Aegra(GRAPH, environment=environment) as cluster:
            yield cluster, cluster.store
        return
    store = f"sqlite:///{folder / 'runs.db'}"
    with Dev(GRAPH, environment=environment | {"STORE_URL": store}) as server:
        yield server, store


@pytest.fixture
def desk(ground: tuple[Path, Agent | None, str]) -> Iterator[Desk]:
    made = Desk(*ground)
    yield made
    made.close()


def status(runs: RunManager, run_id: str) -> str:
    run = runs.get_run(run_id)
    return run.status if run else "gone"


def over(runs: RunManager, run_id: str) -> str:
    until(lambda: status(runs, run_id) not in ("queued", "running"), PATIENCE)
    return status(runs, run_id)


def told(events: list[Event]) -> list[str]:
    """What events say, in order; what happens side by side is sorted."""
    lines: list[str] = []
    for event in events:
        match event.data:
            case TaskStarted(task=task) | TaskFinished(task=task):
                lines.append(f"{event.kind} {task.query}")
            case StatusChanged(status=status):
                lines.append(f"{event.kind} {status}")
            case _:
                lines.append(event.kind)
    sides = [n for n, line in enumerate(lines) if line.startswith("task_")]
    first = [n for n in sides if lines[n].split()[1] in "abc"]
    for n, line in zip(first, sorted((lines[n] for n in first), reverse=True), strict=True):
        lines[n] = line
    return lines


def of(task: str) -> list[str]:
    return [f"task_started {task}", f"task_finished {task}"]


ALL = [
    "status_changed running", "question_parsed", "plan_made",
    *(f"task_started {q}" for q in "cba"), *(f"task_finished {q}" for q in "cba"),
    "reflection_made", *of("d1"), "reflection_made", *of("d2"), "reflection_skipped", "writing_started",
    "answer_written", "status_changed done",
]  # fmt: skip


@pytest.mark.slow
def test_the_same_events_come_in_the_same_order(desk: Desk) -> None:
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE)
    followed = list(runs.follow(run.id))
    assert told(followed) == ALL
    assert [event.seq for event in followed] == list(range(1, len(followed) + 1))
    assert desk.searches == dict.fromkeys(["a", "b", "c", "d1", "d2"], (1, 1))
    report = runs.report(run.id)
    assert report and report.answer and report.answer.cited_span_count == 5


@pytest.mark.slow
def test_who_comes_late_and_who_comes_back_miss_nothing(desk: Desk) -> None:
    runs = desk.open()
    desk.stuck("d2")
    run = runs.start(QUESTION, options=THREE)
    until(lambda: "start d2" in desk.log.read_text(encoding="utf-8"), PATIENCE)
    early = runs.events(run.id)
    late = desk.open()
    again = late.follow(run.id, after=early[3].seq)
    assert next(again).seq == early[4].seq
    runs.stop(run.id)
    rest = list(again)
    whole = list(late.follow(run.id))
    assert [event.seq for event in rest] == list(range(early[4].seq + 1, len(whole) + 1))
    assert told(whole)[-1] == "status_changed stopped"


@pytest.mark.slow
def test_a_stopped_run_is_resumed_without_repeating_a_search(desk: Desk) -> None:
    runs = desk.open()
    desk.stuck("b")
    run = runs.start(QUESTION, options=THREE)
    until(lambda: desk.searches.get("c") == (1, 1) and desk.searches.get("a") == (1, 1), PATIENCE)
    until(lambda: "b" in desk.searches, PATIENCE)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    desk.stuck()
    resumed = desk.open().resume(run.id)
    assert resumed and resumed.is_active
    assert over(runs, run.id) == "done"
    once = dict.fromkeys(["a", "c", "d1", "d2"], (1, 1))
    assert desk.searches == {**once, "b": (2, 1)}
    report = runs.report(run.id)
    assert report and report.answer and report.answer.cited_span_count == 5


@pytest.mark.slow
def test_a_run_writes_with_what_there_is(desk: Desk) -> None:
    runs = desk.open()
    desk.stuck("b")
    run = runs.start(QUESTION, options=THREE)
    until(lambda: desk.searches.get("c") == (1, 1) and desk.searches.get("a") == (1, 1), PATIENCE)
    until(lambda: "b" in desk.searches, PATIENCE)
    desk.open().stop(run.id, write_only=True)
    assert over(runs, run.id) == "done"
    report = runs.report(run.id)
    assert report and report.answer and report.answer.cited_span_count == 2
    assert set(desk.searches) == {"a", "b", "c"}


@pytest.mark.slow
def test_a_run_waits_for_its_plan_to_be_approved(desk: Desk) -> None:
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE.model_copy(update={"approve": True}))
    assert over(runs, run.id) == "waiting"
    assert desk.searches == {}
    plan = runs.report(run.id).plan  # type: ignore[union-attr]
    assert plan
    runs.close()
    later = desk.open()
    fewer = plan.model_copy(update={"tasks": plan.tasks[:1]})
    assert later.approve(run.id, plan=fewer, options=RunOptions(loops=1, sources=("web",)))
    assert over(later, run.id) == "done"
    assert desk.searches == {"a": (1, 1)}


@pytest.mark.slow
def test_a_failed_run_says_why_without_a_secret_and_goes_on(desk: Desk) -> None:
    runs = desk.open()
    desk.broken(True)
    run = runs.start(QUESTION, options=THREE)
    assert over(runs, run.id) == "failed"
    failed = runs.get_run(run.id)
    assert failed and "LookupError" in failed.error and SECRET not in failed.error
    if desk.server:
        assert SECRET not in state(desk, run.id)
    desk.broken(False)
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert desk.searches == dict.fromkeys(["a", "b", "c", "d1", "d2"], (1, 1))


def state(desk: Desk, run_id: str) -> str:
    """All that the server says of a run."""
    from langgraph_sdk import get_sync_client

    assert desk.server
    client = get_sync_client(url=desk.server.url, api_key=None)
    try:
        return repr(
            [
                client.threads.get(thread_id(run_id)),
                client.threads.get_state(thread_id(run_id)),
                client.runs.list(thread_id(run_id)),
            ]
        )
    finally:
        client.close()


@pytest.mark.slow
def test_the_engine_of_a_run_is_told_whichever_process_stops_it(desk: Desk) -> None:
    runs, other = desk.open(), desk.open()
    desk.stuck("a", "b", "c")
    run = runs.start(QUESTION, options=THREE)
    until(lambda: len(desk.searches) == 3, PATIENCE)
    other.stop(run.id)
    assert over(other, run.id) == "stopped"
    assert told(other.events(run.id))[-1] == "status_changed stopped"


@pytest.mark.slow
def test_only_so_many_go_on_at_once_and_the_others_follow(desk: Desk) -> None:
    runs = desk.open(max_runs=1)
    desk.stuck("b")
    first = runs.start(QUESTION, options=THREE)
    until(lambda: "b" in desk.searches, PATIENCE)
    second = runs.start(QUESTION, options=THREE)
    third = runs.start(QUESTION, options=THREE)
    assert (runs.queue_position(second.id), runs.queue_position(third.id)) == ((0, False), (1, False))
    runs.stop(third.id)
    assert over(runs, third.id) == "stopped"
    desk.stuck()
    runs.stop(first.id)
    assert over(runs, second.id) == "done"


@pytest.mark.slow
def test_a_follow_up_knows_the_answer_before(desk: Desk) -> None:
    runs = desk.open()
    first = runs.start(QUESTION, options=THREE)
    assert over(runs, first.id) == "done"
    second = runs.start("And when was it built?", options=THREE, follows=first.id)
    assert over(runs, second.id) == "done"
    assert (second.conversation, second.follows) == (first.conversation, first.id)


@pytest.mark.slow
def test_what_is_forgotten_is_gone_from_the_server_too(desk: Desk) -> None:
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE)
    assert over(runs, run.id) == "done"
    runs.delete_conversation(run.conversation)
    assert runs.get_run(run.id) is None
    assert runs.store.evidence(run.conversation) == []
    if desk.server:
        with pytest.raises(Exception, match=r"404|not found"):
            state(desk, run.id)


# With a server alone


Start = Callable[[str], tuple[Desk, Agent]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Servers of a test's own, to be killed."""
    if reason := lacking("dev"):
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:

        def begin(kind: str) -> tuple[Desk, Agent]:
            if reason := lacking(kind):
                pytest.skip(reason)
            server, store = stack.enter_context(served(kind, tmp_path))
            desk = Desk(tmp_path, server, store)
            stack.callback(desk.close)
            return desk, server

        yield begin


@pytest.mark.slow
@pytest.mark.agent
@pytest.mark.parametrize("kind", ["dev", "aegra"])
def test_a_run_survives_the_process_that_started_it(kind: str, start: Start) -> None:
    desk, _ = start(kind)
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE)
    until(lambda: desk.searches, PATIENCE)
    runs.close()
    assert over(desk.open(), run.id) == "done"
    assert desk.searches == dict.fromkeys(["a", "b", "c", "d1", "d2"], (1, 1))


@pytest.mark.slow
@pytest.mark.agent
def test_when_one_of_two_servers_is_killed_the_other_goes_on(start: Start) -> None:
    desk, server = start("aegra")
    desk.stuck("d1")
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE)
    until(lambda: "d1" in desk.searches, PATIENCE)
    process = int((desk.folder / "process").read_text(encoding="utf-8"))
    desk.stuck()
    server.kill(server.of(process))
    assert over(desk.open(), run.id) == "done"
    once = dict.fromkeys(["a", "b", "c", "d2"], (1, 1))
    assert desk.searches == {**once, "d1": (2, 1)}


@pytest.mark.slow
@pytest.mark.agent
def test_a_server_that_was_killed_goes_on_when_it_is_started_again(start: Start) -> None:
    desk, server = start("dev")
    desk.stuck("d1")
    runs = desk.open()
    run = runs.start(QUESTION, options=THREE)
    until(lambda: "d1" in desk.searches, PATIENCE)
    desk.stuck()
    server.kill()
    assert runs.get_run(run.id) is not None
    server.restart()
    if over(runs, run.id) == "interrupted":
        runs.resume(run.id)
    assert over(runs, run.id) == "done"
    once = dict.fromkeys(["a", "b", "c", "d2"], (1, 1))
    assert desk.searches == {**once, "d1": (2, 1)}


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    known = Settings(data_dir=tmp_path, runs_url="http://127.0.0.1:9")
    log = tmp_path / "log"
    runs = RemoteRunManager(resources(known, reasoner(log), {"web": source(log)}))
    try:
        run = runs.start(QUESTION, options=THREE)
        assert over(runs, run.id) == "interrupted"
        failed = runs.get_run(run.id)
        assert failed and "http://127.0.0.1:9" in failed.error and failed.is_resumable
        [check] = runs.run_on_loop(runs.check_connection())
        assert check.failure and check.failure.reason == "unreachable"
    finally:
        runs.close()
    with contextlib.closing(Store(known.store)) as store:
        assert [event.kind for event in store.events(run.id)] == ["status_changed"]
