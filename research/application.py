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
from research.accounts.data_export import DataExport, DataExports
from research.accounts.deletion import DeletionSummary
from research.accounts.keys import KeyStore
from research.accounts.preferences import KeyStatus, SettingChoice
from research.accounts.storage_usage import StorageUsage, measure_storage
from research.accounts.usage import DayUsage, usage_by_day
from research.agent.nodes.answer import SQL_TOOL
from research.agent.nodes.search import failed_finding
from research.agent.nodes.table import estimate_searches
from research.core import settings as _settings
from research.core.coordinates import Point
from research.core.errors import ServiceError
from research.core.records import (
    ConnectionCheck,
    Conversation,
    DistanceMatrix,
    Event,
    Finding,
    Grid,
    Itinerary,
    Language,
    Part,
    Place,
    Plan,
    Question,
    Readiness,
    RecordedPlace,
    Report,
    Run,
    RunEstimate,
    RunOptions,
    RunStatus,
    Task,
    WatchedTopic,
    ignore_event,
)
from research.core.settings import SettingError, Settings
from research.core.text.tokenizer import detect_language
from research.runtime.estimate import MAX_EARLIER_RUNS, FinishedRun, estimate_table
from research.runtime.estimate import ModelSetup as Calls
from research.runtime.estimate import estimate_run as estimated
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.model_roles import ModelRole, model_table
from research.runtime.owner_services import OwnerServices
from research.runtime.report_files import describe_write_error
from research.runtime.report_states import read_state, restore_run
from research.runtime.run_manager import RunManager
from research.runtime.services import Services, utc_now
from research.runtime.start_rate_limiter import StartRateLimiter
from research.sources import registry
from research.sources.base import Source
from research.sources.places import itinerary, offline
from research.sources.places.directions import RoutingMode
from research.sources.places.questions import map_keywords
from research.sources.registry import RejectedSource
from research.storage import recovery
from research.storage.history import HistoryEntry, HistoryPage, RunKind
from research.storage.history_index import HistoryQuery
from research.tables.spec import describe_table as asked_by
from research.watch import topics

if TYPE_CHECKING:
    from research.models.model_names import ModelComparison
    from research.runtime.remote_run_manager import RemoteRunManager
    from research.sources.places.retriever import PlacesRetriever

MapLocation = str | tuple[float, float]  # a name, or longitude and latitude in WGS-84


def _load_remote_run_manager() -> type[RemoteRunManager]:
    """The engine on a server, whose client is loaded only where there is one."""
    from research.runtime.remote_run_manager import RemoteRunManager

    return RemoteRunManager


class Application:
    """Everything one data folder needs: its settings, its library and its runs."""

    def __init__(self, settings: Settings) -> None:
        """Raises StoreError if the data folder cannot be used."""
        self.settings, self.services = settings, (services := Services(settings))
        self.start_rate_limiter = StartRateLimiter(settings.starts_per_minute)
        self.preview_rate_limiter = StartRateLimiter(settings.starts_per_minute)  # paid as well, but no run is started
        self.library, self.clients, self.models = (
            services.library,
            services.clients,
            services.models,
        )
        self.map_service, self.sources, self.default_options = (
            services.map_service,
            services.sources,
            services.default_options,
        )
        engine = _load_remote_run_manager() if settings.runs_url else LocalRunManager
        self.runs: RunManager = engine(services.resources, services.default_options, self._close_services)
        keys = KeyStore(settings.data_dir)
        self.owner_services = OwnerServices(services, self.runs, keys)
        self.runs.resource_provider = self.owner_services
        keys.on_change = self.runs.send_session_keys
        self.data_exports = DataExports(
            settings.data_dir / "exports",
            services.store,
            services.library,
            lambda owner: [each.model_dump(mode="json") for each in services.uploads.all(owner)],
            services.descriptions.all,
        )

    async def _close_services(self) -> None:
        if "owner_services" in self.__dict__:
            await self.owner_services.close_all()
        else:  # the engine could not be opened
            await self.services.close()

    def estimate_usage(self, options: RunOptions, owner: str, plan: Plan | None) -> RunEstimate:
        """What a run is likely to use."""
        services = self.owner_services.services(owner)
        web = services.web.live_providers
        calls = Calls(
            models=models.model_names(options) if (models := services.models_for(options)) else {},
            uses_grounding=bool(web) and web[0].name == "gemini",
            agent=f"gemini:{web[0].readiness().detail}" if web and web[0].name == "deep-research" else "",
        )
        accounts = self.runs.store.finished_runs(owner, 2 * MAX_EARLIER_RUNS)
        earlier = [FinishedRun(run, events) for run, events in accounts]
        if plan and plan.grid:
            asked = Question(text=asked_by(plan.grid), language=detect_language(asked_by(plan.grid)))
            most = estimate_searches(plan.grid, asked, services.reasoner, options)
            return estimate_table(options, calls, most, len(plan.grid.rows), utc_now().date())
        tasks = len(plan.tasks) if plan else None
        return estimated(options, calls, earlier, utc_now().date(), tasks=tasks)

    def search_around(
        self,
        location: MapLocation,
        keywords: str,
        radius_metres: int,
        owner: str,
        language: Language | None = None,
    ) -> Finding:
        """Places around a named place or a WGS-84 point; what is found is kept."""
        words = map_keywords(keywords)
        named = location if isinstance(location, str) else ""
        language = language or detect_language(f"{keywords} {named}")
        query = " ".join([named, *words]).strip()
        place = _to_map_location(location)
        return self._search_map(
            query, owner, lambda map_: map_.search_around(place, words, radius_metres, language, ignore_event)
        )

    def find_route(
        self,
        origin: MapLocation,
        destination: MapLocation,
        mode: RoutingMode | None,
        owner: str,
        language: Language | None = None,
    ) -> Finding:
        """The way from one place to another; what is found is kept."""
        query = " → ".join(end if isinstance(end, str) else "" for end in (origin, destination))
        language = language or detect_language(query)
        return self._search_map(
            query,
            owner,
            lambda map_: map_.find_route(
                _to_map_location(origin), _to_map_location(destination), mode, language, ignore_event
            ),
        )

    def plan_itinerary(
        self,
        place: str,
        stops: Sequence[str],
        mode: RoutingMode | None,
        owner: str,
        language: Language | None = None,
    ) -> Finding:
        """A day's round through some stops or the sights of a place; what is found is kept."""
        query = " ".join([place, *stops]).strip()
        language = language or detect_language(query)
        return self._search_map(
            query, owner, lambda map_: map_.plan_itinerary(place, stops, mode, language, ignore_event)
        )

    def _search_map(
        self,
        query: str,
        owner: str,
        search: Callable[[PlacesRetriever], Coroutine[Any, Any, Finding]],
    ) -> Finding:
        try:
            with self.owner_services.open_services(owner) as (services, _):
                found = self.runs.run_on_loop(search(services.places))
        except ServiceError as trouble:
            task = Task(id="", source="places", query=query)
            provider = services.map_services.default_service.name
            return failed_finding(task, trouble).model_copy(update={"provider": provider})
        self.runs.store.add_evidence(self.runs.store.lookup_registry(owner), found.evidence)
        return found

    def find_places(self, query: str, owner: str) -> Finding:
        """Places that a sentence asks for; what is found is kept."""
        task = Task(id="", source="places", query=query)
        with self.owner_services.open_services(owner) as (services, _):
            found = self.runs.run_on_loop(services.places.search(task, ignore_event))
        self.runs.store.add_evidence(self.runs.store.lookup_registry(owner), found.evidence)
        return found

    def warm(self) -> None:
        """Loads the graph, makes the clients of the models and starts the map's server: the first
        question need not wait. Then come the workers, who take as long, and scanned pages that wait."""
        self.runs.run_on_loop(self.runs.preload())
        self.runs.run_on_loop(self.services.warm())
        self.runs.start_workers()
        self.library.scan_reader.start()

    def check_connections(self, owner: str = "local") -> Sequence[ConnectionCheck]:
        """A round trip to every model and every provider that an owner can use, and to the server
        that the runs are given to."""
        with self.owner_services.open_services(owner) as (services, _):
            checks = self.runs.run_on_loop(services.check_connections())
        return [*checks, *self.runs.run_on_loop(self.runs.check_connection())]

    def check_key(self, name: str, owner: str, typed_values: Mapping[str, str]) -> ConnectionCheck:
        known = self.owner_services.preferences
        settings, wrong = known.settings_with_keys(typed_values, owner)
        if why := wrong.get(name):
            raise SettingError(why)
        with self.owner_services.open_services(owner) as (services, _):
            found: ConnectionCheck = self.runs.run_on_loop(services.check_key(name, settings))
        failure = found.failure
        refused = failure is not None and failure.reason == "refused"
        if failure is None or (refused and failure.hint not in ("endpoint", "model")):
            key = next((one.key for one in settings.services if name == one.address), name)
            known.record_key_test(key, settings, owner, is_refused=refused)
        return found

    def close(self) -> None:
        self.data_exports.close()
        self.runs.close()
        self.library.close()


_application_lock = threading.Lock()
_application: Application | None = None


def get_application(data_dir: Path | None = None) -> Application:
    """The process's desk, opened with the environment's settings on first use.

    `data_dir`, given on first use, beats the environment.

    Raises:
        SettingError: a setting is not usable.
        StoreError: the data folder cannot be used. The next call tries again.
    """
    global _application
    with _application_lock:
        if _application is None:
            _application = Application(_settings.load_settings(data_dir=data_dir))
        return _application


def get_services(*, owner: str = "local") -> Services:
    """What an owner's runs work with: the settings, the models and the sources, with what the owner
    has chosen and brought along. For a look at them; what asks somebody goes through the functions
    here."""
    return get_application().owner_services.services(owner)


def close() -> None:
    """Interrupts what is going on and releases the data folder."""
    global _application
    with _application_lock:
        if _application is not None:
            _application.close()
            _application = None


def _rate_limited_runs(owner: str) -> RunManager:
    """The runs, for what begins paid work.

    Raises:
        PaceError: the owner has started too much within a minute.
    """
    here = get_application()
    here.start_rate_limiter.record_start(owner)
    return here.runs


def start_run(
    question: str,
    *,
    options: RunOptions | None = None,
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
    return _rate_limited_runs(owner).start(
        question,
        options=options,
        owner=owner,
        plan=plan,
        based_on=based_on,
        follows=follows,
        run_id=run_id,
    )


def start_report(
    topic: str,
    *,
    options: RunOptions | None = None,
    owner: str = "local",
    follows: str = "",
    save_folder: Path | None = None,
) -> Run:
    """Starts a report on a topic in the news and returns at once: a run whose plan is an outline. Of
    `options`, `sections` and `reflections` are its measure. It is saved in the folder `save`, if one
    is given, instead of that of the settings.

    Raises:
        QuestionError: the topic cannot be researched.
        StoreError: the run could not be stored.
    """
    mine = get_services(owner=owner)
    chosen = options or mine.report_options()
    if not chosen.sections:
        chosen = chosen.model_copy(update={"sections": mine.settings.sections})
    run_id, here = uuid.uuid4().hex, _rate_limited_runs(owner)
    if save_folder:
        here.resources.report_files.set_folder(run_id, save_folder)
    return here.start(topic, options=chosen, owner=owner, follows=follows, run_id=run_id)


def start_table(
    question: str = "",
    *,
    grid: Grid | None = None,
    options: RunOptions | None = None,
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
    chosen = options or get_services(owner=owner).default_options()
    update = {"table": True, "sections": 0, "clarify": False, "approve": grid is None}
    return _rate_limited_runs(owner).start(
        question or (asked_by(grid) if grid else ""),
        options=chosen.model_copy(update=update),
        owner=owner,
        plan=Plan(grid=grid) if grid else None,
        based_on=based_on,
        run_id=run_id,
    )


def start_database_run(
    question: str,
    *,
    is_statement: bool = False,
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
    task = Task(id="1.1", source="database", query=text, part="p1", tool=SQL_TOOL if is_statement else "")
    return _rate_limited_runs(owner).start(
        question,
        options=get_services(owner=owner).default_options().model_copy(update=update),
        owner=owner,
        plan=Plan(parts=(Part(id="p1", subject="", text=text),), tasks=(task,)),
        run_id=run_id,
    )


def _database_id(database: str, owner: str) -> str:
    """Under which what was found right in a database is kept; "" for one that is gone."""
    try:
        return get_application().services.database(database, owner).database_id
    except ServiceError:
        return ""


def confirm_statement(question: str, sql: str, *, database: str = "", owner: str = "local") -> None:
    """Notes that a statement is right for a question to a database: it answers the same question
    from now on, and is an example for those like it."""
    if base := _database_id(database, owner):
        get_application().runs.store.confirm_statement(owner, base, question, sql)


def confirmed_statements(*, database: str = "", owner: str = "local") -> Sequence[tuple[str, str]]:
    """The owner's questions to a database with the statements that are right, the latest first."""
    return get_application().runs.store.confirmed_statements(owner, _database_id(database, owner))


def remove_confirmed_statement(question: str, *, database: str = "", owner: str = "local") -> None:
    """Takes back that the statement of a question is right."""
    get_application().runs.store.remove_confirmed_statement(owner, _database_id(database, owner), question)


def notebooks(*, owner: str = "local") -> Mapping[str, Sequence[str]]:
    """The notebooks of an owner: the documents of each, by their names in the library."""
    return get_application().runs.store.notebooks(owner)


def add_to_notebook(notebook: str, documents: Iterable[str], *, owner: str = "local") -> str:
    """Puts documents of the library, by their names, into a notebook of an owner, which is made if
    there is none. Returns its name as it is kept; "" if that has no sign that can be shown."""
    return get_application().runs.store.add_to_notebook(owner, notebook, documents)


def remove_from_notebook(notebook: str, documents: Iterable[str], *, owner: str = "local") -> None:
    """Takes documents out of a notebook, which goes with the last of them."""
    get_application().runs.store.remove_from_notebook(owner, notebook, documents)


def delete_notebook(notebook: str, *, owner: str = "local") -> None:
    """Deletes a notebook. Its documents stay in the library."""
    get_application().runs.store.delete_notebook(owner, notebook)


def save_remark(run_id: str, text: str, *, evidence: str = "", passage: str = "", owner: str = "local") -> bool:
    """Notes something of one's own of the answer of a run, or of a `passage` of its `evidence`, by
    their ids; "" deletes the note. At most 4,000 characters are kept. Whether there is such a passage."""
    return get_application().runs.save_remark(run_id, text, evidence, passage, owner=owner)


def rename_notebook(notebook: str, new_name: str, *, owner: str = "local") -> str:
    """Gives a notebook another name: one that there is already takes in its documents. Returns the name
    as it is kept; "" if that has no sign that can be shown, or there is no such notebook."""
    return get_application().runs.store.rename_notebook(owner, notebook, new_name)


def set_preference(name: str, value: object, *, owner: str = "local") -> None:
    """Remembers what somebody has chosen under a name, as JSON; None forgets it. No keys belong here."""
    get_application().runs.store.set_preference(owner, name, value)


def preferences(*, owner: str = "local") -> dict[str, Any]:
    """What somebody has chosen, by name."""
    return get_application().runs.store.preferences(owner)


def record_sign_out(sign_in_id: str = "", *, ended_at: datetime, keep_until: datetime, owner: str) -> None:
    """Record that a sign-in has ended, for all processes that share the store; without an id, all
    sign-ins of the owner that began until `at`. None of them may be valid after `until`.

    Raises:
        StoreError: the store cannot be used.
    """
    get_application().runs.store.record_sign_out(owner, sign_in_id, ended_at, keep_until)


def is_signed_out(sign_in_id: str, *, started_at: datetime, owner: str) -> bool:
    """Return whether a sign-in was ended.

    Raises:
        StoreError: the store cannot be used.
    """
    return get_application().runs.store.is_signed_out(owner, sign_in_id, started_at)


def choices(*, owner: str = "local") -> Sequence[SettingChoice]:
    """Every setting that an owner can choose, as the owner has it."""
    return get_application().owner_services.preferences.choices(owner)


def save_choices(values: Mapping[str, str], *, owner: str = "local") -> dict[str, str]:
    """Keeps what an owner has chosen, by the name of the setting; a blank value is the environment's.
    Returns what is wrong, by name; then nothing is kept."""
    return get_application().owner_services.preferences.save_choices(values, owner)


def reset_choices(*, owner: str = "local") -> None:
    """Forgets all that an owner has chosen of the settings. Keys stay."""
    get_application().owner_services.preferences.reset_choices(owner)


def key_statuses(*, owner: str = "local") -> Sequence[KeyStatus]:
    """Where each key is that an owner may bring along; none where the runs are worked on elsewhere."""
    return get_application().owner_services.preferences.key_statuses(owner)


def add_keys(values: Mapping[str, str], *, remember: bool = False, owner: str = "local") -> dict[str, str]:
    """Takes in keys of an owner's: for as long as the process lives, or with `remember` in a file that
    only the owner of the process can read. Returns what is wrong, by name; then none was taken.

    Raises:
        OSError: the file cannot be written; none was taken.
    """
    return get_application().owner_services.preferences.add_keys(values, owner, remember=remember)


def delete_key(name: str, *, owner: str = "local") -> None:
    """Forgets a key that an owner has brought along. What is under way with it goes on with it.

    Raises:
        OSError: the file of the remembered keys cannot be written.
    """
    get_application().owner_services.preferences.delete_key(name, owner)


def restore_report(path: Path, *, owner: str = "local", save_folder: Path | None = None) -> Run:
    """Makes a run of the saved state of a report; `resume` goes on with it, and neither repeats a
    search that it holds nor pays for one of its steps again. The run has a new id if its own is taken.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no state of a report, or one that cannot be gone on with.
        StoreError: the run could not be stored.
    """
    here = get_application()
    run = restore_run(here.runs.store, read_state(path, here.sources), owner)
    if save_folder:
        here.runs.resources.report_files.set_folder(run.id, save_folder)
    return run


def saved_report(run_id: str, *, owner: str = "local") -> tuple[Path | None, str]:
    """Where the report of a finished run was saved, or why it could not be. One that is wanted in a
    folder and that nobody has saved, because it was worked on elsewhere, is saved now."""
    told = [event.data for event in events(run_id, owner=owner) if event.kind == "saved"]
    if told:
        return Path(told[-1]["report"]) if told[-1]["report"] else None, told[-1]["problem"]
    run = get_run(run_id, owner=owner)
    files = get_application().runs.resources.report_files
    if run is None or run.status != "done":
        return None, ""
    try:
        return files.save_report(run), ""
    except OSError as error:
        return None, describe_write_error(error, files.folder(run))


def preview_plan(question: str, *, options: RunOptions | None = None, follows: str = "", owner: str = "local") -> Plan:
    """The plan that a run of this question would begin with; nothing is searched, and no run counts as
    started.

    Raises:
        PaceError: the owner has previewed too much within a minute.
    """
    here = get_application()
    here.preview_rate_limiter.record_start(owner)
    return here.runs.preview_plan(question, options=options, follows=follows, owner=owner)


def estimate_usage(options: RunOptions | None = None, *, plan: Plan | None = None, owner: str = "local") -> RunEstimate:
    """What a run of these limits, and of this plan if there is one, is likely to use: from the
    settings, and from what the owner's finished runs with the same models have used."""
    here = get_application()
    return here.estimate_usage(options or get_services(owner=owner).default_options(), owner, plan)


def follow_run(run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
    """The events of a run as they happen, from number `after` on, until it is over."""
    return get_application().runs.follow(run_id, after, owner=owner)


def events(run_id: str, after: int = 0, *, owner: str = "local") -> Sequence[Event]:
    """The events of a run that are there now."""
    return get_application().runs.events(run_id, after, owner=owner)


def last_event_number(run_id: str, *, owner: str = "local") -> int:
    """The number of the last event of a run; 0 if it has none."""
    return get_application().runs.store.last_event_number(run_id, owner)


def stop_run(run_id: str, *, write_only: bool = False, owner: str = "local") -> None:
    """Stops a run; what it has found is kept, and with `write` the answer is written with that."""
    get_application().runs.stop(run_id, write_only=write_only, owner=owner)


def resume_run(run_id: str, *, write_only: bool = False, owner: str = "local") -> Run | None:
    """Goes on with a stopped, interrupted or failed run; with `write`, without another search."""
    return _rate_limited_runs(owner).resume(run_id, write_only=write_only, owner=owner)


def approve_run(
    run_id: str,
    *,
    plan: Plan | None = None,
    options: RunOptions | None = None,
    owner: str = "local",
) -> Run | None:
    """Goes on with a run that waits for its plan, with the plan and the limits that are given. It
    counted as started when it was."""
    return get_application().runs.approve(run_id, plan=plan, options=options, owner=owner)


def web_providers() -> Sequence[str]:
    """Who can search the web, by name, whether or not they can be used."""
    return _settings.PROVIDERS


def answer_clarification(run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
    """Answers what a waiting run has asked back, and goes on with it; without an answer it goes on as
    it was planned."""
    return get_application().runs.answer_clarification(run_id, answer, owner=owner)


def add_instruction(run_id: str, text: str, *, owner: str = "local") -> bool:
    """Says something to a run under way ("only after 2024"), for its next reflection and its answer.
    Whether it was taken."""
    return get_application().runs.add_instruction(run_id, text, owner=owner)


def extend_run(run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
    """A further run that looks for what a finished one still lacks. It repeats no search."""
    return _rate_limited_runs(owner).extend(run_id, rounds=rounds, owner=owner)


def recent_runs(*, owner: str = "local", limit: int = 200) -> Sequence[Run]:
    """An owner's runs, newest first."""
    return get_application().runs.recent_runs(owner=owner, limit=limit)


def get_run(run_id: str, *, owner: str = "local") -> Run | None:
    """A run by id."""
    return get_application().runs.get_run(run_id, owner=owner)


def queue_position(run_id: str, *, owner: str = "local") -> tuple[int, bool]:
    """How many runs wait in front of one that is queued, and whether it is the owner's own runs that
    it waits for."""
    return get_application().runs.queue_position(run_id, owner=owner)


def conversations(*, owner: str = "local", limit: int = 200) -> Sequence[Conversation]:
    """An owner's conversations: those that are pinned first, then the latest."""
    return get_application().runs.store.conversations(owner, limit)


def turns(conversation: str, *, owner: str = "local") -> Sequence[Run]:
    """The runs of a conversation, the earliest first."""
    return get_application().runs.store.turns(conversation, owner)


def update_conversation(
    conversation: str, *, title: str | None = None, pinned: bool | None = None, owner: str = "local"
) -> None:
    """Gives a conversation a title of its own ("" gives it back its first question), or pins it."""
    store = get_application().runs.store
    if store.turns(conversation, owner):
        store.update_conversation(conversation, title=title, pinned=pinned)


def search_history(
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
    wanted = HistoryQuery(words, statuses, kind, since, until, tag, pinned)
    return get_application().runs.search_history(wanted, limit=limit, offset=offset, owner=owner)


def set_tags(conversation: str, tags: Sequence[str], *, owner: str = "local") -> Sequence[str]:
    """Gives a conversation these tags and no others; returns them as they are kept: without "#", once
    each, at most ten of 40 characters."""
    store = get_application().runs.store
    if not store.turns(conversation, owner):
        return ()
    return store.history.set_tags(owner, conversation, tags)


def tags(*, owner: str = "local") -> Sequence[str]:
    """The tags that an owner uses, the most used first."""
    return get_application().runs.store.history.tags(owner)


def move_to_bin(conversation: str, *, owner: str = "local") -> None:
    """Puts a conversation into the bin, where nothing but `restore` and `forget` finds it; it is
    deleted there after 30 days. What is going on in it is stopped."""
    get_application().runs.move_to_bin(conversation, owner=owner)


def restore_from_bin(conversation: str, *, owner: str = "local") -> None:
    """Takes a conversation out of the bin again."""
    get_application().runs.restore_from_bin(conversation, owner=owner)


def bin_entries(*, owner: str = "local") -> Sequence[HistoryEntry]:
    """What lies in an owner's bin, what was put there last first."""
    return get_application().runs.bin_entries(owner=owner)


def empty_bin(*, owner: str = "local") -> None:
    """Deletes for good what lies in an owner's bin."""
    get_application().runs.empty_bin(owner=owner)


def delete_conversation(conversation: str, *, owner: str = "local") -> None:
    """Deletes a conversation for good, with all that its runs have found; one in the bin, too."""
    get_application().runs.delete_conversation(conversation, owner=owner)


def watch_topic(run_id: str, *, owner: str = "local") -> WatchedTopic:
    """Watches the topic of a report that is written: it can be brought up to date from now on.

    Raises:
        Unwatchable: there is no such report.
    """
    return topics.watch_topic(get_application().runs, run_id, owner)


def unwatch_topic(watch_id: str, *, owner: str = "local") -> None:
    """Watches a topic no more."""
    topics.unwatch_topic(get_application().runs, watch_id, owner)


def watches(*, owner: str = "local") -> Sequence[WatchedTopic]:
    """The topics that an owner watches, the latest first."""
    return topics.watches(get_application().runs, owner)


def find_watch(topic: str, *, owner: str = "local") -> WatchedTopic | None:
    """The watch of a topic, however it is spelt."""
    return topics.find_watch(get_application().runs, topic, owner)


def start_update(watch_id: str, *, owner: str = "local") -> Run:
    """Starts a run that brings a watched report up to date: it searches as that one began, and has a
    model read only what is new.

    Raises:
        Unwatchable: there is no such watch.
    """
    return topics.start_update(_rate_limited_runs(owner), watch_id, owner)


def report(run_id: str, *, owner: str = "local") -> Report | None:
    """Everything a run has to show so far."""
    return get_application().runs.report(run_id, owner=owner)


def readiness(*, owner: str = "local") -> dict[str, Readiness]:
    """What each source can do now for an owner, by name."""
    return {name: source.readiness() for name, source in get_services(owner=owner).sources.items()}


def known_sources() -> Mapping[str, Source]:
    """What each source says of itself, by name, in the order in which they are offered."""
    return registry.sources_by_name()


def refused_sources() -> Sequence[RejectedSource]:
    """The sources of packages that cannot be used, and why."""
    return registry.rejected_sources()


def recorded_places(*, owner: str = "local") -> Sequence[RecordedPlace]:
    """Every place that an owner's runs and look-ups have found, the latest found first."""
    return get_application().runs.store.recorded_places(owner)


def search_around(
    location: MapLocation,
    keywords: str,
    radius_metres: int,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """Searches the map around a named place or a WGS-84 point (longitude, latitude), within `radius`
    metres or, where nothing is, farther (see `Centre`), without a run. What is said of it is in
    `language`, by default that of the words. A search that fails is a finding with a reason."""
    return get_application().search_around(location, keywords, radius_metres, owner, language)


def find_route(
    origin: MapLocation,
    destination: MapLocation,
    mode: RoutingMode | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """The way between two places or WGS-84 points, without a run: on foot if it is short, else by public
    transport and by car, unless a means is named. A way that is not found is a finding with a reason."""
    return get_application().find_route(origin, destination, mode, owner, language)


def plan_itinerary(
    place: str,
    stops: Sequence[str] = (),
    mode: RoutingMode | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """A day's round through some stops, or through the best sights of a place, without a run. One that
    is not found is a finding with a reason."""
    return get_application().plan_itinerary(place, stops, mode, owner, language)


def _to_map_location(place: MapLocation) -> str | Point:
    return Point(*place) if isinstance(place, tuple) else place


def sample_places() -> Sequence[Place]:
    """Places of the table that is there without a key, around one of its centres."""
    return offline.sample_places()


def distances(places: Sequence[Place], *, owner: str = "local") -> DistanceMatrix:
    """How far some places are from one another, as the map measures it. What fails is said in it."""
    here = get_application()
    try:
        with here.owner_services.open_services(owner) as (services, _):
            return here.runs.run_on_loop(
                itinerary.measure_distance_matrix(services.map_services.find_distance_service(places), places)
            )
    except ServiceError as trouble:
        failure = trouble.to_failure("search", "places")
        return DistanceMatrix(names=tuple(place.name for place in places), failure=failure)


def find_places(query: str, *, owner: str = "local") -> Finding:
    """Searches the map for what a sentence asks for, as a run would, without one. A search that fails
    is a finding with a reason."""
    return get_application().find_places(query, owner)


def build_itinerary(places: Sequence[Place], *, owner: str = "local") -> Itinerary:
    """The places in the order of a day that begins at the first, and the ways between them."""
    here = get_application()
    with here.owner_services.open_services(owner) as (services, _):
        return here.runs.run_on_loop(
            itinerary.build_itinerary(services.map_services.find_distance_service(places), places)
        )


def places_quota(*, owner: str = "local") -> tuple[int, int] | None:
    """How many searches for places an owner has left today, and of how many; None if they are not
    limited."""
    return get_services(owner=owner).map_service.searches_left()


def tune_garbage_collector() -> None:
    """For a process that lasts: the garbage collector leaves alone what never dies, and comes
    less often. Called when everything is imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def warm() -> None:
    """Loads what the first question would have to wait for."""
    get_application().warm()


def check_connections(*, owner: str = "local") -> Sequence[ConnectionCheck]:
    """Asks every model and every search provider that an owner can use for something small. Some of
    it may cost money."""
    return get_application().check_connections(owner)


def check_key(name: str, *, typed_values: Mapping[str, str] | None = None, owner: str = "local") -> ConnectionCheck:
    """Test a key or an address, by the name of its setting: one that is `typed`, with the others that
    are, or else the one that an owner uses. Models are tested without a cost, searches and the map by
    asking one thing. Nothing is kept but whether the service refused the key.

    Raises:
        SettingError: what is typed is no key, or no address.
        ValueError: nobody may bring such a key along.
    """
    if name not in _settings.KEYS:
        raise ValueError(f"{name} is no key that can be tested.")
    return get_application().check_key(name, owner, typed_values or {})


def compare_models(listing: str | None = None, *, owner: str = "local") -> ModelComparison:
    """Compare the models that ship and those that an owner has chosen with a list of Gemini's models.

    Args:
        listing: JSON of a provider, or a name a line; without it Gemini's own list is read.

    Raises:
        ValueError: The text has no names of models.
    """
    from research.models.model_names import ModelComparison, compare_names, parse_listing
    from research.models.roles import DEFAULT_MODELS, role_models
    from research.runtime.connection_checks import list_models

    settings = get_services(owner=owner).settings
    used = [(name, f"default of {role}") for role, name in DEFAULT_MODELS.items()]
    used += [(s.name, s.setting) for s in role_models(settings).values() if s.provider == "gemini"]
    try:
        names = get_application().runs.run_on_loop(list_models(settings)) if listing is None else parse_listing(listing)
    except ServiceError as trouble:
        return ModelComparison(failure=trouble.to_failure("check"))
    return compare_names(names, dict.fromkeys(used), utc_now().date())


def model_roles(*, owner: str = "local") -> Sequence[ModelRole]:
    """Which model does what for an owner, what it lacks and what it costs; nothing if none is set."""
    return model_table(get_services(owner=owner), utc_now().date())


def daily_usage(*, since: datetime, time_zone: tzinfo = UTC, owner: str = "local") -> Sequence[DayUsage]:
    """What an owner's runs have used since a time, by day of a time zone, stage and model."""
    return usage_by_day(get_application().runs.store, owner, since, time_zone)


def storage_usage() -> Sequence[StorageUsage]:
    """What is stored for everybody, where, and how large it is."""
    here = get_application()
    counts = here.library.count_documents()
    documents = counts.own_count + counts.sample_count
    remote = bool(here.settings.runs_url)
    return measure_storage(here.settings, here.runs.store, documents, is_remote=remote)


def start_data_export(*, language: str = "en", include_library: bool = False, owner: str = "local") -> DataExport:
    """Begins to write all of an owner's runs into one file, with the own documents of the `library`
    if they are wanted, and returns at once. See `exported`."""
    return get_application().data_exports.start(owner, language, include_library=include_library)


def get_data_export(*, owner: str = "local") -> DataExport | None:
    """How far the export of an owner's runs has come; None if there is none."""
    return get_application().data_exports.get(owner)


def discard_data_export(*, owner: str = "local") -> None:
    """Deletes the file of an owner's export, or gives up writing it."""
    get_application().data_exports.discard(owner)


def delete_owner_data(
    *, include_caches: bool = False, include_library: bool = False, owner: str = "local"
) -> DeletionSummary:
    """Deletes everything of an owner, and the bytes of it; what is under way is stopped first. With
    `caches` also the kept answers of services, and with `library` all documents but the samples:
    both are everybody's.

    Raises:
        StillRunning: a run does not stop; nothing was deleted.
        StoreError: the store cannot be used.
        OSError: the file of remembered keys cannot be written; all else is gone.
    """
    here = get_application()
    here.data_exports.discard(owner)
    wiped = deletion.delete_owner_data(
        here.runs, owner, include_caches=include_caches, library=here.library if include_library else None
    )
    here.owner_services.preferences.delete_all(owner)
    here.services.descriptions.clear(owner)
    files, reports = here.services.uploads.clear(owner), here.runs.resources.report_files.delete_owner_files(owner)
    return wiped.model_copy(update={"uploads": files, "reports": reports})


def set_aside_damaged_file(path: Path) -> Path:
    """Renames a damaged file of the data folder, so that a new one is begun; returns where it is.
    What is going on is interrupted.

    Raises:
        ValueError: the file is not damaged.
        OSError: it cannot be renamed.
    """
    close()
    return recovery.set_aside_damaged_file(path)
