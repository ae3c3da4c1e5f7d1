"""All places that were found: filter, compare, plan a day, take away, and look around a point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import layout
from pages.shared import map as maps
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import lang, local_time, number, t
from research import Centre, Finding, Place, Route, Sighting, Way, runs

KEY = "all"  # of the map of this page
RADII = (300, 500, 1000, 2000, 3000, 5000, 10_000)  # metres
RATINGS = (0.0, 3.0, 3.5, 4.0, 4.5)
COMPARED = (2, 5)  # places in one table, at least and at most
STOPS = (2, 20)  # of a day
MEANS = {
    "walking": "places.walking",
    "bicycling": "places.bicycling",
    "driving": "places.driving",
    "transit": "places.transit",
    "straight": "places.straight",
}
MEASURED = {
    "walking": "places.walking_help",
    "driving": "places.driving_help",
    "straight": "places.straight_help",
}


# Looking around a point


def search() -> None:
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
        go = button.form_submit_button(
            t("places.search"),
            type="primary",
            key="places_search",
            icon=":material/search:",
            width="stretch",
        )
    quota()
    if go:
        look()
    if failed := st.session_state.get("places_failed"):
        tell(failed)


def quota() -> None:
    left = runs.quota(owner=owner())
    if left is not None:
        st.caption(t("places.quota", left=number(left[0]), limit=number(left[1])))


def look() -> None:
    where = st.session_state.places_where.strip()
    st.session_state.pop("places_failed", None)
    if not where:
        st.error(t("places.nowhere"))
        return
    with st.spinner(t("places.searching")):
        finding = runs.nearby(
            maps.coordinates(where) or where,
            st.session_state.places_what.strip(),
            st.session_state.places_radius,
            language=lang(),
            owner=owner(),
        )
    if finding.reason or not finding.places:
        st.session_state.places_failed = finding
        return
    st.session_state.places_last = finding
    st.session_state.places_again = True
    st.rerun()


def tell(finding: Finding) -> None:
    """Why a search has brought nothing."""
    st.warning(why(finding.reason or "empty", finding.hint, finding.message))


def why(reason: str, hint: str, message: str) -> str:
    """Why the map did not answer. What it says itself may be in another language than the page, and
    is left out where a hint says it."""
    if reason in ("unclear", "empty"):  # said for the visitor
        return plain(message, 400) or t(f"reason.{reason}")
    own = t(f"hint.{hint}") if hint else t("places.said", text=plain(message, 400))
    return f"{t(f'reason.{reason}')} — {own}"


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
            query_params={"run": run},
        )


# Filters


def filtered(seen: Sequence[Sighting]) -> tuple[list[Sighting], list[Centre]]:
    """What the visitor wants to see of all places, and the point that these lie around."""
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
        centres = [last.centre] if last.centre else []
    else:
        found = [item for item in seen if not question or question in item.runs]
        centres = []
    keep = [
        item
        for item in found
        if (not kinds or maps.category(item.place) in kinds)
        and (not cities or item.place.city in cities)
        and (item.place.rating or 0) >= least
        and text in words(item.place)
    ]
    return keep, centres


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
        st.button(
            t("places.clear"),
            key="places_clear",
            type="tertiary",
            on_click=marked.clear,
            disabled=not chosen,
        )
    st.caption(t("places.chosen_help", compared=COMPARED[1], stops=STOPS[1]))
    if plan:
        with st.spinner(t("places.measuring")):
            st.session_state.places_route = runs.day([item.place for item in chosen], owner=owner())
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
    table = [table_row("", [f"**{plain(place.name, 80)}**" for place in places])]
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
        parts.append(minutes(sum(timed)))
    st.markdown(plain(" · ".join(parts)))
    st.caption(measured(route))
    if route.failure:
        failure = route.failure
        told_ = why(failure.reason, failure.hint, failure.message)
        st.info(t("places.day_failed", why=told_))
    maps.draw(stops, key="day", line=True)
    legs(route)
    maps.downloads(stops, (), t("places.day_title"), file("day"), key="day", line=True)


def measured(route: Route) -> str:
    """How the ways were measured, as a sentence for each way of doing so."""
    kinds = dict.fromkeys(leg.means for leg in route.legs)
    return " ".join(t(MEASURED[kind]) for kind in kinds)


def legs(route: Route) -> None:
    stops = [f"{n} · {place.name}" for n, place in enumerate(route.places, 1)]
    rows = [leg_row(leg, *ends) for leg, ends in zip(route.legs, pairwise(stops), strict=True)]
    columns = ("from", "to", "distance", "time", "means")
    st.dataframe(
        pd.DataFrame(rows, columns=list(columns)),
        hide_index=True,
        key="places_legs",
        alt=t("places.legs_alt"),
        column_config={
            name: st.column_config.TextColumn(label)
            for name, label in zip(
                columns,
                (
                    t("places.from"),
                    t("places.to"),
                    t("places.distance"),
                    t("places.time"),
                    t("places.means"),
                ),
                strict=True,
            )
        },
    )


def leg_row(leg: Way, origin: str, destination: str) -> tuple[Any, ...]:
    time = minutes(leg.seconds) if leg.seconds is not None else "–"
    return origin, destination, maps.distance(leg.metres), time, t(MEANS[leg.means])


def minutes(seconds: int) -> str:
    whole = max(1, round(seconds / 60))
    if whole < 60:
        return t("places.minutes", n=whole)
    return t("places.hours_minutes", h=whole // 60, n=whole % 60)


def file(what: str) -> str:
    return f"sightline-{what}-{datetime.now(UTC):%Y%m%d-%H%M}"


layout.header(t("places.title"), t("places.lead"))
search()
every = runs.places(owner=owner())
if not every:
    st.caption(t("places.empty"))
else:
    shown, spots = filtered(every)
    st.caption(told(len(shown), len(every), any(item.place.sample for item in shown)))
    if shown:
        maps.draw(shown, spots, key=KEY, tick=True, on_card=around)
    else:
        st.caption(t("places.none"))
    picked = selection(every)
    exported = picked or shown
    if exported:
        what = "places.export_chosen" if picked else "places.export_shown"
        st.caption(t(what, n=number(len(exported))))
        maps.downloads(exported, spots, t("places.title"), file("places"), key=KEY)
    if COMPARED[0] <= len(picked) <= COMPARED[1]:
        compare(picked)
    planned: Route | None = st.session_state.get("places_route")
    if planned and {place.id for place in planned.places} == {item.place.id for item in picked}:
        day(picked, planned)
