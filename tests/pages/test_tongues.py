"""The check of a page's language knows the names that are the same in all."""

from __future__ import annotations

from tests.pages.tongues import foreign


def test_english_words_on_a_chinese_page_are_found() -> None:
    said = [
        "Browse files",
        "title: Close",
        "浏览文件",
        "Limit 50MB per file • PDF",
        "1 Gemini call",
    ]
    assert foreign(said, "zh") == [said[0], said[1], said[3], said[4]]


def test_names_units_and_addresses_are_the_same_in_every_language() -> None:
    said = [
        "Sightline", "JSON", "CSL-JSON", "GEMINI_API_KEY", "openai:deepseek-chat", "gemini-2.5-pro",
        "report-rows.csv", ["https://sights.example/page", "one"][0], "41 s", "WGS-84", "English",
    ]  # fmt: skip
    assert foreign(said, "zh") == []


def test_chinese_words_on_an_english_page_are_found_but_for_the_switch() -> None:
    assert foreign(["中文", "Search", "title: 搜索"], "en") == ["title: 搜索"]


def test_words_from_outside_may_be_in_any_language() -> None:
    assert foreign(["Manage: 故宫的门票"], "en", known=["故宫的门票"]) == []
