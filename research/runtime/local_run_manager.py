"""Runs in this process: one asyncio loop in one daemon thread, checkpoints and results in a database.

Where there are worker processes, they do what is done here, each with an engine of its own; this one
keeps the queue, and takes up again what a worker that was killed was at.

A run is a LangGraph thread of its own. It goes on whoever looks at it: readers follow its events
from the store, at any time, from any event, in any process. A stopped or killed run is resumed from
its last checkpoint, and its finished searches come from the store.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from research.agent.nodes.answer import AnswerNotWrittenError
from research.core.records import Run, RunOptions, RunStatus
from research.runtime.active_run import ActiveRun, MissingKeyError, RunResources
from research.runtime.engine_lock import SERVER_ENGINES, acquire_engine_lock
from research.runtime.run_manager import POLL_SECONDS, RunManager
from research.runtime.worker_pool import FACTORY, WorkerPool
from research.sources import registry
from research.storage.checkpoints import checkpoint_store
from research.storage.sqlite_files import StoreError
from research.storage.store import REQUEST_STOP, REQUEST_WRITE

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

log = logging.getLogger(__name__)

MAX_WORKER_DEATHS = 2  # workers that may die of a run; then it is for its owner to resume it


class LocalRunManager(RunManager):
    """The engine of runs that this process works on by itself."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Starts the loop. The store is closed at the end, and what the traces have not sent yet is sent
        then.

        Raises:
            StoreError: the data folder cannot be used.
        """
        store = resources.store
        try:
            self._engine_lock = acquire_engine_lock(store.database)
        except StoreError:
            store.close()
            raise
        super().__init__(resources, default_options, on_close)
        self._active_runs: dict[str, ActiveRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping_runs: set[str] = set()
        self._waiting_runs: set[str] = set()  # for the analyst, not for a turn
        self._queued_runs: dict[str, ActiveRun] = {}  # what waits for its turn, in the order of its coming
        self._admitted_early: set[str] = set()  # whose turn came before they had reached it
        self._lock = threading.Lock()
        self._unstored_ends: dict[str, tuple[ActiveRun, RunStatus, str]] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._worker_pool: WorkerPool | None = None
        self._lost_engines: list[str] = []  # engines of workers that are gone, whose runs are to go on
        self._worker_deaths: Counter[str] = Counter()  # of workers that were at a run
        self._is_closing = False
        self.on_run_end: Callable[[str], None] = lambda run_id: None  # hears of each run that has ended here
        self._compiled_graph: CompiledStateGraph[Any, Any, Any, Any] | None = None
        try:
            self._checkpoint_store = checkpoint_store(store.database)
            self.run_on_loop(self._open())
        except StoreError:
            self.close()
            raise
        self._interrupt_lost_runs()
        self.delete_expired()
        store.history.start_indexing()

    async def _open(self) -> None:
        await self._checkpoint_store.open()
        self._watcher = self.loop.asyncio_loop.create_task(self._watch())

    async def preload(self) -> None:
        """Loads the graph, as the first run would."""
        await self._load_graph()

    async def _load_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The graph. It is loaded with the first call, beside what goes on."""
        if self._compiled_graph is None:
            await asyncio.to_thread(_graph_module)
            saver = await self._checkpoint_store.saver()
            if self._compiled_graph is None:
                nodes = {name: registry.get_source(name).graph_node for name in self.resources.sources}
                self._compiled_graph = _graph_module().build_graph(nodes).compile(checkpointer=saver)
        return self._compiled_graph

    def get_run(self, run_id: str, *, owner: str = "local") -> Run | None:
        """A run by id; none of another owner."""
        run = super().get_run(run_id, owner=owner)
        if run and (unsaved := self._unstored_ends.get(run_id)):
            _, status, error = unsaved
            return run.model_copy(update={"status": status, "error": error})
        return run

    def close(self) -> None:
        """Interrupts what is going on and stops the loop. Interrupted runs can be resumed."""
        if self.loop.is_closed:
            return
        self._is_closing = True
        if self._worker_pool:
            self._interrupt_runs_of(*self._worker_pool.close())
        self.loop.close(self._close())
        self.resources.traces.close()
        self.resources.report_files.close()
        self._engine_lock.close()
        self.store.close()

    async def _close(self) -> None:
        for live in list(self._queued_runs.values()):
            self._leave_queue(live, "interrupted")
        tasks = [*self._tasks.values(), *([self._watcher] if self._watcher else [])]
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        if self._on_close:  # what lives on the loop as long as it does ends here
            await self._on_close()
        # What finished branches wrote may still be on its way to the checkpoints, in tasks of the
        # graph's own. Closing under them would leave the file locked.
        if hasattr(self, "_checkpoint_store"):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if rest := [task for task in others if self._checkpoint_store.may_write(task)]:
                await asyncio.wait(rest, timeout=5)
            await self._checkpoint_store.close()

    def active_resources(self) -> list[RunResources]:
        """What the runs under way here work with."""
        return [live.resources for live in list(self._active_runs.values())]

    # The workers

    @property
    def engine(self) -> str:
        """In whose name runs are worked on here."""
        return self._engine_lock.id

    def start_workers(self, factory: str = FACTORY) -> None:
        """Lets worker processes share the work, if there are to be any. For a process that lasts."""
        if self._worker_pool is None and not self._is_closing and self.resources.settings.processes:
            self._worker_pool = WorkerPool(
                self.resources.settings, self._on_worker_run_end, self._on_worker_lost, factory
            )

    def take_run(self, run: Run, *, is_resumed: bool, write_only: bool) -> None:
        """Works on a run that was stored in this engine's name."""
        self._schedule(run, self._engine_lock.id, is_resumed=is_resumed, write_only=write_only)

    def send_session_keys(self, owner: str) -> None:
        """The keys of somebody's session have changed: the workers hear of it."""
        if self._worker_pool and self.resource_provider:
            self._worker_pool.send_keys(owner, self.resource_provider.session_keys(owner))

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys of somebody's session from the server."""
        if self.resource_provider:
            self.resource_provider.set_session_keys(owner, keys)

    def _send_to_worker(self, active_run: ActiveRun) -> None:
        """Gives a run whose turn it is to the worker in whose name it was stored."""
        run, keys = (
            active_run.run,
            self.resource_provider.session_keys(active_run.run.owner) if self.resource_provider else {},
        )
        folder = self.resources.report_files.chosen_folder(run.id)
        order = active_run.is_resumed, active_run.write_only, run.owner, keys, folder
        if self._worker_pool and not self._worker_pool.assign_run(active_run.engine, run.id, *order):
            self._on_worker_lost(active_run.engine)  # it died a moment ago

    def _on_worker_run_end(self, run_id: str) -> None:
        """A worker has done with a run."""
        self._worker_deaths.pop(run_id, None)
        self._notify()
        self._try_admit()

    def _on_worker_lost(self, engine: str) -> None:
        """A worker is gone: its runs go on elsewhere, now or as soon as the store can be written."""
        try:
            self._recover_runs(engine)
        except StoreError as trouble:
            log.warning("the runs of a worker that is gone have to wait: %s", trouble)
            self._lost_engines.append(engine)
        self._notify()
        self._try_admit()

    def _recover_runs(self, engine: str) -> None:
        wishes = {run_id: wish for run_id, by, wish in self.store.run_requests() if by == engine}
        for run_id in self.store.runs_by_engine().get(engine, ()):
            queued, wish = self._queued_runs.pop(run_id, None), wishes.get(run_id, 0)
            self._worker_deaths[run_id] += queued is None
            again = wish != REQUEST_STOP and self._worker_deaths[run_id] <= MAX_WORKER_DEATHS and not self._is_closing
            other = self._choose_engine(run_id)
            with self.store.database.transaction():  # nobody sees it as it is in between
                status: RunStatus = "stopped" if wish == REQUEST_STOP else "interrupted"
                ended = self.store.end_run(run_id, engine, status)
                claimed = ended and again and self.store.claim_run(run_id, other, write_only=wish == REQUEST_WRITE)
            if claimed and (run := self.store.get_run(run_id)):
                self._schedule(run, other, is_resumed=True, write_only=wish == REQUEST_WRITE)
        self._engine_lock.is_alive(engine)  # which removes what is left of it

    def _interrupt_runs_of(self, *engines: str) -> None:
        """What workers that are gone could not note themselves."""
        try:
            left = self.store.runs_by_engine()
            for engine in engines:
                for run_id in left.get(engine, ()):
                    self.store.end_run(run_id, engine, "interrupted")
                self._engine_lock.is_alive(engine)
        except StoreError as trouble:
            log.error("the end of some runs could not be stored: %s", trouble)

    # What an engine does

    def _choose_engine(self, run_id: str) -> str:
        if not self._worker_pool or self._is_closing:
            return self._engine_lock.id
        waiting = Counter(live.engine for live in list(self._queued_runs.values()))
        return self._worker_pool.pick_engine(waiting, len(self._active_runs)) or self._engine_lock.id

    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        live = ActiveRun(
            run, engine, self.resources, self._notify, lambda: self._cancel(run.id),
            is_resumed=is_resumed, write_only=write_only,
        )  # fmt: skip
        if not self.has_run_limits:
            self._start_run(live)
            return
        with self._lock:
            called = run.id in self._admitted_early
            if called:
                self._admitted_early.discard(run.id)
            else:
                self._queued_runs[run.id] = live
        if called:
            self._start_run(live)
        else:
            self._try_admit()

    def _start_run(self, active_run: ActiveRun) -> None:
        if active_run.engine != self._engine_lock.id:
            self._send_to_worker(active_run)
            return
        self._active_runs[active_run.run.id] = active_run
        self.loop.call_soon(self._start_task, active_run)

    def _request_end(self, run: Run, *, write_only: bool) -> None:
        if run.id in self._active_runs or run.id in self._queued_runs:
            self.loop.call_soon(self._end_searching if write_only else self._cancel, run.id)
            return
        if write_only:
            self.store.request_write(run.id)
        elif not self._stop_on_server(run.id):
            self.store.request_stop(run.id)
        if self._worker_pool and (worker := self._worker_pool.worker_of(run.id)):
            worker.send("look")  # at what is asked of its runs; else it would in a moment

    def _stop_on_server(self, run_id: str) -> bool:
        """Takes a run away from a server, which may be there or not: it writes nothing more."""
        engines = self.store.runs_by_engine()
        return any(
            self.store.end_run(run_id, engine, "stopped")
            for engine in engines
            if engine in SERVER_ENGINES and run_id in engines[engine]
        )

    def _interrupt_lost_runs(self, run: Run | None = None) -> None:
        """Runs whose process is gone are interrupted: listed as such, and resumed on request."""
        if run and (run.id in self._active_runs or run.id in self._queued_runs):
            return
        if run and self._worker_pool and self._worker_pool.worker_of(run.id):
            return
        for engine, run_ids in self.store.runs_by_engine().items():
            if self._is_lost(engine):
                for run_id in run_ids:
                    self.store.end_run(run_id, engine, "interrupted")

    def _is_lost(self, engine: str) -> bool:
        """Whether a process is gone. A server that works on runs is looked after by those who use it, and
        a worker by who began it."""
        if engine in self._lost_engines or (self._worker_pool and self._worker_pool.has_engine(engine)):
            return False
        return engine not in SERVER_ENGINES and not self._engine_lock.is_alive(engine)

    async def delete_checkpoints(self, run_id: str) -> None:
        known: tuple[type[Exception], ...] = (StoreError, *self.store.database.driver_errors)
        try:
            await (await self._checkpoint_store.saver()).adelete_thread(run_id)
        except known as error:
            log.warning("the checkpoints of run %s are still there: %s", run_id, error)

    async def reclaim_checkpoint_space(self) -> None:
        await self._checkpoint_store.reclaim()

    # The queue

    def _admit_queued(self) -> None:
        """Lets those begin whose turn it is."""
        if not self._queued_runs or self._is_closing:
            return
        settings = self.resources.settings
        mine = {self._engine_lock.id, *(live.engine for live in list(self._queued_runs.values()))}
        for one in self.store.admit_runs(mine, settings.runs_at_once, settings.runs_each):
            with self._lock:
                live = self._queued_runs.pop(one.id, None)
                if live is None:  # it is on its way into the line
                    self._admitted_early.add(one.id)
            if live:
                self._start_run(live)

    def _try_admit(self) -> None:
        """The same, and once more soon if the store is out of reach."""
        try:
            self._admit_queued()
        except StoreError as trouble:
            log.warning("the queue waits: %s", trouble)

    def _leave_queue(self, active_run: ActiveRun, status: RunStatus) -> None:
        """Takes a run out of the queue."""
        self._queued_runs.pop(active_run.run.id, None)
        try:
            active_run.end(status)
        except StoreError as trouble:
            log.error("the end of run %s could not be stored: %s", active_run.run.id, trouble)
        finally:
            active_run.close()

    # On the loop

    def _start_task(self, active_run: ActiveRun) -> None:
        run_id = active_run.run.id
        task = self._tasks[run_id] = self.loop.asyncio_loop.create_task(self._execute(active_run))
        # A callback, not `finally`: a task cancelled before its first step never enters its body.
        task.add_done_callback(lambda task: self._finish(active_run, task))
        if run_id in self._stopping_runs:
            task.cancel()

    def _cancel(self, run_id: str) -> None:
        if queued := self._queued_runs.get(run_id):
            self._leave_queue(queued, "stopped")
        if run_id not in self._active_runs:
            return
        self._stopping_runs.add(run_id)
        task = self._tasks.get(run_id)
        if task and not task.cancelling():  # a second time would cut its end short
            task.cancel()

    def _end_searching(self, run_id: str) -> None:
        if live := self._active_runs.get(run_id) or self._queued_runs.get(run_id):
            live.end_searching()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                self._engine_lock.ensure_held()
                for live, status, error in list(self._unstored_ends.values()):
                    live.write(status, error)
                    self._unstored_ends.pop(live.run.id, None)
                if self._queued_runs:
                    self._interrupt_lost_runs()  # those that are gone hold up nobody
                    self._admit_queued()
                self.handle_requests()
                for engine in list(self._lost_engines):
                    self._recover_runs(engine)
                    self._lost_engines.remove(engine)
                if self._worker_pool:
                    self._worker_pool.close_idle_workers()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)

    def handle_requests(self) -> None:
        """Does what others ask of the runs of this process.

        Raises:
            StoreError: the store is out of reach.
        """
        for run_id, wish in self._own_requests():
            (self._end_searching if wish == REQUEST_WRITE else self._cancel)(run_id)

    def _own_requests(self) -> list[tuple[str, int]]:
        """What others ask of the runs of this process."""
        if not self._active_runs and not self._queued_runs:
            return []
        return [(run_id, wish) for run_id, by, wish in self.store.run_requests() if by == self._engine_lock.id]

    async def _execute(self, active_run: ActiveRun) -> None:
        graph = await self._load_graph()
        run, saver = active_run.run, await self._checkpoint_store.saver()
        config: RunnableConfig = {
            "configurable": {"thread_id": run.id},
            "recursion_limit": _graph_module().RECURSION_LIMIT,
        }
        with self.open_resources(run.owner) as resources:
            active_run.set_resources(resources)
        active_run.start_trace()
        begun = False
        if active_run.is_resumed:
            await self._checkpoint_store.delete_cancelled_writes(run.id)
            state = await graph.aget_state(config)
            if state.values.get("answer") and not state.tasks:  # killed before the end was noted
                await _keep_outcome(active_run, state.values)
                return
            begun = bool(state.tasks)
            if state.created_at and not begun:  # a step was lost with what should follow it
                await saver.adelete_thread(run.id)
        if begun:
            active_run.load_progress()
        active_run.open_budget()
        active_run.record_start()
        active_run.write("running")
        stream = graph.astream(
            None if begun else {"asked": run.question},
            config,
            context=active_run.context(),
            stream_mode=["values"],  # what the stages say comes by the context
            version="v2",
            durability="sync",
        )
        values: dict[str, Any] = {}
        interrupted = False
        active_run.budget.start_clock()
        try:
            async for part in stream:
                if part["type"] == "values":
                    values, interrupted = part["data"], bool(part["interrupts"])
        except AnswerNotWrittenError as error:  # what stands in for the answer is kept until it is written
            active_run.set_fallback_answer(error.answer)
            raise
        finally:
            active_run.budget.cancel_timers()
        if interrupted:
            self._waiting_runs.add(run.id)
            return
        if begun and not values.get("answer"):  # as above: its searches are in the store
            await saver.adelete_thread(run.id)
            await self._execute(active_run)
            return
        await _keep_outcome(active_run, values)

    def _is_unrelated_to_checkpoints(self, error: BaseException) -> bool:
        """Whether something failed that has nothing to do with what the checkpoints hold."""
        known = (*self.store.database.driver_errors, OSError, StoreError, AnswerNotWrittenError, MissingKeyError)
        return isinstance(error, known)

    def _finish(self, active_run: ActiveRun, task: asyncio.Task[None]) -> None:
        """The end of a run, however it came. Errors end here and nowhere else."""
        run_id = active_run.run.id
        error = None if task.cancelled() else task.exception()
        status: RunStatus = "waiting" if run_id in self._waiting_runs else "done"
        if task.cancelled():
            status = "stopped" if run_id in self._stopping_runs else "interrupted"
        elif error is not None:
            status = "failed"
        message = self.resources.log_failure(run_id, error) if error else ""
        active_run.trace.end(status, error)
        try:
            active_run.end(status, message)
        except StoreError as trouble:
            log.error("the end of run %s could not be stored: %s", run_id, trouble)
            self._unstored_ends[run_id] = (active_run, "failed", message or str(trouble))
        else:
            active_run.close()
            spoilt = active_run.is_resumed and error is not None and not self._is_unrelated_to_checkpoints(error)
            if (status == "done" or spoilt) and not active_run.is_taken:  # they have served, or are damaged
                self.loop.start_task(self.delete_checkpoints(run_id))
        finally:
            self._waiting_runs.discard(run_id)
            self._stopping_runs.discard(run_id)
            if self._active_runs.get(run_id) is active_run:
                del self._active_runs[run_id], self._tasks[run_id]
            self._notify()
        self._close_unused()
        self._try_admit()
        self.on_run_end(run_id)


def _graph_module() -> ModuleType:
    """What the graph is built with; it takes a second to load."""
    from research.agent import graph

    return graph


async def _keep_outcome(active_run: ActiveRun, values: dict[str, Any]) -> None:
    """Keeps the outcome, to be stored with the last word. A run without an answer is not done,
    whatever the graph says."""
    if values.get("answer") is None:
        raise RuntimeError("the graph ended without an answer")
    active_run.set_outcome(values.get("plan"), values.get("reflections", []), values["answer"])
    await active_run.save_report()
