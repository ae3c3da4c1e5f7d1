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

from research.agent.nodes.answer import Unwritten
from research.core.records import Options, Run, RunStatus
from research.runtime.base import WATCH, Runs
from research.runtime.engine import SERVED, joined
from research.runtime.live import Keyless, Live, Resources
from research.runtime.pool import MAKER, Pool
from research.sources import registry
from research.storage.checkpoints import checkpoints
from research.storage.files import StoreError
from research.storage.store import STOP, WRITE

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

log = logging.getLogger(__name__)

DEATHS = 2  # workers that may die of a run; then it is for its owner to resume it


class LocalRuns(Runs):
    """The engine of runs that this process works on by itself."""

    def __init__(
        self,
        resources: Resources,
        usual: Callable[[], Options] | None = None,
        closing: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Starts the loop. The store is closed at the end, and what the traces have not sent yet is sent
        then.

        Raises:
            StoreError: the data folder cannot be used.
        """
        store = resources.store
        try:
            self._engine = joined(store.database)
        except StoreError:
            store.close()
            raise
        super().__init__(resources, usual, closing)
        self._live: dict[str, Live] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._waiting: set[str] = set()  # for the analyst, not for a turn
        self._line: dict[str, Live] = {}  # what waits for its turn, in the order of its coming
        self._called: set[str] = set()  # whose turn came before they had reached it
        self._lock = threading.Lock()
        self._unsaved: dict[str, tuple[Live, RunStatus, str]] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._pool: Pool | None = None
        self._fallen: list[str] = []  # engines of workers that are gone, whose runs are to go on
        self._deaths: Counter[str] = Counter()  # of workers that were at a run
        self._leaving = False
        self.over: Callable[[str], None] = lambda run_id: (
            None
        )  # hears of each run that has ended here
        self._compiled: CompiledStateGraph[Any, Any, Any, Any] | None = None
        try:
            self._checkpoints = checkpoints(store.database)
            self.do(self._open())
        except StoreError:
            self.close()
            raise
        self._look_after()
        self.expire()
        store.archive.fill()

    async def _open(self) -> None:
        await self._checkpoints.open()
        self._watcher = self.loop.raw.create_task(self._watch())

    async def ready(self) -> None:
        """Loads the graph, as the first run would."""
        await self._graph()

    async def _graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The graph. It is loaded with the first call, beside what goes on."""
        if self._compiled is None:
            await asyncio.to_thread(_loaded)
            saver = await self._checkpoints.saver()
            if self._compiled is None:
                nodes = {name: registry.of(name).graph_node for name in self.resources.sources}
                self._compiled = _loaded().build(nodes).compile(checkpointer=saver)
        return self._compiled

    def get(self, run_id: str, *, owner: str = "local") -> Run | None:
        """A run by id; none of another owner."""
        run = super().get(run_id, owner=owner)
        if run and (unsaved := self._unsaved.get(run_id)):
            _, status, error = unsaved
            return run.model_copy(update={"status": status, "error": error})
        return run

    def close(self) -> None:
        """Interrupts what is going on and stops the loop. Interrupted runs can be resumed."""
        if self.loop.closed:
            return
        self._leaving = True
        if self._pool:
            self._interrupted(*self._pool.close())
        self.loop.close(self._close())
        self.resources.traces.close()
        self.resources.files.close()
        self._engine.close()
        self.store.close()

    async def _close(self) -> None:
        for live in list(self._line.values()):
            self._leave(live, "interrupted")
        tasks = [*self._tasks.values(), *([self._watcher] if self._watcher else [])]
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        if self._closing:  # what lives on the loop as long as it does ends here
            await self._closing()
        # What finished branches wrote may still be on its way to the checkpoints, in tasks of the
        # graph's own. Closing under them would leave the file locked.
        if hasattr(self, "_checkpoints"):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if rest := [task for task in others if self._checkpoints.busy(task)]:
                await asyncio.wait(rest, timeout=5)
            await self._checkpoints.close()

    def at_work(self) -> list[Resources]:
        """What the runs under way here work with."""
        return [live.resources for live in list(self._live.values())]

    # The workers

    @property
    def engine(self) -> str:
        """In whose name runs are worked on here."""
        return self._engine.id

    def hire(self, maker: str = MAKER) -> None:
        """Lets worker processes share the work, if there are to be any. For a process that lasts."""
        if self._pool is None and not self._leaving and self.resources.settings.processes:
            self._pool = Pool(self.resources.settings, self._left, self._fell, maker)

    def take(self, run: Run, *, resumed: bool, write: bool) -> None:
        """Works on a run that was stored in this engine's name."""
        self._spawn(run, self._engine.id, resumed=resumed, write=write)

    def rekeyed(self, owner: str) -> None:
        """The keys of somebody's session have changed: the workers hear of it."""
        if self._pool and self.lender:
            self._pool.rekeyed(owner, self.lender.session(owner))

    def hold_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys of somebody's session from the server."""
        if self.lender:
            self.lender.hold(owner, keys)

    def _hand(self, live: Live) -> None:
        """Gives a run whose turn it is to the worker in whose name it was stored."""
        run, keys = live.run, self.lender.session(live.run.owner) if self.lender else {}
        folder = self.resources.files.chosen(run.id)
        order = live.resumed, live.write_now, run.owner, keys, folder
        if self._pool and not self._pool.give(live.engine, run.id, *order):
            self._fell(live.engine)  # it died a moment ago

    def _left(self, run_id: str) -> None:
        """A worker has done with a run."""
        self._deaths.pop(run_id, None)
        self._told()
        self._admit_now()

    def _fell(self, engine: str) -> None:
        """A worker is gone: its runs go on elsewhere, now or as soon as the store can be written."""
        try:
            self._rescue(engine)
        except StoreError as trouble:
            log.warning("the runs of a worker that is gone have to wait: %s", trouble)
            self._fallen.append(engine)
        self._told()
        self._admit_now()

    def _rescue(self, engine: str) -> None:
        wishes = {run_id: wish for run_id, by, wish in self.store.wishes() if by == engine}
        for run_id in self.store.engines().get(engine, ()):
            queued, wish = self._line.pop(run_id, None), wishes.get(run_id, 0)
            self._deaths[run_id] += queued is None
            again = wish != STOP and self._deaths[run_id] <= DEATHS and not self._leaving
            other = self._engine_of(run_id)
            with self.store.database.write():  # nobody sees it as it is in between
                status: RunStatus = "stopped" if wish == STOP else "interrupted"
                ended = self.store.end(run_id, engine, status)
                claimed = ended and again and self.store.claim(run_id, other, write=wish == WRITE)
            if claimed and (run := self.store.run(run_id)):
                self._spawn(run, other, resumed=True, write=wish == WRITE)
        self._engine.alive(engine)  # which removes what is left of it

    def _interrupted(self, *engines: str) -> None:
        """What workers that are gone could not note themselves."""
        try:
            left = self.store.engines()
            for engine in engines:
                for run_id in left.get(engine, ()):
                    self.store.end(run_id, engine, "interrupted")
                self._engine.alive(engine)
        except StoreError as trouble:
            log.error("the end of some runs could not be stored: %s", trouble)

    # What an engine does

    def _engine_of(self, run_id: str) -> str:
        if not self._pool or self._leaving:
            return self._engine.id
        waiting = Counter(live.engine for live in list(self._line.values()))
        return self._pool.pick(waiting, len(self._live)) or self._engine.id

    def _spawn(self, run: Run, engine: str, *, resumed: bool = False, write: bool = False) -> None:
        live = Live(
            run, engine, self.resources, self._told, lambda: self._cancel(run.id),
            resumed=resumed, write=write,
        )  # fmt: skip
        if not self.limited:
            self._start(live)
            return
        with self._lock:
            called = run.id in self._called
            if called:
                self._called.discard(run.id)
            else:
                self._line[run.id] = live
        if called:
            self._start(live)
        else:
            self._admit_now()

    def _start(self, live: Live) -> None:
        if live.engine != self._engine.id:
            self._hand(live)
            return
        self._live[live.run.id] = live
        self.loop.soon(self._go, live)

    def _end(self, run: Run, *, write: bool) -> None:
        if run.id in self._live or run.id in self._line:
            self.loop.soon(self._end_searching if write else self._cancel, run.id)
            return
        if write:
            self.store.ask_to_write(run.id)
        elif not self._stopped_elsewhere(run.id):
            self.store.ask_to_stop(run.id)
        if self._pool and (worker := self._pool.holder(run.id)):
            worker.tell("look")  # at what is asked of its runs; else it would in a moment

    def _stopped_elsewhere(self, run_id: str) -> bool:
        """Takes a run away from a server, which may be there or not: it writes nothing more."""
        engines = self.store.engines()
        return any(
            self.store.end(run_id, engine, "stopped")
            for engine in engines
            if engine in SERVED and run_id in engines[engine]
        )

    def _look_after(self, run: Run | None = None) -> None:
        """Runs whose process is gone are interrupted: listed as such, and resumed on request."""
        if run and (run.id in self._live or run.id in self._line):
            return
        if run and self._pool and self._pool.holder(run.id):
            return
        for engine, run_ids in self.store.engines().items():
            if self._gone(engine):
                for run_id in run_ids:
                    self.store.end(run_id, engine, "interrupted")

    def _gone(self, engine: str) -> bool:
        """Whether a process is gone. A server that works on runs is looked after by those who use it, and
        a worker by who began it."""
        if engine in self._fallen or (self._pool and self._pool.has(engine)):
            return False
        return engine not in SERVED and not self._engine.alive(engine)

    async def _clean(self, run_id: str) -> None:
        known: tuple[type[Exception], ...] = (StoreError, *self.store.database.errors)
        try:
            await (await self._checkpoints.saver()).adelete_thread(run_id)
        except known as error:
            log.warning("the checkpoints of run %s are still there: %s", run_id, error)

    async def _reclaim(self) -> None:
        await self._checkpoints.reclaim()

    # The queue

    def _admit(self) -> None:
        """Lets those begin whose turn it is."""
        if not self._line or self._leaving:
            return
        settings = self.resources.settings
        mine = {self._engine.id, *(live.engine for live in list(self._line.values()))}
        for one in self.store.admit(mine, settings.runs_at_once, settings.runs_each):
            with self._lock:
                live = self._line.pop(one.id, None)
                if live is None:  # it is on its way into the line
                    self._called.add(one.id)
            if live:
                self._start(live)

    def _admit_now(self) -> None:
        """The same, and once more soon if the store is out of reach."""
        try:
            self._admit()
        except StoreError as trouble:
            log.warning("the queue waits: %s", trouble)

    def _leave(self, live: Live, status: RunStatus) -> None:
        """Takes a run out of the queue."""
        self._line.pop(live.run.id, None)
        try:
            live.end(status)
        except StoreError as trouble:
            log.error("the end of run %s could not be stored: %s", live.run.id, trouble)
        finally:
            live.close()

    # On the loop

    def _go(self, live: Live) -> None:
        run_id = live.run.id
        task = self._tasks[run_id] = self.loop.raw.create_task(self._drive(live))
        # A callback, not `finally`: a task cancelled before its first step never enters its body.
        task.add_done_callback(lambda task: self._finish(live, task))
        if run_id in self._stopping:
            task.cancel()

    def _cancel(self, run_id: str) -> None:
        if queued := self._line.get(run_id):
            self._leave(queued, "stopped")
        if run_id not in self._live:
            return
        self._stopping.add(run_id)
        task = self._tasks.get(run_id)
        if task and not task.cancelling():  # a second time would cut its end short
            task.cancel()

    def _end_searching(self, run_id: str) -> None:
        if live := self._live.get(run_id) or self._line.get(run_id):
            live.end_searching()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH)
            try:
                self._engine.hold()
                for live, status, error in list(self._unsaved.values()):
                    live.write(status, error)
                    self._unsaved.pop(live.run.id, None)
                if self._line:
                    self._look_after()  # those that are gone hold up nobody
                    self._admit()
                self.attend()
                for engine in list(self._fallen):
                    self._rescue(engine)
                    self._fallen.remove(engine)
                if self._pool:
                    self._pool.tend()
            except StoreError as trouble:
                log.warning("the store is out of reach: %s", trouble)

    def attend(self) -> None:
        """Does what others ask of the runs of this process.

        Raises:
            StoreError: the store is out of reach.
        """
        for run_id, wish in self._wishes():
            (self._end_searching if wish == WRITE else self._cancel)(run_id)

    def _wishes(self) -> list[tuple[str, int]]:
        """What others ask of the runs of this process."""
        if not self._live and not self._line:
            return []
        return [(run_id, wish) for run_id, by, wish in self.store.wishes() if by == self._engine.id]

    async def _drive(self, live: Live) -> None:
        graph = await self._graph()
        run, saver = live.run, await self._checkpoints.saver()
        config: RunnableConfig = {
            "configurable": {"thread_id": run.id},
            "recursion_limit": _loaded().RECURSION_LIMIT,
        }
        with self.using(run.owner) as resources:
            live.equip(resources)
        live.begin_trace()
        begun = False
        if live.resumed:
            await self._checkpoints.forget_cut_off(run.id)
            state = await graph.aget_state(config)
            if state.values.get("answer") and not state.tasks:  # killed before the end was noted
                await _keep(live, state.values)
                return
            begun = bool(state.tasks)
            if state.created_at and not begun:  # a step was lost with what should follow it
                await saver.adelete_thread(run.id)
        if begun:
            live.recall()
        live.account()
        live.begun()
        live.write("running")
        stream = graph.astream(
            None if begun else {"asked": run.question},
            config,
            context=live.context(),
            stream_mode=["values"],  # what the stages say comes by the context
            version="v2",
            durability="sync",
        )
        values: dict[str, Any] = {}
        interrupted = False
        live.meter.begin()
        try:
            async for part in stream:
                if part["type"] == "values":
                    values, interrupted = part["data"], bool(part["interrupts"])
        except Unwritten as error:  # what stands in for the answer is kept until it is written
            live.keep_instead(error.answer)
            raise
        finally:
            live.meter.close()
        if interrupted:
            self._waiting.add(run.id)
            return
        if begun and not values.get("answer"):  # as above: its searches are in the store
            await saver.adelete_thread(run.id)
            await self._drive(live)
            return
        await _keep(live, values)

    def _known(self, error: BaseException) -> bool:
        """Whether something failed that has nothing to do with what the checkpoints hold."""
        known = (*self.store.database.errors, OSError, StoreError, Unwritten, Keyless)
        return isinstance(error, known)

    def _finish(self, live: Live, task: asyncio.Task[None]) -> None:
        """The end of a run, however it came. Errors end here and nowhere else."""
        run_id = live.run.id
        error = None if task.cancelled() else task.exception()
        status: RunStatus = "waiting" if run_id in self._waiting else "done"
        if task.cancelled():
            status = "stopped" if run_id in self._stopping else "interrupted"
        elif error is not None:
            status = "failed"
        message = self.resources.failed(run_id, error) if error else ""
        live.trace.end(status, error)
        try:
            live.end(status, message)
        except StoreError as trouble:
            log.error("the end of run %s could not be stored: %s", run_id, trouble)
            self._unsaved[run_id] = (live, "failed", message or str(trouble))
        else:
            live.close()
            spoilt = live.resumed and error is not None and not self._known(error)
            if (status == "done" or spoilt) and not live.taken:  # they have served, or are damaged
                self.loop.keep(self._clean(run_id))
        finally:
            self._waiting.discard(run_id)
            self._stopping.discard(run_id)
            if self._live.get(run_id) is live:
                del self._live[run_id], self._tasks[run_id]
            self._told()
        self._released()
        self._admit_now()
        self.over(run_id)


def _loaded() -> ModuleType:
    """What the graph is built with; it takes a second to load."""
    from research.agent import graph

    return graph


async def _keep(live: Live, values: dict[str, Any]) -> None:
    """Keeps the outcome, to be stored with the last word. A run without an answer is not done,
    whatever the graph says."""
    if values.get("answer") is None:
        raise RuntimeError("the graph ended without an answer")
    live.keep(values.get("plan"), values.get("reflections", []), values["answer"])
    await live.save()
