"""Tool calls that a model makes in one place search: checked, counted and recorded.

The model gets a summary of each result, sufficient to continue; evidence is taken from the full
results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from research.core.coordinates import Point, from_gcj02, to_gcj02
from research.core.errors import ServiceError
from research.core.events import EventEmitter, ToolCalled
from research.core.records import Evidence, Language, Place, SearchArea
from research.sources.places import amap_coverage
from research.sources.places.directions import TOOL_BY_MODE, parse_route
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
from research.sources.places.tool_responses import format_gcj02, place_point, point_label
from research.sources.tool_exploration import error_json

KEYLESS_TOOLS = frozenset({"maps_geo", "maps_around_search", "maps_text_search", "maps_search_detail", "maps_distance"})
MODEL_TOOLS = KEYLESS_TOOLS | {*TOOL_BY_MODE.values(), "maps_weather"}  # the others need a key
_MODEL_MISTAKES = ("refused", "empty")  # reasons of errors that a model's wrong call may cause
MAX_LISTED = 20  # places in the summary of one result
MAX_RAW_CHARS = 2_000  # of a result without a summary


@dataclass
class MapToolRunner:
    """Runs a model's tool calls in one search and records their results."""

    maps: MapServices
    service: MapService
    task_id: str
    max_calls: int
    language: Language
    emit: EventEmitter
    results: list[ToolResult] = field(default_factory=list)
    error: ServiceError | None = None  # preferably a failure of the service, not a wrong call
    names_by_point: dict[str, str] = field(default_factory=dict)  # names of geocoded points
    call_count: int = 0

    async def call_for_model(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return a summary of the result, or the error, as JSON for the model."""
        self.call_count += 1
        if self.call_count > self.max_calls:
            return error_json("the budget of calls is used up: end now")
        if tool not in MODEL_TOOLS:
            return error_json(f"there is no tool {tool!r}")
        shown = {name: str(value)[:80] for name, value in arguments.items()}
        self.emit(ToolCalled(task=self.task_id, tool=tool, arguments=shown))
        try:
            self._choose_service(arguments)
            result = await self.service.call_tool(tool, arguments, self.emit, self.language)
            if tool == "maps_geo":
                self._record_address(result)
        except ServiceError as error:
            if self.error is None or error.reason not in _MODEL_MISTAKES:
                self.error = error
            return error_json(str(error))
        self.results.append(result)
        return json.dumps(_summarise_result(result), ensure_ascii=False)

    def _choose_service(self, arguments: Mapping[str, Any]) -> None:
        """Switch to the service that covers the places of a call.

        Raises:
            ServiceError: no configured service covers them.
        """
        for name in ("address", "city", "cityd"):
            place = str(arguments.get(name) or "")
            if (
                self.service is self.maps.osm
                or amap_coverage.outside_likelihood(place) not in amap_coverage.OUTSIDE_LIKELIHOODS
            ):
                continue
            if self.maps.osm is None:
                raise clarification_error("uncovered", self.language, place=place)
            self.service = self.maps.osm

    def _record_address(self, result: ToolResult) -> None:
        """Record the name of a geocoded point. Raise if the address is not a single place."""
        address = str(result.arguments["address"])
        area = choose_area(result.areas, address, self.language)
        self.names_by_point[point_key(to_gcj02(area.point))] = address

    def reportable_error(self) -> ServiceError | None:
        """Return the recorded error, unless a wrong call of the model caused it."""
        return None if self.error and self.error.reason in _MODEL_MISTAKES else self.error

    @property
    def fact_evidence(self) -> list[Evidence]:
        """Evidence for the routes, distances and forecasts in the results."""
        return list(build_fact_evidence(self.results, self.language))

    def search_result(self) -> PlaceSearchResult:
        """Combine the results of all calls.

        The first search area is returned with the widest radius searched around its centre; other
        places have no distance.
        """
        area_searches = [result for result in self.results if "radius" in result.arguments]
        if not area_searches:
            places = deduplicate(place for result in self.results for place in result.places)
            return PlaceSearchResult(tuple(places[:MAX_PLACES]), None, tuple(self.results))
        first_area = [
            search for search in area_searches if search.arguments["location"] == area_searches[0].arguments["location"]
        ]
        centre = self._build_centre(first_area)
        near = [place for result in first_area for place in result.places]
        far = [
            place.model_copy(update={"distance": None})
            for result in self.results
            for place in result.places
            if result not in first_area
        ]
        return PlaceSearchResult(rank_places([*near, *far], centre.radius), centre, tuple(self.results))

    def _build_centre(self, area_searches: Sequence[ToolResult]) -> SearchArea:
        lng, lat = (float(part) for part in str(area_searches[0].arguments["location"]).split(","))
        point = from_gcj02(Point(lng, lat))
        name = self.names_by_point.get(point_key(Point(lng, lat)), point_label(point))
        radius = max(int(search.arguments["radius"]) for search in area_searches)
        first = area_searches[0]
        requested_radius = 0 if first.places or first.unlocated_count else int(first.arguments["radius"])
        requested_radius = requested_radius if requested_radius < radius else 0
        return SearchArea(name=name, lng=point.lng, lat=point.lat, radius=radius, requested_radius=requested_radius)


def _summarise_result(result: ToolResult) -> dict[str, Any]:
    """Return the essential parts of a result for the model. Points are in the tools' form."""
    if result.areas:
        rows = [
            {"name": area.name, "level": area.level, "location": format_gcj02(area.point)}
            for area in result.areas[:MAX_LISTED]
        ]
        return {"return": rows}
    if result.places or result.unlocated_count:
        return {"pois": [_summarise_place(place) for place in result.places[:MAX_LISTED]]}
    if route := parse_route(result.body):
        steps = [step.text or step.transit_line for step in route.steps[:MAX_LISTED]]
        return {"route": {"distance": route.metres, "duration": route.seconds, "steps": steps}}
    text = json.dumps(result.body, ensure_ascii=False)
    return dict(result.body) if len(text) <= MAX_RAW_CHARS else {"text": text[:MAX_RAW_CHARS]}


def _summarise_place(place: Place) -> dict[str, Any]:
    row = {
        "id": place.id,
        "name": place.name,
        "type": place.type,
        "rating": place.rating,
        "distance": place.distance,
        "location": format_gcj02(place_point(place)),
    }
    return {name: value for name, value in row.items() if value not in ("", None)}
