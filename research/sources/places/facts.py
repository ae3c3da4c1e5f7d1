"""What a map service says, as evidence: a line for each place, and for each way or forecast.

The lines are made of fixed words and of what the service gave, so that they can be quoted. Knows no
model and makes no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from research.evidence.registry import evidence_id
from research.i18n import message, speaker
from research.language.text import far
from research.places.coordinates import Point, to_gcj02
from research.places.look import Look
from research.places.service import ToolResult
from research.places.shapes import forecasts, number, route, ways
from research.records import Centre, Evidence, EvidenceKind, Language, Passage, Place, fingerprint

KIND: EvidenceKind = "place"
_POI = re.compile(r"[A-Z0-9]{8,12}")
_PUBLISHER = {"amap": "高德地图", "offline": "Sightline 离线示例"}
_DAY = {  # what is said of a day, by the names of Amap's fields
    "date": "date",
    "day": "dayweather",
    "night": "nightweather",
    "low": "nighttemp",
    "high": "daytemp",
}
_MEANS = {"0": "straight", "1": "driving", "3": "walking"}  # types of maps_distance


def remark(found: Look, unplaced: int, tongue: Language) -> str:
    say, said = speaker(tongue, "fact."), []
    if found.centre and found.centre.asked:
        reach = {"asked": far(found.centre.asked), "far": far(found.centre.radius)}
        said.append(say("wider" if found.places else "not wider", **reach))
    if unplaced:
        said.append(say("unplaced", n=unplaced))
    return message("mark.semicolon", tongue).join(said)


def evidence(place: Place, near: Centre | None, tongue: Language, retrieved: datetime) -> Evidence:
    text = described(place, near, tongue)
    live = place.provider == "amap" and _POI.fullmatch(place.id)
    url = f"https://www.amap.com/place/{place.id}" if live else ""
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


def _passage(locator: str, title: str, text: str) -> Passage:
    return Passage(id=fingerprint(locator, text), text=text, end=len(text), title=title)


def described(place: Place, near: Centre | None, tongue: Language) -> str:
    """What is known of a place, in one line of fixed words and the provider's own."""
    say = speaker(tongue, "fact.")
    kind = place.type.rsplit(";", 1)[-1]
    where = "".join(dict.fromkeys(filter(None, (place.city, place.district, place.address))))
    known = [
        say("address", where=where) if where else "",
        say("distance", centre=near.name, far=far(place.distance)) if near and place.distance is not None else "",
        say("rating", n=f"{place.rating:g}") if place.rating else "",
        say("cost", n=f"{place.cost:g}") if place.cost else "",
        say("hours", hours=place.hours) if place.hours else "",
        say("phone", phone=place.phone) if place.phone else "",
        say("sample") if place.sample else "",
    ]  # fmt: skip
    head = message("mark.aside", tongue, text=place.name, more=kind) if kind else place.name
    lines = message("mark.semicolon", tongue).join([head, *filter(None, known)])
    return lines + message("mark.stop", tongue)


def facts(told: Iterable[ToolResult], tongue: Language) -> Iterator[Evidence]:
    """What a model asked for that is no place: the way between two, the weather."""
    told = list(told)
    names = {
        spot(to_gcj02(area.point)): str(item.arguments["address"])
        for item in told
        for area in item.areas[:1]
    }
    names |= {spot(to_gcj02(Point(p.lng, p.lat))): p.name for item in told for p in item.places}
    for item in told:
        for title, text in _stated(item, names, tongue):
            locator = f"{item.tool} {json.dumps(dict(item.arguments), sort_keys=True)} {title}"
            yield Evidence(
                id=evidence_id(KIND, "", locator),
                kind=KIND,
                title=title,
                publisher=_PUBLISHER["offline" if item.sample else "amap"],
                locator=locator,
                language=tongue,
                retrieved=item.made,
                sample=item.sample,
                opening=title,
                passages=(_passage(locator, title, text),),
            )


def _stated(
    told: ToolResult, names: Mapping[str, str], tongue: Language
) -> Iterator[tuple[str, str]]:
    """Title and text of each fact in an answer."""

    def named(location: object) -> str:
        return _named(str(location), names)

    say = speaker(tongue, "fact.")
    means = next((word for word in ("walking", "driving", "bicycling", "transit") if word in told.tool), "")  # fmt: skip
    if means and (way := route(told.body)):
        start, end = named(told.arguments["origin"]), named(told.arguments["destination"])
        text = say(
            "way", means=say(means), start=start, end=end, far=far(way[0]), n=_minutes(way[1])
        )
        yield f"{say(means)}: {start} → {end}", text
    elif means and (seconds := _ride(told.body)):
        start, end = named(told.arguments["origin"]), named(told.arguments["destination"])
        text = say("ride", means=say(means), start=start, end=end, n=_minutes(seconds))
        yield f"{say(means)}: {start} → {end}", text
    elif told.tool == "maps_distance":
        end = named(told.arguments["destination"])
        origins = str(told.arguments["origins"]).split("|")
        measured = ways(told.body)
        label = say(_MEANS[str(told.arguments["type"])])
        if len(measured) != len(origins):  # nobody could tell which of them is missing
            return
        for origin, (metres_, time) in zip(origins, measured, strict=True):
            start = named(origin)
            text = say("apart", means=label, start=start, end=end, far=far(metres_))
            if time:
                text += message("mark.comma", tongue) + say("minutes", n=_minutes(time))
            yield f"{start} → {end}", text
    elif told.tool == "maps_weather" and (days := forecasts(told.body)):
        city = str(told.body.get("city") or told.arguments["city"])
        title = say("weather", city=city, date=days[0].get("date", ""))
        lines = [
            say("day", **{name: str(day.get(field, "")) for name, field in _DAY.items()})
            for day in days
        ]
        yield title, message("mark.semicolon", tongue).join(lines)


def _ride(answer: Mapping[str, Any]) -> int:
    """Seconds of the first way by public transport, of which Amap tells no length; 0 if unknown."""
    inner = answer.get("route")
    inner = inner if isinstance(inner, Mapping) else answer
    ways = inner.get("transits")
    first = ways[0] if isinstance(ways, list) and ways else None
    return round(number(first.get("duration")) or 0) if isinstance(first, Mapping) else 0


def _minutes(seconds: int) -> int:
    return max(1, round(seconds / 60))


def _named(location: str, names: Mapping[str, str]) -> str:
    """A place's name instead of its point, where one of that point is known."""
    try:
        lng, lat = (float(part) for part in location.split(","))
    except ValueError:
        return location
    return names.get(spot(Point(lng, lat)), location)


def spot(point: Point) -> str:
    """A point to about ten metres, as a key; first to the six decimals that tools are told."""
    return f"{round(point.lng, 6):.4f},{round(point.lat, 6):.4f}"
