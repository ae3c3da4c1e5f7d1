"""Documents that are built to stop a program: each is read or refused in a moment, and nothing else waits."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable

import docx
import pytest

from research.readers.documents import UnreadableFileError, read_document
from research.sources.library.document_pages import StoredVersion
from research.sources.library.prepare import AddResult, prepare_document
from tests.hostile_pages import crowded, shapes, ticking
from tests.sources.database.bombs import HEAD, xlsx
from tests.tables import each_row

SIZE = 400_000
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ENTITIES = (
    '<!DOCTYPE l [<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)


def refusal(name: str, data: bytes) -> tuple[str, str]:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name, data)
    return caught.value.problem, caught.value.limit


@pytest.mark.slow
@each_row("shape", list(shapes(SIZE)))
def test_a_page_of_any_shape_is_read_or_refused_while_other_threads_go_on(shape: str) -> None:
    page = shapes(SIZE)[shape].encode()
    with ticking() as longest:
        try:
            document = read_document("page.html", page)
            assert document.text
        except UnreadableFileError as error:
            assert error.limit in ("attributes", "elements", "depth", "")
            assert error.problem in ("unreadable", "empty")
    assert longest[0] < 1.0


def test_an_element_with_very_many_attributes_is_refused_by_name_and_one_with_many_is_read() -> None:
    for many in (crowded(60_000), crowded(60_000, "x{}"), crowded(3_000, 'a{}=">"'), crowded(3_000, "a{}='<'")):  # fmt: skip
        assert refusal("page.html", many.encode()) == ("unreadable", "attributes")
        assert refusal("page.md", f"# Title\n\n{many}\n".encode()) == ("unreadable", "attributes")
    assert "text of the page" in read_document("page.html", crowded(150).encode()).text


def test_what_looks_like_attributes_and_is_none_is_read() -> None:
    code = "if (a<b) { " + "x = y + 1; " * 2_000 + "}"
    data = '{"a": "1 <b ' + "word " * 2_000 + '"}'
    long = " ".join(f"word{n}" for n in range(2_000))
    page = (
        f"<html><head><script>{code}</script><script type='application/json'>{data}</script></head>"
        f"<body><!-- <p {long} --><p title='{long}'>The museum opens at nine.</p>"
        f'<p data-x="{long}">It closes at five, don\'t you know.</p><p>1 < 2, {long}</p></body></html>'
    )
    text = read_document("page.html", page.encode()).text
    assert "opens at nine" in text
    assert "closes at five" in text


def test_a_page_of_too_many_elements_is_refused() -> None:
    assert refusal("page.html", b"<p>x</p>" * 600_000) == ("unreadable", "elements")


def word(body: str, declared: str = "") -> bytes:
    """A Word file of which the text is this XML."""
    plain, out = io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.save(plain)
    with zipfile.ZipFile(plain) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            text = f'<?xml version="1.0"?>{declared}<w:document {WORD}><w:body>{body}</w:body></w:document>'
            made.writestr(name, text if name == "word/document.xml" else given.read(name))
    return out.getvalue()


PARAGRAPH = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"


@pytest.mark.slow
def test_a_package_that_is_a_bomb_is_refused_before_it_is_unpacked() -> None:
    assert refusal("a.docx", word("<w:p/>" * 5_000_000)) == ("too large", "unpacked")
    assert refusal("a.docx", word(PARAGRAPH.format("&l9;"), ENTITIES)) == ("unreadable", "")
    assert refusal("a.docx", word(PARAGRAPH.format("&l9;"), f"<!--{'x' * 80_000}-->{ENTITIES}"))[0] == "unreadable"  # fmt: skip
    local = '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    assert refusal("a.docx", word(PARAGRAPH.format("&a;"), local)) == ("unreadable", "")
    assert refusal("a.xlsx", xlsx(HEAD, declared=ENTITIES)) == ("unreadable", "")
    assert refusal("a.xlsx", xlsx(HEAD + " " * (150 << 20))) == ("too large", "unpacked")
    assert refusal("a.xlsx", xlsx(HEAD, more={f"x/{n}": b"" for n in range(25_000)})) == ("too large", "unpacked")  # fmt: skip
    assert "g" in read_document("a.xlsx", xlsx(HEAD)).text


def pdf(*objects: bytes) -> bytes:
    """A PDF of numbered objects, the first of which is its catalogue."""
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + head + table + end


def stream(data: bytes, more: bytes = b"", packs: int = 1) -> bytes:
    for _ in range(packs):
        data = zlib.compress(data, 9)
    filters = b"[" + b"/FlateDecode" * packs + b"]"
    return b"<</Length %d/Filter%b%b>>stream\n%b\nendstream" % (len(data), filters, more, data)


CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"
ONE = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
FORM = b"<</XObject<</F 5 0 R>>>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources%b>>"


@pytest.mark.slow
@each_row(
    ("name", "make"),
    [
        ("packed", lambda: pdf(CATALOGUE, ONE, PAGE % b"<<>>", stream(bytes(300 << 20)))),
        ("packed twice", lambda: pdf(CATALOGUE, ONE, PAGE % b"<<>>", stream(bytes(300 << 20), packs=2))),
        ("brackets", lambda: pdf(CATALOGUE, ONE, PAGE % b"<<>>", stream(b"[" * 1_000_000))),
        ("deep", lambda: pdf(b"<</Type/Catalog/Pages 2 0 R/X " + b"[" * 300_000 + b">>", ONE, PAGE % b"<<>>", stream(b"q"))),
        ("pages in a ring", lambda: pdf(CATALOGUE, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000>>")),
        ("forms in a ring", lambda: pdf(CATALOGUE, ONE, PAGE % FORM, stream(b"/F Do " * 500), stream(b"/F Do " * 500, b"/Type/XObject/Subtype/Form/Resources" + FORM))),
        ("one page very often", lambda: pdf(CATALOGUE, b"<</Type/Pages/Kids[" + b"3 0 R " * 1_900 + b"]/Count 1900>>", PAGE % b"<<>>", stream(b"BT (a) Tj ET " * 20_000))),
        ("outline in a ring", lambda: pdf(b"<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>", ONE, PAGE % b"<<>>", stream(b"q"), b"<</First 6 0 R/Last 6 0 R>>", b"<</Title(x)/Next 6 0 R/First 6 0 R/Dest[3 0 R /Fit]>>")),
        ("a table of references in a ring", lambda: b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Root 1 0 R/Size 1/Prev 43>>\nstartxref\n43\n%%EOF"),
    ],
)  # fmt: skip
def test_a_pdf_that_would_never_end_is_refused(name: str, make: Callable[[], bytes]) -> None:
    data = make()
    with ticking() as longest, pytest.raises(UnreadableFileError):
        read_document("a.pdf", data)
    assert longest[0] < 1.0


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(wide: int, high: int, extra: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + extra + end


def test_a_picture_of_too_many_pixels_is_refused_and_its_notes_are_not_unpacked() -> None:
    assert refusal("a.png", png(60_000, 60_000)) == ("too large", "pixels")
    notes = chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(60 << 20), 9)) * 10
    with pytest.raises(UnreadableFileError):
        read_document("a.png", png(9, 9, notes))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces every limit")
def test_a_file_over_which_its_parser_breaks_off_is_told_as_such_and_the_next_is_read() -> None:
    endless = pdf(
        CATALOGUE, b"<</Type/Pages/Kids[" + b"3 0 R " * 1_900 + b"]/Count 1900>>", PAGE % b"<<>>",
        stream(b"BT (a) Tj ET " * 40_000),
    )  # fmt: skip
    added = prepare_document("a.pdf", endless, StoredVersion(""))
    assert isinstance(added, AddResult)
    assert (added.outcome, added.limit) == ("too large", "time")
    assert "longer" in added.detail
    assert read_document("b.txt", b"The next one.").text == "The next one."
