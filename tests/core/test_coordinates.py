"""Coordinates: published pairs, exact ways back, and no guessing from where a point lies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.coordinates import Point, distance_metres, from_gcj02, to_gcj02, to_wgs84
from research.core.records import Place

# WGS-84 and GCJ-02 of the same points, as the tests of eviltransform (MIT) publish them.
PAIRS = [
    (Point(121.5272106, 31.1774276), Point(121.531541859215, 31.17530398364597)),
    (Point(113.912316, 22.543847), Point(113.9171764808363, 22.540796131694766)),
    (Point(116.377817, 39.911954), Point(116.38404722455657, 39.91334545536069)),
]
SEOUL, BANGKOK = Point(126.978, 37.5665), Point(100.5018, 13.7563)


@pytest.mark.parametrize(("wgs84", "gcj02"), PAIRS)
def test_published_pairs_are_met_to_a_centimetre_both_ways(wgs84: Point, gcj02: Point) -> None:
    assert distance_metres(to_gcj02(wgs84), gcj02) < 0.01
    assert distance_metres(from_gcj02(gcj02), wgs84) < 0.01


@given(st.floats(73, 136), st.floats(17, 54))
def test_there_and_back_is_exact_to_a_millimetre(lng: float, lat: float) -> None:
    assert distance_metres(from_gcj02(to_gcj02(Point(lng, lat))), Point(lng, lat)) < 0.001


@pytest.mark.parametrize("point", [SEOUL, BANGKOK, Point(116.4074, 39.9042)])
def test_a_point_declared_wgs84_never_moves_wherever_it_lies(point: Point) -> None:
    assert to_wgs84(point, "wgs84") == point


def test_the_shift_in_a_chinese_city_is_some_hundred_metres() -> None:
    for point in (Point(116.4109, 39.9149), Point(121.4905, 31.2397), Point(120.1485, 30.2421)):
        assert 400 < distance_metres(to_gcj02(point), point) < 700


def test_distances_are_those_of_the_globe() -> None:
    assert distance_metres(Point(0, 0), Point(0, 1)) == pytest.approx(111_195, abs=1)
    assert distance_metres(SEOUL, SEOUL) == 0
    assert distance_metres(Point(-180, 0), Point(180, 0)) == pytest.approx(0, abs=1e-6)


# Where Amap's points are shifted and where they are not: id, adcode, province, and the point as Amap
# would have it. The landmarks are real, their points known to a hundred metres.
REAL = {
    "Hong Kong": (Point(114.1588, 22.2819), "810001", "香港特别行政区", "中国", True),
    "Macau": (Point(113.5409, 22.1976), "820006", "澳门特别行政区", "中国", True),
    "Taipei": (Point(121.5645, 25.0340), "710000", "台湾省", "中国", False),
    "Tokyo": (Point(139.7454, 35.6586), "", "", "日本", False),
    "London": (Point(-0.1246, 51.5007), "", "", "英国", False),
    "Beijing": (Point(116.3970, 39.9178), "110101", "北京市", "中国", True),
}


@pytest.mark.parametrize("city", REAL)
@pytest.mark.parametrize("shape", ["geocode", "place"])
def test_a_point_of_amap_s_is_shown_where_it_is(city: str, shape: str) -> None:
    from research.sources.places import amap, tool_responses

    real, adcode, province, country, moved = REAL[city]
    shown = to_gcj02(real) if moved else real
    said = {
        "location": f"{shown.lng:.6f},{shown.lat:.6f}",
        "adcode": adcode,
        "name": "x",
        "id": "B0",
    }
    if shape == "geocode":
        row = amap._parse_area(said | {"country": country, "province": province, "level": "兴趣点"})
        (area,) = tool_responses.parse_areas({"return": [row]})
        found = area.point
    else:
        row = amap._parse_place(said | {"pname": province or country})
        (place,) = tool_responses.parse_places({"pois": [row]})
        assert isinstance(place, Place)
        found = Point(place.lng, place.lat)
    assert distance_metres(found, real) < 1


@pytest.mark.parametrize("city", REAL)
def test_a_server_that_declares_no_system_is_read_as_amap(city: str) -> None:
    from research.sources.places import tool_responses

    real, adcode, province, country, moved = REAL[city]
    shown = to_gcj02(real) if moved else real
    row = {"location": f"{shown.lng:.6f},{shown.lat:.6f}", "adcode": adcode, "province": province, "country": country}  # fmt: skip
    (area,) = tool_responses.parse_areas({"return": [row | {"level": "兴趣点"}]})
    assert distance_metres(area.point, real) < 1


@pytest.mark.parametrize("lng", range(-180, 181, 15))
def test_the_shift_is_undone_anywhere_in_the_world(lng: int) -> None:
    """Arguments of tools are in GCJ-02 whoever answers."""
    for lat in range(-80, 81, 10):
        point = Point(lng + 0.123, lat + 0.456)
        assert distance_metres(from_gcj02(to_gcj02(point)), point) < 0.001
