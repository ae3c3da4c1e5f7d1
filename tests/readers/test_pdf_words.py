"""Boxes of words, which lie on the picture of a page."""

from __future__ import annotations

from collections.abc import Iterator

import pypdfium2
import pytest

from research.readers.pdf_words import Word, page_words
from tests.readers.pdf_files import make_pdf, show


@pytest.fixture
def pages() -> Iterator[list[pypdfium2.PdfDocument]]:
    opened: list[pypdfium2.PdfDocument] = []
    yield opened
    for document in opened:
        document.close()


def words(pages: list[pypdfium2.PdfDocument], rotation: int = 0) -> list[Word]:
    data = make_pdf(show([(60, 100, "Amos Field")], 12), rotation=rotation)
    pages.append(pypdfium2.PdfDocument(data))
    return page_words(pages[-1][0])


def test_a_word_has_its_box_in_points_from_the_top_left(pages: list[pypdfium2.PdfDocument]) -> None:
    first, second = words(pages)
    assert (first.text, second.text, first.before_space, first.angle) == ("Amos", "Field", True, 0)
    assert (round(first.x0), round(first.baseline), first.size) == (60, 100, 12)
    assert first.y0 < 92 < 100 < first.y1
    assert first.x1 < second.x0


@pytest.mark.parametrize(("rotation", "corner"), [(90, (742, 60)), (180, (535, 742)), (270, (100, 535))])
def test_boxes_turn_with_the_page(pages: list[pypdfium2.PdfDocument], rotation: int, corner: tuple[int, int]) -> None:
    """The corner is where the baseline of the first word begins on the page as it is shown."""
    word = words(pages, rotation)[0]
    assert word.angle == rotation
    assert word.x0 - 3 <= corner[0] <= word.x1 + 3
    assert word.y0 - 3 <= corner[1] <= word.y1 + 3
