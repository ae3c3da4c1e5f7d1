"""Records the pictures of the documents from the real app: `python -m tests.pages.record [FOLDER] [NAME ...]`.

FOLDER is `docs/images` unless another one is named; NAME is one of `SHOTS` or `demo`, and without
any all of them are made. Nothing but this machine is asked: the keyless sample library and places, a run
that was planted, and for the news the tests' own newsroom and model. `demo.gif` shows a question in
Chinese, its searches, its answer, an open citation and the map: each frame is what stood on the screen,
for as long as it stood there; all have the same colours, without dither, so that nothing flickers.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageChops

from research.storage.store import Store
from tests.pages import filled_table
from tests.pages.checked_run import IDS, put
from tests.pages.serving import ROOT, Server, chromium, settled
from tests.servers.news import FakeNewsroom
from tests.servers.openai import FakeOpenAI

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOCALES = {"zh": "zh-CN", "en": "en-US"}
WIDE, PHONE = (1280, 860), (390, 844)
EN = "What does a ticket to the Palace Museum cost, and when is it closed?"
ZH = "故宫博物院的门票多少钱，周几闭馆？"
NEAR = "王府井附近适合遛娃的好去处"
ROWS = "浙江省有哪些5A级景区？"
TOPIC, TITLES = "国庆假期的旅游市场", ["客流", "价格", "安全"]
DELAY = "1.6"  # seconds of each search that is watched
FRAME = 'iframe[title="streamlit_folium.st_folium"]'
DONE = ".sl-answer > *"
# The film
SIZE = (960, 600)
RATE = 7.0  # frames a second, at most
COLOURS = 128
LONGEST = 1500  # milliseconds that one frame may stand
LIMIT = 3_000_000  # bytes

Shot = Callable[["Page"], None]


# What is done before a picture is taken


def ask(page: Page, question: str) -> None:
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-start button").click()
    page.wait_for_url(re.compile(r"[?&]run="))


def answered(page: Page, question: str) -> None:
    ask(page, question)
    page.wait_for_selector(DONE)
    page.locator('[class*="st-key-download_"] button').first.wait_for()
    settled(page)


def answer_en(page: Page) -> None:
    answered(page, EN)
    page.locator(".sl-cite").first.click()


def checked_en(page: Page) -> None:
    page.wait_for_selector(".sl-counts")
    mark = page.locator(".sl-mark.sl-is-differs").first
    mark.click()
    page.locator(f"#{mark.get_attribute('aria-controls')} .sl-way").click()
    page.wait_for_timeout(600)


def run_zh(page: Page) -> None:
    ask(page, ZH)
    page.locator('[class*="st-key-stop_"] button').wait_for()
    page.wait_for_timeout(1200)


def places_zh(page: Page) -> None:
    answered(page, NEAR)
    mapped(page)


def database_zh(page: Page) -> None:
    page.locator(".st-key-database_question textarea").fill(ROWS)
    page.locator(".st-key-database_go button").click()
    page.locator('[class*="st-key-edit_"] button').wait_for()
    mapped(page)


def news_zh(page: Page) -> None:
    page.locator(".st-key-topic textarea").fill(TOPIC)
    page.locator(".st-key-report button").click()
    page.wait_for_selector(DONE, timeout=60_000)
    settled(page)


def table_en(page: Page) -> None:
    grid = page.locator('[class*="st-key-grid_"] canvas').first.bounding_box()
    assert grid is not None
    page.mouse.click(grid["x"] + 240, grid["y"] + 52)  # the first cell, in which sources differ
    page.wait_for_selector(".st-key-cell")
    settled(page)


def as_it_is(page: Page) -> None:
    settled(page)


def phone_zh(page: Page) -> None:
    answered(page, ZH)
    page.locator(".sl-cite").first.scroll_into_view_if_needed()
    page.locator(".sl-cite").first.click()


def mapped(page: Page) -> None:
    """Waits for the pins of the map."""
    page.wait_for_selector(FRAME)
    page.frame_locator(FRAME).first.locator(".sl-pin, .sl-cluster").first.wait_for()
    settled(page)


# Each picture: which server, the address, the size, and what is done there.
SHOTS: dict[str, tuple[str, str, tuple[int, int], Shot]] = {
    "answer-en": ("desk", "/?lang=en", WIDE, answer_en),
    "checked-en": ("desk", f"/?run={IDS['en']}&lang=en", (1280, 889), checked_en),
    "run-zh": ("slow", "/?lang=zh", WIDE, run_zh),
    "places-zh": ("desk", "/?lang=zh", (1280, 940), places_zh),
    "database-zh": ("desk", "/database?lang=zh", (1280, 940), database_zh),
    "table-en": ("desk", f"/tables?run={filled_table.IDS['en']}&lang=en", (1280, 800), table_en),
    "news-zh": ("newsroom", "/news?lang=zh", (1280, 940), news_zh),
    "history-en": ("desk", "/history?lang=en", WIDE, as_it_is),
    "library-en": ("desk", "/library?lang=en", WIDE, as_it_is),
    "help-en": ("desk", "/help?lang=en&topic=support", WIDE, as_it_is),
    "phone-zh": ("desk", "/?lang=zh", PHONE, phone_zh),
}


class Studio:
    """The browser and the servers, each of which is started when it is first needed."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self._servers: dict[str, Server] = {}
        self._fakes: list[Any] = []

    def server(self, name: str) -> Server:
        if name not in self._servers:
            self._servers[name] = self._started(name)
        return self._servers[name]

    def _started(self, name: str) -> Server:
        folder = self.folder / name
        folder.mkdir()
        if name == "desk":
            store = Store(folder / "runs.db")
            for language in ("zh", "en"):
                put(store, language)
            filled_table.put(store, "en")
            store.close()
        if name == "slow":
            return Server(folder, SIGHTLINE_SEARCH_DELAY=DELAY).start()
        if name == "newsroom":
            rooms, model = FakeNewsroom().__enter__(), FakeOpenAI().__enter__()
            self._fakes += [rooms, model]
            model.brain.chapters = TITLES
            settings = {
                "ANSWER_MODEL": "openai:gpt-fake",
                "OPENAI_BASE_URL": model.base_url,
                "OPENAI_API_KEY": "sk-0123456789",
                "TAVILY_API_KEY": "tvly-0123456789",
                "TAVILY_BASE_URL": rooms.base_url,
            }
            return Server(folder, **settings).start()
        return Server(folder).start()

    @contextmanager
    def page(self, server: str, path: str, size: tuple[int, int]) -> Iterator[Page]:
        """A tab at an address, in its language."""
        language = "zh" if "lang=zh" in path else "en"
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale=LOCALES[language],
            timezone_id="Asia/Shanghai",
            color_scheme="light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(60_000)
        try:
            page = context.new_page()
            page.goto(self.server(server).url + path)
            settled(page)
            yield page
        finally:
            context.close()

    def close(self) -> None:
        for server in self._servers.values():
            server.kill()
        for fake in self._fakes:
            fake.__exit__(None, None, None)


def shoot(studio: Studio, name: str, folder: Path) -> None:
    server, path, size, act = SHOTS[name]
    with studio.page(server, path, size) as page:
        act(page)
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        page.screenshot(path=str(folder / f"{name}.png"))


# The film


class Film:
    """What stood on a page, and for how long."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.times: list[float] = []

    def look(self) -> None:
        """One frame, unless it is the last one again."""
        began = time.monotonic()
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if not self.frames or ImageChops.difference(image, self.frames[-1]).getbbox():
            self.frames.append(image)
            self.times.append(began)
        self.page.wait_for_timeout(max(0, 1000 * (1 / RATE - (time.monotonic() - began))))

    def roll(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Looks for so long, or until something has come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.look()

    def save(self, path: Path) -> float:
        """Writes the GIF; returns its seconds."""
        ends = [*self.times[1:], time.monotonic()]
        shown = [
            min(LONGEST, max(40, round(100 * (end - start)) * 10)) for start, end in zip(self.times, ends, strict=True)
        ]
        palette = _palette(self.frames)
        frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames]
        frames[0].save(
            path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=False,
            disposal=1,
        )  # fmt: skip
        return sum(shown) / 1000


def _palette(frames: list[Image.Image]) -> Image.Image:
    """The colours of the whole film, of some of its frames."""
    some = frames[:: max(1, len(frames) // 8)][:10]
    width, height = some[0].size
    sheet = Image.new("RGB", (width, height * len(some)))
    for n, frame in enumerate(some):
        sheet.paste(frame, (0, n * height))
    return sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def demo(studio: Studio, path: Path) -> None:
    """A question for places in Chinese, its searches, its answer, a citation and the map."""
    with studio.page("slow", "/?lang=zh", SIZE) as page:
        film = Film(page)
        film.roll(0.8)
        box = page.locator(".st-key-question textarea")
        box.click()
        for letter in NEAR:
            page.keyboard.insert_text(letter)
            film.look()
        film.roll(0.4)
        page.locator(".st-key-start button").click()
        film.roll(15, lambda: page.locator(DONE).count() > 0)
        film.roll(2.0)
        cite = page.locator(".sl-cite").first
        cite.scroll_into_view_if_needed()
        film.roll(0.4)
        cite.click()
        film.roll(2.2)
        page.keyboard.press("Escape")
        frame = page.locator(FRAME).first
        frame.scroll_into_view_if_needed()
        film.roll(1.0)
        page.locator(".sl-place").nth(1).click()
        film.roll(2.5)
        lasted = film.save(path)
    size = path.stat().st_size
    print(f"{path.name}: {lasted:.0f} s, {len(film.frames)} frames, {size / 1e6:.2f} MB")
    if size > LIMIT:
        raise SystemExit(f"{path} has {size} bytes, {LIMIT} are allowed: take fewer COLOURS")


def main(asked: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    known = [*SHOTS, "demo"]
    reader = argparse.ArgumentParser(prog="python -m tests.pages.record", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "images")
    reader.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    told = reader.parse_args(asked)
    folder, named = told.folder, told.names
    if str(folder) in known:  # no folder, only names
        folder, named = reader.get_default("folder"), [str(folder), *named]
    if wrong := [name for name in named if name not in known]:
        reader.error(f"there is no picture called {', '.join(wrong)}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        studio = Studio(browser, Path(data))
        try:
            for name in named or known:
                if name == "demo":
                    demo(studio, folder / "demo.gif")
                else:
                    shoot(studio, name, folder)
                    print(name)
        finally:
            studio.close()
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
