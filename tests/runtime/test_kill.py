"""Runs whose process is killed at any moment: they end as if nothing had happened, and pay once."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from research.application import Application
from research.core.settings import Settings, load_settings
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import until
from tests.runtime.conftest import report, searched
from tests.runtime.lives import (
    ROUNDS,
    STEP,
    THREE_ROUNDS,
    Lives,
    ended,
    lines,
    live,
    live_with_models,
    outcome,
    phases,
    reached,
    scripted,
)
from tests.servers.gemini import FakeGemini

KILLS = 20
QUERIES = [query for round_ in ROUNDS for query in round_]
# What happens one after the other; searches of a round are side by side.
STAGES = ("plan", "a", "reflect1", "b", "reflect2", "c", "write")


@dataclass
class Household:
    """The data of some runs, and the lives that work on them."""

    folder: Path
    settings: dict[str, object]
    lives: Lives
    opened: list[LocalRunManager] = field(default_factory=list)

    def open(self, log: Path) -> LocalRunManager:
        """The same runs in this process."""
        self.opened.append(scripted(Settings.model_validate(self.settings), log))
        return self.opened[-1]

    def log(self, run_id: str) -> Path:
        return self.folder.parent / f"{run_id}.log"


@pytest.fixture
def lives() -> Iterator[Lives]:
    made = Lives()
    yield made
    made.close()


@pytest.fixture
def house(tmp_path: Path, place: Path | str, lives: Lives) -> Iterator[Household]:
    url = place if isinstance(place, str) else ""
    folder = tmp_path / "data"
    made = Household(folder, {"data_dir": folder, "store_url": url}, lives)
    yield made
    for runs in made.opened:
        runs.close()


def stage(line: str) -> int:
    """The number of the stage that a line of a log tells of."""
    word = line.split()[1]
    return STAGES.index(word[0] if word in QUERIES else word)


def started(log: list[str]) -> list[str]:
    return [line for line in log if line.startswith("start")]


def check(runs: LocalRunManager, run_id: str, log: list[str], expected: dict[str, object]) -> None:
    """A run came to what it would have come to; no stage and no search was repeated needlessly."""
    assert outcome(report(runs, run_id)) == expected
    events = runs.events(run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (events[-1].kind, events[-1].data.status) == ("status_changed", "done")
    stages = [stage(line) for line in started(log)]
    assert stages == sorted(stages), "a stage that was over began again"
    counts = searched(runs, run_id)
    assert set(counts) == set(QUERIES)
    assert {finished for _, finished in counts.values()} == {1}


def undisturbed(house: Household) -> tuple[dict[str, object], int]:
    """What a run comes to that nobody kills, and how many lines it writes."""
    log = house.log("undisturbed")
    runs = house.open(log)
    assert ended(runs, "undisturbed", THREE_ROUNDS) == "done"
    found = report(runs, "undisturbed")
    assert found.answer is not None and found.answer.quote_count == 2 * len(QUERIES)
    check(runs, "undisturbed", lines(log), outcome(found))
    assert set(Counter(lines(log)).values()) == {1}
    runs.close()
    return outcome(found), len(lines(log))


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    house: Household,
) -> None:
    expected, _ = undisturbed(house)
    moments, log = random.Random(20261122), house.log("one")
    runs = house.open(log)
    cut, kept = 0, set[str]()
    for _ in range(KILLS):
        before = len(lines(log))
        life = house.lives.begin(live, house.settings, log, "one")
        reached(log, before + moments.randint(1, 6))
        time.sleep(moments.uniform(0, STEP))
        house.lives.kill(life)
        new = lines(log)[before:]
        assert not kept & {line.split()[1] for line in started(new)}, "what was kept was repeated"
        kept = {query for query, (_, done) in searched(runs, "one").items() if done}
        cut += "over done" not in new
    assert cut > KILLS // 4
    assert ended(runs, "one", THREE_ROUNDS) == "done"
    log_ = [line for line in lines(log) if not line.startswith(("here", "over"))]
    check(runs, "one", log_, expected)
    begun = {query: n for query, (n, _) in searched(runs, "one").items()}
    assert all(log_.count(f"start {query}") <= begun[query] <= 1 + cut for query in QUERIES)


@pytest.mark.slow
def test_runs_that_are_killed_at_any_moment_of_their_lives_end_as_if_nothing_had_happened(
    house: Household,
) -> None:
    expected, length = undisturbed(house)
    moments = random.Random(20261123)
    cut: dict[str, tuple[set[str], int]] = {}
    for n in range(KILLS):
        run_id = f"run{n}"
        life = house.lives.begin(live, house.settings, house.log(run_id), run_id)
        reached(house.log(run_id), round(1 + n * (length + 1) / (KILLS - 1)))  # the last: it is over
        time.sleep(moments.uniform(0, STEP / 2))
        house.lives.kill(life)
        cut[run_id] = set(), len(lines(house.log(run_id)))
    runs = house.open(house.log("afterwards"))
    statuses = Counter()
    for run_id, (_, length_) in cut.items():
        log = house.log(run_id)
        run = runs.get_run(run_id)
        statuses[run.status if run else ""] += 1
        kept = {query for query, (_, done) in searched(runs, run_id).items() if done}
        own = house.open(log)
        assert ended(own, run_id, THREE_ROUNDS) == "done"
        own.close()
        again = {line.split()[1] for line in started(lines(log)[length_:])}
        assert not kept & again, "what was kept was repeated"
        log_ = [line for line in lines(log) if not line.startswith(("here", "over"))]
        check(runs, run_id, log_, expected)
    assert statuses["done"] and statuses["interrupted"] > KILLS // 2


@pytest.mark.slow
def test_stages_of_a_model_that_are_over_are_not_paid_for_again_after_kills(tmp_path: Path, lives: Lives) -> None:
    """Each life is killed when one to five more calls have come in, until the answer is there."""
    folder, log = tmp_path / "data", tmp_path / "log"
    moments = random.Random(20261124)
    with FakeGemini(latency=0.1) as server:
        env = {"GEMINI_API_KEY": "sentinel", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        desk = Application(load_settings(env, data_dir=tmp_path / "other"))
        assert ended(desk.runs, "undisturbed", None) == "done"
        expected = outcome(report(desk.runs, "undisturbed"))
        desk.close()
        order = phases(asked := [(call.stage, call.prompt) for call in server.log])
        assert len(set(asked)) == len(asked) and max(order.values()) == 4
        server.log.clear()
        under_way: Counter[int] = Counter()  # how often a phase was cut off
        while lines(log)[-1:] != ["over done"]:
            calls = len(server.log)
            wanted = calls + moments.randint(1, 5)
            life = lives.begin(live_with_models, env, folder, log, "one")
            until(lambda wanted=wanted: len(server.log) >= wanted or lines(log))
            time.sleep(moments.uniform(0, 0.15))
            lives.kill(life)
            until(lambda: all(call.ended for call in tuple(server.log)))
            last = [order[call.stage, call.prompt] for call in server.log]
            under_way[max(last)] += 1
            assert sum(under_way.values()) < KILLS
        asked = [(call.stage, call.prompt) for call in server.log]
        assert [order[call] for call in asked] == sorted(order[call] for call in asked)
        assert all(n <= 1 + under_way[order[call]] for call, n in Counter(asked).items())
        assert set(asked) == set(order) and len(asked) > len(order)
        desk = Application(load_settings(env, data_dir=folder))
        assert outcome(report(desk.runs, "one")) == expected
        desk.close()
        assert len(server.log) == len(asked)


@pytest.mark.slow
def test_a_task_of_an_agent_that_was_begun_before_a_kill_is_not_begun_again(tmp_path: Path, lives: Lives) -> None:
    folder, log = tmp_path / "data", tmp_path / "log"
    with FakeGemini() as server:
        server.going = 10**6
        env = {
            "GEMINI_API_KEY": "sentinel",
            "GOOGLE_GEMINI_BASE_URL": server.base_url,
            "WEB_SEARCH": "deep-research",
            "NUMBER_OF_INITIAL_QUERIES": "2",
            "MAX_RESEARCH_LOOPS": "1",
        }
        for _ in range(2):
            looks = server.calls("look")
            life = lives.begin(live_with_models, env, folder, log, "one")
            until(lambda looks=looks: server.calls("look") >= looks + 2 * len(server.tasks) > looks)
            lives.kill(life)
        begun = dict(server.tasks)
        for task in server.tasks.values():
            task[1] = 0
        lives.begin(live_with_models, env, folder, log, "one")
        until(lambda: lines(log)[-1:] == ["over done"])
        assert set(server.tasks) == set(begun)
        assert server.calls("begin") == len(begun) > 0
        desk = Application(load_settings(env, data_dir=folder))
        found = report(desk.runs, "one").findings
        assert [len(finding.evidence) for finding in found if finding.provider] == [3] * len(begun)
        assert {finding.provider for finding in found if finding.provider} == {"deep-research"}
        desk.close()
