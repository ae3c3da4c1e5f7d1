"""How web addresses are shown, and when two are one."""

from hypothesis import given
from hypothesis import strategies as st

from research.core.urls import (
    canonical_url,
    find_urls,
    replace_urls,
    strip_www,
    url_identity,
)
from tests.tables import each_row


@each_row(
    ("url", "shown"),
    [
        ("HTTPS://Example.ORG/Path", "https://example.org/Path"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org/a//", "https://example.org/a/"),
        ("https://example.org/a", "https://example.org/a"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://[2001:DB8::1]:8080/", "https://[2001:db8::1]:8080/"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://example.org/#!/a", "https://example.org/#!/a"),
        ("https://example.org/?b=2&utm_source=x&a=1", "https://example.org/?b=2&a=1"),
        ("https://example.org/?UTM_Medium=x&gclid=1&spm=a.b", "https://example.org/"),
        ("https://example.org/?from=timeline&id=7", "https://example.org/?id=7"),
        ("https://example.org/?from=beijing", "https://example.org/?from=beijing"),
        ("https://例子.中国/路径", "https://例子.中国/路径"),
        ('https://example.org/"<b>`|\\', "https://example.org/%22%3Cb%3E%60%7C%5C"),
        ("https://example.org/a\u202eb", "https://example.org/a%E2%80%AEb"),
    ],
)
def test_an_address_has_one_way_to_be_shown(url: str, shown: str) -> None:
    assert canonical_url(url) == shown


@each_row(
    "url",
    [
        "",
        "example.org/a",
        "//example.org/a",
        "https:///a",
        "https:example.org",
        "ftp://example.org/a",
        "javascript:alert(1)",
        "data:text/html,<script>",
        "https://user:password@example.org/",
        "https://example.org@evil.example/",
        "https://example.org\\@evil.example/",
        "https://example.org\\.evil.example/",
        "https://exam\u202eple.org/",
        "https://example..org/",
        "https://example.org:99999/",
        "https://example.org:port/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://a℀b.example/",
        "https://exam ple.org/",
        "https://example.org /a",
        "https://example.org:80 /a",
        "https: //example.org/",
        "https://example.org/a\nb",
        "https://example.org/\n",
        "https://example.org/a\u2028b",
        "java\tscript:alert(1)",
        "https://example.org/\x00",
        "https://example.org/\ud800",
    ],
)
def test_anything_but_a_plain_web_address_is_unusable(url: str) -> None:
    assert canonical_url(url) == ""
    assert url_identity(url) == ""


@each_row(
    ("written", "shown"),
    [
        (
            "https://www.google.com/search?q=weather+in+San Francisco",
            "https://www.google.com/search?q=weather+in+San%20Francisco",
        ),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/a\u3000b", "https://example.org/a%E3%80%80b"),
        (
            "https://example.org/故宫\u00a0开放?q=时间 门票",
            "https://example.org/故宫%C2%A0开放?q=时间%20门票",
        ),
        ("https://example.org/?utm_source=a b&q=c d", "https://example.org/?q=c%20d"),
        ("https://example.org/#!a b", "https://example.org/#!a%20b"),
        (" \u3000https://example.org/a\u00a0", "https://example.org/a"),
        ("https://www.google.com/url?q=https://example.org/a b", "https://example.org/a%20b"),
        ("https://www.google.com/url?q=https://example.org/a%20b", "https://example.org/a%20b"),
    ],
)
def test_a_blank_is_encoded_and_loses_no_source(written: str, shown: str) -> None:
    assert canonical_url(written) == shown
    assert url_identity(written) == url_identity(shown) != ""


def test_the_ways_to_write_one_address_have_one_identity() -> None:
    written = [
        "https://example.org/wiki/故宫?a=1&b=2",
        "http://EXAMPLE.org/wiki/故宫/?b=2&a=1",
        "https://example.org:443/wiki/%e6%95%85%E5%AE%AB?a=1&b=2#history",
        "https://example.org/wiki/%E6%95%85宫?utm_campaign=x&a=%31&b=2",
        "http://www.example.org/wiki/故宫?a=1&b=2",
    ]
    assert len({url_identity(url) for url in written}) == 1


def test_different_pages_keep_different_identities() -> None:
    pages = [
        "https://example.org/",
        "https://example.org/a",
        "https://example.org/A",
        "https://example.org/a?id=1",
        "https://example.org/a?id=2",
        "https://example.org/a%2Fb",
        "https://example.org/a/b",
        "https://example.org:8080/a",
        "https://www2.example.org/a",
        "https://news.example.org/a",
        "https://example.org/#!/a",
        "https://example.org/#!/b",
    ]
    assert len({url_identity(page) for page in pages}) == len(pages)


@given(
    st.one_of(
        st.text(),
        st.text("aZ9:/?#&=%.;!@[]()<>é宫\u202e \\").map(lambda rest: "https://example.org/" + rest),
        st.text("aZ9:/?#&=%.;!@[]é宫\\-").map(lambda rest: "Http://" + rest),
    )
)
def test_a_canonical_address_is_its_own_canonical_address(url: str) -> None:
    shown = canonical_url(url)
    assert canonical_url(shown) == shown
    assert url_identity(shown) == url_identity(url)
    assert not shown or shown.startswith(("http://", "https://"))
    assert not set(shown) & set(' <>"\\`')


@each_row(
    ("url", "identity"),
    [
        ("http://www.example.com/a/", "example.com/a"),
        ("https://WWW.example.com:8443/a", "example.com:8443/a"),
        ("https://www.example.com/", "example.com"),
        ("https://www.com/a", "www.com/a"),
        ("https://www.co:8443/", "www.co:8443"),
        ("https://www.例子.中国/", "例子.中国"),
        ("https://wwwexample.com/", "wwwexample.com"),
        ("https://a.www.example.com/", "a.www.example.com"),
    ],
)
def test_www_is_no_part_of_an_identity_unless_it_is_the_name_of_the_site(url: str, identity: str) -> None:
    assert url_identity(url) == identity


def test_an_address_is_shown_with_the_www_it_was_written_with() -> None:
    assert canonical_url("https://www.example.com/a") == "https://www.example.com/a"
    assert canonical_url("https://example.com/a") == "https://example.com/a"


@given(st.text("w.com1:é", max_size=20))
def test_www_goes_only_where_a_host_is_left(host: str) -> None:
    bare = strip_www(host)
    assert bare == host or (host == f"www.{bare}" and "." in bare)


@each_row(
    ("text", "found"),
    [
        ("See https://example.org/a, and http://b.example/?q=1&r=2.", ["https://example.org/a", "http://b.example/?q=1&r=2"]),
        ("请看https://example.org/a，说了什么？", ["https://example.org/a"]),
        ("https://example.org/report.html这篇文章讲了什么", ["https://example.org/report.html"]),
        ("https://zh.wikipedia.org/wiki/故宫 的历史", ["https://zh.wikipedia.org/wiki/故宫"]),
        ("（https://例子.中国/页面）", ["https://例子.中国/页面"]),
        ("(see https://en.wikipedia.org/wiki/Tower_(city))", ["https://en.wikipedia.org/wiki/Tower_(city)"]),
        ("<https://example.org/a> **https://example.org/a**", ["https://example.org/a"]),
        ("HTTPS://Example.org/A!", ["HTTPS://Example.org/A"]),
        ("https:// http://. https://me:word@example.org/ ftp://example.org www.example.org", []),
    ],
)  # fmt: skip
def test_the_addresses_in_a_text_are_found_without_the_marks_around_them(text: str, found: list[str]) -> None:
    assert list(find_urls(text)) == found


@given(st.text("ahtps:/.é宫?#&=() ，。!*[]{}<>\"'@", max_size=40))
def test_whatever_a_text_holds_its_addresses_stand_in_it_and_can_be_taken_out(text: str) -> None:
    text = f"https://a.b/{text} https://c.d/{text}"
    found = find_urls(text)
    assert all(address in text and canonical_url(address) for address in found)
    assert find_urls(replace_urls(text)) == ()
    assert replace_urls(text, lambda address: address) == text
