"""Access to the map tools, with checked arguments, cached results and counted searches.

A personal key of Amap has a hundred searches a day, so results are cached, simultaneous identical
calls share one request, and a daily counter tracks what is left. If a search returns no locations,
a limited number of places is looked up one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Protocol
from weakref import WeakValueDictionary

from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.events import EventEmitter, RetryScheduled, UsageRecorded, ignore_event
from research.core.records import Language, Place, fingerprint
from research.core.settings import Settings
from research.sources.places import tool_responses
from research.sources.places.amap_sessions import AmapSession, InProcessSession, session_factory
from research.sources.places.tool_responses import Area, UnlocatedPlace
from research.sources.places.tools import MapBackend

CHINA_TIMEZONE = timezone(timedelta(hours=8))  # Amap's daily quota resets at midnight there
COUNTED_TOOLS = frozenset({"maps_around_search", "maps_text_search", "maps_search_detail"})
CACHED_TOOLS = COUNTED_TOOLS | {"maps_geo", "maps_regeocode"}
MAX_ATTEMPTS = 3
UNLIMITED_CALLS = 1_000  # more than any search makes
_MAX_CONCURRENT_DETAILS = 5
_UNCOUNTED_REASONS = ("unreachable", "no key", "unavailable")  # no search was used up


class ToolResultStore(Protocol):
    """Persistent storage for tool results, and for the counters of paid calls."""

    def get_cached_answer(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """Return a result that is not older than `since`, and the time it was fetched."""

    def cache_answer(self, key: str, answer: Mapping[str, Any], answered_at: datetime) -> None:
        """Store a result that was fetched at a time."""

    def increment_counter(self, name: str, day: str) -> None:
        """Add one to a counter of a day."""

    def get_counter(self, name: str, day: str) -> int:
        """Return the value of a counter on a day."""


@dataclass(frozen=True)
class ToolResult:
    """A tool's result, raw (`body`) and parsed."""

    tool: str
    arguments: Mapping[str, Any]
    body: Mapping[str, Any]
    fetched_at: datetime
    areas: tuple[Area, ...] = ()
    places: tuple[Place, ...] = ()
    unlocated_count: int = 0  # places without a known location

    @property
    def is_sample(self) -> bool:
        """True if the result comes from the sample table."""
        return bool(self.body.get("sample"))

    @property
    def provider(self) -> str:
        """One of amap, offline, osm. Amap's own servers do not name themselves."""
        return tool_responses.as_text(self.body.get("source")) or "amap"


@dataclass
class MapTools:
    """The tools of a map service for one search, with the search's language and its limit of calls."""

    service: MapService
    language: Language = "zh"
    emit: EventEmitter = ignore_event
    calls_left: int = UNLIMITED_CALLS

    @property
    def is_offline(self) -> bool:
        return self.service.is_offline

    async def call(self, tool: str, **arguments: str) -> ToolResult:
        """Call a tool as `MapService.call_tool` does.

        Raises:
            ServiceError: no call is left, or as in `MapService.call_tool`.
        """
        if self.calls_left <= 0:
            raise ServiceError("left out", "the calls of this search are used (AMAP_TOOL_CALLS)")
        self.calls_left -= 1
        return await self.service.call_tool(tool, arguments, self.emit, self.language)


class MapService:
    """Access to the tools of one map service: Amap's, or those of a given back end.

    Results are cached and counted as the module describes. It belongs to the event loop on which it is first used.
    """

    def __init__(
        self,
        settings: Settings,
        result_store: ToolResultStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        backend: MapBackend | None = None,
    ) -> None:
        """`backend` is used instead of Amap; its points are in WGS-84 and its calls are not
        counted.

        Points in tool arguments are in GCJ-02 in any case.
        """
        self._settings = settings
        self._backend = backend
        self._result_store = result_store
        self._clock = clock
        self._session: AmapSession | InProcessSession = (
            InProcessSession(backend) if backend else AmapSession(session_factory(settings), settings.amap_timeout + 1)
        )
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._pending_searches = 0  # searches in progress, not yet counted

    @property
    def name(self) -> str:
        """One of amap, offline, osm."""
        return self._backend.name if self._backend else "offline" if self.is_offline else "amap"

    @property
    def is_offline(self) -> bool:
        """True if the sample table answers, at no cost."""
        if self._backend:
            return False
        keyless = not self._settings.amap_key.get_secret_value()
        return keyless and self._settings.amap_mcp in ("memory", "stdio")

    @property
    def missing_setting(self) -> str:
        """Name of the setting that is missing; "" if none is."""
        if self._backend:
            return ""
        keyless = not self._settings.amap_key.get_secret_value()
        return "AMAP_MAPS_API_KEY" if keyless and self._settings.amap_mcp in ("npm", "hosted") else ""

    def searches_left(self) -> tuple[int, int] | None:
        """Return today's remaining searches and the daily limit; None if they are unlimited."""
        limit = self._settings.amap_daily_searches
        if not limit or self.is_offline or self.missing_setting or self._backend:
            return None
        return max(0, limit - self._result_store.get_counter(self._account_name, self._today)), limit

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        emit: EventEmitter = ignore_event,
        language: Language = "zh",
    ) -> ToolResult:
        """Call a tool and parse its result, which may come from the cache.

        `language` applies to names and kinds, if the service has several.

        Raises:
            ServiceError: there is no result, or the arguments are invalid.
        """
        from research.sources.places.server import check_arguments

        checked = {name: value for name, value in check_arguments(tool, arguments).items() if value}
        converted = {name: _to_wgs84(name, value) for name, value in checked.items()} if self._backend else checked
        body, fetched_at = await self._cached_call(tool, converted, emit)
        items = list(tool_responses.parse_places(body, language))
        unlocated = [item for item in items if isinstance(item, UnlocatedPlace)]
        if unlocated:
            items, oldest = await self._fetch_locations(items, unlocated[: self._settings.amap_detail_calls], emit)
            fetched_at = min(fetched_at, oldest)
        centre = _search_centre(checked)
        located = tuple(_with_distance(item, centre) for item in items if isinstance(item, Place))
        unlocated_count = len(items) - len(located)
        return ToolResult(tool, checked, body, fetched_at, tool_responses.parse_areas(body), located, unlocated_count)

    async def warm(self) -> None:
        """Start the server. A failed start is reported by the first call."""
        with suppress(ServiceError):
            await self._session.start()

    async def close(self) -> None:
        """Stop the server, or close the back end."""
        await self._session.close()

    # Cached and counted calls

    async def _cached_call(
        self, tool: str, arguments: dict[str, Any], emit: EventEmitter
    ) -> tuple[Mapping[str, Any], datetime]:
        if tool not in CACHED_TOOLS or self.is_offline:
            return await self._call_with_retries(tool, arguments, emit), self._clock()
        parts = [f"{name}={value}" for name, value in sorted(arguments.items())]
        key = fingerprint(*self._server_key, tool, *parts, digits=32)
        hours = self._settings.amap_cache_hours
        async with self._locks.setdefault(key, asyncio.Lock()):
            since = self._clock() - timedelta(hours=hours)
            if hours and (cached := self._result_store.get_cached_answer(key, since)):
                return cached
            body, fetched_at = await self._call_with_retries(tool, arguments, emit), self._clock()
            if hours:
                self._result_store.cache_answer(key, body, fetched_at)
            return body, fetched_at

    @property
    def _server_key(self) -> tuple[str, ...]:
        """The part of a cache key that identifies the server."""
        if self._backend:
            return self._backend.name, self._settings.nominatim_url, self._settings.overpass_url
        return self._settings.amap_mcp, self._settings.amap_url

    async def _call_with_retries(
        self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter
    ) -> Mapping[str, Any]:
        """Call the server; wait and retry at a rate limit."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                if tool not in COUNTED_TOOLS or self.is_offline or self._backend:
                    return await self._session.call(tool, arguments)
                return await self._counted_call(tool, arguments, emit)
            except ServiceError as error:
                if attempt == MAX_ATTEMPTS or not (error.is_retryable and error.retry_after_seconds is not None):
                    raise
                wait = error.retry_after_seconds * attempt
                emit(RetryScheduled(stage="search", service=self.name, reason=error.reason, seconds=wait))
            await asyncio.sleep(wait)
        raise AssertionError("at least one attempt is made")

    async def _counted_call(self, tool: str, arguments: Mapping[str, Any], emit: EventEmitter) -> Mapping[str, Any]:
        """Make one search and count it for the day. A cancelled call counts, since it was sent."""
        left = self.searches_left()
        if left and left[0] <= self._pending_searches:
            raise ServiceError("quota", f"the {left[1]} searches of today are used (AMAP_DAILY_SEARCHES)")
        sent = True
        self._pending_searches += 1
        try:
            return await self._session.call(tool, arguments)
        except ServiceError as error:
            sent = error.reason not in _UNCOUNTED_REASONS
            raise
        finally:
            self._pending_searches -= 1
            if sent:
                self._result_store.increment_counter(self._account_name, self._today)
                emit(UsageRecorded(stage="search", model="amap", searches=1, cost=0.0))

    @property
    def _account_name(self) -> str:
        """Name of the counter for this key, which does not contain the key."""
        return "amap " + fingerprint("amap", self._settings.amap_key.get_secret_value(), digits=8)

    @property
    def _today(self) -> str:
        return self._clock().astimezone(CHINA_TIMEZONE).date().isoformat()

    # Locations

    async def _fetch_locations(
        self, items: list[Place | UnlocatedPlace], unlocated: list[UnlocatedPlace], emit: EventEmitter
    ) -> tuple[list[Place | UnlocatedPlace], datetime]:
        """Fetch the details of unlocated places, which include their locations.

        Return all items, with unlocated places replaced where possible, and the time of the oldest
        details.

        Raises:
            ServiceError: no place has a location, because the details cannot be fetched.
        """
        semaphore = asyncio.Semaphore(_MAX_CONCURRENT_DETAILS)
        oldest = self._clock()

        async def look_up(place: UnlocatedPlace) -> Place | UnlocatedPlace:
            nonlocal oldest
            async with semaphore:
                body, fetched_at = await self._cached_call("maps_search_detail", {"id": place.id}, emit)
            oldest = min(oldest, fetched_at)
            return next((p for p in tool_responses.parse_places(body) if isinstance(p, Place)), place)

        results = await asyncio.gather(*map(look_up, unlocated), return_exceptions=True)
        by_id: dict[str, Place | UnlocatedPlace] = {}
        errors = []
        for place, result in zip(unlocated, results, strict=True):
            if isinstance(result, Place | UnlocatedPlace):
                by_id[place.id] = result
            elif not isinstance(result, ServiceError):
                raise result
            elif result.reason != "empty":
                errors.append(result)
        located = [by_id.get(item.id, item) for item in items]
        if errors and not any(isinstance(item, Place) for item in located):
            raise errors[0]
        return located, oldest


_POINT_ARGUMENTS = ("location", "origin", "origins", "destination")


def _to_wgs84(name: str, value: Any) -> Any:
    """Convert the points in an argument, if it has any, to WGS-84."""
    if name not in _POINT_ARGUMENTS:
        return value
    points = (tool_responses.parse_gcj02(location) for location in str(value).split("|"))
    return "|".join(f"{point.lng:.6f},{point.lat:.6f}" for point in points)


def _search_centre(arguments: Mapping[str, Any]) -> Point | None:
    """Return the centre of a search around a point, or None."""
    return tool_responses.parse_gcj02(str(arguments["location"])) if "radius" in arguments else None


def _with_distance(place: Place, centre: Point | None) -> Place:
    """Return a place with its distance from the centre, which some servers omit."""
    if centre is None or place.distance is not None:
        return place
    distance = distance_metres(tool_responses.place_point(place), centre)
    return place.model_copy(update={"distance": round(distance)})
