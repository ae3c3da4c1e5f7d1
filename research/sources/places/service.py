"""Amap's tools with what costs money minded: arguments checked, answers kept, searches counted.

A personal key has a hundred searches a day, so an answer that is there is not asked for again, two
that ask the same at once share one call, and the day's account says what is left. Where a search
tells no locations, places are looked up one by one, up to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Language, Place, fingerprint, ignore_event
from research.core.settings import Settings
from research.sources.places import tool_responses
from research.sources.places.client import AmapSession, InProcessSession, session_factory
from research.sources.places.tool_responses import Area, UnlocatedPlace

if TYPE_CHECKING:
    from research.sources.places.server import MapBackend

CHINA_TIMEZONE = timezone(timedelta(hours=8))  # Amap's day begins at midnight there
COUNTED_TOOLS = frozenset({"maps_around_search", "maps_text_search", "maps_search_detail"})
CACHED_TOOLS = COUNTED_TOOLS | {"maps_geo", "maps_regeocode"}
MAX_ATTEMPTS = 3
_MAX_CONCURRENT_DETAILS = 5
_UNCOUNTED_REASONS = ("unreachable", "no key", "unavailable")  # reasons for which nothing was counted


class AnswerStore(Protocol):
    """Keeps what was paid for beyond the life of the process."""

    def get_cached_answer(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """An answer that is not older than `since`, and when it was made."""

    def cache_answer(self, key: str, answer: Mapping[str, Any], made: datetime) -> None:
        """Keeps an answer."""

    def increment_counter(self, name: str, day: str) -> None:
        """Adds one to an account of a day."""

    def get_counter(self, name: str, day: str) -> int:
        """What an account of a day has come to."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool said, as it came and as it is read."""

    tool: str
    arguments: Mapping[str, Any]
    body: Mapping[str, Any]
    fetched_at: datetime
    areas: tuple[Area, ...] = ()
    places: tuple[Place, ...] = ()
    unlocated_count: int = 0  # places that nobody told the location of

    @property
    def is_sample(self) -> bool:
        return bool(self.body.get("sample"))

    @property
    def provider(self) -> str:
        """amap, offline, osm; Amap's own servers do not say."""
        return tool_responses.as_text(self.body.get("source")) or "amap"


class MapTools(Protocol):
    """What a look asks."""

    @property
    def is_offline(self) -> bool: ...
    @property
    def calls_left(self) -> int:
        """How many calls may still be made."""

    async def call_tool(
        self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter = ignore_event
    ) -> ToolResult: ...


class BudgetedTools:
    """Tools of which one search may make so many calls."""

    def __init__(self, tools: MapTools, max_calls: int) -> None:
        self._tools = tools
        self.calls_left = max_calls

    @property
    def is_offline(self) -> bool:
        return self._tools.is_offline

    async def call_tool(self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter = ignore_event) -> ToolResult:
        """As `Service.use`.

        Raises:
            Trouble: no call is left, or as there.
        """
        if self.calls_left <= 0:
            raise ServiceError("left out", "the calls of this search are used (AMAP_TOOL_CALLS)")
        self.calls_left -= 1
        return await self._tools.call_tool(tool, arguments, emit)


class _LocalisedTools:
    """A service with names and kinds in one language."""

    def __init__(self, service: MapService, language: Language) -> None:
        self._service = service
        self._language = language
        self.calls_left = service.calls_left

    @property
    def is_offline(self) -> bool:
        return self._service.is_offline

    async def call_tool(self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter = ignore_event) -> ToolResult:
        return await self._service.call_tool(tool, arguments, emit, self._language)


class MapService:
    """The one way to the tools of a map service: Amap's, or those of a back end of our own. Belongs
    to the loop on which it is first used.
    """

    def __init__(
        self,
        settings: Settings,
        answers: AnswerStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        backend: MapBackend | None = None,
    ) -> None:
        """`backend` stands for Amap; its points are in WGS-84, nothing of it is counted. The points
        of arguments are in GCJ-02 whoever answers, as all tools have them.
        """
        self._settings = settings
        self._backend = backend
        self._answers = answers
        self._clock = clock
        self._session: AmapSession | InProcessSession = (
            InProcessSession(backend) if backend else AmapSession(session_factory(settings), settings.amap_timeout + 1)
        )
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._pending_searches = 0  # searches that have been sent and are not counted yet

    calls_left = 1_000  # no search makes as many

    @property
    def name(self) -> str:
        """amap, offline, osm."""
        return self._backend.name if self._backend else "offline" if self.is_offline else "amap"

    def with_language(self, language: Language) -> MapTools:
        """The same with names and kinds in a language, where there are several."""
        return _LocalisedTools(self, language)

    @property
    def is_offline(self) -> bool:
        """Whether the table answers, which costs nothing and knows little."""
        if self._backend:
            return False
        keyless = not self._settings.amap_key.get_secret_value()
        return keyless and self._settings.amap_mcp in ("memory", "stdio")

    @property
    def missing_setting(self) -> str:
        """The setting that is missing; "" if none is."""
        if self._backend:
            return ""
        keyless = not self._settings.amap_key.get_secret_value()
        return "AMAP_MAPS_API_KEY" if keyless and self._settings.amap_mcp in ("npm", "hosted") else ""  # fmt: skip

    def searches_left(self) -> tuple[int, int] | None:
        """How many searches are left today, and of how many; None if they are not limited."""
        limit = self._settings.amap_daily
        if not limit or self.is_offline or self.missing_setting or self._backend:
            return None
        return max(0, limit - self._answers.get_counter(self._account_name, self._today)), limit

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        emit: EventEmitter = ignore_event,
        language: Language = "zh",
    ) -> ToolResult:
        """What a tool answers, read; from memory where it has been asked before. `language` is that of
        names and kinds, where the service has several.

        Raises:
            Trouble: there is no answer, or the arguments cannot be used.
        """
        from research.sources.places.server import check_arguments

        given = {name: value for name, value in check_arguments(tool, arguments).items() if value}
        asked = {name: _to_wgs84(name, value) for name, value in given.items()} if self._backend else given
        body, made = await self._cached_call(tool, asked, emit)
        found = list(tool_responses.parse_places(body, language))
        leads = [item for item in found if isinstance(item, UnlocatedPlace)]
        if leads:
            found, since = await self._fetch_locations(found, leads[: self._settings.amap_details], emit)
            made = min(made, since)
        centre = _search_centre(given)
        located = tuple(_with_distance(item, centre) for item in found if isinstance(item, Place))
        unplaced = len(found) - len(located)
        return ToolResult(tool, given, body, made, tool_responses.parse_areas(body), located, unplaced)

    async def warm(self) -> None:
        """Starts the server. One that does not start says why when it is asked."""
        with suppress(ServiceError):
            await self._session.start()

    async def close(self) -> None:
        await self._session.close()

    # What has been paid for

    async def _cached_call(
        self, tool: str, arguments: dict[str, Any], emit: EventEmitter
    ) -> tuple[Mapping[str, Any], datetime]:
        if tool not in CACHED_TOOLS or self.is_offline:
            return await self._call_with_retries(tool, arguments, emit), self._clock()
        given = [f"{name}={value}" for name, value in sorted(arguments.items())]
        key = fingerprint(*self._server_key, tool, *given, digits=32)
        hours = self._settings.amap_cache
        async with self._locks.setdefault(key, asyncio.Lock()):
            since = self._clock() - timedelta(hours=hours)
            if hours and (known := self._answers.get_cached_answer(key, since)):
                return known
            body, made = await self._call_with_retries(tool, arguments, emit), self._clock()
            if hours:
                self._answers.cache_answer(key, body, made)
            return body, made

    @property
    def _server_key(self) -> tuple[str, ...]:
        """Who answers, as it tells one kept answer from another."""
        if self._backend:
            return self._backend.name, self._settings.nominatim_url, self._settings.overpass_url
        return self._settings.amap_mcp, self._settings.amap_url

    async def _call_with_retries(
        self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter
    ) -> Mapping[str, Any]:
        """The server's answer; a rate limit is waited for."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                if tool not in COUNTED_TOOLS or self.is_offline or self._backend:
                    return await self._session.call(tool, arguments)
                return await self._counted_call(tool, arguments, emit)
            except ServiceError as trouble:
                if attempt == MAX_ATTEMPTS or not (trouble.is_retryable and trouble.retry_after_seconds is not None):
                    raise
                wait = trouble.retry_after_seconds * attempt
                emit("waiting", stage="search", seconds=wait, reason=trouble.reason, what=self.name)
            await asyncio.sleep(wait)
        raise AssertionError("at least one attempt is made")

    async def _counted_call(self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter) -> Mapping[str, Any]:
        """One search, with its place in the day's account; one that is cut off was sent as well."""
        left = self.searches_left()
        if left and left[0] <= self._pending_searches:
            raise ServiceError("quota", f"the {left[1]} searches of today are used (AMAP_DAILY_SEARCHES)")
        sent = True
        self._pending_searches += 1
        try:
            return await self._session.call(tool, arguments)
        except ServiceError as trouble:
            sent = trouble.reason not in _UNCOUNTED_REASONS
            raise
        finally:
            self._pending_searches -= 1
            if sent:
                self._answers.increment_counter(self._account_name, self._today)
                emit("usage", stage="search", model="amap", searches=1, cost=0.0)

    @property
    def _account_name(self) -> str:
        """Of this key, without the key."""
        return "amap " + fingerprint("amap", self._settings.amap_key.get_secret_value(), digits=8)

    @property
    def _today(self) -> str:
        return self._clock().astimezone(CHINA_TIMEZONE).date().isoformat()

    # Locations

    async def _fetch_locations(
        self, items: list[Place | UnlocatedPlace], unlocated: list[UnlocatedPlace], emit: EventEmitter
    ) -> tuple[list[Place | UnlocatedPlace], datetime]:
        """What was found with the details of the first leads in their places, and since when the
        oldest of these is known.

        Raises:
            Trouble: nothing could be located, because the details could not be asked for.
        """
        turn = asyncio.Semaphore(_MAX_CONCURRENT_DETAILS)
        since = self._clock()

        async def look_up(lead: UnlocatedPlace) -> Place | UnlocatedPlace:
            nonlocal since
            async with turn:
                body, made = await self._cached_call("maps_search_detail", {"id": lead.id}, emit)
            since = min(since, made)
            return next((p for p in tool_responses.parse_places(body) if isinstance(p, Place)), lead)

        results = await asyncio.gather(*map(look_up, unlocated), return_exceptions=True)
        known: dict[str, Place | UnlocatedPlace] = {}
        troubles = []
        for lead, result in zip(unlocated, results, strict=True):
            if isinstance(result, Place | UnlocatedPlace):
                known[lead.id] = result
            elif not isinstance(result, ServiceError):
                raise result
            elif result.reason != "empty":
                troubles.append(result)
        located = [known.get(item.id, item) for item in items]
        if troubles and not any(isinstance(item, Place) for item in located):
            raise troubles[0]
        return located, since


_POINT_ARGUMENTS = ("location", "origin", "origins", "destination")


def _to_wgs84(name: str, value: Any) -> Any:
    """An argument with its points, if it has any, in WGS-84."""
    if name not in _POINT_ARGUMENTS:
        return value
    points = (_parse_point(location) for location in str(value).split("|"))
    return "|".join(f"{point.lng:.6f},{point.lat:.6f}" for point in points)


def _parse_point(location: str) -> Point:
    """The WGS-84 point of an argument."""
    lng, lat = location.split(",")
    return from_gcj02(Point(float(lng), float(lat)))


def _search_centre(arguments: Mapping[str, Any]) -> Point | None:
    """The point that was searched around."""
    return _parse_point(str(arguments["location"])) if "radius" in arguments else None


def _with_distance(place: Place, centre: Point | None) -> Place:
    """A place with its distance from the centre, where the server did not tell it."""
    if centre is None or place.distance is not None:
        return place
    far = distance_metres(Point(place.lng, place.lat), centre)
    return place.model_copy(update={"distance": round(far)})
