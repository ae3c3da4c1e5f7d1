"""The map services that are set up, and which of them answers for a place.

With a key Amap answers for what it covers, OpenStreetMap for the rest; without one OpenStreetMap for all,
if the open sources are on, and else the sample places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from research.core.coordinates import Point, to_gcj02
from research.core.errors import Trouble
from research.core.records import Language, Place, Say
from research.sources.places import coverage
from research.sources.places.look import Unknown, abroad, asked_back
from research.sources.places.service import Service


class Maps:
    """`amap` is Amap, or the sample where no key is set; `osm` is None where it is not to be asked."""

    def __init__(self, amap: Service, osm: Service | None = None) -> None:
        self.amap = amap
        self.osm = osm

    @property
    def first(self) -> Service:
        """Who answers for a place of which nothing is known."""
        keyless = self.amap.offline or bool(self.amap.lacks)
        return self.osm if self.osm and keyless else self.amap

    @property
    def live(self) -> tuple[Service, ...]:
        """Who is asked over the network, the first choice first."""
        found = (self.first, self.osm)
        return tuple(one for one in dict.fromkeys(found) if one and not (one.offline or one.lacks))

    async def serving(self, place: str | Point, language: Language, say: Say) -> Service:
        """Who covers a named place or a WGS-84 point.

        Raises:
            Trouble: nobody who is set up.
        """
        if self.first is self.osm:
            return self.first
        if self.osm is None and self.amap.offline:
            return self.amap  # the sample says itself what it does not hold
        if isinstance(place, Point):
            return await self._at(place, language, say)
        beyond = coverage.beyond(place)
        if self.osm is None:
            if beyond == "surely":
                raise asked_back("uncovered", language, place=place)
            return self.amap
        if beyond in ("", "surely"):
            return self.osm if beyond else self.amap
        try:
            found = (await self.osm.use("maps_geo", {"address": place}, say, language)).areas
        except Trouble:
            return self.osm if beyond == "likely" else self.amap
        lost = not found and beyond == "likely"
        return self.osm if abroad(found[:1]) or lost else self.amap

    def measuring(self, places: Iterable[Place]) -> Service:
        """Who is asked how far places are apart: nobody but OpenStreetMap of those that it has told,
        which may lie anywhere."""
        told = self.osm if any(place.provider == "osm" for place in places) else None
        return told or self.amap

    def instead(self, service: Service, trouble: Trouble) -> Service | None:
        """Who may know a place that a service does not; None if nobody."""
        lost = isinstance(trouble, Unknown) and service is not self.osm
        return self.osm if lost else None

    async def _at(self, point: Point, language: Language, say: Say) -> Service:
        if self.osm is None:
            if coverage.outside(point):
                name = f"{point.lat:.5f}, {point.lng:.5f}"
                raise asked_back("uncovered", language, place=name)
            return self.amap
        if coverage.outside(point):
            return self.osm
        try:
            shown = to_gcj02(point)
            given = {"location": f"{shown.lng:.6f},{shown.lat:.6f}"}
            told = await self.osm.use("maps_regeocode", given, say, language)
        except Trouble:
            return self.amap
        return self.amap if coverage.covered(str(told.body.get("country_code") or "")) else self.osm

    def __iter__(self) -> Iterator[Service]:
        yield self.amap
        if self.osm:
            yield self.osm

    async def warm(self) -> None:
        """Starts who answers first; one that does not start says why when it is asked."""
        if not self.first.lacks:
            await self.first.warm()

    async def close(self) -> None:
        for service in self:
            await service.close()
