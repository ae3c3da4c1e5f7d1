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
from research.core.errors import ServiceError
from research.core.records import ConnectionCheck, Run, RunOptions, RunStatus
from research.core.settings import strip_credentials
from research.runtime.active_run import RunResources
from research.runtime.connection_checks import time_request
from research.runtime.engine_lock import LATER_TURN_ID, SERVER_ENGINE_PREFIX, SERVER_ENGINES, acquire_engine_lock
from research.runtime.run_manager import POLL_SECONDS, RunManager
from research.storage.sqlite_files import StoreError
from research.storage.store import REQUEST_STOP

log = logging.getLogger(__name__)

GRAPH_NAME = "research"  # its name in langgraph.json
STATUS_INTERVAL_SECONDS = 2.0  # seconds between two looks at what the server says of the runs under way
END_GRACE_SECONDS = 3.0  # seconds in which the store learns from the graph itself that a run is over
UNKNOWN_GRACE_SECONDS = 15.0  # seconds in which a server that knows nothing of a run may still be told of it
TIMEOUT_SECONDS = (5.0, 30.0, 30.0, 30.0)  # seconds: to connect, read, write, and for a connection
SERVER_ERRORS = (LangGraphError, httpx.HTTPError)
_ServerStatus = Literal["unknown", "going", "success", "error", "interrupted"]
_RUNNING_STATUSES = ("pending", "running")


class RemoteRunManager(RunManager):
    """The engine of runs that an Agent Server works on."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Starts the loop. The store is closed at the end. The server need not be there yet; the traces
        of its runs are its own.

        Raises:
            StoreError: the store cannot be used.
        """
        settings, store = resources.settings, resources.store
        try:
            self._engine_lock = acquire_engine_lock(store.database)
        except StoreError:
            store.close()
            raise
        super().__init__(resources, default_options, on_close)
        key = settings.runs_key.get_secret_value() or None
        self._address = strip_credentials(settings.runs_url)
        self._client = get_client(url=settings.runs_url, api_key=key, timeout=TIMEOUT_SECONDS)
        self._own_runs: set[str] = set()  # runs of which this process clears up what the server keeps
        self._status_since: dict[tuple[str, _ServerStatus], float] = {}
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.asyncio_loop)
        self._interrupt_lost_runs()
        store.history.start_indexing()

    def close(self) -> None:
        """Stops following. The runs go on."""
        if self.loop.is_closed:
            return
        self._watcher.cancel()
        self.loop.close(self._close())
        self._engine_lock.close()
        self.store.close()

    async def _close(self) -> None:
        if self._on_close:
            await self._on_close()
        await self._client.aclose()

    # What an engine does

    def _choose_engine(self, run_id: str) -> str:
        return f"{SERVER_ENGINE_PREFIX}{uuid.uuid4().hex}"

    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        self._own_runs.add(run.id)
        if self.has_run_limits:
            self._admit_queued()
        else:
            self.loop.start(self._submit(run.id, engine))

    def _request_end(self, run: Run, *, write_only: bool) -> None:
        if write_only:
            self.store.request_write(run.id)
        else:
            self.store.request_stop(run.id)
            self.loop.start(self._cancel(run.id))

    def _interrupt_lost_runs(self, run: Run | None = None) -> None:
        """Runs of a process that worked by itself and is gone are interrupted. What the server works
        on is looked after in the background."""
        for engine, run_ids in self.store.runs_by_engine().items():
            if engine not in SERVER_ENGINES and not self._engine_lock.is_alive(engine):
                for run_id in run_ids:
                    self.store.end_run(run_id, engine, "interrupted")

    async def delete_checkpoints(self, run_id: str) -> None:
        try:
            await self._client.threads.delete(thread_id(run_id))
        except NotFoundError:
            pass
        except SERVER_ERRORS as error:
            log.warning("the server still has the checkpoints of run %s: %s", run_id, error)

    async def reclaim_checkpoint_space(self) -> None:
        """The server sees to its own database."""

    async def check_connection(self) -> list[ConnectionCheck]:
        """Asks the server whether it has the graph."""

        async def ask() -> None:
            try:
                found = await self._client.assistants.search(graph_id=GRAPH_NAME, limit=1)
            except SERVER_ERRORS as error:
                raise _to_service_error(error) from error
            if not found:
                raise ServiceError("refused", f"the server has no graph {GRAPH_NAME!r}")

        seconds, failure = await time_request(ask)
        return [ConnectionCheck(name="runs", setting="RUNS_URL", model=self._address, seconds=seconds, failure=failure)]

    # On the server

    def _admit_queued(self) -> None:
        """Lets those begin whose turn it is, whichever process stored them."""
        settings = self.resources.settings
        try:
            for one in self.store.admit_runs(SERVER_ENGINES, settings.runs_at_once, settings.runs_each):
                self.loop.start(self._submit(one.id, one.engine))
        except StoreError as trouble:
            log.warning("the queue waits: %s", trouble)

    async def _submit(self, run_id: str, engine: str) -> None:
        """Gives a run to the server, to begin it or to go on with it."""
        run = self.store.get_run(run_id)
        if run is None:
            return
        try:
            begun = await self._can_continue(run_id)
            await self._client.threads.create(thread_id=thread_id(run_id), if_exists="do_nothing")
            begin: dict[str, Any] = {"input": {"asked": run.question}}
            await self._client.runs.create(
                thread_id(run_id),
                GRAPH_NAME,
                **({"checkpoint": {}} if begun else begin),
                context={"run": run_id, "engine": engine},
                config={"recursion_limit": RECURSION_LIMIT},
                stream_mode=["custom"],
                multitask_strategy="interrupt",
                durability="sync",
            )
        except SERVER_ERRORS as error:
            log.warning("run %s cannot be given to the server: %s", run_id, error)
            told = f"The run server at {self._address} cannot be used: {_to_service_error(error)}."
            self._store_end(run_id, engine, "interrupted", told)

    async def _can_continue(self, run_id: str) -> bool:
        """Whether the server can go on with a run. What it cannot go on with is deleted there: the run
        begins anew, and its searches are in the store."""
        try:
            state = await self._client.threads.get_state(thread_id(run_id))
        except NotFoundError:
            return False
        if not state["values"]:
            return False
        if state["next"]:
            return True
        await self.delete_checkpoints(run_id)
        return False

    async def _cancel(self, run_id: str) -> None:
        """Stops the work of the server on a run; one that waits for its turn leaves the queue."""
        run = self.store.get_run(run_id)
        engine = next((by for by, ids in self.store.runs_by_engine().items() if run_id in ids), "")
        if run is None or not engine:
            return
        try:
            for going in await self._client.runs.list(thread_id(run_id), limit=5):
                if going["status"] in _RUNNING_STATUSES:
                    await self._client.runs.cancel(thread_id(run_id), going["run_id"], wait=True)
        except NotFoundError:
            pass
        except SERVER_ERRORS as error:  # it is tried again as long as the wish is there
            log.warning("run %s cannot be stopped: %s", run_id, error)
            return
        self._store_end(run_id, engine, "stopped")

    def _store_end(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> None:
        self._status_since = {key: at for key, at in self._status_since.items() if key[0] != engine}
        try:
            self.store.end_run(run_id, engine, status, error)
        except StoreError as trouble:
            log.warning("the end of run %s could not be stored: %s", run_id, trouble)
        self._notify()

    # Looking after what goes on there

    async def _watch(self) -> None:
        looked = 0.0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                self._engine_lock.ensure_held()
                if self.has_run_limits and any(one.status == "queued" for one in self.store.queue_entries()):
                    self._admit_queued()
                if time.monotonic() - looked >= STATUS_INTERVAL_SECONDS:
                    await self._check_runs()
                    looked = time.monotonic()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)
            except SERVER_ERRORS as error:
                log.warning("the run server is out of reach: %s", error)

    async def _check_runs(self) -> None:
        wishes = {run_id: wish for run_id, _, wish in self.store.run_requests()}
        going = {
            (run_id, engine)
            for engine, run_ids in self.store.runs_by_engine().items()
            if engine in SERVER_ENGINES
            for run_id in run_ids
        }
        queued = {one.id for one in self.store.queue_entries() if one.status == "queued"}
        for run_id, engine in going:
            if wishes.get(run_id) == REQUEST_STOP:
                await self._cancel(run_id)
            elif not (self.has_run_limits and run_id in queued):
                await self._compare_status(run_id, engine)
        for run_id in self._own_runs - {run_id for run_id, _ in going}:
            run = self.store.get_run(run_id)
            if run and run.status == "done":
                await self.delete_checkpoints(run_id)
            self._own_runs.discard(run_id)

    async def _compare_status(self, run_id: str, engine: str) -> None:
        """Ends a run in the store whose work has ended on the server without a word: the process that
        should have said it is gone, or the server has lost the run."""
        status = await self._server_status(run_id)
        since = self._status_since.setdefault((engine, status), time.monotonic())
        patience = UNKNOWN_GRACE_SECONDS if status == "unknown" else END_GRACE_SECONDS
        if status == "going" or time.monotonic() - since < patience:
            return
        error = "" if status != "error" else "the run failed on the server, whose log has the details"
        ended: RunStatus = "failed" if status == "error" else "interrupted"
        self._store_end(run_id, engine, ended, error)

    async def _server_status(self, run_id: str) -> _ServerStatus:
        try:
            latest = await self._client.runs.list(thread_id(run_id), limit=1)
        except NotFoundError:
            return "unknown"
        if not latest:
            return "unknown"
        status = latest[0]["status"]
        if status in _RUNNING_STATUSES:
            return "going"
        if status in ("error", "timeout"):
            return "error"
        return "success" if status == "success" else "interrupted"


def thread_id(run_id: str) -> str:
    """The server's name for a run: it takes no other than a UUID. Several runs of a client that knows
    nothing of ours are turns of one thread."""
    turn = LATER_TURN_ID.fullmatch(run_id)
    try:
        return str(uuid.UUID(turn[1] if turn else run_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sightline:{run_id}"))


def _to_service_error(error: Exception) -> ServiceError:
    """What is wrong with the server. What it says itself is not repeated: it may quote a request."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return ServiceError("refused", f"it refuses the key of RUNS_API_KEY (HTTP {status})")
    if status:
        return ServiceError("malformed", f"it answers with HTTP {status}")
    if isinstance(error, httpx.TimeoutException | APITimeoutError):
        return ServiceError("timeout", "it does not answer in time")
    return ServiceError("unreachable", "it is not there")
