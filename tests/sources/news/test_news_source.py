"""News as one source: who is asked, who takes over, what becomes evidence and what is said."""

import asyncio
import logging
from datetime import UTC, date, datetime, timedelta

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Finding, Picture, Readiness, Task
from research.http.rate_limiter import RateLimiter
from research.sources.news.feeds import FeedSearch
from research.sources.news.gdelt import GDELT
from research.sources.news.provider import NewsResult
from research.sources.news.retriever import NewsRetriever
from research.sources.news.search_tools import NEWS_TOOLS
from research.sources.news.tavily import TavilyNews
from tests.servers.news import (
    FakeFeeds,
    FakeGDELT,
    FakeTavilyNews,
    Given,
    dumps,
    item,
    rows,
    rss,
    seen,
)

KEY = "tvly-news-0123456789"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BY_DATE = {"tool": "search_news_by_date", "start": date(2026, 11, 18), "end": date(2026, 11, 20)}
WAYS = {name: BY_DATE if tool.needs_dates else {"tool": name} for name, tool in NEWS_TOOLS.items()}


def task(query="央行 降准", **way):
    return Task(id="1.1", source="news", query=query, **way)


@pytest.fixture
def tavily():
    with FakeTavilyNews(results=rows(30, NOW)) as server:
        yield server


@pytest.fixture
def site():
    with FakeFeeds(feeds={"/rss": Given(rss(item("央行降准", "https://paper.example/1")))}) as server:
        yield server


@pytest.fixture
def gdelt():
    with FakeGDELT(results=[seen(n) for n in range(30)]) as server:
        yield server


@pytest.fixture
async def news(tavily, site, gdelt):
    """A news source over some providers, the real ones unless others are given."""
    opened = []

    def news_(*names, key=KEY, timeout=5, **more):
        made = {
            "tavily": lambda: TavilyNews(
                key, base_url=tavily.base_url, timeout_seconds=timeout, backoff_seconds=0, clock=lambda: NOW
            ),
            "feeds": lambda: FeedSearch([f"{site.base_url}/rss"], timeout_seconds=timeout, clock=lambda: NOW),
            "gdelt": lambda: GDELT(
                is_enabled=True,
                base_url=gdelt.base_url,
                rate_limiter=RateLimiter(0),
                backoff_seconds=0,
                clock=lambda: NOW,
            ),
        }
        providers = [made[name]() if isinstance(name, str) else name for name in names]
        more = {"timeout_seconds": 10.0, "clock": lambda: NOW} | more
        opened.append(NewsRetriever(providers, **more))
        return opened[-1]

    yield news_
    for source in opened:
        await source.close()


# Evidence


async def test_an_article_is_evidence_with_its_outlet_its_date_and_its_content(news):
    finding = await news("tavily").search(task(), ignore_event)
    first = finding.evidence[0]
    assert (first.kind, first.publisher) == ("news", "outlet0.example")
    assert first.title == "央行宣布降准，第 0 家媒体报道"
    assert first.url == "https://outlet0.example/2026/news?id=0"
    assert (first.published, first.published_at, first.retrieved) == (NOW.date(), NOW, NOW)
    (passage,) = first.passages
    assert (passage.origin, passage.start, passage.end) == ("source", 0, len(passage.text))
    assert passage.text.startswith("中国人民银行决定下调")
    assert (finding.provider, finding.reason, finding.message) == ("tavily", None, "")


async def test_an_unknown_date_stays_unknown_and_is_counted(news, tavily):
    tavily.results = [row | {"published_date": None} for row in rows(2, NOW)] + rows(7, NOW)[2:]
    finding = await news("tavily").search(task(), ignore_event)
    assert [item.published for item in finding.evidence][:2] == [None, None]
    assert finding.undated == tuple(item.id for item in finding.evidence[:2])
    assert finding.message == "7 篇中有 2 篇日期不明"


@pytest.mark.parametrize("way", ["tavily", "rss", "atom", "json", "gdelt"])
async def test_by_every_provider_a_date_after_its_retrieval_is_unknown_and_a_relative_one_counts_from_it(
    news, tavily, site, gdelt, way
):
    told = ("2031-01-01", "3 hours ago", "昨天", "2026-11-19T08:00:00Z")
    titles = [f"央行降准 {n}" for n in range(len(told))]
    links = [f"https://paper.example/{n}" for n in range(len(told))]
    every = list(zip(titles, links, told, strict=True))
    tavily.results = [{"title": a, "url": b, "content": a, "published_date": c} for a, b, c in every]
    gdelt.results = [seen(n, title=a, url=b, seendate=c) for n, (a, b, c) in enumerate(every)]
    entries = "".join(
        f"<entry><title>{a}</title><link href='{b}'/><published>{c}</published></entry>" for a, b, c in every
    )
    site.feeds["/rss"] = {
        "atom": Given(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>".encode()),
        "json": Given(
            dumps({
                "version": "https://jsonfeed.org/version/1.1", "title": "A",
                "items": [{"id": b, "title": a, "url": b, "date_published": c} for a, b, c in every],
            }),
            type="application/feed+json",
        ),
    }.get(way, Given(rss(*(item(a, b, date=c) for a, b, c in every))))  # fmt: skip
    provider = way if way in ("tavily", "gdelt") else "feeds"
    found = {e.title: e for e in (await news(provider).search(task(), ignore_event)).evidence}
    late, relative, yesterday, plain = (found[title] for title in titles)
    assert all(one.retrieved == NOW for one in found.values())
    assert (late.published, late.published_at) == (None, None)
    if way == "gdelt":  # which tells when it came by, and that is no date of publication
        assert {one.published for one in found.values()} == {None}
        return
    assert relative.published_at == NOW - timedelta(hours=3)
    assert (yesterday.published, yesterday.published_at) == (date(2026, 11, 20), None)
    assert plain.published_at == datetime(2026, 11, 19, 8, tzinfo=UTC)


async def test_what_lies_outside_the_days_asked_for_is_evidence_and_marked(news, tavily):
    tavily.results = rows(10, NOW, apart=timedelta(hours=6))
    finding = await news("tavily").search(task(tool="search_news_last_24_hours"), ignore_event)
    assert len(finding.evidence) == 10
    assert finding.outside_dates == tuple(item.id for item in finding.evidence[5:])
    assert finding.message == "10 篇中有 5 篇不在所限日期之内"


async def test_of_an_article_without_text_its_headline_can_be_cited(news):
    finding = await news("gdelt").search(task("reserve ratio"), ignore_event)
    first = finding.evidence[0]
    assert first.passages[0].text == first.title == "Central bank cuts reserve ratio, paper 0"
    assert (first.published, first.published_at) == (None, None)
    assert "when it saw them" in finding.message
    assert "without a date: 7 of 7" in finding.message


async def test_a_day_alone_is_no_moment(news, tavily):
    tavily.results = [rows(1, NOW)[0] | {"published_date": "2026-11-20"}]
    (item_,) = (await news("tavily").search(task(), ignore_event)).evidence
    assert (item_.published, item_.published_at) == (date(2026, 11, 20), None)


async def test_tavilys_own_answer_is_kept_and_is_no_evidence(news, tavily):
    tavily.lead = "A lead of Tavily's own."
    finding = await news("tavily").search(task(tool="deep_search_news"), ignore_event)
    assert finding.provider_summary == "A lead of Tavily's own."
    assert len(finding.evidence) == 20
    assert all(finding.provider_summary not in p.text for e in finding.evidence for p in e.passages)


async def test_pictures_are_kept_with_their_captions(news, tavily):
    tavily.images = [{"url": "https://a.example/1.jpg", "description": "A bank"}]
    finding = await news("tavily").search(task(tool="search_images_for_news"), ignore_event)
    assert finding.pictures == (Picture(url="https://a.example/1.jpg", caption="A bank"),)


async def test_a_finding_survives_json(news, tavily):
    tavily.images, tavily.lead = ["https://a.example/1.jpg"], "A lead."
    for way in WAYS.values():
        finding = await news("tavily").search(task(**way), ignore_event)
        assert Finding.model_validate_json(finding.model_dump_json()) == finding


async def test_nothing_found_is_empty_and_no_failure(news, tavily):
    tavily.results = []
    finding = await news("tavily", "feeds").search(task(), ignore_event)
    assert (finding.reason, finding.provider, finding.failures) == ("empty", "tavily", ())


# Who is asked


async def test_the_next_provider_takes_over_and_the_failure_is_named(news, tavily):
    tavily.status = 432
    finding = await news("tavily", "feeds", "gdelt").search(task(), ignore_event)
    assert (finding.provider, finding.reason) == ("feeds", None)
    assert [(f.source, f.reason) for f in finding.failures] == [("tavily", "quota")]
    assert "the plan's limit" in finding.failures[0].message
    assert "自选的 1 个订阅源" in finding.message


async def test_the_last_provider_is_asked_when_all_before_it_fail(news, tavily, site, gdelt):
    tavily.status, site.feeds["/rss"] = 401, Given(status=500)
    finding = await news("tavily", "feeds", "gdelt").search(task(), ignore_event)
    assert (finding.provider, len(gdelt.log)) == ("gdelt", 1)
    assert [f.source for f in finding.failures] == ["tavily", "feeds"]


async def test_when_all_fail_the_first_choices_reason_is_the_reason(news, tavily, site, gdelt):
    tavily.status, site.feeds["/rss"], gdelt.status = 401, Given(status=500), 503
    finding = await news("tavily", "feeds", "gdelt").search(task(), ignore_event)
    assert (finding.reason, finding.hint, finding.evidence) == ("refused", "key", ())
    assert [(f.source, f.reason) for f in finding.failures] == [
        ("feeds", "unavailable"),
        ("gdelt", "unavailable"),
    ]


async def test_one_that_hangs_leaves_time_to_the_others(news, tavily):
    tavily.fault = "hangs"
    finding = await news("tavily", "feeds", timeout_seconds=2.0, timeout=30).search(task(), ignore_event)
    assert finding.provider == "feeds"
    assert [(f.source, f.reason) for f in finding.failures] == [("tavily", "timeout")]


async def test_what_hangs_beyond_a_provider_is_a_failure_by_its_name(news):
    class Hanging:
        name = "hanging"

        def readiness(self):
            return Readiness(state="live")

        async def search(self, query, request, say):
            await asyncio.Event().wait()
            return NewsResult()

        async def close(self):
            """There is nothing to close."""

    finding = await news(Hanging(), timeout_seconds=0.2).search(task(), ignore_event)
    assert finding.reason == "timeout"
    assert finding.message.startswith("hanging did not answer within")


async def test_who_is_not_configured_is_not_asked(news, tavily):
    source = news("tavily", "feeds", key="")
    assert source.readiness() == Readiness(state="live", detail="feeds")
    finding = await source.search(task(), ignore_event)
    assert (finding.provider, finding.failures, tavily.log) == ("feeds", (), [])


async def test_with_nobody_configured_it_says_what_is_missing(tavily):
    source = NewsRetriever(
        [TavilyNews("", base_url=tavily.base_url), FeedSearch([]), GDELT(is_enabled=False)], timeout_seconds=5
    )
    needed = "TAVILY_API_KEY, NEWS_FEEDS, NEWS_GDELT"
    assert source.readiness() == Readiness(state="missing", detail=needed)
    with pytest.raises(ServiceError) as caught:
        await source.search(task(), ignore_event)
    assert (caught.value.reason, caught.value.hint) == ("no key", "key")
    assert needed in caught.value.message
    assert tavily.log == []


async def test_one_broken_feed_is_named_beside_what_the_others_bring(tavily, site):
    feeds = FeedSearch([f"{site.base_url}/rss", f"{site.base_url}/gone"], clock=lambda: NOW)
    source = NewsRetriever([feeds], timeout_seconds=10, clock=lambda: NOW)
    finding = await source.search(task(), ignore_event)
    await source.close()
    assert len(finding.evidence) == 1
    (failure,) = finding.failures
    assert (failure.source, failure.query.partition("/")[2]) == ("feeds", "gone")


async def test_what_is_said_is_in_the_language_of_the_report_and_else_in_that_of_the_query(news):
    chinese = await news("gdelt").search(task("reserve ratio", language="zh"), ignore_event)
    english = await news("gdelt").search(task("reserve ratio"), ignore_event)
    assert "GDELT 只提供标题和收录时间" in chinese.message
    assert "GDELT gives titles and when it saw them" in english.message


# What the model chose


@pytest.mark.parametrize(
    ("way", "body", "said"),
    [
        ({"tool": "search_everything"}, {"search_depth": "basic"}, "there is no tool"),
        ({"tool": "search_news_by_date"}, {"search_depth": "basic"}, "needs a start date and an end date"),
        (
            BY_DATE | {"start": date(2027, 1, 1), "end": date(2027, 1, 2)},
            {"search_depth": "basic"},
            "in the future",
        ),
    ],
)  # fmt: skip
async def test_a_choice_that_makes_no_request_is_a_failure_that_is_named(news, tavily, way, body, said):
    finding = await news("tavily").search(task(language="en", **way), ignore_event)
    assert body.items() <= tavily.bodies[0].items()
    assert len(finding.evidence) == 7
    (failure,) = finding.failures
    assert (failure.source, failure.reason) == ("news", "malformed")
    assert said in failure.message


async def test_what_was_put_right_is_said(news):
    way = BY_DATE | {"start": date(2026, 12, 20), "end": date(2026, 11, 20)}
    finding = await news("tavily").search(task(**way), ignore_event)
    assert finding.failures == ()
    assert "起止日期颠倒" in finding.message
    assert "2026-12-20 尚未到来，已搜索至 2026-11-21；" in finding.message


# What went wrong in a comparable engine


@pytest.mark.parametrize("name", NEWS_TOOLS)
async def test_every_tool_that_a_task_names_reaches_the_wire_with_its_dates(news, tavily, name):
    await news("tavily").search(task(**WAYS[name]), ignore_event)
    tool, (body,) = NEWS_TOOLS[name], tavily.bodies
    assert (body["topic"], body["max_results"]) == ("news", tool.max_results)
    assert tool.tavily_parameters.items() <= body.items()
    days = {"start_date": "2026-11-18", "end_date": "2026-11-20"} if tool.needs_dates else {}
    assert {name: body[name] for name in body if name.endswith("_date")} == days


async def test_every_dated_result_keeps_its_date_whichever_tool_found_it(news):
    for way in WAYS.values():
        finding = await news("tavily").search(task(**way), ignore_event)
        assert all(item.published and item.publisher and item.url for item in finding.evidence)


async def test_no_result_that_was_paid_for_is_thrown_away(news):
    for name, way in WAYS.items():
        finding = await news("tavily").search(task(**way), ignore_event)
        assert len(finding.evidence) == NEWS_TOOLS[name].max_results


async def test_a_wrong_key_is_asked_with_once_and_is_no_answer(news, tavily, caplog):
    tavily.status, tavily.error = 401, {"detail": {"error": f"the key {KEY} is wrong"}}
    with caplog.at_level(logging.DEBUG):
        finding = await news("tavily").search(task(), ignore_event)
    assert (finding.reason, finding.hint, finding.evidence) == ("refused", "key", ())
    assert len(tavily.log) == 1
    assert KEY not in finding.model_dump_json() + caplog.text


async def test_an_address_that_comes_twice_is_one_source(news, tavily):
    row = rows(1, NOW)[0]
    same = row | {"url": "http://OUTLET0.example/2026/news?id=0#top", "content": "另一段。"}
    tavily.results = [row, same, *rows(3, NOW)[1:]]
    finding = await news("tavily").search(task(), ignore_event)
    assert len(finding.evidence) == 3
    assert [passage.text for passage in finding.evidence[0].passages][1:] == ["另一段。"]


async def test_searches_run_side_by_side(news, tavily):
    tavily.waits, source = 0.2, news("tavily")
    await asyncio.gather(*(source.search(task(f"q{n}"), ignore_event) for n in range(6)))
    assert tavily.together == 6


async def test_no_wait_is_long_and_every_wait_is_told(news, tavily):
    tavily.status, tavily.headers = 429, {"Retry-After": "60"}
    finding = await news("tavily").search(task(), ignore_event)
    assert (finding.reason, len(tavily.log), finding.seconds < 5) == ("quota", 1, True)
    said = []
    tavily.headers = {"Retry-After": "0.01"}
    await news("tavily").search(task(), lambda event: said.append((event.kind, event.seconds)))
    assert said == [("retry_scheduled", 0.01)]


async def test_a_title_that_is_missing_crashes_nothing(news, tavily):
    tavily.results = [{"url": "https://a.example/1", "title": None, "content": "文"}, {"url": None}]
    finding = await news("tavily").search(task(), ignore_event)
    assert [item.title for item in finding.evidence] == ["a.example"]


async def test_a_long_query_is_shortened_for_the_wire_and_kept_in_the_record(news, tavily):
    query = "央行 降准 " * 200
    finding = await news("tavily").search(task(query), ignore_event)
    assert finding.reason is None
    assert len(tavily.bodies[0]["query"]) <= 400
    assert (finding.task.query, finding.provider_queries) == (query, (tavily.bodies[0]["query"],))
    assert "查询词已截短" in finding.message


async def test_what_strangers_write_stays_text(news, tavily):
    tavily.results = [
        rows(1, NOW)[0] | {"title": "<script>alert(1)</script>\u202e", "content": "x" * 100_000},
        rows(2, NOW)[1] | {"url": "javascript:alert(1)"},
    ]
    finding = await news("tavily").search(task(), ignore_event)
    (item_,) = finding.evidence
    assert item_.title == "<script>alert(1)</script>"
    assert len(item_.passages[0].text) == 4_000
    assert "2 条结果中有 1 条没有可用的网址" in finding.message
