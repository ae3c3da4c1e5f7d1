"""What all engines of runs have in common: the store, the loop, the queue, and who may do what.

An engine starts, stops and looks after the work on a run. Everything that is known of a run is in the
store, so that whoever looks at it, in any process, sees the same.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from research.agent.nodes.plan import continuation_plan, make_plan, plan_from_question
from research.agent.nodes.question import clean_question
from research.core.records import ConnectionCheck, Draft, Event, Plan, Report, Run, RunOptions, ignore_event
from research.export.markdown import collect_report_evidence
from research.runtime.active_run import RunResources
from research.runtime.event_loop import EventLoopThread
from research.runtime.memory import conversation_memory
from research.storage.history import HistoryEntry, HistoryPage
from research.storage.history_index import HistoryQuery
from research.storage.run_queue import queue_position

MAX_LOOPS = 10
MAX_REFLECTIONS = 10
BIN_RETENTION = timedelta(days=30)  # that a conversation lies in the bin
MAX_REMARK_CHARS = 4_000  # characters of a note
MAX_INSTRUCTION_CHARS = 500  # characters of what a person says to a run
POLL_SECONDS = 0.5  # seconds between looks at what other processes have done or ask for
_T = TypeVar("_T")


def _has_steps(plan: Plan | None) -> bool:
    """Whether a plan says what to do."""
    return plan is not None and bool(plan.tasks or plan.grid)


class ResourceProvider(Protocol):
    """Who has means for those that have chosen something of their own."""

    def open_resources(self, owner: str) -> AbstractContextManager[RunResources]:
        """The means of an owner, kept open for so long."""

    def default_options(self, owner: str) -> RunOptions:
        """The limits of an owner's run that brings none."""

    def close_unused(self) -> None:
        """A run is over; called on the loop."""

    def session_keys(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in the memory of this process alone."""

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys that an owner has in the memory of another process for these here."""


class RunManager(ABC):
    """Starts, follows, stops, resumes and lists runs. Every method may be called from any thread."""

    def __init__(
        self,
        resources: RunResources,
        default_options: Callable[[], RunOptions] | None = None,
        on_close: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`usual` tells the limits of a run that brings none; `closing` is awaited on the loop at the
        end, for what the reasoner and the sources hold open there."""
        self.resources, self.store = resources, resources.store
        self._default_options = default_options or (lambda: resources.settings.options)
        self._on_close = on_close
        self._changed = threading.Condition()
        self.resource_provider: ResourceProvider | None = None
        self.loop = EventLoopThread("sightline-runs")

    def start_on_loop(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Starts something on the loop of the runs and does not wait; its failure is logged."""
        self.loop.start(coroutine)

    def run_on_loop(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs something on the loop of the runs, where their clients live, and waits for it."""
        return self.loop.run(coroutine)

    def open_resources(self, owner: str) -> AbstractContextManager[RunResources]:
        """What is worked with for an owner, kept open for so long."""
        return self.resource_provider.open_resources(owner) if self.resource_provider else nullcontext(self.resources)

    def default_options(self, owner: str) -> RunOptions:
        """The limits of an owner's run that brings none."""
        return self.resource_provider.default_options(owner) if self.resource_provider else self._default_options()

    def active_resources(self) -> list[RunResources]:
        """What the runs under way in this process work with."""
        return []

    def _close_unused(self) -> None:
        if self.resource_provider:
            self.resource_provider.close_unused()

    @property
    def has_run_limits(self) -> bool:
        """Whether only so many runs may go on at once."""
        settings = self.resources.settings
        return bool(settings.runs_at_once or settings.runs_each)

    # What an engine does

    async def preload(self) -> None:  # noqa: B027 - some have nothing to load
        """Loads what the first run would have to wait for."""

    def start_workers(self) -> None:  # noqa: B027 - a server has its own
        """Lets worker processes share the work, if there are to be any. For a process that lasts."""

    def send_session_keys(self, owner: str) -> None:  # noqa: B027 - only workers have to be told
        """The keys of somebody's session have changed."""

    @abstractmethod
    def _choose_engine(self, run_id: str) -> str:
        """In whose name a run is worked on that begins or goes on now."""

    @abstractmethod
    def _schedule(self, run: Run, engine: str, *, is_resumed: bool = False, write_only: bool = False) -> None:
        """Sees to it that the work on a stored run begins, now or when its turn comes."""

    @abstractmethod
    def _request_end(self, run: Run, *, write_only: bool) -> None:
        """Sees to it that a run that is under way, here or elsewhere, stops or searches no more."""

    @abstractmethod
    def _interrupt_lost_runs(self, run: Run | None = None) -> None:
        """Notices those runs, or that one, whose work has ended unseen."""

    @abstractmethod
    async def delete_checkpoints(self, run_id: str) -> None:
        """Deletes the checkpoints of a run."""

    @abstractmethod
    async def reclaim_checkpoint_space(self) -> None:
        """Gives the room of deleted checkpoints back."""

    @abstractmethod
    def close(self) -> None:
        """Stops the loop."""

    async def check_connection(self) -> list[ConnectionCheck]:
        """A round trip to what the runs are given to, if that is not this process."""
        return []

    # The interface

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
        """Starts a run and returns at once.

        `plan` replaces planning; searches that `based_on` (a run of the same owner) has finished are
        reused. A question that `follows` a run of the same owner continues its conversation, and knows
        its answer. A `run_id` that exists already starts nothing: that run is returned.

        Raises:
            QuestionError: the question cannot be researched.
            ValueError: there is no such source, or the run id is taken.
            StoreError: the run could not be stored; nothing was started.
        """
        clean_question(question)
        options = options or self.default_options(owner)
        self._check_sources(options)
        if run_id and (known := self.get_run(run_id, owner=owner)):
            return known
        earlier = self.get_run(based_on, owner=owner) if based_on else None
        parent = self.get_run(follows, owner=owner) if follows else None
        if earlier and not parent and earlier.follows:  # the same turn once more
            parent = self.get_run(earlier.follows, owner=owner)
        kin = parent or earlier
        run = Run(
            id=run_id or uuid.uuid4().hex,
            conversation=kin.conversation if kin else uuid.uuid4().hex,
            owner=owner,
            question=self.store.database.storable_text(question.strip()),
            options=options,
            status="queued",
            created=datetime.now(UTC),
            based_on=earlier.id if earlier else "",
            follows=parent.id if parent else "",
        )
        engine = self._choose_engine(run.id)
        if not self.store.add_run(run, plan if _has_steps(plan) else None, engine):
            if known := self.get_run(run.id, owner=owner):
                return known
            raise ValueError(f"The run id {run.id!r} cannot be used; leave it out to get a new one.")
        self._schedule(run, engine)
        return run

    def _check_sources(self, options: RunOptions) -> None:
        known = self.resources.sources
        if unknown := [name for name in options.sources if name not in known]:
            names = ", ".join(known)
            raise ValueError(f"There is no source {unknown[0]!r}; there are: {names}.")

    def approve(
        self,
        run_id: str,
        *,
        plan: Plan | None = None,
        options: RunOptions | None = None,
        owner: str = "local",
    ) -> Run | None:
        """Goes on with a run that waits, with its plan and its limits or with those given.

        Raises:
            ValueError: there is no such source.
        """
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "waiting":
            return report.run if report else None
        chosen = options or report.run.options
        self._check_sources(chosen)
        given = plan if _has_steps(plan) else report.plan
        engine = self._choose_engine(run_id)
        if not self.store.approve_run(run_id, engine, given, chosen):
            return self.get_run(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": "", "options": chosen}
        self._schedule(run := report.run.model_copy(update=update), engine, is_resumed=True)
        return run

    def answer_clarification(self, run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
        """Answers what a waiting run has asked back, and goes on with it; without an answer it goes on
        as it was planned. A run that asks nothing is returned as it is."""
        report = self.report(run_id, owner=owner)
        if report is None or not report.is_awaiting_clarification:
            return report.run if report else None
        engine, said = self._choose_engine(run_id), self._trim_instruction(answer)
        if not self.store.answer_clarification(run_id, engine, said, report.run.options):
            return self.get_run(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": ""}
        self._schedule(run := report.run.model_copy(update=update), engine, is_resumed=True)
        return run

    def add_instruction(self, run_id: str, text: str, *, owner: str = "local") -> bool:
        """Says something to a run under way, for its next reflection and its answer. Whether it was
        taken: a run that is over hears nothing."""
        run, said = self.get_run(run_id, owner=owner), self._trim_instruction(text)
        if run is None or not run.is_active or not said:
            return False
        self.store.append_events(run_id, [(datetime.now(UTC), "instruction", {"text": said})])
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
        """The plan that a run of this question would begin with; nothing is searched.

        Raises:
            QuestionError: the question cannot be researched.
        """
        asked, limits = clean_question(question), options or self.default_options(owner)
        if follows and (parent := self.get_run(follows, owner=owner)):
            run = parent.model_copy(update={"id": "", "follows": parent.id})
            asked = asked.model_copy(update={"before": conversation_memory(self.store, run)})
        with self.open_resources(owner) as resources:
            plan = self.run_on_loop(make_plan(asked, resources.reasoner_of(owner), limits, ignore_event))
        return plan_from_question(asked, limits) if isinstance(plan, Draft) else plan

    def events(self, run_id: str, after: int = 0, *, owner: str = "local") -> list[Event]:
        """The events of a run after number `after` that are there now."""
        return self.store.events(run_id, after) if self.get_run(run_id, owner=owner) else []

    def follow(self, run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
        """The events of a run as they happen, until it is over. Any number of readers may follow."""
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
        """Stops a run, in whichever process it runs. What it has found is kept; with `write`, it
        searches no more and still writes its answer with that. One that waits for its plan to be
        approved is put off: resumed, it waits again."""
        run = self.get_run(run_id, owner=owner)
        if run is None:
            return
        if run.is_active:
            self._request_end(run, write_only=write_only)
        elif run.status == "waiting" and not write_only:
            self.store.stop_waiting_run(run_id)

    def resume(self, run_id: str, *, write_only: bool = False, owner: str = "local") -> Run | None:
        """Goes on with a stopped, interrupted or failed run. Finished searches are not repeated;
        with `write`, there are no further ones."""
        run = self.get_run(run_id, owner=owner)
        engine = self._choose_engine(run_id)
        if run is None or not run.is_resumable or not self.store.claim_run(run_id, engine, write_only=write_only):
            return run
        run = run.model_copy(update={"status": "queued", "error": "", "finished": None})
        self._schedule(run, engine, is_resumed=True, write_only=write_only)
        return run

    def extend(self, run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
        """Looks for what a finished run still lacks: a run of its own, based on it, that begins with
        a judgement of what was found. A run that is not done is returned as it is."""
        report = self.report(run_id, owner=owner)
        if report is None or report.run.status != "done":
            return report.run if report else None
        run = report.run
        if report.plan and report.plan.outline:  # its sections go on where they ended
            further = min(run.options.reflections + rounds, MAX_REFLECTIONS)
            options = run.options.model_copy(update={"reflections": further})
            plan = report.plan
            return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)
        plan = continuation_plan(report, rounds)
        options = run.options.model_copy(update={"loops": min(1 + rounds, MAX_LOOPS)})
        return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)

    def recent_runs(self, *, owner: str = "local", limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        self._interrupt_lost_runs()
        return self.store.runs(owner, limit)

    def get_run(self, run_id: str, *, owner: str = "local") -> Run | None:
        """A run by id; none of another owner."""
        run = self.store.get_owned_run(run_id, owner)
        if run and run.is_active:
            self._interrupt_lost_runs(run)
            run = self.store.get_owned_run(run_id, owner)
        return run

    def queue_position(self, run_id: str, *, owner: str = "local") -> tuple[int, bool]:
        """How many runs wait in front of one that is queued, and whether it is the owner's own runs
        that it waits for."""
        if self.get_run(run_id, owner=owner) is None:
            return 0, False
        return queue_position(self.store.queue_entries(), run_id, self.resources.settings.runs_each)

    def report(self, run_id: str, *, owner: str = "local") -> Report | None:
        """What a run has to show so far."""
        run = self.get_run(run_id, owner=owner)
        return self.store.report(run) if run else None

    def save_remark(self, run_id: str, text: str, evidence: str, passage: str, *, owner: str) -> bool:
        """Keeps an owner's note of the answer of a run or of a passage of it; whether there is such a
        passage."""
        report = self.report(run_id, owner=owner)
        if report is None:
            return False
        if (evidence or passage) and collect_report_evidence(report).passage(evidence, passage) is None:
            return False
        self.store.save_remark(run_id, evidence, passage, text.strip()[:MAX_REMARK_CHARS])
        return True

    def search_history(
        self, query: HistoryQuery, *, limit: int = 20, offset: int = 0, owner: str = "local"
    ) -> HistoryPage:
        """A page of an owner's conversations that have what is wanted."""
        self._interrupt_lost_runs()
        return self.store.history.page(owner, query, limit, offset)

    def delete_conversation(self, conversation: str, *, owner: str = "local") -> None:
        """Deletes a conversation for good, wherever it lies: its runs, their evidence, answers and
        checkpoints. What is going on is stopped first."""
        for run in self.store.all_turns(conversation, owner):
            if run.is_active:
                self._interrupt_lost_runs(run)
                self._request_end(run, write_only=False)
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

    # The bin

    def move_to_bin(self, conversation: str, *, owner: str = "local") -> None:
        """Puts a conversation into the bin: it is in no list any more, and its ids are unknown. What
        is going on is stopped; nothing waits for that."""
        for run in self.store.turns(conversation, owner):
            self.stop(run.id, owner=owner)
        if self.store.has_turns(conversation, owner):
            self.store.history.move_to_bin(conversation, datetime.now(UTC))

    def restore_from_bin(self, conversation: str, *, owner: str = "local") -> None:
        """Takes a conversation out of the bin again."""
        if self.store.has_turns(conversation, owner):
            self.store.history.restore_from_bin(conversation)

    def bin_entries(self, *, owner: str = "local") -> Sequence[HistoryEntry]:
        """What lies in the bin, what was put there last first. What has lain there too long is
        deleted."""
        self.delete_expired(owner)
        return self.store.history.bin_entries(owner)

    def empty_bin(self, *, owner: str = "local") -> None:
        """Deletes for good what lies in the bin."""
        for entry in self.store.history.bin_entries(owner):
            self.delete_conversation(entry.id, owner=owner)

    def delete_expired(self, owner: str = "") -> None:
        """Deletes for good what has lain in the bin for `KEPT`, of an owner or of all."""
        for conversation, whose in self.store.history.expired_conversations(datetime.now(UTC) - BIN_RETENTION):
            if owner in ("", whose):
                self.delete_conversation(conversation, owner=whose)
