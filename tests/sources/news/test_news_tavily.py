"""Tavily's own client against a server of this machine: what goes over the wire, what comes back."""

import asyncio
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from research.core.errors import ServiceError
from research.core.events import dump_event, ignore_event
from research.core.records import Picture
from research.sources.news.notes import join_notes
from research.sources.news.search_tools import NEWS_TOOLS, NewsRequest
from research.sources.news.tavily import TavilyNews
from tests.servers.news import FakeTavilyNews, rows
from tests.servers.search import nowhere

KEY = "tvly-news-0123456789"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BASIC = NewsRequest()
START, END = date(2026, 11, 18), date(2026, 11, 20)
REQUESTS = {name: NewsRequest(tool, *((START, END) if tool.needs_dates else ())) for name, tool in NEWS_TOOLS.items()}


@pytest.fixture
def server():
    with FakeTavilyNews(results=rows(30, NOW)) as fake:
        yield fake


def provider(server, **more):
    more = {"base_url": server.base_url, "timeout_seconds": 5, "backoff_seconds": 0, "clock": lambda: NOW} | more
    return TavilyNews(KEY, **more)


@pytest.fixture
async def tavily(server):
    found = provider(server)
    yield found
    await found.close()


async def failure(tavily, query="降准", say=ignore_event):
    with pytest.raises(ServiceError) as caught:
        await tavily.search(query, BASIC, say)
    await tavily.close()
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("basic_search_news", {"search_depth": "basic", "max_results": 7, "include_answer": False}),
        (
            "deep_search_news",
            {
                "search_depth": "advanced",
                "max_results": 20,
                "include_answer": "advanced",
                "chunks_per_source": 3,
            },
        ),
        ("search_news_last_24_hours", {"time_range": "day", "max_results": 10}),
        ("search_news_last_week", {"time_range": "week", "max_results": 10}),
        (
            "search_images_for_news",
            {"include_images": True, "include_image_descriptions": True, "max_results": 5},
        ),
        (
            "search_news_by_date",
            {"start_date": "2026-11-18", "end_date": "2026-11-20", "max_results": 15},
        ),
    ],
)
async def test_each_tool_sends_exactly_its_own_parameters(tavily, server, name, parameters):
    await tavily.search("降准", REQUESTS[name], ignore_event)
    assert server.bodies == [{"query": "降准", "topic": "news", **parameters}]
    assert server.last.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", NEWS_TOOLS)
async def test_every_result_that_was_paid_for_is_kept(tavily, name):
    news = await tavily.search("降准", REQUESTS[name], ignore_event)
    assert len(news.articles) == NEWS_TOOLS[name].max_results


async def test_an_article_has_its_outlet_and_its_date(tavily):
    first = (await tavily.search("降准", BASIC, ignore_event)).articles[0]
    assert first.title == "央行宣布降准，第 0 家媒体报道"
    assert first.outlet == "outlet0.example"
    assert (first.published, first.is_day_only) == (NOW, False)
    assert first.text.startswith("中国人民银行决定下调")


async def test_what_lies_outside_the_last_24_hours_is_kept_and_marked(tavily):
    news = await tavily.search("降准", REQUESTS["search_news_last_24_hours"], ignore_event)
    assert [article.is_outside_window for article in news.articles] == [False] * 5 + [True] * 5


async def test_what_lies_outside_the_last_week_is_kept_and_marked(tavily, server):
    server.results = rows(10, NOW, apart=timedelta(days=1))
    news = await tavily.search("降准", REQUESTS["search_news_last_week"], ignore_event)
    assert [article.is_outside_window for article in news.articles] == [False] * 8 + [True] * 2


async def test_what_lies_outside_the_days_asked_for_is_kept_and_marked(tavily, server):
    server.results = rows(6, NOW, apart=timedelta(days=1))
    news = await tavily.search("降准", REQUESTS["search_news_by_date"], ignore_event)
    assert [article.is_outside_window for article in news.articles] == [True, False, False, False, True, True]


@pytest.mark.parametrize("told", [None, "", "05/06/2026", "2031-01-01", 1782723600, {}])
async def test_an_unknown_date_is_kept_as_unknown(tavily, server, told):
    server.results = [rows(1, NOW)[0] | {"published_date": told}]
    (article,) = (await tavily.search("降准", REQUESTS["search_news_by_date"], ignore_event)).articles
    assert (article.published, article.is_outside_window) == (None, False)


async def test_the_advanced_answer_is_kept_apart_from_the_articles(tavily, server):
    server.lead = "The central bank cut its ratio.\x00"
    news = await tavily.search("降准", REQUESTS["deep_search_news"], ignore_event)
    assert news.provider_summary == "The central bank cut its ratio."
    assert all(news.provider_summary not in article.text for article in news.articles)
    assert (await tavily.search("降准", BASIC, ignore_event)).provider_summary == ""


@pytest.mark.parametrize(
    ("images", "pictures"),
    [
        (["https://a.example/1.jpg"], [("https://a.example/1.jpg", "")]),
        (
            [{"url": "https://a.example/1.jpg", "description": "A\n bank"}, "javascript:alert(1)"],
            [("https://a.example/1.jpg", "A bank")],
        ),
        ([{"url": "https://a.example/1.jpg", "description": None}], [("https://a.example/1.jpg", "")]),
        ([None, 5, {}, [], {"url": 7}, "data:image/png;base64,AAAA"], []),
        (None, []),
        ("https://a.example/1.jpg", []),
    ],
)  # fmt: skip
async def test_pictures_come_with_a_caption_or_without(tavily, server, images, pictures):
    server.images = images
    news = await tavily.search("降准", REQUESTS["search_images_for_news"], ignore_event)
    assert news.pictures == tuple(Picture(url=url, caption=said) for url, said in pictures)


async def test_any_field_may_be_missing(tavily, server):
    server.results = [
        {"url": "https://a.example/1", "title": None, "content": None, "published_date": None},
        {"url": "https://b.example/2", "score": "high"},
        {"url": "javascript:alert(1)", "title": "<script>", "content": "x"},
        {"title": "no address", "content": "x"},
        {"url": 5, "title": {}, "content": []},
        None,
        "row",
    ]
    news = await tavily.search("x", BASIC, ignore_event)
    assert [(a.url, a.title, a.text) for a in news.articles] == [
        ("https://a.example/1", "", ""),
        ("https://b.example/2", "", ""),
    ]
    assert join_notes(news.notes, "en") == "without a usable address: 3 of 5 results"


async def test_a_huge_field_is_cut(tavily, server):
    huge = "很长" * 500_000
    server.results = [rows(1, NOW)[0] | {"title": huge, "content": huge, "published_date": huge}]
    (article,) = (await tavily.search("x", BASIC, ignore_event)).articles
    assert len(article.title) <= 300
    assert len(article.text) <= 4_000


@pytest.mark.parametrize("results", [None, [], {}, "none"])
async def test_no_results_are_nothing_found_and_no_failure(tavily, server, results):
    server.results = results
    assert (await tavily.search("x", BASIC, ignore_event)).articles == ()


async def test_a_long_query_is_cut_at_a_word_and_what_was_sent_is_kept(tavily, server):
    news = await tavily.search("lantern " * 60, BASIC, ignore_event)
    (body,) = server.bodies
    assert len(body["query"]) <= 400
    assert set(body["query"].split()) == {"lantern"}
    assert news.executed_query == body["query"]
    assert f"{len(news.executed_query)} characters" in join_notes(news.notes, "en")


async def test_an_ordinary_query_is_sent_as_it_is(tavily):
    news = await tavily.search("降准", BASIC, ignore_event)
    assert (news.executed_query, news.notes) == ("", ())


# Failures


@pytest.mark.parametrize("key", ["", "  \n"])
async def test_without_a_key_nothing_is_sent_and_the_keyless_allowance_is_not_touched(server, key):
    tavily = TavilyNews(key, base_url=server.base_url)
    assert (tavily.readiness().state, tavily.readiness().detail) == ("missing", "TAVILY_API_KEY")
    trouble = await failure(tavily)
    assert (trouble.reason, trouble.hint) == ("no key", "key")
    assert server.log == []


@pytest.mark.parametrize(
    ("status", "detail", "reason", "hint", "requests", "words"),
    [
        (400, {"detail": [{"msg": "Invalid topic."}]}, "refused", "", 1, "Invalid topic."),
        (401, {"detail": {"error": "invalid API key"}}, "refused", "key", 1, "invalid API key"),
        (403, {"detail": {"error": "usage limit exceeded"}}, "quota", "", 1, "usage limit"),
        (403, {"detail": {"error": "closed"}}, "refused", "", 1, "closed"),
        (422, {"detail": [{"msg": "Field required"}]}, "refused", "", 1, "Field required"),
        (432, {"detail": {"error": "Upgrade."}}, "quota", "", 1, "the plan's limit"),
        (433, {"detail": {"error": "Raise it."}}, "quota", "", 1, "the pay-as-you-go limit"),
        (429, {"detail": {"error": "Too many requests."}}, "quota", "", 2, "Too many"),
        (500, {"detail": {"error": "Internal error."}}, "unavailable", "", 2, "Internal"),
        (503, None, "unavailable", "", 2, "503"),
        (202, {}, "malformed", "", 1, "202"),
    ],
)
async def test_a_refusal_has_its_reason_and_is_repeated_only_where_that_can_help(
    server, status, detail, reason, hint, requests, words
):
    server.status, server.error = status, detail
    trouble = await failure(provider(server))
    assert (trouble.reason, trouble.hint) == (reason, hint)
    assert words in trouble.message
    assert len(server.log) == requests


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_second_attempt_that_succeeds_is_all_that_is_needed(server, status):
    server.statuses = [status]
    tavily, said = provider(server), []
    news = await tavily.search("x", BASIC, lambda event: said.append(dump_event(event)))
    await tavily.close()
    assert len(news.articles) == 7
    assert [kind for kind, _ in said] == ["retry_scheduled", "usage"]
    assert (said[0][1]["service"], said[1][1]["searches"]) == ("tavily", 1)


async def test_a_pause_that_is_too_long_is_not_waited_for(server):
    server.status, server.headers = 429, {"Retry-After": "600"}
    begun = time.monotonic()
    trouble = await failure(provider(server))
    assert (trouble.reason, len(server.log)) == ("quota", 1)
    assert "possible again in 600 s" in trouble.message
    assert time.monotonic() - begun < 30


async def test_who_has_no_patience_waits_for_no_pause_and_is_told_of_none_that_nobody_wants(server):
    server.status, server.error = 400, {"detail": "Invalid topic."}
    trouble = await failure(provider(server, max_retry_after_seconds=0, backoff_seconds=1))
    assert trouble.message == "HTTP 400: Invalid topic."
    server.status, server.headers = 429, {"Retry-After": "1"}
    assert "possible again in 1 s" in (await failure(provider(server, max_retry_after_seconds=0))).message
    assert len(server.log) == 2


async def test_waiting_for_a_second_attempt_can_be_cancelled(server):
    server.status, server.headers = 429, {"Retry-After": "20"}
    tavily, waits = provider(server), asyncio.Event()
    task = asyncio.create_task(tavily.search("x", BASIC, lambda _: waits.set()))
    await asyncio.wait_for(waits.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 15)
    await tavily.close()


@pytest.mark.parametrize("fault", ["html", "broken", "list", "empty"])
async def test_an_answer_that_is_no_answer_is_malformed(server, fault):
    server.fault = fault
    trouble = await failure(provider(server))
    assert (trouble.reason, trouble.hint, len(server.log)) == ("malformed", "endpoint", 1)


@pytest.mark.parametrize("fault", ["hangs", "trickles"])
async def test_an_answer_that_does_not_end_is_late_twice_and_then_a_failure(server, fault):
    server.fault = fault
    trouble = await failure(provider(server, timeout_seconds=0.2))
    assert (trouble.reason, len(server.log)) == ("timeout", 2)


async def test_a_connection_that_is_refused_or_broken_is_unreachable(server):
    server.fault = "drops"
    for address in (server.base_url, nowhere()):
        assert (await failure(provider(server, base_url=address))).reason == "unreachable"


async def test_searches_side_by_side_share_one_client(tavily, server):
    server.waits = 0.1
    found = await asyncio.gather(*(tavily.search(f"q{n}", BASIC, ignore_event) for n in range(5)))
    assert all(len(news.articles) == 7 for news in found)
    assert server.together > 1
