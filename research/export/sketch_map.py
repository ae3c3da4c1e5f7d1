"""A sketch map of places, drawn without a map service.

Degrees become distances with the cosine of the middle latitude, which is right within a city and
fair within a country. The map has a grid, scale bar and north arrow, a numbered pin for each place,
and names where they cover nothing. The PNG is rendered from the SVG. Fetches nothing, and has no
streets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from io import BytesIO
from itertools import combinations, pairwise
from math import ceil, cos, floor, hypot, log10, radians, sin
from typing import Literal, NamedTuple

from PIL import Image

from research.citations.numbering import CitedAnswer
from research.core.records import Language, Place, Report
from research.export import typesetting
from research.export.column_widths import width_in_ems
from research.export.font_families import font_families
from research.export.fonts import TEXT_FONTS, visible_text
from research.export.geo import is_on_globe
from research.export.places_markdown import MAX_PLACES, listed_places
from research.export.report_texts import report_translator

WIDTH, HEIGHT = 720.0, 430.0  # units of the picture
_LEFT_MARGIN, _RIGHT_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 58.0, 22.0, 20.0, 40.0
_MAP_WIDTH, _MAP_HEIGHT = WIDTH - _LEFT_MARGIN - _RIGHT_MARGIN, HEIGHT - _TOP_MARGIN - _BOTTOM_MARGIN
_METRES_PER_DEGREE = 111_320.0  # of latitude
_MIN_EXTENT_DEGREES = 0.004  # minimum height and width of the area that the places cover
_MAX_NAME_LETTERS = 26.0  # a wide character counts as two
_PIN_RADIUS, _DOT_RADIUS = 11.0, 5.0
_ROUND_STEPS = (1, 2, 5)
_MAX_MOVED_PINS = 60  # more pins than that stay in place
_SEPARATION_PASSES = 40  # rounds of moving pins apart


_PinPosition = tuple[float, float, int]  # x, y and number
_BoundingBox = tuple[float, float, float, float]  # left, top, right, bottom
_Anchor = Literal["start", "middle", "end"]  # of a text, at its x


def places_on_map(report: Report, cited: CitedAnswer | None) -> list[tuple[int, Place]]:
    """Return the listed places on the globe with their citation numbers, cited ones first.

    The number of a place that is not cited is 0.
    """
    places = listed_places(report, cited)[:MAX_PLACES]
    return [(number, place) for number, _, place in places if is_on_globe(place)]


def describe_map(places: Sequence[Place], language: Language) -> str:
    """Describe the map in words, for people who cannot see it."""
    translate = report_translator(language)
    names = [visible_text(place.name).strip() for place in places if is_on_globe(place)]
    text = translate("comma").join(names[:12])
    if len(names) > 12:
        text += translate("comma") + translate("map more", count=len(names))
    return translate("map of", names=text)


def sketch_svg(
    places: Sequence[Place],
    language: Language,
    *,
    numbers: Sequence[int] | None = None,
    for_print: bool = False,
) -> str:
    """Draw the places as an SVG; return "" if none lies on the globe.

    Args:
        numbers: number on the pin of each place, 0 for none; its rank by default.
        for_print: use the fonts that ship with the program instead of the reader's.
    """
    elements = "".join(_map_elements(places, language, numbers))
    if not elements:
        return ""
    fonts = ",".join(f"'{name}'" for name in TEXT_FONTS) if for_print else font_families(language)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img">'
        f"<title>{_escape_text(describe_map(places, language))}</title>"
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#ffffff"/>'
        f'<g font-family="{fonts}">{elements}</g></svg>'
    )


def sketch_png(places: Sequence[Place], language: Language, *, numbers: Sequence[int] | None = None) -> bytes:
    """Draw the same map as a PNG of 1440 by 860 pixels; b"" if no place lies on the globe."""
    svg = sketch_svg(places, language, numbers=numbers, for_print=True)
    if not svg:
        return b""
    rendered = typesetting.compile_template(
        "sketch.typ", {"svg": svg, "width": WIDTH, "height": HEIGHT, "fonts": TEXT_FONTS}, output_format="png"
    )
    compressed = BytesIO()
    image = Image.open(BytesIO(rendered)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    image.save(compressed, "PNG", optimize=True)
    return compressed.getvalue()


# --- Layout


class _MapView(NamedTuple):
    """Visible part of the globe: north-west corner in degrees, and units per degree."""

    west: float
    north: float
    units_per_lng: float
    units_per_lat: float

    def x(self, lng: float) -> float:
        """Convert a longitude to a horizontal position."""
        return _LEFT_MARGIN + (lng - self.west) * self.units_per_lng

    def y(self, lat: float) -> float:
        """Convert a latitude to a vertical position."""
        return _TOP_MARGIN + (self.north - lat) * self.units_per_lat

    @property
    def metres_per_unit(self) -> float:
        """Metres per unit of the picture."""
        return _METRES_PER_DEGREE / self.units_per_lat


def _fit_view(places: Sequence[Place]) -> _MapView:
    """Return the view that shows all places, with a margin and the same scale in both directions."""
    lngs, lats = [place.lng for place in places], [place.lat for place in places]
    middle_lng, middle_lat = (min(lngs) + max(lngs)) / 2, (min(lats) + max(lats)) / 2
    lng_scale = max(cos(radians(middle_lat)), 0.05)  # length of a degree of longitude, relative to one of latitude
    height = max(max(lats) - min(lats), _MIN_EXTENT_DEGREES)
    width = max((max(lngs) - min(lngs)) * lng_scale, _MIN_EXTENT_DEGREES)
    per_lat = min(_MAP_HEIGHT / (height * 1.28), _MAP_WIDTH / (width * 1.28))
    per_lng = per_lat * lng_scale
    return _MapView(middle_lng - _MAP_WIDTH / 2 / per_lng, middle_lat + _MAP_HEIGHT / 2 / per_lat, per_lng, per_lat)


def _round_down(limit: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten within the limit."""
    power = 10.0 ** floor(log10(limit))
    return max(step * power for step in _ROUND_STEPS if step * power <= limit * 1.0001)


def _map_elements(places: Sequence[Place], language: Language, numbers: Sequence[int] | None) -> Iterator[str]:
    """Yield the SVG elements of the map, from back to front; none if no place is on the globe."""
    ranks = numbers if numbers is not None else range(1, len(places) + 1)
    numbered_places = [(n, place) for n, place in zip(ranks, places, strict=True) if is_on_globe(place)]
    if not numbered_places:
        return
    view = _fit_view([place for _, place in numbered_places])
    yield from _grid(view)
    yield from _scale_and_north_arrow(view, language)
    exact = [(view.x(place.lng), view.y(place.lat)) for _, place in numbered_places]
    pins = _separate_pins(exact, [number for number, _ in numbered_places])
    occupied: list[_BoundingBox] = [(x - r, y - r, x + r, y + r) for x, y, n in pins for r in [_pin_radius(n)]]
    occupied += [
        (_LEFT_MARGIN, HEIGHT - _BOTTOM_MARGIN - 34, _LEFT_MARGIN + 230, HEIGHT - _BOTTOM_MARGIN),
        (WIDTH - 66, _TOP_MARGIN, WIDTH, 78),
    ]
    labels = [_name_label(place, *pin, occupied) for (_, place), pin in zip(numbered_places, pins, strict=True)]
    for (x, y, _), (exact_x, exact_y) in zip(pins, exact, strict=True):
        if abs(x - exact_x) + abs(y - exact_y) > 3:
            yield _line(exact_x, exact_y, x, y, "#c8372d", 1)
            yield _circle(exact_x, exact_y, 2.4, "#c8372d")
    for x, y, number in reversed(pins):
        yield _circle(x, y, _pin_radius(number) + 1.6, "#ffffff")
        yield _circle(x, y, _pin_radius(number), "#c8372d" if number else "#7a8794")
        if number:
            yield _text(x, y, str(number), 12.0 if number < 100 else 9.5, "#ffffff", "middle")
    yield from labels


def _separate_pins(positions: Sequence[tuple[float, float]], numbers: Sequence[int]) -> list[_PinPosition]:
    """Return the pin positions; pins that would overlap are moved apart step by step."""
    pins = [[x, y] for x, y in positions]
    for _ in range(_SEPARATION_PASSES if len(pins) <= _MAX_MOVED_PINS else 0):
        for (i, first), (j, second) in combinations(enumerate(pins), 2):
            min_distance = _pin_radius(numbers[i]) + _pin_radius(numbers[j]) + 2
            dx, dy = second[0] - first[0], second[1] - first[1]
            distance = hypot(dx, dy)
            if distance >= min_distance:
                continue
            shift = (min_distance - distance) / 2
            if distance < 0.01:  # same point: each pin moves in another direction
                dx, dy, distance, shift = cos(j * 2.4), sin(j * 2.4), 1.0, min_distance / 2
            for pin, sign in ((first, -1), (second, 1)):
                pin[0] = min(max(pin[0] + sign * dx / distance * shift, _LEFT_MARGIN), WIDTH - _RIGHT_MARGIN)
                pin[1] = min(max(pin[1] + sign * dy / distance * shift, _TOP_MARGIN), HEIGHT - _BOTTOM_MARGIN)
    return [(x, y, number) for (x, y), number in zip(pins, numbers, strict=True)]


def _pin_radius(number: int) -> float:
    return _PIN_RADIUS if number else _DOT_RADIUS


def _name_label(place: Place, x: float, y: float, number: int, occupied: list[_BoundingBox]) -> str:
    """Return the name of a place beside its pin, and add its box to `occupied`; "" if it finds no free position."""
    name = _shorten_name(visible_text(place.name).strip())
    if not name:
        return ""
    r, size = _pin_radius(number) + 5, 14.0
    width = width_in_ems(name) * size
    positions: tuple[tuple[float, float, _Anchor], ...] = (
        (r, 0.0, "start"), (-r, 0.0, "end"), (0.0, -r - 7, "middle"), (0.0, r + 7, "middle"),
        (r - 3, -r, "start"), (r - 3, r, "start"), (3 - r, -r, "end"), (3 - r, r, "end"),
    )  # fmt: skip
    for dx, dy, anchor in positions:
        left = x + dx - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        box = (left - 2, y + dy - 9, left + width + 2, y + dy + 9)
        if _is_free(box, occupied):
            occupied.append(box)
            return _text(x + dx, y + dy, name, size, "#1f2328", anchor, has_halo=True)
    return ""


def _is_free(box: _BoundingBox, occupied: Sequence[_BoundingBox]) -> bool:
    left, top, right, bottom = box
    if left < _LEFT_MARGIN or right > WIDTH - _RIGHT_MARGIN or top < _TOP_MARGIN or bottom > HEIGHT - _BOTTOM_MARGIN:
        return False
    return not any(left < r and l < right and top < b and t < bottom for l, t, r, b in occupied)  # noqa: E741


def _shorten_name(name: str) -> str:
    remaining = _MAX_NAME_LETTERS
    for index, char in enumerate(name):
        remaining -= 2 if char >= "\u2e80" else 1
        if remaining < 0:
            return name[:index].rstrip() + "…"
    return name


def _grid(view: _MapView) -> Iterator[str]:
    """Yield meridians and parallels with their degrees, and the frame."""
    right, bottom = WIDTH - _RIGHT_MARGIN, HEIGHT - _BOTTOM_MARGIN
    corners = ((_LEFT_MARGIN, _TOP_MARGIN), (right, _TOP_MARGIN), (right, bottom), (_LEFT_MARGIN, bottom))
    yield _polygon(corners, "#f6f8fa")
    max_lng_step, max_lat_step = 170 / view.units_per_lng, 120 / view.units_per_lat
    for lng in _round_values(view.west, view.west + _MAP_WIDTH / view.units_per_lng, max_lng_step):
        x = view.x(lng)
        yield _line(x, _TOP_MARGIN, x, bottom, "#dfe4ea", 1)
        wrapped_lng = (lng + 180) % 360 - 180
        yield _text(x, bottom + 13, _format_degrees(wrapped_lng, "EW", max_lng_step), 11, "#656d76", "middle")
    for lat in _round_values(view.north - _MAP_HEIGHT / view.units_per_lat, view.north, max_lat_step):
        if abs(lat) <= 90:
            y = view.y(lat)
            yield _line(_LEFT_MARGIN, y, right, y, "#dfe4ea", 1)
            yield _text(_LEFT_MARGIN - 6, y, _format_degrees(lat, "NS", max_lat_step), 11, "#656d76", "end")
    for start, end in pairwise((*corners, corners[0])):
        yield _line(*start, *end, "#aab4be", 1.2)


def _round_values(low: float, high: float, max_step: float) -> Iterator[float]:
    """Yield the round numbers in a range, at a round step of at most `max_step`."""
    step = _round_down(max_step)
    yield from (index * step for index in range(ceil(low / step), floor(high / step) + 1))


def _format_degrees(value: float, signs: str, max_step: float) -> str:
    digits = max(0, -floor(log10(_round_down(max_step)) + 1e-9))
    sign = "" if abs(value) < 1e-9 else signs[value < 0]
    return f"{abs(value):.{digits}f}°{sign}"


def _scale_and_north_arrow(view: _MapView, language: Language) -> Iterator[str]:
    metres = _round_down(150 * view.metres_per_unit)
    length = metres / view.metres_per_unit
    x, y = _LEFT_MARGIN + 14, HEIGHT - _BOTTOM_MARGIN - 13
    translate = report_translator(language)
    label = (
        translate("kilometres", count=f"{metres / 1000:,.10g}")
        if metres >= 1000
        else translate("metres", count=f"{metres:.10g}")
    )
    yield _line(x, y, x + length, y, "#3a434d", 2)
    yield _line(x, y - 5, x, y + 1, "#3a434d", 2)
    yield _line(x + length, y - 5, x + length, y + 1, "#3a434d", 2)
    yield _text(x + length + 8, y - 2, label, 12, "#3a434d", has_halo=True)
    x, y = WIDTH - _RIGHT_MARGIN - 22, _TOP_MARGIN + 14
    yield _polygon(((x, y), (x - 8, y + 24), (x, y + 18)), "#3a434d")
    yield _polygon(((x, y), (x + 8, y + 24), (x, y + 18)), "#aab4be")
    yield _text(x, y + 34, "N" if language == "en" else "北", 12, "#3a434d", "middle")


# --- SVG elements; positions and sizes are in units of the picture


def _line(x: float, y: float, to_x: float, to_y: float, color: str, width: float) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width:g}"/>'


def _circle(x: float, y: float, radius: float, color: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'


def _polygon(corners: Sequence[tuple[float, float]], color: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{color}"/>'


def _text(
    x: float, y: float, text: str, size: float, color: str, anchor: _Anchor = "start", *, has_halo: bool = False
) -> str:
    """Return a text with its vertical middle at `y`."""
    halo = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if has_halo else ""
    return (
        f'<text x="{x:.1f}" y="{y + size * 0.36:.1f}" font-size="{size:g}" '
        f'text-anchor="{anchor}" fill="{color}"{halo}>{_escape_text(text)}</text>'
    )


def _escape_text(text: str) -> str:
    return escape(visible_text(text), quote=True)
