"""The composition root: an application builds its sources, reasoner and runs from settings.

`get_application` returns the one application of the process. It is a module singleton on purpose:
any visitor could empty a cache of the web framework, and that would end the running questions.
"""

from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from research.accounts import deletion
from research.accounts.data_export import DataExports
from research.accounts.deletion import DeletionSummary
from research.accounts.keys import KeyStore
from research.accounts.storage_usage import StorageUsage, measure_storage
from research.accounts.usage import DayUsage, usage_by_day
from research.agent.nodes.answer import SQL_TOOL
from research.agent.nodes.table import estimate_searches
from research.core.errors import ServiceError
from research.core.events import ReportSaved
from research.core.page_views import DEFAULT_WIDTH_PIXELS, CitedText, PageView
from research.core.records import (
    ConnectionCheck,
    Evidence,
    Grid,
    Part,
    Plan,
    Question,
    Readiness,
    Run,
    RunEstimate,
    RunOptions,
    Task,
)
from research.core.settings import CONNECTION_SETTINGS, SettingError, Settings
from research.core.text.tokenizer import detect_language
from research.runtime.estimate import MAX_EARLIER_RUNS, FinishedRun, ModelSetup, estimate_run, estimate_table
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.model_roles import ModelRole, list_model_roles
from research.runtime.owner_services import OwnerServices
from research.runtime.place_search import PlaceSearch
from research.runtime.report_files import describe_write_error
from research.runtime.report_states import read_state, restore_run
from research.runtime.run_manager import RunManager
from research.runtime.services import Services, utc_now
from research.sources import registry
from research.tables.spec import describe_table
from research.watch.topics import WatchedTopics

if TYPE_CHECKING:
    from research.models.model_names import ModelComparison
    from research.runtime.database import Databases
    from research.runtime.remote_run_manager import RemoteRunManager


def _load_remote_run_manager() -> type[RemoteRunManager]:
    """Import the client of a server of runs, which only a remote setup needs."""
    from research.runtime.remote_run_manager import RemoteRunManager

    return RemoteRunManager


class Application:
    """Everything that one data folder needs: its settings, its library and its runs.

    Methods that concern a person take the `owner`, which is "local" without a login.

    Attributes:
        runs: starts, follows and ends runs, and moves conversations to the bin.
        store: what runs and owners have stored: conversations, tags, notebooks, preferences.
        library: the documents of all owners.
        preferences: the settings and keys that owners choose for themselves.
        watches: the topics whose reports are brought up to date.
        places: searches of the map without a run.
        databases: questions to databases without a run.
        data_exports: the files with all data of an owner.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the data folder of the settings.

        Raises:
            StoreError: the data folder cannot be used.
        """
        self.settings, self.services = settings, (services := Services(settings))
        self.library, self.store, self.sources = services.library, services.store, services.sources
        self.default_options = services.default_options
        run_manager = _load_remote_run_manager() if settings.runs_url else LocalRunManager
        self.runs: RunManager = run_manager(services.resources, services.default_options, self._close_services)
        self.runs.start_limiter.max_starts = self.runs.preview_limiter.max_starts = settings.starts_per_minute
        keys = KeyStore(settings.data_dir)
        self.owner_services = OwnerServices(services, self.runs, keys)
        self.preferences = self.owner_services.preferences
        self.runs.resource_provider = self.owner_services
        self.watches = WatchedTopics(self.runs)
        self.places = PlaceSearch(self.owner_services, self.runs)
        keys.on_change = self.runs.send_session_keys
        self.data_exports = DataExports(
            settings.data_dir / "exports",
            services.store,
            services.library,
            lambda owner: [upload.model_dump(mode="json") for upload in services.uploads.all(owner)],
            services.descriptions.all,
        )

    async def _close_services(self) -> None:
        if "owner_services" in self.__dict__:
            await self.owner_services.close_all()
        else:  # Opening the run manager failed, so there are no owner services.
            await self.services.close()

    @cached_property
    def databases(self) -> Databases:
        """The databases, asked and queried without a run."""
        from research.runtime.database import Databases  # imports a database engine

        return Databases(self.services, self.owner_services, self.runs)

    def services_for(self, owner: str = "local") -> Services:
        """Return the settings, models and sources of an owner's runs, with the owner's choices and keys.

        Only read settings and states from them: they may be closed at any time. To call a service,
        use the methods of this class, which keep it open.
        """
        return self.owner_services.services(owner)

    # Runs

    def start_report(
        self,
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
        services = self.services_for(owner)
        chosen = options or services.report_options()
        if not chosen.sections:
            chosen = chosen.model_copy(update={"sections": services.settings.sections})
        run_id = uuid.uuid4().hex
        if save_folder:
            self.runs.resources.report_files.set_folder(run_id, save_folder)
        return self.runs.start(topic, options=chosen, owner=owner, follows=follows, run_id=run_id)

    def start_table(
        self,
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
        chosen = options or self.services_for(owner).default_options()
        update = {"table": True, "sections": 0, "clarify": False, "approve": grid is None}
        return self.runs.start(
            question or (describe_table(grid) if grid else ""),
            options=chosen.model_copy(update=update),
            owner=owner,
            plan=Plan(grid=grid) if grid else None,
            based_on=based_on,
            run_id=run_id,
        )

    def start_database_run(
        self,
        question: str,
        *,
        is_statement: bool = False,
        database: str = "",
        owner: str = "local",
        run_id: str = "",
    ) -> Run:
        """Start a run that searches one database and no other source, and return without waiting.

        With `is_statement` the question is SQL, which is executed unchanged if the guard accepts it.
        `database` is a name from `databases.all`; "" means the default one.

        Raises:
            QuestionError: there is no question, or it is too long.
            StoreError: the run could not be stored.
        """
        text = question.strip()
        update = {"sources": ("database",), "queries": 1, "loops": 1, "approve": False, "database": database}
        task = Task(id="1.1", source="database", query=text, part="p1", tool=SQL_TOOL if is_statement else "")
        return self.runs.start(
            question,
            options=self.services_for(owner).default_options().model_copy(update=update),
            owner=owner,
            plan=Plan(parts=(Part(id="p1", subject="", text=text),), tasks=(task,)),
            run_id=run_id,
        )

    def estimate_usage(
        self, options: RunOptions | None = None, *, plan: Plan | None = None, owner: str = "local"
    ) -> RunEstimate:
        """Estimate the usage of a run with these options and, if given, this plan.

        The estimate rests on the settings and on the owner's finished runs with the same models.
        """
        services = self.services_for(owner)
        options = options or services.default_options()
        web = services.web.live_providers
        setup = ModelSetup(
            models=models.model_names(options) if (models := services.models_for(options)) else {},
            uses_grounding=bool(web) and web[0].name == "gemini",
            agent=f"gemini:{web[0].readiness().detail}" if web and web[0].name == "deep-research" else "",
        )
        earlier = [FinishedRun(run, events) for run, events in self.store.finished_runs(owner, 2 * MAX_EARLIER_RUNS)]
        if plan and plan.grid:
            text = describe_table(plan.grid)
            question = Question(text=text, language=detect_language(text))
            max_searches = estimate_searches(plan.grid, question, services.reasoner, options)
            return estimate_table(options, setup, max_searches, len(plan.grid.rows), utc_now().date())
        tasks = len(plan.tasks) if plan else None
        return estimate_run(options, setup, earlier, utc_now().date(), tasks=tasks)

    def restore_report(self, path: Path, *, owner: str = "local", save_folder: Path | None = None) -> Run:
        """Create a run from the saved state of a report, to be continued with `runs.resume`.

        Searches and steps in the state are not repeated. The run gets a new id if a run with its own
        id exists.

        Raises:
            OSError: the file cannot be read.
            StateError: the file holds no state of a report, or one that cannot be continued.
            StoreError: the run could not be stored.
        """
        run = restore_run(self.store, read_state(path, self.sources), owner)
        if save_folder:
            self.runs.resources.report_files.set_folder(run.id, save_folder)
        return run

    def saved_report(self, run_id: str, *, owner: str = "local") -> tuple[Path | None, str]:
        """Return the path of a finished run's saved report, or the reason why saving it failed.

        A report that should be in a folder but was written by another process is saved now. Without
        a folder, the result is None and "".
        """
        events = self.runs.events(run_id, owner=owner)
        saved_events = [event.data for event in events if isinstance(event.data, ReportSaved)]
        if saved_events:
            saved = saved_events[-1]
            return Path(saved.report) if saved.report else None, saved.problem
        run = self.runs.get_run(run_id, owner=owner)
        files = self.runs.resources.report_files
        if run is None or run.status != "done":
            return None, ""
        try:
            return files.save_report(run, self.services_for(owner).settings), ""
        except OSError as error:
            return None, describe_write_error(error, files.folder(run))

    def cited_page(
        self,
        evidence: Evidence,
        texts: Sequence[CitedText],
        *,
        page: int | None = None,
        width_px: int = DEFAULT_WIDTH_PIXELS,
        paint_marks: bool = False,
    ) -> PageView:
        """Return the page of a cited passage of the library: its picture, its text, or why it cannot be shown.

        All `texts`, which are passages of the evidence, are marked if they are on the page of the first one.
        `page` is another page, on which a passage may go on. With `paint_marks`, the marks are painted in the
        picture; otherwise only their boxes are returned.

        Raises:
            StoreError: the library cannot be read.
        """
        return self.library.pages.cited_page(evidence, texts, page=page, width_px=width_px, paint_marks=paint_marks)

    # Sources, models and connections

    def readiness(self, *, owner: str = "local") -> dict[str, Readiness]:
        """Return by name which sources an owner can use now."""
        return {name: source.readiness() for name, source in self.services_for(owner).sources.items()}

    def model_roles(self, *, owner: str = "local") -> Sequence[ModelRole]:
        """Return the model of each role for an owner, with its price and the setting it is missing.

        Without models it is empty.
        """
        return list_model_roles(self.services_for(owner), utc_now().date())

    def warm(self) -> None:
        """Prepare everything that the first question would have to wait for.

        Load the graph, create the clients of the models and start the map's server. Afterwards
        start the workers, which take as long, and the reading of queued scanned pages.
        """
        self.runs.run_on_loop(self.runs.preload())
        self.runs.run_on_loop(self.services.warm())
        self.runs.start_workers()
        self.library.scan_reader.start()

    def check_connections(self, *, owner: str = "local") -> Sequence[ConnectionCheck]:
        """Send a small request to every model and search provider of an owner. It may cost money.

        The server of the runs is checked, too, if there is one.
        """
        with self.owner_services.open_services(owner) as (services, _):
            checks = self.runs.run_on_loop(services.check_connections())
        return [*checks, *self.runs.run_on_loop(self.runs.check_connection())]

    def check_key(
        self, name: str, *, entered_values: Mapping[str, str] | None = None, owner: str = "local"
    ) -> ConnectionCheck:
        """Test a key or an address, given by the name of its setting.

        `entered_values` are values that are not saved yet, by the names of their settings; they take
        precedence over the owner's stored ones. Models are tested at no cost, searches and the map
        with one request. It is recorded whether the service accepted or refused the key.

        Raises:
            SettingError: a typed value is not a valid key or address.
            ValueError: owners cannot add a key of this name.
        """
        if name not in CONNECTION_SETTINGS:
            raise ValueError(f"{name} is no key that can be tested.")
        settings, problems = self.preferences.settings_with_keys(entered_values or {}, owner=owner)
        if problem := problems.get(name):
            raise SettingError(problem)
        with self.owner_services.open_services(owner) as (services, _):
            check: ConnectionCheck = self.runs.run_on_loop(services.check_key(name, settings))
        failure = check.failure
        refused = failure is not None and failure.reason == "refused"
        if failure is None or (refused and failure.hint not in ("endpoint", "model")):
            key = next(
                (status.key_setting for status in settings.services_with_keys if name == status.url_setting), name
            )
            self.preferences.record_key_test(key, settings, owner=owner, is_refused=refused)
        return check

    def compare_models(self, listing: str | None = None, *, owner: str = "local") -> ModelComparison:
        """Compare the default models and an owner's chosen ones with a list of Gemini's models.

        Args:
            listing: JSON of a provider, or one name a line; by default Gemini's own list is read. If
                that fails, the result has a failure.

        Raises:
            ValueError: the listing has no names of models.
        """
        from research.models.model_names import ModelComparison, compare_names, parse_listing
        from research.models.roles import DEFAULT_MODELS, role_models
        from research.runtime.connection_checks import list_models

        settings = self.services_for(owner).settings
        used = [(name, f"default of {role}") for role, name in DEFAULT_MODELS.items()]
        used += [(spec.name, spec.setting) for spec in role_models(settings).values() if spec.provider == "gemini"]
        try:
            names = self.runs.run_on_loop(list_models(settings)) if listing is None else parse_listing(listing)
        except ServiceError as error:
            return ModelComparison(failure=error.to_failure("check"))
        return compare_names(names, dict.fromkeys(used), utc_now().date())

    # Data

    def daily_usage(self, *, since: datetime, time_zone: tzinfo = UTC, owner: str = "local") -> Sequence[DayUsage]:
        """Return the usage of an owner's runs since a time, by day of a time zone, stage and model."""
        return usage_by_day(self.store, owner, since, time_zone)

    def storage_usage(self) -> Sequence[StorageUsage]:
        """Return the kind, the location and the size in bytes of everything stored, for all owners."""
        counts = self.library.count_documents()
        documents = counts.own_count + counts.sample_count
        remote = bool(self.settings.runs_url)
        return measure_storage(self.settings, self.store, documents, is_remote=remote)

    def delete_owner_data(
        self, *, include_caches: bool = False, include_library: bool = False, owner: str = "local"
    ) -> DeletionSummary:
        """Stop an owner's work and delete all of the owner's data, including its bytes on disk.

        `include_caches` also deletes the cached answers of services, and `include_library` all
        documents but the samples. Both are shared by all owners.

        Raises:
            RunNotStoppedError: a run does not stop; nothing was deleted.
            StoreError: the store cannot be used.
            OSError: the file of remembered keys cannot be written; everything else was deleted.
        """
        self.data_exports.discard(owner)
        summary = deletion.delete_owner_data(
            self.runs, owner, include_caches=include_caches, library=self.library if include_library else None
        )
        self.preferences.delete_all(owner)
        self.services.descriptions.clear(owner)
        files = self.services.uploads.clear(owner)
        reports = self.runs.resources.report_files.delete_owner_files(owner)
        return summary.model_copy(update={"uploads": files, "reports": reports})

    def close(self) -> None:
        """Interrupt all work and release the data folder."""
        self.data_exports.close()
        self.runs.close()
        self.library.close()


_application_lock = threading.Lock()
_application: Application | None = None


def get_application(data_dir: Path | None = None) -> Application:
    """Return the application of the process. The first call creates it from the settings.

    `data_dir`, if given with the first call, takes precedence over the environment.

    Raises:
        SettingError: a setting is not usable.
        StoreError: the data folder cannot be used. The next call tries again.
    """
    global _application
    with _application_lock:
        if _application is None:
            _application = Application(registry.load_settings(data_dir))
        return _application


def close_application() -> None:
    """Interrupt all work and release the data folder. The next `get_application` opens it again."""
    global _application
    with _application_lock:
        if _application is not None:
            _application.close()
            _application = None


def tune_garbage_collector() -> None:
    """Exclude everything loaded so far from garbage collection, and collect less often.

    For long-lived processes, after all imports.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
