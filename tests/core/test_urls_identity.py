"""One source has one address, whoever sent the reader there; two articles never have one."""

from base64 import urlsafe_b64encode
from itertools import combinations
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st

from research.core.urls import canonical_url, is_wrapper_url, url_identity
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
    assert is_wrapper_url(wrapped)
    assert not is_wrapper_url(target)


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
    shared = [(one, two) for one, two in combinations(NEAR, 2) if url_identity(one) == url_identity(two)]
    assert shared == []
    assert all(url_identity(url) for url in NEAR)


def test_the_host_for_phones_and_the_host_of_the_site_are_linked_as_they_were_written() -> None:
    for url in ("https://m.example.org/a", "https://amp.example.org/a-b-c-d", f"{A}/amp"):
        assert canonical_url(url) == url


ONE_PAGE = [
    [
        "https://example.org/a",
        "https://example.org/a#top",
        "https://example.org/a#第二节",
        "https://example.org/a#L10-L20",
        "https://example.org/a#:~:text=old%20tower,1432",
        "https://example.org/a#top:~:text=a/b=c",
        "https://example.org/a#",
        "https://example.org/a#/",
        "https://example.org/a#!/",
        "https://example.org/a#utm_source=rss&utm_medium=feed",
        "https://example.org/a#wechat_redirect",
        "https://example.org/a?fr=aladdin",
        "https://example.org/a?FR=rss_home",
        "https://example.org/a?wprov=sfla1&pgv_ref=aio",
    ],
    [
        "https://example.org/#/a",
        "https://example.org#/a/",
        "https://example.org/#/a?utm_source=x&fr=search",
        "https://example.org/#/a:~:text=tower",
        "https://example.org/#/a#section",
    ],
    ["https://example.org/#/a?x=1&y=%28", "https://example.org/#/a?y=(&x=1"],
    ["https://example.org/r.pdf", "https://example.org/r.pdf#page=3", "https://example.org/r.pdf#zoom=50&page=4"],
    ["https://example.org/pdf?id=7", "https://example.org/pdf?id=7#page=3"],
    ["https://example.org/talk.mp4", "https://example.org/talk.mp4#t=90"],
    ["https://en.wikipedia.org/wiki/Matrix_(mathematics)", "https://en.wikipedia.org/wiki/Matrix_%28mathematics%29"],
    ["https://example.org/O'Neil,_(x):y@z!", "https://example.org/O%27Neil%2c_%28x%29%3Ay%40z%21"],
    ["https://example.org/?u=https%3A%2F%2Fa.org%2F&ids%5B%5D=1", "https://example.org/?ids[]=1&u=https://a.org/"],
    ["https://example.org/?q=west%20lake", "https://example.org/?q=west+lake"],
    ["https://en.wikipedia.org/wiki/C%2B%2B", "https://en.wikipedia.org/wiki/C++"],
    ["https://en.wikipedia.org/wiki/Great%20Wall", "https://en.wikipedia.org/wiki/Great_Wall"],
    [
        "https://zh.wikipedia.org/wiki/长城",
        "https://zh.wikipedia.org/zh/长城",
        "https://zh.wikipedia.org/zh-hans/长城",
        "https://zh.wikipedia.org/zh-hant/%E9%95%BF%E5%9F%8E",
        "https://zh.wikipedia.org/zh-cn/长城#历史/近代",
        "https://zh.wikipedia.org/zh-tw/长城",
        "https://zh.wikipedia.org/zh-sg/长城",
        "https://zh.m.wikipedia.org/zh-hk/长城",
        "https://zh.wikipedia.org/wiki/长城?variant=zh-tw",
        "https://zh.wikipedia.org/w/index.php?title=长城&variant=zh-mo",
    ],
    ["https://sr.wikipedia.org/sr-ec/Кула", "https://sr.wikipedia.org/sr-el/Кула", "https://sr.wikipedia.org/wiki/Кула"],
    [
        "https://doi.org/10.1038/s41586-023-06735-9",
        "https://doi.org/10.1038/S41586-023-06735-9",
        "http://dx.doi.org/10.1038/s41586-023-06735-9",
        "https://www.doi.org/10.1038%2Fs41586-023-06735-9",
        "https://doi.org/doi:10.1038/S41586-023-06735-9?utm_source=x",
    ],
    [
        "https://doi.org/10.1002/(SICI)1097-4571(199806)49:8%3C693::AID-ASI4%3E3.0.CO;2-O",
        "https://dx.doi.org/10.1002/%28sici%291097-4571%28199806%2949%3A8%3c693%3A%3Aaid-asi4%3e3.0.co%3B2-o",
    ],
    [
        "https://arxiv.org/abs/1706.03762",
        "https://arxiv.org/pdf/1706.03762",
        "http://www.arxiv.org/pdf/1706.03762.pdf#page=2",
        "https://export.arxiv.org/abs/1706.03762",
        "https://arxiv.org/html/1706.03762#S3",
    ],
    ["https://arxiv.org/abs/1706.03762v5", "https://arxiv.org/pdf/1706.03762v5", "https://arxiv.org/pdf/1706.03762v5.pdf"],
    ["https://en.wikipedia.org/wiki/AC%2FDC", "https://en.wikipedia.org/wiki/AC/DC"],
    ["https://mp.weixin.qq.com/s/AbCd-1", "https://mp.weixin.qq.com/s/AbCd-1?scene=1&poc_token=HK9"],
    ["https://www.ncbi.nlm.nih.gov/pubmed/31452104", "https://pubmed.ncbi.nlm.nih.gov/31452104/"],
    ["https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7029158/", "https://pmc.ncbi.nlm.nih.gov/articles/PMC7029158"],
    ["https://ex.org/a/b", "https://ex.org/./a/x/../b", "https://ex.org/../a/%2E/b", "https://ex.org/a/b/."],
    ["https://ex.org/a/", "https://ex.org/a/b/..", "https://ex.org/x/%2e%2e/a"],
    ["https://arxiv.org/abs/math.GT/0309136v1", "https://arxiv.org/pdf/math.GT/0309136v1.pdf"],
    [
        "https://www.youtube.com/watch?v=abc123def45",
        "https://youtu.be/abc123def45?si=x",
        "https://m.youtube.com/watch?v=abc123def45&feature=share&t=30s",
    ],
]  # fmt: skip


@each_row("group", ONE_PAGE)
def test_one_page_is_one_source_under_each_of_its_addresses(group: list[str]) -> None:
    assert {url_identity(url) for url in group} == {url_identity(group[0])}


DIFFERENT_PAGES = [
    "https://example.org/",
    "https://example.org/#/news/1",
    "https://example.org/#/news/2",
    "https://example.org/#/news?id=1",
    "https://example.org/#/news?id=2",
    "https://example.org/#!/news/1",
    "https://example.org/#news/1",
    "https://example.org/#news/2",
    "https://example.org/#id=1",
    "https://example.org/#id=2",
    "https://example.org/#?id=1",
    "https://example.org/app#/news/1",
    "https://example.org/list",
    "https://example.org/list?page=2",
    "https://example.org/list#page=2",
    "https://example.org/list#page=3",
    "https://example.org/rate?fr=USD&to=CNY",
    "https://example.org/rate?fr=EUR&to=CNY",
    "https://example.org/rate?fr=1",
    "https://example.org/rate?fr=2",
    "https://example.org/rate?fr",
    "https://example.org/rate?lang=fr",
    "https://example.org/zh-hans/a",
    "https://example.org/zh-hant/a",
    "https://example.org/wiki/a",
    "https://example.org/wiki/a?variant=zh-tw",
    "https://example.org/a%2Fb",
    "https://example.org/a/b",
    "https://example.org/a%3Fb",
    "https://example.org/a?b",
    "https://example.org/a%2Bb",
    "https://example.org/a+b",
    "https://example.org/a%25",
    "https://example.org/a%2525",
    "https://example.org/?q=a%26b",
    "https://example.org/?q=a&b",
    "https://example.org/?q=a%2Bb",
    "https://example.org/?q=a+b",
    "https://example.org/10.1000/ABC",
    "https://example.org/10.1000/abc",
    "https://doi.org/10.1000/abc",
    "https://doi.org/10.1000/abd",
    "https://doi.org/10.1000/abcÄ",
    "https://doi.org/10.1000/abcä",
    "https://arxiv.org/abs/1706.03762",
    "https://arxiv.org/abs/1706.03762v1",
    "https://arxiv.org/pdf/1706.03762v2",
    "https://arxiv.org/pdf/1706.03763",
    "https://ar5iv.org/abs/1706.03762",
    "https://zh.wikipedia.org/wiki/长城",
    "https://zh.wikipedia.org/wiki/长城?oldid=5",
    "https://zh.wikipedia.org/w/index.php?title=长城&oldid=6",
    "https://zh.wikipedia.org/w/index.php?title=长城&action=history",
    "https://zh.wikipedia.org/wiki/Talk:长城",
    "https://zh.wikipedia.org/zh-hans/Talk:故宫",
    "https://zh.wiktionary.org/zh-hans/长城",
    "https://zh-yue.wikipedia.org/wiki/长城",
    "https://youtu.be/abc123def45",
    "https://youtu.be/ABC123def45",
    "https://www.youtube.com/playlist?list=abc123def45",
]


def test_pages_that_differ_in_little_are_sources_of_their_own() -> None:
    shared = [pair for pair in combinations(DIFFERENT_PAGES, 2) if len(set(map(url_identity, pair))) == 1]
    assert shared == []


@each_row("url", [*DIFFERENT_PAGES, *(url for group in ONE_PAGE for url in group)])
def test_an_address_means_the_same_as_it_is_shown(url: str) -> None:
    shown = canonical_url(url)
    assert (canonical_url(shown), url_identity(shown)) == (shown, url_identity(url))


@each_row(
    ("url", "shown"),
    [
        ("https://example.org/#/a?utm_source=x&id=3#part", "https://example.org/#/a?id=3"),
        ("https://example.org/app#/a/:~:text=x", "https://example.org/app#/a/"),
        ("https://example.org/app#part", "https://example.org/app"),
        ("https://zh.wikipedia.org/zh-hant/长城?fr=x", "https://zh.wikipedia.org/zh-hant/长城"),
    ],
)
def test_the_link_to_a_page_that_a_script_draws_leads_to_it(url: str, shown: str) -> None:
    assert canonical_url(url) == shown


HOSTS = st.sampled_from(
    [
        "www.google.com", "news.google.com", "cdn.ampproject.org", "a-b.cdn.ampproject.org", "bing.com",
        "link.zhihu.com", "vk.com", "l.facebook.com", "m.example.org", "amp.example.org", "en.m.wikipedia.org",
        "m.m.m.example.org", "www.m.example.org", "m.www.example.org", "xn--fsqu00a.xn--fiqs8s",
        "mp.weixin.qq.com", "steamcommunity.com", "zh.wikipedia.org", "dx.doi.org", "arxiv.org", "youtu.be", "x.safelinks.protection.outlook.com",
    ]
)  # fmt: skip
PATHS = st.lists(
    st.sampled_from(
        [
            "/url", "/amp", "/s", "/c", "/v", "/ck/a", "/away.php", "/l.php", "/example.org", "/a-b-c-d", "/12345",
            "/2025", "/x.amp.html", "/", "/linkfilter", "/%61mp", "/zh-hans", "/wiki", "/10.1000", "/%28A%2F",
            "/abs", "/pdf", "/1706.03762v2", "/watch", "/例", "/http://m.example.org",
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
        st.sampled_from(["q", "url", "u", "to", "target", "amp", "id", "fr", "utm_source", "__biz", "mid", "idx", "sn", "variant"]),
        st.one_of(VALUES, VALUES.map(lambda value: quote(value, safe=""))),
    ).map("=".join),
    max_size=4,
).map("&".join)  # fmt: skip
FRAGMENTS = st.lists(
    st.sampled_from(["#", "/", "!", "?", "a", "=1", "id=2", "utm_source=x", "&", ":~:text=", "%2F", "fr=b", "例"]),
    max_size=5,
).map("".join)  # fmt: skip
ADDRESSES = st.builds("https://{}{}?{}#{}".format, HOSTS, PATHS, QUERIES, FRAGMENTS)


@given(ADDRESSES)
@example("https://cdn.ampproject.org/c/s/vk.com/away.php?to=https%3A%2F%2Fexample.org%2Fa%2520b")
@example("https://www.google.com/amp/s/www.google.com/url?q=https://example.org/%25252541")
@example("https://ex.org/?#utm_source=x/?")
def test_what_is_shown_of_an_address_is_shown_of_itself(url: str) -> None:
    shown = canonical_url(url)
    assert canonical_url(shown) == shown
    assert url_identity(shown) == url_identity(url)
    assert not shown or shown.startswith(("http://", "https://"))


@given(ADDRESSES, st.sampled_from(WRAPPERS))
def test_the_identity_of_a_wrapped_address_is_that_of_its_target(url: str, wrapper: str) -> None:
    target = canonical_url(url)
    wrapped = wrapper.format(quote(target, safe=""))
    if target and not is_wrapper_url(target):
        assert url_identity(wrapped) == url_identity(target)


@each_row("char", ["a", "-", "-a", "%25", "/", ".", "m.", "1", "=", "&", "a-"])
def test_a_long_address_holds_nobody_up(char: str) -> None:
    for url in (f"https://example.org/{char * 50_000}", f"https://vk.com/away.php?to={char * 50_000}"):  # fmt: skip
        assert len(url_identity(url)) < 200_000
