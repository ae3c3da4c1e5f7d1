"""The picture of a scanned page beside its passage, in Chromium, under the page's own rules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from research import Library
from tests.catalogue import WORDS
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, ask
from tests.sources.library.test_scans import TEXTS, scanned
from tests.typist import Typist

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
LOADED = "node => node.complete && node.naturalWidth > 0"


def test_a_citation_opens_the_words_and_the_picture_they_were_read_from(
    browser: Browser, tmp_path: Path, indexed: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(indexed, folder)
    library = Library(folder / "library.db", Typist(TEXTS).there)
    library.set_sample_enabled(False)
    list(library.add_files([("scan.pdf", scanned(4))]))
    assert library.scan_reader.wait(30)
    library.close()
    server = Server(folder).start()
    page = browser.new_page(locale="en-US")
    try:
        page.goto(f"{server.url}/?lang=en")
        settled(page)
        ask(page, "When does the ferry to the island leave?")
        page.locator(".sl-answer button", has_text="1").last.click()
        page.get_by_text(WORDS["answer.ocr"][1]).first.wait_for()
        picture = page.locator(".sl-scan img:visible").first
        picture.scroll_into_view_if_needed()
        page.wait_for_function(LOADED, arg=picture.element_handle())
        assert picture.get_attribute("alt") == WORDS["answer.page_picture"][1].format(n=4)
    finally:
        page.close()
        server.kill()
