"""The order of a day by the ways that the map measures, and by straight lines where it cannot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.records import Place
from research.core.settings import Settings
from research.sources.places.itinerary import MAX_WALK_METRES, build_itinerary, measure_distance_matrix
from research.sources.places.service import MapService, MapTools
from research.storage.store import Store
from tests.servers.amap import PLACES, FakeAmap

NEAR = ("故宫博物院", "王府井书店", "皇城根遗址公园", "中国国家博物馆")
FAR = ("故宫博物院", "上海博物馆", "雷峰塔", "豫园")
Opened = Callable[..., MapTools]


class Detours(FakeAmap):
    """The way between some pairs of places is much longer than the line: `slow` are their ids."""

    slow: frozenset[frozenset[str]] = frozenset()

    def _body(self, asked, fault):  # type: ignore[no-untyped-def]
        body = super()._body(asked, fault)
        if asked.path == "/v3/distance" and body.get("results"):
            for origin, row in zip(asked.query["origins"].split("|"), body["results"], strict=True):
                ends = frozenset({_at(origin), _at(asked.query["destination"])})
                row["distance"] = str(int(row["distance"]) + 9_000 * (ends in self.slow))
        return body


def _at(location: str) -> str:
    return next(row[0] for row in PLACES if row[5] == location)


def place(name: str) -> Place:
    row = next(row for row in PLACES if row[1] == name)
    lng, lat = (float(part) for part in row[5].split(","))
    point = from_gcj02(Point(lng, lat))
    return Place(id=row[0], name=name, lng=point.lng, lat=point.lat, provider="amap")


def places(names: tuple[str, ...]) -> list[Place]:
    return [place(name) for name in names]


@pytest.fixture
def fake() -> Iterator[Detours]:
    with Detours() as server:
        yield server


@pytest.fixture
async def services(tmp_path: Path, fake: FakeAmap) -> AsyncIterator[Opened]:
    opened: list[MapService] = []
    store = Store(tmp_path / "runs.db")

    def service(key: str = "a-key-0123456789") -> MapTools:
        settings = Settings(data_dir=tmp_path, amap_key=SecretStr(key), amap_url=fake.base_url)
        opened.append(MapService(settings, store))
        return MapTools(opened[-1])

    yield service
    for made in opened:
        await made.close()
    store.close()


async def test_a_day_goes_from_each_place_to_the_nearest_that_is_left(services: Opened, fake: FakeAmap) -> None:
    route = await build_itinerary(services(), places(NEAR))
    assert [p.name for p in route.places] == ["故宫博物院", "皇城根遗址公园", "王府井书店", "中国国家博物馆"]  # fmt: skip
    assert [(leg.origin, leg.destination) for leg in route.legs] == [
        (a.name, b.name) for a, b in pairwise(route.places)
    ]
    assert route.failure is None
    assert fake.paths() == ["v3/distance"] * 4 + ["v3/direction/walking"] * 3


async def test_a_day_is_drawn_on_the_streets_from_each_place_to_the_next(services: Opened) -> None:
    route = await build_itinerary(services(), places(NEAR))
    for leg, (a, b) in zip(route.legs, pairwise(route.places), strict=True):
        assert not leg.straight_line
        assert len(leg.line) == 3  # the fake's ways have a corner
        for point, end in ((leg.line[0], a), (leg.line[-1], b)):
            assert distance_metres(Point(*point), Point(end.lng, end.lat)) < 0.2
        assert leg.steps == ("沿东长安街向西直行", "右转进入南池子大街")


async def test_the_map_s_ways_decide_and_not_the_lines(services: Opened, fake: Detours) -> None:
    first, beside = place("故宫博物院"), place("皇城根遗址公园")
    fake.slow = frozenset({frozenset({first.id, beside.id})})
    route = await build_itinerary(services(), places(NEAR))
    assert [p.name for p in route.places] == ["故宫博物院", "中国国家博物馆", "王府井书店", "皇城根遗址公园"]  # fmt: skip


async def test_what_is_close_together_is_walked_and_what_is_not_is_driven(services: Opened, fake: FakeAmap) -> None:
    service = services()
    near = await build_itinerary(service, places(NEAR))
    assert {asked.query.get("type", "3") for asked in fake.log} == {"3"}
    assert {leg.travel_mode for leg in near.legs} == {"walking"}
    for leg, (a, b) in zip(near.legs, pairwise(near.places), strict=True):
        line = distance_metres(Point(a.lng, a.lat), Point(b.lng, b.lat))
        assert line < MAX_WALK_METRES
        assert leg.metres == pytest.approx(line * 1.3, rel=0.02)
        assert leg.seconds == pytest.approx(line * 1.3 / 1.25, rel=0.02)
    fake.log.clear()
    far = await build_itinerary(service, places(FAR))
    assert {asked.query.get("type", "1") for asked in fake.log} == {"1"}
    assert [p.name for p in far.places] == ["故宫博物院", "上海博物馆", "豫园", "雷峰塔"]
    assert {leg.travel_mode for leg in far.legs} == {"driving"}
    assert all(leg.seconds and leg.seconds > 60 for leg in far.legs)


async def test_points_go_to_the_map_in_its_own_system(services: Opened, fake: FakeAmap) -> None:
    await build_itinerary(services(), places(NEAR[:2]))
    measured, (walked,) = fake.log[:2], fake.log[2:]
    sent = {point for asked in measured for point in asked.query["origins"].split("|")}
    assert {*sent, walked.query["origin"], walked.query["destination"]} <= {row[5] for row in PLACES}


@pytest.mark.parametrize("count", [0, 1])
async def test_there_is_no_way_between_fewer_than_two(services: Opened, fake: FakeAmap, count: int) -> None:
    some = places(NEAR[:count])
    route = await build_itinerary(services(), some)
    assert (route.places, route.legs, route.failure) == (tuple(some), (), None)
    assert fake.log == []


async def test_without_a_key_the_ways_are_lines_and_it_says_why(services: Opened, fake: FakeAmap) -> None:
    route = await build_itinerary(services(""), places(NEAR))
    assert [p.name for p in route.places] == ["故宫博物院", "皇城根遗址公园", "王府井书店", "中国国家博物馆"]  # fmt: skip
    assert {(leg.travel_mode, leg.seconds) for leg in route.legs} == {("straight", None)}
    for leg, (a, b) in zip(route.legs, pairwise(route.places), strict=True):
        assert leg.metres == round(distance_metres(Point(a.lng, a.lat), Point(b.lng, b.lat)))
    assert route.failure is not None
    assert (route.failure.reason, route.failure.source) == ("no key", "places")
    assert "AMAP_MAPS_API_KEY" in route.failure.message
    assert fake.log == []


@pytest.mark.parametrize(("fault", "reason"), [("far", "empty"), ("quota", "quota"), ("empty", "empty")])
async def test_where_the_map_measures_nothing_the_ways_are_lines(
    services: Opened, fake: FakeAmap, fault: str, reason: str
) -> None:
    fake.fail("distance", fault)
    fake.fail("walking", fault)
    route = await build_itinerary(services(), places(NEAR))
    assert len(route.places) == 4
    assert {leg.travel_mode for leg in route.legs} == {"straight"}
    assert route.failure is not None
    assert route.failure.reason == reason


async def test_a_way_that_the_map_does_not_know_is_a_line_between_others_on_the_streets(
    services: Opened, fake: FakeAmap
) -> None:
    fake.fail("distance", "empty")
    route = await build_itinerary(services(), places(NEAR))
    assert {leg.travel_mode for leg in route.legs} == {"walking"}
    assert route.failure is not None


# Tables


async def test_a_table_has_each_way_in_both_directions(services: Opened, fake: FakeAmap) -> None:
    some = places(FAR)
    table = await measure_distance_matrix(services(), some)
    assert table.names == FAR
    assert table.travel_mode == "driving"
    assert fake.paths() == ["v3/distance"] * 4
    for a, start in enumerate(some):
        for b, end in enumerate(some):
            line = distance_metres(Point(start.lng, start.lat), Point(end.lng, end.lat))
            if a == b:
                assert (table.metres[a][b], table.seconds[a][b]) == (None, None)
            else:
                assert table.metres[a][b] == pytest.approx(line * 1.3, rel=0.02)
                assert table.seconds[a][b] == pytest.approx(line * 1.3 / 7, rel=0.02)
