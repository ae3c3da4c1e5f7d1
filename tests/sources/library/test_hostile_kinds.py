"""Slides, books, mails and texts of other programs that are built to stop a program are read or refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

import pptx
import pytest

from research.readers.documents import SUFFIXES, UnreadableFileError, read_document
from tests.hostile_pages import ticking
from tests.readers.compound_files import attached_message_tree, compound_file, message_tree
from tests.readers.reading import SAMPLES
from tests.readers.test_epub import PAGE, book
from tests.readers.test_open_document import odt
from tests.sources.library.test_hostile_documents import ENTITIES, refusal
from tests.tables import each_row


def slides(replace: Callable[[str, bytes], bytes], more: dict[str, bytes] | None = None) -> bytes:
    """A presentation of one slide, whose parts `replace` may change."""
    plain, out = io.BytesIO(), io.BytesIO()
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Title"
    deck.save(plain)
    with zipfile.ZipFile(plain) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            made.writestr(name, replace(name, given.read(name)))
        for name, data in (more or {}).items():
            made.writestr(name, data)
    return out.getvalue()


def zipped(data: bytes, name: str, size: int) -> bytes:
    """A package to which a part was added that unpacks to this size."""
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr(name, bytes(size))
    return out.getvalue()


@pytest.mark.slow
@each_row("suffix", [".pptx", ".odt", ".ods", ".epub"])
def test_a_package_that_is_a_bomb_is_refused_before_it_is_unpacked(suffix: str) -> None:
    name = {".pptx": "pandoc", ".odt": "pandoc", ".ods": "libreoffice", ".epub": "pandoc"}[suffix] + suffix
    data = zipped((SAMPLES / name).read_bytes(), "x/bomb.bin", 210 << 20)
    assert refusal(f"a{suffix}", data) == ("too large", "unpacked")


def test_entities_are_not_expanded_and_no_other_file_is_read() -> None:
    local = '<!DOCTYPE l [<!ENTITY l9 SYSTEM "file:///etc/hostname">]>'
    for declared in (ENTITIES, local):
        text = odt("<text:p>x</text:p>").replace(b"<text:p>x</text:p>", b"<text:p>&l9</text:p>")
        assert refusal("a.odt", text)[0] == "unreadable"  # of a damaged package
        slide = f"{declared}<x>&l9;</x>".encode()
        replaced = slides(lambda name, data: slide if name == "ppt/slides/slide1.xml" else data)  # noqa: B023
        assert refusal("a.pptx", replaced) == ("unreadable", "")
        chapter = read_document("a.epub", book({"a.xhtml": f"<p>before &l9; after</p>{declared}"})).text
        assert "lol" not in chapter
        contents = f'{declared}<ncx><navMap><navPoint><navLabel><text>&l9;</text></navLabel><content src="text/a.xhtml"/></navPoint></navMap></ncx>'
        document = read_document("a.epub", book({"a.xhtml": "<p>One.</p>"}, ncx=contents))
        assert [section.heading for section in document.sections] == [""]


def test_text_nested_too_deep_is_refused_or_read_whole() -> None:
    deep = "<text:span>" * 5_000 + "x" + "</text:span>" * 5_000
    assert refusal("a.odt", odt(f"<text:p>{deep}</text:p>")) == ("unreadable", "depth")
    sections = "<text:section>" * 200 + "<text:p>x</text:p>" + "</text:section>" * 200
    assert read_document("a.odt", odt(sections)).text == "x"
    assert refusal("a.epub", book({"a.xhtml": "<div>" * 5_000 + "x"})) == ("unreadable", "depth")
    assert refusal(
        "a.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": "> " * 500 + "x"}]}).encode()
    ) == ("unreadable", "depth")


def test_a_chapter_of_too_many_elements_is_refused() -> None:
    assert refusal("a.epub", book({"a.xhtml": "<p>x</p>" * 600_000})) == ("unreadable", "elements")


@pytest.mark.slow
@each_row(
    ("name", "make"),
    [
        ("a.odt", lambda: odt("<text:p>" + "<text:span>10</text:span>" * 200_000 + "</text:p>")),
        ("a.odt", lambda: odt("<table:table>" + ("<table:table-row>" + '<table:table-cell table:number-columns-repeated="16384"/>' * 50 + "</table:table-row>") * 2_000 + "</table:table>")),
        ("a.rtf", lambda: b"{\\rtf1 " + b"10{\\super 6} " * 300_000 + b"}"),
        ("a.rtf", lambda: b"{\\rtf1 " + b"\\cell" * 500_000 + b"\\row}"),
        ("a.rtf", lambda: b"{\\rtf1 " + b"\\'" * 500_000),
        ("a.rtf", lambda: b"{\\rtf1 " + b"}" * 500_000 + b"x"),
        ("a.epub", lambda: book({"a.xhtml": "<table>" * 240 + "<tr><td>x</td><td>y</td></tr>" * 5_000})),
        ("a.epub", lambda: book({"a.xhtml": "<h1>" + "<a id='x'/>" * 100_000})),
        ("a.epub", lambda: book({f"{n}.xhtml": "<p>x</p>" for n in range(5_000)})),
        ("a.epub", lambda: book({"a.xhtml": "<p>x</p>"}, spine=("a.xhtml",) * 100_000)),
        ("a.epub", lambda: book({"a.xhtml": "x" * 100_000}, spine=("a.xhtml",) * 10_000)),
        ("a.epub", lambda: book({"a.xhtml": "&#xfdd0;0&#xfdd0;" * 1_000 + "<table><tr><td>a</td><td>" + "x" * 50_000 + "</td></tr><tr><td>a</td></tr></table>"})),
        ("a.eml", lambda: b"From: a@b\r\nContent-Type: multipart/mixed; boundary=b0\r\n\r\n" + b"".join(b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1) for n in range(5_000))),
        ("a.eml", lambda: b"From: a@b\r\n" + b"Subject: " + b"=?utf-8?q?a?= " * 100_000 + b"\r\n\r\nx"),
        ("a.eml", lambda: b"From: a@b\r\n" + b"To: " + b"(" * 100_000 + b"\r\n\r\nx"),
        ("a.eml", lambda: b"From: a@b\r\n\r\n" + b"".join(b">" * (n % 400) + b" x\r\n" for n in range(50_000))),
        ("a.ipynb", lambda: json.dumps({"cells": [{"cell_type": "markdown", "source": "<sup>" * 1_000 + "x" + "</sup>" * 1_000}]}).encode()),
    ],
)  # fmt: skip
def test_a_file_that_is_much_work_is_read_or_refused_while_other_threads_go_on(
    name: str, make: Callable[[], bytes]
) -> None:
    data = make()
    with ticking() as longest:
        try:
            assert read_document(name, data).text
        except UnreadableFileError as error:
            assert error.problem in ("unreadable", "too large", "empty")
    assert longest[0] < 1.0


def test_mails_attached_to_each_other_without_end_are_read_to_a_depth() -> None:
    inner = message_tree({0x0037: "last", 0x1000: "x"}, header_bytes=24)
    for n in range(40):
        inner = message_tree({0x0037: f"{n}", 0x1000: "x"}, (attached_message_tree(inner),), header_bytes=24)
    data = compound_file(message_tree({0x0037: "outer", 0x1000: "x"}, (attached_message_tree(inner),)))
    document = read_document("a.msg", data)
    assert [file.name for file in document.attachments] == ["39.eml"]


@each_row("suffix", sorted({*SUFFIXES} - {".txt", ".md", ".markdown", ".html", ".htm", ".csv", ".tsv"}))
def test_a_file_under_the_name_of_another_kind_is_refused(suffix: str) -> None:
    others = [SAMPLES / "libreoffice.xls", SAMPLES / "outlook.msg", SAMPLES / "pandoc.rtf", SAMPLES / "pandoc.epub"]
    for other in others:
        if other.suffix != suffix and not (other.suffix == ".xls" and suffix in (".xlsx", ".xlsb", ".ods")):
            assert refusal(f"a{suffix}", other.read_bytes())[0] == "mislabelled", other.name


def test_a_broken_chapter_link_or_a_missing_part_is_no_crash() -> None:
    missing = PAGE.format("<p>x</p>")
    data = book({"a.xhtml": missing})
    for part in ("META-INF/container.xml", "OPS/book.opf"):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w") as made:
            for name in given.namelist():
                if name != part:
                    made.writestr(name, given.read(name))
        assert refusal("a.epub", out.getvalue())[0] in ("unreadable", "mislabelled")


def test_a_mail_with_names_that_lead_elsewhere_names_its_attachments_as_they_are() -> None:
    message = EmailMessage()
    message["From"] = "a@example.org"
    message.set_content("x")
    message.add_attachment(b"x", maintype="text", subtype="plain", filename="../../etc/passwd.txt")
    document = read_document("a.eml", bytes(message))
    assert [file.name for file in document.attachments] == ["../../etc/passwd.txt"]
