"""Which service is asked for which place, and that none is asked that is not set up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.core import settings
from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Finding, Task
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources.places.map_services import MapServices
from research.sources.places.osm import OpenStreetMapBackend
from research.sources.places.questions import parse_place_query
from research.sources.places.retriever import PlacesRetriever
from research.sources.places.service import MapService
from research.storage.store import Store
from tests.servers.amap import FakeAmap
from tests.servers.osm import FakeOpenStreetMap, node

NOW = datetime(2026, 11, 25, tzinfo=UTC)
Made = Callable[..., PlacesRetriever]


@pytest.fixture
def amap() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
def osm() -> Iterator[FakeOpenStreetMap]:
    with FakeOpenStreetMap() as server:
        yield server


@pytest.fixture
async def made(tmp_path: Path, amap: FakeAmap, osm: FakeOpenStreetMap) -> AsyncIterator[Made]:
    store, opened = Store(tmp_path / "runs.db"), []

    def source(*, key: str = "", on: bool = True) -> PlacesRetriever:
        env = {"AMAP_BASE_URL": amap.base_url, "AMAP_MAPS_API_KEY": key}
        given = settings.load_settings(env, data_dir=tmp_path)
        backend = OpenStreetMapBackend(
            ServiceClient(osm.base_url),
            ServiceClient(osm.base_url),
            timeout_seconds=5,
            rate_limiters=(RateLimiter(0), RateLimiter(0)),
        )
        world = MapService(given, store, lambda: NOW, backend) if on else None
        maps = MapServices(MapService(given, store, lambda: NOW), world)
        opened.append(PlacesRetriever(maps, timeout_seconds=30, parse_query=parse_place_query, clock=lambda: NOW))
        return opened[-1]

    yield source
    for one in opened:
        await one.close()
    store.close()


async def asked(source: PlacesRetriever, query: str) -> Finding:
    return await source.search(Task(id="t", source="places", query=query), ignore_event)


def sent(server: Any) -> str:
    return " ".join(str(one.query) for one in server.log)


@pytest.mark.parametrize(
    ("query", "name", "point"),
    [
        ("京都有哪些寺庙", "清水寺", Point(135.785, 34.9947)),
        ("京都清水寺附近的寺庙", "清水寺", Point(135.785, 34.9947)),
        ("巴黎有哪些博物馆", "卢浮宫（Musée du Louvre）", Point(2.3376, 48.8606)),
        ("museums in Paris", "Louvre Museum (Musée du Louvre)", Point(2.3376, 48.8606)),
    ],
)
@pytest.mark.parametrize("key", ["", "k"])
async def test_a_place_abroad_is_openstreetmap_s_with_a_key_and_without(
    made: Made,
    amap: FakeAmap,
    osm: FakeOpenStreetMap,
    key: str,
    query: str,
    name: str,
    point: Point,
) -> None:
    osm.named["京都清水寺"] = osm.named["清水寺"]
    found = await asked(made(key=key), query)
    places = {item.place.name: item.place for item in found.evidence if item.place}
    assert (found.provider, found.reason) == ("osm", None)
    assert distance_metres(Point(places[name].lng, places[name].lat), point) < 1
    assert amap.log == []


async def test_without_a_key_china_is_openstreetmap_s_too(made: Made, amap: FakeAmap) -> None:
    found = await asked(made(), "西安有哪些博物馆")
    (item,) = found.evidence
    assert item.place
    assert (item.title, item.place.lng, item.place.lat) == ("陕西历史博物馆", 108.9555, 34.2247)
    assert item.url == "https://www.openstreetmap.org/node/51"
    assert item.publisher == "© OpenStreetMap contributors, ODbL"
    assert found.search_area
    assert (found.search_area.name, found.search_area.radius) == ("西安市", 8_000)
    assert amap.log == []


async def test_with_a_key_china_is_amap_s(made: Made, osm: FakeOpenStreetMap) -> None:
    found = await asked(made(key="k"), "王府井附近的博物馆")
    assert (found.provider, found.reason) == ("amap", None)
    assert osm.log == []


@pytest.mark.parametrize("query", ["京都有哪些寺庙", "巴黎有哪些博物馆", "museums in Kyoto"])
async def test_with_the_open_sources_off_it_is_told_what_amap_covers(
    made: Made, amap: FakeAmap, osm: FakeOpenStreetMap, query: str
) -> None:
    found = await asked(made(key="k", on=False), query)
    assert found.reason == "unclear"
    told = found.message
    assert ("开放来源" in told and "香港" in told) or ("open sources" in told and "Hong Kong" in told)
    assert amap.log == [] == osm.log


NAMED = {  # places that begin with the name of a city abroad (天安 is Cheonan), or that are abroad
    "天安门附近的餐厅": True,
    "天安门广场附近的餐厅": True,
    "柏林寺附近的博物馆": True,
    "台北101附近的餐厅": False,
    "京都清水寺附近的寺庙": False,
    "museums near Kyoto Station": False,
}


@pytest.mark.parametrize("query", NAMED)
async def test_with_a_key_amap_itself_is_asked_for_a_name_that_may_be_in_china(made: Made, query: str) -> None:
    found = await asked(made(key="k", on=False), query)
    told = "香港" in found.message or "Hong Kong" in found.message
    assert told is not NAMED[query]
    assert found.provider == "amap"


@pytest.mark.parametrize(
    "query",
    [
        "天安门城楼附近的餐厅",
        "故宫角楼附近的咖啡馆",
        "平遥古城有哪些博物馆",
        "布达拉宫附近的餐厅",
        "鸟巢在哪里",
        "从鸟巢到水立方怎么走",
        "从王府井到鸟巢要多久",
        "柏林寺附近的博物馆",
        "京都有哪些寺庙",
        "台北101附近的餐厅",
        "天安门附近的餐厅",  # the sample has the place, and no restaurant near it
        "museums near the Summer Palace",
        "How do I get from Wangfujing to the Bird's Nest?",
        "museums in Kyoto",
        "restaurants near Tiananmen",
    ],
)
async def test_what_the_sample_does_not_hold_is_said_to_be_missing_from_it(
    made: Made, amap: FakeAmap, osm: FakeOpenStreetMap, query: str
) -> None:
    """Nothing is said of what Amap covers beside what a key would bring, nor that there is nothing."""
    found = await asked(made(on=False), query)
    assert (found.provider, found.reason, found.places) == ("offline", "empty", ())
    chinese = "示例" in found.message and "设置 AMAP_MAPS_API_KEY" in found.message
    english = "offline sample" in found.message and "Set AMAP_MAPS_API_KEY" in found.message
    assert chinese or english
    assert ("开放来源" if chinese else "open sources") in found.message
    assert "不在高德" not in found.message and "outside" not in found.message
    assert found.message.endswith(("。", "."))  # and is not cut
    assert amap.log == [] == osm.log


async def test_a_point_that_is_not_in_the_sample_is_told_as_that(made: Made) -> None:
    for point in (Point(2.3, 48.8), Point(126.98, 37.57), Point(104.06, 30.67)):
        with pytest.raises(ServiceError, match="不在离线示例中"):
            await made(on=False).search_around(point, ["博物馆"], 500, "zh", ignore_event)


async def test_a_name_that_only_begins_so_is_asked_of_the_geocoder(
    made: Made, amap: FakeAmap, osm: FakeOpenStreetMap
) -> None:
    """柏林寺 is in Beijing."""
    await asked(made(key="k"), "柏林寺附近的博物馆")
    assert amap.paths()[0] == "v3/geocode/geo"
    assert osm.log[0].path == "/search"


async def test_what_amap_does_not_know_may_be_abroad(made: Made, amap: FakeAmap, osm: FakeOpenStreetMap) -> None:
    """Its keywords are not sent to Amap for it."""
    found = await asked(made(key="k"), "清水寺附近的寺庙")
    assert found.provider == "osm"
    assert found.evidence[0].title == "清水寺"
    assert "佛寺" not in sent(amap) and "寺庙" not in sent(amap)


@pytest.mark.parametrize(
    ("point", "provider"),
    [(Point(2.3376, 48.8606), "osm"), (Point(135.785, 34.9947), "osm"), (Point(116.4, 39.9452), "amap")],
)  # fmt: skip
async def test_a_point_is_asked_of_who_covers_it(made: Made, point: Point, provider: str) -> None:
    source = made(key="k")
    found = await source.search_around(point, ["博物馆"], 2_000, "zh", ignore_event)
    assert found.provider == provider


async def test_a_point_far_away_is_told_of_with_the_open_sources_off(made: Made, amap: FakeAmap) -> None:
    with pytest.raises(ServiceError, match="开放来源"):
        await made(key="k", on=False).search_around(Point(2.3, 48.8), ["博物馆"], 500, "zh", ignore_event)
    assert amap.log == []


async def test_a_point_is_asked_for_where_it_is(made: Made, osm: FakeOpenStreetMap) -> None:
    await made().search_around(Point(-58.3816, -34.6037), ["博物馆"], 500, "zh", ignore_event)
    (circle,) = {query.split("(around:")[1].split(")")[0] for query in osm.queries()[:1]}
    lat, lng = map(float, circle.split(",")[1:])
    assert distance_metres(Point(lng, lat), Point(-58.3816, -34.6037)) < 0.2


async def test_who_is_ready(made: Made) -> None:
    said = [made(key=key, on=on).readiness() for key in ("", "k") for on in (False, True)]
    assert [(one.state, one.detail) for one in said] == [
        ("offline", "AMAP_MAPS_API_KEY"), ("live", "osm"), ("live", "amap"), ("live", "amap, osm"),
    ]  # fmt: skip


@pytest.mark.parametrize(("given", "reason"), [({"status": 429}, "quota"), ({"fault": "html"}, "malformed")])
async def test_a_failure_of_openstreetmap_is_a_finding_with_its_reason(
    made: Made, osm: FakeOpenStreetMap, given: dict[str, Any], reason: str
) -> None:
    for name, value in given.items():
        setattr(osm, name, value)
    found = await asked(made(), "京都有哪些寺庙")
    assert (found.reason, found.provider, found.evidence) == (reason, "osm", ())


async def test_a_name_that_is_a_formula_or_markup_stays_text(made: Made, osm: FakeOpenStreetMap) -> None:
    names = ['=HYPERLINK("http://x")', "<script>alert(1)</script>", "[x](javascript:alert(1))"]
    osm.elements = [node(n, 34.9947, 135.785, tourism="museum", name=name) for n, name in enumerate(names, 1)]
    found = await made().search_around(Point(135.785, 34.9947), ["博物馆"], 100, "zh", ignore_event)
    assert sorted(item.title for item in found.evidence) == sorted(names)
    from research import places_csv, places_geojson, places_kml

    places = [item.place for item in found.evidence if item.place]
    assert "\n'=HYPERLINK" in places_csv(places).replace("\r", "").replace("\"'=", "'=")
    assert "<script>" not in places_kml(places, "x")
    for text in (places_geojson(places), places_kml(places, "x"), places_csv(places)):
        assert text.count("© OpenStreetMap contributors") >= len(names)
        assert "https://www.openstreetmap.org/copyright" in text
