"""Interface and shared behaviour of all run managers: store, loop, queue and permissions.

A run manager starts, stops and monitors runs. The whole state of a run is in the store, so that
readers in every process see the same.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from research.agent.nodes.plan import continuation_plan, make_plan, plan_from_question
from research.agent.nodes.question import clean_question, clean_question_text
from research.core.events import Event, InstructionAdded, ignore_event
from research.core.records import ConnectionCheck, Draft, Plan, Report, Run, RunOptions
from research.export.report_facts import collect_report_evidence
from research.http.rate_limiter import RateLimiter
from research.runtime.active_run import RunResources
from research.runtime.engine_lock import SERVER_ENGINES, acquire_engine_lock
from research.runtime.event_loop import EventLoopThread
from research.runtime.memory import conversation_memory
from research.runtime.resource_providers import ResourceProvider, SharedResources
from research.runtime.start_limit import check_start, count_start
from research.storage.history import HistoryEntry, HistoryPage
from research.storage.history_index import HistoryQuery
from research.storage.run_queue import queue_position
from research.storage.sqlite_files import StoreError

MAX_LOOPS = 10
MAX_REFLECTIONS = 10
BIN_RETENTION = timedelta(days=30)  # time that a conversation stays in the bin
MAX_REMARK_CHARS = 4_000  # characters of a note
MAX_INSTRUCTION_CHARS = 500  # characters of an instruction to a run
POLL_SECONDS = 0.5  # seconds between polls for changes and requests of other processes
ALL_CONVERSATIONS = HistoryQuery()  # a query that every conversation matches
_T = TypeVar("_T")


def _has_steps(plan: Plan | None) -> bool:
    """Return whether a plan contains tasks or a table."""
    return plan is not None and bool(plan.tasks or plan.grid)


class RunManager(ABC):
    """Starts, follows, stops, resumes and lists runs. All methods are thread-safe."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Register an engine with the store and start the loop.

        `default_options` returns the options of a run that specifies none. `on_close` is awaited on
        the loop at the end, to close what the reasoner and the sources hold open there.

        Raises:
            StoreError: the store cannot be used. It is closed.
        """
        self.resources, self.store = resources, resources.store
        try:
            self._engine_lock = acquire_engine_lock(self.store.database)
        except StoreError:
            self.store.close()
            raise
        self._on_close = on_close
        self._changed = threading.Condition()
        self.start_limiter = RateLimiter(60.0, max_starts=0)  # runs that an owner starts or resumes
        self.preview_limiter = RateLimiter(60.0, max_starts=0)
        self.resource_provider: ResourceProvider = SharedResources(resources, default_options)
        self.loop = EventLoopThread("sightline-runs")

    def run_on_loop(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop of the runs, where their clients live, and wait for it."""
        return self.loop.run(coroutine)

    def active_resources(self) -> list[RunResources]:
        """Return the resources of the runs under way in this process."""
        return []

    @property
    def has_run_limits(self) -> bool:
        """True if the number of concurrent runs is limited."""
        settings = self.resources.settings
        return bool(settings.max_runs or settings.max_runs_per_owner)

    # Engine

    async def preload(self) -> None:  # noqa: B027 - some managers have nothing to load
        """Load in advance what the first run needs."""

    def start_workers(self) -> None:  # noqa: B027 - an Agent Server has its own
        """Start worker processes, if the settings ask for any. Meant for a long-lived process."""

    def send_session_keys(self, owner: str) -> None:  # noqa: B027 - only workers need them
        """Send the changed session keys of an owner to the workers."""

    @abstractmethod
    def _choose_engine(self, run_id: str) -> str:
        """Return the id of the engine that is to execute this run."""

    @abstractmethod
    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        """Schedule a stored run for execution, now or when its turn comes."""

    @abstractmethod
    def _request_stop(self, run: Run, *, write_only: bool) -> None:
        """Make a run under way stop, or only stop searching, in any process."""

    def _is_lost(self, engine: str) -> bool:
        """Return whether the process of an engine is gone.

        An Agent Server holds no lock: the processes that use it watch its runs.
        """
        return engine not in SERVER_ENGINES and not self._engine_lock.is_alive(engine)

    def _interrupt_lost_runs(self, run: Run | None = None) -> None:
        """Mark the runs of lost engines as interrupted; they are resumed on request.

        `run` is the run that the caller needs: a manager that executes it itself need not check.
        """
        for engine, run_ids in self.store.runs_by_engine().items():
            if self._is_lost(engine):
                for run_id in run_ids:
                    self.store.end_run(run_id, engine, "interrupted")

    @abstractmethod
    async def delete_checkpoints(self, run_id: str) -> None:
        """Delete the checkpoints of a run."""

    @abstractmethod
    async def reclaim_checkpoint_space(self) -> None:
        """Return the disk space of deleted checkpoints."""

    @abstractmethod
    def close(self) -> None:
        """Stop the loop."""

    async def check_connection(self) -> list[ConnectionCheck]:
        """Test the connection to the server that executes the runs, if there is one."""
        return []

    # Interface

    def start(
        self,
        question: str,
        *,
        options: RunOptions | None = None,
        owner: str = "local",
        plan: Plan | None = None,
        based_on: str = "",
        follows: str = "",
        run_id: str = "",
    ) -> Run:
        """Start a run and return at once.

        `plan` replaces planning. Finished searches of `based_on`, a run of the same owner, are
        reused. A question that `follows` a run of the same owner continues its conversation and
        knows its answer. If `run_id` exists already, nothing is started and that run is returned.

        Raises:
            QuestionError: the question cannot be researched.
            RateLimitError: the owner has started too much within a minute.
            ValueError: there is no such source, or the run id is taken.
            StoreError: the run could not be stored; nothing was started.
        """
        count_start(self.start_limiter, owner)
        text = clean_question_text(question)
        options = options or self.resource_provider.default_options(owner)
        self._check_sources(options)
        if run_id and (existing := self.get_run(run_id, owner=owner)):
            return existing
        earlier = self.get_run(based_on, owner=owner) if based_on else None
        parent = self.get_run(follows, owner=owner) if follows else None
        if earlier and not parent and earlier.follows:  # repeats the same turn
            parent = self.get_run(earlier.follows, owner=owner)
        related = parent or earlier
        run = Run(
            id=run_id or uuid.uuid4().hex,
            conversation=related.conversation if related else uuid.uuid4().hex,
            owner=owner,
            question=text,
            options=options,
            status="queued",
            created=datetime.now(UTC),
            based_on=earlier.id if earlier else "",
            follows=parent.id if parent else "",
        )
        engine = self._choose_engine(run.id)
        if not self.store.add_run(run, plan if _has_steps(plan) else None, engine):
            if existing := self.get_run(run.id, owner=owner):
                return existing
            raise ValueError(f"The run id {run.id!r} cannot be used; leave it out to get a new one.")
        self._schedule(run, engine)
        return run

    def _check_sources(self, options: RunOptions) -> None:
        sources = self.resources.sources
        if unknown := [name for name in options.sources if name not in sources]:
            names = ", ".join(sources)
            raise ValueError(f"There is no source {unknown[0]!r}; there are: {names}.")

    def approve(
        self,
        run_id: str,
        *,
        plan: Plan | None = None,
        options: RunOptions | None = None,
        owner: str = "local",
    ) -> Run | None:
        """Continue a waiting run with the given plan and options, or with its own.

        It does not count as another start.

        Raises:
            ValueError: there is no such source.
        """
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "waiting":
            return report.run if report else None
        approved_options = options or report.run.options
        self._check_sources(approved_options)
        approved_plan = plan if _has_steps(plan) else report.plan
        engine = self._choose_engine(run_id)
        if not self.store.approve_run(run_id, engine, approved_plan, approved_options):
            return self.get_run(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": "", "options": approved_options}
        self._schedule(run := report.run.model_copy(update=update), engine, is_resumed=True)
        return run

    def answer_clarification(self, run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
        """Answer the question that a waiting run asked, and continue it.

        Without an answer it continues as planned. A run that asked nothing is returned unchanged.
        """
        report = self.report(run_id, owner=owner)
        if report is None or not report.is_awaiting_clarification:
            return report.run if report else None
        engine, trimmed = self._choose_engine(run_id), self._trim_instruction(answer)
        if not self.store.answer_clarification(run_id, engine, trimmed, report.run.options):
            return self.get_run(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": ""}
        self._schedule(run := report.run.model_copy(update=update), engine, is_resumed=True)
        return run

    def add_instruction(self, run_id: str, text: str, *, owner: str = "local") -> bool:
        """Add an instruction to a run under way, for its next reflection and its answer.

        Return whether it was accepted: runs that have ended accept none.
        """
        run, instruction = self.get_run(run_id, owner=owner), self._trim_instruction(text)
        if run is None or not run.is_active or not instruction:
            return False
        self.store.append_events(run_id, [(datetime.now(UTC), InstructionAdded(text=instruction))])
        self._notify()
        return True

    def _trim_instruction(self, text: str) -> str:
        return self.store.database.storable_text(" ".join(text.split())[:MAX_INSTRUCTION_CHARS])

    def preview_plan(
        self,
        question: str,
        *,
        options: RunOptions | None = None,
        follows: str = "",
        owner: str = "local",
    ) -> Plan:
        """Return the plan with which a run of this question would begin; nothing is searched.

        Raises:
            QuestionError: the question cannot be researched.
            RateLimitError: the owner has previewed too much within a minute.
        """
        count_start(self.preview_limiter, owner)
        cleaned, limits = clean_question(question), options or self.resource_provider.default_options(owner)
        if follows and (parent := self.get_run(follows, owner=owner)):
            run = parent.model_copy(update={"id": "", "follows": parent.id})
            cleaned = cleaned.model_copy(update={"memory": conversation_memory(self.store, run)})
        with self.resource_provider.open_resources(owner) as resources:
            plan = self.run_on_loop(make_plan(cleaned, resources.reasoner_for(owner), limits, ignore_event))
        return plan_from_question(cleaned, limits) if isinstance(plan, Draft) else plan

    def events(self, run_id: str, after: int = 0, *, owner: str = "local") -> list[Event]:
        """Return the stored events of a run with numbers above `after`."""
        return self.store.events(run_id, after) if self.get_run(run_id, owner=owner) else []

    def follow(self, run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
        """Yield the events of a run as they happen, until it has ended."""
        while True:
            run = self.get_run(run_id, owner=owner)
            if run is None:
                return
            for event in self.store.events(run_id, after):
                after = event.seq
                yield event
            if not run.is_active:
                return
            with self._changed:
                self._changed.wait(POLL_SECONDS / 2)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def stop(self, run_id: str, *, write_only: bool = False, owner: str = "local") -> None:
        """Stop a run, in whichever process it is executed. Its findings are kept.

        With `write_only`, it stops searching and still writes its answer. A run that waits for
        approval is stopped too and, when resumed, waits again.
        """
        run = self.get_run(run_id, owner=owner)
        if run is None:
            return
        if run.is_active:
            self._request_stop(run, write_only=write_only)
        elif run.status == "waiting" and not write_only:
            self.store.stop_waiting_run(run_id)

    def resume(self, run_id: str, *, write_only: bool = False, owner: str = "local") -> Run | None:
        """Resume a stopped, interrupted or failed run without repeating finished searches.

        With `write_only`, it makes no further searches.

        Raises:
            RateLimitError: the owner has started too much within a minute.
        """
        count_start(self.start_limiter, owner)
        run = self.get_run(run_id, owner=owner)
        engine = self._choose_engine(run_id)
        if run is None or not run.is_resumable or not self.store.claim_run(run_id, engine, write_only=write_only):
            return run
        run = run.model_copy(update={"status": "queued", "error": "", "finished": None})
        self._schedule(run, engine, is_resumed=True, write_only=write_only)
        return run

    def extend(self, run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
        """Start a run based on a finished one that searches for what is missing in its findings.

        It begins with a reflection on them. A run that is not done is returned unchanged.

        Raises:
            RateLimitError: the owner has started too much within a minute.
        """
        check_start(self.start_limiter, owner)
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "done":
            return report.run if report else None
        run = report.run
        if report.plan and report.plan.outline:  # the sections continue with further reflections
            reflections = min(run.options.reflections + rounds, MAX_REFLECTIONS)
            options = run.options.model_copy(update={"reflections": reflections})
            plan = report.plan
            return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)
        plan = continuation_plan(report, rounds)
        options = run.options.model_copy(update={"loops": min(1 + rounds, MAX_LOOPS)})
        return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)

    def recent_runs(self, *, owner: str = "local", limit: int = 200) -> list[Run]:
        """Return an owner's runs, newest first."""
        self._interrupt_lost_runs()
        return self.store.runs(owner, limit)

    def get_run(self, run_id: str, *, owner: str = "local") -> Run | None:
        """Return a run of an owner by id, None if there is none."""
        run = self.store.get_owned_run(run_id, owner)
        if run and run.is_active:
            self._interrupt_lost_runs(run)
            run = self.store.get_owned_run(run_id, owner)
        return run

    def queue_position(self, run_id: str, *, owner: str = "local") -> tuple[int, bool]:
        """Return the number of runs ahead of a queued one.

        The second value tells whether it only waits for other runs of the same owner.
        """
        if self.get_run(run_id, owner=owner) is None:
            return 0, False
        return queue_position(self.store.queue_entries(), run_id, self.resources.settings.max_runs_per_owner)

    def report(self, run_id: str, *, owner: str = "local") -> Report | None:
        """Return the current report of a run."""
        run = self.get_run(run_id, owner=owner)
        return self.store.report(run) if run else None

    def save_remark(
        self, run_id: str, text: str, *, evidence: str = "", passage: str = "", owner: str = "local"
    ) -> bool:
        """Save an owner's note on the answer of a run, or on a passage of its evidence, given by ids.

        At most `MAX_REMARK_CHARS` characters are stored; "" deletes the note. Return False if there is
        no such run or passage.
        """
        report = self.report(run_id, owner=owner)
        if report is None:
            return False
        if (evidence or passage) and collect_report_evidence(report).passage(evidence, passage) is None:
            return False
        self.store.save_remark(run_id, evidence, passage, text.strip()[:MAX_REMARK_CHARS])
        return True

    def search_history(
        self, query: HistoryQuery = ALL_CONVERSATIONS, *, limit: int = 20, offset: int = 0, owner: str = "local"
    ) -> HistoryPage:
        """Return a page of an owner's conversations that match a query, pinned ones first, then latest first."""
        self._interrupt_lost_runs()
        return self.store.history.page(owner, query, limit, offset)

    def delete_conversation(self, conversation: str, *, owner: str = "local") -> None:
        """Delete a conversation permanently: its runs, evidence, answers, files and checkpoints.

        Runs under way are stopped first. It may be in the bin or not.
        """
        for run in self.store.all_turns(conversation, owner):
            if run.is_active:
                self._interrupt_lost_runs(run)
                self._request_stop(run, write_only=False)
                self._wait_for_end(run.id)
        for run in self.store.all_turns(conversation, owner):
            self.resources.report_files.delete_run_files(run, self.store.events(run.id))
        for run_id in self.store.delete_conversation(conversation, owner):
            self.run_on_loop(self.delete_checkpoints(run_id))
        self.store.database.reclaim()
        self.run_on_loop(self.reclaim_checkpoint_space())

    def _wait_for_end(self, run_id: str) -> None:
        while (run := self.store.get_run(run_id)) and run.is_active:
            with self._changed:
                self._changed.wait(POLL_SECONDS / 2)
            self._interrupt_lost_runs(run)

    # Bin

    def move_to_bin(self, conversation: str, *, owner: str = "local") -> None:
        """Move a conversation to the bin, which hides it from all lists and look-ups.

        Runs under way are asked to stop, without waiting for it.
        """
        for run in self.store.turns(conversation, owner):
            self.stop(run.id, owner=owner)
        if self.store.has_turns(conversation, owner):
            self.store.history.move_to_bin(conversation, datetime.now(UTC))

    def restore_from_bin(self, conversation: str, *, owner: str = "local") -> None:
        """Restore a conversation from the bin."""
        if self.store.has_turns(conversation, owner):
            self.store.history.restore_from_bin(conversation)

    def bin_entries(self, *, owner: str = "local") -> Sequence[HistoryEntry]:
        """Return the conversations in the bin, latest first. Expired ones are deleted before."""
        self.delete_expired(owner)
        return self.store.history.bin_entries(owner)

    def empty_bin(self, *, owner: str = "local") -> None:
        """Permanently delete all conversations in the bin."""
        for entry in self.store.history.bin_entries(owner):
            self.delete_conversation(entry.id, owner=owner)

    def delete_expired(self, owner: str = "") -> None:
        """Permanently delete conversations that were in the bin for longer than `BIN_RETENTION`.

        Without an owner, those of all owners are deleted.
        """
        for conversation, conversation_owner in self.store.history.expired_conversations(
            datetime.now(UTC) - BIN_RETENTION
        ):
            if owner in ("", conversation_owner):
                self.delete_conversation(conversation, owner=conversation_owner)
