"""Boxes of tasks, the language of code, rows without a source, words from right to left and pictures
that are made of several characters are in each format what they are in the answer."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

from docx import Document as read_docx
from docx.oxml.ns import qn
from lxml import html
from pypdf import PdfReader

from research.core.records import Report
from research.export.docx import report_docx
from research.export.html import report_html
from research.export.markdown import report_markdown
from research.export.pdf import report_pdf
from tests.export.test_formulas_export import written
from tests.export.test_markdown import numbered, section
from tests.export.test_markdown_readers import read
from tests.export.test_support_export import made, text
from tests.tables import each_row


def markdown(prose: str) -> str:
    return section(report_markdown(written(prose), numbered(written(prose))), "Answer")


def page(report: Report) -> Any:
    return html.document_fromstring(report_html(report, numbered(report)).encode())


def word(report: Report) -> Any:
    return read_docx(BytesIO(report_docx(report, numbered(report))))


def paper(report: Report) -> str:
    pages = PdfReader(BytesIO(report_pdf(report, numbered(report)))).pages
    return "".join(page.extract_text() for page in pages)


TASKS = "- [ ] write\n- [x] *read* it\n- [X]\n- plain [ ] box\n\n1. [ ] numbered\n\n   more"


def test_tasks_are_tasks_in_markdown_and_have_boxes_elsewhere() -> None:
    said = markdown(TASKS)
    assert "* [ ] write" in said and "* [x] *read* it" in said and "1. [ ] numbered" in said
    assert r"plain \[ \] box" in said
    shown = page(written(TASKS)).text_content()
    assert "☐ write" in shown and "☑ read it" in shown and "☐ numbered" in shown and "plain [ ] box" in shown
    lines = [p.text for p in word(written(TASKS)).paragraphs]
    assert {"☐ write", "☐ numbered", "plain [ ] box"} < set(lines)
    assert any(line.startswith("☑ read it") for line in lines)
    assert re.search(r"☐\s*write", paper(written(TASKS)))


def test_github_finds_each_task() -> None:
    done = read("pandoc of GitHub's", report_markdown(written(TASKS), numbered(written(TASKS))))
    boxes = [box.get("checked") is not None for box in done.iter("input")]
    assert boxes == [False, True]  # in numbered lists only newer ones find them


@each_row(
    ("info", "language"),
    [
        ("python", "python"),
        ("C++ title=x", "c++"),
        ("objective-c", "objective-c"),
        ("{.r}", ""),
        ("", ""),
    ],
)
def test_code_keeps_its_language(info: str, language: str) -> None:
    prose = f"```{info}\nx = 1\n```"
    assert f"```{language}\nx = 1\n```" in markdown(prose)
    (code,) = (node for node in page(written(prose)).iter("code") if node.text == "x = 1\n")
    assert code.get("class") == (f"language-{language}" if language else None)


@each_row("info", ['x" onclick="alert(1)', "<b>", "a`b", "../../x", "x" * 500, "\u202epy"])
def test_no_language_acts(info: str) -> None:
    found = page(written(f"~~~{info}\nx = 1\n~~~"))
    assert not [node for node in found.iter() if "onclick" in node.attrib or node.tag == "b"][1:]
    classes = {node.get("class") for node in found.iter("code")} - {None}
    assert all(re.fullmatch(r"language-[a-z0-9+#.-]{1,20}", name) for name in classes)


ROWS = "| Year | Source |\n|---|---|\n" + "\n".join(f"| {1990 + n} | Report {n} has {n} pages |" for n in range(25))


def test_that_no_row_of_a_table_has_a_source_is_said_once() -> None:
    report = made(text(f"Seen.\n\n{ROWS}\n\nThe end."))
    said = report_markdown(report, numbered(report))
    table = "\n".join(line for line in said.split("\n") if line.startswith("| "))
    assert "(no source)" not in table
    assert said.count("(none of the 25 rows of this table has a source)") == 1
    assert "25 rows" in paper(report) and "25 rows" in page(report).text_content()


def test_rows_without_a_source_are_marked_where_others_have_one() -> None:
    cells = [
        text(f"Seen.\n\n{ROWS}", "p"),
        text(" |\n| 2020 | Report 99 has 7 pages |\n| 2021 | Report 98 has 8 pages |\n\nEnd."),
    ]
    report = made(*cells)
    said = report_markdown(report, numbered(report))
    table = [line for line in said.split("\n") if line.startswith("| ")]
    assert any("(no source)" in line for line in table) and any("[1]" in line for line in table)
    assert "rows of this table" not in said


RIGHT = (
    "הבית **הלבן** נבנה.\n\n- بيت كبير\n\nEnglish and שלום עולם here.\n\n### كتاب\n\n| א | b |\n|---|---|\n| ג | d |"
)


def test_what_runs_from_right_to_left_says_so() -> None:
    found = page(written(RIGHT))
    said = {n.tag: n.text_content() for n in found.iter("p", "li", "h3", "th", "td") if n.get("dir") == "rtl"}
    assert said["p"].startswith("הבית") and said["li"] == "بيت كبير"
    assert (said["h3"], said["th"], said["td"]) == ("كتاب", "א", "ג")
    file = word(written(RIGHT))
    ways = {p.text: p._p.pPr.find(qn("w:bidi")) is not None for p in file.paragraphs}
    assert ways["بيت كبير"] and ways["كتاب"] and not ways["English and שלום עולם here. (no source)"]
    turned = [r.text for p in file.paragraphs for r in p.runs if r._r.find(f".//{qn('w:rtl')}") is not None]
    assert "שלום עולם" in turned and "بيت كبير" in turned
    (white,) = (r for p in file.paragraphs for r in p.runs if r.text == "הלבן")
    assert white.font.bold and white.font.cs_bold and white.font.rtl


PICTURES = "Families 👩‍👩‍👧, flags 🇩🇪 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f, skin 👍🏽, keys 1️⃣, hearts ❤️‍🔥."


def test_a_picture_of_several_characters_stays_whole() -> None:
    pictures = re.findall(r"(?:flags |, |Families |skin |keys |hearts )?(\S*[^\x00-\x7f]\S*?)(?=[, .])", PICTURES)
    assert len(pictures) == 6
    assert all(one in markdown(PICTURES) and one in page(written(PICTURES)).text_content() for one in pictures)
    runs = [run.text for p in word(written(PICTURES)).paragraphs for run in p.runs]
    assert all(any(one in run for run in runs) for one in pictures)
