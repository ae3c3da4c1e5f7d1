"""A map from the first visit on: look around a point, ask for a way or a day's round; and of all places
that were found: filter, compare, measure, take away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from pages.shared import failed, layout
from pages.shared import map as maps
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, lang, local_time, number, t
from research import (
    Centre,
    Distances,
    Failure,
    Finding,
    Place,
    Route,
    Sighting,
    application,
    explain_failure,
)

KEY = "all"  # of the map of this page
NEAR = 1e-5  # degrees, about a metre: a click is read to six places
RADII = (300, 500, 1000, 2000, 3000, 5000, 10_000)  # metres
RATINGS = (0.0, 3.0, 3.5, 4.0, 4.5)
COMPARED = (2, 5)  # places in one table, at least and at most
STOPS = (2, 20)  # of a day
TABLED = (2, 10)  # places in one table of distances
MEANS = ("", "walking", "transit", "bicycling", "driving")


# Looking around a point


def search() -> None:
    """What may be asked of the map, a form behind each tab."""
    near, way, round_ = st.tabs(
        [t("places.near"), t("places.way"), t("places.day_title")], key="places_asking"
    )
    with near:
        near_form()
    with way:
        way_form()
    with round_:
        round_form()
    quota()
    if unfound := st.session_state.get("places_failed"):
        tell(unfound)
    for failure in getattr(st.session_state.get("places_last"), "failures", ()):
        st.info(why(failure))
        detail(failure)


def near_form() -> None:
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
            RADII,
            value=1000,
            format_func=maps.distance,
            key="places_radius",
        )
        go = submit(button, "places_search", t("places.search"), ":material/search:")
    if go and (where_ := given("places_where")):
        what_, radius_ = st.session_state.places_what.strip(), st.session_state.places_radius
        take(lambda: application.nearby(where_, what_, radius_, language=lang(), owner=owner()))


def way_form() -> None:
    with st.form("way", enter_to_submit=True):
        start, end, how, button = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
        start.text_input(t("places.from"), key="places_from", max_chars=120)
        end.text_input(t("places.to"), key="places_to", max_chars=120)
        means_box(how, "places_means")
        go = submit(button, "places_go", t("places.show_way"), ":material/directions:")
    if go and (start_ := given("places_from")) and (end_ := given("places_to")):
        means = st.session_state.places_means or None
        take(lambda: application.way(start_, end_, means, language=lang(), owner=owner()))


def round_form() -> None:
    with st.form("round", enter_to_submit=True):
        place, stops, how, button = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
        place.text_input(t("places.city"), key="places_round", max_chars=120)
        stops.text_input(
            t("places.through"),
            key="places_stops",
            placeholder=t("places.through_example"),
            max_chars=400,
        )
        means_box(how, "places_round_means")
        go = submit(button, "places_round_go", t("places.plan"), ":material/route:")
    if go:
        parts = re.split(r"[、,，;；\n]+", st.session_state.places_stops)
        stops_ = tuple(part.strip() for part in parts if part.strip())[: STOPS[1]]
        place_ = st.session_state.places_round.strip()
        if not place_ and len(stops_) < STOPS[0]:
            st.error(t("places.nowhere"))
            return
        means = st.session_state.places_round_means or None
        take(lambda: application.tour(place_, stops_, means, language=lang(), owner=owner()))


def means_box(where: Any, key: str) -> None:
    names = {means: t(maps.MEANS[means][0]) if means else t("places.any_means") for means in MEANS}
    where.selectbox(t("places.means"), MEANS, format_func=names.__getitem__, key=key)


def submit(where: Any, key: str, words: str, icon: str) -> bool:
    pressed: bool = where.form_submit_button(
        words, type="primary", key=key, icon=icon, width="stretch"
    )
    return pressed


def given(key: str) -> str | tuple[float, float]:
    """The place in a field: its name, or longitude and latitude; "" with a word if there is none."""
    text = st.session_state[key].strip()
    if not text:
        st.error(t("places.nowhere"))
    return maps.coordinates(text) or text


def quota() -> None:
    left = application.quota(owner=owner())
    if left is not None:
        st.caption(t("places.quota", left=number(left[0]), limit=number(left[1])))


def take(ask: Callable[[], Finding]) -> None:
    """What the map says, shown by itself."""
    st.session_state.pop("places_failed", None)
    with st.spinner(t("places.searching")):
        finding = ask()
    if finding.reason or not finding.places:
        st.session_state.places_failed = finding
        return
    st.session_state.places_last = finding
    st.session_state.places_again = True
    st.rerun()


def pointed() -> Centre | None:
    """Where the visitor has clicked, as long as that is where a search will look."""
    if point := maps.clicked(KEY):
        st.session_state.places_where = f"{point.lat:.6f}, {point.lng:.6f}"
        st.session_state.places_pin = st.session_state.places_where
    where = st.session_state.get("places_where", "")
    if not where or where != st.session_state.get("places_pin"):
        return None
    lng, lat = maps.coordinates(where) or (0.0, 0.0)
    radius = st.session_state.get("places_radius", 1000)
    return Centre(name=t("places.centre"), lng=lng, lat=lat, radius=radius)


def searched(pin: Centre, centre: Centre) -> bool:
    """Whether a search was made where the visitor has clicked, as it would be made now."""
    near = abs(pin.lng - centre.lng) < NEAR and abs(pin.lat - centre.lat) < NEAR
    return near and (centre.asked or centre.radius) == pin.radius


def tell(finding: Finding) -> None:
    """Why a search has brought nothing."""
    failure = Failure(
        source=finding.provider or "places", reason=finding.reason or "empty", hint=finding.hint,
        message=finding.message,
    )  # fmt: skip
    st.warning(why(failure))
    detail(failure)


def why(failure: Failure) -> str:
    """Why the map did not answer, and what can be done."""
    return plain(explain_failure(failure, lang()), 400)


def detail(failure: Failure) -> None:
    """Show the service's own message, unless the page already reports the same (reasons "unclear"
    and "empty")."""
    if failure.reason not in ("unclear", "empty"):
        failed.details([failure.message])


def around(seen: Sighting) -> None:
    """What a place's details offer here: to look around it, and the runs that found it."""

    def take() -> None:
        st.session_state.places_where = f"{seen.place.lat:.6f}, {seen.place.lng:.6f}"

    if st.button(
        t("places.around"), key="places_around", on_click=take, icon=":material/my_location:"
    ):
        st.rerun()
    for run, question in list(zip(seen.runs, seen.questions, strict=False))[:5]:
        st.page_link(
            script("ask"),
            label=plain(question, 60),
            icon=":material/search:",
            query_params=address(run),
        )


# Filters


def filtered(seen: Sequence[Sighting]) -> tuple[list[Sighting], Finding | None]:
    """What the visitor wants to see of all places, and the search by itself that is all of it."""
    last: Finding | None = st.session_state.get("places_last")
    if st.session_state.pop("places_again", False):
        st.session_state.places_question = "last"
    questions = {run: q for item in seen for run, q in zip(item.runs, item.questions, strict=False)}
    options = ["", *(["last"] if last else []), *questions]
    if st.session_state.get("places_question", "") not in options:
        st.session_state.places_question = ""
    names = {"": t("places.all"), "last": t("places.last"), **questions}
    with st.container(horizontal=True, key="places_filters"):
        text = st.text_input(t("places.text"), key="places_text", width=160).strip().casefold()
        kinds = st.multiselect(
            t("places.category"),
            present(maps.category(item.place) for item in seen),
            format_func={kind: t(name) for kind, (name, _) in maps.CATEGORIES.items()}.__getitem__,
            key="places_kinds",
            placeholder=t("places.any"),
            width=180,
        )
        cities = st.multiselect(
            t("places.city"),
            present(item.place.city for item in seen),
            key="places_cities",
            placeholder=t("places.any"),
            width=160,
        )
        least = st.selectbox(
            t("places.rating"),
            RATINGS,
            format_func={0.0: t("places.any"), **{r: f"★ {r:g}+" for r in RATINGS[1:]}}.__getitem__,
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
        wanted = {place.id for place in last.places}
        found = [item for item in seen if item.place.id in wanted]
        at = {place.id: n for n, place in enumerate(last.places)}
        found.sort(key=lambda item: at[item.place.id])
        alone = last
    else:
        found = [item for item in seen if not question or question in item.runs]
        alone = None
    keep = [
        item
        for item in found
        if (not kinds or maps.category(item.place) in kinds)
        and (not cities or item.place.city in cities)
        and (item.place.rating or 0) >= least
        and text in words(item.place)
    ]
    return keep, alone


def told(shown: int, every: int, sample: bool) -> str:
    """How many places there are, and whether some are no live data."""
    if shown == every:
        count = t("places.count", n=number(every))
    else:
        count = t("places.count_of", n=number(shown), all=number(every))
    return f"{count} · {t('places.sample')}" if sample else count


def present(values: Iterable[str]) -> list[str]:
    return sorted(filter(None, set(values)))


def words(place: Place) -> str:
    """What a place can be filtered by."""
    return " ".join((place.name, place.type, place.city, place.district, place.address)).casefold()


# What is selected


def selection(seen: Sequence[Sighting]) -> list[Sighting]:
    """The places whose boxes are set, whatever the filters leave of them."""
    marked = maps.ticked(KEY)
    chosen = [item for item in seen if item.place.id in marked]
    with st.container(horizontal=True, vertical_alignment="center", key="places_chosen"):
        st.markdown(f"**{t('places.chosen', n=number(len(chosen)))}**", width="content")
        plan = st.button(
            t("places.day"),
            key="places_day",
            icon=":material/route:",
            disabled=not STOPS[0] <= len(chosen) <= STOPS[1],
        )
        measure = st.button(
            t("places.distances"),
            key="places_measure",
            icon=":material/straighten:",
            disabled=not TABLED[0] <= len(chosen) <= TABLED[1],
        )
        st.button(
            t("places.clear"),
            key="places_clear",
            type="tertiary",
            on_click=marked.clear,
            disabled=not chosen,
        )
    st.caption(t("places.chosen_help", compared=COMPARED[1], stops=STOPS[1], tabled=TABLED[1]))
    places = [item.place for item in chosen]
    if measure:
        with st.spinner(t("places.measuring")):
            found = application.distances(places, owner=owner())
        st.session_state.places_table = ({place.id for place in places}, found)
    if plan:
        with st.spinner(t("places.measuring")):
            st.session_state.places_route = application.day(places, owner=owner())
    return chosen


def compare(chosen: Sequence[Sighting]) -> None:
    """The places side by side."""
    layout.section(t("places.compare"))
    places = [item.place for item in chosen]
    rows = [
        (t("places.category"), [maps.category_name(place) for place in places]),
        (t("places.rated"), [maps.rating(place) for place in places]),
        (t("places.price"), [maps.cost(place) for place in places]),
        (t("places.hours"), [place.hours for place in places]),
        (t("places.distance"), [maps.distance(place.distance) for place in places]),
        (t("places.address"), [f"{place.district} {place.address}".strip() for place in places]),
        (t("places.phone"), [place.phone for place in places]),
        (t("places.retrieved"), [local_time(item.retrieved) for item in chosen]),
    ]
    table = [table_row("", [f"**{plain(maps.name(place, lang()), 120)}**" for place in places])]
    table.append(table_row("---", ["---"] * len(places)))
    table += [
        table_row(plain(name), [plain(value, 200) or "–" for value in values])
        for name, values in rows
    ]
    table.append(table_row(plain(t("places.found_by")), [found_by(item) for item in chosen]))
    with st.container(key="places_compared"):
        st.markdown("\n".join(table))


def table_row(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def found_by(seen: Sighting) -> str:
    """The questions that found a place, each a link to its run."""
    asked = list(zip(seen.runs, seen.questions, strict=False))[:3]
    made = [f"[{plain(question, 40)}](./?run={run})" for run, question in asked if run.isalnum()]
    return " · ".join(made) or plain(t("places.direct"))


def day(chosen: Sequence[Sighting], route: Route) -> None:
    """A day's places in their order, and how long the ways are."""
    layout.section(t("places.day_title"))
    by_id = {item.place.id: item for item in chosen}
    stops = [by_id[place.id] for place in route.places]
    metres = sum(leg.metres or 0 for leg in route.legs)
    timed = [leg.seconds for leg in route.legs if leg.seconds is not None]
    parts = [t("places.stops", n=number(len(stops))), maps.distance(metres)]
    if timed:
        parts.append(maps.minutes(sum(timed)))
    st.markdown(plain(" · ".join(parts)))
    if any(leg.direct for leg in route.legs):
        st.caption(t("places.straight_help"))
    if route.failure:
        st.info(t("places.day_failed", why=why(route.failure)))
        detail(route.failure)
    maps.draw(stops, key="day", ways=route.legs, ordered=True)
    maps.downloads(stops, (), t("places.day_title"), file("day"), key="day", ways=route.legs)


def table(found: Distances) -> None:
    """How far the selected places are from one another."""
    layout.section(t("places.distances"))
    if failure := found.failure:
        st.info(why(failure))
        detail(failure)
        return
    st.caption(t("places.table_help", means=t(maps.MEANS[found.means][0])))
    names = [f"**{plain(name, 60)}**" for name in found.names]
    rows = [table_row("", names), table_row("---", ["---"] * len(names))]
    for name, far, time in zip(names, found.metres, found.seconds, strict=True):
        cells = []
        for metres, seconds in zip(far, time, strict=True):
            parts = [maps.distance(metres), maps.minutes(seconds) if seconds else ""]
            cells.append(" · ".join(filter(None, parts)) or "–")
        rows.append(table_row(name, cells))
    with st.container(key="places_table_drawn"):
        st.markdown("\n".join(rows))


def file(what: str) -> str:
    return f"sightline-{what}-{datetime.now(UTC):%Y%m%d-%H%M}"


def greet(pin: Centre | None) -> None:
    """A map for who has none yet: the places of the sample."""
    st.caption(t("places.empty"))
    now = datetime.now(UTC)
    some = [Sighting(place=place, retrieved=now) for place in application.sample()]
    maps.draw(some, key=KEY, pin=pin, clicks=True)


def found(every: Sequence[Sighting], pin: Centre | None) -> None:
    shown, alone = filtered(every)
    st.caption(told(len(shown), len(every), any(item.place.sample for item in shown)))
    centres = [*filter(None, [alone.centre]), *alone.along] if alone else []
    ways = [item.way for item in alone.evidence if item.way] if alone else []
    for centre in centres[:1]:
        if centre.radius:
            words = t("places.within", name=centre.name, far=maps.distance(centre.radius))
            st.caption(plain(words, 200))
    if pin and any(searched(pin, centre) for centre in centres):
        pin = None  # the ring of what was searched stands there
    if shown or ways:
        maps.draw(
            shown, centres, key=KEY, ways=ways, pin=pin, clicks=True, tick=True, on_card=around
        )
    else:
        st.caption(t("places.none"))
    picked = selection(every)
    exported = picked or shown
    if exported:
        what = "places.export_chosen" if picked else "places.export_shown"
        st.caption(t(what, n=number(len(exported))))
        lines = () if picked else ways
        maps.downloads(exported, centres, t("places.title"), file("places"), key=KEY, ways=lines)
    if COMPARED[0] <= len(picked) <= COMPARED[1]:
        compare(picked)
    ids = {item.place.id for item in picked}
    measured = st.session_state.get("places_table")
    if measured and measured[0] == ids:
        table(measured[1])
    planned: Route | None = st.session_state.get("places_route")
    if planned and {place.id for place in planned.places} == ids:
        day(picked, planned)


layout.header(t("places.title"), t("places.lead"))
pin = pointed()
search()
st.caption(t("places.pinned", at=st.session_state.places_where) if pin else t("places.click"))
if every := application.places(owner=owner()):
    found(every, pin)
else:
    greet(pin)
