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

from research.agent.graph import Context, Node, build
from research.agent.nodes.answer import Unwritten
from research.core.records import Run, RunStatus
from research.runtime import quickstart
from research.runtime.base import WATCH, Lender
from research.runtime.engine import PREFIX
from research.runtime.live import Live, Resources
from research.runtime.loop import Loop
from research.storage.files import StoreError
from research.storage.store import WRITE

log = logging.getLogger(__name__)

IDLE = 60  # seconds until a run is forgotten here that has gone on elsewhere
GUEST = "local"  # in whose name runs are that no page has stored
WIND_UP = 10  # seconds that a node which was cancelled has to put its things away


@dataclass(frozen=True)
class Ticket:
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


_NAMES = [field.name for field in fields(Ticket)][2:]


def _brought(runtime: Runtime[Ticket]) -> tuple[Ticket, str]:
    """Return the ticket of a run from its context or configuration, and the thread of a client that
    uses the names of the quickstart alone; "" for a client of ours."""
    ticket, configured = runtime.context or Ticket(), get_config()["configurable"]
    if ticket.run:
        return ticket, ""
    update = {
        name: configured[name]
        for name in _NAMES
        if getattr(ticket, name) is None and configured.get(name) is not None
    }
    thread = str(configured["thread_id"])
    try:
        return replace(ticket, engine="", **update), uuid.UUID(thread).hex
    except ValueError:
        return replace(ticket, engine="", **update), uuid.uuid5(uuid.NAMESPACE_URL, thread).hex


class Failed(RuntimeError):
    """A run has failed. The store says why; the server, whose answers are less guarded, says so only to
    clients that know nothing of the store."""


@dataclass(frozen=True)
class _Seat:
    """What a node is given in place of the server's runtime."""

    context: Context


@dataclass
class _Job:
    live: Live
    context: Context
    seen: float


class Worker:
    """What one process of a server knows of the runs that it works on."""

    def __init__(
        self, resources: Resources, closing: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        self.resources, self.closing = resources, closing
        self.loop = Loop("sightline-worker")
        self.lender: Lender | None = None
        self._jobs: dict[str, _Job] = {}
        self._busy: Counter[str] = Counter()
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.raw)

    def at_work(self) -> list[Resources]:
        """What the runs that this process works on work with."""
        return [job.live.resources for job in list(self._jobs.values())]

    async def act(
        self, name: str, node: Node, state: Any, runtime: Runtime[Ticket]
    ) -> dict[str, Any]:
        """Runs a node on the loop of ours, wherever it is called."""
        ticket, thread = _brought(runtime)
        here, ended = asyncio.get_running_loop(), Future[None]()

        def write(chunk: dict[str, Any]) -> None:
            here.call_soon_threadsafe(runtime.stream_writer, chunk)

        async def inner() -> dict[str, Any]:
            try:
                return await self._act(name, node, state, ticket, thread, write)
            finally:
                ended.set_result(None)

        # Without callbacks, which a model with tools takes from the context whatever it is given: of all
        # that models say, only the answer is a message for clients.
        with set_config_context({**get_config(), "callbacks": None}) as quiet:
            begun = quiet.run(asyncio.run_coroutine_threadsafe, inner(), self.loop.raw)
        running = asyncio.wrap_future(begun)
        try:
            return await running
        except asyncio.CancelledError:
            # What it has found is put away before the server hears of it.
            await asyncio.wait([asyncio.wrap_future(ended)], timeout=WIND_UP)
            raise

    async def _act(
        self,
        name: str,
        node: Node,
        state: Any,
        ticket: Ticket,
        thread: str,
        write: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any]:
        if thread:
            ticket = self._turn(thread)
        job = self._job(ticket)
        live, context = job.live, job.context
        if thread and name == "generate_query":
            state = {**state, "asked": live.run.question}
            if not live.run.follows:
                context = replace(context, before=quickstart.recount(state["messages"]))

        def tell(kind: str, data: dict[str, Any]) -> None:
            live.told(kind, data)
            write({"kind": kind, "data": data})

        self._busy[ticket.engine] += 1
        live.trace.enter()
        try:
            update: dict[str, Any] = await node(state, _Seat(replace(context, tell=tell)))
            return quickstart.translate(name, live.run, state, update) if thread else update
        except GraphBubbleUp:
            self._end(live, "waiting")
            raise
        except asyncio.CancelledError:
            if thread and ticket.engine in self._jobs:  # nobody else notes it
                self._end(live, "interrupted")
            else:
                live.write()
            raise
        except Exception as error:  # noqa: BLE001 - the end of a run, however it came
            if isinstance(error, Unwritten):  # what stands in for the answer is kept
                live.keep_instead(error.answer)
            why = self.resources.failed(live.run.id, error)
            self._end(live, "failed", why, error)
            raise Failed(why if thread else type(error).__name__) from None
        finally:
            self._busy[ticket.engine] -= 1
            job.seen = time.monotonic()

    async def begin(self, state: Mapping[str, Any], runtime: Runtime[Ticket]) -> dict[str, Any]:
        """The first node: begins the turn of a client that knows nothing of ours."""
        ticket, thread = _brought(runtime)
        if not thread:
            return {}
        beginning = self._begin(state, ticket, thread)
        future = asyncio.run_coroutine_threadsafe(beginning, self.loop.raw)
        request = await asyncio.wrap_future(future)
        for limit in request.limits:
            runtime.stream_writer({"kind": "limit_applied", "data": asdict(limit)})
        return {**quickstart.CLEARED, "messages": [request.message] if request.message else []}

    async def report(self, state: Mapping[str, Any], runtime: Runtime[Ticket]) -> dict[str, Any]:
        """The last node: stores the outcome. Repeated, it changes nothing."""
        ticket, thread = _brought(runtime)
        reporting = self._report(state, ticket, thread)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(reporting, self.loop.raw))
        return {}

    async def _report(self, state: Mapping[str, Any], ticket: Ticket, thread: str) -> None:
        if thread:
            ticket = self._turn(thread)
        run = self.resources.store.run(ticket.run)
        if run is None or run.status == "done":
            return
        live = self._job(ticket).live
        live.keep(state.get("plan"), state.get("reflections", []), state["answer"])
        await live.save()
        try:
            live.end("done")
        except StoreError as trouble:  # the server keeps this step open: a resume repeats it alone
            log.error("the answer of run %s could not be stored: %s", run.id, trouble)
            raise Failed(type(trouble).__name__) from None
        finally:
            live.trace.end("done")
            self._drop(live)
            live.close()

    # Turns of the threads of clients that know nothing of ours

    async def _begin(
        self, state: Mapping[str, Any], ticket: Ticket, thread: str
    ) -> quickstart.Request:
        """Reads the request with which a turn begins, and stores its run.

        Raises:
            Failed: it cannot be used; nothing is stored.
        """
        usual = self.lender.usual(GUEST) if self.lender else self.resources.settings.options
        using = self.lender.using(GUEST) if self.lender else nullcontext(self.resources)
        try:
            with using as resources:
                request = quickstart.read(state, asdict(ticket), usual, resources.settings)
        except quickstart.RequestError as error:
            raise Failed(str(error)) from None
        live = self._job(self._begin_turn(thread, request)).live
        for limit in request.limits:
            live.told("limit_applied", asdict(limit))
        return request

    def _turns(self, thread: str) -> list[Run]:
        """The runs of a thread, the latest last."""
        runs = self.resources.store.all_turns(thread, GUEST)
        return [run for run in runs if run.id == thread or run.id.startswith(f"{thread}-")]

    def _turn(self, thread: str) -> Ticket:
        """The turn that is under way; one that was cut off goes on.

        Raises:
            Failed: there is none.
        """
        run = next(reversed(self._turns(thread)), None)
        if run is None:
            raise Failed("there is no such run under way")
        return self._resumed(run)

    def _resumed(self, run: Run) -> Ticket:
        ticket = Ticket(run.id, f"{PREFIX}{run.id}")
        if run.resumable:
            self.resources.store.claim(run.id, ticket.engine)
        return ticket

    def _begin_turn(self, thread: str, request: quickstart.Request) -> Ticket:
        """Stores a run for a request; one that has begun and was cut off goes on instead.

        Raises:
            Failed: the thread is not that of such a client.
        """
        store, turns = self.resources.store, self._turns(thread)
        question = store.database.text(request.question)
        if turns:
            last = turns[-1]
            same = (last.question, last.options) == (question, request.options)
            if same and last.status != "done":
                return self._resumed(last)
            if last.active:  # of which the server says no more
                engine = f"{PREFIX}{last.id}"
                if job := self._jobs.get(engine):
                    self._end(job.live, "interrupted")
                else:
                    store.end(last.id, engine, "interrupted")
        elif store.run(thread) or store.has_turns(thread, GUEST):
            raise Failed("this thread belongs to another run; begin another thread")
        run = Run(
            id=f"{thread}-{len(turns) + 1}" if turns else thread,
            conversation=thread,
            owner=GUEST,
            question=question,
            options=request.options,
            status="running",
            created=datetime.now(UTC),
            follows=next((one.id for one in reversed(turns) if one.status == "done"), ""),
        )
        ticket = Ticket(run.id, f"{PREFIX}{run.id}")
        if not store.add(run, None, ticket.engine):
            raise Failed("this thread cannot be used any more; begin another one")
        return ticket

    def _job(self, ticket: Ticket) -> _Job:
        """A run of which this process may know nothing yet: it may have begun elsewhere.

        Raises:
            Failed: the run is over, deleted, or goes on in another's name.
            StoreError: the store cannot be used.
        """
        if job := self._jobs.get(ticket.engine):
            return job
        run = self.resources.store.run(ticket.run)
        if run is None or not run.active:
            raise Failed("there is no such run under way")
        live = Live(run, ticket.engine, self.resources, lambda: None, resumed=True)
        if self.lender:
            with self.lender.using(run.owner) as resources:
                live.equip(resources)
        live.recall()
        live.account()
        live.begun()
        try:
            live.write("running")
        finally:
            if live.taken:
                raise Failed("the run goes on elsewhere")
        live.begin_trace()
        live.meter.begin()
        job = self._jobs[ticket.engine] = _Job(live, live.context(), time.monotonic())
        return job

    def _end(
        self, live: Live, status: RunStatus, why: str = "", error: BaseException | None = None
    ) -> None:
        live.trace.end(status, error)
        self._drop(live)
        try:
            live.end(status, why)
        except StoreError as trouble:
            # The server's status says it, to those who look after the run.
            log.error("the end of run %s could not be stored: %s", live.run.id, trouble)
        finally:
            live.close()

    def _drop(self, live: Live) -> None:
        live.meter.close()
        self._jobs.pop(live.engine, None)
        if self.lender:
            self.lender.released()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            now = time.monotonic()
            for engine, job in list(self._jobs.items()):
                if not self._busy[engine] and now - job.seen > IDLE:
                    job.live.trace.end("interrupted")
                    self._drop(job.live)
            self._busy = +self._busy
            if not self._jobs:
                continue
            try:
                for _, engine, wish in self.resources.store.wishes():
                    if wish == WRITE and (found := self._jobs.get(engine)):
                        found.live.end_searching()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)

    def close(self) -> None:
        """Stops the loop; what the server still runs fails."""
        if not self.loop.closed:
            self._watcher.cancel()
            self.loop.close(self.closing() if self.closing else asyncio.sleep(0))
            self.resources.traces.close()
            self.resources.files.close()
            self.resources.store.close()


class _Bound(CompiledStateGraph[Any, Any, Any, Any]):
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


def served(nodes: Mapping[str, str], opened: Callable[[], Worker]) -> Any:
    """The graph for a server, over sources given by the names of their nodes.

    `opened` makes the worker of the process, once, when the first node runs.
    """
    lock = threading.Lock()

    @cache
    def made() -> Worker:
        return opened()

    def worker() -> Worker:
        with lock:
            return made()

    def around(name: str, node: Node) -> Node:
        async def act(state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
            return await worker().act(name, node, state, runtime)

        return act

    async def begin(state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
        return await worker().begin(state, runtime)

    async def report(state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
        return await worker().report(state, runtime)

    state, given = quickstart.QuickstartState, quickstart.Input
    graph: Any = build(nodes, around, begin, report, Ticket, state, given).compile()
    graph.__class__ = _Bound
    return graph
