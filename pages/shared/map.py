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

from pages.shared.files import ASSETS
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import CODES, Lang, Say, lang, local_time, number, speaker, t
from research import (
    Centre,
    Place,
    Point,
    Report,
    Sighting,
    Way,
    application,
    file_name,
    from_gcj02,
    geojson,
    kml,
    lined,
    located,
    places_csv,
    to_gcj02,
)

if TYPE_CHECKING:
    import folium

RICH = 200  # places whose details are all sent with the map; of more, those of the one picked
MOST = 10_000  # places on one map
HEIGHT = 460  # pixels
HERE = (35.0, 105.0)  # where a map looks before it has anything to show
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
KINDS = tuple(CATEGORIES)
COLOURS = [colour for _, colour in CATEGORIES.values()]
SORTS = {
    "given": "map.sort.given",
    "distance": "map.sort.distance",
    "rating": "map.sort.rating",
    "cost": "map.sort.cost",
    "name": "map.sort.name",
}
# How a way is called, and the sign beside it; map.css draws each in another pattern.
MEANS = {
    "walking": ("map.walking", ":material/directions_walk:"),
    "bicycling": ("map.bicycling", ":material/directions_bike:"),
    "driving": ("map.driving", ":material/directions_car:"),
    "transit": ("map.transit", ":material/directions_transit:"),
    "straight": ("map.straight", ":material/straighten:"),
}
BASES = {"none": "map.base.none", "osm": "map.base.osm", "amap": "map.base.amap"}
Base = Literal["none", "osm", "amap"]
OPENSTREETMAP = (
    '© <a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">'
    "OpenStreetMap</a> contributors"
)
CREDITED = {"osm": OPENSTREETMAP}  # what has to stand on a map with places of a provider
# Amap's tiles are drawn in GCJ-02, and so are the points that are laid on them.
TILES: dict[str, dict[str, Any]] = {
    "osm": {
        "url": "https://tile.openstreetmap.org/{z}/{x}/{y}.png",
        "maxZoom": 19,
        "attribution": OPENSTREETMAP,
    },
    "amap": {
        "url": "https://webrd0{s}.is.autonavi.com/appmaptile"
        "?lang=zh_cn&size=1&scale=1&style=7&x={x}&y={y}&z={z}",
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

_SERVED = "../../assets/"  # seen from the frame of the map
_FOREIGN = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[\\/]{2})", re.I)
_TEMPLATE = re.compile(r"\{(?=[{%#])")
_NUMBER = r"([+-]?\d{1,3}(?:\.\d+)?)\s*°?"
_POINT = re.compile(rf"\s*[(（\[]?\s*{_NUMBER}\s*(?:[,，、;；]|\s)\s*{_NUMBER}\s*[)）\]]?\s*")
_UNSAFE = re.compile(r"[\s\x00-\x20\\\x7f]")
_list = st.components.v2.component(
    "sightline_places",
    html='<div class="sl-places"></div>',
    css=(ASSETS / "map" / "list.css").read_text(encoding="utf-8"),
    js=(ASSETS / "map" / "list.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


# Words of a place


def category(place: Place) -> str:
    return place.category if place.category in CATEGORIES else "other"


def category_name(place: Place, say: Say = t) -> str:
    return say(CATEGORIES[category(place)][0])


def figure(value: float | None) -> str:
    """A number as a person would write it: 60, not 60.0; empty if there is none."""
    return f"{value:.1f}".removesuffix(".0") if value is not None and isfinite(value) else ""


def distance(metres: int | None) -> str:
    if metres is None:
        return ""
    return f"{metres} m" if metres < 1000 else f"{figure(metres / 1000)} km"


def rating(place: Place) -> str:
    value = figure(place.rating)
    return f"★ {value}" if value else ""


def cost(place: Place, say: Say = t) -> str:
    value = figure(place.cost)
    return say("map.cost", n=value) if value else ""


def name(place: Place, language: Lang) -> str:
    """Its name, on an English page with the English one before it."""
    if language == "zh" or place.name_en in ("", place.name):
        return place.name
    return f"{place.name_en} {place.name}"


def kind(place: Place, language: Lang) -> str:
    """What the provider calls it; its own words lie in each other, the last one says most."""
    if language == "en" and place.type_en:
        return place.type_en
    return place.type.rstrip(";").rsplit(";", 1)[-1].strip()


def note(place: Place, say: Say = t) -> str:
    """A place in half a line, as it stands in the list."""
    parts = (
        category_name(place, say),
        rating(place),
        cost(place, say),
        distance(place.distance),
        say("map.sample") if place.sample else "",
    )
    return " · ".join(filter(None, parts))


def lines(place: Place, language: Lang) -> list[str]:
    """All that is known of a place but its name and its links."""
    say = speaker(language)
    english = place.address_en if language == "en" else ""
    where = " ".join(dict.fromkeys((english, place.city, place.district, place.address)))
    figures = (rating(place), cost(place, say), distance(place.distance))
    found = [
        " · ".join(dict.fromkeys(filter(None, (category_name(place, say), kind(place, language))))),
        " · ".join(filter(None, figures)),
        say("map.address", text=where.strip()) if where.strip() else "",
        say("map.hours", text=place.hours) if place.hours else "",
        say("map.phone", text=place.phone) if place.phone else "",
        say("map.sample_note") if place.sample else "",
    ]
    return [line for line in found if line]


def links(seen: Sighting, say: Say = t) -> list[tuple[str, str]]:
    """The place's own page and its photos, as addresses that may be opened."""
    pages = {"amap": "map.page_amap", "osm": "map.page_osm"}
    page = pages.get(seen.place.provider, "map.page")
    found = [(say(page), seen.url)]
    found += [
        (say("map.photo", n=at), url) for at, url in enumerate(seen.place.photos[:3], start=1)
    ]
    return [(words, url) for words, url in found if openable(url)]


def openable(url: str) -> bool:
    """Whether it is an address on the web, and only that."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and not _UNSAFE.search(url)
        )
    except ValueError:
        return False


def coordinates(text: str) -> tuple[float, float] | None:
    """Longitude and latitude, if a text is coordinates: latitude first, unless it can be none."""
    found = _POINT.fullmatch(text)
    if not found:
        return None
    lat, lng = float(found[1]), float(found[2])
    if abs(lat) > 90 >= abs(lng):
        lat, lng = lng, lat
    return (lng, lat) if abs(lat) <= 90 and abs(lng) <= 180 else None


# What the browser is told


def script_json(value: Any) -> str:
    """JSON that stays what it is inside a script, whatever the texts in it are.

    A tag could end the script; branca reads scripts as templates once more, on the server, and
    streamlit-folium rewrites what looks like one of its names.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.encode("utf-8", "replace").decode("utf-8")
    for mark in "<>&_\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return _TEMPLATE.sub(r"\\u007b", text)


@dataclass(frozen=True)
class Drawn:
    """What lies on a map, in the order of its numbers; what is made of it is made once."""

    seen: tuple[Sighting, ...]
    centres: tuple[Centre, ...] = ()
    ways: tuple[Way, ...] = ()
    ordered: bool = False  # the places follow each other, as the stops of a day do
    pin: Centre | None = None  # where the visitor has clicked, which does not move the view
    clicks: bool = False  # a click beside the places is told
    base: Base = "none"
    language: Lang = "zh"

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(item.place.id for item in self.seen)

    def number(self, place_id: str) -> int:
        """The number of a place; 0 if it is not here."""
        return self.ids.index(place_id) + 1 if place_id in self.ids else 0

    @property
    def _providers(self) -> set[str]:
        return {item.place.provider for item in self.seen}

    @cached_property
    def data(self) -> dict[str, Any]:
        """All that map.js needs but the digest of it; other places have another `view`."""
        say, tiles = speaker(self.language), TILES.get(self.base)
        rich = len(self.seen) <= RICH
        return {
            "lang": CODES[self.language],
            "colours": COLOURS,
            "points": [_point(item, self.base, self.language, rich=rich) for item in self.seen],
            "circles": [
                _circle(centre, self.base) for centre in (*self.centres, *filter(None, [self.pin]))
            ],
            "ways": [_way(way, self.base, say) for way in self.ways],
            "ordered": self.ordered,
            "clicks": self.clicks,
            "credits": sorted({CREDITED[p] for p in self._providers if p in CREDITED}),
            "view": _digest(*sorted(self.ids), *map(repr, self.centres), *map(repr, self.ways)),
            "tiles": {**tiles, "lost": say("map.lost")} if tiles else None,
        }

    @cached_property
    def script(self) -> str:
        """The data as a script may hold it."""
        text = script_json(self.data)
        return f'{{"of":"{_digest(text)}",{text[1:]}'

    @property
    def of(self) -> str:
        """Tells this map from another."""
        return self.script[7:23]

    @cached_property
    def rows(self) -> list[list[Any]]:
        """The same places as list.js draws them."""
        return [point[2:5] for point in self.data["points"]]


def _point(seen: Sighting, base: Base, language: Lang, *, rich: bool) -> list[Any]:
    place, say = seen.place, speaker(language)
    known = [KINDS.index(category(place)), name(place, language), note(place, say)]
    more = [lines(place, language), links(seen, say)] if rich else []
    return [*_position(place, base), *known, *more]


def _circle(centre: Centre, base: Base) -> list[Any]:
    around = distance(centre.radius) if centre.radius > 0 else ""
    name = " · ".join(filter(None, (centre.name, around)))
    return [*_position(centre, base), max(centre.radius, 0), name]


def _way(way: Way, base: Base, say: Say) -> dict[str, Any]:
    """The line of a way, how it is drawn, and what stands beside it."""
    line = [_position(Point(*point), base) for point in way.line]
    return {
        "line": line,
        "means": way.means,
        "direct": way.direct,
        "name": " · ".join(figures(way, say)),
        "ends": f"{way.origin} → {way.destination}",
    }


def figures(way: Way, say: Say = t) -> list[str]:
    """How a way is made, how long it is and how long it takes, as far as that is known."""
    time = minutes(way.seconds, say) if way.seconds is not None else ""
    return [part for part in (say(MEANS[way.means][0]), distance(way.metres), time) if part]


def minutes(seconds: int, say: Say = t) -> str:
    whole = max(1, round(seconds / 60))
    if whole < 60:
        return say("places.minutes", n=whole)
    return say("places.hours_minutes", h=whole // 60, n=whole % 60)


def _position(spot: Place | Centre | Point, base: Base) -> tuple[float, float]:
    """Latitude and longitude as the tiles have them, to a decimetre."""
    point = Point(spot.lng, spot.lat)
    if base == "amap":
        point = to_gcj02(point)
    return round(point.lat, 6), round(point.lng, 6)


def _digest(*texts: str) -> str:
    joined = "\x1f".join(texts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=8).hexdigest()


# folium


def base_map() -> folium.Map:
    """A map without anything on it, whose every file is served from here."""
    import folium

    found = folium.Map(HERE, zoom_start=4, tiles=None, control_scale=True, maxZoom=19)
    found.default_js = [(name, _SERVED + name) for name in SCRIPTS]
    found.default_css = [(name, _SERVED + name) for name in STYLES]
    return found


def layer(drawn: Drawn, picked: dict[str, Any] | None) -> folium.FeatureGroup:
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
            self.data = drawn.script
            self.picked = script_json(picked)

        def render(self, **_: Any) -> None:
            """Adds nothing to the page of the map, where branca would read it as a template."""

    return folium.FeatureGroup(control=False).add_child(Show())


def own(element: Any) -> Any:
    """The element, if it and all in it load nothing from elsewhere.

    Raises ValueError for an element of folium's whose scripts or styles lie on another host.
    """
    for links_ in (getattr(element, "default_js", ()), getattr(element, "default_css", ())):
        for _, url in links_:
            if _FOREIGN.match(url):
                raise ValueError(f"{type(element).__name__} loads {url}")
    for child in getattr(element, "_children", {}).values():
        own(child)
    return element


# The page


def draw(
    seen: Sequence[Sighting],
    centres: Sequence[Centre] = (),
    *,
    key: str,
    ways: Sequence[Way] = (),
    ordered: bool = False,
    pin: Centre | None = None,
    clicks: bool = False,
    tick: bool = False,
    narrow: bool = False,
    linked: bool = False,
    on_card: Callable[[Sighting], None] | None = None,
) -> None:
    """Places on a map beside their list; each selects in the other, and below is what is known.

    A search that reached farther than was asked for is told above.

    With `narrow` the list is below the map, as it is on a small screen anyway.
    `ways` are drawn, and listed with their steps. With `ordered` the places stay in their order. With
    `clicks` a click beside the places is told by `clicked`, and `pin` is drawn without a new view. With `tick` the list has boxes, whose state
    `ticked` tells, and the whole page runs again when one changes; with `linked` it does so when a
    place is picked, which `picked` tells. `on_card` adds to the details.
    """
    on_globe = tuple(item for item in seen if located(item.place))
    spots = tuple(spot for spot in centres if _on_globe(spot))
    for text in widened(spots):
        st.caption(plain(text))
    drawn = Drawn(
        on_globe[:MOST],
        spots,
        tuple(way for way in ways if lined(way)),
        ordered or bool(ways),
        pin,
        clicks,
        language=lang(),
    )
    _draw(drawn, key, tick, narrow, linked, on_card)
    english = {one.place.name: one.place.name_en for one in seen} if lang() == "en" else {}
    for way in ways:
        way_told(way, english)
    if len(on_globe) > MOST:
        st.caption(t("map.too_many", n=number(MOST), all=number(len(on_globe))))
    if len(on_globe) < len(seen):
        st.caption(t("map.nowhere", n=number(len(seen) - len(on_globe))))


def way_told(way: Way, english: Mapping[str, str]) -> None:
    """A way in a line, with its steps behind it; its ends in English where that is known."""
    name, icon = MEANS[way.means][0], MEANS[way.means][1]
    notes = [*figures(way)[1:], t("map.direct") if way.direct and way.means != "straight" else ""]
    ends = " → ".join(english.get(end) or end for end in (way.origin, way.destination))
    text = f"{t(name)}: {ends} · {' · '.join(filter(None, notes))}"
    if not way.steps:
        st.markdown(f"{icon} {plain(text, 400)}")
        return
    with st.expander(plain(text, 400), icon=icon):
        st.markdown("\n".join(f"{n}. {plain(step, 300)}" for n, step in enumerate(way.steps, 1)))


def _on_globe(centre: Centre) -> bool:
    return -180 <= centre.lng <= 180 and -90 <= centre.lat <= 90


def widened(centres: Sequence[Centre], say: Say = t) -> Iterator[str]:
    """What is said of searches that reached farther than was asked for."""
    for spot in centres:
        if spot.asked:
            reach = {"asked": distance(spot.asked), "far": distance(spot.radius)}
            yield say("map.widened", name=spot.name, **reach)


def ticked(key: str) -> set[str]:
    """The ids of the places whose boxes are set; the set may be changed."""
    found: set[str] = _state(key).setdefault("ticked", set())
    return found


def picked(key: str) -> str:
    """The id of the place that is picked; "" if none is."""
    found: str = _state(key)["picked"]
    return found


def clicked(key: str) -> Point | None:
    """The WGS-84 point that was clicked since this was asked last."""
    found: Point | None = _state(key).pop("clicked", None)
    return found


def choose(key: str, place_id: str) -> None:
    """Picks a place as a click would; none with an empty id."""
    _pick(_state(key), place_id, _now())


def _pick(state: dict[str, Any], place_id: str, turn: int) -> None:
    """`turn` is the time of the last act, a box that was set among them; `since` that of the pick,
    which is all that the map is told: it need not be drawn anew for a box."""
    state.update(picked=place_id, turn=turn, since=turn)


def _state(key: str) -> dict[str, Any]:
    found: dict[str, Any] = st.session_state.setdefault(
        f"on_map_{key}", {"picked": "", "turn": 0, "since": 0, "ticked": set()}
    )
    return found


def _now() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)


@st.fragment
def _draw(
    drawn: Drawn,
    key: str,
    tick: bool,
    narrow: bool,
    linked: bool,
    on_card: Callable[[Sighting], None] | None,
) -> None:
    state = _state(key)
    state["linked"] = linked
    if state.pop("rerun", False):
        st.rerun()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        seen = drawn.seen if drawn.ordered else _sorted(drawn.seen, key)
        drawn = replace(drawn, seen=seen, base=_base(key))
    if drawn == state.get("drawn"):
        drawn = state["drawn"]
    state["drawn"] = drawn
    left, right = (st.container(), st.container()) if narrow else st.columns([3, 2], gap="small")
    with left:
        _map(drawn, key, state)
    with right:
        _rows(drawn, key, tick, narrow, state)
    at = drawn.number(state["picked"])
    if at:
        _card(drawn.seen[at - 1], at, key, on_card)


def _sorted(seen: tuple[Sighting, ...], key: str) -> tuple[Sighting, ...]:
    """The places in the order that the visitor wants; what is not known comes last."""
    order = st.selectbox(
        t("map.sort"),
        list(SORTS),
        format_func={name: t(words) for name, words in SORTS.items()}.__getitem__,
        key=f"sort_{key}",
        label_visibility="collapsed",
        width=220,
    )
    return tuple(sorted(seen, key=lambda item: _rank(item.place, order)))


def _rank(place: Place, order: str) -> tuple[bool, Any]:
    if order == "name":
        return False, place.name
    value: float | None = None if order == "given" else getattr(place, order)
    if value is None or not isfinite(value):
        return True, 0
    return False, -value if order == "rating" else value


def _base(key: str) -> Base:
    """Which tiles lie under the places; the visitor's choice holds for every map."""
    if application.services(owner=owner()).settings.map_tiles == "off":
        return "none"
    own_key = f"base_{key}"
    st.session_state[own_key] = st.session_state.get("base_map", "osm")
    chosen: Base = st.segmented_control(
        t("map.base"),
        list(BASES),
        format_func={name: t(words) for name, words in BASES.items()}.__getitem__,
        key=own_key,
        required=True,
        label_visibility="collapsed",
        on_change=lambda: st.session_state.update(base_map=st.session_state[own_key]),
    )
    return chosen


def _map(drawn: Drawn, key: str, state: dict[str, Any]) -> None:
    from streamlit_folium import st_folium

    map_key = f"map_{key}"

    def told() -> None:
        _told(st.session_state.get(map_key), drawn, state)

    st_folium(
        own(base_map()),
        key=map_key,
        height=HEIGHT,
        use_container_width=True,
        returned_objects=[],
        feature_group_to_add=own(layer(drawn, _picked(drawn, state))),
        on_change=told,
    )


def _picked(drawn: Drawn, state: dict[str, Any]) -> dict[str, Any] | None:
    at = drawn.number(state["picked"])
    if not at:
        return None
    seen = drawn.seen[at - 1]
    return {
        "n": at,
        "turn": state["since"],
        "lines": lines(seen.place, drawn.language),
        "links": links(seen),
    }


def _told(value: Any, drawn: Drawn, state: dict[str, Any]) -> None:
    """Takes in a click on the map. One that came before the map was drawn anew means another."""
    if not isinstance(value, dict) or value.get("of") != drawn.of:
        return
    at, turn = value.get("n"), value.get("turn")
    if drawn.clicks and (point := _clicked(value.get("at"), drawn.base)):
        state.update(clicked=point, rerun=True)
    elif isinstance(at, int) and isinstance(turn, int) and 0 < at <= len(drawn.seen):
        _pick(state, drawn.seen[at - 1].place.id, turn)
        _linked(state)


def _clicked(value: Any, base: Base) -> Point | None:
    """The WGS-84 point of a click, if it is one on the globe."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(isinstance(part, int | float) and isfinite(part) for part in value):
        return None
    lat, lng = value
    if not (abs(lat) <= 90 and abs(lng) <= 180):
        return None
    return from_gcj02(Point(lng, lat)) if base == "amap" else Point(lng, lat)


def _linked(state: dict[str, Any]) -> None:
    """The whole page runs again if something else on it follows what is picked."""
    if state.get("linked"):
        state["rerun"] = True


def _rows(drawn: Drawn, key: str, tick: bool, narrow: bool, state: dict[str, Any]) -> None:
    list_key = f"list_{key}"
    of = _digest(*drawn.ids)
    marked: set[str] = state["ticked"]

    def told() -> None:
        value = st.session_state[list_key].get("told") or {}
        if value.get("of") != of or not isinstance(value.get("turn"), int):
            return
        if "ticked" in value:
            state["turn"] = value["turn"]
            _tick(marked, drawn, value["ticked"])
            state["rerun"] = True
        elif isinstance(value.get("n"), int) and 0 < value["n"] <= len(drawn.seen):
            _pick(state, drawn.seen[value["n"] - 1].place.id, value["turn"])
            _linked(state)

    _list(
        data={
            "of": of,
            "rows": drawn.rows,
            "colours": COLOURS,
            "picked": drawn.number(state["picked"]),
            "ticked": [n for n, one in enumerate(drawn.ids, 1) if one in marked] if tick else None,
            "turn": state["turn"],
            "height": HEIGHT // 2 if narrow else HEIGHT,
            "words": {"list": t("map.list"), "tick": t("map.tick")},
        },
        key=list_key,
        on_told_change=told,
    )


def _tick(marked: set[str], drawn: Drawn, numbers: Any) -> None:
    """The boxes of the places on the map are as told; those of others stay as they are."""
    numbers = numbers if isinstance(numbers, list) else []
    marked.difference_update(drawn.ids)
    marked.update(
        drawn.seen[n - 1].place.id
        for n in numbers
        if isinstance(n, int) and 0 < n <= len(drawn.seen)
    )


def _card(seen: Sighting, at: int, key: str, on_card: Callable[[Sighting], None] | None) -> None:
    """What is known of the picked place."""
    place = seen.place
    with st.container(border=True, key=f"card_{key}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{at} · {plain(name(place, lang()), 200)}**", width="content")
            st.badge(category_name(place), color="gray")
            if place.sample:
                st.badge(t("map.sample"), color="orange")
        st.markdown("  \n".join(plain(line, 400) for line in lines(place, lang())))
        when = t("map.retrieved", when=local_time(seen.retrieved))
        st.caption(plain(f"{when} · {place.lat:.6f}, {place.lng:.6f} (WGS-84)"))
        with st.container(horizontal=True, vertical_alignment="center"):
            for n, (words, url) in enumerate(links(seen)):
                st.link_button(
                    words,
                    url,
                    type="tertiary",
                    icon=":material/open_in_new:",
                    key=f"way_{key}_{n}",
                )
            if on_card:
                on_card(seen)


def draw_report(report: Report, key: str, *, narrow: bool = True) -> bool:
    """The places that a run has found, with a way to take them away; False if there are none."""
    found: dict[str, Sighting] = {}
    centres: dict[tuple[float, float, int], Centre] = {}
    for finding in report.findings:
        for spot in (*filter(None, [finding.centre]), *finding.along):
            centres.setdefault((spot.lng, spot.lat, spot.radius), spot)
        for item in finding.evidence:
            if item.place:
                found.setdefault(
                    item.place.id,
                    Sighting(place=item.place, url=item.url, retrieved=item.retrieved),
                )
    for row in report.plan.grid.rows if report.plan and report.plan.grid else ():
        if row.place:
            there = Sighting(place=row.place, url="", retrieved=report.run.created)
            found.setdefault(row.place.id, there)
    ways = [item.way for finding in report.findings for item in finding.evidence if item.way]
    if not found:
        return False
    seen = tuple(found.values())
    linked = any(
        finding.rows for finding in report.findings
    )  # each row of a table selects its place
    draw(seen, tuple(centres.values()), key=key, ways=ways, narrow=narrow, linked=linked)
    name = file_name(report, "").rstrip(".")
    downloads(seen, tuple(centres.values()), report.run.question, name, key=key, ways=ways)
    return True


# Files


def downloads(
    seen: Sequence[Sighting],
    centres: Sequence[Centre],
    title: str,
    name: str,
    *,
    key: str,
    ways: Sequence[Way] = (),
) -> None:
    """The places and ways as files, made when they are asked for; `name` is one that we made."""
    there = [item for item in seen if located(item.place)]
    places = [item.place for item in there]
    lines_ = [way for way in ways if lined(way)]
    language = lang()
    files: tuple[tuple[str, str, str, str, Callable[[], str]], ...] = (
        ("map.geojson", ".geojson", "application/geo+json", ":material/data_object:",
         lambda: geojson(places, ways=lines_)),
        ("map.kml", ".kml", "application/vnd.google-earth.kml+xml", ":material/public:",
         lambda: kml(places, title, ways=lines_)),
        ("map.csv", ".csv", "text/csv", ":material/table:", lambda: places_csv(places)),
        ("map.html", ".html", "text/html", ":material/map:",
         lambda: html_map(there, centres, title, language, ways=lines_)),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key=f"files_{key}"):
        for words, suffix, mime, icon, make in files:
            st.download_button(
                t(words),
                _encoded(make),
                file_name=f"{name}{suffix}",
                mime=mime,
                key=f"download{suffix.replace('.', '_')}_{key}",
                on_click="ignore",
                icon=icon,
                disabled=not places,
            )


def _encoded(make: Callable[[], str]) -> Callable[[], bytes]:
    return lambda: make().encode("utf-8", "replace")


def html_map(
    seen: Sequence[Sighting],
    centres: Sequence[Centre],
    title: str,
    language: Lang,
    *,
    ways: Sequence[Way] = (),
) -> str:
    """A map with its list as one file that needs nothing else, and is allowed nothing else.

    It has no tiles: those of others are not to be had from a file on a disk.
    """
    say = speaker(language)
    on_globe = tuple(item for item in seen if located(item.place))[:MOST]
    spots = tuple(spot for spot in centres if _on_globe(spot))
    lines_ = tuple(way for way in ways if lined(way))
    drawn = Drawn(on_globe, spots, lines_, bool(lines_), language=language)
    told = {
        "map": {"of": drawn.of, **drawn.data},
        "list": {
            "of": "",
            "rows": drawn.rows,
            "colours": COLOURS,
            "picked": 0,
            "ticked": None,
            "turn": 0,
            "words": {"list": say("map.list"), "tick": say("map.tick")},
        },
    }
    script, style = _script(), _style()
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    heading = html.escape(" ".join(title.split()).encode("utf-8", "replace").decode())
    notes = [*widened(spots, say), say("map.html_note", n=number(len(on_globe)))]
    return f"""<!doctype html>
<html lang="{CODES[language]}">
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
<script type="application/json" id="data">{script_json(told)}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def _script() -> str:
    """All scripts of a map that is a file; none of them names a map of its source."""
    parts = [(ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS]
    parts = [re.sub(r"^//# sourceMappingURL=.*$", "", part, flags=re.M) for part in parts]
    rows = (ASSETS / "map" / "list.js").read_text(encoding="utf-8")
    rows = rows.replace("export default", "sightline.list =")
    start = (ASSETS / "map" / "file.js").read_text(encoding="utf-8")
    return "\n".join([*parts, f"(() => {{\n{rows}\n}})();", start])


@lru_cache(maxsize=1)
def _style() -> str:
    names = (*STYLES, "map/list.css", "map/file.css")
    text = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"url\([^)]*\)", "none", text)  # pictures of controls that are not used here


def _hash(text: str) -> str:
    """As a content security policy names what may run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
