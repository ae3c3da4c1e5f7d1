"""The calls that a model makes in one search for places: minded, counted and kept.

The model is told as much of each answer as it needs to go on; what becomes evidence is taken from
the answers themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from research.core.coordinates import Point, from_gcj02, to_gcj02
from research.core.errors import Trouble
from research.core.records import Centre, Evidence, Language, Place, Say
from research.sources.places import coverage
from research.sources.places.directions import path, sent
from research.sources.places.facts import facts, spot
from research.sources.places.look import SHOWN, Look, asked_back, ranked, the_one, unlike
from research.sources.places.maps import Maps
from research.sources.places.service import Service, ToolResult

FOR_MODELS = frozenset({
    "maps_geo", "maps_around_search", "maps_text_search", "maps_search_detail",
    "maps_direction_walking", "maps_direction_driving", "maps_bicycling", "maps_distance",
    "maps_direction_transit_integrated", "maps_weather",
})  # fmt: skip
KEYLESS = frozenset(
    {
        "maps_geo",
        "maps_around_search",
        "maps_text_search",
        "maps_search_detail",
        "maps_distance",
    }
)  # fmt: skip - what OpenStreetMap's open services can be asked
_SLIPS = ("refused", "empty")  # reasons that a model's own mistake may have
LISTED = 20  # places that a model is shown of one answer
RAW = 2_000  # characters of any other answer


@dataclass
class Chain:
    """The calls of a model in one search: minded, counted and kept."""

    maps: Maps
    service: Service
    task: str  # its id
    budget: int
    tongue: Language
    say: Say
    told: list[ToolResult] = field(default_factory=list)
    trouble: Trouble | None = None  # what kept a tool from answering, rather than a wrong call
    names: dict[str, str] = field(default_factory=dict)  # of points that were asked for by name
    calls: int = 0

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a model is told of a call: the answer in short, or what went wrong."""
        self.calls += 1
        if self.calls > self.budget:
            return _error("the budget of calls is used up: end now")
        if tool not in FOR_MODELS:
            return _error(f"there is no tool {tool!r}")
        shown = {name: str(value)[:80] for name, value in arguments.items()}
        self.say("tool", task=self.task, tool=tool, arguments=shown)
        try:
            self._cover(arguments)
            told = await self.service.use(tool, arguments, self.say, self.tongue)
            if tool == "maps_geo":
                self._located(told)
        except Trouble as trouble:
            if self.trouble is None or trouble.reason not in _SLIPS:
                self.trouble = trouble
            return _error(str(trouble))
        self.told.append(told)
        return json.dumps(_brief(told), ensure_ascii=False)

    def _cover(self, arguments: Mapping[str, Any]) -> None:
        """Turns to who covers the places of a call.

        Raises:
            Trouble: nobody who is set up does.
        """
        for name in ("address", "city", "cityd"):
            place = str(arguments.get(name) or "")
            if self.service is self.maps.osm or coverage.beyond(place) not in coverage.ABROAD:
                continue
            if self.maps.osm is None:
                raise asked_back("uncovered", self.tongue, place=place)
            self.service = self.maps.osm

    def _located(self, told: ToolResult) -> None:
        """Lets a model search around an address only if it means one place."""
        asked = str(told.arguments["address"])
        area = the_one(told.areas, asked, self.tongue)
        self.names[spot(to_gcj02(area.point))] = asked

    def failed(self) -> Trouble | None:
        """What was not found for a reason that somebody should know."""
        return None if self.trouble and self.trouble.reason in _SLIPS else self.trouble

    @property
    def facts(self) -> list[Evidence]:
        return list(facts(self.told, self.tongue))

    def look(self) -> Look:
        """All that the calls have found. The first circle is the one that is drawn, as wide as it
        was searched, and distances are told from its centre only.
        """
        circles = [told for told in self.told if "radius" in told.arguments]
        if not circles:
            found = unlike(place for told in self.told for place in told.places)
            return Look(tuple(found[:SHOWN]), None, tuple(self.told))
        drawn = [c for c in circles if c.arguments["location"] == circles[0].arguments["location"]]
        centre = self._centre(drawn)
        near = [place for told in drawn for place in told.places]
        far = [
            place.model_copy(update={"distance": None})
            for told in self.told
            for place in told.places
            if told not in drawn
        ]
        return Look(ranked([*near, *far], centre.radius), centre, tuple(self.told))

    def _centre(self, circles: Sequence[ToolResult]) -> Centre:
        lng, lat = (float(part) for part in str(circles[0].arguments["location"]).split(","))
        point = from_gcj02(Point(lng, lat))
        name = self.names.get(spot(Point(lng, lat)), f"{point.lat:.5f}, {point.lng:.5f}")
        radius = max(int(told.arguments["radius"]) for told in circles)
        first = circles[0]
        asked = 0 if first.places or first.unplaced else int(first.arguments["radius"])
        asked = asked if asked < radius else 0
        return Centre(name=name, lng=point.lng, lat=point.lat, radius=radius, asked=asked)


def _error(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)


def _brief(told: ToolResult) -> dict[str, Any]:
    """An answer with no more than a model needs to go on. Points are as the tools take them."""
    if told.areas:
        rows = [
            {"name": area.name, "level": area.level, "location": sent(area.point)}
            for area in told.areas[:LISTED]
        ]
        return {"return": rows}
    if told.places or told.unplaced:
        return {"pois": [_listed(place) for place in told.places[:LISTED]]}
    if way := path(told.body):
        steps = [stretch.text or stretch.ride for stretch in way.stretches[:LISTED]]
        return {"route": {"distance": way.metres, "duration": way.seconds, "steps": steps}}
    text = json.dumps(told.body, ensure_ascii=False)
    return dict(told.body) if len(text) <= RAW else {"text": text[:RAW]}


def _listed(place: Place) -> dict[str, Any]:
    row = {
        "id": place.id, "name": place.name, "type": place.type, "rating": place.rating,
        "distance": place.distance, "location": sent(Point(place.lng, place.lat)),
    }  # fmt: skip
    return {name: value for name, value in row.items() if value not in ("", None)}
