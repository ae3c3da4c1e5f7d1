"""A report on paper: what it says can be copied out of it again, and every link leads where it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from research.evidence.citations import cited
from research.evidence.markup import Node
from research.export.document import Document, plain
from research.export.fonts import drawn, seen
from research.export.lines import Style, lines
from research.export.pdf import CELLS, drawn_pdf, report_pdf
from research.export.setting import Strip, bands, columns, pages
from research.records import Place
from tests.export.test_markdown import HOSTILE, URL, report

MADE = datetime(2025, 3, 1, 8, 5, tzinfo=UTC)
LONG = "https://example.org/" + "a-rather-long-segment/" * 12 + "?q=1&r=2"
PLACES = [
    (1, Place(id="a", name="拙政园", lng=120.6295, lat=31.3243, provider="amap")),
    (0, Place(id="b", name="虎丘", lng=120.5797, lat=31.3352, provider="amap")),
]


def p(*content: Node) -> Node:
    return {"t": "p", "c": list(content)}


def h(level: int, number: int, text: str) -> Node:
    return {"t": "h", "level": level, "id": f"section-{number}", "c": [text]}


def li(*content: Node) -> Node:
    return {"t": "li", "c": list(content)}


def row(kind: str, *cells: Node) -> Node:
    return {"t": "tr", "c": [{"t": kind, "c": [cell]} for cell in cells]}


def cite(number: int) -> Node:
    return {"t": "cite", "number": number}


CHINESE = Document(
    "苏州园林有哪些？",
    "zh",
    [
        h(1, 1, "苏州园林有哪些？"),
        h(2, 2, "回答"),
        p(
            "苏州园林始于",
            {"t": "strong", "c": ["春秋时期，鑫"]},
            "兴盛于",
            {"t": "em", "c": ["明清"]},
            "；面积 A = πr² ≈ 3.14 × 10³ m²，∑xᵢ ≤ ∞，√2 ≠ 1.5，±0.5 °C，µ″‰ → ①☆ 😀🎉🤖 “引用” don’t ",
            cite(1),
            " ",
            cite(2),
            "。",
        ),
        p("一" * 90, {"t": "code", "c": ["code_like_this"]}, "𠮷 and 한국 as boxes. ", LONG),
        {
            "t": "ul",
            "c": [
                li("水景", {"t": "ul", "c": [li("曲桥"), li(p("驳岸"), p("又一段"))]}),
                li("假山"),
            ],
        },
        {"t": "ol", "start": 3, "c": [li("先看拙政园"), li("再看留园")]},
        {"t": "blockquote", "c": [p("江南园林甲天下。" * 12)]},
        {"t": "hr"},
        {
            "t": "table",
            "c": [
                row("th", "园林", "说明"),
                row("td", "拙政园", "以水景为主，" * 20),
                row("td", "留园", {"t": "a", "href": "https://example.org/留园?a=b", "c": ["页面"]}),
            ],
        },
        {"t": "pre", "language": "py", "c": ["def area(r):\n    return 3.14 * r ** 2  # 圆" + "很长" * 50 + "\n"]},
        h(2, 3, "来源"),
        {
            "t": "ol",
            "start": 1,
            "role": "sources",
            "c": [
                li({"t": "a", "href": URL, "c": ["第一个来源"]}, " — 网页"),
                li("第二个来源", {"t": "ul", "c": [li("“概述”")]}),
            ],
        },
        h(2, 4, "地点"),
        p("两处。"),
    ],
)  # fmt: skip


def told(nodes: list[Any]) -> Iterator[str]:
    """What a reader reads, with the marks of lists."""
    for node in nodes:
        if isinstance(node, dict) and node["t"] in ("ul", "ol"):
            for number, item in enumerate(node["c"], node.get("start", 1)):
                yield f"{number}." if node["t"] == "ol" else "•"
                yield from told(item["c"])
        elif isinstance(node, dict) and node["t"] not in ("cite", "br"):
            yield from told(node.get("c", []))
        else:
            yield plain([node])


def folded(text: str) -> str:
    return "".join(seen(text).split())


def body(data: bytes, title: str, *, skip: int = 1) -> str:
    """The text of a file without its front page, its running titles and its page numbers."""
    pages = PdfReader(BytesIO(data)).pages
    found = ""
    for number, page in enumerate(pages, 1):
        text, foot = folded(page.extract_text()), folded(f"{title}{number}/{len(pages)}")
        if number > skip:
            assert text.endswith(foot), text[-80:]
            found += text.removesuffix(foot)
    return found


def links(data: bytes) -> set[str]:
    found = set()
    for page in PdfReader(BytesIO(data)).pages:
        for note in page.get("/Annots", []):
            action = note.get_object().get("/A")
            if action is not None:
                found.add(str(action["/URI"]))
    return found


def test_the_text_of_a_chinese_report_can_be_copied_out_of_it() -> None:
    data = drawn_pdf(CHINESE, made=MADE, places=PLACES)
    found = body(data, CHINESE.title)
    said, _, note = found.partition("两处。")
    assert said + "两处。" == folded("".join(told(CHINESE.nodes[1:])))
    assert note == folded(
        "有 3 个字符在所附字体中没有字形，以方框表示；复制文字时得到的仍是原字符。"
    )


def test_citations_lead_to_their_sources_and_titles_to_their_pages() -> None:
    data = drawn_pdf(CHINESE, made=MADE, places=PLACES)
    reader = PdfReader(BytesIO(data))
    goals = {
        (goal[0].idnum, round(float(goal[3])))
        for page in reader.pages
        for note in page.get("/Annots", [])
        if (goal := note.get_object().get("/Dest"))
    }
    titles = {
        (entry.raw_get("/Page").idnum, round(float(entry["/Top"]))) for entry in reader.outline
    }
    assert len(titles) == 3
    assert titles <= goals  # the contents
    found = sorted(goals - titles)
    heading = reader.outline[1]
    assert len(found) == 2  # the citations
    assert {page for page, _ in found} == {heading.raw_get("/Page").idnum}
    assert all(top < heading["/Top"] for _, top in found)
    assert [entry["/Title"] for entry in reader.outline] == ["回答", "来源", "地点"]
    contents = folded(reader.pages[0].extract_text())
    for entry in reader.outline:
        page = reader.get_destination_page_number(entry) + 1
        assert f"{entry['/Title']}{page}" in contents
    assert links(data) == {URL, "https://example.org/%E7%95%99%E5%9B%AD?a=b"}


def test_a_file_names_its_title_author_and_time_and_is_the_same_each_time() -> None:
    data = drawn_pdf(CHINESE, made=MADE, author="一位作者", places=PLACES)
    told = PdfReader(BytesIO(data)).metadata
    assert told is not None
    assert (told.title, told.author, told.creation_date) == (CHINESE.title, "一位作者", MADE)
    assert data == drawn_pdf(CHINESE, made=MADE, author="一位作者", places=PLACES)
    later = drawn_pdf(CHINESE, made=MADE.replace(year=2026), author="一位作者", places=PLACES)
    assert PdfReader(BytesIO(later)).metadata.creation_date.year == 2026


def test_the_picture_of_the_places_stands_under_their_heading_and_says_what_it_shows() -> None:
    reader = PdfReader(BytesIO(drawn_pdf(CHINESE, made=MADE, places=PLACES)))
    pictured = [page for page in reader.pages if page.images]
    assert len(pictured) == 1
    assert "地点" in pictured[0].extract_text()
    words = "\ufeff地点示意图：拙政园，虎丘".encode("utf-16-be").hex()
    assert f"/Alt <{words}>".encode() in pictured[0].get_contents().get_data()


def test_every_font_is_embedded_but_the_one_that_nothing_is_set_in() -> None:
    reader = PdfReader(BytesIO(drawn_pdf(CHINESE, made=MADE)))
    fonts = reader.pages[1]["/Resources"]["/Font"]
    embedded = 0
    for name, font in fonts.items():
        if "/DescendantFonts" not in font:
            assert not re.search(rf"{name} [0-9.]+ Tf [0-9.]+ TL (?!ET)".encode(), reader.pages[1].get_contents().get_data())  # fmt: skip
            continue
        descended = font["/DescendantFonts"][0].get_object()
        embedded += len(descended["/FontDescriptor"]["/FontFile2"].get_data()) > 0
        assert "/CIDToGIDMap" in descended
    assert embedded >= 4


# Right-to-left scripts are drawn in the order of the text, but readers turn them round.
TEXT = st.text(
    st.one_of(
        st.characters(codec="utf-8", max_codepoint=0x058F),
        st.characters(codec="utf-8", min_codepoint=0x0900, max_codepoint=0xD7FF),
        st.characters(codec="utf-8", min_codepoint=0xE000, max_codepoint=0xFB00),
        st.characters(codec="utf-8", min_codepoint=0x10000, max_codepoint=0x107FF),
        st.characters(codec="utf-8", min_codepoint=0x1F000, max_codepoint=0x3FFFF),
        st.sampled_from("，。“”《》（）中文 ab-/&<>\\(){}😀\n"),
    ),
    max_size=120,
)


@settings(max_examples=60)
@given(TEXT)
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    nodes: list[Node] = [p("x", text, "x"), p("END")]
    found = body(drawn_pdf(Document("T", "en", nodes), made=MADE), "T")
    assert found.partition("END")[0] == folded(f"x{text}x")


@settings(max_examples=25)
@given(st.text(st.characters(), max_size=60), st.sampled_from(["th", "pre", "code", "li", "h"]))
def test_no_text_makes_it_fail(text: str, where: str) -> None:
    node: Node = {"t": where, "c": [text], "level": 2, "id": "section-1"}
    if where == "th":
        node = {"t": "table", "c": [{"t": "tr", "c": [node]}]}
    elif where == "li":
        node = {"t": "ol", "role": "sources", "c": [node]}
    elif where == "code":
        node = p(node, cite(1), cite(7))
    data = drawn_pdf(Document(text, "zh", [node]), made=MADE, author=text)
    assert PdfReader(BytesIO(data)).pages


@pytest.mark.parametrize("words", HOSTILE)
def test_text_from_outside_is_text(words: str) -> None:
    told = report(words)
    data = report_pdf(told, cited(told))
    reader = PdfReader(BytesIO(data))
    said = "".join(folded(page.extract_text()) for page in reader.pages)
    assert folded(words) in said
    assert links(data) <= {URL, "https://redirect.example/g"}
    actions = {
        note.get_object()["/A"]["/S"]
        for page in reader.pages
        for note in page.get("/Annots", [])
        if "/A" in note.get_object()
    }
    assert actions <= {"/URI"}


def test_a_run_without_an_answer_is_a_report_too() -> None:
    told = report("Some words")
    said = "".join(page.extract_text() for page in PdfReader(BytesIO(report_pdf(told, None))).pages)
    assert "There is no answer." in said


def test_files_that_are_made_at_once_are_as_those_made_alone() -> None:
    other = Document("另一份", "zh", [p("别的文字，" * 40)])
    alone = [drawn_pdf(told, made=MADE) for told in (CHINESE, other)]
    with ThreadPoolExecutor(4) as threads:
        both = list(threads.map(lambda told: drawn_pdf(told, made=MADE), [CHINESE, other] * 4))
    assert both == alone * 4


def test_a_link_leads_to_the_web_or_nowhere() -> None:
    nodes: list[Node] = [p({"t": "a", "href": "javascript:alert(1)", "c": ["here"]})]
    data = drawn_pdf(Document("T", "en", nodes), made=MADE)
    assert b"javascript" not in data
    assert links(data) == set()


def test_a_table_of_many_rows_and_columns_says_what_it_leaves_out() -> None:
    head = row("th", *(f"column {at}" for at in range(30)))
    rows = [row("td", *(f"{at}.{to}" for to in range(30))) for at in range(2_000)]
    data = drawn_pdf(Document("T", "en", [{"t": "table", "c": [head, *rows]}]), made=MADE)
    reader = PdfReader(BytesIO(data))
    last = "".join(page.extract_text() for page in reader.pages[-2:])
    shown = CELLS // 30 - 1
    assert f"leaves out {2_000 - shown:,} more rows".replace(",", "") in last.replace("\n", " ")
    assert "column0" in folded(reader.pages[3].extract_text())  # repeated on each page
    assert "column29" in folded(reader.pages[-1].extract_text())  # in the last band


def test_a_cell_that_is_longer_than_a_page_is_parted() -> None:
    cell = "".join(f"第{number}句话。" for number in range(3_000))
    table: Node = {"t": "table", "c": [row("td", "one", cell)]}
    data = drawn_pdf(Document("T", "zh", [table]), made=MADE)
    assert body(data, "T") == folded(f"one{cell}")


def test_what_is_nested_deeply_stays_on_the_page() -> None:
    node: Node = p("innermost " * 8)
    for _ in range(40):
        node = {"t": "blockquote", "c": [{"t": "ol", "c": [li(node)]}]}
    data = drawn_pdf(Document("T", "en", [node]), made=MADE)
    assert body(data, "T") == folded("1." * 40 + "innermost " * 8)


# --- Lines


def test_no_line_begins_with_what_closes_nor_ends_with_what_opens() -> None:
    text = "他说：“这是《红楼梦》（一百二十回）。”她答：“是的，没错！”" * 30
    found = lines([(text, Style(10))], 93)
    assert "".join(line.text for line in found) == text
    assert not [line.text for line in found if line.text[0] in "，。！：”）》"]
    assert not [line.text for line in found if line.text[-1] in "“（《"]


def test_a_latin_word_stays_whole_in_chinese_text_unless_it_is_longer_than_a_line() -> None:
    text = "中文" * 7 + "internationalization" + "中文" * 20
    found = [line.text for line in lines([(text, Style(10))], 200)]
    assert sum("internationalization" in line for line in found) == 1
    long = [line.text for line in lines([(LONG, Style(10))], 200)]
    assert "".join(long) == LONG
    assert all(line.endswith(("/", "-")) for line in long[:-1])


@given(TEXT, st.floats(5, 300))
def test_lines_hold_all_of_the_text_and_none_is_too_wide(text: str, width: float) -> None:
    found = lines([(text, Style(10)), ("END", Style(8, bold=True))], width)
    assert "".join("".join(line.text for line in found).split()) == folded(text) + "END"
    for line in found:
        alone = sum(len(stretch.text) for stretch in line.stretches) == 1
        assert line.width <= width + 0.1 or alone


def test_a_citation_never_begins_a_line() -> None:
    raised = Style(10, raised=True)
    for width in range(40, 120):
        found = lines([("中文，" * 9 + "完", Style(10)), ("[12]", raised)], width)
        assert not found[-1].text.startswith("[")


def test_quotation_marks_are_as_wide_as_the_text_around_them_wants() -> None:
    def width(text: str, char: str) -> float:
        line = lines([(text, Style(10))], 500)[0]
        return next(s.width for s in line.stretches if s.text == char or char in s.text)

    assert width("他说“好”", "“") > 9
    assert drawn("’", "western").width < 400
    assert {s.font for s in lines([("don’t", Style(10))], 500)[0].stretches} == {
        "Sightline-regular",
        "Sightline-western",
    }


# --- Pages


def strip(height: float, **more: Any) -> Strip:
    return Strip(height, lambda canvas, top, gap: None, **more)


def test_what_keeps_with_the_next_goes_to_its_page() -> None:
    found = pages([strip(60), strip(20, keeps=True), strip(30), strip(10)], 100)
    assert [[set_.strip.height for set_ in page] for page in found] == [[60], [20, 30, 10]]


def test_the_head_of_a_table_is_repeated_where_a_page_begins_within_it() -> None:
    head = strip(10)
    found = pages([head, *(strip(30, heads=(head,)) for _ in range(4))], 100)
    assert [[set_.strip.height for set_ in page] for page in found] == [[10, 30, 30, 30], [10, 30]]


def test_what_is_higher_than_a_page_is_set_all_the_same() -> None:
    found = pages([strip(40, keeps=True) for _ in range(9)], 100)
    assert sum(len(page) for page in found) == 9


def test_columns_fill_the_width_and_keep_their_least() -> None:
    assert sum(columns([300, 80, 900], [60, 40, 90], 400)) == pytest.approx(400)
    assert all(
        w >= low
        for w, low in zip(columns([300, 80, 900], [60, 40, 90], 400), [60, 40, 90], strict=True)
    )
    assert columns([20, 30], [20, 20], 400) == [20, 30]


def test_a_table_that_is_too_wide_comes_in_bands_that_begin_with_its_first_column() -> None:
    assert bands([50, 60, 60, 60], 180) == [[0, 1, 2], [0, 3]]
    assert bands([50], 10) == [[0]]
