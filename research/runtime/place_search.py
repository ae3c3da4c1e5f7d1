"""Searches of the map without a run: places, routes, itineraries and distances."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from research.agent.nodes.search import failed_finding
from research.core.coordinates import Point
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import DistanceMatrix, Finding, Itinerary, Language, Place, Task
from research.core.text.tokenizer import detect_language
from research.runtime.owner_services import OwnerServices
from research.runtime.run_manager import RunManager
from research.sources.places import itinerary
from research.sources.places.questions import keywords_of_text
from research.sources.places.tools import RoutingMode

if TYPE_CHECKING:
    from research.sources.places.retriever import PlacesRetriever

MapLocation = str | tuple[float, float]  # a name, or longitude and latitude in WGS-84


class PlaceSearch:
    """Searches the map for owners, and stores what it finds as evidence.

    A failed search is a finding with a reason.
    """

    def __init__(self, owner_services: OwnerServices, runs: RunManager) -> None:
        """Search with each owner's map, on the loop of the runs."""
        self._owner_services, self._runs = owner_services, runs

    def find(self, query: str, *, owner: str = "local") -> Finding:
        """Find the places that a sentence asks for."""
        task = Task(id="", source="places", query=query)
        return self._search(query, owner, lambda places: places.search(task, ignore_event))

    def search_around(
        self,
        location: MapLocation,
        keywords: str,
        radius_metres: int,
        *,
        language: Language | None = None,
        owner: str = "local",
    ) -> Finding:
        """Find places around a named place or a WGS-84 point (longitude, latitude).

        The radius is widened if nothing lies within it. Descriptions are in `language`, by default
        that of the keywords.
        """
        words, centre = keywords_of_text(keywords), _to_point(location)
        named = location if isinstance(location, str) else ""
        language = language or detect_language(f"{keywords} {named}")
        query = " ".join([named, *words]).strip()
        return self._search(
            query,
            owner,
            lambda places: places.search_around(centre, words, radius_metres, language, ignore_event),
        )

    def find_route(
        self,
        origin: MapLocation,
        destination: MapLocation,
        mode: RoutingMode | None = None,
        *,
        language: Language | None = None,
        owner: str = "local",
    ) -> Finding:
        """Find a route between two places or WGS-84 points (longitude, latitude).

        Without a `mode`, a short route is on foot, a longer one by public transport and by car.
        """
        query = " → ".join(end if isinstance(end, str) else "" for end in (origin, destination))
        language, start, end = language or detect_language(query), _to_point(origin), _to_point(destination)
        return self._search(query, owner, lambda places: places.find_route(start, end, mode, language, ignore_event))

    def plan_itinerary(
        self,
        place: str,
        stops: Sequence[str] = (),
        mode: RoutingMode | None = None,
        *,
        language: Language | None = None,
        owner: str = "local",
    ) -> Finding:
        """Plan a round trip of a day through the stops, or through the best sights of a place."""
        query = " ".join([place, *stops]).strip()
        language = language or detect_language(query)
        return self._search(
            query, owner, lambda places: places.plan_itinerary(place, stops, mode, language, ignore_event)
        )

    def _search(
        self, query: str, owner: str, search: Callable[[PlacesRetriever], Coroutine[Any, Any, Finding]]
    ) -> Finding:
        """Run a search with the map of an owner and store its evidence for look-ups.

        `query` describes the search in a finding about its failure.
        """
        try:
            with self._owner_services.open_services(owner) as (services, _):
                finding = self._runs.run_on_loop(search(services.places))
        except ServiceError as error:
            task = Task(id="", source="places", query=query)
            provider = services.map_services.default_service.name
            return failed_finding(task, error).model_copy(update={"provider": provider})
        store = self._runs.store
        store.add_evidence(store.place_registry(owner), finding.evidence)
        return finding

    def build_itinerary(self, places: Sequence[Place], *, owner: str = "local") -> Itinerary:
        """Order places for a day that begins at the first one, with the routes between them."""
        with self._owner_services.open_services(owner) as (services, _):
            tools = services.map_services.distance_tools(places)
            return self._runs.run_on_loop(itinerary.build_itinerary(tools, places))

    def measure_distances(self, places: Sequence[Place], *, owner: str = "local") -> DistanceMatrix:
        """Measure the distances between places on the map. A failure is part of the result."""
        try:
            with self._owner_services.open_services(owner) as (services, _):
                tools = services.map_services.distance_tools(places)
                return self._runs.run_on_loop(itinerary.measure_distance_matrix(tools, places))
        except ServiceError as error:
            failure = error.to_failure("search", "places")
            return DistanceMatrix(names=tuple(place.name for place in places), failure=failure)

    def searches_left(self, *, owner: str = "local") -> tuple[int, int] | None:
        """Return how many searches an owner has left today, and the limit of a day; None if there is no limit."""
        return self._owner_services.services(owner).map_service.searches_left()


def _to_point(location: MapLocation) -> str | Point:
    return Point(*location) if isinstance(location, tuple) else location
