"""Places and routes as GeoJSON, KML and CSV.

Coordinates are WGS-84 with 6 decimals (11 cm), longitude first. Unknown values are omitted or are
empty cells. A place off the globe (see `is_on_globe`) raises ValueError, because a file that
silently lacks a place would look complete; callers that would rather omit it check first.

All three formats are text that has to be encoded as UTF-8. Writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from html import escape
from math import isfinite
from typing import Any

from lxml import etree

from research.core.records import Place, Route, TravelMode
from research.core.text.control_chars import replace_surrogates
from research.export.spreadsheet_text import INVALID_XML_CHAR, format_plain_number
from research.export.table_csv import table_csv
from research.export.table_model import ExportColumn, ExportTable

KML_NAMESPACE = "http://www.opengis.net/kml/2.2"
CSV_COLUMNS = (
    "name", "lng", "lat", "category", "address", "city", "district", "distance_m", "rating",
    "cost_cny", "hours", "phone", "provider", "id", "attribution",
)  # fmt: skip

# Line colours of routes, in the order of KML: opacity, blue, green, red.
_ROUTE_COLORS: dict[TravelMode, str] = {
    "walking": "ff327d2f",
    "bicycling": "ff0f42b8",
    "driving": "ffc4572f",
    "transit": "ffb54575",
    "straight": "ff6b6459",
}
_EXPORT_NAMES = {"distance": "distance_m", "cost": "cost_cny"}


def is_on_globe(place: Place) -> bool:
    """Return whether the coordinates of a place are finite and in range."""
    return -180 <= place.lng <= 180 and -90 <= place.lat <= 90


def has_line_on_globe(route: Route) -> bool:
    """Return whether a route has a line, all of it on the globe."""
    return len(route.line) > 1 and all(-180 <= lng <= 180 and -90 <= lat <= 90 for lng, lat in route.line)


def places_geojson(places: Iterable[Place], provenance: Sequence[str] = (), routes: Iterable[Route] = ()) -> str:
    """Return a GeoJSON FeatureCollection (RFC 7946) of places and lines of routes.

    All known fields are properties. The provenance lines are the foreign member "sightline". Half a
    surrogate pair becomes U+FFFD, as UTF-8 cannot encode it.

    Raises:
        ValueError: a place or the line of a route is not on the globe.
    """
    collection: dict[str, Any] = {"type": "FeatureCollection"}
    if provenance:
        collection["sightline"] = list(provenance)
    collection["features"] = [*map(_place_feature, places), *map(_route_feature, routes)]
    text = json.dumps(collection, ensure_ascii=False, allow_nan=False, indent=2)
    return replace_surrogates(text) + "\n"


def places_kml(
    places: Iterable[Place], title: str, provenance: Sequence[str] = (), routes: Iterable[Route] = ()
) -> str:
    """Return an OGC KML 2.2 document with a placemark for each place and route.

    The provenance lines are the description of the document. Viewers read descriptions as HTML, so
    these are escaped and can only be text; names and data are never read as HTML. Characters that XML 1.0
    forbids are dropped.

    Raises:
        ValueError: a place or the line of a route is not on the globe.
    """
    root = etree.Element(f"{{{KML_NAMESPACE}}}kml", nsmap={None: KML_NAMESPACE})
    document = _add_child(root, "Document")
    _add_child(document, "name", title)
    if provenance:
        _add_child(document, "description", _escape_description("\n".join(provenance)))
    for place in places:
        _add_placemark(document, place)
    for route in routes:
        _add_route_placemark(document, route)
    written = etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
    return str(written, "utf-8")


def places_csv(places: Iterable[Place]) -> str:
    """Return a table of `CSV_COLUMNS` as CSV, with a row for each place.

    It begins with a byte order mark, and cells are escaped by `spreadsheet_text.csv_cell`.

    Raises:
        ValueError: a place is not on the globe.
    """
    columns = [ExportColumn(name) for name in CSV_COLUMNS]
    return str(table_csv([ExportTable("", columns, map(_csv_row, places))]), "utf-8")


def _csv_row(place: Place) -> list[Any]:
    position = dict(zip(("lng", "lat"), map(Decimal, _format_position(place)), strict=True))
    known = _known_fields(place) | position
    return [known.get(column) for column in CSV_COLUMNS]


def _format_position(place: Place) -> tuple[str, str]:
    """Format longitude and latitude, never as "-0.000000"."""
    if not is_on_globe(place):
        raise ValueError(f"the place {place.id!r} is not on the globe: {place.lng}, {place.lat}")
    return f"{place.lng:z.6f}", f"{place.lat:z.6f}"


def _known_fields(place: Place) -> dict[str, Any]:
    """Return the known fields of a place except its position, under their export names."""
    fields = place.model_dump(exclude={"lng", "lat"}) | {"attribution": place.attribution}
    return {_EXPORT_NAMES.get(key, key): value for key, value in fields.items() if _is_known(value)}


def _is_known(value: Any) -> bool:
    return isfinite(value) if isinstance(value, float) else value not in ("", None, ())


# --- GeoJSON


def _place_feature(place: Place) -> dict[str, Any]:
    properties = {key: value for key, value in _known_fields(place).items() if key != "id"}
    return {
        "type": "Feature",
        "id": place.id,
        "geometry": {"type": "Point", "coordinates": [float(part) for part in _format_position(place)]},
        "properties": properties,
    }


def _route_feature(route: Route) -> dict[str, Any]:
    properties = {"name": _route_title(route), **_route_fields(route)}
    if route.steps:
        properties["steps"] = list(route.steps)
    coordinates = [[float(part) for part in point] for point in _format_line(route)]
    geometry = {"type": "LineString", "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _route_title(route: Route) -> str:
    return f"{route.origin} → {route.destination}"


def _route_fields(route: Route) -> dict[str, Any]:
    """Return the known fields of a route except its line.

    `straight` marks a direct line, which stands in for a route that no service provided.
    """
    fields = {
        "from": route.origin,
        "to": route.destination,
        "means": route.travel_mode,
        "distance_m": route.metres,
        "duration_s": route.seconds,
    }
    return {key: value for key, value in fields.items() if _is_known(value)} | {"straight": route.straight_line}


def _format_line(route: Route) -> list[tuple[str, str]]:
    if not has_line_on_globe(route):
        raise ValueError(f"the way {_route_title(route)!r} has no line on the globe")
    return [(f"{lng:z.6f}", f"{lat:z.6f}") for lng, lat in route.line]


# --- KML


def _add_placemark(document: Any, place: Place) -> None:
    """Add a place. The schema prescribes the order of the elements."""
    position = _format_position(place)
    placemark = _add_child(document, "Placemark")
    _add_child(placemark, "name", place.name)
    _add_child(placemark, "description", _description(place))
    extended = _add_child(placemark, "ExtendedData")
    for key, value in _extended_data(place):
        data = _add_child(extended, "Data")
        data.set("name", key)
        _add_child(data, "value", value)
    _add_child(_add_child(placemark, "Point"), "coordinates", ",".join(position))


def _add_route_placemark(document: Any, route: Route) -> None:
    positions = _format_line(route)
    placemark = _add_child(document, "Placemark")
    _add_child(placemark, "name", _route_title(route))
    figures = {"distance_m": "{} m", "duration_s": "{} s"}
    known = _route_fields(route)
    summary = " · ".join([route.travel_mode, *(f.format(known[k]) for k, f in figures.items() if k in known)])
    _add_child(placemark, "description", _escape_description("\n".join([summary, *route.steps])))
    style = _add_child(_add_child(placemark, "Style"), "LineStyle")
    _add_child(style, "color", _ROUTE_COLORS[route.travel_mode])
    _add_child(style, "width", "2" if route.straight_line else "4")
    extended = _add_child(placemark, "ExtendedData")
    for key, value in known.items():
        data = _add_child(extended, "Data")
        data.set("name", key)
        _add_child(data, "value", str(value).lower() if isinstance(value, bool) else str(value))
    line = _add_child(placemark, "LineString")
    _add_child(line, "tessellate", "1")  # follow the terrain
    _add_child(line, "coordinates", " ".join(",".join(position) for position in positions))


def _add_child(parent: Any, tag: str, text: str | None = None) -> Any:
    child = etree.SubElement(parent, f"{{{KML_NAMESPACE}}}{tag}")
    child.text = None if text is None else INVALID_XML_CHAR.sub("", text)
    return child


def _extended_data(place: Place) -> Iterator[tuple[str, str]]:
    """Yield the known fields except the name. Photos get numbered keys, as keys are unique."""
    for key, value in _known_fields(place).items():
        if key == "photos":
            yield from ((f"photo_{at}", photo) for at, photo in enumerate(value, start=1))
        elif isinstance(value, bool):
            yield key, str(value).lower()
        elif key != "name":
            yield key, value if isinstance(value, str) else format_plain_number(value)


def _description(place: Place) -> str:
    """Return the facts for people, a line each and independent of language; never empty.

    Without a description viewers show the data unescaped, and they replace "$[" in it by data.
    """
    lng, lat = _format_position(place)
    lines = (
        place.type or place.category,
        " ".join([place.city, place.district, place.address]),
        _format_figures(_known_fields(place)),
        place.hours,
        place.phone,
        f"{lat}, {lng} (WGS-84)",
        "示例数据 / sample data" if place.sample else "",
        place.attribution,
    )
    return _escape_description("\n".join(filter(None, (" ".join(line.split()) for line in lines))))


def _escape_description(text: str) -> str:
    return escape(INVALID_XML_CHAR.sub("", text), quote=False).replace("$[", "$&#91;")


def _format_figures(known: dict[str, Any]) -> str:
    shapes = {"rating": "★ {} / 5", "cost_cny": "¥{}", "distance_m": "{} m"}
    return " · ".join(shape.format(format_plain_number(known[key])) for key, shape in shapes.items() if key in known)
