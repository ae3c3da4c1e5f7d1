"""Work on runs that an Agent Server schedules: its graph, whose nodes take what they need from here.

The server decides where and when a node runs, keeps the checkpoints, and starts a run again elsewhere
when a machine is gone. What a run says, finds and answers goes into the store that the pages read.
The nodes run on a loop of our own, as they do without a server: there the clients live, and a call
that blocks for a moment holds up no other work of the server's.
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
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from langchain_core.runnables.config import set_config_context
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from research.agent.graph import GraphContext, NodeFunction, build_graph
from research.agent.nodes.answer import AnswerNotWrittenError
from research.core.records import Run, RunStatus
from research.runtime import quickstart
from research.runtime.active_run import ActiveRun, RunResources
from research.runtime.engine_lock import SERVER_ENGINE_PREFIX
from research.runtime.event_loop import EventLoopThread
from research.runtime.run_manager import POLL_SECONDS, ResourceProvider
from research.storage.sqlite_files import StoreError
from research.storage.store import REQUEST_WRITE

log = logging.getLogger(__name__)

IDLE_TIMEOUT_SECONDS = 60  # seconds until a run is forgotten here that has gone on elsewhere
DEFAULT_OWNER = "local"  # in whose name runs are that no page has stored
CANCEL_TIMEOUT_SECONDS = 10  # seconds that a node which was cancelled has to put its things away


@dataclass(frozen=True)
class RunRequest:
    """What a run brings to the server: its id, and in whose name it is worked on. A client that knows
    nothing of ours brings neither: each turn of its thread is a run. It may bring the other names,
    which are those of the quickstart."""

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
    """Return the ticket of a run from its context or configuration, and the thread of a client that
    uses the names of the quickstart alone; "" for a client of ours."""
    ticket, configured = runtime.context or RunRequest(), get_config()["configurable"]
    if ticket.run:
        return ticket, ""
    update = {
        name: configured[name]
        for name in _QUICKSTART_NAMES
        if getattr(ticket, name) is None and configured.get(name) is not None
    }
    thread = str(configured["thread_id"])
    try:
        return replace(ticket, engine="", **update), uuid.UUID(thread).hex
    except ValueError:
        return replace(ticket, engine="", **update), uuid.uuid5(uuid.NAMESPACE_URL, thread).hex


class RunFailedError(RuntimeError):
    """A run has failed. The store says why; the server, whose answers are less guarded, says so only to
    clients that know nothing of the store."""


@dataclass(frozen=True)
class _NodeRuntime:
    """What a node is given in place of the server's runtime."""

    context: GraphContext


@dataclass
class _Job:
    active_run: ActiveRun
    context: GraphContext
    last_used: float


class ServerWorker:
    """What one process of a server knows of the runs that it works on."""

    def __init__(
        self, resources: RunResources, on_close: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        self.resources, self.on_close = resources, on_close
        self.loop = EventLoopThread("sightline-worker")
        self.resource_provider: ResourceProvider | None = None
        self._jobs: dict[str, _Job] = {}
        self._running_nodes: Counter[str] = Counter()
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.asyncio_loop)

    def active_resources(self) -> list[RunResources]:
        """What the runs that this process works on work with."""
        return [job.active_run.resources for job in list(self._jobs.values())]

    async def run_node(self, name: str, node: NodeFunction, state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """Runs a node on the loop of ours, wherever it is called."""
        ticket, thread = _read_request(runtime)
        here, ended = asyncio.get_running_loop(), Future[None]()

        def write(chunk: dict[str, Any]) -> None:
            here.call_soon_threadsafe(runtime.stream_writer, chunk)

        async def inner() -> dict[str, Any]:
            try:
                return await self._run_node(name, node, state, ticket, thread, write)
            finally:
                ended.set_result(None)

        # Without callbacks, which a model with tools takes from the context whatever it is given: of all
        # that models say, only the answer is a message for clients.
        with set_config_context({**get_config(), "callbacks": None}) as quiet:
            begun = quiet.run(asyncio.run_coroutine_threadsafe, inner(), self.loop.asyncio_loop)
        running = asyncio.wrap_future(begun)
        try:
            return await running
        except asyncio.CancelledError:
            # What it has found is put away before the server hears of it.
            await asyncio.wait([asyncio.wrap_future(ended)], timeout=CANCEL_TIMEOUT_SECONDS)
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
        live, context = job.active_run, job.context
        if thread_id and name == "generate_query":
            state = {**state, "asked": live.run.question}
            if not live.run.follows:
                context = replace(context, memory=quickstart.build_memory(state["messages"]))

        def tell(kind: str, data: dict[str, Any]) -> None:
            live.handle_event(kind, data)
            write_chunk({"kind": kind, "data": data})

        self._running_nodes[run_request.engine] += 1
        live.trace.activate()
        try:
            update: dict[str, Any] = await node(state, _NodeRuntime(replace(context, send_event=tell)))
            return quickstart.add_quickstart_names(name, live.run, state, update) if thread_id else update
        except GraphBubbleUp:
            self._end_run(live, "waiting")
            raise
        except asyncio.CancelledError:
            if thread_id and run_request.engine in self._jobs:  # nobody else notes it
                self._end_run(live, "interrupted")
            else:
                live.write()
            raise
        except Exception as error:  # noqa: BLE001 - the end of a run, however it came
            if isinstance(error, AnswerNotWrittenError):  # what stands in for the answer is kept
                live.set_fallback_answer(error.answer)
            why = self.resources.log_failure(live.run.id, error)
            self._end_run(live, "failed", why, error)
            raise RunFailedError(why if thread_id else type(error).__name__) from None
        finally:
            self._running_nodes[run_request.engine] -= 1
            job.last_used = time.monotonic()

    async def receive_question(self, state: Mapping[str, Any], runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """The first node: begins the turn of a client that knows nothing of ours."""
        ticket, thread = _read_request(runtime)
        if not thread:
            return {}
        beginning = self._start_turn(state, ticket, thread)
        future = asyncio.run_coroutine_threadsafe(beginning, self.loop.asyncio_loop)
        request = await asyncio.wrap_future(future)
        for limit in request.limits:
            runtime.stream_writer({"kind": "limit_applied", "data": asdict(limit)})
        return {**quickstart.NEW_TURN_STATE, "messages": [request.message] if request.message else []}

    async def store_outcome(self, state: Mapping[str, Any], runtime: Runtime[RunRequest]) -> dict[str, Any]:
        """The last node: stores the outcome. Repeated, it changes nothing."""
        ticket, thread = _read_request(runtime)
        reporting = self._store_outcome(state, ticket, thread)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(reporting, self.loop.asyncio_loop))
        return {}

    async def _store_outcome(self, state: Mapping[str, Any], run_request: RunRequest, thread_id: str) -> None:
        if thread_id:
            run_request = self._resume_turn(thread_id)
        run = self.resources.store.get_run(run_request.run)
        if run is None or run.status == "done":
            return
        live = self._open_job(run_request).active_run
        live.set_outcome(state.get("plan"), state.get("reflections", []), state["answer"])
        await live.save_report()
        try:
            live.end("done")
        except StoreError as trouble:  # the server keeps this step open: a resume repeats it alone
            log.error("the answer of run %s could not be stored: %s", run.id, trouble)
            raise RunFailedError(type(trouble).__name__) from None
        finally:
            live.trace.end("done")
            self._forget_run(live)
            live.close()

    # Turns of the threads of clients that know nothing of ours

    async def _start_turn(
        self, state: Mapping[str, Any], run_request: RunRequest, thread_id: str
    ) -> quickstart.QuickstartRequest:
        """Reads the request with which a turn begins, and stores its run.

        Raises:
            Failed: it cannot be used; nothing is stored.
        """
        usual = (
            self.resource_provider.default_options(DEFAULT_OWNER)
            if self.resource_provider
            else self.resources.settings.options
        )
        using = (
            self.resource_provider.open_resources(DEFAULT_OWNER)
            if self.resource_provider
            else nullcontext(self.resources)
        )
        try:
            with using as resources:
                request = quickstart.read_request(state, asdict(run_request), usual, resources.settings)
        except quickstart.RequestError as error:
            raise RunFailedError(str(error)) from None
        live = self._open_job(self._store_turn(thread_id, request)).active_run
        for limit in request.limits:
            live.handle_event("limit_applied", asdict(limit))
        return request

    def _thread_runs(self, thread_id: str) -> list[Run]:
        """The runs of a thread, the latest last."""
        runs = self.resources.store.all_turns(thread_id, DEFAULT_OWNER)
        return [run for run in runs if run.id == thread_id or run.id.startswith(f"{thread_id}-")]

    def _resume_turn(self, thread_id: str) -> RunRequest:
        """The turn that is under way; one that was cut off goes on.

        Raises:
            Failed: there is none.
        """
        run = next(reversed(self._thread_runs(thread_id)), None)
        if run is None:
            raise RunFailedError("there is no such run under way")
        return self._claim_run(run)

    def _claim_run(self, run: Run) -> RunRequest:
        ticket = RunRequest(run.id, f"{SERVER_ENGINE_PREFIX}{run.id}")
        if run.is_resumable:
            self.resources.store.claim_run(run.id, ticket.engine)
        return ticket

    def _store_turn(self, thread_id: str, request: quickstart.QuickstartRequest) -> RunRequest:
        """Stores a run for a request; one that has begun and was cut off goes on instead.

        Raises:
            Failed: the thread is not that of such a client.
        """
        store, turns = self.resources.store, self._thread_runs(thread_id)
        question = store.database.storable_text(request.question)
        if turns:
            last = turns[-1]
            same = (last.question, last.options) == (question, request.options)
            if same and last.status != "done":
                return self._claim_run(last)
            if last.is_active:  # of which the server says no more
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
            question=question,
            options=request.options,
            status="running",
            created=datetime.now(UTC),
            follows=next((one.id for one in reversed(turns) if one.status == "done"), ""),
        )
        ticket = RunRequest(run.id, f"{SERVER_ENGINE_PREFIX}{run.id}")
        if not store.add_run(run, None, ticket.engine):
            raise RunFailedError("this thread cannot be used any more; begin another one")
        return ticket

    def _open_job(self, run_request: RunRequest) -> _Job:
        """A run of which this process may know nothing yet: it may have begun elsewhere.

        Raises:
            Failed: the run is over, deleted, or goes on in another's name.
            StoreError: the store cannot be used.
        """
        if job := self._jobs.get(run_request.engine):
            return job
        run = self.resources.store.get_run(run_request.run)
        if run is None or not run.is_active:
            raise RunFailedError("there is no such run under way")
        live = ActiveRun(run, run_request.engine, self.resources, lambda: None, is_resumed=True)
        if self.resource_provider:
            with self.resource_provider.open_resources(run.owner) as resources:
                live.set_resources(resources)
        live.load_progress()
        live.open_budget()
        live.record_start()
        try:
            live.write("running")
        finally:
            if live.is_taken:
                raise RunFailedError("the run goes on elsewhere")
        live.start_trace()
        live.budget.start_clock()
        job = self._jobs[run_request.engine] = _Job(live, live.context(), time.monotonic())
        return job

    def _end_run(
        self, active_run: ActiveRun, status: RunStatus, message: str = "", error: BaseException | None = None
    ) -> None:
        active_run.trace.end(status, error)
        self._forget_run(active_run)
        try:
            active_run.end(status, message)
        except StoreError as trouble:
            # The server's status says it, to those who look after the run.
            log.error("the end of run %s could not be stored: %s", active_run.run.id, trouble)
        finally:
            active_run.close()

    def _forget_run(self, active_run: ActiveRun) -> None:
        active_run.budget.cancel_timers()
        self._jobs.pop(active_run.engine, None)
        if self.resource_provider:
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
                for _, engine, wish in self.resources.store.run_requests():
                    if wish == REQUEST_WRITE and (found := self._jobs.get(engine)):
                        found.active_run.end_searching()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)

    def close(self) -> None:
        """Stops the loop; what the server still runs fails."""
        if not self.loop.is_closed:
            self._watcher.cancel()
            self.loop.close(self.on_close() if self.on_close else asyncio.sleep(0))
            self.resources.traces.close()
            self.resources.report_files.close()
            self.resources.store.close()


class _ServedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph whose copies still know which types its checkpoints may hold. A server copies it."""

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        made: Any = super().copy(update)
        made._serde_allowlist = self._serde_allowlist
        return made

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Streams a turn; without a thread it has one of its own."""
        configured = {"thread_id": str(uuid.uuid4()), **(config or {}).get("configurable", {})}
        own, stream = {**(config or {}), "configurable": configured}, cast("Any", super().astream)
        async for part in stream(input, own, **options):
            yield part

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Runs a turn from a program that is not asynchronous, and waits for it."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self.ainvoke(input, config, **options)).result()


def served_graph(nodes: Mapping[str, str], open_worker: Callable[[], ServerWorker]) -> Any:
    """The graph for a server, over sources given by the names of their nodes.

    `opened` makes the worker of the process, once, when the first node runs.
    """
    lock = threading.Lock()

    @cache
    def made() -> ServerWorker:
        return open_worker()

    def worker() -> ServerWorker:
        with lock:
            return made()

    def around(name: str, node: NodeFunction) -> NodeFunction:
        async def act(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
            return await worker().run_node(name, node, state, runtime)

        return act

    async def begin(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        return await worker().receive_question(state, runtime)

    async def report(state: Any, runtime: Runtime[RunRequest]) -> dict[str, Any]:
        return await worker().store_outcome(state, runtime)

    state, given = quickstart.QuickstartState, quickstart.QuickstartInput
    graph: Any = build_graph(nodes, around, begin, report, RunRequest, state, given).compile()
    graph.__class__ = _ServedGraph
    return graph
