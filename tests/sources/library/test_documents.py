"""Files become plain text with sections, or one of a few named problems, and nothing else."""

from __future__ import annotations

import hashlib
import io
import itertools
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

import docx
import openpyxl
import pypdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
)

from research.readers import documents, pdf
from research.readers.documents import (
    SUFFIXES,
    Document,
    FileProblem,
    UnreadableFileError,
    find_accepted_files,
    read_document,
)
from tests.readers.compound_files import compound_file
from tests.readers.reading import SAMPLES as OTHER_SAMPLES
from tests.tables import each_row


def problem(name: str, data: bytes) -> FileProblem:
    return refused(name, data).problem


def refused(name: str, data: bytes) -> UnreadableFileError:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name, data)
    message = str(caught.value)
    assert message == caught.value.detail
    assert 0 < len(message) <= 300
    assert "\n" not in message
    return caught.value


def over(name: str, data: bytes) -> str:
    """The limit that a file is over, which is named by its value."""
    found = refused(name, data)
    if found.limit in documents.FILE_LIMITS:
        assert f"{documents.FILE_LIMITS[found.limit]:,}" in found.detail
    return found.limit


def tiled(document: Document) -> Document:
    """The document, after its sections were checked."""
    at = 0
    for section in document.sections:
        assert at <= section.start < section.end <= len(document.text)
        assert document.text[section.start : section.end].strip()
        at = section.end
    return document


def outline(document: Document) -> list[tuple[str, str]]:
    return [(s.heading, document.text[s.start : s.end]) for s in tiled(document).sections]


def text(name: str, content: str) -> Document:
    return tiled(read_document(name, content.encode()))


# Builders


def make_docx(fill: Any) -> bytes:
    document = docx.Document()
    fill(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def make_xlsx(**sheets: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def english_font() -> DictionaryObject:
    return DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )


def chinese_font(writer: pypdf.PdfWriter, characters: str) -> DictionaryObject:
    """A composite font whose codes are the characters' own code points."""
    ranges = "".join(f"<{ord(c):04X}> <{ord(c):04X}>\n" for c in sorted(set(characters)))
    unicode_map = DecodedStreamObject()
    unicode_map.set_data(
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        + f"{len(set(characters))} beginbfchar\n{ranges}endbfchar\n".encode()
        + b"endcmap end end"
    )
    descendant = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/CIDFontType0"),
            NameObject("/BaseFont"): NameObject("/STSong-Light"),
            NameObject("/DW"): NumberObject(1000),
        }
    )
    return DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type0"),
            NameObject("/BaseFont"): NameObject("/STSong-Light"),
            NameObject("/Encoding"): NameObject("/Identity-H"),
            NameObject("/DescendantFonts"): ArrayObject([writer._add_object(descendant)]),
            NameObject("/ToUnicode"): writer._add_object(unicode_map),
        }
    )


def make_pdf(*pages: list[str], title: str = "", outline: dict[str, int] | None = None, password: str = "") -> bytes:
    writer = pypdf.PdfWriter()
    for lines in pages:
        page = writer.add_blank_page(595, 842)
        chinese = any(ord(c) > 255 for c in "".join(lines))
        font = chinese_font(writer, "".join(lines)) if chinese else english_font()
        shown = [
            f"<{line.encode('utf-16-be').hex()}> Tj 0 -16 Td" if chinese else f"({line}) Tj 0 -16 Td" for line in lines
        ]
        stream = DecodedStreamObject()
        stream.set_data(("BT /F1 12 Tf 60 780 Td " + "\n".join(shown) + " ET").encode())
        if lines:
            page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if title:
        writer.add_metadata({"/Title": title, "/CreationDate": "D:20240501000000Z"})
    for name, number in (outline or {}).items():
        writer.add_outline_item(title=name, page_number=number)
    if password:
        writer.encrypt(user_password=password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def rezipped(data: bytes, **changed: bytes) -> bytes:
    """A zip container with the members replaced whose file stem is named."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", 8) as new:
        for member in old.namelist():
            new.writestr(member, changed.get(Path(member).stem, old.read(member)))
    return out.getvalue()


def locked_office() -> bytes:
    return compound_file({"EncryptedPackage": b"\0" * 512})


PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>West Lake - Example News</title>
<link rel="canonical" href="https://example.org/lake">
<meta property="article:published_time" content="2024-05-01T08:00:00+08:00">
<script>alert("never shown")</script><style>p { color: red }</style></head><body>
<nav><a href="/">Home</a> <a href="/all">All the pages</a></nav><article><h1>West Lake</h1>
<p>West Lake in Hangzhou is a <b>freshwater</b> lake &amp; a <a href="https://example.org/w">World
Heritage Site</a> that many people visit in every season of the year.</p>
<h2>Visitors</h2><p>The lake counted twenty-eight million visitors in the year before last.</p>
<table><tr><th>Year</th><th>Visitors</th></tr><tr><td>2023</td><td>28 million</td></tr></table>
<ul><li>Leifeng Pagoda</li><li>Broken Bridge</li></ul></article></body></html>"""


# All formats


def test_the_documented_suffixes_are_accepted() -> None:
    assert (
        " ".join(SUFFIXES) == ".txt .md .markdown .html .htm .pdf .docx .pptx .odt .rtf .epub .eml .msg .ipynb "
        ".csv .tsv .json .jsonl .ndjson .xlsx .xls .xlsb .ods .png .jpg .jpeg .webp .tif .tiff"
    )


@pytest.mark.slow
def test_the_suffix_decides_in_any_case_and_the_digest_is_that_of_the_bytes() -> None:
    document = read_document("folder/NOTES.TXT", b"One line.")
    assert document.sha256 == hashlib.sha256(b"One line.").hexdigest()
    assert (document.name, document.text) == ("folder/NOTES.TXT", "One line.")


def test_an_unknown_suffix_is_unsupported_and_the_accepted_ones_are_named() -> None:
    assert problem("a.exe", b"x") == "unsupported"
    assert problem("README", b"x") == "unsupported"
    with pytest.raises(UnreadableFileError, match=r"\.txt .*\.xlsx"):
        read_document("a.exe", b"x")


@each_row("suffix", SUFFIXES)
def test_a_file_of_nothing_or_of_white_space_is_empty(suffix: str) -> None:
    assert problem("a" + suffix, b"") == "empty"
    assert problem("a" + suffix, b" \r\n\t ") == "empty"


def test_containers_without_words_are_empty() -> None:
    assert problem("a.docx", make_docx(lambda d: d.add_paragraph("\u200b"))) == "empty"
    assert problem("a.xlsx", make_xlsx(One=[])) == "empty"
    assert problem("a.html", b"<html><body><script>x()</script></body></html>") == "empty"
    assert problem("a.md", b"<!-- nothing -->") == "empty"


def test_a_file_above_the_limits_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem("a.txt", b"x" * (documents.MAX_BYTES + 1)) == "too large"
    assert problem("a.txt", b"word " * (documents.MAX_CHARACTERS // 5 + 1)) == "too large"
    rows = b"a,b\n" + b"1,2\n" * (documents.MAX_ROWS + 1)
    assert problem("a.csv", rows) == "too large"


def test_what_is_over_a_limit_names_it() -> None:
    assert over("a.txt", b"x" * (documents.MAX_BYTES + 1)) == "size"
    assert over("a.md", b"word " * (documents.MAX_CHARACTERS // 5 + 1)) == "characters"
    assert over("a.csv", b"a,b\n" + b"1,2\n" * (documents.MAX_ROWS + 1)) == "rows"
    names = ",".join(f"c{n:0199}" for n in range(50))
    wide = f"{names}\n" + f"{','.join('1' * 50)}\n" * 1_000
    assert over("wide.csv", wide.encode()) == "characters"  # 150 kB, 10 MB once each is named


@pytest.mark.parametrize("depth", [300, 5_000])
def test_what_is_nested_too_deep_says_so_instead_of_losing_its_text(depth: int) -> None:
    deep = "<div>" * depth + "<p>Deep down.</p>" + "</div>" * depth + "<p>After it.</p>"
    assert over("a.html", f"<html><body><p>Before.</p>{deep}</body></html>".encode()) == "depth"
    assert over("a.md", f"Before.\n\n{deep}\n".encode()) == "depth"
    assert over("b.md", ("> " * depth + "Deep down.\n").encode()) == "depth"


def test_what_is_nested_as_pages_are_is_read() -> None:
    deep = "<div>" * 200 + "<p>Deep down, there is a sentence.</p>" + "</div>" * 200
    assert "Deep down" in text("a.html", f"<html><body>{deep}</body></html>").text
    assert "Deep down" in text("a.md", "> " * 90 + "Deep down.\n").text


def test_every_problem_is_a_known_word() -> None:
    assert set(get_args(FileProblem)) == {
        "unsupported",
        "unreadable",
        "encrypted",
        "empty",
        "no text layer",
        "mislabelled",
        "too large",
    }


def test_invisible_characters_go_and_the_visible_ones_stay_as_they_are() -> None:
    document = text("a.txt", "\ufeffpay\u202eload\u2066 ﬁne\u200b ①\u00a0２０\x07 \r\n\r\n\r\n\r\nnext\t\r\n")
    assert document.text == "payload ﬁne ① ２０\nnext"


def test_a_message_names_no_path_and_stays_on_one_line() -> None:
    name = "/home/user/secret/a\n.b" + "c" * 400
    assert problem(name, b"x") == "unsupported"
    with pytest.raises(UnreadableFileError) as caught:
        read_document("/home/user/secret/a.pdf", b"nothing")
    assert "secret" not in str(caught.value)


def test_the_title_is_one_line_and_never_empty() -> None:
    assert len(text("a.md", f"# {'word ' * 100}\n\ntext").title) <= 200
    assert text("a.md", '---\ntitle: "\u200b"\n---\ntext').title == "a"
    assert text("\u200b.md", "text").title == "untitled"


# Plain text


def test_a_text_file_takes_a_short_first_line_as_title_else_its_name() -> None:
    assert text("notes.txt", "\nA short line\nmore").title == "A short line"
    assert text("notes.txt", "long " * 40).title == "notes"


def test_chinese_in_gb18030_is_read_and_recognised() -> None:
    document = tiled(read_document("杭州.txt", "西湖位于杭州市区西部。\r\n门票免费，全天开放。".encode("gb18030")))
    assert document.text == "西湖位于杭州市区西部。\n门票免费，全天开放。"
    assert document.language == "zh"


def test_english_is_recognised() -> None:
    assert text("a.txt", "West Lake (西湖) is a lake in Hangzhou.").language == "en"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_decides(encoding: str) -> None:
    assert read_document("a.txt", "西湖 and lake".encode(encoding)).text == "西湖 and lake"


@each_row(
    "data",
    [
        bytes(range(256)),
        b"text\0with\0zeros",
        b"\x01\x02\x03\x04 mostly controls",
    ],
)
def test_binary_and_undecodable_text_is_unreadable(data: bytes) -> None:
    assert problem("a.txt", data) == "unreadable"


def test_a_text_in_a_code_page_of_windows_is_read() -> None:
    french = "L'été dernier, la préfecture a publié un décret"
    assert read_document("a.txt", french.encode("cp1252")).text == french


def test_numbered_headings_make_sections_of_a_text_file() -> None:
    source = "报告\n\n第一章 概况\n\n西湖位于杭州。\n\n一、门票\n\n门票免费。\n\n第二章 交通\n\n可以乘地铁。\n"
    assert outline(text("a.txt", source)) == [
        ("", "报告"),
        ("第一章 概况", "西湖位于杭州。"),
        ("第一章 概况 > 一、门票", "门票免费。"),
        ("第二章 交通", "可以乘地铁。"),
    ]
    english = "Report\n\n1. Scope\n\nThe lake.\n\n1. This is an item of a list, not a heading.\n"
    assert [heading for heading, _ in outline(text("a.txt", english))] == ["", "1. Scope"]


def test_lines_broken_by_a_fixed_width_are_joined_inside_sentences_only() -> None:
    source = (
        "The lake was formed when the inter-\n"
        "national road was built, and it has\n"
        "been visited since.\n"
        "- a point of a list that is not joined\n"
        "- another point\n"
    )
    assert text("a.txt", source).text.split("\n") == [
        "The lake was formed when the international road was built, and it has been visited since.",
        "- a point of a list that is not joined",
        "- another point",
    ]


# Markdown


def test_front_matter_gives_title_address_date_and_language() -> None:
    document = text(
        "a.md",
        '---\ntitle: "The lake"\nsource: https://example.org/a?b=1\ndate: 2024-05-01\n'
        "language: zh\ntags: [a, b]\nrun: !!python/object/apply:os.system ['true']\n---\n"
        "# Other\n\nText.\n",
    )
    assert (document.title, document.url) == ("The lake", "https://example.org/a?b=1")
    assert (document.published, document.language) == (date(2024, 5, 1), "zh")
    assert outline(document) == [("Other", "Text.")]
    assert "tags" not in document.text


def test_a_rule_at_the_start_is_not_front_matter() -> None:
    assert text("a.md", "---\nJust a paragraph.\n\n---\n\nMore.").text == "Just a paragraph.\nMore."


@each_row("url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "a book", "http://["])
def test_an_address_that_is_not_http_is_dropped(url: str) -> None:
    assert text("a.md", f"---\nurl: {url}\n---\nText.").url == ""
    page = PAGE.replace("https://example.org/lake", url)
    assert read_document("a.html", page.encode()).url == ""


@each_row("stated", ["2024-02-30", "yesterday", "2024", "May 2024"])
def test_a_date_that_is_none_is_dropped(stated: str) -> None:
    assert text("a.md", f"---\ndate: {stated}\n---\nText.").published is None


def test_markdown_headings_become_paths_below_the_title() -> None:
    source = "# Lake\n\nIntro.\n\n## Visitors\n\n### By year\n\nMany.\n\n## Food\n\nFish.\n"
    document = text("a.md", source)
    assert document.title == "Lake"
    assert outline(document) == [
        ("", "Intro."),
        ("Visitors > By year", "Many."),
        ("Food", "Fish."),
    ]
    assert document.text == "Lake\nIntro.\nVisitors\nBy year\nMany.\nFood\nFish."


def test_no_markdown_syntax_is_left() -> None:
    source = (
        "Text with **bold**, *soft*, ~~old~~, `code`, [a link](https://example.org) and "
        "![a picture](x.png).\nSame paragraph.\n\n> Quoted.\n\n- one\n  - inner\n- two\n\n"
        "```python\nprint(1)\n```\n\n"
        "| Year | Visitors |\n| --- | ---: |\n| 2023 | 28 |\n| 2024 | |\n"
    )
    assert text("a.md", source).text.split("\n") == [
        "Text with bold, soft, old, code, a link and a picture. Same paragraph.",
        "Quoted.",
        "one",
        "inner",
        "two",
        "print(1)",
        "Year: 2023; Visitors: 28",
        "Year: 2024",
    ]


def test_chinese_lines_of_a_paragraph_join_without_a_space() -> None:
    assert text("a.md", "西湖位于\n杭州。").text == "西湖位于杭州。"


def test_html_in_markdown_loses_its_tags_and_scripts() -> None:
    source = (
        '<div onclick="x()">\n<p>kept</p>\n<script>alert("gone")</script>\n</div>\n\n'
        'a <b>bold</b> word <script>alert("gone")</script> here<br>there\n'
    )
    assert text("a.md", source).text == "kept\na bold word  here\nthere"


def test_a_heading_without_text_is_a_section_of_its_own() -> None:
    assert outline(text("a.md", "# Title\n\n## Closed on Mondays\n\n## Fees\n\nNone.")) == [
        ("", "Closed on Mondays"),
        ("Fees", "None."),
    ]
    assert outline(text("a.md", "# Only a title")) == [("", "Only a title")]


# HTML


def test_a_page_gives_its_main_text_its_sections_and_its_facts() -> None:
    document = read_document("a.html", PAGE.encode())
    assert document.title == "West Lake - Example News"
    assert document.url == "https://example.org/lake"
    assert document.published == date(2024, 5, 1)
    assert outline(document) == [
        (
            "",
            "West Lake in Hangzhou is a freshwater lake & a World Heritage Site that many people "
            "visit in every season of the year.",
        ),
        (
            "Visitors",
            "The lake counted twenty-eight million visitors in the year before last.\n"
            "Year: 2023; Visitors: 28 million\nLeifeng Pagoda\nBroken Bridge",
        ),
    ]
    for noise in ("never shown", "color", "All the pages"):
        assert noise not in document.text


@each_row("charset", ["gb2312", "gbk", "gb18030", "big5", "utf-8"])
def test_a_page_is_decoded_by_the_charset_it_declares(charset: str) -> None:
    words = "<p>西湖在杭州市中心以西，全年免票。每年四月游人最多，建议乘地铁前往。</p>" * 3
    words = words.replace("杭州", "城") if charset == "big5" else words
    words = "<p>西湖</p>" if charset == "big5" else words
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={charset}">'
    page += f"<title>西湖</title></head><body>{words}</body></html>"
    document = tiled(read_document("a.htm", page.encode(charset)))
    assert document.title == "西湖"
    assert "西湖" in document.text
    assert document.language == "zh"


def test_a_page_with_hardly_any_text_falls_back_to_all_its_text() -> None:
    page = b"<title>Fee</title><nav>Menu</nav><div>Free<br>entry</div><script>no()</script>"
    document = tiled(read_document("a.html", page))
    assert (document.title, document.text) == ("Fee", "Free\nentry")


def test_a_page_without_a_stated_date_has_none() -> None:
    page = PAGE.replace("article:published_time", "generator-date").replace(
        "million visitors", "million visitors on 3 May 2022"
    )
    assert read_document("a.html", page.encode()).published is None


@each_row(
    "stated",
    [
        '<script type="application/ld+json">{"@graph": [{"datePublished": "2023-01-02T03:04:05Z"}]}</script>',
        '<script type="application/ld+json">[{"datePublished": "2023-01-02"}]</script>',
        '<meta name="DC.date" content="2023-01-02">',
        '<script type="application/ld+json">{broken</script><meta name="date" content="2023/1/2">',
    ],
)
def test_a_stated_date_of_publication_is_taken(stated: str) -> None:
    page = PAGE.replace("article:published_time", "other").replace("<title>", stated + "<title>")
    assert read_document("a.html", page.encode()).published == date(2023, 1, 2)


def test_external_entities_of_a_page_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    page = '<?xml version="1.0" encoding="utf-8"?>'
    page += f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    page += "<html><body><p>Before &x; after</p></body></html>"
    assert "the secret" not in read_document("a.html", page.encode()).text


# PDF


def test_a_pdf_has_one_section_per_page_with_its_number() -> None:
    data = make_pdf(
        ["West Lake lies in the west of the", "city of Hangzhou and is free."],
        [],
        ["Second page."],
        title="A report",
    )
    document = tiled(read_document("a.pdf", data))
    assert document.title == "A report"
    assert document.published is None
    assert [section.page for section in document.sections] == [1, 3]
    assert outline(document)[0] == (
        "",
        "West Lake lies in the west of the city of Hangzhou and is free.",
    )


def test_a_chinese_pdf_is_read_and_its_lines_join_without_a_space() -> None:
    document = tiled(read_document("a.pdf", make_pdf(["西湖位于浙江省杭州市区的西部，全年", "免费开放。"])))
    assert document.text == "西湖位于浙江省杭州市区的西部，全年免费开放。"
    assert document.language == "zh"


def test_chapters_of_a_pdf_are_headings() -> None:
    pages = [["One."], ["Two."], ["Three."]]
    document = read_document("a.pdf", make_pdf(*pages, outline={"Start": 0, "End": 2}))
    assert outline(document) == [("Start", "One."), ("Start", "Two."), ("End", "Three.")]


@each_row("title", ["Microsoft Word - x.doc", "Untitled", "paper.tex", "(anonymous)"])
def test_a_pdf_titled_by_a_program_takes_its_first_line(title: str) -> None:
    assert read_document("a.pdf", make_pdf(["Report."], title=title)).title == "Report."


def test_a_pdf_with_a_password_is_encrypted_and_one_without_is_read() -> None:
    assert problem("a.pdf", make_pdf(["Secret."], password="open")) == "encrypted"
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf(["Not secret."])))
    writer.encrypt(user_password="", owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    assert read_document("a.pdf", out.getvalue()).text == "Not secret."


def test_a_pdf_with_a_cipher_that_is_not_at_hand_is_encrypted() -> None:
    lock = (
        "<< /Filter /Standard /V 5 /R 6 /Length 256 /P -4 /EncryptMetadata true /StmF /StdCF "
        "/StrF /StdCF /CF << /StdCF << /CFM /AESV3 /AuthEvent /DocOpen /Length 32 >> >> "
        f"/O <{'00' * 48}> /U <{'00' * 48}> /OE <{'00' * 32}> /UE <{'00' * 32}> "
        f"/Perms <{'00' * 16}> >>"
    )
    plain = make_pdf(["Secret."])
    data = plain.replace(b"trailer\n<<", f"trailer\n<<\n/Encrypt {lock}\n/ID [<00> <00>]".encode())
    assert data != plain
    assert problem("a.pdf", data) == "encrypted"


def test_a_broken_outline_or_title_costs_a_pdf_nothing_else() -> None:
    data = make_pdf(["Text."], title="Report", outline={"Start": 0})
    for name in (b"/Outlines", b"/First", b"/Title"):
        assert name + b" " in data
        assert read_document("a.pdf", data.replace(name + b" ", name + b" 1 ")).text == "Text."


def test_a_scanned_pdf_has_no_text_layer() -> None:
    assert problem("scan.pdf", make_pdf([], [])) == "no text layer"


def drawing(content: bytes) -> bytes:
    """A PDF of one page, which draws this."""
    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(600, 800)
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(english_font())})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(content)
    page[NameObject("/Contents")] = writer._add_object(stream.flate_encode())
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_page_with_an_enormous_text_is_too_large_and_no_picture() -> None:
    line = b"(" + b"word " * 20_000 + b") Tj T*\n"
    much = b"BT /F1 12 Tf 14 TL 50 700 Td\n" + line * 51 + b"ET"
    assert over("much.pdf", drawing(much)) == "page"
    assert over("more.pdf", drawing(much + b" " * 80_000_000)) == "page"
    assert over("some.pdf", make_pdf(["Text."]) + b"%" * documents.MAX_BYTES) == "size"


def test_a_pdf_whose_pages_have_too_much_text_together_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_CHARACTERS", 30)
    data = make_pdf(["Twenty-one letters here."], ["Twenty-one letters more."])
    with pytest.raises(UnreadableFileError) as caught:
        documents.parse_document("long.pdf", data)
    assert caught.value.limit == "characters"


def test_a_pdf_of_too_many_pages_is_too_large() -> None:
    writer = pypdf.PdfWriter()
    for _ in range(documents.MAX_PAGES + 1):
        writer.add_blank_page(10, 10)
    out = io.BytesIO()
    writer.write(out)
    assert problem("a.pdf", out.getvalue()) == "too large"


# Word


def fill_report(document: Any) -> None:
    document.add_heading("湖区报告", 0)
    document.add_paragraph("开头一段。")
    document.add_heading("游客", 1)
    document.add_paragraph("游客很多。")
    table = document.add_table(rows=0, cols=3)
    for row in (["年份", "人数", "收入"], ["2023", "28", ""], ["2024", "30", "5"]):
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
    document.add_heading("餐饮", 2)
    document.add_paragraph("鱼。")


def test_a_word_file_keeps_its_order_headings_and_tables() -> None:
    document = read_document("a.docx", make_docx(fill_report))
    assert document.title == "湖区报告"
    assert document.language == "zh"
    assert outline(document) == [
        ("", "开头一段。"),
        ("游客", "游客很多。\n年份: 2023; 人数: 28\n年份: 2024; 人数: 30; 收入: 5"),
        ("游客 > 餐饮", "鱼。"),
    ]


def test_a_word_table_of_two_columns_is_names_and_values() -> None:
    def fill(document: Any) -> None:
        table = document.add_table(rows=2, cols=2)
        for cell, value in zip(table._cells, ["Address", "1 Lake Road", "Phone", "87"], strict=True):
            cell.text = value

    assert read_document("a.docx", make_docx(fill)).text == "Address: 1 Lake Road\nPhone: 87"


def test_inserted_words_and_outline_levels_of_a_word_file_count() -> None:
    plain = make_docx(lambda d: d.add_paragraph("x"))
    body = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        '<w:sdt><w:sdtContent><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>Head</w:t>'
        "</w:r></w:p></w:sdtContent></w:sdt><w:p><w:ins><w:r><w:t>New</w:t></w:r></w:ins><w:r><w:tab/>"
        "<w:t>text</w:t></w:r><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
        "</w:body></w:document>"
    )
    assert outline(read_document("a.docx", rezipped(plain, document=body.encode()))) == [("", "New\ttext")]


@pytest.mark.parametrize("suffix", [".docx", ".xlsx"])
def test_an_office_file_with_a_password_is_encrypted_and_an_old_one_unreadable(suffix: str) -> None:
    assert problem("a" + suffix, locked_office()) == "encrypted"
    assert problem("a" + suffix, locked_office().replace(b"E\0n\0c", b"X\0n\0c")) == "unreadable"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".docx", ".xlsx"])
def test_a_zip_bomb_is_too_large(suffix: str) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as container:
        for name in ("word/document.xml", "xl/workbook.xml"):
            with container.open(name, "w", force_zip64=True) as member:
                for _ in range(105):
                    member.write(b"\0" * 1024**2)
    assert len(out.getvalue()) < 1024**2
    assert problem("a" + suffix, out.getvalue()) == "too large"


def test_entities_that_multiply_are_not_expanded() -> None:
    entities = '<!ENTITY e0 "lol">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    body = (
        f"<?xml version='1.0'?><!DOCTYPE w:document [{entities}]><w:document xmlns:w="
        "'http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:body><w:p><w:r>"
        "<w:t>&e9;</w:t></w:r></w:p></w:body></w:document>"
    )
    data = rezipped(make_docx(fill_report), document=body.encode())
    assert problem("a.docx", data) in ("empty", "unreadable")
    sheet = rezipped(make_xlsx(One=[["a"]]), sheet1=body.encode())
    assert problem("a.xlsx", sheet) in ("empty", "unreadable")


def test_a_file_of_another_kind_is_mislabelled() -> None:
    assert problem("a.docx", make_xlsx(One=[["a"]])) == "mislabelled"
    assert problem("a.xlsx", make_docx(fill_report)) == "mislabelled"
    assert problem("a.pdf", PAGE.encode()) == "mislabelled"
    assert problem("a.html", make_pdf(["Text."])[:9] + bytes(100)) == "mislabelled"


# Tables


def test_rows_of_a_csv_file_are_lines_in_sections_of_fifty() -> None:
    rows = "".join(f'{n},"Lake, {n}",\n' for n in range(1, 53))
    document = text("lakes.csv", "no,name,note\n" + rows)
    assert document.title == "lakes"
    assert [section.heading for section in document.sections] == ["1–50", "51–52"]
    assert outline(document)[1][1] == "no: 51; name: Lake, 51\nno: 52; name: Lake, 52"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found(separator: str) -> None:
    rows = [["name", "fee"], ["西湖", "0"], ["灵隐寺", "45"]]
    source = "\n".join(separator.join(row) for row in rows)
    assert text("a.csv", source).text == "name: 西湖; fee: 0\nname: 灵隐寺; fee: 45"


def test_a_tsv_file_and_a_table_of_one_row_are_read() -> None:
    assert text("a.tsv", "name\tfee\nLake, west\t0").text == "name: Lake, west; fee: 0"
    assert text("a.csv", "only,a,header").text == "only; a; header"


def test_sheets_of_a_workbook_are_headings_and_values_are_plain() -> None:
    data = make_xlsx(
        Fees=[["name", "fee", "since", "open"], ["西湖", 0, datetime(2002, 10, 1), True], [None]],
        Notes=[["note", "share"], ["closed", 0.1 + 0.2]],
    )
    assert outline(read_document("a.xlsx", data)) == [
        ("Fees > 1–1", "name: 西湖; fee: 0; since: 2002-10-01; open: TRUE"),
        ("Notes > 1–1", "note: closed; share: 0.3"),
    ]


# Damage


SAMPLES = {
    "a.txt": "第一章 概况\n\n西湖位于杭州。".encode("gb18030"),
    "a.md": b"---\ntitle: x\n---\n# H\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<div>x</div>\n",
    "a.html": PAGE.encode(),
    "a.pdf": make_pdf(["Hello world."], ["西湖"], title="T", outline={"A": 0}),
    "a.docx": make_docx(fill_report),
    "a.csv": b'a,b\n"1",2\n',
    "a.xlsx": make_xlsx(One=[["a", "b"], [1, "x"]]),
    "a.eml": b"From: a@example.org\nSubject: =?utf-8?q?x?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nHello.\n--b--\n",
    **{f"a{path.suffix}": path.read_bytes() for path in sorted(OTHER_SAMPLES.iterdir()) if path.suffix != ".md"},
}


def settled(name: str, data: bytes) -> None:
    try:
        document = read_document(name, data)
    except UnreadableFileError as error:
        assert error.problem in get_args(FileProblem)
    else:
        tiled(document)


@pytest.mark.slow
@each_row("name", SAMPLES)
def test_a_truncated_file_is_read_or_refused(name: str) -> None:
    data = SAMPLES[name]
    for size in range(0, len(data), max(1, len(data) // 60)):
        settled(name, data[:size])


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx"])
def test_half_of_a_packaged_file_is_unreadable(name: str) -> None:
    assert problem(name, SAMPLES[name][: len(SAMPLES[name]) // 3]) == "unreadable"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(SAMPLES)),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), min_size=1, max_size=8),
)
def test_damaged_files_give_a_document_or_a_problem(name: str, cuts: list[tuple[float, bytes]]) -> None:
    data = bytearray(SAMPLES[name])
    for place, junk in cuts:
        at = int(place * len(data))
        data[at : at + len(junk)] = junk
    settled(name, bytes(data))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    suffix=st.sampled_from([".txt", ".md", ".html", ".csv", ".tsv"]),
    source=st.text(
        st.sampled_from("ab #*_`|-\n\t<>/&;![](){}\"'=:.,\\\u202e\u200b\x00湖。第一章、1") | st.characters()
    ),
)
def test_any_text_gives_a_document_or_a_problem(suffix: str, source: str) -> None:
    settled("a" + suffix, source.encode("utf-8", "replace"))


def test_members_of_a_word_file_may_be_damaged_one_by_one() -> None:
    data = SAMPLES["a.docx"]
    for stem, junk in itertools.product(("document", "styles", "core"), (b"", b"<x/>", b"\xff")):
        settled("a.docx", rezipped(data, **{stem: junk}))


@pytest.mark.slow
def test_nothing_is_printed_or_logged(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    for name, data in SAMPLES.items():
        settled(name, data[: len(data) - 40])
    settled("a.html", b"<html></html>")
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


# Folders


def test_a_walk_gives_accepted_files_sorted_without_hidden_ones(tmp_path: Path) -> None:
    for name in (
        "b/z.TXT",
        "a.md",
        "b/a.pdf",
        ".git/c.md",
        "b/.d.md",
        "~$e.docx",
        "f.exe",
        "g.csv",
        "h.pptx",
        "i.eml",
    ):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    root = tmp_path / "root"
    (root / "folder.md").mkdir()
    found = [path.relative_to(root).as_posix() for path in find_accepted_files(root)]
    assert found == ["a.md", "b/a.pdf", "b/z.TXT", "g.csv", "h.pptx", "i.eml"]


def test_a_walk_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "a.md").write_text("x", encoding="utf-8")
    (root / "inside.md").symlink_to(root / "a.md")
    (root / "out.md").symlink_to(outside / "a.md")
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "gone.md").symlink_to(root / "missing.md")
    assert [path.name for path in find_accepted_files(root)] == ["a.md", "inside.md"]
