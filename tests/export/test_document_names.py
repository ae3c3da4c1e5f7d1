"""A citation of slides or of a notebook says "slide 3" or "cell 3", not "page 3"."""

from __future__ import annotations

import pytest

from research.core.document_names import document_file_name, page_unit
from research.core.i18n import message
from research.core.records import Language, Report
from research.export.html import report_html
from research.export.markdown import report_markdown
from tests.export.test_markdown import numbered, report


def of_document(name: str, language: Language) -> Report:
    """A report with a passage on page 3 of a document of this name."""
    text = report("A quote.", language=language).model_dump_json()
    assert '"locator":"d"' in text
    return Report.model_validate_json(text.replace('"locator":"d"', f'"locator":"{name}"'))


@pytest.mark.parametrize(
    ("name", "language", "label"),
    [
        ("d.pdf", "en", "p. 3"),
        ("mail.eml/Talk.PPTX", "en", "slide 3"),
        ("a.ipynb", "en", "cell 3"),
        ("d.pdf", "zh", "第 3 页"),
        ("talk.pptx", "zh", "第 3 张幻灯片"),
        ("a.ipynb", "zh", "第 3 个单元格"),
    ],
)
def test_the_page_of_a_document_is_named_by_its_kind(name: str, language: Language, label: str) -> None:
    made = of_document(name, language)
    for text in (report_markdown(made, numbered(made)), report_html(made, numbered(made))):
        assert label in text


def test_the_name_of_an_attachment_names_its_mail() -> None:
    assert document_file_name("C:\\in\\Offer.eml\\inner.msg\\talk.pptx") == "Offer.eml/inner.msg/talk.pptx"
    assert document_file_name("/home/ann/talk.pptx") == document_file_name("talk.pptx") == "talk.pptx"
    assert document_file_name("/home/ann/offer.eml") == "offer.eml"


def test_the_label_on_the_pages_names_the_slide() -> None:
    assert message("answer.page", "en", n=3, unit=page_unit("C:\\talks\\a.pptx")) == "slide 3"
    assert message("answer.page", "zh", n=3, unit="slide") == "第 3 张幻灯片"
    assert message("answer.page", "en", n=3, unit=page_unit("pptx")) == "page 3"
