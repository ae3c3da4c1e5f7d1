"""The map services as a source: places and facts about them, as evidence.

With a model, the model chains tool calls within a budget. Without a model, or if it fails, the
query is parsed by rules. In both cases a place comes from a tool's result and never from a model's
text. Model and rules are passed in as arguments.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Failure, Finding, Language, Readiness, Task
from research.core.text.tokenizer import detect_language
from research.sources.places import routes
from research.sources.places.evidence import (
    build_distance_table,
    build_fact_evidence,
    build_place_evidence,
    search_message,
)
from research.sources.places.map_services import MapServices
from research.sources.places.place_query import PlaceQuery
from research.sources.places.place_search import (
    PlaceOrPoint,
    PlaceSearchResult,
    clarification_error,
    find_place,
    find_place_details,
    place_key,
    search_by_words,
    search_places,
)
from research.sources.places.service import MapService, MapTools
from research.sources.places.tool_responses import point_label
from research.sources.places.tool_runner import KEYLESS_TOOLS, MODEL_TOOLS, MapToolRunner
from research.sources.places.tools import RoutingMode
from research.sources.tool_exploration import ToolExplorer, explore


def _place_label(place: PlaceOrPoint) -> str:
    return place if isinstance(place, str) else point_label(place)


class PlacesRetriever:
    """Searches the configured map services."""

    name = "places"
    max_sequential_calls = 1

    def __init__(
        self,
        maps: MapServices,
        *,
        timeout_seconds: float,
        parse_query: Callable[[str], PlaceQuery | None],
        explorer: ToolExplorer | None = None,
        max_calls: int = 8,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout_seconds` is the deadline of a search, `max_calls` its limit of tool calls."""
        self._maps = maps
        self._timeout_seconds = timeout_seconds
        self._parse_query = parse_query
        self._explorer = explorer
        self._max_calls = max_calls
        self._clock = clock

    def readiness(self) -> Readiness:
        service = self._maps.default_service
        if setting := service.missing_setting:
            return Readiness(state="missing", detail=setting)
        if service.is_offline:
            return Readiness(state="offline", detail="AMAP_MAPS_API_KEY")
        return Readiness(state="live", detail=", ".join(item.name for item in self._maps.live_services))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        failures: list[Failure] = []
        services = [self._maps.default_service]  # the last one is reported as the provider
        try:
            return await self._search(task, services, failures, emit)
        except ServiceError as error:
            return Finding(
                task=task,
                reason=error.reason,
                hint=error.hint,
                message=error.message,
                started=self._clock(),
                provider=services[-1].name,
                failures=tuple(failures),
            )

    async def _search(
        self, task: Task, services: list[MapService], failures: list[Failure], emit: EventEmitter
    ) -> Finding:
        """Search with the model, then by rules if it has no result.

        The services used are appended to `services` and partial failures to `failures`, so that
        `search` can report them if this raises.
        """
        started, start_time = self._clock(), time.monotonic()
        language = detect_language(task.query)
        place_query = self._parse_query(task.query)
        if place_query and (place := place_query.place or (place_query.stops[0] if place_query.stops else "")):
            services.append(await self._maps.find_service(place, language, emit))
        runner = MapToolRunner(self._maps, services[-1], task.id, self._max_calls, language, emit)
        if self._explorer:
            failures += await self._explore_tools(self._explorer, task.query, runner)
        result = runner.search_result()
        services.append(runner.service)
        error = runner.reportable_error()
        if result.places or runner.fact_evidence:
            failures += [error.to_failure("search", self.name, task.query)] if error else []
        elif error and error.reason in ("unclear", "quota"):
            raise error
        else:
            result = await self._search_by_rules(task.query, place_query, services, language, emit)
        seconds = time.monotonic() - start_time
        return self._build_finding(task, result, services[-1], language, failures, started, seconds)

    async def search_around(
        self, place: PlaceOrPoint, keywords: Sequence[str], radius: int, language: Language, emit: EventEmitter
    ) -> Finding:
        """Search for places around a place, without a question.

        Raises:
            ServiceError: as in `search_places`.
        """
        query = " ".join([_place_label(place), *keywords])
        return await self._run_search(
            query, place, language, emit, lambda tools: search_places(tools, place, keywords, radius)
        )

    async def find_route(
        self,
        origin: PlaceOrPoint,
        destination: PlaceOrPoint,
        mode: RoutingMode | None,
        language: Language,
        emit: EventEmitter,
    ) -> Finding:
        """Find the route between two places, without a question.

        Raises:
            ServiceError: as in `routes.find_route`.
        """
        query = f"{_place_label(origin)} → {_place_label(destination)}"

        def search(tools: MapTools) -> Awaitable[PlaceSearchResult]:
            return routes.find_route(self._with_call_limit(tools), origin, destination, mode)

        return await self._run_search(query, origin, language, emit, search)

    async def plan_itinerary(
        self, place: str, stops: Sequence[str], mode: RoutingMode | None, language: Language, emit: EventEmitter
    ) -> Finding:
        """Plan a day's itinerary through stops, or through the sights of a place, without a
        question.

        Raises:
            ServiceError: as in `routes.plan_itinerary`.
        """
        names = list(filter(None, [place, *stops]))

        def search(tools: MapTools) -> Awaitable[PlaceSearchResult]:
            return routes.plan_itinerary(self._with_call_limit(tools), place, stops, mode)

        return await self._run_search(" ".join(names), "".join(names[:1]), language, emit, search)

    def _with_call_limit(self, tools: MapTools) -> MapTools:
        return replace(tools, calls_left=self._max_calls)

    async def _run_search(
        self,
        query: str,
        place: PlaceOrPoint,
        language: Language,
        emit: EventEmitter,
        search: Callable[[MapTools], Awaitable[PlaceSearchResult]],
    ) -> Finding:
        """Run a search with the service that covers a place."""
        started, start_time = self._clock(), time.monotonic()
        services = [await self._maps.find_service(place, language, emit)]
        result = await self._search_with_fallback(services, language, emit, search)
        task = Task(id="", source=self.name, query=query)
        seconds = time.monotonic() - start_time
        return self._build_finding(task, result, services[-1], language, [], started, seconds)

    async def warm(self) -> None:
        """Start the default map service, if it can be used."""
        await self._maps.warm()

    async def close(self) -> None:
        await self._maps.close()

    async def _explore_tools(self, explorer: ToolExplorer, query: str, runner: MapToolRunner) -> list[Failure]:
        """Let the model search; the results of its calls remain even if it fails."""
        from research.sources.places.server import specifications

        tool_names = KEYLESS_TOOLS if runner.service is self._maps.osm else MODEL_TOOLS
        return await explore(
            explorer,
            query,
            [spec for spec in specifications() if spec["function"]["name"] in tool_names],
            runner.call_for_model,
            max_calls=self._max_calls,
            timeout_seconds=self._timeout_seconds,
            source_name=self.name,
            emit=runner.emit,
        )

    async def _search_by_rules(
        self,
        query: str,
        place_query: PlaceQuery | None,
        services: list[MapService],
        language: Language,
        emit: EventEmitter,
    ) -> PlaceSearchResult:
        """Run the query that the rules have parsed, or a keyword search if they parsed none."""
        if place_query is None:
            return await search_by_words(MapTools(services[-1], language, emit), query)
        if not place_query.place and not place_query.stops:
            raise clarification_error("where", language)
        return await self._search_with_fallback(
            services, language, emit, lambda tools: self._run_query(tools, place_query)
        )

    async def _search_with_fallback(
        self,
        services: list[MapService],
        language: Language,
        emit: EventEmitter,
        search: Callable[[MapTools], Awaitable[PlaceSearchResult]],
    ) -> PlaceSearchResult:
        """Run a search with the last of `services`, or with a fallback service if it does not know
        the place."""
        try:
            return await search(MapTools(services[-1], language, emit))
        except ServiceError as error:
            fallback = self._maps.find_fallback(services[-1], error)
            if fallback is None:
                raise
        services.append(fallback)
        return await search(MapTools(fallback, language, emit))

    async def _run_query(self, tools: MapTools, query: PlaceQuery) -> PlaceSearchResult:
        """Run a parsed query. Intents that need routes may make at most `max_calls` calls."""
        place, destination, keywords, mode = query.place, query.destination, query.keywords, query.mode or None
        limited_tools = self._with_call_limit(tools)
        match query.intent:
            case "route":
                return await routes.find_route(limited_tools, place, destination, mode)
            case "distance" if query.stops:
                ends = [end for end in (place, *query.stops, destination) if end]
                return await routes.find_distance_matrix(limited_tools, ends)
            case "distance":
                return await routes.find_distance(limited_tools, place, destination, mode)
            case "between":
                return await routes.search_between(limited_tools, place, destination, keywords, mode)
            case "itinerary":
                return await routes.plan_itinerary(limited_tools, place, query.stops, mode, keywords)
            case "where" if not keywords:
                return await find_place(tools, place)
            case "details" if not keywords:
                return await find_place_details(tools, place)
        return await search_places(tools, place, keywords, query.radius)

    def _build_finding(
        self,
        task: Task,
        search_result: PlaceSearchResult,
        service: MapService,
        language: Language,
        failures: Sequence[Failure],
        started: datetime,
        seconds: float,
    ) -> Finding:
        fetched_at: dict[str, datetime] = {}
        for result in search_result.results:
            for place in result.places:
                fetched_at.setdefault(place_key(place), result.fetched_at)
        area = search_result.centre if search_result.centre and search_result.centre.radius else None
        items = [
            build_place_evidence(
                p, area, language, fetched_at.get(place_key(p), started), list_unknown=search_result.is_complete
            )
            for p in search_result.places
        ]
        facts = list(build_fact_evidence(search_result.results, language, search_result.places))
        items = [*facts, *items] if search_result.facts_first else [*items, *facts]
        summary = []
        if search_result.distances:
            item, span = build_distance_table(search_result.distances, started, language)
            items, summary = [item, *items], [span]
        unlocated_count = sum(result.unlocated_count for result in search_result.results)
        is_sample = any(result.is_sample for result in search_result.results)
        return Finding(
            task=task,
            evidence=tuple({item.id: item for item in items}.values()),
            reason=None if items else "empty",
            message=search_message(search_result, unlocated_count, language),
            started=started,
            seconds=round(seconds, 4),
            provider="offline" if is_sample else service.name,
            search_area=search_result.centre,
            route_areas=search_result.circles,
            summary=tuple(summary),
            failures=(*failures, *search_result.failures),
        )
