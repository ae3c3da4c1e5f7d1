"""Texts of a place and of a route: category, rating, cost, distance, details and links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from urllib.parse import urlsplit

from pages.shared.localization import Language, Translator, create_translator, t
from research import Place, RecordedPlace, Route, SearchArea

CATEGORY_COLORS = {
    "food": "#b8420f",
    "sight": "#2f7d32",
    "family": "#b02a6b",
    "shop": "#7545b5",
    "hotel": "#2f57c4",
    "transport": "#0b7285",
    "culture": "#8a6410",
    "other": "#59646b",
}
CATEGORY_NAMES = tuple(CATEGORY_COLORS)
_DEGREES = r"([+-]?\d{1,3}(?:\.\d+)?)\s*°?"
_COORDINATES = re.compile(rf"\s*[(（\[]?\s*{_DEGREES}\s*(?:[,，、;；]|\s)\s*{_DEGREES}\s*[)）\]]?\s*")
_UNSAFE_CHARS = re.compile(r"[\s\x00-\x20\\\x7f]")


def category(place: Place) -> str:
    """Return the category of a place; an unknown one counts as "other"."""
    return place.category if place.category in CATEGORY_COLORS else "other"


def category_name(place: Place, translate: Translator = t) -> str:
    """Return the localised category of a place."""
    return translate(f"map.{category(place)}")


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


def route_facts(route: Route, translate: Translator = t) -> list[str]:
    """Return travel mode, length and duration of a route, as far as known."""
    time = format_minutes(route.seconds, translate) if route.seconds is not None else ""
    return [part for part in (translate(f"map.{route.travel_mode}"), format_distance(route.metres), time) if part]


def format_minutes(seconds: int, translate: Translator = t) -> str:
    """Format seconds as minutes or as hours and minutes; at least one minute."""
    whole = max(1, round(seconds / 60))
    if whole < 60:
        return translate("places.minutes", n=whole)
    return translate("places.hours_minutes", h=whole // 60, n=whole % 60)


def widening_notes(search_areas: Sequence[SearchArea], translate: Translator = t) -> Iterator[str]:
    """Yield a note for each search that reached farther than requested."""
    for area in search_areas:
        if area.requested_radius:
            distances = {"asked": format_distance(area.requested_radius), "far": format_distance(area.radius)}
            yield translate("map.widened", name=area.name, **distances)
