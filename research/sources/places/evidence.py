"""Conversion of map results to evidence: one line for each place, route or forecast.

The lines consist of fixed words and of values from the service, so that they can be quoted. No
model is used and no request is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from research.citations.registry import evidence_id
from research.core.coordinates import Point, format_distance, to_gcj02
from research.core.i18n import message, translator
from research.core.records import (
    ATTRIBUTIONS,
    DistanceMatrix,
    Evidence,
    EvidenceKind,
    Language,
    Passage,
    PassageReference,
    Place,
    Route,
    SearchArea,
    Span,
    fingerprint,
)
from research.core.text.tokenizer import has_han
from research.sources.places import osm
from research.sources.places.directions import DISTANCE_TYPES, TOOL_BY_MODE, ParsedRoute, endpoints, parse_route
from research.sources.places.place_search import PlaceSearchResult, empty_sample_message
from research.sources.places.service import ToolResult
from research.sources.places.tool_responses import (
    parse_distances,
    parse_forecasts,
    parse_gcj02,
    place_point,
    point_label,
)

EVIDENCE_KIND: EvidenceKind = "place"
_AMAP_ID = re.compile(r"[A-Z0-9]{8,12}")
_MARKDOWN_SPECIAL = re.compile(r"[!-,/:-@\[-`{-~]")
_PUBLISHERS = {"amap": "高德地图", "offline": "Sightline 离线示例", "osm": ATTRIBUTIONS["osm"][0]}
_FORECAST_FIELDS = {  # Amap's field for each value of the message about a day
    "date": "date",
    "day": "dayweather",
    "night": "nightweather",
    "low": "nighttemp",
    "high": "daytemp",
}
_UNKNOWN_MESSAGES = {  # message for each unknown detail of a place that was requested by name
    "hours": "no hours",
    "phone": "no phone",
    "rating": "no rating",
    "cost": "no cost",
}
_MODE_BY_TOOL = {tool: mode for mode, tool in TOOL_BY_MODE.items()}
_MODE_BY_DISTANCE_TYPE = {type_: mode for mode, type_ in DISTANCE_TYPES.items()}


def search_message(search_result: PlaceSearchResult, unlocated_count: int, language: Language) -> str:
    """Return a message on the extent of a search, or that the sample has no such place."""
    translate, parts = translator(language, "fact."), []
    # An empty sample does not prove absence.
    if not search_result.places and any(result.is_sample for result in search_result.results):
        return empty_sample_message(language)
    if search_result.centre and search_result.centre.requested_radius:
        reach = {
            "asked": format_distance(search_result.centre.requested_radius),
            "far": format_distance(search_result.centre.radius),
        }
        parts.append(translate("wider" if search_result.places else "not wider", **reach))
    if search_result.circles:
        parts.append(
            translate("along", n=len(search_result.circles), far=format_distance(search_result.circles[0].radius))
        )
    if unlocated_count:
        parts.append(translate("unplaced", n=unlocated_count))
    return message("mark.semicolon", language).join(parts)


def build_place_evidence(
    place: Place,
    centre: SearchArea | None,
    language: Language,
    retrieved: datetime,
    *,
    list_unknown: bool = False,
) -> Evidence:
    """Return a place as evidence. With `list_unknown` the text also lists the unknown details."""
    text = describe_place(place, centre, language, list_unknown=list_unknown)
    url = _place_url(place)
    locator = f"{place.provider}:{place.id or f'{place.lng:.6f},{place.lat:.6f}'}"
    passages = (_build_passage(locator, place.name, text),)
    return _make_evidence(
        place.name, locator, passages, language, retrieved, place.provider, sample=place.sample, url=url, place=place
    )


def _make_evidence(
    title: str,
    locator: str,
    passages: tuple[Passage, ...],
    language: Language,
    retrieved: datetime,
    provider: str,
    *,
    url: str = "",
    **fields: Any,
) -> Evidence:
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, url, locator),
        kind=EVIDENCE_KIND,
        title=title,
        publisher=_PUBLISHERS.get(provider, provider),
        url=url,
        locator=locator,
        language=language,
        retrieved=retrieved,
        opening=title,
        passages=passages,
        **fields,
    )


def _place_url(place: Place) -> str:
    """Return the page of a place at its provider, or ""."""
    if place.provider == "osm":
        return osm.place_url(place.id)
    live = place.provider == "amap" and _AMAP_ID.fullmatch(place.id)
    return f"https://www.amap.com/place/{place.id}" if live else ""


def _format_address(place: Place) -> str:
    """Return the address of a place.

    Chinese parts are joined without separators, from the largest; others with commas, from the
    smallest.
    """
    parts = list(dict.fromkeys(filter(None, (place.city, place.district, place.address))))
    return "".join(parts) if all(map(has_han, parts)) else ", ".join(reversed(parts))


def _build_passage(locator: str, title: str, text: str) -> Passage:
    return Passage(id=fingerprint(locator, text), text=text, end=len(text), title=title)


def describe_place(place: Place, centre: SearchArea | None, language: Language, *, list_unknown: bool = False) -> str:
    """Return one line with the known details of a place, in fixed words and the provider's own.

    In English the English name, type and address come first where they are known.
    """
    translate = translator(language, "fact.")
    kind = place.type.rsplit(";", 1)[-1]
    address = _format_address(place)
    name = place.name
    if language == "en":
        name = f"{place.name_en} {name}" if place.name_en not in ("", name) else name
        address = f"{place.address_en} {address}".strip()
        kind = place.type_en or kind
    parts = {
        "distance": translate("distance", centre=centre.name, far=format_distance(place.distance))
        if centre and place.distance is not None
        else "",
        "rating": translate("rating", n=f"{place.rating:g}") if place.rating else "",
        "cost": translate("cost", n=f"{place.cost:g}") if place.cost else "",
        "hours": translate("hours", hours=place.hours) if place.hours else "",
        "phone": translate("phone", phone=place.phone) if place.phone else "",
    }
    known = [translate("address", where=address) if address else "", *parts.values()]
    if list_unknown and (missing := [translate(key) for part, key in _UNKNOWN_MESSAGES.items() if not parts[part]]):
        known.append(translate("unknown", what=message("mark.list", language).join(missing)))
    known.append(translate("sample") if place.sample else "")
    head = message("mark.aside", language, text=name, more=kind) if kind else name
    lines = message("mark.semicolon", language).join([head, *filter(None, known)])
    return lines + message("mark.stop", language)


@dataclass(frozen=True, slots=True)
class _Fact:
    """A statement of a map result; for a route also its geometry and its numbered steps."""

    title: str
    text: str
    route: Route | None = None
    steps: str = ""


def build_fact_evidence(
    results: Iterable[ToolResult], language: Language, places: Iterable[Place] = ()
) -> Iterator[Evidence]:
    """Yield evidence for results other than places: routes, distances and forecasts.

    `places` provide names for the points of routes and distances.
    """
    results = list(results)
    names = {
        point_key(to_gcj02(area.point)): str(item.arguments["address"]) for item in results for area in item.areas[:1]
    }
    known = (*(place for item in results for place in item.places), *places)
    names |= {point_key(to_gcj02(place_point(p))): p.name for p in known}
    for item in results:
        for fact in _extract_facts(item, names, language):
            arguments = json.dumps(dict(item.arguments), sort_keys=True)
            locator = f"{item.tool} {arguments} {fact.title}"
            passages = [_build_passage(locator, fact.title, fact.text)]
            if fact.steps:
                passages.append(_build_passage(f"{locator} steps", fact.title, fact.steps))
            yield _make_evidence(
                fact.title,
                locator,
                tuple(passages),
                language,
                item.fetched_at,
                item.provider,
                sample=item.is_sample,
                way=fact.route,
            )


def _extract_facts(result: ToolResult, names: Mapping[str, str], language: Language) -> Iterator[_Fact]:
    if result.tool in _MODE_BY_TOOL:
        if parsed := parse_route(result.body):
            yield _route_fact(result, parsed, names, language)
    elif result.tool == "maps_distance":
        yield from _distance_facts(result, names, language)
    elif result.tool == "maps_weather" and (days := parse_forecasts(result.body)):
        translate = translator(language, "fact.")
        city = str(result.body.get("city") or result.arguments["city"])
        lines = [
            translate("day", **{name: str(day.get(field, "")) for name, field in _FORECAST_FIELDS.items()})
            for day in days
        ]
        title = translate("weather", city=city, date=days[0].get("date", ""))
        yield _Fact(title, message("mark.semicolon", language).join(lines))


def _route_fact(result: ToolResult, parsed: ParsedRoute, names: Mapping[str, str], language: Language) -> _Fact:
    translate = translator(language, "fact.")
    mode = _MODE_BY_TOOL[result.tool]
    start, end = (_point_name(str(result.arguments[name]), names) for name in ("origin", "destination"))
    values = {"means": translate(mode), "start": start, "end": end}
    if parsed.metres is None:
        text = translate("ride", n=to_minutes(parsed.seconds or 0), **values)
    else:
        text = translate("way", far=format_distance(parsed.metres), n=to_minutes(parsed.seconds or 0), **values)
    if not parsed.line:
        text += message("mark.semicolon", language) + translate("no line")
    steps = tuple(describe_steps(parsed, language))
    route = Route(
        origin=start,
        destination=end,
        travel_mode=mode,
        metres=parsed.metres,
        seconds=parsed.seconds,
        line=parsed.line or endpoints(result),
        straight_line=not parsed.line,
        steps=steps,
    )
    numbered = (f"{n}. {step}" for n, step in enumerate(steps, 1))
    steps_text = message("mark.semicolon", language).join(numbered) if len(steps) > 1 else ""
    return _Fact(f"{translate(mode)}: {start} → {end}", text, route, steps_text)


def describe_steps(parsed: ParsedRoute, language: Language) -> Iterator[str]:
    """Yield the steps of a route in words; instructions of the map service are unchanged."""
    translate = translator(language, "fact.")
    for step in parsed.steps:
        if step.text:
            yield step.text
        elif step.transit_line and step.start and step.end:
            yield translate("ride from", line=step.transit_line, start=step.start, end=step.end)
        elif step.transit_line:
            yield step.transit_line
        elif step.metres:
            yield translate("walk", far=format_distance(step.metres))


def _distance_facts(result: ToolResult, names: Mapping[str, str], language: Language) -> Iterator[_Fact]:
    translate = translator(language, "fact.")
    destination = str(result.arguments["destination"])
    origins = str(result.arguments["origins"]).split("|")
    distances = parse_distances(result.body)
    mode = _MODE_BY_DISTANCE_TYPE[str(result.arguments["type"])]
    if len(distances) != len(origins):  # it is unknown which of them is missing
        return
    for origin, (metres, time) in zip(origins, distances, strict=True):
        start, end = _point_name(origin, names), _point_name(destination, names)
        text = translate("apart", means=translate(mode), start=start, end=end, far=format_distance(metres))
        if time:
            text += message("mark.comma", language) + translate("minutes", n=to_minutes(time))
        route = None
        if mode == "straight":
            line = (parse_gcj02(origin), parse_gcj02(destination))
            route = Route(
                origin=start, destination=end, travel_mode="straight", metres=metres, line=line, straight_line=True
            )
        yield _Fact(f"{start} → {end}", text, route)


def build_distance_table(distances: DistanceMatrix, fetched_at: datetime, language: Language) -> tuple[Evidence, Span]:
    """Return the distances between places as evidence in sentences, and as a Markdown table."""
    translate = translator(language, "fact.")
    sentences, rows = [], [["", *distances.names], ["---"] * (len(distances.names) + 1)]
    for a, start in enumerate(distances.names):
        row = [start]
        for b, end in enumerate(distances.names):
            metres = distances.metres[a][b]
            row.append("–" if metres is None else format_distance(metres))
            if metres is not None:
                sentences.append(
                    translate(
                        "apart",
                        means=translate(distances.travel_mode),
                        start=start,
                        end=end,
                        far=format_distance(metres),
                    )
                )
        rows.append(row)
    title = translate("distances", means=translate(distances.travel_mode))
    text = message("mark.semicolon", language).join(sentences)
    locator = f"maps_distance {distances.travel_mode} {' '.join(distances.names)}"
    passages = (_build_passage(locator, title, text),)
    item = _make_evidence(title, locator, passages, language, fetched_at, "amap")
    cells = "\n".join("| " + " | ".join(map(_escape_cell, row)) + " |" for row in rows)
    cite = PassageReference(evidence=item.id, passage=item.passages[0].id, end=len(text))
    return item, Span(kind="text", text=f"{title}\n\n{cells}\n", references=(cite,), generated=True)


def _escape_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table, so that nothing in it acts as markup."""
    return _MARKDOWN_SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text) if text != "---" else text


def to_minutes(seconds: int) -> int:
    """Convert seconds to minutes, at least one."""
    return max(1, round(seconds / 60))


def _point_name(location: str, names: Mapping[str, str]) -> str:
    """Return the name of the place at a point "lng,lat" in GCJ-02, or its WGS-84 coordinates."""
    point = parse_gcj02(location)
    return names.get(point_key(to_gcj02(point))) or point_label(point)


def point_key(point: Point) -> str:
    """Return a key that points within about ten metres of each other share.

    Points in tool arguments have six decimals, so any other point is rounded to six first.
    """
    return f"{round(point.lng, 6):.4f},{round(point.lat, 6):.4f}"
