"""One piece of news: its dates, and what is told apart from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from research.core.text.publication_dates import Timestamp
from research.sources.news.article import Article, parse_web_address, url_host
from research.sources.news.stories import cluster_articles
from research.sources.news.time_window import TimeWindow
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = datetime(2026, 11, 20, tzinfo=UTC)


def test_an_article_keeps_utc_and_refuses_a_time_without_a_zone() -> None:
    eastern = NOW.astimezone(timezone(timedelta(hours=8)))
    made = Article(published=eastern)
    assert made.published == NOW
    assert made.published
    assert made.published.tzinfo is UTC
    assert Article().moment is None
    with pytest.raises(ValueError, match="no time zone"):
        Article.model_validate({"published": datetime(2026, 1, 1)})


@each_row(
    ("told", "published", "day_only"),
    [
        ("Fri, 20 Nov 2026 12:00:00 GMT", DAY + timedelta(hours=12), False),
        ("2026年11月20日 08:30", DAY, True),
        ("3 hours ago", NOW - timedelta(hours=3), False),
        ("昨天", DAY, True),
        (" 3 hours\x00 ago", None, False),
        ("2031-01-01", None, False),
        ("Tue, 24 Nov 2026 12:00:00 GMT", None, False),
        ("Sat, 21 Nov 2026 20:00:00 GMT", NOW + timedelta(hours=8), False),
        (None, None, False),
        (5, None, False),
    ],
)  # fmt: skip
def test_a_date_is_read_from_its_providers_words(told: object, published: datetime | None, day_only: bool) -> None:
    made = Article(title="T").with_published_date(told, NOW)
    assert (made.published, made.is_day_only) == (published, day_only)
    assert made.moment == (Timestamp(published, day_only) if published else None)


@each_row(
    ("told", "address"),
    [
        ("https://example.org/a b?q=c d", "https://example.org/a%20b?q=c%20d"),
        ("/新闻\u3000一.html", "https://example.org/新闻%E3%80%80一.html"),
        (" https://example.org/a\n", "https://example.org/a"),
        ("https://exam ple.org/a", ""),
        ("https://example.org/a\nb", ""),
    ],
)
def test_a_blank_in_an_address_is_encoded_and_in_a_host_makes_it_none(told: str, address: str) -> None:
    assert parse_web_address(told, "https://example.org/feed") == address


def test_an_article_without_a_date_is_not_outside_a_window() -> None:
    made = Article(title="Ferry sinks")
    assert made.moment is None
    assert not made.with_window(TimeWindow(DAY, DAY + timedelta(hours=1))).is_outside_window
    (story,) = cluster_articles([made])
    assert (story.earliest, story.latest) == (None, None)


def test_an_article_outside_the_window_is_marked_and_otherwise_the_same() -> None:
    made, window = Article(title="T", published=DAY), TimeWindow(NOW, NOW + timedelta(days=1))
    assert made.with_window(window) == made.model_copy(update={"is_outside_window": True})
    assert made.with_window(None) == made


def test_copies_of_one_address_keep_what_any_of_them_knows() -> None:
    url = "https://a.example/1"
    one, other = Article(url=url, title="T", text="Long."), Article(url=url, title="Ferry sinks", published=DAY)
    for items in ([one, other], [other, one]):
        (made,) = cluster_articles(items)[0].articles
        assert (made.title, made.published, made.text) == ("Ferry sinks", DAY, "Long.")


def test_an_outlet_is_called_by_its_host() -> None:
    assert url_host("https://www.Paper.example:8443/a") == "paper.example"
    assert url_host("https://www.com/a") == "www.com"
    assert url_host("") == ""
