"""What searches and thinks for the runs of a process: picked here, whoever schedules the runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from research.database.desk import DatabaseDesk, LentDesk, named
from research.library.index import Library
from research.models.clients import Clients
from research.models.roles import available, parse
from research.news.feeds import Feeds
from research.news.gdelt import GDELT
from research.news.tavily import TavilyNews
from research.places.service import Service
from research.reasoners import Checker, Reasoner
from research.reasoners.checker import ModelChecker
from research.reasoners.digest import Digest
from research.reasoners.llm import LLM
from research.reasoners.places import wanted
from research.reasoners.split import Split
from research.reasoners.sql import SQLWriter
from research.records import Check, Options
from research.runs.check import connections
from research.runs.live import Means
from research.settings import Role, Settings, forget_old_tracing
from research.sources import Source
from research.sources.database import DatabaseSource
from research.sources.library import LibrarySource
from research.sources.news import NewsSource
from research.sources.places import PlacesSource
from research.sources.web import WebSource
from research.sources.web.gemini import GeminiSearch
from research.sources.web.provider import Provider
from research.sources.web.searxng import SearXNG
from research.sources.web.tavily import Tavily
from research.sources.web.wikipedia import Wikipedia
from research.storage import StoreError
from research.store.store import Store
from research.tracing import Tracing, keep_from_langsmith
from research.trouble import conceal

if TYPE_CHECKING:
    from research.sources.web.pages import PageReader

SOURCES = (WebSource, NewsSource, PlacesSource, DatabaseSource, LibrarySource)


def now() -> datetime:
    return datetime.now(UTC)


def _reader() -> PageReader:
    """What reads pages, loaded only where that is turned on."""
    from research.sources.web.fetch import Fetcher
    from research.sources.web.pages import PageReader

    return PageReader(Fetcher())


class Kit:
    """The sources and the reasoner that the settings name, with the library and the map."""

    traces: Tracing
    library: Library
    clients: Clients
    store: Store
    _reader: PageReader | None

    def __init__(self, settings: Settings, desk: Kit | None = None) -> None:
        """`desk` is the kit of the process, for one that is somebody's own: they have the store, the
        library, the traces, the reader of pages and the opened database in common.

        Raises StoreError if the data folder or the database cannot be used."""
        conceal(settings.secrets)
        keep_from_langsmith()
        forget_old_tracing()
        self._desk = desk
        self.traces = desk.traces if desk else Tracing(settings.traces_url)
        self.settings = settings
        self.library = desk.library if desk else Library(settings.data_dir / "library.db")
        self.clients = Clients(settings, desk.clients if desk else None)
        llm = self._llm = LLM(self.clients, now)
        self.models = llm if available(settings) else None
        self.reporters = llm if self.models or llm.reporter else None
        self._reader = desk._reader if desk else _reader() if settings.pages_per_search else None
        self.web = self._web_source()
        self.news = self._news_source()
        try:
            self.store = desk.store if desk else Store(settings.store)
        except BaseException:
            if not desk:
                self.library.close()
            raise
        self.map = Service(settings, self.store, now)
        self.database = self._database()
        self.places = self._places_source()
        library = LibrarySource(self.library, settings.passages_per_search)
        self.sources: dict[str, Source] = {
            source.name: source
            for source in (self.web, self.news, self.places, self._database_source(), library)
        }
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
    def means(self) -> Means:
        """What runs work with."""
        sources, traces = self.sources, self.traces
        return Means(self.settings, self.store, self.reasoner, sources, traces, self.checker())

    def checker(self) -> Checker | None:
        """Who judges the sentences of answers or puts them right, if that is wanted."""
        judges = self.settings.check == "model"
        if not judges and self.settings.repair == "off":
            return None
        return ModelChecker(self.models, self.reporters, judges=judges)

    def usual(self) -> Options:
        """The limits of a run that brings none: it looks wherever there is something to be found.

        The sample documents are left out where there is anything better. The database is among them
        without a model, whose rules ask it only what its tables can tell.
        """
        chosen = tuple(filter(None, self.settings.usual_sources.split(",")))
        if chosen:
            return self.settings.options.model_copy(update={"sources": chosen})
        own = self._has_documents()
        web = self.web.ready().state == "live"
        places = self.places.ready().state != "missing"
        tables = self.models is None and self.sources["database"].ready().state != "missing"
        there = {"web": web, "places": places, "database": tables, "library": own or not web}
        names = [name for name, is_there in there.items() if is_there]
        return self.settings.options.model_copy(update={"sources": tuple(names)})

    def reporting(self) -> Options:
        """The limits of a report on the news that brings none: it looks for news, and where there is
        none to be had, in the analyst's documents."""
        settings = self.settings
        sources: tuple[str, ...]
        sources = ("news",) if self.news.ready().state == "live" else ("library",)
        if settings.report_sources:
            sources = tuple(settings.report_sources.split(","))
        update = {
            "sources": sources, "sections": settings.sections, "reflections": settings.reflections
        }  # fmt: skip
        return settings.options.model_copy(update=update)

    def thinking(self, options: Options) -> LLM | None:
        """The models that a run of these limits asks, if it asks any."""
        return self.reporters if options.sections else self.models

    def _reasoner(self) -> Reasoner:
        if self.models:
            return self.models
        digest = Digest(self.library, self._reads)
        return Split(digest, self.reporters) if self.reporters else digest

    async def _reads(self, question: str) -> bool:
        database = self.sources["database"]
        return not isinstance(database, DatabaseSource) or await database.reads(question)

    def _has_documents(self) -> bool:
        """Whether the analyst has documents. Where that cannot be told, a search will say why."""
        try:
            return self.sources["library"].ready().state == "live"
        except StoreError:
            return True

    def _web_source(self) -> WebSource:
        settings, models = self.settings, self.models
        return WebSource(
            [self._provider(name) for name in settings.web_providers],
            deadline=settings.search_timeout,
            summarise=models.summarise if models else None,
            reader=self._reader,
            pages=settings.pages_per_search,
            clock=now,
        )

    def _news_source(self) -> NewsSource:
        settings = self.settings
        seconds = min(settings.search_timeout / 2, 30.0)
        key = settings.tavily_key.get_secret_value()
        return NewsSource(
            [
                TavilyNews(
                    key,
                    base_url=settings.tavily_url,
                    timeout=seconds,
                    patience=settings.retry_wait,
                    clock=now,
                ),
                Feeds(settings.feeds, timeout=min(settings.search_timeout / 4, 20.0), clock=now),
                GDELT(
                    enabled=settings.news_gdelt == "on",
                    base_url=settings.gdelt_url,
                    timeout=seconds,
                    patience=settings.retry_wait,
                    clock=now,
                ),
            ],
            deadline=settings.search_timeout,
            clock=now,
        )

    def _database(self) -> DatabaseDesk:
        models = self.models
        settings = self.settings
        writer = partial(SQLWriter, models) if models else None
        if self._desk:
            return LentDesk(self._desk.database, writer)
        return DatabaseDesk(
            settings.database_url.get_secret_value(),
            settings.data_dir,
            writer,
            pairs=self.store.confirmed,
            samples=settings.database_samples == "on",
            seconds=settings.database_timeout,
        )

    def _database_source(self) -> DatabaseSource:
        title = named(self.settings.database_url.get_secret_value())
        return DatabaseSource(self.database, title=title, clock=now)

    def _places_source(self) -> PlacesSource:
        settings, models = self.settings, self.models
        return PlacesSource(
            self.map,
            deadline=settings.search_timeout,
            wanted=wanted,
            explore=models.explore if models else None,
            budget=settings.amap_calls,
            clock=now,
        )

    def _provider(self, name: str) -> Provider:
        settings = self.settings
        if name == "gemini":
            return GeminiSearch(self.clients, now)
        results, seconds = settings.results_per_search, settings.search_timeout
        if name == "tavily":
            return Tavily(
                settings.tavily_key.get_secret_value(),
                base_url=settings.tavily_url,
                results=results,
                timeout=seconds,
                clock=now,
            )
        if name == "searxng":
            return SearXNG(settings.searxng_url, results=results, timeout=seconds, clock=now)
        return Wikipedia(
            base_url=settings.wikipedia_url, results=min(results, 4), timeout=seconds, clock=now
        )

    async def warm(self) -> None:
        """Makes the clients of the models and starts the map's server, on the loop of the runs."""
        if self.reporters:
            await self.reporters.warm()
        if self.places.ready().state != "missing":
            await self.map.warm()

    async def check(self) -> Sequence[Check]:
        """A round trip to every model and every provider that is configured."""
        return await connections(self.reporters, self.web.providers)

    async def closing(self) -> None:
        """Closes what lives on the loop of the runs, on it."""
        await self.web.close()
        await self.news.close()
        await self.places.close()
        if self._reader and not self._desk:
            await self._reader.close()
        await self.clients.close()
