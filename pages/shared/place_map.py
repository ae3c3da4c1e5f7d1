"""Places on a map beside their list, and as files.

The map is folium's, with our own copy of Leaflet. What is drawn reaches the browser as JSON, and
`assets/map/map.js` makes text nodes of it: folium's own markers put names into the source of a script.
It comes as a feature group, which is added to the map that is there: other places, another selection
or another base map neither load the map anew nor lose the view.
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
    application,
    export_file_name,
    from_gcj02,
    has_line_on_globe,
    is_on_globe,
    places_csv,
    places_geojson,
    places_kml,
    to_gcj02,
)

if TYPE_CHECKING:
    import folium

MAX_DETAILED_PLACES = 200  # places whose details are all sent with the map; of more, those of the one picked
MAX_PLACES = 10_000  # places on one map
HEIGHT_PIXELS = 460  # pixels
DEFAULT_POSITION = (35.0, 105.0)  # where a map looks before it has anything to show
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
# How a way is called, and the sign beside it; map.css draws each in another pattern.
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
PROVIDER_ATTRIBUTIONS = {"osm": OSM_ATTRIBUTION}  # what has to stand on a map with places of a provider
# Amap's tiles are drawn in GCJ-02, and so are the points that are laid on them.
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

_ASSETS_URL = "../../assets/"  # seen from the frame of the map
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


# Words of a place


def category(place: Place) -> str:
    return place.category if place.category in CATEGORIES else "other"


def category_name(place: Place, translate: Translator = t) -> str:
    return translate(CATEGORIES[category(place)][0])


def format_figure(value: float | None) -> str:
    """A number as a person would write it: 60, not 60.0; empty if there is none."""
    return f"{value:.1f}".removesuffix(".0") if value is not None and isfinite(value) else ""


def format_distance(metres: int | None) -> str:
    if metres is None:
        return ""
    return f"{metres} m" if metres < 1000 else f"{format_figure(metres / 1000)} km"


def format_rating(place: Place) -> str:
    value = format_figure(place.rating)
    return f"★ {value}" if value else ""


def format_cost(place: Place, translate: Translator = t) -> str:
    value = format_figure(place.cost)
    return translate("map.cost", n=value) if value else ""


def display_name(place: Place, language: Language) -> str:
    """Its name, on an English page with the English one before it."""
    if language == "zh" or place.name_en in ("", place.name):
        return place.name
    return f"{place.name_en} {place.name}"


def type_name(place: Place, language: Language) -> str:
    """What the provider calls it; its own words lie in each other, the last one says most."""
    if language == "en" and place.type_en:
        return place.type_en
    return place.type.rstrip(";").rsplit(";", 1)[-1].strip()


def summary_line(place: Place, translate: Translator = t) -> str:
    """A place in half a line, as it stands in the list."""
    parts = (
        category_name(place, translate),
        format_rating(place),
        format_cost(place, translate),
        format_distance(place.distance),
        translate("map.sample") if place.sample else "",
    )
    return " · ".join(filter(None, parts))


def detail_lines(place: Place, language: Language) -> list[str]:
    """All that is known of a place but its name and its links."""
    say = create_translator(language)
    english = place.address_en if language == "en" else ""
    where = " ".join(dict.fromkeys((english, place.city, place.district, place.address)))
    figures = (format_rating(place), format_cost(place, say), format_distance(place.distance))
    found = [
        " · ".join(dict.fromkeys(filter(None, (category_name(place, say), type_name(place, language))))),
        " · ".join(filter(None, figures)),
        say("map.address", text=where.strip()) if where.strip() else "",
        say("map.hours", text=place.hours) if place.hours else "",
        say("map.phone", text=place.phone) if place.phone else "",
        say("map.sample_note") if place.sample else "",
    ]
    return [line for line in found if line]


def place_links(recorded_place: RecordedPlace, translate: Translator = t) -> list[tuple[str, str]]:
    """The place's own page and its photos, as addresses that may be opened."""
    pages = {"amap": "map.page_amap", "osm": "map.page_osm"}
    page = pages.get(recorded_place.place.provider, "map.page")
    found = [(translate(page), recorded_place.url)]
    found += [(translate("map.photo", n=at), url) for at, url in enumerate(recorded_place.place.photos[:3], start=1)]
    return [(words, url) for words, url in found if is_web_url(url)]


def is_web_url(url: str) -> bool:
    """Whether it is an address on the web, and only that."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not _UNSAFE_CHARS.search(url)
    except ValueError:
        return False


def parse_coordinates(text: str) -> tuple[float, float] | None:
    """Longitude and latitude, if a text is coordinates: latitude first, unless it can be none."""
    found = _COORDINATES.fullmatch(text)
    if not found:
        return None
    lat, lng = float(found[1]), float(found[2])
    if abs(lat) > 90 >= abs(lng):
        lat, lng = lng, lat
    return (lng, lat) if abs(lat) <= 90 and abs(lng) <= 180 else None


# What the browser is told


def encode_script_json(value: Any) -> str:
    """JSON that stays what it is inside a script, whatever the texts in it are.

    A tag could end the script; branca reads scripts as templates once more, on the server, and
    streamlit-folium rewrites what looks like one of its names.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.encode("utf-8", "replace").decode("utf-8")
    for mark in "<>&_\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return _TEMPLATE_OPENING.sub(r"\\u007b", text)


@dataclass(frozen=True)
class MapContent:
    """What lies on a map, in the order of its numbers; what is made of it is made once."""

    recorded_places: tuple[RecordedPlace, ...]
    search_areas: tuple[SearchArea, ...] = ()
    routes: tuple[Route, ...] = ()
    is_ordered: bool = False  # the places follow each other, as the stops of a day do
    pin: SearchArea | None = None  # where the visitor has clicked, which does not move the view
    is_clickable: bool = False  # a click beside the places is told
    base_map: BaseMap = "none"
    language: Language = "zh"

    @cached_property
    def place_ids(self) -> tuple[str, ...]:
        return tuple(item.place.id for item in self.recorded_places)

    def place_number(self, place_id: str) -> int:
        """The number of a place; 0 if it is not here."""
        return self.place_ids.index(place_id) + 1 if place_id in self.place_ids else 0

    @property
    def _providers(self) -> set[str]:
        return {item.place.provider for item in self.recorded_places}

    @cached_property
    def data(self) -> dict[str, Any]:
        """All that map.js needs but the digest of it; other places have another `view`."""
        say, tiles = create_translator(self.language), TILE_LAYERS.get(self.base_map)
        rich = len(self.recorded_places) <= MAX_DETAILED_PLACES
        return {
            "lang": LANGUAGE_TAGS[self.language],
            "colours": CATEGORY_COLORS,
            "points": [
                _point_data(item, self.base_map, self.language, is_detailed=rich) for item in self.recorded_places
            ],
            "circles": [
                _circle_data(centre, self.base_map) for centre in (*self.search_areas, *filter(None, [self.pin]))
            ],
            "ways": [_route_data(way, self.base_map, say) for way in self.routes],
            "ordered": self.is_ordered,
            "clicks": self.is_clickable,
            "credits": sorted({PROVIDER_ATTRIBUTIONS[p] for p in self._providers if p in PROVIDER_ATTRIBUTIONS}),
            "view": _hash_texts(*sorted(self.place_ids), *map(repr, self.search_areas), *map(repr, self.routes)),
            "tiles": {**tiles, "lost": say("map.lost")} if tiles else None,
        }

    @cached_property
    def data_json(self) -> str:
        """The data as a script may hold it."""
        text = encode_script_json(self.data)
        return f'{{"of":"{_hash_texts(text)}",{text[1:]}'

    @property
    def digest(self) -> str:
        """Tells this map from another."""
        return self.data_json[7:23]

    @cached_property
    def list_rows(self) -> list[list[Any]]:
        """The same places as list.js draws them."""
        return [point[2:5] for point in self.data["points"]]


def _point_data(
    recorded_place: RecordedPlace, base_map: BaseMap, language: Language, *, is_detailed: bool
) -> list[Any]:
    place, say = recorded_place.place, create_translator(language)
    known = [CATEGORY_NAMES.index(category(place)), display_name(place, language), summary_line(place, say)]
    more = [detail_lines(place, language), place_links(recorded_place, say)] if is_detailed else []
    return [*_tile_position(place, base_map), *known, *more]


def _circle_data(search_area: SearchArea, base_map: BaseMap) -> list[Any]:
    around = format_distance(search_area.radius) if search_area.radius > 0 else ""
    name = " · ".join(filter(None, (search_area.name, around)))
    return [*_tile_position(search_area, base_map), max(search_area.radius, 0), name]


def _route_data(route: Route, base_map: BaseMap, translate: Translator) -> dict[str, Any]:
    """The line of a way, how it is drawn, and what stands beside it."""
    line = [_tile_position(Point(*point), base_map) for point in route.line]
    return {
        "line": line,
        "means": route.means,
        "direct": route.direct,
        "name": " · ".join(route_facts(route, translate)),
        "ends": f"{route.origin} → {route.destination}",
    }


def route_facts(route: Route, translate: Translator = t) -> list[str]:
    """How a way is made, how long it is and how long it takes, as far as that is known."""
    time = format_minutes(route.seconds, translate) if route.seconds is not None else ""
    return [part for part in (translate(TRAVEL_MODES[route.means][0]), format_distance(route.metres), time) if part]


def format_minutes(seconds: int, translate: Translator = t) -> str:
    whole = max(1, round(seconds / 60))
    if whole < 60:
        return translate("places.minutes", n=whole)
    return translate("places.hours_minutes", h=whole // 60, n=whole % 60)


def _tile_position(location: Place | SearchArea | Point, base_map: BaseMap) -> tuple[float, float]:
    """Latitude and longitude as the tiles have them, to a decimetre."""
    point = Point(location.lng, location.lat)
    if base_map == "amap":
        point = to_gcj02(point)
    return round(point.lat, 6), round(point.lng, 6)


def _hash_texts(*texts: str) -> str:
    joined = "\x1f".join(texts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


# folium


def create_empty_map() -> folium.Map:
    """A map without anything on it, whose every file is served from here."""
    import folium

    found = folium.Map(DEFAULT_POSITION, zoom_start=4, tiles=None, control_scale=True, maxZoom=19)
    found.default_js = [(name, _ASSETS_URL + name) for name in SCRIPTS]
    found.default_css = [(name, _ASSETS_URL + name) for name in STYLES]
    return found


def create_layer(content: MapContent, selection: dict[str, Any] | None) -> folium.FeatureGroup:
    """What is drawn on the map, as streamlit-folium adds it to the one that is there."""
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
            """Adds nothing to the page of the map, where branca would read it as a template."""

    return folium.FeatureGroup(control=False).add_child(Show())


def require_local_assets(element: Any) -> Any:
    """The element, if it and all in it load nothing from elsewhere.

    Raises ValueError for an element of folium's whose scripts or styles lie on another host.
    """
    for links_ in (getattr(element, "default_js", ()), getattr(element, "default_css", ())):
        for _, url in links_:
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
    """Places on a map beside their list; each selects in the other, and below is what is known.

    A search that reached farther than was asked for is told above.

    With `narrow` the list is below the map, as it is on a small screen anyway.
    `ways` are drawn, and listed with their steps. With `ordered` the places stay in their order. With
    `clicks` a click beside the places is told by `clicked`, and `pin` is drawn without a new view. With `tick` the list has boxes, whose state
    `ticked` tells, and the whole page runs again when one changes; with `linked` it does so when a
    place is picked, which `picked` tells. `on_card` adds to the details.
    """
    on_globe = tuple(item for item in recorded_places if is_on_globe(item.place))
    spots = tuple(spot for spot in search_areas if _is_on_globe(spot))
    for text in widening_notes(spots):
        st.caption(escape_markdown(text))
    drawn = MapContent(
        on_globe[:MAX_PLACES],
        spots,
        tuple(way for way in routes if has_line_on_globe(way)),
        is_ordered or bool(routes),
        pin,
        is_clickable,
        language=current_language(),
    )
    _draw(drawn, key, has_checkboxes, is_narrow, reruns_page, draw_actions)
    english = {one.place.name: one.place.name_en for one in recorded_places} if current_language() == "en" else {}
    for way in routes:
        draw_route(way, english)
    if len(on_globe) > MAX_PLACES:
        st.caption(t("map.too_many", n=format_number(MAX_PLACES), all=format_number(len(on_globe))))
    if len(on_globe) < len(recorded_places):
        st.caption(t("map.nowhere", n=format_number(len(recorded_places) - len(on_globe))))


def draw_route(route: Route, english_names: Mapping[str, str]) -> None:
    """A way in a line, with its steps behind it; its ends in English where that is known."""
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
    """What is said of searches that reached farther than was asked for."""
    for spot in search_areas:
        if spot.asked:
            reach = {"asked": format_distance(spot.asked), "far": format_distance(spot.radius)}
            yield translate("map.widened", name=spot.name, **reach)


def checked_place_ids(key: str) -> set[str]:
    """The ids of the places whose boxes are set; the set may be changed."""
    found: set[str] = _map_state(key).setdefault("ticked", set())
    return found


def selected_place_id(key: str) -> str:
    """The id of the place that is picked; "" if none is."""
    found: str = _map_state(key)["picked"]
    return found


def take_clicked_point(key: str) -> Point | None:
    """The WGS-84 point that was clicked since this was asked last."""
    found: Point | None = _map_state(key).pop("clicked", None)
    return found


def select_place(key: str, place_id: str) -> None:
    """Picks a place as a click would; none with an empty id."""
    _select(_map_state(key), place_id, _now_ms())


def _select(state: dict[str, Any], place_id: str, time_ms: int) -> None:
    """`turn` is the time of the last act, a box that was set among them; `since` that of the pick,
    which is all that the map is told: it need not be drawn anew for a box."""
    state.update(picked=place_id, turn=time_ms, since=time_ms)


def _map_state(key: str) -> dict[str, Any]:
    found: dict[str, Any] = st.session_state.setdefault(
        f"on_map_{key}", {"picked": "", "turn": 0, "since": 0, "ticked": set()}
    )
    return found


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
        seen = content.recorded_places if content.is_ordered else _sort_places(content.recorded_places, key)
        content = replace(content, recorded_places=seen, base_map=_choose_base_map(key))
    if content == state.get("drawn"):
        content = state["drawn"]
    state["drawn"] = content
    left, right = (st.container(), st.container()) if is_narrow else st.columns([3, 2], gap="small")
    with left:
        _draw_map(content, key, state)
    with right:
        _draw_list(content, key, has_checkboxes, is_narrow, state)
    at = content.place_number(state["picked"])
    if at:
        _draw_card(content.recorded_places[at - 1], at, key, draw_actions)


def _sort_places(recorded_places: tuple[RecordedPlace, ...], key: str) -> tuple[RecordedPlace, ...]:
    """The places in the order that the visitor wants; what is not known comes last."""
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
    """Which tiles lie under the places; the visitor's choice holds for every map."""
    if application.get_services(owner=current_owner()).settings.map_tiles == "off":
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

    def told() -> None:
        _handle_map_event(st.session_state.get(map_key), content, state)

    st_folium(
        require_local_assets(create_empty_map()),
        key=map_key,
        height=HEIGHT_PIXELS,
        use_container_width=True,
        returned_objects=[],
        feature_group_to_add=require_local_assets(create_layer(content, _selection_data(content, state))),
        on_change=told,
    )


def _selection_data(content: MapContent, state: dict[str, Any]) -> dict[str, Any] | None:
    at = content.place_number(state["picked"])
    if not at:
        return None
    seen = content.recorded_places[at - 1]
    return {
        "n": at,
        "turn": state["since"],
        "lines": detail_lines(seen.place, content.language),
        "links": place_links(seen),
    }


def _handle_map_event(value: Any, content: MapContent, state: dict[str, Any]) -> None:
    """Takes in a click on the map. One that came before the map was drawn anew means another."""
    if not isinstance(value, dict) or value.get("of") != content.digest:
        return
    at, turn = value.get("n"), value.get("turn")
    if content.is_clickable and (point := _parse_click(value.get("at"), content.base_map)):
        state.update(clicked=point, rerun=True)
    elif isinstance(at, int) and isinstance(turn, int) and 0 < at <= len(content.recorded_places):
        _select(state, content.recorded_places[at - 1].place.id, turn)
        _request_rerun(state)


def _parse_click(value: Any, base_map: BaseMap) -> Point | None:
    """The WGS-84 point of a click, if it is one on the globe."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(part, int | float) and isfinite(part) for part in value):
        return None
    lat, lng = value
    if not (abs(lat) <= 90 and abs(lng) <= 180):
        return None
    return from_gcj02(Point(lng, lat)) if base_map == "amap" else Point(lng, lat)


def _request_rerun(state: dict[str, Any]) -> None:
    """The whole page runs again if something else on it follows what is picked."""
    if state.get("linked"):
        state["rerun"] = True


def _draw_list(content: MapContent, key: str, has_checkboxes: bool, is_narrow: bool, state: dict[str, Any]) -> None:
    list_key = f"list_{key}"
    of = _hash_texts(*content.place_ids)
    marked: set[str] = state["ticked"]

    def told() -> None:
        value = st.session_state[list_key].get("told") or {}
        if value.get("of") != of or not isinstance(value.get("turn"), int):
            return
        if "ticked" in value:
            state["turn"] = value["turn"]
            _update_checked(marked, content, value["ticked"])
            state["rerun"] = True
        elif isinstance(value.get("n"), int) and 0 < value["n"] <= len(content.recorded_places):
            _select(state, content.recorded_places[value["n"] - 1].place.id, value["turn"])
            _request_rerun(state)

    _list_component(
        data={
            "of": of,
            "rows": content.list_rows,
            "colours": CATEGORY_COLORS,
            "picked": content.place_number(state["picked"]),
            "ticked": [n for n, one in enumerate(content.place_ids, 1) if one in marked] if has_checkboxes else None,
            "turn": state["turn"],
            "height": HEIGHT_PIXELS // 2 if is_narrow else HEIGHT_PIXELS,
            "words": {"list": t("map.list"), "tick": t("map.tick")},
        },
        key=list_key,
        on_told_change=told,
    )


def _update_checked(checked_ids: set[str], content: MapContent, numbers: Any) -> None:
    """The boxes of the places on the map are as told; those of others stay as they are."""
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
    """What is known of the picked place."""
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
        when = t("map.retrieved", when=format_local_time(recorded_place.retrieved))
        st.caption(escape_markdown(f"{when} · {place.lat:.6f}, {place.lng:.6f} (WGS-84)"))
        with st.container(horizontal=True, vertical_alignment="center"):
            for n, (words, url) in enumerate(place_links(recorded_place)):
                st.link_button(
                    words,
                    url,
                    type="tertiary",
                    icon=":material/open_in_new:",
                    key=f"way_{key}_{n}",
                )
            if draw_actions:
                draw_actions(recorded_place)


def draw_report(report: Report, key: str, *, is_narrow: bool = True) -> bool:
    """The places that a run has found, with a way to take them away; False if there are none."""
    found: dict[str, RecordedPlace] = {}
    centres: dict[tuple[float, float, int], SearchArea] = {}
    for finding in report.findings:
        for spot in (*filter(None, [finding.centre]), *finding.along):
            centres.setdefault((spot.lng, spot.lat, spot.radius), spot)
        for item in finding.evidence:
            if item.place:
                found.setdefault(
                    item.place.id,
                    RecordedPlace(place=item.place, url=item.url, retrieved=item.retrieved),
                )
    for row in report.plan.grid.rows if report.plan and report.plan.grid else ():
        if row.place:
            there = RecordedPlace(place=row.place, url="", retrieved=report.run.created)
            found.setdefault(row.place.id, there)
    ways = [item.way for finding in report.findings for item in finding.evidence if item.way]
    if not found:
        return False
    seen = tuple(found.values())
    linked = any(finding.rows for finding in report.findings)  # each row of a table selects its place
    draw(seen, tuple(centres.values()), key=key, routes=ways, is_narrow=is_narrow, reruns_page=linked)
    name = export_file_name(report, "").rstrip(".")
    draw_downloads(seen, tuple(centres.values()), report.run.question, name, key=key, routes=ways)
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
    """The places and ways as files, made when they are asked for; `name` is one that we made."""
    there = [item for item in recorded_places if is_on_globe(item.place)]
    places = [item.place for item in there]
    lines_ = [way for way in routes if has_line_on_globe(way)]
    language = current_language()
    files: tuple[tuple[str, str, str, str, Callable[[], str]], ...] = (
        ("map.geojson", ".geojson", "application/geo+json", ":material/data_object:",
         lambda: places_geojson(places, routes=lines_)),
        ("map.kml", ".kml", "application/vnd.google-earth.kml+xml", ":material/public:",
         lambda: places_kml(places, title, routes=lines_)),
        ("map.csv", ".csv", "text/csv", ":material/table:", lambda: places_csv(places)),
        ("map.html", ".html", "text/html", ":material/map:",
         lambda: build_html_map(there, search_areas, title, language, routes=lines_)),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key=f"files_{key}"):
        for words, suffix, mime, icon, make in files:
            st.download_button(
                t(words),
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
    """A map with its list as one file that needs nothing else, and is allowed nothing else.

    It has no tiles: those of others are not to be had from a file on a disk.
    """
    say = create_translator(language)
    on_globe = tuple(item for item in recorded_places if is_on_globe(item.place))[:MAX_PLACES]
    spots = tuple(spot for spot in search_areas if _is_on_globe(spot))
    lines_ = tuple(way for way in routes if has_line_on_globe(way))
    drawn = MapContent(on_globe, spots, lines_, bool(lines_), language=language)
    told = {
        "map": {"of": drawn.digest, **drawn.data},
        "list": {
            "of": "",
            "rows": drawn.list_rows,
            "colours": CATEGORY_COLORS,
            "picked": 0,
            "ticked": None,
            "turn": 0,
            "words": {"list": say("map.list"), "tick": say("map.tick")},
        },
    }
    script, style = _bundle_scripts(), _bundle_styles()
    policy = (
        f"default-src 'none'; img-src data:; style-src {_csp_hash(style)}; script-src {_csp_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    heading = html.escape(" ".join(title.split()).encode("utf-8", "replace").decode())
    notes = [*widening_notes(spots, say), say("map.html_note", n=format_number(len(on_globe)))]
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
<script type="application/json" id="data">{encode_script_json(told)}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def _bundle_scripts() -> str:
    """All scripts of a map that is a file; none of them names a map of its source."""
    parts = [(ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    parts = [re.sub(r"^//# sourceMappingURL=.*$", "", part, flags=re.M) for part in parts]
    rows = (ASSETS_FOLDER / "map" / "list.js").read_text(encoding="utf-8")
    rows = rows.replace("export default", "sightline.list =")
    start = (ASSETS_FOLDER / "map" / "file.js").read_text(encoding="utf-8")
    return "\n".join([*parts, f"(() => {{\n{rows}\n}})();", start])


@lru_cache(maxsize=1)
def _bundle_styles() -> str:
    names = (*STYLES, "map/list.css", "map/file.css")
    text = "\n".join((ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"url\([^)]*\)", "none", text)  # pictures of controls that are not used here


def _csp_hash(text: str) -> str:
    """As a content security policy names what may run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
