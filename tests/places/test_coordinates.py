"""Coordinates: published pairs, exact ways back, and no guessing from where a point lies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.places.coordinates import Point, from_gcj02, metres, to_gcj02, to_wgs84

# WGS-84 and GCJ-02 of the same points, as the tests of eviltransform (MIT) publish them.
PAIRS = [
    (Point(121.5272106, 31.1774276), Point(121.531541859215, 31.17530398364597)),
    (Point(113.912316, 22.543847), Point(113.9171764808363, 22.540796131694766)),
    (Point(116.377817, 39.911954), Point(116.38404722455657, 39.91334545536069)),
]
SEOUL, BANGKOK = Point(126.978, 37.5665), Point(100.5018, 13.7563)


@pytest.mark.parametrize(("wgs84", "gcj02"), PAIRS)
def test_published_pairs_are_met_to_a_centimetre_both_ways(wgs84: Point, gcj02: Point) -> None:
    assert metres(to_gcj02(wgs84), gcj02) < 0.01
    assert metres(from_gcj02(gcj02), wgs84) < 0.01


@given(st.floats(73, 136), st.floats(17, 54))
def test_there_and_back_is_exact_to_a_millimetre(lng: float, lat: float) -> None:
    assert metres(from_gcj02(to_gcj02(Point(lng, lat))), Point(lng, lat)) < 0.001


@pytest.mark.parametrize("point", [SEOUL, BANGKOK, Point(116.4074, 39.9042)])
def test_a_point_declared_wgs84_never_moves_wherever_it_lies(point: Point) -> None:
    assert to_wgs84(point, "wgs84") == point


def test_the_shift_in_a_chinese_city_is_some_hundred_metres() -> None:
    for point in (Point(116.4109, 39.9149), Point(121.4905, 31.2397), Point(120.1485, 30.2421)):
        assert 400 < metres(to_gcj02(point), point) < 700


def test_distances_are_those_of_the_globe() -> None:
    assert metres(Point(0, 0), Point(0, 1)) == pytest.approx(111_195, abs=1)
    assert metres(SEOUL, SEOUL) == 0
    assert metres(Point(-180, 0), Point(180, 0)) == pytest.approx(0, abs=1e-6)
