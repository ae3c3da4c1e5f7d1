"""Questions to a database in Chromium: table and map select each other, files, and hostile cells."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openpyxl import load_workbook
from pyarrow import parquet

from research.core.display_names import column_heading
from tests.catalogue import WORDS
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
QUESTION = {"zh": "浙江有哪些5A景区？", "en": "Which 5A areas are in Zhejiang?"}
COUNT = {"zh": "各省5A景区数量", "en": "How many 5A areas does each province have?"}
FRAME = 'iframe[title="streamlit_folium.st_folium"]'
CHART = '[data-testid="stVegaLiteChart"]'
TABLE = '[data-testid="stDataFrame"]:not([class*="st-key-activity_"] *)'  # none of the run's own
PWNED = "window.__pwned !== undefined"
ROW = 33  # pixels of a row of a table, about
HOSTILE = [
    "<img src=x onerror=window.__pwned=1>",
    "[x](javascript:window.__pwned=1)",
    "=cmd|'/c calc'!A1",
    "$\\LaTeX$",
    ":material/x:",
    "![x](https://evil.example/p.png)",
    "javascript:window.__pwned=1",
]
LONG = "湖" * 34_000  # 100 kB  # fmt: skip

Watch = Callable[..., Watched]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    found = started(tmp_path_factory.mktemp("sights") / "data", indexed)
    yield found
    found.kill()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    """A server with an attached database whose every text is hostile, and which has points."""
    folder = tmp_path_factory.mktemp("own")
    connection = sqlite3.connect(folder / "own.db")
    with connection:
        connection.execute(
            'CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT, "a.b[c]""d\'" TEXT, image TEXT,'
            " price REAL, lng REAL, lat REAL)"
        )
        connection.executemany(
            "INSERT INTO goods VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (n, text, text[:99], text[:99], n * 1.5, 120 + n / 10, 30 + n / 10)
                for n, text in enumerate([*HOSTILE, LONG], 1)
            ],
        )
    connection.close()
    found = started(folder / "data", indexed, DATABASE_URL=f"sqlite:///{folder / 'own.db'}")
    yield found
    found.kill()


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    """Makes browser contexts; each is checked at the end of the test."""
    made: list[Watched] = []

    def make(server: Server, **options: Any) -> Watched:
        made.append(Watched(browser, server, **options))
        return made[-1]

    yield make
    for analyst in made:
        analyst.context.close()
        analyst.check()


def ask(page: Page, question: str) -> None:
    """Asks and waits for what is found."""
    page.locator(".st-key-database_question textarea").fill(question)
    send(page)


def typed(page: Page, sql: str) -> None:
    page.locator(".st-key-database_mode button").nth(1).click()
    page.locator(".st-key-database_sql textarea").fill(sql)
    send(page)


def send(page: Page) -> None:
    page.locator(".st-key-database_go button").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    page.locator('[class*="st-key-edit_"] button').wait_for()
    settled(page)


def map_of(page: Page) -> Frame:
    page.wait_for_selector(FRAME)
    frame = page.locator(FRAME).first.element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector(".sl-pin")
    return frame


def picked(page: Page, frame: Frame, n: int) -> None:
    """The marker, the list and the words below the table all say that this row is selected."""
    frame.wait_for_function("n => map.sightline.selected?.sightline === n", arg=n)
    page.wait_for_selector(f'.sl-place[aria-current="true"][data-n="{n}"]')
    page.get_by_text(re.compile(rf"(Row {n}|第 {n} 行) — ")).wait_for()
    settled(page)


def click(page: Page, row: int, x: int = 18) -> None:
    """Clicks in a row of the table: on its box, or further right in a cell."""
    table = page.locator(TABLE).first
    table.evaluate("node => node.scrollIntoView({ block: 'center' })")
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x, box["y"] + ROW * row + ROW / 2)
    page.wait_for_timeout(150)
    settled(page)


def taken(page: Page, kind: str) -> tuple[str, bytes]:
    with page.expect_download() as download:
        page.locator(f'[class*="st-key-rows_{kind}_"] button').first.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def cells(page: Page) -> list[list[str]]:
    """What the table says to those who cannot see its canvas."""
    settled(page)
    found = page.wait_for_function(
        """table => {
            const rows = document.querySelector(table)?.querySelectorAll('canvas table tbody tr');
            const read = (row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent);
            return rows?.length ? [...rows].map(read) : null;
        }""",
        arg=TABLE,
    )
    out: list[list[str]] = found.json_value()
    return out


# A question


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_table_and_map_select_each_other(watch: Watch, server: Server, lang: str) -> None:
    page = watch(server).open(f"/database?lang={lang}")
    ask(page, QUESTION[lang])
    frame = map_of(page)
    frame.evaluate("window.__same = true")
    click(page, 3)
    picked(page, frame, 3)
    click(page, 6, x=200)
    picked(page, frame, 6)
    page.locator('.sl-place[data-n="2"]').click()
    picked(page, frame, 2)
    pin = frame.locator(".sl-pin:not(.sl-picked)").first
    n = int((pin.get_attribute("aria-label") or "").split()[0])
    pin.click()
    picked(page, frame, n)
    click(page, 4)
    picked(page, frame, 4)
    click(page, 4)  # takes the selection back
    frame.wait_for_function("() => !map.sightline.selected")
    assert page.get_by_text(re.compile(r"(Row \d+|第 \d+ 行) — ")).count() == 0
    assert frame.evaluate("window.__same"), "the frame was not loaded anew"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_counts_have_a_chart_in_words_of_the_visitor(watch: Watch, server: Server, lang: str) -> None:
    page = watch(server).open(f"/database?lang={lang}")
    ask(page, COUNT[lang])
    page.wait_for_selector(f"{CHART} canvas, {CHART} svg")
    assert page.locator(FRAME).count() == 0
    assert WORDS["rows.statement"][lang == "en"] in page.get_by_test_id("stMain").inner_text()


def test_a_refresh_and_the_page_of_questions_show_the_same(watch: Watch, server: Server) -> None:
    analyst = watch(server)
    page = analyst.open("/database")
    ask(page, QUESTION["en"])
    before = cells(page)
    assert len(before) > 5
    page.reload()
    page.locator('[class*="st-key-edit_"] button').wait_for()
    assert cells(page) == before
    other = analyst.context.new_page()
    other.goto(server.url + "/?" + page.url.partition("?")[2])
    other.locator('[class*="st-key-edit_"] button').wait_for()
    assert cells(other) == before
    map_of(other)


def test_the_rows_are_taken_away_with_their_types(watch: Watch, server: Server) -> None:
    page = watch(server).open("/database")
    ask(page, QUESTION["zh"])
    name, data = taken(page, "csv")
    assert re.fullmatch(r"sightline-[0-9]{8}-[0-9]{4}-\w{8}-rows\.csv", name)
    lines = list(csv.DictReader(StringIO(data.decode("utf-8-sig"))))
    assert len(lines) == 22
    assert {line["province"] for line in lines} == {"浙江省"}
    _, data = taken(page, "xlsx")
    sheet = load_workbook(BytesIO(data))["rows"]
    assert [cell.value for cell in sheet[1]] == [column_heading(name, "en") for name in lines[0]]
    assert "Zhejiang" in {cell.value for cell in sheet[2]}
    assert isinstance(sheet["A2"].value, int)
    _, data = taken(page, "parquet")
    table = parquet.read_table(BytesIO(data))
    assert table.num_rows == 22
    assert str(table.schema.field("lng_wgs84").type) == "double"


def test_a_citation_opens_the_statement_as_code_and_a_row_by_its_cells(watch: Watch, server: Server) -> None:
    page = watch(server).open("/database?lang=zh")
    ask(page, QUESTION["zh"])
    first = page.locator(".sl-cite").first
    first.click()
    statement = page.locator(f"#{first.get_attribute('aria-controls')}")
    assert statement.locator("pre code").inner_text().startswith("SELECT")
    page.locator(".sl-rows summary").click()
    second = page.locator(".sl-rows .sl-cite").first
    second.click()
    row = page.locator(f"#{second.get_attribute('aria-controls')}")
    assert row.locator("dt").all_text_contents()[:2] == ["景区编号", "名称"]
    assert "浙江省" in row.locator("dd").all_text_contents()


def test_a_statement_is_confirmed_used_and_taken_back(watch: Watch, server: Server) -> None:
    page = watch(server).open("/database?lang=en")
    question = "Which 5A areas are in Hainan?"
    ask(page, question)
    page.locator('[class*="st-key-right_"] button').first.click()
    page.locator('[class*="st-key-back_"] button').wait_for()
    page.locator(".st-key-new button").click()
    page.locator(".st-key-database_question").wait_for()
    settled(page)
    page.locator(".st-key-confirmed summary").click()
    settled(page)  # it opens slowly, and what is in it moves
    page.locator(".st-key-ask_0 button").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    page.locator('[class*="st-key-thoughts_"] summary').click()
    page.get_by_text(WORDS["thought.known"][1]).locator("visible=true").first.wait_for()
    page.locator('[class*="st-key-back_"] button').click()
    page.locator('[class*="st-key-right_"] button').first.wait_for()
    page.locator(".st-key-new button").click()
    page.locator(".st-key-database_question").wait_for()
    settled(page)
    assert page.locator(".st-key-confirmed").count() == 0


# SQL


def test_sql_is_typed_refused_with_its_reason_edited_and_run(watch: Watch, server: Server) -> None:
    page = watch(server).open("/database?lang=en")
    typed(page, "SELECT * FROM sqlite_master")
    assert "There is no table 'sqlite_master'" in page.get_by_test_id("stMain").inner_text()
    assert page.locator(f"{TABLE} canvas").count() == 0
    page.locator('[class*="st-key-edit_"] button').click()
    box = page.locator(".st-key-database_sql textarea")
    box.wait_for()
    assert box.input_value() == "SELECT * FROM sqlite_master"
    assert "run=" not in page.url
    box.fill("SELECT name, year_rated FROM a_sight ORDER BY gid LIMIT 2")
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"[?&]run="))
    page.locator(f"{TABLE} canvas").first.wait_for()
    settled(page)
    assert cells(page)[0][-2:] == ["故宫博物院", "2007"]
    assert page.locator('[class*="st-key-right_"]').count() == 0, "nothing was asked in words"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_hostile_cells_and_names_are_nothing_but_text(watch: Watch, own: Server, lang: str) -> None:
    analyst = watch(own)
    page = analyst.open(f"/database?lang={lang}")
    typed(page, "SELECT * FROM goods ORDER BY id")
    frame = map_of(page)
    page.wait_for_selector(f"{CHART} canvas, {CHART} svg")
    shown = cells(page)
    for n, text in enumerate(HOSTILE):
        assert text in shown[n]
    for n in range(1, len(HOSTILE) + 2):
        click(page, n)
        picked(page, frame, n)
    for mark in page.locator(CHART).all():
        box = mark.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
        page.wait_for_timeout(400)
    for label in page.locator("summary").all():
        if label.is_visible():
            label.click()
    for cite in page.locator(".sl-cite").all():
        if cite.is_visible():
            cite.click()
    settled(page)
    main = page.get_by_test_id("stMain")
    assert main.locator("img[src='x'], img[src*='evil'], a[href^='javascript']").count() == 0
    assert main.locator(".katex").count() == 0
    assert not page.evaluate(PWNED)
    assert not frame.evaluate(PWNED)
    _, data = taken(page, "csv")
    lines = list(csv.reader(StringIO(data.decode("utf-8-sig"))))
    assert lines[0][2] == "a.b[c]\"d'"
    assert lines[3][1] == f"'{HOSTILE[2]}"
    _, data = taken(page, "xlsx")
    sheet = load_workbook(BytesIO(data))["rows"]
    assert (sheet["B4"].value, sheet["B4"].data_type) == (HOSTILE[2], "s")
    assert len(sheet["B9"].value) < 3_000, "a long cell was cut"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    """A server with a database of more rows than are shown."""
    folder = tmp_path_factory.mktemp("many")
    connection = sqlite3.connect(folder / "many.db")
    with connection:
        connection.execute("CREATE TABLE sale (id INTEGER PRIMARY KEY, kind TEXT)")
        connection.executemany("INSERT INTO sale VALUES (?, ?)", ((n, f"k{n}") for n in range(2_500)))
    connection.close()
    found = started(folder / "data", indexed, DATABASE_URL=f"sqlite:///{folder / 'many.db'}")
    yield found
    found.kill()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_further_pages_are_looked_at_and_all_rows_are_fetched(watch: Watch, many: Server, language: str) -> None:
    which = {"zh": 0, "en": 1}[language]
    page = watch(many, locale={"zh": "zh-CN", "en": "en-US"}[language]).open("/database")
    typed(page, "SELECT id, kind FROM sale ORDER BY id")
    box = page.locator('[class*="st-key-page_"] input')
    box.fill("3")
    box.press("Enter")
    page.get_by_text(re.compile(r"(Rows 2,001 to 2,500|第 2,001 至 2,500 行)")).wait_for()
    page.get_by_role("button", name=WORDS["rows.all"][which]).click()
    page.locator('[class*="st-key-all_csv_"] button').click()
    link = page.get_by_role("link", name=re.compile("2,500"))
    link.wait_for()
    with page.context.expect_page() as tab:  # it closes at once: what it opens is no page
        link.click()
    if not tab.value.is_closed():
        tab.value.wait_for_event("close")
    fetched = page.context.request.get(many.url + str(link.get_attribute("href")))
    assert "-all.csv" in fetched.headers["content-disposition"]
    lines = fetched.text().removeprefix("\ufeff").splitlines()
    assert len(lines) == 2_501 and lines[-1] == "2499,k2499"
