"""Whole runs over every kind of model server, what each call is for, and what each setting changes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from research.application import Application
from research.citations.numbering import check_numbering, number_citations, number_report_answer
from research.citations.registry import collect_evidence
from research.cli import main
from research.core import settings
from research.core.records import Report
from research.export.report_json import report_json
from tests.fakes import until
from tests.servers import Call, Server
from tests.servers.anthropic import FakeAnthropic
from tests.servers.gemini import FakeGemini
from tests.servers.ollama import FakeOllama
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeSearXNG, FakeTavily, Service

KEY = "sentinel-key-0123456789"
QUESTION = "雷峰塔是什么时候建成的？"
FAILED, NOTHING = 1, 3
STAGE_OF = {
    "QUERY_GENERATOR_MODEL": "plan",
    "REFLECTION_MODEL": "reflect",
    "ANSWER_MODEL": "write",
    "WEB_SEARCH_MODEL": "search",
}
ROWS = [
    {
        "title": "雷峰塔",
        "url": "https://example.org/tower",
        "content": "雷峰塔建于公元977年，位于杭州西湖南岸。",
    },
    {"title": "West Lake", "url": "https://example.com/lake", "content": "It lies in Hangzhou."},
]
SEARXNG_ROWS = [row | {"engines": ["bing"], "score": 1.0} for row in ROWS]
TAVILY_ROWS = [row | {"score": 0.9, "raw_content": None} for row in ROWS]

Opened = Callable[..., Application]


@dataclass
class Offer:
    """A model server, who searches the web beside it, and the settings that name both."""

    model: str
    server: Any
    web: Service | None
    env: dict[str, str]

    def calls(self) -> dict[str, int]:
        return dict(Counter(call.stage for call in self.server.log))


def local(model: str) -> dict[str, str]:
    """Every role has one model of one's own server."""
    return dict.fromkeys(STAGE_OF, model)


@pytest.fixture(scope="module")
def offers() -> Iterator[dict[str, Offer]]:
    with ExitStack() as stack:
        gemini = stack.enter_context(FakeGemini())
        openai = stack.enter_context(FakeOpenAI())
        ollama = stack.enter_context(FakeOllama())
        anthropic = stack.enter_context(FakeAnthropic())
        searxng = stack.enter_context(FakeSearXNG(results=SEARXNG_ROWS))
        tavily = stack.enter_context(FakeTavily(results=TAVILY_ROWS))
        google = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        own = local("openai:gpt-fake")
        own |= {"OPENAI_BASE_URL": openai.base_url, "SEARXNG_URL": searxng.base_url}
        home = local("ollama:qwen3:8b") | {"OLLAMA_BASE_URL": ollama.base_url}
        home |= {"TAVILY_API_KEY": "tvly-test-0123456789", "TAVILY_BASE_URL": tavily.base_url}
        claude = local("anthropic:claude-fake") | {"SEARXNG_URL": searxng.base_url}
        claude |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": anthropic.base_url}
        yield {
            "gemini": Offer("gemini:gemini-3.8-flash", gemini, None, google),
            "openai": Offer("openai:gpt-fake", openai, searxng, own),
            "ollama": Offer("ollama:qwen3:8b", ollama, tavily, home),
            "anthropic": Offer("anthropic:claude-fake", anthropic, searxng, claude),
        }


@pytest.fixture(autouse=True)
def fresh(offers: dict[str, Offer]) -> None:
    for offer in offers.values():
        offer.server.reset()
        if offer.web:
            offer.web.log.clear()


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a desk with some settings; for equal ones it is the same."""
    opened: dict[str, Application] = {}

    def desk(env: Mapping[str, str], **more: str) -> Application:
        key = json.dumps({**env, **more}, sort_keys=True)
        if key not in opened:
            folder = tmp_path_factory.mktemp("data")
            fresh = {
                "SIGHTLINE_CACHE_HOURS": "0",
                **env,
                **more,
            }  # one test searches nothing for another
            opened[key] = Application(settings.load_settings(fresh, data_dir=folder))
        return opened[key]

    yield desk
    for made in opened.values():
        made.close()


@pytest.fixture
def gemini(offers: dict[str, Offer]) -> Offer:
    return offers["gemini"]


@pytest.fixture
def openai(offers: dict[str, Offer]) -> Offer:
    return offers["openai"]


@pytest.fixture
def ollama(offers: dict[str, Offer]) -> Offer:
    return offers["ollama"]


def run(desk: Application, question: str = QUESTION, **options: Any) -> Report:
    """The report of a run of its own, once it is over."""
    limits = desk.default_options().model_copy(update=options)
    return over(desk, desk.runs.start(question, options=limits).id)


def over(desk: Application, run_id: str) -> Report:
    until(lambda: not desk.runs.get_run(run_id).is_active)
    report = desk.runs.report(run_id)
    assert report is not None
    assert report.answer is not None, report.run.error
    assert check_numbering(number_report_answer(report)) == []
    return report


def named(report: Report) -> dict[str, str]:
    return {failure.stage: failure.reason for failure in report.answer.failures}


def asked(server: Server, stage: str) -> list[Call]:
    return [call for call in server.log if call.stage == stage]


def models(server: Server) -> dict[str, str]:
    """Which model each stage has asked."""
    return {call.stage: call.body.get("model") or call.path.rpartition("/")[2].partition(":")[0] for call in server.log}


# One run, every provider


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["gemini", "openai", "ollama", "anthropic"])
def test_a_question_is_researched_in_two_rounds_over_any_provider(
    provider: str, offers: dict[str, Offer], desks: Opened
) -> None:
    offer = offers[provider]
    report = run(desks(offer.env))
    assert report.run.status == "done"
    assert (report.answer.author, report.answer.failures) == (offer.model, ())
    assert [finding.reason for finding in report.findings] == [None] * 4
    assert [reflection.sufficient for reflection in report.reflections] == [False]
    assert all(finding.summary for finding in report.findings)
    numbered = number_report_answer(report)
    assert numbered.sources
    assert not any(span.unsourced for span in numbered.spans)
    searched = "search" if offer.web is None else "summarise"
    used = Counter(u.stage for u in report.usage if u.model.startswith(f"{provider}:"))
    assert used == {"plan": 1, searched: 4, "reflect": 1, "write": 1}
    assert len(offer.server.log) == 7
    assert offer.web is None or len(offer.web.log) == 4


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["gemini", "openai", "ollama", "anthropic"])
def test_no_request_of_a_run_has_a_sampling_parameter_and_every_prompt_ends_with_the_user(
    provider: str, offers: dict[str, Offer], desks: Opened
) -> None:
    run(desks(offers[provider].env))
    log = offers[provider].server.log
    assert len(log) == 7
    for call in log:
        text = json.dumps(call.body).lower()
        assert not any(f'"{name}"' in text for name in ("temperature", "top_p", "top_k", "topp"))
        turns = call.body.get("messages") or call.body["contents"]
        assert turns[-1].get("role", "user") == "user"


def test_ollama_is_told_the_length_of_the_context_in_every_request(ollama: Offer, desks: Opened) -> None:
    for tokens in ("16384", "32768"):
        ollama.server.log.clear()
        run(desks(ollama.env, OLLAMA_CONTEXT_LENGTH=tokens))
        assert {call.body["options"]["num_ctx"] for call in ollama.server.log} == {int(tokens)}


# A provider for each role

MIXED = {  # the stage of a role, its setting, and its model
    "plan": ("QUERY_GENERATOR_MODEL", "qwen:qwen-fake"),
    "reflect": ("REFLECTION_MODEL", "anthropic:claude-fake"),
    "write": ("ANSWER_MODEL", "deepseek:deepseek-fake"),
    "summarise": ("WEB_SEARCH_MODEL", "ollama:qwen3:8b"),
}
KEYS = {stage: f"sentinel-key-of-{stage}-0123456789" for stage in MIXED}
CALLS = {"plan": 1, "summarise": 4, "reflect": 1, "write": 1}


@pytest.fixture
def mixed(offers: dict[str, Offer]) -> Iterator[tuple[dict[str, Server], dict[str, str]]]:
    """The server of each stage, which takes its own key alone, and the settings that name them."""
    with FakeOpenAI() as qwen, FakeOpenAI() as deepseek:
        servers: dict[str, Server] = {
            "plan": qwen, "write": deepseek,
            "reflect": offers["anthropic"].server, "summarise": offers["ollama"].server,
        }  # fmt: skip
        for stage, server in servers.items():
            server.keys = {"" if stage == "summarise" else KEYS[stage]}  # Ollama asks for none
        searxng = offers["openai"].env["SEARXNG_URL"]
        yield servers, dict(MIXED.values()) | {
            "DASHSCOPE_API_KEY": KEYS["plan"], "DASHSCOPE_BASE_URL": qwen.base_url,
            "ANTHROPIC_API_KEY": KEYS["reflect"], "ANTHROPIC_BASE_URL": servers["reflect"].base_url,
            "DEEPSEEK_API_KEY": KEYS["write"], "DEEPSEEK_BASE_URL": deepseek.base_url,
            "OLLAMA_BASE_URL": servers["summarise"].base_url, "SEARXNG_URL": searxng,
        }  # fmt: skip


def strays(servers: Mapping[str, Server], web: Service) -> list[str]:
    """The keys that reached another server than their own."""
    came = {stage: str([(c.path, c.headers, c.body) for c in s.log]) for stage, s in servers.items()}
    came["web"] = str(web.log)
    return [
        f"the key of {owner} at {stage}"
        for stage, text in came.items()
        for owner, key in KEYS.items()
        if key in text and owner != stage
    ]


@pytest.mark.slow
@pytest.mark.parametrize("question", [QUESTION, "When was the Silver Tower built?"])
def test_each_role_of_a_run_has_a_provider_of_its_own(
    mixed: tuple[dict[str, Server], dict[str, str]],
    offers: dict[str, Offer],
    desks: Opened,
    question: str,
) -> None:
    servers, env = mixed
    report = run(desks(env), question)
    assert (report.run.status, report.answer.failures) == ("done", ())
    assert report.answer.author == MIXED["write"][1]
    assert number_report_answer(report).sources
    assert all(finding.summary for finding in report.findings)
    for stage, server in servers.items():
        assert Counter(call.stage for call in server.log) == {stage: CALLS[stage]}
        own = {KEYS[stage] in str(call.headers) for call in server.log}
        assert own == {stage != "summarise"}
    assert strays(servers, offers["openai"].web) == []
    used = Counter((usage.stage, usage.model) for usage in report.usage)
    assert {of: n for of, n in used.items() if of[1] != "searxng"} == {
        (stage, model): CALLS[stage] for stage, (_, model) in MIXED.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("stage", MIXED)
def test_a_run_of_several_providers_goes_on_where_it_was_stopped(
    mixed: tuple[dict[str, Server], dict[str, str]],
    offers: dict[str, Offer],
    desks: Opened,
    stage: str,
) -> None:
    servers, env = mixed
    desk = desks(env)
    servers[stage].fail(stage, "hang")
    started = desk.runs.start(QUESTION)
    until(lambda: servers[stage].calls(stage) > 0)
    desk.runs.stop(started.id)
    until(lambda: not desk.runs.get_run(started.id).is_active)
    assert desk.runs.get_run(started.id).status == "stopped"
    before = {name: server.calls() for name, server in servers.items()}
    servers[stage].fail(stage, "ok")
    desk.runs.resume(started.id)
    report = over(desk, started.id)
    assert (report.run.status, report.answer.author) == ("done", MIXED["write"][1])
    done = {name for name in MIXED if before[name] and name != stage}
    assert all(servers[name].calls() == before[name] for name in done - {"summarise"})
    assert all(call.stage == name for name, server in servers.items() for call in server.log)
    assert strays(servers, offers["openai"].web) == []
    used = {(usage.stage, usage.model) for usage in report.usage}
    assert used >= {(name, model) for name, (_, model) in MIXED.items()}


# Servers that do not do what they are asked


def test_a_server_that_ignores_schemas_is_named_and_an_answer_is_written(openai: Offer, desks: Opened) -> None:
    openai.server.ignores_schemas = True
    report = run(desks(openai.env))
    assert (report.run.status, named(report)) == (
        "done", {"plan": "malformed", "reflect": "malformed"},
    )  # fmt: skip
    assert [finding.task.query for finding in report.findings] == [QUESTION]
    assert report.answer.cited_span_count


@pytest.mark.slow
def test_a_server_that_answers_nothing_is_named_and_the_evidence_is_quoted(openai: Offer, desks: Opened) -> None:
    desk = desks(openai.env)
    openai.server.fail("any", "nullcontent")
    report = run(desk)
    assert (report.run.status, set(named(report).values())) == ("failed", {"malformed"})
    assert set(named(report)) == {"plan", "summarise", "reflect", "write"}
    assert report.answer.placeholder
    assert report.answer.quote_count
    openai.server.reset()
    desk.runs.resume(report.run.id)
    again = over(desk, report.run.id)
    assert (again.run.status, again.answer.placeholder) == ("done", False)
    assert openai.calls() == {"write": 1}


def test_a_server_that_runs_on_is_named_and_its_text_is_marked_as_cut(openai: Offer, desks: Opened) -> None:
    openai.server.fail("any", "maxtokens")
    report = run(desks(openai.env))
    assert report.run.status == "done"
    assert {named(report)[stage] for stage in ("plan", "reflect", "write")} == {"cut off"}
    assert any("未写完" in span.text for span in report.answer.spans if span.kind == "notice")


# What each call is for


@pytest.mark.parametrize("question", ["你好！", "Hello there!"])
def test_a_question_that_needs_no_search_is_one_call(gemini: Offer, desks: Opened, question: str) -> None:
    report = run(desks(gemini.env), question)
    assert (report.run.status, report.findings) == ("done", ())
    assert gemini.calls() == {"plan": 1}
    assert report.answer.spans[0].kind == "notice"


@pytest.mark.parametrize(
    ("loops", "calls"),
    [
        (0, {"write": 1}),
        (1, {"plan": 1, "search": 3, "write": 1}),
        (2, {"plan": 1, "search": 4, "reflect": 1, "write": 1}),
        (3, {"plan": 1, "search": 5, "reflect": 2, "write": 1}),
    ],
)
def test_a_run_makes_no_call_more_than_its_rounds_need(
    gemini: Offer, desks: Opened, loops: int, calls: dict[str, int]
) -> None:
    gemini.server.brain.sufficient_after = 9
    assert run(desks(gemini.env), loops=loops).run.status == "done"
    assert gemini.calls() == calls


def test_a_reflection_that_is_content_ends_the_search(gemini: Offer, desks: Opened) -> None:
    gemini.server.brain.sufficient_after = 1
    report = run(desks(gemini.env), loops=5)
    assert gemini.calls() == {"plan": 1, "search": 3, "reflect": 1, "write": 1}
    assert report.reflections[0].sufficient


def test_of_forty_queries_as_many_are_searched_as_were_asked_for(gemini: Offer, desks: Opened) -> None:
    queries = [f"塔 {n}" for n in range(38)] + ["塔 1", "塔-2"]
    plan = {"route": "search", "answer": "", "sub_questions": [], "web_queries": queries}
    text = json.dumps(plan, ensure_ascii=False)
    content = {"role": "model", "parts": [{"text": text}]}
    gemini.server.replay("plan", {"candidates": [{"content": content, "finishReason": "STOP"}]})
    report = run(desks(gemini.env), queries=4, loops=1)
    assert [task.query for task in report.plan.tasks] == queries[:4]
    assert gemini.calls()["search"] == 4
    assert any("略去" in note for note in report.plan.notes)


# Which model


def test_the_model_of_a_run_reflects_and_writes_and_the_others_stay(gemini: Offer, desks: Opened) -> None:
    desk = desks(gemini.env)
    run(desk)
    usual = models(gemini.server)
    report = run(desk, model="gemini-3.1-pro-preview")
    chosen = "gemini-3.1-pro-preview"
    assert models(gemini.server) == usual | {"reflect": chosen, "write": chosen}
    assert report.answer.author == f"gemini:{chosen}"


def test_the_model_of_a_run_may_be_another_provider_s(gemini: Offer, openai: Offer, desks: Opened) -> None:
    desk = desks(gemini.env, OPENAI_BASE_URL=openai.env["OPENAI_BASE_URL"])
    assert run(desk, model="openai:gpt-fake").run.status == "done"
    assert gemini.calls() == {"plan": 1, "search": 4}
    assert openai.calls() == {"reflect": 1, "write": 1}


def test_a_model_of_a_run_that_is_no_model_is_named(gemini: Offer, desks: Opened) -> None:
    report = run(desks(gemini.env), model="openai:")
    assert (report.run.status, named(report)) == (
        "failed", {"reflect": "refused", "write": "refused"},
    )  # fmt: skip
    assert {failure.hint for failure in report.answer.failures} == {"model"}
    assert report.answer.quote_count


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "stage"), STAGE_OF.items())
def test_each_role_asks_the_model_of_its_setting(gemini: Offer, desks: Opened, setting: str, stage: str) -> None:
    run(desks(gemini.env))
    usual = models(gemini.server)
    report = run(desks(gemini.env, **{setting: "gemini-of-my-own"}))
    assert models(gemini.server) == usual | {stage: "gemini-of-my-own"}
    used = {usage.stage for usage in report.usage if usage.model == "gemini:gemini-of-my-own"}
    assert used == {stage}


# What each setting changes


def test_the_timeout_is_how_long_a_model_may_take(gemini: Offer, desks: Opened) -> None:
    gemini.server.fail("plan", "slow:0.6")
    assert named(run(desks(gemini.env))) == {}
    assert named(run(desks(gemini.env, SIGHTLINE_MODEL_TIMEOUT="0.3")))["plan"] == "timeout"


@pytest.mark.parametrize(("attempts", "failures"), [("1", {"plan": "unavailable"}), ("2", {})])
def test_the_attempts_are_how_often_a_model_is_asked(
    gemini: Offer, desks: Opened, attempts: str, failures: dict[str, str]
) -> None:
    gemini.server.fail("plan", "503", times=1)
    assert named(run(desks(gemini.env, SIGHTLINE_MODEL_ATTEMPTS=attempts))) == failures
    assert gemini.calls()["plan"] == int(attempts)


@pytest.mark.parametrize(("wait", "failures"), [("0.1", {"plan": "quota"}), ("1", {})])
def test_the_wait_is_how_long_a_pause_may_be(gemini: Offer, desks: Opened, wait: str, failures: dict[str, str]) -> None:
    gemini.server.fail("plan", "429:0.4", times=1)
    assert named(run(desks(gemini.env, SIGHTLINE_RETRY_WAIT=wait), loops=1)) == failures


@pytest.mark.parametrize(("concurrency", "together"), [("1", False), ("200", True)])
def test_the_concurrency_is_how_many_requests_run_at_once(
    gemini: Offer, desks: Opened, concurrency: str, together: bool
) -> None:
    gemini.server.latency = 0.2
    run(desks(gemini.env, SIGHTLINE_MODEL_CONCURRENCY=concurrency), loops=1)
    first, *_ = calls = asked(gemini.server, "search")
    assert len(calls) == 3
    assert any(later.time < call.ended for call, later in pairwise(calls)) == together
    assert first.ended is not None


def test_the_requests_per_minute_hold_the_others_back(gemini: Offer, desks: Opened) -> None:
    assert run(desks(gemini.env), loops=1).run.status == "done"
    assert sum(gemini.calls().values()) == 5
    gemini.server.log.clear()
    desk = desks(gemini.env, SIGHTLINE_REQUESTS_PER_MINUTE="2")
    limits = desk.default_options().model_copy(update={"loops": 1})
    started = desk.runs.start(QUESTION, options=limits)
    until(lambda: len(gemini.server.log) == 2)
    later = time.monotonic() + 0.5  # the other run has long been over by then
    until(lambda: time.monotonic() > later)
    assert gemini.calls() == {"plan": 1, "search": 1}
    desk.runs.stop(started.id)
    until(lambda: not desk.runs.get_run(started.id).is_active)


def test_the_length_of_the_context_is_what_a_prompt_has_room_in(ollama: Offer, desks: Opened) -> None:
    ollama.web.results = [
        {
            "title": f"塔 {n}",
            "url": f"https://example.org/{n}",
            "content": f"第{n}层。" + "高" * 300,
        }
        for n in range(8)
    ]
    try:
        report = run(desks(ollama.env, OLLAMA_CONTEXT_LENGTH="4096"), loops=1)
        [failure] = [f for f in report.answer.failures if f.stage == "write"]
        assert (failure.reason, failure.hint) == ("cut off", "context")
        assert "no room" in failure.message
        assert named(run(desks(ollama.env, OLLAMA_CONTEXT_LENGTH="32768"), loops=1)) == {}
    finally:
        ollama.web.results = TAVILY_ROWS


# What a server does not count


@pytest.mark.parametrize("counts", ["left out", "zero"])
def test_the_calls_of_a_server_that_counts_no_tokens_are_in_the_account_as_estimates(
    openai: Offer, desks: Opened, counts: str
) -> None:
    openai.server.counts = counts
    report = run(desks(openai.env), loops=1)
    calls = [usage for usage in report.usage if usage.model == openai.model]
    assert len(calls) == sum(openai.calls().values())
    assert all(usage.estimated and usage.input for usage in calls)
    told = json.loads(report_json(report, number_citations(report.answer, collect_evidence(report.findings))))["usage"]
    assert told["total"]["calls"] == len(report.usage)
    assert told["total"]["complete"] is False


@pytest.mark.parametrize(("name", "unit"), [("tokens", 1), ("cost", 0.000_001)])
def test_a_limit_holds_where_the_server_counts_no_tokens(gemini: Offer, desks: Opened, name: str, unit: float) -> None:
    def used(report: Report, calls: int | None = None) -> float:
        usage = report.usage[:calls]
        return sum(u.input + u.output if name == "tokens" else u.cost or 0 for u in usage)

    gemini.server.counts = "left out"
    gemini.server.brain.sufficient_after = 99
    whole = run(desks(gemini.env), loops=4)
    assert len({finding.task.round for finding in whole.findings}) == 4
    limit = round(used(whole) / 2 / unit) * unit
    held = run(desks(gemini.env), loops=4, **{name: limit})
    assert used(held, -1) <= limit  # all but the answer, for which a fifth was kept
    assert 0 < len(held.findings) < len(whole.findings)
    assert any("limit is" in s.text or "上限是" in s.text for s in held.answer.spans)


# The test connection


Checked = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checked:
    """Runs the command with some settings; gives its exit code and what it has printed."""
    for name, _ in settings.load_settings({}, data_dir=tmp_path).display_values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)

    def checked(env: Mapping[str, str], *args: str) -> tuple[int, str]:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        code = main(["check", "--data-dir", str(tmp_path / "data"), *args])
        printed = capsys.readouterr()
        assert KEY not in printed.out + printed.err
        return code, printed.out + printed.err

    return checked


def rows(printed: str) -> dict[str, str]:
    """What is said of each name."""
    return {line.split()[0]: " ".join(line.split()[1:]) for line in printed.splitlines()}


@pytest.mark.parametrize(("provider", "search"), [("gemini", "gemini"), ("openai", "searxng"), ("ollama", "tavily")])
def test_the_check_tells_of_every_role_and_every_provider(
    provider: str, search: str, offers: dict[str, Offer], check: Checked
) -> None:
    code, printed = check(offers[provider].env)
    assert code == 0
    said = rows(printed)
    assert list(said) == ["plan", "reflect", "write", "search", search]
    assert all("ok, " in line for line in said.values())
    assert offers[provider].model in said["write"]


@pytest.mark.parametrize("provider", ["gemini", "openai"])
def test_the_check_tells_of_a_key_that_is_refused(provider: str, offers: dict[str, Offer], check: Checked) -> None:
    offers[provider].server.keys = {"another"}
    code, printed = check(offers[provider].env | {"OPENAI_API_KEY": KEY})
    assert code == FAILED
    said = rows(printed)
    setting = {"gemini": "GEMINI_API_KEY", "openai": "OPENAI_API_KEY"}[provider]
    for name in ("plan", "reflect", "write", "search"):
        assert "refused: " in said[name]
        assert setting in said[name]
    assert ("ok, " in said.get("searxng", "")) == (provider == "openai")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("404", "set QUERY_GENERATOR_MODEL to another model"),
        ("400location", "User location is not supported"),
        ("429bare", "quota: "),
        ("hang", "timeout: gemini:gemini-3.5-flash-lite did not answer within 0.3 s"),
        ("prose", "malformed: "),
        ("html502", "unavailable: gemini:gemini-3.5-flash-lite: HTTP 502\n"),
    ],
)
def test_the_check_tells_what_is_wrong_in_words(gemini: Offer, check: Checked, fault: str, words: str) -> None:
    gemini.server.fail("check", fault)
    code, printed = check(gemini.env | {"SIGHTLINE_MODEL_TIMEOUT": "0.3" if fault == "hang" else "30"})
    assert code == FAILED
    assert words in printed


def test_the_check_warns_of_a_name_that_is_going(gemini: Offer, check: Checked) -> None:
    code, printed = check(gemini.env | {"ANSWER_MODEL": "gemini-2.5-pro"})
    assert code == 0
    assert "from 2026-12-01 on gemini-2.5-pro is answered by gemini-3.8-flash" in rows(printed)["write"]


def test_the_check_as_json_has_every_row(gemini: Offer, check: Checked) -> None:
    gemini.server.fail("search", "429bare")
    code, printed = check(gemini.env, "--json")
    assert code == FAILED
    found = {row["name"]: row["failure"] for row in json.loads(printed)}
    assert [name for name, failure in found.items() if failure] == ["gemini"]
    assert (found["gemini"]["reason"], found["gemini"]["hint"]) == ("quota", "billing")


def test_the_check_says_that_there_is_nothing_to_check(check: Checked) -> None:
    code, printed = check({})
    assert code == NOTHING
    assert "No model or web search is configured" in printed
