"""Places page: search around a point, find a route or plan a day; then filter, compare, measure and
export the recorded places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from pages.shared import failure_display, layout, place_files, place_text, run_navigation
from pages.shared import place_map as maps
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, format_number, t
from pages.shared.login import current_owner
from research import (
    DistanceMatrix,
    Failure,
    Finding,
    Itinerary,
    Place,
    RecordedPlace,
    SearchArea,
    explain_failure,
    get_application,
    sample_places,
)

MAP_KEY = "all"  # of this page's map
SAME_POINT_DEGREES = 1e-5  # about a metre; clicks are rounded to six decimals
RADII_METRES = (300, 500, 1000, 2000, 3000, 5000, 10_000)
MIN_RATINGS = (0.0, 3.0, 3.5, 4.0, 4.5)
COMPARED_RANGE = (2, 5)  # minimum and maximum of compared places
STOPS_RANGE = (2, 20)  # per day
MEASURED_RANGE = (2, 10)  # places in a distance matrix
TRAVEL_MODES = ("", "walking", "transit", "bicycling", "driving")


# Searches


def draw_search() -> None:
    """Draw the search forms in tabs, the quota, and failures of the last search."""
    nearby_tab, route_tab, itinerary_tab = st.tabs(
        [t("places.near"), t("places.way"), t("places.day_title")], key="places_asking"
    )
    with nearby_tab:
        draw_nearby_form()
    with route_tab:
        draw_route_form()
    with itinerary_tab:
        draw_itinerary_form()
    draw_quota()
    if failed := st.session_state.get("places_failed"):
        draw_search_failure(failed)
    for failure in getattr(st.session_state.get("places_last"), "failures", ()):
        st.info(failure_text(failure))
        draw_failure_details(failure)


def draw_nearby_form() -> None:
    with st.form("nearby", enter_to_submit=True):
        where, what, radius, button = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
        where.text_input(
            t("places.where"),
            key="places_where",
            placeholder=t("places.where_example"),
            max_chars=120,
        )
        what.text_input(
            t("places.what"),
            key="places_what",
            placeholder=t("places.what_example"),
            max_chars=120,
        )
        radius.select_slider(
            t("places.radius"),
            RADII_METRES,
            value=1000,
            format_func=place_text.format_distance,
            key="places_radius",
        )
        submitted = draw_submit_button(button, "places_search", t("places.search"), ":material/search:")
    if submitted and (where_ := read_place("places_where")):
        what_, radius_ = st.session_state.places_what.strip(), st.session_state.places_radius
        run_search(
            lambda: get_application().places.search_around(
                where_, what_, radius_, language=current_language(), owner=current_owner()
            )
        )


def draw_route_form() -> None:
    with st.form("way", enter_to_submit=True):
        start, end, how, button = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
        start.text_input(t("places.from"), key="places_from", max_chars=120)
        end.text_input(t("places.to"), key="places_to", max_chars=120)
        draw_travel_mode_choice(how, "places_means")
        submitted = draw_submit_button(button, "places_go", t("places.show_way"), ":material/directions:")
    if submitted and (start_ := read_place("places_from")) and (end_ := read_place("places_to")):
        means = st.session_state.places_means or None
        run_search(
            lambda: get_application().places.find_route(
                start_, end_, means, language=current_language(), owner=current_owner()
            )
        )


def draw_itinerary_form() -> None:
    with st.form("round", enter_to_submit=True):
        place, stops, how, button = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
        place.text_input(t("places.city"), key="places_round", max_chars=120)
        stops.text_input(
            t("places.through"),
            key="places_stops",
            placeholder=t("places.through_example"),
            max_chars=400,
        )
        draw_travel_mode_choice(how, "places_round_means")
        submitted = draw_submit_button(button, "places_round_go", t("places.plan"), ":material/route:")
    if submitted:
        parts = re.split(r"[、,，;；\n]+", st.session_state.places_stops)
        stops_ = tuple(part.strip() for part in parts if part.strip())[: STOPS_RANGE[1]]
        place_ = st.session_state.places_round.strip()
        if not place_ and len(stops_) < STOPS_RANGE[0]:
            st.error(t("places.nowhere"))
            return
        means = st.session_state.places_round_means or None
        run_search(
            lambda: get_application().places.plan_itinerary(
                place_, stops_, means, language=current_language(), owner=current_owner()
            )
        )


def draw_travel_mode_choice(container: Any, key: str) -> None:
    names = {means: t(f"map.{means}") if means else t("places.any_means") for means in TRAVEL_MODES}
    container.selectbox(t("places.means"), TRAVEL_MODES, format_func=names.__getitem__, key=key)


def draw_submit_button(container: Any, key: str, label: str, icon: str) -> bool:
    pressed: bool = container.form_submit_button(label, type="primary", key=key, icon=icon, width="stretch")
    return pressed


def read_place(key: str) -> str | tuple[float, float]:
    """Return the place in a field: a name or (longitude, latitude).

    If the field is empty, show an error and return "".
    """
    text = st.session_state[key].strip()
    if not text:
        st.error(t("places.nowhere"))
    return place_text.parse_coordinates(text) or text


def draw_quota() -> None:
    quota = get_application().places.searches_left(owner=current_owner())
    if quota is not None:
        st.caption(t("places.quota", left=format_number(quota[0]), limit=format_number(quota[1])))


def run_search(search: Callable[[], Finding]) -> None:
    """Run a search and show its places by themselves, or keep its failure for display."""
    st.session_state.pop("places_failed", None)
    with st.spinner(t("places.searching")):
        finding = search()
    if finding.reason or not finding.places:
        st.session_state.places_failed = finding
        return
    st.session_state.places_last = finding
    st.session_state.places_again = True
    st.rerun()


def clicked_area() -> SearchArea | None:
    """Return the clicked point with the selected radius, or None once the field was changed."""
    if point := maps.take_clicked_point(MAP_KEY):
        st.session_state.places_where = f"{point.lat:.6f}, {point.lng:.6f}"
        st.session_state.places_pin = st.session_state.places_where
    where = st.session_state.get("places_where", "")
    if not where or where != st.session_state.get("places_pin"):
        return None
    lng, lat = place_text.parse_coordinates(where) or (0.0, 0.0)
    radius = st.session_state.get("places_radius", 1000)
    return SearchArea(name=t("places.centre"), lng=lng, lat=lat, radius=radius)


def is_searched(pin: SearchArea, search_area: SearchArea) -> bool:
    """Return True if an area was searched at the clicked point with the selected radius."""
    near = abs(pin.lng - search_area.lng) < SAME_POINT_DEGREES and abs(pin.lat - search_area.lat) < SAME_POINT_DEGREES
    return near and (search_area.requested_radius or search_area.radius) == pin.radius


def draw_search_failure(finding: Finding) -> None:
    """Draw the reason why a search found no places."""
    failure = Failure(
        source=finding.provider or "places",
        reason=finding.reason or "empty",
        hint=finding.hint,
        message=finding.message,
    )
    st.warning(failure_text(failure))
    draw_failure_details(failure)


def failure_text(failure: Failure) -> str:
    """Explain a failure of the map service, with a remedy, as escaped Markdown."""
    return escape_markdown(explain_failure(failure, current_language()), 400)


def draw_failure_details(failure: Failure) -> None:
    """Show the service's own message, unless the page already reports the same (reasons "unclear"
    and "empty")."""
    if failure.reason not in ("unclear", "empty"):
        failure_display.draw_details([failure.message])


def draw_card_actions(recorded_place: RecordedPlace) -> None:
    """Draw the actions of a place card: search around it, and open the runs that found it."""

    def fill_in() -> None:
        st.session_state.places_where = f"{recorded_place.place.lat:.6f}, {recorded_place.place.lng:.6f}"

    if st.button(t("places.around"), key="places_around", on_click=fill_in, icon=":material/my_location:"):
        st.rerun()
    for run, question in list(zip(recorded_place.runs, recorded_place.questions, strict=False))[:5]:
        run_navigation.draw_run_link(run, escape_markdown(question, 60), ":material/search:")


# Filters


def filter_places(recorded_places: Sequence[RecordedPlace]) -> tuple[list[RecordedPlace], Finding | None]:
    """Draw the filters. Return the matching places, and the last search if only it is shown."""
    last: Finding | None = st.session_state.get("places_last")
    if st.session_state.pop("places_again", False):
        st.session_state.places_question = "last"
    questions = {run: q for item in recorded_places for run, q in zip(item.runs, item.questions, strict=False)}
    options = ["", *(["last"] if last else []), *questions]
    if st.session_state.get("places_question", "") not in options:
        st.session_state.places_question = ""
    names = {"": t("places.all"), "last": t("places.last"), **questions}
    with st.container(horizontal=True, key="places_filters"):
        text = st.text_input(t("places.text"), key="places_text", width=160).strip().casefold()
        kinds = st.multiselect(
            t("places.category"),
            distinct_values(place_text.category(item.place) for item in recorded_places),
            format_func={name: t(f"map.{name}") for name in place_text.CATEGORY_NAMES}.__getitem__,
            key="places_kinds",
            placeholder=t("places.any"),
            width=180,
        )
        cities = st.multiselect(
            t("places.city"),
            distinct_values(item.place.city for item in recorded_places),
            key="places_cities",
            placeholder=t("places.any"),
            width=160,
        )
        min_rating = st.selectbox(
            t("places.rating"),
            MIN_RATINGS,
            format_func={0.0: t("places.any"), **{r: f"★ {r:g}+" for r in MIN_RATINGS[1:]}}.__getitem__,
            key="places_rating",
            width=120,
        )
        question = st.selectbox(
            t("places.question"),
            options,
            format_func=names.__getitem__,
            key="places_question",
            width=240,
        )
    if question == "last" and last:
        by_id = {item.place.id: item for item in recorded_places}
        candidates = [by_id[id_] for id_ in dict.fromkeys(place.id for place in last.places) if id_ in by_id]
        shown_search = last
    else:
        candidates = [item for item in recorded_places if not question or question in item.runs]
        shown_search = None
    matches = [
        item
        for item in candidates
        if (not kinds or place_text.category(item.place) in kinds)
        and (not cities or item.place.city in cities)
        and (item.place.rating or 0) >= min_rating
        and text in searchable_text(item.place)
    ]
    return matches, shown_search


def describe_count(shown: int, total: int, has_sample: bool) -> str:
    """Describe the number of places, with a note if some are sample data."""
    if shown == total:
        count = t("places.count", n=format_number(total))
    else:
        count = t("places.count_of", n=format_number(shown), all=format_number(total))
    return f"{count} · {t('places.sample')}" if has_sample else count


def distinct_values(values: Iterable[str]) -> list[str]:
    return sorted(filter(None, set(values)))


def searchable_text(place: Place) -> str:
    """Return the text of a place that the text filter searches, case-folded."""
    return " ".join((place.name, place.type, place.city, place.district, place.address)).casefold()


# Selection


def draw_selection(recorded_places: Sequence[RecordedPlace]) -> list[RecordedPlace]:
    """Draw the actions for the checked places. Return these places, filtered out or not."""
    checked = maps.checked_place_ids(MAP_KEY)
    chosen = [item for item in recorded_places if item.place.id in checked]
    with st.container(horizontal=True, vertical_alignment="center", key="places_chosen"):
        st.markdown(f"**{t('places.chosen', n=format_number(len(chosen)))}**", width="content")
        plan = st.button(
            t("places.day"),
            key="places_day",
            icon=":material/route:",
            disabled=not STOPS_RANGE[0] <= len(chosen) <= STOPS_RANGE[1],
        )
        measure = st.button(
            t("places.distances"),
            key="places_measure",
            icon=":material/straighten:",
            disabled=not MEASURED_RANGE[0] <= len(chosen) <= MEASURED_RANGE[1],
        )
        st.button(
            t("places.clear"),
            key="places_clear",
            type="tertiary",
            on_click=checked.clear,
            disabled=not chosen,
        )
    st.caption(t("places.chosen_help", compared=COMPARED_RANGE[1], stops=STOPS_RANGE[1], tabled=MEASURED_RANGE[1]))
    places = [item.place for item in chosen]
    if measure:
        with st.spinner(t("places.measuring")):
            distances = get_application().places.measure_distances(places, owner=current_owner())
        st.session_state.places_table = ({place.id for place in places}, distances)
    if plan:
        with st.spinner(t("places.measuring")):
            st.session_state.places_route = get_application().places.build_itinerary(places, owner=current_owner())
    return chosen


def draw_comparison(recorded_places: Sequence[RecordedPlace]) -> None:
    """Draw places side by side in a table."""
    layout.draw_section_title(t("places.compare"))
    places = [item.place for item in recorded_places]
    rows = [
        (t("places.category"), [place_text.category_name(place) for place in places]),
        (t("places.rated"), [place_text.format_rating(place) for place in places]),
        (t("places.price"), [place_text.format_cost(place) for place in places]),
        (t("places.hours"), [place.hours for place in places]),
        (t("places.distance"), [place_text.format_distance(place.distance) for place in places]),
        (t("places.address"), [f"{place.district} {place.address}".strip() for place in places]),
        (t("places.phone"), [place.phone for place in places]),
        (t("places.retrieved"), [format_local_time(item.retrieved) for item in recorded_places]),
    ]
    table = [
        table_row(
            "", [f"**{escape_markdown(place_text.display_name(place, current_language()), 120)}**" for place in places]
        )
    ]
    table.append(table_row("---", ["---"] * len(places)))
    table += [
        table_row(escape_markdown(name), [escape_markdown(value, 200) or "–" for value in values])
        for name, values in rows
    ]
    table.append(table_row(escape_markdown(t("places.found_by")), [question_links(item) for item in recorded_places]))
    with st.container(key="places_compared"):
        st.markdown("\n".join(table))


def table_row(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def question_links(recorded_place: RecordedPlace) -> str:
    """Return links to at most three runs that found a place, labelled with their questions."""
    pairs = list(zip(recorded_place.runs, recorded_place.questions, strict=False))[:3]
    links = [f"[{escape_markdown(question, 40)}](./?run={run})" for run, question in pairs if run.isalnum()]
    return " · ".join(links) or escape_markdown(t("places.direct"))


def draw_itinerary(recorded_places: Sequence[RecordedPlace], itinerary: Itinerary) -> None:
    """Draw a day's stops in order, with total distance and travel time, on a map."""
    layout.draw_section_title(t("places.day_title"))
    by_id = {item.place.id: item for item in recorded_places}
    stops = [by_id[place.id] for place in itinerary.places]
    metres = sum(leg.metres or 0 for leg in itinerary.legs)
    timed = [leg.seconds for leg in itinerary.legs if leg.seconds is not None]
    parts = [t("places.stops", n=format_number(len(stops))), place_text.format_distance(metres)]
    if timed:
        parts.append(place_text.format_minutes(sum(timed)))
    st.markdown(escape_markdown(" · ".join(parts)))
    if any(leg.straight_line for leg in itinerary.legs):
        st.caption(t("places.straight_help"))
    if itinerary.failure:
        st.info(t("places.day_failed", why=failure_text(itinerary.failure)))
        draw_failure_details(itinerary.failure)
    maps.draw(stops, key="day", routes=itinerary.legs, is_ordered=True)
    place_files.draw_downloads(stops, (), t("places.day_title"), file_stem("day"), key="day", routes=itinerary.legs)


def draw_distances(distances: DistanceMatrix) -> None:
    """Draw a table of distances and travel times between places."""
    layout.draw_section_title(t("places.distances"))
    if failure := distances.failure:
        st.info(failure_text(failure))
        draw_failure_details(failure)
        return
    st.caption(t("places.table_help", means=t(f"map.{distances.travel_mode}")))
    names = [f"**{escape_markdown(name, 60)}**" for name in distances.names]
    rows = [table_row("", names), table_row("---", ["---"] * len(names))]
    for name, row_metres, row_seconds in zip(names, distances.metres, distances.seconds, strict=True):
        cells = []
        for metres, seconds in zip(row_metres, row_seconds, strict=True):
            parts = [place_text.format_distance(metres), place_text.format_minutes(seconds) if seconds else ""]
            cells.append(" · ".join(filter(None, parts)) or "–")
        rows.append(table_row(name, cells))
    with st.container(key="places_table_drawn"):
        st.markdown("\n".join(rows))


def file_stem(subject: str) -> str:
    return f"sightline-{subject}-{datetime.now(UTC):%Y%m%d-%H%M}"


def draw_sample_map(pin: SearchArea | None) -> None:
    """Draw a map of the sample places while none are recorded."""
    st.caption(t("places.empty"))
    now = datetime.now(UTC)
    places = [RecordedPlace(place=place, retrieved=now) for place in sample_places()]
    maps.draw(places, key=MAP_KEY, pin=pin, is_clickable=True)


def draw_results(recorded_places: Sequence[RecordedPlace], pin: SearchArea | None) -> None:
    shown, search = filter_places(recorded_places)
    st.caption(describe_count(len(shown), len(recorded_places), any(item.place.sample for item in shown)))
    centres = [*filter(None, [search.search_area]), *search.route_areas] if search else []
    route_lines = [item.route for item in search.evidence if item.route] if search else []
    for centre in centres[:1]:
        if centre.radius:
            label = t("places.within", name=centre.name, far=place_text.format_distance(centre.radius))
            st.caption(escape_markdown(label, 200))
    if pin and any(is_searched(pin, centre) for centre in centres):
        pin = None  # the circle of the searched area is there already
    if shown or route_lines:
        maps.draw(
            shown,
            centres,
            key=MAP_KEY,
            routes=route_lines,
            pin=pin,
            is_clickable=True,
            has_checkboxes=True,
            draw_actions=draw_card_actions,
        )
    else:
        st.caption(t("places.none"))
    selected = draw_selection(recorded_places)
    exported = selected or shown
    if exported:
        message_key = "places.export_chosen" if selected else "places.export_shown"
        st.caption(t(message_key, n=format_number(len(exported))))
        lines = () if selected else route_lines
        place_files.draw_downloads(exported, centres, t("places.title"), file_stem("places"), key=MAP_KEY, routes=lines)
    if COMPARED_RANGE[0] <= len(selected) <= COMPARED_RANGE[1]:
        draw_comparison(selected)
    ids = {item.place.id for item in selected}
    measured = st.session_state.get("places_table")
    if measured and measured[0] == ids:
        draw_distances(measured[1])
    planned: Itinerary | None = st.session_state.get("places_route")
    if planned and {place.id for place in planned.places} == ids:
        draw_itinerary(selected, planned)


layout.draw_header(t("places.title"), t("places.lead"))
pin = clicked_area()
draw_search()
st.caption(t("places.pinned", at=st.session_state.places_where) if pin else t("places.click"))
if found_places := get_application().store.recorded_places(current_owner()):
    draw_results(found_places, pin)
else:
    draw_sample_map(pin)
