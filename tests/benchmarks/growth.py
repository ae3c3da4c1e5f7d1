"""How time and memory grow with the work: runs at once, turns, sources, documents, history.

Each kind of work is done at three sizes. Time is that of the processor, of this process alone, so that
what else the machine does hardly counts; memory is the most that the process had beyond what it had
before. The growth is the exponent of a power of the size, fitted to the three by least squares of the
logarithms: 0 is constant, 1 linear. It is named by the last step alone where that is steeper, for there
a fixed cost hides it least. What works is scripted: no model, no network. Needs Linux with glibc.
"""

from __future__ import annotations

import ctypes
import gc
import math
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from research.application import tune_garbage_collector
from research.citations.registry import evidence_id
from research.core.records import Evidence, Passage, Run, RunOptions, Task, fingerprint
from research.core.settings import Settings
from research.readers.documents import read_document
from research.runtime.local_run_manager import LocalRunManager
from research.sources.library.index import Library
from research.storage.history_index import HistoryQuery
from research.storage.store import Store
from tests.benchmarks.figures import Figure, percentile
from tests.fakes import RETRIEVED, Outcome, ScriptedReasoner, ScriptedSource, resources
from tests.many import add_run, texts

WAIT = 0.1  # seconds of each search of the runs at once
RUNS = (1, 10, 100)
TURNS = (1, 20, 100)
SOURCES = (10, 100, 1_000)
DOCUMENTS = (1_000, 10_000, 100_000)
HISTORY = (100, 1_000, 10_000)
SAMPLES = 5  # of what takes milliseconds, of which the median counts
QUESTIONS = (
    "西湖门票多少钱",
    "metro line 7 to Mount Tai",
    "敦煌怎么去",
    "ticket West Lake 45 yuan",
)
_LIBC = ctypes.CDLL(None)
# What a size costs: seconds of the processor, and MB.
Cost = tuple[float, float]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, _desk(Path(folder)) as runs:
        _asked(runs)
        tune_garbage_collector()
        at_once = {number: _cost(lambda n=number: _together(runs, n)) for number in RUNS}  # type: ignore[misc]
    yield from _row(
        "runs at once, all together", "runs", at_once,
        "Runs share nothing but the loop and the store; writes of one moment are one transaction.",
    )  # fmt: skip
    yield from _row(
        "one more turn of a conversation", "turns", _turns(),
        "A turn is a run of its own that is told what the one before has answered.",
    )  # fmt: skip
    yield from _row(
        "one run that finds sources", "sources", dict(map(_found, SOURCES)),
        "Each source is stored, numbered, quoted and listed once.",
    )  # fmt: skip
    yield from _library()
    yield from _history()


def exponent(costs: Mapping[int, float]) -> float:
    """The power of the size that some figures grow with."""
    points = [(math.log(size), math.log(max(cost, 1e-9))) for size, cost in costs.items()]
    middle = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    slope = sum((x - middle[0]) * (y - middle[1]) for x, y in points)
    return slope / sum((x - middle[0]) ** 2 for x, _ in points)


def named(power: float) -> str:
    """What a growth is called; between the kinds is what fits none of them well."""
    kinds = ((0.2, "constant"), (0.8, "less than linear"), (1.2, "linear"))
    return next((kind for limit, kind in kinds if power < limit), "worse than linear")


def _row(name: str, of: str, costs: Mapping[int, Cost], why: str) -> Iterator[Figure]:
    for size, (seconds, memory) in costs.items():
        note = f"{memory:.1f} MB"
        yield Figure(f"{name}: {size:,} {of}", seconds * 1000, "ms", note=note)
    taken = {size: seconds for size, (seconds, _) in costs.items()}
    whole, last = exponent(taken), exponent(dict(list(taken.items())[-2:]))
    note = f"{named(max(whole, last))}; the last step {last:.2f}. {why}"
    yield Figure(f"{name}: growth", whole, note=note)


def _cost(work: Callable[[], object]) -> Cost:
    gc.collect()
    _LIBC.malloc_trim(0)  # what is free goes back, so that it is counted when it is taken again
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
    before, cpu = _memory("VmRSS"), time.process_time()
    work()
    return time.process_time() - cpu, max(0.0, _memory("VmHWM") - before)


def _memory(what: str) -> float:
    """MB of memory that this process has, or has had at most."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) / 1024
    raise OSError(what)


def _often(work: Callable[[], object]) -> Cost:
    """The median of several times, once it is warm."""
    work()
    costs = [_cost(work) for _ in range(SAMPLES)]
    return percentile([cpu for cpu, _ in costs], 0.5), max(memory for _, memory in costs)


# Runs


@contextmanager
def _desk(folder: Path, source: ScriptedSource | None = None) -> Iterator[LocalRunManager]:
    settings = Settings(data_dir=folder, max_runs_per_owner=0, starts_per_minute=0)
    source = source or ScriptedSource("web", Outcome(waits=WAIT))
    runs = LocalRunManager(resources(settings, ScriptedReasoner(), {"web": source}))
    try:
        yield runs
    finally:
        runs.close()


def _asked(runs: LocalRunManager, follows: str = "") -> Run:
    options = RunOptions(queries=3, loops=1, sources=("web",))
    return _ended(runs, runs.start("How old is it?", options=options, follows=follows))


def _ended(runs: LocalRunManager, run: Run) -> Run:
    while (now := runs.get_run(run.id)) is None or now.is_active:
        time.sleep(0.02)
    assert now.status == "done", now.error
    return now


def _together(runs: LocalRunManager, number: int) -> None:
    options = RunOptions(queries=3, loops=1, sources=("web",))
    begun = [runs.start(f"question {n}", options=options) for n in range(number)]
    for run in begun:
        _ended(runs, run)


def _turns() -> dict[int, Cost]:
    """The last of so many turns of one conversation."""
    costs: dict[int, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = ScriptedSource("web", Outcome(passages=("The tower was built in 1921.",)))
        with _desk(Path(folder), source) as runs:
            last = _asked(runs).id
            for turn in range(1, TURNS[-1] + 1):
                begun: list[Run] = []
                cost = _cost(lambda: begun.append(_asked(runs, last)))  # noqa: B023
                last = begun[0].id
                around = next((n for n in TURNS if 0 <= n - turn < SAMPLES), 0)
                if around:
                    costs[around] = min(costs.get(around, cost), cost)
    return costs


class _Rich(ScriptedSource):
    """Finds so many sources in each search."""

    def __init__(self, number: int) -> None:
        super().__init__("web")
        self._number = number

    def _evidence(self, task: Task, passages: Sequence[str]) -> tuple[Evidence, ...]:
        return tuple(self._one(task, n) for n in range(self._number))

    def _one(self, task: Task, n: int) -> Evidence:
        url = f"https://example.org/{fingerprint(task.query)}/{n}"
        text = f"Note {n} on {task.query}: the tower has {n} steps and was built in {1000 + n}."
        return Evidence(
            id=evidence_id("web", url, url), kind="web", title=f"Note {n}", publisher="example.org",
            url=url, locator=url, language="en", retrieved=RETRIEVED,
            passages=(Passage(id=fingerprint(url, text), text=text, end=len(text)),),
        )  # fmt: skip


def _found(number: int) -> tuple[int, Cost]:
    with tempfile.TemporaryDirectory() as folder, _desk(Path(folder), _Rich(number)) as runs:
        options = RunOptions(queries=1, loops=1, sources=("web",))
        reasoner: ScriptedReasoner = runs.resources.reasoner  # type: ignore[assignment]
        reasoner._queries = ("a",)
        return number, _often(lambda: _ended(runs, runs.start("How old is it?", options=options)))


# Documents and history


def _library() -> Iterator[Figure]:
    built: dict[int, Cost] = {}
    searched: dict[int, Cost] = {}
    rates: list[tuple[float, float]] = []
    for number in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            library = Library(Path(folder) / "library.db")
            library.set_sample_enabled(False)
            built[number] = _cost(lambda: list(library.add_files(texts(number))))  # noqa: B023
            searched[number] = _often(lambda: list(map(library.search, QUESTIONS)))  # noqa: B023
            library.close()
            rates.append(_rates(number, built[number][0], Path(folder)))
    yield from _row(
        "index of documents", "documents", built, "Each document is read and cut by itself."
    )  # fmt: skip
    own, bare = rates[-1]
    note = f"FTS5's bare insert of the same sections: {bare:,.0f} a second, {bare / own:.1f} times"
    yield Figure("index, sections a second of the processor", own, note=note)
    yield from _row(
        f"{len(QUESTIONS)} searches", "documents", searched,
        "FTS5 ranks every passage that has one of the words, here a share of all.",
    )  # fmt: skip


def _rates(number: int, seconds: float, folder: Path) -> tuple[float, float]:
    """Sections that a second of the processor takes in: our index, and FTS5's insert of bare texts."""
    sections: list[tuple[str]] = []
    for name, data in texts(number):
        document = read_document(name, data)
        sections += [(document.text[s.start : s.end],) for s in document.sections]
    with closing(sqlite3.connect(folder / "bare.db")) as bare:
        bare.execute("create virtual table words using fts5(text)")
        started = time.process_time()
        bare.executemany("insert into words values (?)", sections)
        bare.commit()
        taken = time.process_time() - started
    return len(sections) / seconds, len(sections) / taken


def _history() -> Iterator[Figure]:
    pages: dict[int, Cost] = {}
    words: dict[int, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        store, filled = Store(Path(folder) / "runs.db"), 0
        for number in HISTORY:
            for n in range(filled, number):
                add_run(store, n)
            filled = number
            page = store.history.page
            pages[number] = _often(lambda: page("local", HistoryQuery(), 20, 0))  # noqa: B023
            words[number] = _often(lambda: page("local", HistoryQuery(words="敦煌"), 20, 0))  # noqa: B023
        size = (Path(folder) / "runs.db").stat().st_size / 2**20
        store.close()
    yield from _row(
        "a page of the history", "runs", pages,
        "All conversations are counted and sorted for a page of twenty.",
    )  # fmt: skip
    yield from _row(
        "the history by a word", "runs", words, "A word is looked for in the text of each run."
    )  # fmt: skip
    yield Figure("room on the disk of a run", size / HISTORY[-1] * 1024, "KB")
