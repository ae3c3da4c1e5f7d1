"""A way as any of the servers tells it: how long it is, what there is to do, and where it runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.coordinates import Point, distance_metres, to_gcj02
from research.sources.places.directions import MAX_LINE_POINTS, RouteStep, parse_route
from tests.tables import each_row

PATHS = [
    {"distance": "1520", "duration": "1216", "steps": []},
    {"distance": "9", "duration": "9"},
]
HERE, THERE = Point(116.40465, 39.91011), Point(116.3909, 39.9169)


def sent(*points: Point) -> str:
    """Points as Amap writes a line, to nine decimals."""
    return ";".join("{:.9f},{:.9f}".format(*to_gcj02(point)) for point in points)


@each_row(
    "answer",
    [
        {"route": {"origin": "1,1", "destination": "2,2", "paths": PATHS}},
        {"origin": "1,1", "destination": "2,2", "paths": PATHS},  # hosted, driving
        {"data": {"origin": "1,1", "paths": [{"distance": 1520, "duration": 1216}]}},  # v4
        {"data": {"paths": [{"distance": 1520.0, "duration": 1216.0}]}, "errcode": 0},
        {"route": {"transits": [{"distance": "1520", "duration": "1216", "segments": []}]}},
        {"transits": [{"distance": "1520", "duration": "1216"}]},  # hosted, transit
        {"route": {"paths": [{"distance": [], "duration": []}, PATHS[0]]}},
    ],
)
def test_a_way_is_read_however_it_is_wrapped(answer: dict[str, Any]) -> None:
    found = parse_route(answer)
    assert found is not None
    assert (found.metres, found.seconds, found.line) == (1520, 1216, ())


@pytest.mark.parametrize("nothing", [None, [], "", {}, {"paths": []}, {"paths": [{}]}])
def test_an_answer_without_a_way_has_none(nothing: object) -> None:
    assert parse_route({"route": nothing}) is None


def test_a_line_goes_through_all_steps_in_the_coordinates_of_the_world() -> None:
    corner = Point(HERE.lng, THERE.lat)
    steps = [
        {"instruction": "向北步行", "distance": "700", "polyline": sent(HERE, corner)},
        {"instruction": "左转", "distance": "800", "polyline": sent(corner, THERE)},
    ]
    found = parse_route({"route": {"paths": [{"distance": "1500", "duration": "1200", "steps": steps}]}})
    assert found is not None
    assert len(found.line) == 3  # the corner once
    for point, wanted in zip(found.line, (HERE, corner, THERE), strict=True):
        assert distance_metres(point, wanted) < 0.2
    assert found.steps == (RouteStep("向北步行", 700), RouteStep("左转", 800))


def test_points_that_are_in_the_world_s_coordinates_stay_where_they_are() -> None:
    line = ";".join(f"{p.lng},{p.lat}" for p in (HERE, THERE))
    row = {"distance": "1", "duration": "1", "steps": [{"polyline": line}]}
    found = parse_route({"crs": "wgs84", "route": {"paths": [row]}})
    assert found is not None
    assert found.line == (HERE, THERE)


def test_public_transport_is_told_by_its_stretches() -> None:
    walk = {"distance": "420", "steps": [{"instruction": "步行", "polyline": sent(HERE, THERE)}]}
    bus = {
        "name": "地铁1号线",
        "distance": "852",
        "departure_stop": {"name": "王府井"},
        "arrival_stop": {"name": "天安门东"},
        "polyline": sent(THERE, HERE),
    }
    train = {"trip": "G1", "distance": "1000", "departure_stop": {"name": "北京南"}, "arrival_stop": {"name": "上海虹桥"}}  # fmt: skip
    segments = [
        {"walking": walk, "bus": {"buslines": [bus, {"name": "地铁2号线"}]}, "railway": []},
        {"walking": [], "bus": {"buslines": []}, "railway": train},
    ]
    found = parse_route({"route": {"transits": [{"duration": "1080", "segments": segments}]}})
    assert found is not None
    assert (found.metres, found.seconds) == (2272, 1080)
    assert found.steps == (
        RouteStep(metres=420),
        RouteStep(metres=852, transit_line="地铁1号线", start="王府井", end="天安门东"),
        RouteStep(metres=1000, transit_line="G1", start="北京南", end="上海虹桥"),
    )
    assert len(found.line) == 3


def test_of_a_very_long_line_both_ends_are_kept() -> None:
    points = [Point(100 + n / 1000, 30) for n in range(3 * MAX_LINE_POINTS)]
    row = {"distance": "1", "duration": "1", "steps": [{"polyline": sent(*points)}]}
    found = parse_route({"route": {"paths": [row]}})
    assert found is not None
    assert len(found.line) <= MAX_LINE_POINTS + 1
    assert distance_metres(found.line[0], points[0]) < 0.2
    assert distance_metres(found.line[-1], points[-1]) < 0.2


@pytest.mark.parametrize("line", ["", [], "x;y", "1;2", "116.4,39.9", "999,999;1000,1000", None])
def test_what_is_no_line_is_none(line: object) -> None:
    row = {"distance": "1", "duration": "1", "steps": [{"polyline": line}]}
    found = parse_route({"route": {"paths": [row]}})
    assert found is not None
    assert found.line == ()


NAMES = st.sampled_from(
    ["route", "data", "paths", "transits", "steps", "segments", "bus", "buslines", "walking",
     "railway", "distance", "duration", "polyline", "instruction", "crs"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.just("1,2;3,4"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=16,
)


@given(st.dictionaries(NAMES, JSON))
def test_no_answer_is_too_odd_to_be_read(answer: dict[str, Any]) -> None:
    parse_route(answer)
