"""How a run lasts, and where everything is put together.

This is the composition root: it picks the reasoner and the sources. The functions here act on the
process's one engine, which starts with the first call. It is a plain module singleton on purpose:
a cache of the web framework could be emptied by any visitor, and the running questions with it.
"""

from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from research.accounts import deletion
from research.accounts.deletion import Wiped
from research.accounts.export import Export, Exports
from research.accounts.inventory import Holding, holdings
from research.accounts.keys import Keys
from research.accounts.preferences import Choice, KeyState
from research.accounts.usage import DayUsage, by_day
from research.agent.nodes.answer import STATEMENT
from research.agent.nodes.search import failed
from research.agent.nodes.table import searches
from research.core import settings as _settings
from research.core.coordinates import Point
from research.core.errors import Trouble
from research.core.records import (
    Check,
    Conversation,
    Distances,
    Estimate,
    Event,
    Finding,
    Grid,
    Language,
    Options,
    Part,
    Place,
    Plan,
    Question,
    Readiness,
    Report,
    Route,
    Run,
    RunStatus,
    Sighting,
    Task,
    Watch,
    silent,
)
from research.core.settings import SettingError, Settings
from research.core.text.words import detect_language
from research.runtime.base import Runs
from research.runtime.estimate import EARLIER, Earlier, tabled
from research.runtime.estimate import Averages as Calls
from research.runtime.estimate import estimate as estimated
from research.runtime.files import problem
from research.runtime.local import LocalRuns
from research.runtime.pace import Pace
from research.runtime.personal import PersonalServices
from research.runtime.roles import ModelRole, model_table
from research.runtime.services import Services, now
from research.runtime.states import read, restored
from research.sources import registry
from research.sources.base import Source
from research.sources.places import itinerary, offline
from research.sources.places.directions import Going
from research.sources.places.questions import kinds
from research.sources.registry import Refused
from research.storage import rescue
from research.storage.archive import Wanted
from research.storage.history import HistoryEntry, HistoryPage, RunKind
from research.tables.spec import question as asked_by
from research.watch import topics

if TYPE_CHECKING:
    from research.models.listing import ModelComparison
    from research.runtime.remote import RemoteRuns
    from research.sources.places.retriever import PlacesRetriever

End = str | tuple[float, float]  # a name, or longitude and latitude in WGS-84


def _remote() -> type[RemoteRuns]:
    """The engine on a server, whose client is loaded only where there is one."""
    from research.runtime.remote import RemoteRuns

    return RemoteRuns


class Desk:
    """Everything one data folder needs: its settings, its library and its runs."""

    def __init__(self, settings: Settings) -> None:
        """Raises StoreError if the data folder cannot be used."""
        self.settings, self.services = settings, (services := Services(settings))
        self.pace = Pace(settings.starts_per_minute)
        self.previews = Pace(settings.starts_per_minute)  # paid as well, but no run is started
        self.library, self.clients, self.models = (
            services.library,
            services.clients,
            services.models,
        )
        self.map, self.sources, self.usual = services.map, services.sources, services.usual
        engine = _remote() if settings.runs_url else LocalRuns
        self.runs: Runs = engine(services.resources, services.usual, self._closing)
        keys = Keys(settings.data_dir)
        self.personal = PersonalServices(services, self.runs, keys)
        self.runs.lender = self.personal
        keys.changed = self.runs.rekeyed
        self.exports = Exports(
            settings.data_dir / "exports",
            services.store,
            services.library,
            lambda owner: [each.model_dump(mode="json") for each in services.uploads.all(owner)],
            services.descriptions.all,
        )

    async def _closing(self) -> None:
        if "personal" in self.__dict__:
            await self.personal.closing()
        else:  # the engine could not be opened
            await self.services.closing()

    def estimate(self, options: Options, owner: str, plan: Plan | None) -> Estimate:
        """What a run is likely to use."""
        services = self.personal.services(owner)
        web = services.web.providers
        calls = Calls(
            models=models.models(options) if (models := services.thinking(options)) else {},
            grounded=bool(web) and web[0].name == "gemini",
            agent=f"gemini:{web[0].ready().detail}"
            if web and web[0].name == "deep-research"
            else "",
        )
        accounts = self.runs.store.accounts(owner, 2 * EARLIER)
        earlier = [Earlier(run, events) for run, events in accounts]
        if plan and plan.grid:
            asked = Question(
                text=asked_by(plan.grid), language=detect_language(asked_by(plan.grid))
            )
            most = searches(plan.grid, asked, services.reasoner, options)
            return tabled(options, calls, most, len(plan.grid.rows), now().date())
        tasks = len(plan.tasks) if plan else None
        return estimated(options, calls, earlier, now().date(), tasks=tasks)

    def nearby(
        self,
        where: End,
        keywords: str,
        radius: int,
        owner: str,
        tongue: Language | None = None,
    ) -> Finding:
        """Places around a named place or a WGS-84 point; what is found is kept."""
        words = kinds(keywords)
        named = where if isinstance(where, str) else ""
        tongue = tongue or detect_language(f"{keywords} {named}")
        query = " ".join([named, *words]).strip()
        place = _end(where)
        return self._looked(
            query, owner, lambda map_: map_.around(place, words, radius, tongue, silent)
        )

    def way(
        self, origin: End, to: End, means: Going | None, owner: str, tongue: Language | None = None
    ) -> Finding:
        """The way from one place to another; what is found is kept."""
        query = " → ".join(end if isinstance(end, str) else "" for end in (origin, to))
        tongue = tongue or detect_language(query)
        return self._looked(
            query, owner, lambda map_: map_.way(_end(origin), _end(to), means, tongue, silent)
        )

    def tour(
        self,
        place: str,
        stops: Sequence[str],
        means: Going | None,
        owner: str,
        tongue: Language | None = None,
    ) -> Finding:
        """A day's round through some stops or the sights of a place; what is found is kept."""
        query = " ".join([place, *stops]).strip()
        tongue = tongue or detect_language(query)
        return self._looked(
            query, owner, lambda map_: map_.tour(place, stops, means, tongue, silent)
        )

    def _looked(
        self,
        query: str,
        owner: str,
        look: Callable[[PlacesRetriever], Coroutine[Any, Any, Finding]],
    ) -> Finding:
        try:
            with self.personal.open(owner) as (services, _):
                found = self.runs.do(look(services.places))
        except Trouble as trouble:
            task = Task(id="", source="places", query=query)
            provider = services.maps.first.name
            return failed(task, trouble).model_copy(update={"provider": provider})
        self.runs.store.register(self.runs.store.look_ups(owner), found.evidence)
        return found

    def look_up(self, query: str, owner: str) -> Finding:
        """Places that a sentence asks for; what is found is kept."""
        task = Task(id="", source="places", query=query)
        with self.personal.open(owner) as (services, _):
            found = self.runs.do(services.places.search(task, silent))
        self.runs.store.register(self.runs.store.look_ups(owner), found.evidence)
        return found

    def warm(self) -> None:
        """Loads the graph, makes the clients of the models and starts the map's server: the first
        question need not wait. Then come the workers, who take as long, and scanned pages that wait."""
        self.runs.do(self.runs.ready())
        self.runs.do(self.services.warm())
        self.runs.hire()
        self.library.reading.begin()

    def check(self, owner: str = "local") -> Sequence[Check]:
        """A round trip to every model and every provider that an owner can use, and to the server
        that the runs are given to."""
        with self.personal.open(owner) as (services, _):
            checks = self.runs.do(services.check())
        return [*checks, *self.runs.do(self.runs.check())]

    def check_key(self, name: str, owner: str, typed: Mapping[str, str]) -> Check:
        known = self.personal.preferences
        settings, wrong = known.with_keys(typed, owner)
        if why := wrong.get(name):
            raise SettingError(why)
        with self.personal.open(owner) as (services, _):
            found: Check = self.runs.do(services.check_key(name, settings))
        failure = found.failure
        refused = failure is not None and failure.reason == "refused"
        if failure is None or (refused and failure.hint not in ("endpoint", "model")):
            key = next((one.key for one in settings.services if name == one.address), name)
            known.note_test(key, settings, owner, refused=refused)
        return found

    def close(self) -> None:
        self.exports.close()
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


def services(*, owner: str = "local") -> Services:
    """What an owner's runs work with: the settings, the models and the sources, with what the owner
    has chosen and brought along. For a look at them; what asks somebody goes through the functions
    here."""
    return desk().personal.services(owner)


def close() -> None:
    """Interrupts what is going on and releases the data folder."""
    global _desk
    with _lock:
        if _desk is not None:
            _desk.close()
            _desk = None


def _at_work(owner: str) -> Runs:
    """The runs, for what begins paid work.

    Raises:
        PaceError: the owner has started too much within a minute.
    """
    here = desk()
    here.pace.start(owner)
    return here.runs


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
    """Starts a run and returns at once. See `LocalRuns.start`.

    Raises:
        PaceError: the owner has started too much within a minute, as with all that begins paid work.
    """
    return _at_work(owner).start(
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
    mine = services(owner=owner)
    chosen = options or mine.reporting()
    if not chosen.sections:
        chosen = chosen.model_copy(update={"sections": mine.settings.sections})
    run_id, here = uuid.uuid4().hex, _at_work(owner)
    if save:
        here.resources.files.into(run_id, save)
    return here.start(topic, options=chosen, owner=owner, follows=follows, run_id=run_id)


def tabulate(
    question: str = "",
    *,
    grid: Grid | None = None,
    options: Options | None = None,
    owner: str = "local",
    based_on: str = "",
    run_id: str = "",
) -> Run:
    """Fills in a table and returns at once. Without a `grid` its rows and columns are proposed from the
    question, and the run waits until they are approved. Cells that `based_on`, another table of the owner,
    has already are kept.

    Raises:
        QuestionError: there is no question, or it is too long.
        ValueError: the table has no rows or no columns.
        StoreError: the run could not be stored.
    """
    if grid and not (grid.rows and grid.columns):
        raise ValueError("A table needs rows and columns.")
    chosen = options or services(owner=owner).usual()
    update = {"table": True, "sections": 0, "clarify": False, "approve": grid is None}
    return _at_work(owner).start(
        question or (asked_by(grid) if grid else ""),
        options=chosen.model_copy(update=update),
        owner=owner,
        plan=Plan(grid=grid) if grid else None,
        based_on=based_on,
        run_id=run_id,
    )


def ask_database(
    question: str,
    *,
    statement: bool = False,
    database: str = "",
    owner: str = "local",
    run_id: str = "",
) -> Run:
    """Puts a question to a database and returns at once: a run that looks nowhere else. With
    `statement`, what is asked is SQL, which is run as it is if the guard lets it pass. `database` is
    one of `research.databases` by its name, "" for the usual one.

    Raises:
        QuestionError: there is no question, or it is too long.
        StoreError: the run could not be stored.
    """
    text = question.strip()
    update = {
        "sources": ("database",), "queries": 1, "loops": 1, "approve": False, "database": database,
    }  # fmt: skip
    task = Task(
        id="1.1", source="database", query=text, part="p1", tool=STATEMENT if statement else ""
    )
    return _at_work(owner).start(
        question,
        options=services(owner=owner).usual().model_copy(update=update),
        owner=owner,
        plan=Plan(parts=(Part(id="p1", subject="", text=text),), tasks=(task,)),
        run_id=run_id,
    )


def _base(database: str, owner: str) -> str:
    """Under which what was found right in a database is kept; "" for one that is gone."""
    try:
        return desk().services.database(database, owner).base
    except Trouble:
        return ""


def confirm(question: str, sql: str, *, database: str = "", owner: str = "local") -> None:
    """Notes that a statement is right for a question to a database: it answers the same question
    from now on, and is an example for those like it."""
    if base := _base(database, owner):
        desk().runs.store.confirm(owner, base, question, sql)


def confirmed(*, database: str = "", owner: str = "local") -> Sequence[tuple[str, str]]:
    """The owner's questions to a database with the statements that are right, the latest first."""
    return desk().runs.store.confirmed(owner, _base(database, owner))


def unconfirm(question: str, *, database: str = "", owner: str = "local") -> None:
    """Takes back that the statement of a question is right."""
    desk().runs.store.unconfirm(owner, _base(database, owner), question)


def notebooks(*, owner: str = "local") -> Mapping[str, Sequence[str]]:
    """The notebooks of an owner: the documents of each, by their names in the library."""
    return desk().runs.store.notebooks(owner)


def put_in(notebook: str, documents: Iterable[str], *, owner: str = "local") -> str:
    """Puts documents of the library, by their names, into a notebook of an owner, which is made if
    there is none. Returns its name as it is kept; "" if that has no sign that can be shown."""
    return desk().runs.store.put_in(owner, notebook, documents)


def take_out(notebook: str, documents: Iterable[str], *, owner: str = "local") -> None:
    """Takes documents out of a notebook, which goes with the last of them."""
    desk().runs.store.take_out(owner, notebook, documents)


def forget_notebook(notebook: str, *, owner: str = "local") -> None:
    """Deletes a notebook. Its documents stay in the library."""
    desk().runs.store.forget_notebook(owner, notebook)


def remark(
    run_id: str, text: str, *, evidence: str = "", passage: str = "", owner: str = "local"
) -> bool:
    """Notes something of one's own of the answer of a run, or of a `passage` of its `evidence`, by
    their ids; "" deletes the note. At most 4,000 characters are kept. Whether there is such a passage."""
    return desk().runs.remark(run_id, text, evidence, passage, owner=owner)


def rename_notebook(notebook: str, name: str, *, owner: str = "local") -> str:
    """Gives a notebook another name: one that there is already takes in its documents. Returns the name
    as it is kept; "" if that has no sign that can be shown, or there is no such notebook."""
    return desk().runs.store.rename_notebook(owner, notebook, name)


def prefer(name: str, value: object, *, owner: str = "local") -> None:
    """Remembers what somebody has chosen under a name, as JSON; None forgets it. No keys belong here."""
    desk().runs.store.prefer(owner, name, value)


def preferences(*, owner: str = "local") -> dict[str, Any]:
    """What somebody has chosen, by name."""
    return desk().runs.store.preferences(owner)


def sign_out(sign_in: str = "", *, at: datetime, until: datetime, owner: str) -> None:
    """Record that a sign-in has ended, for all processes that share the store; without an id, all
    sign-ins of the owner that began until `at`. None of them may be valid after `until`.

    Raises:
        StoreError: the store cannot be used.
    """
    desk().runs.store.sign_out(owner, sign_in, at, until)


def is_signed_out(sign_in: str, *, began: datetime, owner: str) -> bool:
    """Return whether a sign-in was ended.

    Raises:
        StoreError: the store cannot be used.
    """
    return desk().runs.store.is_signed_out(owner, sign_in, began)


def choices(*, owner: str = "local") -> Sequence[Choice]:
    """Every setting that an owner can choose, as the owner has it."""
    return desk().personal.preferences.choices(owner)


def choose(values: Mapping[str, str], *, owner: str = "local") -> dict[str, str]:
    """Keeps what an owner has chosen, by the name of the setting; a blank value is the environment's.
    Returns what is wrong, by name; then nothing is kept."""
    return desk().personal.preferences.choose(values, owner)


def reset(*, owner: str = "local") -> None:
    """Forgets all that an owner has chosen of the settings. Keys stay."""
    desk().personal.preferences.reset(owner)


def key_states(*, owner: str = "local") -> Sequence[KeyState]:
    """Where each key is that an owner may bring along; none where the runs are worked on elsewhere."""
    return desk().personal.preferences.key_states(owner)


def bring(
    values: Mapping[str, str], *, remember: bool = False, owner: str = "local"
) -> dict[str, str]:
    """Takes in keys of an owner's: for as long as the process lives, or with `remember` in a file that
    only the owner of the process can read. Returns what is wrong, by name; then none was taken.

    Raises:
        OSError: the file cannot be written; none was taken.
    """
    return desk().personal.preferences.bring(values, owner, remember=remember)


def forget_key(name: str, *, owner: str = "local") -> None:
    """Forgets a key that an owner has brought along. What is under way with it goes on with it.

    Raises:
        OSError: the file of the remembered keys cannot be written.
    """
    desk().personal.preferences.forget_key(name, owner)


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
        here.runs.resources.files.into(run.id, save)
    return run


def saved(run_id: str, *, owner: str = "local") -> tuple[Path | None, str]:
    """Where the report of a finished run was saved, or why it could not be. One that is wanted in a
    folder and that nobody has saved, because it was worked on elsewhere, is saved now."""
    told = [event.data for event in events(run_id, owner=owner) if event.kind == "saved"]
    if told:
        return Path(told[-1]["report"]) if told[-1]["report"] else None, told[-1]["problem"]
    run = get(run_id, owner=owner)
    files = desk().runs.resources.files
    if run is None or run.status != "done":
        return None, ""
    try:
        return files.save(run), ""
    except OSError as error:
        return None, problem(error, files.folder(run))


def plan(
    question: str, *, options: Options | None = None, follows: str = "", owner: str = "local"
) -> Plan:
    """The plan that a run of this question would begin with; nothing is searched, and no run counts as
    started.

    Raises:
        PaceError: the owner has previewed too much within a minute.
    """
    here = desk()
    here.previews.start(owner)
    return here.runs.plan(question, options=options, follows=follows, owner=owner)


def estimate(
    options: Options | None = None, *, plan: Plan | None = None, owner: str = "local"
) -> Estimate:
    """What a run of these limits, and of this plan if there is one, is likely to use: from the
    settings, and from what the owner's finished runs with the same models have used."""
    here = desk()
    return here.estimate(options or services(owner=owner).usual(), owner, plan)


def follow(run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
    """The events of a run as they happen, from number `after` on, until it is over."""
    return desk().runs.follow(run_id, after, owner=owner)


def events(run_id: str, after: int = 0, *, owner: str = "local") -> Sequence[Event]:
    """The events of a run that are there now."""
    return desk().runs.events(run_id, after, owner=owner)


def latest(run_id: str, *, owner: str = "local") -> int:
    """The number of the last event of a run; 0 if it has none."""
    return desk().runs.store.latest(run_id, owner)


def stop(run_id: str, *, write: bool = False, owner: str = "local") -> None:
    """Stops a run; what it has found is kept, and with `write` the answer is written with that."""
    desk().runs.stop(run_id, write=write, owner=owner)


def resume(run_id: str, *, write: bool = False, owner: str = "local") -> Run | None:
    """Goes on with a stopped, interrupted or failed run; with `write`, without another search."""
    return _at_work(owner).resume(run_id, write=write, owner=owner)


def approve(
    run_id: str,
    *,
    plan: Plan | None = None,
    options: Options | None = None,
    owner: str = "local",
) -> Run | None:
    """Goes on with a run that waits for its plan, with the plan and the limits that are given. It
    counted as started when it was."""
    return desk().runs.approve(run_id, plan=plan, options=options, owner=owner)


def web_providers() -> Sequence[str]:
    """Who can search the web, by name, whether or not they can be used."""
    return _settings.PROVIDERS


def clarify(run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
    """Answers what a waiting run has asked back, and goes on with it; without an answer it goes on as
    it was planned."""
    return desk().runs.clarify(run_id, answer, owner=owner)


def instruct(run_id: str, text: str, *, owner: str = "local") -> bool:
    """Says something to a run under way ("only after 2024"), for its next reflection and its answer.
    Whether it was taken."""
    return desk().runs.instruct(run_id, text, owner=owner)


def more(run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
    """A further run that looks for what a finished one still lacks. It repeats no search."""
    return _at_work(owner).more(run_id, rounds=rounds, owner=owner)


def recent(*, owner: str = "local", limit: int = 200) -> Sequence[Run]:
    """An owner's runs, newest first."""
    return desk().runs.recent(owner=owner, limit=limit)


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


def history(
    words: str = "",
    *,
    statuses: Sequence[RunStatus] = (),
    kind: RunKind | Literal[""] = "",
    since: datetime | None = None,
    until: datetime | None = None,
    tag: str = "",
    pinned: bool = False,
    limit: int = 20,
    offset: int = 0,
    owner: str = "local",
) -> HistoryPage:
    """An owner's conversations whose runs have all of some `words` in their questions, answers or
    sources, in their titles or tags: those that are pinned first, then the latest. One of the
    `statuses` (at most three), runs that began from `since` on and before `until`."""
    wanted = Wanted(words, statuses, kind, since, until, tag, pinned)
    return desk().runs.history(wanted, limit=limit, offset=offset, owner=owner)


def tag(conversation: str, tags: Sequence[str], *, owner: str = "local") -> Sequence[str]:
    """Gives a conversation these tags and no others; returns them as they are kept: without "#", once
    each, at most ten of 40 characters."""
    store = desk().runs.store
    if not store.turns(conversation, owner):
        return ()
    return store.archive.tag(owner, conversation, tags)


def tags(*, owner: str = "local") -> Sequence[str]:
    """The tags that an owner uses, the most used first."""
    return desk().runs.store.archive.tags(owner)


def discard(conversation: str, *, owner: str = "local") -> None:
    """Puts a conversation into the bin, where nothing but `restore` and `forget` finds it; it is
    deleted there after 30 days. What is going on in it is stopped."""
    desk().runs.discard(conversation, owner=owner)


def restore(conversation: str, *, owner: str = "local") -> None:
    """Takes a conversation out of the bin again."""
    desk().runs.restore(conversation, owner=owner)


def binned(*, owner: str = "local") -> Sequence[HistoryEntry]:
    """What lies in an owner's bin, what was put there last first."""
    return desk().runs.binned(owner=owner)


def empty_bin(*, owner: str = "local") -> None:
    """Deletes for good what lies in an owner's bin."""
    desk().runs.empty_bin(owner=owner)


def forget(conversation: str, *, owner: str = "local") -> None:
    """Deletes a conversation for good, with all that its runs have found; one in the bin, too."""
    desk().runs.forget(conversation, owner=owner)


def watch(run_id: str, *, owner: str = "local") -> Watch:
    """Watches the topic of a report that is written: it can be brought up to date from now on.

    Raises:
        Unwatchable: there is no such report.
    """
    return topics.watch(desk().runs, run_id, owner)


def unwatch(watch_id: str, *, owner: str = "local") -> None:
    """Watches a topic no more."""
    topics.unwatch(desk().runs, watch_id, owner)


def watches(*, owner: str = "local") -> Sequence[Watch]:
    """The topics that an owner watches, the latest first."""
    return topics.watches(desk().runs, owner)


def watched(topic: str, *, owner: str = "local") -> Watch | None:
    """The watch of a topic, however it is spelt."""
    return topics.watched(desk().runs, topic, owner)


def look_again(watch_id: str, *, owner: str = "local") -> Run:
    """Starts a run that brings a watched report up to date: it searches as that one began, and has a
    model read only what is new.

    Raises:
        Unwatchable: there is no such watch.
    """
    return topics.look_again(_at_work(owner), watch_id, owner)


def report(run_id: str, *, owner: str = "local") -> Report | None:
    """Everything a run has to show so far."""
    return desk().runs.report(run_id, owner=owner)


def readiness(*, owner: str = "local") -> dict[str, Readiness]:
    """What each source can do now for an owner, by name."""
    return {name: source.ready() for name, source in services(owner=owner).sources.items()}


def described() -> Mapping[str, Source]:
    """What each source says of itself, by name, in the order in which they are offered."""
    return registry.known()


def refused_sources() -> Sequence[Refused]:
    """The sources of packages that cannot be used, and why."""
    return registry.refused()


def places(*, owner: str = "local") -> Sequence[Sighting]:
    """Every place that an owner's runs and look-ups have found, the latest found first."""
    return desk().runs.store.sightings(owner)


def nearby(
    where: End,
    keywords: str,
    radius: int,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """Searches the map around a named place or a WGS-84 point (longitude, latitude), within `radius`
    metres or, where nothing is, farther (see `Centre`), without a run. What is said of it is in
    `language`, by default that of the words. A search that fails is a finding with a reason."""
    return desk().nearby(where, keywords, radius, owner, language)


def way(
    origin: End,
    to: End,
    means: Going | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """The way between two places or WGS-84 points, without a run: on foot if it is short, else by public
    transport and by car, unless a means is named. A way that is not found is a finding with a reason."""
    return desk().way(origin, to, means, owner, language)


def tour(
    place: str,
    stops: Sequence[str] = (),
    means: Going | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """A day's round through some stops, or through the best sights of a place, without a run. One that
    is not found is a finding with a reason."""
    return desk().tour(place, stops, means, owner, language)


def _end(place: End) -> str | Point:
    return Point(*place) if isinstance(place, tuple) else place


def sample() -> Sequence[Place]:
    """Places of the table that is there without a key, around one of its centres."""
    return offline.sample()


def distances(places: Sequence[Place], *, owner: str = "local") -> Distances:
    """How far some places are from one another, as the map measures it. What fails is said in it."""
    here = desk()
    try:
        with here.personal.open(owner) as (services, _):
            return here.runs.do(itinerary.distances(services.maps.measuring(places), places))
    except Trouble as trouble:
        failure = trouble.failure("search", "places")
        return Distances(names=tuple(place.name for place in places), failure=failure)


def look_up(query: str, *, owner: str = "local") -> Finding:
    """Searches the map for what a sentence asks for, as a run would, without one. A search that fails
    is a finding with a reason."""
    return desk().look_up(query, owner)


def day(places: Sequence[Place], *, owner: str = "local") -> Route:
    """The places in the order of a day that begins at the first, and the ways between them."""
    here = desk()
    with here.personal.open(owner) as (services, _):
        return here.runs.do(itinerary.day(services.maps.measuring(places), places))


def quota(*, owner: str = "local") -> tuple[int, int] | None:
    """How many searches for places an owner has left today, and of how many; None if they are not
    limited."""
    return services(owner=owner).map.left()


def settle() -> None:
    """For a process that lasts: the garbage collector leaves alone what never dies, and comes
    less often. Called when everything is imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def warm() -> None:
    """Loads what the first question would have to wait for."""
    desk().warm()


def check(*, owner: str = "local") -> Sequence[Check]:
    """Asks every model and every search provider that an owner can use for something small. Some of
    it may cost money."""
    return desk().check(owner)


def check_key(name: str, *, typed: Mapping[str, str] | None = None, owner: str = "local") -> Check:
    """Test a key or an address, by the name of its setting: one that is `typed`, with the others that
    are, or else the one that an owner uses. Models are tested without a cost, searches and the map by
    asking one thing. Nothing is kept but whether the service refused the key.

    Raises:
        SettingError: what is typed is no key, or no address.
        ValueError: nobody may bring such a key along.
    """
    if name not in _settings.KEYS:
        raise ValueError(f"{name} is no key that can be tested.")
    return desk().check_key(name, owner, typed or {})


def compare_models(listing: str | None = None, *, owner: str = "local") -> ModelComparison:
    """Compare the models that ship and those that an owner has chosen with a list of Gemini's models.

    Args:
        listing: JSON of a provider, or a name a line; without it Gemini's own list is read.

    Raises:
        ValueError: The text has no names of models.
    """
    from research.models.listing import ModelComparison, compare, parse_listing
    from research.models.roles import DEFAULTS, roles
    from research.runtime.check import list_models

    settings = services(owner=owner).settings
    used = [(name, f"default of {role}") for role, name in DEFAULTS.items()]
    used += [(s.name, s.setting) for s in roles(settings).values() if s.provider == "gemini"]
    try:
        names = desk().runs.do(list_models(settings)) if listing is None else parse_listing(listing)
    except Trouble as trouble:
        return ModelComparison(failure=trouble.failure("check"))
    return compare(names, dict.fromkeys(used), now().date())


def model_roles(*, owner: str = "local") -> Sequence[ModelRole]:
    """Which model does what for an owner, what it lacks and what it costs; nothing if none is set."""
    return model_table(services(owner=owner), now().date())


def usage(*, since: datetime, zone: tzinfo = UTC, owner: str = "local") -> Sequence[DayUsage]:
    """What an owner's runs have used since a time, by day of a time zone, stage and model."""
    return by_day(desk().runs.store, owner, since, zone)


def stored() -> Sequence[Holding]:
    """What is stored for everybody, where, and how large it is."""
    here = desk()
    counts = here.library.counts()
    documents = counts.own + counts.sample
    remote = bool(here.settings.runs_url)
    return holdings(here.settings, here.runs.store, documents, remote=remote)


def export(*, language: str = "en", library: bool = False, owner: str = "local") -> Export:
    """Begins to write all of an owner's runs into one file, with the own documents of the `library`
    if they are wanted, and returns at once. See `exported`."""
    return desk().exports.start(owner, language, library=library)


def exported(*, owner: str = "local") -> Export | None:
    """How far the export of an owner's runs has come; None if there is none."""
    return desk().exports.state(owner)


def discard_export(*, owner: str = "local") -> None:
    """Deletes the file of an owner's export, or gives up writing it."""
    desk().exports.discard(owner)


def wipe(*, caches: bool = False, library: bool = False, owner: str = "local") -> Wiped:
    """Deletes everything of an owner, and the bytes of it; what is under way is stopped first. With
    `caches` also the kept answers of services, and with `library` all documents but the samples:
    both are everybody's.

    Raises:
        StillRunning: a run does not stop; nothing was deleted.
        StoreError: the store cannot be used.
        OSError: the file of remembered keys cannot be written; all else is gone.
    """
    here = desk()
    here.exports.discard(owner)
    wiped = deletion.wipe(
        here.runs, owner, caches=caches, library=here.library if library else None
    )
    here.personal.preferences.forget_all(owner)
    here.services.descriptions.clear(owner)
    files, reports = here.services.uploads.clear(owner), here.runs.resources.files.clear(owner)
    return wiped.model_copy(update={"files": files, "reports": reports})


def set_aside(path: Path) -> Path:
    """Renames a damaged file of the data folder, so that a new one is begun; returns where it is.
    What is going on is interrupted.

    Raises:
        ValueError: the file is not damaged.
        OSError: it cannot be renamed.
    """
    close()
    return rescue.set_aside(path)
