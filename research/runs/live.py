"""A run under way in this process: its account, and what it says, written down as it is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.models.prices import priced
from research.reasoners import Checker, OwnedReasoner, Reasoner
from research.records import Answer, Options, Plan, Reflection, Report, Run, RunStatus, Usage
from research.runs.files import Files, problem
from research.runs.memory import before
from research.settings import KEYS, Settings
from research.sources import Owned, Retriever, Several, registry
from research.stages.answer import Unwritten
from research.stages.budget import Meter, worked
from research.stages.update import Earlier
from research.storage import StoreError, explained
from research.store.batcher import Batcher
from research.store.ledger import RunLedger
from research.store.store import Lost, Store
from research.tracing import Trace, Tracing, spent
from research.trouble import Trouble

if TYPE_CHECKING:
    from research.graph import Context

log = logging.getLogger(__name__)

FLUSH = 0.02  # seconds that events are collected before they are written together
FLUSH_TEXT = 0.1  # the same for a text that is being written
UPDATED = 10  # reports of one topic that are looked at for what is known
STEPS = frozenset({"status", "plan", "found", "section", "usage", "answer"})  # change the state
AGAIN = 0.5  # seconds until events that could not be written are tried once more


class Keyless(RuntimeError):
    """A run was begun with a key of its owner's that is not there any more."""


@dataclass(frozen=True)
class Resources:
    """What the runs of a process work with."""

    settings: Settings
    store: Store
    reasoner: Reasoner
    sources: Mapping[str, Retriever]
    traces: Tracing = field(default_factory=Tracing)
    checker: Checker | None = None
    asks: bool = False
    keys: tuple[str, ...] = ()
    batcher: Batcher = field(init=False)
    files: Files = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", Files(self.settings, self.store))
        object.__setattr__(self, "batcher", Batcher(self.store.database))

    def lent(
        self,
        settings: Settings,
        reasoner: Reasoner,
        sources: Mapping[str, Retriever],
        checker: Checker | None,
        *,
        asks: bool,
        keys: Sequence[str] = (),
    ) -> Resources:
        """Means of somebody's own, with the store, the files and the traces of these. `asks` says
        whether there is a model to ask, `keys` names those that it needs and that its owner has
        brought along."""
        resources = Resources(
            settings, self.store, reasoner, sources, self.traces, checker, asks, tuple(keys)
        )
        object.__setattr__(resources, "files", self.files)
        object.__setattr__(resources, "batcher", self.batcher)
        return resources

    def lacking(self, keys: Sequence[str]) -> list[str]:
        """Those of some keys, by name, that are neither set nor brought along now."""
        return [name for name in keys if name in KEYS and not self.settings.given(name)]

    def sources_of(self, owner: str, options: Options) -> dict[str, Retriever]:
        """The sources for a run of an owner: where one stands for several things, the chosen one."""
        found: dict[str, Retriever] = {}
        for name, source in self.sources.items():
            own = source.of(owner) if isinstance(source, Owned) else source
            chosen = options.chosen(name)
            found[name] = own.on(chosen) if chosen and isinstance(own, Several) else own
        return found

    def reasoner_of(self, owner: str) -> Reasoner:
        """The reasoner for the runs of an owner."""
        reasoner = self.reasoner
        return reasoner.of(owner) if isinstance(reasoner, OwnedReasoner) else reasoner

    def told(self, error: BaseException) -> str:
        """What is said of the failure of a run."""
        known = self._known(error)
        return str(known) if known else f"{type(error).__name__}; the log has the details"

    def failed(self, run_id: str, error: BaseException) -> str:
        """Logs the failure of a run, one that was to be expected in a line and a mistake with its
        traceback. Returns what is said of it."""
        known = self._known(error)
        # What the system says may also come of a mistake of ours.
        unsure = (
            known is not error and isinstance(known, StoreError) and known.trouble == "unusable"
        )
        if known and not unsure:
            log.warning("run %s failed: %s", run_id, known)
        else:
            log.error("run %s failed", run_id, exc_info=error)
        return self.told(error)

    def _known(self, error: BaseException) -> BaseException | None:
        """A failure of a kind that is to be expected, as it is told; None if it is a mistake."""
        if isinstance(error, self.store.database.errors):
            return self.store.database.explained(error)
        if isinstance(error, OSError):
            return explained(error, self.settings.data_dir)
        return error if isinstance(error, StoreError | Unwritten | Keyless | Trouble) else None


class Live:
    """What a process knows of a run that it works on. Used on the loop of the runs.

    It writes in the name of an engine: when another one has taken the run, nothing more is written,
    and `lost` is called once.
    """

    def __init__(
        self,
        run: Run,
        engine: str,
        resources: Resources,
        news: Callable[[], None],
        lost: Callable[[], None] = lambda: None,
        *,
        resumed: bool = False,
        write: bool = False,
    ) -> None:
        self.run, self.engine, self.resumed = run, engine, resumed
        self.write_now = write  # with what there is
        self.taken = False  # by another engine
        self.meter = Meter(run.options)
        self.trace = Trace()
        self.plan: Plan | None = None
        self.reflections: dict[int, Reflection] = {}
        self._means, self._news, self._lost = resources, news, lost
        self._buffer: list[tuple[datetime, str, dict[str, Any]]] = []
        self._news_of_plan = False  # or of a reflection, to be stored with its event
        self._outcome: tuple[Plan | None, list[Reflection], Answer | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = False  # since its state was saved
        self._closed = False
        self._queued = False  # all that is said until it is written will be written

    @property
    def resources(self) -> Resources:
        """What the run works with."""
        return self._means

    def equip(self, resources: Resources) -> None:
        """What the run works with from now on: that of its owner, as it is when the work begins.

        Raises:
            Keyless: its models were asked with a key that is not there any more.
        """
        self._means = resources
        if not self.resumed or resources.asks:
            return
        told = [
            event.data for event in resources.store.events(self.run.id) if event.kind == "status"
        ]
        if lost := resources.lacking(
            sorted({name for data in told for name in data.get("keys", ())})
        ):
            raise Keyless(
                f"{', '.join(lost)} is needed to go on and is not set any more. Enter it on the "
                "Settings page, then resume: what was found is kept."
            )

    def begun(self) -> None:
        """Says that the run is under way, and which keys of its owner's it is begun with, by name."""
        keys = {"keys": list(self._means.keys)} if self._means.keys else {}
        self.emit("status", status="running", **keys)

    # The account

    def account(self) -> None:
        """Opens the account of the run; one that goes on keeps that of before."""
        run, store = self.run, self._means.store
        if self.resumed:
            earlier, begun = store.report(run), store.searches(run.id)
            reused = {finding.task.id for finding in earlier.findings if finding.reused}
            started = [row["task"] for row in begun if row["task"] not in reused]
            self.meter = Meter(run.options, started, earlier.usage, worked(store.events(run.id)))
        if self.write_now:
            self.meter.end()

    def begin_trace(self) -> None:
        """Begins the trace of the run: what this task starts from here on belongs to it."""
        self.trace = self._means.traces.begin(self.run, self.engine, self.resumed)

    def recall(self) -> None:
        """Takes up the plan and the reflections of before."""
        earlier = self._means.store.report(self.run)
        self.plan = earlier.plan
        self.reflections = {reflection.round: reflection for reflection in earlier.reflections}

    def end_searching(self) -> None:
        """From now on the run writes with what there is."""
        self.write_now = True
        self.meter.end()

    def context(self) -> Context:
        """What the graph works with."""
        from research.graph import Context

        run, resources = self.run, self._means
        hours = (
            0.0 if run.options.updates else resources.settings.cache_hours
        )  # what is new is wanted
        ledger = RunLedger(
            resources.store, resources.batcher, run, hours,
            fresh=not (self.resumed or run.based_on),
            cached={name for name in resources.sources if registry.of(name).cached},
            apart=self._apart(),
        )  # fmt: skip
        earlier, (asked, _) = self._updated(), resources.store.said(run.id)
        return Context(
            reasoner=resources.reasoner_of(run.owner),
            sources=resources.sources_of(run.owner, run.options),
            options=run.options,
            ledger=ledger,
            notes=ledger,
            plan=resources.store.given(run.id),
            before=earlier.memory if earlier else before(resources.store, run),
            deadline=resources.settings.search_timeout,
            delay=resources.settings.search_delay,
            meter=self.meter,
            tell=self.told,
            earlier=earlier,
            checker=resources.checker,
            repair=resources.settings.repair,
            clarified=asked.answer if asked else None,
            instructions=lambda: [one.text for one in resources.store.said(run.id)[1]],
        )

    def _apart(self) -> tuple[str, ...]:
        """The sources of which the run that this one is based on has asked another."""
        before = self._means.store.run(self.run.based_on) if self.run.based_on else None
        if before is None:
            return ()
        now, then = self.run.options, before.options
        return tuple(
            name
            for name, source in self._means.sources.items()
            if isinstance(source, Several) and now.chosen(name) != then.chosen(name)
        )

    def _updated(self) -> Earlier | None:
        """The report that the run brings up to date, if there is one and it is the owner's."""
        line: list[Report] = []
        store, wanted = self._means.store, self.run.options.updates
        while wanted and len(line) < UPDATED:
            known = store.run(wanted)
            if known is None or known.owner != self.run.owner:
                break
            line.append(store.report(known))
            wanted = known.options.updates
        return Earlier(line[0], line[1:]) if line and line[0].answer else None

    # What it says

    def told(self, kind: str, data: dict[str, Any]) -> None:
        """Passes on what a stage says, and stores with it what must not be lost. Of a run that is over
        nothing is told but what was used: a call that is cut off says so last."""
        if kind == "usage":
            self._spend(data)
            return
        if self._closed:
            return
        self.emit(kind, **data)
        if kind == "plan":
            self.plan = Plan.model_validate(data["plan"])
        elif kind == "reflection" and not data.get("skipped"):
            reflection = Reflection.model_validate(data)
            self.reflections[reflection.round] = reflection
        else:
            return
        self._news_of_plan = True
        if self._timer:
            self._timer.cancel()
        self._flush()

    def keep(
        self, plan: Plan | None, reflections: Sequence[Reflection], answer: Answer | None
    ) -> None:
        """Stores what the run has come to, with its last word."""
        self._outcome = plan, list(reflections), answer

    def keep_instead(self, answer: Answer) -> None:
        """Stores what stands in for an answer that could not be written, with the last word."""
        self.keep(self.plan, list(self.reflections.values()), answer)

    async def save(self) -> None:
        """Saves the report that the run has come to, if that is wanted. What is in the way is said."""
        files = self._means.files
        if files.folder(self.run) is None:
            return
        path, why = None, ""
        try:
            self.write()
            if not self.taken:
                path = await asyncio.to_thread(files.save, self._done())
        except Exception as error:
            why = problem(error, files.folder(self.run))
            mistake = None if isinstance(error, OSError | StoreError) else error
            log.warning("the report of run %s is not saved: %s", self.run.id, why, exc_info=mistake)
        if path or why:
            self.emit("saved", report=str(path or ""), problem=why)

    def _done(self) -> Run:
        """The run as it is when it has come to its end."""
        return self.run.model_copy(update={"status": "done", "finished": datetime.now(UTC)})

    def _unsaved(self, why: str) -> None:
        """Says that the state cannot be saved; called in another thread."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_unsaved, why)

    def _tell_unsaved(self, why: str) -> None:
        if not self._closed:
            self.emit("saved", report="", problem=why)

    def _spend(self, data: dict[str, Any]) -> None:
        """Prices what a call used. The event of it is the account: it is stored with the others."""
        usage = priced(Usage.model_validate(data), datetime.now(UTC).date())
        self.emit("usage", **usage.model_dump(mode="json"))
        self.meter.spend(usage)
        spent(usage)

    def emit(self, kind: str, **data: Any) -> None:
        """Notes an event, to be written with those of the same moment."""
        last = self._buffer[-1] if self._buffer else None
        if kind == "text" and last and last[1] == "text" and not data.get("restart"):
            last[2]["text"] += data["text"]  # one event for what is written together
            return
        self._buffer.append((datetime.now(UTC), kind, data))
        self._changed = self._changed or kind in STEPS
        self._loop = asyncio.get_running_loop()
        if self._timer is None:
            self._wait(FLUSH_TEXT if kind == "text" else FLUSH)

    def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        # All runs write in the same moments, and so in the same transaction.
        self._timer = loop.call_at((loop.time() // seconds + 1) * seconds, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if self.taken or self._queued or not self._buffer:
            return
        self._queued = True
        writing = self._means.batcher.add(*self._writing())
        writing.add_done_callback(self._flushed)

    def _flushed(self, writing: asyncio.Future[None]) -> None:
        error = writing.exception()
        if error:
            self._queued = False
        if isinstance(error, Lost):
            self._gone()
        elif error:  # it is kept for the next time
            log.warning("events wait: %s", self._means.told(error))
            if self._timer is None:
                self._wait(AGAIN)

    def write(self, status: RunStatus | None = None, error: str = "") -> None:
        """Writes what was said so far and, with it, a new status.

        Raises:
            StoreError: the store cannot be used; what was said waits.
        """
        if self.taken or not (self._buffer or self._outcome or status):
            return
        try:
            self._means.batcher.now(*self._writing(status, error))
        except Lost:
            self._gone()

    def _gone(self) -> None:
        if not self.taken:
            log.warning("run %s goes on elsewhere", self.run.id)
            self.taken = True
            self._lost()

    def _writing(
        self, status: RunStatus | None = None, error: str = ""
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """What writes all that was said until then, and what is done when that is durable."""
        store, run_id, written = self._means.store, self.run.id, 0

        def act() -> None:
            nonlocal written
            written, self._queued = len(self._buffer), False
            with store.database.write():
                store.append(run_id, self._buffer, status, error, engine=self.engine)
                if self._outcome:
                    store.keep(run_id, *self._outcome)
                elif self._news_of_plan:
                    store.keep(run_id, self.plan, list(self.reflections.values()), None)

        def kept() -> None:
            del self._buffer[:written]
            self._news_of_plan, self._outcome = False, None
            over = status not in (None, "queued", "running")
            if self._changed or over:
                self._changed = False
                self._means.files.changed(self.run, self._unsaved, over=over)
            self._news()

        return act, kept

    def end(self, status: RunStatus, error: str = "") -> None:
        """The last word on the run. Raises as `write` does."""
        self.emit("status", status=status, error=error)
        self.write(status, error)

    def close(self) -> None:
        """Forgets what could not be written."""
        self._closed = True
        if self._timer:
            self._timer.cancel()
