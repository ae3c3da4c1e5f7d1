"""Places on a map beside a list of them, and as files.

The map is drawn by folium with a bundled copy of Leaflet. Its data reaches the browser as JSON,
which `assets/map/map.js` turns into text nodes, because folium's own markers insert names into the
source of a script. The data is sent as a feature group that is added to the existing map, so other
places, another selection or another base map neither reload the map nor lose its view.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import (
    LANGUAGE_TAGS,
    Language,
    Translator,
    create_translator,
    current_language,
    format_local_time,
    format_number,
    t,
)
from pages.shared.login import current_owner
from pages.shared.paths import ASSETS_FOLDER
from research import (
    Place,
    Point,
    RecordedPlace,
    Report,
    Route,
    SearchArea,
    export_file_name,
    from_gcj02,
    get_application,
    has_line_on_globe,
    is_on_globe,
    places_csv,
    places_geojson,
    places_kml,
    to_gcj02,
)

if TYPE_CHECKING:
    import folium

MAX_DETAILED_PLACES = 200  # with more places, only details of the selected one are sent
MAX_PLACES = 10_000  # on one map
HEIGHT_PIXELS = 460
DEFAULT_POSITION = (35.0, 105.0)  # latitude and longitude of the centre of an empty map
CATEGORIES = {
    "food": ("map.food", "#b8420f"),
    "sight": ("map.sight", "#2f7d32"),
    "family": ("map.family", "#b02a6b"),
    "shop": ("map.shop", "#7545b5"),
    "hotel": ("map.hotel", "#2f57c4"),
    "transport": ("map.transport", "#0b7285"),
    "culture": ("map.culture", "#8a6410"),
    "other": ("map.other", "#59646b"),
}
CATEGORY_NAMES = tuple(CATEGORIES)
CATEGORY_COLORS = [colour for _, colour in CATEGORIES.values()]
SORT_ORDERS = {
    "given": "map.sort.given",
    "distance": "map.sort.distance",
    "rating": "map.sort.rating",
    "cost": "map.sort.cost",
    "name": "map.sort.name",
}
# Label and icon of each travel mode; map.css draws each in another pattern.
TRAVEL_MODES = {
    "walking": ("map.walking", ":material/directions_walk:"),
    "bicycling": ("map.bicycling", ":material/directions_bike:"),
    "driving": ("map.driving", ":material/directions_car:"),
    "transit": ("map.transit", ":material/directions_transit:"),
    "straight": ("map.straight", ":material/straighten:"),
}
BASE_MAPS = {"none": "map.base.none", "osm": "map.base.osm", "amap": "map.base.amap"}
BaseMap = Literal["none", "osm", "amap"]
OSM_ATTRIBUTION = (
    '© <a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">OpenStreetMap</a> contributors'
)
PROVIDER_ATTRIBUTIONS = {"osm": OSM_ATTRIBUTION}  # required on a map with places of the provider
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
STYLES = (
    "shell/fonts.css",
    "leaflet/leaflet.css",
    "leaflet/MarkerCluster.css",
    "map/map.css",
)

_ASSETS_URL = "../../assets/"  # relative to the iframe of the map
_EXTERNAL_URL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[\\/]{2})", re.I)
_TEMPLATE_OPENING = re.compile(r"\{(?=[{%#])")
_DEGREES = r"([+-]?\d{1,3}(?:\.\d+)?)\s*°?"
_COORDINATES = re.compile(rf"\s*[(（\[]?\s*{_DEGREES}\s*(?:[,，、;；]|\s)\s*{_DEGREES}\s*[)）\]]?\s*")
_UNSAFE_CHARS = re.compile(r"[\s\x00-\x20\\\x7f]")
_list_component = st.components.v2.component(
    "sightline_places",
    html='<div class="sl-places"></div>',
    css=(ASSETS_FOLDER / "map" / "list.css").read_text(encoding="utf-8"),
    js=(ASSETS_FOLDER / "map" / "list.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


# Texts of a place


def category(place: Place) -> str:
    """Return the category of a place; an unknown one counts as "other"."""
    return place.category if place.category in CATEGORIES else "other"


def category_name(place: Place, translate: Translator = t) -> str:
    """Return the localised category of a place."""
    return translate(CATEGORIES[category(place)][0])


def format_figure(value: float | None) -> str:
    """Format a number with at most one decimal place: 60, not 60.0.

    None, NaN and infinity give an empty string.
    """
    return f"{value:.1f}".removesuffix(".0") if value is not None and isfinite(value) else ""


def format_distance(metres: int | None) -> str:
    """Format metres as m or km; empty for None."""
    if metres is None:
        return ""
    return f"{metres} m" if metres < 1000 else f"{format_figure(metres / 1000)} km"


def format_rating(place: Place) -> str:
    """Format the rating of a place, such as ★ 4.5; empty without one."""
    value = format_figure(place.rating)
    return f"★ {value}" if value else ""


def format_cost(place: Place, translate: Translator = t) -> str:
    """Format the cost of a place; empty without one."""
    value = format_figure(place.cost)
    return translate("map.cost", n=value) if value else ""


def display_name(place: Place, language: Language) -> str:
    """Return the name of a place, on an English page preceded by its English name."""
    if language == "zh" or place.name_en in ("", place.name):
        return place.name
    return f"{place.name_en} {place.name}"


def type_name(place: Place, language: Language) -> str:
    """Return the type of a place as named by its provider.

    Chinese types are paths separated by semicolons, of which the last and most specific part is
    used.
    """
    if language == "en" and place.type_en:
        return place.type_en
    return place.type.rstrip(";").rsplit(";", 1)[-1].strip()


def summary_line(place: Place, translate: Translator = t) -> str:
    """Return one line on a place for the list: category, rating, cost, distance."""
    parts = (
        category_name(place, translate),
        format_rating(place),
        format_cost(place, translate),
        format_distance(place.distance),
        translate("map.sample") if place.sample else "",
    )
    return " · ".join(filter(None, parts))


def detail_lines(place: Place, language: Language) -> list[str]:
    """Return the lines of details of a place, without its name and links."""
    translate = create_translator(language)
    english = place.address_en if language == "en" else ""
    address = " ".join(dict.fromkeys((english, place.city, place.district, place.address)))
    figures = (format_rating(place), format_cost(place, translate), format_distance(place.distance))
    lines = [
        " · ".join(dict.fromkeys(filter(None, (category_name(place, translate), type_name(place, language))))),
        " · ".join(filter(None, figures)),
        translate("map.address", text=address.strip()) if address.strip() else "",
        translate("map.hours", text=place.hours) if place.hours else "",
        translate("map.phone", text=place.phone) if place.phone else "",
        translate("map.sample_note") if place.sample else "",
    ]
    return [line for line in lines if line]


def place_links(recorded_place: RecordedPlace, translate: Translator = t) -> list[tuple[str, str]]:
    """Return label and URL of the page and up to three photos of a place; only safe web URLs."""
    pages = {"amap": "map.page_amap", "osm": "map.page_osm"}
    page = pages.get(recorded_place.place.provider, "map.page")
    links = [(translate(page), recorded_place.url)]
    links += [
        (translate("map.photo", n=number), url) for number, url in enumerate(recorded_place.place.photos[:3], start=1)
    ]
    return [(label, url) for label, url in links if is_web_url(url)]


def is_web_url(url: str) -> bool:
    """Return True for an http(s) URL with a host and without spaces or control characters."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not _UNSAFE_CHARS.search(url)
    except ValueError:
        return False


def parse_coordinates(text: str) -> tuple[float, float] | None:
    """Parse a text of two coordinates in degrees; return longitude and latitude, or None.

    Latitude is expected first, unless it exceeds 90 degrees.
    """
    match = _COORDINATES.fullmatch(text)
    if not match:
        return None
    lat, lng = float(match[1]), float(match[2])
    if abs(lat) > 90 >= abs(lng):
        lat, lng = lng, lat
    return (lng, lat) if abs(lat) <= 90 and abs(lng) <= 180 else None


# Data for the browser


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
            "view": _hash_texts(*sorted(self.place_ids), *map(repr, self.search_areas), *map(repr, self.routes)),
            "tiles": {**tiles, "lost": translate("map.lost")} if tiles else None,
        }

    @cached_property
    def data_json(self) -> str:
        """The data and its digest as JSON for a script."""
        text = encode_script_json(self.data)
        return f'{{"of":"{_hash_texts(text)}",{text[1:]}'

    @property
    def digest(self) -> str:
        """Hash that identifies this content."""
        return self.data_json[7:23]

    @cached_property
    def list_rows(self) -> list[list[Any]]:
        """Category index, name and summary of each place, for list.js."""
        return [point[2:5] for point in self.data["points"]]


def _point_data(
    recorded_place: RecordedPlace, base_map: BaseMap, language: Language, *, is_detailed: bool
) -> list[Any]:
    place, translate = recorded_place.place, create_translator(language)
    summary = [CATEGORY_NAMES.index(category(place)), display_name(place, language), summary_line(place, translate)]
    details = [detail_lines(place, language), place_links(recorded_place, translate)] if is_detailed else []
    return [*_tile_position(place, base_map), *summary, *details]


def _circle_data(search_area: SearchArea, base_map: BaseMap) -> list[Any]:
    radius_text = format_distance(search_area.radius) if search_area.radius > 0 else ""
    name = " · ".join(filter(None, (search_area.name, radius_text)))
    return [*_tile_position(search_area, base_map), max(search_area.radius, 0), name]


def _route_data(route: Route, base_map: BaseMap, translate: Translator) -> dict[str, Any]:
    """Return the line, travel mode and labels of a route."""
    line = [_tile_position(Point(*point), base_map) for point in route.line]
    return {
        "line": line,
        "means": route.means,
        "direct": route.direct,
        "name": " · ".join(route_facts(route, translate)),
        "ends": f"{route.origin} → {route.destination}",
    }


def route_facts(route: Route, translate: Translator = t) -> list[str]:
    """Return travel mode, length and duration of a route, as far as known."""
    time = format_minutes(route.seconds, translate) if route.seconds is not None else ""
    return [part for part in (translate(TRAVEL_MODES[route.means][0]), format_distance(route.metres), time) if part]


def format_minutes(seconds: int, translate: Translator = t) -> str:
    """Format seconds as minutes or as hours and minutes; at least one minute."""
    whole = max(1, round(seconds / 60))
    if whole < 60:
        return translate("places.minutes", n=whole)
    return translate("places.hours_minutes", h=whole // 60, n=whole % 60)


def _tile_position(location: Place | SearchArea | Point, base_map: BaseMap) -> tuple[float, float]:
    """Return latitude and longitude in the datum of the tiles, rounded to a decimetre."""
    point = Point(location.lng, location.lat)
    if base_map == "amap":
        point = to_gcj02(point)
    return round(point.lat, 6), round(point.lng, 6)


def _hash_texts(*texts: str) -> str:
    joined = "\x1f".join(texts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


# folium


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


# The page


def draw(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea] = (),
    *,
    key: str,
    routes: Sequence[Route] = (),
    is_ordered: bool = False,
    pin: SearchArea | None = None,
    is_clickable: bool = False,
    has_checkboxes: bool = False,
    is_narrow: bool = False,
    reruns_page: bool = False,
    draw_actions: Callable[[RecordedPlace], None] | None = None,
) -> None:
    """Draw places on a map beside their list, with the details of the selected place below.

    Selecting a place on the map selects it in the list, and vice versa. A note above names searches
    that had to be widened.

    Args:
        routes: Routes to draw and to list with their steps.
        is_ordered: Keep the order of the places; also the case with routes.
        pin: Point to draw without moving the view.
        is_clickable: Make clicks beside the places available from `take_clicked_point`.
        has_checkboxes: Draw boxes in the list (`checked_place_ids`). A change reruns the page.
        is_narrow: Draw the list below the map, as on a small screen.
        reruns_page: Rerun the page when a place is selected, see `selected_place_id`.
        draw_actions: Draws additional widgets below the details.
    """
    on_globe = tuple(item for item in recorded_places if is_on_globe(item.place))
    areas_on_globe = tuple(area for area in search_areas if _is_on_globe(area))
    for text in widening_notes(areas_on_globe):
        st.caption(escape_markdown(text))
    content = MapContent(
        on_globe[:MAX_PLACES],
        areas_on_globe,
        tuple(route for route in routes if has_line_on_globe(route)),
        is_ordered or bool(routes),
        pin,
        is_clickable,
        language=current_language(),
    )
    _draw(content, key, has_checkboxes, is_narrow, reruns_page, draw_actions)
    english_names = (
        {entry.place.name: entry.place.name_en for entry in recorded_places} if current_language() == "en" else {}
    )
    for route in routes:
        draw_route(route, english_names)
    if len(on_globe) > MAX_PLACES:
        st.caption(t("map.too_many", n=format_number(MAX_PLACES), all=format_number(len(on_globe))))
    if len(on_globe) < len(recorded_places):
        st.caption(t("map.nowhere", n=format_number(len(recorded_places) - len(on_globe))))


def draw_route(route: Route, english_names: Mapping[str, str]) -> None:
    """Draw a route in one line, its steps folded, with English names of its ends where known."""
    name, icon = TRAVEL_MODES[route.means][0], TRAVEL_MODES[route.means][1]
    notes = [*route_facts(route)[1:], t("map.direct") if route.direct and route.means != "straight" else ""]
    ends = " → ".join(english_names.get(end) or end for end in (route.origin, route.destination))
    text = f"{t(name)}: {ends} · {' · '.join(filter(None, notes))}"
    if not route.steps:
        st.markdown(f"{icon} {escape_markdown(text, 400)}")
        return
    with st.expander(escape_markdown(text, 400), icon=icon):
        st.markdown("\n".join(f"{n}. {escape_markdown(step, 300)}" for n, step in enumerate(route.steps, 1)))


def _is_on_globe(search_area: SearchArea) -> bool:
    return -180 <= search_area.lng <= 180 and -90 <= search_area.lat <= 90


def widening_notes(search_areas: Sequence[SearchArea], translate: Translator = t) -> Iterator[str]:
    """Yield a note for each search that reached farther than requested."""
    for area in search_areas:
        if area.asked:
            distances = {"asked": format_distance(area.asked), "far": format_distance(area.radius)}
            yield translate("map.widened", name=area.name, **distances)


def checked_place_ids(key: str) -> set[str]:
    """Return the ids of the places with a checked box. Changes to the set take effect."""
    place_ids: set[str] = _map_state(key).setdefault("ticked", set())
    return place_ids


def selected_place_id(key: str) -> str:
    """Return the id of the selected place, or an empty string."""
    place_id: str = _map_state(key)["picked"]
    return place_id


def take_clicked_point(key: str) -> Point | None:
    """Return the WGS-84 point clicked since the last call, or None, and forget it."""
    point: Point | None = _map_state(key).pop("clicked", None)
    return point


def select_place(key: str, place_id: str) -> None:
    """Select a place as a click would; an empty id clears the selection."""
    _select(_map_state(key), place_id, _now_ms())


def _select(state: dict[str, Any], place_id: str, time_ms: int) -> None:
    """Select a place at a time in milliseconds.

    `turn` is the time of the last action, including changes of checkboxes; `since` is that of the
    selection. The map gets only `since`, so that a checkbox does not redraw it.
    """
    state.update(picked=place_id, turn=time_ms, since=time_ms)


def _map_state(key: str) -> dict[str, Any]:
    state: dict[str, Any] = st.session_state.setdefault(
        f"on_map_{key}", {"picked": "", "turn": 0, "since": 0, "ticked": set()}
    )
    return state


def _now_ms() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)


@st.fragment
def _draw(
    content: MapContent,
    key: str,
    has_checkboxes: bool,
    is_narrow: bool,
    reruns_page: bool,
    draw_actions: Callable[[RecordedPlace], None] | None,
) -> None:
    state = _map_state(key)
    state["linked"] = reruns_page
    if state.pop("rerun", False):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        places = content.recorded_places if content.is_ordered else _sort_places(content.recorded_places, key)
        content = replace(content, recorded_places=places, base_map=_choose_base_map(key))
    if content == state.get("drawn"):
        content = state["drawn"]
    state["drawn"] = content
    left, right = (st.container(), st.container()) if is_narrow else st.columns([3, 2], gap="small")
    with left:
        _draw_map(content, key, state)
    with right:
        _draw_list(content, key, has_checkboxes, is_narrow, state)
    number = content.place_number(state["picked"])
    if number:
        _draw_card(content.recorded_places[number - 1], number, key, draw_actions)


def _sort_places(recorded_places: tuple[RecordedPlace, ...], key: str) -> tuple[RecordedPlace, ...]:
    """Draw a choice of the order and return the sorted places; unknown values come last."""
    order = st.selectbox(
        t("map.sort"),
        list(SORT_ORDERS),
        format_func={name: t(words) for name, words in SORT_ORDERS.items()}.__getitem__,
        key=f"sort_{key}",
        label_visibility="collapsed",
        width=220,
    )
    return tuple(sorted(recorded_places, key=lambda item: _sort_key(item.place, order)))


def _sort_key(place: Place, order: str) -> tuple[bool, Any]:
    if order == "name":
        return False, place.name
    value: float | None = None if order == "given" else getattr(place, order)
    if value is None or not isfinite(value):
        return True, 0
    return False, -value if order == "rating" else value


def _choose_base_map(key: str) -> BaseMap:
    """Draw a choice of the base map and return it. The visitor's choice applies to all maps."""
    if get_application().services_for(current_owner()).settings.map_tiles == "off":
        return "none"
    own_key = f"base_{key}"
    st.session_state[own_key] = st.session_state.get("base_map", "osm")
    chosen: BaseMap = st.segmented_control(
        t("map.base"),
        list(BASE_MAPS),
        format_func={name: t(words) for name, words in BASE_MAPS.items()}.__getitem__,
        key=own_key,
        required=True,
        label_visibility="collapsed",
        on_change=lambda: st.session_state.update(base_map=st.session_state[own_key]),
    )
    return chosen


def _draw_map(content: MapContent, key: str, state: dict[str, Any]) -> None:
    from streamlit_folium import st_folium

    map_key = f"map_{key}"

    def handle_change() -> None:
        _handle_map_event(st.session_state.get(map_key), content, state)

    st_folium(
        require_local_assets(create_empty_map()),
        key=map_key,
        height=HEIGHT_PIXELS,
        use_container_width=True,
        returned_objects=[],
        feature_group_to_add=require_local_assets(create_layer(content, _selection_data(content, state))),
        on_change=handle_change,
    )


def _selection_data(content: MapContent, state: dict[str, Any]) -> dict[str, Any] | None:
    number = content.place_number(state["picked"])
    if not number:
        return None
    selected = content.recorded_places[number - 1]
    return {
        "n": number,
        "turn": state["since"],
        "lines": detail_lines(selected.place, content.language),
        "links": place_links(selected),
    }


def _handle_map_event(value: Any, content: MapContent, state: dict[str, Any]) -> None:
    """Handle a click on the map.

    A click from before the last change of content is ignored, since its number may mean another
    place.
    """
    if not isinstance(value, dict) or value.get("of") != content.digest:
        return
    number, turn = value.get("n"), value.get("turn")
    if content.is_clickable and (point := _parse_click(value.get("at"), content.base_map)):
        state.update(clicked=point, rerun=True)
    elif isinstance(number, int) and isinstance(turn, int) and 0 < number <= len(content.recorded_places):
        _select(state, content.recorded_places[number - 1].place.id, turn)
        _request_rerun(state)


def _parse_click(value: Any, base_map: BaseMap) -> Point | None:
    """Return the WGS-84 point of a click, or None if it is not on the globe."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(part, int | float) and isfinite(part) for part in value):
        return None
    lat, lng = value
    if not (abs(lat) <= 90 and abs(lng) <= 180):
        return None
    return from_gcj02(Point(lng, lat)) if base_map == "amap" else Point(lng, lat)


def _request_rerun(state: dict[str, Any]) -> None:
    """Request a rerun of the page if other parts of it depend on the selection."""
    if state.get("linked"):
        state["rerun"] = True


def _draw_list(content: MapContent, key: str, has_checkboxes: bool, is_narrow: bool, state: dict[str, Any]) -> None:
    list_key = f"list_{key}"
    list_digest = _hash_texts(*content.place_ids)
    checked_ids: set[str] = state["ticked"]

    def handle_change() -> None:
        value = st.session_state[list_key].get("told") or {}
        if value.get("of") != list_digest or not isinstance(value.get("turn"), int):
            return
        if "ticked" in value:
            state["turn"] = value["turn"]
            _update_checked(checked_ids, content, value["ticked"])
            state["rerun"] = True
        elif isinstance(value.get("n"), int) and 0 < value["n"] <= len(content.recorded_places):
            _select(state, content.recorded_places[value["n"] - 1].place.id, value["turn"])
            _request_rerun(state)

    _list_component(
        data={
            "of": list_digest,
            "rows": content.list_rows,
            "colours": CATEGORY_COLORS,
            "picked": content.place_number(state["picked"]),
            "ticked": [n for n, place_id in enumerate(content.place_ids, 1) if place_id in checked_ids]
            if has_checkboxes
            else None,
            "turn": state["turn"],
            "height": HEIGHT_PIXELS // 2 if is_narrow else HEIGHT_PIXELS,
            "words": {"list": t("map.list"), "tick": t("map.tick")},
        },
        key=list_key,
        on_told_change=handle_change,
    )


def _update_checked(checked_ids: set[str], content: MapContent, numbers: Any) -> None:
    """Update the checked ids of the places on the map; ids of other places stay unchanged."""
    numbers = numbers if isinstance(numbers, list) else []
    checked_ids.difference_update(content.place_ids)
    checked_ids.update(
        content.recorded_places[n - 1].place.id
        for n in numbers
        if isinstance(n, int) and 0 < n <= len(content.recorded_places)
    )


def _draw_card(
    recorded_place: RecordedPlace, place_number: int, key: str, draw_actions: Callable[[RecordedPlace], None] | None
) -> None:
    """Draw the details of the selected place."""
    place = recorded_place.place
    with st.container(border=True, key=f"card_{key}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{place_number} · {escape_markdown(display_name(place, current_language()), 200)}**", width="content"
            )
            st.badge(category_name(place), color="gray")
            if place.sample:
                st.badge(t("map.sample"), color="orange")
        st.markdown("  \n".join(escape_markdown(line, 400) for line in detail_lines(place, current_language())))
        retrieved_text = t("map.retrieved", when=format_local_time(recorded_place.retrieved))
        st.caption(escape_markdown(f"{retrieved_text} · {place.lat:.6f}, {place.lng:.6f} (WGS-84)"))
        with st.container(horizontal=True, vertical_alignment="center"):
            for n, (label, url) in enumerate(place_links(recorded_place)):
                st.link_button(
                    label,
                    url,
                    type="tertiary",
                    icon=":material/open_in_new:",
                    key=f"way_{key}_{n}",
                )
            if draw_actions:
                draw_actions(recorded_place)


def draw_report(report: Report, key: str, *, is_narrow: bool = True) -> bool:
    """Draw the places found by a run, with downloads; return False if there are none."""
    places_by_id: dict[str, RecordedPlace] = {}
    areas: dict[tuple[float, float, int], SearchArea] = {}
    for finding in report.findings:
        for area in (*filter(None, [finding.centre]), *finding.along):
            areas.setdefault((area.lng, area.lat, area.radius), area)
        for item in finding.evidence:
            if item.place:
                places_by_id.setdefault(
                    item.place.id,
                    RecordedPlace(place=item.place, url=item.url, retrieved=item.retrieved),
                )
    for row in report.plan.grid.rows if report.plan and report.plan.grid else ():
        if row.place:
            recorded_place = RecordedPlace(place=row.place, url="", retrieved=report.run.created)
            places_by_id.setdefault(row.place.id, recorded_place)
    routes = [item.way for finding in report.findings for item in finding.evidence if item.way]
    if not places_by_id:
        return False
    places = tuple(places_by_id.values())
    has_rows = any(finding.rows for finding in report.findings)  # rows select their places
    draw(places, tuple(areas.values()), key=key, routes=routes, is_narrow=is_narrow, reruns_page=has_rows)
    name = export_file_name(report, "").rstrip(".")
    draw_downloads(places, tuple(areas.values()), report.run.question, name, key=key, routes=routes)
    return True


# Files


def draw_downloads(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea],
    title: str,
    file_stem: str,
    *,
    key: str,
    routes: Sequence[Route] = (),
) -> None:
    """Draw download buttons for places and routes.

    `file_stem` is a generated file name without its suffix.
    """
    on_globe = [item for item in recorded_places if is_on_globe(item.place)]
    places = [item.place for item in on_globe]
    routes_on_globe = [route for route in routes if has_line_on_globe(route)]
    language = current_language()
    files: tuple[tuple[str, str, str, str, Callable[[], str]], ...] = (
        ("map.geojson", ".geojson", "application/geo+json", ":material/data_object:",
         lambda: places_geojson(places, routes=routes_on_globe)),
        ("map.kml", ".kml", "application/vnd.google-earth.kml+xml", ":material/public:",
         lambda: places_kml(places, title, routes=routes_on_globe)),
        ("map.csv", ".csv", "text/csv", ":material/table:", lambda: places_csv(places)),
        ("map.html", ".html", "text/html", ":material/map:",
         lambda: build_html_map(on_globe, search_areas, title, language, routes=routes_on_globe)),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key=f"files_{key}"):
        for label_key, suffix, mime, icon, make in files:
            st.download_button(
                t(label_key),
                _encode_result(make),
                file_name=f"{file_stem}{suffix}",
                mime=mime,
                key=f"download{suffix.replace('.', '_')}_{key}",
                on_click="ignore",
                icon=icon,
                disabled=not places,
            )


def _encode_result(make_text: Callable[[], str]) -> Callable[[], bytes]:
    return lambda: make_text().encode("utf-8", "replace")


def build_html_map(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea],
    title: str,
    language: Language,
    *,
    routes: Sequence[Route] = (),
) -> str:
    """Build a map with its list as one HTML file that loads nothing else.

    It has no tiles, since tile servers do not serve a page opened from a disk.
    """
    translate = create_translator(language)
    on_globe = tuple(item for item in recorded_places if is_on_globe(item.place))[:MAX_PLACES]
    areas_on_globe = tuple(area for area in search_areas if _is_on_globe(area))
    routes_on_globe = tuple(route for route in routes if has_line_on_globe(route))
    content = MapContent(on_globe, areas_on_globe, routes_on_globe, bool(routes_on_globe), language=language)
    data = {
        "map": {"of": content.digest, **content.data},
        "list": {
            "of": "",
            "rows": content.list_rows,
            "colours": CATEGORY_COLORS,
            "picked": 0,
            "ticked": None,
            "turn": 0,
            "words": {"list": translate("map.list"), "tick": translate("map.tick")},
        },
    }
    script, style = _bundle_scripts(), _bundle_styles()
    policy = (
        f"default-src 'none'; img-src data:; style-src {_csp_hash(style)}; script-src {_csp_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    heading = html.escape(" ".join(title.split()).encode("utf-8", "replace").decode())
    notes = [*widening_notes(areas_on_globe, translate), translate("map.html_note", n=format_number(len(on_globe)))]
    return f"""<!doctype html>
<html lang="{LANGUAGE_TAGS[language]}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>{style}</style>
</head>
<body>
<h1 dir="auto">{heading}</h1>
<p>{html.escape(" ".join(notes).encode("utf-8", "replace").decode())}</p>
<main><div id="map"></div><div id="list"><div class="sl-places"></div></div></main>
<script type="application/json" id="data">{encode_script_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def _bundle_scripts() -> str:
    """Return all scripts of the HTML map, without references to source maps."""
    parts = [(ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    parts = [re.sub(r"^//# sourceMappingURL=.*$", "", part, flags=re.M) for part in parts]
    list_script = (ASSETS_FOLDER / "map" / "list.js").read_text(encoding="utf-8")
    list_script = list_script.replace("export default", "sightline.list =")
    start_script = (ASSETS_FOLDER / "map" / "file.js").read_text(encoding="utf-8")
    return "\n".join([*parts, f"(() => {{\n{list_script}\n}})();", start_script])


@lru_cache(maxsize=1)
def _bundle_styles() -> str:
    names = (*STYLES, "map/list.css", "map/file.css")
    text = "\n".join((ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"url\([^)]*\)", "none", text)  # images of unused controls


def _csp_hash(text: str) -> str:
    """Return the hash of an inline script or style as a source of a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
