"""Places on a map beside a list of them.

The map is drawn by folium with a bundled copy of Leaflet; `map_content` builds its data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import streamlit as st

from pages.shared import map_content, place_files, place_text
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, format_number, t
from pages.shared.login import current_owner
from pages.shared.map_content import MAX_PLACES, BaseMap, MapContent
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
    is_on_globe,
)

HEIGHT_PIXELS = 460
SORT_ORDERS = ("given", "distance", "rating", "cost", "name")
BASE_MAPS: tuple[BaseMap, ...] = ("none", "osm", "amap")
TRAVEL_MODE_ICONS = {  # map.css draws each mode in another pattern
    "walking": ":material/directions_walk:",
    "bicycling": ":material/directions_bike:",
    "driving": ":material/directions_car:",
    "transit": ":material/directions_transit:",
    "straight": ":material/straighten:",
}
_list_component = st.components.v2.component(
    "sightline_places",
    html='<div class="sl-places"></div>',
    css=(ASSETS_FOLDER / "map" / "list.css").read_text(encoding="utf-8"),
    js=(ASSETS_FOLDER / "map" / "list.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


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
    language = current_language()
    content = map_content.select_content(
        recorded_places, search_areas, routes, language, is_ordered=is_ordered, pin=pin, is_clickable=is_clickable
    )
    for text in place_text.widening_notes(content.search_areas):
        st.caption(escape_markdown(text))
    _draw(content, key, has_checkboxes, is_narrow, reruns_page, draw_actions)
    english_names = {item.place.name: item.place.name_en for item in recorded_places} if language == "en" else {}
    for route in routes:
        draw_route(route, english_names)
    on_globe_count = sum(is_on_globe(item.place) for item in recorded_places)
    if on_globe_count > MAX_PLACES:
        st.caption(t("map.too_many", n=format_number(MAX_PLACES), all=format_number(on_globe_count)))
    if on_globe_count < len(recorded_places):
        st.caption(t("map.nowhere", n=format_number(len(recorded_places) - on_globe_count)))


def draw_route(route: Route, english_names: Mapping[str, str]) -> None:
    """Draw a route in one line, its steps folded, with English names of its ends where known."""
    icon = TRAVEL_MODE_ICONS[route.travel_mode]
    mode, *facts = place_text.route_facts(route)
    notes = [*facts, t("map.direct") if route.straight_line and route.travel_mode != "straight" else ""]
    ends = " → ".join(english_names.get(end) or end for end in (route.origin, route.destination))
    text = f"{mode}: {ends} · {' · '.join(filter(None, notes))}"
    if not route.steps:
        st.markdown(f"{icon} {escape_markdown(text, 400)}")
        return
    with st.expander(escape_markdown(text, 400), icon=icon):
        st.markdown("\n".join(f"{n}. {escape_markdown(step, 300)}" for n, step in enumerate(route.steps, 1)))


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
        SORT_ORDERS,
        format_func={name: t(f"map.sort.{name}") for name in SORT_ORDERS}.__getitem__,
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
        BASE_MAPS,
        format_func={name: t(f"map.base.{name}") for name in BASE_MAPS}.__getitem__,
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
        map_content.require_local_assets(map_content.create_empty_map()),
        key=map_key,
        height=HEIGHT_PIXELS,
        use_container_width=True,
        returned_objects=[],
        feature_group_to_add=map_content.require_local_assets(
            map_content.create_layer(content, _selection_data(content, state))
        ),
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
        "lines": place_text.detail_lines(selected.place, content.language),
        "links": place_text.place_links(selected),
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
    list_digest = map_content.hash_texts(*content.place_ids)
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
            "colours": map_content.CATEGORY_COLORS,
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
            name = escape_markdown(place_text.display_name(place, current_language()), 200)
            st.markdown(f"**{place_number} · {name}**", width="content")
            st.badge(place_text.category_name(place), color="gray")
            if place.sample:
                st.badge(t("map.sample"), color="orange")
        details = place_text.detail_lines(place, current_language())
        st.markdown("  \n".join(escape_markdown(line, 400) for line in details))
        retrieved_text = t("map.retrieved", when=format_local_time(recorded_place.retrieved))
        st.caption(escape_markdown(f"{retrieved_text} · {place.lat:.6f}, {place.lng:.6f} (WGS-84)"))
        with st.container(horizontal=True, vertical_alignment="center"):
            for n, (label, url) in enumerate(place_text.place_links(recorded_place)):
                st.link_button(label, url, type="tertiary", icon=":material/open_in_new:", key=f"way_{key}_{n}")
            if draw_actions:
                draw_actions(recorded_place)


def draw_report(report: Report) -> None:
    """Draw the places found by a run, with downloads; nothing if there are none."""
    places_by_id: dict[str, RecordedPlace] = {}
    areas: dict[tuple[float, float, int], SearchArea] = {}
    for finding in report.findings:
        for area in (*filter(None, [finding.search_area]), *finding.route_areas):
            areas.setdefault((area.lng, area.lat, area.radius), area)
        for item in finding.evidence:
            if item.place:
                recorded_place = RecordedPlace(place=item.place, url=item.url, retrieved=item.retrieved)
                places_by_id.setdefault(item.place.id, recorded_place)
    for row in report.plan.grid.rows if report.plan and report.plan.grid else ():
        if row.place:
            recorded_place = RecordedPlace(place=row.place, url="", retrieved=report.run.created)
            places_by_id.setdefault(row.place.id, recorded_place)
    if not places_by_id:
        return
    routes = [item.route for finding in report.findings for item in finding.evidence if item.route]
    key, places, search_areas = report.run.id[:8], tuple(places_by_id.values()), tuple(areas.values())
    has_rows = any(finding.rows for finding in report.findings)  # rows select their places
    draw(places, search_areas, key=key, routes=routes, is_narrow=True, reruns_page=has_rows)
    name = export_file_name(report, "").rstrip(".")
    place_files.draw_downloads(places, search_areas, report.run.question, name, key=key, routes=routes)
