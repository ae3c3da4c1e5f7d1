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
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from research.graph import Context, Node, build
from research.records import Run, RunStatus
from research.runs.base import WATCH, Lender
from research.runs.engine import PREFIX
from research.runs.live import Live, Resources
from research.runs.loop import Loop
from research.stages.answer import Unwritten
from research.stages.question import QuestionError, understand
from research.storage import StoreError
from research.store.store import WRITE

log = logging.getLogger(__name__)

IDLE = 60  # seconds until a run is forgotten here that has gone on elsewhere
GUEST = "local"  # in whose name runs are that no page has stored
WIND_UP = 10  # seconds that a node which was cancelled has to put its things away


@dataclass(frozen=True)
class Ticket:
    """What a run brings to the server: its id, and in whose name it is worked on. A client that knows
    nothing of ours brings neither: then the thread is the run."""

    run: str = ""
    engine: str = ""

    @property
    def guest(self) -> bool:
        """Whether the thread is the run."""
        return self.engine == f"{PREFIX}{self.run}"


def _ticket(runtime: Runtime[Ticket]) -> Ticket:
    """What the run that is being worked on has brought, or what stands for it."""
    brought = runtime.context
    if brought and brought.run:
        return brought
    thread = uuid.UUID(str(get_config()["configurable"]["thread_id"])).hex
    return Ticket(thread, f"{PREFIX}{thread}")


class Failed(RuntimeError):
    """A run has failed. The store says why; the server, whose answers are less guarded, does not."""


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

    async def act(self, node: Node, state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
        """Runs a node on the loop of ours, wherever it is called."""
        ticket, here, ended = _ticket(runtime), asyncio.get_running_loop(), Future[None]()

        def write(chunk: dict[str, Any]) -> None:
            here.call_soon_threadsafe(runtime.stream_writer, chunk)

        async def inner() -> dict[str, Any]:
            try:
                return await self._act(node, state, ticket, write)
            finally:
                ended.set_result(None)

        running = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(inner(), self.loop.raw))
        try:
            return await running
        except asyncio.CancelledError:
            # What it has found is put away before the server hears of it.
            await asyncio.wait([asyncio.wrap_future(ended)], timeout=WIND_UP)
            raise

    async def _act(
        self, node: Node, state: Any, ticket: Ticket, write: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        if ticket.guest and ticket.engine not in self._jobs:
            asked = state.get("asked") if isinstance(state, Mapping) else ""
            self._welcome(ticket, str(asked or ""))
        job = self._job(ticket)
        live = job.live

        def tell(kind: str, data: dict[str, Any]) -> None:
            live.told(kind, data)
            write({"kind": kind, "data": data})

        self._busy[ticket.engine] += 1
        live.trace.enter()
        try:
            return await node(state, _Seat(replace(job.context, tell=tell)))  # type: ignore[no-any-return]
        except GraphBubbleUp:
            self._end(live, "waiting")
            raise
        except asyncio.CancelledError:
            live.write()
            raise
        except Exception as error:  # noqa: BLE001 - the end of a run, however it came
            if isinstance(error, Unwritten):  # what stands in for the answer is kept
                live.keep_instead(error.answer)
            self._end(live, "failed", self.resources.failed(live.run.id, error), error)
            raise Failed(type(error).__name__) from None
        finally:
            self._busy[ticket.engine] -= 1
            job.seen = time.monotonic()

    async def report(self, state: Mapping[str, Any], runtime: Runtime[Ticket]) -> dict[str, Any]:
        """The last node: stores the outcome. Repeated, it changes nothing."""
        ticket = _ticket(runtime)
        future = asyncio.run_coroutine_threadsafe(self._report(state, ticket), self.loop.raw)
        await asyncio.wrap_future(future)
        return {}

    async def _report(self, state: Mapping[str, Any], ticket: Ticket) -> None:
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

    def _welcome(self, ticket: Ticket, asked: str) -> None:
        """Stores a run that begins with a question from a client that knows nothing of ours. Nobody is
        there to approve its plan or to be asked back.

        Raises:
            Failed: the question cannot be researched, or the thread has had one.
        """
        if run := self.resources.store.run(ticket.run):
            if not run.active:
                raise Failed("this thread has had its question; begin another one")
            return
        try:
            question = understand(asked).text
        except QuestionError as error:
            raise Failed(f'"asked" is no question: {error.problem}') from None
        usual = self.lender.usual(GUEST) if self.lender else self.resources.settings.options
        run = Run(
            id=ticket.run,
            conversation=ticket.run,
            owner=GUEST,
            question=self.resources.store.database.text(question),
            options=usual.model_copy(update={"approve": False, "clarify": False}),
            status="running",
            created=datetime.now(UTC),
        )
        self.resources.store.add(run, None, ticket.engine)

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

    def around(node: Node) -> Node:
        async def act(state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
            return await worker().act(node, state, runtime)

        return act

    async def report(state: Any, runtime: Runtime[Ticket]) -> dict[str, Any]:
        return await worker().report(state, runtime)

    graph: Any = build(nodes, around, report, Ticket).compile()
    graph.__class__ = _Bound
    return graph
