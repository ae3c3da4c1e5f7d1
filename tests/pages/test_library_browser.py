"""What only a browser can do on the Library page: a folder is dropped, a notebook gets a new name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.test_browser import (  # noqa: F401  (fixtures)
    SKIPPED,
    Serve,
    Watch,
    serve,
    settled,
    watch,
)
from tests.pages.test_evidence_browser import CONTRAST, SMALL

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)


def test_a_dropped_folder_keeps_its_paths_and_adds_all_its_files(
    watch: Watch,  # noqa: F811
    serve: Serve,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Tower\n\nA tower.", encoding="utf-8")
    (folder / "deep" / "a.md").write_text("# Bridge\n\nA bridge.", encoding="utf-8")
    server = serve()
    page = watch(server).open("/library")
    box = page.locator(".st-key-files_0 [data-testid=stFileUploaderDropzone]").bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        session.send("Input.dispatchDragEvent", {"type": kind, **where, "data": data})
    page.get_by_text("2 added").wait_for()
    settled(page)
    page.goto(f"{server.url}/library?document=41")
    settled(page)
    first = page.locator(".st-key-reader").inner_text()
    page.goto(f"{server.url}/library?document=42")
    settled(page)
    both = first + page.locator(".st-key-reader").inner_text()
    assert "notes/a.md" in both and "notes/deep/a.md" in both


def test_a_new_name_makes_a_notebook(watch: Watch, serve: Serve, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "tower.md"
    file.write_text("# Tower\n\nThe tower costs 12 yuan.", encoding="utf-8")
    server = serve()
    page = watch(server).open("/library")
    page.locator(".st-key-files_0 input[type=file]").set_input_files(str(file))
    page.get_by_text("1 added").wait_for()
    page.goto(f"{server.url}/library?document=41")
    settled(page)
    page.get_by_role("button", name="Add to a notebook").click()
    page.get_by_role("combobox").last.fill("Trip")
    page.keyboard.press("Enter")
    settled(page)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("In “Trip”: 1").wait_for()
    page.goto(f"{server.url}/library")
    settled(page)
    page.locator(".st-key-notebooks").get_by_text("Trip", exact=True).click()
    settled(page)
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        settled(page)
        button = page.locator(".st-key-notebook_rename button:visible").first
        button.click()
        page.locator('[class*="st-key-notebook_named"]').wait_for()
        assert button.evaluate(CONTRAST) >= SMALL
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Ask this notebook").click()
    page.get_by_role("button", name="· Trip").wait_for()
