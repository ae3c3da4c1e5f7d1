"""The public functions of the engine, and the composition root that wires it together.

`Application` picks the reasoner and the sources. The functions below it act on one application per
process, which the first call creates. It is a module singleton on purpose: any visitor could empty
a cache of the web framework, and that would end the running questions.
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
from research.core.events import Event, ReportSaved
from research.core.records import (
    ConnectionCheck,
    Conversation,
    DistanceMatrix,
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
    """Import the client of a server of runs, which only a remote setup needs."""
    from research.runtime.remote_run_manager import RemoteRunManager

    return RemoteRunManager


class Application:
    """Everything that one data folder needs: its settings, its library and its runs."""

    def __init__(self, settings: Settings) -> None:
        """Open the data folder of the settings.

        Raises:
            StoreError: the data folder cannot be used.
        """
        self.settings, self.services = settings, (services := Services(settings))
        self.start_rate_limiter = StartRateLimiter(settings.starts_per_minute)
        self.preview_rate_limiter = StartRateLimiter(settings.starts_per_minute)
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
        else:  # Opening the run manager failed, so there are no owner services.
            await self.services.close()

    def estimate_usage(self, options: RunOptions, owner: str, plan: Plan | None) -> RunEstimate:
        """Estimate the usage of a run from its options and from earlier runs."""
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
            table_question = Question(text=asked_by(plan.grid), language=detect_language(asked_by(plan.grid)))
            max_searches = estimate_searches(plan.grid, table_question, services.reasoner, options)
            return estimate_table(options, calls, max_searches, len(plan.grid.rows), utc_now().date())
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
        """Find places around a named place or a WGS-84 point, and store them as evidence."""
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
        """Find a route from one place to another, and store it as evidence."""
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
        """Plan a day's round trip through stops or the sights of a place, and store it."""
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
                finding = self.runs.run_on_loop(search(services.places))
        except ServiceError as error:
            task = Task(id="", source="places", query=query)
            provider = services.map_services.default_service.name
            return failed_finding(task, error).model_copy(update={"provider": provider})
        self.runs.store.add_evidence(self.runs.store.lookup_registry(owner), finding.evidence)
        return finding

    def find_places(self, query: str, owner: str) -> Finding:
        """Find the places that a sentence asks for, and store them as evidence."""
        task = Task(id="", source="places", query=query)
        with self.owner_services.open_services(owner) as (services, _):
            finding = self.runs.run_on_loop(services.places.search(task, ignore_event))
        self.runs.store.add_evidence(self.runs.store.lookup_registry(owner), finding.evidence)
        return finding

    def warm(self) -> None:
        """Prepare everything that the first question would have to wait for.

        Load the graph, create the clients of the models and start the map's server. Afterwards
        start the workers, which take as long, and the reading of queued scanned pages.
        """
        self.runs.run_on_loop(self.runs.preload())
        self.runs.run_on_loop(self.services.warm())
        self.runs.start_workers()
        self.library.scan_reader.start()

    def check_connections(self, owner: str = "local") -> Sequence[ConnectionCheck]:
        """Check an owner's models and providers, and the server of the runs if there is one.

        Each check is one request.
        """
        with self.owner_services.open_services(owner) as (services, _):
            checks = self.runs.run_on_loop(services.check_connections())
        return [*checks, *self.runs.run_on_loop(self.runs.check_connection())]

    def check_key(self, name: str, owner: str, typed_values: Mapping[str, str]) -> ConnectionCheck:
        """Test a key or an address, and record whether the service refused it."""
        owner_preferences = self.owner_services.preferences
        settings, problems = owner_preferences.settings_with_keys(typed_values, owner)
        if problem := problems.get(name):
            raise SettingError(problem)
        with self.owner_services.open_services(owner) as (services, _):
            check: ConnectionCheck = self.runs.run_on_loop(services.check_key(name, settings))
        failure = check.failure
        refused = failure is not None and failure.reason == "refused"
        if failure is None or (refused and failure.hint not in ("endpoint", "model")):
            key = next((status.key for status in settings.services if name == status.address), name)
            owner_preferences.record_key_test(key, settings, owner, is_refused=refused)
        return check

    def close(self) -> None:
        self.data_exports.close()
        self.runs.close()
        self.library.close()


_application_lock = threading.Lock()
_application: Application | None = None


def get_application(data_dir: Path | None = None) -> Application:
    """Return the application of the process. The first call creates it from the environment's
    settings.

    `data_dir`, if given with the first call, takes precedence over the environment.

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
    """Return the settings, models and sources of an owner's runs, with the owner's choices and
    keys.

    They are for inspection: code that calls a service uses the functions of this module.
    """
    return get_application().owner_services.services(owner)


def close() -> None:
    """Interrupt all work and release the data folder."""
    global _application
    with _application_lock:
        if _application is not None:
            _application.close()
            _application = None


def _rate_limited_runs(owner: str) -> RunManager:
    """Count a start of paid work against the owner's rate limit, and return the run manager.

    Raises:
        RateLimitError: the owner has started too much within a minute.
    """
    application = get_application()
    application.start_rate_limiter.record_start(owner)
    return application.runs


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
    """Start a run and return without waiting for it. See `RunManager.start`.

    Raises:
        RateLimitError: the owner has started too much within a minute. This holds for every
          function
            that starts paid work.
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
    """Start a report on a topic in the news and return without waiting for it.

    A report is a run whose plan is an outline. `sections` and `reflections` of the options set its
    size. It is saved in `save_folder`, or else in the folder of the settings.

    Raises:
        QuestionError: the topic cannot be researched.
        StoreError: the run could not be stored.
    """
    services = get_services(owner=owner)
    chosen = options or services.report_options()
    if not chosen.sections:
        chosen = chosen.model_copy(update={"sections": services.settings.sections})
    run_id, runs = uuid.uuid4().hex, _rate_limited_runs(owner)
    if save_folder:
        runs.resources.report_files.set_folder(run_id, save_folder)
    return runs.start(topic, options=chosen, owner=owner, follows=follows, run_id=run_id)


def start_table(
    question: str = "",
    *,
    grid: Grid | None = None,
    options: RunOptions | None = None,
    owner: str = "local",
    based_on: str = "",
    run_id: str = "",
) -> Run:
    """Start filling in a table and return without waiting for it.

    Without a `grid`, rows and columns are proposed from the question, and the run waits for their
    approval. Cells that are already filled in the owner's table `based_on` are reused.

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
    """Start a run that searches one database and no other source, and return without waiting for
    it.

    With `is_statement` the question is SQL, which is executed unchanged if the guard accepts it.
    `database` is the name of one of `research.databases`; "" means the default one.

    Raises:
        QuestionError: there is no question, or it is too long.
        StoreError: the run could not be stored.
    """
    text = question.strip()
    update = {"sources": ("database",), "queries": 1, "loops": 1, "approve": False, "database": database}
    task = Task(id="1.1", source="database", query=text, part="p1", tool=SQL_TOOL if is_statement else "")
    return _rate_limited_runs(owner).start(
        question,
        options=get_services(owner=owner).default_options().model_copy(update=update),
        owner=owner,
        plan=Plan(parts=(Part(id="p1", subject="", text=text),), tasks=(task,)),
        run_id=run_id,
    )


def _database_id(database: str, owner: str) -> str:
    """Return the id by which confirmed statements of a database are stored; "" if missing."""
    try:
        return get_application().services.database(database, owner).database_id
    except ServiceError:
        return ""


def confirm_statement(question: str, sql: str, *, database: str = "", owner: str = "local") -> None:
    """Confirm that a statement answers a question to a database.

    From then on it answers the same question, and is an example for similar ones.
    """
    if base := _database_id(database, owner):
        get_application().runs.store.confirm_statement(owner, base, question, sql)


def confirmed_statements(*, database: str = "", owner: str = "local") -> Sequence[tuple[str, str]]:
    """Return the owner's questions to a database with confirmed statements, the latest first."""
    return get_application().runs.store.confirmed_statements(owner, _database_id(database, owner))


def remove_confirmed_statement(question: str, *, database: str = "", owner: str = "local") -> None:
    """Withdraw the confirmation of a question's statement."""
    get_application().runs.store.remove_confirmed_statement(owner, _database_id(database, owner), question)


def notebooks(*, owner: str = "local") -> Mapping[str, Sequence[str]]:
    """Return the owner's notebooks: the library names of their documents, by notebook name."""
    return get_application().runs.store.notebooks(owner)


def add_to_notebook(notebook: str, documents: Iterable[str], *, owner: str = "local") -> str:
    """Add library documents, given by name, to a notebook of the owner; create it if necessary.

    Return the notebook's name as stored; "" if the name has no visible character.
    """
    return get_application().runs.store.add_to_notebook(owner, notebook, documents)


def remove_from_notebook(notebook: str, documents: Iterable[str], *, owner: str = "local") -> None:
    """Remove documents from a notebook. The notebook is deleted with its last document."""
    get_application().runs.store.remove_from_notebook(owner, notebook, documents)


def delete_notebook(notebook: str, *, owner: str = "local") -> None:
    """Delete a notebook. Its documents stay in the library."""
    get_application().runs.store.delete_notebook(owner, notebook)


def save_remark(run_id: str, text: str, *, evidence: str = "", passage: str = "", owner: str = "local") -> bool:
    """Save the owner's remark on a run's answer, or on a passage of its evidence, given by their
    ids.

    At most 4,000 characters are stored; "" deletes the remark. Return whether the passage exists.
    """
    return get_application().runs.save_remark(run_id, text, evidence, passage, owner=owner)


def rename_notebook(notebook: str, new_name: str, *, owner: str = "local") -> str:
    """Rename a notebook. If another notebook has the new name, the documents are merged into it.

    Return the name as stored; "" if it has no visible character or there is no such notebook.
    """
    return get_application().runs.store.rename_notebook(owner, notebook, new_name)


def set_preference(name: str, value: object, *, owner: str = "local") -> None:
    """Store a preference of an owner as JSON; None deletes it. Never store keys here."""
    get_application().runs.store.set_preference(owner, name, value)


def preferences(*, owner: str = "local") -> dict[str, Any]:
    """Return the preferences of an owner by name."""
    return get_application().runs.store.preferences(owner)


def record_sign_out(sign_in_id: str = "", *, ended_at: datetime, keep_until: datetime, owner: str) -> None:
    """Record that a sign-in has ended, for all processes that share the store.

    Without an id, end all sign-ins of the owner that began until `ended_at`. None of them may be
    valid after `keep_until`.

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
    """Return every setting that an owner can choose, with the owner's value."""
    return get_application().owner_services.preferences.choices(owner)


def save_choices(values: Mapping[str, str], *, owner: str = "local") -> dict[str, str]:
    """Save an owner's choices of settings by name; a blank value restores the environment's.

    Return the problems by name. If there are any, nothing is saved.
    """
    return get_application().owner_services.preferences.save_choices(values, owner)


def reset_choices(*, owner: str = "local") -> None:
    """Delete all of an owner's choices of settings. Keys stay."""
    get_application().owner_services.preferences.reset_choices(owner)


def key_statuses(*, owner: str = "local") -> Sequence[KeyStatus]:
    """Return the status of each key that an owner may add; none if the runs execute on a server."""
    return get_application().owner_services.preferences.key_statuses(owner)


def add_keys(values: Mapping[str, str], *, remember: bool = False, owner: str = "local") -> dict[str, str]:
    """Add keys of an owner, until the process ends or, with `remember`, in a file.

    Only the owner of the process can read that file. Return the problems by name. If there are any,
    no key is added.

    Raises:
        OSError: the file cannot be written; no key was added.
    """
    return get_application().owner_services.preferences.add_keys(values, owner, remember=remember)


def delete_key(name: str, *, owner: str = "local") -> None:
    """Delete a key of an owner. Running work that uses it continues to use it.

    Raises:
        OSError: the file of the remembered keys cannot be written.
    """
    get_application().owner_services.preferences.delete_key(name, owner)


def restore_report(path: Path, *, owner: str = "local", save_folder: Path | None = None) -> Run:
    """Create a run from the saved state of a report, to be continued with `resume_run`.

    Neither function repeats a search of the state or pays for one of its steps again. The run gets
    a new id if its own is taken.

    Raises:
        OSError: the file cannot be read.
        StateError: the file holds no state of a report, or one that cannot be continued.
        StoreError: the run could not be stored.
    """
    application = get_application()
    run = restore_run(application.runs.store, read_state(path, application.sources), owner)
    if save_folder:
        application.runs.resources.report_files.set_folder(run.id, save_folder)
    return run


def saved_report(run_id: str, *, owner: str = "local") -> tuple[Path | None, str]:
    """Return the path of a finished run's saved report, or the reason why saving it failed.

    A report that should be in a folder but was written by another process is saved now.
    """
    saved_events = [event.data for event in events(run_id, owner=owner) if isinstance(event.data, ReportSaved)]
    if saved_events:
        saved = saved_events[-1]
        return Path(saved.report) if saved.report else None, saved.problem
    run = get_run(run_id, owner=owner)
    files = get_application().runs.resources.report_files
    if run is None or run.status != "done":
        return None, ""
    try:
        return files.save_report(run), ""
    except OSError as error:
        return None, describe_write_error(error, files.folder(run))


def preview_plan(question: str, *, options: RunOptions | None = None, follows: str = "", owner: str = "local") -> Plan:
    """Return the plan that a run of this question would begin with. Search nothing and start no
    run.

    Raises:
        RateLimitError: the owner has previewed too much within a minute.
    """
    application = get_application()
    application.preview_rate_limiter.record_start(owner)
    return application.runs.preview_plan(question, options=options, follows=follows, owner=owner)


def estimate_usage(options: RunOptions | None = None, *, plan: Plan | None = None, owner: str = "local") -> RunEstimate:
    """Estimate the usage of a run with these options and, if given, this plan.

    The estimate rests on the settings and on the owner's finished runs with the same models.
    """
    application = get_application()
    return application.estimate_usage(options or get_services(owner=owner).default_options(), owner, plan)


def follow_run(run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
    """Yield the events of a run as they happen, from number `after` on, until the run ends."""
    return get_application().runs.follow(run_id, after, owner=owner)


def events(run_id: str, after: int = 0, *, owner: str = "local") -> Sequence[Event]:
    """Return the events that a run has so far."""
    return get_application().runs.events(run_id, after, owner=owner)


def last_event_number(run_id: str, *, owner: str = "local") -> int:
    """Return the number of the last event of a run; 0 if it has none."""
    return get_application().runs.store.last_event_number(run_id, owner)


def stop_run(run_id: str, *, write_only: bool = False, owner: str = "local") -> None:
    """Stop a run and keep its findings; with `write_only`, write the answer from them."""
    get_application().runs.stop(run_id, write_only=write_only, owner=owner)


def resume_run(run_id: str, *, write_only: bool = False, owner: str = "local") -> Run | None:
    """Continue a stopped, interrupted or failed run; with `write_only`, without new searches."""
    return _rate_limited_runs(owner).resume(run_id, write_only=write_only, owner=owner)


def approve_run(
    run_id: str,
    *,
    plan: Plan | None = None,
    options: RunOptions | None = None,
    owner: str = "local",
) -> Run | None:
    """Continue a run that waits for approval, with the given plan and limits.

    It does not count as another start.
    """
    return get_application().runs.approve(run_id, plan=plan, options=options, owner=owner)


def web_providers() -> Sequence[str]:
    """Return the names of all providers of web search, usable or not."""
    return _settings.PROVIDERS


def answer_clarification(run_id: str, answer: str = "", *, owner: str = "local") -> Run | None:
    """Answer the clarifying question of a waiting run, and continue the run.

    Without an answer the run follows its present plan.
    """
    return get_application().runs.answer_clarification(run_id, answer, owner=owner)


def add_instruction(run_id: str, text: str, *, owner: str = "local") -> bool:
    """Add an instruction to a running run ("only after 2024"), for its next reflection and its
    answer.

    Return whether it was accepted.
    """
    return get_application().runs.add_instruction(run_id, text, owner=owner)


def extend_run(run_id: str, *, rounds: int = 1, owner: str = "local") -> Run | None:
    """Start a further run for what a finished one still lacks. It repeats no search."""
    return _rate_limited_runs(owner).extend(run_id, rounds=rounds, owner=owner)


def recent_runs(*, owner: str = "local", limit: int = 200) -> Sequence[Run]:
    """Return an owner's runs, the newest first."""
    return get_application().runs.recent_runs(owner=owner, limit=limit)


def get_run(run_id: str, *, owner: str = "local") -> Run | None:
    """Return a run by its id."""
    return get_application().runs.get_run(run_id, owner=owner)


def queue_position(run_id: str, *, owner: str = "local") -> tuple[int, bool]:
    """Return how many runs are ahead of a queued run, and whether it waits for the owner's own
    runs."""
    return get_application().runs.queue_position(run_id, owner=owner)


def conversations(*, owner: str = "local", limit: int = 200) -> Sequence[Conversation]:
    """Return an owner's conversations, pinned ones first, then the latest."""
    return get_application().runs.store.conversations(owner, limit)


def turns(conversation: str, *, owner: str = "local") -> Sequence[Run]:
    """Return the runs of a conversation, the earliest first."""
    return get_application().runs.store.turns(conversation, owner)


def update_conversation(
    conversation: str, *, title: str | None = None, pinned: bool | None = None, owner: str = "local"
) -> None:
    """Set the title of a conversation ("" restores its first question), or pin it."""
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
    """Search an owner's conversations, and return the pinned ones first, then the latest.

    All `words` must occur in the questions, answers or sources of the runs, in the titles or the
    tags. The runs have one of the `statuses` (at most three), and began from `since` on and before
    `until`.
    """
    query = HistoryQuery(words, statuses, kind, since, until, tag, pinned)
    return get_application().runs.search_history(query, limit=limit, offset=offset, owner=owner)


def set_tags(conversation: str, tags: Sequence[str], *, owner: str = "local") -> Sequence[str]:
    """Replace the tags of a conversation.

    Return them as stored: without "#", without duplicates, at most ten of 40 characters each.
    """
    store = get_application().runs.store
    if not store.turns(conversation, owner):
        return ()
    return store.history.set_tags(owner, conversation, tags)


def tags(*, owner: str = "local") -> Sequence[str]:
    """Return the tags that an owner uses, the most frequent first."""
    return get_application().runs.store.history.tags(owner)


def move_to_bin(conversation: str, *, owner: str = "local") -> None:
    """Move a conversation to the bin and stop its running work.

    There only the functions for the bin and `delete_conversation` find it. It is deleted after 30
    days.
    """
    get_application().runs.move_to_bin(conversation, owner=owner)


def restore_from_bin(conversation: str, *, owner: str = "local") -> None:
    """Take a conversation out of the bin."""
    get_application().runs.restore_from_bin(conversation, owner=owner)


def bin_entries(*, owner: str = "local") -> Sequence[HistoryEntry]:
    """Return the conversations in an owner's bin, the most recently moved first."""
    return get_application().runs.bin_entries(owner=owner)


def empty_bin(*, owner: str = "local") -> None:
    """Delete all conversations in an owner's bin for good."""
    get_application().runs.empty_bin(owner=owner)


def delete_conversation(conversation: str, *, owner: str = "local") -> None:
    """Delete a conversation for good, with everything that its runs found, even from the bin."""
    get_application().runs.delete_conversation(conversation, owner=owner)


def watch_topic(run_id: str, *, owner: str = "local") -> WatchedTopic:
    """Watch the topic of a written report, so that it can be updated from now on.

    Raises:
        UnwatchableTopicError: there is no such report.
    """
    return topics.watch_topic(get_application().runs, run_id, owner)


def unwatch_topic(watch_id: str, *, owner: str = "local") -> None:
    """Stop watching a topic."""
    topics.unwatch_topic(get_application().runs, watch_id, owner)


def watches(*, owner: str = "local") -> Sequence[WatchedTopic]:
    """Return the topics that an owner watches, the latest first."""
    return topics.watches(get_application().runs, owner)


def find_watch(topic: str, *, owner: str = "local") -> WatchedTopic | None:
    """Return the watch of a topic, compared without regard to spelling variants."""
    return topics.find_watch(get_application().runs, topic, owner)


def start_update(watch_id: str, *, owner: str = "local") -> Run:
    """Start a run that updates a watched report.

    It repeats the searches that the report began with, and gives a model only new sources to read.

    Raises:
        UnwatchableTopicError: there is no such watch.
    """
    return topics.start_update(_rate_limited_runs(owner), watch_id, owner)


def report(run_id: str, *, owner: str = "local") -> Report | None:
    """Return everything that a run has to show so far."""
    return get_application().runs.report(run_id, owner=owner)


def readiness(*, owner: str = "local") -> dict[str, Readiness]:
    """Return by name which sources an owner can use now."""
    return {name: source.readiness() for name, source in get_services(owner=owner).sources.items()}


def known_sources() -> Mapping[str, Source]:
    """Return the sources by name, in the order in which they are offered."""
    return registry.sources_by_name()


def refused_sources() -> Sequence[RejectedSource]:
    """Return the sources of installed packages that cannot be used, with reasons."""
    return registry.rejected_sources()


def recorded_places(*, owner: str = "local") -> Sequence[RecordedPlace]:
    """Return every place that an owner's runs and map searches found, the latest first."""
    return get_application().runs.store.recorded_places(owner)


def search_around(
    location: MapLocation,
    keywords: str,
    radius_metres: int,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """Search the map around a named place or a WGS-84 point (longitude, latitude), without a run.

    The radius is widened if nothing lies within it. Descriptions are in `language`, by default that
    of the keywords. A failed search is a finding with a reason.
    """
    return get_application().search_around(location, keywords, radius_metres, owner, language)


def find_route(
    origin: MapLocation,
    destination: MapLocation,
    mode: RoutingMode | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """Find a route between two places or WGS-84 points (longitude, latitude), without a run.

    Without a `mode`, a short route is on foot, a longer one by public transport and by car. A
    failed search is a finding with a reason.
    """
    return get_application().find_route(origin, destination, mode, owner, language)


def plan_itinerary(
    place: str,
    stops: Sequence[str] = (),
    mode: RoutingMode | None = None,
    *,
    language: Language | None = None,
    owner: str = "local",
) -> Finding:
    """Plan a round trip of a day through the stops, or through the best sights of a place, without
    a run.

    A failed search is a finding with a reason.
    """
    return get_application().plan_itinerary(place, stops, mode, owner, language)


def _to_map_location(place: MapLocation) -> str | Point:
    return Point(*place) if isinstance(place, tuple) else place


def sample_places() -> Sequence[Place]:
    """Return places of the built-in table, which needs no key, around one of its centres."""
    return offline.sample_places()


def distances(places: Sequence[Place], *, owner: str = "local") -> DistanceMatrix:
    """Measure the distances between places on the map. A failure is part of the result."""
    application = get_application()
    try:
        with application.owner_services.open_services(owner) as (services, _):
            return application.runs.run_on_loop(
                itinerary.measure_distance_matrix(services.map_services.find_distance_service(places), places)
            )
    except ServiceError as error:
        failure = error.to_failure("search", "places")
        return DistanceMatrix(names=tuple(place.name for place in places), failure=failure)


def find_places(query: str, *, owner: str = "local") -> Finding:
    """Search the map for the places that a sentence asks for, without a run.

    A failed search is a finding with a reason.
    """
    return get_application().find_places(query, owner)


def build_itinerary(places: Sequence[Place], *, owner: str = "local") -> Itinerary:
    """Order places for a day that begins at the first one, with the routes between them."""
    application = get_application()
    with application.owner_services.open_services(owner) as (services, _):
        return application.runs.run_on_loop(
            itinerary.build_itinerary(services.map_services.find_distance_service(places), places)
        )


def places_quota(*, owner: str = "local") -> tuple[int, int] | None:
    """Return an owner's remaining place searches of today and the limit; None if unlimited."""
    return get_services(owner=owner).map_service.searches_left()


def tune_garbage_collector() -> None:
    """Exclude everything loaded so far from garbage collection, and collect less often.

    For long-lived processes, after all imports.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def warm() -> None:
    """Prepare everything that the first question would have to wait for."""
    get_application().warm()


def check_connections(*, owner: str = "local") -> Sequence[ConnectionCheck]:
    """Send a small request to every model and search provider of an owner. It may cost money."""
    return get_application().check_connections(owner)


def check_key(name: str, *, typed_values: Mapping[str, str] | None = None, owner: str = "local") -> ConnectionCheck:
    """Test a key or an address, given by the name of its setting.

    Values in `typed_values` take precedence over the owner's stored ones. Models are tested at no
    cost, searches and the map with one request. Only whether the service refused the key is
    recorded.

    Raises:
        SettingError: a typed value is not a valid key or address.
        ValueError: owners cannot add a key of this name.
    """
    if name not in _settings.KEYS:
        raise ValueError(f"{name} is no key that can be tested.")
    return get_application().check_key(name, owner, typed_values or {})


def compare_models(listing: str | None = None, *, owner: str = "local") -> ModelComparison:
    """Compare the default models and an owner's chosen ones with a list of Gemini's models.

    Args:
        listing: JSON of a provider, or one name a line; by default Gemini's own list is read.

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
    except ServiceError as error:
        return ModelComparison(failure=error.to_failure("check"))
    return compare_names(names, dict.fromkeys(used), utc_now().date())


def model_roles(*, owner: str = "local") -> Sequence[ModelRole]:
    """Return the model of each role for an owner, with its limitations and price.

    Without models it is empty.
    """
    return model_table(get_services(owner=owner), utc_now().date())


def daily_usage(*, since: datetime, time_zone: tzinfo = UTC, owner: str = "local") -> Sequence[DayUsage]:
    """Return the usage of an owner's runs since a time, by day of a time zone, stage and model."""
    return usage_by_day(get_application().runs.store, owner, since, time_zone)


def storage_usage() -> Sequence[StorageUsage]:
    """Return the kind, location and size of everything stored, for all owners."""
    application = get_application()
    counts = application.library.count_documents()
    documents = counts.own_count + counts.sample_count
    remote = bool(application.settings.runs_url)
    return measure_storage(application.settings, application.runs.store, documents, is_remote=remote)


def start_data_export(*, language: str = "en", include_library: bool = False, owner: str = "local") -> DataExport:
    """Start writing all of an owner's runs into one file and return without waiting for it.

    `include_library` adds the library's own documents. See `get_data_export`.
    """
    return get_application().data_exports.start(owner, language, include_library=include_library)


def get_data_export(*, owner: str = "local") -> DataExport | None:
    """Return the state of an owner's data export; None if there is none."""
    return get_application().data_exports.get(owner)


def discard_data_export(*, owner: str = "local") -> None:
    """Delete the file of an owner's data export, or stop writing it."""
    get_application().data_exports.discard(owner)


def delete_owner_data(
    *, include_caches: bool = False, include_library: bool = False, owner: str = "local"
) -> DeletionSummary:
    """Stop an owner's work and delete all of the owner's data, including its bytes on disk.

    `include_caches` also deletes the cached answers of services, and `include_library` all
    documents but the samples. Both are shared by all owners.

    Raises:
        RunNotStoppedError: a run does not stop; nothing was deleted.
        StoreError: the store cannot be used.
        OSError: the file of remembered keys cannot be written; everything else was deleted.
    """
    application = get_application()
    application.data_exports.discard(owner)
    summary = deletion.delete_owner_data(
        application.runs, owner, include_caches=include_caches, library=application.library if include_library else None
    )
    application.owner_services.preferences.delete_all(owner)
    application.services.descriptions.clear(owner)
    files, reports = (
        application.services.uploads.clear(owner),
        application.runs.resources.report_files.delete_owner_files(owner),
    )
    return summary.model_copy(update={"uploads": files, "reports": reports})


def set_aside_damaged_file(path: Path) -> Path:
    """Rename a damaged file of the data folder, so that a new one is created; return its new path.

    Running work is interrupted.

    Raises:
        ValueError: the file is not damaged.
        OSError: it cannot be renamed.
    """
    close()
    return recovery.set_aside_damaged_file(path)
