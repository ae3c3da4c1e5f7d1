import asyncio
import re
from datetime import UTC, datetime

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.sources.web.wikipedia import Wikipedia
from tests.servers.search import FakeWikipedia, nowhere

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LEAD = "West Lake is a freshwater lake in Hangzhou, China."
LEGENDS = "A white snake is said to lie under Leifeng Pagoda."
DEPTH = "Its average depth is 2.27 metres and its surface 6.38 square kilometres."
LAKE = {
    "title": "West Lake",
    "extract": f"{LEAD}\n\n\n== Legends ==\n{LEGENDS}\n\n\n== Geography ==\n\n=== Water ===\n{DEPTH}",
}
XIHU = {"title": "西湖", "extract": "西湖位于浙江省杭州市。\n\n\n== 水文 ==\n西湖平均水深2.27米。"}


@pytest.fixture
def server():
    with FakeWikipedia(results={"en": [LAKE], "zh": [XIHU]}) as fake:
        yield fake


@pytest.fixture
async def wikipedia(server):
    provider = Wikipedia(base_url=server.base_url, timeout_seconds=5, clock=lambda: NOW)
    yield provider
    await provider.close()


async def failure(provider, query="west lake"):
    with pytest.raises(ServiceError) as caught:
        await provider.search(query, ignore_event)
    await provider.close()
    return caught.value


async def test_an_article_is_evidence_under_its_own_address_and_licence(wikipedia):
    (item,) = (await wikipedia.search("west lake", ignore_event)).evidence
    assert (item.title, item.kind, item.language) == ("West Lake", "web", "en")
    assert item.url == "https://en.wikipedia.org/wiki/West_Lake"
    assert item.publisher == "Wikipedia, CC BY-SA 4.0"
    assert (item.retrieved, item.published) == (NOW, None)


async def test_passages_are_verbatim_and_those_that_share_words_with_the_query_come_first(
    wikipedia,
):
    (item,) = (await wikipedia.search("average depth of West Lake", ignore_event)).evidence
    first = item.passages[0]
    assert (first.text, first.heading, first.origin) == (DEPTH, "Water", "source")
    assert [passage.text for passage in item.passages] == [DEPTH, LEAD]
    for passage in item.passages:
        assert LAKE["extract"][passage.start : passage.end] == passage.text


async def test_a_chinese_query_asks_the_chinese_wiki_in_one_script(wikipedia, server):
    (item,) = (await wikipedia.search("西湖水深多少", ignore_event)).evidence
    assert (item.title, item.language) == ("西湖", "zh")
    assert item.passages[0].text == "西湖平均水深2.27米。"
    assert [asked.path for asked in server.log] == ["/zh/w/api.php"]
    assert server.last.query["variant"] == "zh-cn"


async def test_an_article_that_shares_no_word_gives_its_opening(wikipedia):
    (item,) = (await wikipedia.search("杭州旅游", ignore_event)).evidence
    assert "西湖位于浙江省杭州市。" in item.passages[0].text
    (item,) = (await wikipedia.search("tea plantations", ignore_event)).evidence
    assert [passage.text for passage in item.passages] == [LEAD]


async def test_the_other_wiki_is_asked_only_if_the_first_has_nothing(wikipedia, server):
    server.results = {"zh": [XIHU]}
    found = await wikipedia.search("xihu", ignore_event)
    assert [item.language for item in found.evidence] == ["zh"]
    assert found.message == "nothing in Wikipedia (en)"
    assert [asked.path for asked in server.log] == ["/en/w/api.php", "/zh/w/api.php"]


async def test_nothing_in_any_wiki_is_no_failure(wikipedia, server):
    server.results = {}
    found = await wikipedia.search("西湖", ignore_event)
    assert (found.evidence, found.failures) == ((), ())
    assert [asked.path for asked in server.log] == ["/zh/w/api.php", "/en/w/api.php"]


async def test_only_the_languages_that_are_set_are_asked(server):
    provider = Wikipedia(("en",), base_url=server.base_url)
    (item,) = (await provider.search("西湖", ignore_event)).evidence
    await provider.close()
    assert item.language == "en"


async def test_every_article_comes_with_its_text_and_the_best_is_first(wikipedia, server):
    server.results = {"en": [LAKE | {"title": f"Lake {n}"} for n in range(6)]}
    items = (await wikipedia.search("lake", ignore_event)).evidence
    assert [item.title for item in items] == ["Lake 0", "Lake 1", "Lake 2", "Lake 3"]
    assert len(server.log) == 4
    assert "gsrsearch" in server.last.query


async def test_requests_wait_for_each_other_whoever_sends_them(server):
    server.waits = 0.03
    server.results = {"en": [LAKE, LAKE | {"title": "East Lake"}]}
    providers = [Wikipedia(base_url=server.base_url) for _ in range(3)]
    found = await asyncio.gather(*(p.search(f"lake {n}", ignore_event) for n, p in enumerate(providers)))
    for provider in providers:
        await provider.close()
    assert all(len(one.evidence) == 2 for one in found)
    assert (server.together, len(server.log)) == (1, 6)


async def test_the_client_says_who_it_is(server):
    for contact, told in (
        ("", "research desk"),
        ("desk@example.org", "research desk; desk@example.org"),
    ):
        provider = Wikipedia(base_url=server.base_url, contact_email=contact)
        await provider.search("lake", ignore_event)
        await provider.close()
        agent = server.last.headers["user-agent"]
        assert re.fullmatch(rf"Sightline/[\w.]+ \({told}\) httpx/[\d.]+", agent)


@pytest.mark.parametrize(
    ("status", "reason", "again"),
    [
        (403, "blocked", False),
        (404, "refused", False),
        (429, "quota", True),
        (500, "unavailable", True),
        (503, "unavailable", True),
    ],
)
async def test_a_refusal_is_told_by_its_kind(wikipedia, server, status, reason, again):
    server.status, server.headers = status, {"Retry-After": "5"}
    trouble = await failure(wikipedia)
    assert (trouble.reason, trouble.is_retryable) == (reason, again)
    assert trouble.retry_after_seconds == (5 if again else None)


@pytest.mark.parametrize(
    ("code", "reason", "again"),
    [
        ("maxlag", "unavailable", True),
        ("readonly", "unavailable", True),
        ("internal_api_error_DBQueryError", "unavailable", True),
        ("ratelimited", "quota", True),
        ("blocked", "blocked", False),
        ("globalblocking-blockedtext", "blocked", False),
        ("badvalue", "refused", False),
        (None, "refused", False),
    ],
)
async def test_an_error_under_the_status_of_success_is_an_error(wikipedia, server, code, reason, again):
    server.error = {"code": code, "info": "as the wiki puts it"}
    trouble = await failure(wikipedia)
    assert (trouble.reason, trouble.is_retryable) == (reason, again)
    assert "as the wiki puts it" in trouble.message


@pytest.mark.parametrize("fault", ["html", "broken", "list", "empty"])
async def test_an_answer_that_is_no_answer_is_malformed(wikipedia, server, fault):
    server.fault = fault
    trouble = await failure(wikipedia)
    assert (trouble.reason, trouble.hint) == ("malformed", "endpoint")


@pytest.mark.parametrize("fault", ["hangs", "trickles"])
async def test_an_answer_that_does_not_end_is_late(server, fault):
    server.fault = fault
    trouble = await failure(Wikipedia(base_url=server.base_url, timeout_seconds=0.3))
    assert (trouble.reason, trouble.is_retryable) == ("timeout", True)


async def test_a_broken_and_a_refused_connection_are_unreachable(server):
    server.fault = "drops"
    for address in (server.base_url, nowhere()):
        trouble = await failure(Wikipedia(base_url=address))
        assert (trouble.reason, trouble.is_retryable) == ("unreachable", True)


async def test_a_wiki_that_fails_is_not_one_that_has_nothing(wikipedia, server):
    server.results, server.statuses = {}, [200, 503]
    assert (await failure(wikipedia, "西湖")).reason == "unavailable"


async def test_articles_that_are_there_outlast_a_failure_beside_them(wikipedia, server):
    server.results = {"en": [LAKE | {"title": f"Lake {n}"} for n in range(4)]}
    server.statuses = [200, 200, 429]
    found = await wikipedia.search("lake", ignore_event)
    assert len(found.evidence) == 2
    (failed,) = found.failures
    assert (failed.reason, failed.source, failed.query) == ("quota", "wikipedia", "lake")


async def test_a_page_that_only_tells_namesakes_apart_is_no_evidence(wikipedia, server):
    mercury = {"title": "Mercury", "extract": "It may refer to:\na planet"}
    server.results = {"en": [mercury | {"pageprops": {"disambiguation": ""}}, LAKE]}
    items = (await wikipedia.search("mercury", ignore_event)).evidence
    assert [item.title for item in items] == ["West Lake"]


async def test_any_field_may_be_missing(wikipedia, server):
    server.results = {
        "en": [
            {"title": "No text", "extract": ""},
            {"title": "No text either", "extract": None},
            {"title": "No address", "extract": LEAD, "fullurl": None, "canonicalurl": None},
            {"title": "West Lake", "extract": LEAD, "canonicalurl": None, "index": None},
        ]
    }
    (item,) = (await wikipedia.search("lake", ignore_event)).evidence
    assert item.title == "West Lake"


async def test_long_articles_are_cut_into_passages_that_can_be_read(wikipedia, server):
    told = " ".join(f"In year {n} the lake was dredged again." for n in range(1800, 1950))
    endless = "".join(f"第{n}艘游船" for n in range(700))
    long = f"{told}\n{endless}\n== Notes ==\nThe mud is at the bottom."
    server.results = {"en": [{"title": "West Lake", "extract": long}]}
    for query, first in (("dredged lake", "In year 1800"), ("游船", "第0艘游船")):
        (item,) = (await wikipedia.search(query, ignore_event)).evidence
        assert len(item.passages) == 3
        assert item.passages[0].text.startswith(first)
        for passage in item.passages:
            assert 1_000 < len(passage.text) <= 1_200
            assert not long[passage.end - 1 : passage.end + 1].isdigit()
            assert long[passage.start : passage.end] == passage.text
            assert passage.text == passage.text.strip()


async def test_short_paragraphs_of_one_section_stand_together_and_sections_apart(wikipedia, server):
    text = "The lake is old.\nThe lake is wide.\n== Boats ==\nThe lake has boats.\n"
    server.results = {"en": [{"title": "West Lake", "extract": text}]}
    (item,) = (await wikipedia.search("lake", ignore_event)).evidence
    assert [(passage.heading, passage.text) for passage in item.passages] == [
        ("", "The lake is old.\nThe lake is wide."),
        ("Boats", "The lake has boats."),
    ]


async def test_a_long_query_is_cut_at_a_word_and_that_is_said(wikipedia, server):
    found = await wikipedia.search("lantern " * 60, ignore_event)
    sent = server.last.query["gsrsearch"]
    assert len(sent) <= 300
    assert set(sent.split()) == {"lantern"}
    assert found.executed_queries == (sent,)
    assert "shortened" in found.message


async def test_closing_twice_is_harmless_and_a_later_search_connects_anew(wikipedia):
    assert wikipedia.readiness().state == "live"
    await wikipedia.search("lake", ignore_event)
    await wikipedia.close()
    await wikipedia.close()
    assert (await wikipedia.search("lake", ignore_event)).evidence
