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
from research.core.errors import Trouble
from research.core.records import Failure, Finding, Language, Readiness, Say, Task
from research.core.text.words import detect_language
from research.sources.places import routes
from research.sources.places.chain import FOR_MODELS, KEYLESS, Chain
from research.sources.places.directions import Going
from research.sources.places.facts import evidence, facts, remark, table
from research.sources.places.look import Look, asked_back, details, find, identity, look, where
from research.sources.places.maps import Maps
from research.sources.places.service import Budgeted, Service, Tools

PUNCTUAL = 0.9  # of the time for a search: then it ends by itself, and keeps what it has


class Wanted(Protocol):
    """What rules read in a query."""

    @property
    def act(
        self,
    ) -> Literal["near", "where", "details", "way", "distance", "between", "route"]: ...
    @property
    def place(self) -> str: ...
    @property
    def to(self) -> str: ...
    @property
    def means(self) -> Literal["walking", "driving", "bicycling", "transit", ""]: ...
    @property
    def keywords(self) -> tuple[str, ...]: ...
    @property
    def radius(self) -> int: ...
    @property
    def purpose(self) -> str: ...
    @property
    def stops(self) -> tuple[str, ...]: ...


Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class Explore(Protocol):
    """A model that is let loose on tools."""

    async def __call__(
        self, query: str, tools: Sequence[Mapping[str, Any]], call: Call, budget: int, say: Say
    ) -> None:
        """Calls what it needs for a query, at most `budget` times. `call` gives what a tool said, or
        why it said nothing.

        Raises:
            Trouble: the model cannot be asked.
        """


def _named(place: str | Point) -> str:
    return place if isinstance(place, str) else f"{place.lat:.5f}, {place.lng:.5f}"


class PlacesRetriever:
    """Searches the maps that are set up."""

    name = "places"
    turns = 1

    def __init__(
        self,
        maps: Maps,
        *,
        deadline: float,
        wanted: Callable[[str], Wanted | None],
        explore: Explore | None = None,
        budget: int = 8,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search, `budget` the calls of a model in one."""
        self._maps = maps
        self._deadline = deadline
        self._wanted = wanted
        self._explore = explore
        self._budget = budget
        self._clock = clock

    def ready(self) -> Readiness:
        first = self._maps.first
        if lacks := first.lacks:
            return Readiness(state="missing", detail=lacks)
        if first.offline:
            return Readiness(state="offline", detail="AMAP_MAPS_API_KEY")
        return Readiness(state="live", detail=", ".join(one.name for one in self._maps.live))

    async def search(self, task: Task, say: Say) -> Finding:
        failures: list[Failure] = []
        asked = [self._maps.first]  # the last one counts
        try:
            return await self._search(task, asked, failures, say)
        except Trouble as trouble:
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
        self, task: Task, asked: list[Service], failures: list[Failure], say: Say
    ) -> Finding:
        """Whom it asks goes into `asked`, what failed beside it into `failures`, however it ends."""
        started, clock = self._clock(), time.monotonic()
        tongue = detect_language(task.query)
        wish = self._wanted(task.query)
        if wish and (place := wish.place or (wish.stops[0] if wish.stops else "")):
            asked.append(await self._maps.serving(place, tongue, say))
        chain = Chain(self._maps, asked[-1], task.id, self._budget, tongue, say)
        if self._explore:
            failures += await self._explored(task.query, chain, say)
        found = chain.look()
        asked.append(chain.service)
        trouble = chain.failed()
        if found.places or chain.facts:
            failures += [trouble.failure("search", self.name, task.query)] if trouble else []
        elif trouble and trouble.reason in ("unclear", "quota"):
            raise trouble
        else:
            found = await self._read(task.query, wish, asked, tongue, say)
        seconds = time.monotonic() - clock
        return self._finding(task, found, asked[-1], tongue, failures, started, seconds)

    async def around(
        self, place: str | Point, keywords: Sequence[str], radius: int, tongue: Language, say: Say
    ) -> Finding:
        """A look by itself, without a question.

        Raises:
            Trouble: as `look`.
        """
        query = " ".join([_named(place), *keywords])

        def looking(tools: Tools) -> Awaitable[Look]:
            return look(tools, place, keywords, radius, tongue, say)

        return await self._alone(query, place, tongue, say, looking)

    async def way(
        self,
        origin: str | Point,
        to: str | Point,
        means: Going | None,
        tongue: Language,
        say: Say,
    ) -> Finding:
        """The way from one place to another, without a question.

        Raises:
            Trouble: as `routes.way`.
        """

        def looking(tools: Tools) -> Awaitable[Look]:
            return routes.way(Budgeted(tools, self._budget), origin, to, means, tongue, say)

        query = f"{_named(origin)} → {_named(to)}"
        return await self._alone(query, origin, tongue, say, looking)

    async def tour(
        self, place: str, stops: Sequence[str], means: Going | None, tongue: Language, say: Say
    ) -> Finding:
        """A day's round through some stops, or through the sights of a place, without a question.

        Raises:
            Trouble: as `ways.tour`.
        """

        def looking(tools: Tools) -> Awaitable[Look]:
            return routes.tour(Budgeted(tools, self._budget), place, stops, means, (), tongue, say)

        named = list(filter(None, [place, *stops]))
        return await self._alone(" ".join(named), "".join(named[:1]), tongue, say, looking)

    async def _alone(
        self, query: str, place: str | Point, tongue: Language, say: Say,
        looking: Callable[[Tools], Awaitable[Look]],
    ) -> Finding:  # fmt: skip
        """A look with whoever covers a place."""
        started, clock = self._clock(), time.monotonic()
        asked = [await self._maps.serving(place, tongue, say)]
        found = await self._known(asked, tongue, looking)
        task = Task(id="", source=self.name, query=query)
        seconds = time.monotonic() - clock
        return self._finding(task, found, asked[-1], tongue, [], started, seconds)

    async def warm(self) -> None:
        """Starts the map's server, if there is one to ask."""
        await self._maps.warm()

    async def close(self) -> None:
        await self._maps.close()

    async def _explored(self, query: str, chain: Chain, say: Say) -> list[Failure]:
        """Lets the model search; what its calls have found counts, however they ended."""
        assert self._explore is not None
        from research.sources.places.server import specifications

        known = KEYLESS if chain.service is self._maps.osm else FOR_MODELS
        tools = [spec for spec in specifications() if spec["function"]["name"] in known]
        try:
            async with deadline(self._deadline * PUNCTUAL):
                await self._explore(query, tools, chain.call, self._budget, say)
        except TimeoutError:
            trouble = Trouble("timeout", "the search's time was over before the model was done")
        except Trouble as error:
            trouble = error
        else:
            return []
        return [trouble.failure("search", self.name, query)]

    async def _read(
        self, query: str, wish: Wanted | None, asked: list[Service], tongue: Language, say: Say
    ) -> Look:
        """What rules read in the query, done."""
        if wish is None:
            return await find(asked[-1].speaking(tongue), query, say)
        if not wish.place and not wish.stops:
            raise asked_back("where", tongue)
        return await self._known(asked, tongue, lambda tools: self._done(tools, wish, tongue, say))

    async def _known(
        self, asked: list[Service], tongue: Language, look: Callable[[Tools], Awaitable[Look]]
    ) -> Look:
        """A look with the last of those `asked`, or with who may know a place that it does not."""
        try:
            return await look(asked[-1].speaking(tongue))
        except Trouble as trouble:
            other = self._maps.instead(asked[-1], trouble)
            if other is None:
                raise
        asked.append(other)
        return await look(other.speaking(tongue))

    async def _done(self, service: Tools, wish: Wanted, tongue: Language, say: Say) -> Look:
        """A look of a few calls, or ways, of which there are as many as the budget allows."""
        tools, means = Budgeted(service, self._budget), wish.means or None
        match wish.act:
            case "way":
                return await routes.way(tools, wish.place, wish.to, means, tongue, say)
            case "distance" if wish.stops:
                ends = [*filter(None, [wish.place]), *wish.stops, *filter(None, [wish.to])]
                return await routes.apart(tools, ends, tongue, say)
            case "distance":
                return await routes.distance(tools, wish.place, wish.to, means, tongue, say)
            case "between":
                return await routes.between(
                    tools, wish.place, wish.to, wish.keywords, means, tongue, say
                )
            case "route":
                return await routes.tour(
                    tools, wish.place, wish.stops, means, wish.keywords, tongue, say
                )
            case "where" if not wish.keywords:
                return await where(service, wish.place, tongue, say)
            case "details" if not wish.keywords:
                return await details(service, wish.place, tongue, say)
        return await look(service, wish.place, wish.keywords, wish.radius, tongue, say)

    def _finding(
        self,
        task: Task,
        found: Look,
        service: Service,
        tongue: Language,
        failures: Sequence[Failure],
        started: datetime,
        seconds: float,
    ) -> Finding:
        made: dict[str, datetime] = {}
        for told in found.told:
            for place in told.places:
                made.setdefault(identity(place), told.made)
        near = found.centre if found.centre and found.centre.radius else None
        items = [
            evidence(p, near, tongue, made.get(identity(p), started), whole=found.whole)
            for p in found.places
        ]
        stated = list(facts(found.told, tongue, found.places))
        items = [*stated, *items] if found.leads else [*items, *stated]
        summary = []
        if found.distances:
            item, span = table(found.distances, started, tongue)
            items, summary = [item, *items], [span]
        unplaced = sum(told.unplaced for told in found.told)
        sample = any(told.sample for told in found.told)
        return Finding(
            task=task,
            evidence=tuple({item.id: item for item in items}.values()),
            reason=None if items else "empty",
            message=remark(found, unplaced, tongue),
            started=started,
            seconds=round(seconds, 4),
            provider="offline" if sample else service.name,
            centre=found.centre,
            along=found.along,
            summary=tuple(summary),
            failures=(*failures, *found.failures),
        )
