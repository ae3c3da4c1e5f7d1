"""Reading scans by OCR itself: what is recognised of pages that were skewed, blurred and grained."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import unicodedata
from difflib import SequenceMatcher
from pathlib import Path

import pypdf
import pytest

from research.sources.library.index import Library
from research.sources.library.ocr import OCR_INSTALL, is_installed, recognise_pages
from tests import scans
from tests.sources.library.test_scans import image
from tests.terminal import terminal

ROOT = Path(__file__).resolve().parents[3]
LACKING = "" if is_installed() else f"not installed: {OCR_INSTALL}"
reads = [pytest.mark.ocr, pytest.mark.slow]
if reason := LACKING or scans.lacking():
    reads.append(pytest.mark.skip(reason=reason))
PAGES = 2


def letters(text: str) -> str:
    """The characters of a text, in the forms that do not differ by width."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def recall(wanted: str, found: str) -> float:
    """The share of the wanted characters that stand in the found text, in order."""
    a, b = letters(wanted), letters(found)
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(a)


@pytest.fixture(scope="module")
def said() -> list[str]:
    return scans.texts(PAGES)


@pytest.fixture(scope="module")
def scan(said: list[str]) -> bytes:
    return scans.pdf([scans.page(text, seed) for seed, text in enumerate(said)])


def marked(test: object) -> object:
    for mark in reads:
        test = mark(test)
    return test


@marked
def test_a_scanned_pdf_is_found_and_cited_by_page(said: list[str], scan: bytes, tmp_path: Path) -> None:
    library = Library(tmp_path / "library.db")
    library.set_sample_enabled(False)
    (added,) = library.add_files([("scan.pdf", scan)])
    assert added.pages == tuple(range(1, PAGES + 1))
    assert library.scan_reader.wait(600)
    assert library.list_scans() == []
    (entry,) = library.list_all()
    parts = library.list_excerpts(entry.id, 0, 999)
    for page, text in enumerate(said, 1):
        found = "\n".join(part.text for part in parts if part.page == page)
        assert recall(text, found) >= 0.98
    for words, page in (("北京中轴线世界遗产", 1), ("成都金沙遗址", 2)):
        hit = library.search(words, limit=1)[0]
        assert (hit.page, hit.is_ocr) == (page, True)
    assert library.page_image(entry.id, 1).startswith(b"\xff\xd8")
    library.close()


@marked
def test_the_terminal_reads_what_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(image("PNG", (300, 100)))
    done = terminal(tmp_path / "data", "library", "add", str(tmp_path / "photo.png"))
    assert done.returncode == 0, done.stderr
    assert "page    1 of    1" in done.stdout


@marked
def test_a_page_that_is_damaged_or_missing_costs_no_other() -> None:
    found = recognise_pages("a.tif", image("TIFF", (90, 40), (80, 40)), [1, 3, 2], lambda: True)
    assert [(one.page, one.failure) for one in found] == [(1, ""), (3, "damaged"), (2, "")]
    for data in (b"%PDF-1.7 none", b""):
        assert [one.failure for one in recognise_pages("a.pdf", data, [1], lambda: True)] == ["damaged"]


def test_the_process_that_reads_connects_nowhere() -> None:
    code = (
        "import socket, sys; from research.readers.worker import refuse_connections; sys.addaudithook(refuse_connections); "
        "socket.create_connection(('127.0.0.1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "PermissionError: this process connects nowhere" in done.stderr


@pytest.mark.skipif(bool(scans.lacking()), reason=scans.lacking())
def test_a_scan_that_was_made_has_no_text_and_the_pages_that_were_asked_for(scan: bytes) -> None:
    pages = pypdf.PdfReader(io.BytesIO(scan)).pages
    assert [page.extract_text() for page in pages] == [""] * PAGES
