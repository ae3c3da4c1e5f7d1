"""Places without a key: what a table can say, in Amap's terms, and what it declines to say."""

from __future__ import annotations

from typing import Any

import pytest

from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.sources.places.offline import OfflineBackend, _all_entries, _load_table, _place_entries
from tests.tables import each_row

OFFLINE = OfflineBackend()


async def where(address: str, city: str = "") -> list[str]:
    return [row["formatted_address"] for row in (await OFFLINE.geocode(address, city))["return"]]


def point(location: str) -> Point:
    lng, lat = location.split(",")
    return Point(float(lng), float(lat))


async def refusal(method: str, *arguments: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await getattr(OFFLINE, method)(*arguments)
    return caught.value


async def test_an_address_and_keywords_may_be_in_traditional_characters() -> None:
    assert await where("外灘") == await where("外滩") != []
    around = "116.40465,39.91011"
    both = [await OFFLINE.search_around(around, 3_000, words) for words in ("博物館|風景", "博物馆|风景")]
    assert both[0]["pois"] == both[1]["pois"] != []
    assert (await OFFLINE.search_text("景點", "杭州")) == (await OFFLINE.search_text("景点", "杭州"))


def test_the_table_is_whole_and_each_place_is_near_a_centre() -> None:
    centres = [Point(entry["lng"], entry["lat"]) for entry in _load_table()["centres"]]
    assert (len(centres), _load_table()["crs"]) == (3, "wgs84")
    assert len(_place_entries()) >= 40
    for field in ("id", "name"):
        assert len({entry[field] for entry in _all_entries()}) == len(_all_entries())
    for entry in _all_entries():
        assert min(distance_metres(Point(entry["lng"], entry["lat"]), centre) for centre in centres) < 5_500
        assert len(entry["adcode"]) == len(entry["typecode"]) == 6


@each_row(
    "address",
    ["王府井", "北京市王府井", "北京王府井附近", "北京市东城区王府井大街", "Wangfujing, Beijing"],
)
async def test_a_centre_is_found_by_its_usual_names(address: str) -> None:
    assert await where(address) == ["北京市东城区王府井"]


@each_row(
    ("address", "city", "found"),
    [
        ("外滩", "上海", "上海市黄浦区外滩"),
        ("西湖", "杭州市", "浙江省杭州市西湖区西湖"),
        ("西湖", "330100", "浙江省杭州市西湖区西湖"),
        ("The Bund", "Shanghai", "上海市黄浦区外滩"),
        ("王府井书店", "", "北京市东城区王府井书店"),
        ("国博", "", "北京市东城区中国国家博物馆"),
    ],
)
async def test_a_city_and_other_names_lead_to_the_same(address: str, city: str, found: str) -> None:
    assert await where(address, city) == [found]


@each_row(
    ("address", "city"),
    [
        ("福州西湖", ""),
        ("瘦西湖", ""),
        ("西湖", "福州"),
        ("浙江省", ""),
        ("北京市", ""),
        ("杭州市西湖区", ""),
        ("成都王府井百货", ""),
        ("五道口", ""),
        ("", ""),
    ],
)
async def test_an_address_with_more_in_it_is_another_one_and_unknown(address: str, city: str) -> None:
    trouble = await refusal("geocode", address, city)
    assert trouble.reason == "empty"
    assert "only has places around 王府井, 外滩 and 西湖" in trouble.message
    assert "AMAP_MAPS_API_KEY" in trouble.message


async def test_the_places_around_a_point_come_nearest_first_and_as_a_sample() -> None:
    (centre,) = (await OFFLINE.geocode("王府井"))["return"]
    found = await OFFLINE.search_around(centre["location"], 2000, "亲子乐园|儿童|博物馆|公园")
    assert (found["crs"], found["source"], found["sample"]) == ("gcj02", "offline", True)
    gaps = [place["distance"] for place in found["pois"]]
    assert gaps == sorted(gaps) and gaps[-1] <= 2000
    names = [place["name"] for place in found["pois"]]
    assert {"中国儿童艺术剧院", "中国国家博物馆", "皇城根遗址公园"} <= set(names)
    assert "北京apm" not in names


async def test_points_are_given_as_amap_gives_them_and_true_in_the_world() -> None:
    for entry in _place_entries():
        place = await OFFLINE.fetch_details(entry["id"])
        assert place["crs"] == "gcj02"
        back = from_gcj02(point(place["location"]))
        assert distance_metres(back, Point(entry["lng"], entry["lat"])) < 0.2


async def test_without_words_all_places_in_the_circle_come() -> None:
    (centre,) = (await OFFLINE.geocode("外滩"))["return"]
    everything = (await OFFLINE.search_around(centre["location"], 5000))["pois"]
    assert len(everything) > 15
    assert (await OFFLINE.search_around(centre["location"], 1))["pois"] == []


async def test_far_from_its_places_the_table_does_not_say_that_there_is_nothing() -> None:
    for method in ("search_around", "reverse_geocode"):
        assert (await refusal(method, "104.065735,30.657689")).reason == "empty"
    assert "'成都'" in (await refusal("search_text", "博物馆", "成都")).message


async def test_words_a_city_and_a_type_narrow_a_search() -> None:
    museums = (await OFFLINE.search_text("博物馆", "上海"))["pois"]
    assert {place["name"] for place in museums} == {
        "上海自然博物馆",
        "上海博物馆",
        "上海邮政博物馆",
    }
    shops = (await OFFLINE.search_text("书店", types="061200"))["pois"]
    assert {place["name"] for place in shops} >= {"王府井书店", "三联韬奋书店"}
    assert (await OFFLINE.search_text("书店", types="博物馆"))["pois"] == []


async def test_the_district_of_a_point_is_that_of_what_is_near() -> None:
    found = await OFFLINE.reverse_geocode("116.410894,39.911514")
    assert (found["city"], found["district"]) == ("北京市", "东城区")
    assert found["formatted_address"].endswith("附近")


async def test_straight_lines_can_be_told() -> None:
    found = await OFFLINE.measure_distances("116.410894,39.911514|116.41,39.91", "116.41,39.91", "0")
    first, second = (row["distance"] for row in found["results"])
    assert (170 < first < 200, second) == (True, 0)


@each_row(
    ("method", "arguments"),
    [
        ("fetch_route", ("walking", "116.4,39.9", "116.5,39.9")),
        ("fetch_route", ("driving", "116.4,39.9", "116.5,39.9")),
        ("fetch_route", ("bicycling", "116.4,39.9", "116.5,39.9")),
        ("fetch_route", ("transit", "116.4,39.9", "116.5,39.9", "北京", "北京")),
        ("measure_distances", ("116.4,39.9", "116.5,39.9", "1")),
        ("fetch_forecast", ("北京",)),
        ("locate_ip", ("114.247.50.2",)),
    ],
)
async def test_what_no_table_knows_is_declined_with_the_remedy(method: str, arguments: tuple[str, ...]) -> None:
    trouble = await refusal(method, *arguments)
    assert (trouble.reason, trouble.hint) == ("no key", "key")
    assert "AMAP_MAPS_API_KEY" in trouble.message


async def test_an_unknown_id_is_empty() -> None:
    assert (await refusal("fetch_details", "B000A8UIN8")).reason == "empty"
