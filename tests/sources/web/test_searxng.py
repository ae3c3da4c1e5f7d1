from datetime import UTC, date, datetime

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.sources.web.searxng import SearXNG
from tests.servers.search import FakeSearXNG, nowhere
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ROW = {
    "title": "West Lake",
    "url": "https://www.example.org/lake",
    "content": "The lake is free.",
    "engine": "bing",
    "engines": ["bing", "mojeek"],
    "publishedDate": None,
}


@pytest.fixture
def server():
    with FakeSearXNG(results=[ROW]) as fake:
        yield fake


@pytest.fixture
async def searxng(server):
    provider = SearXNG(server.base_url, timeout_seconds=5, clock=lambda: NOW)
    yield provider
    await provider.close()


async def failure(provider, query="west lake"):
    with pytest.raises(ServiceError) as caught:
        await provider.search(query, ignore_event)
    await provider.close()
    return caught.value


async def test_a_result_is_evidence_with_its_snippet_as_the_passage(searxng, server):
    (item,) = (await searxng.search("west lake", ignore_event)).evidence
    assert (item.title, item.publisher, item.retrieved) == ("West Lake", "example.org", NOW)
    (passage,) = item.passages
    assert (passage.text, passage.start, passage.end) == ("The lake is free.", 0, 17)
    asked = server.last
    assert (asked.method, asked.path) == ("GET", "/search")
    assert asked.query == {"q": "west lake", "format": "json"}
    assert asked.headers["user-agent"].startswith("Sightline/")


@pytest.mark.parametrize("tail", ["", "/", "/search", "/search/"])
async def test_the_address_may_be_written_in_any_usual_way(server, tail):
    provider = SearXNG(f" {server.base_url}/searx{tail} ")
    await provider.search("x", ignore_event)
    await provider.close()
    assert server.last.path == "/searx/search"


async def test_a_password_in_the_address_is_sent_as_one_and_stands_in_no_log(server, caplog):
    caplog.set_level("DEBUG", logger="httpx")
    provider = SearXNG(server.base_url.replace("//", "//me:hush-hush@"))
    assert (await provider.search("x", ignore_event)).evidence
    await provider.close()
    assert server.last.headers["authorization"].startswith("Basic ")
    assert "hush-hush" not in caplog.text


async def test_without_an_address_it_is_not_ready_and_says_which_setting_it_lacks():
    provider = SearXNG(" ")
    assert (provider.readiness().state, provider.readiness().detail) == ("missing", "SEARXNG_URL")
    assert "SEARXNG_URL" in (await failure(provider)).message
    assert SearXNG("http://127.0.0.1").readiness().state == "live"


async def test_an_instance_without_json_is_told_what_to_enable(searxng, server):
    server.status = 403
    trouble = await failure(searxng)
    assert (trouble.reason, trouble.hint) == ("refused", "endpoint")
    assert "search.formats" in trouble.message


@pytest.mark.parametrize(
    ("status", "reason", "hint", "again"),
    [
        (400, "refused", "", False),
        (401, "refused", "key", False),
        (404, "refused", "endpoint", False),
        (429, "quota", "", True),
        (500, "unavailable", "", True),
        (504, "unavailable", "", True),
    ],
)
async def test_a_refusal_is_told_by_its_kind(searxng, server, status, reason, hint, again):
    server.status, server.headers = status, {"Retry-After": "3"}
    trouble = await failure(searxng)
    assert (trouble.reason, trouble.hint, trouble.is_retryable) == (reason, hint, again)
    assert trouble.retry_after_seconds == (3 if again else None)


@pytest.mark.parametrize("fault", ["html", "broken", "list", "empty"])
async def test_an_answer_that_is_no_answer_is_malformed(searxng, server, fault):
    server.fault = fault
    trouble = await failure(searxng)
    assert (trouble.reason, trouble.hint) == ("malformed", "endpoint")


async def test_json_of_another_service_is_malformed(searxng, server):
    server.results = {"not": "a list"}
    assert (await failure(searxng)).reason == "malformed"


@pytest.mark.parametrize("fault", ["hangs", "trickles"])
async def test_an_answer_that_does_not_end_is_late(server, fault):
    server.fault = fault
    trouble = await failure(SearXNG(server.base_url, timeout_seconds=0.3))
    assert (trouble.reason, trouble.is_retryable) == ("timeout", True)


async def test_a_broken_and_a_refused_connection_are_unreachable(server):
    server.fault = "drops"
    for address in (server.base_url, nowhere()):
        trouble = await failure(SearXNG(address))
        assert (trouble.reason, trouble.is_retryable) == ("unreachable", True)


@each_row("address", ["localhost:8080", "searx", "ftp://a.example", "http://a:b:c"])
async def test_an_address_that_is_none_is_refused(address):
    trouble = await failure(SearXNG(address))
    assert (trouble.reason, trouble.hint) == ("refused", "endpoint")


async def test_blocked_engines_are_not_nothing_found(searxng, server):
    server.results = []
    server.unresponsive = [["google", "CAPTCHA"], ["brave", "too many requests"], ["qwant"], "x"]
    trouble = await failure(searxng)
    assert trouble.reason == "blocked"
    assert "google (CAPTCHA), brave (too many requests), qwant, x" in trouble.message


async def test_some_blocked_engines_are_said_beside_what_the_others_found(searxng, server):
    server.unresponsive = [["google", "CAPTCHA"]]
    found = await searxng.search("x", ignore_event)
    assert found.evidence
    assert "google (CAPTCHA)" in found.message


@pytest.mark.parametrize("unresponsive", [(), None, {}, "none"])
async def test_nothing_found_is_no_failure(searxng, server, unresponsive):
    server.results, server.unresponsive = [], unresponsive
    found = await searxng.search("x", ignore_event)
    assert (found.evidence, found.message) == ((), "")


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("!!g West Lake", "g West Lake"),
        ("West !bing Lake :fr <3", "West bing Lake fr 3"),
        ("C! a<b 12:30", "C! a<b 12:30"),
    ],
)
async def test_words_of_a_query_are_no_commands_to_the_instance(searxng, server, query, asked):
    found = await searxng.search(query, ignore_event)
    assert server.last.query["q"] == asked
    assert found.executed_queries == (() if query == asked else (asked,))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("The <b>lake</b> is &quot;free&quot; &amp; open.", 'The lake is "free" & open.'),
        ("西<em class='x'>湖</em>免费", "西湖免费"),
        ("One<br>two<p>three</p>", "One two three"),
        ("Before<script>alert('x')</script><!-- no -->after", "Before after"),
        ("5 < 7 and 9 > 8", "5 < 7 and 9 > 8"),
        ("Use &lt;b&gt; for bold", "Use <b> for bold"),
        ("  spread \n over\tlines\u00a0", "spread over lines"),
    ],
)
async def test_a_snippet_of_html_becomes_plain_text(searxng, server, markup, text):
    server.results = [ROW | {"content": markup, "title": markup}]
    (item,) = (await searxng.search("x", ignore_event)).evidence
    assert (item.passages[0].text, item.title) == (text, text)


async def test_a_huge_snippet_is_cut(searxng, server):
    server.results = [ROW | {"content": "<script " * 40_000 + "word " * 40_000}]
    for item in (await searxng.search("x", ignore_event)).evidence:
        assert len(item.passages[0].text) <= 4_000


async def test_any_field_may_be_missing(searxng, server):
    server.results = [
        {"url": "https://a.example/1", "content": "Words."},
        {"url": "https://b.example/2", "content": "", "title": "No words"},
        {"url": "magnet:?xt=1", "content": "Words.", "title": "No page"},
        {"url": "https://c.example/3", "content": "Words.", "engines": None, "engine": 7},
        {},
        None,
    ]
    items = (await searxng.search("x", ignore_event)).evidence
    assert [item.title for item in items] == ["a.example", "c.example"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-03-05T00:00:00", date(2024, 3, 5)),
        ("2024-03-05T10:00:00+00:00", date(2024, 3, 5)),
        ("2031-01-01", None),
        ("yesterday", None),
        (None, None),
    ],
)
async def test_a_date_is_real_or_unknown(searxng, server, text, day):
    server.results = [ROW | {"publishedDate": text}]
    assert (await searxng.search("x", ignore_event)).evidence[0].published == day


async def test_the_number_of_results_is_a_setting(server):
    server.results = [ROW | {"url": f"https://example.org/{n}"} for n in range(30)]
    provider = SearXNG(server.base_url, max_results=5)
    items = (await provider.search("x", ignore_event)).evidence
    await provider.close()
    assert [item.url[-1] for item in items] == list("01234")
