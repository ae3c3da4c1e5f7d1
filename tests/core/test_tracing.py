"""Traces of runs: what a collector is sent, what it never is, and that nobody is sent anything else."""

from __future__ import annotations

import base64
import gzip
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from research import SettingError
from research.application import Application
from research.core.errors import ServiceError
from research.core.events import UsageRecorded
from research.core.records import Report, RunOptions
from research.core.settings import Settings, load_settings
from research.core.tracing import TraceExporter
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, resources, until
from tests.servers.collector import Collector, Span
from tests.servers.gemini import FakeGemini
from tests.servers.search import nowhere

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How old is the sentinelquestion tower?"
PASSAGE = "The sentineldocument tower is open from 9:00 to 17:00."
ANSWER = "The sentinelanswer tower is old."
KEY = "AIzaSENTINEL0123456789abcdefghijklmnop"
OWNER = "sentinelowner@example.org"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        yield server


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., LocalRunManager]]:
    """Runs over scripted helpers, traced to an address."""
    opened: list[LocalRunManager] = []

    def start(
        url: str,
        reasoner: ScriptedReasoner | None = None,
        source: ScriptedSource | None = None,
        **values: object,
    ) -> LocalRunManager:
        source = source or ScriptedSource(usual=Outcome(passages=(PASSAGE,)))
        opened.append(
            LocalRunManager(
                resources(
                    Settings.model_validate({"data_dir": tmp_path / "data", **values}),
                    reasoner or ScriptedReasoner(),
                    {source.name: source},
                    traces=TraceExporter(url and f"{url}/v1/traces"),
                )
            )
        )
        return opened[-1]

    yield start
    for runs in opened:
        runs.close()


def asked(runs: LocalRunManager, **given: Any) -> Report:
    """A run to its end."""
    options = given.pop("options", RunOptions(loops=2, sources=("web",)))
    run = runs.start(QUESTION, options=options, owner=OWNER, **given)
    return ended(runs, run.id)


def ended(runs: LocalRunManager, run_id: str) -> Report:
    for _ in runs.follow(run_id, owner=OWNER):
        pass
    report = runs.report(run_id, owner=OWNER)
    assert report is not None
    return report


def named(spans: Sequence[Span], name: str) -> Span:
    (span,) = [span for span in spans if span.name == name]
    return span


def above(spans: Sequence[Span], span: Span) -> list[str]:
    """The names of the spans that a span is in, the nearest first; times must be within."""
    by_id = {other.id: other for other in spans}
    path = []
    while span.parent:
        outer = by_id[span.parent]
        assert outer.start <= span.start <= span.end <= outer.end
        assert outer.trace == span.trace
        path.append(outer.name)
        span = outer
    return path


# What is sent


def test_a_run_is_a_trace_of_its_stages_and_searches_in_their_order(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    runs = started(
        collector.base_url,
        ScriptedReasoner(["a", "b"], lambda round_: ["c"]),
        ScriptedSource(outcomes={"a": Outcome(waits=0.2, passages=("one", "two"))}),
    )
    report = asked(runs)
    runs.close()
    spans = collector.spans
    assert Counter(span.name for span in spans) == {
        "invoke_workflow sightline": 1,
        "plan": 1,
        "search web": 3,
        "reflect": 1,
        "answer": 1,
    }
    root, rest = spans[0], spans[1:]
    assert root.parent == ""
    assert {tuple(above(spans, span)) for span in rest} == {("invoke_workflow sightline",)}
    searches = {span.attributes["sightline.search.task"]: span for span in rest if "search.task" in str(span.attributes)}  # fmt: skip
    slow, quick = searches["1.1"], searches["1.2"]
    assert slow.end - slow.start > 0.19e9
    assert quick.start < slow.end and slow.start < quick.end  # side by side
    order = [named(spans, "plan"), slow, named(spans, "reflect"), searches["2.1"], named(spans, "answer")]  # fmt: skip
    assert all(one.end <= next_.start for one, next_ in pairwise(order))
    assert report.run.created.timestamp() - 1 < root.start / 1e9 < root.end / 1e9 < time.time()
    assert slow.attributes["sightline.search.source"] == "web"
    assert slow.attributes["sightline.search.passages"] == 2
    assert named(spans, "plan").attributes["sightline.plan.tasks"] == 2
    assert named(spans, "reflect").attributes["sightline.reflection.follow_ups"] == 1
    assert named(spans, "answer").attributes["sightline.answer.quotes"] == 4


def test_the_root_tells_of_its_run_but_of_the_owner_only_a_hash(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    runs = started(collector.base_url)
    report = asked(runs)
    runs.close()
    root = collector.spans[0]
    told = root.attributes
    assert told["sightline.run.id"] == report.run.id
    assert told["gen_ai.conversation.id"] == report.run.conversation
    assert told["gen_ai.operation.name"] == "invoke_workflow"
    assert told["sightline.run.status"] == "done"
    assert told["sightline.run.resumed"] is False
    assert told["sightline.engine"]
    assert len(told["sightline.owner"]) == 16
    assert OWNER not in str(collector.spans)
    assert (root.resource["service.name"], root.scope, root.failed) == ("sightline", "sightline", False)  # fmt: skip


def test_a_search_that_fails_tells_its_reason_and_one_that_finds_nothing_is_no_failure(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    outcomes = {
        "a": Outcome(raises=ServiceError("quota", "sentineldocument is what was asked for")),
        "b": Outcome(reason="empty"),
        "c": Outcome(raises=ValueError("sentineldocument")),
    }
    runs = started(collector.base_url, source=ScriptedSource(outcomes=outcomes))
    asked(runs)
    runs.close()
    told = {
        span.attributes["sightline.search.task"]: (span.failed, span.attributes.get("error.type"))
        for span in collector.spans
        if span.name == "search web"
    }
    assert told == {"1.1": (True, "quota"), "1.2": (False, None), "1.3": (True, "internal")}


def test_a_run_that_fails_or_is_stopped_says_so_and_what_it_did_is_cut_off(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    class Broken(ScriptedReasoner):
        async def write(self, *arguments: Any) -> Any:
            raise LookupError(ANSWER)

    runs = started(collector.base_url, Broken())
    assert asked(runs).run.status == "failed"
    runs.close()
    root = collector.spans[0]
    assert (root.failed, root.attributes["sightline.run.status"]) == (True, "failed")
    assert root.attributes["error.type"] == "LookupError"
    assert named(collector.spans, "answer").attributes["error.type"] == "LookupError"
    assert [span.events for span in collector.spans] == [0] * len(collector.spans)
    collector.log.clear()

    source = ScriptedSource(usual=HANGS)
    runs = started(collector.base_url, ScriptedReasoner(["a"]), source)
    run = runs.start(QUESTION, options=RunOptions(sources=("web",)), owner=OWNER)
    until(lambda: source.calls)
    runs.stop(run.id, owner=OWNER)
    assert ended(runs, run.id).run.status == "stopped"
    runs.close()
    root = collector.spans[0]
    assert (root.failed, root.attributes["sightline.run.status"]) == (False, "stopped")
    assert named(collector.spans, "search web").attributes["error.type"] == "cancelled"


def test_a_run_that_goes_on_is_in_the_same_trace(collector: Collector, started: Callable[..., LocalRunManager]) -> None:
    runs = started(collector.base_url)
    options = RunOptions(loops=1, sources=("web",), approve=True)
    waiting = asked(runs, options=options)
    assert waiting.run.status == "waiting"
    runs.approve(waiting.run.id, owner=OWNER)
    assert ended(runs, waiting.run.id).run.status == "done"
    other = asked(runs)
    runs.close()
    first, second, last = [span for span in collector.spans if not span.parent]
    assert first.trace == second.trace != last.trace
    assert [first.attributes["sightline.run.status"], second.attributes["sightline.run.status"]] == ["waiting", "done"]  # fmt: skip
    assert second.attributes["sightline.run.resumed"] is True
    assert last.attributes["sightline.run.id"] == other.run.id


def test_runs_side_by_side_keep_their_spans_apart(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    runs = started(collector.base_url, source=ScriptedSource(usual=Outcome(waits=0.05)))
    begun = [runs.start(QUESTION, options=RunOptions(loops=1, sources=("web",)), owner=OWNER) for _ in range(8)]  # fmt: skip
    for run in begun:
        ended(runs, run.id)
    runs.close()
    spans = collector.spans
    assert Counter(span.trace for span in spans if span.parent) == Counter(
        {span.trace: 5 for span in spans if not span.parent}
    )
    assert len({span.trace for span in spans}) == 8
    assert all(above(spans, span) for span in spans if span.parent)


def test_a_paid_search_shows_its_price_and_the_run_the_sum(
    collector: Collector, started: Callable[..., LocalRunManager]
) -> None:
    class Paid(ScriptedSource):
        async def search(self, task: Any, say: Any) -> Any:
            say(UsageRecorded(stage="search", model="tavily", searches=1))
            return await super().search(task, say)

    runs = started(collector.base_url, source=Paid())
    report = asked(runs)
    runs.close()
    searches = [span for span in collector.spans if span.name == "search web"]
    assert [span.attributes["sightline.paid_searches"] for span in searches] == [1, 1, 1]
    assert collector.spans[0].attributes["sightline.paid_searches"] == len(report.usage) == 3


# With models


@pytest.fixture
def gemini() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        server.brain.answer = ANSWER
        yield server


def environment(collector: Collector, gemini: FakeGemini, **more: str) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url,
        "SIGHTLINE_RETRY_WAIT": "1",
        **more,
    }


def researched(folder: Path, env: dict[str, str], **given: Any) -> Report:
    desk = Application(load_settings(env, data_dir=folder))
    try:
        return asked(desk.runs, **given)
    finally:
        desk.close()


def test_a_call_of_a_model_is_a_span_where_it_was_made_with_its_tokens_and_its_price(
    collector: Collector, gemini: FakeGemini, tmp_path: Path
) -> None:
    gemini.latency = 0.05
    report = researched(tmp_path, environment(collector, gemini))
    assert report.run.status == "done"
    spans = collector.spans
    calls = [span for span in spans if span.name.startswith("chat ")]
    places = Counter((span.attributes["sightline.stage"], above(spans, span)[0]) for span in calls)
    assert places.keys() == {
        ("plan", "plan"), ("search", "search web"), ("reflect", "reflect"), ("write", "answer"),
    }  # fmt: skip
    assert len(calls) == len(gemini.log) == len(report.usage)
    assert {span.kind for span in calls} == {3}  # a client's
    assert all(span.end - span.start > 0.05e9 for span in calls)
    for span in calls:
        assert span.attributes["gen_ai.provider.name"] == "gcp.gemini"
        assert span.attributes["gen_ai.request.model"] in span.name
        assert span.attributes["sightline.attempt"] == 1
    amounts = Counter(
        (span.attributes["gen_ai.usage.input_tokens"], span.attributes["gen_ai.usage.output_tokens"])
        for span in calls
    )  # fmt: skip
    assert amounts == Counter((usage.input, usage.output) for usage in report.usage)
    root = spans[0].attributes
    assert root["sightline.tokens"] == sum(usage.input + usage.output for usage in report.usage)
    assert root["sightline.cost.usd"] == pytest.approx(sum(u.cost or 0 for u in report.usage))
    assert root["sightline.cost.usd"] > 0


def test_each_attempt_is_a_span_and_one_that_fails_tells_why(
    collector: Collector, gemini: FakeGemini, tmp_path: Path
) -> None:
    gemini.fail("plan", "503", times=1)
    assert researched(tmp_path, environment(collector, gemini)).run.status == "done"
    first, second = [span for span in collector.spans if span.attributes.get("sightline.stage") == "plan"]
    assert (first.failed, first.attributes["error.type"]) == (True, "unavailable")
    assert "gen_ai.usage.input_tokens" not in first.attributes
    assert (second.failed, second.attributes["sightline.attempt"]) == (False, 2)
    assert second.start - first.end > 0.3e9  # it waited in between


# What never is


def forms(text: str) -> list[bytes]:
    """A text as it is, without its first character in base64, and in UTF-16."""
    coded = [base64.b64encode(text.encode()[n:])[:12] for n in range(3)]
    return [text.encode(), text.encode("utf-16-le"), *coded]


@pytest.mark.parametrize("fault", ["", "echokey"])
def test_no_question_answer_document_nor_key_is_in_any_byte_that_is_sent(
    fault: str, collector: Collector, gemini: FakeGemini, tmp_path: Path
) -> None:
    if fault:
        gemini.fail("search", fault, times=1)
        gemini.fail("write", fault)
    env = environment(collector, gemini, SIGHTLINE_MODEL_ATTEMPTS="1")
    report = researched(tmp_path, env)
    assert report.run.status == ("failed" if fault else "done")
    answer = "".join(span.text for span in report.answer.spans) if report.answer else ""
    assert fault or "sentinelanswer" in answer
    private = [KEY, OWNER, str(tmp_path), "sentinel", "tower"]
    private += [item.title for item in report.evidence]
    private += [item.url for item in report.evidence if item.url]
    private += [p.text[:40] for item in report.evidence for p in item.passages]
    private += [finding.task.query for finding in report.findings]
    private += [failure.message for f in report.findings for failure in f.failures]
    assert report.evidence and collector.log
    for request in collector.log:
        sent = request.raw
        assert gzip.compress(b"")[:2] not in sent[:2]  # it is read as it is
        for text in filter(None, private):
            assert [form for form in forms(text) if form in sent] == [], text


def test_the_headers_are_those_of_http_and_those_that_the_user_set(
    collector: Collector, gemini: FakeGemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine,authorization=Basic%20abc")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "desk of mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=here")
    researched(tmp_path, environment(collector, gemini))
    headers = {name.lower(): value for name, value in collector.log[0].headers.items()}
    assert (headers.pop("x-tenant"), headers.pop("authorization")) == ("mine", "Basic abc")
    http = {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert headers.keys() <= http | {"content-type", "content-length", "content-encoding"}
    resource = collector.spans[0].resource
    assert resource["service.name"] == "desk of mine"
    assert resource["deployment.environment.name"] == "here"


ALONE = """
import sys
from pathlib import Path
from research import RunOptions
from research.application import Application
from research.core.settings import load_settings
desk = Application(load_settings(data_dir=Path(sys.argv[1])))
run = desk.runs.start("How old is the Summer Palace?", options=RunOptions(loops=1))
for event in desk.runs.follow(run.id):
    pass
print(desk.runs.get_run(run.id).status, "opentelemetry.exporter" in sys.modules)
desk.close()
"""


QUIET = "ignore:Inheritance class AiohttpClientSession:DeprecationWarning"


def alone(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, without a model."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-W", QUIET, "-c", ALONE, str(folder)],
        env={"HOME": str(folder), "PATH": os.defpath, **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "otlp"}, False),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "{url}/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "{url}", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_without_a_collector_nothing_is_sent_and_nothing_that_sends_is_imported(
    variables: dict[str, str], on: bool, collector: Collector, tmp_path: Path
) -> None:
    env = {name: value.format(url=collector.base_url) for name, value in variables.items()}
    done = alone(tmp_path, **env)
    assert (done.stdout.split(), done.stderr) == (["done", str(on)], "")
    assert bool(collector.log) is on
    if on:
        assert {"plan", "search library", "answer"} <= {span.name for span in collector.spans}


@pytest.mark.slow
@pytest.mark.parametrize(
    "switches",
    [("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"),
     ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")],
)  # fmt: skip
def test_whatever_langsmith_is_told_it_is_sent_nothing(
    switches: Sequence[str], collector: Collector, gemini: FakeGemini, tmp_path: Path
) -> None:
    """Its client would send from a thread of its own, and what is left at the end of the process."""
    env = {
        **dict.fromkeys(switches, "true"),
        "LANGSMITH_ENDPOINT": collector.base_url,
        "LANGCHAIN_ENDPOINT": collector.base_url,
        "LANGSMITH_OTEL_ENABLED": "true",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
    }
    done = alone(tmp_path, **env)
    assert (done.stdout.split(), done.returncode) == (["done", "False"], 0), done.stderr
    assert len(gemini.log) >= 2
    assert collector.log == []


def test_the_server_of_langsmith_would_be_noticed(collector: Collector, tmp_path: Path) -> None:
    """The same variables send something as soon as LangChain is used without Sightline."""
    script = (
        "from langchain_core.runnables import RunnableLambda\n"
        "from langchain_core.tracers.langchain import wait_for_all_tracers\n"
        "RunnableLambda(str.upper).invoke('sentinel'); wait_for_all_tracers()"
    )
    env = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": collector.base_url}
    subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": str(tmp_path), "PATH": os.defpath, **env},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert collector.log


# A collector that does not serve


@pytest.mark.slow
@pytest.mark.parametrize("how", ["nobody listens", "hangs", "503", "401"])
def test_a_collector_that_does_not_serve_delays_nothing_and_costs_one_line_of_the_log(
    how: str,
    started: Callable[..., LocalRunManager],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")
    caplog.set_level(logging.INFO)
    status = int(how) if how.isdigit() else 200

    def failures() -> list[str]:
        """The lines of the log that tell of the collector; runs may log steps beside them."""
        return [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]

    with Collector(status, hangs=how == "hangs") as collector:
        runs = started(nowhere() if how == "nobody listens" else collector.base_url)
        begun = time.monotonic()
        assert [asked(runs).run.status for _ in range(3)] == ["done"] * 3
        assert time.monotonic() - begun < 30  # of the minute that it would be waited for
        if how == "401":
            until(failures)
        begun = time.monotonic()
        runs.close()
        assert time.monotonic() - begun < 30
    until(failures)  # of one that hangs, once it has gone: the next test is not to hear it
    (told,) = failures()
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in told


@pytest.mark.slow
def test_without_the_packages_one_line_says_so_and_runs_go_on(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ImportError('not here')\n")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": nowhere(), "PYTHONPATH": str(tmp_path)}
    done = alone(tmp_path / "home", **env)
    assert done.stdout.split()[0] == "done"
    (line,) = done.stderr.splitlines()
    assert "opentelemetry-exporter-otlp-proto-http" in line and "pip install" in line


def test_a_variable_that_opentelemetry_refuses_costs_the_traces_and_one_line(
    started: Callable[..., LocalRunManager],
    collector: Collector,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-1")
    runs = started(collector.base_url)
    assert asked(runs).run.status == "done"
    runs.close()
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "OTEL_" in record.getMessage() and "schedule_delay" in record.getMessage()
    assert collector.log == []


# Settings


def test_the_address_of_traces_follows_the_conventions_of_opentelemetry() -> None:
    base, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    assert load_settings({}).traces_url == load_settings({base: " "}).traces_url == ""
    assert load_settings({base: "http://a:4318"}).traces_url == "http://a:4318/v1/traces"
    assert load_settings({base: "http://a:4318/in/"}).traces_url == "http://a:4318/in/v1/traces"
    assert load_settings({own: "http://b/take/"}).traces_url == "http://b/take/"
    assert load_settings({base: "http://a", own: "http://b/take"}).traces_url == "http://b/take"
    assert load_settings({base: "http://a", "OTEL_SDK_DISABLED": "True"}).traces_url == ""
    assert load_settings({base: "http://a", "OTEL_TRACES_EXPORTER": "none"}).traces_url == ""
    assert load_settings({base: "http://a", "OTEL_TRACES_EXPORTER": "console,otlp"}).traces_url
    with pytest.raises(SettingError, match=f"{base} is 'a:4318'; it must be an address"):
        load_settings({base: "a:4318"})


def test_the_settings_show_where_traces_go_but_no_password() -> None:
    settings = load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:sentinel@traces.example.org"})
    shown = dict(settings.display_values())
    assert shown["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == "https://traces.example.org/v1/traces"
    assert "sentinel" not in str(shown) + repr(settings)
    assert "sentinel" in settings.secrets
    off = dict(load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"}).display_values())  # fmt: skip
    assert off["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == ""
