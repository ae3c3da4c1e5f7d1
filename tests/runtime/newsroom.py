"""A desk for reports on the news: its models and its news are servers of this machine, asked by the
clients that ask the real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from research import number_report_answer, report_markdown
from research.application import Application
from research.citations.numbering import check_numbering
from research.core.records import Failure, Finding, Report, Run, RunStatus
from research.core.settings import Settings
from tests.servers import Server
from tests.servers.gemini import FakeGemini
from tests.servers.news import FakeTavilyNews

KEY = "tvly-report-0123456789"
TOPIC = "The reopening of the tower"
SECTION = "Write one section of a report"  # stands in the prompt of every section


class Newsroom:
    """Desks over one fake model and one fake Tavily, each on a folder of its own."""

    def __init__(self, folder: Path, model: Server, tavily: FakeTavilyNews) -> None:
        self._folder, self.model, self.tavily = folder, model, tavily
        self._open: list[Application] = []

    @property
    def brain(self) -> Any:
        return self.model.brain

    def open(self, name: str = "", **settings: Any) -> Application:
        gemini = isinstance(self.model, FakeGemini)
        models = (
            {"gemini_key": SecretStr("k"), "gemini_url": self.model.base_url}
            if gemini
            else {"openai_key": SecretStr("k"), "openai_url": self.model.base_url}
            | dict.fromkeys(("plan_model", "write_model"), "openai:gpt-fake")
        )
        given = {
            "data_dir": self._folder / (name or f"desk{len(self._open)}"),
            "model_attempts": 1,
            "tavily_key": SecretStr(KEY),
            "tavily_url": self.tavily.base_url,
            **models,
            **settings,
        }
        self._open.append(Application(Settings.model_validate(given)))
        return self._open[-1]

    def begin(self, topic: str = TOPIC, desk: Application | None = None, **options: Any) -> tuple[Application, Run]:
        """A run of the limits that reports usually have, but for some."""
        desk = desk or self.open()
        usual = desk.services.report_options()
        return desk, desk.runs.start(topic, options=usual.model_copy(update=options))

    def write(self, topic: str = TOPIC, desk: Application | None = None, **options: Any) -> Report:
        """The report of a run once it is done."""
        desk, run = self.begin(topic, desk, **options)
        return over(desk, run.id)

    def close(self) -> None:
        for desk in self._open:
            desk.close()


def room(folder: Path, model: Server, tavily: FakeTavilyNews) -> Iterator[Newsroom]:
    """A newsroom on servers that have forgotten all that was before."""
    model.reset()
    tavily.reset()
    made = Newsroom(folder, model, tavily)
    yield made
    made.close()


def over(desk: Application, run_id: str, status: RunStatus = "done") -> Report:
    for _ in desk.runs.follow(run_id):
        pass
    report = desk.runs.report(run_id)
    assert report is not None
    assert report.run.status == status, report.run.error
    return report


def markdown(report: Report) -> str:
    """The report as it is handed out; its citations are always sound."""
    numbered = number_report_answer(report)
    assert numbered is not None
    assert check_numbering(numbered) == []
    return report_markdown(report, numbered)


def failures(report: Report) -> tuple[Failure, ...]:
    assert report.answer is not None
    return report.answer.failures


def text(report: Report, part: str = "") -> str:
    """What is said in the report, or in one of its sections, without its headings."""
    assert report.answer is not None
    spans = [s for s in report.answer.spans if part in ("", s.part)]
    return "".join(s.text for s in spans if "## " not in s.text)


def of(report: Report, words: str) -> list[Finding]:
    """The findings of queries that have some words in them."""
    return [finding for finding in report.findings if words in finding.task.query]


def distinct(tavily: FakeTavilyNews) -> set[str]:
    """The different requests that were made."""
    return {json.dumps(body, sort_keys=True) for body in tavily.bodies}
