"""Reports on the news in Chromium: the outline is edited, sections are seen at work, charts are drawn."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import pytest

from pages.run.coverage_charts import TONE_COLORS
from tests.catalogue import WORDS
from tests.pages.conftest import KEY
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched, fits, run_of, started
from tests.servers.news import FakeNewsroom
from tests.servers.openai import FakeOpenAI

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
TOPIC = {"en": "Tourism in China over the holiday", "zh": "国庆假期的旅游市场"}
TITLES = {"en": ["Crowds", "Prices", "Safety"], "zh": ["客流", "价格", "安全"]}
TOOLS = ("search_images_for_news", "deep_search_news", "search_news_last_week")
CHART = '[data-testid="stVegaLiteChart"]'
FRAME = 'iframe[src*="/assets/pictures/"]'
HOSTILE = "<img src=x onerror=window.__pwned=1>"

Watch = Callable[..., Watched]


@pytest.fixture(scope="module")
def newsroom() -> Iterator[FakeNewsroom]:
    with FakeNewsroom() as fake:
        yield fake


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        fake.brain.tools = [{"search_tool": tool} for tool in TOOLS]
        yield fake


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    indexed: Path,
    newsroom: FakeNewsroom,
    model: FakeOpenAI,
) -> Iterator[Server]:
    found = started(
        tmp_path_factory.mktemp("news") / "data",
        indexed,
        ANSWER_MODEL="openai:gpt-fake",
        OPENAI_BASE_URL=model.base_url,
        OPENAI_API_KEY=KEY,
        TAVILY_API_KEY="tvly-0123456789",
        TAVILY_BASE_URL=newsroom.base_url,
    )
    yield found
    found.kill()


@pytest.fixture
def watch(browser: Browser, server: Server) -> Iterator[Watch]:
    """Makes browser contexts; each is checked at the end of the test."""
    made: list[tuple[Watched, bool]] = []

    def make(*, strict: bool = True, **options: Any) -> Watched:
        made.append((Watched(browser, server, **options), strict))
        return made[-1][0]

    yield make
    for reader, strict in made:
        reader.context.close()
        if strict:
            reader.check()


def begin(page: Page, lang: str, model: FakeOpenAI, button: str = "report", about: str = "") -> str:
    """Asks for a report on the news page; returns the run's id. What was searched before comes at
    once: who wants to see the search asks about something else."""
    model.brain.chapters = TITLES[lang]
    page.locator(".st-key-topic textarea").fill(f"{TOPIC[lang]} {about}".strip())
    page.locator(f".st-key-{button} button").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    return run_of(page)


def finish(page: Page) -> None:
    page.wait_for_selector(".sl-answer > *")
    page.wait_for_selector(CHART)
    settled(page)


@pytest.fixture(scope="module")
def reports(browser: Browser, server: Server, model: FakeOpenAI) -> dict[str, str]:
    """A finished report in each language."""
    found = {}
    for lang in TOPIC:
        reader = Watched(browser, server)
        page = reader.open(f"/news?lang={lang}")
        found[lang] = begin(page, lang, model)
        finish(page)
        reader.context.close()
    return found


def table(page: Page) -> Any:
    return page.get_by_test_id("stDataFrame").first


def edit(page: Page, row: int, x: int, text: str) -> None:
    """Types over the cell of a table that lies `x` pixels from its left."""
    table(page).click(position={"x": x, "y": 35 * row + 52})
    page.keyboard.press("Enter")
    page.locator("#portal textarea").fill(text)
    page.keyboard.press("Enter")
    page.locator("#portal textarea").wait_for(state="detached")


def test_an_outline_is_edited_before_anything_is_searched(
    watch: Watch, server: Server, model: FakeOpenAI, newsroom: FakeNewsroom
) -> None:
    page = watch().open("/news")
    run_id = begin(page, "en", model, "outline_first")
    page.locator(f".st-key-approve_{run_id[:8]} button").wait_for()
    settled(page)
    assert server.count("search where run=?", run_id) == 0
    edit(page, 0, 420, "cable cars in the snow")
    settled(page)
    edit(page, 1, 100, "Fares")
    settled(page)
    page.locator(f".st-key-approve_{run_id[:8]} button").click()
    finish(page)
    asked = [asked.body["query"] for asked in newsroom.log if asked.method == "POST"]
    assert "cable cars in the snow" in asked
    (stored,) = server.rows("select plan from answer where run=?", run_id)
    plan = json.loads(stored[0])
    assert plan["outline"]
    assert plan["edited"]
    assert [part["subject"] for part in plan["parts"]] == ["Crowds", "Fares", "Safety"]
    assert [part["id"] for part in plan["parts"]][::2] == ["s1", "s3"]
    headings = page.locator(".sl-answer h3").all_inner_texts()
    assert [name for name in headings if name in ("Crowds", "Fares", "Safety")] == [
        "Crowds", "Fares", "Safety",
    ]  # fmt: skip


@pytest.mark.parametrize("lang", TOPIC)
def test_sections_are_seen_at_work(watch: Watch, model: FakeOpenAI, newsroom: FakeNewsroom, lang: str) -> None:
    page = watch().open(f"/news?lang={lang}")
    newsroom.waits = 1.5
    try:
        begin(page, lang, model, about="(1999)")
        searching = WORDS["section.searching"][lang == "en"]
        for title in TITLES[lang]:
            page.get_by_text(re.compile(f"{title} · {searching}")).first.wait_for()
        summary = page.locator("summary").filter(has_text=TITLES[lang][0]).first
        summary.click()
        step = page.get_by_test_id("stExpander").filter(has=summary).first
        tool = WORDS["tool.search_images_for_news"][lang == "en"]
        step.get_by_text(re.compile(f"{tool}")).first.wait_for()
        finish(page)
    finally:
        newsroom.waits = 0.0


def test_a_report_is_a_page_of_the_news_wherever_its_link_leads(watch: Watch, reports: dict[str, str]) -> None:
    page = watch().open(f"/?run={reports['en']}")
    finish(page)
    assert page.url.partition("?")[0].endswith("/news")
    assert run_of(page) == reports["en"]
    marked = page.locator('[data-testid="stSidebarNavLink"][aria-current="page"]')
    assert WORDS["nav.news"][1] in marked.inner_text()
    page.get_by_test_id("stSidebarNavLink").get_by_text(WORDS["nav.ask"][1], exact=True).click()
    page.locator(".st-key-question textarea").wait_for()
    assert "run=" not in page.url


def marks(page: Page, at: int) -> list[int]:
    """How many marks of a chart have the colour of each tone."""
    chart = page.locator(CHART).nth(at)
    return [chart.locator(f"g.mark-group path[fill='{colour}']").count() for colour in TONE_COLORS]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_the_charts_are_drawn_whatever_the_screen(
    watch: Watch, reports: dict[str, str], scheme: str, width: int
) -> None:
    reader = watch(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = reader.open(f"/?run={reports['zh']}")
    finish(page)
    page.locator(CHART).first.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    for at in (0, 1):
        assert min(marks(page, at)) > 0
        box = page.locator(CHART).nth(at).bounding_box()
        assert box is not None
        assert 0 < box["x"] < box["x"] + box["width"] <= width
    fits(page)
    assert page.evaluate("() => window.__pwned") is None


def test_a_point_of_the_timeline_tells_its_story_as_text(watch: Watch, reports: dict[str, str]) -> None:
    """The headline that is full of marks is the oldest, the first from the left."""
    page = watch().open(f"/?run={reports['en']}")
    finish(page)
    chart = page.locator(CHART).first
    chart.scroll_into_view_if_needed()
    points = chart.locator(".mark-symbol[role='graphics-object'] path").all()
    boxes = [box for point in points if (box := point.bounding_box())]
    first = min(boxes, key=lambda box: box["x"])
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for()
    assert HOSTILE in tip.inner_text()
    assert "evil.example" in tip.inner_text()
    assert tip.locator("img").count() == 0
    assert page.evaluate("() => window.__pwned") is None


def test_a_story_opens_its_pieces_as_links(watch: Watch, reports: dict[str, str]) -> None:
    page = watch().open(f"/?run={reports['en']}")
    finish(page)
    stories = page.locator(f".st-key-stories_{reports['en'][:8]}")
    stories.scroll_into_view_if_needed()
    stories.get_by_test_id("stDataFrame").click(position={"x": 250, "y": 52})
    links = page.get_by_test_id("stMain").locator("li a[href*='/2026/news/']")
    page.get_by_text(re.compile(r"· \d reports?")).first.wait_for()
    targets = [link.get_attribute("href") or "" for link in links.all()]
    assert targets
    assert all(urlsplit(target).hostname.endswith(".example") for target in targets)  # type: ignore[union-attr]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_shown_on_request_and_a_broken_one_breaks_nothing(
    watch: Watch, server: Server, newsroom: FakeNewsroom, reports: dict[str, str], scheme: str
) -> None:
    reader = watch(strict=False, color_scheme=scheme)
    page = reader.open(f"/?run={reports['en']}")
    finish(page)
    newsroom.shown.clear()
    elsewhere = {urlsplit(newsroom.base_url).netloc}
    assert reader.hosts.isdisjoint(elsewhere)
    page.locator('[class*="st-key-pictures_"] label').first.click()
    frame = page.frame_locator(FRAME)
    frame.locator("img").first.wait_for()
    frame.get_by_text(WORDS["coverage.picture_lost"][1]).wait_for()
    assert sorted(newsroom.shown) == ["118277", "3b8fd4", "lost"]
    assert frame.locator("figure").count() == 3
    widths = "all => all.length === 2 && all.every((one) => one.naturalWidth)"
    deadline = time.monotonic() + 10
    while not frame.locator("img").evaluate_all(widths):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    assert "<b>长城</b> ![x](x)" in frame.locator("#strip").inner_text()
    assert newsroom.referrers == set()
    assert reader.hosts == {urlsplit(server.url).netloc} | elsewhere
    page.locator('[class*="st-key-pictures_"] label').first.click()
    page.locator(FRAME).wait_for(state="detached")


def test_nothing_but_the_frame_of_the_pictures_may_load_a_picture_from_elsewhere(
    watch: Watch, newsroom: FakeNewsroom, reports: dict[str, str]
) -> None:
    page = watch(strict=False).open(f"/?run={reports['en']}")
    finish(page)
    newsroom.shown.clear()
    loaded = page.evaluate(
        """(url) => new Promise((done) => {
            const image = new Image();
            image.onload = () => done(true);
            image.onerror = () => done(false);
            image.src = url;
        })""",
        f"{newsroom.base_url}/picture/118277.svg",
    )
    assert not loaded
    assert newsroom.shown == []


@pytest.mark.parametrize("lang", TOPIC)
def test_a_report_is_taken_away_as_markdown_and_as_json(watch: Watch, reports: dict[str, str], lang: str) -> None:
    page = watch().open(f"/?run={reports[lang]}&lang={lang}")
    finish(page)
    for kind in ("md", "json"):
        button = page.locator(f'[class*="st-key-download_{kind}_"] button')
        if not button.is_visible():
            page.get_by_role("button", name=WORDS["download.more"][lang == "en"]).click()
        with page.expect_download() as download:
            button.click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert download.value.suggested_filename.endswith(f".{kind}")
        assert TOPIC[lang] in text
        if kind == "json":
            assert json.loads(text)
    main = page.get_by_test_id("stMain").inner_text()
    assert WORDS["coverage.title"][lang == "en"] in main
    assert "None" not in main


def test_the_pages_words_change_and_the_chart_keeps_the_language_of_the_report(
    watch: Watch, reports: dict[str, str]
) -> None:
    page = watch().open(f"/?run={reports['zh']}&lang=en")
    finish(page)
    time.sleep(0.3)
    main = page.get_by_test_id("stMain").inner_text()
    assert WORDS["coverage.timeline"][1] in main
    assert page.locator(CHART).count() == 2


def look_again(page: Page, lang: str, watched: str) -> str:
    """Looks at a topic once more from the news page; what has changed."""
    page.goto(urljoin(page.url, f"/news?lang={lang}"))
    page.locator(f".st-key-look_again_{watched} button").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    page.locator(".st-key-changes").wait_for()
    settled(page)
    return page.locator(".st-key-changes").inner_text()


def test_a_topic_is_watched_and_the_next_report_tells_what_has_changed(
    watch: Watch, newsroom: FakeNewsroom, model: FakeOpenAI, request: pytest.FixtureRequest
) -> None:
    page = watch(viewport={"width": 1300, "height": 1000}).open("/news?lang=en")
    run = begin(page, "en", model, about="once more")
    finish(page)
    page.locator(f".st-key-watch_{run[:8]} button").first.click()
    page.get_by_text(re.compile(f"{WORDS['watch.saved'][1]}$")).wait_for()
    calls = len(model.log)
    assert WORDS["watch.nothing"][1] in look_again(page, "en", run)
    assert len(model.log) == calls  # nothing new was there to be read
    fresh = {
        "title": f"{HOSTILE} Ferry crews begin a strike over wages", "score": 1.0,
        "url": "https://harbour.example/strike", "content": "Crews want 8% more pay.",
        "published_date": format_datetime(newsroom.now, usegmt=True),
    }  # fmt: skip
    newsroom.latest = [fresh]
    request.addfinalizer(newsroom.latest.clear)
    told = look_again(page, "zh", run)
    assert WORDS["watch.new"][0] in told and "Ferry crews begin a strike" in told
    assert HOSTILE in told
    if shots := os.environ.get("SHOTS"):
        page.screenshot(path=f"{shots}/changed_zh.png", full_page=True)
    page.goto(urljoin(page.url, "/news?lang=zh"))
    page.get_by_text(WORDS["watch.changed"][0], exact=True).wait_for()
    page.locator(f".st-key-unwatch_{run} button").click()
    page.locator(f".st-key-unwatch_{run}").wait_for(state="detached")
