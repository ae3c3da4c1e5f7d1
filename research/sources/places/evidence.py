"""What a map service says, as evidence: a line for each place, and for each way or forecast.

The lines are made of fixed words and of what the service gave, so that they can be quoted. Knows no
model and makes no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from research.citations.registry import evidence_id
from research.core.coordinates import Point, from_gcj02, to_gcj02
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
from research.core.text.tokenizer import format_distance, has_han
from research.sources.places import osm
from research.sources.places.directions import TOOL_BY_MODE, ParsedRoute, endpoints, parse_route
from research.sources.places.place_search import PlaceSearchResult, empty_sample_message
from research.sources.places.service import ToolResult
from research.sources.places.tool_responses import parse_distances, parse_forecasts

EVIDENCE_KIND: EvidenceKind = "place"
_AMAP_ID = re.compile(r"[A-Z0-9]{8,12}")
_MARKDOWN_SPECIAL = re.compile(r"[!-,/:-@\[-`{-~]")
_PUBLISHERS = {"amap": "高德地图", "offline": "Sightline 离线示例", "osm": ATTRIBUTIONS["osm"][0]}
_FORECAST_FIELDS = {  # what is said of a day, by the names of Amap's fields
    "date": "date",
    "day": "dayweather",
    "night": "nightweather",
    "low": "nighttemp",
    "high": "daytemp",
}
_UNKNOWN_MESSAGES = {  # of a place that is asked about by itself, and what is said where it is not known
    "hours": "no hours",
    "phone": "no phone",
    "rating": "no rating",
    "cost": "no cost",
}
_MODE_BY_TOOL = {tool: means for means, tool in TOOL_BY_MODE.items()}
_MODE_BY_DISTANCE_TYPE = {"0": "straight", "1": "driving", "3": "walking"}  # types of maps_distance


def search_message(search_result: PlaceSearchResult, unlocated_count: int, language: Language) -> str:
    say, said = translator(language, "fact."), []
    if not search_result.places and any(told.is_sample for told in search_result.results):  # which proves no absence
        return empty_sample_message(language)
    if search_result.centre and search_result.centre.asked:
        reach = {
            "asked": format_distance(search_result.centre.asked),
            "far": format_distance(search_result.centre.radius),
        }
        said.append(say("wider" if search_result.places else "not wider", **reach))
    if search_result.circles:
        said.append(say("along", n=len(search_result.circles), far=format_distance(search_result.circles[0].radius)))
    if unlocated_count:
        said.append(say("unplaced", n=unlocated_count))
    return message("mark.semicolon", language).join(said)


def build_place_evidence(
    place: Place,
    centre: SearchArea | None,
    language: Language,
    retrieved: datetime,
    *,
    list_unknown: bool = False,
) -> Evidence:
    """A place as evidence. With `whole` it is also said what is not known of it."""
    text = describe_place(place, centre, language, list_unknown=list_unknown)
    url = _place_url(place)
    locator = f"{place.provider}:{place.id or f'{place.lng:.6f},{place.lat:.6f}'}"
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, url, locator),
        kind=EVIDENCE_KIND,
        title=place.name,
        publisher=_PUBLISHERS.get(place.provider, place.provider),
        url=url,
        locator=locator,
        language=language,
        retrieved=retrieved,
        sample=place.sample,
        opening=place.name,
        passages=(_build_passage(locator, place.name, text),),
        place=place,
    )


def _place_url(place: Place) -> str:
    """The page of a place at the service that knows it; "" if there is none."""
    if place.provider == "osm":
        return osm.place_url(place.id)
    live = place.provider == "amap" and _AMAP_ID.fullmatch(place.id)
    return f"https://www.amap.com/place/{place.id}" if live else ""


def _format_address(place: Place) -> str:
    """Where a place is: Chinese parts as they are written together, others parted, the smallest first."""
    parts = list(dict.fromkeys(filter(None, (place.city, place.district, place.address))))
    return "".join(parts) if all(map(has_han, parts)) else ", ".join(reversed(parts))


def _build_passage(locator: str, title: str, text: str) -> Passage:
    return Passage(id=fingerprint(locator, text), text=text, end=len(text), title=title)


def describe_place(place: Place, centre: SearchArea | None, language: Language, *, list_unknown: bool = False) -> str:
    """What is known of a place, in one line of fixed words and the provider's own; in English with what
    these mean before them."""
    say = translator(language, "fact.")
    kind = place.type.rsplit(";", 1)[-1]
    where = _format_address(place)
    name = place.name
    if language == "en":
        name = f"{place.name_en} {name}" if place.name_en not in ("", name) else name
        where = f"{place.address_en} {where}".strip()
        kind = place.type_en or kind
    parts = {
        "distance": say("distance", centre=centre.name, far=format_distance(place.distance)) if centre and place.distance is not None else "",
        "rating": say("rating", n=f"{place.rating:g}") if place.rating else "",
        "cost": say("cost", n=f"{place.cost:g}") if place.cost else "",
        "hours": say("hours", hours=place.hours) if place.hours else "",
        "phone": say("phone", phone=place.phone) if place.phone else "",
    }  # fmt: skip
    known = [say("address", where=where) if where else "", *parts.values()]
    if list_unknown and (missing := [say(key) for part, key in _UNKNOWN_MESSAGES.items() if not parts[part]]):
        known.append(say("unknown", what=message("mark.list", language).join(missing)))
    known.append(say("sample") if place.sample else "")
    head = message("mark.aside", language, text=name, more=kind) if kind else name
    lines = message("mark.semicolon", language).join([head, *filter(None, known)])
    return lines + message("mark.stop", language)


@dataclass(frozen=True, slots=True)
class _Fact:
    """What an answer states, in a sentence and, of a way, what is to be done step by step."""

    title: str
    text: str
    route: Route | None = None
    steps: str = ""


def build_fact_evidence(
    results: Iterable[ToolResult], language: Language, places: Iterable[Place] = ()
) -> Iterator[Evidence]:
    """What the map said that is no place: the way between two, how far it is, the weather. `places` are
    known by other names than they were asked for by."""
    results = list(results)
    names = {
        point_key(to_gcj02(area.point)): str(item.arguments["address"]) for item in results for area in item.areas[:1]
    }
    known = (*(place for item in results for place in item.places), *places)
    names |= {point_key(to_gcj02(Point(p.lng, p.lat))): p.name for p in known}
    for item in results:
        for fact in _extract_facts(item, names, language):
            arguments = json.dumps(dict(item.arguments), sort_keys=True)
            locator = f"{item.tool} {arguments} {fact.title}"
            passages = [_build_passage(locator, fact.title, fact.text)]
            if fact.steps:
                passages.append(_build_passage(f"{locator} steps", fact.title, fact.steps))
            yield Evidence(
                id=evidence_id(EVIDENCE_KIND, "", locator),
                kind=EVIDENCE_KIND,
                title=fact.title,
                publisher=_PUBLISHERS.get(item.provider, item.provider),
                locator=locator,
                language=language,
                retrieved=item.fetched_at,
                sample=item.is_sample,
                opening=fact.title,
                passages=tuple(passages),
                way=fact.route,
            )


def _extract_facts(result: ToolResult, names: Mapping[str, str], language: Language) -> Iterator[_Fact]:
    if result.tool in _MODE_BY_TOOL:
        if found := parse_route(result.body):
            yield _route_fact(result, found, names, language)
    elif result.tool == "maps_distance":
        yield from _distance_facts(result, names, language)
    elif result.tool == "maps_weather" and (days := parse_forecasts(result.body)):
        say = translator(language, "fact.")
        city = str(result.body.get("city") or result.arguments["city"])
        lines = [
            say("day", **{name: str(day.get(field, "")) for name, field in _FORECAST_FIELDS.items()}) for day in days
        ]
        title = say("weather", city=city, date=days[0].get("date", ""))
        yield _Fact(title, message("mark.semicolon", language).join(lines))


def _route_fact(result: ToolResult, parsed: ParsedRoute, names: Mapping[str, str], language: Language) -> _Fact:
    say = translator(language, "fact.")
    means = _MODE_BY_TOOL[result.tool]
    start, end = (_point_name(str(result.arguments[name]), names) for name in ("origin", "destination"))
    ends_ = {"means": say(means), "start": start, "end": end}
    if parsed.metres is None:
        text = say("ride", n=to_minutes(parsed.seconds or 0), **ends_)
    else:
        text = say("way", far=format_distance(parsed.metres), n=to_minutes(parsed.seconds or 0), **ends_)
    if not parsed.line:
        text += message("mark.semicolon", language) + say("no line")
    steps = tuple(describe_steps(parsed, language))
    way = Route(
        origin=start,
        destination=end,
        means=means,
        metres=parsed.metres,
        seconds=parsed.seconds,
        line=parsed.line or endpoints(result),
        direct=not parsed.line,
        steps=steps,
    )
    numbered = (f"{n}. {step}" for n, step in enumerate(steps, 1))
    joined = message("mark.semicolon", language).join(numbered) if len(steps) > 1 else ""
    return _Fact(f"{say(means)}: {start} → {end}", text, way, joined)


def describe_steps(parsed: ParsedRoute, language: Language) -> Iterator[str]:
    """What there is to do on a way; what the map says of it itself stays as it is."""
    say = translator(language, "fact.")
    for part in parsed.steps:
        if part.text:
            yield part.text
        elif part.transit_line and part.start and part.end:
            yield say("ride from", line=part.transit_line, start=part.start, end=part.end)
        elif part.transit_line:
            yield part.transit_line
        elif part.metres:
            yield say("walk", far=format_distance(part.metres))


def _distance_facts(result: ToolResult, names: Mapping[str, str], language: Language) -> Iterator[_Fact]:
    say = translator(language, "fact.")
    place = str(result.arguments["destination"])
    origins = str(result.arguments["origins"]).split("|")
    found = parse_distances(result.body)
    means = _MODE_BY_DISTANCE_TYPE[str(result.arguments["type"])]
    if len(found) != len(origins):  # nobody could tell which of them is missing
        return
    for origin, (metres_, time) in zip(origins, found, strict=True):
        start, end = _point_name(origin, names), _point_name(place, names)
        text = say("apart", means=say(means), start=start, end=end, far=format_distance(metres_))
        if time:
            text += message("mark.comma", language) + say("minutes", n=to_minutes(time))
        way = None
        if means == "straight":
            line = (_parse_point(origin), _parse_point(place))
            way = Route(origin=start, destination=end, means="straight", metres=metres_, line=line, direct=True)  # fmt: skip
        yield _Fact(f"{start} → {end}", text, way)


def build_distance_table(distances: DistanceMatrix, fetched_at: datetime, language: Language) -> tuple[Evidence, Span]:
    """How far places are from one another, as evidence that says it in sentences, and as a table."""
    say = translator(language, "fact.")
    told, rows = [], [["", *distances.names], ["---"] * (len(distances.names) + 1)]
    for a, start in enumerate(distances.names):
        row = [start]
        for b, end in enumerate(distances.names):
            metres_ = distances.metres[a][b]
            row.append("–" if metres_ is None else format_distance(metres_))
            if metres_ is not None:
                told.append(say("apart", means=say(distances.means), start=start, end=end, far=format_distance(metres_)))  # fmt: skip
        rows.append(row)
    title = say("distances", means=say(distances.means))
    text = message("mark.semicolon", language).join(told)
    locator = f"maps_distance {distances.means} {' '.join(distances.names)}"
    item = Evidence(
        id=evidence_id(EVIDENCE_KIND, "", locator),
        kind=EVIDENCE_KIND,
        title=title,
        publisher=_PUBLISHERS["amap"],
        locator=locator,
        language=language,
        retrieved=fetched_at,
        opening=title,
        passages=(_build_passage(locator, title, text),),
    )
    cells = "\n".join("| " + " | ".join(map(_escape_cell, row)) + " |" for row in rows)
    cite = PassageReference(evidence=item.id, passage=item.passages[0].id, end=len(text))
    return item, Span(kind="text", text=f"{title}\n\n{cells}\n", cites=(cite,), made=True)


def _escape_cell(text: str) -> str:
    """Text in a cell of a Markdown table: nothing in it acts."""
    return _MARKDOWN_SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text) if text != "---" else text


def to_minutes(seconds: int) -> int:
    return max(1, round(seconds / 60))


def _parse_point(location: str) -> Point:
    lng, lat = (float(part) for part in location.split(","))
    return from_gcj02(Point(lng, lat))


def _point_name(location: str, names: Mapping[str, str]) -> str:
    """A place's name instead of its point, where one of that point is known."""
    point = _parse_point(location)
    known = names.get(point_key(to_gcj02(point)))
    return known or f"{point.lat:.5f}, {point.lng:.5f}"


def point_key(point: Point) -> str:
    """A point to about ten metres, as a key; first to the six decimals that tools are told."""
    return f"{round(point.lng, 6):.4f},{round(point.lat, 6):.4f}"
