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

from research.records import Check, Draft, Event, Options, Plan, Report, Run, silent
from research.report.markdown import gathered
from research.runs.live import Resources
from research.runs.loop import Loop
from research.runs.memory import before
from research.stages.plan import carried_on, make_plan, own_words
from research.stages.question import understand
from research.store.archive import Wanted
from research.store.history import HistoryEntry, HistoryPage
from research.store.queue import ahead

MAX_LOOPS = 10
MAX_REFLECTIONS = 10
KEPT = timedelta(days=30)  # that a conversation lies in the bin
REMARK = 4_000  # characters of a note
SAID = 500  # characters of what a person says to a run
WATCH = 0.5  # seconds between looks at what other processes have done or ask for
_T = TypeVar("_T")


def _ready(plan: Plan | None) -> bool:
    """Whether a plan says what to do."""
    return plan is not None and bool(plan.tasks or plan.grid)


class Lender(Protocol):
    """Who has means for those that have chosen something of their own."""

    def using(self, owner: str) -> AbstractContextManager[Resources]:
        """The means of an owner, kept open for so long."""

    def usual(self, owner: str) -> Options:
        """The limits of an owner's run that brings none."""

    def released(self) -> None:
        """A run is over; called on the loop."""

    def session(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in the memory of this process alone."""

    def hold(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys that an owner has in the memory of another process for these here."""


class Runs(ABC):
    """Starts, follows, stops, resumes and lists runs. Every method may be called from any thread."""

    def __init__(
        self,
        resources: Resources,
        usual: Callable[[], Options] | None = None,
        closing: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`usual` tells the limits of a run that brings none; `closing` is awaited on the loop at the
        end, for what the reasoner and the sources hold open there."""
        self.resources, self.store = resources, resources.store
        self._usual = usual or (lambda: resources.settings.options)
        self._closing = closing
        self._news = threading.Condition()
        self.lender: Lender | None = None
        self.loop = Loop("sightline-runs")

    def begin(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Starts something on the loop of the runs and does not wait; its failure is logged."""
        self.loop.begin(coroutine)

    def do(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs something on the loop of the runs, where their clients live, and waits for it."""
        return self.loop.do(coroutine)

    def using(self, owner: str) -> AbstractContextManager[Resources]:
        """What is worked with for an owner, kept open for so long."""
        return self.lender.using(owner) if self.lender else nullcontext(self.resources)

    def usual(self, owner: str) -> Options:
        """The limits of an owner's run that brings none."""
        return self.lender.usual(owner) if self.lender else self._usual()

    def at_work(self) -> list[Resources]:
        """What the runs under way in this process work with."""
        return []

    def _released(self) -> None:
        if self.lender:
            self.lender.released()

    @property
    def limited(self) -> bool:
        """Whether only so many runs may go on at once."""
        settings = self.resources.settings
        return bool(settings.runs_at_once or settings.runs_each)

    # What an engine does

    async def ready(self) -> None:  # noqa: B027 - some have nothing to load
        """Loads what the first run would have to wait for."""

    def hire(self) -> None:  # noqa: B027 - a server has its own
        """Lets worker processes share the work, if there are to be any. For a process that lasts."""

    def rekeyed(self, owner: str) -> None:  # noqa: B027 - only workers have to be told
        """The keys of somebody's session have changed."""

    @abstractmethod
    def _engine_of(self, run_id: str) -> str:
        """In whose name a run is worked on that begins or goes on now."""

    @abstractmethod
    def _spawn(self, run: Run, engine: str, *, resumed: bool = False, write: bool = False) -> None:
        """Sees to it that the work on a stored run begins, now or when its turn comes."""

    @abstractmethod
    def _end(self, run: Run, *, write: bool) -> None:
        """Sees to it that a run that is under way, here or elsewhere, stops or searches no more."""

    @abstractmethod
    def _look_after(self, run: Run | None = None) -> None:
        """Notices those runs, or that one, whose work has ended unseen."""

    @abstractmethod
    async def _clean(self, run_id: str) -> None:
        """Deletes the checkpoints of a run."""

    @abstractmethod
    async def _reclaim(self) -> None:
        """Gives the room of deleted checkpoints back."""

    @abstractmethod
    def close(self) -> None:
        """Stops the loop."""

    async def check(self) -> list[Check]:
        """A round trip to what the runs are given to, if that is not this process."""
        return []

    # The interface

    def start(
        self,
        question: str,
        *,
        options: Options | None = None,
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
        understand(question)
        options = options or self.usual(owner)
        self._hold(options)
        if run_id and (known := self.get(run_id, owner=owner)):
            return known
        earlier = self.get(based_on, owner=owner) if based_on else None
        parent = self.get(follows, owner=owner) if follows else None
        if earlier and not parent and earlier.follows:  # the same turn once more
            parent = self.get(earlier.follows, owner=owner)
        kin = parent or earlier
        run = Run(
            id=run_id or uuid.uuid4().hex,
            conversation=kin.conversation if kin else uuid.uuid4().hex,
            owner=owner,
            question=self.store.database.text(question.strip()),
            options=options,
            status="queued",
            created=datetime.now(UTC),
            based_on=earlier.id if earlier else "",
            follows=parent.id if parent else "",
        )
        engine = self._engine_of(run.id)
        if not self.store.add(run, plan if _ready(plan) else None, engine):
            if known := self.get(run.id, owner=owner):
                return known
            raise ValueError(
                f"The run id {run.id!r} cannot be used; leave it out to get a new one."
            )
        self._spawn(run, engine)
        return run

    def _hold(self, options: Options) -> None:
        known = self.resources.sources
        if unknown := [name for name in options.sources if name not in known]:
            names = ", ".join(known)
            raise ValueError(f"There is no source {unknown[0]!r}; there are: {names}.")

    def approve(
        self,
        run_id: str,
        *,
        plan: Plan | None = None,
        options: Options | None = None,
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
        self._hold(chosen)
        given = plan if _ready(plan) else report.plan
        engine = self._engine_of(run_id)
        if not self.store.approve(run_id, engine, given, chosen):
            return self.get(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": "", "options": chosen}
        self._spawn(run := report.run.model_copy(update=update), engine, resumed=True)
        return run

    def clarify(self, run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
        """Answers what a waiting run has asked back, and goes on with it; without an answer it goes on
        as it was planned. A run that asks nothing is returned as it is."""
        report = self.report(run_id, owner=owner)
        if report is None or not report.asks_back:
            return report.run if report else None
        engine, said = self._engine_of(run_id), self._shortened(answer)
        if not self.store.clarify(run_id, engine, said, report.run.options):
            return self.get(run_id, owner=owner)
        update = {"status": "queued", "finished": None, "error": ""}
        self._spawn(run := report.run.model_copy(update=update), engine, resumed=True)
        return run

    def instruct(self, run_id: str, text: str, *, owner: str = "local") -> bool:
        """Says something to a run under way, for its next reflection and its answer. Whether it was
        taken: a run that is over hears nothing."""
        run, said = self.get(run_id, owner=owner), self._shortened(text)
        if run is None or not run.active or not said:
            return False
        self.store.append(run_id, [(datetime.now(UTC), "instruction", {"text": said})])
        self._told()
        return True

    def _shortened(self, text: str) -> str:
        return self.store.database.text(" ".join(text.split())[:SAID])

    def plan(
        self,
        question: str,
        *,
        options: Options | None = None,
        follows: str = "",
        owner: str = "local",
    ) -> Plan:
        """The plan that a run of this question would begin with; nothing is searched.

        Raises:
            QuestionError: the question cannot be researched.
        """
        asked, limits = understand(question), options or self.usual(owner)
        if follows and (parent := self.get(follows, owner=owner)):
            run = parent.model_copy(update={"id": "", "follows": parent.id})
            asked = asked.model_copy(update={"before": before(self.store, run)})
        with self.using(owner) as resources:
            plan = self.do(make_plan(asked, resources.reasoner_of(owner), limits, silent))
        return own_words(asked, limits) if isinstance(plan, Draft) else plan

    def events(self, run_id: str, after: int = 0, *, owner: str = "local") -> list[Event]:
        """The events of a run after number `after` that are there now."""
        return self.store.events(run_id, after) if self.get(run_id, owner=owner) else []

    def follow(self, run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
        """The events of a run as they happen, until it is over. Any number of readers may follow."""
        while True:
            run = self.get(run_id, owner=owner)
            if run is None:
                return
            for event in self.store.events(run_id, after):
                after = event.seq
                yield event
            if not run.active:
                return
            with self._news:
                self._news.wait(WATCH / 2)

    def _told(self) -> None:
        with self._news:
            self._news.notify_all()

    def stop(self, run_id: str, *, write: bool = False, owner: str = "local") -> None:
        """Stops a run, in whichever process it runs. What it has found is kept; with `write`, it
        searches no more and still writes its answer with that. One that waits for its plan to be
        approved is put off: resumed, it waits again."""
        run = self.get(run_id, owner=owner)
        if run is None:
            return
        if run.active:
            self._end(run, write=write)
        elif run.status == "waiting" and not write:
            self.store.put_off(run_id)

    def resume(self, run_id: str, *, write: bool = False, owner: str = "local") -> Run | None:
        """Goes on with a stopped, interrupted or failed run. Finished searches are not repeated;
        with `write`, there are no further ones."""
        run = self.get(run_id, owner=owner)
        engine = self._engine_of(run_id)
        if run is None or not run.resumable or not self.store.claim(run_id, engine, write=write):
            return run
        run = run.model_copy(update={"status": "queued", "error": "", "finished": None})
        self._spawn(run, engine, resumed=True, write=write)
        return run

    def more(self, run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
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
            return self.start(
                run.question, options=options, owner=owner, plan=plan, based_on=run.id
            )
        plan = carried_on(report, rounds)
        options = run.options.model_copy(update={"loops": min(1 + rounds, MAX_LOOPS)})
        return self.start(run.question, options=options, owner=owner, plan=plan, based_on=run.id)

    def recent(self, *, owner: str = "local", limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        self._look_after()
        return self.store.runs(owner, limit)

    def get(self, run_id: str, *, owner: str = "local") -> Run | None:
        """A run by id; none of another owner."""
        run = self.store.own(run_id, owner)
        if run and run.active:
            self._look_after(run)
            run = self.store.own(run_id, owner)
        return run

    def queue(self, run_id: str, *, owner: str = "local") -> tuple[int, bool]:
        """How many runs wait in front of one that is queued, and whether it is the owner's own runs
        that it waits for."""
        if self.get(run_id, owner=owner) is None:
            return 0, False
        return ahead(self.store.line(), run_id, self.resources.settings.runs_each)

    def report(self, run_id: str, *, owner: str = "local") -> Report | None:
        """What a run has to show so far."""
        run = self.get(run_id, owner=owner)
        return self.store.report(run) if run else None

    def remark(self, run_id: str, text: str, evidence: str, passage: str, *, owner: str) -> bool:
        """Keeps an owner's note of the answer of a run or of a passage of it; whether there is such a
        passage."""
        report = self.report(run_id, owner=owner)
        if report is None:
            return False
        if (evidence or passage) and gathered(report).passage(evidence, passage) is None:
            return False
        self.store.remark(run_id, evidence, passage, text.strip()[:REMARK])
        return True

    def history(
        self, wanted: Wanted, *, limit: int = 20, offset: int = 0, owner: str = "local"
    ) -> HistoryPage:
        """A page of an owner's conversations that have what is wanted."""
        self._look_after()
        return self.store.archive.page(owner, wanted, limit, offset)

    def forget(self, conversation: str, *, owner: str = "local") -> None:
        """Deletes a conversation for good, wherever it lies: its runs, their evidence, answers and
        checkpoints. What is going on is stopped first."""
        for run in self.store.all_turns(conversation, owner):
            if run.active:
                self._look_after(run)
                self._end(run, write=False)
                self._await_end(run.id)
        for run in self.store.all_turns(conversation, owner):
            self.resources.files.remove(run, self.store.events(run.id))
        for run_id in self.store.forget(conversation, owner):
            self.do(self._clean(run_id))
        self.store.database.reclaim()
        self.do(self._reclaim())

    def _await_end(self, run_id: str) -> None:
        while (run := self.store.run(run_id)) and run.active:
            with self._news:
                self._news.wait(WATCH / 2)
            self._look_after(run)

    # The bin

    def discard(self, conversation: str, *, owner: str = "local") -> None:
        """Puts a conversation into the bin: it is in no list any more, and its ids are unknown. What
        is going on is stopped; nothing waits for that."""
        for run in self.store.turns(conversation, owner):
            self.stop(run.id, owner=owner)
        if self.store.has_turns(conversation, owner):
            self.store.archive.discard(conversation, datetime.now(UTC))

    def restore(self, conversation: str, *, owner: str = "local") -> None:
        """Takes a conversation out of the bin again."""
        if self.store.has_turns(conversation, owner):
            self.store.archive.restore(conversation)

    def binned(self, *, owner: str = "local") -> Sequence[HistoryEntry]:
        """What lies in the bin, what was put there last first. What has lain there too long is
        deleted."""
        self.expire(owner)
        return self.store.archive.binned(owner)

    def empty_bin(self, *, owner: str = "local") -> None:
        """Deletes for good what lies in the bin."""
        for entry in self.store.archive.binned(owner):
            self.forget(entry.id, owner=owner)

    def expire(self, owner: str = "") -> None:
        """Deletes for good what has lain in the bin for `KEPT`, of an owner or of all."""
        for conversation, whose in self.store.archive.expired(datetime.now(UTC) - KEPT):
            if owner in ("", whose):
                self.forget(conversation, owner=whose)
