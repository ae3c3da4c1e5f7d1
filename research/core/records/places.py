"""Places, areas, routes and distances. Coordinates are WGS-84 degrees, distances metres."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AliasChoices, Field

from research.core.records.base import Record
from research.core.records.failures import Failure

TravelMode = Literal["walking", "bicycling", "driving", "transit", "straight"]
# Attribution to show with places of a provider, and its licence page.
ATTRIBUTIONS = {"osm": ("© OpenStreetMap contributors, ODbL", "https://www.openstreetmap.org/copyright")}


class Place(Record):
    """A point with a name. `lng` and `lat` are WGS-84 degrees, whatever the provider's system.

    The texts are the provider's own; the fields `*_en` hold English translations.
    """

    id: str
    name: str
    lng: float
    lat: float
    provider: str  # amap, offline, osm
    category: str = ""  # food, sight, family, shop, hotel, transport, culture, other
    type: str = ""  # the provider's own category
    address: str = ""
    district: str = ""
    city: str = ""
    distance: int | None = None  # metres from the centre of the search
    rating: float | None = None  # out of 5
    cost: float | None = None  # yuan per person
    hours: str = ""
    phone: str = ""
    photos: tuple[str, ...] = ()
    sample: bool = False
    name_en: str = ""
    type_en: str = ""
    address_en: str = ""

    @property
    def attribution(self) -> str:
        """The attribution and licence URL to show wherever the place is displayed or exported; ""
        if none is required."""
        return " ".join(ATTRIBUTIONS.get(self.provider, ()))


class SearchArea(Record):
    """The area of a place search: a centre in WGS-84 degrees and a radius in metres.

    A radius of 0 means an area searched as a whole, such as a city. `asked` is the requested radius
    if nothing was within it and `radius` was widened, else 0.
    """

    name: str
    lng: float
    lat: float
    radius: int = 0
    requested_radius: int = Field(default=0, validation_alias=AliasChoices("requested_radius", "asked"))


class Route(Record):
    """A route between two places, given by name.

    `line` are WGS-84 points, longitude first. With `direct` it is a straight line, because the map
    service returned no geometry. Unknown values are None.
    """

    origin: str
    destination: str
    travel_mode: TravelMode = Field(validation_alias=AliasChoices("travel_mode", "means"))
    metres: int | None = None
    seconds: int | None = None
    line: tuple[tuple[float, float], ...] = ()
    straight_line: bool = Field(default=False, validation_alias=AliasChoices("straight_line", "direct"))
    steps: tuple[str, ...] = ()


class DistanceMatrix(Record):
    """Distances between places: rows are origins, columns destinations.

    None on the diagonal and where the distance is unknown; `failure` is the reason why nothing was
    measured.
    """

    names: tuple[str, ...]
    travel_mode: TravelMode = Field(default="straight", validation_alias=AliasChoices("travel_mode", "means"))
    metres: tuple[tuple[int | None, ...], ...] = ()
    seconds: tuple[tuple[int | None, ...], ...] = ()
    failure: Failure | None = None


class RecordedPlace(Record):
    """A place and the runs that found it, the newest first; none if it was looked up separately."""

    place: Place
    url: str = ""
    retrieved: datetime
    runs: tuple[str, ...] = ()  # ids
    questions: tuple[str, ...] = ()


class Itinerary(Record):
    """Places in the order of a day, and the route from each to the next. `failure` is the reason
    why some routes had to be straight lines."""

    places: tuple[Place, ...]
    legs: tuple[Route, ...] = ()
    failure: Failure | None = None
