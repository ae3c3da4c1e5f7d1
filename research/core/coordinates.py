"""Conversion between GCJ-02, the coordinate system of Chinese maps, and WGS-84.

GCJ-02 is the system that maps of mainland China have to use: WGS-84 shifted by some hundred metres,
by a different offset at each point. The system of a point is declared with it and never guessed
from its position: a box around China contains Seoul and Bangkok, whose coordinates are not shifted.

Amap declares none. Its points of the mainland, Hong Kong and Macau are read as GCJ-02, those of
Taiwan and of other countries as WGS-84. Sources: third-party notes on its SDKs (comments in typings
and tutorials: `AMapLocation.getCoordType`, and `CoordinateConverter.isAMapDataAvailable`, which is
true of the first three) and Huawei's Map Kit, whose pages in two languages differ; one report on
another map says the contrary of Macau. No foreign answer of Amap's REST API was available.
`amap_coordinate_system` uses the administrative code or the names that come with a point, since no
box could decide.

All coordinates are degrees, longitude first. Source of the shift: the published open-source
reconstructions of the transform (as in eviltransform, MIT), on the Krasovsky 1940 ellipsoid.
"""

from __future__ import annotations

import re
from math import asin, cos, pi, radians, sin, sqrt
from typing import Literal, NamedTuple

CoordinateSystem = Literal["wgs84", "gcj02"]

SEMI_MAJOR_AXIS_METRES = 6_378_245.0  # of the ellipsoid
ECCENTRICITY_SQUARED = 0.00669342162296594323  # first eccentricity of the ellipsoid, squared
TOLERANCE_DEGREES = 1e-9  # a tenth of a millimetre; the inverse iteration stops here
EARTH_RADIUS_METRES = 6_371_008.8  # mean radius, for distances
MAX_ITERATIONS = 20
# Codes of the mainland's provinces begin with 11 to 65, Hong Kong's with 81, Macau's with 82;
# Taiwan's is 71 (GB/T 2260).
_GCJ02_ADCODE_PATTERN = re.compile(r"(?:[1-6]\d|8[12])\d{4}")
# Endings and names of Chinese provinces.
_CHINESE_PROVINCE_PATTERN = re.compile(r"[省市区]$|^(?:北京|天津|上海|重庆|香港|澳门)$")
_CHINA_NAMES = ("中国", "中华人民共和国", "china", "cn", "hk", "mo")


class Point(NamedTuple):
    """A point in degrees, longitude first as in GeoJSON and in Amap's answers."""

    lng: float
    lat: float


def amap_coordinate_system(adcode: str = "", province: str = "", country: str = "") -> CoordinateSystem:
    """Return the coordinate system of a point from Amap, by its administrative code, province and
    country. Each may be ""."""
    if country and country.lower() not in _CHINA_NAMES:
        return "wgs84"
    if "台湾" in province or (province and not adcode and not _CHINESE_PROVINCE_PATTERN.search(province)):
        return "wgs84"
    return "wgs84" if adcode and not _GCJ02_ADCODE_PATTERN.fullmatch(adcode) else "gcj02"


def to_wgs84(point: Point, system: CoordinateSystem) -> Point:
    """Convert a point of a declared system to WGS-84."""
    return point if system == "wgs84" else from_gcj02(point)


def to_gcj02(point: Point) -> Point:
    """Convert a WGS-84 point to GCJ-02, as a Chinese map shows it."""
    east, north = _gcj02_offset(point)
    return Point(point.lng + east, point.lat + north)


def from_gcj02(point: Point) -> Point:
    """Convert a GCJ-02 point to WGS-84.

    The shift has no closed inverse, but changes so slowly that correcting a guess by its own error
    converges to well below a millimetre in a few steps.
    """
    guess = point
    for _ in range(MAX_ITERATIONS):
        shown = to_gcj02(guess)
        error = Point(shown.lng - point.lng, shown.lat - point.lat)
        guess = Point(guess.lng - error.lng, guess.lat - error.lat)
        if abs(error.lng) < TOLERANCE_DEGREES and abs(error.lat) < TOLERANCE_DEGREES:
            break
    return guess


def _gcj02_offset(point: Point) -> tuple[float, float]:
    """Return the GCJ-02 shift of a WGS-84 point, in degrees to the east and to the north."""
    x, y = point.lng - 105.0, point.lat - 35.0
    common = 20 * sin(6 * pi * x) + 20 * sin(2 * pi * x)
    root = sqrt(abs(x))
    north = -100 + 2 * x + 3 * y + 0.2 * y * y + 0.1 * x * y + 0.2 * root
    north += (common + 20 * sin(pi * y) + 40 * sin(pi * y / 3)) * 2 / 3
    north += (160 * sin(pi * y / 12) + 320 * sin(pi * y / 30)) * 2 / 3
    east = 300 + x + 2 * y + 0.1 * x * x + 0.1 * x * y + 0.1 * root
    east += (common + 20 * sin(pi * x) + 40 * sin(pi * x / 3)) * 2 / 3
    east += (150 * sin(pi * x / 12) + 300 * sin(pi * x / 30)) * 2 / 3
    latitude = radians(point.lat)
    bulge = 1 - ECCENTRICITY_SQUARED * sin(latitude) ** 2
    metres_per_radian_lng = SEMI_MAJOR_AXIS_METRES / sqrt(bulge) * cos(latitude)
    metres_per_radian_lat = SEMI_MAJOR_AXIS_METRES * (1 - ECCENTRICITY_SQUARED) / bulge**1.5
    return east * 180 / (metres_per_radian_lng * pi), north * 180 / (metres_per_radian_lat * pi)


def distance_metres(a: Point, b: Point) -> float:
    """Return the great-circle distance of two WGS-84 points in metres (haversine)."""
    half_lat, half_lng = radians(b.lat - a.lat) / 2, radians(b.lng - a.lng) / 2
    square = sin(half_lat) ** 2 + cos(radians(a.lat)) * cos(radians(b.lat)) * sin(half_lng) ** 2
    return 2 * EARTH_RADIUS_METRES * asin(min(1.0, sqrt(square)))


def format_distance(metres: int) -> str:
    """Format a distance for display, in m or km."""
    return f"{metres} m" if metres < 1_000 else f"{metres / 1_000:.1f}".removesuffix(".0") + " km"
