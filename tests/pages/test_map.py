"""What is drawn on a map: where, under which number, and that texts from outside stay texts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import folium
import pytest
from folium.plugins import FastMarkerCluster, MarkerCluster
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html
from streamlit_folium import _get_feature_group_string

from pages.shared import map_content, place_files, place_text
from pages.shared import place_map as maps
from pages.shared.localization import create_translator
from pages.shared.paths import ASSETS_FOLDER
from research import Place, Point, RecordedPlace, SearchArea
from research.core.coordinates import distance_metres
from tests.catalogue import WORDS
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
WANGFUJING = SearchArea(name="王府井", lng=116.40465, lat=39.91011, radius=3000)
HOSTILE = [
    "${window.__pwn=1}",
    "`${window.__pwn=1}`",
    "`;window.__pwn=1;//",
    "\\`${window.__pwn=1}",
    "<img src=x onerror=window.__pwn=1>",
    "<svg onload=window.__pwn=1>",
    "</script><script>window.__pwn=1</script>",
    "<script>window.__pwn=1</script>",
    "<!--<script>window.__pwn=1",
    "]]><script>window.__pwn=1</script>",
    "<iframe srcdoc='<script>parent.__pwn=1</script>'>",
    "<a href=javascript:window.__pwn=1>x</a>",
    "<style>*{display:none}</style>",
    "<b onmouseover=window.__pwn=1>名</b>",
    "&lt;img src=x onerror=window.__pwn=1&gt;",
    "&#60;img src=x onerror=window.__pwn=1&#62;",
    "\"';window.__pwn=1;//",
    '"><img src=x onerror=window.__pwn=1>',
    "'-(window.__pwn=1)-'",
    '\\"};window.__pwn=1;//',
    "\\u003cimg src=x onerror=window.__pwn=1\\u003e",
    "\\",
    "a\\nb\\",
    "行一\n行二\r\n行三",
    "a\u2028b\u2029c",
    "\u202egnp.exe\u202c名",
    "\u2067\u202e反\u2069",
    "{{ 7*7 }}{% raw %}{{'window'}}",
    "{{'__pwn'}}",
    "{% for x in [1] %}{{ x }}{% endfor %}",
    "{# nothing #}",
    "{{{% raw",
    "alert(coords);",
    "map_div feature_group_0 _0123abcd map_div2",
    "__proto__",
    "constructor",
    "[x](javascript:window.__pwn=1) ![x](http://127.0.0.1:9/p.png) :red[y] $1$",
    "<%= window.__pwn=1 %> #{window.__pwn=1}",
    "%3Cscript%3Ewindow.__pwn=1%3C/script%3E",
    "🎉<🎉>‮",
]


def place(n: int = 0, **known: Any) -> Place:
    base = {
        "id": f"p{n}",
        "name": f"地点 {n}",
        "lng": 116.4 + n / 1000,
        "lat": 39.9,
        "provider": "amap",
    }
    return Place(**(base | known))


def seen(n: int = 0, url: str = "", **known: Any) -> RecordedPlace:
    return RecordedPlace(place=place(n, **known), url=url, retrieved=NOW)


def hostile(n: int, text: str) -> RecordedPlace:
    """A place with the same text wherever one can stand."""
    return seen(
        n, text, name=text, type=text, address=text, district=text, city=text, hours=text,
        phone=text, category=text, photos=(text, f"javascript:{text}"),
        lng=116.38 + n % 6 / 100, lat=39.88 + n // 6 / 100,
    )  # fmt: skip


def drawn(*found: RecordedPlace, **known: Any) -> map_content.MapContent:
    return map_content.MapContent(tuple(found), language="en", **known)


def points(found: dict[str, Any]) -> list[list[Any]]:
    return list(found["points"])


# Numbers, positions, words


def test_the_numbers_of_the_map_are_those_of_the_list() -> None:
    one = drawn(*(seen(n) for n in range(5)))
    assert [point[3] for point in points(one.data)] == [row[1] for row in one.list_rows]
    assert [one.place_number(item.place.id) for item in one.recorded_places] == [1, 2, 3, 4, 5]
    assert one.place_number("nowhere") == 0


def test_the_points_are_in_the_system_of_the_tiles_that_lie_under_them() -> None:
    spot = seen(lng=WANGFUJING.lng, lat=WANGFUJING.lat)

    def shift(base: map_content.BaseMap) -> list[float]:
        data = drawn(spot, search_areas=(WANGFUJING,), base_map=base).data
        at = [data["points"][0], data["circles"][0]]
        return [distance_metres(Point(lng, lat), Point(WANGFUJING.lng, WANGFUJING.lat)) for lat, lng, *_ in at]

    assert shift("none") == shift("osm") == [0, 0]
    assert shift("amap") == pytest.approx([555, 555], abs=15)


def test_tiles_come_only_where_they_are_wanted_and_over_https() -> None:
    assert drawn(seen()).data["tiles"] is None
    for base in ("osm", "amap"):
        tiles = drawn(seen(), base_map=base).data["tiles"]
        assert tiles["url"].startswith("https://")
        assert tiles["attribution"]


def test_the_view_moves_only_for_other_places() -> None:
    few, same = drawn(seen(1), seen(2)), drawn(seen(2), seen(1), base_map="amap")
    assert few.data["view"] == same.data["view"]
    assert few.digest != same.digest
    assert few.data["view"] != drawn(seen(1)).data["view"]


def test_many_places_are_drawn_without_their_details() -> None:
    assert len(points(drawn(*map(seen, range(map_content.MAX_DETAILED_PLACES))).data)[0]) == 7
    assert len(points(drawn(*map(seen, range(map_content.MAX_DETAILED_PLACES + 1))).data)[0]) == 5


def test_a_balloon_says_what_is_known() -> None:
    full = place(
        category="food", type="餐饮服务;中餐厅;北京菜", address="王府井大街1号", district="东城区", city="北京市",
        distance=1234, rating=4.6, cost=60.0, hours="09:00-21:00", phone="010-1", sample=True,
    )  # fmt: skip
    assert place_text.detail_lines(full, "zh") == [
        "餐饮 · 北京菜", "★ 4.6 · 人均 ¥60 · 1.2 km", "地址：北京市 东城区 王府井大街1号", "营业时间：09:00-21:00",
        "电话：010-1", WORDS["map.sample_note"][0],
    ]  # fmt: skip
    assert place_text.summary_line(full, create_translator("en")) == "Food · ★ 4.6 · ¥60 per person · 1.2 km · Sample"
    assert place_text.detail_lines(place(rating=float("nan"), cost=float("inf")), "en") == ["Other"]


@each_row(
    ("metres_", "shown"),
    [(None, ""), (0, "0 m"), (999, "999 m"), (1000, "1 km"), (2540, "2.5 km")],
)
def test_distances_are_written_as_people_do(metres_: int | None, shown: str) -> None:
    assert place_text.format_distance(metres_) == shown


@each_row(
    ("url", "good"),
    [
        ("https://www.amap.com/place/B000A", True),
        ("http://store.is.autonavi.com/x.jpg?a=1", True),
        ("javascript:window.__pwn=1", False),
        ("data:text/html,x", False),
        ("//evil.example/x", False),
        ("https:///x", False),
        ("https://a b/", False),
        ("https://a\\@b/", False),
        ("java\nscript:x", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_only_addresses_on_the_web_become_links(url: str, good: bool) -> None:
    found = seen(url=url, photos=(url,))
    assert len(place_text.place_links(found, create_translator("en"))) == (2 if good else 0)


def test_what_is_not_known_comes_last_in_any_order() -> None:
    found = [
        place(0),
        place(1, rating=3.0, cost=5.0, distance=9),
        place(2, rating=4.0, cost=9.0, distance=1),
    ]

    def order(by: str) -> list[str]:
        return [item.id for item in sorted(found, key=lambda item: maps._sort_key(item, by))]

    assert order("given") == ["p0", "p1", "p2"]
    assert order("rating") == ["p2", "p1", "p0"]
    assert order("cost") == ["p1", "p2", "p0"]
    assert order("distance") == ["p2", "p1", "p0"]


# Clicks


def test_a_click_picks_the_place_of_its_number() -> None:
    one, state = drawn(seen(1), seen(2)), {"picked": "", "turn": 0}
    maps._handle_map_event({"n": 2, "of": one.digest, "turn": 7}, one, state)
    assert state == {"picked": "p2", "turn": 7, "since": 7}


def test_where_a_table_follows_the_map_a_click_runs_the_whole_page_again() -> None:
    one, state = drawn(seen(1)), {"picked": "", "turn": 0, "linked": True}
    maps._handle_map_event({"n": 1, "of": one.digest, "turn": 7}, one, state)
    assert state["rerun"]


@each_row(
    "told",
    [None, "x", {}, {"n": 2, "of": "other", "turn": 7}, {"n": 3, "of": "x", "turn": 7},
     {"n": 0, "of": "x", "turn": 7}, {"n": "2", "of": "x", "turn": 7}, {"n": 2, "of": "x", "turn": None}],
)  # fmt: skip
def test_a_click_that_means_nothing_here_changes_nothing(told: Any) -> None:
    one, state = drawn(seen(1), seen(2)), {"picked": "p1", "turn": 1}
    if isinstance(told, dict) and told.get("of") == "x":
        told["of"] = one.digest
    maps._handle_map_event(told, one, state)
    assert state == {"picked": "p1", "turn": 1}


def test_boxes_say_nothing_about_places_that_are_not_in_the_list() -> None:
    marked = {"p1", "elsewhere"}
    maps._update_checked(marked, drawn(seen(1), seen(2)), [2, 99, "x", None])
    assert marked == {"p2", "elsewhere"}


# What reaches the browser


@each_row("text", HOSTILE)
def test_json_in_a_script_is_what_it_was(text: str) -> None:
    made = map_content.encode_script_json({"x": [text, {"y": text}]})
    assert json.loads(made) == {"x": [text, {"y": text}]}
    assert not re.search("[<>&_\u2028\u2029]|\\{[{%#]", made)


@given(st.text())
def test_any_text_comes_back_from_json_in_a_script(text: str) -> None:
    assert json.loads(map_content.encode_script_json([text])) == [text]


def test_half_a_surrogate_pair_breaks_nothing() -> None:
    assert json.loads(map_content.encode_script_json(["a\ud800b"])) == ["a?b"]


def test_the_frame_gets_every_text_unchanged() -> None:
    """Through folium's templates and streamlit-folium's rewriting of names."""
    one = drawn(*(hostile(n, text) for n, text in enumerate(HOSTILE)), base_map="osm")
    source = _get_feature_group_string(
        map_content.create_layer(one, {"n": 1, "lines": HOSTILE}), map_content.create_empty_map()
    )
    (call,) = re.findall(r"sightline\.show\(window\.map, (.*)\);", source)
    decoder = json.JSONDecoder()
    told, end = decoder.raw_decode(call)
    picked, _ = decoder.raw_decode(call[end + 2 :])
    assert [point[3] for point in told["points"]] == HOSTILE
    assert picked["lines"] == HOSTILE
    assert told == {"of": one.digest, **json.loads(json.dumps(one.data))}


def test_every_file_of_a_map_lies_among_the_assets() -> None:
    found = map_content.create_empty_map()
    for _, url in [*found.default_js, *found.default_css]:
        assert url.startswith(map_content._ASSETS_URL)
        assert (ASSETS_FOLDER / url.removeprefix(map_content._ASSETS_URL)).is_file()
    assert {path.name for path in (ASSETS_FOLDER / "leaflet").glob("LICENSE*")} == {
        "LICENSE-leaflet.txt", "LICENSE-markercluster.txt",
    }  # fmt: skip


def test_what_is_drawn_loads_nothing_from_elsewhere() -> None:
    found = map_content.create_empty_map()
    found.add_child(map_content.create_layer(drawn(seen()), None))
    assert map_content.require_local_assets(found) is found


@each_row(
    "foreign",
    [folium.Map, MarkerCluster, lambda: FastMarkerCluster([]), lambda: folium.FeatureGroup().add_child(MarkerCluster())],
)  # fmt: skip
def test_an_element_that_loads_something_from_elsewhere_is_refused(foreign: Any) -> None:
    found = map_content.create_empty_map().add_child(foreign())
    with pytest.raises(ValueError, match="loads https://"):
        map_content.require_local_assets(found)


@each_row("url", ["//cdn.example/x.js", "HTTP://x/y.js", "\\\\x\\y.js", "data:text/javascript,1"])
def test_no_spelling_of_another_host_passes(url: str) -> None:
    found = map_content.create_empty_map()
    found.default_js = [("x", url)]
    with pytest.raises(ValueError, match="loads"):
        map_content.require_local_assets(found)


# The map as a file


def page(*found: RecordedPlace, title: str = "王府井的地方", **known: Any) -> str:
    return place_files.build_html_map(found, (WANGFUJING,), title, "zh", **known)


def test_the_file_needs_nothing_and_may_load_nothing() -> None:
    tree = lxml_html.document_fromstring(page(seen(1)))
    assert tree.xpath("//@src | //link | //img | //iframe | //base") == []
    policy = dict(
        part.split(" ", 1)
        for part in tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0].split("; ")
    )
    (script,) = tree.xpath("//script[not(@type)]/text()")
    (style,) = tree.xpath("//style/text()")

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == digest(script)
    assert policy["style-src"] == digest(style)
    assert "url(" not in style
    assert "sourceMappingURL" not in script


def test_the_file_is_in_the_visitors_language_and_keeps_its_chinese() -> None:
    made = page(seen(1, name="故宫博物院"))
    assert '<html lang="zh-CN">' in made
    assert made.count("故宫博物院") == 2  # on the map and in the list
    assert "<title>王府井的地方</title>" in made
    assert '<html lang="en">' in place_files.build_html_map([seen(1)], (), "x", "en")


def test_hostile_texts_are_texts_in_the_file() -> None:
    title = "".join(HOSTILE)
    tree = lxml_html.document_fromstring(page(*(hostile(n, text) for n, text in enumerate(HOSTILE)), title=title))
    assert len(tree.xpath("//script")) == 2
    assert tree.xpath("//h1")[0].text_content() == " ".join(title.split())
    told = json.loads(tree.xpath("//script[@id='data']/text()")[0])
    assert [point[3] for point in told["map"]["points"]] == HOSTILE
    assert told["map"]["tiles"] is None


def test_the_file_leaves_out_what_is_nowhere_and_says_how_many_there_are() -> None:
    made = page(seen(1), seen(2, lat=float("nan")), seen(3, lng=400.0))
    told = json.loads(lxml_html.document_fromstring(made).xpath("//script[@id='data']/text()")[0])
    assert len(told["map"]["points"]) == 1
    assert WORDS["map.html_note"][0].format(n=1) in made


def test_a_map_as_a_file_says_that_its_search_was_widened() -> None:
    wider = WANGFUJING.model_copy(update={"requested_radius": 1000})
    made = place_files.build_html_map([seen(1)], (wider,), "x", "en")
    assert "Nothing within 1 km of 王府井; the search was widened to 3 km." in made


# The headers of the frame

HEADERS = """
import json
from starlette.testclient import TestClient
import app
from pages.middleware import headers

with TestClient(app.app, base_url="http://localhost") as client:
    import streamlit_folium
    told = {path: dict(client.get(path).headers) for path in (
        "/component/streamlit_folium.st_folium/index.html", "/component/streamlit_folium.st_foliumx/",
        "/component/other.thing/index.html", "/", "/places", "/x/component/streamlit_folium.st_folium/")}
print(json.dumps({"told": told, "hosts": headers.TILE_HOSTS}))
"""
FRAME = "/component/streamlit_folium.st_folium/index.html"


def headers(folder: Path, tiles: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", HEADERS],
        cwd=ROOT,
        env={**os.environ, "SIGHTLINE_DATA_DIR": str(folder), "MAP_TILES": tiles},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def with_tiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return headers(tmp_path_factory.mktemp("tiles"), "osm")


def without_scripts_of_text(frame: dict[str, str]) -> str:
    """The policy of a map's frame but for what it alone needs: to run what it is sent as text."""
    assert frame["content-security-policy"].count(" 'unsafe-eval'") == 1
    return frame["content-security-policy"].replace(" 'unsafe-eval'", "")


@pytest.mark.slow
def test_only_the_frame_of_a_map_may_show_tiles_and_says_where_it_is(
    with_tiles: dict[str, Any],
) -> None:
    told = dict(with_tiles["told"])
    frame, strict = told.pop(FRAME), told["/"]["content-security-policy"]
    assert frame["referrer-policy"] == "strict-origin"
    tiles = " ".join(with_tiles["hosts"])
    assert without_scripts_of_text(frame).replace(f" {tiles}", "") == strict
    assert f"img-src {tiles} 'self' data: blob:;" in frame["content-security-policy"]
    for other in told.values():
        assert other["content-security-policy"] == strict
        assert other["referrer-policy"] == "no-referrer"


@pytest.mark.slow
def test_without_tiles_the_frame_is_as_strict_as_the_rest(tmp_path: Path) -> None:
    told = headers(tmp_path, "off")["told"]
    frame, strict = told[FRAME], told["/"]["content-security-policy"]
    assert without_scripts_of_text(frame) == strict
    assert {entry["content-security-policy"] for path, entry in told.items() if path != FRAME} == {strict}
    assert {entry["referrer-policy"] for entry in told.values()} == {"no-referrer"}


@pytest.mark.slow
def test_the_tiles_that_are_drawn_are_those_that_the_frame_may_show(
    with_tiles: dict[str, Any],
) -> None:
    wanted = {
        tile["url"].split("/{")[0].split("/appmaptile")[0].replace("{s}", part)
        for tile in map_content.TILE_LAYERS.values()
        for part in tile.get("subdomains", " ")
    }
    assert set(with_tiles["hosts"]) == wanted
