"""Runs in this process: an asyncio loop in a daemon thread, checkpoints and results in a database.

With worker processes, each of them executes runs with an engine of its own; this process keeps the
queue and resumes the runs of a worker that was killed.

Each run is a LangGraph thread of its own and does not depend on readers, who follow its events from
the store, at any time, from any event, in any process. A stopped or killed run is resumed from its
last checkpoint, and its finished searches come from the store.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import TYPE_CHECKING, Any

from research.agent.nodes.answer import AnswerNotWrittenError
from research.agent.state import RECURSION_LIMIT
from research.core.records import Run, RunOptions, RunStatus
from research.core.run_logger import set_logged_run
from research.runtime.active_run import ActiveRun, MissingKeyError, RunResources
from research.runtime.engine_lock import SERVER_ENGINES
from research.runtime.run_manager import POLL_SECONDS, RunManager
from research.runtime.worker_pool import FACTORY, WorkerPool
from research.sources import registry
from research.storage.checkpoints import checkpoint_store
from research.storage.run_store import REQUEST_STOP, REQUEST_WRITE
from research.storage.sqlite_files import StoreError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

log = logging.getLogger(__name__)

MAX_WORKER_DEATHS = 2  # worker deaths during a run; after more, only its owner resumes it


class LocalRunManager(RunManager):
    """The manager of runs that this process or its workers execute."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Start the loop. `close` also closes the store and sends the pending traces.

        Raises:
            StoreError: the data folder cannot be used.
        """
        super().__init__(resources, default_options, on_close)
        self._active_runs: dict[str, ActiveRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping_runs: set[str] = set()
        self._runs_awaiting_owner: set[str] = set()  # for approval or an answer, not for a slot
        self._queued_runs: dict[str, ActiveRun] = {}  # waiting for a slot, in order of arrival
        self._admitted_early: set[str] = set()  # admitted before they were in `_queued_runs`
        self._lock = threading.Lock()
        self._unstored_ends: dict[str, tuple[ActiveRun, RunStatus, str]] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._worker_pool: WorkerPool | None = None
        self._lost_engines: list[str] = []  # engines of dead workers whose runs are still to be recovered
        self._worker_deaths: Counter[str] = Counter()  # deaths of workers, by the run they executed
        self._is_closing = False
        self.on_run_end: Callable[[str], None] = lambda run_id: None  # called for each run that has ended here
        self._compiled_graph: CompiledStateGraph[Any, Any, Any, Any] | None = None
        try:
            self._checkpoint_store = checkpoint_store(self.store.database)
            self.run_on_loop(self._open())
        except StoreError:
            self.close()
            raise
        self._interrupt_lost_runs()
        self.delete_expired()
        self.store.history.start_indexing()

    async def _open(self) -> None:
        await self._checkpoint_store.open()
        self._watcher = self.loop.asyncio_loop.create_task(self._watch())

    async def preload(self) -> None:
        """Load the graph before the first run needs it."""
        await self._load_graph()

    async def _load_graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the compiled graph; the first call loads it in a thread."""
        if self._compiled_graph is None:
            graph = await asyncio.to_thread(import_module, "research.agent.graph")  # takes about a second
            saver = await self._checkpoint_store.saver()
            if self._compiled_graph is None:
                nodes = {name: registry.get_source(name).graph_node for name in self.resources.sources}
                self._compiled_graph = graph.build_graph(nodes).compile(checkpointer=saver)
        return self._compiled_graph

    def get_run(self, run_id: str, *, owner: str = "local") -> Run | None:
        """Return a run of an owner by id, None if there is none."""
        run = super().get_run(run_id, owner=owner)
        if run and (unstored := self._unstored_ends.get(run_id)):
            _, status, error = unstored
            return run.model_copy(update={"status": status, "error": error})
        return run

    def close(self) -> None:
        """Interrupt the runs under way and stop the loop. Interrupted runs can be resumed."""
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
        for queued in list(self._queued_runs.values()):
            self._leave_queue(queued, "interrupted")
        tasks = [*self._tasks.values(), *([self._watcher] if self._watcher else [])]
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        if self._on_close:  # clients that live on the loop are closed before it stops
            await self._on_close()
        # Tasks of the graph may still be writing the checkpoints of finished branches; closing the
        # connection first would leave the file locked.
        if hasattr(self, "_checkpoint_store"):
            other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if writers := [task for task in other_tasks if self._checkpoint_store.may_write(task)]:
                await asyncio.wait(writers, timeout=5)
            await self._checkpoint_store.close()

    def active_resources(self) -> list[RunResources]:
        """Return the resources of the runs under way in this process."""
        return [active_run.resources for active_run in list(self._active_runs.values())]

    # Workers

    @property
    def engine(self) -> str:
        """The id of the engine of this process."""
        return self._engine_lock.id

    def start_workers(self, factory: str = FACTORY) -> None:
        """Start the worker processes that the settings ask for, in a long-lived process."""
        if self._worker_pool is None and not self._is_closing and self.resources.settings.worker_count:
            self._worker_pool = WorkerPool(
                self.resources.settings, self._on_worker_run_end, self._on_worker_lost, factory
            )

    def execute_run(self, run: Run, *, is_resumed: bool, write_only: bool) -> None:
        """Execute a run that was stored under the engine of this process."""
        self._schedule(run, self._engine_lock.id, is_resumed=is_resumed, write_only=write_only)

    def send_session_keys(self, owner: str) -> None:
        """Send the changed session keys of an owner to the workers."""
        if self._worker_pool:
            self._worker_pool.send_keys(owner, self.resource_provider.session_keys(owner))

    def _send_to_worker(self, active_run: ActiveRun) -> None:
        """Send a run to the worker under whose engine it was stored."""
        run, keys = active_run.run, self.resource_provider.session_keys(active_run.run.owner)
        folder = self.resources.report_files.chosen_folder(run.id)
        arguments = active_run.is_resumed, active_run.write_only, run.owner, keys, folder
        if self._worker_pool and not self._worker_pool.assign_run(active_run.engine, run.id, *arguments):
            self._on_worker_lost(active_run.engine)  # the worker has just died

    def _on_worker_run_end(self, run_id: str) -> None:
        """Handle the end of a run in a worker."""
        self._worker_deaths.pop(run_id, None)
        self._notify()
        self._try_admit()

    def _on_worker_lost(self, engine: str) -> None:
        """Recover the runs of a dead worker now, or as soon as the store can be written."""
        try:
            self._recover_runs(engine)
        except StoreError as error:
            log.warning("the runs of a worker that is gone have to wait: %s", error)
            self._lost_engines.append(engine)
        self._notify()
        self._try_admit()

    def _recover_runs(self, engine: str) -> None:
        """End the runs of a dead worker and resume them on other engines.

        A run with a stop request, or one during which more than `MAX_WORKER_DEATHS` workers have
        died, is not resumed.

        Raises:
            StoreError: the store cannot be used.
        """
        requests = {
            run_id: request for run_id, owner_engine, request in self.store.run_requests() if owner_engine == engine
        }
        for run_id in self.store.runs_by_engine().get(engine, ()):
            queued, request = self._queued_runs.pop(run_id, None), requests.get(run_id, 0)
            self._worker_deaths[run_id] += queued is None
            should_resume = (
                request != REQUEST_STOP and self._worker_deaths[run_id] <= MAX_WORKER_DEATHS and not self._is_closing
            )
            new_engine = self._choose_engine(run_id)
            with self.store.database.transaction():  # no reader sees the state between the two writes
                status: RunStatus = "stopped" if request == REQUEST_STOP else "interrupted"
                has_ended = self.store.end_run(run_id, engine, status)
                is_claimed = (
                    has_ended
                    and should_resume
                    and self.store.claim_run(run_id, new_engine, write_only=request == REQUEST_WRITE)
                )
            if is_claimed and (run := self.store.get_run(run_id)):
                self._schedule(run, new_engine, is_resumed=True, write_only=request == REQUEST_WRITE)
        self._engine_lock.is_alive(engine)  # deletes the lock file of the dead engine

    def _interrupt_runs_of(self, *engines: str) -> None:
        """Mark the runs of engines that are gone as interrupted."""
        try:
            runs_by_engine = self.store.runs_by_engine()
            for engine in engines:
                for run_id in runs_by_engine.get(engine, ()):
                    self.store.end_run(run_id, engine, "interrupted")
                self._engine_lock.is_alive(engine)
        except StoreError as error:
            log.error("the end of some runs could not be stored: %s", error)

    # Engine

    def _choose_engine(self, run_id: str) -> str:
        if not self._worker_pool or self._is_closing:
            return self._engine_lock.id
        waiting = Counter(queued.engine for queued in list(self._queued_runs.values()))
        return self._worker_pool.pick_engine(waiting, len(self._active_runs)) or self._engine_lock.id

    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        active_run = ActiveRun(
            run,
            engine,
            self.resources,
            self._notify,
            lambda: self._cancel(run.id),
            is_resumed=is_resumed,
            write_only=write_only,
        )
        if not self.has_run_limits:
            self._start_run(active_run)
            return
        with self._lock:
            is_admitted = run.id in self._admitted_early
            if is_admitted:
                self._admitted_early.discard(run.id)
            else:
                self._queued_runs[run.id] = active_run
        if is_admitted:
            self._start_run(active_run)
        else:
            self._try_admit()

    def _start_run(self, active_run: ActiveRun) -> None:
        if active_run.engine != self._engine_lock.id:
            self._send_to_worker(active_run)
            return
        self._active_runs[active_run.run.id] = active_run
        self.loop.call_soon(self._start_task, active_run)

    def _request_stop(self, run: Run, *, write_only: bool) -> None:
        if run.id in self._active_runs or run.id in self._queued_runs:
            self.loop.call_soon(self._stop_searching if write_only else self._cancel, run.id)
            return
        if write_only:
            self.store.request_write(run.id)
        elif not self._stop_on_server(run.id):
            self.store.request_stop(run.id)
        if self._worker_pool and (worker := self._worker_pool.worker_of(run.id)):
            worker.send("check_requests")  # now instead of at its next poll

    def _stop_on_server(self, run_id: str) -> bool:
        """Mark a run of an Agent Server as stopped, even if the server is unreachable.

        The server can write nothing more to the run.
        """
        engines = self.store.runs_by_engine()
        return any(
            self.store.end_run(run_id, engine, "stopped")
            for engine in engines
            if engine in SERVER_ENGINES and run_id in engines[engine]
        )

    def _interrupt_lost_runs(self, run: Run | None = None) -> None:
        """Mark the runs of lost engines as interrupted.

        Nothing is checked if `run` is given and executed by this process or one of its workers.
        """
        if run and (run.id in self._active_runs or run.id in self._queued_runs):
            return
        if run and self._worker_pool and self._worker_pool.worker_of(run.id):
            return
        super()._interrupt_lost_runs()

    def _is_lost(self, engine: str) -> bool:
        """Return whether the process of an engine is gone; that of a worker is watched elsewhere."""
        is_worker = engine in self._lost_engines or (self._worker_pool and self._worker_pool.has_engine(engine))
        return not is_worker and super()._is_lost(engine)

    async def delete_checkpoints(self, run_id: str) -> None:
        expected: tuple[type[Exception], ...] = (StoreError, *self.store.database.driver_errors)
        try:
            await (await self._checkpoint_store.saver()).adelete_thread(run_id)
        except expected as error:
            log.warning("the checkpoints of run %s are still there: %s", run_id, error)

    async def reclaim_checkpoint_space(self) -> None:
        await self._checkpoint_store.reclaim()

    # Queue

    def _admit_queued(self) -> None:
        """Start the queued runs whose turn it is."""
        if not self._queued_runs or self._is_closing:
            return
        settings = self.resources.settings
        engines = {self._engine_lock.id, *(queued.engine for queued in list(self._queued_runs.values()))}
        for entry in self.store.admit_runs(engines, settings.max_runs, settings.max_runs_per_owner):
            with self._lock:
                queued = self._queued_runs.pop(entry.id, None)
                if queued is None:  # `_schedule` has not queued it yet
                    self._admitted_early.add(entry.id)
            if queued:
                self._start_run(queued)

    def _try_admit(self) -> None:
        """Admit queued runs; if the store is unreachable, `_watch` tries again."""
        try:
            self._admit_queued()
        except StoreError as error:
            log.warning("the queue waits: %s", error)

    def _leave_queue(self, active_run: ActiveRun, status: RunStatus) -> None:
        """Remove a run from the queue and store its final status."""
        self._queued_runs.pop(active_run.run.id, None)
        try:
            active_run.end(status)
        except StoreError as error:
            log.error("the end of run %s could not be stored: %s", active_run.run.id, error)
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
        if task and not task.cancelling():  # a second cancellation would interrupt its clean-up
            task.cancel()

    def _stop_searching(self, run_id: str) -> None:
        if active_run := self._active_runs.get(run_id) or self._queued_runs.get(run_id):
            active_run.stop_searching()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                self._engine_lock.ensure_held()
                for active_run, status, error in list(self._unstored_ends.values()):
                    active_run.write(status, error)
                    self._unstored_ends.pop(active_run.run.id, None)
                if self._queued_runs:
                    self._interrupt_lost_runs()  # lost runs must not occupy slots
                    self._admit_queued()
                self.handle_requests()
                for engine in list(self._lost_engines):
                    self._recover_runs(engine)
                    self._lost_engines.remove(engine)
                if self._worker_pool:
                    self._worker_pool.close_idle_workers()
            except StoreError as store_error:
                log.warning("the store is out of reach: %s", store_error)

    def handle_requests(self) -> None:
        """Carry out the stop and write requests for the runs of this process.

        Raises:
            StoreError: the store is unreachable.
        """
        if not self._active_runs and not self._queued_runs:
            return
        for run_id, engine, request in self.store.run_requests():
            if engine == self._engine_lock.id:
                (self._stop_searching if request == REQUEST_WRITE else self._cancel)(run_id)

    async def _execute(self, active_run: ActiveRun) -> None:
        graph = await self._load_graph()
        run, saver = active_run.run, await self._checkpoint_store.saver()
        config: RunnableConfig = {"configurable": {"thread_id": run.id}, "recursion_limit": RECURSION_LIMIT}
        with self.resource_provider.open_resources(run.owner) as resources:
            active_run.set_resources(resources)
        active_run.start_trace()
        set_logged_run(active_run.run.id)
        has_checkpoint = False
        if active_run.is_resumed:
            await self._checkpoint_store.delete_cancelled_writes(run.id)
            state = await graph.aget_state(config)
            if state.values.get("answer") and not state.tasks:  # killed before its end was stored
                await active_run.finish_from_state(state.values)
                return
            has_checkpoint = bool(state.tasks)
            if state.created_at and not has_checkpoint:  # a step was lost together with the task after it
                await saver.adelete_thread(run.id)
        if has_checkpoint:
            active_run.load_progress()
        active_run.open_budget()
        active_run.record_start()
        active_run.write("running")
        stream = graph.astream(
            None if has_checkpoint else {"asked": run.question},
            config,
            context=active_run.context(),
            stream_mode=["values"],  # events of the stages arrive through the context
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
        except AnswerNotWrittenError as error:  # the substitute answer is kept until the answer is written
            active_run.set_fallback_answer(error.answer)
            raise
        finally:
            active_run.budget.cancel_timers()
        if interrupted:
            self._runs_awaiting_owner.add(run.id)
            return
        if has_checkpoint and not values.get("answer"):  # as above; its searches are in the store
            await saver.adelete_thread(run.id)
            await self._execute(active_run)
            return
        await active_run.finish_from_state(values)

    def _is_unrelated_to_checkpoints(self, error: BaseException) -> bool:
        """Return whether an error cannot come from damaged checkpoints."""
        unrelated = (*self.store.database.driver_errors, OSError, StoreError, AnswerNotWrittenError, MissingKeyError)
        return isinstance(error, unrelated)

    def _finish(self, active_run: ActiveRun, task: asyncio.Task[None]) -> None:
        """Store the end of a run and release it. All errors of a run end here."""
        run_id = active_run.run.id
        error = None if task.cancelled() else task.exception()
        status: RunStatus = "waiting" if run_id in self._runs_awaiting_owner else "done"
        if task.cancelled():
            status = "stopped" if run_id in self._stopping_runs else "interrupted"
        elif error is not None:
            status = "failed"
        message = self.resources.log_failure(run_id, error) if error else ""
        active_run.trace.end(status, error)
        try:
            active_run.end(status, message)
        except StoreError as store_error:
            log.error("the end of run %s could not be stored: %s", run_id, store_error)
            self._unstored_ends[run_id] = (active_run, "failed", message or str(store_error))
        else:
            active_run.close()
            is_damaged = active_run.is_resumed and error is not None and not self._is_unrelated_to_checkpoints(error)
            if (status == "done" or is_damaged) and not active_run.is_taken:  # no longer of use
                self.loop.start_task(self.delete_checkpoints(run_id))
        finally:
            self._runs_awaiting_owner.discard(run_id)
            self._stopping_runs.discard(run_id)
            if self._active_runs.get(run_id) is active_run:
                del self._active_runs[run_id], self._tasks[run_id]
            self._notify()
        self.resource_provider.close_unused()
        self._try_admit()
        self.on_run_end(run_id)
