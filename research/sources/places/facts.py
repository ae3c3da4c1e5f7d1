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
from research.core.i18n import message, speaker
from research.core.records import (
    CREDITS,
    Centre,
    Cite,
    Distances,
    Evidence,
    EvidenceKind,
    Language,
    Passage,
    Place,
    Span,
    Way,
    fingerprint,
)
from research.core.text.words import far, has_han
from research.sources.places import osm
from research.sources.places.directions import TOOLS, Path, ends, path
from research.sources.places.look import Look, nothing_in_sample
from research.sources.places.service import ToolResult
from research.sources.places.shapes import forecasts, ways

KIND: EvidenceKind = "place"
_POI = re.compile(r"[A-Z0-9]{8,12}")
_ACTIVE = re.compile(r"[!-,/:-@\[-`{-~]")
_PUBLISHER = {"amap": "高德地图", "offline": "Sightline 离线示例", "osm": CREDITS["osm"][0]}
_DAY = {  # what is said of a day, by the names of Amap's fields
    "date": "date",
    "day": "dayweather",
    "night": "nightweather",
    "low": "nighttemp",
    "high": "daytemp",
}
_ASKED = {  # of a place that is asked about by itself, and what is said where it is not known
    "hours": "no hours",
    "phone": "no phone",
    "rating": "no rating",
    "cost": "no cost",
}
_GOING = {tool: means for means, tool in TOOLS.items()}
_MEANS = {"0": "straight", "1": "driving", "3": "walking"}  # types of maps_distance


def remark(found: Look, unplaced: int, tongue: Language) -> str:
    say, said = speaker(tongue, "fact."), []
    if not found.places and any(told.sample for told in found.told):  # which proves no absence
        return nothing_in_sample(tongue)
    if found.centre and found.centre.asked:
        reach = {"asked": far(found.centre.asked), "far": far(found.centre.radius)}
        said.append(say("wider" if found.places else "not wider", **reach))
    if found.along:
        said.append(say("along", n=len(found.along), far=far(found.along[0].radius)))
    if unplaced:
        said.append(say("unplaced", n=unplaced))
    return message("mark.semicolon", tongue).join(said)


def evidence(
    place: Place,
    near: Centre | None,
    tongue: Language,
    retrieved: datetime,
    *,
    whole: bool = False,
) -> Evidence:
    """A place as evidence. With `whole` it is also said what is not known of it."""
    text = described(place, near, tongue, whole=whole)
    url = _page(place)
    locator = f"{place.provider}:{place.id or f'{place.lng:.6f},{place.lat:.6f}'}"
    return Evidence(
        id=evidence_id(KIND, url, locator),
        kind=KIND,
        title=place.name,
        publisher=_PUBLISHER.get(place.provider, place.provider),
        url=url,
        locator=locator,
        language=tongue,
        retrieved=retrieved,
        sample=place.sample,
        opening=place.name,
        passages=(_passage(locator, place.name, text),),
        place=place,
    )


def _page(place: Place) -> str:
    """The page of a place at the service that knows it; "" if there is none."""
    if place.provider == "osm":
        return osm.page(place.id)
    live = place.provider == "amap" and _POI.fullmatch(place.id)
    return f"https://www.amap.com/place/{place.id}" if live else ""


def _address(place: Place) -> str:
    """Where a place is: Chinese parts as they are written together, others parted, the smallest first."""
    parts = list(dict.fromkeys(filter(None, (place.city, place.district, place.address))))
    return "".join(parts) if all(map(has_han, parts)) else ", ".join(reversed(parts))


def _passage(locator: str, title: str, text: str) -> Passage:
    return Passage(id=fingerprint(locator, text), text=text, end=len(text), title=title)


def described(place: Place, near: Centre | None, tongue: Language, *, whole: bool = False) -> str:
    """What is known of a place, in one line of fixed words and the provider's own; in English with what
    these mean before them."""
    say = speaker(tongue, "fact.")
    kind = place.type.rsplit(";", 1)[-1]
    where = _address(place)
    name = place.name
    if tongue == "en":
        name = f"{place.name_en} {name}" if place.name_en not in ("", name) else name
        where = f"{place.address_en} {where}".strip()
        kind = place.type_en or kind
    parts = {
        "distance": say("distance", centre=near.name, far=far(place.distance)) if near and place.distance is not None else "",
        "rating": say("rating", n=f"{place.rating:g}") if place.rating else "",
        "cost": say("cost", n=f"{place.cost:g}") if place.cost else "",
        "hours": say("hours", hours=place.hours) if place.hours else "",
        "phone": say("phone", phone=place.phone) if place.phone else "",
    }  # fmt: skip
    known = [say("address", where=where) if where else "", *parts.values()]
    if whole and (missing := [say(key) for part, key in _ASKED.items() if not parts[part]]):
        known.append(say("unknown", what=message("mark.list", tongue).join(missing)))
    known.append(say("sample") if place.sample else "")
    head = message("mark.aside", tongue, text=name, more=kind) if kind else name
    lines = message("mark.semicolon", tongue).join([head, *filter(None, known)])
    return lines + message("mark.stop", tongue)


@dataclass(frozen=True, slots=True)
class _Fact:
    """What an answer states, in a sentence and, of a way, what is to be done step by step."""

    title: str
    text: str
    way: Way | None = None
    steps: str = ""


def facts(
    told: Iterable[ToolResult], tongue: Language, places: Iterable[Place] = ()
) -> Iterator[Evidence]:
    """What the map said that is no place: the way between two, how far it is, the weather. `places` are
    known by other names than they were asked for by."""
    told = list(told)
    names = {
        spot(to_gcj02(area.point)): str(item.arguments["address"])
        for item in told
        for area in item.areas[:1]
    }
    known = (*(place for item in told for place in item.places), *places)
    names |= {spot(to_gcj02(Point(p.lng, p.lat))): p.name for p in known}
    for item in told:
        for fact in _stated(item, names, tongue):
            arguments = json.dumps(dict(item.arguments), sort_keys=True)
            locator = f"{item.tool} {arguments} {fact.title}"
            passages = [_passage(locator, fact.title, fact.text)]
            if fact.steps:
                passages.append(_passage(f"{locator} steps", fact.title, fact.steps))
            yield Evidence(
                id=evidence_id(KIND, "", locator),
                kind=KIND,
                title=fact.title,
                publisher=_PUBLISHER.get(item.provider, item.provider),
                locator=locator,
                language=tongue,
                retrieved=item.made,
                sample=item.sample,
                opening=fact.title,
                passages=tuple(passages),
                way=fact.way,
            )


def _stated(told: ToolResult, names: Mapping[str, str], tongue: Language) -> Iterator[_Fact]:
    if told.tool in _GOING:
        if found := path(told.body):
            yield _way(told, found, names, tongue)
    elif told.tool == "maps_distance":
        yield from _measured(told, names, tongue)
    elif told.tool == "maps_weather" and (days := forecasts(told.body)):
        say = speaker(tongue, "fact.")
        city = str(told.body.get("city") or told.arguments["city"])
        lines = [
            say("day", **{name: str(day.get(field, "")) for name, field in _DAY.items()})
            for day in days
        ]
        title = say("weather", city=city, date=days[0].get("date", ""))
        yield _Fact(title, message("mark.semicolon", tongue).join(lines))


def _way(told: ToolResult, found: Path, names: Mapping[str, str], tongue: Language) -> _Fact:
    say = speaker(tongue, "fact.")
    means = _GOING[told.tool]
    start, end = (_named(str(told.arguments[name]), names) for name in ("origin", "destination"))
    ends_ = {"means": say(means), "start": start, "end": end}
    if found.metres is None:
        text = say("ride", n=minutes(found.seconds or 0), **ends_)
    else:
        text = say("way", far=far(found.metres), n=minutes(found.seconds or 0), **ends_)
    if not found.line:
        text += message("mark.semicolon", tongue) + say("no line")
    steps = tuple(stepped(found, tongue))
    way = Way(
        origin=start,
        destination=end,
        means=means,
        metres=found.metres,
        seconds=found.seconds,
        line=found.line or ends(told),
        direct=not found.line,
        steps=steps,
    )
    numbered = (f"{n}. {step}" for n, step in enumerate(steps, 1))
    joined = message("mark.semicolon", tongue).join(numbered) if len(steps) > 1 else ""
    return _Fact(f"{say(means)}: {start} → {end}", text, way, joined)


def stepped(found: Path, tongue: Language) -> Iterator[str]:
    """What there is to do on a way; what the map says of it itself stays as it is."""
    say = speaker(tongue, "fact.")
    for part in found.stretches:
        if part.text:
            yield part.text
        elif part.ride and part.start and part.end:
            yield say("ride from", line=part.ride, start=part.start, end=part.end)
        elif part.ride:
            yield part.ride
        elif part.metres:
            yield say("walk", far=far(part.metres))


def _measured(told: ToolResult, names: Mapping[str, str], tongue: Language) -> Iterator[_Fact]:
    say = speaker(tongue, "fact.")
    place = str(told.arguments["destination"])
    origins = str(told.arguments["origins"]).split("|")
    found = ways(told.body)
    means = _MEANS[str(told.arguments["type"])]
    if len(found) != len(origins):  # nobody could tell which of them is missing
        return
    for origin, (metres_, time) in zip(origins, found, strict=True):
        start, end = _named(origin, names), _named(place, names)
        text = say("apart", means=say(means), start=start, end=end, far=far(metres_))
        if time:
            text += message("mark.comma", tongue) + say("minutes", n=minutes(time))
        way = None
        if means == "straight":
            line = (_point(origin), _point(place))
            way = Way(origin=start, destination=end, means="straight", metres=metres_, line=line, direct=True)  # fmt: skip
        yield _Fact(f"{start} → {end}", text, way)


def table(found: Distances, made: datetime, tongue: Language) -> tuple[Evidence, Span]:
    """How far places are from one another, as evidence that says it in sentences, and as a table."""
    say = speaker(tongue, "fact.")
    told, rows = [], [["", *found.names], ["---"] * (len(found.names) + 1)]
    for a, start in enumerate(found.names):
        row = [start]
        for b, end in enumerate(found.names):
            metres_ = found.metres[a][b]
            row.append("–" if metres_ is None else far(metres_))
            if metres_ is not None:
                told.append(say("apart", means=say(found.means), start=start, end=end, far=far(metres_)))  # fmt: skip
        rows.append(row)
    title = say("distances", means=say(found.means))
    text = message("mark.semicolon", tongue).join(told)
    locator = f"maps_distance {found.means} {' '.join(found.names)}"
    item = Evidence(
        id=evidence_id(KIND, "", locator),
        kind=KIND,
        title=title,
        publisher=_PUBLISHER["amap"],
        locator=locator,
        language=tongue,
        retrieved=made,
        opening=title,
        passages=(_passage(locator, title, text),),
    )
    cells = "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows)
    cite = Cite(evidence=item.id, passage=item.passages[0].id, end=len(text))
    return item, Span(kind="text", text=f"{title}\n\n{cells}\n", cites=(cite,), made=True)


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table: nothing in it acts."""
    return _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", text) if text != "---" else text


def minutes(seconds: int) -> int:
    return max(1, round(seconds / 60))


def _point(location: str) -> Point:
    lng, lat = (float(part) for part in location.split(","))
    return from_gcj02(Point(lng, lat))


def _named(location: str, names: Mapping[str, str]) -> str:
    """A place's name instead of its point, where one of that point is known."""
    point = _point(location)
    known = names.get(spot(to_gcj02(point)))
    return known or f"{point.lat:.5f}, {point.lng:.5f}"


def spot(point: Point) -> str:
    """A point to about ten metres, as a key; first to the six decimals that tools are told."""
    return f"{round(point.lng, 6):.4f},{round(point.lat, 6):.4f}"
