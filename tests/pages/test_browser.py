"""The running app in Chromium: what only a real browser and a real server can show."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.catalogue import WORDS
from tests.pages.serving import FIRST, Server, lacking, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WANTED = os.environ.get("SIGHTLINE_BROWSER_TESTS") == "1"
SKIPPED = lacking() if WANTED else "set SIGHTLINE_BROWSER_TESTS=1 to drive Chromium"
pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
EN = "What does a ticket to the Palace Museum cost, and when is it closed?"
ZH = "故宫博物院的门票多少钱，周几闭馆？"
PAGES = {"": "What do you want to find out?", "news": "News report", "tables": "Tables", "places": "Places", "database": "Ask the database", "library": "Library", "history": "History", "settings": "Settings", "status": "Status", "help": "Help"}  # fmt: skip
MENU = [
    "Ask", "News", "Tables", "Places", "Database", "Library", "History", "Settings", "Status", "Help",
]  # fmt: skip
HEADINGS = dict(zip(MENU, PAGES.values(), strict=True))
LONG = "60"  # seconds that a search waits: longer than any test that watches it, also on a busy machine
STOP = '[class*="st-key-stop_"] button'
DONE = ".sl-answer > *"
USUAL = {
    "locale": "en-US",
    "timezone_id": "Asia/Shanghai",
    "viewport": {"width": 1280, "height": 900},
}


class Watched:
    """A browser context that remembers what went wrong in it and whom it asked for anything."""

    def __init__(self, browser: Browser, server: Server, **options: Any) -> None:
        self.server = server
        self.context: BrowserContext = browser.new_context(**(USUAL | options))
        self.context.set_default_timeout(FIRST)
        self.hosts: set[str] = set()
        self.problems: list[str] = []
        self.context.on("request", lambda request: self._asked(request.url))
        self.context.on("console", lambda message: self._said(message))
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))

    def _asked(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob"):
            self.hosts.add(urlsplit(url).netloc)

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, path: str = "/") -> Page:
        """A tab at an address of the server."""
        page = self.context.new_page()
        page.on("websocket", lambda socket: self._asked(socket.url))
        page.goto(self.server.url + path)
        settled(page)
        return page

    def check(self) -> None:
        """No error in the console, and nobody asked but the server."""
        assert self.problems == []
        assert self.hosts <= {urlsplit(self.server.url).netloc}


Watch = Callable[..., Watched]
Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path, indexed: Path) -> Iterator[Serve]:
    """Starts servers for one test, each on a data folder of its own."""
    made: list[Server] = []

    def make(**settings: str) -> Server:
        made.append(started(tmp_path / f"data{len(made)}", indexed, **settings))
        return made[-1]

    yield make
    for found in made:
        found.kill()


@pytest.fixture
def watch(browser: Browser, serve: Serve) -> Iterator[Watch]:
    """Makes browser contexts; each is checked at the end of the test, before its server ends."""
    made: list[tuple[Watched, bool]] = []

    def make(server: Server, *, strict: bool = True, **options: Any) -> Watched:
        made.append((Watched(browser, server, **options), strict))
        return made[-1][0]

    yield make
    for watched, _ in made:
        watched.context.close()
    for watched, strict in made:
        if strict:
            watched.check()


def started(folder: Path, indexed: Path, **settings: str) -> Server:
    """A server whose sample library is indexed already."""
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    return Server(folder, **{"SIGHTLINE_SOURCES": "places,library"} | settings).start()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    found = started(tmp_path_factory.mktemp("quick") / "data", indexed)
    yield found
    found.kill()


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    """A server whose runs stay under way for as long as a test looks at them."""
    folder = tmp_path_factory.mktemp("slow") / "data"
    found = started(folder, indexed, SIGHTLINE_SEARCH_DELAY=LONG, SIGHTLINE_SEARCH_TIMEOUT="600")
    yield found
    found.kill()


def ask(page: Page, question: str) -> str:
    """Types a question and starts it; returns the run's id."""
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-start button").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    return run_of(page)


def run_of(page: Page) -> str:
    return dict(part.split("=", 1) for part in urlsplit(page.url).query.split("&"))["run"]


def goto(page: Page, label: str) -> None:
    page.get_by_test_id("stSidebarNavLink").get_by_text(label, exact=True).click()


def main(page: Page) -> str:
    return page.get_by_test_id("stMain").inner_text()


# Questions and answers


@pytest.mark.parametrize(("question", "words"), [(EN, "60 yuan"), (ZH, "60元")], ids=["english", "chinese"])
def test_a_question_has_an_answer_of_quotes(watch: Watch, server: Server, question: str, words: str) -> None:
    page = watch(server).open()
    ask(page, question)
    page.wait_for_selector(".sl-quote")
    quotes = page.locator(".sl-quote").all_inner_texts()
    assert any(words in quote for quote in quotes)
    assert page.locator(".sl-quote .sl-cite").count() == len(quotes)


def test_a_citation_opens_its_passage_with_the_quote_marked(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    ask(page, EN)
    cite = page.locator(".sl-cite").first
    passage = page.locator(f"#{cite.get_attribute('aria-controls')}")
    assert passage.is_hidden()
    cite.click()
    assert passage.is_visible()
    assert cite.get_attribute("aria-expanded") == "true"
    quote = page.locator(".sl-quote").first.text_content() or ""
    assert quote.startswith(f"“{passage.locator('mark').text_content()}”")
    assert cite.inner_text() in passage.locator("strong").inner_text()
    assert passage.locator("a").get_attribute("rel") == "noopener noreferrer"
    page.keyboard.press("Escape")
    assert passage.is_hidden()
    cite.click()
    cite.click()
    assert passage.is_hidden()


def test_a_citation_is_reached_and_opened_by_the_keyboard(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    ask(page, EN)
    page.wait_for_selector(DONE)
    settled(page)
    page.locator('[class*="st-key-activity_folded"] summary').first.focus()
    page.keyboard.press("Tab")
    assert page.locator(".sl-counts > summary:focus").count() == 1
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    assert "sl-cite" in (focused.get_attribute("class") or "")
    passage = page.locator(f"#{focused.get_attribute('aria-controls')}")
    page.keyboard.press("Enter")
    assert passage.is_visible()
    page.keyboard.press("Tab")
    assert page.locator(".sl-close:focus").count() == 1
    for _ in range(2):  # the note on the passage, and its source
        page.keyboard.press("Tab")
        assert passage.locator(":focus").count() == 1
    page.keyboard.press("Escape")
    assert passage.is_hidden()
    assert "sl-cite" in (page.locator(":focus").get_attribute("class") or "")


def test_an_open_passage_stays_open_when_the_language_changes(watch: Watch, serve: Serve) -> None:
    page = watch(serve()).open()  # a server of its own: the language is kept for all that come after
    ask(page, EN)
    cite = page.locator(".sl-cite").first
    cite.click()
    passage = page.locator(f"#{cite.get_attribute('aria-controls')}")
    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.wait_for_function("() => document.body.innerText.includes('另见')")
    assert passage.is_visible()
    assert "lang=zh" in page.url


def test_an_example_can_be_asked_with_two_clicks(watch: Watch, server: Server) -> None:
    page = watch(server).open("/?lang=zh")
    page.locator(".st-key-example_0 button").click()
    box = page.locator(".st-key-question textarea")
    page.wait_for_function("() => document.querySelector('.st-key-question textarea').value")
    assert "故宫" in box.input_value()
    page.locator(".st-key-start button").click()
    page.wait_for_selector(".sl-quote")


def test_a_question_can_be_sent_by_the_keyboard(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    page.locator(".st-key-question textarea").fill(EN)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sl-quote")


def test_a_plan_can_be_seen_first_and_started(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    page.locator(".st-key-question textarea").fill(EN)
    page.locator(".st-key-plan_first button").click()
    page.get_by_test_id("stDataFrame").wait_for()
    assert "run=" not in page.url
    page.locator(".st-key-start_draft button").click()
    page.wait_for_selector(".sl-quote")


def test_an_answer_is_taken_away_as_a_file(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    ask(page, EN)
    with page.expect_download() as download:
        page.locator('[class*="st-key-download_md_"] button').click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith(".md")
    assert EN in text
    assert "](#s1)" in text
    page.get_by_role("button", name=WORDS["download.more"][1]).click()
    with page.expect_download() as download:
        page.locator('[class*="st-key-download_json_"] button').click()
    assert json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    page.reload()
    page.get_by_role("button", name="Download JSON").wait_for()


def test_a_long_question_is_refused_and_stays_in_the_box(watch: Watch, server: Server) -> None:
    page = watch(server).open()
    before = server.count("run")
    question = "票价 how much " * 1700
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-start button").click()
    page.get_by_test_id("stAlert").wait_for()
    assert f"{len(question.strip()):,}" in page.get_by_test_id("stAlert").inner_text()
    assert page.locator(".st-key-question textarea").input_value() == question
    assert server.count("run") == before


def test_no_page_asks_another_host_for_anything_or_logs_an_error(watch: Watch, server: Server) -> None:
    watched = watch(server)
    page = watched.open()
    ask(page, EN)
    page.wait_for_selector(DONE)
    for label in [*MENU[1:], MENU[0]]:
        goto(page, label)
        settled(page)  # not the network: Streamlit asks for a download and leaves its body unread
    for path in PAGES:
        watched.open(f"/{path}").wait_for_load_state("networkidle")
    watched.check()


# A run under way


class UnderWay:
    """A tab that shows a run under way, and what the store knew of it then."""

    def __init__(self, watched: Watched) -> None:
        self.watched, self.server = watched, watched.server
        self.page = watched.open()
        self.id = ask(self.page, EN)
        self.shown(self.page)
        self.runs = self.server.count("run")

    def shown(self, page: Page) -> None:
        """The page shows this run, still going on."""
        page.wait_for_selector(f'[class*="st-key-stop_{self.id[:8]}"] button')
        page.get_by_text("searching…").first.wait_for()
        assert run_of(page) == self.id

    def same(self, page: Page) -> None:
        """The page shows this run going on, and nothing was started or searched again."""
        self.shown(page)
        assert self.server.count("run") == self.runs
        told = self.server.rows("select kind, count(*) from event where run=? group by kind", self.id)
        assert dict(told)["task_started"] == self.server.count(
            "(select distinct json_extract(data, '$.task.id') from event where run=? and kind='task_started')",
            self.id,
        )
        assert "task_finished" not in dict(told)
        assert self.server.count("search where run=?", self.id) == 0
        assert self.server.rows("select status from run where id=?", self.id) == [("running",)]

    def end(self) -> None:
        self.page.locator(STOP).click()
        self.page.get_by_text("Stopped", exact=True).wait_for()


@pytest.fixture
def under_way(watch: Watch, slow: Server) -> Iterator[UnderWay]:
    found = UnderWay(watch(slow))
    yield found
    if not found.page.is_closed():
        found.end()


def test_a_refresh_shows_the_same_run_going_on(under_way: UnderWay) -> None:
    under_way.page.reload()
    under_way.same(under_way.page)


def test_a_look_at_every_other_page_leaves_the_run_going_on(under_way: UnderWay) -> None:
    page = under_way.page
    for label in MENU[1:]:
        goto(page, label)
        page.get_by_role("heading", name=HEADINGS[label], exact=True).wait_for()
        assert "In progress" in page.get_by_test_id("stSidebar").inner_text()
    goto(page, "Ask")
    under_way.same(page)


def test_the_sidebar_leads_back_to_the_run(under_way: UnderWay) -> None:
    page = under_way.page
    goto(page, "History")
    page.get_by_role("heading", name="History", exact=True).wait_for()
    page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink").click()
    under_way.same(page)


def test_a_closed_tab_is_reopened_by_its_address(under_way: UnderWay) -> None:
    address = under_way.page.url
    under_way.page.close()
    under_way.page = under_way.watched.open(address.removeprefix(under_way.server.url))
    under_way.same(under_way.page)


def test_a_second_browser_shows_the_same_run(under_way: UnderWay, watch: Watch) -> None:
    other = watch(under_way.server).open(f"/?run={under_way.id}")
    under_way.same(other)
    under_way.same(under_way.page)
    other.locator(STOP).click()
    under_way.page.get_by_text("Stopped", exact=True).wait_for()
    under_way.page.locator('[class*="st-key-resume_"] button').click()
    under_way.shown(under_way.page)
    other.locator('[class*="st-key-resume_"] button').wait_for()


def test_a_click_on_a_widget_does_not_disturb_the_run(under_way: UnderWay) -> None:
    page = under_way.page
    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.get_by_text("搜索中……").first.wait_for()
    page.get_by_test_id("stSidebar").get_by_text("English").click()
    under_way.same(page)
    plan = page.locator('[class*="st-key-step_plan_"]')
    plan.locator("summary").click()
    plan.locator("li").first.wait_for()
    ticks(page, 3)
    assert plan.locator("li").first.is_visible()
    under_way.same(page)


def ticks(page: Page, number: int) -> None:
    """Waits until the page has drawn the run's age so many times more."""
    page.evaluate(
        """() => { window.__ages = new Set(); window.__look = setInterval(() => {
            const age = /\\d+ s\\b/.exec(document.querySelector('[data-testid=stMain]').innerText);
            if (age) window.__ages.add(age[0]); }, 50); }"""
    )
    page.wait_for_function(f"() => window.__ages.size > {number}")
    page.evaluate("() => clearInterval(window.__look)")


def test_stop_shows_within_a_second(watch: Watch, slow: Server) -> None:
    page = watch(slow).open()
    run_id = ask(page, EN)
    page.get_by_text("searching…").first.wait_for()
    page.evaluate(
        """() => {
            document.addEventListener('click', (event) => {
                if (event.target.closest('[class*="st-key-stop_"]')) window.__clicked ??= performance.now();
            }, true);
            new MutationObserver(() => {
                const badge = [...document.querySelectorAll('.stMarkdownBadge')].some((b) => b.innerText === 'Stopped');
                if (badge) window.__stopped ??= performance.now();
            }).observe(document.body, {subtree: true, childList: true, characterData: true});
        }"""
    )
    page.locator(STOP).click()
    page.wait_for_function("() => window.__stopped")
    assert page.evaluate("() => window.__stopped - window.__clicked") < 1000
    assert slow.rows("select status from run where id=?", run_id) == [("stopped",)]
    page.locator(f".st-key-resume_{run_id[:8]} button").wait_for()


# The first request, and the end of a server


@pytest.mark.parametrize("path", ["", "news", "database"], ids=lambda path: path or "ask")
def test_the_first_request_to_a_fresh_server_may_be_any_page(watch: Watch, serve: Serve, path: str) -> None:
    page = watch(serve()).open(f"/{path}?run=abc")
    page.get_by_role("heading", name=PAGES[path], exact=True).wait_for()
    links = page.get_by_test_id("stSidebarNavLink").get_by_test_id("stMarkdownContainer")
    assert links.all_inner_texts() == MENU
    page.get_by_test_id("stSidebar").get_by_text("中文").wait_for()
    assert urlsplit(page.url).path == f"/{path}"
    assert run_of(page) == "abc"
    assert "There is no run with this ID" in main(page)


def test_a_killed_server_comes_back_and_one_click_resumes_the_run(watch: Watch, serve: Serve) -> None:
    server = serve(SIGHTLINE_SEARCH_DELAY="1.5", MAX_RESEARCH_LOOPS="3")
    finished = "select id, key, started, finished from search where run=? and finished is not null order by id"
    page = watch(server, strict=False).open()
    run_id = ask(page, "What does a ticket to the Palace Museum cost, and who are its submariners?")
    page.get_by_text("Round 2").first.wait_for()
    server.kill()
    before = server.rows(finished, run_id)
    assert before
    assert server.rows("select status from run where id=?", run_id) == [("running",)]
    server.start()
    fresh = watch(server).open("/history")
    fresh.get_by_text("Interrupted", exact=True).wait_for()
    fresh.locator(f".st-key-resume_{run_id} button").click()
    fresh.wait_for_selector(".sl-quote")
    assert run_of(fresh) == run_id
    after = server.rows(finished, run_id)
    assert after[: len(before)] == before
    keys = [key for _, key, _, _ in after]
    assert len(keys) == len(set(keys))
    assert len(keys) > len(before)
    assert server.rows("select id, status from run") == [(run_id, "done")]


# Hostile text


class Listener:
    """A server that nobody should ask for anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


SOCKETS = """(addresses) => Promise.all(addresses.map((address) => new Promise((told) => {
  const socket = new WebSocket(address, ["streamlit"]);
  socket.onopen = () => { socket.close(); told("open"); };
  socket.onerror = () => told("closed");
})))"""


def test_a_script_opens_sockets_to_the_server_and_to_nobody_else(
    watch: Watch, server: Server, listener: Listener
) -> None:
    own, other = (f"ws{url.removeprefix('http')}/" for url in (server.url, listener.url))
    watched = watch(server, strict=False)
    page = watched.open("/library")
    asked = [f"{own}_stcore/stream", other, other.replace("127.0.0.1", "localhost")]
    assert page.evaluate(SOCKETS, asked) == ["open", "closed", "closed"]
    assert listener.asked == []
    assert sum("connect-src 'self'" in problem for problem in watched.problems) == 2


def hostile(url: str) -> str:
    """Every way in that Markdown, HTML and Streamlit's own marks offer, on one line."""
    return (
        f"<img src='{url}/html' onerror='window.__pwned=1'> "
        "<script>window.__pwned=2</script> [go](javascript:window.__pwned=3) "
        f"<iframe src='{url}/frame'></iframe> <link rel=stylesheet href='{url}/style'> "
        f"$a and b$ :red[x] :material/search\\: `code` **bold** ![x]({url}/markdown)"
    )


def unfold(page: Page) -> None:
    """Opens every passage and every step."""
    for cite in page.locator(".sl-cite").all():
        cite.click()
    for step in page.get_by_test_id("stExpander").locator("summary").all():
        step.click()


def untouched(page: Page, listener: Listener) -> None:
    """No script ran, nothing was fetched, no markup came out of the text."""
    assert page.evaluate("() => window.__pwned") is None
    assert listener.asked == []
    area = page.get_by_test_id("stMain")
    own = 'iframe:not([title="streamlit_folium.st_folium"])'  # the map is a frame of ours
    assert area.locator(f"script, {own}, link, img[src*='127.0.0.1'], .katex").count() == 0
    assert area.locator("a[href^='javascript' i]").count() == 0


def test_hostile_documents_and_file_names_stay_text(watch: Watch, serve: Serve, listener: Listener) -> None:
    text = hostile(listener.url)
    first = text[: text.index("!")]  # where a sentence may end
    name = "![n](x) <img src=x onerror=window.__pwned=4> $1 and y$ :red[n] `c`"
    tickets = f"A ticket to the {{}} Tower costs 12 yuan {text} for everybody.\n"
    files = [
        (f"{name}.txt", f"Crooked Tower {text}\n\n{tickets.format('Crooked')}"),
        ("marked.md", f"# Painted Tower {text}\n\n{tickets.format('Painted')}"),
        ("page.html", f"<title>Tin Tower {text}</title><p>{tickets.format('Tin')}</p>"),
    ]
    page = watch(serve()).open("/library")
    page.locator(".st-key-files_0 input[type=file]").set_input_files(
        [{"name": n, "mimeType": "text/plain", "buffer": t.encode()} for n, t in files]
    )
    page.get_by_text("My documents (3)").wait_for()
    assert "3 added" in main(page)
    untouched(page, listener)
    page.locator(".st-key-library_query input").fill("Crooked Tower ticket")
    page.keyboard.press("Enter")
    page.get_by_text("costs 12 yuan").first.wait_for()
    assert first in main(page)
    untouched(page, listener)
    goto(page, "Ask")
    ask(page, "What does a ticket to the Crooked Tower cost?")
    page.wait_for_selector(".sl-quote")
    settled(page)
    unfold(page)
    assert first in page.locator(".sl-answer").inner_text()
    assert name in page.locator(".sl-answer").inner_text()
    assert page.locator(".sl-answer img, .sl-answer a[href*='pwned']").count() == 0
    untouched(page, listener)
    for label in MENU[1:]:
        goto(page, label)
        page.get_by_role("heading", name=HEADINGS[label], exact=True).wait_for()
        settled(page)
        untouched(page, listener)


def test_a_hostile_question_stays_text_on_every_page(watch: Watch, server: Server, listener: Listener) -> None:
    page = watch(server).open()
    question = f"What does the Palace Museum {hostile(listener.url)} cost?"
    ask(page, question)
    page.wait_for_selector(DONE)
    settled(page)
    heading = page.get_by_test_id("stHeading").first.inner_text()
    assert heading[:300] == question[:300]
    unfold(page)
    untouched(page, listener)
    goto(page, "History")
    page.get_by_text("What does the Palace Museum <img").first.wait_for()
    untouched(page, listener)


def test_a_hostile_address_stays_text(watch: Watch, server: Server, listener: Listener) -> None:
    page = watch(server).open(f"/?run=<img src=x onerror=window.__pwned=1>![x]({listener.url}/run)&lang=<script>")
    page.get_by_text("There is no run with this ID").wait_for()
    untouched(page, listener)


# Layout


def test_a_run_under_way_fits_a_narrow_screen_and_leaves_its_title_room(watch: Watch, slow: Server) -> None:
    page = watch(slow, viewport={"width": 390, "height": 844}).open()
    ask(page, EN)
    page.get_by_text("searching…").first.wait_for()
    fits(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        settled(page)
        above = page.evaluate(
            """(stop) => {
                const title = document.createRange();
                title.selectNodeContents(document.querySelector(".st-key-asked h1"));
                return document.querySelector(stop).getBoundingClientRect().top - title.getBoundingClientRect().bottom;
            }""",
            STOP,
        )
        assert above >= 6, "what stops the run does not touch its title"
    page.locator(STOP).click()
    page.get_by_text("Stopped", exact=True).wait_for()


def fits(page: Page) -> None:
    """Neither the page nor its main area is wider than the screen."""
    wide = page.evaluate(
        """() => ['html', '[data-testid=stMain]'].map((s) => document.querySelector(s))
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wide == [0, 0]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_address_without_a_page_says_so_and_leads_to_ask(watch: Watch, server: Server, lang: str) -> None:
    chinese = lang == "zh"
    watched = watch(server)
    page = watched.open("/")
    for path in ("/nosuch", "/no/such", "/没有", "/no%20such"):
        page.goto(f"{server.url}{path}?lang={lang}")
        settled(page)
        assert page.get_by_role("heading").first.inner_text() == WORDS["nowhere.title"][not chinese]
        assert page.get_by_role("dialog").count() == 0
        assert page.locator('[data-testid="stSidebarNavLink"][aria-current="page"]').count() == 0
        page.get_by_test_id("stMain").get_by_text(WORDS["nowhere.ask"][not chinese]).click()
        page.locator(".st-key-question textarea").wait_for()
        assert "such" not in page.url
    watched.check()
