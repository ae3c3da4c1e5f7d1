"""The sources, models and reasoner of a process, constructed from its settings."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.llm.citation_checker import ModelCitationChecker
from research.agent.llm.reasoner import ModelReasoner
from research.agent.reasoner import CitationChecker, Reasoner
from research.agent.split_reasoner import SplitReasoner
from research.core.database_config import SHIPPED_DATABASE, UPLOADED_FILES_PREFIX
from research.core.errors import ServiceError, register_secrets
from research.core.records import ConnectionCheck, RunOptions
from research.core.settings import ROLES, Role, Settings, remove_legacy_tracing_variables
from research.core.tracing import TraceExporter, disable_langsmith
from research.models.clients import ModelClients
from research.models.roles import has_usable_model, parse_spec
from research.readers.reading_summary import find_notes
from research.runtime.active_run import RunResources
from research.runtime.connection_checks import check_connections, check_key
from research.sources import registry
from research.sources.base import (
    Dependencies,
    Retriever,
    SourceStatus,
    SupportsOwners,
    SupportsQuestionCheck,
    SupportsSelection,
)
from research.sources.database.description_files import DescriptionFiles
from research.sources.database.results import ResultLimits
from research.sources.database.service import CreateWriter, DatabaseService
from research.sources.database.sql_writer import SQLWriter
from research.sources.library.index import Library
from research.sources.mcp_tools import build_sources
from research.sources.mcp_tools.session import ToolServerSession
from research.sources.mcp_tools.transports import build_sessions
from research.sources.places import osm
from research.sources.places.map_services import MapServices
from research.sources.places.questions import parse_place_query
from research.sources.places.service import MapService
from research.sources.plugin import PluginRetriever
from research.storage.sqlite_files import StoreError
from research.storage.store import Store

if TYPE_CHECKING:
    from research.readers.table_records import FileTable
    from research.sources.database.schema import TableFilter
    from research.sources.database.uploads import UploadStore
    from research.sources.places.retriever import PlacesRetriever
    from research.sources.web.page_reader import PageReader
    from research.sources.web.retriever import WebRetriever


MAX_OPEN_UPLOADS = 32  # uploads whose databases are kept open


def utc_now() -> datetime:
    return datetime.now(UTC)


def _make_page_reader() -> PageReader:
    """Create the page reader, importing it only where pages are read."""
    from research.sources.web.fetcher import PageFetcher
    from research.sources.web.page_reader import PageReader

    return PageReader(PageFetcher())


def register_tool_servers(settings: Settings) -> None:
    """Register the tool servers of the settings as sources of this process."""
    rejected = [registry.RejectedSource(entry.name, "server", entry.reason) for entry in settings.invalid_servers]
    registry.configure(build_sources(settings.servers), rejected)


class Services:
    """The sources, the reasoner, the library and the map for one set of settings."""

    traces: TraceExporter
    library: Library
    clients: ModelClients
    store: Store
    tool_sessions: dict[str, ToolServerSession]
    _page_reader: PageReader | None

    def __init__(self, settings: Settings, default_services: Services | None = None) -> None:
        """Create the services of the process, or those of one owner on top of `default_services`.

        An owner's services share the store, the library, the traces, the page reader and the open
        databases with the default ones.

        Raises:
            StoreError: the data folder or the database cannot be used.
        """
        register_secrets(settings.secrets)
        disable_langsmith()
        remove_legacy_tracing_variables()
        self._default_services = default_services
        if not default_services:
            logging.getLogger("research").setLevel(settings.log_level.upper())
            register_tool_servers(settings)
        self.traces = default_services.traces if default_services else TraceExporter(settings.traces_url)
        self.settings = settings
        self.library = (
            default_services.library
            if default_services
            else Library(settings.data_dir / "library.db", max_original_bytes=settings.original_megabytes * 1024**2)
        )
        self.clients = ModelClients(settings, default_services.clients if default_services else None)
        model_reasoner = self._model_reasoner = ModelReasoner(self.clients, utc_now)
        self.models = model_reasoner if has_usable_model(settings) else None
        self.report_models = model_reasoner if self.models or model_reasoner.report_spec else None
        self._page_reader = (
            default_services._page_reader
            if default_services
            else _make_page_reader()
            if settings.pages_per_search
            else None
        )
        try:
            self.store = default_services.store if default_services else Store(settings.store)
        except BaseException:
            if not default_services:
                self.library.close()
            raise
        open_map = osm.build_backend(settings)
        self.map_service = MapService(settings, self.store, utc_now)
        self.map_services = MapServices(
            self.map_service, MapService(settings, self.store, utc_now, open_map) if open_map else None
        )
        environment = {name: value.get_secret_value() for name, value in settings.child_env}
        self.tool_sessions = (
            default_services.tool_sessions if default_services else build_sessions(settings.servers, environment)
        )
        self.databases = self._open_databases()
        self._open_uploads: OrderedDict[tuple[str, str, int], DatabaseService] = (
            default_services._open_uploads if default_services else OrderedDict()
        )
        self.sources = self._make_retrievers()
        self.reasoner = self._make_reasoner()

    def role_table(self) -> Sequence[tuple[Role, str, str, str]]:
        """Return each role with its setting, its model, and the setting it is missing, if any."""
        return self._model_reasoner.role_table()

    def required_keys(self, names: Collection[str]) -> tuple[str, ...]:
        """Return those of the named keys and addresses that the models need."""
        specs = [spec for _, _, spec, _ in self.role_table()]
        if self.settings.check_model:
            specs.append(str(parse_spec(self.settings.check_model, "", self.settings.providers)))
        providers = self.settings.providers
        servers = [providers[spec.partition(":")[0]] for spec in specs]
        needed = {name for server in servers for name in (server.key_setting, server.url_setting)}
        return tuple(sorted(needed.intersection(names)))

    @property
    def resources(self) -> RunResources:
        """The resources for runs."""
        sources, traces = self.sources, self.traces
        return RunResources(self.settings, self.store, self.reasoner, sources, traces, self.make_checker())

    def make_checker(self) -> CitationChecker | None:
        """Create the checker that judges or repairs sentences; None if both are off."""
        can_judge = self.settings.check == "model"
        if not can_judge and self.settings.repair == "off":
            return None
        return ModelCitationChecker(self.models, self.report_models, can_judge=can_judge)

    @property
    def web(self) -> WebRetriever:
        return cast("WebRetriever", self.sources["web"])

    @property
    def places(self) -> PlacesRetriever:
        return cast("PlacesRetriever", self.sources["places"])

    def default_options(self) -> RunOptions:
        """Return the options of a run that specifies none.

        Each source decides, by its status, whether it is searched by default.
        """
        chosen = tuple(filter(None, self.settings.default_sources.split(",")))
        return self.settings.options.model_copy(update={"sources": chosen or self._default_sources()})

    def _default_sources(self) -> tuple[str, ...]:
        sources = registry.sources_by_name()
        statuses = {name: self._source_status(name) for name in self.sources}
        defaults = [name for name, status in statuses.items() if sources[name].is_default(status)]
        no_remote = all(sources[name].is_local or sources[name].query_type != "words" for name in defaults)
        return tuple(
            name
            for name, status in statuses.items()
            if name in defaults or sources[name].is_default(status._replace(no_remote_default=no_remote))
        )

    def _source_status(self, name: str) -> SourceStatus:
        """Return the status of a source.

        If the store is unusable, the source counts as live, so that a search reports the reason.
        """
        try:
            state = self.sources[name].readiness().state
        except StoreError:
            state = "live"
        return SourceStatus(state, has_model=self.models is not None, no_remote_default=False)

    def report_options(self) -> RunOptions:
        """Return the options of a news report that specifies none.

        It searches the news sources that are live, or the analyst's library if there are none.
        """
        settings = self.settings
        sources = tuple(filter(None, settings.report_sources.split(","))) or tuple(
            name
            for name, source in registry.sources_by_name().items()
            if source.is_preferred_for_reports and self._source_status(name).state == "live"
        )
        update = {
            "sources": sources or ("library",),
            "sections": settings.sections,
            "reflections": settings.reflections,
        }
        return settings.options.model_copy(update=update)

    def models_for(self, options: RunOptions) -> ModelReasoner | None:
        """Return the models that a run with these options calls, None if it calls none."""
        return self.report_models if options.sections else self.models

    @property
    def has_idle_model(self) -> bool:
        """True if a model is set that answers no questions.

        Its key is missing, or it only writes reports.
        """
        is_set = any(self.settings.model(role) for role in ROLES)
        return self.models is None and (is_set or self.report_models is not None)

    @property
    def missing_settings(self) -> tuple[str, ...]:
        """The settings that the configured models are missing."""
        names = [missing for role, _, _, missing in self.role_table() if self.settings.model(role) and missing]
        return tuple(dict.fromkeys(names))

    def _make_reasoner(self) -> Reasoner:
        if self.models:
            return self.models
        extractive = ExtractiveReasoner(self.library, self._can_answer)
        return SplitReasoner(extractive, self.report_models) if self.report_models else extractive

    async def _can_answer(self, source: str, question: str, database: str, owner: str) -> bool:
        """Return whether a source can answer a question of an owner without a model."""
        retriever = self.sources[source]
        if isinstance(retriever, SupportsOwners):
            retriever = retriever.for_owner(owner)
        if database and isinstance(retriever, SupportsSelection):
            retriever = retriever.select(database)
        return not isinstance(retriever, SupportsQuestionCheck) or await retriever.can_answer(question)

    def _source_dependencies(self) -> Dependencies:
        return Dependencies(
            self.settings,
            utc_now,
            model_tasks=self.models,
            model_clients=self.clients,
            page_reader=self._page_reader,
            library=self.library,
            list_notebooks=self.store.notebooks,
            maps=self.map_services,
            get_database=self.database,
            get_tool_session=self.tool_sessions,
            parse_place_query=parse_place_query,
        )

    def _make_retrievers(self) -> dict[str, Retriever]:
        dependencies = self._source_dependencies()
        return {
            name: PluginRetriever(source, dependencies) if source.is_external else source.build(dependencies)
            for name, source in registry.sources_by_name().items()
        }

    def _open_databases(self) -> Mapping[str, DatabaseService]:
        """Return the databases that every owner can query, by name."""
        if self._default_services:
            writer = self._sql_writer()
            return {
                name: entry.with_writer(writer, has_idle_model=self.has_idle_model)
                for name, entry in self._default_services.databases.items()
            }
        return {
            SHIPPED_DATABASE: self._open_database("", self._sql_writer()),
            **{
                entry.name: self._open_database(
                    entry.url.get_secret_value(),
                    self._sql_writer(),
                    title=entry.name,
                    readable_tables=entry.can_read,
                    semantic_file=entry.semantic,
                )
                for entry in self.settings.databases
            },
        }

    def _open_database(
        self,
        address: str,
        writer: CreateWriter | None,
        *,
        title: str = "",
        readable_tables: TableFilter | None = None,
        semantic_file: Path | None = None,
        file_tables: Sequence[FileTable] = (),
    ) -> DatabaseService:
        settings = self.settings
        return DatabaseService(
            address,
            settings.data_dir,
            writer,
            load_pairs=self.store.confirmed_statements,
            includes_samples=settings.database_samples,
            limits=ResultLimits(timeout_seconds=settings.database_timeout, max_rows=settings.database_rows),
            title=title,
            table_filter=readable_tables,
            model_file=semantic_file,
            load_description=self.descriptions.get,
            reading_notes=[note for table in file_tables for note in find_notes(table)],
            has_idle_model=self.has_idle_model,
        )

    def _sql_writer(self) -> CreateWriter | None:
        return partial(SQLWriter, self.models) if self.models else None

    @property
    def uploads(self) -> UploadStore:
        """The tables that owners have uploaded as files."""
        from research.sources.database.uploads import UploadStore  # imports a database engine

        return UploadStore(self.settings.data_dir / "tables")

    @property
    def descriptions(self) -> DescriptionFiles:
        """The descriptions of databases that owners have written."""
        return DescriptionFiles(self.settings.data_dir / "semantics")

    def database(self, name: str = "", owner: str = "") -> DatabaseService:
        """Return a database by name, "" for the default one; uploads only for their owner.

        Raises:
            ServiceError: there is none.
        """
        if name.startswith(UPLOADED_FILES_PREFIX):
            return self._upload_database(owner, name.removeprefix(UPLOADED_FILES_PREFIX))
        service = self.databases.get(name or self.settings.default_database)
        if service is None:
            names = ", ".join(self.databases)
            raise ServiceError("not found", f"There is no database {name[:60]!r}; there are: {names}.")
        return service

    def _upload_database(self, owner: str, upload_id: str) -> DatabaseService:
        """Return the database of an upload. The open one is cached until its files are read again."""
        upload = self.uploads.get(owner, upload_id)
        if upload is None:
            raise ServiceError("not found", "These files have been deleted.")
        key = owner, upload_id, upload.revision
        service = self._open_uploads.get(key)
        if service is None:
            path = str(self.uploads.path(owner, upload_id))
            service = self._open_uploads[key] = self._open_database(
                path, None, title=", ".join(upload.names)[:80], file_tables=upload.tables
            )
            while len(self._open_uploads) > MAX_OPEN_UPLOADS:
                self._open_uploads.popitem(last=False)
        return service.with_writer(self._sql_writer(), has_idle_model=self.has_idle_model)

    async def warm(self) -> None:
        """Create the model clients and start the map server before they are needed, on the loop of the runs."""
        if self.report_models:
            await self.report_models.load_clients()
        await self._call_on_sources("warm")

    async def check_connections(self) -> Sequence[ConnectionCheck]:
        """Test every model, every search provider and every source that can be tested."""
        seconds = self.settings.search_timeout
        checks = await check_connections(self.report_models, self.web.live_providers, self.sources, seconds)
        if failure := self.traces.failure:
            setting = "OTEL_EXPORTER_OTLP_ENDPOINT"
            checks.append(ConnectionCheck(name="traces", setting=setting, failure=failure))
        return checks

    async def check_key(self, name: str, settings: Settings) -> ConnectionCheck:
        """Test a key or an address in the given settings, by the name of its setting."""
        from research.sources.web.provider_factory import build_provider

        dependencies = replace(self._source_dependencies(), settings=settings)
        return await check_key(name, settings, lambda provider_name: build_provider(provider_name, dependencies))

    async def close(self) -> None:
        """Close the clients that live on the loop of the runs. Called on it."""
        await self._call_on_sources("close")
        if not self._default_services:
            await asyncio.gather(*(session.close() for session in self.tool_sessions.values()))
        if self._page_reader and not self._default_services:
            await self._page_reader.close()
        await self.clients.close()

    async def _call_on_sources(self, method: str) -> None:
        """Call an asynchronous method on every source that has it."""
        for source in self.sources.values():
            if bound_method := getattr(source, method, None):
                await bound_method()
