"""In Chromium: Back leaves an answer at the first press, and the menu's entry of the page that is shown
leads to the start of that page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.catalogue import WORDS
from tests.pages import planted
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watch, ask, run_of, serve, watch

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["serve", "watch"]  # fixtures
pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
QUESTION = "What does a ticket to the Palace Museum cost?"
ENTRIES = {"ask": 0, "news": 1, "tables": 2, "database": 4, "library": 5, "history": 6}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    made = planted.plant(tmp_path_factory.mktemp("back") / "data", indexed)
    found = Server(made.folder).start()
    found.planted = made  # type: ignore[attr-defined]
    yield found
    found.kill()


def menu(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebarNavLink").nth(ENTRIES[name]).click()
    arrived(page, "" if name == "ask" else name)


def arrived(page: Page, path: str) -> None:
    page.wait_for_url(lambda url: urlsplit(url).path == f"/{path}")
    settled(page)


def back(page: Page) -> None:
    page.go_back()
    settled(page)


def parameters(page: Page) -> str:
    """The parameters of the address but the language."""
    query = urlsplit(page.url).query.split("&")
    return "&".join(part for part in query if not part.startswith("lang="))


LANGUAGES = {"the browser's language": "", "another language": "?lang=zh"}


@pytest.mark.parametrize("query", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_back_leaves_an_answer_at_the_first_press(watch: Watch, server: Server, query: str) -> None:
    page = watch(server).open(f"/{query}")
    asked = ask(page, QUESTION)
    page.wait_for_selector(".sl-answer > *")
    settled(page)
    back(page)
    page.locator(".st-key-question textarea").wait_for()
    assert parameters(page) == ""
    page.go_forward()
    page.wait_for_selector(".sl-answer > *")
    assert run_of(page) == asked


@pytest.mark.parametrize("query", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_back_leads_from_an_answer_to_the_list_that_it_was_opened_from(
    watch: Watch, server: Server, query: str
) -> None:
    page = watch(server).open(f"/{query}")
    for _ in range(2):
        menu(page, "history")
        page.locator('[class*="st-key-line_"] a').first.click()
        page.wait_for_selector('[class*="st-key-activity"]')
        settled(page)
        back(page)
        arrived(page, "history")
        page.locator(".st-key-history_list").wait_for()
    back(page)
    arrived(page, "")
    page.locator(".st-key-question textarea").wait_for()


STARTS = {  # what the start of a page has
    "ask": ".st-key-question textarea",
    "news": ".st-key-topic textarea",
    "tables": ".st-key-table_sentence textarea",
}


@pytest.mark.parametrize("query", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_the_menu_s_entry_of_the_page_that_is_shown_leads_to_its_start(
    watch: Watch, server: Server, query: str
) -> None:
    made: planted.Planted = server.planted  # type: ignore[attr-defined]
    shown = {"ask": "places", "news": "report", "tables": "table"}
    for name, start in STARTS.items():
        path = "" if name == "ask" else name
        more = f"&{query[1:]}" if query else ""
        page = watch(server).open(f"/{path}?run={made.runs[shown[name]]['en']}{more}")
        assert page.locator(start).count() == 0
        menu(page, name)
        page.locator(start).wait_for()
        assert parameters(page) == ""
        back(page)
        page.locator(start).wait_for(state="detached")
        assert parameters(page).startswith("run=")


def test_the_menu_s_entry_leads_from_a_plan_to_a_new_question(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    page.locator(".st-key-question textarea").fill(QUESTION)
    page.locator(".st-key-plan_first button").click()
    page.locator(".st-key-start_draft button").wait_for()
    settled(page)
    menu(page, "ask")
    page.locator(".st-key-question textarea").wait_for()
    assert page.locator(".st-key-start_draft button").count() == 0


def test_the_menu_s_entry_shows_the_whole_history(watch: Watch, server: Server) -> None:
    page = watch(server).open("/history?q=nothing+has+these+words")
    page.get_by_text(WORDS["history.none"][1]).wait_for()
    menu(page, "history")
    page.locator('[class*="st-key-line_"] a').first.wait_for()
    assert parameters(page) == ""
    back(page)
    page.get_by_text(WORDS["history.none"][1]).wait_for()
