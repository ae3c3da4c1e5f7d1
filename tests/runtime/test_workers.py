"""Runs that worker processes work on: they are what they would be without, and are paid for once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from research.application import Application
from research.core.records import Run, RunOptions
from research.core.settings import Settings, configuration, load_settings
from research.runtime import worker_pool, worker_process
from research.runtime.local_run_manager import MAX_WORKER_DEATHS, LocalRunManager
from research.runtime.worker_pool import WorkerProcess
from tests.fakes import until
from tests.runtime.conftest import QUESTION, get, over, report, searched
from tests.runtime.hands import Hands
from tests.runtime.lives import Lives, ended, hired, lines, live_with_workers, outcome, phases
from tests.servers.gemini import FakeGemini

KILLS = 20
KEY = "sentinel-key-of-a-session"
WEB = RunOptions(loops=2, sources=("web",))
HANDS = "tests.runtime.hands:Hands"
Hired = Callable[..., LocalRunManager]


@pytest.fixture
def hands(tmp_path: Path, place: Path | str) -> Iterator[Hired]:
    """Runs over scripted helpers and workers; those in this process are the same."""
    url = place if isinstance(place, str) else ""
    with ExitStack() as stack:

        def make(ready: int = 1, **settings: object) -> LocalRunManager:
            made = Settings.model_validate({"data_dir": tmp_path / "data", "store_url": url, **settings})
            runs = Hands(made).runs
            stack.callback(runs.close)
            runs.start_workers(HANDS)
            until(lambda: len(engines(runs)) >= ready, 120)
            return runs

        yield make


def workers(runs: LocalRunManager) -> list[WorkerProcess]:
    return list(runs._worker_pool._workers) if runs._worker_pool else []


def engines(runs: LocalRunManager) -> set[str]:
    return set(runs._worker_pool.run_counts()) if runs._worker_pool else set()


def begun(runs: LocalRunManager, count: int = 1) -> list[str]:
    return [runs.start(f"What is known of tower {n}?", options=WEB).id for n in range(count)]


def searching(folder: Path) -> int:
    """How many searches were begun, in whichever process."""
    return sum(line.startswith("start") for line in lines(folder / "log"))


def held_by(runs: LocalRunManager) -> dict[str, str]:
    """By run, the engine that it goes on in."""
    return {run_id: engine for engine, ids in runs.store.runs_by_engine().items() for run_id in ids}


def killed(worker: WorkerProcess) -> None:
    worker.process.send_signal(signal.SIGKILL)


def contiguous(runs: LocalRunManager, run_id: str) -> None:
    events = runs.events(run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (events[-1].kind, events[-1].data.status) == ("status_changed", "done")


# As without workers


@pytest.mark.slow
def test_runs_are_spread_over_workers_and_are_as_they_would_be_without(hands: Hired, tmp_path: Path) -> None:
    runs = hands(2, workers="2")
    (tmp_path / "hold").touch()
    ids = begun(runs, 8)
    until(lambda: searching(tmp_path) >= 3 * 8)
    counts = Counter(held_by(runs).values())
    assert set(counts) == engines(runs) and set(counts.values()) == {4}
    (tmp_path / "hold").unlink()
    assert {over(runs, run_id) for run_id in ids} == {"done"}
    here = Hands(Settings(data_dir=tmp_path / "other" / "data")).runs
    [alone] = begun(here)
    assert over(here, alone) == "done"
    same = outcome(report(here, alone))
    assert outcome(report(runs, ids[0])) == same
    kinds = [event.kind for event in here.events(alone)]
    here.close()
    for run_id in ids:
        contiguous(runs, run_id)
        assert Counter(event.kind for event in runs.events(run_id)) == Counter(kinds)
    until(lambda: runs._worker_pool and not any(runs._worker_pool.run_counts().values()))


@pytest.mark.slow
def test_a_run_of_a_worker_is_stopped_resumed_and_told_to_write(hands: Hired, tmp_path: Path) -> None:
    runs = hands(1, workers="1")
    (tmp_path / "hold").touch()
    stopped, written = begun(runs, 2)
    until(lambda: searching(tmp_path) >= 6)
    runs.stop(written, write_only=True)
    runs.stop(stopped)
    assert over(runs, stopped) == "stopped"  # so it has heard of the other, too
    (tmp_path / "hold").unlink()
    assert over(runs, written) == "done"
    assert set(searched(runs, written)) == {"a", "b", "c"}
    assert (again := runs.resume(stopped)) is not None and again.is_active
    assert over(runs, stopped) == "done"
    contiguous(runs, stopped)


@pytest.mark.slow
def test_a_run_of_a_worker_waits_for_its_plan_and_for_an_instruction(hands: Hired) -> None:
    runs = hands(1, workers="1")
    run = runs.start(QUESTION, options=WEB.model_copy(update={"approve": True}))
    assert over(runs, run.id) == "waiting"
    plan = report(runs, run.id).plan
    assert plan is not None
    shorter = plan.model_copy(update={"tasks": plan.tasks[:1], "edited": True})
    assert runs.approve(run.id, plan=shorter, options=WEB.model_copy(update={"loops": 1}))
    assert over(runs, run.id) == "done"
    assert set(searched(runs, run.id)) == {"a"}


@pytest.mark.slow
def test_the_limits_of_runs_at_once_hold_for_all_workers_together(hands: Hired, tmp_path: Path) -> None:
    runs = hands(2, workers="2", max_runs=3, max_runs_per_owner=2)
    (tmp_path / "hold").touch()
    ids = begun(runs, 4)
    other = runs.start(QUESTION, options=WEB, owner="another").id
    until(lambda: searching(tmp_path) >= 3 * 3)
    status = {run_id: get(runs, run_id).status for run_id in ids}
    assert Counter(status.values()) == {"running": 2, "queued": 2}
    assert get(runs, other, "another").status == "running"
    assert runs.queue_position(ids[3]) == (1, True)
    runs.stop(ids[3])
    assert over(runs, ids[3]) == "stopped"
    (tmp_path / "hold").unlink()
    assert {over(runs, run_id) for run_id in ids[:3]} == {"done"}
    assert over(runs, other, owner="another") == "done"
    assert runs.get_run(other) is None and runs.events(other) == []


@pytest.mark.slow
def test_a_conversation_with_a_run_of_a_worker_is_deleted(hands: Hired, tmp_path: Path) -> None:
    runs = hands(1, workers="1")
    (tmp_path / "hold").touch()
    [run_id] = begun(runs)
    until(lambda: searching(tmp_path) >= 3)
    runs.delete_conversation(get(runs, run_id).conversation)
    assert runs.get_run(run_id) is None and runs.store.runs_by_engine() == {}


@pytest.mark.slow
def test_a_run_is_saved_where_it_was_asked_for_by_a_worker(tmp_path: Path) -> None:
    with FakeGemini() as gemini:
        env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        desk = Application(load_settings({**env, "SIGHTLINE_WORKERS": "1"}, data_dir=tmp_path / "data"))
        desk.runs.start_workers()
        hired(desk, 1)
        desk.runs.resources.report_files.set_folder("one", tmp_path / "reports")
        options = RunOptions(sources=("library",), sections=1, reflections=0)
        run = desk.runs.start("Bridges", options=options, run_id="one")
        until(lambda: not get_(desk, run).is_active)
        saved = [event.data for event in desk.runs.events("one") if event.kind == "report_saved"]
        assert get_(desk, run).status == "done"
        assert [Path(data.report).parent for data in saved] == [tmp_path / "reports"]
        desk.close()


def get_(desk: Application, run: Run, owner: str = "local") -> Run:
    found = desk.runs.get_run(run.id, owner=owner)
    assert found is not None
    return found


# Keys


@pytest.mark.slow
def test_a_key_of_a_session_reaches_the_worker_and_nothing_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with FakeGemini(latency=0.1) as gemini:
        env = {"GOOGLE_GEMINI_BASE_URL": gemini.base_url, "SIGHTLINE_WORKERS": "1"}
        desk = Application(load_settings(env, data_dir=tmp_path / "data"))
        desk.runs.start_workers()
        first = hired(desk, 1)[0]
        assert desk.owner_services.preferences.add_keys({"GEMINI_API_KEY": KEY}, owner="ann", remember=False) == {}

        def done(owner: str) -> set[str]:
            """The keys that a run of an owner's has asked with."""
            gemini.log.clear()
            run = desk.runs.start(QUESTION, options=RunOptions(sources=("library",)), owner=owner)
            assert set(held_by(desk.runs).values()) <= engines(desk.runs)  # type: ignore[arg-type]
            until(lambda: not get_(desk, run, owner).is_active)
            assert get_(desk, run, owner).status == "done"
            return {call.headers.get("x-goog-api-key", "") for call in gemini.log}

        assert done("ann") == {KEY}
        assert done("bob") == set()
        process = Path(f"/proc/{first.process.pid}")
        if process.exists():
            assert KEY.encode() not in (process / "environ").read_bytes()
            assert KEY.encode() not in (process / "cmdline").read_bytes()
        # One that goes on in another worker has it again.
        gemini.log.clear()
        run = desk.runs.start(QUESTION, options=RunOptions(sources=("library",)), owner="ann")
        until(lambda: gemini.log)
        killed(first)
        until(lambda: not get_(desk, run, "ann").is_active)
        assert get_(desk, run, "ann").status == "done"
        assert {call.headers.get("x-goog-api-key", "") for call in gemini.log} == {KEY}
        hired(desk, 1)
        desk.owner_services.preferences.delete_key("GEMINI_API_KEY", owner="ann")
        assert done("ann") == set()
        desk.close()
    assert KEY not in "".join(capfd.readouterr())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if KEY.encode() in path.read_bytes()]


# Workers that come and go


@pytest.mark.slow
def test_workers_are_begun_when_there_is_much_to_do_and_let_go_when_there_is_not(
    hands: Hired, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration, "_count_cores", lambda: 2)
    monkeypatch.setattr(worker_pool, "MAX_RUNS_PER_PROCESS", 4)
    runs = hands(0)
    (tmp_path / "hold").touch()
    few = begun(runs, worker_pool.MAX_RUNS_PER_PROCESS)
    assert workers(runs) == [] and set(held_by(runs).values()) == {runs.engine}
    few += begun(runs, 1)
    until(lambda: len(engines(runs)) == 1)
    few += begun(runs, worker_pool.MAX_RUNS_PER_PROCESS)
    until(lambda: len(engines(runs)) == 2)
    assert set(held_by(runs).values()) > {runs.engine}
    few += begun(runs, 2 * worker_pool.MAX_RUNS_PER_PROCESS)  # there are no more cores
    assert set(held_by(runs).values()) == {runs.engine, *engines(runs)}
    assert len(workers(runs)) == 2
    (tmp_path / "hold").unlink()
    assert {over(runs, run_id) for run_id in few} == {"done"}
    processes = [worker.process for worker in workers(runs)]
    monkeypatch.setattr(worker_pool, "IDLE_TIMEOUT_SECONDS", 0.0)
    until(lambda: workers(runs) == [])
    assert {process.poll() for process in processes} == {0}


@pytest.mark.parametrize(
    ("given", "cores", "expected"),
    [
        ({}, 1, 0),
        ({}, 8, 8),
        ({"SIGHTLINE_REQUESTS_PER_MINUTE": "10"}, 8, 0),
        ({"RUNS_URL": "http://127.0.0.1:2024", "SIGHTLINE_WORKERS": "3"}, 8, 0),
        ({"SIGHTLINE_WORKERS": "3", "SIGHTLINE_REQUESTS_PER_MINUTE": "10"}, 1, 3),
        ({"SIGHTLINE_WORKERS": "0"}, 8, 0),
    ],
)
def test_how_many_workers_there_may_be(
    given: dict[str, str],
    cores: int,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(configuration, "_count_cores", lambda: cores)
    assert load_settings(given, data_dir=tmp_path).worker_count == expected


@pytest.mark.slow
def test_where_no_worker_can_begin_the_server_does_the_work(hands: Hired, tmp_path: Path) -> None:
    runs = hands(0, workers="0")
    (tmp_path / "broken").touch()
    runs._worker_pool = worker_pool.WorkerPool(
        runs.resources.settings.model_copy(update={"workers": "1"}),
        runs._on_worker_run_end,
        runs._on_worker_lost,
        HANDS,
    )
    [run_id] = begun(runs)
    assert over(runs, run_id) == "done"
    until(
        lambda: (
            runs._worker_pool
            and runs._worker_pool._failed_starts == worker_pool.MAX_FAILED_STARTS
            and not workers(runs)
        )
    )


@pytest.mark.slow
def test_a_run_of_which_workers_die_is_left_to_its_owner(hands: Hired, tmp_path: Path) -> None:
    runs = hands(MAX_WORKER_DEATHS + 1, workers=str(MAX_WORKER_DEATHS + 1), max_runs=1)
    (tmp_path / "hold").touch()
    run_id, waits = begun(runs, 2)
    for death in range(MAX_WORKER_DEATHS + 1):
        until(lambda death=death: searching(tmp_path) >= 3 * (death + 1))
        assert get(runs, run_id).status == "running" and get(runs, waits).status == "queued"
        holder = runs._worker_pool.worker_of(run_id) if runs._worker_pool else None
        assert holder
        killed(holder)
    assert over(runs, run_id) == "interrupted"
    (tmp_path / "hold").unlink()
    assert over(runs, waits) == "done"
    assert runs.resume(run_id)
    assert over(runs, run_id) == "done"
    contiguous(runs, run_id)


@pytest.mark.slow
def test_what_was_asked_of_a_run_is_done_although_its_worker_dies(hands: Hired, tmp_path: Path) -> None:
    runs = hands(1, workers="1")
    (tmp_path / "hold").touch()
    stopped, written = begun(runs, 2)
    until(lambda: searching(tmp_path) >= 6)
    os.kill(workers(runs)[0].process.pid, signal.SIGSTOP)  # so that it hears nothing any more
    runs.stop(stopped)
    runs.stop(written, write_only=True)
    killed(workers(runs)[0])
    (tmp_path / "hold").unlink()
    assert over(runs, stopped) == "stopped"
    assert over(runs, written) == "done"
    assert set(searched(runs, written)) <= {"a", "b", "c"}


# Kills


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_at_any_moment_goes_on_and_repeats_nothing_paid(
    tmp_path: Path,
) -> None:
    moments = random.Random(20261125)
    with FakeGemini(latency=0.1) as gemini, ExitStack() as stack:
        env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        env |= {"SIGHTLINE_WORKERS": "3", "SIGHTLINE_CACHE_HOURS": "0"}
        desk = Application(load_settings(env, data_dir=tmp_path / "data"))
        stack.callback(desk.close)
        assert ended(desk.runs, "undisturbed", None) == "done"
        expected = outcome(report(desk.runs, "undisturbed"))  # type: ignore[arg-type]
        order = phases(asked := [(call.stage, call.prompt) for call in gemini.log])
        desk.runs.start_workers()
        runs = desk.runs
        assert isinstance(runs, LocalRunManager)
        cut = 0
        for n in range(KILLS):
            hired(desk, 2)
            gemini.log.clear()
            run_id = runs.start(QUESTION, run_id=f"run{n}").id
            wanted = 1 + n * len(asked) // KILLS
            until(lambda wanted=wanted: len(gemini.log) >= wanted)
            time.sleep(moments.uniform(0, 0.1))
            holder = runs._worker_pool.worker_of(run_id) if runs._worker_pool else None
            if holder:
                killed(holder)
                holder.process.wait()
            calls = [(call.stage, call.prompt) for call in tuple(gemini.log)]
            last = max(order[call] for call in calls)
            assert over(runs, run_id) == "done"
            paid = [(call.stage, call.prompt) for call in gemini.log]
            cut += len(paid) > len(asked)
            again = {call for call, times in Counter(paid).items() if times > 1}
            assert all(times <= 2 for times in Counter(paid).values())
            assert all(order[call] >= last for call in again), "what was kept was paid for again"
            assert set(paid) == set(order)
            assert outcome(report(runs, run_id)) == expected
            contiguous(runs, run_id)
        assert cut > KILLS // 4


@pytest.mark.slow
def test_a_run_whose_server_is_killed_at_any_moment_is_resumed_and_repeats_nothing_paid(
    tmp_path: Path,
) -> None:
    """The servers share a data folder; each is killed at a moment of a run of its own."""
    folder, moments, lives = tmp_path / "data", random.Random(20261126), Lives()
    with FakeGemini(latency=0.1) as gemini, ExitStack() as stack:
        stack.callback(lives.close)
        env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        env |= {"SIGHTLINE_WORKERS": "1", "SIGHTLINE_CACHE_HOURS": "0"}
        env |= {"SIGHTLINE_STARTS_PER_MINUTE": "0"}
        desk = Application(load_settings(env, data_dir=folder))
        stack.callback(desk.close)
        runs = desk.runs
        assert isinstance(runs, LocalRunManager)
        assert ended(runs, "undisturbed", None) == "done"
        expected = outcome(report(runs, "undisturbed"))
        order = phases(asked := [(call.stage, call.prompt) for call in gemini.log])

        def log(n: int) -> Path:
            return tmp_path / f"run{n}.log"

        def begin(n: int) -> object:
            return lives.begin(live_with_workers, env, folder, log(n), f"run{n}")

        line = [begin(n) for n in range(3)]
        statuses = Counter[str]()
        for n in range(KILLS):
            until(lambda n=n: lines(log(n)), 120)
            worker = int(lines(log(n))[0].split()[1])
            gemini.log.clear()
            log(n).with_suffix(".go").touch()
            wanted = 1 + n * len(asked) // KILLS
            until(lambda wanted=wanted: len(gemini.log) >= wanted)
            time.sleep(moments.uniform(0, 0.1))
            lives.kill(line[n])  # type: ignore[arg-type]
            if n + 3 < KILLS:
                line.append(begin(n + 3))
            until(lambda worker=worker: not Path(f"/proc/{worker}").exists(), 60)
            last = max(order[call.stage, call.prompt] for call in gemini.log)
            status = over(runs, f"run{n}")
            statuses[status] += 1
            assert status in ("interrupted", "done")
            assert ended(runs, f"run{n}", None) == "done"
            paid = [(call.stage, call.prompt) for call in gemini.log]
            again = {call for call, times in Counter(paid).items() if times > 1}
            assert all(times <= 2 for times in Counter(paid).values())
            assert all(order[call] >= last for call in again), "what was kept was paid for again"
            assert set(paid) == set(order)
            assert outcome(report(runs, f"run{n}")) == expected
            contiguous(runs, f"run{n}")
        assert statuses["interrupted"] > KILLS // 4


def test_a_worker_has_its_share_of_the_calls_and_no_limit_of_runs_of_its_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, workers="4", max_runs=3, max_runs_per_owner=2, model_concurrency=10)
    own = worker_process.share_limits(settings)
    assert (own.worker_count, own.max_runs, own.max_runs_per_owner, own.model_concurrency) == (0, 0, 0, 3)


def test_settings_cannot_be_copied_with_a_value_for_a_name_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no_such_limit"):
        Settings(data_dir=tmp_path).model_copy(update={"no_such_limit": 0})
