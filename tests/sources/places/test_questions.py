"""What people ask of a map, from the question to the tools: no model, every call and its arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from research.citations.disagreements import find_disagreements
from research.core import settings
from research.core.events import ignore_event
from research.core.records import Evidence, Finding, Report, Run, RunOptions, Task
from research.sources.places.map_services import MapServices
from research.sources.places.questions import PlaceQuery, parse_place_query
from research.sources.places.retriever import PlacesRetriever
from research.sources.places.service import MapService
from research.storage.store import Store
from tests.servers.amap import FakeAmap
from tests.servers.npm import KEY, environment, lacking

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
PATHS = {
    "geo": "v3/geocode/geo",
    "walk": "v3/direction/walking",
    "drive": "v3/direction/driving",
    "transit": "v3/direction/transit/integrated",
    "far": "v3/distance",
    "around": "v3/place/around",
}
SHOWN = ("address", "origin", "destination", "city", "cityd", "keywords", "radius", "type")


class Asked(NamedTuple):
    """A question, the calls that it takes, and arguments that they have to have, in their order."""

    question: str
    calls: str
    arguments: tuple[str, ...]


QUESTIONS = [
    Asked(
        "从南京南站到夫子庙怎么走",
        "geo geo transit drive",
        ("南京南站", "夫子庙", "118.797499,31.968789 118.788850,32.020729 南京市 南京市"),
    ),
    Asked("广州塔离白云机场多远", "geo geo far far", ("广州塔", "白云机场", "113.308781,23.392436 0", "113.308781,23.392436 1")),
    Asked("桂林阳朔西街附近的民宿多少钱一晚", "geo around", ("桂林阳朔西街", "酒店|宾馆|民宿 2000")),
    Asked(
        "how do I get from Pudong airport to the Bund",
        "geo geo transit drive",
        ("Pudong airport", "Bund", "121.805214,31.150681 121.490283,31.236227 上海市 上海市"),
    ),
    Asked("西安回民街在哪", "geo", ("西安回民街",)),
    Asked("青岛栈桥到八大关步行路线", "geo geo walk", ("青岛栈桥", "八大关", "120.319600,36.060800 120.352600,36.053800")),
    Asked("我在国贸三期，想找个能谈事的茶馆", "geo around", ("国贸三期", "茶馆")),
    Asked("addresses of bookstores in Xi'an's Qujiang district", "geo around", ("Qujiang", "书店")),
    Asked("三里屯晚上11点后还开门的餐厅", "geo around", ("三里屯", "餐厅")),
    Asked("哈尔滨中央大街的俄式餐厅", "geo around", ("哈尔滨中央大街", "餐厅")),
    Asked("浦东国际机场T2可以洗澡的地方", "geo around", ("浦东国际机场", "洗浴")),
    Asked(
        "从西湖到灵隐寺之间有什么好玩的",
        "geo geo drive around around around",
        ("西湖", "灵隐寺", "120.145731,30.242692 120.101406,30.240826", "景点", "景点", "景点"),
    ),
    Asked(
        "故宫和天坛之间有什么吃的",
        "geo geo drive around around around",
        ("故宫", "天坛", "116.397142,39.918301 116.410886,39.881949", "美食", "美食", "美食"),
    ),
    Asked("what is there between Yuyuan Garden and the Bund on foot", "geo geo around", ("Yuyuan Garden", "Bund", "景点")),
    Asked("我在浦东机场转机6小时，附近能去哪玩", "geo around", ("浦东机场", "景点")),
]  # fmt: skip


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
async def source(tmp_path: Path, fake: FakeAmap) -> AsyncIterator[PlacesRetriever]:
    async for made in opened(tmp_path, {"AMAP_MAPS_API_KEY": KEY, "AMAP_BASE_URL": fake.base_url}):
        yield made


async def opened(
    folder: Path, env: dict[str, str], reads: Callable[[str], PlaceQuery | None] = parse_place_query
) -> AsyncIterator[PlacesRetriever]:
    given = settings.load_settings(env, data_dir=folder)
    store = Store(folder / "runs.db")
    made = PlacesRetriever(
        MapServices(MapService(given, store, lambda: NOW)),
        timeout_seconds=given.search_timeout,
        parse_query=reads,
        max_calls=given.amap_tool_calls,
        clock=lambda: NOW,
    )
    yield made
    await made.close()
    store.close()


async def ask(source: PlacesRetriever, question: str) -> Finding:
    return await source.search(Task(id="1.1", source="places", query=question), ignore_event)


def said(found: Finding) -> list[str]:
    return [item.passages[0].text for item in found.evidence]


def lined(found: Finding) -> list[Evidence]:
    return [item for item in found.evidence if item.route]


@pytest.mark.parametrize("asked", QUESTIONS, ids=[asked.question for asked in QUESTIONS])
async def test_a_question_calls_the_tools_that_it_needs_and_no_other(
    source: PlacesRetriever, fake: FakeAmap, asked: Asked
) -> None:
    found = await ask(source, asked.question)
    assert fake.paths() == [PATHS[call] for call in asked.calls.split()]
    for call, wanted_ in zip(fake.log, asked.arguments, strict=False):
        sent = " ".join(call.query[name] for name in SHOWN if name in call.query)
        assert wanted_ in sent
    assert found.reason is None
    assert found.evidence
    assert found.failures == ()


async def test_a_question_for_places_abroad_asks_amap_nothing(source: PlacesRetriever, fake: FakeAmap) -> None:
    found = await ask(source, "ramen shops in Shinjuku")
    assert (found.reason, found.evidence) == ("unclear", ())
    assert fake.log == []


async def test_the_answer_to_a_way_begins_with_it(source: PlacesRetriever) -> None:
    found = await ask(source, "青岛栈桥到八大关步行路线")
    first = found.evidence[0]
    assert first.passages[0].text == "步行：从 青岛栈桥 到 八大关，4 km，约 53 分钟"
    assert first.passages[1].text == "1. 沿东长安街向西直行；2. 右转进入南池子大街"
    assert first.route is not None
    assert (first.route.travel_mode, first.route.straight_line, len(first.route.line)) == ("walking", False, 3)
    assert [place.name for place in found.places] == ["青岛栈桥", "八大关"]


async def test_public_transport_is_told_line_by_line(source: PlacesRetriever) -> None:
    found = await ask(source, "how do I get from Pudong airport to the Bund")
    ride, drive = lined(found)
    assert ride.route is not None and drive.route is not None
    assert (ride.route.travel_mode, drive.route.travel_mode) == ("transit", "driving")
    assert ride.route.steps == ("walk 420 m", "地铁1号线 from 王府井 to 天安门东")


async def test_two_ways_to_one_place_are_no_disagreement(source: PlacesRetriever) -> None:
    found = await ask(source, "how do I get from Pudong airport to the Bund")
    run = Run(
        id="r",
        conversation="c",
        owner="o",
        question="q",
        options=RunOptions(),
        status="done",
        created=NOW,
    )
    report = Report(run=run, findings=(found,), evidence=found.evidence)
    assert find_disagreements(report, None) == ()
    alike = [item.model_copy(update={"kind": "web"}) for item in found.evidence]
    assert find_disagreements(report.model_copy(update={"evidence": tuple(alike)}), None) != ()


async def test_a_distance_is_told_in_each_way_that_it_is_measured(source: PlacesRetriever) -> None:
    line, drive, *_ = said(await ask(source, "广州塔离白云机场多远"))
    assert line == "从 广州塔 到 白云机场，直线：31.8 km"
    assert drive.startswith("从 广州塔 到 白云机场，驾车：41.")


async def test_a_place_is_told_with_its_address(source: PlacesRetriever) -> None:
    (line,) = said(await ask(source, "西安回民街在哪"))
    assert line == "西安回民街；地址：陕西省西安市莲湖区。"


async def test_the_way_between_two_is_drawn_with_what_was_searched(
    source: PlacesRetriever,
) -> None:
    found = await ask(source, "从西湖到灵隐寺之间有什么好玩的")
    assert len(found.route_areas) == 3
    assert len(lined(found)) == 1
    assert found.message == f"搜索了沿途 3 处各 {found.route_areas[0].radius} m 以内"


async def test_without_a_key_a_way_is_a_line_and_it_is_said_why(tmp_path: Path, fake: FakeAmap) -> None:
    async for source in opened(tmp_path, {}):
        found = await ask(source, "how do I get from Wangfujing to the Palace Museum")
        assert said(found)[0].startswith("From Wangfujing to Palace Museum, in a straight line: ")
        (failure,) = found.failures
        assert "has no directions" in failure.message
    assert fake.log == []


async def test_a_round_has_a_table_of_distances_that_cites_what_it_says(tmp_path: Path, fake: FakeAmap) -> None:
    wish = PlaceQuery(place="北京", intent="itinerary", stops=("故宫博物院", "中国国家博物馆", "皇城根遗址公园"))
    env = {"AMAP_MAPS_API_KEY": KEY, "AMAP_BASE_URL": fake.base_url}
    async for source in opened(tmp_path, env, lambda _: wish):
        found = await ask(source, "北京一日游")
    (span,) = found.summary
    table, (cite,) = found.evidence[0], span.references
    assert (cite.evidence, cite.passage) == (table.id, table.passages[0].id)
    title, head, _, first, *_ = filter(None, span.text.splitlines())
    assert title == table.title == "两两距离（步行）"
    assert head.split("|")[2:5] == [" 故宫博物院 ", " 皇城根遗址公园 ", " 中国国家博物馆 "]
    cells = [cell.strip() for cell in first.split("|")[1:-1]]
    assert cells[:2] == ["故宫博物院", "–"]
    for name, far in zip(("皇城根遗址公园", "中国国家博物馆"), cells[2:], strict=True):
        assert f"从 故宫博物院 到 {name}，步行：{far}" in table.passages[0].text


@pytest.mark.node
@pytest.mark.skipif(bool(lacking()), reason=lacking())
async def test_amap_s_own_server_gives_no_line_and_that_is_said(tmp_path: Path, fake: FakeAmap) -> None:
    env = {"AMAP_MAPS_API_KEY": KEY, "AMAP_MCP": "npm"} | environment(fake, tmp_path)
    async for source in opened(tmp_path, env):
        found = await ask(source, "青岛栈桥到八大关步行路线")
        assert fake.paths() == [PATHS[call] for call in ("geo", "geo", "walk")]
        first = found.evidence[0]
        assert first.passages[0].text.endswith("；地图没有给出路线图形，以直线画出")
        assert first.route is not None
        assert (first.route.straight_line, len(first.route.line)) == (True, 2)
        assert first.route.steps == ("沿东长安街向西直行", "右转进入南池子大街")
