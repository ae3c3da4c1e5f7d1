"""The map in Chromium: places and list select each other, names stay names, nobody is asked."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pages.shared.map_content import MAX_DETAILED_PLACES
from pages.shared.place_files import build_html_map
from research import Evidence, RecordedPlace
from research.storage.store import Store
from tests.catalogue import WORDS
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched
from tests.pages.test_map import HOSTILE, NOW, WANGFUJING, hostile, seen
from tests.servers.amap import FakeAmap

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
FRAME = 'iframe[title="streamlit_folium.st_folium"]'
NORMAL = ".sl-pin:not(.sl-picked)"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PWNED = "window.__pwn !== undefined"
TWINS = [
    seen(
        n,
        f"https://www.amap.com/place/p{n}",
        name="同名小馆",
        category="food",
        address=f"{n}号",
        lng=116.40 + n / 200,
        lat=39.91,
    )
    for n in range(6)
]

Serve = Callable[..., Server]
Watch = Callable[..., Watched]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Serve]:
    """Starts servers whose visitor has found these places already, the first one last."""
    made: list[Server] = []

    def make(found: Iterable[RecordedPlace], tiles: str = "off") -> Server:
        folder = tmp_path_factory.mktemp("map") / "data"
        folder.mkdir()
        (folder / "library.db").write_bytes(indexed.read_bytes())
        store = Store(folder / "runs.db")
        store.add_evidence(store.place_registry("local"), map(evidence, found, range(10**9)))
        store.close()
        made.append(Server(folder, MAP_TILES=tiles).start())
        return made[-1]

    yield make
    for server in made:
        server.kill()


@pytest.fixture(scope="module")
def twins(serve: Serve) -> Server:
    return serve(TWINS)


@pytest.fixture(scope="module")
def crooked(serve: Serve) -> Server:
    """A server with a place for each hostile text."""
    return serve(hostile(n, text) for n, text in enumerate(HOSTILE))


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    made: list[tuple[Watched, bool]] = []

    def make(server: Server, *, strict: bool = True, **options: Any) -> Watched:
        made.append((Watched(browser, server, **options), strict))
        return made[-1][0]

    yield make
    for watched, strict in made:
        watched.context.close()
        if strict:
            watched.check()


def evidence(item: RecordedPlace, n: int) -> Evidence:
    place = item.place
    return Evidence(
        id=f"e{n}", kind="place", title=place.name, url=item.url, place=place,
        retrieved=NOW - timedelta(seconds=n),
    )  # fmt: skip


def opened(watched: Watched, pins: str = NORMAL) -> tuple[Page, Frame]:
    """The Places page with its map drawn."""
    page = watched.open("/places")
    page.on("pageerror", lambda error: watched.problems.append(str(error)))
    page.wait_for_selector(FRAME)
    frame = page.locator(FRAME).first.element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector(pins)
    page.wait_for_timeout(300)
    return page, frame


def row(page: Page, n: int) -> Any:
    """The row of a number, scrolled to."""
    page.evaluate("n => { document.querySelector('.sl-list').scrollTop = (n - 2) * 54 }", n)
    return page.locator(f'.sl-place[data-n="{n}"]')


def balloon(frame: Frame) -> str:
    frame.wait_for_selector(".sl-balloon")
    return frame.locator(".sl-balloon strong bdi").text_content() or ""


# Each selects in the other


def test_a_row_moves_the_map_to_its_place_and_leaves_the_zoom(watch: Watch, twins: Server) -> None:
    page, frame = opened(watch(twins))
    frame.evaluate("window.__same = true")
    frame.locator(".leaflet-control-zoom-in").click()
    page.wait_for_timeout(600)
    zoom = frame.evaluate("map.getZoom()")
    for n in (5, 2):
        row(page, n).click()
        settled(page)
        frame.wait_for_function("n => map.sightline.ring?.sightline === n", arg=n)
        page.wait_for_timeout(600)
        assert frame.evaluate("map.getZoom()") == zoom
        centre = frame.evaluate("[map.getCenter().lng, map.getCenter().lat]")
        assert centre == pytest.approx([TWINS[n - 1].place.lng, 39.91], abs=1e-4)
        assert frame.locator(".sl-balloon strong").text_content() == f"{n} 同名小馆"
        assert page.locator('.sl-place[aria-current="true"]').get_attribute("data-n") == str(n)
    assert frame.evaluate("window.__same"), "the frame was not loaded anew"
    assert page.locator(FRAME).count() == 1


def test_a_marker_selects_its_row_among_places_of_one_name(watch: Watch, twins: Server) -> None:
    page, frame = opened(watch(twins))
    frame.evaluate("window.__same = true")
    for n in (4, 6, 4):
        frame.locator(f'{NORMAL}[aria-label="{n} 同名小馆"]').click()
        page.wait_for_selector(f'.sl-place[aria-current="true"][data-n="{n}"]')
        page.locator(".st-key-card_all").get_by_text(f"Address: {n - 1}号").wait_for()
        settled(page)
        assert balloon(frame) == "同名小馆", "the balloon is still open after the rerun"
        assert frame.locator(".leaflet-popup").count() == 1
    assert frame.evaluate("window.__same")


def test_the_numbers_on_the_map_are_those_of_the_list_in_any_order(watch: Watch, twins: Server) -> None:
    page, frame = opened(watch(twins))
    row(page, 1).click()
    settled(page)
    page.locator(".st-key-sort_all").get_by_role("combobox").click()
    page.get_by_role("option", name=WORDS["map.sort.name"][1]).click()
    settled(page)
    assert frame.locator(NORMAL).count() == len(TWINS)
    listed = page.locator(".sl-number").all_inner_texts()
    pinned = frame.locator(f"{NORMAL} .sl-dot").all_inner_texts()
    assert sorted(pinned) == listed == [str(n) for n in range(1, 7)]


def test_the_list_is_walked_by_keys(watch: Watch, twins: Server) -> None:
    page, frame = opened(watch(twins))
    row(page, 1).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    settled(page)
    page.wait_for_selector('.sl-place[aria-current="true"][data-n="3"]')
    assert page.evaluate("document.activeElement.dataset.n") == "3"
    assert balloon(frame) == "同名小馆"


def test_boxes_select_for_the_table_and_the_day(watch: Watch, twins: Server) -> None:
    page, _ = opened(watch(twins))
    for n in (1, 3):
        page.locator(f'.sl-row:has([data-n="{n}"]) input').click()
        settled(page)
    page.get_by_text("2 selected", exact=True).wait_for()
    assert page.locator("table").first.locator("th").all_inner_texts()[1:] == ["同名小馆"] * 2
    page.locator(".st-key-places_day button").click()
    page.locator(".st-key-files_day").wait_for()
    way = page.locator(FRAME).nth(1).element_handle().content_frame()
    assert way is not None
    way.wait_for_selector("path.sl-way", state="attached")
    assert way.locator(f"{NORMAL} .sl-dot").all_inner_texts() == ["1", "2"]


# Names stay names


def test_hostile_names_are_shown_as_they_are_and_never_run(watch: Watch, crooked: Server) -> None:
    page, frame = opened(watch(crooked))
    for n, name in enumerate(HOSTILE, start=1):
        button = row(page, n)
        assert button.locator(".sl-title").text_content() == name
        button.click()
        frame.wait_for_function("n => map.sightline.popup.place === n", arg=n)
        assert balloon(frame) == name
        assert frame.locator(".sl-balloon :not(div, strong, bdi, a)").count() == 0
        assert frame.locator('.sl-balloon a[href]:not([href^="http"])').count() == 0
    settled(page)
    names = frame.locator(f"{NORMAL} .sl-name").evaluate_all("all => all.map(e => e.textContent)")
    assert len(names) > 30
    assert set(names) <= set(HOSTILE)
    card = page.locator(".st-key-card_all")
    assert " ".join(HOSTILE[-1].split()) in card.inner_text()
    assert card.locator("img, script, svg[onload], iframe").count() == 0
    assert [f.url for f in page.frames if f.evaluate(PWNED)] == []


def test_hostile_names_are_not_run_by_the_pointer_either(watch: Watch, crooked: Server) -> None:
    page, frame = opened(watch(crooked))
    for pin in frame.locator(NORMAL).all()[:12]:
        pin.hover(force=True)
        shown = frame.locator(".sl-tip bdi").first
        shown.wait_for()
        assert shown.text_content() in HOSTILE
    assert [f.url for f in page.frames if f.evaluate(PWNED)] == []


def test_hostile_names_are_as_harmless_among_many(watch: Watch, serve: Serve) -> None:
    found = [hostile(n % len(HOSTILE), HOSTILE[n % len(HOSTILE)]) for n in range(MAX_DETAILED_PLACES + 20)]
    found = [
        RecordedPlace(
            place=item.place.model_copy(update={"id": f"p{n}"}),
            url=f"https://www.amap.com/place/p{n}",
            retrieved=NOW,
        )
        for n, item in enumerate(found)
    ]
    page, frame = opened(watch(serve(found)), ".sl-cluster")
    assert frame.evaluate("map.sightline.data.points[0].length") == 5
    for n in range(1, len(HOSTILE) + 1):
        row(page, n).click()
        frame.wait_for_function("n => map.sightline.popup.place === n", arg=n)
        assert balloon(frame) == HOSTILE[n - 1]
        settled(page)
    frame.wait_for_function("document.querySelectorAll('.sl-balloon div').length > 3")
    assert [f.url for f in page.frames if f.evaluate(PWNED)] == []


# Tiles


def test_tiles_know_the_site_that_asks_and_amaps_have_their_points(watch: Watch, serve: Serve) -> None:
    server = serve(TWINS, "osm")
    watched = watch(server, strict=False)
    asked: list[tuple[str, str]] = []

    def answer(route: Any) -> None:
        asked.append((route.request.url, route.request.all_headers().get("referer", "")))
        route.fulfill(body=PIXEL, content_type="image/png")

    watched.context.route(re.compile("openstreetmap|autonavi"), answer)
    page, frame = opened(watched)
    frame.wait_for_selector("img.leaflet-tile-loaded")
    assert {url.split("/")[2] for url, _ in asked} == {"tile.openstreetmap.org"}
    assert {referer for _, referer in asked} == {f"{server.url}/"}
    assert "OpenStreetMap" in frame.locator(".leaflet-control-attribution").inner_text()
    centre = frame.evaluate("[map.getCenter().lng, map.getCenter().lat]")
    pins = "[0, 1].map(n => map.sightline.data.points[n].slice(0, 2))"
    assert frame.evaluate(pins)[0] == [39.91, TWINS[0].place.lng]
    asked.clear()
    page.get_by_text("Amap", exact=True).click()
    frame.wait_for_function("map.sightline.data.tiles?.url.includes('autonavi')")
    frame.wait_for_selector("img.leaflet-tile-loaded")
    settled(page)
    assert {url.split("/")[2].partition(".")[2] for url, _ in asked} == {"is.autonavi.com"}
    assert all(url.startswith("https://") for url, _ in asked)
    lat, lng = frame.evaluate(pins)[0]
    assert (lng - TWINS[0].place.lng) * 85_300 == pytest.approx(533, abs=15)
    assert (lat - 39.91) * 111_000 == pytest.approx(155, abs=15)
    assert frame.evaluate("[map.getCenter().lng, map.getCenter().lat]") == centre
    page.get_by_text("No base map", exact=True).click()
    frame.wait_for_function("map.sightline.data.tiles === null")
    assert frame.locator("img.leaflet-tile").count() == 0
    assert watched.problems == []


def test_without_tiles_there_are_markers_names_and_a_scale(watch: Watch, twins: Server) -> None:
    page, frame = opened(watch(twins))
    assert page.get_by_text("OpenStreetMap").count() == 0
    assert re.fullmatch(r"\d+ k?m", frame.locator(".leaflet-control-scale-line").first.inner_text())
    assert frame.locator(".sl-name:not(.sl-covered)").first.inner_text() == "同名小馆"
    assert frame.locator("img").count() == 0


# Size


def test_on_a_narrow_screen_the_list_is_below_the_map(watch: Watch, twins: Server) -> None:
    page, _ = opened(watch(twins, viewport={"width": 390, "height": 800}))
    map_, list_ = page.locator(FRAME).bounding_box(), page.locator(".sl-list").bounding_box()
    assert map_ and list_
    assert list_["y"] >= map_["y"] + map_["height"]
    assert map_["width"] > 330
    assert list_["width"] > 330
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_beside_each_other_on_a_wide_one(watch: Watch, twins: Server) -> None:
    page, _ = opened(watch(twins, viewport={"width": 1440, "height": 900}))
    map_, list_ = page.locator(FRAME).bounding_box(), page.locator(".sl-list").bounding_box()
    assert map_ and list_
    assert list_["x"] >= map_["x"] + map_["width"]
    assert abs(list_["y"] - map_["y"]) < 5


# The map as a file


@pytest.mark.parametrize(
    ("question", "sight"),
    [("王府井附近适合遛娃的好去处", "距王府井约"), ("Where can I take kids near Wangfujing?", "from Wangfujing")],
    ids=["chinese", "english"],
)  # fmt: skip
def test_a_question_for_places_ends_as_a_cited_answer_beside_a_map(
    watch: Watch, serve: Serve, question: str, sight: str
) -> None:
    page = watch(serve(())).open()
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-start button").click()
    page.wait_for_selector(FRAME)
    frame = page.locator(FRAME).first.element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector(NORMAL)
    rows = page.locator(".sl-place").count()
    assert rows >= 5
    quotes = page.locator(".sl-quote").all_inner_texts()
    assert len(quotes) == rows and all(sight in quote for quote in quotes)
    page.locator(".sl-quote button").first.click()
    assert "POI Sightline 离线示例" in page.locator(".sl-passage:visible").inner_text()
    answer, map_ = page.locator(".sl-answer").bounding_box(), page.locator(FRAME).bounding_box()
    assert answer and map_ and map_["x"] > answer["x"] + answer["width"] - 1


# Ways and clicks


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with Amap behind it, whose visitor has found nothing yet."""
    with FakeAmap() as fake:
        folder = tmp_path_factory.mktemp("ways") / "data"
        folder.mkdir()
        server = Server(folder, AMAP_MAPS_API_KEY="a-key-0123", AMAP_BASE_URL=fake.base_url)
        yield server.start()
        server.kill()


PAINTED = """() => Object.fromEntries([...document.querySelectorAll('path')].map((path) => {
  const style = getComputedStyle(path);
  return [path.getAttribute('class').split(' ')[1] || path.getAttribute('class').split(' ')[0],
    [style.strokeDasharray, style.stroke, path.getTotalLength() > 100]];
}))"""


def test_a_click_on_the_map_is_the_centre_of_the_next_search(watch: Watch, online: Server) -> None:
    page, frame = opened(watch(online))
    assert WORDS["places.click"][1] in page.locator("body").inner_text()
    centre = frame.evaluate("[map.getCenter().lat, map.getCenter().lng, map.getZoom()]")
    box = page.locator(FRAME).bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 60)
    told = page.get_by_text("Centre set to the point you clicked")
    told.wait_for()
    settled(page)
    field = page.locator(".st-key-places_where input")
    lat, lng = map(float, field.input_value().split(","))
    assert lat < centre[0]
    assert lng == pytest.approx(centre[1], abs=0.01)
    assert field.input_value() in told.inner_text()
    frame.wait_for_selector(".sl-circle")
    assert frame.evaluate("[map.getCenter().lat, map.getCenter().lng, map.getZoom()]") == centre


def test_a_way_is_drawn_along_its_line_in_the_pattern_of_its_means(watch: Watch, online: Server) -> None:
    page, _ = opened(watch(online))
    patterns = {}
    for means in ("walking", "driving", "bicycling", "transit"):
        words = WORDS[f"map.{means}"][1]
        page.get_by_role("tab").nth(1).click()
        page.locator(".st-key-places_from input").fill("王府井")
        page.locator(".st-key-places_to input").fill("故宫博物院")
        page.locator(".st-key-places_means input").click()
        page.get_by_role("option", name=words, exact=True).click()
        page.locator(".st-key-places_go button").click()
        settled(page)
        frame = page.locator(FRAME).first.element_handle().content_frame()
        assert frame is not None
        frame.wait_for_selector(f".sl-{means}")
        settled(page)
        painted = frame.evaluate(PAINTED)
        assert painted[f"sl-{means}"][2]
        patterns[means] = (painted[f"sl-{means}"][0], "sl-sleepers" in painted)
        (label,) = frame.locator(".sl-length").all_inner_texts()
        assert label.startswith(words)
    assert len(set(patterns.values())) == 4, "not told apart by colour alone"


def test_the_file_works_from_a_disk_and_asks_nobody(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "map.html"
    found = [hostile(n, text) for n, text in enumerate(HOSTILE)]
    made = build_html_map(found, (WANGFUJING,), "".join(HOSTILE), "zh")
    path.write_text(made, encoding="utf-8")
    context = browser.new_context()
    asked: list[str] = []
    problems: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: problems.append(message.text))
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(NORMAL)
    for n, name in enumerate(HOSTILE, start=1):
        row(page, n).click()
        page.wait_for_function("n => document.querySelector('.sl-picked .sl-dot')?.textContent == n", arg=n)
        assert page.locator(".sl-balloon strong bdi").text_content() == name
    page.locator(NORMAL).first.click(force=True)
    marked = page.locator('.sl-place[aria-current="true"]')
    assert marked.get_attribute("data-n") == page.locator(".sl-picked .sl-dot").inner_text()
    assert page.locator(".leaflet-control-scale").is_visible()
    assert not page.evaluate(PWNED)
    assert asked == [path.as_uri()]
    assert problems == []
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => {})")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.__pwn=1>')")
    page.wait_for_timeout(200)
    assert not page.evaluate(PWNED), "its policy stands behind it"
    context.close()


def test_places_of_openstreetmap_credit_it_on_the_map_without_any_tiles(watch: Watch, serve: Serve) -> None:
    """With the link to the licence, and as text: a hostile name beside it runs nothing."""
    found = [
        seen(n, f"https://www.openstreetmap.org/node/{n + 1}", provider="osm", name=name, lng=135.7 + n / 100, lat=35.0)
        for n, name in enumerate(("清水寺", '<img src=x onerror="window.__pwn=1">'))
    ]  # fmt: skip
    page, frame = opened(watch(serve(found)))
    credit = frame.locator('.leaflet-control-attribution a[href="https://www.openstreetmap.org/copyright"]')
    assert credit.is_visible()
    assert "© OpenStreetMap contributors" in frame.locator(".leaflet-control-attribution").inner_text()
    assert not frame.evaluate(PWNED) and not page.evaluate(PWNED)


def test_places_of_others_credit_nobody_without_tiles(watch: Watch, twins: Server) -> None:
    _, frame = opened(watch(twins))
    assert "OpenStreetMap" not in frame.locator(".leaflet-control-attribution").inner_text()
