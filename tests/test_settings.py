"""Settings: where they come from, how wrong ones are refused, and that each changes something."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research.records import Options, Run
from research.runs import Desk
from research.runs.local import LocalRuns
from research.settings import SettingError, Settings, load
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until

Start = Callable[..., tuple[LocalRuns, Run]]
WEB = ("web",)

NUMBERS = {
    "NUMBER_OF_INITIAL_QUERIES": ("queries", 3, "7", 7),
    "MAX_RESEARCH_LOOPS": ("loops", 2, "5", 5),
    "SIGHTLINE_SEARCH_TIMEOUT": ("search_timeout", 30.0, "1.5", 1.5),
    "SIGHTLINE_SEARCH_DELAY": ("search_delay", 0.0, "0.25", 0.25),
    "SIGHTLINE_PASSAGES_PER_SEARCH": ("passages_per_search", 8, "12", 12),
}


# Reading


@pytest.mark.parametrize("name", NUMBERS)
def test_the_environment_beats_the_default_and_a_blank_value_is_unset(name: str) -> None:
    field, default, raw, value = NUMBERS[name]
    assert getattr(load({}), field) == default
    assert getattr(load({name: raw}), field) == value
    assert getattr(load({name: f"  {raw} "}), field) == value
    for blank in ("", " ", "\t\n"):
        assert getattr(load({name: blank}), field) == default


def test_an_explicit_data_folder_beats_the_environment_which_beats_the_default(
    tmp_path: Path,
) -> None:
    env = {"SIGHTLINE_DATA_DIR": str(tmp_path / "from the environment")}
    assert load(env, data_dir=tmp_path / "explicit").data_dir == tmp_path / "explicit"
    assert load(env).data_dir == tmp_path / "from the environment"
    default = load({}).data_dir
    assert default.name == "sightline"
    assert load({"SIGHTLINE_DATA_DIR": "  "}).data_dir == default


def test_the_data_folder_is_absolute_and_the_home_sign_is_understood() -> None:
    assert load({"SIGHTLINE_DATA_DIR": "~/research"}).data_dir == Path.home() / "research"
    assert load({"SIGHTLINE_DATA_DIR": "here"}).data_dir == Path.cwd() / "here"


def test_the_process_environment_is_read_unless_another_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "NUMBER_OF_INITIAL_QUERIES", "9")
    assert load().queries == 9
    assert load({}).queries == 3


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("NUMBER_OF_INITIAL_QUERIES", "ten", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "0", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "11", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "2.5", "a whole number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "nan", "a number from 1 to 10"),
        ("MAX_RESEARCH_LOOPS", "-1", "a number from 1 to 10"),
        ("MAX_RESEARCH_LOOPS", "inf", "a number from 1 to 10"),
        ("MAX_RESEARCH_LOOPS", "1e9", "a number from 1 to 10"),
        ("MAX_RESEARCH_LOOPS", "二", "a number from 1 to 10"),
        ("SIGHTLINE_SEARCH_TIMEOUT", "0", "a number from 0.05 to 600"),
        ("SIGHTLINE_SEARCH_TIMEOUT", "5 s", "a number from 0.05 to 600"),
        ("SIGHTLINE_SEARCH_DELAY", "-0.1", "a number from 0 to 60"),
        ("SIGHTLINE_PASSAGES_PER_SEARCH", "1.5", "a whole number from 1 to 50"),
        ("SIGHTLINE_PASSAGES_PER_SEARCH", "51", "a number from 1 to 50"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_itself_and_what_was_expected(
    name: str, raw: str, expected: str
) -> None:
    with pytest.raises(SettingError) as caught:
        load({name: raw})
    message = str(caught.value)
    assert message.startswith(f"{name} is {raw!r}; it must be {expected}. ")
    assert f"the default, {NUMBERS[name][1]:g}." in message


def test_settings_cannot_be_changed_nor_misspelled(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        settings.queries = 4  # type: ignore[misc]
    with pytest.raises(ValueError, match="loop_limit"):
        Settings(data_dir=tmp_path, loop_limit=3)  # type: ignore[call-arg]


# Each setting changes what it should


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a run with given helpers and settings."""
    opened: list[LocalRuns] = []

    def start_(
        reasoner: ScriptedReasoner, source: ScriptedSource, **values: object
    ) -> tuple[LocalRuns, Run]:
        settings = Settings.model_validate({"data_dir": tmp_path / str(len(opened)), **values})
        runs = LocalRuns(settings, reasoner, {source.name: source})
        opened.append(runs)
        options = settings.options.model_copy(update={"sources": WEB})
        return runs, runs.start("What is known of the tower?", options=options)

    yield start_
    for runs in opened:
        runs.close()


def over(runs: LocalRuns, run: Run) -> Run:
    def ended() -> bool:
        now = runs.get(run.id)
        return now is not None and not now.active

    until(ended)
    found = runs.get(run.id)
    assert found is not None
    return found


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_the_number_of_queries_caps_the_searches_of_a_round(queries: int, start: Start) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner([f"query {n}" for n in range(40)])
    runs, run = start(reasoner, source, queries=queries, loops=1)
    assert over(runs, run).status == "done"
    assert source.queries == [f"query {n}" for n in range(queries)]


@pytest.mark.parametrize("loops", [1, 2, 3, 4, 5])
def test_the_number_of_loops_is_the_number_of_rounds(loops: int, start: Start) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["first"], lambda round_: [f"after {round_}"])
    runs, run = start(reasoner, source, loops=loops)
    assert over(runs, run).status == "done"
    assert source.queries == ["first", *(f"after {n}" for n in range(1, loops))]
    assert [round_ for round_, _ in reasoner.reflected] == list(range(1, loops))


def test_the_search_timeout_ends_a_search_that_hangs(start: Start) -> None:
    source = ScriptedSource(outcomes={"stuck": HANGS})
    runs, run = start(ScriptedReasoner(["stuck", "quick"]), source, search_timeout=0.1, loops=1)
    assert over(runs, run).status == "done"
    report = runs.report(run.id)
    assert report is not None
    assert {f.task.query: f.reason for f in report.findings} == {"stuck": "timeout", "quick": None}
    stuck = next(f for f in report.findings if f.reason)
    assert stuck.message == "no answer within 0.1 s"


def test_the_search_delay_lies_between_announcing_a_search_and_doing_it(start: Start) -> None:
    source = ScriptedSource(usual=HANGS)
    runs, run = start(ScriptedReasoner(["a"]), source, search_delay=60)
    until(lambda: "search" in [event.kind for event in runs.events(run.id)])
    assert source.calls == []
    assert runs.store.searches(run.id) == []
    runs.stop(run.id)
    assert over(runs, run).status == "stopped"
    assert source.calls == []


def test_without_a_search_delay_a_search_begins_at_once(start: Start) -> None:
    source = ScriptedSource(usual=HANGS)
    runs, run = start(ScriptedReasoner(["a"]), source)
    until(lambda: source.calls)
    assert len(runs.store.searches(run.id)) == 1


def test_a_search_is_done_when_its_delay_is_over(start: Start) -> None:
    source = ScriptedSource()
    runs, run = start(ScriptedReasoner(["a", "b"]), source, search_delay=0.05, loops=1)
    assert over(runs, run).status == "done"
    assert sorted(source.queries) == ["a", "b"]


@pytest.mark.parametrize("passages", [1, 3])
def test_the_passages_per_search_limit_what_one_search_brings(
    passages: int, tmp_path: Path
) -> None:
    desk = Desk(Settings(data_dir=tmp_path, passages_per_search=passages, loops=1))
    try:
        run = desk.runs.start("Travelling with children", options=Options(queries=1, loops=1))
        assert over(desk.runs, run).status == "done"
        report = desk.runs.report(run.id)
        assert report is not None
        assert [finding.passages for finding in report.findings] == [passages]
    finally:
        desk.close()


def test_everything_lies_in_the_data_folder(tmp_path: Path) -> None:
    desk = Desk(Settings(data_dir=tmp_path / "data"))
    desk.close()
    assert {"library.db", "runs.db", "checkpoints.db"} <= {
        p.name for p in (tmp_path / "data").iterdir()
    }


def test_the_settings_are_the_limits_of_a_run_that_names_none(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, queries=4, loops=3)
    source = ScriptedSource("library")
    runs = LocalRuns(settings, ScriptedReasoner(), {"library": source})
    try:
        run = runs.start("What is known of the tower?")
        assert (run.options.queries, run.options.loops) == (4, 3)
        explicit = runs.start("And of the lake?", options=Options(queries=1, loops=1))
        assert (explicit.options.queries, explicit.options.loops) == (1, 1)
        over(runs, run)
        over(runs, explicit)
    finally:
        runs.close()
