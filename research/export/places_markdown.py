"""The table of places of a Markdown report."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Evidence, Place, Report, SearchArea
from research.export.markdown_escaping import bullet_list, escape_markdown, markdown_link, markdown_table
from research.export.report_facts import collect_report_evidence, source_numbers
from research.export.report_texts import has_report_text
from research.export.sources_markdown import source_name

MAX_PLACES = 200  # rows of the table of places


def place_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield a table of the places, cited ones first."""
    places = listed_places(report, cited)
    if not places:
        return
    centre_by_place = _centres_by_place(report)
    centres = dict.fromkeys(centre_by_place.values())
    has_several_centres = len({centre.name for centre in centres}) > 1
    yield f"## {translate('places')}"
    yield from bullet_list(_centre_line(centre, translate) for centre in centres)
    head = [translate(f"place.{column}") for column in _PLACE_COLUMNS]
    rows = []
    for number, item, place in places[:MAX_PLACES]:
        citation = translate("cite", number=number) if number else "—"
        centre = centre_by_place.get(item.id) if has_several_centres else None
        rows.append([citation, *_place_row(item, place, centre, translate)])
    yield from markdown_table(head, rows)
    if len(places) > MAX_PLACES:
        yield translate("places left out", count=len(places) - MAX_PLACES)


_PLACE_COLUMNS = ("number", "name", "category", "address", "distance", "rating", "cost", "hours", "coordinates")


def listed_places(report: Report, cited: CitedAnswer | None) -> list[tuple[int, Evidence, Place]]:
    """Return the places of a report with their citation numbers, cited ones first; 0 if not cited."""
    numbers = source_numbers(cited)
    items = [source.evidence for source in cited.sources] if cited else []
    items += [item for item in collect_report_evidence(report) if item.id not in numbers]
    return [(numbers.get(item.id, 0), item, item.place) for item in items if item.place]


def _centres_by_place(report: Report) -> dict[str, SearchArea]:
    """Map evidence ids of places to the search area in which they were first found."""
    registry = collect_report_evidence(report)
    centre_by_place: dict[str, SearchArea] = {}
    for finding in report.findings:
        for item in finding.evidence:
            known = registry.get(item.id)
            if finding.search_area and item.place and known:
                centre_by_place.setdefault(known.id, finding.search_area)
    return centre_by_place


def _centre_line(centre: SearchArea, translate: Translator) -> str:
    position = _format_position(centre)
    radius = translate("radius", far=_format_distance(centre.radius, translate)) if centre.radius > 0 else ""
    if centre.requested_radius:
        radius = translate("widened", radius=radius, asked=_format_distance(centre.requested_radius, translate))
    facts = [escape_markdown(centre.name) or translate("untitled"), position, radius]
    return translate("centre", what=translate("comma").join(fact for fact in facts if fact))


def _place_row(item: Evidence, place: Place, search_centre: SearchArea | None, translate: Translator) -> Iterator[str]:
    """Yield the cells of a place after its number, with the centre if there are several."""
    name = markdown_link(place.name.strip() or source_name(item, translate), item.url)
    yield f"{name} · {translate('sample')}" if place.sample else name
    category = f"category.{place.category}"
    yield translate(category) if has_report_text(category) else escape_markdown(place.category)
    yield escape_markdown(" ".join(dict.fromkeys([place.city, place.district, place.address])))
    distance = "" if place.distance is None else _format_distance(place.distance, translate)
    yield (
        f"{distance} · {escape_markdown(search_centre.name)}"
        if distance and search_centre and search_centre.name.strip()
        else distance
    )
    yield _format_number(place.rating)
    yield _format_number(place.cost)
    yield escape_markdown(place.hours)
    yield _format_position(place)


def _format_position(point: Place | SearchArea) -> str:
    known = abs(point.lng) <= 180 and abs(point.lat) <= 90
    return f"{point.lat:z.6f}, {point.lng:z.6f}" if known else "—"


def _format_distance(metres: int, translate: Translator) -> str:
    """Format a distance in metres or kilometres."""
    if metres < 1_000:
        return translate("metres", count=metres)
    return translate("kilometres", count=f"{metres / 1_000:,.1f}")


def _format_number(value: float | None) -> str:
    """Format a number without trailing zeros: 60, not 60.00; "" if it is unknown."""
    if value is None or not isfinite(value):
        return ""
    return f"{value:.2f}".rstrip("0").rstrip(".")
