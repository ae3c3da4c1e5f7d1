"""The Ask page without a mouse: ask, open a citation, ask on, take the report away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.pages.serving import Server, lacking, settled
from tests.pages.test_browser import Watched, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WANTED = os.environ.get("SIGHTLINE_BROWSER_TESTS") == "1"
SKIPPED = lacking() if WANTED else "set SIGHTLINE_BROWSER_TESTS=1 to drive Chromium"
pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
ZH = "故宫博物院的门票多少钱，周几闭馆？"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    found = started(tmp_path_factory.mktemp("keys") / "data", indexed)
    yield found
    found.kill()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    watched = Watched(browser, server, viewport={"width": 1440, "height": 900})
    yield watched.open()
    watched.context.close()
    watched.check()


def focused(page: Page, css: str) -> bool:
    return bool(page.evaluate("css => document.activeElement.matches(css)", css))


def tab_to(page: Page, css: str, most: int = 120) -> None:
    """Presses Tab until such an element has the focus."""
    for _ in range(most):
        if focused(page, css):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{most} times Tab do not lead to {css}")


def answered(page: Page) -> str:
    """Waits for the answer of the run that is shown; returns its address."""
    page.wait_for_selector(".st-key-follow")
    settled(page)
    return page.url


def test_everything_is_done_with_the_keyboard(page: Page) -> None:
    page.wait_for_function("() => document.activeElement.tagName === 'TEXTAREA'")
    page.keyboard.insert_text(ZH)
    page.keyboard.press("Enter")
    first = answered(page)
    assert page.locator("h1").inner_text() == ZH

    tab_to(page, ".sl-cite")
    page.keyboard.press("Enter")
    assert page.locator(".sl-passage:visible mark").count() == 1
    assert focused(page, ".sl-drawer"), "one goes on where the passage is"
    page.keyboard.press("Escape")
    assert page.locator(".sl-passage:visible").count() == 0
    assert focused(page, ".sl-cite"), "and comes back to where one was"

    tab_to(page, '[class*="st-key-download_md_"] button')
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".md")
    assert ZH in Path(download.value.path()).read_text("utf-8")

    page.keyboard.press("/")
    assert focused(page, ".st-key-follow textarea")
    page.keyboard.insert_text("那里的交通怎么走？")
    page.keyboard.press("Enter")
    page.wait_for_function("url => location.href !== url", arg=first)
    assert answered(page) != first


def test_shift_enter_is_a_new_line_and_an_empty_box_asks_nothing(page: Page) -> None:
    box = page.locator(".st-key-question textarea")
    box.focus()
    page.keyboard.press("Enter")
    page.keyboard.insert_text("a")
    page.keyboard.press("Shift+Enter")
    page.keyboard.insert_text("b")
    assert box.input_value() == "a\nb"
    assert "run=" not in page.url
    page.keyboard.press("Escape")
    assert not focused(page, "textarea")
    page.keyboard.press("/")
    assert focused(page, ".st-key-question textarea")


def test_enter_that_ends_a_chinese_word_does_not_ask(page: Page) -> None:
    box = page.locator(".st-key-question textarea")
    box.fill("故宫")
    for event in ({"isComposing": True}, {"keyCode": 229}):
        press: dict[str, Any] = {"key": "Enter", "bubbles": True, **event}
        box.evaluate("(node, init) => node.dispatchEvent(new KeyboardEvent('keydown', init))", press)
    page.wait_for_timeout(500)
    assert "run=" not in page.url
    assert box.input_value() == "故宫"


def test_what_could_be_asked_next_is_put_into_the_box(page: Page) -> None:
    page.locator(".st-key-question textarea").fill(ZH)
    page.keyboard.press("Enter")
    answered(page)
    offered = page.locator(".st-key-next button").first
    words = offered.inner_text().split("\n")[-1]
    offered.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.st-key-follow textarea').value")
    assert page.locator(".st-key-follow textarea").input_value() == words
    assert focused(page, ".st-key-follow textarea")


LONG = "故宫的门票多少钱，周几闭馆，历史上谁建的，交通怎么走？"
# What of the page lies under the drawer, or would if it were scrolled there.
UNDER = """() => {
  const left = document.querySelector(".sl-drawer").getBoundingClientRect().left;
  const page = document.querySelector('[data-testid="stMainBlockContainer"]');
  return [...page.querySelectorAll("*")].filter((node) => {
    if (node.childElementCount || node.closest(".sl-drawer") || !node.checkVisibility()) return false;
    const { width, height, right } = node.getBoundingClientRect();
    return width && height && right > left + 1;
  }).map((node) => node.outerHTML.slice(0, 200));
}"""


def test_the_page_keeps_off_the_column_of_a_passage(page: Page) -> None:
    page.locator(".st-key-question textarea").fill(LONG)
    page.keyboard.press("Enter")
    answered(page)
    contents, whole = page.locator(".sl-contents"), page.get_by_test_id("stMainBlockContainer")
    for width, beside in ((1280, False), (1440, False), (1920, True)):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        before = whole.evaluate("node => getComputedStyle(node).paddingRight")
        cite = page.locator(".sl-cite").last
        cite.scroll_into_view_if_needed()
        at = cite.bounding_box()
        cite.click()
        page.locator(".sl-drawer .sl-passage").wait_for()
        settled(page)
        assert page.evaluate(UNDER) == []
        assert contents.is_visible()
        assert contents.evaluate("node => Boolean(node.closest('.sl-wide'))") is beside
        now = cite.bounding_box()
        assert at and now and abs(at["y"] - now["y"]) < 3, "what one reads stays where it is"
        page.keyboard.press("Escape")
        settled(page)
        assert whole.evaluate("node => getComputedStyle(node).paddingRight") == before


def test_the_contents_lead_to_the_parts_of_an_answer(page: Page) -> None:
    page.locator(".st-key-question textarea").fill(LONG)
    page.keyboard.press("Enter")
    answered(page)
    ways = page.locator(".sl-contents .sl-way")
    heads = page.locator(".sl-answer h3")
    heads.first.wait_for()
    assert ways.all_inner_texts() == heads.all_inner_texts() != []
    beside = page.locator(".sl-contents").bounding_box()
    text = page.locator(".sl-answer").bounding_box()
    assert beside and text and beside["x"] >= text["x"] + text["width"]
    ways.last.focus()
    page.keyboard.press("Enter")
    assert heads.last.evaluate("node => node === document.activeElement")


def test_on_a_phone_a_passage_opens_where_it_stands(browser: Browser, server: Server) -> None:
    watched = Watched(browser, server, viewport={"width": 390, "height": 844})
    page = watched.open()
    page.locator(".st-key-question textarea").fill(ZH)
    page.locator(".st-key-start button").click()
    answered(page)
    page.locator(".sl-cite").first.click()
    assert page.locator(".sl-answer .sl-passage:visible").count() == 1
    assert page.locator(".sl-drawer:visible").count() == 0
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(".sl-cite").nth(1).click()
    assert page.locator(".sl-drawer:visible .sl-passage").count() == 1
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("() => !document.querySelector('.sl-drawer .sl-passage')")
    assert page.locator(".sl-answer .sl-passage:visible").count() == 2, "nothing is closed by it"
    watched.context.close()
    watched.check()
