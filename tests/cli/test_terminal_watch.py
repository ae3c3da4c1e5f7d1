"""A topic that is watched from a terminal, as cron would: the exit code says whether anything changed."""

# ruff: noqa: F401, F811 - fixtures of another file

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.test_terminal_news import ANSWERED, FAILED, TOPIC, done, env, model, tavily
from tests.servers.news import FakeTavilyNews, rows
from tests.servers.openai import FakeOpenAI

UNCHANGED = 4
WATCH = ("news", "--changed", TOPIC, "--sections", "2", "--reflections", "1")


def asked(server: FakeOpenAI) -> int:
    return len(server.log)


@pytest.fixture
def watched(env: dict[str, str]) -> dict[str, str]:
    """An environment in which the topic has its first report."""
    first = done(env, *WATCH)
    assert first.returncode == ANSWERED
    assert first.stdout.startswith(f"# {TOPIC}\n")
    assert "What has changed" not in first.stdout
    return env


def test_nothing_new_prints_nothing_and_asks_no_model(
    watched: dict[str, str],
    model: FakeOpenAI,
    tavily: FakeTavilyNews,
) -> None:
    models, searches = asked(model), len(tavily.log)
    again = done(watched, *WATCH)
    assert again.returncode == UNCHANGED
    assert again.stdout == ""
    assert "Nothing has changed since" in again.stderr
    assert [call.stage for call in model.log[models:]] == []
    assert 0 < len(tavily.log) - searches <= 2


def test_something_new_is_printed_first_and_can_be_saved(
    watched: dict[str, str],
    tavily: FakeTavilyNews,
    tmp_path: Path,
) -> None:
    fresh = {
        "title": "Ferry crews begin a strike over wages in the northern harbour",
        "url": "https://harbour.example/strike",
        "content": "Crews want 8% more pay.",
        "score": 0.9,
        "published_date": "Fri, 20 Nov 2026 08:00:00 GMT",
    }
    tavily.results = [fresh, *rows(4, datetime.now(UTC))]
    file = tmp_path / "news.md"
    again = done(watched, *WATCH, "-o", str(file))
    assert again.returncode == ANSWERED
    text = file.read_text(encoding="utf-8")
    changes = text.split("## 自上次报告以来的变化")[-1].split("\n## ")[0]
    changes = changes if changes != text else text.split("## What has changed")[-1].split("\n## ")[0]
    assert "Ferry crews begin a strike" in changes
    assert done(watched, *WATCH, "-o", str(file)).returncode == UNCHANGED
    assert file.read_text(encoding="utf-8") == text


def test_an_outage_is_no_lack_of_news(
    watched: dict[str, str],
    tavily: FakeTavilyNews,
) -> None:
    tavily.status = 401
    again = done(watched, *WATCH)
    assert again.returncode == FAILED
    assert "Every search failed" in again.stderr


def test_a_topic_is_the_same_however_it_is_spelt(watched: dict[str, str]) -> None:
    again = done(watched, "news", "--changed", TOPIC.upper() + "!")
    assert again.returncode == UNCHANGED
