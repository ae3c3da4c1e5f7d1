"""How a run lasts, and where everything is put together.

This is the composition root: it picks the reasoner and the sources. The functions here act on the
process's one engine, which starts with the first call. It is a plain module singleton on purpose:
a cache of the web framework could be emptied by any visitor, and the running questions with it.
"""

from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from research import settings as _settings
from research.places import route
from research.places.coordinates import Point
from research.reasoners.places import kinds
from research.records import (
    Check,
    Conversation,
    Estimate,
    Event,
    Finding,
    Options,
    Part,
    Place,
    Plan,
    Readiness,
    Report,
    Route,
    Run,
    Sighting,
    Task,
    Watch,
    silent,
)
from research.runs import watching
from research.runs.base import Runs
from research.runs.estimate import EARLIER, Earlier
from research.runs.estimate import Means as Calls
from research.runs.estimate import estimate as estimated
from research.runs.files import problem
from research.runs.kit import Kit, now
from research.runs.local import LocalRuns
from research.runs.states import read, restored
from research.settings import Settings
from research.stages.answer import STATEMENT
from research.stages.search import failed
from research.text import language
from research.trouble import Trouble

if TYPE_CHECKING:
    from research.runs.remote import RemoteRuns


def _remote() -> type[RemoteRuns]:
    """The engine on a server, whose client is loaded only where there is one."""
    from research.runs.remote import RemoteRuns

    return RemoteRuns


class Desk:
    """Everything one data folder needs: its settings, its library and its runs."""

    def __init__(self, settings: Settings) -> None:
        """Raises StoreError if the data folder cannot be used."""
        self.settings, self.kit = settings, (kit := Kit(settings))
        self.library, self.clients, self.models = kit.library, kit.clients, kit.models
        self.map, self.sources, self.usual = kit.map, kit.sources, kit.usual
        engine = _remote() if settings.runs_url else LocalRuns
        self.runs: Runs = engine(
            settings,
            kit.reasoner,
            kit.sources,
            kit.usual,
            kit.closing,
            kit.store,
            kit.traces,
            kit.checker(),
        )

    def estimate(self, options: Options, owner: str, plan: Plan | None) -> Estimate:
        """What a run is likely to use."""
        web = self.kit.web.providers
        calls = Calls(
            models=models.models(options) if (models := self.kit.thinking(options)) else {},
            grounded=bool(web) and web[0].name == "gemini",
        )
        accounts = self.runs.store.accounts(owner, 2 * EARLIER)
        earlier = [Earlier(run, events) for run, events in accounts]
        tasks = len(plan.tasks) if plan else None
        return estimated(options, calls, earlier, now().date(), tasks=tasks)

    def nearby(
        self, where: str | tuple[float, float], keywords: str, radius: int, owner: str
    ) -> Finding:
        """Places around a named place or a WGS-84 point; what is found is kept."""
        place = Point(*where) if isinstance(where, tuple) else where
        words = kinds(keywords)
        tongue = language(" ".join([keywords, where if isinstance(where, str) else ""]))
        named = where if isinstance(where, str) else ""
        try:
            found = self.runs.do(self.kit.places.around(place, words, radius, tongue, silent))
        except Trouble as trouble:
            task = Task(id="", source="places", query=" ".join([named, *words]).strip())
            provider = "offline" if self.map.offline else "amap"
            return failed(task, trouble).model_copy(update={"provider": provider})
        self.runs.store.register(self.runs.store.look_ups(owner), found.evidence)
        return found

    def warm(self) -> None:
        """Makes the clients of the models and starts the map's server in the background: the first
        question need not wait."""
        self.runs.begin(self.kit.warm())

    def check(self) -> Sequence[Check]:
        """A round trip to every model and every provider that is configured, and to the server that
        the runs are given to."""
        checks = self.runs.do(self.kit.check())
        return [*checks, *self.runs.do(self.runs.check())]

    def close(self) -> None:
        self.runs.close()
        self.library.close()


_lock = threading.Lock()
_desk: Desk | None = None


def desk(data_dir: Path | None = None) -> Desk:
    """The process's desk, opened with the environment's settings on first use.

    `data_dir`, given on first use, beats the environment.

    Raises:
        SettingError: a setting is not usable.
        StoreError: the data folder cannot be used. The next call tries again.
    """
    global _desk
    with _lock:
        if _desk is None:
            _desk = Desk(_settings.load(data_dir=data_dir))
        return _desk


def close() -> None:
    """Interrupts what is going on and releases the data folder."""
    global _desk
    with _lock:
        if _desk is not None:
            _desk.close()
            _desk = None


def start(
    question: str,
    *,
    options: Options | None = None,
    owner: str = "local",
    plan: Plan | None = None,
    based_on: str = "",
    follows: str = "",
    run_id: str = "",
) -> Run:
    """Starts a run and returns at once. See `LocalRuns.start`."""
    return desk().runs.start(
        question,
        options=options,
        owner=owner,
        plan=plan,
        based_on=based_on,
        follows=follows,
        run_id=run_id,
    )


def report_on(
    topic: str,
    *,
    options: Options | None = None,
    owner: str = "local",
    follows: str = "",
    save: Path | None = None,
) -> Run:
    """Starts a report on a topic in the news and returns at once: a run whose plan is an outline. Of
    `options`, `sections` and `reflections` are its measure. It is saved in the folder `save`, if one
    is given, instead of that of the settings.

    Raises:
        QuestionError: the topic cannot be researched.
        StoreError: the run could not be stored.
    """
    chosen = options or desk().kit.reporting()
    if not chosen.sections:
        chosen = chosen.model_copy(update={"sections": desk().settings.sections})
    run_id = uuid.uuid4().hex
    if save:
        desk().runs.means.files.into(run_id, save)
    return desk().runs.start(topic, options=chosen, owner=owner, follows=follows, run_id=run_id)


def ask_database(
    question: str, *, statement: bool = False, owner: str = "local", run_id: str = ""
) -> Run:
    """Puts a question to the database and returns at once: a run that looks nowhere else. With
    `statement`, what is asked is SQL, which is run as it is if the guard lets it pass.

    Raises:
        QuestionError: there is no question, or it is too long.
        StoreError: the run could not be stored.
    """
    here, text = desk(), question.strip()
    update = {"sources": ("database",), "queries": 1, "loops": 1, "approve": False}
    task = Task(
        id="1.1", source="database", query=text, part="p1", tool=STATEMENT if statement else ""
    )
    return here.runs.start(
        question,
        options=here.usual().model_copy(update=update),
        owner=owner,
        plan=Plan(parts=(Part(id="p1", subject="", text=text),), tasks=(task,)),
        run_id=run_id,
    )


def confirm(question: str, sql: str, *, owner: str = "local") -> None:
    """Notes that a statement is right for a question to the database: it answers the same question
    from now on, and is an example for those like it."""
    here = desk()
    here.runs.store.confirm(owner, here.kit.database.base, question, sql)


def confirmed(*, owner: str = "local") -> Sequence[tuple[str, str]]:
    """The owner's questions to the database with the statements that are right, the latest first."""
    here = desk()
    return here.runs.store.confirmed(owner, here.kit.database.base)


def unconfirm(question: str, *, owner: str = "local") -> None:
    """Takes back that the statement of a question is right."""
    here = desk()
    here.runs.store.unconfirm(owner, here.kit.database.base, question)


def load(path: Path, *, owner: str = "local", save: Path | None = None) -> Run:
    """Makes a run of the saved state of a report; `resume` goes on with it, and neither repeats a
    search that it holds nor pays for one of its steps again. The run has a new id if its own is taken.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no state of a report, or one that cannot be gone on with.
        StoreError: the run could not be stored.
    """
    here = desk()
    run = restored(here.runs.store, read(path, here.sources), owner)
    if save:
        here.runs.means.files.into(run.id, save)
    return run


def saved(run_id: str, *, owner: str = "local") -> tuple[Path | None, str]:
    """Where the report of a finished run was saved, or why it could not be. One that is wanted in a
    folder and that nobody has saved, because it was worked on elsewhere, is saved now."""
    told = [event.data for event in events(run_id, owner=owner) if event.kind == "saved"]
    if told:
        return Path(told[-1]["report"]) if told[-1]["report"] else None, told[-1]["problem"]
    run = get(run_id, owner=owner)
    files = desk().runs.means.files
    if run is None or run.status != "done":
        return None, ""
    try:
        return files.save(run), ""
    except OSError as error:
        return None, problem(error, files.folder(run))


def plan(
    question: str, *, options: Options | None = None, follows: str = "", owner: str = "local"
) -> Plan:
    """The plan that a run of this question would begin with; nothing is searched."""
    return desk().runs.plan(question, options=options, follows=follows, owner=owner)


def estimate(
    options: Options | None = None, *, plan: Plan | None = None, owner: str = "local"
) -> Estimate:
    """What a run of these limits, and of this plan if there is one, is likely to use: from the
    settings, and from what the owner's finished runs with the same models have used."""
    here = desk()
    return here.estimate(options or here.usual(), owner, plan)


def follow(run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
    """The events of a run as they happen, from number `after` on, until it is over."""
    return desk().runs.follow(run_id, after, owner=owner)


def events(run_id: str, after: int = 0, *, owner: str = "local") -> Sequence[Event]:
    """The events of a run that are there now."""
    return desk().runs.events(run_id, after, owner=owner)


def stop(run_id: str, *, write: bool = False, owner: str = "local") -> None:
    """Stops a run; what it has found is kept, and with `write` the answer is written with that."""
    desk().runs.stop(run_id, write=write, owner=owner)


def resume(run_id: str, *, write: bool = False, owner: str = "local") -> Run | None:
    """Goes on with a stopped, interrupted or failed run; with `write`, without another search."""
    return desk().runs.resume(run_id, write=write, owner=owner)


def approve(
    run_id: str,
    *,
    plan: Plan | None = None,
    options: Options | None = None,
    owner: str = "local",
) -> Run | None:
    """Goes on with a run that waits for its plan, with the plan and the limits that are given."""
    return desk().runs.approve(run_id, plan=plan, options=options, owner=owner)


def more(run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
    """A further run that looks for what a finished one still lacks. It repeats no search."""
    return desk().runs.more(run_id, rounds=rounds, owner=owner)


def list(*, owner: str = "local", limit: int = 200) -> Sequence[Run]:
    """An owner's runs, newest first."""
    return desk().runs.list(owner=owner, limit=limit)


def get(run_id: str, *, owner: str = "local") -> Run | None:
    """A run by id."""
    return desk().runs.get(run_id, owner=owner)


def queue(run_id: str, *, owner: str = "local") -> tuple[int, bool]:
    """How many runs wait in front of one that is queued, and whether it is the owner's own runs that
    it waits for."""
    return desk().runs.queue(run_id, owner=owner)


def conversations(*, owner: str = "local", limit: int = 200) -> Sequence[Conversation]:
    """An owner's conversations: those that are pinned first, then the latest."""
    return desk().runs.store.conversations(owner, limit)


def turns(conversation: str, *, owner: str = "local") -> Sequence[Run]:
    """The runs of a conversation, the earliest first."""
    return desk().runs.store.turns(conversation, owner)


def label(
    conversation: str, *, title: str | None = None, pinned: bool | None = None, owner: str = "local"
) -> None:
    """Gives a conversation a title of its own ("" gives it back its first question), or pins it."""
    store = desk().runs.store
    if store.turns(conversation, owner):
        store.label(conversation, title=title, pinned=pinned)


def forget(conversation: str, *, owner: str = "local") -> None:
    """Deletes a conversation with all that its runs have found."""
    desk().runs.forget(conversation, owner=owner)


def watch(run_id: str, *, owner: str = "local") -> Watch:
    """Watches the topic of a report that is written: it can be brought up to date from now on.

    Raises:
        Unwatchable: there is no such report.
    """
    return watching.watch(desk().runs, run_id, owner)


def unwatch(watch_id: str, *, owner: str = "local") -> None:
    """Watches a topic no more."""
    watching.unwatch(desk().runs, watch_id, owner)


def watches(*, owner: str = "local") -> Sequence[Watch]:
    """The topics that an owner watches, the latest first."""
    return watching.watches(desk().runs, owner)


def watched(topic: str, *, owner: str = "local") -> Watch | None:
    """The watch of a topic, however it is spelt."""
    return watching.watched(desk().runs, topic, owner)


def look_again(watch_id: str, *, owner: str = "local") -> Run:
    """Starts a run that brings a watched report up to date: it searches as that one began, and has a
    model read only what is new.

    Raises:
        Unwatchable: there is no such watch.
    """
    return watching.look_again(desk().runs, watch_id, owner)


def report(run_id: str, *, owner: str = "local") -> Report | None:
    """Everything a run has to show so far."""
    return desk().runs.report(run_id, owner=owner)


def readiness() -> dict[str, Readiness]:
    """What each source can do now, by name."""
    return {name: source.ready() for name, source in desk().sources.items()}


def places(*, owner: str = "local") -> Sequence[Sighting]:
    """Every place that an owner's runs and look-ups have found, the latest found first."""
    return desk().runs.store.sightings(owner)


def nearby(
    where: str | tuple[float, float], keywords: str, radius: int, *, owner: str = "local"
) -> Finding:
    """Searches the map around a named place or a WGS-84 point (longitude, latitude), within `radius`
    metres, without a run. A search that fails is a finding with a reason."""
    return desk().nearby(where, keywords, radius, owner)


def day(places: Sequence[Place]) -> Route:
    """The places in the order of a day that begins at the first, and the ways between them."""
    here = desk()
    return here.runs.do(route.day(here.map, places))


def quota() -> tuple[int, int] | None:
    """How many searches for places are left today, and of how many; None if they are not limited."""
    return desk().map.left()


def settle() -> None:
    """For a process that lasts: the garbage collector leaves alone what never dies, and comes
    less often. Called once, when everything is imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def warm() -> None:
    """Loads in the background what the first question would have to wait for."""
    desk().warm()


def check() -> Sequence[Check]:
    """Asks every model and every search provider for something small. Some of it may cost money."""
    return desk().check()
