"""Amap over its REST API: what a call brings, how each failure is told, and where the key is not."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.sources.places.amap import AmapBackend
from research.sources.places.offline import _load_table
from research.sources.places.tools import RoutingMode
from tests.servers.amap import PLACES, FakeAmap
from tests.servers.search import nowhere
from tests.tables import each_row

KEY = "sentinel+amap/0123456789"
WANGFUJING = "116.410894,39.911514"
TIANANMEN = "116.397545,39.908699"
FAMILY = "亲子乐园|儿童乐园|博物馆|公园"
TRUTH = {entry["name"]: Point(entry["lng"], entry["lat"]) for entry in _load_table()["places"]}


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
async def amap(fake: FakeAmap) -> AsyncIterator[AmapBackend]:
    client = AmapBackend(KEY, base_url=fake.base_url, timeout_seconds=5)
    yield client
    await client.close()


def point(place: dict[str, Any]) -> Point:
    lng, lat = place["location"].split(",")
    return Point(float(lng), float(lat))


async def failure(client: AmapBackend) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await client.search_around(WANGFUJING, 2000, "公园")
    await client.close()
    return caught.value


async def test_from_a_name_to_the_places_around_it_in_the_coordinates_of_the_world(
    amap: AmapBackend, fake: FakeAmap
) -> None:
    (centre,) = (await amap.geocode("北京市王府井"))["return"]
    assert (centre["crs"], centre["level"], centre["district"]) == ("gcj02", "热点商圈", "东城区")
    found = (await amap.search_around(centre["location"], 3000, FAMILY))["pois"]
    known = [place for place in found if place["name"] in TRUTH]
    assert len(known) >= 4
    for place in known:
        assert place["crs"] == "gcj02"
        assert distance_metres(from_gcj02(point(place)), TRUTH[place["name"]]) < 5
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around"]


async def test_one_call_around_a_point_brings_all_that_a_list_shows(amap: AmapBackend, fake: FakeAmap) -> None:
    found = await amap.search_around(WANGFUJING, 2000, "亲子")
    assert (found["crs"], found["source"], found["sample"]) == ("gcj02", "amap", False)
    (place,) = found["pois"]
    assert place["name"] == "奇趣岛亲子乐园(王府井店)"
    assert (place["rating"], place["cost"], place["distance"]) == (4.5, 128.0, 301)
    assert place["hours"] == "周一至周日 10:00-21:30"
    assert place["phone"] == "010-65132842"
    assert place["photos"] == ["http://store.is.autonavi.com/showpic/b0ffh2k7qd"]
    asked = fake.last.query
    assert asked.pop("key") == KEY
    assert asked == {
        "location": WANGFUJING,
        "radius": "2000",
        "keywords": "亲子",
        "sortrule": "distance",
        "extensions": "all",
        "offset": "25",
        "page": "1",
        "output": "JSON",
    }


async def test_empty_values_of_amap_are_empty_here(amap: AmapBackend) -> None:
    (place,) = (await amap.search_text("小树林儿童乐园", "北京"))["pois"]
    assert (place["address"], place["hours"], place["phone"], place["photos"]) == ("", "", "", [])
    assert (place["rating"], place["cost"], place["distance"]) == (None, None, None)


async def test_a_municipality_is_its_own_city(amap: AmapBackend) -> None:
    found = await amap.reverse_geocode(WANGFUJING)
    assert (found["province"], found["city"]) == ("北京市", "北京市")


async def test_a_province_is_told_by_its_level(amap: AmapBackend) -> None:
    (found,) = (await amap.geocode("浙江省"))["return"]
    assert (found["level"], found["city"]) == ("省", "")


async def test_words_are_looked_for_in_the_city_that_is_given(amap: AmapBackend, fake: FakeAmap) -> None:
    names = {place["city"] for place in (await amap.search_text("博物馆", "杭州"))["pois"]}
    assert names == {"杭州市"}
    assert fake.last.query["citylimit"] == "true"


async def test_a_place_by_its_id(amap: AmapBackend) -> None:
    assert (await amap.fetch_details(PLACES[0][0]))["name"] == PLACES[0][1]
    with pytest.raises(ServiceError, match="empty: Amap: no place has this id"):
        await amap.fetch_details("B0NOPE")


@pytest.mark.parametrize("mode", ["walking", "driving", "bicycling"])
async def test_a_route_has_numbers_and_its_line_whichever_way(amap: AmapBackend, mode: RoutingMode) -> None:
    (path,) = (await amap.fetch_route(mode, WANGFUJING, TIANANMEN))["route"]["paths"]
    assert isinstance(path["distance"], int) and isinstance(path["duration"], int)
    first, last = (step["polyline"] for step in path["steps"])
    assert first.split(";")[0] == WANGFUJING
    assert last.split(";")[-1] == TIANANMEN
    assert "road" not in path["steps"][0]  # it was empty


async def test_public_transport_names_its_lines(amap: AmapBackend) -> None:
    route = (await amap.fetch_route("transit", WANGFUJING, TIANANMEN, "北京", "北京"))["route"]
    (line,) = route["transits"][0]["segments"][0]["bus"]["buslines"]
    assert (line["name"], line["distance"]) == ("地铁1号线", 852)


async def test_distances_come_from_each_origin_in_metres(amap: AmapBackend) -> None:
    results = (await amap.measure_distances(f"{WANGFUJING}|{TIANANMEN}", TIANANMEN, "0"))["results"]
    assert [row["distance"] for row in results] == [1180, 0]


async def test_the_weather_and_the_place_of_an_ip_address(amap: AmapBackend) -> None:
    assert len((await amap.fetch_forecast("北京"))["forecasts"]) == 4
    assert (await amap.locate_ip("114.247.50.2"))["adcode"] == "110000"


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("fetch_forecast", ("不存在",)),
        ("locate_ip", ("192.168.1.1",)),
        ("fetch_details", ("B0NOPE",)),
    ],
)
async def test_one_thing_that_is_not_there_is_said_to_be_empty(
    amap: AmapBackend, method: str, arguments: tuple[str, ...]
) -> None:
    with pytest.raises(ServiceError) as caught:
        await getattr(amap, method)(*arguments)
    assert caught.value.reason == "empty"


async def test_nothing_found_is_an_empty_list_and_no_failure(amap: AmapBackend, fake: FakeAmap) -> None:
    assert (await amap.search_around(WANGFUJING, 2000, "天文台"))["pois"] == []
    assert (await amap.geocode("天涯海角的某处"))["return"] == []
    fake.fail("geocode/geo", "engine")
    assert (await amap.geocode("北京市王府井"))["return"] == []


async def test_a_success_without_anything_in_it_breaks_nothing(amap: AmapBackend, fake: FakeAmap) -> None:
    fake.fail("any", "empty")
    assert (await amap.search_around(WANGFUJING))["pois"] == []
    assert (await amap.measure_distances(WANGFUJING, TIANANMEN))["results"] == []
    modes: tuple[RoutingMode, ...] = ("walking", "bicycling")
    for mode in modes:
        with pytest.raises(ServiceError, match="no route"):
            await amap.fetch_route(mode, WANGFUJING, TIANANMEN)
    with pytest.raises(ServiceError, match="no address"):
        await amap.reverse_geocode(WANGFUJING)


@pytest.mark.parametrize(
    ("fault", "reason", "hint", "again"),
    [
        ("key", "refused", "key", False),
        ("platform", "refused", "key", False),
        ("quota", "quota", "", False),
        ("qps", "quota", "", True),
        ("engine", "empty", "", False),
        ("far", "empty", "", False),
        ("html502", "unavailable", "", True),
        ("html200", "malformed", "endpoint", False),
        ("badjson", "malformed", "endpoint", False),
        ("drop", "unreachable", "", True),
    ],
)
async def test_a_failure_is_told_by_its_kind(
    amap: AmapBackend, fake: FakeAmap, fault: str, reason: str, hint: str, again: bool
) -> None:
    fake.fail("any", fault)
    trouble = await failure(amap)
    assert (trouble.reason, trouble.hint, trouble.is_retryable) == (reason, hint, again)
    fake.fail("any", "ok")
    assert (await amap.search_around(WANGFUJING, 2000, "公园"))["pois"]


async def test_the_fourth_version_of_the_api_fails_with_the_same_words(amap: AmapBackend, fake: FakeAmap) -> None:
    fake.fail("bicycling", "quota")
    with pytest.raises(ServiceError, match=r"USER_DAILY_QUERY_OVER_LIMIT \(10044\)"):
        await amap.fetch_route("bicycling", WANGFUJING, TIANANMEN)


async def test_an_amap_that_hangs_is_late(fake: FakeAmap) -> None:
    fake.fail("any", "hang")
    trouble = await failure(AmapBackend(KEY, base_url=fake.base_url, timeout_seconds=0.2))
    assert (trouble.reason, trouble.is_retryable) == ("timeout", True)


async def test_nobody_at_the_address_is_unreachable_and_no_address_is_refused() -> None:
    trouble = await failure(AmapBackend(KEY, base_url=nowhere()))
    assert (trouble.reason, trouble.is_retryable) == ("unreachable", True)
    trouble = await failure(AmapBackend(KEY, base_url="localhost:80"))
    assert (trouble.reason, trouble.hint) == ("refused", "endpoint")


@each_row("location", [[], "", "x,y", "nan,1", "200,10", "116.4", None, {"lng": 1}])
def test_a_place_without_a_point_on_the_earth_is_left_out(location: Any) -> None:
    row = {"id": "1", "name": "nowhere", "location": location}
    assert AmapBackend(KEY)._build_places({"pois": [row, None, 7]})["pois"] == []


@pytest.mark.parametrize("fault", ["key", "hang", "html502", "badjson", "drop", "ok"])
async def test_the_key_is_in_no_message_no_log_and_no_exception(
    fake: FakeAmap, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = AmapBackend(KEY, base_url=fake.base_url, timeout_seconds=0.3 if fault == "hang" else 30)
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)
    fake.fail("any", fault)
    try:
        told = repr(await client.search_around(WANGFUJING))
    except ServiceError as trouble:
        assert (trouble.__cause__, trouble.__context__) == (None, None)
        told = "".join(traceback.format_exception(trouble)) + trouble.message
    await client.close()
    assert fake.last.query["key"] == KEY
    for trace in (KEY, "sentinel%2Bamap", "sentinel+amap"):
        assert trace not in told
        assert trace not in caplog.text
