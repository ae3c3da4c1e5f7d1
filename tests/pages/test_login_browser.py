"""Two people on one desk, in Chromium: each signs in with the provider and reaches their own only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pages.shared import login
from research import Evidence, Plan, Run, RunOptions
from research.citations.registry import evidence_id
from research.core.records import Passage, Place, Task
from research.storage.store import Store
from tests.catalogue import WORDS
from tests.pages.serving import Server, acquaint, chromium, settled
from tests.pages.test_browser import DONE, EN, SKIPPED, Watched, ask, main
from tests.servers.oidc import FakeOIDC

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
SECRET = "0123456789abcdef0123456789abcdef0123456789a"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMES = {"ann": "Ann Li", "bob": "Bob Wang"}
MISSING = WORDS["ask.no_run"][1]
NEVER = ["stop_", "write_", "resume_", "more_", "approve_", "follow_", "again_", "download_"]


class Desk:
    """A server with a login, its provider, and what Ann has on it."""

    def __init__(self, folder: Path, indexed: Path, browser: Browser, provider: FakeOIDC) -> None:
        folder.mkdir()
        (folder / "library.db").write_bytes(indexed.read_bytes())
        secrets = folder.parent / "secrets.toml"
        returns = "http://127.0.0.1:{port}/oauth2callback"
        secrets.write_text(provider.secrets(SECRET, returns), encoding="utf-8")
        self.server = Server(folder, STREAMLIT_SECRETS_FILES=str(secrets)).start()
        self.browser, self.provider = browser, provider
        acquaint(folder, *map(self.owner, NAMES))
        provider.returns = {f"{self.server.url}/oauth2callback"}
        self._opened: list[Watched] = []

    def visitor(self, **options: Any) -> Watched:
        self._opened.append(Watched(self.browser, self.server, **options))
        return self._opened[-1]

    def enter(self, who: str, watched: Watched | None = None) -> Page:
        """Signs somebody in, as they would."""
        page = (watched or self.visitor()).open()
        page.locator(".st-key-sign_in button").click()
        page.get_by_role("button", name=NAMES[who]).click()
        page.wait_for_selector(".st-key-sign_out")
        settled(page)
        return page

    def owner(self, who: str) -> str:
        claims = {"is_logged_in": True, "iss": self.provider.base_url, "iat": NOW.timestamp()}
        return login.identify_visitor({**claims, **self.provider.people[who]}, NOW).owner

    def add(self, who: str, status: Any) -> str:
        """A run of somebody's in some state."""
        store = Store(self.server.folder / "runs.db")
        run = Run(
            id=f"{who}{status}".ljust(32, "0"), conversation=f"talk-{who}-{status}",
            owner=self.owner(who), question=f"The secret of {who}, {status}?", options=RunOptions(),
            status=status, created=NOW, finished=NOW,
        )  # fmt: skip
        plan = Plan(tasks=(Task(id="1.1", source="library", query="secret"),))
        store.add_run(run, plan, "")
        store.save_outcome(run.id, plan, [], None)
        store.close()
        return run.id

    def find(self, who: str, n: int, name: str) -> None:
        """A place that somebody has looked up."""
        url = f"https://www.amap.com/place/p{n}"
        spot = Place(id=f"p{n}", name=name, lng=116.4, lat=39.9, provider="amap", category="sight")
        found = Evidence(
            id=evidence_id("place", url, name), kind="place", title=name, url=url, locator=name,
            retrieved=NOW, passages=(Passage(id="p", text=name, end=len(name)),), place=spot,
        )  # fmt: skip
        store = Store(self.server.folder / "runs.db")
        store.add_evidence(store.place_registry(self.owner(who)), [found])
        store.close()

    def close(self) -> None:
        for watched in self._opened:
            watched.context.close()
        self.server.kill()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Desk]:
    from playwright.sync_api import sync_playwright

    with FakeOIDC() as provider, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        made = Desk(tmp_path_factory.mktemp("login") / "data", indexed, browser, provider)
        yield made
        made.close()
        browser.close()


@pytest.fixture(scope="module")
def ann(desk: Desk) -> Page:
    """Ann, with an answer before her."""
    page = desk.enter("ann")
    ask(page, EN)
    page.wait_for_selector(DONE)
    page.locator('[class*="st-key-download_md_"] button').wait_for()
    settled(page)
    return page


@pytest.fixture(scope="module")
def bob(desk: Desk, ann: Page) -> Page:
    return desk.enter("bob")


def go(page: Page, desk: Desk, path: str) -> Page:
    page.goto(desk.server.url + path)
    settled(page)
    return page


def keys(page: Page) -> str:
    """The keys of everything on the page."""
    classes = page.locator('[class*="st-key-"]').evaluate_all("all => all.map(e => e.className)")
    return " ".join(re.findall(r"st-key-(\S+)", " ".join(classes)))


def query(page: Page) -> str:
    return page.url.split("?")[1]


# Coming and going


def test_signing_in_and_out_breaks_no_rule_of_the_browser_s(desk: Desk) -> None:
    watched = desk.visitor()
    page = desk.enter("ann", watched)
    assert "Ann Li" in page.get_by_test_id("stSidebar").inner_text()
    page.locator(".st-key-sign_out button").click()
    page.wait_for_selector(".st-key-sign_in")
    assert page.get_by_test_id("stSidebarNavLink").count() == 0
    problems = [text for text in watched.problems if desk.provider.base_url not in text]
    assert problems == []  # the provider's own page has no icon


def test_the_screen_for_signing_in_shows_nothing_of_the_desk(desk: Desk) -> None:
    page = desk.visitor().open("/history")
    assert WORDS["login.title"][1] in main(page)
    assert page.get_by_test_id("stSidebarNavLink").count() == 0
    assert page.locator("textarea").count() == 0


def test_it_can_be_read_in_the_other_language(desk: Desk) -> None:
    page = desk.visitor().open("/?lang=zh")
    assert WORDS["login.lead"][0] in main(page)
    page.get_by_text("English", exact=True).click()
    page.get_by_text(WORDS["login.lead"][1]).wait_for()


@pytest.mark.parametrize("fault", ["signature", "nonce", "audience", "issuer", "expired"])
def test_a_token_that_is_not_right_lets_nobody_in(desk: Desk, fault: str) -> None:
    page = desk.visitor().open()
    desk.provider.faults = {fault}
    try:
        page.locator(".st-key-sign_in button").click()
        page.get_by_role("button", name=NAMES["ann"]).click()
        page.wait_for_url(re.compile(re.escape(desk.server.url)))
        page.wait_for_selector(".st-key-sign_in")
    finally:
        desk.provider.faults = set()
    assert page.locator(".st-key-sign_out").count() == 0


def test_somebody_without_a_subject_is_told_so(desk: Desk) -> None:
    desk.provider.people["eve"] = {"sub": "", "name": "Eve"}
    page = desk.visitor().open()
    page.locator(".st-key-sign_in button").click()
    page.get_by_role("button", name="Eve").click()
    page.get_by_text("sub or iss is missing").wait_for()
    assert page.get_by_test_id("stSidebarNavLink").count() == 0


def test_who_signs_in_after_another_one_finds_nothing_of_theirs(desk: Desk) -> None:
    watched = desk.visitor()
    page = desk.enter("ann", watched)
    ask(page, EN)
    page.wait_for_selector(DONE)
    left = query(page)
    page.locator(".st-key-sign_out button").click()
    page.wait_for_selector(".st-key-sign_in")
    page = desk.enter("bob", watched)
    assert page.locator(DONE).count() == 0
    go(page, desk, f"/?{left}")
    assert MISSING in main(page)


# What Bob gets of Ann's


def test_by_its_address_a_run_is_as_one_that_does_not_exist(desk: Desk, ann: Page, bob: Page) -> None:
    unknown = main(go(bob, desk, f"/?run={'0' * 32}"))
    assert main(go(bob, desk, f"/?{query(ann)}")) == unknown
    assert MISSING in unknown


@pytest.mark.parametrize("who", ["bob", "nobody"])
def test_the_file_of_a_download_is_refused(desk: Desk, ann: Page, bob: Page, who: str) -> None:
    with ann.expect_download() as file:
        ann.locator('[class*="st-key-download_md_"] button').click()
    assert EN in Path(file.value.path()).read_text(encoding="utf-8")
    address = file.value.url
    assert "/media/" in address
    assert ann.request.get(address).status == 200
    page = bob if who == "bob" else desk.visitor().open()
    answer = page.request.get(address)
    assert answer.status == {"bob": 404, "nobody": 403}[who]
    assert EN not in answer.text()


def test_a_file_that_is_made_when_asked_for_reaches_its_owner(desk: Desk) -> None:
    desk.find("ann", 1, "Ann's secret place")
    page = go(desk.enter("ann"), desk, "/places")
    with page.expect_download() as file:
        page.locator('[class*="st-key-download_geojson"] button').click()
    assert "Ann's secret place" in Path(file.value.path()).read_text(encoding="utf-8")


def test_places_that_she_found_are_not_on_his_map(desk: Desk, ann: Page, bob: Page) -> None:
    desk.find("ann", 2, "Her other place")
    assert WORDS["places.empty"][1] in main(go(bob, desk, "/places"))


def test_his_history_has_none_of_her_runs_and_no_way_to_manage_one(desk: Desk, ann: Page, bob: Page) -> None:
    desk.add("ann", "interrupted")
    go(bob, desk, "/history")
    assert "Palace Museum" not in main(bob)
    assert "The secret of ann" not in main(bob)
    assert not re.search(r"manage_|resume_|row_", keys(bob))


@pytest.mark.parametrize(
    ("status", "act"),
    [("stopped", "resume_"), ("failed", "resume_"), ("waiting", "approve_"), ("done", "follow_")],
)
def test_her_run_offers_what_can_be_done_to_her_and_not_to_him(
    desk: Desk, ann: Page, bob: Page, status: str, act: str
) -> None:
    run = desk.add("ann", status)
    hers = go(desk.enter("ann"), desk, f"/?run={run}")
    assert act in keys(hers)
    go(bob, desk, f"/?run={run}")
    assert MISSING in main(bob)
    assert not [key for key in NEVER if key in keys(bob).split("example_")[0]]
    rows = desk.server.rows("select status, owner from run where id=?", run)
    assert rows == [(status, desk.owner("ann"))]


def test_a_run_that_waits_is_in_her_sidebar_and_not_in_his(desk: Desk, ann: Page, bob: Page) -> None:
    desk.add("bob", "waiting")
    go(bob, desk, "/")
    sidebar = bob.get_by_test_id("stSidebar")
    sidebar.get_by_text("The secret of bob").wait_for()
    assert "The secret of ann" not in sidebar.inner_text()


def test_after_she_has_left_her_files_and_pages_are_closed_to_her_browser(desk: Desk) -> None:
    page = desk.enter("ann")
    ask(page, EN)
    page.wait_for_selector(DONE)
    with page.expect_download() as file:
        page.locator('[class*="st-key-download_md_"] button').click()
    before = query(page)
    page.locator(".st-key-sign_out button").click()
    page.wait_for_selector(".st-key-sign_in")
    assert page.request.get(file.value.url).status == 403
    go(page, desk, f"/?{before}")
    assert page.locator(DONE).count() == 0
    assert WORDS["login.title"][1] in main(page)


def test_a_copied_cookie_opens_nothing_in_another_browser_once_she_has_signed_out(
    desk: Desk,
) -> None:
    page = desk.enter("ann")
    copied = [one for one in page.context.cookies() if one["name"].startswith("_streamlit_user")]
    thief = desk.visitor()
    thief.context.add_cookies(copied)  # type: ignore[arg-type]
    stolen = thief.open()
    stolen.wait_for_selector(".st-key-sign_out")
    page.locator(".st-key-sign_out button").click()
    page.wait_for_selector(".st-key-sign_in")
    stolen.get_by_test_id("stSidebarNavLink").nth(1).click()  # a page that was open before
    stolen.get_by_text(WORDS["login.ended"][1]).wait_for()
    again = desk.visitor()
    again.context.add_cookies(copied)  # type: ignore[arg-type]
    outside = again.open()
    assert WORDS["login.title"][1] in main(outside)
    assert outside.get_by_test_id("stSidebarNavLink").count() == 0
    assert outside.request.get(f"{desk.server.url}/page-pictures/1/1").status == 403
    outside.locator(".st-key-sign_in button").click()  # and a new sign-in is as good as ever
    outside.get_by_role("button", name=NAMES["ann"]).click()
    outside.wait_for_selector(".st-key-sign_out")


def test_signing_out_everywhere_ends_her_other_browsers_and_nobody_else_s(desk: Desk) -> None:
    first, second, his = desk.enter("ann"), desk.enter("ann"), desk.enter("bob")
    first.get_by_role("button", name=WORDS["login.everywhere"][1]).click()
    first.wait_for_selector(".st-key-sign_in")
    go(second, desk, "/history")
    assert WORDS["login.ended"][1] in main(second)
    go(his, desk, "/history")
    assert his.locator(".st-key-sign_out").count() == 1


def test_a_link_an_image_or_a_form_of_another_site_signs_nobody_out(desk: Desk) -> None:
    page = desk.enter("ann")
    out = f"{desk.server.url}/auth/logout"
    elsewhere = page.context.new_page()
    for site in (desk.provider.base_url, "about:blank"):  # of the same host, and of none
        for trick in (
            f'<a id="go" href="{out}">go</a>',
            f'<form action="{out}"><button id="go">go</button></form>',
            f'<a id="go" href="#">go</a><img src="{out}"><link rel="prefetch" href="{out}">',
        ):
            elsewhere.goto(site)
            elsewhere.set_content(trick)
            elsewhere.locator("#go").click()
            elsewhere.wait_for_load_state("networkidle")
    elsewhere.goto(out)  # as a link in a letter opens it
    assert "Sign out on a page" in elsewhere.content()
    page.reload()
    settled(page)
    assert page.locator(".st-key-sign_out").count() == 1


def test_who_deletes_all_that_is_theirs_is_signed_out_everywhere_and_told_what_is_gone(
    desk: Desk,
) -> None:
    desk.provider.people["dee"] = {"sub": "0004", "name": "Dee"}
    acquaint(desk.server.folder, desk.owner("dee"))
    NAMES["dee"] = "Dee"
    page, other = desk.enter("dee"), desk.enter("dee")
    go(page, desk, "/status")
    page.locator(".st-key-wipe button").click()
    page.locator(".st-key-wipe_word input").fill(WORDS["wipe.word"][1])
    page.locator(".st-key-wipe_word input").press("Enter")
    page.locator(".st-key-wipe_go button:enabled").click()
    page.wait_for_selector(".st-key-sign_in")
    assert WORDS["wiped.done"][1].partition("{")[0] in main(page)
    go(other, desk, "/history")
    assert WORDS["login.ended"][1] in main(other)


def test_no_secret_is_in_the_server_s_log(desk: Desk, ann: Page, bob: Page) -> None:
    log = desk.server.log.read_text(encoding="utf-8")
    assert SECRET not in log
    assert "no secret at all" not in log
