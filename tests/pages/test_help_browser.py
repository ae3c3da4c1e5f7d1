"""The tour in Chromium: it is gone through and closed by the keyboard, and does not come twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.serving import Server, settled
from tests.pages.test_browser import DONE, EN, SKIPPED, Watch, ask, serve, watch

__all__ = ["serve", "watch"]  # fixtures
pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)


def test_the_tour_is_for_the_keyboard_too_and_comes_once(watch: Watch, tmp_path: Path, indexed: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    server = Server(folder, new=True).start()
    try:
        watched = watch(server)
        page = watched.open()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("1/5").wait_for()
        assert dialog.get_by_role("img").get_attribute("alt")
        page.locator(".st-key-tour_next button").focus()
        for n in (2, 3):
            page.keyboard.press("Enter")
            dialog.get_by_text(f"{n}/5").wait_for()
            settled(page)
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        settled(page)
        ask(page, EN)
        page.wait_for_selector(DONE)
        assert watched.open().get_by_role("dialog").count() == 0
        watched.check()
    finally:
        server.kill()
