"""What the page costs and how soon it shows things, in Chromium against the real server.

An event's way to the screen is timed from the time that the run's store gives it to the frame after
its words are on the page, both by this machine's clock. A tick is one poll of a page that follows a
run; of those with nothing new the server leaves most out. Needs Chromium, and Linux for the server's processor time.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, percentile, processor
from tests.pages.serving import IDLE, Server, chromium, lacking

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SECONDS = 20.0  # how long the server's processor time is watched
DELAYS = ("0.6", "0.7", "0.8", "0.9", "1.0")  # so that events fall anywhere between two polls
RUNS = 4  # with each delay
EVENT_TARGET = 600.0  # milliseconds, at the 95th percentile
QUESTION = "What does a ticket to the Palace Museum cost, and who are its submariners?"

# Notes when each step's label is first on the screen, in milliseconds since 1970.
_NOTE = """() => {
    window.__seen = {};
    if (window.__looks) return;
    window.__looks = true;
    const look = () => {
        const now = performance.timeOrigin + performance.now();
        for (const step of document.querySelectorAll('[data-testid=stExpander]')) {
            const label = /(Plan|Round \\d+|Answer): \\d+(\\/\\d+)?/.exec(step.textContent);
            if (label) window.__seen[label[0]] ??= now;
        }
    };
    new MutationObserver(() => requestAnimationFrame(look)).observe(
        document.body, {subtree: true, childList: true, characterData: true});
}"""


def figures() -> Iterator[Figure]:
    if lacking():
        yield Figure("nothing measured", float("nan"), note=lacking())
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield from _following(browser, Path(folder) / "long")
        yield from _events(browser, Path(folder) / "events")
        browser.close()


# Processor time


def _following(browser: Browser, folder: Path) -> Iterator[Figure]:
    server = Server(folder, SIGHTLINE_SEARCH_DELAY="60").start()
    try:
        page = _open(browser, server)
        alone = _busy(server, page)[0]
        yield Figure("server CPU, page open, no run", alone / SECONDS, "ms/s")
        _ask(page)
        page.get_by_text("searching…").first.wait_for()
        busy, polls = _busy(server, page)
        note = f"{polls} ticks in {SECONDS:g} s"
        yield Figure("server CPU per follow tick", busy / polls, "ms", note=note)
        net = (busy - alone) / polls
        yield Figure("server CPU per follow tick, idle taken off", net, "ms", note=note)
    finally:
        server.kill()


def _busy(server: Server, page: Page) -> tuple[float, int]:
    """The server's milliseconds of processor time while it is watched, and the page's messages."""
    before, counted = processor(server.pid), page.evaluate("() => window.__sent")
    page.wait_for_timeout(SECONDS * 1000)
    return processor(server.pid) - before, page.evaluate("() => window.__sent") - counted


def _open(browser: Browser, server: Server) -> Page:
    """The Ask page; counts the messages that it sends to the server."""
    page = browser.new_context(locale="en-US").new_page()
    page.add_init_script(
        """window.__sent = 0;
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (...args) { window.__sent += 1; send.apply(this, args); };"""
    )
    page.goto(server.url)
    page.wait_for_selector(IDLE)
    return page


def _ask(page: Page) -> None:
    page.locator(".st-key-question textarea").fill(QUESTION)
    page.locator(".st-key-start button").click()


# Events


def _events(browser: Browser, folder: Path) -> Iterator[Figure]:
    late: list[float] = []
    for delay in DELAYS:
        server = Server(folder.with_name(delay), SIGHTLINE_SEARCH_DELAY=delay).start()
        try:
            page = _open(browser, server)
            for _ in range(RUNS):
                late += _run(server, page)
            page.context.close()
        finally:
            server.kill()
    note = f"{len(late)} events of {len(DELAYS) * RUNS} runs, 0.25 s poll"
    yield Figure("event to pixel, p50", percentile(late, 0.5), "ms", note=note)
    yield Figure("event to pixel, p95", percentile(late, 0.95), "ms", EVENT_TARGET, note=note)


def _run(server: Server, page: Page) -> list[float]:
    """The delays of one run; the page is then ready for another."""
    page.evaluate(_NOTE)
    _ask(page)
    page.wait_for_selector(".sl-answer > *")
    page.wait_for_selector(IDLE)
    late = _delays(server, page)
    page.locator('[class*="st-key-new"] button').click()
    page.wait_for_selector('[data-testid="stExpander"]', state="detached")
    return late


def _delays(server: Server, page: Page) -> list[float]:
    """Milliseconds from each event that changes a step's label to the label on the screen."""
    seen: dict[str, float] = page.evaluate("() => window.__seen")
    run_id = page.url.split("run=")[1][:32]
    rows = server.rows(
        "select kind, time, coalesce(json_extract(data, '$.task.round'), "
        "json_extract(data, '$.reflection.round')) from event where run=? order by seq",
        run_id,
    )
    happened: dict[str, float] = {}
    for kind, moment, round_ in rows:
        label = _label(kind, round_)
        if label:  # the last search of a round is the one that fills its label
            happened[label] = datetime.fromisoformat(moment).timestamp() * 1000
    shown = {label: _first(seen, label) for label in happened}
    return [when - happened[label] for label, when in shown.items() if when is not None]


def _label(kind: str, round_: int | None) -> str:
    """The pattern of the label that an event brings up; empty if it changes none."""
    return {
        "plan_made": r"Plan: \d+",
        "task_finished": rf"Round {round_}: (\d+)/\1",
        "reflection_made": rf"Round {(round_ or 0) + 1}: 0/\d+",
        "answer_written": r"Answer: \d+",
    }.get(kind, "")


def _first(seen: dict[str, float], pattern: str) -> float | None:
    """When a label of that pattern was first there; never, if the run ended before."""
    return min((at for label, at in seen.items() if re.fullmatch(pattern, label)), default=None)
