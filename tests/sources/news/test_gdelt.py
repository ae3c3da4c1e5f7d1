import asyncio
import time
from datetime import UTC, date, datetime

import pytest

from research.core.deadlines import deadline
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.http.rate_limiter import RateLimiter
from research.sources.news.gdelt import GDELT, REQUEST_INTERVAL_SECONDS, remove_operators
from research.sources.news.notes import join_notes
from research.sources.news.search_tools import NEWS_TOOLS, NewsRequest
from tests.servers.news import FakeGDELT, seen
from tests.servers.search import nowhere
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BASIC = NewsRequest()
DATED = NewsRequest(NEWS_TOOLS["search_news_by_date"], date(2026, 11, 18), date(2026, 11, 21))


@pytest.fixture
def server():
    with FakeGDELT(results=[seen(n) for n in range(300)]) as fake:
        yield fake


@pytest.fixture
async def gdelt(server):
    opened = []

    def gdelt_(**more):
        settings = {
            "base_url": server.base_url,
            "timeout_seconds": 5,
            "rate_limiter": RateLimiter(0),
            "backoff_seconds": 0,
        }
        opened.append(GDELT(is_enabled=True, clock=lambda: NOW, **{**settings, **more}))
        return opened[-1]

    yield gdelt_
    for one in opened:
        await one.close()


async def failure(gdelt, query="reserve ratio"):
    with pytest.raises(ServiceError) as caught:
        await gdelt.search(query, BASIC, ignore_event)
    return caught.value


async def test_an_article_has_a_title_an_address_and_no_date_of_publication(gdelt):
    news = await gdelt().search("reserve ratio", BASIC, ignore_event)
    first = news.articles[0]
    assert (first.title, first.text) == ("Central bank cuts reserve ratio, paper 0", "")
    assert (first.url, first.outlet) == ("https://paper0.example/story", "paper0.example")
    assert first.published is None
    assert len(news.articles) == 7
    assert join_notes(news.notes, "en") == ("GDELT gives titles and when it saw them, not when they were published")


@pytest.mark.parametrize(
    ("request_", "sent"),
    [
        (BASIC, {"maxrecords": "7"}),
        (NewsRequest(NEWS_TOOLS["deep_search_news"]), {"maxrecords": "20"}),
        (NewsRequest(NEWS_TOOLS["search_news_last_24_hours"]), {"maxrecords": "10", "timespan": "1d"}),
        (NewsRequest(NEWS_TOOLS["search_news_last_week"]), {"maxrecords": "10", "timespan": "7d"}),
        (NewsRequest(NEWS_TOOLS["search_images_for_news"]), {"maxrecords": "20"}),
        (
            DATED,
            {
                "maxrecords": "15",
                "startdatetime": "20261118000000",
                "enddatetime": "20261121093000",
            },
        ),
    ],
)
async def test_each_tool_has_its_own_limits_on_the_wire(gdelt, server, request_, sent):
    news = await gdelt().search("reserve ratio", request_, ignore_event)
    assert server.last.path == "/api/v2/doc/doc"
    assert server.last.query == {
        "query": "reserve ratio", "mode": "artlist", "format": "json", "sort": "hybridrel", **sent,
    }  # fmt: skip
    assert len(news.articles) == request_.tool.max_results
    assert bool(news.pictures) == request_.tool.has_pictures


async def test_days_are_said_to_be_those_of_the_crawler(gdelt):
    news = await gdelt().search("reserve ratio", DATED, ignore_event)
    assert "days are counted by when GDELT saw" in join_notes(news.notes, "en")


async def test_a_chinese_query_asks_for_chinese_articles(gdelt, server):
    news = await gdelt().search("央行 降准", BASIC, ignore_event)
    assert server.last.query["query"] == "央行 降准 sourcelang:chinese"
    assert news.executed_query == "央行 降准 sourcelang:chinese"


@each_row(
    ("query", "sent"),
    [
        ('bank (cuts OR "ratio") -china', "bank cuts OR ratio china"),
        ("domain:evil.example theme:TAX", "domain evil.example theme TAX"),
        ("AT&T's 0.5% cut", "AT&T's 0.5% cut"),
        ("央行：“降准”", "央行 降准"),
        ("_a_ 'b", "a b"),
    ],
)
def test_a_query_is_words_and_no_operators(query, sent):
    assert remove_operators(query) == sent


async def test_a_query_without_a_word_is_refused_before_it_is_sent(gdelt, server):
    assert (await failure(gdelt(), '"()"')).reason == "refused"
    assert server.log == []


async def test_it_is_not_asked_unless_that_is_turned_on(server):
    gdelt = GDELT(is_enabled=False, base_url=server.base_url)
    assert (gdelt.readiness().state, gdelt.readiness().detail) == ("missing", "NEWS_GDELT")
    assert (await failure(gdelt)).reason == "no key"
    assert server.log == []


async def test_nothing_found_is_no_failure(gdelt, server):
    for results in ([], None):
        server.results = results
        assert (await gdelt().search("x y", BASIC, ignore_event)).articles == ()


async def test_any_field_may_be_missing(gdelt, server):
    server.results = [
        {}, {"url": "javascript:alert(1)", "title": "x"}, {"url": "https://a.example/", "title": None},
        seen(1, seendate=None, domain=None, socialimage="javascript:alert(1)"), seen(1), "row",
    ]  # fmt: skip
    (article,) = (await gdelt().search("x y", BASIC, ignore_event)).articles
    assert (article.outlet, article.image) == ("paper1.example", "")


async def test_a_control_character_in_the_json_does_no_harm(gdelt, server):
    server.raw = '{"articles": [{"url": "https://a.example/", "title": "a \x01 b\tc"}]}'
    (article,) = (await gdelt().search("x y", BASIC, ignore_event)).articles
    assert article.title == "a b c"


@pytest.mark.parametrize("status", [200, 429])
async def test_a_rate_limit_told_in_plain_text_is_a_quota_and_is_tried_again(gdelt, server, status):
    server.says, server.status = (
        "Please limit requests to one every 5 seconds or contact us.",
        status,
    )
    server.headers = {}
    trouble = await failure(gdelt(max_retry_after_seconds=4.9))
    assert (trouble.reason, len(server.log)) == ("quota", 1)
    assert "possible again in 5 s" in trouble.message


@pytest.mark.parametrize(
    ("says", "status", "reason", "hint"),
    [
        ("The specified phrase is too short.", 200, "refused", ""),
        ("<!doctype html><p>Please log in.", 200, "malformed", "endpoint"),
        ('{"articles": [', 200, "malformed", "endpoint"),
        ("[1, 2]", 200, "malformed", "endpoint"),
        ("Oops", 500, "unavailable", ""),
        ("Not here", 404, "refused", "endpoint"),
    ],
)
async def test_what_it_does_not_like_is_told_by_its_kind(gdelt, server, says, status, reason, hint):
    server.says, server.status = says, status
    trouble = await failure(gdelt())
    assert (trouble.reason, trouble.hint) == (reason, hint)
    assert len(server.log) == (2 if reason == "unavailable" else 1)


async def test_no_connection_and_no_end_are_failures(gdelt, server):
    assert (await failure(gdelt(base_url=nowhere()))).reason == "unreachable"
    server.fault = "trickles"
    assert (await failure(gdelt(timeout_seconds=0.2))).reason == "timeout"


async def test_requests_keep_their_distance_whoever_asks(gdelt, server):
    pace, said = RateLimiter(0.2, lambda: 0.0), []  # its turns come alike, however long it takes to ask
    tell = lambda event: said.append((event.kind, event.is_over))  # noqa: E731
    start = time.monotonic()
    await asyncio.gather(*(gdelt(rate_limiter=pace).search("x y", BASIC, tell) for _ in range(3)))
    assert len(server.times) == 3
    assert all(at - start > n * 0.19 for n, at in enumerate(sorted(server.times)))
    assert said.count(("rate_limit_wait", False)) == said.count(("rate_limit_wait", True)) == 2


async def test_waiting_for_a_turn_counts_against_no_deadline(gdelt):
    pace = RateLimiter(1.6, lambda: 0.0)
    one, other = gdelt(rate_limiter=pace), gdelt(rate_limiter=pace)
    await one.search("x y", BASIC, ignore_event)
    async with deadline(1.5):
        assert (await other.search("x y", BASIC, ignore_event)).articles


async def test_the_pace_is_one_request_in_five_seconds_and_a_queue_is_not_endless():
    now = [100.0]
    pace = RateLimiter(REQUEST_INTERVAL_SECONDS, clock=lambda: now[0])
    assert [pace.reserve(60) for _ in range(13)] == [n * 5.0 for n in range(13)]
    assert pace.reserve(60) == 65.0  # more than a caller waits; nothing is reserved
    assert pace.reserve(60) == 65.0
    with pytest.raises(ServiceError) as caught:
        await pace.acquire("GDELT", ignore_event, 60)
    assert caught.value.reason == "quota"
    now[0] += 65
    assert pace.reserve(60) == 0
