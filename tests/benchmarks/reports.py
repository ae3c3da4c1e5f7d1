"""What a report on the news costs beyond waiting: wall time as a multiple of its critical path.

A fake Gemini and a fake Tavily in a process of their own answer each call after 0.3 s. A report has
five sections, each of which is searched, written, judged and deepened twice: outline, three times
search and text, two judgements, and what stands before the sections are ten calls one after the
other, 3 s. What a strictly serial engine would need for the same calls is told beside it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research.application import Application, tune_garbage_collector
from research.core.records import Report
from research.core.settings import load_settings
from tests.benchmarks.figures import Figure, at_once, percentile
from tests.servers.gemini import FakeGemini
from tests.servers.news import FakeTavilyNews, rows_about

WAIT = 0.3
SECTIONS = 5
REFLECTIONS = 2
CALLS = 1 + 2 * (REFLECTIONS + 1) + REFLECTIONS + 1  # one after the other
ONCE = 5  # single reports, of which the median counts
MANY = 10
ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def _servers() -> Iterator[tuple[str, str]]:
    """The addresses of Gemini and Tavily."""
    command = [sys.executable, "-m", "tests.benchmarks.reports"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().strip(), serving.stdout.readline().strip()
        finally:
            serving.terminate()


def serve() -> None:
    with FakeGemini(latency=WAIT) as gemini, FakeTavilyNews(rows_about, waits=WAIT) as tavily:
        gemini.brain.chapters = [f"Part {n}" for n in range(1, SECTIONS + 1)]
        gemini.brain.sufficient_after = REFLECTIONS + 1
        print(gemini.base_url, tavily.base_url, sep="\n", flush=True)
        threading.Event().wait()


def _measured(desk: Application, number: int) -> tuple[list[float], float, Report]:
    """Seconds of each report from its creation to its stored end, CPU seconds of the process, and
    the last report."""
    limits = {"sections": SECTIONS, "reflections": REFLECTIONS}
    options = desk.services.report_options().model_copy(update=limits)
    cpu = time.process_time()
    topics = [f"The harbour, ferry {time.monotonic_ns()}" for _ in range(number)]
    ids = [desk.runs.start(topic, options=options).id for topic in topics]
    times = []
    for run_id in ids:
        for _ in desk.runs.follow(run_id):
            pass
        report = desk.runs.report(run_id)
        assert report and report.run.finished and report.run.status == "done", report
        assert report.answer and not report.answer.failures, report.answer
        assert len(report.findings) == SECTIONS * (REFLECTIONS + 1)
        times.append((report.run.finished - report.run.created).total_seconds())
    return times, time.process_time() - cpu, report


def _serial(report: Report) -> tuple[int, int]:
    """The calls of a report: to models, and searches."""
    models = sum(used.calls for used in report.usage if used.input or used.output)
    return models, sum(used.searches for used in report.usage)


def figures() -> Iterator[Figure]:
    path = WAIT * CALLS
    with tempfile.TemporaryDirectory() as folder, _servers() as (gemini, tavily):
        env = {
            "GEMINI_API_KEY": "benchmark", "GOOGLE_GEMINI_BASE_URL": gemini,
            "TAVILY_API_KEY": "tvly-benchmark", "TAVILY_BASE_URL": tavily,
        }  # fmt: skip
        settings = load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=Path(folder))
        yield at_once(MANY, settings, calls=MANY * SECTIONS)
        desk = Application(settings)
        try:
            _measured(desk, 1)
            tune_garbage_collector()  # as the app does
            single = [_measured(desk, 1) for _ in range(ONCE)]
            seconds = percentile([times[0] for times, _, _ in single], 0.5)
            note = f"{seconds:.2f} s, the critical path is {path:.1f} s"
            yield Figure("wall / critical path, one report", seconds / path, target=1.05, note=note)
            models, searches = _serial(single[-1][2])
            serial = (models + searches) * WAIT
            note = f"{models} calls of models and {searches} searches: {serial:.1f} s"
            yield Figure("strictly serial / critical path", serial / path, note=note)
            yield Figure("strictly serial / wall", serial / seconds, more=True)
            cpu = percentile([used for _, used, _ in single], 0.5)
            yield Figure("CPU of one report", cpu * 1000, "ms")
            times, cpu, _ = _measured(desk, MANY)
            for label, worst in (("slowest", max(times)), ("median", percentile(times, 0.5))):
                name = f"wall / critical path, {MANY} reports at once, {label}"
                yield Figure(name, worst / path, note=f"{worst:.2f} s")
            yield Figure(f"CPU a report, {MANY} at once", cpu / MANY * 1000, "ms")
        finally:
            desk.close()


if __name__ == "__main__":
    serve()
