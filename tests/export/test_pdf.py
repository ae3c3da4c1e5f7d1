"""A report on paper: what it says can be copied out of it again, and every link leads where it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from unicodedata import combining

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader
from pypdf.generic import ContentStream

from research.citations.markdown_parser import Node
from research.citations.numbering import number_report_answer
from research.core.records import Place
from research.export.column_widths import fit_columns, split_into_bands
from research.export.document import ReportDocument, plain_text
from research.export.fonts import is_drawable, visible_text
from research.export.pdf import MAX_TABLE_CELLS, document_pdf, report_pdf
from tests.export.test_markdown import HOSTILE, URL, report
from tests.tables import each_row

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


CHINESE = ReportDocument(
    "苏州园林有哪些？",
    "zh",
    [
        h(1, 1, "苏州园林有哪些？"),
        h(2, 2, "答案"),
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
        p("一" * 90, {"t": "code", "c": ["code_like_this"]}, "𠮷 and 한국, ", LONG),
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
    MADE,
    "一位作者",
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
            yield plain_text([node])


def folded(text: str) -> str:
    return re.sub("[\\s\u200c-\u200f\ufe00-\ufe0f]", "", visible_text(text))


def marked(text: str) -> str:
    """Text without the marks of lists and what the map says."""
    return re.sub("[•·◦]|120.*园虎丘", "", text)


def body(data: bytes, title: str, *, skip: int = 1) -> str:
    """The text of a file without its front page, its running titles and its page numbers."""
    pages = PdfReader(BytesIO(data)).pages
    found = ""
    for number, page in enumerate(pages, 1):
        text, head, foot = folded(page.extract_text()), folded(title), f"{number}/{len(pages)}"
        if number > skip:
            assert text.startswith(head) and text.endswith(foot), text
            found += text.removeprefix(head).removesuffix(foot)
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
    data = document_pdf(CHINESE, PLACES)
    found = body(data, CHINESE.title)
    assert marked(found) == marked(folded("".join(told(CHINESE.nodes[1:]))))


def goals(reader: PdfReader) -> set[tuple[int, float]]:
    """The pages and heights that links within a file lead to."""
    named = reader.named_destinations
    pages = {page.indirect_reference.idnum: at for at, page in enumerate(reader.pages)}
    found = set()
    for page in reader.pages:
        for note in page.get("/Annots", []):
            goal = note.get_object().get("/Dest")
            if isinstance(goal, str):
                goal = named[goal].dest_array
            if goal is not None:
                found.add((pages[goal[0].idnum], float(goal[3])))
    return found


def test_citations_lead_to_their_sources_and_titles_to_their_pages() -> None:
    reader = PdfReader(BytesIO(document_pdf(CHINESE, PLACES)))
    assert [entry["/Title"] for entry in reader.outline] == ["答案", "来源", "地点"]
    numbers = [reader.get_destination_page_number(entry) for entry in reader.outline]
    sources = reader.outline[1]["/Top"]
    below = [top for page, top in goals(reader) if page == numbers[1] and top < sources]
    assert len(below) == 2  # the citations; the titles are above, or on the next page
    assert len(goals(reader)) == 5
    contents = folded(reader.pages[0].extract_text())
    for entry, number in zip(reader.outline, numbers, strict=True):
        assert re.search(rf"{entry['/Title']}\.+{number + 1}", contents)
    assert links(reader.stream.getvalue()) == {URL, "https://example.org/%E7%95%99%E5%9B%AD?a=b"}


def test_a_file_names_its_title_author_and_time_and_is_the_same_each_time() -> None:
    data = document_pdf(CHINESE, PLACES)
    told = PdfReader(BytesIO(data)).metadata
    assert told is not None
    assert (told.title, told.author, told.creation_date) == (CHINESE.title, "一位作者", MADE)
    assert data == document_pdf(CHINESE, PLACES)
    later = document_pdf(CHINESE._replace(timestamp=MADE.replace(year=2026)), PLACES)
    assert PdfReader(BytesIO(later)).metadata.creation_date.year == 2026


def tagged(node: Any) -> Iterator[Any]:
    """The elements of the tree that screen readers read."""
    node = node.get_object()
    if isinstance(node, list):
        for child in node:
            yield from tagged(child)
    elif isinstance(node, dict):
        yield node
        yield from tagged(node["/K"]) if "/K" in node else ()


def test_the_picture_of_the_places_stands_under_their_heading_and_says_what_it_shows() -> None:
    reader = PdfReader(BytesIO(document_pdf(CHINESE, PLACES)))
    said = [folded(page.extract_text()) for page in reader.pages]
    assert [text for text in said if "120.60°E" in text and "拙政园虎丘" in text] == said[-1:]
    assert said[-1].index("地点") < said[-1].index("120.60°E") < said[-1].index("两处")
    pictures = {n["/Alt"] for n in tagged(reader.root_object["/StructTreeRoot"]) if "/Alt" in n}
    assert pictures == {"地点示意图：拙政园，虎丘"}


def test_a_file_is_tagged_for_screen_readers() -> None:
    reader = PdfReader(BytesIO(document_pdf(CHINESE)))
    assert reader.root_object["/Lang"] == "zh-CN"
    assert reader.root_object["/MarkInfo"]["/Marked"]
    kinds = {str(n.get("/S")) for n in tagged(reader.root_object["/StructTreeRoot"])}
    assert kinds >= {"/Title", "/H1", "/P", "/L", "/LI", "/Table", "/TH", "/TD", "/Link"}


def test_every_font_is_embedded() -> None:
    reader = PdfReader(BytesIO(document_pdf(CHINESE)))
    fonts = [font.get_object() for font in reader.pages[1]["/Resources"]["/Font"].values()]
    assert len(fonts) >= 4
    for font in fonts:
        told = font["/DescendantFonts"][0].get_object()["/FontDescriptor"]
        file = told["/FontFile2"] if "/FontFile2" in told else told["/FontFile3"]
        assert len(file.get_data()) > 100
        assert "/ToUnicode" in font


def glyphs(text: str) -> dict[str, set[bytes]]:
    """The numbers of the glyphs that a paragraph of this text is drawn with, by font."""
    page = PdfReader(BytesIO(document_pdf(ReportDocument("T", "en", [p(text)], MADE)))).pages[-1]
    fonts = page["/Resources"]["/Font"]
    found: dict[str, set[bytes]] = {}
    font = ""
    for operands, operator in ContentStream(page.get_contents(), page.pdf).operations:
        if operator == b"Tf":
            font = str(fonts[operands[0]]["/BaseFont"]).partition("+")[2].partition("-Id")[0]
        elif operator in (b"Tj", b"TJ"):
            told = operands[0] if isinstance(operands[0], list) else operands
            codes = b"".join(part.original_bytes for part in told if hasattr(part, "original_bytes"))
            found.setdefault(font, set()).update(codes[at : at + 2] for at in range(0, len(codes), 2))
    return found


@each_row("words", ["👩‍👩‍👧", "🇩🇪", "👍🏽", "1️⃣", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])  # fmt: skip
def test_what_joins_into_one_picture_is_one(words: str) -> None:
    assert len(glyphs(words)["NotoEmoji-Regular"]) == 1


@each_row(
    ("words", "font", "count"),
    [
        ("ببب", "NotoSansArabic-Regular", 3),  # the first, the middle and the last differ
        ("क्ष", "NotoSansDevanagari-Regular", 1),  # three characters, one shape
        ("ที่", "NotoSansThai-Regular", 3),  # a letter with two marks above it
        ("שלום", "NotoSansHebrew-Regular", 4),
    ],
)
def test_letters_of_other_scripts_take_their_shapes(words: str, font: str, count: int) -> None:
    assert len(glyphs(words)[font]) == count


@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_font_of_the_machine_is_needed_for_these(language: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.export.fonts._system_chars", lambda weight=0: frozenset())
    words = "𠮷野家 한국어 العربية עברית ไทย हिन्दी Ελληνικά Русский 👩‍👩‍👧"
    said = body(document_pdf(ReportDocument("T", language, [p(words)], MADE)), "T")
    assert "[" not in said and "𠮷野家한국어" in said


@pytest.mark.parametrize(("language", "named"), [("zh", "[高棉文], [U+2B740]。"), ("en", "[Khmer], [U+2B740]。")])
def test_what_no_font_can_draw_is_named(language: Any, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.export.fonts._system_chars", lambda weight=0: frozenset())
    nodes: list[Node] = [p("ភាសា, \U0002b740。"), p("END")]
    said = body(document_pdf(ReportDocument("T", language, nodes, MADE)), "T")
    shown, _, note = said.partition("END")
    assert shown == folded(named)
    name = named[1:].partition("]")[0]
    assert name in note and "U+2B740" in note and "HTML" in note


# Letters of scripts that are shaped or run from right to left stand in another order in the file.
TEXT = st.text(
    st.one_of(
        st.characters(codec="utf-8", max_codepoint=0x058F),
        st.characters(codec="utf-8", min_codepoint=0x1E00, max_codepoint=0xD7FF),
        st.characters(codec="utf-8", min_codepoint=0x20000, max_codepoint=0x3FFFF),
        st.sampled_from("，。“”《》（）中文 ab-/&<>\\(){}😀\n"),
    ),
    max_size=120,
).map(lambda text: "".join(char for char in text if is_drawable(char) and not combining(char)))


@pytest.mark.slow
@settings(max_examples=60)
@given(TEXT)
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    nodes: list[Node] = [p("x", text, "x"), p("END")]
    found = body(document_pdf(ReportDocument("T", "en", nodes, MADE)), "T")
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
    data = document_pdf(ReportDocument(text, "zh", [node], MADE, text))
    assert PdfReader(BytesIO(data)).pages


@pytest.mark.slow
@each_row("words", HOSTILE)
def test_text_from_outside_is_text(words: str) -> None:
    told = report(words)
    data = report_pdf(told, number_report_answer(told))
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


MARKUP = (
    '#panic("x")', "#sys.inputs", "$x^2$", "\\u{41} \\ \\#", "@label and <label>", "*bold* _em_", "// comment", "/* a */",
    "= Heading", "+ list", "`raw`", "a~b -- c --- d ...", "\"It's\" 'so'", "[content] #[x]", "#let x = 1; #x", "https://a.b/c",
    '"); #read("/etc/passwd")', "#import \"@preview/x:1.0.0\"", "fi ffi -> =>",
)  # fmt: skip


@pytest.mark.parametrize("where", ["strong", "h", "th"])
def test_what_no_bold_font_has_is_drawn_with_a_stroke(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.export.fonts._system_chars", lambda weight=0: frozenset())
    for words, strokes in (("中文", 0), ("中璟文", 1), ("鑫鑫", 1)):
        assert all(map(is_drawable, words))
        node: Any = {"t": where, "c": [words], "level": 2, "id": "section-1"}
        if where == "th":
            node = {"t": "table", "c": [{"t": "tr", "c": [node]}, row("td", "璟")]}
        elif where == "strong":
            node = p(node, "璟")
        data = document_pdf(ReportDocument("T", "zh", [node], MADE))
        page = PdfReader(BytesIO(data)).pages[-1]
        drawn = ContentStream(page.get_contents(), page.pdf).operations
        modes = [operands[0] for operands, operator in drawn if operator == b"Tr"]
        assert len([mode for mode in modes if mode]) == strokes
        assert words in folded(page.extract_text())


@each_row("words", MARKUP)
def test_what_is_code_to_the_typesetter_is_text(words: str) -> None:
    nodes: list[Any] = [
        p("x", words, "x"), {"t": "pre", "c": [words]}, p({"t": "em", "c": [words]}, {"t": "code", "c": [words]}),
        {"t": "table", "c": [row("td", words)]}, {"t": "blockquote", "c": [p(words)]}, p("END"),
    ]  # fmt: skip
    data = document_pdf(ReportDocument(words, "en", nodes, MADE, words))
    said = body(data, words).partition("END")[0]
    assert said.replace("\u2060", "") == folded(f"x{words}x") + folded(words) * 5
    assert PdfReader(BytesIO(data)).metadata.title == " ".join(words.split())


def test_heaps_of_marks_and_endless_words_are_set() -> None:
    nodes: list[Node] = [p("e" + "\u0301" * 5_000), p("a" * 20_000), p("END")]
    said = body(document_pdf(ReportDocument("T", "en", nodes, MADE)), "T")
    assert said.count("a") == 20_000 and said.count("\u0301") < 200


def test_a_panic_of_the_typesetter_is_an_error_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def compile_with_warnings(self, **_: object) -> None:
            raise PanicException

    monkeypatch.setattr("research.export.typesetting.typst.Compiler", Broken)
    with pytest.raises(RuntimeError):
        document_pdf(CHINESE)


def test_a_run_without_an_answer_is_a_report_too() -> None:
    told = report("Some words")
    said = "".join(page.extract_text() for page in PdfReader(BytesIO(report_pdf(told, None))).pages)
    assert "There is no answer." in said


def test_files_that_are_made_at_once_are_as_those_made_alone() -> None:
    other = ReportDocument("另一份", "zh", [p("别的文字，" * 40)], MADE)
    alone = [document_pdf(told) for told in (CHINESE, other)]
    with ThreadPoolExecutor(4) as threads:
        both = list(threads.map(lambda told: document_pdf(told), [CHINESE, other] * 4))
    assert both == alone * 4


def test_a_link_leads_to_the_web_or_nowhere() -> None:
    nodes: list[Node] = [p({"t": "a", "href": "javascript:alert(1)", "c": ["here"]})]
    data = document_pdf(ReportDocument("T", "en", nodes, MADE))
    assert b"javascript" not in data
    assert links(data) == set()


@pytest.mark.slow
def test_a_table_of_many_rows_and_columns_says_what_it_leaves_out() -> None:
    head = row("th", *(f"column {at}" for at in range(30)))
    rows = [row("td", *(f"{at}.{to}" for to in range(30))) for at in range(2_000)]
    data = document_pdf(ReportDocument("T", "en", [{"t": "table", "c": [head, *rows]}], MADE))
    reader = PdfReader(BytesIO(data))
    last = "".join(page.extract_text() for page in reader.pages[-2:])
    shown = MAX_TABLE_CELLS // 30 - 1
    assert f"leaves out {2_000 - shown:,} more rows".replace(",", "") in last.replace("\n", " ")
    assert "column0" in folded(reader.pages[3].extract_text())  # repeated on each page
    assert "column29" in folded(reader.pages[-1].extract_text())  # in the last band


def test_a_cell_that_is_longer_than_a_page_is_parted() -> None:
    cell = "".join(f"第{number}句话。" for number in range(3_000))
    table: Node = {"t": "table", "c": [row("td", "one", cell)]}
    data = document_pdf(ReportDocument("T", "zh", [table], MADE))
    assert body(data, "T") == folded(f"one{cell}")


def test_what_is_nested_deeply_stays_on_the_page() -> None:
    node: Node = p("innermost " * 8)
    for _ in range(40):
        node = {"t": "blockquote", "c": [{"t": "ol", "c": [li(node)]}]}
    data = document_pdf(ReportDocument("T", "en", [node], MADE))
    assert body(data, "T") == folded("1." * 4 + "innermost " * 8)


# --- Columns


def test_columns_fill_the_width_and_keep_their_least() -> None:
    assert sum(fit_columns([300, 80, 900], [60, 40, 90], 400)) == pytest.approx(400)
    assert all(w >= low for w, low in zip(fit_columns([300, 80, 900], [60, 40, 90], 400), [60, 40, 90], strict=True))
    assert fit_columns([20, 30], [20, 20], 400) == [20, 30]


def test_a_table_that_is_too_wide_comes_in_bands_that_begin_with_its_first_column() -> None:
    assert split_into_bands([50, 60, 60, 60], 180) == [[0, 1, 2], [0, 3]]
    assert split_into_bands([50], 10) == [[0]]
