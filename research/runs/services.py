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

from research.attached import FILES, SHIPPED
from research.database.described import Descriptions
from research.database.results import Limits
from research.database.service import DatabaseService, Make, SharedDatabase
from research.library.index import Library
from research.models.clients import Clients
from research.models.roles import available, parse
from research.places import osm
from research.places.maps import Maps
from research.places.service import Service
from research.reasoners import Checker, Reasoner
from research.reasoners.checker import ModelChecker
from research.reasoners.digest import Digest
from research.reasoners.llm import LLM
from research.reasoners.places import wanted
from research.reasoners.split import Split
from research.reasoners.sql import SQLWriter
from research.records import Check, Options
from research.runs.check import connections, key_check
from research.runs.live import Resources
from research.settings import ROLES, Role, Settings, forget_old_tracing
from research.sources import Owned, Retriever, Selective, Several, Standing, Supplies, registry
from research.sources.guest import Guest
from research.sources.toolservers import described
from research.storage import StoreError
from research.store.store import Store
from research.toolservers.session import Session
from research.toolservers.transports import sessions
from research.tracing import Tracing, keep_from_langsmith
from research.trouble import Trouble, conceal

if TYPE_CHECKING:
    from research.database.schema import Reads
    from research.database.uploads import Uploads
    from research.sources.places.retriever import PlacesRetriever
    from research.sources.web.pages import PageReader
    from research.sources.web.retriever import WebRetriever


OPEN = 32  # sets of somebody's files that are kept open


def now() -> datetime:
    return datetime.now(UTC)


def _reader() -> PageReader:
    """What reads pages, loaded only where that is turned on."""
    from research.sources.web.fetch import Fetcher
    from research.sources.web.pages import PageReader

    return PageReader(Fetcher())


def configure(settings: Settings) -> None:
    """Makes the servers of tools that the settings name sources of this process."""
    wrong = [registry.Refused(one.name, "server", one.why) for one in settings.unusable]
    registry.configure(described(settings.servers), wrong)


class Services:
    """The sources and the reasoner that the settings name, with the library and the map."""

    traces: Tracing
    library: Library
    clients: Clients
    store: Store
    tools: dict[str, Session]
    _reader: PageReader | None

    def __init__(self, settings: Settings, desk: Services | None = None) -> None:
        """`desk` is the kit of the process, for one that is somebody's own: they have the store, the
        library, the traces, the reader of pages and the opened database in common.

        Raises StoreError if the data folder or the database cannot be used."""
        conceal(settings.secrets)
        keep_from_langsmith()
        forget_old_tracing()
        self._desk = desk
        if not desk:
            configure(settings)
        self.traces = desk.traces if desk else Tracing(settings.traces_url)
        self.settings = settings
        self.library = desk.library if desk else Library(settings.data_dir / "library.db")
        self.clients = Clients(settings, desk.clients if desk else None)
        llm = self._llm = LLM(self.clients, now)
        self.models = llm if available(settings) else None
        self.reporters = llm if self.models or llm.reporter else None
        self._reader = desk._reader if desk else _reader() if settings.pages_per_search else None
        try:
            self.store = desk.store if desk else Store(settings.store)
        except BaseException:
            if not desk:
                self.library.close()
            raise
        open_map = osm.opened(settings)
        self.map = Service(settings, self.store, now)
        self.maps = Maps(
            self.map, Service(settings, self.store, now, open_map) if open_map else None
        )
        handed = {name: value.get_secret_value() for name, value in settings.child_env}
        self.tools = desk.tools if desk else sessions(settings.servers, handed)
        self.databases = self._databases()
        self._loaded: OrderedDict[tuple[str, str], DatabaseService] = (
            desk._loaded if desk else OrderedDict()
        )
        self.sources = self._retrievers()
        self.reasoner = self._reasoner()

    def table(self) -> Sequence[tuple[Role, str, str, str]]:
        """Each role, its setting, its model, and the setting that it lacks, if any."""
        return self._llm.table()

    def borrowed(self, names: Collection[str]) -> tuple[str, ...]:
        """Those of some keys, by name, that the models need."""
        specs = [spec for _, _, spec, _ in self.table()]
        if self.settings.check_model:
            specs.append(str(parse(self.settings.check_model, "", self.settings.providers)))
        known = self.settings.providers
        servers = [known[spec.partition(":")[0]] for spec in specs]
        needed = {name for server in servers for name in (server.key, server.address)}
        return tuple(sorted(needed.intersection(names)))

    @property
    def resources(self) -> Resources:
        """What runs work with."""
        sources, traces = self.sources, self.traces
        return Resources(self.settings, self.store, self.reasoner, sources, traces, self.checker())

    def checker(self) -> Checker | None:
        """Who judges the sentences of answers or puts them right, if that is wanted."""
        judges = self.settings.check == "model"
        if not judges and self.settings.repair == "off":
            return None
        return ModelChecker(self.models, self.reporters, judges=judges)

    @property
    def web(self) -> WebRetriever:
        return cast("WebRetriever", self.sources["web"])

    @property
    def places(self) -> PlacesRetriever:
        return cast("PlacesRetriever", self.sources["places"])

    def usual(self) -> Options:
        """The limits of a run that brings none: it looks wherever there is something to be found, as
        each source says of itself."""
        chosen = tuple(filter(None, self.settings.usual_sources.split(",")))
        return self.settings.options.model_copy(update={"sources": chosen or self._usual()})

    def _usual(self) -> tuple[str, ...]:
        known = registry.known()
        there = {name: self._standing(name) for name in self.sources}
        first = [name for name, standing in there.items() if known[name].usual(standing)]
        alone = all(known[name].local or known[name].asked != "words" for name in first)
        return tuple(
            name
            for name, standing in there.items()
            if name in first or known[name].usual(standing._replace(alone=alone))
        )

    def _standing(self, name: str) -> Standing:
        """How a source is. Where that cannot be told, a search will say why."""
        try:
            state = self.sources[name].ready().state
        except StoreError:
            state = "live"
        return Standing(state, models=self.models is not None, alone=False)

    def reporting(self) -> Options:
        """The limits of a report on the news that brings none: it looks for news, and where there is
        none to be had, in the analyst's documents."""
        settings = self.settings
        sources = tuple(filter(None, settings.report_sources.split(","))) or tuple(
            name
            for name, source in registry.known().items()
            if source.reports and self._standing(name).state == "live"
        )
        update = {
            "sources": sources or ("library",), "sections": settings.sections,
            "reflections": settings.reflections,
        }  # fmt: skip
        return settings.options.model_copy(update=update)

    def thinking(self, options: Options) -> LLM | None:
        """The models that a run of these limits asks, if it asks any."""
        return self.reporters if options.sections else self.models

    @property
    def idle(self) -> bool:
        """Return whether a model is set but none can take questions: its key is missing, or it only
        writes reports."""
        named = any(self.settings.model(role) for role in ROLES)
        return self.models is None and (named or self.reporters is not None)

    @property
    def lacks(self) -> tuple[str, ...]:
        """The settings that the models which are set lack."""
        own = [lacks for role, _, _, lacks in self.table() if self.settings.model(role) and lacks]
        return tuple(dict.fromkeys(own))

    def _reasoner(self) -> Reasoner:
        if self.models:
            return self.models
        digest = Digest(self.library, self._reads)
        return Split(digest, self.reporters) if self.reporters else digest

    async def _reads(self, source: str, question: str, database: str, owner: str) -> bool:
        """Return whether a source can answer a question of an owner without a model."""
        there = self.sources[source]
        if isinstance(there, Owned):
            there = there.of(owner)
        if database and isinstance(there, Several):
            there = there.on(database)
        return not isinstance(there, Selective) or await there.reads(question)

    def _supplies(self) -> Supplies:
        return Supplies(
            self.settings,
            now,
            models=self.models,
            clients=self.clients,
            reader=self._reader,
            library=self.library,
            notebooks=self.store.notebooks,
            maps=self.maps,
            databases=self.database,
            tools=self.tools,
            wanted=wanted,
        )

    def _retrievers(self) -> dict[str, Retriever]:
        supplies = self._supplies()
        return {
            name: Guest(source, supplies) if source.foreign else source.build(supplies)
            for name, source in registry.known().items()
        }

    def _databases(self) -> Mapping[str, DatabaseService]:
        """The databases that all may ask, by name."""
        if self._desk:
            writer = self._writer()
            return {
                name: SharedDatabase(one, writer, idle=self.idle)
                for name, one in self._desk.databases.items()
            }
        return {
            SHIPPED: self._service("", self._writer()),
            **{
                one.name: self._service(
                    one.url.get_secret_value(),
                    self._writer(),
                    title=one.name,
                    reads=one.may_read,
                    semantic=one.semantic,
                )
                for one in self.settings.databases
            },
        }

    def _service(
        self,
        address: str,
        writer: Make | None,
        *,
        title: str = "",
        reads: Reads | None = None,
        semantic: Path | None = None,
    ) -> DatabaseService:
        settings = self.settings
        return DatabaseService(
            address,
            settings.data_dir,
            writer,
            pairs=self.store.confirmed,
            samples=settings.database_samples == "on",
            limits=Limits(seconds=settings.database_timeout, rows=settings.database_rows),
            title=title,
            reads=reads,
            semantic=semantic,
            described=self.descriptions.get,
            idle=self.idle,
        )

    def _writer(self) -> Make | None:
        return partial(SQLWriter, self.models) if self.models else None

    @property
    def uploads(self) -> Uploads:
        """The files of tables that owners have loaded."""
        from research.database.uploads import Uploads  # brings an engine

        return Uploads(self.settings.data_dir / "tables")

    @property
    def descriptions(self) -> Descriptions:
        """What owners have said of databases."""
        return Descriptions(self.settings.data_dir / "semantics")

    def database(self, name: str = "", owner: str = "") -> DatabaseService:
        """A database by its name, "" for the usual one; an owner's own files by theirs.

        Raises:
            Trouble: there is none.
        """
        if name.startswith(FILES):
            return self._of_files(owner, name.removeprefix(FILES))
        known = self.databases.get(name or self.settings.default_database)
        if known is None:
            names = ", ".join(self.databases)
            raise Trouble("not found", f"There is no database {name[:60]!r}; there are: {names}.")
        return known

    def _of_files(self, owner: str, upload: str) -> DatabaseService:
        """What an owner has loaded. It never changes, so it is opened once."""
        kept = self.uploads.get(owner, upload)
        if kept is None:
            self._loaded.pop((owner, upload), None)
            raise Trouble("not found", "These files have been deleted.")
        known = self._loaded.get((owner, upload))
        if known is None:
            path = str(self.uploads.path(owner, upload))
            known = self._loaded[owner, upload] = self._service(path, None, title=", ".join(kept.names)[:80])  # fmt: skip
            while len(self._loaded) > OPEN:
                self._loaded.popitem(last=False)
        return SharedDatabase(known, self._writer(), idle=self.idle)

    async def warm(self) -> None:
        """Makes the clients of the models and starts the map's server, on the loop of the runs."""
        if self.reporters:
            await self.reporters.warm()
        await self._all("warm")

    async def check(self) -> Sequence[Check]:
        """A round trip to every model, every provider and every source that can be tested."""
        seconds = self.settings.search_timeout
        checks = await connections(self.reporters, self.web.providers, self.sources, seconds)
        if failure := self.traces.problem:
            setting = "OTEL_EXPORTER_OTLP_ENDPOINT"
            checks.append(Check(name="traces", setting=setting, failure=failure))
        return checks

    async def check_key(self, name: str, settings: Settings) -> Check:
        """Test a key or an address of these settings, by the name of its own."""
        from research.sources.web.providers import provider

        supplies = replace(self._supplies(), settings=settings)
        return await key_check(name, settings, lambda one: provider(one, supplies))

    async def closing(self) -> None:
        """Closes what lives on the loop of the runs, on it."""
        await self._all("close")
        if not self._desk:
            await asyncio.gather(*(session.close() for session in self.tools.values()))
        if self._reader and not self._desk:
            await self._reader.close()
        await self.clients.close()

    async def _all(self, act: str) -> None:
        """Has those of the retrievers do something that can."""
        for there in self.sources.values():
            if do := getattr(there, act, None):
                await do()
