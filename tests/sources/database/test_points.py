"""Which columns are a point, told by their names, and the points of rows in WGS-84."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from research.sources.database.points import Points
from tests.tables import each_row


@each_row(
    "names",
    [
        ("lng_wgs84", "lat_wgs84"),
        ("Longitude", "Latitude"),
        ("lon", "lat"),
        ("shop_lng", "shop_lat"),
        ("经度", "纬度"),
        ("lng_gcj_02", "lat_gcj_02"),
    ],
)
def test_the_usual_spellings_are_known(names: tuple[str, str]) -> None:
    found = Points.of(("id", *names))
    assert found is not None and (found.lng, found.lat) == (1, 2)


@each_row("names", [(), ("lng",), ("lat", "late"), ("lng_wgs84", "lat_gcj02"), ("belong", "flat")])
def test_half_a_point_is_none(names: tuple[str, ...]) -> None:
    assert Points.of(names) is None


def test_of_several_systems_wgs84_goes_first() -> None:
    found = Points.of(("lng_gcj02", "lat_gcj02", "lng_wgs84", "lat_wgs84"))
    assert found == Points(2, 3, "wgs84")


def test_gcj02_is_converted() -> None:
    row = (120.155, 30.25)
    plain, moved = Points(0, 1, "").point(row), Points(0, 1, "gcj02").point(row)
    assert plain == row and moved is not None
    assert 0.001 < abs(moved[0] - row[0]) < 0.02


@each_row(
    "row",
    [
        (None, 30.0),
        (True, 30.0),
        ("120", 30.0),
        (nan, 30.0),
        (120.0, inf),
        (181.0, 0.0),
        (0.0, -91),
    ],
)
def test_what_is_not_on_the_earth_has_no_point(row: tuple[Any, Any]) -> None:
    assert Points(0, 1, "").point(row) is None
