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
from math import ceil, cos, floor, hypot, log10, radians, sin
from typing import NamedTuple

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
_MIN_EXTENT_DEGREES = 0.004  # least extent of the map
_MAX_NAME_LETTERS = 26.0  # a wide character counts as two
_PIN_RADIUS, _DOT_RADIUS = 11.0, 5.0
_ROUND_STEPS = (1, 2, 5)
_MAX_MOVED_PINS = 60  # more pins than that stay in place
_SEPARATION_PASSES = 40  # rounds of moving pins apart


class _LineShape(NamedTuple):
    x: float
    y: float
    to_x: float
    to_y: float
    color: str
    width: float


class _CircleShape(NamedTuple):
    x: float
    y: float
    radius: float
    color: str


class _PolygonShape(NamedTuple):
    """A filled polygon."""

    points: tuple[tuple[float, float], ...]
    color: str


class _TextShape(NamedTuple):
    """Text with its middle at `y`. `anchor` says if `x` is its start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    color: str
    anchor: str = "start"  # middle, end
    halo: bool = False

    @property
    def width(self) -> float:
        """Estimated width in units of the picture."""
        return width_in_ems(self.text) * self.size

    @property
    def left(self) -> float:
        """Left edge of the text."""
        return self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]


_MapShape = _LineShape | _CircleShape | _PolygonShape | _TextShape
_PinPosition = tuple[float, float, int]
_BoundingBox = tuple[float, float, float, float]


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
    shapes = list(_map_shapes(places, language, numbers))
    if not shapes:
        return ""
    fonts = ",".join(f"'{name}'" for name in TEXT_FONTS) if for_print else font_families(language)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img">'
        f"<title>{_escape_text(describe_map(places, language))}</title>"
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#ffffff"/>'
        f'<g font-family="{fonts}">{"".join(map(_shape_svg, shapes))}</g></svg>'
    )


def sketch_png(places: Sequence[Place], language: Language, *, numbers: Sequence[int] | None = None) -> bytes:
    """Draw the same map as a PNG of 1440 by 860 pixels; b"" if no place lies on the globe."""
    svg = sketch_svg(places, language, numbers=numbers, for_print=True)
    if not svg:
        return b""
    drawn = typesetting.compile_template(
        "sketch.typ", {"svg": svg, "width": WIDTH, "height": HEIGHT, "fonts": TEXT_FONTS}, output_format="png"
    )
    out = BytesIO()
    image = Image.open(BytesIO(drawn)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


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
    lngs, lats = [place.lng for place in places], [place.lat for place in places]
    mid_lng, mid_lat = (min(lngs) + max(lngs)) / 2, (min(lats) + max(lats)) / 2
    squeeze = max(cos(radians(mid_lat)), 0.05)
    tall = max(max(lats) - min(lats), _MIN_EXTENT_DEGREES)
    wide = max((max(lngs) - min(lngs)) * squeeze, _MIN_EXTENT_DEGREES)
    per_lat = min(_MAP_HEIGHT / (tall * 1.28), _MAP_WIDTH / (wide * 1.28))
    per_lng = per_lat * squeeze
    return _MapView(mid_lng - _MAP_WIDTH / 2 / per_lng, mid_lat + _MAP_HEIGHT / 2 / per_lat, per_lng, per_lat)


def _round_down(limit: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten within the limit."""
    power = 10.0 ** floor(log10(limit))
    return max(step * power for step in _ROUND_STEPS if step * power <= limit * 1.0001)


def _map_shapes(places: Sequence[Place], language: Language, numbers: Sequence[int] | None) -> Iterator[_MapShape]:
    ranks = numbers if numbers is not None else range(1, len(places) + 1)
    numbered_places = [(n, place) for n, place in zip(ranks, places, strict=True) if is_on_globe(place)]
    if not numbered_places:
        return
    view = _fit_view([place for _, place in numbered_places])
    yield from _grid_shapes(view)
    yield from _scale_and_north_arrow(view, language)
    exact = [(view.x(place.lng), view.y(place.lat)) for _, place in numbered_places]
    spots = _separate_pins(exact, [number for number, _ in numbered_places])
    occupied: list[_BoundingBox] = [(x - r, y - r, x + r, y + r) for x, y, n in spots for r in [_pin_radius(n)]]
    occupied += [
        (_LEFT_MARGIN, HEIGHT - _BOTTOM_MARGIN - 34, _LEFT_MARGIN + 230, HEIGHT - _BOTTOM_MARGIN),
        (WIDTH - 66, _TOP_MARGIN, WIDTH, 78),
    ]
    names = [_name_label(place, *spot, occupied) for (_, place), spot in zip(numbered_places, spots, strict=True)]
    for (x, y, _), (exact_x, exact_y) in zip(spots, exact, strict=True):
        if abs(x - exact_x) + abs(y - exact_y) > 3:
            yield _LineShape(exact_x, exact_y, x, y, "#c8372d", 1)
            yield _CircleShape(exact_x, exact_y, 2.4, "#c8372d")
    for x, y, number in reversed(spots):
        yield _CircleShape(x, y, _pin_radius(number) + 1.6, "#ffffff")
        yield _CircleShape(x, y, _pin_radius(number), "#c8372d" if number else "#7a8794")
        if number:
            size = 12.0 if number < 100 else 9.5
            yield _TextShape(x, y, str(number), size, "#ffffff", "middle")
    yield from (name for name in names if name)


def _separate_pins(positions: Sequence[tuple[float, float]], numbers: Sequence[int]) -> list[_PinPosition]:
    """Return the pin positions; pins that would overlap are moved apart step by step."""
    spots = [[x, y] for x, y in positions]
    if len(spots) <= _MAX_MOVED_PINS:
        for _ in range(_SEPARATION_PASSES):
            for at, current in enumerate(spots):
                for to in range(at + 1, len(spots)):
                    other, need = spots[to], _pin_radius(numbers[at]) + _pin_radius(numbers[to]) + 2
                    dx, dy = other[0] - current[0], other[1] - current[1]
                    distance = hypot(dx, dy)
                    if distance >= need:
                        continue
                    if distance < 0.01:  # same point: each pin moves in another direction
                        dx, dy, distance = cos(to * 2.4), sin(to * 2.4), 1.0
                        push = need / 2
                    else:
                        push = (need - distance) / 2
                    for spot, sign in ((current, -1), (other, 1)):
                        spot[0] = min(max(spot[0] + sign * dx / distance * push, _LEFT_MARGIN), WIDTH - _RIGHT_MARGIN)
                        spot[1] = min(max(spot[1] + sign * dy / distance * push, _TOP_MARGIN), HEIGHT - _BOTTOM_MARGIN)
    return [(x, y, number) for (x, y), number in zip(spots, numbers, strict=True)]


def _pin_radius(number: int) -> float:
    return _PIN_RADIUS if number else _DOT_RADIUS


def _name_label(place: Place, x: float, y: float, number: int, occupied: list[_BoundingBox]) -> _TextShape | None:
    """Place a name beside its pin where it covers nothing; None if there is no such spot."""
    text = _shorten_name(visible_text(place.name).strip())
    if not text:
        return None
    r = _pin_radius(number) + 5
    for dx, dy, anchor in (
        (r, 0.0, "start"), (-r, 0.0, "end"), (0.0, -r - 7, "middle"), (0.0, r + 7, "middle"),
        (r - 3, -r, "start"), (r - 3, r, "start"), (3 - r, -r, "end"), (3 - r, r, "end"),
    ):  # fmt: skip
        name = _TextShape(x + dx, y + dy, text, 14.0, "#1f2328", anchor, halo=True)
        box = (name.left - 2, name.y - 9, name.left + name.width + 2, name.y + 9)
        if _is_free(box, occupied):
            occupied.append(box)
            return name
    return None


def _is_free(box: _BoundingBox, occupied: Sequence[_BoundingBox]) -> bool:
    left, top, right, bottom = box
    if left < _LEFT_MARGIN or right > WIDTH - _RIGHT_MARGIN or top < _TOP_MARGIN or bottom > HEIGHT - _BOTTOM_MARGIN:
        return False
    return not any(left < r and l < right and top < f and t < bottom for l, t, r, f in occupied)  # noqa: E741


def _shorten_name(name: str) -> str:
    remaining = _MAX_NAME_LETTERS
    for at, char in enumerate(name):
        remaining -= 2 if char >= "\u2e80" else 1
        if remaining < 0:
            return name[:at].rstrip() + "…"
    return name


def _grid_shapes(view: _MapView) -> Iterator[_MapShape]:
    """Yield meridians and parallels with their degrees, and the frame."""
    right, bottom = WIDTH - _RIGHT_MARGIN, HEIGHT - _BOTTOM_MARGIN
    yield _PolygonShape(
        ((_LEFT_MARGIN, _TOP_MARGIN), (right, _TOP_MARGIN), (right, bottom), (_LEFT_MARGIN, bottom)), "#f6f8fa"
    )
    for lng in _round_values(view.west, view.west + _MAP_WIDTH / view.units_per_lng, 170 / view.units_per_lng):
        x = view.x(lng)
        yield _LineShape(x, _TOP_MARGIN, x, bottom, "#dfe4ea", 1)
        turned = (lng + 180) % 360 - 180
        yield _TextShape(
            x, bottom + 13, _format_degrees(turned, "EW", 170 / view.units_per_lng), 11, "#656d76", "middle"
        )
    for lat in _round_values(view.north - _MAP_HEIGHT / view.units_per_lat, view.north, 120 / view.units_per_lat):
        if abs(lat) <= 90:
            y = view.y(lat)
            yield _LineShape(_LEFT_MARGIN, y, right, y, "#dfe4ea", 1)
            yield _TextShape(
                _LEFT_MARGIN - 6, y, _format_degrees(lat, "NS", 120 / view.units_per_lat), 11, "#656d76", "end"
            )
    for x, y, to_x, to_y in (
        (_LEFT_MARGIN, _TOP_MARGIN, right, _TOP_MARGIN),
        (right, _TOP_MARGIN, right, bottom),
        (right, bottom, _LEFT_MARGIN, bottom),
        (_LEFT_MARGIN, bottom, _LEFT_MARGIN, _TOP_MARGIN),
    ):
        yield _LineShape(x, y, to_x, to_y, "#aab4be", 1.2)


def _round_values(low: float, high: float, max_step: float) -> Iterator[float]:
    """Yield the round numbers in a range, at a round step of at most `max_step`."""
    step = _round_down(max_step)
    yield from (at * step for at in range(ceil(low / step), floor(high / step) + 1))


def _format_degrees(value: float, signs: str, max_step: float) -> str:
    digits = max(0, -floor(log10(_round_down(max_step)) + 1e-9))
    sign = "" if abs(value) < 1e-9 else signs[value < 0]
    return f"{abs(value):.{digits}f}°{sign}"


def _scale_and_north_arrow(view: _MapView, language: Language) -> Iterator[_MapShape]:
    """Yield the scale bar and the north arrow."""
    metres = _round_down(150 * view.metres_per_unit)
    units = metres / view.metres_per_unit
    x, y = _LEFT_MARGIN + 14, HEIGHT - _BOTTOM_MARGIN - 13
    translate = report_translator(language)
    label = (
        translate("kilometres", count=f"{metres / 1000:,.10g}")
        if metres >= 1000
        else translate("metres", count=f"{metres:.10g}")
    )
    yield _LineShape(x, y, x + units, y, "#3a434d", 2)
    yield _LineShape(x, y - 5, x, y + 1, "#3a434d", 2)
    yield _LineShape(x + units, y - 5, x + units, y + 1, "#3a434d", 2)
    yield _TextShape(x + units + 8, y - 2, label, 12, "#3a434d", halo=True)
    x, y = WIDTH - _RIGHT_MARGIN - 22, _TOP_MARGIN + 14
    yield _PolygonShape(((x, y), (x - 8, y + 24), (x, y + 18)), "#3a434d")
    yield _PolygonShape(((x, y), (x + 8, y + 24), (x, y + 18)), "#aab4be")
    yield _TextShape(x, y + 34, "N" if language == "en" else "北", 12, "#3a434d", "middle")


# --- As SVG


def _shape_svg(shape: _MapShape) -> str:
    if isinstance(shape, _LineShape):
        ends = f'x1="{shape.x:.1f}" y1="{shape.y:.1f}" x2="{shape.to_x:.1f}" y2="{shape.to_y:.1f}"'
        return f'<line {ends} stroke="{shape.color}" stroke-width="{shape.width:g}"/>'
    if isinstance(shape, _CircleShape):
        return f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}" fill="{shape.color}"/>'
    if isinstance(shape, _PolygonShape):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        return f'<polygon points="{points}" fill="{shape.color}"/>'
    halo = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if shape.halo else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y + shape.size * 0.36:.1f}" font-size="{shape.size:g}" '
        f'text-anchor="{shape.anchor}" fill="{shape.color}"{halo}>{_escape_text(shape.text)}</text>'
    )


def _escape_text(text: str) -> str:
    return escape(visible_text(text), quote=True)
