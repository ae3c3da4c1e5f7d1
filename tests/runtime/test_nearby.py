"""The map from outside: looking around without a run, what is kept of it, a day, and whole runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from research import close_application, get_application
from research.citations.numbering import check_numbering, number_report_answer
from research.core import settings
from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.records import Place, Report
from research.export.report_json import report_json
from tests.fakes import until
from tests.servers.amap import PLACES, FakeAmap
from tests.servers.gemini import FakeGemini
from tests.sources.places.test_places_source import competent

KEY = "sentinel-key-0123456789"
KIDS, MARKET = "王府井附近适合遛娃的好去处", "市场经济的发展思路"
WANGFUJING = from_gcj02(Point(116.410894, 39.911514))
Opened = Callable[..., None]


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
def gemini() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        server.brain.caller = competent()
        server.brain.values["plan"] = {"queries": [KIDS]}  # where there is one source
        yield server


@pytest.fixture
def opened(tmp_path: Path, fake: FakeAmap, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens the process's desk, anew each time, on one data folder."""
    for name, _ in settings.load_settings({}, data_dir=tmp_path).display_values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)

    def start(more: Mapping[str, str] | None = None) -> None:
        close_application()
        env = {"AMAP_MAPS_API_KEY": KEY, "AMAP_BASE_URL": fake.base_url} | dict(more or {})
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        get_application(tmp_path / "data")

    close_application()
    start()
    yield start
    close_application()


def names(found: Any) -> list[str]:
    return [place.name for place in found.places]


def seen(owner: str = "local") -> list[str]:
    return [sighting.place.name for sighting in get_application().store.recorded_places(owner)]


# Looking around


def test_what_a_look_around_finds_is_there_after_a_restart(opened: Opened, fake: FakeAmap) -> None:
    found = get_application().places.search_around("王府井", "遛娃", 2_000)
    assert (found.reason, found.provider) == (None, "amap")
    assert "故宫博物院" in names(found)
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around"]
    assert fake.log[1].query["radius"] == "2000"
    assert fake.log[1].query["keywords"].startswith("亲子乐园|儿童乐园|")
    opened()
    assert set(seen()) == set(names(found))
    assert all(sighting.runs == () for sighting in get_application().store.recorded_places("local"))
    again = get_application().places.search_around("王府井", "遛娃", 2_000)
    assert (again.places, len(fake.log)) == (found.places, 2)


def test_a_point_on_the_map_is_looked_around_as_it_is(opened: Opened, fake: FakeAmap) -> None:
    found = get_application().places.search_around((WANGFUJING.lng, WANGFUJING.lat), "公园", 1_500)
    assert fake.paths() == ["v3/place/around"]
    assert fake.log[0].query["location"] == "116.410894,39.911514"
    assert found.search_area is not None
    assert (found.search_area.lng, found.search_area.lat, found.search_area.radius) == (*WANGFUJING, 1_500)
    assert names(found) == ["皇城根遗址公园", "中山公园"]


def test_what_is_looked_up_is_its_owner_s(opened: Opened) -> None:
    get_application().places.search_around("王府井", "公园", 2_000, owner="ann")
    assert "中山公园" in seen("ann")
    assert seen("bob") == seen() == []


@pytest.mark.parametrize(
    ("where", "words"), [("鼓楼", "有几处"), ("浙江", "范围太大"), ("", "想找哪里附近的？"), ("小猫咖啡馆", "没有找到")]
)  # fmt: skip
def test_what_is_unclear_is_a_finding_that_asks(opened: Opened, where: str, words: str) -> None:
    found = get_application().places.search_around(where, "公园", 2_000)
    assert (found.reason, found.evidence) == ("unclear", ())
    assert words in found.message
    assert seen() == []


@pytest.mark.parametrize(("fault", "reason"), [("key", "refused"), ("quota", "quota"), ("drop", "unreachable")])
def test_a_look_that_fails_is_a_finding_that_says_why(opened: Opened, fake: FakeAmap, fault: str, reason: str) -> None:
    fake.fail("any", fault)
    found = get_application().places.search_around("王府井", "公园", 2_000)
    assert (found.reason, found.evidence) == (reason, ())
    assert KEY not in found.message
    fake.fail("any", "ok")
    assert get_application().places.search_around("王府井", "公园", 2_000).reason is None


def test_a_radius_that_no_map_takes_is_refused_in_words(opened: Opened, fake: FakeAmap) -> None:
    found = get_application().places.search_around((WANGFUJING.lng, WANGFUJING.lat), "公园", 90_000)
    assert found.reason == "refused"
    assert "radius" in found.message
    assert fake.log == []


def test_a_place_that_several_looks_have_found_is_listed_once(opened: Opened) -> None:
    first = get_application().places.search_around("王府井", "公园", 2_000)
    other = get_application().places.search_around("王府井", "公园|博物馆", 2_000)
    assert set(names(first)) < set(names(other))
    assert sorted(seen()) == sorted(names(other))


def test_without_a_key_the_sample_answers(opened: Opened, fake: FakeAmap) -> None:
    opened({"AMAP_MAPS_API_KEY": ""})
    found = get_application().places.search_around("王府井", "公园", 2_000)
    assert (found.provider, found.reason) == ("offline", None)
    assert all(place.sample for place in found.places)
    assert get_application().places.search_around("三里屯", "公园", 2_000).reason == "empty"
    assert get_application().places.searches_left() is None
    assert fake.log == []


def test_what_is_left_of_the_day_is_told(opened: Opened) -> None:
    assert get_application().places.searches_left() == (100, 100)
    get_application().places.search_around("王府井", "公园", 2_000)
    assert get_application().places.searches_left() == (99, 100)
    opened({"AMAP_DAILY_SEARCHES": "1"})
    assert get_application().places.searches_left() == (0, 1)
    found = get_application().places.search_around("王府井", "书店", 2_000)
    assert found.reason == "quota"
    assert "AMAP_DAILY_SEARCHES" in found.message
    assert get_application().places.search_around("王府井", "公园", 2_000).reason is None


# A day


def somewhere(*wanted: str) -> list[Place]:
    rows = [next(row for row in PLACES if row[1] == name) for name in wanted]
    points = [from_gcj02(Point(*(float(part) for part in row[5].split(",")))) for row in rows]
    return [
        Place(id=row[0], name=row[1], lng=p.lng, lat=p.lat, provider="amap")
        for row, p in zip(rows, points, strict=True)
    ]


def test_a_day_is_ordered_by_the_map_s_ways(opened: Opened, fake: FakeAmap) -> None:
    route = get_application().places.build_itinerary(somewhere("故宫博物院", "王府井书店", "皇城根遗址公园"))
    assert names(route) == ["故宫博物院", "皇城根遗址公园", "王府井书店"]
    assert [leg.travel_mode for leg in route.legs] == ["walking"] * 2
    assert route.failure is None
    assert get_application().places.searches_left() == (100, 100)  # ways are not counted
    far = get_application().places.build_itinerary(somewhere("故宫博物院", "豫园"))
    assert [leg.travel_mode for leg in far.legs] == ["driving"]
    assert get_application().places.build_itinerary([]).places == ()


def test_without_a_key_a_day_is_ordered_by_straight_lines(opened: Opened, fake: FakeAmap) -> None:
    opened({"AMAP_MAPS_API_KEY": ""})
    some = somewhere("故宫博物院", "王府井书店", "皇城根遗址公园")
    route = get_application().places.build_itinerary(some)
    assert names(route) == ["故宫博物院", "皇城根遗址公园", "王府井书店"]
    assert [(leg.travel_mode, leg.seconds) for leg in route.legs] == [("straight", None)] * 2
    first, second = (Point(p.lng, p.lat) for p in route.places[:2])
    assert route.legs[0].metres == round(distance_metres(first, second))
    assert route.failure is not None
    assert "AMAP_MAPS_API_KEY" in route.failure.message
    assert fake.log == []


# Whole runs


def researched(question: str, **limits: Any) -> Report:
    options = get_application().default_options().model_copy(update={"loops": 1, **limits})
    run_id = get_application().runs.start(question, options=options).id
    until(lambda: not get_application().runs.get_run(run_id).is_active)  # type: ignore[union-attr]
    report = get_application().runs.report(run_id)
    assert report is not None
    assert report.answer is not None, report.run.error
    assert check_numbering(number_report_answer(report)) == []
    return report


def with_model(gemini: FakeGemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}


def test_a_run_with_a_model_finds_and_cites_places(opened: Opened, fake: FakeAmap, gemini: FakeGemini) -> None:
    opened(with_model(gemini))
    report = researched(KIDS, sources=("places", "library"))
    assert (report.run.status, report.answer and report.answer.failures) == ("done", ())
    numbered = number_report_answer(report)
    assert {"故宫博物院", "奇趣岛亲子乐园(王府井店)"} <= {s.evidence.title for s in numbered.sources}
    assert sum(usage.searches for usage in report.usage if usage.model == "amap") == 1
    content = json.loads(report_json(report, numbered))
    located = [item["place"] for item in content["evidence"] if item["place"]]
    assert "故宫博物院" in {place["name"] for place in located}
    assert all(116.38 < place["lng"] < 116.42 for place in located)
    assert {sighting.questions for sighting in get_application().store.recorded_places("local")} == {(KIDS,)}
    assert {sighting.runs for sighting in get_application().store.recorded_places("local")} == {(report.run.id,)}
    tools = [event.data for event in get_application().runs.events(report.run.id) if event.kind == "tool_called"]
    assert [data.tool for data in tools] == ["maps_geo", "maps_around_search"]


def test_a_model_asks_the_map_beside_the_web_only_for_places(
    opened: Opened, fake: FakeAmap, gemini: FakeGemini
) -> None:
    opened(with_model(gemini))
    places = researched(KIDS, sources=("web", "places"))
    assert {finding.task.source for finding in places.findings} == {"web", "places"}
    (on_map,) = (finding for finding in places.findings if finding.task.source == "places")
    assert (on_map.task.query, on_map.reason) == (KIDS, None)
    assert "故宫博物院" in names(on_map)
    fake.log.clear()
    market = researched(MARKET, sources=("web", "places"))
    assert {finding.task.source for finding in market.findings} == {"web"}
    assert market.run.status == "done"
    assert fake.log == []


def test_a_hostile_model_cannot_bring_a_place_of_its_own(opened: Opened, gemini: FakeGemini) -> None:
    opened(with_model(gemini))
    gemini.fail("tools", "invent")
    report = researched(KIDS, sources=("places",))
    assert "月球乐园" not in report_json(report, number_report_answer(report))
    assert "月球乐园" not in seen()


def test_where_the_model_cannot_use_tools_the_places_are_found_and_that_is_listed(
    opened: Opened, gemini: FakeGemini
) -> None:
    gemini.fail("tools", "400tools")
    opened(with_model(gemini))
    report = researched(KIDS, sources=("places",))
    assert report.run.status == "done"
    assert report.answer is not None
    assert [(f.stage, f.source, f.reason) for f in report.answer.failures] == [("search", "places", "refused")]
    assert "故宫博物院" in seen()


def test_the_calls_of_a_run_are_held_to_their_setting(opened: Opened, fake: FakeAmap, gemini: FakeGemini) -> None:
    gemini.brain.caller = competent("loop")
    opened(with_model(gemini) | {"AMAP_TOOL_CALLS": "2"})
    researched(KIDS, sources=("places",))
    assert fake.paths().count("v3/place/text") == 2


def test_two_runs_of_one_question_pay_for_its_places_once(opened: Opened, fake: FakeAmap, gemini: FakeGemini) -> None:
    opened(with_model(gemini))
    first, second = (researched(KIDS, sources=("places",)) for _ in range(2))
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around"]
    assert [f.places for f in second.findings] == [f.places for f in first.findings]
    assert not [usage for usage in second.usage if usage.model == "amap"]
    (sighting, *_) = get_application().store.recorded_places("local")
    assert sighting.runs == (second.run.id, first.run.id)


def test_without_a_model_or_a_key_a_run_lists_the_sample_s_places(opened: Opened, fake: FakeAmap) -> None:
    opened({"AMAP_MAPS_API_KEY": ""})
    assert "places" in get_application().default_options().sources
    report = researched(KIDS)
    assert report.run.status == "done"
    assert report.answer is not None
    assert report.answer.sample
    assert {source.evidence.kind for source in number_report_answer(report).sources} == {"place"}
    assert fake.log == []
    market = researched(MARKET)
    assert {finding.task.source for finding in market.findings} == {"library"}


def test_that_the_sample_has_nothing_is_no_word_about_the_place(opened: Opened, fake: FakeAmap) -> None:
    opened({"AMAP_MAPS_API_KEY": ""})
    report = researched("外滩附近的酒店")
    assert report.answer is not None
    (missing,) = [span.text for span in report.answer.spans if span.kind == "missing"]
    assert missing.startswith("离线示例")
    assert not any("内没有找到" in span.text for span in report.answer.spans)


def test_without_a_model_a_run_asks_amap(opened: Opened, fake: FakeAmap) -> None:
    report = researched(KIDS)
    assert fake.paths() == ["v3/geocode/geo", "v3/place/around"]
    assert sum(usage.searches for usage in report.usage if usage.model == "amap") == 1
    quotes = [span.text for span in report.answer.spans if span.kind == "quote"]  # type: ignore[union-attr]
    assert any(text.startswith("故宫博物院（博物馆）") for text in quotes)
