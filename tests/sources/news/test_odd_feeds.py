"""Feeds over which parsers spend minutes: read or refused in a moment, and nothing else waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from research.core.errors import ServiceError
from research.sources.news.feed_parser import Feed, parse_feed, parse_feed_list
from tests.hostile_pages import ticking
from tests.tables import each_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = "<item><title>Museum opens</title><link>http://example.org/b</link>{}</item>"
MANY = " ".join(f'a{n}="1"' for n in range(50_000))


def feed(text: str) -> Feed:
    return parse_feed(text.encode(), "https://example.org/feed", NOW)


def rss(inner: str, declared: str = "") -> str:
    return f"{declared}<rss version='2.0'><channel><title>x</title>{inner}</channel></rss>"


@each_row(
    "text",
    [
        rss(ITEM.format(f"<description {MANY}>t</description>")),
        rss(ITEM.format(f"<description><![CDATA[<div {MANY}>t</div>]]></description>")),
        rss(ITEM.format("&bad; " + "<p " * 50_000)),
        rss("<a>" * 50_000),
        f"<opml><body><outline {MANY}/></body></opml>",
    ],
)
def test_a_feed_of_an_odd_shape_holds_up_nobody(text: str) -> None:
    with ticking() as longest:
        try:
            feed(text)
        except ServiceError as error:
            assert error.reason == "malformed"
    assert longest[0] < 1.0


def test_the_attributes_of_a_feed_are_bounded_and_said_to_be_too_many() -> None:
    with pytest.raises(ServiceError, match="more than 200 attributes"):
        feed(rss(ITEM.format(f"<description {MANY}>t</description>")))
    with pytest.raises(ServiceError, match="OPML"):
        parse_feed_list(b"<html>no list</html>")
    assert parse_feed_list(b'<opml><body><outline xmlUrl="https://example.org/f"/></body></opml>') == (
        "https://example.org/f",
    )


def test_the_feed_that_is_read_next_is_read_as_ever() -> None:
    with pytest.raises(ServiceError):
        feed("nonsense")
    found = feed(rss(ITEM.format("<pubDate>Wed, 31 Dec 2025 10:00:00 GMT</pubDate>")))
    (item,) = found.items
    assert (item.article.title, item.article.outlet) == ("Museum opens", "x")
    assert item.article.published == datetime(2025, 12, 31, 10, tzinfo=UTC)
    assert item.title_words and item.title_words <= item.all_words
