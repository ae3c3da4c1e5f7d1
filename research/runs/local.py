"""Runs in this process: one asyncio loop in one daemon thread, checkpoints and results in SQLite.

A run is a LangGraph thread of its own. It goes on whoever looks at it: readers follow its events
from the store, at any time, from any event, in any process. A stopped or killed run is resumed from
its last checkpoint, and its finished searches come from the store.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from research import records, tracing
from research.graph import RECURSION_LIMIT, Context, build
from research.models.prices import priced
from research.reasoners import Reasoner
from research.records import (
    Draft,
    Event,
    Options,
    Plan,
    Reflection,
    Report,
    Run,
    RunStatus,
    Usage,
    silent,
)
from research.runs.engine import Engine
from research.runs.ledger import RunLedger
from research.runs.memory import before
from research.runs.store import Store
from research.settings import Settings
from research.sources import Source
from research.stages.answer import Unwritten
from research.stages.budget import Meter, worked
from research.stages.plan import carried_on, make_plan, own_words
from research.stages.question import understand
from research.storage import StoreError, explained

log = logging.getLogger(__name__)

STORE = "runs.db"
FLUSH = 0.02  # seconds that events are collected before they are written together
FLUSH_TEXT = 0.1  # the same for a text that is being written
MAX_LOOPS = 10
WATCH = 0.5  # seconds between looks at what other processes ask for
_T = TypeVar("_T")
_RECORDS = [
    ("research.records", name)
    for name, value in vars(records).items()
    if isinstance(value, type) and issubclass(value, records.Record)
]


@dataclass
class _Live:
    """A run that this process is working on."""

    run: Run
    task: asyncio.Task[None] | None = None
    trace: tracing.Trace = field(default_factory=tracing.Trace)
    buffer: list[tuple[datetime, str, dict[str, Any]]] = field(default_factory=list)
    resumed: bool = False
    stopped: bool = False
    flush: asyncio.TimerHandle | None = None
    meter: Meter | None = None
    write: bool = False  # with what there is
    waiting: bool = False  # for its plan to be approved
    plan: Plan | None = None
    reflections: dict[int, Reflection] = field(default_factory=dict)


class LocalRuns:
    """Starts, follows, stops, resumes and lists runs. Every method may be called from any thread."""

    def __init__(
        self,
        settings: Settings,
        reasoner: Reasoner,
        sources: Mapping[str, Source],
        usual: Callable[[], Options] | None = None,
        closing: Callable[[], Coroutine[Any, Any, None]] | None = None,
        store: Store | None = None,
        traces: tracing.Tracing | None = None,
    ) -> None:
        """Opens the store, unless it is given an open one, and starts the loop.

        `usual` tells the limits of a run that brings none; `closing` is awaited on the loop at the
        end, for what the reasoner and the sources hold open there. What `traces` has not sent yet
        is sent at the end.

        Raises:
            StoreError: the data folder cannot be used.
        """
        folder = settings.data_dir
        self._usual = usual or (lambda: settings.options)
        self._closing = closing
        self._traces = traces or tracing.Tracing()
        self._settings, self._reasoner, self._sources = settings, reasoner, dict(sources)
        self.store = store or Store(folder / STORE)
        self._engine = Engine(folder / "engines")
        self._live: dict[str, _Live] = {}
        self._unsaved: dict[str, tuple[_Live, RunStatus, str]] = {}
        self._cleaning: set[asyncio.Task[None]] = set()
        self._news = threading.Condition()
        self._loop = _event_loop()
        self._thread = threading.Thread(target=self._work, name="sightline-runs", daemon=True)
        self._thread.start()
        self._watcher: asyncio.Task[None] | None = None
        try:
            self.do(self._open(folder / "checkpoints.db"))
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise explained(error, folder / "checkpoints.db") from error
        self._mark_interrupted()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def begin(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Starts something on the loop of the runs and does not wait; its failure is logged."""

        async def guarded() -> None:
            try:
                await coroutine
            except Exception:
                log.exception("a task in the background failed")

        def start() -> None:
            self._cleaning.add(task := self._loop.create_task(guarded()))
            task.add_done_callback(self._cleaning.discard)

        self._loop.call_soon_threadsafe(start)

    def do(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs something on the loop of the runs, where their clients live, and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _open(self, path: Path) -> None:
        serde = JsonPlusSerializer(allowed_msgpack_modules=_RECORDS)
        self._checkpoints = await aiosqlite.connect(path, timeout=30)
        self._saver = AsyncSqliteSaver(self._checkpoints, serde=serde)
        await self._saver.setup()
        # A power failure may cost the last steps of the graph; what they found is in the store.
        await self._checkpoints.execute("pragma synchronous=normal")
        self._graph = build(self._sources).compile(checkpointer=self._saver)
        self._watcher = self._loop.create_task(self._watch())

    # The interface

    def start(
        self,
        question: str,
        *,
        options: Options | None = None,
        owner: str = "local",
        plan: Plan | None = None,
        based_on: str = "",
        follows: str = "",
        run_id: str = "",
    ) -> Run:
        """Starts a run and returns at once.

        `plan` replaces planning; searches that `based_on` (a run of the same owner) has finished are
        reused. A question that `follows` a run of the same owner continues its conversation, and knows
        its answer. A `run_id` that exists already starts nothing: that run is returned.

        Raises:
            QuestionError: the question cannot be researched.
            ValueError: there is no such source, or the run id is taken.
            StoreError: the run could not be stored; nothing was started.
        """
        understand(question)
        options = options or self._usual()
        self._hold(options)
        if run_id and (known := self.get(run_id, owner=owner)):
            return known
        earlier = self.get(based_on, owner=owner) if based_on else None
        parent = self.get(follows, owner=owner) if follows else None
        if earlier and not parent and earlier.follows:  # the same turn once more
            parent = self.get(earlier.follows, owner=owner)
        kin = parent or earlier
        run = Run(
            id=run_id or uuid.uuid4().hex,
            conversation=kin.conversation if kin else uuid.uuid4().hex,
            owner=owner,
            question=question.strip(),
            options=options,
            status="queued",
            created=datetime.now(UTC),
            based_on=earlier.id if earlier else "",
            follows=parent.id if parent else "",
        )
        if not self.store.add(run, plan if plan and plan.tasks else None, self._engine.id):
            if known := self.get(run.id, owner=owner):
                return known
            raise ValueError(
                f"The run id {run.id!r} cannot be used; leave it out to get a new one."
            )
        self._spawn(run)
        return run

    def _hold(self, options: Options) -> None:
        if unknown := [name for name in options.sources if name not in self._sources]:
            known = ", ".join(self._sources)
            raise ValueError(f"There is no source {unknown[0]!r}; there are: {known}.")

    def approve(
        self,
        run_id: str,
        *,
        plan: Plan | None = None,
        options: Options | None = None,
        owner: str = "local",
    ) -> Run | None:
        """Goes on with a run that waits, with its plan and its limits or with those given.

        Raises:
            ValueError: there is no such source.
        """
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "waiting":
            return report.run if report else None
        chosen = options or report.run.options
        self._hold(chosen)
        given = plan if plan and plan.tasks else report.plan
        if not self.store.approve(run_id, self._engine.id, given, chosen):
            return self.get(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": "", "options": chosen}
        self._spawn(run := report.run.model_copy(update=update), resumed=True)
        return run

    def plan(
        self,
        question: str,
        *,
        options: Options | None = None,
        follows: str = "",
        owner: str = "local",
    ) -> Plan:
        """The plan that a run of this question would begin with; nothing is searched.

        Raises:
            QuestionError: the question cannot be researched.
        """
        asked, limits = understand(question), options or self._usual()
        if follows and (parent := self.get(follows, owner=owner)):
            run = parent.model_copy(update={"id": "", "follows": parent.id})
            asked = asked.model_copy(update={"before": before(self.store, run)})
        plan = self.do(make_plan(asked, self._reasoner, limits, silent))
        return own_words(asked, limits) if isinstance(plan, Draft) else plan

    def events(self, run_id: str, after: int = 0, *, owner: str = "local") -> list[Event]:
        """The events of a run after number `after` that are there now."""
        return self.store.events(run_id, after) if self.get(run_id, owner=owner) else []

    def follow(self, run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
        """The events of a run as they happen, until it is over. Any number of readers may follow."""
        while True:
            run = self.get(run_id, owner=owner)
            if run is None:
                return
            for event in self.store.events(run_id, after):
                after = event.seq
                yield event
            if not run.active:
                return
            with self._news:
                self._news.wait(WATCH / 2)

    def stop(self, run_id: str, *, write: bool = False, owner: str = "local") -> None:
        """Stops a run, in whichever process it runs. What it has found is kept; with `write`, it
        searches no more and still writes its answer with that."""
        run = self.get(run_id, owner=owner)
        if run is None or not run.active:
            return
        if run_id in self._live:
            act = self._end_searching if write else self._cancel
            self._loop.call_soon_threadsafe(act, run_id)
        elif write:
            self.store.ask_to_write(run_id)
        else:
            self.store.ask_to_stop(run_id)

    def resume(self, run_id: str, *, write: bool = False, owner: str = "local") -> Run | None:
        """Goes on with a stopped, interrupted or failed run. Finished searches are not repeated;
        with `write`, there are no further ones."""
        run = self.get(run_id, owner=owner)
        if run is None or not run.resumable or not self.store.claim(run_id, self._engine.id):
            return run
        run = run.model_copy(update={"status": "queued", "error": "", "finished": None})
        self._spawn(run, resumed=True, write=write)
        return run

    def more(self, run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
        """Looks for what a finished run still lacks: a run of its own, based on it, that begins with
        a judgement of what was found. A run that is not done is returned as it is."""
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "done":
            return report.run if report else None
        run = report.run
        plan = carried_on(report, rounds)
        options = run.options.model_copy(update={"loops": min(1 + rounds, MAX_LOOPS)})
        return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)

    def list(self, *, owner: str = "local", limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        self._mark_interrupted()
        return self.store.runs(owner, limit)

    def get(self, run_id: str, *, owner: str = "local") -> Run | None:
        """A run by id; none of another owner."""
        run = self.store.run(run_id)
        if run is None or run.owner != owner:
            return None
        if run_id in self._unsaved:
            _, status, error = self._unsaved[run_id]
            return run.model_copy(update={"status": status, "error": error})
        if run.active and run_id not in self._live:
            self._mark_interrupted()
            run = self.store.run(run_id)
        return run

    def report(self, run_id: str, *, owner: str = "local") -> Report | None:
        """What a run has to show so far."""
        run = self.get(run_id, owner=owner)
        return self.store.report(run) if run else None

    def forget(self, conversation: str, *, owner: str = "local") -> None:
        """Deletes a conversation: its runs, their evidence, answers and checkpoints. What is going
        on is stopped first."""
        for run in self.store.turns(conversation, owner):
            self.stop(run.id, owner=owner)
            for _ in self.follow(run.id, owner=owner):
                pass
        for run_id in self.store.forget(conversation, owner):
            self.do(self._clean(run_id))

    def close(self) -> None:
        """Interrupts what is going on and stops the loop. Interrupted runs can be resumed."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._loop.close()
        self._engine.close()
        self.store.close()
        self._traces.close()

    async def _close(self) -> None:
        tasks = [live.task for live in self._live.values() if live.task]
        if self._watcher:
            tasks.append(self._watcher)
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        if self._closing:  # what lives on the loop as long as it does ends here
            await self._closing()
        # What finished branches wrote may still be on its way to the checkpoints, in tasks of the
        # graph's own. Closing under them would leave the file locked.
        if rest := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(rest, timeout=5)
        if hasattr(self, "_checkpoints"):
            await self._checkpoints.close()

    # On the loop

    def _spawn(self, run: Run, *, resumed: bool = False, write: bool = False) -> None:
        live = self._live[run.id] = _Live(run, resumed=resumed, write=write)

        def begin() -> None:
            live.trace = self._traces.begin(run, self._engine.id, resumed)
            live.task = self._loop.create_task(self._drive(live))
            # A callback, not `finally`: a task cancelled before its first step never enters its body.
            live.task.add_done_callback(lambda task: self._finish(live, task))

        self._loop.call_soon_threadsafe(begin)

    def _cancel(self, run_id: str) -> None:
        live = self._live.get(run_id)
        if (
            live and live.task and not live.task.cancelling()
        ):  # a second one would cut its end short
            live.stopped = True
            live.task.cancel()

    def _end_searching(self, run_id: str) -> None:
        if live := self._live.get(run_id):
            live.write = True
            if live.meter:
                live.meter.end()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            try:
                for live, status, error in list(self._unsaved.values()):
                    self._write(live, status, error)
                    self._unsaved.pop(live.run.id, None)
                for run_id in self.store.to_stop(self._engine.id) if self._live else ():
                    self._cancel(run_id)
                for run_id in self.store.to_write(self._engine.id) if self._live else ():
                    self._end_searching(run_id)
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)

    async def _drive(self, live: _Live) -> None:
        run = live.run
        config: RunnableConfig = {
            "configurable": {"thread_id": run.id},
            "recursion_limit": RECURSION_LIMIT,
        }
        begun = False
        if live.resumed:
            await self._forget_cut_off(run.id)
            state = await self._graph.aget_state(config)
            if state.values.get("answer") and not state.tasks:  # killed before the end was noted
                await self._keep(run, state.values)
                return
            begun = bool(state.tasks)
            if state.created_at and not begun:  # a step was lost with what should follow it
                await self._saver.adelete_thread(run.id)
        if begun:
            earlier = self.store.report(run)
            live.plan = earlier.plan
            live.reflections = {reflection.round: reflection for reflection in earlier.reflections}
        live.meter = self._meter(live)
        self._emit(live, "status", status="running")
        self._write(live, "running")
        stream = self._graph.astream(
            None if begun else {"asked": run.question},
            config,
            context=self._context(live),
            stream_mode="custom",
            version="v2",
            durability="sync",
        )
        live.meter.begin()
        try:
            async for part in stream:
                chunk: Any = part["data"]
                self._told(live, chunk["kind"], chunk["data"])
        except Unwritten as error:  # what stands in for the answer is kept until it is written
            reflections = list(live.reflections.values())
            self.store.keep(run.id, live.plan, reflections, error.answer)
            raise
        finally:
            live.meter.close()
        state = await self._graph.aget_state(config)
        live.waiting = bool(state.interrupts)
        if live.waiting:
            return
        if begun and not state.values.get("answer"):  # as above: its searches are in the store
            await self._saver.adelete_thread(run.id)
            await self._drive(live)
            return
        await self._keep(run, state.values)

    def _meter(self, live: _Live) -> Meter:
        """The account of a run; one that goes on keeps that of before."""
        run, meter = live.run, Meter(live.run.options)
        if live.resumed:
            earlier, begun = self.store.report(run), self.store.searches(run.id)
            reused = {finding.task.id for finding in earlier.findings if finding.reused}
            started = [row["task"] for row in begun if row["task"] not in reused]
            meter = Meter(run.options, started, earlier.usage, worked(self.store.events(run.id)))
        if live.write:
            meter.end()
        return meter

    def _told(self, live: _Live, kind: str, data: dict[str, Any]) -> None:
        """Passes on what a stage says, and stores what must not be lost."""
        self._emit(live, kind, **data)
        if kind in ("plan", "reflection"):
            self._keep_progress(live, kind, data)

    def _spend(self, live: _Live, data: dict[str, Any]) -> None:
        """Prices what a call used. The event of it is the account: it is stored with the others."""
        usage = priced(Usage.model_validate(data), datetime.now(UTC).date())
        tracing.spent(usage)
        self._emit(live, "usage", **usage.model_dump(mode="json"))
        if live.meter:
            live.meter.spend(usage)

    async def _forget_cut_off(self, run_id: str) -> None:
        """Drops what nodes that were cut off have half written.

        A node cancelled between its return and the note of where to go next leaves its writes
        beside an error. A resumed graph would take it for finished, and end there.
        """
        await self._checkpoints.execute(
            "delete from writes where thread_id=?1 and (checkpoint_ns, checkpoint_id, task_id) in "
            "(select checkpoint_ns, checkpoint_id, task_id from writes "
            "where thread_id=?1 and channel='__error__')",
            (run_id,),
        )
        await self._checkpoints.commit()

    def _context(self, live: _Live) -> Context:
        run = live.run
        return Context(
            reasoner=self._reasoner,
            sources=self._sources,
            options=run.options,
            ledger=RunLedger(self.store, run, self._settings.cache_hours),
            plan=self.store.given(run.id),
            before=before(self.store, run),
            deadline=self._settings.search_timeout,
            delay=self._settings.search_delay,
            meter=live.meter or Meter(run.options),
            spend=lambda usage: self._spend(live, usage),
        )

    def _keep_progress(self, live: _Live, kind: str, data: dict[str, Any]) -> None:
        """Stores the plan and the reflections so far: a run that is cut off can still show them."""
        if data.get("skipped"):
            return
        if kind == "plan":
            live.plan = Plan.model_validate(data["plan"])
        else:
            reflection = Reflection.model_validate(data)
            live.reflections[reflection.round] = reflection
        self.store.keep(live.run.id, live.plan, list(live.reflections.values()), None)

    async def _keep(self, run: Run, values: dict[str, Any]) -> None:
        """Stores the outcome. A run without an answer is not done, whatever the graph says."""
        if values.get("answer") is None:
            raise RuntimeError("the graph ended without an answer")
        self.store.keep(
            run.id, values.get("plan"), values.get("reflections", []), values.get("answer")
        )

    def _emit(self, live: _Live, kind: str, **data: Any) -> None:
        if (
            kind == "text"
            and live.buffer
            and live.buffer[-1][1] == "text"
            and not data.get("restart")
        ):
            live.buffer[-1][2]["text"] += data["text"]  # one event for what is written together
            return
        live.buffer.append((datetime.now(UTC), kind, data))
        if live.flush is None:
            wait = FLUSH_TEXT if kind == "text" else FLUSH
            live.flush = self._loop.call_later(wait, self._flush, live)

    def _flush(self, live: _Live) -> None:
        live.flush = None
        try:
            self._write(live)
        except StoreError as trouble:  # kept for the next time
            log.warning("events wait: %s", trouble)
            if live.run.id in self._live:
                live.flush = self._loop.call_later(WATCH, self._flush, live)

    def _write(self, live: _Live, status: RunStatus | None = None, error: str = "") -> None:
        if not live.buffer and status is None:
            return
        events, live.buffer = live.buffer, []
        try:
            self.store.append(live.run.id, events, status, error)
        except StoreError:
            live.buffer = events + live.buffer
            raise
        with self._news:
            self._news.notify_all()

    def _finish(self, live: _Live, task: asyncio.Task[None]) -> None:
        """The end of a run, however it came. Errors end here and nowhere else."""
        error = None if task.cancelled() else task.exception()
        status: RunStatus = "waiting" if live.waiting else "done"
        if task.cancelled():
            status = "stopped" if live.stopped else "interrupted"
        elif error is not None:
            status = "failed"
            log.error("run %s failed", live.run.id, exc_info=error)
        live.trace.end(status, error)
        message = _message(error, self._settings.data_dir) if error else ""
        self._emit(live, "status", status=status, error=message)
        try:
            self._write(live, status, message)
        except StoreError as trouble:
            log.error("the end of run %s could not be stored: %s", live.run.id, trouble)
            self._unsaved[live.run.id] = (live, "failed", message or str(trouble))
        else:
            if status == "done":  # the checkpoints have served
                self._cleaning.add(cleaning := self._loop.create_task(self._clean(live.run.id)))
                cleaning.add_done_callback(self._cleaning.discard)
        finally:
            self._live.pop(live.run.id, None)
            with self._news:
                self._news.notify_all()

    async def _clean(self, run_id: str) -> None:
        try:
            await self._saver.adelete_thread(run_id)
        except sqlite3.Error as error:
            log.warning("the checkpoints of run %s are still there: %s", run_id, error)

    def _mark_interrupted(self) -> None:
        """Runs whose process is gone are interrupted: listed as such, and resumed on request."""
        for engine, run_ids in self.store.engines().items():
            if engine == self._engine.id:
                continue
            if not self._engine.alive(engine):
                for run_id in run_ids:
                    self.store.interrupt(run_id, engine)


def _event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop where there is one: it takes a fifth off the processor time of a run."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _message(error: BaseException, folder: Path) -> str:
    if isinstance(error, sqlite3.Error | OSError):
        error = explained(error, folder)
    if isinstance(error, StoreError | Unwritten):
        return str(error)
    return f"{type(error).__name__}; the log has the details"
