"""What is set for reports changes reports, on the wire, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from research.agent.llm.material import MaterialListing
from research.agent.llm.truncation import TRUNCATION_MARK, truncate
from research.application import Application
from research.core.records import Evidence, Finding, Passage, Report, Task, fingerprint
from research.core.settings import SettingError, load_settings
from research.models.roles import ModelSpec, report_spec
from tests.fakes import until
from tests.servers import Call
from tests.servers.news import FakeTavilyNews, rows
from tests.servers.openai import FakeOpenAI
from tests.tables import each_row

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
TOPIC = "The reopening of the tower"
KEY, OWN = "sk-usual-0123456789abcdef", "qe-own-0123456789abcdef"
LONG = "The tower has reopened after three years. " + "Visitors came from all over the country. " * 40


@pytest.fixture
def usual() -> Iterator[FakeOpenAI]:
    """The server of the roles."""
    with FakeOpenAI() as server:
        server.keys = {KEY}
        yield server


@pytest.fixture
def own() -> Iterator[FakeOpenAI]:
    """The server that is set for reports."""
    with FakeOpenAI() as server:
        server.keys = {OWN}
        yield server


@pytest.fixture
def tavily() -> Iterator[FakeTavilyNews]:
    with FakeTavilyNews(results=rows(3, NOW)) as server:
        for n, row in enumerate(server.results):
            row["content"] = f"{n}: {LONG}"
        yield server


Opened = Callable[..., Application]


@pytest.fixture
def opened(tmp_path: Path, usual: FakeOpenAI, tavily: FakeTavilyNews) -> Iterator[Opened]:
    """A desk with the usual models and some settings."""
    with ExitStack() as stack:

        def opened_(**env: str) -> Application:
            base = {
                "ANSWER_MODEL": "openai:usual",
                "OPENAI_BASE_URL": usual.base_url,
                "OPENAI_API_KEY": KEY,
                "TAVILY_API_KEY": "tvly-0123456789",
                "TAVILY_BASE_URL": tavily.base_url,
                "WEB_SEARCH": "off",
                "SIGHTLINE_CACHE_HOURS": "0",
                "SIGHTLINE_MODEL_ATTEMPTS": "1",
                "MAX_REFLECTIONS": "1",
            }
            desk = Application(load_settings({**base, **env}, data_dir=tmp_path / "data"))
            stack.callback(desk.close)
            return desk

        yield opened_


def reported(desk: Application, **limits: object) -> Report:
    options = desk.services.report_options().model_copy(update=limits)
    return finished(desk, desk.runs.start(TOPIC, options=options).id)


def asked(desk: Application) -> Report:
    return finished(desk, desk.runs.start("Is the tower open?").id)


def finished(desk: Application, run_id: str) -> Report:
    def over() -> bool:
        run = desk.runs.get_run(run_id)
        return run is not None and not run.is_active

    until(over)
    report = desk.runs.report(run_id)
    assert report is not None and report.run.status == "done", report and report.run.error
    return report


def stages(calls: list[Call]) -> set[str]:
    return {call.stage for call in calls}


# The model


def trio(own: FakeOpenAI) -> dict[str, str]:
    return {
        "QUERY_ENGINE_API_KEY": OWN,
        "QUERY_ENGINE_MODEL_NAME": "report-model",
        "QUERY_ENGINE_BASE_URL": own.base_url,
    }


WORK = {"outline", "summarise", "reconsider", "write", "tones"}  # a section's text is a plain call


def test_reports_are_worked_on_by_the_model_that_is_set_for_them_and_answers_are_not(
    opened: Opened, usual: FakeOpenAI, own: FakeOpenAI
) -> None:
    desk = opened(**trio(own))
    report = reported(desk)
    assert stages(own.log) == WORK
    assert {call.body["model"] for call in own.log} == {"report-model"}
    assert {call.headers["authorization"] for call in own.log} == {f"Bearer {OWN}"}
    assert stages(usual.log) <= {"summarise"}  # of what a search has found
    assert report.answer and report.answer.author == "openai:report-model"
    own.log.clear()
    answer = asked(desk).answer
    assert answer and answer.author == "openai:usual"
    assert own.log == []


def test_without_it_reports_are_worked_on_by_the_models_of_the_roles(
    opened: Opened, usual: FakeOpenAI, own: FakeOpenAI
) -> None:
    report = reported(opened())
    assert stages(usual.log) == WORK
    assert own.log == []
    assert report.answer and report.answer.author == "openai:usual"


@pytest.mark.slow
def test_a_models_name_alone_is_asked_where_others_of_its_provider_are(opened: Opened, usual: FakeOpenAI) -> None:
    reported(opened(QUERY_ENGINE_MODEL_NAME="openai:another"))
    made = {call.body["model"] for call in usual.log if call.stage != "summarise"}
    assert made == {"another"}
    assert {call.headers["authorization"] for call in usual.log} == {f"Bearer {KEY}"}


def test_the_model_of_a_run_beats_the_one_that_is_set_for_reports(
    opened: Opened, usual: FakeOpenAI, own: FakeOpenAI
) -> None:
    reported(opened(**trio(own)), model="openai:explicit")
    assert stages(own.log) == {"outline", "tones"}
    assert {"reconsider", "write"} <= stages(usual.log)
    assert {c.body["model"] for c in usual.log if c.stage == "write"} == {"explicit"}


def test_the_model_of_reports_is_enough_for_them_and_questions_are_answered_without_one(
    opened: Opened, own: FakeOpenAI
) -> None:
    desk = opened(ANSWER_MODEL="", OPENAI_API_KEY="", OPENAI_BASE_URL="", **trio(own))
    assert desk.services.models is None
    report = reported(desk)
    assert stages(own.log) == WORK
    assert report.answer and report.answer.author == "openai:report-model"
    assert not report.answer.failures
    assert desk.estimate_usage(report.run.options).tokens > 0
    own.log.clear()
    found = asked(desk)
    assert own.log == []
    assert found.answer and found.answer.author != "openai:report-model"
    checks = desk.check_connections()
    assert [(c.setting, c.model, c.failure) for c in checks if c.name == "news"] == [
        ("QUERY_ENGINE_MODEL_NAME", "openai:report-model", None)
    ]
    assert len(own.log) == 1


def test_the_key_of_another_server_is_never_sent_to_that_of_reports(opened: Opened, own: FakeOpenAI) -> None:
    own.keys = None
    env = {**trio(own), "QUERY_ENGINE_API_KEY": ""}
    reported(opened(**env))
    assert {call.headers["authorization"] for call in own.log} == {"Bearer none"}


def test_its_key_is_in_nothing_that_is_kept(opened: Opened, own: FakeOpenAI, tmp_path: Path) -> None:
    own.fail("reconsider", "echokey")
    desk = opened(**trio(own), OUTPUT_DIR=str(tmp_path / "out"))
    report = reported(desk)
    assert report.answer and report.answer.failures
    desk.close()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.suffix == ".md" for file in files)
    assert [file for file in files if OWN.encode() in file.read_bytes()] == []


@pytest.mark.parametrize(
    ("env", "spec"),
    [
        ({}, None),
        ({"QUERY_ENGINE_MODEL_NAME": " "}, None),
        ({"QUERY_ENGINE_MODEL_NAME": "gpt-4o", "QUERY_ENGINE_API_KEY": "k"}, ("openai", "gpt-4o", True)),
        ({"QUERY_ENGINE_MODEL_NAME": "openai:gpt-4o", "QUERY_ENGINE_API_KEY": "k"}, ("openai", "gpt-4o", True)),
        ({"QUERY_ENGINE_MODEL_NAME": "qwen3:8b", "QUERY_ENGINE_BASE_URL": "http://h.test/v1"}, ("openai", "qwen3:8b", True)),
        ({"QUERY_ENGINE_MODEL_NAME": "gemini-x", "GEMINI_API_KEY": "k"}, ("gemini", "gemini-x", False)),
        ({"QUERY_ENGINE_MODEL_NAME": "ollama:qwen3"}, ("ollama", "qwen3", False)),
        ({"QUERY_ENGINE_MODEL_NAME": "openai:x", "OPENAI_API_KEY": "k"}, ("openai", "x", False)),
    ],
)  # fmt: skip
def test_which_model_is_meant(env: dict[str, str], spec: tuple[str, str, bool] | None, tmp_path: Path) -> None:
    found = report_spec(load_settings(env, data_dir=tmp_path))
    assert found == (spec and ModelSpec(spec[0], spec[1], "QUERY_ENGINE_MODEL_NAME", spec[2]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"QUERY_ENGINE_API_KEY": "sentinel"}, r"^QUERY_ENGINE_API_KEY cannot be used without QUERY_ENGINE_MODEL_NAME"),
        ({"QUERY_ENGINE_BASE_URL": "http://h.test"}, r"^QUERY_ENGINE_BASE_URL cannot be used without"),
        ({"QUERY_ENGINE_MODEL_NAME": "gpt-4o"}, "it needs GEMINI_API_KEY, or QUERY_ENGINE_BASE_URL or QUERY_ENGINE_API_KEY"),
        ({"QUERY_ENGINE_MODEL_NAME": "openai:gpt-4o"}, "it needs OPENAI_API_KEY, or QUERY_ENGINE_BASE_URL"),
        ({"QUERY_ENGINE_MODEL_NAME": "gemini:g", "QUERY_ENGINE_API_KEY": "sentinel"}, "can only be those of an OpenAI-compatible"),
        ({"QUERY_ENGINE_MODEL_NAME": "openai:"}, "QUERY_ENGINE_MODEL_NAME is 'openai:'"),
    ],
)  # fmt: skip
def test_what_is_set_in_part_is_refused_with_what_is_missing(env: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        Application(load_settings(env, data_dir=tmp_path))
    assert "sentinel" not in str(caught.value)


# How much of a result is shown


@pytest.mark.slow
@pytest.mark.parametrize("most", ["", "0", "200", "900"])
def test_the_models_of_a_report_are_shown_so_much_of_each_result_and_all_of_it_is_kept(
    most: str, opened: Opened, usual: FakeOpenAI
) -> None:
    desk = opened(SEARCH_CONTENT_MAX_LENGTH=most)
    report = reported(desk)
    prompts = [call.prompt for call in usual.log if call.stage == "summarise" and "Section:" in call.prompt]
    assert len(prompts) == 6
    for prompt in prompts:
        assert prompt.count("The tower has reopened after three years.") == 3
        shown = int(most or 1_500)  # which is the default
        assert prompt.count(TRUNCATION_MARK) == (3 if shown else 0)
        told = prompt.count("Visitors came from all over the country.")
        assert told == 3 * ((shown - 45) // 41 if shown else 40)
    kept = {passage.text for item in report.evidence for passage in item.passages}
    assert {len(text) for text in kept} == {len(f"0: {LONG.strip()}")}


def test_answers_are_written_from_all_of_it(opened: Opened, usual: FakeOpenAI) -> None:
    desk = opened(SEARCH_CONTENT_MAX_LENGTH="200")
    options = desk.settings.options.model_copy(update={"sources": ("news",), "loops": 1})
    finished(desk, desk.runs.start("Is the tower open?", options=options).id)
    (written,) = [call.prompt for call in usual.log if call.stage == "write"]
    assert TRUNCATION_MARK not in written
    assert written.count("Visitors came from all over the country.") == 3 * 40


@each_row(
    ("text", "most", "shown"),
    [
        ("short", 5, "short"),
        ("The tower opens. It was rebuilt by others.", 20, "The tower opens."),
        ("The tower opens at 9.30 a.m. every day", 26, "The tower opens at 9.30 a."),
        ("one two three four", 12, "one two"),
        ("one two three four", 13, "one two three"),
        ("abcdefghij", 4, "abcd"),
        ("塔建于一九二五年。它很高，有四百多级台阶。", 12, "塔建于一九二五年。"),
        ("塔建于一九二五年它很高", 6, "塔建于一九二"),
        ("“好！”他说，然后走了。", 4, "“好！”"),
        ("Éñö ünï çödé", 8, "Éñö ünï"),
    ],
)
def test_a_text_is_cut_where_a_sentence_or_a_word_ends_and_marked(text: str, most: int, shown: str) -> None:
    made = truncate(text, most)
    assert made == (shown if shown == text else f"{shown} {TRUNCATION_MARK}")
    assert len(made.removesuffix(f" {TRUNCATION_MARK}")) <= most


def test_what_is_shown_of_a_result_counts_all_its_passages_and_cites_them_whole() -> None:
    texts = ["First sentence here. " * 5, "Second passage of it. " * 5, "Third one, unseen. " * 5]
    item = Evidence(
        id="e1", kind="web", title="T", url="https://a.example/", retrieved=NOW,
        passages=tuple(Passage(id=fingerprint(t), text=t, end=len(t)) for t in texts),
    )  # fmt: skip
    task = Task(id="1", source="web", query="q")
    finding = Finding(task=task, evidence=(item,), started=NOW)
    whole, part = (
        MaterialListing.from_findings([finding], 10_000),
        MaterialListing.from_findings([finding], 10_000, max_chars=150),
    )
    assert len(whole.handles) == 3 and TRUNCATION_MARK not in whole.text
    assert [cite.end for cite in part.handles.values()] == [len(texts[0]), len(texts[1])]
    assert part.text.count(TRUNCATION_MARK) == 1 and "Third" not in part.text
