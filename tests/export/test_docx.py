"""A report as a Word file: real styles, lists, links and bookmarks, and no text that is not the report's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import docx
import pytest
from docx.oxml.ns import qn
from hypothesis import given, settings
from hypothesis import strategies as st

from research.citations.markdown_parser import Node
from research.citations.numbering import number_report_answer
from research.export.document import ReportDocument, build_document, plain_text
from research.export.docx import document_docx, report_docx
from research.export.docx_xml import clean_xml_text
from tests.export.test_markdown import HOSTILE, URL, report
from tests.export.test_pdf import CHINESE, MADE, PLACES, cite, h, li, p, row
from tests.tables import each_row

OMML = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def opened(data: bytes) -> Any:
    return docx.Document(BytesIO(data))


def parts(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def folded(text: str) -> str:
    return "".join(clean_xml_text(text).split())


def read(file: Any) -> str:
    """The text of the body after the table of contents, as a reader has it."""
    paragraphs = iter(file.element.body.iter(qn("w:p")))
    found = []
    begun = False
    for paragraph in paragraphs:
        begun = begun or paragraph.find(f".//{qn('w:pageBreakBefore')}") is not None
        if begun:
            found += [text.text or "" for text in paragraph.iter(qn("w:t"), f"{{{OMML}}}t")]
    return folded("".join(found))


def told(nodes: list[Any]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, dict) and node["t"] not in ("cite", "br"):
            yield from told(node.get("c", []))
        else:
            yield plain_text([node])


def styles(file: Any) -> list[tuple[str, str]]:
    return [(paragraph.style.name, paragraph.text) for paragraph in file.paragraphs]


@cache
def chinese() -> bytes:
    return document_docx(CHINESE, PLACES)


def test_the_file_says_what_the_document_says() -> None:
    assert read(opened(chinese())) == folded("".join(told(CHINESE.nodes[1:])))


def test_blocks_have_the_styles_of_their_kind() -> None:
    found = styles(opened(chinese()))
    assert found[0] == ("Title", CHINESE.title)
    assert ("Heading 1", "答案") in found
    assert ("List Bullet", "水景") in found
    assert ("List Bullet", "驳岸") in found
    assert ("List Continue", "又一段") in found
    assert ("List Number", "先看拙政园") in found
    assert [text for name, text in found if name == "Quote"] == ["江南园林甲天下。" * 12]
    assert any(name == "Code" and text.startswith("def area(r):\n") for name, text in found)


def test_each_numbered_list_begins_with_its_own_number() -> None:
    file = opened(chinese())
    numbering = file.part.numbering_part.element
    begun = {
        num.get(qn("w:numId")): num.find(f".//{qn('w:startOverride')}").get(qn("w:val"))
        for num in numbering.iter(qn("w:num"))
        if num.find(f".//{qn('w:startOverride')}") is not None
    }
    used = {
        paragraph.text: paragraph._p.pPr.numPr.numId.val
        for paragraph in file.paragraphs
        if paragraph.style.name == "List Number"
    }
    assert used["先看拙政园"] == used["再看留园"] != used["第一个来源 — 网页"]
    assert begun[str(used["先看拙政园"])] == "3"
    assert begun[str(used["第一个来源 — 网页"])] == "1"


def test_citations_lead_to_bookmarks_at_their_sources() -> None:
    file = opened(chinese())
    body = file.element.body
    marks = {mark.get(qn("w:name")): mark.getparent() for mark in body.iter(qn("w:bookmarkStart"))}
    goals = {
        link.get(qn("w:anchor")): "".join(text.text for text in link.iter(qn("w:t")))
        for link in body.iter(qn("w:hyperlink"))
        if link.get(qn("w:anchor"))
    }
    assert goals["source_1"] == "[1]"
    assert goals["source_2"] == "[2]"
    assert set(goals) <= set(marks)
    assert "第二个来源" in "".join(text.text for text in marks["source_2"].iter(qn("w:t")))
    ids = [mark.get(qn("w:id")) for mark in body.iter(qn("w:bookmarkStart"))]
    assert len(set(ids)) == len(ids)


def test_links_are_relationships_to_the_web_and_to_nothing_else() -> None:
    nodes: list[Node] = [p({"t": "a", "href": URL, "c": ["there"]}, {"t": "a", "href": "file:///etc", "c": ["no"]})]
    file = opened(document_docx(ReportDocument("T", "en", nodes, MADE)))
    assert [rel._target for rel in file.part.rels.values() if rel.is_external] == [URL]
    assert read(file) == "thereno"


def test_the_contents_are_a_field_with_a_result_so_that_word_asks_nothing() -> None:
    found = parts(chinese())
    assert b"updateFields" not in found["word/settings.xml"]
    file = opened(chinese())
    entries = [text for name, text in styles(file) if name.lower().startswith("toc ")]
    assert entries == ["答案\t2", "来源\t2", "地点\t3"]
    kinds = [mark.get(qn("w:fldCharType")) for mark in file.element.body.iter(qn("w:fldChar"))]
    assert kinds == ["begin", "separate", *["begin", "separate", "end"] * 3, "end"]


def test_tables_repeat_their_head_and_keep_their_cells() -> None:
    (table,) = opened(chinese()).tables
    assert table.style.name == "Table Grid"
    assert [cell.text for cell in table.rows[0].cells] == ["园林", "说明"]
    heads = [r._tr.find(f".//{qn('w:tblHeader')}") is not None for r in table.rows]
    assert heads == [True, False, False]


def test_the_picture_of_the_places_is_described() -> None:
    file = opened(chinese())
    (shape,) = file.inline_shapes
    assert shape._inline.docPr.get("descr") == "地点示意图：拙政园，虎丘"
    at = [name for name, _ in styles(file)].index("Picture")
    assert styles(file)[at - 1] == ("Heading 1", "地点")


def test_chinese_has_a_chinese_font_and_language() -> None:
    found = parts(chinese())["word/styles.xml"].decode()
    assert 'w:eastAsia="Microsoft YaHei"' in found
    assert 'w:eastAsia="zh-CN"' in found


@each_row(
    ("words", "chinese"),
    [
        ("“闭馆”——每周一", True),
        ("“，”", True),
        ("The “Palace Museum” (故宫) is closed on Mondays.", False),
        ("“Closed”", False),
    ],
)
def test_punctuation_is_in_the_font_of_what_it_stands_among(words: str, chinese: bool) -> None:
    made = ReportDocument("x", "en", [p(words)], MADE, "x")
    body = parts(document_docx(made))["word/document.xml"].decode()
    (run,) = (run for run in re.findall(r"<w:r>.*?</w:r>", body, re.S) if words in run)
    assert ('w:hint="eastAsia"' in run) is chinese


def test_the_file_names_its_title_author_and_time_and_is_the_same_each_time() -> None:
    told = opened(chinese()).core_properties
    assert (told.title, told.author) == (CHINESE.title, "一位作者")
    assert told.created.replace(tzinfo=MADE.tzinfo) == MADE
    assert document_docx(CHINESE, PLACES) == chinese()
    with ZipFile(BytesIO(chinese())) as file:
        assert {entry.date_time[0] for entry in file.infolist()} == {1980}
        assert not [name for name in file.namelist() if "thumbnail" in name]


@pytest.mark.slow
@settings(max_examples=50)
@given(st.text(st.characters(), max_size=80), st.sampled_from(["td", "pre", "p", "li", "h"]))
def test_any_text_comes_out_but_for_what_xml_cannot_hold(text: str, where: str) -> None:
    node: Node = {"t": where, "c": [text], "level": 3, "id": "section-1"}
    if where == "td":
        node = {"t": "table", "c": [{"t": "tr", "c": [node]}]}
    elif where == "li":
        node = {"t": "ol", "role": "sources", "c": [node]}
    nodes = [p("x"), node, p("END", cite(1), cite(9))]
    data = document_docx(ReportDocument(text, "zh", nodes, MADE, text))
    assert read(opened(data)) == folded(f"x{text}END[1][9]")


@each_row("words", HOSTILE)
def test_text_from_outside_is_text(words: str) -> None:
    given_ = report(words)
    numbered = number_report_answer(given_)
    file = opened(report_docx(given_, numbered))
    assert read(file) == folded("".join(told(build_document(given_, numbered).nodes[1:])))
    targets = {rel._target for rel in file.part.rels.values() if rel.is_external}
    assert targets <= {URL, "https://redirect.example/g"}


@pytest.mark.slow
def test_a_large_table_is_there_in_full() -> None:
    rows = [row("td", *(f"{at}.{to}" for to in range(30))) for at in range(2_000)]
    data = document_docx(ReportDocument("T", "en", [p("x"), {"t": "table", "c": rows}], MADE))
    (table,) = opened(data).tables
    cells = [text.text for text in table._tbl.iter(qn("w:t"))]
    assert len(cells) == 60_000
    assert cells[-1] == "1999.29"


def test_two_tables_in_a_row_stay_two() -> None:
    table: Node = {"t": "table", "c": [row("td", "a")]}
    file = opened(document_docx(ReportDocument("T", "en", [table, table], MADE)))
    assert len(file.tables) == 2
    body = [child.tag for child in file.element.body]
    first = body.index(qn("w:tbl"))
    assert body[first + 1] == qn("w:p")


def test_lists_may_be_deeper_than_word_counts() -> None:
    node: Node = {"t": "ul", "c": [li("deepest")]}
    for depth in range(14):
        node = {"t": "ol", "start": 1, "c": [li(str(depth), node)]}
    file = opened(document_docx(ReportDocument("T", "en", [p("x"), node], MADE)))
    levels = [int(mark.get(qn("w:val"))) for mark in file.element.body.iter(qn("w:ilvl"))]
    assert max(levels) == 8
    assert "deepest" in read(file)


def contents(file: Any) -> list[tuple[str, str, int]]:
    """The entries of the contents: title, the bookmark that its page is asked of, and the page."""
    found = []
    for paragraph in file.paragraphs:
        if paragraph.style.name.startswith("toc"):
            words = [text.text for text in paragraph._p.iter(qn("w:t"))]
            codes = [code.text for code in paragraph._p.iter(qn("w:instrText"))]
            (asked,) = (code.split()[1] for code in codes if "PAGEREF" in code)
            found.append(("".join(words[:-1]), asked, int(words[-1])))
    return found


def test_the_contents_tell_pages_that_word_can_count_again() -> None:
    nodes: list[Any] = []
    for number in range(1, 41):
        nodes.append(h(2 if number % 4 == 1 else 3, number, f"Part {number}"))
        nodes += [p(f"A line {number}.") for _ in range(9)]
    file = opened(document_docx(ReportDocument("T", "en", nodes, MADE)))
    told = contents(file)
    assert [title for title, _, _ in told] == [f"Part {number}" for number in range(1, 41)]
    marks = {mark.get(qn("w:name")) for mark in file.element.body.iter(qn("w:bookmarkStart"))}
    assert {asked for _, asked, _ in told} <= marks
    pages = [page for _, _, page in told]
    assert pages == sorted(pages)
    # Nine lines of 10.5 points at 1.3 and 6 points behind each, and a heading: three to four a page.
    assert pages[0] in (2, 3) and 9 <= pages[-1] - pages[0] <= 13
    fields = [f.get(qn("w:fldCharType")) for f in file.element.body.iter(qn("w:fldChar"))]
    assert fields.count("begin") == fields.count("separate") == fields.count("end") == 41


def test_pages_are_counted_with_tables_pictures_and_long_paragraphs() -> None:
    def last(*before: Any) -> int:
        nodes = [h(2, 1, "First"), *before, h(2, 2, "Last")]
        return contents(opened(document_docx(ReportDocument("T", "zh", nodes, MADE))))[-1][2]

    rows: Any = {"t": "table", "c": [row("td", f"第{n}行", "说明") for n in range(200)]}
    assert last() == 2
    assert 3 <= last(p("长段落，" * 700)) <= 6  # 2,800 characters, 44 a line, 33 lines a page
    assert 6 <= last(rows) <= 9
    code: Any = {"t": "pre", "c": ["x = 1\n" * 150]}
    assert 4 <= last(code) <= 6
