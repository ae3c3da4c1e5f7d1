"""Web pages and Markdown: hidden text, lists of terms, short pages, footnotes and HTML within Markdown."""

from __future__ import annotations

import pytest

from research.readers.documents import parse_document


def page(body: str) -> list[str]:
    source = f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>T</title></head><body>{body}</body></html>"
    return parse_document("a.html", source.encode()).text.splitlines()


def markdown(source: str) -> list[str]:
    return parse_document("a.md", source.encode()).text.splitlines()


@pytest.mark.parametrize(
    "attribute",
    ["hidden", "style='color:red; display: none'", "style='visibility:hidden'", "aria-hidden='true'"],
)
def test_hidden_text_of_a_page_is_no_text(attribute: str) -> None:
    assert page(f"<p>The museum opens at nine.</p><div {attribute}>secret</div>") == ["The museum opens at nine."]


def test_text_that_can_be_found_or_is_most_of_the_page_is_kept() -> None:
    assert page("<p>Open.</p><div hidden='until-found'>Closed on Mondays.</div>") == ["Open.", "Closed on Mondays."]
    assert page("<main aria-hidden='true'><p>All of the text of a page behind a dialogue.</p></main><p>Ok</p>")[0] == (
        "All of the text of a page behind a dialogue."
    )


def test_a_date_in_hidden_metadata_counts() -> None:
    body = "<p>Text.</p><div style='display:none'><meta itemprop='datePublished' content='2024-05-01'>x</div>"
    document = parse_document("a.html", f"<html><body>{body}</body></html>".encode())
    assert (str(document.published), document.text) == ("2024-05-01", "Text.")


def test_a_short_page_keeps_its_heading_lists_and_terms_without_navigation() -> None:
    assert page(
        "<nav><a href=/>首页</a></nav><ul class=x><li><a href=/a>新闻</a></li><li><a href=/b>联系</a></li></ul>"
        "<h1>公园开放时间</h1><p>2024年起，公园全年开放。</p>"
        "<dl><dt>票价</dt><dd>40元</dd><dt>电话</dt><dd>0571-87</dd><dd>0571-88</dd></dl>"
        "<ul><li>雷峰塔</li><li>断桥</li></ul><div class='page-footer'>版权所有</div>"
    ) == ["公园开放时间", "2024年起，公园全年开放。", "票价: 40元", "电话: 0571-87; 0571-88", "雷峰塔", "断桥"]


def test_html_in_markdown_is_read_like_a_page() -> None:
    source = (
        "Volume 3.2 × 10<sup>6</sup> m<sup>3</sup> of H<sub>2</sub>O <!-- note\nto self --> here<br>there.\n\n"
        "<details>\n<summary>More</summary>\n\nInside *details*.\n\n</details>\n\n![map](x.png)\n\n"
        "```\ndef f():\n    return 1\n```\n"
    )
    assert markdown(source) == [
        "Volume 3.2 × 10⁶ m³ of H₂O here",
        "there.",
        "More",
        "Inside details.",
        "map",
        "def f():",
        "    return 1",
    ]


def test_footnotes_of_markdown_stand_below_their_paragraph() -> None:
    source = "# A\n\nOne[^n] two[^m].\n\n- item[^n]\n\n# B\n\nLast.\n\n[^n]: Measured\n[^m]: Or **so**.\n"
    document = parse_document("a.md", source.encode())
    first = document.sections[0]
    assert document.text[first.start : first.end].splitlines() == [
        "One [1] two [2].",
        "[1] Measured",
        "[2] Or so.",
        "item [1]",
    ]
    assert document.text.endswith("B\nLast.")
