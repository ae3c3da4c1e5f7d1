"""The Places page: what was found, looking around a point, comparing, a day, files."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import place_text
from research import Evidence, Place, Point, RunOptions, close_application, get_application
from tests.catalogue import WORDS
from tests.pages.conftest import KEY
from tests.pages.visitor import Visitor
from tests.servers.amap import FakeAmap

Visit = Callable[..., Visitor]
NOW = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
MANY = 5000
SECOND = 1.0


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


@pytest.fixture
def amap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAmap]:
    """Amap on this machine, which knows no key but its own."""
    with FakeAmap() as fake:
        fake.keys = {KEY}
        monkeypatch.setenv("AMAP_BASE_URL", fake.base_url)
        monkeypatch.setenv("AMAP_MAPS_API_KEY", KEY)
        yield fake
        close_application()


def search(visitor: Visitor, where: str, what: str = "", radius: int = 1000) -> Visitor:
    visitor.at.text_input(key="places_where").set_value(where)
    visitor.at.text_input(key="places_what").set_value(what)
    visitor.at.select_slider(key="places_radius").set_value(radius)
    return visitor.press("places_search")


def lists(visitor: Visitor) -> list[dict[str, Any]]:
    """The lists beside the maps, as they are drawn."""
    found = [json.loads(item.proto.json) for item in visitor.at.get("bidi_component")]
    return [item for item in found if "rows" in item]


def drawn(visitor: Visitor, which: int = 0) -> str:
    """What a map is told to draw."""
    frame = json.loads(visitor.at.get("component_instance")[which].proto.json_args)
    return str(frame["feature_group"])


def names(visitor: Visitor) -> list[str]:
    return [row[1] for row in lists(visitor)[0]["rows"]] if lists(visitor) else []


def select(visitor: Visitor, *wanted: str) -> Visitor:
    """Ticks places by name, as a click on their boxes does."""
    known = [item.place for item in get_application().store.recorded_places("local")]
    found = {name: p.id for p in known for name in (p.name, place_text.display_name(p, "en"))}
    state = {"picked": "", "turn": 0, "since": 0, "ticked": {found[name] for name in wanted}}
    visitor.at.session_state["on_map_all"] = state
    return visitor.look()


def known(folder: Path, *places: Place, owner: str = "local") -> None:
    """Puts places into the store as a search would."""
    store = get_application().runs.store
    store.add_evidence(
        store.place_registry(owner),
        [
            Evidence(
                id=f"e{n}", kind="place", title=place.name, place=place,
                url=f"https://www.amap.com/place/{place.id}", retrieved=NOW - timedelta(seconds=n),
            )
            for n, place in enumerate(places)
        ],
    )  # fmt: skip


def place(n: int, **more: Any) -> Place:
    base = {
        "id": f"p{n}", "name": f"Place {n}", "lng": 116.4 + n % 71 / 500, "lat": 39.9 + n % 67 / 500,
        "provider": "amap", "category": place_text.CATEGORY_NAMES[n % 8], "city": ("北京市", "上海市")[n % 2],
        "rating": 3.0 + n % 20 / 10, "cost": float(n % 200), "distance": n, "address": f"{n} Road",
    }  # fmt: skip
    return Place(**(base | more))


def test_an_empty_page_greets_with_a_map_of_the_sample(visit: Visit) -> None:
    visitor = visit("places")
    assert english("places.empty") in visitor.words
    assert "Palace Museum 故宫博物院" in names(visitor)
    assert all("Sample" in row[2] for row in lists(visitor)[0]["rows"])
    assert get_application().store.recorded_places("local") == []  # nobody has found them


def test_with_a_key_the_first_map_costs_nothing(visit: Visit, amap: FakeAmap) -> None:
    visitor = visit("places")
    assert len(names(visitor)) > 4
    assert amap.log == []


def test_a_search_brings_places_that_are_marked_as_samples(visit: Visit) -> None:
    visitor = search(visit("places"), "王府井")
    assert "Beijing apm 北京apm" in names(visitor)
    assert all("Sample" in row[2] for row in lists(visitor)[0]["rows"])
    assert english("places.sample") in visitor.words
    assert visitor.at.selectbox(key="places_question").value == "last"


def test_a_search_around_coordinates_finds_the_same_as_around_the_name(visit: Visit) -> None:
    named = search(visit("places"), "王府井")
    pointed = search(visit("places"), "39.91011, 116.40465")
    assert names(named) == names(pointed) != []


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "   "])
def test_a_search_around_nothing_says_what_is_missing(visit: Visit, where: str) -> None:
    assert english("places.nowhere") in search(visit("places"), where).errors


def test_a_search_that_fails_says_why_and_the_next_one_forgets_it(visit: Visit) -> None:
    visitor = search(visit("places"), "福州西湖")
    assert "“福州西湖” is not in the offline sample" in visitor.words
    visitor = search(visitor, "王府井")
    assert "福州西湖" not in visitor.words
    assert names(visitor)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "where", "words"),
    [
        ("zh-CN", "Fuzhou", "“Fuzhou”不在离线示例中"),
        ("en-US", "福州西湖", "is not in the offline sample (Wangfujing, the Bund, West Lake)"),
        ("zh-CN", "12.5, 13.5", "“12.50000, 13.50000”不在离线示例中"),
    ],
)
def test_the_map_says_in_the_page_s_language_what_it_does_not_know(
    visit: Visit, locale: str, where: str, words: str
) -> None:
    assert words in search(visit("places", locale=locale), where, "museum").words


def test_what_the_service_says_itself_is_marked_on_a_page_in_another_language(visit: Visit, amap: FakeAmap) -> None:
    amap.fail("around", "quota")
    said = search(visit("places", locale="zh-CN"), "王府井", "公园").words
    assert WORDS["report.failed.quota"][0].format(service="Amap") in said
    assert WORDS["answer.failure_details"][0] in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ("en-US", "Nothing within 1 km of 王府井; the search was widened to 2.5 km."),
        ("zh-CN", "“王府井”周围 1 km 内没有找到，已扩大到 2.5 km。"),
    ],
)
def test_a_search_that_had_to_be_widened_draws_and_says_the_radius_that_was_used(
    visit: Visit, locale: str, words: str
) -> None:
    visitor = search(visit("places", locale=locale), "王府井", "博物馆", 1000)
    assert words in visitor.words
    assert "王府井 · 2.5 km" in drawn(visitor)
    visitor = search(visitor, "王府井", "博物馆", 2000)
    assert words not in visitor.words
    assert "王府井 · 2 km" in drawn(visitor)


@pytest.mark.slow
def test_amap_is_asked_once_and_the_rest_of_the_day_is_told(visit: Visit, amap: FakeAmap) -> None:
    visitor = search(visit("places"), "王府井", "亲子", 3000)
    assert "奇趣岛亲子乐园(王府井店)" in names(visitor)
    left = re.search(r"(\d+) of 100 searches left today", visitor.words)
    assert left
    assert int(left[1]) < 100
    assert english("places.sample") not in visitor.words


def test_a_refused_key_is_told_with_the_remedy(visit: Visit, amap: FakeAmap) -> None:
    amap.keys = {"another"}
    words = search(visit("places"), "王府井").words
    assert english("report.failed.refused key", service="Amap") in words
    assert KEY not in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"places_text": "museum"}, ["City Museum"]),
        ({"places_text": "ROAD 7"}, ["Noodles"]),
        ({"places_kinds": ["food"]}, ["Noodles"]),
        ({"places_cities": ["上海市"]}, ["The Bund", "City Museum"]),
        ({"places_rating": 4.5}, ["The Bund"]),
        ({"places_text": "museum", "places_kinds": ["food"]}, []),
    ],
)
def test_filters_leave_what_fits_all_of_them(
    folder: Path, visit: Visit, filters: dict[str, Any], left: list[str]
) -> None:
    known(
        folder,
        place(1, name="Noodles", category="food", city="北京市", rating=4.0, address="Road 7"),
        place(2, name="The Bund", category="sight", city="上海市", rating=4.8),
        place(3, name="City Museum", category="culture", city="上海市", rating=None),
    )
    visitor = visit("places")
    assert names(visitor) == ["Noodles", "The Bund", "City Museum"]
    for key, value in filters.items():
        kinds = {"places_text": "text_input", "places_rating": "selectbox"}
        getattr(visitor.at, kinds.get(key, "multiselect"))(key=key).set_value(value)
    assert names(visitor.look()) == left
    assert (english("places.none") in visitor.words) == (not left)


def test_the_places_of_one_run_can_be_looked_at_alone(folder: Path, visit: Visit) -> None:
    run = get_application().runs.start("王府井附近有什么博物馆？", options=RunOptions(sources=("places",)))
    visitor = visit("places")
    while get_application().runs.get_run(run.id).is_active:  # type: ignore[union-attr]
        time.sleep(0.05)
    known(folder, place(1, name="Elsewhere"))
    assert "Elsewhere" in names(visitor.look())
    of_run = len(names(visitor)) - 1
    visitor.at.selectbox(key="places_question").set_value(run.id)
    assert len(names(visitor.look())) == of_run > 0
    assert "Elsewhere" not in names(visitor)


def test_a_few_places_are_compared_side_by_side(folder: Path, visit: Visit) -> None:
    known(folder, place(1, name="A|B", hours="9-17", rating=4.5), place(2, name="![x](y)", cost=80.0))
    visitor = select(visit("places"), "A|B", "![x](y)")
    assert english("places.chosen", n=2) in visitor.words
    (table,) = [item.value for item in visitor.at.markdown if item.value.startswith("| ")]
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in table.splitlines()]
    assert {len(row) for row in rows} == {3}
    assert [cell.strip() for cell in rows[0][1:]] == [r"**A\|B**", r"**\!\[x\]\(y\)**"]
    assert "9\\-17" in table
    assert "4\\.5" in table
    assert "¥80" in table
    assert english("places.direct") in visitor.words


def test_one_place_and_many_are_not_compared(folder: Path, visit: Visit) -> None:
    known(folder, *(place(n) for n in range(6)))
    for chosen in (1, 6):
        visitor = select(visit("places"), *(f"Place {n}" for n in range(chosen)))
        assert english("places.compare") not in visitor.words
        assert visitor.at.button(key="places_day").disabled == (chosen == 1)


def test_a_table_links_to_the_runs_that_found_a_place(visit: Visit) -> None:
    run = get_application().runs.start("王府井附近有什么博物馆？", options=RunOptions(sources=("places",)))
    while get_application().runs.get_run(run.id).is_active:  # type: ignore[union-attr]
        time.sleep(0.05)
    visitor = visit("places")
    visitor = select(visitor, *names(visitor)[:2])
    assert f"](./?run={run.id})" in "\n".join(item.value for item in visitor.at.markdown)


def ways(visitor: Visitor) -> list[str]:
    """The ways that are listed below the maps, with and without steps."""
    lines = [item.value for item in visitor.at.markdown] + [e.label for e in visitor.at.expander]
    return [re.sub(r"\\(.)", r"\1", line) for line in lines if " → " in line]


def test_a_day_without_amap_is_measured_in_straight_lines_and_says_so(visit: Visit) -> None:
    visitor = search(visit("places"), "王府井")
    chosen = names(visitor)[:3]
    visitor = select(visitor, *names(visitor)[:3]).press("places_day")
    assert english("places.day_title") in visitor.words
    assert english("places.straight_help") in visitor.words
    day = lists(visitor)[1]
    assert sorted(row[1] for row in day["rows"]) == sorted(chosen)
    found = ways(visitor)
    assert len(found) == 2
    assert all(english("map.straight") in line for line in found)
    for line, (start, end) in zip(found, pairwise(day["rows"]), strict=True):
        assert start[1].startswith(line.split(" → ")[0].split(": ")[-1])
        assert end[1].startswith(line.split(" → ")[1].split(" · ")[0])
    visitor.press("places_clear")
    assert ways(visitor) == []


def test_a_day_with_amap_is_measured_along_the_ways(visit: Visit, amap: FakeAmap) -> None:
    visitor = search(visit("places"), "王府井", "亲子", 3000)
    visitor = select(visitor, *names(visitor)[:3]).press("places_day")
    route = visitor.at.session_state["places_route"]
    found = ways(visitor)
    for line, leg in zip(found, route.legs, strict=True):
        assert line.startswith(english(f"map.{leg.travel_mode}"))
        assert place_text.format_distance(leg.metres) in line
    assert "右转进入南池子大街" in visitor.words
    assert english("places.straight_help") not in visitor.words
    assert '"means":"walking"' in drawn(visitor, 1)


def test_distances_between_the_selected_are_a_table(visit: Visit, amap: FakeAmap) -> None:
    visitor = search(visit("places"), "王府井", "亲子", 3000)
    amap.log.clear()
    visitor = select(visitor, *names(visitor)[:3]).press("places_measure")
    assert amap.paths() == ["v3/distance"] * 3
    ids, found = visitor.at.session_state["places_table"]
    assert len(ids) == 3
    (table,) = [
        m.value for m in visitor.at.markdown if m.value.startswith("|") and " m" in m.value and "★" not in m.value
    ]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    for a, row in enumerate(rows):
        for b, cell in enumerate(row[1:]):
            assert cell.split(" · ")[0] == (place_text.format_distance(found.metres[a][b]) or "–")
    visitor.press("places_clear")
    assert english("places.table_help", means="") not in visitor.words


def test_distances_without_amap_say_why_there_are_none(visit: Visit) -> None:
    visitor = search(visit("places"), "王府井")
    visitor = select(visitor, *names(visitor)[:2]).press("places_measure")
    assert "a setting is missing (AMAP_MAPS_API_KEY)" in visitor.words


def way(visitor: Visitor, start: str, end: str, means: str = "") -> Visitor:
    visitor.at.text_input(key="places_from").set_value(start)
    visitor.at.text_input(key="places_to").set_value(end)
    visitor.at.selectbox(key="places_means").set_value(means)
    return visitor.press("places_go")


@pytest.mark.slow
def test_a_way_is_drawn_and_listed_with_its_steps(visit: Visit, amap: FakeAmap) -> None:
    visitor = way(visit("places"), "王府井", "故宫博物院")
    assert amap.paths() == ["v3/geocode/geo"] * 2 + ["v3/direction/walking"]
    assert names(visitor) == ["王府井", "故宫博物院"]
    (line,) = ways(visitor)
    assert line == "Walking: 王府井 → 故宫博物院 · 1.8 km · 24 min"
    assert "1. 沿东长安街向西直行\n2. 右转进入南池子大街" in [item.value for item in visitor.at.markdown]
    assert '"means":"walking","direct":false' in drawn(visitor)


def test_the_means_that_is_chosen_is_asked_for(visit: Visit, amap: FakeAmap) -> None:
    visitor = way(visit("places"), "39.91683, 116.39095", "王府井", "bicycling")
    assert amap.paths() == ["v3/geocode/geo", "v4/direction/bicycling"]
    assert ways(visitor)[0].startswith("Cycling: 39.91683, 116.39095 → 王府井")


def test_the_sample_says_that_it_knows_no_ways(visit: Visit) -> None:
    visitor = way(visit("places"), "王府井", "故宫博物院")
    (line,) = ways(visitor)
    assert line.startswith(":material/straighten: Straight line")
    assert "a setting is missing (AMAP_MAPS_API_KEY)" in visitor.words


def test_a_round_goes_through_its_stops(visit: Visit, amap: FakeAmap) -> None:
    visitor = visit("places")
    visitor.at.text_input(key="places_round").set_value("北京")
    visitor.at.text_input(key="places_stops").set_value("故宫博物院、中国国家博物馆，皇城根遗址公园")
    visitor = visitor.press("places_round_go")
    assert names(visitor) == ["故宫博物院", "皇城根遗址公园", "中国国家博物馆"]
    assert len(ways(visitor)) == 2
    assert '"ordered":true' in drawn(visitor)


def test_a_click_on_the_map_sets_the_centre_and_says_so(visit: Visit) -> None:
    visitor = visit("places")
    assert english("places.click") in visitor.words
    state = {
        "picked": "",
        "turn": 0,
        "since": 0,
        "ticked": set(),
        "clicked": Point(116.40465, 39.91011),
    }
    visitor.at.session_state["on_map_all"] = state
    visitor = visitor.look()
    where = "39.910110, 116.404650"
    assert visitor.at.text_input(key="places_where").value == where
    assert english("places.pinned", at=where) in visitor.words
    assert f'39.91011,116.40465,1000,"{english("places.centre")} · 1 km"' in drawn(visitor)
    visitor = visitor.press("places_search")
    assert "Beijing apm 北京apm" in names(visitor)
    visitor = search(visitor, "西湖")
    assert english("places.click") in visitor.words


def test_where_was_clicked_has_the_ring_of_what_was_searched_and_no_other(visit: Visit) -> None:
    visitor = visit("places")
    at = Point(116.41, 39.9145)
    state = {"picked": "", "turn": 0, "since": 0, "ticked": set(), "clicked": at}
    visitor.at.session_state["on_map_all"] = state
    visitor = visitor.look()
    assert "1 km" in drawn(visitor)
    visitor.at.text_input(key="places_what").set_value("博物馆")
    visitor = visitor.press("places_search")
    assert "the search was widened to 2.5 km" in visitor.words
    assert "2.5 km" in drawn(visitor) and "· 1 km" not in drawn(visitor)
    visitor.at.select_slider(key="places_radius").set_value(3000)
    assert "· 3 km" in drawn(visitor.press("places_search"))


def test_the_files_are_of_what_is_selected_or_else_shown(folder: Path, visit: Visit) -> None:
    known(folder, *(place(n) for n in range(3)))
    visitor = visit("places")
    assert english("places.export_shown", n=3) in visitor.words
    keys = {"download_geojson_all", "download_kml_all", "download_csv_all", "download_html_all"}
    assert keys <= {button.key for button in visitor.at.get("download_button")}
    assert english("places.export_chosen", n=1) in select(visitor, "Place 1").words


def test_the_places_of_others_are_not_shown(folder: Path, visit: Visit) -> None:
    known(folder, place(1, name="Theirs"), owner="somebody")
    visitor = visit("places")
    assert english("places.empty") in visitor.words
    assert "Theirs" not in names(visitor)


def report_page() -> None:
    import streamlit as st

    from pages.shared import place_map as maps

    maps.draw_report(st.session_state.report)


@pytest.mark.slow
def test_a_report_draws_its_places_with_their_centres_and_files(folder: Path) -> None:
    run = get_application().runs.start("王府井附近有什么博物馆？", options=RunOptions(sources=("places",)))
    while get_application().runs.get_run(run.id).is_active:  # type: ignore[union-attr]
        time.sleep(0.05)
    report = get_application().runs.report(run.id)
    assert report
    at = AppTest.from_function(report_page, default_timeout=30)
    at.session_state.report = report
    at.run()
    assert [problem.message for problem in at.exception] == []
    told = json.loads(at.get("bidi_component")[0].proto.json)
    found = {place_text.display_name(item.place, "en") for item in report.evidence if item.place}
    assert {row[1] for row in told["rows"]} == found != set()
    frame = json.loads(at.get("component_instance")[0].proto.json_args)
    assert "王府井 · " in frame["feature_group"]
    assert frame["returned_objects"] == []
    assert len(at.get("download_button")) == 4
    at.session_state.report = report.model_copy(update={"findings": ()})
    at.run()
    assert not at.get("bidi_component")
    assert len(at.get("component_instance")) == 0


@pytest.mark.slow
def test_five_thousand_places_are_all_there_and_can_be_narrowed(folder: Path, visit: Visit) -> None:
    known(folder, *(place(n) for n in range(MANY)))
    visitor = visit("places")
    assert len(names(visitor)) == MANY
    visitor.at.text_input(key="places_text").set_value(f"place {MANY - 1}")
    visitor.look()
    assert names(visitor) == [f"Place {MANY - 1}"]


def test_the_page_is_chinese_for_a_chinese_visitor(folder: Path, visit: Visit) -> None:
    known(folder, place(1), place(2))
    visitor = select(visit("places", locale="zh-CN"), "Place 1", "Place 2")
    assert WORDS["places.compare"][0] in visitor.words
    assert lists(visitor)[0]["words"]["list"] == WORDS["map.list"][0]


# Coordinates as they are typed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("39.9151, 116.4039", (116.4039, 39.9151)),
        ("39.9151，116.4039", (116.4039, 39.9151)),
        ("39.9151 116.4039", (116.4039, 39.9151)),
        ("(39.9151, 116.4039)", (116.4039, 39.9151)),
        ("116.4039, 39.9151", (116.4039, 39.9151)),
        ("-33.8568, 151.2153", (151.2153, -33.8568)),
        ("39.9°, 116.4°", (116.4, 39.9)),
        ("200, 300", None),
        ("39.9151", None),
        ("王府井", None),
        ("1,2,3", None),
        ("39.9, 116.4 号", None),
        ("", None),
    ],
)
def test_coordinates_are_read_in_the_ways_people_write_them(
    folder: Path, text: str, found: tuple[float, float] | None
) -> None:
    assert place_text.parse_coordinates(text) == found
