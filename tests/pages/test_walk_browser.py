"""A walk through everything that the desk shows, in both languages, light and dark, wide and narrow.

Whatever page is in the menu is walked, a new one too. A picture of each state is kept in the folder
SIGHTLINE_SCREENSHOTS, or in that of the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from research.core.records import RunOptions
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, resources, until
from tests.pages.looking import hurdles, looks, unfold
from tests.pages.planted import COUNTED, LANGUAGES, NEAREST, PLACES, TOPIC, Planted, plant
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched
from tests.pages.tongues import untranslated
from tests.servers.oidc import FakeOIDC

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
# In this order one page is looked at: each changes one thing, and a page keeps its state.
LOOKS = (("light", 1440), ("dark", 1440), ("dark", 390), ("light", 390))
# What axe-core is asked: everything once, and once more what depends on colours and on room.
AXE: dict[tuple[str, int], tuple[str, ...]] = {
    ("light", 1440): (),
    ("dark", 390): ("color-contrast", "scrollable-region-focusable"),
}
# What was asked and found, and the names of tables: they are as they are on every page.
KNOWN = {
    "Meridian Gate", "palace museum", "午门", "a_sight", "tourist_spot",
    *(said for asked in (COUNTED, NEAREST, PLACES, TOPIC) for said in asked.values()),
}  # fmt: skip
LOCALES = {"zh": "zh-CN", "en": "en-GB"}
# What is in the store, and the page that shows it.
RUNS = {"checked": "", "places": "", "report": "", "waiting": "", "failed": "", "stopped": "", "counted": "database", "nearest": "database", "table": "tables"}  # fmt: skip
SECRET = "0123456789abcdef0123456789abcdef0123456789a"


class Walk:
    """A browser of one language on one server; `see` looks at what it shows in every way."""

    def __init__(self, browser: Browser, server: Server, language: str, pictures: Path) -> None:
        self.language, self.pictures = language, pictures
        self.watched = Watched(browser, server, locale=LOCALES[language], viewport={"width": 1440, "height": 900})

    def open(self, path: str) -> Page:
        self.watched.problems.clear()
        return self.watched.open(path)

    def see(self, page: Page, name: str) -> list[str]:
        """All that is wrong, each line with where it was seen."""
        found: list[str] = []
        for scheme, width in LOOKS:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            unfold(page, width)
            where = f"{name}-{self.language}-{scheme}-{width}"
            page.screenshot(path=str(self.pictures / f"{where}.png"))
            wrong = looks(page)
            if (scheme, width) in AXE:
                wrong += hurdles(page, *AXE[scheme, width])
            found += [f"{where}: {line}" for line in wrong]
        found += [f"{name}-{self.language}: {line}" for line in untranslated(page, self.language, KNOWN)]
        return found

    def close(self, page: Page) -> list[str]:
        """Ends a page; what went wrong in it meanwhile."""
        page.close()
        problems, self.watched.problems = self.watched.problems, []
        own = {self.watched.server.url.removeprefix("http://")}
        return problems + [f"asked {host}" for host in self.watched.hosts - own]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("SIGHTLINE_SCREENSHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Planted:
    return plant(tmp_path_factory.mktemp("walked") / "data", indexed)


@pytest.fixture(scope="module")
def server(planted: Planted) -> Iterator[Server]:
    found = Server(planted.folder).start()
    yield found
    found.kill()


@pytest.fixture(scope="module")
def walks(browser: Browser, server: Server, pictures: Path) -> Iterator[dict[str, Walk]]:
    made = {language: Walk(browser, server, language, pictures) for language in LANGUAGES}
    yield made
    for walk in made.values():
        walk.watched.context.close()


@pytest.fixture(params=LANGUAGES)
def walk(request: pytest.FixtureRequest, walks: dict[str, Walk]) -> Walk:
    return walks[request.param]


def menu(page: Page) -> list[str]:
    """The paths of the pages in the menu."""
    links = page.get_by_test_id("stSidebarNavLink")
    return [str(href).split("?")[0].rsplit("/", 1)[1] for href in links.evaluate_all("all => all.map(a => a.getAttribute('href'))")]  # fmt: skip


def opened(page: Page) -> None:
    """Opens all that opens in its place."""
    for summary in page.locator("[data-testid=stExpander] summary").all():
        if summary.is_visible() and not summary.evaluate("s => s.parentElement.open"):
            summary.click()
    settled(page)


def good(found: list[str]) -> None:
    """Fails with what was found, each thing once, with the places where it was."""
    if not found:
        return
    seen: dict[str, list[str]] = {}
    for line in found:
        where, _, what = line.partition(": ")
        seen.setdefault(what, []).append(where)
    pytest.fail("\n".join(f"{what}\n    {', '.join(at)}" for what, at in seen.items()), pytrace=False)


def test_every_page_of_the_menu_reads_well(walk: Walk) -> None:
    page = walk.open("/")
    paths = menu(page)
    assert len(paths) >= 7
    found = walk.see(page, "ask") + walk.close(page)
    for path in paths[1:]:
        page = walk.open(f"/{path}")
        found += walk.see(page, path) + walk.close(page)
    good(found)


def test_every_page_of_the_menu_reads_well_with_all_opened(walk: Walk) -> None:
    page = walk.open("/")
    found = []
    for path in menu(page):
        page.goto(f"{walk.watched.server.url}/{path}")
        settled(page)
        if page.locator("[data-testid=stExpander] summary").count():
            opened(page)
            found += walk.see(page, f"{path or 'ask'}-open")
    good(found + walk.close(page))


def test_every_popover_reads_well(walk: Walk) -> None:
    """What opens over a page: each by itself, on a wide window and on a narrow one."""
    page = walk.open("/")
    found = []
    for path in menu(page):
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{walk.watched.server.url}/{path}")
            settled(page)
            openers = page.locator('[data-testid="stMain"] [data-testid="stPopover"] button:visible')
            for n in range(min(openers.count(), 4)):
                openers.nth(n).click()
                settled(page)
                name = f"{path or 'ask'}-popover{n}-{walk.language}-{width}"
                page.screenshot(path=str(walk.pictures / f"{name}.png"))
                found += [f"{name}: {line}" for line in looks(page) + hurdles(page)]
                page.keyboard.press("Escape")
                settled(page)
    good(found + walk.close(page))


@pytest.mark.parametrize("kind", RUNS)
def test_every_kind_of_run_reads_well(walk: Walk, planted: Planted, kind: str) -> None:
    page = walk.open(f"/{RUNS[kind]}?run={planted.runs[kind][walk.language]}")
    found = walk.see(page, f"run-{kind}")
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page)
    found += walk.see(page, f"run-{kind}-open")
    good(found + walk.close(page))


def test_the_evidence_of_a_cell_reads_well(walk: Walk, planted: Planted) -> None:
    """Where sources differ, where one of several things is meant, and where nothing was found."""
    run_id = planted.runs["table"][walk.language]
    found = []
    for name, row in (("differs", 0), ("which", 3), ("nothing", 4)):
        page = walk.open(f"/tables?run={run_id}")
        grid = page.locator(f".st-key-grid_{run_id[:8]} canvas").first.bounding_box()
        assert grid
        page.mouse.click(grid["x"] + (500 if name == "nothing" else 240), grid["y"] + 52 + 35 * row)
        page.wait_for_selector(".st-key-cell")
        found += walk.see(page, f"cell-{name}") + walk.close(page)
    good(found)


def test_a_run_under_way_reads_well(walk: Walk, server: Server) -> None:
    source = ScriptedSource("library", HANGS)
    runs = LocalRunManager(resources(Settings(data_dir=server.folder), ScriptedReasoner(), {"library": source}))
    try:
        run = runs.start(PLACES[walk.language], options=RunOptions(sources=("library",)))
        until(lambda: len(source.calls) == 3)
        page = walk.open(f"/?run={run.id}")
        page.wait_for_selector('[class*="st-key-stop_"] button')
        found = walk.see(page, "run-live") + walk.close(page)
    finally:
        runs.close()
    good(found)


def test_places_side_by_side_and_a_day_of_them_read_well(walk: Walk) -> None:
    page = walk.open("/places")
    boxes = page.locator(".sl-places input[type=checkbox]")
    boxes.first.wait_for()
    for n in range(3):
        boxes.nth(n).check()
        settled(page)
    page.locator(".st-key-places_day button").click()
    page.wait_for_selector(".st-key-files_day")
    good(walk.see(page, "places-chosen") + walk.close(page))


def test_the_page_for_signing_in_reads_well(browser: Browser, tmp_path: Path, indexed: Path, pictures: Path) -> None:
    with FakeOIDC() as provider:
        secrets = tmp_path / "secrets.toml"
        returns = "http://127.0.0.1:{port}/oauth2callback"
        secrets.write_text(provider.secrets(SECRET, returns), encoding="utf-8")
        folder = tmp_path / "data"
        folder.mkdir()
        (folder / "library.db").write_bytes(indexed.read_bytes())
        server = Server(folder, STREAMLIT_SECRETS_FILES=str(secrets)).start()
        found: list[str] = []
        try:
            for language in LANGUAGES:
                walk = Walk(browser, server, language, pictures)
                page = walk.open("/")
                page.wait_for_selector(".st-key-sign_in button")
                found += walk.see(page, "sign-in") + walk.close(page)
                walk.watched.context.close()
        finally:
            server.kill()
    good(found)
