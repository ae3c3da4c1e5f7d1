"""Runs on an Agent Server: the same interface, and the work is done on a cluster.

The server runs the graph of `research.runtime.agent_server`; what comes of it is in the store, which the processes
of the server and those of the pages share. So pages follow a run as they do one of their own, any
number of processes may serve them, and a run goes on when the one that started it is gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.errors import APITimeoutError, LangGraphError, NotFoundError

from research.agent.graph import RECURSION_LIMIT
from research.core.errors import Trouble
from research.core.records import Check, Options, Run, RunStatus
from research.core.settings import open_address
from research.runtime.base import WATCH, Runs
from research.runtime.check import timed
from research.runtime.engine import PREFIX, SERVED, TURN, joined
from research.runtime.live import Resources
from research.storage.files import StoreError
from research.storage.store import STOP

log = logging.getLogger(__name__)

GRAPH = "research"  # its name in langgraph.json
LOOK = 2.0  # seconds between two looks at what the server says of the runs under way
GRACE = 3.0  # seconds in which the store learns from the graph itself that a run is over
UNKNOWN = 15.0  # seconds in which a server that knows nothing of a run may still be told of it
TIMEOUT = (5.0, 30.0, 30.0, 30.0)  # seconds: to connect, read, write, and for a connection
TROUBLES = (LangGraphError, httpx.HTTPError)
_Status = Literal["unknown", "going", "success", "error", "interrupted"]
_GOING = ("pending", "running")


class RemoteRuns(Runs):
    """The engine of runs that an Agent Server works on."""

    def __init__(
        self,
        resources: Resources,
        usual: Callable[[], Options] | None = None,
        closing: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Starts the loop. The store is closed at the end. The server need not be there yet; the traces
        of its runs are its own.

        Raises:
            StoreError: the store cannot be used.
        """
        settings, store = resources.settings, resources.store
        try:
            self._engine = joined(store.database)
        except StoreError:
            store.close()
            raise
        super().__init__(resources, usual, closing)
        key = settings.runs_key.get_secret_value() or None
        self._place = open_address(settings.runs_url)
        self._client = get_client(url=settings.runs_url, api_key=key, timeout=TIMEOUT)
        self._mine: set[str] = set()  # runs of which this process clears up what the server keeps
        self._since: dict[tuple[str, _Status], float] = {}
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.raw)
        self._look_after()
        store.archive.fill()

    def close(self) -> None:
        """Stops following. The runs go on."""
        if self.loop.closed:
            return
        self._watcher.cancel()
        self.loop.close(self._close())
        self._engine.close()
        self.store.close()

    async def _close(self) -> None:
        if self._closing:
            await self._closing()
        await self._client.aclose()

    # What an engine does

    def _engine_of(self, run_id: str) -> str:
        return f"{PREFIX}{uuid.uuid4().hex}"

    def _spawn(self, run: Run, engine: str, *, resumed: bool = False, write: bool = False) -> None:
        self._mine.add(run.id)
        if self.limited:
            self._admit()
        else:
            self.loop.begin(self._submit(run.id, engine))

    def _end(self, run: Run, *, write: bool) -> None:
        if write:
            self.store.ask_to_write(run.id)
        else:
            self.store.ask_to_stop(run.id)
            self.loop.begin(self._cancel(run.id))

    def _look_after(self, run: Run | None = None) -> None:
        """Runs of a process that worked by itself and is gone are interrupted. What the server works
        on is looked after in the background."""
        for engine, run_ids in self.store.engines().items():
            if engine not in SERVED and not self._engine.alive(engine):
                for run_id in run_ids:
                    self.store.end(run_id, engine, "interrupted")

    async def _clean(self, run_id: str) -> None:
        try:
            await self._client.threads.delete(thread(run_id))
        except NotFoundError:
            pass
        except TROUBLES as error:
            log.warning("the server still has the checkpoints of run %s: %s", run_id, error)

    async def _reclaim(self) -> None:
        """The server sees to its own database."""

    async def check(self) -> list[Check]:
        """Asks the server whether it has the graph."""

        async def ask() -> None:
            try:
                found = await self._client.assistants.search(graph_id=GRAPH, limit=1)
            except TROUBLES as error:
                raise _trouble(error) from error
            if not found:
                raise Trouble("refused", f"the server has no graph {GRAPH!r}")

        seconds, failure = await timed(ask)
        return [
            Check(
                name="runs", setting="RUNS_URL", model=self._place, seconds=seconds, failure=failure
            )
        ]

    # On the server

    def _admit(self) -> None:
        """Lets those begin whose turn it is, whichever process stored them."""
        settings = self.resources.settings
        try:
            for one in self.store.admit(SERVED, settings.runs_at_once, settings.runs_each):
                self.loop.begin(self._submit(one.id, one.engine))
        except StoreError as trouble:
            log.warning("the queue waits: %s", trouble)

    async def _submit(self, run_id: str, engine: str) -> None:
        """Gives a run to the server, to begin it or to go on with it."""
        run = self.store.run(run_id)
        if run is None:
            return
        try:
            begun = await self._begun(run_id)
            await self._client.threads.create(thread_id=thread(run_id), if_exists="do_nothing")
            begin: dict[str, Any] = {"input": {"asked": run.question}}
            await self._client.runs.create(
                thread(run_id),
                GRAPH,
                **({"checkpoint": {}} if begun else begin),
                context={"run": run_id, "engine": engine},
                config={"recursion_limit": RECURSION_LIMIT},
                stream_mode=["custom"],
                multitask_strategy="interrupt",
                durability="sync",
            )
        except TROUBLES as error:
            log.warning("run %s cannot be given to the server: %s", run_id, error)
            told = f"The run server at {self._place} cannot be used: {_trouble(error)}."
            self._over(run_id, engine, "interrupted", told)

    async def _begun(self, run_id: str) -> bool:
        """Whether the server can go on with a run. What it cannot go on with is deleted there: the run
        begins anew, and its searches are in the store."""
        try:
            state = await self._client.threads.get_state(thread(run_id))
        except NotFoundError:
            return False
        if not state["values"]:
            return False
        if state["next"]:
            return True
        await self._clean(run_id)
        return False

    async def _cancel(self, run_id: str) -> None:
        """Stops the work of the server on a run; one that waits for its turn leaves the queue."""
        run = self.store.run(run_id)
        engine = next((by for by, ids in self.store.engines().items() if run_id in ids), "")
        if run is None or not engine:
            return
        try:
            for going in await self._client.runs.list(thread(run_id), limit=5):
                if going["status"] in _GOING:
                    await self._client.runs.cancel(thread(run_id), going["run_id"], wait=True)
        except NotFoundError:
            pass
        except TROUBLES as error:  # it is tried again as long as the wish is there
            log.warning("run %s cannot be stopped: %s", run_id, error)
            return
        self._over(run_id, engine, "stopped")

    def _over(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> None:
        self._since = {key: at for key, at in self._since.items() if key[0] != engine}
        try:
            self.store.end(run_id, engine, status, error)
        except StoreError as trouble:
            log.warning("the end of run %s could not be stored: %s", run_id, trouble)
        self._told()

    # Looking after what goes on there

    async def _watch(self) -> None:
        looked = 0.0
        while True:
            await asyncio.sleep(WATCH)
            try:
                self._engine.hold()
                if self.limited and any(one.status == "queued" for one in self.store.line()):
                    self._admit()
                if time.monotonic() - looked >= LOOK:
                    await self._look()
                    looked = time.monotonic()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)
            except TROUBLES as error:
                log.warning("the run server is out of reach: %s", error)

    async def _look(self) -> None:
        wishes = {run_id: wish for run_id, _, wish in self.store.wishes()}
        going = {
            (run_id, engine)
            for engine, run_ids in self.store.engines().items()
            if engine in SERVED
            for run_id in run_ids
        }
        queued = {one.id for one in self.store.line() if one.status == "queued"}
        for run_id, engine in going:
            if wishes.get(run_id) == STOP:
                await self._cancel(run_id)
            elif not (self.limited and run_id in queued):
                await self._compare(run_id, engine)
        for run_id in self._mine - {run_id for run_id, _ in going}:
            run = self.store.run(run_id)
            if run and run.status == "done":
                await self._clean(run_id)
            self._mine.discard(run_id)

    async def _compare(self, run_id: str, engine: str) -> None:
        """Ends a run in the store whose work has ended on the server without a word: the process that
        should have said it is gone, or the server has lost the run."""
        status = await self._status(run_id)
        since = self._since.setdefault((engine, status), time.monotonic())
        patience = UNKNOWN if status == "unknown" else GRACE
        if status == "going" or time.monotonic() - since < patience:
            return
        error = (
            "" if status != "error" else "the run failed on the server, whose log has the details"
        )
        ended: RunStatus = "failed" if status == "error" else "interrupted"
        self._over(run_id, engine, ended, error)

    async def _status(self, run_id: str) -> _Status:
        try:
            latest = await self._client.runs.list(thread(run_id), limit=1)
        except NotFoundError:
            return "unknown"
        if not latest:
            return "unknown"
        status = latest[0]["status"]
        if status in _GOING:
            return "going"
        if status in ("error", "timeout"):
            return "error"
        return "success" if status == "success" else "interrupted"


def thread(run_id: str) -> str:
    """The server's name for a run: it takes no other than a UUID. Several runs of a client that knows
    nothing of ours are turns of one thread."""
    turn = TURN.fullmatch(run_id)
    try:
        return str(uuid.UUID(turn[1] if turn else run_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sightline:{run_id}"))


def _trouble(error: Exception) -> Trouble:
    """What is wrong with the server. What it says itself is not repeated: it may quote a request."""
    status = getattr(error, "status_code", None) or getattr(
        getattr(error, "response", None), "status_code", None
    )
    if status in (401, 403):
        return Trouble("refused", f"it refuses the key of RUNS_API_KEY (HTTP {status})")
    if status:
        return Trouble("malformed", f"it answers with HTTP {status}")
    if isinstance(error, httpx.TimeoutException | APITimeoutError):
        return Trouble("timeout", "it does not answer in time")
    return Trouble("unreachable", "it is not there")
