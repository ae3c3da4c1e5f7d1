"""Superscripts and subscripts keep their meaning in plain text."""

from __future__ import annotations

import io

import docx
import pytest

from research.readers.documents import read_document
from research.readers.scripts import lowered_text, raised_text
from tests.tables import each_row


@each_row(
    ("before", "raised", "text"),
    [
        ("3.2 × 10", "6", "⁶"),
        (" m", "3", "³"),
        ("10", "-5", "⁻⁵"),
        ("(a + b)", "2", "²"),
        ("42 m high", "3", " [3]"),
        ("About 1,200", "[2]", " [2]"),
        ("About 1,200", "2", " [2]"),
        ("in 1924", "1", " [1]"),
        ("a 14", "th", "th"),
        ("the note", "*", " [*]"),
        ("Acme", "TM", "TM"),
        ("x", "", ""),
    ],
)
def test_a_superscript_is_an_exponent_a_note_or_an_ending(before: str, raised: str, text: str) -> None:
    assert raised_text(raised, before) == text


def test_a_subscript_of_digits_is_lowered() -> None:
    assert (lowered_text("2"), lowered_text("max")) == ("₂", "max")


PAGE = """<html><body><article><h1>Alder Ridge</h1>
<p>The reservoir holds 3.2 × 10<sup>6</sup> m<sup>3</sup> of water; its dam is 310 m long<sup><a href="#4">4</a></sup>.</p>
<p>The water has a hardness of 2<sup>1</sup>/<sub>2</sub> degrees; CO<sub>2</sub> was measured in the 14<sup>th</sup> week.</p>
</article></body></html>"""


def test_a_page_keeps_exponents_fractions_and_notes_apart() -> None:
    text = read_document("dam.html", PAGE.encode()).text
    assert "3.2 × 10⁶ m³ of water; its dam is 310 m long [4]." in text
    assert "2½ degrees; CO₂ was measured in the 14th week." in text


def test_a_word_file_keeps_them_too() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("It holds 3.2 × 10")
    for text, kind in (
        ("6", "superscript"),
        (" m", ""),
        ("3", "superscript"),
        (" of CO", ""),
        ("2", "subscript"),
        (".", ""),
    ):
        run = paragraph.add_run(text)
        if kind:
            setattr(run.font, kind, True)
    out = io.BytesIO()
    document.save(out)
    assert "It holds 3.2 × 10⁶ m³ of CO₂." in read_document("dam.docx", out.getvalue()).text


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "<div class='nav'><a href='/'>首页</a><a href='/x'>新闻中心</a></div><div class='article'><h1>调整开放时间</h1>"
            "<p>自2024年5月1日起，博物馆开放时间调整为9:00至17:30。</p><p>成人票价为四十元，学生半价。</p></div>",
            ["自2024年5月1日起，博物馆开放时间调整为9:00至17:30。", "成人票价为四十元，学生半价。"],
        ),
    ],
)
def test_a_short_page_in_chinese_is_read_by_paragraphs_without_navigation(body: str, wanted: list[str]) -> None:
    text = read_document("page.html", f"<html><meta charset='utf-8'><body>{body}</body></html>".encode()).text
    assert [line for line in text.splitlines() if line in wanted] == wanted
    assert "新闻中心" not in text
