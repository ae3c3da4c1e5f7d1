"""Runs on an Agent Server, with the interface of local runs.

The server executes the graph of `research.runtime.agent_server`. Its results are in the store that
the processes of the server and of the pages share. So pages follow these runs as they do local
ones, any number of processes may serve them, and a run outlives the process that started it.
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

from research.agent.state import RECURSION_LIMIT
from research.core.errors import ServiceError
from research.core.records import ConnectionCheck, Run, RunOptions, RunStatus
from research.core.settings import strip_credentials
from research.runtime.active_run import RunResources
from research.runtime.connection_checks import time_request
from research.runtime.engine_lock import LATER_TURN_ID, SERVER_ENGINE_PREFIX, SERVER_ENGINES
from research.runtime.run_manager import POLL_SECONDS, RunManager
from research.storage.run_store import REQUEST_STOP
from research.storage.sqlite_files import StoreError

log = logging.getLogger(__name__)

GRAPH_NAME = "research"  # the name in langgraph.json
STATUS_INTERVAL_SECONDS = 2.0  # seconds between two comparisons with the server's statuses
END_GRACE_SECONDS = 3.0  # seconds in which the graph itself may still store the end of a run
UNKNOWN_GRACE_SECONDS = 15.0  # seconds until a run that the server does not know counts as lost
TIMEOUT_SECONDS = (5.0, 30.0, 30.0, 30.0)  # seconds: connect, read, write, and wait for a pooled connection
SERVER_ERRORS = (LangGraphError, httpx.HTTPError)
_ServerStatus = Literal["unknown", "running", "success", "error", "interrupted"]
_RUNNING_STATUSES = ("pending", "running")


class RemoteRunManager(RunManager):
    """The manager of runs that an Agent Server executes."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Start the loop. `close` also closes the store.

        The server need not be reachable yet. It sends the traces of its runs itself.

        Raises:
            StoreError: the store cannot be used.
        """
        settings = resources.settings
        super().__init__(resources, default_options, on_close)
        key = settings.runs_key.get_secret_value() or None
        self._address = strip_credentials(settings.runs_url)
        self._client = get_client(url=settings.runs_url, api_key=key, timeout=TIMEOUT_SECONDS)
        self._runs_to_clean_up: set[str] = set()  # runs whose checkpoints on the server this process deletes
        self._status_since: dict[tuple[str, _ServerStatus], float] = {}
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self.loop.asyncio_loop)
        self._interrupt_lost_runs()
        self.store.history.start_indexing()

    def close(self) -> None:
        """Stop following the runs, which continue on the server."""
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

    # Engine

    def _choose_engine(self, run_id: str) -> str:
        return f"{SERVER_ENGINE_PREFIX}{uuid.uuid4().hex}"

    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        self._runs_to_clean_up.add(run.id)
        if self.has_run_limits:
            self._admit_queued()
        else:
            self.loop.start(self._submit(run.id, engine))

    def _request_stop(self, run: Run, *, write_only: bool) -> None:
        if write_only:
            self.store.request_write(run.id)
        else:
            self.store.request_stop(run.id)
            self.loop.start(self._cancel(run.id))

    async def delete_checkpoints(self, run_id: str) -> None:
        try:
            await self._client.threads.delete(thread_id(run_id))
        except NotFoundError:
            pass
        except SERVER_ERRORS as error:
            log.warning("the server still has the checkpoints of run %s: %s", run_id, error)

    async def reclaim_checkpoint_space(self) -> None:
        """Do nothing: the server maintains its own database."""

    async def check_connection(self) -> list[ConnectionCheck]:
        """Check that the server is reachable and has the graph."""

        async def ask() -> None:
            try:
                assistants = await self._client.assistants.search(graph_id=GRAPH_NAME, limit=1)
            except SERVER_ERRORS as error:
                raise _to_service_error(error) from error
            if not assistants:
                raise ServiceError("refused", f"the server has no graph {GRAPH_NAME!r}")

        seconds, failure = await time_request(ask)
        return [ConnectionCheck(name="runs", setting="RUNS_URL", model=self._address, seconds=seconds, failure=failure)]

    # On the server

    def _admit_queued(self) -> None:
        """Submit the queued runs whose turn it is, whichever process stored them."""
        settings = self.resources.settings
        try:
            for entry in self.store.admit_runs(SERVER_ENGINES, settings.max_runs, settings.max_runs_per_owner):
                self.loop.start(self._submit(entry.id, entry.engine))
        except StoreError as error:
            log.warning("the queue waits: %s", error)

    async def _submit(self, run_id: str, engine: str) -> None:
        """Submit a run to the server, to start or to resume it."""
        run = self.store.get_run(run_id)
        if run is None:
            return
        try:
            is_resumed = await self._can_continue(run_id)
            await self._client.threads.create(thread_id=thread_id(run_id), if_exists="do_nothing")
            input_argument: dict[str, Any] = {"input": {"asked": run.question}}
            await self._client.runs.create(
                thread_id(run_id),
                GRAPH_NAME,
                **({"checkpoint": {}} if is_resumed else input_argument),
                context={"run": run_id, "engine": engine},
                config={"recursion_limit": RECURSION_LIMIT},
                stream_mode=["custom"],
                multitask_strategy="interrupt",
                durability="sync",
            )
        except SERVER_ERRORS as error:
            log.warning("run %s cannot be given to the server: %s", run_id, error)
            message = f"The run server at {self._address} cannot be used: {_to_service_error(error)}."
            self._store_end(run_id, engine, "interrupted", message)

    async def _can_continue(self, run_id: str) -> bool:
        """Return whether the server has a checkpoint from which a run can continue.

        A finished or empty thread is deleted there: the run starts again with its searches from the
        store.
        """
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
        """Cancel a run on the server; one that is queued leaves the queue."""
        run = self.store.get_run(run_id)
        engine = next((owner_engine for owner_engine, ids in self.store.runs_by_engine().items() if run_id in ids), "")
        if run is None or not engine:
            return
        try:
            for server_run in await self._client.runs.list(thread_id(run_id), limit=5):
                if server_run["status"] in _RUNNING_STATUSES:
                    await self._client.runs.cancel(thread_id(run_id), server_run["run_id"], wait=True)
        except NotFoundError:
            pass
        except SERVER_ERRORS as error:  # retried for as long as the stop request is stored
            log.warning("run %s cannot be stopped: %s", run_id, error)
            return
        self._store_end(run_id, engine, "stopped")

    def _store_end(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> None:
        self._status_since = {key: since for key, since in self._status_since.items() if key[0] != engine}
        try:
            self.store.end_run(run_id, engine, status, error)
        except StoreError as store_error:
            log.warning("the end of run %s could not be stored: %s", run_id, store_error)
        self._notify()

    # Monitoring

    async def _watch(self) -> None:
        checked_at = 0.0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                self._engine_lock.ensure_held()
                if self.has_run_limits and any(entry.status == "queued" for entry in self.store.queue_entries()):
                    self._admit_queued()
                if time.monotonic() - checked_at >= STATUS_INTERVAL_SECONDS:
                    await self._check_runs()
                    checked_at = time.monotonic()
            except StoreError as store_error:
                log.warning("the store is out of reach: %s", store_error)
            except SERVER_ERRORS as error:
                log.warning("the run server is out of reach: %s", error)

    async def _check_runs(self) -> None:
        requests = {run_id: request for run_id, _, request in self.store.run_requests()}
        active = {
            (run_id, engine)
            for engine, run_ids in self.store.runs_by_engine().items()
            if engine in SERVER_ENGINES
            for run_id in run_ids
        }
        queued = {entry.id for entry in self.store.queue_entries() if entry.status == "queued"}
        for run_id, engine in active:
            if requests.get(run_id) == REQUEST_STOP:
                await self._cancel(run_id)
            elif not (self.has_run_limits and run_id in queued):
                await self._end_if_lost(run_id, engine)
        for run_id in self._runs_to_clean_up - {run_id for run_id, _ in active}:
            run = self.store.get_run(run_id)
            if run and run.status == "done":
                await self.delete_checkpoints(run_id)
            self._runs_to_clean_up.discard(run_id)

    async def _end_if_lost(self, run_id: str, engine: str) -> None:
        """End a run in the store that ended or vanished on the server without storing it."""
        status = await self._server_status(run_id)
        since = self._status_since.setdefault((engine, status), time.monotonic())
        grace_seconds = UNKNOWN_GRACE_SECONDS if status == "unknown" else END_GRACE_SECONDS
        if status == "running" or time.monotonic() - since < grace_seconds:
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
            return "running"
        if status in ("error", "timeout"):
            return "error"
        return "success" if status == "success" else "interrupted"


def thread_id(run_id: str) -> str:
    """Return the server's thread id of a run, which must be a UUID.

    Several runs of a quickstart client are turns of one thread.
    """
    turn = LATER_TURN_ID.fullmatch(run_id)
    try:
        return str(uuid.UUID(turn[1] if turn else run_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sightline:{run_id}"))


def _to_service_error(error: Exception) -> ServiceError:
    """Convert an error of the server. Its own message is left out: it may quote a request."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return ServiceError("refused", f"it refuses the key of RUNS_API_KEY (HTTP {status})")
    if status:
        return ServiceError("malformed", f"it answers with HTTP {status}")
    if isinstance(error, httpx.TimeoutException | APITimeoutError):
        return ServiceError("timeout", "it does not answer in time")
    return ServiceError("unreachable", "it is not there")
