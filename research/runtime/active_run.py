"""The execution of one run in this process: its budget, its events and their storage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from research.agent.nodes.answer import AnswerNotWrittenError
from research.agent.nodes.budget import RunBudget, count_worked_seconds
from research.agent.nodes.report_update import EarlierReport
from research.agent.reasoner import CitationChecker, OwnedReasoner, Reasoner
from research.agent.state import GraphContext
from research.core.errors import ServiceError
from research.core.events import (
    AnswerWritten,
    PlanMade,
    ReflectionMade,
    ReportSaved,
    RunEvent,
    SectionAdvanced,
    StatusChanged,
    TaskFinished,
    TextWritten,
    UsageRecorded,
)
from research.core.records import Answer, Plan, Reflection, Report, Run, RunOptions, RunStatus
from research.core.settings import CONNECTION_SETTINGS, Settings
from research.core.tracing import RunTrace, TraceExporter, record_note, record_usage
from research.models.prices import with_cost
from research.runtime.memory import conversation_memory
from research.runtime.report_files import ReportFiles, describe_write_error
from research.runtime.run_log import log_event
from research.sources import registry
from research.sources.base import Retriever, SupportsOwners, SupportsSelection
from research.storage.ledger import RunLedger
from research.storage.run_store import RunClaimedError
from research.storage.sqlite_files import StoreError, to_store_error
from research.storage.store import Store
from research.storage.write_batcher import WriteBatcher

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.02  # seconds over which events are collected into one write
TEXT_FLUSH_SECONDS = 0.1  # the same for events of streamed text
MAX_EARLIER_REPORTS = 10  # earlier reports of a topic that are read for what is already known
# Events that change the saved state of a report.
STATE_EVENTS = (StatusChanged, PlanMade, TaskFinished, SectionAdvanced, UsageRecorded, AnswerWritten)
RETRY_SECONDS = 0.5  # seconds until a failed write is retried


class MissingKeyError(RuntimeError):
    """A resumed run needs an API key of its owner that is no longer set."""


@dataclass(frozen=True)
class RunResources:
    """The settings, store, reasoner and sources that the runs of a process share."""

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
        """Return resources with other settings, sharing the store, files and traces of these.

        `uses_models` tells whether a model can be called; `key_names` are the settings of those API
        keys of the owner that the models need.
        """
        resources = RunResources(
            settings, self.store, reasoner, sources, self.traces, checker, uses_models, tuple(key_names)
        )
        object.__setattr__(resources, "report_files", self.report_files)
        object.__setattr__(resources, "batcher", self.batcher)
        return resources

    def missing_keys(self, names: Sequence[str]) -> list[str]:
        """Return those of the named API keys that are not set."""
        return [name for name in names if name in CONNECTION_SETTINGS and not self.settings.provider_value(name)]

    def sources_for(self, owner: str, options: RunOptions) -> dict[str, Retriever]:
        """Return the sources for a run of an owner, each with the selection in the options."""
        sources: dict[str, Retriever] = {}
        for name, source in self.sources.items():
            owned = source.for_owner(owner) if isinstance(source, SupportsOwners) else source
            selection = options.selection_for(name)
            sources[name] = owned.select(selection) if selection and isinstance(owned, SupportsSelection) else owned
        return sources

    def reasoner_for(self, owner: str) -> Reasoner:
        """Return the reasoner for the runs of an owner."""
        reasoner = self.reasoner
        return reasoner.for_owner(owner) if isinstance(reasoner, OwnedReasoner) else reasoner

    def describe_failure(self, error: BaseException) -> str:
        """Return the message to show for a failed run."""
        expected = self._expected_error(error)
        return str(expected) if expected else f"{type(error).__name__}; the log has the details"

    def log_failure(self, run_id: str, error: BaseException) -> str:
        """Log the failure of a run and return the message to show.

        An expected failure is logged in one line, a bug with its traceback.
        """
        expected = self._expected_error(error)
        # An "unusable" store may also be a bug of this program, so its traceback is logged.
        may_be_bug = expected is not error and isinstance(expected, StoreError) and expected.problem == "unusable"
        if expected and not may_be_bug:
            log.warning("run %s failed: %s", run_id, expected)
        else:
            log.error("run %s failed", run_id, exc_info=error)
        return self.describe_failure(error)

    def _expected_error(self, error: BaseException) -> BaseException | None:
        """Return an expected failure as a typed error; None if the error is a bug."""
        if isinstance(error, self.store.database.driver_errors):
            return self.store.database.to_store_error(error)
        if isinstance(error, OSError):
            return to_store_error(error, self.settings.data_dir)
        return error if isinstance(error, StoreError | AnswerNotWrittenError | MissingKeyError | ServiceError) else None


class ActiveRun:
    """A run that this process executes. Used on the loop of the runs only.

    It writes as one engine. Once another engine has claimed the run, nothing more is written and
    `on_taken` is called once.
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
        self.write_only = write_only  # answer from the existing findings, without further searches
        self.is_taken = False  # claimed by another engine
        self.budget = RunBudget(run.options)
        self.trace = RunTrace()
        self.plan: Plan | None = None
        self.reflections: dict[int, Reflection] = {}
        self.resources, self._on_written, self._on_taken = resources, on_written, on_taken
        self._buffer: list[tuple[datetime, RunEvent]] = []
        self._plan_changed = False  # the plan or a reflection changed and must be stored with its event
        self._outcome: tuple[Plan | None, list[Reflection], Answer | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state_changed = False  # since the state of the report was last saved
        self._is_closed = False
        self._write_queued = False  # Events added before the pending flush are included in it.

    def set_resources(self, resources: RunResources) -> None:
        """Use the resources of the owner as they are when execution begins.

        Raises:
            MissingKeyError: the run called models with a key that is no longer set.
        """
        self.resources = resources
        if not self.is_resumed or resources.uses_models:
            return
        events = [event.data for event in resources.store.events(self.run.id)]
        names = {name for event in events if isinstance(event, StatusChanged) for name in event.keys}
        if missing := resources.missing_keys(sorted(names)):
            raise MissingKeyError(
                f"{', '.join(missing)} is needed to go on and is not set any more. Enter it on the "
                "Settings page, then resume: what was found is kept."
            )

    def record_start(self) -> None:
        """Record that the run is under way, with the names of the owner's keys that it uses."""
        self.record_event(StatusChanged(status="running", keys=self.resources.key_names))

    # Budget

    def open_budget(self) -> None:
        """Create the budget of the run; that of a resumed run includes its earlier usage."""
        run, store = self.run, self.resources.store
        if self.is_resumed:
            earlier, searches = store.report(run), store.searches(run.id)
            reused = {finding.task.id for finding in earlier.findings if finding.reused}
            started = [row["task"] for row in searches if row["task"] not in reused]
            self.budget = RunBudget(run.options, started, earlier.usage, count_worked_seconds(store.events(run.id)))
        if self.write_only:
            self.budget.stop_searching()

    def start_trace(self) -> None:
        """Start the trace of the run; spans that this task opens from here on belong to it."""
        self.trace = self.resources.traces.start_trace(self.run, self.engine, self.is_resumed)

    def load_progress(self) -> None:
        """Load the stored plan and reflections of a resumed run."""
        earlier = self.resources.store.report(self.run)
        self.plan = earlier.plan
        self.reflections = {reflection.round: reflection for reflection in earlier.reflections}

    def stop_searching(self) -> None:
        """Stop searching and write the answer from the existing findings."""
        self.write_only = True
        self.budget.stop_searching()

    def context(self) -> GraphContext:
        """Build the context that the nodes of the graph use."""
        run, resources = self.run, self.resources
        hours = 0.0 if run.options.updated_run else resources.settings.cache_hours  # an update needs new results
        ledger = RunLedger(
            resources.store,
            resources.batcher,
            run,
            hours,
            is_fresh=not (self.is_resumed or run.based_on),
            cacheable_sources={name for name in resources.sources if registry.get_source(name).is_cacheable},
            changed_sources=self._changed_sources(),
        )
        earlier, (clarification, _) = self._earlier_report(), resources.store.clarification_and_instructions(run.id)
        return GraphContext(
            reasoner=resources.reasoner_for(run.owner),
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
            clarification=clarification.answer if clarification else None,
            instructions=lambda: [
                instruction.text for instruction in resources.store.clarification_and_instructions(run.id)[1]
            ],
        )

    def _changed_sources(self) -> tuple[str, ...]:
        """Return the sources whose selection differs from that of the run this one is based on."""
        base = self.resources.store.get_run(self.run.based_on) if self.run.based_on else None
        if base is None:
            return ()
        options, base_options = self.run.options, base.options
        return tuple(
            name
            for name, source in self.resources.sources.items()
            if isinstance(source, SupportsSelection) and options.selection_for(name) != base_options.selection_for(name)
        )

    def _earlier_report(self) -> EarlierReport | None:
        """Return the owner's report that this run updates, None if there is none."""
        reports: list[Report] = []
        store, run_id = self.resources.store, self.run.options.updated_run
        while run_id and len(reports) < MAX_EARLIER_REPORTS:
            run = store.get_run(run_id)
            if run is None or run.owner != self.run.owner:
                break
            reports.append(store.report(run))
            run_id = run.options.updated_run
        return EarlierReport(reports[0], reports[1:]) if reports and reports[0].answer else None

    # Events

    def handle_event(self, event: RunEvent, /) -> None:
        """Record an event of a stage and store the plan or reflection it carries.

        After the run is closed only usage is recorded: a cancelled call reports it last.
        """
        if isinstance(event, UsageRecorded):
            self._record_usage(event)
            return
        if self._is_closed:
            return
        self.record_event(event)
        if isinstance(event, PlanMade):
            self.plan = event.plan
        elif isinstance(event, ReflectionMade):
            self.reflections[event.reflection.round] = event.reflection
        else:
            return
        self._plan_changed = True
        if self._timer:
            self._timer.cancel()
        self._flush()

    def set_outcome(self, plan: Plan | None, reflections: Sequence[Reflection], answer: Answer | None) -> None:
        """Set the outcome of the run, to be stored with the next write."""
        self._outcome = plan, list(reflections), answer

    async def finish_from_state(self, state: Mapping[str, Any]) -> None:
        """Set the outcome from the final state of the graph, and save the report as a file.

        Raises:
            RuntimeError: the graph ended without an answer.
        """
        if state.get("answer") is None:
            raise RuntimeError("the graph ended without an answer")
        self.set_outcome(state.get("plan"), state.get("reflections", []), state["answer"])
        await self.save_report()

    def set_fallback_answer(self, answer: Answer) -> None:
        """Set the substitute for an answer that could not be written, to be stored next."""
        self.set_outcome(self.plan, list(self.reflections.values()), answer)

    async def save_report(self) -> None:
        """Save the finished report as a file, if the run has a folder.

        The path or the problem is recorded as an event.
        """
        files = self.resources.report_files
        if files.folder(self.run) is None:
            return
        path, problem = None, ""
        try:
            self.write()
            if not self.is_taken:
                path = await asyncio.to_thread(files.save_report, self._finished_run(), self.resources.settings)
        except Exception as error:
            problem = describe_write_error(error, files.folder(self.run))
            unexpected = None if isinstance(error, OSError | StoreError) else error
            log.warning("the report of run %s is not saved: %s", self.run.id, problem, exc_info=unexpected)
        if path or problem:
            self.record_event(ReportSaved(report=str(path or ""), problem=problem))

    def _finished_run(self) -> Run:
        """Return the run as it will be once it is done."""
        return self.run.model_copy(update={"status": "done", "finished": datetime.now(UTC)})

    def _on_save_error(self, message: str) -> None:
        """Record that the state cannot be saved. Called in another thread."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._record_save_error, message)

    def _record_save_error(self, message: str) -> None:
        if not self._is_closed:
            self.record_event(ReportSaved(problem=message))

    def _record_usage(self, usage: UsageRecorded) -> None:
        """Price the usage of a call, record it as an event and charge it to the budget."""
        usage = with_cost(usage, datetime.now(UTC).date())
        self.record_event(usage)
        self.budget.add_usage(usage)
        record_usage(usage)

    def record_event(self, event: RunEvent) -> None:
        """Add an event to the buffer, to be written together with others of the same moment."""
        is_text = isinstance(event, TextWritten)
        if isinstance(event, TextWritten) and self._buffer and not event.restart:
            time, last = self._buffer[-1]
            if isinstance(last, TextWritten):  # consecutive pieces of text become one event
                self._buffer[-1] = time, last.model_copy(update={"text": last.text + event.text})
                return
        log_event(self.run.id, event)
        if event.note:
            record_note(event.kind)
        self._buffer.append((datetime.now(UTC), event))
        self._state_changed = self._state_changed or isinstance(event, STATE_EVENTS)
        self._loop = asyncio.get_running_loop()
        if self._timer is None:
            self._schedule_flush(TEXT_FLUSH_SECONDS if is_text else FLUSH_SECONDS)

    def _schedule_flush(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        # Aligned times let all runs write in one transaction.
        self._timer = loop.call_at((loop.time() // seconds + 1) * seconds, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if self.is_taken or self._write_queued or not self._buffer:
            return
        self._write_queued = True
        writing = self.resources.batcher.add(*self._write_callbacks())
        writing.add_done_callback(self._on_flushed)

    def _on_flushed(self, future: asyncio.Future[None]) -> None:
        error = future.exception()
        if error:
            self._write_queued = False
        if isinstance(error, RunClaimedError):
            self._mark_taken()
        elif error:  # the events stay in the buffer for the retry
            log.warning("events wait: %s", self.resources.describe_failure(error))
            if self._timer is None:
                self._schedule_flush(RETRY_SECONDS)

    def write(self, status: RunStatus | None = None, error: str = "") -> None:
        """Write the buffered events and, in the same transaction, a new status.

        Raises:
            StoreError: the store cannot be used; the events stay in the buffer.
        """
        if self.is_taken or not (self._buffer or self._outcome or status):
            return
        try:
            self.resources.batcher.write_now(*self._write_callbacks(status, error))
        except RunClaimedError:
            self._mark_taken()

    def _mark_taken(self) -> None:
        if not self.is_taken:
            log.warning("run %s goes on elsewhere", self.run.id)
            self.is_taken = True
            self._on_taken()

    def _write_callbacks(
        self, status: RunStatus | None = None, error: str = ""
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """Return the function that writes the buffer and the one to call once that is committed."""
        store, run_id, written = self.resources.store, self.run.id, 0

        def write_buffer() -> None:
            nonlocal written
            written, self._write_queued = len(self._buffer), False
            with store.database.transaction():
                store.append_events(run_id, self._buffer, status, error, engine=self.engine)
                if self._outcome:
                    store.save_outcome(run_id, *self._outcome)
                elif self._plan_changed:
                    store.save_outcome(run_id, self.plan, list(self.reflections.values()), None)

        def on_committed() -> None:
            del self._buffer[:written]
            self._plan_changed, self._outcome = False, None
            has_ended = status not in (None, "queued", "running")
            if self._state_changed or has_ended:
                self._state_changed = False
                self.resources.report_files.schedule_state(self.run, self._on_save_error, has_ended=has_ended)
            self._on_written()

        return write_buffer, on_committed

    def end(self, status: RunStatus, error: str = "") -> None:
        """Record and write the final status. Raises as `write` does."""
        self.record_event(StatusChanged(status=status, error=error))
        self.write(status, error)

    def close(self) -> None:
        """Discard events that could not be written."""
        self._is_closed = True
        if self._timer:
            self._timer.cancel()
