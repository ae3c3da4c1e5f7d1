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
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Evidence, Language, Place, SearchArea
from research.sources.places import coverage
from research.sources.places.directions import format_point, parse_route
from research.sources.places.evidence import build_fact_evidence, point_key
from research.sources.places.map_services import MapServices
from research.sources.places.place_search import (
    MAX_PLACES,
    PlaceSearchResult,
    choose_area,
    clarification_error,
    deduplicate,
    rank_places,
)
from research.sources.places.service import MapService, ToolResult

MODEL_TOOLS = frozenset({
    "maps_geo", "maps_around_search", "maps_text_search", "maps_search_detail",
    "maps_direction_walking", "maps_direction_driving", "maps_bicycling", "maps_distance",
    "maps_direction_transit_integrated", "maps_weather",
})  # fmt: skip
KEYLESS_TOOLS = frozenset(
    {
        "maps_geo",
        "maps_around_search",
        "maps_text_search",
        "maps_search_detail",
        "maps_distance",
    }
)  # fmt: skip - what OpenStreetMap's open services can be asked
_MODEL_MISTAKES = ("refused", "empty")  # reasons that a model's own mistake may have
MAX_LISTED = 20  # places that a model is shown of one answer
MAX_RAW_CHARS = 2_000  # characters of any other answer


@dataclass
class MapToolRunner:
    """The calls of a model in one search: minded, counted and kept."""

    maps: MapServices
    service: MapService
    task_id: str  # its id
    max_calls: int
    language: Language
    emit: EventEmitter
    results: list[ToolResult] = field(default_factory=list)
    error: ServiceError | None = None  # what kept a tool from answering, rather than a wrong call
    names_by_point: dict[str, str] = field(default_factory=dict)  # of points that were asked for by name
    call_count: int = 0

    async def call_for_model(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a model is told of a call: the answer in short, or what went wrong."""
        self.call_count += 1
        if self.call_count > self.max_calls:
            return _error_json("the budget of calls is used up: end now")
        if tool not in MODEL_TOOLS:
            return _error_json(f"there is no tool {tool!r}")
        shown = {name: str(value)[:80] for name, value in arguments.items()}
        self.emit("tool", task=self.task_id, tool=tool, arguments=shown)
        try:
            self._choose_service(arguments)
            told = await self.service.call_tool(tool, arguments, self.emit, self.language)
            if tool == "maps_geo":
                self._record_address(told)
        except ServiceError as trouble:
            if self.error is None or trouble.reason not in _MODEL_MISTAKES:
                self.error = trouble
            return _error_json(str(trouble))
        self.results.append(told)
        return json.dumps(_summarise_result(told), ensure_ascii=False)

    def _choose_service(self, arguments: Mapping[str, Any]) -> None:
        """Turns to who covers the places of a call.

        Raises:
            Trouble: nobody who is set up does.
        """
        for name in ("address", "city", "cityd"):
            place = str(arguments.get(name) or "")
            if self.service is self.maps.osm or coverage.outside_likelihood(place) not in coverage.OUTSIDE_LIKELIHOODS:
                continue
            if self.maps.osm is None:
                raise clarification_error("uncovered", self.language, place=place)
            self.service = self.maps.osm

    def _record_address(self, result: ToolResult) -> None:
        """Lets a model search around an address only if it means one place."""
        asked = str(result.arguments["address"])
        area = choose_area(result.areas, asked, self.language)
        self.names_by_point[point_key(to_gcj02(area.point))] = asked

    def reportable_error(self) -> ServiceError | None:
        """What was not found for a reason that somebody should know."""
        return None if self.error and self.error.reason in _MODEL_MISTAKES else self.error

    @property
    def fact_evidence(self) -> list[Evidence]:
        return list(build_fact_evidence(self.results, self.language))

    def search_result(self) -> PlaceSearchResult:
        """All that the calls have found. The first circle is the one that is drawn, as wide as it
        was searched, and distances are told from its centre only.
        """
        circles = [told for told in self.results if "radius" in told.arguments]
        if not circles:
            found = deduplicate(place for told in self.results for place in told.places)
            return PlaceSearchResult(tuple(found[:MAX_PLACES]), None, tuple(self.results))
        drawn = [c for c in circles if c.arguments["location"] == circles[0].arguments["location"]]
        centre = self._build_centre(drawn)
        near = [place for told in drawn for place in told.places]
        far = [
            place.model_copy(update={"distance": None})
            for told in self.results
            for place in told.places
            if told not in drawn
        ]
        return PlaceSearchResult(rank_places([*near, *far], centre.radius), centre, tuple(self.results))

    def _build_centre(self, circles: Sequence[ToolResult]) -> SearchArea:
        lng, lat = (float(part) for part in str(circles[0].arguments["location"]).split(","))
        point = from_gcj02(Point(lng, lat))
        name = self.names_by_point.get(point_key(Point(lng, lat)), f"{point.lat:.5f}, {point.lng:.5f}")
        radius = max(int(told.arguments["radius"]) for told in circles)
        first = circles[0]
        asked = 0 if first.places or first.unlocated_count else int(first.arguments["radius"])
        asked = asked if asked < radius else 0
        return SearchArea(name=name, lng=point.lng, lat=point.lat, radius=radius, asked=asked)


def _error_json(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)


def _summarise_result(result: ToolResult) -> dict[str, Any]:
    """An answer with no more than a model needs to go on. Points are as the tools take them."""
    if result.areas:
        rows = [
            {"name": area.name, "level": area.level, "location": format_point(area.point)}
            for area in result.areas[:MAX_LISTED]
        ]
        return {"return": rows}
    if result.places or result.unlocated_count:
        return {"pois": [_summarise_place(place) for place in result.places[:MAX_LISTED]]}
    if way := parse_route(result.body):
        steps = [stretch.text or stretch.transit_line for stretch in way.steps[:MAX_LISTED]]
        return {"route": {"distance": way.metres, "duration": way.seconds, "steps": steps}}
    text = json.dumps(result.body, ensure_ascii=False)
    return dict(result.body) if len(text) <= MAX_RAW_CHARS else {"text": text[:MAX_RAW_CHARS]}


def _summarise_place(place: Place) -> dict[str, Any]:
    row = {
        "id": place.id, "name": place.name, "type": place.type, "rating": place.rating,
        "distance": place.distance, "location": format_point(Point(place.lng, place.lat)),
    }  # fmt: skip
    return {name: value for name, value in row.items() if value not in ("", None)}
