"""One reading of every server's answers, and of every way in which they say that something failed."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.coordinates import Point, distance_metres, to_gcj02
from research.core.records import FailureReason, Place
from research.sources.places.amap import AmapBackend
from research.sources.places.offline import OfflineBackend
from research.sources.places.tool_responses import (
    Area,
    UnlocatedPlace,
    as_number,
    as_text,
    parse_areas,
    parse_distances,
    parse_error,
    parse_forecasts,
    parse_places,
    place_category,
)
from tests.core.test_coordinates import PAIRS
from tests.servers.amap import FakeAmap
from tests.tables import each_row

KEY = "sentinelamap0123456789abcdef0123"
# The same three places on every server; where they are in truth, and on a Chinese map.
PARK, MALL, TOWER = Point(116.3999, 39.9162), Point(116.4056, 39.913), Point(121.4952, 31.2417)
SHOWN = {
    point: "{:.6f},{:.6f}".format(*to_gcj02(point)) for point in (PARK, MALL, TOWER)
}  # to a decimetre, as Amap writes it
SEOUL, BANGKOK = Point(126.978, 37.5665), Point(100.5018, 13.7563)

OWN = {
    "pois": [
        {
            "id": "B0PARK", "name": "皇城根遗址公园", "location": SHOWN[PARK], "crs": "gcj02",
            "type": "风景名胜;公园广场;公园", "typecode": "110101", "address": "北河沿大街",
            "district": "东城区", "city": "北京市", "province": "北京市", "area": "", "distance": 812,
            "rating": 4.6, "cost": None, "hours": "00:00-24:00", "phone": "010-65132842",
            "photos": ["http://a.example/1.jpg", "https://a.example/2.jpg"],
        },
        {
            "id": "B0MALL", "name": "北京apm", "location": SHOWN[MALL], "crs": "gcj02",
            "type": "", "typecode": "060101", "address": "", "district": "", "city": "",
            "distance": None, "rating": None, "cost": 98.0, "hours": "", "phone": "", "photos": [],
        },
    ],
    "crs": "gcj02", "source": "amap", "sample": False,
}  # fmt: skip
NPM_SEARCH = {
    "suggestion": {"keywords": [], "ciytes": []},
    "pois": [
        {
            "id": "B0PARK", "name": "皇城根遗址公园", "address": "北河沿大街", "typecode": "110101",
            "photos": {"title": [], "url": "http://a.example/1.jpg", "provider": []},
        },
        {"id": "B0MALL", "name": "北京apm", "address": [], "typecode": "060101"},
        {"id": [], "name": "无编号", "address": [], "typecode": "060101"},
        {"id": "B0NONE", "name": [], "address": [], "typecode": "060101"},
    ],
}  # fmt: skip
NPM_DETAIL = {
    "id": "B0PARK", "name": "皇城根遗址公园", "location": SHOWN[PARK], "address": "北河沿大街",
    "business_area": [], "city": "北京市", "type": "风景名胜;公园广场;公园", "alias": [],
    "photos": {"title": [], "url": "http://a.example/1.jpg"}, "rating": "4.6", "cost": "98.00",
    "open_time": "00:00-24:00", "opentime2": "周一至周日 00:00-24:00",
}  # fmt: skip
NPM_BARE = NPM_DETAIL | {
    "id": "B0MALL", "name": "北京apm", "location": SHOWN[MALL], "address": [], "city": [],
    "type": [], "photos": [], "rating": [], "cost": [], "open_time": [], "opentime2": [],
}  # fmt: skip
HOSTED_SEARCH = {
    "suggestion": {"keywords": "", "cities": {"suggestion": []}},
    "pois": [
        {
            "id": "B0PARK", "name": "皇城根遗址公园", "address": "北河沿大街", "typecode": "110101",
            "photo": "http://a.example/1.jpg",
        }
    ],
}  # fmt: skip
HOSTED_DETAIL = {name: value for name, value in NPM_DETAIL.items() if name != "photos"} | {
    "photo": "http://a.example/1.jpg"
}


def only_places(answer: dict[str, Any]) -> list[Place]:
    found = list(parse_places(answer))
    assert all(isinstance(item, Place) for item in found)
    return [item for item in found if isinstance(item, Place)]


def off(place: Place, truth: Point) -> float:
    return distance_metres(Point(place.lng, place.lat), truth)


# Places


def test_our_own_server_tells_all_of_a_place_at_once() -> None:
    park, mall = only_places(OWN)
    assert (park.id, park.name, park.provider, park.sample) == (
        "B0PARK", "皇城根遗址公园", "amap", False
    )  # fmt: skip
    assert (park.category, park.type) == ("sight", "风景名胜;公园广场;公园")
    assert (park.address, park.district, park.city) == ("北河沿大街", "东城区", "北京市")
    assert (park.distance, park.rating, park.cost) == (812, 4.6, None)
    assert (park.hours, park.phone) == ("00:00-24:00", "010-65132842")
    assert park.photos == ("http://a.example/1.jpg", "https://a.example/2.jpg")
    assert (mall.distance, mall.rating, mall.cost, mall.photos) == (None, None, 98.0, ())
    assert off(park, PARK) < 5 and off(mall, MALL) < 5


def test_amaps_own_searches_give_leads_whose_details_are_places() -> None:
    leads = [UnlocatedPlace("B0PARK", "皇城根遗址公园"), UnlocatedPlace("B0MALL", "北京apm")]
    assert list(parse_places(NPM_SEARCH)) == leads
    assert list(parse_places(HOSTED_SEARCH)) == leads[:1]


@pytest.mark.parametrize("detail", [NPM_DETAIL, HOSTED_DETAIL], ids=["npm", "hosted"])
def test_a_detail_of_amaps_own_servers_is_a_place(detail: dict[str, Any]) -> None:
    (park,) = only_places(detail)
    assert (park.rating, park.cost) == (4.6, 98.0)
    assert (park.hours, park.city) == ("周一至周日 00:00-24:00", "北京市")
    assert (park.photos, park.provider) == (("http://a.example/1.jpg",), "amap")
    assert off(park, PARK) < 5


def test_empty_values_are_none_of_them() -> None:
    (mall,) = only_places(NPM_BARE)
    assert (mall.address, mall.city, mall.type, mall.hours) == ("", "", "", "")
    assert (mall.rating, mall.cost, mall.distance, mall.photos) == (None, None, None, ())
    assert mall.category == "other"
    assert off(mall, MALL) < 5


@each_row("nothing", [[], {}, None, "", 0, False, "[]", [[]], [None], "B0"])
def test_no_places_are_no_places(nothing: Any) -> None:
    assert list(parse_places({"pois": nothing})) == []
    assert parse_areas({"return": nothing}) == parse_areas({"results": nothing}) == ()
    assert parse_distances({"results": nothing}) == []
    assert parse_forecasts({"forecasts": nothing}) == []


def test_what_is_no_rating_no_price_and_no_address_of_a_photo_is_left_out() -> None:
    odd = {"rating": "7.5", "cost": "-1", "photos": [{"url": []}, "javascript:x", {"title": "x"}]}
    (place,) = only_places({"pois": [OWN["pois"][0] | odd]})
    assert (place.rating, place.cost, place.photos) == (None, None, ())
    (place,) = only_places({"pois": [OWN["pois"][0] | {"rating": "0", "cost": "0.00"}]})
    assert (place.rating, place.cost) == (None, None)
    many = [f"http://a.example/{n}.jpg" for n in range(9)]
    (place,) = only_places({"pois": [OWN["pois"][0] | {"photos": many}]})
    assert place.photos == tuple(many[:5])


def test_places_without_a_point_on_earth_are_leads() -> None:
    for location in ([], "", "116.4", "116.4,", "x,y", "200,39", "116,95", "nan,39", "inf,1", None):
        (found,) = parse_places({"pois": [OWN["pois"][0] | {"location": location}]})
        assert found == UnlocatedPlace("B0PARK", "皇城根遗址公园")


# Coordinates


@pytest.mark.parametrize("truth", [PARK, MALL, TOWER])
def test_points_leave_in_wgs84_to_a_metre(truth: Point) -> None:
    row = {"id": "B0", "name": "x", "location": SHOWN[truth]}
    (place,) = only_places({"pois": [row]})
    assert off(place, truth) < 1
    assert distance_metres(Point(*map(float, SHOWN[truth].split(","))), truth) > 300  # it was really moved


@pytest.mark.parametrize(("wgs84", "gcj02"), PAIRS)
def test_points_that_others_have_published_are_met(wgs84: Point, gcj02: Point) -> None:
    row = {"id": "B0", "name": "x", "location": f"{gcj02.lng:.6f},{gcj02.lat:.6f}"}
    (place,) = only_places({"pois": [row]})
    assert off(place, wgs84) < 1


@pytest.mark.parametrize("point", [PARK, SEOUL, BANGKOK])
def test_a_point_is_moved_by_its_declared_system_and_not_by_where_it_lies(point: Point) -> None:
    here = {"id": "B0", "name": "x", "location": f"{point.lng},{point.lat}"}
    (declared,) = only_places({"pois": [here | {"crs": "wgs84"}]})
    assert (declared.lng, declared.lat) == point
    (undeclared,) = only_places({"pois": [here]})
    (stated,) = only_places({"pois": [here | {"crs": "gcj02"}]})
    assert off(undeclared, point) > 100
    assert (undeclared.lng, undeclared.lat) == (stated.lng, stated.lat)
    shifted = to_gcj02(Point(undeclared.lng, undeclared.lat))
    assert distance_metres(shifted, point) < 0.1


async def test_every_server_of_ours_says_the_same_of_a_place() -> None:
    """REST and the table are read alike: what both know is at the same point."""
    with FakeAmap() as fake:
        amap = AmapBackend(KEY, base_url=fake.base_url)
        live = {p.name: p for p in only_places(await amap.search_text("博物馆|公园|书店", "北京"))}
        await amap.close()
    table = {p.name: p for p in only_places(await OfflineBackend().search_text("博物馆|公园|书店", "北京"))}
    both = live.keys() & table.keys()
    assert len(both) >= 3
    for name in both:
        assert off(live[name], Point(table[name].lng, table[name].lat)) < 150
    assert {place.sample for place in live.values()} == {False}
    assert {(place.sample, place.provider) for place in table.values()} == {(True, "offline")}


# Categories


@each_row(
    ("code", "kind", "expected"),
    [
        ("080501", "", "family"), ("080503", "体育休闲服务;娱乐场所;游乐场", "family"),
        ("080603", "", "culture"), ("050111", "", "food"), ("060101", "", "shop"),
        ("100105", "", "hotel"), ("110101", "", "sight"), ("140400", "", "culture"),
        ("150500", "", "transport"), ("090100", "医疗保健服务;综合医院;三级甲等医院", "other"),
        ("110101|140400", "", "sight"), ("", "体育休闲服务;娱乐场所;游乐场", "family"),
        ("", "体育休闲服务;影剧院;剧场", "culture"), ("", "餐饮服务;中餐厅;北京菜", "food"),
        ("", "购物服务;商场;购物中心", "shop"), ("", "住宿服务;宾馆酒店;宾馆酒店", "hotel"),
        ("", "风景名胜;公园广场;公园", "sight"), ("", "科教文化服务;博物馆;博物馆", "culture"),
        ("", "交通设施服务;地铁站;地铁站", "transport"), ("", "", "other"), ("", "亲子乐园", "family"),
    ],
)  # fmt: skip
def test_a_category_comes_from_the_code_or_else_from_the_words(code: str, kind: str, expected: str) -> None:
    assert place_category(code, kind) == expected


# Addresses


def geocode(**more: Any) -> dict[str, Any]:
    return {
        "country": "中国", "province": "北京市", "city": "北京市", "citycode": "010",
        "district": "东城区", "street": [], "number": [], "adcode": "110101",
        "location": SHOWN[MALL], "level": "热点商圈",
    } | more  # fmt: skip


@pytest.mark.parametrize("name", ["return", "results"])
def test_an_address_is_read_from_every_server(name: str) -> None:
    (area,) = parse_areas({name: [geocode()]})
    assert (area.name, area.level, area.is_region) == ("北京市东城区", "热点商圈", False)
    assert (area.province, area.city, area.district) == ("北京市", "北京市", "东城区")
    assert area.adcode == "110101"
    assert distance_metres(area.point, MALL) < 1


def test_our_own_servers_whole_address_is_the_name() -> None:
    (area,) = parse_areas({"return": [geocode(formatted_address="北京市东城区王府井大街")]})
    assert area.name == "北京市东城区王府井大街"


def test_an_address_without_a_point_is_left_out() -> None:
    found = parse_areas({"return": [geocode(location=[]), "x", geocode(adcode="110105")]})
    assert [area.adcode for area in found] == ["110105"]


@each_row(
    ("level", "province", "region", "too_large"),
    [
        ("国家", "", True, True), ("省", "浙江省", True, True), ("省", "北京市", True, False),
        ("市", "浙江省", True, False), ("区县", "北京市", True, False),
        ("热点商圈", "北京市", False, False), ("兴趣点", "", False, False), ("", "", False, False),
    ],
)  # fmt: skip
def test_how_large_an_address_is(level: str, province: str, region: bool, too_large: bool) -> None:
    area = Area("x", level, MALL, province=province)
    assert (area.is_region, area.is_too_large) == (region, too_large)


def test_a_municipality_without_a_city_is_its_own() -> None:
    (area,) = parse_areas({"return": [geocode(city=[], district=[], level="省")]})
    assert (area.city, area.name, area.is_too_large) == ("北京市", "北京市", False)


# Ways


def test_distances_come_in_the_order_of_their_origins() -> None:
    rows = [
        {"origin_id": "10", "dest_id": "1", "distance": "300", "duration": "30"},
        {"origin_id": "2", "dest_id": "1", "distance": 200, "duration": []},
        {"origin_id": "1", "dest_id": "1", "distance": "100", "duration": "10"},
        {"origin_id": "3", "dest_id": "1", "distance": [], "duration": []},
    ]
    assert parse_distances({"results": rows}) == [(100, 10), (200, None), (300, 30)]


def test_a_forecast_is_plain_texts() -> None:
    days = [{"date": "2026-11-21", "dayweather": "晴", "daytemp": 9, "nightwind": []}]
    assert parse_forecasts({"city": "北京市", "forecasts": days}) == [
        {"date": "2026-11-21", "dayweather": "晴", "daytemp": "9", "nightwind": ""}
    ]


# Failures


ADDRESS = f"https://restapi.amap.com/v3/geocode/geo?key={KEY}&address=%E7%8E%8B&source=ts_mcp"
LOST = f"Error: request to {ADDRESS} failed, reason: "


@each_row(
    ("told", "reason", "hint", "again", "shown"),
    [
        # our own server
        ("refused: Amap: INVALID_USER_KEY (10001)", "refused", "key", False, "INVALID_USER_KEY"),
        ("refused: Amap: USERKEY_PLAT_NOMATCH (10009)", "refused", "key", False, "USERKEY_PLAT"),
        ("refused: Amap: MISSING_REQUIRED_PARAMS (20000)", "refused", "", False, "MISSING_REQ"),
        ("no key: the offline sample has no weather; set AMAP_MAPS_API_KEY to use Amap", "no key", "key", False, "offline"),
        ("refused: address must not be empty", "refused", "", False, "address must not be empty"),
        ("quota: Amap: USER_DAILY_QUERY_OVER_LIMIT (10044)", "quota", "", False, "USER_DAILY"),
        ("quota: Amap: CUQPS_HAS_EXCEEDED_THE_LIMIT (10021)", "quota", "", True, "CUQPS_HAS"),
        ("timeout: Amap: no answer within 15 s", "timeout", "", True, "within 15 s"),
        ("unavailable: HTTP 502: Amap", "unavailable", "", True, "HTTP 502"),
        ("unreachable: Amap: no connection (ConnectError)", "unreachable", "", True, "no connection"),
        ("malformed: Amap: HTTP 200 without the JSON asked for", "malformed", "endpoint", False, "JSON"),
        ("empty: Amap: no place has this id", "empty", "", False, "no place has this id"),
        ("internal: the tool failed (KeyError)", "internal", "", False, "KeyError"),
        # Amap's own, one prefix for each tool
        ("Geocoding failed: INVALID_USER_KEY", "refused", "key", False, "INVALID_USER_KEY"),
        ("RGeocoding failed: USERKEY_PLAT_NOMATCH", "refused", "key", False, "USERKEY_PLAT_NOMATCH"),
        ("Get poi detail failed: INVALID_USER_SIGNATURE", "refused", "key", False, "SIGNATURE"),
        ("Around Search failed: USER_DAILY_QUERY_OVER_LIMIT", "quota", "", False, "USER_DAILY"),
        ("Text Search failed: CUQPS_HAS_EXCEEDED_THE_LIMIT", "quota", "", True, "CUQPS_HAS"),
        ("Text Search failed: ACCESS_TOO_FREQUENT", "quota", "", True, "ACCESS_TOO_FREQUENT"),
        ("Get weather failed: QUOTA_PLAN_RUN_OUT", "quota", "", False, "QUOTA_PLAN_RUN_OUT"),
        ("Direction Walking failed: OVER_DIRECTION_RANGE", "empty", "", False, "no answer for this"),
        ("Direction Driving failed: ROUTE_FAIL", "empty", "", False, "no answer for this place"),
        ("Geocoding failed: ENGINE_RESPONSE_DATA_ERROR", "empty", "", False, "no answer for this"),
        ("IP Location failed: INVALID_PARAMS", "refused", "", False, "INVALID_PARAMS"),
        ("Text Search failed: SERVER_IS_BUSY", "unavailable", "", True, "SERVER_IS_BUSY"),
        ("Text Search failed: GATEWAY_TIMEOUT", "unavailable", "", True, "GATEWAY_TIMEOUT"),
        # what JavaScript says
        ("Error: Cannot read properties of undefined (reading 'id')", "empty", "", False, "no answer for"),
        ("Error: Cannot read properties of undefined (reading 'city')", "empty", "", False, "no answer for"),
        ("Direction bicycling failed: undefined", "empty", "", False, "no answer for this place"),
        ("Error: Unexpected token '<', \"<html><he\"... is not valid JSON", "malformed", "endpoint", False, "JSON"),
        ("Error: Unexpected end of JSON input", "malformed", "endpoint", False, "JSON"),
        ("Error: invalid json response body at " + ADDRESS, "malformed", "endpoint", False, "JSON"),
        (LOST + "getaddrinfo ENOTFOUND restapi.amap.com", "unreachable", "", True, "ENOTFOUND"),
        (LOST + "getaddrinfo EAI_AGAIN restapi.amap.com", "unreachable", "", True, "EAI_AGAIN"),
        (LOST + "connect ECONNREFUSED 127.0.0.1:443", "unreachable", "", True, "ECONNREFUSED"),
        (LOST + "read ECONNRESET", "unreachable", "", True, "ECONNRESET"),
        (LOST + "socket hang up", "unreachable", "", True, "socket hang up"),
        (LOST, "unreachable", "", True, "no connection"),
        ("Error: fetch failed", "unreachable", "", True, "no connection"),
        ("Unknown tool: maps_teleport", "refused", "", False, "Unknown tool"),
        ("Error: something odd at " + ADDRESS, "refused", "", False, "something odd at …"),
        # the protocol
        ("Timed out while waiting for response to ClientRequest. Waited 15.0 seconds.", "timeout", "", True, "Timed out"),
        ("MCP error -32001: Request timed out", "timeout", "", True, "timed out"),
        ("", "refused", "", False, ""),
    ],
)  # fmt: skip
def test_a_failure_has_its_reason_its_remedy_and_no_key(
    told: str, reason: FailureReason, hint: str, again: bool, shown: str
) -> None:
    found = parse_error(told)
    assert (found.reason, found.hint, found.is_retryable) == (reason, hint, again)
    assert shown in found.message
    assert KEY not in str(found) and "://" not in found.message and "<" not in found.message
    assert found.retry_after_seconds == (1.0 if reason == "quota" and again else None)


@given(st.text(max_size=400))
def test_any_text_is_a_failure_of_a_known_kind(told: str) -> None:
    assert parse_error(told).reason in get_args(FailureReason)


# Values of any kind


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_value_is_a_line_of_text_and_perhaps_a_number(value: Any) -> None:
    assert "\n" not in as_text(value)
    as_text(value).encode()
    found = as_number(value)
    assert found is None or abs(found) < float("inf")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just([]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "name", "location", "photos", "url", "rating", "paths", "distance"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["pois", "return", "results", "route", "data", "forecasts", "id", "name"]), JSON))  # fmt: skip
def test_no_answer_is_too_odd_to_be_read(answer: dict[str, Any]) -> None:
    list(parse_places(answer))
    parse_areas(answer)
    parse_distances(answer)
    parse_forecasts(answer)
