"""Automatic numbers of Word paragraphs are part of their text, as LibreOffice 7 prints them for the same files."""

from __future__ import annotations

import pytest

from research.readers.documents import parse_document
from research.readers.word_numbering import format_number
from tests.word_files import level, lists, paragraph, word_file

CLAUSES = [
    level(0, "decimal", "%1."),
    level(1, "decimal", "%1.%2"),
    level(2, "lowerLetter", "(%3)"),
    level(3, "lowerRoman", "(%4)"),
]


def labels(numbering: str, places: list[tuple[int, int]]) -> list[str]:
    """The numbers of paragraphs, each in a list and at a level."""
    body = "".join(paragraph("x", list_id=list_id, level=number) for list_id, number in places)
    text = parse_document("a.docx", word_file(body, numbering=numbering)).text
    return [line.removesuffix("x").strip() for line in text.splitlines()]


def test_deeper_clauses_begin_anew_below_each_higher_one() -> None:
    places = [(1, n) for n in (0, 1, 1, 2, 2, 3, 1, 2, 0, 1, 2)]
    assert labels(lists({1: CLAUSES}, {1: (1, "")}), places) == (
        ["1.", "1.1", "1.2", "(a)", "(b)", "(i)", "1.3", "(a)", "2.", "2.1", "(a)"]
    )


def test_skipped_levels_count_as_one() -> None:
    places = [(1, n) for n in (1, 0, 3, 1)]
    assert labels(lists({1: CLAUSES}, {1: (1, "")}), places) == ["1.1", "2.", "(i)", "2.2"]


def test_lists_count_on_unless_they_restart() -> None:
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="{}"/></w:lvlOverride>'
    replaced = f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "[%1]")}</w:lvlOverride>'
    instances = {1: (1, ""), 2: (1, ""), 3: (1, restart.format(1)), 4: (1, restart.format(7)), 5: (1, replaced)}
    places = [(1, 0), (2, 0), (3, 0), (3, 0), (3, 1), (4, 0), (1, 0), (5, 0)]
    assert labels(lists({1: CLAUSES}, instances), places) == ["1.", "2.", "1.", "2.", "2.1", "7.", "8.", "[I]"]


def test_levels_may_count_on_and_may_be_in_digits_throughout() -> None:
    levels = [
        level(0, "upperRoman", "Article %1"),
        level(1, "decimal", "%1-%2", more="<w:isLgl/>"),
        level(2, "decimal", "%3)", more='<w:lvlRestart w:val="0"/>'),
    ]
    places = [(1, n) for n in (0, 1, 2, 0, 1, 2)]
    numbers = labels(lists({1: levels}, {1: (1, "")}), places)
    assert numbers == ["Article I", "1-1", "1)", "Article II", "2-1", "2)"]


def test_bullets_of_symbol_fonts_are_shown_as_one() -> None:
    levels = [level(0, "bullet", "\uf0b7"), level(1, "bullet", "o"), level(2, "bullet", "–")]
    assert labels(lists({1: levels}, {1: (1, "")}), [(1, 0), (1, 1), (1, 2)]) == ["•", "•", "–"]


def test_headings_are_numbered_by_their_styles_and_can_be_without() -> None:
    style = (
        '<w:style w:type="paragraph" w:styleId="{0}"><w:name w:val="{1}"/>{3}<w:pPr><w:numPr>{2}</w:numPr></w:pPr>'
        "</w:style>"
    )
    number = '<w:numId w:val="1"/>'
    styles = style.format("H1", "heading 1", number, "") + style.format("H2", "heading 2", number, "")
    styles += style.format("H2b", "My clause", "", '<w:basedOn w:val="H2"/>')
    levels = [
        level(0, "chineseCounting", "第%1章", more='<w:pStyle w:val="H1"/>'),
        level(1, "decimal", "%2.", more='<w:pStyle w:val="H2"/>'),
    ]
    body = paragraph("总则", style="H1") + paragraph("适用", style="H2") + paragraph("范围", style="H2b")
    body += paragraph("前言", style="H1", list_id=0) + paragraph("附则", style="H1") + paragraph("生效", style="H2")
    data = word_file(body, numbering=lists({1: levels}, {1: (1, "")}), styles=styles)
    document = parse_document("a.docx", data)
    assert document.text.splitlines() == ["第一章 总则", "1. 适用", "2. 范围", "前言", "第二章 附则", "1. 生效"]
    assert document.sections[-1].heading == "第二章 附则"


def test_a_list_style_stands_for_the_list_it_names() -> None:
    style = (
        '<w:style w:type="numbering" w:styleId="L"><w:name w:val="L"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    numbering = lists({1: CLAUSES, 2: ['<w:numStyleLink w:val="L"/>']}, {1: (1, ""), 2: (2, "")})
    body = paragraph("x", list_id=2) + paragraph("x", list_id=2, level=1)
    assert parse_document("a.docx", word_file(body, numbering=numbering, styles=style)).text == "1. x\n1.1 x"


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("decimal", 12, "12"),
        ("decimalZero", 9, "09"),
        ("lowerLetter", 28, "bb"),
        ("upperLetter", 26, "Z"),
        ("lowerRoman", 1994, "mcmxciv"),
        ("upperRoman", 0, "0"),
        ("ordinal", 112, "112th"),
        ("ordinal", 23, "23rd"),
        ("cardinalText", 21, "Twenty-one"),
        ("ordinalText", 3, "Third"),
        ("chineseCounting", 12, "十二"),
        ("chineseCountingThousand", 101, "一百零一"),
        ("chineseCountingThousand", 1010, "一千零一十"),
        ("chineseLegalSimplified", 101, "壹佰零壹"),
        ("ideographDigital", 20, "二〇"),
        ("ideographTraditional", 3, "丙"),
        ("ideographTraditional", 11, "11"),
        ("ideographZodiac", 1, "子"),
        ("ideographZodiacTraditional", 60, "癸亥"),
        ("decimalEnclosedCircleChinese", 21, "㉑"),
        ("decimalFullWidth", 10, "１０"),
        ("hebrew1", 4, "4"),
        ("lowerLetter", 999_999, "999999"),
    ],
)
def test_a_number_format_is_written_as_word_writes_it(name: str, number: int, text: str) -> None:
    assert format_number(number, name) == text
