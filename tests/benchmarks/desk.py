"""The desk as somebody who uses it waits for it: starting, opening, doing nothing, and years of work.

Everything is measured in Chromium against the real server. With `--scale` the data folder has 2,000
runs, 10,000 documents and 5,000 places, and every page is opened, filtered, sorted and searched: from
the act to the frame after the server has said that it is done. Needs Linux, for processor times.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.benchmarks.figures import Figure, percentile, processor
from tests.many import fill
from tests.pages.serving import IDLE, Server, chromium, lacking, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WARM, COLD = 1.5, 6.0  # seconds until the question can be typed
IDLE_TARGET = 10.0  # milliseconds of processor in a second of an open page
ACT_TARGET = 1.0  # seconds, with years of work in the folder
LOADS, STARTS, TIMES = 7, 3, 5
SECONDS = 30.0  # how long an open page is watched
BOX = ".st-key-question textarea"
REST = 4.0  # seconds in which what is loaded ahead is loaded
# The moment of the frame in which the box stands.
WATCH = f"""new MutationObserver((_, watch) => {{
  if (!document.querySelector("{BOX}")) return;
  watch.disconnect();
  requestAnimationFrame(() => {{ window.boxed = performance.now(); }});
}}).observe(document, {{ childList: true, subtree: true }});"""
LOADED = "() => [performance.getEntriesByName('first-contentful-paint')[0].startTime, window.boxed]"
# What is done on each page: its name, what it is done to, and how.
ACTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "": (("an example chosen", ".st-key-example_0 button", "click"),),
    "news": (),
    "places": (
        ("filtered by a word", ".st-key-places_text input", "type:书店"),
        ("all again", ".st-key-places_text input", "type:"),
        ("one picked", ".sl-places .sl-row:nth-child(3) button", "click"),
        ("one ticked, or no more", ".sl-places .sl-row:nth-child(4) input", "tick"),
    ),
    "database": (),
    "library": (
        ("searched", ".st-key-library_query input", "type:地铁"),
        ("filtered", ".st-key-list_text input", "type:note"),
    ),
    "history": (
        ("filtered by a word", ".st-key-history_filter input", "type:Gulangyu"),
        ("all again", ".st-key-history_filter input", "type:"),
    ),
    "status": (),
}


class Timed:
    """A page whose messages from the server are counted and dated."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.server, self.bytes, self.done = server, 0, 0.0
        self.page: Page = browser.new_context(locale="zh-CN", viewport={"width": 1440, "height": 900}).new_page()
        self.page.set_default_timeout(30_000)
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._got))

    def _got(self, payload: Any) -> None:
        data = payload if isinstance(payload, bytes) else str(payload).encode()
        self.bytes += len(data)
        if ForwardMsg.FromString(data).WhichOneof("type") == "script_finished":
            self.done = time.perf_counter()

    def act(self, what: Callable[[], object]) -> tuple[float, int]:
        """Seconds until what it leads to is on the screen, and the bytes that came for it."""
        started, before = time.perf_counter(), self.bytes
        what()
        while self.done < started:
            self.page.wait_for_timeout(5)
            assert time.perf_counter() < started + 30, "the server has said nothing"
        self.page.wait_for_selector(IDLE)
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
        return time.perf_counter() - started, self.bytes - before

    def open(self, path: str) -> tuple[float, int]:
        return self.act(lambda: self.page.goto(f"{self.server.url}/{path}", wait_until="commit"))

    def go(self, path: str) -> tuple[float, int]:
        """As somebody goes from page to page, by the menu; from another page, if it is this one."""
        link = '[data-testid="stSidebarNavLink"]'
        away = "/help" if path != "help" else "/"
        self.act(self.page.locator(f'{link}[href$="{away}"]').first.click)
        settled(self.page)
        there = self.page.locator(f'{link}[href$="/{path}"]') if path else self.page.locator(link)
        return self.act(there.first.click)

    def close(self) -> None:
        self.page.context.close()


def figures(scale: bool = False) -> Iterator[Figure]:
    if lacking():
        yield Figure("nothing measured", float("nan"), note=lacking())
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        try:
            if scale:
                yield from _scale(browser, Path(folder) / "many")
            else:
                yield from _starts(browser, Path(folder))
                yield from _opened(browser, Path(folder) / "open")
        finally:
            browser.close()


# Starting and opening


def _starts(browser: Browser, folder: Path) -> Iterator[Figure]:
    """From `streamlit run` to the question box, with the library indexed once before."""
    taken, cpu = [], []
    for _ in range(STARTS + 1):
        page = browser.new_context(locale="zh-CN").new_page()
        server = Server(folder / "cold")
        started = time.perf_counter()
        try:
            server.start()
            page.goto(server.url, wait_until="commit")
            page.wait_for_selector(BOX)
            taken.append(time.perf_counter() - started)
            cpu.append(processor(server.pid) / 1000)
        finally:
            server.kill()
            page.context.close()
    yield Figure("cold start: question box there, first time", taken[0], "s", note="indexes the sample")
    yield Figure("cold start: question box there, median", statistics.median(taken[1:]), "s", COLD,
                 note=f"{STARTS} times; {statistics.median(cpu[1:]):.1f} s of the server's processor")  # fmt: skip


def _opened(browser: Browser, folder: Path) -> Iterator[Figure]:
    """Beside the page, in turns, one of Streamlit's with a box and nothing else: no page of it can
    be there sooner."""
    server, bare = Server(folder).start(), _Bare(folder.parent / "bare").start()
    try:
        Timed(browser, server).open("")
        _rest()
        for name, kept in (("empty", False), ("full", True)):
            ours, least = _loads(browser, kept, server.url, bare.url)
            note = f"{LOADS} times"
            yield Figure(f"Ask page, warm server, {name} cache: first paint, median",
                         statistics.median(load.paint for load in ours), "s", WARM, note=note)  # fmt: skip
            box = statistics.median(load.box for load in ours)
            floor = statistics.median(load.box for load in least)
            yield Figure(f"Ask page, warm server, {name} cache: question box there, median", box, "s", WARM,
                         note=f"{note}; {box / floor:.2f} times what a page with a box alone takes")  # fmt: skip
        yield from _weight(browser, server)
        yield from _idle(browser, server)
    finally:
        server.kill()
        bare.kill()


def _rest() -> None:
    """Until what a server loads behind its first page is loaded."""
    from app import WARM_UP_DELAY_SECONDS

    time.sleep(WARM_UP_DELAY_SECONDS + REST)


class _Bare(Server):
    """A page of Streamlit's with one box under the same key."""

    def start(self) -> Server:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.script = self.folder / "bare.py"
        self.script.write_text("import streamlit as st\nst.container(key='question').text_area('box')\n", "utf-8")
        self.new = True  # it has no tour
        return super().start()


class _Load(NamedTuple):
    """Seconds after the address was entered, as the browser counts them."""

    paint: float
    box: float


def _loads(browser: Browser, kept: bool, *urls: str) -> list[list[_Load]]:
    """Each address in turn; with `kept`, the browser has been there before."""
    found: list[list[_Load]] = [[] for _ in urls]
    contexts = [browser.new_context(locale="zh-CN") for _ in urls]
    for n in range(LOADS + kept):
        for at, url in enumerate(urls):
            if not kept:
                contexts[at].close()
                contexts[at] = browser.new_context(locale="zh-CN")
            page = contexts[at].new_page()
            page.add_init_script(WATCH)
            page.goto(url, wait_until="commit")
            page.wait_for_selector(BOX)
            page.wait_for_function("window.boxed")
            paint, box = page.evaluate(LOADED)
            if n or not kept:
                found[at].append(_Load(paint / 1000, box / 1000))
            page.close()
    for context in contexts:
        context.close()
    return found


def _weight(browser: Browser, server: Server) -> Iterator[Figure]:
    """What is fetched for the first page with nothing in the cache."""
    timed = Timed(browser, server)
    sizes: list[float] = []
    client = timed.page.context.new_cdp_session(timed.page)
    client.send("Network.enable")
    client.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
    timed.open("")
    settled(timed.page)
    note = f"{len(sizes)} files, and {timed.bytes / 1000:.0f} kB of messages"
    yield Figure("Ask page, empty cache: fetched", sum(sizes) / 1e6, "MB", note=note)
    timed.close()


def _idle(browser: Browser, server: Server) -> Iterator[Figure]:
    """A page that is open, and nobody does anything."""
    timed = Timed(browser, server)
    timed.open("")
    settled(timed.page)
    timed.page.wait_for_timeout(2000)
    before, told = processor(server.pid), timed.bytes
    started = time.perf_counter()
    work = timed.page.context.new_cdp_session(timed.page)
    work.send("Performance.enable")
    busy = _busy(work)
    timed.page.wait_for_timeout(SECONDS * 1000)
    passed = time.perf_counter() - started
    note = f"{timed.bytes - told} bytes told in {passed:.0f} s"
    yield Figure("an idle open page: server", (processor(server.pid) - before) / passed, "ms/s", IDLE_TARGET, note=note)  # fmt: skip
    yield Figure("an idle open page: browser", (_busy(work) - busy) * 1000 / passed, "ms/s", IDLE_TARGET)  # fmt: skip
    timed.close()


def _busy(work: Any) -> float:
    told = {one["name"]: one["value"] for one in work.send("Performance.getMetrics")["metrics"]}
    return float(told["TaskDuration"])


# Years of work


def _scale(browser: Browser, folder: Path) -> Iterator[Figure]:
    given = os.environ.get("SIGHTLINE_MANY", "")  # one that was made before by `python -m tests.many`
    server = Server(Path(given) if given else fill(folder)).start()
    try:
        timed = Timed(browser, server)
        timed.open("")
        _rest()
        for path, acts in ACTS.items():
            name = path or "ask"
            taken, sent = zip(*(timed.go(path) for _ in range(TIMES)), strict=True)
            yield _act(f"{name}: opened", list(taken), max(sent))
            settled(timed.page)
            for words, selector, how in acts:
                if not timed.page.locator(selector).count():
                    yield Figure(f"{name}: {words}", float("nan"), "s", note="not on this page")
                    continue
                acts_taken = []
                for _ in range(TIMES if how == "tick" else 1):
                    acts_taken.append(timed.act(lambda at=selector, how=how: _do(timed.page, at, how)))  # type: ignore[misc]
                    settled(timed.page)
                taken, sent = zip(*acts_taken, strict=True)
                yield _act(f"{name}: {words}", list(taken), max(sent))
        timed.close()
    finally:
        server.kill()


def _act(name: str, taken: list[float], sent: int) -> Figure:
    note = f"{sent / 1e6:.2f} MB of messages"
    return Figure(name, percentile(taken, 0.5), "s", ACT_TARGET, note=note)


def _do(page: Page, selector: str, how: str) -> None:
    kind, _, value = how.partition(":")
    found = page.locator(selector).first
    if kind == "type":
        found.fill(value)
        found.press("Enter")
    elif kind == "choose":
        found.click()
        page.locator("[role=option]").nth(int(value)).click()
    else:
        found.click()
