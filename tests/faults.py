"""What becomes of a run when its model service fails: every fault at every stage of a real run, over
every wire that a model server speaks.

`python -m tests.faults [WIRE ...]` runs the matrix of some wires, or of all, against fake servers on
this machine and prints it; the exit code is 1 if a cell does not hold. A cell holds if the run ends in
time with an answer that names what failed, or fails with a reason in words, quotes what was found, and
is done once it is resumed; if no search is lost, repeated or invented; if every citation resolves; and
if the key is nowhere, nor anything that was sent on to another server.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.table import Table

from research.application import Application
from research.citations.numbering import check_numbering, number_report_answer
from research.core import settings
from research.core.records import Answer, Failure, Finding, Report, Task
from tests.fakes import until
from tests.servers import Call, Server
from tests.servers.anthropic import FakeAnthropic
from tests.servers.brain import THOUGHT, Ask, Brain
from tests.servers.detour import Detour
from tests.servers.gemini import FakeGemini
from tests.servers.ollama import FakeOllama
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeSearXNG

KEY = "sentinel-key-0123456789"
WORKERS = 2
DEADLINE = 50.0  # seconds that a run may take, timeouts and attempts included
PAUSE = 1.0  # seconds of a pause that is longer than the settings allow
SETTINGS = {
    "SIGHTLINE_MODEL_TIMEOUT": "3",
    "SIGHTLINE_SEARCH_TIMEOUT": "10",
    "SIGHTLINE_RETRY_WAIT": "0.6",
    "SIGHTLINE_CACHE_HOURS": "0",  # no run searches for another
}
_FOUND = [
    {
        "title": f"Guide {n}", "url": f"https://{name}.example/guide",
        "content": f"Guide {n} tells that it was opened in {1925 + n} and is seen by many.",
        "engines": ["bing"], "score": 1.0,
    }
    for n, name in enumerate(("north", "south"))
]  # fmt: skip


@dataclass(frozen=True)
class Wire:
    """What a model server speaks, and the settings of its address, its key and, where it is not Gemini,
    of its models, which do not search: SearXNG does beside them, and they sum up what it finds."""

    name: str
    server: type[Server]
    address: str
    key: str = ""

    @property
    def searches(self) -> bool:
        return self.name == "gemini"

    @property
    def stage(self) -> str:
        """What a model does for a search."""
        return "search" if self.searches else "summarise"

    def settings(self, server: Server, web: str) -> dict[str, str]:
        env = SETTINGS | {self.address: server.base_url} | ({self.key: KEY} if self.key else {})
        if self.searches:
            return env
        light, able, reads = (f"{self.name}:{size}" for size in ("light", "able", "reads"))
        return env | {
            "SEARXNG_URL": web, "QUERY_GENERATOR_MODEL": light, "REFLECTION_MODEL": light,
            "ANSWER_MODEL": able, "WEB_SEARCH_MODEL": reads, "SIGHTLINE_MODEL_ATTEMPTS": "2",
        }  # fmt: skip


WIRES = (
    Wire("gemini", FakeGemini, "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    Wire("openai", FakeOpenAI, "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    Wire("ollama", FakeOllama, "OLLAMA_BASE_URL"),
    Wire("anthropic", FakeAnthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
)


@dataclass(frozen=True)
class Column:
    """Where a fault strikes: requests of a stage whose prompt has the mark."""

    name: str
    stage: str
    question: str
    mark: str

    def strikes(self, task: Task) -> bool:
        """Whether the search of a task is struck."""
        return self.stage == "any" or (self.stage == "search" and self.mark in task.query)


COLUMNS = (
    Column("route", "plan", "Hello!", "Hello"),
    Column("plan", "plan", "How old is the Silver Tower?", "Silver"),
    Column("search", "search", "雷峰塔是什么时候建成的？", "雷峰塔是什么时候建成的 数据"),
    Column("reflect", "reflect", "Who built the Golden Gate?", "Golden"),
    Column("answer", "write", "颐和园的门票多少钱？", "颐和园"),
    Column("everything", "any", "Who built the Iron Bridge?", "Iron"),
)
SEARCHES = ("search", "everything")
_EVERY = tuple(column.name for column in COLUMNS)
_JSON = ("route", "plan", "reflect")


@dataclass(frozen=True)
class Fault:
    """A fault, and the reason that it gives for JSON, for a search and for the answer.

    No reason means that it does no harm there. `told` is what the finding of a struck search says,
    `rests` how many seconds the service wants to be left alone, `gone` that there is no server, and
    `teaches` that the desk asks in another way from then on. `differs` is what is otherwise over a wire,
    by its name. A wire has those faults that its server has; some are of `wires` alone.
    """

    name: str
    code: str
    json: str = ""
    search: str = ""
    write: str = ""
    hint: str = ""
    told: str = ""
    times: int | None = None
    rests: float = 0.0
    gone: bool = False
    teaches: bool = False
    columns: tuple[str, ...] = _EVERY
    wires: tuple[str, ...] = tuple(wire.name for wire in WIRES)
    differs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def over(self, wire: Wire) -> Fault | None:
        """The fault as it is over a wire; None where there is none."""
        if wire.name not in self.wires:
            return None
        here = replace(self, **self.differs.get(wire.name, {}))
        kind = here.code.partition(":")[0]
        return here if here.gone or kind in wire.server.faults else None

    def expected(self, column: Column, wire: Wire) -> dict[str, str]:
        """The stages that an answer has to name as failed, each with the reason."""
        lost = bool(self.search) and wire.searches  # nothing is found
        out = dict.fromkeys(self._json(column, lost), self.json)
        if column.name in SEARCHES and not self._spent(column):
            out[wire.stage] = self.search
        if column.name == "answer" or (column.name == "everything" and not lost):
            out["write"] = "" if self._spent(column) else self.write
        return {stage: reason for stage, reason in out.items() if reason}

    def _json(self, column: Column, lost: bool) -> tuple[str, ...]:
        """The stages that get no JSON. Nothing found is not reflected on."""
        if column.name == "everything":
            return ("plan",) if lost or self._spent(column) else ("plan", "reflect")
        if column.stage == "plan":  # the same model reflects, within the pause
            return ("plan", "reflect") if self.rests else ("plan",)
        return ("reflect",) if column.name == "reflect" else ()

    def _spent(self, column: Column) -> bool:
        """Whether the fault has struck the plan, and strikes no more."""
        return bool(self.times) and column.name == "everything"


def _all(name: str, code: str, reason: str, hint: str = "", **more: Any) -> Fault:
    return Fault(name, code, reason, reason, reason, hint, **more)


def _once(name: str, code: str) -> Fault:
    return Fault(f"{name}, once", code, times=1)


def _long(wire: str, *wordings: str) -> list[Fault]:
    """A prompt that is longer than a server takes, in its words."""
    return [
        _all(f"too long, {wording}", f"toolong:{wording}", "refused", "context", wires=(wire,)) for wording in wordings
    ]


def _refusing(name: str, code: str) -> Fault:
    """A parameter is refused until the desk asks without it."""
    return Fault(name, code, teaches=True, columns=("everything",))


def _sources(name: str, code: str, told: str = "") -> Fault:
    return Fault(name, code, told=told, columns=SEARCHES)


_LOOSE = {
    "null for nothing": "nulls", "JSON written loosely": "loosejson", "a list around it": "listed",
    "an object around it": "boxed", "names in camel case": "camel",
}  # fmt: skip
_ODD = {
    "comments in a stream": "comments", "an event that is null": "nullevent", "a mark at the end": "done",
    "a mark instead of an end": "unended", "a stream without an end": "endless",
    "a delta that is null": "nodelta", "all once more in each chunk": "cumulative",
    "all once more at the end": "repeated",
}  # fmt: skip
_UNPLACED = "could not be placed"
FAULTS = (
    _all("hang", "hang", "timeout"),
    _all("connection reset", "reset", "unreachable"),
    _all("refused", "", "unreachable", gone=True, columns=("everything",)),
    _all("502 with HTML", "html502", "unavailable"),
    _all("200 with HTML", "html200", "malformed"),
    _all("half a body", "badjson", "malformed"),
    _all("400, bad key", "400key", "refused", "key"),
    _all("400, location", "400location", "refused", "location"),
    _all("400, too long", "400context", "refused", "context"),
    *_long("openai", "openai", "dashscope", "moonshot", "zhipu", "vllm", "llama.cpp"),
    *_long("ollama", "ollama", "ollama cloud"),
    *_long("anthropic", "anthropic", "anthropic bytes"),
    _all("400 that repeats the key", "echokey", "refused"),
    *(_all(f"{n}, to another host", f"redirect:{n}", "redirected") for n in (301, 302, 307, 308)),
    _refusing("400, schema refused", "400schema"),
    _refusing("400, format refused by a code", "1210form"),
    _refusing("422, format refused in detail", "422form"),
    _refusing("400, count of a stream refused", "400usage"),
    _refusing("422, count of a stream refused", "422usage"),
    _all("403", "403", "refused", differs={"openai": {"hint": "location"}}),
    _all("404, retired model", "404", "refused", "model"),
    _once("429 with a short pause", "429:0.4"),
    _all("429 with a long pause", f"429:{PAUSE:g}", "quota", rests=PAUSE),
    _all("429 without a pause", "429bare", "quota"),
    _all("429 of the day", "429day", "quota", "day"),
    _all("429 without billing", "429free", "quota", "billing"),
    _all("429, no balance", "429balance", "quota", "billing"),
    _all("429, account suspended", "429suspended", "quota", "billing"),
    _all("402, no balance", "402", "quota", "billing"),
    _all("400, no balance", "400billing", "quota", "billing"),
    _all("429, tokens of a minute", "429tokens", "quota"),
    _all("529, overloaded", "529", "unavailable"),
    _all("500", "500", "unavailable"),
    _all("503", "503", "unavailable"),
    _all("empty body", "empty", "malformed"),
    _all("no candidates", "emptylist", "malformed"),
    _all("no parts", "noparts", "malformed"),
    _all("no content", "nullcontent", "malformed"),
    _all("nothing said", "nothing", "malformed"),
    _all("model is loaded", "load", "malformed"),
    # OpenAI refuses so where JSON is wanted, else in the text.
    _all("refusal", "refusal", "blocked", differs={"openai": {"columns": _JSON}}),
    _all("prompt blocked", "promptblock", "blocked"),
    _all("SAFETY", "safety", "blocked"),
    _all("RECITATION", "recitation", "blocked"),
    Fault("MAX_TOKENS", "maxtokens", "cut off", "", "cut off", told="cut off"),
    _all("MAX_TOKENS, no text", "maxtokensempty", "cut off"),
    Fault("half an answer", "truncated", "malformed", told=_UNPLACED),
    Fault("wrong types", "wrongtypes", "malformed"),
    Fault("other fields", "wrongjson", "malformed", told=_UNPLACED),
    Fault("fenced", "fenced"),
    Fault("fenced after a courtesy", "courtesy"),
    Fault("thoughts", "thoughts", differs={"gemini": {"columns": (*_JSON, "answer")}}),
    Fault(
        "thoughts with no beginning",
        "lonethink",
        differs={"gemini": {"columns": (*_JSON, "answer")}},
    ),
    Fault("byte order mark", "bom"),
    *(Fault(name, code, columns=_JSON) for name, code in _LOOSE.items()),
    Fault("channels", "harmony", differs={"gemini": {"columns": (*_JSON, "answer")}}),
    *(Fault(name, code, columns=("answer",)) for name, code in _ODD.items()),
    Fault("no usage", "uncounted"),
    Fault("prose", "prose", "malformed", told=_UNPLACED),
    _all("cut by a reset", "midreset", "unreachable"),
    _all("cut by a close", "midclose", "unreachable"),
    Fault(
        "cut by an end",
        "midend",
        "malformed",
        "malformed",
        "unreachable",
        differs={"ollama": {"json": "unreachable", "search": "unreachable"}},  # all are streams
    ),
    _all("cut by an error", "miderror", "unavailable"),
    _all("cut by a hang", "midhang", "timeout"),
    _all("cut by bad JSON", "midbadjson", "malformed"),
    _once("connection reset", "reset"),
    _once("503", "503"),
    _once("no parts", "noparts"),
    _once("cut by a reset", "midreset"),
    Fault("half an answer, once", "truncated", times=1, told=_UNPLACED),
    _once("wrong types", "wrongtypes"),
    _sources("no metadata", "gm_none", "no sources"),
    _sources("empty metadata", "gm_empty", "no sources"),
    _sources("empty members", "gm_nulls", "no sources"),
    _sources("queries without chunks", "gm_queries_only", "no sources"),
    _sources("chunks without supports", "gm_chunks_only", "no sentence is attributed"),
    _sources("empty chunks", "gm_emptychunks", "no sources"),
    _sources("bad indices", "gm_badindex", "no sentence is attributed"),
    _sources("drifted offsets", "gm_drift"),
)


@dataclass(frozen=True)
class Cell:
    """How one run ended, and what about it does not hold."""

    column: str
    outcome: str
    problems: tuple[str, ...] = ()


class Remembering(Brain):
    """Keeps what was said: no other query may be searched."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[str] = []

    def reply(self, ask: Ask, fault: str = "") -> str:
        text = super().reply(ask, fault)
        self.replies.append(text)
        return text

    def said(self, query: str) -> bool:
        quoted = (json.dumps(query, ensure_ascii=False), repr(query))
        return any(q in reply for reply in tuple(self.replies) for q in quoted)


class _Ear(logging.Handler):
    """Hears what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(f"{record.name}: {self.format(record)}")

    def problems(self) -> Iterator[str]:
        for line in tuple(self.heard):
            if KEY in line:
                yield "the key is in the log"
            if line.startswith("asyncio:"):
                yield line


class Bench:
    """A desk, the fake model server that it asks, and who searches the web beside that."""

    def __init__(self, wire: Wire, folder: Path) -> None:
        self._wire, self._folder = wire, folder
        self._stack = ExitStack()
        self._server = wire.server().__enter__()
        self._web = self._stack.enter_context(FakeSearXNG(results=_FOUND))
        self._detour = self._stack.enter_context(Detour())
        self._server.elsewhere = self._detour.target
        self._desk = self._opened()
        self._brain = Remembering()
        self._ear = _Ear()
        logging.getLogger().addHandler(self._ear)

    def _opened(self) -> Application:
        """A desk that knows nothing yet of its servers."""
        env = {**self._wire.settings(self._server, self._web.base_url), "SIGHTLINE_STARTS_PER_MINUTE": "0"}
        desk = Application(settings.load_settings(env, data_dir=Path(tempfile.mkdtemp(dir=self._folder))))
        desk.check_connections()  # makes the clients, which takes a second
        return desk

    def _reopen(self) -> None:
        self._desk.close()
        self._desk = self._opened()

    def close(self) -> None:
        logging.getLogger().removeHandler(self._ear)
        self._desk.close()
        self._server.close()
        self._stack.close()

    def row(self, fault: Fault) -> list[Cell]:
        """A fault at each of its stages at once, each in a run of its own."""
        self._server.reset()
        self._server.brain = self._brain = Remembering()
        self._web.log.clear()
        self._ear.heard.clear()
        columns = [column for column in COLUMNS if column.name in fault.columns]
        if fault.rests:  # a pause holds for all runs
            return [self._alone(fault, column) for column in columns]
        if fault.gone:
            self._server.close()
        try:
            ids = [self._struck(fault, column) for column in columns]
            return [self._judged(fault, c, run) for c, run in zip(columns, ids, strict=True)]
        finally:
            if fault.gone and not self._server.up:
                self._server.__enter__()
            if fault.teaches:
                self._reopen()

    def _alone(self, fault: Fault, column: Column) -> Cell:
        cell = self._judged(fault, column, self._struck(fault, column))
        self._rest(fault)
        return cell

    def _struck(self, fault: Fault, column: Column) -> str:
        """The id of a run that meets the fault."""
        if not fault.gone:
            self._server.fail(self._stage(column), fault.code, times=fault.times, matching=column.mark)
        return self._desk.runs.start(column.question).id

    def _stage(self, column: Column) -> str:
        return self._wire.stage if column.stage == "search" else column.stage

    def _judged(self, fault: Fault, column: Column, run: str) -> Cell:
        report = self._over(run)
        if report is None or report.answer is None:
            return Cell(column.name, "nothing", ("the run did not end with an answer",))
        problems = [*self._hit(fault, column), *_told(report, fault, column, self._wire)]
        problems += self._kept(report, fault, column)
        problems += _sound(report)
        words: list[str] = [report.run.status, *sorted({f.reason for f in report.answer.failures})]
        if report.run.status == "failed":
            problems += [*_stands_in(report, report.answer), *self._resumed(report, fault, column)]
            words.append("resumed")
        notes: set[str] = {f.message for f in report.findings if column.strikes(f.task) and not f.reason}
        words += sorted(notes - {""}) if len(words) == 1 else []
        problems += [*self._keyless(run), *self._ear.problems()]
        return Cell(column.name, " · ".join(words), tuple(problems))

    def _hit(self, fault: Fault, column: Column) -> Iterator[str]:
        """The fault has struck, and what was to be sent on has reached nobody."""
        if not fault.gone and not self._calls(fault, column):
            yield "nothing was struck"
        if self._detour.caught:
            yield "a request was sent on to another server"

    def _calls(self, fault: Fault, column: Column) -> list[Call]:
        log = tuple(self._server.log)
        return [call for call in log if call.fault == fault.code and column.mark in call.prompt]

    def _over(self, run: str) -> Report | None:
        """The report of a run that has ended; none if it goes on for too long."""
        try:
            until(lambda: not self._active(run), DEADLINE)
        except AssertionError:
            return None
        return self._desk.runs.report(run)

    def _active(self, run: str) -> bool:
        found = self._desk.runs.get_run(run)
        return found is None or found.is_active

    def _keyless(self, run: str) -> Iterator[str]:
        report = self._desk.runs.report(run)
        told = [event.model_dump_json() for event in self._desk.runs.events(run)]
        if report and KEY in report.model_dump_json():
            yield "the key is in the report"
        if any(KEY in line for line in told):
            yield "the key is in the events"

    def _kept(self, report: Report, fault: Fault, column: Column) -> Iterator[str]:
        """Every task is one that was proposed, and has one finding; only the struck ones failed."""
        known = Counter(finding.task.key for finding in report.findings)
        for task in _tasks(report):
            if task.query != report.run.question and not self._brain.said(task.query):
                yield f"invented: {task.query}"
            if known[task.key] != 1:
                yield f"{known[task.key]} findings for {task.query}"
        sound = [f for f in report.findings if f.reason is None and f.passage_count]
        for finding in report.findings:
            struck = column.strikes(finding.task) or (fault.rests and column.name in SEARCHES)
            if struck:
                own = _struck if self._wire.searches else _unsummarised
                yield from own(finding, fault, column, sound)
            elif finding not in sound:
                yield f"lost: {finding.task.query} ({finding.reason})"
            elif (times := self._searched(finding.task.query)) != 1:
                yield f"searched {times} times: {finding.task.query}"

    def _searched(self, query: str) -> int:
        if not self._wire.searches:
            return sum(asked.query["q"] == query for asked in self._web.log)
        return sum(c.stage == "search" and query in c.prompt for c in self._server.log)

    def _resumed(self, before: Report, fault: Fault, column: Column) -> Iterator[str]:
        """Going on writes the answer and searches nothing again."""
        self._server.fail(self._stage(column), "ok", matching=column.mark)
        if fault.gone:
            self._server.__enter__()
        self._rest(fault)
        calls = len(self._server.log)
        self._desk.runs.resume(before.run.id)
        after = self._over(before.run.id)
        if after is None or after.answer is None or after.run.status != "done":
            yield f"resumed: {after.run.status if after else 'no end'}"
            return
        later = [call for call in self._server.log[calls:] if column.mark in call.prompt]
        if others := [call.stage for call in later if call.stage != "write"]:
            yield f"asked again when resumed: {', '.join(others)}"
        if lost := [f.task.query for f in before.findings if f not in after.findings]:
            yield f"lost when resumed: {', '.join(lost)}"
        if after.answer.placeholder or any(f.stage == "write" for f in after.answer.failures):
            yield "resumed, but still not written"
        yield from _sound(after)

    def _rest(self, fault: Fault) -> None:
        """Lets the pause pass that the service has asked for. It counts from when the client has read
        the reply, which on a busy machine is later than the server has sent it."""
        ends = [c.ended for c in self._server.log if c.fault == fault.code and c.ended]
        until(lambda: time.monotonic() > max(ends, default=0) + 2 * fault.rests)


# What has to hold


def _told(report: Report, fault: Fault, column: Column, wire: Wire) -> Iterator[str]:
    """The answer names what failed, each with its reason, and nothing else."""
    assert report.answer
    expected = fault.expected(column, wire)
    named = {failure.stage: failure.reason for failure in report.answer.failures}
    if fault.rests and "reflect" in expected and "reflect" not in named:
        del expected["reflect"]  # on a busy machine the pause is over by then
    if named != expected:
        yield f"named {named}, expected {expected}"
    if fault.hint and any(failure.hint != fault.hint for failure in report.answer.failures):
        yield f"no hint {fault.hint}"
    yield from (f"{f.stage}: no words" for f in report.answer.failures if not _worded(f))
    asked = {task.query for task in report.plan.tasks} if report.plan else set()
    if "plan" in expected and asked != {report.run.question}:
        yield "without a plan, the question itself is to be searched"
    failed = "write" in expected and fault.code != "maxtokens"
    if report.run.status != ("failed" if failed else "done"):
        yield f"the run is {report.run.status}"
    if report.answer.placeholder != failed or not report.answer.spans:
        yield "the answer is not what the run says"
    if THOUGHT in report.model_dump_json():
        yield "the model's thoughts are in the report"
    if fault.code == "uncounted" and not any(used.estimated for used in report.usage):
        yield "what was not counted is not marked as estimated"


def _worded(failure: Failure) -> bool:
    message = failure.message or failure.reason
    return len(message) > 5 and not re.search("</?[a-z]|Traceback", message)


def _stands_in(report: Report, answer: Answer) -> Iterator[str]:
    """A run that failed says why, can be resumed, and quotes what was found."""
    reason = next((f.reason for f in answer.failures if f.stage == "write"), "?")
    if not report.run.error.startswith(f"{reason}: "):
        yield f"the error is {report.run.error!r}"
    if not report.run.is_resumable:
        yield "it cannot be resumed"
    if not answer.cited_span_count:
        yield "nothing is quoted"


def _sound(report: Report) -> Iterator[str]:
    """Every citation resolves."""
    found = number_report_answer(report)
    assert found
    yield from check_numbering(found)
    for item in found.spans:
        if item.span.references and not item.numbers:
            yield f"cites nothing that is there: {item.span.text[:40]!r}"


def _struck(finding: Finding, fault: Fault, column: Column, sound: Sequence[Finding]) -> Iterator[str]:
    """A struck search says what happened to it; where the fault does no harm, it lacks nothing."""
    query = finding.task.query
    harmed = fault.search and not fault.times
    if harmed and finding.reason != fault.search and not (fault.rests and finding in sound):
        yield f"{query}: {finding.reason} instead of {fault.search}"
    if not harmed and finding.reason not in (None, "empty"):
        yield f"{query}: {finding.reason}"
    alone = column.name == "search"
    if fault.told and alone and fault.told not in finding.message:
        yield f"{query}: {finding.message!r} instead of {fault.told!r}"
    if not fault.told and not harmed and finding.passage_count != max(s.passage_count for s in sound):
        yield f"{query}: {finding.passage_count} passages"


def _unsummarised(finding: Finding, fault: Fault, column: Column, sound: Sequence[Finding]) -> Iterator[str]:
    """What was found stays, and a summary that is lacking says why."""
    query, harmed = finding.task.query, fault.search and not fault.times
    if finding.reason or not finding.passage_count:
        yield f"{query}: {finding.reason}, {finding.passage_count} passages"
    named = {failure.reason for failure in finding.failures if failure.stage == "summarise"}
    if named != ({fault.search} if harmed else set()) and not (fault.rests and not named):
        yield f"{query}: {named} instead of {fault.search or 'a summary'}"
    if fault.code == "maxtokens" and any("[@" in span.text for span in finding.summary):
        yield f"{query}: half a handle is shown"
    if bool(finding.summary) == bool(named):
        yield f"{query}: {len(finding.summary)} spans of a summary"


def _tasks(report: Report) -> list[Task]:
    follow_ups = [task for reflection in report.reflections for task in reflection.follow_ups]
    return [*(report.plan.tasks if report.plan else ()), *follow_ups]


# The matrix


class Matrix:
    """Rows that run on some benches at once; in a `with` block."""

    def __init__(self, workers: int = WORKERS) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._own = threading.local()
        self._benches: list[Bench] = []
        self._pool = ThreadPoolExecutor(workers, "matrix")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        for bench in self._benches:
            bench.close()
        self._folder.cleanup()
        gc.collect()  # what hundreds of errors hold on to would be complained of at the very end

    def row(self, wire: Wire, fault: Fault) -> Future[list[Cell]]:
        return self._pool.submit(self._run, wire, fault)

    def _run(self, wire: Wire, fault: Fault) -> list[Cell]:
        own: dict[str, Bench] = self._own.__dict__
        if wire.name not in own:
            folder = Path(self._folder.name) / f"{threading.current_thread().name}-{wire.name}"
            folder.mkdir()
            own[wire.name] = Bench(wire, folder)
            self._benches.append(own[wire.name])
        return own[wire.name].row(fault)


def rows(wire: Wire, columns: Sequence[str] = _EVERY) -> list[Fault]:
    """The faults over a wire that strike in some columns, and strike in these alone."""
    found = [here for fault in FAULTS if (here := fault.over(wire))]
    chosen = [(fault, tuple(c for c in fault.columns if c in columns)) for fault in found]
    return [replace(fault, columns=own) for fault, own in chosen if own]


def main() -> int:
    """Prints the matrix of each wire; 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("wires", nargs="*", metavar="WIRE", help=", ".join(w.name for w in WIRES))
    chosen = parser.parse_args().wires or [wire.name for wire in WIRES]
    if unknown := set(chosen) - {wire.name for wire in WIRES}:
        parser.error(f"there is no wire {', '.join(sorted(unknown))}")
    with Matrix() as matrix:
        held = [_printed(matrix, wire) for wire in WIRES if wire.name in chosen]
    return 0 if all(held) else 1


def _printed(matrix: Matrix, wire: Wire) -> bool:
    """Prints the matrix of a wire; whether it holds."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("fault", *(column.name for column in COLUMNS), title=f"{wire.name}: faults × stages")
    start, broken, number = time.monotonic(), [], 0
    running = [(fault, matrix.row(wire, fault)) for fault in rows(wire)]
    for fault, row in running:
        cells = {cell.column: cell for cell in row.result()}
        table.add_row(fault.name, *(_shown(cells.get(column.name)) for column in COLUMNS))
        broken += [(fault, cell) for cell in cells.values() if cell.problems]
        number += len(cells)
    console.print(table)
    for fault, cell in broken:
        console.print(f"[red]{fault.name}, {cell.column}:", "; ".join(cell.problems), markup=True)
    seconds = time.monotonic() - start
    console.print(f"{wire.name}: {number - len(broken)} of {number} cells hold, {len(running)} rows, {seconds:.0f} s")
    return not broken


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return f"[red]{cell.outcome}" if cell.problems else cell.outcome


if __name__ == "__main__":
    sys.exit(main())
