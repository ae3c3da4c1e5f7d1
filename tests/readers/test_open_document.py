"""OpenDocument texts and spreadsheets, and workbooks of earlier versions of Excel."""

from __future__ import annotations

import io
import struct
import zipfile

import olefile
import pytest

from research.readers.documents import read_document
from tests.readers.compound_files import compound_file
from tests.readers.reading import SAMPLES, assert_in_order, outline, read_sample, refusal
from tests.tables import each_row

SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("style", "style"),
        ("draw", "drawing"),
    )
)


def odt(body: str, styles: str = "", manifest: str = "<manifest/>") -> bytes:
    content = (
        f"<office:document-content {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", content)
        package.writestr("META-INF/manifest.xml", manifest)
    return out.getvalue()


@each_row("name", ["pandoc.odt", "libreoffice.odt"])
def test_a_text_by_another_program_is_read_in_order_under_its_headings(name: str) -> None:
    document = read_sample(name)
    assert document.title == "West Lake report 西湖报告"
    assert_in_order(document.text, ("Li Wei", "Overview"))
    assert_in_order(document.text)
    assert document.text.endswith("[1] The note says so.")
    sections = outline(document)
    assert [heading for heading, _, _ in sections] == ["", "Overview", "Overview > Visitors", "结论"]
    assert sections[2][2] == "Year: 2023; Visitors: 28 million\nYear: 2024; Visitors: 30 million"


def test_text_boxes_are_read_and_deleted_text_and_comments_are_not() -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>old price</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        "<text:h text:outline-level='1'>门票</text:h><text:p>成人<text:s text:c='2'/>票<office:annotation><text:p>why?</text:p>"
        "</office:annotation>四十元<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame></text:p>"
        "<text:section><text:list><text:list-item><text:p>one</text:p></text:list-item></text:list></text:section>"
    )
    assert outline(read_document("a.odt", odt(body))) == [("", None, "成人  票四十元in a box\none")]


def test_a_raised_text_is_no_digit_of_the_number_before_it() -> None:
    styles = (
        '<style:style style:name="T1"><style:text-properties style:text-position="33% 58%"/></style:style>'
        '<style:style style:name="T2"><style:text-properties style:text-position="sub 58%"/></style:style>'
        '<style:style style:name="T3"><style:text-properties style:text-position="0% 100%"/></style:style>'
    )
    span = '<text:span text:style-name="{}">{}</text:span>'
    body = f"<text:p>10{span.format('T1', 6)} m and H{span.format('T2', 2)}O, {span.format('T3', 7)}</text:p>"
    assert read_document("a.odt", odt(body, styles)).text == "10⁶ m and H₂O, 7"


def test_a_table_within_a_cell_stays_in_its_row() -> None:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    inner = f"<table:table><table:table-row>{cell.format('x')}{cell.format('y')}</table:table-row></table:table>"
    row = f"<table:table-row>{cell.format('a')}<table:table-cell>{inner}</table:table-cell></table:table-row>"
    repeated = '<table:table-row><table:table-cell table:number-columns-repeated="1000000"/></table:table-row>'
    lines = read_document("a.odt", odt(f"<table:table>{row}{repeated}</table:table>")).text.split("\n")
    assert lines == ["a: x y"]


def test_protected_and_mislabelled_texts_are_refused_by_name() -> None:
    error = refusal("a.odt", odt("<text:p>x</text:p>", manifest="<manifest><encryption-data/></manifest>"))
    assert (error.problem, "password" in error.detail) == ("encrypted", True)
    assert ".ods file, not a .odt file" in refusal("a.odt", (SAMPLES / "libreoffice.ods").read_bytes()).detail
    assert refusal("a.odt", odt("")).problem == "empty"
    assert refusal("a.ods", (SAMPLES / "libreoffice.odt").read_bytes()).problem == "mislabelled"


@each_row("name", ["libreoffice.xls", "libreoffice.ods"])
def test_a_workbook_is_read_row_by_row_with_the_names_of_its_columns(name: str) -> None:
    document = read_sample(name)
    assert outline(document)[0][2] == (
        "景点: 西湖; 票价: 0; 日期: 2024-05-01\n景点: 雷峰塔; 票价: 40.5; 日期: 2024-05-02"
    )


@pytest.mark.parametrize("suffix", [".xls", ".xlsb", ".ods"])
def test_a_workbook_that_is_cut_off_is_unreadable(suffix: str) -> None:
    data = (SAMPLES / f"libreoffice{suffix.replace('xlsb', 'xls')}").read_bytes()
    assert refusal(f"a{suffix}", data[: len(data) // 3]).problem == "unreadable"


def test_protected_workbooks_say_so() -> None:
    with olefile.OleFileIO(SAMPLES / "libreoffice.xls") as file:
        stream = file.openstream("Workbook").read()
    after_first = 4 + struct.unpack_from("<H", stream, 2)[0]
    password = struct.pack("<HHHHH", 0x2F, 54, 1, 1, 1) + bytes(48)
    protected = compound_file({"Workbook": stream[:after_first] + password + stream[after_first:]})
    assert refusal("a.xls", protected).problem == "encrypted"
    assert "西湖" in read_document("a.xls", compound_file({"Workbook": stream})).text
    packed = compound_file({"EncryptedPackage": bytes(5_000), "EncryptionInfo": bytes(200)})
    for name in ("a.xls", "a.xlsb", "a.ods", "a.pptx", "a.odt"):
        assert refusal(name, packed).problem == "encrypted"
