"""A sketch map: where places lie to each other, drawn without a map service.

Degrees become distances with the cosine of the middle latitude, which is right within a city and fair
within a country. Grid, scale bar and north arrow; a pin for each place, with its number; names where
they cover nothing. The PNG is the SVG, drawn. Fetches nothing, and has no streets.
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
from research.export import press
from research.export.columns import ems
from research.export.families import families
from research.export.fonts import PLAIN, seen
from research.export.geo import located
from research.export.markdown import PLACES, gathered
from research.export.words import speaker

WIDE, HIGH = 720.0, 430.0  # of the picture
_LEFT, _RIGHT, _TOP, _FOOT = 58.0, 22.0, 20.0, 40.0
_ACROSS, _DOWN = WIDE - _LEFT - _RIGHT, HIGH - _TOP - _FOOT
_DEGREE = 111_320.0  # metres of a degree of latitude
_SMALLEST = 0.004  # degrees that the picture shows at least
_NAME = 26.0  # letters of a name, a Han as two
_PIN, _DOT = 11.0, 5.0
_STEPS = (1, 2, 5)
_MOVED = 60  # pins at most are moved apart, and
_TIMES = 40  # how often


class _Stroke(NamedTuple):
    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float


class _Disc(NamedTuple):
    x: float
    y: float
    radius: float
    colour: str


class _Shape(NamedTuple):
    """A filled outline."""

    points: tuple[tuple[float, float], ...]
    colour: str


class _Words(NamedTuple):
    """Text whose middle is at `y`, from `x`, up to it, or around it."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "start"  # middle, end
    halo: bool = False

    @property
    def width(self) -> float:
        return ems(self.text) * self.size

    @property
    def start(self) -> float:
        return self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]


_Mark = _Stroke | _Disc | _Shape | _Words
_Spot = tuple[float, float, int]
_Box = tuple[float, float, float, float]


def mapped_places(report: Report, cited: CitedAnswer | None) -> list[tuple[int, Place]]:
    """The places that a report lists and that lie on the globe, with their citation numbers, those
    that are cited first; 0 stands for a place that is not cited."""
    numbers = {source.evidence.id: source.number for source in cited.sources} if cited else {}
    items = [source.evidence for source in cited.sources] if cited else []
    items += [item for item in gathered(report) if item.id not in numbers]
    found = [(numbers.get(item.id, 0), item.place) for item in items if item.place]
    return [(number, place) for number, place in found[:PLACES] if located(place)]


def described(places: Sequence[Place], language: Language) -> str:
    """What the picture shows, in words, for who cannot see it."""
    say = speaker(language)
    names = [seen(place.name).strip() for place in places if located(place)]
    told = say("comma").join(names[:12])
    if len(names) > 12:
        told += say("comma") + say("map more", count=len(names))
    return say("map of", names=told)


def sketch_svg(
    places: Sequence[Place],
    language: Language,
    *,
    numbers: Sequence[int] | None = None,
    printed: bool = False,
) -> str:
    """Draw the places as an SVG, "" if none lies on the globe.

    A pin has the number that `numbers` has at its place, or its rank; 0 makes a pin without a number.
    A printed one names the fonts that ship with the program, others those of the reader's machine.
    """
    marks = list(_marks(places, language, numbers))
    if not marks:
        return ""
    fonts = ",".join(f"'{name}'" for name in PLAIN) if printed else families(language)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {HIGH:g}" role="img">'
        f"<title>{_text(described(places, language))}</title>"
        f'<rect width="{WIDE:g}" height="{HIGH:g}" fill="#ffffff"/>'
        f'<g font-family="{fonts}">{"".join(map(_svg, marks))}</g></svg>'
    )


def sketch_png(
    places: Sequence[Place], language: Language, *, numbers: Sequence[int] | None = None
) -> bytes:
    """The same picture as a PNG of 1440 by 860 pixels, b"" if no place lies on the globe."""
    svg = sketch_svg(places, language, numbers=numbers, printed=True)
    if not svg:
        return b""
    drawn = press.printed(
        "sketch.typ", {"svg": svg, "wide": WIDE, "high": HIGH, "fonts": PLAIN}, kind="png"
    )
    into = BytesIO()
    image = Image.open(BytesIO(drawn)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    image.save(into, "PNG", optimize=True)
    return into.getvalue()


# --- Where things are


class _View(NamedTuple):
    """The part of the globe that is shown, in degrees, and the units of a degree of each."""

    west: float
    north: float
    per_lng: float
    per_lat: float

    def x(self, lng: float) -> float:
        return _LEFT + (lng - self.west) * self.per_lng

    def y(self, lat: float) -> float:
        return _TOP + (self.north - lat) * self.per_lat

    @property
    def metres(self) -> float:
        """How far a unit is."""
        return _DEGREE / self.per_lat


def _view(places: Sequence[Place]) -> _View:
    lngs, lats = [place.lng for place in places], [place.lat for place in places]
    mid_lng, mid_lat = (min(lngs) + max(lngs)) / 2, (min(lats) + max(lats)) / 2
    squeeze = max(cos(radians(mid_lat)), 0.05)
    tall = max(max(lats) - min(lats), _SMALLEST)
    wide = max((max(lngs) - min(lngs)) * squeeze, _SMALLEST)
    per_lat = min(_DOWN / (tall * 1.28), _ACROSS / (wide * 1.28))
    per_lng = per_lat * squeeze
    return _View(mid_lng - _ACROSS / 2 / per_lng, mid_lat + _DOWN / 2 / per_lat, per_lng, per_lat)


def _round(most: float) -> float:
    """The largest of 1, 2, 5, 10, 20, 50 ... and their tenths that is not more."""
    power = 10.0 ** floor(log10(most))
    return max(step * power for step in _STEPS if step * power <= most * 1.0001)


def _marks(
    places: Sequence[Place], language: Language, numbers: Sequence[int] | None
) -> Iterator[_Mark]:
    ranks = numbers if numbers is not None else range(1, len(places) + 1)
    found = [(n, place) for n, place in zip(ranks, places, strict=True) if located(place)]
    if not found:
        return
    view = _view([place for _, place in found])
    yield from _grid(view)
    yield from _furniture(view, language)
    exact = [(view.x(place.lng), view.y(place.lat)) for _, place in found]
    spots = _apart(exact, [number for number, _ in found])
    taken: list[_Box] = [(x - r, y - r, x + r, y + r) for x, y, n in spots for r in [_radius(n)]]
    taken += [(_LEFT, HIGH - _FOOT - 34, _LEFT + 230, HIGH - _FOOT), (WIDE - 66, _TOP, WIDE, 78)]
    names = [_named(place, *spot, taken) for (_, place), spot in zip(found, spots, strict=True)]
    for (x, y, _), (own_x, own_y) in zip(spots, exact, strict=True):
        if abs(x - own_x) + abs(y - own_y) > 3:
            yield _Stroke(own_x, own_y, x, y, "#c8372d", 1)
            yield _Disc(own_x, own_y, 2.4, "#c8372d")
    for x, y, number in reversed(spots):
        yield _Disc(x, y, _radius(number) + 1.6, "#ffffff")
        yield _Disc(x, y, _radius(number), "#c8372d" if number else "#7a8794")
        if number:
            size = 12.0 if number < 100 else 9.5
            yield _Words(x, y, str(number), size, "#ffffff", "middle")
    yield from (name for name in names if name)


def _apart(exact: Sequence[tuple[float, float]], numbers: Sequence[int]) -> list[_Spot]:
    """Where the pins stand: those that would cover each other move apart, a little each time."""
    spots = [[x, y] for x, y in exact]
    if len(spots) <= _MOVED:
        for _ in range(_TIMES):
            for at, one in enumerate(spots):
                for to in range(at + 1, len(spots)):
                    other, need = spots[to], _radius(numbers[at]) + _radius(numbers[to]) + 2
                    dx, dy = other[0] - one[0], other[1] - one[1]
                    far = hypot(dx, dy)
                    if far >= need:
                        continue
                    if far < 0.01:  # one point: each pin goes another way
                        dx, dy, far = cos(to * 2.4), sin(to * 2.4), 1.0
                        push = need / 2
                    else:
                        push = (need - far) / 2
                    for spot, sign in ((one, -1), (other, 1)):
                        spot[0] = min(max(spot[0] + sign * dx / far * push, _LEFT), WIDE - _RIGHT)
                        spot[1] = min(max(spot[1] + sign * dy / far * push, _TOP), HIGH - _FOOT)
    return [(x, y, number) for (x, y), number in zip(spots, numbers, strict=True)]


def _radius(number: int) -> float:
    return _PIN if number else _DOT


def _named(place: Place, x: float, y: float, number: int, taken: list[_Box]) -> _Words | None:
    """The name beside its pin, where it covers nothing that is there; None if there is no room."""
    text = _shortened(seen(place.name).strip())
    if not text:
        return None
    r = _radius(number) + 5
    for dx, dy, anchor in (
        (r, 0.0, "start"), (-r, 0.0, "end"), (0.0, -r - 7, "middle"), (0.0, r + 7, "middle"),
        (r - 3, -r, "start"), (r - 3, r, "start"), (3 - r, -r, "end"), (3 - r, r, "end"),
    ):  # fmt: skip
        name = _Words(x + dx, y + dy, text, 14.0, "#1f2328", anchor, halo=True)
        box = (name.start - 2, name.y - 9, name.start + name.width + 2, name.y + 9)
        if _free(box, taken):
            taken.append(box)
            return name
    return None


def _free(box: _Box, taken: Sequence[_Box]) -> bool:
    left, top, right, foot = box
    if left < _LEFT or right > WIDE - _RIGHT or top < _TOP or foot > HIGH - _FOOT:
        return False
    return not any(left < r and l < right and top < f and t < foot for l, t, r, f in taken)  # noqa: E741


def _shortened(name: str) -> str:
    room = _NAME
    for at, char in enumerate(name):
        room -= 2 if char >= "\u2e80" else 1
        if room < 0:
            return name[:at].rstrip() + "…"
    return name


def _grid(view: _View) -> Iterator[_Mark]:
    """Meridians and parallels with their degrees, and the frame around them."""
    right, foot = WIDE - _RIGHT, HIGH - _FOOT
    yield _Shape(((_LEFT, _TOP), (right, _TOP), (right, foot), (_LEFT, foot)), "#f6f8fa")
    for lng in _rounds(view.west, view.west + _ACROSS / view.per_lng, 170 / view.per_lng):
        x = view.x(lng)
        yield _Stroke(x, _TOP, x, foot, "#dfe4ea", 1)
        turned = (lng + 180) % 360 - 180
        yield _Words(
            x, foot + 13, _degrees(turned, "EW", 170 / view.per_lng), 11, "#656d76", "middle"
        )
    for lat in _rounds(view.north - _DOWN / view.per_lat, view.north, 120 / view.per_lat):
        if abs(lat) <= 90:
            y = view.y(lat)
            yield _Stroke(_LEFT, y, right, y, "#dfe4ea", 1)
            yield _Words(
                _LEFT - 6, y, _degrees(lat, "NS", 120 / view.per_lat), 11, "#656d76", "end"
            )
    for x, y, to_x, to_y in (
        (_LEFT, _TOP, right, _TOP), (right, _TOP, right, foot),
        (right, foot, _LEFT, foot), (_LEFT, foot, _LEFT, _TOP),
    ):  # fmt: skip
        yield _Stroke(x, y, to_x, to_y, "#aab4be", 1.2)


def _rounds(low: float, high: float, most: float) -> Iterator[float]:
    """The round numbers between two others, at a round distance of at most `most`."""
    step = _round(most)
    yield from (at * step for at in range(ceil(low / step), floor(high / step) + 1))


def _degrees(value: float, signs: str, most: float) -> str:
    digits = max(0, -floor(log10(_round(most)) + 1e-9))
    sign = "" if abs(value) < 1e-9 else signs[value < 0]
    return f"{abs(value):.{digits}f}°{sign}"


def _furniture(view: _View, language: Language) -> Iterator[_Mark]:
    """The scale bar and the arrow that points north."""
    far = _round(150 * view.metres)
    units = far / view.metres
    x, y = _LEFT + 14, HIGH - _FOOT - 13
    say = speaker(language)
    if far >= 1000:
        told = say("kilometres", count=f"{far / 1000:,.10g}")
    else:
        told = say("metres", count=f"{far:.10g}")
    yield _Stroke(x, y, x + units, y, "#3a434d", 2)
    yield _Stroke(x, y - 5, x, y + 1, "#3a434d", 2)
    yield _Stroke(x + units, y - 5, x + units, y + 1, "#3a434d", 2)
    yield _Words(x + units + 8, y - 2, told, 12, "#3a434d", halo=True)
    x, y = WIDE - _RIGHT - 22, _TOP + 14
    yield _Shape(((x, y), (x - 8, y + 24), (x, y + 18)), "#3a434d")
    yield _Shape(((x, y), (x + 8, y + 24), (x, y + 18)), "#aab4be")
    yield _Words(x, y + 34, "N" if language == "en" else "北", 12, "#3a434d", "middle")


# --- As SVG


def _svg(mark: _Mark) -> str:
    if isinstance(mark, _Stroke):
        ends = f'x1="{mark.x:.1f}" y1="{mark.y:.1f}" x2="{mark.to_x:.1f}" y2="{mark.to_y:.1f}"'
        return f'<line {ends} stroke="{mark.colour}" stroke-width="{mark.width:g}"/>'
    if isinstance(mark, _Disc):
        return f'<circle cx="{mark.x:.1f}" cy="{mark.y:.1f}" r="{mark.radius:g}" fill="{mark.colour}"/>'
    if isinstance(mark, _Shape):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)
        return f'<polygon points="{points}" fill="{mark.colour}"/>'
    halo = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if mark.halo else ""
    return (
        f'<text x="{mark.x:.1f}" y="{mark.y + mark.size * 0.36:.1f}" font-size="{mark.size:g}" '
        f'text-anchor="{mark.anchor}" fill="{mark.colour}"{halo}>{_text(mark.text)}</text>'
    )


def _text(text: str) -> str:
    return escape(seen(text), quote=True)
