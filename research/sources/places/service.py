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

from research.core.coordinates import Point, from_gcj02, metres
from research.core.errors import Trouble
from research.core.records import Language, Place, Say, fingerprint, silent
from research.core.settings import Settings
from research.sources.places import shapes
from research.sources.places.client import Direct, Session, connection
from research.sources.places.shapes import Area, Lead

if TYPE_CHECKING:
    from research.sources.places.server import Backend

CHINA = timezone(timedelta(hours=8))  # Amap's day begins at midnight there
COUNTED = frozenset({"maps_around_search", "maps_text_search", "maps_search_detail"})
KEPT = COUNTED | {"maps_geo", "maps_regeocode"}
ATTEMPTS = 3
_DETAILS_AT_ONCE = 5
_UNSENT = ("unreachable", "no key", "unavailable")  # reasons for which nothing was counted


class Memory(Protocol):
    """Keeps what was paid for beyond the life of the process."""

    def recall(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """An answer that is not older than `since`, and when it was made."""

    def remember(self, key: str, answer: Mapping[str, Any], made: datetime) -> None:
        """Keeps an answer."""

    def count(self, name: str, day: str) -> None:
        """Adds one to an account of a day."""

    def counted(self, name: str, day: str) -> int:
        """What an account of a day has come to."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool said, as it came and as it is read."""

    tool: str
    arguments: Mapping[str, Any]
    body: Mapping[str, Any]
    made: datetime
    areas: tuple[Area, ...] = ()
    places: tuple[Place, ...] = ()
    unplaced: int = 0  # places that nobody told the location of

    @property
    def sample(self) -> bool:
        return bool(self.body.get("sample"))

    @property
    def provider(self) -> str:
        """amap, offline, osm; Amap's own servers do not say."""
        return shapes.text(self.body.get("source")) or "amap"


class Tools(Protocol):
    """What a look asks."""

    @property
    def offline(self) -> bool: ...
    @property
    def spare(self) -> int:
        """How many calls may still be made."""

    async def use(
        self, tool: str, arguments: Mapping[str, Any], say: Say = silent
    ) -> ToolResult: ...


class Budgeted:
    """Tools of which one search may make so many calls."""

    def __init__(self, tools: Tools, calls: int) -> None:
        self._tools = tools
        self.spare = calls

    @property
    def offline(self) -> bool:
        return self._tools.offline

    async def use(self, tool: str, arguments: Mapping[str, Any], say: Say = silent) -> ToolResult:
        """As `Service.use`.

        Raises:
            Trouble: no call is left, or as there.
        """
        if self.spare <= 0:
            raise Trouble("left out", "the calls of this search are used (AMAP_TOOL_CALLS)")
        self.spare -= 1
        return await self._tools.use(tool, arguments, say)


class _Speaking:
    """A service with names and kinds in one language."""

    def __init__(self, service: Service, language: Language) -> None:
        self._service = service
        self._language = language
        self.spare = service.spare

    @property
    def offline(self) -> bool:
        return self._service.offline

    async def use(self, tool: str, arguments: Mapping[str, Any], say: Say = silent) -> ToolResult:
        return await self._service.use(tool, arguments, say, self._language)


class Service:
    """The one way to the tools of a map service: Amap's, or those of a back end of our own. Belongs
    to the loop on which it is first used.
    """

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        backend: Backend | None = None,
    ) -> None:
        """`backend` stands for Amap; its points are in WGS-84, nothing of it is counted. The points
        of arguments are in GCJ-02 whoever answers, as all tools have them.
        """
        self._settings = settings
        self._own = backend
        self._memory = memory
        self._clock = clock
        self._session: Session | Direct = (
            Direct(backend) if backend else Session(connection(settings), settings.amap_timeout + 1)
        )
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way = 0  # searches that have been sent and are not counted yet

    spare = 1_000  # no search makes as many

    @property
    def name(self) -> str:
        """amap, offline, osm."""
        return self._own.name if self._own else "offline" if self.offline else "amap"

    def speaking(self, language: Language) -> Tools:
        """The same with names and kinds in a language, where there are several."""
        return _Speaking(self, language)

    @property
    def offline(self) -> bool:
        """Whether the table answers, which costs nothing and knows little."""
        if self._own:
            return False
        keyless = not self._settings.amap_key.get_secret_value()
        return keyless and self._settings.amap_mcp in ("memory", "stdio")

    @property
    def lacks(self) -> str:
        """The setting that is missing; "" if none is."""
        if self._own:
            return ""
        keyless = not self._settings.amap_key.get_secret_value()
        return "AMAP_MAPS_API_KEY" if keyless and self._settings.amap_mcp in ("npm", "hosted") else ""  # fmt: skip

    def left(self) -> tuple[int, int] | None:
        """How many searches are left today, and of how many; None if they are not limited."""
        limit = self._settings.amap_daily
        if not limit or self.offline or self.lacks or self._own:
            return None
        return max(0, limit - self._memory.counted(self._account, self._today)), limit

    async def use(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        say: Say = silent,
        language: Language = "zh",
    ) -> ToolResult:
        """What a tool answers, read; from memory where it has been asked before. `language` is that of
        names and kinds, where the service has several.

        Raises:
            Trouble: there is no answer, or the arguments cannot be used.
        """
        from research.sources.places.server import checked

        given = {name: value for name, value in checked(tool, arguments).items() if value}
        asked = (
            {name: _unshifted(name, value) for name, value in given.items()} if self._own else given
        )
        body, made = await self._answer(tool, asked, say)
        found = list(shapes.places(body, language))
        leads = [item for item in found if isinstance(item, Lead)]
        if leads:
            found, since = await self._located(found, leads[: self._settings.amap_details], say)
            made = min(made, since)
        centre = _centre(given)
        located = tuple(_measured(item, centre) for item in found if isinstance(item, Place))
        unplaced = len(found) - len(located)
        return ToolResult(tool, given, body, made, shapes.areas(body), located, unplaced)

    async def warm(self) -> None:
        """Starts the server. One that does not start says why when it is asked."""
        with suppress(Trouble):
            await self._session.start()

    async def close(self) -> None:
        await self._session.close()

    # What has been paid for

    async def _answer(
        self, tool: str, arguments: dict[str, Any], say: Say
    ) -> tuple[Mapping[str, Any], datetime]:
        if tool not in KEPT or self.offline:
            return await self._asked(tool, arguments, say), self._clock()
        given = [f"{name}={value}" for name, value in sorted(arguments.items())]
        key = fingerprint(*self._server, tool, *given, size=32)
        hours = self._settings.amap_cache
        async with self._asking.setdefault(key, asyncio.Lock()):
            since = self._clock() - timedelta(hours=hours)
            if hours and (known := self._memory.recall(key, since)):
                return known
            body, made = await self._asked(tool, arguments, say), self._clock()
            if hours:
                self._memory.remember(key, body, made)
            return body, made

    @property
    def _server(self) -> tuple[str, ...]:
        """Who answers, as it tells one kept answer from another."""
        if self._own:
            return self._own.name, self._settings.nominatim_url, self._settings.overpass_url
        return self._settings.amap_mcp, self._settings.amap_url

    async def _asked(self, tool: str, arguments: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
        """The server's answer; a rate limit is waited for."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if tool not in COUNTED or self.offline or self._own:
                    return await self._session.call(tool, arguments)
                return await self._counted(tool, arguments, say)
            except Trouble as trouble:
                if attempt == ATTEMPTS or not (trouble.again and trouble.after is not None):
                    raise
                wait = trouble.after * attempt
                say("waiting", stage="search", seconds=wait, reason=trouble.reason, what=self.name)
            await asyncio.sleep(wait)
        raise AssertionError("at least one attempt is made")

    async def _counted(
        self, tool: str, arguments: Mapping[str, Any], say: Say
    ) -> Mapping[str, Any]:
        """One search, with its place in the day's account; one that is cut off was sent as well."""
        left = self.left()
        if left and left[0] <= self._under_way:
            raise Trouble(
                "quota", f"the {left[1]} searches of today are used (AMAP_DAILY_SEARCHES)"
            )
        sent = True
        self._under_way += 1
        try:
            return await self._session.call(tool, arguments)
        except Trouble as trouble:
            sent = trouble.reason not in _UNSENT
            raise
        finally:
            self._under_way -= 1
            if sent:
                self._memory.count(self._account, self._today)
                say("usage", stage="search", model="amap", searches=1, cost=0.0)

    @property
    def _account(self) -> str:
        """Of this key, without the key."""
        return "amap " + fingerprint("amap", self._settings.amap_key.get_secret_value(), size=8)

    @property
    def _today(self) -> str:
        return self._clock().astimezone(CHINA).date().isoformat()

    # Locations

    async def _located(
        self, found: list[Place | Lead], leads: list[Lead], say: Say
    ) -> tuple[list[Place | Lead], datetime]:
        """What was found with the details of the first leads in their places, and since when the
        oldest of these is known.

        Raises:
            Trouble: nothing could be located, because the details could not be asked for.
        """
        turn = asyncio.Semaphore(_DETAILS_AT_ONCE)
        since = self._clock()

        async def look_up(lead: Lead) -> Place | Lead:
            nonlocal since
            async with turn:
                body, made = await self._answer("maps_search_detail", {"id": lead.id}, say)
            since = min(since, made)
            return next((p for p in shapes.places(body) if isinstance(p, Place)), lead)

        results = await asyncio.gather(*map(look_up, leads), return_exceptions=True)
        known: dict[str, Place | Lead] = {}
        troubles = []
        for lead, result in zip(leads, results, strict=True):
            if isinstance(result, Place | Lead):
                known[lead.id] = result
            elif not isinstance(result, Trouble):
                raise result
            elif result.reason != "empty":
                troubles.append(result)
        located = [known.get(item.id, item) for item in found]
        if troubles and not any(isinstance(item, Place) for item in located):
            raise troubles[0]
        return located, since


_POINTS = ("location", "origin", "origins", "destination")


def _unshifted(name: str, value: Any) -> Any:
    """An argument with its points, if it has any, in WGS-84."""
    if name not in _POINTS:
        return value
    points = (_point(location) for location in str(value).split("|"))
    return "|".join(f"{point.lng:.6f},{point.lat:.6f}" for point in points)


def _point(location: str) -> Point:
    """The WGS-84 point of an argument."""
    lng, lat = location.split(",")
    return from_gcj02(Point(float(lng), float(lat)))


def _centre(arguments: Mapping[str, Any]) -> Point | None:
    """The point that was searched around."""
    return _point(str(arguments["location"])) if "radius" in arguments else None


def _measured(place: Place, centre: Point | None) -> Place:
    """A place with its distance from the centre, where the server did not tell it."""
    if centre is None or place.distance is not None:
        return place
    far = metres(Point(place.lng, place.lat), centre)
    return place.model_copy(update={"distance": round(far)})
