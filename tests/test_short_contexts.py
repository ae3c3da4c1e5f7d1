"""Whole runs over models of little context: what was found is far more than has room in a prompt."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.application import Application
from research.citations.numbering import number_report_answer
from research.core import settings
from research.core.records import Report
from tests.fakes import until
from tests.servers import Call, Server, tokens
from tests.servers.anthropic import FakeAnthropic
from tests.servers.openai import FakeOpenAI
from tests.servers.search import Asked, FakeTavily

QUESTIONS = {"en": "When was the Silver Tower built?", "zh": "雷峰塔是什么时候建成的？"}
FILLERS = {
    "en": "Of the gardens around it the guide of the town has much to tell to those who ask. ",
    "zh": "关于周围的花园，当地的向导对每一位来访者都有许多话要说。",
}
ROLES = ("QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL")
EACH = 20  # results of a search
QUERIES = 8


class Library(FakeTavily):
    """Answers each query with long pages of its own."""

    tongue = "en"

    def answer(self, asked: Asked) -> Any:
        name = hashlib.sha256(asked.body["query"].encode()).hexdigest()[:8]
        filler = FILLERS[self.tongue]
        pages = range(EACH)
        self.results = [
            {
                "title": f"Page {n} of {name}",
                "url": f"https://{name}.example.org/{n}",
                "content": f"{name} {n}. {filler * (6_000 // len(filler))} {asked.body['query']}. {filler}",
                "score": 0.9,
            }
            for n in pages
        ]
        return super().answer(asked)


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, Server]]:
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        yield {"openai": openai, "anthropic": anthropic}


@pytest.fixture
def wire() -> str:
    return "openai"


@pytest.fixture
def model(models: dict[str, Server], wire: str) -> Server:
    return models[wire]


@pytest.fixture(scope="module")
def pages() -> Iterator[Library]:
    with Library() as server:
        yield server


@pytest.fixture
def run(model: Server, wire: str, pages: Library, tmp_path: Path) -> Iterator[Callable[..., Report]]:
    """Runs a question of two rounds and gives its report."""
    opened: list[Application] = []

    def ran(question: str, *, rounds: int = 2, **env: str) -> Report:
        usual = {
            f"{wire.upper()}_BASE_URL": model.base_url, f"{wire.upper()}_API_KEY": "sentinel-key-0123",
            "TAVILY_BASE_URL": pages.base_url,
            "TAVILY_API_KEY": "tvly-test-0123456789", "SIGHTLINE_RESULTS_PER_SEARCH": str(EACH),
        } | dict.fromkeys(ROLES, f"{wire}:some-model")  # fmt: skip
        desk = Application(settings.load_settings(usual | env, data_dir=tmp_path))
        opened.append(desk)
        limits = desk.default_options().model_copy(update={"queries": QUERIES, "loops": rounds, "sources": ("web",)})
        started = desk.runs.start(question, options=limits)
        until(lambda: not desk.runs.get_run(started.id).is_active, seconds=120)
        return desk.runs.report(started.id)

    model.reset()
    model.brain.follow_ups = QUERIES
    yield ran
    for desk in opened:
        desk.close()


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True], ids=["unknown", "set"])
@pytest.mark.parametrize(("wire", "context", "language", "wording"), [
    ("openai", 8_192, "en", "vllm"), ("openai", 8_192, "zh", "zhipu"),
    ("openai", 32_768, "zh", "dashscope"), ("openai", 32_768, "en", "llama.cpp"),
    ("openai", 131_072, "en", "openai"), ("openai", 131_072, "zh", "moonshot"),
    ("anthropic", 8_192, "zh", "anthropic"), ("anthropic", 32_768, "en", "anthropic"),
    ("anthropic", 131_072, "zh", "anthropic"),
])  # fmt: skip
def test_of_hundreds_of_long_sources_an_answer_is_written_that_cites_and_says_what_was_left_out(
    run: Callable[..., Report], model: Server, pages: Library, wire: str,
    context: int, language: str, wording: str, told: bool,
) -> None:  # fmt: skip
    pages.tongue = language
    model.context, model.wording = context, wording
    report = run(QUESTIONS[language], **({"SIGHTLINE_CONTEXT_LENGTH": str(context)} if told else {}))
    assert report.run.status == "done"
    sources = {item.id for found in report.findings for item in found.evidence}
    assert len(sources) >= 300

    answer = report.answer
    assert answer is not None and not answer.placeholder
    assert number_report_answer(report).sources
    (notice,) = [s.text for s in answer.spans if s.kind == "notice" and re.search("left out|没有用上", s.text)]
    assert re.search(r"(\d+) of (\d+) sources|(\d+) 个来源中有 (\d+) 个", notice)
    assert [(f.stage, f.reason, f.hint) for f in answer.failures] == [("write", "cut off", "context")]

    refused = Counter(call.stage for call in model.log if call.fault)
    known = {"openai": 131_072, "anthropic": 200_000}[wire]
    if told or context == known:
        assert refused == {}
    again = Counter(_about(call) for call in model.log if call.fault)
    assert all(times == 1 for times in again.values()), again  # none is refused twice
    assert refused["summarise"] <= QUERIES and sum(refused.values()) - refused["summarise"] <= 2
    longest = max(tokens(call.prompt) for call in model.log if call.stage == "write" and not call.fault)
    assert context / 4 < longest <= context


def _about(call: Call) -> tuple[str, str]:
    """What a call is for: its stage, and its query where it sums up one."""
    if call.stage != "summarise":
        return call.stage, ""
    return call.stage, re.findall(r"<<<query \w+\n(.*)\n", call.prompt)[-1]


def test_a_run_ends_in_an_answer_where_the_server_counts_far_more_tokens_than_expected(
    run: Callable[..., Report], model: Server, pages: Library
) -> None:
    pages.tongue = "en"
    model.context, model.wording, model.weight = 16_384, "anthropic", 1.5
    report = run(QUESTIONS["en"], rounds=1)
    assert report.answer is not None and number_report_answer(report).sources
    assert [failure.reason for failure in report.answer.failures] == ["cut off"]
