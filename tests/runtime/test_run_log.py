"""What the log of a process says of runs: a line a step, and one for an expected failure."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from research import close_application, get_application
from research.agent.reasoner import ReasonerInput
from research.core.errors import ServiceError
from research.core.records import Draft, Reflection, Run, RunOptions
from tests.fakes import Outcome, ScriptedReasoner, ScriptedSource, until
from tests.pages.serving import SETTINGS
from tests.runtime.conftest import QUESTION, WEB, Bench, over
from tests.servers import refused_url
from tests.servers.gemini import FakeGemini

LIBRARY = RunOptions(loops=1, sources=("library",))


@pytest.fixture
def gemini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_MODEL_ATTEMPTS", "1")
    monkeypatch.setenv("SIGHTLINE_MODEL_TIMEOUT", "1")
    monkeypatch.setenv("GEMINI_API_KEY", "sentinel-key-of-the-desk")
    close_application()
    with FakeGemini() as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake
        close_application()


def ended(run: Run) -> Run:
    for _ in get_application().runs.follow(run.id):
        pass
    now = get_application().runs.get_run(run.id)
    assert now is not None
    return now


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """What our own program warned of."""
    return [
        record for record in caplog.records if record.name.startswith("research") and record.levelno >= logging.WARNING
    ]


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.exc_info or r.exc_text or r.stack_info]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("400key", "refused"),
        ("429day:60", "quota"),
        ("429:60", "quota"),
        ("404", "refused"),
        ("503", "unavailable"),
        ("hang", "timeout"),
        ("refused", "unreachable"),
    ],
)
def test_a_run_that_fails_for_an_expected_reason_leaves_one_line_with_it(
    gemini: FakeGemini,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: str,
    reason: str,
) -> None:
    if fault == "refused":
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", refused_url())
    else:
        gemini.fail("any", fault)
    run = ended(get_application().runs.start(QUESTION, options=LIBRARY))
    assert (run.status, run.error.partition(":")[0]) == ("failed", reason)
    (line,) = ours(caplog)
    assert line.getMessage() == f"run {run.id} failed: {run.error}"
    assert tracebacks(caplog) == []


def test_a_run_that_is_stopped_leaves_no_line(gemini: FakeGemini, caplog: pytest.LogCaptureFixture) -> None:
    gemini.fail("write", "hang")
    run = get_application().runs.start(QUESTION, options=LIBRARY)
    until(lambda: [call for call in gemini.log if call.stage == "write"])
    get_application().runs.stop(run.id)
    assert ended(run).status == "stopped"
    assert ours(caplog) == []
    assert tracebacks(caplog) == []


class Broken(ScriptedReasoner):
    """Fails as it is told when it is to write."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        raise self._error


@pytest.mark.parametrize("error", [ZeroDivisionError("a mistake"), FileNotFoundError(2, "a mistake")])
def test_a_mistake_keeps_its_traceback(bench: Bench, caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    runs = bench.open(Broken(error))
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "failed"
    (line,) = ours(caplog)
    assert line.getMessage() == f"run {run.id} failed"
    assert "in write" in caplog.text
    assert "a mistake" in caplog.text


def test_a_full_disk_is_no_mistake(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    runs = bench.open(Broken(OSError(28, "No space left on device")))
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "failed"
    assert "the disk is full" in ours(caplog)[0].getMessage()
    assert tracebacks(caplog) == []


def steps(caplog: pytest.LogCaptureFixture, run: Run) -> list[str]:
    """The lines about the steps of a run, without its id."""
    lines = [record.getMessage() for record in caplog.records if record.name == "research.runtime.run_log"]
    assert all(line.startswith(f"run {run.id}: ") for line in lines)
    return [line.removeprefix(f"run {run.id}: ") for line in lines]


def test_each_step_of_a_run_is_a_line_with_counts_and_without_words(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "research")
    reasoner = ScriptedReasoner(["secret words", "failing"], follow_ups=lambda round_: ["more words"])
    runs = bench.open(
        reasoner, ScriptedSource(outcomes={"failing": Outcome(raises=ServiceError("timeout", "so secret"))})
    )
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": 2}))
    assert over(runs, run.id) == "done"
    lines = steps(caplog, run)
    assert lines[:2] == ["running", "plan, parts: 1, searches: 2"]
    assert [re.sub(r"[\d.]+ s$", "N s", line) for line in sorted(lines[2:4])] == [
        "search 1.1 in web, passages: 1, N s",
        "search 1.2 in web, no result: timeout, N s",
    ]
    assert lines[4] == "reflection on round 1, gaps: 1, new searches: 1"
    assert lines[5].startswith("search 2.1 in web, passages: 1, ")
    assert lines[6] == "no reflection on round 2"
    assert lines[7].startswith("answer, quotes: 2, ")
    assert lines[8:] == ["done"]
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("research")]
    assert not any(word in line for word in ("secret", "words", QUESTION) for line in logged)


def test_the_log_level_silences_the_steps(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "WARNING")
    quiet = ended(get_application().runs.start(QUESTION, options=LIBRARY))
    assert quiet.status == "done" and steps(caplog, quiet) == []
    close_application()
    monkeypatch.setenv("LOG_LEVEL", "info")
    run = ended(get_application().runs.start(QUESTION, options=LIBRARY))
    lines = steps(caplog, run)
    assert (lines[0], lines[-1]) == ("running", "done")


def test_a_stopped_and_a_failed_run_say_so(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "research")
    runs = bench.open(Broken(ServiceError("quota", "secret")))
    failed = runs.start(QUESTION, options=WEB)
    assert over(runs, failed.id) == "failed"
    assert steps(caplog, failed)[-1] == "failed"
    caplog.clear()
    waiting = runs.start(QUESTION, options=WEB.model_copy(update={"approve": True}))
    until(lambda: runs.get_run(waiting.id).status == "waiting")  # type: ignore[union-attr]
    assert steps(caplog, waiting)[-1] == "waiting"
