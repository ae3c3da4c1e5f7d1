"""Ways, distances and rounds by rules: which tools are asked for what, and what is said where they
cannot tell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.core.records import Language
from research.core.settings import Settings
from research.sources.places import routes
from research.sources.places.place_search import PlaceSearchResult, find_place, find_place_details
from research.sources.places.service import MapService, MapTools
from research.sources.places.tools import RoutingMode
from research.storage.store import Store
from tests.servers.amap import FakeAmap

GEO, WALK, DRIVE = "v3/geocode/geo", "v3/direction/walking", "v3/direction/driving"
TRANSIT, RIDE, FAR = "v3/direction/transit/integrated", "v4/direction/bicycling", "v3/distance"
AROUND, TEXT, DETAIL = "v3/place/around", "v3/place/text", "v3/place/detail"
PALACE = from_gcj02(Point(116.397142, 39.918301))
Opened = Callable[..., MapTools]


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
async def tools(tmp_path: Path, fake: FakeAmap) -> AsyncIterator[Opened]:
    opened: list[MapService] = []
    store = Store(tmp_path / "runs.db")

    def made(key: str = "a-key-0123456789", calls: int = 8, tongue: Language = "zh") -> MapTools:
        settings = Settings(data_dir=tmp_path, amap_key=SecretStr(key), amap_url=fake.base_url)
        opened.append(MapService(settings, store))
        return MapTools(opened[-1], tongue, calls_left=calls)

    yield made
    for service in opened:
        await service.close()
    store.close()


def used(found: PlaceSearchResult) -> list[str]:
    return [told.tool for told in found.results]


def names(found: PlaceSearchResult) -> list[str]:
    return [place.name for place in found.places]


# From one place to another


async def test_a_short_way_is_walked(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.find_route(tools(), "王府井", "故宫博物院", None)
    assert fake.paths() == [GEO, GEO, WALK]
    assert names(found) == ["王府井", "故宫博物院"]
    assert fake.last.query["origin"] == "116.410894,39.911514"
    assert fake.last.query["destination"] == "116.397142,39.918301"
    assert found.facts_first


async def test_a_long_way_is_ridden_and_driven(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.find_route(tools(), "王府井", "西湖", None)
    assert fake.paths() == [GEO, GEO, TRANSIT, DRIVE]
    ride = next(asked for asked in fake.log if asked.path == f"/{TRANSIT}")
    assert (ride.query["city"], ride.query["cityd"]) == ("北京市", "杭州市")
    assert found.failures == ()


@pytest.mark.parametrize(
    ("means", "path"),
    [("walking", WALK), ("driving", DRIVE), ("bicycling", RIDE), ("transit", TRANSIT)],
)
async def test_the_means_that_is_named_is_asked_for_and_no_other(
    tools: Opened, fake: FakeAmap, means: RoutingMode, path: str
) -> None:
    await routes.find_route(tools(), "王府井", "外滩", means)
    assert fake.paths() == [GEO, GEO, path]


async def test_points_need_no_address_but_public_transport_needs_their_city(tools: Opened, fake: FakeAmap) -> None:
    await routes.find_route(tools(), PALACE, "王府井", "walking")
    assert fake.paths() == [GEO, WALK]
    fake.log.clear()
    await routes.find_route(tools(), PALACE, "王府井", "transit")
    assert fake.paths() == ["v3/geocode/regeo", TRANSIT]


async def test_an_end_that_could_be_several_places_is_asked_back(tools: Opened) -> None:
    with pytest.raises(ServiceError) as caught:
        await routes.find_route(tools(), "王府井", "鼓楼", None)
    assert caught.value.reason == "unclear"
    assert "南京市" in caught.value.message


async def test_where_one_means_has_no_way_the_other_is_told(tools: Opened, fake: FakeAmap) -> None:
    fake.fail("transit/integrated", "far")
    found = await routes.find_route(tools(tongue="en"), "王府井", "西湖", None)
    assert used(found)[-1] == "maps_direction_driving"
    (failure,) = found.failures
    assert failure.reason == "empty"
    assert "Public transport" in failure.message


async def test_where_there_is_no_way_at_all_the_straight_line_is_told(tools: Opened, fake: FakeAmap) -> None:
    fake.fail("direction", "far")
    fake.fail("walking", "far")
    found = await routes.find_route(tools(), "王府井", "故宫博物院", None)
    assert used(found)[-1] == "maps_distance"
    assert [failure.reason for failure in found.failures] == ["empty"]


async def test_a_quota_that_is_used_up_is_the_reason(tools: Opened, fake: FakeAmap) -> None:
    fake.fail("walking", "quota")
    fake.fail("distance", "quota")
    with pytest.raises(ServiceError) as caught:
        await routes.find_route(tools(), "王府井", "故宫博物院", None)
    assert caught.value.reason == "quota"


async def test_the_sample_knows_no_ways_and_says_so(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.find_route(tools(""), "王府井", "故宫博物院", None)
    assert used(found) == ["maps_geo", "maps_geo", "maps_distance"]
    (failure,) = found.failures
    assert (failure.reason, failure.message.split("，")[0]) == ("no key", "离线示例不含路线")
    assert fake.log == []


async def test_no_more_calls_are_made_than_the_budget_has(tools: Opened, fake: FakeAmap) -> None:
    with pytest.raises(ServiceError) as caught:
        await routes.find_route(tools(calls=2), "王府井", "故宫博物院", None)
    assert caught.value.reason == "left out"
    assert fake.paths() == [GEO, GEO]


# How far


async def test_how_far_is_told_in_a_line_by_car_and_on_foot_where_it_is_near(tools: Opened, fake: FakeAmap) -> None:
    await routes.find_distance(tools(), "王府井", "故宫博物院", None)
    assert fake.paths() == [GEO, GEO, FAR, FAR, FAR]
    assert [asked.query["type"] for asked in fake.log[2:]] == ["0", "1", "3"]
    fake.log.clear()
    await routes.find_distance(tools(), "王府井", "西湖", None)
    assert [asked.query["type"] for asked in fake.log if "type" in asked.query] == ["0", "1"]


async def test_without_a_key_there_is_the_straight_line(tools: Opened) -> None:
    found = await routes.find_distance(tools(""), "王府井", "故宫博物院", None)
    assert used(found) == ["maps_geo", "maps_geo", "maps_distance"]
    assert [failure.reason for failure in found.failures] == ["no key"]


# What lies between


async def test_between_two_that_are_close_it_is_the_middle_that_is_searched_around(
    tools: Opened, fake: FakeAmap
) -> None:
    found = await routes.search_between(tools(), "王府井", "王府井书店", ("公园",), None)
    assert fake.paths()[:3] == [GEO, GEO, AROUND]
    assert fake.log[2].query["keywords"] == "公园"
    assert found.centre is not None
    assert found.centre.name == "王府井、王府井书店"


async def test_between_two_that_are_farther_the_way_is_searched_along(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.search_between(tools(), "中山公园", "嘉德艺术中心", (), None)
    assert fake.paths() == [GEO, GEO, WALK, AROUND, AROUND, AROUND]
    assert len(found.circles) == routes.MAX_CIRCLES
    assert {circle.radius for circle in found.circles} == {500}
    assert used(found)[-1] == "maps_direction_walking"
    asked = [from_gcj02(Point(*map(float, a.query["location"].split(",")))) for a in fake.log[3:]]
    for point, circle in zip(asked, found.circles, strict=True):
        assert distance_metres(point, Point(circle.lng, circle.lat)) < 0.2
    assert len({tuple(point) for point in asked}) == routes.MAX_CIRCLES


# A day


async def test_a_round_goes_through_its_stops_from_each_to_the_nearest(tools: Opened, fake: FakeAmap) -> None:
    stops = ("故宫博物院", "中国国家博物馆", "皇城根遗址公园")
    found = await routes.plan_itinerary(tools(), "北京", stops, None, ())
    assert fake.paths() == [GEO] * 3 + [WALK] * 2 + [FAR] * 3
    assert found.distances is not None
    assert found.distances.names == tuple(names(found))
    assert [asked.query["address"] for asked in fake.log[:3]] == [f"北京{stop}" for stop in stops]
    assert names(found) == ["故宫博物院", "皇城根遗址公园", "中国国家博物馆"]
    for told, (a, b) in zip(found.results[3:5], pairwise(found.places), strict=True):
        start, end = (from_gcj02(Point(*map(float, str(told.arguments[name]).split(",")))) for name in ("origin", "destination"))  # fmt: skip
        assert distance_metres(start, Point(a.lng, a.lat)) < 0.2
        assert distance_metres(end, Point(b.lng, b.lat)) < 0.2


async def test_ways_are_drawn_before_distances_are_measured(tools: Opened, fake: FakeAmap) -> None:
    stops = ("故宫博物院", "中国国家博物馆", "皇城根遗址公园", "中山公园")
    found = await routes.plan_itinerary(tools(), "北京", stops, None, ())
    assert fake.paths() == [GEO] * 4 + [WALK] * 3
    assert found.distances is None
    assert found.failures == ()


async def test_stops_that_the_budget_does_not_reach_are_said(tools: Opened, fake: FakeAmap) -> None:
    stops = ("故宫博物院", "中国国家博物馆", "皇城根遗址公园")
    found = await routes.plan_itinerary(tools(calls=4), "北京", stops, None, ())
    assert fake.paths() == [GEO] * 3 + [WALK]
    assert [failure.reason for failure in found.failures] == ["left out"]
    assert len(found.places) == 3


async def test_distances_between_several_take_a_call_for_each(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.find_distance_matrix(tools(), ("王府井", "故宫博物院", "中山公园"))
    assert fake.paths() == [GEO] * 3 + [FAR] * 3
    assert found.distances is not None
    assert found.distances.metres[0][0] is None


async def test_without_stops_a_round_goes_through_the_best_sights(tools: Opened, fake: FakeAmap) -> None:
    found = await routes.plan_itinerary(tools(), "西湖", (), None, ())
    assert fake.paths()[:2] == [GEO, AROUND]
    assert fake.log[1].query["keywords"] == "景点"
    assert len(found.places) > 1
    assert len(fake.log) <= 8


# One place


async def test_where_a_place_is_needs_its_address_only(tools: Opened, fake: FakeAmap) -> None:
    (place,) = (await find_place(tools(), "故宫博物院")).places
    assert fake.paths() == [GEO]
    assert distance_metres(Point(place.lng, place.lat), PALACE) < 0.2
    assert place.address == "北京市东城区"


async def test_what_is_known_of_a_place_is_asked_for_by_its_id(tools: Opened, fake: FakeAmap) -> None:
    found = await find_place_details(tools(), "故宫")
    assert fake.paths() == [TEXT, DETAIL]
    assert fake.last.query["id"] == "B0885978E4"
    assert found.is_complete
    assert (found.places[0].hours, found.places[0].cost) == ("周一至周日 08:30-16:30", 60.0)
