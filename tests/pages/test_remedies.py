"""Texts that recommend a model or a key know which are set."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from research import close_application, get_application
from research.core.records import Span
from tests.catalogue import WORDS
from tests.pages.conftest import KEY
from tests.pages.visitor import Visitor, shown
from tests.runtime.tampered import GOOD, answer, put

Visit = Callable[..., Visitor]
NOTHING = "How deep is the Mariana Trench?"
SETTINGS = {  # what is set, and which of the texts below is right
    "nothing": ({}, "model"),
    "a model without its key": ({"ANSWER_MODEL": "openai:gpt-fake"}, "idle"),
    "a model for reports alone": (
        {"QUERY_ENGINE_MODEL_NAME": "fake", "QUERY_ENGINE_BASE_URL": "http://127.0.0.1:9/v1"}, "idle",
    ),
    "a model": (
        {"ANSWER_MODEL": "openai:gpt-fake", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
         "OPENAI_API_KEY": KEY}, "",
    ),
}  # fmt: skip
LOCALES = {"en-US": 1, "zh-CN": 0}


@pytest.fixture(params=SETTINGS)
def remedy(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sets what a test is about; which of the two texts on models is right, "" if neither is."""
    env, right = SETTINGS[request.param]
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    close_application()
    return right


def remedies(words: str, at: int) -> str:
    told = {name: shown(WORDS[f"nothing.{name}"][at]) in words for name in ("model", "idle")}
    assert not all(told.values())
    return next((name for name, there in told.items() if there), "")


@pytest.mark.slow
def test_where_nothing_was_found_a_model_is_recommended_only_if_none_is_set(remedy: str, visit: Visit) -> None:
    spans = (Span(kind="heading", text=NOTHING), Span(kind="missing", text="Not found.", part="p1"))
    put(get_application().runs.store, GOOD, written=answer(GOOD, spans=spans))
    for locale, at in LOCALES.items():
        words = visit(locale=locale, run=GOOD).words
        assert shown(WORDS["nothing.help"][at]) in words
        assert remedies(words, at) == remedy


@pytest.mark.slow
def test_the_page_of_the_database_knows_whether_a_model_is_set(remedy: str, visit: Visit) -> None:
    for locale, at in LOCALES.items():
        words = visit("database", locale=locale).words
        assert remedies(words, at) == ("idle" if remedy == "idle" else "")


@pytest.mark.slow
def test_the_first_page_and_the_status_say_of_a_model_that_is_set_what_it_lacks(remedy: str, visit: Visit) -> None:
    ask, status = visit("ask").words, visit("status").words
    keyless = shown(WORDS["ask.keyless"][1])
    assert (keyless in ask) is (remedy == "model")
    assert (remedies(ask, 1) == "idle") is (remedy == "idle")
    assert ("OPENAI_API_KEY is missing" in status.replace("\\", "")) is (
        remedy == "idle" and not get_application().services_for().settings.report_model
    )


def test_where_every_search_failed_no_other_words_are_recommended(visit: Visit, folder: Path) -> None:
    spans = (Span(kind="heading", text=NOTHING), Span(kind="missing", text="It failed.", part="p1"))
    put(get_application().runs.store, GOOD, written=answer(GOOD, spans=spans))
    with closing(sqlite3.connect(folder / "runs.db")) as connection, connection:
        connection.execute(
            "update search set finding=json_set(finding, '$.reason', 'timeout', '$.evidence', json('[]'))"
        )
    visitor = visit(run=GOOD)
    assert visitor.errors == []
    assert shown(WORDS["nothing.help"][1]) not in visitor.words
