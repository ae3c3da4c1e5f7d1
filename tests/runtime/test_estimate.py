"""What a run will use, told before it starts: near what it then uses, and nearer after the first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from research.application import Application
from research.core.events import Event, parse_event
from research.core.records import Run, RunEstimate, RunOptions, Usage
from research.core.settings import load_settings
from research.runtime.estimate import FinishedRun, ModelSetup, estimate_run
from tests.fakes import until
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI

DAY = date(2026, 11, 22)
EN = "What does a ticket to the Palace Museum cost, and when is it closed?"
ZH = "故宫博物院的门票多少钱，周几闭馆？"
OWN = "openai:x"
OPTIONS = (
    RunOptions(),
    RunOptions(queries=1, loops=1),
    RunOptions(queries=5, loops=3),
    RunOptions(sources=("web",)),
    RunOptions(sources=("web", "library")),
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Application]:
    """Gemini thinks, writes and searches the web; its prices are known."""
    with FakeGemini() as server:
        made = Application(
            load_settings(
                {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.base_url},
                data_dir=tmp_path,
            )
        )
        yield made
        made.close()


def asked(desk: Application, question: str, options: RunOptions) -> RunEstimate:
    """What a run has really used."""
    run = desk.runs.start(question, options=options)
    until(lambda: not (desk.runs.get_run(run.id) or run).is_active)
    (account,) = desk.runs.store.finished_runs("local", 1)
    done = FinishedRun(*account)
    costs = [usage.cost for usage in done.usage]
    return RunEstimate(
        searches=done.searches,
        tokens=sum(u.input + u.output for u in done.usage),
        cost=None if None in costs else sum(cost or 0 for cost in costs),
        seconds=(done.events[-1].time - done.events[0].time).total_seconds(),
    )


def near(guess: float | None, actual: float | None, factor: float = 1.5) -> bool:
    if not guess or not actual:
        return guess == actual
    return 1 / factor <= guess / actual <= factor


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("question", [EN, ZH], ids=["en", "zh"])
def test_the_first_run_uses_what_was_estimated(question: str, options: RunOptions, desk: Application) -> None:
    guess = desk.estimate_usage(options)
    actual = asked(desk, question, options)
    assert guess.runs == 0
    assert near(guess.searches, actual.searches), (guess, actual)
    assert near(guess.tokens, actual.tokens), (guess, actual)
    assert near(guess.cost, actual.cost), (guess, actual)


def test_after_a_run_the_estimate_is_what_that_run_has_used(desk: Application) -> None:
    options = RunOptions(queries=2)
    actual = asked(desk, EN, options)
    guess = desk.estimate_usage(options)
    assert guess.runs == 1
    assert near(guess.searches, actual.searches, 1.05)
    assert near(guess.tokens, actual.tokens, 1.05)
    assert near(guess.cost, actual.cost, 1.05)
    assert near(guess.seconds, actual.seconds, 1.05)
    wider = desk.estimate_usage(RunOptions(queries=6, loops=3))
    assert wider.searches > guess.searches
    assert wider.tokens > guess.tokens
    assert desk.estimate_usage(options, owner="bob").runs == 0
    assert desk.estimate_usage(options.model_copy(update={"model": "gemini:other"})).runs == 0


@pytest.mark.parametrize(
    ("agent", "dollars"),
    [
        ("deep-research-preview-04-2026", 3.0),
        ("deep-research-max-preview-04-2026", 7.0),
        ("new", None),
    ],
)
@pytest.mark.parametrize("tasks", [1, 3])
def test_tasks_of_an_agent_are_in_the_estimate(agent: str, dollars: float | None, tasks: int, tmp_path: Path) -> None:
    env = {"GEMINI_API_KEY": "k", "WEB_SEARCH": "deep-research", "GEMINI_DEEP_RESEARCH": agent}
    made = Application(load_settings(env, data_dir=tmp_path))
    options = RunOptions(queries=tasks, loops=1, sources=("web",))
    guess = made.estimate_usage(options)
    usual = made.estimate_usage(options.model_copy(update={"sources": ("library",)}))
    made.close()
    assert usual.cost is not None
    if dollars is None:
        assert guess.cost is None
    else:
        assert guess.cost is not None and guess.cost - usual.cost == pytest.approx(tasks * dollars)
        assert guess.searches >= 80 * tasks and guess.tokens >= 310_000 * tasks
        assert guess.seconds > 1_000


def test_a_model_without_a_price_has_no_estimate_of_cost(tmp_path: Path) -> None:
    with FakeOpenAI() as server:
        settings = load_settings({"ANSWER_MODEL": OWN, "OPENAI_BASE_URL": server.base_url}, data_dir=tmp_path)
        made = Application(settings)
        guess = made.estimate_usage(RunOptions())
        actual = asked(made, ZH, RunOptions())
        made.close()
    assert guess.cost is None
    assert near(guess.tokens, actual.tokens), (guess, actual)


def test_without_a_model_nothing_is_paid(tmp_path: Path) -> None:
    made = Application(load_settings({}, data_dir=tmp_path))
    plan = made.runs.preview_plan(EN, options=RunOptions(loops=1))
    guess = made.estimate_usage(RunOptions(loops=1), plan=plan)
    actual = asked(made, EN, RunOptions(loops=1))
    made.close()
    assert (guess.tokens, guess.cost, guess.searches) == (0, 0.0, actual.searches)


def test_without_a_round_of_search_there_is_one_call() -> None:
    averages = ModelSetup(dict.fromkeys(("plan", "reflect", "write", "search"), OWN))  # type: ignore[arg-type]
    guess = estimate_run(RunOptions(loops=0), averages, (), DAY)
    assert (guess.searches, guess.tokens < 1_000, guess.tokens > 0) == (0, True, True)


def earlier(usage: Usage, seconds: float, options: RunOptions, **more: Any) -> FinishedRun:
    run = Run(
        id="r", conversation="c", owner="local", question=EN, options=options, status="done",
        created=datetime(2026, 1, 1, tzinfo=UTC), **more,
    )  # fmt: skip
    told: list[tuple[float, str, dict[str, Any]]] = [
        (0, "status", {"status": "running"}),
        (1, "usage", usage.model_dump(mode="json")),
        (2, "found", {"task": {"id": "1.1", "source": "web", "query": "q"}, "reused": False, "reason": None}),
        (seconds, "status", {"status": "done"}),
    ]
    events = [
        Event(run="r", seq=n, time=run.created + timedelta(seconds=at), data=parse_event(kind, data))
        for n, (at, kind, data) in enumerate(told, 1)
    ]
    return FinishedRun(run, events)


def test_earlier_runs_correct_the_estimate_and_only_those_alike() -> None:
    averages = ModelSetup(dict.fromkeys(("plan", "reflect", "write", "search"), OWN))  # type: ignore[arg-type]
    one = RunOptions(queries=1, loops=1)
    used = Usage(stage="write", model=OWN, input=9_000, output=1_000)
    guess = estimate_run(one, averages, [earlier(used, 40.0, one)], DAY)
    assert (guess.tokens, guess.searches, guess.seconds, guess.runs) == (10_000, 1, 40.0, 1)
    twice = [earlier(used, 40.0, one), earlier(used.model_copy(update={"input": 1_000}), 20.0, one)]
    assert estimate_run(one, averages, twice, DAY).tokens == 6_000
    other = earlier(used.model_copy(update={"model": "openai:y"}), 1.0, one)
    again = earlier(used, 1.0, one, based_on="r")
    direct = earlier(used, 1.0, one)
    direct = FinishedRun(direct.run, [e for e in direct.events if e.kind != "task_finished"])
    assert estimate_run(one, averages, [other, again, direct], DAY) == estimate_run(one, averages, (), DAY)


def test_an_estimate_is_within_the_limits_of_the_run() -> None:
    averages = ModelSetup(dict.fromkeys(("plan", "reflect", "write", "search"), "gemini:gemini-3.5-flash"))  # type: ignore[arg-type]
    options = RunOptions(searches=2, tokens=1_000, cost=0.0001, seconds=3.0)
    guess = estimate_run(options, averages, (), DAY)
    assert (guess.searches, guess.tokens, guess.cost, guess.seconds) == (2, 1_000, 0.0001, 3.0)
