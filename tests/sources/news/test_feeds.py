"""Feeds of a site on this machine: what is read of them, what is not, and what is said of it."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.http.addresses import AddressValidator
from research.sources.news.feed_client import FeedClient
from research.sources.news.feeds import FeedSearch
from research.sources.news.notes import join_notes
from research.sources.news.search_tools import NEWS_TOOLS, NewsRequest
from tests.servers.news import FakeFeeds, Given, dumps, item, opml, rss
from tests.servers.search import nowhere

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BASIC = NewsRequest()
START, END = date(2026, 11, 18), date(2026, 11, 19)
REQUESTS = {name: NewsRequest(tool, *((START, END) if tool.needs_dates else ())) for name, tool in NEWS_TOOLS.items()}


def ago(**span):
    return format_datetime(NOW - timedelta(**span), usegmt=True)


@pytest.fixture
def site():
    with FakeFeeds() as fake:
        yield fake


@pytest.fixture
async def read(site):
    """Feeds at some paths of the site, or at addresses."""
    opened = []

    def read_(*paths, allowed=False, **more):
        guard = AddressValidator(allowed=frozenset({("127.0.0.1", site.port)} if allowed else ()))
        own = [path.startswith("/") and not path.endswith(".opml") for path in paths]
        urls = [site.base_url * mine + path for path, mine in zip(paths, own, strict=True)]
        client = FeedClient(**{"timeout_seconds": 5, "address_validator": guard, **more.pop("client", {})})
        opened.append(FeedSearch(urls, client=client, **{"clock": lambda: NOW, **more}))
        return opened[-1]

    yield read_
    for feeds in opened:
        await feeds.close()


async def look(feeds, query="降准", request=BASIC):
    return await feeds.search(query, request, ignore_event)


async def failure(feeds):
    with pytest.raises(ServiceError) as caught:
        await look(feeds)
    return caught.value


CUT = item("央行宣布降准0.5个百分点", "https://news.example/cut", date=ago(hours=2), text="利率不变")


# What a feed may look like


async def test_an_item_of_rss_is_an_article_of_its_feed(site, read):
    site.feeds["/rss"] = Given(rss(CUT, title="财经 &amp; 时报"))
    (article,) = (await look(read("/rss"))).articles
    assert (article.url, article.title) == ("https://news.example/cut", "央行宣布降准0.5个百分点")
    assert (article.outlet, article.text) == ("财经 & 时报", "利率不变")
    assert (article.published, article.is_day_only) == (NOW - timedelta(hours=2), False)


async def test_atom_is_read(site, read):
    site.feeds["/atom"] = Given(
        b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Desk</title>
        <entry><title type="html">Ratio &lt;b&gt;cut&lt;/b&gt; today</title><id>urn:1</id>
        <link href="/story/1"/><published>2026-11-20T20:00:00+08:00</published>
        <content type="html">&lt;p&gt;The bank &amp;amp; the market&lt;/p&gt;</content></entry></feed>""",
        type="application/atom+xml",
    )
    (article,) = (await look(read("/atom"), "ratio cut")).articles
    assert (article.title, article.text) == ("Ratio cut today", "The bank & the market")
    assert article.url == f"{site.base_url}/story/1"
    assert article.published == datetime(2026, 11, 20, 12, tzinfo=UTC)


async def test_rdf_is_read(site, read):
    site.feeds["/rdf"] = Given(
        b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
        <channel rdf:about="https://a.example/"><title>Old style</title></channel>
        <item rdf:about="https://a.example/1"><title>Ratio cut</title>
        <link>https://a.example/1</link><dc:date>2026-11-20T12:00:00Z</dc:date></item></rdf:RDF>""",
        type="application/rdf+xml",
    )
    (article,) = (await look(read("/rdf"), "ratio cut")).articles
    assert (article.outlet, article.published) == ("Old style", datetime(2026, 11, 20, 12, tzinfo=UTC))  # fmt: skip


async def test_json_feed_is_read(site, read):
    entry = {
        "id": "1",
        "url": "story",
        "title": "降准 <i>快讯</i>",
        "content_html": "<p>央行<script>alert(1)</script>宣布</p>",
        "date_published": "2026-11-20T12:00:00Z",
        "image": "/p.jpg",
    }
    told = {"version": "https://jsonfeed.org/version/1.1", "title": "Desk", "items": [entry, 5]}
    site.feeds["/f/json"] = Given(dumps(told), type="application/feed+json")
    (article,) = (await look(read("/f/json"))).articles
    assert (article.title, article.text) == ("降准 快讯", "央行 宣布")
    assert article.url == f"{site.base_url}/f/story"
    assert article.image == f"{site.base_url}/p.jpg"


@pytest.mark.parametrize("encoding", ["gbk", "gb2312", "gb18030", "utf-16"])
async def test_a_feed_in_another_encoding_is_read(site, read, encoding):
    site.feeds["/rss"] = Given(rss(CUT, title="财经", encoding=encoding), type="text/xml")
    news = await look(read("/rss"))
    assert [(a.outlet, a.title) for a in news.articles] == [("财经", "央行宣布降准0.5个百分点")]


async def test_a_feed_in_big5_is_read(site, read):
    body = rss(item("央行宣布降準", date=ago(hours=1)), title="財經", encoding="big5")
    site.feeds["/rss"] = Given(body, type="text/xml")
    news = await look(read("/rss"), "央行宣布降準")
    assert [(a.outlet, a.title) for a in news.articles] == [("財經", "央行宣布降準")]


async def test_the_encoding_may_be_told_by_the_server_alone(site, read):
    body = rss(CUT).replace(b' encoding="utf-8"', b"").decode().encode("gbk")
    site.feeds["/rss"] = Given(body, type="application/rss+xml; charset=gbk")
    assert (await look(read("/rss"))).articles[0].title == "央行宣布降准0.5个百分点"


async def test_of_broken_xml_what_can_be_read_is_read_and_it_is_said_to_be_broken(site, read):
    body = rss(CUT, item("降准之后 <b>怎么看 & 怎么办", "https://news.example/2"))
    site.feeds["/broken.xml"] = Given(body[:-30])
    news = await look(read("/broken.xml"))
    assert "https://news.example/cut" in [article.url for article in news.articles]
    (fault,) = news.failures
    assert (fault.source, fault.reason) == ("feeds", "malformed")
    assert fault.query == f"127.0.0.1:{site.port}/broken.xml"
    assert "XML is broken" in fault.message


async def test_html_in_titles_and_summaries_becomes_text(site, read):
    title = "&lt;img src=x onerror=alert(1)&gt;降准 &amp;lt;b&amp;gt; <![CDATA[<script>alert(1)</script>快讯]]>"
    text = "<![CDATA[<p>央行<a href='javascript:alert(1)'>宣布</a></p><style>p{}</style>]]>"
    site.feeds["/rss"] = Given(rss(item(title, text=text)))
    (article,) = (await look(read("/rss"))).articles
    assert "onerror" not in article.title
    assert "alert" not in article.title + article.text
    assert article.text == "央行宣布"


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("/2026/a", "{site}/2026/a"),
        ("b.html", "{site}/feeds/b.html"),
        ("//other.example/c", "http://other.example/c"),
        ("https://news.example/d", "https://news.example/d"),
    ],
)
async def test_a_relative_link_is_made_whole(site, read, link, address):
    site.feeds["/feeds/rss"] = Given(rss(item("降准", link)))
    (article,) = (await look(read("/feeds/rss"))).articles
    assert article.url == address.format(site=site.base_url)


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "", "http://", "http://a:99999/"],
)  # fmt: skip
async def test_an_item_without_an_address_that_can_be_opened_is_left_out_and_counted(site, read, link):
    site.feeds["/rss"] = Given(rss(CUT, item("降准", link, guid="x1")))
    news = await look(read("/rss"))
    assert [article.url for article in news.articles] == ["https://news.example/cut"]
    assert "1 of 2 items have no address" in news.failures[0].message


async def test_an_item_that_comes_twice_is_one(site, read):
    twice = [item("降准", f"https://news.example/{n}", guid="same") for n in range(3)]
    again = [item("降准又来", "https://news.example/0", guid=f"g{n}") for n in range(3)]
    site.feeds["/rss"] = Given(rss(*twice, *again))
    site.feeds["/copy"] = Given(rss(twice[0]))
    assert len((await look(read("/rss", "/copy", "/rss"))).articles) == 1


async def test_five_thousand_items_are_read_and_no_more(site, read):
    many = [item(f"第 {n} 条", f"https://news.example/{n}") for n in range(5_001)]
    many[4_999] = CUT
    site.feeds["/rss"] = Given(rss(*many))
    news = await look(read("/rss", timeout_seconds=60))
    assert [article.url for article in news.articles] == ["https://news.example/cut"]
    assert "of 5001 items the first 5000 were read" in news.failures[0].message


@pytest.mark.parametrize("date_", ["", "gestern", "31 Feb 2026", "2026-13-45T00:00:00Z"])
async def test_a_date_that_is_missing_or_none_is_unknown(site, read, date_):
    site.feeds["/rss"] = Given(rss(item("降准", date=date_)))
    (article,) = (await look(read("/rss"))).articles
    assert article.published is None


@pytest.mark.parametrize(
    "date_",
    ["2026-11-20", "2026年11月20日 08:30", "2026/11/20", "Fri, 20 Nov 2026 08:30:00 +0800",
     "Fri, 20 Nov 26 08:30 EST", "Fri Nov 20 08:30:00 2026"],
)  # fmt: skip
async def test_a_date_in_an_odd_format_is_read(site, read, date_):
    site.feeds["/rss"] = Given(rss(item("降准", date=date_)))
    (article,) = (await look(read("/rss"))).articles
    assert article.published.date() == date(2026, 11, 20)


async def test_a_date_counts_from_when_the_feed_was_fetched_and_cannot_be_later(site, read):
    told = {"/0": "2 hours ago", "/1": "2小时前", "/2": "2031-01-01", "/3": ago(days=-3)}
    items = [item("降准", f"https://news.example{path}", date=date_) for path, date_ in told.items()]
    site.feeds["/rss"] = Given(rss(*items))
    entries = [
        {"url": f"https://json.example{path}", "title": "降准", "date_published": date_} for path, date_ in told.items()
    ]
    site.feeds["/json"] = Given(dumps({"items": entries}), type="application/feed+json")
    for path in ("/rss", "/json"):
        found = {article.url[-2:]: article for article in (await look(read(path))).articles}
        expected = {"/0": NOW - timedelta(hours=2), "/1": NOW - timedelta(hours=2)}
        assert {key: one.published for key, one in found.items()} == expected | {"/2": None, "/3": None}  # fmt: skip


async def test_a_date_of_the_future_makes_no_item_the_latest(site, read):
    later = item("降准", "https://news.example/later", date="2031-01-01")
    site.feeds["/rss"] = Given(rss(later, CUT))
    first, second = (await look(read("/rss"), "")).articles
    assert (first.url, second.url) == ("https://news.example/cut", "https://news.example/later")


async def test_a_huge_title_is_cut(site, read):
    site.feeds["/rss"] = Given(rss(item("降准" + "长" * 100_000, text="文" * 100_000)))
    (article,) = (await look(read("/rss"))).articles
    assert (len(article.title), len(article.text)) == (300, 2_000)


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (b"<!doctype html><title>Log in</title><p>Please log in.", "text/html"),
        (b"", "application/rss+xml"),
        (b"{", "application/json"),
        (b'{"items": 5}', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"items": ' + b"[" * 100_000, "application/json"),
        (b"/etc/passwd", "text/xml"),
        (b"file:///etc/passwd", "text/xml"),
        (b"\x00\xff\xfe" * 1_000, "application/octet-stream"),
    ],
)
async def test_what_is_no_feed_is_malformed_and_named(site, read, body, type_):
    site.feeds["/x"] = Given(body, type=type_)
    trouble = await failure(read("/x"))
    assert trouble.reason == "malformed"
    assert f"127.0.0.1:{site.port}/x" in trouble.message


async def test_an_address_in_place_of_a_feed_is_not_fetched(site, read):
    site.feeds["/secret"] = Given(rss(CUT))
    site.feeds["/x"] = Given(f"{site.base_url}/secret".encode(), type="text/xml")
    await failure(read("/x"))
    assert site.paths == ["/x"]


async def test_entities_neither_grow_nor_read_files(site, read):
    head = b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "xxxxxxxxxx">'
    for n in range(8):
        before = "a" if n == 0 else f"b{n - 1}"
        head += f'<!ENTITY b{n} "{f"&{before};" * 10}">'.encode()
    head += b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body = head + b"<rss version='2.0'><channel><title>&b7;&f;</title>" + CUT.encode()
    site.feeds["/rss"] = Given(body + b"</channel></rss>")
    news = await look(read("/rss"))
    assert all("root:" not in a.outlet and len(a.outlet) <= 300 for a in news.articles)


# Lists of feeds


async def test_a_list_on_this_machine_names_the_feeds(site, read, tmp_path):
    site.feeds |= {"/a": Given(rss(CUT)), "/b": Given(rss(item("降准", "https://b.example/1")))}
    file = tmp_path / "my feeds.opml"
    file.write_bytes(opml(f"{site.base_url}/a", f"{site.base_url}/b", "javascript:alert(1)"))
    news = await look(read(str(file)))
    assert {a.url for a in news.articles} == {"https://news.example/cut", "https://b.example/1"}
    assert news.failures == ()


async def test_a_list_that_is_fetched_names_public_feeds_only(site, read):
    site.feeds |= {"/a": Given(rss(CUT)), "/list": Given(opml(f"{site.base_url}/a"))}
    assert len((await look(read("/list", allowed=True))).articles) == 1
    site.feeds["/b"] = Given(rss(item("降准", "https://b.example/1")))
    news = await look(read("/list", "/b"))
    assert [article.url for article in news.articles] == ["https://b.example/1"]
    assert [f.reason for f in news.failures] == ["refused"]


async def test_a_list_within_a_list_is_not_read(site, read):
    site.feeds |= {
        "/list": Given(opml(f"{site.base_url}/list2", f"{site.base_url}/a")),
        "/list2": Given(opml(f"{site.base_url}/list")),
        "/a": Given(rss(CUT)),
    }
    news = await look(read("/list", allowed=True))
    assert len(news.articles) == 1
    assert [f.message for f in news.failures] == ["a list within a list is not read"]


@pytest.mark.parametrize("content", [None, b"", b"not xml", b"<html/>"])
async def test_a_list_that_cannot_be_read_is_named(read, tmp_path, content):
    file = tmp_path / "feeds.opml"
    if content is not None:
        file.write_bytes(content)
    trouble = await failure(read(str(file)))
    assert "feeds.opml" in trouble.message
    assert str(tmp_path) not in trouble.message


async def test_notes_tell_of_pieces_in_another_language_than_the_query(site, read):
    other = item("Cloud seeding begins", "https://news.example/en", date=ago(hours=1))
    site.feeds["/rss"] = Given(rss(CUT, other))
    chinese = (await look(read("/rss"), "央行 降准")).notes
    assert join_notes(chinese, "zh") == (
        "来自自选的 1 个订阅源，其中只有最近的报道；订阅源中还有 1 篇英文报道，中文查询词只按两种语言共有的名称和新闻用语匹配，"
        "可改用英文再查"
    )
    assert "1 report in English, which Chinese search terms match only by names" in join_notes(chinese, "en")
    english = (await look(read("/rss"), "cloud seeding")).notes
    assert join_notes(english, "en") == (
        "from 1 of your own feeds, which holds only the latest reports; your feeds also have 1 report in Chinese, "
        "which English search terms match only by names and news words that both languages share: try asking in Chinese as well"
    )
    assert "还有 1 篇中文报道，英文查询词只按" in join_notes(english, "zh")


# Fetching


async def test_a_feed_that_fails_costs_only_itself_and_is_named(site, read):
    site.feeds |= {"/good": Given(rss(CUT)), "/gone": Given(status=404), "/html": Given(b"<p>x")}
    news = await look(read("/gone", "/good", nowhere(), "/html"))
    assert len(news.articles) == 1
    assert sorted(f.reason for f in news.failures) == ["malformed", "not found", "unreachable"]
    assert f"127.0.0.1:{site.port}/gone" in {f.query for f in news.failures}


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "refused"), (403, "refused"), (404, "not found"), (410, "not found"), (429, "quota"),
     (500, "unavailable"), (204, "empty"), (304, "malformed")],
)  # fmt: skip
async def test_a_status_is_a_reason(site, read, status, reason):
    site.feeds["/x"] = Given(status=status)
    trouble = await failure(read("/x"))
    assert (trouble.reason, trouble.hint) == (reason, "")


@pytest.mark.slow
async def test_a_slow_feed_is_late_and_the_others_are_there(site, read):
    site.feeds |= {"/good": Given(rss(CUT)), "/slow": Given(rss(CUT), waits=30)}
    site.feeds["/drips"] = Given(trickles=True)
    news = await look(read("/slow", "/good", "/drips", timeout_seconds=2))
    assert len(news.articles) == 1
    assert [f.reason for f in news.failures] == ["timeout", "timeout"]


async def test_a_feed_that_is_too_long_is_told_as_one(site, read):
    site.feeds["/huge"] = Given(b"<rss>" + b" " * 200_000)
    trouble = await failure(read("/huge", client={"max_bytes": 100_000}))
    assert trouble.reason == "too large"
    assert "longer than 100,000 bytes" in trouble.message


async def test_feeds_are_fetched_side_by_side_and_not_too_many_at_once(site, read):
    site.feeds |= {f"/{n}": Given(rss(CUT), waits=0.1) for n in range(20)}
    await look(read(*site.feeds))
    assert 1 < site.together <= 8


async def test_searches_side_by_side_fetch_a_feed_once(site, read):
    site.feeds["/rss"] = Given(rss(CUT), waits=0.1)
    feeds = read("/rss")
    found = await asyncio.gather(*(look(feeds) for _ in range(5)))
    assert [len(news.articles) for news in found] == [1] * 5
    assert site.paths == ["/rss"]


@pytest.mark.parametrize(
    ("tags", "sent"),
    [
        ({"etag": '"v1"'}, ("if-none-match", '"v1"')),
        ({"modified": "Sat, 21 Nov 2026 08:00:00 GMT"}, ("if-modified-since", "Sat, 21 Nov 2026 08:00:00 GMT")),
    ],
)  # fmt: skip
async def test_a_feed_that_has_not_changed_is_not_sent_again(site, read, tags, sent):
    site.feeds["/rss"] = Given(rss(CUT), **tags)
    now = [0.0]
    feeds = read("/rss", cache_seconds=300.0, monotonic=lambda: now[0])
    await look(feeds)
    now[0] = 299.0
    await look(feeds)
    assert len(site.log) == 1
    now[0] = 301.0
    assert len((await look(feeds)).articles) == 1
    assert site.last.headers[sent[0]] == sent[1]
    site.feeds["/rss"] = Given(rss(), etag='"v2"')
    now[0] = 1_000.0
    assert (await look(feeds)).articles == ()


async def test_a_feed_that_the_operator_sets_may_be_on_this_machine_and_redirect_within_itself(site, read):
    site.feeds |= {"/old": Given(status=301, headers={"Location": "/new"}), "/new": Given(rss(CUT))}
    assert len((await look(read("/old"))).articles) == 1


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/",
        "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "file:///etc/passwd",
        "http://0x7f000001:{port}/", "gopher://a.example/", "http://", "http://user:pw@10.0.0.1/",
    ],
)  # fmt: skip
async def test_a_redirect_to_what_is_not_public_is_not_followed(site, read, location):
    location = location.format(port=site.port)
    site.feeds["/x"] = Given(status=302, headers={"Location": location})
    trouble = await failure(read("/x"))
    assert trouble.reason in ("refused", "malformed")
    assert site.paths == ["/x"]


async def test_who_was_led_away_does_not_come_back_as_the_operator(site, read):
    with FakeFeeds() as other:
        back = f"{site.base_url}/inside"
        other.feeds["/hop"] = Given(status=302, headers={"Location": back})
        hop = {"Location": f"{other.base_url}/hop"}
        site.feeds |= {"/x": Given(status=302, headers=hop), "/inside": Given(rss(CUT))}
        guard = AddressValidator(allowed=frozenset({("127.0.0.1", other.port)}))
        trouble = await failure(read("/x", client={"address_validator": guard}))
        assert trouble.reason == "refused"
        assert (site.paths, other.paths) == (["/x"], ["/hop"])


async def test_a_redirect_that_does_not_end_is_told_as_one(site, read):
    site.feeds["/x"] = Given(status=302, headers={"Location": "/x"})
    trouble = await failure(read("/x"))
    assert trouble.reason == "too many redirects"
    assert "more than 5 redirects" in trouble.message


async def test_a_password_goes_to_its_own_host_and_into_no_message(site, read):
    with FakeFeeds() as other:
        other.feeds["/rss"] = Given(rss(CUT))
        site.feeds["/x"] = Given(status=302, headers={"Location": f"{other.base_url}/rss"})
        url = site.base_url.replace("//", "//ann:sentinel@") + "/x"
        guard = AddressValidator(allowed=frozenset({("127.0.0.1", other.port)}))
        news = await look(read(url, client={"address_validator": guard}))
        assert len(news.articles) == 1
        assert site.last.headers["authorization"].startswith("Basic ")
        assert "authorization" not in other.last.headers
    site.feeds["/x"] = Given(status=500)
    assert "sentinel" not in (await failure(read(url))).message


async def test_without_feeds_nothing_is_asked():
    feeds = FeedSearch([])
    assert (feeds.readiness().state, feeds.readiness().detail) == ("missing", "NEWS_FEEDS")
    assert (await failure(feeds)).reason == "no key"


# The six tools


def spread():
    """Items of the last days, one without a date, one about something else."""
    hours = [1, 12, 23, 25, 47, 60, 100, 160, 200, 400]
    dated = [item(f"央行降准 {h} 小时前", f"https://news.example/{h}", date=ago(hours=h)) for h in hours]
    unknown = item("央行降准 不知何时", "https://news.example/unknown")
    return [unknown, *dated, item("球队获胜", "https://news.example/ball", date=ago(hours=1))]


def names(news):
    return [article.url.rpartition("/")[2] for article in news.articles]


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ("basic_search_news", ["1", "12", "23", "25", "47", "60", "100"]),
        ("deep_search_news", ["1", "12", "23", "25", "47", "60", "100", "160", "200", "400", "unknown"]),
        ("search_news_last_24_hours", ["1", "12", "23", "unknown"]),
        ("search_news_last_week", ["1", "12", "23", "25", "47", "60", "100", "160", "unknown"]),
        ("search_images_for_news", []),
        ("search_news_by_date", ["47", "60", "unknown"]),
    ],
)  # fmt: skip
async def test_each_tool_is_a_filter_of_the_items(site, read, tool, found):
    site.feeds["/rss"] = Given(rss(*spread()))
    news = await look(read("/rss"), "央行降准", REQUESTS[tool])
    assert names(news) == found
    assert "自选的 1 个订阅源" in join_notes(news.notes, "zh")


async def test_pictures_come_from_media_and_enclosures_with_their_page(site, read):
    media = '<media:content url="/1.jpg" medium="image"/>'
    enclosure = '<enclosure url="https://news.example/2.png" type="image/png" length="1"/>'
    sound = '<enclosure url="https://news.example/3.mp3" type="audio/mpeg" length="1"/>'
    evil = '<media:content url="javascript:alert(1)" medium="image"/>'
    site.feeds["/rss"] = Given(
        rss(
            item("降准 一", "https://news.example/a", date=ago(hours=1), more=media),
            item("降准 二", "https://news.example/b", date=ago(hours=2), more=enclosure),
            item("降准 三", "https://news.example/c", more=sound),
            item("降准 四", "https://news.example/d", more=evil),
        )
    )
    news = await look(read("/rss"), request=REQUESTS["search_images_for_news"])
    assert [(p.url, p.page) for p in news.pictures] == [
        (f"{site.base_url}/1.jpg", "https://news.example/a"),
        ("https://news.example/2.png", "https://news.example/b"),
    ]
    assert [p.caption for p in news.pictures] == ["降准 一", "降准 二"]
    assert names(news) == ["a", "b"]


async def test_the_article_that_shares_most_with_the_query_comes_first(site, read):
    site.feeds["/rss"] = Given(
        rss(
            item("股市上涨", "https://news.example/no", date=ago(hours=1), text="与此无关"),
            item("央行开会", "https://news.example/some", date=ago(hours=1)),
            item("央行宣布降准0.5个百分点", "https://news.example/most", date=ago(days=9)),
        )
    )
    assert names(await look(read("/rss"), "央行 降准")) == ["most", "some"]


async def test_an_english_query_finds_other_forms_of_its_words(site, read):
    site.feeds["/rss"] = Given(rss(item("Banks cutting ratios"), item("Football", "https://x.example/")))
    assert len((await look(read("/rss"), "bank ratio cuts")).articles) == 1


@pytest.mark.parametrize("query", ["英国央行 降息", "Bank of England rate cut"])
async def test_a_piece_in_the_other_language_is_found_by_names_and_news_words(site, read, query):
    site.feeds["/rss"] = Given(
        rss(
            item("英国央行宣布降息", "https://x.example/zh"),
            item("Bank of England cuts interest rates", "https://x.example/en"),
            item("日本央行维持利率", "https://x.example/japan"),
            item("England name squad for winter tour", "https://x.example/squad"),
        )
    )
    found = names(await look(read("/rss"), query))
    assert {"zh", "en"} <= set(found)
    assert "squad" not in found


async def test_a_query_that_tells_nothing_finds_the_latest(site, read):
    site.feeds["/rss"] = Given(rss(*spread()))
    assert names(await look(read("/rss"), "有什么"))[:2] in (["1", "ball"], ["ball", "1"])


async def test_nothing_that_speaks_to_the_query_is_nothing_found_and_no_failure(site, read):
    site.feeds["/rss"] = Given(rss(*spread()))
    news = await look(read("/rss"), "火星探测器")
    assert (news.articles, news.failures) == ((), ())
