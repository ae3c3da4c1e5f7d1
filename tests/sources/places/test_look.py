"""A look without a model: from words or a point to the best places, or to what has to be asked back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.core.records import Language, Place
from research.core.settings import Settings
from research.sources.places.place_search import (
    MAX_PLACES,
    PlaceSearchResult,
    choose_area,
    rank_places,
    search_by_words,
    search_places,
)
from research.sources.places.service import MapService, MapTools
from research.sources.places.tool_responses import Area
from research.storage.store import Store
from tests.servers.amap import FakeAmap
from tests.tables import each_row

FAMILY = ("亲子乐园", "儿童乐园", "博物馆", "公园")
WANGFUJING = from_gcj02(Point(116.410894, 39.911514))


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
async def service(tmp_path: Path, fake: FakeAmap) -> AsyncIterator[MapService]:
    store = Store(tmp_path / "runs.db")
    settings = Settings(data_dir=tmp_path, amap_key=SecretStr("a-key-0123456789"), amap_url=fake.base_url)
    made = MapService(settings, store, lambda: datetime(2026, 11, 21, tzinfo=UTC))
    yield made
    await made.close()
    store.close()


async def looked(
    service: MapService,
    place: str | Point,
    keywords: Sequence[str] = FAMILY,
    radius: int = 2_000,
    tongue: Language = "zh",
) -> PlaceSearchResult:
    return await search_places(MapTools(service, tongue), place, keywords, radius)


async def back(service: MapService, place: str, tongue: Language = "zh") -> str:
    """What is asked back."""
    with pytest.raises(ServiceError) as caught:
        await looked(service, place, tongue=tongue)
    assert caught.value.reason == "unclear"
    return caught.value.message


def names(found: PlaceSearchResult) -> list[str]:
    return [place.name for place in found.places]


# From a name to places


async def test_a_named_place_takes_two_calls_however_many_kinds_are_looked_for(
    service: MapService, fake: FakeAmap
) -> None:
    found = await looked(service, "北京王府井")
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around"]
    assert fake.log[1].query["keywords"] == "亲子乐园|儿童乐园|博物馆|公园"
    assert fake.log[1].query["radius"] == "2000"
    assert fake.log[1].query["location"] == "116.410894,39.911514"
    assert {"故宫博物院", "小树林儿童乐园"} <= set(names(found))
    assert found.centre is not None
    assert (found.centre.name, found.centre.radius, found.centre.requested_radius) == ("北京王府井", 2_000, 0)
    assert distance_metres(Point(found.centre.lng, found.centre.lat), WANGFUJING) < 0.1


async def test_well_rated_places_come_before_near_ones(service: MapService) -> None:
    found = await looked(service, "北京王府井", radius=3_000)
    assert names(found)[:2] == ["中国国家博物馆", "故宫博物院"]
    near, last = (next(p for p in found.places if p.name == n) for n in ("皇城根遗址公园", "小树林儿童乐园"))  # fmt: skip
    assert last.rating is None
    assert (near.distance or 0) > (last.distance or 0)
    assert found.places[-1] == last


async def test_a_point_of_the_world_needs_no_address_and_is_asked_for_in_amap_s_system(
    service: MapService, fake: FakeAmap
) -> None:
    found = await looked(service, WANGFUJING)
    assert fake.paths() == ["v3/place/around"]
    assert fake.log[0].query["location"] == "116.410894,39.911514"
    assert found.centre is not None
    assert (found.centre.lng, found.centre.lat) == WANGFUJING
    assert found.centre.name == f"{WANGFUJING.lat:.5f}, {WANGFUJING.lng:.5f}"
    assert names(found) == names(await looked(service, "王府井"))


@pytest.mark.parametrize(
    ("place", "city", "found", "other"),
    [
        ("杭州市", "330100", "雷峰塔", "豫园"),
        ("杭州", "330100", "雷峰塔", "豫园"),
        ("浙江杭州", "330100", "雷峰塔", "豫园"),
        ("上海", "310000", "豫园", "雷峰塔"),
        ("东城区", "110101", "中国美术馆", "豫园"),
        ("北京市东城", "110101", "中国美术馆", "豫园"),
    ],
)
async def test_a_city_or_district_is_searched_as_a_whole(
    service: MapService, fake: FakeAmap, place: str, city: str, found: str, other: str
) -> None:
    result = await looked(service, place, ["旅游景点", "美术馆"])
    assert fake.paths() == ["v3/geocode/geo", "v3/place/text"]
    assert fake.log[1].query["city"] == city
    assert found in names(result)
    assert other not in names(result)
    assert result.centre is not None
    assert result.centre.radius == 0


async def test_a_city_without_anything_to_look_for_is_searched_for_sights(service: MapService, fake: FakeAmap) -> None:
    assert "雷峰塔" in names(await looked(service, "杭州", []))
    assert fake.log[1].query["keywords"] == "景点"


async def test_words_alone_are_searched_everywhere(service: MapService, fake: FakeAmap) -> None:
    found = await search_by_words(MapTools(service), "博物馆")
    assert fake.paths() == ["v3/place/text"]
    assert {"故宫博物院", "上海博物馆"} <= set(names(found))
    assert found.centre is None


# Nothing near


async def test_where_nothing_is_near_the_search_is_widened_and_says_so(service: MapService, fake: FakeAmap) -> None:
    found = await looked(service, "王府井", ["公园"], radius=500)
    assert [asked.query["radius"] for asked in fake.log[1:]] == ["500", "1250"]
    assert names(found) == ["皇城根遗址公园"]
    assert found.centre is not None
    assert (found.centre.radius, found.centre.requested_radius) == (1_250, 500)


async def test_it_is_widened_twice_at_most(service: MapService, fake: FakeAmap) -> None:
    found = await looked(service, "王府井", ["滑雪场"], radius=2_000)
    assert [asked.query["radius"] for asked in fake.log[1:]] == ["2000", "5000", "12000"]
    assert found.centre is not None
    assert (found.places, found.centre.radius, found.centre.requested_radius) == ((), 12_000, 2_000)


async def test_it_is_not_widened_beyond_what_the_map_takes(service: MapService, fake: FakeAmap) -> None:
    await looked(service, "王府井", ["滑雪场"], radius=30_000)
    assert [asked.query["radius"] for asked in fake.log[1:]] == ["30000", "50000"]


# What is asked back


async def test_without_a_place_it_is_asked_where(service: MapService, fake: FakeAmap) -> None:
    assert "想找哪里附近的" in await back(service, " ")
    assert "Near where?" in await back(service, "", "en")
    assert fake.log == []


async def test_a_province_is_too_large(service: MapService, fake: FakeAmap) -> None:
    assert await back(service, "浙江") == "“浙江”范围太大（省）。请写明城市或具体地点。"
    assert "“浙江省” is too large an area" in await back(service, "浙江省", "en")
    assert not [path for path in fake.paths() if "place" in path]


async def test_a_name_that_several_cities_have_is_asked_back_with_them(service: MapService, fake: FakeAmap) -> None:
    asked = await back(service, "鼓楼")
    assert asked == "“鼓楼”有几处：北京市东城区鼓楼、江苏省南京市鼓楼区。请写明是哪一处。"
    assert "There are several places called “鼓楼”" in await back(service, "鼓楼", "en")
    assert not [path for path in fake.paths() if "place" in path]
    assert (await looked(service, "北京鼓楼")).centre is not None


async def test_an_address_of_which_only_the_region_was_recognised_is_vague(service: MapService, fake: FakeAmap) -> None:
    assert "没有找到“东城区小猫咖啡馆”，只认出了北京市东城区" in await back(service, "东城区小猫咖啡馆")  # fmt: skip
    assert "only 浙江省杭州市" in await back(service, "杭州市小猫咖啡馆", "en")
    assert not [path for path in fake.paths() if "place" in path]


async def test_an_address_that_nobody_knows_is_asked_back(service: MapService) -> None:
    assert "没有找到“小猫咖啡馆”" in await back(service, "小猫咖啡馆")
    assert "does not know “Nowhere”" in await back(service, "Nowhere", "en")


def area(level: str, province: str, city: str = "", district: str = "", **more: float) -> Area:
    point = Point(more.get("lng", 116.0), more.get("lat", 40.0))
    return Area(f"{province}{city}{district}", level, point, province, city, district)


@each_row(
    ("place", "found"),
    [
        ("黑龙江哈尔滨", area("市", "黑龙江省", "哈尔滨市")),
        ("内蒙古呼和浩特市", area("市", "内蒙古自治区", "呼和浩特市")),
        ("云南西双版纳", area("市", "云南省", "西双版纳傣族自治州")),
        ("上海浦东", area("区县", "上海市", "上海市", "浦东新区")),
        ("苏州工业园区", area("区县", "江苏省", "苏州市", "苏州工业园区")),
        ("石家庄", area("市", "河北省", "石家庄市")),
        ("Hangzhou", area("市", "浙江省", "杭州市")),
    ],
)
def test_a_region_that_an_address_names_is_what_is_meant(place: str, found: Area) -> None:
    assert choose_area([found], place, "zh") == found


def test_answers_that_are_close_together_are_one_place() -> None:
    first = area("兴趣点", "北京市", "北京市", "东城区")
    beside = area("兴趣点", "北京市", "北京市", "西城区", lng=116.05)
    assert choose_area([first, beside], "某处", "zh") == first
    apart = area("兴趣点", "北京市", "北京市", "西城区", lng=116.07)
    with pytest.raises(ServiceError) as caught:
        choose_area([first, apart], "某处", "zh")
    assert "北京市东城区某处、北京市西城区某处" in caught.value.message


def test_of_many_candidates_a_few_are_named() -> None:
    many = [area("兴趣点", "某省", f"第{n}市", lng=110.0 + n) for n in range(9)]
    with pytest.raises(ServiceError) as caught:
        choose_area(many, "人民公园", "zh")
    assert caught.value.message.count("人民公园") == 5


# The order


def place(name: str, **more: float) -> Place:
    return Place(id=name, name=name, lng=116.0, lat=40.0, provider="amap", **more)  # type: ignore[arg-type]


def test_a_whole_radius_weighs_half_a_point() -> None:
    far, near = place("far", rating=4.8, distance=2_000), place("near", rating=4.2, distance=0)
    assert [p.name for p in rank_places([near, far], 2_000)] == ["far", "near"]
    near = place("near", rating=4.4, distance=0)
    assert [p.name for p in rank_places([far, near], 2_000)] == ["near", "far"]


def test_a_place_is_shown_once_as_it_was_found_first_and_only_so_many_are() -> None:
    first, again = place("a", distance=100), place("a")
    assert rank_places([first, again], 1_000) == (first,)
    assert len(rank_places([place(str(n)) for n in range(60)])) == MAX_PLACES
