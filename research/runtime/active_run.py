"""A run under way in this process: its account, and what it says, written down as it is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.agent.nodes.answer import AnswerNotWrittenError
from research.agent.nodes.budget import RunBudget, count_worked_seconds
from research.agent.nodes.report_update import EarlierReport
from research.agent.reasoner import CitationChecker, OwnedReasoner, Reasoner
from research.core.errors import ServiceError
from research.core.records import Answer, Plan, Reflection, Report, Run, RunOptions, RunStatus, Usage
from research.core.settings import KEYS, Settings
from research.core.tracing import RunTrace, TraceExporter, record_usage
from research.models.prices import add_cost
from research.runtime.memory import conversation_memory
from research.runtime.report_files import ReportFiles, describe_write_error
from research.sources import registry
from research.sources.base import Retriever, SupportsOwners, SupportsSelection
from research.storage.ledger import RunLedger
from research.storage.sqlite_files import StoreError, to_store_error
from research.storage.store import RunTakenError, Store
from research.storage.write_batcher import WriteBatcher

if TYPE_CHECKING:
    from research.agent.graph import GraphContext

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.02  # seconds that events are collected before they are written together
TEXT_FLUSH_SECONDS = 0.1  # the same for a text that is being written
MAX_EARLIER_REPORTS = 10  # reports of one topic that are looked at for what is known
STATE_EVENTS = frozenset({"status", "plan", "found", "section", "usage", "answer"})  # change the state
RETRY_SECONDS = 0.5  # seconds until events that could not be written are tried once more


class MissingKeyError(RuntimeError):
    """A run was begun with a key of its owner's that is not there any more."""


@dataclass(frozen=True)
class RunResources:
    """What the runs of a process work with."""

    settings: Settings
    store: Store
    reasoner: Reasoner
    sources: Mapping[str, Retriever]
    traces: TraceExporter = field(default_factory=TraceExporter)
    checker: CitationChecker | None = None
    uses_models: bool = False
    key_names: tuple[str, ...] = ()
    batcher: WriteBatcher = field(init=False)
    report_files: ReportFiles = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "report_files", ReportFiles(self.settings, self.store))
        object.__setattr__(self, "batcher", WriteBatcher(self.store.database))

    def derive(
        self,
        settings: Settings,
        reasoner: Reasoner,
        sources: Mapping[str, Retriever],
        checker: CitationChecker | None,
        *,
        uses_models: bool,
        key_names: Sequence[str] = (),
    ) -> RunResources:
        """Means of somebody's own, with the store, the files and the traces of these. `asks` says
        whether there is a model to ask, `keys` names those that it needs and that its owner has
        brought along."""
        resources = RunResources(
            settings, self.store, reasoner, sources, self.traces, checker, uses_models, tuple(key_names)
        )
        object.__setattr__(resources, "report_files", self.report_files)
        object.__setattr__(resources, "batcher", self.batcher)
        return resources

    def missing_keys(self, names: Sequence[str]) -> list[str]:
        """Those of some keys, by name, that are neither set nor brought along now."""
        return [name for name in names if name in KEYS and not self.settings.provider_value(name)]

    def sources_for(self, owner: str, options: RunOptions) -> dict[str, Retriever]:
        """The sources for a run of an owner: where one stands for several things, the chosen one."""
        found: dict[str, Retriever] = {}
        for name, source in self.sources.items():
            own = source.for_owner(owner) if isinstance(source, SupportsOwners) else source
            chosen = options.selection_for(name)
            found[name] = own.select(chosen) if chosen and isinstance(own, SupportsSelection) else own
        return found

    def reasoner_of(self, owner: str) -> Reasoner:
        """The reasoner for the runs of an owner."""
        reasoner = self.reasoner
        return reasoner.of(owner) if isinstance(reasoner, OwnedReasoner) else reasoner

    def describe_failure(self, error: BaseException) -> str:
        """What is said of the failure of a run."""
        known = self._expected_error(error)
        return str(known) if known else f"{type(error).__name__}; the log has the details"

    def log_failure(self, run_id: str, error: BaseException) -> str:
        """Logs the failure of a run, one that was to be expected in a line and a mistake with its
        traceback. Returns what is said of it."""
        known = self._expected_error(error)
        # What the system says may also come of a mistake of ours.
        unsure = known is not error and isinstance(known, StoreError) and known.problem == "unusable"
        if known and not unsure:
            log.warning("run %s failed: %s", run_id, known)
        else:
            log.error("run %s failed", run_id, exc_info=error)
        return self.describe_failure(error)

    def _expected_error(self, error: BaseException) -> BaseException | None:
        """A failure of a kind that is to be expected, as it is told; None if it is a mistake."""
        if isinstance(error, self.store.database.driver_errors):
            return self.store.database.to_store_error(error)
        if isinstance(error, OSError):
            return to_store_error(error, self.settings.data_dir)
        return error if isinstance(error, StoreError | AnswerNotWrittenError | MissingKeyError | ServiceError) else None


class ActiveRun:
    """What a process knows of a run that it works on. Used on the loop of the runs.

    It writes in the name of an engine: when another one has taken the run, nothing more is written,
    and `lost` is called once.
    """

    def __init__(
        self,
        run: Run,
        engine: str,
        resources: RunResources,
        on_written: Callable[[], None],
        on_taken: Callable[[], None] = lambda: None,
        *,
        is_resumed: bool = False,
        write_only: bool = False,
    ) -> None:
        self.run, self.engine, self.is_resumed = run, engine, is_resumed
        self.write_only = write_only  # with what there is
        self.is_taken = False  # by another engine
        self.budget = RunBudget(run.options)
        self.trace = RunTrace()
        self.plan: Plan | None = None
        self.reflections: dict[int, Reflection] = {}
        self._resources, self._on_written, self._on_taken = resources, on_written, on_taken
        self._buffer: list[tuple[datetime, str, dict[str, Any]]] = []
        self._plan_changed = False  # or of a reflection, to be stored with its event
        self._outcome: tuple[Plan | None, list[Reflection], Answer | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state_changed = False  # since its state was saved
        self._is_closed = False
        self._write_queued = False  # all that is said until it is written will be written

    @property
    def resources(self) -> RunResources:
        """What the run works with."""
        return self._resources

    def set_resources(self, resources: RunResources) -> None:
        """What the run works with from now on: that of its owner, as it is when the work begins.

        Raises:
            Keyless: its models were asked with a key that is not there any more.
        """
        self._resources = resources
        if not self.is_resumed or resources.uses_models:
            return
        told = [event.data for event in resources.store.events(self.run.id) if event.kind == "status"]
        if lost := resources.missing_keys(sorted({name for data in told for name in data.get("keys", ())})):
            raise MissingKeyError(
                f"{', '.join(lost)} is needed to go on and is not set any more. Enter it on the "
                "Settings page, then resume: what was found is kept."
            )

    def record_start(self) -> None:
        """Says that the run is under way, and which keys of its owner's it is begun with, by name."""
        keys = {"keys": list(self._resources.key_names)} if self._resources.key_names else {}
        self.record_event("status", status="running", **keys)

    # The account

    def open_budget(self) -> None:
        """Opens the account of the run; one that goes on keeps that of before."""
        run, store = self.run, self._resources.store
        if self.is_resumed:
            earlier, begun = store.report(run), store.searches(run.id)
            reused = {finding.task.id for finding in earlier.findings if finding.reused}
            started = [row["task"] for row in begun if row["task"] not in reused]
            self.budget = RunBudget(run.options, started, earlier.usage, count_worked_seconds(store.events(run.id)))
        if self.write_only:
            self.budget.stop_searching()

    def start_trace(self) -> None:
        """Begins the trace of the run: what this task starts from here on belongs to it."""
        self.trace = self._resources.traces.start_trace(self.run, self.engine, self.is_resumed)

    def load_progress(self) -> None:
        """Takes up the plan and the reflections of before."""
        earlier = self._resources.store.report(self.run)
        self.plan = earlier.plan
        self.reflections = {reflection.round: reflection for reflection in earlier.reflections}

    def end_searching(self) -> None:
        """From now on the run writes with what there is."""
        self.write_only = True
        self.budget.stop_searching()

    def context(self) -> GraphContext:
        """What the graph works with."""
        from research.agent.graph import GraphContext

        run, resources = self.run, self._resources
        hours = 0.0 if run.options.updates else resources.settings.cache_hours  # what is new is wanted
        ledger = RunLedger(
            resources.store, resources.batcher, run, hours,
            is_fresh=not (self.is_resumed or run.based_on),
            cacheable_sources={name for name in resources.sources if registry.get_source(name).is_cacheable},
            changed_sources=self._changed_sources(),
        )  # fmt: skip
        earlier, (asked, _) = self._earlier_reports(), resources.store.clarification_and_instructions(run.id)
        return GraphContext(
            reasoner=resources.reasoner_of(run.owner),
            sources=resources.sources_for(run.owner, run.options),
            options=run.options,
            ledger=ledger,
            step_results=ledger,
            plan=resources.store.given_plan(run.id),
            memory=earlier.memory if earlier else conversation_memory(resources.store, run),
            deadline_seconds=resources.settings.search_timeout,
            delay_seconds=resources.settings.search_delay,
            budget=self.budget,
            send_event=self.handle_event,
            earlier_report=earlier,
            checker=resources.checker,
            repair_mode=resources.settings.repair,
            clarification=asked.answer if asked else None,
            instructions=lambda: [one.text for one in resources.store.clarification_and_instructions(run.id)[1]],
        )

    def _changed_sources(self) -> tuple[str, ...]:
        """The sources of which the run that this one is based on has asked another."""
        before = self._resources.store.get_run(self.run.based_on) if self.run.based_on else None
        if before is None:
            return ()
        now, then = self.run.options, before.options
        return tuple(
            name
            for name, source in self._resources.sources.items()
            if isinstance(source, SupportsSelection) and now.selection_for(name) != then.selection_for(name)
        )

    def _earlier_reports(self) -> EarlierReport | None:
        """The report that the run brings up to date, if there is one and it is the owner's."""
        line: list[Report] = []
        store, wanted = self._resources.store, self.run.options.updates
        while wanted and len(line) < MAX_EARLIER_REPORTS:
            known = store.get_run(wanted)
            if known is None or known.owner != self.run.owner:
                break
            line.append(store.report(known))
            wanted = known.options.updates
        return EarlierReport(line[0], line[1:]) if line and line[0].answer else None

    # What it says

    def handle_event(self, kind: str, data: dict[str, Any]) -> None:
        """Passes on what a stage says, and stores with it what must not be lost. Of a run that is over
        nothing is told but what was used: a call that is cut off says so last."""
        if kind == "usage":
            self._record_usage(data)
            return
        if self._is_closed:
            return
        self.record_event(kind, **data)
        if kind == "plan":
            self.plan = Plan.model_validate(data["plan"])
        elif kind == "reflection" and not data.get("skipped"):
            reflection = Reflection.model_validate(data)
            self.reflections[reflection.round] = reflection
        else:
            return
        self._plan_changed = True
        if self._timer:
            self._timer.cancel()
        self._flush()

    def set_outcome(self, plan: Plan | None, reflections: Sequence[Reflection], answer: Answer | None) -> None:
        """Stores what the run has come to, with its last word."""
        self._outcome = plan, list(reflections), answer

    def set_fallback_answer(self, answer: Answer) -> None:
        """Stores what stands in for an answer that could not be written, with the last word."""
        self.set_outcome(self.plan, list(self.reflections.values()), answer)

    async def save_report(self) -> None:
        """Saves the report that the run has come to, if that is wanted. What is in the way is said."""
        files = self._resources.report_files
        if files.folder(self.run) is None:
            return
        path, why = None, ""
        try:
            self.write()
            if not self.is_taken:
                path = await asyncio.to_thread(files.save_report, self._finished_run())
        except Exception as error:
            why = describe_write_error(error, files.folder(self.run))
            mistake = None if isinstance(error, OSError | StoreError) else error
            log.warning("the report of run %s is not saved: %s", self.run.id, why, exc_info=mistake)
        if path or why:
            self.record_event("saved", report=str(path or ""), problem=why)

    def _finished_run(self) -> Run:
        """The run as it is when it has come to its end."""
        return self.run.model_copy(update={"status": "done", "finished": datetime.now(UTC)})

    def _on_save_error(self, message: str) -> None:
        """Says that the state cannot be saved; called in another thread."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._record_save_error, message)

    def _record_save_error(self, message: str) -> None:
        if not self._is_closed:
            self.record_event("saved", report="", problem=message)

    def _record_usage(self, data: dict[str, Any]) -> None:
        """Prices what a call used. The event of it is the account: it is stored with the others."""
        usage = add_cost(Usage.model_validate(data), datetime.now(UTC).date())
        self.record_event("usage", **usage.model_dump(mode="json"))
        self.budget.add_usage(usage)
        record_usage(usage)

    def record_event(self, kind: str, **data: Any) -> None:
        """Notes an event, to be written with those of the same moment."""
        last = self._buffer[-1] if self._buffer else None
        if kind == "text" and last and last[1] == "text" and not data.get("restart"):
            last[2]["text"] += data["text"]  # one event for what is written together
            return
        self._buffer.append((datetime.now(UTC), kind, data))
        self._state_changed = self._state_changed or kind in STATE_EVENTS
        self._loop = asyncio.get_running_loop()
        if self._timer is None:
            self._schedule_flush(TEXT_FLUSH_SECONDS if kind == "text" else FLUSH_SECONDS)

    def _schedule_flush(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        # All runs write in the same moments, and so in the same transaction.
        self._timer = loop.call_at((loop.time() // seconds + 1) * seconds, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if self.is_taken or self._write_queued or not self._buffer:
            return
        self._write_queued = True
        writing = self._resources.batcher.add(*self._write_callbacks())
        writing.add_done_callback(self._on_flushed)

    def _on_flushed(self, future: asyncio.Future[None]) -> None:
        error = future.exception()
        if error:
            self._write_queued = False
        if isinstance(error, RunTakenError):
            self._mark_taken()
        elif error:  # it is kept for the next time
            log.warning("events wait: %s", self._resources.describe_failure(error))
            if self._timer is None:
                self._schedule_flush(RETRY_SECONDS)

    def write(self, status: RunStatus | None = None, error: str = "") -> None:
        """Writes what was said so far and, with it, a new status.

        Raises:
            StoreError: the store cannot be used; what was said waits.
        """
        if self.is_taken or not (self._buffer or self._outcome or status):
            return
        try:
            self._resources.batcher.write_now(*self._write_callbacks(status, error))
        except RunTakenError:
            self._mark_taken()

    def _mark_taken(self) -> None:
        if not self.is_taken:
            log.warning("run %s goes on elsewhere", self.run.id)
            self.is_taken = True
            self._on_taken()

    def _write_callbacks(
        self, status: RunStatus | None = None, error: str = ""
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """What writes all that was said until then, and what is done when that is durable."""
        store, run_id, written = self._resources.store, self.run.id, 0

        def act() -> None:
            nonlocal written
            written, self._write_queued = len(self._buffer), False
            with store.database.transaction():
                store.append_events(run_id, self._buffer, status, error, engine=self.engine)
                if self._outcome:
                    store.save_outcome(run_id, *self._outcome)
                elif self._plan_changed:
                    store.save_outcome(run_id, self.plan, list(self.reflections.values()), None)

        def kept() -> None:
            del self._buffer[:written]
            self._plan_changed, self._outcome = False, None
            over = status not in (None, "queued", "running")
            if self._state_changed or over:
                self._state_changed = False
                self._resources.report_files.schedule_state(self.run, self._on_save_error, has_ended=over)
            self._on_written()

        return act, kept

    def end(self, status: RunStatus, error: str = "") -> None:
        """The last word on the run. Raises as `write` does."""
        self.record_event("status", status=status, error=error)
        self.write(status, error)

    def close(self) -> None:
        """Forgets what could not be written."""
        self._is_closed = True
        if self._timer:
            self._timer.cancel()
