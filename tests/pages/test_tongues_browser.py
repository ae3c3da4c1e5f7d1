"""On a Chinese page Streamlit's own words are Chinese, and English again on an English one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pages.serving import settled
from tests.pages.test_browser import (
    Watch,
    pytestmark,  # noqa: F401
    serve,  # noqa: F401
    server,  # noqa: F401
    watch,  # noqa: F401
)
from tests.pages.tongues import untranslated

if TYPE_CHECKING:
    from tests.pages.serving import Server


def test_the_box_for_files_speaks_chinese(
    watch: Watch,  # noqa: F811
    server: Server,  # noqa: F811
) -> None:
    page = watch(server).open("/library?lang=zh")
    uploader = page.get_by_test_id("stFileUploader").first
    uploader.get_by_text("选择文件", exact=True).wait_for()
    uploader.get_by_text("每个文件不超过").wait_for()
    assert page.locator("html").get_attribute("lang") == "zh-CN"


def test_the_english_words_come_back_with_the_language(watch: Watch, server: Server) -> None:  # noqa: F811
    page = watch(server).open("/library?lang=zh")
    skip = page.get_by_text("跳到主要内容")
    skip.wait_for(state="attached")
    page.get_by_test_id("stSidebar").get_by_text("English", exact=True).click()
    page.get_by_text("Skip to main content").wait_for(state="attached")
    page.get_by_test_id("stFileUploader").first.get_by_text("Upload", exact=True).wait_for()
    assert skip.count() == 0
    settled(page)
    assert untranslated(page, "en") == []
