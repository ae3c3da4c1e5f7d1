"""Scanned pages on the pages: what is told, how far they are read, and what stands beside a passage."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.library import pictures
from research import OCR_INSTALL, Library, get_application
from tests.catalogue import WORDS
from tests.pages.test_library_page import english, own, upload
from tests.pages.visitor import Visitor
from tests.sources.library.test_scans import TEXTS, image, mixed, scanned
from tests.typist import Typist, paper

Visit = Callable[..., Visitor]
SCAN = ("scan.pdf", scanned(4))


def library(typist: Typist | None) -> Library:
    """The library of the desk, with what reads its scans, or nothing that does."""
    found = get_application().library
    found.scan_reader.engine_factory = lambda: typist
    return found


def test_without_what_reads_them_scans_are_told_with_their_pages_and_the_line_to_install(
    visit: Visit,
) -> None:
    library(None)
    visitor = upload(
        visit("library"), SCAN, ("a.pdf", mixed(["Before."], [], ["After."])),
        ("photo.png", image("PNG", (30, 40))),
    )  # fmt: skip
    words = visitor.words.replace("\\", "")
    assert english("unread.no text layer") in words
    assert "scan.pdf (pages 1–4)" in words and "photo.png (page 1)" in words
    assert words.count(OCR_INSTALL) == 2  # of those that were refused, and of the one that was not
    assert "page 2 holds a picture without text" in words
    assert own(visitor) == ["a.pdf"]


def test_pages_that_are_read_are_counted_can_be_stopped_and_go_on(visit: Visit) -> None:
    typist = Typist(TEXTS, halt=3)
    found = library(typist)
    visitor = upload(visit("library"), SCAN)
    assert typist.halted.wait(30)
    (bar,) = visitor.look().at.get("progress")
    assert (bar.proto.value, bar.proto.text.replace("\\", "")) == (50, "Reading page 3 of 4 of scan.pdf by OCR")  # fmt: skip
    visitor.press("stop_scans")
    assert found.scan_reader.wait(30)
    assert "2 of 4 pages of scan.pdf read by OCR" in visitor.look().words.replace("\\", "")
    typist.halt = 0
    visitor.press("go_on")
    assert found.scan_reader.wait(30)
    assert "scan.pdf read by OCR" not in visitor.look().words
    assert typist.asked == [1, 2, 3, 3, 4]


def test_pages_that_failed_are_told_with_the_reason_and_tried_again(visit: Visit) -> None:
    typist = Typist(TEXTS, {2: "damaged", 3: "damaged", 4: "slow"})
    found = library(typist)
    visitor = upload(visit("library"), SCAN)
    assert found.scan_reader.wait(30)
    words = visitor.look().words.replace("\\", "")
    assert "scan.pdf : pages 2–3 could not be read: damaged" in words
    assert "page 4 could not be read: it took longer" in words
    typist.fails = {}
    visitor.press(f"again_{found.list_scans()[0].document_id}")
    assert found.scan_reader.wait(30)
    assert "could not be read" not in visitor.look().words


@pytest.mark.slow
@pytest.mark.parametrize(("locale", "at"), [("en-US", 1), ("zh-CN", 0)])
def test_a_passage_that_was_read_from_a_picture_says_so_with_the_picture_of_its_page(
    visit: Visit, locale: str, at: int
) -> None:
    found = library(Typist(TEXTS))
    visitor = upload(visit("library", locale=locale), SCAN)
    assert found.scan_reader.wait(30)
    found.set_sample_enabled(False)
    marked = WORDS["answer.ocr"][at]
    visitor.at.text_input(key="library_query").set_value("雷峰塔")
    assert marked in visitor.look().words
    (entry,) = found.list_all()
    visitor.go("ask").ask("When does the ferry to the island leave?").wait()
    (cite,) = visitor.blocks("quote")[0]["cites"]
    assert cite["ocr"] and TEXTS[4] in cite["before"] + cite["quote"] + cite["after"]
    assert cite["picture"] == f"/page-pictures/{entry.id}/4"
    assert visitor.answer and visitor.answer["words"]["ocr"] == marked
    found.remove([entry.id])  # the words stay with the run; there is no picture any more
    (cite,) = visitor.look().blocks("quote")[0]["cites"]
    assert cite["ocr"] and cite["picture"] == ""


def test_a_document_shows_each_page_once_and_its_words_as_words(visit: Visit) -> None:
    found = library(Typist({1: "<img src=x onerror=alert(1)> ![x](http://127.0.0.1:9/n.png) **bold**"}))
    upload(visit("library"), ("scan.pdf", scanned(1)))
    assert found.scan_reader.wait(30)
    (entry,) = (entry for entry in found.list_all() if not entry.is_sample)
    visitor = visit("library", document=str(entry.id))
    assert english("answer.ocr") in visitor.words
    (shown,) = [block.proto.body for block in visitor.at.get("html")]
    assert shown.count("<img ") == 1 and f'src="/page-pictures/{entry.id}/1"' in shown
    (text,) = [md.value for md in visitor.at.markdown if "onerror" in md.value]
    assert "<img" not in text.replace("\\<", "") and "![" not in text.replace("\\!", "").replace("\\[", "")  # fmt: skip


def test_the_picture_of_a_page_is_sent_and_kept_by_no_browser(visit: Visit) -> None:
    found = library(Typist(TEXTS))
    upload(visit("library"), SCAN)
    assert found.scan_reader.wait(30)
    (entry,) = (entry for entry in found.list_all() if not entry.is_sample)
    client = TestClient(Starlette(routes=[pictures.PICTURE_ENDPOINT]))
    got = client.get(pictures.picture_url(entry.id, 2))
    assert (got.status_code, got.content) == (200, paper(2))
    assert (got.headers["content-type"], got.headers["cache-control"]) == ("image/jpeg", "no-store")
    for address in (pictures.picture_url(entry.id, 9), pictures.picture_url(10**30, 1)):
        assert client.get(address).status_code == 404
