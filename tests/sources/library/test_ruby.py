"""The reading that stands above a word is no part of the word, wherever a text comes from."""

from __future__ import annotations

import io
from datetime import date

import docx
import pytest
from lxml import etree

from research.http.sanitize import strip_html
from research.readers.documents import read_document
from research.sources.web import page_parser
from tests.tables import each_row

RUBY = [
    "<ruby>鶴<rt>つる</rt>見<rt>み</rt></ruby>橋",
    "<ruby>鶴<rp>(</rp><rt>つる</rt><rp>)</rp>見<rp>（</rp><rt>み</rt><rp>）</rp></ruby>橋",
    "<ruby>鶴見<rt>つるみ</ruby>橋",
    "<ruby>鶴見<rp>(<rt>つるみ<rp>)</ruby>橋",
    "<ruby><rb>鶴</rb><rt>つる</rt><rb>見</rb><rt>み</rt></ruby>橋",
    "<ruby><rb>鶴<rt>つる<rb>見<rt>み</ruby>橋",
    "<ruby><rbc><rb>鶴</rb><rb>見</rb></rbc><rtc><rt>つる</rt><rt>み</rt></rtc></ruby>橋",
    "<ruby>鶴見<rt>つる<br>み</rt></ruby>橋",
    '<RUBY lang="ja">鶴見<RT class="x"><small>つるみ</small></RT></RUBY>橋',
]
REST = "は1934年に完成した。"
PAGE = (
    "<html><body><article><h1>{0}</h1><p>{0}は1934年に完成した。</p><p>"
    + "この橋は川を渡る。" * 20
    + "</p></article></body></html>"
)


@pytest.mark.slow
@each_row("ruby", RUBY)
def test_a_page_and_a_note_have_the_word_without_its_reading(ruby: str) -> None:
    page = PAGE.format(ruby).encode()
    texts = [
        read_document("bridge.html", page).text,
        read_document("bridge.md", f"# {ruby}\n\n{ruby}{REST}".encode()).text,
        page_parser.parse_page(page, "https://example.org/", latest_date=date(2026, 1, 1)).text,
        strip_html(ruby + REST),
    ]
    for text in texts:
        assert f"鶴見橋{REST}" in text
        assert "つる" not in text and "み" not in text
    assert read_document("bridge.html", page).title == "鶴見橋"


def test_parts_of_a_word_on_lines_of_their_own_are_one_word() -> None:
    ruby = "<ruby>\n  鶴 <rt>つる</rt>\n  見 <rt>み</rt>\n</ruby>橋"
    assert f"鶴見橋{REST}" in read_document("bridge.html", PAGE.format(ruby).encode()).text
    page = PAGE.format("<ruby>New York <rt>ニューヨーク</rt></ruby> bridge")
    assert "New York bridgeは" in read_document("bridge.html", page.encode()).text


def test_a_word_document_has_the_word_without_its_reading() -> None:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = docx.Document()
    paragraph = document.add_paragraph()
    for base, reading in (("鶴", "つる"), ("見", "み")):
        xml = (
            f'<w:r xmlns:w="{space}"><w:ruby><w:rubyPr/><w:rt><w:r><w:t>{reading}</w:t></w:r></w:rt>'
            f"<w:rubyBase><w:r><w:t>{base}</w:t></w:r></w:rubyBase></w:ruby></w:r>"
        )
        paragraph._p.append(etree.fromstring(xml))
    paragraph.add_run(f"橋{REST}")
    out = io.BytesIO()
    document.save(out)
    assert read_document("bridge.docx", out.getvalue()).text == f"鶴見橋{REST}"
