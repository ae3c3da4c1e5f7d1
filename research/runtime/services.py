"""What searches and thinks for the runs of a process: picked here, whoever schedules the runs."""

from __future__ import annotations

import asyncio
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
from research.sources.database.service import CreateWriter, DatabaseService, SharedDatabase
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
    from research.sources.database.schema import TableFilter
    from research.sources.database.uploads import UploadStore
    from research.sources.places.retriever import PlacesRetriever
    from research.sources.web.page_reader import PageReader
    from research.sources.web.retriever import WebRetriever


MAX_OPEN_UPLOADS = 32  # sets of somebody's files that are kept open


def utc_now() -> datetime:
    return datetime.now(UTC)


def _make_page_reader() -> PageReader:
    """What reads pages, loaded only where that is turned on."""
    from research.sources.web.fetcher import PageFetcher
    from research.sources.web.page_reader import PageReader

    return PageReader(PageFetcher())


def register_tool_servers(settings: Settings) -> None:
    """Makes the servers of tools that the settings name sources of this process."""
    wrong = [registry.RejectedSource(one.name, "server", one.reason) for one in settings.unusable]
    registry.configure(build_sources(settings.servers), wrong)


class Services:
    """The sources and the reasoner that the settings name, with the library and the map."""

    traces: TraceExporter
    library: Library
    clients: ModelClients
    store: Store
    tool_sessions: dict[str, ToolServerSession]
    _page_reader: PageReader | None

    def __init__(self, settings: Settings, default_services: Services | None = None) -> None:
        """`desk` is the kit of the process, for one that is somebody's own: they have the store, the
        library, the traces, the reader of pages and the opened database in common.

        Raises StoreError if the data folder or the database cannot be used."""
        register_secrets(settings.secrets)
        disable_langsmith()
        remove_legacy_tracing_variables()
        self._default_services = default_services
        if not default_services:
            register_tool_servers(settings)
        self.traces = default_services.traces if default_services else TraceExporter(settings.traces_url)
        self.settings = settings
        self.library = default_services.library if default_services else Library(settings.data_dir / "library.db")
        self.clients = ModelClients(settings, default_services.clients if default_services else None)
        llm = self._model_reasoner = ModelReasoner(self.clients, utc_now)
        self.models = llm if has_usable_model(settings) else None
        self.report_models = llm if self.models or llm.report_spec else None
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
        handed = {name: value.get_secret_value() for name, value in settings.child_env}
        self.tool_sessions = (
            default_services.tool_sessions if default_services else build_sessions(settings.servers, handed)
        )
        self.databases = self._open_databases()
        self._open_uploads: OrderedDict[tuple[str, str], DatabaseService] = (
            default_services._open_uploads if default_services else OrderedDict()
        )
        self.sources = self._make_retrievers()
        self.reasoner = self._make_reasoner()

    def model_table(self) -> Sequence[tuple[Role, str, str, str]]:
        """Each role, its setting, its model, and the setting that it lacks, if any."""
        return self._model_reasoner.role_table()

    def required_keys(self, names: Collection[str]) -> tuple[str, ...]:
        """Those of some keys, by name, that the models need."""
        specs = [spec for _, _, spec, _ in self.model_table()]
        if self.settings.check_model:
            specs.append(str(parse_spec(self.settings.check_model, "", self.settings.providers)))
        known = self.settings.providers
        servers = [known[spec.partition(":")[0]] for spec in specs]
        needed = {name for server in servers for name in (server.key, server.address)}
        return tuple(sorted(needed.intersection(names)))

    @property
    def resources(self) -> RunResources:
        """What runs work with."""
        sources, traces = self.sources, self.traces
        return RunResources(self.settings, self.store, self.reasoner, sources, traces, self.make_checker())

    def make_checker(self) -> CitationChecker | None:
        """Who judges the sentences of answers or puts them right, if that is wanted."""
        judges = self.settings.check == "model"
        if not judges and self.settings.repair == "off":
            return None
        return ModelCitationChecker(self.models, self.report_models, can_judge=judges)

    @property
    def web(self) -> WebRetriever:
        return cast("WebRetriever", self.sources["web"])

    @property
    def places(self) -> PlacesRetriever:
        return cast("PlacesRetriever", self.sources["places"])

    def default_options(self) -> RunOptions:
        """The limits of a run that brings none: it looks wherever there is something to be found, as
        each source says of itself."""
        chosen = tuple(filter(None, self.settings.usual_sources.split(",")))
        return self.settings.options.model_copy(update={"sources": chosen or self._default_sources()})

    def _default_sources(self) -> tuple[str, ...]:
        known = registry.sources_by_name()
        there = {name: self._source_status(name) for name in self.sources}
        first = [name for name, standing in there.items() if known[name].is_default(standing)]
        alone = all(known[name].is_local or known[name].query_type != "words" for name in first)
        return tuple(
            name
            for name, standing in there.items()
            if name in first or known[name].is_default(standing._replace(no_remote_default=alone))
        )

    def _source_status(self, name: str) -> SourceStatus:
        """How a source is. Where that cannot be told, a search will say why."""
        try:
            state = self.sources[name].readiness().state
        except StoreError:
            state = "live"
        return SourceStatus(state, has_model=self.models is not None, no_remote_default=False)

    def report_options(self) -> RunOptions:
        """The limits of a report on the news that brings none: it looks for news, and where there is
        none to be had, in the analyst's documents."""
        settings = self.settings
        sources = tuple(filter(None, settings.report_sources.split(","))) or tuple(
            name
            for name, source in registry.sources_by_name().items()
            if source.is_preferred_for_reports and self._source_status(name).state == "live"
        )
        update = {
            "sources": sources or ("library",), "sections": settings.sections,
            "reflections": settings.reflections,
        }  # fmt: skip
        return settings.options.model_copy(update=update)

    def models_for(self, options: RunOptions) -> ModelReasoner | None:
        """The models that a run of these limits asks, if it asks any."""
        return self.report_models if options.sections else self.models

    @property
    def has_idle_model(self) -> bool:
        """Return whether a model is set but none can take questions: its key is missing, or it only
        writes reports."""
        named = any(self.settings.model(role) for role in ROLES)
        return self.models is None and (named or self.report_models is not None)

    @property
    def missing_settings(self) -> tuple[str, ...]:
        """The settings that the models which are set lack."""
        own = [lacks for role, _, _, lacks in self.model_table() if self.settings.model(role) and lacks]
        return tuple(dict.fromkeys(own))

    def _make_reasoner(self) -> Reasoner:
        if self.models:
            return self.models
        digest = ExtractiveReasoner(self.library, self._can_answer)
        return SplitReasoner(digest, self.report_models) if self.report_models else digest

    async def _can_answer(self, source: str, question: str, database: str, owner: str) -> bool:
        """Return whether a source can answer a question of an owner without a model."""
        there = self.sources[source]
        if isinstance(there, SupportsOwners):
            there = there.for_owner(owner)
        if database and isinstance(there, SupportsSelection):
            there = there.select(database)
        return not isinstance(there, SupportsQuestionCheck) or await there.can_answer(question)

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
        supplies = self._source_dependencies()
        return {
            name: PluginRetriever(source, supplies) if source.is_external else source.build(supplies)
            for name, source in registry.sources_by_name().items()
        }

    def _open_databases(self) -> Mapping[str, DatabaseService]:
        """The databases that all may ask, by name."""
        if self._default_services:
            writer = self._sql_writer()
            return {
                name: SharedDatabase(one, writer, has_idle_model=self.has_idle_model)
                for name, one in self._default_services.databases.items()
            }
        return {
            SHIPPED_DATABASE: self._open_database("", self._sql_writer()),
            **{
                one.name: self._open_database(
                    one.url.get_secret_value(),
                    self._sql_writer(),
                    title=one.name,
                    readable_tables=one.can_read,
                    semantic_file=one.semantic,
                )
                for one in self.settings.databases
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
    ) -> DatabaseService:
        settings = self.settings
        return DatabaseService(
            address,
            settings.data_dir,
            writer,
            load_pairs=self.store.confirmed_statements,
            includes_samples=settings.database_samples == "on",
            limits=ResultLimits(timeout_seconds=settings.database_timeout, max_rows=settings.database_rows),
            title=title,
            table_filter=readable_tables,
            model_file=semantic_file,
            load_description=self.descriptions.get,
            has_idle_model=self.has_idle_model,
        )

    def _sql_writer(self) -> CreateWriter | None:
        return partial(SQLWriter, self.models) if self.models else None

    @property
    def uploads(self) -> UploadStore:
        """The files of tables that owners have loaded."""
        from research.sources.database.uploads import UploadStore  # brings an engine

        return UploadStore(self.settings.data_dir / "tables")

    @property
    def descriptions(self) -> DescriptionFiles:
        """What owners have said of databases."""
        return DescriptionFiles(self.settings.data_dir / "semantics")

    def database(self, name: str = "", owner: str = "") -> DatabaseService:
        """A database by its name, "" for the usual one; an owner's own files by theirs.

        Raises:
            Trouble: there is none.
        """
        if name.startswith(UPLOADED_FILES_PREFIX):
            return self._upload_database(owner, name.removeprefix(UPLOADED_FILES_PREFIX))
        known = self.databases.get(name or self.settings.default_database)
        if known is None:
            names = ", ".join(self.databases)
            raise ServiceError("not found", f"There is no database {name[:60]!r}; there are: {names}.")
        return known

    def _upload_database(self, owner: str, upload_id: str) -> DatabaseService:
        """What an owner has loaded. It never changes, so it is opened once."""
        kept = self.uploads.get(owner, upload_id)
        if kept is None:
            self._open_uploads.pop((owner, upload_id), None)
            raise ServiceError("not found", "These files have been deleted.")
        known = self._open_uploads.get((owner, upload_id))
        if known is None:
            path = str(self.uploads.path(owner, upload_id))
            known = self._open_uploads[owner, upload_id] = self._open_database(path, None, title=", ".join(kept.names)[:80])  # fmt: skip
            while len(self._open_uploads) > MAX_OPEN_UPLOADS:
                self._open_uploads.popitem(last=False)
        return SharedDatabase(known, self._sql_writer(), has_idle_model=self.has_idle_model)

    async def warm(self) -> None:
        """Makes the clients of the models and starts the map's server, on the loop of the runs."""
        if self.report_models:
            await self.report_models.load_clients()
        await self._call_on_sources("warm")

    async def check_connections(self) -> Sequence[ConnectionCheck]:
        """A round trip to every model, every provider and every source that can be tested."""
        seconds = self.settings.search_timeout
        checks = await check_connections(self.report_models, self.web.live_providers, self.sources, seconds)
        if failure := self.traces.failure:
            setting = "OTEL_EXPORTER_OTLP_ENDPOINT"
            checks.append(ConnectionCheck(name="traces", setting=setting, failure=failure))
        return checks

    async def check_key(self, name: str, settings: Settings) -> ConnectionCheck:
        """Test a key or an address of these settings, by the name of its own."""
        from research.sources.web.provider_factory import build_provider

        supplies = replace(self._source_dependencies(), settings=settings)
        return await check_key(name, settings, lambda one: build_provider(one, supplies))

    async def close(self) -> None:
        """Closes what lives on the loop of the runs, on it."""
        await self._call_on_sources("close")
        if not self._default_services:
            await asyncio.gather(*(session.close() for session in self.tool_sessions.values()))
        if self._page_reader and not self._default_services:
            await self._page_reader.close()
        await self.clients.close()

    async def _call_on_sources(self, method: str) -> None:
        """Has those of the retrievers do something that can."""
        for there in self.sources.values():
            if do := getattr(there, method, None):
                await do()
