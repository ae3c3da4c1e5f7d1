"""Reports in HTML show the pages of cited documents on request, and say which are missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.citations.support import check_support
from research.core.i18n import message
from research.core.page_views import CitedText, MarkBox, MissingPage, PageImage, PageText, PageView, QuoteMatch
from research.core.records import Evidence, Language, Report
from research.export.html import report_html
from research.export.options import ExportOptions
from tests.export.test_markdown import numbered, report
from tests.tables import each_row


class Viewer:
    """Returns the same view for every page, and notes what it was asked for."""

    def __init__(self, view: PageView) -> None:
        self.view = view
        self.asked: list[tuple[str, list[CitedText], bool]] = []

    def __call__(self, evidence: Evidence, texts: Sequence[CitedText], *, paint_marks: bool = False) -> PageView:
        self.asked.append((evidence.id, [*texts], paint_marks))
        return self.view


def image(*found: QuoteMatch) -> PageImage:
    return PageImage(3, b"picture", 60, 80, (MarkBox(0, 1, 2, 3, 4),), found, True)


def drawn(view: PageView, pages: int = 10, language: Language = "en") -> tuple[str, Viewer, Report]:
    made, viewer = report("gale", language=language), Viewer(view)
    return report_html(made, numbered(made), ExportOptions(export_pages=pages, page_viewer=viewer)), viewer, made


def test_without_the_option_no_page_is_asked_for() -> None:
    html, viewer, made = drawn(image("whole"), pages=0)
    assert viewer.asked == []
    assert html == report_html(made, numbered(made)) == report_html(made, numbered(made), ExportOptions(export_pages=9))


@each_row("language", ["en", "zh"])
def test_a_page_is_shown_with_its_number_and_what_is_marked(language: Language) -> None:
    for match in ("whole", "part", "none", "no characters"):
        html, viewer, _ = drawn(image(match), language=language)
        (first, *_) = re.findall(r'<figure><img class="page"[^>]*><figcaption>[^<]*</figcaption></figure>', html)
        assert 'src="data:image/webp;base64,cGljdHVyZQ=="' in first
        assert 'width="60" height="80"' in first
        assert f'alt="{message("report.page picture", language, page=3)}"' in first
        assert message("report.page", language, page=3, unit="page") in first
        assert message(f"report.page match.{match}", language) in first
        assert all(paint for _, _, paint in viewer.asked)
    assert "img-src data:" in html  # what the report allows itself


def test_the_words_that_bear_out_sentences_are_marked_once_a_page() -> None:
    _, viewer, made = drawn(image("whole"))
    cited = numbered(made)
    supported = {(one.evidence, one.passage, one.start, one.end) for one in check_support(cited).sentences}
    for evidence_id, texts, _ in viewer.asked:
        assert {text.passage.page for text in texts} == {3}
        assert {(evidence_id, text.passage.id, *span) for text in texts for span in text.spans} <= supported
    assert len({evidence_id for evidence_id, _, _ in viewer.asked}) == len(viewer.asked)


def test_no_more_pages_than_the_limit_are_shown_with_a_message() -> None:
    html, viewer, _ = drawn(image("whole"), pages=1)
    assert html.count('<img class="page"') == len(viewer.asked) == 1
    many, viewer, _ = drawn(image("whole"), pages=100)
    assert many.count('<img class="page"') == len(viewer.asked) > 1
    assert message("report.pages left out", "en", page=3, limit=1) in html
    assert message("report.pages left out", "en", page=3, limit=100) not in many


def test_why_a_page_is_missing_is_said_unless_there_never_was_one() -> None:
    for reason in ("not kept", "changed", "memory"):
        assert message(f"report.no page.{reason}", "en") in drawn(MissingPage(reason))[0]
    plain = drawn(image("whole"), pages=0)[0]
    for view in (MissingPage("no document"), MissingPage("no pages"), PageText(3, "text", ())):
        assert drawn(view)[0] == plain
