"""Scanned pages: told truthfully, read page by page, kept whatever ends the program, found and cited."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pypdf
import pytest
from PIL import Image
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, NumberObject

from research.readers.documents import MAX_BYTES, MAX_PAGES, UnreadableFileError, read_document
from research.sources.library.index import Library
from research.sources.library.listing import DocumentQuery
from research.sources.library.ocr import OCR_INSTALL, OCR_MODULES, OCREngine, is_installed, recognise_pages
from research.sources.library.ocr_worker import (
    MAX_PREVIEW_PIXELS,
    MAX_RENDER_PIXELS,
    encode_preview,
    make_renderer,
    read_page,
)
from research.sources.library.rejected_files import page_ranges
from research.sources.library.retriever import _to_evidence
from tests.scans import pdf
from tests.sources.library.test_documents import make_pdf
from tests.tables import each_row
from tests.terminal import terminal
from tests.typist import Typist, paper

ROOT = Path(__file__).resolve().parents[3]
TEXTS = {
    1: "灯塔博物馆每天九点开放。\n门票四十元。",
    2: "The lighthouse stands on a cliff of basalt.",
    3: "雷峰塔在西湖南岸，夕照山上。",
    4: "The ferry to the island leaves at noon.",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def opening(path: Path) -> Iterator[Callable[..., Library]]:
    """Opens a library with a recogniser, or with none."""
    made: list[Library] = []

    def make(recogniser: OCREngine | None = None, max_original_bytes: int = MAX_BYTES) -> Library:
        library = Library(path, lambda: recogniser, max_original_bytes)
        library.set_sample_enabled(False)
        made.append(library)
        return library

    yield make
    for library in made:
        library.close()


def scanned(pages: int) -> bytes:
    """A PDF of pictures."""
    return pdf([Image.new("L", (60, 80), 200 + n) for n in range(pages)])


def mixed(*pages: list[str]) -> bytes:
    """A PDF with text; a page of which no line is given is a picture."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf(*pages)))
    for page, lines in zip(writer.pages, pages, strict=True):
        if lines:
            continue
        picture = DecodedStreamObject()
        picture.set_data(b"\x80")
        for name, value in (("/Width", 1), ("/Height", 1), ("/BitsPerComponent", 8)):
            picture[NameObject(name)] = NumberObject(value)
        for name, word in (("/Type", "/XObject"), ("/Subtype", "/Image"), ("/ColorSpace", "/DeviceGray")):  # fmt: skip
            picture[NameObject(name)] = NameObject(word)
        held = DictionaryObject({NameObject("/P"): writer._add_object(picture)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): held})
        drawing = DecodedStreamObject()
        drawing.set_data(b"q 595 0 0 842 0 0 cm /P Do Q")
        page[NameObject("/Contents")] = writer._add_object(drawing)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def image(form: str, *sizes: tuple[int, int], **told: object) -> bytes:
    out = io.BytesIO()
    first, *others = [Image.new("RGB", size, "white") for size in sizes]
    more = {"save_all": True, "append_images": others} if others else {}
    first.save(out, form, **more, **told)
    return out.getvalue()


def add(library: Library, name: str, data: bytes) -> object:
    (added,) = library.add_files([(name, data)])
    return added


# What is told


@each_row("pages short", [((), ""), ((4,), "4"), ((1, 2, 3), "1–3"), ((7, 1, 2, 9), "1–2, 7, 9")])
def test_pages_are_told_in_short(pages: tuple[int, ...], short: str) -> None:
    assert page_ranges(pages) == short


def test_where_nothing_reads_scans_it_is_said_which_pages_are_pictures(
    opening: Callable[..., Library],
) -> None:
    library = opening()
    for name, data, pages in (
        ("scan.pdf", scanned(3), (1, 2, 3)),
        ("photo.png", image("PNG", (30, 40)), (1,)),
    ):
        added = add(library, name, data)
        assert (added.outcome, added.pages) == ("no text layer", pages)
    assert {(one.name, one.pages) for one in library.list_rejected()[0]} == {("scan.pdf", "1–3"), ("photo.png", "1")}  # fmt: skip
    assert (library.list_all(), library.list_scans()) == ([], [])


def test_a_blank_page_among_text_is_no_picture() -> None:
    assert read_document("a.pdf", make_pdf(["Text."], [])).pictures == ()
    assert read_document("a.pdf", mixed(["Text."], [])).pictures == ((2, ""),)


def test_a_document_with_some_pictures_is_added_without_them_and_read_whole_when_it_can_be(
    opening: Callable[..., Library],
) -> None:
    data = mixed(["Before it."], [], ["After it."])
    library = opening(max_original_bytes=0)
    assert add(library, "a.pdf", data).pages == (2,)
    (scan,) = library.list_scans()
    assert (scan.waiting_pages, scan.has_file, library.scan_reader.is_available) == ((2,), False, False)
    assert add(library, "a.pdf", data).outcome == "unchanged"
    library.close()
    library = opening(Typist(TEXTS), max_original_bytes=0)
    assert add(library, "a.pdf", data).outcome == "replaced"
    assert library.scan_reader.wait(30)
    assert library.document_text(library.list_all()[0].id).split("\n") == [
        "Before it.",
        TEXTS[2],
        "After it.",
    ]


def test_where_the_file_was_kept_its_pictures_are_read_once_something_reads_them(
    opening: Callable[..., Library],
) -> None:
    library = opening()
    add(library, "a.pdf", mixed(["Before it."], [], ["After it."]))
    assert [scan.has_file for scan in library.list_scans()] == [True]
    library.close()
    library = opening(Typist(TEXTS))
    library.scan_reader.start()
    assert library.scan_reader.wait(30)
    assert library.list_scans() == []
    assert [hit.page for hit in library.search("basalt")] == [2]


# Reading


def test_pages_are_found_and_cited_by_their_number_and_marked_as_read_from_pictures(
    opening: Callable[..., Library],
) -> None:
    library = opening(Typist(TEXTS))
    add(library, "scan.pdf", scanned(4))
    assert library.scan_reader.wait(30)
    for words, page in (("雷峰塔", 3), ("basalt cliff", 2), ("灯塔门票", 1)):
        assert [(hit.page, hit.is_ocr) for hit in library.search(words, limit=1)] == [(page, True)]
    (entry,) = library.list_all()
    assert (entry.language, entry.character_count) == ("zh", len(library.document_text(entry.id)))
    assert entry.passage_count == len(library.list_excerpts(entry.id, 0, 99))
    (evidence,) = _to_evidence(library.search("雷峰塔", limit=1), entry.added_at)
    (passage,) = evidence.passages
    assert (passage.page, passage.ocr, passage.text) == (3, True, TEXTS[3])
    assert library.document_text(entry.id)[passage.start : passage.end] == passage.text
    assert library.list_scans() == []


def test_a_page_between_pages_of_text_takes_its_place_and_moves_no_other(
    opening: Callable[..., Library],
) -> None:
    library = opening(Typist(TEXTS))
    add(library, "a.pdf", mixed([], ["The tower is tall."], [], ["The bridge is long."]))
    assert library.scan_reader.wait(30)
    (entry,) = library.list_all()
    parts = library.list_excerpts(entry.id, 0, 99)
    assert [(part.page, part.is_ocr) for part in parts] == [(1, True), (2, False), (3, True), (4, False)]  # fmt: skip
    assert [part.text for part in parts] == [TEXTS[1], "The tower is tall.", TEXTS[3], "The bridge is long."]  # fmt: skip
    assert [hit.page for hit in library.search("bridge")] == [4]


def test_it_can_be_stopped_and_goes_on_where_it_was(opening: Callable[..., Library]) -> None:
    typist = Typist(TEXTS, halt=3)
    library = opening(typist)
    add(library, "scan.pdf", scanned(4))
    assert typist.halted.wait(30)
    assert (library.scan_reader.state, library.scan_reader.page) == ("reading", 3)
    library.scan_reader.stop()
    assert library.scan_reader.wait(30)
    (scan,) = library.list_scans()
    assert (scan.read_count, scan.page_count, scan.waiting_pages) == (2, 4, (3, 4))
    assert [hit.page for hit in library.search("basalt")] == [2]
    typist.halt = 0
    library.scan_reader.start()
    assert library.scan_reader.wait(30)
    assert (library.list_scans(), typist.asked) == ([], [1, 2, 3, 3, 4])


KILLED = """
import sys
from pathlib import Path
from research.sources.library.index import Library
from tests.sources.library.test_scans import TEXTS, scanned
from tests.typist import Typist
typist = Typist(TEXTS, halt=3)
library = Library(Path(sys.argv[1]), typist.there)
list(library.add_files([("scan.pdf", scanned(4))]))
typist.halted.wait()
print("here", flush=True)
library.scan_reader.wait(600)
"""


@pytest.mark.slow
def test_kill_9_loses_no_page_that_was_read_and_the_next_start_goes_on(
    path: Path, opening: Callable[..., Library]
) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE)
    with process:
        assert process.stdout and process.stdout.readline() == b"here\n"
        os.kill(process.pid, signal.SIGKILL)
    typist = Typist(TEXTS)
    library = opening(typist)
    assert [hit.page for hit in library.search("basalt")] == [2]
    library.scan_reader.start()
    assert library.scan_reader.wait(30)
    assert (typist.asked, library.list_scans()) == ([3, 4], [])
    assert [hit.page for hit in library.search("ferry noon", limit=1)] == [4]


def test_of_two_processes_one_reads_and_the_other_takes_over(
    opening: Callable[..., Library],
) -> None:
    first, second = Typist(TEXTS, halt=2), Typist(TEXTS)
    one = opening(first)
    add(one, "scan.pdf", scanned(3))
    assert first.halted.wait(30)
    other = opening(second)
    other.scan_reader.start()
    while other.scan_reader.state != "elsewhere":
        assert not other.scan_reader.wait(0.02)
    one.close()
    assert other.scan_reader.wait(30)
    assert (second.asked, other.list_scans()) == ([2, 3], [])


def test_failures_are_told_for_each_page_and_can_be_tried_again(
    opening: Callable[..., Library],
) -> None:
    typist = Typist(TEXTS, {2: "damaged", 4: "slow"})
    library = opening(typist)
    add(library, "scan.pdf", scanned(4))
    assert library.scan_reader.wait(30)
    (scan,) = library.list_scans()
    assert (scan.read_count, scan.failed_pages, scan.has_file) == (2, ((2, "damaged"), (4, "slow")), True)
    typist.fails = {}
    library.retry_failed_pages(scan.document_id)
    assert library.scan_reader.wait(30)
    assert library.list_scans() == []
    parts = library.list_excerpts(scan.document_id, 0, 99)
    assert [part.page for part in parts] == [1, 2, 3, 4]


def test_a_document_that_is_removed_is_read_no_further_until_it_is_put_back(
    opening: Callable[..., Library],
) -> None:
    typist = Typist(TEXTS, halt=2)
    library = opening(typist)
    add(library, "scan.pdf", scanned(3))
    assert typist.halted.wait(30)
    gone = library.remove([entry.id for entry in library.list_all()])
    typist.go.set()
    assert library.scan_reader.wait(30)
    assert (library.list_scans(), typist.asked) == ([], [1, 2])
    assert library.restore(gone) == 1
    assert library.scan_reader.wait(30)
    assert (library.list_scans(), typist.asked) == ([], [1, 2, 2, 3])
    assert [hit.page for hit in library.search("雷峰塔", limit=1)] == [3]


def test_a_file_too_large_to_keep_is_kept_until_all_is_read_and_the_pictures_of_pages_stay(
    path: Path, opening: Callable[..., Library]
) -> None:
    typist = Typist(TEXTS, halt=2)
    library = opening(typist, max_original_bytes=9)
    add(library, "scan.pdf", scanned(2))
    (entry,) = library.list_all()
    assert typist.halted.wait(30)
    assert library.pages.original(entry.id) == scanned(2)
    typist.go.set()
    assert library.scan_reader.wait(30)
    assert library.pages.original(entry.id) == b""
    assert library.page_image(entry.id, 2) == paper(2)
    assert library.page_image(entry.id, 9) == b""
    assert library.find_document_with_image("scan.pdf", 2, TEXTS[2]) == entry.id
    assert library.find_document_with_image("scan.pdf", 2, "What another version said.") is None
    assert library.find_document_with_image("other.pdf", 2, TEXTS[2]) is None


# Pictures and hostile files


def test_pictures_are_documents_of_one_page_or_several(opening: Callable[..., Library]) -> None:
    library = opening(Typist(TEXTS))
    for name, form, pages in (
        ("a.png", "PNG", 1),
        ("b.JPG", "JPEG", 1),
        ("c.webp", "WEBP", 1),
        ("d.tiff", "TIFF", 3),
    ):
        assert add(library, name, image(form, *[(40, 50)] * pages)).pages == tuple(range(1, pages + 1))  # fmt: skip
    assert library.scan_reader.wait(30)
    assert [entry.passage_count for entry in library.list_all()] == [1, 1, 1, 3]
    assert library.list_page(DocumentQuery(kind="picture"))[1] == 4


def bomb() -> bytes:
    """A few bytes that say they are a picture of 400 megapixels."""
    data = bytearray(image("PNG", (1, 1)))
    data[16:24] = (20_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.slow
@each_row(
    "name make why",
    [
        ("bomb.png", bomb, ("too large", "pixels")),
        ("many.tif", lambda: image("TIFF", *[(1, 1)] * (MAX_PAGES + 1)), ("too large", "pages")),
        ("text.png", lambda: b"no picture", ("mislabelled", "")),
        ("cut.png", lambda: image("PNG", (9, 9))[:20], ("unreadable", "")),
        ("other.png", lambda: image("GIF", (9, 9)), ("mislabelled", "")),
    ],
)
def test_pictures_that_cannot_be_taken_say_why(name: str, make: Callable[[], bytes], why: tuple[str, str]) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name, make(), allow_scans=True)
    assert (caught.value.problem, caught.value.limit) == why


def told(data: bytes, number: int = 1) -> dict[str, object]:
    return read_page(make_renderer(".png", data), lambda picture: f"{picture.size}", number)


@pytest.mark.slow
def test_a_picture_is_read_upright_on_white_and_no_larger_than_helps() -> None:
    large = Image.open(io.BytesIO(image("PNG", (6_000, 4_000))))
    drawn = make_renderer(".png", image("PNG", large.size))(1)
    assert drawn.width * drawn.height <= MAX_RENDER_PIXELS
    assert drawn.width / drawn.height == pytest.approx(1.5, abs=0.01)
    turned = Image.Exif()
    turned[0x0112] = 6  # lies on its side
    assert told(image("JPEG", (40, 20), exif=turned))["text"] == "(20, 40)"
    clear = io.BytesIO()
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(clear, "PNG")
    assert make_renderer(".png", clear.getvalue())(1).getpixel((0, 0)) == (255, 255, 255)


def test_what_is_shown_is_small() -> None:
    with Image.open(io.BytesIO(encode_preview(Image.new("RGB", (3_000, 3_000))))) as small:
        assert small.width <= MAX_PREVIEW_PIXELS[0] and small.height <= MAX_PREVIEW_PIXELS[1]


def test_a_page_that_cannot_be_drawn_or_read_fails_alone() -> None:
    def weary(_picture: object) -> str:
        raise MemoryError

    assert told(paper(1)[:200])["failed"] == "damaged"
    assert told(image("TIFF", (9, 9), (8, 8)), 2)["text"] == "(8, 8)"
    assert told(image("TIFF", (9, 9)), 2)["failed"] == "damaged"
    assert read_page(make_renderer(".png", image("PNG", (9, 9))), weary, 1)["failed"] == "memory"


def test_what_is_to_be_installed_is_what_is_looked_for() -> None:
    assert all(f"'{name}>=" in OCR_INSTALL for name in OCR_MODULES)


@pytest.mark.skipif(is_installed(), reason="what reads scans is installed")
def test_a_process_that_ends_costs_the_page_that_it_was_at() -> None:
    found = recognise_pages("a.png", image("PNG", (9, 9)), [1, 2], lambda: True)
    assert [(one.page, one.failure) for one in found] == [(1, "ended"), (2, "ended")]


@pytest.mark.skipif(is_installed(), reason="what reads scans is installed")
def test_the_terminal_tells_the_pages_and_the_line_to_install(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(scanned(3))
    done = terminal(tmp_path / "data", "library", "add", str(tmp_path / "scan.pdf"))
    assert done.returncode == 1
    assert "pages 1–3 hold pictures without text" in done.stdout and OCR_INSTALL in done.stdout
