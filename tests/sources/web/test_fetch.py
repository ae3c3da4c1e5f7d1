"""What is fetched and what is not, against servers of this machine that do their worst."""

import asyncio
import contextlib
import gzip
import ssl
import time
from dataclasses import replace
from datetime import date
from ipaddress import ip_address

import pytest

from research.core.errors import ServiceError
from research.core.text.passage_ranking import MAX_PASSAGE_CHARS, rank_passages
from research.readers.webpages import decode_page
from research.sources.web.fetcher import Page, PageFetcher
from research.sources.web.page_parser import MAX_TEXT_CHARS, parse_page
from tests.fakes import until
from tests.servers.site import HTML, Reply, Site, bomb, identity, page, redirect
from tests.tables import each_row

TODAY = date(2026, 5, 4)
WORDS = "".join(
    f"<p>Paragraph {n} tells of the tower, which was built in {1400 + n} of brick and wood and "
    "is open to visitors on every day of the week but Monday.</p>"
    for n in range(5)
)
TOWER = Reply(page(WORDS, title="The tower"))
CHINESE = (
    "<p>颐和园始建于清朝乾隆年间，是中国现存规模最大、保存最完整的皇家园林。</p>"
    "<p>旺季从四月到十月，门票三十元，开放时间为六点到二十点。</p>"
    "<p>昆明湖约占全园面积的四分之三，冬天可以在湖上滑冰。</p>"
)

# What the name server of these tests says; every other name is at 127.0.0.1.
NAMES = {
    "inside.example": ["127.0.0.1"],
    "private.example": ["10.0.0.1"],
    "mixed.example": ["8.8.8.8", "127.0.0.1"],
    "six.example": ["2606:4700::1111", "::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "translated.example": ["64:ff9b::7f00:1"],
    "cloud.example": ["169.254.169.254"],
    "nobody.example": [],
}
# Ways to the trap, which listens on this machine where nothing may be read.
WAYS = [
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://localhost:{port}/",
    "http://localhost.:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://ⓛocalhost:{port}/",
    "http://127。0。0。1:{port}/",
    "http://site.example@127.0.0.1:{port}/",
    "http://user:secret@127.0.0.1:{port}/",
    "http://site.example\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@site.example/",
    "http://127.0.0.1:{port}#@site.example/",
    "http://127.0.0.1:{port}?@site.example/",
    "http://127%2e0.0.1:{port}/",
    "http://127.0.0.1%00.example:{port}/",
    "http://trap:{port}/",
    "http://trap.localhost:{port}/",
    "http://trap.internal:{port}/",
    "http://metadata.google.internal:{port}/computeMetadata/v1/",
    "http://inside.example:{port}/",
    "http://inside.example.:{port}/",
    "http://private.example:{port}/",
    "http://mixed.example:{port}/",
    "http://six.example:{port}/",
    "http://mapped.example:{port}/",
    "http://translated.example:{port}/",
    "http://cloud.example:{port}/latest/meta-data/",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET",
    "file:///etc/passwd",
    "data:text/html,<p>x</p>",
    "javascript:alert({port})",
    "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQ{port}",
]


async def names(host, port):
    return [ip_address(number) for number in NAMES.get(host, ["127.0.0.1"])]


@contextlib.asynccontextmanager
async def fetching(site, *others, **options):
    """A fetcher that may read the site, on a web of which all ports are open."""
    ports = frozenset(other.port for other in (site, *others))
    given = {"resolve": names, "allowed_ports": ports, "today": lambda: TODAY, **options}
    fetcher = PageFetcher(allowed_endpoints=frozenset({site.endpoint}), **given)
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def failure(fetcher, url):
    with pytest.raises(ServiceError) as caught:
        await fetcher.fetch(url)
    return caught.value


def at(site, path="/", host="site.example", scheme="http"):
    return f"{scheme}://{host}:{site.port}{path}"


@pytest.fixture
def site():
    with Site({"/": TOWER}) as running:
        yield running


@pytest.fixture(scope="module")
def trap():
    with Site({"/": TOWER}) as running:
        yield running


@pytest.fixture(scope="module")
def guide():
    """A site that is read by all tests of redirects to the trap."""
    with Site() as running:
        yield running


# What is read


async def test_a_page_is_its_title_its_main_text_and_what_it_states_of_itself(site):
    head = '<meta property="article:published_time" content="2025-03-02T23:00:00+08:00">'
    site.replies["/a"] = Reply(page(WORDS, title="The tower", head=head))
    async with fetching(site) as fetcher:
        found = await fetcher.fetch(at(site, "/a?b=c#d"))
    assert found.url == at(site, "/a?b=c")
    assert (found.title, found.language) == ("The tower", "en")
    assert found.published == date(2025, 3, 2)
    assert "Paragraph 3 tells of the tower, which was built in 1403" in found.text
    for idle in ("About us", "All rights reserved", "var hidden"):
        assert idle not in found.text


async def test_the_site_is_told_who_asks_and_nothing_else(site):
    site.replies["/a"] = replace(TOWER, headers={"Set-Cookie": "id=1; Path=/"})
    async with fetching(site, user_agent="Sightline/9 (tests)") as fetcher:
        await fetcher.fetch(at(site, "/a"))
        await fetcher.fetch(at(site, "/"))
    assert [asked.path for asked in site.requests] == ["/robots.txt", "/a", "/"]
    for asked in site.requests:
        assert asked.method == "GET"
        assert asked.headers["host"] == f"site.example:{site.port}"
        assert asked.headers["user-agent"] == "Sightline/9 (tests)"
        assert asked.headers["accept-encoding"] == "gzip"
        assert not {"cookie", "authorization", "referer"} & set(asked.headers)


async def test_a_packed_page_is_unpacked(site):
    packed = {"Content-Encoding": "gzip"}
    middle = len(TOWER.body) // 2
    halves = gzip.compress(TOWER.body[:middle]) + gzip.compress(TOWER.body[middle:])
    site.replies["/one"] = Reply(gzip.compress(TOWER.body), headers=packed)
    site.replies["/two"] = Reply(halves, headers=packed)
    site.replies["/more"] = Reply(gzip.compress(TOWER.body) + b"\0" * 20, headers=packed)
    async with fetching(site) as fetcher:
        texts = {(await fetcher.fetch(at(site, path))).text for path in ("/one", "/two", "/more")}
        assert texts == {(await fetcher.fetch(at(site))).text}


async def test_plain_text_and_xhtml_are_read_too(site):
    site.replies["/a.txt"] = Reply(b"The tower\n\nIt is <b>high</b>.", type="text/plain")
    xhtml = b'<?xml version="1.0" encoding="utf-8"?>' + TOWER.body
    site.replies["/a.xhtml"] = Reply(xhtml, type="application/xhtml+xml")
    async with fetching(site) as fetcher:
        plain = await fetcher.fetch(at(site, "/a.txt"))
        assert (plain.title, plain.text) == ("The tower", "The tower\nIt is <b>high</b>.")
        lines = b"The old bridge was opened to traffic in 1934,\nafter three years of work.\n"
        site.replies["/b.txt"] = Reply(lines, type="text/plain")
        wrapped = await fetcher.fetch(at(site, "/b.txt"))
        assert wrapped.text == lines.decode().replace("\n", " ").strip()
        assert "Paragraph 3" in (await fetcher.fetch(at(site, "/a.xhtml"))).text


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=gb2312", "text/html;charset=x"])
async def test_a_page_in_gb18030_is_read_as_what_it_is(site, kind):
    body = page(CHINESE + "<p>𠮷野家</p>", title="颐和园", lang="zh-CN").decode()
    marked = body.replace("<head>", '<head><meta charset="gb2312">')
    site.replies["/a"] = Reply(marked.encode("gb18030"), type=kind)
    async with fetching(site) as fetcher:
        found = await fetcher.fetch(at(site, "/a"))
    assert (found.title, found.language) == ("颐和园", "zh")
    assert "门票三十元" in found.text
    assert "𠮷野家" in found.text


async def test_a_redirect_is_followed_and_the_page_is_where_it_leads(site):
    site.replies["/old"] = redirect("middle", 301)
    site.replies["/middle"] = redirect(f"//other.example:{site.port}/new page?q=塔", 308)
    site.replies["/new%20page"] = TOWER
    async with fetching(site) as fetcher:
        found = await fetcher.fetch(at(site, "/old"))
    assert found.url == at(site, "/new%20page?q=%E5%A1%94", host="other.example")
    assert site.requests[-1].headers["host"] == f"other.example:{site.port}"
    assert [asked.path for asked in site.requests].count("/robots.txt") == 2


# Where nothing is read


@pytest.mark.parametrize("way", WAYS)
async def test_no_address_leads_to_a_server_inside(guide, trap, way):
    async with fetching(guide, trap) as fetcher:
        trouble = await failure(fetcher, way.format(port=trap.port))
    assert (trouble.reason, bool(trouble.message)) == ("refused", True)
    assert trap.connections == 0


@pytest.mark.parametrize("way", WAYS)
async def test_no_redirect_leads_to_a_server_inside(guide, trap, way):
    guide.replies["/start"] = redirect("/next", 307)
    guide.replies["/next"] = redirect(way.format(port=trap.port))
    async with fetching(guide, trap) as fetcher:
        trouble = await failure(fetcher, at(guide, "/start"))
    assert (trouble.reason, bool(trouble.message)) == ("refused", True)
    assert trap.connections == 0


@pytest.mark.parametrize("host", ["inside.example", "127.0.0.1"])
async def test_no_robots_txt_leads_to_a_server_inside(site, trap, host):
    site.replies["/robots.txt"] = redirect(f"http://{host}:{trap.port}/robots.txt")
    async with fetching(site, trap) as fetcher:
        trouble = await failure(fetcher, at(site))
    assert trouble.message.startswith("robots.txt of site.example cannot be read: ")
    assert "a loopback address" in trouble.message
    assert (trap.connections, site.paths) == (0, [])


async def test_a_name_that_changes_its_address_after_the_check_is_checked_again(site):
    answers = iter(["127.0.0.1", "127.0.0.1", "127.0.0.2"])
    asked = []

    async def resolve(host, port):
        asked.append(host)
        return [ip_address(next(answers))]

    site.replies["/a"] = redirect("/b")
    with Site({"/b": TOWER}, address="127.0.0.2", port=site.port) as inside:
        async with fetching(site, resolve=resolve) as fetcher:
            trouble = await failure(fetcher, at(site, "/a"))
        assert inside.connections == 0
    assert trouble.message == "site.example leads to 127.0.0.2, which is a loopback address"
    assert len(asked) == 3  # robots.txt, the page, and the page it leads to
    assert site.connections == 2  # each to the address that was checked, none to one asked for anew


async def test_a_proxy_in_the_environment_switches_nothing_off(site, trap, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}")
    async with fetching(site, trap) as fetcher:
        assert (await fetcher.fetch(at(site))).title == "The tower"
        assert (await failure(fetcher, at(trap))).reason == "refused"
    assert trap.connections == 0


async def test_without_tests_nothing_of_this_machine_can_be_read(trap):
    fetcher = PageFetcher(allowed_ports=frozenset({trap.port}))
    try:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            assert (await failure(fetcher, at(trap, host=host))).reason == "refused"
    finally:
        await fetcher.close()
    assert trap.connections == 0


async def test_a_name_that_is_not_known_is_out_of_reach(site):
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, host="nobody.example"))
    assert (trouble.reason, trouble.message) == ("unreachable", "nobody.example has no address")


# Encryption


@pytest.fixture
def secure(tmp_path):
    """A site with a certificate for site.example, and what trusts it."""
    server, client = identity(tmp_path, ["site.example"])
    with Site({"/": TOWER}, tls=server) as running:
        yield running, client


async def test_a_page_is_read_over_tls(secure):
    site, trusting = secure
    async with fetching(site, tls_context=trusting) as fetcher:
        assert (await fetcher.fetch(at(site, scheme="https"))).title == "The tower"


async def test_a_certificate_that_nobody_vouches_for_is_not_taken(secure):
    site, _ = secure
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, scheme="https"))
    assert (trouble.reason, trouble.is_retryable) == ("unreachable", False)
    assert "certificate" in trouble.message
    assert site.requests == []


async def test_a_certificate_for_another_name_is_not_taken(secure):
    site, trusting = secure
    async with fetching(site, tls_context=trusting) as fetcher:
        trouble = await failure(fetcher, at(site, host="other.example", scheme="https"))
    assert "certificate" in trouble.message
    assert site.requests == []


async def test_a_redirect_out_of_encryption_is_not_followed(secure, trap):
    site, trusting = secure
    site.replies["/"] = redirect(f"http://site.example:{trap.port}/")
    async with fetching(site, trap, tls_context=trusting) as fetcher:
        trouble = await failure(fetcher, at(site, scheme="https"))
    assert trouble.message == "site.example redirects from https to http"
    assert trap.connections == 0


def test_what_verifies_nothing_is_not_accepted_for_tls():
    careless = ssl.create_default_context()
    careless.check_hostname = False
    with pytest.raises(ValueError, match="verify"):
        PageFetcher(tls_context=careless)


# Size, time and kind


async def test_a_page_that_announces_too_much_is_not_begun(site):
    site.replies["/a"] = Reply(b"<p>small", length=5_000_001)
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert (trouble.reason, trouble.message) == (
        "too large",
        "the page is longer than 5,000,000 bytes",
    )


async def test_a_page_without_end_is_left_when_it_is_too_long(site):
    site.replies["/a"] = Reply(b"x" * 50_000, length=-1, times=10_000)
    async with fetching(site, max_bytes=200_000) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert trouble.message == "the page is longer than 200,000 bytes"


async def test_a_bomb_does_not_go_off(site):
    site.replies["/a"] = bomb(20)
    assert len(site.replies["/a"].body) < 100_000
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert trouble.message == "the page is longer than 5,000,000 bytes"


async def test_a_bomb_of_many_parts_does_not_go_off(site):
    packed = {"Content-Encoding": "gzip"}
    site.replies["/a"] = Reply(gzip.compress(b"") * 1_000, headers=packed)
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "malformed"


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip"])
async def test_a_packing_that_was_not_asked_for_is_not_undone(site, encoding):
    site.replies["/a"] = Reply(b"whatever", headers={"Content-Encoding": encoding})
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert trouble.reason == "malformed"
    assert encoding in trouble.message


@pytest.mark.parametrize(
    "reply",
    [
        Reply(gzip.compress(TOWER.body)[:-20], headers={"Content-Encoding": "gzip"}),
        Reply(b"no gzip at all", headers={"Content-Encoding": "gzip"}),
        Reply(TOWER.body[:200], length=len(TOWER.body)),
        Reply(TOWER.body, headers={"Broken": "\0"}),
    ],
    ids=["cut off", "not packed", "too short", "bad header"],
)
async def test_half_a_page_is_no_page(site, reply):
    site.replies["/a"] = reply
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "malformed"


async def test_a_site_that_drips_is_left_at_the_deadline(site):
    site.replies["/a"] = Reply(b"<p>", times=1_000, pause=0.05)
    async with fetching(site, timeout_seconds=0.4) as fetcher:
        begun = time.monotonic()
        trouble = await failure(fetcher, at(site, "/a"))
        assert time.monotonic() - begun < 30
    assert (trouble.reason, trouble.is_retryable) == ("timeout", True)
    assert trouble.message == "site.example did not deliver the page within 0.4 s"


async def test_redirects_and_waiting_have_one_deadline_together(site):
    site.replies["/a"] = replace(redirect("/b"), waits=0.3)
    site.replies["/b"] = replace(TOWER, waits=0.3)
    async with fetching(site, timeout_seconds=0.5) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "timeout"


async def test_a_name_server_that_says_nothing_is_left_at_the_deadline(site):
    async def resolve(host, port):
        await asyncio.Event().wait()

    async with fetching(site, resolve=resolve, timeout_seconds=0.2) as fetcher:
        assert (await failure(fetcher, at(site))).reason == "timeout"


async def test_redirects_without_end_are_followed_for_a_while(site):
    site.replies["/a"] = redirect("/a")
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert (trouble.reason, trouble.message) == (
        "too many redirects",
        "site.example: more than 5 redirects",
    )
    assert len(site.paths) == 6


@pytest.mark.parametrize("location", ["http://[::1", "http://exa mple/", "http://a.example\\@b.example/"])
async def test_a_redirect_to_no_address_is_said_to_be_one(site, location):
    site.replies["/a"] = redirect(location)
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert trouble.reason in ("refused", "malformed")
    assert site.paths == ["/a"]


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/json", ""])
async def test_what_is_no_page_is_named_and_not_read(site, kind):
    site.replies["/a"] = Reply(b"%PDF-1.7", type=kind)
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert trouble.reason == "refused"
    assert trouble.message.startswith(f"this is {kind or 'of no type'};")


async def test_a_file_that_calls_itself_a_page_is_no_text(site):
    site.replies["/a"] = Reply(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, type=HTML)
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "malformed"


async def test_a_packed_file_inside_a_page_is_not_unpacked(site):
    site.replies["/a"] = Reply(gzip.compress(b"<p>word</p>" * 100_000), type=HTML)
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "malformed"


async def test_a_page_without_text_is_empty(site):
    site.replies["/a"] = Reply(b"<html><body><script>draw()</script></body></html>")
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "empty"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "blocked"), (403, "blocked"), (451, "blocked"), (404, "not found"), (410, "not found"),
        (429, "quota"), (500, "unavailable"), (503, "unavailable"), (204, "empty"),
    ],
)  # fmt: skip
async def test_a_status_is_told_as_what_it_means_for_a_page(site, status, reason):
    site.replies["/a"] = Reply(b"", status, headers={"Retry-After": "7"})
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/a"))
    assert (trouble.reason, trouble.hint) == (reason, "")
    assert f"HTTP {status}" in trouble.message
    assert trouble.retry_after_seconds == (7 if trouble.is_retryable else None)


async def test_where_nobody_listens_nothing_is_reached(site):
    site.__exit__()
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site))
    assert (trouble.reason, trouble.is_retryable) == ("unreachable", True)


# Manners


def robots(*lines):
    return Reply("\n".join(lines).encode(), type="text/plain")


async def test_what_robots_txt_disallows_is_not_asked_for(site):
    site.replies["/robots.txt"] = robots("User-agent: *", "Disallow: /inner", "Allow: /inner/open")
    site.replies["/inner/open"] = TOWER
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site, "/inner/a"))
        assert (await fetcher.fetch(at(site, "/inner/open"))).text
    assert trouble.reason == "blocked"
    assert "robots.txt of site.example" in trouble.message
    assert site.paths == ["/inner/open"]
    assert len(site.requests) == 2  # robots.txt was asked for once


async def test_a_rule_for_us_counts_before_one_for_all(site):
    site.replies["/robots.txt"] = robots(
        "User-agent: *", "Disallow: /", "", "User-agent: Sightline", "Disallow: /inner"
    )
    async with fetching(site, user_agent="Sightline/1.0 (research desk)") as fetcher:
        assert (await fetcher.fetch(at(site))).text
        assert (await failure(fetcher, at(site, "/inner"))).reason == "blocked"


async def test_a_rule_for_a_word_of_our_description_is_not_for_us(site):
    site.replies["/robots.txt"] = robots("User-agent: research", "Disallow: /")
    async with fetching(site, user_agent="Sightline/1.0 (research desk)") as fetcher:
        assert (await fetcher.fetch(at(site))).text


async def test_a_redirect_to_what_robots_txt_disallows_is_not_followed(site):
    site.replies["/robots.txt"] = robots("User-agent: *", "Disallow: /inner")
    site.replies["/a"] = redirect("/inner")
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/a"))).reason == "blocked"
    assert site.paths == ["/a"]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_without_a_robots_txt_everything_is_allowed(site, status):
    site.replies["/robots.txt"] = Reply(b"Disallow: /", status)
    async with fetching(site) as fetcher:
        assert (await fetcher.fetch(at(site))).text


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_site_whose_robots_txt_fails_is_left_alone_for_now(site, status):
    site.replies["/robots.txt"] = Reply(b"", status)
    async with fetching(site) as fetcher:
        first = await failure(fetcher, at(site))
        second = await failure(fetcher, at(site, "/b"))
    assert (first.reason, first.is_retryable) == ("unavailable", True)
    assert f"HTTP {status}" in first.message
    assert "left alone for now" in first.message
    assert second.message == first.message
    assert [asked.path for asked in site.requests] == ["/robots.txt"]


async def test_of_a_huge_robots_txt_the_beginning_counts(site):
    rules = b"User-agent: *\nDisallow: /inner\n" + b"# nothing\n" * 100
    site.replies["/robots.txt"] = Reply(rules, type="text/plain", length=-1, times=100_000)
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site, "/inner"))).reason == "blocked"
        assert (await fetcher.fetch(at(site))).text


async def test_a_robots_txt_may_be_elsewhere(site):
    site.replies["/robots.txt"] = redirect(at(site, "/rules.txt", host="www.site.example"))
    site.replies["/rules.txt"] = robots("User-agent: *", "Disallow: /")
    async with fetching(site) as fetcher:
        assert (await failure(fetcher, at(site))).reason == "blocked"


async def test_pages_of_a_site_come_one_after_the_other_with_the_pause_it_wants(site):
    site.replies["/robots.txt"] = robots("User-agent: *", "Crawl-delay: 0.3")
    site.replies |= {f"/{n}": replace(TOWER, waits=0.05) for n in range(3)}
    async with fetching(site) as fetcher:
        begun = time.monotonic()
        await asyncio.gather(*(fetcher.fetch(at(site, f"/{n}")) for n in range(3)))
        assert time.monotonic() - begun >= 0.6 + 3 * 0.05


async def test_a_site_that_wants_long_pauses_is_not_read(site):
    site.replies["/robots.txt"] = robots("User-agent: *", "Crawl-delay: 30")
    async with fetching(site) as fetcher:
        trouble = await failure(fetcher, at(site))
    assert (trouble.reason, site.paths) == ("blocked", [])
    assert "wants 30 s between pages" in trouble.message


async def test_sites_are_read_side_by_side(site):
    site.replies["/"] = replace(TOWER, waits=0.4)
    async with fetching(site) as fetcher:
        await asyncio.gather(*(fetcher.fetch(at(site, host=f"{n}.example")) for n in "abcde"))
    assert site.together > 1


# A page once


async def test_a_page_is_fetched_once_however_many_want_it(site):
    site.replies["/a"] = replace(TOWER, waits=0.1)
    urls = [at(site, "/a"), at(site, "/a#part"), at(site, "/a/?utm_source=x"), at(site, "/a")]
    async with fetching(site) as fetcher:
        found = await asyncio.gather(*map(fetcher.fetch, urls))
        found.append(await fetcher.fetch(urls[0]))
    assert site.paths == ["/a"]
    assert all(other is found[0] for other in found)


async def test_a_page_that_was_found_by_a_redirect_is_known_where_it_is(site):
    site.replies["/old"] = redirect("/")
    async with fetching(site) as fetcher:
        assert await fetcher.fetch(at(site, "/old")) is await fetcher.fetch(at(site))
    assert site.paths == ["/old", "/"]


async def test_a_failure_is_shared_by_those_who_wait_and_tried_again_by_the_next(site):
    site.replies["/a"] = Reply(b"", 503, waits=0.1)
    async with fetching(site) as fetcher:
        results = await asyncio.gather(*(fetcher.fetch(at(site, "/a")) for _ in range(3)), return_exceptions=True)
        assert [result.reason for result in results] == ["unavailable"] * 3
        site.replies["/a"] = TOWER
        assert (await fetcher.fetch(at(site, "/a"))).text
    assert site.paths == ["/a", "/a"]


async def test_who_stops_waiting_takes_the_page_from_nobody(site):
    site.replies["/a"] = replace(TOWER, waits=0.2)
    async with fetching(site) as fetcher:
        first = asyncio.create_task(fetcher.fetch(at(site, "/a")))
        second = asyncio.create_task(fetcher.fetch(at(site, "/a")))
        await asyncio.sleep(0.05)
        first.cancel()
        assert (await second).title == "The tower"
        assert first.cancelled()


async def test_a_page_for_which_nobody_waits_is_given_up_and_can_be_asked_for_again(site):
    site.replies["/a"] = replace(TOWER, waits=30)
    async with fetching(site) as fetcher:
        only = asyncio.create_task(fetcher.fetch(at(site, "/a")))
        await asyncio.to_thread(until, lambda: site.paths)
        only.cancel()
        await asyncio.wait([only])
        site.replies["/a"] = TOWER
        assert (await fetcher.fetch(at(site, "/a"))).title == "The tower"


async def test_the_pages_used_last_are_remembered_and_no_more_of_them(site):
    site.replies |= {f"/{n}": TOWER for n in range(3)}
    async with fetching(site, max_cached_pages=2) as fetcher:
        for path in ("/0", "/1", "/0", "/2", "/0", "/1"):
            await fetcher.fetch(at(site, path))
    assert site.paths == ["/0", "/1", "/2", "/1"]


async def test_closing_ends_what_is_under_way(site):
    site.replies["/a"] = replace(TOWER, waits=30)
    async with fetching(site) as fetcher:
        waiting = asyncio.create_task(fetcher.fetch(at(site, "/a")))
        await asyncio.to_thread(until, lambda: site.paths)
    with pytest.raises(asyncio.CancelledError):
        await waiting


# From bytes to a page


def page_of(body, **options):
    return parse_page(body, "http://site.example/", latest_date=TODAY, **options)


@each_row(
    ("head", "day"),
    [
        ('<meta property="article:published_time" content="2025-03-02T01:02:03Z">', (2025, 3, 2)),
        ('<meta name="date" content="2025/3/2">', (2025, 3, 2)),
        ('<meta name="pubdate" content="Sun, 02 Mar 2025 10:00:00 GMT">', (2025, 3, 2)),
        ('<meta itemprop="datePublished" content="2025年3月2日 10:00">', (2025, 3, 2)),
        ('<time itemprop="datePublished" datetime="2025-03-02">then</time>', (2025, 3, 2)),
        ('<script type="application/ld+json">{"datePublished": "2025-03-02"}</script>', (2025, 3, 2)),
        ('<script type="application/ld+json">{"@graph": [{}, {"datePublished": "2025-03-02"}]}</script>', (2025, 3, 2)),
        ('<meta name="date" content="2025">', None),
        ('<meta name="date" content="2025-03">', None),
        ('<meta name="date" content="2025-02-31">', None),
        ('<meta name="date" content="1970-01-01">', None),
        ('<meta name="date" content="2099-01-01">', None),
        ('<meta property="article:modified_time" content="2025-03-02">', None),
        ('<script type="application/ld+json">{"review": {"datePublished": "2025-03-02"}}</script>', None),
        ('<script type="application/ld+json">[[1], "datePublished", {</script>', None),
        ("<p>Published on 2 March 2025. Copyright 2019</p>", None),
    ],
)  # fmt: skip
def test_a_page_was_published_on_the_day_it_states_or_on_none(head, day):
    found = page_of(page(WORDS, head=head))
    assert found.published == (date(*day) if day else None)


@each_row(
    ("lang", "body", "language"),
    [
        ("en", WORDS, "en"),
        ("fr-FR", WORDS, "fr"),
        ("en", CHINESE, "zh"),
        ("zh", WORDS, "en"),
        ("", CHINESE, "zh"),
        ("x-klingon-1", WORDS, "en"),
    ],
)
def test_a_language_is_what_can_be_seen_and_else_what_is_declared(lang, body, language):
    assert page_of(page(body, lang=lang)).language == language


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("塔".encode(), "", "塔"),
        ("塔".encode(), "iso-8859-1", "塔"),
        ("塔".encode("utf-8-sig"), "gbk", "塔"),
        ("塔".encode("utf-16"), "", "塔"),
        ("tower".encode("utf-16-le"), "utf-16le", "tower"),
        ("颐和园的塔".encode("gb18030"), "", "颐和园的塔"),
        ("頤和園".encode("big5"), "big5", "頤和園"),
        ("été à Orléans".encode("latin-1"), "", "été à Orléans"),
        ("“été”".encode("cp1252"), "iso-8859-1", "“été”"),
        pytest.param("塔".encode() * 99 + b"\xff", "utf-8", "塔" * 99 + "\ufffd", id="damaged"),
        pytest.param("塔".encode() * 99 + b"\xff", "", "塔" * 99 + "\ufffd", id="damaged, unnamed"),
        ("été".encode("latin-1"), "gb99999", "été"),
        ("été".encode("latin-1"), "unicode_escape", "été"),
    ],
)
def test_bytes_are_read_in_the_charset_they_are_in(data, charset, text):
    assert decode_page(data, charset) == text


def test_paragraphs_and_rows_are_lines_and_what_cannot_be_seen_is_gone():
    body = (
        f"{WORDS}<table><tr><th>Ticket</th><th>Price</th></tr><tr><td>Adult</td><td>60</td></tr>"
        "</table><p>故宫\n博物院<b>很</b>大\u202e。<br>Second\nline.</p>"
    )
    lines = page_of(page(body)).text.split("\n")
    assert "Ticket Price" in lines
    assert "Adult 60" in lines
    assert "故宫博物院很大。" in lines
    assert "Second line." in lines


def test_a_page_whose_main_text_cannot_be_told_is_read_as_a_whole():
    found = page_of(b"<html><body><form><div>Open: 9 to 5</div></form></body></html>")
    assert found.text == "Open: 9 to 5"


def test_a_page_of_very_many_elements_is_read_in_a_short_time():
    begun = time.monotonic()
    found = page_of(page("<p>word</p>" * 60_000))
    assert time.monotonic() - begun < 30
    assert len(found.text) <= MAX_TEXT_CHARS


# Passages

TEXT = "\n".join(
    [
        "Opening hours",
        "The palace is open from 8:30 to 17:00 in summer. " * 4,
        "Tickets",
        "A ticket costs 60 yuan in summer and 40 yuan in winter. " * 6,
        "History",
        "The palace was built between 1406 and 1420. Its halls burnt down several times. " * 14,
        "颐和园门票三十元，开放时间为六点到二十点。" * 8,
        "昆明湖冬天可以滑冰。" * 30,
    ]
)
PALACE = Page("http://site.example/", "Palace", TEXT.replace(" \n", "\n"), None, "en")


@each_row(
    ("query", "word"),
    [
        ("ticket price", "60 yuan"),
        ("When was the palace built?", "1406"),
        ("颐和园门票多少钱", "三十元"),
        ("冬天滑冰", "滑冰"),
        ("opening hours of the palace", "8:30"),
    ],
)
def test_the_first_passage_speaks_to_the_query(query, word):
    assert word in rank_passages(PALACE.text, PALACE.url, query, 3)[0].text


@each_row("query", ["ticket palace 门票", "nothing of this", ""])
@each_row("limit", [1, 3, 50])
def test_a_passage_stands_in_the_page_word_for_word(query, limit):
    found = rank_passages(PALACE.text, PALACE.url, query, limit)
    assert 1 <= len(found) <= limit
    assert len({passage.id for passage in found}) == len(found)
    for passage in found:
        assert passage.text == PALACE.text[passage.start : passage.end]
        assert passage.text == passage.text.strip()
        assert 0 < len(passage.text) <= MAX_PASSAGE_CHARS
        assert passage.origin == "source"


def test_a_page_that_says_nothing_of_the_query_gives_how_it_begins():
    (only,) = rank_passages(PALACE.text, PALACE.url, "quantum chromodynamics", 5)
    assert only.start == 0


def test_a_heading_goes_with_what_it_stands_above():
    texts = [passage.text for passage in rank_passages(PALACE.text, PALACE.url, "palace history built", 50)]
    assert any(text.startswith("History\nThe palace was built") for text in texts)


def test_the_passages_of_a_page_leave_nothing_of_it_out():
    whole = replace(PALACE, text="\n".join(f"Tower {line}" for line in PALACE.text.split("\n")))
    found = sorted(rank_passages(whole.text, whole.url, "tower palace 颐和园 昆明湖", 99), key=lambda p: p.start)
    covered = "".join(passage.text for passage in found).replace(" ", "").replace("\n", "")
    assert covered == whole.text.replace(" ", "").replace("\n", "")


def test_no_passage_is_asked_for_and_none_is_given():
    assert rank_passages(PALACE.text, PALACE.url, "ticket", 0) == ()
    assert rank_passages("", PALACE.url, "ticket", 3) == ()


def test_a_paragraph_without_any_end_is_cut_where_it_must():
    assert [len(passage.text) for passage in rank_passages("x" * 5_000, "", "x", 1)] == [MAX_PASSAGE_CHARS]
