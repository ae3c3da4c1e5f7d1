"""Which fonts draw the words: English is in a Latin one, Chinese in a Chinese one, wherever it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from research.core.records import Language
from research.export.font_families import font_families
from research.storage.store import Store
from tests.pages.checked_run import IDS, put
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Watched, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
HAN = re.compile("[\u4e00-\u9fff]")
CHINESE = re.compile(r"CJK|PingFang|Hiragino|YaHei|Noto Sans SC|Source Han", re.I)
MOST = 150  # texts of a page that are looked at
WORDS: dict[Language, str] = {"en": "“Closed” on Mondays — ‘always’…", "zh": "“闭馆”——每周一……"}


def _fonts() -> str:
    """Why fonts cannot be told apart here; empty if they can."""
    if not shutil.which("fc-match"):
        return "fontconfig is not installed"

    def best(wanted: str) -> str:
        return subprocess.run(["fc-match", wanted], capture_output=True, text=True).stdout

    if CHINESE.search(best("sans-serif:lang=en")) or not CHINESE.search(best("sans-serif:lang=zh-cn")):
        return "there is no Latin and no Chinese font here"
    return ""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[Server]:
    if lacking := _fonts():
        pytest.skip(lacking)
    found = started(tmp_path_factory.mktemp("fonts") / "data", indexed)
    store = Store(found.folder / "runs.db")
    for language in ("zh", "en"):
        put(store, language)  # type: ignore[arg-type]
    store.close()
    yield found
    found.kill()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[[str], Page]]:
    made: list[Watched] = []

    def open_(path: str) -> Page:
        made.append(Watched(browser, server, viewport={"width": 1440, "height": 900}))
        page = made[-1].open(path)
        settled(page)
        return page

    yield open_
    for watched in made:
        watched.context.close()


class Drawn(NamedTuple):
    """A text of a page, the language that it is said to be in, and the fonts that draw it."""

    text: str
    language: str
    fonts: frozenset[str]

    @property
    def right(self) -> bool:
        """Whether English is in a Latin font, but for its Han characters, and Chinese in a Chinese one
        with all that stands in it."""
        chinese = [bool(CHINESE.search(font)) for font in self.fonts]
        if not HAN.search(self.text):
            return not self.language.startswith("en") or not any(chinese)
        return all(chinese) if self.language == "zh-CN" else any(chinese)


def drawn(page: Page) -> list[Drawn]:
    """The texts of a page that are no icons and no code."""
    languages = page.evaluate(
        """(most) => {
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
            const other = "script, style, code, pre, kbd, canvas, iframe, svg, [data-testid=stIconMaterial], [aria-hidden=true]";
            while (found.length < most && texts.nextNode()) {
                const box = texts.currentNode.parentElement;
                if (!texts.currentNode.data.trim() || box.closest(other) || box.childElementCount || "drawn" in box.dataset || !box.checkVisibility()) continue;
                box.dataset.drawn = "";
                found.push(box.closest("[lang]").lang);
            }
            return found;
        }""",
        MOST,
    )
    tools = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        tools.send(f"{domain}.enable")  # type: ignore[arg-type]
    root = tools.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
    asked = {"nodeId": root, "selector": "[data-drawn]"}
    nodes = tools.send("DOM.querySelectorAll", asked)["nodeIds"]
    texts = page.locator("[data-drawn]").all_text_contents()
    found = []
    for node, text, language in zip(nodes, texts, languages, strict=True):
        fonts = tools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        found.append(Drawn(text, language, frozenset(font["familyName"] for font in fonts)))
    return found


@pytest.mark.parametrize("path", ["/", "/library", "/settings"])
@pytest.mark.parametrize(("lang", "code"), [("en", "en"), ("zh", "zh-CN")])
def test_a_page_is_in_the_fonts_of_its_language(visit: Callable[[str], Page], path: str, lang: str, code: str) -> None:
    found = drawn(visit(f"{path}?lang={lang}"))
    assert len(found) > 15
    assert {text.language for text in found} == {code}
    assert [text for text in found if not text.right] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_icons_keep_their_own_font(visit: Callable[[str], Page], lang: str) -> None:
    page = visit(f"/database?lang={lang}")
    fonts = page.locator('[data-testid="stIconMaterial"], [data-testid="stExpanderIcon"]').evaluate_all(
        "(icons) => icons.map((icon) => getComputedStyle(icon).fontFamily)"
    )
    assert len(fonts) > 5
    assert {font for font in fonts if "Material Symbols" not in font} == set()


@pytest.mark.parametrize(("answer", "page_of"), [("en", "en"), ("en", "zh"), ("zh", "zh"), ("zh", "en")])
def test_an_answer_and_its_passages_are_in_the_fonts_of_their_own_language(
    visit: Callable[[str], Page], answer: str, page_of: str
) -> None:
    page = visit(f"/?run={IDS[answer]}&lang={page_of}")
    page.locator(".sl-cite").first.click()
    passage = page.locator(".sl-passage:visible blockquote")
    passage.wait_for()
    assert str(passage.get_attribute("lang")).startswith(answer)
    found = drawn(page)
    assert {text.language[:2] for text in found} == {answer, page_of}
    assert [text for text in found if not text.right] == []


@pytest.mark.parametrize(("language", "code"), [("en", "en"), ("zh", "zh-CN")])
def test_a_file_asks_for_the_fonts_of_its_language(browser: Browser, language: Language, code: str) -> None:
    if lacking := _fonts():
        pytest.skip(lacking)
    page = browser.new_page()
    page.set_content(
        f'<!doctype html><html lang="{code}"><body style="font-family: {font_families(language)}">{WORDS[language]}'
    )
    (text,) = drawn(page)
    page.close()
    assert (text.language, text.right, bool(text.fonts)) == (code, True, True)
