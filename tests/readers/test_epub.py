"""Books are read in the order of their spine, under the titles of their table of contents."""

from __future__ import annotations

import io
import zipfile
from datetime import date

from research.readers.documents import read_document
from tests.readers.reading import assert_in_order, outline, read_sample, refusal
from tests.tables import each_row

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PAGE = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
NCX = '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "x"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{}</navMap></ncx>'
NAV = '<html xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc"><ol>{}</ol></nav></body></html>'


def book(
    chapters: dict[str, str],
    nav: str = "",
    ncx: str = "",
    spine: tuple[str, ...] = (),
    more: dict[str, str] | None = None,
) -> bytes:
    """A book; the manifest lists the chapters in reverse, the spine in the order given."""
    items = "".join(
        f'<item id="{name}" href="text/{name}" media-type="application/xhtml+xml"/>' for name in reversed(chapters)
    )
    if nav:
        items += '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    if ncx:
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    order = "".join(f'<itemref idref="{name}"/>' for name in spine or chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:opf="http://www.idpf.org/2007/opf"><metadata><dc:title>The Lake</dc:title><dc:language>zh-CN</dc:language>'
        '<dc:date opf:event="modification">2025-01-01</dc:date><dc:date>2021-05-06</dc:date></metadata>'
        f'<manifest>{items}</manifest><spine toc="ncx">{order}</spine></package>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package_file:
        package_file.writestr("META-INF/container.xml", CONTAINER)
        package_file.writestr("OPS/book.opf", package)
        for name, text in chapters.items():
            package_file.writestr(f"OPS/text/{name}", PAGE.format(text))
        for name, text in (("OPS/nav.xhtml", nav), ("OPS/toc.ncx", ncx), *(more or {}).items()):
            if text:
                package_file.writestr(name, text)
    return out.getvalue()


def test_chapters_follow_the_spine_under_the_titles_of_the_contents() -> None:
    chapters = {
        "b.xhtml": "<p>Second <a id='x'/>text.</p>",
        "c.xhtml": "<p>It goes on.</p>",
        "a.xhtml": "<h1>1. 湖</h1><p>First text.</p><h2>Depth</h2><p>Two metres.</p>",
    }
    nav = NAV.format('<li><a href="text/a.xhtml">湖</a></li><li><a href="text/b.xhtml">The shore</a></li>')
    document = read_document("b.epub", book(chapters, nav=nav, spine=("a.xhtml", "b.xhtml", "c.xhtml")))
    assert (document.title, document.published, document.language) == ("The Lake", date(2021, 5, 6), "zh")
    assert outline(document) == [
        ("湖", None, "First text."),
        ("湖 > Depth", None, "Two metres."),
        ("The shore", None, "Second text.\nIt goes on."),
    ]
    assert document.text == "1. 湖\nFirst text.\nDepth\nTwo metres.\nSecond text.\nIt goes on."


def test_entries_for_parts_of_a_file_are_headings_at_their_elements() -> None:
    text = '<p>Before.</p><div id="one"><p>Of the gate.</p></div><p id="two"><b>Of the bridge.</b></p>'
    nav = NAV.format(
        '<li><a href="text/a.xhtml">Part</a><ol><li><a href="text/a.xhtml#one">Gate</a></li>'
        '<li><a href="text/a.xhtml#two">Bridge</a></li></ol></li>'
    )
    assert outline(read_document("b.epub", book({"a.xhtml": text}, nav=nav))) == [
        ("Part", None, "Before."),
        ("Part > Gate", None, "Of the gate."),
        ("Part > Bridge", None, "Of the bridge."),
    ]


def test_a_book_of_the_second_version_has_its_contents_in_another_file() -> None:
    point = "<navPoint><navLabel><text>{}</text></navLabel><content src='text/{}'/>{}</navPoint>"
    ncx = NCX.format(point.format("Part", "a.xhtml", point.format("门票", "b.xhtml", "")))
    chapters = {
        "a.xhtml": "<p>One.</p>",
        "b.xhtml": "<table><tr><th>票</th><th>元</th></tr><tr><td>成人</td><td>40</td></tr></table>",
    }
    assert outline(read_document("b.epub", book(chapters, ncx=ncx))) == [
        ("Part", None, "One."),
        ("Part > 门票", None, "票: 成人; 元: 40"),
    ]


def test_raised_text_is_plain_also_where_a_style_sheet_raises_it() -> None:
    text = (
        '<p>10<sup>6</sup> m, 10<span class="calibre5">7</span> m and a note<a epub:type="noteref" href="#n">1</a>.</p>'
    )
    styles = {"OPS/s.css": ".calibre5 { font-size: 0.7em; vertical-align: super }"}
    assert read_document("b.epub", book({"a.xhtml": text}, more=styles)).text == "10⁶ m, 10⁷ m and a note [1]."


@each_row("name", ["pandoc.epub", "libreoffice.epub"])
def test_a_book_by_another_program_is_read_in_order(name: str) -> None:
    document = read_sample(name)
    assert document.title == "West Lake report 西湖报告"
    assert_in_order(
        document.text,
        ("这是一个关于西湖的段落。门票四十元。", "Broken Bridge", "28 million", "The note says so.", "西湖全年开放。"),
    )
    headings = [heading for heading, _, _ in outline(document)]
    assert "Overview" in headings
    assert headings[-1] == "结论"


def test_the_chapters_of_a_book_by_pandoc_have_numbers_and_notes_apart() -> None:
    assert_in_order(read_sample("pandoc.epub").text)


def test_a_protected_book_is_refused_and_one_with_packed_fonts_is_read() -> None:
    method = '<encryption><EncryptionMethod Algorithm="{}"/></encryption>'
    chapters = {"a.xhtml": "<p>One.</p>"}
    locked = {"META-INF/encryption.xml": method.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}
    error = refusal("b.epub", book(chapters, more=locked))
    assert (error.problem, "DRM" in error.detail) == ("encrypted", True)
    fonts = {"META-INF/encryption.xml": method.format("http://www.idpf.org/2008/embedding")}
    assert read_document("b.epub", book(chapters, more=fonts)).text == "One."


def test_a_book_without_chapters_says_so() -> None:
    assert "no chapters" in refusal("b.epub", book({})).detail
    assert refusal("b.epub", book({"a.xhtml": "<p> </p>"})).problem == "empty"
