"""Execution of runs for an Agent Server: its graph, and the worker that runs its nodes.

The server decides where and when a node runs, keeps the checkpoints, and restarts runs elsewhere
when a machine fails. Events, findings and answers go to the store that the pages read. Nodes run on
a loop of our own, as without a server: the clients live there, and a call that blocks briefly does
not delay other work of the server.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from langchain_core.runnables.config import set_config_context
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from research.agent.graph import NodeFunction, build_graph
from research.agent.nodes.answer import AnswerNotWrittenError
from research.agent.state import GraphContext
from research.core.events import RunEvent, dump_event
from research.core.records import Run, RunStatus
from research.core.run_logger import set_logged_run
from research.runtime import quickstart
from research.runtime.active_run import ActiveRun, RunResources
from research.runtime.engine_lock import SERVER_ENGINE_PREFIX
from research.runtime.event_loop import EventLoopThread
from research.runtime.resource_providers import ResourceProvider, SharedResources
from research.runtime.run_manager import POLL_SECONDS
from research.storage.run_store import REQUEST_WRITE
from research.storage.sqlite_files import StoreError

log = logging.getLogger(__name__)

IDLE_TIMEOUT_SECONDS = 60  # seconds without a node until a run is released, which then continues elsewhere
DEFAULT_OWNER = "local"  # the owner of runs that no page has stored
CANCEL_TIMEOUT_SECONDS = 10  # seconds that a cancelled node has to store its results


@dataclass(frozen=True)
class RunRequest:
    """The context of a run on the server: its id and the id of its engine.

    A quickstart client sends neither, so each turn of its thread becomes a run; it may set the
    other fields, which have the quickstart's names.
    """

    run: str = ""
    engine: str = ""
    number_of_initial_queries: int | None = None
    max_research_loops: int | None = None
    query_generator_model: str | None = None
    reflection_model: str | None = None
    answer_model: str | None = None
    reasoning_model: str | None = None


_QUICKSTART_NAMES = [field.name for field in fields(RunRequest)][2:]


def _read_request(runtime: Runtime[RunRequest]) -> tuple[RunRequest, str]:
    """Return the request of a run, from its context or configuration, and a thread id.

    The thread id is "" for a run that a page has stored; it is set for clients of the quickstart.
    """
    request, configured = runtime.context or RunRequest(), get_config()["configurable"]
    if request.run:
        return request, ""
    update = {
        name: configured[name]
        for name in _QUICKSTART_NAMES
        if getattr(request, name) is None and configured.get(name) is not None
    }
    thread = str(configured["thread_id"])
    try:
        return replace(request, engine="", **update), uuid.UUID(thread).hex
    except ValueError:
        return replace(request, engine="", **update), uuid.uuid5(uuid.NAMESPACE_URL, thread).hex


def _to_chunk(event: RunEvent) -> dict[str, Any]:
    """Return an event as clients of the stream mode `custom` receive it."""
    kind, data = dump_event(event)
    return {"kind": kind, "data": data}


class RunFailedError(RuntimeError):
    """A run has failed.

    The store has the reason. The server, whose responses are less protected, gives it only to
    clients that have no access to the store.
    """


@dataclass(frozen=True)
class _NodeRuntime:
    """The part of the server's runtime that nodes use."""

    context: GraphContext


@dataclass
class _Job:
    """A run of this worker with the context of its nodes, and the time at which a node last ended."""

    active_run: ActiveRun
    context: GraphContext
    last_used: float


class ServerWorker:
    """The runs that one process of an Agent Server executes."""

    def __init__(
        self, resources: RunResources, on_close: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        self.resources, self.on_close = resources, on_close
        self.loop = EventLoopThread("sightline-worker")
        self.resource_provider: ResourceProvider = SharedResources(resources)
        self._jobs: dict[str, _Job] = {}
        self._running_nodes: Counter[str] = Counter()
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.asyncio_loop)

    def active_resources(self) -> list[RunResources]:
        """Return the resources of the runs under way in this process."""
        return [job.active_run.resources for job in list(self._jobs.values())]

    async def run_node(self, name: str, node: NodeFunction, state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """Run a node on the loop of the worker, called from any loop."""
        request, thread_id = _read_request(runtime)
        caller_loop, has_ended = asyncio.get_running_loop(), Future[None]()

        def write(chunk: dict[str, Any]) -> None:
            caller_loop.call_soon_threadsafe(runtime.stream_writer, chunk)

        async def run_and_signal() -> dict[str, Any]:
            try:
                return await self._run_node(name, node, state, request, thread_id, write)
            finally:
                has_ended.set_result(None)

        # Without callbacks, which a model with tools would take from the context: of all model
        # output, only the answer is to become a message for clients.
        with set_config_context({**get_config(), "callbacks": None}) as context:
            future = context.run(asyncio.run_coroutine_threadsafe, run_and_signal(), self.loop.asyncio_loop)
        task = asyncio.wrap_future(future)
        try:
            return await task
        except asyncio.CancelledError:
            # The server learns of the cancellation after the findings are stored.
            await asyncio.wait([asyncio.wrap_future(has_ended)], timeout=CANCEL_TIMEOUT_SECONDS)
            raise

    async def _run_node(
        self,
        name: str,
        node: NodeFunction,
        state: Any,
        run_request: RunRequest,
        thread_id: str,
        write_chunk: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any]:
        if thread_id:
            run_request = self._resume_turn(thread_id)
        job = self._open_job(run_request)
        active_run, context = job.active_run, job.context
        if thread_id and name == "generate_query":
            state = {**state, "asked": active_run.run.question}
            if not active_run.run.follows:
                context = replace(context, memory=quickstart.memory_from_messages(state["messages"]))

        def send_event(event: RunEvent, /) -> None:
            active_run.handle_event(event)
            write_chunk(_to_chunk(event))

        self._running_nodes[run_request.engine] += 1
        active_run.trace.activate()
        set_logged_run(active_run.run.id)
        try:
            update: dict[str, Any] = await node(state, _NodeRuntime(replace(context, send_event=send_event)))
            return quickstart.add_quickstart_names(name, active_run.run, state, update) if thread_id else update
        except GraphBubbleUp:
            self._end_run(active_run, "waiting")
            raise
        except asyncio.CancelledError:
            if thread_id and run_request.engine in self._jobs:  # no other process records it
                self._end_run(active_run, "interrupted")
            else:
                active_run.write()
            raise
        except Exception as error:  # noqa: BLE001 - every failure ends the run here
            if isinstance(error, AnswerNotWrittenError):  # the substitute answer is kept
                active_run.set_fallback_answer(error.answer)
            message = self.resources.log_failure(active_run.run.id, error)
            self._end_run(active_run, "failed", message, error)
            raise RunFailedError(message if thread_id else type(error).__name__) from None
        finally:
            self._running_nodes[run_request.engine] -= 1
            job.last_used = time.monotonic()

    async def receive_question(self, state: Mapping[str, Any], runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """Run the first node: start the turn of a quickstart client; do nothing for other runs."""
        run_request, thread_id = _read_request(runtime)
        if not thread_id:
            return {}
        starting = self._start_turn(state, run_request, thread_id)
        future = asyncio.run_coroutine_threadsafe(starting, self.loop.asyncio_loop)
        request = await asyncio.wrap_future(future)
        for limit in request.limits:
            runtime.stream_writer(_to_chunk(limit))
        return {**quickstart.NEW_TURN_STATE, "messages": [request.message] if request.message else []}

    async def store_outcome(self, state: Mapping[str, Any], runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """Run the last node: store the outcome. Repeating it changes nothing."""
        run_request, thread_id = _read_request(runtime)
        storing = self._store_outcome(state, run_request, thread_id)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(storing, self.loop.asyncio_loop))
        return {}

    async def _store_outcome(self, state: Mapping[str, Any], run_request: RunRequest, thread_id: str) -> None:
        if thread_id:
            run_request = self._resume_turn(thread_id)
        run = self.resources.store.get_run(run_request.run)
        if run is None or run.status == "done":
            return
        active_run = self._open_job(run_request).active_run
        await active_run.finish_from_state(state)
        try:
            active_run.end("done")
        except StoreError as error:  # The server keeps this step open, so that a resume repeats only this step.
            log.error("the answer of run %s could not be stored: %s", run.id, error)
            raise RunFailedError(type(error).__name__) from None
        finally:
            active_run.trace.end("done")
            self._forget_run(active_run)
            active_run.close()

    # Turns of quickstart threads

    async def _start_turn(
        self, state: Mapping[str, Any], run_request: RunRequest, thread_id: str
    ) -> quickstart.QuickstartRequest:
        """Parse the request of a turn and store its run.

        Raises:
            RunFailedError: the request is invalid; nothing is stored.
        """
        default_options = self.resource_provider.default_options(DEFAULT_OWNER)
        try:
            with self.resource_provider.open_resources(DEFAULT_OWNER) as resources:
                request = quickstart.read_request(state, asdict(run_request), default_options, resources.settings)
        except quickstart.RequestError as error:
            raise RunFailedError(str(error)) from None
        active_run = self._open_job(self._store_turn(thread_id, request)).active_run
        for limit in request.limits:
            active_run.handle_event(limit)
        return request

    def _thread_runs(self, thread_id: str) -> list[Run]:
        """Return the runs of a thread, latest last."""
        runs = self.resources.store.all_turns(thread_id, DEFAULT_OWNER)
        return [run for run in runs if run.id == thread_id or run.id.startswith(f"{thread_id}-")]

    def _resume_turn(self, thread_id: str) -> RunRequest:
        """Return the current turn of a thread, resumed if it was interrupted.

        Raises:
            RunFailedError: the thread has no run.
        """
        run = next(reversed(self._thread_runs(thread_id)), None)
        if run is None:
            raise RunFailedError("there is no such run under way")
        return self._claim_run(run)

    def _claim_run(self, run: Run) -> RunRequest:
        """Return the request for a run of a thread, claiming the run first if it can be resumed."""
        request = RunRequest(run.id, f"{SERVER_ENGINE_PREFIX}{run.id}")
        if run.is_resumable:
            self.resources.store.claim_run(run.id, request.engine)
        return request

    def _store_turn(self, thread_id: str, request: quickstart.QuickstartRequest) -> RunRequest:
        """Store a run for a request; if the same one was interrupted, resume that instead.

        Raises:
            RunFailedError: the thread belongs to another run or cannot be used.
        """
        store, turns = self.resources.store, self._thread_runs(thread_id)
        if turns:
            last = turns[-1]
            is_same = (last.question, last.options) == (request.question, request.options)
            if is_same and last.status != "done":
                return self._claim_run(last)
            if last.is_active:  # the server sends no more events of it
                engine = f"{SERVER_ENGINE_PREFIX}{last.id}"
                if job := self._jobs.get(engine):
                    self._end_run(job.active_run, "interrupted")
                else:
                    store.end_run(last.id, engine, "interrupted")
        elif store.get_run(thread_id) or store.has_turns(thread_id, DEFAULT_OWNER):
            raise RunFailedError("this thread belongs to another run; begin another thread")
        run = Run(
            id=f"{thread_id}-{len(turns) + 1}" if turns else thread_id,
            conversation=thread_id,
            owner=DEFAULT_OWNER,
            question=request.question,
            options=request.options,
            status="running",
            created=datetime.now(UTC),
            follows=next((turn.id for turn in reversed(turns) if turn.status == "done"), ""),
        )
        run_request = RunRequest(run.id, f"{SERVER_ENGINE_PREFIX}{run.id}")
        if not store.add_run(run, None, run_request.engine):
            raise RunFailedError("this thread cannot be used any more; begin another one")
        return run_request

    def _open_job(self, run_request: RunRequest) -> _Job:
        """Return the job of a run, which may have begun in another process.

        Raises:
            RunFailedError: the run has ended, is deleted, or is executed by another engine.
            StoreError: the store cannot be used.
        """
        if job := self._jobs.get(run_request.engine):
            return job
        run = self.resources.store.get_run(run_request.run)
        if run is None or not run.is_active:
            raise RunFailedError("there is no such run under way")
        active_run = ActiveRun(run, run_request.engine, self.resources, lambda: None, is_resumed=True)
        with self.resource_provider.open_resources(run.owner) as resources:
            active_run.set_resources(resources)
        active_run.load_progress()
        active_run.open_budget()
        active_run.record_start()
        try:
            active_run.write("running")
        finally:
            if active_run.is_taken:
                raise RunFailedError("the run goes on elsewhere")
        active_run.start_trace()
        active_run.budget.start_clock()
        job = self._jobs[run_request.engine] = _Job(active_run, active_run.context(), time.monotonic())
        return job

    def _end_run(
        self, active_run: ActiveRun, status: RunStatus, message: str = "", error: BaseException | None = None
    ) -> None:
        active_run.trace.end(status, error)
        self._forget_run(active_run)
        try:
            active_run.end(status, message)
        except StoreError as store_error:
            # The watching processes see the failure in the server's status.
            log.error("the end of run %s could not be stored: %s", active_run.run.id, store_error)
        finally:
            active_run.close()

    def _forget_run(self, active_run: ActiveRun) -> None:
        active_run.budget.cancel_timers()
        self._jobs.pop(active_run.engine, None)
        self.resource_provider.close_unused()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            now = time.monotonic()
            for engine, job in list(self._jobs.items()):
                if not self._running_nodes[engine] and now - job.last_used > IDLE_TIMEOUT_SECONDS:
                    job.active_run.trace.end("interrupted")
                    self._forget_run(job.active_run)
            self._running_nodes = +self._running_nodes
            if not self._jobs:
                continue
            try:
                for _, engine, request in self.resources.store.run_requests():
                    if request == REQUEST_WRITE and (requested_job := self._jobs.get(engine)):
                        requested_job.active_run.stop_searching()
            except StoreError as error:
                log.warning("the store is out of reach: %s", error)

    def close(self) -> None:
        """Stop the loop; runs that the server still executes fail."""
        if not self.loop.is_closed:
            self._watcher.cancel()
            self.loop.close(self.on_close() if self.on_close else asyncio.sleep(0))
            self.resources.traces.close()
            self.resources.report_files.close()
            self.resources.store.close()


class _ServedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose copies keep the types allowed in checkpoints. The server copies it."""

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        duplicate: Any = super().copy(update)
        duplicate._serde_allowlist = self._serde_allowlist
        return duplicate

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Stream a turn; without a thread id it gets a new one."""
        configured = {"thread_id": str(uuid.uuid4()), **(config or {}).get("configurable", {})}
        thread_config, stream = {**(config or {}), "configurable": configured}, cast("Any", super().astream)
        async for part in stream(input, thread_config, **options):
            yield part

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Run a turn synchronously and wait for its result."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self.ainvoke(input, config, **options)).result()


def served_graph(nodes: Mapping[str, str], open_worker: Callable[[], ServerWorker]) -> Any:
    """Compile the graph for a server, with the given node name of each source.

    `open_worker` creates the worker of the process, once, when the first node runs.
    """
    lock = threading.Lock()

    @cache
    def cached_worker() -> ServerWorker:
        return open_worker()

    def worker() -> ServerWorker:
        with lock:
            return cached_worker()

    def wrap(name: str, node: NodeFunction) -> NodeFunction:
        async def run_node(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
            return await worker().run_node(name, node, state, runtime)

        return run_node

    async def receive_question(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        return await worker().receive_question(state, runtime)

    async def store_outcome(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        return await worker().store_outcome(state, runtime)

    state, input_schema = quickstart.QuickstartState, quickstart.QuickstartInput
    graph: Any = build_graph(nodes, wrap, receive_question, store_outcome, RunRequest, state, input_schema).compile()
    graph.__class__ = _ServedGraph
    return graph
