"""What counts as one source, and what the registry keeps of it."""

from datetime import UTC, date, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.evidence.registry import (
    Registry,
    canonical_url,
    evidence_id,
    gather,
    url_identity,
)
from research.records import Evidence, Finding, Passage, Task, fingerprint

EARLY = datetime(2025, 3, 1, 8, tzinfo=UTC)
LATE = datetime(2025, 3, 2, 8, tzinfo=UTC)


def web(url: str, **more: object) -> Evidence:
    values = {"id": "given", "kind": "web", "title": "T", "url": url, "retrieved": EARLY, **more}
    return Evidence.model_validate(values)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        " https://example.org/",
        "https://example.org/a b",
        "https://example.org/a\u3000b",
        "https://example.org/\n",
        "java\tscript:alert(1)",
        "https://example.org/\x00",
        "https://example.org/\ud800",
    ],
)
def test_anything_but_a_plain_web_address_is_unusable(url: str) -> None:
    assert canonical_url(url) == ""
    assert url_identity(url) == ""


def test_the_ways_to_write_one_address_have_one_identity() -> None:
    written = [
        "https://example.org/wiki/故宫?a=1&b=2",
        "http://EXAMPLE.org/wiki/故宫/?b=2&a=1",
        "https://example.org:443/wiki/%e6%95%85%E5%AE%AB?a=1&b=2#history",
        "https://example.org/wiki/%E6%95%85宫?utm_campaign=x&a=%31&b=2",
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
        "https://www.example.org/a",
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


def test_an_id_comes_from_the_address_and_else_from_kind_and_locator() -> None:
    assert evidence_id("web", "http://example.org/", "x") == "e" + fingerprint("example.org")
    assert evidence_id("news", "https://example.org", "") == "e" + fingerprint("example.org")
    assert evidence_id("library", "", "a.pdf") == "e" + fingerprint("library", "a.pdf")
    assert evidence_id("web", "javascript:x", "a.pdf") == "e" + fingerprint("web", "a.pdf")


def test_evidence_of_one_address_is_united() -> None:
    registry = Registry()
    one, two, three = (Passage(id=name, text=name) for name in ("one", "two", "three"))
    registry.add(web("http://example.org/a", title="", retrieved=LATE, passages=(one, two)))
    registered = registry.add(
        web(
            "https://example.org/a/?utm_source=x",
            kind="news",
            title="Later",
            publisher="P",
            sample=True,
            published=date(2024, 5, 1),
            passages=(two, three, three),
        )
    )
    assert list(registry) == [registered]
    assert registered == Evidence(
        id=evidence_id("web", "https://example.org/a", ""),
        kind="web",
        title="Later",
        publisher="P",
        url="http://example.org/a",
        retrieved=EARLY,
        published=date(2024, 5, 1),
        sample=True,
        passages=(one, two, three),
    )


def test_what_was_known_first_stands() -> None:
    registry = Registry()
    first = date(2024, 1, 1)
    registry.add(web("https://example.org/a", title="First", published=first))
    later = web("https://example.org/a", title="Later", retrieved=LATE, published=date(2023, 1, 1))
    assert registry.add(later).title == "First"
    assert registry.add(later).published == first
    assert registry.add(later).retrieved == EARLY


def test_the_moment_of_publication_goes_with_its_day() -> None:
    def merged(**first: object) -> Evidence:
        registry = Registry()
        registry.add(web("https://example.org/a", **first))
        moment = datetime(2024, 5, 2, 8, tzinfo=UTC)
        return registry.add(web("https://example.org/a", published=moment.date(), moment=moment))

    assert merged().moment == datetime(2024, 5, 2, 8, tzinfo=UTC)
    known = merged(published=date(2024, 1, 1))
    assert (known.published, known.moment) == (date(2024, 1, 1), None)


def test_a_wrong_id_neither_splits_nor_merges_sources() -> None:
    registry = Registry()
    a = registry.add(web("https://example.org/a", id="same"))
    registry.add(web("https://example.org/a", id="other"))
    b = registry.add(web("https://example.org/b", id="mine"))
    assert [item.id for item in registry] == [a.id, b.id]
    assert registry.get("same") == registry.get("other") == registry.get(a.id)
    assert registry.get("mine") == b


def test_an_id_given_to_two_sources_finds_neither() -> None:
    addresses = ["https://example.org/a", "https://example.org/a", "https://example.org/b"]
    for order in permutations(addresses):
        registry = Registry()
        for address in order:
            registry.add(web(address, id="same"))
        assert len(registry) == 2
        assert registry.get("same") is None


def test_documents_are_told_apart_by_locator_and_else_by_title() -> None:
    registry = Registry()
    for locator, title in [("a.pdf", "T"), ("b.pdf", "T"), ("", "T"), ("", "U"), ("a.pdf", "X")]:
        registry.add(web("", kind="library", locator=locator, title=title))
    assert len(registry) == 4


def test_an_unusable_address_is_not_registered_as_one() -> None:
    registry = Registry()
    first = registry.add(web("javascript:alert(1)"))
    registry.add(web("javascript:alert(2)"))
    assert first.url == ""
    assert len(registry) == 2


def test_a_passage_is_found_by_any_known_id_of_its_source() -> None:
    registry = Registry()
    passage = Passage(id="p", text="x")
    item = registry.add(web("https://example.org/a", id="old", passages=(passage,)))
    assert registry.passage("old", "p") == registry.passage(item.id, "p") == passage
    assert registry.passage("old", "q") is None
    assert registry.passage("invented", "p") is None
    assert "old" in registry
    assert item.id in registry
    assert "invented" not in registry
    assert "" not in registry
    assert 1 not in registry


def test_findings_are_gathered_in_the_order_they_came() -> None:
    task = Task(id="t", source="web", query="q")
    items = [web(f"https://example.org/{name}", id=name) for name in "cab"]
    findings = [Finding(task=task, evidence=(item,), started=EARLY) for item in items]
    failed = Finding(task=task, reason="timeout", started=EARLY)
    registry = gather([findings[0], failed, *findings[1:], findings[0]])
    assert [item.url[-1] for item in registry] == ["c", "a", "b"]
