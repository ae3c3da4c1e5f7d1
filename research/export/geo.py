"""Places and ways as files for maps and spreadsheets: GeoJSON, KML and CSV.

Coordinates are WGS-84 with 6 decimals (11 cm), longitude first. What is not known is left out, or is
an empty cell. A place that is nowhere on the globe (see `located`) raises ValueError: a file that
silently lacks a place would look complete. Who would rather leave it out and say so asks first.

All three are text that has to be encoded as UTF-8. Knows the records of a place and a way; writes no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from csv import writer
from html import escape
from io import StringIO
from math import isfinite
from typing import Any

from lxml import etree

from research.citations.model_markdown import replace_surrogates
from research.core.records import Place, Route, TravelMode

KML_NAMESPACE = "http://www.opengis.net/kml/2.2"
CSV_COLUMNS = (
    "name", "lng", "lat", "category", "address", "city", "district", "distance_m", "rating",
    "cost_cny", "hours", "phone", "provider", "id", "attribution",
)  # fmt: skip
MAX_CELL_CHARS = 16_000  # characters: Excel holds 32,767 units of UTF-16; more spills into other rows

# How the line of a way is drawn: its colour as KML writes it (opacity, blue, green, red).
_ROUTE_COLORS: dict[TravelMode, str] = {
    "walking": "ff327d2f", "bicycling": "ff0f42b8", "driving": "ffc4572f", "transit": "ffb54575",
    "straight": "ff6b6459",
}  # fmt: skip
_EXPORT_NAMES = {"distance": "distance_m", "cost": "cost_cny"}
INVALID_XML_CHAR = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What a spreadsheet may take for a formula; East Asian ones take full-width signs too. Apostrophes
# before it count, so that the one that is put in front can be told from those that were there.
_FORMULA_START = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")


def is_on_globe(place: Place) -> bool:
    """Whether a place lies on the globe: its coordinates are finite and in range."""
    return -180 <= place.lng <= 180 and -90 <= place.lat <= 90


def has_line_on_globe(route: Route) -> bool:
    """Whether a way has a line that lies on the globe."""
    return len(route.line) > 1 and all(-180 <= lng <= 180 and -90 <= lat <= 90 for lng, lat in route.line)


def places_geojson(places: Iterable[Place], provenance: Sequence[str] = (), routes: Iterable[Route] = ()) -> str:
    """A FeatureCollection of points and of the lines of ways as in RFC 7946, with all that is known as
    properties.

    `about` are lines on how the file came about: its foreign member "sightline". Half a surrogate pair
    becomes U+FFFD, as UTF-8 cannot hold it. Raises ValueError for a place that is not `located` and a
    way that is not `lined`.
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
    """OGC KML 2.2: a document with a placemark for each place and way; `about` describes the document.

    Names and data are literal. A description is for people; viewers read it as HTML, so it is
    escaped as such and can only be text. What XML 1.0 forbids is dropped. Raises ValueError for a
    place that is not `located` and a way that is not `lined`.
    """
    root = etree.Element(f"{{{KML_NAMESPACE}}}kml", nsmap={None: KML_NAMESPACE})
    document = _add_child(root, "Document")
    _add_child(document, "name", title)
    if provenance:
        _add_child(document, "description", _escape_description("\n".join(provenance)))
    for place in places:
        _add_placemark(document, place)
    for way in routes:
        _add_route_placemark(document, way)
    written = etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
    return str(written, "utf-8")


def places_csv(places: Iterable[Place]) -> str:
    """A table of `COLUMNS` with a row for each place, to be opened in a spreadsheet.

    It begins with a byte order mark, without which Excel garbles Chinese. A text that a spreadsheet
    would take for a formula has an apostrophe in front; characters that no cell can show are dropped
    and one longer than `CELL` is cut. Raises ValueError for a place that is not `located`.
    """
    out = StringIO()
    table = writer(out)  # as in RFC 4180: commas, lines that end in CR LF, quotes where needed
    table.writerow(CSV_COLUMNS)
    table.writerows(_csv_row(place) for place in places)
    return "\ufeff" + out.getvalue()


def _format_position(place: Place) -> tuple[str, str]:
    """Longitude and latitude as they are written; never "-0.000000"."""
    if not is_on_globe(place):
        raise ValueError(f"the place {place.id!r} is not on the globe: {place.lng}, {place.lat}")
    return f"{place.lng:z.6f}", f"{place.lat:z.6f}"


def _known_fields(place: Place) -> dict[str, Any]:
    """What is known of a place but where it is, under the names of the exports."""
    fields = place.model_dump(exclude={"lng", "lat"}) | {"attribution": place.attribution}
    return {_EXPORT_NAMES.get(key, key): value for key, value in fields.items() if _is_known(value)}


def _is_known(value: Any) -> bool:
    return isfinite(value) if isinstance(value, float) else value not in ("", None, ())


def _format_number(value: float) -> str:
    """A number as a person would write it: 60 yuan, not 60.0."""
    return repr(value).removesuffix(".0")


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
    """What is known of a way but where it runs. `straight`: nobody gave a line, it is not the way."""
    told = {
        "from": route.origin,
        "to": route.destination,
        "means": route.means,
        "distance_m": route.metres,
        "duration_s": route.seconds,
    }
    return {key: value for key, value in told.items() if _is_known(value)} | {"straight": route.direct}


def _format_line(route: Route) -> list[tuple[str, str]]:
    if not has_line_on_globe(route):
        raise ValueError(f"the way {_route_title(route)!r} has no line on the globe")
    return [(f"{lng:z.6f}", f"{lat:z.6f}") for lng, lat in route.line]


# --- KML


def _add_placemark(document: Any, place: Place) -> None:
    """One place; the order of the elements is that of the schema."""
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
    told = " · ".join([route.means, *(f.format(known[k]) for k, f in figures.items() if k in known)])
    _add_child(placemark, "description", _escape_description("\n".join([told, *route.steps])))
    style = _add_child(_add_child(placemark, "Style"), "LineStyle")
    _add_child(style, "color", _ROUTE_COLORS[route.means])
    _add_child(style, "width", "2" if route.direct else "4")
    extended = _add_child(placemark, "ExtendedData")
    for key, value in known.items():
        data = _add_child(extended, "Data")
        data.set("name", key)
        _add_child(data, "value", str(value).lower() if isinstance(value, bool) else str(value))
    line = _add_child(placemark, "LineString")
    _add_child(line, "tessellate", "1")  # on the ground
    _add_child(line, "coordinates", " ".join(",".join(position) for position in positions))


def _add_child(parent: Any, tag: str, text: str | None = None) -> Any:
    child = etree.SubElement(parent, f"{{{KML_NAMESPACE}}}{tag}")
    child.text = None if text is None else INVALID_XML_CHAR.sub("", text)
    return child


def _extended_data(place: Place) -> Iterator[tuple[str, str]]:
    """The known fields but the name, each with a name of its own: of photos there are several."""
    for key, value in _known_fields(place).items():
        if key == "photos":
            yield from ((f"photo_{at}", photo) for at, photo in enumerate(value, start=1))
        elif isinstance(value, bool):
            yield key, str(value).lower()
        elif key != "name":
            yield key, value if isinstance(value, str) else _format_number(value)


def _description(place: Place) -> str:
    """What a person wants to know, a line each and in no language; never empty.

    Without a description viewers show the data instead, unescaped. "$[" would be replaced by them.
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
    return " · ".join(shape.format(_format_number(known[key])) for key, shape in shapes.items() if key in known)


# --- CSV


def _csv_row(place: Place) -> list[str]:
    position = dict(zip(("lng", "lat"), _format_position(place), strict=True))
    known = _known_fields(place)
    return [position.get(column) or spreadsheet_cell(known.get(column, "")) for column in CSV_COLUMNS]


def spreadsheet_cell(value: Any) -> str:
    """A number as it is, a text so that it stays a text: see `csv`."""
    if not isinstance(value, str):
        return _format_number(value)
    text = truncate_cell(value)
    return f"'{text}" if _FORMULA_START.match(text) else text


def truncate_cell(text: str) -> str:
    """A text as a cell of a spreadsheet can hold it: without what XML forbids, and cut at `CELL`."""
    text = INVALID_XML_CHAR.sub("", text)
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"
