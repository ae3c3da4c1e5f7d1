"""A filled table as an answer in Markdown."""

from __future__ import annotations

import pytest

from research.records import Column, Language, Options
from research.stages.table import tabled, tiers
from tests.pages.filled_table import museums


@pytest.mark.parametrize(
    ("language", "mark"), [("zh", "（依据不明）"), ("en", "(support unclear)")]
)
def test_a_value_that_needs_checking_is_marked_where_it_stands(
    language: Language, mark: str
) -> None:
    grid, cells, _ = museums(language)
    text = "".join(span.text for span in tabled(grid, cells, language).spans)
    doubtful = [
        cell for cell in cells for one in cell.readings if one.status not in ("quoted", "supported")
    ]
    assert len(doubtful) == text.count(mark) == 1
    assert mark in text.split("\n")[3].split("|")[4]


def test_what_the_desk_has_itself_is_asked_before_what_is_free_and_what_may_cost_money() -> None:
    options = Options(sources=("web", "places", "database", "library"))
    asked = tiers(Column(id="c", name="Height"), options)
    assert asked == [("database", "library"), ("places",), ("web",)]
