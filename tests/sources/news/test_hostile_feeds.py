"""Feeds whose every title, text and name means harm: they come to words or to nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from urllib.parse import urlsplit

import pytest

from research.core.events import ignore_event
from research.http.addresses import AddressValidator
from research.http.sanitize import remove_control_characters
from research.sources.news.article import Article
from research.sources.news.feed_client import FeedClient
from research.sources.news.feeds import FeedSearch
from research.sources.news.search_tools import NewsRequest
from tests.hostile import ADDRESSES, TEXTS, planted, seen
from tests.servers.news import FakeFeeds, Given, item, rss

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
URL = "http://127.0.0.1:9"
TOPIC = "降准"


async def read(fake: FakeFeeds, feed: bytes) -> list[Article]:
    fake.feeds["/rss"] = Given(feed)
    client = FeedClient(
        timeout_seconds=5, address_validator=AddressValidator(allowed=frozenset({("127.0.0.1", fake.port)}))
    )
    feeds = FeedSearch([f"{fake.base_url}/rss"], client=client, clock=lambda: NOW)
    try:
        return list((await feeds.search(TOPIC, NewsRequest(), ignore_event)).articles)
    finally:
        await feeds.close()


def told(text: str, link: str = "https://news.example/cut") -> bytes:
    """A feed with a text wherever words stand, as it is."""
    date = format_datetime(NOW - timedelta(hours=2), usegmt=True)
    return rss(item(f"{TOPIC} {text}", link, date=date, text=text, guid=escape(text)), title=text)


@pytest.fixture
def fake():
    with FakeFeeds() as found:
        yield found


@pytest.mark.parametrize("text", TEXTS)
async def test_a_title_that_is_text_is_kept_as_words(fake: FakeFeeds, text: str) -> None:
    """A title of RSS is HTML: words that look like HTML are escaped in it, and once more as XML."""
    text = remove_control_characters(planted(text, URL))
    (article,) = await read(fake, told(escape(escape(text))))
    assert seen(text, 40) in seen(article.title, len(article.title))


@pytest.mark.parametrize("text", [text for text in TEXTS if re.match("<[a-zA-Z]", text)])
async def test_of_markup_in_a_title_no_tag_is_left(fake: FakeFeeds, text: str) -> None:
    """Its words are, and a feed whose XML such a title breaks may leave nothing."""
    tag = text[: re.match("<[a-zA-Z]+", text).end()].lower()
    for form in (text, escape(text)):
        for article in await read(fake, told(planted(form, URL))):
            for words in (article.title, article.text, article.outlet):
                assert tag not in words.lower()


@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_address_of_a_piece_is_one_of_the_web_or_none(fake: FakeFeeds, address: str) -> None:
    for article in await read(fake, told("利率", escape(address))):
        assert urlsplit(article.url).scheme in ("http", "https", "")
