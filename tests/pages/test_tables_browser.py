"""A large table in Chromium: it scrolls, sorts, and a cell that the keyboard has selected opens its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from research.storage.store import Store
from tests.pages.filled_table import keep, large, number_of
from tests.pages.looking import hurdles
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
RUN = "large000-run"
ROWS, COLUMNS = 200, 10
FRAME = f".st-key-grid_{RUN[:8]}"
NAMES, HEAD, LINE = 96, 35, 35  # pixels of the names of the rows, the headings and a row


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: object) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("large") / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())  # type: ignore[attr-defined]
    store = Store(folder / "runs.db")
    keep(store, RUN, "Compare many things", *large(ROWS, COLUMNS))
    store.close()
    found = Server(folder).start()
    yield found
    found.kill()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """The table; nothing may be said in the console meanwhile, nor anybody be asked."""
    watched = Watched(browser, server, viewport={"width": 1280, "height": 1000})
    found = watched.open(f"/tables?run={RUN}&lang=en")
    found.locator(f"{FRAME} canvas").first.wait_for()
    yield found
    watched.context.close()
    watched.check()


def rows(page: Page) -> list[list[str]]:
    """The first rows in sight, as they are told to those who cannot see the canvas."""
    found = page.locator(f"{FRAME} canvas tbody tr")
    return found.evaluate_all("all => all.slice(0, 8).map(r => [...r.cells].map(c => c.textContent))")  # type: ignore[no-any-return]


def click(page: Page, x: float, y: float) -> None:
    """Clicks in the grid; the names of its rows are `NAMES` pixels wide."""
    box = page.locator(f"{FRAME} canvas").first.bounding_box()
    assert box
    page.mouse.click(box["x"] + x, box["y"] + y)
    settled(page)


def evidence(page: Page) -> str:
    return page.locator(".st-key-cell").inner_text()


def reach(page: Page) -> None:
    """Moves the focus to the table with the keyboard alone."""
    page.locator("body").press("Home")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("f => !!document.activeElement.closest(f + ' .dvn-scroller, ' + f + ' canvas')", FRAME):
            return
    raise AssertionError("the table cannot be reached")


def test_a_large_table_scrolls_both_ways_and_says_its_size(page: Page) -> None:
    table = page.locator(f"{FRAME} canvas table")
    assert table.get_attribute("aria-rowcount") == f"{ROWS + 1}"
    assert table.get_attribute("aria-colcount") == f"{COLUMNS + 1}"
    page.locator(f"{FRAME} .dvn-scroller").first.evaluate("s => s.scrollTo(4000, s.scrollHeight)")
    page.wait_for_function(
        "f => /Known of 199 by 10/.test(document.querySelector(`${f} canvas`).textContent)",
        arg=FRAME,
    )


def test_a_column_of_numbers_sorts_by_its_numbers_and_a_cell_is_still_that_of_its_row(
    page: Page,
) -> None:
    assert [row[0] for row in rows(page)][:3] == ["Thing 1", "Thing 2", "Thing 3"]
    for _ in range(2):  # on the heading: the greatest first
        click(page, NAMES + 30, HEAD / 2)
    shown = rows(page)
    found = [float(row[1]) for row in shown]
    assert found == sorted(found, reverse=True) and found[0] > 200
    for row in shown:
        assert number_of(int(row[0].removeprefix("Thing "))) == float(row[1])
    click(page, NAMES + 30, HEAD + LINE / 2)
    assert shown[0][0] in evidence(page)


def test_a_cell_is_selected_by_keyboard_and_opens_its_evidence(page: Page) -> None:
    reach(page)
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settled(page)
    assert evidence(page).splitlines()[0] == "Thing 3 · Column 2"
    assert "Of thing 3 much is known." in evidence(page)
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('.st-key-cell').innerText.startsWith('Thing 4')")


def test_axe_finds_nothing_serious(page: Page) -> None:
    click(page, NAMES + 30, HEAD + LINE / 2)
    assert hurdles(page) == []
