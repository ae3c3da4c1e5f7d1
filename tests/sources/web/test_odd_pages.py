"""Fetched pages over which parsers spend minutes: read or refused in a moment, and nothing else waits."""

from __future__ import annotations

from datetime import date

import pytest

from research.core.errors import ServiceError
from research.sources.web.page_parser import Page, parse_page
from tests.hostile_pages import crowded, shapes, ticking
from tests.tables import each_row

SIZE = 1_000_000


def page(text: str) -> Page:
    return parse_page(text.encode(), "https://example.org/a", latest_date=date(2030, 1, 1))


@pytest.mark.slow
@each_row("shape", list(shapes(SIZE)))
def test_a_page_of_any_shape_is_read_or_refused_while_other_threads_go_on(shape: str) -> None:
    with ticking() as longest:
        try:
            assert page(shapes(SIZE)[shape]).text
        except ServiceError as error:
            assert error.reason in ("malformed", "empty")
            assert "parser broke off" not in error.message
    assert longest[0] < 1.0


def test_an_element_with_very_many_attributes_is_named() -> None:
    with pytest.raises(ServiceError, match="more than 200 attributes") as caught:
        page(crowded(60_000))
    assert caught.value.reason == "malformed"
    assert page(crowded(150)).text == "text of the page"


def test_the_page_that_is_read_next_is_read_as_ever() -> None:
    with pytest.raises(ServiceError):
        page(crowded(60_000))
    found = page(
        '<html lang="en"><head><title>Museum</title><meta name="date" content="2024-03-05"></head><body>'
        "<article><p>The museum opens at nine on every day of the week.</p></article></body></html>"
    )
    assert (found.title, found.published, found.language) == ("Museum", date(2024, 3, 5), "en")
    assert "opens at nine" in found.text
