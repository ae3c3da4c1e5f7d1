"""Stories as rows by day, and who told them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from research.news.article import Article
from research.news.stories import stories
from research.news.timeline import timeline

DAY = datetime(2026, 11, 10, 8, tzinfo=UTC)
ITEMS = [
    Article(title="Ferry sinks off Indonesia", outlet="A", published=DAY),
    Article(title="Ferry sinks off Indonesia", outlet="B", published=DAY + timedelta(days=1)),
    Article(title="Museum in Oslo extends its opening hours", outlet="A", published=DAY + timedelta(days=9)),
    Article(title="Gold hits record high", url="https://www.c.example/gold"),
]  # fmt: skip


def test_rows_stand_by_day_and_those_without_one_come_last_and_say_so() -> None:
    made = timeline(stories(ITEMS))
    assert [(row.day, row.items, row.undated) for row in made.rows] == [
        (date(2026, 11, 10), 2, False),
        (date(2026, 11, 19), 1, False),
        (None, 1, True),
    ]
    assert made.undated == 1
    assert made.days == (
        (date(2026, 11, 10), 1),
        (date(2026, 11, 11), 1),
        (date(2026, 11, 19), 1),
    )


def test_age_counts_from_the_newest_item_or_from_a_given_day() -> None:
    made = timeline(stories(ITEMS))
    assert made.as_of == date(2026, 11, 19)
    assert [row.stale for row in made.rows] == [True, False, False]
    assert [row.stale for row in timeline(stories(ITEMS), stale_after=8).rows] == [False] * 3
    later = timeline(stories(ITEMS), as_of=DAY + timedelta(days=30))
    assert [row.stale for row in later.rows] == [True, True, False]


def test_outlets_tell_their_items_stories_and_first_day() -> None:
    made = timeline(stories(ITEMS))
    assert [(o.name, o.items, o.stories, o.first) for o in made.outlets] == [
        ("A", 2, 2, date(2026, 11, 10)),
        ("B", 1, 1, date(2026, 11, 11)),
        ("c.example", 1, 1, None),
    ]


def test_nothing_is_an_empty_timeline() -> None:
    made = timeline(())
    assert (made.rows, made.days, made.outlets, made.as_of) == ((), (), (), None)
