"""OpenStreetMap through its real clients, over a copy of Nominatim and Overpass on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import research
from research.core.coordinates import Point, distance_metres
from research.core.errors import ServiceError
from research.core.records import Language, Place
from research.core.settings import Settings
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources.places import tool_responses
from research.sources.places.osm import MAX_ELEMENTS, OpenStreetMapBackend, place_url
from research.sources.places.service import MapService
from research.sources.places.tools import RoutingMode
from tests.servers.osm import KIYOMIZU, FakeOpenStreetMap, named, node
from tests.servers.search import nowhere

KYOTO, LOUVRE = "135.785000,34.994700", "2.337600,48.860600"


@pytest.fixture
def fake() -> Iterator[FakeOpenStreetMap]:
    with FakeOpenStreetMap() as server:
        yield server


def opened(address: str, timeout: float = 5.0, pace: RateLimiter | None = None) -> OpenStreetMapBackend:
    paces = (pace or RateLimiter(0), pace or RateLimiter(0))
    clients = (ServiceClient(address, timeout_seconds=timeout, contact="desk@example.org") for _ in range(2))
    return OpenStreetMapBackend(*clients, timeout_seconds=timeout, rate_limiters=paces)


@pytest.fixture
async def osm(fake: FakeOpenStreetMap) -> AsyncIterator[OpenStreetMapBackend]:
    made = opened(fake.base_url)
    yield made
    await made.close()


def places(answer: dict[str, Any], language: Language = "zh") -> list[Place]:
    return [item for item in tool_responses.parse_places(answer, language) if isinstance(item, Place)]


# What is asked


async def test_who_asks_tells_its_name_its_version_and_its_address(
    osm: OpenStreetMapBackend, fake: FakeOpenStreetMap
) -> None:
    await osm.geocode("京都")
    await osm.search_around(KYOTO, 1000, "寺庙")
    for asked in fake.log:
        assert asked.headers["user-agent"].startswith(f"Sightline/{research.__version__} ")
        assert "desk@example.org" in asked.headers["user-agent"]


async def test_a_name_is_looked_up_with_all_details_in_its_own_language(
    osm: OpenStreetMapBackend, fake: FakeOpenStreetMap
) -> None:
    await osm.geocode("Paris")
    assert fake.last.path == "/search"
    given = {"q": "Paris", "format": "jsonv2", "addressdetails": "1", "namedetails": "1", "extratags": "1"}  # fmt: skip
    assert given.items() <= fake.last.query.items()
    assert fake.last.query["accept-language"] == "en"
    await osm.geocode("巴黎")
    assert fake.last.query["accept-language"] == "zh-Hans,zh,en"


async def test_overpass_is_given_a_time_a_circle_and_a_number_of_rows(
    osm: OpenStreetMapBackend, fake: FakeOpenStreetMap
) -> None:
    await osm.search_around(KYOTO, 50_000, "寺庙")
    (query,) = fake.queries()
    assert query.startswith("[out:json][timeout:5][maxsize:67108864];(")
    assert query.endswith(f");out center {MAX_ELEMENTS};")
    assert 'nwr["amenity"="place_of_worship"]["religion"="buddhist"]["name"](around:20000,34.994700,135.785000);' in query  # fmt: skip


@pytest.mark.parametrize("word", ['"];out;//', "a\\", "(.b*)", '"~".*"];node(1);out;', "[x]", "农家\n乐"])
async def test_words_are_a_part_of_a_name_and_never_of_the_query(
    osm: OpenStreetMapBackend, fake: FakeOpenStreetMap, word: str
) -> None:
    await osm.search_around(KYOTO, 1000, word)
    (query,) = fake.queries()
    head, tail = (
        "[out:json][timeout:5][maxsize:67108864];(nwr",
        "(around:1000,34.994700,135.785000);",
    )
    inner = query.removeprefix(head).removesuffix(f"{tail});out center {MAX_ELEMENTS};")
    found, _, _ = inner.partition(tail)
    assert found.count('"') in (2, 4)
    assert "\\" not in found
    assert not set(found.replace('["name"~"', "").replace('",i]', "")) & set('"[](){}.*\\;')


async def test_words_without_a_letter_find_nothing(osm: OpenStreetMapBackend) -> None:
    with pytest.raises(ServiceError, match="no letters"):
        await osm.search_around(KYOTO, 1000, "(.*)")


# What comes back


async def test_points_are_declared_and_none_is_moved(osm: OpenStreetMapBackend) -> None:
    (area,) = tool_responses.parse_areas(await osm.geocode("Paris"))
    assert area.point == Point(2.3483915, 48.8534951)
    (found,) = places(await osm.search_around(LOUVRE, 500, "博物馆"))
    assert (found.lng, found.lat, found.provider) == (2.3376, 48.8606, "osm")


async def test_of_namesakes_the_much_better_known_one_is_meant(osm: OpenStreetMapBackend) -> None:
    assert [row["country"] for row in (await osm.geocode("Paris"))["return"]] == ["France"]


async def test_a_city_is_meant_rather_than_the_prefecture_that_it_lies_in(
    osm: OpenStreetMapBackend,
) -> None:
    (area,) = tool_responses.parse_areas(await osm.geocode("京都"))
    assert (area.name, area.level, area.country, area.adcode) == ("京都市", "市", "JP", "R357794")
    assert area.is_region and not area.is_too_large


async def test_a_country_is_too_large(osm: OpenStreetMapBackend) -> None:
    (area,) = tool_responses.parse_areas(await osm.geocode("法国"))
    assert area.is_too_large


async def test_a_city_that_is_a_country_is_a_city(osm: OpenStreetMapBackend, fake: FakeOpenStreetMap) -> None:
    fake.named["新加坡"] = [
        named(536780, "新加坡", 1.35, 103.8, rank=4, addresstype="country", size=0.2, country_code="sg")
    ]  # fmt: skip
    (area,) = tool_responses.parse_areas(await osm.geocode("新加坡"))
    assert (area.level, area.is_too_large) == ("市", False)


async def test_the_nearest_come_first_with_what_is_known_of_them(osm: OpenStreetMapBackend) -> None:
    answer = await osm.search_around("135.785100,34.994700", 8000, "寺庙")
    found = places(answer)
    assert [place.name for place in found] == ["清水寺", "誓願寺", "金阁寺（鹿苑寺）"]
    first = found[0]
    assert (first.id, first.type, first.category) == ("W27262094", "佛寺", "sight")
    assert (first.hours, first.address, first.distance) == ("周一至周日 06:00–18:00", "清水", 9)
    assert [place.name for place in places(answer, "en")] == [
        "Kiyomizu-dera (清水寺)", "誓願寺", "Kinkaku-ji (鹿苑寺)",
    ]  # fmt: skip
    assert places(answer, "en")[0].type == "Buddhist temple"


async def test_in_a_city_the_best_known_come_first(osm: OpenStreetMapBackend, fake: FakeOpenStreetMap) -> None:
    answer = await osm.search_text("寺庙", "R357794")
    assert [place.name for place in places(answer)] == ["清水寺", "金阁寺（鹿苑寺）", "誓願寺"]
    assert answer["radius"] == 8_000
    assert '["wikidata"](around:8000,' in fake.queries()[0]


async def test_what_has_no_name_is_called_by_its_kind(osm: OpenStreetMapBackend) -> None:
    (found,) = places(await osm.search_around("2.349900,48.853000", 100, "公共厕所"))
    assert found.name == "公共厕所"


async def test_where_too_many_are_near_the_nearest_are_asked_for(fake: FakeOpenStreetMap) -> None:
    far = [node(n, 35.0 + 0.005, 135.78, shop="florist", name=f"花 {n}") for n in range(MAX_ELEMENTS)]
    near = node(10**6, 35.0, 135.78, shop="florist", name="近い花屋")
    fake.elements = [*far, near]
    osm = opened(fake.base_url)
    found = places(await osm.search_around("135.780000,35.000000", 1000, "花店"))
    await osm.close()
    assert found[0].name == "近い花屋"
    assert len(fake.queries()) == 2


async def test_a_place_is_found_again_by_its_id(osm: OpenStreetMapBackend) -> None:
    (found,) = places(await osm.fetch_details("W27262094"))
    assert (found.name, found.lng) == ("清水寺", 135.785)
    with pytest.raises(ServiceError, match="no place has this id"):
        await osm.fetch_details("N1")


def test_pages_of_places() -> None:
    assert place_url("W27262094") == "https://www.openstreetmap.org/way/27262094"
    assert place_url("N1") == "https://www.openstreetmap.org/node/1"
    assert place_url("javascript:alert(1)") == place_url("N1/../x") == place_url("") == ""


HOSTILE = ["<img src=x onerror=alert(1)>", '=cmd|" /C calc"!A0', "${window.x=1}`", "a\u202eb\x00c", "{{7*7}}"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_stay_text(osm: OpenStreetMapBackend, fake: FakeOpenStreetMap, name: str) -> None:
    fake.elements = [node(1, 34.9947, 135.785, tourism="museum", name=name, opening_hours=name)]
    (found,) = places(await osm.search_around(KYOTO, 100, "博物馆"))
    kept = "".join(c for c in name if c not in "\u202e\x00")
    assert found.name == kept
    assert found.hours == kept


@pytest.mark.parametrize(
    "row",
    [
        {"type": "node", "id": 1}, {"type": "node", "id": 1, "lat": "x", "lon": None}, {"id": [], "tags": 3},
        {"type": "way", "id": 2, "center": [1, 2]}, {"type": "area", "id": 1, "lat": 1.0, "lon": 1.0},
        {"type": "node", "id": 1, "lat": float("1e999"), "lon": 1.0, "tags": {"name": "x"}},
    ],
)  # fmt: skip
async def test_an_element_that_is_none_is_left_out(row: dict[str, Any]) -> None:
    from research.sources.places.osm import _parse_element

    assert _parse_element(row, Point(0, 0)) is None


# What it cannot do


@pytest.mark.parametrize("mode", ["walking", "driving", "bicycling"])
async def test_routes_are_refused_in_words(osm: OpenStreetMapBackend, mode: RoutingMode) -> None:
    with pytest.raises(ServiceError, match=r"asked for no .* routes"):
        await osm.fetch_route(mode, KYOTO, LOUVRE)


async def test_straight_lines_are_measured(osm: OpenStreetMapBackend, fake: FakeOpenStreetMap) -> None:
    answer = await osm.measure_distances(KYOTO, LOUVRE, "0")
    far = distance_metres(Point(135.785, 34.9947), Point(2.3376, 48.8606))
    assert answer["results"][0]["distance"] == round(far)
    assert fake.log == []


# Faults

FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"status": 429}, "quota"),
    ({"status": 403}, "blocked"),
    ({"status": 504}, "unavailable"),
    ({"status": 400}, "refused"),
    ({"status": 302, "headers": {"Location": "https://elsewhere.example/"}}, "redirected"),
    ({"fault": "hangs"}, "timeout"),
    ({"fault": "trickles"}, "timeout"),
    ({"fault": "drops"}, "unreachable"),
    ({"fault": "html"}, "malformed"),
    ({"fault": "broken"}, "malformed"),
    ({"fault": "empty"}, "malformed"),
]


@pytest.mark.parametrize("call", ["geocode", "reverse_geocode", "search_around", "search_text", "fetch_details"])
@pytest.mark.parametrize(("given", "reason"), FAULTS, ids=lambda item: str(item)[:30])
async def test_each_fault_is_told_by_its_kind(call: str, given: dict[str, Any], reason: str) -> None:
    argument = {"geocode": "京都", "search_text": "寺庙", "fetch_details": "W27262094"}.get(call, KYOTO)
    with FakeOpenStreetMap(**given) as fake:
        osm = opened(fake.base_url, timeout=0.3 if reason == "timeout" else 30)
        with pytest.raises(ServiceError) as caught:
            await getattr(osm, call)(argument)
        await osm.close()
    assert caught.value.reason == reason
    assert "Nominatim" in str(caught.value) or "Overpass" in str(caught.value)


async def test_nobody_there_is_unreachable() -> None:
    osm = opened(nowhere())
    with pytest.raises(ServiceError) as caught:
        await osm.search_around(KYOTO)
    await osm.close()
    assert caught.value.reason == "unreachable"


@pytest.mark.parametrize(
    ("remark", "reason"),
    [
        ("runtime error: Query timed out in \"query\" at line 1 after 26 seconds.", "timeout"),
        ("runtime error: Query run out of memory using about 2048 MB of RAM.", "unavailable"),
    ],
)  # fmt: skip
async def test_a_query_that_overpass_broke_off_is_no_answer(remark: str, reason: str) -> None:
    """It comes with the status of success, and with what was found until then."""
    with FakeOpenStreetMap(remark=remark) as fake:
        osm = opened(fake.base_url)
        with pytest.raises(ServiceError) as caught:
            await osm.search_around(KYOTO, 1000, "寺庙")
        await osm.close()
    assert caught.value.reason == reason


async def test_nothing_found_is_empty(osm: OpenStreetMapBackend, fake: FakeOpenStreetMap) -> None:
    assert (await osm.geocode("nowhere at all"))["return"] == []
    assert (await osm.search_around("0.000000,0.000000", 500, "博物馆"))["pois"] == []
    with pytest.raises(ServiceError, match="no address at this point"):
        await osm.reverse_geocode("0.000000,0.000000")
    with pytest.raises(ServiceError, match="no city"):
        await osm.search_text("博物馆", "nowhere")


# How often


class Clock:
    """A time that only waiting moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.begun: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class Noted(ServiceClient):
    """Notes when each request is sent."""

    def __init__(self, address: str, clock: Clock) -> None:
        super().__init__(address)
        self.clock = clock

    async def get_json_list(self, *given: Any) -> list[dict[str, Any]]:
        self.clock.begun.append(self.clock.now)
        return await super().get_json_list(*given)


async def test_nominatim_is_asked_once_a_second_by_all_desks_together(
    fake: FakeOpenStreetMap,
) -> None:
    clock = Clock()
    pace = RateLimiter(1.0, clock=clock, sleep=clock.wait)
    desks = [
        OpenStreetMapBackend(
            Noted(fake.base_url, clock), ServiceClient(fake.base_url), rate_limiters=(pace, RateLimiter(0))
        )
        for _ in range(2)
    ]
    for name in ("京都", "Paris", "西安"):
        for desk in desks:
            await desk.geocode(name)
    for desk in desks:
        await desk.close()
    assert clock.begun == [0, 1, 2, 3, 4, 5]


def test_the_pace_of_the_process_is_one_second() -> None:
    """Whoever does not bring another has that of the module."""
    first, second = (OpenStreetMapBackend(ServiceClient("http://x"), ServiceClient("http://y")) for _ in range(2))
    assert first._rate_limiters is second._rate_limiters
    assert [pace.interval_seconds for pace in first._rate_limiters] == [1.0, 1.0]


class Memory:
    """Keeps answers as the store does."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[dict[str, Any], Any]] = {}

    def get_cached_answer(self, key: str, since: Any) -> Any:
        return self.kept.get(key)

    def cache_answer(self, key: str, answer: Any, made: Any) -> None:
        self.kept[key] = dict(answer), made

    def increment_counter(self, name: str, day: str) -> None:
        raise AssertionError("nothing of OpenStreetMap's is counted")

    def get_counter(self, name: str, day: str) -> int:
        return 0


async def test_what_has_been_asked_is_not_asked_again(fake: FakeOpenStreetMap, tmp_path: Path) -> None:
    service = MapService(Settings(data_dir=tmp_path), Memory(), backend=opened(fake.base_url))
    given = {"location": KYOTO, "radius": "8000", "keywords": "寺庙"}
    zh = await service.call_tool("maps_around_search", given)
    en = await service.call_tool("maps_around_search", given, language="en")
    await service.close()
    assert len(fake.log) == 1
    assert zh.places[0].name == KIYOMIZU["tags"]["name"]
    assert en.places[0].name == "Kiyomizu-dera (清水寺)"
    assert service.searches_left() is None
