"""One source has one address, whoever sent the reader there; two articles never have one."""

from base64 import urlsafe_b64encode
from itertools import combinations
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st

from research.urls import canonical_url, url_identity, wraps
from tests.tables import each_row

A = "https://example.org/news/a-tower-opens-again"
REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQ=="


def bing(url: str) -> str:
    return "a1" + urlsafe_b64encode(url.encode()).decode().rstrip("=")


WRAPPERS = [
    "https://www.google.com/url?q={}&sa=U&ved=2ah",
    "https://www.google.co.uk/url?sa=t&url={}",
    "https://google.de/url?url={}",
    "https://news.google.com/news/url?sa=t&url={}",
    "https://l.facebook.com/l.php?u={}&h=AT0",
    "https://lm.facebook.com/l.php?u={}",
    "https://l.instagram.com/?u={}&e=AT0",
    "https://t.umblr.com/redirect?z={}&t=ZGE",
    "https://out.reddit.com/t3_x?url={}&token=AQ",
    "https://www.youtube.com/redirect?event=video&q={}",
    "https://steamcommunity.com/linkfilter/?url={}",
    "https://steamcommunity.com/linkfilter/?u={}",
    "https://vk.com/away.php?to={}",
    "https://duckduckgo.com/l/?uddg={}&rut=1",
    "https://link.zhihu.com/?target={}",
    "https://link.juejin.cn/?target={}",
    "https://link.csdn.net/?target={}",
    "https://www.jianshu.com/go-wild?ac=2&url={}",
    "https://gitee.com/link?target={}",
    "https://www.oschina.net/action/GoToLink?url={}",
    "https://www.douban.com/link2/?url={}",
    "https://weibo.cn/sinaurl?u={}",
    "https://c.pc.qq.com/middlem.html?pfurl={}&pfuin=1",
    "https://weixin110.qq.com/cgi-bin/mmspamsupport-bin/newredirectconfirmcgi?main_type=2&url={}",
    "https://eur01.safelinks.protection.outlook.com/?url={}&data=05",
]
TARGETS = [
    A,
    "http://www.example.org/?id=1&b=2",
    "https://例子.中国/路径?q=故宫",
    "https://m.example.com/a/",
    "https://example.org/a%20b",
    "https://example.org/#!/a",
    "https://web.archive.org/web/20200101000000/https://example.org/a",
    REDIRECT,
]


@each_row("target", TARGETS)
@each_row("wrapper", WRAPPERS)
def test_what_only_leads_to_an_address_is_that_address(wrapper: str, target: str) -> None:
    wrapped = wrapper.format(quote(target, safe=""))
    assert canonical_url(wrapped) == canonical_url(target)
    assert url_identity(wrapped) == url_identity(target)
    assert wraps(wrapped)
    assert not wraps(target)


@each_row("target", TARGETS)
def test_an_address_in_base64_is_read(target: str) -> None:
    assert canonical_url(f"https://www.bing.com/ck/a?!&&p=1&u={bing(target)}&ntb=1") == canonical_url(target)  # fmt: skip


def test_wrappers_within_wrappers_are_opened_up_to_a_bound() -> None:
    address = A
    for _ in range(5):
        address = f"https://link.zhihu.com/?target={quote(address, safe='')}"
    assert canonical_url(address) == A
    deeper = f"https://vk.com/away.php?to={quote(address, safe='')}"
    assert canonical_url(deeper) == deeper
    assert url_identity(deeper).startswith("vk.com/away.php")


@each_row(
    "target",
    [
        "javascript:alert(1)",
        "data:text/html,<script>",
        "//example.org/a",
        "example.org/a",
        "https://user:word@example.org/",
        "https://example.org:99999/",
        "ftp://example.org/a",
        "https://exa\u202emple.org/",
        "https://example.org/\n",
        "https:///a",
        "",
    ],
)
def test_a_wrapper_of_anything_but_a_web_address_stays_what_it_is(target: str) -> None:
    for wrapper in WRAPPERS[:6]:
        wrapped = wrapper.format(quote(target, safe=""))
        assert canonical_url(wrapped).split("/")[2] == wrapped.split("/")[2]
    assert canonical_url(f"https://bing.com/ck/a?u={bing(target)}").startswith("https://bing.com/")


@each_row(
    "url",
    [
        REDIRECT,
        "https://www.google.com/search?q=https://example.org/a",
        "https://www.google.com/url?q=https://a.example/&url=https://b.example/",
        "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2F%B9%CA",
        "https://google.com.evil.example/url?q=https://example.org/a",
        "https://evil-google.com/url?q=https://example.org/a",
        "https://facebook.com/l.php?u=https://example.org/a",
        "https://www.zhihu.com/?target=https://example.org/a",
        "https://bing.com/ck/a?u=a1***",
        "https://bing.com/ck/a?u=b1aHR0cHM6Ly9leGFtcGxlLm9yZy8",
        "https://bing.com/ck/a?u=https://example.org/a",
        "https://web.archive.org/web/20200101000000/https://example.org/a",
        "https://cdn.ampproject.org/i/s/example.org/picture.png",
        "https://cdn.ampproject.org/c/s/nothing",
        "https://cdn.ampproject.org/c/s/user@example.org/a",
        "https://evilcdn.ampproject.org.example/c/s/example.org/a",
        "https://www.google.com/amp/",
        "https://t.co/abc",
    ],
)
def test_what_tells_no_target_or_is_a_page_of_its_own_stays(url: str) -> None:
    assert canonical_url(url) == url


SAME = [
    [
        A,
        "http://www.example.org/news/a-tower-opens-again/",
        f"{A}?utm_source=x&hsa_acc=1&mkt_tok=2&_hsenc=3&_hsmi=4&ICID=5&ncid=6&cmpid=7&ref_src=twsrc",
        f"{A}?wfr=spider&for=pc&hmsr=x&vd_source=y&share_source=copy",
        f"{A}#:~:text=tower",
        f"{A}/amp",
        f"{A}/amp/",
        f"{A}?amp",
        f"{A}?amp=1",
        f"{A}?outputType=amp",
        "https://amp.example.org/news/a-tower-opens-again",
        "https://m.example.org/news/a-tower-opens-again",
        "https://wap.example.org/news/a-tower-opens-again",
        "https://3g.example.org/news/a-tower-opens-again",
        "https://www-example-org.cdn.ampproject.org/c/s/www.example.org/news/a-tower-opens-again",
        "https://cdn.ampproject.org/v/s/example.org/news/a-tower-opens-again/amp/?amp_js_v=0.1&usqp=mq",
        "https://cdn.ampproject.org/c/example.org/news/a-tower-opens-again",
        "https://www.google.com/amp/s/example.org/news/a-tower-opens-again/amp",
        "https://www.google.cn/amp/s/amp.example.org/news/a-tower-opens-again",
    ],
    ["https://en.wikipedia.org/wiki/Tower", "https://en.m.wikipedia.org/wiki/Tower"],
    ["https://wikidata.org/wiki/Q1", "https://m.wikidata.org/wiki/Q1"],
    ["https://www.bbc.co.uk/news/1", "https://m.bbc.co.uk/news/1"],
    ["https://www.zol.com.cn/1", "https://m.zol.com.cn/1"],
    ["https://twitter.com/a/status/1", "https://mobile.twitter.com/a/status/1?ref_src=twsrc%5Etfw"],
    ["https://www.cnbc.com/2025/03/01/x.html", "https://www.cnbc.com/amp/2025/03/01/x.html"],
    ["https://example.org/x.html", "https://example.org/x.amp.html"],
    ["https://例子.中国/a", "https://xn--fsqu00a.xn--fiqs8s/a", "https://XN--FSQU00A.xn--fiqs8s/a"],
    ["https://café.example/a", "https://cafe\u0301.example/a", "https://xn--caf-dma.example/a"],
    ["https://example.org/%7ea?b=%c3%a9", "https://example.org/~a?b=é", "https://example.org/~a?b=%C3%A9"],
    [
        "https://mp.weixin.qq.com/s?__biz=MzA&mid=26&idx=1&sn=f0",
        "http://mp.weixin.qq.com/s?__biz=MzA&mid=26&idx=1&sn=f0&chksm=8b&scene=21#wechat_redirect",
    ],
]  # fmt: skip


@each_row("group", SAME)
def test_the_addresses_of_one_page_have_one_identity(group: list[str]) -> None:
    assert {url_identity(url) for url in group} == {url_identity(group[0])}


NEAR = [
    "https://example.org/",
    "https://example.org/amp",
    "https://example.org/ampere",
    "https://example.org/amp/a",
    "https://example.org/a?id=1",
    "https://example.org/a?id=2",
    "https://example.org/a?amp=2",
    "https://example.org/a?from=beijing",
    "https://example.org/a?for=sale",
    "https://example.org/a?ref=1",
    "https://github.com/somebody",
    "https://github.com/somebody/amp",
    "https://example.org/a-tower-opens-again",
    "https://example.org/a-tower-opens-again/ampere",
    "https://example.org/a-tower-opens-again/amp/2",
    "https://example.org/a-tower-opens-again.amplified.html",
    "https://com/",
    "https://m.com/",
    "https://amp.com/",
    "https://de/",
    "https://mobile.de/",
    "https://dev/",
    "https://amp.dev/",
    "https://amp.dev/about",
    "https://amp.example.org/",
    "https://zol.com.cn/123/4567.html",
    "https://mobile.zol.com.cn/123/4567.html",
    "https://github.io/",
    "https://m.github.io/",
    "https://m.com.cn/",
    "https://com.cn/",
    "https://m.bj.cn/",
    "https://bj.cn/",
    "https://m.co.uk/",
    "https://co.uk/",
    "https://1.2.3.4/",
    "https://m.1.2.3.4/",
    "https://mx.example.org/",
    "https://m.example.org:8443/",
    "https://example.org:8443/",
    "http://example.org:443/",
    "https://en.wikipedia.org/wiki/M",
    "https://zh.wikipedia.org/wiki/M",
    "https://de.m.wikipedia.org/wiki/M",
    "https://weibo.com/1/M",
    "https://m.weibo.cn/status/1",
    "https://faß.de/",
    "https://fass.de/",
    "https://xn--.example/",
    "https://xn--a.example/",
    "https://web.archive.org/web/2020/https://example.org/a",
    "https://web.archive.org/web/2021/https://example.org/a",
    "https://mp.weixin.qq.com/s?__biz=MzA&mid=26&idx=1&sn=f0",
    "https://mp.weixin.qq.com/s?__biz=MzA&mid=26&idx=2&sn=f0",
    "https://mp.weixin.qq.com/s/abc",
    "https://mp.weixin.qq.com/s?src=11&timestamp=1",
    "https://mp.weixin.qq.com/s?src=11&timestamp=2",
    REDIRECT,
    f"{REDIRECT}=",
]


def test_two_pages_never_have_one_identity() -> None:
    shared = [
        (one, two) for one, two in combinations(NEAR, 2) if url_identity(one) == url_identity(two)
    ]
    assert shared == []
    assert all(url_identity(url) for url in NEAR)


def test_the_host_for_phones_and_the_host_of_the_site_are_linked_as_they_were_written() -> None:
    for url in ("https://m.example.org/a", "https://amp.example.org/a-b-c-d", f"{A}/amp"):
        assert canonical_url(url) == url


HOSTS = st.sampled_from(
    [
        "www.google.com", "news.google.com", "cdn.ampproject.org", "a-b.cdn.ampproject.org", "bing.com",
        "link.zhihu.com", "vk.com", "l.facebook.com", "m.example.org", "amp.example.org", "en.m.wikipedia.org",
        "m.m.m.example.org", "www.m.example.org", "m.www.example.org", "xn--fsqu00a.xn--fiqs8s",
        "mp.weixin.qq.com", "steamcommunity.com", "x.safelinks.protection.outlook.com",
    ]
)  # fmt: skip
PATHS = st.lists(
    st.sampled_from(
        [
            "/url", "/amp", "/s", "/c", "/v", "/ck/a", "/away.php", "/l.php", "/example.org", "/a-b-c-d", "/12345",
            "/2025", "/x.amp.html", "/", "/linkfilter", "/%61mp", "/例", "/http://m.example.org",
        ]
    ),
    max_size=5,
).map("".join)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from([A, "1", "", "javascript:x", "https://vk.com/away.php?to=http%253A//a.b", bing(A)]),
    st.text(max_size=8),
)  # fmt: skip
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["q", "url", "u", "to", "target", "amp", "id", "utm_source", "__biz", "mid", "idx", "sn"]),
        st.one_of(VALUES, VALUES.map(lambda value: quote(value, safe=""))),
    ).map("=".join),
    max_size=4,
).map("&".join)  # fmt: skip
ADDRESSES = st.builds("https://{}{}?{}".format, HOSTS, PATHS, QUERIES)


@given(ADDRESSES)
@example("https://cdn.ampproject.org/c/s/vk.com/away.php?to=https%3A%2F%2Fexample.org%2Fa%2520b")
@example("https://www.google.com/amp/s/www.google.com/url?q=https://example.org/%25252541")
def test_what_is_shown_of_an_address_is_shown_of_itself(url: str) -> None:
    shown = canonical_url(url)
    assert canonical_url(shown) == shown
    assert url_identity(shown) == url_identity(url)
    assert not shown or shown.startswith(("http://", "https://"))


@given(ADDRESSES, st.sampled_from(WRAPPERS))
def test_the_identity_of_a_wrapped_address_is_that_of_its_target(url: str, wrapper: str) -> None:
    target = canonical_url(url)
    wrapped = wrapper.format(quote(target, safe=""))
    if target and not wraps(target):
        assert url_identity(wrapped) == url_identity(target)


@each_row("char", ["a", "-", "-a", "%25", "/", ".", "m.", "1", "=", "&", "a-"])
def test_a_long_address_holds_nobody_up(char: str) -> None:
    for url in (f"https://example.org/{char * 50_000}", f"https://vk.com/away.php?to={char * 50_000}"):  # fmt: skip
        assert len(url_identity(url)) < 200_000
