"""A report as one HTML file says what its tree says, and nothing in it runs or is fetched."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from lxml import html

from research.core.records import Language, Report
from research.core.urls import canonical_url
from research.export.document import build_document, plain_text
from research.export.formula_tree import formula_text
from research.export.html import report_html, text_fragment
from research.export.spreadsheet_text import INVALID_XML_CHAR
from tests.export.test_markdown import HOSTILE, LINKS, PALACE, TEXT, named, numbered, report
from tests.export.test_support_export import THREE, made
from tests.tables import each_row

BARRED = {
    "script",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "input",
    "svg",
    "img",
}
TAGS = {
    "main", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "em", "strong", "s", "code", "pre", "a",
    "sup", "div", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "details", "summary", "mark", "span",
}  # fmt: skip

MATHS = {"math", "semantics", "annotation", "mrow", "mi"}


def page(written: Report) -> Any:
    return html.document_fromstring(report_html(written, numbered(written)).encode())


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", INVALID_XML_CHAR.sub("", text))


def said(root: Any) -> str:
    """The text of the page without what it adds."""
    (main,) = root.iter("main")
    for node in main.find_class("more"):
        node.drop_tree()
    for node in list(main.iter("math")):
        node.text = formula_text(node.findtext(".//annotation"))
        node.remove(node[0])
    return squeezed(main.text_content())


@each_row("words", [*HOSTILE, "Opened in 1925.", "开放于1925年。"])
def test_the_page_says_what_the_tree_says_and_nothing_acts(words: str) -> None:
    written = report(words)
    root = page(written)
    assert BARRED & {node.tag for node in root.iter()} == set()
    tags = {node.tag for node in root.find(".//main").iter()}
    assert tags <= TAGS | {"nav", "b"} | (MATHS if "$" in words else set())
    names = {name for node in root.find("body").iter() for name in node.attrib}
    assert names <= {
        "id", "href", "rel", "class", "style", "start", "aria-label", "lang", "encoding", "display"
    }  # fmt: skip
    outside = {a.get("href") for a in root.iter("a") if not a.get("href").startswith("#")}
    assert {canonical_url(href) for href in outside} == LINKS
    assert said(root) == squeezed(plain_text(build_document(written, numbered(written)).nodes))


@pytest.mark.slow
@given(TEXT)
@settings(max_examples=60, deadline=None)
def test_whatever_the_words_are_the_text_comes_out_as_it_went_in(words: str) -> None:
    written = report(words)
    assert said(page(written)) == squeezed(plain_text(build_document(written, numbered(written)).nodes))


def test_nothing_is_fetched_and_no_script_may_run() -> None:
    text = report_html(report("x"), numbered(report("x")))
    root = html.document_fromstring(text.encode())
    (policy,) = (m.get("content") for m in root.iter("meta") if m.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert "url(" not in text and "@import" not in text and "src=" not in text.split("<body>")[1]


def test_every_way_within_the_page_leads_somewhere() -> None:
    for written in (report("Opened in 1925."), named("Palace")):
        root = page(written)
        ids = [node.get("id") for node in root.iter() if node.get("id")]
        assert len(set(ids)) == len(ids)
        ways = {a.get("href")[1:] for a in root.iter("a") if a.get("href").startswith("#")}
        assert ways <= set(ids)
        sources = {f"source-{s.number}" for s in numbered(written).sources}
        assert sources <= ways & set(ids)
        back = [a.get("href") for node in root.find_class("back") for a in node.iter("a")]
        assert len(back) == len(set(back)) >= len(sources)


def test_headings_are_listed_and_citations_stand_raised() -> None:
    root = page(report("Opened in 1925."))
    (nav,) = root.iter("nav")
    listed = [a.text_content() for a in nav.iter("a")]
    assert listed[:2] == ["Question", "Answer"]
    assert "Round 1" in listed
    above = nav.getprevious()
    assert (above.tag, above.getprevious()) == ("h1", None)  # the title alone
    assert [sup.text_content() for sup in root.iter("sup")][:2] == ["[1]", "[2]"]
    assert root.get("lang") == "en"
    assert page(report("开放。", language="zh")).get("lang") == "zh-CN"


def test_a_source_shows_its_passages_with_the_stretch_behind_a_sentence_marked() -> None:
    root = page(made(*THREE))
    (details,) = root.iter("details")
    assert details.find("blockquote").text_content().startswith("The palace opened in 1925. A tick")
    assert "The palace opened in 1925." in [mark.text_content() for mark in details.iter("mark")]
    (there,) = details.iter("a")
    assert there.get("href") == ("https://example.org/palace#:~:text=The%20palace%20opened%20in%201925.")


def test_the_words_of_a_search_model_are_looked_for_on_no_page() -> None:
    root = page(report("Opened in 1925."))
    ways = [a.get("href") for a in root.iter("a") if ":~:text=" in a.get("href")]
    assert ways and all(way.startswith("https://example.org/a#") for way in ways)


@each_row(
    ("words", "fragment"),
    [
        ("", ""),
        ("a-b, c&d", ":~:text=a%2Db%2C%20c%26d"),
        ("故宫" * 50, ":~:text=" + "%E6%95%85%E5%AE%AB" * 8 + "," + "%E6%95%85%E5%AE%AB" * 8),
        ("one two\n three", ":~:text=one%20two,three"),
        (" ".join("abcdefghijklmnopqrstuvwxyz" * 2), ":~:text=a%20b%20c%20d%20e%20f,u%20v%20w%20x%20y%20z"),
    ],
)  # fmt: skip
def test_a_link_to_words_names_their_ends(words: str, fragment: str) -> None:
    assert text_fragment(words) == fragment


def test_a_sketch_stands_under_the_places() -> None:
    written = named("Palace")
    (figure,) = page(written).iter("figure")
    assert figure.getprevious().text_content() == "Places"
    assert figure.find("img").get("src").startswith("data:image/svg+xml;base64,")
    assert not [*page(report("no places")).iter("figure")]
    assert PALACE.id


def test_a_run_without_an_answer_is_a_page_too() -> None:
    written = report("x").model_copy(update={"answer": None})
    root = html.document_fromstring(report_html(written, None).encode())
    assert "There is no answer." in root.text_content()


def test_rows_of_a_table_have_a_head_and_are_not_broken_on_paper() -> None:
    text = report_html(named("Palace"), numbered(named("Palace")))
    (table,) = html.document_fromstring(text.encode()).iter("table")
    assert [child.tag for child in table] == ["thead", "tbody"]
    assert "break-inside: avoid" in text and "prefers-color-scheme: dark" in text


@each_row(
    ("words", "language", "code"),
    [
        ("It opened as a “museum” in 1925.", "zh", "en"),
        ("故宫博物院1925年开放。", "en", "zh-CN"),
        ("It opened as a “museum” in 1925.", "en", None),
        ("故宫博物院1925年开放。", "zh", None),
        ("1925 · 60", "zh", None),
    ],
)
def test_what_is_in_another_language_than_the_report_says_so(words: str, language: Language, code: str | None) -> None:
    root = page(report(words, language=language))
    assert root.get("lang") == {"en": "en", "zh": "zh-CN"}[language]
    said = [node for node in root.iter("blockquote", "p") if node.text_content().strip() == words]
    assert said
    assert {node.get("lang") for node in said} == {code}


def test_fonts_are_asked_for_by_the_language() -> None:
    (style,) = (node.text for node in page(report("Opened in 1925.")).iter("style"))
    asked = dict(re.findall(r":lang\((\w+)\) \{ font-family: ([^;]+); \}", style))
    assert list(asked) == ["en", "zh"]
    for language, names in asked.items():
        first, *_, last = names.split(",")
        assert ("PingFang" in first) == (language == "zh")
        assert last == "sans-serif"
    wanted = ("Segoe UI", "Arial", "Liberation Sans", "system-ui", "PingFang", "Noto Sans CJK")
    assert sorted(wanted, key=asked["en"].index) == list(wanted)
