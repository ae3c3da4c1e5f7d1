import asyncio
import json
from datetime import UTC, date, datetime

import pytest

from research.core.errors import ServiceError
from research.core.events import dump_event, ignore_event
from research.core.records import Usage
from research.sources.web.tavily import Tavily
from tests.servers.search import FakeTavily, nowhere

KEY = "tvly-test-0123456789"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ROW = {
    "title": "West Lake",
    "url": "https://www.example.org/lake?utm_source=x",
    "content": "The lake is free.",
    "score": 0.9,
}


@pytest.fixture
def server():
    with FakeTavily(results=[ROW]) as fake:
        yield fake


@pytest.fixture
async def tavily(server):
    provider = Tavily(KEY, base_url=server.base_url, timeout_seconds=5, clock=lambda: NOW)
    yield provider
    await provider.close()


async def failure(provider, query="west lake"):
    with pytest.raises(ServiceError) as caught:
        await provider.search(query, ignore_event)
    await provider.close()
    assert KEY not in str(caught.value)
    return caught.value


async def test_a_result_is_evidence_with_its_snippet_as_the_passage(tavily):
    found = await tavily.search("west lake", ignore_event)
    (item,) = found.evidence
    assert (item.kind, item.title, item.publisher) == ("web", "West Lake", "example.org")
    assert item.url == "https://www.example.org/lake"
    assert (item.retrieved, item.published) == (NOW, None)
    (passage,) = item.passages
    assert (passage.text, passage.origin) == ("The lake is free.", "source")
    assert (passage.start, passage.end) == (0, len(passage.text))
    assert (found.message, found.executed_queries, found.summary) == ("", (), ())


async def test_pages_that_a_script_draws_keep_their_own_titles_links_and_texts(tavily, server):
    server.results = [
        ROW | {"title": f"Report {n}", "url": f"https://data.example.cn/#/report/{n}", "content": f"Text {n}."}
        for n in (1, 2)
    ]  # fmt: skip
    found = await tavily.search("report", ignore_event)
    assert [(item.title, item.url, item.passages[0].text) for item in found.evidence] == [
        (f"Report {n}", f"https://data.example.cn/#/report/{n}", f"Text {n}.") for n in (1, 2)
    ]


async def test_the_cheapest_search_is_asked_for_and_no_answer_that_would_be_paid_for(tavily, server):
    await tavily.search("west lake", ignore_event)
    asked = server.last
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.body == {
        "query": "west lake",
        "topic": "general",
        "search_depth": "basic",
        "include_answer": False,
        "max_results": 8,
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_each_answered_request_is_one_search_used(tavily, server):
    said = []
    await tavily.search("a", lambda event: said.append(dump_event(event)))
    await tavily.search("b", lambda event: said.append(dump_event(event)))
    assert [kind for kind, _ in said] == ["usage", "usage"]
    usage = Usage.model_validate(json.loads(json.dumps(said[0][1])))
    assert usage == Usage(stage="search", model="tavily", searches=1)
    server.status = 500
    with pytest.raises(ServiceError):
        await tavily.search("c", lambda event: said.append(dump_event(event)))
    assert len(said) == 2


@pytest.mark.parametrize("key", ["", "  \n"])
async def test_without_a_key_nothing_is_sent(server, key):
    provider = Tavily(key, base_url=server.base_url)
    assert (provider.readiness().state, provider.readiness().detail) == ("missing", "TAVILY_API_KEY")
    trouble = await failure(provider)
    assert (trouble.reason, trouble.hint) == ("no key", "key")
    assert server.log == []


@pytest.mark.parametrize("key", ["tvly-钥匙", "tvly-a\r\nX: y", "tvly a"])
async def test_a_key_that_cannot_be_sent_is_a_wrong_key(server, key):
    trouble = await failure(Tavily(key, base_url=server.base_url))
    assert (trouble.reason, trouble.hint) == ("refused", "key")
    assert key not in trouble.message
    assert server.log == []


def test_with_a_key_it_is_ready_before_it_is_asked():
    assert Tavily(KEY).readiness().state == "live"


async def test_a_long_query_is_cut_at_a_word_and_that_is_said(tavily, server):
    query = "lantern " * 60
    found = await tavily.search(query, ignore_event)
    sent = server.last.body["query"]
    assert len(sent) <= 400
    assert set(sent.split()) == {"lantern"}
    assert found.executed_queries == (sent,)
    assert f"{len(sent)} characters" in found.message


async def test_a_long_chinese_query_is_cut_at_a_character(tavily, server):
    await tavily.search("西湖门票多少钱" * 80, ignore_event)
    assert server.last.body["query"] == ("西湖门票多少钱" * 80)[:400]


async def test_one_endless_word_is_cut_where_the_limit_is(tavily, server):
    await tavily.search("x" * 500, ignore_event)
    assert server.last.body["query"] == "x" * 400


@pytest.mark.parametrize(
    ("status", "detail", "reason", "hint", "again"),
    [
        (400, {"detail": {"error": "Invalid topic."}}, "refused", "", False),
        (401, {"detail": {"error": "Unauthorized: invalid API key."}}, "refused", "key", False),
        (403, {"detail": {"error": "Your account is closed."}}, "refused", "", False),
        (403, {"detail": {"error": "Usage limit exceeded."}}, "quota", "", False),
        (404, {"detail": "Not Found"}, "refused", "endpoint", False),
        (422, {"detail": [{"msg": "Field required"}]}, "refused", "", False),
        (429, {"detail": {"error": "Too many requests."}}, "quota", "", True),
        (432, {"detail": {"error": "Upgrade."}}, "quota", "", False),
        (433, {"detail": {"error": "Increase it."}}, "quota", "", False),
        (500, {"detail": {"error": "Internal error."}}, "unavailable", "", True),
        (503, None, "unavailable", "", True),
        (202, {}, "malformed", "", False),
        (204, None, "malformed", "", False),
        (301, None, "redirected", "", False),
    ],
)
async def test_a_refusal_is_told_by_its_kind(tavily, server, status, detail, reason, hint, again):
    server.status, server.error = status, detail
    trouble = await failure(tavily)
    assert (trouble.reason, trouble.hint, trouble.is_retryable) == (reason, hint, again)
    assert str(status) in trouble.message


async def test_a_used_up_allowance_says_which(tavily, server):
    for status, words in ((432, "the plan's limit"), (433, "the pay-as-you-go limit")):
        server.status = status
        assert words in (await failure(tavily)).message


@pytest.mark.parametrize(
    "detail",
    ["Too bad.", {"error": "Too bad."}, {"message": "Too bad."}, [{"msg": "Too bad."}, 3]],
)
async def test_what_the_service_says_is_passed_on_in_whatever_shape(tavily, server, detail):
    server.status, server.error = 400, {"detail": detail}
    assert "Too bad." in (await failure(tavily)).message


@pytest.mark.parametrize("error", [None, [], "gone", {"detail": None}, {"detail": {"error": 5}}])
async def test_a_refusal_without_words_is_told_all_the_same(tavily, server, error):
    server.status, server.error = 400, error
    assert (await failure(tavily)).reason == "refused"


async def test_the_time_to_wait_is_kept(tavily, server):
    server.status, server.headers = 429, {"Retry-After": "7"}
    assert (await failure(tavily)).retry_after_seconds == 7


@pytest.mark.parametrize("fault", ["html", "broken", "list", "empty"])
async def test_an_answer_that_is_no_answer_is_malformed(tavily, server, fault):
    server.fault = fault
    trouble = await failure(tavily)
    assert (trouble.reason, trouble.hint) == ("malformed", "endpoint")


async def test_an_error_page_keeps_its_status(tavily, server):
    server.fault, server.status = "html", 502
    assert (await failure(tavily)).reason == "unavailable"


@pytest.mark.parametrize("fault", ["hangs", "trickles"])
async def test_an_answer_that_does_not_end_is_late(server, fault):
    server.fault = fault
    trouble = await failure(Tavily(KEY, base_url=server.base_url, timeout_seconds=0.3))
    assert (trouble.reason, trouble.is_retryable) == ("timeout", True)


async def test_a_broken_and_a_refused_connection_are_unreachable(server):
    server.fault = "drops"
    for address in (server.base_url, nowhere()):
        trouble = await failure(Tavily(KEY, base_url=address))
        assert (trouble.reason, trouble.is_retryable) == ("unreachable", True)


async def test_an_address_that_is_none_is_refused():
    trouble = await failure(Tavily(KEY, base_url="localhost"))
    assert (trouble.reason, trouble.hint) == ("refused", "endpoint")


async def test_any_field_may_be_missing(tavily, server):
    server.results = [
        {"url": "https://a.example/1", "content": "Words.", "title": None},
        {"url": "https://b.example/2", "content": None, "title": "No words"},
        {"url": None, "content": "Words.", "title": "No address"},
        {"url": "javascript:alert(1)", "content": "Words.", "title": "No page"},
        {"url": 5, "content": ["Words."], "title": {}},
        {},
        None,
        "row",
    ]
    (item,) = (await tavily.search("x", ignore_event)).evidence
    assert (item.title, item.url) == ("a.example", "https://a.example/1")


@pytest.mark.parametrize("results", [None, [], {}, "none"])
async def test_no_results_are_nothing_found_and_no_failure(tavily, server, results):
    server.results = results
    assert (await tavily.search("x", ignore_event)).evidence == ()


async def test_an_address_found_twice_is_one_source_with_both_passages(tavily, server):
    server.results = [ROW, ROW | {"url": "http://www.example.org/lake/", "content": "It is deep."}]
    (item,) = (await tavily.search("x", ignore_event)).evidence
    assert [passage.text for passage in item.passages] == ["The lake is free.", "It is deep."]


async def test_titles_and_passages_have_nothing_in_them_that_cannot_be_shown(tavily, server):
    server.results = [ROW | {"title": " West\u202e\x00\n Lake\t", "content": "One\ud800\x07 line.\n\n  Two. "}]
    (item,) = (await tavily.search("x", ignore_event)).evidence
    assert item.title == "West Lake"
    assert item.passages[0].text == "One line.\nTwo."


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Mon, 29 Jun 2026 09:00:00 GMT", date(2026, 6, 29)),
        ("2026-06-29", date(2026, 6, 29)),
        ("2026-06-29T23:30:00+08:00", date(2026, 6, 29)),
        ("2031-01-01", None),
        ("3 hours ago", None),
        ("2026年6月29日", date(2026, 6, 29)),
        ("06/05/2026", None),
        ("1970-01-01T00:00:00Z", None),
        ("Mon, 29 Jun 99999999999999999999 09:00:00 GMT", None),
        ("", None),
        (1782723600, None),
        (None, None),
    ],
)
async def test_a_date_is_real_or_unknown(tavily, server, text, day):
    server.results = [ROW | {"published_date": text}]
    assert (await tavily.search("x", ignore_event)).evidence[0].published == day


async def test_searches_side_by_side_share_one_client(tavily, server):
    found = await asyncio.gather(*(tavily.search(f"q{n}", ignore_event) for n in range(5)))
    assert all(len(one.evidence) == 1 for one in found)
    assert {asked.body["query"] for asked in server.log} == {f"q{n}" for n in range(5)}


async def test_closing_twice_is_harmless_and_a_later_search_connects_anew(tavily):
    await tavily.search("x", ignore_event)
    await tavily.close()
    await tavily.close()
    assert (await tavily.search("x", ignore_event)).evidence


async def test_no_more_results_are_asked_for_than_tavily_gives(server):
    provider = Tavily(KEY, base_url=server.base_url, max_results=50)
    await provider.search("x", ignore_event)
    await provider.close()
    assert server.last.body["max_results"] == 20
