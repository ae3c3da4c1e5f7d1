"""Quotes of scanned pages say in a report that they were read from a picture."""

from __future__ import annotations

from research.core.i18n import message
from research.core.records import Language, Report
from research.export.html import report_html
from tests.export.test_markdown import exported, numbered, report
from tests.tables import each_row


@each_row("language", ["en", "zh"])
def test_a_quote_that_was_read_from_a_picture_says_so(language: Language) -> None:
    typed = report("gale", language=language)
    read = Report.model_validate_json(typed.model_dump_json().replace('"ocr":false', '"ocr":true'))
    mark = message("report-ocr", language)
    for made, marked in ((typed, False), (read, True)):
        assert (mark in exported(made)) is marked
        assert (mark in report_html(made, numbered(made))) is marked
