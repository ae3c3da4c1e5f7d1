"""A report in one call: what a program is given, told and spared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import research
from research import (
    Event,
    QuestionError,
    StateError,
    close_application,
    get_application,
    load_report,
    news_report,
    number_report_answer,
)
from tests.servers.news import FakeTavilyNews, rows
from tests.servers.openai import FakeOpenAI

TOPIC = "The tower in the news"
TERMINAL = (Path(__file__).resolve().parent.parent / "docs" / "terminal.md").read_text(encoding="utf-8")


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def tavily() -> Iterator[FakeTavilyNews]:
    with FakeTavilyNews(results=rows(3, datetime.now(UTC))) as server:
        yield server


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: FakeOpenAI, tavily: FakeTavilyNews) -> Iterator[Path]:
    """The process's desk, and the folder that is the current one."""
    close_application()
    settings = {
        "SIGHTLINE_DATA_DIR": str(tmp_path / "data"),
        "QUERY_ENGINE_MODEL_NAME": "gpt-fake",
        "QUERY_ENGINE_BASE_URL": model.base_url,
        "TAVILY_API_KEY": "tvly-0123456789",
        "TAVILY_BASE_URL": tavily.base_url,
        "SIGHTLINE_CACHE_HOURS": "0",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    yield here
    close_application()


def test_a_report_comes_back_with_all_that_there_is_to_show(desk: Path) -> None:
    events: list[Event] = []
    report = news_report(TOPIC, sections=2, reflections=1, progress=events.append)
    assert report.run.status == "done" and report.run.question == TOPIC
    assert (report.run.options.sections, report.run.options.reflections) == (2, 1)
    assert report.plan and len(report.plan.parts) == 2
    numbered = number_report_answer(report)
    assert numbered and numbered.sources
    assert research.report_markdown(report, numbered).startswith(f"# {TOPIC}\n")
    assert {"status_changed", "plan_made", "task_started", "task_finished", "section_advanced", "answer_written"} <= {
        e.kind for e in events
    }
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert get_application().runs.get_run(report.run.id) is not None
    assert list(desk.iterdir()) == []


def test_limits_sources_and_model_are_those_that_are_given(model: FakeOpenAI, tavily: FakeTavilyNews) -> None:
    report = news_report("Summer Palace", sections=1, reflections=0, sources=["library"], model="openai:other")
    assert report.run.options.sources == ("library",)
    assert report.run.options.model == "openai:other"
    assert tavily.log == []


def test_a_report_is_saved_in_the_current_folder_in_one_that_is_set_or_in_one_that_is_named(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files(folder: Path) -> list[str]:
        return sorted(path.name.partition("_")[0] for path in folder.iterdir())

    monkeypatch.setenv("OUTPUT_DIR", "")
    news_report(TOPIC, sections=1, reflections=0)
    assert files(desk) == []
    report = news_report(TOPIC, sections=1, reflections=0, save=True)
    assert files(desk) == ["deep", "state"]
    path, problem = get_application().saved_report(report.run.id)
    assert path and path.parent == desk and problem == ""
    news_report(TOPIC, sections=1, reflections=0, save=tmp_path / "named")
    assert files(tmp_path / "named") == ["deep", "state"]
    close_application()
    monkeypatch.setenv("OUTPUT_DIR", str(tmp_path / "set"))
    monkeypatch.setenv("SAVE_INTERMEDIATE_STATES", "False")
    news_report(TOPIC, sections=1, reflections=0)
    news_report(TOPIC, sections=1, reflections=0, save=True)
    assert files(tmp_path / "set") == ["deep", "deep"]
    news_report(TOPIC, sections=1, reflections=0, save=str(tmp_path / "other"))
    assert files(tmp_path / "other") == ["deep"]
    assert len(files(tmp_path / "set")) == 2 and len(files(desk)) == 2


def test_what_cannot_be_saved_is_told_without_an_exception(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("")
    report = news_report(TOPIC, sections=1, reflections=0, save=file)
    assert report.run.status == "done"
    path, problem = get_application().saved_report(report.run.id)
    assert path is None and problem.startswith(f"{file} cannot be written: ")


def test_a_report_that_was_broken_off_is_loaded_and_nothing_is_repeated(
    tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Enough(Exception):
        pass

    def progress(event: Event) -> None:
        if event.kind == "section_advanced" and event.data.step == "reflecting":
            raise Enough

    with pytest.raises(Enough):
        news_report(TOPIC, reflections=1, save=tmp_path / "out", progress=progress)
    (run,) = get_application().runs.recent_runs()
    assert run.status == "stopped"
    close_application()
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path / "elsewhere"))
    (state,) = (tmp_path / "out").glob("state_*.json")
    before = [body["query"] for body in tavily.bodies]
    events: list[Event] = []
    report = load_report(state, progress=events.append)
    assert report.run.status == "done" and report.run.id == run.id
    found = [event for event in events if event.kind == "task_finished"]
    assert any(event.data.reused for event in found)
    made = [body["query"] for body in tavily.bodies][len(before) :]
    finished = {e.data.task.query for e in found if e.data.reused}
    assert not finished & set(made)
    assert model.calls("outline") == 1


def test_the_state_of_a_finished_report_is_loaded_without_a_request(
    tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews
) -> None:
    first = news_report(TOPIC, reflections=0, save=tmp_path / "out")
    (state,) = (tmp_path / "out").glob("state_*.json")
    requests = len(model.log), len(tavily.log)
    events: list[Event] = []
    again = load_report(state, progress=events.append)
    assert (len(model.log), len(tavily.log), events) == (*requests, [])
    assert again.run.id != first.run.id
    assert again.answer == first.answer and again.usage == first.usage
    assert number_report_answer(again) == number_report_answer(first)


def test_what_cannot_be_done_is_refused_before_anything_is_asked(tmp_path: Path, model: FakeOpenAI) -> None:
    with pytest.raises(QuestionError):
        news_report("  ")
    with pytest.raises(ValueError, match="no source 'bing'"):
        news_report(TOPIC, sources=["bing"])
    for sections in (0, 13, -1):
        with pytest.raises(ValueError, match="section"):
            news_report(TOPIC, sections=sections)
    with pytest.raises(ValueError, match="at least one source"):
        news_report(TOPIC, sources=())
    with pytest.raises(FileNotFoundError):
        load_report(tmp_path / "none.json")
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(StateError, match="of another kind"):
        load_report(tmp_path / "x.json")
    assert model.log == []
    assert get_application().runs.recent_runs() == []


def test_the_program_in_the_document_works(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = re.search(r"<!-- api -->\n```python\n(.*?)```", TERMINAL, re.S)
    assert block
    exec(block[1], {})
    said = capsys.readouterr().out
    assert "# 央行降准" in said and "deep_search_report_央行降准_" in said
    assert len(list((desk / "reports").iterdir())) == 2
