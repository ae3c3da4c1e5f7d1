"""Rich text is read in order and in the right characters, with headings, tables and notes."""

from __future__ import annotations

from research.readers.documents import read_document
from tests.readers.reading import assert_in_order, outline, read_sample, refusal
from tests.tables import each_row


def text_of(body: str | bytes, head: str = r"\ansi\ansicpg1252") -> str:
    data = body if isinstance(body, bytes) else body.encode("ascii")
    return read_document("a.rtf", b"{\\rtf1" + head.encode() + b" " + data + b"}").text


def codes(text: str, codec: str) -> str:
    return "".join(rf"\'{byte:02x}" for byte in text.encode(codec))


@each_row("name", ["pandoc.rtf", "libreoffice.rtf"])
def test_a_text_by_another_program_is_read_in_order_under_its_headings(name: str) -> None:
    document = read_sample(name)
    assert document.title == "West Lake report 西湖报告"
    assert_in_order(document.text)
    assert document.text.endswith("[1] The note says so.")
    headings = [heading for heading, _, _ in outline(document)]
    assert headings == ["", "Overview", "Overview > Visitors", "结论"]


def test_bytes_are_in_the_character_set_of_their_font_or_of_the_file() -> None:
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset134 SimSun;}{\f2\fcharset128 Mincho;}}"
    body = rf"{fonts}{{\f1 {codes('西湖', 'gbk')}}} caf\'e9 {{\f2 {codes('橋', 'cp932')}}}\par"
    assert text_of(body) == "西湖 café 橋"
    assert text_of(codes("门票四十元", "gbk"), r"\ansi\ansicpg936") == "门票四十元"


def test_unicode_characters_replace_those_that_stand_in_for_them() -> None:
    assert (
        text_of(r"\uc1\u-26755?\u28246\'ba x{\uc2\u35199 ab}\u-10179?\u-8704?\emdash\~\{\}") == "靽湖 x西\U0001f600— {}"
    )


def test_raised_lowered_hidden_and_deleted_text() -> None:
    assert text_of(r"10{\super 6} m\up6 2\up0  and CO\sub 2\nosupersub .{\v secret}{\deleted old}") == "10⁶ m² and CO₂."


def test_headings_by_style_tables_and_notes() -> None:
    styles = r"{\stylesheet{\s0 Normal;}{\s5\sbasedon0 heading 2;}{\*\cs9 Strong;}}{\info{\title The lake}{\author X}}"
    row = r"\trowd{}\pard\intbl {}\par more\cell {}\cell\row"
    body = (
        styles + r"{\header Page 1}\pard\s5 Fees\par\pard Before.{\footnote \pard A note.}\par"
        + row.format(r"\trhdr", "Year", "Fee") + row.format("", "2024", "40") + r"\pard After.\par{\*\unknown gone}"
    )  # fmt: skip
    document = read_document("a.rtf", (r"{\rtf1 " + body + "}").encode())
    assert document.title == "The lake"
    assert outline(document) == [("Fees", None, "Before. [1]\nYear more: 2024 more; Fee: 40\nAfter.\n[1] A note.")]


def test_text_boxes_and_links_are_read_and_pictures_are_not() -> None:
    body = (
        r'{\field{\*\fldinst HYPERLINK "http://example.org"}{\fldrslt the page}} {\pict\pngblip 89504e47}'
        r"{\shp{\*\shpinst{\sp{\sn wzName}{\sv x}}{\shptxt in a box}}{\shprslt in a box}}"
    )
    assert text_of(body).split() == ["the", "page", "in", "a", "box"]
    assert text_of(b"a\\bin5 {{{{{b") == "ab"


def test_other_files_are_refused_by_name() -> None:
    assert "no RTF file" in refusal("a.rtf", b"PK\x03\x04").detail
    assert refusal("a.rtf", b"{\\rtf1 " + b"{" * 5_000 + b"x").limit == "depth"
    assert refusal("a.rtf", b"{\\rtf1 \\par}").problem == "empty"
