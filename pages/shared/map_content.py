"""Content of a map of places as JSON for the browser, and the empty folium map that receives it.

`assets/map/map.js` turns the JSON into text nodes, because folium's own markers insert names into
the source of a script. The content is sent as a feature group that is added to the existing map, so
other places, another selection or another base map neither reload the map nor lose its view.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pages.shared import place_text
from pages.shared.localization import LANGUAGE_TAGS, Language, Translator, create_translator
from research import Place, Point, RecordedPlace, Route, SearchArea, has_line_on_globe, is_on_globe, to_gcj02

if TYPE_CHECKING:
    import folium

MAX_DETAILED_PLACES = 200  # with more places, only details of the selected one are sent
DEFAULT_POSITION = (35.0, 105.0)  # latitude and longitude of the centre of an empty map
CATEGORY_COLORS = list(place_text.CATEGORY_COLORS.values())
BaseMap = Literal["none", "osm", "amap"]
OSM_ATTRIBUTION = (
    '© <a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">OpenStreetMap</a> contributors'
)
PROVIDER_ATTRIBUTIONS = {"osm": OSM_ATTRIBUTION}  # required on a map with places of the provider
MAX_PLACES = 10_000  # on one map
# Amap's tiles use the GCJ-02 datum, so points on them are converted.
TILE_LAYERS: dict[str, dict[str, Any]] = {
    "osm": {
        "url": "https://tile.openstreetmap.org/{z}/{x}/{y}.png",
        "maxZoom": 19,
        "attribution": OSM_ATTRIBUTION,
    },
    "amap": {
        "url": "https://webrd0{s}.is.autonavi.com/appmaptile?lang=zh_cn&size=1&scale=1&style=7&x={x}&y={y}&z={z}",
        "subdomains": "1234",
        "maxNativeZoom": 18,
        "maxZoom": 19,
        "attribution": "© 高德",
    },
}
SCRIPTS = ("leaflet/leaflet.js", "leaflet/leaflet.markercluster.js", "map/map.js")
STYLES = ("shell/fonts.css", "leaflet/leaflet.css", "leaflet/MarkerCluster.css", "map/map.css")
_ASSETS_URL = "../../assets/"  # relative to the iframe of the map
_EXTERNAL_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[\\/]{2})", re.I)
_TEMPLATE_OPENING = re.compile(r"\{(?=[{%#])")


def encode_script_json(value: Any) -> str:
    """Encode a value as JSON that is safe inside a script element.

    Tags could end the script, branca renders scripts as Jinja templates once more on the server,
    and streamlit-folium rewrites text that looks like one of its variable names.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.encode("utf-8", "replace").decode("utf-8")
    for mark in "<>&_\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return _TEMPLATE_OPENING.sub(r"\\u007b", text)


@dataclass(frozen=True)
class MapContent:
    """Content of a map, in the order of its place numbers. Derived data is computed once."""

    recorded_places: tuple[RecordedPlace, ...]
    search_areas: tuple[SearchArea, ...] = ()
    routes: tuple[Route, ...] = ()
    is_ordered: bool = False  # the places form a sequence, such as stops of a day
    pin: SearchArea | None = None  # point clicked by the visitor; does not move the view
    is_clickable: bool = False  # clicks beside the places are sent to the server
    base_map: BaseMap = "none"
    language: Language = "zh"

    @cached_property
    def place_ids(self) -> tuple[str, ...]:
        return tuple(item.place.id for item in self.recorded_places)

    def place_number(self, place_id: str) -> int:
        """Return the number of a place from 1, or 0 if it is not on the map."""
        return self.place_ids.index(place_id) + 1 if place_id in self.place_ids else 0

    @property
    def _providers(self) -> set[str]:
        return {item.place.provider for item in self.recorded_places}

    @cached_property
    def data(self) -> dict[str, Any]:
        """Data for map.js without its digest.

        `view` changes with the places, search areas and routes, so that the map moves to them.
        """
        translate, tiles = create_translator(self.language), TILE_LAYERS.get(self.base_map)
        is_detailed = len(self.recorded_places) <= MAX_DETAILED_PLACES
        return {
            "lang": LANGUAGE_TAGS[self.language],
            "colours": CATEGORY_COLORS,
            "points": [
                _point_data(item, self.base_map, self.language, is_detailed=is_detailed)
                for item in self.recorded_places
            ],
            "circles": [
                _circle_data(centre, self.base_map) for centre in (*self.search_areas, *filter(None, [self.pin]))
            ],
            "ways": [_route_data(route, self.base_map, translate) for route in self.routes],
            "ordered": self.is_ordered,
            "clicks": self.is_clickable,
            "credits": sorted({PROVIDER_ATTRIBUTIONS[p] for p in self._providers if p in PROVIDER_ATTRIBUTIONS}),
            "view": hash_texts(*sorted(self.place_ids), *map(repr, self.search_areas), *map(repr, self.routes)),
            "tiles": {**tiles, "lost": translate("map.lost")} if tiles else None,
        }

    @cached_property
    def data_json(self) -> str:
        """The data and its digest as JSON for a script."""
        text = encode_script_json(self.data)
        return f'{{"of":"{hash_texts(text)}",{text[1:]}'

    @property
    def digest(self) -> str:
        """Hash that identifies this content."""
        return self.data_json[7:23]

    @cached_property
    def list_rows(self) -> list[list[Any]]:
        """Category index, name and summary of each place, for list.js."""
        return [point[2:5] for point in self.data["points"]]


def select_content(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea],
    routes: Sequence[Route],
    language: Language,
    *,
    is_ordered: bool = False,
    pin: SearchArea | None = None,
    is_clickable: bool = False,
) -> MapContent:
    """Build the content of a map from what lies on the globe, with at most MAX_PLACES places."""
    return MapContent(
        tuple(item for item in recorded_places if is_on_globe(item.place))[:MAX_PLACES],
        tuple(area for area in search_areas if -180 <= area.lng <= 180 and -90 <= area.lat <= 90),
        tuple(route for route in routes if has_line_on_globe(route)),
        is_ordered or bool(routes),
        pin,
        is_clickable,
        language=language,
    )


def _point_data(
    recorded_place: RecordedPlace, base_map: BaseMap, language: Language, *, is_detailed: bool
) -> list[Any]:
    place, translate = recorded_place.place, create_translator(language)
    summary = [
        place_text.CATEGORY_NAMES.index(place_text.category(place)),
        place_text.display_name(place, language),
        place_text.summary_line(place, translate),
    ]
    details = (
        [place_text.detail_lines(place, language), place_text.place_links(recorded_place, translate)]
        if is_detailed
        else []
    )
    return [*_tile_position(place, base_map), *summary, *details]


def _circle_data(search_area: SearchArea, base_map: BaseMap) -> list[Any]:
    radius_text = place_text.format_distance(search_area.radius) if search_area.radius > 0 else ""
    name = " · ".join(filter(None, (search_area.name, radius_text)))
    return [*_tile_position(search_area, base_map), max(search_area.radius, 0), name]


def _route_data(route: Route, base_map: BaseMap, translate: Translator) -> dict[str, Any]:
    """Return the line, travel mode and labels of a route."""
    line = [_tile_position(Point(*point), base_map) for point in route.line]
    return {
        "line": line,
        "means": route.travel_mode,
        "direct": route.straight_line,
        "name": " · ".join(place_text.route_facts(route, translate)),
        "ends": f"{route.origin} → {route.destination}",
    }


def _tile_position(location: Place | SearchArea | Point, base_map: BaseMap) -> tuple[float, float]:
    """Return latitude and longitude in the datum of the tiles, rounded to a decimetre."""
    point = Point(location.lng, location.lat)
    if base_map == "amap":
        point = to_gcj02(point)
    return round(point.lat, 6), round(point.lng, 6)


def hash_texts(*texts: str) -> str:
    joined = "\x1f".join(texts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


def create_empty_map() -> folium.Map:
    """Create an empty map that loads only bundled files."""
    import folium

    empty_map = folium.Map(DEFAULT_POSITION, zoom_start=4, tiles=None, control_scale=True, maxZoom=19)
    empty_map.default_js = [(name, _ASSETS_URL + name) for name in SCRIPTS]
    empty_map.default_css = [(name, _ASSETS_URL + name) for name in STYLES]
    return empty_map


def create_layer(content: MapContent, selection: dict[str, Any] | None) -> folium.FeatureGroup:
    """Create the feature group that streamlit-folium adds to the existing map."""
    import folium
    from folium.template import Template

    class Show(folium.MacroElement):
        _template = Template(
            "{% macro script(this, kwargs) %}"
            "sightline.show(window.map, {{ this.data }}, {{ this.picked }});"
            "{% endmacro %}"
        )

        def __init__(self) -> None:
            super().__init__()
            self._name = "Show"
            self.data = content.data_json
            self.picked = encode_script_json(selection)

        def render(self, **_: Any) -> None:
            """Add nothing to the map page, where branca would read the data as a template."""

    return folium.FeatureGroup(control=False).add_child(Show())


def require_local_assets(element: Any) -> Any:
    """Return the element if it and its children load nothing from other hosts.

    Raises:
        ValueError: a script or style of an element is on another host.
    """
    for assets in (getattr(element, "default_js", ()), getattr(element, "default_css", ())):
        for _, url in assets:
            if _EXTERNAL_URL.match(url):
                raise ValueError(f"{type(element).__name__} loads {url}")
    for child in getattr(element, "_children", {}).values():
        require_local_assets(child)
    return element
