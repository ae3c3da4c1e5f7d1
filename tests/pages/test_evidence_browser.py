"""What stands behind an answer, in Chromium: marks, passages, counts, sources and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from research import SUPPORT_ACCURACY
from research.storage.store import Store
from tests.catalogue import WORDS
from tests.pages.checked_run import IDS, SOURCES, put
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched, fits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
LANGUAGES = ("zh", "en")
SCHEMES = ("light", "dark")
WIDE, NARROW = {"width": 1440, "height": 1000}, {"width": 390, "height": 844}
OF_THE_MAP = "download_(geojson|kml|csv|html)_"
A_TAB = 6  # files: Chromium gives a tab ten in a row
SMALL = 4.5  # the contrast that small text needs (WCAG AA); a sign needs 3

# The contrast of an element with what is behind it: relative luminances, as WCAG has them. What is
# seen through opacity is mixed.
CONTRAST = """node => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  let behind = [255, 255, 255];
  const above = [];
  for (let at = node; at; at = at.parentElement) above.unshift(at);
  let opacity = 1;
  for (const at of above) {
    const style = getComputedStyle(at);
    opacity *= Number(style.opacity);
    const [r, g, b, a] = rgba(style.backgroundColor);
    behind = [r, g, b].map((value, n) => value * a + behind[n] * (1 - a));
  }
  const [r, g, b] = rgba(getComputedStyle(node).color);
  const seen = [r, g, b].map((value, n) => value * opacity + behind[n] * (1 - opacity));
  const light = (color) => {
    const [x, y, z] = color.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const [low, high] = [light(seen), light(behind)].sort((p, q) => p - q);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    """A server that has a checked run in each language."""
    folder = tmp_path_factory.mktemp("checked") / "data"
    folder.mkdir()
    store = Store(folder / "runs.db")
    for language in LANGUAGES:
        put(store, language)
    store.close()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    found = Server(folder).start()
    yield found
    found.kill()


Open = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Open]:
    """Opens the run of a language; at the end nothing has gone wrong in any of the tabs."""
    made: list[Watched] = []

    def visit(language: str, **options: Any) -> Page:
        made.append(Watched(browser, server, **({"viewport": WIDE} | options)))
        page = made[-1].open(f"/?run={IDS[language]}&lang={language}")
        page.wait_for_selector(".sl-counts")
        settled(page)
        return page

    yield visit
    for watched in made:
        watched.context.close()
    for watched in made:
        watched.check()


def word(key: str, language: str) -> str:
    return WORDS[key][LANGUAGES.index(language)]


# Marks


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mark_says_why_to_the_eye_to_a_screen_reader_and_to_the_keyboard(visit: Open, language: str) -> None:
    page = visit(language)
    marks = page.locator(".sl-mark")
    assert marks.count() >= 4
    for mark in marks.all():
        label = mark.get_attribute("aria-label") or ""
        assert label == mark.get_attribute("title")
        assert label.startswith(tuple(word(f"standing.{s}", language) for s in ("unclear", "unsupported", "none", "differs")))  # fmt: skip
    mark = page.locator(".sl-mark.sl-is-unclear").first
    why = page.locator(f"#{mark.get_attribute('aria-controls')}")
    assert why.is_hidden()
    mark.focus()
    page.keyboard.press("Enter")
    assert why.is_visible()
    assert word("standing.unclear", language) in why.inner_text()
    assert why.locator("li").count() >= 1
    page.keyboard.press("Escape")
    assert why.is_hidden()
    assert mark.get_attribute("aria-expanded") == "false"


def test_marks_are_reached_with_the_tab_key_behind_their_sentence(visit: Open) -> None:
    page = visit("en")
    page.locator(".sl-counts > summary").focus()
    order = []
    for _ in range(12):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.className.split(' ')[0]"))
    assert "sl-mark" in order
    assert order.index("sl-cite") < order.index("sl-mark")


def test_a_mark_leads_to_the_passage_that_comes_nearest(visit: Open) -> None:
    page = visit("en")
    mark = page.locator("tr .sl-mark").last
    mark.click()
    why = page.locator(f"#{mark.get_attribute('aria-controls')}")
    why.locator(".sl-way").click()
    cite = page.locator(".sl-cite:focus")
    assert cite.get_attribute("aria-expanded") == "true"
    assert page.locator(f"#{cite.get_attribute('aria-controls')}").is_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_marks_counts_and_notes_can_be_told_from_what_is_behind_them(visit: Open, scheme: str) -> None:
    page = visit("en", color_scheme=scheme)
    page.locator(".sl-counts > summary").click()
    for mark in page.locator(".sl-mark").all():
        mark.click()
    page.locator(".sl-cite").first.click()
    page.locator(".sl-uses summary").locator("visible=true").first.click()
    read = ".sl-counts summary, .sl-way, .sl-why li, .sl-legend li div, .sl-explained p, .sl-doubtful .sl-facts, .sl-uses summary"  # fmt: skip
    for selector, least in ((read, SMALL), (".sl-mark", SMALL)):
        found = page.locator(selector).locator("visible=true").all()
        assert found
        low = [(node.inner_text()[:40], value) for node in found if (value := node.evaluate(CONTRAST)) < least]  # fmt: skip
        assert low == []
    amber = page.evaluate_handle(
        """() => {
          const node = document.querySelector('.sl-mark').cloneNode(true);
          node.className = 'sl-mark sl-is-differs';
          document.querySelector('.sl-answer').append(node);
          return node;
        }"""
    )
    assert amber.evaluate(CONTRAST) >= SMALL


# Passages


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_citation_opens_the_passage_with_the_nearest_sentence_marked(visit: Open, language: str) -> None:
    page = visit(language)
    cite = page.locator(".sl-cite").nth(1)
    cite.click()
    box = page.locator(f"#{cite.get_attribute('aria-controls')}")
    text = SOURCES[language][0][4]  # type: ignore[index]
    assert box.locator("blockquote").text_content() == text
    marked = box.locator("mark").text_content() or ""
    assert "60" in marked and marked in text and len(marked) < len(text) / 2
    said = box.inner_text()
    assert SOURCES[language][0][1] in said  # type: ignore[index]
    days = {"zh": ("2026年10月8日", "2026年11月20日"), "en": ("8 Oct 2026", "20 Nov 2026")}
    for fact in (*days[language], "www.dpm.org.cn"):
        assert fact in said
    address = box.locator("a").get_attribute("href") or ""
    assert address.startswith("https://www.dpm.org.cn/visit.html#:~:text=")


def test_a_passage_lists_the_sentences_that_use_its_source(visit: Open) -> None:
    page = visit("en")
    cite = page.locator(".sl-cite").first
    cite.click()
    box = page.locator(f"#{cite.get_attribute('aria-controls')}")
    box.locator(".sl-uses summary").click()
    ways = box.locator(".sl-uses .sl-way")
    ways.first.wait_for()  # the list is made when it is opened
    assert ways.count() == 3
    ways.last.click()
    assert page.locator(".sl-quote .sl-cite:focus").count() == 1


# Counts


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_line_of_counts_opens_and_leads_to_the_sentences(visit: Open, language: str) -> None:
    page = visit(language)
    inner = page.locator(".sl-explained")
    assert inner.is_hidden()
    page.locator(".sl-counts > summary").focus()
    page.keyboard.press("Enter")
    assert inner.is_visible()
    for status in ("quoted", "supported", "unclear", "unsupported", "differs", "none"):
        assert word(f"meaning.{status}", language) in inner.inner_text()
    assert f"{100 * SUPPORT_ACCURACY['zh'].balanced:.0f}" in inner.inner_text()
    assert page.locator(".sl-doubtful .sl-way").count() == page.locator(".sl-mark").count()
    page.locator(".sl-doubtful .sl-way").last.click()
    focused = page.locator(".sl-mark:focus")
    assert focused.count() == 1
    page.wait_for_function(
        """() => { const box = document.activeElement.getBoundingClientRect();
                   return box.top >= 0 && box.bottom <= innerHeight; }"""
    )


def test_the_line_stays_open_when_the_language_changes(visit: Open) -> None:
    page = visit("en")
    page.locator(".sl-counts > summary").click()
    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.locator(".sl-counts > summary", has_text="句中").wait_for()
    assert page.locator(".sl-explained").is_visible()


# Sources


def shown(page: Page) -> int:
    """The rows of the table of sources, without its head."""
    table = page.locator('[class*="st-key-sources_checked"] table[role="grid"]')
    return int(table.get_attribute("aria-rowcount") or "0") - 1


def select(page: Page, row: int) -> None:
    box = page.locator('[class*="st-key-sources_checked"] [data-testid="stDataFrame"]')
    box.scroll_into_view_if_needed()
    box.click(position={"x": 200, "y": 35 * row + 17})
    settled(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sources_are_filtered(visit: Open, language: str) -> None:
    page = visit(language)
    assert shown(page) == 5
    page.get_by_text(word("sources.all", language).format(n=12)).click()
    settled(page)
    assert shown(page) == 12
    kinds = page.locator('[class*="st-key-sources_kinds_"]')
    kinds.click()
    page.get_by_role("option", name=word("kind.news", language), exact=True).click()
    settled(page)
    assert shown(page) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_selected_source_shows_its_sentences_and_the_way_to_them(visit: Open, language: str) -> None:
    page = visit(language)
    select(page, 1)
    links = page.locator(f'a[href^="#answer_{IDS[language][:8]}-"]')
    assert links.count() == 3
    target = (links.last.get_attribute("href") or "")[1:]
    links.last.click()
    assert page.locator(f"#{target}").count() == 1
    page.wait_for_function(
        """(id) => { const box = document.getElementById(id).getBoundingClientRect();
                     return box.top >= 0 && box.bottom <= innerHeight; }""",
        arg=target,
    )


# Notes


@pytest.mark.parametrize(("language", "size"), [("en", WIDE), ("zh", NARROW)])
def test_a_note_is_written_beside_its_passage_kept_and_deleted(
    visit: Open, language: str, size: dict[str, int]
) -> None:
    page = visit(language, viewport=size)
    page.locator(".sl-cite").first.click()
    box = page.locator(".sl-passage:visible").first
    box.get_by_role("button", name=word("remark.add", language)).click()
    area = box.locator("textarea")
    area.fill("<img src=x onerror=alert(1)>\nask the office")
    area.press("Escape")  # leaves the note, not the passage
    assert box.is_visible() and not area.count()
    box.get_by_role("button", name=word("remark.add", language)).click()
    assert area.input_value() == ""
    area.fill("<img src=x onerror=alert(1)>\nask the office")
    box.get_by_role("button", name=word("remark.save", language)).click()
    settled(page)
    assert "<img src=x onerror=alert(1)>\nask the office" in box.locator(".sl-noted").inner_text()
    assert word("remark.own", language) in (page.locator(".sl-has-note").first.get_attribute("aria-label") or "")
    fits(page)
    page.reload()
    page.wait_for_selector(".sl-has-note")
    page.locator(".sl-cite").first.click()
    box = page.locator(".sl-passage:visible").first
    assert "ask the office" in box.locator(".sl-noted").inner_text()
    box.get_by_role("button", name=word("remark.delete", language)).click()
    settled(page)
    assert not page.locator(".sl-noted, .sl-has-note").count()
    page.reload()
    page.wait_for_selector(".sl-counts")
    assert not page.locator(".sl-has-note").count()


# Files


def offered(page: Page, language: str) -> list[str]:
    """The keys of the buttons for files: first those that pop up, since a click beside them closes
    them. The map has some of its own."""
    page.get_by_role("button", name=word("download.more", language)).click()
    page.locator('[class*="st-key-download_json_"]').wait_for()
    boxes = page.locator('[class*="st-key-download_"]').all()
    keys = [re.findall(r"st-key-(download_\w+)", box.get_attribute("class") or "") for box in boxes]
    return [key for (key,) in reversed(keys) if not re.match(OF_THE_MAP, key)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_format_that_is_offered_is_downloaded_and_is_not_empty(visit: Open, language: str) -> None:
    names = set()
    wanted = offered(visit(language), language)
    assert len(wanted) >= 7
    for start in range(0, len(wanted), A_TAB):
        page = visit(language)
        offered(page, language)
        for key in wanted[start : start + A_TAB]:
            with page.expect_download() as download:
                page.locator(f".st-key-{key} button").click()
            names.add(download.value.suggested_filename)
            assert Path(download.value.path()).stat().st_size > 10
    assert len(names) == len(wanted)
    assert all(re.fullmatch(r"sightline(-\w+)+(\.\w+)+", name) for name in names)


# Layout


@pytest.mark.parametrize(("language", "scheme"), [("zh", "light"), ("en", "dark")])
def test_all_that_opens_fits_a_narrow_screen(visit: Open, language: str, scheme: str) -> None:
    page = visit(language, viewport=NARROW, color_scheme=scheme)
    page.locator(".sl-counts > summary").click()
    for button in page.locator(".sl-mark, .sl-cite").all():
        button.click()
    fits(page)
    inner = page.locator(".sl-answer").evaluate("node => node.scrollWidth - node.clientWidth")
    assert inner == 0
