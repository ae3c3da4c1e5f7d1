"""A map service as a source: places, and what is known of them, as evidence.

With a model the tools are the model's to chain, within a budget; without one, or where it fails, a
query is read by rules. Either way a place comes from a tool's answer and never from a model's text.
Knows neither models nor rules: both are given to it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from research.core.coordinates import Point
from research.core.deadlines import deadline
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Failure, Finding, Language, Readiness, Task
from research.core.text.tokenizer import detect_language
from research.sources.places import routes
from research.sources.places.directions import RoutingMode
from research.sources.places.evidence import (
    build_distance_table,
    build_fact_evidence,
    build_place_evidence,
    search_message,
)
from research.sources.places.map_services import MapServices
from research.sources.places.place_search import (
    PlaceSearchResult,
    clarification_error,
    find_place,
    find_place_details,
    place_key,
    search_by_words,
    search_places,
)
from research.sources.places.service import BudgetedTools, MapService, MapTools
from research.sources.places.tool_runner import KEYLESS_TOOLS, MODEL_TOOLS, MapToolRunner

TIMEOUT_FRACTION = 0.9  # of the time for a search: then it ends by itself, and keeps what it has


class ParsedPlaceQuery(Protocol):
    """What rules read in a query."""

    @property
    def intent(
        self,
    ) -> Literal["near", "where", "details", "way", "distance", "between", "route"]: ...
    @property
    def place(self) -> str: ...
    @property
    def destination(self) -> str: ...
    @property
    def mode(self) -> Literal["walking", "driving", "bicycling", "transit", ""]: ...
    @property
    def keywords(self) -> tuple[str, ...]: ...
    @property
    def radius(self) -> int: ...
    @property
    def purpose(self) -> str: ...
    @property
    def stops(self) -> tuple[str, ...]: ...


ToolCaller = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class ToolExplorer(Protocol):
    """A model that is let loose on tools."""

    async def __call__(
        self, query: str, tools: Sequence[Mapping[str, Any]], call: ToolCaller, budget: int, emit: EventEmitter
    ) -> None:
        """Calls what it needs for a query, at most `budget` times. `call` gives what a tool said, or
        why it said nothing.

        Raises:
            Trouble: the model cannot be asked.
        """


def _place_label(place: str | Point) -> str:
    return place if isinstance(place, str) else f"{place.lat:.5f}, {place.lng:.5f}"


class PlacesRetriever:
    """Searches the maps that are set up."""

    name = "places"
    max_sequential_calls = 1

    def __init__(
        self,
        maps: MapServices,
        *,
        timeout_seconds: float,
        parse_query: Callable[[str], ParsedPlaceQuery | None],
        explorer: ToolExplorer | None = None,
        max_calls: int = 8,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search, `budget` the calls of a model in one."""
        self._maps = maps
        self._timeout_seconds = timeout_seconds
        self._parse_query = parse_query
        self._explorer = explorer
        self._max_calls = max_calls
        self._clock = clock

    def readiness(self) -> Readiness:
        first = self._maps.default_service
        if lacks := first.missing_setting:
            return Readiness(state="missing", detail=lacks)
        if first.is_offline:
            return Readiness(state="offline", detail="AMAP_MAPS_API_KEY")
        return Readiness(state="live", detail=", ".join(one.name for one in self._maps.live_services))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        failures: list[Failure] = []
        asked = [self._maps.default_service]  # the last one counts
        try:
            return await self._search(task, asked, failures, emit)
        except ServiceError as trouble:
            return Finding(
                task=task,
                reason=trouble.reason,
                hint=trouble.hint,
                message=trouble.message,
                started=self._clock(),
                provider=asked[-1].name,
                failures=tuple(failures),
            )

    async def _search(
        self, task: Task, services: list[MapService], failures: list[Failure], emit: EventEmitter
    ) -> Finding:
        """Whom it asks goes into `asked`, what failed beside it into `failures`, however it ends."""
        started, clock = self._clock(), time.monotonic()
        tongue = detect_language(task.query)
        wish = self._parse_query(task.query)
        if wish and (place := wish.place or (wish.stops[0] if wish.stops else "")):
            services.append(await self._maps.find_service(place, tongue, emit))
        chain = MapToolRunner(self._maps, services[-1], task.id, self._max_calls, tongue, emit)
        if self._explorer:
            failures += await self._explore_tools(task.query, chain, emit)
        found = chain.search_result()
        services.append(chain.service)
        trouble = chain.reportable_error()
        if found.places or chain.fact_evidence:
            failures += [trouble.to_failure("search", self.name, task.query)] if trouble else []
        elif trouble and trouble.reason in ("unclear", "quota"):
            raise trouble
        else:
            found = await self._search_by_rules(task.query, wish, services, tongue, emit)
        seconds = time.monotonic() - clock
        return self._build_finding(task, found, services[-1], tongue, failures, started, seconds)

    async def search_around(
        self, place: str | Point, keywords: Sequence[str], radius: int, language: Language, emit: EventEmitter
    ) -> Finding:
        """A look by itself, without a question.

        Raises:
            Trouble: as `look`.
        """
        query = " ".join([_place_label(place), *keywords])

        def looking(tools: MapTools) -> Awaitable[PlaceSearchResult]:
            return search_places(tools, place, keywords, radius, language, emit)

        return await self._run_search(query, place, language, emit, looking)

    async def find_route(
        self,
        origin: str | Point,
        destination: str | Point,
        mode: RoutingMode | None,
        language: Language,
        emit: EventEmitter,
    ) -> Finding:
        """The way from one place to another, without a question.

        Raises:
            Trouble: as `routes.way`.
        """

        def looking(tools: MapTools) -> Awaitable[PlaceSearchResult]:
            return routes.find_route(BudgetedTools(tools, self._max_calls), origin, destination, mode, language, emit)

        query = f"{_place_label(origin)} → {_place_label(destination)}"
        return await self._run_search(query, origin, language, emit, looking)

    async def plan_itinerary(
        self, place: str, stops: Sequence[str], mode: RoutingMode | None, language: Language, emit: EventEmitter
    ) -> Finding:
        """A day's round through some stops, or through the sights of a place, without a question.

        Raises:
            Trouble: as `ways.tour`.
        """

        def looking(tools: MapTools) -> Awaitable[PlaceSearchResult]:
            return routes.plan_itinerary(BudgetedTools(tools, self._max_calls), place, stops, mode, (), language, emit)

        named = list(filter(None, [place, *stops]))
        return await self._run_search(" ".join(named), "".join(named[:1]), language, emit, looking)

    async def _run_search(
        self, query: str, place: str | Point, language: Language, emit: EventEmitter,
        search: Callable[[MapTools], Awaitable[PlaceSearchResult]],
    ) -> Finding:  # fmt: skip
        """A look with whoever covers a place."""
        started, clock = self._clock(), time.monotonic()
        asked = [await self._maps.find_service(place, language, emit)]
        found = await self._search_with_fallback(asked, language, search)
        task = Task(id="", source=self.name, query=query)
        seconds = time.monotonic() - clock
        return self._build_finding(task, found, asked[-1], language, [], started, seconds)

    async def warm(self) -> None:
        """Starts the map's server, if there is one to ask."""
        await self._maps.warm()

    async def close(self) -> None:
        await self._maps.close()

    async def _explore_tools(self, query: str, runner: MapToolRunner, emit: EventEmitter) -> list[Failure]:
        """Lets the model search; what its calls have found counts, however they ended."""
        assert self._explorer is not None
        from research.sources.places.server import specifications

        known = KEYLESS_TOOLS if runner.service is self._maps.osm else MODEL_TOOLS
        tools = [spec for spec in specifications() if spec["function"]["name"] in known]
        try:
            async with deadline(self._timeout_seconds * TIMEOUT_FRACTION):
                await self._explorer(query, tools, runner.call_for_model, self._max_calls, emit)
        except TimeoutError:
            trouble = ServiceError("timeout", "the search's time was over before the model was done")
        except ServiceError as error:
            trouble = error
        else:
            return []
        return [trouble.to_failure("search", self.name, query)]

    async def _search_by_rules(
        self,
        query: str,
        place_query: ParsedPlaceQuery | None,
        services: list[MapService],
        language: Language,
        emit: EventEmitter,
    ) -> PlaceSearchResult:
        """What rules read in the query, done."""
        if place_query is None:
            return await search_by_words(services[-1].with_language(language), query, emit)
        if not place_query.place and not place_query.stops:
            raise clarification_error("where", language)
        return await self._search_with_fallback(
            services, language, lambda tools: self._run_query(tools, place_query, language, emit)
        )

    async def _search_with_fallback(
        self, services: list[MapService], language: Language, search: Callable[[MapTools], Awaitable[PlaceSearchResult]]
    ) -> PlaceSearchResult:
        """A look with the last of those `asked`, or with who may know a place that it does not."""
        try:
            return await search(services[-1].with_language(language))
        except ServiceError as trouble:
            other = self._maps.find_fallback(services[-1], trouble)
            if other is None:
                raise
        services.append(other)
        return await search(other.with_language(language))

    async def _run_query(
        self, service: MapTools, place_query: ParsedPlaceQuery, language: Language, emit: EventEmitter
    ) -> PlaceSearchResult:
        """A look of a few calls, or ways, of which there are as many as the budget allows."""
        tools, means = BudgetedTools(service, self._max_calls), place_query.mode or None
        match place_query.intent:
            case "way":
                return await routes.find_route(tools, place_query.place, place_query.destination, means, language, emit)
            case "distance" if place_query.stops:
                ends = [
                    *filter(None, [place_query.place]),
                    *place_query.stops,
                    *filter(None, [place_query.destination]),
                ]
                return await routes.find_distance_matrix(tools, ends, language, emit)
            case "distance":
                return await routes.find_distance(
                    tools, place_query.place, place_query.destination, means, language, emit
                )
            case "between":
                return await routes.search_between(
                    tools, place_query.place, place_query.destination, place_query.keywords, means, language, emit
                )
            case "route":
                return await routes.plan_itinerary(
                    tools, place_query.place, place_query.stops, means, place_query.keywords, language, emit
                )
            case "where" if not place_query.keywords:
                return await find_place(service, place_query.place, language, emit)
            case "details" if not place_query.keywords:
                return await find_place_details(service, place_query.place, language, emit)
        return await search_places(service, place_query.place, place_query.keywords, place_query.radius, language, emit)

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
        made: dict[str, datetime] = {}
        for told in search_result.results:
            for place in told.places:
                made.setdefault(place_key(place), told.fetched_at)
        near = search_result.centre if search_result.centre and search_result.centre.radius else None
        items = [
            build_place_evidence(
                p, near, language, made.get(place_key(p), started), list_unknown=search_result.is_complete
            )
            for p in search_result.places
        ]
        stated = list(build_fact_evidence(search_result.results, language, search_result.places))
        items = [*stated, *items] if search_result.facts_first else [*items, *stated]
        summary = []
        if search_result.distances:
            item, span = build_distance_table(search_result.distances, started, language)
            items, summary = [item, *items], [span]
        unplaced = sum(told.unlocated_count for told in search_result.results)
        sample = any(told.is_sample for told in search_result.results)
        return Finding(
            task=task,
            evidence=tuple({item.id: item for item in items}.values()),
            reason=None if items else "empty",
            message=search_message(search_result, unplaced, language),
            started=started,
            seconds=round(seconds, 4),
            provider="offline" if sample else service.name,
            centre=search_result.centre,
            along=search_result.circles,
            summary=tuple(summary),
            failures=(*failures, *search_result.failures),
        )
