"""Which columns are a point, told by their names, and the points of rows in WGS-84."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from research.sources.database.point_columns import PointColumns
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
    found = PointColumns.from_names(("id", *names))
    assert found is not None and (found.lng_index, found.lat_index) == (1, 2)


@each_row("names", [(), ("lng",), ("lat", "late"), ("lng_wgs84", "lat_gcj02"), ("belong", "flat")])
def test_half_a_point_is_none(names: tuple[str, ...]) -> None:
    assert PointColumns.from_names(names) is None


def test_of_several_systems_wgs84_goes_first() -> None:
    found = PointColumns.from_names(("lng_gcj02", "lat_gcj02", "lng_wgs84", "lat_wgs84"))
    assert found == PointColumns(2, 3, "wgs84")


def test_gcj02_is_converted() -> None:
    row = (120.155, 30.25)
    plain, moved = PointColumns(0, 1, "").read_point(row), PointColumns(0, 1, "gcj02").read_point(row)
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
    assert PointColumns(0, 1, "").read_point(row) is None
