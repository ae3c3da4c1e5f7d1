"""English nouns in the singular and in the plural."""

from __future__ import annotations

from research.core.text.nouns import plural, singular
from tests.tables import each_row

PAIRS = """
    flight/flights job/jobs city/cities day/days status/statuses address/addresses box/boxes
    branch/branches series/series news/news person/people house/houses course/courses
    database/databases movie/movies bus/buses analysis/analyses photo/photos hero/heroes
    taxi/taxis GPS/GPS API/APIs sale/sales index/indices size/sizes tax/taxes quiz/quizzes
    release/releases canvas/canvases campus/campuses valve/valves Hotel/Hotels 年/年 t1/t1
"""


@each_row(("one", "many"), [pair.split("/") for pair in PAIRS.split()])
def test_a_noun_has_one_singular_and_one_plural_whichever_is_given(one: str, many: str) -> None:
    assert (singular(one), singular(many)) == (one, one)
    assert (plural(one), plural(many)) == (many, many)


def test_of_several_words_the_noun_is_the_one_that_changes() -> None:
    assert plural("order item") == plural("order items") == "order items"
    assert plural("point of interest") == "points of interest"
    assert singular("points of interest") == "point of interest"
    assert singular("news items") == "news item"
